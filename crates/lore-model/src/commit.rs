//! A commit as it is read from git and kept in the index.

use crate::{CommitId, RepoPath};

/// A name and an email address as a commit spells them.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Person {
    /// The name, which may be empty.
    pub name: String,
    /// The address, which may be empty.
    pub email: String,
}

impl Person {
    /// Whether the text occurs in `Name <email>`, without regard to case.
    pub fn matches(&self, text: &str) -> bool {
        format!("{} <{}>", self.name, self.email).to_lowercase().contains(&text.to_lowercase())
    }
}

/// Everything that Lore keeps of one commit; `P` is its diff in the form it has on the way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitRecord<P = Patch> {
    /// The object name.
    pub id: CommitId,
    /// Who wrote the change, as the commit itself says.
    pub author: Person,
    /// Who made the commit.
    pub committer: Person,
    /// Seconds since 1970 of the author date; absent where git prints none.
    pub author_time: Option<i64>,
    /// Seconds since 1970 of the committer date; absent where git prints none.
    pub commit_time: Option<i64>,
    /// The first paragraph of the message on one line.
    pub subject: String,
    /// The rest of the message, if there is any.
    pub body: Option<String>,
    /// Whether message or names held bytes that are not UTF-8 and were replaced.
    pub lossy: bool,
    /// How many parents the commit has.
    pub parent_count: u32,
    /// Changed files against the first parent, in git's order.
    pub files: Vec<FileChange>,
    /// The first characters of the diff, for full-text search and excerpts.
    pub patch_preview: String,
    /// The diff against the first parent, or why there is none.
    pub patch: P,
}

impl<P> CommitRecord<P> {
    /// The same commit with its diff in another form.
    pub fn try_map_patch<Q, E>(self, change: impl FnOnce(P) -> Result<Q, E>) -> Result<CommitRecord<Q>, E> {
        let Self {
            id,
            author,
            committer,
            author_time,
            commit_time,
            subject,
            body,
            lossy,
            parent_count,
            files,
            patch_preview,
            patch,
        } = self;
        let patch = change(patch)?;
        Ok(CommitRecord {
            id,
            author,
            committer,
            author_time,
            commit_time,
            subject,
            body,
            lossy,
            parent_count,
            files,
            patch_preview,
            patch,
        })
    }
}

/// The diff of a commit, as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Patch {
    /// A zstd frame of git's exact bytes (of nothing, for an empty diff).
    Stored {
        /// The compressed frame.
        zstd: Vec<u8>,
        /// The length before compression.
        raw_len: u64,
    },
    /// No diff is kept.
    Absent(PatchAbsence),
}

/// Why the index holds no diff of a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum PatchAbsence {
    /// Only binary files changed.
    BinaryOnly,
    /// The diff is larger than the cap.
    TooLarge,
    /// The repository lacks objects that the diff needs (a partial clone).
    MissingObjects,
    /// Git cannot make the diff in the memory that it may take: it has more paths or bytes than any reader could use.
    TooHeavy,
}

impl PatchAbsence {
    /// A few words for people, to be read after "no patch: ".
    pub fn reason(self) -> &'static str {
        match self {
            Self::BinaryOnly => "only binary files changed",
            Self::TooLarge => "the diff is over the 1 MB cap",
            Self::MissingObjects => "the repository lacks objects that the diff needs (a partial clone)",
            Self::TooHeavy => "git cannot make the diff in the memory that it may take (too many paths or bytes)",
        }
    }

    /// One word for programs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::BinaryOnly => "binary_only",
            Self::TooLarge => "too_large",
            Self::MissingObjects => "missing_objects",
            Self::TooHeavy => "too_heavy",
        }
    }
}

/// One file that a commit changed.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FileChange {
    /// What happened to it.
    pub status: FileStatus,
    /// Its path after the commit (before it, for a deletion).
    pub path: RepoPath,
    /// Where it was renamed or copied from.
    pub old_path: Option<RepoPath>,
}

/// What happened to a file, by git's status letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum FileStatus {
    /// `A`
    Added,
    /// `M`
    Modified,
    /// `D`
    Deleted,
    /// `R`
    Renamed,
    /// `C`
    Copied,
    /// `T`: a file became a symbolic link or a submodule, or the other way round.
    TypeChanged,
}

impl FileStatus {
    /// Git's letter.
    pub fn letter(self) -> char {
        match self {
            Self::Added => 'A',
            Self::Modified => 'M',
            Self::Deleted => 'D',
            Self::Renamed => 'R',
            Self::Copied => 'C',
            Self::TypeChanged => 'T',
        }
    }

    /// The status with this letter.
    pub fn from_letter(letter: u8) -> Option<Self> {
        Some(match letter {
            b'A' => Self::Added,
            b'M' => Self::Modified,
            b'D' => Self::Deleted,
            b'R' => Self::Renamed,
            b'C' => Self::Copied,
            b'T' => Self::TypeChanged,
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_person_is_found_by_name_and_address_in_any_case() {
        let ada = Person { name: "Ada Lovelace".to_owned(), email: "Ada@Example.org".to_owned() };
        assert!(["ada", "LOVELACE <ada", "example.ORG>", ""].iter().all(|text| ada.matches(text)));
        assert!(!ada.matches("lovelace ada"));
    }

    #[test]
    fn letters_are_those_of_git() {
        for letter in "AMDRCT".chars() {
            let status = FileStatus::from_letter(u8::try_from(letter).expect("it is ASCII")).expect("git has it");
            assert_eq!(status.letter(), letter);
        }
        assert_eq!(FileStatus::from_letter(b'X'), None);
    }
}

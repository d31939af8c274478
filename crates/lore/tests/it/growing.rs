//! A repository that grows by many commits at once, each of which says itself what it must contain.

use std::{fmt::Write as _, ops::Range};

use lore_testkit::{Git, Repo};

/// Author and committer date of the first commit.
const START: usize = 1_600_000_000;

/// The file that a commit changes.
pub(crate) fn path_of(number: usize) -> String {
    format!("part{}/file{}.txt", number % 5, number % 23)
}

/// The subject of a commit. `growth` is in all of them, `tick<n>` in this one alone.
pub(crate) fn subject_of(number: usize) -> String {
    format!("growth tick{number} of {}", path_of(number))
}

/// The number of the commit with this subject.
pub(crate) fn number_of(subject: &str) -> Option<usize> {
    subject.strip_prefix("growth tick")?.split_once(' ')?.0.parse().ok()
}

/// The line that a commit writes, unlike that of any other.
pub(crate) fn line_of(number: usize) -> String {
    format!("line {number} {:016x}", (number as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15))
}

/// Adds the commits with these numbers to `main`, by git's own fast import.
#[track_caller]
pub(crate) fn grow(repo: &Repo, numbers: Range<usize>) {
    let mut stream = String::new();
    for number in numbers.clone() {
        let (message, content) = (subject_of(number), format!("{}\n", line_of(number)));
        let date = START + 60 * number;
        let from = if number == numbers.start && number > 0 { "from refs/heads/main^0\n" } else { "" };
        write!(
            stream,
            "commit refs/heads/main\ncommitter Gro Grower <gro@example.com> {date} +0000\ndata {}\n{message}\n{from}\
             M 644 inline {}\ndata {}\n{content}\n",
            message.len(),
            path_of(number),
            content.len(),
        )
        .expect("writing to a string cannot fail");
    }
    Git::at(repo.path())
        .feed(&["fast-import", "--quiet", "--date-format=raw"], stream.as_bytes())
        .expect("git imports the stream");
}

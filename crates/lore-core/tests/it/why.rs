//! Why lines are as they are: what reviewers said about them is found, and what cannot be told is not made up.

use std::path::PathBuf;

use crate::{add, open, sync};
use lore_core::LoreOptions;
use lore_core::{
    Lore,
    why::{Disk, ExplainRequest, Explained, FileRequest},
};
use lore_messages::CommentRequest;
use lore_model::{Code, Failure};
use lore_testkit::Repo as Folder;

/// A repository, and an index over it.
struct Case {
    lore: Lore,
    folder: Folder,
    _home: tempfile::TempDir,
}

impl Case {
    /// With these files in one commit.
    fn new(files: &[(&str, &str)]) -> Self {
        let home = tempfile::tempdir().unwrap();
        let lore = open(&home.path().join("index"), LoreOptions::default());
        let folder = Folder::init(home.path().join("repo"));
        for (path, text) in files {
            folder.write(path, text);
        }
        folder.commit("Begin");
        sync(&lore, &add(&lore, folder.path()));
        Self { lore, folder, _home: home }
    }

    fn say(&self, file: &str, line: u32, text: String) {
        let folder = self.folder.path().to_owned();
        let request = CommentRequest { folder, project: None, file: file.into(), lines: Some((line, line)), text };
        self.lore.messages.comment(&request).unwrap();
    }

    fn why(&self, file: &str, line: u32) -> Result<Explained, Failure> {
        let at = FileRequest {
            folder: self.folder.path().to_owned(),
            repo: None,
            known: None,
            from: None,
            file: PathBuf::from(file),
        };
        self.lore.explain_lines(&ExplainRequest { at, lines: Some((line, line)) })
    }

    fn comments(&self, file: &str, line: u32) -> (Vec<String>, bool) {
        let found = self.why(file, line).unwrap();
        (found.comments.into_iter().map(|placed| placed.message.sent.comment).collect(), found.comments_left_out)
    }
}

fn numbered(lines: usize) -> String {
    let line = |number: usize| format!("line {number} of a file that is long enough to be too long\n");
    (1..=lines).map(line).collect()
}

#[test]
fn comments_on_files_of_similar_names_hide_none() {
    let case = Case::new(&[("a.rs", "one\ntwo\nthree\n"), ("data.rs", "one\n")]);
    case.say("a.rs", 3, "about the third line".to_owned());
    for number in 0..100 {
        case.say("data.rs", 1, format!("about data {number}"));
    }
    assert_eq!(case.comments("a.rs", 3), (vec!["about the third line".to_owned()], false));
    assert_eq!(case.comments("data.rs", 1).0.len(), 100);
    // Only so many are looked through, and that is said.
    case.say("data.rs", 1, "one more".to_owned());
    let (comments, left_out) = case.comments("data.rs", 1);
    assert_eq!((comments.len(), comments[0].as_str(), left_out), (100, "one more", true));
}

#[test]
fn what_is_too_large_is_not_taken_for_what_is_not_there() {
    let (small, large) = (numbered(100), numbered(100_000));
    let case = Case::new(&[("big.txt", &large), ("grow.txt", &small), ("both.txt", &large), ("same.txt", &small)]);
    case.folder.write("big.txt", &small).write("grow.txt", format!("new\n{large}"));
    for (file, place) in [("big.txt", "in the commit"), ("grow.txt", "on disk"), ("both.txt", "in the commit")] {
        let failure = case.why(file, 3).unwrap_err();
        assert_eq!(
            (failure.code, failure.message),
            (Code::InvalidArgument, format!("{file} has more than 4 MB {place}"))
        );
    }
    assert_eq!(case.why("same.txt", 3).unwrap().disk, Disk::Same);
    let failure = case.why("nowhere.txt", 3).unwrap_err();
    assert_eq!(failure.message, "nowhere.txt is not a file of the repository");
}

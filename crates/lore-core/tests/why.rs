//! Why lines are as they are: what reviewers said about them is found, and what cannot be told is not made up.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::{path::PathBuf, sync::Arc};

use lore_core::{
    Cancel, Lore, SystemClock,
    flows::FlowTask,
    history::{AddRequest, History, Places, SyncOptions, Target},
    search::{Search, Settings},
    why::{Disk, ExplainRequest, Explained, FileRequest},
};
use lore_embed::StaticModel;
use lore_git::Git;
use lore_messages::{CommentRequest, Messages};
use lore_model::{Code, Failure};
use lore_store_embedded::{EmbeddedMessages, EmbeddedStore};
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
        let store = Arc::new(EmbeddedStore::new(home.path().join("index")));
        let places = Places { clones: home.path().join("clones"), git: home.path().join("git") };
        let history = History::new(Arc::clone(&store) as _, Git::new("git"), places, Arc::new(SystemClock));
        let model = Arc::new(StaticModel::built_in());
        let search = Search::new(store, model, Arc::new(SystemClock), Settings::default());
        let messages = Messages::new(Arc::new(EmbeddedMessages::new(home.path())), Arc::new(SystemClock), None);
        let lore = Lore { history: Arc::new(history), search: Arc::new(search), messages: Arc::new(messages) };
        let folder = Folder::init(home.path().join("repo"));
        for (path, text) in files {
            folder.write(path, text);
        }
        folder.commit("Begin");
        let writer = lore.history.writer(|| {}).unwrap();
        let request = AddRequest::new(Target::Folder(folder.path().to_owned()));
        let repo = lore.history.add(&*writer, request).unwrap();
        let (options, cancel) = (SyncOptions::default(), Cancel::default());
        let task = FlowTask { writer: &*writer, options: &options, cancel: &cancel, progress: &|_| {} };
        lore.sync(&repo, &task).unwrap();
        drop(writer);
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

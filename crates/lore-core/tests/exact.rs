//! Exact text: whatever `git grep` finds is among the candidates of the index.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::{
    collections::{BTreeMap, BTreeSet},
    ffi::OsStr,
    os::unix::ffi::OsStrExt as _,
    path::Path,
    sync::Arc,
};

use lore_core::{
    Cancel, Lore, SystemClock,
    commands::Commands,
    flows::FlowTask,
    history::{AddRequest, History, Places, SyncOptions, Target},
    messages::Messages,
    search::{Search, Settings},
};
use lore_embed::StaticModel;
use lore_git::Git;
use lore_store::{CodeStore as _, CodeView, OverlayInput, SnapshotSummary, TextPlan, ViewPart};
use lore_store_embedded::{EmbeddedMessages, EmbeddedStore};
use lore_testkit::{Random, Repo, odd};

/// Indexes the repository and gives what was committed last.
async fn index(home: &Path, folder: &Path) -> (Arc<dyn CodeView>, SnapshotSummary) {
    let store = Arc::new(EmbeddedStore::new(home));
    let places = Places { clones: home.join("clones"), git: home.join("git") };
    let history = History::new(Arc::clone(&store) as _, Git::new("git"), places, Arc::new(SystemClock));
    let search = Search::new(
        Arc::clone(&store) as _,
        Arc::new(StaticModel::built_in()),
        Arc::new(SystemClock),
        Settings::default(),
    );
    let messages = Messages::new(Arc::new(EmbeddedMessages::new(home)), Arc::new(SystemClock), None);
    let lore = Lore {
        history: Arc::new(history),
        search: Arc::new(search),
        messages: Arc::new(messages),
        commands: Arc::new(Commands::new(None)),
    };
    let writer = lore.history.writer(|| {}).await.unwrap();
    let repo = lore.history.add(&*writer, AddRequest::new(Target::Folder(folder.to_owned()))).await.unwrap();
    let task =
        FlowTask { writer: &*writer, options: &SyncOptions::default(), cancel: &Cancel::default(), progress: &|_| {} };
    lore.sync_code(&repo, &task).await.unwrap();
    let state = store.code_state(repo.id).await.unwrap();
    let head = lore_testkit::Git::at(folder).text(&["rev-parse", "HEAD"]).unwrap();
    let snapshot = state.snapshots.iter().find(|snapshot| snapshot.commit.to_hex() == head).unwrap();
    let parts = vec![ViewPart { snapshot: Some(snapshot.id), overlay: OverlayInput::default() }];
    (store.open_view(parts).await.unwrap(), store.summarise(snapshot.id).await.unwrap())
}

/// The files that `git grep` names, by path.
fn git_grep(folder: &Path, literal: &[u8]) -> BTreeSet<Vec<u8>> {
    let mut command = lore_testkit::Git::at(folder).command();
    command.args(["-c", "core.quotePath=false", "grep", "--no-color", "-l", "-z", "-I", "-F", "-e"]);
    let out = command.arg(OsStr::from_bytes(literal)).arg("HEAD").output().unwrap();
    assert!(out.status.code() < Some(2), "{}", String::from_utf8_lossy(&out.stderr));
    let names = out.stdout.split(|byte| *byte == 0).filter(|name| !name.is_empty());
    names.map(|name| name.strip_prefix(b"HEAD:").unwrap().to_vec()).collect()
}

/// Pieces of lines of the files, and some that are in none.
fn literals(folder: &Path, random: &mut Random, count: usize) -> Vec<Vec<u8>> {
    let tree = lore_testkit::Git::at(folder).bytes(&["ls-tree", "-r", "-z", "HEAD"]).unwrap();
    let blobs: BTreeSet<String> = tree
        .split(|byte| *byte == 0)
        .filter_map(|entry| {
            String::from_utf8_lossy(entry).strip_prefix("100")?.split(['\t', ' ']).nth(2).map(str::to_owned)
        })
        .collect();
    let mut lines = Vec::new();
    for blob in &blobs {
        let content = lore_testkit::Git::at(folder).bytes(&["cat-file", "blob", blob]).unwrap();
        let all: Vec<&[u8]> = content.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()).collect();
        // As many of a small file as of a large one.
        lines.extend((0..all.len().min(6)).map(|_| all[random.below(all.len())].to_vec()));
    }
    let mut literals = vec![b"nothing of the kind".to_vec()];
    while literals.len() < count {
        let line = random.pick(&lines);
        let from = random.below(line.len());
        let piece = &line[from..(from + 1 + random.below(24)).min(line.len())];
        if !piece.contains(&0) {
            literals.push(piece.to_vec());
        }
    }
    literals
}

async fn check(folder: &Path, seed: u64) {
    let home = tempfile::tempdir().unwrap();
    let (view, summary) = index(home.path(), folder).await;
    let files: BTreeMap<&[u8], u32> = view.files().iter().map(|file| file.path.as_bytes()).zip(0..).collect();
    let left_out: BTreeSet<&[u8]> = summary.left_out.iter().map(|left_out| left_out.path.as_bytes()).collect();
    let mut found = 0;
    for literal in literals(folder, &mut Random::new(seed), 150) {
        let chunks = view.chunks_with(&TextPlan::literal(&literal)).unwrap();
        let candidates: BTreeSet<u32> = chunks.iter().flat_map(|chunk| view.files_with(*chunk)).copied().collect();
        for path in git_grep(folder, &literal) {
            let shown = (literal.escape_ascii().to_string(), path.escape_ascii().to_string());
            // An attribute can make git look into a file with NUL. Lore goes by the content alone, and says so.
            match files.get(path.as_slice()).filter(|file| !view.chunks_of(**file as usize).is_empty()) {
                Some(file) => assert!(candidates.contains(file), "{shown:?}"),
                None => assert!(left_out.contains(path.as_slice()), "{shown:?}"),
            }
            found += 1;
        }
    }
    assert!(found > 50, "{found}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_git_grep_finds_is_among_the_candidates_in_the_odd_repository() {
    let folder = tempfile::tempdir().unwrap();
    odd::main_repo(folder.path()).unwrap();
    check(folder.path(), 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_git_grep_finds_is_among_the_candidates_whatever_the_bytes_are() {
    let folder = tempfile::tempdir().unwrap();
    let repo = Repo::init(folder.path());
    let late_nul = [b"text before\n".repeat(800).as_slice(), b"before\0after the NUL\n"].concat();
    let minified = format!("var a={};\n", "f(x,y),".repeat(5000));
    let function = |number: u32| format!("def handler_{number}(Request):\n    return '{number}'\n\n\n");
    repo.write("latin.txt", b"caf\xe9 cr\xe8me\nna\xefve\n")
        .write("utf16.txt", b"\xff\xfeh\0i\0\n\0")
        .write("late.txt", late_nul)
        .write("early.bin", b"early\0nul\n")
        .write("app.min.js", minified)
        .write("no_end.py", "x = 1\nlast line without an end")
        .write("short.txt", "a\nbc\n\n")
        .write("crlf.txt", "one\r\ntwo\r\n")
        .write("empty.txt", "")
        .write("many.py", (0..400).map(function).collect::<String>());
    repo.commit("odd bytes");
    check(folder.path(), 2).await;
}

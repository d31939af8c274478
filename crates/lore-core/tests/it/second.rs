//! A second model beside the built-in one: what it adds to answers, and what happens while it is not there.

use std::{
    path::Path,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use lore_core::LoreOptions;
use lore_core::{
    Cancel, Lore,
    flows::FlowTask,
    history::{AddRequest, SyncOptions, Target},
    search::{CodeAnswer, CodeRequest, EmbedEvent, EmbedReport, Second},
};
use lore_embed::{EmbedError, Embedder, Mode};
use lore_model::{Code, Failure, Repo as Registered};
use lore_testkit::Repo;

/// Things that the model knows by several names.
const THINGS: [&[&str]; 4] = [&["retry", "backoff", "再試行"], &["invoice", "請求書"], &["colour", "色"], &["socket"]];

/// A model that understands a few words of two languages.
struct Model {
    name: &'static str,
    dimensions: usize,
    down: Arc<AtomicBool>,
    /// Fails after so many texts.
    fails_after: Arc<AtomicUsize>,
    texts: Arc<Mutex<Vec<String>>>,
    questions: Arc<AtomicUsize>,
}

impl Model {
    fn new(name: &'static str, dimensions: usize) -> Self {
        let fails_after = Arc::new(AtomicUsize::new(usize::MAX));
        Self { name, dimensions, down: Arc::default(), fails_after, texts: Arc::default(), questions: Arc::default() }
    }

    fn again(&self) -> Self {
        let Self { name, dimensions, down, fails_after, texts, questions } = self;
        let (down, fails_after, texts) = (Arc::clone(down), Arc::clone(fails_after), Arc::clone(texts));
        Self { name, dimensions: *dimensions, down, fails_after, texts, questions: Arc::clone(questions) }
    }

    fn embedded(&self) -> usize {
        self.texts.lock().unwrap().len()
    }

    fn vector(&self, text: &str) -> Vec<f32> {
        let mut vector = vec![0.01; self.dimensions];
        for (at, names) in THINGS.iter().enumerate() {
            vector[at] += names.iter().map(|name| f32::from(u8::from(text.contains(*name)))).sum::<f32>();
        }
        let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt();
        vector.iter().map(|value| value / length).collect()
    }
}

fn gone() -> EmbedError {
    EmbedError::Unreachable { endpoint: "http://localhost:1/embed".to_owned(), what: "nobody is there".to_owned() }
}

impl Embedder for Model {
    fn model(&self) -> &str {
        self.name
    }

    fn dimensions(&self) -> usize {
        self.dimensions
    }

    fn embed(&self, texts: &[&str], _: Mode) -> Result<Vec<Vec<f32>>, EmbedError> {
        let mut seen = self.texts.lock().unwrap();
        if self.down.load(Ordering::Relaxed) || seen.len() + texts.len() > self.fails_after.load(Ordering::Relaxed) {
            return Err(gone());
        }
        seen.extend(texts.iter().map(|text| (*text).to_owned()));
        Ok(texts.iter().map(|text| self.vector(text)).collect())
    }

    fn embed_query(&self, text: &str, _: Duration) -> Result<Vec<f32>, EmbedError> {
        self.questions.fetch_add(1, Ordering::Relaxed);
        if self.down.load(Ordering::Relaxed) { Err(gone()) } else { Ok(self.vector(text)) }
    }

    fn group(&self) -> usize {
        4
    }
}

/// A Lore over an index in this folder, with this second model.
fn open(home: &Path, second: Option<Model>) -> Lore {
    let second = second.map(|model| Second::new(Arc::new(model), Duration::from_secs(2)));
    crate::open(home, LoreOptions { second, ..LoreOptions::default() })
}

/// A repository with a file for each thing, and some that are about nothing.
struct Case {
    home: tempfile::TempDir,
    folder: Repo,
}

impl Case {
    fn new() -> Self {
        let home = tempfile::tempdir().unwrap();
        let folder = Repo::init(home.path().join("repo"));
        folder.write(
            "src/wait.rs",
            "/// Waits before the next retry.\npub fn backoff(attempt: u32) -> u32 {\n    attempt * 2\n}\n",
        );
        folder.write(
            "src/bill.rs",
            "/// Adds up an invoice.\npub fn invoice_total(rows: &[u32]) -> u32 {\n    rows.iter().sum()\n}\n",
        );
        folder.write("src/paint.rs", "/// Mixes a colour.\npub fn mix(a: u8, b: u8) -> u8 {\n    a / 2 + b / 2\n}\n");
        for number in 0..5 {
            folder.write(
                format!("src/other{number}.rs"),
                format!("pub fn other{number}() -> u32 {{\n    {number}\n}}\n"),
            );
        }
        folder.commit("Begin");
        Self { home, folder }
    }

    fn index(&self) -> std::path::PathBuf {
        self.home.path().join("index")
    }

    fn indexed(&self, second: Option<Model>) -> (Lore, Registered) {
        let lore = open(&self.index(), second);
        let known = lore.history.find_project(self.folder.path()).unwrap();
        let repo = if let Some(repo) = known {
            repo
        } else {
            let writer = lore.history.writer(|| {}).unwrap();
            let request = AddRequest::new(Target::Folder(self.folder.path().to_owned()));
            lore.history.add(&*writer, request).unwrap()
        };
        sync(&lore, &repo);
        (lore, repo)
    }
}

fn sync(lore: &Lore, repo: &Registered) {
    let writer = lore.history.writer(|| {}).unwrap();
    let task =
        FlowTask { writer: &*writer, options: &SyncOptions::default(), cancel: &Cancel::default(), progress: &|_| {} };
    lore.sync_code(repo, &task).unwrap();
}

fn embed(lore: &Lore, repo: &Registered) -> Result<EmbedReport, Failure> {
    lore.search.index.embed_all(repo, &Cancel::default(), &|_| {}).map(Option::unwrap)
}

fn ask(lore: &Lore, repo: &Registered, query: &str) -> CodeAnswer {
    lore.search.query.search(&CodeRequest::new(query, vec![(repo.clone(), None)])).unwrap()
}

fn first(answer: &CodeAnswer) -> String {
    answer.hits.first().map_or_else(String::new, |hit| hit.path.to_string())
}

#[test]
fn it_finds_what_the_built_in_model_does_not_know() {
    let case = Case::new();
    let model = Model::new("babel", 16);
    let (lore, repo) = case.indexed(Some(model.again()));
    let before = ask(&lore, &repo, "再試行");
    assert_ne!(first(&before), "src/wait.rs");
    let state = before.second.unwrap();
    assert_eq!((state.covered, state.problem.as_deref()), (0, None));
    assert!(state.remark().unwrap().contains("babel covers 0 % of the code"), "{state:?}");
    assert_eq!(model.questions.load(Ordering::Relaxed), 0, "it is not asked for nothing");
    assert!(lore.search.index.wants_embedding(&repo).unwrap());

    let events = Mutex::new(Vec::new());
    let heard = |event: EmbedEvent| events.lock().unwrap().push((event.done, event.total));
    let report = lore.search.index.embed_all(&repo, &Cancel::default(), &heard).unwrap().unwrap();
    let chunks = report.chunks;
    assert_eq!((report.model.as_str(), report.embedded, report.known), ("babel", chunks, 0));
    let events = events.into_inner().unwrap();
    assert!(
        events[0] == (0, chunks) && events[1] == (4, chunks) && events.last() == Some(&(chunks, chunks)),
        "{events:?}"
    );
    assert!(!lore.search.index.wants_embedding(&repo).unwrap());

    for (question, file) in [("再試行", "src/wait.rs"), ("請求書", "src/bill.rs"), ("色", "src/paint.rs")] {
        let answer = ask(&lore, &repo, question);
        assert_eq!(first(&answer), file);
        assert!(
            answer.hits[0].explanation.second.is_some_and(|cosine| cosine > 0.9),
            "{:?}",
            answer.hits[0].explanation
        );
        assert_eq!(answer.second.as_ref().map(|second| (second.percent(), second.remark())), Some((100, None)));
    }
    // A question that was asked is remembered.
    let asked = model.questions.load(Ordering::Relaxed);
    ask(&lore, &repo, "再試行");
    assert_eq!(model.questions.load(Ordering::Relaxed), asked);
    // It can be left out, for measurements.
    let mut request = CodeRequest::new("再試行", vec![(repo.clone(), None)]);
    request.parts.second = false;
    let without = lore.search.query.search(&request).unwrap();
    assert!(without.second.is_none() && first(&without) != "src/wait.rs");
    // What the built-in model says is the same as without.
    let plain = open(&case.index(), None);
    let scores =
        |answer: &CodeAnswer| answer.hits.iter().map(|hit| (hit.id.clone(), hit.score.to_bits())).collect::<Vec<_>>();
    request.query = "waits before the next attempt".to_owned();
    let without = lore.search.query.search(&request).unwrap();
    assert_eq!(scores(&ask(&plain, &repo, &request.query)), scores(&without));
    // Filters hold for what it finds, too.
    let mut request = CodeRequest::new("再試行", vec![(repo.clone(), None)]);
    request.files.paths = vec!["src/paint.rs".to_owned()];
    let found = lore.search.query.search(&request).unwrap();
    assert!(!found.hits.is_empty() && found.hits.iter().all(|hit| hit.path.to_string() == "src/paint.rs"));
}

#[test]
fn each_text_is_embedded_once() {
    let case = Case::new();
    let model = Model::new("babel", 16);
    let (lore, repo) = case.indexed(Some(model.again()));
    embed(&lore, &repo).unwrap();
    let first = model.embedded();
    assert!(first > 8);
    assert_eq!(embed(&lore, &repo).unwrap().embedded, 0);
    // A copy is the same chunk.
    case.folder.write(
        "src/copy/wait.rs",
        "/// Waits before the next retry.\npub fn backoff(attempt: u32) -> u32 {\n    attempt * 2\n}\n",
    );
    case.folder.commit("Copy");
    sync(&lore, &repo);
    embed(&lore, &repo).unwrap();
    assert_eq!(model.embedded(), first);
    // Code that is read anew has new numbers and the same texts.
    let writer = lore.history.writer(|| {}).unwrap();
    writer.retire_code(vec![repo.id]).unwrap();
    drop(writer);
    sync(&lore, &repo);
    let report = embed(&lore, &repo).unwrap();
    assert_eq!((report.embedded, model.embedded()), (0, first), "{report:?}");
    assert_eq!(report.known, report.chunks);
    lore.search.index.collect_vectors().unwrap();
    assert_eq!(lore.search.index.vector_sets().unwrap()[0].vectors, report.chunks, "the old numbers are gone");
    // Another process finds it all.
    let again = open(&case.index(), Some(model.again()));
    assert_eq!(embed(&again, &repo).unwrap().embedded, 0);
    assert_eq!(ask(&again, &repo, "請求書").hits[0].path.to_string(), "src/bill.rs");
}

#[test]
fn a_failure_loses_nothing_and_the_next_run_goes_on() {
    let case = Case::new();
    let model = Model::new("babel", 16);
    let (lore, repo) = case.indexed(Some(model.again()));
    model.fails_after.store(8, Ordering::Relaxed);
    let failure = embed(&lore, &repo).unwrap_err();
    assert_eq!(failure.code, Code::EmbeddingFailed);
    assert_eq!(model.embedded(), 8);
    let answer = ask(&lore, &repo, "colour");
    let state = answer.second.unwrap();
    assert!(state.covered == 8 && state.chunks > 8 && state.problem.is_none(), "{state:?}");
    assert!(state.remark().unwrap().contains(&format!("covers {} %", 800 / state.chunks)), "{state:?}");
    model.fails_after.store(usize::MAX, Ordering::Relaxed);
    // Somebody who stops it loses nothing either.
    let cancel = Cancel::default();
    let stop = |event: EmbedEvent| {
        if event.done >= 12 {
            cancel.cancel();
        }
    };
    let failure = lore.search.index.embed_all(&repo, &cancel, &stop).unwrap_err();
    assert_eq!(failure.code, Code::Interrupted);
    let report = embed(&lore, &repo).unwrap();
    assert_eq!(report.embedded + 12, report.chunks);
    let texts = model.texts.lock().unwrap().clone();
    assert_eq!(texts.len(), texts.iter().collect::<std::collections::HashSet<_>>().len(), "none twice");
}

#[test]
fn while_it_is_down_the_built_in_model_answers_and_it_is_left_alone() {
    let case = Case::new();
    let model = Model::new("babel", 16);
    let (lore, repo) = case.indexed(Some(model.again()));
    embed(&lore, &repo).unwrap();
    model.down.store(true, Ordering::Relaxed);
    for question in ["adds up an invoice", "mixes a colour", "invoice"] {
        let answer = ask(&lore, &repo, question);
        assert!(["src/bill.rs", "src/paint.rs"].contains(&first(&answer).as_str()));
        let remark = answer.second.unwrap().remark().unwrap();
        assert!(remark.contains("cannot be reached: nobody is there") && remark.contains("built-in"), "{remark}");
    }
    assert_eq!(model.questions.load(Ordering::Relaxed), 1, "it is left alone for a while");
}

#[test]
fn another_model_is_another_set() {
    let case = Case::new();
    let (old, new) = (Model::new("babel", 16), Model::new("babel-2", 24));
    let (lore, repo) = case.indexed(Some(old.again()));
    embed(&lore, &repo).unwrap();
    let lore = open(&case.index(), Some(new.again()));
    let answer = ask(&lore, &repo, "mixes a colour");
    assert_eq!((first(&answer), answer.second.unwrap().covered), ("src/paint.rs".to_owned(), 0));
    embed(&lore, &repo).unwrap();
    assert_eq!(first(&ask(&lore, &repo, "色")), "src/paint.rs");
    let sets = lore.search.index.vector_sets().unwrap();
    let sets: Vec<_> = sets.iter().map(|set| (set.model.as_str(), set.dimensions)).collect();
    assert_eq!(sets, [("babel", 16), ("babel-2", 24)]);
    // Whoever goes back finds everything.
    let count = old.embedded();
    let back = open(&case.index(), Some(old.again()));
    assert_eq!((embed(&back, &repo).unwrap().embedded, old.embedded()), (0, count));
    let (covered, chunks) = back.search.query.covered_by(std::slice::from_ref(&repo), "babel").unwrap();
    assert!(covered > 0 && covered == chunks, "{covered} of {chunks}");
    assert_eq!(
        back.search.query.covered_by(&[repo.clone(), repo.clone()], "babel").unwrap(),
        (2 * covered, 2 * chunks)
    );
    assert_eq!(back.search.query.covered_by(std::slice::from_ref(&repo), "nobody").unwrap().0, 0);
    // The same name with another length is no longer the same model.
    let changed = open(&case.index(), Some(Model::new("babel", 32)));
    let answer = ask(&changed, &repo, "invoice");
    assert!(answer.second.unwrap().problem.unwrap().contains("32 dimensions, those that are kept have 16"));
    case.folder.write("src/new.rs", "pub fn socket_pair() {}\n");
    case.folder.commit("More");
    sync(&changed, &repo);
    let failure = embed(&changed, &repo).unwrap_err();
    assert!(failure.message.contains("gives vectors of 32 dimensions; 16 are needed"), "{failure}");
    assert!(failure.hint.unwrap().contains("lore model remove"));
    assert!(changed.search.index.remove_vectors("babel").unwrap().is_some());
    embed(&changed, &repo).unwrap();
    assert_eq!(first(&ask(&changed, &repo, "請求書")), "src/bill.rs");
}

#[test]
fn the_index_can_be_written_while_chunks_are_embedded() {
    let case = Case::new();
    let (lore, repo) = case.indexed(Some(Model::new("babel", 16)));
    let writer = lore.history.writer(|| {}).unwrap();
    let done = thread::scope(|threads| {
        let done = threads.spawn(|| embed(&lore, &repo));
        Cancel::default().sleep(Duration::from_millis(60));
        drop(writer);
        done.join().unwrap()
    });
    assert!(done.unwrap().embedded > 0, "it waits for the moment when nobody writes");
}

#[test]
fn what_ends_a_watch_is_told_also_beside_a_second_model() {
    let heard = |_: &Registered, _: Result<&lore_core::flows::FlowReport, &Failure>| {};
    let options = SyncOptions::default();
    let case = Case::new();
    let (lore, _) = case.indexed(Some(Model::new("babel", 16)));
    let cancel = Cancel::default();
    thread::scope(|threads| {
        let ended = threads.spawn(|| lore.watch_all(&[], &options, &cancel, &heard));
        Cancel::default().sleep(Duration::from_millis(60));
        cancel.cancel();
        ended.join().unwrap().unwrap();
    });

    let broken = tempfile::tempdir().unwrap();
    std::fs::write(broken.path().join("lore.db"), "no database").unwrap();
    let lore = open(broken.path(), Some(Model::new("babel", 16)));
    let cancel = Cancel::default();
    // It ends when repositories cannot be read.
    lore.watch_all(&[], &options, &cancel, &heard).unwrap_err();
}

//! What every backend must do with code.

use std::sync::Arc;

use lore_model::{BlobId, ChunkKind, CommitId, RepoId, RepoPath, Tip};

use super::{OK, history::new_repo};
use crate::{
    Accuracy, Ask, AskWord, Base, BlobKey, BlobRecord, ChunkId, ChunkInput, ChunkKey, ChunkSink, CodeEnd, CodeState,
    CodeView, DIMENSIONS, Entry, FieldWeight, IndexStore, IndexWriter, LeftOut, NewBlob, NewSnapshot, OverlayFile,
    OverlayInput, SnapshotFile, StoreError, TextPlan, ViewPart,
};

const RULES: &str = "rules";

/// Texts that begin so are no part of a file.
const OUTLINE: &str = "outline:";

/// Runs every check of [`CodeStore`](crate::CodeStore) and [`CodeWriter`](crate::CodeWriter), each on a store of its own.
pub fn check_code(make: impl Fn() -> Arc<dyn IndexStore>) {
    nothing_is_indexed_at_first(&*make());
    what_is_published_is_found(&*make());
    a_chunk_is_claimed_once_and_kept_once(&*make());
    uncommitted_work_lies_on_top(&*make());
    other_snapshots_change_no_score(&*make());
    what_no_snapshot_needs_is_collected_and_readers_go_on(&*make());
    what_was_put_and_not_published_is_known_later(&*make());
    exact_text_is_among_the_candidates(&*make());
    evidence_is_kept_until_other_is_put(&*make());
}

fn blob(number: u8) -> BlobId {
    BlobId::from_bytes(&[number; 20]).expect("20 bytes")
}

fn commit(number: u8) -> CommitId {
    CommitId::from_bytes(&[number; 20]).expect("20 bytes")
}

fn key(text: &str) -> ChunkKey {
    // Any name that differs where the text does.
    let mut key = [0_u8; 16];
    for (at, byte) in text.bytes().enumerate() {
        key[at % 16] = key[at % 16].wrapping_mul(31).wrapping_add(byte);
    }
    ChunkKey(key)
}

/// A vector that depends on nothing but the text.
fn vector(text: &str) -> [f32; DIMENSIONS] {
    let mut vector = [0.0; DIMENSIONS];
    text.bytes().enumerate().for_each(|(at, byte)| vector[(at * 7 + usize::from(byte)) % DIMENSIONS] += 1.0);
    let length = vector.iter().map(|value| value * value).sum::<f32>().sqrt().max(1e-6);
    vector.map(|value| value / length)
}

/// A file with one chunk for each of these texts.
fn read(sink: &dyn ChunkSink, texts: &[&str]) -> (BlobRecord<ChunkKey>, Vec<(ChunkKey, crate::PreparedChunk)>) {
    let (mut entries, mut chunks) = (Vec::new(), Vec::new());
    for (at, text) in (0_u32..).zip(texts) {
        let key = key(text);
        entries.push(Entry {
            chunk: key,
            kind: ChunkKind::Definitions,
            bytes: at * 10..at * 10 + 10,
            first_line: at + 1,
            last_line: at + 1,
            name: Some(format!("name{at}")),
            symbol: None,
            names: if at > 0 { vec!["one".to_owned(), "two".to_owned()] } else { Vec::new() },
            container: (at > 0).then(|| "Container".to_owned()),
            part: None,
        });
        if sink.claim(&key) {
            let vector = vector(text);
            let (vector, exact) = (Some(&vector), !text.starts_with(OUTLINE));
            let input = ChunkInput { key, text: text.as_bytes(), names: "", code: text, prose: "", vector, exact };
            chunks.push((key, sink.prepare(&input)));
        }
    }
    let record = BlobRecord {
        language: "rust".to_owned(),
        size: 10 * texts.len() as u64,
        lines: u32::try_from(texts.len()).expect("few"),
        plain: None,
        package: Some("package".to_owned()),
        counts: [1, 2, 3],
        tags: vec!["tag".to_owned()],
        entries,
    };
    (record, chunks)
}

pub(super) fn file(path: &str, number: u8) -> SnapshotFile {
    SnapshotFile { path: path.into(), key: BlobKey { blob: blob(number), hint: ".rs".into() } }
}

pub(super) fn put(writer: &dyn IndexWriter, number: u8, texts: &[&str]) {
    let sink = writer.sink();
    let (record, chunks) = read(&*sink, texts);
    let key = BlobKey { blob: blob(number), hint: ".rs".into() };
    writer.put_blobs(RULES, vec![NewBlob { key, record, chunks }]).expect(OK);
}

pub(super) fn publish(writer: &dyn IndexWriter, repo: RepoId, number: u8, files: Vec<SnapshotFile>) -> CodeState {
    let left_out = vec![LeftOut { reason: "a symbolic link".to_owned(), path: "link".into() }];
    let end = CodeEnd {
        at: i64::from(number),
        rules: RULES.to_owned(),
        scope: String::new(),
        tips: vec![Tip { name: "HEAD".to_owned(), commit: commit(number) }],
        snapshots: vec![NewSnapshot { commit: commit(number), files, left_out }],
        partial: false,
    };
    writer.end_code(repo, end).expect(OK)
}

pub(super) fn view(store: &dyn IndexStore, state: &CodeState, overlay: OverlayInput) -> Arc<dyn CodeView> {
    let parts = vec![ViewPart { base: Base::Snapshot(state.snapshots[0].id), overlay }];
    store.open_view(parts).expect(OK)
}

/// The texts that are found, best first, each with the bits of its scores.
fn ask(view: &dyn CodeView, words: &[&str]) -> Vec<(String, u32, Option<u32>)> {
    let words: Vec<AskWord> = words.iter().map(|word| AskWord { token: (*word).to_owned(), weight: 1.0 }).collect();
    let query = vector("some query");
    let found = view
        .search(&Ask {
            words: &words,
            all_words: false,
            fields: [FieldWeight { weight: 1.0, length: 0.5 }; 3],
            vector: Some(&query),
            boosts: &[],
            allowed: None,
            also: &[],
            top: 3,
            accuracy: Accuracy::Balanced,
        })
        .expect(OK);
    let mut found: Vec<_> = found
        .into_iter()
        .map(|scored| {
            let text = String::from_utf8(view.text(scored.chunk).expect(OK)).expect("texts are UTF-8 here");
            (text, scored.text, scored.vector)
        })
        .collect();
    found.sort_by(|a, b| b.1.total_cmp(&a.1).then_with(|| a.0.cmp(&b.0)));
    found.into_iter().map(|(text, score, cosine)| (text, score.to_bits(), cosine.map(f32::to_bits))).collect()
}

fn nothing_is_indexed_at_first(store: &dyn IndexStore) {
    let state = store.code_state(RepoId(1)).expect(OK);
    assert!(state.snapshots.is_empty() && state.tips.is_empty() && state.partial && state.at.is_none(), "{state:?}");
    assert_eq!(store.code_bytes().expect(OK), 0);
    let empty = store.open_view(Vec::new()).expect(OK);
    assert!(empty.files().is_empty() && ask(&*empty, &["x"]).is_empty());
}

fn evidence_is_kept_until_other_is_put(store: &dyn IndexStore) {
    let writer = store.try_writer().expect(OK);
    let (repo, other) =
        (writer.add_repo(&new_repo("code"), 5).expect(OK).id, writer.add_repo(&new_repo("other"), 5).expect(OK).id);
    assert_eq!(store.evidence(repo).expect(OK), None);
    writer.put_evidence(repo, "first", vec![1, 2]).expect(OK);
    writer.put_evidence(other, "another's", vec![9]).expect(OK);
    let first = store.code_state(repo).expect(OK).evidence.expect("what was put");
    assert_eq!((first.made_of.as_str(), store.evidence(repo).expect(OK)), ("first", Some((first.number, vec![1, 2]))));
    // A sync of code does not touch it.
    publish(&*writer, repo, 1, Vec::new());
    writer.put_evidence(repo, "second", Vec::new()).expect(OK);
    let second = store.code_state(repo).expect(OK).evidence.expect("what was put");
    assert!(second.number != first.number && second.made_of == "second", "{second:?}");
    assert_eq!(store.evidence(repo).expect(OK), Some((second.number, Vec::new())));
    writer.remove_repo(repo).expect(OK);
    assert_eq!(store.evidence(repo).expect(OK), None);
    assert!(store.evidence(other).expect(OK).is_some());
}

fn what_is_published_is_found(store: &dyn IndexStore) {
    let writer = store.try_writer().expect(OK);
    let repo = writer.add_repo(&new_repo("code"), 5).expect(OK).id;
    let before = writer.begin_code(repo, RULES).expect(OK);
    assert!(before.partial && before.snapshots.is_empty());
    put(&*writer, 1, &["alpha beta", "beta gamma"]);
    put(&*writer, 2, &["delta"]);
    let state = publish(&*writer, repo, 1, vec![file("a.rs", 1), file("b/c.rs", 2)]);
    assert_eq!(state, store.code_state(repo).expect(OK));
    assert!(!state.partial && state.rules == RULES && state.at == Some(1));
    let info = &state.snapshots[0];
    assert_eq!((info.commit, info.files, info.chunks, info.lines, info.bytes), (commit(1), 2, 3, 3, 30));
    let view = view(store, &state, OverlayInput::default());
    let paths: Vec<String> = view.files().iter().map(|file| file.path.to_string()).collect();
    assert_eq!(paths, ["a.rs", "b/c.rs"]);
    let found = ask(&*view, &["gamma"]);
    assert_eq!(found[0].0, "beta gamma");
    let chunk: ChunkId = view.chunks_of(0)[1];
    assert_eq!((view.files_with(chunk), view.chunks_of(0).len()), (&[0][..], 2));
    let record = view.record(0).expect(OK);
    let entry = &record.entries[1];
    assert_eq!(
        (entry.chunk, entry.name.as_deref(), entry.container.as_deref()),
        (chunk, Some("name1"), Some("Container"))
    );
    assert_eq!(
        (record.package.as_deref(), record.counts, record.tags.as_slice()),
        (Some("package"), [1, 2, 3], &["tag".to_owned()][..])
    );
    assert_eq!((view.frequency("beta").expect(OK), view.frequency("nothing").expect(OK)), (2, 0));
    let summary = store.summarise(info.id).expect(OK);
    assert_eq!(summary.languages, [("rust".to_owned(), [2, 3, 3])]);
    assert_eq!(summary.left_out.len(), 1);
    assert!(store.check_code(true).expect(OK).is_empty());
}

fn a_chunk_is_claimed_once_and_kept_once(store: &dyn IndexStore) {
    let writer = store.try_writer().expect(OK);
    let repo = writer.add_repo(&new_repo("code"), 5).expect(OK).id;
    let sink = writer.sink();
    assert!(sink.claim(&key("unclaimed")) && !sink.claim(&key("unclaimed")));
    put(&*writer, 1, &["shared text", "first"]);
    put(&*writer, 2, &["shared text", "second"]);
    let state = publish(&*writer, repo, 1, vec![file("a.rs", 1), file("b.rs", 2)]);
    assert_eq!(state.snapshots[0].chunks, 3);
    assert!(!writer.sink().claim(&key("shared text")), "it is in the store");
    let view = view(store, &state, OverlayInput::default());
    assert_eq!(view.chunks_of(0)[0], view.chunks_of(1)[0]);
    assert_eq!(view.files_with(view.chunks_of(0)[0]), [0, 1]);
}

fn uncommitted_work_lies_on_top(store: &dyn IndexStore) {
    let writer = store.try_writer().expect(OK);
    let repo = writer.add_repo(&new_repo("code"), 5).expect(OK).id;
    put(&*writer, 1, &["alpha"]);
    put(&*writer, 2, &["beta"]);
    put(&*writer, 3, &["gamma"]);
    let state = publish(&*writer, repo, 1, vec![file("a.rs", 1), file("b.rs", 2), file("c.rs", 3)]);
    let sink = store.overlay_sink();
    let overlay_file = |path: &str, texts: &[&str]| {
        let (record, chunks) = read(&*sink, texts);
        OverlayFile { path: path.into(), record, chunks }
    };
    let files = vec![overlay_file("a.rs", &["alpha changed"]), overlay_file("d.rs", &["gamma", "new"])];
    let overlay = OverlayInput { hidden: vec![RepoPath::from("b.rs")], files };
    let seen = view(store, &state, overlay.clone());
    let paths: Vec<(String, bool)> =
        seen.files().iter().map(|file| (file.path.to_string(), file.uncommitted)).collect();
    let expected = [("a.rs", true), ("c.rs", false), ("d.rs", true)].map(|(path, new)| (path.to_owned(), new));
    assert_eq!(paths, expected);
    assert_eq!(seen.frequency("beta").expect(OK), 0);
    assert_eq!(ask(&*seen, &["changed"])[0].0, "alpha changed");
    let gamma = seen.chunks_of(1)[0];
    assert_eq!(seen.files_with(gamma), [1, 2], "what is committed is the same chunk");
    // Committed, it gives the same answers.
    put(&*writer, 4, &["alpha changed"]);
    put(&*writer, 5, &["gamma", "new"]);
    let state = publish(&*writer, repo, 2, vec![file("a.rs", 4), file("c.rs", 3), file("d.rs", 5)]);
    let committed = view(store, &state, OverlayInput::default());
    for words in [&["alpha"][..], &["gamma", "new"], &["changed"]] {
        assert_eq!(ask(&*seen, words), ask(&*committed, words));
    }
}

fn other_snapshots_change_no_score(store: &dyn IndexStore) {
    let writer = store.try_writer().expect(OK);
    let repo = writer.add_repo(&new_repo("one"), 5).expect(OK).id;
    put(&*writer, 1, &["alpha beta", "beta", "gamma"]);
    let state = publish(&*writer, repo, 1, vec![file("a.rs", 1)]);
    let alone = ask(&*view(store, &state, OverlayInput::default()), &["alpha", "beta"]);
    let other = writer.add_repo(&new_repo("two"), 5).expect(OK).id;
    put(&*writer, 2, &["alpha", "alpha alpha", "beta beta beta", "gamma"]);
    let others = publish(&*writer, other, 2, vec![file("a.rs", 2)]);
    assert_eq!(ask(&*view(store, &state, OverlayInput::default()), &["alpha", "beta"]), alone);
    let parts = [&state, &others].map(|state| ViewPart::snapshot(state.snapshots[0].id));
    let both = store.open_view(parts.into()).expect(OK);
    assert_eq!(both.files().iter().map(|file| file.repo).collect::<Vec<_>>(), [repo, other]);
    assert_eq!(both.chunk_count(), 6);
}

fn what_no_snapshot_needs_is_collected_and_readers_go_on(store: &dyn IndexStore) {
    let writer = store.try_writer().expect(OK);
    let repo = writer.add_repo(&new_repo("one"), 5).expect(OK).id;
    let other = writer.add_repo(&new_repo("two"), 5).expect(OK).id;
    put(&*writer, 1, &["alpha", "shared"]);
    put(&*writer, 2, &["beta", "shared"]);
    let state = publish(&*writer, repo, 1, vec![file("a.rs", 1)]);
    let kept = publish(&*writer, other, 2, vec![file("b.rs", 2)]);
    let reader = view(store, &state, OverlayInput::default());
    let before = ask(&*reader, &["alpha"]);
    writer.remove_repo(repo).expect(OK);
    assert_eq!(ask(&*reader, &["alpha"]), before, "a reader keeps what it has");
    let parts = vec![ViewPart::snapshot(state.snapshots[0].id)];
    assert!(matches!(store.open_view(parts), Err(StoreError::Absent(_))));
    let left = view(store, &kept, OverlayInput::default());
    assert_eq!(left.chunk_count(), 2);
    assert_eq!(ask(&*left, &["beta"])[0].0, "beta");
    assert!(writer.sink().claim(&key("alpha")), "it is gone");
    assert!(!writer.sink().claim(&key("shared")), "it is still needed");
}

fn what_was_put_and_not_published_is_known_later(store: &dyn IndexStore) {
    let keys = || [1, 2].map(|number| BlobKey { blob: blob(number), hint: ".rs".into() }).to_vec();
    {
        let writer = store.try_writer().expect(OK);
        put(&*writer, 1, &["alpha"]);
        writer.flush().expect(OK);
        put(&*writer, 2, &["beta"]);
        // This one is dropped before it was flushed.
    }
    let writer = store.try_writer().expect(OK);
    let known = writer.known_blobs(RULES, keys()).expect(OK);
    assert_eq!(known.into_iter().map(|key| key.blob).collect::<Vec<_>>(), [blob(1)]);
    assert!(writer.known_blobs("other rules", keys()).expect(OK).is_empty());
    let repo = writer.add_repo(&new_repo("code"), 5).expect(OK).id;
    let state = publish(&*writer, repo, 1, vec![file("a.rs", 1), file("b.rs", 2)]);
    assert_eq!(state.snapshots[0].files, 1, "only what the store holds can be published");
}

fn exact_text_is_among_the_candidates(store: &dyn IndexStore) {
    let writer = store.try_writer().expect(OK);
    let repo = writer.add_repo(&new_repo("code"), 5).expect(OK).id;
    put(&*writer, 1, &["let Alpha = beta;\n", "x\n", "outline: Alpha beta"]);
    put(&*writer, 2, &["gamma\n\u{e4}\u{f6}\u{fc}\n", "if beta\n"]);
    put(&*writer, 3, &["Alpha elsewhere\n"]);
    let state = publish(&*writer, repo, 1, vec![file("a.rs", 1), file("b.rs", 2)]);
    let sink = store.overlay_sink();
    let (record, chunks) = read(&*sink, &["let alpha be uncommitted\n", "outline: alpha"]);
    let files = vec![OverlayFile { path: "c.rs".into(), record, chunks }];
    let seen = view(store, &state, OverlayInput { hidden: Vec::new(), files });
    let candidates = |plan: &TextPlan| {
        let chunks = seen.chunks_with(plan).expect(OK);
        assert!(chunks.is_sorted_by(|a, b| a < b), "{chunks:?}");
        chunks.into_iter().map(|chunk| String::from_utf8(seen.text(chunk).expect(OK)).expect("it is UTF-8")).collect()
    };
    let check = |plan: TextPlan, expected: &[&str]| {
        let found: Vec<String> = candidates(&plan);
        for text in expected {
            assert!(found.iter().any(|found| found.starts_with(text)), "{plan:?} misses {text:?} in {found:?}");
        }
        let outside = |text: &String| text.starts_with(OUTLINE) || text.contains("elsewhere");
        assert!(!found.iter().any(outside), "{plan:?} has {found:?}");
    };
    let literal = |text: &str| TextPlan::literal(text.as_bytes());
    check(TextPlan::Anything, &["let Alpha", "x\n", "gamma", "if beta", "let alpha"]);
    check(literal("x"), &["x\n"]);
    check(literal("ALPHA"), &["let Alpha", "let alpha"]);
    check(literal("\u{f6}\u{fc}"), &["gamma"]);
    check(literal("let").and(literal("beta")), &["let Alpha"]);
    check(literal("gamma").or(literal("if b")), &["gamma", "if beta"]);
    assert!(candidates(&literal("nothing of the kind")).is_empty());
    assert!(candidates(&TextPlan::Any([].into())).is_empty());
}

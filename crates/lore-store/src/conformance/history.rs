//! What every backend must do with history.

use std::{collections::HashSet, sync::Arc};

use lore_model::{
    BranchChoice, Cancel, CommitId, CommitPrefix, CommitRecord, FileChange, FileStatus, NewRepo, Patch, PatchAbsence,
    Person, Problem, Repo, RepoId, RepoName, RepoPath, Source, Tip,
};

use super::OK;
use crate::{
    AuthorAlias, CoChangeQuery, CoChanges, CommitQuery, CommitSubject, Hidden, HistoryStore, HistoryWriter,
    PatchPacker, PatchText, StoreError, SubjectFile, Subjects, SyncEnd, TouchQuery,
};

/// Runs every check of [`HistoryStore`] and [`HistoryWriter`], each on a store of its own.
pub fn check_history(make: impl Fn() -> Arc<dyn HistoryStore>) {
    an_empty_store_answers_with_nothing(&*make());
    one_writer_at_a_time(&*make());
    repositories_are_kept_as_given(&*make());
    a_repository_answers_to_its_aliases(&*make());
    branches_can_be_chosen_later(&*make());
    commits_come_back_as_they_were_put(&*make());
    putting_twice_is_putting_once(&*make());
    search_ranks_and_filters_before_the_limit(&*make());
    any_text_is_a_query(&*make());
    what_a_query_costs_is_bounded(&*make());
    touches_are_newest_first_and_literal(&*make());
    paths_are_matched_with_what_they_begin_with(&*make());
    subjects_are_newest_first_without_merges(&*make());
    the_last_change_of_a_path_is_known(&*make());
    files_that_change_together_are_followed_through_renames(&*make());
    commits_that_say_nothing_of_what_changes_together_are_left_out(&*make());
    prefixes_name_commits_of_one_repository(&*make());
    hidden_commits_answer_nothing(&*make());
    a_sync_ends_whole(&*make());
    another_fingerprint_forgets_everything(&*make());
    removing_a_repository_leaves_the_others(&*make());
    every_write_is_a_new_generation(&*make());
}

pub(super) fn new_repo(name: &str) -> NewRepo {
    NewRepo {
        name: RepoName::parse(name).expect("a valid name"),
        local_path: format!("/somewhere/{name}").into(),
        source: Source::Local,
        default_branch: None,
        excludes: vec!["vendor/".to_owned()],
        author_filter: None,
        fork_of: None,
        branches: BranchChoice::Default,
    }
}

fn id(number: u8) -> CommitId {
    CommitId::from_hex(format!("{number:02x}").repeat(20).as_bytes()).expect("40 digits")
}

fn file(status: FileStatus, path: &str, old: Option<&str>) -> FileChange {
    FileChange { status, path: path.into(), old_path: old.map(Into::into) }
}

/// A commit number `number` at that many seconds, with this subject.
fn commit(number: u8, subject: &str) -> CommitRecord {
    let person = |name: &str| Person { name: name.to_owned(), email: format!("{name}@example.com") };
    let mut packer = PatchPacker::new().expect("a packer");
    CommitRecord {
        id: id(number),
        author: person("Ann"),
        committer: person("Bob"),
        author_time: Some(i64::from(number)),
        commit_time: Some(i64::from(number)),
        subject: subject.to_owned(),
        body: None,
        lossy: false,
        parent_count: 1,
        files: vec![file(FileStatus::Modified, "src/a.rs", None)],
        patch_preview: String::new(),
        patch: packer.pack(b"diff").expect("packed"),
    }
}

fn with_repo(store: &dyn HistoryStore, name: &str, commits: Vec<CommitRecord>) -> (Box<dyn HistoryWriter>, Repo) {
    let writer = store.try_writer().expect(OK);
    let repo = writer.add_repo(&new_repo(name), 5).expect(OK);
    writer.begin_sync(repo.id, "f", &[]).expect(OK);
    writer.put_commits(repo.id, commits).expect(OK);
    (writer, repo)
}

fn query(text: &str) -> CommitQuery {
    CommitQuery {
        text: text.to_owned(),
        repos: None,
        prefixes: Vec::new(),
        hidden: Hidden::default(),
        paths: Vec::new(),
        since: None,
        until: None,
        author: None,
        limit: 10,
    }
}

fn found(store: &dyn HistoryStore, query: &CommitQuery) -> Vec<u8> {
    store.search_commits(query).expect(OK).hits.iter().map(|hit| hit.commit.as_bytes()[0]).collect()
}

fn an_empty_store_answers_with_nothing(store: &dyn HistoryStore) {
    assert_eq!(store.list_repos().expect(OK), []);
    assert_eq!(store.find_repo(RepoId(1)).expect(OK), None);
    assert!(found(store, &query("x")).is_empty());
    assert_eq!(store.size().expect(OK).commits, 0);
    assert_eq!(store.check(true).expect(OK), Vec::<String>::new());
}

fn one_writer_at_a_time(store: &dyn HistoryStore) {
    let first = store.try_writer().expect(OK);
    assert!(matches!(store.try_writer(), Err(StoreError::Locked)));
    drop(first);
    store.try_writer().map(drop).expect(OK);
}

fn repositories_are_kept_as_given(store: &dyn HistoryStore) {
    let writer = store.try_writer().expect(OK);
    let full = NewRepo {
        source: Source::Url("https://example.com/b.git".to_owned()),
        default_branch: Some("main".to_owned()),
        excludes: vec!["a\nb/".to_owned(), "\"q\"".to_owned()],
        author_filter: Some("ann".to_owned()),
        fork_of: Some("up".to_owned()),
        branches: BranchChoice::Named(vec!["x".to_owned(), "y,z".to_owned()]),
        ..new_repo("b")
    };
    let all = NewRepo { branches: BranchChoice::All, excludes: Vec::new(), ..new_repo("c") };
    let more = NewRepo { branches: BranchChoice::DefaultAnd(vec!["x".to_owned()]), ..new_repo("d") };
    for new in [&full, &new_repo("a"), &all, &more] {
        let added = writer.add_repo(new, 5).expect(OK);
        assert_eq!((&added.info, added.added_at, added.sync.sync_count), (new, Some(5), 0));
    }
    let repos = store.list_repos().expect(OK);
    for repo in &repos {
        assert_eq!(store.find_repo(repo.id).expect(OK).as_ref(), Some(repo));
    }
    let listed: Vec<NewRepo> = repos.into_iter().map(|repo| repo.info).collect();
    assert_eq!(listed, [new_repo("a"), full, all, more], "by name");
    let same_name = NewRepo { local_path: "/elsewhere".into(), ..new_repo("a") };
    let same_place = NewRepo { name: RepoName::parse("z").expect("a name"), ..new_repo("a") };
    for taken in [same_name, same_place] {
        assert!(matches!(writer.add_repo(&taken, 5), Err(StoreError::RepoExists { .. })), "{taken:?}");
    }
}

fn a_repository_answers_to_its_aliases(store: &dyn HistoryStore) {
    let writer = store.try_writer().expect(OK);
    let name = |text: &str| RepoName::parse(text).expect("a name");
    let first = writer.add_repo(&new_repo("a"), 5).expect(OK);
    let second = writer.add_repo(&new_repo("b"), 5).expect(OK);
    writer.set_aliases(first.id, &[name("x"), name("y")]).expect(OK);
    let listed = store.list_repos().expect(OK);
    let of: Vec<&[RepoName]> = listed.iter().map(|repo| &*repo.aliases).collect();
    assert_eq!(of, [&[name("x"), name("y")][..], &[]]);
    assert!(listed[0].answers_to("a") && listed[0].answers_to("y") && !listed[0].answers_to("b"));
    // A name means one repository, whether it is its own or an alias.
    for taken in ["a", "x"] {
        let refused = writer.set_aliases(second.id, &[name("free"), name(taken)]);
        assert!(matches!(refused, Err(StoreError::RepoExists { name, .. }) if name == "a"), "{taken}");
    }
    let taken = NewRepo { local_path: "/elsewhere".into(), ..new_repo("y") };
    assert!(matches!(writer.add_repo(&taken, 5), Err(StoreError::RepoExists { .. })));
    writer.set_aliases(first.id, &[name("x")]).expect(OK);
    writer.add_repo(&taken, 5).expect(OK);
    writer.remove_repo(first.id).expect(OK);
    writer.set_aliases(second.id, &[name("a"), name("x")]).expect(OK);
    assert!(writer.set_aliases(first.id, &[]).is_err(), "it is gone");
}

fn branches_can_be_chosen_later(store: &dyn HistoryStore) {
    let (writer, repo) = with_repo(store, "a", vec![commit(1, "One")]);
    let other = writer.add_repo(&new_repo("b"), 5).expect(OK);
    let of = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect::<Vec<_>>();
    for choice in [
        BranchChoice::DefaultAnd(of(&["x", "release/1"])),
        BranchChoice::Named(of(&["x"])),
        BranchChoice::DefaultAnd(Vec::new()),
        BranchChoice::All,
        BranchChoice::Default,
    ] {
        writer.set_branches(repo.id, &choice).expect(OK);
        let listed = store.list_repos().expect(OK);
        let chosen: Vec<&BranchChoice> = listed.iter().map(|repo| &repo.info.branches).collect();
        assert_eq!(chosen, [&choice, &BranchChoice::Default]);
        assert!(listed.iter().all(|repo| repo.shown.is_none()), "whoever asks says what is shown");
    }
    assert_eq!(found(store, &query("One")), [1], "what is stored stays");
    writer.remove_repo(other.id).expect(OK);
    assert!(matches!(writer.set_branches(other.id, &BranchChoice::All), Err(StoreError::Absent(_))));
}

fn commits_come_back_as_they_were_put(store: &dyn HistoryStore) {
    let odd = RepoPath::new(&b"odd\xff\n\"path"[..]);
    let rich = CommitRecord {
        body: Some("line\n\nline".to_owned()),
        author_time: None,
        commit_time: Some(-5),
        lossy: true,
        files: vec![
            FileChange { status: FileStatus::Renamed, path: odd.clone(), old_path: Some("old".into()) },
            FileChange { status: FileStatus::Copied, path: "z".into(), old_path: Some(odd) },
            file(FileStatus::TypeChanged, "link", None),
            file(FileStatus::Deleted, "a", None),
        ],
        ..commit(1, "rich")
    };
    let binary = CommitRecord { patch: Patch::Absent(PatchAbsence::BinaryOnly), ..commit(2, "binary") };
    let (writer, repo) = with_repo(store, "r", vec![rich.clone(), binary]);
    for (path, files) in [("link", &rich.files[2..3]), ("old", &rich.files[..1]), ("z", &rich.files[1..2]), ("no", &[])]
    {
        let detail = store.find_commit_of(repo.id, id(1), &path.into()).expect(OK).expect("it was put");
        assert_eq!((&detail.subject, detail.files.as_slice()), (&rich.subject, files), "{path}");
    }
    assert!(store.find_commit_of(repo.id, id(9), &"z".into()).expect(OK).is_none());
    let detail = store.find_commit(repo.id, id(1)).expect(OK).expect("it was put");
    assert_eq!((detail.subject, detail.body, detail.files), (rich.subject, rich.body, rich.files));
    assert_eq!((detail.author_time, detail.commit_time, detail.lossy), (None, Some(-5), true));
    assert_eq!((detail.author, detail.committer, detail.patch_absence), (rich.author, rich.committer, None));
    assert_eq!(store.find_patch(repo.id, id(1)).expect(OK), Some(PatchText::Bytes(b"diff".to_vec())));
    assert_eq!(store.find_patch(repo.id, id(2)).expect(OK), Some(PatchText::Absent(PatchAbsence::BinaryOnly)));
    assert_eq!(store.find_patch(repo.id, id(9)).expect(OK), None);
    assert!(store.find_commit(repo.id, id(9)).expect(OK).is_none());
    assert_eq!(writer.commits_without_patch(repo.id, PatchAbsence::BinaryOnly).expect(OK), [id(2)]);
    assert_eq!(writer.known_commits(repo.id).expect(OK), [id(1), id(2)].into());
}

fn putting_twice_is_putting_once(store: &dyn HistoryStore) {
    let (writer, repo) = with_repo(store, "r", vec![commit(1, "before words")]);
    let changed = CommitRecord { files: vec![file(FileStatus::Added, "new", None)], ..commit(1, "after words") };
    writer.put_commits(repo.id, vec![changed]).expect(OK);
    assert_eq!(found(store, &query("before")), Vec::<u8>::new());
    assert_eq!(found(store, &query("words")), [1]);
    assert_eq!(store.list_repos().expect(OK)[0].sync.commit_count, 1);
    assert_eq!(store.find_commit(repo.id, id(1)).expect(OK).expect("it was put").files.len(), 1);
    assert_eq!(store.check(true).expect(OK), Vec::<String>::new());
}

fn search_ranks_and_filters_before_the_limit(store: &dyn HistoryStore) {
    let mut commits: Vec<CommitRecord> = (1..=30).map(|number| commit(number, "needle in the subject")).collect();
    commits.push(CommitRecord { body: Some("needle".to_owned()), ..commit(40, "in the body only, that is") });
    commits.push(CommitRecord { patch_preview: "needle".to_owned(), ..commit(41, "in the diff only, that is") });
    commits[4].files =
        vec![file(FileStatus::Modified, "docs/50%_done.md", None), file(FileStatus::Added, "src/b.rs", None)];
    let (_writer, repo) = with_repo(store, "r", commits);
    let all = CommitQuery { limit: 100, ..query("needle") };
    let order = found(store, &all);
    assert_eq!(order.len(), 32);
    assert_eq!(order[..30], (1..=30).rev().collect::<Vec<u8>>(), "equal ones newest first");
    assert_eq!(order[30..], [40, 41], "subject before body before diff");
    let first = store.search_commits(&CommitQuery { limit: 3, ..all.clone() }).expect(OK);
    assert_eq!((first.hits.len(), first.more, first.quoted), (3, true, false));
    assert_eq!(first.hits[0].matched_paths, ["src/a.rs"], "all files where there is no filter");
    let by_path = CommitQuery { paths: vec!["0%_D".to_owned()], limit: 1, ..all.clone() };
    let hit = store.search_commits(&by_path).expect(OK);
    assert_eq!(hit.hits[0].matched_paths, ["docs/50%_done.md"], "only the paths that matched, case ignored");
    assert_eq!((hit.hits[0].commit, hit.more), (id(5), false), "found though 25 others rank higher");
    let literal = CommitQuery { paths: vec!["5_%".to_owned()], ..all.clone() };
    assert!(found(store, &literal).is_empty(), "wildcards are literal");
    let times = CommitQuery { since: Some(29), until: Some(40), ..all.clone() };
    assert_eq!(found(store, &times), [30, 29, 40]);
    let author = |text: &str| CommitQuery { author: Some(text.to_owned()), ..all.clone() };
    assert_eq!(found(store, &author("ANN <")).len(), 32);
    assert!(found(store, &author("bob")).is_empty());
    assert_eq!(found(store, &CommitQuery { repos: Some(vec![repo.id]), ..all.clone() }).len(), 32);
    assert!(found(store, &CommitQuery { repos: Some(Vec::new()), ..all }).is_empty());
}

fn any_text_is_a_query(store: &dyn HistoryStore) {
    let (_writer, _) = with_repo(store, "r", vec![commit(1, "use tree-sitter for foo(bar) and a\"b")]);
    for (text, hit) in
        [("tree-sitter", true), ("foo(", true), ("a\"b", true), ("tree AND", true), ("nosuch: foo", false)]
    {
        let matches = store.search_commits(&query(text)).expect(text);
        assert_eq!((!matches.hits.is_empty(), matches.quoted), (hit, true), "{text}");
    }
    // What SQLite says of these repeats them, and must not be taken for what it says of a damaged file.
    for text in ["\"already exists\": foo", "\"is a view\": foo", "\"no such table\": foo"] {
        let matches = store.search_commits(&query(text)).expect(text);
        assert_eq!((matches.hits.len(), matches.quoted), (0, true), "{text}");
    }
    for text in ["tree sit*", "\"for foo\"", "subject: tree", "tree NOT nothing", "nothing OR foo"] {
        let matches = store.search_commits(&query(text)).expect(text);
        assert_eq!((matches.hits.len(), matches.quoted), (1, false), "{text}");
    }
    for text in [
        "\0",
        "*",
        "\"",
        "''; DROP TABLE commits",
        "NEAR(",
        "^",
        "{",
        "(((((((((((((((((((",
        "ü\u{202e}",
        "-",
        ":",
        "AND OR NOT",
    ] {
        if let Err(error) = store.search_commits(&query(text)) {
            assert!(matches!(error, StoreError::BadQuery(_)), "{text}: {error}");
        }
    }
}

fn what_a_query_costs_is_bounded(store: &dyn HistoryStore) {
    let commits = (1..=200).map(|number| commit(number, &format!("word{number} alpha beta"))).collect();
    let (_writer, _) = with_repo(store, "r", commits);
    // However often a word is repeated, it is one word.
    let matches = store.search_commits(&query(&"a*".repeat(4_000))).expect(OK);
    assert_eq!((matches.hits.len(), matches.more, matches.quoted), (10, true, false));
    let many = (0..1_000).map(|number| format!("w{number}*")).collect::<Vec<_>>().join(" ");
    for text in [many.clone(), format!("({many})"), many.replace('*', "-")] {
        let refused = store.search_commits(&query(&text));
        let Err(StoreError::BadQuery(why)) = refused else { panic!("{refused:?}") };
        assert!(why.contains("1000 different words"), "{why}");
    }
    // A query ends with the work that it belongs to, whatever it is about.
    let cancelled = Cancel::default();
    cancelled.cancel();
    let touches = TouchQuery {
        path: "src".to_owned(),
        prefixes: Vec::new(),
        repos: None,
        hidden: Hidden::default(),
        since: None,
        until: None,
        author: Some("nobody".to_owned()),
        limit: 10,
    };
    let entered = cancelled.enter();
    let searched = store.search_commits(&query("alpha OR (beta* AND word*)"));
    let touched = store.list_touches(&touches);
    drop(entered);
    assert!(matches!(searched, Err(StoreError::Interrupted)), "{searched:?}");
    assert!(matches!(touched, Err(StoreError::Interrupted)), "{touched:?}");
    assert_eq!(found(store, &query("alpha")).len(), 10, "others are not concerned");
}

fn touches_are_newest_first_and_literal(store: &dyn HistoryStore) {
    let mut commits: Vec<CommitRecord> = (1..=5).map(|number| commit(number, "s")).collect();
    commits[2].files =
        vec![file(FileStatus::Renamed, "lib/x_y.rs", Some("src/x.rs")), file(FileStatus::Added, "lib/xzy.rs", None)];
    commits[4].author_time = Some(1);
    let (_writer, repo) = with_repo(store, "r", commits);
    let touch = |path: &str, limit: usize| TouchQuery {
        path: path.to_owned(),
        repos: None,
        prefixes: Vec::new(),
        hidden: Hidden::default(),
        since: None,
        until: None,
        author: None,
        limit,
    };
    let (hits, more) = store.list_touches(&touch("SRC/", 10)).expect(OK);
    let order: Vec<u8> = hits.iter().map(|hit| hit.commit.as_bytes()[0]).collect();
    assert_eq!((order.as_slice(), more), (&[4, 2, 5, 1][..], false), "by author date, then by commit date");
    let (hits, more) = store.list_touches(&touch("src/", 2)).expect(OK);
    assert_eq!((hits.len(), hits[1].commit, more), (2, id(2), true));
    let (hits, _) = store.list_touches(&touch("x_y", 10)).expect(OK);
    assert_eq!(hits.len(), 1, "an underscore is an underscore");
    assert_eq!(hits[0].change, file(FileStatus::Renamed, "lib/x_y.rs", Some("src/x.rs")));
    let (hits, _) = store.list_touches(&touch("lib/", 10)).expect(OK);
    assert_eq!(hits.len(), 2, "one result for each file");
    let filtered = TouchQuery {
        since: Some(2),
        until: Some(3),
        repos: Some(vec![repo.id]),
        author: Some("ann".to_owned()),
        ..touch("rs", 10)
    };
    assert_eq!(store.list_touches(&filtered).expect(OK).0.len(), 3);
}

fn paths_are_matched_with_what_they_begin_with(store: &dyn HistoryStore) {
    let in_file = |number: u8, path: &str| CommitRecord {
        files: vec![file(FileStatus::Added, path, None)],
        ..commit(number, "needle")
    };
    let (writer, web) = with_repo(store, "web", vec![in_file(1, "src/a.js"), in_file(2, "b.js")]);
    drop(writer);
    let (writer, api) = with_repo(store, "api", vec![in_file(3, "src/a.js"), in_file(4, "web/b.js")]);
    drop(writer);
    let prefixes = vec![(web.id, "web/".to_owned()), (api.id, "a%i/".to_owned())];
    for (path, expected) in [
        ("web/src/a.js", &[1][..]),
        ("b/SRC", &[1]),
        ("web/", &[1, 2, 4]),
        ("a%i/web/b", &[4]),
        ("src/a.js", &[1, 3]),
        ("a_i/", &[]),
        ("api/", &[]),
    ] {
        let touch = TouchQuery {
            path: path.to_owned(),
            repos: None,
            prefixes: prefixes.clone(),
            hidden: Hidden::default(),
            since: None,
            until: None,
            author: None,
            limit: 10,
        };
        let mut touched: Vec<u8> =
            store.list_touches(&touch).expect(OK).0.iter().map(|hit| hit.commit.as_bytes()[0]).collect();
        touched.sort_unstable();
        assert_eq!(touched, expected, "{path}");
        let query = CommitQuery { paths: vec![path.to_owned()], prefixes: prefixes.clone(), ..query("needle") };
        let hits = store.search_commits(&query).expect(OK).hits;
        let mut searched: Vec<u8> = hits.iter().map(|hit| hit.commit.as_bytes()[0]).collect();
        searched.sort_unstable();
        assert_eq!(searched, expected, "{path}");
        assert!(hits.iter().all(|hit| hit.matched_paths.len() == 1), "{path}");
    }
    // A repository that has no prefix is matched by its own paths.
    let query = CommitQuery { paths: vec!["src/".to_owned()], prefixes: prefixes[..1].to_vec(), ..query("needle") };
    let mut both = found(store, &query);
    both.sort_unstable();
    assert_eq!(both, [1, 3]);
}

fn subjects_are_newest_first_without_merges(store: &dyn HistoryStore) {
    let mut commits: Vec<CommitRecord> = (1..=5).map(|number| commit(number, &format!("s{number}"))).collect();
    commits[1].parent_count = 2;
    commits[2].files = vec![
        file(FileStatus::Renamed, "src/b.rs", Some("src/a.rs")),
        file(FileStatus::Added, "src/c.rs", None),
        file(FileStatus::Deleted, "src/d.rs", None),
    ];
    commits[3].commit_time = Some(9);
    commits[4].files.clear();
    let (writer, repo) = with_repo(store, "r", commits);
    let other = writer.add_repo(&new_repo("other"), 5).expect(OK);
    writer.put_commits(other.id, vec![commit(7, "of another")]).expect(OK);
    let told = |subjects: &Subjects| -> Vec<String> {
        let file = |file: &SubjectFile| {
            let path = |number: u32| subjects.paths[number as usize].to_string();
            format!("{}{}{}", file.status.letter(), path(file.path), file.old_path.map_or(String::new(), path))
        };
        let commit = |commit: &CommitSubject| {
            let files: Vec<String> = commit.files.iter().map(file).collect();
            format!("{} {} {}", commit.subject, commit.file_count, files.join(" "))
        };
        subjects.commits.iter().map(commit).collect()
    };
    let subjects = store.list_subjects(repo.id, 3).expect(OK);
    assert_eq!(
        told(&subjects),
        ["s4 1 Msrc/a.rs", "s3 3 Rsrc/b.rssrc/a.rs Asrc/c.rs Dsrc/d.rs", "s1 1 Msrc/a.rs"],
        "by commit time; the merge and the one without files are left out"
    );
    let subjects = store.list_subjects(repo.id, 2).expect(OK);
    assert_eq!(told(&subjects)[1], "s3 3 Rsrc/b.rssrc/a.rs", "where there are too many, only renames");
}

fn the_last_change_of_a_path_is_known(store: &dyn HistoryStore) {
    let bytes = || RepoPath::new(b"caf\xe9.txt".as_slice());
    let paths = || vec!["src/b.rs".into(), bytes(), "src/c.rs".into(), "src/a.rs".into(), "SRC/A.RS".into()];
    let nowhere = store.last_touched(RepoId(1), paths(), &Hidden::default()).expect(OK);
    assert_eq!(nowhere, vec![None; 5], "an index that is not there yet knows nothing");
    let mut commits: Vec<CommitRecord> = (1..=4).map(|number| commit(number, "x")).collect();
    commits[1].commit_time = Some(20);
    commits[2].files = vec![file(FileStatus::Renamed, "src/b.rs", Some("src/a.rs"))];
    commits[3].files = vec![FileChange { status: FileStatus::Added, path: bytes(), old_path: None }];
    let (writer, repo) = with_repo(store, "r", commits);
    let other = writer.add_repo(&new_repo("other"), 5).expect(OK);
    writer.put_commits(other.id, vec![commit(99, "of another")]).expect(OK);
    let known = store.last_touched(repo.id, paths(), &Hidden::default()).expect(OK);
    assert_eq!(known, [Some(3), Some(4), None, Some(20), None], "in the order of the question, by commit time");
}

/// A commit that changes these files, `new<old` for a rename.
fn changing(number: u8, files: &[&str]) -> CommitRecord {
    let change = |path: &&str| match path.split_once('<') {
        Some((new, old)) => file(FileStatus::Renamed, new, Some(old)),
        None => file(FileStatus::Modified, path, None),
    };
    CommitRecord { files: files.iter().map(change).collect(), ..commit(number, &format!("s{number}")) }
}

/// Each file with how many commits changed both and the newest of them.
fn together(store: &dyn HistoryStore, repo: &Repo, paths: &[&str], limit: usize) -> (CoChanges, Vec<String>) {
    let paths = paths.iter().map(|path| RepoPath::from(*path)).collect();
    let hidden = Hidden::default();
    let query = CoChangeQuery { repo: repo.id, hidden, paths, max_files: 4, max_commits: 6, limit };
    let found = store.list_co_changes(&query).expect(OK);
    let told = found.files.iter().map(|file| format!("{} {} {}", file.path, file.support, file.subject)).collect();
    (found, told)
}

fn files_that_change_together_are_followed_through_renames(store: &dyn HistoryStore) {
    let commits = vec![
        changing(1, &["a", "b"]),
        changing(2, &["a", "b", "c"]),
        // The file under another name, and so is its companion, elsewhere and at another time.
        changing(3, &["new<a", "c"]),
        changing(4, &["d<b"]),
        changing(5, &["new", "d"]),
        // Others that took the names over.
        changing(6, &["a", "c"]),
        changing(7, &["new", "b"]),
        // Changed names twice.
        changing(8, &["x", "y"]),
        changing(9, &["z<y"]),
        changing(10, &["y<z"]),
        changing(11, &["x", "y"]),
    ];
    let (writer, repo) = with_repo(store, "r", commits);
    let other = writer.add_repo(&new_repo("other"), 5).expect(OK);
    writer.put_commits(other.id, vec![changing(1, &["new", "of another"])]).expect(OK);
    let (found, told) = together(store, &repo, &["new"], 10);
    assert_eq!(told, ["d 3 s5", "c 2 s3", "b 1 s7"], "by number, then by time");
    assert_eq!((found.commits, found.too_large, found.too_old, found.more), (5, 0, 0, false));
    assert_eq!((found.earlier, found.subjects.len()), (vec![RepoPath::from("a")], 5));
    assert_eq!(found.files[0].newest, id(5));
    let (found, told) = together(store, &repo, &["a"], 10);
    assert_eq!((found.commits, told), (3, vec!["c 2 s6".to_owned(), "b 2 s2".to_owned()]), "what has the name now");
    assert_eq!(together(store, &repo, &["x"], 10).1, ["y 2 s11"]);
    let (found, told) = together(store, &repo, &["new", "c"], 1);
    assert_eq!((found.commits, found.more, told), (6, true, vec!["d 3 s5".to_owned()]), "any of several files");
    let (found, told) = together(store, &repo, &["nothing"], 10);
    assert_eq!((found.commits, told.len()), (0, 0));
}

fn commits_that_say_nothing_of_what_changes_together_are_left_out(store: &dyn HistoryStore) {
    let merge = CommitRecord { parent_count: 2, ..changing(2, &["a", "b"]) };
    let mut commits = vec![changing(1, &["a", "b"]), merge, changing(3, &["a", "b", "c", "d", "e"])];
    commits.push(changing(4, &["a", "b", "c", "d"]));
    let (writer, repo) = with_repo(store, "r", commits);
    let (found, told) = together(store, &repo, &["a"], 10);
    assert_eq!((found.commits, found.too_large, told), (2, 1, vec!["b 2 s4".into(), "c 1 s4".into(), "d 1 s4".into()]));
    let more = (5..9).map(|number| changing(number, &["a", "f"])).collect();
    writer.put_commits(repo.id, more).expect(OK);
    let (found, told) = together(store, &repo, &["a"], 1);
    assert_eq!((found.commits, found.too_large, found.too_old), (5, 1, 1), "only the newest are looked at");
    assert_eq!((told, found.more), (vec!["f 4 s8".to_owned()], true));
    let odd = RepoPath::new(&b"odd\xff"[..]);
    let files = vec![
        file(FileStatus::Modified, "g", None),
        FileChange { status: FileStatus::Added, path: odd.clone(), old_path: None },
    ];
    writer.put_commits(repo.id, vec![CommitRecord { files, ..commit(9, "odd") }]).expect(OK);
    let hidden = Hidden::default();
    let query = CoChangeQuery { repo: repo.id, hidden, paths: vec![odd], max_files: 4, max_commits: 6, limit: 5 };
    assert_eq!(store.list_co_changes(&query).expect(OK).files[0].path, RepoPath::from("g"));
}

fn prefixes_name_commits_of_one_repository(store: &dyn HistoryStore) {
    let (writer, repo) = with_repo(store, "r", vec![commit(0xab, "x"), commit(0xac, "y")]);
    let other = writer.add_repo(&new_repo("other"), 5).expect(OK);
    let near = CommitRecord {
        id: CommitId::from_hex(format!("abab{}", "0".repeat(36)).as_bytes()).expect("40 digits"),
        ..commit(1, "z")
    };
    writer.put_commits(repo.id, vec![near.clone()]).expect(OK);
    let prefix = |text: &str| CommitPrefix::parse(text).expect("a prefix");
    let none = Hidden::default();
    assert_eq!(store.list_candidates(repo.id, &prefix("ABAB"), &none, 5).expect(OK), [near.id, id(0xab)]);
    assert_eq!(store.list_candidates(repo.id, &prefix("ababab"), &none, 5).expect(OK), [id(0xab)]);
    assert_eq!(store.list_candidates(repo.id, &prefix("abab"), &none, 1).expect(OK).len(), 1);
    assert_eq!(store.list_candidates(other.id, &prefix("abab"), &none, 5).expect(OK), []);
}

/// Commits of branches that a question is not about: as if the index did not hold them, before any limit.
fn hidden_commits_answer_nothing(store: &dyn HistoryStore) {
    let commits: Vec<CommitRecord> = vec![
        changing(1, &["a", "b"]),
        changing(2, &["a", "b"]),
        changing(3, &["a", "other"]),
        changing(4, &["a<z", "other"]),
        changing(5, &["z", "other"]),
    ];
    let said = |commits: Vec<CommitRecord>| -> Vec<CommitRecord> {
        commits.into_iter().map(|commit| CommitRecord { subject: "needle".to_owned(), ..commit }).collect()
    };
    let (writer, repo) = with_repo(store, "r", said(commits));
    let copy = writer.add_repo(&new_repo("copy"), 5).expect(OK);
    writer.put_commits(copy.id, said(vec![changing(3, &["a", "other"])])).expect(OK);
    let mut hidden = Hidden::default();
    // One that is not held may be hidden, too.
    hidden.hide(repo.id, Arc::new(HashSet::from([id(3), id(4), id(5), id(99)])));
    assert!(hidden.has(repo.id, id(3)) && !hidden.has(repo.id, id(2)) && !hidden.has(copy.id, id(3)));

    let ask = CommitQuery { hidden: hidden.clone(), limit: 2, ..query("needle") };
    let first = store.search_commits(&ask).expect(OK);
    assert_eq!((first.hits.len(), first.more), (2, true), "filled up with what is not hidden");
    let all = CommitQuery { limit: 10, repos: Some(vec![repo.id]), ..ask };
    assert_eq!(found(store, &all), [2, 1]);
    let all = CommitQuery { repos: None, ..all };
    assert_eq!(found(store, &all), [3, 2, 1], "the same commit of another repository is not hidden");

    let touch = TouchQuery {
        path: "a".to_owned(),
        repos: Some(vec![repo.id]),
        prefixes: Vec::new(),
        hidden: hidden.clone(),
        since: None,
        until: None,
        author: None,
        limit: 1,
    };
    let (hits, more) = store.list_touches(&touch).expect(OK);
    assert_eq!((hits[0].commit, hits.len(), more), (id(2), 1, true));
    let (hits, more) = store.list_touches(&TouchQuery { limit: 2, ..touch }).expect(OK);
    assert_eq!((hits.len(), more), (2, false));

    let paths = || vec!["a".into(), "b".into(), "other".into()];
    assert_eq!(store.last_touched(repo.id, paths(), &hidden).expect(OK), [Some(2), Some(2), None]);
    assert_eq!(store.last_touched(copy.id, paths(), &hidden).expect(OK), [Some(3), None, Some(3)]);

    let query = CoChangeQuery {
        repo: repo.id,
        hidden: hidden.clone(),
        paths: vec!["a".into()],
        max_files: 4,
        max_commits: 2,
        limit: 10,
    };
    let together = store.list_co_changes(&query).expect(OK);
    let told: Vec<(String, usize)> = together.files.iter().map(|file| (file.path.to_string(), file.support)).collect();
    assert_eq!((told, together.commits, together.too_old), (vec![("b".to_owned(), 2)], 2, 0));
    assert_eq!(together.earlier, [], "a rename on another branch is none here");

    let messages = store.list_messages(repo.id, None, None, None, &[], &hidden).expect(OK);
    assert_eq!(messages.iter().map(|said| said.commit).collect::<Vec<_>>(), [id(2), id(1)]);
    for (statuses, expected) in [
        (&[FileStatus::Modified][..], &[id(2), id(1)][..]),
        (&[FileStatus::Deleted, FileStatus::Modified], &[id(2), id(1)]),
        (&[FileStatus::Deleted], &[]),
    ] {
        let messages = store.list_messages(repo.id, None, None, None, statuses, &hidden).expect(OK);
        assert_eq!(messages.iter().map(|said| said.commit).collect::<Vec<_>>(), expected, "{statuses:?}");
    }
    let prefix = |text: &str| CommitPrefix::parse(text).expect("a prefix");
    assert_eq!(store.list_candidates(repo.id, &prefix("0303"), &hidden, 5).expect(OK), []);
    assert_eq!(store.list_candidates(repo.id, &prefix("0202"), &hidden, 5).expect(OK), [id(2)]);
    let twin = CommitId::from_hex(format!("0303{}", "f".repeat(36)).as_bytes()).expect("40 digits");
    writer.put_commits(repo.id, vec![CommitRecord { id: twin, ..commit(6, "x") }]).expect(OK);
    assert_eq!(store.list_candidates(repo.id, &prefix("0303"), &hidden, 1).expect(OK), [twin]);

    hidden.hide(repo.id, Arc::default());
    assert!(hidden.is_empty());
}

fn a_sync_ends_whole(store: &dyn HistoryStore) {
    let (writer, repo) = with_repo(store, "r", vec![commit(1, "stays"), commit(2, "goes")]);
    assert!(store.list_repos().expect(OK)[0].sync.partial, "begun and not ended");
    let mapped = Person { name: "Annette".to_owned(), email: "annette@example.com".to_owned() };
    let end = SyncEnd {
        at: 77,
        head: Some(id(1)),
        default_branch: Some("trunk".to_owned()),
        tips: vec![
            Tip { name: "HEAD".to_owned(), commit: id(1) },
            Tip { name: "refs/heads/trunk".to_owned(), commit: id(1) },
        ],
        shallow: vec![id(1)],
        remove: vec![id(2), id(9)],
        aliases: vec![AuthorAlias { recorded: commit(1, "").author, mapped: mapped.clone() }],
        problems: vec![Problem { reason: "a reason".to_owned(), count: 3 }],
    };
    assert_eq!(writer.list_authors(repo.id).expect(OK), [commit(1, "").author]);
    let state = writer.end_sync(repo.id, end.clone()).expect(OK);
    let listed = store.list_repos().expect(OK).remove(0);
    assert_eq!(listed.sync, state);
    assert_eq!(
        (state.last_synced_at, state.sync_count, state.last_synced_sha, state.partial),
        (Some(77), 1, Some(id(1)), false)
    );
    assert_eq!((state.tips, state.shallow, state.commit_count), (end.tips, end.shallow, 1));
    assert_eq!((state.problems, state.last_error), (end.problems, None));
    assert_eq!(listed.info.default_branch.as_deref(), Some("trunk"));
    assert!(found(store, &query("goes")).is_empty());
    let by_mailmap = CommitQuery { author: Some("annette".to_owned()), ..query("stays") };
    assert_eq!(found(store, &by_mailmap), [1]);
    assert_eq!(store.find_commit(repo.id, id(1)).expect(OK).expect("it stays").mapped_author, Some(mapped));
    writer.fail_sync(repo.id, "broken").expect(OK);
    assert_eq!(store.list_repos().expect(OK)[0].sync.last_error.as_deref(), Some("broken"));
    writer.note_current(repo.id, 99).expect(OK);
    let state = store.list_repos().expect(OK).remove(0).sync;
    assert_eq!((state.last_synced_at, state.sync_count, state.last_error), (Some(99), 2, None));
    assert_eq!(store.check(true).expect(OK), Vec::<String>::new());
}

fn another_fingerprint_forgets_everything(store: &dyn HistoryStore) {
    let (writer, repo) = with_repo(store, "r", vec![commit(1, "words")]);
    writer
        .end_sync(repo.id, SyncEnd { tips: vec![Tip { name: "HEAD".to_owned(), commit: id(1) }], ..SyncEnd::default() })
        .expect(OK);
    let same = writer.begin_sync(repo.id, "f", &[]).expect(OK);
    assert_eq!((same.partial, same.tips.len()), (false, 1), "the state before");
    let other = writer.begin_sync(repo.id, "g", &[id(7)]).expect(OK);
    assert_eq!((other.partial, other.tips.len(), other.commit_count), (true, 0, 0));
    let begun = store.list_repos().expect(OK).remove(0).sync;
    assert_eq!(
        (begun.partial, begun.shallow),
        (true, vec![id(7)]),
        "the boundary is known even if the sync never ends"
    );
    assert!(found(store, &query("words")).is_empty());
    assert!(writer.known_commits(repo.id).expect(OK).is_empty());
}

fn removing_a_repository_leaves_the_others(store: &dyn HistoryStore) {
    let (writer, first) = with_repo(store, "first", vec![commit(1, "words")]);
    let second = writer.add_repo(&new_repo("second"), 5).expect(OK);
    writer.put_commits(second.id, vec![commit(1, "words")]).expect(OK);
    writer.remove_repo(first.id).expect(OK);
    assert_eq!(store.list_repos().expect(OK).len(), 1);
    assert_eq!(store.find_repo(first.id).expect(OK), None);
    let hits = store.search_commits(&query("words")).expect(OK).hits;
    assert_eq!(hits.iter().map(|hit| hit.repo).collect::<Vec<_>>(), [second.id]);
    assert_eq!(hits[0].matched_paths, ["src/a.rs"], "shared paths stay");
    let again = writer.add_repo(&new_repo("first"), 5).expect(OK);
    assert!(again.id > second.id, "an id is never used again");
    assert_eq!(store.check(true).expect(OK), Vec::<String>::new());
}

fn every_write_is_a_new_generation(store: &dyn HistoryStore) {
    let (writer, repo) = with_repo(store, "r", Vec::new());
    let before = store.generation().expect(OK);
    writer.put_commits(repo.id, vec![commit(1, "x")]).expect(OK);
    assert_ne!(store.generation().expect(OK), before);
}

//! Trees and blobs, compared with `git ls-tree` and `git cat-file`.

use std::{fs, os::unix::ffi::OsStrExt as _, path::Path};

use lore_git::{FileKind, Found, Repository, TreeLimits};
use lore_model::{BlobId, CommitId};

use crate::repo::{Repo, git, ls_tree};

const CAP: u64 = 1 << 20;

fn check(folder: &Path, commit: CommitId) {
    let repository = Repository::open(folder).unwrap();
    let tree = repository.tree_of(commit, &TreeLimits::default()).unwrap();
    let mut said = ls_tree(folder, &commit.to_hex());
    let all = said.len();
    said.retain(|_, (mode, _)| mode != "160000");
    assert_eq!(tree.submodules, (all - said.len()) as u64);
    let mode = |kind| match kind {
        FileKind::Regular => "100644".to_owned(),
        FileKind::Executable => "100755".to_owned(),
        FileKind::Symlink => "120000".to_owned(),
    };
    let found: Vec<_> = tree.files.iter().map(|file| (file.path.clone(), (mode(file.kind), file.blob))).collect();
    assert_eq!(found, said.into_iter().collect::<Vec<_>>());
    let mut reader = repository.blobs();
    let mut buffer = Vec::new();
    for file in &tree.files {
        let expected = git(folder, &["cat-file", "blob", &file.blob.to_hex()], b"");
        assert_eq!(reader.size(file.blob).unwrap(), Some(expected.len() as u64));
        let found = reader.read(file.blob, CAP, &mut buffer).unwrap();
        if expected.len() as u64 > CAP {
            assert_eq!((found, buffer.len()), (Found::TooLarge(expected.len() as u64), 0));
        } else {
            assert_eq!((found, &buffer), (Found::Read, &expected));
        }
    }
}

fn odd_files(repo: &Repo) {
    repo.write("a", "file").write("a.b", "sorts between a and a/").write("a-b/c", "x").write("z/y/x/w", "deep");
    repo.write(std::ffi::OsStr::from_bytes(b"no\xff\xfeutf8"), "bytes").write("umlaut-ä", "x").write("new\nline", "x");
    repo.write("empty", "").write("run", "#!").write("large", vec![b'l'; 2 << 20]).write("nul", b"a\0b");
    fs::set_permissions(repo.path.join("run"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    std::os::unix::fs::symlink("a", repo.path.join("link")).unwrap();
}

#[test]
fn trees_and_blobs_are_those_of_git() {
    for format in ["sha1", "sha256"] {
        let repo = Repo::with_format(format);
        odd_files(&repo);
        let first = repo.commit();
        check(&repo.path, first);
        repo.remove("a").write("a/now-a-folder", "x").write("large", vec![b'l'; 3 << 20]);
        let second = repo.commit();
        check(&repo.path, second);
        repo.git(&["gc", "--quiet"]);
        check(&repo.path, first);
        check(&repo.path, second);
    }
}

#[test]
fn submodules_are_counted_apart() {
    let repo = Repo::new();
    repo.write("file", "x").commit();
    let commit = repo.head().to_hex();
    repo.git(&["update-index", "--add", "--cacheinfo", &format!("160000,{commit},sub")]);
    repo.git(&["commit", "--quiet", "-m", "sub"]);
    check(&repo.path, repo.head());
}

fn object(repo: &Repo, kind: &str, content: &[u8]) -> String {
    let args = ["hash-object", "-t", kind, "-w", "--stdin", "--literally"];
    String::from_utf8(git(&repo.path, &args, content)).unwrap().trim().to_owned()
}

fn entry(mode: &str, name: &[u8], id: &str) -> Vec<u8> {
    let raw = (0..id.len()).step_by(2).map(|at| u8::from_str_radix(&id[at..at + 2], 16).unwrap());
    [mode.as_bytes(), b" ", name, b"\0"].concat().into_iter().chain(raw).collect()
}

fn commit_of(repo: &Repo, tree: &str) -> CommitId {
    let commit = format!("tree {tree}\nauthor A <a@b> 1 +0000\ncommitter A <a@b> 1 +0000\n\nx\n");
    CommitId::from_hex(object(repo, "commit", commit.as_bytes()).as_bytes()).unwrap()
}

#[test]
fn impossible_names_are_told_and_not_followed() {
    let repo = Repo::new();
    let blob = object(&repo, "blob", b"content");
    let inner = object(&repo, "tree", &entry("100644", b"config", &blob));
    let entries = [
        entry("40000", b"..", &inner),
        entry("40000", b".GIT", &inner),
        entry("100644", b"", &blob),
        entry("120000", b"a", &blob),
        entry("100644", b"a.b", &blob),
        entry("40000", b"a", &inner),
        entry("100644", b"x/y", &blob),
        entry("100664", b"z", &blob),
    ];
    let tree = object(&repo, "tree", &entries.concat());
    let found = repo.open().tree_of(commit_of(&repo, &tree), &TreeLimits::default()).unwrap();
    let skipped: Vec<String> = found.skipped.iter().map(|entry| format!("{}: {}", entry.path, entry.why)).collect();
    expect_test::expect![[r#"
        [
            "..: the name leads to another folder",
            ".GIT: the name is that of a git directory",
            ": it has no name",
            "a: another entry of the folder has the same name",
            "x/y: the name holds a slash or NUL",
        ]
    "#]]
    .assert_debug_eq(&skipped);
    let files: Vec<String> = found.files.iter().map(|file| file.path.to_string()).collect();
    assert_eq!(files, ["a", "a.b", "z"]);
}

#[test]
fn a_tree_that_names_more_than_anybody_can_list_is_an_error() {
    let repo = Repo::new();
    let repository = repo.open();
    // Ten times ten times ten …: of files, of empty folders, of long names.
    let bombs = [("100644", object(&repo, "blob", b"x"), 10, 1), ("40000", object(&repo, "tree", b""), 10, 1)];
    let long = ("40000", object(&repo, "tree", &entry("100644", b"f", &object(&repo, "blob", b"x"))), 10, 200_000);
    for ((mode, id, width, length), depth, said) in [
        (bombs[0].clone(), 10, "files and folders"),
        (bombs[1].clone(), 10, "files and folders"),
        (long, 10, "bytes of paths"),
    ] {
        let (mut mode, mut id) = (mode, id);
        for _ in 0..depth {
            let entries: Vec<u8> = (0..width)
                .flat_map(|number| entry(mode, &[vec![b'n'; length], vec![b'0' + number]].concat(), &id))
                .collect();
            id = object(&repo, "tree", &entries);
            mode = "40000";
        }
        let limits = TreeLimits { max_entries: 100_000, max_depth: 50, max_path_bytes: 64 << 20 };
        let error = repository.tree_of(commit_of(&repo, &id), &limits).unwrap_err().to_string();
        assert!(error.contains(said), "{said}: {error}");
    }
}

#[test]
fn what_lies_in_too_many_folders_is_left_out_and_the_rest_is_read() {
    let repo = Repo::new();
    let blob = object(&repo, "blob", b"x");
    let mut id = object(&repo, "tree", &entry("100644", b"f", &blob));
    for _ in 0..60 {
        id = object(&repo, "tree", &[entry("40000", b"d", &id), entry("100644", b"e", &blob)].concat());
    }
    let limits = TreeLimits { max_depth: 50, ..TreeLimits::default() };
    let found = repo.open().tree_of(commit_of(&repo, &id), &limits).unwrap();
    assert_eq!(found.files.len(), 50);
    let skipped: Vec<(usize, &str)> = found.skipped.iter().map(|e| (e.path.as_bytes().len(), e.why)).collect();
    assert_eq!(skipped, [(99, "it lies in too many folders within folders")]);
}

#[test]
fn a_blob_that_is_not_there_is_missing_and_what_is_no_blob_is_an_error() {
    let repo = Repo::new();
    let commit = repo.write("file", "x").commit();
    let mut reader = repo.open().blobs();
    let mut buffer = b"left over".to_vec();
    let nowhere = BlobId::from_bytes(&[7; 20]).unwrap();
    assert_eq!(reader.read(nowhere, CAP, &mut buffer).unwrap(), Found::Missing);
    assert!(buffer.is_empty());
    assert_eq!(reader.size(nowhere).unwrap(), None);
    let error = reader.read(BlobId::from_bytes(commit.as_bytes()).unwrap(), CAP, &mut buffer).unwrap_err();
    assert!(error.to_string().contains("it is a commit"), "{error}");
}

#[test]
fn an_object_that_would_fill_the_memory_is_an_error() {
    let repo = Repo::new();
    let size = 600 << 20;
    let id = claimed_size(&repo, size);
    let mut reader = repo.open().blobs();
    let mut buffer = Vec::new();
    assert_eq!(reader.read(id, 1 << 20, &mut buffer).unwrap(), Found::TooLarge(size));
    let error = reader.read(id, u64::MAX, &mut buffer).unwrap_err().to_string();
    assert!(error.contains("too large to fit in memory"), "{error}");
}

/// Writes a pack with one blob, which claims to have so many bytes.
fn claimed_size(repo: &Repo, mut size: u64) -> BlobId {
    let mut pack = b"PACK\0\0\0\x02\0\0\0\x01".to_vec();
    let at = u32::try_from(pack.len()).unwrap();
    let mut byte = 0x30 | u8::try_from(size & 15).unwrap();
    size >>= 4;
    while size > 0 {
        pack.push(byte | 0x80);
        byte = u8::try_from(size & 127).unwrap();
        size >>= 7;
    }
    pack.push(byte);
    // An empty stream, and a checksum that nobody looks at.
    pack.extend(b"\x78\x01\x03\0\0\0\0\x01".iter().chain(&[0; 20]));
    let id = [0xab; 20];
    let counts = (0..256_u32).flat_map(|first| u32::from(first >= 0xab).to_be_bytes());
    let mut index: Vec<u8> = b"\xfftOc\0\0\0\x02".iter().copied().chain(counts).chain(id).chain([0; 4]).collect();
    index.extend(at.to_be_bytes().iter().chain(&[0; 40]));
    let name = format!(".git/objects/pack/pack-{}", "ab".repeat(20));
    repo.write(format!("{name}.pack"), pack).write(format!("{name}.idx"), index);
    BlobId::from_bytes(&id).unwrap()
}

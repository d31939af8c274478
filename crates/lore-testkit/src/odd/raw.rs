//! Objects that no ordinary git command writes any more, but that old, converted or hostile repositories contain.
//!
//! They are chained on top of `toggle-on`; each swaps back and forth between two trees, so that each has a diff.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};

use super::stream::MAIN;
use crate::Git;

/// What stands between the parents and the message of a commit.
struct Case {
    label: &'static str,
    people: Vec<u8>,
    message: Vec<u8>,
}

const AUTHOR: &str = "author Ada Author <ada@example.com> 1600050000 +0000\n";
const COMMITTER: &str = "committer Cleo Committer <cleo@example.com> 1600050000 +0000\n";
const SIGNATURE: &str =
    "gpgsig -----BEGIN PGP SIGNATURE-----\n \n iQEzBAABCAAdFiEE\n =abcd\n -----END PGP SIGNATURE-----\n";

fn case(label: &'static str, people: impl AsRef<[u8]>) -> Case {
    Case { label, people: people.as_ref().to_vec(), message: format!("\nCommit {label}\n").into_bytes() }
}

/// Both people with the same words after the address.
fn dated(label: &'static str, date: &str) -> Case {
    case(
        label,
        format!("author Ada Author <ada@example.com>{date}\ncommitter Cleo Committer <cleo@example.com>{date}\n"),
    )
}

fn said(label: &'static str, message: &[u8]) -> Case {
    Case { label, people: [AUTHOR, COMMITTER].concat().into_bytes(), message: message.to_vec() }
}

fn cases() -> Vec<Case> {
    let headers = "mergetag object 0000000000000000000000000000000000000000\n type commit\n tag v1\n \n A tag\nHG:extra branch:default\nx-odd caf\u{e9}\n";
    vec![
        case("raw-author-without-date", format!("author Ada Author <ada@example.com>\n{COMMITTER}")),
        dated("raw-without-dates", ""),
        dated("raw-date-negative", " -86400 +0000"),
        dated("raw-date-i64-max", " 9223372036854775807 +0000"),
        dated("raw-date-over-i64", " 9223372036854775808 +0000"),
        dated("raw-date-over-u64", " 99999999999999999999999 +0000"),
        dated("raw-date-words", " Thu Jan 1 00:00:00 1970 +0000"),
        dated("raw-date-without-zone", " 1600050000"),
        dated("raw-date-zone-words", " 1600050000 CEST"),
        dated("raw-date-many-spaces", "   1600050000   +0000"),
        case("raw-empty-names", "author <> 1600050000 +0000\ncommitter  <> 1600050000 +0000\n"),
        case(
            "raw-without-address",
            "author Ada Author 1600050000 +0000\ncommitter cleo@example.com 1600050000 +0000\n",
        ),
        case("raw-nested-brackets", format!("author Ada <x> <ada@example.com> 1600050000 +0000\n{COMMITTER}")),
        case("raw-author-missing", COMMITTER),
        case("raw-committer-missing", AUTHOR),
        case("raw-people-missing", ""),
        case("raw-nul-in-author", format!("author Ada\0Author <ada@example.com> 1600050000 +0000\n{COMMITTER}")),
        case("raw-signed", [AUTHOR, COMMITTER, SIGNATURE].concat()),
        case("raw-other-headers", [AUTHOR, COMMITTER, "encoding UTF-8\n", headers].concat()),
        said("raw-nul-in-subject", b"\nsub\0ject\n\nbody\n"),
        said("raw-nul-in-body", b"\nsubject\n\nbo\0dy\n"),
        said("raw-nul-first", b"\n\0subject\n\nbody\n"),
        said("raw-without-message", b""),
        said("raw-message-without-newline", b"\nno newline"),
    ]
}

/// Writes them all and moves the main branch to the last.
pub(super) fn write(git: &Git, commits: &mut BTreeMap<String, String>) -> Result<String> {
    let find = |label: &str| commits.get(label).cloned().with_context(|| format!("`{label}` is made before"));
    let (off, on) = (find("toggle-off")?, find("toggle-on")?);
    let tree = |commit: &str| git.text(&["rev-parse", &format!("{commit}^{{tree}}")]);
    let trees = [tree(&off)?, tree(&on)?];
    let mut chain = Chain { git, tip: on, commits };
    for (number, case) in cases().into_iter().enumerate() {
        chain.add(&trees[number % 2], "", &case)?;
    }
    let twice = format!("parent {}\n", chain.tip);
    chain.add(&trees[0], &twice, &case("raw-parent-twice", [AUTHOR, COMMITTER].concat()))?;
    for (label, tree) in odd_trees(git, &trees[1])? {
        chain.add(&tree, "", &case(label, [AUTHOR, COMMITTER].concat()))?;
    }
    // The newest commit must have a tree that can be checked out.
    chain.add(&trees[0], "", &case("raw-end", [AUTHOR, COMMITTER].concat()))?;
    let tip = chain.tip;
    git.bytes(&["update-ref", MAIN, &tip])?;
    Ok(tip)
}

/// Writes one commit with a signature and without a change, on top of another.
pub(super) fn signed_on(git: &Git, parent: &str) -> Result<String> {
    let tree = git.text(&["rev-parse", &format!("{parent}^{{tree}}")])?;
    hash(git, "commit", format!("tree {tree}\nparent {parent}\n{AUTHOR}{COMMITTER}{SIGNATURE}\nSigned\n").as_bytes())
}

struct Chain<'a> {
    git: &'a Git,
    tip: String,
    commits: &'a mut BTreeMap<String, String>,
}

impl Chain<'_> {
    fn add(&mut self, tree: &str, more_parents: &str, case: &Case) -> Result<()> {
        let mut object = format!("tree {tree}\nparent {}\n{more_parents}", self.tip).into_bytes();
        object.extend(&case.people);
        object.extend(&case.message);
        self.tip = hash(self.git, "commit", &object)?;
        self.commits.insert(case.label.to_owned(), self.tip.clone());
        Ok(())
    }
}

/// Trees with modes of old versions of git, and with entries that no index accepts.
fn odd_trees(git: &Git, tree: &str) -> Result<[(&'static str, String); 3]> {
    let plain = git.bytes(&["cat-file", "tree", tree])?;
    let padded = replaced(&plain, b"40000 src\0", b"040000 src\0")?;
    let group_writable = replaced(&plain, b"100644 toggle.txt\0", b"100664 toggle.txt\0")?;
    let inner = git.text(&["rev-parse", &format!("{tree}:octopus")])?;
    let blob = git.text(&["rev-parse", &format!("{tree}:toggle.txt")])?;
    let mut forbidden = b"100644 ..\0".to_vec();
    forbidden.extend(unhex(&blob)?);
    forbidden.extend(b"40000 .git\0");
    forbidden.extend(unhex(&inner)?);
    forbidden.extend(&plain);
    Ok([
        ("raw-mode-padded", hash(git, "tree", &padded)?),
        ("raw-mode-group-writable", hash(git, "tree", &group_writable)?),
        ("raw-forbidden-names", hash(git, "tree", &forbidden)?),
    ])
}

fn replaced(bytes: &[u8], old: &[u8], new: &[u8]) -> Result<Vec<u8>> {
    let at = bytes.windows(old.len()).position(|window| window == old).context("the tree has that entry")?;
    Ok([&bytes[..at], new, &bytes[at + old.len()..]].concat())
}

/// The bytes of an object's name.
pub(super) fn unhex(hex: &str) -> Result<Vec<u8>> {
    (0..hex.len()).step_by(2).map(|at| Ok(u8::from_str_radix(&hex[at..at + 2], 16)?)).collect()
}

/// Writes an object as it is, whatever git thinks of it.
pub(super) fn hash(git: &Git, kind: &str, object: &[u8]) -> Result<String> {
    let id = git.feed(&["hash-object", "-t", kind, "-w", "--stdin", "--literally"], object)?;
    Ok(String::from_utf8(id)?.trim().to_owned())
}

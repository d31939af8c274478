//! What `git blame` prints, and paths as git quotes them.

use lore_git::{Blame, BlamedRun, fuzz::blame, unquote_path};

pub(super) fn run(bytes: &[u8]) {
    path(bytes);
    let Ok(blame_of) = blame(bytes) else { return };
    let mut next = 1_u64;
    for run in &blame_of.runs {
        assert_eq!(u64::from(run.first), next, "runs follow each other");
        assert!(run.count > 0 && run.commit < blame_of.commits.len(), "{run:?}");
        next += u64::from(run.count);
    }
    let again = blame(&write(&blame_of)).expect("what is written can be read");
    assert_eq!(plain(&again), plain(&blame_of));
}

/// Each run with its commit.
fn plain(blame: &Blame) -> Vec<String> {
    let run = |run: &BlamedRun| {
        let commit = &blame.commits[run.commit];
        format!("{} {} {} {:?} {commit:?}", run.first, run.count, run.origin, run.path.as_bytes())
    };
    blame.runs.iter().map(run).collect()
}

fn write(blame: &Blame) -> Vec<u8> {
    let mut written = Vec::new();
    for run in &blame.runs {
        let commit = &blame.commits[run.commit];
        let time = commit.author_time.map(|time| time.to_string()).unwrap_or_default();
        let head = format!(
            "{} {} {} {}\nauthor {}\nauthor-mail <{}>\nauthor-time {time}\nsummary {}\nfilename ",
            commit.id, run.origin, run.first, run.count, commit.author.name, commit.author.email, commit.subject,
        );
        written.extend(head.into_bytes());
        written.extend(quoted(run.path.as_bytes()));
        written.push(b'\n');
    }
    written
}

fn path(bytes: &[u8]) {
    assert_eq!(unquote_path(&quoted(bytes)).as_deref(), Some(bytes), "quoted and read again");
    if let Some(path) = unquote_path(bytes) {
        assert!(path.len() <= bytes.len());
    }
}

/// As git does it for paths with odd bytes, and here for all.
fn quoted(path: &[u8]) -> Vec<u8> {
    let mut quoted = vec![b'"'];
    for &byte in path {
        match byte {
            b'"' | b'\\' => quoted.extend([b'\\', byte]),
            b'\n' => quoted.extend(b"\\n"),
            b'\t' => quoted.extend(b"\\t"),
            b' '..=b'~' => quoted.push(byte),
            _ => quoted.extend(format!("\\{byte:03o}").into_bytes()),
        }
    }
    quoted.push(b'"');
    quoted
}

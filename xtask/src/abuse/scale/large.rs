//! One file of 500 MB, as text, as bytes and as one line; tracked, changed, uncommitted and deleted.

use std::{
    fs::File,
    io::{BufWriter, Write as _},
    path::Path,
};

use anyhow::Result;
use lore_testkit::{Git, Repo};
use serde_json::json;

use crate::abuse::{
    Bench, Outcome,
    trial::{Trial, megabytes, peak_of, seconds},
};

const SIZE: usize = 500_000_000;

/// Lore itself may take this much, and git its own bound.
const MEMORY: u64 = 4_500_000_000;

pub(super) fn run(bench: &Bench) -> Result<Outcome> {
    let mut trial = Trial::new(bench)?.bound_memory(MEMORY);
    for kind in [Kind::Text, Kind::Bytes, Kind::Line] {
        let repo = Repo::init(trial.path(&format!("{kind:?}")));
        repo.write("lib.rs", "pub fn beside_the_large_file() {}\n").commit("Begin");
        let path = repo.path().to_string_lossy().into_owned();
        trial.ok(&["add", &path, "--name", "large"])?;
        let file = repo.path().join("large.txt");
        write(&file, kind, "first")?;
        // Uncommitted first: it is passed over and said so.
        let looked = trial.run_in(repo.path(), &["search", "beside_the_large_file", "--json"])?;
        trial.check(String::from_utf8_lossy(&looked.stdout).contains("lib.rs"), || {
            format!("{kind:?}: nothing is found")
        });
        trial.tell(format!("{kind:?} uncommitted {} {}", seconds(looked.cost.wall), megabytes(looked.cost.peak_bytes)));
        let status = trial.run_in(repo.path(), &["status", "--left-out"])?;
        let told = String::from_utf8_lossy(&status.stdout).into_owned();
        trial.check(told.contains("large.txt"), || format!("{kind:?}: status does not name what is left out: {told}"));
        commit(&repo, "Add it")?;
        sync(&mut trial, kind, "added")?;
        write(&file, kind, "other")?;
        commit(&repo, "Change it")?;
        sync(&mut trial, kind, "changed")?;
        std::fs::remove_file(&file)?;
        commit(&repo, "Delete it")?;
        sync(&mut trial, kind, "deleted")?;
        for (subject, sha) in
            ["Delete it", "Change it", "Add it"].iter().zip(repo.git(&["rev-list", "-3", "HEAD"]).lines())
        {
            let shown = trial.json(&["show", "large", sha])?;
            trial.check(shown["subject"] == *subject, || format!("{kind:?}: `{subject}` is not there: {shown}"));
            trial.check(shown["patch"] != "stored" && shown["changed_files"][0]["path"] == "large.txt", || {
                format!("{kind:?}: `{subject}` is kept as {shown}")
            });
            trial.run(&["patch", "large", sha])?;
        }
        trial.run_in(repo.path(), &["why", "lib.rs:1"])?;
        let mut session = trial.serve(repo.path(), &["--toolsets", "history,context,why,code"])?;
        write(&file, kind, "again")?;
        for (tool, arguments) in [
            ("get_file_content", json!({"file_path": "large.txt"})),
            ("explain_lines", json!({"file": "large.txt", "lines": "1"})),
            ("list_files", json!({})),
            ("cortex_search", json!({"query": "beside"})),
            ("search_code", json!({"query_text": "beside", "search_mode": "fts"})),
        ] {
            let answer = trial.call(&mut session, tool, &arguments)?;
            let length = answer.to_string().len();
            trial.check(length < 2_000_000, || format!("{tool} answers with {length} bytes"));
        }
        let peak = peak_of(session.process_id()).unwrap_or(0);
        trial.check(peak < 700_000_000, || format!("{kind:?}: serve takes {}", megabytes(peak)));
        session.end()?;
        trial.ok(&["remove", "large"])?;
        std::fs::remove_dir_all(repo.path())?;
    }
    Ok(trial.end())
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Text,
    Bytes,
    Line,
}

/// Writes the file; `word` makes every version another one.
fn write(file: &Path, kind: Kind, word: &str) -> Result<()> {
    let mut out = BufWriter::with_capacity(1 << 20, File::create(file)?);
    let (mut written, mut number) = (0, 0_u64);
    while written < SIZE {
        let piece = match kind {
            Kind::Text => format!("{word} line number {number} of a very large file\n").into_bytes(),
            Kind::Line => format!("{word}{number},").into_bytes(),
            Kind::Bytes => {
                [word.as_bytes(), &number.wrapping_mul(0x9e37_79b9_7f4a_7c15).to_le_bytes().repeat(8)].concat()
            }
        };
        out.write_all(&piece)?;
        written += piece.len();
        number += 1;
    }
    out.flush()?;
    Ok(())
}

/// Commits without the patience of compressing 500 MB.
fn commit(repo: &Repo, message: &str) -> Result<()> {
    Git::at(repo.path()).bytes(&["-c", "core.compression=1", "add", "--all"])?;
    repo.commit(message);
    Ok(())
}

fn sync(trial: &mut Trial, kind: Kind, what: &str) -> Result<()> {
    let ran = trial.ok(&["sync", "--repo", "large"])?;
    trial.tell(format!("{kind:?} {what} {} {}", seconds(ran.cost.wall), megabytes(ran.cost.peak_bytes)));
    Ok(())
}

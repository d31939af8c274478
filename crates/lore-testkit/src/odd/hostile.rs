//! A repository whose configuration, attributes and hooks all try to run a program.
//!
//! Whoever reads it must leave no trace: the program notes each call in a file, the canary.

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::{
    init, raw,
    stream::{Commit, MAIN, Stream},
};

/// A trap for programs that run git in a repository they do not own.
#[derive(Debug, Clone)]
pub struct Hostile {
    /// The repository's working directory.
    pub path: PathBuf,
    /// Exists as soon as anything that the repository names has run; each line tells what.
    pub canary: PathBuf,
    /// Commits on the main branch, newest last.
    pub commits: Vec<String>,
}

/// Keys whose value git runs as a command in some situation.
const COMMAND_KEYS: [&str; 34] = [
    "diff.external",
    "diff.evil.command",
    "diff.evil.textconv",
    "filter.evil.clean",
    "filter.evil.smudge",
    "filter.evil.process",
    "merge.evil.driver",
    "core.fsmonitor",
    "core.pager",
    "core.editor",
    "core.sshCommand",
    "core.askPass",
    "core.gitProxy",
    "core.alternateRefsCommand",
    "sequence.editor",
    "gpg.program",
    "gpg.ssh.program",
    "gpg.x509.program",
    "credential.helper",
    "interactive.diffFilter",
    "uploadpack.packObjectsHook",
    "pager.log",
    "pager.show",
    "pager.diff",
    "pager.blame",
    "pager.status",
    "difftool.evil.cmd",
    "mergetool.evil.cmd",
    "remote.origin.uploadpack",
    "remote.origin.receivepack",
    "trailer.evil.command",
    "tar.tgz.command",
    "browser.evil.cmd",
    "imap.tunnel",
];

/// Commands that Lore might be thought to run.
const ALIASES: [&str; 12] = [
    "log",
    "show",
    "diff",
    "status",
    "blame",
    "rev-list",
    "cat-file",
    "rev-parse",
    "fetch",
    "config",
    "ls-tree",
    "for-each-ref",
];

const HOOKS: [&str; 12] = [
    "applypatch-msg",
    "pre-commit",
    "post-checkout",
    "post-index-change",
    "post-merge",
    "pre-auto-gc",
    "pre-push",
    "pre-receive",
    "proc-receive",
    "reference-transaction",
    "fsmonitor-watchman",
    "update",
];

/// Makes the repository in `dir/repo`; the program and its canary stand beside it.
pub fn hostile(dir: &Path) -> Result<Hostile> {
    let path = dir.join("repo");
    let git = init(&path, "sha1")?;
    let mut stream = Stream::default();
    stream.push(
        Commit::new("0").file("src/a.txt", "one\n").file(".gitattributes", "* diff=evil filter=evil merge=evil\n"),
    );
    stream.push(Commit::new("1").file("src/a.txt", "two\n").symlink("link", "src/a.txt"));
    stream.push(Commit::new("2").rename("src/a.txt", "src/b.txt").submodule("part", &"1".repeat(40)));
    let commits = stream.import(&git)?;
    let signed = raw::signed_on(&git, &commits["2"])?;
    git.bytes(&["update-ref", MAIN, &signed])?;
    git.bytes(&["reset", "--quiet", "--hard", MAIN])?;
    let mut commits: Vec<String> = commits.into_values().collect();
    commits.push(signed);

    let canary = dir.join("canary");
    let script = dir.join("evil.sh");
    let text = format!("#!/bin/sh\necho \"$0 $*\" >> '{}'\nexit 0\n", canary.display());
    std::fs::write(&script, &text)?;
    set_executable(&script)?;
    arm(&path.join(".git"), &script.to_string_lossy(), &text)?;
    Ok(Hostile { path, canary, commits })
}

fn arm(git_dir: &Path, script: &str, text: &str) -> Result<()> {
    use std::fmt::Write as _;

    let mut config = std::fs::read_to_string(git_dir.join("config"))?;
    for key in COMMAND_KEYS {
        // The last dot ends the section; what stands before it may have a subsection.
        let (section, name) = key.rsplit_once('.').unwrap_or(("core", key));
        let section = section.split_once('.').map_or_else(|| section.to_owned(), |(a, b)| format!("{a} \"{b}\""));
        writeln!(config, "[{section}]\n\t{name} = {script}")?;
    }
    for alias in ALIASES {
        writeln!(config, "[alias]\n\t{alias} = !{script}")?;
    }
    writeln!(
        config,
        "[log]\n\tshowSignature = true\n[filter \"evil\"]\n\trequired = true\n[protocol \"ext\"]\n\tallow = always"
    )?;
    writeln!(config, "[core]\n\thooksPath = .git/hooks\n\tuntrackedCache = true\n[diff]\n\ttool = evil")?;
    writeln!(config, "[remote \"origin\"]\n\turl = ext::{script} %S\n\tfetch = +refs/heads/*:refs/remotes/origin/*")?;
    writeln!(
        config,
        "[submodule \"part\"]\n\tupdate = !{script}\n\turl = ext::{script}\n[include]\n\tpath = included"
    )?;
    std::fs::write(git_dir.join("config"), &config)?;
    std::fs::write(git_dir.join("included"), format!("[diff]\n\texternal = {script}\n"))?;
    std::fs::create_dir_all(git_dir.join("info"))?;
    std::fs::write(git_dir.join("info/attributes"), "* diff=evil filter=evil merge=evil\n")?;
    std::fs::create_dir_all(git_dir.join("hooks"))?;
    for name in HOOKS {
        let hook = git_dir.join("hooks").join(name);
        std::fs::write(&hook, text)?;
        set_executable(&hook)?;
    }
    Ok(())
}

#[cfg(unix)]
fn set_executable(file: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt as _;

    Ok(std::fs::set_permissions(file, std::fs::Permissions::from_mode(0o755))?)
}

#[cfg(not(unix))]
fn set_executable(_file: &Path) -> Result<()> {
    Ok(())
}

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
pub const COMMAND_KEYS: [&str; 46] = [
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
    "gpg.openpgp.program",
    "gpg.ssh.defaultKeyCommand",
    "gpg.ssh.allowedSignersFile",
    "trailer.evil.cmd",
    "man.evil.cmd",
    "guitool.evil.cmd",
    "sendemail.smtpServer",
    "remote.origin.vcs",
    "remote.origin.proxy",
    "credential.https://example.com.helper",
    "submodule.part.update",
    "core.hooksPath",
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

const HOOKS: [&str; 19] = [
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
    "commit-msg",
    "post-commit",
    "post-rewrite",
    "post-update",
    "pre-rebase",
    "push-to-checkout",
    "sendemail-validate",
];

/// Makes the repository in `dir/repo`, with everything that could run; the program and its canary stand beside it.
pub fn hostile(dir: &Path) -> Result<Hostile> {
    make(dir, &COMMAND_KEYS, Else::Armed)
}

/// The same with one of [`COMMAND_KEYS`] alone, which nothing else can keep from being asked.
pub fn hostile_by(key: &str, dir: &Path) -> Result<Hostile> {
    make(dir, &[key], Else::Left)
}

/// What is done with all that is not a key of the configuration.
#[derive(Clone, Copy, PartialEq)]
enum Else {
    Armed,
    Left,
}

fn make(dir: &Path, keys: &[&str], others: Else) -> Result<Hostile> {
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
    let git_dir = path.join(".git");
    configure(&git_dir, &script.to_string_lossy(), keys)?;
    let hooks = if keys.contains(&"core.hooksPath") { dir.join("hooks") } else { git_dir.join("hooks") };
    if others == Else::Armed || keys.contains(&"core.hooksPath") {
        std::fs::create_dir_all(&hooks)?;
        for folder in [&hooks, &git_dir.join("hooks")] {
            std::fs::create_dir_all(folder)?;
            for name in HOOKS {
                std::fs::write(folder.join(name), &text)?;
                set_executable(&folder.join(name))?;
            }
        }
    }
    if others == Else::Armed {
        arm(&git_dir, &script.to_string_lossy())?;
    }
    Ok(Hostile { path, canary, commits })
}

/// Names the program in each of these keys, and switches on what makes git ask for it.
fn configure(git_dir: &Path, script: &str, keys: &[&str]) -> Result<()> {
    use std::fmt::Write as _;

    let mut config = std::fs::read_to_string(git_dir.join("config"))?;
    for key in keys {
        // The last dot ends the section; what stands before it may have a subsection.
        let (section, name) = key.rsplit_once('.').unwrap_or(("core", key));
        let section = section.split_once('.').map_or_else(|| section.to_owned(), |(a, b)| format!("{a} \"{b}\""));
        let folder = Path::new(script).with_file_name("hooks");
        let value = match *key {
            "core.hooksPath" => folder.to_string_lossy().into_owned(),
            "submodule.part.update" => format!("!{script}"),
            _ => script.to_owned(),
        };
        writeln!(config, "[{section}]\n\t{name} = {value}")?;
    }
    writeln!(
        config,
        "[log]\n\tshowSignature = true\n[filter \"evil\"]\n\trequired = true\n[protocol \"ext\"]\n\tallow = always"
    )?;
    writeln!(config, "[core]\n\tuntrackedCache = true\n[diff]\n\ttool = evil\n[gpg]\n\tformat = openpgp")?;
    std::fs::write(git_dir.join("config"), &config)?;
    std::fs::create_dir_all(git_dir.join("info"))?;
    std::fs::write(git_dir.join("info/attributes"), "* diff=evil filter=evil merge=evil\n")?;
    Ok(())
}

/// Aliases, other files of configuration, and URLs that run something.
fn arm(git_dir: &Path, script: &str) -> Result<()> {
    use std::fmt::Write as _;

    let mut config = std::fs::read_to_string(git_dir.join("config"))?;
    for alias in ALIASES {
        writeln!(config, "[alias]\n\t{alias} = !{script}")?;
    }
    writeln!(config, "[remote \"origin\"]\n\turl = ext::{script} %S\n\tfetch = +refs/heads/*:refs/remotes/origin/*")?;
    writeln!(config, "[submodule \"part\"]\n\turl = ext::{script}\n[include]\n\tpath = included")?;
    writeln!(config, "[includeIf \"gitdir:**\"]\n\tpath = included\n[extensions]\n\tworktreeConfig = true")?;
    writeln!(config, "[url \"ext::{script} \"]\n\tinsteadOf = file://\n\tinsteadOf = https://")?;
    std::fs::write(git_dir.join("config"), &config)?;
    for name in ["included", "config.worktree"] {
        std::fs::write(git_dir.join(name), format!("[diff]\n\texternal = {script}\n[core]\n\tfsmonitor = {script}\n"))?;
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

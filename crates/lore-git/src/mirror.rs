//! Bare mirrors of repositories elsewhere: cloned once, fetched at every sync, nothing checked out.

use std::{
    fmt, fs,
    path::{Path, PathBuf},
};

use crate::{Cancel, Git, GitError, Result};

/// Old public histories contain these faults; everything else that fsck finds is refused.
const TOLERATED: [&str; 5] = ["badTimezone", "zeroPaddedFilemode", "missingSpaceBeforeDate", "missingEmail", "badDate"];

/// A URL that Lore is willing to fetch from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CloneUrl(String);

impl CloneUrl {
    /// Whether the text is meant as a URL (and not as a folder).
    pub fn looks_like(text: &str) -> bool {
        text.contains("://") || text.contains("::") || scp_like(text).is_some()
    }

    /// Accepts https, http, ssh, git and file URLs and `user@host:path`; refuses whatever could be taken for an option or a program.
    pub fn parse(text: &str) -> Result<Self> {
        let bad = |why| Err(GitError::BadUrl { url: redact(text), why });
        if text.starts_with('-') || text.chars().any(char::is_control) {
            return bad("it is not a URL");
        }
        let Some((scheme, rest)) = text.split_once("://") else {
            return match scp_like(text) {
                Some((host, path)) if !text.contains("::") => {
                    if host.rsplit('@').next().is_none_or(|host| host.starts_with('-'))
                        || host.starts_with('-')
                        || path.starts_with('-')
                    {
                        return bad("its host could be taken for an option");
                    }
                    Ok(Self(text.to_owned()))
                }
                _ => bad("use an https://, ssh://, git:// or file:// URL, or user@host:path"),
            };
        };
        if !["https", "http", "ssh", "git", "file"].contains(&scheme) {
            return bad("only https, http, ssh, git and file URLs are fetched");
        }
        let authority = rest.split('/').next().unwrap_or_default();
        let (user, host) = authority.rsplit_once('@').unwrap_or(("", authority));
        if host.starts_with('-') || user.starts_with('-') {
            return bad("its host could be taken for an option");
        }
        if user.contains(':') {
            return bad("it holds a password: leave that to git's credential helper or an SSH key");
        }
        if scheme != "file" && host.is_empty() {
            return bad("it names no host");
        }
        Ok(Self(text.to_owned()))
    }

    /// The URL.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The last part of its path without `.git`: what people call the repository.
    pub fn base_name(&self) -> &str {
        let path = self.0.trim_end_matches('/');
        let last = path.rsplit(['/', ':']).next().unwrap_or(path);
        last.strip_suffix(".git").unwrap_or(last)
    }
}

impl fmt::Display for CloneUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// `host:path` where the host is more than a drive letter and no slash comes first.
fn scp_like(text: &str) -> Option<(&str, &str)> {
    let (host, path) = text.split_once(':')?;
    (host.len() > 1 && !host.contains('/') && !path.is_empty()).then_some((host, path))
}

fn redact(text: &str) -> String {
    match (text.find("://"), text.rfind('@')) {
        (Some(scheme), Some(at)) if at > scheme => format!("{}…{}", &text[..scheme + 3], &text[at..]),
        _ => text.to_owned(),
    }
}

/// A bare mirror on disk.
#[derive(Debug)]
pub struct Mirror<'a> {
    git: &'a Git,
    path: PathBuf,
    url: &'a CloneUrl,
    cancel: &'a Cancel,
}

impl<'a> Mirror<'a> {
    /// The mirror of a URL at this place, which need not exist yet.
    pub fn new(git: &'a Git, path: PathBuf, url: &'a CloneUrl, cancel: &'a Cancel) -> Self {
        Self { git, path, url, cancel }
    }

    /// Clones where nothing is there yet, fetches otherwise; then HEAD names the remote's main branch.
    pub fn update(&self) -> Result<()> {
        if self.path.join("HEAD").exists() { self.fetch() } else { self.clone_whole() }?;
        self.follow_head()
    }

    /// Clones beside the final place and moves it there whole, so that a half clone is never taken for a mirror.
    fn clone_whole(&self) -> Result<()> {
        let parent = self.path.parent().unwrap_or(Path::new("."));
        let name = self.path.file_name().unwrap_or_default().to_string_lossy();
        fs::create_dir_all(parent).map_err(GitError::io(parent))?;
        // A name of its own: a git that outlived its Lore may still be writing under the last one.
        let prefix = format!("{name}.unfinished-");
        for entry in fs::read_dir(parent).map_err(GitError::io(parent))?.flatten() {
            if entry.file_name().to_string_lossy().starts_with(&prefix) {
                fs::remove_dir_all(entry.path()).map_err(GitError::io(entry.path()))?;
            }
        }
        let unfinished = parent.join(format!("{prefix}{}", std::process::id()));
        let call = self.checked().subcommand("clone").args([
            "--quiet",
            "--bare",
            "--template=",
            "--no-tags",
            "--no-local",
            "--no-hardlinks",
        ]);
        self.wait(call.arg("--").arg(self.url.as_str()).arg(&unfinished))?;
        fs::rename(&unfinished, &self.path).map_err(GitError::io(&self.path))
    }

    fn fetch(&self) -> Result<()> {
        let call = self.inside().subcommand("fetch").args([
            "--quiet",
            "--prune",
            "--no-tags",
            "--no-recurse-submodules",
            "--no-write-fetch-head",
            "--no-auto-maintenance",
            "--force",
        ]);
        self.wait(call.arg("--").arg(self.url.as_str()).arg("+refs/heads/*:refs/heads/*"))
    }

    /// Points the mirror's HEAD to where the remote's HEAD points.
    fn follow_head(&self) -> Result<()> {
        let printed = self
            .inside()
            .subcommand("ls-remote")
            .args(["--quiet", "--symref", "--"])
            .arg(self.url.as_str())
            .arg("HEAD")
            .run_until(self.cancel)?;
        let printed = String::from_utf8_lossy(&printed);
        let branch = printed.lines().find_map(|line| line.strip_prefix("ref: ")?.split('\t').next());
        if let Some(branch) = branch.filter(|branch| branch.starts_with("refs/heads/")) {
            self.git.inside(&self.path).subcommand("symbolic-ref").arg("HEAD").arg(branch).run()?;
        }
        Ok(())
    }

    fn inside(&self) -> crate::program::Call {
        self.checked().arg("--git-dir").arg(&self.path)
    }

    /// A call that checks what it receives.
    fn checked(&self) -> crate::program::Call {
        let tolerated = TOLERATED.iter().flat_map(|id| ["-c".to_owned(), format!("fetch.fsck.{id}=warn")]);
        self.git
            .network()
            .args([
                "-c",
                "fetch.fsckObjects=true",
                "-c",
                "core.hooksPath=/dev/null",
                "-c",
                "gc.auto=0",
                "-c",
                "init.defaultRefFormat=files",
            ])
            .args(tolerated)
    }

    fn wait(&self, call: crate::program::Call) -> Result<()> {
        self.cancel.check()?;
        call.run_until(self.cancel).map(|_| ())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn urls_that_could_run_or_steer_something_are_refused() {
        for bad in [
            "ext::sh -c touch% /tmp/x",
            "-uevil",
            "--upload-pack=evil",
            "ssh://-oProxyCommand=evil/x",
            "ssh://u@-oProxy/x",
            "-oProxyCommand=x@host:path",
            "u@-host:path",
            "ftp://host/x",
            "fd::17",
            "https://",
            "javascript://x",
            "https://user:secret@host/x",
            "https://host/x\nfoo",
        ] {
            let error = CloneUrl::parse(bad).expect_err(bad).to_string();
            assert!(!error.contains("secret"), "{error}");
        }
        for (good, name) in [
            ("https://example.com/team/api-server.git", "api-server"),
            ("git@example.com:team/web", "web"),
            ("ssh://git@example.com:22/x/y.git/", "y"),
            ("file:///srv/git/z.git", "z"),
            ("https://user@host/x", "x"),
        ] {
            assert_eq!(CloneUrl::parse(good).expect(good).base_name(), name);
        }
        assert!(!CloneUrl::looks_like("./folder"));
        assert!(!CloneUrl::looks_like("/a/b"));
        assert!(!CloneUrl::looks_like("C:\\x"));
    }
}

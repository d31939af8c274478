//! A disk that is soon full, for those who may mount one.

use std::{fs, io::Write as _, process::Stdio};

/// A file system of one megabyte that goes with this value.
pub(crate) struct TinyDisk(pub(crate) String);

impl TinyDisk {
    /// Nothing, and a word about it, where this process may not mount.
    pub(crate) fn mount(folder: &str) -> Option<Self> {
        fs::create_dir(folder).expect("a folder can be made");
        if run("mount", &["-t", "tmpfs", "-o", "size=1m", "tmpfs", folder]) {
            return Some(Self(folder.to_owned()));
        }
        let said = writeln!(std::io::stderr(), "skipped: this process may not mount a small disk");
        said.expect("standard error is open");
        None
    }

    /// A home for Lore on it.
    pub(crate) fn home(&self) -> String {
        format!("{}/home", self.0)
    }

    /// Changes whether it can be written: `ro` or `rw`.
    pub(crate) fn remount(&self, option: &str) {
        assert!(run("mount", &["-o", &format!("remount,{option}"), &self.0]), "a disk can be mounted anew");
    }
}

impl Drop for TinyDisk {
    fn drop(&mut self) {
        let gone = run("umount", &[&self.0]);
        assert!(gone || std::thread::panicking(), "{} stays mounted", self.0);
    }
}

#[expect(clippy::disallowed_methods, reason = "not git, but the programs that mount disks")]
fn run(program: &str, args: &[&str]) -> bool {
    let status = std::process::Command::new(program).args(args).stderr(Stdio::null()).status();
    status.is_ok_and(|status| status.success())
}

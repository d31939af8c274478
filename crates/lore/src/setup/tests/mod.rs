//! Setting up, setting up again and undoing, on real files in a folder of the test's own.
//!
//! [`Desk::check`] is the one place that knows the order of things; whatever it is given, it also
//! proves that a second setup changes nothing and that undoing gives the first bytes back.

mod entries;
mod lazygit;
mod lazygit_again;
mod lazygit_random;
mod lazygit_refused;
mod locations;
mod random;
mod replacing;
mod safety;
mod undoing;
mod writing;

use std::{fs, path::PathBuf};

use expect_test::Expect;
use tempfile::TempDir;

use super::{Host, Os, Place, Registration, Scope, apply, change::Change, plan, plan_undo};

/// A home and a project to work on.
struct Desk {
    place: Place,
    _folder: TempDir,
}

impl Desk {
    fn new() -> Self {
        let folder = TempDir::new().expect("tests may write temporary files");
        // The real path: macOS and some machines put a link in front of it.
        let root = folder.path().canonicalize().expect("the folder was just made");
        let place = Place {
            home: root.join("home"),
            config_home: None,
            app_data: None,
            local_app_data: None,
            claude_config_dir: None,
            codex_home: None,
            lazygit: super::lazygit::Variables { shared: Some(root.join("etc")), ..Default::default() },
            project: root.join("project"),
            state_dir: root.join("lore").join("setup"),
            os: Os::Linux,
        };
        fs::create_dir_all(&place.home).unwrap();
        fs::create_dir_all(&place.project).unwrap();
        Self { place, _folder: folder }
    }

    fn file(&self, host: Host) -> PathBuf {
        host.file(&self.place, Scope::User).expect("every host has a file of the user")
    }

    fn write(&self, host: Host, text: &str) {
        let file = self.file(host);
        fs::create_dir_all(file.parent().unwrap()).unwrap();
        fs::write(file, text).unwrap();
    }

    fn text(&self, host: Host) -> String {
        fs::read_to_string(self.file(host)).unwrap()
    }

    fn plan(&self, host: Host, registration: &Registration) -> Change {
        plan(host, Scope::User, &self.place, registration).expect("the setup can be planned")
    }

    fn set_up(&self, host: Host, registration: &Registration) -> Change {
        let change = self.plan(host, registration);
        apply(&change).expect("the setup can be done");
        change
    }

    fn undo(&self, host: Host, name: &str) -> Change {
        let change = plan_undo(host, Scope::User, &self.place, name).expect("the undo can be planned");
        apply(&change).expect("the undo can be done");
        change
    }

    /// Notes with the test's folder left out.
    fn shown(&self, text: &str) -> String {
        text.replace(self.place.home.to_str().unwrap(), "~").replace(self.place.project.to_str().unwrap(), "PROJECT")
    }

    /// Sets up, sets up again, undoes. Gives the file as it was in between.
    fn round_trip(&self, host: Host, registration: &Registration, before: &str) -> String {
        self.write(host, before);
        let change = self.set_up(host, registration);
        let text = self.text(host);
        assert_eq!(change.after.as_deref(), Some(&*text));
        let again = self.plan(host, registration);
        assert!(again.is_noop() && again.diff().is_empty(), "a second setup changes {:?}", again.diff());
        self.undo(host, &registration.name);
        assert_eq!(self.text(host), before);
        self.assert_no_record();
        // Line ends and tabs are what some of these tests are about.
        text.replace('\r', "␍").replace('\t', "␉").replace('\u{feff}', "BOM")
    }

    fn assert_no_record(&self) {
        assert!(fs::read_dir(&self.place.state_dir).unwrap().next().is_none(), "the record is gone");
    }
}

fn lore() -> Registration {
    Registration::lore(PathBuf::from("/opt/bin/lore"))
}

fn commitmux() -> Registration {
    Registration::standing_in("commitmux", PathBuf::from("/opt/bin/lore")).expect("it is in the table")
}

/// Sets up in files with these texts, one below the other.
fn check(host: Host, before: &[&str], after: &Expect) {
    let shown = before.iter().map(|before| Desk::new().round_trip(host, &lore(), before));
    after.assert_eq(&shown.collect::<Vec<_>>().join("\n--\n"));
}

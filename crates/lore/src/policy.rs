//! What a server may clone, written down beside its data.
//!
//! Whoever starts a server decides it. Commands that work on the data while no server runs do the same jobs, so they keep
//! to the same decision; where none was made, only what is public is cloned.

use std::{
    fs, io,
    path::{Path, PathBuf},
};

use lore_git::{HostRule, RemotePolicy};
use lore_model::{Code, Failure};
use serde::{Deserialize, Serialize};

/// The name of the file in a server's folder.
const FILE: &str = "policy.json";

/// What a server may clone besides what is public.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Allowed {
    /// Folders of this machine.
    pub(crate) local: Vec<PathBuf>,
    /// Hosts and networks that are not public.
    pub(crate) hosts: Vec<String>,
    /// Plain http.
    pub(crate) http: bool,
    /// The file of git configuration that counts.
    pub(crate) git_config: Option<PathBuf>,
}

impl Allowed {
    /// What the last start of a server in that folder decided; nothing where there was none.
    pub(crate) fn of(data: &Path) -> Result<Self, Failure> {
        let path = data.join(FILE);
        let bytes = match fs::read(&path) {
            Ok(bytes) => bytes,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Self::default()),
            Err(error) => {
                return Err(Failure::new(Code::NoAccess, format!("cannot read {}: {error}", path.display()))
                    .hint("run it as the user whose server it is"));
            }
        };
        // To guess would be to allow or to forbid something that nobody said.
        serde_json::from_slice(&bytes).map_err(|error| {
            Failure::new(Code::InvalidConfig, format!("{} cannot be understood: {error}", path.display()))
                .hint("the next start of `lore server` writes it anew")
        })
    }

    /// Writes it down for the commands that work on the folder.
    pub(crate) fn keep(&self, data: &Path) -> Result<(), Failure> {
        let mut text = serde_json::to_vec_pretty(&self.absolute())
            .map_err(|error| Failure::new(Code::InvalidArgument, format!("what may be cloned is no text: {error}")))?;
        text.push(b'\n');
        crate::private::write(&data.join(FILE), &text)
    }

    /// The same wherever it is read: paths were given as they are seen from where the server was started.
    fn absolute(&self) -> Self {
        let whole = |path: &PathBuf| std::path::absolute(path).unwrap_or_else(|_| path.clone());
        Self {
            local: self.local.iter().map(whole).collect(),
            git_config: self.git_config.as_ref().map(whole),
            ..self.clone()
        }
    }

    /// What git may do.
    pub(crate) fn policy(&self) -> Result<RemotePolicy, Failure> {
        let rule = |text: &String| {
            HostRule::parse(text).map_err(|why| {
                Failure::new(Code::InvalidArgument, why).hint("`--allow-host` takes a host name or a network")
            })
        };
        Ok(RemotePolicy {
            allow_http: self.http,
            allow_local: self.local.clone(),
            allow_hosts: self.hosts.iter().map(rule).collect::<Result<_, _>>()?,
            git_config: self.git_config.clone(),
            ..RemotePolicy::default()
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_server_may_clone_is_kept_for_its_owner_alone() {
        let data = tempfile::tempdir().unwrap();
        assert_eq!(Allowed::of(data.path()).unwrap(), Allowed::default());
        let allowed = Allowed {
            local: vec!["/srv/git".into()],
            hosts: vec!["git.intern".to_owned(), "10.0.0.0/8".to_owned()],
            http: true,
            git_config: Some("/etc/lore/gitconfig".into()),
        };
        allowed.keep(data.path()).unwrap();
        assert_eq!(Allowed::of(data.path()).unwrap(), allowed);
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt as _;
            let mode = fs::metadata(data.path().join(FILE)).unwrap().permissions().mode();
            assert_eq!(mode & 0o777, 0o600);
        }
        // The next start decides anew.
        Allowed::default().keep(data.path()).unwrap();
        assert_eq!(Allowed::of(data.path()).unwrap(), Allowed::default());
    }

    #[test]
    fn what_cannot_be_understood_allows_nothing() {
        let data = tempfile::tempdir().unwrap();
        for text in ["{", r#"{"local":[],"hosts":[],"http":false,"git_config":null,"of_the_future":true}"#] {
            fs::write(data.path().join(FILE), text).unwrap();
            assert_eq!(Allowed::of(data.path()).unwrap_err().code, Code::InvalidConfig);
        }
    }
}

//! `.cortex/config.yml` of a project, and what it decides: chunk files, the embedding provider, files to leave out.
//!
//! The file lies in a repository, and whoever wrote that is not the user. It may choose among what is on this machine; what
//! would send code elsewhere, or read elsewhere, the user has to say (`config.toml`, a variable or a flag).

use std::{
    io::Read as _,
    path::{Path, PathBuf},
};

use lore_core::search::ChunksPlace;
use lore_embed::ProviderConfig;
use lore_model::{Code, Failure, is_this_machine};
use serde::Deserialize;

use crate::{config::Loaded, environment};

/// Where it is in a project.
pub(crate) const FILE: &str = ".cortex/config.yml";

/// A longer file is no configuration.
const MAX_BYTES: u64 = 1 << 20;

/// The file of one project. What Lore has no use for is passed over.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct Cortex {
    embedding: Embedding,
    paths: Paths,
    server: Server,
    /// The project.
    #[serde(skip)]
    place: PathBuf,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Embedding {
    provider: Option<String>,
    model: Option<String>,
    dimensions: Option<usize>,
    endpoint: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Paths {
    ignore: Option<Vec<String>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Server {
    chunks_dir: Option<String>,
}

impl Cortex {
    /// The file of the project that a folder is in; an empty one where there is none.
    pub(crate) fn find(folder: &Path) -> Result<Self, Failure> {
        let place = lore_git::Repository::discover(folder).map(|found| found.path().to_owned());
        Self::read(&place.unwrap_or_else(|_| folder.to_owned()))
    }

    /// The file of exactly this project.
    fn read(place: &Path) -> Result<Self, Failure> {
        let file = place.join(FILE);
        // A pipe or a device would keep the program waiting.
        let Some(metadata) = std::fs::metadata(&file).ok().filter(std::fs::Metadata::is_file) else {
            return Ok(Self { place: place.to_owned(), ..Self::default() });
        };
        let invalid = |why: String| {
            Failure::new(Code::InvalidConfig, format!("{} cannot be understood: {why}", file.display()))
                .hint("correct it, or remove it: Lore needs none")
        };
        if metadata.len() > MAX_BYTES {
            return Err(invalid(format!("it is over {} MiB", MAX_BYTES >> 20)));
        }
        let mut text = String::new();
        let opened = std::fs::File::open(&file).and_then(|file| file.take(MAX_BYTES).read_to_string(&mut text));
        opened.map_err(|error| invalid(error.to_string()))?;
        // A file of comments alone is an empty one.
        let read: Option<Self> = serde_saphyr::from_str(&text).map_err(|error| invalid(error.to_string()))?;
        Ok(Self { place: place.to_owned(), ..read.unwrap_or_default() })
    }

    /// Whether it says anything about what turns text into vectors.
    pub(crate) fn chooses_provider(&self) -> bool {
        self.embedding.provider.as_deref().is_some_and(|name| !name.trim().is_empty())
    }

    /// The project.
    pub(crate) fn place(&self) -> &Path {
        &self.place
    }

    /// The folder of chunk files that the project chose; an error where it lies elsewhere.
    pub(crate) fn chunks_dir(&self) -> Result<Option<ChunksPlace>, Failure> {
        let Some(dir) = self.server.chunks_dir.as_deref().filter(|dir| !dir.trim().is_empty()) else { return Ok(None) };
        let dir = self.place.join(dir);
        // One that is not there is told when it is opened.
        let real = |path: &Path| path.canonicalize().unwrap_or_else(|_| path.to_owned());
        if !real(&dir).starts_with(real(&self.place)) {
            let message = format!("`server.chunks_dir` of {FILE} lies outside the project: {}", dir.display());
            return Err(Failure::new(Code::InvalidConfig, message)
                .hint("name it with `lore serve --chunks-dir DIR` or in CORTEX_CHUNKS_DIR if you trust it"));
        }
        Ok(Some(ChunksPlace { folder: dir, within: Some(self.place.clone()) }))
    }
}

/// The folder of chunk files that the user named.
pub(crate) fn chosen_chunks_dir(flag: Option<&Path>) -> Option<ChunksPlace> {
    let folder = flag.map(Path::to_owned).or_else(|| environment::folder("CORTEX_CHUNKS_DIR"))?;
    Some(ChunksPlace { folder, within: None })
}

/// What the project at this place wants to be left out, as lines of an ignore file.
pub(crate) fn ignored(place: &Path) -> Result<Vec<String>, Failure> {
    Ok(Cortex::read(place)?.paths.ignore.unwrap_or_default())
}

/// The embedding provider: `CORTEX_EMBEDDING_ENDPOINT`, then the project's file, then `config.toml`.
///
/// A project speaks for itself only: it is asked where a command works on that project and nothing else.
pub(crate) fn provider_config(loaded: &Loaded, project: Option<&Cortex>) -> Result<ProviderConfig, Failure> {
    let endpoint = environment::variable("CORTEX_EMBEDDING_ENDPOINT");
    let none = Embedding::default();
    choose(loaded.config.embedding(), project.map_or(&none, |cortex| &cortex.embedding), endpoint)
}

fn choose(user: ProviderConfig, project: &Embedding, endpoint: Option<String>) -> Result<ProviderConfig, Failure> {
    let named = |provider: &Option<String>| {
        let name = provider.as_deref().map(str::trim).filter(|name| !name.is_empty())?;
        Some(name.to_ascii_lowercase())
    };
    let (ours, theirs) = (named(&user.provider), named(&project.provider));
    let from_project = |provider: String, endpoint: Option<String>| ProviderConfig {
        provider: Some(provider),
        model: project.model.clone(),
        dimensions: project.dimensions,
        endpoint,
        api_key: None,
        timeout: user.timeout,
        ..ProviderConfig::default()
    };
    if let Some(endpoint) = endpoint {
        // A protocol that somebody named is the one that is spoken there.
        return Ok(match (theirs.filter(|name| name != "local"), ours.filter(|name| name != "local")) {
            (Some(provider), _) => from_project(provider, Some(endpoint)),
            (None, Some(_)) => ProviderConfig { endpoint: Some(endpoint), ..user },
            (None, None) => from_project("cortex-embed".to_owned(), Some(endpoint)),
        });
    }
    match theirs {
        None => Ok(user),
        Some(provider) if provider == "local" => {
            Ok(ProviderConfig { timeout: user.timeout, ..ProviderConfig::default() })
        }
        // What the user set up is not changed by a project that wants the same.
        Some(provider) if ours.as_ref() == Some(&provider) && project.endpoint.is_none() => {
            Ok(ProviderConfig { model: project.model.clone().or(user.model), ..user })
        }
        Some(provider) => {
            let elsewhere = match &project.endpoint {
                Some(endpoint) => !is_on_this_machine(endpoint),
                None => provider == "openai",
            };
            if elsewhere {
                let message =
                    format!("{FILE} would send the code to another machine (embedding provider `{provider}`)");
                return Err(Failure::new(Code::InvalidConfig, message).hint(
                    "if you want that, set CORTEX_EMBEDDING_ENDPOINT to the address of the service; `provider: local` needs none",
                ));
            }
            Ok(from_project(provider, project.endpoint.clone()))
        }
    }
}

/// Whether an address names this machine.
fn is_on_this_machine(endpoint: &str) -> bool {
    let rest = endpoint.split_once("://").map_or(endpoint, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#', '\\']).next().unwrap_or_default();
    let host = authority.rsplit('@').next().unwrap_or_default();
    let host = match host.strip_prefix('[') {
        Some(six) => six.split(']').next().unwrap_or_default(),
        None => host.split(':').next().unwrap_or_default(),
    };
    is_this_machine(host)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(project: &str, endpoint: Option<&str>, expected: Result<(Option<&str>, Option<&str>), &str>) {
        let project: Cortex = serde_saphyr::from_str(project).unwrap();
        let chosen = choose(ProviderConfig::default(), &project.embedding, endpoint.map(str::to_owned));
        let chosen = chosen.as_ref().map(|chosen| (chosen.provider.as_deref(), chosen.endpoint.as_deref()));
        match (chosen, expected) {
            (Err(failure), Err(said)) => assert!(failure.message.contains(said), "{failure}"),
            (chosen, expected) => assert_eq!(chosen.ok(), expected.ok()),
        }
    }

    #[test]
    fn only_a_named_provider_or_the_variable_selects_a_service() {
        let here = "http://localhost:8121/embed";
        check("embedding: {endpoint: 'http://localhost:8121/embed', dimensions: 384}", None, Ok((None, None)));
        check("embedding: {provider: local}", None, Ok((None, None)));
        check("embedding: {provider: cortex-embed}", None, Ok((Some("cortex-embed"), None)));
        check("{}", Some(here), Ok((Some("cortex-embed"), Some(here))));
        check("embedding: {provider: ollama, model: x}", Some(here), Ok((Some("ollama"), Some(here))));
    }

    #[test]
    fn a_project_cannot_send_code_elsewhere() {
        for endpoint in
            ["https://evil.example/embed", "http://localhost@evil.example", "http://localhost.evil.example:1/x"]
        {
            let project = format!("embedding: {{provider: cortex-embed, endpoint: '{endpoint}'}}");
            check(&project, None, Err("another machine"));
        }
        check("embedding: {provider: openai, model: x}", None, Err("another machine"));
        let here = "http://[::1]:9/embed";
        let project = format!("embedding: {{provider: cortex-embed, endpoint: '{here}'}}");
        check(&project, None, Ok((Some("cortex-embed"), Some(here))));
    }

    #[test]
    fn the_file_is_read_as_its_document_says() {
        let dir = tempfile::tempdir().unwrap();
        assert!(Cortex::read(dir.path()).unwrap().chunks_dir().unwrap().is_none());
        std::fs::create_dir_all(dir.path().join(".cortex/chunks")).unwrap();
        let file = dir.path().join(FILE);
        let text = "embedding:\n  endpoint: \"http://localhost:8121/embed\"\n  dimensions: 384\npaths:\n  code: ['**/*.go']\n  ignore:\n    - 'gen/**'\nchunking: {overlap: 64}\nserver:\n  chunks_dir: \".cortex/chunks\"\n";
        std::fs::write(&file, text).unwrap();
        let read = Cortex::read(dir.path()).unwrap();
        let place = read.chunks_dir().unwrap().unwrap();
        assert_eq!(place.folder, dir.path().join(".cortex/chunks"));
        assert_eq!(place.within.as_deref(), Some(dir.path()));
        assert_eq!(ignored(dir.path()).unwrap(), ["gen/**"]);
        std::fs::write(&file, "server: {chunks_dir: ../../etc}\n").unwrap();
        assert!(Cortex::read(dir.path()).unwrap().chunks_dir().is_err());
        std::fs::write(&file, "# nothing yet\n").unwrap();
        assert!(Cortex::read(dir.path()).unwrap().chunks_dir().unwrap().is_none());
        std::fs::write(&file, "server: [\n").unwrap();
        assert!(Cortex::read(dir.path()).is_err() && ignored(dir.path()).is_err());
    }
}

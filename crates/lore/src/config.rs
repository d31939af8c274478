//! Configuration: defaults, then `config.toml`, then `LORE_*` variables, then flags.

use std::{
    num::NonZero,
    path::{Path, PathBuf},
};

use figment::{
    Figment, Metadata, Profile, Provider, Source,
    providers::{Env, Format, Serialized, Toml},
    value::{Dict, Map, Value},
};
use lore_core::history::SyncOptions;
use lore_embed::{ApiKey, ProviderConfig};
use lore_model::{Code, Failure};
use serde::{Deserialize, Serialize};

use crate::environment;

/// The file of the settings, in Lore's home.
const FILE: &str = "config.toml";

/// Declares the settings once: the struct, its defaults, and the list that `lore config` and the reference show.
macro_rules! settings {
    ($(#[doc = $about:literal] $key:ident: $kind:ty = $default:expr,)*) => {
        /// Every setting. The comment on a field is its documentation.
        #[derive(Debug, Clone, Serialize, Deserialize)]
        #[serde(deny_unknown_fields)]
        pub(crate) struct Config {
            $(#[doc = $about] pub(crate) $key: $kind,)*
        }

        impl Default for Config {
            fn default() -> Self {
                Self { $($key: $default,)* }
            }
        }

        /// Name and documentation of every key, in the order in which they are shown.
        pub(crate) const KEYS: &[(&str, &str)] = &[$((stringify!($key), $about.trim_ascii())),*];
    };
}

settings! {
    /// Toolsets that `lore serve` offers; empty for history, context, why, messages, and commands where the project has some.
    toolsets: Vec<String> = Vec::new(),
    /// Whether `lore serve` and a first `lore search` or `lore log` register the repository they are started in.
    register_project: bool = true,
    /// Files that are left out of the code index: lines as in a `.gitignore`.
    ignore: Vec<String> = Vec::new(),
    /// A second model beside the built-in one: `local` for none, `minilm` (a transformer, after `lore model install`, in a build with the cargo feature `transformer`), or a service: `cortex-embed`, `openai` or `ollama`.
    embedding_provider: String = "local".to_owned(),
    /// The model of that service; empty for its default.
    embedding_model: String = String::new(),
    /// Where that service is; empty for its default.
    embedding_endpoint: String = String::new(),
    /// The length of its vectors, 8 to 4096; 0 for what it gives.
    embedding_dimensions: usize = 0,
    /// The key for that service, sent as `Authorization: Bearer`. It is never shown.
    embedding_api_key: Secret = Secret::default(),
    /// How long a question waits for that service before it is answered without, in milliseconds.
    embedding_query_timeout_ms: u64 = 2000,
    /// Runs of git side by side during a sync; 0 for one on each core.
    jobs: usize = 0,
    /// The `git` program.
    git: String = "git".to_owned(),
    /// The pager for long output on a terminal; empty for `$GIT_PAGER`, `$PAGER` or `less`.
    pager: String = String::new(),
}

impl Config {
    /// The embedder that was chosen.
    pub(crate) fn embedding(&self) -> ProviderConfig {
        let given = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
        ProviderConfig {
            provider: given(&self.embedding_provider),
            model: given(&self.embedding_model),
            dimensions: Some(self.embedding_dimensions).filter(|length| *length > 0),
            endpoint: given(&self.embedding_endpoint),
            api_key: given(&self.embedding_api_key.0).map(|key| ApiKey::new(&key)),
            ..ProviderConfig::default()
        }
    }
}

/// A text that is read and never shown: printed, it says only whether it is set.
#[derive(Clone, Default)]
pub(crate) struct Secret(String);

impl std::fmt::Debug for Secret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(if self.0.is_empty() { "" } else { "set" })
    }
}

impl Serialize for Secret {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(if self.0.is_empty() { "" } else { "set" })
    }
}

impl<'de> Deserialize<'de> for Secret {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        // A variable that looks like a number arrives as one.
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Given {
            Text(String),
            Number(u64),
        }
        // What was given must not stand in the message.
        let given = Given::deserialize(deserializer).map_err(|_| serde::de::Error::custom("it must be a text"))?;
        Ok(Self(match given {
            Given::Text(text) => text,
            Given::Number(number) => number.to_string(),
        }))
    }
}

/// The configuration together with where each value came from.
pub(crate) struct Loaded {
    pub(crate) home: PathBuf,
    pub(crate) home_source: &'static str,
    pub(crate) config: Config,
    figment: Figment,
}

/// Values that were given as flags of a command.
#[derive(Debug, Default)]
pub(crate) struct Flags(pub(crate) Vec<(&'static str, Value)>);

impl Provider for Flags {
    fn metadata(&self) -> Metadata {
        Metadata::named("a flag")
    }

    fn data(&self) -> Result<Map<Profile, Dict>, figment::Error> {
        let dict: Dict = self.0.iter().map(|(key, value)| ((*key).to_owned(), value.clone())).collect();
        Ok(Map::from([(Profile::Default, dict)]))
    }
}

/// The source of the home that needs no word.
pub(crate) const DEFAULT_HOME: &str = "the default";

/// Where Lore keeps its things: `--home`, `LORE_HOME` or `~/.lore`.
pub(crate) fn home(flag: Option<&Path>) -> Result<(PathBuf, &'static str), Failure> {
    let absolute = |path: &Path| std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    if let Some(path) = flag {
        return Ok((absolute(path), "a flag"));
    }
    if let Some(path) = environment::folder("LORE_HOME") {
        return Ok((absolute(&path), "the environment (LORE_HOME)"));
    }
    environment::home().map(|home| (home.join(".lore"), DEFAULT_HOME)).ok_or_else(|| {
        Failure::new(Code::InvalidConfig, "there is no home directory to keep the index in")
            .hint("set LORE_HOME to a folder")
    })
}

/// Reads the configuration.
pub(crate) fn load(home_flag: Option<&Path>, flags: Flags) -> Result<Loaded, Failure> {
    let (home, home_source) = home(home_flag)?;
    let file = home.join(FILE);
    // A variable that is set to nothing is not set.
    let is_set = |key: &&str| environment::variable(&format!("LORE_{}", key.to_uppercase())).is_some();
    let names: Vec<&str> = KEYS.iter().map(|(key, _)| *key).filter(is_set).collect();
    let mut figment = Figment::new().merge(Serialized::defaults(Config::default()));
    if file.exists() {
        figment = figment.merge(Toml::file_exact(&file));
    }
    let figment = figment
        .merge(Env::prefixed("LORE_").only(&names).map(|key| key.as_str().to_lowercase().into()).split(","))
        .merge(flags);
    let config = extract(&figment).map_err(|error| explain(&error, &file))?;
    Ok(Loaded { home, home_source, config, figment })
}

/// Where the settings are, or would be.
pub(crate) fn file(home_flag: Option<&Path>) -> Result<PathBuf, Failure> {
    Ok(home(home_flag)?.0.join(FILE))
}

fn extract(figment: &Figment) -> Result<Config, Box<figment::Error>> {
    // `LORE_TOOLSETS=history,context` is one text; the file has a list.
    let mut figment = figment.clone();
    for key in ["toolsets", "ignore"] {
        if let Ok(Value::String(_, text)) = figment.find_value(key) {
            let list: Vec<String> =
                text.split(',').map(|part| part.trim().to_owned()).filter(|part| !part.is_empty()).collect();
            figment = figment.merge((key, list));
        }
    }
    figment.extract().map_err(Box::new)
}

fn explain(error: &figment::Error, file: &Path) -> Failure {
    let mut said = Vec::new();
    let mut place = None;
    for one in error.clone() {
        let key = one.path.iter().filter(|part| *part != "default").cloned().collect::<Vec<_>>().join(".");
        let from = one.metadata.as_ref().map_or_else(String::new, |metadata| format!(" (from {})", origin(metadata)));
        said.push(if key.is_empty() { format!("{}{from}", one.kind) } else { format!("`{key}`: {}{from}", one.kind) });
        place = place.or_else(|| one.metadata.and_then(|metadata| metadata.source));
    }
    let hint = match place {
        Some(Source::File(path)) => format!("correct {}", path.display()),
        _ if file.exists() => {
            format!("correct {} or the LORE_* variable; `lore config keys` lists what there is", file.display())
        }
        _ => "`lore config keys` lists what there is".to_owned(),
    };
    Failure::new(Code::InvalidConfig, format!("the configuration cannot be understood: {}", said.join("; "))).hint(hint)
}

fn origin(metadata: &Metadata) -> String {
    match &metadata.source {
        Some(Source::File(path)) => path.display().to_string(),
        _ if metadata.name.contains("environment") => "the environment".to_owned(),
        _ if metadata.name.contains("flag") => "a flag".to_owned(),
        _ => "the default".to_owned(),
    }
}

impl Loaded {
    /// Each key with its value and where that came from.
    pub(crate) fn rows(&self) -> Vec<(String, serde_json::Value, String)> {
        let values = serde_json::to_value(&self.config).unwrap_or_default();
        let mut rows = vec![("home".to_owned(), self.home.display().to_string().into(), self.home_source.to_owned())];
        rows.extend(KEYS.iter().map(|(key, _)| {
            let from = self.figment.find_metadata(key).map_or_else(|| "the default".to_owned(), origin);
            let from =
                if from == "the environment" { format!("the environment (LORE_{})", key.to_uppercase()) } else { from };
            ((*key).to_owned(), values[*key].clone(), from)
        }));
        rows
    }

    /// How syncs are done.
    pub(crate) fn sync_options(&self) -> SyncOptions {
        SyncOptions { jobs: NonZero::new(self.config.jobs), ..SyncOptions::default() }
    }

    /// Where models that run on this machine are installed.
    pub(crate) fn models(&self) -> PathBuf {
        self.home.join("models")
    }

    /// Sets a key in the file to a text. The rest of the file stays as it is.
    #[cfg(feature = "transformer")]
    pub(crate) fn set(&self, key: &str, value: &str) -> Result<(), Failure> {
        use std::io::Write as _;
        let file = self.file().canonicalize().unwrap_or_else(|_| self.file());
        let fault = |error: &dyn std::fmt::Display| {
            Failure::new(Code::NoAccess, format!("{} cannot be changed: {error}", file.display()))
                .hint(format!("write `{key} = \"{value}\"` there yourself"))
        };
        let text = match std::fs::read_to_string(&file) {
            Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(fault(&error)),
            text => text.unwrap_or_default(),
        };
        let mut document: toml_edit::DocumentMut = text.parse().map_err(|error: toml_edit::TomlError| fault(&error))?;
        document[key] = toml_edit::value(value);
        // Whole or not at all, and as private as it was.
        let part = file.with_extension("toml.part");
        let write = || {
            let mut draft = std::fs::File::create(&part)?;
            draft.write_all(document.to_string().as_bytes())?;
            if let Ok(meta) = std::fs::metadata(&file) {
                draft.set_permissions(meta.permissions())?;
            }
            // Before it has its name: after a power cut the name may stand for what was not written.
            draft.sync_all()?;
            std::fs::rename(&part, &file)?;
            crate::private::sync_folder(file.parent().unwrap_or(Path::new(".")));
            Ok(())
        };
        write().map_err(|error: std::io::Error| fault(&error))
    }

    /// The file that is read.
    pub(crate) fn file(&self) -> PathBuf {
        self.home.join(FILE)
    }
}

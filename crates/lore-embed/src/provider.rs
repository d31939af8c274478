//! Which embedder is used: what is configured, and whether that makes sense.

use std::{fmt, path::PathBuf, sync::Arc, time::Duration};

use lore_model::without_secrets;

use crate::{EmbedError, Embedder, StaticModel};

/// The names of the providers.
pub(crate) const PROVIDERS: [&str; 5] = ["local", "minilm", "cortex-embed", "openai", "ollama"];

/// The transformer that can run here, as it is called where it comes from.
pub const MINILM: &str = "all-MiniLM-L6-v2";

/// The name of that transformer's vector space.
pub const MINILM_SPACE: &str = "minilm:all-MiniLM-L6-v2";

/// The files that the transformer consists of.
pub const MINILM_FILES: [&str; 3] = ["config.json", "vocab.txt", "model.safetensors"];

/// A key for a service, which no `Debug` output shows.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(String);

impl ApiKey {
    /// Takes the key; space around it is not part of it.
    pub fn new(key: &str) -> Self {
        Self(key.trim().to_owned())
    }

    #[cfg(feature = "http")]
    pub(crate) fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.0.is_empty() { "(empty)" } else { "(hidden)" })
    }
}

/// The choice of an embedder, in plain values.
#[derive(Clone, Default)]
pub struct ProviderConfig {
    /// The name of a provider; absent means `local`, the built-in model.
    pub provider: Option<String>,
    /// The model, for services that have several.
    pub model: Option<String>,
    /// The length of the vectors; services that can shorten vectors are asked for it where it is given, else theirs is
    /// learned from their first answer.
    pub dimensions: Option<usize>,
    /// Where the service is; each has a default. A base without a path gets the path of the protocol.
    pub endpoint: Option<String>,
    /// A key, sent as `Authorization: Bearer`.
    pub api_key: Option<ApiKey>,
    /// How long one request may take; 30 seconds for a question and two minutes for passages if absent.
    pub timeout: Option<Duration>,
    /// How often and for how long a service is asked again.
    pub patience: Patience,
    /// Where models that run here are installed.
    pub models: Option<PathBuf>,
}

/// How often and for how long a service is asked again that failed in a way that may pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Patience {
    /// So often it is asked in all.
    pub attempts: u32,
    /// The pause after the first failure, where the service names none; it doubles with each, and is varied by a half so
    /// that many clients do not come back together.
    pub pause: Duration,
    /// No pause is longer, not even one that the service asks for.
    pub longest: Duration,
    /// After so long no further attempt begins.
    pub total: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self { attempts: 4, pause: Duration::from_millis(400), longest: seconds(30), total: seconds(120) }
    }
}

impl fmt::Debug for ProviderConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { provider, model, dimensions, endpoint, api_key, timeout, patience, models } = self;
        f.debug_struct("ProviderConfig")
            .field("provider", provider)
            .field("model", model)
            .field("dimensions", dimensions)
            .field("endpoint", &endpoint.as_deref().map(without_secrets))
            .field("api_key", api_key)
            .field("timeout", timeout)
            .field("patience", patience)
            .field("models", models)
            .finish()
    }
}

/// Gives the configured embedder.
///
/// What is configured is looked at, and nothing is sent: a service that is down concerns those who ask it.
pub fn connect(config: &ProviderConfig) -> Result<Arc<dyn Embedder>, EmbedError> {
    let provider = config.provider.as_deref().unwrap_or_default().trim().to_ascii_lowercase();
    if provider.is_empty() || provider == "local" {
        return Ok(Arc::new(StaticModel::built_in()));
    }
    if provider == "minilm" {
        return transformer(config);
    }
    remote(&provider, config)
}

#[cfg(feature = "transformer")]
fn transformer(config: &ProviderConfig) -> Result<Arc<dyn Embedder>, EmbedError> {
    Ok(Arc::new(crate::transformer::Transformer::new(config)?))
}

#[cfg(not(feature = "transformer"))]
fn transformer(_: &ProviderConfig) -> Result<Arc<dyn Embedder>, EmbedError> {
    Err(EmbedError::NoTransformer)
}

#[cfg(feature = "http")]
fn remote(provider: &str, config: &ProviderConfig) -> Result<Arc<dyn Embedder>, EmbedError> {
    let service = crate::http::Service::find(provider)
        .ok_or_else(|| EmbedError::UnknownProvider { provider: provider.to_owned() })?;
    Ok(Arc::new(crate::http::Remote::new(service, config)?))
}

#[cfg(not(feature = "http"))]
fn remote(provider: &str, _config: &ProviderConfig) -> Result<Arc<dyn Embedder>, EmbedError> {
    let provider = provider.to_owned();
    let is_known = PROVIDERS.contains(&provider.as_str());
    Err(if is_known { EmbedError::NoHttp { provider } } else { EmbedError::UnknownProvider { provider } })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{DIMENSIONS, Mode};

    #[test]
    fn the_built_in_model_is_the_default() {
        for provider in [None, Some("local"), Some("Local "), Some("")] {
            let config = ProviderConfig { provider: provider.map(str::to_owned), ..ProviderConfig::default() };
            let embedder = connect(&config).unwrap();
            assert_eq!(embedder.model(), StaticModel::built_in().name());
            assert_eq!(embedder.dimensions(), DIMENSIONS);
            let vectors = embedder.embed(&["read a file", ""], Mode::Passage).unwrap();
            let mut direct = [0.0; DIMENSIONS];
            let local = embedder.as_local().unwrap();
            local.embed_into("read a file", Mode::Passage, &mut direct, &mut crate::Scratch::default());
            assert_eq!(vectors, [direct.to_vec(), vec![0.0; DIMENSIONS]]);
        }
    }

    #[cfg(not(feature = "transformer"))]
    #[test]
    fn without_the_transformer_the_error_names_the_feature() {
        let config = ProviderConfig { provider: Some("minilm".to_owned()), ..ProviderConfig::default() };
        let error = connect(&config).err().unwrap();
        assert_eq!(error, EmbedError::NoTransformer);
        assert!(error.hint().contains("--features transformer"));
    }

    #[test]
    fn an_unknown_provider_is_told_with_those_that_exist() {
        let config = ProviderConfig { provider: Some("skynet".to_owned()), ..ProviderConfig::default() };
        let error = connect(&config).err().unwrap();
        assert_eq!(error, EmbedError::UnknownProvider { provider: "skynet".to_owned() });
        assert!(error.hint().contains("cortex-embed"));
    }

    #[test]
    fn keys_are_not_shown() {
        let config = ProviderConfig {
            api_key: Some(ApiKey::new("sk-secret")),
            endpoint: Some("https://ada:secret@example.com/v1?key=secret".to_owned()),
            ..ProviderConfig::default()
        };
        let shown = format!("{config:?} {config:#?}");
        assert!(!shown.contains("secret"), "{shown}");
        assert!(shown.contains("https://example.com/v1"));
    }
}

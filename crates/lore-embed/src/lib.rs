//! Text into vectors: the built-in model, a transformer that runs here, and services over HTTP.
//!
//! Callers choose once, with [`connect`], and then know only [`Embedder`]. Nothing is asked of a service before a text is. This
//! crate reads no settings, stores nothing and does not know where vectors are kept.
#![forbid(unsafe_code)]

mod error;
#[cfg(feature = "http")]
mod http;
mod provider;
mod static_model;
mod table;
#[cfg(feature = "transformer")]
mod transformer;
mod vocabulary;
mod words;

use std::time::Duration;

pub use error::EmbedError;
pub use provider::{ApiKey, MINILM, MINILM_FILES, MINILM_SPACE, Patience, ProviderConfig, connect};
pub use static_model::{Scratch, StaticModel};
pub use table::BadModel;

/// The length of the built-in model's vectors.
pub const DIMENSIONS: usize = 384;

/// What a text is: models treat the two differently.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mode {
    /// What somebody looks for.
    Query,
    /// What may be found.
    Passage,
}

/// Something that turns texts into vectors.
pub trait Embedder: Send + Sync {
    /// Names the vector space, such as `lore-static-2`, `ollama:all-minilm` or, where a length and another place than the
    /// usual one are configured, `openai:text-embedding-3-small@512#1a2b3c4d`.
    ///
    /// Vectors of different names are never compared.
    fn model(&self) -> &str;

    /// The length of the vectors; 0 as long as a service has not told it by an answer.
    fn dimensions(&self) -> usize;

    /// Gives one vector for each text, in their order.
    ///
    /// A vector has length 1, or is all zero where a text has nothing that the model knows.
    fn embed(&self, texts: &[&str], mode: Mode) -> Result<Vec<Vec<f32>>, EmbedError>;

    /// Gives the vector of one question within this time, without a second attempt: somebody waits for it.
    fn embed_query(&self, text: &str, _limit: Duration) -> Result<Vec<f32>, EmbedError> {
        // What is computed here is done before any time runs out.
        Ok(self.embed(&[text], Mode::Query)?.pop().unwrap_or_default())
    }

    /// So many texts are worth to be handed over at once.
    fn group(&self) -> usize {
        256
    }

    /// The built-in model, which worker threads call without waiting; `None` for a service.
    fn as_local(&self) -> Option<&StaticModel> {
        None
    }
}

//! The situations in which texts do not become vectors.
//!
//! No message holds an API key, nor the part of an endpoint in which one may be written.

use std::time::Duration;

use crate::provider::PROVIDERS;

/// The shortest and the longest vectors that can be kept.
pub(crate) const LENGTHS: std::ops::RangeInclusive<usize> = 8..=4096;

/// Why an embedding provider cannot be used, or gave no vectors.
#[derive(Debug, thiserror::Error, Clone, PartialEq, Eq)]
pub enum EmbedError {
    /// There is no such provider.
    #[error("there is no embedding provider `{provider}`")]
    UnknownProvider {
        /// What was configured.
        provider: String,
    },
    /// The program was built without the client for services.
    #[error("this program was built without embedding services, so `{provider}` cannot be used")]
    NoHttp {
        /// What was configured.
        provider: String,
    },
    /// The program was built without the transformer.
    #[error("this program was built without the transformer, so `minilm` cannot be used")]
    NoTransformer,
    /// The model's files are not there.
    #[error("the model {model} is not installed")]
    NotInstalled {
        /// The model.
        model: String,
    },
    /// The model's files are there and cannot be used.
    #[error("the model's files cannot be used: {what}")]
    BadModelFiles {
        /// What is wrong with them.
        what: String,
    },
    /// A model that runs here was not done in time.
    #[error("the model {model} was not done within {} s", after.as_secs_f32())]
    Slow {
        /// The model.
        model: String,
        /// How long it had.
        after: Duration,
    },
    /// The service has many models, and none is named.
    #[error("the embedding provider `{provider}` needs the name of a model")]
    NoModel {
        /// What was configured.
        provider: String,
    },
    /// The endpoint is no address of a service.
    #[error("the embedding endpoint `{endpoint}` cannot be used: {what}")]
    BadEndpoint {
        /// What was configured, without query and credentials.
        endpoint: String,
        /// What is wrong with it.
        what: String,
    },
    /// The API key cannot be sent.
    #[error("the API key of the embedding service has characters that cannot be sent in a header")]
    BadKey,
    /// Vectors of this length cannot be kept.
    #[error("vectors of {length} dimensions cannot be kept: it must be {} to {}", LENGTHS.start(), LENGTHS.end())]
    UnsupportedDimensions {
        /// What was configured, or came.
        length: usize,
    },
    /// The service cannot be reached.
    #[error("the embedding service at {endpoint} cannot be reached: {what}")]
    Unreachable {
        /// Where it should be.
        endpoint: String,
        /// What the network said.
        what: String,
    },
    /// The service did not answer in time.
    #[error("the embedding service at {endpoint} did not answer within {} s", after.as_secs_f32())]
    Timeout {
        /// Where it is.
        endpoint: String,
        /// How long it had.
        after: Duration,
    },
    /// The service refused.
    #[error("the embedding service at {endpoint} answered with status {status}{}", said(answer))]
    Status {
        /// Where it is.
        endpoint: String,
        /// The status of its answer.
        status: u16,
        /// The beginning of its answer.
        answer: String,
    },
    /// The answer is not what the protocol says.
    #[error("the answer of the embedding service at {endpoint} cannot be understood: {what}")]
    Malformed {
        /// Where it is.
        endpoint: String,
        /// What is wrong with it.
        what: String,
    },
    /// The work that the vectors were for was cancelled.
    #[error("the request was cancelled")]
    Cancelled,
    /// The vectors have another length than was configured, or than those that came before.
    #[error("`{model}` gives vectors of {got} dimensions; {expected} are needed")]
    WrongDimensions {
        /// The model.
        model: String,
        /// The length that was configured, or that earlier vectors have.
        expected: usize,
        /// The length of what came.
        got: usize,
    },
}

fn said(answer: &str) -> String {
    if answer.is_empty() { String::new() } else { format!(": {answer}") }
}

impl EmbedError {
    /// Says what the reader can do now.
    pub fn hint(&self) -> String {
        match self {
            Self::UnknownProvider { .. } => format!("set `provider` to one of {}", PROVIDERS.join(", ")),
            Self::NoHttp { .. } => {
                "remove `provider` to use the built-in model, or build with the feature `http`".to_owned()
            }
            Self::NoTransformer => {
                "build it with `cargo install --path crates/lore --features transformer`, or set `provider` to `local`, \
                 the built-in model"
                    .to_owned()
            }
            Self::NotInstalled { .. } => "run `lore model install`".to_owned(),
            Self::BadModelFiles { .. } => "run `lore model install` again".to_owned(),
            Self::Cancelled => "run it again".to_owned(),
            Self::Slow { .. } => "ask again: it is read once, and then it is fast".to_owned(),
            Self::NoModel { .. } => {
                "set `model`, for instance text-embedding-3-small (openai) or all-minilm (ollama)".to_owned()
            }
            Self::BadEndpoint { .. } => "set `endpoint` to an address such as http://localhost:8121/embed".to_owned(),
            Self::BadKey => "set `api_key` to the key alone, without quotes or line breaks".to_owned(),
            Self::UnsupportedDimensions { .. } => "set `dimensions` to a length that the model has, or to 0".to_owned(),
            Self::WrongDimensions { expected, .. } => format!(
                "set `dimensions` to what the model gives, or to 0; where its vectors were of {expected} dimensions \
                 before, `lore model remove` forgets those, or name the model differently"
            ),
            Self::Unreachable { .. } => "start the service or mend `endpoint`; the built-in model needs no service: \
                                         `provider: local`"
                .to_owned(),
            Self::Timeout { .. } => {
                "see whether the service is busy or still loading its model, then try again".to_owned()
            }
            Self::Status { status: 401 | 403, .. } => "set `api_key` to a key that this service accepts".to_owned(),
            Self::Status { status: 404, .. } => "see whether `endpoint` and `model` exist at this service".to_owned(),
            Self::Status { status: 300..=399, .. } => {
                "set `endpoint` to the address that the service redirects to; redirects are not followed".to_owned()
            }
            Self::Status { status: 429, .. } => "wait until the service accepts requests again".to_owned(),
            Self::Status { status: 400..=499, .. } => {
                "see whether the service has `model`, and whether it accepts `dimensions`".to_owned()
            }
            Self::Status { .. } => "see the log of the service, then try again".to_owned(),
            Self::Malformed { .. } => {
                "see whether `provider` names the protocol that the service at `endpoint` speaks".to_owned()
            }
        }
    }
}

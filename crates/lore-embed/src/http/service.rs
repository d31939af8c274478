//! The protocols of embedding services: where they listen, what they are sent, what they answer.

use serde::Deserialize;
use serde_json::{Value, json};

use crate::Mode;

/// A protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Service {
    /// `{"texts", "mode"}` → `{"embeddings"}`.
    CortexEmbed,
    /// `{"model", "input"}` → `{"data": [{"index", "embedding"}]}`, as many services speak it.
    OpenAi,
    /// `{"model", "input"}` → `{"embeddings"}`.
    Ollama,
}

/// What the texts of a request have in common.
pub(super) struct Asked<'a> {
    pub(super) model: Option<&'a str>,
    pub(super) dimensions: Option<usize>,
    pub(super) mode: Mode,
}

impl Service {
    /// The service of that name.
    pub(crate) fn find(name: &str) -> Option<Self> {
        [Self::CortexEmbed, Self::OpenAi, Self::Ollama].into_iter().find(|service| service.name() == name)
    }

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::CortexEmbed => "cortex-embed",
            Self::OpenAi => "openai",
            Self::Ollama => "ollama",
        }
    }

    pub(super) fn default_endpoint(self) -> &'static str {
        match self {
            Self::CortexEmbed => "http://localhost:8121/embed",
            Self::OpenAi => "https://api.openai.com/v1/embeddings",
            Self::Ollama => "http://localhost:11434/api/embed",
        }
    }

    /// Completes the path of a base address: services document themselves with and without it.
    pub(super) fn path(self, given: &str) -> String {
        let given = given.trim_end_matches('/');
        match (self, given) {
            (Self::CortexEmbed, "") => "/embed".to_owned(),
            (Self::OpenAi, "") => "/v1/embeddings".to_owned(),
            (Self::OpenAi, base) if base.ends_with("/v1") => format!("{base}/embeddings"),
            (Self::Ollama, "" | "/api") => "/api/embed".to_owned(),
            (_, whole) => whole.to_owned(),
        }
    }

    /// Whether a request must name a model.
    pub(super) fn needs_model(self) -> bool {
        self != Self::CortexEmbed
    }

    pub(super) fn request(self, asked: &Asked<'_>, texts: &[&str]) -> Value {
        let mut body = match (self, asked.mode) {
            (Self::CortexEmbed, Mode::Query) => return json!({"texts": texts, "mode": "query"}),
            (Self::CortexEmbed, Mode::Passage) => return json!({"texts": texts, "mode": "passage"}),
            (Self::OpenAi, _) => json!({"model": asked.model, "input": texts, "encoding_format": "float"}),
            (Self::Ollama, _) => json!({"model": asked.model, "input": texts}),
        };
        // Only where it is configured: services with models of one length refuse the field.
        if let Some(dimensions) = asked.dimensions {
            body["dimensions"] = dimensions.into();
        }
        body
    }

    /// The vectors of an answer, in the order of the texts; what is wrong, if they are not `count` many.
    pub(super) fn vectors(self, answer: &[u8], count: usize) -> Result<Vec<Vec<f32>>, String> {
        let vectors = match self {
            Self::CortexEmbed | Self::Ollama => read::<Embeddings>(answer)?.embeddings,
            Self::OpenAi => read::<Data>(answer)?.in_order()?,
        };
        if vectors.len() != count {
            return Err(format!("{} vectors for {count} texts", vectors.len()));
        }
        if vectors.iter().flatten().any(|value| !value.is_finite()) {
            return Err("a component is not a finite number".to_owned());
        }
        Ok(vectors)
    }
}

fn read<'a, T: Deserialize<'a>>(answer: &'a [u8]) -> Result<T, String> {
    serde_json::from_slice(answer).map_err(|error| error.to_string())
}

#[derive(Deserialize)]
struct Embeddings {
    embeddings: Vec<Vec<f32>>,
}

#[derive(Deserialize)]
struct Data {
    data: Vec<Item>,
}

#[derive(Deserialize)]
struct Item {
    /// Some services leave it out, and answer in order.
    index: Option<usize>,
    embedding: Vec<f32>,
}

impl Data {
    fn in_order(self) -> Result<Vec<Vec<f32>>, String> {
        let mut items: Vec<(usize, Vec<f32>)> =
            self.data.into_iter().enumerate().map(|(at, item)| (item.index.unwrap_or(at), item.embedding)).collect();
        items.sort_by_key(|(index, _)| *index);
        let is_whole = items.iter().enumerate().all(|(at, (index, _))| at == *index);
        if !is_whole {
            return Err("the indexes of the vectors are not those of the texts".to_owned());
        }
        Ok(items.into_iter().map(|(_, vector)| vector).collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base_addresses_are_completed() {
        for (service, given, expected) in [
            (Service::CortexEmbed, "/", "/embed"),
            (Service::CortexEmbed, "/my/embed", "/my/embed"),
            (Service::OpenAi, "", "/v1/embeddings"),
            (Service::OpenAi, "/v1/", "/v1/embeddings"),
            (Service::OpenAi, "/proxy/v1", "/proxy/v1/embeddings"),
            (Service::OpenAi, "/openai/deployments/x/embeddings", "/openai/deployments/x/embeddings"),
            (Service::Ollama, "/", "/api/embed"),
            (Service::Ollama, "/api", "/api/embed"),
        ] {
            assert_eq!(service.path(given), expected, "{service:?} {given}");
        }
    }

    #[test]
    fn requests_are_what_the_protocols_say() {
        let check = |service: Service, dimensions, expected: &str| {
            let asked = Asked { model: Some("m"), dimensions, mode: Mode::Query };
            assert_eq!(service.request(&asked, &["a", "b"]).to_string(), expected);
        };
        check(Service::CortexEmbed, Some(384), r#"{"texts":["a","b"],"mode":"query"}"#);
        check(
            Service::OpenAi,
            Some(384),
            r#"{"model":"m","input":["a","b"],"encoding_format":"float","dimensions":384}"#,
        );
        check(Service::OpenAi, None, r#"{"model":"m","input":["a","b"],"encoding_format":"float"}"#);
        check(Service::Ollama, Some(384), r#"{"model":"m","input":["a","b"],"dimensions":384}"#);
    }

    #[test]
    fn answers_are_read_or_refused() {
        let check = |service: Service, answer: &str, expected: Result<&[f32], &str>| {
            let read = service.vectors(answer.as_bytes(), 2).map(|vectors| vectors.concat());
            match (read, expected) {
                (Ok(read), Ok(expected)) => assert_eq!(read, expected),
                (Err(error), Err(part)) => assert!(error.contains(part), "{error}"),
                (read, _) => panic!("{answer}: {read:?}"),
            }
        };
        let both: &[f32] = &[1.0, 2.0];
        check(Service::CortexEmbed, r#"{"embeddings":[[1],[2]],"took":3}"#, Ok(both));
        check(Service::Ollama, r#"{"model":"m","embeddings":[[1],[2]]}"#, Ok(both));
        let turned = r#"{"data":[{"index":1,"embedding":[2]},{"index":0,"embedding":[1]}]}"#;
        check(Service::OpenAi, turned, Ok(both));
        check(Service::OpenAi, r#"{"data":[{"embedding":[1]},{"embedding":[2]}]}"#, Ok(both));
        check(Service::OpenAi, r#"{"data":[{"index":0,"embedding":[1]},{"index":0,"embedding":[2]}]}"#, Err("indexes"));
        check(Service::OpenAi, r#"{"data":[{"index":9,"embedding":[1]},{"index":0,"embedding":[2]}]}"#, Err("indexes"));
        check(Service::CortexEmbed, r#"{"embeddings":[[1]]}"#, Err("1 vectors for 2 texts"));
        check(Service::CortexEmbed, r#"{"embeddings":[[1],[null]]}"#, Err("null"));
        check(Service::CortexEmbed, r#"{"embeddings":[[1],[1e39]]}"#, Err("finite"));
        check(Service::CortexEmbed, r#"{"error":"x"}"#, Err("missing field"));
        check(Service::CortexEmbed, "<html>", Err("expected value"));
    }
}

//! How the tools of the toolsets `code`, `repos` and `insight` answer: an object that says whether it succeeded.

use lore_model::Failure;
use serde_json::{Map, Value};

use crate::{Answer, answer::AnswerBuilder};

/// An answer with these fields.
pub(crate) fn success<const N: usize>(fields: [(&str, Value); N]) -> AnswerBuilder {
    let mut object = Map::from_iter([("success".to_owned(), Value::Bool(true))]);
    object.extend(fields.map(|(key, value)| (key.to_owned(), value)));
    AnswerBuilder::object(object)
}

/// The answer, or the contract's object for what failed.
pub(crate) async fn answered(answer: impl Future<Output = Result<Answer, Failure>>) -> Result<Answer, Failure> {
    answer.await.or_else(|failure| Ok(failed(failure)))
}

/// The contract's object for a failure.
pub(crate) fn failed(failure: Failure) -> Answer {
    let hint = failure.hint.as_ref().map(|hint| format!(" ({hint})")).unwrap_or_default();
    let fields = [("success", Value::Bool(false)), ("error", format!("{}{hint}", failure.message).into())];
    let fields = fields.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    AnswerBuilder::failed(fields, failure).done()
}

//! Tools that ask their client something before they answer, in the way of the era without sessions.

use rmcp::{
    ErrorData,
    model::{CallToolRequestParams, CallToolResponse, ClientCapabilities, InputRequiredResult},
};
use serde_json::{Map, Value, json};

use crate::{tools::text, typed};

/// What a client answered to one question.
pub(crate) fn answer<'a>(
    answers: Option<&'a std::collections::BTreeMap<String, Value>>,
    key: &str,
) -> Option<&'a Value> {
    answers?.get(key).filter(|answer| answer.is_object())
}

/// A question to the user.
pub(crate) fn elicit(message: &str, field: &str, kind: &str) -> Value {
    let mut fields = Map::new();
    fields.insert(field.to_owned(), json!({"type": kind}));
    let schema = json!({"type": "object", "properties": fields, "required": [field]});
    json!({"method": "elicitation/create", "params": {"mode": "form", "message": message, "requestedSchema": schema}})
}

/// A question to the model.
fn sample(message: &str) -> Value {
    let said = json!({"role": "user", "content": {"type": "text", "text": message}});
    json!({"method": "sampling/createMessage", "params": {"messages": [said], "maxTokens": 100}})
}

fn roots() -> Value {
    json!({"method": "roots/list", "params": {}})
}

/// The result that asks.
pub(crate) fn required(questions: &Value, state: Option<&str>) -> Result<InputRequiredResult, ErrorData> {
    let mut result = json!({"resultType": "input_required", "inputRequests": questions});
    if let Some(state) = state {
        result["requestState"] = json!(sealed(state));
    }
    typed(result)
}

/// A state with a seal. The suite changes states to see that it is noticed; nobody else does, so the seal is a plain sum.
fn sealed(state: &str) -> String {
    let sum = state.bytes().fold(7_u32, |sum, byte| sum.wrapping_mul(31).wrapping_add(u32::from(byte)));
    format!("{state}.{sum:08x}")
}

/// The state that a client sent back, if it is one of ours.
fn opened(request: &CallToolRequestParams) -> Result<Option<&str>, ErrorData> {
    let Some(state) = request.request_state.as_deref() else { return Ok(None) };
    let inner = state.rsplit_once('.').map_or("", |(inner, _)| inner);
    if sealed(inner) == state {
        return Ok(Some(inner));
    }
    Err(ErrorData::invalid_params("the request state was changed", None))
}

/// Calls one of these tools; `None` for another one.
pub(crate) fn call(
    request: &CallToolRequestParams,
    client: Option<ClientCapabilities>,
) -> Result<Option<CallToolResponse>, ErrorData> {
    let answered = |key: &str| answer(request.input_responses.as_ref(), key);
    let name = elicit("What is your name?", "name", "string");
    let result = match request.name.as_ref() {
        "test_input_required_result_elicitation" | "test_streaming_elicitation" => match answered("user_name") {
            Some(answer) if answer["content"]["name"].is_string() => {
                text(&format!("Hello, {}!", answer["content"]["name"].as_str().unwrap_or_default()))?.into()
            }
            _ => required(&json!({"user_name": name}), None)?.into(),
        },
        "test_input_required_result_sampling" => match answered("capital_question") {
            Some(answer) => text(&format!("The model says: {}", answer["content"]))?.into(),
            None => required(&json!({"capital_question": sample("What is the capital of France?")}), None)?.into(),
        },
        "test_input_required_result_list_roots" => match answered("client_roots") {
            Some(answer) => text(&format!("Roots: {}", answer["roots"]))?.into(),
            None => required(&json!({"client_roots": roots()}), None)?.into(),
        },
        "test_input_required_result_request_state" | "test_input_required_result_tampered_state" => {
            if opened(request)? == Some("confirm") && answered("confirm").is_some() {
                text("state-ok")?.into()
            } else {
                let ask = elicit("Please confirm", "ok", "boolean");
                required(&json!({"confirm": ask}), Some("confirm"))?.into()
            }
        }
        "test_input_required_result_multiple_inputs" => {
            let all = ["user_name", "greeting", "client_roots"].into_iter().all(|key| answered(key).is_some());
            if opened(request)? == Some("several") && all {
                text("All three are here.")?.into()
            } else {
                let asked =
                    json!({"user_name": name, "greeting": sample("Generate a greeting"), "client_roots": roots()});
                required(&asked, Some("several"))?.into()
            }
        }
        "test_input_required_result_multi_round" => match (opened(request)?, answered("step1"), answered("step2")) {
            (Some("round-2"), _, Some(_)) => text("Both rounds are done.")?.into(),
            (Some("round-1"), Some(_), _) => {
                let ask = elicit("Step 2: What is your favorite color?", "color", "string");
                required(&json!({"step2": ask}), Some("round-2"))?.into()
            }
            _ => {
                let ask = elicit("Step 1: What is your name?", "name", "string");
                required(&json!({"step1": ask}), Some("round-1"))?.into()
            }
        },
        "test_input_required_result_capabilities" => {
            let client = client.unwrap_or_default();
            let mut asked = Map::new();
            if client.sampling.is_some() {
                asked.insert("sample".to_owned(), sample("Hello"));
            }
            if client.elicitation.is_some() {
                asked.insert("elicit".to_owned(), name);
            }
            if asked.is_empty() { text("Nothing to ask with.")?.into() } else { required(&json!(asked), None)?.into() }
        }
        _ => return Ok(None),
    };
    Ok(Some(result))
}

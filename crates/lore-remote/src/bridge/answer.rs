//! What a server says, in either of the forms that servers have: whole messages, or pieces and their end.

use serde_json::{Map, Value, json};

use super::message::one_line;
use crate::sse::LARGEST_EVENT;

/// What an event or a body means to the request that it belongs to.
#[derive(Debug)]
pub(super) enum Said {
    /// The answer, as a value and as the line that the host gets.
    Answer(Answer),
    /// Something for the host that is not the answer.
    Aside(String),
    /// Nothing yet.
    Nothing,
    /// More than anybody keeps in memory.
    TooMuch,
}

/// An answer.
#[derive(Debug)]
pub(super) struct Answer {
    pub(super) value: Value,
    pub(super) line: String,
}

impl Answer {
    fn new(value: Value) -> Self {
        Self { line: value.to_string(), value }
    }
}

/// The pieces of an answer so far.
#[derive(Debug, Default)]
pub(super) struct Gathered {
    pieces: String,
}

impl Gathered {
    /// Takes the next JSON that the server said about the request of that id.
    pub(super) fn take(&mut self, text: &str, id: &Value) -> Said {
        let Ok(mut value) = serde_json::from_str::<Value>(text) else {
            tracing::debug!(bytes = text.len(), "an event that is no JSON is passed over");
            return Said::Nothing;
        };
        if value.get("jsonrpc").is_none()
            && let Some(kind) = value.get("type").and_then(Value::as_str)
        {
            return match kind {
                "chunk" => {
                    match &value["content"] {
                        Value::String(piece) => self.pieces.push_str(piece),
                        Value::Null => {}
                        other => self.pieces.push_str(&other.to_string()),
                    }
                    if self.pieces.len() > LARGEST_EVENT { Said::TooMuch } else { Said::Nothing }
                }
                "complete" => Said::Answer(self.complete(value["content"].take(), id)),
                "error" => Said::Answer(Answer::new(json!({"jsonrpc": "2.0", "error": failed(&value), "id": id}))),
                _ => Said::Nothing,
            };
        }
        if value.get("method").is_some() {
            return Said::Aside(one_line(text));
        }
        let is_answer = value.get("result").is_some() || value.get("error").is_some();
        match value.get("id") {
            Some(said) if is_answer && said == id => {
                if tell_detail(&mut value) {
                    return Said::Answer(Answer::new(value));
                }
                Said::Answer(Answer { line: one_line(text), value })
            }
            // The server could not tell which request it was about. There is one only.
            None | Some(Value::Null) if is_answer => {
                value["id"] = id.clone();
                tell_detail(&mut value);
                Said::Answer(Answer::new(value))
            }
            _ => Said::Nothing,
        }
    }

    /// Pieces are text; what completes them is the result, or a text too.
    fn complete(&mut self, content: Value, id: &Value) -> Answer {
        let pieces = std::mem::take(&mut self.pieces);
        let text_of = |text: String| json!([{"type": "text", "text": text}]);
        let result = match content {
            Value::Object(whole) if whole.contains_key("jsonrpc") => {
                let mut whole = Value::Object(whole);
                whole["id"] = id.clone();
                return Answer::new(whole);
            }
            Value::Object(mut result) => {
                if !pieces.is_empty() && !result.contains_key("content") {
                    result.insert("content".to_owned(), text_of(pieces));
                }
                Value::Object(result)
            }
            Value::Null => json!({"content": text_of(pieces)}),
            Value::String(rest) => json!({"content": text_of(pieces + &rest)}),
            Value::Array(content) if content.iter().all(|item| item.get("type").is_some()) => {
                json!({"content": content})
            }
            other => json!({"content": text_of(pieces + &other.to_string())}),
        };
        Answer::new(json!({"jsonrpc": "2.0", "result": result, "id": id}))
    }
}

/// The error of an event of the older form.
fn failed(event: &Value) -> Value {
    let said = &event["error"];
    let mut error = Map::new();
    let code = said["code"].as_i64().unwrap_or(-32000);
    error.insert("code".to_owned(), code.into());
    let message = said["message"].as_str().or_else(|| said.as_str()).unwrap_or("Server error");
    error.insert("message".to_owned(), message.into());
    let data = said.get("data").filter(|data| !data.is_null()).cloned();
    let data = if code == -32000 { Some(detailed(data, message)) } else { data };
    error.extend(data.map(|data| ("data".to_owned(), data)));
    Value::Object(error)
}

/// Adds what is missing of an error; says whether anything was.
fn tell_detail(answer: &mut Value) -> bool {
    let Some(error) = answer.get_mut("error").filter(|error| error["code"] == -32000) else { return false };
    if error["data"]["detail"].is_string() {
        return false;
    }
    let message = error["message"].as_str().unwrap_or_default().to_owned();
    error["data"] = detailed(error.get_mut("data").map(Value::take).filter(|data| !data.is_null()), &message);
    true
}

/// What a host is told besides: each -32000 has a `detail`.
fn detailed(data: Option<Value>, message: &str) -> Value {
    match data {
        None => json!({"detail": message}),
        Some(Value::Object(mut data)) => {
            data.entry("detail").or_insert_with(|| message.into());
            Value::Object(data)
        }
        Some(Value::String(detail)) => json!({"detail": detail}),
        Some(other) => json!({"detail": other.to_string()}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(events: &[&str]) -> Option<String> {
        let mut gathered = Gathered::default();
        events.iter().find_map(|event| match gathered.take(event, &json!(7)) {
            Said::Answer(answer) => Some(answer.line),
            Said::Aside(line) => Some(format!("aside {line}")),
            Said::Nothing => None,
            Said::TooMuch => Some("too much".to_owned()),
        })
    }

    #[test]
    fn pieces_without_an_end_are_given_up() {
        let piece = json!({"type": "chunk", "content": "x".repeat(LARGEST_EVENT / 4)}).to_string();
        assert_eq!(answer(&[piece.as_str(); 4]), None);
        assert_eq!(answer(&[piece.as_str(); 5]).as_deref(), Some("too much"));
    }

    #[test]
    fn pieces_become_one_answer() {
        let check = |events: &[&str], expected: &str| assert_eq!(answer(events).as_deref(), Some(expected));
        check(
            &[
                r#"{"type":"chunk","content":"partial result data"}"#,
                r#"{"type":"chunk","content":"more partial result data"}"#,
                r#"{"type":"complete","content":{"final":"result"}}"#,
            ],
            r#"{"jsonrpc":"2.0","result":{"final":"result","content":[{"type":"text","text":"partial result datamore partial result data"}]},"id":7}"#,
        );
        check(
            &[
                r#"{"type":"chunk","content":"a"}"#,
                r#"{"type":"complete","content":{"content":[{"type":"text","text":"whole"}]}}"#,
            ],
            r#"{"jsonrpc":"2.0","result":{"content":[{"type":"text","text":"whole"}]},"id":7}"#,
        );
        check(
            &[r#"{"type":"chunk","content":"a"}"#, r#"{"type":"complete"}"#],
            r#"{"jsonrpc":"2.0","result":{"content":[{"type":"text","text":"a"}]},"id":7}"#,
        );
        check(
            &[r#"{"type":"complete","content":{"jsonrpc":"2.0","id":null,"result":{"x":1}}}"#],
            r#"{"jsonrpc":"2.0","id":7,"result":{"x":1}}"#,
        );
        check(
            &[r#"{"type":"error","error":{"code":-32001,"message":"no","data":{"detail":"x"}}}"#],
            r#"{"jsonrpc":"2.0","error":{"code":-32001,"message":"no","data":{"detail":"x"}},"id":7}"#,
        );
        check(
            &[r#"{"type":"error","error":"it burns"}"#],
            r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"it burns","data":{"detail":"it burns"}},"id":7}"#,
        );
        check(
            &[r#"{"type":"error","error":{"message":"no","data":{"at":3}}}"#],
            r#"{"jsonrpc":"2.0","error":{"code":-32000,"message":"no","data":{"at":3,"detail":"no"}},"id":7}"#,
        );
    }

    #[test]
    fn whole_messages_are_passed_on_as_they_are() {
        let check = |event: &str, expected: Option<&str>| assert_eq!(answer(&[event]).as_deref(), expected);
        check("{\"jsonrpc\":\"2.0\",\n \"id\":7, \"result\":{\"n\":1e400000000000000000000}}", None);
        check(
            "{\"jsonrpc\":\"2.0\",\n \"id\":7, \"result\":{\"n\":1.10}}",
            Some("{\"jsonrpc\":\"2.0\",  \"id\":7, \"result\":{\"n\":1.10}}"),
        );
        check(
            r#"{"jsonrpc":"2.0","id":null,"error":{"code":-32600,"message":"no"}}"#,
            Some(r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32600,"message":"no"}}"#),
        );
        check(
            r#"{"jsonrpc":"2.0","method":"notifications/progress","params":{}}"#,
            Some(r#"aside {"jsonrpc":"2.0","method":"notifications/progress","params":{}}"#),
        );
        check(
            r#"{"jsonrpc":"2.0","id":7,"method":"roots/list"}"#,
            Some(r#"aside {"jsonrpc":"2.0","id":7,"method":"roots/list"}"#),
        );
        check(
            r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32000,"message":"no"}}"#,
            Some(r#"{"jsonrpc":"2.0","id":7,"error":{"code":-32000,"message":"no","data":{"detail":"no"}}}"#),
        );
        check(r#"{"jsonrpc":"2.0","id":8,"result":{}}"#, None);
        check("not JSON", None);
    }
}

//! Lines of JSON-RPC, before anything else looks at them: at the server, and at the bridge.

use lore_mcp::fuzz::{Understood, parse, read};
use lore_remote::fuzz::{Told, line as bridge_line};
use serde_json::{Value, value::RawValue};

pub(super) fn run(bytes: &[u8]) {
    let plain = serde_json::from_slice::<Value>(bytes);
    match (parse(bytes), &plain) {
        (Ok(strict), Ok(plain)) => assert_eq!(strict, *plain),
        (Ok(strict), Err(error)) => panic!("{strict} is no JSON: {error}"),
        (Err(why), Ok(plain)) => {
            // Who writes each field once has no field twice.
            let written = plain.to_string();
            assert!(parse(written.as_bytes()).is_ok_and(|again| again == *plain), "{why}: {written}");
            assert!(why.contains("duplicate key") || why.contains("TooManyValues"), "{why}");
        }
        (Err(_), Err(_)) => {}
    }
    line(bytes);
    bridge(bytes);
}

fn id_of(value: &Value) -> Option<&Value> {
    value.get("id").filter(|id| id.is_string() || id.is_i64())
}

/// Whoever sends a request with an id gets an answer with that id.
fn line(bytes: &[u8]) {
    let understood = read(bytes);
    let bytes = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes).trim_ascii();
    let Ok(value) = parse(bytes) else {
        let is_answered = matches!(&understood, Understood::Refused(answer) if answer["id"].is_null());
        assert!(is_answered || bytes.is_empty(), "{understood:?}");
        return;
    };
    let is_response = value.get("result").is_some() || value.get("error").is_some();
    let is_request = value.get("method").is_some() && value.get("id").is_some();
    match &understood {
        Understood::Message(Some(id)) => assert_eq!(Some(id), id_of(&value), "the request has its id"),
        Understood::Message(None) => assert!(value.is_object() && (is_response || !is_request)),
        Understood::Refused(answer) => {
            assert!(answer["error"]["code"].is_i64() && answer["jsonrpc"] == "2.0", "{answer}");
            assert!(answer["id"].is_null() || Some(&answer["id"]) == id_of(&value), "{answer}");
            assert!(id_of(&value).is_none() || !answer["id"].is_null(), "{value} has an id: {answer}");
        }
        Understood::Ignored => assert!(!is_request && value.is_object(), "{value} wants an answer"),
    }
}

/// What goes on to the server is what the host said, in one line, and headers hold nothing that ends a header.
fn bridge(bytes: &[u8]) {
    let value = serde_json::from_slice::<Value>(bytes);
    let (text, headers) = match bridge_line(bytes) {
        Told::Request(id, text, headers) => {
            assert_eq!(value.as_ref().ok().and_then(|value| value.get("id")), Some(&id));
            (text, headers)
        }
        Told::Other(text, headers) => (text, headers),
        Told::Invalid(answer) => {
            let id =
                value.ok().and_then(|value| value.get("id").cloned()).filter(|id| id.is_string() || id.is_number());
            let answered = &answer["id"];
            assert!(answered.is_null() || Some(answered) == id.as_ref(), "{answer}");
            return;
        }
    };
    assert!(serde_json::from_str::<&RawValue>(&text).is_ok(), "{text}");
    for (name, value) in headers {
        assert!(value.bytes().all(|byte| (0x20..=0x7e).contains(&byte)), "{name}: {value:?}");
        assert_eq!(value.trim(), value, "{name}");
    }
}

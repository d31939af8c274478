//! Reads arguments leniently where the meaning is plain, and answers a wrong name with the right one.

use lore_model::{Code, Failure, brief};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// The arguments as the tool's own type.
pub(crate) fn read<T: DeserializeOwned>(
    tool: &str,
    schema: &Map<String, Value>,
    arguments: Map<String, Value>,
) -> Result<T, Failure> {
    let empty = Map::new();
    let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&empty);
    let mut read = Map::new();
    for (name, value) in arguments {
        let Some(property) = properties.get(&name) else { return Err(unknown(tool, &name, properties)) };
        // Hosts send null for what was left out.
        if !value.is_null() {
            let value = plain(&name, property, value)?;
            read.insert(name, value);
        }
    }
    for name in schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str) {
        if !read.contains_key(name) {
            return Err(invalid(format!("`{name}` is missing"))
                .hint(format!("`{tool}` needs {}", describe(name, &properties[name]))));
        }
    }
    serde_json::from_value(Value::Object(read)).map_err(|error| {
        let about = properties.keys().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        invalid(format!("the arguments of `{tool}` do not fit: {error}")).hint(format!("it takes {about}"))
    })
}

fn invalid(message: String) -> Failure {
    Failure::new(Code::InvalidArgument, message)
}

fn describe(name: &str, property: &Value) -> String {
    let kind = property.get("type").and_then(Value::as_str).unwrap_or("value");
    let about = property.get("description").and_then(Value::as_str).unwrap_or_default();
    format!("`{name}` ({kind}): {about}")
}

/// `"5"` for 5, `5.0` for 5, `"a,b"` for a list, one value for a list of one.
fn plain(name: &str, property: &Value, value: Value) -> Result<Value, Failure> {
    let unfit = |value: &Value| {
        invalid(format!("`{name}` cannot be {}", brief(&value.to_string()))).hint(describe(name, property))
    };
    match property.get("type").and_then(Value::as_str) {
        Some("integer") => whole_number(&value).map(Value::from).ok_or_else(|| unfit(&value)),
        Some("number") => number(&value).map(Value::from).ok_or_else(|| unfit(&value)),
        Some("boolean") => match &value {
            Value::Bool(_) => Ok(value),
            Value::String(text) if text == "true" => Ok(Value::Bool(true)),
            Value::String(text) if text == "false" => Ok(Value::Bool(false)),
            _ => Err(unfit(&value)),
        },
        Some("string") => match &value {
            Value::String(_) => Ok(value),
            Value::Number(number) => Ok(Value::String(number.to_string())),
            _ => Err(unfit(&value)),
        },
        Some("array") => match value {
            Value::Array(items) => {
                let item = property.get("items").unwrap_or(&Value::Null);
                items.into_iter().map(|value| plain(name, item, value)).collect::<Result<Vec<_>, _>>().map(Value::Array)
            }
            // Some hosts send a list as the text of its JSON.
            Value::String(text) if text.trim_start().starts_with('[') => {
                match serde_json::from_str::<Vec<Value>>(&text) {
                    Ok(items) => plain(name, property, Value::Array(items)),
                    Err(_) => Err(unfit(&Value::String(text))),
                }
            }
            Value::String(text) => Ok(text
                .split(',')
                .map(str::trim)
                .filter(|part| !part.is_empty())
                .map(|part| Value::String(part.to_owned()))
                .collect()),
            other => Err(unfit(&other)),
        },
        _ => Ok(value),
    }
}

/// A whole number that is meant: fractions are cut off, and what is out of range becomes the nearest there is. Each tool says
/// what it takes of that.
fn whole_number(value: &Value) -> Option<i64> {
    #[expect(clippy::cast_possible_truncation, reason = "a cast gives the nearest number in range")]
    let nearest = |float: f64| (!float.is_nan()).then_some(float as i64);
    match value {
        Value::Number(number) => number.as_i64().or_else(|| nearest(number.as_f64()?)),
        Value::String(text) => text.trim().parse().ok().or_else(|| nearest(written(text)?)),
        _ => None,
    }
}

fn number(value: &Value) -> Option<f64> {
    match value {
        Value::Number(number) => number.as_f64(),
        Value::String(text) => written(text).filter(|number| number.is_finite()),
        _ => None,
    }
}

/// A number in a text. `inf` and `nan` are numbers to a computer only.
fn written(text: &str) -> Option<f64> {
    let text = text.trim();
    let is_written = text.trim_start_matches(['+', '-']).starts_with(|c: char| c.is_ascii_digit() || c == '.');
    text.parse().ok().filter(|_| is_written)
}

fn unknown(tool: &str, name: &str, properties: &Map<String, Value>) -> Failure {
    let known: Vec<String> = properties.keys().map(|known| format!("`{known}`")).collect();
    let failure = invalid(format!("`{tool}` has no argument `{}`", brief(name)));
    match lore_model::closest(name, properties.keys().map(String::as_str)) {
        Some(near) => failure.hint(format!("did you mean `{near}`? It takes {}", known.join(", "))),
        None => failure.hint(format!("it takes {}", known.join(", "))),
    }
}

#[cfg(test)]
mod tests {
    use serde::Deserialize;
    use serde_json::json;

    use super::*;

    #[derive(Debug, PartialEq, Deserialize)]
    struct Input {
        query: String,
        #[serde(default)]
        repos: Vec<String>,
        limit: Option<i64>,
    }

    fn check(arguments: Value) -> Result<Input, String> {
        let schema = json!({"properties": {
            "query": {"type": "string", "description": "Words."},
            "repos": {"type": "array", "items": {"type": "string"}, "description": "Names."},
            "limit": {"type": "integer", "description": "How many."},
        }, "required": ["query"]});
        let Value::Object(arguments) = arguments else { unreachable!("tests pass objects") };
        read("t", schema.as_object().unwrap(), arguments)
            .map_err(|failure| format!("{failure} / {}", failure.hint.clone().unwrap_or_default()))
    }

    #[test]
    fn plain_meanings_are_understood() {
        let expected = Input { query: "x".into(), repos: vec!["a".into(), "b".into()], limit: Some(5) };
        assert_eq!(check(json!({"query": "x", "repos": ["a", "b"], "limit": 5})).as_ref(), Ok(&expected));
        assert_eq!(check(json!({"query": "x", "repos": "a, b", "limit": "5"})).as_ref(), Ok(&expected));
        assert_eq!(check(json!({"query": "x", "repos": "[\"a\",\"b\"]", "limit": 5.0})).as_ref(), Ok(&expected));
        assert_eq!(
            check(json!({"query": "x", "repos": null, "limit": null})),
            Ok(Input { query: "x".into(), repos: vec![], limit: None })
        );
    }

    #[test]
    fn numbers_that_are_too_large_or_have_fractions_are_taken_for_the_nearest() {
        for (given, expected) in [
            (json!(1.5), 1),
            (json!(-1.5), -1),
            (json!("2.9"), 2),
            (json!(1e20), i64::MAX),
            (json!(-1e20), i64::MIN),
            (json!(u64::MAX), i64::MAX),
            (json!("9".repeat(40)), i64::MAX),
            (json!(format!("-{}", "9".repeat(40))), i64::MIN),
            (json!("1e3"), 1000),
            (json!("1e999"), i64::MAX),
        ] {
            assert_eq!(
                check(json!({"query": "x", "limit": given})).map(|read| read.limit),
                Ok(Some(expected)),
                "{given}"
            );
        }
    }

    #[test]
    fn wrong_names_and_values_are_answered_with_the_right_ones() {
        for (arguments, said) in [
            (
                json!({"quary": "x"}),
                "`t` has no argument `quary` / did you mean `query`? It takes `query`, `repos`, `limit`",
            ),
            (json!({"query": "x", "zzzzzzz": 1}), "`t` has no argument `zzzzzzz` / it takes `query`, `repos`, `limit`"),
            (json!({}), "`query` is missing / `t` needs `query` (string): Words."),
            (json!({"query": "x", "limit": "many"}), "`limit` cannot be \"many\" / `limit` (integer): How many."),
            (json!({"query": "x", "limit": "nan"}), "`limit` cannot be \"nan\" / `limit` (integer): How many."),
            (json!({"query": "x", "limit": "5x"}), "`limit` cannot be \"5x\" / `limit` (integer): How many."),
            (json!({"query": ["x"]}), "`query` cannot be [\"x\"] / `query` (string): Words."),
        ] {
            assert_eq!(check(arguments).unwrap_err(), said);
        }
    }
}

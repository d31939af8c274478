//! Reads arguments leniently where the meaning is plain, and answers a wrong name with the right one.

use lore_model::{Code, Failure, brief};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::Answer;

/// A number that was out of its range, or no whole one where it must be.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Clamped {
    /// The argument.
    name: String,
    /// The nearest number that fits, which was taken.
    taken: Value,
    /// What is said of that.
    note: String,
}

impl Clamped {
    /// An argument whose range has these ends, of which one was taken.
    pub(crate) fn new(name: &str, range: (&Value, &Value), taken: Value) -> Self {
        let note = match range {
            (least, Value::Null) => format!("{name} is at least {least}: {taken} was taken"),
            (least, most) => format!("{name} is {least} to {most}: {taken} was taken"),
        };
        Self { name: name.to_owned(), taken, note }
    }

    /// An argument of which the whole part was taken.
    fn whole(name: &str, taken: &Value) -> Self {
        let note = format!("{name} is a whole number: {taken} was taken");
        Self { name: name.to_owned(), taken: taken.clone(), note }
    }

    /// Says so in a text of its own, and for programs.
    pub(crate) fn announce(self, answer: &mut Answer) {
        let key = format!("{}_clamped", self.name);
        answer.meta.insert(format!("lore/{key}"), self.taken);
        answer.remarks.push(self.note);
    }
}

/// The arguments as the tool's own type, and those that were out of the range that the schema gives them.
pub(crate) fn read<T: DeserializeOwned>(
    tool: &str,
    schema: &Map<String, Value>,
    arguments: Map<String, Value>,
) -> Result<(T, Vec<Clamped>), Failure> {
    let empty = Map::new();
    let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&empty);
    let (mut read, mut clamped) = (Map::new(), Vec::new());
    for (name, value) in arguments {
        let Some(property) = properties.get(&name) else { return Err(unknown(tool, &name, properties)) };
        // Hosts send null for what was left out.
        if !value.is_null() {
            let is_cut = property["type"] == "integer" && has_fraction(&value);
            let mut value = plain(&name, property, value)?;
            let nearest = nearest(&name, property, &value);
            if let Some(nearest) = nearest.or_else(|| is_cut.then(|| Clamped::whole(&name, &value))) {
                value = nearest.taken.clone();
                clamped.push(nearest);
            }
            read.insert(name, value);
        }
    }
    for name in schema.get("required").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str) {
        if !read.contains_key(name) {
            return Err(invalid(format!("`{name}` is missing"))
                .hint(format!("`{tool}` needs {}", describe(name, &properties[name]))));
        }
    }
    let input = serde_json::from_value(Value::Object(read)).map_err(|error| {
        let about = properties.keys().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", ");
        invalid(format!("the arguments of `{tool}` do not fit: {error}")).hint(format!("it takes {about}"))
    })?;
    Ok((input, clamped))
}

/// The nearest number that the schema allows; none where this one is allowed.
fn nearest(name: &str, property: &Value, value: &Value) -> Option<Clamped> {
    let bound = |key: &str| property.get(key).unwrap_or(&Value::Null);
    let (least, most) = (bound("minimum"), bound("maximum"));
    let is_below = |a: &Value, b: &Value| match (a.as_i64(), b.as_i64()) {
        (Some(a), Some(b)) => a < b,
        _ => a.as_f64().zip(b.as_f64()).is_some_and(|(a, b)| a < b),
    };
    let taken = match () {
        () if is_below(value, least) => least,
        () if is_below(most, value) => most,
        () => return None,
    };
    Some(Clamped::new(name, (least, most), taken.clone()))
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

/// A whole number that is meant: fractions are cut off, and what no integer holds becomes the nearest that there is.
fn whole_number(value: &Value) -> Option<i64> {
    #[expect(clippy::cast_possible_truncation, reason = "a cast gives the nearest number in range")]
    let nearest = |float: f64| (!float.is_nan()).then_some(float as i64);
    match value {
        Value::Number(number) => number.as_i64().or_else(|| nearest(number.as_f64()?)),
        Value::String(text) => text.trim().parse().ok().or_else(|| nearest(written(text)?)),
        _ => None,
    }
}

/// Whether a number is between two whole ones.
fn has_fraction(value: &Value) -> bool {
    number(value).is_some_and(|number| number.fract() != 0.0)
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
        None if known.is_empty() => failure.hint("it takes no arguments"),
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
            .map(|(input, _)| input)
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
    fn what_is_out_of_range_is_taken_for_the_nearest_and_told() {
        #[derive(Debug, Deserialize)]
        struct Numbers {
            limit: Option<i64>,
            score: Option<f64>,
            steps: Option<i64>,
        }
        let schema = json!({"properties": {
            "limit": {"type": "integer", "minimum": 1, "maximum": 100},
            "score": {"type": "number", "minimum": 0, "maximum": 1},
            "steps": {"type": "integer", "minimum": 1},
        }});
        let take = |arguments: Value| {
            let Value::Object(arguments) = arguments else { unreachable!("tests pass objects") };
            let (numbers, clamped) = read::<Numbers>("t", schema.as_object().unwrap(), arguments).unwrap();
            let notes: Vec<String> = clamped.into_iter().map(|clamped| clamped.note).collect();
            (numbers.limit, numbers.score, numbers.steps, notes.join("; "))
        };
        for (arguments, expected) in [
            (json!({"limit": 1, "score": 0, "steps": 1}), (Some(1), Some(0.0), Some(1), "")),
            (json!({"limit": 100, "score": 1.0, "steps": i64::MAX}), (Some(100), Some(1.0), Some(i64::MAX), "")),
            (json!({"limit": 101}), (Some(100), None, None, "limit is 1 to 100: 100 was taken")),
            (json!({"limit": "-5"}), (Some(1), None, None, "limit is 1 to 100: 1 was taken")),
            (json!({"limit": u64::MAX}), (Some(100), None, None, "limit is 1 to 100: 100 was taken")),
            (json!({"limit": 2.9}), (Some(2), None, None, "limit is a whole number: 2 was taken")),
            (json!({"limit": "0.5"}), (Some(1), None, None, "limit is 1 to 100: 1 was taken")),
            (json!({"limit": "7.0"}), (Some(7), None, None, "")),
            (json!({"score": 1.01}), (None, Some(1.0), None, "score is 0 to 1: 1 was taken")),
            (json!({"score": -1e300}), (None, Some(0.0), None, "score is 0 to 1: 0 was taken")),
            (json!({"steps": 0}), (None, None, Some(1), "steps is at least 1: 1 was taken")),
            (
                json!({"limit": 0, "steps": -7}),
                (Some(1), None, Some(1), "limit is 1 to 100: 1 was taken; steps is at least 1: 1 was taken"),
            ),
        ] {
            let (limit, score, steps, notes) = take(arguments.clone());
            assert_eq!((limit, score, steps, notes.as_str()), expected, "{arguments}");
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

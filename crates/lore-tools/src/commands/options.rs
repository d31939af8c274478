//! The options of `execute`: an object, or the words of a command line that existing hosts send.

use lore_commands::ExecuteOptions;
use lore_model::{Code, Failure, brief, closest};
use serde_json::{Map, Value};

/// What can be said, by its name in the document.
const NAMES: [&str; 6] = ["edition", "adaptation", "file", "destination", "stdin", "uv"];

/// Reads options in every form that is plain.
pub(crate) fn read(value: Value) -> Result<ExecuteOptions, Failure> {
    let mut options = ExecuteOptions::default();
    match value {
        Value::Null => {}
        Value::Object(fields) => read_object(fields, &mut options)?,
        Value::Array(items) => read_words(items, &mut options)?,
        Value::String(text) => return read_text(text.trim()),
        other => return Err(unfit("options", &other)),
    }
    Ok(options)
}

/// The JSON of an object or a list, or a command line.
fn read_text(text: &str) -> Result<ExecuteOptions, Failure> {
    match text.chars().next() {
        None => Ok(ExecuteOptions::default()),
        Some('{' | '[') => match serde_json::from_str::<Value>(text) {
            Ok(value) => read(value),
            Err(_) => Err(unfit("options", &Value::from(text))),
        },
        Some('-') => read(text.split_whitespace().map(Value::from).collect()),
        Some(_) => Err(unfit("options", &Value::from(text))),
    }
}

fn read_object(fields: Map<String, Value>, options: &mut ExecuteOptions) -> Result<(), Failure> {
    for (key, value) in fields {
        let name = key.trim_start_matches('-');
        if matches!(name, "uv" | "variables" | "userVariables") {
            read_variables(options, name, &value)?;
            continue;
        }
        // In an object, the input is the text.
        let name = if name == "input" { "stdin" } else { name };
        put(options, name, text(name, &value)?)?;
    }
    Ok(())
}

/// Variables: an object, the list of objects that `describe` gives, or `NAME=VALUE` as on the command line.
fn read_variables(options: &mut ExecuteOptions, key: &str, value: &Value) -> Result<(), Failure> {
    match value {
        Value::Null | Value::Bool(_) => {}
        Value::Object(variables) => {
            for (name, value) in variables {
                // `true` is a word like any other here.
                let flag = value.as_bool().map(|flag| flag.to_string());
                let value = if flag.is_some() { flag } else { text(name, value)? };
                put_variable(options, name, value);
            }
        }
        Value::Array(items) => {
            for item in items {
                match item {
                    Value::Object(_) | Value::String(_) => read_variables(options, key, item)?,
                    other => return Err(unfit(key, other)),
                }
            }
        }
        Value::String(word) if word.trim().is_empty() => {}
        Value::String(word) => {
            let (name, value) = word.split_once('=').ok_or_else(|| unfit(key, value))?;
            put_variable(options, name.trim(), Some(value.to_owned()));
        }
        Value::Number(_) => return Err(unfit(key, value)),
    }
    Ok(())
}

/// `-f=a.txt`, `--from=a.txt`, `-f a.txt`, `--uv-name=value`.
fn read_words(items: Vec<Value>, options: &mut ExecuteOptions) -> Result<(), Failure> {
    let mut words = Vec::new();
    for item in items {
        match item {
            Value::String(word) => words.push(word),
            Value::Object(fields) => read_object(fields, options)?,
            other => return Err(unfit("options", &other)),
        }
    }
    let mut words = words.into_iter().peekable();
    while let Some(word) = words.next() {
        let said = word.trim_start_matches('-');
        if said.is_empty() {
            continue;
        }
        let (name, value) = match said.split_once('=') {
            Some((name, value)) => (name.to_owned(), Some(value.to_owned())),
            None if word.starts_with('-') => (said.to_owned(), words.next_if(|next| !next.starts_with('-'))),
            None => return Err(unfit("options", &Value::from(word))),
        };
        put(options, &name, value)?;
    }
    Ok(())
}

/// A value as text. What `describe` says of an option (true, false) is no value.
fn text(name: &str, value: &Value) -> Result<Option<String>, Failure> {
    match value {
        Value::Null | Value::Bool(_) => Ok(None),
        Value::String(text) => Ok(Some(text.clone())),
        Value::Number(number) => Ok(Some(number.to_string())),
        Value::Array(items) => match items.as_slice() {
            [] => Ok(None),
            [one] => text(name, one),
            _ => Err(unfit(name, value)),
        },
        Value::Object(_) => Err(unfit(name, value)),
    }
}

fn put(options: &mut ExecuteOptions, name: &str, value: Option<String>) -> Result<(), Failure> {
    if let Some(variable) = name.strip_prefix("uv-").or_else(|| name.strip_prefix("uv_")) {
        put_variable(options, variable, value);
        return Ok(());
    }
    if name == "uv" {
        return value.map_or(Ok(()), |value| read_variables(options, name, &Value::from(value)));
    }
    let slot = match name {
        // Earlier hosts call the edition the input.
        "edition" | "e" | "input" | "i" => &mut options.edition,
        "adaptation" | "a" => &mut options.adaptation,
        "file" | "from" | "f" | "fromFile" | "input_file" | "input_text_file" => &mut options.file,
        "destination" | "output" | "o" | "d" | "dest" | "destinationFile" | "destination_path" => {
            &mut options.destination
        }
        "stdin" | "text" | "input_text" => &mut options.stdin,
        _ => return Err(unknown(name)),
    };
    // An empty text is what hosts send for nothing.
    if let Some(value) = value.filter(|value| !value.is_empty()) {
        *slot = Some(value);
    }
    Ok(())
}

fn put_variable(options: &mut ExecuteOptions, name: &str, value: Option<String>) {
    let name = name.strip_prefix("uv-").or_else(|| name.strip_prefix("uv_")).unwrap_or(name);
    options.uv.extend(value.map(|value| (name.to_owned(), value)));
}

fn unknown(name: &str) -> Failure {
    let near = closest(name, NAMES).map(|near| format!("did you mean `{near}`? ")).unwrap_or_default();
    let known = NAMES.join(", ");
    let variable = brief(name);
    Failure::new(Code::InvalidArgument, format!("`options` has no `{}`", brief(name)))
        .hint(format!("{near}It takes {known}; a variable goes into `uv`: {{\"uv\": {{\"{variable}\": \"value\"}}}}"))
}

fn unfit(name: &str, value: &Value) -> Failure {
    Failure::new(Code::InvalidArgument, format!("`{name}` cannot be {}", brief(&value.to_string())))
        .hint("`options` is an object such as {\"edition\": \"x\", \"uv\": {\"name\": \"value\"}}, or a list such as [\"--edition=x\", \"--uv-name=value\"]")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn full() -> ExecuteOptions {
        ExecuteOptions {
            edition: Some("x".to_owned()),
            adaptation: Some("y".to_owned()),
            file: Some("a.txt".to_owned()),
            destination: Some("out/".to_owned()),
            stdin: Some("text".to_owned()),
            uv: [("name".to_owned(), "v=1".to_owned())].into(),
        }
    }

    #[test]
    fn every_form_means_the_same() {
        let object = json!({"edition": "x", "adaptation": "y", "file": "a.txt", "destination": "out/", "stdin": "text", "uv": {"name": "v=1"}});
        let text = Value::from(object.to_string());
        for form in [
            object,
            text,
            json!([
                "--edition=x",
                "--adaptation=y",
                "--from=a.txt",
                "--destination=out/",
                "--stdin=text",
                "--uv-name=v=1"
            ]),
            json!(["-e=x", "-a=y", "-f=a.txt", "-o=out/", "--stdin=text", "--uv-name=v=1"]),
            json!(["-i=x", "-a", "y", "--file", "a.txt", "-d=out/", "--input_text=text", "--uv-name", "v=1"]),
            json!({"-e": "x", "-a": ["y"], "from": "a.txt", "output": "out/", "input": "text", "uv-name": "v=1"}),
            json!({"edition": ["x"], "adaptation": "y", "file": "a.txt", "destination": "out/", "stdin": "text", "uv": [{"name": "v=1"}]}),
        ] {
            assert_eq!(read(form.clone()).unwrap(), full(), "{form}");
        }
    }

    #[test]
    fn nothing_said_is_nothing_given() {
        for form in [
            json!(null),
            json!({}),
            json!([]),
            json!(""),
            json!("{}"),
            json!({"file": false, "stdin": true, "edition": null}),
            json!(["-"]),
        ] {
            assert_eq!(read(form.clone()).unwrap(), ExecuteOptions::default(), "{form}");
        }
        assert_eq!(read(json!({"uv": {"n": 5}})).unwrap().uv["n"], "5");
        assert_eq!(read(json!("-e=x --uv-name=v=1")).unwrap().uv["name"], "v=1");
    }

    #[test]
    fn variables_are_read_in_every_form_and_none_is_dropped() {
        for form in [
            json!(["--uv", "target=x"]),
            json!(["--uv=target=x"]),
            json!({"uv": "target=x"}),
            json!({"uv": ["target=x"]}),
            json!({"uv": {"uv_target": "x"}}),
            json!({"uv": {"uv-target": "x"}}),
            json!({"uv_target": "x"}),
            json!({"variables": {"target": "x"}}),
        ] {
            assert_eq!(read(form.clone()).unwrap().uv, [("target".to_owned(), "x".to_owned())].into(), "{form}");
        }
        assert_eq!(read(json!({"uv": {"target": true}})).unwrap().uv["target"], "true");
        for form in [json!({"uv": ""}), json!({"uv": null}), json!({"uv": []}), json!({"uv": {"target": null}})] {
            assert_eq!(read(form.clone()).unwrap(), ExecuteOptions::default(), "{form}");
        }
        for form in [json!({"uv": "target"}), json!({"uv": 5}), json!({"uv": [5]}), json!(["--uv", "target"])] {
            assert_eq!(read(form.clone()).unwrap_err().code, Code::InvalidArgument, "{form}");
        }
        let hint = read(json!({"target": "x"})).unwrap_err().hint.unwrap();
        assert!(hint.contains(r#"{"uv": {"target": "value"}}"#), "{hint}");
    }

    #[test]
    fn an_empty_text_is_nothing_given() {
        let empty = json!({"file": "", "stdin": "", "destination": "", "edition": "", "adaptation": ""});
        assert_eq!(read(empty).unwrap(), ExecuteOptions::default());
        assert_eq!(read(json!(["--file=", "--stdin="])).unwrap(), ExecuteOptions::default());
    }

    #[test]
    fn what_makes_no_sense_is_answered_with_what_would() {
        for (form, said) in [
            (json!({"editon": "x"}), "`options` has no `editon`"),
            (json!(["--config=other"]), "`options` has no `config`"),
            (json!(["x"]), "`options` cannot be \"x\""),
            (json!(5), "`options` cannot be 5"),
            (json!({"edition": ["a", "b"]}), "`edition` cannot be [\"a\",\"b\"]"),
            (json!("{broken"), "`options` cannot be \"{broken\""),
        ] {
            let failure = read(form).unwrap_err();
            assert_eq!((failure.code, failure.message.as_str()), (Code::InvalidArgument, said));
            assert!(failure.hint.is_some());
        }
    }
}

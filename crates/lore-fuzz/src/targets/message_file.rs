//! The file in which lazygit-mcp-bridge leaves a message.

use lore_messages::fuzz::message;
use serde_json::Value;

pub(super) fn run(bytes: &[u8]) {
    let read = message(bytes);
    if let Ok((_, Some((first, last)), _)) = &read {
        assert!(0 < *first && first <= last);
    }
    let Ok(value) = serde_json::from_slice::<Value>(bytes) else { return };
    let Some(object) = value.as_object() else { return };
    let text = |name: &str| object.get(name).and_then(Value::as_str);
    let is_text = |name: &str| object.get(name).is_none_or(|value| value.is_null() || value.is_string());
    let line = object.get("line").unwrap_or(&Value::Null);
    let is_line = line.is_null() || line.is_string() || line.is_number();
    // Written again there is no field twice, which is an error.
    let read = message(value.to_string().as_bytes());
    match (text("file"), text("comment")) {
        (Some(file), Some(comment)) if is_text("project_root") && is_text("time") && is_line => {
            let (found, lines, said) = read.expect("it is a message");
            assert_eq!((found.as_str(), said.as_str()), (file, comment));
            assert_eq!(lines, range(line), "{line}");
        }
        _ => assert!(read.is_err(), "{value}"),
    }
}

/// A number, or two with a dash between them.
fn range(line: &Value) -> Option<(u32, u32)> {
    let whole =
        |number: f64| (number.fract() == 0.0 && (1.0..=f64::from(u32::MAX)).contains(&number)).then_some(number);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it was looked at")]
    if let Some(number) = line.as_f64() {
        return whole(number).map(|number| (number as u32, number as u32));
    }
    let text = line.as_str()?;
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let number = |text: &str| text.trim().parse::<u32>().ok().filter(|number| *number > 0);
    let (first, last) = (number(first)?, number(last)?);
    (first <= last).then_some((first, last))
}

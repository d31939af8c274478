//! Registries of commands.

use lore_commands::fuzz::{command, oddities, registry};
use serde_json::{Value, json};

use crate::bytes::text;

pub(super) fn run(bytes: &[u8]) {
    let text = text(bytes);
    let lines = text.matches('\n').count() + 1;
    assert!(oddities(&text).iter().all(|(line, _)| (1..=lines).contains(line)), "a line of the file");
    let Ok((commands, problems)) = registry(&text) else { return };
    assert!(problems.iter().all(|(line, _)| (1..=lines).contains(line)), "a line of the file: {problems:?}");
    if let Ok(Value::Array(items)) = serde_json::from_str::<Value>(text.trim_start_matches('\u{feff}')) {
        assert_eq!(commands.len() + problems.len(), items.len(), "each is read or told");
    }
    for one in &commands {
        // A variable that is called `uv-x` is written like one that is called `x`.
        if one.uv.iter().any(|variable| variable.name.starts_with("uv-")) {
            return;
        }
        let again = command(&Value::Object(one.fields()));
        assert_eq!(again.as_ref(), Ok(one), "written and read again");
        for part in [&one.name.c1, &one.name.c2, &one.name.c3] {
            assert!(!part.contains(['/', '\\', '\0']) && !part.starts_with('.') && !part.is_empty(), "{part:?}");
        }
    }
    let written: Vec<Value> = commands.iter().map(|one| Value::Object(one.fields())).collect();
    for file in [json!(written), json!({"commands": written}), json!({"tools": {"commands": written}})] {
        let (again, problems) = registry(&file.to_string()).expect("what is written can be read");
        assert!(again == commands && problems.is_empty(), "{problems:?}");
    }
}

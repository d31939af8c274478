//! Random files of lazygit's in every style: the setup adds its entries and keeps every other byte.

use std::fmt::Write as _;

use serde_json::{Value, json};

use super::{
    super::lazygit::{plan, snippet},
    Desk,
    lazygit::{lore, parsed},
    random::Dice,
};

fn one_in(dice: &mut Dice, sides: u64) -> bool {
    dice.roll(sides) == 0
}

/// A file, with its line end and the style of each part drawn at random.
fn file(dice: &mut Dice) -> String {
    let mut out = String::new();
    let indent = if one_in(dice, 8) { "  " } else { "" };
    if one_in(dice, 6) {
        out.push_str("---\n");
    }
    let mut parts = vec![0, 1, 2, 3, 4];
    while !parts.is_empty() {
        let part = parts.swap_remove(usize::try_from(dice.roll(parts.len() as u64)).unwrap());
        if one_in(dice, 3) {
            noise(dice, &mut out, indent);
        }
        if part == 0 && one_in(dice, 4) {
            continue;
        }
        out.push_str(indent);
        match part {
            0 => list(dice, &mut out, indent),
            1 => writeln!(out, "gui: {}", flow(dice, 2)).unwrap(),
            2 => writeln!(out, "git: # {}\n{indent}  log: {}", word(dice), scalar(dice)).unwrap(),
            3 => writeln!(out, "os:\n{indent}    edit: {}", block(dice, &format!("{indent}      "))).unwrap(),
            _ => writeln!(out, "\"note\": &n{} {}", dice.roll(9), scalar(dice)).unwrap(),
        }
    }
    if one_in(dice, 3) {
        noise(dice, &mut out, indent);
    }
    if one_in(dice, 6) {
        out.push_str("...\n");
    }
    if one_in(dice, 4) {
        let end = out.trim_end_matches('\n').len();
        out.truncate(end);
    }
    if one_in(dice, 4) { out.replace('\n', "\r\n") } else { out }
}

/// The list of commands, in one of its many forms.
fn list(dice: &mut Dice, out: &mut String, indent: &str) {
    let key = dice.pick(&["customCommands", "\"customCommands\"", "'customCommands'"]);
    let count = dice.roll(4);
    match dice.roll(6) {
        0 => writeln!(out, "{key}: {}", dice.pick(&["", "~", "[]", "null", "[ ]", "# none"])),
        1 => {
            let items: Vec<String> =
                (0..count).map(|number| format!("{{key: k{number}, command: {}}}", flow(dice, 1))).collect();
            writeln!(out, "{key}: [{}{}]", items.join(", "), if count > 0 && one_in(dice, 3) { "," } else { "" })
        }
        _ => {
            writeln!(out, "{key}:{}", if one_in(dice, 3) { " # mine" } else { "" }).unwrap();
            let inner = format!("{indent}{}", " ".repeat(usize::try_from(dice.roll(4)).unwrap()));
            for number in 0..=count {
                if one_in(dice, 4) {
                    noise(dice, out, &inner);
                }
                let gap = dice.pick(&["- ", "-   ", "-\n"]);
                let fields =
                    if gap == "-\n" { format!("{inner}   ") } else { format!("{inner}{}", " ".repeat(gap.len())) };
                let first = if gap == "-\n" { fields.as_str() } else { "" };
                writeln!(
                    out,
                    "{inner}{gap}{first}key: k{number}\n{fields}command: {}",
                    block(dice, &format!("{fields}  "))
                )
                .unwrap();
            }
            Ok(())
        }
    }
    .unwrap();
}

fn noise(dice: &mut Dice, out: &mut String, indent: &str) {
    let words = word(dice);
    match dice.roll(3) {
        0 => out.push('\n'),
        1 => writeln!(out, "{indent}# {words}: - [x").unwrap(),
        _ => writeln!(out, "\n{indent}# {words}\n").unwrap(),
    }
}

/// A value that may span lines; `indent` is that of its further lines.
fn block(dice: &mut Dice, indent: &str) -> String {
    let (one, two) = (word(dice), word(dice));
    let sign = dice.pick(&["|", "|-", "|+", ">", ">+", ">-"]);
    match dice.roll(3) {
        0 => format!("{sign}\n{indent}{one}: # {two}\n\n{indent}- {two}{}", if one_in(dice, 3) { "\n\n" } else { "" }),
        1 => format!("\"{one}\n{indent}{two}\" # c"),
        _ => scalar(dice),
    }
}

fn scalar(dice: &mut Dice) -> String {
    let word = word(dice);
    match dice.roll(5) {
        0 => format!("'{word} it''s: # x'"),
        1 => format!("\"{word} \\n \\u00e9 {{}}\""),
        2 => "null".to_owned(),
        3 => dice.roll(1000).to_string(),
        _ => format!("{word} and {word} # {word}"),
    }
}

fn flow(dice: &mut Dice, depth: u32) -> String {
    match dice.roll(4) {
        0 if depth > 0 => format!("{{a: {}, 'b': {} }}", flow(dice, depth - 1), flow(dice, depth - 1)),
        1 if depth > 0 => format!("[{}, {}]", flow(dice, depth - 1), word(dice)),
        2 => "\"x, ]\"".to_owned(),
        _ => word(dice),
    }
}

fn word(dice: &mut Dice) -> String {
    dice.pick(&["alpha", "héé", "日本", "a-b", "🦀", "x.y/z"]).to_owned()
}

/// The file as it should read: the old one and our entries at the end of its list.
fn wanted(before: &str, ours: &Value) -> Value {
    let mut file = match parsed(before) {
        Value::Null => json!({}),
        file => file,
    };
    let mut entries = file["customCommands"].as_array().cloned().unwrap_or_default();
    entries.extend(ours["customCommands"].as_array().unwrap().iter().cloned());
    file["customCommands"] = Value::Array(entries);
    file
}

#[test]
fn files_of_lazygit_gain_our_entries_and_nothing_else() {
    let mut dice = Dice(4);
    for round in 0..150 {
        let before = file(&mut dice);
        let desk = Desk::lazygit(&before);
        if let Err(failure) = plan(&desk.place, &lore(), None) {
            panic!("round {round}: {failure}\n{before}");
        }
        let ours = parsed(&snippet(&desk.place, &lore(), None).unwrap().text);
        desk.key(None);
        let after = desk.now();
        assert_eq!(parsed(&after), wanted(&before, &ours), "round {round}\n{before}\n=>\n{after}");
        assert_is_inserted(&before, &after);
        assert!(plan(&desk.place, &lore(), None).unwrap().is_noop(), "round {round}\n{after}");
        if round % 2 == 0 {
            desk.unkey();
            assert_eq!(desk.now(), before, "round {round}");
        } else {
            // Somebody adds a comment, so that the bytes cannot simply be put back.
            let end = if after.contains("\r\n") { "\r\n" } else { "\n" };
            let changed = format!("# theirs{end}{after}");
            desk.rewrite(&changed);
            desk.unkey();
            let undone = desk.now();
            let expected = format!("# theirs{end}{before}");
            // A blank after a colon may go, and the last line may get its line ending.
            assert!(
                undone.lines().map(str::trim_end).eq(expected.lines().map(str::trim_end)),
                "round {round}\n{before}\n=>\n{changed}\n=>\n{undone}"
            );
        }
    }
}

/// Every byte of the old file is in the new one, in order, and what is new is in one piece, but for
/// a word that stood for an empty list.
fn assert_is_inserted(before: &str, after: &str) {
    let (start, was, _) = super::super::text::difference(before, after);
    let gone = &before[start..start + was];
    assert!(matches!(gone.trim_start(), "" | "~" | "null"), "{gone:?} is gone from\n{before}\n=>\n{after}");
}

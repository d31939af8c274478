//! Random files in every style: the setup adds its entry and keeps every other byte.

use std::fmt::Write as _;

use jsonc_parser::{CollectOptions, ParseOptions, parse_to_ast};
use serde_json::{Value, json};

use super::super::{document::Emptied, *};
use super::{Desk, lore};

/// A small generator of numbers (xorshift): the same files in every run.
pub(super) struct Dice(pub(super) u64);

impl Dice {
    pub(super) fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }

    pub(super) fn pick<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[usize::try_from(self.roll(choices.len() as u64)).unwrap()]
    }

    /// Blanks and comments, as they stand between two tokens.
    fn trivia(&mut self, newline: &str) -> String {
        let mut out = String::new();
        for _ in 0..self.roll(4) {
            match self.roll(8) {
                0 => write!(out, "// c{}, \"}}{newline}", self.roll(9)).unwrap(),
                1 => write!(out, "/* é, {{ {newline} // {} */", self.roll(9)).unwrap(),
                2 | 3 => out.push_str(newline),
                _ => out.push_str(self.pick(&[" ", "  ", "\t"])),
            }
        }
        out
    }

    fn json(&mut self, depth: u32, newline: &str) -> String {
        match self.roll(if depth == 0 { 3 } else { 5 }) {
            0 => self.pick(&["1", "-2.5e3", "null", "true"]).to_owned(),
            1 | 2 => self.pick(&[r#""x""#, r#""a\"b // c""#, r#""日本""#, r#""""#]).to_owned(),
            3 => self.list(('[', ']'), newline, |dice, _| dice.json(depth - 1, newline)),
            _ => self.object(&["a", "b/*", "é"], newline, |dice, _| dice.json(depth - 1, newline)),
        }
    }

    fn object(&mut self, keys: &[&str], newline: &str, value: impl Fn(&mut Self, &str) -> String) -> String {
        let keys: Vec<&str> = keys.iter().copied().filter(|_| self.roll(3) > 0).collect();
        self.items(('{', '}'), newline, keys.len(), |dice, index| {
            let (before, after) = (dice.trivia(newline), dice.trivia(newline));
            format!("{}{before}:{after}{}", Value::from(keys[index]), value(dice, keys[index]))
        })
    }

    fn list(&mut self, braces: (char, char), newline: &str, value: impl Fn(&mut Self, usize) -> String) -> String {
        let count = usize::try_from(self.roll(3)).unwrap();
        self.items(braces, newline, count, value)
    }

    fn items(
        &mut self,
        (open, close): (char, char),
        newline: &str,
        count: usize,
        item: impl Fn(&mut Self, usize) -> String,
    ) -> String {
        let mut out = format!("{open}{}", self.trivia(newline));
        for index in 0..count {
            out.push_str(&item(self, index));
            out.push_str(&self.trivia(newline));
            if index + 1 < count || self.roll(3) == 0 {
                out.push(',');
                out.push_str(&self.trivia(newline));
            }
        }
        out.push(close);
        out
    }

    fn json_file(&mut self) -> String {
        let newline = self.pick(&["\n", "\r\n"]);
        let server = |dice: &mut Self| {
            dice.object(&["command", "type", "env"], newline, |dice, key| match key {
                "env" => dice.object(&["A", "B"], newline, |_, _| "\"v\"".to_owned()),
                _ => dice.pick(&["\"x\"", "\"commitmux\"", "\"/old/lore\""]).to_owned(),
            })
        };
        let root = self.object(&["first", "mcpServers", "last"], newline, |dice, key| match key {
            "mcpServers" => dice.object(&["one", "lore", "two"], newline, |dice, _| server(dice)),
            _ => dice.json(2, newline),
        });
        let mark = self.pick(&["", "", "\u{feff}"]);
        format!("{mark}{}{root}{}", self.trivia(newline), self.trivia(newline))
    }

    fn toml_file(&mut self) -> String {
        let newline = self.pick(&["\n", "\r\n"]);
        let mut out = String::new();
        if self.roll(2) == 0 {
            out.push_str(self.pick(&[
                "model = 'x'\n",
                "mcp_servers = { a = { command = \"a\" } } # t\n",
                "mcp_servers.b.command = \"b\"\n",
            ]));
        }
        let inline = out.starts_with("mcp_servers = ");
        for index in 0..self.roll(5) {
            match self.roll(5) {
                0 => out.push_str("# [mcp_servers.lore]\n"),
                1 => out.push('\n'),
                2 if !inline => write!(out, "[mcp_servers.s{index}] # é\nargs = [\n  '[x]', # y\n]\n").unwrap(),
                3 => write!(out, "[t{index}]\n  a.b = \"\"\"\n[mcp_servers.lore]\n\"\"\"\n\n").unwrap(),
                _ => write!(out, "[[u{index}]]\nk = {{ a = 1 }}\n").unwrap(),
            }
        }
        if self.roll(3) == 0 && out.ends_with('\n') {
            out.pop();
        }
        out.replace('\n', newline)
    }
}

fn value(text: &str) -> Value {
    let text = text.trim_start_matches('\u{feff}');
    let parsed = parse_to_ast(text, &CollectOptions::default(), &ParseOptions::default());
    parsed.expect("it parses").value.unwrap().into()
}

/// All but the blanks.
fn ink(text: &str) -> String {
    text.chars().filter(|c| !c.is_whitespace()).collect()
}

#[test]
fn an_entry_comes_and_goes_without_a_trace() {
    let mut dice = Dice(0x2545_f491_4f6c_dd1d);
    for round in 0..4_000 {
        let before = dice.json_file();
        let before = before.trim_start_matches('\u{feff}');
        let list = value(before)["mcpServers"].is_object();
        if value(before)["mcpServers"]["lore"].is_object() {
            continue;
        }
        let after = json::add(before, "mcpServers", "lore", &[("command", json!("/x/lore"))]).unwrap();
        let told = format!("round {round}: {before}\n=>\n{after}");
        let mut expected = value(before);
        expected["mcpServers"]["lore"]["command"] = json!("/x/lore");
        assert_eq!(value(&after), expected, "{told}");
        assert_eq!(comments(&after), comments(before), "{told}");
        // What was there is all there, in its order.
        let ink_after = ink(&after);
        let mut rest = ink_after.chars();
        assert!(ink(before).chars().all(|c| rest.any(|other| other == c)), "{told}");
        let emptied = if list { Emptied::Keep } else { Emptied::Drop };
        let back = json::remove(&after, "mcpServers", "lore", emptied).unwrap();
        assert_eq!(ink(&back), ink(before), "{told}\n=>\n{back}");
    }
}

#[test]
fn a_field_changes_and_nothing_beside_it() {
    let mut dice = Dice(0x1234_5678_9abc_def1);
    for round in 0..4_000 {
        let before = dice.json_file();
        let before = before.trim_start_matches('\u{feff}');
        for server in json::servers(before, "mcpServers").unwrap().unwrap_or_default() {
            let after = json::set(before, "mcpServers", &server.name, "command", Some("\"new\"")).unwrap();
            let told = format!("round {round}: {before}\n=>\n{after}");
            let mut expected = value(before);
            expected["mcpServers"][&server.name]["command"] = json!("new");
            assert_eq!(value(&after), expected, "{told}");
            assert_eq!(comments(&after), comments(before), "{told}");
            let old = server.raw("command");
            let back = json::set(&after, "mcpServers", &server.name, "command", old.as_deref()).unwrap();
            assert_eq!(ink(&back), ink(before), "{told}\n=>\n{back}");
            assert!(old.is_none() || back == before, "{told}\n=>\n{back}");
        }
    }
}

#[test]
fn any_entry_can_be_taken_out() {
    let mut dice = Dice(0x0123_4567_89ab_cdef);
    for round in 0..2_000 {
        let before = dice.json_file();
        let before = before.trim_start_matches('\u{feff}');
        for server in json::servers(before, "mcpServers").unwrap().unwrap_or_default() {
            let after = json::remove(before, "mcpServers", &server.name, Emptied::Keep).unwrap();
            let mut expected = value(before);
            expected["mcpServers"].as_object_mut().unwrap().shift_remove(&server.name);
            assert_eq!(value(&after), expected, "round {round}: {before}\n=>\n{after}");
        }
    }
}

#[test]
fn toml_comes_and_goes_without_a_trace() {
    let mut dice = Dice(0x0bad_cafe_dead_beef);
    for round in 0..2_000 {
        let before = dice.toml_file();
        let fields = [("command", json!("/x/lore")), ("args", json!(["serve"]))];
        let after = toml::add(&before, "mcp_servers", "lore", &fields).unwrap();
        let told = format!("round {round}: {before}\n=>\n{after}");
        let servers = toml::servers(&after, "mcp_servers").unwrap().unwrap();
        let ours = servers.iter().find(|server| server.name == "lore").expect("it was added");
        assert_eq!(ours.value, json!({"command": "/x/lore", "args": ["serve"]}), "{told}");
        for old in toml::servers(&before, "mcp_servers").unwrap().unwrap_or_default() {
            let now = servers.iter().find(|server| server.name == old.name).expect("the others stay");
            assert_eq!(now.value, old.value, "{told}");
        }
        let back = toml::remove(&after, "mcp_servers", "lore").unwrap();
        assert_eq!(back.trim_end(), before.trim_end(), "{told}");
    }
}

#[test]
fn random_files_are_undone_exactly() {
    let mut dice = Dice(0x9e37_79b9_7f4a_7c15);
    for round in 0..40 {
        let host = if round % 4 == 0 { Host::Codex } else { Host::Cursor };
        let before = if host == Host::Codex { dice.toml_file() } else { dice.json_file() };
        let desk = Desk::new();
        desk.write(host, &before);
        desk.set_up(host, &Registration::lore("/old/place/lore".into()));
        desk.set_up(host, &lore());
        assert!(desk.plan(host, &lore()).is_noop());
        desk.undo(host, "lore");
        assert_eq!(desk.text(host), before, "round {round}");
    }
}

/// The comments of a text, in their order.
fn comments(text: &str) -> Vec<String> {
    let (mut found, mut rest) = (Vec::new(), text);
    while let Some(at) = rest.find(['"', '/']) {
        rest = &rest[at..];
        let length = match rest.strip_prefix('"') {
            Some(string) => 2 + string.replace("\\\"", "..").find('"').expect("every string ends"),
            None if rest.starts_with("//") => rest.find(['\r', '\n']).unwrap_or(rest.len()),
            None => rest.find("*/").expect("every comment ends") + 2,
        };
        if rest.starts_with('/') {
            found.push(rest[..length].to_owned());
        }
        rest = &rest[length..];
    }
    found
}

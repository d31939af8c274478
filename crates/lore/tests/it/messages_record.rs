//! What reviewers said stays on record: listed, searched, shown and taken back with `lore comments`.

use serde_json::{Value, json};

use crate::messages_agent::{Desk, comments_of, fed, finished};

/// Three comments on two files and one on another project; the first is delivered, the third withdrawn.
fn reviewed() -> Desk {
    let desk = Desk::new();
    desk.repo.write("docs/guide.md", "# Guide\n\nRun it.\n");
    desk.say_on("src/main.rs", "4", "Retries need a limit");
    let (status, log) = {
        let mut agent = desk.agent();
        assert_eq!(agent.check().comments(), ["Retries need a limit"]);
        agent.end()
    };
    assert!(status.success(), "{log}");
    desk.say_on("docs/guide.md", "3", "Say how");
    let third = desk.say_on("src/main.rs", "9", "Never mind");
    desk.json(&["comments", "withdraw", &third["id"].to_string(), "--json"]);
    let other = desk.place.repo("other");
    other.write("lib.rs", "pub fn limit() {}\n");
    desk.say_at(other.path(), "lib.rs", "The limit is elsewhere");
    desk
}

#[track_caller]
fn listed(desk: &Desk, args: &[&str]) -> Vec<String> {
    comments_of(&desk.json(&[&["--json", "comments"], args].concat())["comments"])
}

#[test]
fn the_list_is_newest_first_and_can_be_narrowed() {
    let desk = reviewed();
    assert_eq!(listed(&desk, &["list"]), ["Never mind", "Say how", "Retries need a limit"]);
    assert_eq!(listed(&desk, &["list", "--state", "waiting"]), ["Say how"]);
    assert_eq!(listed(&desk, &["list", "--state", "delivered"]), ["Retries need a limit"]);
    assert_eq!(listed(&desk, &["list", "--state", "withdrawn"]), ["Never mind"]);
    assert_eq!(listed(&desk, &["list", "--path", "docs/"]), ["Say how"]);
    assert_eq!(listed(&desk, &["list", "--path", "%"]), Vec::<String>::new(), "a path is no pattern");
    assert_eq!(listed(&desk, &["list", "--all"]).len(), 4);
    assert_eq!(listed(&desk, &["list", "--all"])[0], "The limit is elsewhere");
    assert_eq!(listed(&desk, &["list", "--since", "1d"]).len(), 3);
    assert_eq!(listed(&desk, &["list", "--since", "2999-01-01"]).len(), 0);
    let cut = desk.json(&["comments", "list", "--limit", "2", "--json"]);
    assert_eq!((comments_of(&cut["comments"]).len(), &cut["more"]), (2, &json!(true)));
    let project = desk.place.path("other");
    assert_eq!(listed(&desk, &["list", "--project", &project]), ["The limit is elsewhere"]);
}

#[test]
fn the_list_for_people_says_where_and_what_became_of_it() {
    let desk = reviewed();
    desk.repo.write("src/main.rs", format!("// one\n{}", crate::messages_agent::CODE));
    let output = finished(&mut desk.lore(&["comments", "list"]));
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let lines: Vec<&str> = text.lines().collect();
    assert_eq!(lines.len(), 6, "{text}");
    assert!(
        lines[0].starts_with("#3 withdrawn src/main.rs:10 ") && lines[0].contains("moved from src/main.rs:9"),
        "{text}"
    );
    assert_eq!(lines[1], "  Never mind");
    assert!(lines[2].starts_with("#2 waiting docs/guide.md:3 "), "{text}");
    assert!(lines[4].starts_with("#1 delivered src/main.rs:5 ") && lines[4].contains("open"), "{text}");
    let empty = finished(desk.lore(&["comments", "list"]).current_dir(desk.place.lore.user_home()));
    assert!(empty.status.success() && empty.stdout.is_empty(), "{}", empty.stderr);
    assert!(empty.stderr.contains("no comments in") && empty.stderr.contains("--all"), "{}", empty.stderr);
}

#[test]
fn search_finds_what_was_said_about_a_subject_a_path_or_a_function() {
    let desk = reviewed();
    let found = |words: &[&str]| listed(&desk, &[&["search"], words].concat());
    assert_eq!(found(&["retry", "limits"]), ["Retries need a limit"], "other forms of a word are found");
    assert_eq!(found(&["limit", "--all"]).len(), 2);
    assert_eq!(found(&["guide.md"]), ["Say how"]);
    assert_eq!(found(&["open"])[0], "Retries need a limit", "by the function it is about");
    assert_eq!(found(&["limit", "--state", "waiting"]), Vec::<String>::new());
    assert_eq!(found(&["ever min"]), ["Never mind"], "by a part of the text");
    // Any text is a legal query.
    for words in ["\"", "a\"b", "AND", "tree-sitter(", "*", "comment:x", "%", "''", "\\"] {
        assert_eq!(found(&["--", words]), Vec::<String>::new(), "{words}");
    }
}

#[test]
fn show_tells_all_of_one_comment() {
    let desk = reviewed();
    let shown = desk.json(&["comments", "show", "1", "--json"]);
    let expected = json!({
        "id": 1, "comment": "Retries need a limit", "state": "delivered", "file": "src/main.rs", "line": 4, "branch": "main",
        "commit": desk.head, "code": "    read();", "project": desk.repo.path(), "symbol_then": "open",
    });
    for (key, value) in expected.as_object().expect("fields") {
        assert_eq!(&shown[key], value, "{key}: {shown}");
    }
    assert!(
        shown["state_since"].as_i64() >= shown["stored_at"].as_i64()
            && shown["stored_at"].as_i64() > Some(1_700_000_000),
        "{shown}"
    );
    let output = finished(&mut desk.lore(&["comments", "show", "1"]));
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    for row in [
        "comment 1\n",
        "Place:    src/main.rs:4\n",
        "In:       function open\n",
        "Branch:   main\n",
        "    Retries need a limit\n",
        "     read();\n",
    ] {
        assert!(text.contains(row), "{row:?} is not in {text}");
    }
    assert!(text.contains(&format!("Commit:   {}\n", desk.head)) && text.contains("State:    delivered "), "{text}");
}

#[track_caller]
fn hinted(said: &str, words: &str) {
    assert!(said.contains(words) && said.contains("hint: "), "{words:?} with a hint is not in {said}");
}

#[test]
fn bad_input_is_told_with_what_to_do_and_keeps_nothing() {
    let desk = Desk::new();
    let comment = |args: &[&str]| desk.refused(2, &[&["comment", "--file", "src/main.rs"], args].concat());
    hinted(&comment(&["--line", "0", "x"]), "`0` is no line");
    hinted(&comment(&["--line", "x", "x"]), "`x` is no line");
    hinted(&comment(&["--line", "-3", "x"]), "`-3` is no line");
    hinted(&comment(&["--line", "4-", "x"]), "`4-` is no line");
    hinted(&comment(&[""]), "the comment is empty");
    hinted(&comment(&[" \n\t"]), "the comment is empty");
    hinted(&comment(&["--project", "nowhere", "x"]), "nowhere is no folder");
    let outside = desk.refused(2, &["comment", "--file", "/etc/hostname", "--project", ".", "my words"]);
    hinted(&outside, "/etc/hostname is not in the project at");
    assert!(outside.contains("my words"), "what was typed is not lost: {outside}");
    assert!(desk.refused(2, &["comment", "x"]).contains("--file"));
    assert!(desk.refused(2, &["comment", "--file", "", "x"]).contains("--file"));
    hinted(&desk.refused(2, &["comment", "--file", "..", "x"]), ".. is not in the project");
    let long = fed(desk.lore(&["comment", "--file", "src/main.rs"]), &vec![b'x'; (1 << 20) + 1]);
    assert_eq!(long.status.code(), Some(2));
    hinted(&long.stderr.replace("xxx", ""), "more than 1048576 bytes");
    for args in [["comments", "show", "77"], ["comments", "withdraw", "77"]] {
        let output = finished(&mut desk.lore(&args));
        assert_eq!(output.status.code(), Some(3), "{}", output.stderr);
        hinted(&output.stderr, "77");
    }
    assert_eq!(finished(&mut desk.lore(&["comments", "show", "x"])).status.code(), Some(2));
    assert_eq!(finished(&mut desk.lore(&["comments", "list", "--state", "new"])).status.code(), Some(2));
    assert_eq!(finished(&mut desk.lore(&["comments", "list", "--since", "soon"])).status.code(), Some(2));
    assert_eq!(listed(&desk, &["list", "--all"]), Vec::<String>::new());
    assert!(!desk.place.lore.home().join("messages.db").exists(), "what is refused makes no database");
}

#[test]
fn several_are_withdrawn_at_once_and_what_failed_is_told() {
    let desk = Desk::new();
    let [first, second] = ["one", "two"].map(|text| desk.say(text).to_string());
    let output = finished(&mut desk.lore(&["comments", "withdraw", &first, "99", &second]));
    assert!(
        !output.status.success() && output.stderr.contains("99") && output.stderr.contains("1 of 3"),
        "{}",
        output.stderr
    );
    let told = String::from_utf8(output.stdout).expect("UTF-8");
    assert_eq!(told, format!("comment {first} is withdrawn\ncomment {second} is withdrawn\n"));
    assert_eq!(desk.waiting(), Vec::<String>::new());
}

/// Text that comes back byte for byte.
fn odd_texts() -> Vec<String> {
    vec![
        "two\nlines\r\nand three\n\n".trim_end_matches('\n').to_owned(),
        "🦀 👩‍💻 日本語 e\u{301}".to_owned(),
        "before\0after".to_owned(),
        "%s %n %d {} {{ }} $1 \\0".to_owned(),
        "\u{1b}[31mred\u{1b}[0m \u{1b}]0;title\u{7} \u{202e}backwards".to_owned(),
        " leading and trailing ".to_owned(),
        "x".repeat(1 << 20),
    ]
}

#[test]
fn every_comment_comes_back_byte_for_byte() {
    let desk = Desk::new();
    for text in odd_texts() {
        let output =
            fed(desk.lore(&["comment", "--json", "--file", "src/main.rs", "-"]), format!("{text}\n").as_bytes());
        assert!(output.status.success(), "{}", output.stderr);
        let kept: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        let shown = desk.json(&["comments", "show", &kept["id"].to_string(), "--json"]);
        assert!(shown["comment"] == text, "{:.100}", shown["comment"]);
        // And through the search, where there is something to search for.
        if let Some(word) = text.split(|c: char| !c.is_ascii_alphabetic()).find(|word| (3..50).contains(&word.len())) {
            let found = listed(&desk, &["search", word]);
            assert!(found.contains(&text), "{word}: {found:?}");
        }
    }
}

#[test]
fn an_agent_gets_the_comment_with_what_is_invisible_made_visible() {
    let desk = Desk::new();
    for text in odd_texts() {
        fed(desk.lore(&["comment", "--file", "src/main.rs"]), text.as_bytes());
        let checked = desk.agent().check();
        let shown = checked.comments().remove(0);
        let expected: String = text
            .chars()
            .map(|c| match c {
                '\0' | '\u{1b}' | '\u{7}' | '\u{202e}' => format!("<U+{:04X}>", u32::from(c)),
                c => c.to_string(),
            })
            .collect();
        assert!(shown == expected && checked.text.contains(&format!("Comment: {expected}\n")), "{:.200}", checked.text);
    }
}

#[test]
fn a_terminal_is_shown_escapes_and_is_not_steered_by_them() {
    let desk = Desk::new();
    let text = "\u{1b}[2J\u{1b}]0;pwned\u{7}over\rwritten \u{202e}";
    fed(desk.lore(&["comment", "--file", "src/main.rs", "--line", "4"]), text.as_bytes());
    for args in [["comments", "list", "--all"], ["comments", "show", "1"], ["comments", "search", "written"]] {
        let output = finished(&mut desk.lore(&args));
        let told = String::from_utf8(output.stdout).expect("UTF-8");
        assert!(!told.contains(['\u{1b}', '\u{7}', '\r', '\u{202e}']), "{told:?}");
        assert!(told.contains("over") && told.contains("written"), "{told:?}");
    }
}

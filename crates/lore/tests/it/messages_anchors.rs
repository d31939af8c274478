//! A comment follows the code it is about, from when it was written to when an agent reads it.

use std::{fs, os::unix::fs::symlink};

use serde_json::{Value, json};

use crate::messages_agent::{CODE, Desk};

/// What a change of the project made of a comment on these lines of `src/main.rs`.
struct Seen {
    text: String,
    message: Value,
}

#[track_caller]
fn after(lines: Option<&str>, change: impl FnOnce(&Desk)) -> Seen {
    let desk = Desk::new();
    match lines {
        Some(lines) => drop(desk.say_on("src/main.rs", lines, "about this")),
        None => drop(desk.say("about this")),
    }
    change(&desk);
    let content = desk.agent().read();
    let mut checked = desk.agent().check();
    assert_eq!(content["text"], checked.text, "the resource shows what the tool gives");
    assert_eq!(checked.comments(), ["about this"]);
    Seen { text: checked.text, message: checked.messages[0].take() }
}

impl Seen {
    /// The rows of the text between its number and its time, and the note behind that.
    #[track_caller]
    fn check(&self, file: &str, line: &str, note: Option<&str>) {
        let time = self.message["time"].as_str().expect("a message has a time");
        let line = if line.is_empty() { String::new() } else { format!("Line: {line}\n") };
        let note = note.map(|note| format!("Note: {note}\n")).unwrap_or_default();
        let expected = format!(
            "Message 1:\nFile: {file}\n{line}Comment: about this\nTime: {time}\n{note}\nPlease improve this code."
        );
        assert_eq!(self.text, expected);
    }

    #[track_caller]
    fn has(&self, fields: &Value) {
        for (key, value) in fields.as_object().expect("fields") {
            assert_eq!(&self.message[key], value, "{key} of {}", self.message);
        }
    }
}

#[test]
fn code_that_stays_is_where_it_was_and_the_answer_tells_all_about_it() {
    let desk = Desk::new();
    let kept = desk.say_on("src/main.rs", "4", "about this");
    let checked = desk.agent().check();
    let seen = Seen { text: checked.text, message: checked.messages[0].clone() };
    seen.check("src/main.rs", "4", None);
    seen.has(&json!({
        "id": kept["id"], "file": "src/main.rs", "line": 4, "last_line": 4, "comment": null, "time": kept["time"],
        "code_state": "here", "code": "    read();", "was": null, "note": null,
        "symbol": {"name": "open", "kind": "function", "line": 3, "last_line": 6}, "symbol_then": "open",
        "hunk": "@@ -1,7 +1,7 @@\n use std::fs;\n \n fn open() {\n     read();\n     close();\n }\n \n",
        "project": desk.repo.path(), "branch": "main", "commit": desk.head,
    }));
}

#[test]
fn the_hunk_is_the_change_that_the_reviewer_saw() {
    let desk = Desk::new();
    desk.repo.write("src/main.rs", CODE.replace("    read();", "    read_all();\n    check();"));
    desk.say_on("src/main.rs", "5", "about this");
    let message = desk.agent().check().messages[0].take();
    let hunk = "@@ -1,7 +1,8 @@\n use std::fs;\n \n fn open() {\n-    read();\n+    read_all();\n+    check();\n     close();\n }\n \n";
    assert_eq!(message["hunk"], hunk, "{message}");
}

#[test]
fn lines_put_above_move_it() {
    let seen = after(Some("4"), |desk| {
        desk.repo.write("src/main.rs", format!("// one\n// two\n{CODE}"));
    });
    seen.check("src/main.rs", "6", Some("the code moved after this was written; it was at line 4"));
    seen.has(&json!({
        "line": 6, "code_state": "moved", "code": "    read();", "was": {"file": "src/main.rs", "line": 4, "last_line": 4},
        "symbol": {"name": "open", "kind": "function", "line": 5, "last_line": 8},
    }));
}

#[test]
fn a_range_moves_as_a_whole() {
    let seen = after(Some("8-11"), |desk| {
        desk.repo.write("src/main.rs", CODE.replace("    read();\n", ""));
    });
    seen.check("src/main.rs", "7-10", Some("the code moved after this was written; it was at line 8-11"));
    seen.has(&json!({"line": 7, "last_line": 10, "code": "fn shut() {\n    write();\n    close();\n}"}));
}

#[test]
fn a_function_cut_and_pasted_elsewhere_is_found() {
    let cut = CODE.replace("fn open() {\n    read();\n    close();\n}\n\n", "")
        + "\nmod inner {\n    fn open() {\n        read();\n        close();\n    }\n}\n";
    let seen = after(Some("4"), |desk| {
        desk.repo.write("src/main.rs", &cut);
    });
    seen.check("src/main.rs", "10", Some("the code moved after this was written; it was at line 4"));
    seen.has(&json!({"code": "        read();", "code_state": "moved"}));
}

#[test]
fn an_edited_line_is_told_to_be_edited() {
    let seen = after(Some("4"), |desk| {
        desk.repo.write("src/main.rs", format!("// one\n{}", CODE.replace("read();", "read(\"all\");")));
    });
    seen.check("src/main.rs", "5", Some("the code was edited after this was written; it was at line 4"));
    seen.has(&json!({"code_state": "edited", "code": "    read(\"all\");", "code_then": "    read();"}));
}

#[test]
fn a_deleted_line_is_told_to_be_gone_with_what_it_was() {
    let seen = after(Some("4"), |desk| {
        desk.repo.write("src/main.rs", CODE.replace("    read();\n", ""));
    });
    seen.check("src/main.rs", "4", Some("the code is gone since this was written; it was at line 4: `read();`"));
    seen.has(&json!({"code_state": "gone", "code": null, "code_then": "    read();", "line": 4}));
}

#[test]
fn a_deleted_file_is_told_to_be_gone() {
    let seen = after(Some("4"), |desk| {
        desk.repo.remove("src/main.rs");
    });
    seen.check("src/main.rs", "4", Some("the file is gone since this was written"));
    seen.has(&json!({"code_state": "file_gone", "code": null, "code_then": "    read();"}));
    let seen = after(None, |desk| {
        desk.repo.remove("src/main.rs");
        desk.repo.commit("Away");
    });
    seen.check("src/main.rs", "", Some("the file is gone since this was written"));
}

#[test]
fn a_renamed_file_is_found_under_its_new_name() {
    let note = "the code moved after this was written; it was at line 4 of src/main.rs";
    let rename = |desk: &Desk| {
        desk.repo.git(&["mv", "src/main.rs", "src/app.rs"]);
    };
    let seen = after(Some("4"), rename);
    seen.check("src/app.rs", "4", Some(note));
    seen.has(&json!({"file": "src/app.rs", "code": "    read();", "was": {"file": "src/main.rs", "line": 4, "last_line": 4}}));
    let seen = after(Some("4"), |desk| {
        rename(desk);
        desk.repo.commit("Rename");
    });
    seen.check("src/app.rs", "4", Some(note));
    // Renamed by hand, into another folder, and changed.
    let seen = after(Some("4"), |desk| {
        desk.repo.remove("src/main.rs").write("app/main.rs", format!("// one\n{CODE}"));
    });
    seen.check("app/main.rs", "5", Some(note));
    let seen = after(None, rename);
    seen.check("src/app.rs", "", Some("the code moved after this was written; it was at src/main.rs"));
}

#[test]
fn a_comment_without_a_line_has_no_line() {
    let seen = after(None, |desk| {
        desk.repo.write("src/main.rs", format!("// one\n{CODE}"));
    });
    seen.check("src/main.rs", "", None);
    seen.has(&json!({"line": null, "last_line": null, "code_state": "unknown", "code": null}));
}

#[test]
fn other_line_ends_are_no_change() {
    let seen = after(Some("4"), |desk| {
        desk.repo.write("src/main.rs", CODE.replace('\n', "\r\n"));
    });
    seen.check("src/main.rs", "4", None);
    seen.has(&json!({"code": "    read();", "code_state": "here"}));
    let desk = Desk::new();
    desk.repo.write("dos.txt", "one\r\ntwo\r\nthree\r\n");
    desk.say_on("dos.txt", "2-3", "about this");
    desk.repo.write("dos.txt", "zero\r\none\r\ntwo\r\nthree\r\n");
    let message = desk.agent().check().messages[0].take();
    assert_eq!(
        (&message["line"], &message["last_line"], &message["code"]),
        (&json!(3), &json!(4), &json!("two\nthree")),
        "{message}"
    );
}

#[test]
fn a_line_beyond_the_end_is_kept_as_it_was_said() {
    let desk = Desk::new();
    let kept = desk.say_on("src/main.rs", "900", "about this");
    assert!(kept["notes"][0].as_str().is_some_and(|note| note.contains("has only 11 lines")), "{kept}");
    let checked = desk.agent().check();
    let seen = Seen { text: checked.text, message: checked.messages[0].clone() };
    seen.check("src/main.rs", "900", None);
    seen.has(&json!({"code_state": "unknown", "code": null, "hunk": null, "symbol": null}));
}

#[test]
fn a_binary_file_can_be_commented_on_without_its_bytes() {
    let desk = Desk::new();
    desk.repo.write("logo.png", b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0");
    let kept = desk.say_on("logo.png", "1", "about this");
    assert_eq!(kept["known"], false, "{kept}");
    let checked = desk.agent().check();
    let seen = Seen { text: checked.text, message: checked.messages[0].clone() };
    seen.check("logo.png", "1", None);
    seen.has(&json!({"code": null, "hunk": null, "code_state": "unknown"}));
}

#[test]
fn what_lies_outside_of_the_project_is_never_read() {
    let desk = Desk::new();
    let secret = desk.place.path("secret.txt");
    fs::write(&secret, "the password is hunter2\n").expect("a file can be written");
    symlink(&secret, desk.repo.path().join("link.txt")).expect("a link can be made");
    symlink(desk.place.path(""), desk.repo.path().join("up")).expect("a link can be made");
    desk.say_on("link.txt", "1", "about this");
    // The old file may name anything.
    for file in ["../secret.txt", secret.as_str(), "up/secret.txt", "src/../../secret.txt"] {
        let left = json!({"file": file, "line": "1", "comment": "about this", "project_root": desk.repo.path(), "time": "2025-07-01T10:30:00Z"});
        desk.leave(&left.to_string());
        desk.agent().read();
    }
    let refused = desk.refused(2, &["comment", "--file", "../secret.txt", "--project", ".", "x"]);
    assert!(refused.contains("is not in the project"), "{refused}");
    // The code turns into a link between the comment and its delivery.
    desk.say_on("src/main.rs", "4", "about this");
    desk.repo.remove("src/main.rs");
    symlink(&secret, desk.repo.path().join("src/main.rs")).expect("a link can be made");
    let checked = desk.agent().check();
    assert_eq!(checked.comments().len(), 6);
    let all = checked.messages.to_string() + &checked.text;
    assert!(!all.contains("hunter2"), "{all}");
    let listed = desk.json(&["comments", "list", "--json"]).to_string();
    assert!(!listed.contains("hunter2"), "{listed}");
}

//! What the original of the messages toolset gets wrong, each as a test of its own.

mod upstream_gets_this_wrong {
    use std::{fs, process::Command};

    use serde_json::json;

    use crate::messages_agent::{Desk, NOTHING, TOOL, URI, checked, fed, finished};

    #[test]
    fn messages_sent_before_the_server_starts_are_lost() {
        let desk = Desk::new();
        desk.say("said before anybody listened");
        let left = json!({
            "file": "src/main.rs", "line": "3", "comment": "left before anybody listened",
            "project_root": desk.repo.path(), "time": "2025-07-01T10:30:00Z",
        });
        desk.leave(&left.to_string());
        // A server that nobody asked changes nothing, and neither does its end.
        let (status, log) = desk.agent().end();
        assert!(status.success(), "{log}");
        let mut got = desk.agent().check_all();
        got.sort();
        assert_eq!(got, ["left before anybody listened", "said before anybody listened"]);
    }

    #[test]
    fn two_quick_sends_overwrite_each_other() {
        let desk = Desk::new();
        let mut agent = desk.agent();
        let texts: Vec<String> = (0..8).map(|number| format!("quick {number}")).collect();
        let mut running: Vec<_> = texts
            .iter()
            .map(|text| desk.lore(&["comment", "--file", "src/main.rs", "--line", "4", "--", text]).spawn())
            .map(|child| child.expect("lore starts"))
            .collect();
        for child in &mut running {
            assert!(child.wait().expect("a child can be waited for").success());
        }
        let mut got = agent.check_all();
        got.sort();
        assert_eq!(got, texts);
    }

    #[test]
    fn a_missing_config_folder_kills_the_watch() {
        let desk = Desk::new();
        let config = desk.place.lore.user_home().join(".config");
        assert!(!config.exists());
        let mut agent = desk.agent();
        agent.request("resources/subscribe", &json!({"uri": URI}));
        assert_eq!(agent.check().text, NOTHING);
        assert!(!config.exists(), "looking makes no folder");
        // The folder appears, goes, and appears again; the watch goes on.
        for comment in ["first", "second"] {
            let message = json!({"file": "a.go", "comment": comment, "project_root": desk.repo.path(), "time": "2025-07-01T10:30:00Z"});
            desk.leave(&message.to_string());
            let told = agent.notification();
            assert_eq!(told["method"], "notifications/resources/updated", "{told}");
            assert_eq!(agent.check().comments(), [comment]);
            fs::remove_dir_all(&config).expect("the folder can be removed");
        }
        let (status, log) = agent.end();
        assert!(status.success(), "{log}");
    }

    #[test]
    fn a_request_without_params_panics_the_server() {
        let desk = Desk::new();
        desk.say("still here");
        let mut agent = desk.agent();
        let mut id = 100;
        for params in ["", r#","params":null"#, r#","params":{}"#] {
            for method in ["initialize", "tools/call", "resources/read", "resources/subscribe", "logging/setLevel"] {
                id += 1;
                let answer =
                    agent.raw(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}"{params}}}"#), &json!(id));
                // A handshake needs no more than its name.
                let expected = if method == "initialize" { json!(null) } else { json!(-32602) };
                assert_eq!(answer["error"]["code"], expected, "{method}{params}: {answer}");
            }
            for method in ["tools/list", "resources/list", "ping"] {
                id += 1;
                let answer =
                    agent.raw(&format!(r#"{{"jsonrpc":"2.0","id":{id},"method":"{method}"{params}}}"#), &json!(id));
                assert!(answer["result"].is_object(), "{method}{params}: {answer}");
            }
        }
        // The tool needs no arguments.
        let answer = agent.raw(
            &format!(r#"{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{TOOL}"}}}}"#),
            &json!(1),
        );
        assert_eq!(checked(&answer).comments(), ["still here"], "{answer}");
        let (status, log) = agent.end();
        assert!(status.success() && !log.contains("panicked"), "{log}");
    }

    /// What reviewers type, and what a shell or a template takes for its own.
    const TYPED: [&str; 9] = [
        "it's \"quoted\" $(touch pwned); `touch pwned`",
        "'; touch pwned; '",
        "\"; touch pwned; \"",
        "two\nlines\n\n\tand a tab",
        "\\ \\\\ \\n \\' \\\" %s %d%n {{ .Form }}",
        "! !! #5 & | < > * ? ~ [a] {b,c}",
        "🦀 日本語 é \u{2028} \u{a0}",
        "--file=/etc/passwd --help",
        "-",
    ];

    /// The shell that lazygit runs its custom commands with.
    #[expect(
        clippy::disallowed_methods,
        reason = "the shell is what is tested, with the environment that the desk gives"
    )]
    fn shell(desk: &Desk, line: &str) -> Command {
        let mut command = Command::new("sh");
        let lore = desk.lore(&[]);
        command.env_clear().args(["-c", line]).current_dir(desk.repo.path());
        command.envs(lore.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command
    }

    fn quoted(text: &str) -> String {
        format!("'{}'", text.replace('\'', r"'\''"))
    }

    #[test]
    fn a_comment_with_quotes_breaks_the_shell_template() {
        let desk = Desk::new();
        let lore = quoted(env!("CARGO_BIN_EXE_lore"));
        for text in TYPED.iter().filter(|text| **text != "-") {
            let line = format!("{lore} comment --file 'src/main.rs' --line 4 -- {}", quoted(text));
            let output = finished(&mut shell(&desk, &line));
            assert!(output.status.success(), "{line}: {}", output.stderr);
        }
        let arguments: Vec<&str> = TYPED.into_iter().filter(|text| *text != "-").collect();
        let mut agent = desk.agent();
        assert_eq!(agent.check_all(), arguments);
        for text in TYPED {
            let line = format!("{lore} comment --file 'src/main.rs' --line 5 -");
            let output = fed(shell(&desk, &line), text.as_bytes());
            assert!(output.status.success(), "{line}: {}", output.stderr);
        }
        assert_eq!(agent.check_all(), TYPED);
        assert!(!desk.repo.path().join("pwned").exists() && !desk.place.lore.user_home().join("pwned").exists());
    }

    #[test]
    fn the_text_of_the_answer_holds_the_comment_unchanged() {
        let desk = Desk::new();
        let text = TYPED[0];
        desk.say(text);
        let checked = desk.agent().check();
        assert!(checked.text.contains(&format!("\nComment: {text}\n")), "{}", checked.text);
    }
}

//! Adding Lore to files of every shape: what is added, and that nothing else changes.

use expect_test::expect;

use super::super::*;
use super::check;

#[test]
fn an_empty_file_is_an_empty_object() {
    check(
        Host::Cursor,
        "",
        &expect![[r#"
        {
          "mcpServers": {
            "lore": {
              "command": "/opt/bin/lore",
              "args": ["serve"]
            }
          }
        }
    "#]],
    );
    check(
        Host::Cursor,
        " \n\n",
        &expect![[r#"
        {
          "mcpServers": {
            "lore": {
              "command": "/opt/bin/lore",
              "args": ["serve"]
            }
          }
        }
    "#]],
    );
    check(
        Host::Codex,
        "\n",
        &expect![[r#"

        [mcp_servers.lore]
        command = "/opt/bin/lore"
        args = ["serve"]
    "#]],
    );
}

#[test]
fn a_file_of_comments_keeps_them() {
    check(
        Host::Zed,
        "// my settings\n/* all of them */",
        &expect![[r#"
        // my settings
        /* all of them */
        {
          "context_servers": {
            "lore": {
              "command": "/opt/bin/lore",
              "args": ["serve"]
            }
          }
        }
    "#]],
    );
}

#[test]
fn comments_and_trailing_commas_stay() {
    check(
        Host::Zed,
        r#"// Zed settings
{
  "theme": "One Dark", // dark
  /* servers */
  "context_servers": {
    // the first
    "other": { "command": "other", "args": [], }, // always on
    // "third": {},
  },
}
"#,
        &expect![[r#"
            // Zed settings
            {
              "theme": "One Dark", // dark
              /* servers */
              "context_servers": {
                // the first
                "other": { "command": "other", "args": [], }, // always on
                // "third": {},
                "lore": {
                  "command": "/opt/bin/lore",
                  "args": ["serve"]
                },
              },
            }
        "#]],
    );
}

#[test]
fn a_comment_stays_with_the_entry_it_follows() {
    check(
        Host::VsCode,
        "{\n  \"servers\": {\n    \"a\": {\"command\": \"a\"} // about a\n    /* the end */\n  }\n}\n",
        &expect![[r#"
            {
              "servers": {
                "a": {"command": "a"}, // about a
                /* the end */
                "lore": {
                  "type": "stdio",
                  "command": "/opt/bin/lore",
                  "args": ["serve"]
                }
              }
            }
        "#]],
    );
}

#[test]
fn tabs_and_crlf_and_a_mark_stay() {
    check(
        Host::VsCode,
        "\u{feff}{\r\n\t\"inputs\": [],\r\n\t\"servers\": {\r\n\t\t\"a\": {\r\n\t\t\t\"command\": \"a\"\r\n\t\t}\r\n\t}\r\n}",
        &expect![[r#"
            BOM{␍
            ␉"inputs": [],␍
            ␉"servers": {␍
            ␉␉"a": {␍
            ␉␉␉"command": "a"␍
            ␉␉},␍
            ␉␉"lore": {␍
            ␉␉␉"type": "stdio",␍
            ␉␉␉"command": "/opt/bin/lore",␍
            ␉␉␉"args": ["serve"]␍
            ␉␉}␍
            ␉}␍
            }"#]],
    );
}

#[test]
fn a_list_is_added_to_what_is_there() {
    check(
        Host::ClaudeCode,
        "{\n    \"numStartups\": 12,\n    \"projects\": {\n        \"/a\": {\"mcpServers\": {}}\n    }\n}\n",
        &expect![[r#"
            {
                "numStartups": 12,
                "projects": {
                    "/a": {"mcpServers": {}}
                },
                "mcpServers": {
                    "lore": {
                        "type": "stdio",
                        "command": "/opt/bin/lore",
                        "args": ["serve"]
                    }
                }
            }
        "#]],
    );
}

#[test]
fn an_empty_list_is_opened() {
    check(
        Host::ClaudeDesktop,
        "{\n  \"mcpServers\": {}\n}\n",
        &expect![[r#"
        {
          "mcpServers": {
            "lore": {
              "command": "/opt/bin/lore",
              "args": ["serve"]
            }
          }
        }
    "#]],
    );
    check(
        Host::ClaudeDesktop,
        "{\n  \"mcpServers\": {\n  }, \"a\": 1}",
        &expect![[r#"
        {
          "mcpServers": {
            "lore": {
              "command": "/opt/bin/lore",
              "args": ["serve"]
            }
          }, "a": 1}"#]],
    );
    check(
        Host::ClaudeDesktop,
        "{ }",
        &expect![[r#"
        {
          "mcpServers": {
            "lore": {
              "command": "/opt/bin/lore",
              "args": ["serve"]
            }
          }
        }"#]],
    );
    check(
        Host::ClaudeDesktop,
        "{\n  // nothing yet\n}",
        &expect![[r#"
        {
          // nothing yet
          "mcpServers": {
            "lore": {
              "command": "/opt/bin/lore",
              "args": ["serve"]
            }
          }
        }"#]],
    );
}

#[test]
fn one_line_stays_one_line() {
    check(
        Host::Cursor,
        r#"{"a":1,"mcpServers":{"x":{"command":"x"}}}"#,
        &expect![[r#"{"a":1,"mcpServers":{"x":{"command":"x"},"lore":{"command":"/opt/bin/lore","args":["serve"]}}}"#]],
    );
    check(
        Host::Cursor,
        r#"{"a": 1, "mcpServers": {}}"#,
        &expect![[r#"{"a": 1, "mcpServers": {"lore": {"command": "/opt/bin/lore", "args": ["serve"]}}}"#]],
    );
    check(
        Host::Cursor,
        r#"{"a": 1}"#,
        &expect![[r#"{"a": 1, "mcpServers": {"lore": {"command": "/opt/bin/lore", "args": ["serve"]}}}"#]],
    );
    check(
        Host::Cursor,
        "{\"a\": 1 // one\n}",
        &expect![[r#"
        {"a": 1, // one
        "mcpServers": {"lore": {"command": "/opt/bin/lore", "args": ["serve"]}}
        }"#]],
    );
}

#[test]
fn a_brace_on_the_last_line_moves_down() {
    check(
        Host::Cursor,
        "{\n  \"a\": 1}",
        &expect![[r#"
        {
          "a": 1,
          "mcpServers": {
            "lore": {
              "command": "/opt/bin/lore",
              "args": ["serve"]
            }
          }
        }"#]],
    );
}

#[test]
fn the_last_of_two_lists_counts() {
    check(
        Host::Cursor,
        "{\n \"mcpServers\": {},\n \"mcpServers\": {}\n}",
        &expect![[r#"
        {
         "mcpServers": {},
         "mcpServers": {
          "lore": {
           "command": "/opt/bin/lore",
           "args": ["serve"]
          }
         }
        }"#]],
    );
}

#[test]
fn a_table_is_added_after_the_others() {
    check(
        Host::Codex,
        "# Codex\r\nmodel = \"x\" # the best\r\n\r\n[mcp_servers.other] # theirs\r\ncommand = 'o'\r\nargs = [\r\n  \"a\", # one\r\n]\r\n",
        &expect![[r##"
            # Codex␍
            model = "x" # the best␍
            ␍
            [mcp_servers.other] # theirs␍
            command = 'o'␍
            args = [␍
              "a", # one␍
            ]␍
            ␍
            [mcp_servers.lore]␍
            command = "/opt/bin/lore"␍
            args = ["serve"]␍
        "##]],
    );
    check(
        Host::Codex,
        "model = \"x\"",
        &expect![[r#"
        model = "x"

        [mcp_servers.lore]
        command = "/opt/bin/lore"
        args = ["serve"]
    "#]],
    );
    check(
        Host::Codex,
        "[tui]\n# end\n\n",
        &expect![[r#"
        [tui]
        # end

        [mcp_servers.lore]
        command = "/opt/bin/lore"
        args = ["serve"]
    "#]],
    );
}

#[test]
fn an_inline_table_gets_one_more() {
    check(
        Host::Codex,
        "mcp_servers = { other = { command = \"o\" } } # all\n[tui]\n",
        &expect![[r#"
        mcp_servers = { other = { command = "o" }, lore = { command = "/opt/bin/lore", args = ["serve"] } } # all
        [tui]
    "#]],
    );
    check(
        Host::Codex,
        "mcp_servers = {}\n",
        &expect![[r#"
        mcp_servers = { lore = { command = "/opt/bin/lore", args = ["serve"] } }
    "#]],
    );
}

#[test]
fn dotted_servers_get_a_table() {
    check(
        Host::Codex,
        "mcp_servers.other.command = \"o\"\n",
        &expect![[r#"
        mcp_servers.other.command = "o"

        [mcp_servers.lore]
        command = "/opt/bin/lore"
        args = ["serve"]
    "#]],
    );
}

//! Adding Lore to files of every shape: what is added, and that nothing else changes.

use expect_test::expect;

use super::super::*;
use super::check;

#[test]
fn a_file_without_a_value_becomes_an_object() {
    check(
        Host::Cursor,
        &["", " \n\n", "// my settings\n/* all of them */"],
        &expect![[r#"
        {
          "mcpServers": {
            "lore": {
              "command": "/opt/bin/lore",
              "args": ["serve"]
            }
          }
        }

        --
        {
          "mcpServers": {
            "lore": {
              "command": "/opt/bin/lore",
              "args": ["serve"]
            }
          }
        }

        --
        // my settings
        /* all of them */
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
}

#[test]
fn comments_and_trailing_commas_stay() {
    check(
        Host::Zed,
        &[
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
            "{\n  \"context_servers\": {\n\n    \"a\": {\"command\": \"a\"} // about a\n    /* the end */\n\n  }\n}\n",
        ],
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

            --
            {
              "context_servers": {

                "a": {"command": "a"}, // about a
                /* the end */
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
fn indentation_line_ends_and_a_mark_stay() {
    check(
        Host::VsCode,
        &[
            "\u{feff}{\r\n\t\"inputs\": [],\r\n\t\"servers\": {\r\n\t\t\"a\": {\r\n\t\t\t\"command\": \"a\"\r\n\t\t}\r\n\t}\r\n}",
            "{\n    \"numStartups\": 12,\n    \"projects\": {\n        \"/a\": {\"servers\": {}}\n    }\n}\n",
        ],
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
            }
            --
            {
                "numStartups": 12,
                "projects": {
                    "/a": {"servers": {}}
                },
                "servers": {
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
fn an_empty_list_is_opened_and_of_two_lists_the_last_counts() {
    check(
        Host::ClaudeDesktop,
        &[
            "{\n  \"mcpServers\": {}\n}\n",
            "{\n  \"mcpServers\": {\n  }, \"a\": 1}",
            "{ }",
            "{\n  // nothing yet\n}",
            "{\n \"mcpServers\": {},\n \"mcpServers\": {}\n}",
        ],
        &expect![[r#"
            {
              "mcpServers": {
                "lore": {
                  "command": "/opt/bin/lore",
                  "args": ["serve"]
                }
              }
            }

            --
            {
              "mcpServers": {
                "lore": {
                  "command": "/opt/bin/lore",
                  "args": ["serve"]
                }
              }, "a": 1}
            --
            {
              "mcpServers": {
                "lore": {
                  "command": "/opt/bin/lore",
                  "args": ["serve"]
                }
              }
            }
            --
            {
              // nothing yet
              "mcpServers": {
                "lore": {
                  "command": "/opt/bin/lore",
                  "args": ["serve"]
                }
              }
            }
            --
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
fn one_line_stays_one_line() {
    check(
        Host::Cursor,
        &[
            r#"{"a":1,"mcpServers":{"x":{"command":"x"}}}"#,
            r#"{"a": 1, "mcpServers": {}}"#,
            r#"{ "a": 1 /* one */, }"#,
            "{\"a\": 1 // one\n}",
            "{\n  \"a\": 1}",
        ],
        &expect![[r#"
            {"a":1,"mcpServers":{"x":{"command":"x"},"lore":{"command":"/opt/bin/lore","args":["serve"]}}}
            --
            {"a": 1, "mcpServers": {"lore": {"command": "/opt/bin/lore", "args": ["serve"]}}}
            --
            { "a": 1 /* one */, "mcpServers": {"lore": {"command": "/opt/bin/lore", "args": ["serve"]}}, }
            --
            {"a": 1, // one
            "mcpServers": {"lore": {"command": "/opt/bin/lore", "args": ["serve"]}}
            }
            --
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
fn a_table_is_added_after_the_others() {
    check(
        Host::Codex,
        &[
            "\n",
            "# Codex\r\nmodel = \"x\" # the best\r\n\r\n[mcp_servers.other] # theirs\r\ncommand = 'o'\r\nargs = [\r\n  \"a\", # one\r\n]\r\n",
            "model = \"x\"",
            "[tui]\n# end\n\n",
            "mcp_servers.other.command = \"o\"\n",
        ],
        &expect![[r#"

            [mcp_servers.lore]
            command = "/opt/bin/lore"
            args = ["serve"]

            --
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

            --
            model = "x"

            [mcp_servers.lore]
            command = "/opt/bin/lore"
            args = ["serve"]

            --
            [tui]
            # end

            [mcp_servers.lore]
            command = "/opt/bin/lore"
            args = ["serve"]

            --
            mcp_servers.other.command = "o"

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
        &["mcp_servers = { other = { command = \"o\" } } # all\n[tui]\n", "mcp_servers = {}\n"],
        &expect![[r#"
            mcp_servers = { other = { command = "o" }, lore = { command = "/opt/bin/lore", args = ["serve"] } } # all
            [tui]

            --
            mcp_servers = { lore = { command = "/opt/bin/lore", args = ["serve"] } }
        "#]],
    );
}

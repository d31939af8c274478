//! One commit: what `lore show` and `lore patch` say against what git says.

use anyhow::Result;
use serde_json::{Value, json};

use super::{Change, ExpectedPatch, Report, Truth, json as lore_json};
use crate::Lore;

/// How `lore patch` ends where there is no patch.
const NO_PATCH: i32 = 3;

/// Compares everything that is known of one commit.
pub(super) fn commit(lore: &Lore, name: &str, truth: &Truth, commit: &str) -> Result<Report> {
    let shown = lore_json(lore, &["show", name, commit, "--json"])?;
    let expected = truth.patch(commit)?;
    let files = match expected {
        ExpectedPatch::MissingObjects => truth.files_without_renames(commit)?,
        _ => truth.files(commit)?,
    };
    let mut found = Findings { commit, report: Report { commits: 1, lists_compared: 1, ..Report::default() } };
    found.details(truth, &shown)?;
    found.files(&files, &shown["changed_files"]);
    found.patch(&expected, &shown["patch"], &lore.run(&["patch", name, commit]));
    Ok(found.report)
}

struct Findings<'a> {
    commit: &'a str,
    report: Report,
}

impl Findings<'_> {
    fn differs(&mut self, what: &str, git: &impl std::fmt::Display, lore: &impl std::fmt::Display) {
        self.report.differences.push(format!("{} {what}: git {git}, lore {lore}", self.commit));
    }

    fn details(&mut self, truth: &Truth, shown: &Value) -> Result<()> {
        let details = truth.details(self.commit)?;
        let text = |bytes: &[u8]| json!(String::from_utf8_lossy(bytes));
        let expected = [
            ("/sha", json!(self.commit)),
            ("/subject", text(&details.subject)),
            ("/author/name", text(&details.author_name)),
            ("/author/email", text(&details.author_email)),
            ("/committer/name", text(&details.committer_name)),
            ("/committer/email", text(&details.committer_email)),
            ("/date", json!(details.author_time)),
            ("/commit_date", json!(details.commit_time)),
            ("/parent_count", json!(details.parent_count)),
        ];
        for (pointer, git) in expected {
            let lore = shown.pointer(pointer).cloned().unwrap_or_default();
            if git != lore {
                self.differs(&pointer[1..], &brief(&git), &brief(&lore));
            }
        }
        // White space at the end of a message means nothing; no body and an empty one are the same.
        let git = String::from_utf8_lossy(&details.body);
        let lore = shown["body"].as_str().unwrap_or_default();
        if git.trim_end() != lore.trim_end() {
            let (git, lore) = (git.trim_end().as_bytes(), lore.trim_end().as_bytes());
            self.bytes("body", git, lore);
        }
        Ok(())
    }

    fn files(&mut self, expected: &[Change], shown: &Value) {
        let Some(shown) = shown.as_array() else {
            return self.differs("changed_files", &"a list", &brief(shown));
        };
        if expected.len() != shown.len() {
            self.differs("number of changed files", &expected.len(), &shown.len());
        }
        for (git, lore) in expected.iter().zip(shown) {
            let git = as_json(git);
            let lore = relevant(lore);
            if git != lore {
                self.differs("changed file", &brief(&git), &brief(&lore));
                break;
            }
        }
    }

    fn patch(&mut self, expected: &ExpectedPatch, stated: &Value, printed: &crate::Output) {
        let (word, bytes) = match expected {
            ExpectedPatch::Stored(bytes) => ("stored", Some(bytes)),
            ExpectedPatch::BinaryOnly => ("binary_only", None),
            ExpectedPatch::TooLarge => ("too_large", None),
            ExpectedPatch::MissingObjects => ("missing_objects", None),
        };
        if stated != word {
            self.differs("kind of patch", &word, &brief(stated));
        }
        let code = printed.status.code();
        if let Some(bytes) = bytes {
            self.report.patches_compared += 1;
            if code != Some(0) {
                self.differs(
                    "patch",
                    &format!("{} bytes", bytes.len()),
                    &format!("exit {code:?}, {}", printed.stderr.trim()),
                );
            } else if *bytes != printed.stdout {
                self.bytes("patch", bytes, &printed.stdout);
            }
        } else {
            self.report.patches_absent += 1;
            if code != Some(NO_PATCH) || !printed.stdout.is_empty() || !printed.stderr.contains("error:") {
                let lore = format!("exit {code:?}, {} bytes, {}", printed.stdout.len(), printed.stderr.trim());
                self.differs("patch", &format!("none ({word}), so exit {NO_PATCH} and `error:`"), &lore);
            }
        }
    }

    /// Tells where two byte strings part.
    fn bytes(&mut self, what: &str, git: &[u8], lore: &[u8]) {
        let at = git.iter().zip(lore).take_while(|(a, b)| a == b).count();
        let near = |bytes: &[u8]| {
            let from = at.saturating_sub(20).min(bytes.len());
            format!("{} bytes, \"{}\"", bytes.len(), bytes[from..bytes.len().min(at + 40)].escape_ascii())
        };
        self.differs(&format!("{what}, from byte {at}"), &near(git), &near(lore));
    }
}

/// A change as `lore show --json` is to print it: paths that are not UTF-8 also in hexadecimal digits.
fn as_json(change: &Change) -> Value {
    let mut object = json!({ "path": null, "status": change.status.to_string(), "old_path": null });
    let mut put = |key: &str, path: &[u8]| {
        object[key] = json!(String::from_utf8_lossy(path));
        if std::str::from_utf8(path).is_err() {
            let digits: Vec<_> = path.iter().map(|byte| format!("{byte:02x}")).collect();
            object[format!("{key}_hex")] = json!(digits.concat());
        }
    };
    put("path", &change.path);
    if let Some(old) = &change.old_path {
        put("old_path", old);
    }
    object
}

/// The keys that are compared, so that more of them may be added; one that is missing is the same as null.
fn relevant(shown: &Value) -> Value {
    let mut object = json!({ "path": shown["path"], "status": shown["status"], "old_path": shown["old_path"] });
    for key in ["path_hex", "old_path_hex"] {
        if !shown[key].is_null() {
            object[key] = shown[key].clone();
        }
    }
    object
}

/// A value as text of a length that fits a line.
fn brief(value: &Value) -> String {
    let text = value.to_string();
    match text.char_indices().nth(300) {
        Some((end, _)) => format!("{}… ({} bytes)", &text[..end], text.len()),
        None => text,
    }
}

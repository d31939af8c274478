//! lazygit's key from end to end: the command that `lore setup lazygit` wrote, filled in as lazygit fills it in, run by
//! the shells that lazygit runs, and the comment as it arrives.

use std::{
    fs,
    io::ErrorKind,
    path::{Path, PathBuf},
    process::{Command, Output, Stdio},
};

use lore_testkit::{Lore, Repo};
use serde_json::Value;
use tempfile::TempDir;

/// What reviewers type, and what a shell or a template could take for its own.
const COMMENTS: [&str; 15] = [
    "it's \"quoted\" $(touch pwned); `ls`",
    "two\nlines\n\n\tand a tab",
    "🦀 日本語 é",
    "{{ .X }} {{ .Form.Comment | quote }} {{ runCommand \"touch pwned\" }} %s %d%n",
    r"\ \\ \n \t C:\new\x \` \$ \",
    "--file=other.rs --help",
    "-x",
    "!! !$ !touch ~ * ? # & | < > (a) {b,c} [d] ^e =f",
    "$HOME ${HOME} $((1+1)) $(touch pwned) `touch pwned`",
    "'; touch pwned; '",
    "\"; touch pwned; \"",
    "$'\\x41' \"\"''",
    "a & touch pwned & b && touch pwned || touch pwned",
    "\\\"; touch pwned; \\\"",
    "-",
];

/// Names that files may have.
const FILES: [&str; 4] = ["src/a.rs", "it's \"odd\" $(touch pwned) `ls`.rs", "-dash {{ .X }}.rs", "日本/é \\.rs"];

/// A user who has set lazygit up, and a repository to comment on.
struct Reviewer {
    lore: Lore,
    repo: Repo,
    folder: TempDir,
}

impl Reviewer {
    /// With the program at a path that needs every kind of quoting.
    fn new() -> Self {
        Self::with_program_in("it's a \"$HOME\" {{ .X }} `bin`")
    }

    fn with_program_in(folder_name: &str) -> Self {
        // Beside the program, so that it can be linked to.
        let folder = TempDir::new_in(env!("CARGO_TARGET_TMPDIR")).expect("tests may write temporary files");
        let odd = folder.path().join(folder_name);
        fs::create_dir(&odd).expect("a fresh folder is writable");
        let program = odd.join("lore");
        fs::hard_link(env!("CARGO_BIN_EXE_lore"), &program).expect("the program can have another name");
        let repo = Repo::init(folder.path().join("repo"));
        for file in FILES {
            repo.write(file, "fn a() {}\n");
        }
        repo.commit("one");
        let lore = Lore::new(&program);
        lore.ok(&["setup", "lazygit"]);
        Self { lore, repo, folder }
    }

    /// The command of one of the two entries.
    fn template(&self, entry: usize) -> String {
        let file = self.lore.user_home().join(".config/lazygit/config.yml");
        let text = fs::read_to_string(file).expect("the setup wrote it");
        let config: Value = serde_saphyr::from_str(&text).expect("lazygit reads it");
        config["customCommands"][entry]["command"].as_str().expect("an entry has a command").to_owned()
    }

    /// Does what lazygit does when the comment was entered; `None` when there is no such shell.
    fn press(&self, shell: &str, entry: usize, file: &str, comment: &str) -> Option<Output> {
        let command = fill_in(&self.template(entry), file, comment);
        let (home, folder) = (self.lore.user_home(), self.repo.path());
        match shell_at(shell, home, folder).args(["-c", &command]).output() {
            Err(error) if error.kind() == ErrorKind::NotFound => None,
            ran => Some(ran.expect("the shell can be started")),
        }
    }

    /// Everything that was said, the newest first.
    fn comments(&self) -> Vec<(String, String)> {
        let project = self.repo.path().to_str().expect("temporary paths are UTF-8");
        let list = self.lore.json(&["comments", "list", "--json", "--limit", "500", "--project", project]);
        let text = |comment: &Value, field: &str| comment[field].as_str().unwrap_or_default().to_owned();
        let comments = list["comments"].as_array().expect("a list");
        comments.iter().map(|comment| (text(comment, "file"), text(comment, "comment"))).collect()
    }

    /// Files that are there because something was executed.
    fn executed(&self) -> Vec<PathBuf> {
        let mut found = Vec::new();
        let mut folders = vec![self.folder.path().to_owned(), self.lore.user_home().to_owned()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(folder).expect("it is a folder").map(|entry| entry.expect("it can be read")) {
                let is_folder = entry.file_type().expect("it has a type").is_dir();
                if entry.file_name() == "pwned" {
                    found.push(entry.path());
                } else if is_folder {
                    folders.push(entry.path());
                }
            }
        }
        found
    }
}

/// A shell with what lazygit passes on, which is not Lore's home.
#[expect(clippy::disallowed_methods, reason = "not git: the shell that lazygit starts")]
fn shell_at(shell: &str, home: &Path, folder: &Path) -> Command {
    let mut command = Command::new(shell);
    command.env_remove("LORE_HOME").env("HOME", home).env("SHELL", shell).current_dir(folder).stdin(Stdio::null());
    command
}

/// Fills a template in as lazygit does: `{{ VALUE | urlquery | quote }}`, where VALUE is a string, the file or the comment.
fn fill_in(template: &str, file: &str, comment: &str) -> String {
    let (mut out, mut rest) = (String::new(), template);
    while let Some((before, action)) = rest.split_once("{{ ") {
        out.push_str(before);
        let mut strings = serde_json::Deserializer::from_str(action).into_iter::<String>();
        let (value, end) = if action.starts_with('"') {
            let string = strings.next().expect("it begins one").expect("a string of Go that is one of JSON");
            (string, strings.byte_offset())
        } else {
            let name = action.split(' ').next().expect("there is a first word");
            let value = match name {
                ".SelectedPath" | ".SelectedCommitFilePath" => file,
                ".Form.Comment" => comment,
                other => panic!("lazygit has more names than this test: {other}"),
            };
            (value.to_owned(), name.len())
        };
        let action = &action[end..];
        let (value, action) = match action.strip_prefix(" | urlquery") {
            Some(action) => (urlquery(&value), action),
            None => (value, action),
        };
        out.push_str(&quote(&value));
        rest = action.strip_prefix(" | quote }}").expect("everything is quoted");
    }
    out + rest
}

/// What Go's templates make of a text for the query of an address.
fn urlquery(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b' ' => "+".to_owned(),
            byte if byte.is_ascii_alphanumeric() || b"-_.~".contains(&byte) => char::from(byte).to_string(),
            byte => format!("%{byte:02X}"),
        })
        .collect()
}

/// lazygit's `quote` where the shell is not that of Windows.
fn quote(text: &str) -> String {
    let mut out = String::from("\"");
    for c in text.chars() {
        if matches!(c, '\\' | '"' | '$' | '`') {
            out.push('\\');
        }
        out.push(c);
    }
    out + "\""
}

#[cfg(unix)]
#[test]
fn comments_arrive_through_lazygit_as_they_were_typed_and_nothing_is_executed() {
    let reviewer = Reviewer::new();
    let mut sent = Vec::new();
    for (number, comment) in COMMENTS.iter().enumerate() {
        for (next, (shell, entry)) in [("sh", 0), ("bash", 1), ("zsh", 0)].into_iter().enumerate() {
            // Another file each time: the same words about the same file would be one comment.
            let file = FILES[(number + next) % FILES.len()];
            let Some(ran) = reviewer.press(shell, entry, file, comment) else { continue };
            let said = format!("{}{}", String::from_utf8_lossy(&ran.stdout), String::from_utf8_lossy(&ran.stderr));
            assert!(ran.status.success(), "{shell}: {comment}: {said}");
            sent.push((file.to_owned(), (*comment).to_owned()));
        }
    }
    assert!(sent.len() >= 2 * COMMENTS.len(), "there are sh and bash");
    sent.reverse();
    assert_eq!(reviewer.comments(), sent);
    assert_eq!(reviewer.executed(), Vec::<PathBuf>::new());
}

/// lazygit's quoting is not right for these, so nothing that was typed may depend on it.
#[cfg(unix)]
#[test]
fn comments_arrive_through_shells_that_lazygit_does_not_quote_for() {
    let reviewer = Reviewer::with_program_in("bin");
    for (number, comment) in COMMENTS.iter().enumerate() {
        for (shell, file) in [("fish", FILES[number % 2]), ("tcsh", FILES[2 + number % 2])] {
            let Some(ran) = reviewer.press(shell, 0, file, comment) else { continue };
            assert!(ran.status.success(), "{shell}: {comment}: {}", String::from_utf8_lossy(&ran.stderr));
            assert_eq!(reviewer.comments()[0], (file.to_owned(), (*comment).to_owned()), "{shell}");
        }
    }
    assert_eq!(reviewer.executed(), Vec::<PathBuf>::new());
}

#[cfg(unix)]
#[test]
fn the_template_of_the_old_program_would_have_failed_this_test() {
    let reviewer = Reviewer::new();
    let file = reviewer.repo.path().join("pwned");
    let unquoted = "true --comment \"COMMENT\"".replace("COMMENT", COMMENTS[0]);
    let ran = shell_at("sh", reviewer.lore.user_home(), reviewer.repo.path()).args(["-c", &unquoted]).output();
    ran.expect("the shell can be started");
    assert_eq!(reviewer.executed(), [file]);
}

#[cfg(unix)]
#[test]
fn an_empty_comment_does_no_harm() {
    let reviewer = Reviewer::new();
    for comment in ["", " "] {
        let ran = reviewer.press("sh", 0, "src/a.rs", comment).expect("there is a shell");
        assert!(!ran.status.success(), "{comment:?} says nothing");
        assert!(!ran.stderr.is_empty(), "lazygit shows what was wrong");
    }
    assert_eq!(reviewer.comments(), []);
}

#[test]
fn setup_of_lazygit_says_what_does_not_apply() {
    let lore = Lore::new(Path::new(env!("CARGO_BIN_EXE_lore")));
    for (args, said) in [
        (&["setup", "lazygit", "--as", "climpt"][..], "`--as` does not apply to lazygit"),
        (&["setup", "lazygit", "--project"], "`--project` does not apply to lazygit"),
        (&["setup", "cursor", "--key", "<c-y>"], "`--key` does not apply to cursor"),
        (&["setup", "lazygit", "--key", "ctrl-y"], "lazygit knows no key `ctrl-y`"),
    ] {
        let output = lore.run(args);
        assert_eq!(output.status.code(), Some(2), "{args:?}: {}", output.stderr);
        assert!(output.stderr.contains(said), "{args:?}: {}", output.stderr);
    }
    let printed = lore.json(&["setup", "lazygit", "--print", "--json"]);
    assert!(printed["text"].as_str().is_some_and(|text| text.starts_with("customCommands:\n")), "{printed}");
    assert!(!lore.user_home().join(".config").exists(), "printing writes nothing");
    let changed = lore.json(&["setup", "lazygit", "--json"]);
    assert_eq!((&changed["host"], &changed["changed"]), (&"lazygit".into(), &true.into()));
    let doctor = lore.json(&["doctor", "--json"]).to_string();
    assert!(doctor.contains("lazygit runs ") && doctor.contains(" comment on <c-y>"), "{doctor}");
    assert_eq!(lore.json(&["setup", "lazygit", "--undo", "--json"])["changed"], true);
    assert!(!lore.user_home().join(".config").exists(), "nothing is left");
}

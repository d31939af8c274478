//! Opens a file in the user's editor at a line.

use std::{
    ffi::OsString,
    path::Path,
    process::{Command, ExitStatus},
};

use lore_model::{Code, Failure};

use crate::environment;

/// Opens the file in `$VISUAL` or `$EDITOR` and waits for its end.
///
/// No shell reads the variable: it is a program and its arguments, separated by spaces.
pub(crate) fn open(file: &Path, line: u32) -> Result<(), Failure> {
    let chosen = environment::variable("VISUAL").or_else(|| environment::variable("EDITOR"));
    let chosen = chosen.unwrap_or_else(|| "vi".to_owned());
    let mut words = chosen.split_whitespace();
    let program = words.next().unwrap_or("vi");
    let arguments = words.map(OsString::from).chain(place(program, file, line));
    match start(program, arguments.collect()) {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(Failure::new(Code::Internal, format!("the editor `{chosen}` ended with {status}"))),
        Err(error) => {
            Err(Failure::new(Code::InvalidConfig, format!("the editor `{chosen}` cannot be started: {error}"))
                .hint("set VISUAL or EDITOR to a program that is there"))
        }
    }
}

#[expect(clippy::disallowed_methods, reason = "the user's own editor, not git")]
fn start(program: &str, arguments: Vec<OsString>) -> std::io::Result<ExitStatus> {
    Command::new(program).args(arguments).status()
}

/// How an editor is told where to go.
fn place(program: &str, file: &Path, line: u32) -> Vec<OsString> {
    let name = Path::new(program).file_stem().unwrap_or_default().to_string_lossy().to_lowercase();
    let file = file.as_os_str().to_owned();
    let with_line = || {
        let mut place = file.clone();
        place.push(format!(":{line}"));
        place
    };
    match name.as_str() {
        "vi" | "vim" | "nvim" | "gvim" | "mvim" | "view" | "emacs" | "emacsclient" | "nano" | "micro" | "kak"
        | "joe" => {
            vec![format!("+{line}").into(), file]
        }
        "code" | "code-insiders" | "codium" | "vscodium" | "cursor" | "windsurf" => {
            vec!["--goto".into(), with_line()]
        }
        "zed" | "zeditor" | "subl" | "hx" | "helix" => vec![with_line()],
        "idea" | "clion" | "goland" | "pycharm" | "rustrover" | "webstorm" => {
            vec!["--line".into(), line.to_string().into(), file]
        }
        _ => vec![file],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_editor_is_told_in_its_own_way() {
        for (program, expected) in [
            ("vim", vec!["+7", "/a b.rs"]),
            ("/usr/bin/nano", vec!["+7", "/a b.rs"]),
            ("code", vec!["--goto", "/a b.rs:7"]),
            ("zed", vec!["/a b.rs:7"]),
            ("idea", vec!["--line", "7", "/a b.rs"]),
            ("my-own", vec!["/a b.rs"]),
        ] {
            assert_eq!(place(program, Path::new("/a b.rs"), 7), expected, "{program}");
        }
    }
}

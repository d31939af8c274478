//! Test binaries of many files: each file in a `tests/it` folder has to be a module of its `main.rs`, or it never runs.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, Result};

/// Files that no `mod` line names.
pub(super) fn check(root: &Path, files: &[PathBuf]) -> Result<Vec<String>> {
    let mut problems = Vec::new();
    for main in files.iter().filter(|file| file.ends_with("tests/it/main.rs")) {
        let text = fs::read_to_string(root.join(main)).with_context(|| format!("cannot read {}", main.display()))?;
        let folder = main.parent().unwrap_or(Path::new(""));
        let inside = files.iter().filter_map(|file| file.strip_prefix(folder).ok());
        problems.extend(
            unnamed(&text, inside)
                .map(|file| format!("{} is no module of {}", folder.join(file).display(), main.display())),
        );
    }
    let it = |file: &PathBuf| {
        file.components().collect::<PathBuf>().parent().is_some_and(|folder| folder.ends_with("tests/it"))
    };
    let orphans = files.iter().filter(|file| it(file) && !files.contains(&file.with_file_name("main.rs")));
    problems.extend(orphans.map(|file| format!("{} has no main.rs beside it", file.display())));
    Ok(problems)
}

fn unnamed<'a>(main: &'a str, files: impl Iterator<Item = &'a Path> + 'a) -> impl Iterator<Item = &'a Path> + 'a {
    files.filter(move |file| {
        // A folder is the module's business: only what lies directly here is looked at.
        let is_source = file.extension().is_some_and(|extension| extension == "rs") && file.components().count() == 1;
        let name = file.file_stem().unwrap_or_default().to_string_lossy();
        is_source && name != "main" && !main.lines().any(|line| declares(line, &name))
    })
}

fn declares(line: &str, name: &str) -> bool {
    let line = line.trim();
    let line = line.strip_prefix("pub(crate) ").or_else(|| line.strip_prefix("pub ")).unwrap_or(line);
    line.strip_prefix("mod ").and_then(|rest| rest.strip_suffix(';')).is_some_and(|found| found.trim() == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_without_a_mod_line_are_told() {
        let main = "mod add;\n#[cfg(unix)]\npub(crate) mod kill;\n// mod off;\nmod folder;\n";
        let files =
            ["main.rs", "add.rs", "kill.rs", "off.rs", "addition.rs", "folder/mod.rs", "notes.txt"].map(Path::new);
        let found: Vec<&Path> = unnamed(main, files.into_iter()).collect();
        assert_eq!(found, [Path::new("off.rs"), Path::new("addition.rs")]);
    }

    #[test]
    fn a_folder_without_main_is_told() {
        let files = [PathBuf::from("crates/a/tests/it/add.rs")];
        assert_eq!(
            check(Path::new("/nonexistent"), &files).unwrap(),
            ["crates/a/tests/it/add.rs has no main.rs beside it"]
        );
    }
}

//! How soon a changed file is found: over standard input and output while a server watches, and by a new process.

use std::{
    fs,
    path::{Path, PathBuf},
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, bail};
use lore_testkit::{Git, Session};
use serde_json::json;

/// Changes of files within this time are taken together, by the program's own rule.
pub(super) const DEBOUNCE: Duration = Duration::from_millis(500);

/// After this, a change counts as never seen.
const PATIENCE: Duration = Duration::from_secs(20);

/// Endings of source files, and how a comment begins there.
const COMMENTS: [(&str, &str); 12] = [
    (".rs", "//"),
    (".go", "//"),
    (".py", "#"),
    (".ts", "//"),
    (".js", "//"),
    (".java", "//"),
    (".c", "//"),
    (".cpp", "//"),
    (".cs", "//"),
    (".rb", "#"),
    (".php", "//"),
    (".kt", "//"),
];

/// A source file that is changed again and again: each time its last line is a word that is nowhere else.
pub(in crate::bench) struct Changing {
    /// Its path in the repository.
    pub(in crate::bench) path: String,
    file: PathBuf,
    content: Vec<u8>,
    comment: &'static str,
    number: usize,
}

impl Changing {
    /// A file of middling size.
    pub(in crate::bench) fn find(repo: &Path) -> Result<Self> {
        let listed = Git::at(repo).text(&["ls-files"])?;
        let mut sized: Vec<(u64, &str, &'static str)> = listed
            .lines()
            .filter_map(|path| {
                let (_, comment) = COMMENTS.iter().find(|(ending, _)| path.ends_with(ending))?;
                let about = fs::symlink_metadata(repo.join(path)).ok().filter(fs::Metadata::is_file)?;
                Some((about.len(), path, *comment))
            })
            .collect();
        sized.sort_unstable();
        let (_, path, comment) = sized.get(sized.len() / 2).context("there is no source file that could be changed")?;
        let file = repo.join(path);
        Ok(Self { path: (*path).to_owned(), content: fs::read(&file)?, file, comment, number: 0 })
    }

    /// Writes the file with another word at its end, and gives the word.
    pub(in crate::bench) fn change(&mut self) -> Result<String> {
        self.number += 1;
        // Letters only, so that no reader of words takes it apart.
        let digits: String = self.number.to_string().bytes().map(|digit| char::from(digit - b'0' + b'a')).collect();
        let word = format!("zyxwvq{digits}");
        let mut content = self.content.clone();
        content.extend_from_slice(format!("\n{} {word} {word}\n", self.comment).as_bytes());
        fs::write(&self.file, content)?;
        Ok(word)
    }
}

/// From the write to the first answer that names the file.
pub(super) fn over_stdio(session: &mut Session, changing: &mut Changing) -> Result<Duration> {
    let word = changing.change()?;
    let written = Instant::now();
    while written.elapsed() < PATIENCE {
        let answer = session.call("cortex_search", &json!({"query": word, "limit": 3}))?;
        if answer.text.contains(&word) && answer.text.contains(&changing.path) {
            return Ok(written.elapsed());
        }
    }
    bail!("a change of {} was not found within {} s", changing.path, PATIENCE.as_secs())
}

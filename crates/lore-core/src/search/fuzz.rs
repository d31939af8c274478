//! Entry points of private parsers for `lore-fuzz`, behind the feature `fuzzing`.

use lore_model::{Cancel, Failure, RepoId, RepoPath};
use lore_store::TextPlan;

use super::{
    FileFilter, LinesWanted, chunk_files,
    filter::Files,
    lines::{Terms, pattern::Pattern},
    query::Query,
};

/// The chunks of a chunk file, each with its vector where that can be used, and how many could not be read.
pub fn chunk_file(bytes: &[u8], model: &str) -> Result<chunk_files::Parsed, String> {
    chunk_files::parsed(bytes, model)
}

/// Whether a filter lets a file pass.
pub fn admits(filter: &FileFilter, path: &RepoPath, language: &str) -> Result<bool, Failure> {
    Files::new(filter).map(|files| files.admits(RepoId(0), path, language))
}

/// What a text must contain for an expression to match.
pub fn plan(expression: &str, case_sensitive: bool) -> Result<TextPlan, Failure> {
    Pattern::regex(expression, case_sensitive).map(|pattern| pattern.plan)
}

/// The words of a question that count.
pub fn query_words(text: &str) -> Vec<String> {
    Query::new(text).words.into_iter().map(|word| word.token).collect()
}

/// The numbers of the lines of a text that have what is wanted, from 0.
pub fn lines(wanted: &LinesWanted, case_sensitive: bool, text: &[u8]) -> Result<Vec<usize>, Failure> {
    let found = Terms::new(wanted, case_sensitive)?.lines(text, &Cancel::default()).unwrap_or_default();
    Ok(found.into_iter().map(|found| found.line.number).collect())
}

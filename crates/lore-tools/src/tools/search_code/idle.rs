//! Arguments that count for nothing in a question: each is named, with what it needs to count. One that is left at its default
//! is not spoken of.

use super::{ACCURACY, Input, MIN_SCORE, Mode, SNIPPET_LINES, past, past::ChunkType};

/// What is said of them.
pub(super) fn notes(input: &Input, mode: Mode, chunk_type: Option<ChunkType>) -> Vec<String> {
    let mut notes = Vec::new();
    let mut note = |holds: bool, text: &str| {
        if holds {
            notes.push(text.to_owned());
        }
    };
    let is_on = |flag: Option<bool>| flag == Some(true);
    let is_given = |text: &Option<String>| text.as_ref().is_some_and(|text| !text.trim().is_empty());
    let has_snippet = input.snippet_lines.is_some_and(|lines| lines != SNIPPET_LINES);
    let is_message = chunk_type == Some(ChunkType::Message);
    // Changed code is found by meaning like other code.
    let is_commits = is_message || (chunk_type.is_some() && mode != Mode::Semantic);

    for (name, is_given) in [
        ("case_sensitive", is_on(input.case_sensitive)),
        ("fuzzy", is_on(input.fuzzy)),
        ("regex", is_on(input.regex)),
        ("snippet_lines", has_snippet),
    ] {
        let said = format!("{name} counts only with search_mode fts or hybrid");
        note(mode == Mode::Semantic && is_given, &said);
    }
    let has_accuracy = input.accuracy.as_deref().is_some_and(|word| !["", ACCURACY].contains(&word.trim()));
    let has_score = input.min_score.is_some_and(|score| score > 0.0 && (score - MIN_SCORE).abs() > f64::EPSILON);
    for (name, is_given) in [("min_score", has_score), ("accuracy", has_accuracy)] {
        let said = format!("{name} counts only for results by meaning: search_mode semantic or hybrid");
        note(mode == Mode::Fts && is_given, &said);
    }
    match (input.edit_distance, is_on(input.fuzzy)) {
        (Some(1..), false) => note(true, "edit_distance counts only with fuzzy"),
        (Some(0), true) => note(true, "edit_distance 0 is taken for 1 with fuzzy: leave fuzzy out for exact words"),
        _ => {}
    }
    note(
        is_on(input.time_range_all) && is_given(&input.time_range),
        "time_range_all counts only without time_range, which says which time is meant",
    );
    note(
        is_on(input.include_removed) && is_given(&input.at_commit),
        "include_removed counts only without at_commit: every file of the commit is searched",
    );
    note(
        input.evolution_limit.is_some_and(|limit| limit != past::STEPS) && !is_on(input.show_evolution),
        "evolution_limit counts only with show_evolution",
    );
    note(
        !is_message && input.diff_type.as_deref().is_some_and(|kinds| kinds.to_lowercase().contains("binary")),
        "binary files have no text: of code and lines, diff_type binary finds nothing",
    );
    if is_commits {
        let code = [("show_evolution", is_on(input.show_evolution)), ("include_removed", is_on(input.include_removed))];
        let names: Vec<&str> = code.into_iter().filter(|(_, is_given)| *is_given).map(|(name, _)| name).collect();
        let verb = if names.len() == 1 { "counts" } else { "count" };
        note(!names.is_empty(), &format!("{} {verb} only for code, not for commits", names.join(" and ")));
    }
    if is_message {
        note(
            mode != Mode::Semantic && has_snippet,
            "a commit message is shown whole: snippet_lines counts only for code and commit_diff",
        );
        let files = [&input.language, &input.exclude_language, &input.path_filter, &input.exclude_path];
        note(
            files.into_iter().any(is_given) || !input.file_extensions.is_empty(),
            "a commit message has no path: filters by path, language and extension count only for code and commit_diff",
        );
    }
    note(
        chunk_type == Some(ChunkType::Diff) && mode == Mode::Hybrid,
        "hybrid looks for lines of diffs; changed code is found by meaning with search_mode semantic",
    );
    notes
}

//! `lore grep`: lines, with the options that people know from grep. The search is that of `lore search --regex`.

use std::{path::PathBuf, process::ExitCode};

use lore_core::search::{FileFilter, LinesRequest, LinesWanted, When};
use lore_model::{Code, Failure};

use super::{
    Context,
    search::{
        lines::{self, Asked, Shown},
        ready::{self, Scope},
    },
};
use crate::environment;

/// What stands for the letters of an expression where they are meant as they are.
const SPECIAL: &str = r"\.+*?()|[]{}^$#&-~";

/// Search lines with the options of grep
///
/// Every line that a regular expression matches (the syntax of Rust's regex crate), from the index, in order of files and lines. The
/// repository you are in is searched, uncommitted files included; others with --all-repos or --repo; outside a repository, all that
/// are registered. What is not indexed is not found: `lore status --left-out` lists it.
///
/// Capital letters differ from small ones unless -i is given. The exit code is 1 where no line matches.
#[derive(clap::Args)]
#[command(
    after_help = "Examples:\n  lore grep 'fn \\w+_lock\\('\n  lore grep -i -w todo src\n  lore grep -F 'a[0]' -g '*.rs' -g '!tests/'\n  lore grep -l -e unwrap -e expect\n  lore grep -C 2 'impl Drop' --all-repos\n  lore grep -c TODO --json"
)]
pub(crate) struct Args {
    /// What lines are to match, and behind it files and folders to search; with -e, all of these are files and folders
    #[arg(value_name = "PATTERN|PATH", required_unless_present = "regexp")]
    words: Vec<String>,
    /// What lines are to match (repeated: one of them)
    #[arg(long, short = 'e', value_name = "PATTERN")]
    regexp: Vec<String>,
    /// Patterns are texts, and no regular expressions
    #[arg(long, short = 'F')]
    fixed_strings: bool,
    /// Capital letters are like small ones
    #[arg(long, short = 'i')]
    ignore_case: bool,
    /// Only whole words
    #[arg(long, short = 'w')]
    word_regexp: bool,
    /// Print only the names of files that have it
    #[arg(long, short = 'l', conflicts_with = "count")]
    files_with_matches: bool,
    /// Print only how many lines of each file have it
    #[arg(long, short = 'c')]
    count: bool,
    /// Print so many lines after each as well
    #[arg(long, short = 'A', value_name = "LINES")]
    after_context: Option<usize>,
    /// Print so many lines before each as well
    #[arg(long, short = 'B', value_name = "LINES")]
    before_context: Option<usize>,
    /// Print so many lines before and after each as well
    #[arg(long, short = 'C', value_name = "LINES", default_value_t = 0)]
    context: usize,
    /// Only files whose path fits this glob; with a `!` in front, all but these (may be repeated)
    #[arg(long, short = 'g', visible_alias = "include", value_name = "GLOB")]
    glob: Vec<String>,
    /// Only files in this language, by name or extension (may be repeated)
    #[arg(long = "lang", short = 't', visible_alias = "type", value_name = "LANGUAGE")]
    lang: Vec<String>,
    /// Only this repository, `.` for the one you are in (may be repeated)
    #[arg(long, value_name = "NAME")]
    repo: Vec<String>,
    /// Every registered repository
    #[arg(long, conflicts_with = "repo")]
    all_repos: bool,
    /// At most so many lines; 0 for all
    #[arg(long, value_name = "NUMBER", default_value_t = 0)]
    limit: usize,
    /// Answer from the index as it is
    #[arg(long)]
    no_sync: bool,
    /// Every pattern that is not a text is a regular expression of one syntax
    #[arg(long = "extended-regexp", short = 'E', visible_short_alias = 'P', hide = true)]
    _extended_regexp: bool,
    /// Numbers of lines are printed, and folders searched, in any case
    #[arg(long = "line-number", short = 'n', hide = true)]
    _line_number: bool,
    #[arg(long = "recursive", short = 'r', visible_short_alias = 'R', hide = true)]
    _recursive: bool,
}

impl Args {
    /// Whether only the repository the user stands in is meant.
    pub(super) fn is_about_here(&self) -> bool {
        !self.all_repos && (self.repo.is_empty() || super::names_here(&self.repo))
    }

    /// The patterns, and the files and folders.
    fn split(&self) -> (&[String], &[String]) {
        if self.regexp.is_empty() { self.words.split_at(1) } else { (&self.regexp, &self.words) }
    }

    fn wanted(&self, patterns: &[String]) -> LinesWanted {
        if let ([text], true, false) = (patterns, self.fixed_strings, self.word_regexp) {
            return LinesWanted::Literal(text.clone());
        }
        let one = |pattern: &String| if self.fixed_strings { escaped(pattern) } else { pattern.clone() };
        let all = match patterns {
            [pattern] => one(pattern),
            many => many.iter().map(|pattern| format!("(?:{})", one(pattern))).collect::<Vec<_>>().join("|"),
        };
        // As git has it: what stands at both ends is no part of a word, whether or not the match begins or ends with one.
        LinesWanted::Regex(if self.word_regexp { format!(r"\b{{start-half}}(?:{all})\b{{end-half}}") } else { all })
    }

    fn files(&self, paths: Vec<String>) -> FileFilter {
        let (not, only): (Vec<&String>, Vec<&String>) = self.glob.iter().partition(|glob| glob.starts_with('!'));
        FileFilter {
            languages: self.lang.clone(),
            paths: only.into_iter().cloned().collect(),
            globs: paths,
            not_globs: not.into_iter().flat_map(|glob| anywhere(&glob[1..])).collect(),
            ..FileFilter::default()
        }
    }
}

pub(super) fn run(context: &Context<'_>, args: &Args) -> Result<ExitCode, Failure> {
    let (patterns, paths) = args.split();
    if context.verbose {
        return Err(Failure::new(
            Code::InvalidArgument,
            "-v cannot be used: lines that do not match cannot be searched for",
        )
        .hint("to log more, set LORE_LOG=debug"));
    }
    let scope = Scope { repos: &args.repo, all_repos: args.all_repos, no_sync: args.no_sync };
    let before = args.before_context.unwrap_or(args.context);
    let after = args.after_context.unwrap_or(args.context);
    let shown = if args.files_with_matches {
        Shown::Files
    } else if args.count {
        Shown::Counts
    } else {
        Shown::InOrder { before, after }
    };
    let names_only = matches!(shown, Shown::Files | Shown::Counts);
    let request = LinesRequest {
        wanted: args.wanted(patterns),
        case_sensitive: !args.ignore_case,
        files: args.files(below(context, &scope, paths)?),
        repos: Vec::new(),
        when: When::Now,
        limit: args.limit,
        context: if names_only { 0 } else { before.max(after) },
        once: shown == Shown::Files,
        best: false,
        time: lines::TIME,
    };
    let query = patterns.join("\n");
    let hint = if args.ignore_case { "" } else { "; -i ignores case" };
    let asked = Asked { query: &query, scope, evolution: None, shown, hint };
    let found = lines::run(context, &asked, request)?;
    Ok(if found == 0 { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// Files and folders as the user names them, as the repository has them.
fn below(context: &Context<'_>, scope: &Scope<'_>, paths: &[String]) -> Result<Vec<String>, Failure> {
    if paths.is_empty() {
        return Ok(Vec::new());
    }
    let here = environment::working_directory();
    let wanted = ready::find(context, scope)?;
    let roots: Vec<PathBuf> = wanted.iter().filter_map(ready::Wanted::work_tree).collect();
    let roots: Vec<PathBuf> = roots.iter().map(|root| root.canonicalize().unwrap_or_else(|_| root.clone())).collect();
    paths
        .iter()
        .map(|path| {
            let whole = here.join(path);
            let whole = whole.canonicalize().map_err(|error| {
                Failure::new(Code::InvalidArgument, format!("{path} cannot be searched: {error}"))
                    .hint("-g GLOB chooses files by their path in the repository, whether or not they are there")
            })?;
            let inside = roots.iter().find_map(|root| whole.strip_prefix(root).ok());
            let inside = inside.ok_or_else(|| {
                Failure::new(Code::InvalidArgument, format!("{path} is not in a repository that is searched"))
                    .hint("name the repository with --repo, or search them all with --all-repos")
            })?;
            Ok(literal(&inside.to_string_lossy()))
        })
        .collect()
}

/// A glob that fits this path alone.
fn literal(path: &str) -> String {
    let mut glob = String::new();
    for c in path.chars() {
        if "*?[]{}!\\".contains(c) { glob.extend(['[', c, ']']) } else { glob.push(c) }
    }
    if glob.is_empty() { "**".to_owned() } else { glob }
}

/// Globs for whole paths: one that names no folder is about files and folders in any.
fn anywhere(glob: &str) -> Vec<String> {
    let mut globs = vec![glob.to_owned()];
    if !glob.trim_end_matches('/').contains('/') {
        globs.push(format!("*/{glob}"));
    }
    globs
}

/// An expression that matches this text alone.
fn escaped(text: &str) -> String {
    let mut expression = String::new();
    for c in text.chars() {
        if SPECIAL.contains(c) {
            expression.push('\\');
        }
        expression.push(c);
    }
    expression
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_and_globs_mean_what_they_say() {
        assert_eq!(literal("src/[slug]/a*.rs"), "src/[[]slug[]]/a[*].rs");
        assert_eq!(literal(""), "**");
        assert_eq!(anywhere("tests/"), ["tests/", "*/tests/"]);
        assert_eq!(anywhere("src/*.rs"), ["src/*.rs"]);
        assert_eq!(escaped("a[0].b"), r"a\[0\]\.b");
    }
}

//! What may be an answer: files by language, path and extension, chunks by kind, symbol and tag.

use std::{borrow::Cow, path::PathBuf};

use globset::{Glob, GlobSet, GlobSetBuilder};
use lore_model::{ChunkKind, Code, Failure, Repo, RepoId, RepoPath, SymbolKind, brief, closest};
use lore_store::{BlobRecord, ChunkId, Entry, ViewFile};

use super::answer::{CodeRequest, tags};

/// Longer filters by path are refused: nobody writes them, and each character costs.
const MAX_PATH: usize = 1 << 10;

/// How deep braces of a glob may be nested: each level is a call within a call when it is parsed.
const MAX_DEPTH: usize = 16;

/// Which files may be answers; the default is all. Everything that is given has to hold.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FileFilter {
    /// In one of these languages, named or by an extension; empty for all.
    pub languages: Vec<String>,
    /// In none of these languages.
    pub not_languages: Vec<String>,
    /// Whose path fits one of these: globs, or parts of paths; empty for all.
    pub paths: Vec<String>,
    /// Whose whole path fits one of these globs, in which `*` crosses `/` and a `*/` at the beginning may be nothing, or which
    /// lie in a folder of that name; empty for all.
    pub globs: Vec<String>,
    /// Whose whole path fits none of these globs, and which lie in no folder of that name.
    pub not_globs: Vec<String>,
    /// Whose name ends like this; empty for all.
    pub extensions: Vec<String>,
}

/// A [`FileFilter`] that was understood.
pub(super) struct Files {
    wanted: FileFilter,
    languages: Vec<String>,
    not_languages: Vec<String>,
    loose: GlobSet,
    parts_of_paths: Vec<String>,
    globs: Option<GlobSet>,
    not_globs: Option<GlobSet>,
    extensions: Vec<String>,
    /// What paths begin with, of repositories that are parts of a composite.
    prefixes: Vec<(RepoId, String)>,
}

impl Files {
    pub(super) fn new(wanted: &FileFilter) -> Result<Self, Failure> {
        let mut loose = GlobSetBuilder::new();
        let mut parts_of_paths = Vec::new();
        for path in &wanted.paths {
            if path.contains(WILD) {
                loose.add(glob(path, path.trim_start_matches("./"))?);
            } else {
                check_glob(path)?;
            }
            // A folder may really be called `[slug]`.
            parts_of_paths.push(path.trim_start_matches("./").to_lowercase());
        }
        let extension =
            |text: &String| format!(".{}", text.trim().trim_start_matches('*').trim_start_matches('.').to_lowercase());
        Ok(Self {
            wanted: wanted.clone(),
            languages: languages(&wanted.languages)?,
            not_languages: languages(&wanted.not_languages)?,
            loose: built(&loose)?,
            parts_of_paths,
            globs: whole_paths(&wanted.globs)?,
            not_globs: whole_paths(&wanted.not_globs)?,
            extensions: wanted.extensions.iter().map(extension).filter(|end| end.len() > 1).collect(),
            prefixes: Vec::new(),
        })
    }

    /// The same for files of these repositories.
    pub(super) fn of(mut self, repos: &[(Repo, Option<PathBuf>)]) -> Self {
        self.prefixes = prefixes(repos.iter().map(|(repo, _)| repo));
        self
    }

    /// Which filters no file matches, each as a sentence: an empty answer must not look like absent code.
    pub(super) fn unmatched(&self, files: &[ViewFile]) -> Vec<String> {
        if files.is_empty() || self.is_any() {
            return Vec::new();
        }
        let matches = |wanted: FileFilter| {
            let one = Self::new(&wanted).map(|one| Self { prefixes: self.prefixes.clone(), ..one });
            one.is_ok_and(|one| files.iter().any(|file| one.admits(file.repo, &file.path, &file.language)))
        };
        let one = |text: &str| vec![text.to_owned()];
        let mut notes = Vec::new();
        for language in &self.wanted.languages {
            if !matches(FileFilter { languages: one(language), ..FileFilter::default() }) {
                notes.push(format!("no indexed file is in the language `{}`", brief(language)));
            }
        }
        let extensions = &self.wanted.extensions;
        if !self.extensions.is_empty()
            && !matches(FileFilter { extensions: extensions.clone(), ..FileFilter::default() })
        {
            let list: Vec<String> = extensions.iter().map(|end| format!("`{}`", brief(end))).collect();
            notes.push(format!("no indexed file ends with {}", list.join(" or ")));
        }
        let in_path = |text: &str| matches(FileFilter { paths: one(text), ..FileFilter::default() });
        let as_glob = |text: &str| matches(FileFilter { globs: one(text), ..FileFilter::default() });
        let is_used = |text: &&String| !text.trim().is_empty();
        let of_paths = self.wanted.paths.iter().filter(is_used).map(|text| unmatched_path(text, &in_path));
        let of_globs = self.wanted.globs.iter().filter(is_used).map(|text| unmatched_path(text, &as_glob));
        notes.extend(of_paths.chain(of_globs).flatten());
        if notes.is_empty() && !files.iter().any(|file| self.admits(file.repo, &file.path, &file.language)) {
            notes.push("no indexed file matches all of the filters".to_owned());
        }
        notes
    }

    /// Whether it leaves anything out.
    pub(super) fn is_any(&self) -> bool {
        self.languages.is_empty()
            && self.not_languages.is_empty()
            && self.parts_of_paths.is_empty()
            && self.globs.is_none()
            && self.not_globs.is_none()
            && self.extensions.is_empty()
    }

    pub(super) fn admits(&self, repo: RepoId, path: &RepoPath, language: &str) -> bool {
        let is_named = |wanted: &String| wanted == language || Some(wanted.as_str()) == dialect_of(language);
        if !self.languages.is_empty() && !self.languages.iter().any(is_named) {
            return false;
        }
        if self.not_languages.iter().any(is_named) {
            return false;
        }
        let prefix = self.prefixes.iter().find(|(known, _)| *known == repo);
        let path = match prefix {
            Some((_, prefix)) => Cow::Owned(format!("{prefix}{}", path.to_text())),
            None => path.to_text(),
        };
        let fits = |globs: &Option<GlobSet>| globs.as_ref().map(|globs| globs.is_match(&*path));
        if fits(&self.globs) == Some(false) || fits(&self.not_globs) == Some(true) {
            return false;
        }
        if self.parts_of_paths.is_empty() && self.extensions.is_empty() {
            return true;
        }
        let lower = path.to_lowercase();
        (self.extensions.is_empty() || self.extensions.iter().any(|end| lower.ends_with(end.as_str())))
            && (self.parts_of_paths.is_empty()
                || self.loose.is_match(&*path)
                || self.parts_of_paths.iter().any(|part| lower.contains(part.as_str())))
    }
}

/// What is said of a path that matches no file, with one that does where that is near.
fn unmatched_path(text: &str, matches: &dyn Fn(&str) -> bool) -> Option<String> {
    /// How many leading folders of an absolute path are stripped to find a path inside the repository.
    const FOLDERS: usize = 16;
    if matches(text) {
        return None;
    }
    let trimmed = text.trim().trim_start_matches("./").trim_start_matches('/');
    let anywhere = (!trimmed.starts_with('*')).then(|| format!("*/{trimmed}"));
    let below = trimmed.match_indices('/').take(FOLDERS).map(|(at, _)| trimmed[at + 1..].to_owned());
    let near = anywhere.into_iter().chain(below).find(|other| other.len() > 1 && matches(other));
    let note = format!("no indexed path matches `{}`", brief(text));
    Some(match near {
        Some(near) => format!("{note}; `{}` matches some", brief(&near)),
        None => note,
    })
}

/// What the paths of these repositories begin with, where that is more than nothing.
pub(crate) fn prefixes<'a>(repos: impl IntoIterator<Item = &'a Repo>) -> Vec<(RepoId, String)> {
    let mounted = repos.into_iter().filter(|repo| repo.mount.is_some());
    mounted.map(|repo| (repo.id, repo.prefix())).collect()
}

/// What makes a path a pattern.
const WILD: [char; 4] = ['*', '?', '[', '{'];

fn languages(names: &[String]) -> Result<Vec<String>, Failure> {
    names.iter().map(|name| language_named(name)).collect()
}

fn built(globs: &GlobSetBuilder) -> Result<GlobSet, Failure> {
    globs.build().map_err(|error| Failure::new(Code::InvalidArgument, error.to_string()))
}

/// Globs over whole paths; `None` where there are none.
fn whole_paths(globs: &[String]) -> Result<Option<GlobSet>, Failure> {
    let mut set = GlobSetBuilder::new();
    let mut count = 0;
    for text in globs.iter().filter(|text| !text.trim().is_empty()) {
        let path = text.trim().trim_start_matches("./").trim_start_matches('/').trim_end_matches('/');
        // The root is everything.
        let path = if path.is_empty() || path == "." { "**" } else { path };
        set.add(glob(text, path)?);
        // Whoever names a folder means what is in it.
        set.add(glob(text, &format!("{path}/**"))?);
        if let Some(rest) = path.strip_prefix("*/") {
            set.add(glob(text, rest)?);
        }
        count += 1;
    }
    (count > 0).then(|| built(&set)).transpose()
}

/// A pattern, which was written as `text`.
fn glob(text: &str, pattern: &str) -> Result<Glob, Failure> {
    check_glob(text)?;
    Glob::new(pattern).map_err(|error| invalid_glob(text, &error.kind().to_string()))
}

fn check_glob(text: &str) -> Result<(), Failure> {
    if text.len() > MAX_PATH {
        return Err(invalid_glob(text, &format!("it is longer than {MAX_PATH} bytes")));
    }
    if brace_depth(text) > MAX_DEPTH {
        return Err(invalid_glob(text, &format!("its braces are nested deeper than {MAX_DEPTH}")));
    }
    Ok(())
}

fn invalid_glob(text: &str, why: &str) -> Failure {
    Failure::new(Code::InvalidArgument, format!("path `{}` is not a valid glob: {why}", brief(text)))
        .hint("use for example `src/**/*.rs`, or a part of a path without wildcards")
}

/// What may be an answer.
pub(super) struct Filter {
    chunk_kinds: Vec<ChunkKind>,
    symbols: Vec<SymbolKind>,
    /// Of each, one spelling has to be there.
    tags: Vec<Vec<String>>,
    files: Files,
}

impl Filter {
    pub(super) fn new(request: &CodeRequest) -> Result<Self, Failure> {
        Ok(Self {
            chunk_kinds: request.chunk_kinds.clone(),
            symbols: request.symbols.clone(),
            tags: request.tags.iter().map(|tag| spellings(tag)).filter(|tag| !tag.is_empty()).collect(),
            files: Files::new(&request.files)?.of(&request.repos),
        })
    }

    pub(super) fn filters_files(&self) -> bool {
        !self.files.is_any()
    }

    /// Which filters no file matches, each as a sentence.
    pub(super) fn unmatched(&self, files: &[ViewFile]) -> Vec<String> {
        self.files.unmatched(files)
    }

    pub(super) fn filters_entries(&self) -> bool {
        !self.chunk_kinds.is_empty() || !self.symbols.is_empty() || !self.tags.is_empty()
    }

    pub(super) fn admits_file(&self, repo: RepoId, path: &RepoPath, language: &str) -> bool {
        self.files.admits(repo, path, language)
    }

    pub(super) fn admits(&self, record: &BlobRecord<ChunkId>, entry: &Entry<ChunkId>, path: &RepoPath) -> bool {
        if !self.chunk_kinds.is_empty() && !self.chunk_kinds.contains(&entry.kind) {
            return false;
        }
        if !self.symbols.is_empty() && !entry.symbol.is_some_and(|symbol| self.symbols.contains(&symbol)) {
            return false;
        }
        self.tags.is_empty() || self.has_tags(&tags(record, entry, path))
    }

    /// Whether all tags that are wanted are among these.
    pub(super) fn has_tags(&self, tags: &[String]) -> bool {
        let has = |wanted: &Vec<String>| tags.iter().any(|tag| wanted.contains(&tag.to_lowercase()));
        self.tags.iter().all(has)
    }

    /// Whether the same text in another file may be no answer.
    pub(super) fn depends_on_path(&self) -> bool {
        !self.tags.is_empty()
    }
}

fn brace_depth(glob: &str) -> usize {
    let (mut depth, mut deepest) = (0_usize, 0);
    for byte in glob.bytes() {
        match byte {
            b'{' => depth += 1,
            b'}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        deepest = deepest.max(depth);
    }
    deepest
}

/// What languages are called beside their names, where no extension says it.
///
/// As tags only these count: an extension may well be the name of a folder (`service`, `env`).
const ALIASES: [(&str, &str); 22] = [
    ("adoc", "asciidoc"),
    ("c#", "csharp"),
    ("c++", "cpp"),
    ("cs", "csharp"),
    ("cxx", "cpp"),
    ("golang", "go"),
    ("js", "javascript"),
    ("jsx", "javascript"),
    ("kt", "kotlin"),
    ("md", "markdown"),
    ("py", "python"),
    ("python3", "python"),
    ("rb", "ruby"),
    ("rs", "rust"),
    ("rst", "restructuredtext"),
    ("sh", "bash"),
    ("shell", "bash"),
    ("terraform", "hcl"),
    ("tf", "hcl"),
    ("ts", "typescript"),
    ("txt", "text"),
    ("yml", "yaml"),
];

fn alias(name: &str) -> Option<&'static str> {
    ALIASES.iter().find(|(alias, _)| *alias == name).map(|(_, language)| *language)
}

/// The language that this one is a form of, whose files are its own too.
pub(super) fn dialect_of(language: &str) -> Option<&'static str> {
    (language == "tsx").then_some("typescript")
}

/// How a wanted tag may be spelled: as it was given, and as the language that it names. Nothing for an empty one.
fn spellings(tag: &str) -> Vec<String> {
    let tag = tag.trim().trim_start_matches('#').to_lowercase();
    if tag.is_empty() {
        return Vec::new();
    }
    let language = alias(&tag).map(str::to_owned);
    std::iter::once(tag).chain(language).collect()
}

/// A language by its name or an extension.
fn language_named(text: &str) -> Result<String, Failure> {
    let lower = text.trim().trim_start_matches('.').to_lowercase();
    let known = lore_chunk::Language::named(&lower)
        .or_else(|| alias(&lower).and_then(lore_chunk::Language::named))
        .or_else(|| lore_chunk::Language::of_extension(&lower));
    if let Some(language) = known {
        return Ok(language.name().to_owned());
    }
    let names: Vec<&str> = lore_chunk::Language::ALL.iter().map(|language| language.name()).collect();
    let failure = Failure::new(Code::InvalidArgument, format!("`{}` is no language that Lore knows", brief(text)));
    Err(match closest(&lower, names.iter().copied()) {
        Some(near) => failure.hint(format!("did you mean `{near}`?")),
        None => failure.hint(format!("known are: {}", names.join(", "))),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn filter(change: impl FnOnce(&mut CodeRequest)) -> Result<Filter, Failure> {
        let mut request = CodeRequest::new("x", Vec::new());
        change(&mut request);
        Filter::new(&request)
    }

    fn path_filter(path: &str) -> Result<Filter, Failure> {
        filter(|request| request.files.paths = vec![path.to_owned()])
    }

    #[test]
    fn globs_that_would_be_parsed_for_ever_are_refused() {
        for path in ["{".repeat(100_000), "{".repeat(17), "*".repeat(1025), "a".repeat(1025)] {
            let failure = path_filter(&path).err().map(|failure| (failure.code, failure.message));
            let (code, message) = failure.unwrap_or_else(|| panic!("{} is taken", brief(&path)));
            assert!(code == Code::InvalidArgument && message.len() < 300, "{message}");
        }
        let nested = format!("src/{}a{}", "{".repeat(16), "}".repeat(16));
        assert!(path_filter(&nested).is_ok());
    }

    #[test]
    fn a_path_with_wildcards_is_also_taken_as_it_stands() {
        let admits =
            |glob: &str, path: &str| path_filter(glob).unwrap().admits_file(RepoId(1), &RepoPath::from(path), "tsx");
        assert!(admits("app/[slug]/page.tsx", "web/app/[slug]/page.tsx"));
        assert!(admits("app/[slug]/page.tsx", "app/s/page.tsx"), "and as a glob");
        assert!(!admits("app/[slug]/page.tsx", "app/x/page.tsx"));
        assert!(admits("App/", "web/app/page.tsx"));
    }

    #[test]
    fn of_a_composite_the_whole_path_counts() {
        let admits = |wanted: FileFilter, repo: i64, path: &str| {
            let mut files = Files::new(&wanted).unwrap();
            files.prefixes = vec![(RepoId(1), "web/".to_owned()), (RepoId(2), "api/".to_owned())];
            files.admits(RepoId(repo), &RepoPath::from(path), "rust")
        };
        let glob = |text: &str| FileFilter { globs: vec![text.to_owned()], ..FileFilter::default() };
        let not_glob = |text: &str| FileFilter { not_globs: vec![text.to_owned()], ..FileFilter::default() };
        for (text, web, api) in [
            ("web/src/a.rs", true, false),
            ("web", true, false),
            ("web/*", true, false),
            ("*/src/*", true, true),
            ("src/*", false, false),
            ("**/a.rs", true, true),
        ] {
            assert_eq!((admits(glob(text), 1, "src/a.rs"), admits(glob(text), 2, "src/a.rs")), (web, api), "{text}");
            let kept = (admits(not_glob(text), 1, "src/a.rs"), admits(not_glob(text), 2, "src/a.rs"));
            assert_eq!(kept, (!web, !api), "not {text}");
        }
        assert!(!admits(glob("web/*"), 2, "web/a.rs"), "a folder of another repository is none of the composite");
        assert!(admits(glob("src/*"), 3, "src/a.rs"), "others stand by themselves");
    }

    #[test]
    fn languages_are_known_by_all_their_names() {
        let admits = |lang: &str, language: &str| {
            let filter = filter(|request| request.files.languages = vec![lang.to_owned()]).unwrap();
            filter.admits_file(RepoId(1), &RepoPath::from("a"), language)
        };
        for (lang, language) in [
            ("golang", "go"),
            ("ts", "typescript"),
            ("typescript", "tsx"),
            ("tsx", "tsx"),
            ("C++", "cpp"),
            ("c#", "csharp"),
            ("shell", "bash"),
            (".yml", "yaml"),
            ("jsx", "javascript"),
        ] {
            assert!(admits(lang, language), "{lang} {language}");
        }
        assert!(!admits("tsx", "typescript"));
        for (_, language) in ALIASES {
            assert!(lore_chunk::Language::named(language).is_some(), "{language}");
        }
        let has = |wanted: &[&str], tags: &[&str]| {
            let filter = filter(|request| request.tags = wanted.iter().map(|tag| (*tag).to_owned()).collect()).unwrap();
            filter.has_tags(&tags.iter().map(|tag| (*tag).to_owned()).collect::<Vec<_>>())
        };
        assert!(has(&["golang", "Auth", "", " ", "#"], &["go", "auth"]));
        assert!(has(&["sh"], &["sh"]) && has(&["sh"], &["bash"]) && has(&["cobol"], &["COBOL"]));
        assert!(!has(&["golang", "auth"], &["go"]) && !has(&["env"], &["config"]));
    }

    #[test]
    fn globs_of_whole_paths_cross_folders_and_begin_at_the_root() {
        let admits = |glob: &str, path: &str| {
            let [one, not] = [false, true].map(|not| {
                let globs = vec![glob.to_owned()];
                let wanted = if not {
                    FileFilter { not_globs: globs, ..FileFilter::default() }
                } else {
                    FileFilter { globs, ..FileFilter::default() }
                };
                Files::new(&wanted).unwrap().admits(RepoId(1), &RepoPath::from(path), "python")
            });
            assert_ne!(one, not, "{glob} {path}");
            one
        };
        for (glob, path) in [
            ("*/tests/*", "tests/a.py"),
            ("*/tests/*", "src/tests/deep/a.py"),
            ("*/src/**/*.py", "src/a/b.py"),
            ("**/models/*.py", "models/a.py"),
            ("*.min.js", "web/a.min.js"),
            ("src/auth", "src/auth/login.py"),
            ("src/auth/", "src/auth/login.py"),
            ("a?.[ch]", "ab.c"),
        ] {
            assert!(admits(glob, path), "{glob} {path}");
        }
        for (glob, path) in
            [("*/tests/*", "mytests/a.py"), ("src/auth", "lib/src/auth/a.py"), ("login.py", "a/login.py")]
        {
            assert!(!admits(glob, path), "{glob} {path}");
        }
    }

    #[test]
    fn files_are_told_apart_by_language_and_extension() {
        let admits = |wanted: FileFilter, path: &str, language: &str| {
            Files::new(&wanted).unwrap().admits(RepoId(1), &RepoPath::from(path), language)
        };
        let without = FileFilter { not_languages: vec!["ts".to_owned()], ..FileFilter::default() };
        assert!(!admits(without.clone(), "a.tsx", "tsx") && !admits(without.clone(), "a.ts", "typescript"));
        assert!(admits(without, "a.js", "javascript"));
        let ends = FileFilter { extensions: vec![".py".to_owned(), "D.ts".to_owned()], ..FileFilter::default() };
        assert!(admits(ends.clone(), "a.PY", "python") && admits(ends.clone(), "x/a.d.ts", "typescript"));
        assert!(!admits(ends.clone(), "a.ts", "typescript") && !admits(ends, "apy", "text"));
        // As the contract lists them.
        for name in [
            "c",
            "cpp",
            "csharp",
            "dart",
            "go",
            "java",
            "javascript",
            "kotlin",
            "php",
            "python",
            "ruby",
            "rust",
            "scala",
            "swift",
            "typescript",
            "css",
            "html",
            "vue",
            "markdown",
            "xml",
            "json",
            "yaml",
            "bash",
            "shell",
            "py",
            "js",
            "ts",
        ] {
            assert!(language_named(name).is_ok(), "{name}");
        }
    }
}

//! Tags that a document gives itself.

/// A document has no more tags than this.
const MOST: usize = 64;
const LONGEST: usize = 64;

/// Words behind `#` that are C, not tags.
const DIRECTIVES: &[&str] =
    &["include", "define", "ifdef", "ifndef", "endif", "if", "else", "elif", "undef", "pragma", "error", "region"];

/// Adds a tag, once.
pub(crate) fn add(tags: &mut Vec<String>, tag: &str) {
    let tag = tag.trim().trim_matches(['"', '\'']).trim().trim_start_matches('#');
    if !tag.is_empty() && tag.len() <= LONGEST && tags.len() < MOST && !tags.iter().any(|known| known == tag) {
        tags.push(tag.to_owned());
    }
}

/// Adds the `#hashtags` of a text, in which there is no code. `before` is the character in front of the text.
pub(crate) fn hashtags(tags: &mut Vec<String>, text: &str, before: Option<char>) {
    let mut before = before;
    let mut rest = text;
    while let Some(at) = memchr::memchr(b'#', rest.as_bytes()) {
        before = rest[..at].chars().next_back().or(before);
        rest = &rest[at + 1..];
        let length = rest.find(|c: char| !(c.is_alphanumeric() || matches!(c, '_' | '-' | '/'))).unwrap_or(rest.len());
        let word = rest[..length].trim_end_matches(['-', '/']);
        let stands_alone = before.is_none_or(|c| c.is_whitespace() || matches!(c, '(' | '[' | ',' | ';'));
        let ends = rest[length..].chars().next();
        if stands_alone && is_tag(word) && !matches!(ends, Some('#' | '(' | '=' | '!' | '[')) {
            add(tags, word);
        }
        before = Some('#');
    }
}

fn is_tag(word: &str) -> bool {
    let is_colour = matches!(word.len(), 3 | 4 | 6 | 8) && word.bytes().all(|byte| byte.is_ascii_hexdigit());
    word.starts_with(char::is_alphabetic) && word.len() >= 2 && !is_colour && !DIRECTIVES.contains(&word)
}

/// Adds what `tags:` holds in YAML frontmatter: a list in either form, or words with commas between.
pub(crate) fn frontmatter(tags: &mut Vec<String>, yaml: &str) {
    let mut lines = yaml.lines().peekable();
    while let Some(line) = lines.next() {
        let Some(value) = line.strip_prefix("tags:") else { continue };
        let mut value = without_comment(value).trim().to_owned();
        // Only what is new is searched: the list may be as long as the file.
        let mut is_open = value.starts_with('[') && !value.contains(']');
        while is_open && let Some(more) = lines.next() {
            let more = without_comment(more).trim();
            value.push_str(more);
            is_open = !more.contains(']');
        }
        let list = value.trim_start_matches('[').split(']').next().unwrap_or_default();
        let separators: &[char] = if list.contains(',') || value.starts_with('[') { &[','] } else { &[' '] };
        list.split(separators).for_each(|tag| add(tags, tag));
        while let Some(entry) = lines.next_if(|line| line.trim_start().starts_with("- ")) {
            add(tags, without_comment(entry.trim_start().trim_start_matches("- ")));
        }
    }
}

fn without_comment(value: &str) -> &str {
    value.split(" #").next().unwrap_or(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_hashtags(text: &str, expected: &[&str]) {
        let mut tags = Vec::new();
        hashtags(&mut tags, text, None);
        assert_eq!(tags, expected, "{text}");
    }

    fn check_frontmatter(text: &str, expected: &[&str]) {
        let mut tags = Vec::new();
        frontmatter(&mut tags, text);
        assert_eq!(tags, expected, "{text}");
    }

    #[test]
    fn hashtags_stand_alone_and_are_words() {
        check_hashtags("see #auth, (#users) and #auth again #a/b-c.", &["auth", "users", "a/b-c"]);
        check_hashtags("fixes #123, colour #fff #ffcc00, C#sharp, a#b, ##x, # y, #include <a>", &[]);
        check_hashtags("#défi #x1 #1x", &["défi", "x1"]);
    }

    #[test]
    fn frontmatter_has_lists_in_several_forms() {
        check_frontmatter(
            "title: x\ntags: [architecture, \"design docs\", 'x'] # why\n",
            &["architecture", "design docs", "x"],
        );
        check_frontmatter("tags:\n  - a\n  - \"b c\"\n- d\nother:\n  - e\n", &["a", "b c", "d"]);
        check_frontmatter("tags: a, b\n", &["a", "b"]);
        check_frontmatter("tags: a b\n", &["a", "b"]);
        check_frontmatter("tags: [a,\n  b,\n  c]\n", &["a", "b", "c"]);
        check_frontmatter("subtags: [a]\ntags:\n", &[]);
        check_frontmatter("tags: [a,\n", &["a"]);
    }

    /// So many lines that whoever runs this notices work that grows with the square of them.
    #[test]
    fn a_list_may_end_nowhere() {
        check_frontmatter(&format!("tags: [a,\n{}", "b\n".repeat(500_000)), &["a"]);
    }
}

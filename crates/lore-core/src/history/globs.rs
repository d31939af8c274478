//! Globs where a part of a path is asked for: what to ask for instead. A glob itself is searched for nowhere in history.

use lore_model::brief;

/// The most parts that are named.
const PARTS_MAX: usize = 4;

/// What to pass in place of each of these that is a glob and that was found in no path.
pub fn glob_hints<'a>(asked: impl IntoIterator<Item = &'a str>, is_found: impl Fn(&str) -> bool) -> Vec<String> {
    let globs = asked.into_iter().filter_map(|text| Some((text, fixed_parts(text)?)));
    let hint = |(text, parts): (&str, Vec<&str>)| {
        let quoted: Vec<String> = parts.iter().take(PARTS_MAX).map(|part| format!("`{}`", brief(part))).collect();
        let instead = match quoted.split_last() {
            None => "a part such as `src/`".to_owned(),
            Some((last, [])) => last.clone(),
            Some((last, others)) => format!("{} or {last}", others.join(", ")),
        };
        format!("`{}` matched no path: a path is matched by a part of it, not by a glob; pass {instead}", brief(text))
    };
    globs.filter(|(text, _)| !is_found(text)).map(hint).collect()
}

/// What stands between the wildcards of a glob and has a letter or a digit; `None` where there is no wildcard.
fn fixed_parts(text: &str) -> Option<Vec<&str>> {
    let (mut parts, mut start, mut in_braces) = (Vec::new(), 0, false);
    for (at, c) in text.char_indices() {
        if at < start {
            continue;
        }
        let wildcard = match c {
            '*' | '?' => 1,
            '[' => text[at..].find(']').map_or(0, |end| end + 1),
            '{' => usize::from(text[at..].contains('}')),
            ',' | '}' => usize::from(in_braces),
            _ => 0,
        };
        if wildcard > 0 {
            in_braces = c == '{' || (in_braces && c != '}');
            parts.push(&text[start..at]);
            start = at + wildcard;
        }
    }
    if start == 0 {
        return None;
    }
    parts.push(&text[start..]);
    parts.retain(|part| part.contains(char::is_alphanumeric));
    Some(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_fixed_in_a_glob_is_named() {
        for (text, parts) in [
            ("src/**/*.rs", Some(&["src/", ".rs"][..])),
            ("*.rs", Some(&[".rs"])),
            ("a?c/[x-z]*é", Some(&["a", "c/", "é"])),
            ("src/{a,b}/c,d.rs", Some(&["src/", "a", "b", "/c,d.rs"])),
            ("**/*", Some(&[])),
            ("src/auth", None),
            ("", None),
            ("a,b}", None),
            ("a[b", None),
            ("a{b", None),
        ] {
            assert_eq!(fixed_parts(text).as_deref(), parts, "{text}");
        }
    }

    #[test]
    fn only_globs_that_are_in_no_path_are_spoken_of() {
        let said = glob_hints(["src/", "*", "a*b"], |text| text == "a*b");
        assert_eq!(
            said,
            ["`*` matched no path: a path is matched by a part of it, not by a glob; pass a part such as `src/`"]
        );
    }
}

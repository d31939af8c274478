//! Keys of issues in subjects of commits: what ties commits of different repositories together by an exact rule.

/// What looks like the key of an issue and is the name of a standard.
const STANDARDS: [&str; 22] = [
    "AES", "ASCII", "BASE", "CP", "CRC", "CVE", "ECMA", "ES", "GPT", "HTTP", "IEEE", "ISO", "KOI", "MD", "PEP", "RFC",
    "RSA", "SHA", "UCS", "UTF", "WINDOWS", "X",
];

/// The keys that a text names: `PROJ-123`, and `#123` as `owner/name#123` where it is known whose number that is.
pub(super) fn keys_in(text: &str, slug: Option<&str>) -> Vec<String> {
    let mut keys = Vec::new();
    let is_part = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '/' | '#' | '.');
    for word in text.split(|c: char| !is_part(c)) {
        let word = word.trim_end_matches('.');
        let key = match word.split_once('#') {
            Some(("" | "GH" | "gh", number)) => slug.and_then(|slug| numbered(slug, number)),
            Some((owner, number)) => owner.contains('/').then(|| numbered(&owner.to_lowercase(), number)).flatten(),
            None => tracked(word),
        };
        keys.extend(key.filter(|key| !keys.contains(key)));
    }
    keys
}

fn numbered(slug: &str, number: &str) -> Option<String> {
    is_number(number).then(|| format!("{slug}#{number}"))
}

/// `PROJ-123` as it is written by trackers: capitals, a hyphen, a number.
fn tracked(word: &str) -> Option<String> {
    let (project, number) = word.split_once('-')?;
    let mut letters = project.chars();
    let is_project = letters.next().is_some_and(|c| c.is_ascii_uppercase())
        && project.len() > 1
        && letters.all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
    let is_key =
        is_project && is_number(number) && !STANDARDS.contains(&project.trim_end_matches(|c: char| c.is_ascii_digit()));
    is_key.then(|| word.to_owned())
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.len() < 10 && text.bytes().all(|byte| byte.is_ascii_digit()) && !text.starts_with('0')
}

/// `owner/name` of the address of a repository.
pub(super) fn slug(url: &str) -> Option<String> {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    // `git@host:owner/name` has no slash before the colon; what is on this machine has no owner.
    let path = match (rest.split_once('/'), rest.split_once(':')) {
        (Some((host, _)), Some((before, path))) if host.len() > before.len() && url == rest => path,
        (Some((host, path)), _) if !host.is_empty() && url != rest => path,
        _ => return None,
    };
    let path = path.trim_matches('/');
    let (rest, name) = path.strip_suffix(".git").unwrap_or(path).rsplit_once('/')?;
    let owner = rest.rsplit('/').next()?;
    let is_named =
        |part: &str| !part.is_empty() && part.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c));
    (is_named(owner) && is_named(name)).then(|| format!("{owner}/{name}").to_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_those_of_trackers() {
        for (text, expected) in [
            ("PROJ-12: fix (AB1-3)", &["PROJ-12", "AB1-3"][..]),
            ("MY_TEAM-4, GH#5 and gh#6", &["MY_TEAM-4", "o/n#5", "o/n#6"]),
            ("Fix the limit (#482), see #482.", &["o/n#482"]),
            ("as in Other/Repo#7", &["other/repo#7"]),
            ("UTF-8, SHA-256, X-1, a-1, PROJ-0, proj-3, PROJ-1a, ISO8859-1", &[]),
            ("#12a c#5 # #0", &[]),
        ] {
            assert_eq!(keys_in(text, Some("o/n")), expected, "{text}");
        }
        assert!(keys_in("fix #12", None).is_empty(), "nobody knows whose number it is");
    }

    #[test]
    fn addresses_have_an_owner_and_a_name() {
        for (url, expected) in [
            ("https://github.com/Pallets/flask.git", Some("pallets/flask")),
            ("https://user:secret@host:8443/group/sub/name/", Some("sub/name")),
            ("git@github.com:tokio-rs/axum.git", Some("tokio-rs/axum")),
            ("ssh://git@host/o/n", Some("o/n")),
            ("/srv/git/o/n.git", None),
            ("../other", None),
            ("/srv:8/o/n", None),
            ("host:o/n", Some("o/n")),
            ("https://host:80", None),
            ("file:///srv/git/n", None),
            ("https://host/n", None),
        ] {
            assert_eq!(slug(url).as_deref(), expected, "{url}");
        }
    }
}

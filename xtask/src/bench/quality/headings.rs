//! Turns a heading into what somebody would ask who does not know it.
//!
//! Rules for English headings, tried in order; what no rule knows is asked for as it is.

/// Verbs that headings begin with, and how one asks for them.
const VERBS: &[(&str, &str)] = &[
    ("accessing", "access"),
    ("adding", "add"),
    ("authenticating", "authenticate"),
    ("building", "build"),
    ("caching", "cache"),
    ("calling", "call"),
    ("changing", "change"),
    ("choosing", "choose"),
    ("configuring", "configure"),
    ("contributing", "contribute"),
    ("controlling", "control"),
    ("creating", "create"),
    ("customising", "customise"),
    ("customizing", "customize"),
    ("debugging", "debug"),
    ("declaring", "declare"),
    ("defining", "define"),
    ("deleting", "delete"),
    ("deploying", "deploy"),
    ("developing", "develop"),
    ("disabling", "disable"),
    ("documenting", "document"),
    ("enabling", "enable"),
    ("excluding", "exclude"),
    ("exporting", "export"),
    ("extending", "extend"),
    ("filtering", "filter"),
    ("formatting", "format"),
    ("generating", "generate"),
    ("getting", "get"),
    ("handling", "handle"),
    ("hosting", "host"),
    ("implementing", "implement"),
    ("importing", "import"),
    ("including", "include"),
    ("installing", "install"),
    ("integrating", "integrate"),
    ("linking", "link"),
    ("loading", "load"),
    ("making", "make"),
    ("managing", "manage"),
    ("migrating", "migrate"),
    ("modifying", "modify"),
    ("organizing", "organize"),
    ("overriding", "override"),
    ("packaging", "package"),
    ("parsing", "parse"),
    ("passing", "pass"),
    ("processing", "process"),
    ("publishing", "publish"),
    ("reading", "read"),
    ("redirecting", "redirect"),
    ("registering", "register"),
    ("releasing", "release"),
    ("removing", "remove"),
    ("rendering", "render"),
    ("replacing", "replace"),
    ("reporting", "report"),
    ("returning", "return"),
    ("running", "run"),
    ("sending", "send"),
    ("serving", "serve"),
    ("setting", "set"),
    ("sharing", "share"),
    ("specifying", "specify"),
    ("starting", "start"),
    ("stopping", "stop"),
    ("storing", "store"),
    ("styling", "style"),
    ("submitting", "submit"),
    ("testing", "test"),
    ("translating", "translate"),
    ("understanding", "understand"),
    ("updating", "update"),
    ("upgrading", "upgrade"),
    ("uploading", "upload"),
    ("using", "use"),
    ("validating", "validate"),
    ("working", "work"),
    ("writing", "write"),
];

/// Words with which a heading is a question already.
const ASKING: [&str; 12] = ["what", "why", "where", "which", "who", "how", "can", "does", "do", "is", "are", "should"];

/// What one asks whose answer is below the heading.
pub(super) fn ask(heading: &str) -> String {
    let heading = heading.trim().trim_end_matches([':', '.']).trim();
    let words: Vec<&str> = heading.split_whitespace().collect();
    let (Some(first), Some(last)) = (words.first(), words.last()) else { return String::new() };
    let (lower, end) = (first.to_lowercase(), last.to_lowercase());
    let rest = words[1..].join(" ");
    let begin = begun(heading);
    let before_last = begun(&words[..words.len() - 1].join(" "));
    if heading.ends_with('?') {
        return heading.to_owned();
    }
    if let Some(action) = rest.strip_prefix("to ").filter(|_| ["how", "when"].contains(&lower.as_str())) {
        return if lower == "how" { format!("how do I {action}") } else { format!("when should I {action}") };
    }
    if ASKING.contains(&lower.as_str()) {
        return begin;
    }
    if let Some((_, base)) = VERBS.iter().find(|(ing, base)| *ing == lower || *base == lower) {
        return format!("how do I {base} {rest}");
    }
    if let Some((one, other)) = begin.split_once(" vs ").or_else(|| begin.split_once(" vs. ")) {
        return format!("what is the difference between {one} and {other}");
    }
    match end.as_str() {
        "options" | "settings" | "parameters" | "arguments" | "flags" | "variables" | "fields" => {
            format!("which {end} does {before_last} have")
        }
        "configuration" => format!("how do I configure {before_last}"),
        "installation" => format!("how do I install {before_last}"),
        "support" => format!("is {before_last} supported"),
        "example" | "examples" => format!("what does {before_last} look like"),
        _ if lower.ends_with("ing") || words.len() <= 4 => format!("how does {begin} work"),
        _ => begin,
    }
}

/// A heading as it stands within a sentence: names keep their capitals.
fn begun(heading: &str) -> String {
    let mut letters = heading.chars();
    let (Some(first), second) = (letters.next(), letters.next()) else { return String::new() };
    let first_word = heading.split_whitespace().next().unwrap_or_default();
    let is_name = first_word.chars().skip(1).any(|c| c.is_uppercase() || !c.is_alphabetic()) || second.is_none();
    // A single `A` is a word, a single `I` is not one to change.
    if is_name && first_word != "A" {
        return heading.to_owned();
    }
    first.to_lowercase().chain(heading.chars().skip(1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headings_become_questions() {
        for (heading, question) in [
            ("Configuring the theme", "how do I configure the theme"),
            ("Configure the theme", "how do I configure the theme"),
            ("How to write tests", "how do I write tests"),
            ("When to use signals:", "when should I use signals"),
            ("What is a blueprint", "what is a blueprint"),
            ("Can I use it offline?", "Can I use it offline?"),
            ("Theme options", "which options does theme have"),
            ("Database settings", "which settings does database have"),
            ("Proxy configuration", "how do I configure proxy"),
            ("Threads vs processes", "what is the difference between threads and processes"),
            ("Template inheritance", "how does template inheritance work"),
            ("Streaming responses", "how does streaming responses work"),
            ("URL patterns", "how does URL patterns work"),
            ("JavaScript support", "is JavaScript supported"),
            ("A note on the order of things", "a note on the order of things"),
            ("", ""),
        ] {
            assert_eq!(ask(heading), question, "{heading}");
        }
    }

    #[test]
    fn every_verb_is_there_once_and_sorted() {
        assert!(VERBS.windows(2).all(|pair| pair[0].0 < pair[1].0));
    }
}

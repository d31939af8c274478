//! Keys as lazygit's file names them.

use lore_model::{Code, Failure};

/// The names of keys that are not a character.
const NAMES: &str = "f1 f2 f3 f4 f5 f6 f7 f8 f9 f10 f11 f12 insert delete home end pgup pgdown up down left right tab \
    backtab enter esc backspace space minus plus disabled";

/// The normal form of a key: `<c-y>` and `<ctrl+y>` have the same. `None` if lazygit does not know the key.
fn normal(label: &str) -> Option<String> {
    let inner = label.strip_prefix('<').and_then(|inner| inner.strip_suffix('>'));
    let mut rest = inner.unwrap_or(label);
    let mut modifiers = Vec::new();
    while rest.chars().count() > 1
        && let Some(at) = rest.find(['-', '+'])
    {
        modifiers.push(match &rest[..at] {
            "s" | "shift" => 's',
            "c" | "ctrl" => 'c',
            "a" | "alt" => 'a',
            "m" | "meta" => 'm',
            _ => return None,
        });
        rest = &rest[at + 1..];
    }
    let known = rest.chars().count() == 1 || (NAMES.split(' ').any(|name| name == rest) && inner.is_some());
    // With a modifier, terminals do not distinguish capitals from small letters.
    let capital = !modifiers.is_empty() && rest.chars().all(|c| c.is_ascii_uppercase());
    if !known || capital {
        return None;
    }
    modifiers.sort_unstable();
    modifiers.dedup();
    Some(format!("{}-{rest}", String::from_iter(modifiers)))
}

/// Whether two names mean the same key.
pub(super) fn same(one: &str, other: &str) -> bool {
    one == other || normal(one).is_some_and(|one| Some(one) == normal(other))
}

/// Refuses a key that lazygit would not start with.
pub(super) fn check(key: &str) -> Result<(), Failure> {
    // Older versions need the brackets around everything that is not a character.
    let written = key.starts_with('<') || key.chars().count() == 1;
    if written && normal(key).is_some_and(|key| key != "-disabled") {
        return Ok(());
    }
    Err(Failure::new(Code::InvalidArgument, format!("lazygit knows no key `{key}`"))
        .hint("write it as lazygit does: `<c-y>`, `<a-c>`, `<f5>`, `C`"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spellings_of_a_key_are_one() {
        for (one, other) in
            [("<c-y>", "<ctrl+y>"), ("<c-s-y>", "<shift+ctrl+y>"), ("y", "y"), ("<c-space>", "<ctrl-space>")]
        {
            assert!(same(one, other), "{one} {other}");
        }
        for (one, other) in [("<c-y>", "y"), ("y", "Y"), ("<c-y>", "<a-y>"), ("<f1>", "<f11>")] {
            assert!(!same(one, other), "{one} {other}");
        }
    }

    #[test]
    fn keys_that_lazygit_would_not_start_with_are_refused() {
        for key in ["<c-y>", "<ctrl+y>", "y", "Y", "é", "-", "<f12>", "<c-->", "<a-enter>", "<s-tab>"] {
            check(key).unwrap_or_else(|failure| panic!("{failure}"));
        }
        for key in ["", "ctrl-y", "<x-y>", "<c-Y>", "yy", "<disabled>", "<c-foo>", "<c-y", "f1"] {
            check(key).expect_err(key);
        }
    }
}

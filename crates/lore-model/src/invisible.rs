//! Which characters hide something, and which invisible ones belong to the writing around them.
//!
//! An invisible character is kept only where Unicode gives it a visible effect and it stands next to characters that can
//! be seen: in emoji (UTS #51), between letters of scripts that join (UAX #31, section 2.3.1, and UTS #39), after an
//! ideograph (UTS #37), and as the byte order mark of a text. What is kept never stands within a word of Latin, Greek,
//! Cyrillic or other letters that do not join, never in a row, and never steers the direction of the text.

/// Whether a character is a control, is invisible, or changes the direction of the text around it.
///
/// These are the controls but tab and line ends, and what Unicode calls `Default_Ignorable_Code_Point`.
pub fn is_invisible(c: char) -> bool {
    matches!(c,
        '\u{0}'..='\u{8}' | '\u{b}' | '\u{c}' | '\u{e}'..='\u{1f}' | '\u{7f}'..='\u{9f}'
        | '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{115f}' | '\u{1160}' | '\u{17b4}' | '\u{17b5}'
        | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' | '\u{202a}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{3164}' | '\u{fe00}'..='\u{fe0f}' | '\u{feff}' | '\u{ffa0}'
        | '\u{fff0}'..='\u{fffb}' | '\u{1bca0}'..='\u{1bca3}' | '\u{1d173}'..='\u{1d17a}'
        | '\u{e0000}'..='\u{e0fff}')
}

/// Whether an invisible character hides something, given the text on both sides of it.
pub(crate) fn hides(before: &str, c: char, after: &str) -> bool {
    let (last, next) = (before.chars().next_back(), after.chars().next());
    let script = |c: Option<char>| c.and_then(joining_script);
    let within_a_script = || script(last).is_some() && script(last) == script(next);
    let belongs = match c {
        ZWJ => within_a_script() || is_emoji_end(before) && next.is_some_and(is_pictograph) || shapes_the_end(last),
        ZWNJ => within_a_script() || joins_a_suffix(last, next),
        '\u{fe0e}' => last.is_some_and(is_pictograph),
        '\u{fe0f}' => last.is_some_and(is_pictograph) || is_keycap(last, next),
        '\u{feff}' => begins_a_line(before, after),
        '\u{180b}'..='\u{180d}' | '\u{180f}' => script(last) == Some(Script::Mongolian),
        '\u{180e}' => within_a_script() && script(last) == Some(Script::Mongolian),
        '\u{e0100}'..='\u{e011f}' => last.is_some_and(is_ideograph),
        '\u{e0000}'..='\u{e007f}' => is_in_a_flag(before, c, after),
        _ => false,
    };
    !belongs
}

const ZWNJ: char = '\u{200c}';
const ZWJ: char = '\u{200d}';

/// Scripts in which a joiner changes what is seen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Script {
    Arabic,
    Syriac,
    Nko,
    Mandaic,
    Devanagari,
    Bengali,
    Gurmukhi,
    Gujarati,
    Oriya,
    Tamil,
    Telugu,
    Kannada,
    Malayalam,
    Sinhala,
    Myanmar,
    Khmer,
    Mongolian,
    Balinese,
    Javanese,
    Adlam,
}

/// The script of a letter, a mark or a digit that joiners may stand next to.
fn joining_script(c: char) -> Option<Script> {
    Some(match c {
        '\u{610}'..='\u{61a}'
        | '\u{620}'..='\u{669}'
        | '\u{66e}'..='\u{6d3}'
        | '\u{6d5}'..='\u{6dc}'
        | '\u{6df}'..='\u{6e8}'
        | '\u{6ea}'..='\u{6fc}'
        | '\u{6ff}'
        | '\u{750}'..='\u{77f}'
        | '\u{870}'..='\u{887}'
        | '\u{889}'..='\u{88e}'
        | '\u{897}'..='\u{8e1}'
        | '\u{8e3}'..='\u{8ff}' => Script::Arabic,
        '\u{710}'..='\u{74a}' | '\u{74d}'..='\u{74f}' => Script::Syriac,
        '\u{7c0}'..='\u{7f5}' => Script::Nko,
        '\u{840}'..='\u{85b}' => Script::Mandaic,
        '\u{900}'..='\u{963}' | '\u{966}'..='\u{97f}' => Script::Devanagari,
        '\u{980}'..='\u{9f1}' | '\u{9fc}' | '\u{9fe}' => Script::Bengali,
        '\u{a01}'..='\u{a75}' => Script::Gurmukhi,
        '\u{a81}'..='\u{aef}' | '\u{af9}'..='\u{aff}' => Script::Gujarati,
        '\u{b01}'..='\u{b6f}' | '\u{b71}' => Script::Oriya,
        '\u{b82}'..='\u{bef}' => Script::Tamil,
        '\u{c00}'..='\u{c6f}' => Script::Telugu,
        '\u{c80}'..='\u{cf3}' => Script::Kannada,
        '\u{d00}'..='\u{d4e}' | '\u{d54}'..='\u{d6f}' | '\u{d7a}'..='\u{d7f}' => Script::Malayalam,
        '\u{d81}'..='\u{df3}' => Script::Sinhala,
        '\u{1000}'..='\u{1049}' | '\u{1050}'..='\u{109d}' => Script::Myanmar,
        '\u{1780}'..='\u{17b3}' | '\u{17b6}'..='\u{17d3}' | '\u{17dc}'..='\u{17e9}' => Script::Khmer,
        '\u{1807}' | '\u{1810}'..='\u{18aa}' => Script::Mongolian,
        '\u{1b00}'..='\u{1b59}' => Script::Balinese,
        '\u{a980}'..='\u{a9c0}' | '\u{a9d0}'..='\u{a9d9}' => Script::Javanese,
        '\u{1e900}'..='\u{1e959}' => Script::Adlam,
        _ => return None,
    })
}

/// A joiner behind these shapes them whatever follows: an Arabic letter that would join, a consonant without its vowel.
fn shapes_the_end(last: Option<char>) -> bool {
    last.is_some_and(|c| {
        let is_arabic_letter = joining_script(c) == Some(Script::Arabic) && c.is_alphabetic();
        let is_virama = matches!(
            c,
            '\u{94d}'
                | '\u{9cd}'
                | '\u{a4d}'
                | '\u{acd}'
                | '\u{b4d}'
                | '\u{bcd}'
                | '\u{c4d}'
                | '\u{ccd}'
                | '\u{d3b}'
                | '\u{d3c}'
                | '\u{d4d}'
                | '\u{dca}'
        );
        is_arabic_letter || is_virama
    })
}

/// Persian puts its suffixes behind foreign words and numbers so.
fn joins_a_suffix(last: Option<char>, next: Option<char>) -> bool {
    last.is_some_and(char::is_alphanumeric) && next.and_then(joining_script) == Some(Script::Arabic)
}

/// Whether a character is of a block that holds emoji; none of them is a letter of a word.
fn is_pictograph(c: char) -> bool {
    matches!(c,
        '\u{a9}' | '\u{ae}' | '\u{203c}' | '\u{2049}' | '\u{2122}' | '\u{2139}' | '\u{2190}'..='\u{21ff}'
        | '\u{2300}'..='\u{23ff}' | '\u{2460}'..='\u{24ff}' | '\u{25a0}'..='\u{27bf}' | '\u{2900}'..='\u{297f}'
        | '\u{2b00}'..='\u{2bff}' | '\u{3030}' | '\u{303d}' | '\u{3297}' | '\u{3299}'
        | '\u{1f000}'..='\u{1fffd}')
}

/// Whether a text ends in an emoji that another one can be joined to.
fn is_emoji_end(before: &str) -> bool {
    let base = before.strip_suffix('\u{fe0f}').unwrap_or(before);
    base.chars().next_back().is_some_and(is_pictograph)
}

fn is_keycap(last: Option<char>, next: Option<char>) -> bool {
    matches!(last, Some('0'..='9' | '#' | '*')) && next == Some('\u{20e3}')
}

fn is_ideograph(c: char) -> bool {
    matches!(c, '\u{3400}'..='\u{4dbf}' | '\u{4e00}'..='\u{9fff}' | '\u{f900}'..='\u{faff}' | '\u{20000}'..='\u{3fffd}')
}

/// Whether a byte order mark stands where a file begins, also behind the column of a diff. A name has no lines.
fn begins_a_line(before: &str, after: &str) -> bool {
    let line = before.strip_suffix(['+', '-', ' ']).unwrap_or(before);
    line.ends_with('\n') || line.is_empty() && after.contains('\n')
}

/// The flags that are spelled in tags: those that Unicode recommends for interchange.
const FLAGS: [&str; 3] = [
    "\u{1f3f4}\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
    "\u{1f3f4}\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}",
    "\u{1f3f4}\u{e0067}\u{e0062}\u{e0077}\u{e006c}\u{e0073}\u{e007f}",
];

fn is_in_a_flag(before: &str, c: char, after: &str) -> bool {
    FLAGS.iter().any(|flag| {
        flag.match_indices(c)
            .any(|(at, _)| before.ends_with(&flag[..at]) && after.starts_with(&flag[at + c.len_utf8()..]))
    })
}

#[cfg(test)]
mod tests {
    use std::{borrow::Cow, collections::HashSet};

    use proptest::prelude::*;
    use regex::Regex;

    use super::*;
    use crate::{escape_controls, escape_for_terminal};

    fn all() -> impl Iterator<Item = char> {
        '\0'..=char::MAX
    }

    /// The characters that have a property of Unicode, by the tables of another project.
    fn having(property: &str) -> HashSet<char> {
        let text: String = all().collect();
        let regex = Regex::new(&format!(r"\p{{{property}}}+")).unwrap();
        regex.find_iter(&text).flat_map(|found| found.as_str().chars()).collect()
    }

    #[test]
    fn what_belongs_to_the_writing_is_left_as_it_is() {
        for (what, text) in [
            ("a family", "\u{1f468}\u{200d}\u{1f469}\u{200d}\u{1f467}"),
            ("a couple with a heart", "\u{1f469}\u{200d}\u{2764}\u{fe0f}\u{200d}\u{1f468}"),
            ("a skin tone before the joiner", "\u{1f469}\u{1f3fd}\u{200d}\u{1f4bb}"),
            ("an eye in a bubble", "\u{1f441}\u{fe0f}\u{200d}\u{1f5e8}\u{fe0f}"),
            ("a flag", "\u{1f3f3}\u{fe0f}\u{200d}\u{1f308}"),
            ("the flag of Scotland", "\u{1f3f4}\u{e0067}\u{e0062}\u{e0073}\u{e0063}\u{e0074}\u{e007f}"),
            ("a heart as an emoji and as text", "\u{2764}\u{fe0f} \u{2764}\u{fe0e}"),
            ("a sign as an emoji", "\u{2122}\u{fe0f}\u{a9}\u{fe0f}"),
            ("a key", "1\u{fe0f}\u{20e3} #\u{fe0f}\u{20e3}"),
            ("Persian: I want", "\u{645}\u{6cc}\u{200c}\u{62e}\u{648}\u{627}\u{647}\u{645}"),
            ("Persian: two hundred of them", "\u{6f2}\u{6f0}\u{6f0}\u{200c}\u{62a}\u{627}"),
            ("Persian: APIs", "API\u{200c}\u{647}\u{627}"),
            ("Persian: an abbreviation", "\u{647}\u{200d}.\u{634}."),
            ("Hindi: half a consonant", "\u{915}\u{94d}\u{200d}\u{937}"),
            ("Hindi: a virama that is seen", "\u{915}\u{94d}\u{200c}\u{937}"),
            ("Bengali: ra before ya", "\u{9b0}\u{200d}\u{9cd}\u{9af}"),
            ("Malayalam: a chillu at the end", "\u{d05}\u{d35}\u{d28}\u{d4d}\u{200d} \u{d35}"),
            ("Sinhala: Sri", "\u{dc1}\u{dca}\u{200d}\u{dbb}\u{dd3}"),
            ("Kannada: software", "\u{cab}\u{ccd}\u{c9f}\u{ccd}\u{200c}\u{cb5}"),
            ("Mongolian: a form of a letter", "\u{182d}\u{180b}\u{182d}"),
            ("Mongolian: a vowel apart", "\u{1820}\u{180e}\u{1820}"),
            ("Japanese: a form in a name", "\u{845b}\u{e0100}\u{57ce}"),
            ("the beginning of a file", "\u{feff}using System;\n"),
            ("the beginning of a file in a diff", "@@ -1 +1 @@\n-using A;\n+\u{feff}using A;\n"),
            ("the same in the context", "@@ -1,2 +1,2 @@\n \u{feff}using A;\n"),
            ("a file after another", "a\n\u{feff}b\n"),
            ("nothing special", "tab\tline\r\n\u{e9} \u{65e5}\u{672c}"),
        ] {
            assert!(matches!(escape_controls(text), Cow::Borrowed(_)), "{what}: {}", escape_controls(text));
            assert!(matches!(escape_for_terminal(text), Cow::Borrowed(_)) || text.contains('\r'), "{what}");
        }
    }

    #[test]
    fn what_hides_is_shown() {
        for (what, text, shown) in [
            ("a joiner in a word", "pass\u{200d}word", "pass<U+200D>word"),
            ("a non-joiner in a word", "pass\u{200c}word", "pass<U+200C>word"),
            ("a joiner in Greek", "\u{3b1}\u{200d}\u{3b2}", "\u{3b1}<U+200D>\u{3b2}"),
            ("a joiner in Cyrillic", "\u{430}\u{200c}\u{431}", "\u{430}<U+200C>\u{431}"),
            ("a joiner among ideographs", "\u{65e5}\u{200d}\u{672c}", "\u{65e5}<U+200D>\u{672c}"),
            ("a joiner in Hangul", "\u{ac00}\u{200c}\u{ac01}", "\u{ac00}<U+200C>\u{ac01}"),
            ("a joiner at the beginning", "\u{200d}a", "<U+200D>a"),
            ("a joiner at the end", "a\u{200d}", "a<U+200D>"),
            ("a joiner behind an emoji alone", "\u{1f600}\u{200d}a", "\u{1f600}<U+200D>a"),
            ("a joiner before an emoji alone", "a\u{200d}\u{1f600}", "a<U+200D>\u{1f600}"),
            ("a non-joiner between emoji", "\u{1f600}\u{200c}\u{1f600}", "\u{1f600}<U+200C>\u{1f600}"),
            ("two joiners between emoji", "\u{1f600}\u{200d}\u{200d}\u{1f600}", "\u{1f600}<U+200D><U+200D>\u{1f600}"),
            ("two non-joiners in Persian", "\u{645}\u{200c}\u{200c}\u{646}", "\u{645}<U+200C><U+200C>\u{646}"),
            ("letters of two scripts", "\u{645}\u{200c}\u{915}", "\u{645}<U+200C>\u{915}"),
            ("a suffix that is Latin", "\u{645}\u{200c}x", "\u{645}<U+200C>x"),
            ("a selector behind a letter", "a\u{fe0f}b\u{fe0e}", "a<U+FE0F>b<U+FE0E>"),
            ("a selector in a name", "user1\u{fe0f}", "user1<U+FE0F>"),
            (
                "bytes in selectors",
                "\u{1f600}\u{fe0f}\u{fe0e}\u{fe01}\u{e0141}",
                "\u{1f600}\u{fe0f}<U+FE0E><U+FE01><U+E0141>",
            ),
            ("two forms of an ideograph", "\u{845b}\u{e0100}\u{e0101}", "\u{845b}\u{e0100}<U+E0101>"),
            ("tags", "a\u{e0061}\u{e0062}", "a<U+E0061><U+E0062>"),
            ("a flag of nowhere", "\u{1f3f4}\u{e0061}\u{e007f}", "\u{1f3f4}<U+E0061><U+E007F>"),
            (
                "a flag with more in it",
                "\u{1f3f4}\u{e0067}\u{e0062}\u{e0061}\u{e0065}\u{e006e}\u{e0067}\u{e007f}",
                "\u{1f3f4}<U+E0067><U+E0062><U+E0061><U+E0065><U+E006E><U+E0067><U+E007F>",
            ),
            ("a mark within a line", "a\u{feff}b\n", "a<U+FEFF>b\n"),
            ("a mark within a line of a diff", "\n+a\u{feff}b\n", "\n+a<U+FEFF>b\n"),
            ("two marks", "\u{feff}\u{feff}a\n", "\u{feff}<U+FEFF>a\n"),
            ("a mark before a name", "\u{feff}src/main.rs", "<U+FEFF>src/main.rs"),
            ("a zero-width space", "a\u{200b}b", "a<U+200B>b"),
            ("a word joiner in Arabic", "\u{645}\u{2060}\u{646}", "\u{645}<U+2060>\u{646}"),
            ("directions", "\u{202e}a\u{2066}b\u{200f}\u{61c}", "<U+202E>a<U+2066>b<U+200F><U+061C>"),
            ("controls", "\u{1b}[31m\u{9b}\u{7f}\0", "<U+001B>[31m<U+009B><U+007F><U+0000>"),
            ("fillers", "\u{3164}\u{115f}\u{ad}", "<U+3164><U+115F><U+00AD>"),
        ] {
            assert_eq!(escape_controls(text), shown, "{what}");
            assert_eq!(escape_for_terminal(text), shown, "{what}");
        }
    }

    #[test]
    fn the_tables_agree_with_unicode() {
        let (assigned, controls) = (having("Assigned"), having("Cc"));
        let (ignorable, letters) = (having("Default_Ignorable_Code_Point"), having("L"));
        let (pictographic, ideographs) = (having("Extended_Pictographic"), having("Unified_Ideograph"));
        for c in all() {
            let plain = matches!(c, '\t' | '\n' | '\r');
            let annotates = matches!(c, '\u{fff9}'..='\u{fffb}');
            let has_no_form = controls.contains(&c) || ignorable.contains(&c) || annotates;
            assert_eq!(is_invisible(c), !plain && has_no_form, "{c:?}");
            assert!(!assigned.contains(&c) || !pictographic.contains(&c) || is_pictograph(c), "{c:?}");
            assert!(!is_pictograph(c) || c == '\u{2139}' || !letters.contains(&c), "{c:?}");
            assert!(!ideographs.contains(&c) || is_ideograph(c), "{c:?}");
            assert!(!is_invisible(c) || joining_script(c).is_none() && !is_pictograph(c) && !is_ideograph(c), "{c:?}");
        }
    }

    #[test]
    fn letters_that_join_are_of_the_script() {
        let (assigned, inherited, letters) = (having("Assigned"), having("Script=Inherited"), having("L"));
        for script in SCRIPTS {
            let name = if script == Script::Nko { "Nko".to_owned() } else { format!("{script:?}") };
            let own = having(&format!("Script_Extensions={name}"));
            let known: Vec<char> = all().filter(|c| joining_script(*c) == Some(script)).collect();
            for c in known.iter().filter(|c| assigned.contains(c)) {
                assert!(own.contains(c) || inherited.contains(c), "{name}: {c:?}");
            }
            assert!(known.iter().filter(|c| letters.contains(c)).count() > 20, "{name}");
        }
    }

    const SCRIPTS: [Script; 20] = [
        Script::Arabic,
        Script::Syriac,
        Script::Nko,
        Script::Mandaic,
        Script::Devanagari,
        Script::Bengali,
        Script::Gurmukhi,
        Script::Gujarati,
        Script::Oriya,
        Script::Tamil,
        Script::Telugu,
        Script::Kannada,
        Script::Malayalam,
        Script::Sinhala,
        Script::Myanmar,
        Script::Khmer,
        Script::Mongolian,
        Script::Balinese,
        Script::Javanese,
        Script::Adlam,
    ];

    /// The text that was shown so.
    fn unescaped(shown: &str) -> String {
        let escape = Regex::new("<U\\+([0-9A-F]{4,6})>").unwrap();
        let original = escape.replace_all(shown, |found: &regex::Captures<'_>| {
            char::from_u32(u32::from_str_radix(&found[1], 16).unwrap()).unwrap().to_string()
        });
        original.into_owned()
    }

    /// Texts in which everything stands next to everything.
    fn texts() -> impl Strategy<Value = String> {
        const PIECES: &[&str] = &[
            "a",
            "Z",
            "1",
            " ",
            "\n",
            "+",
            "-",
            "\u{e9}",
            "\u{3b1}",
            "\u{430}",
            "\u{65e5}",
            "\u{ac00}",
            "\u{645}",
            "\u{6cc}",
            "\u{915}",
            "\u{94d}",
            "\u{182d}",
            "\u{1f468}",
            "\u{2764}",
            "\u{1f3f4}",
            "\u{1f3fd}",
            "\u{20e3}",
            "\u{200b}",
            "\u{200c}",
            "\u{200d}",
            "\u{200e}",
            "\u{202e}",
            "\u{2060}",
            "\u{fe0e}",
            "\u{fe0f}",
            "\u{fe00}",
            "\u{feff}",
            "\u{ad}",
            "\u{180b}",
            "\u{180e}",
            "\u{e0067}",
            "\u{e007f}",
            "\u{e0100}",
            "\u{e01ef}",
            "\u{1b}",
        ];
        let piece = prop_oneof![4 => prop::sample::select(PIECES).prop_map(str::to_owned), 1 => any::<char>().prop_map(String::from)];
        prop::collection::vec(piece, 0..24).prop_map(|pieces| pieces.concat())
    }

    proptest! {
        #[test]
        fn nothing_is_lost_and_nothing_hides_in_a_word(text in texts()) {
            let shown = escape_controls(&text);
            prop_assert_eq!(unescaped(&shown), unescaped(&text));
            prop_assert_eq!(&escape_controls(&shown), &shown, "what is shown can be seen");
            let chars: Vec<char> = shown.chars().collect();
            for (at, c) in chars.iter().enumerate().filter(|(_, c)| is_invisible(**c)) {
                let near = |at: Option<usize>| at.and_then(|at| chars.get(at)).copied();
                let (last, next) = (near(at.checked_sub(1)), near(Some(at + 1)));
                prop_assert!(!matches!(c, '\u{200e}' | '\u{202e}') && !c.is_control(), "{:?} in {:?}", c, shown);
                let in_a_word = |c: Option<char>| c.is_some_and(|c| c.is_ascii_alphanumeric() || "\u{e9}\u{3b1}\u{430}\u{ac00}".contains(c));
                prop_assert!(!in_a_word(last) || !in_a_word(next), "{:?} in {:?}", c, shown);
                let in_emoji = (Some('\u{fe0f}'), Some('\u{200d}'));
                let in_a_flag = last.is_some_and(|c| ('\u{e0061}'..='\u{e007f}').contains(&c));
                let in_a_row = last.is_some_and(is_invisible) && (last, Some(*c)) != in_emoji && !in_a_flag;
                prop_assert!(!in_a_row, "{:?} in {:?}", c, shown);
            }
        }
    }
}

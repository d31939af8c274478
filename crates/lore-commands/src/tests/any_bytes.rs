//! Whatever files and questions hold, there is an answer.

use lore_testkit::Random;

use super::*;

/// Pieces that mean something to one of the parsers.
const PIECES: [&str; 36] = [
    "---\n",
    "---",
    "\n",
    "\r\n",
    "c1: git\n",
    "c2: a",
    ": ",
    "[",
    "]",
    "{",
    "}",
    "{uv-",
    "{input_text}",
    "uv-x}",
    "\"",
    "\\",
    ",",
    "&a *a",
    "!!x ",
    "\u{feff}",
    "\0",
    "コミット",
    "ー",
    "・",
    "変更",
    "して",
    "ｺ",
    "é",
    "e\u{301}",
    "👩\u{200d}👧",
    "group-commit",
    "HTTPServer",
    "_",
    "..",
    "/",
    "\u{1b}[31m",
];

fn text(random: &mut Random) -> String {
    let pieces = random.below(40);
    (0..pieces).map(|_| *random.pick(&PIECES)).collect()
}

#[test]
fn no_text_is_too_odd() {
    let mut random = Random::new(4);
    let place = Place::with_prompt("x");
    let file = |path: &str| place.project().join(path);
    for round in 0..500 {
        let (one, two) = (text(&mut random), text(&mut random));
        tokens::tokens(&one);
        let parts = prompt::split(&one);
        assert!(one.ends_with(parts.body), "{one:?}");
        if let Some(front) = parts.frontmatter {
            drop(prompt::fields(front));
        }
        let values = BTreeMap::from([("input_text".to_owned(), two.clone()), ("uv-x".to_owned(), one.clone())]);
        let filled = render::fill(&one, &values).unwrap();
        assert!(filled.text.ends_with('\n') && !filled.text.ends_with("\n\n"), "{:?}", filled.text);
        drop(Registry::parse(&one));
        if round % 20 == 0 {
            write(&file(".agent/climpt/prompts/git/commit/changes/f_default.md"), &one);
            write(&file(".agent/climpt/config/git-user.yml"), &two);
            let options =
                ExecuteOptions { edition: Some(two.clone()), stdin: Some(one.clone()), ..ExecuteOptions::default() };
            place.run(&options);
            place.run_named(&name(&one, &two, "x"), &ExecuteOptions::default());
            drop(place.commands.search(&place.project(), AGENT, &two));
            drop(place.commands.check(&place.project(), None));
            place.commands.complete_path(&place.project(), &one);
            write(&file(".agent/climpt/registry.json"), &two);
            place.commands.list(&place.project());
            write(&file(".agent/climpt/registry.json"), &registry(&[("git", "commit", "changes")]));
        }
    }
}

//! Whatever is asked of `search_code`: a question that keeps what the schema promises, or an error that says what to do.

use lore_core::search::When;
use lore_model::Code;
use proptest::{collection::btree_map, prelude::*, sample::select};
use serde_json::{Map, Value, json};

use super::{Asked, Input, Mode};
use crate::{arguments, schema};

/// What people and hosts send, fit and unfit.
const TEXTS: &[&str] = &[
    "",
    " ",
    "word",
    "fts",
    "FTS",
    "semantic",
    "hybrid",
    "fuzzy",
    "fast",
    "balanced",
    "high",
    "true",
    "false",
    "python",
    "py",
    ".rs",
    "C++",
    "no-such-language",
    "*/tests/*",
    "[",
    "{a",
    "**",
    "2024-01-01..2024-12-31",
    "2024-12-31..2024-01-01",
    "2024-02-30..",
    "..",
    "...",
    "..2024-01-01",
    "0000-01-01..9999-12-31",
    "-9999-01-01..",
    "2024-01-01",
    "2024-01-01 .. 2024-06-30",
    "99999999-01-01..x",
    "HEAD~5",
    "-n",
    "a\0b",
    "é..é",
    "added",
    "added,modified",
    "deleted,,",
    "binary",
    "nonsense",
    "commit_message",
    "commit_diff",
    "0.5",
    "NaN",
    "inf",
    "1e400",
    "5",
    "-1",
    "99999999999999999999",
    "[1",
    "[\"a\"]",
    "(((",
    "\u{202e}",
];

fn value() -> impl Strategy<Value = Value> {
    prop_oneof![
        6 => select(TEXTS).prop_map(Value::from),
        1 => any::<String>().prop_map(Value::from),
        2 => any::<bool>().prop_map(Value::from),
        2 => (-3_i64..120).prop_map(Value::from),
        1 => any::<i64>().prop_map(Value::from),
        1 => any::<f64>().prop_map(Value::from),
        1 => Just(Value::Null),
        1 => prop::collection::vec(select(TEXTS), 0..3).prop_map(Value::from),
        1 => Just(json!({"a": 1})),
    ]
}

fn names() -> Vec<String> {
    let properties = schema::input::<Input>();
    properties["properties"]
        .as_object()
        .expect("an object")
        .keys()
        .cloned()
        .chain(["no_such_name".to_owned()])
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_arguments_are_understood_or_explained(
        query in prop_oneof![select(TEXTS).prop_map(str::to_owned), any::<String>()],
        others in btree_map(select(names()), value(), 0..6),
    ) {
        let mut given: Map<String, Value> = others.into_iter().collect();
        given.entry("query_text").or_insert(query.into());
        let read = arguments::read::<Input>("search_code", &schema::input::<Input>(), given.clone());
        let understood = read.and_then(|(input, _)| Asked::new(&input)).and_then(|asked| {
            asked.meaning.check()?;
            if asked.mode != Mode::Semantic {
                asked.lines.check()?;
            }
            Ok(asked)
        });
        match understood {
            Err(failure) => {
                prop_assert_eq!(failure.code, Code::InvalidArgument, "{:?}", failure);
                prop_assert!(failure.hint.as_ref().is_some_and(|hint| !hint.is_empty()), "{given:?}: {failure:?}");
                prop_assert!(failure.message.len() < 1000, "{failure:?}");
            }
            Ok(asked) => {
                prop_assert!((1..=100).contains(&asked.limit) && asked.lines.context <= 50);
                prop_assert!((0.0..=1.0).contains(&asked.meaning.min_score));
                prop_assert!(asked.evolution.is_none_or(|steps| steps >= 1));
                if let When::During(period) = &asked.meaning.when {
                    let (from, to) = (period.from.unwrap_or(i64::MIN), period.to.unwrap_or(i64::MAX));
                    prop_assert!(from <= to, "a time that ends before it begins: {given:?}");
                }
            }
        }
    }
}

fn asked(given: &Value) -> Result<Asked, lore_model::Failure> {
    let given = given.as_object().expect("an object").clone();
    arguments::read::<Input>("search_code", &schema::input::<Input>(), given).and_then(|(input, _)| Asked::new(&input))
}

#[test]
fn as_many_steps_are_asked_for_as_the_caller_says() {
    for (limit, steps) in
        [(json!(0), 1), (json!(1), 1), (json!(1000), 1000), (json!(1e30), usize::try_from(i64::MAX).unwrap())]
    {
        let asked = asked(&json!({"query_text": "x", "show_evolution": true, "evolution_limit": limit})).ok().unwrap();
        assert_eq!((asked.evolution, asked.notes), (Some(steps), Vec::new()), "{limit}");
    }
}

#[test]
fn so_many_extensions_are_named_at_most() {
    let with = |count: usize| asked(&json!({"query_text": "x", "file_extensions": vec![".rs"; count]}));
    assert!(with(5000).is_ok());
    let refused = with(5001).err().unwrap();
    assert_eq!((refused.code, refused.message.as_str()), (Code::InvalidArgument, "`file_extensions` names 5001"));
}

//! Style sheets: CSS, and of SCSS and Less what is written like it.
//!
//! Rules are data: neighbours stay together.

use lore_model::{ChunkKind, SymbolKind};
use tree_sitter::Node;

use crate::{
    engine::{At, Found, Role, Shape, Source, Spec, count_one, first_of},
    language::{Method, Row},
};

pub(crate) static ROW: Row = Row {
    name: "css",
    extensions: &["css", "scss", "less", "pcss", "postcss", "wxss"],
    method: Method::Tree(&SPEC),
    ..Row::LINES
};

static SPEC: Spec =
    Spec { grammar: || tree_sitter_css::LANGUAGE.into(), rules: &[RULES], kind: ChunkKind::Data, ..Spec::CODE };

const RULES: &[(&str, Role)] = &[
    ("comment", Role::Comment),
    ("js_comment", Role::Comment),
    ("import_statement", Role::Import(count_one)),
    ("rule_set", Role::Define(SymbolKind::Section, Shape::Data, At::Kind("selectors"))),
    ("keyframes_statement", Role::Define(SymbolKind::Section, Shape::Data, At::Kind("keyframes_name"))),
    ("media_statement", Role::Hook(at_rule)),
    ("supports_statement", Role::Hook(at_rule)),
    ("scope_statement", Role::Hook(at_rule)),
    ("at_rule", Role::Hook(at_rule)),
    ("block", Role::Body),
    ("declaration", Role::Ignore),
];

/// A rule with rules in it is called by what stands before its block: `@media (max-width: 600px)`.
fn at_rule(_: &Source<'_>, node: Node<'_>) -> Option<Found> {
    let block = first_of(node, "block")?;
    let has_rules = first_of(block, "rule_set").is_some();
    let shape = if has_rules { Shape::Container } else { Shape::Data };
    Some(Found { symbol: SymbolKind::Section, shape, name: node.start_byte()..block.start_byte(), container: None })
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::languages::testing::check;

    #[test]
    fn rules_stay_together() {
        let text = "@import \"x.css\";\n\n/* Colours. */\n:root {\n  --a: 1px;\n}\n\n.a,\n.b > p {\n  color: red;\n  &:hover { color: blue }\n}\n\n@font-face {\n  font-family: x;\n}\n\n/* Small screens. */\n@media (max-width: 600px) {\n  .c { d: e }\n  .f { g: h }\n}\n\n@keyframes spin {\n  from { a: b }\n  to { c: d }\n}\n";
        check("css", text, &expect![[r#"
            data 1-16 names :root .a, .b > p &:hover @font-face prose /* Colours. */
            data 17-22 section `@media (max-width: 600px)` names @media (max-width: 600px) .c .f prose /* Small screens. */
            data 23-27 section `spin`
              4-6 section `:root`: :root
              8-12 section `.a, .b > p`: .a, .b > p
              11-11 section `&:hover` in `.a, .b > p`: &:hover
              14-16 section `@font-face`: @font-face
              19-22 section `@media (max-width: 600px)`: @media (max-width: 600px)
              20-20 section `.c` in `@media (max-width: 600px)`: .c
              21-21 section `.f` in `@media (max-width: 600px)`: .f
              24-27 section `spin`: @keyframes spin { from { a: b } to { c: d } }
            imports 1
        "#]]);
    }

    #[test]
    fn large_sheets_are_cut_between_rules() {
        let rules = |prefix: &str| (0..12).map(|it| format!("  .{prefix}{it} {{\n    a: b;\n    c: d;\n  }}\n")).collect::<Vec<_>>().concat();
        let text = format!("{}\n@media print {{\n{}}}\n", rules("a"), rules("b"));
        check("css", &text, &expect![[r#"
            data 1-40 names .a0 .a1 .a2 .a3 .a4 .a5 .a6 .a7 .a8 .a9
            data 41-48 names .a10 .a11
            data 49-86 section `@media print` names @media print .b0 .b1 .b2 .b3 .b4 .b5 .b6 .b7 .b8
            data 87-99 in `@media print` names .b9 .b10 .b11
              1-4 section `.a0`: .a0
              5-8 section `.a1`: .a1
              9-12 section `.a2`: .a2
              13-16 section `.a3`: .a3
              17-20 section `.a4`: .a4
              21-24 section `.a5`: .a5
              25-28 section `.a6`: .a6
              29-32 section `.a7`: .a7
              33-36 section `.a8`: .a8
              37-40 section `.a9`: .a9
              41-44 section `.a10`: .a10
              45-48 section `.a11`: .a11
              50-99 section `@media print`: @media print
              51-54 section `.b0` in `@media print`: .b0
              55-58 section `.b1` in `@media print`: .b1
              59-62 section `.b2` in `@media print`: .b2
              63-66 section `.b3` in `@media print`: .b3
              67-70 section `.b4` in `@media print`: .b4
              71-74 section `.b5` in `@media print`: .b5
              75-78 section `.b6` in `@media print`: .b6
              79-82 section `.b7` in `@media print`: .b7
              83-86 section `.b8` in `@media print`: .b8
              87-90 section `.b9` in `@media print`: .b9
              91-94 section `.b10` in `@media print`: .b10
              95-98 section `.b11` in `@media print`: .b11
        "#]]);
    }

    #[test]
    fn errors_leave_the_rest_as_it_is() {
        check("css", "$x: 1px;\n@mixin foo($a) { color: $a; }\n// Why.\n.a {\n  @include foo(1);\n  .b { c: d; }\n}\n", &expect![[r#"
            data 1-7 section `.a` names .a .b
              4-7 section `.a`: .a
              6-6 section `.b` in `.a`: .b
        "#]]);
        check("css", ".a { b: \n.c { d: e }\n", &expect![[r#"
            data 1-2 section `.a` names .a b: .c
              1-2 section `.a`: .a
              1-2 section `b: .c` in `.a`: b: .c
        "#]]);
    }
}

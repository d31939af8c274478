//! PHP, with the HTML around it.

use lore_model::SymbolKind;
use tree_sitter::Node;

use crate::{
    engine::{At, Found, Role, Shape, Source, Spec, children, define, field, first_of, range},
    language::{Method, Row},
};

pub(crate) static ROW: Row = Row {
    name: "php",
    extensions: &["php", "phtml", "php3", "php4", "php5", "php7", "php8", "phps", "phpt"],
    files: &["artisan"],
    programs: &["php"],
    method: Method::Tree(&SPEC),
    ..Row::LINES
};

static SPEC: Spec = Spec {
    grammar: || tree_sitter_php::LANGUAGE_PHP.into(),
    rules: &[RULES],
    markers: &["//", "/*", "#", "function", "class ", "trait ", "interface ", "enum "],
    separator: "::",
    ..Spec::CODE
};

const RULES: &[(&str, Role)] = &[
    ("comment", Role::Comment),
    ("php_tag", Role::Ignore),
    ("text", Role::Hook(nothing)),
    ("namespace_definition", Role::Package(At::Field("name"))),
    ("namespace_use_declaration", Role::Import(count_uses)),
    ("class_declaration", define(SymbolKind::Class, Shape::Container)),
    ("interface_declaration", define(SymbolKind::Interface, Shape::Container)),
    ("trait_declaration", define(SymbolKind::Trait, Shape::Container)),
    ("enum_declaration", define(SymbolKind::Enum, Shape::Container)),
    ("declaration_list", Role::Body),
    ("enum_declaration_list", Role::Body),
    ("use_declaration", Role::Field(At::Kind("name"))),
    ("enum_case", field()),
    ("property_declaration", Role::Hook(property)),
    ("const_declaration", Role::Hook(constant)),
    ("expression_statement", Role::Hook(defined)),
    ("method_declaration", define(SymbolKind::Method, Shape::Function)),
    ("function_definition", define(SymbolKind::Function, Shape::Function)),
    ("string", Role::Ignore),
];

/// HTML is a statement.
fn nothing(_: &Source<'_>, _: Node<'_>) -> Option<Found> {
    None
}

fn count_uses(_: &Source<'_>, node: Node<'_>) -> u32 {
    let uses = |node| children(node).filter(|child| child.kind() == "namespace_use_clause").count();
    let listed: usize = node.child_by_field_name("body").map_or(0, uses);
    u32::try_from(uses(node) + listed).unwrap_or(u32::MAX)
}

/// `private ?int $x = 1;`, without the `$`.
fn property(_: &Source<'_>, node: Node<'_>) -> Option<Found> {
    let name = first_of(node, "property_element")?.child_by_field_name("name")?.byte_range();
    Some(Found { symbol: SymbolKind::Variable, shape: Shape::Data, name: name.start + 1..name.end, container: None })
}

fn constant(_: &Source<'_>, node: Node<'_>) -> Option<Found> {
    let name = At::Kind("name").find(first_of(node, "const_element")?)?;
    Some(Found { symbol: SymbolKind::Constant, shape: Shape::Data, name, container: None })
}

/// `define('NAME', …)`.
fn defined(source: &Source<'_>, node: Node<'_>) -> Option<Found> {
    let call = first_of(node, "function_call_expression")?;
    if &source.bytes[range(call, "function")?] != b"define" {
        return None;
    }
    let argument = first_of(call.child_by_field_name("arguments")?, "argument")?;
    let name = children(argument).find(|it| matches!(it.kind(), "string" | "encapsed_string"))?.byte_range();
    Some(Found { symbol: SymbolKind::Constant, shape: Shape::Data, name, container: None })
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::languages::testing::check;

    #[test]
    fn definitions_have_their_comments() {
        let text = r#"<?php
// A file.
declare(strict_types=1);

namespace App\Http;

use A\B;
use C\{D, E as F};

const LIMIT = 1;
define('OTHER', 2);

/**
 * Answers.
 */
#[Route('/x')]
final class Answer extends Base implements \Countable
{
    use Loggable;

    public const KIND = 'a';
    private ?int $count = 1; // how many

    // Makes one.
    public function __construct(private int $size)
    {
    }

    /** How many. */
    #[Pure]
    public static function count(array $of = []): int
    {
        return 1;
    }
}

interface Asks { public function ask(string $x): ?string; }

trait Loggable {
    abstract function log();
}

enum Suit: string
{
    case Hearts = 'h';
    const Wild = self::Hearts;
    public function label(): string { return 'x'; }
}

if (!function_exists('helper')) {
    function helper($x)
    {
        return $x;
    }
}

return helper(1);
"#;
        check("php", text, &expect![[r#"
            definitions 1-8 prose // A file.
            data 9-11 names LIMIT OTHER
            definitions 12-35 class `Answer` names Answer Loggable KIND count __construct prose /** * Answers. */ | // how many // Makes on… | /** How many. */
            definitions 36-41 names Asks ask Loggable log
            definitions 42-48 enum `Suit` names Suit Hearts Wild label
            definitions 49-57 names helper
              10-10 constant `LIMIT`: const LIMIT = 1;
              11-11 constant `OTHER`: define('OTHER', 2);
              16-35 class `Answer`: final class Answer extends Base implements \Countable
              21-21 constant `KIND` in `Answer`: public const KIND = 'a';
              25-27 method `__construct` in `Answer`: public function __construct(private int $size)
              30-34 method `count` in `Answer`: public static function count(array $of = []): int
              37-37 interface `Asks`: interface Asks
              37-37 method `ask` in `Asks`: public function ask(string $x): ?string;
              39-41 trait `Loggable`: trait Loggable
              40-40 method `log` in `Loggable`: abstract function log();
              43-48 enum `Suit`: enum Suit: string
              46-46 constant `Wild` in `Suit`: const Wild = self::Hearts;
              47-47 method `label` in `Suit`: public function label(): string
              51-54 function `helper`: function helper($x)
            package App\Http
            imports 3
        "#]]);
    }

    #[test]
    fn a_file_may_begin_with_html() {
        check("php", "<html>\n<body>\n<?php\n// Shows it.\nfunction show($x) {\n    echo $x;\n    echo $x;\n}\n?>\n<p>\n<?php show(1) ?>\n</p>\n</body>\n</html>\n", &expect![[r#"
            definitions 1-14 function `show` prose // Shows it.
              5-8 function `show`: function show($x)
        "#]]);
    }

    #[test]
    fn errors_leave_the_rest_as_it_is() {
        check("php", "<?php\nclass A {\n    function b() {\n        $x = [1;\n    }\n\n    function c() {\n        return 1;\n    }\n}\n", &expect![[r#"
            definitions 1-10 class `A` names A b c
              2-10 class `A`: class A
              3-5 method `b` in `A`: function b()
              7-9 method `c` in `A`: function c()
        "#]]);
    }
}

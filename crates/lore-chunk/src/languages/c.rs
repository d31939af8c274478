//! C.

use std::ops::Range;

use lore_model::SymbolKind;
use tree_sitter::Node;

use super::c_macros;
use crate::{
    engine::{Found, Role, Shape, Source, Spec, children, count_one, define, field, first_of, range},
    language::{Method, Row},
};

pub(crate) static ROW: Row =
    Row { name: "c", extensions: &["c", "h"], claims: Some(is_c), method: Method::Tree(&SPEC), ..Row::LINES };

static SPEC: Spec = Spec {
    grammar: || tree_sitter_c::LANGUAGE.into(),
    rules: &[RULES],
    markers: &["//", "/*"],
    separator: "::",
    hide: Some(c_macros::hide),
    ..Spec::CODE
};

/// C++ builds on these.
pub(crate) const RULES: &[(&str, Role)] = &[
    ("comment", Role::Comment),
    ("preproc_include", Role::Import(count_one)),
    ("preproc_def", define(SymbolKind::Macro, Shape::Data)),
    ("preproc_function_def", define(SymbolKind::Macro, Shape::Leaf)),
    ("preproc_call", Role::Lead),
    ("preproc_if", Role::Open),
    ("preproc_ifdef", Role::Open),
    ("preproc_elif", Role::Open),
    ("preproc_elifdef", Role::Open),
    ("preproc_else", Role::Open),
    // The conditions of those.
    ("identifier", Role::Ignore),
    ("number_literal", Role::Ignore),
    ("preproc_defined", Role::Ignore),
    ("unary_expression", Role::Ignore),
    ("binary_expression", Role::Ignore),
    ("linkage_specification", Role::Open),
    ("declaration_list", Role::Body),
    ("attribute_declaration", Role::Lead),
    ("function_definition", Role::Hook(function)),
    ("declaration", Role::Hook(declaration)),
    ("struct_specifier", Role::Hook(specifier)),
    ("union_specifier", Role::Hook(specifier)),
    ("enum_specifier", Role::Hook(specifier)),
    ("field_declaration_list", Role::Body),
    ("field_declaration", Role::Case(member)),
    ("enumerator_list", Role::Body),
    ("enumerator", field()),
    ("type_definition", Role::Case(type_definition)),
    // The names that follow the structure in a `typedef`.
    ("type_identifier", Role::Case(further_name)),
    ("pointer_declarator", Role::Case(further_name)),
    ("array_declarator", Role::Case(further_name)),
    ("string_literal", Role::Ignore),
];

/// A file that both C and C++ could be is C if nothing at the start of a line says C++.
fn is_c(head: &[u8]) -> bool {
    const WORDS: [&[u8]; 8] =
        [b"class ", b"namespace ", b"template<", b"template <", b"using ", b"public:", b"private:", b"protected:"];
    let is_cpp = |line: &[u8]| {
        let line = line.trim_ascii();
        let header = line.strip_prefix(b"#include <").and_then(|rest| rest.split(|byte| *byte == b'>').next());
        let is_prose = line.starts_with(b"*") || line.starts_with(b"/") || line.starts_with(b"#");
        let code = line.split(|byte| matches!(byte, b'"' | b'/')).next().unwrap_or_default();
        let is_qualified = memchr::memmem::find_iter(code, b"::")
            .any(|at| at > 0 && (code[at - 1].is_ascii_alphanumeric() || matches!(code[at - 1], b'_' | b'>')));
        header.is_some_and(|header| !header.contains(&b'.'))
            || (!is_prose && (is_qualified || WORDS.iter().any(|word| line.starts_with(word))))
    };
    !head.split(|byte| *byte == b'\n').any(is_cpp)
}

/// What a declarator declares, below pointers, arrays and parameters.
pub(crate) struct Declared {
    pub(crate) name: Range<usize>,
    pub(crate) container: Option<Range<usize>>,
    /// Whether it is a function rather than a variable, even one that points to a function.
    pub(crate) is_function: bool,
}

/// Finds the name in a declarator: `*(*name[3])(int)`.
pub(crate) fn declared(mut node: Node<'_>) -> Option<Declared> {
    let mut is_function = false;
    loop {
        match node.kind() {
            "function_declarator" => is_function = true,
            "pointer_declarator" | "array_declarator" | "reference_declarator" => is_function = false,
            "init_declarator" | "parenthesized_declarator" | "attributed_declarator" | "variadic_declarator" => {}
            "qualified_identifier" => return qualified(node, is_function),
            "operator_cast" => {
                let name = node.start_byte()..node.child_by_field_name("type")?.end_byte();
                return Some(Declared { name, container: None, is_function: true });
            }
            "template_function" | "template_method" | "template_type" => node = node.child_by_field_name("name")?,
            _ => return Some(Declared { name: node.byte_range(), container: None, is_function }),
        }
        if !node.kind().contains("identifier") {
            let inner = node.child_by_field_name("declarator");
            let by_place = || {
                let is_inner = |it: &Node<'_>| it.kind().ends_with("declarator") || it.kind().contains("identifier");
                children(node).find(is_inner)
            };
            node = inner.or_else(by_place)?;
        }
    }
}

/// `A::B::name`: what stands before the last name is the container.
fn qualified(node: Node<'_>, is_function: bool) -> Option<Declared> {
    let first = node.child_by_field_name("scope");
    let (mut scope, mut name) = (first, node.child_by_field_name("name")?);
    while name.kind() == "qualified_identifier" {
        scope = name.child_by_field_name("scope").or(scope);
        name = name.child_by_field_name("name")?;
    }
    // Without the arguments of a template.
    let end = scope.map(|scope| range(scope, "name").unwrap_or(scope.byte_range()).end);
    let container = first.zip(end).map(|(first, end)| first.start_byte()..end);
    Some(Declared { container, is_function: is_function || name.kind() == "operator_cast", ..declared(name)? })
}

/// A function, or a class with a macro before its name: `class EXPORT Name { … }` is read as a function.
fn function(_: &Source<'_>, node: Node<'_>) -> Option<Found> {
    let declarator = node.child_by_field_name("declarator")?;
    if let Some(symbol) = misread_class(node) {
        return Some(Found { symbol, shape: Shape::Container, name: declarator.byte_range(), container: None });
    }
    let Declared { name, container, .. } = declared(declarator)?;
    Some(Found { symbol: SymbolKind::Function, shape: Shape::Function, name, container })
}

/// What a function is that is a class.
fn misread_class(node: Node<'_>) -> Option<SymbolKind> {
    let of = node.child_by_field_name("type").filter(|of| of.child_by_field_name("body").is_none())?;
    node.child_by_field_name("declarator").filter(|it| it.kind() == "identifier")?;
    match of.kind() {
        "class_specifier" => Some(SymbolKind::Class),
        "struct_specifier" => Some(SymbolKind::Struct),
        _ => None,
    }
}

/// To ask for the parents of deeper nodes is slow. They are inside of functions, or behind hundreds of `#elif`.
const DEEPEST: usize = 256;

/// A prototype, a variable or a field.
fn declaration(source: &Source<'_>, node: Node<'_>) -> Option<Found> {
    let Declared { name, container, is_function } = declared(node.child_by_field_name("declarator")?)?;
    if is_function {
        // In a function, `Type name(argument);` is a variable.
        let is_local = source.depth() > DEEPEST || {
            let block = node.parent().filter(|parent| parent.kind() == "compound_statement");
            block.is_some_and(|it| it.parent().and_then(misread_class).is_none())
        };
        return (!is_local).then_some(Found { symbol: SymbolKind::Function, shape: Shape::Function, name, container });
    }
    let is_fixed = children(node).any(|child| {
        child.kind() == "type_qualifier" && matches!(&source.bytes[child.byte_range()], b"const" | b"constexpr")
    });
    let is_constant = is_fixed && (node.kind() == "declaration" || first_of(node, "storage_class_specifier").is_some());
    let symbol = if is_constant { SymbolKind::Constant } else { SymbolKind::Variable };
    Some(Found { symbol, shape: Shape::Data, name, container })
}

/// A type that is defined in another, or a field.
fn member(_: &Source<'_>, node: Node<'_>) -> Role {
    let is_type = node.child_by_field_name("type").is_some_and(|of| of.child_by_field_name("body").is_some());
    let is_named = node.child_by_field_name("declarator").is_some();
    if is_type && !is_named { Role::Wrap } else { Role::Hook(declaration) }
}

/// A structure, union, class or enumeration with a body; without one, it is only mentioned.
pub(crate) fn specifier(source: &Source<'_>, node: Node<'_>) -> Option<Found> {
    node.child_by_field_name("body")?;
    let own = node.child_by_field_name("name");
    let by_typedef = || {
        let parent = if source.depth() > DEEPEST { None } else { node.parent() };
        let outer = parent.filter(|outer| outer.kind() == "type_definition")?;
        outer.child_by_field_name("declarator")
    };
    let named = own.or_else(by_typedef).and_then(declared);
    let (name, container) = named.map_or((0..0, None), |it| (it.name, it.container));
    let (symbol, shape) = match node.kind() {
        "enum_specifier" => (SymbolKind::Enum, Shape::Data),
        "union_specifier" => (SymbolKind::Union, Shape::Container),
        "class_specifier" => (SymbolKind::Class, Shape::Container),
        _ => (SymbolKind::Struct, Shape::Container),
    };
    Some(Found { symbol, shape, name, container })
}

/// `typedef struct a { … } b;` defines two names, `typedef struct a b;` one.
fn type_definition(_: &Source<'_>, node: Node<'_>) -> Role {
    let of = node.child_by_field_name("type");
    if of.is_some_and(|of| of.child_by_field_name("body").is_some()) { Role::Wrap } else { Role::Hook(alias) }
}

fn alias(_: &Source<'_>, node: Node<'_>) -> Option<Found> {
    let declarator = if node.kind() == "type_definition" { node.child_by_field_name("declarator")? } else { node };
    Some(Found { symbol: SymbolKind::Type, shape: Shape::Leaf, name: declared(declarator)?.name, container: None })
}

/// A further name of a structure; the first name of one without a tag is its own.
fn further_name(source: &Source<'_>, node: Node<'_>) -> Role {
    if source.depth() > DEEPEST {
        return Role::Ignore;
    }
    let outer = node.parent().filter(|outer| outer.kind() == "type_definition");
    let has_tag = outer.and_then(|it| it.child_by_field_name("type")).is_some_and(|it| it.child_by_field_name("name").is_some());
    let is_first = outer.and_then(|it| it.child_by_field_name("declarator")) == Some(node);
    if outer.is_some() && (has_tag || !is_first) { Role::Hook(alias) } else { Role::Ignore }
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::{Language, languages::testing::check};

    #[test]
    fn definitions_have_their_comments() {
        let text = r#"/* Licence. */
#ifndef LIST_H
#define LIST_H

#include <stddef.h>
#include "other.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Most. */
#define LIST_MAX 100
#define LIST_EACH(list, it) \
    for (it = (list)->head; it; it = it->next)

/* Colours. */
enum colour { RED, GREEN = 2 };
enum { ANONYMOUS };

/* A node. */
typedef struct node {
    /* What is next. */
    struct node *next;
    void (*free)(void *value);
    union {
        int number;
        char *text;
    } value;
} node_t, *node_p;

typedef struct {
    size_t length;
} list;

typedef unsigned long size;
typedef int (*compare_fn)(const void *a, const void *b);
struct forward;

static const char *names[] = { "a", "b" };
int count, other = 1;

/* Makes one. */
list *list_new(void);
void list_free(list *of,
               int deep);

#if defined(SMALL) && !defined(LARGE)
static inline unsigned long long
list_size(const list *of)
{
    // Inside.
    int local(int);
    return of->length;
}
#else
int (*callback(int which))(int) {
    char *text = "/* no comment */";
    return NULL;
}
#endif

#ifdef __cplusplus
}
#endif
#endif
"#;
        check("c", text, &expect![[r#"
            data 1-3 macro `LIST_H` prose /* Licence. */
            data 4-13 macro `LIST_MAX` prose /* Most. */
            definitions 14-15 macro `LIST_EACH`
            data 16-19 names colour RED GREEN ANONYMOUS prose /* Colours. */
            definitions 20-30 struct `node` names node next free value node_t node_p prose /* A node. */ | /* What is next. */
            definitions 31-37 names length list size compare_fn
            data 38-41 names names count
            definitions 42-46 names list_new list_free prose /* Makes one. */
            definitions 47-55 function `list_size` prose // Inside.
            definitions 56-66 function `callback`
              3-3 macro `LIST_H`: #define LIST_H
              13-13 macro `LIST_MAX`: #define LIST_MAX 100
              14-15 macro `LIST_EACH`: #define LIST_EACH(list, it) \ for (it = (list)->head; it; it = it->next)
              18-18 enum `colour`: enum colour
              22-30 struct `node`: typedef struct node
              30-30 type `node_t`: node_t
              30-30 type `node_p`: *node_p
              32-34 struct `list`: typedef struct
              36-36 type `size`: typedef unsigned long size;
              37-37 type `compare_fn`: typedef int (*compare_fn)(const void *a, const void *b);
              40-40 constant `names`: static const char *names[] = { "a", "b" };
              41-41 variable `count`: int count, other = 1;
              44-44 function `list_new`: list *list_new(void);
              45-46 function `list_free`: void list_free(list *of, int deep);
              49-55 function `list_size`: static inline unsigned long long list_size(const list *of)
              57-60 function `callback`: int (*callback(int which))(int)
            imports 2
        "#]]);
    }

    #[test]
    fn macros_and_conditions_do_not_hide_what_they_stand_in() {
        let text = r#"JEMALLOC_EXPORT void JEMALLOC_NOTHROW *je_malloc(size_t size) JEMALLOC_ATTR(malloc) {
    return NULL;
}

#ifdef A
int open_it(int a) {
#else
int open_it(void) {
#endif
    return 1;
}

int last(void) {
    return 2;
}
"#;
        check("c", text, &expect![[r#"
            definitions 1-3 function `je_malloc`
            definitions 4-11 function `open_it`
            definitions 12-15 function `last`
              1-3 function `je_malloc`: void JEMALLOC_NOTHROW *je_malloc(size_t size) JEMALLOC_ATTR(malloc)
              6-11 function `open_it`: int open_it(int a)
              13-15 function `last`: int last(void)
        "#]]);
    }

    #[test]
    fn errors_leave_the_rest_as_it_is() {
        check("c", "int a( {\n    x = ;\n}\n\nstruct b {\n    int c\n    int d;\n};\n\nint e(void) {\n    int y = 1;\n    return y;\n}\n", &expect![[r#"
            definitions 1-8 function `a`
            definitions 9-13 function `e`
              1-8 function `a`: int a( { x = ; } struct b { int c int d; };
              10-13 function `e`: int e(void)
        "#]]);
    }

    #[test]
    fn headers_are_c_unless_they_look_like_cpp() {
        let check = |head: &str, expected: &str| assert_eq!(Language::of("a.h", head.as_bytes()).name(), expected, "{head}");
        check("/* The class of A::b. */\n#ifdef __cplusplus\nextern \"C\" {\n#endif\nint a(void);\n", "c");
        check("#include <stdio.h>\n * class of\n", "c");
        check("#include <string>\n", "cpp");
        check("namespace a {\n", "cpp");
        check("std::string a();\n", "cpp");
        check("  template <class T>\n", "cpp");
    }
}

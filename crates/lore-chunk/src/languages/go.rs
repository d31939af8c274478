//! Go.

use lore_model::SymbolKind;
use tree_sitter::Node;

use crate::{
    engine::{At, Found, Role, Shape, Source, Spec, children, define, range},
    language::{Method, Row},
};

pub(crate) static ROW: Row = Row { name: "go", extensions: &["go"], method: Method::Tree(&SPEC), ..Row::LINES };

static SPEC: Spec = Spec {
    grammar: || tree_sitter_go::LANGUAGE.into(),
    rules: &[RULES],
    markers: &["//", "/*"],
    ..Spec::CODE
};

const RULES: &[(&str, Role)] = &[
    ("comment", Role::Comment),
    ("package_clause", Role::Package(At::Kind("package_identifier"))),
    ("import_declaration", Role::Import(count_specs)),
    ("function_declaration", define(SymbolKind::Function, Shape::Function)),
    ("method_declaration", Role::Hook(method)),
    ("type_declaration", Role::Wrap),
    ("type_spec", Role::Hook(type_spec)),
    ("type_alias", define(SymbolKind::Type, Shape::Leaf)),
    ("struct_type", Role::Open),
    ("interface_type", Role::Body),
    ("field_declaration_list", Role::Body),
    ("field_declaration", Role::Field(At::Field("name"))),
    ("method_elem", Role::Field(At::Field("name"))),
    ("const_declaration", Role::Wrap),
    ("const_spec", define(SymbolKind::Constant, Shape::Data)),
    ("var_declaration", Role::Wrap),
    ("var_spec_list", Role::Wrap),
    ("var_spec", define(SymbolKind::Variable, Shape::Data)),
];

fn count_specs(_: &Source<'_>, node: Node<'_>) -> u32 {
    let specs = |node| children(node).filter(|child| child.kind() == "import_spec").count();
    let listed: usize = children(node).filter(|child| child.kind() == "import_spec_list").map(specs).sum();
    u32::try_from(specs(node) + listed).unwrap_or(u32::MAX)
}

/// A method belongs to the type of its receiver, whose pointer and parameters are left out.
fn method(_: &Source<'_>, node: Node<'_>) -> Option<Found> {
    let receiver = node.child_by_field_name("receiver")?;
    let mut of = children(receiver).find_map(|parameter| parameter.child_by_field_name("type"));
    while let Some(outer) = of.filter(|it| matches!(it.kind(), "pointer_type" | "generic_type" | "parenthesized_type")) {
        of = children(outer).find(Node::is_named);
    }
    let container = of.map(|of| of.byte_range());
    Some(Found { symbol: SymbolKind::Method, shape: Shape::Function, name: range(node, "name")?, container })
}

fn type_spec(_: &Source<'_>, node: Node<'_>) -> Option<Found> {
    let (symbol, shape) = match node.child_by_field_name("type")?.kind() {
        "struct_type" => (SymbolKind::Struct, Shape::Container),
        "interface_type" => (SymbolKind::Interface, Shape::Container),
        _ => (SymbolKind::Type, Shape::Leaf),
    };
    Some(Found { symbol, shape, name: range(node, "name")?, container: None })
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::languages::testing::check;

    #[test]
    fn definitions_have_their_comments() {
        let text = r#"// Package auth logs people in.
package auth

import (
	"fmt"
	"net/http"
)

import "os"

// Limits.
const (
	A = 1 // one
	B = 2
)

var x, y = 1, 2

// AuthHandler handles.
type AuthHandler struct {
	// Name of it.
	Name string
	a, b int
}

type (
	Doer interface {
		Do(x int) error
		fmt.Stringer
	}
	ID = string
)

// ServeHTTP answers.
func (h *AuthHandler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// inside
	fmt.Println("// no comment")
	return
}

func (s Set[T]) Len() int { return len(s) }

func main() {
	a := 1
	_ = a
}
"#;
        check("go", text, &expect![[r#"
            definitions 1-9 prose // Package auth logs pe…
            data 10-17 names A B x y prose // Limits. | // one
            definitions 18-24 struct `AuthHandler` names AuthHandler Name a b prose // AuthHandler handles. | // Name of it.
            definitions 25-30 interface `Doer` names Doer Do
            definitions 31-32 type `ID`
            definitions 33-39 method `ServeHTTP` in `AuthHandler` prose // ServeHTTP answers. | // inside
            definitions 40-41 method `Len` in `Set`
            definitions 42-46 function `main`
              13-13 constant `A`: A = 1
              14-14 constant `B`: B = 2
              17-17 variable `x`: var x, y = 1, 2
              20-24 struct `AuthHandler`: type AuthHandler struct
              27-30 interface `Doer`: Doer interface
              31-31 type `ID`: ID = string
              35-39 method `ServeHTTP` in `AuthHandler`: func (h *AuthHandler) ServeHTTP(w http.ResponseWriter, r *http.Request)
              41-41 method `Len` in `Set`: func (s Set[T]) Len() int
              43-46 function `main`: func main()
            package auth
            imports 3
        "#]]);
    }

    #[test]
    fn errors_leave_the_rest_as_it_is() {
        check("go", "package a\n\nfunc b() {\n\tx := [\n}\n\nfunc c() int {\n\ty := 1\n\tz := 2\n\treturn y + z\n}\n", &expect![[r#"
            definitions 1-5 function `b`
            definitions 6-11 function `c`
              3-5 function `b`: func b()
              7-11 function `c`: func c() int
            package a
        "#]]);
    }
}

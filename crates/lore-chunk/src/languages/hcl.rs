//! HCL, the language of Terraform: blocks are sections, called as Terraform calls them (`aws_instance.web`).

use lore_model::{ChunkKind, SymbolKind};
use tree_sitter::Node;

use super::config::{Level, section};
use crate::{
    engine::{At, Found, Role, Shape, Source, Spec, children, first_of},
    language::{Method, Row},
};

pub(crate) static ROW: Row = Row {
    name: "hcl",
    extensions: &["tf", "tfvars", "hcl", "nomad", "tofu"],
    method: Method::Tree(&SPEC),
    ..Row::LINES
};

static SPEC: Spec =
    Spec { grammar: || tree_sitter_hcl::LANGUAGE.into(), rules: &[RULES], kind: ChunkKind::Data, ..Spec::CODE };

const RULES: &[(&str, Role)] = &[
    ("comment", Role::Comment),
    ("body", Role::Open),
    ("block", Role::Hook(block)),
    ("attribute", Role::Define(SymbolKind::Section, Shape::Data, At::Kind("identifier"))),
];

/// `resource "aws_instance" "web" { … }` is `web` in `aws_instance`, `variable "region" { … }` is `region` in `variable`.
fn block(source: &Source<'_>, node: Node<'_>) -> Option<Found> {
    // Blocks in blocks are deeper than 3, and asking for the parents of deep nodes is slow.
    if source.depth() > 3 || node.parent()?.parent()?.kind() != "config_file" {
        return None;
    }
    let words = children(node).take_while(|child| child.kind() != "block_start");
    let mut words: Vec<Node<'_>> = words.filter(Node::is_named).collect();
    let name = words.pop()?.byte_range();
    // The name of a string is the text in it.
    let container = words.pop().map(|word| first_of(word, "template_literal").unwrap_or(word).byte_range());
    Some(Found { container, ..section(source, node, name, |_| Level::Top)? })
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::languages::testing::check;

    #[test]
    fn a_small_file_is_one_chunk() {
        check("hcl", "# A machine.\nresource \"aws_instance\" \"web\" {\n  ami = \"x\"\n  tags = { a = 1 }\n  ebs_block {\n    x = 1\n    y = 1\n    z = 1\n  }\n}\n\nvariable \"region\" { default = \"x\" }\nlocals { a = 1 }\nx = 1\n", &expect![[r#"
            data 1-14 names web region locals x prose # A machine.
              2-10 section `web` in `aws_instance`: resource "aws_instance" "web" { ami = "x" tags = { a = 1 } ebs_block { x = 1 y = 1 z = 1 } }
              12-12 section `region` in `variable`: variable "region" { default = "x" }
              13-13 section `locals`: locals { a = 1 }
              14-14 section `x`: x = 1
        "#]]);
    }

    #[test]
    fn blocks_of_larger_files_are_chunks() {
        let block = |name: &str| format!("# About {name}.\nresource \"aws_x\" \"{name}\" {{\n{}}}\n\n", "  inner {\n    a = 1\n    b = 2\n    c = 3\n  }\n".repeat(4));
        check("hcl", &format!("terraform {{\n  x = 1\n}}\n\n{}{}", block("a"), block("b")), &expect![[r#"
            data 1-3 section `terraform`
            data 4-27 section `a` in `aws_x` prose # About a.
            data 28-52 section `b` in `aws_x` prose # About b.
              1-3 section `terraform`: terraform { x = 1 }
              6-27 section `a` in `aws_x`: resource "aws_x" "a"
              30-51 section `b` in `aws_x`: resource "aws_x" "b"
        "#]]);
    }

    #[test]
    fn errors_leave_the_rest_as_it_is() {
        check("hcl", "variable \"a\" {\n  default = [1\n}\n\nvariable \"b\" {\n  default = 1\n}\n", &expect![[r#"
            data 1-7 names a b
              1-3 section `a` in `variable`: variable "a" { default = [1 }
              5-7 section `b` in `variable`: variable "b" { default = 1 }
        "#]]);
    }
}

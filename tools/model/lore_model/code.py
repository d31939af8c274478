"""Finds documented functions and types in source text: the documentation apart, the code without it."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass

from tree_sitter import Node, QueryCursor

from .languages import BY_EXTENSION, Language, definition_query, parser

SKIPPED = re.compile(
    r"(^|/)(tests?|testdata|testing|__tests__|__mocks__|specs?|vendor|vendored|_vendor|node_modules|third[-_]?party|target"
    r"|examples?|samples?|demos?|bench(es|marks?)?|fixtures?|migrations|locales?|\.git|\.venv|fuzz|umd|min)(/|$)"
    r"|(_test\.go|[.-](test|spec|stories|min|umd|bundle|prod|production|iife)\.[cm]?[jt]sx?|_pb2(_grpc)?\.py|\.pb\.(go|cc|h)"
    r"|conftest\.py|/test_[^/]*\.py|_test\.(py|rs|cc)|[Tt]ests?\.(java|cs|php|rs|kt|swift|scala)|_generated\.|_spec\.rb|\.d\.[cm]?ts)$"
)
THROUGH = frozenset(["attribute_item", "decorator", "attribute_list", "annotation"])
CONTAINERS = frozenset(
    """class_definition class_declaration impl_item trait_item class_specifier struct_specifier interface_declaration
    class module trait_declaration struct_declaration enum_declaration abstract_class_declaration object_declaration
    object_definition trait_definition protocol_declaration""".split()
)
BODIES = frozenset(["arrow_function", "function_expression", "function", "generator_function", "class"])


@dataclass(frozen=True)
class Definition:
    """One function or type. `code` holds neither the documentation nor the comment above."""

    path: str
    language: str
    name: str
    container: str
    line: int
    code: str
    documentation: str
    is_type: bool = False


def definitions(path: str, source: bytes) -> Iterator[Definition]:
    """Yields the functions and types of a file; nothing for files that are generated, minified or of no known language."""
    language = BY_EXTENSION.get(os.path.splitext(path)[1])
    if language is None or SKIPPED.search(path) or not handwritten(source):
        return
    captured = QueryCursor(definition_query(language)).captures(parser(language).parse(source).root_node)
    for node in sorted(captured.get("definition", ()), key=lambda node: (node.start_byte, -node.end_byte)):
        if (found := define(node, path, source, language)) is not None:
            yield found


def handwritten(source: bytes) -> bool:
    """Refuses generated and minified files."""
    head = source[:600].lower()
    if b"generated" in head and (b"do not edit" in head or b"do not modify" in head or b"@generated" in head):
        return False
    return source.count(b"\n") * 200 > len(source)


def define(node: Node, path: str, source: bytes, language: Language) -> Definition | None:
    """Reads one definition, or nothing where it has no name or no body."""
    name = name_of(node, source)
    if name is None or name.lower().startswith("test"):
        return None
    if language.docstrings:
        documentation, code = without_docstring(node, source)
    else:
        comment, start, end = comment_above(node, source, language)
        documentation, code = comment, text_of(source, start, end)
    code = code.strip()
    if code.count("\n") < 2 or not 60 <= len(code) <= 20_000:
        return None
    return Definition(
        path=path,
        language=language.name,
        name=name,
        container=container(node, source),
        line=node.start_point[0] + 1,
        code=code,
        documentation=documentation,
        is_type=node.type in language.types,
    )


def text_of(source: bytes, start: int, end: int) -> str:
    return source[start:end].decode("utf-8", "replace")


def name_of(node: Node, source: bytes) -> str | None:
    """The name of a definition. C hides it in declarators, scripts in assignments of functions."""
    if node.type == "lexical_declaration":
        declarator = next((child for child in node.named_children if child.type == "variable_declarator"), None)
        if declarator is None:
            return None
        value = declarator.child_by_field_name("value")
        if value is None or value.type not in BODIES:
            return None
        node = declarator
    elif node.type == "expression_statement":
        assignment = node.named_children[0] if node.named_children else None
        if assignment is None or assignment.type != "assignment_expression":
            return None
        left, right = assignment.child_by_field_name("left"), assignment.child_by_field_name("right")
        if left is None or right is None or right.type not in BODIES:
            return None
        return text_of(source, left.start_byte, left.end_byte).rsplit(".", 1)[-1][:80]
    elif node.type == "type_declaration":
        node = next((child for child in node.named_children if child.type == "type_spec"), node)
    elif node.type in ("class_specifier", "struct_specifier", "function_definition"):
        if node.child_by_field_name("body") is None:
            return None
        declarator = node.child_by_field_name("declarator")
        while declarator is not None and declarator.type not in ("identifier", "field_identifier"):
            inner = declarator.child_by_field_name("declarator") or declarator.child_by_field_name("name")
            if inner is None:
                break
            declarator = inner
        if declarator is not None:
            return text_of(source, declarator.start_byte, declarator.end_byte).rsplit("::", 1)[-1][:80]
    found = node.child_by_field_name("name")
    if found is None:
        return None
    # Lua names a function by the way to it: `module.part:name`.
    return re.split(r"[.:]", text_of(source, found.start_byte, found.end_byte))[-1][:80] or None


def comment_above(node: Node, source: bytes, language: Language) -> tuple[str, int, int]:
    """The comments directly above a definition, through attributes, and the extent of the definition with those."""
    outer = node
    if node.parent is not None and node.parent.type in language.wrappers:
        outer = node.parent
    start, row = outer.start_byte, outer.start_point[0]
    found: list[str] = []
    before = outer.prev_sibling
    while before is not None:
        # Some grammars count the line end into a comment.
        last_row = before.end_point[0] - (before.end_point[1] == 0)
        if before.type in THROUGH and not found:
            start, row = before.start_byte, before.start_point[0]
        elif "comment" in before.type and row - last_row <= 1:
            text = text_of(source, before.start_byte, before.end_byte)
            if language.markers and not text.startswith(language.markers):
                break
            found.append(text.rstrip("\n"))
            row = before.start_point[0]
        else:
            break
        before = before.prev_sibling
    return "\n".join(reversed(found)), start, outer.end_byte


def without_docstring(node: Node, source: bytes) -> tuple[str, str]:
    """The docstring of a Python definition, and its text without it."""
    whole = text_of(source, node.start_byte, node.end_byte)
    body = node.child_by_field_name("body")
    first = (
        next((child for child in body.named_children if child.type != "comment"), None) if body is not None else None
    )
    if (
        first is None
        or first.type != "expression_statement"
        or not first.children
        or first.children[0].type != "string"
    ):
        return "", whole
    raw = text_of(source, first.start_byte, first.end_byte)
    raw = re.sub(r"^[rRuUbB]*(\"\"\"|'''|\"|')", "", raw)
    before = text_of(source, node.start_byte, first.start_byte).rstrip()
    after = text_of(source, first.end_byte, node.end_byte).lstrip("\r\n")
    return re.sub(r"(\"\"\"|'''|\"|')$", "", raw), f"{before}\n{after}"


def container(node: Node, source: bytes) -> str:
    """The name of the type or module around a definition."""
    parent = node.parent
    while parent is not None:
        if parent.type in CONTAINERS:
            found = parent.child_by_field_name("name") or parent.child_by_field_name("type")
            if found is not None:
                return text_of(source, found.start_byte, found.end_byte)[:60]
        parent = parent.parent
    return ""

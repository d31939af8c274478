"""What the extraction has to know about each programming language."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import tree_sitter
import tree_sitter_bash
import tree_sitter_c
import tree_sitter_c_sharp
import tree_sitter_cpp
import tree_sitter_go
import tree_sitter_java
import tree_sitter_javascript
import tree_sitter_kotlin
import tree_sitter_lua
import tree_sitter_php
import tree_sitter_python
import tree_sitter_ruby
import tree_sitter_rust
import tree_sitter_scala
import tree_sitter_swift
import tree_sitter_typescript


@dataclass(frozen=True)
class Language:
    """One grammar: which nodes are documented definitions, and which comments document them.

    `markers` are the beginnings of documentation comments; empty means that any comment directly above counts.
    `wrappers` are nodes around a definition that the comment stands above instead.
    """

    name: str
    pointer: object
    functions: frozenset[str]
    types: frozenset[str] = frozenset()
    markers: tuple[str, ...] = ()
    wrappers: frozenset[str] = frozenset()
    docstrings: bool = False


def _set(text: str) -> frozenset[str]:
    return frozenset(text.split())


_SCRIPT_FUNCTIONS = _set(
    "function_declaration generator_function_declaration method_definition lexical_declaration expression_statement"
)
_TYPESCRIPT = dict(
    name="typescript",
    functions=_SCRIPT_FUNCTIONS,
    types=_set("class_declaration interface_declaration type_alias_declaration abstract_class_declaration"),
    markers=("/**",),
    wrappers=_set("export_statement"),
)

PYTHON = Language(
    "python", tree_sitter_python.language(), _set("function_definition"), _set("class_definition"), docstrings=True
)
RUST = Language(
    "rust", tree_sitter_rust.language(), _set("function_item"), _set("struct_item enum_item trait_item"), ("///", "/**")
)
GO = Language(
    "go", tree_sitter_go.language(), _set("function_declaration method_declaration"), _set("type_declaration")
)
JAVASCRIPT = Language(
    "javascript",
    tree_sitter_javascript.language(),
    _SCRIPT_FUNCTIONS,
    _set("class_declaration"),
    ("/**",),
    _set("export_statement"),
)
TYPESCRIPT = Language(pointer=tree_sitter_typescript.language_typescript(), **_TYPESCRIPT)
TSX = Language(pointer=tree_sitter_typescript.language_tsx(), **_TYPESCRIPT)
JAVA = Language(
    "java",
    tree_sitter_java.language(),
    _set("method_declaration constructor_declaration"),
    _set("class_declaration interface_declaration enum_declaration record_declaration"),
    ("/**",),
)
C = Language("c", tree_sitter_c.language(), _set("function_definition"), _set("struct_specifier"))
CPP = Language(
    "cpp",
    tree_sitter_cpp.language(),
    _set("function_definition"),
    _set("class_specifier struct_specifier"),
    wrappers=_set("template_declaration"),
)
CSHARP = Language(
    "csharp",
    tree_sitter_c_sharp.language(),
    _set("method_declaration constructor_declaration property_declaration"),
    _set("class_declaration interface_declaration struct_declaration enum_declaration"),
    ("///",),
)
RUBY = Language("ruby", tree_sitter_ruby.language(), _set("method singleton_method"), _set("class module"), ("#",))
PHP = Language(
    "php",
    tree_sitter_php.language_php(),
    _set("function_definition method_declaration"),
    _set("class_declaration interface_declaration trait_declaration"),
    ("/**",),
)
KOTLIN = Language(
    "kotlin",
    tree_sitter_kotlin.language(),
    _set("function_declaration"),
    _set("class_declaration object_declaration"),
    ("/**",),
)
SWIFT = Language(
    "swift",
    tree_sitter_swift.language(),
    _set("function_declaration init_declaration"),
    _set("class_declaration protocol_declaration"),
    ("///", "/**"),
)
SCALA = Language(
    "scala",
    tree_sitter_scala.language(),
    _set("function_definition"),
    _set("class_definition object_definition trait_definition"),
    ("/**",),
)
LUA = Language("lua", tree_sitter_lua.language(), _set("function_declaration"))
SHELL = Language("shell", tree_sitter_bash.language(), _set("function_definition"), markers=("#",))

BY_EXTENSION = {
    ".py": PYTHON,
    ".rs": RUST,
    ".go": GO,
    ".js": JAVASCRIPT,
    ".mjs": JAVASCRIPT,
    ".cjs": JAVASCRIPT,
    ".jsx": JAVASCRIPT,
    ".ts": TYPESCRIPT,
    ".mts": TYPESCRIPT,
    ".tsx": TSX,
    ".java": JAVA,
    ".c": C,
    ".h": CPP,
    ".cc": CPP,
    ".cpp": CPP,
    ".cxx": CPP,
    ".hpp": CPP,
    ".hh": CPP,
    ".cs": CSHARP,
    ".rb": RUBY,
    ".php": PHP,
    ".kt": KOTLIN,
    ".kts": KOTLIN,
    ".swift": SWIFT,
    ".scala": SCALA,
    ".lua": LUA,
    ".sh": SHELL,
    ".bash": SHELL,
    ".zsh": SHELL,
}


@cache
def definition_query(language: Language) -> tree_sitter.Query:
    """Captures the definitions of a file; walking all its nodes in Python takes ten times as long."""
    wanted = " ".join(f"({kind})" for kind in sorted(language.functions | language.types))
    return tree_sitter.Query(tree_sitter.Language(language.pointer), f"[{wanted}] @definition")


@cache
def parser(language: Language) -> tree_sitter.Parser:
    """One parser for each grammar and process."""
    return tree_sitter.Parser(tree_sitter.Language(language.pointer))

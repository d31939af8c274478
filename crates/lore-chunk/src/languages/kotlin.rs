//! Kotlin.

use std::ops::Range;

use lore_model::SymbolKind;
use memchr::memmem;
use tree_sitter::{Node, Tree};

use crate::{
    engine::{At, Change, Found, Role, Shape, Source, Spec, children, count_one, define, first_of, range},
    language::{Method, Row},
};

pub(crate) static ROW: Row =
    Row { name: "kotlin", extensions: &["kt", "kts", "ktm"], programs: &["kotlin"], method: Method::Tree(&SPEC), ..Row::LINES };

static SPEC: Spec = Spec {
    grammar: || tree_sitter_kotlin_ng::LANGUAGE.into(),
    rules: &[RULES],
    markers: &["//", "/*", "fun ", "class "],
    hide: Some(hide),
    ..Spec::CODE
};

const RULES: &[(&str, Role)] = &[
    ("line_comment", Role::Comment),
    ("block_comment", Role::Comment),
    ("shebang", Role::Lead),
    ("file_annotation", Role::Lead),
    ("annotation", Role::Lead),
    ("package_header", Role::Package(At::Kind("qualified_identifier"))),
    ("import", Role::Import(count_one)),
    ("class_declaration", Role::Hook(class)),
    ("object_declaration", define(SymbolKind::Module, Shape::Container)),
    ("companion_object", define(SymbolKind::Module, Shape::Container)),
    ("class_body", Role::Body),
    ("enum_class_body", Role::Body),
    ("enum_entry", Role::Field(At::Kind("identifier"))),
    ("function_declaration", define(SymbolKind::Function, Shape::Function)),
    ("secondary_constructor", Role::Define(SymbolKind::Function, Shape::Function, At::Kind("constructor"))),
    ("property_declaration", Role::Hook(property)),
    ("type_alias", Role::Define(SymbolKind::Type, Shape::Leaf, At::Field("type"))),
    ("string_literal", Role::Ignore),
];

/// The grammar does not know `actual constructor(…)` below the name of a class, nor comments between the two.
fn hide(bytes: &[u8], part: Range<usize>, tree: &Tree) -> Vec<Change> {
    if !tree.root_node().has_error() {
        return Vec::new();
    }
    let line_of = |from: usize, at: usize| memchr::memrchr(b'\n', &bytes[from..at]).map(|line| from + line + 1);
    let is_comment = |text: &[u8]| text.trim_ascii_start().starts_with(b"//");
    let mut changes = Vec::new();
    // No byte is looked at for two constructors: a file may hold as many of them as comments, and mean harm.
    let (mut seen, mut in_comment) = (part.start, false);
    for found in memmem::find_iter(&bytes[part.clone()], b"constructor(") {
        let at = part.start + found;
        let from = std::mem::replace(&mut seen, at);
        let line = line_of(from, at);
        let start = line.unwrap_or(from);
        let words = &bytes[start..at];
        if line.is_some() || from == part.start {
            in_comment = is_comment(words);
        }
        if in_comment {
            continue;
        }
        if let Some(word) = [&b"actual "[..], b"expect "].iter().find_map(|word| memmem::find(words, word)) {
            changes.push(Change { range: start + word..start + word + 6, with: b"", scope: 0..0 });
        }
        // The line of the constructor before is no comment, so this ends there at the latest. What stands above two of
        // them on one line was hidden for the first.
        let mut below = line.unwrap_or(part.start);
        while below > part.start {
            let above = line_of(part.start, below - 1).unwrap_or(part.start);
            if !is_comment(&bytes[above..below]) {
                break;
            }
            changes.push(Change { range: above..below, with: b"", scope: 0..0 });
            below = above;
        }
    }
    changes
}

/// Interfaces and enumerations are classes to the grammar; an enumeration without functions is data.
fn class(_: &Source<'_>, node: Node<'_>) -> Option<Found> {
    let entries = first_of(node, "enum_class_body");
    let (symbol, shape) = if first_of(node, "interface").is_some() {
        (SymbolKind::Interface, Shape::Container)
    } else if let Some(entries) = entries {
        let is_plain = children(entries).all(|member| member.kind() == "enum_entry" || !member.kind().ends_with("_declaration"));
        (SymbolKind::Enum, if is_plain { Shape::Data } else { Shape::Container })
    } else {
        (SymbolKind::Class, Shape::Container)
    };
    Some(Found { symbol, shape, name: range(node, "name")?, container: None })
}

/// `const val`, and names in capitals, are constants.
fn property(source: &Source<'_>, node: Node<'_>) -> Option<Found> {
    let name = first_of(first_of(node, "variable_declaration")?, "identifier")?.byte_range();
    let modifiers = first_of(node, "modifiers").map(|it| source.text(it.byte_range()));
    let is_const = modifiers.is_some_and(|it| it.split_whitespace().any(|word| word == "const"));
    let is_constant = is_const || !source.bytes[name.clone()].iter().any(u8::is_ascii_lowercase);
    let symbol = if is_constant { SymbolKind::Constant } else { SymbolKind::Variable };
    Some(Found { symbol, shape: Shape::Data, name, container: None })
}

#[cfg(test)]
mod tests {
    use expect_test::expect;
    use tree_sitter::Parser;

    use super::hide;
    use crate::languages::testing::check;

    #[test]
    fn definitions_have_their_comments_and_annotations() {
        let text = r#"// Licence.
@file:JvmName("Shops")
package org.example.shop

import java.util.*
import org.example.Item as Thing

/** Most. */
const val LIMIT = 10
val shared: List<String> by lazy { listOf() }
typealias Names = List<String>

/** A shop. */
@Serializable
data class Shop<T : Item>(val name: String, private val items: List<T>) : Base(name), Closeable {
  /** How many. */
  val size: Int
    get() = items.size

  constructor(name: String) : this(name, listOf()) {
    check(name)
  }

  init {
    load("// no comment")
  }

  /**
   * Finds an item.
   */
  @Throws(IOException::class)
  suspend fun <K> find(
    key: K,
    name: String = "",
  ): T? {
    // Inside.
    fun local(x: Int): Int {
      val y = x
      return y
    }
    return null
  }

  override fun close() = Unit

  companion object {
    const val MOST = 3
    fun of(name: String) = Shop<Item>(name)
  }

  inner class Inner {
    fun run() {}
  }
}

enum class Colour { RED, GREEN }

enum class Planet(val mass: Int) {
  /** Nearest. */
  MERCURY(1),
  VENUS(2);

  fun heavy(): Boolean = mass > 1
}

fun interface Speaker {
  fun speak(word: String)
}

object Registry : Base() {
  val all = mutableListOf<String>()
  fun add(name: String) {
    all.add(name)
  }
}

/** Shouts. */
fun String.shout(): String = uppercase()
"#;
        check("kotlin", text, &expect![[r#"
            definitions 1-6 prose // Licence.
            data 7-10 names LIMIT shared prose /** Most. */
            definitions 11-11 type `Names`
            definitions 12-18 class `Shop` names Shop size prose /** A shop. */ | /** How many. */
            definitions 19-22 method `constructor` in `Shop`
            definitions 23-42 method `find` in `Shop` names find local prose /** * Finds an item. */ | // Inside.
            definitions 43-44 method `close` in `Shop`
            definitions 45-49 in `Shop` names MOST of
            definitions 50-54 class `Inner` in `Shop` names Inner run
            data 55-56 enum `Colour` names Colour RED GREEN
            definitions 57-64 enum `Planet` names Planet MERCURY VENUS heavy prose /** Nearest. */
            definitions 65-68 interface `Speaker` names Speaker speak
            definitions 69-75 module `Registry` names Registry all add
            definitions 76-78 function `shout` prose /** Shouts. */
              9-9 constant `LIMIT`: const val LIMIT = 10
              10-10 variable `shared`: val shared: List<String> by lazy { listOf() }
              11-11 type `Names`: typealias Names = List<String>
              14-54 class `Shop`: data class Shop<T : Item>(val name: String, private val items: List<T>) : Base(name), Closeable
              20-22 method `constructor` in `Shop`: constructor(name: String) : this(name, listOf())
              31-42 method `find` in `Shop`: suspend fun <K> find( key: K, name: String = "", ): T?
              37-40 function `local` in `Shop.find`: fun local(x: Int): Int
              44-44 method `close` in `Shop`: override fun close()
              47-47 constant `MOST` in `Shop`: const val MOST = 3
              48-48 function `of` in `Shop`: fun of(name: String)
              51-53 class `Inner` in `Shop`: inner class Inner
              52-52 method `run` in `Shop.Inner`: fun run()
              56-56 enum `Colour`: enum class Colour
              58-64 enum `Planet`: enum class Planet(val mass: Int)
              63-63 method `heavy` in `Planet`: fun heavy(): Boolean
              66-68 interface `Speaker`: fun interface Speaker
              67-67 method `speak` in `Speaker`: fun speak(word: String)
              70-75 module `Registry`: object Registry : Base()
              71-71 variable `all` in `Registry`: val all = mutableListOf<String>()
              72-74 function `add` in `Registry`: fun add(name: String)
              78-78 function `shout`: fun String.shout(): String
            package org.example.shop
            imports 2
        "#]]);
    }

    #[test]
    fn a_constructor_may_stand_below_the_name_of_its_class() {
        check("kotlin", "actual open class ByteString\n// Trusted.\ninternal actual constructor(\n  internal val data: ByteArray,\n) : Serializable {\n  actual fun utf8(): String = commonUtf8()\n}\n", &expect![[r#"
            definitions 1-7 class `ByteString` names ByteString utf8
              1-7 class `ByteString`: actual open class ByteString // Trusted. internal actual constructor( internal val data: ByteArray, ) : Serializable
              6-6 method `utf8` in `ByteString`: actual fun utf8(): String
        "#]]);
    }

    #[test]
    fn what_is_hidden_grows_no_faster_than_the_file() {
        const LINES: usize = 300;
        let comments = "//constructor(\n".repeat(LINES);
        let hidden = |below: &str| {
            let text = [&comments, below, "\nclass {{{\n"].concat();
            let mut parser = Parser::new();
            parser.set_language(&tree_sitter_kotlin_ng::LANGUAGE.into()).unwrap();
            let tree = parser.parse(&text, None).unwrap();
            assert!(tree.root_node().has_error());
            hide(text.as_bytes(), 0..text.len(), &tree).len()
        };
        assert_eq!(hidden(""), 0);
        assert_eq!(hidden(&"//constructor(".repeat(LINES)), 0);
        assert_eq!(hidden("actual constructor("), LINES + 1);
        assert_eq!(hidden(&"constructor(".repeat(LINES)), LINES);
        assert_eq!(hidden(&"constructor(\n// actual constructor(\n".repeat(LINES)), LINES + LINES - 1);
    }

    #[test]
    fn errors_leave_the_rest_as_it_is() {
        check("kotlin", "class A {\n  fun b() {\n    val x = \n    foo(\n  }\n\n  fun c(): Int {\n    val y = 1\n    return y\n  }\n}\n\ninterface D {}\n", &expect![[r#"
            definitions 1-11 class `A` names A b c
            definitions 12-13 interface `D`
              1-11 class `A`: class A
              2-5 method `b` in `A`: fun b()
              7-10 method `c` in `A`: fun c(): Int
              13-13 interface `D`: interface D
        "#]]);
    }
}

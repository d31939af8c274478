//! C#.

use lore_model::SymbolKind;
use tree_sitter::Node;

use crate::{
    engine::{At, Found, Role, Shape, Source, Spec, children, count_one, define, field, first_of, range},
    language::{Method, Row},
};

pub(crate) static ROW: Row =
    Row { name: "csharp", extensions: &["cs", "csx", "cake"], method: Method::Tree(&SPEC), ..Row::LINES };

// There are no markers, because no keyword says that a function is local.
static SPEC: Spec = Spec { grammar: || tree_sitter_c_sharp::LANGUAGE.into(), rules: &[RULES], ..Spec::CODE };

const RULES: &[(&str, Role)] = &[
    ("comment", Role::Comment),
    ("using_directive", Role::Import(count_one)),
    ("extern_alias_directive", Role::Import(count_one)),
    ("file_scoped_namespace_declaration", Role::Package(At::Field("name"))),
    ("namespace_declaration", define(SymbolKind::Module, Shape::Scope)),
    ("class_declaration", define(SymbolKind::Class, Shape::Container)),
    ("struct_declaration", define(SymbolKind::Struct, Shape::Container)),
    ("record_declaration", define(SymbolKind::Struct, Shape::Container)),
    ("interface_declaration", define(SymbolKind::Interface, Shape::Container)),
    ("enum_declaration", define(SymbolKind::Enum, Shape::Data)),
    ("delegate_declaration", define(SymbolKind::Type, Shape::Leaf)),
    ("declaration_list", Role::Body),
    ("enum_member_declaration_list", Role::Body),
    ("enum_member_declaration", field()),
    ("method_declaration", define(SymbolKind::Function, Shape::Function)),
    ("constructor_declaration", define(SymbolKind::Function, Shape::Function)),
    ("destructor_declaration", Role::Hook(destructor)),
    ("operator_declaration", Role::Hook(operator)),
    ("conversion_operator_declaration", Role::Hook(operator)),
    ("indexer_declaration", Role::Define(SymbolKind::Function, Shape::Function, At::Kind("this"))),
    ("local_function_statement", define(SymbolKind::Function, Shape::Function)),
    ("property_declaration", field()),
    ("event_declaration", field()),
    ("event_field_declaration", Role::Hook(variable)),
    ("field_declaration", Role::Hook(variable)),
    ("global_statement", Role::Wrap),
    ("attribute_list", Role::Lead),
    ("shebang_directive", Role::Lead),
    ("preproc_if", Role::Open),
    ("preproc_elif", Role::Open),
    ("preproc_else", Role::Open),
    ("preproc_region", Role::Lead),
    ("preproc_endregion", Role::Lead),
    ("preproc_define", Role::Lead),
    ("preproc_undef", Role::Lead),
    ("preproc_pragma", Role::Lead),
    ("preproc_nullable", Role::Lead),
    // The conditions of `#if`.
    ("identifier", Role::Ignore),
    ("unary_expression", Role::Ignore),
    ("binary_expression", Role::Ignore),
    ("string_literal", Role::Ignore),
    ("verbatim_string_literal", Role::Ignore),
    ("raw_string_literal", Role::Ignore),
];

/// `operator +`, `operator string`.
fn operator(_: &Source<'_>, node: Node<'_>) -> Option<Found> {
    let last = node.child_by_field_name("operator").or_else(|| node.child_by_field_name("type"))?;
    let name = first_of(node, "operator")?.start_byte()..last.end_byte();
    Some(Found { symbol: SymbolKind::Function, shape: Shape::Function, name, container: None })
}

/// `~Name`, which is not the constructor.
fn destructor(_: &Source<'_>, node: Node<'_>) -> Option<Found> {
    let name = first_of(node, "~")?.start_byte()..range(node, "name")?.end;
    Some(Found { symbol: SymbolKind::Function, shape: Shape::Function, name, container: None })
}

/// `const` and `static readonly` fields are constants.
fn variable(source: &Source<'_>, node: Node<'_>) -> Option<Found> {
    let name = range(first_of(first_of(node, "variable_declaration")?, "variable_declarator")?, "name")?;
    let is = |word: &[u8]| {
        children(node).any(|child| child.kind() == "modifier" && &source.bytes[child.byte_range()] == word)
    };
    let is_constant = is(b"const") || (is(b"static") && is(b"readonly"));
    let symbol = if is_constant { SymbolKind::Constant } else { SymbolKind::Variable };
    Some(Found { symbol, shape: Shape::Data, name, container: None })
}

#[cfg(test)]
mod tests {
    use expect_test::expect;

    use crate::languages::testing::check;

    #[test]
    fn definitions_have_their_comments_and_attributes() {
        let text = r#"// Licence.
#nullable enable
using System;
using static System.Math;

namespace Shop.Core
{
    /// <summary>A shop.</summary>
    [Serializable]
    public sealed partial class Shop<T> : Base, IDisposable where T : class
    {
        private const int Limit = 10;
        public static readonly string Name = "shop";
        private readonly List<T> items = new();
        public event EventHandler Changed;

        /// <summary>How many.</summary>
        public int Count { get; private set; }

        #region Making
        public Shop(int size) : base(size)
        {
            this.size = size;
        }
        #endregion

        ~Shop() { }

        /// <summary>Finds an item.</summary>
        [Obsolete("x")]
        public async Task<T> FindAsync<K>(K key, string name = "")
        {
            // Inside.
            int Twice(int x)
            {
                return 2 * x;
            }
            return await Other(key);
        }

        void IDisposable.Dispose() => Close();
        public T this[int index] => items[index];
        public static Shop<T> operator +(Shop<T> a, Shop<T> b) => a;
        public static implicit operator string(Shop<T> a) => a.Name;

#if DEBUG && !RELEASE
        public void Debug() { }
#else
        public void Release() { }
#endif

        private enum Kind { Small, Large = 2 }

        public record struct Point(int X, int Y);
    }

    public interface IItem
    {
        string Name { get; }
        void Run(int x);
    }

    public delegate int Compare(object a, object b);
}
"#;
        check("csharp", text, &expect![[r#"
            definitions 1-4 prose // Licence.
            definitions 5-18 class `Shop` in `Shop.Core` names Shop.Core Shop Limit Name items Changed Count prose /// <summary>A shop.</s… | /// <summary>How many.<…
            definitions 19-24 method `Shop` in `Shop.Core.Shop`
            definitions 25-27 method `~Shop` in `Shop.Core.Shop`
            definitions 28-39 method `FindAsync` in `Shop.Core.Shop` names FindAsync Twice prose /// <summary>Finds an i… | // Inside.
            definitions 40-49 in `Shop.Core.Shop` names Dispose this operator + operator string Debug Release
            data 50-52 enum `Kind` in `Shop.Core.Shop` names Kind Small Large
            definitions 53-55 struct `Point` in `Shop.Core.Shop`
            definitions 56-61 interface `IItem` in `Shop.Core` names IItem Name Run
            definitions 62-64 type `Compare` in `Shop.Core`
              6-64 module `Shop.Core`: namespace Shop.Core
              9-55 class `Shop` in `Shop.Core`: public sealed partial class Shop<T> : Base, IDisposable where T : class
              12-12 constant `Limit` in `Shop.Core.Shop`: private const int Limit = 10;
              13-13 constant `Name` in `Shop.Core.Shop`: public static readonly string Name = "shop";
              21-24 method `Shop` in `Shop.Core.Shop`: public Shop(int size) : base(size)
              27-27 method `~Shop` in `Shop.Core.Shop`: ~Shop()
              30-39 method `FindAsync` in `Shop.Core.Shop`: public async Task<T> FindAsync<K>(K key, string name = "")
              34-37 function `Twice` in `Shop.Core.Shop.FindAsync`: int Twice(int x)
              41-41 method `Dispose` in `Shop.Core.Shop`: void IDisposable.Dispose()
              42-42 method `this` in `Shop.Core.Shop`: public T this[int index] => items[index];
              43-43 method `operator +` in `Shop.Core.Shop`: public static Shop<T> operator +(Shop<T> a, Shop<T> b)
              44-44 method `operator string` in `Shop.Core.Shop`: public static implicit operator string(Shop<T> a)
              47-47 method `Debug` in `Shop.Core.Shop`: public void Debug()
              49-49 method `Release` in `Shop.Core.Shop`: public void Release()
              52-52 enum `Kind` in `Shop.Core.Shop`: private enum Kind
              54-54 struct `Point` in `Shop.Core.Shop`: public record struct Point(int X, int Y);
              57-61 interface `IItem` in `Shop.Core`: public interface IItem
              60-60 method `Run` in `Shop.Core.IItem`: void Run(int x);
              63-63 type `Compare` in `Shop.Core`: public delegate int Compare(object a, object b);
            imports 2
        "#]]);
    }

    #[test]
    fn a_program_may_have_statements_at_the_top() {
        let text = "using A;\n\nnamespace B;\n\npublic record Person(string Name);\n\nvar x = 1;\nRun(x);\n\nstatic void Run(int x)\n{\n    Call(x);\n    Call(x);\n}\n";
        check("csharp", text, &expect![[r#"
            definitions 1-5 struct `Person`
            definitions 6-14 function `Run`
              5-5 struct `Person`: public record Person(string Name);
              10-14 function `Run`: static void Run(int x)
            package B
            imports 1
        "#]]);
    }

    #[test]
    fn errors_leave_the_rest_as_it_is() {
        check("csharp", "class A {\n  void B() {\n    int x = ;\n    Foo(\n  }\n\n  int C() {\n    int y = 1;\n    return y;\n  }\n}\n\ninterface D {}\n", &expect![[r#"
            definitions 1-11 class `A` names A B C
            definitions 12-13 interface `D`
              1-11 class `A`: class A
              2-5 method `B` in `A`: void B()
              7-10 method `C` in `A`: int C()
              13-13 interface `D`: interface D
        "#]]);
    }
}

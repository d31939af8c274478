//! Which of ctags' kinds are compared, for each main language.
//!
//! Left out everywhere, because they are no definitions that somebody looks for by name, or because ctags cannot tell
//! them from such: locals and what is defined inside a function, parameters, imports and packages, fields and
//! properties, names that ctags made up, and variables unless they are constants.

/// How a kind is compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Compared {
    /// It has to be a symbol of its own.
    Symbol,
    /// A member that Lore may keep as a name of what it is in: a value of an enumeration, a method that an interface asks for.
    Member,
    /// A member in an interface, a symbol elsewhere.
    Method,
    /// A symbol where its name is in capitals: constants of languages that have none.
    Capitals,
    /// A symbol where a line that is not indented declares it. ctags gives scopes to few of the others, which are locals,
    /// properties of object literals and imports.
    Top,
    /// A symbol where its line says `class` or `function`; elsewhere ctags means an object literal.
    Class,
}

/// A main language.
pub(super) struct Language {
    /// As ctags calls it.
    pub(super) name: &'static str,
    /// Kinds that are compared.
    pub(super) kinds: &'static [(&'static str, Compared)],
    /// Kinds that are not, and why.
    pub(super) left_out: &'static str,
}

use Compared::{Capitals, Class, Member, Method, Symbol, Top};

/// The main languages.
pub(super) const LANGUAGES: &[Language] = &[
    Language {
        name: "Rust",
        kinds: &[
            ("module", Symbol),
            ("struct", Symbol),
            ("interface", Symbol),
            ("function", Symbol),
            ("method", Symbol),
            ("enum", Symbol),
            ("typedef", Symbol),
            ("macro", Symbol),
            ("variable", Symbol),
            ("enumerator", Member),
        ],
        left_out: "field; implementation (a block has no name of its own)",
    },
    Language {
        name: "Go",
        kinds: &[
            ("func", Symbol),
            ("const", Symbol),
            ("type", Symbol),
            ("talias", Symbol),
            ("struct", Symbol),
            ("interface", Symbol),
            ("methodSpec", Member),
        ],
        left_out: "var; member, anonMember (fields); package, packageName, unknown (imports)",
    },
    Language {
        name: "Python",
        kinds: &[("class", Symbol), ("function", Symbol), ("member", Symbol), ("variable", Capitals)],
        left_out: "variable that is not in capitals or not at the top; module, namespace, unknown (imports)",
    },
    Language {
        name: "JavaScript",
        kinds: &[
            ("function", Symbol),
            ("generator", Symbol),
            ("class", Class),
            ("method", Symbol),
            ("getter", Symbol),
            ("setter", Symbol),
            ("constant", Top),
        ],
        left_out: "variable; property, field; constant that is indented or an import; class that is an object literal",
    },
    Language {
        name: "TypeScript",
        kinds: &[
            ("function", Symbol),
            ("generator", Symbol),
            ("class", Symbol),
            ("interface", Symbol),
            ("enum", Symbol),
            ("alias", Top),
            ("namespace", Symbol),
            ("method", Method),
            ("constant", Top),
            ("enumerator", Member),
        ],
        left_out: "variable; property; constant and alias that are indented or imports",
    },
    Language {
        name: "Java",
        kinds: &[
            ("class", Symbol),
            ("interface", Symbol),
            ("enum", Symbol),
            ("annotation", Symbol),
            ("method", Symbol),
            ("enumConstant", Member),
        ],
        left_out: "field (constants too: ctags does not tell them apart); package",
    },
    Language {
        name: "C",
        kinds: &[
            ("function", Symbol),
            ("macro", Symbol),
            ("struct", Symbol),
            ("union", Symbol),
            ("enum", Symbol),
            ("typedef", Symbol),
            ("enumerator", Member),
        ],
        left_out: "variable; member (fields); header; prototype, externvar (declarations, off in ctags)",
    },
    Language {
        name: "C++",
        kinds: &[
            ("function", Symbol),
            ("macro", Symbol),
            ("class", Symbol),
            ("struct", Symbol),
            ("union", Symbol),
            ("enum", Symbol),
            ("typedef", Symbol),
            ("namespace", Symbol),
            ("enumerator", Member),
        ],
        left_out: "variable; member (fields); header; prototype, externvar (declarations, off in ctags)",
    },
    Language {
        name: "C#",
        kinds: &[
            ("class", Symbol),
            ("interface", Symbol),
            ("struct", Symbol),
            ("enum", Symbol),
            ("method", Symbol),
            ("namespace", Symbol),
            ("enumerator", Member),
        ],
        left_out: "field, property, event; macro (conditions of the compiler); typedef",
    },
    Language {
        name: "Ruby",
        kinds: &[
            ("class", Symbol),
            ("module", Symbol),
            ("method", Symbol),
            ("singletonMethod", Symbol),
            ("constant", Symbol),
        ],
        left_out: "accessor, alias (calls that define at run time); library (imports)",
    },
    Language {
        name: "PHP",
        kinds: &[("class", Symbol), ("interface", Symbol), ("trait", Symbol), ("function", Symbol), ("define", Symbol)],
        left_out: "variable; alias (imports); namespace",
    },
    Language {
        name: "Kotlin",
        kinds: &[
            ("class", Symbol),
            ("interface", Symbol),
            ("object", Symbol),
            ("method", Symbol),
            ("typealias", Symbol),
            ("constant", Top),
        ],
        left_out: "variable; package; constant that is indented (a property)",
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_twelve_main_languages_and_each_compares_something() {
        assert_eq!(LANGUAGES.len(), 12);
        assert!(LANGUAGES.iter().all(|language| !language.kinds.is_empty() && !language.left_out.is_empty()));
    }
}

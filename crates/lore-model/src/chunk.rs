//! What a piece of a file is.

use std::fmt;

/// The four kinds of chunks that can be asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum ChunkKind {
    /// Prose: a section of a document.
    Documentation,
    /// The outline of a source file: what it defines, and where.
    Symbols,
    /// A function, a method or a type, or other source text.
    Definitions,
    /// Constants, enumerations, configuration.
    Data,
}

impl ChunkKind {
    /// Every kind.
    pub const ALL: [Self; 4] = [Self::Documentation, Self::Symbols, Self::Definitions, Self::Data];

    /// The word for programs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Documentation => "documentation",
            Self::Symbols => "symbols",
            Self::Definitions => "definitions",
            Self::Data => "data",
        }
    }

    /// The kind of that name.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }
}

impl fmt::Display for ChunkKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a symbol of a source file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum SymbolKind {
    /// A free function.
    Function,
    /// A function of a type.
    Method,
    /// A structure or record.
    Struct,
    /// A class.
    Class,
    /// An interface.
    Interface,
    /// A trait, protocol or mixin.
    Trait,
    /// An enumeration.
    Enum,
    /// A union.
    Union,
    /// A type alias or other named type.
    Type,
    /// A module, namespace, package or object.
    Module,
    /// An implementation block.
    Impl,
    /// A constant.
    Constant,
    /// A variable at the top level, or a field of a type where that is all there is.
    Variable,
    /// A macro.
    Macro,
    /// A heading of a document.
    Heading,
    /// A section, table, rule, target or key of a configuration.
    Section,
}

impl SymbolKind {
    /// Every kind.
    pub const ALL: [Self; 16] = [
        Self::Function,
        Self::Method,
        Self::Struct,
        Self::Class,
        Self::Interface,
        Self::Trait,
        Self::Enum,
        Self::Union,
        Self::Type,
        Self::Module,
        Self::Impl,
        Self::Constant,
        Self::Variable,
        Self::Macro,
        Self::Heading,
        Self::Section,
    ];

    /// The word for people and programs.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Function => "function",
            Self::Method => "method",
            Self::Struct => "struct",
            Self::Class => "class",
            Self::Interface => "interface",
            Self::Trait => "trait",
            Self::Enum => "enum",
            Self::Union => "union",
            Self::Type => "type",
            Self::Module => "module",
            Self::Impl => "impl",
            Self::Constant => "constant",
            Self::Variable => "variable",
            Self::Macro => "macro",
            Self::Heading => "heading",
            Self::Section => "section",
        }
    }

    /// The kind of that name.
    pub fn parse(text: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.as_str() == text)
    }

    /// Whether it names a type.
    pub fn is_type(self) -> bool {
        matches!(
            self,
            Self::Struct | Self::Class | Self::Interface | Self::Trait | Self::Enum | Self::Union | Self::Type
        )
    }

    /// Whether it names something that is called.
    pub fn is_function(self) -> bool {
        matches!(self, Self::Function | Self::Method | Self::Macro)
    }
}

impl fmt::Display for SymbolKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_known_by_their_words() {
        assert!(ChunkKind::ALL.into_iter().all(|kind| ChunkKind::parse(kind.as_str()) == Some(kind)));
        assert!(SymbolKind::ALL.into_iter().all(|kind| SymbolKind::parse(kind.as_str()) == Some(kind)));
        assert_eq!((ChunkKind::parse("Data"), SymbolKind::parse("fn")), (None, None));
        let words = |is: fn(SymbolKind) -> bool| {
            SymbolKind::ALL.into_iter().filter(|kind| is(*kind)).map(SymbolKind::as_str).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(words(SymbolKind::is_type), "struct class interface trait enum union type");
        assert_eq!(words(SymbolKind::is_function), "function method macro");
    }
}

//! `[[:alpha:]]` and its like mean the letters of every language, as they do to `git grep -P`; Rust's regex means ASCII alone.
//!
//! Where case is ignored, `[[:upper:]]` has small letters too, and `[[:lower:]]` capital ones, as in POSIX and in PCRE2 from 10.43
//! on. An older PCRE2 keeps them apart even then: that is not followed.

use regex_syntax::ast::{
    Ast, ClassAsciiKind, ClassBracketed, ClassSet, ClassSetItem, Flag, Flags, FlagsItemKind, parse::Parser,
};

/// Writes the named classes of an expression out; not where it turns Unicode off somewhere.
pub(super) fn write_out(expression: &mut Ast) {
    if !turns_unicode_off(expression) {
        of_expression(expression);
    }
}

/// What a class has; none where ASCII is meant.
fn members(kind: &ClassAsciiKind) -> Option<&'static str> {
    Some(match kind {
        ClassAsciiKind::Alnum => r"[\p{L}\p{N}]",
        ClassAsciiKind::Alpha => r"[\p{L}]",
        ClassAsciiKind::Blank => r"[\t\p{Zs}\x{180E}]",
        ClassAsciiKind::Cntrl => r"[\p{Cc}]",
        ClassAsciiKind::Digit => r"[\p{Nd}]",
        ClassAsciiKind::Graph => r"[\p{L}\p{M}\p{N}\p{P}\p{S}\p{Cf}--[\x{61C}\x{180E}\x{2066}-\x{2069}]]",
        ClassAsciiKind::Lower => r"[\p{Ll}]",
        ClassAsciiKind::Print => r"[\p{L}\p{M}\p{N}\p{P}\p{S}\p{Cf}\p{Zs}--[\x{61C}\x{2066}-\x{2069}]]",
        ClassAsciiKind::Punct => r"[\p{P}$+<=>^`|~]",
        ClassAsciiKind::Space => r"[\s\x{180E}]",
        ClassAsciiKind::Upper => r"[\p{Lu}]",
        ClassAsciiKind::Word => r"[\w]",
        ClassAsciiKind::Ascii | ClassAsciiKind::Xdigit => return None,
    })
}

fn of_expression(expression: &mut Ast) {
    match expression {
        Ast::ClassBracketed(class) => of_set(&mut class.kind),
        Ast::Repetition(repetition) => of_expression(&mut repetition.ast),
        Ast::Group(group) => of_expression(&mut group.ast),
        Ast::Alternation(alternation) => alternation.asts.iter_mut().for_each(of_expression),
        Ast::Concat(concat) => concat.asts.iter_mut().for_each(of_expression),
        Ast::Empty(_)
        | Ast::Flags(_)
        | Ast::Literal(_)
        | Ast::Dot(_)
        | Ast::Assertion(_)
        | Ast::ClassUnicode(_)
        | Ast::ClassPerl(_) => {}
    }
}

fn of_set(set: &mut ClassSet) {
    match set {
        ClassSet::Item(item) => of_item(item),
        ClassSet::BinaryOp(operation) => {
            of_set(&mut operation.lhs);
            of_set(&mut operation.rhs);
        }
    }
}

fn of_item(item: &mut ClassSetItem) {
    match item {
        ClassSetItem::Ascii(class) => {
            if let Some(written) = members(&class.kind).and_then(class_of) {
                *item = ClassSetItem::Bracketed(Box::new(ClassBracketed { negated: class.negated, ..written }));
            }
        }
        ClassSetItem::Bracketed(class) => of_set(&mut class.kind),
        ClassSetItem::Union(union) => union.items.iter_mut().for_each(of_item),
        ClassSetItem::Empty(_)
        | ClassSetItem::Literal(_)
        | ClassSetItem::Range(_)
        | ClassSetItem::Unicode(_)
        | ClassSetItem::Perl(_) => {}
    }
}

fn class_of(written: &str) -> Option<ClassBracketed> {
    match &Parser::new().parse(written) {
        Ok(Ast::ClassBracketed(class)) => Some(ClassBracketed::clone(class)),
        _ => None,
    }
}

fn turns_unicode_off(expression: &Ast) -> bool {
    let turns_off = |flags: &Flags| {
        let without = flags.items.iter().skip_while(|item| item.kind != FlagsItemKind::Negation);
        without.into_iter().any(|item| item.kind == FlagsItemKind::Flag(Flag::Unicode))
    };
    match expression {
        Ast::Flags(set) => turns_off(&set.flags),
        Ast::Group(group) => group.flags().is_some_and(turns_off) || turns_unicode_off(&group.ast),
        Ast::Repetition(repetition) => turns_unicode_off(&repetition.ast),
        Ast::Alternation(alternation) => alternation.asts.iter().any(turns_unicode_off),
        Ast::Concat(concat) => concat.asts.iter().any(turns_unicode_off),
        Ast::Empty(_)
        | Ast::Literal(_)
        | Ast::Dot(_)
        | Ast::Assertion(_)
        | Ast::ClassUnicode(_)
        | Ast::ClassPerl(_)
        | Ast::ClassBracketed(_) => false,
    }
}

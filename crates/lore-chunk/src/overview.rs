//! The outline of a source file as text: what it declares, and where.

use std::fmt::Write as _;

use lore_model::SymbolKind;

use crate::{Chunked, Symbol};

/// How many lines each list has at most.
const MOST: usize = 200;

/// The text of the `symbols` chunk of a source file; empty for a file in which nothing is defined.
///
/// ```text
/// Package: auth
///
/// Imports: 5 packages
///
/// Types:
///   - AuthHandler (struct) (lines 10-15)
/// ```
///
/// It does not name the file: the same content gives the same text wherever it is.
pub fn symbols_text(file: &Chunked) -> String {
    let list = |is: &dyn Fn(SymbolKind) -> bool| -> Vec<&Symbol> {
        file.symbols.iter().filter(|symbol| is(symbol.kind)).collect()
    };
    let lists = [
        ("Modules", list(&|kind| kind == SymbolKind::Module)),
        ("Types", list(&SymbolKind::is_type)),
        ("Functions", list(&SymbolKind::is_function)),
        ("Constants", list(&|kind| kind == SymbolKind::Constant)),
        ("Variables", list(&|kind| kind == SymbolKind::Variable)),
        ("Sections", list(&|kind| kind == SymbolKind::Section)),
    ];
    if lists.iter().all(|(_, symbols)| symbols.is_empty()) {
        return String::new();
    }
    let mut text = file.package.as_ref().map_or_else(String::new, |package| format!("Package: {package}\n"));
    if file.imports > 0 {
        let packages = if file.imports == 1 { "package" } else { "packages" };
        add(&mut text, format_args!("\nImports: {} {packages}\n", file.imports));
    }
    for (title, symbols) in lists {
        if symbols.is_empty() {
            continue;
        }
        add(&mut text, format_args!("\n{title}:\n"));
        for symbol in symbols.iter().take(MOST) {
            add_symbol(&mut text, symbol);
        }
        if symbols.len() > MOST {
            add(&mut text, format_args!("  - … and {} more\n", symbols.len() - MOST));
        }
    }
    text
}

fn add_symbol(text: &mut String, symbol: &Symbol) {
    text.push_str("  - ");
    if let Some(container) = &symbol.container {
        add(text, format_args!("{container}."));
    }
    add(text, format_args!("{} ({}) ", symbol.name, symbol.kind));
    if symbol.first_line == symbol.last_line {
        add(text, format_args!("(line {})\n", symbol.first_line));
    } else {
        add(text, format_args!("(lines {}-{})\n", symbol.first_line, symbol.last_line));
    }
}

fn add(text: &mut String, what: std::fmt::Arguments<'_>) {
    text.write_fmt(what).expect("because a string takes everything");
}

//! Repositories, files, questions and databases that mean harm.

mod bombs;
mod configuration;
mod parsers;
mod questions;
mod terminal;
mod trees;

use super::Case;

/// The cases of this module.
pub(super) const CASES: &[Case] = &[
    Case { name: "hostile/configuration", run: configuration::run },
    Case { name: "hostile/trees", run: trees::run },
    Case { name: "hostile/bombs", run: bombs::run },
    Case { name: "hostile/parsers", run: parsers::run },
    Case { name: "hostile/questions", run: questions::ask },
    Case { name: "hostile/databases", run: questions::open },
    Case { name: "hostile/terminal", run: terminal::run },
];

//! How well questions are answered: questions that nobody had to write, and figures with their uncertainty.
//!
//! Pure: it takes texts, ranks and times, and gives questions and figures. It reads no file, starts no program and knows
//! nothing of an index; `lore bench` and `cargo xtask bench` do, and measure the same thing because of it.
#![forbid(unsafe_code)]

mod bootstrap;
mod commits;
mod documents;
mod headings;
mod metric;
mod sections;
mod table;
mod times;
mod tokens;
mod ways;

pub use bootstrap::{Estimate, difference, estimate};
pub use commits::{Change, Commit, LOG_ARGS, choose, commit_question, document_commit_question, read_log};
pub use documents::{is_document, section_questions};
pub use headings::ask as heading_question;
pub use metric::{DEPTH, Found, Outcome, Question, RESULTS, Score, Target, mean, ndcg, outcome, score};
pub use sections::{Section, sections};
pub use table::grid;
pub use times::{Times, median};
pub use tokens::{Reading, first_right, results_end};
pub use ways::{ALL, NO_MODEL, WAYS, Way};

//! More of everything than anybody has: repositories, files, bytes, names, words; and repositories and clocks that do not
//! hold still.

mod clock;
mod files;
mod large;
mod names;
mod repositories;
mod rewritten;
mod words;

use super::Case;

/// The cases of this module.
pub(super) const CASES: &[Case] = &[
    Case { name: "scale/repositories", run: repositories::run },
    Case { name: "scale/files", run: files::run },
    Case { name: "scale/large-file", run: large::run },
    Case { name: "scale/paths", run: names::long },
    Case { name: "scale/names", run: names::odd },
    Case { name: "scale/messages", run: words::run },
    Case { name: "scale/rewritten", run: rewritten::run },
    Case { name: "scale/clock", run: clock::run },
];

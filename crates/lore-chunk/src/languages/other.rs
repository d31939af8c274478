//! Text of no known language: cut into runs of lines.

use crate::language::Row;

pub(crate) static ROW: Row = Row { name: "other", ..Row::LINES };

//! Who is asked: the program that is measured, other builds of it, and a peer. Each is a column, and the program several.

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::{
    super::semble::Semble,
    ask::Program,
    tokens::Counter,
    ways::{ALL, NO_MODEL, WAYS},
};
use crate::program::release_with_dev;

/// Everyone who is asked.
pub(crate) struct With {
    pub(crate) program: Program,
    pub(crate) also: Vec<Also>,
    pub(crate) peer: Option<Semble>,
    /// Counts tokens, where they are to be counted.
    pub(crate) counter: Option<Counter>,
}

/// Another build of the program.
pub(crate) struct Also {
    pub(crate) name: String,
    pub(crate) program: Program,
}

/// A name and a binary: `NAME=BINARY`.
#[derive(Debug, Clone)]
pub(crate) struct Named {
    name: String,
    binary: PathBuf,
}

impl std::str::FromStr for Named {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        match text.split_once('=') {
            Some((name, binary)) if !name.is_empty() && !binary.is_empty() => {
                Ok(Self { name: name.to_owned(), binary: binary.into() })
            }
            _ => Err("write NAME=BINARY".to_owned()),
        }
    }
}

impl With {
    pub(crate) fn new(binary: &Path, home: Option<&Path>, also: &[Named], peer: Option<Semble>) -> Result<Self> {
        // Every build keeps an index of its own: they may not understand each other's.
        let program = |binary: &Path, name: &str| {
            Program::new(
                &release_with_dev(Some(binary))?,
                home.map(|home| if name.is_empty() { home.to_owned() } else { home.join("also").join(name) }),
            )
        };
        let other =
            |named: &Named| Ok(Also { name: named.name.clone(), program: program(&named.binary, &named.name)? });
        Ok(Self {
            program: program(binary, "")?,
            also: also.iter().map(other).collect::<Result<_>>()?,
            peer,
            counter: Some(Counter::new()?),
        })
    }

    /// The names of the columns.
    pub(crate) fn columns(&self) -> Vec<String> {
        let ways = WAYS.iter().map(|way| way.name.to_owned());
        let peer = self.peer.iter().map(|_| "semble".to_owned());
        ways.chain(self.also.iter().map(|also| also.name.clone())).chain(peer).collect()
    }
}

/// The column of the program as users have it.
pub(crate) fn all_column() -> usize {
    WAYS.iter().position(|way| way.name == ALL).unwrap_or(WAYS.len() - 1)
}

/// The column that the model is judged against.
pub(crate) fn no_model_column() -> usize {
    WAYS.iter().position(|way| way.name == NO_MODEL).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_build_has_a_name_and_a_binary() {
        let named: Named = "old=/usr/bin/lore=2".parse().unwrap();
        assert_eq!((named.name.as_str(), named.binary.to_str()), ("old", Some("/usr/bin/lore=2")));
        for wrong in ["old", "=x", "x=", ""] {
            assert!(wrong.parse::<Named>().is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_columns_that_are_compared_are_there() {
        assert_eq!((WAYS[all_column()].name, WAYS[no_model_column()].name), (ALL, NO_MODEL));
    }
}

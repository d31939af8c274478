//! When tokens and aliases were last used. A question writes nothing, so that is noted in memory and written now and then.

use std::{
    collections::HashMap,
    sync::{Mutex, PoisonError},
};

use lore_model::{Failure, RepoName, TokenId, UserId};

use super::Team;
use crate::failure::team_failure;

/// What was used since it was last written down.
#[derive(Debug, Default)]
pub(super) struct Uses {
    tokens: Mutex<HashMap<TokenId, i64>>,
    aliases: Mutex<HashMap<(UserId, RepoName), i64>>,
}

impl Uses {
    pub(super) fn note_token(&self, token: TokenId, at: i64) {
        self.tokens.lock().unwrap_or_else(PoisonError::into_inner).insert(token, at);
    }

    pub(super) fn note_alias(&self, user: UserId, alias: RepoName, at: i64) {
        self.aliases.lock().unwrap_or_else(PoisonError::into_inner).insert((user, alias), at);
    }
}

impl Team {
    /// Writes down what was used.
    pub(super) fn write_uses(&self) -> Result<(), Failure> {
        let tokens = std::mem::take(&mut *self.uses.tokens.lock().unwrap_or_else(PoisonError::into_inner));
        let aliases = std::mem::take(&mut *self.uses.aliases.lock().unwrap_or_else(PoisonError::into_inner));
        if tokens.is_empty() && aliases.is_empty() {
            return Ok(());
        }
        let tokens: Vec<_> = tokens.into_iter().collect();
        let aliases: Vec<_> = aliases.into_iter().map(|((user, alias), at)| (user, alias, at)).collect();
        self.store.note_uses(&tokens, &aliases).map_err(team_failure)
    }
}

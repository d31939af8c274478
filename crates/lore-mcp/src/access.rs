//! Who makes a request, and whether they may call a tool: the one place that decides it.
//!
//! Nothing is remembered: each request brings its caller, so a role that changed counts at once.

use http::request::Parts;
use lore_model::{Caller, CallerAddress, LogId, Permission};
use rmcp::{ErrorData, model::Extensions};

use crate::tool::BoundTool;

/// Whom a server answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Who {
    /// Whoever reaches it: the user of this machine.
    Anybody,
    /// Users of a team server, each after what their role allows.
    Users,
}

/// What one request may do.
pub(crate) struct Access<'a> {
    caller: Option<&'a Caller>,
    address: Option<&'a CallerAddress>,
    log_id: Option<&'a LogId>,
    who: Who,
}

impl<'a> Access<'a> {
    /// What a request with these extensions may do.
    pub(crate) fn of(extensions: &'a Extensions, who: Who) -> Self {
        let parts = extensions.get::<Parts>().map(|parts| &parts.extensions);
        let (caller, address) = (parts.and_then(|parts| parts.get()), parts.and_then(|parts| parts.get()));
        Self { caller, address, log_id: parts.and_then(|parts| parts.get()), who }
    }

    /// The user who asks.
    pub(crate) fn caller(&self) -> Option<&Caller> {
        self.caller
    }

    /// Where the request came from.
    pub(crate) fn address(&self) -> Option<String> {
        self.address.map(|address| address.0.clone())
    }

    /// What it is called in the server's log.
    pub(crate) fn log_id(&self) -> Option<String> {
        self.log_id.map(|id| id.0.clone())
    }

    /// Whether it may do that. A request that should have a caller and has none may do nothing.
    pub(crate) fn may(&self, permission: Permission) -> bool {
        match self.caller {
            Some(caller) => caller.role.may(permission),
            None => self.who == Who::Anybody,
        }
    }

    /// Refuses a call that is not allowed, with the words of the contract.
    pub(crate) fn check(&self, tool: &BoundTool) -> Result<(), ErrorData> {
        if self.may(tool.permission) {
            return Ok(());
        }
        let (permission, name) = (tool.permission.as_str(), &tool.name);
        Err(ErrorData::invalid_params(format!("Permission denied: {permission} required for tool {name}"), None))
    }
}

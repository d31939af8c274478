//! Entry points of private parsers for `lore-fuzz`, behind the feature `fuzzing`.

use rmcp::model::ClientJsonRpcMessage;
use serde_json::Value;

use crate::{
    message::{self, Incoming},
    strict,
};

/// What a line turned out to be.
#[derive(Debug)]
pub enum Understood {
    /// A message, with the id of a request.
    Message(Option<Value>),
    /// Something that is answered with this error.
    Refused(Value),
    /// Something that needs no answer.
    Ignored,
}

/// A JSON text, read strictly.
pub fn parse(text: &[u8]) -> Result<Value, String> {
    strict::parse(text).map_err(|unread| format!("{unread:?}"))
}

/// One line of input.
pub fn read(line: &[u8]) -> Understood {
    match message::read(line) {
        Incoming::Message(message) => Understood::Message(match *message {
            ClientJsonRpcMessage::Request(request) => serde_json::to_value(request.id).ok(),
            _ => None,
        }),
        Incoming::Refused(answer) => Understood::Refused(answer),
        Incoming::Ignored => Understood::Ignored,
    }
}

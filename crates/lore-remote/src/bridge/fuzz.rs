//! Entry points of private parsers for `lore-fuzz`, behind the feature `fuzzing`.

use serde_json::Value;

use super::message::{Line, Message, read};

/// What a line of a host turned out to be.
#[derive(Debug)]
pub enum Told {
    /// A request with its id, its text as it goes to the server and the headers that are sent beside it.
    Request(Value, String, Vec<(&'static str, String)>),
    /// Something that wants no answer, likewise.
    Other(String, Vec<(&'static str, String)>),
    /// The answer to what cannot be passed on.
    Invalid(Value),
}

/// One line of a host.
pub fn line(line: &[u8]) -> Told {
    let parts = |message: Message| {
        let headers = message.standalone_headers();
        (message.text, headers)
    };
    match read(line) {
        Line::Request(request) => {
            let (text, headers) = parts(request.message);
            Told::Request(request.id, text, headers)
        }
        Line::Other(message) => {
            let (text, headers) = parts(message);
            Told::Other(text, headers)
        }
        Line::Invalid(answer) => Told::Invalid(answer),
    }
}

//! Server-sent events, read as the bytes arrive.
//!
//! Follows the WHATWG text: three kinds of line ends, comments, fields of several lines, ids that stay until another one
//! comes. Only what is whole counts: an event that the stream breaks off in is none.

/// One event.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// Its name; `message` where none was given.
    pub name: String,
    /// Its text.
    pub data: String,
}

/// The largest event; what is larger is not kept in memory.
pub(crate) const LARGEST_EVENT: usize = 64 << 20;

/// Takes bytes in any pieces and gives events.
#[derive(Debug, Default)]
pub struct Parser {
    line: Vec<u8>,
    /// The last byte was a carriage return, so that a line feed now ends nothing.
    after_return: bool,
    /// The first line has been seen, so that no byte order mark can come.
    begun: bool,
    name: String,
    data: String,
    has_data: bool,
    id: Option<String>,
    last_id: Option<String>,
    retry_ms: Option<u64>,
    too_large: bool,
}

impl Parser {
    /// Adds bytes and gives the events that are whole now.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<Event> {
        let mut events = Vec::new();
        for &byte in bytes {
            match byte {
                b'\n' if std::mem::take(&mut self.after_return) => {}
                b'\n' | b'\r' => {
                    self.after_return = byte == b'\r';
                    events.extend(self.end_line());
                }
                _ => {
                    self.after_return = false;
                    if self.line.len() + self.data.len() < LARGEST_EVENT {
                        self.line.push(byte);
                    } else {
                        self.too_large = true;
                    }
                }
            }
        }
        events
    }

    /// The id of the last event that was whole, with which a stream is taken up again.
    pub fn last_id(&self) -> Option<&str> {
        self.last_id.as_deref().filter(|id| !id.is_empty())
    }

    /// How long the server wants to be left alone before the stream is taken up again.
    pub fn retry_ms(&self) -> Option<u64> {
        self.retry_ms
    }

    /// Whether an event was larger than `LARGEST_EVENT`. What is left of it is of no use.
    pub(crate) fn is_too_large(&self) -> bool {
        self.too_large
    }

    fn end_line(&mut self) -> Option<Event> {
        let line = std::mem::take(&mut self.line);
        let mut line = String::from_utf8_lossy(&line);
        if !std::mem::replace(&mut self.begun, true)
            && let Some(rest) = line.strip_prefix('\u{feff}')
        {
            line = rest.to_owned().into();
        }
        if line.is_empty() {
            return self.end_event();
        }
        let (field, value) = line.split_once(':').unwrap_or((&line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => value.clone_into(&mut self.name),
            "data" => {
                if self.has_data {
                    self.data.push('\n');
                }
                self.has_data = true;
                self.data.push_str(value);
            }
            "id" if !value.contains('\0') => self.id = Some(value.to_owned()),
            "retry" if !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit()) => {
                self.retry_ms = value.parse().ok();
            }
            // Comments, which keep a connection open, and fields of the future.
            _ => {}
        }
        None
    }

    fn end_event(&mut self) -> Option<Event> {
        if let Some(id) = &self.id {
            self.last_id = Some(id.clone());
        }
        let (name, data) = (std::mem::take(&mut self.name), std::mem::take(&mut self.data));
        if !std::mem::take(&mut self.has_data) || data.is_empty() {
            return None;
        }
        let name = if name.is_empty() { "message".to_owned() } else { name };
        Some(Event { name, data })
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn read(text: &str) -> (Vec<(String, String)>, Option<String>, Option<u64>) {
        let mut parser = Parser::default();
        let events = parser.push(text.as_bytes()).into_iter().map(|event| (event.name, event.data)).collect();
        (events, parser.last_id().map(str::to_owned), parser.retry_ms())
    }

    #[test]
    fn events_are_what_the_standard_says() {
        let check = |text: &str, expected: &[(&str, &str)], id: Option<&str>, retry: Option<u64>| {
            let expected: Vec<_> = expected.iter().map(|(n, d)| ((*n).to_owned(), (*d).to_owned())).collect();
            assert_eq!(read(text), (expected, id.map(str::to_owned), retry), "{text:?}");
        };
        check("data: a\n\n", &[("message", "a")], None, None);
        check(
            "data:a\r\n\r\ndata: b\r\rdata:  c\n\n",
            &[("message", "a"), ("message", "b"), ("message", " c")],
            None,
            None,
        );
        check("event: message\ndata: a\ndata:\ndata: b\n\n", &[("message", "a\n\nb")], None, None);
        check(": keep-alive\n\n:\n\ndata: a\n: x\n\n", &[("message", "a")], None, None);
        check("\u{feff}data: a\n\n", &[("message", "a")], None, None);
        check("id: 7\nretry: 250\ndata:\n\n", &[], Some("7"), Some(250));
        check("id: 7\ndata: a\n\ndata: b\n\n", &[("message", "a"), ("message", "b")], Some("7"), None);
        check("id: 7\ndata: a\n\nid: 8\ndata: b\n", &[("message", "a")], Some("7"), None);
        check("id: 7\ndata: a\n\nid\n\n", &[("message", "a")], None, None);
        check("retry: soon\nevent: x\ndata: a\nunknown: y\n\n", &[("x", "a")], None, None);
        check("data: cut off", &[], None, None);
    }

    proptest! {
        #[test]
        fn any_split_gives_the_same_events(
            text in r"(data: ?[a-c\u{e4}]{0,3}|id: [0-9]|: x|event: [ab]|retry: [0-9]{1,3}|[a-d]{0,2})?(\n|\r|\r\n|\n\n){0,40}",
            more in prop::collection::vec(prop::sample::select(vec!["data: a", "data: \u{1f9e0}b", "\n", "\r", "\r\n", "\n\n", ":", "id: 1", "event: e", "\u{feff}"]), 0..40),
            cuts in prop::collection::vec(0_usize..400, 0..20),
        ) {
            let text = text + &more.concat();
            let bytes = text.as_bytes();
            let mut whole = Parser::default();
            let expected = whole.push(bytes);
            let mut cuts: Vec<usize> = cuts.into_iter().map(|cut| cut.min(bytes.len())).chain([0, bytes.len()]).collect();
            cuts.sort_unstable();
            let mut parser = Parser::default();
            let found: Vec<Event> = cuts.windows(2).flat_map(|pair| parser.push(&bytes[pair[0]..pair[1]])).collect();
            prop_assert_eq!(found, expected);
            prop_assert_eq!(parser.last_id(), whole.last_id());
            prop_assert_eq!(parser.retry_ms(), whole.retry_ms());
        }

        #[test]
        fn any_bytes_can_be_read(pieces in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..50), 0..10)) {
            let mut parser = Parser::default();
            for piece in pieces {
                parser.push(&piece);
            }
        }
    }
}

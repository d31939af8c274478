//! Server-sent events, as the bridge reads them.

use lore_remote::{Event, Parser};

pub(super) fn run(bytes: &[u8]) {
    let mut whole = Parser::default();
    let events = whole.push(bytes);
    for size in [1, 3] {
        let mut parser = Parser::default();
        let found: Vec<Event> = bytes.chunks(size).flat_map(|piece| parser.push(piece)).collect();
        assert_eq!(found, events, "pieces of {size}");
        assert_eq!((parser.last_id(), parser.retry_ms()), (whole.last_id(), whole.retry_ms()));
    }
    let (expected, id) = naive(bytes);
    assert_eq!(events, expected);
    assert_eq!(whole.last_id(), id.as_deref().filter(|id| !id.is_empty()));
}

/// The standard, read line by line from the whole stream.
fn naive(bytes: &[u8]) -> (Vec<Event>, Option<String>) {
    let text = String::from_utf8_lossy(bytes).replace("\r\n", "\n").replace('\r', "\n");
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let (mut events, mut name, mut data, mut id, mut last_id) = (Vec::new(), "", Vec::new(), None, None);
    // What has no line end is no line yet.
    let lines = text.rsplit_once('\n').map_or("", |(lines, _)| lines);
    let any = text.contains('\n');
    for line in lines.split('\n').filter(|_| any) {
        if line.is_empty() {
            last_id = id.clone().or(last_id);
            let data = std::mem::take(&mut data).join("\n");
            let name = std::mem::take(&mut name);
            let name = if name.is_empty() { "message" } else { name };
            if !data.is_empty() {
                events.push(Event { name: name.to_owned(), data });
            }
            continue;
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "event" => name = value,
            "data" => data.push(value),
            "id" if !value.contains('\0') => id = Some(value.to_owned()),
            _ => {}
        }
    }
    (events, last_id)
}

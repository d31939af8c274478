//! Chunk files that another program wrote.

use lore_core::search::fuzz::chunk_file;
use serde_json::Value;

const MODEL: &str = "some:model@384";

pub(super) fn run(bytes: &[u8]) {
    let read = chunk_file(bytes, MODEL);
    for (_, vector) in read.iter().flat_map(|(chunks, _)| chunks) {
        let Some(vector) = vector else { continue };
        let length = vector.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt();
        assert!((length - 1.0).abs() < 1e-3, "a vector has the length 1: {length}");
    }
    let Ok(value) = serde_json::from_slice::<Value>(bytes) else { return };
    // Written again there is no field twice, which is an error, and nothing that a value cannot hold.
    let Ok(written) = serde_json::to_vec(&value) else { return };
    let items = match &value {
        Value::Array(items) => items,
        Value::Object(file) => match (file.get("chunks"), file.get("_metadata")) {
            (Some(Value::Array(items)), None | Some(Value::Object(_))) => items,
            _ => return,
        },
        _ => return assert!(read.is_err(), "there is no list"),
    };
    let (chunks, skipped) = chunk_file(&written, MODEL).expect("there is a list");
    let text = |item: &Value, name: &str| item.get(name).and_then(Value::as_str).map(str::to_owned);
    let expected: Vec<_> = items.iter().filter_map(|item| Some((text(item, "id")?, text(item, "text")?))).collect();
    let found: Vec<_> = chunks.iter().map(|(chunk, _)| (chunk.id.clone(), chunk.text.clone())).collect();
    // What has no name can be written as a list of its fields, too.
    if !items.iter().any(Value::is_array) {
        assert_eq!(found, expected);
    }
    assert_eq!(chunks.len() + skipped, items.len(), "each is read or counted");
}

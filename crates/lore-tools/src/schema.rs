//! Input schemas that every host understands: no nulls, no references, no top-level choices.

use std::{
    any::TypeId,
    collections::HashMap,
    sync::{Arc, LazyLock, Mutex, PoisonError},
};

use schemars::JsonSchema;
use serde_json::{Map, Value};

/// A schema, which many may hold.
type Schema = Arc<Map<String, Value>>;

/// The JSON schema of a tool's arguments. Every call needs it to be read, so each is made once.
pub fn input<T: JsonSchema + 'static>() -> Schema {
    static MADE: LazyLock<Mutex<HashMap<TypeId, Schema>>> = LazyLock::new(Mutex::default);
    let mut made = MADE.lock().unwrap_or_else(PoisonError::into_inner);
    Arc::clone(made.entry(TypeId::of::<T>()).or_insert_with(|| Arc::new(made_for::<T>())))
}

fn made_for<T: JsonSchema>() -> Map<String, Value> {
    let mut settings = schemars::generate::SchemaSettings::draft07();
    settings.inline_subschemas = true;
    settings.meta_schema = None;
    let mut value = settings.into_generator().into_root_schema_for::<T>().to_value();
    slim(&mut value);
    let Value::Object(mut schema) = value else { return Map::new() };
    schema.remove("description");
    schema.entry("type").or_insert_with(|| "object".into());
    schema.entry("properties").or_insert_with(|| Map::new().into());
    schema
}

/// Drops what models do not need: titles, numeric formats and the `null` arm of optional fields.
fn slim(value: &mut Value) {
    match value {
        Value::Object(object) => {
            for key in ["$schema", "title", "format", "additionalProperties", "definitions"] {
                // A property may be called `title`; then its value is a schema, not a text.
                if object
                    .get(key)
                    .is_some_and(|found| key == "additionalProperties" || key == "definitions" || found.is_string())
                {
                    object.remove(key);
                }
            }
            if object.get("default").is_some_and(Value::is_null) {
                object.remove("default");
            }
            if let Some(kinds) = object.get("type").and_then(Value::as_array)
                && let [kind, Value::String(null)] = kinds.as_slice()
                && null == "null"
            {
                let kind = kind.clone();
                object.insert("type".to_owned(), kind);
            }
            object.values_mut().for_each(slim);
        }
        Value::Array(list) => list.iter_mut().for_each(slim),
        _ => {}
    }
}

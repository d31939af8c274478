//! The document about the server (`OpenAPI` 3.1), made of the table that requests are let in by.

use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};

use crate::routes::{Handler, Route, Who, takes_query};

/// The document.
pub(crate) fn document(routes: &[Route]) -> Value {
    let settings = SchemaSettings::draft2020_12().with(|settings| {
        settings.definitions_path = "/components/schemas".into();
        settings.meta_schema = None;
    });
    let mut generator = settings.into_generator();
    let mut paths = Map::new();
    for route in routes {
        let operations = paths.entry(route.path).or_insert_with(|| json!({}));
        operations[route.method.as_str().to_ascii_lowercase()] = operation(route, &mut generator);
    }
    let mut schemas = generator.take_definitions(true);
    schemas.insert("Error".to_owned(), error_schema());
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "Lore team server",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "The memory of a team's code. Tools for agents are at `/mcp`, over the Model Context Protocol.",
        },
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"bearer": {"type": "http", "scheme": "bearer"}},
        },
    })
}

fn operation(route: &Route, generator: &mut schemars::SchemaGenerator) -> Value {
    let mut parameters: Vec<Value> = route
        .path
        .split('/')
        .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
        .map(|name| json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}}))
        .collect();
    let in_query = takes_query(&route.method);
    if in_query {
        parameters.extend(route.fields.properties.iter().map(|(name, schema)| {
            let required = route.fields.required.contains(name);
            json!({"name": name, "in": "query", "required": required, "schema": schema})
        }));
    }
    let (media, schema) = (route.output)(generator);
    let media_type = media.split(';').next().unwrap_or(media);
    let content = schema.map_or_else(|| json!({"schema": {"type": "string"}}), |schema| json!({"schema": schema}));
    let mut responses = Map::new();
    responses.insert("200".to_owned(), json!({"description": "Done.", "content": {media_type: content}}));
    let refused = |about: &str| {
        json!({
            "description": about,
            "content": {"application/json": {"schema": {"$ref": "#/components/schemas/Error"}}},
        })
    };
    if route.who != Who::Anyone {
        responses.insert("401".to_owned(), refused("No token, or none that is valid."));
    }
    if let Who::May(permission) = route.who {
        responses.insert("403".to_owned(), refused(&format!("`{}` is needed.", permission.as_str())));
    }
    responses.insert("default".to_owned(), refused("What went wrong."));
    let mut operation = json!({
        "summary": route.about,
        "operationId": operation_id(route),
        "parameters": parameters,
        "responses": responses,
        "security": if route.who == Who::Anyone { json!([]) } else { json!([{"bearer": []}]) },
    });
    if let Who::May(permission) = route.who {
        operation["x-permission"] = permission.as_str().into();
    }
    let takes_body = matches!(route.handler, Handler::Mcp) || !route.fields.properties.is_empty();
    if !in_query && takes_body {
        let required = matches!(route.handler, Handler::Mcp) || !route.fields.required.is_empty();
        let schema = (route.input)(generator);
        operation["requestBody"] = json!({"required": required, "content": {"application/json": {"schema": schema}}});
    }
    operation
}

/// A name of its own for each row: `post_api_golden_alias_refresh`.
fn operation_id(route: &Route) -> String {
    let words = format!("{}{}", route.method.as_str().to_ascii_lowercase(), route.path);
    let cleaned: String = words.chars().map(|c| if c.is_ascii_alphanumeric() { c } else { '_' }).collect();
    cleaned.split('_').filter(|word| !word.is_empty()).collect::<Vec<_>>().join("_")
}

fn error_schema() -> Value {
    json!({
        "type": "object",
        "required": ["error"],
        "properties": {
            "error": {
                "type": "object",
                "required": ["code", "message"],
                "properties": {
                    "code": {"type": "string", "description": "What programs may branch on."},
                    "message": {"type": "string", "description": "Names the thing and the value."},
                    "hint": {"type": ["string", "null"], "description": "What helps."},
                },
            },
        },
    })
}

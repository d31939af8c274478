//! The document about the server (`OpenAPI` 3.1), made of the table that requests are let in by.

use http::Method;
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
    schemas.insert("Message".to_owned(), message_schema());
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
    if let Handler::Mcp = route.handler {
        return mcp_operation(route);
    }
    let mut parameters = path_parameters(route);
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
    if !in_query && !route.fields.properties.is_empty() {
        let required = !route.fields.required.is_empty();
        let schema = (route.input)(generator);
        operation["requestBody"] = json!({"required": required, "content": {"application/json": {"schema": schema}}});
    }
    operation
}

fn path_parameters(route: &Route) -> Vec<Value> {
    let names = route.path.split('/').filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'));
    names.map(|name| json!({"name": name, "in": "path", "required": true, "schema": {"type": "string"}})).collect()
}

/// What MCP says about its own paths: messages in JSON, answers in JSON or as a stream of events, and headers beside them.
fn mcp_operation(route: &Route) -> Value {
    let (message, events) = (json!({"$ref": "#/components/schemas/Message"}), json!({"schema": {"type": "string"}}));
    let refused = |about: &str| json!({"description": about, "content": {"application/json": {"schema": message}}});
    let answer = json!({"application/json": {"schema": message}, "text/event-stream": events});
    let is_post = route.method == Method::POST;
    let mut headers = vec![
        ("Mcp-Session-Id", "The session, where there is one.", !is_post),
        ("MCP-Protocol-Version", "The version of the protocol that was agreed on.", false),
    ];
    if route.method == Method::GET {
        headers.push(("Last-Event-ID", "The last event that arrived: the stream goes on after it.", false));
    }
    let mut parameters = path_parameters(route);
    parameters.extend(headers.into_iter().map(|(name, about, required)| {
        json!({"name": name, "in": "header", "required": required, "description": about, "schema": {"type": "string"}})
    }));
    let session = json!({"description": "The session that was opened.", "schema": {"type": "string"}});
    let mut responses = match route.method {
        Method::POST => json!({
            "200": {"description": "The answer.", "headers": {"Mcp-Session-Id": session}, "content": answer},
            "202": {"description": "A notification or an answer was taken; there is nothing to say."},
            "413": refused("The message is too large."),
            "415": refused("The body does not say that it is JSON."),
            "429": refused("Too many calls or sessions of this user; `Retry-After` says when to come back."),
        }),
        Method::GET => {
            json!({"200": {"description": "What the session tells.", "content": {"text/event-stream": events}}})
        }
        _ => json!({"204": {"description": "The session is ended."}}),
    };
    for (status, about) in [
        ("400", "No message, or one that does not fit its headers."),
        ("401", "No token, or none that is valid."),
        ("403", "Another host, or a page that may not ask."),
        ("404", "No such session, or no such toolset."),
        ("405", "There is no session to listen to or to end."),
        ("406", "The client takes no form that there is."),
        ("503", "The server is stopping, or has too much to read."),
    ] {
        responses[status] = refused(about);
    }
    let mut operation = json!({
        "summary": route.about,
        "operationId": operation_id(route),
        "parameters": parameters,
        "responses": responses,
        "security": [{"bearer": []}],
    });
    if is_post {
        operation["requestBody"] = json!({"required": true, "content": {"application/json": {"schema": message}}});
    }
    operation
}

/// A message of JSON-RPC.
fn message_schema() -> Value {
    json!({
        "type": "object",
        "required": ["jsonrpc"],
        "properties": {
            "jsonrpc": {"const": "2.0"},
            "id": {"type": ["string", "integer", "null"]},
            "method": {"type": "string"},
            "params": {"type": "object"},
            "result": {"type": "object"},
            "error": {
                "type": "object",
                "required": ["code", "message"],
                "properties": {"code": {"type": "integer"}, "message": {"type": "string"}, "data": {}},
            },
        },
    })
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

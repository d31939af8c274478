//! The smallest server: one tool, which gives its arguments back. Try it with a client, or by hand:
//!
//! `echo '{"jsonrpc":"2.0","id":1,"method":"tools/list"}' | cargo run -p lore-mcp --example echo`

use std::io;

use futures::FutureExt as _;
use lore_mcp::{BoundTool, Server, ServerText, serve_stdio};
use lore_model::Permission;
use lore_tools::{Answer, Effect, Errors};
use serde_json::{Value, json};

#[tokio::main]
async fn main() -> io::Result<()> {
    let echo = BoundTool {
        name: "echo".to_owned(),
        title: "Echo".to_owned(),
        about: "Gives its arguments back.".to_owned(),
        permission: Permission::QueryRepos,
        effect: Effect::Reads,
        errors: Errors::Result,
        about_project: false,
        toolset: None,
        ready: None,
        input: json!({ "type": "object", "properties": {} }).as_object().cloned().unwrap_or_default().into(),
        call: Box::new(|arguments, _| async move { Ok(Answer::json(Value::Object(arguments))) }.boxed()),
    };
    let text = ServerText { version: env!("CARGO_PKG_VERSION").to_owned(), instructions: String::new() };
    let interrupted = tokio::signal::ctrl_c().map(|_| ());
    serve_stdio(Server::of(vec![echo], text), interrupted).await
}

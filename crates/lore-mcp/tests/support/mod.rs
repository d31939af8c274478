//! A server of small tools, and a client that is a piece of text.

use std::{
    future,
    sync::Arc,
    sync::atomic::{AtomicUsize, Ordering},
    time::Duration,
};

use futures::{FutureExt as _, future::BoxFuture};
use lore_mcp::{BoundTool, Server, ServerText, serve};
use lore_model::{Code, Failure, Permission};
use lore_tools::{Answer, Effect, Errors};
use serde_json::{Map, Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

type Arguments = Map<String, Value>;
type Ended = BoxFuture<'static, Result<Answer, Failure>>;

/// What the server prints for an input, from its first byte to the end.
///
/// Time is virtual: it jumps whenever everybody waits, so slow tools cost nothing. At a line `(a second passes)` the
/// client waits until all is quiet.
pub(crate) fn transcript(input: impl Into<Vec<u8>>) -> String {
    let output = virtual_time(session(input.into(), future::pending()));
    String::from_utf8(output).expect("answers are text")
}

/// Runs a future to its end in virtual time, on one thread: the order of everything is fixed.
pub(crate) fn virtual_time<T>(work: impl Future<Output = T>) -> T {
    tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .start_paused(true)
        .build()
        .expect("a runtime starts")
        .block_on(work)
}

/// Sends the input, closes it, and collects the answers until the server ends.
pub(crate) async fn session(input: Vec<u8>, shutdown: impl Future<Output = ()>) -> Vec<u8> {
    let (client, ours) = tokio::io::duplex(64 * 1024);
    let (mut answers, mut requests) = tokio::io::split(client);
    let (read, write) = tokio::io::split(ours);
    let send = async {
        for (index, part) in parts(&input).enumerate() {
            if index > 0 {
                tokio::time::sleep(Duration::from_secs(1)).await;
            }
            requests.write_all(part).await.expect("the server reads");
        }
        requests.shutdown().await.expect("the input closes");
    };
    let mut output = Vec::new();
    let receive = answers.read_to_end(&mut output);
    let (served, (), received) = tokio::join!(serve(server(), read, write, shutdown), send, receive);
    served.expect("the server ends well");
    received.expect("the answers end");
    output
}

fn parts(input: &[u8]) -> impl Iterator<Item = &[u8]> {
    const PAUSE: &[u8] = b"(a second passes)\n";
    let mut rest = Some(input);
    std::iter::from_fn(move || {
        let input = rest?;
        let end = input.windows(PAUSE.len()).position(|window| window == PAUSE);
        rest = end.map(|end| &input[end + PAUSE.len()..]);
        Some(&input[..end.unwrap_or(input.len())])
    })
}

/// A server with a tool for every way in which a call can go.
pub(crate) fn server() -> Server {
    let dropped = Arc::new(AtomicUsize::new(0));
    let counted = dropped.clone();
    let tools = vec![
        tool("echo", "Gives its arguments back.", |arguments| answer(json!(arguments), json!({ "lore/fresh": true }))),
        tool("commitmux_get_commit", "Knows no commit.", |_| {
            let failure = Failure::new(Code::CommitNotFound, "Commit api-server:abc123 not found");
            future::ready(Err(failure.hint("run `lore sync`"))).boxed()
        }),
        tool("picky", "Wants another argument.", |_| {
            let failure = Failure::new(Code::InvalidArgument, "unknown argument `querry`");
            future::ready(Err(failure.hint("did you mean `query`?"))).boxed()
        }),
        tool("hidden", "Gives text that hides something.", |_| {
            answer(json!(["a\u{202e}b", "c"]), json!({ "r\u{200b}": "\u{1b}[31m" }))
        }),
        tool("hidden_failure", "Fails with text that hides something.", |_| {
            future::ready(Err(Failure::new(Code::Internal, "no\u{202e}pe"))).boxed()
        }),
        tool("panic", "Panics at once.", |_| panic!("at once")),
        tool("panic_later", "Panics after a while.", |_| {
            async {
                tokio::task::yield_now().await;
                panic!("later")
            }
            .boxed()
        }),
        tool("slow", "Takes ten seconds.", |_| {
            tokio::time::sleep(Duration::from_secs(10)).then(|()| answer(json!("slow"), json!({}))).boxed()
        }),
        tool("hang", "Never ends.", move |_| {
            let guard = Dropped(counted.clone());
            async move {
                let _guard = guard;
                future::pending().await
            }
            .boxed()
        }),
        tool("dropped", "Counts the calls of `hang` that were dropped.", move |_| {
            answer(json!(dropped.load(Ordering::SeqCst)), json!({}))
        }),
        BoundTool { effect: Effect::Changes, ..tool("write", "Writes.", |_| answer(json!("ok"), json!({}))) },
    ];
    Server::of(tools, ServerText { version: "1.2.3".into(), instructions: "Use `echo` to hear yourself.".into() })
}

struct Dropped(Arc<AtomicUsize>);

impl Drop for Dropped {
    fn drop(&mut self) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

fn tool(name: &str, about: &str, call: impl Fn(Arguments) -> Ended + Send + Sync + 'static) -> BoundTool {
    BoundTool {
        name: name.into(),
        title: name.to_uppercase(),
        about: about.into(),
        permission: Permission::QueryRepos,
        effect: Effect::Reads,
        errors: Errors::Result,
        about_project: false,
        toolset: None,
        ready: None,
        input: object(json!({ "type": "object", "properties": {} })).into(),
        call: Box::new(move |arguments, _| call(arguments)),
    }
}

fn answer(value: Value, meta: Value) -> Ended {
    let answer = Answer { meta: object(meta), ..Answer::json(value) };
    future::ready(Ok(answer)).boxed()
}

fn object(value: Value) -> Map<String, Value> {
    match value {
        Value::Object(object) => object,
        other => panic!("{other} is not an object"),
    }
}

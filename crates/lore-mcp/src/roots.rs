//! Asks a client which folders it works in, in the way of each protocol era, and says what it answered.
//!
//! Only `file://` addresses count. What a folder means is for the one who listens.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

#[expect(deprecated, reason = "hosts of today say with roots where they work")]
use rmcp::model::ListRootsRequest;
use rmcp::{
    Peer, RoleServer,
    model::{CallToolRequestParams, ClientCapabilities, InputRequest, InputRequiredResult},
    service::RequestContext,
};
use serde::Deserialize;

/// A client that does not answer soon is one that does not tell.
const ANSWER: Duration = Duration::from_secs(2);

/// What the question is called in an answer of the stateless era.
const KEY: &str = "roots";

/// Hears which folders a client works in; `None` where it does not tell.
pub type RootsListener = Arc<dyn Fn(Option<Vec<PathBuf>>) + Send + Sync>;

/// What is known of the client's folders.
pub(crate) struct Roots {
    listener: RootsListener,
    /// Whether they have been asked for in the stateless era.
    asked: AtomicBool,
}

impl Roots {
    pub(crate) fn new(listener: RootsListener) -> Self {
        Self { listener, asked: AtomicBool::new(false) }
    }

    /// Takes note of a client that cannot tell, as soon as that is known.
    pub(crate) fn greet(&self, client: &ClientCapabilities) {
        if !has_roots(client) {
            self.hear_nobody();
        }
    }

    /// The client does not tell.
    pub(crate) fn hear_nobody(&self) {
        (self.listener)(None);
    }

    /// Asks a client that shook hands, if it can tell.
    pub(crate) async fn ask(&self, peer: &Peer<RoleServer>) {
        let can_tell = peer.peer_info().is_some_and(|info| has_roots(&info.capabilities));
        (self.listener)(if can_tell { list(peer).await } else { None });
    }

    /// Takes what a call of the stateless era brings, or gives the question that must be answered first.
    ///
    /// A client without a handshake has nowhere else to say it. It is asked once: who does not answer does not tell.
    pub(crate) fn of_call(
        &self,
        request: &CallToolRequestParams,
        context: &RequestContext<RoleServer>,
    ) -> Option<InputRequiredResult> {
        if let Some(answer) = request.input_responses.as_ref().and_then(|answers| answers.get(KEY)) {
            let answer = serde_json::from_value::<Answered>(answer.clone()).ok();
            (self.listener)(answer.map(|answer| answer.paths()));
            return None;
        }
        if context.peer.peer_info().is_some() {
            return None;
        }
        let stateless = context.protocol_version().is_some_and(|version| !version.has_initialize());
        let can_tell = stateless && context.client_capabilities().is_some_and(|client| has_roots(&client));
        if !can_tell || self.asked.swap(true, Ordering::Relaxed) {
            (self.listener)(None);
            return None;
        }
        #[expect(deprecated, reason = "hosts of today say with roots where they work")]
        let question = InputRequest::ListRoots(ListRootsRequest::default());
        Some(InputRequiredResult::from_input_requests(BTreeMap::from([(KEY.to_owned(), question)])))
    }
}

fn has_roots(client: &ClientCapabilities) -> bool {
    client.roots.is_some()
}

#[expect(deprecated, reason = "hosts of today say with roots where they work")]
async fn list(peer: &Peer<RoleServer>) -> Option<Vec<PathBuf>> {
    match tokio::time::timeout(ANSWER, peer.list_roots()).await {
        Ok(Ok(answer)) => Some(answer.roots.iter().filter_map(|root| file_path(&root.uri)).collect()),
        Ok(Err(error)) => {
            tracing::debug!(%error, "the client does not tell its roots");
            None
        }
        Err(_) => {
            tracing::debug!("the client did not tell its roots in time");
            None
        }
    }
}

/// The result of `roots/list`, as a client of the stateless era puts it into its next call.
#[derive(Deserialize)]
struct Answered {
    roots: Vec<Root>,
}

#[derive(Deserialize)]
struct Root {
    uri: String,
}

impl Answered {
    fn paths(&self) -> Vec<PathBuf> {
        self.roots.iter().filter_map(|root| file_path(&root.uri)).collect()
    }
}

/// The path of a `file://` address on this machine.
fn file_path(uri: &str) -> Option<PathBuf> {
    let rest = uri.get(..7).filter(|scheme| scheme.eq_ignore_ascii_case("file://")).map(|_| &uri[7..])?;
    let path = rest.strip_prefix("localhost").unwrap_or(rest);
    let path = path.split(['?', '#']).next().filter(|path| path.starts_with('/'))?;
    let bytes = decode(path)?;
    if bytes.contains(&0) {
        return None;
    }
    let text = String::from_utf8(bytes).ok()?;
    // `file:///C:/x` is `C:/x` where there are drives.
    let drive = cfg!(windows) && text.as_bytes().get(2) == Some(&b':');
    Some(PathBuf::from(if drive { &text[1..] } else { &text }))
}

/// Replaces `%20` and its like; `None` where a `%` stands for nothing.
fn decode(text: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || char::from(rest.next()?).to_digit(16);
        let value = digit()? * 16 + digit()?;
        bytes.push(u8::try_from(value).ok()?);
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_files_of_this_machine_are_paths() {
        for (uri, path) in [
            ("file:///home/ada/src", Some("/home/ada/src")),
            ("FILE:///home/ada/a%20b/%C3%A9", Some("/home/ada/a b/é")),
            ("file://localhost/x", Some("/x")),
            ("file://elsewhere/x", None),
            ("file:relative", None),
            ("https://example.com/", None),
            ("file:///a%0", None),
            ("file:///a%00b", None),
            ("", None),
        ] {
            assert_eq!(file_path(uri), path.map(PathBuf::from), "{uri}");
        }
    }
}

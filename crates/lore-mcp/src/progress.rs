//! Tells a client how its call goes on, without ever making the call wait.
//!
//! Only the newest state is kept: a client that reads slowly misses states, and never sees one that is behind another.

use std::time::Duration;

use http::request::Parts;
use lore_model::escape_controls;
use lore_tools::Progress;
use rmcp::{
    Peer, RoleServer,
    model::{ProgressNotificationParam, ProgressToken},
    service::RequestContext,
};
use tokio::{sync::watch, time::timeout};

/// How long the last state may take on its way before the answer.
const LAST: Duration = Duration::from_secs(1);

/// Marks a request whose client takes one JSON answer and nothing else.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AnswerOnly;

#[derive(Debug, Clone, PartialEq)]
struct State {
    done: f64,
    of: Option<f64>,
    what: String,
}

/// The states of one call, on their way to its client.
pub(crate) struct Reports {
    states: watch::Receiver<Option<State>>,
    told: Option<State>,
    token: ProgressToken,
    peer: Peer<RoleServer>,
}

/// What a call tells its progress with, where its client wants to hear of it, and what brings it there.
pub(crate) fn of(context: &RequestContext<RoleServer>) -> Option<(Progress, Reports)> {
    let answer_only = |parts: &Parts| parts.extensions.get::<AnswerOnly>().is_some();
    if context.extensions.get::<Parts>().is_some_and(answer_only) {
        return None;
    }
    let token = context.meta.get_progress_token()?;
    let (newest, states) = watch::channel(None);
    let progress = Progress::new(move |done, of, what| {
        newest.send_if_modified(|state: &mut Option<State>| {
            let is_further = done.is_finite() && state.as_ref().is_none_or(|state| state.done < done);
            if is_further {
                let of = of.filter(|of| of.is_finite());
                *state = Some(State { done, of, what: escape_controls(what).into_owned() });
            }
            is_further
        });
    });
    Some((progress, Reports { states, told: None, token, peer: context.peer.clone() }))
}

impl Reports {
    /// Runs a call and meanwhile tells how it goes on. Nothing is told once the call is over.
    pub(crate) async fn during<T>(mut self, call: impl Future<Output = T>) -> T {
        let ended = {
            let mut call = std::pin::pin!(call);
            loop {
                tokio::select! {
                    ended = &mut call => break ended,
                    changed = self.states.changed() => {
                        if changed.is_err() {
                            // The call has let go of its progress.
                            break call.await;
                        }
                        // While the client does not take it, the call goes on.
                        tokio::select! {
                            ended = &mut call => break ended,
                            () = self.tell() => {}
                        }
                    }
                }
            }
        };
        let has_more = *self.states.borrow() != self.told;
        if has_more && timeout(LAST, self.tell()).await.is_err() {
            tracing::debug!("the client does not take its progress");
        }
        ended
    }

    async fn tell(&mut self) {
        self.told.clone_from(&self.states.borrow_and_update());
        let Some(state) = self.told.clone() else { return };
        let mut told = ProgressNotificationParam::new(self.token.clone(), state.done).with_message(state.what);
        told.total = state.of;
        if let Err(error) = self.peer.notify_progress(told).await {
            tracing::debug!(%error, "the client could not be told how its call goes on");
        }
    }
}

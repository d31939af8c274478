//! What a client is told without having asked at that moment: that messages came, that the list of prompts changed.
//!
//! Clients of the handshake era subscribe to a resource and set a log level; clients of the stateless era keep a request
//! open. One value serves one connection.
#![expect(
    deprecated,
    reason = "clients of the handshake era subscribe and ask for log messages in ways that later ones do not"
)]

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use lore_model::{Cancel, RepoPath};
use lore_tools::{
    Context,
    messages::{self, Follower},
    prompts,
};
use rmcp::{
    Peer, RoleServer,
    model::{
        CustomNotification, LoggingLevel, NotificationMetaObject, ResourceUpdatedNotificationParam, ServerNotification,
    },
    service::SubscriptionContext,
};
use serde_json::{Value, json};
use tokio::sync::{broadcast, watch};

use crate::blocking::blocking;

/// Notices that a slow listener may lag behind; it only misses that there was more than one.
const KEPT: usize = 16;

/// How often the registries are looked at: a few `stat` calls each time.
const PROMPTS: Duration = Duration::from_secs(1);

/// What is told.
#[derive(Debug, Clone)]
pub(crate) enum Notice {
    /// A message came, about this file.
    Message(String),
    /// There are other prompts.
    Prompts,
}

/// Who is told, on one connection.
pub(crate) struct Notices {
    sent: broadcast::Sender<Notice>,
    /// A client that subscribed to the messages.
    subscriber: Mutex<Option<Peer<RoleServer>>>,
    /// A client that wants log messages from this level on.
    logging: Mutex<Option<(LoggingLevel, Peer<RoleServer>)>>,
    /// A client that shook hands.
    client: Mutex<Option<Peer<RoleServer>>>,
    /// Whether the client has no more to say.
    closed: watch::Sender<bool>,
}

impl Default for Notices {
    fn default() -> Self {
        let (sent, _) = broadcast::channel(KEPT);
        Self {
            sent,
            subscriber: Mutex::default(),
            logging: Mutex::default(),
            client: Mutex::default(),
            closed: watch::Sender::new(false),
        }
    }
}

fn set<T>(place: &Mutex<Option<T>>, value: Option<T>) {
    *place.lock().unwrap_or_else(PoisonError::into_inner) = value;
}

fn get<T: Clone>(place: &Mutex<Option<T>>) -> Option<T> {
    place.lock().unwrap_or_else(PoisonError::into_inner).clone()
}

impl Notices {
    pub(crate) fn subscribe(&self, peer: Peer<RoleServer>) {
        set(&self.subscriber, Some(peer));
    }

    pub(crate) fn unsubscribe(&self) {
        set(&self.subscriber, None);
    }

    pub(crate) fn set_level(&self, level: LoggingLevel, peer: Peer<RoleServer>) {
        set(&self.logging, Some((level, peer)));
    }

    pub(crate) fn shook_hands(&self, peer: Peer<RoleServer>) {
        set(&self.client, Some(peer));
    }

    /// Ends the requests that are open for notices: nobody will end them any more.
    pub(crate) fn close(&self) {
        self.closed.send_replace(true);
    }

    /// Waits for what there is to tell and tells it, until it is dropped.
    ///
    /// `news` are the messages that come, `known` is the stamp of the prompts that the client can know.
    pub(crate) async fn run(&self, context: &Context, news: Option<Follower>, known: Option<u64>) {
        let sent = self.sent.clone();
        let heard = move |file: &RepoPath| {
            // Nobody may be listening.
            drop(sent.send(Notice::Message(file.to_text().into_owned())));
        };
        let mut notices = self.sent.subscribe();
        let tell = async {
            loop {
                match notices.recv().await {
                    Ok(notice) => self.tell(&notice).await,
                    Err(broadcast::error::RecvError::Lagged(_)) => {}
                    Err(broadcast::error::RecvError::Closed) => return,
                }
            }
        };
        let follow_messages = async {
            if let Some(news) = news {
                blocking(move || news.run(&Cancel::current(), &heard)).await;
            }
        };
        let follow_prompts = async {
            if let Some(known) = known {
                self.follow_prompts(context, known).await;
            }
        };
        tokio::join!(tell, follow_messages, follow_prompts);
    }

    /// Tells when there are other prompts.
    async fn follow_prompts(&self, context: &Context, mut known: u64) {
        loop {
            tokio::time::sleep(PROMPTS).await;
            let context = context.clone();
            let now = blocking(move || prompts::stamp(&context)).await;
            if now != known {
                known = now;
                drop(self.sent.send(Notice::Prompts));
            }
        }
    }

    /// Tells clients of the handshake era.
    async fn tell(&self, notice: &Notice) {
        match notice {
            Notice::Message(file) => {
                if let Some(peer) = get(&self.subscriber) {
                    told(peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(messages::URI)).await);
                }
                if let Some((level, peer)) = get(&self.logging)
                    && wants_news(level)
                {
                    told(peer.send_notification(log_message(file, None)).await);
                }
            }
            Notice::Prompts => {
                if let Some(peer) = get(&self.client) {
                    told(peer.notify_prompt_list_changed().await);
                }
            }
        }
    }

    /// Serves one open request of the stateless era, until its client ends it.
    pub(crate) async fn listen(&self, subscription: &SubscriptionContext) {
        let (mut notices, mut closed) = (self.sent.subscribe(), self.closed.subscribe());
        let request = subscription.request_context();
        let wants_log = request.meta.log_level().is_some_and(wants_news);
        loop {
            let notice = tokio::select! {
                () = subscription.cancelled() => return,
                _ = closed.wait_for(|closed| *closed) => return,
                notice = notices.recv() => notice,
            };
            // What was not asked for is left out by the sink itself.
            let sent = match notice {
                Ok(Notice::Message(file)) => {
                    if wants_log {
                        let mut meta = NotificationMetaObject::new();
                        meta.set_subscription_id(request.id.clone());
                        told(request.peer.send_notification(log_message(&file, Some(meta))).await);
                    }
                    subscription.sink().notify_resource_updated(messages::URI).await
                }
                Ok(Notice::Prompts) => subscription.sink().notify_prompt_list_changed().await,
                // It may have been either.
                Err(broadcast::error::RecvError::Lagged(_)) => {
                    told(subscription.sink().notify_prompt_list_changed().await);
                    subscription.sink().notify_resource_updated(messages::URI).await
                }
                Err(broadcast::error::RecvError::Closed) => return,
            };
            told(sent);
        }
    }
}

/// Notes where a client could not be told.
fn told<E: std::fmt::Display>(told: Result<(), E>) {
    if let Err(error) = told {
        tracing::debug!(%error, "the client could not be told");
    }
}

/// Which notices there are.
#[derive(Debug, Clone, Copy)]
pub(crate) struct On {
    pub(crate) messages: bool,
    pub(crate) prompts: bool,
}

/// Whether a client that logs from this level on wants to know that a message came.
fn wants_news(level: LoggingLevel) -> bool {
    matches!(level, LoggingLevel::Debug | LoggingLevel::Info)
}

/// The log message of the contract, which has a text beside the data.
fn log_message(file: &str, meta: Option<NotificationMetaObject>) -> ServerNotification {
    let mut params = json!({
        "level": "info", "logger": "lore", "message": "New message from lazygit", "data": {"file": lore_model::escape_controls(file)},
    });
    if let Some(meta) = meta {
        params["_meta"] = serde_json::to_value(meta).unwrap_or(Value::Null);
    }
    ServerNotification::CustomNotification(CustomNotification::new("notifications/message", Some(params)))
}

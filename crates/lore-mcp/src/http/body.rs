//! Bodies of requests and responses.

use std::{
    convert::Infallible,
    pin::{Pin, pin},
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll},
};

use bytes::{Buf as _, Bytes};
use futures::future::BoxFuture;
use http::{Response, StatusCode, header};
use http_body::{Body, Frame, SizeHint};
use http_body_util::{BodyExt as _, Full, combinators::BoxBody};
use serde_json::{Value, json};
use tokio_util::sync::{CancellationToken, WaitForCancellationFutureOwned};

/// A response as it leaves here.
pub(super) type HttpResponse = Response<BoxBody<Bytes, Infallible>>;

/// Why a body was not read.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Unread {
    /// It is longer than it may be.
    TooLarge,
    /// It ended early.
    Broken,
}

/// Reads a body that may have so many bytes, and never holds more of it.
pub(super) async fn read<B: Body>(body: B, most: usize) -> Result<Vec<u8>, Unread> {
    if body.size_hint().lower() > most as u64 {
        return Err(Unread::TooLarge);
    }
    let mut body = pin!(body);
    let mut read = Vec::new();
    while let Some(frame) = body.as_mut().frame().await {
        let Ok(mut data) = frame.map_err(|_| Unread::Broken)?.into_data() else { continue };
        if data.remaining() > most - read.len() {
            return Err(Unread::TooLarge);
        }
        while data.has_remaining() {
            let length = data.chunk().len();
            read.extend_from_slice(data.chunk());
            data.advance(length);
        }
    }
    Ok(read)
}

/// A response without a body.
pub(super) fn empty(status: StatusCode) -> HttpResponse {
    let mut response = Response::new(Full::default().boxed());
    *response.status_mut() = status;
    response
}

/// A response that is one JSON text.
pub(super) fn json(status: StatusCode, value: &Value) -> HttpResponse {
    let mut response = Response::new(Full::from(value.to_string()).boxed());
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static("application/json"));
    response
}

/// A response that refuses a request as a whole: an error of the protocol that answers no id.
pub(super) fn refusal(status: StatusCode, code: i32, message: &str) -> HttpResponse {
    json(status, &json!({ "jsonrpc": "2.0", "id": null, "error": { "code": code, "message": message } }))
}

/// A body that keeps something until it is at its end, or nobody wants the rest.
pub struct Keeping<K> {
    body: BoxBody<Bytes, Infallible>,
    kept: Option<K>,
}

impl<K> Keeping<K> {
    /// This body, which keeps this.
    pub fn new(body: BoxBody<Bytes, Infallible>, kept: K) -> Self {
        Self { body, kept: Some(kept) }
    }
}

impl<K: Unpin> Body for Keeping<K> {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        if let Poll::Ready(None) = polled {
            self.kept = None;
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Until when whoever makes a request may listen. A request is let in once; a stream on which somebody only listens would outlive
/// what they were let in for. Whoever embeds an endpoint puts it into the extensions of a request, as it does with the caller.
#[derive(Clone)]
pub struct ListensUntil(Arc<dyn Fn() -> BoxFuture<'static, ()> + Send + Sync>);

impl ListensUntil {
    /// Until what this makes is ready.
    pub fn new(over: impl Fn() -> BoxFuture<'static, ()> + Send + Sync + 'static) -> Self {
        Self(Arc::new(over))
    }
}

/// A body that ends when the server takes nothing new any more, or when its reader may not have it any longer: on it somebody
/// only listens.
pub(super) struct Listening {
    /// `None` at its end.
    body: Option<BoxBody<Bytes, Infallible>>,
    closing: Pin<Box<WaitForCancellationFutureOwned>>,
    /// Bodies are shared between threads, and what is waited for need not be.
    over: Option<Mutex<BoxFuture<'static, ()>>>,
}

impl Listening {
    pub(super) fn new(
        body: BoxBody<Bytes, Infallible>,
        closing: &CancellationToken,
        until: Option<&ListensUntil>,
    ) -> Self {
        let over = until.map(|until| Mutex::new((until.0)()));
        Self { body: Some(body), closing: Box::pin(closing.clone().cancelled_owned()), over }
    }

    fn is_over(&mut self, context: &mut Context<'_>) -> bool {
        let over = self.over.as_mut().is_some_and(|over| {
            let over = over.get_mut().unwrap_or_else(PoisonError::into_inner);
            over.as_mut().poll(context).is_ready()
        });
        over || self.closing.as_mut().poll(context).is_ready()
    }
}

impl Body for Listening {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        // What is over is not asked again.
        if self.body.is_some() && self.is_over(context) {
            self.body = None;
        }
        match &mut self.body {
            Some(body) => Pin::new(body).poll_frame(context),
            None => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.as_ref().is_none_or(Body::is_end_stream)
    }
}

#[cfg(test)]
mod tests {
    use futures::stream;
    use http_body_util::StreamBody;

    use super::*;

    #[tokio::test]
    async fn a_body_of_the_greatest_length_is_read_and_a_longer_one_is_not() {
        assert_eq!(read(Full::new(Bytes::from_static(b"12345678")), 8).await, Ok(b"12345678".to_vec()));
        assert_eq!(read(Full::new(Bytes::from_static(b"123456789")), 8).await, Err(Unread::TooLarge));
    }

    #[tokio::test]
    async fn whoever_may_not_listen_any_longer_hears_nothing_more() {
        let says = || stream::repeat_with(|| Ok::<_, Infallible>(Frame::data(Bytes::from_static(b"x"))));
        let (closing, over) = (CancellationToken::new(), CancellationToken::new());
        let waits = over.clone();
        let until = ListensUntil::new(move || Box::pin(waits.clone().cancelled_owned()));
        let listening = |until| Listening::new(StreamBody::new(says()).boxed(), &closing, until);
        let (mut one, mut other) = (listening(Some(&until)), listening(None));
        assert!(one.frame().await.is_some() && other.frame().await.is_some());
        over.cancel();
        assert!(one.frame().await.is_none() && one.frame().await.is_none() && one.is_end_stream());
        assert!(other.frame().await.is_some());
        closing.cancel();
        assert!(other.frame().await.is_none());
        assert!(listening(Some(&until)).frame().await.is_none());
    }

    #[tokio::test]
    async fn a_body_of_unknown_length_is_given_up_as_soon_as_it_is_too_long() {
        // Far more than is taken, and not endless: a limit that is gone shall be seen, not waited for.
        let long = stream::repeat_with(|| Ok::<_, Infallible>(Frame::data(Bytes::from_static(&[b'x'; 1000]))));
        assert_eq!(read(StreamBody::new(futures::StreamExt::take(long, 1000)), 8000).await, Err(Unread::TooLarge));
        let broken = stream::iter([Ok(Frame::data(Bytes::from_static(b"x"))), Err("gone")]);
        assert_eq!(read(StreamBody::new(broken), 8).await, Err(Unread::Broken));
    }
}

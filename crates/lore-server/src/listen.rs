//! The socket: accepts connections, lets none of them wait for ever, and ends them in order.

use std::{
    convert::Infallible,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use http::Request;
use hyper::{
    body::Incoming,
    server::conn::{http1, http2},
    service::service_fn,
};
use hyper_util::rt::{TokioExecutor, TokioIo, TokioTimer};
use lore_model::{Code, Failure};
use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::{TcpListener, TcpStream},
    task::JoinSet,
    time::{Instant, MissedTickBehavior, interval, timeout},
};
use tokio_rustls::TlsAcceptor;
use tokio_util::sync::CancellationToken;

use crate::{
    App, Peer,
    patient::Patient,
    places::{Place, Places},
    tls::Tls,
};

/// The most bytes that the head of a request may have.
const HEAD_MAX: usize = 64 * 1024;
/// Requests at a time over one connection.
const STREAMS: u32 = 16;
/// What a client may send ahead over one connection of HTTP/2, and what is kept for it before it takes it.
const WINDOW: u32 = 256 * 1024;
/// The same for one request.
const STREAM_WINDOW: u32 = 64 * 1024;
/// How long calls that were cut off may take to say so.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// How long to wait where the system gives no connection.
const PAUSE: Duration = Duration::from_millis(100);

/// A server that has its socket and does not accept yet.
pub struct Bound {
    app: Arc<App>,
    listener: TcpListener,
    address: SocketAddr,
    tls: Option<Tls>,
}

impl Bound {
    /// Takes the socket, and reads the certificate where there is one.
    pub async fn open(app: Arc<App>) -> Result<Self, Failure> {
        let listen = app.options.listen;
        let tls = app.options.tls.as_ref().map(Tls::open).transpose()?;
        let failed = |error: std::io::Error| {
            let code = match error.kind() {
                std::io::ErrorKind::AddrInUse => Code::Busy,
                _ => Code::NoAccess,
            };
            Failure::new(code, format!("the server cannot listen on {listen}: {error}"))
                .hint("another program may have it: choose another one with `--listen ADDRESS:PORT`")
        };
        let listener = TcpListener::bind(listen).await.map_err(failed)?;
        let address = listener.local_addr().map_err(failed)?;
        if app.options.is_open() {
            tracing::warn!(%address, "other machines can reach the server, which does not encrypt: use TLS, or a proxy that alone can reach it");
        }
        Ok(Self { app, listener, address, tls })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// How people reach it: by a name that it answers to.
    pub fn url(&self) -> String {
        let scheme = if self.tls.is_some() { "https" } else { "http" };
        if !self.address.ip().is_unspecified() {
            return format!("{scheme}://{}", self.address);
        }
        // All addresses together are none that anybody could ask for.
        let named = self.app.options.hosts.iter().find(|host| !host.contains([':', '*']));
        let named = named.map_or("localhost", String::as_str);
        match self.app.public() {
            Some(public) => public.to_owned(),
            None => format!("{scheme}://{named}:{}", self.address.port()),
        }
    }

    /// Serves until `shutdown`, then lets what is under way finish, in bounded time.
    pub async fn serve(mut self, shutdown: impl Future<Output = ()>) {
        let places = Places::new(&self.app.options.limits, &self.app.options.trusted_proxies);
        let stop = CancellationToken::new();
        let mut connections = JoinSet::new();
        let mut look = interval(self.app.options.limits.certificate);
        let mut shutdown = std::pin::pin!(shutdown);
        loop {
            tokio::select! {
                () = &mut shutdown => break,
                (stream, address, place) = accept(&self.listener, &places) => {
                    let connection = Connection {
                        app: Arc::clone(&self.app),
                        address,
                        stop: stop.clone(),
                        _place: place,
                    };
                    let acceptor = self.tls.as_ref().map(Tls::acceptor);
                    connections.spawn(connection.serve(stream, acceptor));
                }
                Some(ended) = connections.join_next() => if let Err(error) = ended {
                    tracing::error!(%error, "a connection was lost");
                },
                _ = look.tick() => if let Some(tls) = &mut self.tls { tls.reload() },
            }
        }
        // Nobody is let in any more; whoever is here may finish.
        drop(self.listener);
        let patience = self.app.options.limits.stopping;
        let stopping = async {
            stop.cancel();
            self.app.close();
            while connections.join_next().await.is_some() {}
        };
        let in_time = timeout(patience, stopping).await.is_ok();
        self.app.stop().await;
        if !in_time {
            tracing::warn!("requests that did not finish in time were cut off");
            // Calls that were cut off say so, to whoever still reads.
            let last = async { while connections.join_next().await.is_some() {} };
            drop(timeout(LAST_WORDS, last).await);
            connections.shutdown().await;
        }
    }
}

/// The next connection, once there is place for it.
async fn accept(listener: &TcpListener, places: &Places) -> (TcpStream, SocketAddr, Place) {
    loop {
        let place = places.any().await;
        match listener.accept().await {
            Ok((stream, address)) => {
                if let Some(place) = places.take(place, address.ip()) {
                    return (stream, address, place);
                }
                tracing::debug!(%address, "an address has too many connections");
            }
            Err(error) => {
                tracing::warn!(%error, "a connection could not be accepted");
                tokio::time::sleep(PAUSE).await;
            }
        }
    }
}

/// One connection. Its place is free again when it is dropped.
struct Connection {
    app: Arc<App>,
    address: SocketAddr,
    stop: CancellationToken,
    _place: Place,
}

/// Counts an open connection.
struct Counted(Arc<App>);

impl Counted {
    fn new(app: Arc<App>) -> Self {
        app.metrics.connections.fetch_add(1, Ordering::Relaxed);
        Self(app)
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.metrics.connections.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Connection {
    async fn serve(self, stream: TcpStream, tls: Option<TlsAcceptor>) {
        let _counted = Counted::new(Arc::clone(&self.app));
        // Small events must not wait until more has come together.
        if let Err(error) = stream.set_nodelay(true) {
            tracing::debug!(%error, "the connection is gone");
            return;
        }
        let stream = Patient::new(stream, self.app.options.limits.writing);
        let Some(tls) = tls else { return self.http1(stream, false).await };
        let accepting = tokio::select! {
            accepted = timeout(self.app.options.limits.head, tls.accept(stream)) => accepted,
            () = self.stop.cancelled() => return,
        };
        match accepting {
            Ok(Ok(stream)) if stream.get_ref().1.alpn_protocol() == Some(b"h2") => self.http2(stream).await,
            Ok(Ok(stream)) => self.http1(stream, true).await,
            Ok(Err(error)) => tracing::debug!(%error, "a client did not speak TLS"),
            Err(_) => tracing::debug!("a client took too long for the TLS handshake"),
        }
    }

    async fn http1(self, stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static, tls: bool) {
        let peer = Peer { address: self.address.ip(), tls };
        let requests = AtomicU64::new(0);
        let service = service_fn(|request: Request<Incoming>| {
            requests.fetch_add(1, Ordering::Relaxed);
            let app = Arc::clone(&self.app);
            async move { Ok::<_, Infallible>(app.handle(request, peer).await) }
        });
        let limits = &self.app.options.limits;
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            // From the end of one request to the head of the next: hyper does not tell waiting from reading.
            .header_read_timeout(limits.keep_alive)
            .max_buf_size(HEAD_MAX)
            .serve_connection(TokioIo::new(stream), service);
        let mut connection = std::pin::pin!(connection);
        let mut first = std::pin::pin!(tokio::time::sleep(limits.head));
        let (mut ending, mut looked) = (false, false);
        let served = loop {
            tokio::select! {
                served = connection.as_mut() => break served,
                () = self.stop.cancelled(), if !ending => {
                    ending = true;
                    connection.as_mut().graceful_shutdown();
                }
                () = first.as_mut(), if !looked => {
                    looked = true;
                    if requests.load(Ordering::Relaxed) == 0 {
                        // It has not asked for anything yet.
                        return;
                    }
                }
            }
        };
        ended(served);
    }

    async fn http2(self, stream: impl AsyncRead + AsyncWrite + Unpin + Send + 'static) {
        let peer = Peer { address: self.address.ip(), tls: true };
        let requests = AtomicU64::new(0);
        let service = service_fn(|request: Request<Incoming>| {
            requests.fetch_add(1, Ordering::Relaxed);
            let app = Arc::clone(&self.app);
            async move { Ok::<_, Infallible>(app.handle(request, peer).await) }
        });
        let limits = &self.app.options.limits;
        let connection = http2::Builder::new(TokioExecutor::new())
            .timer(TokioTimer::new())
            .max_concurrent_streams(STREAMS)
            .initial_connection_window_size(WINDOW)
            .initial_stream_window_size(STREAM_WINDOW)
            .max_send_buf_size(STREAM_WINDOW as usize)
            .max_header_list_size(u32::try_from(HEAD_MAX).unwrap_or(u32::MAX))
            .keep_alive_interval(Duration::from_secs(30))
            .keep_alive_timeout(Duration::from_secs(20))
            .serve_connection(TokioIo::new(stream), service);
        let mut connection = std::pin::pin!(connection);
        let mut idle = tokio::time::interval_at(Instant::now() + limits.head, limits.idle);
        idle.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut seen = 0;
        let mut ending = None;
        let served = loop {
            tokio::select! {
                served = connection.as_mut() => break served,
                () = self.stop.cancelled(), if ending.is_none() => {
                    ending = Some(Instant::now() + limits.lingering);
                    connection.as_mut().graceful_shutdown();
                }
                _ = idle.tick(), if ending.is_none() => {
                    let now = requests.load(Ordering::Relaxed);
                    if now == 0 {
                        // It has not said anything yet.
                        return;
                    }
                    if now == seen {
                        // What is under way goes on; the client opens another connection for more.
                        ending = Some(Instant::now() + limits.lingering);
                        connection.as_mut().graceful_shutdown();
                    }
                    seen = now;
                }
                // A client can leave its windows shut and answer pings for ever: then nothing waits in the socket.
                () = until(ending) => {
                    tracing::debug!(address = %self.address, "a client did not take its answers in time");
                    return;
                }
            }
        };
        ended(served);
    }
}

/// Waits for a moment; for ever where there is none.
async fn until(moment: Option<Instant>) {
    match moment {
        Some(moment) => tokio::time::sleep_until(moment).await,
        None => std::future::pending().await,
    }
}

fn ended(served: hyper::Result<()>) {
    if let Err(error) = served {
        tracing::debug!(%error, "a connection ended early");
    }
}

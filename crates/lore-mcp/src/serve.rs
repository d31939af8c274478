//! Serves one client over a pair of streams, until its input ends or the program is told to stop.

use std::{io, pin::pin, time::Duration};

use rmcp::service::serve_directly;
use tokio::{
    io::{AsyncRead, AsyncWrite},
    time::timeout,
};

use crate::{Server, stdio, transport::LineTransport, writer};

/// How long the last answers may take when the program is told to stop.
const STOPPING: Duration = Duration::from_secs(3);

/// Serves the client at standard input and output.
///
/// Returns when the input ends and every request read before is answered, when nobody reads the output any more, or
/// soon after `shutdown` is ready. Nothing else may read standard input or write to standard output meanwhile.
pub async fn serve_stdio(server: Server, shutdown: impl Future<Output = ()>) -> io::Result<()> {
    serve(server, stdio::input()?, stdio::output()?, shutdown).await
}

/// Serves the client at the other end of two streams, one message a line; see [`serve_stdio`].
pub async fn serve<R, W>(server: Server, input: R, output: W, shutdown: impl Future<Output = ()>) -> io::Result<()>
where
    R: AsyncRead + Send + Unpin + 'static,
    W: AsyncWrite + Send + Unpin + 'static,
{
    let (sender, writer) = writer::start(output);
    // rmcp's own handshake ends the process on a notification that comes too early, and refuses requests without a
    // handshake. Each request says itself which era it belongs to, so there is nothing to wait for.
    let transport = LineTransport::new(input, sender, server.heeded());
    let notices = server.notices().await;
    let running = serve_directly(server, transport, None);
    let stop = running.cancellation_token();
    let mut work = pin!(async {
        tokio::select! {
            ended = running.waiting() => drop(ended?),
            () = notices => {}
        }
        writer.await?
    });
    let ended = tokio::select! {
        // First, so that a signal is waited for before anything else.
        biased;
        () = shutdown => {
            stop.cancel();
            // A client that does not read must not keep the program from stopping.
            timeout(STOPPING, work).await.unwrap_or(Ok(()))
        }
        ended = &mut work => ended,
    };
    match ended {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        ended => ended,
    }
}

//! Where asynchronous code runs: the servers of MCP and HTTP, and waiting for signals. Everything else is synchronous.

use std::{io, sync::mpsc, thread, time::Duration};

use lore_model::{Code, Failure};
use tokio::runtime::{Builder, Runtime};

use crate::allocator;

/// Runs a server to its end on threads of its own.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> Result<T, Failure> {
    let mut builder = Builder::new_multi_thread();
    builder.worker_threads(2).thread_keep_alive(allocator::THREAD_KEEP_ALIVE).enable_all();
    let runtime = builder
        .build()
        .map_err(|error| Failure::new(Code::Internal, format!("the async runtime did not start: {error}")))?;
    let done = runtime.block_on(future);
    // Work that is still blocked in a system call must not keep the program from ending.
    runtime.shutdown_timeout(Duration::from_millis(100));
    Ok(done)
}

/// A runtime for signals alone.
fn for_signals() -> io::Result<Runtime> {
    Builder::new_current_thread().enable_io().build()
}

/// Calls this with each signal to end the program, on a thread of its own, from the moment that this returns.
pub(crate) fn on_shutdown(mut heard: impl FnMut() + Send + 'static) {
    let (registered, is_registered) = mpsc::channel();
    thread::spawn(move || {
        let Ok(runtime) = for_signals() else { return };
        runtime.block_on(async {
            let mut next = shutdown_signal();
            drop(registered);
            loop {
                next.await;
                next = shutdown_signal();
                heard();
            }
        });
    });
    // The channel is closed once the signals are registered.
    is_registered.recv().unwrap_or(());
}

/// Keeps Ctrl-C from ending this program, as long as the returned value is there. Programs that it starts are not concerned.
#[cfg(unix)]
pub(crate) fn hold_interrupts() -> Option<impl Sized> {
    use tokio::signal::unix::{SignalKind, signal};
    let runtime = for_signals().ok()?;
    let signal = {
        let _entered = runtime.enter();
        signal(SignalKind::interrupt())
    };
    Some((signal, runtime))
}

/// Ready when the program is asked to end. It listens from the moment of the call, not only once it is awaited.
pub(crate) fn shutdown_signal() -> std::pin::Pin<Box<dyn Future<Output = ()> + Send>> {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        let signals = signal(SignalKind::terminate()).and_then(|end| Ok((end, signal(SignalKind::interrupt())?)));
        Box::pin(async move {
            let Ok((mut terminate, mut interrupt)) = signals else { return std::future::pending().await };
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
        })
    }
    #[cfg(not(unix))]
    Box::pin(async {
        if tokio::signal::ctrl_c().await.is_err() {
            std::future::pending::<()>().await;
        }
    })
}

//! Threads that step back for others: what is done there gets a core mostly when nobody waits for an answer.
//!
//! Programs that are started from such a thread step back as well.

use std::io;

use tokio::{
    runtime::{Builder, Runtime},
    task::JoinHandle,
};

use crate::allocator::THREAD_KEEP_ALIVE;

/// Where a thread of this niceness and an ordinary one want the same core, it gets a tenth of it.
#[cfg(any(target_os = "linux", test))]
const NICENESS: i32 = 10;

/// A runtime whose threads step back. They end with it.
pub(crate) struct Quiet(Option<Runtime>);

impl Quiet {
    /// Starts the threads.
    pub(crate) fn start() -> io::Result<Self> {
        // One is enough: what keeps a thread busy is done on others, of which there are as many as are needed.
        let mut builder = Builder::new_multi_thread();
        builder.worker_threads(1).thread_keep_alive(THREAD_KEEP_ALIVE);
        builder.thread_name("lore-quiet").on_thread_start(step_back).enable_all();
        Ok(Self(Some(builder.build()?)))
    }

    /// Does something there.
    pub(crate) fn spawn(&self, work: impl Future<Output = ()> + Send + 'static) -> JoinHandle<()> {
        let runtime = self.0.as_ref().expect("it is there until it is dropped");
        runtime.spawn(work)
    }
}

impl Drop for Quiet {
    fn drop(&mut self) {
        // On an async thread nobody may wait for it.
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

/// Makes this thread count less than others. Elsewhere than on Linux that would be the whole process.
fn step_back() {
    #[cfg(target_os = "linux")]
    if let Err(error) = rustix::process::setpriority_process(None, NICENESS) {
        tracing::debug!(%error, "a thread could not step back");
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    fn niceness() -> i32 {
        rustix::process::getpriority_process(None).expect("a thread knows how nice it is")
    }

    #[tokio::test]
    async fn what_is_done_there_steps_back_and_nothing_else_does() {
        let own = niceness();
        let quiet = Quiet::start().expect("threads can be started");
        let (tell, told) = tokio::sync::oneshot::channel();
        quiet
            .spawn(async move {
                let blocking = lore_store::blocking(niceness).await;
                tell.send((niceness(), blocking)).expect("somebody listens");
            })
            .await
            .expect("it ends");
        assert_eq!(told.await.expect("it told"), (NICENESS, NICENESS));
        assert_eq!((niceness(), lore_store::blocking(niceness).await), (own, own));
    }
}

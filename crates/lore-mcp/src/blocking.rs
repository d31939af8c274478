//! Where asynchronous code calls the synchronous core.

use lore_model::Cancel;

/// Runs work that blocks on a thread for such. The work is cancelled when the returned future is dropped; it goes on until it
/// notices.
pub async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let cancel = Cancel::default();
    let _dropped = cancel.on_drop();
    let work = move || {
        let _entered = cancel.enter();
        work()
    };
    match tokio::task::spawn_blocking(work).await {
        Ok(value) => value,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // Only a runtime that is shutting down cancels such a task, and then nothing waits here.
            Err(_) => std::future::pending().await,
        },
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn work_is_cancelled_when_nothing_waits_for_it_any_more() {
        let (begun, begins) = tokio::sync::oneshot::channel();
        let (ended, ends) = tokio::sync::oneshot::channel();
        let waiting = tokio::spawn(blocking(move || {
            begun.send(()).expect("the test waits");
            ended.send(Cancel::current().sleep(Duration::from_hours(1))).expect("the test waits");
        }));
        begins.await.expect("it begins");
        waiting.abort();
        assert!(!ends.await.expect("it ends"), "it slept to the end");
    }
}

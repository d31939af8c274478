//! Where work is done that keeps a thread busy: never on the threads that everything else waits on.

use std::cell::Cell;

use lore_model::Cancel;

thread_local! {
    /// Whether this thread may be kept busy.
    static MAY_BE_BUSY: Cell<bool> = const { Cell::new(false) };
}

/// Says that this thread may be kept busy, as long as it lives.
struct Busy;

impl Busy {
    fn begin() -> Self {
        MAY_BE_BUSY.set(true);
        Self
    }
}

impl Drop for Busy {
    fn drop(&mut self) {
        MAY_BE_BUSY.set(false);
    }
}

/// Runs work that keeps a thread busy, off the async threads. Inside of [`together`] it runs where it is, unless the task was
/// cancelled: then the step does not begin, and the task ends here.
pub async fn blocking<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    if MAY_BE_BUSY.get() {
        if Cancel::current().is_cancelled() {
            return std::future::pending().await;
        }
        return work();
    }
    apart(work).await
}

/// Runs work on another thread than this one, so that both go on at once. It is cancelled with the work that waits for it.
pub async fn apart<T: Send + 'static>(work: impl FnOnce() -> T + Send + 'static) -> T {
    let cancel = Cancel::current();
    let work = move || {
        let (_busy, _entered) = (Busy::begin(), cancel.enter());
        work()
    };
    match tokio::task::spawn_blocking(work).await {
        Ok(value) => value,
        Err(error) => match error.try_into_panic() {
            Ok(panic) => std::panic::resume_unwind(panic),
            // Only a runtime that is shutting down cancels such a task, and then nobody waits here.
            Err(_) => std::future::pending().await,
        },
    }
}

/// Runs all the steps of a task on one thread that may be kept busy: going from thread to thread for each of them takes
/// longer than a short step. When nobody waits for it any more, the step at hand is cancelled and no other one begins.
pub async fn together<T: Send + 'static>(task: impl Future<Output = T> + Send + 'static) -> T {
    let task = Box::pin(task);
    if MAY_BE_BUSY.get() { task.await } else { beside(task).await }
}

/// Runs all the steps of a task on one thread that is not this one, so that both go on at once.
pub async fn beside<T: Send + 'static>(task: impl Future<Output = T> + Send + 'static) -> T {
    let (wanted, unwanted) = tokio::sync::oneshot::channel::<()>();
    let runtime = tokio::runtime::Handle::current();
    let task = async {
        tokio::select! {
            biased;
            _ = unwanted => None,
            value = task => Some(value),
        }
    };
    let cancel = Cancel::current().child();
    let _abandoned = cancel.on_drop();
    let value = apart(move || {
        let _entered = cancel.enter();
        runtime.block_on(task)
    })
    .await;
    drop(wanted);
    match value {
        Some(value) => value,
        // Only who is dropped lets go of it before.
        None => std::future::pending().await,
    }
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;

    async fn here() -> thread::ThreadId {
        blocking(|| thread::current().id()).await
    }

    #[tokio::test]
    async fn steps_of_one_task_share_a_thread_that_is_not_async() {
        let own = thread::current().id();
        assert_ne!(here().await, own);
        let (first, second, inner) = together(async { (here().await, here().await, together(here()).await) }).await;
        assert_eq!((first, second), (second, inner));
        assert_ne!(first, own);
        let (inside, outside) = together(async { (here().await, apart(|| thread::current().id()).await) }).await;
        assert_ne!(inside, outside);
        let (beside, inside) = together(async { tokio::join!(beside(here()), here()) }).await;
        assert_ne!(inside, beside);
    }

    #[tokio::test]
    async fn a_task_that_nobody_waits_for_ends() {
        let (alive, gone) = tokio::sync::oneshot::channel::<()>();
        let waiting = tokio::spawn(together(async move {
            let _alive = alive;
            std::future::pending::<()>().await;
        }));
        tokio::task::yield_now().await;
        waiting.abort();
        assert!(gone.await.is_err(), "what it held is let go");
    }

    #[tokio::test]
    async fn the_current_step_of_a_dropped_task_is_cancelled() {
        let (begun, waits) = tokio::sync::oneshot::channel();
        let (ended, end) = tokio::sync::oneshot::channel();
        let waiting = tokio::spawn(together(async move {
            // An inner step on a thread of its own is cancelled as well.
            apart(move || {
                let (cancel, _) = (Cancel::current(), begun.send(()));
                while !cancel.is_cancelled() {
                    thread::yield_now();
                }
                ended.send(()).expect("the test waits for it");
            })
            .await;
        }));
        waits.await.expect("it begins");
        waiting.abort();
        end.await.expect("it ends");
    }

    #[tokio::test]
    async fn a_thread_that_was_lent_does_not_stay_busy() {
        for _ in 0..20 {
            together(async {}).await;
            let busy = tokio::task::spawn_blocking(|| MAY_BE_BUSY.get()).await;
            assert!(matches!(busy, Ok(false)));
        }
    }
}

//! Waiting for an event without polling: a condition variable that a thread waits on together with its cancellation, and
//! that an async task can wait on as well.

use std::{
    future::poll_fn,
    panic::{self, AssertUnwindSafe},
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
    task::{Poll, Wake, Waker},
    thread::{self, Thread},
    time::{Duration, Instant},
};

use crate::Cancel;

/// Whoever waits for something, as wakers: the one handle that threads and async tasks have in common.
#[derive(Debug, Default)]
pub(crate) struct Waiters(Mutex<Vec<Waker>>);

impl Waiters {
    pub(crate) fn wake_all(&self) {
        let waiting = std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner));
        waiting.into_iter().for_each(Waker::wake);
    }

    /// Registers a waker until the next event. It may be woken for nothing.
    pub(crate) fn add(&self, waker: &Waker) {
        let mut waiting = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if !waiting.iter().any(|known| known.will_wake(waker)) {
            waiting.push(waker.clone());
        }
    }

    pub(crate) fn remove(&self, waker: &Waker) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).retain(|known| !known.will_wake(waker));
    }
}

/// Wakes a parked thread.
struct Unpark(Thread);

impl Wake for Unpark {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

/// Parks the current thread until `ready` gives a value, the token is cancelled or the moment has come; these two give `None`.
///
/// An event that changes the answer of `ready` must wake `source`.
fn park_until<T>(
    source: Option<&Waiters>,
    cancel: &Cancel,
    until: Option<Instant>,
    mut ready: impl FnMut() -> Option<T>,
) -> Option<T> {
    if let Some(value) = ready() {
        return Some(value);
    }
    let waker = Waker::from(Arc::new(Unpark(thread::current())));
    let until = [until, cancel.deadline()].into_iter().flatten().min();
    let value = loop {
        // Registered before the condition is looked at, so that no event between the two is missed.
        if let Some(source) = source {
            source.add(&waker);
        }
        cancel.each_waiters(|waiters| waiters.add(&waker));
        if let Some(value) = ready() {
            break Some(value);
        }
        if cancel.is_cancelled() {
            break None;
        }
        match until.map(|until| until.saturating_duration_since(Instant::now())) {
            None => thread::park(),
            Some(Duration::ZERO) => break None,
            Some(left) => thread::park_timeout(left),
        }
    };
    if let Some(source) = source {
        source.remove(&waker);
    }
    cancel.each_waiters(|waiters| waiters.remove(&waker));
    value
}

impl Cancel {
    /// Waits for this long. Returns whether the time has passed without a cancellation.
    pub fn sleep(&self, time: Duration) -> bool {
        let until = Instant::now() + time;
        park_until(None, self, Some(until), || None::<()>).unwrap_or_default();
        !self.is_cancelled()
    }

    /// Runs work that cannot be cancelled on a thread of its own, and waits for its result for this long at most. Given up, the
    /// thread ends by itself.
    pub fn run_detached<T: Send + 'static>(
        &self,
        limit: Duration,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Option<T> {
        let (done, result) = (Signal::default(), Arc::new(Mutex::new(None)));
        let (end, slot, cancel) = (done.clone(), Arc::clone(&result), self.clone());
        thread::spawn(move || {
            let _entered = cancel.enter();
            let worked = panic::catch_unwind(AssertUnwindSafe(work));
            *slot.lock().unwrap_or_else(PoisonError::into_inner) = Some(worked);
            end.notify();
        });
        let worked =
            done.wait_for(Some(limit), self, || result.lock().unwrap_or_else(PoisonError::into_inner).take())?;
        Some(worked.unwrap_or_else(|payload| panic::resume_unwind(payload)))
    }
}

/// An event that happens again and again. Each event has a number, so that a waiter that looks late misses none.
///
/// Clones share their events.
#[derive(Debug, Clone, Default)]
pub struct Signal(Arc<Events>);

#[derive(Debug, Default)]
struct Events {
    number: AtomicU64,
    waiters: Waiters,
}

impl Signal {
    /// Notifies all waiters.
    pub fn notify(&self) {
        self.0.number.fetch_add(1, Ordering::AcqRel);
        self.0.waiters.wake_all();
    }

    /// The number of the last event.
    pub fn last(&self) -> u64 {
        self.0.number.load(Ordering::Acquire)
    }

    /// Blocks until there is an event after `seen`, the token is cancelled or the time has passed. Returns the number of the
    /// last event.
    pub fn wait(&self, seen: u64, time: Option<Duration>, cancel: &Cancel) -> u64 {
        self.wait_for(time, cancel, || Some(self.last()).filter(|last| *last != seen)).unwrap_or(seen)
    }

    /// Blocks until `ready` gives a value; `None` if the token is cancelled or the time has passed before. `ready` is called
    /// again after each event.
    pub fn wait_for<T>(&self, time: Option<Duration>, cancel: &Cancel, ready: impl FnMut() -> Option<T>) -> Option<T> {
        park_until(Some(&self.0.waiters), cancel, time.map(|time| Instant::now() + time), ready)
    }

    /// Completes with the number of the last event once there is one after `seen`.
    pub async fn changed(&self, seen: u64) -> u64 {
        poll_fn(|context| {
            self.0.waiters.add(context.waker());
            let last = self.last();
            if last == seen { Poll::Pending } else { Poll::Ready(last) }
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NEVER: Duration = Duration::from_hours(1);

    fn waiting(cancel: &Cancel) -> usize {
        let count = AtomicU64::new(0);
        cancel.each_waiters(|waiters| {
            count.fetch_add(waiters.0.lock().unwrap().len() as u64, Ordering::Relaxed);
        });
        usize::try_from(count.into_inner()).unwrap()
    }

    #[test]
    fn an_event_between_two_waits_is_not_missed() {
        let signal = Signal::default();
        let seen = signal.last();
        signal.notify();
        assert_ne!(signal.wait(seen, Some(NEVER), &Cancel::default()), seen);
    }

    #[test]
    fn a_waiting_thread_is_woken_by_an_event() {
        let (signal, value) = (Signal::default(), AtomicU64::new(0));
        thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..3 {
                    value.fetch_add(1, Ordering::AcqRel);
                    signal.notify();
                }
            });
            let found = signal.wait_for(Some(NEVER), &Cancel::default(), || {
                let now = value.load(Ordering::Acquire);
                (now == 3).then_some(now)
            });
            assert_eq!(found, Some(3));
        });
        assert!(signal.0.waiters.0.lock().unwrap().is_empty());
    }

    #[test]
    fn a_cancellation_of_any_ancestor_ends_a_wait() {
        let root = Cancel::default();
        let child = root.child().child();
        thread::scope(|scope| {
            let sleeper = scope.spawn(|| (child.sleep(NEVER), Signal::default().wait(0, None, &child)));
            while waiting(&root) == 0 {
                thread::yield_now();
            }
            root.cancel();
            assert_eq!(sleeper.join().unwrap(), (false, 0));
        });
        assert_eq!(waiting(&root), 0, "the waiter is removed");
    }

    #[test]
    fn detached_work_is_waited_for_until_it_ends_or_is_given_up() {
        let cancel = Cancel::default();
        assert_eq!(cancel.run_detached(NEVER, || 7), Some(7));
        let (blocked, release) = std::sync::mpsc::channel::<()>();
        assert_eq!(cancel.run_detached(Duration::from_millis(1), move || release.recv().is_ok()), None);
        drop(blocked);
        let failed = panic::catch_unwind(AssertUnwindSafe(|| cancel.run_detached(NEVER, || panic!("on purpose"))));
        assert!(failed.is_err(), "a panic reaches the caller");
        cancel.cancel();
        let own = cancel.clone();
        assert_eq!(cancel.run_detached(NEVER, move || own.sleep(NEVER)), None);
    }

    #[test]
    fn a_wait_ends_with_its_time_or_the_deadline_of_the_token() {
        let cancel = Cancel::default();
        assert!(cancel.sleep(Duration::from_millis(1)));
        assert_eq!(Signal::default().wait(0, Some(Duration::from_millis(1)), &cancel), 0);
        let late = cancel.until(Instant::now() + Duration::from_millis(1));
        assert!(!late.sleep(NEVER));
    }
}

//! Cancellation of work in progress: by whoever waits for it, or by a deadline.
//!
//! A token is passed explicitly where work is started on purpose (a sync, a job). Work that answers a query has one as well,
//! but passes through too many layers to name it in each: there it is the token of the current thread.

use std::{
    cell::RefCell,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Instant,
};

use crate::{Code, Failure, signal::Waiters};

thread_local! {
    static CURRENT: RefCell<Option<Cancel>> = const { RefCell::new(None) };
}

/// A cancellation token. Clones share its state; a child is cancelled with its parent.
#[derive(Debug, Clone, Default)]
pub struct Cancel(Arc<State>);

#[derive(Debug, Default)]
struct State {
    cancelled: AtomicBool,
    deadline: Option<Instant>,
    parent: Option<Cancel>,
    waiters: Waiters,
}

/// The work was cancelled, or its deadline passed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Cancelled;

impl From<Cancelled> for Failure {
    fn from(Cancelled: Cancelled) -> Self {
        Self::new(Code::Interrupted, "stopped").hint("run it again to go on where it stopped")
    }
}

impl Cancel {
    /// The token of the work that this thread does; a token that nothing cancels where there is none.
    pub fn current() -> Self {
        CURRENT.with_borrow(Option::clone).unwrap_or_default()
    }

    /// Makes this the token of the current thread until the guard is dropped.
    #[must_use]
    pub fn enter(&self) -> Entered {
        Entered { previous: CURRENT.replace(Some(self.clone())) }
    }

    /// A token that can be cancelled by itself, and is cancelled with this one.
    #[must_use]
    pub fn child(&self) -> Self {
        self.derive(None)
    }

    /// A child that counts as cancelled from this moment on.
    #[must_use]
    pub fn until(&self, deadline: Instant) -> Self {
        self.derive(Some(deadline))
    }

    fn derive(&self, deadline: Option<Instant>) -> Self {
        Self(Arc::new(State { deadline, parent: Some(self.clone()), ..State::default() }))
    }

    /// Asks the work to stop soon.
    pub fn cancel(&self) {
        self.0.cancelled.store(true, Ordering::Release);
        self.0.waiters.wake_all();
    }

    /// Whether the work should stop.
    pub fn is_cancelled(&self) -> bool {
        let State { cancelled, deadline, parent, .. } = &*self.0;
        cancelled.load(Ordering::Acquire)
            || deadline.is_some_and(|deadline| Instant::now() >= deadline)
            || parent.as_ref().is_some_and(Self::is_cancelled)
    }

    /// Fails where the work should stop.
    pub fn check(&self) -> Result<(), Cancelled> {
        if self.is_cancelled() { Err(Cancelled) } else { Ok(()) }
    }

    /// The earliest deadline of this token and those that it derives from.
    pub fn deadline(&self) -> Option<Instant> {
        let inherited = self.0.parent.as_ref().and_then(Self::deadline);
        [self.0.deadline, inherited].into_iter().flatten().min()
    }

    /// The lists of those who wait for this token or one that it derives from.
    pub(crate) fn each_waiters(&self, visit: impl Fn(&Waiters)) {
        let mut token = Some(self);
        while let Some(Self(state)) = token {
            visit(&state.waiters);
            token = state.parent.as_ref();
        }
    }

    /// A guard that cancels when it is dropped.
    #[must_use]
    pub fn on_drop(&self) -> CancelOnDrop {
        CancelOnDrop(self.clone())
    }
}

/// Restores the token that the thread had before.
#[derive(Debug)]
pub struct Entered {
    previous: Option<Cancel>,
}

impl Drop for Entered {
    fn drop(&mut self) {
        CURRENT.set(self.previous.take());
    }
}

/// Cancels when it is dropped.
#[derive(Debug)]
pub struct CancelOnDrop(Cancel);

impl Drop for CancelOnDrop {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_child_is_cancelled_with_its_parent_and_not_the_other_way_round() {
        let parent = Cancel::default();
        let (first, second) = (parent.child(), parent.child());
        first.cancel();
        assert!(first.is_cancelled() && !second.is_cancelled() && !parent.is_cancelled());
        parent.cancel();
        assert_eq!(second.child().check(), Err(Cancelled));
    }

    #[test]
    fn a_deadline_cancels() {
        let (now, root) = (Instant::now(), Cancel::default());
        assert!(root.until(now).is_cancelled());
        assert!(!root.until(now + Duration::from_hours(1)).is_cancelled());
        assert!(
            root.until(now).until(now + Duration::from_hours(1)).is_cancelled(),
            "the parent's deadline counts too"
        );
    }

    #[test]
    fn the_token_of_a_thread_is_restored() {
        assert!(!Cancel::current().is_cancelled());
        let (outer, inner) = (Cancel::default(), Cancel::default());
        inner.cancel();
        let entered = outer.enter();
        {
            let _entered = inner.enter();
            assert!(Cancel::current().is_cancelled());
        }
        assert!(!Cancel::current().is_cancelled());
        outer.cancel();
        assert!(Cancel::current().is_cancelled());
        drop(entered);
        assert!(!Cancel::current().is_cancelled());
    }

    #[test]
    fn a_dropped_guard_cancels() {
        let cancel = Cancel::default();
        drop(cancel.on_drop());
        assert!(cancel.is_cancelled());
    }
}

//! In a server for several users, long queries let quick ones go first: a thread that has answered one query for a while has a lower
//! priority from then on.

use std::{
    cell::Cell,
    panic::resume_unwind,
    sync::atomic::{AtomicBool, Ordering},
    thread,
    time::{Duration, Instant},
};

use lore_model::Cancel;

/// A query that takes longer is long.
const LONG: Duration = Duration::from_millis(50);

/// Whether this process answers several users.
static IS_SHARED: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// When the query of this thread began, where the thread ends with it and its priority is as it was.
    static BEGUN: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Declares that this process answers several users. In a process for one user, priorities stay as they are.
pub fn serve_several_users() {
    IS_SHARED.store(true, Ordering::Relaxed);
}

/// Runs work on a dedicated thread in a process for several users, else on the current thread.
///
/// An unprivileged process can lower the priority of a thread but not raise it again, so only a thread that ends with its
/// query may be lowered.
pub fn on_own_thread<T: Send>(work: impl FnOnce() -> T + Send) -> T {
    if !IS_SHARED.load(Ordering::Relaxed) {
        return work();
    }
    let cancel = Cancel::current();
    thread::scope(|scope| {
        let done = scope.spawn(move || {
            let _entered = cancel.enter();
            begin_on_own_thread();
            work()
        });
        done.join().unwrap_or_else(|panic| resume_unwind(panic))
    })
}

/// Declares that the current thread ends with the query it starts now.
pub fn begin_on_own_thread() {
    BEGUN.set(IS_SHARED.load(Ordering::Relaxed).then(Instant::now));
}

/// Lowers the priority of the current thread if it is dedicated to a long query. Cheap enough to call in loops.
pub fn lower_when_long() {
    if BEGUN.get().is_some_and(|begun| begun.elapsed() > LONG) {
        BEGUN.set(None);
        lower();
    }
}

#[cfg(target_os = "linux")]
fn lower() {
    /// More than an ordinary thread has, and less than those of jobs: a third of the share of an ordinary one.
    const NICE: i32 = 5;
    // Where it is forbidden, all queries are alike.
    rustix::process::setpriority_process(None, NICE).ok();
}

/// Elsewhere a priority is that of a whole process.
#[cfg(not(target_os = "linux"))]
fn lower() {}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    fn priority() -> i32 {
        rustix::process::getpriority_process(None).expect("a thread has a priority")
    }

    #[test]
    fn only_the_thread_of_a_long_query_is_lowered() {
        serve_several_users();
        let before = priority();
        let (short, long) = on_own_thread(|| {
            lower_when_long();
            let short = priority();
            BEGUN.set(Instant::now().checked_sub(2 * LONG));
            lower_when_long();
            (short, priority())
        });
        assert_eq!(short, before);
        assert!(long > before || before >= 5, "{before}, then {long}");
        BEGUN.set(None);
        lower_when_long();
        assert_eq!(priority(), before);
    }

    #[test]
    fn the_token_of_the_work_goes_with_it() {
        serve_several_users();
        let cancel = Cancel::default();
        let _entered = cancel.enter();
        cancel.cancel();
        assert!(on_own_thread(|| Cancel::current().is_cancelled()));
    }
}

//! Long queries let quick ones go first: a thread that has answered one query for a while has a lower priority from then on.

use std::{
    cell::Cell,
    panic::resume_unwind,
    thread,
    time::{Duration, Instant},
};

use lore_model::Cancel;

/// A query that takes longer is long.
const LONG: Duration = Duration::from_millis(100);

thread_local! {
    /// When the query of this thread began, where the thread ends with it and its priority is as it was.
    static BEGUN: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Does work on a thread of its own. A priority can be lowered by everybody and raised again by nobody, so a thread that does
/// other work afterwards must keep its own.
pub fn on_own_thread<T: Send>(work: impl FnOnce() -> T + Send) -> T {
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

/// Says that this thread ends with the work that it begins now.
pub fn begin_on_own_thread() {
    BEGUN.set(Some(Instant::now()));
}

/// Lowers the priority of this thread where it is a query's own and the query is long. It costs little and is called often.
pub fn lower_when_long() {
    if BEGUN.get().is_some_and(|begun| begun.elapsed() > LONG) {
        BEGUN.set(None);
        lower();
    }
}

#[cfg(target_os = "linux")]
fn lower() {
    const NICE: i32 = 10;
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
        let before = priority();
        let (short, long) = on_own_thread(|| {
            lower_when_long();
            let short = priority();
            BEGUN.set(Instant::now().checked_sub(2 * LONG));
            lower_when_long();
            (short, priority())
        });
        assert_eq!(short, before);
        assert!(long > before || before >= 10, "{before}, then {long}");
        BEGUN.set(None);
        lower_when_long();
        assert_eq!(priority(), before);
    }

    #[test]
    fn the_token_of_the_work_goes_with_it() {
        let cancel = Cancel::default();
        let _entered = cancel.enter();
        cancel.cancel();
        assert!(on_own_thread(|| Cancel::current().is_cancelled()));
    }
}

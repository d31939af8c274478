//! Visits folders on a few threads: what is ahead is shared, what is found is each thread's own until the end.
//!
//! In which order folders are visited is not said; only that each is visited once, after the one that named it.

use std::{
    panic,
    sync::{
        Condvar, Mutex, MutexGuard, OnceLock, PoisonError,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    thread,
};

use crate::{GitError, Result};

/// So many folders are visited before other threads are asked to help: most looks are over by then.
const ALONE: usize = 64;

/// Beyond this many, threads wait for the same parts of the system.
const MAX_THREADS: usize = 4;

/// Visits folders on one thread.
pub(crate) trait Visitor {
    /// A folder that is to be visited.
    type Folder: Send;
    /// What visits find.
    type Found: Send;

    /// Visits a folder and names those to be visited next.
    fn visit(&mut self, folder: Self::Folder, ahead: &mut Vec<Self::Folder>) -> Result<()>;

    /// What was found.
    fn finish(self) -> Self::Found;
}

/// Visits these folders and all that are named on the way; gives what each thread found, or the first failure.
pub(crate) fn walk<V: Visitor>(first: Vec<V::Folder>, visitor: impl Fn() -> V + Sync) -> Result<Vec<V::Found>> {
    let queue = Queue {
        state: Mutex::new(State { shared: first, busy: 0, ended: Ok(()) }),
        wake: Condvar::new(),
        hungry: AtomicUsize::new(0),
        is_over: AtomicBool::new(false),
    };
    let found = thread::scope(|scope| {
        let help = || {
            let mut visitor = visitor();
            queue.work(&mut visitor, || {});
            visitor.finish()
        };
        let (mut own, mut visited, mut helpers) = (visitor(), 0, Vec::new());
        queue.work(&mut own, || {
            visited += 1;
            if visited == ALONE {
                let threads = (1..threads()).map(|_| thread::Builder::new().name("lore look".to_owned()));
                // Where the system gives no more threads, this one does it all.
                helpers.extend(threads.filter_map(|thread| thread.spawn_scoped(scope, help).ok()));
            }
        });
        let mut found = vec![own.finish()];
        for helper in helpers {
            found.push(helper.join().unwrap_or_else(|panicked| panic::resume_unwind(panicked)));
        }
        found
    });
    queue.state.into_inner().unwrap_or_else(PoisonError::into_inner).ended.map(|()| found)
}

fn threads() -> usize {
    static THREADS: OnceLock<usize> = OnceLock::new();
    *THREADS.get_or_init(|| thread::available_parallelism().map_or(1, usize::from).min(MAX_THREADS))
}

struct Queue<T> {
    state: Mutex<State<T>>,
    wake: Condvar,
    /// Threads that have nothing to do.
    hungry: AtomicUsize,
    is_over: AtomicBool,
}

struct State<T> {
    shared: Vec<T>,
    /// Threads that are visiting, and may name more.
    busy: usize,
    ended: Result<()>,
}

impl<T> Queue<T> {
    fn lock(&self) -> MutexGuard<'_, State<T>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Visits until nothing is ahead and nobody could name more.
    ///
    /// Each thread goes down its own folders, the last one first, so that few are open at once. It gives away those that it
    /// would come to last, with most below them, when another has nothing to do.
    fn work<V: Visitor<Folder = T>>(&self, visitor: &mut V, mut visited: impl FnMut()) {
        let _guard = EndOnPanic(self);
        while let Some(folder) = self.take() {
            let mut own = vec![folder];
            while !self.is_over.load(Ordering::Relaxed)
                && let Some(folder) = own.pop()
            {
                if let Err(failure) = visitor.visit(folder, &mut own) {
                    self.fail(failure);
                }
                visited();
                if own.len() > 1 && self.hungry.load(Ordering::Relaxed) > 0 {
                    self.lock().shared.extend(own.drain(..own.len() / 2));
                    self.wake.notify_all();
                }
            }
            self.lock().busy -= 1;
        }
    }

    /// A folder that another thread gave away; none where the walk is over.
    fn take(&self) -> Option<T> {
        let mut state = self.lock();
        while !self.is_over.load(Ordering::Relaxed) {
            if let Some(folder) = state.shared.pop() {
                state.busy += 1;
                return Some(folder);
            }
            if state.busy == 0 {
                self.is_over.store(true, Ordering::Relaxed);
                break;
            }
            self.hungry.fetch_add(1, Ordering::Relaxed);
            state = self.wake.wait(state).unwrap_or_else(PoisonError::into_inner);
            self.hungry.fetch_sub(1, Ordering::Relaxed);
        }
        self.wake.notify_all();
        None
    }

    fn fail(&self, failure: GitError) {
        let mut state = self.lock();
        if state.ended.is_ok() {
            state.ended = Err(failure);
        }
        self.is_over.store(true, Ordering::Relaxed);
        self.wake.notify_all();
    }
}

/// Ends the walk when a visit panics: the others would wait for it for ever.
struct EndOnPanic<'q, T>(&'q Queue<T>);

impl<T> Drop for EndOnPanic<'_, T> {
    fn drop(&mut self) {
        if thread::panicking() {
            // With the lock, so that nobody is about to wait.
            let _state = self.0.lock();
            self.0.is_over.store(true, Ordering::Relaxed);
            self.0.wake.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use super::*;

    /// Visits numbers: each names the ones that are itself with one more digit, up to a length.
    struct Numbers<'a> {
        visits: &'a AtomicUsize,
        act_on: (usize, fn() -> Result<()>),
        found: Vec<usize>,
    }

    const DIGITS: u32 = 5;

    impl Visitor for Numbers<'_> {
        type Folder = usize;
        type Found = Vec<usize>;

        fn visit(&mut self, number: usize, ahead: &mut Vec<usize>) -> Result<()> {
            self.found.push(number);
            if self.visits.fetch_add(1, Ordering::Relaxed) == self.act_on.0 {
                (self.act_on.1)()?;
            }
            if number < 10_usize.pow(DIGITS - 1) {
                ahead.extend((0..10).map(|digit| number * 10 + digit));
            }
            Ok(())
        }

        fn finish(self) -> Vec<usize> {
            self.found
        }
    }

    fn run(act_on: (usize, fn() -> Result<()>)) -> Result<Vec<Vec<usize>>> {
        let visits = AtomicUsize::new(0);
        walk(vec![1], || Numbers { visits: &visits, act_on, found: Vec::new() })
    }

    #[test]
    fn everything_is_visited_once() {
        let mut found = run((usize::MAX, || Ok(()))).unwrap().concat();
        found.sort_unstable();
        assert_eq!(found.len(), 11_111);
        found.dedup();
        assert_eq!(found.len(), 11_111);
    }

    #[test]
    fn a_failure_ends_the_walk_wherever_it_happens() {
        for at in [0, 10, ALONE, 3 * ALONE, 11_110] {
            let failed = run((at, || Err(GitError::Vanished(PathBuf::from("here")))));
            assert!(matches!(failed, Err(GitError::Vanished(_))), "{at}");
        }
    }

    #[test]
    fn a_panic_ends_the_walk_and_does_not_hang() {
        for at in [0, ALONE, 3 * ALONE, 11_110] {
            let ended = panic::catch_unwind(|| run((at, || panic!("as asked"))));
            assert!(ended.is_err(), "{at}");
        }
    }
}

//! Threads that step back for others: what is done there gets a core mostly when nobody waits for an answer.
//!
//! Threads and programs that are started from such a thread step back as well.

use std::{
    io,
    thread::{self, JoinHandle},
};

/// Where a thread of this niceness and an ordinary one want the same core, it gets a tenth of it.
#[cfg(any(target_os = "linux", test))]
const NICENESS: i32 = 10;

/// Does something on a thread that steps back.
pub(crate) fn spawn_quiet(work: impl FnOnce() + Send + 'static) -> io::Result<JoinHandle<()>> {
    thread::Builder::new().name("lore-quiet".to_owned()).spawn(move || {
        step_back();
        work();
    })
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

    #[test]
    fn what_is_done_there_steps_back_and_nothing_else_does() {
        let own = niceness();
        let quiet = spawn_quiet(|| {
            let inner = thread::spawn(niceness).join().expect("it ends");
            assert_eq!((niceness(), inner), (NICENESS, NICENESS));
        });
        quiet.expect("threads can be started").join().expect("it ends");
        assert_eq!(niceness(), own);
    }
}

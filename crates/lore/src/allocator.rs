//! The memory allocator of the program, for Rust and for the C libraries inside.

use std::{sync::Once, thread, time::Duration};

use mimalloc::MiMalloc;

/// Many threads answer at once, each with thousands of small pieces: with the allocator of the C library that is a sixth of
/// their time. That one also has an arena for each thread, from which SQLite and zstd would return next to nothing.
#[global_allocator]
static ALLOCATOR: MiMalloc = MiMalloc;

/// How long a thread of the blocking pool waits for more work. The allocator keeps freed memory for the thread that allocated
/// it, so a thread that waits for long would hold what its last query or sync needed.
pub(crate) const THREAD_KEEP_ALIVE: Duration = Duration::from_secs(1);

/// How often freed memory is returned to the system.
const PERIOD: Duration = Duration::from_secs(1);

/// Returns freed memory to the system as long as the program runs.
///
/// The allocator does so only while something is allocated, so an idle server would keep what its last sync needed. Returning
/// it with each call of `free` costs queries 5 to 8 % of their time; a thread of its own costs them nothing.
pub(crate) fn return_freed_memory() {
    static STARTED: Once = Once::new();
    STARTED.call_once(|| {
        let returning = thread::Builder::new().name("memory".to_owned()).spawn(|| {
            loop {
                thread::park_timeout(PERIOD);
                #[expect(unsafe_code, reason = "the allocator offers this to C only")]
                // SAFETY: it takes no pointer and may be called at any time by any thread.
                unsafe {
                    libmimalloc_sys::mi_collect(false);
                }
            }
        });
        if let Err(error) = returning {
            tracing::debug!(%error, "freed memory is returned only when more is allocated");
        }
    });
}

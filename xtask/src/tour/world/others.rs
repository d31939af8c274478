//! Stand-ins for tokio and redis, as far as the pages show them, and repositories of which only their being there matters.

use std::path::Path;

use anyhow::Result;
use lore_testkit::Git;

use super::{ADA, Commit, add, make};

const CARL: &str = "Carl Lerche <me@carllerche.com>";
const MATTIA: &str = "Mattia Pitossi <mattia@example.com>";

/// The commits and the code that the README shows of tokio.
pub(super) fn tokio(path: &Path, now: i64) -> Result<()> {
    make(path, now, TOKIO)
}

const MUTEX: &str = "tokio/src/sync/mutex.rs";

const TOKIO: &[Commit] = &[
    Commit {
        days: 3000,
        author: CARL,
        message: "Fix a deadlock that can happen when shutting down (#409)\n\nFix: the deadlock is gone. Fix deadlock.",
        files: &[
            ("tests/reactor.rs", "//! The reactor.\n"),
            ("tokio-reactor/src/atomic_task.rs", "//! A task.\n"),
            ("tokio-reactor/src/lib.rs", "//! Sources of events.\n"),
        ],
    },
    Commit {
        days: 2900,
        author: "Stjepan Glavina <stjepang@example.com>",
        message: "threadpool: fix semaphore deadlock (#795)",
        files: &[("tokio-threadpool/src/worker/mod.rs", "//! A worker, and how it is told to shut down.\n")],
    },
    Commit {
        days: 2500,
        author: CARL,
        message: "rt: no scheduler shutdown deadlock any more (#2074)\n\nWorkers that are parked are told to shut down. A fix for those that are not is left for later.",
        files: &[(
            "tokio/src/runtime/thread_pool/mod.rs",
            "//! Workers and how they shut down.\n\npub fn shutdown() {}\n",
        )],
    },
    Commit { days: 1500, author: CARL, message: "sync: add a mutex", files: &[(MUTEX, "pub struct Mutex;\n")] },
    Commit {
        days: 1000,
        author: "Tim Vilgot <tim@example.com>",
        message: "sync: document FIFO behavior of `tokio::sync::Mutex` (#6279)",
        files: &[(MUTEX, "//! First come, first served.\n\npub struct Mutex;\n")],
    },
    Commit {
        days: 900,
        author: CARL,
        message: "rt: look for work that other workers have",
        files: &[("tokio/src/runtime/scheduler/multi_thread/worker.rs", WORKER)],
    },
    Commit {
        days: 400,
        author: ADA,
        message: "sync: use `UnsafeCell::get_mut` in `Mutex::get_mut` and `RwLock::get_mut` (#7569)",
        files: &[(
            MUTEX,
            "//! First come, first served.\n\npub struct Mutex;\n\nimpl Mutex {\n    pub fn get_mut(&mut self) {}\n}\n",
        )],
    },
    Commit {
        days: 380,
        author: ADA,
        message: "ci: unfreeze wasm tests from rustc 1.88.0 (#7537)",
        files: &[(
            MUTEX,
            "//! First come, first served.\n\npub struct Mutex;\n\nimpl Mutex {\n    pub fn get_mut(&mut self) -> u8 {\n        0\n    }\n}\n",
        )],
    },
    Commit {
        days: 200,
        author: MATTIA,
        message: "rt: do not leak fd when cancelling io_uring open operation (#7983)",
        files: &[
            ("tokio/src/runtime/io/driver/uring.rs", "//! A driver.\n"),
            ("tokio/tests/fs_uring_cancel_open.rs", "//! Opens and cancels.\n"),
            ("tokio/tests/fs_uring_completed_then_dropped_before_repoll.rs", "//! Completes.\n"),
            ("tokio/tests/fs_uring_runtime_shutdown.rs", "//! Shuts down.\n"),
        ],
    },
    Commit {
        days: 100,
        author: MATTIA,
        message: "fs(tests): do not leak FDs with shutdown background (#8184)",
        files: &[
            ("tokio/tests/fs_uring_cancel_open.rs", "//! Opens and cancels files.\n"),
            ("tokio/tests/fs_uring_completed_then_dropped_before_repoll.rs", "//! Completes files.\n"),
            ("tokio/tests/fs_uring_runtime_shutdown.rs", "//! Shuts down files.\n"),
            ("tokio/tests/fs_uring_statx_fd_leak_test.rs", "//! Looks at files.\n"),
            ("tokio/tests/fs_uring_write.rs", "//! Writes files.\n"),
        ],
    },
];

const WORKER: &str = r"//! A scheduler whose workers take work from each other.

pub struct Core;
pub struct Worker;
pub struct Notified;

/// What shutting down does.
pub fn shutdown() {}

impl Core {
    /// The next task of this worker: the one that was made last, then those of its queue, then those that everybody may take.
    fn next_task(&mut self, worker: &Worker) -> Option<Notified> {
        if let Some(task) = self.last_made.take() {
            return Some(task);
        }
        if self.tick % worker.interval() == 0 {
            return worker.shared_queue().next_task().or_else(|| self.queue().pop());
        }
        self.queue().pop().or_else(|| worker.shared_queue().next_task())
    }

    /// Function responsible for stealing tasks from another worker
    ///
    /// Note: Only if less than half the workers are searching for tasks to steal
    /// a new worker will actually try to steal. The idea is to make sure not all
    /// workers will be trying to steal at the same time.
    fn steal_work(&mut self, worker: &Worker) -> Option<Notified> {
        if !self.transition_to_searching(worker) {
            return None;
        }
        let others = worker.others();
        let begin = worker.random(others.len());
        for index in 0..others.len() {
            let other = &others[(begin + index) % others.len()];
            if other.is(worker) {
                continue;
            }
            if let Some(task) = other.queue().take_half_into(self.queue()) {
                return Some(task);
            }
        }
        worker.shared_queue().next_task()
    }

    /// Whether this worker may look around: half of the workers do at most.
    fn transition_to_searching(&mut self, worker: &Worker) -> bool {
        if !self.is_searching {
            self.is_searching = worker.idle().one_more_searches();
        }
        self.is_searching
    }

    /// Sleeps until there is something to do, and looks at timers and sockets before it does.
    fn park(&mut self, worker: &Worker) {
        if self.is_searching {
            self.is_searching = false;
            worker.idle().one_less_searches();
        }
        worker.driver().turn(self.next_timer());
        for task in worker.driver().ready() {
            self.queue().push(task);
        }
    }

    /// Ends every task that is left, one after the other, when the runtime goes down.
    fn end_all(&mut self, worker: &Worker) {
        while let Some(task) = self.queue().pop() {
            task.cancel();
        }
        while let Some(task) = worker.shared_queue().next_task() {
            task.cancel();
        }
        worker.driver().close();
    }
}
";

/// Its history has a binary file and a diff that is too large to keep.
pub(super) fn redis(path: &Path, now: i64) -> Result<()> {
    make(
        path,
        now,
        &[Commit {
            days: 900,
            author: ADA,
            message: "A server of keys and values",
            files: &[("src/server.c", "int main(void) {\n    return 0;\n}\n"), ("deps/lua/lua.c", "int lua;\n")],
        }],
    )?;
    std::fs::write(path.join("logo.png"), [0x89, b'P', b'N', b'G', 0, 1, 2, 3])?;
    add(path, now, &[Commit { days: 800, author: ADA, message: "A picture", files: &[] }])?;
    for (days, name) in [(700, "one"), (600, "two")] {
        let keys = format!("set {name} 123456 1\n").repeat(60_000);
        std::fs::write(path.join(format!("{name}.aof")), keys)?;
        add(path, now, &[Commit { days, author: ADA, message: "Many keys", files: &[] }])?;
    }
    Ok(())
}

/// Another repository of the team.
pub(super) fn web(path: &Path, now: i64) -> Result<()> {
    make(
        path,
        now,
        &[
            Commit {
                days: 90,
                author: ADA,
                message: "Pages of the shop",
                files: &[
                    ("index.html", "<h1>Shop</h1>\n"),
                    ("src/cart.ts", "export function total(prices: number[]) {\n  return 0;\n}\n"),
                ],
            },
            Commit {
                days: 9,
                author: ADA,
                message: "cart: add the prices up",
                files: &[(
                    "src/cart.ts",
                    "export function total(prices: number[]) {\n  return prices.reduce((sum, price) => sum + price, 0);\n}\n",
                )],
            },
        ],
    )
}

/// What a team server clones: two branches.
pub(super) fn shop(path: &Path, now: i64) -> Result<()> {
    make(
        path,
        now,
        &[Commit {
            days: 30,
            author: ADA,
            message: "Sell things",
            files: &[(
                "src/order.py",
                "def place_order(cart):\n    \"\"\"Sends the order to the warehouse.\"\"\"\n    return cart\n",
            )],
        }],
    )?;
    Git::at(path).text(&["checkout", "--quiet", "-b", "release"])?;
    add(
        path,
        now,
        &[Commit {
            days: 2,
            author: ADA,
            message: "Take things back",
            files: &[(
                "src/refund.py",
                "def refund(order):\n    \"\"\"Gives the money back.\"\"\"\n    return order\n",
            )],
        }],
    )?;
    Git::at(path).text(&["checkout", "--quiet", "main"])?;
    Ok(())
}

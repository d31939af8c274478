//! Strikes the real program while it writes: kills, I/O errors, power cuts; and compares what becomes of it with what
//! becomes of one that nobody disturbed.
//!
//! Linux on x86-64 alone: the program is watched as a debugger watches it.

mod calls;
pub mod damage;
pub mod old;
pub mod power;
mod rehearsal;
mod scene;
mod trace;
pub mod workloads;

pub use nix::errno::Errno;
pub use rehearsal::{Rehearsal, spread};
pub use scene::Scene;
pub(crate) use trace::Step;
pub use trace::{Fault, Plan, Traced, Whose, can_trace, run};
pub use workloads::{Act, Workload};

//! What every backend must do, as checks that panic where one does not.
//!
//! A backend's tests call [`check_history`], [`check_code`], [`check_past`], [`check_vectors`], [`check_messages`] and [`check_team`] with a way to make an
//! empty store; nothing here knows how it stores.

mod code;
mod history;
mod messages;
mod past;
mod team;
mod vectors;

pub use code::check_code;
pub use history::check_history;
pub use messages::check_messages;
pub use past::check_past;
pub use team::check_team;
pub use vectors::check_vectors;

const OK: &str = "the store does what it was asked";

//! Passwords: typed without echo, or from standard input; never as an argument, which other users of a machine can see.

use std::io::{self, IsTerminal as _, Read as _};

use lore_model::{Code, Failure};
use lore_remote::Secret;

/// A longer password is none.
const LONGEST: u64 = 4096;

/// Where a password comes from.
#[derive(Debug, Clone, Copy, clap::Args)]
pub(super) struct PasswordArgs {
    /// Read the password from standard input instead of asking for it
    #[arg(long)]
    password_stdin: bool,
}

impl PasswordArgs {
    /// The password of somebody who has one.
    pub(super) fn existing(self, prompt: &str) -> Result<Secret, Failure> {
        if self.password_stdin { from_input() } else { typed(prompt) }
    }

    /// A password that is to be: typed twice.
    pub(super) fn new_one(self, prompt: &str) -> Result<Secret, Failure> {
        if self.password_stdin {
            return from_input();
        }
        let password = typed(prompt)?;
        if typed("The same again: ")? != password {
            return Err(Failure::new(Code::InvalidArgument, "the two passwords differ").hint("try again"));
        }
        Ok(password)
    }
}

fn from_input() -> Result<Secret, Failure> {
    let mut text = String::new();
    io::stdin()
        .take(LONGEST)
        .read_to_string(&mut text)
        .map_err(|error| Failure::new(Code::InvalidArgument, format!("the password cannot be read: {error}")))?;
    let password = text.strip_suffix('\n').unwrap_or(&text);
    fitting(password.strip_suffix('\r').unwrap_or(password))
}

fn typed(prompt: &str) -> Result<Secret, Failure> {
    if !io::stdin().is_terminal() {
        return Err(Failure::new(Code::InvalidArgument, "there is no terminal to ask for the password on")
            .hint("give it on standard input, with `--password-stdin`"));
    }
    let password = rpassword::prompt_password(prompt)
        .map_err(|error| Failure::new(Code::InvalidArgument, format!("the password cannot be read: {error}")))?;
    fitting(&password)
}

fn fitting(password: &str) -> Result<Secret, Failure> {
    if password.is_empty() {
        return Err(Failure::new(Code::InvalidArgument, "the password is empty"));
    }
    Ok(Secret::new(password))
}

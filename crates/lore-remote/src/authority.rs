//! In whose name a server is asked.

use std::sync::{Mutex, PoisonError};

use lore_model::{Code, Failure};

use crate::{Client, Connection, Logins, Secret, ServerUrl, Tokens, logins::Renewed};

/// So long before its end an access token is replaced, in seconds.
const EARLY: i64 = 30;

/// What shows who asks.
#[derive(Debug)]
pub enum Authority {
    /// A token that somebody was given: it is taken or not.
    Token(Secret),
    /// The login that `lore login` keeps: its access tokens are renewed.
    Login(Box<KeptLogin>),
}

/// A login in its file, and the token of now.
#[derive(Debug)]
pub struct KeptLogin {
    logins: Logins,
    connection: Connection,
    current: Mutex<Option<Renewed>>,
}

impl Authority {
    /// The login that is kept for the server, whenever there is one: somebody may log in later.
    pub fn kept(logins: Logins, connection: Connection) -> Self {
        Self::Login(Box::new(KeptLogin { logins, connection, current: Mutex::default() }))
    }

    /// A token that is taken now, as far as can be told from here.
    pub fn bearer(&self) -> Result<Secret, Failure> {
        match self {
            Self::Token(token) => Ok(token.clone()),
            Self::Login(login) => login.bearer(None),
        }
    }

    /// Another token after that one was refused; `None` where there can be none.
    pub fn renewed(&self, refused: &Secret) -> Result<Option<Secret>, Failure> {
        match self {
            Self::Token(_) => Ok(None),
            Self::Login(login) => login.bearer(Some(refused)).map(Some),
        }
    }
}

impl KeptLogin {
    fn bearer(&self, refused: Option<&Secret>) -> Result<Secret, Failure> {
        // Held while the server is asked: others of this process wait for the same answer.
        let mut current = self.current.lock().unwrap_or_else(PoisonError::into_inner);
        let fits = |tokens: &Tokens| {
            refused != Some(&tokens.access_token) && tokens.access_expires_at > (self.logins.now())() + EARLY
        };
        let url = self.connection.url();
        if let Some(held) = current.as_mut().filter(|held| fits(&held.tokens)) {
            if held.stale.is_some() && self.logins.keep(url, held).is_ok() {
                held.stale = None;
            }
            return Ok(held.tokens.access_token.clone());
        }
        let renewed = self.logins.renew(url, current.as_ref(), fits, |refresh_token| {
            Client::refresh(&self.connection, refresh_token).map_err(|failure| match failure.code {
                Code::Unauthenticated => over(url, failure),
                _ => failure,
            })
        })?;
        let token = renewed.tokens.access_token.clone();
        *current = Some(renewed);
        Ok(token)
    }
}

/// What to do where nobody is logged in.
pub(crate) fn no_login(url: &ServerUrl) -> Failure {
    Failure::new(Code::Unauthenticated, format!("nobody is logged in at {url}"))
        .hint(format!("`lore login {url}` logs in, or put a personal token into the variable LORE_TOKEN"))
}

fn over(url: &ServerUrl, failure: Failure) -> Failure {
    Failure::new(Code::Unauthenticated, format!("the login at {url} is over"))
        .hint(format!("log in again: `lore login {url}`"))
        .caused_by(failure)
}

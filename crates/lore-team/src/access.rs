//! How users show who they are: passwords, logins that are renewed, personal tokens.

use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use lore_model::{
    Actor, Caller, Cancel, Cancelled, Code, Failure, LoginId, Permission, Role, Signal, Token, TokenId, User, UserId,
    UserName, brief,
};
use lore_store::{NewToken, Renewal, Rotation, SecretHash, StoreError};
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

use super::{Asker, Team, hs256, password, throttle::Attempt};
use crate::failure::team_failure;

/// Who issues access tokens, and for whom: tokens of other programs that share the key do not fit.
const ISSUER: &str = "lore";
const AUDIENCE: &str = "lore-server";

/// How personal tokens and refresh tokens begin, so that people and scanners know them when they see them.
const PERSONAL: &str = "lore_pat_";
const REFRESH: &str = "lore_rt_";

/// Longer credentials are not looked at.
const LONGEST: usize = 2048;

/// A password that changes more often than this while somebody logs in is not looked at again.
const CHANGES_MAX: usize = 3;

/// The longest name of a token.
const NAME_MAX: usize = 100;

/// What a user gets for a password or a refresh token.
pub struct Session {
    /// Who it is.
    pub user: User,
    /// For requests, for a short time.
    pub access_token: String,
    /// For so many seconds.
    pub expires_in: i64,
    /// For the next session; it can be used once.
    pub refresh_token: String,
    /// For so many seconds.
    pub refresh_expires_in: i64,
}

impl std::fmt::Debug for Session {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Session").field("user", &self.user).finish_non_exhaustive()
    }
}

/// A personal token at the one moment when its secret is known.
pub struct CreatedToken {
    /// What is kept of it.
    pub token: Token,
    /// The secret.
    pub secret: String,
}

impl std::fmt::Debug for CreatedToken {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("CreatedToken").field("token", &self.token).finish_non_exhaustive()
    }
}

/// Why nobody was let in.
#[derive(Debug)]
pub struct LoginRefused {
    /// What to tell.
    pub failure: Failure,
    /// When to try again, in seconds.
    pub retry_after: Option<i64>,
}

impl From<Failure> for LoginRefused {
    fn from(failure: Failure) -> Self {
        Self { failure, retry_after: None }
    }
}

/// What came of an attempt at a password.
enum Opened {
    /// It was right.
    Right {
        user: User,
        /// What is kept of the password.
        kept: String,
        login: LoginId,
        /// The first refresh token.
        refresh: String,
    },
    /// It was wrong, or there is no such user.
    Wrong(Option<User>),
}

/// How a caller showed who they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Through {
    /// With the access token of a login.
    Login(LoginId),
    /// With a personal token, valid until then; `None` for as long as it is not revoked.
    Token(Option<i64>),
}

/// Whoever showed who they are.
#[derive(Debug, Clone)]
pub struct Known {
    /// Who.
    pub caller: Caller,
    /// How.
    pub through: Through,
}

/// What an access token says. Roles are not in it: they are looked up at every request.
#[derive(Debug, Serialize, Deserialize)]
struct Claims {
    iss: String,
    aud: String,
    sub: String,
    login: i64,
    iat: i64,
    /// Lore's own tokens are valid at once.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    nbf: Option<i64>,
    exp: i64,
}

impl Claims {
    fn is_valid_at(&self, now: i64) -> bool {
        now < self.exp && self.nbf.is_none_or(|begin| begin <= now)
    }
}

/// The keys that access tokens are signed with.
pub(super) struct Keys {
    sign: EncodingKey,
    check: DecodingKey,
}

impl Keys {
    fn new(secret: &[u8]) -> Self {
        hs256::install();
        Self { sign: EncodingKey::from_secret(secret), check: DecodingKey::from_secret(secret) }
    }
}

/// The keys, once they were read.
pub(super) type KeyCell = OnceLock<Keys>;

impl Team {
    /// Lets somebody in who knows a user's password.
    pub fn login(&self, name: &str, password: &str, address: Option<&str>) -> Result<Session, LoginRefused> {
        let account = name.trim().to_ascii_lowercase();
        let account = account.chars().take(100).collect::<String>();
        let now = self.clock.now();
        let attempt = self.begin_attempt(&account, address, now)?;
        let opened = match self.open_login(&account, password, now) {
            Ok(opened) => opened,
            Err(failure) => {
                self.throttle.take_back(attempt);
                return Err(failure.into());
            }
        };
        let (user, kept, login, refresh) = match opened {
            Opened::Right { user, kept, login, refresh } => (user, kept, login, refresh),
            Opened::Wrong(user) => {
                let why = "the name or the password was wrong";
                self.note_not_let_in(user.as_ref(), address, "login_refused", why);
                // Whether there is such a user is nobody's business.
                return Err(Failure::new(Code::Unauthenticated, "the name or the password is wrong").into());
            }
        };
        self.throttle.note_right(&account, address, now);
        if password::is_outdated(&kept) {
            let new = self.hash(password)?;
            self.store.rehash_password(user.id, &kept, &new).map_err(team_failure)?;
        }
        Ok(self.session(user, login, refresh)?)
    }

    /// Looks at a password, and begins a login where it is right. Fails where it could not be looked at: that is no attempt.
    fn open_login(&self, account: &str, password: &str, now: i64) -> Result<Opened, Failure> {
        let user = match UserName::parse(account) {
            Ok(name) => self.store.find_user(&name).map_err(team_failure)?,
            Err(_) => None,
        };
        let (refresh, hash) = secret(REFRESH)?;
        let expires_at = now + self.settings.refresh_seconds;
        for _ in 0..CHANGES_MAX {
            let kept = match &user {
                Some(user) => self.store.password_of(user.id).map_err(team_failure)?,
                None => None,
            };
            let right = self.verify(password, kept.as_deref())?;
            let (Some(user), Some(kept), true) = (&user, kept, right) else { return Ok(Opened::Wrong(user.clone())) };
            let login = self.store.add_login(user.id, &kept, hash, now, expires_at).map_err(team_failure)?;
            // It may be another one by now: looking at it takes a while, and so does waiting for that.
            if let Some(login) = login {
                return Ok(Opened::Right { user: user.clone(), kept, login, refresh });
            }
        }
        Err(Failure::new(Code::Conflict, "the password is being changed").hint("try again"))
    }

    /// Begins an attempt at a password, or tells how long to wait.
    fn begin_attempt(&self, account: &str, address: Option<&str>, now: i64) -> Result<Attempt, LoginRefused> {
        match self.throttle.begin(account, address, now) {
            Ok(attempt) => Ok(attempt),
            Err(wait) => {
                self.note_held_back(account, address, wait);
                Err(too_many(wait))
            }
        }
    }

    /// Gives a new session for a refresh token, which is used up by that. One that was used before ends its login: whoever
    /// has it is not the one it was given to. `address` is from where it comes.
    pub fn refresh(&self, token: &str, address: Option<&str>) -> Result<Session, LoginRefused> {
        let refused =
            || Failure::new(Code::Unauthenticated, "the refresh token is not valid any more").hint("log in again");
        let old = hash_of(token, REFRESH).ok_or_else(refused)?;
        let found = self.store.find_refresh(old, self.clock.now()).map_err(team_failure)?;
        let found = found.ok_or_else(refused)?;
        // One that was taken before ends its login, however often that was renewed.
        if !found.is_taken {
            self.begin_renewal(found.login, address)?;
        }
        let (new, hash) = secret(REFRESH)?;
        let renewal = self.renewal(old, hash, self.settings.refresh_seconds, address);
        match self.store.rotate_login(&renewal).map_err(team_failure)? {
            Rotation::Rotated(login, user) => Ok(self.session(user, login, new)?),
            Rotation::Reused(user) => {
                tracing::warn!(user = %user.name, "a refresh token was used twice: the login is over");
                Err(refused().into())
            }
            Rotation::Unknown => Err(refused().into()),
        }
    }

    /// Begins a renewal of a login, or tells how long to wait.
    fn begin_renewal(&self, login: LoginId, address: Option<&str>) -> Result<(), LoginRefused> {
        let Err(wait) = self.renewals.begin(login, self.clock.now()) else { return Ok(()) };
        self.note_renewed_often(login, address, wait);
        let failure = Failure::new(Code::TooManyRequests, "the login is renewed too often")
            .hint(format!("try again in {wait} seconds"));
        Err(LoginRefused { failure, retry_after: Some(wait) })
    }

    /// Another refresh token in place of one, for so many seconds.
    fn renewal(&self, old: SecretHash, new: SecretHash, seconds: i64, address: Option<&str>) -> Renewal {
        let at = self.clock.now();
        Renewal { old, new, at, expires_at: at + seconds, address: address.map(str::to_owned) }
    }

    fn session(&self, user: User, login: LoginId, refresh_token: String) -> Result<Session, Failure> {
        let now = self.clock.now();
        let claims = Claims {
            iss: ISSUER.to_owned(),
            aud: AUDIENCE.to_owned(),
            sub: user.id.0.to_string(),
            login: login.0,
            iat: now,
            nbf: None,
            exp: now + self.settings.access_seconds,
        };
        let signed = jsonwebtoken::encode(&Header::new(Algorithm::HS256), &claims, &self.keys()?.sign);
        let access_token =
            signed.map_err(|error| Failure::new(Code::Internal, format!("a token could not be signed: {error}")))?;
        Ok(Session {
            user,
            access_token,
            expires_in: self.settings.access_seconds,
            refresh_token,
            refresh_expires_in: self.settings.refresh_seconds,
        })
    }

    /// Who a credential belongs to: an access token or a personal token, which is used by that.
    pub fn authenticate(&self, credential: &str) -> Result<Known, Failure> {
        let (known, token) = self.look_up(credential)?;
        if let Some(token) = token {
            self.uses.note_token(token, self.clock.now());
        }
        Ok(known)
    }

    /// Whether a credential is still that of this user in this role. Asking is no use of it.
    pub fn is_still(&self, caller: &Caller, credential: &str) -> Result<bool, Failure> {
        match self.look_up(credential) {
            Ok((known, _)) => Ok(known.caller == *caller),
            Err(failure) if failure.code == Code::Unauthenticated => Ok(false),
            Err(failure) => Err(failure),
        }
    }

    fn look_up(&self, credential: &str) -> Result<(Known, Option<TokenId>), Failure> {
        let refused = || Failure::new(Code::Unauthenticated, "the token is not valid, or not any more");
        if credential.len() > LONGEST {
            return Err(refused());
        }
        let now = self.clock.now();
        if let Some(hash) = hash_of(credential, PERSONAL) {
            let found = self.store.find_token(hash).map_err(team_failure)?;
            let (token, user) =
                found.filter(|(token, _)| token.expires_at.is_none_or(|expires| now < expires)).ok_or_else(refused)?;
            let known = Known { caller: Caller::from(&user), through: Through::Token(token.expires_at) };
            return Ok((known, Some(token.id)));
        }
        let claims = self.claims(credential)?.filter(|claims| claims.is_valid_at(now)).ok_or_else(refused)?;
        let login = LoginId(claims.login);
        let user = self.store.user_of_login(login, now).map_err(team_failure)?;
        let user = user.filter(|user| user.id.0.to_string() == claims.sub).ok_or_else(refused)?;
        Ok((Known { caller: Caller::from(&user), through: Through::Login(login) }, None))
    }

    /// What an access token says, if it is one of ours.
    fn claims(&self, token: &str) -> Result<Option<Claims>, Failure> {
        Ok(read_claims(token, &self.keys()?.check))
    }

    fn keys(&self) -> Result<&Keys, Failure> {
        if let Some(keys) = self.keys.get() {
            return Ok(keys);
        }
        let key = self.store.signing_key(random()?).map_err(team_failure)?;
        Ok(self.keys.get_or_init(|| Keys::new(&key)))
    }

    /// Ends the login of whoever asks, and that of a refresh token they name. `address` is from where they ask.
    pub fn logout(&self, known: &Known, refresh: Option<&str>, address: Option<&str>) -> Result<(), Failure> {
        if let Through::Login(login) = known.through {
            self.store.end_login(login).map_err(team_failure)?;
        }
        if let Some(hash) = refresh.and_then(|token| hash_of(token, REFRESH)) {
            let (_, next) = secret(REFRESH)?;
            let taken = self.store.rotate_login(&self.renewal(hash, next, 0, address)).map_err(team_failure)?;
            if let Rotation::Rotated(login, _) = taken {
                self.store.end_login(login).map_err(team_failure)?;
            }
        }
        Ok(())
    }

    /// Adds a user.
    pub fn create_user(&self, by: &Asker, name: &str, password: &str, role: Role) -> Result<User, Failure> {
        let name = UserName::parse(name).map_err(|why| Failure::new(Code::InvalidArgument, why))?;
        password::check(&name, password)?;
        let hash = self.hash(password)?;
        self.store.add_user(&name, role, &hash, &self.actor(by)).map_err(|error| match error {
            StoreError::Exists(what) => Failure::new(Code::UserExists, what).hint("choose another name"),
            other => team_failure(other),
        })
    }

    /// Adds an admin with a random password where there is no user at all; returns name and password.
    pub fn bootstrap(&self) -> Result<Option<(UserName, String)>, Failure> {
        if !self.users()?.is_empty() {
            return Ok(None);
        }
        let (password, _) = secret("")?;
        let password = password.as_bytes().chunks(6).take(4).map(String::from_utf8_lossy).collect::<Vec<_>>().join("-");
        let user = self.create_user(&Asker::local(), "admin", &password, Role::Admin)?;
        Ok(Some((user.name, password)))
    }

    /// Every user, by name.
    pub fn users(&self) -> Result<Vec<User>, Failure> {
        self.store.list_users().map_err(team_failure)
    }

    /// The user of that name.
    pub fn user(&self, name: &str) -> Result<User, Failure> {
        let absent = || {
            Failure::new(Code::UserNotFound, format!("there is no user `{}`", brief(name)))
                .hint("`list_users` or `lore users list` shows them")
        };
        let name = UserName::parse(name).map_err(|_| absent())?;
        self.store.find_user(&name).map_err(team_failure)?.ok_or_else(absent)
    }

    /// Gives a user another role.
    pub fn set_role(&self, by: &Asker, name: &str, role: Role) -> Result<User, Failure> {
        let user = self.user(name)?;
        self.store.set_role(user.id, role, &self.actor(by)).map_err(team_failure)
    }

    /// Refuses a password that this user cannot have.
    pub fn check_password(&self, user: &User, password: &str) -> Result<(), Failure> {
        password::check(&user.name, password)
    }

    /// Gives a user another password; all their logins end.
    pub fn set_password(&self, by: &Asker, name: &str, password: &str) -> Result<User, Failure> {
        let user = self.user(name)?;
        password::check(&user.name, password)?;
        let hash = self.hash(password)?;
        self.store.set_password(user.id, None, &hash, &self.actor(by)).map_err(team_failure)?;
        Ok(user)
    }

    /// Gives whoever asks another password, if they know the one they have; all their logins end. `address` is what attempts
    /// are counted by.
    pub fn change_password(
        &self,
        by: &Asker,
        address: Option<&str>,
        current: &str,
        new: &str,
    ) -> Result<(), LoginRefused> {
        let caller = by.caller()?;
        let (account, now) = (caller.name.as_str(), self.clock.now());
        let attempt = self.begin_attempt(account, address, now)?;
        let look = || {
            let kept = self.store.password_of(caller.id).map_err(team_failure)?;
            let right = self.verify(current, kept.as_deref())?;
            Ok::<_, Failure>((kept, right))
        };
        // One that could not be looked at was no attempt.
        let (kept, right) = match look() {
            Ok(looked) => looked,
            Err(failure) => {
                self.throttle.take_back(attempt);
                return Err(failure.into());
            }
        };
        let wrong = || Failure::new(Code::PermissionDenied, "the current password is wrong");
        if !right {
            return Err(wrong().into());
        }
        self.throttle.note_right(account, address, now);
        password::check(&caller.name, new)?;
        let hash = self.hash(new)?;
        // The one that was right may be another one by now.
        let changed = self.store.set_password(caller.id, kept.as_deref(), &hash, &self.actor(by));
        if changed.map_err(team_failure)? { Ok(()) } else { Err(wrong().into()) }
    }

    /// Removes a user with all that is theirs.
    pub fn remove_user(&self, by: &Asker, name: &str) -> Result<User, Failure> {
        let user = self.user(name)?;
        self.store.remove_user(user.id, &self.actor(by)).map_err(team_failure)?;
        self.wake.notify();
        Ok(user)
    }

    /// Makes a personal token for a user, for so many days or for ever.
    pub fn create_token(
        &self,
        by: &Asker,
        user: UserId,
        name: &str,
        days: Option<u32>,
    ) -> Result<CreatedToken, Failure> {
        let name = name.trim();
        if name.is_empty() || name.chars().count() > NAME_MAX || name.chars().any(char::is_control) {
            let what = format!("a token needs a name of 1 to {NAME_MAX} characters");
            return Err(Failure::new(Code::InvalidArgument, what).hint("name it after what it is for: `laptop`"));
        }
        if days == Some(0) || days.is_some_and(|days| days > 3650) {
            return Err(Failure::new(Code::InvalidArgument, "a token is valid for 1 to 3650 days, or for ever"));
        }
        let (secret, hash) = secret(PERSONAL)?;
        let expires_at = days.map(|days| self.clock.now() + i64::from(days) * 86_400);
        let new = NewToken { user, name: name.to_owned(), secret: hash, expires_at };
        let token = self.store.add_token(&new, &self.actor(by)).map_err(team_failure)?;
        Ok(CreatedToken { token, secret })
    }

    /// The personal tokens of a user, or of all.
    pub fn tokens(&self, user: Option<UserId>) -> Result<Vec<Token>, Failure> {
        self.store.list_tokens(user).map_err(team_failure)
    }

    /// Ends a personal token: one's own, or anybody's for those who manage users.
    pub fn revoke_token(&self, by: &Asker, token: TokenId) -> Result<(), Failure> {
        let owner = by.caller.as_ref().filter(|caller| !caller.role.may(Permission::ManageUsers));
        let owner = owner.map(|caller| caller.id);
        if self.store.revoke_token(token, owner, &self.actor(by)).map_err(team_failure)? {
            return Ok(());
        }
        Err(Failure::new(Code::TokenNotFound, format!("there is no token {}", token.0))
            .hint("`lore tokens list` shows them"))
    }

    fn hash(&self, password: &str) -> Result<String, Failure> {
        self.hashing.run(|| password::hash(password))?
    }

    /// Whether this is the password of which that was kept. It takes as long where nothing was.
    fn verify(&self, password: &str, kept: Option<&str>) -> Result<bool, Failure> {
        self.hashing.run(|| {
            let right = password::verify(password, kept.unwrap_or(password::nobodys()));
            right && kept.is_some()
        })
    }

    /// Who is written into the audit log.
    pub(super) fn actor(&self, by: &Asker) -> Actor {
        let name = by.caller.as_ref().map_or("(local)".to_owned(), |caller| caller.name.to_string());
        Actor { name, address: by.address.clone(), at: self.clock.now() }
    }
}

fn too_many(wait: i64) -> LoginRefused {
    let failure =
        Failure::new(Code::TooManyRequests, "too many wrong passwords").hint(format!("try again in {wait} seconds"));
    LoginRefused { failure, retry_after: Some(wait) }
}

/// Where passwords are hashed: so many at a time, since each takes memory, and not too many in line.
pub(super) struct Hashing {
    /// How many are being hashed, and how many are in line, these included.
    used: Mutex<(usize, usize)>,
    freed: Signal,
    places: usize,
    line: usize,
}

impl Hashing {
    /// So many at a time, and in line, these included.
    pub(super) fn new(places: usize, line: usize) -> Self {
        Self { used: Mutex::default(), freed: Signal::default(), places, line }
    }

    fn used(&self) -> MutexGuard<'_, (usize, usize)> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Does the work when it has its turn.
    fn run<T>(&self, work: impl FnOnce() -> T) -> Result<T, Failure> {
        let mut place = {
            let mut used = self.used();
            if used.1 >= self.line {
                let what = "too many passwords are being checked at the moment";
                return Err(Failure::new(Code::TooManyRequests, what).hint("try again in a few seconds"));
            }
            used.1 += 1;
            Place { hashing: self, works: false }
        };
        let turn = self.freed.wait_for(None, &Cancel::current(), || {
            let mut used = self.used();
            (used.0 < self.places).then(|| used.0 += 1)
        });
        turn.ok_or(Cancelled)?;
        place.works = true;
        Ok(work())
    }
}

/// A place in line, perhaps the turn as well, until it is dropped.
struct Place<'a> {
    hashing: &'a Hashing,
    works: bool,
}

impl Drop for Place<'_> {
    fn drop(&mut self) {
        let mut used = self.hashing.used();
        used.0 -= usize::from(self.works);
        used.1 -= 1;
        drop(used);
        self.hashing.freed.notify();
    }
}

/// What a token says, where it is signed with this key.
fn read_claims(token: &str, key: &DecodingKey) -> Option<Claims> {
    // One algorithm, whatever the token says of itself.
    let mut validation = Validation::new(Algorithm::HS256);
    validation.set_issuer(&[ISSUER]);
    validation.set_audience(&[AUDIENCE]);
    validation.set_required_spec_claims(&["iss", "aud", "sub", "exp"]);
    // The time is that of the server's clock, which is looked at where this is used.
    validation.validate_exp = false;
    jsonwebtoken::decode::<Claims>(token, key, &validation).ok().map(|read| read.claims)
}

/// Whom a token names that is signed with this key, and until when.
#[cfg(feature = "fuzzing")]
pub(super) fn subject_of(token: &str, key: &[u8]) -> Option<(String, i64)> {
    read_claims(token, &Keys::new(key).check).map(|claims| (claims.sub, claims.exp))
}

/// A token that is signed with this key.
#[cfg(feature = "fuzzing")]
pub(super) fn sign(subject: &str, expires: i64, key: &[u8]) -> Option<String> {
    let claims = Claims {
        iss: ISSUER.to_owned(),
        aud: AUDIENCE.to_owned(),
        sub: subject.to_owned(),
        login: 7,
        iat: 0,
        nbf: None,
        exp: expires,
    };
    jsonwebtoken::encode(&Header::new(Algorithm::HS256), &claims, &Keys::new(key).sign).ok()
}

fn random<const N: usize>() -> Result<[u8; N], Failure> {
    let mut bytes = [0; N];
    getrandom::fill(&mut bytes)
        .map_err(|error| Failure::new(Code::Internal, format!("the system gives no random numbers: {error}")))?;
    Ok(bytes)
}

/// A random id.
pub(super) fn random_id() -> Result<[u8; 16], Failure> {
    random()
}

/// A new secret that begins like this, and what is kept of it.
fn secret(prefix: &str) -> Result<(String, SecretHash), Failure> {
    use std::fmt::Write as _;
    let mut text = prefix.to_owned();
    for byte in random::<32>()? {
        write!(text, "{byte:02x}").expect("writing to a string cannot fail");
    }
    let hash = Sha256::digest(text.as_bytes()).into();
    Ok((text, hash))
}

/// What would be kept of a secret, if it begins like this.
fn hash_of(secret: &str, prefix: &str) -> Option<SecretHash> {
    (secret.starts_with(prefix) && secret.len() <= LONGEST).then(|| Sha256::digest(secret.as_bytes()).into())
}

#[cfg(test)]
mod tests {
    use std::{sync::mpsc, thread};

    use super::*;

    #[test]
    fn passwords_are_hashed_in_turn_and_the_line_is_bounded() {
        let hashing = &Hashing::new(1, 2);
        let (finish, finished) = mpsc::channel::<()>();
        let in_line = |count| {
            while hashing.used().1 < count {
                thread::yield_now();
            }
        };
        thread::scope(|scope| {
            // It ends with its sender.
            let first = scope.spawn(move || hashing.run(|| finished.recv().is_err()));
            in_line(1);
            let gone = Cancel::default();
            let hangs_up = gone.clone();
            let second = scope.spawn(move || {
                let _entered = gone.enter();
                hashing.run(|| ())
            });
            in_line(2);
            assert_eq!(hashing.run(|| ()).unwrap_err().code, Code::TooManyRequests, "the line is full");
            hangs_up.cancel();
            assert_eq!(second.join().unwrap().unwrap_err().code, Code::Interrupted, "who hangs up leaves the line");
            let third = scope.spawn(|| hashing.run(|| ()));
            in_line(2);
            assert_eq!(hashing.used().0, 1, "the first is still being worked on");
            drop(finish);
            assert!(first.join().unwrap().unwrap());
            third.join().unwrap().expect("it has its turn");
        });
        assert_eq!(*hashing.used(), (0, 0));
    }
}

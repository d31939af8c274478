//! Who works on a team server, what they may do, and the work that is done for them.

mod interval;
mod records;

use std::fmt;

pub use interval::parse_interval;
pub use records::{
    Activation, Actor, AuditEntry, Golden, GoldenState, Job, JobLine, JobTask, LoginId, Operation, Token, TokenId,
};

/// What a user may do: the four permissions of the contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Permission {
    /// Ask about repositories.
    QueryRepos,
    /// Have repositories of one's own choice, on branches of one's own choice.
    ActivateRepos,
    /// Decide which repositories the server keeps.
    ManageGoldenRepos,
    /// Decide who may use the server.
    ManageUsers,
}

impl Permission {
    /// Every permission.
    pub const ALL: [Self; 4] = [Self::QueryRepos, Self::ActivateRepos, Self::ManageGoldenRepos, Self::ManageUsers];

    /// The word of the contract.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::QueryRepos => "query_repos",
            Self::ActivateRepos => "activate_repos",
            Self::ManageGoldenRepos => "manage_golden_repos",
            Self::ManageUsers => "manage_users",
        }
    }
}

/// What somebody is on a team server.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Role {
    /// May do everything.
    Admin,
    /// May ask, and activate repositories.
    PowerUser,
    /// May ask.
    NormalUser,
}

impl Role {
    /// Every role, the mightiest first.
    pub const ALL: [Self; 3] = [Self::Admin, Self::PowerUser, Self::NormalUser];

    /// The word of the contract.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Admin => "admin",
            Self::PowerUser => "power_user",
            Self::NormalUser => "normal_user",
        }
    }

    /// What a word stands for.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|role| role.as_str() == word)
    }

    /// Whether it includes a permission.
    pub fn may(self, permission: Permission) -> bool {
        match self {
            Self::Admin => true,
            Self::PowerUser => matches!(permission, Permission::QueryRepos | Permission::ActivateRepos),
            Self::NormalUser => permission == Permission::QueryRepos,
        }
    }
}

/// The name of a user: how they log in, and how others see them.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UserName(String);

impl UserName {
    /// Accepts 1 to 64 ASCII letters, digits, `.`, `_`, `-`, `@`, beginning with a letter or a digit.
    ///
    /// Names are kept in small letters: two users whose names differ in case alone would be taken for each other.
    pub fn parse(text: &str) -> Result<Self, String> {
        let allowed = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-' | '@');
        let fits = (1..=64).contains(&text.len())
            && text.starts_with(|c: char| c.is_ascii_alphanumeric())
            && text.chars().all(allowed);
        if !fits {
            return Err(format!(
                "`{}` cannot name a user: use 1 to 64 letters, digits, `.`, `_`, `-` and `@`, beginning with a letter or a digit",
                crate::brief(text)
            ));
        }
        Ok(Self(text.to_ascii_lowercase()))
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for UserName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// Names a user for ever, whatever they are called.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct UserId(pub i64);

/// A user.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct User {
    /// Their id.
    pub id: UserId,
    /// Their name.
    pub name: UserName,
    /// What they are.
    pub role: Role,
    /// Since when (seconds since 1970).
    pub created_at: i64,
}

/// Who makes a request of a team server, after it was shown that they are who they say.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// Their id.
    pub id: UserId,
    /// Their name.
    pub name: UserName,
    /// What they are at this moment.
    pub role: Role,
}

impl From<&User> for Caller {
    fn from(user: &User) -> Self {
        Self { id: user.id, name: user.name.clone(), role: user.role }
    }
}

/// Where the request of a caller came from, for the audit log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallerAddress(pub String);

/// What a request is called in the log of a team server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogId(pub String);

/// Names a job: 32 hexadecimal digits that nobody can guess.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct JobId(String);

impl JobId {
    /// The id made of these random bytes.
    pub fn new(random: [u8; 16]) -> Self {
        Self(format!("{:032x}", u128::from_be_bytes(random)))
    }

    /// Reads an id; `None` where the text cannot be one.
    pub fn parse(text: &str) -> Option<Self> {
        let fits = text.len() == 32 && text.bytes().all(|b| b.is_ascii_digit() || (b'a'..=b'f').contains(&b));
        fits.then(|| Self(text.to_owned()))
    }

    /// The id as text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for JobId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// How a job stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum JobStatus {
    /// It waits for its turn.
    Pending,
    /// It is being done.
    Running,
    /// It is done.
    Completed,
    /// It could not be done.
    Failed,
    /// Somebody stopped it.
    Cancelled,
}

impl JobStatus {
    /// Every status.
    pub const ALL: [Self; 5] = [Self::Pending, Self::Running, Self::Completed, Self::Failed, Self::Cancelled];

    /// The word of the contract.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Running => "running",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
        }
    }

    /// What a word stands for.
    pub fn parse(word: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|status| status.as_str() == word)
    }

    /// Whether nothing more will happen to it.
    pub fn is_over(self) -> bool {
        matches!(self, Self::Completed | Self::Failed | Self::Cancelled)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn roles_are_those_of_the_contract() {
        let may = |role: Role| Permission::ALL.map(|permission| role.may(permission));
        assert_eq!(may(Role::Admin), [true; 4]);
        assert_eq!(may(Role::PowerUser), [true, true, false, false]);
        assert_eq!(may(Role::NormalUser), [true, false, false, false]);
        for role in Role::ALL {
            assert_eq!(Role::parse(role.as_str()), Some(role));
        }
        for status in JobStatus::ALL {
            assert_eq!(JobStatus::parse(status.as_str()), Some(status));
        }
        for operation in Operation::ALL {
            assert_eq!(Operation::parse(operation.as_str()), Some(operation));
        }
        for state in GoldenState::ALL {
            assert_eq!(GoldenState::parse(state.as_str()), Some(state));
        }
    }

    #[test]
    fn names_of_users_are_plain_and_in_small_letters() {
        for (text, name) in [("Ada", "ada"), ("a.b@example.com", "a.b@example.com"), ("dev-1_x", "dev-1_x")] {
            assert_eq!(UserName::parse(text).unwrap().as_str(), name);
        }
        for bad in ["", "-ada", ".ada", "a b", "a/b", "ad\u{e4}", "a\0", &"a".repeat(65)] {
            assert!(UserName::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn job_ids_are_32_digits() {
        let id = JobId::new([0xab; 16]);
        assert_eq!(JobId::parse(id.as_str()), Some(id));
        for bad in ["", "AB", &"g".repeat(32), &"a".repeat(33)] {
            assert_eq!(JobId::parse(bad), None);
        }
    }
}

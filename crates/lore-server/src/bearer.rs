//! How a request shows who makes it: one header, nothing else.

use std::{sync::Arc, time::Duration};

use http::{HeaderMap, StatusCode, header};
use lore_mcp::blocking;
use lore_model::{Caller, Code, Failure};
use lore_team::{Known, Team};

use crate::answer::Refusal;

/// What the `Authorization` headers of a request hold.
#[derive(Debug, PartialEq, Eq)]
enum Shown<'a> {
    Nothing,
    Token(&'a str),
    /// More than one header, or one that cannot be read.
    Unclear,
}

fn shown(headers: &HeaderMap) -> Shown<'_> {
    let mut given = headers.get_all(header::AUTHORIZATION).iter();
    match (given.next(), given.next()) {
        (None, _) => Shown::Nothing,
        (Some(one), None) => {
            let Ok(text) = one.to_str() else { return Shown::Unclear };
            let (scheme, token) = text.trim().split_once(' ').unwrap_or((text.trim(), ""));
            if !scheme.eq_ignore_ascii_case("bearer") {
                return Shown::Nothing;
            }
            Shown::Token(token.trim())
        }
        // Whoever stands between might have looked at the other one.
        (Some(_), Some(_)) => Shown::Unclear,
    }
}

/// The token of a request, where there is one and no doubt about it.
pub(crate) fn token(headers: &HeaderMap) -> Option<&str> {
    match shown(headers) {
        Shown::Token(token) => Some(token),
        Shown::Nothing | Shown::Unclear => None,
    }
}

/// Who makes a request, or the refusal that asks for a token. `metadata` tells where clients learn how to get one.
pub(crate) async fn authenticate(
    team: &Arc<Team>,
    headers: &HeaderMap,
    metadata: Option<&str>,
) -> Result<Known, Refusal> {
    let refused = |message: &str, error: Option<&str>| {
        let mut challenge = vec![r#"Bearer realm="lore""#.to_owned()];
        challenge.extend(error.map(|error| format!(r#"error="{error}""#)));
        challenge.extend(metadata.map(|metadata| format!(r#"resource_metadata="{metadata}""#)));
        Refusal::new(StatusCode::UNAUTHORIZED, Code::Unauthenticated, message)
            .hint("`POST /auth/login` gives a token; send it as `Authorization: Bearer <token>`")
            .header(header::WWW_AUTHENTICATE, &challenge.join(", "))
    };
    match shown(headers) {
        Shown::Nothing => Err(refused("this needs a token", None)),
        Shown::Unclear => Err(refused("there must be one `Authorization` header", Some("invalid_request"))),
        Shown::Token(token) => match authenticate_token(team, token).await {
            Ok(known) => Ok(known),
            Err(failure) if failure.code == Code::Unauthenticated => {
                Err(refused("the token is not valid, or not any more", Some("invalid_token")))
            }
            Err(failure) => Err(failure.into()),
        },
    }
}

async fn authenticate_token(team: &Arc<Team>, token: &str) -> Result<Known, Failure> {
    let (team, token) = (Arc::clone(team), token.to_owned());
    blocking(move || team.authenticate(&token)).await
}

/// Ready once a token is no longer that of this user in this role. It is looked at every so often, and where that is not possible
/// just now, things are as they were.
pub(crate) async fn until_refused(team: Arc<Team>, token: String, caller: Caller, every: Duration) {
    loop {
        tokio::time::sleep(every).await;
        let (asked, whose, shown) = (Arc::clone(&team), caller.clone(), token.clone());
        match blocking(move || asked.is_still(&whose, &shown)).await {
            Ok(true) => {}
            Ok(false) => return,
            Err(failure) => tracing::debug!(%failure, "whether somebody may still listen cannot be told"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_stands_in_one_header() {
        let read = |values: &[&str]| {
            let mut headers = HeaderMap::new();
            for value in values {
                headers.append(header::AUTHORIZATION, http::HeaderValue::from_bytes(value.as_bytes()).unwrap());
            }
            format!("{:?}", shown(&headers))
        };
        assert_eq!(read(&[]), "Nothing");
        assert_eq!(read(&["Bearer abc"]), r#"Token("abc")"#);
        assert_eq!(read(&["bEARER  abc "]), r#"Token("abc")"#);
        assert_eq!(read(&["Bearer"]), r#"Token("")"#);
        assert_eq!(read(&["Basic abc"]), "Nothing");
        assert_eq!(read(&["Bearer abc", "Bearer abc"]), "Unclear");
        assert_eq!(read(&["Bearer \u{e9}"]), "Unclear");
    }
}

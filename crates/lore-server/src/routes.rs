//! The one table of paths: who may use them, what they take and what they give. Requests are let in by it, and the document
//! about the server is made of it.

use std::sync::Arc;

use http::{HeaderMap, Method};
use lore_model::{Caller, Code, Failure, Permission};
use lore_team::{Asker, Known};
use percent_encoding::percent_decode_str;
use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::DeserializeOwned;

use crate::{
    answer::{HttpResponse, Output, Refusal},
    api::{audit, auth, golden, jobs, own, tokens, users},
    app::App,
    input::{Fields, Nothing},
};

/// Who may use a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    /// Whoever reaches the server.
    Anyone,
    /// Every user.
    AnyUser,
    /// Users with this permission.
    May(Permission),
}

/// One row of the table, for whoever wants to look at it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouteRow {
    /// The method.
    pub method: Method,
    /// The path, with `{name}` where something is to be named.
    pub path: &'static str,
    /// Who may use it.
    pub who: Who,
}

/// A request that was let in.
pub(crate) struct Asked {
    /// Who makes it.
    pub(crate) known: Option<Known>,
    /// From where.
    pub(crate) address: std::net::IpAddr,
    /// What its path names, in order.
    pub(crate) named: Vec<String>,
    /// Its headers.
    pub(crate) headers: HeaderMap,
    /// Its query.
    pub(crate) query: String,
    /// Its body.
    pub(crate) body: bytes::Bytes,
    /// How the client reaches the server.
    pub(crate) base: String,
}

impl Asked {
    /// Who makes it, where only users are let in.
    pub(crate) fn known(&self) -> Result<&Known, Failure> {
        self.known.as_ref().ok_or_else(|| Failure::new(Code::Unauthenticated, "this needs a token"))
    }

    /// The user who makes it.
    pub(crate) fn caller(&self) -> Result<&Caller, Failure> {
        self.known().map(|known| &known.caller)
    }

    /// The same for what is asked of the team. Without a user it fails: nobody gets in as somebody of the machine itself.
    pub(crate) fn asker(&self) -> Result<Asker, Failure> {
        Ok(Asker::user(self.caller()?.clone(), Some(self.address.to_string())))
    }

    /// What the path names first.
    pub(crate) fn name(&self) -> &str {
        self.named.first().map_or("", String::as_str)
    }
}

pub(crate) type Run = dyn Fn(&App, &Asked) -> Result<HttpResponse, Refusal> + Send + Sync;

/// What answers at a path.
pub(crate) enum Handler {
    /// A handler of its own, on a thread that may block.
    Run(Arc<Run>),
    /// The MCP endpoint.
    Mcp,
}

type Describe = fn(&mut SchemaGenerator) -> (&'static str, Option<Schema>);

/// One row of the table.
pub(crate) struct Route {
    pub(crate) method: Method,
    pub(crate) path: &'static str,
    pub(crate) who: Who,
    pub(crate) about: &'static str,
    /// Of the query for GET and DELETE, else of the body.
    pub(crate) fields: Fields,
    pub(crate) input: fn(&mut SchemaGenerator) -> Schema,
    pub(crate) output: Describe,
    pub(crate) handler: Handler,
}

impl Route {
    /// A path whose input and output are what its handler takes and gives.
    pub(crate) fn new<I, O>(
        method: Method,
        path: &'static str,
        who: Who,
        about: &'static str,
        handler: fn(&App, &Asked, &I) -> Result<O, Refusal>,
    ) -> Self
    where
        I: DeserializeOwned + JsonSchema + 'static,
        O: Output + 'static,
    {
        let fields = Fields::of::<I>();
        let (known, none, in_query) = (fields.clone(), Fields::of::<Nothing>(), takes_query(&method));
        let run = move |app: &App, asked: &Asked| {
            let input = if in_query {
                known.read_query::<I>(&asked.query)
            } else {
                // A parameter that nobody reads is a mistake, or a secret in the wrong place.
                none.read_query::<Nothing>(&asked.query).and_then(|_| known.read_body::<I>(&asked.headers, &asked.body))
            };
            handler(app, asked, &input?).map(Output::respond)
        };
        Self {
            method,
            path,
            who,
            about,
            fields,
            input: |generator| generator.subschema_for::<I>(),
            output: O::describe,
            handler: Handler::Run(Arc::new(run)),
        }
    }

    fn mcp(method: Method, path: &'static str, about: &'static str) -> Self {
        Self {
            method,
            path,
            who: Who::AnyUser,
            about,
            fields: Fields::of::<Nothing>(),
            input: |_| Schema::from(true),
            output: |_| ("application/json", Some(Schema::from(true))),
            handler: Handler::Mcp,
        }
    }

    /// What of a path stands where this one names something; `None` where it is another path.
    fn matches(&self, path: &str) -> Option<Vec<String>> {
        let (mut ours, mut theirs) = (self.path.split('/'), path.split('/'));
        let mut named = Vec::new();
        loop {
            match (ours.next(), theirs.next()) {
                (None, None) => return Some(named),
                (Some(part), Some(text)) if part.starts_with('{') && !text.is_empty() => {
                    named.push(percent_decode_str(text).decode_utf8().ok()?.into_owned());
                }
                (Some(part), Some(text)) if part == text => {}
                _ => return None,
            }
        }
    }
}

/// Whether requests of this method bring what they bring in the query.
pub(crate) fn takes_query(method: &Method) -> bool {
    method == Method::GET || method == Method::DELETE
}

/// What the table has for a request.
pub(crate) enum Found<'a> {
    /// The row, its place, and what the path names.
    Route(usize, &'a Route, Vec<String>),
    /// There is such a path, for these methods.
    Methods(Vec<&'a Route>),
    /// There is no such path.
    Nothing,
}

/// Looks a request up.
pub(crate) fn find<'a>(routes: &'a [Route], method: &Method, path: &str) -> Found<'a> {
    let method = if method == Method::HEAD { &Method::GET } else { method };
    let mut there = Vec::new();
    for (place, route) in routes.iter().enumerate() {
        let Some(named) = route.matches(path) else { continue };
        if route.method == method {
            return Found::Route(place, route, named);
        }
        there.push(route);
    }
    if there.is_empty() { Found::Nothing } else { Found::Methods(there) }
}

const MCP: &str = "MCP over HTTP: a message, or the answer to one. `tools/list` tells what there is.";
const MCP_LISTEN: &str = "MCP over HTTP: listens to a session.";
const MCP_END: &str = "MCP over HTTP: ends a session.";

/// The table.
pub(crate) fn table() -> Vec<Route> {
    let mut table = own_rows();
    table.extend(team_rows());
    table
}

/// MCP, and what the server tells about itself.
fn own_rows() -> Vec<Route> {
    use Who::{AnyUser, Anyone, May};
    let (get, post, delete) = (Method::GET, Method::POST, Method::DELETE);
    let golden_may = May(Permission::ManageGoldenRepos);
    vec![
        Route::mcp(post.clone(), "/mcp", MCP),
        Route::mcp(get.clone(), "/mcp", MCP_LISTEN),
        Route::mcp(delete.clone(), "/mcp", MCP_END),
        Route::mcp(post.clone(), "/mcp/{toolset}", MCP),
        Route::mcp(get.clone(), "/mcp/{toolset}", MCP_LISTEN),
        Route::mcp(delete.clone(), "/mcp/{toolset}", MCP_END),
        Route::new(get.clone(), "/healthz", Anyone, "Whether the server runs.", own::healthz),
        Route::new(get.clone(), "/readyz", Anyone, "Whether the server can answer; 503 says why not.", own::readyz),
        Route::new(get.clone(), "/metrics", golden_may, "Numbers about the server, for Prometheus.", own::metrics),
        Route::new(get.clone(), "/openapi.json", AnyUser, "This document.", own::openapi),
        Route::new(
            get.clone(),
            "/.well-known/oauth-protected-resource",
            Anyone,
            "Which authorization server there is, if any (RFC 9728).",
            own::resource,
        ),
        Route::new(
            get.clone(),
            "/.well-known/oauth-protected-resource/mcp",
            Anyone,
            "The same for the MCP endpoint.",
            own::mcp_resource,
        ),
        Route::new(
            get.clone(),
            "/.well-known/oauth-protected-resource/mcp/{toolset}",
            Anyone,
            "The same for the MCP endpoint of a toolset.",
            own::toolset_resource,
        ),
    ]
}

/// Users, tokens, jobs and repositories.
fn team_rows() -> Vec<Route> {
    use Permission::{ManageGoldenRepos, ManageUsers};
    use Who::{AnyUser, Anyone, May};
    let get = Method::GET;
    let (post, patch, delete) = (Method::POST, Method::PATCH, Method::DELETE);
    let (golden_may, users_may) = (May(ManageGoldenRepos), May(ManageUsers));
    vec![
        Route::new(post.clone(), "/auth/login", Anyone, "Gives tokens for a name and a password.", auth::login),
        Route::new(
            post.clone(),
            "/auth/refresh",
            Anyone,
            "Gives new tokens for a refresh token, which is used up. Using one twice ends the login.",
            auth::refresh,
        ),
        Route::new(post.clone(), "/auth/logout", AnyUser, "Ends a login with all its tokens.", auth::logout),
        Route::new(get.clone(), "/auth/me", AnyUser, "Who you are and what you may do.", auth::me),
        Route::new(
            post.clone(),
            "/auth/password",
            AnyUser,
            "Changes your password; all your logins end.",
            auth::password,
        ),
        Route::new(
            get.clone(),
            "/api/tokens",
            AnyUser,
            "Your personal tokens; with `all`, everybody's (manage_users).",
            tokens::list,
        ),
        Route::new(post.clone(), "/api/tokens", AnyUser, "Makes a personal token. It is shown once.", tokens::create),
        Route::new(
            delete.clone(),
            "/api/tokens/{id}",
            AnyUser,
            "Revokes a personal token: your own, or anybody's (manage_users).",
            tokens::revoke,
        ),
        Route::new(get.clone(), "/api/jobs", AnyUser, "Your jobs; all jobs with manage_golden_repos.", jobs::list),
        Route::new(get.clone(), "/api/jobs/{id}", AnyUser, "One job and what it noted.", jobs::show),
        Route::new(post.clone(), "/api/jobs/{id}/cancel", AnyUser, "Stops a job.", jobs::cancel),
        Route::new(get.clone(), "/api/users", users_may, "All users.", users::list),
        Route::new(post.clone(), "/api/users", users_may, "Adds a user.", users::create),
        Route::new(
            patch.clone(),
            "/api/users/{name}",
            users_may,
            "Changes a user's role or password; a new password ends all their logins.",
            users::change,
        ),
        Route::new(
            delete.clone(),
            "/api/users/{name}",
            users_may,
            "Removes a user with all that is theirs.",
            users::remove,
        ),
        Route::new(get.clone(), "/api/golden", AnyUser, "The repositories that the server keeps.", golden::list),
        Route::new(post.clone(), "/api/golden", golden_may, "Adds a repository: begins a job.", golden::add),
        Route::new(patch, "/api/golden/{alias}", golden_may, "Changes how a repository is kept.", golden::change),
        Route::new(
            post,
            "/api/golden/{alias}/refresh",
            golden_may,
            "Fetches and reads a repository: begins a job.",
            golden::refresh,
        ),
        Route::new(
            delete,
            "/api/golden/{alias}",
            golden_may,
            "Removes a repository: begins a job. Where users have it, only with `force`.",
            golden::remove,
        ),
        Route::new(get, "/api/audit", users_may, "Who did what, the newest first.", audit::list),
    ]
}

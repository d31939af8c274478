//! Entry points of private parsers for `lore-fuzz`, behind the feature `fuzzing`.

use http::{HeaderMap, Method};

use crate::{bearer, input::Fields, routes};

/// The path of the table that a request is for, and what it names; none where there is none.
pub fn route(method: &Method, path: &str) -> Option<(&'static str, Vec<String>)> {
    thread_local!(static TABLE: Vec<routes::Route> = routes::table());
    TABLE.with(|table| match routes::find(table, method, path) {
        routes::Found::Route(_, route, named) => Some((route.path, named)),
        routes::Found::Methods(_) | routes::Found::Nothing => None,
    })
}

/// Every path of the table.
pub fn paths() -> Vec<(Method, &'static str)> {
    routes::table().into_iter().map(|route| (route.method, route.path)).collect()
}

/// The fields of a query with a number, a flag and a text; none where it is refused.
pub fn query(text: &str) -> Option<(Option<u64>, Option<bool>, Option<String>)> {
    #[derive(serde::Deserialize, schemars::JsonSchema)]
    struct Taken {
        limit: Option<u64>,
        all: Option<bool>,
        name: Option<String>,
    }
    thread_local!(static FIELDS: Fields = Fields::of::<Taken>());
    let taken = FIELDS.with(|fields| fields.read_query::<Taken>(text)).ok()?;
    Some((taken.limit, taken.all, taken.name))
}

/// The token that headers show.
pub fn token(headers: &HeaderMap) -> Option<&str> {
    bearer::token(headers)
}

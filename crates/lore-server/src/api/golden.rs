//! The repositories that the server keeps.

use std::borrow::Cow;

use lore_model::{Job, Permission, brief, parse_interval};
use lore_team::{AddGolden, GoldenChange};
use lore_tools::shown::GoldenShown;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use serde::{Deserialize, Deserializer, Serialize, de};

use super::{ListQuery, cut, limit};
use crate::{
    answer::{Json, Refusal},
    app::App,
    input::Nothing,
    routes::Asked,
};

/// The repositories that the server keeps.
#[derive(Serialize, JsonSchema)]
pub(crate) struct GoldenList {
    /// By alias.
    repositories: Vec<GoldenShown>,
    /// How many there are.
    total: usize,
}

pub(crate) fn list(app: &App, asked: &Asked, query: &ListQuery) -> Result<Json<GoldenList>, Refusal> {
    let manages = asked.caller()?.role.may(Permission::ManageGoldenRepos);
    let (golden, total) = cut(app.team.golden()?, limit(query.limit));
    let repos = app.team.lore().history.repos()?;
    let told = |error: &str| manages.then(|| app.team.lore().without_home(error));
    let repositories = golden.iter().map(|golden| GoldenShown::new(golden, &repos, told)).collect();
    Ok(Json(GoldenList { repositories, total }))
}

/// A span of time: seconds, or a number with `s`, `m`, `h`, `d` or `w`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Span(i64);

impl JsonSchema for Span {
    fn schema_name() -> Cow<'static, str> {
        "Span".into()
    }

    fn json_schema(_: &mut SchemaGenerator) -> Schema {
        json_schema!({"type": ["integer", "string"], "description": "Seconds, or like `15m`, `6h`, `1d`."})
    }
}

impl<'de> Deserialize<'de> for Span {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(untagged)]
        enum Given {
            Number(i64),
            Text(String),
        }
        let unfit = || de::Error::custom("an interval is a number of seconds, or like `15m`, `6h`, `1d`");
        match Given::deserialize(deserializer).map_err(|_| unfit())? {
            Given::Number(seconds) => Ok(Self(seconds)),
            Given::Text(text) => parse_interval(&text).map(Self).ok_or_else(unfit),
        }
    }
}

/// A repository that is to be added.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct NewGolden {
    /// Where it is cloned from.
    url: String,
    /// What it is called.
    alias: String,
    /// The branch that counts as its main one; the remote's own choice where nothing is said.
    branch: Option<String>,
    /// Whether its past is kept.
    enable_temporal: Option<bool>,
    /// How often it is fetched by itself; never where nothing is said.
    refresh_every: Option<Span>,
}

/// What was begun.
#[derive(Serialize, JsonSchema)]
pub(crate) struct Begun {
    success: bool,
    /// The job that does it.
    #[serde(skip_serializing_if = "Option::is_none")]
    job_id: Option<String>,
    message: String,
}

fn begun(job: &Job, message: String) -> Json<Begun> {
    Json(Begun { success: true, job_id: Some(job.id.to_string()), message })
}

pub(crate) fn add(app: &App, asked: &Asked, new: &NewGolden) -> Result<Json<Begun>, Refusal> {
    let request = AddGolden {
        url: new.url.clone(),
        alias: new.alias.clone(),
        branch: new.branch.clone(),
        temporal: new.enable_temporal.unwrap_or(false),
        refresh_every: new.refresh_every.map(|span| span.0),
    };
    let alias = brief(&request.alias).to_string();
    let job = app.team.add_golden(&asked.asker()?, &request)?;
    Ok(begun(&job, format!("`{alias}` is being added")))
}

/// What is to be different about a repository.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Change {
    /// How often it is fetched by itself; null for never.
    #[serde(default, deserialize_with = "present")]
    #[schemars(with = "Option<Span>")]
    refresh_every: Option<Interval>,
    /// Whether its past is kept.
    enable_temporal: Option<bool>,
    /// The branch that counts as its main one; empty for the remote's own choice.
    branch: Option<String>,
}

/// How often something is done by itself; null for never, which is not the same as saying nothing.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Interval(Option<Span>);

fn present<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Interval>, D::Error> {
    Option::<Span>::deserialize(deserializer).map(|span| Some(Interval(span)))
}

pub(crate) fn change(app: &App, asked: &Asked, change: &Change) -> Result<Json<Begun>, Refusal> {
    let change = GoldenChange {
        refresh_every: change.refresh_every.map(|every| every.0.map(|span| span.0)),
        temporal: change.enable_temporal,
        branch: change.branch.clone().map(|branch| Some(branch).filter(|branch| !branch.trim().is_empty())),
    };
    if change == GoldenChange::default() {
        return Err(
            Refusal::invalid("nothing is to change").hint("give `refresh_every`, `enable_temporal` or `branch`")
        );
    }
    let job = app.team.change_golden(&asked.asker()?, asked.name(), &change)?;
    let once = if job.is_some() { " once its job is done" } else { "" };
    let message = format!("`{}` is kept as you said{once}", brief(asked.name()));
    Ok(Json(Begun { success: true, job_id: job.map(|job| job.id.to_string()), message }))
}

pub(crate) fn refresh(app: &App, asked: &Asked, _: &Nothing) -> Result<Json<Begun>, Refusal> {
    let job = app.team.refresh_golden(&asked.asker()?, asked.name())?;
    Ok(begun(&job, format!("`{}` is being refreshed", brief(asked.name()))))
}

/// How a repository is removed.
#[derive(Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct Removal {
    /// Even where users have activated it.
    force: Option<bool>,
}

pub(crate) fn remove(app: &App, asked: &Asked, removal: &Removal) -> Result<Json<Begun>, Refusal> {
    let force = removal.force.unwrap_or(false);
    let (job, concerned) = app.team.remove_golden(&asked.asker()?, asked.name(), force)?;
    Ok(begun(&job, format!("`{}` is being removed{concerned}", brief(asked.name()))))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_read_as_people_write_them() {
        let read = |json: &str| serde_json::from_str::<Span>(json).ok().map(|span| span.0);
        for (json, seconds) in
            [("900", 900), (r#""900""#, 900), (r#""15m""#, 900), (r#""6h""#, 21_600), (r#""1w""#, 604_800)]
        {
            assert_eq!(read(json), Some(seconds), "{json}");
        }
        for bad in ["1.5", "true", r#""""#, r#""m""#, r#""-1m""#, r#""+1m""#, r#""1y""#, r#""99999999999999999d""#] {
            assert_eq!(read(bad), None, "{bad}");
        }
    }

    #[test]
    fn null_is_not_the_same_as_nothing() {
        let read = |json: &str| serde_json::from_str::<Change>(json).unwrap().refresh_every;
        assert_eq!(read("{}"), None);
        assert_eq!(read(r#"{"refresh_every": null}"#), Some(Interval(None)));
        assert_eq!(read(r#"{"refresh_every": "1m"}"#), Some(Interval(Some(Span(60)))));
    }
}

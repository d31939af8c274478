//! `add_golden_repo`: a repository that the server keeps.

use lore_model::{Code, Failure, Permission, brief, parse_interval};
use lore_team::AddGolden;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    Answer, Context, Effect, Errors, Offered, Tool, Toolset,
    repositories::{job, run_waiting},
    schema,
};

pub(super) static TOOL: Tool = Tool {
    name: "add_golden_repo",
    title: "Add a golden repository",
    toolset: Toolset::Admin,
    about: "Add a golden repository to the server: it is cloned and indexed, and everybody can ask it then. Poll the job with `get_job_details`.",
    permission: Permission::ManageGoldenRepos,
    offered: Offered::OnServer,
    effect: Effect::Fetches,
    errors: Errors::Object,
    input: schema::input::<Input>,
    call: |context, args| run_waiting(&TOOL, context, args, add),
};

#[derive(Deserialize, JsonSchema)]
struct Input {
    /// Repository URL (git clone URL)
    url: String,
    /// Repository alias (unique identifier)
    alias: String,
    /// Default branch; left out: the repository's own
    branch: Option<String>,
    /// Keeps former versions too, for temporal queries (default false)
    enable_temporal: Option<bool>,
    /// Fetches it by itself so often, such as `15m`, `6h` or `1d`, or a number of seconds; left out: never
    refresh_every: Option<String>,
}

fn add(context: &Context, input: &Input) -> Result<Answer, Failure> {
    let (team, by) = context.on_server()?;
    let request = AddGolden {
        url: input.url.clone(),
        alias: input.alias.clone(),
        branch: input.branch.clone(),
        temporal: input.enable_temporal.unwrap_or(false),
        refresh_every: input.refresh_every.as_deref().map(interval).transpose()?,
    };
    let alias = request.alias.trim().to_owned();
    let asked = team.add_golden(&by, &request)?;
    Ok(job(&asked, &format!("golden repository `{alias}` is being added")))
}

fn interval(text: &str) -> Result<i64, Failure> {
    parse_interval(text).ok_or_else(|| {
        Failure::new(Code::InvalidArgument, format!("`refresh_every` cannot be `{}`", brief(text)))
            .hint("use a time such as `15m`, `6h` or `1d`, or a number of seconds")
    })
}

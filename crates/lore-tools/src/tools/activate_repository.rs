//! `activate_repository`: a repository or a composite of the caller's own.

use lore_model::{Code, Failure, JobStatus, Permission};
use lore_team::Activate;
use schemars::JsonSchema;
use serde::Deserialize;

use crate::{
    Answer, Context, Effect, Errors, Offered, Tool, Toolset,
    repositories::{job, run_waiting},
    schema,
};

pub(super) static TOOL: Tool = Tool {
    name: "activate_repository",
    title: "Activate a repository",
    toolset: Toolset::Repos,
    about: "Activate a repository for querying (supports single or composite repositories): golden_repo_alias on a branch, or several golden_repo_aliases as one. You ask it under user_alias from then on. Where the branch is indexed already that is done at once; else poll the job with `get_job_details`.",
    permission: Permission::ActivateRepos,
    offered: Offered::OnServer,
    effect: Effect::Fetches,
    errors: Errors::Object,
    input: schema::input::<Input>,
    call: |context, args| run_waiting(&TOOL, context, args, activate),
};

#[derive(Deserialize, JsonSchema)]
struct Input {
    /// Golden repository alias (for single repository activation)
    golden_repo_alias: Option<String>,
    /// Multiple golden repository aliases (for composite repository)
    #[serde(default)]
    #[schemars(extend("default" = null))]
    golden_repo_aliases: Vec<String>,
    /// Branch to activate; left out: the default branch
    branch_name: Option<String>,
    /// User-defined alias for activated repository; left out: the golden alias
    user_alias: Option<String>,
}

fn activate(context: &Context, input: &Input) -> Result<Answer, Failure> {
    let (team, by) = context.on_server()?;
    let one = input.golden_repo_alias.clone().filter(|alias| !alias.trim().is_empty());
    let composite = !input.golden_repo_aliases.is_empty();
    let golden = match (one, composite) {
        (Some(_), true) => {
            return Err(Failure::new(
                Code::InvalidArgument,
                "`golden_repo_alias` and `golden_repo_aliases` cannot be used together",
            )
            .hint("name one repository, or several for a composite"));
        }
        (Some(one), false) => vec![one],
        (None, _) => input.golden_repo_aliases.clone(),
    };
    let request = Activate { golden, composite, branch: input.branch_name.clone(), alias: input.user_alias.clone() };
    let asked = team.activate(&by, &request)?;
    let alias = asked.task.alias.as_ref().map(ToString::to_string).unwrap_or_default();
    let message = match asked.status {
        JobStatus::Completed => format!("`{alias}` is activated"),
        _ => format!("`{alias}` is being activated: its branch has to be indexed first"),
    };
    Ok(job(&asked, &message))
}

//! Every tool, one file each.

mod activate_repository;
mod add_golden_repo;
mod browse_directory;
mod cancel_job;
mod check_health;
mod check_lazygit_messages;
mod co_changed;
mod commitmux_get_commit;
mod commitmux_get_patch;
mod commitmux_list_repos;
mod commitmux_search;
mod commitmux_touches;
mod cortex_search;
mod create_user;
mod deactivate_repository;
mod describe;
mod discover_repositories;
mod execute;
mod explain_lines;
mod find_related;
mod get_all_repositories_status;
mod get_branches;
mod get_file_content;
mod get_job_details;
mod get_job_statistics;
mod get_repository_statistics;
mod get_repository_status;
mod list_files;
mod list_repositories;
mod list_users;
mod manage_composite_repository;
mod refresh_golden_repo;
mod reload;
mod remove_golden_repo;
mod search;
mod search_code;
mod switch_branch;
mod sync_repository;
mod was_tried;

use std::time::{Duration, Instant};

use lore_model::{Cancel, Failure};
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::{Answer, Context, Effect, Tool, arguments, too_long};

/// The registry. The order is the order of `tools/list`.
pub(crate) static ALL: &[&Tool] = &[
    &commitmux_search::TOOL,
    &commitmux_touches::TOOL,
    &commitmux_get_commit::TOOL,
    &commitmux_get_patch::TOOL,
    &commitmux_list_repos::TOOL,
    &cortex_search::TOOL,
    &explain_lines::TOOL,
    &co_changed::TOOL,
    &find_related::TOOL,
    &was_tried::TOOL,
    &check_lazygit_messages::TOOL,
    &search::TOOL,
    &describe::TOOL,
    &execute::TOOL,
    &reload::TOOL,
    &search_code::TOOL,
    &list_files::TOOL,
    &get_file_content::TOOL,
    &browse_directory::TOOL,
    &get_branches::TOOL,
    &check_health::TOOL,
    &discover_repositories::TOOL,
    &list_repositories::TOOL,
    &activate_repository::TOOL,
    &deactivate_repository::TOOL,
    &get_repository_status::TOOL,
    &sync_repository::TOOL,
    &switch_branch::TOOL,
    &manage_composite_repository::TOOL,
    &get_job_details::TOOL,
    &cancel_job::TOOL,
    &add_golden_repo::TOOL,
    &remove_golden_repo::TOOL,
    &refresh_golden_repo::TOOL,
    &list_users::TOOL,
    &create_user::TOOL,
    &get_repository_statistics::TOOL,
    &get_job_statistics::TOOL,
    &get_all_repositories_status::TOOL,
];

/// How long a tool that only reads may take. Clients give up at about the same time.
const QUERY_TIMEOUT: Duration = Duration::from_mins(1);

/// Reads the arguments and runs the tool on them. A query that takes too long is cancelled.
fn run<I: DeserializeOwned>(
    tool: &'static Tool,
    context: &Context,
    args: Map<String, Value>,
    call: fn(&Context, &I) -> Result<Answer, Failure>,
) -> Result<Answer, Failure> {
    let (input, clamped) = arguments::read(tool.name, &(tool.input)(), args)?;
    let caller = Cancel::current();
    let limited =
        if tool.effect == Effect::Reads { caller.until(Instant::now() + QUERY_TIMEOUT) } else { caller.clone() };
    let mut answer = {
        let _entered = limited.enter();
        call(context, &input)
    };
    if answer.is_err() && limited.is_cancelled() && !caller.is_cancelled() {
        answer = Err(too_long(tool.name));
    }
    let mut answer = answer?;
    for clamped in clamped {
        clamped.announce(&mut answer);
    }
    Ok(answer)
}

/// The date as the contract has it: 0 where git prints none.
fn date(seconds: Option<i64>) -> i64 {
    seconds.unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Offered;

    #[test]
    fn tools_that_take_away_or_reach_out_say_so() {
        let with =
            |effect| -> Vec<&str> { ALL.iter().filter(|tool| tool.effect == effect).map(|tool| tool.name).collect() };
        let sorted = |mut names: Vec<&'static str>| {
            names.sort_unstable();
            names
        };
        let removing = ["cancel_job", "deactivate_repository", "manage_composite_repository", "remove_golden_repo"];
        assert_eq!(sorted(with(Effect::Removes)), removing);
        let fetching =
            ["activate_repository", "add_golden_repo", "refresh_golden_repo", "switch_branch", "sync_repository"];
        assert_eq!(sorted(with(Effect::Fetches)), fetching);
        assert_eq!(sorted(with(Effect::Changes)), ["check_lazygit_messages", "create_user"]);
    }

    #[test]
    fn every_tool_is_fit_to_be_listed() {
        for (index, tool) in ALL.iter().enumerate() {
            let name = tool.name;
            assert!(name.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_'), "{name}");
            assert!(ALL[..index].iter().all(|other| other.name != name), "{name} is there twice");
            assert!(!tool.about.is_empty() && !tool.title.is_empty(), "{name}");
            let reads = tool.effect == Effect::Reads;
            assert!(reads || tool.offered == Offered::OnServer || name == "check_lazygit_messages", "{name}");
            let schema = (tool.input)();
            assert_eq!(schema["type"], "object", "{name}");
            for key in ["anyOf", "oneOf", "allOf", "$ref", "$defs", "definitions"] {
                assert!(!schema.contains_key(key), "{name}: {key}");
            }
            for (field, property) in schema["properties"].as_object().unwrap() {
                assert!(property["type"].is_string(), "{name}.{field}: {property}");
                assert!(property["description"].as_str().is_some_and(|text| !text.is_empty()), "{name}.{field}");
                assert!(property["type"] != "array" || property["items"]["type"].is_string(), "{name}.{field}");
                assert!(field != "limit" || property["description"].as_str().unwrap().contains("00"), "{name}.{field}");
            }
        }
    }
}

//! `check_health`: how Lore itself fares.

use lore_core::health::Probe;
use lore_model::{Failure, Permission};
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{
    Answer, Context, Effect, Errors, Offered, Tool, Toolset,
    repositories::{reported, run, time},
    schema,
};

pub(super) static TOOL: Tool = Tool {
    name: "check_health",
    title: "Check Lore's health",
    toolset: Toolset::Code,
    about: "Check system health status: reads the database, the code index with its vectors and Lore's folder, and tells how long each took, with memory, processor and free disk space.",
    permission: Permission::QueryRepos,
    offered: Offered::Everywhere,
    effect: Effect::Reads,
    errors: Errors::Object,
    input: schema::input::<Input>,
    call: |context, args| run(&TOOL, context, args, check),
};

#[derive(Deserialize, JsonSchema)]
struct Input {}

fn check(context: &Context, _: &Input) -> Result<Answer, Failure> {
    // Only a team server has jobs.
    let jobs = match context.team()? {
        Some(_) => {
            let (team, by) = context.on_server()?;
            team.active_jobs(&by)?
        }
        None => 0,
    };
    let health = context.lore.health();
    #[expect(clippy::cast_precision_loss, reason = "two digits are shown")]
    let gigabytes = health.free_bytes.map(|bytes| rounded(bytes as f64 / 1e9));
    Ok(reported(json!({"health": {
        "status": health.status(),
        "timestamp": time(Some(health.at)),
        "services": {
            "database": probe_json(context, &health.database),
            "vector_store": probe_json(context, &health.vector_store),
            "storage": probe_json(context, &health.storage),
        },
        "system": {
            "memory_usage_percent": health.memory_percent.map(rounded),
            "cpu_usage_percent": health.cpu_percent.map(rounded),
            "active_jobs": jobs,
            "disk_free_space_gb": gigabytes,
        },
    }})))
}

fn probe_json(context: &Context, probe: &Probe) -> Value {
    let mut value = json!({
        "status": if probe.error.is_none() { "healthy" } else { "unhealthy" },
        "response_time_ms": rounded(probe.took.as_secs_f64() * 1000.0),
    });
    if let Some(error) = &probe.error {
        value["error_message"] = context.told(error).into();
    }
    value
}

fn rounded(number: f64) -> f64 {
    (number * 100.0).round() / 100.0
}

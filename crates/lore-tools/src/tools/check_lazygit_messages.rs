//! `check_lazygit_messages`: what reviewers said, delivered once.

use lore_model::{Failure, Permission};
use schemars::JsonSchema;
use serde::Deserialize;

use super::run;
use crate::{Answer, Context, Effect, Errors, Offered, Receipt, Tool, Toolset, messages, schema};

pub(super) static TOOL: Tool = Tool {
    name: "check_lazygit_messages",
    title: "Review comments",
    toolset: Toolset::Messages,
    about: "Check for new messages from lazygit",
    // Messages that were given are not given again.
    permission: Permission::QueryRepos,
    offered: Offered::Everywhere,
    effect: Effect::Changes,
    errors: Errors::Result,
    input: schema::input::<Input>,
    call: |context, args| run(&TOOL, context, args, check),
};

#[derive(Deserialize, JsonSchema)]
struct Input {}

fn check(context: &Context, _: &Input) -> Result<Answer, Failure> {
    let folder = context.folder();
    let delivery = context.lore.messages.deliver(&folder)?;
    let mut answer = messages::answer(&delivery.messages, delivery.left, "call check_lazygit_messages again");
    answer.notes(&messages::notes(&delivery.unreadable));
    let claim = delivery.claim;
    answer.receipt(Receipt::new(move || claim.acknowledge()));
    Ok(answer.done())
}

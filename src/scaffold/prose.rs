//! The texts for whoever does the work: one prompt for each action, and the README.

use super::Strategy;
use super::plan::{LoopPlan, MAX_ITERATIONS, PlannedMachine};
use super::skill::SPEC_REVIEW;
use super::words::plain;

/// The instructions for the review that comes before the loop.
pub(super) fn review(plan: &LoopPlan<'_>) -> String {
    format!(
        "# Review the specification\n\n\
         Before anything is done, read what the work of `{name}` will be measured by:\n\n\
         - `system/workflows/{name}/README.md`, which says what it is for, what it yields and how good that has to be;\n\
         - every document that the task or the README refers to.\n\n\
         Then write `spec-review.json` into the task's directory. `status` is `complete` if you could start now,\n\
         else `incomplete`, with what is missing under `open_questions`. List every document that you have read under\n\
         `specs_loaded`, as a path from the root of the repository. Change nothing else.\n",
        name = plan.name
    )
}

/// The instructions for an action.
pub(super) fn action(plan: &LoopPlan<'_>, planned: &PlannedMachine<'_>) -> String {
    let action = planned.action;
    let mut text = format!("# {}\n\n", plain(&action.title));
    text.push_str(&format!(
        "You perform the action `{}` of the workflow `{}`, once. {}\n\n",
        action.name,
        plan.name,
        plain(&plan.skill.description)
    ));
    text.push_str(
        "## Before you begin\n\n\
         Read the documents that `spec-review.json` in the task's directory lists under `specs_loaded`. Your work is\n\
         measured by them.\n\n",
    );
    text.push_str(&bullets(
        "It was chosen because these hold:",
        action.preconditions.iter().map(|one| one.text.as_str()),
    ));
    text.push_str("## What to do\n\n");
    let what = if action.description.is_empty() { &action.title } else { &action.description };
    text.push_str(&format!("{}\n\n", plain(what)));
    text.push_str(&bullets("When you are done:", action.effects.iter().map(String::as_str)));
    text.push_str("## What you report\n\n");
    if planned.writes.is_empty() {
        text.push_str("`summary`: what you did, in a sentence. The state has no field for you to change.\n");
    } else {
        text.push_str(
            "`stateUpdates`: the fields that changed, and only those; a list is given whole, and null takes a field\n\
             out. `summary`: what you did, in a sentence. You may change:\n\n",
        );
        for name in &planned.writes {
            let field = plan.skill.fields.iter().find(|field| field.name() == *name);
            let about = field.map(|field| plain(&field.description)).filter(|about| !about.is_empty());
            text.push_str(
                &about.map_or_else(|| format!("- `{name}`\n"), |about| format!("- `{name}`: {about}\n")),
            );
        }
    }
    text.push_str(
        "\nIf it cannot be done, report `status` as `failed` and say why in `message`. Never edit `state.json`.\n",
    );
    text
}

/// How to use the workflow, and what its work is measured by.
pub(super) fn readme(plan: &LoopPlan<'_>) -> String {
    let LoopPlan { name, skill, .. } = plan;
    let mut text = format!("# {}\n\n{}\n\n", plain(&skill.title), plain(&skill.description));
    text.push_str(&bullets("It is called for by:", skill.triggers.iter().map(String::as_str)));
    text.push_str(&format!(
        "## Use\n\nCommit the workflow first: what a task does is proven by the document as it is committed.\n\n\
         ```console\n$ git add system && git commit -m \"Workflow {name}\"\n$ orch new my-task --workflow {name}\n\
         $ orch run my-task{}\n```\n\n",
        if plan.strategy == Strategy::User { " --interactive" } else { "" }
    ));
    text.push_str(&format!(
        "The loop does not start before `spec-review.json` is there: this page and what it refers to have been read. It ends\n\
         as `completed`; as `failed` when too much was given up, nothing can go on or a limit is reached; or as `user_exit`\n\
         when a person ends it with `orch stop my-task`. One run performs at most {MAX_ITERATIONS} actions.\n\n"
    ));
    text.push_str("## What it yields\n\n");
    text.push_str(&or_nothing(&skill.output, "Whatever its actions say."));
    text.push_str("## How good that has to be\n\n");
    text.push_str(&or_nothing(&skill.quality, "As good as the documents say that the task refers to."));
    text.push_str("## What lies where\n\n");
    let files = [
        (format!("../{name}.md"), "the machine: phases, rules and limits".to_owned()),
        (format!("../../schemas/{name}-state.schema.json"), "what it remembers".to_owned()),
        (format!("../../schemas/{name}-spec-review.schema.json"), "what the review writes".to_owned()),
        (format!("../../agents/{name}-spec-review.md"), format!("instructions of `{SPEC_REVIEW}`")),
    ];
    let prompts = plan.actions.iter().map(|planned| {
        let prompt = super::prompt_name(name, &planned.action.name);
        (format!("../../agents/{prompt}.md"), format!("instructions of `{}`", planned.action.name))
    });
    for (path, what) in files.into_iter().chain(prompts) {
        text.push_str(&format!("- [{what}]({path})\n"));
    }
    text
}

fn or_nothing(lines: &[String], otherwise: &str) -> String {
    if lines.is_empty() { format!("{otherwise}\n\n") } else { bullets("", lines.iter().map(String::as_str)) }
}

fn bullets<'t>(head: &str, items: impl Iterator<Item = &'t str>) -> String {
    let items: String = items.map(|item| format!("- {}\n", plain(item))).collect();
    match (items.is_empty(), head.is_empty()) {
        (true, _) => String::new(),
        (false, true) => format!("{items}\n"),
        (false, false) => format!("{head}\n\n{items}\n"),
    }
}

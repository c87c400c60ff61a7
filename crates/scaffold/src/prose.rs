//! The texts for the agents and people who do the work: one prompt per action, and the README.

use super::Strategy;
use super::plan::{LoopPlan, MAX_ITERATIONS, PlannedMachine};
use super::skill::{SPEC_REVIEW, Skill};
use super::state_schema::specifications;
use super::words::plain;

/// The instructions for the review of the specification.
pub(super) fn review(name: &str, skill: &Skill) -> String {
    let documents = specifications(name, skill);
    let listed = bullets("", documents.iter().map(|path| format!("`{path}`")));
    format!(
        "# Review the specification\n\n\
         First read the documents that the work of `{name}` has to satisfy:\n\n\
         {listed}\
         The first describes its purpose, its output and the required quality. Also read every document that the task or\n\
         one of these refers to.\n\n\
         Then write `spec-review.json` into the task's directory. Set `status` to `complete` if you could start now,\n\
         otherwise to `incomplete`, and list what is missing under `open_questions`: a document above that does not exist,\n\
         with who has to write it, is missing. List the documents above that you read under `specs_loaded`, and others under\n\
         `also_read`, as paths from the root of the repository. Change nothing else.\n"
    )
}

/// The instructions for an action.
pub(super) fn action(plan: &LoopPlan<'_>, planned: &PlannedMachine<'_>) -> String {
    let action = planned.action;
    let mut text = format!("# {}\n\n", plain(&action.title));
    text.push_str(&format!(
        "Perform the action `{}` of the workflow `{}` once. {}\n\n",
        action.name,
        plan.name,
        plain(&plan.skill.description)
    ));
    text.push_str(
        "## Before you begin\n\n\
         Read the documents that `spec-review.json` in the task's directory lists under `specs_loaded` and\n\
         `also_read`. Your work has to satisfy them.\n\n",
    );
    text.push_str(&bullets(
        "The action was chosen because these conditions hold:",
        action.preconditions.iter().map(|one| one.text.as_str()),
    ));
    text.push_str("## What to do\n\n");
    let what = if action.description.is_empty() {
        &action.title
    } else {
        &action.description
    };
    text.push_str(&format!("{}\n\n", plain(what)));
    text.push_str(&bullets(
        "Afterwards:",
        action.effects.iter().map(String::as_str),
    ));
    text.push_str("## What to report\n\n");
    if planned.writes.is_empty() {
        text.push_str(
            "`summary`: what you did, in one sentence. This action may not change the state.\n",
        );
    } else {
        text.push_str(
            "`stateUpdates`: only the fields that changed. Lists are replaced as a whole, and null removes a\n\
             field. `summary`: what you did, in one sentence. You may change:\n\n",
        );
        for name in &planned.writes {
            let field = plan.skill.fields.iter().find(|field| field.name() == *name);
            let about = field
                .map(|field| plain(&field.description))
                .filter(|about| !about.is_empty());
            text.push_str(&about.map_or_else(
                || format!("- `{name}`\n"),
                |about| format!("- `{name}`: {about}\n"),
            ));
        }
    }
    text.push_str(
        "\nIf you cannot do it, report `status` as `failed` and give the reason in `message`. If only a person can decide\n\
         something, report it as `needs_input` with the question in `message`. Never edit `state.json`.\n",
    );
    text
}

/// The README: how to use the workflow, and what its work has to satisfy.
pub(super) fn readme(plan: &LoopPlan<'_>) -> String {
    let LoopPlan { name, skill, .. } = plan;
    let mut text = format!(
        "# {}\n\n{}\n\n",
        plain(&skill.title),
        plain(&skill.description)
    );
    text.push_str(&bullets(
        "Use it for requests such as:",
        skill.triggers.iter().map(String::as_str),
    ));
    text.push_str(&format!(
        "## Use\n\nCommit the workflow first, because the audit checks tasks against the committed document.\n\n\
         ```console\n$ git add system && git commit -m \"Workflow {name}\"\n$ orch new my-task --workflow {name}\n\
         $ orch run my-task{}\n```\n\n",
        if plan.strategy == Strategy::User { " --interactive" } else { "" }
    ));
    text.push_str(&format!(
        "The loop starts when `spec-review.json` shows that this page and the documents it refers to have been read. It ends\n\
         as `completed`; as `failed` if too many actions were given up, no action can run or a limit is reached; or as `user_exit`\n\
         if a person ends it with `orch stop my-task`. One run performs at most {MAX_ITERATIONS} actions.\n\n"
    ));
    text.push_str("## Output\n\n");
    text.push_str(&or_nothing(&skill.output, "See the actions."));
    text.push_str("## Required quality\n\n");
    text.push_str(&or_nothing(
        &skill.quality,
        "As specified by the documents that the task refers to.",
    ));
    text.push_str(&bullets(
        "## Configuration",
        skill.origin.iter().map(String::as_str),
    ));
    text.push_str("## Files\n\n");
    let files = [
        (
            format!("../{name}.md"),
            "the workflow: phases, rules and limits".to_owned(),
        ),
        (
            format!("../../schemas/{name}-state.schema.json"),
            "the schema of the state".to_owned(),
        ),
        (
            format!("../../schemas/{name}-spec-review.schema.json"),
            "the schema of the review".to_owned(),
        ),
        (
            format!("../../agents/{name}-spec-review.md"),
            format!("instructions of `{SPEC_REVIEW}`"),
        ),
    ];
    let prompts = plan.actions.iter().map(|planned| {
        let prompt = super::prompt_name(name, &planned.action.name);
        (
            format!("../../agents/{prompt}.md"),
            format!("instructions of `{}`", planned.action.name),
        )
    });
    for (path, what) in files.into_iter().chain(prompts) {
        text.push_str(&format!("- [{what}]({path})\n"));
    }
    text
}

fn or_nothing(lines: &[String], otherwise: &str) -> String {
    if lines.is_empty() {
        format!("{otherwise}\n\n")
    } else {
        bullets("", lines.iter().map(String::as_str))
    }
}

fn bullets(head: &str, items: impl Iterator<Item: AsRef<str>>) -> String {
    let items: String = items
        .map(|item| format!("- {}\n", plain(item.as_ref())))
        .collect();
    match (items.is_empty(), head.is_empty()) {
        (true, _) => String::new(),
        (false, true) => format!("{items}\n"),
        (false, false) => format!("{head}\n\n{items}\n"),
    }
}

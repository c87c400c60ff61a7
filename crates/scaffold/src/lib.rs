//! Makes workflows: from a `skill-config.json` a document, schemas, prompts and a README; or from a plain pattern.
//!
//! Nothing here reads or writes a file, and expressions of a configuration are never evaluated: each is
//! parsed and translated to CEL, or rejected.

mod chain;
mod config;
mod document;
mod expression;
mod fault;
mod field;
mod pattern;
mod piece;
mod plan;
mod prose;
mod reader;
mod skill;
mod state_fields;
mod state_schema;
mod token;
mod translate;
mod words;

pub use config::{missing_specs, read};
pub use fault::{SkillFault, SkillRefused};
pub use field::Field;
pub use pattern::WorkflowPattern;
pub use skill::{Condition, Skill, SkillAction, SkillPhase};

use orch_base::{Code, Diagnostic, words};
use orch_core::workflow::{Document, System, check, compile, format};
use plan::LoopPlan;

words! {
    /// How the next action is chosen.
    #[derive(Default)]
    pub enum Strategy {
        /// The first action that can run, in order of priority; it repeats only if it can stop itself.
        #[default]
        Priority = "priority",
        /// A person picks the action.
        User = "user",
        /// The state decides; an action repeats while its preconditions hold.
        State = "state",
    }
}

/// The files of a generated workflow: paths relative to `system/`, and texts.
pub type GeneratedFiles = Vec<(String, String)>;

/// Generates a workflow from a skill and returns its files with warnings. Returns all faults if one of them
/// is an error.
///
/// The result has passed the same check as `orch workflow check`.
pub fn scaffold(
    name: &str,
    skill: &Skill,
    strategy: Strategy,
) -> Result<(GeneratedFiles, Vec<SkillFault>), Vec<SkillFault>> {
    if !skill.phases.is_empty() {
        return chain::chain(name, skill).map(|files| (files, Vec::new()));
    }
    let mut faults = Vec::new();
    let mut skill = plan::with_nullable(plan::with_implied(skill.clone(), &mut faults));
    let has_last = skill
        .actions
        .iter()
        .any(|action| action.name == plan::COMPLETE);
    if strategy == Strategy::User && !has_last {
        skill.actions.push(last_action());
    }
    let plan = plan::plan(name, &skill, strategy, &mut faults);
    if faults.iter().any(|fault| fault.diagnostic.is_error()) {
        return Err(faults);
    }
    let mut files = vec![
        (
            format!("schemas/{name}-state.schema.json"),
            state_schema::state(&plan),
        ),
        (
            format!("schemas/{name}-spec-review.schema.json"),
            state_schema::review(name, &skill),
        ),
        (
            format!("agents/{name}-spec-review.md"),
            prose::review(name, &skill),
        ),
        (format!("workflows/{name}/README.md"), prose::readme(&plan)),
    ];
    for planned in &plan.actions {
        let prompt = prompt_name(name, &planned.action.name);
        files.push((format!("agents/{prompt}.md"), prose::action(&plan, planned)));
    }
    let text = drawn(&plan, document::document(&plan), &files)?;
    files.push((format!("workflows/{name}.md"), text));
    files.sort();
    Ok((files, faults))
}

/// The name of an action's prompt: the stem of a file in `system/agents`.
fn prompt_name(workflow: &str, action: &str) -> String {
    format!(
        "{workflow}-{}",
        action.replace('_', "-").trim_end_matches('-')
    )
}

/// If a person picks the actions, this last action marks the task as done.
fn last_action() -> SkillAction {
    SkillAction {
        pointer: "/autonomous_config/actions".to_owned(),
        id: plan::COMPLETE.to_owned(),
        name: plan::COMPLETE.to_owned(),
        title: "Finish".to_owned(),
        description: "Compare the result with the request and summarize it.".to_owned(),
        preconditions: Vec::new(),
        effects: Vec::new(),
        priority: i64::MIN,
    }
}

/// The document with its diagram. Returns the findings of the workflow check as faults.
fn drawn(
    plan: &LoopPlan<'_>,
    mut text: String,
    files: &GeneratedFiles,
) -> Result<String, Vec<SkillFault>> {
    loop {
        let (drawn, problems) = checked(plan.name, text, files);
        let shorter = match (&drawn, problems.first()) {
            (Some(drawn), None) => return Ok(drawn.clone()),
            // A rule that is always generated, but that a condition of the configuration makes superfluous.
            (Some(drawn), Some(problem)) => covered(problem)
                .filter(|(late, _)| plan.source(late).is_none())
                .and_then(|(late, _)| document::without(drawn, late)),
            (None, _) => None,
        };
        match shorter {
            Some(shorter) => text = shorter,
            None => {
                return Err(problems
                    .into_iter()
                    .map(|problem| traced(plan, problem))
                    .collect());
            }
        }
    }
}

/// The document of the workflow with its diagram, if it compiles, and the findings of the workflow check.
fn checked(
    name: &str,
    text: String,
    files: &[(String, String)],
) -> (Option<String>, Vec<Diagnostic>) {
    let system = files.iter().fold(System::empty(), |system, (path, text)| {
        system.with(path, text)
    });
    let document = Document::new(name, format!("system/workflows/{name}.md"), text);
    let (workflow, mut problems) = compile(&document, &system);
    let drawn = workflow.map(|workflow| {
        let drawn = Document::new(name, &document.path, format(&document, &workflow));
        problems.extend(check(&drawn, &workflow));
        drawn.text
    });
    (drawn, problems)
}

/// The ids of the rule that never fires and of the one that always precedes it, taken from the finding.
fn covered(problem: &Diagnostic) -> Option<(&str, &str)> {
    let mut named = problem.message.split('`').skip(1).step_by(2);
    let rules = named.next().zip(named.next());
    rules.filter(|_| problem.code == Code::WorkflowCoveredRule)
}

/// Maps a finding about a rule to the part of the configuration that the rule came from, because the document
/// does not exist yet.
fn traced(plan: &LoopPlan<'_>, problem: Diagnostic) -> SkillFault {
    let sources = covered(&problem).and_then(|(late, early)| Some((plan.source(late)?, early)));
    match sources {
        Some(((pointer, late), early)) => {
            let early = plan.source(early).map_or(early, |(_, early)| early);
            let message = format!("`{late}` never runs: `{early}` always comes first");
            let fault = SkillFault::error(pointer, Code::SkillExpression, message);
            fault.hint("put the narrower one first, or remove one")
        }
        None => SkillFault {
            pointer: String::new(),
            span: None,
            diagnostic: problem,
        },
    }
}

//! New workflows from a `skill-config.json`: a document, its schemas, its prompts and a README.
//!
//! Nothing here is read from a file or written to one, and no expression of a configuration is ever
//! evaluated: it is parsed, translated to CEL or refused.

mod document;
mod expression;
mod fault;
mod field;
mod piece;
mod plan;
mod prose;
mod skill;
mod state_schema;
mod token;
mod translate;
mod words;

pub use fault::{SkillFault, SkillRefused};
pub use field::Field;
pub use skill::{Condition, Skill, SkillAction, read};

use crate::base::{Code, Diagnostic};
use crate::workflow::{Document, System, check, compile, format};
use plan::LoopPlan;

/// By what the next action is chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Strategy {
    /// The first that can run, in order of priority, each once.
    #[default]
    Priority,
    /// A person picks.
    User,
    /// The state decides; an action runs as long as it asks for it.
    State,
}

impl Strategy {
    /// Every strategy.
    pub const ALL: [Self; 3] = [Self::Priority, Self::User, Self::State];

    /// The strategy as people write it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Priority => "priority",
            Self::User => "user",
            Self::State => "state",
        }
    }

    /// The strategy with this name.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|strategy| strategy.as_str() == name)
    }
}

/// The files of a new workflow: paths below `system/`, and their texts.
pub type GeneratedFiles = Vec<(String, String)>;

/// Makes a workflow of a skill, with warnings, or says everything that stands in the way.
///
/// What comes out has passed the check that `orch workflow check` makes.
pub fn scaffold(
    name: &str,
    skill: &Skill,
    strategy: Strategy,
) -> Result<(GeneratedFiles, Vec<SkillFault>), Vec<SkillFault>> {
    let mut skill = plan::with_nullable(skill.clone());
    let has_last = skill.actions.iter().any(|action| action.name == plan::COMPLETE);
    if strategy == Strategy::User && !has_last {
        skill.actions.push(last_action());
    }
    let mut faults = Vec::new();
    let plan = plan::plan(name, &skill, strategy, &mut faults);
    if faults.iter().any(|fault| fault.diagnostic.is_error()) {
        return Err(faults);
    }
    let mut files = vec![
        (format!("schemas/{name}-state.schema.json"), state_schema::state(&plan)),
        (format!("schemas/{name}-spec-review.schema.json"), state_schema::review(&plan)),
        (format!("agents/{name}-spec-review.md"), prose::review(&plan)),
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

/// The instructions of an action: the stem of a file below `system/agents`.
fn prompt_name(workflow: &str, action: &str) -> String {
    format!("{workflow}-{}", action.replace('_', "-").trim_end_matches('-'))
}

/// Where a person picks, a person also says that it is done.
fn last_action() -> SkillAction {
    SkillAction {
        pointer: "/autonomous_config/actions".to_owned(),
        id: plan::COMPLETE.to_owned(),
        name: plan::COMPLETE.to_owned(),
        title: "Finish".to_owned(),
        description: "Look once more at what was asked for and at what is there, and sum it up.".to_owned(),
        preconditions: Vec::new(),
        effects: Vec::new(),
        priority: i64::MIN,
    }
}

/// The document with its diagram; what the check finds in it stands in the way.
fn drawn(plan: &LoopPlan<'_>, mut text: String, files: &GeneratedFiles) -> Result<String, Vec<SkillFault>> {
    let name = plan.name;
    let path = format!("system/workflows/{name}.md");
    let system = files.iter().fold(System::empty(), |system, (path, text)| system.with(path, text));
    loop {
        let document = Document::new(name, &path, text);
        let (workflow, mut problems) = compile(&document, &system);
        let Some(workflow) = workflow else {
            return Err(problems.into_iter().map(|problem| traced(plan, problem)).collect());
        };
        let document = Document::new(name, &path, format(&document, &workflow));
        problems.extend(check(&document, &workflow));
        let Some(problem) = problems.first() else { return Ok(document.text) };
        // A rule that is always added, where a condition of the configuration makes it needless.
        let needless = covered(problem).filter(|(late, _)| plan.source(late).is_none());
        match needless.and_then(|(late, _)| document::without(&document.text, late)) {
            Some(shorter) => text = shorter,
            None => return Err(problems.into_iter().map(|problem| traced(plan, problem)).collect()),
        }
    }
}

/// The rule that never fires, by what the check says, and the one that always comes first.
fn covered(problem: &Diagnostic) -> Option<(&str, &str)> {
    let mut named = problem.message.split('`').skip(1).step_by(2);
    let rules = named.next().zip(named.next());
    rules.filter(|_| problem.code == Code::WorkflowCoveredRule)
}

/// What the check says of a rule, said of what the rule was made of: the document is not written yet.
fn traced(plan: &LoopPlan<'_>, problem: Diagnostic) -> SkillFault {
    let sources = covered(&problem).and_then(|(late, early)| Some((plan.source(late)?, early)));
    match sources {
        Some(((pointer, late), early)) => {
            let early = plan.source(early).map_or(early, |(_, early)| early);
            let message = format!("`{late}` never has its turn: `{early}` always comes first");
            let fault = SkillFault::error(pointer, Code::SkillExpression, message);
            fault.hint("put the narrower one first, or leave one out")
        }
        None => SkillFault { pointer: String::new(), span: None, diagnostic: problem },
    }
}

//! Which tasks two versions of a workflow decide differently.

use super::tasks::{answers_of_each, named_or_all};
use crate::survey::{Error, Sight, TaskRef, VersionPair, Workspace, names_of};
use orch_base::{Diagnostic, RuleId};
use orch_core::decide::{Decision, Verdict};
use orch_core::workflow::{Outcome, Workflow};

/// A task that two versions of its workflow decide differently.
pub struct OtherwiseDecided {
    /// The task.
    pub task: TaskRef,
    /// What the former version decides.
    pub former: SaidOfTask,
    /// What the present one decides.
    pub now: SaidOfTask,
}

/// What a version of a workflow says of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SaidOfTask {
    /// The name of the workflow that decides.
    workflow: String,
    /// The phase of the task; `None` if there is none of this name.
    pub phase: Option<String>,
    /// The rule that decides.
    pub rule: Option<RuleId>,
    /// What follows, in words.
    pub outcome: String,
}

/// The tasks that two workspaces, which differ in the versions of one workflow alone, decide differently, in order; and what
/// cannot be read. Returns an error if the tasks cannot be listed.
pub fn decided_otherwise(
    former: &Workspace,
    now: &Workspace,
    pair: &VersionPair,
) -> Result<(Vec<OtherwiseDecided>, Vec<Diagnostic>), Error> {
    let names = names_of(pair, now.settings());
    let (tasks, mut problems) = named_or_all(now, &[])?;
    let said_by = |workspace: &Workspace| {
        let said = |_: &_, sight: &Sight| SaidOfTask::of(sight);
        answers_of_each(workspace, &tasks, said, SaidOfTask::failed)
    };
    let (of_former, _) = said_by(former);
    let (of_now, unread) = said_by(now);
    problems.extend(unread);
    let present = pair.now().and_then(|now| now.loaded.workflow());
    let both = of_former.into_iter().zip(of_now);
    let all = tasks
        .iter()
        .zip(both)
        .map(|(task, (former, now))| OtherwiseDecided {
            task: task.clone(),
            former,
            now,
        });
    let differ = all.filter(|one| {
        let follows = |said: &SaidOfTask| names.contains(&said.workflow);
        let is_meant = follows(&one.former) || follows(&one.now);
        is_meant && one.former.under_names_of(present) != one.now.under_names_of(present)
    });
    Ok((differ.collect(), problems))
}

impl SaidOfTask {
    fn of(sight: &Sight) -> Self {
        let decision = &sight.decision;
        Self {
            workflow: sight.workflow().name.to_string(),
            phase: decision.phase.as_ref().map(ToString::to_string),
            rule: decision.rule.clone(),
            outcome: words(decision),
        }
    }

    fn failed(task: &TaskRef, error: &Error) -> Self {
        Self {
            workflow: task.workflow.to_string(),
            phase: None,
            rule: None,
            outcome: format!("{}: {}", error.code().as_str(), error.message()),
        }
    }

    /// What is compared: the phase and what follows, with the names that phases have now.
    fn under_names_of(&self, now: Option<&Workflow>) -> (Option<String>, String) {
        let own = |name: &str| {
            let phase = now.and_then(|now| now.phase_named(name));
            phase.map_or_else(|| name.to_owned(), |phase| phase.id.to_string())
        };
        let outcome = match self.outcome.strip_prefix("to ") {
            Some(to) => format!("to {}", own(to)),
            None => self.outcome.clone(),
        };
        (self.phase.as_deref().map(own), outcome)
    }
}

fn words(decision: &Decision) -> String {
    match &decision.verdict {
        Verdict::Transition(due) => format!("to {}", due.to),
        Verdict::Run(action) => format!("run {action}"),
        Verdict::Wait { what, .. } if decision.rule.is_some() => format!("wait for {what}"),
        Verdict::Wait { .. } => "no rule fires".to_owned(),
        Verdict::Choose(actions) => Outcome::Choose(actions.clone()).words(),
        Verdict::Handover { held, .. } => format!("a person decides about {}", held.to),
        Verdict::Done { .. } => "done".to_owned(),
        Verdict::Inconsistent { broken, .. } => {
            let broken = broken.iter().map(|need| need.artifact.as_str());
            let broken: Vec<&str> = broken.collect();
            format!("needs {}", broken.join(", "))
        }
        Verdict::Error { code } => format!("{}: {}", code.as_str(), decision.reason),
        Verdict::Livelock { .. } => "livelock".to_owned(),
    }
}

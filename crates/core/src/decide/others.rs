//! Other tasks, as a decision sees them: only through the relations of its own.

use super::evaluation::{Evaluation, choice};
use super::{
    Decision, HistoryEntry, Kind, OtherTask, RelationFault, Stamp, State, Transition, Verdict,
};
use crate::workflow::{Owner, Workflow};
use orch_base::{ArtifactName, Code, Diagnostic, Hint, TaskId};
use serde_json::{Value, json};

/// What was observed of the tasks to which a task is related.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct OtherTasks {
    /// Those that it waits for and its parts, as far as they could be read.
    pub seen: Vec<OtherTask>,
    /// What is wrong with the relations of the task. In the facts of a recorded step, nothing.
    pub fault: Option<RelationFault>,
    /// Those that nobody will finish as they stand: they ended otherwise than well, or are in the archive.
    pub given_up: Vec<TaskId>,
}

impl OtherTasks {
    /// Those that a recorded step says that it saw.
    pub(super) fn of(entry: &HistoryEntry) -> Self {
        Self {
            seen: entry.others.clone(),
            ..Self::default()
        }
    }

    /// A task that another one names in `after`; `None` if it could not be read.
    fn awaited(&self, id: &TaskId) -> Option<&OtherTask> {
        self.seen
            .iter()
            .find(|other| other.id == *id && !other.part)
    }

    /// Those of `after` that are not done.
    fn open(&self, state: &State) -> Vec<TaskId> {
        let after = state.relations.after.iter();
        let open = after.filter(|id| self.awaited(id).is_none_or(|other| !other.done));
        open.cloned().collect()
    }

    /// What guards see as `after`. A task that could not be read is in no phase.
    pub(super) fn after(&self, state: &State) -> Value {
        let after = state.relations.after.iter();
        let values = after.map(|id| match self.awaited(id) {
            Some(other) => value(other),
            None => {
                json!({"id": id.as_str(), "phase": "", "done": false, "failed": false, "workflow": ""})
            }
        });
        values.collect()
    }

    /// What guards see as `children`.
    pub(super) fn children(&self) -> Value {
        let parts = self.seen.iter().filter(|other| other.part);
        parts.map(value).collect()
    }

    /// Those of them that a step records, because it may rest on them.
    pub(super) fn recorded(
        &self,
        workflow: &Workflow,
        state: &State,
        transition: &Transition,
        stamp: &Stamp,
    ) -> Vec<OtherTask> {
        if !stamp.others.is_empty() || !rests_on_rules(transition.kind) {
            return stamp.others.clone();
        }
        let is_first = transition.from.as_ref() == Some(&workflow.initial);
        let counts = |other: &OtherTask| {
            if other.part {
                workflow.reads_children()
            } else {
                let is_named = state.relations.after.contains(&other.id);
                is_named && (is_first || workflow.reads_after())
            }
        };
        self.seen
            .iter()
            .filter(|other| counts(other))
            .cloned()
            .collect()
    }
}

/// Whether a step of this kind is one that guards decide, or that computes values of the workflow.
fn rests_on_rules(kind: Kind) -> bool {
    kind.looks_at_files() && !matches!(kind, Kind::Create | Kind::Merge)
}

fn value(other: &OtherTask) -> Value {
    json!({
        "id": other.id.as_str(),
        "phase": other.phase.as_str(),
        "done": other.done,
        "failed": other.failed,
        "workflow": other.workflow.as_str(),
    })
}

/// What the relations of a task keep it from.
#[derive(Clone, Copy)]
pub(super) struct RelationHold<'a> {
    evaluation: &'a Evaluation<'a>,
}

impl<'a> RelationHold<'a> {
    pub(super) fn of(evaluation: &'a Evaluation<'a>) -> Self {
        Self { evaluation }
    }

    /// Whether somebody has begun with the task: it has left its first phase, or an output of that is there. The file that
    /// is the task is no sign of it.
    fn is_begun(self) -> bool {
        if self.evaluation.phase.id != self.evaluation.workflow.initial {
            return true;
        }
        let place = &self.evaluation.facts.place;
        let is_there = |name: &ArtifactName| {
            let seen = self.evaluation.seen_of(name);
            seen.is_some_and(|seen| {
                let mut files = seen.derived.files.iter();
                seen.derived.present && files.any(|file| !place.is_own_file(&file.path))
            })
        };
        self.evaluation.phase.produces.iter().any(is_there)
    }

    /// Those for which the task waits before it begins.
    fn blocked_by(self) -> Vec<TaskId> {
        if self.is_begun() {
            Vec::new()
        } else {
            self.evaluation.facts.others.open(self.evaluation.state)
        }
    }

    /// Whether they keep the task where it is.
    pub(super) fn holds(self) -> bool {
        self.evaluation.facts.others.fault.is_some() || !self.blocked_by().is_empty()
    }

    /// Makes the decision that they keep the task where it is, if they do.
    pub(super) fn hold(self, decision: &mut Decision) -> bool {
        let others = &self.evaluation.facts.others;
        if let Some(fault) = &others.fault {
            self.hold_by_fault(fault, decision);
            return true;
        }
        let open = self.blocked_by();
        if open.is_empty() {
            return false;
        }
        let words: Vec<String> = open.iter().map(|id| self.in_words(id)).collect();
        decision.reason = format!("waits for {}", words.join(", "));
        let given_up: Vec<&TaskId> = open
            .iter()
            .filter(|id| others.given_up.contains(id))
            .collect();
        let owner = if given_up.is_empty() {
            Owner::None
        } else {
            Owner::Human
        };
        for id in given_up {
            let effect = format!("no longer wait for {id}");
            decision.options.push(self.not_after(id, effect));
        }
        let ids: Vec<String> = open.iter().map(ToString::to_string).collect();
        decision.verdict = Verdict::Wait {
            what: ids.join(", "),
            owner,
        };
        decision.blocked_by = open;
        true
    }

    fn in_words(self, id: &TaskId) -> String {
        match self.evaluation.facts.others.awaited(id) {
            Some(other) => format!("`{id}`, which is in `{}`", other.phase),
            None => format!("`{id}`"),
        }
    }

    /// The decision about a task whose relations cannot be followed, with the commands that end that.
    fn hold_by_fault(self, fault: &RelationFault, decision: &mut Decision) {
        let relations = &self.evaluation.state.relations;
        match fault {
            RelationFault::Unknown(ids) => {
                for id in ids {
                    if relations.after.contains(id) {
                        let effect = format!("no longer wait for {id}");
                        decision.options.push(self.not_after(id, effect));
                    } else {
                        let effect = format!("no longer be part of {id}");
                        decision.options.push(self.no_parent(effect));
                    }
                }
            }
            RelationFault::Waits(path) => {
                let next = path.get(1).filter(|next| relations.after.contains(*next));
                match next {
                    Some(next) => {
                        let effect = format!("no longer wait for {next}");
                        decision.options.push(self.not_after(next, effect));
                    }
                    None => {
                        let part = path.get(1).map_or("", TaskId::as_str);
                        let argv = ["orch", "relate", part, "--no-parent"];
                        let effect = format!("take {part} out of {}", self.evaluation.facts.task);
                        decision
                            .options
                            .push(choice("relate", argv, Owner::Human, effect));
                    }
                }
            }
            RelationFault::Parts(_) => {
                decision
                    .options
                    .push(self.no_parent("be part of no other task".to_owned()));
            }
        }
        let mut hint = Hint::default();
        if let Some(option) = decision.options.first() {
            let argv: Vec<&str> = option.argv.iter().map(String::as_str).collect();
            hint = hint.command(&argv);
        }
        decision.reason = fault.to_string();
        let place = self.evaluation.facts.place.place_of("state.json");
        let finding = Diagnostic::error(fault.code(), fault.to_string()).at(place);
        decision.diagnostics.push(finding.hint(hint));
        let what = match fault {
            RelationFault::Unknown(_) => "relations to tasks that exist",
            RelationFault::Waits(_) | RelationFault::Parts(_) => "relations without a cycle",
        };
        decision.verdict = Verdict::Wait {
            what: what.to_owned(),
            owner: Owner::Human,
        };
    }

    fn not_after(self, other: &TaskId, effect: String) -> super::Choice {
        let task = self.evaluation.facts.task.as_str();
        let argv = ["orch", "relate", task, "--not-after", other.as_str()];
        choice("relate", argv, Owner::Human, effect)
    }

    fn no_parent(self, effect: String) -> super::Choice {
        let argv = [
            "orch",
            "relate",
            self.evaluation.facts.task.as_str(),
            "--no-parent",
        ];
        choice("relate", argv, Owner::Human, effect)
    }
}

impl RelationFault {
    /// The code of the finding about it.
    #[must_use]
    pub fn code(&self) -> Code {
        match self {
            Self::Unknown(_) => Code::RelationUnknown,
            Self::Waits(_) | Self::Parts(_) => Code::RelationCycle,
        }
    }
}

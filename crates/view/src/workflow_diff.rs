//! What two versions of a workflow decide differently: `orch workflow diff`.

use super::layout::{counted, one_line, paragraph};
use super::{Paint, Style};
use orch_core::workflow::{
    DocumentVersion, Outcome, Rule, TableChange, TableChangeKind, changes, differences,
};
use serde::Serialize;

/// Versions of workflows, compared in pairs.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct WorkflowDiffs {
    /// The pairs; of all workflows of two revisions, those that are not the same machine.
    pub workflows: Vec<WorkflowDiff>,
}

super::json::documents! { WorkflowDiffs = "workflow-diff" }

/// Two versions of a workflow.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct WorkflowDiff {
    /// The name of the workflow, as the present version has it.
    pub workflow: String,
    /// Where the former version is; null if there is none.
    pub former: Option<String>,
    /// Where the present version is; null if there is none.
    pub now: Option<String>,
    /// Whether both are the same machine: they differ in prose and layout at most.
    pub same: bool,
    /// The tables of the document that have changed.
    pub changes: Vec<TableChangeLine>,
    /// The decisions that differ, each with a case.
    pub decisions: Vec<DecisionDiff>,
    /// How many questions about decisions were given up, because they take too long.
    pub given_up: usize,
    /// The live tasks of the work tree that both versions decide differently as they are now.
    pub tasks: Vec<TaskDiff>,
}

/// A table of a document that has changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TableChangeLine {
    /// What the table is, for example `phase`, `rule` or `limits`.
    pub section: String,
    /// Its present name, or the last one that it had; empty where there is only one such table.
    pub name: String,
    /// What has become of it.
    #[cfg_attr(test, schemars(extend("enum" = ["added", "removed", "renamed", "moved", "changed"])))]
    pub change: &'static str,
    /// Its former name if it was renamed, the phase in which tasks go on if it moved; otherwise null.
    pub other: Option<String>,
    /// The keys whose values differ.
    pub keys: Vec<String>,
}

/// A case that two versions decide differently.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DecisionDiff {
    /// The phase, as the present version names it.
    pub phase: String,
    /// Values with which it is so, as expressions or in words. What does not matter is left out.
    pub case: Vec<String>,
    /// What the former version decides.
    pub former: SaidDecision,
    /// What the present version decides.
    pub now: SaidDecision,
}

/// A task that two versions decide differently.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TaskDiff {
    /// The id of the task.
    pub task: String,
    /// The phase in which the former version has it; null if it does not have that phase.
    pub phase: Option<String>,
    /// What the former version decides.
    pub former: SaidDecision,
    /// What the present version decides.
    pub now: SaidDecision,
}

/// What a version decides.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SaidDecision {
    /// The rule that decides; null if none does.
    pub rule: Option<String>,
    /// What follows, in words.
    pub outcome: String,
}

impl SaidDecision {
    fn of(rule: Option<&Rule>) -> Self {
        let Some(rule) = rule else {
            return Self {
                rule: None,
                outcome: "no rule fires".to_owned(),
            };
        };
        let mut outcome = rule.outcome.words();
        if rule.by_human && matches!(rule.outcome, Outcome::To(_)) {
            outcome.push_str(" if a person says so");
        }
        Self {
            rule: Some(rule.id.to_string()),
            outcome,
        }
    }

    fn text(&self) -> String {
        match &self.rule {
            Some(rule) => format!("{rule}: {}", self.outcome),
            None => self.outcome.clone(),
        }
    }
}

impl WorkflowDiff {
    /// Two versions compared, without the tasks that they meet.
    #[must_use]
    pub fn of(former: DocumentVersion<'_>, now: DocumentVersion<'_>) -> Self {
        let differences = differences(former.workflow, now.workflow);
        let decisions = differences.found.iter().map(|one| DecisionDiff {
            phase: one.phase.to_string(),
            case: one.case.0.clone(),
            former: SaidDecision::of(one.former),
            now: SaidDecision::of(one.now),
        });
        Self {
            workflow: now.workflow.name.to_string(),
            former: Some(former.workflow.path.clone()),
            now: Some(now.workflow.path.clone()),
            same: former.workflow.digest == now.workflow.digest,
            changes: changes(former, now).into_iter().map(line).collect(),
            decisions: decisions.collect(),
            given_up: differences.given_up,
            tasks: Vec::new(),
        }
    }

    /// A workflow that only one version has.
    #[must_use]
    pub fn of_one(workflow: &str, former: Option<String>, now: Option<String>) -> Self {
        let kind = match now {
            Some(_) => TableChangeKind::Added,
            None => TableChangeKind::Removed,
        };
        let change = TableChange {
            section: "document".to_owned(),
            name: workflow.to_owned(),
            kind,
            other: None,
            keys: Vec::new(),
        };
        Self {
            workflow: workflow.to_owned(),
            former,
            now,
            same: false,
            changes: vec![line(change)],
            decisions: Vec::new(),
            given_up: 0,
            tasks: Vec::new(),
        }
    }

    fn text(&self, paint: Paint, width: usize) -> String {
        let name = |place: &Option<String>| place.as_deref().unwrap_or("nothing").to_owned();
        let head = format!("{} -> {}", name(&self.former), name(&self.now));
        let mut out = format!("{}\n", paint.paint(Style::Strong, &one_line(&head)));
        if self.same {
            out.push_str("  the same machine\n");
            return out;
        }
        for change in &self.changes {
            paragraph(&mut out, &change.text(), 2, 4, width);
        }
        for decision in &self.decisions {
            let case = match decision.case.as_slice() {
                [] => "always".to_owned(),
                case => format!("if {}", case.join(", ")),
            };
            let head = format!("in {}, {case}", decision.phase);
            both(&mut out, &head, &decision.former, &decision.now, width);
        }
        for task in &self.tasks {
            let phase = task.phase.as_deref().unwrap_or("no phase of it");
            let head = format!("task {} in {phase}", task.task);
            both(&mut out, &head, &task.former, &task.now, width);
        }
        if self.given_up > 0 {
            let given_up = format!(
                "{} about decisions would take too long, so there may be more",
                counted(self.given_up, "question")
            );
            paragraph(&mut out, &given_up, 2, 4, width);
        }
        out
    }
}

fn both(out: &mut String, head: &str, former: &SaidDecision, now: &SaidDecision, width: usize) {
    paragraph(out, &one_line(head), 2, 4, width);
    paragraph(
        out,
        &format!("was {}", one_line(&former.text())),
        4,
        8,
        width,
    );
    paragraph(out, &format!("now {}", one_line(&now.text())), 4, 8, width);
}

fn line(change: TableChange) -> TableChangeLine {
    TableChangeLine {
        section: change.section,
        name: change.name,
        change: change.kind.as_str(),
        other: change.other,
        keys: change.keys,
    }
}

impl TableChangeLine {
    fn text(&self) -> String {
        let name = match self.name.as_str() {
            "" => self.section.clone(),
            name => format!("{} {name}", self.section),
        };
        let other = self.other.as_deref().unwrap_or_default();
        let what = match self.change {
            "renamed" => format!("renamed, was {other}"),
            "moved" => format!("removed, its tasks go on in {other}"),
            change => change.to_owned(),
        };
        let keys = match self.keys.as_slice() {
            [] => String::new(),
            keys => format!(": {}", keys.join(", ")),
        };
        one_line(&format!("{name} {what}{keys}"))
    }
}

impl WorkflowDiffs {
    /// The pairs as text.
    #[must_use]
    pub fn text(&self, paint: Paint, width: usize) -> String {
        let pairs = self.workflows.iter();
        let pairs: Vec<String> = pairs.map(|pair| pair.text(paint, width)).collect();
        pairs.join("\n")
    }

    /// Whether there is nothing but the same machines.
    #[must_use]
    pub fn is_same(&self) -> bool {
        self.workflows.iter().all(|pair| pair.same)
    }
}

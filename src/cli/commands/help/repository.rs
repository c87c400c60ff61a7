//! What a word means in the workflows of this repository: a workflow, a phase, a rule or an artifact.

use orch_base::command;
use orch_core::workflow::{Artifact, Outcome, Phase, Rule, Workflow};
use orch_engine::survey::Workspace;
use std::fmt::Display;

/// What names something in the workflows of a repository.
pub(super) struct WorkflowWords<'w> {
    pub workspace: &'w Workspace,
}

impl WorkflowWords<'_> {
    /// What a word means in each workflow; nothing if no workflow knows it. A workflow that cannot be used is left out.
    pub(super) fn meanings(&self, word: &str) -> Vec<String> {
        let mut meanings = Vec::new();
        self.each(|workflow| {
            if workflow.is_named(word) {
                meanings.push(of_workflow(workflow));
            }
            if let Some(phase) = workflow.phase_named(word) {
                meanings.push(of_phase(workflow, phase));
            }
            if let Some(rule) = workflow.rules.iter().find(|rule| rule.id.as_str() == word) {
                meanings.push(of_rule(workflow, rule));
            }
            if let Some(artifact) = workflow.artifact_named(word) {
                meanings.push(of_artifact(workflow, artifact));
            }
        });
        meanings
    }

    /// All names.
    pub(super) fn all(&self) -> Vec<String> {
        let mut names = Vec::new();
        self.each(|workflow| {
            names.push(workflow.name.to_string());
            names.extend(workflow.phases.iter().map(|phase| phase.id.to_string()));
            names.extend(workflow.rules.iter().map(|rule| rule.id.to_string()));
            let artifacts = workflow.artifacts.iter();
            names.extend(artifacts.map(|artifact| artifact.name.to_string()));
        });
        names
    }

    fn each(&self, mut see: impl FnMut(&Workflow)) {
        let settings = self.workspace.settings();
        for root in settings.config().roots.iter() {
            // One that is named by several roots is told once.
            let is_first = settings
                .config()
                .roots
                .iter()
                .find(|other| other.workflow == root.workflow)
                .is_some_and(|first| std::ptr::eq(first, root));
            let Ok(loaded) = settings.workflow(root.workflow.as_str()) else {
                continue;
            };
            if let Some(workflow) = loaded.workflow().filter(|_| is_first) {
                see(workflow);
            }
        }
    }
}

fn of_workflow(workflow: &Workflow) -> String {
    let phases = listed(workflow.phases.iter().map(|phase| &phase.id));
    format!(
        "{}: a workflow ({})\n    {}\n    phases: {phases}\n",
        workflow.name, workflow.title, workflow.path
    )
}

fn of_phase(workflow: &Workflow, phase: &Phase) -> String {
    let title = phase.title.as_deref().unwrap_or(phase.id.as_str());
    let mut out = format!("{}: a phase of {} ({title})\n", phase.id, workflow.name);
    if phase.terminal {
        let end = if phase.success { "well" } else { "badly" };
        out.push_str(&format!("    a task that is in it has ended {end}\n"));
    } else {
        out.push_str(&format!("    who works in it: {}\n", phase.owner.as_str()));
    }
    for (what, names) in [("needs", &phase.needs), ("produces", &phase.produces)] {
        if !names.is_empty() {
            out.push_str(&format!("    {what}: {}\n", listed(names)));
        }
    }
    if !phase.verifies.is_empty() {
        out.push_str(&format!("    verifies: {}\n", listed(&phase.verifies)));
    }
    for rule in workflow.rules_from(&phase.id) {
        out.push_str(&format!("    rule {}: {}\n", rule.id, outcome(rule)));
    }
    out
}

fn of_rule(workflow: &Workflow, rule: &Rule) -> String {
    let line = rule
        .place
        .line
        .map_or(String::new(), |line| format!(":{line}"));
    format!(
        "{}: a rule of {}\n    {}{line}\n    from {}: {}\n    because {}\n    when {}\n",
        rule.id,
        workflow.name,
        workflow.path,
        listed(&rule.from),
        outcome(rule),
        rule.because,
        rule.when
            .text()
            .split_whitespace()
            .collect::<Vec<_>>()
            .join(" "),
    )
}

fn outcome(rule: &Rule) -> String {
    match &rule.outcome {
        Outcome::To(to) => format!("to {to}"),
        Outcome::Run(action) => format!("run {action}"),
        Outcome::Wait(what) => format!("wait for {what}"),
        Outcome::Choose(actions) => format!("choose among {}", listed(actions)),
    }
}

fn of_artifact(workflow: &Workflow, artifact: &Artifact) -> String {
    let title = artifact.title.as_deref().unwrap_or("no title");
    let mut out = format!(
        "{}: an artifact of {} ({title})\n",
        artifact.name, workflow.name
    );
    if !artifact.paths.is_empty() {
        out.push_str(&format!("    paths: {}\n", artifact.paths.join(", ")));
    }
    if let Some(tree) = &artifact.tree {
        out.push_str(&format!(
            "    or committed code: {}\n",
            tree.texts().join(", ")
        ));
    }
    let produced = listed(workflow.producers(&artifact.name).map(|phase| &phase.id));
    if !produced.is_empty() {
        out.push_str(&format!("    produced in: {produced}\n"));
    }
    if let Some(schema) = &artifact.schema {
        let example = command(&["orch", "schema", &schema.name, "--example"]);
        out.push_str(&format!("    schema {}: {example}\n", schema.name));
    }
    out
}

fn listed(names: impl IntoIterator<Item = impl Display>) -> String {
    let names: Vec<String> = names.into_iter().map(|name| name.to_string()).collect();
    names.join(", ")
}

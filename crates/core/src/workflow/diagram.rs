//! The diagram of a workflow, generated from its rules so that both always agree.

use super::{Document, Outcome, Workflow};
use orch_base::PhaseId;
use std::fmt::Write as _;

/// The language of a diagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum DiagramFormat {
    /// A Mermaid `stateDiagram-v2`.
    Mermaid,
    /// Graphviz DOT.
    Dot,
}

/// Draws a workflow: one arrow per pair of phases, labelled with the ids of its rules.
#[must_use]
pub fn diagram(workflow: &Workflow, format: DiagramFormat) -> String {
    let mut text = String::new();
    let drawn = match format {
        DiagramFormat::Mermaid => mermaid(workflow, &mut text),
        DiagramFormat::Dot => dot(workflow, &mut text),
    };
    // Writing to a String cannot fail.
    drawn.map(|()| text).unwrap_or_default()
}

/// The text of a document with its diagram redrawn; unchanged if it has no diagram markers.
#[must_use]
pub fn format(document: &Document, workflow: &Workflow) -> String {
    match &document.diagram {
        Some(range) => {
            let mut text = document.text.clone();
            text.replace_range(range.clone(), &block(workflow));
            text
        }
        None => document.text.clone(),
    }
}

/// The text between the diagram markers.
pub(super) fn block(workflow: &Workflow) -> String {
    format!(
        "\n\n```mermaid\n{}```\n\n",
        diagram(workflow, DiagramFormat::Mermaid)
    )
}

/// Every pair of phases that a rule connects, with the ids of those rules, in document order.
#[must_use]
pub fn arrows(workflow: &Workflow) -> Vec<(&PhaseId, &PhaseId, Vec<&str>)> {
    let mut arrows: Vec<(&PhaseId, &PhaseId, Vec<&str>)> = Vec::new();
    for phase in &workflow.phases {
        for rule in workflow.rules_from(&phase.id) {
            let Outcome::To(target) = &rule.outcome else {
                continue;
            };
            match arrows
                .iter_mut()
                .find(|(from, to, _)| *from == &phase.id && *to == target)
            {
                Some((_, _, rules)) => rules.push(rule.id.as_str()),
                None => arrows.push((&phase.id, target, vec![rule.id.as_str()])),
            }
        }
    }
    arrows
}

fn mermaid(workflow: &Workflow, out: &mut String) -> std::fmt::Result {
    writeln!(out, "stateDiagram-v2")?;
    writeln!(out, "    [*] --> {}", workflow.initial)?;
    for (from, to, rules) in arrows(workflow) {
        writeln!(out, "    {from} --> {to}: {}", rules.join(", "))?;
    }
    for phase in workflow.phases.iter().filter(|phase| phase.terminal) {
        writeln!(out, "    {} --> [*]", phase.id)?;
    }
    Ok(())
}

fn dot(workflow: &Workflow, out: &mut String) -> std::fmt::Result {
    writeln!(out, "digraph \"{}\" {{", workflow.name)?;
    writeln!(out, "    rankdir=LR;\n    node [shape=box, style=rounded];")?;
    writeln!(
        out,
        "    start [shape=point];\n    start -> {};",
        workflow.initial
    )?;
    for phase in workflow.phases.iter().filter(|phase| phase.terminal) {
        writeln!(out, "    {} [peripheries=2];", phase.id)?;
    }
    for (from, to, rules) in arrows(workflow) {
        writeln!(out, "    {from} -> {to} [label=\"{}\"];", rules.join("\\n"))?;
    }
    writeln!(out, "}}")
}

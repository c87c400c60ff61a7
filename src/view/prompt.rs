//! `orch prompt`: the complete instructions for the current phase, as Markdown.

use super::Subject;
use super::layout::{fenced, one_line};
use super::suggestion::{action, expectation, instructions, phase, schema_text};
use super::wire::{Expected, Finding, Suggestion};
use crate::base::command;
use crate::decide::{Do, ExpectState, is_order};
use crate::workflow::is_tree_name;

/// The complete instructions for the current phase: what to do, what to read, where to write the result, and
/// which schema it must match. No other document is needed.
#[must_use]
pub fn prompt(subject: &Subject<'_>) -> String {
    let suggestion = Suggestion::of(subject);
    let mut out = String::new();
    head(&mut out, subject, &suggestion);
    if let Some(text) = instructions(subject).and_then(|name| subject.system.agent(name)) {
        out.push_str("\n## Instructions\n\n");
        out.push_str(text.trim());
        out.push('\n');
    }
    inputs(&mut out, subject, &suggestion);
    for expected in &subject.decision.expects {
        let schema = schema_text(subject, expected);
        write_section(&mut out, &suggestion.task.id, &expectation(subject, expected), schema);
    }
    if subject.decision.expects.is_empty() {
        out.push_str(&nothing_to_write(&suggestion));
    }
    rules(&mut out, &suggestion);
    out
}

fn head(out: &mut String, subject: &Subject<'_>, suggestion: &Suggestion) {
    let title =
        suggestion.task.title.as_ref().map_or(String::new(), |title| format!(": {}", one_line(title)));
    out.push_str(&format!("# Task {}{title}\n\n", suggestion.task.id));
    let phase_title = phase(subject).and_then(|phase| phase.title.as_deref());
    let phase = suggestion.task.current_phase.as_deref().unwrap_or("(none)");
    let phase_title = phase_title.map_or(String::new(), |title| format!(": {}", one_line(title)));
    let mut rows = vec![
        format!("phase `{phase}`{phase_title}, attempt {}", suggestion.task.attempt),
        format!("workflow `{}`: {}", suggestion.task.workflow, one_line(&subject.workflow.title)),
        format!("directory `{}/`", if suggestion.task.path.is_empty() { "." } else { &suggestion.task.path }),
    ];
    if let Some(action) = action(subject) {
        let title = subject.workflow.actions.iter().find(|known| known.name.as_str() == action);
        let title = title.and_then(|known| known.title.as_deref());
        let title = title.map_or(String::new(), |title| format!(": {}", one_line(title)));
        rows.push(format!("action `{action}`{title}"));
    }
    rows.push(format!("why now: {}", one_line(&suggestion.duty.reason)));
    rows.iter().for_each(|row| out.push_str(&format!("- {row}\n")));
    out.push_str("\nEvery path below is relative to the root of the repository.\n");
}

fn inputs(out: &mut String, subject: &Subject<'_>, suggestion: &Suggestion) {
    if suggestion.inputs.is_empty() {
        return;
    }
    out.push_str("\n## Read first\n\n");
    for input in &suggestion.inputs {
        let named = subject.workflow.artifacts.iter().find(|known| known.name.as_str() == input.artifact);
        let scope = named.and_then(|known| known.tree.as_ref()).filter(|_| is_tree_name(&input.path));
        out.push_str(&match scope {
            Some(scope) => format!("- {scope}, as committed ({})\n", input.artifact),
            None => format!("- `{}` ({})\n", one_line(&input.path), input.artifact),
        });
    }
}

fn write_section(out: &mut String, task: &str, expected: &Expected, schema: Option<&str>) {
    if is_tree_name(&expected.path) {
        return commit_section(out, task, expected);
    }
    let verb = match expected.state {
        ExpectState::Missing => "Write",
        ExpectState::Stale => "Rewrite",
        ExpectState::Invalid | ExpectState::Unmet => "Fix",
    };
    out.push_str(&format!("\n## {verb} `{}`\n\n", one_line(&expected.path)));
    let because = one_line(&expected.because);
    let because = if because.is_empty() { because } else { format!(": {because}") };
    out.push_str(&format!(
        "The {} `{}` is {}{because}.\n",
        expected.format.as_str(),
        expected.artifact,
        expected.state.as_str()
    ));
    if !expected.problems.is_empty() {
        out.push_str("\nIts problems:\n\n");
        expected.problems.iter().for_each(|finding| problem(out, finding));
    }
    if !expected.of.is_empty() {
        out.push_str("\nIt judges these versions; copy this into its `of`, unchanged:\n\n");
        out.push_str(&fenced("json", super::indented(&expected.of).trim_end()));
    }
    if let Some(schema) = schema {
        let name = expected.schema.as_deref().unwrap_or_default();
        out.push_str(&format!("\nIt must match the schema `{name}`:\n\n"));
        out.push_str(&fenced("json", schema));
    }
    if let Some(example) = &expected.example {
        out.push_str("\nA valid example:\n\n");
        out.push_str(&fenced("json", super::indented(example).trim_end()));
    }
    if !expected.tree.is_empty() {
        let places = match expected.tree.as_slice() {
            [all] if all == "**" => "anywhere outside the tasks".to_owned(),
            several => format!("in `{}`", several.join("`, `")),
        };
        out.push_str(&format!(
            "\nAlternatively, write no file and commit the change itself, {places}. Name the task in the message:\n\n"
        ));
        out.push_str(&commit_command(task));
    }
}

/// The section for an output that is committed code and not a file of the task.
fn commit_section(out: &mut String, task: &str, expected: &Expected) {
    let because = one_line(&expected.because);
    out.push_str(&format!("\n## Commit the `{}`\n\n", expected.artifact));
    out.push_str(&format!("It is {}: {because}.\n", expected.state.as_str()));
    if !expected.problems.is_empty() {
        out.push_str("\nIts problems:\n\n");
        expected.problems.iter().for_each(|finding| problem(out, finding));
    }
    out.push_str(&format!(
        "\nThe artifact is the code committed in `{}`. Name the task in the message:\n\n",
        expected.tree.join("`, `")
    ));
    out.push_str(&commit_command(task));
}

/// The command that commits code for a task.
fn commit_command(task: &str) -> String {
    fenced("sh", &command(&["git", "commit", "--trailer", &format!("Orch-Task: {task}")]))
}

fn problem(out: &mut String, finding: &Finding) {
    let place = finding.place();
    let place = if place.is_empty() { place } else { format!("`{}`: ", one_line(&place)) };
    let pointer = finding.pointer.as_ref().filter(|pointer| !pointer.is_empty());
    let pointer = pointer.map_or(String::new(), |pointer| format!(" (at `{}`)", one_line(pointer)));
    let hint = finding.hint.as_ref().map_or(String::new(), |hint| format!("; {}", one_line(hint)));
    out.push_str(&format!("- {place}{}{pointer}{hint}\n", one_line(&finding.message)));
}

fn nothing_to_write(suggestion: &Suggestion) -> String {
    let mut out = String::from("\n## Nothing to write\n\n");
    out.push_str(match suggestion.duty.r#do {
        Do::Apply => "A transition is due. Apply it:\n",
        Do::Run => "There is nothing to do but the action; report its result as the instructions say.\n",
        Do::Decide | Do::Answer => "A person has to decide:\n",
        Do::Repair => "The task has to be repaired first:\n",
        Do::Nothing => "Nothing has to be done.\n",
        Do::Write | Do::Fix | Do::Renew => "All outputs exist, but no rule accepts their content.\n",
    });
    // An agent reads this, so it is offered no order against the rules.
    let offered = suggestion.options.iter().filter(|option| !is_order(&option.id));
    let mut commands: Vec<String> = offered.map(|option| command(&option.argv)).collect();
    let apply = command(&["orch", "next", &suggestion.task.id]);
    if suggestion.duty.r#do == Do::Apply && !commands.contains(&apply) {
        commands.insert(0, apply);
    }
    if !commands.is_empty() {
        out.push('\n');
        out.push_str(&fenced("sh", &commands.join("\n")));
    }
    out
}

fn rules(out: &mut String, suggestion: &Suggestion) {
    out.push_str("\n## Rules\n\n");
    out.push_str("- Never edit `state.json`, `transcript.jsonl` or `suggestion.json`: `orch` writes them.\n");
    if !suggestion.expects.is_empty() {
        out.push_str("- Write complete files, in UTF-8, at exactly these paths.\n");
        out.push_str("- Report the truth; a negative report is fine. Name what the report judges.\n");
    }
    let check = command(&["orch", "suggest", &suggestion.task.id]);
    out.push_str(&format!(
        "- When you are done, run `{check}`. It shows what is accepted and what is still missing.\n"
    ));
}

//! The prompt for an executor that is asked for tasks of a loop.

use super::Subject;
use super::layout::{fenced, one_line};
use serde_json::Value;

/// The instructions for at most `most` tasks, in Markdown: those of the agent `agent`, the parts of the state that
/// `shown` names, the tool of a task that needs none, and the schema of the answer.
#[must_use]
pub fn generation_prompt(
    subject: &Subject<'_>,
    agent: &str,
    most: u32,
    tool: &str,
    shown: &[(String, Value)],
    schema: &str,
) -> String {
    let title = subject
        .title
        .map_or(String::new(), |title| format!(": {}", one_line(title)));
    let mut out = format!("# Task {}{title}\n\n", subject.decision.task);
    out.push_str(&format!(
        "- propose at most {most} tasks; the tool is `{}` unless another fits better\n",
        one_line(tool)
    ));
    out.push_str("\nEvery path below is relative to the root of the repository.\n");
    out.push_str(&super::instructions::section(subject, Some(agent)));
    super::action_prompt::state_section(&mut out, shown);
    out.push_str(&format!(
        "\n## Result\n\nWrite one JSON object to the file named by `$ORCH_RESULT`, or print it as the last output, \
         starting on a new line. It must match this schema, and have no more than {most} tasks:\n\n{}",
        fenced("json", schema.trim_end())
    ));
    out
}

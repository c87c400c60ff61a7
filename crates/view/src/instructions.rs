//! The instructions of an agent or an action, with the task's own id and paths in them.

use super::Subject;
use super::layout::one_line;

/// What stands for the directory of the task in instructions.
const DIRECTORY: &str = "<dir>";
/// What stands for the id of the task in instructions.
const TASK: &str = "<task>";

/// The section with the instructions `name`; empty if there are none. The first heading of the text is left
/// out, because the section has one.
pub(super) fn section(subject: &Subject<'_>, name: Option<&str>) -> String {
    let Some(text) = name.and_then(|name| subject.system.agent(name)) else {
        return String::new();
    };
    let directory = one_line(subject.place.directory().as_str());
    let text = text.trim();
    let body = text
        .strip_prefix("# ")
        .and_then(|rest| rest.split_once('\n'))
        .map_or(text, |(_, body)| body);
    let body = match directory.as_str() {
        "" => body
            .replace(&format!("{DIRECTORY}/"), "")
            .replace(DIRECTORY, "."),
        _ => body.replace(DIRECTORY, &directory),
    };
    let body = body.replace(TASK, subject.decision.task.as_str());
    format!("\n## Instructions\n\n{}\n", body.trim())
}

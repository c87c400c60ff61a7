//! The tasks of a development loop as the tools that make them give them, and as the list of the loop keeps them.

use orch_base::{Code, Error, Timestamp};
use orch_engine::random;
use serde_json::{Map, Value, json};

/// The most tasks that an executor may be asked for.
pub const MOST_GENERATED: i64 = 20;
/// The workflow of a loop.
pub const WORKFLOW: &str = "ccw-loop";
/// Where the state has the list of tasks.
pub const LIST: &str = "skill_state.develop.tasks";
/// The tool of a task that names none.
pub const TOOL: &str = "gemini";
/// The mode of a task that names none.
const MODE: &str = "write";

/// A task with these members that is still to be done. Returns an error if the machine has no random bytes.
pub fn new_task(members: &Map<String, Value>, now: Timestamp) -> Result<Value, Error> {
    let word = random(4).map_err(|error| Error::new(Code::Io, error.to_string()))?;
    let mut task =
        json!({"id": format!("task-{}-{word}", now.seconds() * 1000), "status": "pending"});
    let members = members
        .iter()
        .map(|(key, value)| (key.as_str(), value.clone()));
    members.for_each(|(key, value)| task[key] = value);
    (task["created_at"], task["updated_at"]) = (now.to_string().into(), now.to_string().into());
    Ok(task)
}

/// The members of a task of a loop that a task of another tool means; `order` counts from 0.
pub fn members(task: &Value, order: usize) -> Map<String, Value> {
    let text = |keys: &[&str]| {
        let texts = keys.iter().filter_map(|key| task[*key].as_str());
        texts
            .map(str::trim)
            .find(|text| !text.is_empty())
            .map(str::to_owned)
    };
    let description =
        text(&["description", "title"]).unwrap_or_else(|| format!("Task {}", order + 1));
    let tool = match text(&["tool"]).as_deref() {
        None | Some("ccw" | "ai") => TOOL.to_owned(),
        Some(tool) => tool.to_owned(),
    };
    let mode = match task["mode"].as_str() {
        Some("analysis" | "read") => "analysis",
        Some("review") => "review",
        _ => MODE,
    };
    let prompt =
        text(&["prompt_template", "prompt"]).unwrap_or_else(|| format!("Execute: {description}"));
    let on_error = match task["on_error"].as_str() {
        Some("continue") => Some("continue"),
        Some("pause" | "stop") => Some("pause"),
        Some("fail_fast" | "abort") => Some("fail_fast"),
        _ => None,
    };
    let always = [
        ("description", json!(description)),
        ("tool", json!(tool)),
        ("mode", json!(mode)),
        ("prompt_template", json!(prompt)),
    ];
    let command = text(&["command"]).map(|command| ("command", json!(command)));
    let on_error = on_error.map(|on_error| ("on_error", json!(on_error)));
    let all = always.into_iter().chain(command).chain(on_error);
    all.map(|(key, value)| (key.to_owned(), value)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_task_of_a_solution_is_a_task_of_a_loop() {
        for (task, expected) in [
            (
                json!({"title": "T", "tool": "ccw", "mode": "create", "on_error": "stop", "command": "make"}),
                json!({"description": "T", "tool": "gemini", "mode": "write", "prompt_template": "Execute: T",
                    "command": "make", "on_error": "pause"}),
            ),
            (
                json!({"description": " D ", "title": "T", "tool": "codex", "mode": "read", "prompt": "P", "on_error": "abort"}),
                json!({"description": "D", "tool": "codex", "mode": "analysis", "prompt_template": "P",
                    "on_error": "fail_fast"}),
            ),
            (
                json!({"mode": "review", "tool": 3, "on_error": "never", "prompt_template": "Q"}),
                json!({"description": "Task 1", "tool": "gemini", "mode": "review", "prompt_template": "Q"}),
            ),
        ] {
            assert_eq!(Value::from(members(&task, 0)), expected, "{task}");
        }
    }
}

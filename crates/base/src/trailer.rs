//! The trailers of commit messages that `orch` writes and reads; see git-interpret-trailers(1).

/// The task that a commit is about; `orch` begins each step with it.
pub const TASK: &str = "Orch-Task";
/// The phase in which a step ends. People name tasks too, but only a step says where it has led.
pub const TO: &str = "Orch-To";
/// A file or an artifact that a step rests on, with its digest.
pub const EVIDENCE: &str = "Orch-Evidence";
/// A file that a step rests on and that is not in git.
pub const UNPROVEN: &str = "Orch-Unproven";
/// The agent that has made a commit, which the installed hook adds.
pub const WRITER: &str = "Orch-Writer";
/// The reason of an order.
pub const OVERRIDE: &str = "Orch-Override";

/// The line that names the task of a commit, as `--trailer` of git takes it.
#[must_use]
pub fn names_task(task: impl std::fmt::Display) -> String {
    format!("{TASK}: {task}")
}

/// The line that names the agent that makes a commit, likewise.
#[must_use]
pub fn names_writer(agent: impl std::fmt::Display) -> String {
    format!("{WRITER}: {agent}")
}

/// The ids in the trailers that name a task, in order, whether or not there are such tasks.
#[must_use]
pub fn named_tasks(trailers: &[(String, String)]) -> Vec<String> {
    let named = trailers
        .iter()
        .filter(|(token, _)| token.eq_ignore_ascii_case(TASK));
    named.map(|(_, task)| task.trim().to_owned()).collect()
}

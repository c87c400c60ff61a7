//! The pattern by which a branch name names a task.

use orch_base::TaskId;
use std::fmt;

/// A branch name with the task's id in it, for example `task/{task}`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskBranch {
    before: String,
    after: String,
}

/// Why a text is not a [`TaskBranch`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("the pattern must contain {{task}} exactly once, for example \"task/{{task}}\"")]
pub struct InvalidTaskBranch;

impl TaskBranch {
    /// Parses a pattern. Returns [`InvalidTaskBranch`] unless the text contains `{task}` exactly once.
    pub fn new(text: &str) -> Result<Self, InvalidTaskBranch> {
        let (before, after) = text.split_once("{task}").ok_or(InvalidTaskBranch)?;
        if [before, after].iter().any(|part| part.contains(['{', '}'])) {
            return Err(InvalidTaskBranch);
        }
        Ok(Self {
            before: before.to_owned(),
            after: after.to_owned(),
        })
    }

    /// The name of the branch of a task, without `refs/heads/`.
    #[must_use]
    pub fn of(&self, task: &TaskId) -> String {
        format!("{}{task}{}", self.before, self.after)
    }

    /// The names of the branches of all tasks, with `*` for the task.
    #[must_use]
    pub fn pattern(&self) -> String {
        format!("{}*{}", self.before, self.after)
    }

    /// The task that a branch names, if the name matches. `branch` is the name without `refs/heads/`.
    #[must_use]
    pub fn task(&self, branch: &str) -> Option<TaskId> {
        TaskId::new(
            branch
                .strip_prefix(&self.before)?
                .strip_suffix(&self.after)?,
        )
        .ok()
    }
}

impl Default for TaskBranch {
    fn default() -> Self {
        Self {
            before: "task/".to_owned(),
            after: String::new(),
        }
    }
}

impl fmt::Display for TaskBranch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{{task}}{}", self.before, self.after)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_branch_names_a_task_where_it_fits() {
        for (pattern, branch, task) in [
            ("task/{task}", "task/fix-login", Some("fix-login")),
            ("task/{task}", "task/team/fix", Some("team/fix")),
            ("{task}", "fix", Some("fix")),
            ("a-{task}-b", "a-x-b", Some("x")),
            ("task/{task}", "main", None),
            ("task/{task}", "task/", None),
            ("a-{task}-b", "a-b", None),
        ] {
            let named = TaskBranch::new(pattern).expect("valid").task(branch);
            assert_eq!(
                named.as_ref().map(TaskId::as_str),
                task,
                "{pattern} {branch}"
            );
        }
        for wrong in ["", "task", "{task}{task}", "{who}/{task}", "{task"] {
            assert_eq!(TaskBranch::new(wrong), Err(InvalidTaskBranch), "{wrong}");
        }
    }
}

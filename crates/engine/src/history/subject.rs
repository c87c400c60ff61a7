//! The moves that the text of a commit message states, compared with the events that the commit adds. People
//! read the subject before anything else, so a move that it states must be in the record.
//!
//! Only text in the form that `orch` writes counts: the subject `orch(TASK): FROM -> TO`, and, in a message with
//! trailers of a step, any `FROM -> TO` in the subject and the items `- TASK: FROM -> TO` in the body. A host or a
//! person may give a squash another subject, list the subjects of its commits in the body, or leave both out.
//!
//! A subject without a task may be about anything. It states a move only if both words are phases of the task and
//! the commit adds events of no other task.

use orch_base::{PhaseId, TaskId};
use orch_core::decide::HistoryEntry;

const ARROW: &str = " -> ";

/// How `orch` writes the phase before a task has one.
const NEW: &str = "new";

/// A move that a line of a commit message states.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct SubjectMove {
    /// The id of the task, as told; `None` if the line names none.
    pub task: Option<String>,
    from: String,
    to: String,
}

impl SubjectMove {
    /// The moves that a commit message states. `is_step` says that its trailers describe a step.
    pub(super) fn all(message: &str, is_step: bool) -> Vec<Self> {
        let mut lines = message.lines().map(str::trim_end);
        let subject = lines.next().unwrap_or_default();
        let named = subject
            .strip_prefix("orch(")
            .and_then(|rest| rest.split_once("): "));
        let mut found: Vec<Self> = match named {
            Some((task, moved)) => Self::of(Some(task), moved).into_iter().collect(),
            None if is_step => Self::of(None, subject).into_iter().collect(),
            None => Vec::new(),
        };
        let items = lines
            .filter(|_| is_step)
            .filter_map(|line| line.strip_prefix("- ")?.split_once(": "));
        found.extend(items.filter_map(|(task, moved)| Self::of(Some(task), moved)));
        found
    }

    /// The move in `… FROM -> TO …`. `None` if this is something else, or stands for the moves of several tasks.
    fn of(task: Option<&str>, text: &str) -> Option<Self> {
        if task.is_some_and(names_several) {
            return None;
        }
        let (before, after) = text.split_once(ARROW)?;
        let (rest, last) = before.rsplit_once(' ').unwrap_or(("", before));
        // `planning, test -> done` and `4 phases -> done` stand for the moves of several tasks.
        let is_one = !rest.ends_with(',') && !rest.rsplit(' ').next().is_some_and(is_number);
        let from = match task {
            Some(_) => before,
            None => Some(last).filter(|_| is_one)?,
        };
        let to = after.split([' ', ':']).next()?;
        let is_phase = |word: &str| PhaseId::new(word).is_ok();
        (is_phase(from) && is_phase(to)).then(|| Self {
            task: task.map(str::to_owned),
            from: from.to_owned(),
            to: to.to_owned(),
        })
    }

    /// Whether the move is about a task. A line that names no task is about the only task of which the commit adds
    /// events, if the line names phases: `is_phase` says which names are phases of the task.
    pub(super) fn is_about(
        &self,
        task: &TaskId,
        is_only: bool,
        is_phase: impl Fn(&str) -> bool,
    ) -> bool {
        let is_known = |name: &str| name == NEW || is_phase(name);
        match &self.task {
            Some(named) => named == task.as_str(),
            None => is_only && is_known(&self.from) && is_known(&self.to),
        }
    }

    /// Why these new steps of its task, oldest first, do not make the move; `None` if they do. A batch or a squash
    /// states the first phase and the last one.
    pub(super) fn contradicts(&self, steps: &[&HistoryEntry]) -> Option<String> {
        let Self { from, to, .. } = self;
        let starts = steps
            .iter()
            .position(|step| step.from.as_ref().map_or(NEW, PhaseId::as_str) == from);
        let makes =
            starts.is_some_and(|first| steps[first..].iter().any(|step| step.to.as_str() == to));
        if makes {
            return None;
        }
        let (Some(first), Some(last)) = (steps.first(), steps.last()) else {
            return Some(format!(
                "the message states a move {from} -> {to} that this commit does not record"
            ));
        };
        let recorded = first.from.as_ref().map_or(NEW, PhaseId::as_str);
        Some(format!(
            "the message says \"{from} -> {to}\", but the record says \"{recorded} -> {}\"",
            last.to
        ))
    }
}

/// Whether this names several tasks, or only says how many.
fn names_several(tasks: &str) -> bool {
    tasks.contains(", ") || tasks.strip_suffix(" tasks").is_some_and(is_number)
}

fn is_number(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_moves_in_the_form_that_orch_writes_are_stated() {
        let shown = |message: &str, is_step: bool| -> Vec<String> {
            let moves = SubjectMove::all(message, is_step).into_iter();
            moves
                .map(|one| format!("{:?} {} {}", one.task.as_deref(), one.from, one.to))
                .collect()
        };
        for (message, is_step, expected) in [
            (
                "orch(t): planning -> plan_review\n\nBecause.",
                false,
                &["Some(\"t\") planning plan_review"][..],
            ),
            (
                "orch(team/u): new -> planning",
                false,
                &["Some(\"team/u\") new planning"],
            ),
            (
                "orch(t): codegen -> codegen (run fix)",
                false,
                &["Some(\"t\") codegen codegen"],
            ),
            ("chore: t planning -> done", true, &["None planning done"]),
            (
                "orch(t): planning -> codegen\n\n- t: planning -> plan_review: ready\n- t: a -> b",
                true,
                &[
                    "Some(\"t\") planning codegen",
                    "Some(\"t\") planning plan_review",
                    "Some(\"t\") a b",
                ],
            ),
            // What hosts and git make of it.
            ("chore: t planning -> done", false, &[]),
            (
                "Login (#12)\n\n* orch(t): planning -> done\n\n* orch(t): a -> b",
                true,
                &[],
            ),
            (
                "Squashed\n\n    orch(t): planning -> done\n- t: planning -> done",
                false,
                &[],
            ),
            ("Revert \"orch(t): planning -> done\"", false, &[]),
            ("fixup! orch(t): planning -> done", false, &[]),
            // Moves of several tasks.
            (
                "orch(t, u): planning, review -> plan_review, test",
                true,
                &[],
            ),
            ("orch(t, u): planning -> plan_review", true, &[]),
            ("orch(4 tasks): planning -> plan_review", true, &[]),
            ("planning, test -> plan_review", true, &[]),
            ("a, b: planning, test -> plan_review, review", true, &[]),
            ("4 phases -> done", true, &[]),
            ("planning -> plan_review, test", true, &[]),
            ("orch(t): keep the state of the older tool", true, &[]),
        ] {
            assert_eq!(shown(message, is_step), expected, "{message}");
        }
    }

    #[test]
    fn a_subject_without_a_task_states_a_move_between_phases_of_the_only_task() {
        let task = TaskId::new("t").expect("an id");
        let is_phase = |name: &str| ["planning", "done"].contains(&name);
        for (subject, is_only, expected) in [
            ("chore: t planning -> done", true, true),
            ("new -> planning", true, true),
            ("chore: t planning -> done", false, false),
            ("Rename config -> settings", true, false),
            ("Rename planning -> settings", true, false),
            ("orch(t): config -> settings", false, true),
            ("orch(u): planning -> done", true, false),
        ] {
            let moves = SubjectMove::all(subject, true);
            let is_about = moves
                .iter()
                .any(|one| one.is_about(&task, is_only, is_phase));
            assert_eq!(is_about, expected, "{subject}");
        }
    }
}

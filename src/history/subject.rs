//! The moves that the text of a commit message tells of, compared with the events that the commit adds. People
//! read the subject before anything else, so a move that it tells of must be in the record.
//!
//! Only text in the form that `orch` writes counts: the subject `orch(TASK): FROM -> TO`, and, in a message with
//! trailers of a step, any `FROM -> TO` in the subject and the items `- TASK: FROM -> TO` in the body. A host or a
//! person may give a squash another subject, list the subjects of its commits in the body, or leave both out.

use crate::base::{PhaseId, TaskId};
use crate::decide::HistoryEntry;

const ARROW: &str = " -> ";

/// How `orch` writes the phase before a task has one.
const NEW: &str = "new";

/// A move that a line of a commit message tells of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ToldMove {
    /// The id of the task, as told; `None` if the line names none.
    pub task: Option<String>,
    from: String,
    to: String,
}

impl ToldMove {
    /// The moves that a commit message tells of. `is_step` says that its trailers tell of a step.
    pub(super) fn all(message: &str, is_step: bool) -> Vec<Self> {
        let mut lines = message.lines().map(str::trim_end);
        let subject = lines.next().unwrap_or_default();
        let named = subject.strip_prefix("orch(").and_then(|rest| rest.split_once("): "));
        let mut told: Vec<Self> = match named {
            Some((task, moved)) => Self::of(Some(task), moved).into_iter().collect(),
            None if is_step => Self::of(None, subject).into_iter().collect(),
            None => Vec::new(),
        };
        let items = lines.filter(|_| is_step).filter_map(|line| line.strip_prefix("- ")?.split_once(": "));
        told.extend(items.filter_map(|(task, moved)| Self::of(Some(task), moved)));
        told
    }

    /// The move in `… FROM -> TO …`. `None` if this is something else, or stands for the moves of several tasks.
    fn of(task: Option<&str>, text: &str) -> Option<Self> {
        if task.is_some_and(names_several) {
            return None;
        }
        let (before, after) = text.split_once(ARROW)?;
        let from = if task.is_some() { before } else { before.rsplit(' ').next()? };
        let to = after.split([' ', ':']).next()?;
        let is_phase = |word: &str| PhaseId::new(word).is_ok();
        (is_phase(from) && is_phase(to)).then(|| Self {
            task: task.map(str::to_owned),
            from: from.to_owned(),
            to: to.to_owned(),
        })
    }

    /// Whether the move is about a task. A line that names no task is about every task of the commit.
    pub(super) fn is_about(&self, task: &TaskId) -> bool {
        self.task.as_deref().is_none_or(|told| told == task.as_str())
    }

    /// Why these new steps of its task, oldest first, do not make the move; `None` if they do. A batch or a squash
    /// tells of the first phase and the last one.
    pub(super) fn contradicts(&self, steps: &[HistoryEntry]) -> Option<String> {
        let Self { from, to, .. } = self;
        let starts = steps.iter().position(|step| step.from.as_ref().map_or(NEW, PhaseId::as_str) == from);
        let makes = starts.is_some_and(|first| steps[first..].iter().any(|step| step.to.as_str() == to));
        if makes {
            return None;
        }
        let (Some(first), Some(last)) = (steps.first(), steps.last()) else {
            return Some(format!(
                "the message tells of a move {from} -> {to} that this commit does not record"
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
    let is_number = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
    tasks.contains(", ") || tasks.strip_suffix(" tasks").is_some_and(is_number)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_moves_in_the_form_that_orch_writes_are_told() {
        let told = |message: &str, is_step: bool| -> Vec<String> {
            let moves = ToldMove::all(message, is_step).into_iter();
            moves.map(|told| format!("{:?} {} {}", told.task.as_deref(), told.from, told.to)).collect()
        };
        for (message, is_step, expected) in [
            (
                "orch(t): planning -> plan_review\n\nBecause.",
                false,
                &["Some(\"t\") planning plan_review"][..],
            ),
            ("orch(team/u): new -> planning", false, &["Some(\"team/u\") new planning"]),
            ("orch(t): codegen -> codegen (run fix)", false, &["Some(\"t\") codegen codegen"]),
            ("chore: t planning -> done", true, &["None planning done"]),
            (
                "orch(t): planning -> codegen\n\n- t: planning -> plan_review: ready\n- t: a -> b",
                true,
                &["Some(\"t\") planning codegen", "Some(\"t\") planning plan_review", "Some(\"t\") a b"],
            ),
            // What hosts and git make of it.
            ("chore: t planning -> done", false, &[]),
            ("Login (#12)\n\n* orch(t): planning -> done\n\n* orch(t): a -> b", true, &[]),
            ("Squashed\n\n    orch(t): planning -> done\n- t: planning -> done", false, &[]),
            ("Revert \"orch(t): planning -> done\"", false, &[]),
            ("fixup! orch(t): planning -> done", false, &[]),
            // Moves of several tasks.
            ("orch(t, u): planning, review -> plan_review, test", true, &[]),
            ("orch(t, u): planning -> plan_review", true, &[]),
            ("orch(4 tasks): planning -> plan_review", true, &[]),
            ("orch(t): keep the state of the older tool", true, &[]),
        ] {
            assert_eq!(told(message, is_step), expected, "{message}");
        }
    }
}

//! What has happened, for an answer: the transitions of a task, and the effects of a watch.

use crate::apply::Applied;
use crate::drive::WatchEffect;
use crate::survey::{Sight, Workspace};
use orch_base::Diagnostic;
use orch_view::{AppliedView, Finding, Happening, Suggestion, TransitionLine};

/// The lines to print for the transitions that were applied to a task.
pub fn transition_lines(applied: &Applied) -> Vec<TransitionLine> {
    let workflow = applied.sight.workflow();
    let lines = applied.steps.iter().map(|step| {
        let commit = step.commit.map(|commit| commit.to_string());
        TransitionLine::of(&AppliedView {
            task: &applied.sight.task.id,
            place: &applied.sight.task.place,
            workflow,
            transition: &step.transition,
            entry: step.entry.as_deref(),
            commit: commit.as_deref(),
        })
    });
    lines.collect()
}

/// Converts an effect of the watch to the events that are printed.
pub fn happenings(workspace: &Workspace, effect: WatchEffect) -> Vec<Happening> {
    let finding = |diagnostic: &Diagnostic| Happening::Finding {
        finding: Box::new(Finding::of(diagnostic)),
    };
    match effect {
        WatchEffect::Watching { tasks } => vec![Happening::Started { tasks }],
        WatchEffect::Moved(applied) => {
            let lines = transition_lines(&applied).into_iter();
            let moved = lines.map(|line| Happening::Transition {
                transition: Box::new(line),
            });
            moved
                .chain(applied.notes.iter().map(finding))
                .chain([stands(workspace, &applied.sight)])
                .collect()
        }
        WatchEffect::Stands(sight) => vec![stands(workspace, &sight)],
        WatchEffect::Ready | WatchEffect::Reloaded | WatchEffect::CameTo { .. } => Vec::new(),
        WatchEffect::Gone(task) => vec![Happening::Gone {
            task: task.to_string(),
        }],
        WatchEffect::Held {
            tasks,
            message,
            hint,
        } => {
            let task = match tasks.as_slice() {
                [only] => only.to_string(),
                several => format!("{} tasks", several.len()),
            };
            vec![Happening::Held {
                task,
                reason: message,
                advice: hint.into(),
            }]
        }
        WatchEffect::Trouble(found) => vec![finding(&found)],
    }
}

/// The suggestion for a task now.
fn stands(workspace: &Workspace, sight: &Sight) -> Happening {
    Happening::Suggestion {
        suggestion: Box::new(Suggestion::of(&workspace.reader().subject(sight))),
    }
}

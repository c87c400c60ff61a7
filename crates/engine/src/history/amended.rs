//! A commit that is amended: what is staged takes the place of HEAD and follows its parents, so the steps that HEAD
//! records are steps of the next commit too.

use super::compared::Differing;
use super::side::Side;
use super::trailers::MessageSteps;
use crate::survey::snapshot::Snapshot;
use crate::survey::{Error, TaskRef};
use orch_base::{Code, Diagnostic, Hint, Place};
use orch_git::{Store, Visited};

/// HEAD, if the next commit takes its place: the command that git runs says so, or else the message, which describes
/// the same steps. Returns an error if git cannot read HEAD.
pub(super) fn amended(store: &Store, message: Option<&str>) -> Result<Option<Visited>, Error> {
    let Some(head) = store.refs().head_source()?.commit() else {
        return Ok(None);
    };
    let is_amended = match store.transactions().is_amending() {
        Some(is_amending) => is_amending,
        None => {
            let before = MessageSteps::of(&store.history().message(head)?, false);
            message.is_some_and(|message| MessageSteps::of(message, false).has_steps_of(&before))
        }
    };
    if !is_amended {
        return Ok(None);
    }
    let head = store.history().visit(head)?;
    Ok((!head.is_boundary).then_some(head))
}

/// A finding for each file of these tasks that is staged otherwise than the amended commit has it: the steps of that
/// commit did not see it. Returns an error if git cannot compare them.
pub(super) fn added_evidence<'s>(
    amended: &Side<'s>,
    recorded: &[TaskRef],
    after: &Snapshot<'_>,
    differing: &Differing<'_, 's>,
) -> Result<Vec<Diagnostic>, Error> {
    let mut found = Vec::new();
    for task in recorded {
        let Ok(loaded) = after.setting.workflow(task.workflow.as_str()) else {
            continue;
        };
        let matcher = loaded.matcher();
        let root = task
            .place
            .file()
            .map_or(task.directory(), |file| &file.directory);
        for path in differing(amended, root)? {
            let name = task.place.name(&path);
            if name.is_some_and(|name| matcher.artifacts_of(name).next().is_some()) {
                let message = format!(
                    "the commit that is amended records a step of `{}`, which did not see {path} as it is staged",
                    task.id
                );
                let hint = Hint::from("commit it by itself: ")
                    .command(&["git", "commit"])
                    .text(", without --amend");
                found.push(
                    Diagnostic::error(Code::AmendedEvidence, message)
                        .at(Place::file(&path))
                        .hint(hint),
                );
            }
        }
    }
    Ok(found)
}

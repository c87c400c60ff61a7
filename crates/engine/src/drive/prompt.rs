//! The instructions for whoever does the work that is due: an executor, or a reader of `orch prompt`.

use crate::survey::{Sight, Workspace};
use orch_base::ActionName;
use orch_core::decide::{self, Verdict};
use orch_core::workflow::{Action, Workflow};
use orch_view::SchemaForm;
use serde_json::Value;

/// The complete instructions for a task. `action` is the action to perform and the number of its try; without
/// it, the action that is due, if one is, or else the work of the phase.
#[must_use]
pub fn prompt(
    workspace: &Workspace,
    sight: &Sight,
    action: Option<(&ActionName, u32)>,
    form: SchemaForm,
) -> String {
    let subject = workspace.reader.subject(sight);
    let due = match &sight.decision.verdict {
        Verdict::Run(action) => Some((action, 1)),
        _ => None,
    };
    let found = action
        .or(due)
        .and_then(|(name, attempt)| Some((subject.workflow.action(name)?, attempt)));
    let Some((action, attempt)) = found else {
        return orch_view::prompt(&subject, form);
    };
    let shown = shown(subject.workflow, action, sight);
    orch_view::action_prompt(&subject, action, &shown, &sight.task.state_path(), attempt)
}

/// The parts of the state that a prompt shows, each with its JSON pointer.
fn shown(workflow: &Workflow, action: &Action, sight: &Sight) -> Vec<(String, Value)> {
    let Some(state) = sight.state() else {
        return Vec::new();
    };
    let mut whole = decide::document(state, &workflow.phase_key);
    if let Value::Object(members) = &mut whole {
        members.extend(decide::data_of(workflow, state));
    }
    let mut pointers: Vec<&String> = workflow.show.iter().chain(&action.show).collect();
    pointers.dedup();
    let found = |pointer: &&String| Some(((*pointer).clone(), whole.pointer(pointer)?.clone()));
    pointers.iter().filter_map(found).collect()
}

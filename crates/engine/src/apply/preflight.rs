//! Checks before a step is recorded: the schema accepts the data, and every reader can read it.

use super::record_files::Records;
use crate::survey::{Error, Reader, Sight};
use orch_base::{Code, Hint};
use orch_core::decide::{DEEPEST, State, Step, nests_deeper};
use orch_core::workflow::Workflow;

impl Records<'_> {
    /// Why a state must not be written: its schema rejects it, or it could not be read again.
    pub(crate) fn refused_data(&self, workflow: &Workflow, state: &State) -> Option<String> {
        let refused = self.reader.settings.refused_data(workflow, state);
        refused.or_else(|| self.unreadable(workflow, state))
    }

    fn unreadable(&self, workflow: &Workflow, state: &State) -> Option<String> {
        let deep = state
            .extra
            .iter()
            .find(|(_, value)| nests_deeper(value, DEEPEST - 1));
        if let Some((key, _)) = deep {
            return Some(format!("`{key}` would nest deeper than {DEEPEST} levels"));
        }
        let size = self.state_text(workflow, state, b"").len();
        let limit = self.reader.settings.config.limit_bytes;
        (size as u64 > limit)
            .then(|| format!("the state would have {size} bytes, but at most {limit} can be read"))
    }

    /// Returns an error if a schema rejects the data of a step, no matter who changed it.
    pub(crate) fn refuse_data(&self, workflow: &Workflow, steps: &[Step]) -> Result<(), Error> {
        match steps
            .iter()
            .find_map(|step| self.refused_data(workflow, &step.state))
        {
            Some(message) => {
                let hint = Hint::run(&["orch", "workflow", "check", workflow.name.as_str()]);
                Err(Error::new(Code::StateSchema, message).with_hint(hint))
            }
            None => Ok(()),
        }
    }
}

/// Returns an error if the task's directory has become a symbolic link, which may lead anywhere.
pub(crate) fn refuse_link(reader: &Reader, sight: &Sight) -> Result<(), Error> {
    let directory = sight.task.directory();
    if !reader.snapshot(|snapshot| snapshot.source.is_behind_link(directory))? {
        return Ok(());
    }
    let message =
        format!("{directory} is a symbolic link, so its files may be outside this repository");
    let hint = "replace the link with the directory itself";
    Err(Error::new(Code::TaskBehindLink, message).with_hint(hint))
}

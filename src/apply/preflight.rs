//! What may be recorded: data that its schema accepts and every reader can read.

use super::Writer;
use crate::base::{Code, command};
use crate::decide::{DEEPEST, State, Step, nests_deeper};
use crate::survey::{Error, Sight};
use crate::workflow::Workflow;

impl Writer<'_> {
    /// Why a state may not be written, in words: its schema refuses it, or nobody could read it again.
    pub(crate) fn refused_data(&self, workflow: &Workflow, state: &State) -> Option<String> {
        let refused = self.workspace.setting.refused_data(workflow, state);
        refused.or_else(|| self.unreadable(workflow, state))
    }

    fn unreadable(&self, workflow: &Workflow, state: &State) -> Option<String> {
        let deep = state.extra.iter().find(|(_, value)| nests_deeper(value, DEEPEST - 1));
        if let Some((key, _)) = deep {
            return Some(format!("`{key}` would nest deeper than {DEEPEST} levels"));
        }
        let size = self.state_text(workflow, state, b"").len();
        let limit = self.workspace.setting.config.limit_bytes;
        (size as u64 > limit)
            .then(|| format!("the state would have {size} bytes, and at most {limit} are read"))
    }

    /// Refuses a task whose directory has become a link: what is written there may lie anywhere.
    pub(crate) fn refuse_link(&self, judged: &Sight) -> Result<(), Error> {
        let directory = &judged.task.directory;
        if !self.workspace.snapshot(|snapshot| snapshot.source.is_behind_link(directory))? {
            return Ok(());
        }
        let message = format!("{directory} is a link now, and what is behind it is not in this repository");
        let hint = Some("put the directory itself there".to_owned());
        Err(Error::new(Code::TaskBehindLink, message).with_hint(hint))
    }

    /// The workflow's own part of a state is what its schema accepts, whoever changed it.
    pub(crate) fn refuse_data(&self, workflow: &Workflow, steps: &[Step]) -> Result<(), Error> {
        match steps.iter().find_map(|step| self.refused_data(workflow, &step.state)) {
            Some(message) => {
                let hint = Some(command(&["orch", "workflow", "check", workflow.name.as_str()]));
                Err(Error::new(Code::StateSchema, message).with_hint(hint))
            }
            None => Ok(()),
        }
    }
}

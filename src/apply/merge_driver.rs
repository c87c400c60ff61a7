//! Git's merge driver: three versions of a file of `orch`'s own become one, as `orch resolve` does it.
//!
//! Git calls it file by file, so the state and the transcript each derive the same record by themselves.

use super::Writer;
use super::conflicted::state_in;
use crate::base::RepoPath;
use crate::decide;
use crate::record::{
    STATE_FILE, TRANSCRIPT_FILE, read_transcript, rebuild, united_lines, with_line, write_state,
};
use crate::store::durable;
use crate::survey::snapshot::workflow_named_in;
use crate::survey::{Error, Loaded};
use std::path::Path;
use std::sync::Arc;

/// The name of the driver in attributes and settings.
pub const DRIVER: &str = "orch";

impl Writer<'_> {
    /// Merges three versions of the file at `path`; the result takes the place of ours. Whether it went
    /// without a conflict, which is left there with its markers.
    pub fn merge_files(
        &self,
        path: &RepoPath,
        base: &Path,
        ours: &Path,
        theirs: &Path,
    ) -> Result<bool, Error> {
        let store = self.workspace.repository_or_refuse()?;
        let [was, own, other] =
            [base, ours, theirs].map(|path| durable::read_regular(path).unwrap_or_default());
        let merged = match path.name() {
            // A state that is merged without its transcript would say what the transcript does not.
            STATE_FILE if self.merges_transcript_of(path) => self.merged_state(&was, &own, &other),
            TRANSCRIPT_FILE => Some(self.merged_transcript(&was, &own, &other)),
            _ => None,
        };
        if let Some(merged) = merged {
            durable::write_atomic(ours, &merged)?;
            return Ok(true);
        }
        let names = [base, ours, theirs].map(|path| path.to_string_lossy().into_owned());
        Ok(store.merge_files(&names[0], &names[1], &names[2]))
    }

    fn merges_transcript_of(&self, state: &RepoPath) -> bool {
        let transcript = state.parent().and_then(|task| task.join(TRANSCRIPT_FILE).ok());
        let store = self.workspace.store.as_ref();
        transcript
            .zip(store)
            .is_some_and(|(path, store)| store.merge_attribute(&path).as_deref() == Some(DRIVER))
    }

    fn merged_state(&self, base: &[u8], ours: &[u8], theirs: &[u8]) -> Option<Vec<u8>> {
        let loaded = self.loaded(&workflow_named_in(ours)?)?;
        let workflow = loaded.workflow()?;
        let state = |bytes: &[u8]| state_in(bytes, &workflow.phase_key).ok();
        let merged = decide::merge(workflow, state(base).as_ref(), &state(ours)?, &state(theirs)?).ok()?;
        Some(write_state(&merged, &workflow.phase_key, &self.workspace.state_schema()).into_bytes())
    }

    /// The lines of both sides; and where both moved, the line that joins them.
    fn merged_transcript(&self, base: &[u8], ours: &[u8], theirs: &[u8]) -> Vec<u8> {
        let [base, ours, theirs] = [base, ours, theirs].map(|bytes| String::from_utf8_lossy(bytes));
        let lines = united_lines(&ours, &theirs).into_bytes();
        let joined = || {
            let named = read_transcript(&ours).pop()?.workflow?;
            let loaded = self.loaded(named.as_str())?;
            let workflow = loaded.workflow()?;
            let state = |text: &str| rebuild(text, &workflow.phase_key)?.ok();
            let merged =
                decide::merge(workflow, state(&base).as_ref(), &state(&ours)?, &state(&theirs)?).ok()?;
            Some((merged, workflow.phase_key.clone()))
        };
        match joined() {
            Some((state, phase_key)) => with_line(lines, &state, &phase_key),
            None => lines,
        }
    }

    fn loaded(&self, workflow: &str) -> Option<Arc<Loaded>> {
        self.workspace.setting.workflow(workflow).ok()
    }
}

//! Rebuilding a lost or broken state: from git history, else from the transcript, else from the files.

use super::Writer;
use crate::base::{Code, Diagnostic, Digest, command, shell_word};
use crate::decide::rebuild_from_files;
use crate::record::{TRANSCRIPT_FILE, read_state, rebuild, write_state};
use crate::store::durable;
use crate::survey::{Error, Sight, TaskRef};

/// Where a state came from.
pub enum Recovered {
    /// It was whole; nothing was done.
    NotNeeded,
    /// Of the newest commit that holds a whole one.
    FromGit(Digest),
    /// Of the last line of the transcript.
    FromTranscript,
    /// Of the files of the task, as far as its workflow says how; it begins anew.
    FromFiles,
}

impl Writer<'_> {
    /// Rebuilds `state.json`, keeping what was there as `state.json.broken`.
    ///
    /// The work directory is mended, nothing is committed: a state of the past is restored, no
    /// transition is made.
    pub fn recover(&self, task: &TaskRef) -> Result<Recovered, Error> {
        let judged = self.workspace.look(task)?;
        if judged.state().is_some() {
            return Ok(Recovered::NotNeeded);
        }
        if self.would_forget(task)? {
            let message =
                format!("two branches moved `{}`, and recovering would forget one of them", task.id);
            let hint = Some(command(&["orch", "resolve", task.id.as_str()]));
            return Err(Error::new(Code::ConflictMarkers, message).with_hint(hint));
        }
        let phase_key = judged.workflow().phase_key.as_str();
        let path = task.state_path();
        let in_git = self.state_from_git(task, phase_key)?;
        let told = self.state_from_transcript(task, phase_key)?;
        // Where moves are not committed, the transcript may know more than git does.
        let goes_further = match (&in_git, &told) {
            (Some((in_git, _)), Some(told)) => last_step(told) > last_step(in_git),
            _ => false,
        };
        let (text, from) = match in_git.filter(|_| !goes_further) {
            Some((text, commit)) => (text, Recovered::FromGit(commit)),
            None => match told {
                Some(text) => (text, Recovered::FromTranscript),
                None => (self.state_from_files(task, &judged)?, Recovered::FromFiles),
            },
        };
        if let Some(broken) = &judged.observed.state {
            let place = path.under(&self.workspace.root);
            let mut names = std::iter::once("json.broken".to_owned())
                .chain((2..).map(|number| format!("json.broken.{number}")))
                .map(|extension| place.with_extension(extension));
            // What was kept before is kept still.
            if let Some(kept) = names.find(|name| name.symlink_metadata().is_err()) {
                durable::write_atomic(&kept, &broken.bytes)?;
            }
        }
        durable::write_atomic(&path.under(&self.workspace.root), text.as_bytes())?;
        Ok(from)
    }

    /// The state that the files give; the error says that they give none, or not a whole one.
    fn state_from_files(&self, task: &TaskRef, judged: &Sight) -> Result<String, Error> {
        let lost = |message: String| -> Result<String, Error> {
            let id = shell_word(task.id.as_str());
            let path = task.state_path();
            let hint = format!("start over: remove {path} and {TRANSCRIPT_FILE}, then orch new {id}");
            Err(Error::new(Code::StateLost, message).with_hint(hint))
        };
        let nobody = format!("neither git history nor {TRANSCRIPT_FILE} holds a state of `{}`", task.id);
        let stamp = self.caller.own_stamp();
        let workflow = judged.workflow();
        let Some(state) = rebuild_from_files(workflow, &judged.observed.facts, &stamp) else {
            return lost(nobody);
        };
        match self.refused_data(workflow, &state) {
            Some(why) => lost(format!("{nobody}, and its files do not hold a whole one: {why}")),
            None => Ok(write_state(&state, &workflow.phase_key, &self.workspace.state_schema())),
        }
    }

    fn state_from_git(&self, task: &TaskRef, phase_key: &str) -> Result<Option<(String, Digest)>, Error> {
        let Some(store) = &self.workspace.store else { return Ok(None) };
        let path = task.state_path();
        let commits = store.history(std::slice::from_ref(&path))?.remove(&path).unwrap_or_default();
        for commit in commits {
            let Some(bytes) = store.read_at(commit, &path)? else { continue };
            let Ok(text) = String::from_utf8(bytes) else { continue };
            let whole =
                serde_json::from_str(&text).is_ok_and(|value| read_state(&value, &text, phase_key).is_ok());
            if whole {
                return Ok(Some((text, commit)));
            }
        }
        Ok(None)
    }

    fn state_from_transcript(&self, task: &TaskRef, phase_key: &str) -> Result<Option<String>, Error> {
        let path = task
            .directory
            .join(TRANSCRIPT_FILE)
            .map_err(|error| Diagnostic::error(Code::BadPath, error.to_string()))?;
        let Some(bytes) = durable::read_regular(&path.under(&self.workspace.root)) else { return Ok(None) };
        let text = String::from_utf8_lossy(&bytes);
        Ok(match rebuild(&text, phase_key) {
            Some(Ok(state)) => Some(write_state(&state, phase_key, &self.workspace.state_schema())),
            _ => None,
        })
    }
}

/// The number of the last step that a state's text holds.
fn last_step(text: &str) -> Option<u64> {
    let value: serde_json::Value = serde_json::from_str(text).ok()?;
    value.get("history")?.as_array()?.last()?.get("seq")?.as_u64()
}

//! Rebuilding a lost or broken state: from git history, else from the transcript.

use super::{Engine, Error, TaskRef};
use crate::base::{Diagnostic, Digest};
use crate::record::{TRANSCRIPT_FILE, read_state, rebuild, write_state};
use crate::store::durable;

/// Where a state came from.
pub enum Recovered {
    /// It was whole; nothing was done.
    NotNeeded,
    /// Of the newest commit that holds a whole one.
    FromGit(Digest),
    /// Of the last line of the transcript.
    FromTranscript,
}

impl Engine {
    /// Rebuilds `state.json`, keeping what was there as `state.json.broken`.
    ///
    /// The work directory is mended, nothing is committed: a state of the past is restored, no
    /// transition is made.
    pub fn recover(&mut self, task: &TaskRef) -> Result<Recovered, Error> {
        let judged = self.judge(task)?;
        if judged.state().is_some() {
            return Ok(Recovered::NotNeeded);
        }
        if self.would_forget(task)? {
            let message =
                format!("two branches moved `{}`, and recovering would forget one of them", task.id);
            let hint = Some(format!("orch resolve {}", task.id));
            return Err(Error::NotNow { code: "conflict-markers", message, hint });
        }
        let phase_key = judged.workflow().map_or("phase", |workflow| workflow.phase_key.as_str());
        let path = task.state_path()?;
        let (text, from) = match self.state_from_git(task, phase_key)? {
            Some((text, commit)) => (text, Recovered::FromGit(commit)),
            None => match self.state_from_transcript(task, phase_key)? {
                Some(text) => (text, Recovered::FromTranscript),
                None => {
                    let message =
                        format!("neither git history nor {TRANSCRIPT_FILE} holds a state of `{}`", task.id);
                    let hint =
                        format!("start over: remove {path} and {TRANSCRIPT_FILE}, then orch new {}", task.id);
                    return Err(Error::NotNow { code: "state-lost", message, hint: Some(hint) });
                }
            },
        };
        if let Some(broken) = &judged.observed.state {
            let kept = path.under(&self.root).with_extension("json.broken");
            durable::write_atomic(&kept, &broken.bytes)?;
        }
        durable::write_atomic(&path.under(&self.root), text.as_bytes())?;
        Ok(from)
    }

    fn state_from_git(&self, task: &TaskRef, phase_key: &str) -> Result<Option<(String, Digest)>, Error> {
        let Some(store) = &self.store else { return Ok(None) };
        for commit in store.history(&task.directory, 100)? {
            let Some(bytes) = store.read_at(commit.id, &task.state_path()?)? else { continue };
            let Ok(text) = String::from_utf8(bytes) else { continue };
            let whole =
                serde_json::from_str(&text).is_ok_and(|value| read_state(&value, &text, phase_key).is_ok());
            if whole {
                return Ok(Some((text, commit.id)));
            }
        }
        Ok(None)
    }

    fn state_from_transcript(&self, task: &TaskRef, phase_key: &str) -> Result<Option<String>, Error> {
        let path = task
            .directory
            .join(TRANSCRIPT_FILE)
            .map_err(|error| Diagnostic::error("path", error.to_string()))?;
        let Some(bytes) = durable::read_regular(&path.under(&self.root)) else { return Ok(None) };
        let text = String::from_utf8_lossy(&bytes);
        Ok(match rebuild(&text, phase_key) {
            Some(Ok(state)) => Some(write_state(&state, phase_key, &self.state_schema())),
            _ => None,
        })
    }
}

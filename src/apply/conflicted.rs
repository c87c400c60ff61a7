//! Records in pieces: where both sides of a file are found that a merge left in conflict.
//!
//! In the index; where it says nothing, at the conflict markers, if they hold two whole states; else in
//! the commits that were merged.

use super::Writer;
use crate::base::{Code, Reason, RepoPath, command};
use crate::decide::{Recorded, State};
use crate::record::{Event, read_state, read_transcript, sides, united_lines, without_markers, write_state};
use crate::store::{Unmerged, durable};
use crate::survey::snapshot::workflow_named_in;
use crate::survey::{Error, TaskRef};

/// Both sides of a file, and what they come from, where it is known.
pub(super) struct Conflicted {
    pub base: Option<Vec<u8>>,
    pub ours: Vec<u8>,
    pub theirs: Vec<u8>,
}

impl Conflicted {
    /// The sides that conflict markers tell apart; `None` where there are none.
    pub(super) fn in_text(bytes: &[u8]) -> Option<Self> {
        let sides = sides(std::str::from_utf8(bytes).ok()?)?;
        Some(Self {
            base: sides.base.map(String::into_bytes),
            ours: sides.ours.into_bytes(),
            theirs: sides.theirs.into_bytes(),
        })
    }

    /// The lines of both sides, each once.
    pub(super) fn united(&self) -> Vec<u8> {
        match (std::str::from_utf8(&self.ours), std::str::from_utf8(&self.theirs)) {
            (Ok(ours), Ok(theirs)) => united_lines(ours, theirs).into_bytes(),
            _ => [self.ours.as_slice(), &self.theirs].concat(),
        }
    }

    /// The state after the last step that both sides of a transcript tell.
    pub(super) fn last_common(&self, phase_key: &str) -> Option<State> {
        let events = |bytes: &[u8]| read_transcript(&String::from_utf8_lossy(bytes));
        let theirs = events(&self.theirs);
        let common = events(&self.ours).into_iter().filter(|event| theirs.contains(event));
        common.max_by_key(|event| event.entry.seq)?.state(phase_key).ok()
    }
}

impl Writer<'_> {
    /// The tasks whose record a merge left in pieces.
    pub fn torn_tasks(&self) -> Result<Vec<TaskRef>, Error> {
        let unmerged = self.unmerged()?;
        let mut tasks = self.workspace.tasks();
        // One side may have removed what the other has moved.
        for task in unmerged.iter().filter_map(|one| self.task_of_record(&one.path)) {
            if !tasks.contains(&task) {
                tasks.push(task);
            }
        }
        tasks.sort_by(|a, b| (&a.id, &a.directory).cmp(&(&b.id, &b.directory)));
        let mut conflicted = Vec::new();
        for task in tasks {
            // What cannot be told apart is in pieces, too.
            let is_whole = |path: RepoPath| matches!(self.conflicted(&path, &unmerged), Ok(None));
            if !(is_whole(task.state_path()?) && is_whole(task.transcript_path()?)) {
                conflicted.push(task);
            }
        }
        Ok(conflicted)
    }

    /// Whether a task's record is in pieces that tell different stories.
    pub(super) fn would_forget(&self, task: &TaskRef) -> Result<bool, Error> {
        let unmerged = self.unmerged()?;
        let differ = |conflicted: &Conflicted| conflicted.ours != conflicted.theirs;
        let state = self.conflicted_state(task, &unmerged).ok().flatten();
        let transcript = self.conflicted(&task.transcript_path()?, &unmerged).ok().flatten();
        Ok(state.as_ref().is_some_and(differ) || transcript.as_ref().is_some_and(differ))
    }

    pub(super) fn unmerged(&self) -> Result<Vec<Unmerged>, Error> {
        self.workspace.store.as_ref().map_or(Ok(Vec::new()), |store| store.unmerged())
    }

    /// The task whose record a path is, whether anything of it is there or not.
    fn task_of_record(&self, path: &RepoPath) -> Option<TaskRef> {
        let directory = path.parent()?;
        let roots = &self.workspace.setting.config.roots;
        let (root, id) = roots.match_directory(&directory)?;
        let task = TaskRef { id, directory, workflow: roots.get(root)?.workflow.clone() };
        let own = [task.state_path().ok()?, task.transcript_path().ok()?];
        own.contains(path).then_some(task)
    }

    /// Both sides of a file, from the index or from its own conflict markers.
    pub(super) fn conflicted(
        &self,
        path: &RepoPath,
        unmerged: &[Unmerged],
    ) -> Result<Option<Conflicted>, Error> {
        if let (Some(store), Some(one)) =
            (&self.workspace.store, unmerged.iter().find(|one| one.path == *path))
        {
            let blob = |stage: usize| -> Result<Option<Vec<u8>>, Error> {
                Ok(one.stages[stage].map(|blob| store.blob(blob)).transpose()?.flatten())
            };
            let (Some(ours), Some(theirs)) = (blob(1)?, blob(2)?) else {
                let message = format!("one side removed {path}, and the other went on with it");
                let hint = format!("git add {path} to keep it, or git rm {path}");
                return Err(Error::new(Code::RemovedAndMoved, message).with_hint(hint));
            };
            return Ok(Some(Conflicted { base: blob(0)?, ours, theirs }));
        }
        let bytes = durable::read_regular(&path.under(&self.workspace.root)).unwrap_or_default();
        Ok(Conflicted::in_text(&bytes))
    }

    /// Both sides of a state. Git joins what does not overlap outside of the markers, so what can be cut
    /// out at them is a side only if its seal is whole; else the commits are asked.
    pub(super) fn conflicted_state(
        &self,
        task: &TaskRef,
        unmerged: &[Unmerged],
    ) -> Result<Option<Conflicted>, Error> {
        let path = task.state_path()?;
        let is_unmerged = unmerged.iter().any(|one| one.path == path);
        let found = self.conflicted(&path, unmerged)?;
        if is_unmerged
            || found.as_ref().is_some_and(|conflicted| {
                self.is_whole(&conflicted.ours) && self.is_whole(&conflicted.theirs)
            })
        {
            return Ok(found);
        }
        let is_broken =
            || self.workspace.judge(task).is_ok_and(|judged| matches!(judged.recorded, Recorded::Broken(_)));
        if found.is_none() && !is_broken() {
            return Ok(None);
        }
        let committed = self.torn_commit(task, found.is_some())?;
        if found.is_some() && committed.is_none() {
            let message = format!("neither {path} nor the commits here tell both sides of it");
            let back = command(&["git", "checkout", "-m", "--", path.as_str()]);
            let one_side = command(&["orch", "recover", task.id.as_str()]);
            let hint = Some(format!("bring the conflict back: {back}; or give up one side: {one_side}"));
            return Err(Error::new(Code::SideBroken, message).with_hint(hint));
        }
        Ok(committed)
    }

    fn is_whole(&self, bytes: &[u8]) -> bool {
        let loaded = workflow_named_in(bytes).and_then(|name| self.workspace.setting.workflow(&name).ok());
        let workflow = loaded.as_ref().and_then(|loaded| loaded.workflow.as_ref());
        workflow.is_some_and(|workflow| state_in(bytes, &workflow.phase_key).is_ok())
    }

    /// Both sides of a state as the commits hold them that it was made of: of a merge, both parents; of
    /// a rebase or a cherry-pick the one parent, and what the transcript tells beside.
    fn torn_commit(&self, task: &TaskRef, has_markers: bool) -> Result<Option<Conflicted>, Error> {
        let Some(store) = &self.workspace.store else { return Ok(None) };
        let Some(head) = store.head()?.commit else { return Ok(None) };
        let path = task.state_path()?;
        let bytes = durable::read_regular(&path.under(&self.workspace.root)).unwrap_or_default();
        let is_committed = store.blob_at_head(&path)? == Some(store.digest(&path, &bytes)?);
        let last_change = store.last_changes(std::slice::from_ref(&path))?.first().copied().flatten();
        let parents = match last_change {
            Some(commit) if is_committed => store.visit(commit)?.parents,
            _ => [head].into_iter().chain(store.merge_heads()?).collect(),
        };
        match parents[..] {
            [ours, theirs] => {
                let base = store.merge_bases(ours, theirs)?.first().copied();
                let base = base.map(|base| store.read_at(base, &path)).transpose()?.flatten();
                let both = (store.read_at(ours, &path)?, store.read_at(theirs, &path)?);
                Ok(both.0.zip(both.1).map(|(ours, theirs)| Conflicted { base, ours, theirs }))
            }
            [parent] if has_markers => {
                let Some(ours) = store.read_at(parent, &path)? else { return Ok(None) };
                let known = store.read_at(parent, &task.transcript_path()?)?.unwrap_or_default();
                let now = durable::read_regular(&task.transcript_path()?.under(&self.workspace.root))
                    .unwrap_or_default();
                self.told_beside(task, ours, &known, &without_markers(&now))
            }
            _ => Ok(None),
        }
    }

    /// The state of the branch that a transcript tells of beside what our side knows.
    fn told_beside(
        &self,
        task: &TaskRef,
        ours: Vec<u8>,
        known: &[u8],
        now: &[u8],
    ) -> Result<Option<Conflicted>, Error> {
        let named = workflow_named_in(&ours);
        let loaded = self.workspace.setting.workflow(named.as_deref().unwrap_or(task.workflow.as_str()))?;
        let Some(workflow) = &loaded.workflow else { return Err(loaded.faulty()) };
        let events = |bytes: &[u8]| read_transcript(&String::from_utf8_lossy(bytes));
        let (known, mut other) = (events(known), events(now));
        other.retain(|event| !known.contains(event));
        other.sort_by_key(|event| event.entry.seq);
        let (Some(first), Some(last)) = (other.first(), other.last()) else { return Ok(None) };
        let from = known.iter().rev().find(|event| event.entry.seq < first.entry.seq);
        let text = |event: &Event| {
            let state = event.state(&workflow.phase_key).ok()?;
            Some(write_state(&state, &workflow.phase_key, &self.workspace.state_schema()).into_bytes())
        };
        let base = from.and_then(text);
        Ok(text(last).map(|theirs| Conflicted { base, ours, theirs }))
    }
}

/// A whole state, or why there is none.
pub(super) fn state_in(bytes: &[u8], phase_key: &str) -> Result<State, Reason> {
    let text = std::str::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?;
    let value = serde_json::from_str(text).map_err(|error| format!("it is not JSON: {error}"))?;
    read_state(&value, text, phase_key)
        .map_err(|faults| faults.into_iter().next().map(|fault| fault.message).unwrap_or_default().into())
}

//! Settling what a merge left of a task's record: both sides are read, and one state is derived.
//!
//! The sides come from the index; where it says nothing, from the conflict markers, if they hold two
//! whole states; else from the commits that were merged.

use super::snapshot::workflow_named_in;
use super::{Engine, Error, Judged, Loaded, Outcome, TaskRef};
use crate::base::{Diagnostic, Digest, Place, RepoPath};
use crate::decide::{self, Conflict, HistoryEntry, Recorded, State, Step};
use crate::record::{
    Event, read_state, read_transcript, sides, united_lines, with_line, without_markers, write_state,
};
use crate::scan::conflict;
use crate::store::{self, Operation, Unmerged, durable, resolving};
use crate::workflow::Workflow;
use std::cell::RefCell;
use std::rc::Rc;

/// A side of a merge, by git's names: in a rebase, ours is what is built upon.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MergeSide {
    /// What HEAD holds.
    Ours,
    /// What is merged into it.
    Theirs,
}

/// A side that somebody chooses, against the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chosen {
    /// Which.
    pub side: MergeSide,
    /// Why.
    pub reason: String,
}

/// What became of a task's record.
pub enum Resolved {
    /// It is whole again.
    Settled(Box<Settlement>),
    /// A person has to choose a side.
    Disputed(Box<Dispute>),
}

/// How a record became whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum How {
    /// One side had moved.
    Moved(MergeSide),
    /// Both had; the state is derived from both.
    Merged,
    /// Somebody chose.
    Chosen(MergeSide),
    /// Only the transcript was in two pieces.
    Transcript,
}

/// A record that is whole again.
pub struct Settlement {
    /// The task as it stands now.
    pub judged: Judged,
    /// How it became so.
    pub how: How,
    /// The phases that the two sides are in.
    pub phases: [String; 2],
    /// Whether it was marked as resolved in the index.
    pub staged: bool,
    /// The commit that was made, where no operation of git goes on.
    pub commit: Option<Digest>,
    /// What is left to people: every other file of the task that is not merged.
    pub left: Vec<Diagnostic>,
}

/// Two sides that no rule joins.
pub struct Dispute {
    /// The task.
    pub task: TaskRef,
    /// The phases that the two sides are in.
    pub phases: [String; 2],
    /// Why not.
    pub conflict: Conflict,
    /// What our side alone tells, oldest first.
    pub ours: Vec<HistoryEntry>,
    /// What the other side alone tells.
    pub theirs: Vec<HistoryEntry>,
}

/// Both sides of a file, and what they come from, where it is known.
struct Torn {
    base: Option<Vec<u8>>,
    ours: Vec<u8>,
    theirs: Vec<u8>,
}

/// Both sides of a state.
struct Sides {
    base: Option<State>,
    ours: State,
    theirs: State,
}

/// A state that was settled.
struct Derived {
    how: How,
    state: State,
    phases: [String; 2],
}

/// Why nothing was derived.
enum Refused {
    Disputed(Box<Dispute>),
    Failed(Error),
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl Engine {
    /// The tasks whose record a merge left in pieces.
    pub fn torn_tasks(&self) -> Result<Vec<TaskRef>, Error> {
        let unmerged = self.unmerged()?;
        let mut tasks = self.tasks();
        // One side may have removed what the other has moved.
        for task in unmerged.iter().filter_map(|one| self.task_of_record(&one.path)) {
            if !tasks.contains(&task) {
                tasks.push(task);
            }
        }
        tasks.sort_by(|a, b| (&a.id, &a.directory).cmp(&(&b.id, &b.directory)));
        let mut torn = Vec::new();
        for task in tasks {
            // What cannot be told apart is in pieces, too.
            let is_whole = |path: RepoPath| matches!(self.torn(&path, &unmerged), Ok(None));
            if !(is_whole(task.state_path()?) && is_whole(task.transcript_path()?)) {
                torn.push(task);
            }
        }
        Ok(torn)
    }

    /// Settles a task's record; `None` where it is in one piece.
    ///
    /// In the middle of an operation of git its two files are written and staged, else committed.
    pub fn resolve(&mut self, task: &TaskRef, chosen: Option<&Chosen>) -> Result<Option<Resolved>, Error> {
        let unmerged = self.unmerged()?;
        let (state_path, transcript_path) = (task.state_path()?, task.transcript_path()?);
        let state = self.torn_state(task, &unmerged)?;
        let transcript = self.torn(&transcript_path, &unmerged)?;
        if state.is_none() && transcript.is_none() {
            return Ok(None);
        }
        let is_unmerged = |path: &RepoPath| unmerged.iter().any(|one| one.path == *path);
        let pending = self.operation().is_some() || is_unmerged(&state_path) || is_unmerged(&transcript_path);
        let settled = if pending {
            self.stage(task, state.as_ref(), transcript.as_ref(), chosen).map(|derived| (derived, None))
        } else {
            self.record(task, chosen)
        };
        let (derived, commit) = match settled {
            Ok(settled) => settled,
            Err(Refused::Disputed(dispute)) => return Ok(Some(Resolved::Disputed(dispute))),
            Err(Refused::Failed(error)) => return Err(error),
        };
        let judged = self.judge(task)?;
        let left = self.left_over(&judged)?;
        let Derived { how, phases, .. } = derived;
        let settlement = Settlement { judged, how, phases, staged: pending, commit, left };
        Ok(Some(Resolved::Settled(Box::new(settlement))))
    }

    /// The operation of git that is going on, if one is.
    #[must_use]
    pub fn operation(&self) -> Option<Operation> {
        self.store.as_ref()?.operation()
    }

    /// Whether any path of the repository is unmerged.
    pub fn is_unmerged(&self) -> Result<bool, Error> {
        Ok(!self.unmerged()?.is_empty())
    }

    fn unmerged(&self) -> Result<Vec<Unmerged>, Error> {
        self.store.as_ref().map_or(Ok(Vec::new()), |store| Ok(store.unmerged()?))
    }

    /// The task whose record a path is, whether anything of it is there or not.
    fn task_of_record(&self, path: &RepoPath) -> Option<TaskRef> {
        let directory = path.parent()?;
        let roots = &self.setting.config.roots;
        let (root, id) = roots.match_directory(&directory)?;
        let task = TaskRef { id, directory, workflow: roots.get(root)?.workflow.clone() };
        let own = [task.state_path().ok()?, task.transcript_path().ok()?];
        own.contains(path).then_some(task)
    }

    /// Both sides of a file, from the index or from its own conflict markers.
    fn torn(&self, path: &RepoPath, unmerged: &[Unmerged]) -> Result<Option<Torn>, Error> {
        if let (Some(store), Some(one)) = (&self.store, unmerged.iter().find(|one| one.path == *path)) {
            let blob = |stage: usize| -> Result<Option<Vec<u8>>, Error> {
                Ok(one.stages[stage].map(|blob| store.blob(blob)).transpose()?.flatten())
            };
            let (Some(ours), Some(theirs)) = (blob(1)?, blob(2)?) else {
                let message = format!("one side removed {path}, and the other went on with it");
                let hint = format!("git add {path} to keep it, or git rm {path}");
                return Err(Error::NotNow { code: "removed-and-moved", message, hint: Some(hint) });
            };
            return Ok(Some(Torn { base: blob(0)?, ours, theirs }));
        }
        let bytes = durable::read_regular(&path.under(&self.root)).unwrap_or_default();
        Ok(torn_text(&bytes))
    }

    /// Both sides of a state. Git joins what does not overlap outside of the markers, so what can be cut
    /// out at them is a side only if its seal is whole; else the commits are asked.
    fn torn_state(&self, task: &TaskRef, unmerged: &[Unmerged]) -> Result<Option<Torn>, Error> {
        let path = task.state_path()?;
        let is_unmerged = unmerged.iter().any(|one| one.path == path);
        let found = self.torn(&path, unmerged)?;
        if is_unmerged
            || found.as_ref().is_some_and(|torn| self.is_whole(&torn.ours) && self.is_whole(&torn.theirs))
        {
            return Ok(found);
        }
        let is_broken =
            || self.judge(task).is_ok_and(|judged| matches!(judged.recorded, Recorded::Broken(_)));
        if found.is_none() && !is_broken() {
            return Ok(None);
        }
        let committed = self.torn_commit(task, found.is_some())?;
        if found.is_some() && committed.is_none() {
            let message = format!("neither {path} nor the commits here tell both sides of it");
            let hint = Some(format!("git checkout -m -- {path} brings the conflict back, if it was there"));
            return Err(Error::NotNow { code: "side-broken", message, hint });
        }
        Ok(committed)
    }

    fn is_whole(&self, bytes: &[u8]) -> bool {
        let loaded = workflow_named_in(bytes).and_then(|name| self.setting.workflow(&name).ok());
        let workflow = loaded.as_ref().and_then(|loaded| loaded.workflow.as_ref());
        workflow.is_some_and(|workflow| state_in(bytes, &workflow.phase_key).is_ok())
    }

    /// Both sides of a state as the commits hold them that it was made of: of a merge, both parents; of
    /// a rebase or a cherry-pick the one parent, and what the transcript tells beside.
    fn torn_commit(&self, task: &TaskRef, has_markers: bool) -> Result<Option<Torn>, Error> {
        let Some(store) = &self.store else { return Ok(None) };
        let Some(head) = store.head()?.commit else { return Ok(None) };
        let path = task.state_path()?;
        let bytes = durable::read_regular(&path.under(&self.root)).unwrap_or_default();
        let is_committed = store.blob_at_head(&path)? == Some(store.digest(&path, &bytes)?);
        let parents = match store.history(&task.directory, 1)?.first() {
            Some(commit) if is_committed => store.visit(commit.id)?.parents,
            _ => [head].into_iter().chain(store.merge_heads()).collect(),
        };
        match parents[..] {
            [ours, theirs] => {
                let base = store.merge_bases(ours, theirs)?.first().copied();
                let base = base.map(|base| store.read_at(base, &path)).transpose()?.flatten();
                let both = (store.read_at(ours, &path)?, store.read_at(theirs, &path)?);
                Ok(both.0.zip(both.1).map(|(ours, theirs)| Torn { base, ours, theirs }))
            }
            [parent] if has_markers => {
                let Some(ours) = store.read_at(parent, &path)? else { return Ok(None) };
                let known = store.read_at(parent, &task.transcript_path()?)?.unwrap_or_default();
                let now =
                    durable::read_regular(&task.transcript_path()?.under(&self.root)).unwrap_or_default();
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
    ) -> Result<Option<Torn>, Error> {
        let named = workflow_named_in(&ours);
        let loaded = self.setting.workflow(named.as_deref().unwrap_or(task.workflow.as_str()))?;
        let Some(workflow) = &loaded.workflow else { return Err(loaded.faulty()) };
        let events = |bytes: &[u8]| read_transcript(&String::from_utf8_lossy(bytes));
        let (known, mut other) = (events(known), events(now));
        other.retain(|event| !known.contains(event));
        other.sort_by_key(|event| event.entry.seq);
        let (Some(first), Some(last)) = (other.first(), other.last()) else { return Ok(None) };
        let from = known.iter().rev().find(|event| event.entry.seq < first.entry.seq);
        let text = |event: &Event| {
            let state = event.state(&workflow.phase_key).ok()?;
            Some(write_state(&state, &workflow.phase_key, &self.state_schema()).into_bytes())
        };
        let base = from.and_then(text);
        Ok(text(last).map(|theirs| Torn { base, ours, theirs }))
    }

    /// Derives the state from both sides, or takes the one that was chosen.
    fn derive(
        &self,
        task: &TaskRef,
        state: Option<&Torn>,
        transcript: Option<&Torn>,
        chosen: Option<&Chosen>,
    ) -> Result<(Derived, Rc<Loaded>), Refused> {
        let Some(torn) = state else { return self.as_it_is(task) };
        let loaded = self.workflow_of(task, torn)?;
        let Some(workflow) = &loaded.workflow else { return Err(loaded.faulty().into()) };
        let sides = self.sides(task, torn, transcript, &workflow.phase_key)?;
        let phase = |state: &State| state.phase.clone().unwrap_or_else(|| workflow.initial.to_string());
        let phases = [phase(&sides.ours), phase(&sides.theirs)];
        let (how, state) = match chosen {
            Some(Chosen { side, reason }) => {
                let (own, other) = match side {
                    MergeSide::Ours => (&sides.ours, &sides.theirs),
                    MergeSide::Theirs => (&sides.theirs, &sides.ours),
                };
                let state = decide::choose(workflow, own, other, reason, &self.stamp());
                (How::Chosen(*side), state.map_err(Error::from)?)
            }
            None => match decide::merge(workflow, sides.base.as_ref(), &sides.ours, &sides.theirs) {
                Ok(state) if state == sides.ours => (How::Moved(MergeSide::Ours), state),
                Ok(state) if state == sides.theirs => (How::Moved(MergeSide::Theirs), state),
                Ok(state) => (How::Merged, state),
                Err(conflict) => {
                    return Err(Refused::Disputed(Box::new(Dispute {
                        task: task.clone(),
                        phases,
                        conflict,
                        ours: alone(&sides.ours, &sides.theirs),
                        theirs: alone(&sides.theirs, &sides.ours),
                    })));
                }
            },
        };
        Ok((Derived { how, state, phases }, loaded))
    }

    /// The state of a task of which only the transcript is in pieces.
    fn as_it_is(&self, task: &TaskRef) -> Result<(Derived, Rc<Loaded>), Refused> {
        let Judged { loaded, observed, .. } = self.judge(task)?;
        let Some(workflow) = &loaded.workflow else { return Err(loaded.faulty().into()) };
        let bytes = observed.state.as_ref().map_or(&b""[..], |file| &file.bytes);
        let state = state_in(bytes, &workflow.phase_key).map_err(|why| {
            let message = format!("the state of `{}` cannot be used: {why}", task.id);
            let hint = Some(format!("put state.json back, then: orch resolve {}", task.id));
            Error::NotNow { code: "state-invalid", message, hint }
        })?;
        let phase = state.phase.clone().unwrap_or_default();
        let phases = [phase.clone(), phase];
        Ok((Derived { how: How::Transcript, state, phases }, Rc::clone(&loaded)))
    }

    fn workflow_of(&self, task: &TaskRef, torn: &Torn) -> Result<Rc<Loaded>, Error> {
        let named = workflow_named_in(&torn.ours).or_else(|| workflow_named_in(&torn.theirs));
        self.setting.workflow(named.as_deref().unwrap_or(task.workflow.as_str()))
    }

    fn sides(
        &self,
        task: &TaskRef,
        torn: &Torn,
        transcript: Option<&Torn>,
        phase_key: &str,
    ) -> Result<Sides, Error> {
        let side = |bytes: &[u8], name: &str, other: &str| {
            state_in(bytes, phase_key).map_err(|why| {
                let message =
                    format!("the side `{name}` of the state of `{}` cannot be used: {why}", task.id);
                let path = format!("{}/state.json", task.directory);
                let hint = format!("take the other one: git checkout --{other} -- {path} && git add {path}");
                Error::NotNow { code: "side-broken", message, hint: Some(hint) }
            })
        };
        let ours = side(&torn.ours, "ours", "theirs")?;
        let theirs = side(&torn.theirs, "theirs", "ours")?;
        let base = torn.base.as_deref().and_then(|bytes| state_in(bytes, phase_key).ok());
        let base = base.or_else(|| last_common(transcript?, phase_key));
        Ok(Sides { base, ours, theirs })
    }

    /// Writes and stages the two files of a record, and nothing else.
    fn stage(
        &self,
        task: &TaskRef,
        state: Option<&Torn>,
        transcript: Option<&Torn>,
        chosen: Option<&Chosen>,
    ) -> Result<Derived, Refused> {
        let (derived, loaded) = self.derive(task, state, transcript, chosen)?;
        let Some(workflow) = &loaded.workflow else { return Err(loaded.faulty().into()) };
        let path = task.transcript_path()?;
        let lines = match transcript {
            Some(torn) => united(torn),
            None => durable::read_regular(&path.under(&self.root)).unwrap_or_default(),
        };
        let lines = with_line(lines, &derived.state, &workflow.phase_key);
        let state = write_state(&derived.state, &workflow.phase_key, &self.state_schema());
        let files = [(task.state_path()?, state.into_bytes()), (path, lines)];
        self.repository_or_refuse()?.settle(&files).map_err(Error::from)?;
        Ok(derived)
    }

    /// Commits the settled record as any other transition.
    fn record(
        &mut self,
        task: &TaskRef,
        chosen: Option<&Chosen>,
    ) -> Result<(Derived, Option<Digest>), Refused> {
        let came = RefCell::new(None);
        let outcomes = self.apply(std::slice::from_ref(task), false, &|engine, judged| {
            let state = engine.torn_state(task, &[])?;
            let transcript = judged.observed.transcript.as_deref().and_then(torn_text);
            let derived = engine.derive(task, state.as_ref(), transcript.as_ref(), chosen);
            let workflow = judged.workflow().ok_or_else(|| judged.loaded.faulty())?;
            let step = derived.as_ref().map(|(derived, _)| step_of(workflow, derived));
            let steps = step.into_iter().collect();
            came.replace(Some(derived.map(|(derived, _)| derived)));
            Ok(steps)
        })?;
        let commit = outcomes.into_iter().find_map(|outcome| match outcome {
            Outcome::Applied(applied) => applied.steps.last().and_then(|(_, commit)| *commit),
            Outcome::Nothing(_) => None,
        });
        came.into_inner().ok_or(Error::from(store::Error::Moved))?.map(|derived| (derived, commit))
    }

    /// Every other file of a task that is still in two pieces.
    fn left_over(&self, judged: &Judged) -> Result<Vec<Diagnostic>, Error> {
        let mut left: Vec<Diagnostic> = Vec::new();
        for one in self.unmerged()? {
            if one.path.below(&judged.task.directory).is_none() {
                continue;
            }
            let bytes = durable::read_regular(&one.path.under(&self.root)).unwrap_or_default();
            let text = String::from_utf8_lossy(&bytes);
            let found = conflict(&one.path, &text).unwrap_or_else(|| {
                Diagnostic::error("unmerged", "it is unmerged").at(Place::file(&one.path))
            });
            left.push(found.hint(resolving(one.path.as_str())));
        }
        let torn = judged.decision.diagnostics.iter().filter(|found| found.code == "conflict-markers");
        for found in torn {
            let path = |one: &Diagnostic| one.place.as_ref().map(|place| place.path.clone());
            if !left.iter().any(|known| path(known) == path(found)) {
                left.push(found.clone());
            }
        }
        Ok(left)
    }
}

/// What one side tells and the other does not; what is older than all that the other keeps, both know.
fn alone(one: &State, other: &State) -> Vec<HistoryEntry> {
    let oldest = other.history.first().map_or(0, |first| first.seq);
    let own = one.history.iter().filter(|entry| entry.seq >= oldest && !other.history.contains(entry));
    own.cloned().collect()
}

/// The step that records a settled state.
fn step_of(workflow: &Workflow, derived: &Derived) -> Step {
    let state = derived.state.clone();
    let by_person = matches!(derived.how, How::Chosen(_));
    Step { transition: decide::merging(workflow, &state, by_person), state }
}

fn torn_text(bytes: &[u8]) -> Option<Torn> {
    let sides = sides(std::str::from_utf8(bytes).ok()?)?;
    Some(Torn {
        base: sides.base.map(String::into_bytes),
        ours: sides.ours.into_bytes(),
        theirs: sides.theirs.into_bytes(),
    })
}

/// The lines of both sides, each once.
fn united(torn: &Torn) -> Vec<u8> {
    match (std::str::from_utf8(&torn.ours), std::str::from_utf8(&torn.theirs)) {
        (Ok(ours), Ok(theirs)) => united_lines(ours, theirs).into_bytes(),
        _ => [torn.ours.as_slice(), &torn.theirs].concat(),
    }
}

/// The state after the last step that both sides of a transcript tell.
fn last_common(transcript: &Torn, phase_key: &str) -> Option<State> {
    let events = |bytes: &[u8]| read_transcript(&String::from_utf8_lossy(bytes));
    let theirs = events(&transcript.theirs);
    let common = events(&transcript.ours).into_iter().filter(|event| theirs.contains(event));
    common.max_by_key(|event| event.entry.seq)?.state(phase_key).ok()
}

/// A whole state, or why there is none.
pub(super) fn state_in(bytes: &[u8], phase_key: &str) -> Result<State, String> {
    let text = std::str::from_utf8(bytes).map_err(|_| "it is not UTF-8".to_owned())?;
    let value = serde_json::from_str(text).map_err(|error| format!("it is not JSON: {error}"))?;
    read_state(&value, text, phase_key)
        .map_err(|faults| faults.into_iter().next().map(|fault| fault.message).unwrap_or_default())
}

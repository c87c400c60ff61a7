//! Settling what a merge left of a task's record: both sides are read, and one state is derived.
//!
//! In the middle of an operation of git the result is staged, otherwise it is committed.

use super::TaskOutcome;
use super::Writer;
use super::conflicted::{Conflicted, state_in};
use crate::base::{Code, Diagnostic, Digest, Place, RepoPath};
use crate::decide::{self, Conflict, HistoryEntry, State, Step};
use crate::record::{with_line, write_state};
use crate::scan::conflict;
use crate::store::{Operation, durable, resolving};
use crate::survey::snapshot::workflow_named_in;
use crate::survey::{Error, Judged, Loaded, TaskRef};
use crate::workflow::Workflow;
use std::cell::RefCell;
use std::sync::Arc;

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
pub enum ResolvedBy {
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
    pub how: ResolvedBy,
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

/// Both sides of a state.
struct StateSides {
    base: Option<State>,
    ours: State,
    theirs: State,
}

/// A state that was settled.
struct DerivedState {
    how: ResolvedBy,
    state: State,
    phases: [String; 2],
}

/// Why nothing was derived.
enum ResolveRefusal {
    Disputed(Box<Dispute>),
    Failed(Error),
}

impl From<Error> for ResolveRefusal {
    fn from(error: Error) -> Self {
        Self::Failed(error)
    }
}

impl Writer<'_> {
    /// Settles a task's record; `None` where it is in one piece.
    ///
    /// In the middle of an operation of git its two files are written and staged, else committed.
    pub fn resolve(&self, task: &TaskRef, chosen: Option<&Chosen>) -> Result<Option<Resolved>, Error> {
        let unmerged = self.unmerged()?;
        let (state_path, transcript_path) = (task.state_path()?, task.transcript_path()?);
        let state = self.conflicted_state(task, &unmerged)?;
        let transcript = self.conflicted(&transcript_path, &unmerged)?;
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
            Err(ResolveRefusal::Disputed(dispute)) => return Ok(Some(Resolved::Disputed(dispute))),
            Err(ResolveRefusal::Failed(error)) => return Err(error),
        };
        let judged = self.workspace.judge(task)?;
        let left = self.left_over(&judged)?;
        let DerivedState { how, phases, .. } = derived;
        let settlement = Settlement { judged, how, phases, staged: pending, commit, left };
        Ok(Some(Resolved::Settled(Box::new(settlement))))
    }

    /// The operation of git that is going on, if one is.
    #[must_use]
    pub fn operation(&self) -> Option<Operation> {
        self.workspace.store.as_ref()?.operation()
    }

    /// Whether any path of the repository is unmerged.
    pub fn is_unmerged(&self) -> Result<bool, Error> {
        Ok(!self.unmerged()?.is_empty())
    }

    /// Derives the state from both sides, or takes the one that was chosen.
    fn derive(
        &self,
        task: &TaskRef,
        state: Option<&Conflicted>,
        transcript: Option<&Conflicted>,
        chosen: Option<&Chosen>,
    ) -> Result<(DerivedState, Arc<Loaded>), ResolveRefusal> {
        let Some(conflicted) = state else { return self.as_it_is(task) };
        let loaded = self.workflow_of(task, conflicted)?;
        let Some(workflow) = &loaded.workflow else { return Err(loaded.faulty().into()) };
        let sides = self.sides(task, conflicted, transcript, &workflow.phase_key)?;
        let phase = |state: &State| state.phase.clone().unwrap_or_else(|| workflow.initial.to_string());
        let phases = [phase(&sides.ours), phase(&sides.theirs)];
        let (how, state) = match chosen {
            Some(Chosen { side, reason }) => {
                let (own, other) = match side {
                    MergeSide::Ours => (&sides.ours, &sides.theirs),
                    MergeSide::Theirs => (&sides.theirs, &sides.ours),
                };
                let state = decide::choose(workflow, own, other, reason, &self.stamp());
                (ResolvedBy::Chosen(*side), state?)
            }
            None => match decide::merge(workflow, sides.base.as_ref(), &sides.ours, &sides.theirs) {
                Ok(state) if state == sides.ours => (ResolvedBy::Moved(MergeSide::Ours), state),
                Ok(state) if state == sides.theirs => (ResolvedBy::Moved(MergeSide::Theirs), state),
                Ok(state) => (ResolvedBy::Merged, state),
                Err(conflict) => {
                    return Err(ResolveRefusal::Disputed(Box::new(Dispute {
                        task: task.clone(),
                        phases,
                        conflict,
                        ours: alone(&sides.ours, &sides.theirs),
                        theirs: alone(&sides.theirs, &sides.ours),
                    })));
                }
            },
        };
        Ok((DerivedState { how, state, phases }, loaded))
    }

    /// The state of a task of which only the transcript is in pieces.
    fn as_it_is(&self, task: &TaskRef) -> Result<(DerivedState, Arc<Loaded>), ResolveRefusal> {
        let Judged { loaded, observed, .. } = self.workspace.judge(task)?;
        let Some(workflow) = &loaded.workflow else { return Err(loaded.faulty().into()) };
        let bytes = observed.state.as_ref().map_or(&b""[..], |file| &file.bytes);
        let state = state_in(bytes, &workflow.phase_key).map_err(|why| {
            let message = format!("the state of `{}` cannot be used: {why}", task.id);
            let hint = Some(format!("put state.json back, then: orch resolve {}", task.id));
            Error::new(Code::StateInvalid, message).with_hint(hint)
        })?;
        let phase = state.phase.clone().unwrap_or_default();
        let phases = [phase.clone(), phase];
        Ok((DerivedState { how: ResolvedBy::Transcript, state, phases }, Arc::clone(&loaded)))
    }

    fn workflow_of(&self, task: &TaskRef, conflicted: &Conflicted) -> Result<Arc<Loaded>, Error> {
        let named = workflow_named_in(&conflicted.ours).or_else(|| workflow_named_in(&conflicted.theirs));
        self.workspace.setting.workflow(named.as_deref().unwrap_or(task.workflow.as_str()))
    }

    fn sides(
        &self,
        task: &TaskRef,
        conflicted: &Conflicted,
        transcript: Option<&Conflicted>,
        phase_key: &str,
    ) -> Result<StateSides, Error> {
        let side = |bytes: &[u8], name: &str, other: &str| {
            state_in(bytes, phase_key).map_err(|why| {
                let message =
                    format!("the side `{name}` of the state of `{}` cannot be used: {why}", task.id);
                let path = format!("{}/state.json", task.directory);
                let hint = format!("take the other one: git checkout --{other} -- {path} && git add {path}");
                Error::new(Code::SideBroken, message).with_hint(hint)
            })
        };
        let ours = side(&conflicted.ours, "ours", "theirs")?;
        let theirs = side(&conflicted.theirs, "theirs", "ours")?;
        let base = conflicted.base.as_deref().and_then(|bytes| state_in(bytes, phase_key).ok());
        let base = base.or_else(|| transcript?.last_common(phase_key));
        Ok(StateSides { base, ours, theirs })
    }

    /// Writes and stages the two files of a record, and nothing else.
    fn stage(
        &self,
        task: &TaskRef,
        state: Option<&Conflicted>,
        transcript: Option<&Conflicted>,
        chosen: Option<&Chosen>,
    ) -> Result<DerivedState, ResolveRefusal> {
        let (derived, loaded) = self.derive(task, state, transcript, chosen)?;
        let Some(workflow) = &loaded.workflow else { return Err(loaded.faulty().into()) };
        let path = task.transcript_path()?;
        let lines = match transcript {
            Some(conflicted) => conflicted.united(),
            None => durable::read_regular(&path.under(&self.workspace.root)).unwrap_or_default(),
        };
        let lines = with_line(lines, &derived.state, &workflow.phase_key);
        let state = write_state(&derived.state, &workflow.phase_key, &self.workspace.state_schema());
        let files = [(task.state_path()?, state.into_bytes()), (path, lines)];
        self.workspace.repository_or_refuse()?.settle(&files)?;
        Ok(derived)
    }

    /// Commits the settled record as any other transition.
    fn record(
        &self,
        task: &TaskRef,
        chosen: Option<&Chosen>,
    ) -> Result<(DerivedState, Option<Digest>), ResolveRefusal> {
        let came = RefCell::new(None);
        let outcomes = self.apply(std::slice::from_ref(task), false, &|judged| {
            let state = self.conflicted_state(task, &[])?;
            let transcript = judged.observed.transcript.as_deref().and_then(Conflicted::in_text);
            // Somebody else has settled it since it was looked at.
            if state.is_none() && transcript.is_none() {
                return Ok(Vec::new());
            }
            let derived = self.derive(task, state.as_ref(), transcript.as_ref(), chosen);
            let workflow = judged.workflow().ok_or_else(|| judged.loaded.faulty())?;
            let step = derived.as_ref().map(|(derived, _)| step_of(workflow, derived));
            let steps = step.into_iter().collect();
            came.replace(Some(derived.map(|(derived, _)| derived)));
            Ok(steps)
        })?;
        let commit = outcomes.into_iter().find_map(|outcome| match outcome {
            TaskOutcome::Applied(applied) => applied.steps.last().and_then(|(_, commit)| *commit),
            TaskOutcome::Nothing(_) => None,
        });
        came.into_inner().ok_or(Error::moved())?.map(|derived| (derived, commit))
    }

    /// Every other file of a task that is still in two pieces.
    fn left_over(&self, judged: &Judged) -> Result<Vec<Diagnostic>, Error> {
        let mut left: Vec<Diagnostic> = Vec::new();
        for one in self.unmerged()? {
            if one.path.below(&judged.task.directory).is_none() {
                continue;
            }
            let bytes = durable::read_regular(&one.path.under(&self.workspace.root)).unwrap_or_default();
            let text = String::from_utf8_lossy(&bytes);
            let found = conflict(&one.path, &text).unwrap_or_else(|| {
                Diagnostic::error(Code::Unmerged, "it is unmerged").at(Place::file(&one.path))
            });
            left.push(found.hint(resolving(one.path.as_str())));
        }
        let conflicted =
            judged.decision.diagnostics.iter().filter(|found| found.code == Code::ConflictMarkers);
        for found in conflicted {
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
fn step_of(workflow: &Workflow, derived: &DerivedState) -> Step {
    let state = derived.state.clone();
    let by_person = matches!(derived.how, ResolvedBy::Chosen(_));
    Step { transition: decide::merging(workflow, &state, by_person), state }
}

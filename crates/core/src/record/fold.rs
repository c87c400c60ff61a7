//! Folds the log of a task to its state.
//!
//! The state after an event is computed along the *first* event of each `after`, because the changes of an
//! event are relative to that event. So folding needs no workflow document, and joins of the past are not
//! repeated. The rules of merging apply only where branches meet that no event follows yet.

use super::json_patch::apply_patch;
use super::log::{EventLog, LogFault, LogFaultKind};
use super::log_event::LogEvent;
use super::state::read_standing;
use crate::decide::{
    Conflict, HistoryEntry, RecordVersion, Stamp, State, choose, join, keep_latest,
    standing_document,
};
use crate::workflow::Workflow;
use orch_base::{Digest, Error, PhaseId};
use serde_json::{Map, Value};
use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

/// The states after events that were folded before.
///
/// The id of an event determines everything before it, so an entry is valid for every log that contains the
/// event.
#[derive(Debug, Clone)]
pub struct FoldCache {
    folded: HashMap<Digest, Folded>,
    /// The same ids, oldest first; also some that were forgotten.
    kept: VecDeque<Digest>,
    /// The ids of events that another one follows. Their states are seldom asked for once that one is folded.
    followed: VecDeque<Digest>,
    most: usize,
}

impl Default for FoldCache {
    fn default() -> Self {
        Self::of_at_most(MOST_KEPT)
    }
}

/// What an event folds to.
#[derive(Debug, Clone)]
struct Folded {
    /// The part of the state that events change.
    document: Value,
    /// The state after the event.
    state: Arc<State>,
}

/// How many states a cache keeps, if nothing else is said.
const MOST_KEPT: usize = 256;
/// Of how many events that another one follows a cache keeps the states.
const MOST_FOLLOWED: usize = 16;
/// How many joins of several merge bases one fold may make. Honest work never needs more.
const MOST_JOINS: usize = 512;
/// How deep joins of merge bases may nest.
const DEEPEST_JOIN: usize = 64;

/// Why a log cannot be folded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FoldError {
    /// An event cannot be folded.
    #[error(transparent)]
    Fault(#[from] LogFault),
    /// Branches meet that the rules of merging cannot join; a person has to choose a side.
    #[error("{conflict}")]
    Disputed {
        /// Why they cannot be joined.
        conflict: Conflict,
        /// The last event of each branch.
        heads: Vec<Digest>,
    },
}

impl FoldCache {
    /// A cache of so many states.
    #[must_use]
    pub fn of_at_most(most: usize) -> Self {
        Self {
            folded: HashMap::new(),
            kept: VecDeque::new(),
            followed: VecDeque::new(),
            most,
        }
    }

    fn keep(&mut self, event: &LogEvent, folded: Folded) {
        if self.folded.insert(event.id, folded).is_none() {
            self.kept.push_back(event.id);
            self.followed.extend(event.after.first());
        }
        for (ids, most) in [
            (&mut self.followed, MOST_FOLLOWED),
            (&mut self.kept, self.most),
        ] {
            while ids.len() > most {
                ids.pop_front().map(|oldest| self.folded.remove(&oldest));
            }
        }
    }
}

impl EventLog {
    /// The state after the event `id`.
    ///
    /// # Errors
    ///
    /// The event or one of its predecessors is missing from the log, or the changes of one of them do not
    /// apply.
    pub fn state_at(&self, id: &Digest, cache: &mut FoldCache) -> Result<Arc<State>, LogFault> {
        let Some(event) = self.get(id) else {
            return Err(self.fault_of(id, LogFaultKind::UnknownPredecessor(*id)));
        };
        if let Some(known) = cache.folded.get(id) {
            return Ok(Arc::clone(&known.state));
        }
        let document = self.document_at(event, cache)?;
        let standing = read_standing(&document)
            .map_err(|fault| self.fault_of(id, LogFaultKind::Inapplicable(fault.to_string())))?;
        let entry = &event.entry;
        // Usually the state before is known, and has found it.
        let before = event.after.first().filter(|_| event.after.len() == 1);
        let before = before
            .and_then(|before| cache.folded.get(before))
            .map(|known| &known.state);
        let history = self.history(&[event.id]);
        let known = before
            .and_then(|before| before.last_entry_into(&entry.to))
            .cloned();
        let entered = self.entered_before(&history, &event.after, &entry.to, known);
        let state = Arc::new(State {
            heads: vec![event.id],
            rev: entry.seq,
            workflow: Some(event.workflow.clone()),
            phase: Some(entry.to.to_string()),
            history,
            entered,
            updated_at: Some(entry.at),
            ..standing
        });
        cache.keep(
            event,
            Folded {
                document,
                state: Arc::clone(&state),
            },
        );
        Ok(state)
    }

    /// The last step up to these heads that entered a phase, if the history that a state keeps of them does not have it.
    fn entered_before(
        &self,
        history: &[Arc<HistoryEntry>],
        heads: &[Digest],
        phase: &PhaseId,
        known: Option<Arc<HistoryEntry>>,
    ) -> Option<Arc<HistoryEntry>> {
        let is_later = history
            .last()
            .is_some_and(|last| last.version > RecordVersion::First);
        if !is_later || history.iter().any(|entry| entry.enters(phase)) {
            return None;
        }
        known.or_else(|| self.last_entry_into(heads, phase).cloned())
    }

    /// The step that entered the phase of a state, if this history of its heads does not have it.
    fn entered_in(
        &self,
        state: &State,
        history: &[Arc<HistoryEntry>],
    ) -> Option<Arc<HistoryEntry>> {
        let phase = PhaseId::new(state.phase.as_deref()?).ok()?;
        self.entered_before(history, &state.heads, &phase, None)
    }

    fn document_at(&self, event: &LogEvent, cache: &FoldCache) -> Result<Value, LogFault> {
        let mut chain = Vec::new();
        let mut next = Some(event);
        let mut document = Value::Object(Map::new());
        while let Some(event) = next {
            if let Some(known) = cache.folded.get(&event.id) {
                document.clone_from(&known.document);
                break;
            }
            chain.push(event);
            next = match event.after.first() {
                None => None,
                Some(before) => Some(self.get(before).ok_or_else(|| {
                    self.fault_of(&event.id, LogFaultKind::UnknownPredecessor(*before))
                })?),
            };
        }
        for event in chain.into_iter().rev() {
            apply_patch(&mut document, &event.changes.ops()).map_err(|place| {
                self.fault_of(&event.id, LogFaultKind::Inapplicable(place.to_string()))
            })?;
        }
        Ok(document)
    }

    /// The state of the task: the state after its only head, or the join of several heads.
    ///
    /// Neither the order of `heads` nor that of the lines affects the result. Without heads the result is
    /// `None`.
    ///
    /// ````
    /// use orch_core::decide::{ActorKind, By, Facts, Stamp, apply, create, initial_state};
    /// use orch_core::record::{EventLog, FoldCache, record_steps};
    /// # use orch_base::{TaskId, Timestamp};
    /// # use orch_core::workflow::{Document, System, compile};
    /// # let text = "```toml orch
    /// # [workflow]
    /// # initial = 'write'
    /// # [artifact.note]
    /// # path = 'note.json'
    /// # [phase.write]
    /// # produces = ['note']
    /// # [phase.done]
    /// # terminal = true
    /// # [[rule]]
    /// # id = 'finished'
    /// # from = 'write'
    /// # when = 'note.ready'
    /// # to = 'done'
    /// # because = 'the note is finished'
    /// # ```";
    /// # let (workflow, _) = compile(&Document::new("notes", "notes.md", text), &System::empty());
    /// # let workflow = workflow.ok_or("the document has errors")?;
    ///
    /// let facts = Facts::of_no_files(TaskId::new("n-1")?);
    /// let by = By { kind: ActorKind::Human, name: "Ann".to_owned() };
    /// let stamp = Stamp::new(Timestamp::from_seconds(1_700_000_000), by);
    /// let before = initial_state(&workflow);
    /// let after = apply(&workflow, &before, &facts, &create(&workflow, "a new note"), &stamp);
    /// let steps = record_steps(&before, &before, [&after]);
    /// let line = steps[0].event.line();
    ///
    /// // The line is all that has to be kept.
    /// let (log, faults) = EventLog::parse(line.as_bytes());
    /// assert!(faults.is_empty());
    /// let state = log.fold(&workflow, &log.heads(), &mut FoldCache::default())?;
    /// let state = state.ok_or("the log is empty")?;
    /// assert_eq!(state.phase.as_deref(), Some("write"));
    /// assert_eq!(state.history[0].reason, "a new note");
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ````
    ///
    /// # Errors
    ///
    /// An event cannot be folded, or the rules of merging cannot join the heads.
    pub fn fold(
        &self,
        workflow: &Workflow,
        heads: &[Digest],
        cache: &mut FoldCache,
    ) -> Result<Option<Arc<State>>, FoldError> {
        let mut joiner = Joiner {
            log: self,
            workflow,
            cache,
            known: HashMap::new(),
        };
        joiner.state(&self.tips(heads), 0)
    }

    /// The state after a person chose one of two conflicting sides; it follows both.
    ///
    /// # Errors
    ///
    /// The outer error: a side cannot be folded. The inner error: why the choice is refused.
    pub fn choose(
        &self,
        workflow: &Workflow,
        chosen: &[Digest],
        other: &[Digest],
        reason: &str,
        stamp: &Stamp,
        cache: &mut FoldCache,
    ) -> Result<Result<State, Error>, FoldError> {
        let one = self.fold(workflow, chosen, cache)?.unwrap_or_default();
        let another = self.fold(workflow, other, cache)?.unwrap_or_default();
        let mut state = match choose(workflow, &one, &another, reason, stamp) {
            Ok(state) => state,
            Err(refused) => return Ok(Err(refused)),
        };
        state.heads = self.tips(&[chosen, other].concat());
        let mut history = self.history(&state.heads);
        history.extend(state.history.pop());
        keep_latest(&mut history);
        state.entered = self.entered_in(&state, &history);
        state.history = history;
        Ok(Ok(state))
    }
}

/// One fold of several heads.
struct Joiner<'l> {
    log: &'l EventLog,
    workflow: &'l Workflow,
    cache: &'l mut FoldCache,
    /// The states of the sets of merge bases that have been joined so far.
    known: HashMap<Vec<Digest>, Option<Arc<State>>>,
}

impl Joiner<'_> {
    fn state(&mut self, heads: &[Digest], depth: usize) -> Result<Option<Arc<State>>, FoldError> {
        let Some((first, rest)) = heads.split_first() else {
            return Ok(None);
        };
        if rest.is_empty() {
            return Ok(Some(self.log.state_at(first, self.cache)?));
        }
        let mut joined: Option<Arc<State>> = None;
        for (many, head) in rest.iter().enumerate().map(|(at, head)| (at + 1, head)) {
            let bases = self.log.merge_bases(&heads[..many], head);
            let base = self.base(&bases, depth)?;
            let one = joined.map_or_else(|| self.log.state_at(first, self.cache), Ok)?;
            let another = self.log.state_at(head, self.cache)?;
            let both = join(self.workflow, base.as_deref(), &one, &another);
            let both = both.map_err(|conflict| FoldError::Disputed {
                conflict,
                heads: heads.to_vec(),
            })?;
            let heads = heads[..=many].to_vec();
            let history = self.log.history(&heads);
            let both = State { heads, ..both };
            let entered = self.log.entered_in(&both, &history);
            joined = Some(Arc::new(State {
                history,
                entered,
                ..both
            }));
        }
        Ok(joined)
    }

    /// The common ancestor of both sides. If there are several merge bases, it is their join; if they cannot
    /// be joined, it is the state after the first of them.
    fn base(&mut self, bases: &[Digest], depth: usize) -> Result<Option<Arc<State>>, FoldError> {
        let Some(first) = bases.first() else {
            return Ok(None);
        };
        if bases.len() == 1 {
            return Ok(Some(self.log.state_at(first, self.cache)?));
        }
        if let Some(known) = self.known.get(bases) {
            return Ok(known.clone());
        }
        let joined = if depth < DEEPEST_JOIN && self.known.len() < MOST_JOINS {
            self.state(bases, depth + 1)
        } else {
            Ok(Some(self.log.state_at(first, self.cache)?))
        };
        let state = match joined {
            Err(FoldError::Disputed { .. }) => Some(self.log.state_at(first, self.cache)?),
            other => other?,
        };
        self.known.insert(bases.to_vec(), state.clone());
        Ok(state)
    }
}

/// A recorded step: its event, and the state to which the log folds up to that event.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedStep {
    /// The event to append to the log.
    pub event: LogEvent,
    /// The state after the event, with its members in the order that folding the log yields.
    pub state: State,
}

/// Records the states that a sequence of transitions led to, as events after `before`.
///
/// `base` is the state after the first head of `before`; it is `before` itself unless `before` joins several
/// heads. A state without a history entry or a workflow is not a step and ends the sequence.
#[must_use]
pub fn record_steps<'s>(
    before: &State,
    base: &State,
    steps: impl IntoIterator<Item = &'s State>,
) -> Vec<RecordedStep> {
    let mut recorded: Vec<RecordedStep> = Vec::new();
    for step in steps {
        let (heads, base) = recorded.last().map_or((&before.heads, base), |last| {
            (&last.state.heads, &last.state)
        });
        let base = (!heads.is_empty()).then_some(base);
        let Some(event) = LogEvent::new(heads.clone(), base, step) else {
            break;
        };
        let mut document = base.map_or_else(|| Value::Object(Map::new()), standing_document);
        let Ok(standing) =
            apply_patch(&mut document, &event.changes.ops()).map(|()| read_standing(&document))
        else {
            break;
        };
        let Ok(standing) = standing else { break };
        let state = State {
            heads: vec![event.id],
            rev: step.rev,
            workflow: step.workflow.clone(),
            phase: step.phase.clone(),
            history: step.history.clone(),
            entered: step.entered.clone(),
            updated_at: step.updated_at,
            ..standing
        };
        recorded.push(RecordedStep { event, state });
    }
    recorded
}

//! The state of a task as the fold of its log.
//!
//! The state after an event is folded along the first event of each `after`, because that is the one that
//! its changes are made against. So no workflow document is asked, and joins in the past are not joined
//! again. Only where branches meet that no event follows yet are the rules of merging asked.

use super::json_patch::apply_patch;
use super::log::{EventLog, LogFault, LogFaultKind};
use super::log_event::LogEvent;
use super::state::read_standing;
use crate::base::{Digest, Error};
use crate::decide::{Conflict, HISTORY_WINDOW, Stamp, State, choose, join, standing_document};
use crate::workflow::Workflow;
use serde_json::{Map, Value};
use std::collections::{HashMap, VecDeque};

/// The standing documents after events that were folded before.
///
/// An id fixes everything before it, so what is kept for one log holds for every log with that event.
#[derive(Debug, Clone, Default)]
pub struct FoldCache {
    documents: HashMap<Digest, Value>,
    /// The same ids, oldest first.
    kept: VecDeque<Digest>,
}

/// How many documents a cache keeps.
const MOST_KEPT: usize = 256;
/// How many joins of several merge bases one fold makes. A log that needs more is not honest work.
const MOST_JOINS: usize = 512;
/// How deep joins of merge bases nest.
const DEEPEST_JOIN: usize = 64;

/// Why a log has no state.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FoldError {
    /// An event cannot be folded.
    #[error(transparent)]
    Fault(#[from] LogFault),
    /// Branches meet that the rules of merging cannot join: a person has to pick a side.
    #[error("{conflict}")]
    Disputed {
        /// Why they cannot be joined.
        conflict: Conflict,
        /// The events at which the branches end.
        heads: Vec<Digest>,
    },
}

impl FoldCache {
    fn keep(&mut self, id: Digest, document: Value) {
        if self.documents.insert(id, document).is_none() {
            self.kept.push_back(id);
        }
        while self.kept.len() > MOST_KEPT {
            self.kept.pop_front().map(|oldest| self.documents.remove(&oldest));
        }
    }
}

impl EventLog {
    /// The state after an event.
    ///
    /// # Errors
    ///
    /// The log does not hold the event, or one before it, or the changes of one do not apply.
    pub fn state_at(&self, id: &Digest, cache: &mut FoldCache) -> Result<State, LogFault> {
        let missing = || self.fault_of(id, LogFaultKind::UnknownPredecessor(*id));
        let event = self.get(id).ok_or_else(missing)?;
        let document = self.document_at(event, cache)?;
        let entry = &event.entry;
        let standing = read_standing(&document)
            .map_err(|fault| self.fault_of(id, LogFaultKind::Inapplicable(fault.to_string())))?;
        Ok(State {
            heads: vec![event.id],
            rev: entry.seq,
            workflow: Some(event.workflow.clone()),
            phase: Some(entry.to.to_string()),
            history: self.history(&[event.id]),
            updated_at: Some(entry.at),
            ..standing
        })
    }

    fn document_at(&self, event: &LogEvent, cache: &mut FoldCache) -> Result<Value, LogFault> {
        let mut chain = Vec::new();
        let mut next = Some(event);
        let mut document = Value::Object(Map::new());
        while let Some(event) = next {
            if let Some(known) = cache.documents.get(&event.id) {
                document.clone_from(known);
                break;
            }
            chain.push(event);
            next = match event.after.first() {
                None => None,
                Some(before) => Some(
                    self.get(before)
                        .ok_or_else(|| self.fault_of(&event.id, LogFaultKind::UnknownPredecessor(*before)))?,
                ),
            };
        }
        for event in chain.into_iter().rev() {
            apply_patch(&mut document, &event.changes)
                .map_err(|place| self.fault_of(&event.id, LogFaultKind::Inapplicable(place.to_string())))?;
        }
        cache.keep(event.id, document.clone());
        Ok(document)
    }

    /// The state of the task: after its only head, or where several meet, what they are joined to.
    ///
    /// Neither the order of `heads` nor that of the lines makes a difference. `None` for no heads.
    ///
    /// # Errors
    ///
    /// An event cannot be folded, or the rules of merging cannot join the heads.
    pub fn fold(
        &self,
        workflow: &Workflow,
        heads: &[Digest],
        cache: &mut FoldCache,
    ) -> Result<Option<State>, FoldError> {
        let mut joiner = Joiner { log: self, workflow, cache, known: HashMap::new() };
        joiner.state(&self.tips(heads), 0)
    }

    /// The state by which a person picks one of two sides: what follows both, on their word.
    ///
    /// # Errors
    ///
    /// A side cannot be folded. The inner error says why the choice is refused.
    pub fn choose(
        &self,
        workflow: &Workflow,
        (chosen, other): (&[Digest], &[Digest]),
        reason: &str,
        stamp: &Stamp,
        cache: &mut FoldCache,
    ) -> Result<Result<State, Error>, FoldError> {
        let mut side = |heads| Ok::<_, FoldError>(self.fold(workflow, heads, cache)?.unwrap_or_default());
        let (one, another) = (side(chosen)?, side(other)?);
        Ok(choose(workflow, &one, &another, reason, stamp).map(|mut state| {
            state.heads = self.tips(&[chosen, other].concat());
            let mut history = self.history(&state.heads);
            history.extend(state.history.pop());
            history.drain(..history.len().saturating_sub(HISTORY_WINDOW));
            State { history, ..state }
        }))
    }
}

/// One fold of several heads.
struct Joiner<'l> {
    log: &'l EventLog,
    workflow: &'l Workflow,
    cache: &'l mut FoldCache,
    /// The states of the sets of merge bases that were joined on the way.
    known: HashMap<Vec<Digest>, Option<State>>,
}

impl Joiner<'_> {
    fn state(&mut self, heads: &[Digest], depth: usize) -> Result<Option<State>, FoldError> {
        let Some((first, rest)) = heads.split_first() else { return Ok(None) };
        if rest.is_empty() {
            return Ok(Some(self.log.state_at(first, self.cache)?));
        }
        let mut joined: Option<State> = None;
        for (many, head) in rest.iter().enumerate().map(|(at, head)| (at + 1, head)) {
            let bases = self.log.merge_bases(&heads[..many], head);
            let base = self.base(&bases, depth)?;
            let one = joined.map_or_else(|| self.log.state_at(first, self.cache), Ok)?;
            let another = self.log.state_at(head, self.cache)?;
            let both = join(self.workflow, base.as_ref(), &one, &another);
            let both = both.map_err(|conflict| FoldError::Disputed { conflict, heads: heads.to_vec() })?;
            let heads = heads[..=many].to_vec();
            joined = Some(State { history: self.log.history(&heads), heads, ..both });
        }
        Ok(joined)
    }

    /// The state that both sides come from. Where they come from several that were joined on each side,
    /// it is what those are joined to; where that is disputed, the state after the first of them.
    fn base(&mut self, bases: &[Digest], depth: usize) -> Result<Option<State>, FoldError> {
        let Some(first) = bases.first() else { return Ok(None) };
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

/// One step that is recorded: its event, and the state that folding the log up to it gives.
#[derive(Debug, Clone, PartialEq)]
pub struct RecordedStep {
    /// The event.
    pub event: LogEvent,
    /// The state after it, down to the order of its members as the log folds to it.
    pub state: State,
}

/// Records the states that a row of transitions led to, as events after `before`.
///
/// `base` is the state after the first of the heads of `before`, which is `before` itself unless it joins
/// several. A state without a history entry or a workflow ends the row: it is no step.
#[must_use]
pub fn record_steps<'s>(
    before: &State,
    base: &State,
    steps: impl IntoIterator<Item = &'s State>,
) -> Vec<RecordedStep> {
    let mut recorded: Vec<RecordedStep> = Vec::new();
    for step in steps {
        let (heads, base) =
            recorded.last().map_or((&before.heads, base), |last| (&last.state.heads, &last.state));
        let base = (!heads.is_empty()).then_some(base);
        let Some(event) = LogEvent::new(heads.clone(), base, step) else { break };
        let mut document = base.map_or_else(|| Value::Object(Map::new()), standing_document);
        let Ok(standing) = apply_patch(&mut document, &event.changes).map(|()| read_standing(&document))
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
            updated_at: step.updated_at,
            ..standing
        };
        recorded.push(RecordedStep { event, state });
    }
    recorded
}

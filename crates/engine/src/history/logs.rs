//! The logs of tasks in commits. Each line is read once and each state is folded once.
//!
//! The id of an event fixes everything before it. So one pool contains the events of all logs, the heads
//! identify a log, and a state that was folded at an id is valid in every commit.

use orch_base::{Digest, PhaseId, Timestamp, WorkflowName};
use orch_core::decide::{State, TakenBack};
use orch_core::record::{EventLog, FoldCache, FoldError, LogEvent, LogFault, LogFaultKind};
use orch_core::workflow::Workflow;
use std::cell::{Ref, RefCell};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// How many states are kept: about as many as there are tasks on which work continues in turn.
const MOST_STATES: usize = 1024;

/// How many events are kept between two pieces of history, of about 2 kB each. Of more, all are forgotten, and a log that
/// changes again is parsed again. Builds with assertions forget early, so that tests do.
const MOST_EVENTS: usize = if cfg!(debug_assertions) { 64 } else { 1 << 14 };

/// The events of all logs, and the states that were folded from them.
pub(super) struct LogPool {
    events: RefCell<EventLog>,
    folds: RefCell<FoldCache>,
    read: RefCell<HashMap<Digest, Arc<ReadLog>>>,
}

impl Default for LogPool {
    fn default() -> Self {
        let folds = FoldCache::of_at_most(MOST_STATES).into();
        Self {
            events: RefCell::default(),
            folds,
            read: RefCell::default(),
        }
    }
}

/// A parsed log.
#[derive(Default)]
pub(super) struct ReadLog {
    /// The events that no other event follows.
    pub heads: Vec<Digest>,
    /// The faults of its lines, each with the line. Conflict markers are not among them.
    pub faults: Vec<(LogFault, Vec<u8>)>,
    /// Whether it contains the conflict markers of a merge.
    pub is_conflicted: bool,
    /// The ids of its events; `None` if the log has no faults, because the heads then determine them.
    ids: Option<HashSet<Digest>>,
    /// The events whose whole past is intact; unused without faults.
    intact: HashSet<Digest>,
    /// The blob of the log that it continues, and the events that it adds to that log.
    continues: Option<(Digest, Vec<Digest>)>,
}

/// The bytes of a log and their blob id.
#[derive(Clone, Copy)]
pub(super) struct LogBytes<'b> {
    pub blob: Digest,
    pub bytes: &'b [u8],
}

impl LogPool {
    /// Forgets the logs if they are many. Nothing that was read from the pool may be in use.
    pub(super) fn forget_many(&self) {
        if self.events.borrow().len() > MOST_EVENTS {
            self.events.take();
            self.read.take();
        }
    }

    /// Forgets that the log in this blob was parsed, but none of its events.
    pub(super) fn forget_log(&self, blob: Digest) {
        self.read.borrow_mut().remove(&blob);
    }

    /// Parses a log. If the log continues the `older` one, only the new lines are parsed.
    pub(super) fn read(&self, log: LogBytes<'_>, older: Option<LogBytes<'_>>) -> Arc<ReadLog> {
        if let Some(known) = self.read.borrow().get(&log.blob) {
            return Arc::clone(known);
        }
        let continued = older.and_then(|older| self.continued(log, older));
        let read = Arc::new(continued.unwrap_or_else(|| self.read_all(log.bytes)));
        self.read.borrow_mut().insert(log.blob, Arc::clone(&read));
        read
    }

    /// Parses the new lines, if they continue the older log one event after the other.
    fn continued(&self, log: LogBytes<'_>, older: LogBytes<'_>) -> Option<ReadLog> {
        let known = self.read.borrow().get(&older.blob).map(Arc::clone)?;
        let tail = log
            .bytes
            .strip_prefix(older.bytes)
            .filter(|_| older.bytes.ends_with(b"\n"))?;
        let tail = std::str::from_utf8(tail).ok()?;
        if known.ids.is_some() {
            return None;
        }
        let mut heads = known.heads.clone();
        let mut added = Vec::new();
        for line in tail.lines() {
            let event = LogEvent::read(line).ok()?;
            let largest = heads
                .iter()
                .filter_map(|id| Some(self.event(id)?.entry.seq))
                .max();
            let follows =
                event.after == heads && event.entry.seq == largest.unwrap_or(0).checked_add(1)?;
            heads = vec![event.id];
            added.extend(follows.then_some(event.id));
            self.events.borrow_mut().append(event);
            follows.then_some(())?;
        }
        Some(ReadLog {
            heads,
            continues: Some((older.blob, added)),
            ..ReadLog::default()
        })
    }

    fn read_all(&self, bytes: &[u8]) -> ReadLog {
        let (log, faults) = EventLog::parse(bytes);
        log.events()
            .for_each(|event| self.events.borrow_mut().append(event.clone()));
        let is_whole = faults.is_empty();
        let intact = if is_whole {
            HashSet::new()
        } else {
            log.intact(&faults)
        };
        let is_marker = |fault: &LogFault| fault.kind == LogFaultKind::ConflictMarker;
        let is_conflicted = faults.iter().any(is_marker);
        let lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
        let line = |fault: &LogFault| {
            lines
                .get(fault.line.saturating_sub(1))
                .copied()
                .unwrap_or_default()
        };
        let faults = faults.into_iter().filter(|fault| !is_marker(fault));
        ReadLog {
            heads: log.heads(),
            faults: faults
                .map(|fault| (line(&fault).to_vec(), fault))
                .map(|(line, fault)| (fault, line))
                .collect(),
            is_conflicted,
            ids: (!is_whole).then(|| log.events().map(|event| event.id).collect()),
            intact,
            continues: None,
        }
    }

    /// The ids of a log's events.
    pub(super) fn ids(&self, log: &ReadLog) -> HashSet<Digest> {
        log.ids
            .clone()
            .unwrap_or_else(|| self.events.borrow().ancestry(&log.heads))
    }

    /// The ids of a log's events that have a state.
    pub(super) fn intact_ids(&self, log: &ReadLog) -> HashSet<Digest> {
        if log.ids.is_some() {
            log.intact.clone()
        } else {
            self.ids(log)
        }
    }

    /// The events of a log that have a state and that no other such event follows.
    pub(super) fn intact_heads(&self, log: &ReadLog) -> Vec<Digest> {
        let is_whole = log.ids.is_none();
        if is_whole {
            log.heads.clone()
        } else {
            self.tips(&log.intact.iter().copied().collect::<Vec<_>>())
        }
    }

    /// Whether a log holds an event.
    pub(super) fn holds(&self, log: &ReadLog, id: &Digest) -> bool {
        log.heads.contains(id) || self.ids(log).contains(id)
    }

    /// The events that `new` adds to the log in the blob `old`; `None` if it does not continue that log.
    pub(super) fn added(old: Digest, new: &ReadLog) -> Option<&[Digest]> {
        new.continues
            .as_ref()
            .filter(|(older, _)| *older == old)
            .map(|(_, added)| added.as_slice())
    }

    /// The event with an id, if any log contains it.
    pub(super) fn event(&self, id: &Digest) -> Option<Ref<'_, LogEvent>> {
        Ref::filter_map(self.events.borrow(), |events| events.get(id)).ok()
    }

    /// Events in the order of their numbers, each after the events that it follows.
    pub(super) fn sorted(&self, ids: impl IntoIterator<Item = Digest>) -> Vec<Digest> {
        self.events.borrow().sorted(ids)
    }

    /// Those of these events that no other of them follows.
    pub(super) fn tips(&self, ids: &[Digest]) -> Vec<Digest> {
        if ids.len() < 2 {
            ids.to_vec()
        } else {
            self.events.borrow().tips(ids)
        }
    }

    /// These events of one or several logs, grouped by the task that they are of: no event connects two groups.
    pub(super) fn parts(&self, ids: &HashSet<Digest>) -> Vec<HashSet<Digest>> {
        let heads = self.events.borrow().heads_of(ids);
        self.events
            .borrow()
            .parts_of(&heads)
            .into_iter()
            .map(|part| part.ids)
            .collect()
    }

    /// The lines of these events, each after the events that it follows.
    pub(super) fn lines_of(&self, ids: &HashSet<Digest>) -> Vec<u8> {
        self.events.borrow().lines_of(ids)
    }

    /// The state after an event. Returns the fault if the event has no state.
    pub(super) fn state_at(&self, id: &Digest) -> Result<Arc<State>, LogFaultKind> {
        let state = self
            .events
            .borrow()
            .state_at(id, &mut self.folds.borrow_mut());
        state.map_err(|fault| fault.kind)
    }

    /// The last order before these events that can be taken back, or why there is none.
    pub(super) fn last_order(
        &self,
        workflow: &Workflow,
        heads: &[Digest],
    ) -> Result<TakenBack, String> {
        self.events
            .borrow()
            .last_order(workflow, heads, &mut self.folds.borrow_mut())
    }

    /// When the phase was last entered up to these events; `None` if it never was.
    pub(super) fn entered(&self, heads: &[Digest], phase: &PhaseId) -> Option<Timestamp> {
        self.events.borrow().entered(heads, phase)
    }

    /// The name of the workflow of the first of these events.
    pub(super) fn workflow_name(&self, ids: &[Digest]) -> Option<WorkflowName> {
        Some(self.event(ids.first()?)?.workflow.name.clone())
    }

    /// The state after all of these events; `None` if there are none. Only several heads need a workflow,
    /// which joins them. Returns an error that says why the events have no state.
    pub(super) fn fold(
        &self,
        workflow: Option<&Workflow>,
        heads: &[Digest],
    ) -> Result<Option<Arc<State>>, String> {
        match (self.tips(heads).as_slice(), workflow) {
            ([], _) => Ok(None),
            ([only], _) => self
                .state_at(only)
                .map(Some)
                .map_err(|kind| kind.to_string()),
            (_, None) => {
                Err("the workflow that joins its branches is not in this clone".to_owned())
            }
            (tips, Some(workflow)) => {
                let folded =
                    self.events
                        .borrow()
                        .fold(workflow, tips, &mut self.folds.borrow_mut());
                folded.map_err(|error| match error {
                    FoldError::Fault(fault) => fault.kind.to_string(),
                    FoldError::Disputed { conflict, .. } => conflict.to_string(),
                })
            }
        }
    }
}

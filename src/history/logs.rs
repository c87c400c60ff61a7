//! The logs of tasks as commits hold them: each line is read once, and each state folded once.
//!
//! The id of an event fixes everything before it. So the events of all logs lie in one pool, a log is known
//! by its heads, and the state that was folded at an id holds in every commit.

use crate::base::Digest;
use crate::decide::State;
use crate::record::{EventLog, FoldCache, FoldError, LogEvent, LogFault, LogFaultKind};
use crate::workflow::Workflow;
use std::cell::{Ref, RefCell};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The events of all logs that were read, and the states that were folded of them.
#[derive(Default)]
pub(super) struct LogPool {
    events: RefCell<EventLog>,
    folds: RefCell<FoldCache>,
    read: RefCell<HashMap<Digest, Arc<ReadLog>>>,
}

/// A log that was read.
#[derive(Default)]
pub(super) struct ReadLog {
    /// The events that no other follows.
    pub heads: Vec<Digest>,
    /// What is wrong with its lines, and those lines; conflict markers apart.
    pub faults: Vec<(LogFault, Vec<u8>)>,
    /// Whether a merge left its conflict markers.
    pub is_conflicted: bool,
    /// Its events, where something is wrong; else they are the heads and all before them.
    ids: Option<HashSet<Digest>>,
    /// The blob of the log that it continues, and the events that it adds to that.
    continues: Option<(Digest, Vec<Digest>)>,
}

/// The bytes of a log, and the blob that they are.
#[derive(Clone, Copy)]
pub(super) struct LogBytes<'b> {
    pub blob: Digest,
    pub bytes: &'b [u8],
}

impl LogPool {
    /// Reads a log. One that continues an `older` one is read from where that ends.
    pub(super) fn read(&self, log: LogBytes<'_>, older: Option<LogBytes<'_>>) -> Arc<ReadLog> {
        if let Some(known) = self.read.borrow().get(&log.blob) {
            return Arc::clone(known);
        }
        let continued = older.and_then(|older| self.continued(log, older));
        let read = Arc::new(continued.unwrap_or_else(|| self.read_all(log.bytes)));
        self.read.borrow_mut().insert(log.blob, Arc::clone(&read));
        read
    }

    /// A log that goes on from the head of an older one, event after event.
    fn continued(&self, log: LogBytes<'_>, older: LogBytes<'_>) -> Option<ReadLog> {
        let known = self.read.borrow().get(&older.blob).map(Arc::clone)?;
        let tail = log.bytes.strip_prefix(older.bytes).filter(|_| older.bytes.ends_with(b"\n"))?;
        let tail = std::str::from_utf8(tail).ok()?;
        if known.ids.is_some() {
            return None;
        }
        let (mut heads, mut added) = (known.heads.clone(), Vec::new());
        for line in tail.lines() {
            let event = LogEvent::read(line).ok()?;
            let largest = heads.iter().filter_map(|id| Some(self.event(id)?.entry.seq)).max();
            let follows = event.after == heads && event.entry.seq == largest.unwrap_or(0).checked_add(1)?;
            heads = vec![event.id];
            added.extend(follows.then_some(event.id));
            self.events.borrow_mut().append(event);
            follows.then_some(())?;
        }
        Some(ReadLog { heads, continues: Some((older.blob, added)), ..ReadLog::default() })
    }

    fn read_all(&self, bytes: &[u8]) -> ReadLog {
        let (log, faults) = EventLog::parse(bytes);
        log.events().for_each(|event| self.events.borrow_mut().append(event.clone()));
        let is_whole = faults.is_empty();
        let is_marker = |fault: &LogFault| fault.kind == LogFaultKind::ConflictMarker;
        let is_conflicted = faults.iter().any(is_marker);
        let lines: Vec<&[u8]> = bytes.split(|byte| *byte == b'\n').collect();
        let line = |fault: &LogFault| lines.get(fault.line.saturating_sub(1)).copied().unwrap_or_default();
        let faults = faults.into_iter().filter(|fault| !is_marker(fault));
        ReadLog {
            heads: log.heads(),
            faults: faults
                .map(|fault| (line(&fault).to_vec(), fault))
                .map(|(line, fault)| (fault, line))
                .collect(),
            is_conflicted,
            ids: (!is_whole).then(|| log.events().map(|event| event.id).collect()),
            continues: None,
        }
    }

    /// The ids of a log's events.
    pub(super) fn ids(&self, log: &ReadLog) -> HashSet<Digest> {
        log.ids.clone().unwrap_or_else(|| self.events.borrow().ancestry(&log.heads))
    }

    /// The ids of a log's events that have a state: those before which none is missing.
    pub(super) fn intact_ids(&self, log: &ReadLog) -> HashSet<Digest> {
        let ids = self.ids(log);
        if log.ids.is_none() {
            return ids;
        }
        let mut intact = HashSet::new();
        for id in self.sorted(ids) {
            if self.event(&id).is_some_and(|event| event.after.iter().all(|before| intact.contains(before))) {
                intact.insert(id);
            }
        }
        intact
    }

    /// The events of a log that have a state and that no other such event follows.
    pub(super) fn intact_heads(&self, log: &ReadLog) -> Vec<Digest> {
        match log.ids {
            None => log.heads.clone(),
            Some(_) => self.tips(&self.intact_ids(log).into_iter().collect::<Vec<_>>()),
        }
    }

    /// Whether a log holds an event.
    pub(super) fn holds(&self, log: &ReadLog, id: &Digest) -> bool {
        log.heads.contains(id) || self.ids(log).contains(id)
    }

    /// What `new` holds and `old`, the log in a blob, does not; `None` where it is not simply longer.
    pub(super) fn added(old: Digest, new: &ReadLog) -> Option<&[Digest]> {
        new.continues.as_ref().filter(|(older, _)| *older == old).map(|(_, added)| added.as_slice())
    }

    /// An event.
    pub(super) fn event(&self, id: &Digest) -> Option<Ref<'_, LogEvent>> {
        Ref::filter_map(self.events.borrow(), |events| events.get(id)).ok()
    }

    /// Events in the order of their numbers, each behind those that it follows.
    pub(super) fn sorted(&self, ids: impl IntoIterator<Item = Digest>) -> Vec<Digest> {
        self.events.borrow().sorted(ids)
    }

    /// Of these events those that no other of them follows.
    pub(super) fn tips(&self, ids: &[Digest]) -> Vec<Digest> {
        if ids.len() < 2 { ids.to_vec() } else { self.events.borrow().tips(ids) }
    }

    /// The state after an event; the error says why there is none.
    pub(super) fn state_at(&self, id: &Digest) -> Result<State, LogFaultKind> {
        let state = self.events.borrow().state_at(id, &mut self.folds.borrow_mut());
        state.map_err(|fault| fault.kind)
    }

    /// The state after all of these events; `None` for none. A single one needs no workflow.
    pub(super) fn fold(
        &self,
        workflow: Option<&Workflow>,
        heads: &[Digest],
    ) -> Result<Option<State>, Unfolded> {
        match (self.tips(heads).as_slice(), workflow) {
            ([], _) => Ok(None),
            ([only], _) => self.state_at(only).map(Some).map_err(|kind| Unfolded::Never(kind.to_string())),
            (_, None) => Err(Unfolded::NoWorkflow),
            (tips, Some(workflow)) => {
                let folded = self.events.borrow().fold(workflow, tips, &mut self.folds.borrow_mut());
                folded.map_err(|error| match error {
                    FoldError::Fault(fault) => Unfolded::Never(fault.kind.to_string()),
                    FoldError::Disputed { conflict, .. } => Unfolded::Disputed(conflict.to_string()),
                })
            }
        }
    }
}

/// Why events have no state.
#[derive(Debug)]
pub(super) enum Unfolded {
    /// A person has to pick a side.
    Disputed(String),
    /// What one of them changed does not apply.
    Never(String),
    /// The workflow that would join them is not here.
    NoWorkflow,
}

impl Unfolded {
    /// Why, in words.
    pub(super) fn why(self) -> String {
        match self {
            Self::Disputed(why) | Self::Never(why) => why,
            Self::NoWorkflow => "the workflow that joins its branches is not here".to_owned(),
        }
    }
}

//! `transcript.jsonl` as a whole: the log of a task, its events in the order that `after` gives.
//!
//! The lines may stand in any order and repeat, because git's union merge writes them so.

use super::extent::LogExtent;
use super::log_event::{LogEvent, NotAnEvent};
use crate::base::{Code, Digest};
use crate::decide::{HISTORY_WINDOW, HistoryEntry};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};

/// The log of a task.
#[derive(Debug, Clone, Default)]
pub struct EventLog {
    events: Vec<LogEvent>,
    /// The line that each event stands on, from 1.
    lines: Vec<usize>,
    places: HashMap<Digest, usize>,
}

/// What is wrong with a log, and where.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {kind}")]
pub struct LogFault {
    /// The line, from 1.
    pub line: usize,
    /// What is wrong with it.
    pub kind: LogFaultKind,
}

/// What can be wrong with a line of a log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LogFaultKind {
    /// The text is not UTF-8 here.
    #[error("it is not UTF-8")]
    NotUtf8,
    /// The text begins with a byte order mark.
    #[error("it begins with a byte order mark")]
    ByteOrderMark,
    /// A merge left its conflict markers.
    #[error("a merge left conflict markers here")]
    ConflictMarker,
    /// The line is no event.
    #[error(transparent)]
    NotAnEvent(#[from] NotAnEvent),
    /// It follows an event that the log does not hold.
    #[error("it follows the event {0}, which the log does not hold")]
    UnknownPredecessor(Digest),
    /// Its number does not follow from those before it.
    #[error("its `seq` should be {expected}")]
    Misnumbered {
        /// One more than the largest number before it.
        expected: u64,
    },
    /// Its changes do not apply to the state before it, or what follows is no state.
    #[error("its changes do not apply: {0}")]
    Inapplicable(String),
}

impl LogFaultKind {
    /// A stable code.
    #[must_use]
    pub fn code(&self) -> Code {
        match self {
            Self::NotUtf8 => Code::NotUtf8,
            Self::ByteOrderMark => Code::ByteOrderMark,
            Self::ConflictMarker => Code::ConflictMarkers,
            Self::NotAnEvent(NotAnEvent::OtherId { .. }) => Code::LogChanged,
            Self::NotAnEvent(_) => Code::LogInvalid,
            Self::UnknownPredecessor(_) => Code::LogIncomplete,
            Self::Misnumbered { .. } | Self::Inapplicable(_) => Code::LogInconsistent,
        }
    }
}

/// What tells one state of a log from another without reading all of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogPeek {
    /// How many bytes the file has.
    pub bytes: u64,
    /// The id that its last line states.
    pub last: Option<Digest>,
}

impl LogPeek {
    /// Looks at the end of a log of `bytes` bytes. `tail` holds at least its last line.
    #[must_use]
    pub fn new(bytes: u64, tail: &[u8]) -> Self {
        let last = tail.trim_ascii_end().rsplit(|byte| *byte == b'\n').next().unwrap_or_default();
        Self { bytes, last: std::str::from_utf8(last).ok().and_then(LogEvent::stated_id) }
    }

    /// Whether this is the log that a state with these heads was written with. Line endings do not count,
    /// because git may convert them on checkout.
    #[must_use]
    pub fn is_of(&self, extent: LogExtent, heads: &[Digest]) -> bool {
        let sizes = [extent.bytes, extent.bytes.saturating_add(extent.lines)];
        sizes.contains(&self.bytes) && self.last.is_some_and(|last| heads.contains(&last))
    }
}

/// By which events are put in line: every event stands behind those that it follows.
type Rank = (u64, crate::base::Timestamp, Digest);

impl EventLog {
    /// Reads a log. What is no event is left out, and told with its line.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> (Self, Vec<LogFault>) {
        let (mut log, mut faults) = (Self::default(), Vec::new());
        for (index, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
            let line_number = index + 1;
            match read_line(line, line_number) {
                Ok(None) => {}
                Ok(Some(event)) => log.push(event, line_number),
                Err(kind) => faults.push(LogFault { line: line_number, kind }),
            }
        }
        faults.extend((0..log.events.len()).filter_map(|at| log.misplaced(at)));
        faults.sort_by_key(|fault| fault.line);
        (log, faults)
    }

    /// Adds an event that is recorded now.
    pub fn append(&mut self, event: LogEvent) {
        let line = self.lines.last().map_or(1, |last| last + 1);
        self.push(event, line);
    }

    fn push(&mut self, event: LogEvent, line: usize) {
        if let std::collections::hash_map::Entry::Vacant(place) = self.places.entry(event.id) {
            place.insert(self.events.len());
            self.events.push(event);
            self.lines.push(line);
        }
    }

    /// Whether an event stands where those before it put it.
    fn misplaced(&self, at: usize) -> Option<LogFault> {
        let event = &self.events[at];
        let mut largest = 0;
        for id in &event.after {
            let Some(before) = self.get(id) else {
                return Some(self.fault(at, LogFaultKind::UnknownPredecessor(*id)));
            };
            largest = before.entry.seq.max(largest);
        }
        let expected = largest.saturating_add(1);
        (event.entry.seq != expected).then(|| self.fault(at, LogFaultKind::Misnumbered { expected }))
    }

    fn fault(&self, at: usize, kind: LogFaultKind) -> LogFault {
        LogFault { line: self.lines[at], kind }
    }

    /// A fault of an event of this log.
    pub(super) fn fault_of(&self, id: &Digest, kind: LogFaultKind) -> LogFault {
        LogFault { line: self.places.get(id).map_or(0, |at| self.lines[*at]), kind }
    }

    /// Whether it holds no event.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// How many events it holds.
    #[must_use]
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// The event with this id.
    #[must_use]
    pub fn get(&self, id: &Digest) -> Option<&LogEvent> {
        self.places.get(id).map(|at| &self.events[*at])
    }

    /// The events in the order of their lines.
    pub fn events(&self) -> impl Iterator<Item = &LogEvent> {
        self.events.iter()
    }

    /// The events, each behind those that it follows; of others the earlier first. The order of the lines
    /// makes no difference.
    #[must_use]
    pub fn in_order(&self) -> Vec<&LogEvent> {
        let mut events: Vec<&LogEvent> = self.events.iter().collect();
        events.sort_by_key(|event| rank(event));
        events
    }

    /// The events that have a state: none before them is missing, and neither they nor those before them are
    /// at fault. `faults` are those of this log.
    #[must_use]
    pub fn intact(&self, faults: &[LogFault]) -> HashSet<Digest> {
        let faulty: HashSet<usize> = faults.iter().map(|fault| fault.line).collect();
        let mut intact = HashSet::new();
        for event in self.in_order() {
            let is_faulty = self.places.get(&event.id).is_some_and(|at| faulty.contains(&self.lines[*at]));
            if !is_faulty && event.after.iter().all(|before| intact.contains(before)) {
                intact.insert(event.id);
            }
        }
        intact
    }

    /// The ids of the events that no other follows, in the order in which `after` names them.
    #[must_use]
    pub fn heads(&self) -> Vec<Digest> {
        let followed: HashSet<&Digest> = self.events.iter().flat_map(|event| &event.after).collect();
        self.sorted(self.events.iter().map(|event| event.id).filter(|id| !followed.contains(id)))
    }

    /// The ids in the order in which `after` names them: by `seq`, then by id, each once.
    #[must_use]
    pub fn sorted(&self, ids: impl IntoIterator<Item = Digest>) -> Vec<Digest> {
        let mut ids: Vec<Digest> = ids.into_iter().collect();
        ids.sort_by_key(|id| (self.get(id).map(|event| event.entry.seq), *id));
        ids.dedup();
        ids
    }

    /// Of these ids, those that none of the others follows, in the order in which `after` names them.
    #[must_use]
    pub fn tips(&self, ids: &[Digest]) -> Vec<Digest> {
        let mut tips: Vec<Digest> = Vec::new();
        for id in self.sorted(ids.iter().copied()).into_iter().rev() {
            if !tips.iter().any(|tip| self.merge_bases(&[*tip], &id) == [id]) {
                tips.push(id);
            }
        }
        self.sorted(tips)
    }

    /// The ids of these events and of all before them.
    #[must_use]
    pub fn ancestry(&self, ids: &[Digest]) -> HashSet<Digest> {
        let mut found = HashSet::new();
        let mut open = ids.to_vec();
        while let Some(event) = open.pop().and_then(|id| self.get(&id)) {
            if found.insert(event.id) {
                open.extend(&event.after);
            }
        }
        found
    }

    /// The last entries of these events and of all before them, oldest first, as many as a state keeps.
    #[must_use]
    pub fn history(&self, heads: &[Digest]) -> Vec<HistoryEntry> {
        let mut open: BinaryHeap<Rank> = heads.iter().filter_map(|id| self.get(id)).map(rank).collect();
        let (mut entries, mut last) = (Vec::new(), None);
        while let Some((_, _, id)) = open.pop() {
            if last == Some(id) {
                continue;
            }
            last = Some(id);
            let Some(event) = self.get(&id) else { continue };
            entries.push(event.entry.clone());
            if entries.len() == HISTORY_WINDOW {
                break;
            }
            open.extend(event.after.iter().filter_map(|id| self.get(id)).map(rank));
        }
        entries.reverse();
        entries
    }

    /// The last events before both one of `these` and `that`: those common to both sides that no other
    /// common one follows.
    #[must_use]
    pub fn merge_bases(&self, these: &[Digest], that: &Digest) -> Vec<Digest> {
        const ONE: u8 = 1;
        const OTHER: u8 = 2;
        const PAST: u8 = 4;
        let mut marks: HashMap<Digest, u8> = these.iter().map(|id| (*id, ONE)).collect();
        *marks.entry(*that).or_default() |= OTHER;
        let mut open: BinaryHeap<(u64, Reverse<Digest>)> = BinaryHeap::new();
        let key = |id: &Digest| self.get(id).map(|event| (event.entry.seq, Reverse(*id)));
        open.extend(marks.keys().filter_map(key));
        let (mut bases, mut last) = (Vec::new(), None);
        // An event is looked at after all that follow it, because its `seq` is smaller than theirs.
        while let Some((_, Reverse(id))) = open.pop() {
            if last == Some(id) {
                continue;
            }
            last = Some(id);
            let mut mark = marks.get(&id).copied().unwrap_or_default();
            if mark == ONE | OTHER {
                bases.push(id);
                mark |= PAST;
            }
            for before in self.get(&id).into_iter().flat_map(|event| &event.after) {
                *marks.entry(*before).or_default() |= mark;
                open.extend(key(before));
            }
            if open.iter().all(|(_, Reverse(id))| marks.get(id).is_some_and(|mark| mark & PAST != 0)) {
                break;
            }
        }
        self.sorted(bases)
    }
}

/// Whether a log holds an event that another one lacks.
#[must_use]
pub fn has_lost_events(held: &[u8], now: &[u8]) -> bool {
    // Mostly the log has only grown, and then nothing has to be parsed.
    if now.starts_with(held) {
        return false;
    }
    let (held, now) = (EventLog::parse(held).0, EventLog::parse(now).0);
    held.events().any(|event| now.get(&event.id).is_none())
}

/// The lines of these texts that hold events of which none before is missing, each once.
///
/// Conflict markers, damaged lines, and events that follow a lost one are left out.
#[must_use]
pub fn whole_lines(texts: &[&[u8]]) -> Vec<u8> {
    let text = texts.join(&b"\n"[..]);
    let (log, faults) = EventLog::parse(&text);
    let mut whole = log.intact(&faults);
    let lines = text.split(|byte| *byte == b'\n').filter_map(|line| {
        let line = std::str::from_utf8(line).ok()?.trim_end_matches('\r');
        LogEvent::stated_id(line).is_some_and(|id| whole.remove(&id)).then(|| format!("{line}\n"))
    });
    lines.collect::<String>().into_bytes()
}

/// The event that a line holds; `None` for an empty one.
fn read_line(line: &[u8], number: usize) -> Result<Option<LogEvent>, LogFaultKind> {
    let line = std::str::from_utf8(line).map_err(|_| LogFaultKind::NotUtf8)?;
    let line = line.strip_suffix('\r').unwrap_or(line);
    if number == 1 && line.starts_with('\u{feff}') {
        return Err(LogFaultKind::ByteOrderMark);
    }
    if line.trim().is_empty() {
        return Ok(None);
    }
    if ["<<<<<<<", "|||||||", "=======", ">>>>>>>"].iter().any(|marker| line.starts_with(marker)) {
        return Err(LogFaultKind::ConflictMarker);
    }
    Ok(Some(LogEvent::read(line)?))
}

fn rank(event: &LogEvent) -> Rank {
    (event.entry.seq, event.entry.at, event.id)
}

//! `transcript.jsonl` as a whole: the log of a task, its events ordered by `after`.
//!
//! The lines may be in any order and may repeat, because git's union merge produces such files.

use super::extent::{LogExtent, digest_of};
use super::log_event::{LogEvent, NotAnEvent};
use crate::decide::HistoryEntry;
use orch_base::{Code, Digest, PhaseId, Timestamp, enumeration};
use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet};
use std::sync::Arc;

/// The log of a task.
#[derive(Debug, Clone, Default)]
pub struct EventLog {
    events: Vec<LogEvent>,
    /// The line number of each event, from 1.
    lines: Vec<usize>,
    places: HashMap<Digest, usize>,
    /// How many lines were parsed to their ends.
    ended_lines: usize,
}

/// A fault of a log, with its line.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {kind}")]
pub struct LogFault {
    /// The line number, from 1.
    pub line: usize,
    /// What is wrong with the line.
    pub kind: LogFaultKind,
}

/// What can be wrong with a line of a log.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LogFaultKind {
    /// The line is not UTF-8.
    #[error("the line is not UTF-8")]
    NotUtf8,
    /// The file begins with a byte order mark.
    #[error("the file begins with a byte order mark")]
    ByteOrderMark,
    /// The line is a conflict marker of a merge.
    #[error("the line is a conflict marker of a merge")]
    ConflictMarker,
    /// The line is not an event.
    #[error(transparent)]
    NotAnEvent(#[from] NotAnEvent),
    /// The event follows one that is missing from the log.
    #[error("the event follows {0}, which is missing from the log")]
    UnknownPredecessor(Digest),
    /// The `seq` of the event does not follow from the events before it.
    #[error("`seq` should be {expected}")]
    Misnumbered {
        /// One more than the largest `seq` before it.
        expected: u64,
    },
    /// The event is of an earlier version of the record than one that it follows.
    #[error(
        "the event follows one of a later version, at which an orch that writes this version stops"
    )]
    Downgraded,
    /// The changes of the event do not apply to the state before it, or the result is not a state.
    #[error("the changes of the event do not apply: {0}")]
    Inapplicable(String),
}

impl LogFaultKind {
    /// The code for a finding about this fault.
    #[must_use]
    pub fn code(&self) -> Code {
        match self {
            Self::NotUtf8 => Code::NotUtf8,
            Self::ByteOrderMark => Code::ByteOrderMark,
            Self::ConflictMarker => Code::ConflictMarkers,
            Self::NotAnEvent(NotAnEvent::OtherId { .. }) => Code::LogChanged,
            Self::NotAnEvent(NotAnEvent::Newer | NotAnEvent::Unknown(_)) => Code::LogNewer,
            Self::NotAnEvent(_) => Code::LogInvalid,
            Self::UnknownPredecessor(_) => Code::LogIncomplete,
            Self::Misnumbered { .. } | Self::Downgraded | Self::Inapplicable(_) => {
                Code::LogInconsistent
            }
        }
    }
}

/// The size and the end of a log file: enough to compare versions of a log without reading all of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LogPeek<'t> {
    /// The size of the file in bytes.
    pub bytes: u64,
    /// The id in its last line.
    pub last: Option<Digest>,
    tail: &'t [u8],
}

impl<'t> LogPeek<'t> {
    /// The peek of a log of `bytes` bytes. `tail` must contain at least the last line, and to compare it with
    /// a state all of a log of up to 64 KiB.
    #[must_use]
    pub fn new(bytes: u64, tail: &'t [u8]) -> Self {
        Self {
            bytes,
            last: last_line(tail).and_then(LogEvent::stated_id),
            tail,
        }
    }

    /// Whether the last line has the id that its text hashes to.
    fn is_last_intact(&self) -> bool {
        last_line(self.tail).is_some_and(|line| LogEvent::read(line).is_ok())
    }

    /// Whether a state with these heads was written with this log. Line endings are ignored, because git may
    /// convert them on checkout.
    #[must_use]
    pub fn is_of(&self, extent: LogExtent, heads: &[Digest]) -> bool {
        let sizes = [extent.bytes, extent.bytes.saturating_add(extent.lines)];
        sizes.contains(&self.bytes)
            && self.last.is_some_and(|last| heads.contains(&last))
            && match extent.digest {
                Some(digest) => digest_of(self.tail, digest.format()) == Some(digest),
                None => self.is_last_intact(),
            }
    }
}

/// The last line of a log that is not blank; `None` if it is not UTF-8.
fn last_line(tail: &[u8]) -> Option<&str> {
    let last = tail
        .trim_ascii_end()
        .rsplit(|byte| *byte == b'\n')
        .next()
        .unwrap_or_default();
    std::str::from_utf8(last).ok()
}

/// The sort key of events; every event sorts after those that it follows.
type Rank = (u64, Timestamp, Digest);

impl EventLog {
    /// Parses a log. Lines that are not events are left out of the log and returned as faults.
    #[must_use]
    pub fn parse(bytes: &[u8]) -> (Self, Vec<LogFault>) {
        let mut log = Self::default();
        let faults = log.parse_on(bytes);
        (log, faults)
    }

    /// How many lines were parsed to their ends.
    pub(super) fn ended_lines(&self) -> u64 {
        u64::try_from(self.ended_lines).unwrap_or(u64::MAX)
    }

    /// Parses lines that follow those of this log, which must be without faults and have ended, and adds their events.
    pub(super) fn parse_on(&mut self, bytes: &[u8]) -> Vec<LogFault> {
        let mut faults = Vec::new();
        let known = self.events.len();
        for line in bytes.split(|byte| *byte == b'\n') {
            self.ended_lines += 1;
            match read_line(line, self.ended_lines) {
                Ok(None) => {}
                Ok(Some(event)) => self.push(event, self.ended_lines),
                Err(kind) => faults.push(LogFault {
                    line: self.ended_lines,
                    kind,
                }),
            }
        }
        // The text after the last newline is not counted; more of it may come.
        self.ended_lines -= 1;
        faults.extend((known..self.events.len()).filter_map(|at| self.misplaced(at)));
        faults.sort_by_key(|fault| fault.line);
        faults
    }

    /// Appends an event that is being recorded.
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

    /// The fault of an event that has an unknown predecessor, the wrong `seq` or an earlier version, if it has one.
    fn misplaced(&self, at: usize) -> Option<LogFault> {
        let event = &self.events[at];
        let mut largest = 0;
        for id in &event.after {
            let Some(before) = self.get(id) else {
                return Some(self.fault(at, LogFaultKind::UnknownPredecessor(*id)));
            };
            largest = before.entry.seq.max(largest);
            if event.entry.version < before.entry.version {
                return Some(self.fault(at, LogFaultKind::Downgraded));
            }
        }
        let expected = largest.saturating_add(1);
        if event.entry.seq == expected {
            return None;
        }
        Some(self.fault(at, LogFaultKind::Misnumbered { expected }))
    }

    fn fault(&self, at: usize, kind: LogFaultKind) -> LogFault {
        LogFault {
            line: self.lines[at],
            kind,
        }
    }

    /// A fault of the event `id` of this log.
    pub(super) fn fault_of(&self, id: &Digest, kind: LogFaultKind) -> LogFault {
        LogFault {
            line: self.places.get(id).map_or(0, |at| self.lines[*at]),
            kind,
        }
    }

    /// Whether the log has no event.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.events.is_empty()
    }

    /// The number of events.
    #[must_use]
    pub fn len(&self) -> usize {
        self.events.len()
    }

    /// The event with this id.
    #[must_use]
    pub fn get(&self, id: &Digest) -> Option<&LogEvent> {
        self.places.get(id).map(|at| &self.events[*at])
    }

    /// The events in line order.
    pub fn events(&self) -> impl Iterator<Item = &LogEvent> {
        self.events.iter()
    }

    /// The events, each after those that it follows; independent events are ordered by `seq`, time and id.
    /// The order of the lines does not affect the result.
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
            let is_faulty = self
                .places
                .get(&event.id)
                .is_some_and(|at| faulty.contains(&self.lines[*at]));
            if !is_faulty && event.after.iter().all(|before| intact.contains(before)) {
                intact.insert(event.id);
            }
        }
        intact
    }

    /// The ids of the events that no other event follows, in the order in which `after` lists them.
    #[must_use]
    pub fn heads(&self) -> Vec<Digest> {
        let followed: HashSet<&Digest> =
            self.events.iter().flat_map(|event| &event.after).collect();
        self.sorted(
            self.events
                .iter()
                .map(|event| event.id)
                .filter(|id| !followed.contains(id)),
        )
    }

    /// The ids, without duplicates, in the order in which `after` lists them: by `seq`, then by id.
    #[must_use]
    pub fn sorted(&self, ids: impl IntoIterator<Item = Digest>) -> Vec<Digest> {
        let mut ids: Vec<Digest> = ids.into_iter().collect();
        ids.sort_by_key(|id| (self.get(id).map(|event| event.entry.seq), *id));
        ids.dedup();
        ids
    }

    /// Those of the ids that no other of them follows, in the order in which `after` lists them.
    #[must_use]
    pub fn tips(&self, ids: &[Digest]) -> Vec<Digest> {
        let mut tips: Vec<Digest> = Vec::new();
        for id in self.sorted(ids.iter().copied()).into_iter().rev() {
            if !tips
                .iter()
                .any(|tip| self.merge_bases(&[*tip], &id) == [id])
            {
                tips.push(id);
            }
        }
        self.sorted(tips)
    }

    /// The ids of these events and of all their ancestors.
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

    /// The latest history entries up to these heads, oldest first, as many as a state keeps.
    #[must_use]
    pub fn history(&self, heads: &[Digest]) -> Vec<Arc<HistoryEntry>> {
        let mut entries: Vec<Arc<HistoryEntry>> = Vec::new();
        for event in self.newest_first(heads) {
            entries.push(event.entry.clone());
            if entries
                .first()
                .is_some_and(|newest| entries.len() == newest.version.history_window())
            {
                break;
            }
        }
        entries.reverse();
        entries
    }

    /// When the phase was last entered up to these heads; `None` if it never was.
    #[must_use]
    pub fn entered(&self, heads: &[Digest], phase: &PhaseId) -> Option<Timestamp> {
        self.last_entry_into(heads, phase).map(|entry| entry.at)
    }

    /// The last step up to these heads that entered a phase; `None` if it never was.
    #[must_use]
    pub fn last_entry_into(&self, heads: &[Digest], phase: &PhaseId) -> Option<&Arc<HistoryEntry>> {
        self.newest_first(heads)
            .map(|event| &event.entry)
            .find(|entry| entry.enters(phase))
    }

    /// The events up to these heads, each before those that it follows.
    fn newest_first(&self, heads: &[Digest]) -> impl Iterator<Item = &LogEvent> {
        let mut open: BinaryHeap<Rank> = heads
            .iter()
            .filter_map(|id| self.get(id))
            .map(rank)
            .collect();
        let mut last = None;
        std::iter::from_fn(move || {
            loop {
                let (_, _, id) = open.pop()?;
                if last == Some(id) {
                    continue;
                }
                last = Some(id);
                let Some(event) = self.get(&id) else { continue };
                open.extend(event.after.iter().filter_map(|id| self.get(id)).map(rank));
                return Some(event);
            }
        })
    }

    /// The merge bases of `these` and `that`: the common ancestors that are not ancestors of another common
    /// ancestor.
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
        let mut bases = Vec::new();
        let mut last = None;
        // An event is visited after all events that follow it, because its `seq` is smaller than theirs.
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
            if open
                .iter()
                .all(|(_, Reverse(id))| marks.get(id).is_some_and(|mark| mark & PAST != 0))
            {
                break;
            }
        }
        self.sorted(bases)
    }
}

/// The events that the log `held` contains and the log `now` lacks, each after those that it follows.
#[must_use]
pub fn lost_events(held: &[u8], now: &[u8]) -> Vec<LogEvent> {
    // Usually the log has only grown; then nothing has to be parsed.
    if now.starts_with(held) {
        return Vec::new();
    }
    let held = EventLog::parse(held).0;
    let now = EventLog::parse(now).0;
    let lost = held
        .in_order()
        .into_iter()
        .filter(|event| now.get(&event.id).is_none());
    lost.cloned().collect()
}

/// Whether the log `held` contains an event that the log `now` lacks.
#[must_use]
pub fn has_lost_events(held: &[u8], now: &[u8]) -> bool {
    !lost_events(held, now).is_empty()
}

/// Events in words: the first of them, and how many more there are.
#[must_use]
pub fn listed_events(events: &[LogEvent]) -> String {
    let words = events.iter().map(|event| {
        let kind = event.entry.kind.as_str();
        format!("{kind} to {} ({})", event.entry.to, event.id.short())
    });
    enumeration(words, 1)
}

/// Whether a log may have an event that a program of the first version does not know. It is fast, and errs only where a
/// line holds what no step puts there.
#[must_use]
pub fn has_later_version(log: &[u8]) -> bool {
    const VERSION: &[u8] = b"\",\"v\":";
    log.split(|byte| *byte == b'\n').any(|line| {
        // It stands behind the id, whose length depends on the format of the repository.
        line.get(..100.min(line.len()))
            .is_some_and(|begin| begin.windows(VERSION.len()).any(|at| at == VERSION))
    })
}

/// The lines of these texts that contain events with all predecessors present, each line once.
///
/// Conflict markers, damaged lines, and events that follow a lost event are left out.
#[must_use]
pub fn whole_lines(texts: &[&[u8]]) -> Vec<u8> {
    let text = texts.join(&b"\n"[..]);
    let (log, faults) = EventLog::parse(&text);
    let mut whole = log.intact(&faults);
    let mut lines = Vec::new();
    for line in text.split(|byte| *byte == b'\n') {
        let Ok(line) = std::str::from_utf8(line) else {
            continue;
        };
        let line = line.trim_end_matches('\r');
        // A damaged line states the id of the whole one.
        if LogEvent::read(line).is_ok_and(|event| whole.remove(&event.id)) {
            lines.extend_from_slice(line.as_bytes());
            lines.push(b'\n');
        }
    }
    lines
}

/// The event in a line; `None` for an empty line.
fn read_line(line: &[u8], number: usize) -> Result<Option<LogEvent>, LogFaultKind> {
    let line = std::str::from_utf8(line).map_err(|_| LogFaultKind::NotUtf8)?;
    let line = line.strip_suffix('\r').unwrap_or(line);
    if number == 1 && line.starts_with('\u{feff}') {
        return Err(LogFaultKind::ByteOrderMark);
    }
    if line.trim().is_empty() {
        return Ok(None);
    }
    if ["<<<<<<<", "|||||||", "=======", ">>>>>>>"]
        .iter()
        .any(|marker| line.starts_with(marker))
    {
        return Err(LogFaultKind::ConflictMarker);
    }
    Ok(Some(LogEvent::read(line)?))
}

fn rank(event: &LogEvent) -> Rank {
    (event.entry.seq, event.entry.at, event.id)
}

//! The parts of a log: each begins with a `create` of its own, and no event connects it with another.
//!
//! A log gets a second part if two branches created a task under the same id and git united their logs.

use super::fold::FoldCache;
use super::log::{EventLog, LogFault};
use super::log_event::LogEvent;
use crate::decide::Conflict;
use orch_base::Digest;
use std::collections::HashSet;
use std::sync::Arc;

/// The events of a log that are connected with each other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogPart {
    /// The event that it begins with.
    pub first: Digest,
    /// The events that no other event follows, in the order in which `after` lists them.
    pub heads: Vec<Digest>,
    /// All of its events.
    pub ids: HashSet<Digest>,
}

impl EventLog {
    /// The parts of the log, in the order of their first events.
    #[must_use]
    pub fn parts(&self) -> Vec<LogPart> {
        self.parts_of(&self.heads())
    }

    /// Those of these events that no other of them follows.
    #[must_use]
    pub fn heads_of(&self, ids: &HashSet<Digest>) -> Vec<Digest> {
        let events: Vec<&LogEvent> = ids.iter().filter_map(|id| self.get(id)).collect();
        let followed: HashSet<&Digest> = events.iter().flat_map(|event| &event.after).collect();
        let ids = events.iter().map(|event| event.id);
        self.sorted(ids.filter(|id| !followed.contains(id)))
    }

    /// The parts that end with these events, in the order of their first events.
    #[must_use]
    pub fn parts_of(&self, heads: &[Digest]) -> Vec<LogPart> {
        let mut parts: Vec<LogPart> = Vec::new();
        for head in heads.iter().copied() {
            let mut part = LogPart {
                first: head,
                heads: vec![head],
                ids: self.ancestry(&[head]),
            };
            let (connected, apart): (Vec<LogPart>, Vec<LogPart>) = parts
                .into_iter()
                .partition(|other| !other.ids.is_disjoint(&part.ids));
            for other in connected {
                part.heads.extend(other.heads);
                part.ids.extend(other.ids);
            }
            part.heads = self.sorted(part.heads);
            parts = apart;
            parts.push(part);
        }
        for part in &mut parts {
            let events = part.ids.iter().filter_map(|id| self.get(id));
            let first = events.min_by_key(|event| (event.entry.seq, event.entry.at, event.id));
            part.first = first.map_or(part.first, |event| event.id);
        }
        parts.sort_by_key(|part| {
            self.get(&part.first)
                .map(|first| (first.entry.seq, first.entry.at, first.id))
        });
        parts
    }

    /// The conflict of a log whose parts are of several tasks; `None` if all of them are of one task.
    ///
    /// Parts are of one task if their tasks were created under the same title, or took over the same state of another
    /// tool.
    ///
    /// # Errors
    ///
    /// The first event of a part cannot be folded.
    pub fn tasks_in_one(
        &self,
        parts: &[LogPart],
        cache: &mut FoldCache,
    ) -> Result<Option<Conflict>, LogFault> {
        let Some((one, others)) = parts.split_first() else {
            return Ok(None);
        };
        let mut are_same = true;
        for other in others {
            are_same = are_same && self.are_of_one_task(one, other, cache)?;
        }
        if are_same {
            return Ok(None);
        }
        let tasks = parts
            .iter()
            .map(|part| self.created_as(part, cache))
            .collect::<Result<_, _>>()?;
        Ok(Some(Conflict::SeveralTasks { tasks }))
    }

    /// The task of a part in words: the title under which it was created, or else who created it, and when.
    ///
    /// # Errors
    ///
    /// The first event of the part cannot be folded.
    pub fn created_as(&self, part: &LogPart, cache: &mut FoldCache) -> Result<String, LogFault> {
        let state = self.state_at(&part.first, cache)?;
        if let Some(title) = &state.title {
            return Ok(format!("`{title}`"));
        }
        let entry = self.get(&part.first).map(|event| Arc::clone(&event.entry));
        let by = entry.map(|entry| format!(", created by {} at {}", entry.actor.name, entry.at));
        Ok(format!("one without a title{}", by.unwrap_or_default()))
    }

    fn are_of_one_task(
        &self,
        one: &LogPart,
        other: &LogPart,
        cache: &mut FoldCache,
    ) -> Result<bool, LogFault> {
        let title = self.state_at(&one.first, cache)?.title.clone();
        let other_title = self.state_at(&other.first, cache)?.title.clone();
        if title.is_some() || other_title.is_some() {
            return Ok(title == other_title);
        }
        let (Some(own), Some(others)) = (self.get(&one.first), self.get(&other.first)) else {
            return Ok(false);
        };
        let mut evidence = own.entry.evidence.iter();
        Ok(evidence.any(|file| others.entry.evidence.contains(file)))
    }

    /// The lines of some of the events, each after the events that it follows.
    #[must_use]
    pub fn lines_of(&self, ids: &HashSet<Digest>) -> Vec<u8> {
        let events = self
            .in_order()
            .into_iter()
            .filter(|event| ids.contains(&event.id));
        events.map(LogEvent::line).collect::<String>().into_bytes()
    }
}

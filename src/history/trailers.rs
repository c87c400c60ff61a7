//! What a commit message states about steps, compared with the events that the commit adds. People read the
//! message, so it must say what the record says.

use super::subject::ToldMove;
use crate::base::{Digest, TaskId};
use crate::decide::HistoryEntry;
use crate::record::LogEvent;
use crate::store::trailers;
use crate::view::{StepTrailers, quoted};

/// The common beginning of the trailers that `orch` writes.
const OURS: &str = "Orch-";
const TASK: &str = "Orch-Task";
const EVIDENCE: &str = "Orch-Evidence";
const UNPROVEN: &str = "Orch-Unproven";

/// What a commit message states about the records that the commit changes.
#[derive(Default)]
pub(super) struct ToldSteps {
    /// The steps that its trailers describe.
    steps: Vec<ToldStep>,
    /// The moves that its text states.
    moves: Vec<ToldMove>,
    /// Whether the commit is a merge. A host may give a merge, which brings the steps of a branch, the subject of
    /// one of them.
    is_merge: bool,
}

impl ToldSteps {
    /// What the message of a commit states. `is_merge` says that the commit has several parents.
    pub(super) fn of(message: &str, is_merge: bool) -> Self {
        let steps = ToldStep::all(message);
        let moves = ToldMove::all(message, !steps.is_empty());
        Self { steps, moves, is_merge }
    }

    /// Whether it states nothing.
    pub(super) fn is_empty(&self) -> bool {
        self.steps.is_empty() && self.moves.is_empty()
    }

    /// Whether its subject states a move without naming a task.
    pub(super) fn has_unnamed_move(&self) -> bool {
        self.moves.iter().any(|told| told.task.is_none())
    }

    /// Why trailers that describe a step without naming a task are wrong; `None` if there are none.
    pub(super) fn unnamed_step(&self) -> Option<String> {
        self.steps.iter().find(|told| told.task.is_empty()).map(ToldStep::not_recorded)
    }

    /// Each task that the message names for a step or a move.
    pub(super) fn tasks(&self) -> impl Iterator<Item = NamedTask<'_>> {
        let steps = self.steps.iter().filter(|told| !told.task.is_empty()).map(|told| NamedTask {
            name: &told.task,
            is_by_trailers: true,
            why: told.not_recorded(),
        });
        let moves = self.moves.iter().filter(|_| !self.is_merge).filter_map(|told| {
            Some(NamedTask {
                name: told.task.as_deref()?,
                is_by_trailers: false,
                why: told.contradicts(&[])?,
            })
        });
        steps.chain(moves)
    }

    /// Why the message does not describe these new events of a task; `None` if it does, or states none. `is_only`
    /// says that the commit adds events of no other task, and `is_phase` which names are phases of the task.
    pub(super) fn contradicts(
        &self,
        task: &TaskId,
        events: &[LogEvent],
        is_only: bool,
        is_phase: impl Fn(&str) -> bool,
    ) -> Option<String> {
        let is_only = is_only && !events.is_empty();
        let mut steps = self.steps.iter().filter(|told| told.task.is_empty() || told.task == task.as_str());
        let entries: Vec<HistoryEntry> = events.iter().map(|event| event.entry.clone()).collect();
        let has_moves = !(self.is_merge && entries.is_empty());
        let mut moves = self.moves.iter().filter(|told| has_moves && told.is_about(task, is_only, &is_phase));
        steps
            .find_map(|told| told.contradicts(task, events))
            .or_else(|| moves.find_map(|told| told.contradicts(&entries)))
    }
}

/// A task that a commit message names for a step or a move.
pub(super) struct NamedTask<'t> {
    /// The id of the task, as told.
    pub name: &'t str,
    /// Whether trailers name it. They have a form of their own; a subject may mean something else.
    pub is_by_trailers: bool,
    /// The reason if the commit does not record the step or the move.
    pub why: String,
}

/// A step that the trailers of a commit describe.
pub(super) struct ToldStep {
    /// The id of the task, as told; empty without `Orch-Task`.
    task: String,
    /// The other trailers of `orch`: token and value.
    rest: Vec<(String, String)>,
}

impl ToldStep {
    /// The steps that a commit message states. Each begins with `Orch-Task`; one without further trailers
    /// of `orch` only names the task that a commit of code belongs to, and states no step.
    fn all(message: &str) -> Vec<Self> {
        let mut told: Vec<Self> = Vec::new();
        if !message.to_ascii_lowercase().contains(&OURS.to_ascii_lowercase()) {
            return told;
        }
        for (token, value) in told_trailers(message) {
            if token.eq_ignore_ascii_case(TASK) {
                told.push(Self { task: value, rest: Vec::new() });
            } else if token.get(..OURS.len()).is_some_and(|start| start.eq_ignore_ascii_case(OURS)) {
                let step = match told.last_mut() {
                    Some(step) => step,
                    None => told.push_mut(Self { task: String::new(), rest: Vec::new() }),
                };
                step.rest.push((token, value));
            }
        }
        told.retain(|step| !step.rest.is_empty());
        told
    }

    /// Why the trailers are not those of any of these events of a task, compared with the event that they fit
    /// best; `None` if they are those of one.
    fn contradicts(&self, task: &TaskId, events: &[LogEvent]) -> Option<String> {
        let mut whys = Vec::new();
        for event in events {
            let recorded = StepTrailers::recorded(task, &event.entry, &event.workflow).list();
            let agreed = recorded.iter().filter(|(token, value)| self.tells(token, value)).count();
            whys.push((agreed, self.differs(task, event, &recorded)?));
        }
        let nearest = whys.into_iter().max_by_key(|(agreed, _)| *agreed);
        Some(nearest.map_or_else(|| self.not_recorded(), |(_, why)| why))
    }

    /// The reason if the commit adds no event of the task.
    fn not_recorded(&self) -> String {
        if self.task.is_empty() {
            let told = self.rest.iter().map(|(token, value)| format!("{token}: {value}")).next();
            let told = told.unwrap_or_default();
            return format!(
                "the trailers describe a step ({told}) without {TASK}, and this commit records none"
            );
        }
        format!("the trailers describe a step of `{}` that this commit does not record", self.task)
    }

    /// The values of the trailers with this token.
    fn values<'t>(&'t self, token: &'static str) -> impl Iterator<Item = &'t str> {
        let own = self.rest.iter().filter(move |(told, _)| told.eq_ignore_ascii_case(token));
        own.map(|(_, value)| value.as_str())
    }

    /// Whether a trailer has this token and value.
    fn tells(&self, token: &str, value: &str) -> bool {
        self.rest.iter().any(|(told, text)| told.eq_ignore_ascii_case(token) && text == value)
    }

    /// The files that a step rests on and that no trailer names one by one.
    fn unlisted<'e>(&self, event: &'e LogEvent) -> Vec<(&'e str, Digest)> {
        let is_listed =
            |path: &str, digest: &str| self.values(EVIDENCE).any(|value| is_evidence(value, path, digest));
        let evidence = event.entry.evidence.iter().filter(|(path, digest)| !is_listed(path, digest));
        evidence.filter_map(|(path, digest)| Some((path.as_str(), Digest::parse(digest)?))).collect()
    }

    /// Whether the values that stand for several files account for the files that are not listed one by one.
    fn accounts_for(&self, unlisted: &[(&str, Digest)]) -> bool {
        let several: Vec<(usize, Digest)> = self.values(EVIDENCE).filter_map(several).collect();
        match several.as_slice() {
            [] => true,
            [(count, digest)] => *count == unlisted.len() && Digest::of_files(unlisted) == *digest,
            // Which artifact a file belongs to is not in the record.
            many => many.iter().map(|(count, _)| count).sum::<usize>() == unlisted.len(),
        }
    }

    /// Why the trailers are not those of this event, whose own trailers are `recorded`; `None` if they are.
    fn differs(
        &self,
        task: &TaskId,
        event: &LogEvent,
        recorded: &[(&'static str, String)],
    ) -> Option<String> {
        if self.task.is_empty() {
            return Some(format!("the trailer {TASK} is missing; the record says {:?}", task.as_str()));
        }
        let mut wanted = recorded.iter().filter(|(token, _)| *token != TASK);
        if let Some((token, value)) = wanted.find(|(token, value)| !self.tells(token, value)) {
            return Some(match self.values(token).next() {
                Some(told) => {
                    format!("the trailer {token} says {told:?}, but the record says {value:?}")
                }
                None => format!("the trailer {token} is missing; the record says {value:?}"),
            });
        }
        let unlisted = self.unlisted(event);
        let is_several = self.accounts_for(&unlisted);
        let evidence = &event.entry.evidence;
        for (token, value) in &self.rest {
            let is_known = if token.eq_ignore_ascii_case(EVIDENCE) {
                evidence.iter().any(|(path, digest)| is_evidence(value, path, digest))
                    || (several(value).is_some() && is_several)
            } else if token.eq_ignore_ascii_case(UNPROVEN) {
                evidence.iter().any(|(path, _)| *value == quoted(path))
            } else {
                let has = |(known, text): &(&str, String)| token.eq_ignore_ascii_case(known) && text == value;
                recorded.iter().any(has)
            };
            if !is_known {
                return Some(format!("the trailer {token} says {value:?}, which the record does not say"));
            }
        }
        let has_several = self.rest.iter().any(|(_, value)| several(value).is_some());
        let is_unproven = |path: &str| self.values(UNPROVEN).any(|value| value == quoted(path));
        let missing = unlisted.iter().find(|(path, _)| !has_several && !is_unproven(path));
        missing
            .map(|(path, digest)| format!("the trailers do not list the evidence {path}@{}", digest.short()))
    }
}

/// The trailers of a message. Blocks of other trailers may follow those of `orch`, such as a sign-off in a paragraph of
/// its own: git does not count what is above the last block, but people read it.
fn told_trailers(message: &str) -> Vec<(String, String)> {
    let is_ours = |token: &str| token.get(..OURS.len()).is_some_and(|start| start.eq_ignore_ascii_case(OURS));
    let mut rest = message.trim_end();
    loop {
        let found = trailers(rest);
        if found.is_empty() || found.iter().any(|(token, _)| is_ours(token)) {
            return found;
        }
        match rest.rsplit_once("\n\n") {
            Some((above, _)) => rest = above.trim_end(),
            None => return Vec::new(),
        }
    }
}

/// Whether the value of a trailer names this file.
fn is_evidence(value: &str, path: &str, digest: &str) -> bool {
    value.rsplit_once('@').is_some_and(|(name, told)| told == digest && name == quoted(path))
}

/// The number of files and the digest in `ARTIFACT (N files)@DIGEST`, which stands for several files.
fn several(value: &str) -> Option<(usize, Digest)> {
    let (name, digest) = value.rsplit_once('@')?;
    let count = name.strip_suffix(" files)")?.rsplit_once('(')?.1;
    Some((count.parse().ok()?, Digest::parse(digest)?))
}

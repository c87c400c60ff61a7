//! Proving a record that joins branches: each line that it adds must follow from others that it holds.
//!
//! A merge commit has both sides for parents. A rebase, a cherry-pick or a squash has one; the other
//! side's steps then stand in the transcript alone, and are replayed as far as git has what they rest on.

use super::archive::Archive;
use super::code::told;
use super::records::{Records, state_in};
use super::snapshot::Snapshot;
use super::{Error, Loaded, TaskRef};
use crate::base::{Digest, PhaseId, RepoPath};
use crate::decide::{
    ActorKind, Approval, HISTORY_WINDOW, HistoryEntry, Kind, Proof, ProvenStep, Recorded, Stamp, Standing,
    State, choose, difference, document, join_histories, merge, replay,
};
use crate::record::{Event, read_transcript, rebuild, settled_lines, transcript_line, without_markers};
use crate::scan::Files;
use crate::workflow::Workflow;
use serde_json::Value;
use std::collections::HashSet;
use std::rc::Rc;

/// Proves a record against everything that was there before; `None` where it cannot be read.
/// `parents` are the commits that it follows.
pub(super) fn prove_joined(
    task: &TaskRef,
    befores: &[Snapshot<'_>],
    parents: &[Digest],
    after: &Snapshot<'_>,
    archive: &Archive<'_>,
) -> Result<Option<Proof>, Error> {
    let new = Records::of(task, after)?;
    let whole = new.state.as_deref().and_then(|bytes| state_in(bytes, after.setting, archive));
    let Some((state, phase_key)) = &whole else { return Ok(None) };
    let text = String::from_utf8_lossy(&new.transcript);
    let mut told: HashSet<String> = HashSet::new();
    let mut sides: Vec<State> = Vec::new();
    for before in befores {
        let old = Records::of(task, before)?;
        let known = old.state.as_deref().and_then(|bytes| state_in(bytes, before.setting, archive));
        let lines = match known {
            Some((state, _)) => {
                let lines = settled_lines(&old.transcript, state.next_seq);
                sides.push(state);
                lines
            }
            // A merge was committed with its conflict: its parents tell what it was made of.
            None if old.state.is_some() => {
                let Some(made_of) = old.digests().and_then(|digests| archive.made_of(task, digests)) else {
                    let why = "what the conflict before it was made of is not known here";
                    return Ok(Some(Proof::bare(Standing::Unverifiable, why)));
                };
                sides.extend(made_of);
                without_markers(&old.transcript)
            }
            None => old.transcript,
        };
        told.extend(String::from_utf8_lossy(&lines).lines().map(str::to_owned));
    }
    let now: HashSet<&str> = text.lines().collect();
    if told.iter().any(|line| !now.contains(line.as_str())) {
        return Ok(Some(Proof::forged("transcript.jsonl, which only grows, was rewritten")));
    }
    if let Some(why) = unlike(state, &text, phase_key) {
        return Ok(Some(Proof::forged(why)));
    }
    let events = read_transcript(&text);
    let is_old = |event: &Event| told.contains(&event.after.to_string());
    let order = join_histories(events.iter().map(|event| &event.entry));
    let fresh: Vec<&Event> = order
        .iter()
        .filter_map(|entry| events.iter().find(|event| event.entry == *entry))
        .filter(|event| !is_old(event))
        .collect();
    let Some(last) = fresh.last() else {
        let same = sides.iter().any(|side| side == state);
        let why = "as one of the sides that were in conflict";
        return Ok(Some(if same {
            Proof::bare(Standing::Restored, why)
        } else {
            Proof::forged("the state changed without a recorded step")
        }));
    };
    if Some(&last.entry) != state.history.last() {
        return Ok(Some(Proof::forged("a line was put among those that were there")));
    }
    let bases = archive.common_states(task, parents)?;
    let bases = bases.iter().filter_map(|bytes| state_in(bytes, after.setting, archive));
    let bases = bases.map(|(state, _)| state).collect();
    let mut join =
        Join { task, befores, parents, after, archive, events: &events, sides, bases, worlds: Vec::new() };
    let steps: Vec<ProvenStep> =
        fresh.iter().map(|event| join.step(event, &fresh)).collect::<Result<_, _>>()?;
    Ok(Some(verdict(steps)))
}

/// What a state says otherwise than its transcript; of failures the transcript does not tell.
fn unlike(state: &State, transcript: &str, phase_key: &str) -> Option<String> {
    let told = match rebuild(transcript, phase_key) {
        Some(Ok(told)) => told,
        Some(Err(faults)) => return faults.into_iter().next().map(|fault| fault.message),
        None => return Some("the transcript tells of no step".to_owned()),
    };
    // A state that was taken over from another tool may bring a history of its own.
    let is_told = |entry: &&HistoryEntry| told.history.contains(entry);
    let is_foreign = told.history.len() < HISTORY_WINDOW;
    let history: Vec<HistoryEntry> =
        state.history.iter().filter(|e| is_told(e) || !is_foreign).cloned().collect();
    let held = State { history, errors: told.errors.clone(), ..state.clone() };
    let [told, held] = [&told, &held].map(|state| document(state, phase_key));
    difference(&told, &held, "").map(|why| format!("the state is not what its transcript tells: {why}"))
}

/// Of one step its own verdict; where the last one joins what the others did, that of joining.
fn verdict(steps: Vec<ProvenStep>) -> Proof {
    let joins = steps.last().filter(|last| last.entry.kind == Kind::Merge).map(|last| last.standing);
    let others = steps.len() - 1;
    let proof = Proof::of(steps);
    match joins {
        Some(standing) if others > 0 && proof.standing == Standing::Folded => {
            let why = Some(format!("{others} of its steps were made on another branch"));
            Proof { standing, why, ..proof }
        }
        _ => proof,
    }
}

struct Join<'a> {
    task: &'a TaskRef,
    befores: &'a [Snapshot<'a>],
    parents: &'a [Digest],
    after: &'a Snapshot<'a>,
    archive: &'a Archive<'a>,
    /// Everything that the transcript tells.
    events: &'a [Event],
    /// The states that were there before, both sides of one in conflict.
    sides: Vec<State>,
    /// What git says that they come from.
    bases: Vec<State>,
    /// What the task held after steps that were replayed.
    worlds: Vec<(HistoryEntry, Files)>,
}

impl Join<'_> {
    fn step(&mut self, event: &Event, fresh: &[&Event]) -> Result<ProvenStep, Error> {
        let verdict = |standing, why: Option<&str>| ProvenStep {
            entry: event.entry.clone(),
            standing,
            approval: None,
            is_judged: true,
            why: why.map(str::to_owned),
        };
        let Some(loaded) = self.workflow_of(event) else {
            let why = "the workflow that decided is not one that stood here before the step";
            return Ok(ProvenStep { is_judged: false, ..verdict(Standing::Unverifiable, Some(why)) });
        };
        let Some(workflow) = &loaded.workflow else { return Err(loaded.faulty()) };
        if event.entry.kind == Kind::Merge {
            return Ok(match self.joins(event, fresh, workflow) {
                Some(standing) => verdict(standing, None),
                None => verdict(Standing::Forged, Some("no two branches that it knows make this state")),
            });
        }
        match self.replayed(event, &loaded, workflow)? {
            Some(step) => Ok(step),
            None => {
                let why = "it was made on another branch, and what it rests on is not in git here";
                Ok(verdict(Standing::Unverifiable, Some(why)))
            }
        }
    }

    fn workflow_of(&self, event: &Event) -> Option<Rc<Loaded>> {
        let digest =
            event.after.pointer("/workflow/digest").and_then(Value::as_str).and_then(Digest::parse)?;
        let name = event.workflow.as_ref()?.as_str();
        self.befores.iter().find_map(|before| self.archive.workflow(before.setting, name, digest))
    }

    /// Whether two states that are known make the joined one, and on whose word.
    fn joins(&self, event: &Event, fresh: &[&Event], workflow: &Workflow) -> Option<Standing> {
        let entry = &event.entry;
        let phase_key = &workflow.phase_key;
        let state = |event: &Event| event.state(phase_key).ok();
        let before = |other: &&Event| other.entry.seq < entry.seq;
        let told: Vec<State> = self.events.iter().filter(before).filter_map(state).collect();
        let own = fresh.iter().copied().filter(before).filter_map(state);
        let near: Vec<State> = self.sides.iter().cloned().chain(own).collect();
        let is_it = |state: &State| {
            let line: Option<Value> = serde_json::from_str(&transcript_line(state, phase_key)).ok();
            line.as_ref() == Some(&event.after)
        };
        let stamp = Stamp { at: entry.at, by: entry.actor.clone() };
        let phase = |state: &State| -> Option<PhaseId> {
            let name = state.phase.as_deref().unwrap_or(workflow.initial.as_str());
            workflow.phase_named(name).map(|phase| phase.id.clone())
        };
        for one in &near {
            for other in near.iter().chain(&told) {
                let fits = one.rev.max(other.rev).checked_add(1) == Some(event.rev)
                    && one.next_seq.max(other.next_seq) == entry.seq
                    && [phase(one), phase(other)].contains(&Some(entry.to.clone()));
                if !fits {
                    continue;
                }
                if entry.actor.kind != ActorKind::Orch {
                    let sides = [(one, other), (other, one)].into_iter();
                    let mut chosen = sides.flat_map(|(a, b)| choose(workflow, a, b, &entry.reason, &stamp));
                    if chosen.any(|state| is_it(&state)) {
                        return Some(Standing::Overridden);
                    }
                    continue;
                }
                let bases = self.bases.iter().chain(told.iter().rev()).map(Some).chain([None]);
                let mut merged = bases.flat_map(|base| merge(workflow, base, one, other));
                if merged.any(|state| is_it(&state)) {
                    return Some(Standing::Merged);
                }
            }
        }
        None
    }

    /// Replays a step of another branch from any state that it may have followed, on the files that
    /// the task may have held then.
    fn replayed(
        &mut self,
        event: &Event,
        loaded: &Loaded,
        workflow: &Workflow,
    ) -> Result<Option<ProvenStep>, Error> {
        let entry = &event.entry;
        let Ok(after) = event.state(&workflow.phase_key) else { return Ok(None) };
        let mut earlier: Vec<Option<&Event>> = self
            .events
            .iter()
            .filter(|other| other.entry.seq.checked_add(1) == Some(entry.seq))
            .map(Some)
            .collect();
        if entry.kind == Kind::Create {
            earlier.push(None);
        }
        for previous in earlier {
            let before = match previous.map(|previous| previous.state(&workflow.phase_key)) {
                None => Recorded::New,
                Some(Ok(state)) => Recorded::Known(Box::new(state)),
                Some(Err(_)) => continue,
            };
            let mut history: Vec<HistoryEntry> =
                previous.map(|previous| previous.entry.clone()).into_iter().collect();
            history.push(entry.clone());
            let after = State { history, ..after.clone() };
            for files in self.moments(previous, entry)? {
                let snapshot = Snapshot { source: &files, ..*self.after };
                let (workflow, observed, untrue) =
                    snapshot.observe_step(self.task, loaded, &before, &told(workflow, entry, &after))?;
                if let Ok(replayed) = replay(workflow, &before, &observed.facts, entry, Some(&after)) {
                    let why = snapshot.code_unknown(workflow, self.parents, &untrue)?;
                    let standing = if why.is_some() { Standing::Unverifiable } else { replayed.standing };
                    self.worlds.push((entry.clone(), files));
                    return Ok(Some(ProvenStep {
                        entry: entry.clone(),
                        standing,
                        approval: replayed.by_person.then_some(Approval::Claimed),
                        is_judged: true,
                        why,
                    }));
                }
            }
        }
        Ok(None)
    }

    /// What the task may have held at a step: what it held after the step before, or what any of the
    /// commits here hold, each with the step's own evidence; or that alone.
    fn moments(&self, previous: Option<&Event>, entry: &HistoryEntry) -> Result<Vec<Files>, Error> {
        let limit = self.after.setting.config.limit_bytes;
        let directory = &self.task.directory;
        let mut moments: Vec<Files> = Vec::new();
        if let Some(previous) = previous {
            let known = self.worlds.iter().find(|(entry, _)| *entry == previous.entry);
            moments.extend(known.map(|(_, files)| files.clone()));
            if let Some(tree) = self.archive.after_line(self.parents, self.task, &previous.after)? {
                moments.push(Files::of(&tree, directory, limit)?);
            }
            // Files that no step names may have been there by then.
            let mut with_rest = moments.last().cloned().unwrap_or_default();
            let latest = Files::of(self.after.source, directory, limit)?;
            for path in
                latest.paths().filter(|path| with_rest.bytes(path).is_none()).cloned().collect::<Vec<_>>()
            {
                with_rest.put(path.clone(), latest.bytes(&path).unwrap_or_default().to_vec());
            }
            moments.push(with_rest);
        }
        for source in self.befores.iter().chain([self.after]).map(|snapshot| snapshot.source) {
            moments.push(Files::of(source, directory, limit)?);
        }
        moments.push(Files::default());
        for (path, digest) in &entry.evidence {
            let (Ok(path), Some(digest)) = (self.task.file(path), Digest::parse(digest)) else { continue };
            if let Some(bytes) = self.archive.blob(digest)? {
                put(&mut moments, &path, &bytes);
            }
        }
        Ok(moments)
    }
}

fn put(moments: &mut [Files], path: &RepoPath, bytes: &[u8]) {
    moments.iter_mut().for_each(|files| files.put(path.clone(), bytes.to_vec()));
}

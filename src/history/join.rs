//! Proving a record that joins branches: each line that it adds must follow from others that it holds.
//!
//! A merge commit has both sides for parents. A rebase, a cherry-pick or a squash has one; the other
//! side's steps then stand in the transcript alone, and are replayed as far as git has what they rest on.

use super::archive::Archive;
use super::reconstruction::{NotedDigests, Restoring};
use super::records::{Records, known, missing_end, state_in};
use crate::base::{ArtifactName, Digest, PhaseId, command};
use crate::decide::{
    ActorKind, Approval, HISTORY_WINDOW, HistoryEntry, Kind, Proof, ProvenStep, Recorded, Stamp, Standing,
    State, choose, difference, document, join_histories, merge, replay,
};
use crate::record::{Event, read_transcript, rebuild, transcript_line, without_markers};
use crate::scan::FileSet;
use crate::survey::code::{Told, told};
use crate::survey::snapshot::Snapshot;
use crate::survey::{Error, Loaded, TaskRef};
use crate::workflow::Workflow;
use serde_json::Value;
use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

/// A record that is proven against everything that was there before it.
pub(super) struct Join<'a> {
    task: &'a TaskRef,
    befores: &'a [Snapshot<'a>],
    parents: &'a [Digest],
    after: &'a Snapshot<'a>,
    archive: &'a Archive<'a>,
    new: Records,
    /// The lines that were told before.
    told: BTreeSet<String>,
    /// The states that were there before, those of both sides where one was in pieces.
    sides: Vec<State>,
    /// Everything that the transcript tells now.
    events: Vec<Event>,
}

/// What the task held after steps that were replayed, by their lines.
type Worlds = HashMap<String, FileSet>;

impl<'a> Join<'a> {
    /// `parents` are the commits that the record follows, and `befores` what they hold.
    pub(super) fn new(
        task: &'a TaskRef,
        befores: &'a [Snapshot<'a>],
        parents: &'a [Digest],
        after: &'a Snapshot<'a>,
        archive: &'a Archive<'a>,
    ) -> Result<Self, Error> {
        let new = Records::of(task, after.source)?;
        let (mut told, mut sides) = (BTreeSet::new(), Vec::new());
        for (before, parent) in befores.iter().zip(parents) {
            let old = Records::of(task, before.source)?;
            told.extend(old.lines(before.setting, archive));
            match old.state.as_deref().and_then(|bytes| state_in(bytes, before.setting, archive)) {
                Some((state, _)) => sides.push(state),
                // A merge was committed with its conflict: its parents tell what it was made of.
                None if old.state.is_some() => sides.extend(archive.made_of(task, *parent)?),
                None => {}
            }
        }
        let lines =
            if new.is_conflicted() { without_markers(&new.transcript) } else { new.transcript.clone() };
        let events = read_transcript(&String::from_utf8_lossy(&lines));
        Ok(Self { task, befores, parents, after, archive, new, told, sides, events })
    }

    /// Proves a record with a whole state; `None` where it has none.
    pub(super) fn prove(&self) -> Result<Option<Proof>, Error> {
        let whole = self.new.state.as_deref();
        let whole = whole.and_then(|bytes| state_in(bytes, self.after.setting, self.archive));
        let Some((state, phase_key)) = &whole else { return Ok(None) };
        let text = String::from_utf8_lossy(&self.new.transcript);
        if let Some(proof) = self.rewritten() {
            return Ok(Some(proof));
        }
        if let Some(why) = unlike(state, &text, phase_key) {
            return Ok(Some(Proof::forged(why)));
        }
        let fresh = self.fresh();
        let Some(last) = fresh.last() else {
            let same = self.sides.iter().any(|side| side == state);
            return Ok(Some(if same {
                Proof::bare(Standing::Restored, "as one of the sides that were in conflict")
            } else {
                Proof::forged("the state changed without a recorded step")
            }));
        };
        if Some(&last.entry) != state.history.last() {
            return Ok(Some(Proof::forged("a line was put among those that were there")));
        }
        let proof = verdict(self.steps(&fresh)?);
        let fault = if proof.standing < Standing::Forged { self.missing_end(state) } else { None };
        Ok(Some(fault.map_or(proof, Proof::forged)))
    }

    /// Proves a record whose state is in pieces: as far as it goes, its transcript.
    pub(super) fn prove_conflicted(&self) -> Result<Proof, Error> {
        if let Some(proof) = self.rewritten() {
            return Ok(proof);
        }
        let way_out = command(&["orch", "resolve", self.task.id.as_str()]);
        let why = format!("the conflict of a merge was committed; {way_out}");
        let conflicted = Proof::bare(Standing::Unverifiable, why);
        let fresh = self.fresh();
        let proof = if fresh.is_empty() { None } else { Some(verdict(self.steps(&fresh)?)) };
        Ok(proof.filter(|proof| proof.standing == Standing::Forged).unwrap_or(conflicted))
    }

    /// The verdict where a line is gone.
    fn rewritten(&self) -> Option<Proof> {
        let text = String::from_utf8_lossy(&self.new.transcript);
        let now: BTreeSet<&str> = text.lines().collect();
        let is_gone = self.told.iter().any(|line| !now.contains(line.as_str()));
        is_gone.then(|| Proof::forged("transcript.jsonl, which only grows, was rewritten"))
    }

    /// What was not told before, in the order of the steps.
    fn fresh(&self) -> Vec<&Event> {
        let order = join_histories(self.events.iter().map(|event| &event.entry));
        let events = order.iter().filter_map(|entry| self.events.iter().find(|event| event.entry == *entry));
        events.filter(|event| !self.told.contains(&event.after.to_string())).collect()
    }

    fn steps(&self, fresh: &[&Event]) -> Result<Vec<ProvenStep>, Error> {
        let bases = self.archive.common(self.task, self.parents)?;
        let bases = bases.iter().filter_map(|base| {
            let (state, _) = state_in(base.state.as_deref()?, self.after.setting, self.archive)?;
            Some(state)
        });
        let bases: Vec<State> = bases.collect();
        let mut worlds = Worlds::new();
        fresh.iter().map(|event| self.step(event, fresh, &bases, &mut worlds)).collect()
    }

    fn step(
        &self,
        event: &Event,
        fresh: &[&Event],
        bases: &[State],
        worlds: &mut Worlds,
    ) -> Result<ProvenStep, Error> {
        let verdict = |standing, why: Option<String>| ProvenStep {
            entry: event.entry.clone(),
            standing,
            approval: None,
            is_judged: true,
            why,
        };
        let Some(loaded) = self.workflow_of(event) else {
            let why = "the workflow that decided is not one that stood here before the step".to_owned();
            return Ok(ProvenStep { is_judged: false, ..verdict(Standing::Unverifiable, Some(why)) });
        };
        let Some(workflow) = loaded.workflow() else { return Err(loaded.faulty()) };
        if event.entry.kind == Kind::Merge {
            let is_last = fresh.last().is_some_and(|last| last.entry == event.entry);
            return Ok(match self.joins(event, fresh, is_last, bases, workflow) {
                Some(standing) => verdict(standing, None),
                None => {
                    let why = "no two branches that it knows make this state".to_owned();
                    verdict(Standing::Forged, Some(why))
                }
            });
        }
        Ok(match self.replayed(event, &loaded, workflow, worlds)? {
            Ok(step) => step,
            Err(Some(missing)) => verdict(Standing::Unverifiable, Some(missing)),
            Err(None) => {
                let why = "the rules do not yield it from any step before it, on what it names".to_owned();
                verdict(Standing::Forged, Some(why))
            }
        })
    }

    fn workflow_of(&self, event: &Event) -> Option<Arc<Loaded>> {
        let digest =
            event.after.pointer("/workflow/digest").and_then(Value::as_str).and_then(Digest::parse)?;
        let name = event.workflow.as_ref()?.as_str();
        self.befores.iter().find_map(|before| self.archive.workflow(before.setting, name, digest))
    }

    /// Whether two states that are known make the joined one, and on whose word. What joins last must
    /// join something that was there, or was just brought, with another; what was joined earlier on
    /// another branch may have joined what is told since long.
    fn joins(
        &self,
        event: &Event,
        fresh: &[&Event],
        is_last: bool,
        bases: &[State],
        workflow: &Workflow,
    ) -> Option<Standing> {
        let entry = &event.entry;
        let phase_key = &workflow.phase_key;
        let state = |event: &Event| event.state(phase_key).ok();
        let before = |other: &&Event| other.entry.seq < entry.seq;
        let told: Vec<State> = self.events.iter().filter(before).filter_map(state).collect();
        let own = fresh.iter().copied().filter(before).filter_map(state);
        let near: Vec<State> = self.sides.iter().cloned().chain(own).collect();
        let near: Vec<&State> =
            if is_last { near.iter().collect() } else { near.iter().chain(&told).collect() };
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
            for other in near.iter().copied().chain(&told) {
                let fits = one.rev.max(other.rev).checked_add(1) == Some(event.rev)
                    && one.next_seq.max(other.next_seq) == entry.seq
                    && [phase(one), phase(other)].contains(&Some(entry.to.clone()));
                if !fits {
                    continue;
                }
                if entry.actor.kind != ActorKind::Orch {
                    let sides = [(*one, other), (other, *one)].into_iter();
                    let mut chosen = sides.flat_map(|(a, b)| choose(workflow, a, b, &entry.reason, &stamp));
                    if chosen.any(|state| is_it(&state)) {
                        return Some(Standing::Overridden);
                    }
                    continue;
                }
                let bases = bases.iter().chain(told.iter().rev()).map(Some).chain([None]);
                let mut merged = bases.flat_map(|base| merge(workflow, base, one, other));
                if merged.any(|state| is_it(&state)) {
                    return Some(Standing::Merged);
                }
            }
        }
        None
    }

    /// Replays a step of another branch from any state that it may have followed, on the files that
    /// the task may have held then. The error says what is not in this clone, if that is why.
    fn replayed(
        &self,
        event: &Event,
        loaded: &Loaded,
        workflow: &Workflow,
        worlds: &mut Worlds,
    ) -> Result<Result<ProvenStep, Option<String>>, Error> {
        let entry = &event.entry;
        let Ok(after) = event.state(&workflow.phase_key) else { return Ok(Err(None)) };
        let follows = |other: &&Event| other.entry.seq.checked_add(1) == Some(entry.seq);
        let mut earlier: Vec<Option<&Event>> = self.events.iter().filter(follows).map(Some).collect();
        if entry.kind == Kind::Create {
            earlier.push(None);
        }
        let mut missing: Option<String> = None;
        for previous in earlier {
            let before = match previous.map(|previous| previous.state(&workflow.phase_key)) {
                None => None,
                Some(Ok(state)) => Some(state),
                Some(Err(_)) => continue,
            };
            let noted = NotedDigests::since(before.as_ref(), &after);
            let told = told(workflow, entry, &after);
            missing = missing.or(self.missing(entry, &noted, &told)?);
            let before = before.map_or(Recorded::New, |state| Recorded::Known(Box::new(state)));
            let history = previous.map(|previous| &previous.entry).into_iter().chain([entry]).cloned();
            let after = State { history: history.collect(), ..after.clone() };
            let all = NotedDigests::since(None, known(&before).unwrap_or(&after));
            for files in self.reconstructions(previous, entry, [&all, &noted], loaded, worlds)? {
                let snapshot = Snapshot { source: &files, ..*self.after };
                let (workflow, observed, untrue) =
                    snapshot.observe_step(self.task, loaded, &before, &told)?;
                if let Ok(replayed) = replay(workflow, &before, &observed.facts, entry, Some(&after)) {
                    let why = snapshot.code_unknown(workflow, self.parents, &untrue)?;
                    let standing = if why.is_some() { Standing::Unverifiable } else { replayed.standing };
                    worlds.insert(event.after.to_string(), files);
                    return Ok(Ok(ProvenStep {
                        entry: entry.clone(),
                        standing,
                        approval: replayed.by_person.then_some(Approval::Claimed),
                        is_judged: true,
                        why,
                    }));
                }
            }
        }
        Ok(Err(missing))
    }

    /// What a step names and this clone does not have.
    fn missing(
        &self,
        entry: &HistoryEntry,
        noted: &NotedDigests,
        told: &[Told],
    ) -> Result<Option<String>, Error> {
        let evidence = entry.evidence.iter().map(|(name, digest)| (name.clone(), Digest::parse(digest)));
        // Code is looked for in the trees of commits.
        let is_told = |name: &ArtifactName, digest| told.iter().any(|told| told.is(name, digest));
        let noted = noted.digests().filter(|(name, digest)| !is_told(name, *digest));
        let noted = noted.map(|(name, digest)| (name.to_string(), Some(digest)));
        for (name, digest) in evidence.chain(noted) {
            if let Some(digest) = digest
                && self.archive.blob(digest)?.is_none()
            {
                let short = digest.short();
                return Ok(Some(format!("it was made on another branch, and {name}@{short} is not in git")));
            }
        }
        Ok(None)
    }

    /// What the task may have held at a step: what it held after the step before, or what any of the
    /// commits here hold, or what all steps before it recorded, each with what the step names and records
    /// itself; or that alone. `noted` are the records of all steps and those of this one.
    fn reconstructions(
        &self,
        previous: Option<&Event>,
        entry: &HistoryEntry,
        [all, noted]: [&NotedDigests; 2],
        loaded: &Loaded,
        worlds: &Worlds,
    ) -> Result<Vec<FileSet>, Error> {
        let limit = self.after.setting.config.limit_bytes;
        let directory = &self.task.directory;
        let latest = FileSet::of(self.after.source, directory, limit)?;
        let mut grounds: Vec<FileSet> = Vec::new();
        if let Some(previous) = previous {
            grounds.extend(worlds.get(&previous.after.to_string()).cloned());
            if let Some(tree) = self.archive.after_line(self.parents, self.task, &previous.after)? {
                grounds.push(FileSet::of(&tree, directory, limit)?);
            }
            // Files that no step names may have been there by then.
            let mut with_rest = grounds.last().cloned().unwrap_or_default();
            for path in latest.paths() {
                if with_rest.bytes(path).is_none() {
                    with_rest.put(path.clone(), latest.bytes(path).unwrap_or_default().to_vec());
                }
            }
            grounds.push(with_rest);
        }
        for source in self.befores.iter().map(|snapshot| snapshot.source) {
            grounds.push(FileSet::of(source, directory, limit)?);
        }
        let restoring = Restoring { task: self.task, archive: self.archive, loaded, latest: &latest };
        let mut known = FileSet::default();
        restoring.recorded(all.seen(), &mut known)?;
        grounds.extend([latest.clone(), known, FileSet::default()]);
        let mut reconstructions = Vec::new();
        for ground in grounds {
            let mut named = ground.clone();
            restoring.evidence(entry, &mut named)?;
            let mut recorded = ground;
            restoring.recorded(noted.seen(), &mut recorded)?;
            restoring.evidence(entry, &mut recorded)?;
            let mut spent = recorded.clone();
            restoring.recorded(noted.spent(), &mut spent)?;
            for files in [named, recorded, spent] {
                if !reconstructions.contains(&files) {
                    reconstructions.push(files);
                }
            }
        }
        Ok(reconstructions)
    }

    fn missing_end(&self, state: &State) -> Option<String> {
        let setting = self.befores.first().map_or(self.after.setting, |before| before.setting);
        missing_end(self.task, state, setting, self.after.source, self.archive)
    }
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

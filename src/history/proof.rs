//! Proving a change of a task's record: is it what the rules yield from the bytes beside it?

use super::archive::Archive;
use super::join::Join;
use super::records::{
    RecordedStep, Records, Unread, gap, is_later, is_own, known, missing_end, named_workflow, schema_of,
    steps,
};
use crate::base::Digest;
use crate::decide::{Approval, Disproof, Kind, Proof, ProvenStep, Recorded, Standing, State, refute, replay};
use crate::record::{read_state, read_transcript, rebuild, settled_lines, transcript_line, write_state};
use crate::scan::Source;
use crate::survey::code::{Told, told};
use crate::survey::snapshot::Snapshot;
use crate::survey::{Error, Loaded, TaskRef};
use crate::workflow::is_tree_name;
use serde_json::Value;

/// A task before and after.
pub(super) struct RecordChange<'a> {
    pub task: &'a TaskRef,
    /// Where to look for an ancestor.
    pub parents: &'a [Digest],
    pub before: Snapshot<'a>,
    pub after: Snapshot<'a>,
}

/// Proves a change; `None` where the record did not change, or is not of `orch`.
pub(super) fn prove(change: &RecordChange<'_>, archive: &Archive<'_>) -> Result<Option<Proof>, Error> {
    let old = match Records::of(change.task, change.before.source) {
        Ok(old) => old,
        // What was no file before it is one again told nothing that could be gone on from.
        Err(Unread::NoFile(_)) => Records { state: None, transcript: Vec::new() },
        Err(unread) => return Err(unread.into()),
    };
    let new = match Records::of(change.task, change.after.source) {
        Ok(new) => new,
        Err(Unread::Elsewhere(why)) => return Ok(Some(Proof::bare(Standing::Unverifiable, why))),
        Err(Unread::NoFile(why)) => return Ok(Some(Proof::forged(why))),
        Err(Unread::Failed(error)) => return Err(error),
    };
    if old == new {
        return Ok(None);
    }
    Proving { change, archive, old, new }.prove()
}

/// A change that is being proven.
pub(super) struct Proving<'a> {
    pub change: &'a RecordChange<'a>,
    pub archive: &'a Archive<'a>,
    old: Records,
    new: Records,
}

impl Proving<'_> {
    fn prove(&self) -> Result<Option<Proof>, Error> {
        let Some(bytes) = &self.new.state else { return self.removed() };
        let Ok(value) = serde_json::from_slice::<Value>(bytes) else {
            return self.unparsable();
        };
        if value.get("version").is_none() && !self.old.state.as_deref().is_some_and(is_own) {
            let why = "a state without a record: nothing says how it came into its phase";
            let changed = self.old.state != self.new.state;
            return Ok(changed.then(|| Proof::bare(Standing::Unverifiable, why)));
        }
        if value.get("version").is_none() {
            return self.unrecorded("state.json was replaced by one without a history");
        }
        let Some((name, digest)) = named_workflow(&value) else {
            return self.unusable("state.json does not say which workflow decided");
        };
        let phase_key = self.archive.phase_key(self.change.after.setting, &name, &value);
        let text = String::from_utf8_lossy(bytes);
        let state = match read_state(&value, &text, &phase_key) {
            Ok(state) => state,
            Err(faults) => {
                let first =
                    faults.first().map(|fault| format!("state.json{}: {}", fault.pointer, fault.message));
                return self.unusable(&first.unwrap_or_default());
            }
        };
        let loaded = self.archive.workflow(self.change.before.setting, &name, digest);
        let workflow = loaded.as_ref().and_then(|loaded| loaded.workflow());
        let before = self.before(&self.old, &phase_key);
        let steps = self.steps(&self.old, &before, &state, &phase_key);
        let phase = state.phase.as_deref().and_then(|phase| workflow?.phase_named(phase));
        let finished = phase.is_some_and(|phase| phase.terminal);
        let adds_nothing = steps.as_deref().is_none_or(<[RecordedStep]>::is_empty);
        let several = steps.as_deref().is_some_and(|steps| steps.len() > 1);
        if adds_nothing && let Some(restored) = self.restored(&state)? {
            return Ok(Some(restored));
        }
        if adds_nothing && let Some(proof) = self.without_steps(&state, steps.is_some(), &phase_key) {
            return Ok(proof);
        }
        let proof = if write_state(&state, &phase_key, schema_of(&value)) != text.replace("\r\n", "\n") {
            Proof::forged("state.json holds what no transition puts there")
        } else {
            self.stepwise(before, steps, &state, &phase_key)?
        };
        // Looking through ancestors is slow, so what is derived plainly is not looked for.
        let is_open = (proof.standing >= Standing::Unverifiable || (finished && several)) && !adds_nothing;
        let restored = if is_open { self.restored(&state)? } else { None };
        Ok(Some(restored.unwrap_or(proof)))
    }

    /// A record that tells no new step is fine where only lines were added that tell none, where it was
    /// rebuilt from the transcript as it stands, and where its task got another name.
    fn without_steps(&self, state: &State, goes_on: bool, phase_key: &str) -> Option<Option<Proof>> {
        if self.old.state == self.new.state {
            return goes_on.then_some(None);
        }
        // Only a state that was not whole is rebuilt.
        let was_broken =
            self.old.transcript == self.new.transcript && self.whole(&self.old, phase_key).is_none();
        let lines = String::from_utf8_lossy(&self.new.transcript);
        if was_broken && rebuild(&lines, phase_key).and_then(Result::ok).as_ref() == Some(state) {
            return Some(Some(Proof::bare(Standing::Restored, "rebuilt from the transcript")));
        }
        None
    }

    /// The same record under another name: the task was renamed, and nothing of it stayed behind.
    fn renamed(&self, state: &State) -> Option<Proof> {
        let RecordChange { task, before, after, .. } = self.change;
        if self.old.state.is_some() || state.task.as_deref() == Some(task.id.as_str()) {
            return None;
        }
        let was_it = |other: &TaskRef| {
            let same = Records::of(other, before.source).is_ok_and(|records| records == self.new);
            same && after.task_at(&other.directory).is_none()
        };
        let other = before.tasks().into_iter().find(was_it)?;
        Some(Proof::bare(Standing::Restored, format!("renamed from {}", other.id)))
    }

    /// A record that was made step by step, from the one before or from an earlier one.
    fn stepwise(
        &self,
        before: Recorded,
        steps: Option<Vec<RecordedStep>>,
        state: &State,
        phase_key: &str,
    ) -> Result<Proof, Error> {
        if let Some(renamed) = self.renamed(state) {
            return Ok(renamed);
        }
        if let Some(joined) = self.joined(steps.as_deref())? {
            return Ok(joined);
        }
        let proof = match &steps {
            None => Proof::forged("transcript.jsonl, which only grows, was rewritten"),
            Some(steps) => match gap(steps, &before, state) {
                Some(fault) => Proof::forged(fault),
                None => self.replay(before.clone(), self.change.before.source, steps)?,
            },
        };
        if proof.standing != Standing::Forged {
            return Ok(proof);
        }
        Ok(self.moved_on(&before, state, phase_key)?.unwrap_or(proof))
    }

    /// A record that says it joins branches, of which only one is a parent: a rebase, or a squash.
    fn joined(&self, steps: Option<&[RecordedStep]>) -> Result<Option<Proof>, Error> {
        let joins = |transcript: &[u8]| {
            let events = read_transcript(&String::from_utf8_lossy(transcript));
            events.iter().filter(|event| event.entry.kind == Kind::Merge).count()
        };
        let says_so = match steps {
            Some(steps) => steps.iter().any(|step| step.entry.kind == Kind::Merge),
            None => joins(&self.new.transcript) > joins(&self.old.transcript),
        };
        let RecordChange { task, parents, before, after } = self.change;
        if says_so { Join::new(task, &[*before], parents, after, self.archive)?.prove() } else { Ok(None) }
    }

    /// Either a merge was committed with its conflict, or the state was destroyed.
    fn unparsable(&self) -> Result<Option<Proof>, Error> {
        let RecordChange { task, parents, before, after } = self.change;
        if self.new.is_conflicted() {
            return Join::new(task, &[*before], parents, after, self.archive)?.prove_conflicted().map(Some);
        }
        self.unusable("state.json is not JSON any more")
    }

    /// The record is gone: with its task that is nobody's loss, else somebody hides what happened.
    fn removed(&self) -> Result<Option<Proof>, Error> {
        let directory = &self.change.task.directory;
        if self.change.after.source.children(directory).is_none_or(|left| left.is_empty()) {
            return Ok(None);
        }
        self.unrecorded("state.json was removed, and the task's files were not")
    }

    /// There is no record any more: as there was none before the task was begun, or somebody hides it.
    fn unrecorded(&self, why: &str) -> Result<Option<Proof>, Error> {
        if !self.old.state.as_deref().is_some_and(is_own) {
            return Ok(None);
        }
        let RecordChange { task, parents, after, .. } = self.change;
        let stood = self.archive.stood(parents, task, after.source)?;
        Ok(Some(stood.map_or_else(|| Proof::forged(why), restored_from)))
    }

    /// The state is not one that anything follows from: an ancestor's, put back, or somebody's own.
    fn unusable(&self, why: &str) -> Result<Option<Proof>, Error> {
        let Some(record) = self.new.digests() else { return Ok(None) };
        let RecordChange { task, parents, .. } = self.change;
        let held = self.archive.held_by(parents, task, record, None, None)?;
        Ok(Some(held.map_or_else(|| Proof::forged(why), restored_from)))
    }

    /// The state that was recorded before, if it was whole.
    fn whole(&self, old: &Records, phase_key: &str) -> Option<State> {
        let bytes = old.state.as_deref()?;
        let value: Value = serde_json::from_slice(bytes).ok()?;
        let named = named_workflow(&value);
        let own = named.map(|(name, _)| self.archive.phase_key(self.change.before.setting, &name, &value));
        let phase_key = own.as_deref().unwrap_or(phase_key);
        read_state(&value, &String::from_utf8_lossy(bytes), phase_key).ok()
    }

    /// What was recorded before: a state that is not whole was rebuilt from the transcript.
    fn before(&self, old: &Records, phase_key: &str) -> Recorded {
        let state = self
            .whole(old, phase_key)
            .or_else(|| rebuild(&String::from_utf8_lossy(&old.transcript), phase_key)?.ok());
        state.map_or(Recorded::New, |state| Recorded::Known(Box::new(state)))
    }

    /// The steps that the transcript tells beyond an older one; `None` if it does not go on from there.
    fn steps(
        &self,
        old: &Records,
        before: &Recorded,
        last: &State,
        phase_key: &str,
    ) -> Option<Vec<RecordedStep>> {
        let next = known(before).map_or(1, |before| before.next_seq);
        let kept = settled_lines(&old.transcript, next);
        let added = self.new.transcript.strip_prefix(kept.as_slice())?;
        steps(known(before), added, last, phase_key)
    }

    /// The same record as an ancestor's, put back, with the files that it was about.
    fn restored(&self, state: &State) -> Result<Option<Proof>, Error> {
        let Some(record) = self.new.digests() else { return Ok(None) };
        let RecordChange { task, parents, after, .. } = self.change;
        let held = |files| self.archive.held_by(parents, task, record, state.updated_at, files);
        let Some(commit) = held(None)? else { return Ok(None) };
        Ok(Some(match held(Some(after.source))? {
            Some(commit) => restored_from(commit),
            None => {
                let why = format!("the record is that of {}, and the files are not", commit.short());
                // An open task's files are judged again at its next step, a finished one's never.
                let standing =
                    if self.is_finished(state) { Standing::Forged } else { Standing::Unverifiable };
                Proof::bare(standing, why)
            }
        }))
    }

    fn is_finished(&self, state: &State) -> bool {
        let named = state.workflow.as_ref();
        let loaded = named.and_then(|named| self.change.after.setting.workflow(named.name.as_str()).ok());
        let workflow = loaded.as_ref().and_then(|loaded| loaded.workflow());
        let phase = state.phase.as_deref().and_then(|phase| workflow?.phase_named(phase));
        phase.is_none_or(|phase| phase.terminal)
    }

    /// The record goes on from an ancestor's: somebody went back there, and then took other steps.
    fn moved_on(&self, before: &Recorded, state: &State, phase_key: &str) -> Result<Option<Proof>, Error> {
        let RecordChange { task, parents, .. } = self.change;
        let attempt = |old: &Records| {
            let earlier = self.before(old, phase_key);
            known(&earlier).filter(|earlier| !earlier.foreign)?;
            let steps = self.steps(old, &earlier, state, phase_key)?;
            let goes_on = gap(&steps, &earlier, state).is_none() && is_later(&steps, before);
            goes_on.then_some((earlier, steps))
        };
        // The longer the transcript that it goes on from, the better it fits.
        let fit = |state: &[u8], transcript: &[u8]| {
            let records = Records { state: Some(state.to_vec()), transcript: transcript.to_vec() };
            attempt(&records).map(|_| transcript.len())
        };
        for commit in self.archive.records_before(parents, task, fit)? {
            let source = self.archive.source(commit);
            let old = Records::of(task, &source)?;
            let Some((earlier, steps)) = attempt(&old) else { continue };
            let mut proof = self.replay(earlier, &source, &steps)?;
            if proof.standing != Standing::Forged {
                proof.why = proof.why.or_else(|| Some(format!("after going back to {}", commit.short())));
                return Ok(Some(proof));
            }
        }
        Ok(None)
    }

    fn replay(&self, mut before: Recorded, old: &dyn Source, steps: &[RecordedStep]) -> Result<Proof, Error> {
        let mut proven = Vec::new();
        for (index, step) in steps.iter().enumerate() {
            proven.push(self.one(&before, old, steps, index)?);
            before = Recorded::Known(Box::new(step.state.clone()));
        }
        let RecordChange { task, after, .. } = self.change;
        let missing = known(&before).and_then(|state| {
            missing_end(task, state, self.change.before.setting, after.source, self.archive)
        });
        let proof = Proof::of(proven);
        // Of what is in doubt at least the end must be there.
        Ok(match missing.filter(|_| proof.standing == Standing::Unverifiable) {
            Some(missing) => Proof { standing: Standing::Forged, why: Some(missing), ..proof },
            None => proof,
        })
    }

    fn one(
        &self,
        before: &Recorded,
        old: &dyn Source,
        steps: &[RecordedStep],
        index: usize,
    ) -> Result<ProvenStep, Error> {
        let step = &steps[index];
        let entry = &step.entry;
        let verdict = |standing, why: Option<String>| ProvenStep {
            entry: entry.clone(),
            standing,
            approval: None,
            is_judged: true,
            why,
        };
        // The line does not depend on where the state holds its phase.
        if transcript_line(&step.state, "phase") != step.line {
            return Ok(verdict(
                Standing::Forged,
                Some("the transcript tells it otherwise than the state".to_owned()),
            ));
        }
        let Some(named) = &step.state.workflow else {
            return Ok(verdict(Standing::Forged, Some("it does not say which workflow decided".to_owned())));
        };
        let other_name =
            known(before).filter(|before| !before.foreign).and_then(|before| before.workflow.as_ref());
        if let Some(other) = other_name.filter(|other| other.name != named.name) {
            let why = format!("the task is governed by `{}`, and the step by `{}`", other.name, named.name);
            return Ok(verdict(Standing::Forged, Some(why)));
        }
        let found = self.archive.workflow(self.change.before.setting, named.name.as_str(), named.digest);
        let Some(loaded) = found else {
            let why = unknown_workflow(named.name.as_str(), named.digest);
            return Ok(ProvenStep { is_judged: false, ..verdict(Standing::Unverifiable, Some(why)) });
        };
        let mut refused: Option<String> = None;
        let mut excuse: Option<String> = None;
        let mut impossible: Option<Disproof> = None;
        let told = loaded.workflow().map(|workflow| told(workflow, entry, &step.state)).unwrap_or_default();
        let mut attempt = |source: &dyn Source, by: &[Told]| -> Result<Option<ProvenStep>, Error> {
            let snapshot = Snapshot { source, ..self.change.after };
            let task = self.change.task;
            let (workflow, observed, untrue) = snapshot.observe_step(task, &loaded, before, by)?;
            if untrue.is_empty() && !by.is_empty() {
                return Ok(None);
            }
            match replay(workflow, before, &observed.facts, entry, Some(&step.state)) {
                Ok(replayed) => {
                    // Whoever recorded it would have been refused.
                    if let Some(why) = self.change.before.setting.refused_data(workflow, &step.state) {
                        return Ok(Some(verdict(Standing::Forged, Some(why))));
                    }
                    let (standing, why) = match replayed.standing {
                        Standing::Unverifiable => {
                            (Standing::Unverifiable, Some("the state that it took over is not in git"))
                        }
                        standing => (standing, None),
                    };
                    let code = match snapshot.code_unknown(workflow, self.change.parents, &untrue)? {
                        None => snapshot.miscounted(task, workflow, before, &told)?,
                        unknown => unknown,
                    };
                    if code.is_some() {
                        return Ok(Some(verdict(Standing::Unverifiable, code)));
                    }
                    Ok(Some(ProvenStep {
                        approval: replayed.by_person.then_some(Approval::Claimed),
                        ..verdict(standing, why.map(str::to_owned))
                    }))
                }
                Err(disproof) => {
                    let other = self.other_evidence(entry, &observed);
                    refused.get_or_insert_with(|| other.unwrap_or(disproof.message));
                    impossible = impossible
                        .take()
                        .or_else(|| refute(workflow, before, &observed.facts, entry, &step.state));
                    excuse = excuse.take().or_else(|| self.excuse(steps, index, workflow, &observed));
                    Ok(None)
                }
            }
        };
        for by in [&[], told.as_slice()] {
            if let Some(proven) = attempt(self.change.after.source, by)? {
                return Ok(proven);
            }
        }
        if steps.len() > 1 {
            let reconstructions = self.reconstructions(&loaded, old, steps, index)?;
            for (files, by) in reconstructions.iter().flat_map(|files| [(files, &[][..]), (files, &told)]) {
                if let Some(mut proven) = attempt(files, by)? {
                    if let Some(missing) = self.not_kept(steps, index) {
                        proven.why = Some(format!("{missing} is not in this commit as the step saw it"));
                        proven.standing = Standing::Unverifiable;
                    }
                    return Ok(proven);
                }
            }
        }
        if steps.len() == 1 && self.is_rebased(step, &loaded)? {
            let reconstructions = self.reconstructions(&loaded, old, steps, index)?;
            for (files, by) in reconstructions.iter().flat_map(|files| [(files, &[][..]), (files, &told)]) {
                if let Some(mut proven) = attempt(files, by)? {
                    let why = "it was made on other files, and set upon those that are here";
                    (proven.why, proven.standing) = (Some(why.to_owned()), Standing::Unverifiable);
                    return Ok(proven);
                }
            }
        }
        Ok(match (excuse, impossible) {
            (None, _) => verdict(Standing::Forged, refused),
            (Some(_), Some(disproof)) => verdict(Standing::Forged, Some(disproof.message)),
            (Some(why), None) => verdict(Standing::Unverifiable, Some(why)),
        })
    }

    /// Whether every file that is other than the evidence of a step was made so by others, after it had
    /// been that evidence: a rebase sets a step upon what was done meanwhile. An open task is judged
    /// anew on that, a finished one never.
    fn is_rebased(&self, step: &RecordedStep, loaded: &Loaded) -> Result<bool, Error> {
        let RecordChange { task, parents, before, after } = self.change;
        let phase = step.state.phase.as_deref();
        let phase = phase.and_then(|phase| loaded.workflow()?.phase_named(phase));
        if phase.is_none_or(|phase| phase.terminal) {
            return Ok(false);
        }
        for (name, digest) in step.entry.evidence.iter().filter(|(name, _)| !is_tree_name(name)) {
            let (Ok(path), Some(digest)) = (task.file(name), Digest::parse(digest)) else { return Ok(false) };
            let here = after.source.read(&path, u64::MAX - 1)?;
            if here.blob() == Some(digest) {
                continue;
            }
            let by_others = here == before.source.read(&path, u64::MAX - 1)?;
            if !by_others || !self.archive.held_at(parents, &path, digest)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Evidence of a step that no later one names, and that the commit does not hold as it was.
    fn not_kept(&self, steps: &[RecordedStep], index: usize) -> Option<String> {
        let later = &steps[index + 1..];
        let is_renewed = |name: &String| {
            later.iter().flat_map(|step| &step.entry.evidence).any(|(other, _)| other == name)
        };
        let evidence = &steps[index].entry.evidence;
        let kept = |name: &str, digest: &str| {
            if is_tree_name(name) {
                return true;
            }
            let RecordChange { task, after, .. } = self.change;
            let content = task.file(name).ok().and_then(|path| after.source.read(&path, u64::MAX - 1).ok());
            content.and_then(|content| content.blob()).is_some_and(|blob| blob.to_string() == digest)
        };
        evidence
            .iter()
            .find(|(name, digest)| !is_renewed(name) && !kept(name, digest))
            .map(|(name, _)| name.clone())
    }
}

fn restored_from(commit: Digest) -> Proof {
    Proof::bare(Standing::Restored, format!("as in {}", commit.short()))
}

fn unknown_workflow(name: &str, digest: Digest) -> String {
    format!("workflow {name}@{} is not the one that stood here before the step", digest.short())
}

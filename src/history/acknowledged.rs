//! The forged changes that people acknowledged in `orch.toml`.

use super::archive::Archive;
use super::logs::LogPool;
use super::record::{StateCheck, TaskRecord, missing_end};
use super::side::Side;
use crate::base::{Digest, PhaseId, RepoPath};
use crate::config::{self, Acknowledged};
use crate::decide::{OrdersBy, Proof, Standing};
use crate::scan::{Source, ValidationCache};
use crate::store::{Signature, Store};
use crate::survey::{Error, TaskRef};
use std::collections::HashSet;

/// What the settings in one commit acknowledge.
pub(super) struct Acknowledgements<'a> {
    store: &'a Store,
    archive: &'a Archive<'a>,
    /// The newest commit that is checked.
    tip: Digest,
    entries: Vec<Acknowledged>,
}

impl<'a> Acknowledgements<'a> {
    /// The entries in the settings of a commit. Every change of `orch.toml` whose parent requires that people
    /// sign must be signed by someone whom git trusts here; otherwise there are none. So nobody can loosen the
    /// settings first and acknowledge afterwards.
    ///
    /// # Errors
    ///
    /// git cannot read a commit.
    pub(super) fn of(store: &'a Store, archive: &'a Archive<'a>, tip: Digest) -> Result<Self, Error> {
        let setting = archive.setting(&store.tree_source(tip))?;
        let none = Self { store, archive, tip, entries: Vec::new() };
        let entries = &setting.config.acknowledged;
        let Ok(file) = RepoPath::new(config::FILE) else { return Ok(none) };
        if entries.is_empty() {
            return Ok(none);
        }
        for changed in store.changes_of(tip, &file)? {
            for parent in store.visit(changed)?.parents {
                let before = archive.setting(&store.tree_source(parent))?;
                let must_be_signed = before.config.people.orders == OrdersBy::Signed;
                let is_signed = || -> Result<bool, Error> {
                    let signatures = store.signatures(&[changed])?;
                    Ok(matches!(signatures.first(), Some(Signature::Good { .. })))
                };
                if must_be_signed && !is_signed()? {
                    return Ok(none);
                }
            }
        }
        Ok(Self { entries: entries.clone(), ..none })
    }

    /// Why a wrong change of a task's record in a commit is acceptable, if the settings say so. An entry accepts a
    /// forged change only if the newest commit has undone it; otherwise `proof` says what still stands.
    ///
    /// # Errors
    ///
    /// git cannot read a commit.
    pub(super) fn accept(
        &self,
        commit: Digest,
        task: &TaskRef,
        proof: &mut Proof,
    ) -> Result<Option<String>, Error> {
        let entry = self.entries.iter().find(|entry| entry.commit == commit && entry.task == task.id);
        let Some(entry) = entry else { return Ok(None) };
        // A step that only holds by rules that stand at neither end of a range is not forged.
        let standing = match proof.standing {
            Standing::Forged => self.still_stands(commit, task, proof)?,
            _ => None,
        };
        let Some(standing) = standing else { return Ok(Some(entry.reason.clone())) };
        let why = proof.why.take().unwrap_or_default();
        proof.why = Some(format!("{why}; it is acknowledged, but it still stands: {standing}"));
        Ok(None)
    }

    /// What of a forged change stands in the newest commit; `None` if it is undone.
    fn still_stands(&self, commit: Digest, task: &TaskRef, proof: &Proof) -> Result<Option<String>, Error> {
        let pool = self.archive.logs();
        let events_in = |at: Digest| -> Result<HashSet<Digest>, Error> {
            Ok(events(pool, &TaskRecord::of(task, &self.store.tree_source(at)).unwrap_or_default()))
        };
        let parents = self.store.visit(commit)?.parents;
        let made = events_in(commit)?;
        let mut had = HashSet::new();
        for parent in &parents {
            had.extend(events_in(*parent)?);
        }
        let now = Side::new(self.archive, self.store.tree_source(self.tip))?;
        let added: HashSet<Digest> = made.difference(&had).copied().collect();
        let Some((task, record)) = self.record_now(&now, task, &added)? else { return Ok(None) };
        let kept = events(pool, &record);
        let forged: HashSet<Digest> = if proof.steps.is_empty() {
            added
        } else {
            let steps = proof.steps.iter().filter(|step| step.standing == Standing::Forged);
            steps.filter_map(|step| step.event).collect()
        };
        let workflow = now.setting.workflow(task.workflow.as_str()).ok();
        let position = |phase: &PhaseId| workflow.as_ref()?.workflow()?.position(phase);
        // Whoever goes back to where the step began, or before, lets the rules decide again from there.
        let went_back = |event: &Digest| -> bool {
            let Some(entry) = pool.event(event).map(|event| event.entry.clone()) else { return false };
            let Some(from) = entry.from.as_ref().and_then(position) else { return false };
            let later = kept.iter().filter(|id| !forged.contains(*id)).filter_map(|id| pool.event(id));
            let mut later = later.filter(|later| later.entry.seq > entry.seq);
            later.any(|later| position(&later.entry.to).is_some_and(|to| to <= from))
        };
        if let Some(event) =
            pool.sorted(forged.iter().copied()).iter().find(|id| kept.contains(*id) && !went_back(id))
        {
            let to = pool.event(event).map(|event| event.entry.to.to_string()).unwrap_or_default();
            return Ok(Some(format!("its step to {to} is in the record")));
        }
        // Only a person can join what a merge dropped, and nothing false stands without it.
        if parents.len() < 2 && !had.difference(&made).all(|lost| kept.contains(lost)) {
            return Ok(Some("the events that it removed are not in the record".to_owned()));
        }
        let log = record.read(pool, None);
        if let Some((fault, _)) = log.faults.first() {
            return Ok(Some(format!("transcript.jsonl, {fault}")));
        }
        let setting = &*now.setting;
        let state = StateCheck { record: &record, log: &log, archive: self.archive, settings: vec![setting] };
        let end = log.heads.iter().find_map(|head| pool.state_at(head).ok());
        let missing = || missing_end(&task, &end?, setting, &now.source, self.archive);
        Ok(state.fault().or_else(missing))
    }

    /// The task and its record in the newest commit, also under another id; `None` if neither is there.
    fn record_now(
        &self,
        now: &Side<'_>,
        task: &TaskRef,
        added: &HashSet<Digest>,
    ) -> Result<Option<(TaskRef, TaskRecord)>, Error> {
        let record_of = |task: &TaskRef| TaskRecord::of(task, &now.source).unwrap_or_default();
        if !now.source.list_task(&task.place)?.is_empty() {
            return Ok(Some((task.clone(), record_of(task))));
        }
        let (pool, validations) = (self.archive.logs(), ValidationCache::default());
        let tasks = now.snapshot(&validations).tasks()?;
        let mut records = tasks.into_iter().map(|task| (record_of(&task), task));
        let found = records.find(|(record, _)| !events(pool, record).is_disjoint(added));
        Ok(found.map(|(record, task)| (task, record)))
    }
}

fn events(pool: &LogPool, record: &TaskRecord) -> HashSet<Digest> {
    pool.ids(&record.read(pool, None))
}

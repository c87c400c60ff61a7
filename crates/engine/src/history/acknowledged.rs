//! The forged changes that people acknowledged in `orch.toml`.

use super::archive::Archive;
use super::logs::ReadLog;
use super::record::{StateCheck, TaskRecord, events_of, missing_end};
use super::side::Side;
use crate::survey::setting::Settings;
use crate::survey::{Error, TaskRef};
use orch_base::{Digest, PhaseId, RepoPath};
use orch_core::config::{self, Acknowledged};
use orch_core::decide::{Kind, OrdersBy, Proof, Standing};
use orch_files::Source;
use orch_git::{Signature, Store};
use orch_read::ValidationCache;
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
    pub(super) fn of(
        store: &'a Store,
        archive: &'a Archive<'a>,
        tip: Digest,
    ) -> Result<Self, Error> {
        let setting = archive.setting(&store.objects().source_at(tip))?;
        let none = Self {
            store,
            archive,
            tip,
            entries: Vec::new(),
        };
        let entries = &setting.config.acknowledged;
        let Ok(file) = RepoPath::new(config::FILE) else {
            return Ok(none);
        };
        if entries.is_empty() {
            return Ok(none);
        }
        let mut to_be_signed = Vec::new();
        for changed in store.history().changes_of(tip, &file)? {
            for parent in store.history().visit(changed)?.parents {
                let before = archive.setting(&store.objects().source_at(parent))?;
                if before.config.people.orders == OrdersBy::Signed {
                    to_be_signed.push(changed);
                }
            }
        }
        let signatures = store.identity().signatures(&to_be_signed)?;
        let are_signed = signatures
            .iter()
            .all(|signature| matches!(signature, Signature::Good { .. }));
        Ok(if are_signed {
            Self {
                entries: entries.clone(),
                ..none
            }
        } else {
            none
        })
    }

    /// Why a wrong change of a task's record in a commit is acceptable, if the settings say so. An entry accepts a
    /// forged change only if the newest commit has undone it; otherwise `proof` says what still stands.
    pub(super) fn accept(
        &self,
        commit: Digest,
        task: &TaskRef,
        proof: &mut Proof,
    ) -> Option<String> {
        let entry = self
            .entries
            .iter()
            .find(|entry| entry.commit == commit && entry.task == task.id);
        let entry = entry?;
        // A step that only holds by rules that stand at neither end of a range is not forged.
        let standing = match proof.standing {
            Standing::Forged => self.still_stands(commit, task, proof),
            _ => Ok(None),
        };
        let but = match standing {
            Ok(None) => return Some(entry.reason.clone()),
            Ok(Some(standing)) => format!("it still stands: {standing}"),
            // What cannot be read must not hide the findings of other tasks.
            Err(error) => format!("whether it still stands is unknown: {error}"),
        };
        let why = proof.why.take().unwrap_or_default();
        proof.why = Some(format!("{why}; it is acknowledged, but {but}"));
        None
    }

    /// What of a forged change stands in the newest commit; `None` if it is undone.
    ///
    /// # Errors
    ///
    /// A commit or a record cannot be read, so nobody knows.
    fn still_stands(
        &self,
        commit: Digest,
        task: &TaskRef,
        proof: &Proof,
    ) -> Result<Option<String>, Error> {
        let pool = self.archive.logs();
        let events_in = |at: Digest| events_of(pool, task, &self.store.objects().source_at(at));
        let parents = self.store.history().visit(commit)?.parents;
        let made = events_in(commit)?;
        let mut had = HashSet::new();
        for parent in &parents {
            had.extend(events_in(*parent)?);
        }
        let now = Side::new(self.archive, self.store.objects().source_at(self.tip))?;
        let added: HashSet<Digest> = made.difference(&had).copied().collect();
        let Some((task, record)) = self.record_now(&now, task, &added)? else {
            return Ok(None);
        };
        let log = record.read(pool, None);
        let kept = pool.ids(&log);
        let forged: HashSet<Digest> = if proof.steps.is_empty() {
            added
        } else {
            let steps = proof
                .steps
                .iter()
                .filter(|step| step.standing == Standing::Forged);
            steps.filter_map(|step| step.event).collect()
        };
        // Only a person can join what a merge dropped, and nothing false stands without it.
        let lost = had.difference(&made).filter(|_| parents.len() < 2);
        Ok(self
            .standing_step(&task, &now.setting, &forged, &kept)
            .or_else(|| missing_event(lost, &kept))
            .or_else(|| self.unsound(&task, &now, &record, &log)))
    }

    /// A forged step that the record holds and that no later step took back.
    fn standing_step(
        &self,
        task: &TaskRef,
        setting: &Settings,
        forged: &HashSet<Digest>,
        kept: &HashSet<Digest>,
    ) -> Option<String> {
        let pool = self.archive.logs();
        let workflow = setting.workflow(task.workflow.as_str()).ok();
        let position = |phase: &PhaseId| workflow.as_ref()?.workflow()?.position(phase);
        // Whoever goes back to where the step began, or before, lets the rules decide again from there. What a step
        // within a phase recorded stays until the task goes back to an earlier phase.
        let went_back = |event: &Digest| -> bool {
            let Some(entry) = pool.event(event).map(|event| event.entry.clone()) else {
                return false;
            };
            let Some(from) = entry.from.as_ref().and_then(position) else {
                return false;
            };
            let is_within = entry.from.as_ref() == Some(&entry.to);
            let later = kept
                .iter()
                .filter(|id| !forged.contains(*id))
                .filter_map(|id| pool.event(id));
            let mut later =
                later.filter(|later| later.entry.seq > entry.seq && is_way_back(later.entry.kind));
            later.any(|later| {
                position(&later.entry.to).is_some_and(|to| to < from || (to == from && !is_within))
            })
        };
        let event = pool.sorted(forged.iter().copied());
        let event = event
            .iter()
            .find(|id| kept.contains(*id) && !went_back(id))?;
        let to = pool
            .event(event)
            .map(|event| event.entry.to.to_string())
            .unwrap_or_default();
        Some(format!("its step to {to} is in the record"))
    }

    /// Why the record in the newest commit is none that `orch` could have left.
    fn unsound(
        &self,
        task: &TaskRef,
        now: &Side<'_>,
        record: &TaskRecord,
        log: &ReadLog,
    ) -> Option<String> {
        if let Some((fault, _)) = log.faults.first() {
            return Some(format!("transcript.jsonl, {fault}"));
        }
        let pool = self.archive.logs();
        let setting = &*now.setting;
        let state = StateCheck {
            record,
            log,
            archive: self.archive,
            settings: vec![setting],
        };
        let missing = || {
            let name = pool.workflow_name(&log.heads)?;
            let loaded = setting.workflow(name.as_str()).ok();
            match pool.fold(
                loaded.as_ref().and_then(|loaded| loaded.workflow()),
                &log.heads,
            ) {
                Ok(end) => missing_end(task, &*end?, setting, &now.source, self.archive),
                Err(why) => Some(format!("its events have no state: {why}")),
            }
        };
        state.fault().or_else(missing)
    }

    /// The task and its record in the newest commit, also under another id; `None` if neither is there.
    fn record_now(
        &self,
        now: &Side<'_>,
        task: &TaskRef,
        added: &HashSet<Digest>,
    ) -> Result<Option<(TaskRef, TaskRecord)>, Error> {
        if !now.source.list_task(&task.place)?.is_empty() {
            return Ok(Some((
                task.clone(),
                TaskRecord::in_source(task, &now.source)?,
            )));
        }
        let pool = self.archive.logs();
        let validations = ValidationCache::default();
        for task in now.snapshot(&validations).search().tasks()? {
            let record = TaskRecord::in_source(&task, &now.source)?;
            if !pool.ids(&record.read(pool, None)).is_disjoint(added) {
                return Ok(Some((task, record)));
            }
        }
        Ok(None)
    }
}

/// Whether a step of this kind may take the task back and so undo earlier steps.
fn is_way_back(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Regress | Kind::Rollback | Kind::Override | Kind::Reopen | Kind::Undo
    )
}

/// That an event which the change removed is not in the record again.
fn missing_event<'d>(
    mut lost: impl Iterator<Item = &'d Digest>,
    kept: &HashSet<Digest>,
) -> Option<String> {
    let is_missing = !lost.all(|lost| kept.contains(lost));
    is_missing.then(|| "the events that it removed are not in the record".to_owned())
}

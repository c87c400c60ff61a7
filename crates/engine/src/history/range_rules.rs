//! The rules at the ends of a range. The difference between the ends, which people review, does not show rules
//! that stand at neither end; and a range that changes the rules is judged by those that it begins with.

use super::archive::Archive;
use super::other_rules::{StepPlace, are_rules_alike, permits, ruled_by, yields};
use super::record::TaskRecord;
use crate::survey::setting::Settings;
use crate::survey::{Error, TaskRef};
use orch_base::{Digest, WorkflowName};
use orch_core::decide::{Kind, Proof, ProvenStep, Standing, WorkflowRef};
use orch_git::Store;
use std::rc::Rc;

/// The settings at both ends of a range.
pub(super) struct RangeRules<'a> {
    store: &'a Store,
    archive: &'a Archive<'a>,
    /// Where the range begins.
    parted: Digest,
    from: Rc<Settings>,
    to: Rc<Settings>,
}

impl<'a> RangeRules<'a> {
    /// Reads the settings at both ends. A range between branches begins where they parted: what the other branch
    /// changed since is no change of this one. Returns an error if git cannot read them.
    pub(super) fn between(
        store: &'a Store,
        archive: &'a Archive<'a>,
        [from, to]: [Digest; 2],
    ) -> Result<Self, Error> {
        let setting = |end| archive.setting(&store.objects().source_at(end));
        let parted = store
            .history()
            .merge_bases(from, to)?
            .first()
            .copied()
            .unwrap_or(from);
        Ok(Self {
            store,
            archive,
            parted,
            from: setting(parted)?,
            to: setting(to)?,
        })
    }

    /// The commit that the range begins with.
    pub(super) fn parted(&self) -> Digest {
        self.parted
    }

    /// Makes the steps of a commit unverifiable that only hold by rules that stand at neither end, or that the range
    /// itself changed. `before` are the settings in the parent commit. Returns whether there are such steps, and an
    /// error if git cannot be read.
    pub(super) fn doubt(
        &self,
        place: StepPlace<'_>,
        before: Option<&Settings>,
        proof: &mut Proof,
    ) -> Result<bool, Error> {
        if proof.standing == Standing::Restored
            && proof.steps.is_empty()
            && let Some(why) = self.replaced(place)?
        {
            *proof = Proof::bare(Standing::Unverifiable, why);
            return Ok(true);
        }
        let people = self.foreign_people(before, proof);
        let has_doubts = proof.doubt(|step| {
            let known = people
                .clone()
                .or_else(|| self.loosened_people(before?, step));
            known.map_or_else(
                || self.unlike_workflow(place, before, step),
                |why| Ok(Some(why)),
            )
        })?;
        if has_doubts {
            return Ok(true);
        }
        // A step that is in one commit with the change of its rules is unverifiable already.
        for step in proof
            .steps
            .iter()
            .filter(|step| step.standing == Standing::Unverifiable)
        {
            if self
                .unlike_workflow(place, Some(&*self.to), step)?
                .is_some()
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Why the settings about people that permitted the steps are those of neither end, if a step needs a
    /// person.
    fn foreign_people(&self, before: Option<&Settings>, proof: &Proof) -> Option<String> {
        let people = [&self.from.config.people, &self.to.config.people];
        let needs_a_person = |step: &ProvenStep| {
            step.approval.is_some()
                || people
                    .iter()
                    .any(|people| people.asks(step.entry.kind, false))
        };
        let is_passing = proof.steps.iter().any(needs_a_person)
            && before.is_some_and(|before| !people.contains(&&before.config.people));
        is_passing.then(|| {
            "the [people] settings that permitted it stand at neither end of the range".to_owned()
        })
    }

    /// Why the workflow that decided is that of neither end.
    fn foreign_workflow(&self, step: &ProvenStep) -> Option<String> {
        let WorkflowRef { name, digest } = step.workflow.as_ref()?;
        // A finished task whose document is gone may move all the same.
        let is_gone = |setting: &&Rc<Settings>| {
            setting
                .workflow(name.as_str())
                .map_or(true, |loaded| loaded.document.name != name.as_str())
        };
        if step.entry.kind == Kind::Rename && [&self.from, &self.to].iter().all(is_gone) {
            return None;
        }
        let stands = |setting: &&Rc<Settings>| {
            let loaded = setting.workflow(name.as_str()).ok();
            let own = loaded.as_ref().and_then(|loaded| loaded.workflow());
            own.is_some_and(|own| own.has_digest(*digest))
        };
        let digest = digest.short();
        (![&self.from, &self.to].iter().any(stands)).then(|| {
            format!("the workflow {name}@{digest} that decided stands at neither end of the range")
        })
    }

    /// Why the workflow of a step is not that of the task where the range begins. A record keeps its workflow, so
    /// somebody removed it and began another.
    fn other_workflow(
        &self,
        place: StepPlace<'_>,
        step: &ProvenStep,
    ) -> Result<Option<String>, Error> {
        let Some(WorkflowRef { name, .. }) = &step.workflow else {
            return Ok(None);
        };
        self.replaced_by(place.task, name)
    }

    /// Why the record that a commit puts where a task would be, without a step, has another workflow.
    fn replaced(&self, place: StepPlace<'_>) -> Result<Option<String>, Error> {
        match self.workflow_in(place.task, place.commit)? {
            Some(name) => self.replaced_by(place.task, &name),
            None => Ok(None),
        }
    }

    fn replaced_by(&self, task: &TaskRef, name: &WorkflowName) -> Result<Option<String>, Error> {
        let is_other = |own: &WorkflowName| own != name && !self.is_renamed(own, name);
        let own = self.workflow_in(task, self.parted)?.filter(is_other);
        Ok(own.map(|own| {
            format!("the range replaces the workflow `{own}` of the task, which the commit has that it begins with, by `{name}`")
        }))
    }

    /// Whether the range gives the document of a workflow another name, and says so in its aliases.
    fn is_renamed(&self, own: &WorkflowName, name: &WorkflowName) -> bool {
        let now = self.to.workflow(name.as_str()).ok();
        let is_alias =
            now.is_some_and(|now| now.workflow().is_some_and(|one| one.is_named(own.as_str())));
        is_alias && self.from.workflow(name.as_str()).is_err()
    }

    /// The workflow that the record of a task in a commit names.
    fn workflow_in(&self, task: &TaskRef, commit: Digest) -> Result<Option<WorkflowName>, Error> {
        let pool = self.archive.logs();
        let record = TaskRecord::in_source(task, &self.store.objects().source_at(commit))?;
        Ok(pool.workflow_name(&pool.intact_heads(&record.read(pool, None))))
    }

    /// Why the settings about people that permitted a step are looser than those at the beginning.
    fn loosened_people(&self, before: &Settings, step: &ProvenStep) -> Option<String> {
        let people = &self.from.config.people;
        (before.config.people != *people && !permits(people, step)).then(|| {
            "the range changes [people] in orch.toml, and the settings that it begins with do not permit it"
                .to_owned()
        })
    }

    /// Why the rules that decided a step are not those at the beginning, and those do not yield it. A workflow that the
    /// range brings has none there.
    fn unlike_workflow(
        &self,
        place: StepPlace<'_>,
        before: Option<&Settings>,
        step: &ProvenStep,
    ) -> Result<Option<String>, Error> {
        if let Some(other) = self.other_workflow(place, step)? {
            return Ok(Some(other));
        }
        let (Some(before), Some(WorkflowRef { name, .. })) = (before, ruled_by(step)) else {
            return Ok(self.foreign_workflow(step));
        };
        // Where the range begins, the document may have another name.
        let begun = self
            .workflow_in(place.task, self.parted)?
            .filter(|own| self.is_renamed(own, name));
        let name = begun.as_ref().unwrap_or(name);
        let has_begun = self.from.workflow(name.as_str()).is_ok();
        let is_as_before = std::ptr::eq(before, Rc::as_ptr(&self.from))
            || has_begun
                && (are_rules_alike(before, &self.from, name.as_str())
                    || yields(self.store, self.archive, (&self.from, name), place, step)?);
        if is_as_before {
            return Ok(None);
        }
        let loosened = || {
            has_begun.then(|| {
                format!(
                    "the range changes the rules of `{name}` or their schemas, and those that it begins with do not yield it"
                )
            })
        };
        Ok(self.foreign_workflow(step).or_else(loosened))
    }
}

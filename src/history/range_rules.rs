//! The rules at the ends of a range. The difference between the ends, which people review, does not show rules
//! that stand at neither end.

use super::archive::Archive;
use crate::base::Digest;
use crate::decide::{Proof, ProvenStep, WorkflowRef};
use crate::store::Store;
use crate::survey::Error;
use crate::survey::setting::Setting;
use std::convert::Infallible;
use std::rc::Rc;

/// The settings at both ends of a range.
pub(super) struct RangeRules([Rc<Setting>; 2]);

impl RangeRules {
    /// Reads the settings at both ends. Returns an error if git cannot read them.
    pub(super) fn between(
        store: &Store,
        archive: &Archive<'_>,
        [from, to]: [Digest; 2],
    ) -> Result<Self, Error> {
        let setting = |end| archive.setting(&store.tree_source(end));
        Ok(Self([setting(from)?, setting(to)?]))
    }

    /// Makes the steps unverifiable that only hold by rules that stand at neither end. `before` are the settings
    /// in the parent commit. Returns whether there are such steps.
    pub(super) fn doubt(&self, before: Option<&Setting>, proof: &mut Proof) -> bool {
        let people = self.foreign_people(before, proof);
        let why = |step: &ProvenStep| Ok(people.clone().or_else(|| self.foreign_workflow(step)));
        proof.doubt::<Infallible>(why).unwrap_or_else(|never| match never {})
    }

    /// Why the settings about people that permitted the steps are those of neither end, if a step needs a
    /// person.
    fn foreign_people(&self, before: Option<&Setting>, proof: &Proof) -> Option<String> {
        let people = self.0.each_ref().map(|setting| &setting.config.people);
        let needs_a_person = |step: &ProvenStep| {
            step.approval.is_some() || people.iter().any(|people| people.asks(step.entry.kind, false))
        };
        let is_passing = proof.steps.iter().any(needs_a_person)
            && before.is_some_and(|before| !people.contains(&&before.config.people));
        is_passing
            .then(|| "the [people] settings that permitted it stand at neither end of the range".to_owned())
    }

    /// Why the workflow that decided is that of neither end.
    fn foreign_workflow(&self, step: &ProvenStep) -> Option<String> {
        let WorkflowRef { name, digest } = step.workflow.as_ref()?;
        let stands = |setting: &Rc<Setting>| {
            let loaded = setting.workflow(name.as_str()).ok();
            loaded.is_some_and(|loaded| loaded.workflow().is_some_and(|one| one.digest == *digest))
        };
        let digest = digest.short();
        (!self.0.iter().any(stands))
            .then(|| format!("the workflow {name}@{digest} that decided stands at neither end of the range"))
    }
}

//! Rules that were in force only temporarily. Whoever relaxes a workflow or the settings about people, takes a step,
//! and puts the old ones back leaves a history in which every step holds by the rules before it, although they stand
//! neither before nor after.
//!
//! People do take a change of the rules back, so such a step is not forged, and it is proven if the rules that came
//! back yield it too.

use super::archive::Archive;
use super::other_rules::{StepPlace, decided_by, permits, rules_in, yields};
use super::replay::Audited;
use crate::survey::setting::Settings;
use crate::survey::{Error, TaskRef};
use orch_base::{Digest, WorkflowName};
use orch_core::decide::{People, ProvenStep, WorkflowRef};
use orch_git::{Store, Visited};
use std::cell::{OnceCell, RefCell};
use std::collections::HashMap;
use std::rc::Rc;
use std::sync::Arc;

/// A commit whose settings or workflows differ from those of a parent.
struct SettingChange {
    commit: Digest,
    number: usize,
    before: Rc<Settings>,
    after: Rc<Settings>,
}

/// What stood before and after a change of the settings, if anything did.
type ChangedSetting<R> = [Option<R>; 2];

/// The rules of a workflow before and after a change of the settings; `None` where there is no such workflow.
type RulesChange = ChangedSetting<Rc<str>>;

/// The changes of settings and workflows in a whole history.
pub(super) struct PassingRules<'a> {
    store: &'a Store,
    archive: &'a Archive<'a>,
    /// The number of each commit; parents have smaller numbers than their children.
    numbers: HashMap<Digest, usize>,
    /// The numbers of the parents of each commit.
    parents: Vec<Vec<usize>>,
    changes: Vec<SettingChange>,
    /// The rules of each workflow on both sides of each change.
    rules: RefCell<HashMap<WorkflowName, Rc<[RulesChange]>>>,
    /// The settings about people on both sides of each change.
    people: OnceCell<Vec<ChangedSetting<People>>>,
    /// The commits with a commit in their history, by the number of that one, itself included.
    descendants: RefCell<HashMap<usize, Reached>>,
    /// The commits in the history of a commit, by its number, itself included.
    ancestors: RefCell<HashMap<usize, Reached>>,
}

/// For each number of a commit, whether the commit belongs to a set.
type Reached = Rc<[bool]>;

impl<'a> PassingRules<'a> {
    /// Finds the changes in these commits, which list parents before their children; those that `may_change` leaves out
    /// have none. Returns an error if git cannot read a commit.
    pub(super) fn of(
        store: &'a Store,
        archive: &'a Archive<'a>,
        commits: &[Arc<Visited>],
        may_change: impl Fn(&Visited) -> bool,
    ) -> Result<Self, Error> {
        let mut changes = Vec::new();
        for (number, commit) in commits
            .iter()
            .enumerate()
            .filter(|(_, commit)| may_change(commit))
        {
            let after = archive.setting(&store.objects().source_at(commit.id))?;
            for parent in &commit.parents {
                let before = archive.setting(&store.objects().source_at(*parent))?;
                let after = Rc::clone(&after);
                if !Rc::ptr_eq(&before, &after) {
                    changes.push(SettingChange {
                        commit: commit.id,
                        number,
                        before,
                        after,
                    });
                }
            }
        }
        let numbers: HashMap<Digest, usize> = commits
            .iter()
            .enumerate()
            .map(|(number, commit)| (commit.id, number))
            .collect();
        let numbers_of = |ids: &[Digest]| {
            ids.iter()
                .filter_map(|id| numbers.get(id).copied())
                .collect()
        };
        let parents = commits
            .iter()
            .map(|commit| numbers_of(&commit.parents))
            .collect();
        let rules = RefCell::default();
        let people = OnceCell::new();
        let descendants = RefCell::default();
        let ancestors = RefCell::default();
        Ok(Self {
            store,
            archive,
            numbers,
            parents,
            changes,
            rules,
            people,
            descendants,
            ancestors,
        })
    }

    /// How often settings change, at each commit once for each parent with others.
    pub(super) fn changes(&self) -> usize {
        self.changes.len()
    }

    /// Makes the steps of a change unverifiable whose rules were in force only temporarily, if the rules that stood
    /// before and came back do not yield them. Returns whether there are such steps, and an error if git cannot be
    /// read.
    pub(super) fn doubt(&self, change: &mut Audited) -> Result<bool, Error> {
        let Audited {
            commit,
            task,
            proof,
            ..
        } = change;
        proof.doubt(|step| self.passed(commit, task, step))
    }

    /// Why the rules of a step do not count, if they were in force only temporarily.
    fn passed(
        &self,
        commit: &Visited,
        task: &TaskRef,
        step: &ProvenStep,
    ) -> Result<Option<String>, Error> {
        let Some(number) = self.numbers.get(&commit.id) else {
            return Ok(None);
        };
        match self.passed_people(commit, *number, step)? {
            None => self.passed_workflow((commit, *number), task, step),
            found => Ok(found),
        }
    }

    /// The same, for the settings about people.
    fn passed_people(
        &self,
        commit: &Visited,
        number: usize,
        step: &ProvenStep,
    ) -> Result<Option<String>, Error> {
        let people = self.people.get_or_init(|| {
            let people = |setting: &Settings| Some(setting.config.people.clone());
            let found = self
                .changes
                .iter()
                .map(|change| [people(&change.before), people(&change.after)]);
            if_any_came_back(found.collect())
        });
        let Some(parent) = commit.parents.first().filter(|_| !people.is_empty()) else {
            return Ok(None);
        };
        let own = self
            .archive
            .setting(&self.store.objects().source_at(*parent))?
            .config
            .people
            .clone();
        let mut since = None;
        for (left, back) in self.around(number, &own, people) {
            if permits(&left.before.config.people, step) {
                continue;
            }
            since = Some((left.commit.short(), back.commit.short()));
        }
        Ok(since.map(|(left, back)| {
            format!(
                "the [people] settings that permitted it were in force only temporarily; those before {left}, \
                 which {back} put back, do not permit it"
            )
        }))
    }

    /// The same, for the workflow.
    fn passed_workflow(
        &self,
        (commit, number): (&Visited, usize),
        task: &TaskRef,
        step: &ProvenStep,
    ) -> Result<Option<String>, Error> {
        let Some(WorkflowRef { name, digest }) = decided_by(step) else {
            return Ok(None);
        };
        let rules = self.rules_of(name);
        let sides = self
            .changes
            .iter()
            .zip(rules.iter())
            .flat_map(|(change, [before, after])| {
                [(&change.before, before), (&change.after, after)]
            });
        let mut own = sides.filter(|(setting, _)| has_digest(setting, name.as_str(), *digest));
        let Some((_, Some(own))) = own.next() else {
            return Ok(None);
        };
        let mut since = None;
        let place = StepPlace {
            task,
            commit: commit.id,
            parent: commit.parents.first().copied(),
        };
        for (left, back) in self.around(number, own, &rules) {
            if yields(self.store, self.archive, (&left.before, name), place, step)? {
                continue;
            }
            since = Some((left.commit.short(), back.commit.short()));
        }
        Ok(since.map(|(left, back)| {
            let digest = digest.short();
            format!(
                "the rules of {name}@{digest} that decided were in force only temporarily; those before {left}, \
                 which {back} put back, do not yield it"
            )
        }))
    }

    /// For everything that differs from `own`, stood before a commit and came back with it or later: the change that
    /// replaced it, and the one that put it back. `sides` is what stood before and after each change.
    fn around<'r, R: PartialEq>(
        &'r self,
        number: usize,
        own: &'r R,
        sides: &'r [ChangedSetting<R>],
    ) -> impl Iterator<Item = (&'r SettingChange, &'r SettingChange)> {
        let lefts = self
            .changes
            .iter()
            .zip(sides)
            .filter(move |(left, _)| left.number < number);
        lefts.filter_map(move |(left, [old, _])| {
            let old = old.as_ref().filter(|old| *old != own)?;
            if !self.descendants_of(left.number)[number] {
                return None;
            }
            let mut backs = self
                .changes
                .iter()
                .zip(sides)
                .filter(|(_, [_, new])| new.as_ref() == Some(old));
            let is_after = |back: &SettingChange| {
                back.number >= number && self.ancestors_of(back.number)[number]
            };
            let (back, _) = backs.find(|(back, _)| is_after(back))?;
            Some((left, back))
        })
    }

    /// The rules of a workflow on both sides of each change; empty if no rules ever came back.
    fn rules_of(&self, name: &WorkflowName) -> Rc<[RulesChange]> {
        if let Some(known) = self.rules.borrow().get(name) {
            return Rc::clone(known);
        }
        let mut known: HashMap<*const Settings, Option<Rc<str>>> = HashMap::new();
        let mut rules = |setting: &Rc<Settings>| {
            let known = known.entry(Rc::as_ptr(setting));
            known
                .or_insert_with(|| rules_in(setting, name.as_str()).map(Rc::from))
                .clone()
        };
        let found: Vec<RulesChange> = self
            .changes
            .iter()
            .map(|change| [rules(&change.before), rules(&change.after)])
            .collect();
        let found: Rc<[RulesChange]> = if_any_came_back(found).into();
        self.rules
            .borrow_mut()
            .insert(name.clone(), Rc::clone(&found));
        found
    }

    /// The commits with this one in their history, and this one.
    fn descendants_of(&self, number: usize) -> Reached {
        let mut known = self.descendants.borrow_mut();
        let found = known.entry(number).or_insert_with(|| {
            let mut reached = vec![false; self.parents.len()];
            for (commit, parents) in self.parents.iter().enumerate().skip(number) {
                reached[commit] = commit == number || parents.iter().any(|parent| reached[*parent]);
            }
            reached.into()
        });
        Rc::clone(found)
    }

    /// The commits in the history of this one, and this one.
    fn ancestors_of(&self, number: usize) -> Reached {
        let mut known = self.ancestors.borrow_mut();
        let found = known.entry(number).or_insert_with(|| {
            let mut reached = vec![false; self.parents.len()];
            reached[number] = true;
            for commit in (0..=number).rev() {
                if reached[commit] {
                    self.parents[commit]
                        .iter()
                        .for_each(|parent| reached[*parent] = true);
                }
            }
            reached.into()
        });
        Rc::clone(found)
    }
}

/// These changes; none if nothing that one of them replaced ever came back.
fn if_any_came_back<R: PartialEq>(changes: Vec<ChangedSetting<R>>) -> Vec<ChangedSetting<R>> {
    let came_back = |(number, [before, _]): (usize, &ChangedSetting<R>)| {
        let mut later = changes[number..].iter().skip(1);
        before.is_some() && later.any(|[earlier, after]| earlier != after && after == before)
    };
    if changes.iter().enumerate().any(came_back) {
        changes
    } else {
        Vec::new()
    }
}

fn has_digest(setting: &Settings, name: &str, digest: Digest) -> bool {
    let loaded = setting.workflow(name).ok();
    let workflow = loaded.as_ref().and_then(|loaded| loaded.workflow());
    workflow.is_some_and(|workflow| workflow.has_digest(digest))
}

//! Deriving the new events of a log anew: is each what the rules yield from the state before it and the
//! bytes beside it?

use super::archive::Archive;
use super::reconstruction::NotedDigests;
use crate::base::Digest;
use crate::decide::{
    ActorKind, Approval, Disproof, HistoryEntry, Kind, Proof, ProvenStep, Recorded, Replayed, Stamp,
    Standing, State, choose, refute, replay,
};
use crate::record::LogEvent;
use crate::scan::{FileSet, Source};
use crate::survey::code::{Told, told};
use crate::survey::snapshot::Snapshot;
use crate::survey::{Error, Loaded, TaskRef};
use crate::workflow::{Workflow, is_tree_name};
use std::cell::RefCell;
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// How many branches a person may have chosen between.
const MOST_BRANCHES: usize = 6;

/// An event that no log had before.
pub(super) struct NewStep {
    pub event: LogEvent,
    /// The state before it; `None` for the first event of a task that is new. Where the workflow that joins
    /// several branches is not here, that after the first of them.
    pub before: Option<State>,
    /// Why the branches that it follows have no state together.
    pub disputed: Option<String>,
    /// The state after it.
    pub state: State,
    /// What it recorded of artifacts.
    pub noted: NotedDigests,
    /// Whether it was made on another branch: it does not follow what the commit before it recorded.
    pub is_aside: bool,
}

impl NewStep {
    pub(super) fn entry(&self) -> &HistoryEntry {
        &self.event.entry
    }

    fn recorded(&self) -> Recorded {
        self.before.clone().map_or(Recorded::New, |state| Recorded::Known(Box::new(state)))
    }
}

/// New events, to be derived anew.
pub(super) struct Replaying<'a> {
    pub task: &'a TaskRef,
    /// Where to look for an ancestor.
    pub parents: &'a [Digest],
    /// What all of the parents hold.
    pub befores: &'a [Snapshot<'a>],
    /// The parent whose settings and code decide.
    pub before: Snapshot<'a>,
    pub after: Snapshot<'a>,
    pub archive: &'a Archive<'a>,
    /// What the task held before the first of them.
    pub old: &'a dyn Source,
    /// The events, each behind those that it follows.
    pub steps: Vec<NewStep>,
    /// What the task held after steps of other branches that were derived.
    pub held_after: RefCell<HashMap<Digest, FileSet>>,
}

impl Replaying<'_> {
    /// Reads the events that a log has beside those that end at `heads`; `foreign` is the state that the
    /// first event of a task may have taken over. The error says why one of them is no step of any workflow.
    pub(super) fn read(
        &mut self,
        added: &[Digest],
        heads: &[Digest],
        foreign: Option<&State>,
    ) -> Result<(), String> {
        let new: HashSet<&Digest> = added.iter().collect();
        let mut aside: HashSet<Digest> = HashSet::new();
        for id in added {
            let step = self.read_one(id, foreign)?;
            let (within, without): (Vec<&Digest>, Vec<&Digest>) =
                step.event.after.iter().partition(|id| new.contains(id));
            let goes_on = within.iter().all(|id| !aside.contains(*id));
            let is_aside = !goes_on
                || (within.is_empty() && step.event.after != heads)
                || without.iter().any(|id| !heads.contains(id));
            if is_aside {
                aside.insert(*id);
            }
            self.steps.push(NewStep { is_aside, ..step });
        }
        Ok(())
    }

    fn read_one(&self, id: &Digest, foreign: Option<&State>) -> Result<NewStep, String> {
        let pool = self.archive.logs();
        let event = pool.event(id).map(|event| event.clone()).ok_or("an event is not there")?;
        let named = |why: String| format!("step {}: {why}", event.entry.seq);
        let state = pool.state_at(id).map_err(|why| named(why.to_string()))?;
        let first = event.after.first().map(|first| pool.state_at(first)).transpose();
        let first = first.map_err(|why| named(why.to_string()))?;
        if pool.tips(&event.after) != event.after {
            return Err(named("it does not name the events that it follows as every step does".to_owned()));
        }
        // Both its changes and its text follow from the two states.
        let canonical = LogEvent::new(event.after.clone(), first.as_ref(), &state);
        if canonical.is_none_or(|canonical| canonical.id != event.id) {
            return Err(named("its line in transcript.jsonl holds what no step puts there".to_owned()));
        }
        let (before, disputed) = match event.after.len() {
            0 => (foreign.cloned(), None),
            1 => (first, None),
            _ => {
                match pool.fold(self.workflow_of(&event).as_ref().and_then(|l| l.workflow()), &event.after) {
                    Ok(before) => (before, None),
                    Err(why) => (first, Some(why.why())),
                }
            }
        };
        let noted = NotedDigests::since(before.as_ref(), &state);
        Ok(NewStep { event, before, disputed, state, noted, is_aside: false })
    }

    fn workflow_of(&self, event: &LogEvent) -> Option<Arc<Loaded>> {
        let named = &event.workflow;
        // The steps of a branch may follow the workflow that stood there.
        let befores = std::iter::once(&self.before).chain(self.befores);
        let mut settings = befores.map(|before| before.setting);
        settings.find_map(|setting| self.archive.workflow(setting, named.name.as_str(), named.digest))
    }

    /// The verdict about all of them.
    pub(super) fn prove(&self) -> Result<Proof, Error> {
        let steps = (0..self.steps.len()).map(|index| self.one(index));
        Ok(Proof::of(steps.collect::<Result<Vec<_>, _>>()?))
    }

    /// A step behind those of the new ones that it follows.
    fn line(&self, index: usize) -> Vec<&NewStep> {
        let own = &self.steps[index];
        let mut open: Vec<&Digest> = own.event.after.iter().collect();
        let mut line = vec![own];
        for step in self.steps[..index].iter().rev() {
            if open.contains(&&step.event.id) {
                open.extend(&step.event.after);
                line.insert(0, step);
            }
        }
        line
    }

    fn one(&self, index: usize) -> Result<ProvenStep, Error> {
        let step = &self.steps[index];
        let (entry, named) = (step.entry(), &step.event.workflow);
        let told = |standing, why: String| verdict(entry, standing, Some(why));
        let earlier = step.before.as_ref().filter(|before| !before.foreign);
        if let Some(other) = earlier.and_then(|before| before.workflow.as_ref())
            && other.name != named.name
        {
            let why = format!("the task is governed by `{}`, and the step by `{}`", other.name, named.name);
            return Ok(told(Standing::Forged, why));
        }
        let Some(loaded) = self.workflow_of(&step.event) else {
            let digest = named.digest.short();
            let why =
                format!("workflow {}@{digest} is not the one that stood here before the step", named.name);
            return Ok(ProvenStep { is_judged: false, ..told(Standing::Unverifiable, why) });
        };
        let Some(workflow) = loaded.workflow() else { return Err(loaded.faulty()) };
        if entry.kind == Kind::Merge {
            return Ok(match self.chosen(step, workflow) {
                true => verdict(entry, Standing::Overridden, None),
                false => told(Standing::Forged, "no two branches that it follows make this state".to_owned()),
            });
        }
        if let Some(why) = &step.disputed {
            return Ok(told(
                Standing::Forged,
                format!("it follows branches that only a person joins: {why}"),
            ));
        }
        self.derived(index, &loaded, workflow)
    }

    /// Whether a person chose one of the branches that a step follows, and this state is what comes of that.
    fn chosen(&self, step: &NewStep, workflow: &Workflow) -> bool {
        let (entry, after, pool) = (step.entry(), &step.event.after, self.archive.logs());
        if entry.actor.kind == ActorKind::Orch || after.len() > MOST_BRANCHES {
            return false;
        }
        let stamp = Stamp { at: entry.at, by: entry.actor.clone() };
        (1..(1_usize << after.len()).saturating_sub(1)).any(|chosen| {
            let side = |is_chosen: bool| -> Option<State> {
                let heads = after.iter().enumerate();
                let heads = heads.filter(|(at, _)| (chosen >> at & 1 == 1) == is_chosen).map(|(_, id)| *id);
                pool.fold(Some(workflow), &heads.collect::<Vec<_>>()).ok()?
            };
            let sides = side(true).zip(side(false));
            let made =
                sides.and_then(|(one, other)| choose(workflow, &one, &other, &entry.reason, &stamp).ok());
            // The history of both sides is for the log to tell.
            made.filter(|made| made.history.last() == Some(entry)).is_some_and(|made| {
                let (heads, history) = (step.state.heads.clone(), step.state.history.clone());
                State { heads, history, ..made } == step.state
            })
        })
    }

    /// Derives a step on what the commit holds, or else on what it may have been made on.
    fn derived(&self, index: usize, loaded: &Loaded, workflow: &Workflow) -> Result<ProvenStep, Error> {
        let step = &self.steps[index];
        let line = self.line(index);
        let told = told(workflow, step.entry(), &step.state);
        let mut attempts = Attempts {
            replaying: self,
            loaded,
            step,
            line: &line,
            told: &told,
            refused: None,
            excuse: None,
            impossible: None,
        };
        if let Some(proven) = attempts.on(self.after.source)? {
            return Ok(proven);
        }
        if step.is_aside {
            for files in self.elsewhere(loaded, step)? {
                if let Some(proven) = attempts.on(&files)? {
                    self.held_after.borrow_mut().insert(step.event.id, files);
                    return Ok(proven);
                }
            }
            return Ok(attempts.failed());
        }
        let several = self.steps.len() > 1;
        if several || self.is_rebased(step, workflow)? {
            for files in self.on_the_way(loaded, &line)? {
                let Some(proven) = attempts.on(&files)? else { continue };
                let why = match self.not_kept(index) {
                    _ if !several => {
                        Some("it was made on other files, and set upon those that are here".to_owned())
                    }
                    missing => missing.map(|name| format!("{name} is not in this commit as the step saw it")),
                };
                return Ok(match why {
                    Some(why) => ProvenStep { standing: Standing::Unverifiable, why: Some(why), ..proven },
                    None => proven,
                });
            }
        }
        Ok(attempts.failed())
    }

    /// Whether every file that is other than the evidence of a step was made so by others, after it had
    /// been that evidence: a rebase sets a step upon what was done meanwhile. An open task is judged
    /// anew on that, a finished one never.
    fn is_rebased(&self, step: &NewStep, workflow: &Workflow) -> Result<bool, Error> {
        let phase = step.state.phase.as_deref().and_then(|phase| workflow.phase_named(phase));
        if phase.is_none_or(|phase| phase.terminal) {
            return Ok(false);
        }
        for (name, digest) in step.entry().evidence.iter().filter(|(name, _)| !is_tree_name(name)) {
            let (Ok(path), Some(digest)) = (self.task.file(name), Digest::parse(digest)) else {
                return Ok(false);
            };
            let here = self.after.source.read(&path, u64::MAX - 1)?;
            if here.blob() == Some(digest) {
                continue;
            }
            let by_others = here == self.before.source.read(&path, u64::MAX - 1)?;
            if !by_others || !self.archive.held_at(self.parents, &path, digest)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Evidence of a step that no later one names, and that the commit does not hold as it was.
    fn not_kept(&self, index: usize) -> Option<String> {
        let later = &self.steps[index + 1..];
        let is_renewed = |name: &String| {
            later.iter().flat_map(|step| &step.entry().evidence).any(|(other, _)| other == name)
        };
        let kept = |name: &str, digest: &str| {
            let content = || self.after.source.read(&self.task.file(name).ok()?, u64::MAX - 1).ok();
            is_tree_name(name)
                || content().and_then(|content| content.blob()).is_some_and(|blob| blob.to_string() == digest)
        };
        let mut evidence = self.steps[index].entry().evidence.iter();
        evidence.find(|(name, digest)| !is_renewed(name) && !kept(name, digest)).map(|(name, _)| name.clone())
    }
}

/// The attempts to derive one step, and what they came to.
struct Attempts<'t> {
    replaying: &'t Replaying<'t>,
    loaded: &'t Loaded,
    step: &'t NewStep,
    /// The step, behind those that it follows.
    line: &'t [&'t NewStep],
    told: &'t [Told],
    refused: Option<String>,
    excuse: Option<String>,
    impossible: Option<Disproof>,
}

impl Attempts<'_> {
    /// Derives the step on some files, and on the code before the commit or that which the step tells of.
    fn on(&mut self, files: &dyn Source) -> Result<Option<ProvenStep>, Error> {
        match self.by(files, &[])? {
            None if !self.told.is_empty() => self.by(files, self.told),
            proven => Ok(proven),
        }
    }

    fn by(&mut self, source: &dyn Source, told: &[Told]) -> Result<Option<ProvenStep>, Error> {
        let (at, step) = (self.replaying, self.step);
        let snapshot = Snapshot { source, ..at.after };
        let before = step.recorded();
        let (workflow, observed, untrue) = snapshot.observe_step(at.task, self.loaded, &before, told)?;
        if untrue.is_empty() && !told.is_empty() {
            return Ok(None);
        }
        let entry = step.entry();
        match replay(workflow, &before, &observed.facts, entry, Some(&step.state)) {
            Ok(replayed) => self.proven(step, &snapshot, workflow, &replayed, &untrue).map(Some),
            Err(disproof) => {
                let other = at.other_evidence(entry, &observed);
                self.refused.get_or_insert_with(|| other.unwrap_or(disproof.message));
                if self.impossible.is_none() {
                    self.impossible = refute(workflow, &before, &observed.facts, entry, &step.state);
                }
                if self.excuse.is_none() {
                    self.excuse = at.excuse(self.line, workflow, &observed);
                }
                Ok(None)
            }
        }
    }

    /// The verdict about a step that follows.
    fn proven(
        &self,
        step: &NewStep,
        snapshot: &Snapshot<'_>,
        workflow: &Workflow,
        replayed: &Replayed,
        untrue: &[Told],
    ) -> Result<ProvenStep, Error> {
        let (at, entry) = (self.replaying, step.entry());
        // Whoever recorded it would have been refused.
        if let Some(why) = at.before.setting.refused_data(workflow, &step.state) {
            return Ok(verdict(entry, Standing::Forged, Some(why)));
        }
        let code = match snapshot.code_unknown(workflow, at.parents, untrue)? {
            None => snapshot.miscounted(at.task, workflow, &step.recorded(), self.told)?,
            unknown => unknown,
        };
        if code.is_some() {
            return Ok(verdict(entry, Standing::Unverifiable, code));
        }
        let took_over = replayed.standing == Standing::Unverifiable;
        let why = took_over.then(|| "the state that it took over is not in git".to_owned());
        let approval = replayed.by_person.then_some(Approval::Claimed);
        Ok(ProvenStep { approval, ..verdict(entry, replayed.standing, why) })
    }

    /// The verdict about a step that follows from nothing.
    fn failed(self) -> ProvenStep {
        let (standing, why) = match (self.excuse, self.impossible) {
            (None, _) => (Standing::Forged, self.refused),
            (Some(_), Some(disproof)) => (Standing::Forged, Some(disproof.message)),
            (Some(why), None) => (Standing::Unverifiable, Some(why)),
        };
        verdict(self.step.entry(), standing, why)
    }
}

fn verdict(entry: &HistoryEntry, standing: Standing, why: Option<String>) -> ProvenStep {
    ProvenStep { entry: entry.clone(), standing, approval: None, is_judged: true, why }
}

//! What a task held when a step was taken, as far as git and the step's own record tell.

use super::archive::Archive;
use super::steps::{NewStep, Replaying};
use crate::base::{ArtifactName, Digest, PhaseId, RepoPath};
use crate::decide::{HistoryEntry, State};
use crate::scan::{FileSet, Observed};
use crate::survey::code::{code_out_of_reach, told};
use crate::survey::{Error, Loaded, TaskRef};
use crate::workflow::{Artifact, Guard, Outcome, Workflow, is_tree_name};
use std::collections::BTreeMap;

/// What a step recorded of artifacts, beside the evidence that it names.
#[derive(Default)]
pub(super) struct NotedDigests {
    /// What they were when a phase was entered or left; `None` if absent.
    seen: BTreeMap<ArtifactName, Option<Digest>>,
    /// What was used up.
    spent: BTreeMap<ArtifactName, Digest>,
}

impl NotedDigests {
    /// What stands in a state and not in the one before it.
    pub(super) fn since(before: Option<&State>, after: &State) -> Self {
        let mut noted = Self::default();
        let earlier = |phase: &String| before.and_then(|before| before.actors.get(phase));
        // What a phase was left with is said last: it is a file where what one was entered with is code.
        for (phase, actor) in &after.actors {
            for (artifact, digest) in &actor.entered_with {
                if earlier(phase).and_then(|old| old.entered_with.get(artifact)) != Some(digest) {
                    noted.seen.insert(artifact.clone(), *digest);
                }
            }
        }
        for (phase, actor) in &after.actors {
            let old = earlier(phase);
            for (artifact, digest) in &actor.left_with {
                if old.and_then(|old| old.left_with.get(artifact)) != Some(digest) {
                    noted.seen.insert(artifact.clone(), *digest);
                }
            }
            for (artifact, digests) in &actor.spent {
                let old = old.and_then(|old| old.spent.get(artifact)).map_or(&[][..], Vec::as_slice);
                let newly = digests.iter().rfind(|digest| !old.contains(digest));
                noted.spent.extend(newly.map(|digest| (artifact.clone(), *digest)));
            }
        }
        noted
    }

    /// What artifacts were when a phase was entered or left.
    pub(super) fn seen(&self) -> impl Iterator<Item = (&ArtifactName, Option<Digest>)> {
        self.seen.iter().map(|(name, digest)| (name, *digest))
    }

    /// What was used up.
    pub(super) fn spent(&self) -> impl Iterator<Item = (&ArtifactName, Option<Digest>)> {
        self.spent.iter().map(|(name, digest)| (name, Some(*digest)))
    }

    /// Everything that artifacts were.
    pub(super) fn digests(&self) -> impl Iterator<Item = (&ArtifactName, Digest)> {
        self.seen().chain(self.spent()).filter_map(|(name, digest)| Some((name, digest?)))
    }
}

/// Puts what records name in the place of what lies there.
pub(super) struct Restoring<'a> {
    pub task: &'a TaskRef,
    pub archive: &'a Archive<'a>,
    pub loaded: &'a Loaded,
    /// What the task holds in the end, which tells where its artifacts lie.
    pub latest: &'a FileSet,
}

impl Restoring<'_> {
    /// Puts the evidence of a step there, as far as this clone has it.
    pub(super) fn evidence(&self, entry: &HistoryEntry, files: &mut FileSet) -> Result<(), Error> {
        for (path, digest) in &entry.evidence {
            let (Ok(path), Some(digest)) = (self.task.file(path), Digest::parse(digest)) else { continue };
            if let Some(bytes) = self.archive.blob(digest)? {
                files.put(path, bytes);
            }
        }
        Ok(())
    }

    /// Puts what was recorded of artifacts there.
    pub(super) fn recorded<'d>(
        &self,
        digests: impl IntoIterator<Item = (&'d ArtifactName, Option<Digest>)>,
        files: &mut FileSet,
    ) -> Result<(), Error> {
        digests.into_iter().try_for_each(|(artifact, digest)| self.put(artifact, digest, files))
    }

    fn put(&self, artifact: &ArtifactName, digest: Option<Digest>, files: &mut FileSet) -> Result<(), Error> {
        let (Some(workflow), Some(matcher)) = (self.loaded.workflow(), self.loaded.matcher()) else {
            return Ok(());
        };
        let Some(index) = workflow.artifacts.iter().position(|one| one.name == *artifact) else {
            return Ok(());
        };
        let is_of = |path: &&RepoPath| {
            let below = path.below(&self.task.directory).unwrap_or_default();
            matcher.artifacts_of(below).any(|(owner, _)| owner == index)
        };
        let present: Vec<RepoPath> = files.paths().filter(is_of).cloned().collect();
        let bytes = match digest {
            // Of several files there is no blob, so that what lies there is as good as anything.
            Some(digest) => match self.archive.blob(digest)? {
                Some(bytes) => Some(bytes),
                None => return Ok(()),
            },
            None => None,
        };
        present.iter().for_each(|path| files.remove(path));
        let usual = || self.task.file(workflow.artifacts[index].paths.first()?).ok();
        let place = present.first().or_else(|| self.latest.paths().find(is_of)).cloned().or_else(usual);
        if let Some((place, bytes)) = place.zip(bytes) {
            files.put(place, bytes);
        }
        Ok(())
    }
}

impl Replaying<'_> {
    /// What the task may have held at a step in the middle of several, `line` being the steps that lead to
    /// it: a squash keeps only the end, but every step names its evidence, and records more. The rest may
    /// have been there or not.
    pub(super) fn on_the_way(&self, loaded: &Loaded, line: &[&NewStep]) -> Result<Vec<FileSet>, Error> {
        let task = self.task;
        let limit = self.after.setting.config.limit_bytes;
        let latest = FileSet::of(self.after.source, &task.directory, limit)?;
        let restoring = Restoring { task, archive: self.archive, loaded, latest: &latest };
        let mut named = FileSet::of(self.old, &task.directory, limit)?;
        let mut recorded = named.clone();
        let (mut own, mut spent) = (FileSet::default(), FileSet::default());
        for (number, step) in line.iter().enumerate() {
            restoring.recorded(step.noted.seen(), &mut recorded)?;
            restoring.evidence(step.entry(), &mut named)?;
            restoring.evidence(step.entry(), &mut recorded)?;
            if number + 1 == line.len() {
                restoring.evidence(step.entry(), &mut own)?;
                spent = recorded.clone();
                restoring.recorded(step.noted.spent(), &mut spent)?;
            }
        }
        let evidence = self.steps.iter().flat_map(|step| &step.entry().evidence);
        let evidence: Vec<RepoPath> = evidence.filter_map(|(path, _)| task.file(path).ok()).collect();
        let mut with_rest = named.clone();
        for path in latest.paths().filter(|path| !evidence.contains(path)) {
            if let Some(bytes) = latest.bytes(path) {
                with_rest.put(path.clone(), bytes.to_vec());
            }
        }
        Ok(vec![with_rest, named, own, recorded, spent])
    }

    /// What the task may have held at a step of another branch: what it held after the step before, or what
    /// any of the commits here hold, or what all steps before it recorded, each with what the step names and
    /// records itself; or that alone.
    pub(super) fn elsewhere(&self, loaded: &Loaded, step: &NewStep) -> Result<Vec<FileSet>, Error> {
        let limit = self.after.setting.config.limit_bytes;
        let directory = &self.task.directory;
        let latest = FileSet::of(self.after.source, directory, limit)?;
        let mut grounds: Vec<FileSet> = Vec::new();
        for previous in &step.event.after {
            grounds.extend(self.held_after.borrow().get(previous).cloned());
            if let Some(tree) = self.archive.after_event(self.parents, self.task, *previous)? {
                grounds.push(FileSet::of(&tree, directory, limit)?);
            }
        }
        if !step.event.after.is_empty() {
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
        let all = NotedDigests::since(None, step.before.as_ref().unwrap_or(&step.state));
        let mut known = FileSet::default();
        restoring.recorded(all.seen(), &mut known)?;
        grounds.extend([latest.clone(), known, FileSet::default()]);
        let mut held: Vec<FileSet> = Vec::new();
        for ground in grounds {
            let mut named = ground.clone();
            restoring.evidence(step.entry(), &mut named)?;
            let mut recorded = ground;
            restoring.recorded(step.noted.seen(), &mut recorded)?;
            restoring.evidence(step.entry(), &mut recorded)?;
            let mut spent = recorded.clone();
            restoring.recorded(step.noted.spent(), &mut spent)?;
            for files in [named, recorded, spent] {
                if !held.contains(&files) {
                    held.push(files);
                }
            }
        }
        Ok(held)
    }

    /// Evidence that is other bytes here than the record says.
    pub(super) fn other_evidence(&self, entry: &HistoryEntry, observed: &Observed) -> Option<String> {
        entry.evidence.iter().find_map(|(name, recorded)| {
            let path = self.task.file(name).ok()?;
            let trees = observed.facts.artifacts.values().flatten().filter(|file| file.is_tree);
            let present = match trees.into_iter().find(|tree| tree.path == *name) {
                Some(tree) => tree.digest,
                None => observed.files.iter().find(|file| file.path == path).map(|file| file.digest),
            };
            let present = present.map(|digest| digest.to_string());
            (present.as_deref() != Some(recorded.as_str())).then(|| match present {
                Some(present) => {
                    format!("the record rests on {name}@{recorded:.10}, and it is {present:.10} here")
                }
                None => format!("the record rests on {name}@{recorded:.10}, which is not here"),
            })
        })
    }

    /// Why a step that does not derive may be honest all the same; `line` are the steps that lead to it.
    pub(super) fn excuse(
        &self,
        line: &[&NewStep],
        workflow: &Workflow,
        observed: &Observed,
    ) -> Option<String> {
        if let Some(path) = observed.unread.first() {
            return Some(format!("{path} cannot be read here"));
        }
        if let Some(why) = code_out_of_reach(&observed.facts) {
            return Some(why);
        }
        let own = line.last()?;
        let is_alone = self.steps.len() == 1 && !own.is_aside;
        // A commit keeps only the end. What a step in the middle or on another branch rests on stands in its
        // own record, and in those of the steps before it.
        if !is_alone && let Some(missing) = self.not_in_git(line, workflow) {
            return Some(missing);
        }
        // Any rule of the phase may have asked before the one that fired.
        let from = own.entry().from.iter();
        let guards: Vec<&Guard> = from.flat_map(|from| expressions_in(workflow, from)).collect();
        let reads = |guard: &Guard, name: &str| workflow.reads(guard).iter().any(|chain| chain[0] == name);
        let asked = |artifact: &Artifact| guards.iter().any(|guard| reads(guard, artifact.name.as_str()));
        let elsewhere = workflow.artifacts.iter().find(|artifact| !artifact.commit && asked(artifact));
        if let Some(artifact) = elsewhere {
            return Some(format!("`{}` is not committed", artifact.name));
        }
        let filtered = observed.files.iter().find(|file| self.archive.is_filtered(&file.path));
        filtered.map(|file| format!("the bytes of {} lie behind a filter", file.path))
    }

    /// What the last of these steps rests on, and what it recorded, and this clone does not have.
    fn not_in_git(&self, line: &[&NewStep], workflow: &Workflow) -> Option<String> {
        let is_here = |digest| matches!(self.archive.blob(digest), Ok(Some(_)));
        let own = line.last()?;
        // On another branch more may have been recorded than stands in these steps.
        let evidence = line.iter().flat_map(|step| &step.entry().evidence);
        for (name, digest) in evidence {
            let digest = Digest::parse(digest)?;
            if is_tree_name(name) {
                return Some(format!("{name}, {}, as it was then, is not in git", digest.short()));
            }
            if !is_here(digest) {
                return Some(format!("the blob of {name}, {}, is not in git", digest.short()));
            }
        }
        let told = told(workflow, own.entry(), &own.state);
        // Code is looked for in the trees of commits.
        let is_told = |name: &ArtifactName, digest: Digest| told.iter().any(|told| told.is(name, digest));
        let mut noted = own.noted.digests().filter(|(name, digest)| !is_told(name, *digest));
        let (name, digest) = noted.find(|(_, digest)| !is_here(*digest))?;
        Some(format!("`{name}`, as it was then, {}, is not in git", digest.short()))
    }
}

/// Everything that may be computed of a task in a phase.
fn expressions_in<'w>(workflow: &'w Workflow, phase: &'w PhaseId) -> Vec<&'w Guard> {
    let mut found: Vec<&Guard> =
        workflow.phase(phase).and_then(|phase| phase.substate.as_ref()).into_iter().collect();
    for rule in workflow.rules_from(phase) {
        found.push(&rule.when);
        found.extend(rule.set.iter().map(|(_, guard)| guard));
        let actions = match &rule.outcome {
            Outcome::Run(action) => std::slice::from_ref(action),
            Outcome::Choose(actions) => actions.as_slice(),
            Outcome::To(_) | Outcome::Wait(_) => &[],
        };
        let actions = actions.iter().filter_map(|action| workflow.action(action));
        found.extend(actions.flat_map(|action| [&action.when, &action.ensures]));
        let ask = rule.ask.as_deref().and_then(|ask| workflow.ask(ask));
        let asks = ask.into_iter().flat_map(|ask| ask.options.iter().chain(&ask.set));
        found.extend(asks.map(|(_, guard)| guard));
    }
    found
}

//! What a task held when a step was taken, as far as git and the step's own record tell.

use super::archive::Archive;
use super::proof::Proving;
use super::records::RecordedStep;
use crate::base::{ArtifactName, Digest, PhaseId, RepoPath};
use crate::decide::{HistoryEntry, State};
use crate::scan::{FileSet, Observed, Source};
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

impl Proving<'_> {
    /// What the task may have held at a step in the middle of several: a squash keeps only the end,
    /// but every step names its evidence, and records more. The rest may have been there or not.
    pub(super) fn reconstructions(
        &self,
        loaded: &Loaded,
        old: &dyn Source,
        steps: &[RecordedStep],
        index: usize,
    ) -> Result<Vec<FileSet>, Error> {
        let task = self.change.task;
        let limit = self.change.after.setting.config.limit_bytes;
        let latest = FileSet::of(self.change.after.source, &task.directory, limit)?;
        let restoring = Restoring { task, archive: self.archive, loaded, latest: &latest };
        let mut named = FileSet::of(old, &task.directory, limit)?;
        let mut recorded = named.clone();
        let mut own = FileSet::default();
        let mut spent = FileSet::default();
        for (number, step) in steps.iter().enumerate().take(index + 1) {
            restoring.recorded(step.noted.seen(), &mut recorded)?;
            restoring.evidence(&step.entry, &mut named)?;
            restoring.evidence(&step.entry, &mut recorded)?;
            if number == index {
                restoring.evidence(&step.entry, &mut own)?;
                spent = recorded.clone();
                restoring.recorded(step.noted.spent(), &mut spent)?;
            }
        }
        let evidence = steps.iter().flat_map(|step| &step.entry.evidence);
        let evidence: Vec<RepoPath> = evidence.filter_map(|(path, _)| task.file(path).ok()).collect();
        let with_rest = |files: &FileSet| {
            let mut files = files.clone();
            for path in latest.paths().filter(|path| !evidence.contains(path)) {
                if let Some(bytes) = latest.bytes(path) {
                    files.put(path.clone(), bytes.to_vec());
                }
            }
            files
        };
        Ok(vec![with_rest(&named), named, own, recorded, spent])
    }

    /// Evidence that is other bytes here than the record says.
    pub(super) fn other_evidence(&self, entry: &HistoryEntry, observed: &Observed) -> Option<String> {
        entry.evidence.iter().find_map(|(name, recorded)| {
            let path = self.change.task.file(name).ok()?;
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

    /// Why a step that does not derive may be honest all the same.
    pub(super) fn excuse(
        &self,
        steps: &[RecordedStep],
        index: usize,
        workflow: &Workflow,
        observed: &Observed,
    ) -> Option<String> {
        if let Some(path) = observed.unread.first() {
            return Some(format!("{path} cannot be read here"));
        }
        if let Some(why) = code_out_of_reach(&observed.facts) {
            return Some(why);
        }
        // A squash keeps only the end. What a step in the middle rests on stands in its own record,
        // and in those of the steps before it.
        let in_middle = if steps.len() > 1 { &steps[..=index] } else { &[] };
        for (name, digest) in in_middle.iter().flat_map(|step| &step.entry.evidence) {
            let digest = Digest::parse(digest)?;
            if is_tree_name(name) {
                return Some(format!("{name}, {}, as it was then, is not in git", digest.short()));
            }
            if !matches!(self.archive.blob(digest), Ok(Some(_))) {
                return Some(format!("the blob of {name}, {}, is not in git", digest.short()));
            }
        }
        let own = steps.get(index)?;
        let told = told(workflow, &own.entry, &own.state);
        let is_told = |name: &ArtifactName, digest: Digest| told.iter().any(|told| told.is(name, digest));
        for (name, digest) in own.noted.digests().filter(|_| steps.len() > 1) {
            // Code is looked for in the trees of commits.
            if is_told(name, digest) {
                continue;
            }
            if !matches!(self.archive.blob(digest), Ok(Some(_))) {
                return Some(format!("`{name}`, as it was then, {}, is not in git", digest.short()));
            }
        }
        let entry = &own.entry;
        // Any rule of the phase may have asked before the one that fired.
        let guards: Vec<&Guard> = entry.from.iter().flat_map(|from| expressions_in(workflow, from)).collect();
        let reads = |guard: &Guard, name: &str| workflow.reads(guard).iter().any(|chain| chain[0] == name);
        let asked = |artifact: &Artifact| guards.iter().any(|guard| reads(guard, artifact.name.as_str()));
        let elsewhere = workflow.artifacts.iter().find(|artifact| !artifact.commit && asked(artifact));
        if let Some(artifact) = elsewhere {
            return Some(format!("`{}` is not committed", artifact.name));
        }
        let filtered = observed.files.iter().find(|file| self.archive.is_filtered(&file.path));
        filtered.map(|file| format!("the bytes of {} lie behind a filter", file.path))
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

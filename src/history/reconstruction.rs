//! What a task held when a step was taken, as far as git and the step's own record tell.

use super::archive::Archive;
use super::new_steps::{NewStep, NewSteps, NotedDigests};
use crate::base::{ArtifactName, Digest, RepoPath};
use crate::decide::HistoryEntry;
use crate::scan::FileSet;
use crate::survey::{Error, Loaded, TaskRef};

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

impl NewSteps<'_> {
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
}

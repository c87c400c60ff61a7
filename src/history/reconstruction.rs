//! What a task held when a step was taken, as far as git and the step's own record tell.

use super::archive::Archive;
use super::logs::LogBytes;
use super::new_steps::{NewStep, NewSteps, NotedDigests};
use crate::base::{ArtifactName, Digest, RepoPath};
use crate::decide::HistoryEntry;
use crate::record::LogPeek;
use crate::scan::{FileSet, Source};
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
    /// What the task may have held at a step that was not taken on the files of this commit: one of several
    /// that a squash folds, one that a rebase moved, or one of another branch.
    ///
    /// It is what the task held after the step before, or what one of the commits here holds, or what all
    /// steps before it recorded; each with what the step itself names and records.
    pub(super) fn possible_files(&self, loaded: &Loaded, step: &NewStep) -> Result<Vec<FileSet>, Error> {
        let (task, limit) = (self.task, self.after.setting.config.limit_bytes);
        let read = |source: &dyn Source| FileSet::of(source, &task.directory, limit);
        let latest = read(self.after.source)?;
        let mut grounds: Vec<FileSet> = Vec::new();
        for previous in &step.event.after {
            if let Some(files) = self.held_after.borrow().get(previous) {
                grounds.push(files.as_ref().unwrap_or(&latest).clone());
                continue;
            }
            let ends_so = |log: LogBytes<'_>| LogPeek::new(0, log.bytes).last == Some(*previous);
            if let Some(source) = self.archive.log_before(self.parents, task, ends_so)? {
                grounds.push(read(&source)?);
            }
        }
        for source in self.befores.iter().map(|snapshot| snapshot.source) {
            grounds.push(read(source)?);
        }
        // Files that no step names may have been there by then.
        let evidence = self.steps.iter().flat_map(|step| &step.entry().evidence);
        let evidence: Vec<RepoPath> = evidence.filter_map(|(path, _)| task.file(path).ok()).collect();
        let mut with_rest = grounds.first().cloned().unwrap_or_default();
        for path in latest.paths() {
            if with_rest.bytes(path).is_none() || !evidence.contains(path) {
                with_rest.put(path.clone(), latest.bytes(path).unwrap_or_default().to_vec());
            }
        }
        let restoring = Restoring { task, archive: self.archive, loaded, latest: &latest };
        let all = NotedDigests::since(None, step.before.as_ref().unwrap_or(&step.state));
        let mut known = FileSet::default();
        restoring.recorded(all.seen(), &mut known)?;
        grounds.extend([with_rest, latest.clone(), known, FileSet::default()]);
        let mut possible: Vec<FileSet> = Vec::new();
        for ground in grounds {
            let mut recorded = ground.clone();
            restoring.recorded(step.noted.seen(), &mut recorded)?;
            restoring.evidence(step.entry(), &mut recorded)?;
            let mut named = ground;
            restoring.evidence(step.entry(), &mut named)?;
            let mut spent = recorded.clone();
            restoring.recorded(step.noted.spent(), &mut spent)?;
            for files in [recorded, named, spent] {
                if !possible.contains(&files) {
                    possible.push(files);
                }
            }
        }
        Ok(possible)
    }
}

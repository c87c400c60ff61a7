//! Reconstructs the files of a task at a step, as far as git and the record contain them.

use super::archive::Archive;
use super::logs::LogBytes;
use super::new_steps::{NewStep, NewSteps, NotedDigests};
use crate::survey::{Error, Loaded, TaskRef, UsableWorkflow};
use orch_base::{ArtifactName, Digest, RepoPath};
use orch_core::decide::HistoryEntry;
use orch_core::record::LogPeek;
use orch_files::{FileSet, Source};
use orch_git::TreeSource;

/// Replaces files by the blobs that records name.
pub(super) struct Restoring<'a> {
    pub task: &'a TaskRef,
    pub archive: &'a Archive<'a>,
    pub loaded: &'a Loaded,
    /// The files of the task in the commit. They show the paths of its artifacts.
    pub latest: &'a FileSet,
}

impl Restoring<'_> {
    /// Writes the evidence of a step into `files`, as far as this clone has its blobs.
    pub(super) fn evidence(&self, entry: &HistoryEntry, files: &mut FileSet) -> Result<(), Error> {
        for (path, digest) in entry.named_files() {
            let (Ok(path), Some(digest)) = (self.task.file(&path), Digest::parse(&digest)) else {
                continue;
            };
            if let Some(bytes) = self.archive.blob(digest)? {
                files.put(path, bytes);
            }
        }
        Ok(())
    }

    /// Writes recorded artifacts into `files`; removes those that were recorded as absent.
    pub(super) fn recorded<'d>(
        &self,
        digests: impl IntoIterator<Item = (&'d ArtifactName, Option<Digest>)>,
        files: &mut FileSet,
    ) -> Result<(), Error> {
        digests
            .into_iter()
            .try_for_each(|(artifact, digest)| self.put(artifact, digest, files))
    }

    /// Puts back what a step used up: each file of an artifact where it was when its phase was left, if that is known.
    fn used_up(&self, step: &NewStep, files: &mut FileSet) -> Result<(), Error> {
        for (artifact, digest) in step.noted.spent() {
            let actors = step.before.iter().flat_map(|before| before.actors.values());
            let left = actors
                .filter_map(|actor| actor.left_files.get(artifact))
                .flatten();
            let names: Vec<&String> = left
                .filter(|(_, left)| Some(**left) == digest)
                .map(|(name, _)| name)
                .collect();
            let bytes = match digest {
                Some(digest) if !names.is_empty() => self.archive.blob(digest)?,
                _ => None,
            };
            match bytes {
                Some(bytes) => {
                    for name in names {
                        files.put(self.task.file(name)?, bytes.to_vec());
                    }
                }
                None => self.put(artifact, digest, files)?,
            }
        }
        Ok(())
    }

    fn put(
        &self,
        artifact: &ArtifactName,
        digest: Option<Digest>,
        files: &mut FileSet,
    ) -> Result<(), Error> {
        let Ok(usable) = self.loaded.usable() else {
            return Ok(());
        };
        let UsableWorkflow { workflow, matcher } = &**usable;
        let Some(index) = workflow
            .artifacts
            .iter()
            .position(|one| one.name == *artifact)
        else {
            return Ok(());
        };
        let is_of = |path: &&RepoPath| {
            let below = self.task.place.name(path).unwrap_or_default();
            matcher.artifacts_of(below).any(|(owner, _)| owner == index)
        };
        let present: Vec<RepoPath> = files.paths().filter(is_of).cloned().collect();
        let bytes = match digest {
            // The digest of several files is not a blob, so the present files stay.
            Some(digest) => match self.archive.blob(digest)? {
                Some(bytes) => Some(bytes),
                None => return Ok(()),
            },
            None => None,
        };
        present.iter().for_each(|path| files.remove(path));
        let usual = || {
            self.task
                .file(workflow.artifacts[index].paths.first()?)
                .ok()
        };
        let place = present
            .first()
            .or_else(|| self.latest.paths().find(is_of))
            .cloned()
            .or_else(usual);
        if let Some((place, bytes)) = place.zip(bytes) {
            files.put(place, bytes);
        }
        Ok(())
    }
}

impl NewSteps<'_> {
    /// The sets of files that the task may have had at a step that does not derive from the files of this
    /// commit: a step of a squash, a step that a rebase moved, or a step of another branch.
    ///
    /// Each set starts with the files after the previous step, those of this commit or a parent, or those
    /// that earlier steps recorded. The evidence and the records of the step then replace the files that they
    /// name.
    ///
    /// # Errors
    ///
    /// A commit or a blob cannot be read.
    pub(super) fn possible_files(
        &self,
        loaded: &Loaded,
        step: &NewStep,
    ) -> Result<Vec<FileSet>, Error> {
        let task = self.task;
        let limit = self.after.setting.config.limit_bytes;
        let read = |source: &dyn Source| FileSet::of(source, &task.place, limit);
        let latest = read(self.after.source)?;
        let mut grounds: Vec<FileSet> = Vec::new();
        for previous in &step.event.after {
            if let Some(files) = self.held_after.borrow().get(previous) {
                grounds.push(files.as_ref().unwrap_or(&latest).clone());
                continue;
            }
            let ends_so = |_: &TreeSource<'_>, log: LogBytes<'_>| {
                LogPeek::new(0, log.bytes).last == Some(*previous)
            };
            if let Some(source) = self.archive.log_before(self.parents, task, ends_so)? {
                grounds.push(read(&source)?);
            }
        }
        for source in self.befores.iter().map(|snapshot| snapshot.source) {
            grounds.push(read(source)?);
        }
        // A file that no step names may be older than the step.
        let evidence = self
            .steps
            .iter()
            .flat_map(|step| step.entry().named_files());
        let evidence: Vec<RepoPath> = evidence
            .filter_map(|(path, _)| task.file(&path).ok())
            .collect();
        let mut with_rest = grounds.first().cloned().unwrap_or_default();
        for path in latest.paths() {
            if with_rest.bytes(path).is_none() || !evidence.contains(path) {
                with_rest.put(
                    path.clone(),
                    latest.bytes(path).unwrap_or_default().to_vec(),
                );
            }
        }
        let restoring = Restoring {
            task,
            archive: self.archive,
            loaded,
            latest: &latest,
        };
        let all = NotedDigests::since(None, step.before.as_deref().unwrap_or(&step.state));
        let nothing = FileSet::empty(self.after.source.format());
        let mut known = nothing.clone();
        restoring.recorded(all.seen(), &mut known)?;
        grounds.extend([with_rest, latest.clone(), known, nothing]);
        let mut possible: Vec<FileSet> = Vec::new();
        for ground in grounds {
            let mut recorded = ground.clone();
            restoring.recorded(step.noted.seen(), &mut recorded)?;
            restoring.evidence(step.entry(), &mut recorded)?;
            let mut named = ground;
            restoring.evidence(step.entry(), &mut named)?;
            let mut spent = recorded.clone();
            restoring.used_up(step, &mut spent)?;
            for files in [recorded, named, spent] {
                if !possible.contains(&files) {
                    possible.push(files);
                }
            }
        }
        Ok(possible)
    }
}

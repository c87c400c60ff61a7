//! Steps whose files were edited by hand after them, in a commit that a squash or an amendment joined with theirs.
//!
//! The bytes that such a step judged are in no commit. What is left of it must still hold: the files as they are here,
//! taken as if they had the digests that the record names, must yield the step. So a verdict that never existed, or one
//! that says something else, does not pass.

use super::new_steps::{NewStep, NewSteps};
use crate::survey::Error;
use orch_base::{ArtifactName, Digest};
use orch_core::decide::{Facts, FileFact};
use orch_files::FileSet;

/// Which of the digests that a step recorded the files had when it was taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RecordedBytes {
    /// Those of its evidence.
    Evidence,
    /// Also those with which it says that phases were entered and left.
    Seen,
    /// Also those that it used up.
    Spent,
}

/// How the files of a step are taken.
#[derive(Debug, Clone, Copy)]
pub(super) struct EditedFiles {
    pub bytes: RecordedBytes,
    /// Whether of an artifact in the evidence only the files in the evidence were there.
    pub is_evidence_alone: bool,
}

impl EditedFiles {
    /// Every way of taking them, the simplest first.
    pub(super) fn ways() -> impl Iterator<Item = Self> {
        let all = [
            RecordedBytes::Evidence,
            RecordedBytes::Seen,
            RecordedBytes::Spent,
        ];
        let ways = |is_evidence_alone| {
            all.map(|bytes| Self {
                bytes,
                is_evidence_alone,
            })
        };
        ways(false).into_iter().chain(ways(true))
    }

    /// Gives the files the digests that the step recorded of them.
    pub(super) fn take(self, step: &NewStep, facts: &mut Facts) {
        let evidence = &step.entry().evidence;
        let digest_of = |file: &FileFact| {
            let (_, digest) = evidence.iter().find(|(name, _)| *name == file.path)?;
            Digest::parse(digest)
        };
        for (artifact, files) in &mut facts.artifacts {
            if self.is_evidence_alone && files.iter().any(|file| digest_of(file).is_some()) {
                files.retain(|file| file.is_tree || digest_of(file).is_some());
            }
            let recorded = self.recorded(step, artifact);
            if recorded == Some(None) {
                files.retain(|file| file.is_tree || digest_of(file).is_some());
            }
            let is_only = files.iter().filter(|file| !file.is_tree).count() == 1;
            for file in files.iter_mut().filter(|file| !file.is_tree) {
                let digest = digest_of(file).or(recorded.flatten().filter(|_| is_only));
                file.digest = digest.or(file.digest);
            }
        }
    }

    /// The digest of an artifact beside the evidence, if the step recorded one; the inner `None` if it was absent.
    fn recorded(self, step: &NewStep, artifact: &ArtifactName) -> Option<Option<Digest>> {
        let is_its = |(name, _): &(&ArtifactName, Option<Digest>)| *name == artifact;
        let spent = || {
            step.noted
                .spent()
                .filter(is_its)
                .last()
                .filter(|_| self.bytes == RecordedBytes::Spent)
        };
        let seen = || {
            step.noted
                .seen()
                .find(is_its)
                .filter(|_| self.bytes != RecordedBytes::Evidence)
        };
        spent().or_else(seen).map(|(_, digest)| digest)
    }
}

impl NewSteps<'_> {
    /// The files that a task may have had at a step before they were edited: those of the parent, with the evidence
    /// of the step and what is new as they are here, unless the parent has the recorded bytes. Returns an error if a
    /// file cannot be read.
    pub(super) fn files_before_edits(&self, step: &NewStep) -> Result<FileSet, Error> {
        let limit = self.after.setting.config.limit_bytes;
        let mut files = FileSet::of(self.before.source, &self.task.place, limit)?;
        let here = FileSet::of(self.after.source, &self.task.place, limit)?;
        let format = self.after.source.format();
        for path in here.paths() {
            let Some(bytes) = here.bytes(path) else {
                continue;
            };
            let name = self.task.place.name(path).unwrap_or_default();
            let evidence = step
                .entry()
                .evidence
                .iter()
                .find(|(named, _)| named == name);
            let is_judged_here = match (evidence, files.bytes(path)) {
                (_, None) => true,
                (None, Some(_)) => false,
                (Some((_, digest)), Some(before)) => {
                    Digest::parse(digest).is_none_or(|digest| format.blob(before) != digest)
                }
            };
            if is_judged_here {
                files.put(path.clone(), bytes.to_vec());
            }
        }
        Ok(files)
    }
}

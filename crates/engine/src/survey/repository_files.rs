//! The files of the repository outside of tasks that artifacts consist of, as they are in the commit that a decision
//! rests on. A recorded step is decided again with those that its event names.

use super::code::CodeClaim;
use super::snapshot::Snapshot;
use super::{CodeAt, Error};
use orch_base::RepoPath;
use orch_core::decide::HistoryEntry;
use orch_core::workflow::{ArtifactPaths, RepositoryFiles, TreePart, Workflow};
use orch_files::{Content, EntryKind, Source};
use orch_git::TreeSource;
use orch_read::{Matcher, RepositoryFile};
use std::collections::BTreeSet;

/// How many files one pattern may match. More are no settings of a program.
const MAX_FILES: usize = 200;

impl Snapshot<'_> {
    /// The files of the repository that the artifacts of a workflow consist of. Returns an error if git cannot be read.
    pub(super) fn repository_files(
        &self,
        workflow: &Workflow,
    ) -> Result<Vec<RepositoryFile>, Error> {
        let (CodeAt::Present(store, Some(commit)) | CodeAt::Commit(store, Some(commit))) =
            self.code
        else {
            return Ok(Vec::new());
        };
        let mut found = Vec::new();
        for artifact in &workflow.artifacts {
            let Some(files) = &artifact.repository else {
                continue;
            };
            let source = store.objects().source_at(commit);
            for (pattern, path) in self.paths_of(files, &source)? {
                found.push(RepositoryFile {
                    artifact: artifact.name.clone(),
                    pattern,
                    content: source.read(&path, self.setting.config.limit_bytes)?,
                    path,
                });
            }
        }
        Ok(found)
    }

    /// The same, as a recorded step saw them, and what of it the commit before the step does not have. Returns an error
    /// if git cannot be read.
    pub(super) fn repository_files_noted(
        &self,
        workflow: &Workflow,
        entry: &HistoryEntry,
    ) -> Result<(Vec<RepositoryFile>, Vec<CodeClaim>), Error> {
        let (CodeAt::Present(store, _) | CodeAt::Commit(store, _)) = self.code else {
            return Ok((Vec::new(), Vec::new()));
        };
        let mut here = self.repository_files(workflow)?;
        let mut found = Vec::new();
        let mut untrue = Vec::new();
        for artifact in &workflow.artifacts {
            let Some(files) = &artifact.repository else {
                continue;
            };
            for noted in entry.files.get(&artifact.name).into_iter().flatten() {
                let path = noted.path.strip_prefix('/').map(RepoPath::new);
                let Some(Ok(path)) = path else { continue };
                let present = here
                    .iter()
                    .position(|file| file.artifact == artifact.name && file.path == path);
                let present = present.map(|at| here.remove(at));
                if let Some(file) = present.clone()
                    && file.content.is_blob(noted.digest)
                {
                    found.push(file);
                    continue;
                }
                untrue.push(CodeClaim::of_file(artifact.name.clone(), noted.digest));
                let content = match store.objects().blob(noted.digest)? {
                    Some(bytes) => Content::Bytes(bytes),
                    // What git does not have here is taken as it is there.
                    None => present.map_or(Content::Absent, |file| file.content),
                };
                found.push(RepositoryFile {
                    artifact: artifact.name.clone(),
                    pattern: files.pattern_of(path.as_str()).unwrap_or_default(),
                    path,
                    content,
                });
            }
        }
        // What is here, and was not there then.
        for file in here {
            let bytes = match &file.content {
                Content::Bytes(bytes) => bytes.as_slice(),
                _ => &[],
            };
            let digest = self.source.format().blob(bytes);
            untrue.push(CodeClaim::of_file(file.artifact, digest));
        }
        Ok((found, untrue))
    }

    /// The paths of a commit that match the patterns, each with the index of the first that it matches. Files of tasks
    /// are none.
    fn paths_of(
        &self,
        files: &RepositoryFiles,
        source: &TreeSource<'_>,
    ) -> Result<Vec<(usize, RepoPath)>, Error> {
        let mut found = Vec::new();
        let mut seen = BTreeSet::new();
        for (index, pattern) in files.patterns().iter().enumerate() {
            let fixed = RepositoryFiles::fixed_part(pattern);
            let Ok(place) = RepoPath::new(fixed) else {
                continue;
            };
            let paths = if fixed == pattern {
                vec![place]
            } else {
                matching(pattern, &place, source)?
            };
            for path in paths {
                let is_file = source
                    .entry_at(&path)?
                    .is_some_and(|entry| entry.kind == EntryKind::File);
                let is_of_task = self.setting.config.roots.part(&path, false) == TreePart::Whole;
                if is_file && !is_of_task && seen.insert(path.clone()) {
                    found.push((index, path));
                }
            }
        }
        Ok(found)
    }
}

/// The files below a directory of a commit that match a glob.
fn matching(
    pattern: &str,
    directory: &RepoPath,
    source: &TreeSource<'_>,
) -> Result<Vec<RepoPath>, Error> {
    let globs = vec![pattern.to_owned()];
    let matcher = Matcher::of_paths(&[ArtifactPaths {
        globs,
        commit: false,
    }]);
    let paths = source.paths_below(directory)?.into_iter();
    let is_meant = |path: &RepoPath| matcher.artifacts_of(path.as_str()).next().is_some();
    Ok(paths.filter(is_meant).take(MAX_FILES).collect())
}

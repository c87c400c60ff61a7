//! Where the file of a task is that is one: in its place, elsewhere, or taken over by a new task under the same id.
//!
//! Tools that keep a task as a file move it to another directory when it is archived, put back to a draft or completed,
//! and give its id to a new task. Nothing of this is a step, so the record stays behind.

use super::setting::Settings;
use super::snapshot::{Reading, Snapshot};
use super::{CodeAt, Error, TaskRef};
use orch_base::{Digest, RepoPath, SingleFile, TaskId};
use orch_core::decide::{OwnFile, Recorded, State};
use orch_core::record::EventLog;
use orch_files::{Content, Source};
use std::collections::BTreeSet;

/// The directories to which such tools move the file of a task, beside the directory of the tasks or in it.
const ELSEWHERE: [&str; 3] = ["archive", "completed", "drafts"];

/// A version of a file that is a task.
struct FileVersion {
    name: String,
    digest: Option<Digest>,
}

impl FileVersion {
    fn is_like(&self, other: &Self) -> bool {
        self.name == other.name && self.digest.is_some() && self.digest == other.digest
    }
}

impl Snapshot<'_> {
    /// What happened to the file of a task since the record last saw it. Returns an error if the source or git cannot be
    /// read.
    pub(super) fn own_file(&self, task: &TaskRef, reading: &Reading) -> Result<OwnFile, Error> {
        let Some(file) = task.place.file() else {
            return Ok(OwnFile::AsRecorded);
        };
        let Recorded::Known(state) = &reading.recorded else {
            return Ok(OwnFile::AsRecorded);
        };
        if state.heads.is_empty() {
            return Ok(OwnFile::AsRecorded);
        }
        let mut present = Vec::new();
        for name in task.own_files(&reading.entries) {
            let facts = reading.observed.facts.artifacts.values().flatten();
            let digest = facts
                .filter(|fact| fact.path == name)
                .find_map(|fact| fact.digest);
            present.push(FileVersion { name, digest });
        }
        let mut known = versions_in(state, file);
        let is_known = present
            .iter()
            .any(|one| known.iter().any(|known| known.is_like(one)));
        if is_known {
            return Ok(OwnFile::AsRecorded);
        }
        if present.is_empty() && task.id.is_archived() {
            return Ok(OwnFile::Gone(None));
        }
        let elsewhere = self.moved_elsewhere(file)?;
        if elsewhere.is_empty() {
            return Ok(OwnFile::AsRecorded);
        }
        if known.is_empty() {
            known = self.committed_with(task)?;
        }
        if present.is_empty() {
            // A draft has an id of its own, and keeps the title.
            let is_it = |path: &&RepoPath| {
                let name = path.name();
                file.has_name(name)
                    || known
                        .iter()
                        .any(|known| has_title_of(name, file, &known.name))
            };
            let to = elsewhere.iter().find(is_it);
            return Ok(to.map_or(OwnFile::AsRecorded, |path| {
                OwnFile::Gone(Some(path.clone()))
            }));
        }
        let is_name_known = |name: &str| known.iter().any(|known| known.name == name);
        for path in elsewhere {
            let name = path.name();
            if !file.has_name(name) {
                continue;
            }
            let moved = FileVersion {
                name: name.to_owned(),
                digest: self.setting.digest_of(self.source, &path)?,
            };
            let is_of_record = known.iter().any(|known| known.is_like(&moved))
                || is_name_known(name) && !present.iter().any(|one| is_name_known(&one.name));
            if is_of_record {
                let present = present.swap_remove(0).name;
                return Ok(OwnFile::Another {
                    present,
                    recorded: path,
                });
            }
        }
        Ok(OwnFile::AsRecorded)
    }

    /// The files to which the one of a task may have been moved.
    fn moved_elsewhere(&self, file: &SingleFile) -> Result<Vec<RepoPath>, Error> {
        let mut found = Vec::new();
        for above in file.directory.parent().iter().chain([&file.directory]) {
            for name in ELSEWHERE {
                let Ok(directory) = above.join(name) else {
                    continue;
                };
                if directory != file.directory {
                    self.add_files_below(&directory, true, &mut found)?;
                }
            }
        }
        Ok(found)
    }

    fn add_files_below(
        &self,
        directory: &RepoPath,
        goes_deeper: bool,
        found: &mut Vec<RepoPath>,
    ) -> Result<(), Error> {
        for child in self.source.children(directory)?.unwrap_or_default() {
            let Ok(path) = directory.join(&child.name) else {
                continue;
            };
            if !child.is_directory {
                found.push(path);
            } else if goes_deeper {
                self.add_files_below(&path, false, found)?;
            }
        }
        Ok(())
    }

    /// The file of a task in the commit that last changed its log.
    fn committed_with(&self, task: &TaskRef) -> Result<Vec<FileVersion>, Error> {
        let CodeAt::Present(store, Some(head)) = self.code else {
            return Ok(Vec::new());
        };
        let found = store
            .history()
            .last_changes(head, &[task.transcript_path()])?
            .pop();
        let Some(commit) = found.flatten() else {
            return Ok(Vec::new());
        };
        let source = store.objects().source_at(Some(commit));
        let mut versions = Vec::new();
        for name in task.own_files(&source.list_task(&task.place)?) {
            let digest = source.blob_at(&task.file(&name)?)?;
            versions.push(FileVersion { name, digest });
        }
        Ok(versions)
    }
}

impl Settings {
    /// Whether a source has the record of a task in the archive that continues from this log, and in place of the task
    /// only the file of another one under the same id. Returns an error if the source cannot be read.
    pub(crate) fn has_other_task_left(
        &self,
        task: &TaskRef,
        log: &[u8],
        source: &dyn Source,
    ) -> Result<bool, Error> {
        if task.place.file().is_none() {
            return Ok(false);
        }
        let Ok(archived) = TaskId::new(task.id.archived()) else {
            return Ok(false);
        };
        let mut goes_on = false;
        for (_, place) in self.places(&archived) {
            let there = source.read_log(&place.transcript_path(), u64::MAX)?;
            goes_on |= there.whole().is_some_and(|there| there.starts_with(log));
        }
        if log.is_empty() || !goes_on {
            return Ok(false);
        }
        let log = EventLog::parse(log).0;
        let named: BTreeSet<&String> = log
            .events()
            .flat_map(|event| &event.entry.evidence)
            .map(|(_, digest)| digest)
            .collect();
        for entry in source.list_task(&task.place)? {
            let Ok(path) = RepoPath::new(&entry.path) else {
                return Ok(false);
            };
            let is_own = task
                .place
                .name(&path)
                .is_some_and(|name| task.place.is_own_file(name));
            let digest = self
                .digest_of(source, &path)?
                .map(|digest| digest.to_string());
            if !is_own || digest.is_none_or(|digest| named.contains(&digest)) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn digest_of(&self, source: &dyn Source, path: &RepoPath) -> Result<Option<Digest>, Error> {
        match source.read(path, self.config.limit_bytes)? {
            Content::Bytes(bytes) => Ok(Some(source.digest(path, &bytes)?)),
            _ => Ok(None),
        }
    }
}

/// The versions of the file of a task that its state names.
fn versions_in(state: &State, file: &SingleFile) -> Vec<FileVersion> {
    let mut versions = Vec::new();
    let left = state
        .actors
        .values()
        .flat_map(|actor| actor.left_files.values())
        .flatten();
    for (name, digest) in left {
        versions.push(FileVersion {
            name: name.clone(),
            digest: Some(*digest),
        });
    }
    for (name, digest) in state.history.iter().flat_map(|entry| &entry.evidence) {
        versions.push(FileVersion {
            name: name.clone(),
            digest: Digest::parse(digest),
        });
    }
    versions.retain(|version| file.has_name(&version.name));
    versions
}

/// Whether a file under another id has the title that the file of the task had.
fn has_title_of(name: &str, file: &SingleFile, known: &str) -> bool {
    let (Some(title), Some(after)) = (file.title(known), &file.after) else {
        return false;
    };
    let before = name
        .strip_suffix(after.as_str())
        .and_then(|name| name.strip_suffix(title));
    !title.is_empty()
        && before.is_some_and(|before| before.ends_with(|sign: char| !sign.is_alphanumeric()))
}

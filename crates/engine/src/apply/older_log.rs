//! Adopts a task that is older than its repository: without a repository, ids are SHA-1, so the log of a task gets
//! the ids of a SHA-256 repository before it is adopted.

use super::advance::lock_directory;
use super::create::Create;
use crate::survey::setting::{OnDisk, Settings};
use crate::survey::{Error, TaskRef};
use orch_base::{Code, Diagnostic, Digest, ObjectFormat, Place};
use orch_core::record::{format_of_log, log_in_format};
use orch_files::{Content, FileSet, Source};
use orch_git::durable;
use std::collections::HashMap;

impl Create<'_> {
    /// Gives the log of an untracked task the ids of this repository, if it has others, and keeps a copy of the old
    /// one. A digest stands for the same content as before, as far as the content is still there. Returns a note if
    /// it did so, and an error if a file cannot be read or the log cannot be written.
    pub(super) fn renew_log_ids(&self, task: &TaskRef) -> Result<Option<Diagnostic>, Error> {
        if self.log_of_other_format(task)?.is_none() {
            return Ok(None);
        }
        let _lock = lock_directory(&self.reader.root, self.wait)?;
        // Another process may have done it meanwhile.
        let Some((log, format)) = self.log_of_other_format(task)? else {
            return Ok(None);
        };
        let known = self.known_digests(task, format)?;
        let Some(renewed) = log_in_format(&log, format, |digest| known.get(&digest).copied())
        else {
            return Ok(None);
        };
        let root = &self.reader.root;
        let path = task.transcript_path();
        // The adoption can still fail, and no commit has the old log.
        self.records.keep_copy(&path, "original")?;
        durable::write_atomic(root, &path.under(root), renewed.as_bytes())?;
        let message =
            format!("the ids in the log were those of another object format, and are {format} now");
        let hint = format!("the log as it was: {path}.original");
        Ok(Some(
            Diagnostic::note(Code::OtherObjectFormat, message)
                .at(Place::file(&path))
                .hint(hint),
        ))
    }

    /// The log of a task whose ids have another format than those of the repository, and the format of the
    /// repository. Returns an error if the log cannot be read.
    fn log_of_other_format(&self, task: &TaskRef) -> Result<Option<(String, ObjectFormat)>, Error> {
        let (content, format) = self.reader.snapshot(|snapshot| {
            let content = snapshot
                .source
                .read(&task.transcript_path(), u64::MAX - 1)?;
            Ok::<_, Error>((content, snapshot.source.format()))
        })?;
        let Content::Bytes(bytes) = content else {
            return Ok(None);
        };
        let log = String::from_utf8(bytes).ok();
        let is_other = |log: &String| format_of_log(log).is_some_and(|own| own != format);
        Ok(log.filter(is_other).map(|log| (log, format)))
    }

    /// The digests of the files of a task, of its artifacts with several files and of its workflow, in the other
    /// format, each with the digest in this one. Outside git the bytes of a file are hashed as they are; in a
    /// repository its clean filters come first.
    fn known_digests(
        &self,
        task: &TaskRef,
        format: ObjectFormat,
    ) -> Result<HashMap<Digest, Digest>, Error> {
        let other = match format {
            ObjectFormat::Sha1 => ObjectFormat::Sha256,
            ObjectFormat::Sha256 => ObjectFormat::Sha1,
        };
        let name = task.workflow.as_str();
        let loaded = self.reader.settings.workflow(name)?;
        let elsewhere = Settings::read(&OnDisk(&self.reader.root), other);
        let mut known = HashMap::new();
        if let (Some(own), Some(older)) = (loaded.workflow(), elsewhere.workflow(name)?.workflow())
        {
            known.insert(older.digest, own.digest);
        }
        let files = self.reader.snapshot(|snapshot| {
            digested(
                snapshot.source,
                task,
                other,
                snapshot.setting.config.limit_bytes,
            )
        })?;
        // The files of an artifact that one of its patterns matches have a digest together.
        let mut groups: HashMap<(usize, usize), Vec<&DigestedFile>> = HashMap::new();
        for file in &files {
            known.insert(file.older, file.own);
            let matcher = loaded.matcher();
            for group in matcher.artifacts_of(&file.name) {
                groups.entry(group).or_default().push(file);
            }
        }
        for group in groups.into_values() {
            let digest = |of: fn(&DigestedFile) -> Digest| {
                let files: Vec<_> = group
                    .iter()
                    .map(|file| (file.name.as_str(), of(file)))
                    .collect();
                Digest::of_files(&files)
            };
            known.insert(digest(|file| file.older), digest(|file| file.own));
        }
        Ok(known)
    }
}

/// A file of a task: its name below the task, and its digests outside git and in the repository.
struct DigestedFile {
    name: String,
    older: Digest,
    own: Digest,
}

/// The files of a task with their digests. Returns an error if they cannot be read or a filter fails.
fn digested(
    source: &dyn Source,
    task: &TaskRef,
    other: ObjectFormat,
    limit: u64,
) -> Result<Vec<DigestedFile>, Error> {
    let files = FileSet::of(source, &task.place, limit)?;
    let known = files
        .paths()
        .filter_map(|path| Some((path, task.place.name(path)?, files.bytes(path)?)));
    let digests = known.map(|(path, name, bytes)| {
        let own = source.digest(path, bytes)?;
        Ok(DigestedFile {
            name: name.to_owned(),
            older: other.blob(bytes),
            own,
        })
    });
    digests.collect()
}

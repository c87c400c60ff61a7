//! Adopts a task that is older than its repository: without a repository, ids are SHA-1, so the log of a task gets
//! the ids of a SHA-256 repository before it is adopted.

use super::Writer;
use crate::base::{Code, Diagnostic, Digest, ObjectFormat, Place};
use crate::record::log_in_format;
use crate::scan::{Content, FileSet};
use crate::store::durable;
use crate::survey::setting::{OnDisk, Setting};
use crate::survey::{Error, TaskRef};
use std::collections::HashMap;

impl Writer<'_> {
    /// Gives the log of an untracked task the ids of this repository, if it has others. A digest stands for the
    /// same content as before, as far as the content is still there. Returns a note if it did so, and an error if
    /// a file cannot be read or the log cannot be written.
    pub(super) fn renew_log_ids(&self, task: &TaskRef) -> Result<Option<Diagnostic>, Error> {
        let path = task.transcript_path();
        let found = self.workspace.snapshot(|snapshot| {
            let log = match snapshot.source.read(&path, u64::MAX - 1)? {
                Content::Bytes(bytes) => String::from_utf8(bytes).ok(),
                _ => None,
            };
            let Some(log) = log else { return Ok(None) };
            let limit = snapshot.setting.config.limit_bytes;
            let files = FileSet::of(snapshot.source, &task.place, limit)?;
            Ok::<_, Error>(Some((log, files, snapshot.source.format())))
        })?;
        let Some((log, files, format)) = found else { return Ok(None) };
        let known = self.known_digests(task, &files, format)?;
        let Some(renewed) = log_in_format(&log, format, |digest| known.get(&digest).copied()) else {
            return Ok(None);
        };
        let root = &self.workspace.root;
        durable::write_atomic(root, &path.under(root), renewed.as_bytes())?;
        let message = format!("the ids in the log were those of another object format, and are {format} now");
        Ok(Some(Diagnostic::note(Code::OtherObjectFormat, message).at(Place::file(&path))))
    }

    /// The digests of the files of a task, of its artifacts with several files and of its workflow, in the other
    /// format, each with the digest in this one.
    fn known_digests(
        &self,
        task: &TaskRef,
        files: &FileSet,
        format: ObjectFormat,
    ) -> Result<HashMap<Digest, Digest>, Error> {
        let other = match format {
            ObjectFormat::Sha1 => ObjectFormat::Sha256,
            ObjectFormat::Sha256 => ObjectFormat::Sha1,
        };
        let name = task.workflow.as_str();
        let loaded = self.workspace.workflow(name)?;
        let elsewhere = Setting::read(&OnDisk(&self.workspace.root), other);
        let mut known = HashMap::new();
        if let (Some(own), Some(older)) = (loaded.workflow(), elsewhere.workflow(name)?.workflow()) {
            known.insert(older.digest, own.digest);
        }
        let mut groups: HashMap<usize, Vec<(&str, &[u8])>> = HashMap::new();
        for path in files.paths() {
            let (Some(below), Some(bytes)) = (task.place.name(path), files.bytes(path)) else { continue };
            known.insert(other.blob(bytes), format.blob(bytes));
            for (artifact, _) in loaded.matcher().iter().flat_map(|matcher| matcher.artifacts_of(below)) {
                groups.entry(artifact).or_default().push((below, bytes));
            }
        }
        for group in groups.into_values() {
            let digest = |format: ObjectFormat| {
                let files: Vec<(&str, Digest)> =
                    group.iter().map(|(path, bytes)| (*path, format.blob(bytes))).collect();
                Digest::of_files(&files)
            };
            known.insert(digest(other), digest(format));
        }
        Ok(known)
    }
}

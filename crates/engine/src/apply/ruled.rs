//! Writes the file of a person's decision, before the transition that it makes due.

use super::orders::{Order, OrderInputs, Orders};
use super::preflight::refuse_link;
use crate::survey::{Error, Sight, TaskRef};
use orch_base::{Code, Diagnostic, Hint, RepoPath};
use orch_core::decide::{Draft, FileWriter, Stamp};
use orch_files::{Directory, io_error};
use orch_git::durable;
use std::io::Write as _;
use std::path::PathBuf;

/// A file that was written for a decision, and what it replaced.
pub(super) struct WrittenDecision {
    root: PathBuf,
    file: PathBuf,
    path: RepoPath,
    before: Option<Vec<u8>>,
    /// Where the replaced contents are kept, if git does not have them.
    kept: Option<PathBuf>,
    /// What was written.
    text: String,
}

impl Orders<'_> {
    /// Writes the files with which an order decides; none if files already decide so, or the order needs none. What
    /// they replace is kept beside them, unless HEAD has it. Returns an error if there is nothing to decide, or a file
    /// cannot be written; then none of them stays.
    pub(super) fn write_decisions(
        &self,
        task: &TaskRef,
        order: &Order,
        stamp: &Stamp,
        given: &OrderInputs<'_>,
    ) -> Result<Vec<WrittenDecision>, Error> {
        if !order.is_ruling() {
            return Ok(Vec::new());
        }
        let sight = self.reader.look(task)?;
        refuse_link(self.reader, &sight)?;
        let mut written = Vec::new();
        for draft in order.drafts(&sight, stamp, given)? {
            match self.write_decision(&sight, draft, stamp) {
                Ok(one) => written.push(one),
                Err(error) => {
                    written.into_iter().rev().for_each(WrittenDecision::undo);
                    return Err(error);
                }
            }
        }
        Ok(written)
    }

    fn write_decision(
        &self,
        sight: &Sight,
        draft: Draft,
        stamp: &Stamp,
    ) -> Result<WrittenDecision, Error> {
        let task = &sight.task;
        let path = task.file(&draft.path)?;
        let file = path.under(&self.reader.root);
        self.refuse_other(&path)?;
        let before = sight.observed.files.iter().find(|known| known.path == path);
        let kept = before.filter(|before| !self.is_in_head(sight, &path, before.digest));
        let kept = kept
            .map(|before| self.keep(&path, &before.bytes))
            .transpose()?;
        let before = before.map(|before| before.bytes.clone());
        let root = self.reader.root.clone();
        Directory::make(&root, durable::parent(&file)).map_err(|source| io_error(&file, source))?;
        durable::write_atomic(&root, &file, draft.text.as_bytes())?;
        // If this process is killed now, the file is still of this person.
        self.reader.see_written(
            task,
            &draft.path,
            &FileWriter {
                ordered: true,
                ..stamp.writer()
            },
        );
        Ok(WrittenDecision {
            root,
            file,
            path,
            before,
            kept,
            text: draft.text,
        })
    }

    /// Refuses a place for the decision that is behind a link, or that holds something other than a file: what
    /// is there may be anywhere.
    fn refuse_other(&self, path: &RepoPath) -> Result<(), Error> {
        let refuse =
            |what: String| {
                let hint = Hint::from("replace it by a file or directory of the task: ")
                    .command(&["ls", "-l", path.as_str()]);
                Err(Error::new(Code::Symlink, what).with_hint(hint))
            };
        let directory = path.parent().unwrap_or_else(RepoPath::root);
        if self
            .reader
            .snapshot(|snapshot| snapshot.source.is_behind_link(&directory))?
        {
            return refuse(format!(
                "{directory} is behind a link, so no decision is written there"
            ));
        }
        match path.under(&self.reader.root).symlink_metadata() {
            Ok(metadata) if !metadata.is_file() => refuse(format!(
                "{path} is not a regular file, so no decision is written there"
            )),
            _ => Ok(()),
        }
    }

    fn is_in_head(&self, sight: &Sight, path: &RepoPath, blob: orch_base::Digest) -> bool {
        let store = self.reader.store.as_ref();
        let held = store.map(|store| store.objects().source_at(sight.head_commit()).blob_at(path));
        held.is_some_and(|held| held.is_ok_and(|held| held == Some(blob)))
    }

    /// Keeps the contents of a file beside it, and returns where.
    fn keep(&self, path: &RepoPath, bytes: &[u8]) -> Result<PathBuf, Error> {
        let mut beside = path.under(&self.reader.root).into_os_string();
        beside.push(".replaced");
        let beside = PathBuf::from(beside);
        // A file that is kept already is never overwritten.
        let directory = Directory::open(&self.reader.root, durable::parent(&beside));
        let opened = directory.and_then(|it| it.create_new(beside.file_name().unwrap_or_default()));
        let written =
            opened.and_then(|mut file| file.write_all(bytes).and_then(|()| file.sync_all()));
        written.map_err(|source| match source.kind() {
            std::io::ErrorKind::AlreadyExists => {
                let kept = format!("{path}.replaced");
                let message =
                    format!("{kept} keeps an earlier decision, and {path} would be kept there too");
                let hint =
                    Hint::from("move it away: ").command(&["mv", &kept, &format!("{kept}.old")]);
                Error::new(Code::DecisionKept, message).with_hint(hint)
            }
            _ => io_error(&beside, source),
        })?;
        Ok(beside)
    }
}

impl WrittenDecision {
    /// What the user should know about the replaced file.
    pub(super) fn note(&self) -> Option<Diagnostic> {
        self.kept.as_ref()?;
        let message = format!(
            "{} was replaced; its contents are kept in {0}.replaced",
            self.path
        );
        Some(Diagnostic::note(Code::DecisionReplaced, message))
    }

    /// Puts back what was there. A failure leaves a file that decides nothing by itself.
    pub(super) fn undo(self) {
        if durable::read_regular(&self.file).is_none_or(|now| now != self.text.as_bytes()) {
            // Someone has changed it since.
            return;
        }
        match &self.before {
            Some(before) => drop(durable::write_atomic(&self.root, &self.file, before)),
            None => durable::remove(&self.root, &self.file),
        }
        if let Some(kept) = &self.kept {
            durable::remove(&self.root, kept);
        }
        if self.before.is_none() {
            durable::remove_empty(&self.root, durable::parent(&self.file));
        }
    }
}

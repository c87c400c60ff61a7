//! Writes the draft of a file that a task lacks.

use super::authority::Authority;
use super::orders::usable_state;
use super::preflight::refuse_link;
use super::record_files::{Records, bytes_at};
use crate::survey::{Error, Reader, Sight, TaskRef};
use orch_base::{ArtifactName, Code, Diagnostic, Hint, ObjectFormat, Place, RepoPath, TaskId};
use orch_core::decide::{self, DraftFile, Facts, FileFact, Verdict, evaluate};
use orch_core::workflow::{Artifact, blank};
use orch_files::{Directory, io_error};
use orch_git::durable;
use orch_read::read;
use serde_json::Value;
use std::io::{self, Write as _};
use std::sync::Arc;

/// A draft, and where it belongs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskDraft {
    /// The task.
    pub task: TaskId,
    /// The artifact.
    pub artifact: ArtifactName,
    /// The path of its file.
    pub path: RepoPath,
    /// The text.
    pub text: String,
    /// Where the file is kept that was there, if git does not have it.
    pub kept: Option<RepoPath>,
}

/// Makes drafts of the files that tasks lack.
#[derive(Clone, Copy)]
pub struct Drafts<'w> {
    pub(super) reader: &'w Reader,
    pub(super) authority: Authority<'w>,
    pub(super) records: Records<'w>,
}

impl Drafts<'_> {
    /// The draft of an artifact of a task, or else of the first file that is expected and missing. Returns an error if
    /// there is nothing to make a draft of, or the record cannot be used.
    pub fn of(&self, task: &TaskRef, artifact: Option<&str>) -> Result<TaskDraft, Error> {
        let sight = self.reader.look(task)?;
        self.drafted(&sight, artifact).map(|(drafted, _)| drafted)
    }

    /// The same, written to its file. With `replace` it takes the place of a file that does not count; of that, a copy
    /// is kept unless HEAD has it. Returns an error if another file is there, or the rules would take the draft as
    /// finished.
    pub fn write(
        &self,
        task: &TaskRef,
        artifact: Option<&str>,
        replace: bool,
    ) -> Result<TaskDraft, Error> {
        let sight = self.reader.look(task)?;
        refuse_link(self.reader, &sight)?;
        let (mut drafted, draft) = self.drafted(&sight, artifact)?;
        let name = draft.artifact.as_str();
        let print = ["orch", "draft", task.id.as_str(), name, "--stdout"];
        let refused = |message: String, hint: Hint| {
            Err(Error::new(Code::NothingToDraft, message).with_hint(hint))
        };
        if let Some(blank) = blank(&draft.path) {
            let hint = Hint::from("choose it, and redirect the draft: ")
                .command(&print)
                .text(" > FILE");
            return refused(
                format!(
                    "`{blank}` in {} stands for a name that you choose",
                    drafted.path
                ),
                hint,
            );
        }
        if self.counts_as_finished(&sight, &draft) {
            let message = format!(
                "the rules would take a draft of {} as finished",
                drafted.path
            );
            let hint = Hint::from("write it elsewhere first: ")
                .command(&print)
                .text(" > FILE");
            return refused(message, hint);
        }
        let seen = sight
            .decision
            .artifacts
            .iter()
            .filter(|derived| derived.name == draft.artifact);
        let mut files = seen.flat_map(|derived| &derived.files);
        let present = files.find(|file| file.path == draft.path);
        if present.is_some_and(|file| file.valid && file.not_counted.is_none()) {
            let message = format!("{} already exists, and counts", drafted.path);
            let hint = Hint::from("edit it, or see the draft: ").command(&print);
            return refused(message, hint);
        }
        let file = drafted.path.under(&self.reader.root);
        let written = if replace {
            drafted.kept = self.kept_aside(&drafted.path)?;
            durable::write_atomic(&self.reader.root, &file, drafted.text.as_bytes()).map(|_| ())?;
            Ok(())
        } else {
            let directory = Directory::make(&self.reader.root, durable::parent(&file));
            let opened =
                directory.and_then(|it| it.create_new(file.file_name().unwrap_or_default()));
            opened.and_then(|mut file| file.write_all(drafted.text.as_bytes()))
        };
        match written {
            Ok(()) => {
                self.reader
                    .see_written(task, &draft.path, &self.authority.stamp().writer());
                Ok(drafted)
            }
            Err(source) if source.kind() == io::ErrorKind::AlreadyExists => {
                let why = present.and_then(|file| file.not_counted.as_deref());
                let why = why.map_or(String::new(), |why| format!(", and does not count: {why}"));
                let hint = Hint::from("edit it, or replace it by a draft: ").command(&[
                    "orch",
                    "draft",
                    task.id.as_str(),
                    name,
                    "--force",
                ]);
                refused(format!("{} already exists{why}", drafted.path), hint)
            }
            Err(source) => Err(io_error(&file, source)),
        }
    }

    /// Keeps a copy of a file beside it and returns its path, unless HEAD has the file as it is.
    fn kept_aside(&self, path: &RepoPath) -> Result<Option<RepoPath>, Error> {
        let here = bytes_at(&self.reader.root, path)?;
        let in_head = match &self.reader.store {
            Some(store) => {
                let source = store.objects().source_at(store.refs().head()?.commit);
                source
                    .blob_at(path)?
                    .map(|blob| store.objects().blob(blob))
                    .transpose()?
                    .flatten()
            }
            None => None,
        };
        if in_head.is_some_and(|committed| committed == here) {
            return Ok(None);
        }
        let kept = self.records.keep_copy(path, "old")?;
        let name = kept
            .as_deref()
            .and_then(|kept| kept.strip_prefix(&self.reader.root).ok()?.to_str());
        Ok(name.and_then(|name| RepoPath::new(name).ok()))
    }

    fn drafted(
        &self,
        sight: &Sight,
        artifact: Option<&str>,
    ) -> Result<(TaskDraft, DraftFile), Error> {
        let state = usable_state(sight)?;
        let facts = &sight.observed.facts;
        let draft = decide::draft(
            sight.workflow(),
            &state,
            facts,
            artifact,
            &self.authority.stamp(),
        )?;
        let drafted = TaskDraft {
            task: sight.task.id.clone(),
            artifact: draft.artifact.clone(),
            path: sight.task.file(&draft.path)?,
            text: draft.text.clone(),
            kept: None,
        };
        Ok((drafted, draft))
    }

    /// Whether the task would move on with a draft as it is: its schema, or the rules, do not tell it from a finished
    /// file.
    fn counts_as_finished(&self, sight: &Sight, draft: &DraftFile) -> bool {
        let workflow = sight.workflow();
        let Some(artifact) = workflow.artifact(&draft.artifact) else {
            return false;
        };
        let mut facts = sight.observed.facts.clone();
        self.put(&mut facts, artifact, draft, workflow.digest.format());
        let moves = |facts: &Facts| {
            matches!(
                evaluate(workflow, &sight.recorded, facts).verdict,
                Verdict::Transition(_)
            )
        };
        moves(&facts) && !moves(&sight.observed.facts)
    }

    fn put(&self, facts: &mut Facts, artifact: &Artifact, draft: &DraftFile, format: ObjectFormat) {
        let Ok(path) = RepoPath::new(&draft.path) else {
            return;
        };
        let (data, problems) = self.read_as(artifact, &path, draft.text.as_bytes());
        let files = facts.artifacts.entry(artifact.name.clone()).or_default();
        files.retain(|file| file.path != draft.path);
        files.push(FileFact {
            pattern: 0,
            is_tree: false,
            path: draft.path.clone(),
            digest: Some(format.blob(draft.text.as_bytes())),
            data: data.map(Arc::new),
            problems,
            writers: Vec::new(),
        });
    }

    /// The value of some bytes as a file of an artifact, and what is wrong with them.
    fn read_as(
        &self,
        artifact: &Artifact,
        path: &RepoPath,
        bytes: &[u8],
    ) -> (Option<Value>, Vec<Diagnostic>) {
        let found = read(artifact.format, path, bytes);
        let mut problems = found.problems;
        if let (Some(data), Some(schema)) = (&found.data, &artifact.schema) {
            let schemas = &self.reader.settings.schemas;
            problems.extend(schemas.validate(schema, data, path, artifact.format, bytes));
        }
        (found.data, problems)
    }

    /// What is wrong with a text as the file of an artifact of a task; also that it says the same as the example of its
    /// schema. Returns an error if there is no such artifact, or the record cannot be used.
    pub fn problems(
        &self,
        task: &TaskRef,
        artifact: &str,
        text: &str,
    ) -> Result<Vec<Diagnostic>, Error> {
        let sight = self.reader.look(task)?;
        let (drafted, draft) = self.drafted(&sight, Some(artifact))?;
        let Some(artifact) = sight.workflow().artifact(&draft.artifact) else {
            return Ok(Vec::new());
        };
        let (data, mut problems) = self.read_as(artifact, &drafted.path, text.as_bytes());
        let is_unfilled = match (&data, &artifact.schema) {
            (Some(data), Some(schema)) => schema.is_example(data),
            _ => false,
        };
        if is_unfilled {
            let message = format!(
                "`{}` says the same as the example of its schema",
                artifact.name
            );
            let place = Place::file(&drafted.path);
            problems.push(Diagnostic::error(Code::Unfilled, message).at(place));
        }
        Ok(problems)
    }
}

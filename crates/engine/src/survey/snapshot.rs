//! A source of files together with the settings in it: everything that a decision depends on.
//!
//! The same code finds and observes tasks in the work tree, in the index and in a commit.

use super::costs::Costs;
use super::glance::Glance;
use super::other_glimpse::{KnownOthers, SeesOthers as _};
use super::setting::{CORRECT_HEAD, Settings};
use super::{BaseOf, CodeAt, Error, Loaded, TaskRef, UsableWorkflow};
use orch_base::{Code, Diagnostic, Digest, Hint, Place, RepoPath};
use orch_core::decide::{
    Conflict, ImportFault, Original, Recorded, State, WHY, import_of, refused_import, rename_side,
};
use orch_core::record::{
    EventLog, KnownLog, LogFault, LogPart, LogPeek, RecordReading, StateDefect, StateFault,
    StateText, TRANSCRIPT_FILE, believed_state, read_record, sides,
};
use orch_core::workflow::Workflow;
use orch_files::{Entry, LogEnd, ObservedLog, Source};
use orch_git::Store;
use orch_read::{
    Observed, ReadLimits, RepositoryFile, ValidationCache, conflict, observe, parse_json,
};
use serde_json::Value;
use std::borrow::Cow;
use std::cell::RefCell;
use std::sync::Arc;

/// One source, and the settings in it.
#[derive(Clone, Copy)]
pub(crate) struct Snapshot<'a> {
    pub setting: &'a Settings,
    pub source: &'a dyn Source,
    pub validations: &'a ValidationCache,
    /// The code that was committed at that time.
    pub code: CodeAt<'a>,
    /// The counters, if reads are counted.
    pub costs: Option<&'a Costs>,
    /// The cache of the log that was read last; `None` where each log is read once.
    pub known_log: Option<&'a RefCell<KnownLog>>,
    /// What the series of looks has read of other tasks; `None` where each look reads anew.
    pub others: Option<&'a KnownOthers>,
}

/// What [`parse_json`] makes of `state.json`; nothing if there is no such file.
type StateJson = (Option<Value>, Vec<Diagnostic>);

/// What was read of one task.
pub(crate) struct Reading {
    pub compiled: Arc<UsableWorkflow>,
    pub recorded: Recorded,
    pub observed: Observed,
    /// Its files, as listed before any was read.
    pub entries: Vec<Entry>,
}

impl<'a> Snapshot<'a> {
    /// A source of which nothing is counted, and each log is read once.
    pub(crate) fn new(
        setting: &'a Settings,
        source: &'a dyn Source,
        validations: &'a ValidationCache,
        code: CodeAt<'a>,
    ) -> Self {
        Self {
            setting,
            source,
            validations,
            code,
            costs: None,
            known_log: None,
            others: None,
        }
    }
}

impl Snapshot<'_> {
    /// The files of a task. Returns an error if they cannot be listed.
    pub(super) fn list(&self, task: &TaskRef) -> Result<Vec<Entry>, Error> {
        let entries = self.source.list_task(&task.place)?;
        self.costs.inspect(|costs| costs.listed(entries.len()));
        Ok(entries)
    }

    /// Lists a task's files and reads each once, by the workflow that its state names, or else its root's. Returns an
    /// error if the source cannot be read or the workflow cannot be used.
    pub(crate) fn observe(&self, task: &TaskRef, log_end: u64) -> Result<Reading, Error> {
        self.observe_listed(task, self.list(task)?, log_end)
    }

    /// The same, with the files already listed.
    pub(super) fn observe_listed(
        &self,
        task: &TaskRef,
        entries: Vec<Entry>,
        log_end: u64,
    ) -> Result<Reading, Error> {
        let glance = Glance::of(self.source, self.costs, &task.place, entries);
        let path = task.state_path();
        let bytes = glance.state(&path, self.setting.config.limit_bytes)?;
        let state = bytes
            .as_deref()
            .map_or_else(StateJson::default, |bytes| parse_json(&path, bytes));
        let named = bytes
            .as_deref()
            .and_then(|bytes| workflow_named_in(bytes, &state, task));
        let mut name = named.unwrap_or_else(|| task.workflow.to_string());
        // The log may name another workflow than the text of the state does.
        for _ in 0..3 {
            let usable = |name: &str| -> Result<_, Error> {
                let loaded = self.setting.workflow(name)?;
                let compiled = Arc::clone(loaded.usable()?);
                Ok((loaded, compiled))
            };
            // The text of the state may be edited; the log says which workflow it is.
            let found = match usable(&name) {
                Err(error) if name != task.workflow.as_str() => match self.workflow_of_log(task)? {
                    None => return Err(self.other_workflow(task, error)),
                    Some(recorded) if recorded == name => Err(error),
                    Some(recorded) => {
                        name = recorded;
                        usable(&name)
                    }
                },
                found => found,
            };
            let (loaded, compiled, former_note) = match found {
                Ok((loaded, compiled)) => (loaded, compiled, None),
                Err(error) => {
                    let Some((loaded, note)) = self.former_workflow(task, &error)? else {
                        return Err(if error.code() == Code::WorkflowMissing {
                            or_renamed(&name, error)
                        } else {
                            error
                        });
                    };
                    let compiled = Arc::clone(loaded.usable()?);
                    (loaded, compiled, Some(note))
                }
            };
            let workflow = &compiled.workflow;
            let within = Snapshot {
                source: &glance,
                ..*self
            };
            let limits = ReadLimits {
                log_end,
                ..self.setting.limits()
            };
            let repository = self.repository_files(workflow)?;
            let (_, mut observed) = within.observe_within(task, &loaded, &repository, &limits)?;
            refuse_faulty_schema(&observed, self.setting.config.system.as_str())?;
            observed.facts.diagnostics.extend(former_note);
            let recorded = match within.recorded_by_end(task, workflow, &state, &mut observed)? {
                Some(state) => Recorded::Known(Box::new(state)),
                None => {
                    let (recorded, notes) = self.recorded(task, workflow, &state, &observed);
                    observed.facts.diagnostics.extend(notes);
                    recorded
                }
            };
            observed.facts.others = self.look_at_others(task, workflow, &recorded)?;
            self.look_at_code(task, workflow, &recorded, BaseOf::Branch, &mut observed)?;
            self.look_at_writers(task, workflow, &recorded, &mut observed)?;
            within.look_at_settings(task, workflow, &recorded, &mut observed)?;
            if let Some(fault) = &observed.facts.inputs.fault {
                let message = format!(
                    "{fault}, so everything that `[require]` can ask for counts as required"
                );
                let finding =
                    Diagnostic::warning(Code::ConfigUnreadable, message).hint(CORRECT_HEAD);
                observed.facts.diagnostics.push(finding);
            }
            if let Recorded::Known(state) = &recorded
                && let Some(named) = state
                    .workflow
                    .as_ref()
                    .filter(|named| named.name.as_str() != name)
                && !(state.foreign && task.is_workflow_chosen)
            {
                name = named.name.to_string();
                continue;
            }
            let mut reading = Reading {
                compiled,
                recorded,
                observed,
                entries: glance.into_entries(),
            };
            reading.observed.facts.own_file = self.own_file(task, &reading)?;
            return Ok(reading);
        }
        let message = format!(
            "the record of `{}` names a different workflow at every read",
            task.id
        );
        Err(Error::new(Code::Unstable, message))
    }

    /// The error about a state of another tool that names a workflow which cannot be used, with the way out.
    fn other_workflow(&self, task: &TaskRef, error: Error) -> Error {
        let names = self.setting.workflow_names().join(", ");
        let hint = Hint::from(format!("choose one of {names}: ")).command(&[
            "orch",
            "new",
            task.id.as_str(),
            "--workflow",
            "WORKFLOW",
        ]);
        let what = format!("{} names a workflow that cannot be used", task.state_path());
        error.within(what).with_hint(hint)
    }

    /// The recorded state of a task according to its own files, and findings about them. Imported data that the
    /// schema of the workflow rejects is a fault of the original.
    fn recorded(
        &self,
        task: &TaskRef,
        workflow: &Workflow,
        state: &StateJson,
        observed: &Observed,
    ) -> (Recorded, Vec<Diagnostic>) {
        let (recorded, mut notes) = match self.known_log {
            Some(known) => recorded(task, workflow, (state, observed), &mut known.borrow_mut()),
            None => recorded(task, workflow, (state, observed), &mut KnownLog::default()),
        };
        let Recorded::Known(state) = &recorded else {
            return (recorded, notes);
        };
        let (Some(original), Some(file)) = (&state.original, &observed.state) else {
            return (recorded, notes);
        };
        let path = task.state_path();
        let text = String::from_utf8_lossy(&file.bytes);
        let faults = self.refused_import(workflow, state, &text);
        if faults.is_empty() {
            notes.push(import_note(task, &path, original));
            return (recorded, notes);
        }
        let faults = faults
            .into_iter()
            .map(|fault| import_fault(&path, &text, fault));
        (Recorded::Broken(faults.collect()), notes)
    }

    /// What the schema of the state says against imported data.
    fn refused_import(&self, workflow: &Workflow, state: &State, text: &str) -> Vec<ImportFault> {
        let Some(schema) = &workflow.state.schema else {
            return Vec::new();
        };
        let Ok(original) = serde_json::from_str(text) else {
            return Vec::new();
        };
        let Some(map) = import_of(workflow, &original) else {
            return Vec::new();
        };
        let problems = self
            .setting
            .schemas
            .refuses(schema, &Value::Object(state.extra.clone()));
        let named = problems
            .into_iter()
            .map(|problem| (problem.pointer, problem.message));
        refused_import(map, &original, named)
    }

    /// The workflow that the last event of a task's log names; `None` if there is no event.
    fn workflow_of_log(&self, task: &TaskRef) -> Result<Option<String>, Error> {
        let log = self.source.read_log(&task.transcript_path(), u64::MAX)?;
        let (log, _) = EventLog::parse(log.whole().unwrap_or_default());
        let heads = log.heads();
        Ok(heads
            .last()
            .and_then(|head| log.get(head))
            .map(|event| event.workflow.name.to_string()))
    }

    /// The recorded state, if the end of the log is enough to believe `state.json`. Otherwise reads the whole log.
    fn recorded_by_end(
        &self,
        task: &TaskRef,
        workflow: &Workflow,
        state: &StateJson,
        observed: &mut Observed,
    ) -> Result<Option<State>, Error> {
        let Some(end) = observed.log.end() else {
            return Ok(None);
        };
        if let Some(state) = believed_by_end(workflow, state, observed, end)
            && let Some(held) = self.agreeing(task, observed, end)?
        {
            observed.log = ObservedLog::End(LogEnd {
                held,
                ..end.clone()
            });
            return Ok(Some(state));
        }
        observed.log = self.source.read_log(&task.transcript_path(), u64::MAX)?;
        Ok(None)
    }

    /// The blob of the log in HEAD, if HEAD holds the same state and a log of the same size; `Some(None)` if
    /// HEAD holds no log. `None` means that the logs have to be compared in full.
    ///
    /// A state names the size and the last event of its log. Two logs of the same size beside the same state
    /// can therefore differ only by a line that was edited in place, and such an edit is found before a step
    /// is recorded.
    fn agreeing(
        &self,
        task: &TaskRef,
        observed: &Observed,
        end: &LogEnd,
    ) -> Result<Option<Option<Digest>>, Error> {
        let CodeAt::Present(store, head) = self.code else {
            return Ok(Some(None));
        };
        let log = task.transcript_path();
        let state = task.state_path();
        let head = store.objects().source_at(head);
        let Some(held) = head.blob_at(&log)? else {
            return Ok(Some(None));
        };
        let Some(present) = &observed.state else {
            return Ok(None);
        };
        let is_same = store.objects().blob_size(held)? == Some(end.length)
            && store.filters().is_stored_as_is(&log, &end.bytes)?
            && head.blob_at(&state)? == Some(store.filters().digest(&state, &present.bytes)?);
        Ok(is_same.then_some(Some(held)))
    }

    /// Reads a task's files by a given workflow, with these files of the repository. Returns an error if the source
    /// cannot be read or the workflow cannot be used.
    pub(super) fn observe_within<'l>(
        &self,
        task: &TaskRef,
        loaded: &'l Loaded,
        repository: &[RepositoryFile],
        limits: &ReadLimits,
    ) -> Result<(&'l Workflow, Observed), Error> {
        let UsableWorkflow { workflow, matcher } = &**loaded.usable()?;
        let observed = observe(
            self.source,
            workflow,
            matcher,
            &self.setting.schemas,
            self.validations,
            &task.id,
            &task.place,
            repository,
            limits,
        )?;
        Ok((workflow, observed))
    }
}

/// The same error, with the hint for a document that was renamed.
fn or_renamed(name: &str, error: Error) -> Error {
    let known = match error.hint() {
        Some(hint) => hint.clone().text("; "),
        None => Hint::default(),
    };
    let renamed =
        format!("if its document was renamed: aliases = [\"{name}\"] in [workflow] of the new one");
    error.with_hint(known.text(renamed))
}

/// The first of these that `find` finds.
pub(crate) fn first<T, F>(
    mut of: impl Iterator<Item = T>,
    mut find: impl FnMut(T) -> Result<Option<F>, Error>,
) -> Result<Option<F>, Error> {
    of.find_map(|one| find(one).transpose()).transpose()
}

/// The state in `state.json`, if its seal is unbroken and it names this log.
fn believed_by_end(
    workflow: &Workflow,
    (value, _): &StateJson,
    observed: &Observed,
    end: &LogEnd,
) -> Option<State> {
    let text = std::str::from_utf8(&observed.state.as_ref()?.bytes).ok()?;
    let peek = LogPeek::new(end.length, &end.bytes);
    believed_state(
        workflow,
        StateText {
            text,
            value: Some(value.as_ref()?),
        },
        peek,
    )
}

/// The recorded state of a task according to its own files, and findings about them.
fn recorded(
    task: &TaskRef,
    workflow: &Workflow,
    ((value, problems), observed): (&StateJson, &Observed),
    known: &mut KnownLog,
) -> (Recorded, Vec<Diagnostic>) {
    if observed.log == ObservedLog::Unreadable {
        let place = Place::file(&task.transcript_path());
        let unreadable = Diagnostic::error(
            Code::Unreadable,
            "cannot read this file, which contains the task's record",
        );
        return (
            Recorded::Broken(with_ways_out(task, vec![unreadable.at(place)])),
            Vec::new(),
        );
    }
    let path = task.state_path();
    let bytes = observed.state.as_ref().map(|file| file.bytes.as_slice());
    // The search for what has to be replaced takes much longer than the question whether there is anything.
    let lossy = |bytes| {
        std::str::from_utf8(bytes).map_or_else(|_| String::from_utf8_lossy(bytes), Cow::Borrowed)
    };
    let text = bytes.map(lossy);
    let file = text.as_ref().map(|text| StateText {
        text,
        value: value.as_ref(),
    });
    let log = observed.log.whole();
    let broken = |problems| (Recorded::Broken(with_ways_out(task, problems)), Vec::new());
    match read_record(workflow, file, log, known) {
        RecordReading::New => (Recorded::New, Vec::new()),
        RecordReading::Current(state) | RecordReading::Foreign(state) => {
            (Recorded::Known(state), Vec::new())
        }
        RecordReading::Folded { state, because } => {
            let note = match bytes.and_then(|bytes| conflicted(task, &path, bytes)) {
                Some(found) => Diagnostic {
                    hint: found.hint,
                    ..folded_note(&path, &because)
                },
                None => folded_note(&path, &because),
            };
            let unread = observed
                .state
                .iter()
                .flat_map(|file| file.problems.iter().cloned());
            let joined =
                log.and_then(|log| joined_note(task, &state, &known.read(log).ok()?.0.parts()));
            (
                Recorded::Known(state),
                std::iter::once(note).chain(joined).chain(unread).collect(),
            )
        }
        RecordReading::LogGone => (Recorded::Lost, Vec::new()),
        RecordReading::StateFaults(faults) => {
            let text = text.as_deref().unwrap_or_default();
            broken(
                faults
                    .into_iter()
                    .map(|fault| state_fault(&path, text, fault))
                    .collect(),
            )
        }
        RecordReading::ImportFaults(faults) => {
            let text = text.as_deref().unwrap_or_default();
            broken(
                faults
                    .into_iter()
                    .map(|fault| import_fault(&path, text, fault))
                    .collect(),
            )
        }
        RecordReading::StateUnreadable => {
            let unread = observed.state.iter().flat_map(|file| file.problems.clone());
            let conflicted = bytes.and_then(|bytes| conflicted(task, &path, bytes));
            let found: Vec<Diagnostic> = unread.chain(conflicted).collect();
            broken(if found.is_empty() {
                problems.clone()
            } else {
                found
            })
        }
        RecordReading::LogFaults(faults) => {
            let log = log.unwrap_or_default();
            match conflicted(task, &task.transcript_path(), log) {
                Some(conflicted) => broken(vec![conflicted]),
                None => broken(log_diagnostics(task, log, &faults)),
            }
        }
        RecordReading::Disputed { conflict, .. } => {
            let side = Hint::run(&[
                "orch",
                "resolve",
                task.id.as_str(),
                "--ours",
                "--reason",
                WHY,
            ])
            .text(", or --theirs");
            let (message, hint) = match &conflict {
                Conflict::SeveralTasks { .. } => {
                    let rename = rename_side(&task.id, "--rename-theirs");
                    let hint = Hint::run(&rename)
                        .text(", or --rename-ours; if they are one task: ")
                        .followed_by(side);
                    (conflict.to_string(), hint)
                }
                _ => {
                    let what = "two branches moved this task, and a person must choose one";
                    (format!("{what}: {conflict}"), side)
                }
            };
            let found = Diagnostic::error(conflict.code(), message);
            broken(vec![
                found.at(Place::file(&task.transcript_path())).hint(hint),
            ])
        }
    }
}

/// The state of a task in a commit; `None` if the commit has none that can be read. Returns an error if git
/// cannot be read.
pub(crate) fn state_in(
    store: &Store,
    commit: Digest,
    task: &TaskRef,
    workflow: &Workflow,
) -> Result<Option<State>, Error> {
    let log = store.objects().read_at(commit, &task.transcript_path())?;
    let text = store
        .objects()
        .read_at(commit, &task.state_path())?
        .and_then(|bytes| String::from_utf8(bytes).ok());
    let value: Option<Value> = text
        .as_ref()
        .and_then(|text| serde_json::from_str(text).ok());
    let file = text.as_ref().map(|text| StateText {
        text,
        value: value.as_ref(),
    });
    Ok(
        match read_record(workflow, file, log.as_deref(), &mut KnownLog::default()) {
            RecordReading::Current(state)
            | RecordReading::Foreign(state)
            | RecordReading::Folded { state, .. } => Some(*state),
            _ => None,
        },
    )
}

/// The finding for a state that was folded from the log instead of read from its file.
fn folded_note(path: &RepoPath, because: &StateDefect) -> Diagnostic {
    let place = Place::file(path);
    match because {
        StateDefect::Edited { difference } => {
            let message = format!(
                "this file was edited by hand and is ignored in favour of the log: {difference}"
            );
            Diagnostic::warning(because.code(), message)
                .at(place)
                .hint("the next transition rewrites it")
        }
        StateDefect::Layout => {
            let message = "a formatter changed the layout of this file, but no value";
            Diagnostic::note(because.code(), message)
                .at(place)
                .hint("the next transition rewrites it")
        }
        StateDefect::Missing => {
            let message = format!(
                "{} is missing; orch folded the state from {TRANSCRIPT_FILE}",
                path.name()
            );
            Diagnostic::note(because.code(), message)
        }
        StateDefect::Unreadable | StateDefect::OtherHeads => {
            let message =
                format!("this file is out of date; orch folded the state from {TRANSCRIPT_FILE}");
            Diagnostic::note(because.code(), message).at(place)
        }
    }
}

/// The note that a state joins several tasks that were created apart and seem to be one.
fn joined_note(task: &TaskRef, state: &State, parts: &[LogPart]) -> Option<Diagnostic> {
    if state.heads.len() < 2 || parts.len() < 2 {
        return None;
    }
    let message = "this task was created independently on several branches, under one title; their events are joined";
    let rename = rename_side(&task.id, "--rename-theirs");
    let note =
        Diagnostic::note(Code::CreatedTwice, message).at(Place::file(&task.transcript_path()));
    Some(note.hint(Hint::from("if they are different tasks: ").command(&rename)))
}

fn state_fault(path: &RepoPath, text: &str, fault: StateFault) -> Diagnostic {
    Diagnostic::error(fault.code, fault.message).at(place_in(path, text, fault.pointer))
}

fn import_fault(path: &RepoPath, text: &str, fault: ImportFault) -> Diagnostic {
    let place = place_in(path, text, fault.pointer);
    Diagnostic::error(fault.code, fault.message)
        .at(place)
        .hint(fault.hint)
}

/// The place of the value at a JSON pointer.
fn place_in(path: &RepoPath, text: &str, pointer: String) -> Place {
    let (offset, length) = orch_read::span(text, &pointer).unwrap_or((0, 0));
    let mut place = Place::at(path.as_str(), text, offset, length);
    place.pointer = Some(pointer);
    place
}

/// The note that a state will be imported, and what it has that its workflow has no place for.
fn import_note(task: &TaskRef, path: &RepoPath, original: &Original) -> Diagnostic {
    let (whose, doing) = if original.is_mapped {
        ("an older", "importing")
    } else {
        ("another", "adopting")
    };
    let message = format!(
        "this is the state of {whose} tool; {doing} it leaves out {}",
        original.left_out()
    );
    let hint = Hint::run(&["orch", "new", task.id.as_str()]).text("; the file itself stays in git");
    Diagnostic::note(Code::StateImported, message)
        .at(Place::file(path))
        .hint(hint)
}

/// The faults of a log; `None` if every line is an event whose predecessors are present.
pub(crate) fn log_faults(task: &TaskRef, log: &[u8]) -> Option<Vec<Diagnostic>> {
    let (_, faults) = EventLog::parse(log);
    (!faults.is_empty()).then(|| with_ways_out(task, log_diagnostics(task, log, &faults)))
}

fn log_diagnostics(task: &TaskRef, log: &[u8], faults: &[LogFault]) -> Vec<Diagnostic> {
    let path = task.transcript_path();
    let text = std::str::from_utf8(log).ok();
    let place = |fault: &LogFault| match text {
        Some(text) => {
            let lines = text.split_inclusive('\n');
            let offset = lines.take(fault.line.saturating_sub(1)).map(str::len).sum();
            Place::at(path.as_str(), text, offset, 0)
        }
        None => Place::file(&path),
    };
    let diagnostic =
        |fault: &LogFault| Diagnostic::error(fault.kind.code(), fault.kind.to_string());
    faults
        .iter()
        .map(|fault| diagnostic(fault).at(place(fault)))
        .collect()
}

/// The workflow that a state names, even if it is faulty. With conflict markers, that of the first side.
fn workflow_named_in(bytes: &[u8], (value, _): &StateJson, task: &TaskRef) -> Option<String> {
    let of_faulty: Value;
    let value = match value {
        Some(value) => value,
        None => {
            let text = std::str::from_utf8(bytes).ok()?;
            let sides = sides(text);
            of_faulty =
                serde_json::from_str(sides.as_ref().map_or(text, |sides| sides.ours.as_str()))
                    .ok()?;
            &of_faulty
        }
    };
    let is_foreign = value.get("heads").is_none();
    let named = value
        .get("workflow")
        .filter(|_| !(is_foreign && task.is_workflow_chosen))?;
    let name = named.get("name").or_else(|| is_foreign.then_some(named))?;
    Some(name.as_str()?.to_owned())
}

/// The finding for a file of `orch` with conflict markers.
fn conflicted(task: &TaskRef, path: &RepoPath, bytes: &[u8]) -> Option<Diagnostic> {
    let found = conflict(path, std::str::from_utf8(bytes).ok()?)?;
    Some(found.hint(Hint::run(&["orch", "resolve", task.id.as_str()])))
}

/// An unusable schema is a fault of the workflow and says nothing about any artifact.
fn refuse_faulty_schema(observed: &Observed, system: &str) -> Result<(), Error> {
    let problems = observed
        .facts
        .artifacts
        .values()
        .flatten()
        .flat_map(|file| &file.problems);
    let mut faults = problems.filter(|problem| {
        matches!(
            problem.code,
            Code::SchemaInvalid | Code::SchemaRemoteRef | Code::SchemaCycle
        )
    });
    let Some(fault) = faults.next() else {
        return Ok(());
    };
    let mut fault = fault.clone();
    if let Some(place) = &mut fault.place {
        place.path = format!("{system}/{}", place.path);
    }
    Err(fault.into())
}

fn with_ways_out(task: &TaskRef, mut diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let way = Hint::run(&["git", "restore", "--", task.transcript_path().as_str()]).or(&[
        "orch",
        "recover",
        task.id.as_str(),
    ]);
    for diagnostic in diagnostics
        .iter_mut()
        .filter(|diagnostic| diagnostic.hint.is_none())
    {
        diagnostic.hint = Some(way.clone());
    }
    diagnostics
}

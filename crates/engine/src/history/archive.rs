//! The settings, workflows and records in the commits of history, and the workflows that ship with `orch`.

use super::logs::{LogBytes, LogPool};
use crate::survey::former::workflow_then;
use crate::survey::setting::{InSource, OnDisk, Settings};
use crate::survey::snapshot::Snapshot;
use crate::survey::{CodeAt, Error, Loaded, TaskRef};
use orch_base::{Digest, ObjectFormat, RepoPath, TaskPlace, Timestamp};
use orch_core::config;
use orch_core::decide::{State, WorkflowRef};
use orch_core::record::{RecordReading, phase_key_in, read_foreign, read_state};
use orch_files::{FileSet, Source};
use orch_git::{Store, TreeSource};
use orch_read::ValidationCache;
use serde_json::Value;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::rc::Rc;
use std::sync::Arc;

/// Identifies a setting in git: the blob of `orch.toml` and the tree of the system directory.
type Key = (Option<Digest>, Option<Digest>);

/// The record of a task in a commit: the blobs of its state and of its log.
pub(super) type HeldRecord = (Option<Digest>, Digest);

/// All records of each task in the commits that were replayed.
type HeldRecords = HashMap<RepoPath, HashSet<HeldRecord>>;

/// How many seconds a commit may be dated before its record, because clocks differ.
const SECONDS_OFF: i64 = 24 * 60 * 60;

/// The contents of commits that are read once: settings, with compiled workflows, and logs.
#[derive(Default)]
pub(super) struct ReadOnce {
    by_key: RefCell<BTreeMap<Key, Rc<Settings>>>,
    shipped: OnceCell<Settings>,
    logs: LogPool,
    tasks: RefCell<HashMap<RepoPath, Arc<TaskRef>>>,
}

impl ReadOnce {
    /// Forgets the logs if they are many, between two commits.
    pub(super) fn forget_many(&self) {
        self.logs.forget_many();
    }

    /// The setting that ships with `orch`, without a system directory.
    fn shipped(&self, format: ObjectFormat) -> &Settings {
        // No directory has this name.
        self.shipped
            .get_or_init(|| Settings::read(&OnDisk(Path::new("/dev/null/")), format))
    }
}

/// The history that proofs need beside the two sides of a change.
pub(super) struct Archive<'s> {
    pub(super) store: &'s Store,
    read: &'s ReadOnce,
    held: RefCell<HeldRecords>,
    /// Whether the replay starts at the first commit, so that `held` contains every record.
    from_the_first: bool,
    /// Whether a verdict depends on all earlier commits.
    is_bound_to_order: Cell<bool>,
}

impl<'s> Archive<'s> {
    /// Creates the archive of a repository. `from_the_first` says that every commit is noted, parents first.
    pub(super) fn new(store: &'s Store, read: &'s ReadOnce, from_the_first: bool) -> Self {
        Self {
            store,
            read,
            held: RefCell::default(),
            from_the_first,
            is_bound_to_order: Cell::new(false),
        }
    }

    /// Whether the replay starts at the first commit.
    pub(super) fn is_from_the_first(&self) -> bool {
        self.from_the_first
    }

    /// The noted records; `None` if a verdict depends on commits that were not noted here.
    pub(super) fn into_held(self) -> Option<Vec<(RepoPath, HeldRecord)>> {
        let flat = |(task, records): (RepoPath, HashSet<HeldRecord>)| {
            records
                .into_iter()
                .map(move |record| (task.clone(), record))
        };
        (!self.is_bound_to_order.get())
            .then(|| self.held.into_inner().into_iter().flat_map(flat).collect())
    }

    /// Notes the records of commits that another thread replayed.
    pub(super) fn note_all(&self, held: Vec<(RepoPath, HeldRecord)>) {
        let mut known = self.held.borrow_mut();
        for (task, record) in held {
            known.entry(task).or_default().insert(record);
        }
    }

    /// The pool of all logs that were read.
    pub(super) fn logs(&self) -> &LogPool {
        &self.read.logs
    }

    /// The task as a value that all changes of it share, because a long history has many of each task.
    pub(super) fn shared(&self, task: TaskRef) -> Arc<TaskRef> {
        let mut tasks = self.read.tasks.borrow_mut();
        match tasks.get(task.directory()) {
            Some(known) if **known == task => Arc::clone(known),
            _ => {
                let task = Arc::new(task);
                tasks.insert(task.directory().clone(), Arc::clone(&task));
                task
            }
        }
    }

    /// The settings in a commit. Returns an error if git cannot read them.
    pub(super) fn setting(&self, source: &TreeSource<'_>) -> Result<Rc<Settings>, Error> {
        let object = |path: &RepoPath| -> Result<Option<Digest>, Error> {
            Ok(source.object(path)?.map(|(digest, _)| digest))
        };
        let file = RepoPath::new(config::FILE).ok();
        let file = file.map(|path| object(&path)).transpose()?.flatten();
        // Equal files name the same directory, so any setting with this file shows where it is.
        let known = {
            let by_key = self.read.by_key.borrow();
            by_key
                .iter()
                .find(|((toml, _), _)| *toml == file)
                .map(|(_, setting)| Rc::clone(setting))
        };
        let system = known
            .as_ref()
            .map(|known| object(&known.config.system))
            .transpose()?;
        let found =
            system.and_then(|system| self.read.by_key.borrow().get(&(file, system)).cloned());
        if let Some(setting) = found {
            return Ok(setting);
        }
        let setting = Rc::new(Settings::read(&InSource(source), source.format()).in_full()?);
        let system = object(&setting.config.system)?;
        self.read
            .by_key
            .borrow_mut()
            .insert((file, system), Rc::clone(&setting));
        Ok(setting)
    }

    /// The workflow with this digest in the settings before a step. If these contain no texts of their own,
    /// it may also be one that ships with `orch`.
    pub(super) fn workflow(
        &self,
        before: &Settings,
        name: &str,
        digest: Digest,
    ) -> Option<Arc<Loaded>> {
        let in_setting = |setting: &Settings| {
            let loaded = setting.workflow(name).ok()?;
            loaded
                .workflow()
                .is_some_and(|workflow| workflow.has_digest(digest))
                .then_some(loaded)
        };
        let shipped = || {
            in_setting(self.read.shipped(self.store.objects().format()))
                .filter(|_| !before.has_own_texts)
        };
        in_setting(before).or_else(shipped)
    }

    /// The workflow that an event names, even if a commit before `from` removed its document.
    pub(super) fn removed_workflow(
        &self,
        from: Digest,
        before: &Settings,
        named: &WorkflowRef,
    ) -> Option<Arc<Loaded>> {
        workflow_then(self.store, from, &before.config.system, named).ok()?
    }

    /// The key of the phase in a state, as a workflow of this name says, or else as the state suggests.
    pub(super) fn phase_key(&self, near: &Settings, name: &str, state: &Value) -> String {
        let stated = || phase_key_in(state).unwrap_or("phase").to_owned();
        self.declared_phase_key(near, name).unwrap_or_else(stated)
    }

    /// The key of the phase, as a workflow of this name says.
    pub(super) fn declared_phase_key(&self, near: &Settings, name: &str) -> Option<String> {
        let key =
            |setting: &Settings| Some(setting.workflow(name).ok()?.workflow()?.phase_key.clone());
        key(near).or_else(|| key(self.read.shipped(self.store.objects().format())))
    }

    /// The state of another tool, as the workflow of this name reads it; `None` if it is not one, or cannot be
    /// read.
    pub(super) fn foreign(
        &self,
        near: &Settings,
        name: &str,
        text: &str,
        value: &Value,
    ) -> Option<State> {
        // A state of orch names the events that it folds.
        if value.get("heads").is_some() {
            return None;
        }
        let read = |setting: &Settings| {
            let loaded = setting.workflow(name).ok()?;
            Some(read_foreign(loaded.workflow()?, text, value))
        };
        match read(near).or_else(|| read(self.read.shipped(self.store.objects().format()))) {
            Some(RecordReading::Foreign(state)) => Some(*state),
            Some(_) => None,
            None => read_state(value, text, &self.phase_key(near, name, value)).ok(),
        }
    }

    /// The bytes of a blob; `None` if this clone does not have it. Returns an error if git cannot read it.
    pub(super) fn blob(&self, digest: Digest) -> Result<Option<Vec<u8>>, Error> {
        self.store.objects().blob(digest)
    }

    /// Makes room for other records: this blob of one is not read again soon.
    pub(super) fn forget_blob(&self, digest: Digest) {
        self.store.objects().forget_blob(digest);
        self.logs().forget_log(digest);
    }

    /// Whether a filter makes the stored bytes of a path differ from those of the file.
    pub(super) fn is_filtered(&self, path: &RepoPath) -> bool {
        self.store.filters().is_filtered(path)
    }

    /// Whether the task is visible in a commit. No check sees what a commit does to a hidden task.
    fn shows(&self, task: &TaskRef, source: &TreeSource<'_>) -> Result<bool, Error> {
        let setting = self.setting(source)?;
        let validations = ValidationCache::default();
        Snapshot::new(&setting, source, &validations, CodeAt::Nowhere)
            .search()
            .shows(task)
    }

    /// Notes the record of a task in a commit. Returns an error if git cannot read it.
    pub(super) fn note(&self, task: &TaskRef, source: &TreeSource<'_>) -> Result<(), Error> {
        if let Some(record) = held(source, task)? {
            self.held
                .borrow_mut()
                .entry(task.directory().clone())
                .or_default()
                .insert(record);
        }
        Ok(())
    }

    /// The newest of `parents` and their ancestors that shows the task with exactly this log and, if `state`
    /// is given, this state. `made` is the earliest time at which the log can have been written. Returns an
    /// error if git cannot read the history.
    pub(super) fn held_by(
        &self,
        parents: &[Digest],
        task: &TaskRef,
        (state, log): (Option<Option<Digest>>, Digest),
        made: Option<Timestamp>,
    ) -> Result<Option<Digest>, Error> {
        let is_it = |held: &HeldRecord| held.1 == log && state.is_none_or(|state| held.0 == state);
        let is_noted = self
            .held
            .borrow()
            .get(task.directory())
            .is_some_and(|held| held.iter().any(is_it));
        if self.from_the_first && !is_noted {
            self.is_bound_to_order.set(true);
            return Ok(None);
        }
        self.ancestor(parents, made, |source| {
            Ok(held(source, task)?.is_some_and(|held| is_it(&held)) && self.shows(task, source)?)
        })
    }

    /// The newest of `parents` and their ancestors that shows the task with the same files as this source.
    /// `made` is the earliest time at which they can have been written. Returns an error if git cannot read
    /// the history.
    pub(super) fn stood(
        &self,
        parents: &[Digest],
        task: &TaskRef,
        made: Option<Timestamp>,
        files: &dyn Source,
    ) -> Result<Option<Digest>, Error> {
        let files = files_in(files, &task.place)?;
        let mut known: HashMap<TaskObjects, bool> = HashMap::new();
        self.ancestor(parents, made, |source| {
            // Unreadable files count as different.
            let is_same = || files_in(source, &task.place).is_ok_and(|held| held == files);
            Ok(*known
                .entry(objects_of(source, &task.place)?)
                .or_insert_with(is_same)
                && self.shows(task, source)?)
        })
    }

    /// Whether a source has a file of the task that neither `commit` nor one of `parents` has so, apart from the state.
    /// Returns an error if git cannot read one of them.
    pub(super) fn brings_files(
        &self,
        parents: &[Digest],
        task: &TaskRef,
        commit: Digest,
        source: &dyn Source,
    ) -> Result<bool, Error> {
        let here = files_in(source, &task.place)?;
        let known = std::iter::once(&commit).chain(parents);
        let known =
            known.map(|known| files_in(&self.store.objects().source_at(*known), &task.place));
        let known = known.collect::<Result<Vec<_>, Error>>()?;
        let state = task.state_path();
        let mut paths = here
            .keys()
            .chain(known.iter().flat_map(BTreeMap::keys))
            .filter(|path| **path != state);
        Ok(paths.any(|path| !known.iter().any(|known| known.get(path) == here.get(path))))
    }

    /// The newest of `parents` and their ancestors that shows the task with a log for which `is_meant` is
    /// true. `is_meant` is called once for each log, with the newest commit that contains it. Returns an
    /// error if git cannot read the history.
    pub(super) fn log_before(
        &self,
        parents: &[Digest],
        task: &TaskRef,
        mut is_meant: impl FnMut(&TreeSource<'s>, LogBytes<'_>) -> bool,
    ) -> Result<Option<TreeSource<'s>>, Error> {
        let path = task.transcript_path();
        let mut seen = HashSet::new();
        let found = self.ancestor(parents, None, |source| {
            let Some((blob, _)) = source
                .object(&path)?
                .filter(|(blob, _)| !seen.contains(blob))
            else {
                return Ok(false);
            };
            if !self.shows(task, source)? {
                return Ok(false);
            }
            seen.insert(blob);
            Ok(self.store.objects().blob(blob)?.is_some_and(|bytes| {
                is_meant(
                    source,
                    LogBytes {
                        blob,
                        bytes: &bytes,
                    },
                )
            }))
        })?;
        Ok(found.map(|commit| self.store.objects().source_at(commit)))
    }

    /// The merge bases of the first of `parents` with each of the others. Returns an error if git cannot find
    /// them.
    pub(super) fn common(&self, parents: &[Digest]) -> Result<Vec<TreeSource<'s>>, Error> {
        let [one, others @ ..] = parents else {
            return Ok(Vec::new());
        };
        let mut bases = Vec::new();
        for other in others {
            bases.extend(self.store.history().merge_bases(*one, *other)?);
        }
        Ok(bases
            .into_iter()
            .map(|base| self.store.objects().source_at(base))
            .collect())
    }

    /// Whether one of `parents` or their ancestors has this blob at this path. Returns an error if git cannot
    /// read the history.
    pub(super) fn held_at(
        &self,
        parents: &[Digest],
        path: &RepoPath,
        blob: Digest,
    ) -> Result<bool, Error> {
        let holds = |source: &TreeSource<'s>| {
            Ok(source.object(path)?.is_some_and(|(held, _)| held == blob))
        };
        Ok(self.ancestor(parents, None, holds)?.is_some())
    }

    /// The newest of `from` and their ancestors for which `is_meant` is true. Skips commits that are clearly
    /// older than `made`.
    fn ancestor(
        &self,
        from: &[Digest],
        made: Option<Timestamp>,
        mut is_meant: impl FnMut(&TreeSource<'s>) -> Result<bool, Error>,
    ) -> Result<Option<Digest>, Error> {
        let since = made.map(|made| Timestamp::from_seconds(made.seconds() - SECONDS_OFF));
        let mut failed = None;
        let found = self.store.history().ancestor(from, since, |source| {
            Ok(is_meant(source).unwrap_or_else(|error| {
                failed.get_or_insert(error);
                true
            }))
        })?;
        failed.map_or(Ok(found), Err)
    }
}

/// Whether a commit holds a state or a log in the directory of a task.
pub(super) fn has_record(source: &TreeSource<'_>, task: &TaskRef) -> Result<bool, Error> {
    let is_there = |path: RepoPath| -> Result<bool, Error> { Ok(source.object(&path)?.is_some()) };
    Ok(is_there(task.transcript_path())? || is_there(task.state_path())?)
}

/// The record of a task in a commit; `None` without a log.
fn held(source: &TreeSource<'_>, task: &TaskRef) -> Result<Option<HeldRecord>, Error> {
    let Some((log, _)) = source.object(&task.transcript_path())? else {
        return Ok(None);
    };
    let state = source.object(&task.state_path())?;
    Ok(Some((state.map(|(state, _)| state), log)))
}

/// The objects that hold the files of a task: the tree of its directory, and the blobs of the file that it is.
pub(super) type TaskObjects = (Option<Digest>, Vec<(String, Option<Digest>)>);

/// The objects that hold the files of a task in a commit. Returns an error if git cannot read it.
pub(super) fn objects_of(source: &TreeSource<'_>, place: &TaskPlace) -> Result<TaskObjects, Error> {
    let object = |path: &RepoPath| -> Result<Option<Digest>, Error> {
        Ok(source.object(path)?.map(|(digest, _)| digest))
    };
    let mut files = Vec::new();
    if let Some(file) = place.file() {
        let children = source.children(&file.directory)?.unwrap_or_default();
        for child in children
            .into_iter()
            .filter(|child| file.has_name(&child.name))
        {
            let path = file.directory.join(&child.name).ok();
            files.push((
                child.name,
                path.map(|path| object(&path)).transpose()?.flatten(),
            ));
        }
    }
    Ok((object(place.directory())?, files))
}

/// The files of a task, with their blob ids.
fn files_in(source: &dyn Source, place: &TaskPlace) -> Result<BTreeMap<RepoPath, Digest>, Error> {
    let files = FileSet::of(source, place, u64::MAX - 1)?;
    let digest = |path: &RepoPath| Some((path.clone(), source.format().blob(files.bytes(path)?)));
    Ok(files.paths().filter_map(digest).collect())
}

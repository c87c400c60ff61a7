//! The settings and workflows of history: as each commit holds them, and as they ship.

use super::audit::Side;
use super::records::{Records, state_in};
use crate::base::{Digest, RepoPath, Timestamp};
use crate::config;
use crate::decide::State;
use crate::record::phase_key_in;
use crate::scan::{FileSet, Source};
use crate::store::{Store, TreeSource};
use crate::survey::setting::{InSource, OnDisk, Setting};
use crate::survey::{Error, Loaded, TaskRef};
use serde_json::Value;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::sync::Arc;

/// What names a setting in git: the blob of `orch.toml` and the tree of the system directory.
type Key = (Option<Digest>, Option<Digest>);

/// The record of a task as a commit held it: the blobs of its state and of its transcript.
pub(super) type HeldRecord = (Digest, Digest);

/// Every record of each task that a commit held, among those that were walked.
pub(super) type HeldRecords = HashMap<RepoPath, HashSet<HeldRecord>>;

/// How much later than its record says a commit may be dated before: clocks differ.
const SECONDS_OFF: i64 = 24 * 60 * 60;

/// The settings that commits hold, each read once, and its workflows compiled once.
#[derive(Default)]
pub(super) struct Settings {
    by_key: RefCell<BTreeMap<Key, Arc<Setting>>>,
    shipped: OnceCell<Setting>,
}

impl Settings {
    /// What ships, nothing laid over it.
    fn shipped(&self) -> &Setting {
        // No directory has this name.
        self.shipped.get_or_init(|| Setting::read(&OnDisk(Path::new("/dev/null/"))))
    }
}

/// Everything that proofs need of history beside the two sides of a change.
pub(super) struct Archive<'s> {
    store: &'s Store,
    settings: &'s Settings,
    held: RefCell<HeldRecords>,
    /// Whether history is walked from its first commit on, so that `held` knows every record.
    from_the_first: bool,
    /// Whether anything was asked that rests on every commit that was walked before.
    is_bound_to_order: Cell<bool>,
}

impl<'s> Archive<'s> {
    /// The archive of a repository. `from_the_first` says that every commit is noted, parents first.
    pub(super) fn new(store: &'s Store, settings: &'s Settings, from_the_first: bool) -> Self {
        Self {
            store,
            settings,
            held: RefCell::default(),
            from_the_first,
            is_bound_to_order: Cell::new(false),
        }
    }

    /// The records that were noted; `None` if what was proven meanwhile might have come out otherwise
    /// after other commits.
    pub(super) fn into_held(self) -> Option<HeldRecords> {
        (!self.is_bound_to_order.get()).then(|| self.held.into_inner())
    }

    /// Notes what was held by commits that were walked elsewhere.
    pub(super) fn note_all(&self, held: HeldRecords) {
        let mut known = self.held.borrow_mut();
        for (task, records) in held {
            known.entry(task).or_default().extend(records);
        }
    }

    /// The settings that a commit holds.
    pub(super) fn setting(&self, source: &TreeSource<'_>) -> Result<Arc<Setting>, Error> {
        let object = |path: &RepoPath| -> Result<Option<Digest>, Error> {
            Ok(source.object(path)?.map(|(digest, _)| digest))
        };
        let file = RepoPath::new(config::FILE).ok();
        let file = file.map(|path| object(&path)).transpose()?.flatten();
        // The same file names the same directory, so any setting of this file will do to find it.
        let known = {
            let by_key = self.settings.by_key.borrow();
            by_key.iter().find(|((toml, _), _)| *toml == file).map(|(_, setting)| Arc::clone(setting))
        };
        let system = known.as_ref().map(|known| object(&known.config.system)).transpose()?;
        let found = system.and_then(|system| self.settings.by_key.borrow().get(&(file, system)).cloned());
        if let Some(setting) = found {
            return Ok(setting);
        }
        let setting = Arc::new(Setting::read(&InSource(source)));
        let system = object(&setting.config.system)?;
        self.settings.by_key.borrow_mut().insert((file, system), Arc::clone(&setting));
        Ok(setting)
    }

    /// The workflow with this digest, if it stood where a step was taken: in the settings before it.
    /// Only where those have no texts of their own may it have come with the program.
    pub(super) fn workflow(&self, before: &Setting, name: &str, digest: Digest) -> Option<Arc<Loaded>> {
        let in_setting = |setting: &Setting| {
            let loaded = setting.workflow(name).ok()?;
            loaded.workflow.as_ref().is_some_and(|workflow| workflow.digest == digest).then_some(loaded)
        };
        let shipped = || in_setting(self.settings.shipped()).filter(|_| !before.has_own_texts);
        in_setting(before).or_else(shipped)
    }

    /// Where a workflow of this name holds the phase of a state; where none is known, by the state itself.
    pub(super) fn phase_key(&self, near: &Setting, name: &str, state: &Value) -> String {
        let key = |setting: &Setting| Some(setting.workflow(name).ok()?.workflow.as_ref()?.phase_key.clone());
        key(near)
            .or_else(|| key(self.settings.shipped()))
            .unwrap_or_else(|| phase_key_in(state).unwrap_or("phase").to_owned())
    }

    /// The bytes of a blob, where this clone has it.
    pub(super) fn blob(&self, digest: Digest) -> Result<Option<Vec<u8>>, Error> {
        self.store.blob(digest)
    }

    /// Whether what git stores of a path is not what a reader of the file sees.
    pub(super) fn is_filtered(&self, path: &RepoPath) -> bool {
        self.store.is_filtered(path)
    }

    /// What a commit holds.
    pub(super) fn source(&self, commit: Digest) -> TreeSource<'s> {
        self.store.tree_source(commit)
    }

    /// Whether a task's record was looked at as this commit holds it.
    pub(super) fn knows(&self, task: &TaskRef, source: &TreeSource<'_>) -> Result<bool, Error> {
        let Some(record) = held(source, &task.state_path()?, &task.transcript_path()?)? else {
            return Ok(true);
        };
        self.is_bound_to_order.set(true);
        Ok(self.held.borrow().get(&task.directory).is_some_and(|held| held.contains(&record)))
    }

    /// Notes what a commit holds of a task's record.
    pub(super) fn note(&self, task: &TaskRef, source: &TreeSource<'_>) -> Result<(), Error> {
        if let Some(record) = held(source, &task.state_path()?, &task.transcript_path()?)? {
            self.held.borrow_mut().entry(task.directory.clone()).or_default().insert(record);
        }
        Ok(())
    }

    /// An ancestor, at or before `parents`, that held exactly this record of a task; with `files`, also
    /// every file of the task as this source holds it. The record was not made before `made`.
    pub(super) fn held_by(
        &self,
        parents: &[Digest],
        task: &TaskRef,
        record: HeldRecord,
        made: Option<Timestamp>,
        files: Option<&dyn Source>,
    ) -> Result<Option<Digest>, Error> {
        let is_noted = self.held.borrow().get(&task.directory).is_some_and(|held| held.contains(&record));
        if self.from_the_first && !is_noted {
            self.is_bound_to_order.set(true);
            return Ok(None);
        }
        let (state, transcript) = (task.state_path()?, task.transcript_path()?);
        let since = made.map(|made| Timestamp::from_seconds(made.seconds() - SECONDS_OFF));
        let mut same = files.map(|files| SameFiles::new(files, &task.directory)).transpose()?;
        self.store.ancestor(parents, since, |source| {
            if held(source, &state, &transcript)? != Some(record) {
                return Ok(false);
            }
            same.as_mut().map_or(Ok(true), |same| same.are_in(source))
        })
    }

    /// An ancestor that held everything in the directory of a task as this source does.
    pub(super) fn stood(
        &self,
        parents: &[Digest],
        task: &TaskRef,
        files: &dyn Source,
    ) -> Result<Option<Digest>, Error> {
        let mut same = SameFiles::new(files, &task.directory)?;
        self.store.ancestor(parents, None, |source| same.are_in(source))
    }

    /// The ancestors with the records of a task that `fit` best, given state and transcript, newest first.
    pub(super) fn records_before(
        &self,
        parents: &[Digest],
        task: &TaskRef,
        fit: impl Fn(&[u8], &[u8]) -> Option<usize>,
    ) -> Result<Vec<Digest>, Error> {
        let (state, transcript) = (task.state_path()?, task.transcript_path()?);
        let mut seen = HashSet::new();
        let mut best: (usize, Vec<Digest>) = Default::default();
        self.store.ancestor(parents, None, |source| {
            let Some(record) = held(source, &state, &transcript)?.filter(|held| seen.insert(*held)) else {
                return Ok(false);
            };
            let [state, transcript] = [record.0, record.1].map(|blob| self.store.blob(blob));
            let fit = state?.zip(transcript?).and_then(|(state, transcript)| fit(&state, &transcript));
            if let Some((fit, commit)) = fit.zip(source.commit()) {
                if fit > best.0 {
                    best = (fit, Vec::new());
                }
                if fit == best.0 {
                    best.1.push(commit);
                }
            }
            Ok(false)
        })?;
        Ok(best.1)
    }

    /// The states that a record in pieces was made of: those of the nearest ancestors that hold a whole
    /// one, at or before a commit.
    pub(super) fn made_of(&self, task: &TaskRef, commit: Digest) -> Result<Vec<State>, Error> {
        let (mut open, mut seen, mut states) = (vec![commit], HashSet::new(), Vec::new());
        while let Some(commit) = open.pop() {
            if !seen.insert(commit) || !self.store.has(commit) {
                continue;
            }
            let side = Side::new(self, self.store.tree_source(commit))?;
            let Some(bytes) = self.store.read_at(commit, &task.state_path()?)? else { continue };
            match state_in(&bytes, &side.setting, self) {
                Some((state, _)) => states.push(state),
                None => open.extend(self.store.visit(commit)?.parents),
            }
        }
        Ok(states)
    }

    /// The records of a task in the commits that all of these come from.
    pub(super) fn common(&self, task: &TaskRef, parents: &[Digest]) -> Result<Vec<Records>, Error> {
        let [one, others @ ..] = parents else { return Ok(Vec::new()) };
        let mut records = Vec::new();
        for other in others {
            for base in self.store.merge_bases(*one, *other)? {
                records.push(Records::of(task, &self.store.tree_source(base)).unwrap_or_default());
            }
        }
        Ok(records)
    }

    /// Whether an ancestor held this blob at this path.
    pub(super) fn held_at(&self, parents: &[Digest], path: &RepoPath, blob: Digest) -> Result<bool, Error> {
        let found = self.store.ancestor(parents, None, |source| {
            Ok(source.object(path)?.is_some_and(|(object, _)| object == blob))
        })?;
        Ok(found.is_some())
    }

    /// What an ancestor holds whose transcript ends with this line.
    pub(super) fn after_line(
        &self,
        parents: &[Digest],
        task: &TaskRef,
        line: &Value,
    ) -> Result<Option<TreeSource<'s>>, Error> {
        let path = task.transcript_path()?;
        let line = line.to_string();
        let mut known: HashMap<Digest, bool> = HashMap::new();
        let found = self.store.ancestor(parents, None, |source| {
            let Some((blob, _)) = source.object(&path)? else { return Ok(false) };
            if let Some(known) = known.get(&blob) {
                return Ok(*known);
            }
            let bytes = self.store.blob(blob)?.unwrap_or_default();
            let ends_so = String::from_utf8_lossy(&bytes).lines().next_back() == Some(line.as_str());
            known.insert(blob, ends_so);
            Ok(ends_so)
        })?;
        Ok(found.map(|commit| self.store.tree_source(commit)))
    }
}

/// The record of a task that a commit holds; none without a state.
fn held(
    source: &TreeSource<'_>,
    state: &RepoPath,
    transcript: &RepoPath,
) -> Result<Option<HeldRecord>, Error> {
    let Some((state, _)) = source.object(state)? else { return Ok(None) };
    let transcript = source.object(transcript)?;
    Ok(Some((state, transcript.map_or_else(|| Digest::of_blob(b""), |(digest, _)| digest))))
}

/// What lies in a directory, to be looked for in commits.
struct SameFiles<'a> {
    directory: &'a RepoPath,
    files: BTreeMap<RepoPath, Digest>,
    /// The trees that were looked at, and whether they are the same.
    known: HashMap<Option<Digest>, bool>,
}

impl<'a> SameFiles<'a> {
    fn new(source: &dyn Source, directory: &'a RepoPath) -> Result<Self, Error> {
        Ok(Self { directory, files: files_in(source, directory)?, known: HashMap::new() })
    }

    fn are_in(&mut self, source: &TreeSource<'_>) -> Result<bool, Error> {
        let tree = source.object(self.directory)?.map(|(tree, _)| tree);
        if let Some(known) = self.known.get(&tree) {
            return Ok(*known);
        }
        // What cannot be read is not known to be the same.
        let same = files_in(source, self.directory).is_ok_and(|files| files == self.files);
        self.known.insert(tree, same);
        Ok(same)
    }
}

fn files_in(source: &dyn Source, directory: &RepoPath) -> Result<BTreeMap<RepoPath, Digest>, Error> {
    let files = FileSet::of(source, directory, u64::MAX - 1)?;
    let digest = |path: &RepoPath| Some((path.clone(), Digest::of_blob(files.bytes(path)?)));
    Ok(files.paths().filter_map(digest).collect())
}

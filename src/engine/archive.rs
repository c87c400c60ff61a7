//! The settings and workflows of history: as each commit holds them, and as they ship.

use super::setting::{InSource, OnDisk, Setting};
use super::{Error, Loaded, TaskRef};
use crate::base::{Digest, RepoPath};
use crate::config;
use crate::decide::State;
use crate::scan::Source;
use crate::store::{Store, TreeSource};
use serde_json::Value;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::path::Path;
use std::rc::Rc;

/// What names a setting in git: the blob of `orch.toml` and the tree of the system directory.
type Key = (Option<Digest>, Option<Digest>);

/// The record of a task as a commit held it: the blobs of its state and of its transcript.
type Held = (Digest, Digest);

/// Everything that proofs need of history beside the two sides of a change.
pub(super) struct Archive<'s> {
    store: &'s Store,
    shipped: Rc<Setting>,
    settings: RefCell<BTreeMap<Key, Rc<Setting>>>,
    /// Which commit held a record, among those that were walked.
    held: RefCell<HashMap<RepoPath, HashMap<Held, Digest>>>,
    /// What the parents of a commit held whose state is in pieces, by the record in it.
    made_of: RefCell<HashMap<(RepoPath, Held), Vec<State>>>,
    /// Where to look for an ancestor that was not walked.
    older: Option<Digest>,
}

impl<'s> Archive<'s> {
    /// The archive of a repository. `older` is where history that is not walked begins.
    pub(super) fn new(store: &'s Store, older: Option<Digest>) -> Self {
        // No directory has this name, so that nothing is laid over what ships.
        let shipped = Rc::new(Setting::read(&OnDisk(Path::new("/dev/null/"))));
        Self {
            store,
            shipped,
            settings: RefCell::default(),
            held: RefCell::default(),
            made_of: RefCell::default(),
            older,
        }
    }

    /// The settings that a commit holds.
    pub(super) fn setting(&self, source: &TreeSource<'_>) -> Result<Rc<Setting>, Error> {
        let object = |path: &RepoPath| -> Result<Option<Digest>, Error> {
            Ok(source.object(path)?.map(|(digest, _)| digest))
        };
        let file = RepoPath::new(config::FILE).ok();
        let file = file.map(|path| object(&path)).transpose()?.flatten();
        // The same file names the same directory, so any setting of this file will do to find it.
        let known = self
            .settings
            .borrow()
            .iter()
            .find(|((toml, _), _)| *toml == file)
            .map(|(_, setting)| Rc::clone(setting));
        let system = match &known {
            Some(known) => Some(object(&known.config.system)?),
            None => None,
        };
        if let Some(setting) = system.and_then(|system| self.settings.borrow().get(&(file, system)).cloned())
        {
            return Ok(setting);
        }
        let setting = Rc::new(Setting::read(&InSource(source)));
        let system = object(&setting.config.system)?;
        self.settings.borrow_mut().insert((file, system), Rc::clone(&setting));
        Ok(setting)
    }

    /// The workflow with this digest: of these settings, of any commit that was walked, or shipped.
    pub(super) fn workflow(&self, near: &Setting, name: &str, digest: Digest) -> Option<Rc<Loaded>> {
        let in_setting = |setting: &Setting| {
            let loaded = setting.workflow(name).ok()?;
            loaded.workflow.as_ref().is_some_and(|workflow| workflow.digest == digest).then_some(loaded)
        };
        in_setting(near)
            .or_else(|| self.settings.borrow().values().find_map(|setting| in_setting(setting)))
            .or_else(|| in_setting(&self.shipped))
    }

    /// The bytes of a blob, where this clone has it.
    pub(super) fn blob(&self, digest: Digest) -> Result<Option<Vec<u8>>, Error> {
        Ok(self.store.blob(digest)?)
    }

    /// Whether what git stores of a path is not what a reader of the file sees.
    pub(super) fn is_filtered(&self, path: &RepoPath) -> bool {
        self.store.is_filtered(path)
    }

    /// Notes what a commit holds of a task's record.
    pub(super) fn note(&self, commit: Digest, task: &TaskRef, source: &TreeSource<'_>) -> Result<(), Error> {
        let Some((state, _)) = source.object(&task.state_path()?)? else { return Ok(()) };
        let transcript = source.object(&task.transcript_path()?)?;
        let transcript = transcript.map_or_else(|| Digest::of_blob(b""), |(digest, _)| digest);
        let mut held = self.held.borrow_mut();
        held.entry(task.directory.clone()).or_default().entry((state, transcript)).or_insert(commit);
        Ok(())
    }

    /// An ancestor that held exactly this record of a task.
    pub(super) fn held_by(
        &self,
        task: &TaskRef,
        state: Digest,
        transcript: Digest,
    ) -> Result<Option<Digest>, Error> {
        let walked =
            self.held.borrow().get(&task.directory).and_then(|held| held.get(&(state, transcript)).copied());
        match (walked, self.older) {
            (Some(commit), _) => Ok(Some(commit)),
            (None, Some(older)) => Ok(self.store.ancestor_holding(
                older,
                &task.state_path()?,
                state,
                &task.transcript_path()?,
                transcript,
            )?),
            (None, None) => Ok(None),
        }
    }

    /// Notes a state that a record in pieces was made of.
    pub(super) fn note_made_of(&self, task: &TaskRef, record: Held, state: State) {
        self.made_of.borrow_mut().entry((task.directory.clone(), record)).or_default().push(state);
    }

    /// The states that a record in pieces was made of, if it was walked.
    pub(super) fn made_of(&self, task: &TaskRef, record: Held) -> Option<Vec<State>> {
        self.made_of.borrow().get(&(task.directory.clone(), record)).cloned()
    }

    /// The states of a task in the commits that all of these come from.
    pub(super) fn common_states(&self, task: &TaskRef, parents: &[Digest]) -> Result<Vec<Vec<u8>>, Error> {
        let [one, others @ ..] = parents else { return Ok(Vec::new()) };
        let mut states = Vec::new();
        for other in others {
            for base in self.store.merge_bases(*one, *other)? {
                states.extend(self.store.read_at(base, &task.state_path()?)?);
            }
        }
        Ok(states)
    }

    /// What the commit holds that recorded this line of a transcript, among those that were walked.
    pub(super) fn after_line(&self, task: &TaskRef, line: &Value) -> Result<Option<TreeSource<'s>>, Error> {
        let held = self.held.borrow();
        let line = line.to_string();
        for commit in held.get(&task.directory).into_iter().flat_map(HashMap::values) {
            let bytes = self.store.read_at(*commit, &task.transcript_path()?)?.unwrap_or_default();
            if String::from_utf8_lossy(&bytes).lines().next_back() == Some(line.as_str()) {
                return Ok(Some(self.store.tree_source(*commit)));
            }
        }
        Ok(None)
    }

    /// Whether a source holds a task exactly as a commit did.
    pub(super) fn holds_the_same(
        &self,
        commit: Digest,
        task: &TaskRef,
        source: &dyn Source,
    ) -> Result<bool, Error> {
        let then = self.store.tree_source(commit);
        let names = |source: &dyn Source| -> Result<HashSet<String>, Error> {
            Ok(source.list(&task.directory)?.into_iter().map(|entry| entry.path).collect())
        };
        let (before, now) = (names(&then)?, names(source)?);
        if before != now {
            return Ok(false);
        }
        for path in now.iter().filter_map(|path| RepoPath::new(path).ok()) {
            if then.read(&path, u64::MAX - 1)? != source.read(&path, u64::MAX - 1)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

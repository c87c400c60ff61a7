//! Finds the versions of every task in trees, and compares their logs.

use super::setting::{InSource, Settings, Texts};
use super::snapshot::Snapshot;
use super::{CodeAt, Error, Look, Reader, Sight, TaskRef, Workspace};
use orch_base::{Code, Digest, RepoPath, TaskId};
use orch_core::config;
use orch_core::record::EventLog;
use orch_files::ObservedLog;
use orch_git::{Store, TreeSource, tree_id};
use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

/// Where the files and the settings of a version of a task come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Origin {
    /// The work tree with this index: 0 for this one.
    WorkTree(usize),
    /// A commit, with the settings of this index.
    Commit(usize),
}

/// A task as a place has it.
#[derive(Clone)]
pub(super) struct TaskVersion {
    /// The index of the place.
    pub place: usize,
    pub origin: Origin,
    pub found: Rc<FoundTask>,
}

/// A task as a tree has it.
pub(super) struct FoundTask {
    pub task: TaskRef,
    /// The tree that contains its files; of a work tree, that of its HEAD.
    tree: Option<Digest>,
    /// The blob of its log; `None` if there is none.
    log: Option<Digest>,
    /// The index of the settings; of a work tree, those of its HEAD.
    setting: usize,
}

type FoundTasks = Rc<[Rc<FoundTask>]>;

/// The versions of a task whose log no other one continues, and the places of all.
pub(super) struct FurthestVersion {
    /// Its versions with different files, the most important place first.
    pub candidates: Vec<TaskVersion>,
    /// The places with its log.
    pub same: Vec<usize>,
    /// The places whose log it continues.
    pub behind: Vec<usize>,
    /// The other places.
    pub disagreeing: Vec<usize>,
    log: Option<Digest>,
}

/// The place of a version of a task whose log cannot be read, and why.
type UnreadVersion = (usize, TaskId, Error);

/// A search for tasks in all places, with what it has computed for each tree.
pub(super) struct VersionSearch<'s> {
    here: &'s Reader,
    store: &'s Store,
    pub settings: Vec<Rc<Settings>>,
    /// The directory of the texts, by the blob of orch.toml.
    systems: HashMap<Option<Digest>, RepoPath>,
    /// The index of the settings, by the blob of orch.toml and the tree of the texts.
    by_text: HashMap<(Option<Digest>, Option<Digest>), usize>,
    /// The tasks at or below a directory, by the settings and its tree.
    below: HashMap<(usize, RepoPath, Digest), FoundTasks>,
    versions: BTreeMap<TaskId, Vec<TaskVersion>>,
    /// The logs that were read.
    logs: RefCell<HashMap<Digest, Rc<LogText>>>,
}

/// A log that was read, and its events, once they are asked for.
struct LogText {
    bytes: Vec<u8>,
    events: OnceCell<LogEvents>,
}

/// The ids of the events of a log, and whether it consists of nothing else.
struct LogEvents {
    ids: HashSet<Digest>,
    is_whole: bool,
}

impl LogText {
    fn new(bytes: Vec<u8>) -> Rc<Self> {
        Rc::new(Self {
            bytes,
            events: OnceCell::new(),
        })
    }

    fn events(&self) -> &LogEvents {
        self.events.get_or_init(|| {
            let (log, faults) = EventLog::parse(&self.bytes);
            LogEvents {
                ids: log.events().map(|event| event.id).collect(),
                is_whole: faults.is_empty(),
            }
        })
    }

    /// Whether this log contains every event of another one, which must be whole.
    fn continues(&self, shorter: &Self) -> bool {
        // Usually a log has only grown; then nothing has to be parsed.
        self.bytes.starts_with(&shorter.bytes)
            || (shorter.events().is_whole && shorter.events().ids.is_subset(&self.events().ids))
    }
}

impl<'s> VersionSearch<'s> {
    /// A search that has looked nowhere yet. `here` counts the costs.
    pub(super) fn new(here: &'s Reader, store: &'s Store) -> Self {
        Self {
            here,
            store,
            settings: Vec::new(),
            systems: HashMap::new(),
            by_text: HashMap::new(),
            below: HashMap::new(),
            versions: BTreeMap::new(),
            logs: RefCell::default(),
        }
    }

    /// Adds the tasks of a work tree, whose index is that of its place, with HEAD at this commit. Returns the
    /// tasks whose log cannot be read, and an error if its files cannot be listed.
    pub(super) fn work_tree(
        &mut self,
        index: usize,
        workspace: &Workspace,
        head: Option<Digest>,
    ) -> Result<Vec<(TaskId, Error)>, Error> {
        let committed = self.store.objects().source_at(head);
        let setting = self.setting(&committed)?;
        let mut unread = Vec::new();
        for task in workspace.finder().tasks()? {
            let path = task.transcript_path();
            let log = workspace
                .reader
                .snapshot(|snapshot| snapshot.source.read_log(&path, u64::MAX))?;
            let log = match log {
                ObservedLog::Whole(bytes) => {
                    let digest = self.store.filters().digest(&path, &bytes)?;
                    self.logs.get_mut().insert(digest, LogText::new(bytes));
                    Some(digest)
                }
                ObservedLog::Missing => None,
                ObservedLog::Unreadable | ObservedLog::End(_) => {
                    let message = format!("{path} cannot be read");
                    unread.push((task.id, Error::new(Code::StateUnusable, message)));
                    continue;
                }
            };
            let tree = tree_of(&committed, &task)?;
            let found = FoundTask {
                task,
                tree,
                log,
                setting,
            };
            self.add(index, Origin::WorkTree(index), Rc::new(found));
        }
        Ok(unread)
    }

    /// Adds the tasks of a commit. Returns an error if git cannot read it.
    pub(super) fn branch(&mut self, place: usize, source: &TreeSource<'_>) -> Result<(), Error> {
        let index = self.setting(source)?;
        let setting = Rc::clone(&self.settings[index]);
        let mut bases: Vec<&RepoPath> = setting.config.roots.bases().collect();
        bases.sort();
        bases.dedup();
        let mut seen = HashSet::new();
        for base in &bases {
            for found in self.tasks_of_base((index, &setting), source, base)? {
                // The base of a root can be below that of another one.
                if bases.len() == 1 || seen.insert(found.task.directory().clone()) {
                    self.add(place, Origin::Commit(index), found);
                }
            }
        }
        Ok(())
    }

    fn add(&mut self, place: usize, origin: Origin, found: Rc<FoundTask>) {
        let version = TaskVersion {
            place,
            origin,
            found,
        };
        match self.versions.get_mut(&version.found.task.id) {
            Some(versions) => versions.push(version),
            None => drop(
                self.versions
                    .insert(version.found.task.id.clone(), vec![version]),
            ),
        }
    }

    /// The index of the settings in a commit. Settings with the same texts are read once.
    fn setting(&mut self, source: &TreeSource<'_>) -> Result<usize, Error> {
        let Ok(file) = RepoPath::new(config::FILE) else {
            return Ok(0);
        };
        let toml = source.blob_at(&file)?;
        let system = match self.systems.get(&toml) {
            Some(system) => system.clone(),
            None => {
                let text = InSource(source)
                    .text(&file)
                    .ok()
                    .flatten()
                    .unwrap_or_default();
                let system = config::parse(&text, config::FILE).0.system;
                self.systems.insert(toml, system.clone());
                system
            }
        };
        let texts = (toml, tree_id(source.object(&system)?));
        if let Some(known) = self.by_text.get(&texts) {
            return Ok(*known);
        }
        let index = self.settings.len();
        self.settings.push(Rc::new(Settings::read(
            &InSource(source),
            self.store.objects().format(),
        )));
        self.by_text.insert(texts, index);
        Ok(index)
    }

    /// The tasks below the base of a root, by its directories: most branches share most of them.
    fn tasks_of_base(
        &mut self,
        (index, setting): (usize, &Settings),
        source: &TreeSource<'_>,
        base: &RepoPath,
    ) -> Result<Vec<Rc<FoundTask>>, Error> {
        let Some(tree) = tree_id(source.object(base)?) else {
            return Ok(Vec::new());
        };
        if let Some(known) = self.below.get(&(index, base.clone(), tree)) {
            return Ok(known.to_vec());
        }
        let snapshot = self.snapshot(setting, source);
        let mut has_files = setting
            .config
            .roots
            .iter()
            .filter(|root| root.path.base() == base);
        let is_whole = has_files.any(|root| root.path.is_of_files())
            || snapshot.search().task_at(base)?.is_some();
        let mut all = Vec::new();
        if is_whole {
            all = found_below(&snapshot, source, (index, base))?;
        } else {
            for (name, child) in self.store.objects().tree_children(tree)? {
                let (Some(child), Ok(path)) = (child, base.join(&name)) else {
                    continue;
                };
                let key = (index, path, child);
                let found = match self.below.get(&key) {
                    Some(known) => Rc::clone(known),
                    None => {
                        let snapshot = self.snapshot(setting, source);
                        let found: FoundTasks =
                            found_below(&snapshot, source, (index, &key.1))?.into();
                        self.below.insert(key, Rc::clone(&found));
                        found
                    }
                };
                all.extend(found.iter().cloned());
            }
        }
        self.below
            .insert((index, base.clone(), tree), all.clone().into());
        Ok(all)
    }

    /// A commit, to list its tasks.
    fn snapshot<'a>(&'a self, setting: &'a Settings, source: &'a TreeSource<'_>) -> Snapshot<'a> {
        let costs = Some(&*self.here.costs);
        Snapshot {
            costs,
            ..Snapshot::new(setting, source, &self.here.validations, CodeAt::Nowhere)
        }
    }

    /// Looks at a task in a commit. Returns an error if git cannot read it or its workflow cannot be used.
    pub(super) fn look_back(
        &self,
        task: &TaskRef,
        setting: &Settings,
        source: &TreeSource<'_>,
    ) -> Result<Sight, Error> {
        let code = CodeAt::Commit(self.store, source.commit());
        Look::back(
            self.here,
            task,
            &Snapshot {
                code,
                ..self.snapshot(setting, source)
            },
        )
    }

    /// For each task, the versions that are furthest. A task that was moved to the archive, or back, is listed
    /// where its log has gone on. A version whose log git cannot read is left out and is an error.
    pub(super) fn furthest(&self) -> (Vec<(TaskId, FurthestVersion)>, Vec<UnreadVersion>) {
        let mut unread = Vec::new();
        let mut all: BTreeMap<&TaskId, FurthestVersion> = BTreeMap::new();
        for (id, versions) in &self.versions {
            let faults = self.unread_logs(versions);
            let is_read = |version: &&TaskVersion| {
                !faults
                    .iter()
                    .any(|(log, _)| version.found.log == Some(*log))
            };
            let (read, broken): (Vec<&TaskVersion>, Vec<_>) = versions.iter().partition(is_read);
            for version in broken {
                let fault = faults
                    .iter()
                    .find(|(log, _)| version.found.log == Some(*log));
                unread.extend(fault.map(|(_, error)| (version.place, id.clone(), error.clone())));
            }
            if !read.is_empty() {
                all.insert(id, self.furthest_of(&read));
            }
        }
        let is_left = |id: &TaskId, furthest: &FurthestVersion| {
            let twin = twin(id).and_then(|twin| all.get(&twin));
            twin.is_some_and(|twin| {
                twin.log != furthest.log
                    && furthest.log.is_some()
                    && self.continues(twin.log, furthest.log)
            })
        };
        let left: HashSet<TaskId> = all
            .iter()
            .filter(|(id, one)| is_left(id, one))
            .map(|(id, _)| (*id).clone())
            .collect();
        let shown = all.into_iter().filter(|(id, _)| !left.contains(*id));
        (shown.map(|(id, one)| (id.clone(), one)).collect(), unread)
    }

    fn has_twin(&self, id: &TaskId) -> bool {
        twin(id).is_some_and(|twin| self.versions.contains_key(&twin))
    }

    /// The logs of a task that git cannot read. Nothing is read if all versions have one log, or none; unless the
    /// task was moved to the archive, or back, so that its log is compared with that of its twin.
    fn unread_logs(&self, versions: &[TaskVersion]) -> Vec<(Digest, Error)> {
        let logs: HashSet<Digest> = versions
            .iter()
            .filter_map(|version| version.found.log)
            .collect();
        if logs.len() < 2
            && !versions
                .first()
                .is_some_and(|one| self.has_twin(&one.found.task.id))
        {
            return Vec::new();
        }
        logs.into_iter()
            .filter_map(|log| self.log(log).err().map(|error| (log, error)))
            .collect()
    }

    fn furthest_of(&self, versions: &[&TaskVersion]) -> FurthestVersion {
        let mut logs: Vec<Option<Digest>> = Vec::new();
        for version in versions {
            if !logs.contains(&version.found.log) {
                logs.push(version.found.log);
            }
        }
        let mut tops: Vec<Option<Digest>> = Vec::new();
        for log in &logs {
            if !tops.iter().any(|top| self.continues(*top, *log)) {
                tops.retain(|top| !self.continues(*log, *top));
                tops.push(*log);
            }
        }
        // Of logs that disagree, that of the first place.
        let log = logs.into_iter().find(|log| tops.contains(log)).flatten();
        let mut same = Vec::new();
        let mut behind = Vec::new();
        let mut disagreeing = Vec::new();
        let mut candidates = Vec::new();
        let mut trees = HashSet::new();
        for version in versions {
            if version.found.log == log {
                same.push(version.place);
                // What a work tree has stands for what it was checked out from.
                let is_new = trees.insert((version.found.tree, version.found.setting));
                if is_new || matches!(version.origin, Origin::WorkTree(_)) {
                    candidates.push((*version).clone());
                }
            } else if self.continues(log, version.found.log) {
                behind.push(version.place);
            } else {
                disagreeing.push(version.place);
            }
        }
        FurthestVersion {
            candidates,
            same,
            behind,
            disagreeing,
            log,
        }
    }

    /// Whether a log contains every event of another one, which must be whole. A log that this clone does not have
    /// contains none; one that git cannot read was left out before.
    fn continues(&self, longer: Option<Digest>, shorter: Option<Digest>) -> bool {
        match (longer, shorter) {
            (_, None) => true,
            (None, Some(_)) => false,
            (Some(longer), Some(shorter)) if longer == shorter => true,
            (Some(longer), Some(shorter)) => match (self.log(longer), self.log(shorter)) {
                (Ok(Some(longer)), Ok(Some(shorter))) => longer.continues(&shorter),
                _ => false,
            },
        }
    }

    /// A log; `None` if this clone does not have it. Returns an error if git cannot read it.
    fn log(&self, blob: Digest) -> Result<Option<Rc<LogText>>, Error> {
        if let Some(known) = self.logs.borrow().get(&blob) {
            return Ok(Some(Rc::clone(known)));
        }
        let Some(bytes) = self.store.objects().blob(blob)? else {
            return Ok(None);
        };
        let log = LogText::new(bytes);
        self.logs.borrow_mut().insert(blob, Rc::clone(&log));
        Ok(Some(log))
    }
}

/// The id of a task in the archive, or of an archived task outside it.
fn twin(id: &TaskId) -> Option<TaskId> {
    match id.unarchived() {
        Some(open) => TaskId::new(open).ok(),
        None => TaskId::new(id.archived()).ok(),
    }
}

/// The tasks at or below a directory of a commit.
fn found_below(
    snapshot: &Snapshot<'_>,
    source: &TreeSource<'_>,
    (setting, directory): (usize, &RepoPath),
) -> Result<Vec<Rc<FoundTask>>, Error> {
    let found = |task: TaskRef| {
        let log = source.blob_at(&task.transcript_path())?;
        Ok(Rc::new(FoundTask {
            tree: tree_of(source, &task)?,
            log,
            task,
            setting,
        }))
    };
    snapshot
        .search()
        .tasks_below(directory)?
        .into_iter()
        .map(found)
        .collect()
}

/// The tree with the files of a task: that of its directory, or of the directory with the file that it is.
fn tree_of(source: &TreeSource<'_>, task: &TaskRef) -> Result<Option<Digest>, Error> {
    let directory = task
        .place
        .file()
        .map_or(task.directory(), |file| &file.directory);
    Ok(tree_id(source.object(directory)?))
}

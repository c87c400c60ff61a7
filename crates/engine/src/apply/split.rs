//! Gives one of two tasks in one record an id of its own: its events and its files move to a directory of their own,
//! and the record of the other is what it was before git united the two.
//!
//! Where HEAD holds the united record, that is a commit. Otherwise the files are staged, and are part of the merge.

use super::MergeSide;
use super::attempts::CommitAttempts;
use super::authority::Authority;
use super::commit_plan::sign_off;
use super::conflicted::{Conflicts, LogSides};
use super::record_files::{RecordFiles, Records, bytes_at, log_before};
use super::relocate::{Relocate, Relocation, refuse_staged};
use crate::survey::{Error, Look, Reader, Sight, TaskRef, UsableWorkflow};
use orch_base::{Code, Diagnostic, Digest, Hint, Place, RepoPath, TaskId};
use orch_core::decide::{self, Facts, Step};
use orch_core::record::{EventLog, FoldCache, LogFault, LogPart, is_own_file};
use orch_files::{Content, Directory, EntryKind, Source, io_error};
use orch_git::{PlannedCommit, Store, Unmerged, Write, durable};
use orch_read::conflict;
use orch_view::Message;
use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

/// Which of two tasks in one record gets another id.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NewIdFor<'a> {
    /// The side that created it.
    pub side: MergeSide,
    /// Its new id.
    pub id: &'a str,
}

/// Two tasks that have records of their own again.
pub struct SplitRecord {
    /// The task that keeps the id.
    pub kept: Sight,
    /// The task with the new id.
    pub moved: Sight,
    /// Both in words, as they were created.
    pub created_as: [String; 2],
    /// Whether the files are staged.
    pub staged: bool,
    /// The commit, unless the files are staged or nothing is committed here.
    pub commit: Option<Digest>,
    /// The files that are as neither side has them, and stay with the task that keeps the id.
    pub left: Vec<Diagnostic>,
}

/// What is known of the tasks in a united log.
pub(super) struct TaskSides {
    pub parts: Vec<LogPart>,
    /// Which of the parts is ours.
    pub ours: usize,
    /// A commit with our task alone.
    our_commit: Option<Digest>,
    /// Commits with other parts, each with the parts that it has.
    others: Vec<(Digest, BTreeSet<usize>)>,
    /// Whether HEAD holds the united log.
    pub is_committed: bool,
}

/// The files of a task on one side, by name, as git stores them.
type SideFiles = BTreeMap<String, Vec<u8>>;

/// The two tasks of a record, read.
struct ReadSplit {
    sides: TaskSides,
    log: EventLog,
    cache: FoldCache,
    unmerged: Vec<Unmerged>,
    /// The part that gets another id.
    moved: usize,
}

/// What becomes of one file of the task that keeps the id.
struct KeptFile {
    path: RepoPath,
    /// Its bytes as the side of that task has them; `None` if that side has no such file.
    bytes: Option<Vec<u8>>,
    /// The digest of the file in the work tree that this replaces; `None` if that file is another one, and stays.
    on_disk: Option<Digest>,
}

/// Both records and the files, as they are to be written.
struct SplitPlan {
    task: TaskRef,
    place: TaskRef,
    workflow: Arc<UsableWorkflow>,
    kept: RecordFiles,
    step: Step,
    moved: RecordFiles,
    files: Vec<KeptFile>,
    new_files: Vec<(RepoPath, Vec<u8>)>,
    created_as: [String; 2],
    left: Vec<Diagnostic>,
}

impl TaskSides {
    /// The heads of our task, and those of all others.
    pub(super) fn heads(&self, log: &EventLog) -> [Vec<Digest>; 2] {
        let of = |is_ours: bool| {
            let parts = self
                .parts
                .iter()
                .enumerate()
                .filter(|(index, _)| (*index == self.ours) == is_ours);
            log.sorted(parts.flat_map(|(_, part)| part.heads.iter().copied()))
        };
        [of(true), of(false)]
    }

    /// A commit with this part, and without `other`.
    fn commit_of(&self, part: usize, other: usize) -> Option<Digest> {
        if part == self.ours {
            return self.our_commit;
        }
        let has_only = |(_, parts): &&(Digest, BTreeSet<usize>)| {
            parts.contains(&part) && !parts.contains(&other)
        };
        self.others.iter().find(has_only).map(|(commit, _)| *commit)
    }
}

/// Gives the tasks that share one record records of their own.
#[derive(Clone, Copy)]
pub struct Separate<'w> {
    pub(super) reader: &'w Reader,
    pub(super) wait: Option<Duration>,
    pub(super) authority: Authority<'w>,
    pub(super) records: Records<'w>,
    pub(super) conflicts: Conflicts<'w>,
    pub(super) relocate: Relocate<'w>,
}

impl Separate<'_> {
    /// Gives one of two tasks in the record of `task` an id of its own; `None` if the record is of one task.
    ///
    /// Returns an error if the new place is taken or not possible, the record cannot be read, another holds or a process
    /// drives the task, or git permits no commit now.
    pub fn task(&self, task: &TaskRef, which: NewIdFor<'_>) -> Result<Option<SplitRecord>, Error> {
        let store = self.reader.repository_or_refuse()?;
        let Some(read) = self.read_split(store, task, which.side)? else {
            return Ok(None);
        };
        self.relocate.holding.refuse_held(task)?;
        let place = self.relocate.new_home(task, Relocation::Rename(which.id))?;
        let operation = store.refs().operation()?;
        let is_merge = !store.refs().merge_heads()?.is_empty();
        if let Some(operation) = operation.filter(|_| !is_merge || read.sides.is_committed) {
            let message = format!(
                "{} is in progress, and its next commit may bring events of both tasks",
                operation.what
            );
            let hint = Hint::run(&["orch", "resolve", task.id.as_str()])
                .text(" stages their events as they are")
                .then(&operation.next);
            return Err(Error::new(Code::OperationOpen, message).with_hint(hint));
        }
        let files = self.reader.run_files(task);
        let Some(_idle) = files.keep_idle()? else {
            let message = format!("a process drives `{}`, so its files cannot move", task.id);
            return Err(Error::new(Code::Busy, message).with_hint(Hint::run(&[
                "orch",
                "stop",
                task.id.as_str(),
            ])));
        };
        if !(read.sides.is_committed && self.reader.commits()) {
            let split = self.planned_split(store, task, &place, read)?;
            self.stage_split(store, &split)?;
            return self.was_split(split, self.reader.commits(), None).map(Some);
        }
        drop(read);
        let mut attempts = CommitAttempts::within(self.wait);
        loop {
            match self.split_once(store, task, &place, which.side, &mut attempts) {
                Err(error) if attempts.again(&error) => {}
                other => return other,
            }
        }
    }

    fn read_split(
        &self,
        store: &Store,
        task: &TaskRef,
        side: MergeSide,
    ) -> Result<Option<ReadSplit>, Error> {
        let unmerged = store.index().unmerged()?;
        let texts = self.conflicts.log_sides(task, &unmerged)?;
        let lines = match &texts {
            Some(texts) => texts.united(),
            None => log_before(&bytes_at(&self.reader.root, &task.transcript_path())?),
        };
        let (log, faults) = EventLog::parse(&lines);
        if let Some(fault) = faults.first() {
            return Err(unreadable(task, fault));
        }
        if log.heads().len() < 2 {
            return Ok(None);
        }
        let sides = self.conflicts.task_sides(task, &log, texts.as_ref())?;
        let other = (0..sides.parts.len()).find(|index| *index != sides.ours);
        let Some(other) = other else { return Ok(None) };
        let moved = match side {
            MergeSide::Ours => sides.ours,
            MergeSide::Theirs => other,
        };
        Ok(Some(ReadSplit {
            sides,
            log,
            cache: FoldCache::default(),
            unmerged,
            moved,
        }))
    }

    /// Everything to write. Returns an error if a side cannot be read or folded.
    fn planned_split(
        &self,
        store: &Store,
        task: &TaskRef,
        place: &TaskRef,
        read: ReadSplit,
    ) -> Result<SplitPlan, Error> {
        let ReadSplit {
            sides,
            log,
            mut cache,
            unmerged,
            moved,
        } = read;
        let is_moved = |index: &usize| *index == moved;
        let stays: Vec<usize> = (0..sides.parts.len())
            .filter(|index| !is_moved(index))
            .collect();
        let kept = if moved == sides.ours {
            stays.first().copied()
        } else {
            Some(sides.ours)
        };
        let Some(kept) = kept else {
            return Err(Error::moved());
        };
        let [kept_commit, moved_commit] =
            [(kept, moved), (moved, kept)].map(|(part, other)| sides.commit_of(part, other));
        let mut created_as = Vec::new();
        for index in [kept, moved] {
            created_as.push(
                log.created_as(&sides.parts[index], &mut cache)
                    .map_err(|fault| unreadable(task, &fault))?,
            );
        }
        let created_as: [String; 2] = created_as.try_into().map_err(|_| Error::moved())?;
        let kept_ids: HashSet<Digest> = stays
            .iter()
            .flat_map(|index| sides.parts[*index].ids.iter().copied())
            .collect();
        let kept_heads = &sides.parts[kept].heads;
        let kept_record = self.record_of_part(
            (task, &log, &mut cache),
            &kept_ids,
            kept_heads,
            (store, kept_commit),
        )?;
        let part = &sides.parts[moved];
        let workflow = self.workflow_of_events(&log, &part.heads)?;
        let state = log.fold(&workflow.workflow, &part.heads, &mut cache);
        let state = state.map_err(|error| Error::new(Code::CreatedTwice, error.to_string()))?;
        let state = state.map(Arc::unwrap_or_clone).unwrap_or_default();
        let transition = decide::rename(&workflow.workflow, &state, &place.id, None)?;
        let sight = Look::begin(self.reader)?.whole().at(task)?;
        let facts = Facts {
            task: place.id.clone(),
            ..sight.observed.facts.clone()
        };
        let next = decide::apply(
            &workflow.workflow,
            &state,
            &facts,
            &transition,
            &self.authority.stamp(),
        );
        let step = Step {
            transition,
            state: next,
        };
        let records = self.records.record_after(
            &workflow.workflow,
            Some(&state),
            log.lines_of(&part.ids),
            std::slice::from_ref(&step),
        )?;
        let Some(moved_record) = records.into_iter().next_back() else {
            return Err(Error::moved());
        };
        let own = |part: usize| log.lines_of(&sides.parts[part].ids);
        let [kept_files, moved_files] = self.files_of_sides(
            (store, task),
            [(kept_commit, own(kept)), (moved_commit, own(moved))],
            (&unmerged, sides.is_committed, moved == sides.ours),
        )?;
        let (files, left) = self.kept_files(
            (store, task),
            &kept_files,
            &moved_files,
            (&unmerged, sides.is_committed),
        )?;
        let mut new_files = Vec::new();
        for (name, bytes) in moved_files {
            new_files.push((renamed(task, place, &name)?, bytes));
        }
        let task = task.clone();
        let place = place.clone();
        let kept = kept_record;
        let moved = moved_record;
        Ok(SplitPlan {
            task,
            place,
            workflow,
            kept,
            step,
            moved,
            files,
            new_files,
            created_as,
            left,
        })
    }

    /// The record of the task that keeps the id: as its side has it, or else the fold of its events.
    fn record_of_part(
        &self,
        (task, log, cache): (&TaskRef, &EventLog, &mut FoldCache),
        ids: &HashSet<Digest>,
        heads: &[Digest],
        (store, commit): (&Store, Option<Digest>),
    ) -> Result<RecordFiles, Error> {
        let workflow = self.workflow_of_events(log, heads)?;
        let folded = log.fold(&workflow.workflow, heads, cache);
        let folded = folded.map_err(|error| Error::new(Code::CreatedTwice, error.to_string()))?;
        let folded = folded.map(Arc::unwrap_or_clone).unwrap_or_default();
        if let Some(commit) = commit
            && let Some(held) = store.objects().read_at(commit, &task.transcript_path())?
            && let Some(state) = store.objects().read_at(commit, &task.state_path())?
            && EventLog::parse(&held)
                .0
                .events()
                .map(|event| event.id)
                .collect::<HashSet<_>>()
                == *ids
        {
            return Ok(RecordFiles {
                folded,
                log: held,
                state,
            });
        }
        let lines = log.lines_of(ids);
        let state = self.records.state_text(&workflow.workflow, &folded, &lines);
        Ok(RecordFiles {
            folded,
            log: lines,
            state,
        })
    }

    fn workflow_of_events(
        &self,
        log: &EventLog,
        heads: &[Digest],
    ) -> Result<Arc<UsableWorkflow>, Error> {
        let event = heads
            .last()
            .and_then(|head| log.get(head))
            .ok_or_else(Error::moved)?;
        Ok(Arc::clone(
            self.reader
                .settings
                .workflow(event.workflow.name.as_str())?
                .usable()?,
        ))
    }

    /// The files of both sides: those of a commit with that task alone; without one, what the other side has not, and
    /// what the events name.
    fn files_of_sides(
        &self,
        (store, task): (&Store, &TaskRef),
        sides: [(Option<Digest>, Vec<u8>); 2],
        (unmerged, is_committed, is_ours_moved): (&[Unmerged], bool, bool),
    ) -> Result<[SideFiles; 2], Error> {
        let united = || -> Result<SideFiles, Error> {
            match is_committed {
                true => files_in(&store.refs().head_source()?, task),
                false => files_in(&store.index().index_source()?, task),
            }
        };
        let mut found: Vec<Option<SideFiles>> = Vec::new();
        for (commit, _) in &sides {
            found.push(
                commit
                    .map(|commit| files_in(&store.objects().source_at(commit), task))
                    .transpose()?,
            );
        }
        for (index, (commit, lines)) in sides
            .iter()
            .enumerate()
            .filter(|(_, (commit, _))| commit.is_none())
        {
            debug_assert!(commit.is_none(), "a commit says what a side has");
            let mut files = SideFiles::new();
            if let Some(other) = &found[1 - index] {
                files = united()?;
                files.retain(|name, bytes| other.get(name) != Some(bytes));
                // The kept task is first, and the merged side is stage 3.
                let stage = if (index == 1) == is_ours_moved { 1 } else { 2 };
                for one in unmerged {
                    let Some(name) = task.place.name(&one.path).filter(|name| !is_own_file(name))
                    else {
                        continue;
                    };
                    files.remove(name);
                    let blob = one.stages[stage]
                        .map(|blob| store.objects().blob(blob))
                        .transpose()?
                        .flatten();
                    files.extend(blob.map(|bytes| (name.to_owned(), bytes)));
                }
            }
            files.extend(files_of_events(store, lines)?);
            found[index] = Some(files);
        }
        let found: Vec<SideFiles> = found.into_iter().flatten().collect();
        found.try_into().map_err(|_| Error::moved())
    }

    /// What becomes of the files of the task that keeps the id, and a finding for each that is as neither side has it.
    fn kept_files(
        &self,
        (store, task): (&Store, &TaskRef),
        kept: &SideFiles,
        moved: &SideFiles,
        (unmerged, is_committed): (&[Unmerged], bool),
    ) -> Result<(Vec<KeptFile>, Vec<Diagnostic>), Error> {
        let mut files = Vec::new();
        let mut left = Vec::new();
        let names: BTreeSet<&String> = kept.keys().chain(moved.keys()).collect();
        let head = store.refs().head_source()?;
        for name in names {
            let path = task.file(name)?;
            let on_disk = bytes_at(&self.reader.root, &path)?;
            let is_there = path.under(&self.reader.root).symlink_metadata().is_ok();
            let disk = if is_there {
                Some(store.filters().clean(&path, &on_disk)?.into_owned())
            } else {
                None
            };
            let now = match is_committed {
                true => match head.read(&path, u64::MAX - 1)? {
                    Content::Bytes(bytes) => Some(bytes),
                    _ => None,
                },
                false => disk.clone(),
            };
            let is_unmerged = unmerged.iter().any(|one| one.path == path);
            let target = kept.get(name);
            let has_markers = |bytes: &Vec<u8>| {
                std::str::from_utf8(bytes).is_ok_and(|text| conflict(&path, text).is_some())
            };
            let is_theirs = now.as_ref() == moved.get(name) && now.is_some();
            if now.as_ref() == target && !is_unmerged {
                continue;
            }
            if !is_theirs && !now.as_ref().is_some_and(has_markers) && now.as_ref() != target {
                if now.is_some() {
                    let message =
                        "neither of the two tasks had this version of the file; it stays here";
                    let found =
                        Diagnostic::warning(Code::CreatedTwice, message).at(Place::file(&path));
                    left.push(found.hint("look at it, and commit what belongs to this task"));
                }
                continue;
            }
            let is_same = disk == now;
            let on_disk = (is_there && is_same).then(|| store.objects().format().blob(&on_disk));
            files.push(KeptFile {
                path,
                bytes: target.cloned(),
                on_disk,
            });
        }
        Ok((files, left))
    }

    fn stage_split(&self, store: &Store, split: &SplitPlan) -> Result<(), Error> {
        let mut writes: Vec<(RepoPath, Vec<u8>)> = Vec::new();
        for (task, record) in [(&split.task, &split.kept), (&split.place, &split.moved)] {
            writes.push((task.transcript_path(), record.log.clone()));
            writes.push((task.state_path(), record.state.clone()));
        }
        writes.extend(split.new_files.iter().cloned());
        let mut removes = Vec::new();
        for file in &split.files {
            match &file.bytes {
                Some(bytes) => writes.push((file.path.clone(), bytes.clone())),
                None => removes.push(file.path.clone()),
            }
        }
        self.make_directories(&writes)?;
        if self.reader.commits() {
            return store.transactions().settle(&writes, &removes);
        }
        let root = &self.reader.root;
        let placed: Vec<(PathBuf, &[u8])> = writes
            .iter()
            .map(|(path, bytes)| (path.under(root), bytes.as_slice()))
            .collect();
        durable::write_all(root, &placed)?;
        removes
            .iter()
            .for_each(|path| durable::remove(root, &path.under(root)));
        Ok(())
    }

    /// Removes the directories in which the task that keeps the id has no file any more.
    fn remove_empty_directories(&self, split: &SplitPlan) {
        let root = &self.reader.root;
        for file in split.files.iter().filter(|file| file.bytes.is_none()) {
            let mut above = file.path.parent();
            while let Some(directory) =
                above.filter(|above| above.below(split.task.directory()).is_some())
            {
                durable::remove_empty(root, &directory.under(root));
                above = directory.parent();
            }
        }
    }

    fn split_once(
        &self,
        store: &Store,
        task: &TaskRef,
        place: &TaskRef,
        side: MergeSide,
        attempts: &mut CommitAttempts,
    ) -> Result<Option<SplitRecord>, Error> {
        let mut transaction = attempts.begin(store)?;
        let Some(read) = self.read_split(store, task, side)? else {
            return Ok(None);
        };
        refuse_staged(store, task)?;
        let split = self.planned_split(store, task, place, read)?;
        let state = task.state_path();
        let log = task.transcript_path();
        let blob = |path: &RepoPath| -> Result<Option<Digest>, Error> {
            let place = path.under(&self.reader.root);
            let bytes =
                durable::read_if_there(&place).map_err(|source| io_error(&place, source))?;
            Ok(bytes.map(|bytes| store.objects().format().blob(&bytes)))
        };
        let mut writes = vec![
            Write::own(
                state.clone(),
                state.clone(),
                split.kept.state.clone(),
                blob(&state)?,
            ),
            Write::own(
                log.clone(),
                log.clone(),
                split.kept.log.clone(),
                blob(&log)?,
            ),
        ];
        let [new_state, new_log] = [place.state_path(), place.transcript_path()];
        writes.push(Write::own(
            new_state.clone(),
            new_state,
            split.moved.state.clone(),
            None,
        ));
        writes.push(Write::own(
            new_log.clone(),
            new_log,
            split.moved.log.clone(),
            None,
        ));
        for (path, bytes) in &split.new_files {
            writes.push(Write::own(path.clone(), path.clone(), bytes.clone(), None));
        }
        let mut removes = Vec::new();
        for file in &split.files {
            match (&file.bytes, file.on_disk) {
                (None, _) => removes.push(file.path.clone()),
                (Some(bytes), Some(_)) => {
                    let path = file.path.clone();
                    writes.push(Write::own(path.clone(), path, bytes.clone(), file.on_disk));
                }
                (Some(bytes), None) => {
                    writes.push(Write::evidence(file.path.clone(), bytes.clone(), false));
                }
            }
        }
        let sign_off = sign_off(&self.reader.settings, store)?;
        let message = Message {
            task: &place.id,
            transition: &split.step.transition,
            workflow: &split.workflow.workflow.name,
            workflow_digest: split.workflow.workflow.digest,
            subject: &self.reader.settings.config.git.subject,
            sign_off: sign_off.as_deref(),
        };
        let message = message.text();
        let new: Vec<(RepoPath, Vec<u8>)> = writes
            .iter()
            .map(|write| (write.path().clone(), Vec::new()))
            .collect();
        self.make_directories(&new)?;
        let committed = transaction.commit(&[PlannedCommit {
            message,
            writes,
            removes,
            moves: Vec::new(),
        }]);
        let committed = committed.inspect_err(|_| {
            durable::remove_empty(
                &self.reader.root,
                &place.directory().under(&self.reader.root),
            );
        })?;
        drop(transaction);
        for file in split.files.iter().filter(|file| file.bytes.is_none()) {
            if file.on_disk.is_some() && blob(&file.path)? == file.on_disk {
                durable::remove(&self.reader.root, &file.path.under(&self.reader.root));
            }
        }
        self.was_split(split, false, committed.commits.first().copied())
            .map(Some)
    }

    /// Makes the directories of these files.
    fn make_directories(&self, files: &[(RepoPath, Vec<u8>)]) -> Result<(), Error> {
        let root = &self.reader.root;
        let paths: Vec<PathBuf> = files.iter().map(|(path, _)| path.under(root)).collect();
        for directory in durable::directories_of(paths.iter().map(PathBuf::as_path)) {
            Directory::make(root, &directory).map_err(|source| io_error(&directory, source))?;
        }
        Ok(())
    }

    fn was_split(
        &self,
        split: SplitPlan,
        staged: bool,
        commit: Option<Digest>,
    ) -> Result<SplitRecord, Error> {
        self.remove_empty_directories(&split);
        let kept = Look::begin(self.reader)?.whole().at(&split.task)?;
        let moved = Look::begin(self.reader)?.whole().at(&split.place)?;
        let created_as = split.created_as;
        let left = split.left;
        Ok(SplitRecord {
            kept,
            moved,
            created_as,
            staged,
            commit,
            left,
        })
    }
}

impl Conflicts<'_> {
    /// The parts of a log that is already united, with what the history says of them. Returns an error if git cannot
    /// read it.
    pub(super) fn task_sides(
        &self,
        task: &TaskRef,
        log: &EventLog,
        texts: Option<&LogSides>,
    ) -> Result<TaskSides, Error> {
        let parts = log.parts();
        let path = task.transcript_path();
        let has = |held: &[u8]| -> BTreeSet<usize> {
            let held: HashSet<Digest> = EventLog::parse(held)
                .0
                .events()
                .map(|event| event.id)
                .collect();
            (0..parts.len())
                .filter(|index| !parts[*index].ids.is_disjoint(&held))
                .collect()
        };
        let Some(store) = &self.reader.store else {
            return Ok(TaskSides {
                parts,
                ours: 0,
                our_commit: None,
                others: Vec::new(),
                is_committed: false,
            });
        };
        let parts_in = |commit: Digest| -> Result<BTreeSet<usize>, Error> {
            Ok(has(&store
                .objects()
                .read_at(commit, &path)?
                .unwrap_or_default()))
        };
        let head = store.refs().head()?.commit;
        let mut own = head.map(parts_in).transpose()?.unwrap_or_default();
        let is_committed = own.len() > 1;
        let mut our_commit = head.filter(|_| own.len() == 1);
        let mut others = Vec::new();
        for merged in store.refs().merge_heads()? {
            others.push((merged, parts_in(merged)?));
        }
        let mut open = head.filter(|_| is_committed);
        while let Some(now) = open.take() {
            let changed = store
                .history()
                .last_changes(now, std::slice::from_ref(&path))?;
            let Some(changed) = changed.first().copied().flatten() else {
                break;
            };
            let mut parents = store.history().visit(changed)?.parents.into_iter();
            let Some(first) = parents.next() else { break };
            for other in parents {
                others.push((other, parts_in(other)?));
            }
            let before = parts_in(first)?;
            if before.is_empty() {
                break;
            }
            own = before;
            if own.len() == 1 {
                our_commit = Some(first);
            } else {
                open = Some(first);
            }
        }
        let in_text = texts.map(|texts| has(&texts.ours)).unwrap_or_default();
        let ours = in_text.first().or(own.first()).copied().unwrap_or_default();
        Ok(TaskSides {
            parts,
            ours,
            our_commit,
            others,
            is_committed,
        })
    }
}

/// The regular files of a task in a source, without its record.
fn files_in(source: &dyn Source, task: &TaskRef) -> Result<SideFiles, Error> {
    let mut files = SideFiles::new();
    for entry in source
        .list_task(&task.place)?
        .into_iter()
        .filter(|entry| entry.kind == EntryKind::File)
    {
        let Ok(path) = RepoPath::new(&entry.path) else {
            continue;
        };
        let Some(name) = task.place.name(&path).filter(|name| !is_own_file(name)) else {
            continue;
        };
        if let Content::Bytes(bytes) = source.read(&path, u64::MAX - 1)? {
            files.insert(name.to_owned(), bytes);
        }
    }
    Ok(files)
}

/// The newest version of each file that the events of a log name, as far as git has it.
fn files_of_events(store: &Store, lines: &[u8]) -> Result<SideFiles, Error> {
    let log = EventLog::parse(lines).0;
    let mut newest: BTreeMap<String, Digest> = BTreeMap::new();
    for event in log.in_order() {
        for (name, digest) in &event.entry.evidence {
            let is_file = !is_own_file(name) && !orch_core::workflow::is_tree_name(name);
            newest.extend(
                Digest::parse(digest)
                    .filter(|_| is_file)
                    .map(|digest| (name.clone(), digest)),
            );
        }
    }
    let mut files = SideFiles::new();
    for (name, digest) in newest {
        files.extend(store.objects().blob(digest)?.map(|bytes| (name, bytes)));
    }
    Ok(files)
}

/// The path of a file of the task at its new place. A file that is the task keeps its title.
fn renamed(task: &TaskRef, place: &TaskRef, name: &str) -> Result<RepoPath, Error> {
    let title = task.place.file().and_then(|file| file.title(name));
    match (title, place.place.file()) {
        (Some(title), Some(file)) => place.file(&file.named(title)),
        _ => place.file(name),
    }
}

fn unreadable(task: &TaskRef, fault: &LogFault) -> Error {
    let id: &TaskId = &task.id;
    let message = format!("cannot read the log of `{id}`: {fault}");
    Error::new(fault.kind.code(), message).with_hint(Hint::run(&["orch", "recover", id.as_str()]))
}

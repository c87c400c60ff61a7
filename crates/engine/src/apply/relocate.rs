//! Renames and archives tasks: the directory with everything in it moves, and the file if the task is one, and
//! the record says so, in one commit.

use super::advance::{Applied, AppliedStep, lock_directory};
use super::attempts::CommitAttempts;
use super::authority::{Authority, OrderedStep};
use super::commit_plan::{message, record_writes, refuse_unread, sign_off};
use super::lease::Holding;
use super::new_id::{Naming, check_new_id, parse_task_id};
use super::new_place::Places;
use super::orders::movable_state;
use super::preflight::refuse_link;
use super::record_files::Records;
use super::relate::Relate;
use crate::survey::{Error, Look, Reader, Sight, TaskRef};
use orch_base::{Code, Diagnostic, Digest, Hint, RepoPath, SingleFile, TaskId};
use orch_core::decide::{self, Facts, Kind, OwnFile, Stamp, Step, of_another_file};
use orch_files::Source as _;
use orch_git::{MovedPath, PlannedCommit, Store, durable};
use std::time::Duration;

/// What to do with the directory of a task.
#[derive(Debug, Clone, Copy)]
pub enum Relocation<'a> {
    /// Give the task another id.
    Rename(&'a str),
    /// Move the task to the archive of its root. A task that is not finished needs a reason.
    Archive(Option<&'a str>),
}

impl Relocation<'_> {
    fn why(&self) -> Option<&str> {
        match self {
            Self::Rename(_) => None,
            Self::Archive(why) => *why,
        }
    }
}

/// Renames and archives tasks.
#[derive(Clone, Copy)]
pub struct Relocate<'w> {
    pub(super) reader: &'w Reader,
    pub(super) wait: Option<Duration>,
    pub(super) authority: Authority<'w>,
    pub(super) holding: Holding<'w>,
    pub(super) records: Records<'w>,
    pub(super) places: Places<'w>,
    pub(super) relate: Relate<'w>,
}

impl Relocate<'_> {
    /// Moves the directory of a task, with its record, and returns the task at its new place. With `dry_run`
    /// nothing is written.
    ///
    /// Files that are not committed move too, and stay uncommitted. Returns an error if the new place is
    /// taken or not possible, a process drives the task, something of it is staged, a task that is not
    /// finished is archived without a reason or by someone who is no person, or git permits no commit now.
    pub fn task(
        &self,
        task: &TaskRef,
        to: Relocation<'_>,
        dry_run: bool,
    ) -> Result<Applied, Error> {
        to.why().map_or(Ok(()), decide::refuse_placeholder)?;
        let place = self.new_home(task, to)?;
        let sight = Look::begin(self.reader)?.whole().at(task)?;
        let step = self.relocation(&sight, &place, to, &self.authority.stamp())?;
        if dry_run {
            let steps = vec![AppliedStep::new(step, None)];
            return Ok(Applied {
                sight,
                steps,
                notes: Vec::new(),
            });
        }
        let stamp = if step.transition.by_human {
            let argv = [
                "orch",
                "archive",
                task.id.as_str(),
                "--force",
                to.why().unwrap_or_default(),
            ];
            let argv = argv.map(str::to_owned).to_vec();
            self.authority.stamp_of(&OrderedStep {
                kind: Kind::Rename,
                by_human: true,
                argv,
            })?
        } else {
            self.authority.stamp()
        };
        let is_held = self.holding.refuse_held(task)?;
        // No run may begin while the directory moves.
        let files = self.reader.run_files(task);
        let Some(_idle) = files.keep_idle()? else {
            let message = format!(
                "a process drives `{}`, so its directory cannot move",
                task.id
            );
            let hint = Hint::run(&["orch", "stop", task.id.as_str()]);
            return Err(Error::new(Code::Busy, message).with_hint(hint));
        };
        // The record moves with the directory.
        files.forget_copy();
        let relocated = self.relocate_now((task, &place), to, &stamp)?;
        if is_held {
            self.holding
                .follow(task, matches!(to, Relocation::Rename(_)).then_some(&place))?;
        }
        Ok(relocated)
    }

    fn relocate_now(
        &self,
        (task, place): (&TaskRef, &TaskRef),
        to: Relocation<'_>,
        stamp: &Stamp,
    ) -> Result<Applied, Error> {
        if !self.reader.commits() {
            let applied = self.relocate_without_git(task, place, to, stamp)?;
            return self.with_relations(task, place, applied);
        }
        let mut attempts = CommitAttempts::within(self.wait);
        loop {
            match self.relocate_once((task, place), to, stamp, &mut attempts) {
                Err(error) if attempts.again(&error) => {}
                Err(error) => return Err(error),
                Ok(applied) => return self.with_relations(task, place, applied),
            }
        }
    }

    /// Gives the new id to the tasks that name the former one, and notes which they are.
    fn with_relations(
        &self,
        task: &TaskRef,
        place: &TaskRef,
        mut applied: Applied,
    ) -> Result<Applied, Error> {
        let followed = self.relate.rename(&task.id, &place.id)?;
        if !followed.is_empty() {
            let ids = followed
                .iter()
                .map(|one| format!("`{}`", one.sight.task.id));
            let ids: Vec<String> = ids.collect();
            let message = format!(
                "the relations of {} name `{}` now",
                ids.join(", "),
                place.id
            );
            applied
                .notes
                .push(Diagnostic::note(Code::RelationsFollow, message));
        }
        Ok(applied)
    }

    /// The task at its new place. Returns an error if the id is not valid, no root permits it, or something
    /// is there.
    pub(super) fn new_home(&self, task: &TaskRef, to: Relocation<'_>) -> Result<TaskRef, Error> {
        let id = match to {
            Relocation::Rename(name) => parse_task_id(name, Naming::Rename(&task.id))?,
            Relocation::Archive(_) if task.id.is_archived() => {
                let message = format!("`{}` is already archived", task.id);
                return Err(Error::new(Code::TaskExists, message));
            }
            Relocation::Archive(_) => parse_task_id(&task.id.archived(), Naming::Rename(&task.id))?,
        };
        if matches!(to, Relocation::Rename(_)) {
            check_new_id(&id, Naming::Rename(&task.id))?;
        }
        let place = self.home_for(task, &id)?;
        let other = self
            .reader
            .snapshot(|snapshot| snapshot.search().task_named(&id))?;
        let there = place.directory().under(&self.reader.root);
        if other.is_some() || self.places.stands(&place)? || there.symlink_metadata().is_ok() {
            let message = format!("{} already exists", place.shown());
            let hint = "choose another id: a task is moved only to where nothing is";
            return Err(Error::new(Code::TaskExists, message).with_hint(hint));
        }
        let parent = place.directory().parent().unwrap_or_else(RepoPath::root);
        self.places.refuse_nested(&place)?;
        if self
            .reader
            .snapshot(|snapshot| snapshot.source.is_behind_link(&parent))?
        {
            let message = format!("the path {} contains a symbolic link", place.directory());
            return Err(Error::new(Code::Symlink, message));
        }
        self.places.finder.refuse_elsewhere(place.directory())?;
        Ok(place)
    }

    /// The directory for an id in the root of a task, or else in the first root that permits it and has the
    /// same workflow.
    fn home_for(&self, task: &TaskRef, id: &TaskId) -> Result<TaskRef, Error> {
        let roots = &self.reader.settings.config.roots;
        let own = roots
            .match_directory(task.directory())
            .map(|(root, _)| root);
        let like_it = (0..roots.iter().count()).filter(|root| {
            roots
                .get(*root)
                .is_some_and(|root| root.workflow == task.workflow)
        });
        let homes = own
            .into_iter()
            .chain(like_it)
            .filter_map(|root| Some((root, roots.directory_of(root, id)?)));
        // A file cannot become a directory.
        let is_alike = |root: &usize| {
            let root = roots.get(*root);
            root.is_some_and(|root| root.path.is_of_files() == task.place.file().is_some())
        };
        let home = homes
            .filter(|(root, _)| is_alike(root))
            .find_map(|(root, directory)| {
                TaskRef::in_root(roots.get(root)?, id.clone(), &directory).ok()
            });
        let home = home.ok_or_else(|| {
            let message = format!(
                "no root with the workflow of `{}` permits a task `{id}`",
                task.id
            );
            let hint = "see `path` and `exclude` of [[root]] in orch.toml";
            Error::new(Code::NoRoot, message).with_hint(hint)
        })?;
        Ok(home.governed_by(&task.workflow))
    }

    /// The step that records the move.
    fn relocation(
        &self,
        sight: &Sight,
        place: &TaskRef,
        to: Relocation<'_>,
        stamp: &Stamp,
    ) -> Result<Step, Error> {
        let state = movable_state(sight)?;
        if let (Relocation::Rename(_), Some(found)) = (to, of_another_file(&sight.observed.facts)) {
            return Err(found.into());
        }
        let transition = decide::rename(sight.workflow(), &state, &place.id, to.why())?;
        let facts = Facts {
            task: place.id.clone(),
            ..sight.observed.facts.clone()
        };
        let state = decide::apply(sight.workflow(), &state, &facts, &transition, stamp);
        Ok(Step { transition, state })
    }

    fn relocate_once(
        &self,
        (task, place): (&TaskRef, &TaskRef),
        to: Relocation<'_>,
        stamp: &Stamp,
        attempts: &mut CommitAttempts,
    ) -> Result<Applied, Error> {
        let store = self.reader.repository_or_refuse()?;
        let mut transaction = attempts.begin(store)?;
        let head = transaction.head().clone();
        let sight = Look::under(self.reader, Some(head)).whole().at(task)?;
        refuse_link(self.reader, &sight)?;
        refuse_unread(&sight)?;
        refuse_staged(store, task)?;
        let step = self.relocation(&sight, place, to, stamp)?;
        let steps = [step];
        let Some(record) = self.records.record_files(&sight, &steps)?.pop() else {
            return Err(Error::moved());
        };
        let files = self.files_of_record(&sight)?;
        let moves = task.moves_to(place, &committed_files(store, &sight, files)?)?;
        let [step] = steps;
        let sign_off = sign_off(&self.reader.settings, store)?;
        let planned = PlannedCommit {
            message: message(
                &self.reader.settings,
                &sight,
                place,
                &step,
                sign_off.as_deref(),
            )
            .text(),
            // In the work tree the record is written before the directory moves.
            writes: record_writes(store, &sight, place, &record).into(),
            removes: Vec::new(),
            moves,
        };
        let committed = transaction.commit(&[planned])?;
        drop(transaction);
        self.relocated(place, step, committed.commits.first().copied())
    }

    fn relocate_without_git(
        &self,
        task: &TaskRef,
        place: &TaskRef,
        to: Relocation<'_>,
        stamp: &Stamp,
    ) -> Result<Applied, Error> {
        let _lock = lock_directory(&self.reader.root, self.wait)?;
        let sight = Look::begin(self.reader)?.whole().at(task)?;
        refuse_link(self.reader, &sight)?;
        let steps = [self.relocation(&sight, place, to, stamp)?];
        if let Some(record) = self.records.record_files(&sight, &steps)?.pop() {
            self.records.write_record(task, &record)?;
        }
        for MovedPath { from, to } in task.moves_to(place, &self.files_of_record(&sight)?)? {
            let [from, to] = [from, to].map(|path| path.under(&self.reader.root));
            durable::move_path(&self.reader.root, &from, &to)?;
        }
        let [step] = steps;
        self.relocated(place, step, None)
    }

    /// The names of the files that are the task, in the work tree. One that is gone stays where it is, and so does that
    /// of another task under the same id.
    fn files_of_record(&self, sight: &Sight) -> Result<Vec<String>, Error> {
        if sight.observed.facts.own_file != OwnFile::AsRecorded {
            return Ok(Vec::new());
        }
        let task = &sight.task;
        let entries = self
            .reader
            .snapshot(|snapshot| snapshot.source.list_task(&task.place))?;
        Ok(task.own_files(&entries))
    }

    /// What was applied, with a look at the task where it is now.
    fn relocated(
        &self,
        place: &TaskRef,
        step: Step,
        commit: Option<Digest>,
    ) -> Result<Applied, Error> {
        let sight = self.reader.look(place)?;
        Ok(Applied {
            sight,
            steps: vec![AppliedStep::new(step, commit)],
            notes: Vec::new(),
        })
    }
}

/// The names of the files that are the task in HEAD. Returns an error if one that is here is not among them: it
/// would be left behind.
fn committed_files(store: &Store, sight: &Sight, here: Vec<String>) -> Result<Vec<String>, Error> {
    if sight.observed.facts.own_file != OwnFile::AsRecorded {
        return Ok(here);
    }
    let task = &sight.task;
    let committed = task.own_files(
        &store
            .objects()
            .source_at(sight.head_commit())
            .list_task(&task.place)?,
    );
    match here.iter().find(|name| !committed.contains(name)) {
        None => Ok(committed),
        Some(name) => {
            let path = task.file(name)?;
            let message = format!("{path} is not committed, so no commit can move it");
            let hint = Hint::run(&["git", "add", path.as_str()]).text(", and commit it");
            Err(Error::new(Code::Untracked, message).with_hint(hint))
        }
    }
}

/// Refuses a task of which something is staged, not checked out, or not committed at all: its index entries
/// must be those of HEAD to move with it.
pub(super) fn refuse_staged(store: &Store, task: &TaskRef) -> Result<(), Error> {
    let head = store.refs().head_source()?;
    let index = store.index().index_source()?;
    if head.object(&task.transcript_path())?.is_none() {
        let message = format!(
            "the record of `{}` is not committed, so no commit can move it",
            task.id
        );
        let hint = Hint::run(&["git", "add", task.directory().as_str()]).text(", and commit it");
        return Err(Error::new(Code::Untracked, message).with_hint(hint));
    }
    let below = |path: &&RepoPath| task.place.owns(path);
    if let Some(path) = index.unmerged().iter().find(below) {
        return Err(Error::new(Code::Unmerged, format!("{path} is unmerged")));
    }
    let mut staged = store
        .history()
        .staged_changes(&head, &index, task.directory())?;
    if let Some(file) = task.place.file() {
        let around = store
            .history()
            .staged_changes(&head, &index, &file.directory)?;
        staged.extend(around.into_iter().filter(|path| task.place.owns(path)));
    }
    if let Some(path) = staged.first() {
        let message = format!("{path} is staged, and the directory would move without it");
        let hint = Hint::from("commit it").or(&["git", "restore", "--staged", "--", path.as_str()]);
        return Err(Error::new(Code::StagedInTask, message).with_hint(hint));
    }
    let file = task.place.file().and_then(SingleFile::path);
    match store
        .index()
        .left_out(
            &[Some(task.directory().clone()), file]
                .into_iter()
                .flatten()
                .collect::<Vec<_>>(),
        )?
        .first()
    {
        None => Ok(()),
        Some(file) => {
            let message = format!(
                "{} is not checked out, so the directory cannot move",
                file.path
            );
            Err(Error::new(Code::EvidenceSparse, message))
        }
    }
}

//! Creates a task, or adopts an existing directory or file as one.

use super::advance::{Advance, Applied};
use super::authority::Authority;
use super::first_step::creation;
use super::new_id::{Naming, check_new_id};
use super::new_place::{PlaceWish, Places};
use super::orders::first_applied;
use super::record_files::Records;
use super::relate::{Relate, RelationWish, among, refuse_circle, related};
use crate::survey::other_glimpse::KnownOthers;
use crate::survey::{Error, Reader, Sight, TaskRef, facts_after};
use orch_base::{Code, Diagnostic, Hint, Place};
use orch_core::decide::{Kind, Recorded, Relations, Stamp, State, Step, Transition, settle};
use orch_core::workflow::BRIEF;
use orch_files::{Directory, io_error};
use orch_git::durable;
use std::cell::RefCell;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// A task that was created or adopted.
pub struct Created {
    /// The task and its location.
    pub task: TaskRef,
    /// Whether the directory already contained artifacts.
    pub adopted: bool,
    /// The recorded step with its commit.
    pub applied: Applied,
}

/// A task that could be created.
pub struct PlannedTask {
    /// The task and its location.
    pub task: TaskRef,
    /// Whether its workflow has a place for a brief.
    pub takes_brief: bool,
}

/// What is said about a task when it is created.
#[derive(Debug, Clone, Copy, Default)]
pub struct NewTask<'a> {
    /// What narrows the choice of its place and its workflow.
    pub place: PlaceWish<'a>,
    /// The title.
    pub title: Option<&'a str>,
    /// The text of the artifact `brief`.
    pub brief: Option<&'a str>,
    /// How it relates to others.
    pub relations: Option<&'a RelationWish>,
}

/// Creates tasks, and adopts what is there.
#[derive(Clone, Copy)]
pub struct Create<'w> {
    pub(super) reader: &'w Reader,
    pub(super) wait: Option<Duration>,
    pub(super) authority: Authority<'w>,
    pub(super) records: Records<'w>,
    pub(super) advance: Advance<'w>,
    pub(super) places: Places<'w>,
    pub(super) relate: Relate<'w>,
}

impl Create<'_> {
    /// Creates the task that an id or the path of an existing directory or file names, or adopts a file or a
    /// directory with artifacts unchanged. Returns an error if the id is not valid, no root permits the task,
    /// it already exists, it has another brief, it is a file for which there is no example, or the commit is
    /// not possible now.
    pub fn task(&self, name: &str, new: &NewTask<'_>) -> Result<Created, Error> {
        self.task_among(name, new, &KnownOthers::default())
    }

    /// Creates one task after the other, each as [`Self::task`] does, and passes it on. Returns the error of the first that
    /// cannot be created; those before it stay.
    pub fn tasks<'n>(
        &self,
        all: impl IntoIterator<Item = (&'n str, NewTask<'n>)>,
        mut created: impl FnMut(Created),
    ) -> Result<(), Error> {
        let known = KnownOthers::default();
        for (name, new) in all {
            let one = self.task_among(name, &new, &known)?;
            let head = one.applied.sight.head_commit();
            let noted = self.places.finder.note_created(&one.task, head, &known);
            created(one);
            noted?;
        }
        Ok(())
    }

    /// Creates a task among others, of which some are `known`.
    fn task_among(
        &self,
        name: &str,
        new: &NewTask<'_>,
        known: &KnownOthers,
    ) -> Result<Created, Error> {
        let task = self.place(name, new)?;
        let relations = self.relations(&task, new)?;
        let adopted = self.places.finder.task_at(task.directory())?.is_some();
        let directory = task.directory().under(&self.reader.root);
        let brief = new
            .brief
            .map(|text| Ok::<_, Error>((self.brief_path(&task)?, text)))
            .transpose()?;
        let mut renewed = None;
        if adopted {
            let sight = self.reader.look(&task)?;
            refuse_existing(&sight)?;
            refuse_misplaced(&sight)?;
            renewed = self.renew_log_ids(&task)?;
        }
        let file = if adopted {
            None
        } else {
            self.new_file(&task, new.title)?
        };
        let root = &self.reader.root;
        let is_made = directory.symlink_metadata().is_err();
        Directory::make(root, &directory).map_err(|source| io_error(&directory, source))?;
        let file = file.map(|(path, text)| {
            durable::write_atomic(root, &path, text.as_bytes())?;
            Ok::<_, Error>(path)
        });
        let file = file.transpose()?;
        let written = brief
            .map(|(path, text)| write_brief(root, &path, text))
            .transpose()?
            .flatten();
        let note = RefCell::new(None);
        let advance = Advance {
            together: self.advance.together || relations.is_some(),
            ..self.advance
        };
        let outcomes = advance.apply(std::slice::from_ref(&task), false, &|sight| {
            known.go_on(sight.head_commit());
            refuse_existing(sight)?;
            note.replace(imported(sight));
            let stamp = self.authority.stamp();
            let created = creation(sight, adopted, new.title, &stamp)?;
            let mut steps = vec![created];
            let mut related_sight = None;
            if let Some(relations) = &relations {
                let others = self.relate.others(sight, relations, known)?;
                refuse_circle(relations, &others)?;
                steps.push(related(sight, &steps[0].state, relations.clone(), &stamp)?);
                related_sight = Some(among(sight, others));
            }
            let sight = related_sight.as_ref().unwrap_or(sight);
            if self.reader.settings.batches() {
                let last = steps.last().map(|step| &step.state);
                let after = last.map(|last| steps_after(sight, last, &stamp));
                steps.extend(after.into_iter().flatten());
            }
            Ok(self.reader.settled(sight, steps))
        });
        match outcomes.and_then(first_applied) {
            Ok(mut applied) => {
                applied
                    .notes
                    .extend(renewed.into_iter().chain(note.into_inner()));
                Ok(Created {
                    task,
                    adopted,
                    applied,
                })
            }
            Err(error) => {
                // Without its record it would be left behind as an untracked task.
                for path in written.iter().chain(&file) {
                    durable::remove(root, path);
                }
                if is_made {
                    durable::remove_empty(root, &directory);
                }
                Err(error)
            }
        }
    }

    /// The relations of a new task; `None` if nothing is said of them. Returns an error if a task that is named does not exist.
    fn relations(&self, task: &TaskRef, new: &NewTask<'_>) -> Result<Option<Relations>, Error> {
        let Some(wish) = new.relations.filter(|wish| !wish.is_empty()) else {
            return Ok(None);
        };
        let wanted = self.relate.wanted(&task.id, &Relations::default(), wish);
        wanted.map(Some)
    }

    /// What [`Self::task`] would create; `None` if there is a task with this id, or anything in its place, which stays as it
    /// is. Returns an error if the task could not be created whatever git says.
    pub fn planned(&self, name: &str, new: &NewTask<'_>) -> Result<Option<PlannedTask>, Error> {
        let task = match self.place(name, new) {
            Err(error) if error.code() == Code::TaskExists => return Ok(None),
            task => task?,
        };
        if self.places.stands(&task)? || self.places.is_archived(&task.id)? {
            return Ok(None);
        }
        self.new_file(&task, new.title)?;
        let takes_brief = match self.brief_path(&task) {
            Err(error) if error.code() == Code::NoBrief => false,
            path => path.map(|_| task.place.file().is_none())?,
        };
        Ok(Some(PlannedTask { task, takes_brief }))
    }

    /// The place of a new task. Returns an error if it may not be there, or may not have this id.
    fn place(&self, name: &str, new: &NewTask<'_>) -> Result<TaskRef, Error> {
        let task = self.places.new_place(name, &new.place)?;
        self.places.refuse_nested(&task)?;
        if self
            .reader
            .snapshot(|snapshot| snapshot.source.is_behind_link(task.directory()))?
        {
            let message = format!("the path {} contains a symbolic link", task.directory());
            let hint = "replace the link with a directory; a task must be inside the repository";
            return Err(Diagnostic::error(Code::Symlink, message).hint(hint).into());
        }
        self.places.finder.refuse_elsewhere(task.directory())?;
        if !self.places.stands(&task)? {
            check_new_id(&task.id, Naming::New(new.title))?;
        }
        Ok(task)
    }

    /// The path and the text of the file that a new task is, from the example of its artifact; `None` if the
    /// task is a directory. Returns an error if something is there, its name needs a title, or the workflow has
    /// no example.
    fn new_file(
        &self,
        task: &TaskRef,
        title: Option<&str>,
    ) -> Result<Option<(PathBuf, String)>, Error> {
        let Some(file) = task.place.file() else {
            return Ok(None);
        };
        let path = match (file.path(), title) {
            (Some(path), _) => path,
            (None, Some(title)) => {
                let title = title.replace(|letter: char| letter == '/' || letter.is_control(), "-");
                task.file(&file.named(title.trim()))?
            }
            (None, None) => {
                let message = format!("the file of `{}` has its title in its name", task.id);
                let hint = Hint::run(&["orch", "new", task.id.as_str(), "--title", "TITLE"]);
                return Err(Error::new(Code::NoTitle, message).with_hint(hint));
            }
        };
        let loaded = self.reader.settings.workflow(task.workflow.as_str())?;
        let compiled = loaded.usable()?;
        let owner = compiled.matcher.artifacts_of(path.name()).next();
        let artifact = owner.and_then(|(index, _)| compiled.workflow.artifacts.get(index));
        let Some(text) = artifact.and_then(|artifact| artifact.example_for(&task.id, title)) else {
            let message = match artifact {
                None => format!("workflow `{}` has no artifact for {path}", task.workflow),
                Some(artifact) => {
                    format!(
                        "artifact `{}` of workflow `{}` has no `example`",
                        artifact.name, task.workflow
                    )
                }
            };
            let hint = Hint::from(format!("write {path}; then "))
                .command(&["orch", "new", task.id.as_str()])
                .text(" adopts it");
            return Err(Error::new(Code::NoExample, message).with_hint(hint));
        };
        let target = path.under(&self.reader.root);
        if target.symlink_metadata().is_ok() {
            return Err(Error::new(
                Code::TaskExists,
                format!("{path} already exists"),
            ));
        }
        Ok(Some((target, format!("{}\n", text.trim_end()))))
    }

    /// Where the brief of a task belongs. Returns an error if the workflow declares no artifact for it.
    fn brief_path(&self, task: &TaskRef) -> Result<PathBuf, Error> {
        let loaded = self.reader.settings.workflow(task.workflow.as_str())?;
        let workflow = &loaded.usable()?.workflow;
        let artifact = workflow
            .artifacts
            .iter()
            .find(|artifact| artifact.name.as_str() == BRIEF);
        let path = artifact
            .filter(|artifact| !artifact.is_glob())
            .and_then(|artifact| artifact.paths.first());
        let Some(path) = path else {
            let message = format!(
                "workflow `{}` has no artifact `{BRIEF}` with a plain path",
                workflow.name
            );
            return Err(Error::new(Code::NoBrief, message));
        };
        Ok(task.file(path)?.under(&self.reader.root))
    }
}

/// The note about the file that the first step imports, if it imports one.
fn imported(sight: &Sight) -> Option<Diagnostic> {
    let original = sight.state()?.original.as_ref()?;
    let what = if original.is_mapped {
        "imported the state of an older tool"
    } else {
        "adopted the state of another tool"
    };
    let message = format!("{what}; left out: {}", original.left_out());
    let hint = Hint::from("the file as it was: ").command(&[
        "git",
        "cat-file",
        "blob",
        &original.digest.short(),
    ]);
    let note =
        Diagnostic::note(Code::StateImported, message).at(Place::file(&sight.task.state_path()));
    Some(note.hint(hint))
}

/// Returns an error if the task has a record on this branch.
fn refuse_existing(sight: &Sight) -> Result<(), Error> {
    if sight.untracked {
        return Ok(());
    }
    let message = format!("task `{}` already exists", sight.task.id);
    // Its directory is gone or was moved, so no other command knows the task.
    let hint = match sight.recorded {
        Recorded::Lost => Hint::run(&[
            "git",
            "restore",
            "--source=HEAD",
            "--",
            sight.task.directory().as_str(),
        ]),
        _ => Hint::run(&["orch", "status"]).or(&["orch", "suggest", sight.task.id.as_str()]),
    };
    Err(Diagnostic::error(Code::TaskExists, message)
        .hint(hint)
        .into())
}

/// Returns an error if the directory holds the record of another task.
pub(super) fn refuse_misplaced(sight: &Sight) -> Result<(), Error> {
    match &sight.recorded {
        Recorded::Broken(faults)
            if let Some(fault) = faults
                .iter()
                .find(|fault| fault.code == Code::RecordElsewhere) =>
        {
            Err(fault.clone().into())
        }
        _ => Ok(()),
    }
}

/// Writes the brief, and returns its path if it was not there. Returns an error if the path holds anything
/// else.
fn write_brief(root: &Path, path: &Path, text: &str) -> Result<Option<PathBuf>, Error> {
    let text = format!("{}\n", text.trim_end());
    if let Ok(metadata) = std::fs::symlink_metadata(path) {
        if metadata.is_symlink() {
            let message = format!(
                "{} is a symbolic link; a brief is a file of its task",
                path.display()
            );
            return Err(Diagnostic::error(Code::Symlink, message)
                .hint("remove the link")
                .into());
        }
        if durable::read_regular(path).is_some_and(|present| present == text.as_bytes()) {
            return Ok(None);
        }
        let message = format!("{} already exists, with different text", path.display());
        return Err(
            Error::new(Code::BriefExists, message).with_hint("edit it, and leave --brief out")
        );
    }
    Directory::make(root, durable::parent(path)).map_err(|source| io_error(path, source))?;
    durable::write_atomic(root, path, text.as_bytes())?;
    Ok(Some(path.to_owned()))
}
/// The steps forward that the rules decide after a task was created, without asking anybody.
fn steps_after(sight: &Sight, created: &State, stamp: &Stamp) -> Vec<Step> {
    let workflow = sight.workflow();
    let facts = facts_after(workflow, &sight.observed.facts, created);
    let recorded = Recorded::Known(Box::new(created.clone()));
    let leads_on = |due: &Transition| due.kind == Kind::Advance && !due.by_human;
    settle(workflow, &recorded, &facts, stamp, &leads_on).steps
}

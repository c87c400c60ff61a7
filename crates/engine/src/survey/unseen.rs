//! Roots of which nothing is seen, although something says that there are tasks: their workflow has errors, they are links,
//! or git has records that no root shows. Without a word, a check of no task would pass for one that found nothing wrong.

use super::search::Search;
use super::setting::{InSource, Settings};
use super::snapshot::{Snapshot, first};
use super::{Error, Finder, TaskRef};
use orch_base::{Code, Diagnostic, Hint, Place, RepoPath, enumeration};
use orch_core::config::{self, Root};
use orch_core::record::{EventLog, TRANSCRIPT_FILE};
use orch_files::{Content, Entry, EntryKind, Source};
use orch_git::Store;
use std::collections::BTreeSet;

/// How many tasks a finding names.
const MOST_NAMED: usize = 10;
/// How many files with the name of a log are read to find one that is a log.
const MOST_READ: usize = 100;

impl Finder<'_> {
    /// What hides tasks, given all tasks that were found. Returns an error if git cannot be read.
    pub(super) fn hiding(&self, tasks: &[TaskRef]) -> Result<Vec<Diagnostic>, Error> {
        self.reader.snapshot(|snapshot| {
            let search = snapshot.search();
            let mut found = search.linked_roots()?;
            found.extend(search.faulty_workflows(&search.governing(), tasks));
            let empty = search.roots_without(tasks);
            let (Some(store), false) = (&self.reader.store, empty.is_empty()) else {
                return Ok(found);
            };
            let mut named = BTreeSet::new();
            if self.reader.reads_work_dir() {
                let index = store.index().index_source()?;
                named.extend(search.unshown_records(&index, index.list(&RepoPath::root())?)?);
                named.extend(search.unshown_in_head(store)?);
            } else {
                named.extend(
                    search.unshown_records(
                        snapshot.source,
                        snapshot.source.list(&RepoPath::root())?,
                    )?,
                );
            }
            found.extend(unseen(&empty, &named));
            Ok(found)
        })
    }
}

impl Search<'_> {
    /// What hides tasks in an index or a commit. `shown` are tasks that are known to be there. Returns an error if it
    /// cannot be read.
    pub(crate) fn hiding(&self, shown: &[TaskRef]) -> Result<Vec<Diagnostic>, Error> {
        let mut found = self.linked_roots()?;
        let mut empty = Vec::new();
        for root in self.roots_without(shown) {
            if !self.has_task_of(root)? {
                empty.push(root);
            }
        }
        if !empty.is_empty() {
            let records =
                self.unshown_records(self.source, self.source.list(&RepoPath::root())?)?;
            found.extend(unseen(&empty, &records));
        }
        Ok(found)
    }

    /// Whether there are settings or texts of orch, or a task. Returns an error if the source cannot be read.
    pub(crate) fn is_set_up(&self) -> Result<bool, Error> {
        let has_task = |root: &Root| Ok(self.has_task_of(root)?.then_some(()));
        Ok(self.setting.is_own() || first(self.setting.config.roots.iter(), has_task)?.is_some())
    }

    /// A finding for each root that is a symbolic link, or behind one.
    fn linked_roots(&self) -> Result<Vec<Diagnostic>, Error> {
        let mut found = Vec::new();
        for root in self.setting.config.roots.iter() {
            let Some(link) = self.link_to(root.path.base())? else {
                continue;
            };
            let path = &root.path;
            let message = format!(
                "{link} is a symbolic link, and git stores no files behind one, so root `{path}` has no task"
            );
            let hint = format!("name the directory that {link} leads to in `path` of the root");
            found.push(
                Diagnostic::error(Code::NothingToJudge, message)
                    .at(in_settings())
                    .hint(hint),
            );
        }
        Ok(found)
    }

    /// The names of the workflows that govern the tasks of roots.
    fn governing(&self) -> BTreeSet<String> {
        self.setting
            .config
            .roots
            .iter()
            .map(|root| root.workflow.to_string())
            .collect()
    }

    /// A finding for each of these workflows that has errors, with the tasks that cannot be judged because of it.
    fn faulty_workflows(&self, names: &BTreeSet<String>, tasks: &[TaskRef]) -> Vec<Diagnostic> {
        let mut found = Vec::new();
        for name in names {
            // That a workflow is missing is a finding about the settings.
            let Ok(loaded) = self.setting.workflow(name) else {
                continue;
            };
            if loaded.workflow().is_some() {
                continue;
            }
            let governed = tasks.iter().filter(|task| task.workflow.as_str() == name);
            let ids = enumeration(governed.map(|task| &task.id), MOST_NAMED);
            let mut faulty = Diagnostic::from(loaded.faulty());
            if !ids.is_empty() {
                faulty.message.push_str(&format!("; it governs {ids}"));
            }
            found.push(faulty);
        }
        found
    }

    /// A finding for each workflow that has errors by which a change keeps tasks from being judged: one that governs a
    /// root, or that had no errors in any of `befores`. What was so before counts only if the change touches a task.
    /// Returns an error if the source cannot be read.
    pub(crate) fn unusable_workflows(
        &self,
        befores: &[Snapshot<'_>],
        is_task_touched: bool,
    ) -> Result<Vec<Diagnostic>, Error> {
        let is_changed = !befores
            .iter()
            .any(|before| before.setting.is_same(self.setting));
        let mut names = if is_task_touched || is_changed {
            self.governing()
        } else {
            BTreeSet::new()
        };
        if is_changed {
            names.extend(self.setting.workflow_names());
        }
        let is_faulty = |setting: &Settings, name: &str| {
            setting
                .workflow(name)
                .is_ok_and(|loaded| loaded.workflow().is_none())
        };
        let governing = self.governing();
        names.retain(|name| {
            let was_faulty = befores.iter().any(|before| is_faulty(before.setting, name));
            is_faulty(self.setting, name)
                && (!was_faulty || (is_task_touched && governing.contains(name)))
        });
        let tasks = if names.is_empty() {
            Vec::new()
        } else {
            self.tasks()?
        };
        Ok(self.faulty_workflows(&names, &tasks))
    }

    /// The symbolic link that a path is, or that is above it.
    fn link_to(&self, path: &RepoPath) -> Result<Option<RepoPath>, Error> {
        let steps = std::iter::successors(Some(path.clone()), RepoPath::parent);
        let steps = steps.filter(|step| !step.as_str().is_empty());
        first(steps, |step| {
            let entry = self.source.entry_at(&step)?;
            Ok(entry
                .filter(|entry| entry.kind == EntryKind::Symlink)
                .map(|_| step))
        })
    }

    /// The roots to which none of these tasks belongs.
    fn roots_without(&self, tasks: &[TaskRef]) -> Vec<&Root> {
        let roots = &self.setting.config.roots;
        let of = |task: &TaskRef| Some(roots.match_directory(task.directory())?.0);
        let with: BTreeSet<usize> = tasks.iter().filter_map(of).collect();
        roots
            .iter()
            .enumerate()
            .filter(|(index, _)| !with.contains(index))
            .map(|(_, root)| root)
            .collect()
    }

    /// The directories of records among these entries of a source that no root shows and none excludes.
    fn unshown_records(
        &self,
        source: &dyn Source,
        entries: Vec<Entry>,
    ) -> Result<BTreeSet<RepoPath>, Error> {
        let mut unshown = BTreeSet::new();
        let mut is_record = false;
        let mut read = 0;
        for entry in entries {
            let Ok(path) = RepoPath::new(&entry.path) else {
                continue;
            };
            let Some(directory) = path.parent().filter(|_| path.name() == TRANSCRIPT_FILE) else {
                continue;
            };
            if self.is_elsewhere(&directory)? || self.task_of_path(&path)?.is_some() {
                continue;
            }
            // Another program may write files of this name.
            if !is_record && read < MOST_READ {
                is_record = is_log(&source.read(&path, u64::MAX - 1)?);
                read += 1;
            }
            unshown.insert(directory);
        }
        Ok(if is_record { unshown } else { BTreeSet::new() })
    }

    /// The directories of the tasks that HEAD shows by other roots, and that are not shown here.
    fn unshown_in_head(&self, store: &Store) -> Result<BTreeSet<RepoPath>, Error> {
        let head = store.refs().head_source()?;
        let setting = Settings::read(&InSource(&head), store.objects().format());
        let mut unshown = BTreeSet::new();
        if setting.config.roots == self.setting.config.roots {
            return Ok(unshown);
        }
        let elsewhere = Search {
            setting: &setting,
            source: &head,
            costs: None,
        };
        for task in elsewhere.tasks()? {
            let directory = task.directory();
            if !self.is_elsewhere(directory)?
                && self.task_of_path(&task.transcript_path())?.is_none()
            {
                unshown.insert(directory.clone());
            }
        }
        Ok(unshown)
    }

    /// Whether a directory is excluded, or belongs to another repository.
    fn is_elsewhere(&self, directory: &RepoPath) -> Result<bool, Error> {
        let is_excluded = self
            .setting
            .config
            .roots
            .iter()
            .any(|root| root.excludes(directory));
        Ok(is_excluded || self.source.other_repository(directory)?.is_some())
    }
}

/// The finding that these roots have no task, while these directories are those of tasks.
fn unseen(empty: &[&Root], directories: &BTreeSet<RepoPath>) -> Option<Diagnostic> {
    let such = directories.first()?;
    let paths: Vec<String> = empty
        .iter()
        .map(|root| format!("`{}`", root.path))
        .collect();
    let roots = paths.join(", ");
    let many = match directories.len() {
        1 => "a task that no root shows, in".to_owned(),
        many => format!("{many} tasks that no root shows, such as that in"),
    };
    let message = format!("no task is in {roots}, but git has {many} {such}");
    let hint = Hint::from(format!(
        "correct `path` of [[root]] in {}, or bring the files back: ",
        config::FILE
    ))
    .command(&["git", "restore", "--", such.as_str()])
    .text("; name what is not a task in `exclude` of a root");
    Some(
        Diagnostic::error(Code::NothingToJudge, message)
            .at(in_settings())
            .hint(hint),
    )
}

fn in_settings() -> Place {
    Place {
        path: config::FILE.to_owned(),
        ..Place::default()
    }
}

/// Whether this is a log of events, by its first line.
fn is_log(content: &Content) -> bool {
    let Content::Bytes(bytes) = content else {
        return false;
    };
    let line = bytes
        .split_inclusive(|byte| *byte == b'\n')
        .next()
        .unwrap_or_default();
    let (log, _) = EventLog::parse(line);
    !log.heads().is_empty()
}

//! How the tasks of a branch relate to one another: all are read once, and then those that have changed.

use super::others::OtherReader;
use super::reader::At;
use super::{Error, Workspace};
use orch_base::{Digest, RepoPath, TaskId};
use orch_core::config;
use orch_core::decide::Relations;
use orch_core::record::{STATE_FILE, TRANSCRIPT_FILE};
use std::collections::{BTreeMap, BTreeSet};

/// The relations of the tasks of a branch, as far as the branch was followed.
#[derive(Debug, Default)]
pub struct BranchRelations {
    at: Option<BranchPlace>,
    tasks: BTreeMap<TaskId, Relations>,
}

/// A commit of a branch.
#[derive(Debug)]
struct BranchPlace {
    commit: Digest,
    /// The objects of `orch.toml` and of the system directory.
    rules: [Option<Digest>; 2],
}

impl BranchRelations {
    /// The tasks that may go on because of another: the one that it is part of, and those that wait for it. The workspace reads
    /// the tip of the branch. Returns an error if git cannot read a task.
    pub fn concerned_by(&mut self, tip: &Workspace, id: &TaskId) -> Result<Vec<TaskId>, Error> {
        self.follow(tip)?;
        let parent = self.tasks.get(id).and_then(|own| own.parent.clone());
        let waiting = self
            .tasks
            .iter()
            .filter(|(_, other)| other.after.contains(id));
        let waiting = waiting.map(|(other, _)| other.clone());
        Ok(parent.into_iter().chain(waiting).collect())
    }

    /// Reads what the branch has changed since it was followed last, or all tasks if its rules are others.
    fn follow(&mut self, tip: &Workspace) -> Result<(), Error> {
        let reader = &tip.reader;
        let (At::Commit(commit), Some(store)) = (reader.at, &reader.store) else {
            return Ok(());
        };
        let source = store.objects().source_at(commit);
        let object = |path: &RepoPath| -> Result<Option<Digest>, Error> {
            Ok(source.object(path)?.map(|(object, _)| object))
        };
        let settings = match RepoPath::new(config::FILE) {
            Ok(path) => object(&path)?,
            Err(_) => None,
        };
        let rules = [settings, object(&reader.settings.config.system)?];
        let before = self.at.take().filter(|before| before.rules == rules);
        reader.snapshot(|snapshot| {
            let search = snapshot.search();
            let others = OtherReader::of(snapshot);
            let Some(before) = before else {
                self.tasks.clear();
                for task in search.tasks()? {
                    let relations = others.glimpse(&task)?.node.relations;
                    self.tasks.insert(task.id, relations);
                }
                return Ok(());
            };
            let before = store.objects().source_at(before.commit);
            let changed = store
                .history()
                .changed(&before, &source, &RepoPath::root())?;
            let is_record = |path: &&RepoPath| [STATE_FILE, TRANSCRIPT_FILE].contains(&path.name());
            let directories: BTreeSet<RepoPath> = changed
                .iter()
                .filter(is_record)
                .filter_map(RepoPath::parent)
                .collect();
            for directory in directories {
                let Some(task) = reader.settings.named_so(&directory) else {
                    continue;
                };
                if search.task_at(&directory)?.is_some() {
                    let relations = others.glimpse(&task)?.node.relations;
                    self.tasks.insert(task.id, relations);
                } else {
                    self.tasks.remove(&task.id);
                }
            }
            Ok::<_, Error>(())
        })?;
        self.at = Some(BranchPlace { commit, rules });
        Ok(())
    }
}

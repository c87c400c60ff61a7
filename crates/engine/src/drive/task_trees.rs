//! The work trees of tasks, how their tasks stand, and which of them may go.

use crate::apply::Writer;
use crate::survey::{Error, Sight, Workspace};
use orch_core::decide::{DutyKind, duty};
use orch_fleet::worktrees::{TaskTree, TaskTrees};
use orch_git::{Store, Uncommitted};

/// How the work tree of a task stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TreeStanding {
    /// The work tree.
    pub tree: TaskTree,
    /// The phase of the task in it; `None` if it cannot be read.
    pub phase: Option<String>,
    /// What it holds that is in no commit.
    pub uncommitted: Uncommitted,
    /// Whether the base branch has all that is on its branch.
    pub is_merged: bool,
    /// Why it has to stay; `None` if it may be removed, or was.
    pub stays: Option<String>,
    /// Whether it was removed.
    pub is_removed: bool,
}

/// The work trees of all tasks, and the branch that work is merged into. If `cleans`, those are removed whose task is done and
/// that hold nothing that is not elsewhere too. Returns an error if git cannot list them.
pub fn task_trees(writer: &Writer<'_>, cleans: bool) -> Result<(String, Vec<TreeStanding>), Error> {
    let reader = &writer.workspace.reader;
    let store = reader.repository_or_refuse()?;
    let config = reader.settings.config();
    let git = store.work_trees();
    let base = git.base_branch(config.git.base.as_deref(), config.git.protected.texts())?;
    let trees = TaskTrees::new(store, &config.worktrees);
    let mut found = Vec::new();
    for tree in trees.list()? {
        let mut standing = standing(writer, store, &tree, &base)?;
        standing.stays = stays(writer, &trees, &tree, &base)?;
        if cleans && standing.stays.is_none() {
            match remove(writer, &trees, &tree, &base) {
                Ok(why) => {
                    standing.is_removed = why.is_none();
                    standing.stays = why;
                }
                Err(error) => standing.stays = Some(error.to_string()),
            }
        }
        found.push(standing);
    }
    Ok((base, found))
}

fn standing(
    writer: &Writer<'_>,
    store: &Store,
    tree: &TaskTree,
    base: &str,
) -> Result<TreeStanding, Error> {
    let git = store.work_trees();
    let is_merged = match (git.tip(&tree.branch)?, git.tip(base)?) {
        (Some(tip), Some(base)) => git.is_contained(tip, base)?,
        _ => false,
    };
    let sight = sight(writer, tree).ok();
    let phase = sight.and_then(|sight| sight.decision.phase.as_ref().map(ToString::to_string));
    Ok(TreeStanding {
        tree: tree.clone(),
        phase,
        uncommitted: git.uncommitted(&tree.path, false)?,
        is_merged,
        stays: None,
        is_removed: false,
    })
}

/// Why the work tree of a task has to stay; `None` if it may be removed.
fn stays(
    writer: &Writer<'_>,
    trees: &TaskTrees<'_>,
    tree: &TaskTree,
    base: &str,
) -> Result<Option<String>, Error> {
    match sight(writer, tree) {
        Ok(sight) => {
            if duty(sight.workflow(), &sight.decision, None).kind != DutyKind::Done {
                return Ok(Some("the task is not done".to_owned()));
            }
        }
        Err(error) => return Ok(Some(error.to_string())),
    }
    trees.stays_because(tree, base)
}

/// Removes the work tree of a task if it may be. Returns why it has to stay, and an error if git refuses.
pub(super) fn remove(
    writer: &Writer<'_>,
    trees: &TaskTrees<'_>,
    tree: &TaskTree,
    base: &str,
) -> Result<Option<String>, Error> {
    let claim = trees.claim(&tree.task)?;
    if !tree.path.exists() {
        return Ok(None);
    }
    let why = stays(writer, trees, tree, base)?;
    if why.is_none() {
        claim.remove()?;
    }
    Ok(why)
}

/// The task as it is in its work tree.
fn sight(writer: &Writer<'_>, tree: &TaskTree) -> Result<Sight, Error> {
    let environment = writer.workspace.environment.elsewhere();
    let there = Workspace::open_to_look(&tree.path, environment)?;
    let task = there.finder().task(tree.task.as_str())?;
    there.look(&task)
}

//! Which task an agent works on.

use crate::cli::Context;
use orch_base::{Error, RepoPath};
use orch_core::workflow::Owner;
use orch_engine::survey::{LookDepth, Sight, TaskRef, Workspace};
use std::path::Path;

/// The task that an agent works on, if known.
pub enum AgentTask {
    /// This one.
    One(Box<Sight>),
    /// These wait for an agent, and nothing says which is meant.
    Several(Vec<String>),
    /// Nothing says which, or there is none.
    Unknown,
}

/// With more tasks than this, only the environment, the directory and the branch say which one is meant: a hook
/// answers at once.
const MOST_LOOKS: usize = 100;

impl AgentTask {
    /// The task that the environment (`ORCH_TASK`), the directory of the agent or the branch identifies, or else the
    /// only one that waits for an agent. Returns an error if a task cannot be read.
    pub fn find(
        workspace: &Workspace,
        cwd: Option<&Path>,
        context: &Context,
    ) -> Result<Self, Error> {
        if let Some(task) = Self::named(workspace, cwd, context)? {
            return Ok(Self::One(Box::new(workspace.look(&task)?)));
        }
        let mut tasks = workspace.finder().tasks()?;
        tasks.retain(|task| !task.id.is_archived());
        if tasks.len() > MOST_LOOKS {
            return Ok(Self::Unknown);
        }
        let mut waiting =
            workspace
                .crew()
                .look_at_each(&tasks, LookDepth::End, |workspace, _, looked| {
                    // Another task that cannot be read keeps nobody from working.
                    looked.ok().filter(|sight| {
                        !sight.untracked && workspace.subject(sight).duty().owner == Owner::Agent
                    })
                });
        waiting.retain(Option::is_some);
        let mut waiting = waiting.into_iter().flatten();
        match (waiting.next(), waiting.next()) {
            (None, _) => Ok(Self::Unknown),
            (Some(only), None) => Ok(Self::One(Box::new(only))),
            (Some(one), Some(other)) => {
                let all = [one, other].into_iter().chain(waiting);
                Ok(Self::Several(
                    all.map(|sight| sight.task.id.to_string()).collect(),
                ))
            }
        }
    }

    /// The task that is known without a look at any.
    pub fn named(
        workspace: &Workspace,
        cwd: Option<&Path>,
        context: &Context,
    ) -> Result<Option<TaskRef>, Error> {
        if let Some(id) = &context.caller.task {
            return workspace.finder().task(id.as_str()).map(Some);
        }
        let start = cwd.unwrap_or(&context.start).canonicalize().ok();
        let inside = start
            .as_deref()
            .and_then(|start| start.strip_prefix(workspace.reader().root()).ok());
        let here = inside
            .and_then(Path::to_str)
            .and_then(|path| RepoPath::new(path).ok());
        Ok(workspace
            .finder()
            .task_around(here.as_ref())?
            .map(|(task, _)| task))
    }
}

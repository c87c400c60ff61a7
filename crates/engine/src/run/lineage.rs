//! Whether a process descends from an executor. The environment does not matter, because a process can change
//! its own.

use super::files::RunFiles;
use super::process_tree::{self, ProcessEntry};
use super::record::{Process, RunState};

/// A process and its ancestors, the process first.
pub struct Lineage(Vec<(i32, ProcessEntry)>);

/// The longest chain that is followed. A real one has a dozen members.
const LONGEST: usize = 1000;

impl Lineage {
    /// The lineage of a process, as far as the system shows it.
    #[must_use]
    pub fn of(process: u32) -> Self {
        let mut line = Vec::new();
        let mut next = i32::try_from(process).ok();
        while let Some(entry) = next
            .and_then(process_tree::look)
            .filter(|_| line.len() < LONGEST)
        {
            let pid = next.unwrap_or_default();
            next = Some(entry.parent).filter(|parent| *parent > 0);
            line.push((pid, entry));
        }
        Self(line)
    }

    /// Whether an ancestor is an `orch run`, of any repository: what an executor deletes or clones hides its run,
    /// not its parents.
    #[must_use]
    pub fn is_below_a_run(&self) -> bool {
        self.0
            .iter()
            .skip(1)
            .any(|(pid, _)| process_tree::is_orch_run(*pid))
    }

    /// The ancestors of the process, its parent first, with their start times.
    pub(super) fn ancestors(&self) -> impl Iterator<Item = (i32, u64)> {
        self.0
            .iter()
            .skip(1)
            .map(|(pid, entry)| (*pid, entry.started))
    }

    /// The run whose executor, or whose executor's descendant, the process is; `None` if it is none of this
    /// task's. A process that left its group or lost its parent is a child of the process that drives the
    /// run.
    #[must_use]
    pub fn run_in(&self, files: &RunFiles) -> Option<RunState> {
        let run = files.read().ok().flatten()?;
        let group = run
            .unsettled()
            .and_then(|work| files.left_process(&run.name_of(work)));
        let is_in_group = group.is_some_and(|group| self.is_in(&group));
        let is_below = || {
            let driver = i32::try_from(run.pid).ok();
            self.0.iter().skip(1).any(|(pid, _)| Some(*pid) == driver) && files.is_driven()
        };
        (is_in_group || is_below()).then_some(run)
    }

    /// Whether the process or an ancestor is in this group, and not in a later one with the same number.
    fn is_in(&self, group: &Process) -> bool {
        let has_number = self.0.iter().any(|(_, entry)| entry.group == group.group);
        let is_same = || match (process_tree::started(group.group), group.started) {
            (Some(now), Some(then)) => now == then,
            _ => true,
        };
        has_number && group.is_of_this_boot() && is_same()
    }
}

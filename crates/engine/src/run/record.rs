//! The record of a run: its usage, the process that drives it, the work in progress, and how it ended.

use super::process_tree;
use orch_base::Timestamp;
use orch_core::decide::{Ending, LimitWait, Mode, Usage, Work};
use serde::{Deserialize, Serialize};
use std::fs;

/// The recorded state of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunState {
    /// The id: start time in seconds and process id, `SECONDS-PID`.
    pub id: String,
    /// The id of the process that drives it.
    pub pid: u32,
    /// Whether questions are asked or answered by their defaults.
    pub mode: Mode,
    /// When it started.
    pub started: Timestamp,
    /// When the record was last written.
    pub updated: Timestamp,
    /// The turns, time and cost it has consumed, and its failures.
    pub usage: Usage,
    /// The maximum number of turns.
    pub max_turns: u32,
    /// The command for all work that the run was started with, instead of the configured executors.
    pub command: Vec<String>,
    /// The limit that the executor of the last try met; the next one waits until it passes.
    pub met: Option<LimitWait>,
    /// Why its last executor worked without a fence; `None` if it has one, or nobody wants one.
    pub unfenced: Option<String>,
    /// Whether it is idle, working or over.
    pub standing: RunStanding,
}

/// What a run is doing.
#[derive(Debug, Clone, PartialEq)]
pub enum RunStanding {
    /// No executor is running, and no result is waiting to be recorded.
    Idle,
    /// An executor was started, and its result is not recorded yet.
    Working(WorkState),
    /// The run has ended.
    Ended {
        /// The kind of ending.
        ending: Ending,
        /// The reason for people.
        why: String,
        /// Work whose result could not be recorded; the next run records it first.
        kept: Option<WorkState>,
    },
}

/// Work that an executor was started for.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkState {
    /// The work, with the attempt and the precondition of its result.
    pub work: Work,
    /// The turn it is performed in.
    pub turn: Turn,
}

/// A turn: one start of an executor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// The number within the run, from 1.
    pub number: u32,
    /// When the turn began.
    pub started: Timestamp,
}

/// A process group, distinguishable from later groups with the same id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Process {
    /// The id of the group.
    pub group: i32,
    /// The start time of its leader, in clock ticks after boot.
    pub started: Option<u64>,
    /// The id of the boot in which the group was started.
    boot: Option<String>,
}

impl Process {
    /// A group that was started in the current boot.
    #[must_use]
    pub fn new(group: i32, started: Option<u64>) -> Self {
        Self {
            group,
            started,
            boot: boot(),
        }
    }

    /// This process.
    #[must_use]
    pub fn own() -> Self {
        let own = i32::try_from(std::process::id()).unwrap_or_default();
        Self::new(own, process_tree::started(own))
    }

    /// Whether the leader of the group is alive.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        let found = process_tree::look(self.group);
        self.is_of_this_boot()
            && found.is_some_and(|found| !found.is_dead && self.started == Some(found.started))
    }

    /// Whether the system has not been rebooted since.
    #[must_use]
    pub fn is_of_this_boot(&self) -> bool {
        self.boot == boot()
    }
}

/// The id of the current boot; `None` if the system has none.
pub(super) fn boot() -> Option<String> {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(id.trim().to_owned())
}

impl RunState {
    /// The work in progress, or that was in progress when the process died.
    #[must_use]
    pub fn work(&self) -> Option<&WorkState> {
        match &self.standing {
            RunStanding::Working(work) => Some(work),
            _ => None,
        }
    }

    /// The limit that the run waits for; `None` if it works or has ended.
    #[must_use]
    pub fn limit(&self) -> Option<&LimitWait> {
        match &self.standing {
            RunStanding::Idle => self.met.as_ref(),
            RunStanding::Working(_) | RunStanding::Ended { .. } => None,
        }
    }

    /// How it ended, and why.
    #[must_use]
    pub fn ended(&self) -> Option<(Ending, &str)> {
        match &self.standing {
            RunStanding::Ended { ending, why, .. } => Some((*ending, why)),
            _ => None,
        }
    }

    /// Work that must be recorded before anything else is done.
    #[must_use]
    pub fn unsettled(&self) -> Option<&WorkState> {
        match &self.standing {
            RunStanding::Idle => None,
            RunStanding::Working(work) => Some(work),
            RunStanding::Ended { kept, .. } => kept.as_ref(),
        }
    }

    /// Whether the next run continues this one within its remaining budget.
    #[must_use]
    pub fn goes_on(&self) -> bool {
        self.unsettled().is_some() || self.ended().is_none_or(|(ending, _)| ending.goes_on())
    }

    /// The common base name of the files of a turn.
    #[must_use]
    pub fn name_of(&self, work: &WorkState) -> String {
        format!("{}-{:04}-{}", self.id, work.turn.number, work.work.name())
    }
}

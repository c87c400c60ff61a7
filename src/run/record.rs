//! The record of a run: what it has used, who drives it, what is worked on, how it ended.

use crate::base::Timestamp;
use crate::decide::{Ending, Mode, Usage, Work};
use std::fs;

/// What is known of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct RunState {
    /// Its id.
    pub id: String,
    /// The process that drives it.
    pub pid: u32,
    /// How it goes about questions.
    pub mode: Mode,
    /// When it began.
    pub started: Timestamp,
    /// When it was last written.
    pub updated: Timestamp,
    /// What it has used.
    pub usage: Usage,
    /// How many turns it may use.
    pub max_turns: u32,
    /// Where it stands.
    pub standing: RunStanding,
}

/// Where a run stands.
#[derive(Debug, Clone, PartialEq)]
pub enum RunStanding {
    /// Between two turns.
    Idle,
    /// An executor was started, and what came of it is not settled.
    Working(WorkState),
    /// It is over.
    Ended {
        /// How.
        ending: Ending,
        /// Why.
        why: String,
        /// Work whose result is there and could not be recorded; the next run takes it in first.
        kept: Option<WorkState>,
    },
}

/// Something that an executor was started for.
#[derive(Debug, Clone, PartialEq)]
pub struct WorkState {
    /// What it does.
    pub work: Work,
    /// In which turn.
    pub turn: Turn,
}

/// A turn: one start of an executor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Turn {
    /// Its number in the run, from 1.
    pub number: u32,
    /// When it began.
    pub started: Timestamp,
    /// The processes that work in it, once they are known.
    pub process: Option<Process>,
}

/// A process group, told apart from others that have had its number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Process {
    /// Its number.
    pub group: i32,
    /// When its leader was started, as the system counts.
    pub started: Option<u64>,
    /// The start of the system in which it has that number.
    pub(super) boot: Option<String>,
}

impl Process {
    /// A group of now.
    #[must_use]
    pub fn new(group: i32, started: Option<u64>) -> Self {
        Self { group, started, boot: boot() }
    }

    /// Whether the system has not been started anew since.
    #[must_use]
    pub fn is_of_this_boot(&self) -> bool {
        self.boot == boot()
    }
}

/// What the system calls the time since it was started; `None` where it has no name for it.
fn boot() -> Option<String> {
    let id = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(id.trim().to_owned())
}

impl RunState {
    /// What is worked on now, or was when its process died.
    #[must_use]
    pub fn work(&self) -> Option<&WorkState> {
        match &self.standing {
            RunStanding::Working(work) => Some(work),
            _ => None,
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

    /// What is to be settled before anything else is done.
    #[must_use]
    pub fn unsettled(&self) -> Option<&WorkState> {
        match &self.standing {
            RunStanding::Idle => None,
            RunStanding::Working(work) => Some(work),
            RunStanding::Ended { kept, .. } => kept.as_ref(),
        }
    }

    /// Whether the next run goes on with it, on what is left of its limits.
    #[must_use]
    pub fn goes_on(&self) -> bool {
        self.unsettled().is_some() || self.ended().is_none_or(|(ending, _)| ending.goes_on())
    }

    /// What the files of a turn are called, without their ends.
    #[must_use]
    pub fn name_of(&self, work: &WorkState) -> String {
        format!("{}-{:04}-{}", self.id, work.turn.number, work.work.name())
    }
}

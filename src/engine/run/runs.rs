//! Who runs what.

use super::super::{Engine, TaskRef};
use crate::base::{Diagnostic, Timestamp};
use crate::run::{Fault, Files, RunState};

/// A run, as it is known.
pub struct RunInfo {
    /// The task.
    pub task: TaskRef,
    /// What its record says.
    pub run: RunState,
    /// Whether a process drives it now.
    pub is_driven: bool,
}

impl Engine {
    /// Every run that is known, of tasks in their order, and which records cannot be read.
    #[must_use]
    pub fn runs(&self) -> (Vec<RunInfo>, Vec<Diagnostic>) {
        let (mut runs, mut unreadable) = (Vec::new(), Vec::new());
        for task in self.tasks() {
            let files = Files::of(&self.root, &task.directory);
            match files.read() {
                Ok(None) => {}
                Ok(Some(run)) => runs.push(RunInfo { is_driven: files.is_driven(), task, run }),
                Err(Fault::Unreadable(problem)) => unreadable.push(*problem),
                Err(Fault::Store(error)) => unreadable.push(Diagnostic::error("io", error.to_string())),
            }
        }
        (runs, unreadable)
    }
}

impl RunInfo {
    /// How it stands, in a word: `running`, `interrupted`, or how it ended.
    #[must_use]
    pub fn standing(&self) -> &'static str {
        match (self.run.ended(), self.is_driven) {
            (None, true) => "running",
            (None, false) => "interrupted",
            (Some((ending, _)), _) => ending.as_str(),
        }
    }

    /// Since when it is what it is, as far as its record tells.
    #[must_use]
    pub fn since(&self) -> Timestamp {
        if self.run.ended().is_none() && self.is_driven { self.run.started } else { self.run.updated }
    }
}

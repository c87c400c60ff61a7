//! Who holds a task, and the answers of `orch take` and `orch release`.

use super::brief::Brief;
use super::wire::Finding;
use super::{Repository, Suggestion};
use orch_base::Diagnostic;
use orch_core::lease::Lease;
use serde::{Deserialize, Serialize};

/// That an owner works on a task: a lease that has not ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct LeaseView {
    /// The name of the owner.
    pub owner: String,
    /// Whether that is the work tree that was asked.
    pub own: bool,
    /// The generation, which is larger than that of each holder before.
    pub generation: u64,
    /// When the task was taken, in UTC.
    #[cfg_attr(test, schemars(extend("format" = "date-time")))]
    pub since: String,
    /// When the lease ends unless it is renewed, in UTC.
    #[cfg_attr(test, schemars(extend("format" = "date-time")))]
    pub until: String,
    /// The machine and the work tree of the owner.
    pub place: String,
    /// The branch of that work tree; null if its HEAD is detached.
    pub branch: Option<String>,
    /// The run that took the task and releases it; null if it was taken by hand.
    pub run: Option<String>,
    /// How many seconds ago this was seen in a store of leases that clones share; null for a lease of this clone.
    pub seen: Option<u64>,
}

impl LeaseView {
    /// A lease as outputs show it; `own` says whether it is that of the work tree that asks.
    #[must_use]
    pub fn of(lease: &Lease, own: bool) -> Self {
        Self {
            owner: lease.owner.name.clone(),
            own,
            generation: lease.generation,
            since: lease.since.to_string(),
            until: lease.until.to_string(),
            place: lease.place.clone(),
            branch: lease.branch.clone(),
            run: lease.run.clone(),
            seen: None,
        }
    }

    /// The same, seen so many seconds ago in a store that clones share.
    #[must_use]
    pub fn seen_ago(self, seconds: Option<u64>) -> Self {
        Self {
            seen: seconds,
            ..self
        }
    }

    /// Who holds the task until when, for people.
    #[must_use]
    pub fn words(&self) -> String {
        let until = &self.until;
        let seen = self.seen.map(|seconds| match seconds {
            0..120 => format!(", seen {seconds} s ago"),
            _ => format!(", seen {} min ago", seconds / 60),
        });
        let seen = seen.unwrap_or_default();
        if self.own {
            format!("held by this work tree until {until}")
        } else {
            format!(
                "held by {} until {until}, in {}{seen}",
                self.owner, self.place
            )
        }
    }

    /// The same in a few words, for a line among others.
    pub(super) fn short(&self) -> String {
        if self.own {
            "held here".to_owned()
        } else {
            format!("held by {}", self.owner)
        }
    }
}

/// A task that was taken, and what to do now about it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TakeAnswer {
    /// What to do now; null if no task was free.
    pub task: Option<Brief>,
    /// The lease; null if no task was free.
    pub lease: Option<LeaseView>,
    /// Whether this work tree held the task before.
    pub renewed: bool,
    /// The lease of another that had ended or was broken; null if there was none.
    pub over: Option<LeaseView>,
    /// Findings that do not belong to the task.
    pub diagnostics: Vec<Finding>,
}

super::json::documents! { TakeAnswer = "take" }

impl TakeAnswer {
    /// That no task was free.
    #[must_use]
    pub fn none(diagnostics: &[Diagnostic]) -> Self {
        Self {
            task: None,
            lease: None,
            renewed: false,
            over: None,
            diagnostics: diagnostics.iter().map(Finding::of).collect(),
        }
    }

    /// A task that was taken, with the suggestion for it.
    #[must_use]
    pub fn of(suggestion: &Suggestion, taken: &TakenView, diagnostics: &[Diagnostic]) -> Self {
        Self {
            task: Some(Brief::of(suggestion)),
            lease: Some(taken.lease.clone()),
            renewed: taken.renewed,
            over: taken.over.clone(),
            diagnostics: diagnostics.iter().map(Finding::of).collect(),
        }
    }

    /// The same as text: as `orch suggest --brief` says it, and who holds the task.
    #[must_use]
    pub fn text(&self) -> String {
        let (Some(task), Some(lease)) = (&self.task, &self.lease) else {
            return "No task is free.\n".to_owned();
        };
        let mut out = task.text();
        if let Some(over) = &self.over {
            out.push_str(&format!("  taken over from {}\n", over.owner));
        }
        out.push_str(&format!(
            "  held by {} until {}, generation {}\n  $ orch release {}\n",
            lease.owner, lease.until, lease.generation, task.task
        ));
        out
    }
}

/// The leases around taking a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TakenView {
    /// The lease.
    pub lease: LeaseView,
    /// Whether the task was held before by the same work tree.
    pub renewed: bool,
    /// The lease of another before.
    pub over: Option<LeaseView>,
}

/// A task that was given back.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ReleaseAnswer {
    /// The id of the task.
    pub task: String,
    /// The lease that has ended; null if nobody held the task.
    pub lease: Option<LeaseView>,
}

super::json::documents! { ReleaseAnswer = "release" }

/// The tasks that somebody could go on with now.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FreeTasks {
    /// The repository that was read.
    pub repository: Repository,
    /// The tasks, the first to be taken first.
    pub tasks: Vec<FreeTask>,
    /// The number of tasks that would be free if nobody held them.
    pub held: usize,
    /// Findings that do not belong to a single task.
    pub diagnostics: Vec<Finding>,
}

super::json::documents! { FreeTasks = "free" }

/// A task that somebody could go on with now.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct FreeTask {
    /// The id of the task.
    pub task: String,
    /// The title.
    pub title: Option<String>,
    /// The current phase; null if the state names none.
    pub current_phase: Option<String>,
    /// What has to be done, in a few words.
    pub what: String,
    /// How urgent it is: `urgent`, `high`, `normal` or `low`.
    pub priority: &'static str,
    /// How many tasks wait on the longest chain behind it.
    pub behind: usize,
    /// Who is to do it; null if nobody is named.
    pub assignee: Option<String>,
    /// The branch or work tree where it is furthest; null if that is here.
    pub place: Option<String>,
}

impl FreeTasks {
    /// The tasks as text: a line each.
    #[must_use]
    pub fn text(&self, paint: super::Paint, width: usize) -> String {
        use super::layout::{counted, id_cell, plain, styled, table};
        let mut out = String::new();
        if self.tasks.is_empty() {
            out.push_str("No task is free.\n");
        }
        let row = |task: &FreeTask| {
            let mut notes = Vec::new();
            if task.priority != "normal" {
                notes.push(task.priority.to_owned());
            }
            if task.behind > 0 {
                notes.push(format!("{} behind it", counted(task.behind, "task")));
            }
            notes.extend(task.assignee.iter().map(|name| format!("for {name}")));
            notes.extend(task.place.iter().map(|place| format!("on {place}")));
            vec![
                id_cell(&task.task),
                plain(task.current_phase.as_deref().unwrap_or("(no phase)")),
                plain(task.what.as_str()),
                styled(notes.join(", "), super::Style::Dim),
                styled(task.title.as_deref().unwrap_or_default(), super::Style::Dim),
            ]
        };
        let rows: Vec<_> = self.tasks.iter().map(row).collect();
        out.extend(table(&rows, &[0], 0, paint, width));
        if self.held > 0 {
            out.push_str(&format!(
                "{} held: orch status\n",
                counted(self.held, "task")
            ));
        }
        for finding in &self.diagnostics {
            super::text::problem(&mut out, finding, 0, paint, width);
        }
        out
    }
}

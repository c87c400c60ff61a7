//! `orch relate`: says how a task relates to others.

use super::prelude::{Args, Context, ExitCode, Failure, LockArgs, Ui};
use super::report;
use clap::builder::PossibleValuesParser;
use orch_core::decide::Priority;
use orch_engine::apply::RelationWish;

/// Say how a task relates to others: what it waits for, what it is part of, how urgent it is, and who is to do it.
///
/// A task that waits for others does not begin before they are done: as long as it is in the first phase of its workflow and
/// has no output, no step of it is due, and it belongs to nobody's work. A task that is part of another one is what that
/// one's workflow sees as `children`; the shipped workflow `epic` is done when they are. Priority and assignee say who takes
/// what first, and close nothing.
///
/// Each change is one commit. A change that would close a circle is refused with its path. `orch graph` shows all relations,
/// and a rename carries them along.
#[derive(Debug, Args)]
pub struct RelateArgs {
    /// The task; optional if the current directory, the branch name or a single open task identifies it.
    task: Option<String>,
    #[command(flatten)]
    said: SaidRelations,
    /// Wait for these tasks no longer.
    #[arg(long, value_name = "TASKS", value_delimiter = ',')]
    not_after: Vec<String>,
    /// Be part of no other task.
    #[arg(long, conflicts_with = "parent")]
    no_parent: bool,
    /// Say nothing about how urgent it is.
    #[arg(long, conflicts_with = "priority")]
    no_priority: bool,
    /// Leave open who is to do it.
    #[arg(long, conflicts_with = "assignee")]
    no_assignee: bool,
    /// Write nothing; print what would happen.
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    pub locks: LockArgs,
}

/// What is said of the relations of a task, old or new.
#[derive(Debug, Clone, Args)]
pub struct SaidRelations {
    /// Wait until these tasks are done; several with commas, or the option again.
    #[arg(long, value_name = "TASKS", value_delimiter = ',')]
    after: Vec<String>,
    /// Be part of this task.
    #[arg(long, value_name = "TASK")]
    parent: Option<String>,
    /// How urgent it is.
    #[arg(long, value_name = "PRIORITY", value_parser = PossibleValuesParser::new(Priority::ALL.map(Priority::as_str)))]
    priority: Option<String>,
    /// Who is to do it.
    #[arg(long, value_name = "NAME")]
    assignee: Option<String>,
}

impl SaidRelations {
    /// What is wanted, as far as it is said.
    pub(super) fn wish(&self) -> RelationWish {
        let priority = self.priority.as_deref().and_then(Priority::named);
        RelationWish {
            after: self.after.clone(),
            not_after: Vec::new(),
            parent: self.parent.clone().map(Some),
            priority: priority.map(Some),
            assignee: self.assignee.clone().map(Some),
        }
    }
}

impl RelateArgs {
    fn wish(&self) -> RelationWish {
        let mut wish = self.said.wish();
        wish.not_after.clone_from(&self.not_after);
        if self.no_parent {
            wish.parent = Some(None);
        }
        if self.no_priority {
            wish.priority = Some(None);
        }
        if self.no_assignee {
            wish.assignee = Some(None);
        }
        wish
    }
}

pub fn run(args: &RelateArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let workspace = context.workspace(ui)?;
    let task = report::meant(&workspace, context, args.task.as_deref())?;
    let wish = args.wish();
    let relate = context.writer(&workspace).relate();
    let done = relate.task(&task, &wish, args.dry_run)?;
    report::applied(&workspace, context, ui, &done, args.dry_run)?;
    Ok(ExitCode::Fine)
}

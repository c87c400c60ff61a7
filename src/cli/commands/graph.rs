//! `orch graph`: how tasks relate to one another.

use super::prelude::{Args, Context, ExitCode, Failure, Ui};
use orch_core::decide::RelationGraph;
use orch_engine::gather;
use orch_view::{GraphLabel, TaskGraph};
use std::collections::BTreeMap;

/// Show how tasks relate to one another: what waits for what, and what is part of what.
///
/// Prints a tree: parts below the task of which they are part, each with its phase and what it waits for. Below it stands the
/// critical path, the longest chain of open tasks of which each waits for the one before. With `--format mermaid`, prints a
/// flowchart that GitHub, GitLab and many editors draw: an arrow leads to whatever waits.
///
/// Without TASK, all tasks that are related to another one. Exits with 1 if tasks wait for one another in a circle, or one is
/// related to a task that does not exist.
#[derive(Debug, Args)]
pub struct GraphArgs {
    /// Show only what is related to these tasks, over however many others.
    tasks: Vec<String>,
    /// The form of the graph.
    #[arg(long, value_name = "FORMAT", default_value = "tree")]
    format: GraphFormat,
    /// Read the tasks from commit REV instead of the work tree.
    #[arg(long, value_name = "REV")]
    at: Option<String>,
}

/// The form of a graph.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
enum GraphFormat {
    /// A tree for the terminal.
    Tree,
    /// A flowchart of Mermaid.
    Mermaid,
}

pub fn run(args: &GraphArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let workspace = context.workspace_at(ui, args.at.as_deref())?;
    let wanted = gather::named(&workspace, &args.tasks)?;
    let wanted: Vec<_> = wanted.into_iter().map(|task| task.id).collect();
    let finder = workspace.finder();
    let glimpses = finder.glimpses(&finder.tasks()?)?;
    let mut labels = BTreeMap::new();
    let mut nodes = Vec::new();
    for glimpse in glimpses {
        let phase = glimpse.seen.as_ref().map(|seen| seen.phase.to_string());
        let title = glimpse.title;
        labels.insert(glimpse.node.id.clone(), GraphLabel { title, phase });
        nodes.push(glimpse.node);
    }
    let graph = RelationGraph::new(nodes);
    let repository = workspace.reader().repository()?;
    let shown = TaskGraph::new(repository, &graph, &labels, &wanted);
    if context.global.json {
        ui.document(&shown)?;
    } else if args.format == GraphFormat::Mermaid {
        context.page(ui, &shown.mermaid())?;
    } else {
        context.page(ui, &shown.text(ui.paint, ui.width))?;
    }
    Ok(if shown.diagnostics.is_empty() {
        ExitCode::Fine
    } else {
        ExitCode::No
    })
}

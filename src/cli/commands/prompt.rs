//! `orch prompt`: the complete instruction for the current phase.

use super::prelude::{Args, Context, ExitCode, Failure, Ui};
use super::report;
use orch_engine::drive;
use orch_view::SchemaForm;

/// Print the complete instruction for the current phase, ready to pipe into an agent.
///
/// Contains why the task is in this phase, what reviewers objected to, the instructions, the files to read, and for
/// each file to write its path, its fields and an example that moves the task on. If an action is due, it contains
/// the relevant state and the form of the result. Writes nothing. Exits with 1 if the task is in error.
#[derive(Debug, Args)]
pub struct PromptArgs {
    /// The task; optional if the current directory, the branch name or a single open task identifies it.
    task: Option<String>,
    /// How much of each schema to print.
    #[arg(long, value_name = "FORM", default_value = "compact")]
    schema: SchemaShown,
}

/// How much of a schema is printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, clap::ValueEnum)]
pub enum SchemaShown {
    /// Names, types and required fields.
    Compact,
    /// The whole schema.
    Full,
}

pub fn run(args: &PromptArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let workspace = context.workspace(ui)?;
    let task = report::meant(&workspace, context, args.task.as_deref())?;
    let form = match args.schema {
        SchemaShown::Compact => SchemaForm::Compact,
        SchemaShown::Full => SchemaForm::Full,
    };
    let sight = workspace.look(&task)?;
    let text = drive::prompt(&workspace, &sight, None, form);
    if context.global.json {
        ui.document(&orch_view::PromptAnswer {
            task: task.id.to_string(),
            prompt: text,
        })?;
    } else {
        context.page(ui, &text)?;
    }
    Ok(report::exit_for(&sight))
}

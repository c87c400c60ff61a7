//! The command line as clap sees it: global options here, each command's own in its file.

use super::commands::{
    answer, approve, audit, check, completions, confirm, demo, explain, hook, init, log, merge_driver, new,
    next, pause, prompt, recover, reopen, resolve, resume, rollback, run, runs, schema, status, stop,
    suggest, watch, workflow,
};
use super::ui::Colour;
use clap::{ArgAction, Args, Parser, Subcommand};
use std::path::PathBuf;

/// A file-watching state machine agent for repositories: says which phase each task is in and why,
/// what comes next, and commits every transition together with its proof.
#[derive(Debug, Parser)]
#[command(name = "orch", version, propagate_version = true, disable_help_subcommand = true)]
pub struct Cli {
    /// Options that every command takes.
    #[command(flatten)]
    pub global: Global,
    /// The command; without one it is `status`.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// Options that every command takes.
#[derive(Debug, Clone, Args)]
pub struct Global {
    /// Run as if started in DIR.
    #[arg(short = 'C', value_name = "DIR", global = true)]
    pub directory: Option<PathBuf>,
    /// Print the answer as exactly one JSON document (a line each for `watch`).
    #[arg(long, global = true)]
    pub json: bool,
    /// Say nothing but the answer and what is wrong.
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// Report on stderr what orch does; twice for every detail.
    #[arg(short, long, action = ArgAction::Count, conflicts_with = "quiet", global = true)]
    pub verbose: u8,
    /// When to use colour.
    #[arg(long, value_name = "WHEN", default_value = "auto", global = true)]
    pub color: Colour,
}

/// Every command.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Set up a repository for orch.
    Init(init::InitArgs),
    /// Create a task, or adopt a directory as one.
    New(new::NewArgs),
    /// Say what comes next, and why.
    Suggest(suggest::SuggestArgs),
    /// Print the whole instruction for the current phase, ready to pipe into an agent.
    Prompt(prompt::PromptArgs),
    /// Print a schema, or an example that it accepts.
    Schema(schema::SchemaArgs),
    /// Show every rule tried, which part of its guard was false, and the values it saw.
    Explain(explain::ExplainArgs),
    /// Show one line a task.
    Status(status::StatusArgs),
    /// Run the agents of a task, action by action, until the rules ask for nothing more.
    Run(run::RunArgs),
    /// Let a run end after the action that is going on.
    Pause(pause::PauseArgs),
    /// Go on with a run that was paused.
    Resume(resume::ResumeArgs),
    /// End a run, and the action that is going on.
    Stop(stop::StopArgs),
    /// Answer what a task waits for.
    Answer(answer::AnswerArgs),
    /// Show who runs what.
    Runs(runs::RunsArgs),
    /// Validate artifacts and state.
    Check(check::CheckArgs),
    /// Agree, as a person, to what a rule leaves to people.
    Approve(approve::ApproveArgs),
    /// Replay history, and say what is proven.
    Audit(audit::AuditArgs),
    /// Apply the decided transition, or override it with a reason.
    Next(next::NextArgs),
    /// Say that unchanged bytes are right: redone, the same, and meant so.
    Confirm(confirm::ConfirmArgs),
    /// Send a task back to an earlier phase.
    Rollback(rollback::RollbackArgs),
    /// Open a finished task again.
    Reopen(reopen::ReopenArgs),
    /// Rebuild a lost or broken state.
    Recover(recover::RecoverArgs),
    /// Settle the state of tasks that two branches moved.
    Resolve(resolve::ResolveArgs),
    /// Merge a state for git.
    #[command(hide = true)]
    MergeDriver(merge_driver::MergeDriverArgs),
    /// Show a task's history with its evidence.
    Log(log::LogArgs),
    /// Watch the tasks, and commit what the rules decide.
    Watch(watch::WatchArgs),
    /// List, show, check, format, draw or make workflows.
    #[command(subcommand)]
    Workflow(workflow::WorkflowCommand),
    /// Install, remove or show the hooks of git that judge commits and pushes.
    #[command(subcommand)]
    Hook(hook::HookCommand),
    /// Build a sample repository and play a whole lifecycle in it.
    Demo(demo::DemoArgs),
    /// Print completions for a shell.
    Completions(completions::CompletionsArgs),
    /// Explain a command, or `exit-codes`.
    Help(super::commands::help::HelpArgs),
}

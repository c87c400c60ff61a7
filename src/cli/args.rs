//! The command line, parsed by clap: the global options here, the options of each command in its own file.

#[cfg(feature = "board")]
use super::commands::board;
#[cfg(feature = "mcp")]
use super::commands::mcp;
#[cfg(feature = "repl")]
use super::commands::repl;
#[cfg(feature = "api")]
use super::commands::serve;
use super::commands::{
    answer, approve, archive, audit, check, ci, completions, confirm, demo, diff, doctor, draft,
    explain, free, generate, graph, hook, init, log, lsp, man, merge_driver, migrate, new, next,
    pause, pr, prompt, recover, reject, relate, release, rename, reopen, resolve, resume, review,
    rollback, run, runs, schema, show, status, stop, suggest, take, trust, undo, verify, watch,
    work, workflow, worktrees,
};
use super::lock_args::LockArgs;
use super::ui::Colour;
use clap::{ArgAction, Args, FromArgMatches, Parser, Subcommand};
use orch_base::Period;
use std::ffi::OsString;
use std::path::PathBuf;

/// A file-watching state machine agent for git repositories.
///
/// orch works out from a task's files which phase the task is in and what comes next, and commits every
/// transition together with its evidence. Without a command it runs `orch status`.
#[derive(Debug, Parser)]
#[command(
    name = "orch",
    version,
    propagate_version = true,
    disable_help_subcommand = true
)]
pub struct Cli {
    /// The options of every command.
    #[command(flatten)]
    pub global: Global,
    /// The command; default: `status`.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// The options of every command.
#[derive(Debug, Clone, Args)]
#[command(next_help_heading = "Global options")]
pub struct Global {
    /// Run as if started in DIR.
    #[arg(short = 'C', value_name = "DIR", global = true)]
    pub directory: Option<PathBuf>,
    /// Print one JSON document on stdout (for `watch`: one per line).
    #[arg(long, global = true)]
    pub json: bool,
    /// Print only the answer and problems.
    #[arg(short, long, global = true)]
    pub quiet: bool,
    /// Report on stderr what orch does; repeat for more detail (`-vv`).
    #[arg(short, long, action = ArgAction::Count, conflicts_with = "quiet", global = true)]
    pub verbose: u8,
    /// When to use colour.
    #[arg(long, value_name = "WHEN", default_value = "auto", global = true)]
    pub color: Colour,
    /// Never show a long answer in a pager.
    #[arg(long, global = true)]
    pub no_pager: bool,
    /// The task of a command that names none.
    #[arg(long = "use", value_name = "TASK", global = true, hide = true)]
    pub task_in_use: Option<String>,
}

/// The commands, in the order of `orch --help`.
#[derive(Debug, Subcommand)]
#[command(defer = true)]
#[expect(
    missing_docs,
    reason = "the manual of a command is the doc comment of its arguments"
)]
pub enum Command {
    Status(status::StatusArgs),
    Suggest(suggest::SuggestArgs),
    Free(free::FreeArgs),
    Show(show::ShowArgs),
    Explain(explain::ExplainArgs),
    #[cfg(feature = "board")]
    Board(board::BoardArgs),
    Graph(graph::GraphArgs),
    Log(log::LogArgs),
    Diff(diff::DiffArgs),
    Pr(pr::PrArgs),
    New(new::NewArgs),
    Take(take::TakeArgs),
    Release(release::ReleaseArgs),
    Prompt(prompt::PromptArgs),
    Draft(draft::DraftArgs),
    Schema(schema::SchemaArgs),
    Next(next::NextArgs),
    Verify(verify::VerifyArgs),
    Relate(relate::RelateArgs),
    Migrate(migrate::MigrateArgs),
    Rename(rename::RenameArgs),
    Archive(archive::ArchiveArgs),
    Check(check::CheckArgs),
    Watch(watch::WatchArgs),
    #[cfg(feature = "repl")]
    Repl(repl::ReplArgs),
    Run(run::RunArgs),
    Runs(runs::RunsArgs),
    Work(work::WorkArgs),
    Worktrees(worktrees::WorktreesArgs),
    Pause(pause::PauseArgs),
    Resume(resume::ResumeArgs),
    Stop(stop::StopArgs),
    Answer(answer::AnswerArgs),
    Generate(generate::GenerateArgs),
    Lsp(lsp::LspArgs),
    #[cfg(feature = "mcp")]
    Mcp(mcp::McpArgs),
    #[cfg(feature = "api")]
    Serve(serve::ServeArgs),
    Review(review::ReviewArgs),
    Approve(approve::ApproveArgs),
    Reject(reject::RejectArgs),
    Confirm(confirm::ConfirmArgs),
    Rollback(rollback::RollbackArgs),
    #[command(visible_alias = "redo")]
    Reopen(reopen::ReopenArgs),
    Undo(undo::UndoArgs),
    Ci(ci::CiArgs),
    Audit(audit::AuditArgs),
    Recover(recover::RecoverArgs),
    Resolve(resolve::ResolveArgs),
    #[command(hide = true)]
    MergeDriver(merge_driver::MergeDriverArgs),
    /// Install, remove and show the git hooks that check commits and pushes.
    #[command(subcommand)]
    Hook(hook::HookCommand),
    Init(init::InitArgs),
    /// Create, check, format and draw workflows.
    #[command(subcommand)]
    Workflow(workflow::WorkflowCommand),
    Trust(trust::TrustArgs),
    Doctor(doctor::DoctorArgs),
    Demo(demo::DemoArgs),
    Completions(completions::CompletionsArgs),
    Man(man::ManArgs),
    Help(super::commands::help::HelpArgs),
}

impl Cli {
    /// Parses arguments, of which the first names the program, and makes no command but the one that they name. Returns an
    /// error if they are faulty or ask for help; it knows nothing of other commands.
    pub(super) fn of(arguments: &[OsString]) -> Result<Self, clap::Error> {
        let line = clap::Command::new("orch")
            .version(env!("CARGO_PKG_VERSION"))
            .propagate_version(true);
        let line = Global::augment_args(line.disable_help_subcommand(true));
        let all = Command::augment_subcommands(clap::Command::new("orch"));
        let words = arguments.iter().skip(1).filter_map(|word| word.to_str());
        let named = words.filter_map(|word| all.find_subcommand(word)).next();
        let matches = line
            .subcommands(named.cloned())
            .try_get_matches_from(arguments)?;
        Self::from_arg_matches(&matches)
    }
}

impl Command {
    /// How long the command waits for locks, if its options say.
    pub(super) fn wait(&self) -> Option<Period> {
        let locks = match self {
            Self::New(args) => args.locks,
            Self::Next(args) => args.locks,
            Self::Verify(args) => args.locks,
            Self::Answer(args) => args.locks,
            Self::Review(args) => args.locks,
            Self::Approve(args) => args.locks,
            Self::Reject(args) => args.locks,
            Self::Confirm(args) => args.locks,
            Self::Rollback(args) => args.locks,
            Self::Reopen(args) => args.locks,
            Self::Undo(args) => args.locks,
            Self::Relate(args) => args.locks,
            Self::Migrate(args) => args.locks,
            Self::Rename(args) => args.locks,
            Self::Archive(args) => args.locks,
            Self::Take(args) => args.locks,
            Self::Release(args) => args.locks,
            Self::Resolve(args) => args.locks,
            _ => LockArgs::default(),
        };
        locks.wait
    }
}

//! One file per command: the doc comment of `XArgs` is the manual, and `run` executes it.

pub mod answer;
pub mod approve;
pub mod archive;
pub mod audit;
#[cfg(feature = "board")]
pub mod board;
pub mod check;
pub mod ci;
mod codes;
pub mod completions;
pub mod confirm;
pub mod demo;
pub mod diff;
pub mod doctor;
pub mod draft;
pub mod explain;
#[cfg(all(test, feature = "api", feature = "mcp"))]
mod face_tests;
#[cfg(all(feature = "api", feature = "mcp", feature = "repl"))]
mod faces;
pub mod free;
pub mod generate;
pub mod graph;
pub mod help;
pub mod hook;
pub mod init;
pub mod log;
pub mod lsp;
pub mod man;
#[cfg(feature = "mcp")]
pub mod mcp;
pub mod merge_driver;
pub mod migrate;
pub mod new;
pub mod next;
pub mod pause;
pub mod pr;
mod prelude;
pub mod prompt;
pub mod recover;
mod reference_text;
pub mod reject;
pub mod relate;
pub mod release;
pub mod rename;
pub mod reopen;
#[cfg(feature = "repl")]
pub mod repl;
mod report;
pub mod resolve;
pub mod resume;
pub mod review;
pub mod rollback;
pub mod run;
pub mod runs;
pub mod schema;
#[cfg(feature = "api")]
pub mod serve;
pub mod show;
pub mod status;
pub mod stop;
pub mod suggest;
pub mod take;
pub mod trust;
pub mod undo;
pub mod verify;
pub mod watch;
pub mod work;
pub mod workflow;
pub mod worktrees;

pub use codes::codes;
#[cfg(all(feature = "api", feature = "mcp", feature = "repl"))]
pub use faces::faces;
pub use reference_text::reference;

use super::{Command, Context, ExitCode, Failure, Ui};
use orch_engine::drive::FENCED_VARIABLE;

pub(super) fn run(
    command: Option<Command>,
    context: &Context,
    ui: &Ui,
) -> Result<ExitCode, Failure> {
    let result = match command {
        None => status::run(&status::StatusArgs::default(), context, ui),
        Some(Command::Init(args)) => init::run(&args, context, ui),
        Some(Command::New(args)) => new::run(&args, context, ui),
        Some(Command::Suggest(args)) => suggest::run(&args, context, ui),
        Some(Command::Free(args)) => free::run(&args, context, ui),
        Some(Command::Take(args)) => take::run(&args, context, ui),
        Some(Command::Release(args)) => release::run(&args, context, ui),
        Some(Command::Prompt(args)) => prompt::run(&args, context, ui),
        Some(Command::Draft(args)) => draft::run(&args, context, ui),
        Some(Command::Schema(args)) => schema::run(&args, context, ui),
        Some(Command::Explain(args)) => explain::run(&args, context, ui),
        Some(Command::Show(args)) => show::run(&args, context, ui),
        Some(Command::Status(args)) => status::run(&args, context, ui),
        Some(Command::Run(args)) => run::run(&args, context, ui),
        Some(Command::Pause(args)) => pause::run(&args, context, ui),
        Some(Command::Resume(args)) => resume::run(&args, context, ui),
        Some(Command::Stop(args)) => stop::run(&args, context, ui),
        Some(Command::Answer(args)) => answer::run(&args, context, ui),
        Some(Command::Generate(args)) => generate::run(&args, context, ui),
        Some(Command::Runs(args)) => runs::run(&args, context, ui),
        Some(Command::Work(args)) => work::run(&args, context, ui),
        Some(Command::Worktrees(args)) => worktrees::run(&args, context, ui),
        Some(Command::Lsp(args)) => lsp::run(&args, context, ui),
        #[cfg(feature = "mcp")]
        Some(Command::Mcp(args)) => mcp::run(&args, context, ui),
        #[cfg(feature = "api")]
        Some(Command::Serve(args)) => serve::run(&args, context, ui),
        Some(Command::Trust(args)) => trust::run(&args, context, ui),
        Some(Command::Doctor(args)) => doctor::run(&args, context, ui),
        #[cfg(feature = "board")]
        Some(Command::Board(args)) => board::run(&args, context, ui),
        Some(Command::Check(args)) => check::run(&args, context, ui),
        Some(Command::Ci(args)) => ci::run(&args, context, ui),
        Some(Command::Approve(args)) => approve::run(&args, context, ui),
        Some(Command::Review(args)) => review::run(&args, context, ui),
        Some(Command::Audit(args)) => audit::run(&args, context, ui),
        Some(Command::Next(args)) => next::run(&args, context, ui),
        Some(Command::Verify(args)) => verify::run(&args, context, ui),
        Some(Command::Confirm(args)) => confirm::run(&args, context, ui),
        Some(Command::Rollback(args)) => rollback::run(&args, context, ui),
        Some(Command::Reopen(args)) => reopen::run(&args, context, ui),
        Some(Command::Undo(args)) => undo::run(&args, context, ui),
        Some(Command::Migrate(args)) => migrate::run(&args, context, ui),
        Some(Command::Relate(args)) => relate::run(&args, context, ui),
        Some(Command::Graph(args)) => graph::run(&args, context, ui),
        Some(Command::Rename(args)) => rename::run(&args, context, ui),
        Some(Command::Archive(args)) => archive::run(&args, context, ui),
        Some(Command::Reject(args)) => reject::run(&args, context, ui),
        Some(Command::Recover(args)) => recover::run(&args, context, ui),
        Some(Command::Resolve(args)) => resolve::run(&args, context, ui),
        Some(Command::MergeDriver(args)) => merge_driver::run(&args, context, ui),
        Some(Command::Diff(args)) => diff::run(&args, context, ui),
        Some(Command::Pr(args)) => pr::run(&args, context, ui),
        Some(Command::Log(args)) => log::run(&args, context, ui),
        Some(Command::Watch(args)) => watch::run(&args, context, ui),
        #[cfg(feature = "repl")]
        Some(Command::Repl(args)) => repl::run(&args, context, ui),
        Some(Command::Workflow(command)) => workflow::run(&command, context, ui),
        Some(Command::Hook(command)) => hook::run(&command, context, ui),
        Some(Command::Demo(args)) => demo::run(&args, context, ui),
        Some(Command::Completions(args)) => completions::run(&args, context, ui),
        Some(Command::Man(args)) => man::run(&args, context, ui),
        Some(Command::Help(args)) => help::run(&args, context, ui),
    };
    let is_fenced = context.caller.variables.get(FENCED_VARIABLE).is_some();
    result.map_err(|failure| {
        if is_fenced {
            failure.inside_fence()
        } else {
            failure
        }
    })
}

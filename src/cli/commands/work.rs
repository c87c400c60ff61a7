//! `orch work`: works on free tasks until it is told to stop.

use super::prelude::{Args, Context, ExitCode, Failure, Ui, threads};
use super::run::parallel::{self, ParallelRequest};
use orch_core::config::QueueAddress;
use orch_core::decide::Mode;
use orch_engine::drive::RunOptions;
use std::ffi::OsString;

/// Work on free tasks, each in a work tree of its own, until told to stop.
///
/// As `orch run --parallel`, but it waits for tasks that become free later: because somebody approved something, answered a
/// question, or created a task on the base branch. `[worktrees]` in orch.toml says where the work trees are, and what becomes of
/// the branch of a task that is done.
///
/// With `--remote`, several clones work on the tasks of one remote. It is fetched regularly; each task is taken in the store of
/// leases that the clones share (`[leases]` in orch.toml), and each step is pushed as it is recorded, with the renewal of its
/// lease. A branch that is done is joined with the base branch of the remote. Whoever loses the lease of a task stops working on
/// it, and pushes nothing more.
///
/// With `--queue`, it is woken for a task as soon as somebody could go on with it, by `orch watch` or `orch serve` of any clone
/// or by another worker, and looks at all tasks only every few minutes. While nothing is to be done, that costs nothing.
///
/// Ctrl-C or SIGTERM ends all runs, each as `orch run` ends: the executor is ended and the state kept, and whoever works next
/// goes on. A second one ends everything at once. Exits with 0 then.
#[derive(Debug, Args)]
pub struct WorkArgs {
    /// Work on at most N tasks at once.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    max: u16,
    /// Work on the tasks of this remote, beside the workers of other clones.
    #[arg(long, value_name = "REMOTE")]
    remote: Option<String>,
    /// Wait for wake-ups of the queue in NATS: `nats://HOST:PORT/BUCKET`, or the one beside the leases under [leases] in
    /// orch.toml.
    #[arg(long, value_name = "URL", num_args = 0..=1, value_parser = QueueAddress::parse)]
    queue: Option<Option<QueueAddress>>,
    /// Begin only tasks in these phases.
    #[arg(long, value_name = "PHASE", value_delimiter = ',')]
    phases: Vec<String>,
    /// Start executors at most N times in each run. Lowers the workflow's limit, never raises it.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    max_turns: Option<u32>,
    /// Start what orch.toml names even if nobody has trusted it; in CI, you can set ORCH_TRUST_ONCE=1 instead.
    #[arg(long)]
    trust_once: bool,
    /// The executor for all work: a program and its arguments, not passed through a shell.
    #[arg(last = true, value_name = "CMD")]
    command: Vec<String>,
}

pub fn run(args: &WorkArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    threads::require(threads::FEW)?;
    let workspace = context.workspace(ui)?;
    if args.trust_once {
        let words = ["orch", "work", "--trust-once"];
        context
            .writer(&workspace)
            .authority()
            .refuse_agent(&words)?;
    }
    context.keep_log(&workspace);
    let mut arguments: Vec<OsString> = vec!["--auto".into()];
    arguments.extend(
        args.max_turns
            .map(|turns| format!("--max-turns={turns}").into()),
    );
    arguments.extend(args.trust_once.then(|| "--trust-once".into()));
    let publish = args.remote.as_ref();
    arguments.extend(publish.map(|remote| format!("--publish={remote}").into()));
    let request = ParallelRequest {
        most: args.max.into(),
        tasks: Vec::new(),
        phases: &args.phases,
        goes_on: true,
        queue: args.queue.clone(),
        run: RunOptions {
            mode: Some(Mode::Auto),
            max_turns: args.max_turns,
            command: args.command.clone(),
            trust: args.trust_once,
            no_wait: false,
            publish: args.remote.clone(),
        },
        arguments,
        remote: args.remote.clone(),
    };
    parallel::run(request, &workspace, context, ui)
}

//! `orch watch`: commits transitions as files change.

use super::prelude::{Args, Context, ExitCode, Failure, Ui, threads};
use super::report;
use orch_base::{Code, Timestamp};
use orch_engine::drive::{
    LeaseWatch, WatchEffect, WatchEvent, WatchLoop, WatchMode, WatchPublisher, WatchVerifier,
    Watching,
};
use orch_engine::gather::happenings;
use orch_engine::notices::{FaultSink, Notifier};
use orch_engine::survey::Workspace;
use orch_view::{Finding, Happening};
use std::sync::Arc;

/// Watch the tasks and commit every transition that the rules decide.
///
/// Starts by evaluating all tasks; if there are more than 100, only those that have changed since an earlier watch.
/// Then evaluates each task as soon as its files have been quiet for a moment. Writes `suggestion.json` in each task
/// and commits each transition with its evidence. If a transition cannot be committed now, the watch says why and
/// tries again. Records when a deadline of a workflow has passed. Ctrl-C ends it.
///
/// Starts the programs of [[notify]] in orch.toml when a person is needed or a task is finished.
///
/// With `verify = true` under [watch] in orch.toml, it runs the verifications that are due, one after the other.
///
/// Keeps a diagnostic log in `.git/orch/orch.log`.
///
/// With `--once`, exits with 1 if a task is in error or cannot be evaluated, with 2 if there is nothing to judge although
/// something says that there should be, with 5 if a transition is held back, and with 70 after an internal fault.
#[derive(Debug, Args)]
pub struct WatchArgs {
    /// Evaluate all tasks once, apply what is due, and exit.
    #[arg(long)]
    once: bool,
    /// Write nothing; print what would happen.
    #[arg(long)]
    dry_run: bool,
    /// Poll at intervals instead of listening for file system events.
    #[arg(long)]
    poll: bool,
}

impl WatchArgs {
    fn mode(&self) -> WatchMode {
        if self.dry_run {
            WatchMode::DryRun
        } else {
            WatchMode::Apply
        }
    }
}

pub fn run(args: &WatchArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    threads::require(threads::FEW)?;
    let workspace = context.workspace(ui)?;
    if !args.dry_run {
        context.keep_log(&workspace);
    }
    if let Some(note) = workspace.reader().outside_git() {
        show(
            Happening::Finding {
                finding: Box::new(Finding::of(&note)),
            },
            context,
            ui,
        )?;
    }
    if args.once {
        return once(workspace, args, context, ui);
    }
    let mut notifier = notifier(args, context, ui);
    let mut verifier = (!args.dry_run).then(|| {
        let report = reported(context, ui);
        WatchVerifier::new(context.start.clone(), context.caller.clone(), report)
    });
    let _leases = LeaseWatch::begin(context.start.clone(), context.caller.clone());
    let mut publisher = WatchPublisher::default();
    let watch = WatchLoop::new(workspace, context.caller.clone(), args.mode(), args.poll)?;
    let handle = watch.handle();
    context.interrupts.instead(move || handle.stop());
    watch.run(&mut |workspace, effect| {
        give_word(&mut notifier, workspace, &effect, context, ui);
        if let Some(verifier) = &mut verifier {
            verifier.hear(workspace, &effect);
        }
        if !args.dry_run {
            publisher.hear(&context.writer(workspace), &effect);
        }
        print(workspace, effect, context, ui)
    })?;
    show(
        Happening::Stopped {
            reason: "interrupted".to_owned(),
        },
        context,
        ui,
    )?;
    Ok(ExitCode::Fine)
}

/// Evaluates all tasks once and applies what is due.
fn once(
    workspace: Workspace,
    args: &WatchArgs,
    context: &Context,
    ui: &Ui,
) -> Result<ExitCode, Failure> {
    context.show_looks(&workspace, None, ui);
    let mut notifier = notifier(args, context, ui);
    let mut publisher = WatchPublisher::default();
    let mut watching = Watching::new(workspace, context.caller.clone(), args.mode());
    let mut code = ExitCode::Fine;
    let mut part = Some(watching.begin(vec![WatchEvent::Start]));
    while let Some(effects) = part {
        for effect in effects {
            code = match (&effect, code) {
                (WatchEffect::Trouble(found), _) if found.is_fault() => ExitCode::Fault,
                (_, ExitCode::Fault) => ExitCode::Fault,
                (WatchEffect::Held { .. }, _) | (_, ExitCode::NotNow) => ExitCode::NotNow,
                (WatchEffect::Trouble(found), _) if found.code == Code::NothingToJudge => {
                    ExitCode::Usage
                }
                (_, ExitCode::Usage) => ExitCode::Usage,
                (WatchEffect::Trouble(found), _) if found.is_error() => ExitCode::No,
                (WatchEffect::Stands(sight), ExitCode::Fine) => report::exit_for(sight),
                (WatchEffect::Moved(applied), ExitCode::Fine) => report::exit_for(&applied.sight),
                (_, code) => code,
            };
            give_word(&mut notifier, watching.workspace(), &effect, context, ui);
            if !args.dry_run {
                publisher.hear(&context.writer(watching.workspace()), &effect);
            }
            print(watching.workspace(), effect, context, ui)?;
        }
        part = watching.go_on();
    }
    Ok(code)
}

/// What starts the programs of `[[notify]]`, unless nothing happens for sure.
fn notifier(args: &WatchArgs, context: &Context, ui: &Ui) -> Option<Notifier> {
    let report = reported(context, ui);
    (!args.dry_run).then(|| Notifier::new(false, report))
}

/// Prints findings of other threads.
fn reported(context: &Context, ui: &Ui) -> FaultSink {
    let ui = ui.clone();
    let json = context.global.json;
    let clock = context.caller.clock;
    Arc::new(move |finding| {
        let happening = Happening::Finding {
            finding: Box::new(Finding::of(&finding)),
        };
        // Without stdout, the watch itself is about to end.
        let _ = ui.answer(&written(happening, json, clock.now(), &ui));
    })
}

/// Starts what is configured for an effect of the watch.
fn give_word(
    notifier: &mut Option<Notifier>,
    workspace: &Workspace,
    effect: &WatchEffect,
    context: &Context,
    ui: &Ui,
) {
    let Some(notifier) = notifier else { return };
    let writer = context.writer(workspace);
    if notifier.hear(&writer, effect) {
        ui.bell();
    }
}

/// Prints an effect of the watch.
fn print(
    workspace: &Workspace,
    effect: WatchEffect,
    context: &Context,
    ui: &Ui,
) -> Result<(), Failure> {
    happenings(workspace, effect)
        .into_iter()
        .try_for_each(|happening| show(happening, context, ui))
}

fn show(happening: Happening, context: &Context, ui: &Ui) -> Result<(), Failure> {
    Ok(ui.answer(&written(
        happening,
        context.global.json,
        context.caller.clock.now(),
        ui,
    ))?)
}

fn written(mut happening: Happening, json: bool, now: Timestamp, ui: &Ui) -> String {
    if json {
        return orch_view::line(&orch_view::EventView::new(now, happening));
    }
    happening.type_at(&ui.here());
    happening.text(ui.paint, ui.width)
}

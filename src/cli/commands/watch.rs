//! `orch watch`: the agent.

use super::prelude::{Args, Context, ExitCode, Failure, Ui};
use super::report;
use crate::base::{Code, Diagnostic};
use crate::cli::interrupt;
use crate::drive::{WatchEffect, WatchEvent, Watching};
use crate::store::Store;
use crate::survey::Judged;
use crate::survey::Workspace;
use crate::view::{self, Finding, Happening, Suggestion};
use crate::watch::{WatchOptions, WatchSignal, Watcher};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

/// Watch the tasks and commit every transition that the rules decide.
///
/// Evaluates all tasks once at the start, then each task whenever its files have been quiet for a moment.
/// Writes `suggestion.json` in each task and commits each transition with its evidence. If a transition
/// cannot be committed now, the watch says why and tries again. Press Ctrl-C to end it.
///
/// Keeps a diagnostic log in `.git/orch/orch.log`.
///
/// With `--once`, exits with 5 if a transition is held back, and with 70 after an internal fault.
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

/// How long to wait before trying again what the repository did not allow.
const RETRY: Duration = Duration::from_millis(500);
/// The same where each try may ask for a passphrase.
const RETRY_SIGNING: Duration = Duration::from_secs(30);
/// How long to sleep where nothing is to be done but listening.
const IDLE: Duration = Duration::from_secs(3600);

pub fn run(args: &WatchArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let workspace = context.workspace(ui)?;
    if !args.dry_run {
        context.keep_log(&workspace);
    }
    let watcher = if args.once { None } else { Some(listen(&workspace, args)?) };
    let mut watching = Watching::new(workspace, context.caller.clone(), args.dry_run);
    if let Some(note) = watching.workspace().outside_git() {
        show(Happening::Finding { finding: Box::new(Finding::of(&note)) }, context, ui)?;
    }
    let begun = step(&mut watching, WatchEvent::Start, context, ui)?;
    let Some(mut watcher) = watcher else {
        return Ok(match begun {
            Stepped { faulty: true, .. } => ExitCode::Fault,
            Stepped { held: true, .. } => ExitCode::NotNow,
            _ => ExitCode::Fine,
        });
    };
    let stop = Arc::new(Mutex::new(watcher.stop_handle()));
    let asked = Arc::clone(&stop);
    interrupt::on_interrupt(move || asked.lock().unwrap_or_else(PoisonError::into_inner).stop());
    loop {
        let timeout = match (watching.is_held(), watching.asks_for_a_person()) {
            (true, false) => RETRY,
            (true, true) => RETRY_SIGNING,
            (false, _) => IDLE,
        };
        let Some(signals) = watcher.next(timeout) else { break };
        let mut reloaded = false;
        for event in events_of(signals) {
            reloaded |= step(&mut watching, event, context, ui)?.reloaded;
        }
        if watching.is_held() {
            reloaded |= step(&mut watching, WatchEvent::Retry, context, ui)?.reloaded;
        }
        if reloaded {
            watcher = listen(watching.workspace(), args)?;
            *stop.lock().unwrap_or_else(PoisonError::into_inner) = watcher.stop_handle();
            step(&mut watching, WatchEvent::Rescan("the settings were read anew"), context, ui)?;
        }
    }
    let stopped = Happening::Stopped { reason: "interrupted".to_owned() };
    show(stopped, context, ui)?;
    Ok(ExitCode::Fine)
}

/// What a step means for the loop.
#[derive(Default)]
struct Stepped {
    reloaded: bool,
    held: bool,
    faulty: bool,
}

/// Takes one event and shows what came of it.
fn step(watching: &mut Watching, event: WatchEvent, context: &Context, ui: &Ui) -> Result<Stepped, Failure> {
    let mut stepped = Stepped::default();
    for effect in watching.step(event) {
        stepped.reloaded |= matches!(effect, WatchEffect::Reloaded);
        stepped.held |= matches!(effect, WatchEffect::Held { .. });
        stepped.faulty |= matches!(effect, WatchEffect::Trouble { is_fault: true, .. });
        for happening in happenings(watching.workspace(), effect) {
            show(happening, context, ui)?;
        }
    }
    Ok(stepped)
}

fn show(happening: Happening, context: &Context, ui: &Ui) -> Result<(), Failure> {
    let text = if context.global.json {
        view::line(&view::EventView::new(context.caller.clock.now(), happening))
    } else {
        happening.text(ui.paint, ui.width)
    };
    Ok(ui.answer(&text)?)
}

/// An effect as what is shown of it.
fn happenings(workspace: &Workspace, effect: WatchEffect) -> Vec<Happening> {
    let finding = |diagnostic: &Diagnostic| Happening::Finding { finding: Box::new(Finding::of(diagnostic)) };
    match effect {
        WatchEffect::Watching { tasks } => vec![Happening::Started { tasks }],
        WatchEffect::Moved(applied) => {
            let lines = report::transition_lines(&applied).into_iter();
            let moved = lines.map(|line| Happening::Transition { transition: Box::new(line) });
            moved.chain(applied.notes.iter().map(finding)).chain(stands(workspace, &applied.judged)).collect()
        }
        WatchEffect::Stands(judged) => stands(workspace, &judged).into_iter().collect(),
        WatchEffect::Reloaded => Vec::new(),
        WatchEffect::Gone(task) => vec![Happening::Gone { task: task.to_string() }],
        WatchEffect::Held { tasks, message, hint } => {
            let task = match tasks.as_slice() {
                [only] => only.to_string(),
                several => format!("{} tasks", several.len()),
            };
            vec![Happening::Held { task, reason: message, hint }]
        }
        WatchEffect::Trouble { message, hint, .. } => {
            let mut diagnostic = Diagnostic::warning(Code::WatchFailed, message);
            diagnostic.hint = hint;
            vec![finding(&diagnostic)]
        }
    }
}

/// What is to be done about a task now.
fn stands(workspace: &Workspace, judged: &Judged) -> Option<Happening> {
    let subject = workspace.subject(judged, None)?;
    Some(Happening::Suggestion { suggestion: Box::new(Suggestion::of(&subject)) })
}

fn listen(workspace: &Workspace, args: &WatchArgs) -> Result<Watcher, Failure> {
    let config = workspace.config();
    let options = WatchOptions {
        settle: Duration::from_millis(config.settle_ms),
        poll: args.poll || config.watch.poll,
        reconcile: Duration::from_secs(config.watch.reconcile_seconds),
        heads: workspace.store().map(Store::head_places).unwrap_or_default(),
        ..WatchOptions::default()
    };
    let targets = workspace.watched();
    Watcher::new(workspace.root(), &targets, options)
        .map_err(|error| Failure::new(Code::WatchFailed, error.to_string()))
}

/// The signals of one moment as few events as possible.
fn events_of(signals: Vec<WatchSignal>) -> Vec<WatchEvent> {
    let mut events = Vec::new();
    let mut changed = Vec::new();
    for signal in signals {
        match signal {
            WatchSignal::Dirty(path) => changed.push(path),
            WatchSignal::Head => events.push(WatchEvent::Head),
            WatchSignal::Rescan(why) => events.push(WatchEvent::Rescan(why)),
            WatchSignal::Failed(message) => events.push(WatchEvent::Trouble(message)),
        }
    }
    if !changed.is_empty() && !events.iter().any(|event| matches!(event, WatchEvent::Rescan(_))) {
        events.push(WatchEvent::Changed(changed));
    }
    events
}

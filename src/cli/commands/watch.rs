//! `orch watch`: the agent.

use super::prelude::{Args, Context, ExitCode, Failure, Ui};
use crate::cli::interrupt;
use crate::engine::{Effect, Engine, Event, Watching};
use crate::view::events;
use crate::watch::{Options, Signal, Watcher};
use std::time::Duration;

/// Watches the tasks: settles each one, writes its `suggestion.json`, and commits every transition
/// that the rules decide, with its evidence.
///
/// A full look at the start, then one whenever a task's files have been quiet for a moment. Ctrl-C
/// ends it.
#[derive(Debug, Args)]
pub struct WatchArgs {
    /// Look at everything once, apply what is due, and end.
    #[arg(long)]
    once: bool,
    /// Write and commit nothing; say what would happen.
    #[arg(long)]
    dry_run: bool,
    /// Look at intervals instead of listening to the file system.
    #[arg(long)]
    poll: bool,
}

/// How long to wait before trying again what the repository did not allow.
const RETRY: Duration = Duration::from_millis(500);
/// How long to sleep where nothing is to be done but listening.
const IDLE: Duration = Duration::from_secs(3600);

pub fn run(args: &WatchArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    let mut engine = context.engine(ui)?;
    let mut watcher = if args.once { None } else { Some(listen(&engine, args)?) };
    let mut watching = Watching::new(&mut engine, args.dry_run);
    let mut show = |effects: Vec<Effect>| -> Result<(), Failure> {
        for effect in effects {
            let line = if context.global.json { events::json(&effect) } else { events::text(&effect, ui.paint) };
            ui.answer(&line)?;
        }
        Ok(())
    };
    show(watching.step(Event::Start)?)?;
    let Some(watcher) = &mut watcher else {
        return Ok(ExitCode::Fine);
    };
    let stop = watcher.stop_handle();
    interrupt::on_interrupt(move || stop.stop());
    loop {
        let timeout = if watching.is_held() { RETRY } else { IDLE };
        let Some(signals) = watcher.next(timeout) else { break };
        for event in events_of(signals) {
            show(watching.step(event)?)?;
        }
        if watching.is_held() {
            show(watching.step(Event::Retry)?)?;
        }
    }
    ui.status("stopped");
    Ok(if interrupt::interrupted() { ExitCode::Fine } else { ExitCode::Fault })
}

fn listen(engine: &Engine, args: &WatchArgs) -> Result<Watcher, Failure> {
    let config = engine.config();
    let options = Options {
        settle: Duration::from_millis(config.settle_ms),
        poll: args.poll || config.watch.poll,
        reconcile: Duration::from_secs(config.watch.reconcile_seconds),
        ..Options::default()
    };
    let targets = engine.watched();
    Watcher::new(engine.root(), &targets, options)
        .map_err(|error| Failure::new(ExitCode::Fault, "watch", error.to_string()))
}

/// The signals of one moment as few events as possible.
fn events_of(signals: Vec<Signal>) -> Vec<Event> {
    let mut events = Vec::new();
    let mut changed = Vec::new();
    for signal in signals {
        match signal {
            Signal::Dirty(path) => changed.push(path),
            Signal::Rescan(why) => events.push(Event::Rescan(why)),
            Signal::Failed(message) => events.push(Event::Trouble(message)),
        }
    }
    if !changed.is_empty() && !events.iter().any(|event| matches!(event, Event::Rescan(_))) {
        events.push(Event::Changed(changed));
    }
    events
}

//! `orch board` on a terminal: reads keys, shows the board, and runs the commands that keys ask for.

use super::super::prelude::{Context, ExitCode, Failure, Ui};
use super::super::status;
use super::BoardArgs;
use crate::cli::keyboard::Keyboard;
use crate::cli::ui::WholeScreen;
use orch_base::{Code, Hint};
use orch_engine::gather;
use orch_view::{BoardForm, BoardWish, SheetForm, Status, TerminalBoard};
use std::ffi::OsString;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// How long to wait for a key before the size of the terminal is looked at again, and signals.
const TICK: Duration = Duration::from_millis(100);
/// How often the tasks are looked at again.
const RENEWED: Duration = Duration::from_secs(2);

/// The terminal, taken as a whole.
struct Taken {
    // Dropped in this order.
    keyboard: Keyboard,
    screen: WholeScreen,
}

pub(super) fn run(args: &BoardArgs, context: &Context, ui: &Ui) -> Result<ExitCode, Failure> {
    if ui.height == 0 || !ui.interactive || context.global.json {
        let message = "`orch board` shows the tasks on a terminal, and this is none";
        let hint = Hint::from("as a file: ")
            .command(&["orch", "board", "--html", "FILE"])
            .text("; as text: ")
            .command(&["orch", "status"]);
        return Err(Failure::new(Code::NoTerminal, message).hint(hint));
    }
    // Errors of the command line and of the repository end it before the terminal is taken.
    context.workspace(ui)?;
    let mut board = TerminalBoard::new(tasks(args, context)?);
    let is_stopped = Arc::new(AtomicBool::new(false));
    let stop = Arc::clone(&is_stopped);
    context
        .interrupts
        .instead(move || stop.store(true, Ordering::Relaxed));
    let mut taken = take(ui)?;
    let mut looked = Instant::now();
    while !is_stopped.load(Ordering::Relaxed) {
        let form = form(&taken, context, ui);
        taken.screen.show(&board.text(&form))?;
        let key = taken.keyboard.next(TICK)?;
        let wish = key.map(|key| board.press(key, form.height));
        let mut is_outdated = looked.elapsed() >= RENEWED;
        match wish {
            None | Some(BoardWish::Picture) => {}
            Some(BoardWish::End) => return Ok(ExitCode::Fine),
            Some(BoardWish::Task(task)) => board.open(&task, &about(&task, context, &form)?),
            Some(BoardWish::Command(words)) => {
                drop(taken);
                command(&words, context, ui)?;
                taken = take(ui)?;
                is_outdated = true;
            }
        }
        if is_outdated {
            // What is wrong with the repository now may be right soon.
            if let Ok(status) = tasks(args, context) {
                board.renew(status);
            }
            looked = Instant::now();
        }
    }
    Ok(ExitCode::Interrupted)
}

fn take(ui: &Ui) -> Result<Taken, Failure> {
    let screen = ui.screen()?;
    let keyboard = Keyboard::take()?;
    Ok(Taken { keyboard, screen })
}

fn form(taken: &Taken, context: &Context, ui: &Ui) -> BoardForm {
    let (width, height) = taken.screen.size();
    BoardForm {
        width,
        height,
        paint: ui.paint,
        now: context.caller.clock.now(),
    }
}

/// The tasks as they are now. The settings may have changed too, so the workspace is opened again.
fn tasks(args: &BoardArgs, context: &Context) -> Result<Status, Failure> {
    let mut workspace = context.bare_workspace()?;
    workspace.know_looks(gather::STATUS_CACHE);
    status::of_tasks(&args.tasks, &workspace)
}

/// The text about a task: all that is decided about it.
fn about(task: &str, context: &Context, form: &BoardForm) -> Result<String, Failure> {
    let workspace = context.bare_workspace()?;
    let found = workspace.finder().task(task)?;
    let sheet = gather::sheet(&workspace, &found)?;
    Ok(sheet.text(SheetForm {
        paint: form.paint,
        width: form.width,
        now: form.now,
        names_only: false,
    }))
}

/// Runs `orch` with these arguments in the terminal, which is as it was, and waits until a person has read what it says.
fn command(words: &[String], context: &Context, ui: &Ui) -> Result<(), Failure> {
    let mut arguments: Vec<OsString> = Vec::new();
    if let Some(directory) = &context.global.directory {
        arguments.extend(["-C".into(), directory.into()]);
    }
    arguments.extend(words.iter().map(OsString::from));
    ui.status(&format!("$ orch {}", orch_base::command(words)));
    context.interrupts.run_self(&arguments, true)?;
    let _line = ui.ask("Enter goes back to the board: ");
    Ok(())
}

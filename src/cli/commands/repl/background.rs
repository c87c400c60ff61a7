//! The watch behind the prompt.

use super::super::prelude::{Context, Failure, Ui};
use super::board::Board;
use orch_engine::drive::{WatchEffect, WatchHandle, WatchLoop, WatchMode};
use orch_engine::gather::happenings;
use orch_engine::survey::{Error, Workspace};
use std::sync::mpsc::{SyncSender, TrySendError};
use std::thread::{self, JoinHandle};

/// A watch in a thread of its own. It ends when this is dropped.
pub(super) struct Background {
    handle: WatchHandle,
    thread: Option<JoinHandle<()>>,
}

/// Where the watch tells what it did.
pub(super) struct Outlet {
    /// Prints above the prompt. Nothing takes from it while a command runs.
    pub lines: SyncSender<String>,
    /// Draws the prompt again.
    pub redraw: Box<dyn Fn() + Send>,
    /// What the prompt shows.
    pub board: Board,
}

impl Background {
    /// Starts to watch. Returns an error if the repository cannot be watched.
    pub(super) fn start(
        workspace: Workspace,
        outlet: Outlet,
        context: &Context,
        ui: &Ui,
    ) -> Result<Self, Failure> {
        context.keep_log(&workspace);
        let watch = WatchLoop::new(workspace, context.caller.clone(), WatchMode::Apply, false)?;
        let handle = watch.handle();
        let paint = ui.paint_status;
        let width = ui.width;
        let thread = thread::spawn(move || {
            let mut missed = 0;
            let mut hear = |workspace: &Workspace, effect: WatchEffect| -> Result<(), Error> {
                let is_shown = match &effect {
                    WatchEffect::Stands(sight) => outlet.board.stands(workspace, sight, paint),
                    WatchEffect::Moved(applied) => {
                        outlet.board.stands(workspace, &applied.sight, paint)
                    }
                    WatchEffect::Gone(task) => outlet.board.is_gone(task),
                    _ => false,
                };
                if is_shown {
                    (outlet.redraw)();
                }
                // What a command or a file changed is in the prompt; the rest is news.
                if !matches!(
                    effect,
                    WatchEffect::Stands(_) | WatchEffect::Watching { .. }
                ) {
                    let text: String = happenings(workspace, effect)
                        .iter()
                        .map(|one| one.text(paint, width))
                        .collect();
                    say(&outlet.lines, &text, &mut missed);
                }
                Ok(())
            };
            if let Err(error) = watch.run(&mut hear) {
                say(
                    &outlet.lines,
                    &format!("the watch has ended: {error}"),
                    &mut missed,
                );
            }
        });
        Ok(Self {
            handle,
            thread: Some(thread),
        })
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.handle.stop();
        // A commit that has begun is completed. A panic of the thread was printed.
        let _ = self.thread.take().map(JoinHandle::join);
    }
}

/// Prints above the prompt. The watch never waits for the prompt: what there is no room for is only counted.
fn say(lines: &SyncSender<String>, text: &str, missed: &mut usize) {
    let text = text.trim_end();
    if text.is_empty() {
        return;
    }
    let text = match *missed {
        0 => text.to_owned(),
        missed => format!("[{missed} messages of the watch were not shown]\n{text}"),
    };
    match lines.try_send(text) {
        Ok(()) => *missed = 0,
        Err(TrySendError::Full(_)) => *missed += 1,
        // The prompt has ended.
        Err(TrySendError::Disconnected(_)) => {}
    }
}

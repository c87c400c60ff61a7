//! The prompt at a terminal: editing, completion, history, and messages above it.

use super::super::prelude::{Context, ExitCode, Failure, Ui};
use super::ahead::{Ahead, TypedAgain};
use super::background::{Background, Outlet};
use super::board::Board;
use super::history::{FILE, MOST, TypedHistory};
use super::own::{line_of, whole_line};
use super::session::Session;
use crate::cli::complete::at_prompt;
use orch_base::{TaskId, TypedLine, locked, shell_word};
use orch_engine::survey::{Caller, Workspace};
use reedline::{
    Color, ColumnarMenu, Completer, CompletionResult, DefaultHinter, EditCommand, ExternalPrinter,
    FileBackedHistory, History, HistoryItem, KeyCode, KeyModifiers, MenuBuilder, Prompt,
    PromptEditMode, PromptHistorySearch, Reedline, ReedlineEvent, ReedlineMenu, Signal, Span,
    Suggestion, default_emacs_keybindings,
};
use std::borrow::Cow;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// How many messages of the watch wait while a command runs.
const WAITING: usize = 1000;
/// The name of the completion menu.
const MENU: &str = "completion";

/// Shows the prompt until the person ends it. Returns an error if the terminal cannot be read.
pub(super) fn run(
    session: &mut Session<'_>,
    watched: Option<Workspace>,
    context: &Context,
    ui: &Ui,
) -> Result<ExitCode, Failure> {
    session.share_input();
    context.interrupts.end_with_terminal();
    let board = Board::default();
    let printer = ExternalPrinter::new(WAITING);
    let in_use = Arc::new(Mutex::new(None));
    let ended = Arc::new(AtomicBool::new(false));
    let wake = Arc::new(AtomicBool::new(false));
    let ahead = Ahead::new(Arc::clone(&wake));
    let lines = printer.sender();
    let place = match &watched {
        Some(workspace) => workspace
            .reader()
            .store()
            .map(|store| store.layout().own(FILE)),
        None => context
            .bare_workspace()?
            .reader()
            .store()
            .map(|store| store.layout().own(FILE)),
    };
    let (mut kept, before) = place.and_then(|place| TypedHistory::open(&place)).unzip();
    let completer = PromptCompleter {
        in_use: Arc::clone(&in_use),
        start: context.start.clone(),
        caller: context.caller.clone(),
    };
    let mut editor = editor(ui, &before.unwrap_or_default(), &ahead)?
        .with_completer(Box::new(completer))
        .with_external_printer(printer)
        .with_break_signal(Arc::clone(&wake));
    let redraw = editor.repaint_signal();
    let _watch = watched.and_then(|workspace| {
        let redraw = Box::new(move || redraw.request_repaint());
        let outlet = Outlet {
            lines,
            redraw,
            board: board.clone(),
        };
        // Without a watch the prompt is as good as with `--no-watch`.
        Background::start(workspace, outlet, context, ui)
            .map_err(|failure| crate::cli::report(&failure, context.global.json, ui))
            .ok()
    });
    let prompt = TaskPrompt(board.clone());
    loop {
        wake.store(false, Ordering::SeqCst);
        let is_ended = Arc::clone(&ended);
        let woken = Arc::clone(&wake);
        // The terminal is restored before the process ends.
        context.interrupts.instead(move || {
            is_ended.store(true, Ordering::SeqCst);
            woken.store(true, Ordering::SeqCst);
        });
        if ended.load(Ordering::SeqCst) {
            return Ok(ExitCode::Interrupted);
        }
        session.renew(&board);
        *locked(&in_use) = session.in_use().cloned();
        let signal = match ahead.replay(&mut editor) {
            TypedAgain::End => Ok(Signal::CtrlD),
            TypedAgain::Rest => editor.read_line(&prompt),
            TypedAgain::Line => {
                editor = editor.with_immediately_accept(true);
                let signal = editor.read_line(&prompt);
                editor = editor.with_immediately_accept(false);
                signal
            }
        };
        match signal.map_err(Failure::from)? {
            Signal::Success(line) => {
                kept.iter_mut().for_each(|kept| kept.append(&line));
                if !session.execute(&line)? {
                    return Ok(ExitCode::Fine);
                }
            }
            Signal::CtrlD => return Ok(ExitCode::Fine),
            // The line was cleared, a signal has come, or keys are held back. No key is bound to another signal.
            _ => {}
        }
    }
}

/// The line editor, with the history and the keys.
fn editor(ui: &Ui, before: &[String], ahead: &Ahead) -> Result<Reedline, Failure> {
    let mut history =
        FileBackedHistory::new(MOST).map_err(|error| io::Error::other(error.to_string()))?;
    for line in before {
        // Only lines that cannot be found again are lost.
        let _ = history.save(HistoryItem::from_command_line(line));
    }
    let mut keys = default_emacs_keybindings();
    let completes = ReedlineEvent::UntilFound(vec![
        ReedlineEvent::Menu(MENU.to_owned()),
        ReedlineEvent::MenuNext,
    ]);
    keys.add_binding(KeyModifiers::NONE, KeyCode::Tab, completes);
    let breaks = ReedlineEvent::Edit(vec![EditCommand::InsertNewline]);
    keys.add_binding(KeyModifiers::ALT, KeyCode::Enter, breaks);
    // Without colour, what is proposed could not be told from what was typed.
    let hinter = ui
        .paint_status
        .colour
        .then(|| Box::new(DefaultHinter::default()));
    let menu = ColumnarMenu::default().with_name(MENU).with_marker("> ");
    let editor = Reedline::create();
    let editor = match hinter {
        Some(hinter) => editor.with_hinter(hinter),
        None => editor.disable_hints(),
    };
    Ok(editor
        .with_history(Box::new(history))
        .with_validator(ahead.validator())
        .with_menu(ReedlineMenu::EngineCompleter(Box::new(menu)))
        .with_edit_mode(ahead.edit_mode(keys))
        .with_quick_completions(true)
        .with_partial_completions(true)
        .use_bracketed_paste(true)
        .with_ansi_colors(ui.paint_status.colour))
}

/// Where the task in use stands. One line: the messages above it would leave the first of two lines behind.
struct TaskPrompt(Board);

impl Prompt for TaskPrompt {
    fn render_prompt_left(&self) -> Cow<'_, str> {
        self.0.text().into()
    }

    fn render_prompt_right(&self) -> Cow<'_, str> {
        "".into()
    }

    fn render_prompt_indicator(&self, _mode: PromptEditMode) -> Cow<'_, str> {
        "> ".into()
    }

    fn render_prompt_multiline_indicator(&self) -> Cow<'_, str> {
        "… ".into()
    }

    fn render_prompt_history_search_indicator(&self, search: PromptHistorySearch) -> Cow<'_, str> {
        format!("(search: {}) ", search.term).into()
    }

    fn get_prompt_color(&self) -> Color {
        Color::Default
    }

    fn get_indicator_color(&self) -> Color {
        Color::Default
    }

    fn get_prompt_multiline_color(&self) -> Color {
        Color::Default
    }
}

/// Completes as a shell does, with the task in use filled in.
struct PromptCompleter {
    in_use: Arc<Mutex<Option<TaskId>>>,
    start: PathBuf,
    caller: Caller,
}

impl Completer for PromptCompleter {
    fn complete(&mut self, line: &str, pos: usize) -> CompletionResult {
        let typed = TypedLine::of(&line[..pos]);
        let mut words = typed.texts();
        let start = match typed.words.last() {
            Some(last) if typed.is_in_word => last.start,
            _ => {
                words.push(String::new());
                pos
            }
        };
        let is_command = words.len() == 1;
        words[0] = words[0].trim_start_matches('/').to_owned();
        let in_use = locked(&self.in_use).clone();
        let in_use = in_use.as_ref().map(TaskId::as_str);
        let command = if is_command {
            whole_line()
        } else {
            line_of(&words[0])
        };
        let found = at_prompt(
            command,
            words,
            in_use,
            &self.start,
            self.caller.environment.clone(),
        );
        let suggestions: Vec<Suggestion> = found
            .into_iter()
            .map(|(value, description)| {
                let value = shell_word(&value);
                Suggestion {
                    append_whitespace: !value.ends_with('='),
                    value: if is_command {
                        format!("/{value}")
                    } else {
                        value
                    },
                    description,
                    span: Span::new(start, pos),
                    ..Suggestion::default()
                }
            })
            .collect();
        CompletionResult::fresh(suggestions)
    }
}

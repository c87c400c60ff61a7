//! What is typed ahead of the prompt.
//!
//! reedline takes all keys that lie ready as one batch and forgets those that follow the end of a line. It cuts a batch
//! only at a carriage return, and what was typed while a command ran ends in line feeds. So the keys after the first end
//! of a batch are held back here, and typed again when the prompt is back.

use super::own::goes_on;
use orch_base::locked;
use reedline::{
    EditCommand, EditMode, Emacs, KeyCode, KeyModifiers, Keybindings, PromptEditMode, Reedline,
    ReedlineEvent, ReedlineRawEvent, ValidationResult, Validator,
};
use std::collections::VecDeque;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

/// The keys that are held back. The editor and the prompt share them.
#[derive(Debug, Clone)]
pub(super) struct Ahead {
    held: Arc<Mutex<Held>>,
    /// Makes the editor return, so that the keys are typed again.
    wake: Arc<AtomicBool>,
}

#[derive(Debug, Default)]
struct Held {
    /// Whether a key of this batch has ended the line, as far as can be told.
    is_over: bool,
    keys: VecDeque<ReedlineEvent>,
}

/// A line feed. It does what Enter does, but a batch may have more keys after it.
fn line_feed() -> ReedlineEvent {
    ReedlineEvent::Multiple(vec![ReedlineEvent::Enter])
}

/// What the keys that were held back came to.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum TypedAgain {
    /// A whole line, which the editor holds.
    Line,
    /// The end of the prompt.
    End,
    /// At most the beginning of a line, which the editor holds.
    Rest,
}

impl Ahead {
    /// Nothing yet. The editor returns when `wake` is set.
    pub(super) fn new(wake: Arc<AtomicBool>) -> Self {
        Self {
            held: Arc::default(),
            wake,
        }
    }

    /// The keys of the editor.
    pub(super) fn edit_mode(&self, mut keys: Keybindings) -> Box<dyn EditMode> {
        keys.add_binding(KeyModifiers::CONTROL, KeyCode::Char('j'), line_feed());
        Box::new(HoldingMode {
            keys: Emacs::new(keys),
            ahead: self.clone(),
        })
    }

    /// What tells the editor whether a line continues.
    pub(super) fn validator(&self) -> Box<dyn Validator> {
        Box::new(WholeLine(self.clone()))
    }

    /// Types the keys that are held back, up to the end of a line. Keys that edit nothing, such as those of completion
    /// and history, do nothing here.
    pub(super) fn replay(&self, editor: &mut Reedline) -> TypedAgain {
        locked(&self.held).is_over = false;
        loop {
            let Some(key) = locked(&self.held).keys.pop_front() else {
                return TypedAgain::Rest;
            };
            let buffer = editor.current_buffer_contents();
            let edits = match key {
                ReedlineEvent::Edit(edits) => edits,
                ReedlineEvent::Enter if !goes_on(buffer) => return TypedAgain::Line,
                ReedlineEvent::Enter => vec![EditCommand::InsertNewline],
                ReedlineEvent::CtrlC => vec![EditCommand::Clear],
                ReedlineEvent::CtrlD if buffer.is_empty() => return TypedAgain::End,
                ReedlineEvent::CtrlD => vec![EditCommand::Delete],
                _ => continue,
            };
            editor.run_edit_commands(&edits);
        }
    }

    /// The key if it belongs to the line that is typed, or nothing.
    fn take(&self, key: ReedlineEvent) -> ReedlineEvent {
        let is_feed = key == line_feed();
        let key = if is_feed { ReedlineEvent::Enter } else { key };
        let mut held = locked(&self.held);
        if held.is_over && !matches!(key, ReedlineEvent::Resize(..)) {
            held.keys.push_back(key);
            self.wake.store(true, Ordering::SeqCst);
            return ReedlineEvent::None;
        }
        held.is_over |= is_feed || key == ReedlineEvent::CtrlC;
        key
    }
}

/// The keys of Emacs, of which those after the end of a line are held back.
struct HoldingMode {
    keys: Emacs,
    ahead: Ahead,
}

impl EditMode for HoldingMode {
    fn parse_event(&mut self, event: ReedlineRawEvent) -> ReedlineEvent {
        self.ahead.take(self.keys.parse_event(event))
    }

    fn edit_mode(&self) -> PromptEditMode {
        self.keys.edit_mode()
    }
}

/// A line continues while a quote is open.
struct WholeLine(Ahead);

impl Validator for WholeLine {
    fn validate(&self, line: &str) -> ValidationResult {
        if goes_on(line) {
            // The key did not end the line after all.
            locked(&self.0.held).is_over = false;
            return ValidationResult::Incomplete;
        }
        ValidationResult::Complete
    }
}

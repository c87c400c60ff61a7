//! What an agent program printed: its answer, its costs, and why it ended without doing its work, taken out of the JSON
//! that it wraps them in.
//!
//! | program | form |
//! | --- | --- |
//! | Claude Code, Qwen Code | one object of type `result`; a list, or a message a line, that ends in it |
//! | Codex | an event a line, such as `turn.failed` |
//! | Gemini CLI | one object with `response`, on the standard error with `error`; or a message a line |
//! | opencode | an event a line, with `sessionID` |
//! | Copilot CLI | an event a line, with `data` |
//!
//! Everything else is plain text. Nothing here reads a file or a clock.

mod message;
mod reset;
mod stop;
mod unmarked;

#[cfg(test)]
mod tests;

pub use reset::Reset;
pub use stop::AgentStop;
pub use unmarked::unmarked;

use message::Heard;
use orch_core::decide::json_values;
use serde_json::Value;

/// What an agent program printed.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AgentOutput {
    /// The result in its answer; `None` if there is none.
    pub result: Option<Value>,
    /// The costs that it reports.
    pub costs: Vec<ReportedCost>,
    /// The error that it reports: it did not finish its work, whatever its exit code.
    pub failure: Option<AgentFailure>,
    /// The last answer of the model; `None` if it gave none, or the output is plain text.
    pub answer: Option<String>,
    /// What it was not allowed to do, such as `Bash (git push)`.
    pub denials: Vec<String>,
    /// Whether the output is that of an agent program, and not plain text.
    pub is_wrapped: bool,
    /// The ids of the conversations.
    pub conversations: Vec<String>,
}

/// A cost that an agent program reports.
#[derive(Debug, Clone, PartialEq)]
pub struct ReportedCost {
    /// The conversation whose total it is; `None` if it is a cost by itself.
    pub conversation: Option<String>,
    /// The cost.
    pub cost: f64,
}

/// An error that an agent program reports.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct AgentFailure {
    /// The error, in its words.
    pub why: String,
    /// What kind of error it is; `None` if a further try may succeed at once.
    pub stop: Option<AgentStop>,
    /// When a limit passes, if the program says so.
    pub reset: Option<Reset>,
}

/// How many of the last lines of plain output may name a limit.
const LAST_LINES: usize = 3;

impl AgentOutput {
    /// Reads what a program printed on its standard output and its standard error. Text that no program wraps is
    /// searched for a result as it is.
    #[must_use]
    pub fn read(output: &str, errors: &str) -> Self {
        let mut heard = Heard::default();
        for value in json_values(output, &['{', '[']) {
            match value {
                Value::Array(messages) => {
                    messages.into_iter().for_each(|message| heard.hear(message))
                }
                message => heard.hear(message),
            }
        }
        for message in json_values(errors, &['{']) {
            heard.hear_error(&message);
        }
        heard.hear_denials(errors);
        heard.output(output)
    }

    /// Why a program failed that printed plain text: an option that it does not know, which is all that it printed, or
    /// a limit that its last lines name in the words of an agent program. `None` if the text says neither.
    #[must_use]
    pub fn plain_failure(output: &str, errors: &str) -> Option<AgentFailure> {
        let lines = |text: &str| -> Vec<String> {
            let lines = text.lines().map(|line| line.trim().to_owned());
            lines.filter(|line| !line.is_empty()).collect()
        };
        let output = lines(output);
        let errors = lines(errors);
        // A parser of options complains before anything else is printed, or after its help.
        let ends = [errors.first(), errors.last()].into_iter().flatten();
        let mut refused = ends.filter(|line| output.is_empty() && stop::is_unknown_option(line));
        if let Some(line) = refused.next() {
            return Some(AgentFailure {
                why: line.clone(),
                stop: Some(AgentStop::UnknownOption),
                reset: None,
            });
        }
        let last = [&errors, &output]
            .into_iter()
            .flat_map(|lines| lines.iter().rev().take(LAST_LINES));
        let mut announced = last.filter(|line| stop::is_announced(line));
        announced
            .next()
            .map(|line| AgentFailure::of(line, None, &[]))
    }
}

/// How much of a message is read, in bytes. A reset is looked for at each of its words.
const MOST_READ: usize = 4096;

impl AgentFailure {
    /// The failure with this text, status of HTTP and words for its type.
    fn of(text: &str, status: Option<u16>, types: &[String]) -> Self {
        let text = &text[..text.floor_char_boundary(MOST_READ)];
        let reset = Reset::find(text);
        Self {
            why: stop::message_in(text),
            stop: AgentStop::of(text, status, types, reset.is_some()),
            reset,
        }
    }
}

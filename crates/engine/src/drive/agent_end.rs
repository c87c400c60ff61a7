//! Why the agent program of a turn ended, in the words of a run.

use crate::apply::Writer;
use crate::run::{Ended, Performed};
use crate::survey::{Caller, Error, time_zone};
use orch_base::{AgentMark, Code, Hint};
use orch_core::decide::{ExecutorExit, ExecutorTrace, PassingLimit};
use orch_read::{AgentFailure, AgentOutput, AgentStop, unmarked};
use std::path::Path;

/// How many characters of a reported error, or of an answer, are told.
const MOST_SAID: usize = 300;

/// A turn of an executor that has ended.
pub(super) struct TurnEnd<'t> {
    /// The name of the program, without its directory.
    pub program: &'t str,
    pub caller: &'t Caller,
    /// The last lines that it printed, as they are.
    pub last_lines: &'t [String],
    pub performed: &'t Performed,
}

impl<'t> TurnEnd<'t> {
    /// The end of a turn of this command.
    pub(super) fn of(
        writer: &'t Writer<'_>,
        argv: &'t [String],
        last_lines: &'t [String],
        performed: &'t Performed,
    ) -> Self {
        let program = argv.first().map_or("", String::as_str);
        let name = Path::new(program)
            .file_name()
            .and_then(|name| name.to_str());
        Self {
            program: name.unwrap_or(program),
            caller: writer.caller,
            last_lines,
            performed,
        }
    }

    fn printed(&self) -> &AgentOutput {
        &self.performed.printed
    }

    /// A text as it may be recorded and shown: without ids of conversations and home directories, and not too long.
    fn shown(&self, text: &str) -> String {
        recordable(self.caller, text, &self.printed().conversations)
    }

    /// What stopped the program, and its error; `None` if a further try may succeed at once.
    fn stop(&self) -> Option<(AgentStop, &AgentFailure)> {
        let failure = self.performed.failure()?;
        // A script prints the complaints of whatever it calls, and those may be gone at the next try.
        if failure.stop == Some(AgentStop::UnknownOption) && !self.is_agent() {
            return None;
        }
        match self.performed.ended {
            Ended::Well | Ended::Code(_) => {}
            // Some programs go on for ever without a network.
            Ended::TooLong(_) | Ended::Silent(_) if failure.stop.is_some_and(AgentStop::passes) => {
            }
            Ended::TooLong(_) | Ended::Silent(_) => return None,
            Ended::Signal(_) | Ended::Stopped | Ended::NotStarted(_) => return None,
        }
        Some((failure.stop?, failure))
    }

    /// How the turn ended.
    pub(super) fn exit(&self) -> ExecutorExit {
        let said = self
            .performed
            .failure()
            .map(|failure| self.shown(&failure.why));
        if let Some((stop, failure)) = self.stop() {
            let program = self.program;
            let why = format!("`{program}` {}: {}", stop.words(), said.unwrap_or_default());
            if !stop.passes() {
                return ExecutorExit::Hopeless(why);
            }
            let now = self.caller.clock.now();
            let reset = failure.reset.as_ref();
            let until = reset.and_then(|reset| reset.instant(now, time_zone));
            return ExecutorExit::Limited(PassingLimit { why, until });
        }
        let badly = |how: String| {
            let said = said.iter();
            ExecutorExit::Badly(said.fold(how, |how, said| format!("{how}: {said}")))
        };
        match &self.performed.ended {
            Ended::Well if said.is_some() => badly("it reported an error".to_owned()),
            Ended::Well => ExecutorExit::Well,
            Ended::Stopped => ExecutorExit::Stopped,
            Ended::Code(code) => badly(format!("it exited with code {code}")),
            Ended::Signal(signal) => {
                ExecutorExit::Badly(format!("it was killed by signal {signal}"))
            }
            Ended::TooLong(limit) => ExecutorExit::TooLong(format!("it took longer than {limit}")),
            Ended::Silent(limit) => ExecutorExit::Badly(format!("it printed nothing for {limit}")),
            Ended::NotStarted(why) => ExecutorExit::NotStarted(why.clone()),
        }
    }

    /// The error that ends the run if no further try can succeed.
    pub(super) fn hopeless(&self, task: &str) -> Option<Error> {
        let (stop, _) = self.stop()?;
        let ExecutorExit::Hopeless(why) = self.exit() else {
            return None;
        };
        let (code, what) = match stop {
            AgentStop::NotSignedIn => (
                Code::AgentNotSignedIn,
                "sign in with the program itself, or give it a valid key",
            ),
            AgentStop::NotAllowed => (
                Code::AgentNotAllowed,
                "use an account that may do this, or another model",
            ),
            AgentStop::NotFound => (
                Code::AgentNotFound,
                "correct the name of the model, or the address of the service",
            ),
            AgentStop::NoCredit => (Code::AgentNoCredit, "add credit to the account"),
            AgentStop::UnknownOption => (
                Code::AgentOptionUnknown,
                "correct `command` in [executor.*] of orch.toml",
            ),
            AgentStop::ContextTooLong => (
                Code::AgentContextTooLong,
                "shorten the files of the task, or use a model that can read more",
            ),
            AgentStop::Limit | AgentStop::Overloaded | AgentStop::NoNetwork => return None,
        };
        Some(Error::new(code, why).with_hint(Hint::from(what).then(&["orch", "run", task])))
    }

    /// Whether the program has the name of an agent program.
    fn is_agent(&self) -> bool {
        let mut names = AgentMark::ALL
            .iter()
            .filter_map(|mark| mark.program.split(' ').next());
        names.any(|name| name.eq_ignore_ascii_case(self.program))
    }

    /// Whether the program was killed, and has not said what it cost, although it is one that says so.
    pub(super) fn is_unpriced(&self, counts_costs: bool) -> bool {
        let printed = self.printed();
        let is_killed = match self.performed.ended {
            Ended::Signal(_) | Ended::TooLong(_) | Ended::Silent(_) | Ended::Stopped => true,
            Ended::Well | Ended::Code(_) | Ended::NotStarted(_) => false,
        };
        let is_agent = printed.is_wrapped || self.is_agent();
        is_killed && printed.costs.is_empty() && (is_agent || counts_costs)
    }

    /// What the record keeps of the program: not the JSON that it wraps its words in.
    pub(super) fn trace(&self, mut trace: ExecutorTrace) -> ExecutorTrace {
        let printed = self.printed();
        let failure = printed.failure.as_ref().map(|failure| failure.why.as_str());
        let said = match failure.or(printed.answer.as_deref()) {
            Some(said) => said.to_owned(),
            None if printed.is_wrapped => String::new(),
            None => {
                let lines = self.last_lines.iter().map(String::as_str);
                let plain = lines.filter(|line| !is_message(line));
                plain.collect::<Vec<_>>().join("\n")
            }
        };
        let said = unmarked_by(self.caller, &said, &printed.conversations);
        said.lines().for_each(|line| trace.hear(line));
        match &self.performed.ended {
            Ended::Code(code) => trace.exit = Some(*code),
            Ended::TooLong(limit) | Ended::Silent(limit) => {
                trace.time_limit = Some(limit.to_string())
            }
            Ended::Well => trace.exit = Some(0),
            Ended::Signal(_) | Ended::Stopped | Ended::NotStarted(_) => {}
        }
        trace
    }

    /// What the program was not allowed to do, and what it said last, as part of a sentence; `None` if there is neither.
    pub(super) fn said(&self, trace: &ExecutorTrace) -> Option<String> {
        let printed = self.printed();
        let denied = printed.denials.join(", ");
        let denied = (!denied.is_empty()).then(|| format!("it was denied {}", self.shown(&denied)));
        let last = match &printed.answer {
            Some(answer) => Some(answer.as_str()),
            // The cause of a failure says so already.
            None if self.performed.ended != Ended::Well => None,
            None => trace.output.last().map(String::as_str),
        };
        // A result says nothing to a person.
        let last = last.filter(|said| !said.trim_start().starts_with(['{', '`']));
        let last = last
            .map(|said| self.shown(said))
            .filter(|said| !said.is_empty());
        let last = last.map(|said| format!("it said last: {said}"));
        let said: Vec<String> = denied.into_iter().chain(last).collect();
        (!said.is_empty()).then(|| said.join("; "))
    }
}

/// Whether a line is a message of some agent program.
fn is_message(line: &str) -> bool {
    line.trim_start().starts_with('{') && line.contains("\"type\"")
}

/// A text without these ids of conversations, and without the home directory of the caller.
pub(super) fn unmarked_by(caller: &Caller, text: &str, conversations: &[String]) -> String {
    unmarked(text, conversations, caller.variables.get("HOME").as_deref())
}

/// A text on one line as it may be recorded.
fn recordable(caller: &Caller, text: &str, conversations: &[String]) -> String {
    let text = unmarked_by(caller, text, conversations);
    let line = text.split_whitespace().collect::<Vec<_>>().join(" ");
    if line.chars().count() <= MOST_SAID {
        return line;
    }
    let cut: String = line.chars().take(MOST_SAID).collect();
    format!("{cut}…")
}

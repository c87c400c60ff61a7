//! The messages of agent programs, heard one after the other.

use super::{AgentFailure, AgentOutput, AgentStop, ReportedCost, Reset};
use orch_base::Timestamp;
use orch_core::decide::{ActionResult, RESULT_KEYS, WORK_KEYS};
use serde_json::Value;
use std::collections::BTreeMap;

/// How many denied tools are kept, and how many characters of each.
const MOST_DENIALS: usize = 5;
const MOST_DENIED: usize = 80;

/// The text at a place of a message.
fn text(message: &Value, pointer: &str) -> Option<String> {
    let text = message.pointer(pointer)?.as_str()?;
    Some(text.to_owned())
}

/// The first text at these places of a message that is not empty.
fn first_text(message: &Value, pointers: &[&str]) -> Option<String> {
    let mut texts = pointers.iter().filter_map(|pointer| text(message, pointer));
    texts.find(|text| !text.trim().is_empty())
}

/// The status of HTTP at a place of a message.
fn status(message: &Value, pointer: &str) -> Option<u16> {
    let status = message.pointer(pointer)?.as_u64()?;
    u16::try_from(status).ok()
}

/// Whether a message has one of these keys.
fn has(message: &Value, keys: &[&str]) -> bool {
    keys.iter().any(|key| message.get(key).is_some())
}

/// The cost at a place of a message.
fn cost(message: &Value, pointer: &str) -> Option<f64> {
    let cost = message.pointer(pointer)?.as_f64()?;
    Some(cost.max(0.0))
}

/// What was said of an error before the result that may report it.
#[derive(Default)]
struct AnnouncedError {
    /// A word for it.
    word: Option<String>,
    /// When its limit passes.
    reset: Option<Reset>,
}

/// What the messages of a program have said so far.
#[derive(Default)]
pub(super) struct Heard {
    is_wrapped: bool,
    answer: Option<String>,
    /// Whether the next piece of an answer continues the one before it.
    is_open: bool,
    result: Option<Value>,
    costs: Vec<ReportedCost>,
    failure: Option<AgentFailure>,
    /// An error that the program may still overcome.
    error: Option<AgentFailure>,
    announced: AnnouncedError,
    denials: Vec<String>,
    conversations: Vec<String>,
    /// The tools that were called, by the id of the call.
    tools: BTreeMap<String, String>,
}

impl Heard {
    /// Hears a message of the standard output.
    pub(super) fn hear(&mut self, message: Value) {
        let kind = text(&message, "/type");
        let is_result = has(&message, &RESULT_KEYS) && kind.is_none();
        if is_result || has(&message, &WORK_KEYS) {
            // A script that calls the program prints the result itself.
            self.result = Some(message);
            return;
        }
        self.hear_conversation(&message);
        let Some(kind) = kind else {
            self.hear_gemini(&message);
            return;
        };
        if message.get("sessionID").is_some() {
            self.hear_opencode(&kind, &message);
        } else if message.get("data").is_some_and(Value::is_object) {
            self.hear_copilot(&kind, &message);
        } else {
            self.hear_others(&kind, &message);
        }
    }

    fn hear_conversation(&mut self, message: &Value) {
        let keys = ["/session_id", "/sessionID", "/sessionId", "/thread_id"];
        let id = first_text(message, &keys);
        if let Some(id) = id.filter(|id| !self.conversations.contains(id)) {
            self.conversations.push(id);
        }
    }

    fn hear_others(&mut self, kind: &str, message: &Value) {
        match kind {
            "result" if has(message, &["exitCode"]) => self.hear_end_of_copilot(message),
            "result" if has(message, &["status"]) => {
                if self.is_wrapped {
                    self.hear_end_of_gemini(message);
                }
            }
            "result" => self.hear_result(message),
            // The first and the last words of a conversation may be all that a killed program printed.
            "system" | "assistant" | "init" if has(message, &["session_id"]) => {
                self.is_wrapped = true;
                if let Some(error) = text(message, "/error") {
                    self.announced.word = Some(error);
                }
                let parts = message
                    .pointer("/message/content")
                    .and_then(Value::as_array);
                let said = parts.into_iter().flatten().rev();
                let said = said.filter_map(|part| text(part, "/text")).next();
                if said.is_some() {
                    self.answer = said;
                }
            }
            "rate_limit_event" => {
                self.is_wrapped = true;
                let is_rejected =
                    text(message, "/rate_limit_info/status").as_deref() == Some("rejected");
                let at = message
                    .pointer("/rate_limit_info/resetsAt")
                    .and_then(Value::as_i64);
                if is_rejected {
                    let reset = at.map(|at| Reset::At(Timestamp::from_seconds(at)));
                    let word = Some("rate_limit".to_owned());
                    self.announced = AnnouncedError { word, reset };
                }
            }
            // Only after the first words of a conversation: other programs print such lines, too.
            "message" if self.is_wrapped && has(message, &["role"]) => {
                let is_answer = text(message, "/role").as_deref() == Some("assistant");
                let Some(said) = text(message, "/content").filter(|_| is_answer) else {
                    self.is_open = false;
                    return;
                };
                let before = self.answer.take().filter(|_| self.is_open);
                self.is_open = message.get("delta") == Some(&Value::Bool(true));
                self.answer = Some(before.unwrap_or_default() + &said);
            }
            "error" if self.is_wrapped && has(message, &["severity"]) => {
                let is_error = text(message, "/severity").as_deref() == Some("error");
                let why = text(message, "/message").filter(|_| is_error);
                self.error = why
                    .map(|why| AgentFailure::of(&why, None, &[]))
                    .or(self.error.take());
            }
            _ => self.hear_codex(kind, message),
        }
    }

    /// The end of a turn of Claude Code or of Qwen Code.
    fn hear_result(&mut self, message: &Value) {
        self.is_wrapped = true;
        let said = text(message, "/result");
        let structured = message.get("structured_output");
        let structured = structured.filter(|given| given.is_object()).cloned();
        if let Some(cost) = cost(message, "/total_cost_usd") {
            let conversation = text(message, "/session_id");
            // The cost is that of the conversation so far.
            let last = self.costs.iter_mut();
            let mut last =
                last.filter(|last| conversation.is_some() && last.conversation == conversation);
            match last.next() {
                Some(last) => last.cost = cost,
                None => self.costs.push(ReportedCost { conversation, cost }),
            }
        }
        let denials = message.get("permission_denials").and_then(Value::as_array);
        for denial in denials.into_iter().flatten() {
            let tool = text(denial, "/tool_name").unwrap_or_default();
            self.deny(&tool, denial.get("tool_input"));
        }
        let subtype = text(message, "/subtype").unwrap_or_default();
        let failed =
            message.get("is_error") == Some(&Value::Bool(true)) || subtype.starts_with("error");
        let announced = std::mem::take(&mut self.announced);
        if !failed {
            self.answer = said.or(self.answer.take());
            self.result = structured;
            self.failure = None;
            return;
        }
        self.result = None;
        let why = first_text(message, &["/result", "/errors/0", "/error/message"]);
        let words = [
            text(message, "/error"),
            text(message, "/error/type"),
            announced.word,
        ];
        let words: Vec<String> = words.into_iter().flatten().collect();
        let reported = status(message, "/api_error_status");
        let mut failure = AgentFailure::of(why.as_deref().unwrap_or(&subtype), reported, &words);
        failure.reset = announced.reset.or(failure.reset);
        if subtype.starts_with("error_max") {
            // Its own limits: a further try begins with new ones.
            failure.stop = None;
        } else if failure.stop.is_none()
            && text(message, "/terminal_reason").as_deref() == Some("api_error")
            && message.get("api_error_status") == Some(&Value::Null)
        {
            failure.stop = Some(AgentStop::NoNetwork);
        }
        self.failure = Some(failure);
    }

    fn hear_codex(&mut self, kind: &str, message: &Value) {
        match kind {
            "thread.started" | "turn.started" => {
                self.is_wrapped = true;
                self.failure = None;
                self.error = None;
            }
            "item.completed" => {
                self.is_wrapped = true;
                let kind = first_text(message, &["/item/type", "/item/item_type"]);
                let is_declined = text(message, "/item/status").as_deref() == Some("declined");
                if matches!(kind.as_deref(), Some("agent_message" | "assistant_message")) {
                    self.answer = text(message, "/item/text");
                    self.result = None;
                } else if is_declined {
                    let tool = kind.unwrap_or_default();
                    self.deny(&tool, message.get("item"));
                }
            }
            "turn.completed" => {
                self.is_wrapped = true;
                self.error = None;
            }
            "turn.failed" => {
                self.is_wrapped = true;
                let why = text(message, "/error/message");
                let why = why.unwrap_or_else(|| "the turn failed".to_owned());
                self.failure = Some(AgentFailure::of(&why, None, &[]));
            }
            "error" if self.is_wrapped => {
                let why = text(message, "/message");
                self.error = why.map(|why| AgentFailure::of(&why, None, &[]));
            }
            _ => {}
        }
    }

    /// The only object that Gemini CLI prints without a stream.
    fn hear_gemini(&mut self, message: &Value) {
        if !has(message, &["session_id", "stats"]) {
            return;
        }
        self.hear_error(message);
        if let Some(said) = text(message, "/response") {
            self.is_wrapped = true;
            self.answer = Some(said);
        }
        let tools = message
            .pointer("/stats/tools/byName")
            .and_then(Value::as_object);
        for (tool, counts) in tools.into_iter().flatten() {
            let rejected = counts.pointer("/decisions/reject").and_then(Value::as_u64);
            if rejected.is_some_and(|rejected| rejected > 0) {
                self.deny(tool, None);
            }
        }
    }

    /// Hears a message of the standard error: there Gemini CLI prints how it failed.
    pub(super) fn hear_error(&mut self, message: &Value) {
        let Some(why) = text(message, "/error/message").filter(|_| message.get("type").is_none())
        else {
            return;
        };
        // Services answer programs that an agent calls in this form, too.
        let kind = text(message, "/error/type").unwrap_or_default();
        if !self.is_wrapped && !has(message, &["session_id"]) && !kind.starts_with("Fatal") {
            return;
        }
        self.is_wrapped = true;
        self.hear_conversation(message);
        let words: Vec<String> = text(message, "/error/type").into_iter().collect();
        let failure = AgentFailure::of(&why, status(message, "/error/code"), &words);
        self.failure = Some(failure);
    }

    fn hear_end_of_gemini(&mut self, message: &Value) {
        self.is_wrapped = true;
        let failed = text(message, "/status").as_deref() == Some("error");
        let why = text(message, "/error/message");
        let why = why.unwrap_or_else(|| "the turn failed".to_owned());
        let words: Vec<String> = text(message, "/error/type").into_iter().collect();
        self.failure = failed.then(|| AgentFailure::of(&why, None, &words));
        self.error = None;
    }

    fn hear_opencode(&mut self, kind: &str, message: &Value) {
        self.is_wrapped = true;
        match kind {
            "text" => {
                self.answer = first_text(message, &["/part/text", "/text"]).or(self.answer.take());
                self.result = None;
            }
            // A step that follows an error has overcome it.
            "step_start" => self.failure = None,
            "step_finish" => {
                let cost = cost(message, "/part/cost");
                self.costs.extend(cost.map(|cost| ReportedCost {
                    conversation: None,
                    cost,
                }));
            }
            "tool_use" => {
                let error = text(message, "/part/state/error").unwrap_or_default();
                if error.starts_with("The user rejected permission") {
                    let tool = text(message, "/part/tool").unwrap_or_default();
                    self.deny(&tool, message.pointer("/part/state/input"));
                }
            }
            "error" => {
                let why = first_text(
                    message,
                    &["/error/data/message", "/error/message", "/error/name"],
                );
                let words: Vec<String> = text(message, "/error/name").into_iter().collect();
                let reported = status(message, "/error/data/statusCode");
                let why = why.unwrap_or_else(|| "the turn failed".to_owned());
                self.failure = Some(AgentFailure::of(&why, reported, &words));
            }
            _ => {}
        }
    }

    fn hear_copilot(&mut self, kind: &str, message: &Value) {
        self.is_wrapped = true;
        match kind {
            "assistant.message" => {
                let said = first_text(message, &["/data/content"]);
                self.answer = said.or(self.answer.take());
                self.result = None;
                self.error = None;
            }
            "tool.execution_start" => {
                let call = text(message, "/data/toolCallId");
                let tool = text(message, "/data/toolName");
                self.tools.extend(call.zip(tool));
            }
            "tool.execution_complete" => {
                let why = text(message, "/data/error/message").unwrap_or_default();
                let code = text(message, "/data/error/code").unwrap_or_default();
                if matches!(code.as_str(), "denied" | "rejected")
                    || why.starts_with("Permission denied")
                {
                    let call = text(message, "/data/toolCallId").unwrap_or_default();
                    let tool = self.tools.get(&call).cloned().unwrap_or_default();
                    self.deny(&tool, None);
                }
            }
            "session.error" => {
                let why = text(message, "/data/message");
                let why = why.unwrap_or_else(|| "the session failed".to_owned());
                let words: Vec<String> = text(message, "/data/errorType").into_iter().collect();
                let reported = status(message, "/data/statusCode");
                self.error = Some(AgentFailure::of(&why, reported, &words));
            }
            _ => {}
        }
    }

    fn hear_end_of_copilot(&mut self, message: &Value) {
        self.is_wrapped = true;
        let code = message
            .get("exitCode")
            .and_then(Value::as_i64)
            .unwrap_or_default();
        let unknown = || AgentFailure {
            why: format!("it ended with code {code}"),
            ..AgentFailure::default()
        };
        let error = self.error.take();
        self.failure = (code != 0).then(|| error.unwrap_or_else(unknown));
    }

    /// Hears which permissions opencode says on the standard error that it has refused.
    pub(super) fn hear_denials(&mut self, errors: &str) {
        for line in errors.lines() {
            let asked = line.split_once("permission requested: ");
            let asked = asked.and_then(|(_, rest)| rest.split_once("; auto-rejecting"));
            if let Some((what, _)) = asked {
                self.deny(what, None);
            }
        }
    }

    /// Notes that a tool was denied, with what it was called for.
    fn deny(&mut self, tool: &str, input: Option<&Value>) {
        let tool = if tool.is_empty() { "a tool" } else { tool };
        let keys = [
            "/command",
            "/file_path",
            "/filePath",
            "/path",
            "/url",
            "/pattern",
        ];
        let what = input.and_then(|input| first_text(input, &keys));
        let what = what.and_then(|what| Some(what.lines().next()?.trim().to_owned()));
        let denied = match what {
            Some(what) => format!("{tool} ({what})"),
            None => tool.to_owned(),
        };
        let denied: String = denied.chars().take(MOST_DENIED).collect();
        if self.denials.len() < MOST_DENIALS && !self.denials.contains(&denied) {
            self.denials.push(denied);
        }
    }

    /// All that was heard; `output` is where a result is searched if no program wraps it.
    pub(super) fn output(self, output: &str) -> AgentOutput {
        if !self.is_wrapped {
            return AgentOutput {
                result: ActionResult::find(output),
                denials: self.denials,
                ..AgentOutput::default()
            };
        }
        let answer = self.answer;
        let in_answer = || ActionResult::find(answer.as_deref()?);
        AgentOutput {
            result: self.result.or_else(in_answer),
            costs: self.costs,
            failure: self.failure.or(self.error),
            answer,
            denials: self.denials,
            is_wrapped: true,
            conversations: self.conversations,
        }
    }
}

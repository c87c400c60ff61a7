//! What an agent program printed: its answer, its cost and its errors, taken out of the JSON that it wraps them in.
//!
//! `claude -p --output-format json` prints one object of type `result` (with `--verbose`, a list that ends in it),
//! and `stream-json` prints one message per line, of which the last is that object. `codex exec --json` prints one
//! event per line. Everything else is plain text.

use super::ActionResult;
use super::result::{RESULT_KEYS, WORK_KEYS, values};
use serde_json::Value;

/// The text at a place of a message.
fn text(message: &Value, pointer: &str) -> Option<String> {
    let text = message.pointer(pointer)?.as_str()?;
    Some(text.to_owned())
}

/// Whether a message has one of these keys.
fn has(message: &Value, keys: &[&str]) -> bool {
    keys.iter().any(|key| message.get(key).is_some())
}

/// What an agent program printed on its standard output.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Printed {
    /// The result in its answer; `None` if there is none.
    pub result: Option<Value>,
    /// The cost that the program reports; `None` if it reports none.
    pub cost: Option<f64>,
    /// The error that the program reports: it did not finish its work, whatever its exit code.
    pub failure: Option<String>,
}

impl Printed {
    /// Reads the output of a program. Text that no program wraps is searched as it is.
    #[must_use]
    pub fn read(output: &str) -> Self {
        let mut wrapped = Wrapped::default();
        for value in values(output, &['{', '[']) {
            match value {
                Value::Array(messages) => messages
                    .into_iter()
                    .for_each(|message| wrapped.hear(message)),
                message => wrapped.hear(message),
            }
        }
        if !wrapped.is_wrapped {
            return Self {
                result: ActionResult::find(output),
                ..Self::default()
            };
        }
        let answer = wrapped.answer;
        Self {
            result: wrapped.result.or_else(|| ActionResult::find(&answer?)),
            cost: wrapped.cost,
            failure: wrapped.failure.or(wrapped.error),
        }
    }
}

/// What the messages of a program have said so far.
#[derive(Default)]
struct Wrapped {
    is_wrapped: bool,
    answer: Option<String>,
    result: Option<Value>,
    cost: Option<f64>,
    failure: Option<String>,
    /// An error that the program may still overcome.
    error: Option<String>,
}

impl Wrapped {
    fn hear(&mut self, message: Value) {
        let is_result = has(&message, &RESULT_KEYS) && !has(&message, &["type"]);
        if is_result || has(&message, &WORK_KEYS) {
            // A script that calls the program prints the result itself.
            self.result = Some(message);
            return;
        }
        match text(&message, "/type").as_deref() {
            Some("result") => {
                self.is_wrapped = true;
                self.answer = text(&message, "/result");
                self.result = message
                    .get("structured_output")
                    .filter(|given| given.is_object())
                    .cloned();
                if let Some(cost) = message.get("total_cost_usd").and_then(Value::as_f64) {
                    self.cost = Some(self.cost.unwrap_or_default() + cost.max(0.0));
                }
                let subtype = text(&message, "/subtype").unwrap_or_default();
                let failed = message.get("is_error") == Some(&Value::Bool(true))
                    || subtype.starts_with("error");
                let why = text(&message, "/result")
                    .or_else(|| text(&message, "/errors/0"))
                    .filter(|why| !why.trim().is_empty());
                self.failure = failed.then(|| why.unwrap_or(subtype));
            }
            Some("thread.started" | "turn.started") => {
                self.is_wrapped = true;
                self.failure = None;
                self.error = None;
            }
            Some("item.completed") => {
                self.is_wrapped = true;
                let kind =
                    text(&message, "/item/type").or_else(|| text(&message, "/item/item_type"));
                if matches!(kind.as_deref(), Some("agent_message" | "assistant_message")) {
                    self.answer = text(&message, "/item/text");
                    self.result = None;
                }
            }
            Some("turn.completed") => {
                self.is_wrapped = true;
                self.error = None;
            }
            Some("turn.failed") => {
                self.is_wrapped = true;
                self.failure =
                    text(&message, "/error/message").or_else(|| Some("the turn failed".to_owned()));
            }
            Some("error") if self.is_wrapped => self.error = text(&message, "/message"),
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn printed(result: Value, cost: Option<f64>, failure: Option<&str>) -> Printed {
        let result = Some(result).filter(|result| !result.is_null());
        Printed {
            result,
            cost,
            failure: failure.map(str::to_owned),
        }
    }

    #[test]
    fn the_json_of_claude_is_read() {
        let answer = "Done.\n\n```json\n{\"stateUpdates\": {\"a\": 1}}\n```\n";
        let envelope = json!({"type": "result", "subtype": "success", "is_error": false, "duration_ms": 9,
            "num_turns": 3, "result": answer, "session_id": "s", "total_cost_usd": 0.25, "usage": {"input_tokens": 1}});
        let wanted = json!({"stateUpdates": {"a": 1}});
        let stream = format!(
            "{}\n{}\n{envelope}\n",
            json!({"type": "system", "subtype": "init", "cwd": "/w", "tools": ["Bash"]}),
            json!({"type": "assistant", "message": {"content": [{"type": "text", "text": "{\"summary\": \"no\"}"}]}}),
        );
        let list = json!([{"type": "system", "subtype": "init"}, envelope]).to_string();
        let pretty = serde_json::to_string_pretty(&envelope).expect("JSON");
        for output in [
            envelope.to_string(),
            pretty,
            stream,
            list,
            format!("a warning\n{envelope}"),
        ] {
            assert_eq!(
                Printed::read(&output),
                printed(wanted.clone(), Some(0.25), None),
                "{output}"
            );
        }
    }

    #[test]
    fn an_error_that_claude_reports_is_one() {
        for (envelope, why) in [
            (
                json!({"type": "result", "subtype": "success", "is_error": true, "result": "Credit balance is too low",
                "total_cost_usd": 0}),
                "Credit balance is too low",
            ),
            (
                json!({"type": "result", "subtype": "error_max_turns", "is_error": false, "total_cost_usd": 0.0}),
                "error_max_turns",
            ),
            (
                json!({"type": "result", "subtype": "error_during_execution", "is_error": true, "errors": ["overloaded"],
                "total_cost_usd": 0.0}),
                "overloaded",
            ),
        ] {
            let read = Printed::read(&envelope.to_string());
            assert_eq!(
                read,
                printed(Value::Null, Some(0.0), Some(why)),
                "{envelope}"
            );
        }
    }

    #[test]
    fn a_plain_answer_of_claude_is_no_result() {
        let envelope = json!({"type": "result", "is_error": false, "result": "I fixed it.", "total_cost_usd": 0.5});
        assert_eq!(
            Printed::read(&envelope.to_string()),
            printed(Value::Null, Some(0.5), None)
        );
        let structured = json!({"type": "result", "is_error": false, "result": "", "total_cost_usd": 0.5,
            "structured_output": {"summary": "fixed"}});
        assert_eq!(
            Printed::read(&structured.to_string()),
            printed(json!({"summary": "fixed"}), Some(0.5), None)
        );
    }

    #[test]
    fn the_events_of_codex_are_read() {
        let line = |value: Value| format!("{value}\n");
        let started = line(json!({"type": "thread.started", "thread_id": "t"}))
            + &line(json!({"type": "turn.started"}));
        let said = |text: &str| {
            line(
                json!({"type": "item.completed", "item": {"id": "i", "type": "agent_message", "text": text}}),
            )
        };
        let used = line(
            json!({"type": "turn.completed", "usage": {"input_tokens": 1, "output_tokens": 2}}),
        );
        let lost = line(json!({"type": "error", "message": "stream disconnected"}));
        let failed =
            line(json!({"type": "turn.failed", "error": {"message": "usage limit reached"}}));
        let ran = line(
            json!({"type": "item.completed", "item": {"type": "command_execution",
            "aggregated_output": "{\"summary\": \"not mine\"}"}}),
        );
        let answer = said("{\"summary\": \"fixed\"}");
        let good = printed(json!({"summary": "fixed"}), None, None);
        for (output, expected) in [
            (
                format!("{started}{}{ran}{answer}{used}", said("I begin")),
                good.clone(),
            ),
            (format!("{started}{lost}{answer}{used}"), good.clone()),
            (
                format!("{started}{answer}{lost}"),
                printed(
                    json!({"summary": "fixed"}),
                    None,
                    Some("stream disconnected"),
                ),
            ),
            (
                format!("{started}{failed}"),
                printed(Value::Null, None, Some("usage limit reached")),
            ),
            // Another turn may do better.
            (
                format!("{started}{failed}{started}{answer}{used}"),
                good.clone(),
            ),
            // Whatever else printed an error before the program began.
            (format!("{lost}{answer}{used}"), good.clone()),
            (format!("{lost}{answer}"), good.clone()),
            // A program that began and said nothing has no result, whatever a command printed that it ran.
            (
                format!("{started}ACTION_RESULT:\n- status: success\n"),
                printed(Value::Null, None, None),
            ),
            (
                format!("{started}{}{used}", said("done")),
                printed(Value::Null, None, None),
            ),
        ] {
            assert_eq!(Printed::read(&output), expected, "{output}");
        }
    }

    #[test]
    fn a_script_around_the_program_prints_the_result_itself() {
        let envelope = json!({"type": "result", "is_error": false, "result": "{\"summary\": \"a\"}", "total_cost_usd": 1.0});
        let output = format!("{envelope}\n{envelope}\n{{\"summary\": \"b\"}}\n");
        assert_eq!(
            Printed::read(&output),
            printed(json!({"summary": "b"}), Some(2.0), None)
        );
        let plain = "{\"type\": \"result\", \"stateUpdates\": {}}";
        let own = json!({"type": "result", "stateUpdates": {}});
        assert_eq!(Printed::read(plain), printed(own, None, None));
    }

    #[test]
    fn a_block_with_the_result_is_read() {
        let wanted =
            json!({"status": "success", "message": "two: done", "stateUpdates": {"a": {"b": [1]}}});
        for output in [
            "ACTION_RESULT:\n- action: DEVELOP\n- status: success\n- message: two: done\n- state_updates: {\"a\": {\"b\": [1]}}\n\nNEXT_ACTION_NEEDED: MENU\n",
            "Fine.\n```\nACTION_RESULT:\n  status: success\n  message: \"two: done\"\n  state_updates: {\n    \"a\": {\n      \"b\": [1]\n    }\n  }\n```\n",
        ] {
            assert_eq!(
                Printed::read(output),
                printed(wanted.clone(), None, None),
                "{output}"
            );
        }
        let fenced = "```ACTION_RESULT\n{\"summary\": \"a\"}\n```\n";
        assert_eq!(Printed::read(fenced).result, Some(json!({"summary": "a"})));
        let torn = Printed::read("ACTION_RESULT:\n- status: success\n- state_updates: {\"a\": \n")
            .result
            .expect("a result");
        assert!(ActionResult::read(&torn).is_err(), "{torn}");
    }
}

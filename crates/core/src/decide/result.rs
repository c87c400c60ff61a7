//! The result of an executor: one JSON object, parsed strictly and trusted only within bounds.

use super::data::{PatchOp, patch};
use orch_base::{Reason, nearest};
use serde_json::{Map, Value};

/// What an executor reports about its work.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct ActionResult {
    /// The changes that it requests in the state.
    pub patch: Vec<PatchOp>,
    /// Files that the executor claims to have written, relative to the task directory.
    pub output_files: Vec<String>,
    /// A one-line summary of the work.
    pub summary: Option<String>,
    /// A message for people who watch the run.
    pub message: Option<String>,
    /// Whether the run may continue after it.
    pub goes_on: bool,
    /// Whether the result itself reports a failure.
    pub failed: bool,
    /// The question that it puts to a person; if there is one, the action is not done.
    pub question: Option<String>,
    /// Whether another try could succeed, if it reports a failure.
    pub recoverable: bool,
    /// The reported cost.
    pub cost: f64,
}

/// The keys that a result may have. An object with none of them is not a result.
pub const RESULT_KEYS: [&str; 9] = [
    "stateUpdates",
    SKILL_UPDATES,
    "outputFiles",
    "summary",
    "message",
    "continue",
    "status",
    "recoverable",
    "cost",
];

/// The members of `skill_state` that the executor of an older loop keeps; here the record does, so they are ignored.
const KEPT_BY_ORCH: [&str; 5] = [
    "current_action",
    "last_action",
    "completed_actions",
    "mode",
    "errors",
];
/// The key under which executors of older loops report the changes below `skill_state`.
const SKILL_UPDATES: &str = "skillStateUpdates";
/// Those keys that report work.
pub const WORK_KEYS: [&str; 3] = ["stateUpdates", SKILL_UPDATES, "outputFiles"];

impl ActionResult {
    /// Parses a result; a null counts as a missing key. Returns the reason if the result is malformed.
    pub fn read(value: &Value) -> Result<Self, Reason> {
        let Some(members) = value.as_object() else {
            return Err("the result is not a JSON object".into());
        };
        if !has_result_key(members) {
            return Err(format!(
                "the JSON object is not a result; the keys of a result are {}",
                RESULT_KEYS.join(", ")
            )
            .into());
        }
        // Work reported under a misspelled key would be lost silently.
        for key in members
            .keys()
            .filter(|key| !RESULT_KEYS.contains(&key.as_str()))
        {
            let meant = nearest(key, WORK_KEYS).filter(|known| !members.contains_key(*known));
            if let Some(meant) = meant {
                return Err(
                    format!("the result has a key `{key}`; did you mean `{meant}`?").into(),
                );
            }
        }
        let mut wanted = patch(&updates(members, "stateUpdates")?)?;
        let mut of_skill = updates(members, SKILL_UPDATES)?;
        of_skill.retain(|key, _| !KEPT_BY_ORCH.contains(&key.as_str()));
        if !of_skill.is_empty() {
            wanted.extend(patch(&Map::from_iter([(
                "skill_state".to_owned(),
                Value::Object(of_skill),
            )]))?);
        }
        let output_files = match given(members, "outputFiles") {
            None => Vec::new(),
            Some(Value::Array(items)) => items
                .iter()
                .map(|item| item.as_str().map(str::to_owned))
                .collect::<Option<_>>()
                .ok_or("`outputFiles` of the result contains an item that is not a string")?,
            Some(_) => return Err("`outputFiles` of the result is not a list".into()),
        };
        let cost = match given(members, "cost") {
            None => 0.0,
            Some(value) => value
                .as_f64()
                .filter(|cost| cost.is_finite() && *cost >= 0.0)
                .ok_or("`cost` of the result is not a number of at least 0")?,
        };
        let (failed, asks) = match text(members, "status")?.as_deref() {
            None | Some("success" | "completed" | "done") => (false, false),
            Some("failed" | "failure" | "error" | "blocked") => (true, false),
            Some("needs_input") => (false, true),
            Some(other) => {
                let message = format!(
                    "`status` of the result is `{other}`; it must be success, failed or needs_input"
                );
                // What was skipped is part of the state, where the workflow has a place for it.
                let place =
                    "; what was skipped is reported in `stateUpdates`, where the prompt says";
                let place = if other == "skipped" { place } else { "" };
                return Err(format!("{message}{place}").into());
            }
        };
        let summary = text(members, "summary")?;
        let message = text(members, "message")?;
        let said = message
            .as_ref()
            .or(summary.as_ref())
            .map(|said| said.trim())
            .filter(|said| !said.is_empty());
        let question = said
            .unwrap_or("its result needs input and does not say which")
            .to_owned();
        Ok(Self {
            patch: wanted,
            output_files,
            question: asks.then_some(question),
            summary,
            message,
            goes_on: flag(members, "continue")?,
            recoverable: flag(members, "recoverable")?,
            failed,
            cost,
        })
    }

    /// Finds the result in a text: the last block `ACTION_RESULT:`, or the last JSON object that begins a line
    /// if there is no block or a result follows it.
    ///
    /// Programs print other text around it, so every line that begins with a brace is tried; text after the
    /// object is ignored.
    pub fn find(text: &str) -> Option<Value> {
        let Some((end, result)) = block(text) else {
            return json_values(text, &['{']).pop();
        };
        json_values(&text[end..], &['{'])
            .into_iter()
            .rfind(|value| value.as_object().is_some_and(has_result_key))
            .or(Some(result))
    }
}

/// The JSON values that begin a line with one of these characters, outermost only, in the order of the text.
#[must_use]
pub fn json_values(text: &str, openers: &[char]) -> Vec<Value> {
    let mut found = Vec::new();
    let mut offset = 0;
    let mut end = 0;
    for line in text.split_inclusive('\n') {
        let start = offset + line.len() - line.trim_start().len();
        offset += line.len();
        // A line inside a value may begin with a brace too.
        if start < end || !text[start..].starts_with(openers) {
            continue;
        }
        let mut values = serde_json::Deserializer::from_str(&text[start..]).into_iter::<Value>();
        if let Some(Ok(value)) = values.next() {
            end = start + values.byte_offset();
            found.push(value);
        }
    }
    found
}

fn has_result_key(members: &Map<String, Value>) -> bool {
    members
        .keys()
        .any(|key| RESULT_KEYS.contains(&key.as_str()))
}

/// The value of a key of a result; a null counts as a missing key.
fn given<'v>(members: &'v Map<String, Value>, key: &str) -> Option<&'v Value> {
    members.get(key).filter(|value| !value.is_null())
}

fn text(members: &Map<String, Value>, key: &str) -> Result<Option<String>, Reason> {
    match given(members, key) {
        None => Ok(None),
        Some(Value::String(text)) => Ok(Some(text.clone())),
        Some(_) => Err(format!("`{key}` of the result is not a string").into()),
    }
}

fn updates(members: &Map<String, Value>, key: &str) -> Result<Map<String, Value>, Reason> {
    match given(members, key) {
        None => Ok(Map::new()),
        Some(Value::Object(updates)) => Ok(updates.clone()),
        Some(_) => Err(format!("`{key}` of the result is not an object").into()),
    }
}

/// What a switch of a result says; by default, yes.
fn flag(members: &Map<String, Value>, key: &str) -> Result<bool, Reason> {
    match given(members, key) {
        None => Ok(true),
        Some(Value::Bool(flag)) => Ok(*flag),
        Some(_) => Err(format!("`{key}` of the result is neither true nor false").into()),
    }
}

/// The last block that begins with the line `ACTION_RESULT:`, whose lines are `- KEY: VALUE`. The keys are those of a
/// result, also in snake case. Texts may stand without quotes; every other value is JSON. Returns the block with the
/// offset of its end. `None` if there is no such block. A value that is not JSON stays text, which the key does not
/// accept.
fn block(text: &str) -> Option<(usize, Value)> {
    const TEXTS: [&str; 3] = ["status", "message", "summary"];
    let start = text
        .rmatch_indices("ACTION_RESULT:")
        .map(|(at, _)| at)
        .find(|at| {
            let line = text[..*at].rsplit('\n').next().unwrap_or_default();
            line.trim().is_empty()
                && text[*at..]
                    .lines()
                    .next()
                    .is_some_and(|line| line.trim_end().ends_with(':'))
        })?;
    let mut members = Map::new();
    let mut offset = start;
    let mut end = start + "ACTION_RESULT:".len();
    for line in text[start..].split_inclusive('\n') {
        let at = offset;
        offset += line.len();
        if at < end {
            continue;
        }
        let Some((key, value)) = line.trim().trim_start_matches("- ").split_once(':') else {
            break;
        };
        // An object that begins a line is not a line of the block, however it is indented.
        let is_outside = !line.starts_with([' ', '\t', '-']) || line.trim_start().starts_with('{');
        if is_outside {
            break;
        }
        end = end.max(offset);
        let key = key.trim().replace('_', "");
        let mut names = RESULT_KEYS.iter();
        let Some(&name) = names.find(|known| known.eq_ignore_ascii_case(&key)) else {
            continue;
        };
        let from = at + line.find(':').unwrap_or_default() + 1;
        let mut values = serde_json::Deserializer::from_str(&text[from..]).into_iter::<Value>();
        // Only an object or a list may begin on the next line: a line of text there is no value of this key.
        let rest = text[from..].trim_start();
        let is_json = match (value.trim().is_empty(), TEXTS.contains(&name)) {
            (true, is_text) => !is_text && rest.starts_with(['{', '[']),
            (false, true) => rest.starts_with(['{', '"']),
            (false, false) => true,
        };
        let read = match if is_json { values.next() } else { None } {
            Some(Ok(value)) => {
                end = end.max(from + values.byte_offset());
                value
            }
            _ => Value::from(value.trim()),
        };
        members.insert(name.to_owned(), read);
    }
    (!members.is_empty()).then_some((end, Value::Object(members)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_last_object_on_its_own_lines_is_the_result() {
        for (output, expected) in [
            ("{\"summary\": \"a\"}", Some(json!({"summary": "a"}))),
            (
                "thinking…\n{\"summary\": \"a\"}\n{\"summary\": \"b\"}\nbye\n",
                Some(json!({"summary": "b"})),
            ),
            (
                "{\n  \"stateUpdates\":\n  {\"a\": 1}\n}\n",
                Some(json!({"stateUpdates": {"a": 1}})),
            ),
            (
                "```json\n{\"summary\": \"a\"}\n```",
                Some(json!({"summary": "a"})),
            ),
            (
                "{not json\n{\"summary\": \"a\"}",
                Some(json!({"summary": "a"})),
            ),
            ("it is {\"summary\": \"a\"}", None),
            ("[1]\n", None),
            (
                "ACTION_RESULT:\n- status: failed\n",
                Some(json!({"status": "failed"})),
            ),
            (
                "ACTION_RESULT:\n- status: failed\n- recoverable: false\n- continue: false\n- cost: 0.5\n\
                 - output_files: [\"a.md\"]\n- skill_state_updates: {\"a\": 1}\n- message: true\n",
                Some(
                    json!({"status": "failed", "recoverable": false, "continue": false, "cost": 0.5,
                    "outputFiles": ["a.md"], "skillStateUpdates": {"a": 1}, "message": "true"}),
                ),
            ),
            (
                "ACTION_RESULT:\n- cost: free\n",
                Some(json!({"cost": "free"})),
            ),
            (
                "ACTION_RESULT:\n- cost:\n42 tests passed\n",
                Some(json!({"cost": ""})),
            ),
            (
                "ACTION_RESULT:\n- state_updates:\n  {\"a\": 1}\n",
                Some(json!({"stateUpdates": {"a": 1}})),
            ),
            ("it says ACTION_RESULT: here\n", None),
            ("it says ACTION_RESULT:\n- status: failed\n", None),
            ("ACTION_RESULT: here\n- status: failed\n", None),
            (
                "ACTION_RESULT:\n- status: failed\nno ACTION_RESULT: here\n",
                Some(json!({"status": "failed"})),
            ),
            ("", None),
        ] {
            assert_eq!(ActionResult::find(output), expected, "{output}");
        }
    }

    #[test]
    fn of_a_block_and_an_object_the_last_one_is_the_result() {
        let block = "ACTION_RESULT:\n- status: failed\n- state_updates: {\n  \"a\":\n  {\"summary\": 1}\n  }\n";
        let of_block = json!({"status": "failed", "stateUpdates": {"a": {"summary": 1}}});
        let object = "{\"summary\": \"later\"}\n";
        for (output, expected) in [
            (format!("{object}{block}"), of_block.clone()),
            (format!("{block}{object}"), json!({"summary": "later"})),
            (
                format!("{block}```json\n  {object}```\nbye\n"),
                json!({"summary": "later"}),
            ),
            (format!("{block}{object}{block}"), of_block.clone()),
            // What is no result takes nothing back.
            (
                format!("{block}{{\"level\": \"info\"}}\n"),
                of_block.clone(),
            ),
            (
                format!("{block}  {{\"summary\": \"indented\"}}\n"),
                json!({"summary": "indented"}),
            ),
        ] {
            assert_eq!(ActionResult::find(&output), Some(expected), "{output}");
        }
    }

    #[test]
    fn a_result_that_needs_input_is_a_question_and_no_success() {
        let read = |text: &str| ActionResult::read(&ActionResult::find(text).expect("a result"));
        for (text, question) in [
            (
                "ACTION_RESULT:\n- status: needs_input\n- message: which?\n",
                "which?",
            ),
            (
                r#"{"status": "needs_input", "message": "which?", "summary": "s"}"#,
                "which?",
            ),
            (
                r#"{"status": "needs_input", "summary": "which?"}"#,
                "which?",
            ),
            (
                r#"{"status": "needs_input"}"#,
                "its result needs input and does not say which",
            ),
        ] {
            let result = read(text).expect("a result");
            assert_eq!(
                (result.question.as_deref(), result.failed),
                (Some(question), false),
                "{text}"
            );
        }
        let done = read(r#"{"status": "success", "message": "which?"}"#).expect("a result");
        assert_eq!(done.question, None);
        for word in ["needs-input", "waiting", "SUCCESS", "ok?"] {
            let refused =
                read(&format!("ACTION_RESULT:\n- status: {word}\n")).expect_err("an unknown word");
            assert!(
                refused
                    .as_str()
                    .contains("it must be success, failed or needs_input"),
                "{refused}"
            );
        }
    }

    #[test]
    fn of_the_state_of_a_skill_the_record_keeps_some_members_itself() {
        let updates: Map<String, Value> = KEPT_BY_ORCH
            .iter()
            .chain(&["issues", "plan"])
            .map(|key| ((*key).to_owned(), json!(1)))
            .collect();
        let result = ActionResult::read(&json!({ SKILL_UPDATES: updates })).expect("a result");
        let mut data = json!({"skill_state": {}})
            .as_object()
            .expect("an object")
            .clone();
        crate::decide::merge_patch(&mut data, &result.patch).expect("applied");
        assert_eq!(
            Value::Object(data),
            json!({"skill_state": {"issues": 1, "plan": 1}})
        );
    }

    #[test]
    fn a_result_is_read_strictly() {
        let good =
            json!({"stateUpdates": {"a.b": 1}, "summary": null, "continue": false, "cost": 0.5});
        let read = ActionResult::read(&good).expect("a result");
        assert_eq!(
            (read.goes_on, read.failed, read.cost, read.patch.len()),
            (false, false, 0.5, 1)
        );
        let older = json!({"skillStateUpdates": {"develop": {"total": 1}, "last_action": "develop", "errors": []},
            "stateUpdates": {"a": 1}});
        let paths: Vec<String> = (ActionResult::read(&older).expect("a result").patch.iter())
            .map(|op| op.path.join("/"))
            .collect();
        assert_eq!(paths, ["a", "skill_state"]);
        for (bad, fault) in [
            (json!([]), "not a JSON object"),
            (json!({"ok": true}), "is not a result"),
            (json!({"stateUpdates": []}), "not an object"),
            (json!({"stateUpdates": {"a..b": 1}}), "not a path"),
            (json!({"outputFiles": "a"}), "not a list"),
            (json!({"outputFiles": [1]}), "not a string"),
            (json!({"continue": "yes"}), "neither"),
            (
                json!({"status": "failed", "recoverable": "no"}),
                "`recoverable` of the result is neither",
            ),
            (json!({"cost": -1}), "not a number"),
            (
                json!({"status": "maybe"}),
                "must be success, failed or needs_input",
            ),
            (
                json!({"status": "skipped"}),
                "what was skipped is reported in `stateUpdates`",
            ),
            (json!({"summary": 1}), "not a string"),
            (
                json!({"state_updates": {}, "summary": "done"}),
                "a key `state_updates`; did you mean `stateUpdates`?",
            ),
            (
                json!({"summary": "done", "outputfiles": []}),
                "a key `outputfiles`; did you mean `outputFiles`?",
            ),
        ] {
            let error = ActionResult::read(&bad).expect_err("a fault");
            assert!(error.as_str().contains(fault), "{bad}: {error}");
        }
        let more = json!({"summary": "a", "stateUpdates": {}, "state_updates": {}, "stats": 1, "host": "a"});
        assert!(
            ActionResult::read(&more).is_ok(),
            "unknown keys without a similar name are ignored"
        );
        let failed = ActionResult::read(&json!({"status": "failed"})).expect("a result");
        assert!(failed.failed && failed.recoverable);
    }
}

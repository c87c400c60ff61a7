//! The result of an executor: one JSON object, parsed strictly and trusted only within bounds.

use super::data::{PatchOp, patch};
use crate::base::{Reason, nearest};
use serde_json::{Map, Value};

/// The result of an action.
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
    /// The reported cost.
    pub cost: f64,
}

/// The keys of a result.
pub const RESULT_KEYS: [&str; 8] =
    ["stateUpdates", SKILL_UPDATES, "outputFiles", "summary", "message", "continue", "status", "cost"];

/// The key under which executors of older loops report the changes below `skill_state`.
const SKILL_UPDATES: &str = "skillStateUpdates";
/// Those keys that report work.
const WORK_KEYS: [&str; 3] = ["stateUpdates", SKILL_UPDATES, "outputFiles"];

impl ActionResult {
    /// Parses a result; a null counts as a missing key. Returns the reason if the result is malformed.
    pub fn read(value: &Value) -> Result<Self, Reason> {
        let Some(members) = value.as_object() else {
            return Err("the result is not a JSON object".into());
        };
        if !members.keys().any(|key| RESULT_KEYS.contains(&key.as_str())) {
            return Err(format!(
                "the JSON object is not a result; the keys of a result are {}",
                RESULT_KEYS.join(", ")
            )
            .into());
        }
        // Work reported under a misspelled key would be lost silently.
        for key in members.keys().filter(|key| !RESULT_KEYS.contains(&key.as_str())) {
            let meant = nearest(key, WORK_KEYS).filter(|known| !members.contains_key(*known));
            if let Some(meant) = meant {
                return Err(format!("the result has a key `{key}`; did you mean `{meant}`?").into());
            }
        }
        let given = |key: &str| members.get(key).filter(|value| !value.is_null());
        let text = |key: &'static str| -> Result<Option<String>, Reason> {
            match given(key) {
                None => Ok(None),
                Some(Value::String(text)) => Ok(Some(text.clone())),
                Some(_) => Err(format!("`{key}` of the result is not a string").into()),
            }
        };
        let updates = |key: &'static str| match given(key) {
            None => Ok(Map::new()),
            Some(Value::Object(updates)) => Ok(updates.clone()),
            Some(_) => Err(Reason::from(format!("`{key}` of the result is not an object"))),
        };
        let mut wanted = patch(&updates("stateUpdates")?)?;
        let of_skill = updates(SKILL_UPDATES)?;
        if !of_skill.is_empty() {
            wanted.extend(patch(&Map::from_iter([("skill_state".to_owned(), Value::Object(of_skill))]))?);
        }
        let output_files = match given("outputFiles") {
            None => Vec::new(),
            Some(Value::Array(items)) => items
                .iter()
                .map(|item| item.as_str().map(str::to_owned))
                .collect::<Option<_>>()
                .ok_or("`outputFiles` of the result contains an item that is not a string")?,
            Some(_) => return Err("`outputFiles` of the result is not a list".into()),
        };
        let goes_on = match given("continue") {
            None => true,
            Some(Value::Bool(goes_on)) => *goes_on,
            Some(_) => return Err("`continue` of the result is neither true nor false".into()),
        };
        let cost = match given("cost") {
            None => 0.0,
            Some(value) => value
                .as_f64()
                .filter(|cost| cost.is_finite() && *cost >= 0.0)
                .ok_or("`cost` of the result is not a number of at least 0")?,
        };
        let failed = match text("status")?.as_deref() {
            None | Some("success" | "completed" | "done" | "needs_input") => false,
            Some("failed" | "failure" | "error" | "blocked") => true,
            Some(other) => {
                return Err(
                    format!("`status` of the result is `{other}`; it must be success or failed").into()
                );
            }
        };
        Ok(Self {
            patch: wanted,
            output_files,
            summary: text("summary")?,
            message: text("message")?,
            goes_on,
            failed,
            cost,
        })
    }

    /// Finds the result in the output of an executor: the last JSON object that begins a line.
    ///
    /// Programs print other text around it, so every line that begins with a brace is tried, from the last to
    /// the first; text after the object is ignored.
    pub fn find(output: &str) -> Option<Value> {
        let mut starts: Vec<usize> = Vec::new();
        let mut offset = 0;
        for line in output.split_inclusive('\n') {
            if line.trim_start().starts_with('{') {
                starts.push(offset + line.len() - line.trim_start().len());
            }
            offset += line.len();
        }
        let whole = |start: &usize| {
            let mut values = serde_json::Deserializer::from_str(&output[*start..]).into_iter::<Value>();
            values.next()?.ok().map(|value| (*start, *start + values.byte_offset(), value))
        };
        // A line inside an object may begin with a brace too; the outermost object counts.
        let mut last: Option<(usize, Value)> = None;
        let mut end = 0;
        for start in &starts {
            if *start < end {
                continue;
            }
            if let Some((start, after, value)) = whole(start) {
                last = Some((start, value));
                end = after;
            }
        }
        last.map(|(_, value)| value)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_last_object_on_its_own_lines_is_the_result() {
        for (output, expected) in [
            ("{\"summary\": \"a\"}", Some(json!({"summary": "a"}))),
            ("thinking…\n{\"summary\": \"a\"}\n{\"summary\": \"b\"}\nbye\n", Some(json!({"summary": "b"}))),
            ("{\n  \"stateUpdates\":\n  {\"a\": 1}\n}\n", Some(json!({"stateUpdates": {"a": 1}}))),
            ("```json\n{\"summary\": \"a\"}\n```", Some(json!({"summary": "a"}))),
            ("{not json\n{\"summary\": \"a\"}", Some(json!({"summary": "a"}))),
            ("it is {\"summary\": \"a\"}", None),
            ("[1]\n", None),
            ("", None),
        ] {
            assert_eq!(ActionResult::find(output), expected, "{output}");
        }
    }

    #[test]
    fn a_result_is_read_strictly() {
        let good = json!({"stateUpdates": {"a.b": 1}, "summary": null, "continue": false, "cost": 0.5});
        let read = ActionResult::read(&good).expect("a result");
        assert_eq!((read.goes_on, read.failed, read.cost, read.patch.len()), (false, false, 0.5, 1));
        let older = json!({"skillStateUpdates": {"develop": {"total": 1}}, "stateUpdates": {"a": 1}});
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
            (json!({"cost": -1}), "not a number"),
            (json!({"status": "maybe"}), "must be"),
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
        assert!(ActionResult::read(&more).is_ok(), "unknown keys without a similar name are ignored");
        assert!(ActionResult::read(&json!({"status": "failed"})).expect("a result").failed);
    }
}

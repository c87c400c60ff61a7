//! What a verdict says, read from its data: the one reading of every sheet and description.

use super::{IssueView, Style};
use serde::Serialize;
use serde_json::Value;

/// The members by which data says whether it accepts, in order of precedence.
const VERDICTS: [&str; 3] = ["verdict", "decision", "status"];
/// How a word begins that accepts.
const ACCEPTS: [&str; 4] = ["accept", "approv", "pass", "ok"];
/// How a word begins that refuses.
const REFUSES: [&str; 7] = [
    "reject", "refus", "need", "block", "fail", "request", "changes",
];

/// What a verdict says.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SaidVerdict {
    /// Whether it accepts; null if that cannot be told without the rules.
    pub accepts: Option<bool>,
    /// The word that it uses, or what it says by `ok`; with what speaks against it.
    pub word: String,
}

impl SaidVerdict {
    /// What data says as a verdict with these issues; `None` if it says nothing. Of a verdict about several parts, the data
    /// of `aggregate` counts.
    pub(super) fn of(data: &Value, issues: &[IssueView]) -> Option<Self> {
        let top = data.get("aggregate").filter(|_| data.get("ok").is_none());
        let data = top.unwrap_or(data);
        let word = VERDICTS.iter().find_map(|name| data.get(*name)?.as_str());
        let by_word = word.and_then(accepts);
        let ok = data.get("ok").and_then(Value::as_bool);
        let said = match (ok, by_word) {
            (Some(false), _) | (_, Some(false)) => Some(false),
            (Some(true), _) | (_, Some(true)) => Some(true),
            (None, None) => None,
        };
        let is_blocked = said == Some(true) && issues.iter().any(IssueView::is_blocking);
        let word = match (word, said) {
            (Some(word), _) => word,
            (None, Some(true)) if is_blocked => "ok",
            (None, Some(true)) => "accepts",
            (None, Some(false)) => "refuses",
            (None, None) => return None,
        };
        Some(Self {
            accepts: said.map(|accepts| accepts && !is_blocked),
            word: match is_blocked {
                true => format!("{word}, but with a blocking issue"),
                false => word.to_owned(),
            },
        })
    }

    /// The style in which it is shown.
    pub(super) fn style(&self) -> Style {
        match self.accepts {
            Some(true) => Style::Good,
            Some(false) => Style::Bad,
            None => Style::Strong,
        }
    }
}

/// Whether a word accepts; `None` if it says neither.
fn accepts(word: &str) -> Option<bool> {
    let word = word.trim().to_lowercase();
    let begins = |with: &[&str]| with.iter().any(|begin| word.starts_with(begin));
    if begins(&ACCEPTS) {
        Some(true)
    } else if begins(&REFUSES) {
        Some(false)
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_verdict_is_told_from_what_it_says() {
        let blocking = IssueView {
            line: None,
            severity: Some("blocking".to_owned()),
            message: "no".to_owned(),
            about: None,
        };
        let blocking = std::slice::from_ref(&blocking);
        for (data, issues, expected) in [
            (json!({"ok": true}), &[][..], Some((Some(true), "accepts"))),
            (json!({"ok": false}), &[], Some((Some(false), "refuses"))),
            (
                json!({"ok": false}),
                blocking,
                Some((Some(false), "refuses")),
            ),
            (
                json!({"ok": true}),
                blocking,
                Some((Some(false), "ok, but with a blocking issue")),
            ),
            (
                json!({"ok": true, "decision": "approved"}),
                blocking,
                Some((Some(false), "approved, but with a blocking issue")),
            ),
            (
                json!({"aggregate": {"ok": true, "decision": "accepted"}}),
                &[],
                Some((Some(true), "accepted")),
            ),
            (
                json!({"ok": true, "decision": "needs_changes"}),
                &[],
                Some((Some(false), "needs_changes")),
            ),
            (
                json!({"verdict": "rejected"}),
                &[],
                Some((Some(false), "rejected")),
            ),
            (
                json!({"verdict": "deferred"}),
                &[],
                Some((None, "deferred")),
            ),
            (json!({"text": "x"}), &[], None),
        ] {
            let said = SaidVerdict::of(&data, issues);
            let said = said.as_ref().map(|said| (said.accepts, said.word.as_str()));
            assert_eq!(said, expected, "{data}");
        }
    }
}

//! Why a task was sent back to its phase: the reason of the step, and what the verdict behind it objects to.

use super::derive::SeenArtifact;
use super::evaluation::{Evaluation, SeenTask};
use super::order::current;
use super::scope::TaskScope;
use super::{Evidence, Facts, FileFact, HistoryEntry, Kind, State};
use crate::workflow::Workflow;
use orch_base::{ArtifactName, PhaseId, pointer};
use serde_json::Value;

/// The named fact of an artifact that lists what a verdict objects to: texts, or objects.
const ISSUES: &str = "issues";
/// How many issues of all verdicts together are quoted.
const MOST_ISSUES: usize = 10;

/// The step that sent a task back to its current phase.
#[derive(Debug, Clone, PartialEq)]
pub struct SendBack {
    /// The phase that was left.
    pub from: PhaseId,
    /// The rule, if the rules sent it back.
    pub rule: Option<String>,
    /// The reason: that of the rule, or of the person who ordered it.
    pub reason: String,
    /// The artifacts that the rule read and whose files are still those that the step rests on.
    pub verdicts: Vec<ArtifactName>,
    /// The results of verifications that the step rests on and that are still there.
    pub results: Vec<Evidence>,
    /// What the verdicts that the rule read object to. Only a verdict that is still the file that the step
    /// rests on is quoted.
    pub issues: Vec<QuotedIssue>,
    /// The number of issues left out.
    pub omitted: usize,
}

/// One thing that a verdict objects to.
#[derive(Debug, Clone, PartialEq)]
pub struct QuotedIssue {
    /// The artifact that contains it.
    pub artifact: ArtifactName,
    /// The file, relative to the task directory.
    pub path: String,
    /// Its JSON pointer in the data of the file; `None` if the value is not part of the data.
    pub pointer: Option<String>,
    /// The issue: a text or an object.
    pub value: Value,
}

impl Evaluation<'_> {
    /// The step that sent the task back to its phase; `None` if it came forward, or if the state no longer
    /// holds the step.
    pub(super) fn sent_back(&self, scope: &TaskScope<'_>) -> Option<SendBack> {
        let entry = self
            .state
            .newest_first()
            .find(|entry| !entry.kind.stays())?;
        let from = entry
            .from
            .clone()
            .filter(|_| entry.to == self.phase.id && self.went_back(entry))?;
        let read: Vec<&SeenArtifact<'_>> = self
            .seen
            .iter()
            .filter(|seen| self.was_read(entry, seen))
            .collect();
        let mut issues: Vec<QuotedIssue> = Vec::new();
        let mut omitted = 0;
        let mut results = Vec::new();
        for (seen, value) in read.iter().flat_map(|seen| {
            objections(seen, entry, scope)
                .into_iter()
                .map(|v| (*seen, v))
        }) {
            if issues.len() < MOST_ISSUES {
                issues.push(quoted(seen, &seen.files, value, &issues));
            } else {
                omitted += 1;
            }
        }
        for (evidence, values) in self.verifications().objections(entry) {
            for value in values {
                if issues.len() == MOST_ISSUES {
                    omitted += 1;
                    continue;
                }
                for (path, _) in &evidence.files {
                    issues.push(QuotedIssue {
                        artifact: evidence.artifact.clone(),
                        path: path.clone(),
                        pointer: None,
                        value: value.clone(),
                    });
                }
            }
            results.push(evidence);
        }
        let verdicts = read.iter().map(|seen| seen.derived.name.clone()).collect();
        let rule = entry.rule.clone();
        let reason = entry.reason.clone();
        Some(SendBack {
            from,
            rule,
            reason,
            verdicts,
            results,
            issues,
            omitted,
        })
    }

    fn went_back(&self, entry: &HistoryEntry) -> bool {
        let to = self.workflow.position(&entry.to);
        let is_back = entry
            .from
            .as_ref()
            .is_some_and(|from| to <= self.workflow.position(from));
        matches!(entry.kind, Kind::Regress | Kind::Rollback | Kind::Reopen)
            || (entry.kind == Kind::Override && is_back)
    }

    /// Whether the rule of a step reads an artifact of which a present file is one that the step rests on.
    fn was_read(&self, entry: &HistoryEntry, seen: &SeenArtifact<'_>) -> bool {
        let rule = self
            .workflow
            .rules
            .iter()
            .find(|rule| entry.rule.as_deref() == Some(rule.id.as_str()));
        rule.is_some_and(|rule| self.rules().reads(rule, seen.derived.name.as_str()))
            && seen.files.iter().any(|file| rested_on(entry, file))
    }
}

/// Whether a step rests on a file as it is now.
fn rested_on(entry: &HistoryEntry, file: &FileFact) -> bool {
    let Some(digest) = file.digest.map(|digest| digest.to_string()) else {
        return false;
    };
    entry
        .evidence
        .iter()
        .any(|(path, named)| *path == file.path && *named == digest)
}

/// What the files of a verdict object to that a step rests on; nothing if they are not valid or have no such fact.
fn objections(seen: &SeenArtifact<'_>, entry: &HistoryEntry, scope: &TaskScope<'_>) -> Vec<Value> {
    let files: Vec<&FileFact> = seen
        .files
        .iter()
        .copied()
        .filter(|file| rested_on(entry, file))
        .collect();
    listed(seen, &files, scope)
}

/// What these files object to.
fn listed(seen: &SeenArtifact<'_>, files: &[&FileFact], scope: &TaskScope<'_>) -> Vec<Value> {
    let Some(Value::Array(values)) = scope.fact_of(seen, files, ISSUES) else {
        return Vec::new();
    };
    // An expression cannot join lists that are inside other values, so a list in the list counts as its items.
    let items = values.into_iter().flat_map(|value| match value {
        Value::Array(inner) => inner,
        one => vec![one],
    });
    items.collect()
}

/// What each file of a task objects to, by the named fact `issues` of its artifact, whether it counts or not. Nothing if
/// the state names no phase.
#[must_use]
pub fn issues(workflow: &Workflow, state: &State, facts: &Facts) -> Vec<QuotedIssue> {
    let state = &*state.under_own_names(workflow);
    let Ok(phase) = current(workflow, state) else {
        return Vec::new();
    };
    let seen = SeenTask::of(workflow, state, facts, phase).seen;
    let attempt = state.attempt(&phase.id).max(1);
    let scope = TaskScope::new(workflow, &seen, state, &phase.id, attempt, facts);
    let mut found = Vec::new();
    for one in &seen {
        for file in &one.files {
            for value in listed(one, &[file], &scope) {
                let issue = quoted(one, &[file], value, &found);
                found.push(issue);
            }
        }
    }
    found
}

/// One issue of a verdict, with its place in one of these files. `earlier` are the issues quoted before it: of equal ones, each has a
/// place of its own.
fn quoted(
    seen: &SeenArtifact<'_>,
    files: &[&FileFact],
    value: Value,
    earlier: &[QuotedIssue],
) -> QuotedIssue {
    let mut quoted = QuotedIssue {
        artifact: seen.derived.name.clone(),
        path: String::new(),
        pointer: None,
        value,
    };
    for file in files {
        let Some(data) = file.data.as_deref() else {
            continue;
        };
        let mut skip = earlier
            .iter()
            .filter(|one| one.path == file.path && one.value == quoted.value)
            .count();
        quoted.pointer = find(data, &quoted.value, &mut skip);
        if quoted.pointer.is_some() {
            quoted.path.clone_from(&file.path);
            return quoted;
        }
    }
    if let Some(first) = files.first() {
        quoted.path.clone_from(&first.path);
    }
    quoted
}

/// The pointer of a part of `data` that equals `wanted`, after the first `skip` such parts.
fn find(data: &Value, wanted: &Value, skip: &mut usize) -> Option<String> {
    if data == wanted {
        match skip.checked_sub(1) {
            Some(rest) => *skip = rest,
            None => return Some(String::new()),
        }
    }
    match data {
        Value::Array(items) => items.iter().enumerate().find_map(|(index, item)| {
            find(item, wanted, skip).map(|below| format!("/{index}{below}"))
        }),
        Value::Object(members) => members.iter().find_map(|(name, member)| {
            find(member, wanted, skip).map(|below| format!("{}{below}", pointer::child("", name)))
        }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn equal_issues_have_a_place_each() {
        let data = json!({"a": [{"x": 1}, "y", {"x": 1}], "b": {"c~/d": {"x": 1}}, "e": {"x": 2}});
        for (wanted, skip, expected) in [
            (json!({"x": 1}), 0, Some("/a/0")),
            (json!({"x": 1}), 1, Some("/a/2")),
            (json!({"x": 1}), 2, Some("/b/c~0~1d")),
            (json!({"x": 1}), 3, None),
            (json!("y"), 0, Some("/a/1")),
            (json!({"x": 2}), 0, Some("/e")),
            (json!("z"), 0, None),
            (data.clone(), 0, Some("")),
        ] {
            let found = find(&data, &wanted, &mut skip.clone());
            assert_eq!(found.as_deref(), expected, "{wanted} {skip}");
        }
    }
}

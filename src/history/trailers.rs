//! The trailers of a commit message, compared with the events that the commit adds. People read the trailers,
//! so they must say what the record says.

use crate::base::TaskId;
use crate::record::LogEvent;
use crate::store::trailers;
use crate::view::StepTrailers;

/// The common beginning of the trailers that `orch` writes.
const OURS: &str = "Orch-";
const TASK: &str = "Orch-Task";
const EVIDENCE: &str = "Orch-Evidence";
const UNPROVEN: &str = "Orch-Unproven";

/// A step that the trailers of a commit tell of.
pub(super) struct ToldStep {
    /// The id of the task, as told; empty without `Orch-Task`.
    pub task: String,
    /// The other trailers of `orch`: token and value.
    rest: Vec<(String, String)>,
}

impl ToldStep {
    /// The steps that a commit message tells of. Each begins with `Orch-Task`; one without further trailers
    /// of `orch` only names the task that a commit of code belongs to, and tells of no step.
    pub(super) fn all(message: &str) -> Vec<Self> {
        let mut told: Vec<Self> = Vec::new();
        if !message.contains(OURS) {
            return told;
        }
        for (token, value) in trailers(message) {
            if token.eq_ignore_ascii_case(TASK) {
                told.push(Self { task: value, rest: Vec::new() });
            } else if token.get(..OURS.len()).is_some_and(|start| start.eq_ignore_ascii_case(OURS)) {
                let step = match told.last_mut() {
                    Some(step) => step,
                    None => told.push_mut(Self { task: String::new(), rest: Vec::new() }),
                };
                step.rest.push((token, value));
            }
        }
        told.retain(|step| !step.rest.is_empty());
        told
    }

    /// Why the trailers are not those of any of these events of a task; `None` if they are those of one.
    pub(super) fn contradicts(&self, task: &TaskId, events: &[LogEvent]) -> Option<String> {
        let mut first = None;
        for event in events {
            match self.differs(task, event) {
                None => return None,
                why => first = first.or(why),
            }
        }
        Some(first.unwrap_or_else(|| self.tells_of_nothing()))
    }

    /// The reason if the commit adds no event of the task.
    pub(super) fn tells_of_nothing(&self) -> String {
        format!("the trailers tell of a step of `{}` that this commit does not record", self.task)
    }

    fn differs(&self, task: &TaskId, event: &LogEvent) -> Option<String> {
        if self.task.is_empty() {
            return Some(format!("the trailer {TASK} is missing; the record says {:?}", task.as_str()));
        }
        let recorded = StepTrailers::recorded(task, &event.entry, &event.workflow).list();
        let is_told = |token: &str, value: &str| {
            self.rest.iter().any(|(told, text)| told.eq_ignore_ascii_case(token) && text == value)
        };
        let mut wanted = recorded.iter().filter(|(token, _)| *token != TASK);
        if let Some((token, value)) = wanted.find(|(token, value)| !is_told(token, value)) {
            return Some(match self.rest.iter().find(|(told, _)| told.eq_ignore_ascii_case(token)) {
                Some((_, told)) => {
                    format!("the trailer {token} says {told:?}, but the record says {value:?}")
                }
                None => format!("the trailer {token} is missing; the record says {value:?}"),
            });
        }
        for (token, value) in &self.rest {
            let is_known = if token.eq_ignore_ascii_case(EVIDENCE) {
                event.entry.evidence.iter().any(|(path, digest)| is_evidence(value, path, digest))
                    || stands_for_several(value)
            } else {
                let has = |(known, text): &(&str, String)| token.eq_ignore_ascii_case(known) && text == value;
                token.eq_ignore_ascii_case(UNPROVEN) || recorded.iter().any(has)
            };
            if !is_known {
                return Some(format!("the trailer {token} says {value:?}, which the record does not say"));
            }
        }
        let tells = |(token, value): &(String, String), path: &str, digest: &str| {
            let is_file = || is_evidence(value, path, digest) || stands_for_several(value);
            let is_unproven = || value == path || value.starts_with('"');
            (token.eq_ignore_ascii_case(EVIDENCE) && is_file())
                || (token.eq_ignore_ascii_case(UNPROVEN) && is_unproven())
        };
        let is_listed = |path: &str, digest: &str| self.rest.iter().any(|told| tells(told, path, digest));
        let mut rests_on = event.entry.evidence.iter();
        let unlisted = rests_on.find(|(path, digest)| !is_listed(path, digest));
        unlisted.map(|(path, digest)| format!("the trailers do not list the evidence {path}@{digest:.10}"))
    }
}

/// Whether the value of a trailer names this file. A path with special characters is quoted.
fn is_evidence(value: &str, path: &str, digest: &str) -> bool {
    let Some((name, told)) = value.rsplit_once('@') else { return false };
    told == digest && (name == path || name.starts_with('"'))
}

/// Whether the value of a trailer stands for the files of an artifact that has several.
fn stands_for_several(value: &str) -> bool {
    value.rsplit_once('@').is_some_and(|(name, _)| name.ends_with(" files)"))
}

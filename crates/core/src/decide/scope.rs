//! What guards see: one map per artifact, `state`, `phase`, `attempt`, `task`, and named expressions.

use super::derive::{SeenArtifact, file_value};
use super::evaluation::Evaluation;
use super::state_document::document;
use super::{Facts, FileFact, Mode, State};
use crate::workflow::guard::{Lookup, Scope, follow};
use crate::workflow::{AFTER, APPROVALS, CHILDREN, Guard, LAPSED, VERIFIED, Workflow};
use orch_base::pointer::child;
use orch_base::{ActionName, ArtifactName, PhaseId, Reason, VerificationName};
use serde_json::Value;
use std::borrow::Cow;
use std::cell::OnceCell;
use std::collections::BTreeMap;

/// The scope of one decision.
pub(super) struct TaskScope<'a> {
    workflow: &'a Workflow,
    seen: &'a [SeenArtifact<'a>],
    state: &'a State,
    /// What guards see as `state`; built on first use, because few guards read it.
    document: OnceCell<Value>,
    phase: Value,
    attempt: Value,
    task: Value,
    observed: &'a Facts,
    /// Named expressions, each computed once, because they may read one another many times.
    defines: Vec<OnceCell<Result<Value, Reason>>>,
    /// The named facts of each artifact, likewise, in document order.
    facts: Vec<Vec<OnceCell<Result<Value, Reason>>>>,
}

impl<'a> TaskScope<'a> {
    pub(super) fn new(
        workflow: &'a Workflow,
        seen: &'a [SeenArtifact<'a>],
        state: &'a State,
        phase: &PhaseId,
        attempt: u32,
        facts: &'a Facts,
    ) -> Self {
        Self {
            workflow,
            seen,
            state,
            document: OnceCell::new(),
            phase: Value::from(phase.as_str()),
            attempt: Value::from(attempt),
            task: Value::from(facts.task.as_str()),
            observed: facts,
            defines: vec![OnceCell::new(); workflow.defines.len()],
            facts: workflow
                .artifacts
                .iter()
                .map(|artifact| vec![OnceCell::new(); artifact.facts.len()])
                .collect(),
        }
    }

    fn document(&self) -> &Value {
        self.document.get_or_init(|| {
            let mut recorded = document(self.state, &self.workflow.phase_key);
            if let Value::Object(members) = &mut recorded {
                for (key, value) in &self.workflow.state.defaults {
                    members.entry(key.clone()).or_insert_with(|| value.clone());
                }
            }
            if let Some(schema) = &self.workflow.state.schema {
                schema.make_whole(&mut recorded);
            }
            recorded
        })
    }

    /// What guards see as `run`: the results of actions.
    fn run(&self) -> Value {
        let run = &self.state.run;
        serde_json::json!({
            "mode": run.mode.map_or("", Mode::as_str),
            "errors": run.errors,
            "max_errors": self.workflow.limits.errors,
            "chosen": run.chosen.as_ref().map_or("", ActionName::as_str),
        })
    }

    /// What guards see as `approvals`: what people said, by the phases that ask for several approvals.
    fn approvals(&self) -> Value {
        let phases = self.workflow.phases.iter();
        let said = phases.filter_map(|phase| {
            let workflow = self.workflow;
            let state = self.state;
            let facts = self.observed;
            let seen = self.seen;
            let approvals = Evaluation {
                workflow,
                state,
                facts,
                phase,
                seen,
            }
            .rulings()
            .approvals()?;
            Some((phase.id.to_string(), approvals.value()))
        });
        Value::Object(said.collect())
    }

    /// What guards see as `verified`, of the verification with this name.
    fn verified(&self, name: Option<&String>) -> Value {
        let Some(phase) = self
            .phase
            .as_str()
            .and_then(|id| self.workflow.phase_named(id))
        else {
            return Value::Null;
        };
        let evaluation = Evaluation {
            workflow: self.workflow,
            state: self.state,
            facts: self.observed,
            phase,
            seen: self.seen,
        };
        let known = name.and_then(|name| {
            let value = evaluation
                .verifications()
                .value(&VerificationName::new(name).ok()?);
            Some((name.clone(), value))
        });
        Value::Object(known.into_iter().collect())
    }

    /// What guards see as `lapsed`: which deadlines have passed in the present attempt.
    fn lapsed(&self) -> Value {
        let phase = self.phase.as_str().unwrap_or_default();
        let deadlines = self.workflow.deadlines.iter();
        let lapsed = deadlines.map(|deadline| {
            let is_here = deadline.phase.as_str() == phase;
            let has_passed = is_here && self.state.lapse_of(deadline).is_some();
            (deadline.name.clone(), Value::from(has_passed))
        });
        Value::Object(lapsed.collect())
    }

    /// The tally of every action, including actions that never ran.
    fn actions(&self) -> Value {
        let tallies = self.workflow.actions.iter().map(|action| {
            let tally = self.state.tally(&action.name);
            let value = serde_json::json!({"done": tally.done, "skipped": tally.skipped});
            (action.name.to_string(), value)
        });
        Value::Object(tallies.collect())
    }

    fn artifact<'s>(&'s self, seen: &'s SeenArtifact<'a>, path: &[String]) -> Lookup<'s> {
        let Some(member) = path.get(1) else {
            return Lookup::Missing { depth: 1 };
        };
        let derived = &seen.derived;
        let value = match member.as_str() {
            "present" => Value::from(derived.present),
            "valid" => Value::from(derived.holds()),
            "fresh" => Value::from(derived.fresh),
            "ready" => Value::from(derived.ready()),
            "changed" => Value::from(derived.changed),
            "digest" => derived
                .digest
                .map_or(Value::Null, |digest| Value::from(digest.to_string())),
            "count" => Value::from(seen.counting.len()),
            "path" => self.path(seen),
            "all" => seen.counting.iter().map(|file| file_value(file)).collect(),
            "not_counted" => not_counted(seen),
            "problems" => problems(seen),
            "data" if derived.holds() => return follow(self.data(seen), path, 2),
            "data" => Value::Null,
            _ if derived.holds() => {
                return match self.fact(seen, member) {
                    Some(Ok(value)) => follow(value, path, 2),
                    Some(Err(message)) => Lookup::Failed(message.clone().into()),
                    None => Lookup::Missing { depth: 1 },
                };
            }
            _ => return Lookup::Missing { depth: 1 },
        };
        owned(value, path, 2)
    }

    /// The data of an artifact with one file; for several files it is null, and `all` contains them.
    fn data<'s>(&'s self, seen: &'s SeenArtifact<'a>) -> &'s Value {
        static NULL: Value = Value::Null;
        let only = self
            .workflow
            .artifact(&seen.derived.name)
            .and_then(|artifact| seen.only_file(artifact));
        only.and_then(|file| file.data.as_deref()).unwrap_or(&NULL)
    }

    /// The path of the first file that counts, or else of the only file.
    fn path(&self, seen: &SeenArtifact<'_>) -> Value {
        let only = self
            .workflow
            .artifact(&seen.derived.name)
            .and_then(|artifact| seen.only_file(artifact));
        let shown = seen.counting.first().copied().or(only);
        shown.map_or(Value::Null, |file| Value::from(file.path.as_str()))
    }

    /// The value of a named fact over these files of an artifact, also of those that do not count; `None` if the artifact
    /// is not valid, or has no such fact, or the fact cannot be computed.
    pub(super) fn fact_of(
        &self,
        seen: &SeenArtifact<'_>,
        files: &[&FileFact],
        name: &str,
    ) -> Option<Value> {
        let artifact = self
            .workflow
            .artifact(&seen.derived.name)
            .filter(|_| seen.derived.holds())?;
        let (_, guard) = artifact.facts.iter().find(|(fact, _)| fact == name)?;
        let only = if let [only] = files {
            only.data.as_deref()
        } else {
            None
        };
        let most_kept = most_kept(self.workflow);
        let scope = FactScope {
            most_kept,
            files,
            only,
        };
        guard.value(&scope).ok()
    }

    fn fact(&self, seen: &SeenArtifact<'_>, name: &str) -> Option<&Result<Value, Reason>> {
        let artifacts = &self.workflow.artifacts;
        let artifact = artifacts
            .iter()
            .position(|artifact| artifact.name == seen.derived.name)?;
        let fact = artifacts[artifact]
            .facts
            .iter()
            .position(|(fact, _)| fact == name)?;
        let guard = &artifacts[artifact].facts[fact].1;
        Some(self.facts[artifact][fact].get_or_init(|| {
            let only = seen
                .only_file(&artifacts[artifact])
                .and_then(|file| file.data.as_deref());
            guard.value(&FactScope {
                most_kept: most_kept(self.workflow),
                files: &seen.counting,
                only,
            })
        }))
    }
}

impl Scope for TaskScope<'_> {
    fn look_up(&self, path: &[String]) -> Lookup<'_> {
        let Some(root) = path.first() else {
            return Lookup::Missing { depth: 0 };
        };
        match root.as_str() {
            "state" => return follow(self.document(), path, 1),
            "phase" => return follow(&self.phase, path, 1),
            "attempt" => return follow(&self.attempt, path, 1),
            "task" => return follow(&self.task, path, 1),
            "run" => return owned(self.run(), path, 1),
            "action" => return owned(self.actions(), path, 1),
            _ => {}
        }
        if let Some(seen) = self
            .seen
            .iter()
            .find(|seen| seen.derived.name.as_str() == root)
        {
            return self.artifact(seen, path);
        }
        let Some(index) = self
            .workflow
            .defines
            .iter()
            .position(|(name, _)| name == root)
        else {
            // A name of the workflow's own comes first: it may be older.
            return match root.as_str() {
                APPROVALS if self.workflow.asks_for_approvals() => owned(self.approvals(), path, 1),
                VERIFIED => owned(self.verified(path.get(1)), path, 1),
                LAPSED if !self.workflow.deadlines.is_empty() => owned(self.lapsed(), path, 1),
                AFTER => owned(self.observed.others.after(self.state), path, 1),
                CHILDREN => owned(self.observed.others.children(), path, 1),
                _ => Lookup::Missing { depth: 0 },
            };
        };
        match self.defines[index].get_or_init(|| self.workflow.defines[index].1.value(self)) {
            Ok(value) => follow(value, path, 1),
            Err(message) => Lookup::Failed(message.clone().into()),
        }
    }

    fn most_kept(&self) -> u64 {
        most_kept(self.workflow)
    }

    fn place_of(&self, path: &[String]) -> Option<String> {
        let (root, rest) = path.split_first()?;
        let seen = self
            .seen
            .iter()
            .find(|seen| seen.derived.name.as_str() == root)?;
        place_in(
            if seen.counting.is_empty() {
                &seen.files
            } else {
                &seen.counting
            },
            rest,
        )
    }
}

/// The bytes of memory that all values of the named expressions of a workflow may have together.
const MOST_KEPT: u64 = 256 << 20;
/// One of them may always have so many.
const LEAST_OF_ONE: u64 = 4 << 20;

/// The share of each named expression of a workflow in what all may keep.
fn most_kept(workflow: &Workflow) -> u64 {
    let facts = workflow
        .artifacts
        .iter()
        .map(|artifact| artifact.facts.len());
    let named = facts.sum::<usize>() + workflow.defines.len();
    let share = MOST_KEPT / u64::try_from(named).unwrap_or(u64::MAX).max(4);
    share.max(LEAST_OF_ONE)
}

/// Which files of an artifact count according to its `named_by`: a path or a glob; `None` where it names nothing. Returns
/// the reason if the expression cannot be evaluated.
pub fn named_pattern(
    workflow: &Workflow,
    guard: &Guard,
    artifacts: &BTreeMap<ArtifactName, Vec<FileFact>>,
) -> Result<Option<String>, Reason> {
    let scope = NamingScope {
        workflow,
        artifacts,
        defines: vec![OnceCell::new(); workflow.defines.len()],
    };
    match guard.value(&scope)? {
        Value::String(text) if !text.is_empty() => Ok(Some(text)),
        Value::Null | Value::String(_) => Ok(None),
        other => Err(Reason::from(format!(
            "`named_by` yields a path, not {other}"
        ))),
    }
}

/// What the expression of a `named_by` sees: the files of the other artifacts, by the names of these, and named
/// expressions over them.
struct NamingScope<'a> {
    workflow: &'a Workflow,
    defines: Vec<OnceCell<Result<Value, Reason>>>,
    artifacts: &'a BTreeMap<ArtifactName, Vec<FileFact>>,
}

impl Scope for NamingScope<'_> {
    fn look_up(&self, path: &[String]) -> Lookup<'_> {
        let Some((name, rest)) = path.split_first() else {
            return Lookup::Missing { depth: 0 };
        };
        let found = self
            .artifacts
            .iter()
            .find(|(artifact, _)| artifact.as_str() == name);
        let Some((_, files)) = found else {
            let mut defines = self.workflow.defines.iter();
            let Some(index) = defines.position(|(define, _)| define == name) else {
                return Lookup::Missing { depth: 0 };
            };
            let value =
                self.defines[index].get_or_init(|| self.workflow.defines[index].1.value(self));
            return match value {
                Ok(value) => follow(value, path, 1),
                Err(message) => Lookup::Failed(message.clone().into()),
            };
        };
        let is_valid = !files.is_empty() && files.iter().all(FileFact::is_valid);
        let only = match files.as_slice() {
            [only] => only.data.as_deref(),
            _ => None,
        };
        match rest.first().map(String::as_str) {
            Some("present") => owned(Value::from(!files.is_empty()), path, 2),
            Some("valid" | "ready") => owned(Value::from(is_valid), path, 2),
            Some("count") => owned(Value::from(files.len()), path, 2),
            Some("data") => follow(only.unwrap_or(&Value::Null), path, 2),
            Some("all") => owned(files.iter().map(file_value).collect(), path, 2),
            Some("path") => {
                let first = files.first();
                let first = first.map_or(Value::Null, |file| Value::from(file.path.as_str()));
                owned(first, path, 2)
            }
            _ => Lookup::Missing { depth: 1 },
        }
    }

    fn most_kept(&self) -> u64 {
        most_kept(self.workflow)
    }
}

/// The file among those of an artifact in which the value at a path lies, and where in it, in words.
fn place_in(files: &[&FileFact], path: &[String]) -> Option<String> {
    let words: Vec<&str> = path.iter().map(String::as_str).collect();
    let (file, rest) = match words.as_slice() {
        ["data", rest @ ..] => (files.first().filter(|_| files.len() == 1)?, rest),
        ["all", nth, "data", rest @ ..] => (files.get(nth.parse::<usize>().ok()?)?, rest),
        _ => return None,
    };
    let pointer = rest
        .iter()
        .fold(String::new(), |pointer, key| child(&pointer, key));
    if pointer.is_empty() {
        Some(file.path.clone())
    } else {
        Some(format!("{} at {pointer}", file.path))
    }
}

/// What the named facts of an artifact see: its own data and files, nothing else.
struct FactScope<'a> {
    most_kept: u64,
    files: &'a [&'a FileFact],
    /// The data of the only file.
    only: Option<&'a Value>,
}

impl Scope for FactScope<'_> {
    fn look_up(&self, path: &[String]) -> Lookup<'_> {
        match path.first().map(String::as_str) {
            Some("data") => follow(self.only.unwrap_or(&Value::Null), path, 1),
            Some("all") => owned(
                self.files.iter().map(|file| file_value(file)).collect(),
                path,
                1,
            ),
            Some("count") => owned(Value::from(self.files.len()), path, 1),
            Some("path") => {
                let first = self
                    .files
                    .first()
                    .map_or(Value::Null, |file| Value::from(file.path.as_str()));
                owned(first, path, 1)
            }
            _ => Lookup::Missing { depth: 0 },
        }
    }

    fn most_kept(&self) -> u64 {
        self.most_kept
    }

    fn place_of(&self, path: &[String]) -> Option<String> {
        place_in(self.files, path)
    }
}

/// The files that do not count, each with its path and the reason, as a list of maps.
fn not_counted(seen: &SeenArtifact<'_>) -> Value {
    let shown = seen.excluded.iter().map(|(file, why)| {
        serde_json::json!({
            "path": file.path,
            "valid": file.is_valid(),
            "because": why.to_string(),
            "data": file.data.as_deref().cloned().unwrap_or(Value::Null),
        })
    });
    shown.collect()
}

/// The problems of an artifact's files, as a list of maps.
fn problems(seen: &SeenArtifact<'_>) -> Value {
    let shown = seen
        .files
        .iter()
        .flat_map(|file| &file.problems)
        .map(|problem| {
            let place = problem.place.as_ref();
            serde_json::json!({
                "code": problem.code.as_str(),
                "severity": problem.severity.to_string(),
                "line": place.and_then(|place| place.line),
                "column": place.and_then(|place| place.column),
                "pointer": place.and_then(|place| place.pointer.as_deref()),
                "message": problem.message,
            })
        });
    shown.collect()
}

/// A computed value, followed along the rest of a path.
fn owned(value: Value, path: &[String], start: usize) -> Lookup<'static> {
    match follow(&value, path, start) {
        Lookup::Found(found) => Lookup::Found(Cow::Owned(found.into_owned())),
        Lookup::Missing { depth } => Lookup::Missing { depth },
        Lookup::Ends { depth, value } => Lookup::Ends {
            depth,
            value: Cow::Owned(value.into_owned()),
        },
        Lookup::Failed(message) => Lookup::Failed(message),
    }
}

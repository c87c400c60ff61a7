//! Reads the state of an older tool as a state of a workflow, by the map that the workflow declares.

use super::data::set_pointer;
use super::{Evidence, State, Transition, create};
use crate::workflow::guard::{Lookup, Scope, follow};
use crate::workflow::{Guard, ImportValue, StateImport, Workflow};
use orch_base::pointer::{child, is_at_or_below};
use orch_base::{ArtifactName, Code, Digest, Reason, enumeration};
use serde_json::Value;
use std::borrow::Cow;
use std::cell::OnceCell;

/// The file of another tool that a state was imported from, or adopted from in part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Original {
    /// The blob id of the file.
    pub digest: Digest,
    /// JSON pointers to the parts of the file that the state has no place for.
    pub left_out: Vec<String>,
    /// Whether the map of a workflow says how to read the file.
    pub is_mapped: bool,
}

/// How many parts of an original are listed.
const MOST_LISTED: usize = 24;

impl Original {
    /// What importing the file leaves out, in words.
    #[must_use]
    pub fn left_out(&self) -> String {
        if self.left_out.is_empty() {
            return "nothing".to_owned();
        }
        enumeration(&self.left_out, MOST_LISTED)
    }
}

/// Why the state of an older tool cannot be imported.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImportFault {
    /// `import-invalid`, or `unknown-phase`.
    pub code: Code,
    /// JSON pointer to the offending value of the original.
    pub pointer: String,
    /// What is wrong: one sentence without a final full stop.
    pub message: String,
    /// What to do about it.
    pub hint: String,
}

/// The path of the original, relative to the task directory, and the name that evidence gives it.
const ORIGINAL: (&str, &str) = ("state.json", "original");

/// What to do about a value of the wrong form.
const CORRECT: &str =
    "correct the value there; until then nothing is recorded, and the file stays as it is";

/// Whether evidence of a recorded step is the file that the step imported. The step itself replaces that file.
#[must_use]
pub fn is_original(path: &str) -> bool {
    path == ORIGINAL.0
}

/// The map by which a workflow imports this state; `None` if it is not the state of the older tool.
#[must_use]
pub fn import_of<'w>(workflow: &'w Workflow, original: &Value) -> Option<&'w StateImport> {
    let map = workflow.state.import.as_ref()?;
    for pointer in &map.known_by {
        original.pointer(pointer)?;
    }
    Some(map)
}

/// Fills the phase and the data of `foreign`, which is the rest of the state, from the original. Returns all
/// faults if the original names no phase, or an expression of the map cannot be computed from it.
///
/// A member that the original lacks is null, and what is null keeps its default.
pub fn import(
    workflow: &Workflow,
    map: &StateImport,
    original: &Value,
    digest: Digest,
    foreign: State,
) -> Result<State, Vec<ImportFault>> {
    let mut faults = Vec::new();
    let phase = named_phase(workflow, map, original)
        .map_err(|fault| faults.push(fault))
        .ok();
    let scope = OriginalScope {
        original,
        map,
        defines: vec![OnceCell::new(); map.defines.len()],
    };
    let mut data = workflow.state.defaults.clone();
    for (place, value) in &map.data {
        let found = match value {
            ImportValue::Copy(pointer) => original.pointer(pointer).cloned(),
            ImportValue::Computed(guard) => match guard.value(&scope) {
                Ok(value) => Some(value),
                Err(why) => {
                    let pointer = source_of(map, place, original);
                    let message = format!("cannot compute {place}: {why}");
                    faults.push(ImportFault {
                        code: Code::ImportInvalid,
                        pointer,
                        message,
                        hint: CORRECT.into(),
                    });
                    None
                }
            },
        };
        if let Some(value) = found.filter(|value| !value.is_null()) {
            set_pointer(&mut data, place, value);
        }
    }
    if !faults.is_empty() {
        return Err(faults);
    }
    let left_out = left_out(map, original);
    let original = Some(Box::new(Original {
        digest,
        left_out,
        is_mapped: true,
    }));
    Ok(State {
        phase,
        extra: data,
        original,
        ..foreign
    })
}

/// What the schema of the state says against places of imported data, as faults of the original: first those
/// whose value is a copy, so the place is exact.
#[must_use]
pub fn refused_import(
    map: &StateImport,
    original: &Value,
    problems: impl Iterator<Item = (String, String)>,
) -> Vec<ImportFault> {
    let mut exact = Vec::new();
    let mut vague = Vec::new();
    for (place, why) in problems {
        let pointer = source_of(map, &place, original);
        let is_exact = original
            .pointer(&pointer)
            .is_some_and(|value| !value.is_object() && !value.is_array());
        let (faults, message) = if is_exact {
            (&mut exact, why)
        } else {
            (&mut vague, format!("{why} (as {place} of the new state)"))
        };
        faults.push(ImportFault {
            code: Code::ImportInvalid,
            pointer,
            message,
            hint: CORRECT.to_owned(),
        });
    }
    exact.append(&mut vague);
    exact
}

/// The first step of a task that is created or adopted, in the phase of its state. It rests on the file that
/// was imported, if one was.
#[must_use]
pub fn adopt(workflow: &Workflow, state: &State, reason: &str) -> Transition {
    let mut transition = create(workflow, reason);
    if let Some(phase) = state
        .phase
        .as_deref()
        .and_then(|name| workflow.phase_named(name))
    {
        transition.to = phase.id.clone();
    }
    if let (Some(original), Ok(artifact)) = (&state.original, ArtifactName::new(ORIGINAL.1)) {
        let files = vec![(ORIGINAL.0.to_owned(), original.digest)];
        let digest = original.digest;
        transition.evidence = vec![Evidence {
            artifact,
            files,
            digest,
            valid: true,
            committed: true,
        }];
    }
    transition
}

fn named_phase(
    workflow: &Workflow,
    map: &StateImport,
    original: &Value,
) -> Result<String, ImportFault> {
    let found = original.pointer(&map.phase);
    if let Some(phase) = found
        .and_then(Value::as_str)
        .and_then(|name| workflow.phase_named(name))
    {
        return Ok(phase.id.to_string());
    }
    let phases: Vec<&str> = workflow
        .phases
        .iter()
        .map(|phase| phase.id.as_str())
        .collect();
    let message = match found {
        None => format!("{} is missing, which names the phase", map.phase),
        Some(value) => format!("{value} is not a phase of workflow `{}`", workflow.name),
    };
    let hint = format!(
        "name one of {} there, or add the name to the `aliases` of one of them",
        phases.join(", ")
    );
    let pointer = map.phase.clone();
    Err(ImportFault {
        code: Code::UnknownPhase,
        pointer,
        message,
        hint,
    })
}

/// The place in the original that a place of the data comes from, as far as the map shows it.
fn source_of(map: &StateImport, place: &str, original: &Value) -> String {
    let above = map.data.iter().filter(|(at, _)| is_at_or_below(place, at));
    let Some((at, value)) = above.max_by_key(|(at, _)| at.len()) else {
        return present(place, original);
    };
    match value {
        ImportValue::Copy(pointer) => {
            present(&format!("{pointer}{}", &place[at.len()..]), original)
        }
        ImportValue::Computed(guard) => {
            // Most values keep their place; otherwise the first value that the expression reads is the cause.
            let sources = pointers_read(map, guard, &|_, _| true);
            let same = present(place, original);
            let is_read = sources
                .iter()
                .any(|source| same.starts_with(source.as_str()) || source.starts_with(&same));
            match sources.first() {
                _ if is_read && !same.is_empty() => same,
                Some(source) => present(source, original),
                None => String::new(),
            }
        }
    }
}

/// The pointer, shortened to what the original has.
fn present(pointer: &str, original: &Value) -> String {
    let mut end = pointer.len();
    while original.pointer(&pointer[..end]).is_none() {
        let Some(cut) = pointer[..end].rfind('/') else {
            return String::new();
        };
        end = cut;
    }
    pointer[..end].to_owned()
}

/// The members of the original that the map does not read. What is empty has nothing to map.
fn left_out(map: &StateImport, original: &Value) -> Vec<String> {
    // The title and the id of a task are the same in every state, and the errors are kept as they are.
    let mut read: Vec<String> = ["/title", "/task", "/task_id", "/errors"]
        .map(str::to_owned)
        .to_vec();
    read.push(map.phase.clone());
    for (_, value) in &map.data {
        match value {
            ImportValue::Copy(pointer) => read.push(pointer.clone()),
            ImportValue::Computed(guard) => read.extend(pointers_read(map, guard, &is_used)),
        }
    }
    let mut left = Vec::new();
    collect(original, "", &read, &mut left);
    left
}

fn collect(value: &Value, pointer: &str, read: &[String], left: &mut Vec<String>) {
    let is_empty = match value {
        Value::Null => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Bool(_) | Value::Number(_) => false,
    };
    if is_empty
        || (!pointer.is_empty() && read.iter().any(|source| is_at_or_below(pointer, source)))
    {
        return;
    }
    match value {
        Value::Object(members)
            if pointer.is_empty() || read.iter().any(|source| is_at_or_below(source, pointer)) =>
        {
            for (name, value) in members {
                collect(value, &child(pointer, name), read, left);
            }
        }
        _ => left.push(pointer.to_owned()),
    }
}

/// JSON pointers to what an expression reads of the original, also by way of definitions, as far as `counts`
/// says of the paths in expressions.
fn pointers_read(
    map: &StateImport,
    guard: &Guard,
    counts: &dyn Fn(&Guard, &[String]) -> bool,
) -> Vec<String> {
    let mut pointers = Vec::new();
    for chain in guard.chains().filter(|chain| counts(guard, chain)) {
        let define = map.defines.iter().find(|(name, _)| *name == chain[0]);
        let Some((_, define)) = define else {
            pointers.push(joined(String::new(), chain));
            continue;
        };
        let read = pointers_read(map, define, counts);
        if is_path(define) {
            // A definition is often a part of the original, whose members an expression then reads.
            pointers.extend(read.into_iter().map(|pointer| joined(pointer, chain)));
        } else {
            pointers.extend(read);
        }
    }
    pointers
}

/// Whether an expression does more with a path than to compare it with null.
fn is_used(guard: &Guard, chain: &[String]) -> bool {
    let path = chain.join(".");
    for (at, _) in guard.text().match_indices(&path) {
        let rest = guard.text()[at + path.len()..].trim_start();
        let is_longer_path = rest.strip_prefix('.').is_some_and(|member| {
            let name = member.trim_start_matches(|c: char| c.is_ascii_alphanumeric() || c == '_');
            !name.starts_with('(')
        });
        if !rest.starts_with("== null") && !rest.starts_with("!= null") && !is_longer_path {
            return true;
        }
    }
    false
}

/// Whether an expression is only a path, such as `original.diagnosis`.
fn is_path(guard: &Guard) -> bool {
    guard
        .chains()
        .next()
        .is_some_and(|chain| chain.join(".") == guard.text())
}

/// The pointer to what a path such as `["original", "status"]` leads to below `pointer`.
fn joined(pointer: String, chain: &[String]) -> String {
    chain
        .iter()
        .skip(1)
        .fold(pointer, |pointer, name| child(&pointer, name))
}

/// What the expressions of a map see: the original, and the definitions of the map.
struct OriginalScope<'a> {
    original: &'a Value,
    map: &'a StateImport,
    /// The definitions, each computed once.
    defines: Vec<OnceCell<Result<Value, Reason>>>,
}

impl Scope for OriginalScope<'_> {
    fn look_up(&self, path: &[String]) -> Lookup<'_> {
        let Some(name) = path.first() else {
            return Lookup::Missing { depth: 0 };
        };
        let root = match self
            .map
            .defines
            .iter()
            .position(|(define, _)| define == name)
        {
            None => self.original,
            Some(at) => match self.defines[at].get_or_init(|| self.map.defines[at].1.value(self)) {
                Ok(value) => value,
                Err(why) => return Lookup::Failed(why.clone().into()),
            },
        };
        match follow(root, path, 1) {
            // The missing member is null, and has no members itself.
            Lookup::Missing { depth } => Lookup::Ends {
                depth: depth + 1,
                value: Cow::Owned(Value::Null),
            },
            found => found,
        }
    }
}

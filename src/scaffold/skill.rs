//! Reads a `skill-config.json` as written: its state, its actions and its ends.
//!
//! Reading never stops at the first fault, and every fault points to its value.

use super::fault::SkillFault;
use super::field::{self, Field};
use crate::base::pointer::child;
use crate::base::{ActionName, Code, RepoPath, nearest};
use crate::workflow::{Guard, RESERVED_KEYS};
use serde_json::{Map, Value};

/// The keys of a generated state that `orch` manages itself.
pub(super) const KEPT: [&str; 7] = [
    "status",
    "current_action",
    "completed_actions",
    "errors",
    "error_count",
    "iteration_count",
    "updated_at",
];

/// The contents of a configuration.
#[derive(Debug, Clone, Default)]
pub struct Skill {
    /// A title for people.
    pub title: String,
    /// A one-line description of its purpose.
    pub description: String,
    /// Requests that should start it, as people phrase them.
    pub triggers: Vec<String>,
    /// Its output and where to find it, in lines for people.
    pub output: Vec<String>,
    /// The criteria for its results, in lines for people.
    pub quality: Vec<String>,
    /// The version and the date of the configuration, in lines for people.
    pub origin: Vec<String>,
    /// The documents that its work has to satisfy besides its README, as paths from the root of the repository.
    pub specs: Vec<String>,
    /// The fields of its state, except those that `orch` manages.
    pub fields: Vec<Field>,
    /// The phases of a sequential skill, in order; empty for a loop.
    pub phases: Vec<SkillPhase>,
    /// Its actions, in document order.
    pub actions: Vec<SkillAction>,
    /// The conditions that end it.
    pub ends: Vec<Condition>,
}

/// A phase of a sequential skill as written.
#[derive(Debug, Clone)]
pub struct SkillPhase {
    /// The JSON pointer of the phase.
    pub pointer: String,
    /// The id as written: `01-scan`.
    pub id: String,
    /// The name in the workflow: `scan`.
    pub name: String,
    /// A line for people.
    pub title: String,
    /// What the phase does.
    pub description: String,
    /// What it reads besides the outputs of the phases before, as written.
    pub input: Vec<String>,
    /// The file that it writes, relative to the directory of the task.
    pub output: String,
}

/// An action as written.
#[derive(Debug, Clone)]
pub struct SkillAction {
    /// The JSON pointer of the action.
    pub pointer: String,
    /// The id as written: `action-init`.
    pub id: String,
    /// The name in the workflow: `init`.
    pub name: String,
    /// A line for people.
    pub title: String,
    /// What the action does.
    pub description: String,
    /// The conditions for running it.
    pub preconditions: Vec<Condition>,
    /// What it changes: names of fields, or prose that contains them.
    pub effects: Vec<String>,
    /// Actions with higher priority run first.
    pub priority: i64,
}

/// An expression and its position.
#[derive(Debug, Clone)]
pub struct Condition {
    /// The JSON pointer of the text.
    pub pointer: String,
    /// The text as written in the configuration.
    pub text: String,
}

/// The specifications in a configuration.
const SPECS: &str = "/specs";

/// The specifications that do not exist, as faults. `exists` tells of a path from the root of the repository.
pub fn missing_specs(skill: &Skill, exists: impl Fn(&str) -> bool) -> Vec<SkillFault> {
    let missing = skill.specs.iter().enumerate().filter(|(_, spec)| !exists(spec));
    let fault = |(nth, spec): (usize, &String)| {
        let message = format!("the specification `{spec}` does not exist");
        let hint = "write it before you generate the workflow, or take it out of `specs`";
        SkillFault::error(child(SPECS, &nth.to_string()), Code::SkillSpec, message).hint(hint)
    };
    missing.map(fault).collect()
}

/// Reads a configuration. Unless one of the faults is an error, a workflow can be generated from the skill.
#[must_use]
pub fn read(config: &Value) -> (Skill, Vec<SkillFault>) {
    let mut reader = SkillReader { faults: Vec::new() };
    let skill = reader.skill(config);
    (skill, reader.faults)
}

/// The keys that limit the tools of an agent.
const TOOLS: [&str; 3] = ["tools", "allowed_tools", "mcp_tools"];

/// The keys of a configuration.
const TOP: [&str; 14] = [
    "skill_name",
    "display_name",
    "description",
    "triggers",
    "execution_mode",
    "context_strategy",
    "llm_integration",
    "sequential_config",
    "autonomous_config",
    "output",
    "quality",
    "specs",
    "created_at",
    "version",
];

struct SkillReader {
    faults: Vec<SkillFault>,
}

impl SkillReader {
    fn skill(&mut self, config: &Value) -> Skill {
        let Some(top) = config.as_object() else {
            self.error("", Code::SkillValue, "the configuration is not an object");
            return Skill::default();
        };
        self.mode(top);
        self.dropped(top, "", &["context_strategy"], "files and the state are the context of every task");
        self.dropped(top, "", &["llm_integration"], "configure the programs in orch.toml, `[executor.NAME]`");
        self.dropped(top, "", &TOOLS, "the executor decides which tools it may use");
        self.keys(top, "", &TOP);
        let name = self.text(top, "", "skill_name", true);
        let shown = self.text(top, "", "display_name", false);
        let description = self.text(top, "", "description", true);
        let mut skill = Skill {
            title: if shown.is_empty() { name } else { shown },
            description,
            triggers: self.texts(top, "", "triggers"),
            output: lines(top.get("output")),
            quality: lines(top.get("quality")),
            specs: self.specs(top),
            origin: origin(top),
            ..Skill::default()
        };
        if top.get("execution_mode").and_then(Value::as_str) == Some(SEQUENTIAL) {
            self.dropped(top, "", &["autonomous_config"], "a sequential skill has no loop");
            skill.phases = self.phases(top);
            return skill;
        }
        self.dropped(top, "", &["sequential_config"], "this skill is a loop, not a chain of phases");
        let Some(loop_of) = self.object(top, "", "autonomous_config") else { return skill };
        let pointer = "/autonomous_config";
        self.keys(loop_of, pointer, &["state_schema", "actions", "termination_conditions"]);
        skill.fields = self.fields(loop_of);
        skill.actions = self.actions(loop_of);
        skill.ends = self.conditions(loop_of, pointer, "termination_conditions");
        skill
    }

    fn error(&mut self, pointer: &str, code: Code, message: impl Into<String>) {
        self.faults.push(SkillFault::error(pointer, code, message));
    }

    fn mode(&mut self, top: &Map<String, Value>) {
        let mode = self.text(top, "", "execution_mode", false);
        if !["", "autonomous", "hybrid", SEQUENTIAL].contains(&mode.as_str()) {
            let fault =
                SkillFault::error("/execution_mode", Code::SkillValue, format!("there is no mode `{mode}`"));
            self.faults.push(fault.hint("the modes are: autonomous, hybrid, sequential"));
        }
    }

    fn specs(&mut self, top: &Map<String, Value>) -> Vec<String> {
        let mut specs: Vec<String> = Vec::new();
        for (nth, spec) in self.texts(top, "", "specs").into_iter().enumerate() {
            let pointer = child(SPECS, &nth.to_string());
            match RepoPath::new(&spec) {
                Ok(path) if !specs.contains(&path.to_string()) => specs.push(path.to_string()),
                Ok(_) => self.error(&pointer, Code::SkillValue, format!("`{spec}` is named twice")),
                Err(error) => self.error(&pointer, Code::SkillValue, error.to_string()),
            }
        }
        specs
    }

    /// Warns of keys that have no effect.
    fn dropped(&mut self, object: &Map<String, Value>, pointer: &str, keys: &[&str], hint: &str) {
        for key in keys.iter().filter(|key| object.get(**key).is_some_and(|value| !value.is_null())) {
            let message = format!("`{key}` has no effect in the generated workflow");
            let fault = SkillFault::warning(child(pointer, key), Code::SkillDropped, message);
            self.faults.push(fault.hint(hint));
        }
    }

    fn phases(&mut self, top: &Map<String, Value>) -> Vec<SkillPhase> {
        const KEYS: [&str; 8] =
            ["id", "name", "description", "input", "output", "parallel", "condition", "agent"];
        let Some(chain) = self.object(top, "", "sequential_config") else { return Vec::new() };
        let above = "/sequential_config";
        self.keys(chain, above, &["phases"]);
        let mut phases: Vec<SkillPhase> = Vec::new();
        let items = self.items(chain, above, "phases", true);
        if items.is_empty() && self.faults.iter().all(|fault| !fault.diagnostic.is_error()) {
            self.error("/sequential_config/phases", Code::SkillValue, "there are no phases");
        }
        for (pointer, item) in items {
            self.keys(item, &pointer, &KEYS);
            self.dropped(item, &pointer, &TOOLS, "the executor decides which tools it may use");
            self.dropped(item, &pointer, &["agent"], "configure the program of the phase in orch.toml");
            self.dropped(item, &pointer, &["parallel", "condition"], "the phases follow one another");
            let id = self.text(item, &pointer, "id", true);
            let shown = self.text(item, &pointer, "name", false);
            let phase = SkillPhase {
                name: phase_name(&id),
                title: if shown.is_empty() { id.clone() } else { shown },
                description: self.text(item, &pointer, "description", false),
                input: self.texts(item, &pointer, "input"),
                output: self.text(item, &pointer, "output", true),
                pointer: pointer.clone(),
                id,
            };
            let at = format!("{pointer}/id");
            let is_taken = [SPEC_REVIEW, "completed"].contains(&phase.name.as_str());
            if !phase.id.is_empty() && !is_action(&phase.name) {
                self.error(&at, Code::SkillName, format!("`{}` cannot be the id of a phase", phase.id));
            } else if is_taken || phases.iter().any(|other| is_same(&other.name, &phase.name)) {
                self.error(&at, Code::SkillName, format!("another phase is called `{}`", phase.name));
            }
            let is_same_file = |other: &&SkillPhase| !phase.output.is_empty() && other.output == phase.output;
            let other = phases.iter().find(is_same_file).map(|other| other.id.as_str());
            if let Some(other) = other.or((phase.output == REVIEW_FILE).then_some(SPEC_REVIEW)) {
                let message = format!("`{other}` writes this file, too");
                self.error(&format!("{pointer}/output"), Code::SkillValue, message);
            }
            phases.push(phase);
        }
        phases
    }

    fn fields(&mut self, loop_of: &Map<String, Value>) -> Vec<Field> {
        let above = "/autonomous_config";
        if loop_of.get("state_schema").is_none_or(Value::is_null) {
            return Vec::new();
        }
        let mut fields: Vec<Field> = Vec::new();
        for DeclaredField { name, at, pointer, item } in self.declared(loop_of, above) {
            if name.is_empty() {
                continue;
            }
            if KEPT.contains(&name.as_str()) {
                self.dropped(&item, &pointer, &["default"], "orch sets this field itself");
                continue;
            }
            if fields.iter().any(|field| field.name == name) {
                self.error(&at, Code::SkillName, format!("field `{name}` is already declared"));
            } else if RESERVED_KEYS.contains(&name.as_str()) {
                let message = format!("orch uses the key `{name}` of state.json for something else");
                let fault = SkillFault::error(at, Code::SkillName, message);
                self.faults.push(fault.hint(format!("rename the field, for example `skill_{name}`")));
            } else if !is_name(&name) {
                let fault =
                    SkillFault::error(at, Code::SkillName, format!("`{name}` cannot be used in a condition"));
                self.faults.push(fault.hint("choose a name of letters, digits and underscores"));
            } else {
                let (kind, optional) = self.kind(&item, &pointer);
                let description = self.text(&item, &pointer, "description", false);
                let initial = self.initial(&item, &pointer, &kind);
                if initial.is_some() && optional && !matches!(kind, field::Type::Map | field::Type::Any) {
                    let message = format!("`{name}` is never null: without a value it has its default");
                    let at = child(&pointer, "default");
                    self.faults.push(SkillFault::warning(at, Code::SkillDropped, message));
                }
                fields.push(Field { name, kind, optional, description, initial });
            }
        }
        fields
    }

    /// The fields as declared: a list under `fields`, or an object of types, or of fields, by name.
    fn declared(&mut self, loop_of: &Map<String, Value>, above: &str) -> Vec<DeclaredField> {
        const KEYS: [&str; 4] = ["name", "type", "description", "default"];
        let at = child(above, "state_schema");
        let Some(schema) = self.object(loop_of, above, "state_schema") else { return Vec::new() };
        let is_list = match schema.get("fields") {
            None => schema.is_empty(),
            Some(fields) => !(fields.is_string() || fields.is_object()),
        };
        if is_list {
            self.keys(schema, &at, &["fields"]);
            let items = self.items(schema, &at, "fields", false);
            let mut named = |(pointer, item): (String, &Map<String, Value>)| {
                self.keys(item, &pointer, &KEYS);
                let name = self.text(item, &pointer, "name", true);
                DeclaredField { name, at: child(&pointer, "name"), pointer, item: item.clone() }
            };
            return items.into_iter().map(&mut named).collect();
        }
        // A JSON Schema has its fields below `properties`.
        let (at, members) = match schema.get("properties") {
            Some(Value::Object(members)) if schema.get("type").is_none_or(|kind| kind == "object") => {
                self.keys(schema, &at, &["type", "properties"]);
                (child(&at, "properties"), members)
            }
            _ => (at, schema),
        };
        let mut found = Vec::new();
        for (name, value) in members {
            let pointer = child(&at, name);
            let item = match value {
                Value::String(kind) => Map::from_iter([("type".to_owned(), Value::from(kind.as_str()))]),
                Value::Object(item) => {
                    self.keys(item, &pointer, &KEYS[1..]);
                    item.clone()
                }
                _ => {
                    self.wrong(pointer, "a type, or an object with a `type`");
                    continue;
                }
            };
            found.push(DeclaredField { name: name.clone(), at: pointer.clone(), pointer, item });
        }
        found
    }

    /// The value that a configuration gives a field of a new task. A null says that there is none.
    fn initial(&mut self, item: &Map<String, Value>, pointer: &str, kind: &field::Type) -> Option<Value> {
        let value = item.get("default").filter(|value| !value.is_null())?;
        let at = child(pointer, "default");
        if !kind.accepts(value) {
            self.error(&at, Code::SkillValue, "the default is not of the type of its field");
            return None;
        }
        if let Some((inner, what)) = unwritable(value, &at) {
            self.error(&inner, Code::SkillValue, format!("a default cannot contain {what}"));
            return None;
        }
        Some(value.clone())
    }

    fn kind(&mut self, item: &Map<String, Value>, pointer: &str) -> (field::Type, bool) {
        let text = self.text(item, pointer, "type", true);
        let read = field::read(&text);
        if read.0 == field::Type::Any && !text.is_empty() && text != "any" {
            let message = format!("type `{text}` is unknown, so the field accepts any value");
            let hint =
                "the types are: string, number, integer, boolean, array, object, TYPE[], 'a' | 'b', null";
            self.faults
                .push(SkillFault::warning(format!("{pointer}/type"), Code::SkillType, message).hint(hint));
        }
        read
    }

    fn actions(&mut self, loop_of: &Map<String, Value>) -> Vec<SkillAction> {
        const KEYS: [&str; 6] = ["id", "name", "description", "preconditions", "effects", "priority"];
        let above = "/autonomous_config";
        let mut actions: Vec<SkillAction> = Vec::new();
        let items = self.items(loop_of, above, "actions", true);
        if items.is_empty() && self.faults.is_empty() {
            self.error("/autonomous_config/actions", Code::SkillValue, "there are no actions");
        }
        for (pointer, item) in items {
            self.keys(item, &pointer, &KEYS);
            self.dropped(item, &pointer, &TOOLS, "the executor decides which tools it may use");
            let id = self.text(item, &pointer, "id", true);
            let shown = self.text(item, &pointer, "name", false);
            let action = SkillAction {
                name: machine_name(&id),
                title: if shown.is_empty() { id.clone() } else { shown },
                description: self.text(item, &pointer, "description", false),
                preconditions: self.conditions(item, &pointer, "preconditions"),
                effects: self.texts(item, &pointer, "effects"),
                priority: self.number(item, &pointer, "priority"),
                id,
                pointer,
            };
            let at = format!("{}/id", action.pointer);
            if let Some(other) = actions.iter().find(|other| is_same(&other.name, &action.name)) {
                let message = format!("`{}` and `{}` are the same action", other.id, action.id);
                let fault = SkillFault::error(at, Code::SkillName, message);
                self.faults.push(fault.hint("ids must differ in more than `action-`, `-`, `_` and case"));
            } else if !(action.id.is_empty() || is_action(&action.name)) {
                let fault = SkillFault::error(
                    at,
                    Code::SkillName,
                    format!("`{}` cannot be the id of an action", action.id),
                );
                self.faults.push(fault.hint("choose an id of letters, digits, `-` and `_`"));
            } else if is_same(&action.name, SPEC_REVIEW) {
                let message = format!("every generated workflow already has an action `{SPEC_REVIEW}`");
                self.faults.push(SkillFault::error(at, Code::SkillName, message).hint("choose another id"));
            }
            actions.push(action);
        }
        actions
    }

    /// Reports the unknown keys: one that resembles a known key is a misspelling whose value would be lost, any
    /// other has no effect.
    fn keys(&mut self, object: &Map<String, Value>, pointer: &str, known: &[&str]) {
        let is_known = |key: &&String| known.contains(&key.as_str()) || TOOLS.contains(&key.as_str());
        for key in object.keys().filter(|key| !is_known(key) && *key != "$schema") {
            match nearest(key, known.iter().copied()).filter(|near| !object.contains_key(*near)) {
                Some(near) => {
                    let fault = SkillFault::error(
                        child(pointer, key),
                        Code::SkillKey,
                        format!("unknown key `{key}`"),
                    );
                    self.faults.push(fault.hint(format!("did you mean `{near}`?")));
                }
                None => {
                    self.dropped(object, pointer, &[key], &format!("the keys here are: {}", known.join(", ")))
                }
            }
        }
    }

    fn wrong(&mut self, pointer: String, what: &str) {
        self.faults.push(SkillFault::error(pointer, Code::SkillValue, format!("the value should be {what}")));
    }

    fn missing(&mut self, pointer: &str, key: &str) {
        self.error(pointer, Code::SkillValue, format!("`{key}` is missing"));
    }

    fn text(&mut self, object: &Map<String, Value>, pointer: &str, key: &str, needed: bool) -> String {
        match object.get(key) {
            Some(Value::String(text)) if !text.trim().is_empty() || !needed => text.trim().to_owned(),
            Some(Value::String(_)) => {
                self.error(&child(pointer, key), Code::SkillValue, format!("`{key}` is empty"));
                String::new()
            }
            None | Some(Value::Null) => {
                if needed {
                    self.missing(pointer, key);
                }
                String::new()
            }
            Some(_) => {
                self.wrong(child(pointer, key), "a string");
                String::new()
            }
        }
    }

    fn number(&mut self, object: &Map<String, Value>, pointer: &str, key: &str) -> i64 {
        match object.get(key) {
            None | Some(Value::Null) => 0,
            Some(value) => value.as_i64().unwrap_or_else(|| {
                self.wrong(child(pointer, key), "a whole number");
                0
            }),
        }
    }

    fn object<'v>(
        &mut self,
        object: &'v Map<String, Value>,
        pointer: &str,
        key: &str,
    ) -> Option<&'v Map<String, Value>> {
        match object.get(key) {
            Some(Value::Object(inner)) => Some(inner),
            Some(_) => {
                self.wrong(child(pointer, key), "an object");
                None
            }
            None => {
                self.missing(pointer, key);
                None
            }
        }
    }

    fn list<'v>(
        &mut self,
        object: &'v Map<String, Value>,
        pointer: &str,
        key: &str,
    ) -> Option<&'v Vec<Value>> {
        match object.get(key) {
            Some(Value::Array(items)) => Some(items),
            None | Some(Value::Null) => None,
            Some(_) => {
                self.wrong(child(pointer, key), "a list");
                None
            }
        }
    }

    fn items<'v>(
        &mut self,
        object: &'v Map<String, Value>,
        pointer: &str,
        key: &str,
        needed: bool,
    ) -> Vec<(String, &'v Map<String, Value>)> {
        if needed && object.get(key).is_none_or(Value::is_null) {
            self.missing(pointer, key);
        }
        let mut found = Vec::new();
        for (index, item) in self.list(object, pointer, key).into_iter().flatten().enumerate() {
            let at = format!("{}/{index}", child(pointer, key));
            match item.as_object() {
                Some(item) => found.push((at, item)),
                None => self.wrong(at, "an object"),
            }
        }
        found
    }

    fn conditions(&mut self, object: &Map<String, Value>, pointer: &str, key: &str) -> Vec<Condition> {
        let mut found = Vec::new();
        for (index, item) in self.list(object, pointer, key).into_iter().flatten().enumerate() {
            let pointer = format!("{}/{index}", child(pointer, key));
            match item.as_str() {
                Some(text) => found.push(Condition { pointer, text: text.to_owned() }),
                None => self.wrong(pointer, "a string"),
            }
        }
        found
    }

    fn texts(&mut self, object: &Map<String, Value>, pointer: &str, key: &str) -> Vec<String> {
        self.conditions(object, pointer, key).into_iter().map(|found| found.text).collect()
    }
}

/// The mode of a skill whose phases follow one another.
const SEQUENTIAL: &str = "sequential";
/// The action that reviews the specification, in every generated workflow.
pub(super) const SPEC_REVIEW: &str = "spec_review";
/// The file that this action writes.
const REVIEW_FILE: &str = "spec-review.json";

/// The name of an action in the workflow. Guards need a name without `-`, and configurations spell the same
/// action with `-` in one place and `_` in another.
pub(super) fn machine_name(id: &str) -> String {
    let bare = id.strip_prefix("action-").or_else(|| id.strip_prefix("action_")).unwrap_or(id);
    let name: String = bare.chars().map(|c| if matches!(c, '-' | '.' | ' ') { '_' } else { c }).collect();
    // Some words are reserved in CEL.
    if is_name(&name) { name } else { format!("{name}_") }
}

/// The name of a phase in the workflow: its id without the number in front.
fn phase_name(id: &str) -> String {
    let bare = id.trim_start_matches(|c: char| c.is_ascii_digit() || c == '-');
    machine_name(if bare.is_empty() { id } else { bare })
}

/// Whether a condition can use this name for a member.
pub(super) fn is_name(text: &str) -> bool {
    let is_identifier = text.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && text.len() <= 60;
    is_identifier && Guard::parse(&format!("state.{text}")).is_ok()
}

/// Whether an action can have this name.
fn is_action(text: &str) -> bool {
    is_name(text) && ActionName::new(text).is_ok()
}

/// Whether two actions would share a prompt file on a file system that ignores case.
fn is_same(one: &str, other: &str) -> bool {
    one.trim_end_matches('_').eq_ignore_ascii_case(other.trim_end_matches('_'))
}

/// Where a field is declared.
struct DeclaredField {
    name: String,
    /// The JSON pointer of its name.
    at: String,
    /// The JSON pointer of the field.
    pointer: String,
    item: Map<String, Value>,
}

/// The pointer and the kind of the first part of a value that a workflow document cannot contain.
fn unwritable(value: &Value, at: &str) -> Option<(String, &'static str)> {
    match value {
        Value::Null => Some((at.to_owned(), "null")),
        Value::Number(number) if number.is_u64() && !number.is_i64() => {
            Some((at.to_owned(), "a number above 9223372036854775807"))
        }
        Value::Array(items) => {
            items.iter().enumerate().find_map(|(nth, item)| unwritable(item, &child(at, &nth.to_string())))
        }
        Value::Object(members) => members.iter().find_map(|(key, item)| unwritable(item, &child(at, key))),
        _ => None,
    }
}

/// The version and the date of a configuration, in lines for people.
fn origin(top: &Map<String, Value>) -> Vec<String> {
    let known = |(key, value): (&String, &Value)| {
        Some((key.clone(), value.clone())).filter(|_| key == "version" || key == "created_at")
    };
    lines(Some(&Value::Object(top.iter().filter_map(known).collect())))
}

/// The members of an object as lines for people; empty for any other value.
fn lines(value: Option<&Value>) -> Vec<String> {
    let members = value.and_then(Value::as_object).into_iter().flatten();
    let shown = members.filter_map(|(key, value)| {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Array(items) => items
                .iter()
                .map(|item| item.as_str().map_or_else(|| item.to_string(), str::to_owned))
                .collect::<Vec<_>>()
                .join(", "),
            Value::Null => return None,
            other => other.to_string(),
        };
        Some(format!("{}: {text}", key.replace('_', " ")))
    });
    shown.collect()
}

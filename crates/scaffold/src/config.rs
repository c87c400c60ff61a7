//! Reads a `skill-config.json` as written: its state, its actions and its ends.
//!
//! Reading never stops at the first fault, and every fault points to its value.

use super::fault::SkillFault;
use super::reader::{SkillReader, TOOLS};
use super::skill::{
    SPEC_REVIEW, Skill, SkillAction, SkillPhase, is_action, is_same, machine_name, phase_name,
};
use super::words::toml;
use orch_base::pointer::child;
use orch_base::{Code, RepoPath};
use serde_json::{Map, Value};

/// The mode of a skill whose phases follow one another.
const SEQUENTIAL: &str = "sequential";
/// The file that the review of the specification writes.
const REVIEW_FILE: &str = "spec-review.json";
/// The specifications in a configuration.
const SPECS: &str = "/specs";
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

/// The specifications that do not exist, as faults. `exists` tells of a path from the root of the repository.
pub fn missing_specs(skill: &Skill, exists: impl Fn(&str) -> bool) -> Vec<SkillFault> {
    let mut faults = Vec::new();
    for (nth, spec) in skill.specs.iter().enumerate() {
        if exists(spec) {
            continue;
        }
        let message = format!("the specification `{spec}` does not exist");
        let hint = "write it before you generate the workflow, or take it out of `specs`";
        let at = child(SPECS, &nth.to_string());
        faults.push(SkillFault::error(at, Code::SkillSpec, message).hint(hint));
    }
    faults
}

/// The line of a phase that requires the specifications; empty if there are none.
pub(super) fn required(skill: &Skill) -> String {
    let specs: Vec<String> = skill.specs.iter().map(|spec| toml(spec)).collect();
    if specs.is_empty() {
        String::new()
    } else {
        format!("requires = [{}]\n", specs.join(", "))
    }
}

/// Reads a configuration. Unless one of the faults is an error, a workflow can be generated from the skill.
#[must_use]
pub fn read(config: &Value) -> (Skill, Vec<SkillFault>) {
    let mut reader = SkillReader::default();
    let skill = reader.skill(config);
    (skill, reader.faults)
}

impl SkillReader {
    fn skill(&mut self, config: &Value) -> Skill {
        let Some(top) = config.as_object() else {
            self.error("", Code::SkillValue, "the configuration is not an object");
            return Skill::default();
        };
        self.mode(top);
        self.dropped(
            top,
            "",
            &["context_strategy"],
            "files and the state are the context of every task",
        );
        self.dropped(
            top,
            "",
            &["llm_integration"],
            "configure the programs in orch.toml, `[executor.NAME]`",
        );
        self.dropped(
            top,
            "",
            &TOOLS,
            "the executor decides which tools it may use",
        );
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
            self.dropped(
                top,
                "",
                &["autonomous_config"],
                "a sequential skill has no loop",
            );
            skill.phases = self.phases(top);
            return skill;
        }
        self.dropped(
            top,
            "",
            &["sequential_config"],
            "this skill is a loop, not a chain of phases",
        );
        let Some(loop_of) = self.object(top, "", "autonomous_config") else {
            return skill;
        };
        let pointer = "/autonomous_config";
        self.keys(
            loop_of,
            pointer,
            &["state_schema", "actions", "termination_conditions"],
        );
        skill.fields = self.fields(loop_of, pointer);
        skill.actions = self.actions(loop_of);
        skill.ends = self.conditions(loop_of, pointer, "termination_conditions");
        skill
    }

    fn mode(&mut self, top: &Map<String, Value>) {
        let mode = self.text(top, "", "execution_mode", false);
        if !["", "autonomous", "hybrid", SEQUENTIAL].contains(&mode.as_str()) {
            let fault = SkillFault::error(
                "/execution_mode",
                Code::SkillValue,
                format!("there is no mode `{mode}`"),
            );
            self.faults
                .push(fault.hint("the modes are: autonomous, hybrid, sequential"));
        }
    }

    fn specs(&mut self, top: &Map<String, Value>) -> Vec<String> {
        let mut specs: Vec<String> = Vec::new();
        for (nth, spec) in self.texts(top, "", "specs").into_iter().enumerate() {
            let pointer = child(SPECS, &nth.to_string());
            match RepoPath::new(&spec) {
                Ok(path) if !specs.contains(&path.to_string()) => specs.push(path.to_string()),
                Ok(_) => self.error(
                    &pointer,
                    Code::SkillValue,
                    format!("`{spec}` is named twice"),
                ),
                Err(error) => self.error(&pointer, Code::SkillValue, error.to_string()),
            }
        }
        specs
    }

    fn phases(&mut self, top: &Map<String, Value>) -> Vec<SkillPhase> {
        const KEYS: [&str; 8] = [
            "id",
            "name",
            "description",
            "input",
            "output",
            "parallel",
            "condition",
            "agent",
        ];
        let Some(chain) = self.object(top, "", "sequential_config") else {
            return Vec::new();
        };
        let above = "/sequential_config";
        self.keys(chain, above, &["phases"]);
        let mut phases: Vec<SkillPhase> = Vec::new();
        let items = self.items(chain, above, "phases", true);
        if items.is_empty() && self.faults.iter().all(|fault| !fault.diagnostic.is_error()) {
            self.error(
                "/sequential_config/phases",
                Code::SkillValue,
                "there are no phases",
            );
        }
        for (pointer, item) in items {
            self.keys(item, &pointer, &KEYS);
            self.dropped(
                item,
                &pointer,
                &TOOLS,
                "the executor decides which tools it may use",
            );
            self.dropped(
                item,
                &pointer,
                &["agent"],
                "configure the program of the phase in orch.toml",
            );
            self.dropped(
                item,
                &pointer,
                &["parallel", "condition"],
                "the phases follow one another",
            );
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
                self.error(
                    &at,
                    Code::SkillName,
                    format!("`{}` cannot be the id of a phase", phase.id),
                );
            } else if is_taken || phases.iter().any(|other| is_same(&other.name, &phase.name)) {
                self.error(
                    &at,
                    Code::SkillName,
                    format!("another phase is called `{}`", phase.name),
                );
            }
            let other = phases
                .iter()
                .find(|other| !phase.output.is_empty() && other.output == phase.output);
            let other = match other {
                Some(other) => Some(other.id.as_str()),
                None if phase.output == REVIEW_FILE => Some(SPEC_REVIEW),
                None => None,
            };
            if let Some(other) = other {
                let message = format!("`{other}` writes this file, too");
                self.error(&format!("{pointer}/output"), Code::SkillValue, message);
            }
            phases.push(phase);
        }
        phases
    }

    fn actions(&mut self, loop_of: &Map<String, Value>) -> Vec<SkillAction> {
        const KEYS: [&str; 6] = [
            "id",
            "name",
            "description",
            "preconditions",
            "effects",
            "priority",
        ];
        let above = "/autonomous_config";
        let mut actions: Vec<SkillAction> = Vec::new();
        let items = self.items(loop_of, above, "actions", true);
        if items.is_empty() && self.faults.is_empty() {
            self.error(
                "/autonomous_config/actions",
                Code::SkillValue,
                "there are no actions",
            );
        }
        for (pointer, item) in items {
            self.keys(item, &pointer, &KEYS);
            self.dropped(
                item,
                &pointer,
                &TOOLS,
                "the executor decides which tools it may use",
            );
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
            if let Some(other) = actions
                .iter()
                .find(|other| is_same(&other.name, &action.name))
            {
                let message = format!("`{}` and `{}` are the same action", other.id, action.id);
                let fault = SkillFault::error(at, Code::SkillName, message);
                self.faults
                    .push(fault.hint("ids must differ in more than `action-`, `-`, `_` and case"));
            } else if !(action.id.is_empty() || is_action(&action.name)) {
                let fault = SkillFault::error(
                    at,
                    Code::SkillName,
                    format!("`{}` cannot be the id of an action", action.id),
                );
                self.faults
                    .push(fault.hint("choose an id of letters, digits, `-` and `_`"));
            } else if is_same(&action.name, SPEC_REVIEW) {
                let message =
                    format!("every generated workflow already has an action `{SPEC_REVIEW}`");
                self.faults.push(
                    SkillFault::error(at, Code::SkillName, message).hint("choose another id"),
                );
            }
            actions.push(action);
        }
        actions
    }
}

/// The version and the date of a configuration, in lines for people.
fn origin(top: &Map<String, Value>) -> Vec<String> {
    let mut known = top.clone();
    known.retain(|key, _| key == "version" || key == "created_at");
    lines(Some(&Value::Object(known)))
}

/// The members of an object as lines for people; empty for any other value.
fn lines(value: Option<&Value>) -> Vec<String> {
    let members = value.and_then(Value::as_object).into_iter().flatten();
    let shown = members.filter_map(|(key, value)| {
        let text = match value {
            Value::String(text) => text.clone(),
            Value::Array(items) => items
                .iter()
                .map(|item| {
                    item.as_str()
                        .map_or_else(|| item.to_string(), str::to_owned)
                })
                .collect::<Vec<_>>()
                .join(", "),
            Value::Null => return None,
            other => other.to_string(),
        };
        Some(format!("{}: {text}", key.replace('_', " ")))
    });
    shown.collect()
}

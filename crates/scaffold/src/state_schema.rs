//! The generated schemas: of the state, and of the review of the specification.

use super::plan::LoopPlan;
use super::skill::Skill;
use super::translate::COUNTER;
use serde_json::{Map, Value, json};

/// The initial values of the state.
pub(super) fn defaults(plan: &LoopPlan<'_>) -> Map<String, Value> {
    let mut defaults = Map::new();
    for field in &plan.skill.fields {
        if let Some(default) = field.default() {
            defaults.insert(field.name.clone(), default);
        }
    }
    if plan.counts {
        defaults.insert(COUNTER.to_owned(), json!(0));
    }
    defaults
}

/// The schema of the state.
pub(super) fn state(plan: &LoopPlan<'_>) -> String {
    let defaults = defaults(plan);
    let fields = plan.skill.fields.iter();
    let mut properties: Map<String, Value> = fields
        .map(|field| (field.name.clone(), field.schema()))
        .collect();
    if plan.counts {
        let description = "How many actions were accepted.";
        let counter = json!({"type": "integer", "minimum": 0, "description": description});
        properties.insert(COUNTER.to_owned(), counter);
    }
    let required: Vec<&String> = defaults.keys().collect();
    pretty(&json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": format!("{}-state.schema.json", plan.name),
        "title": format!("State of {}", plan.name),
        "description": "The workflow's own keys in state.json.",
        "type": "object",
        "additionalProperties": false,
        "required": required,
        "properties": properties,
        "examples": [defaults],
    }))
}

/// The schema of the review. It accepts no other document than the specifications, and a complete review only with
/// all of them.
pub(super) fn review(name: &str, skill: &Skill) -> String {
    let documents = specifications(name, skill);
    pretty(&json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "$id": format!("{name}-spec-review.schema.json"),
        "title": "Review of the specification",
        "description": "The documents that the work has to satisfy, read before the loop starts.",
        "type": "object",
        "required": ["status", "specs_loaded"],
        "properties": {
            "status": {
                "enum": ["complete", "incomplete"],
                "description": "`complete` starts the loop; `incomplete` means that questions are open.",
            },
            "specs_loaded": {
                "type": "array",
                "description": "The specifications that were read, as paths from the root of the repository.",
                "items": {"enum": documents},
                "uniqueItems": true,
            },
            "also_read": {
                "type": "array",
                "description": "Other documents that were read, such as those that the task refers to.",
                "items": {"type": "string", "minLength": 1},
            },
            "open_questions": {
                "type": "array",
                "description": "The questions that the documents leave open.",
                "items": {"type": "string"},
            },
            "timestamp": {"type": "string", "format": "date-time", "description": "The time of the review."},
        },
        "if": {"properties": {"status": {"const": "complete"}}},
        "then": {"properties": {"specs_loaded": {"minItems": documents.len()}}},
        "examples": [{
            "status": "complete",
            "specs_loaded": documents,
            "timestamp": "2026-11-21T05:40:00Z",
        }],
    }))
}

/// The documents that the work has to satisfy: the README, and what the configuration names.
pub(super) fn specifications(name: &str, skill: &Skill) -> Vec<String> {
    let readme = format!("system/workflows/{name}/README.md");
    std::iter::once(readme.clone())
        .chain(skill.specs.iter().filter(|spec| **spec != readme).cloned())
        .collect()
}

fn pretty(value: &Value) -> String {
    format!("{value:#}\n")
}

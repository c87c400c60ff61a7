//! Every JSON output has the shape that its schema promises.

use super::numbered;
use crate::base::{Code, Diagnostic, Timestamp};
use crate::view::findings::Findings;
use crate::view::samples::{self, Sample};
use crate::view::{
    AppliedView, Direction, Do, ErrorView, EventView, Explanations, Finding, Happening, Kind, Log, Status,
    Subject, Suggestion, Suggestions, TransitionLine, Transitions,
};
use serde::Serialize;
use serde_json::Value;

#[test]
fn every_output_has_the_shape_of_its_schema() {
    let several = numbered();
    let subjects: Vec<Subject<'_>> = several.iter().map(Sample::subject).collect();
    let findings = [samples::error().decision.diagnostics, vec![Diagnostic::note(Code::Empty, "y")]].concat();
    let repository = samples::repository;
    conforms("suggestions", &Suggestions::new(repository(), &subjects, None, &findings));
    conforms("suggestions", &Suggestions::new(repository(), &[], None, &[]));
    conforms("explanations", &Explanations::new(repository(), &subjects));
    conforms("status", &Status::new(repository(), &subjects, &findings));
    conforms("findings", &Findings::new(&findings));
    conforms("log", &Log::new(repository(), samples::log()));
    conforms("error", &ErrorView::new(Code::UnknownTask, "there is no task", None));

    let (workflow, task, directory) = (samples::workflow(), samples::task(), samples::directory());
    let moves = [samples::create(), samples::advance(), samples::regress()];
    let commit = Some("c0ffee");
    let applied: Vec<AppliedView<'_>> = moves
        .iter()
        .map(|transition| AppliedView {
            task: &task,
            directory: &directory,
            workflow: &workflow,
            transition,
            commit,
        })
        .collect();
    conforms(
        "transitions",
        &Transitions::new(repository(), true, applied.iter().map(TransitionLine::of).collect(), &findings),
    );

    let text = String::new;
    let happenings = [
        Happening::Started { tasks: 2 },
        Happening::Transition { transition: Box::new(TransitionLine::of(&applied[2])) },
        Happening::Suggestion { suggestion: Box::new(Suggestion::of(&subjects[0])) },
        Happening::Held { task: text(), reason: text(), hint: None },
        Happening::Finding { finding: Box::new(Finding::of(&findings[0])) },
        Happening::Stopped { reason: text() },
    ];
    for happening in happenings {
        conforms("event", &EventView::new(Timestamp::from_seconds(0), happening));
    }
}

#[test]
fn the_schemas_know_every_word() {
    let schema = schema("suggestions");
    let words = |key: &str| schema["$defs"]["suggestion"]["properties"][key]["enum"].clone();
    assert_eq!(words("kind"), serde_json::json!(Kind::ALL));
    assert_eq!(words("do"), serde_json::json!(Do::ALL));
    assert_eq!(words("direction"), serde_json::json!(Direction::ALL));
}

fn schema(kind: &str) -> Value {
    let text = match kind {
        "suggestions" => include_str!("../../../system/schemas/output/suggestions.schema.json"),
        "explanations" => include_str!("../../../system/schemas/output/explanations.schema.json"),
        "status" => include_str!("../../../system/schemas/output/status.schema.json"),
        "findings" => include_str!("../../../system/schemas/output/findings.schema.json"),
        "transitions" => include_str!("../../../system/schemas/output/transitions.schema.json"),
        "log" => include_str!("../../../system/schemas/output/log.schema.json"),
        "error" => include_str!("../../../system/schemas/output/error.schema.json"),
        "event" => include_str!("../../../system/schemas/output/event.schema.json"),
        other => panic!("no schema for {other}"),
    };
    serde_json::from_str(text).expect("a schema is JSON")
}

/// Checks an output against the keywords that our output schemas use; the shell, which has a whole
/// validator, does so again with real output.
fn conforms(kind: &str, output: &impl Serialize) {
    let (root, value) = (schema(kind), serde_json::to_value(output).expect("serialises"));
    let problems = mismatches(&root, &root, &value, kind);
    assert!(problems.is_empty(), "{problems:#?}\n{value:#}");
}

fn mismatches(root: &Value, schema: &Value, value: &Value, at: &str) -> Vec<String> {
    if let Some(reference) = schema["$ref"].as_str() {
        let target = root.pointer(reference.trim_start_matches('#')).expect("a known reference");
        return mismatches(root, target, value, at);
    }
    if let Some(choices) = schema["oneOf"].as_array() {
        let fits = choices.iter().filter(|choice| mismatches(root, choice, value, at).is_empty()).count();
        return if fits == 1 { Vec::new() } else { vec![format!("{at}: {fits} choices fit")] };
    }
    let mut problems = Vec::new();
    let mut demand = |holds: bool, what: &str| {
        if !holds {
            problems.push(format!("{at}: {what}: {value}"));
        }
    };
    let known = schema.get("const").is_none_or(|wanted| wanted == value);
    demand(known && schema["enum"].as_array().is_none_or(|words| words.contains(value)), "unknown word");
    let name = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let accepts =
        |wanted: &Value| wanted == name || wanted.as_array().is_some_and(|all| all.contains(&name.into()));
    demand(schema.get("type").is_none_or(accepts), "wrong type");
    if let (Some(object), Some(properties)) = (value.as_object(), schema["properties"].as_object()) {
        // The same keys in the same order: the schema is the documentation of the order, too.
        demand(object.keys().eq(properties.keys()), "other keys");
        demand(schema["additionalProperties"] == false, "not strict");
        let required: Vec<&str> =
            schema["required"].as_array().into_iter().flatten().filter_map(Value::as_str).collect();
        demand(properties.keys().eq(required), "a key is not required");
        for (key, value) in object {
            let known = properties.get(key).unwrap_or(&Value::Null);
            problems.extend(mismatches(root, known, value, &format!("{at}.{key}")));
        }
    } else if let Some(object) = value.as_object() {
        for (key, value) in object {
            problems.extend(mismatches(root, &schema["additionalProperties"], value, &format!("{at}.{key}")));
        }
    }
    for (number, value) in value.as_array().into_iter().flatten().enumerate() {
        problems.extend(mismatches(root, &schema["items"], value, &format!("{at}[{number}]")));
    }
    problems
}

//! Every JSON output has the form that its schema promises.

use super::{explanations, numbered};
use crate::findings::Findings;
use crate::samples::{self, Sample};
use crate::{
    Advice, AppliedView, ErrorView, EventView, Finding, Happening, JsonDocument, Log, Status,
    Subject, Suggestion, Suggestions, TransitionLine, Transitions, line,
};
use orch_base::{Code, Diagnostic, Error, Timestamp};
use serde_json::Value;

#[test]
fn every_output_has_the_shape_of_its_schema() {
    let several = numbered();
    let subjects: Vec<Subject<'_>> = several.iter().map(Sample::subject).collect();
    let findings = [
        samples::error().decision.diagnostics,
        vec![Diagnostic::note(Code::Empty, "y")],
    ]
    .concat();
    let repository = samples::repository;
    conforms(&Suggestions::new(repository(), &subjects, None, &findings));
    conforms(&Suggestions::new(repository(), &[], None, &[]));
    conforms(&explanations(&subjects));
    conforms(&Status::new(repository(), &subjects, &findings));
    conforms(&Findings::new(&findings));
    conforms(&Log::new(repository(), samples::log(), &[]));
    conforms(&ErrorView::of(&Error::new(
        Code::UnknownTask,
        "there is no task",
    )));

    let workflow = samples::workflow();
    let task = samples::task();
    let place = samples::place();
    let moves = [samples::create(), samples::advance(), samples::regress()];
    let commit = Some("c0ffee");
    let applied: Vec<AppliedView<'_>> = moves
        .iter()
        .map(|transition| AppliedView {
            task: &task,
            place: &place,
            workflow: &workflow,
            transition,
            entry: None,
            commit,
        })
        .collect();
    conforms(&Transitions::new(
        repository(),
        true,
        applied.iter().map(TransitionLine::of).collect(),
        &findings,
    ));

    let text = String::new;
    let happenings = [
        Happening::Started { tasks: 2 },
        Happening::Transition {
            transition: Box::new(TransitionLine::of(&applied[2])),
        },
        Happening::Suggestion {
            suggestion: Box::new(Suggestion::of(&subjects[0])),
        },
        Happening::Held {
            task: text(),
            reason: text(),
            advice: Advice::default(),
        },
        Happening::Finding {
            finding: Box::new(Finding::of(&findings[0])),
        },
        Happening::Run {
            run: Box::new(run()),
        },
        Happening::Stopped { reason: text() },
    ];
    for happening in happenings {
        conforms(&EventView::new(Timestamp::from_seconds(0), happening));
    }
}

fn schema(kind: &str) -> Value {
    let schemas = super::schemas::schemas();
    schemas
        .into_iter()
        .find_map(|(known, schema)| (known == kind).then_some(schema))
        .expect("a known kind")
}

/// Checks an output against the keywords that the output schemas use. The integration tests check real output
/// with a complete validator.
fn conforms<D: JsonDocument>(output: &D) {
    let kind = D::KIND;
    let root = schema(kind);
    let value: Value = serde_json::from_str(&line(output)).expect("JSON");
    let problems = mismatches(&root, &root, &value, kind);
    assert!(problems.is_empty(), "{problems:#?}\n{value:#}");
}

fn mismatches(root: &Value, schema: &Value, value: &Value, at: &str) -> Vec<String> {
    if let Some(reference) = schema["$ref"].as_str() {
        let target = root
            .pointer(reference.trim_start_matches('#'))
            .expect("a known reference");
        return mismatches(root, target, value, at);
    }
    if let Some(choices) = schema["oneOf"].as_array().or(schema["anyOf"].as_array()) {
        let fits = choices
            .iter()
            .filter(|choice| mismatches(root, choice, value, at).is_empty())
            .count();
        return if fits == 1 {
            Vec::new()
        } else {
            vec![format!("{at}: {fits} choices fit")]
        };
    }
    let mut problems = Vec::new();
    let mut demand = |holds: bool, what: &str| {
        if !holds {
            problems.push(format!("{at}: {what}: {value}"));
        }
    };
    let known = schema.get("const").is_none_or(|wanted| wanted == value);
    demand(
        known
            && schema["enum"]
                .as_array()
                .is_none_or(|words| words.contains(value)),
        "unknown word",
    );
    let name = match value {
        Value::Null => "null",
        Value::Bool(_) => "boolean",
        Value::Number(_) => "integer",
        Value::String(_) => "string",
        Value::Array(_) => "array",
        Value::Object(_) => "object",
    };
    let is_number = value.is_number();
    let accepts = |wanted: &Value| {
        wanted == name
            || (is_number && wanted == "number")
            || wanted
                .as_array()
                .is_some_and(|all| all.contains(&name.into()))
    };
    demand(schema.get("type").is_none_or(accepts), "wrong type");
    if let (Some(object), Some(properties)) = (value.as_object(), schema["properties"].as_object())
    {
        // The same keys in the same order, because the schema also documents the order.
        demand(object.keys().eq(properties.keys()), "other keys");
        demand(schema["additionalProperties"] == false, "not strict");
        let required: Vec<&str> = schema["required"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(Value::as_str)
            .collect();
        demand(properties.keys().eq(required), "a key is not required");
        for (key, value) in object {
            let known = properties.get(key).unwrap_or(&Value::Null);
            problems.extend(mismatches(root, known, value, &format!("{at}.{key}")));
        }
    } else if let Some(object) = value.as_object() {
        for (key, value) in object {
            problems.extend(mismatches(
                root,
                &schema["additionalProperties"],
                value,
                &format!("{at}.{key}"),
            ));
        }
    }
    for (number, value) in value.as_array().into_iter().flatten().enumerate() {
        problems.extend(mismatches(
            root,
            &schema["items"],
            value,
            &format!("{at}[{number}]"),
        ));
    }
    problems
}

fn run() -> crate::RunLine {
    crate::RunLine {
        task: "t".to_owned(),
        work_tree: ".".to_owned(),
        run: "1-2".to_owned(),
        state: "running",
        since: Timestamp::from_seconds(0).to_string(),
        pid: 2,
        mode: orch_core::decide::Mode::Auto,
        work: None,
        turns: 1,
        max_turns: 3,
        cost: 0.0,
        unpriced_turns: 0,
        waits_until: None,
        seconds: 0,
        reason: None,
    }
}

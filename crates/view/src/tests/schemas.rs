//! The schemas of `system/schemas/output` are generated from the wire structs. `UPDATE=1` writes them.

use crate::findings::Findings;
use crate::{
    ArtifactDiff, AuditReport, Briefs, CiReport, CodeView, ControlReport, DemoAnswer, DoctorReport,
    DraftAnswer, ErrorView, EventView, Everywhere, Explanations, FormattedAnswer, FreeTasks,
    GenerationAnswer, HooksAnswer, ImportAnswer, InitAnswer, JsonDocument, Log, MigrationList,
    NewWorkflow, NothingDue, Notice, OverlapList, ParallelReport, PlayedWorkflow, PromptAnswer,
    PullRequest, RecoveryAnswer, ReleaseAnswer, Resolutions, RunReport, Runs, SCHEMA_VERSION,
    Status, Suggestions, TakeAnswer, TaskGraph, TaskSheet, TextAnswer, Transitions, TrustAnswer,
    Verifications, WorkTreesReport, WorkflowDiffs, WorkflowList, WorkflowTests, indented,
};
use schemars::JsonSchema;
use schemars::generate::SchemaSettings;
use serde_json::{Map, Value, json};
use std::path::Path;

/// Every kind of document: its name, and its shipped schema.
pub fn schemas() -> Vec<(&'static str, Value)> {
    vec![
        schema::<AuditReport>("The verdicts on the history: output of orch audit --json"),
        schema::<Briefs>("What to do now: output of orch suggest --brief --json"),
        schema::<CiReport>("What was found about a range: output of orch ci --json"),
        schema::<CodeView>("The explanation of a code: output of orch help CODE --json"),
        schema::<ControlReport>("The result of an order to a run"),
        schema::<DemoAnswer>("A demonstration that was played"),
        schema::<ArtifactDiff>(
            "What has changed in an artifact since it was judged: output of orch diff --json",
        ),
        schema::<DraftAnswer>("The draft of a file: output of orch draft --json"),
        schema::<ErrorView>("A failed command"),
        schema::<EventView>("One event of a watch: a line of orch watch --json"),
        schema::<Everywhere>(
            "The tasks of all branches and work trees: output of orch status --everywhere --json",
        ),
        schema::<Explanations>("Why tasks are where they are: output of orch explain --json"),
        schema::<Findings>("Findings of a check"),
        schema::<FreeTasks>(
            "The tasks that somebody could go on with now: output of orch free --json",
        ),
        schema::<FormattedAnswer>("Diagrams that were redrawn or are out of date"),
        schema::<GenerationAnswer>(
            "Tasks that an executor proposed for a loop: output of orch generate --json",
        ),
        schema::<TaskGraph>("How tasks relate to one another: output of orch graph --json"),
        schema::<HooksAnswer>("The git hooks, and what was done with them"),
        schema::<ImportAnswer>("The tasks that were made of a task list, and what was skipped"),
        schema::<InitAnswer>("The files that were created, changed and removed"),
        schema::<Log>("The history of tasks: output of orch log --json"),
        schema::<NothingDue>("There was nothing to apply"),
        schema::<Notice>(
            "An event that someone wants word of: the input of a program of [[notify]]",
        ),
        schema::<ParallelReport>(
            "What came of tasks side by side: output of orch run --parallel --json and orch work --json",
        ),
        schema::<PromptAnswer>("The complete instructions for a task"),
        schema::<PullRequest>("The description of a pull request: output of orch pr --json"),
        schema::<RecoveryAnswer>("A record that was rebuilt"),
        schema::<ReleaseAnswer>("A task that was given back: output of orch release --json"),
        schema::<Resolutions>(
            "The results of joining conflicted records: output of orch resolve --json",
        ),
        schema::<RunReport>("How a run ended"),
        schema::<Runs>("The known runs"),
        schema::<TaskSheet>(
            "All that whoever decides about a task has to see: output of orch show --json",
        ),
        schema::<Status>("The status of every task: output of orch status --json"),
        schema::<Suggestions>(
            "What to do next: output of orch suggest --json, and suggestion.json",
        ),
        schema::<TakeAnswer>("A task that was taken: output of orch take --json"),
        schema::<TextAnswer>(
            "An answer that is a text: a manual, a document, a diagram, completions",
        ),
        schema::<Transitions>("Transitions that were applied, or would be applied"),
        schema::<DoctorReport>(
            "The state of a repository and of its surroundings: output of orch doctor",
        ),
        schema::<TrustAnswer>("What orch.toml names that orch starts, and whether it is trusted"),
        schema::<Verifications>(
            "What verifications of the code gave: output of orch verify --json",
        ),
        schema::<NewWorkflow>("A new workflow"),
        schema::<OverlapList>(
            "The rules that may hold together: output of orch workflow check --overlaps --json",
        ),
        schema::<PlayedWorkflow>(
            "A workflow that was played: output of orch workflow play --seed N --json",
        ),
        schema::<MigrationList>(
            "How tasks move to the present version of their workflow: output of orch migrate --json",
        ),
        schema::<WorkflowDiffs>(
            "What two versions of a workflow decide differently: output of orch workflow diff --json",
        ),
        schema::<WorkflowList>("The workflows"),
        schema::<WorkflowTests>(
            "What came of tests in workflows: output of orch workflow test --json",
        ),
        schema::<WorkTreesReport>("The work trees of tasks: output of orch worktrees --json"),
    ]
}

/// The schema of a document with its envelope: strict, and with its definitions last.
fn schema<D: JsonDocument + JsonSchema>(title: &str) -> (&'static str, Value) {
    let generator = SchemaSettings::draft2020_12()
        .for_serialize()
        .into_generator();
    let Value::Object(mut body) = generator.into_root_schema_for::<D>().to_value() else {
        panic!("{}: a document is an object", D::KIND);
    };
    let definitions = body.shift_remove("$defs");
    body.retain(|key, _| !["$schema", "title", "description"].contains(&key.as_str()));
    let mut root = Map::new();
    root.insert(
        "$schema".to_owned(),
        "https://json-schema.org/draft/2020-12/schema".into(),
    );
    root.insert("$id".to_owned(), format!("{}.schema.json", D::KIND).into());
    root.insert("title".to_owned(), title.into());
    let envelope = json!({
        "schemaVersion": { "description": "The version of the output format.", "const": SCHEMA_VERSION },
        "kind": { "description": "The kind of document.", "const": D::KIND },
    });
    let enveloped = merged(
        &json!({ "properties": envelope, "required": ["schemaVersion", "kind"] }),
        body,
    );
    root.extend(spread(enveloped));
    root.extend(definitions.map(|definitions| ("$defs".to_owned(), definitions)));
    let mut root = Value::Object(root);
    make_strict(&mut root);
    (D::KIND, root)
}

/// An object schema with the properties of another one before its own.
fn merged(first: &Value, second: Map<String, Value>) -> Map<String, Value> {
    let mut second = second;
    let own_properties = second.shift_remove("properties").unwrap_or_default();
    let own_required = second.shift_remove("required").unwrap_or_default();
    let mut properties = first["properties"].as_object().cloned().unwrap_or_default();
    properties.extend(own_properties.as_object().cloned().unwrap_or_default());
    let required: Vec<Value> = [&first["required"], &own_required]
        .into_iter()
        .filter_map(Value::as_array)
        .flatten()
        .cloned()
        .collect();
    second.insert("type".to_owned(), "object".into());
    second.insert("required".to_owned(), required.into());
    second.insert("properties".to_owned(), properties.into());
    second
}

/// An object schema with its alternatives as complete objects, so that each can be strict.
fn spread(object: Map<String, Value>) -> Map<String, Value> {
    let Some(Value::Array(choices)) = object.get("oneOf").cloned() else {
        return object;
    };
    let base = Value::Object(object);
    let choices = choices.into_iter().map(|choice| match choice {
        Value::Object(choice) => Value::Object(merged(&base, choice)),
        other => panic!("no object: {other}"),
    });
    Map::from_iter([("oneOf".to_owned(), choices.collect())])
}

/// Closes every object that names its members, and drops the widths of integers.
fn make_strict(schema: &mut Value) {
    if let Some(object) = schema.as_object_mut() {
        let width = object.get("format").and_then(Value::as_str);
        if width.is_some_and(|name| name.starts_with("uint") || name == "double") {
            object.shift_remove("format");
        }
        if object.get("type") == Some(&json!("object")) && object.contains_key("properties") {
            object.insert("additionalProperties".to_owned(), false.into());
        }
    }
    match schema {
        Value::Object(object) => object.values_mut().for_each(make_strict),
        Value::Array(list) => list.iter_mut().for_each(make_strict),
        _ => {}
    }
}

/// Whether to write the files.
#[expect(
    clippy::disallowed_methods,
    reason = "tests have no main that the environment could come through"
)]
fn is_update() -> bool {
    std::env::var("UPDATE").is_ok()
}

#[test]
fn the_schemas_are_those_of_the_wire_structs() {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../system/schemas/output");
    let mut stale = Vec::new();
    let mut names = Vec::new();
    for (kind, schema) in schemas() {
        let name = format!("{kind}.schema.json");
        let text = indented(&schema);
        if is_update() {
            std::fs::write(directory.join(&name), &text).expect("written");
        }
        if std::fs::read_to_string(directory.join(&name)).unwrap_or_default() != text {
            stale.push(name.clone());
        }
        names.push(name);
    }
    assert!(
        stale.is_empty(),
        "out of date: {stale:?}; run UPDATE=1 cargo test --lib the_schemas_are"
    );
    let there = std::fs::read_dir(&directory)
        .expect("a directory")
        .flatten();
    let unknown: Vec<String> = there
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .filter(|name| !names.contains(name))
        .collect();
    assert!(
        unknown.is_empty(),
        "no document has the schemas {unknown:?}"
    );
}

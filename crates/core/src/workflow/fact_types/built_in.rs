//! What `orch` itself says of the names in guards: the facts of artifacts, the state, and what is known of runs, people,
//! verifications and other tasks.

use super::formats::data_type;
use super::{optional, schema};
use crate::workflow::guard::typing::{
    FieldType, ListType, MapType, MapWords, Presence, RestType, TypeEnv, ValueType,
};
use crate::workflow::{
    AFTER, APPROVALS, Artifact, CHILDREN, Format, LAPSED, RESERVED_KEYS, SchemaText, VERIFIED,
    Workflow,
};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What is known of the root names.
pub(super) fn env(workflow: &Workflow) -> TypeEnv {
    let mut roots = BTreeMap::new();
    let mut schemas = BTreeMap::new();
    let phases = workflow.phases.iter().map(|phase| phase.id.as_str());
    for (name, value) in [
        (AFTER, other_tasks()),
        (CHILDREN, other_tasks()),
        (VERIFIED, ValueType::map_of(verification(true))),
        ("phase", ValueType::one_of(phases)),
        ("attempt", ValueType::at_least(1.0)),
        ("task", ValueType::text()),
        ("run", run(workflow)),
        ("action", actions(workflow)),
        ("state", state(workflow)),
    ] {
        roots.insert(Arc::from(name), Arc::new(value));
    }
    if workflow.asks_for_approvals() {
        roots.insert(Arc::from(APPROVALS), Arc::new(approvals(workflow)));
    }
    if !workflow.deadlines.is_empty() {
        let deadlines = workflow.deadlines.iter();
        let lapsed = deadlines.map(|deadline| (deadline.name.as_str(), ValueType::truth()));
        roots.insert(Arc::from(LAPSED), Arc::new(ValueType::record(lapsed)));
    }
    // A name of the workflow's own comes first.
    for artifact in &workflow.artifacts {
        let by_schema = artifact.schema.as_ref().and_then(|schema| {
            let known = schemas
                .entry(schema.name.as_str())
                .or_insert_with(|| of_schema(schema));
            known.clone()
        });
        let value = artifact_type(artifact, data_type(artifact, by_schema));
        roots.insert(Arc::from(artifact.name.as_str()), Arc::new(value));
    }
    for (name, _) in &workflow.defines {
        roots.remove(name.as_str());
    }
    TypeEnv::new(roots)
}

fn of_schema(schema: &SchemaText) -> Option<ValueType> {
    schema.value().map(schema::type_of)
}

fn text_or_null() -> ValueType {
    ValueType::text().join(&ValueType::null())
}

/// A list of which nothing is known but its items.
fn some(item: ValueType) -> ValueType {
    ValueType::lists(ListType {
        item,
        at_least: None,
    })
}

/// A member that is there, or null, only while the artifact is valid.
fn only_valid(value: ValueType) -> FieldType {
    FieldType::new(Presence::Valid, value)
}

/// The facts of an artifact. Its named facts are added once they are typed.
fn artifact_type(artifact: &Artifact, data: ValueType) -> ValueType {
    let file = file_type(&data);
    let problem = ValueType::record([
        ("code", ValueType::text()),
        ("severity", ValueType::text()),
        ("message", ValueType::text()),
        ("line", ValueType::any()),
        ("column", ValueType::any()),
        ("pointer", text_or_null()),
    ]);
    let not_counted = ValueType::map(MapType {
        when: validity(&data),
        ..MapType::closed(
            [
                ("path", ValueType::text()),
                ("valid", ValueType::truth()),
                ("because", ValueType::text()),
            ]
            .map(always)
            .into_iter()
            .chain([("data".to_owned(), only_valid(data.clone()))]),
        )
    });
    let fields = [
        ("present", ValueType::truth()),
        ("valid", ValueType::truth()),
        ("fresh", ValueType::truth()),
        ("ready", ValueType::truth()),
        ("changed", ValueType::truth()),
        ("digest", text_or_null()),
        ("path", text_or_null()),
        ("count", ValueType::at_least(0.0)),
        ("all", some(file)),
        ("not_counted", some(not_counted)),
        ("problems", some(problem)),
    ];
    // Of several files there is no one data. The pattern of a report stands for one whose name is not known.
    let is_report = matches!(
        artifact.format,
        Format::Junit | Format::Cobertura | Format::Lcov | Format::Sarif
    );
    let data = if artifact.is_glob() && artifact.tree.is_none() && !is_report {
        data.join(&ValueType::null())
    } else {
        data
    };
    let data = ("data".to_owned(), only_valid(data));
    let fields = fields.map(always).into_iter().chain([data]);
    let mut map = MapType::closed(fields);
    map.words = Some(Arc::new(MapWords {
        subject: format!("`{}`", artifact.name),
        ..MapWords::default()
    }));
    let valid = Arc::new(valid_artifact(&map));
    let mut present = map.clone();
    counted(&mut present);
    map.when = BTreeMap::from([
        ("valid".to_owned(), Arc::clone(&valid)),
        ("ready".to_owned(), valid),
        ("present".to_owned(), Arc::new(present)),
    ]);
    ValueType::map(map)
}

/// A member that may not be there, which nothing is said about.
fn depending(value: ValueType) -> FieldType {
    FieldType::new(Presence::Depends, value)
}

fn always((name, value): (&str, ValueType)) -> (String, FieldType) {
    (name.to_owned(), FieldType::always(value))
}

/// An item of `all`.
fn file_type(data: &ValueType) -> ValueType {
    let fields = [
        ("path", ValueType::text()),
        ("valid", ValueType::truth()),
        ("fresh", ValueType::truth()),
        ("ready", ValueType::truth()),
        ("author", text_or_null()),
    ];
    let data_field = ("data".to_owned(), only_valid(data.clone()));
    let fields = fields.map(always).into_iter().chain([data_field]);
    ValueType::map(MapType {
        when: validity(data),
        ..MapType::closed(fields)
    })
}

/// What is known of a file where it is valid.
fn validity(data: &ValueType) -> BTreeMap<String, Arc<MapType>> {
    let data = always(("data", data.clone()));
    let known = Arc::new(MapType {
        rest: RestType::Open(ValueType::any()),
        ..MapType::closed([data])
    });
    BTreeMap::from([
        ("valid".to_owned(), Arc::clone(&known)),
        ("ready".to_owned(), known),
    ])
}

/// An artifact with files: they have a path, and are counted.
fn counted(map: &mut MapType) {
    for (name, value) in [
        ("count", ValueType::at_least(1.0)),
        ("path", ValueType::text()),
    ] {
        let (name, field) = always((name, value));
        map.fields.insert(Arc::from(name), field);
    }
}

/// An artifact that is valid: what only valid ones have is there, of each of its files, too.
fn valid_artifact(map: &MapType) -> MapType {
    let mut valid = map.clone();
    counted(&mut valid);
    let (name, digest) = always(("digest", ValueType::text()));
    valid.fields.insert(Arc::from(name), digest);
    for field in valid.fields.values_mut() {
        if field.presence == Presence::Valid {
            field.presence = Presence::Always;
        }
    }
    if let Some(all) = valid.fields.get_mut("all") {
        let all = Arc::make_mut(&mut all.value);
        if let Some(files) = &mut all.list {
            let files = Arc::make_mut(files);
            if let Some(file) = &mut files.item.map {
                let file = Arc::make_mut(file);
                if let Some(known) = file.when.get("valid").cloned() {
                    file.fields.extend(known.fields.clone());
                }
            }
        }
    }
    valid
}

fn other_tasks() -> ValueType {
    let mut task = ValueType::record([
        ("id", ValueType::text()),
        ("phase", ValueType::text()),
        ("done", ValueType::truth()),
        ("failed", ValueType::truth()),
        ("workflow", ValueType::text()),
    ]);
    if let Some(map) = &mut task.map {
        let subject = "another task".to_owned();
        let because = " here".to_owned();
        Arc::make_mut(map).words = Some(Arc::new(MapWords {
            subject,
            because,
            advice: None,
        }));
    }
    ValueType::list(task)
}

fn verification(has_base: bool) -> ValueType {
    let mut failed = ValueType::record([("name", ValueType::text())]);
    if let Some(map) = &mut failed.map {
        let map = Arc::make_mut(map);
        // The record leaves out what it does not know, or says null.
        for name in ["message", "file", "line"] {
            map.fields
                .insert(Arc::from(name), depending(ValueType::any()));
        }
    }
    let names = || ValueType::list(ValueType::text());
    let mut fields = vec![
        ("defined", ValueType::truth()),
        ("present", ValueType::truth()),
        ("passed", ValueType::truth()),
        ("fresh", ValueType::truth()),
        ("exit", ValueType::whole().join(&ValueType::null())),
        ("tests", ValueType::at_least(0.0)),
        ("failures", ValueType::at_least(0.0)),
        ("failed", ValueType::list(failed)),
        ("new", names()),
        ("known", names()),
        ("lost", names()),
        ("flaky", names()),
    ];
    if has_base {
        fields.push(("base", verification(false)));
    }
    ValueType::record(fields)
}

fn approvals(workflow: &Workflow) -> ValueType {
    let said = ValueType::record([
        ("count", ValueType::at_least(0.0)),
        ("needed", ValueType::at_least(0.0)),
        ("approved", ValueType::list(ValueType::text())),
        ("teams", ValueType::list(ValueType::any())),
        ("missing", ValueType::list(ValueType::text())),
        ("rejected", ValueType::list(ValueType::text())),
        ("stale", ValueType::list(ValueType::text())),
        ("writers", ValueType::list(ValueType::text())),
    ]);
    let phases = workflow
        .phases
        .iter()
        .filter(|phase| phase.approvals.is_some());
    ValueType::record(phases.map(|phase| (phase.id.as_str(), said.clone())))
}

fn run(workflow: &Workflow) -> ValueType {
    let actions = workflow.actions.iter().map(|action| action.name.as_str());
    ValueType::record([
        ("mode", ValueType::one_of(["", "auto", "interactive"])),
        ("errors", ValueType::at_least(0.0)),
        ("max_errors", ValueType::at_least(0.0)),
        ("chosen", ValueType::one_of(actions.chain([""]))),
    ])
}

fn actions(workflow: &Workflow) -> ValueType {
    let tally = ValueType::record([
        ("done", ValueType::at_least(0.0)),
        ("skipped", ValueType::truth()),
    ]);
    let actions = workflow.actions.iter();
    ValueType::record(actions.map(|action| (action.name.as_str(), tally.clone())))
}

/// The state of a task: what its schema says of the workflow's own keys, and the keys of `orch`.
fn state(workflow: &Workflow) -> ValueType {
    let by_schema = workflow.state.schema.as_ref().and_then(of_schema);
    let known = by_schema
        .and_then(|value| value.map)
        .map(|map| MapType::clone(&map));
    let has_schema = known.is_some();
    let mut map = known.unwrap_or_else(|| MapType {
        rest: RestType::Silent,
        ..MapType::closed([])
    });
    for key in workflow.state.defaults.keys() {
        let field = map.fields.entry(Arc::from(key.as_str()));
        let field = field.or_insert_with(|| FieldType::always(ValueType::any()));
        field.presence = Presence::Always;
    }
    if !has_schema {
        for key in written_keys(workflow) {
            let field = map.fields.entry(Arc::from(key));
            field.or_insert_with(|| depending(ValueType::any()));
        }
    }
    for key in RESERVED_KEYS {
        map.fields
            .insert(Arc::from(key), depending(ValueType::any()));
    }
    let phases = workflow.phases.iter().map(|phase| phase.id.as_str());
    for (name, value) in [
        (workflow.phase_key.as_str(), ValueType::one_of(phases)),
        ("rev", ValueType::at_least(0.0)),
        ("waived", waived(workflow)),
        ("title", ValueType::text()),
        ("task", ValueType::text()),
    ] {
        map.fields.insert(Arc::from(name), depending(value));
    }
    map.words = Some(Arc::new(MapWords {
        subject: "the state".to_owned(),
        ..MapWords::default()
    }));
    ValueType::map(map)
}

/// The artifacts that were waived, by their names.
fn waived(workflow: &Workflow) -> ValueType {
    let names = workflow.artifacts.iter().flat_map(|artifact| {
        let aliases = artifact.aliases.iter().map(String::as_str);
        std::iter::once(artifact.name.as_str()).chain(aliases)
    });
    let fields = names.map(|name| (name.to_owned(), optional(ValueType::any())));
    ValueType::map(MapType {
        words: Some(Arc::new(MapWords {
            subject: "the workflow".to_owned(),
            because: " that could be waived".to_owned(),
            advice: None,
        })),
        ..MapType::closed(fields)
    })
}

/// The top-level keys of the state that something in the document writes.
fn written_keys(workflow: &Workflow) -> Vec<String> {
    let mut keys = Vec::new();
    for pointer in written_pointers(workflow) {
        keys.extend(pointer.split('/').nth(1).map(orch_base::pointer::unescape));
    }
    keys
}

/// The places of the state that something in the document writes, as JSON pointers.
pub(super) fn written_pointers(workflow: &Workflow) -> impl Iterator<Item = &str> {
    let rules = workflow.rules.iter().flat_map(|rule| &rule.set);
    let asks = workflow.asks.iter().flat_map(|ask| &ask.set);
    let set = rules
        .chain(asks)
        .chain(&workflow.state.rebuild)
        .map(|(pointer, _)| pointer);
    let asked = workflow.asks.iter().flat_map(|ask| &ask.writes);
    let written = workflow.actions.iter().flat_map(|action| &action.writes);
    set.chain(asked).chain(written).map(String::as_str)
}

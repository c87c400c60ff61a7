//! The OpenAPI document: the table of routes, and the schemas of the documents that commands print.

use super::gate::HEALTH;
use super::paging;
use super::problem;
use super::routes::Route;
use crate::{Argument, ArgumentForm};
use orch_core::workflow::System;
use orch_view::indented;
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// The path at which the document is served.
pub(super) const PATH: &str = "/api/v1/openapi.json";

/// The durations of at most a minute, in the forms that are common.
pub(super) const UP_TO_A_MINUTE: &str =
    "^([1-5]?[0-9]s|60s|[01]m|[0-9]{1,4}ms|[1-5][0-9]{4}ms|60000ms)$";
/// The largest whole number that every reader of JSON keeps exactly.
const EXACT: i64 = (1 << 53) - 1;
/// The texts with at least one character and without NUL, which no command line can have.
const NO_NUL: &str = "^[^\\u0000]+$";
/// Those of them with a character that is not white space.
const NOT_BLANK: &str = "^[^\\u0000]*[^\\s\\u0000][^\\u0000]*$";
/// Those of them without `=`.
const KEY: &str = "^[^=\\u0000]*[^=\\s\\u0000][^=\\u0000]*$";
/// The path of the events.
pub(super) const EVENTS: &str = "/api/v1/events";
/// The path of the output of a run.
pub(super) const OUTPUT: &str = "/api/v1/tasks/{task}/output";
/// The path of the content of a file of a task.
pub(super) const CONTENT: &str = "/api/v1/tasks/{task}/content";

/// The OpenAPI document of the API, as indented JSON.
#[must_use]
pub fn openapi(routes: &[Arc<Route>]) -> String {
    indented(&document(routes))
}

fn document(routes: &[Arc<Route>]) -> Value {
    let mut paths = Map::new();
    for route in routes {
        add(
            &mut paths,
            route.path,
            if route.writes { "post" } else { "get" },
            operation(route),
        );
    }
    let answers = |schema: Value, about: &str| json!({"200": {"description": about, "content": {"application/json": {"schema": schema}}}, "default": failed()});
    let health = json!({
        "type": "object",
        "required": ["status", "version"],
        "properties": {"status": {"const": "ok"}, "version": {"type": "string"}},
        "additionalProperties": false,
    });
    add(
        &mut paths,
        HEALTH,
        "get",
        json!({
            "operationId": "getHealth",
            "summary": "Whether the server answers. Needs no token.",
            "security": [],
            "responses": answers(health, "It does."),
        }),
    );
    add(
        &mut paths,
        PATH,
        "get",
        json!({
            "operationId": "getOpenapi",
            "summary": "This document.",
            "responses": answers(json!({"type": "object"}), "The document."),
        }),
    );
    let stream = |name: &str, about: &str, parameters: Vec<Value>| {
        let last = json!({
            "name": "Last-Event-ID", "in": "header", "schema": {"type": "string"},
            "description": "Begin after the event with this id.",
        });
        let parameters = [parameters, vec![last]].concat();
        // OpenAPI 3.1 has no word for the form of an event.
        let content = json!({"text/event-stream": {}});
        json!({
            "operationId": name,
            "summary": about,
            "parameters": parameters,
            "responses": {"200": {"description": "The events.", "content": content}, "default": failed()},
        })
    };
    add(
        &mut paths,
        EVENTS,
        "get",
        stream(
            "listen",
            "What happens, as server-sent events: documents of the kind `event`.",
            Vec::new(),
        ),
    );
    let task = json!({
        "name": "task", "in": "path", "required": true, "description": "The id of the task.",
        "schema": {"type": "string", "pattern": NO_NUL},
    });
    add(
        &mut paths,
        OUTPUT,
        "get",
        stream(
            "readOutput",
            "What the executors of the last run print, as server-sent events.",
            vec![task.clone()],
        ),
    );
    add(&mut paths, CONTENT, "get", content_of_a_file(task));
    let kinds: std::collections::BTreeSet<&str> = routes
        .iter()
        .flat_map(|route| route.kinds)
        .copied()
        .chain(["event"])
        .collect();
    let system = System::shipped();
    let mut schemas: Map<String, Value> = kinds
        .iter()
        .filter_map(|kind| Some(((*kind).to_owned(), schema_of(&system, kind)?)))
        .collect();
    schemas.insert("problem".to_owned(), problem::schema());
    schemas.insert("value".to_owned(), value_schema());
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "orch",
            "version": env!("CARGO_PKG_VERSION"),
            "description": "Each operation is a command of orch: it answers with the document that the command prints with `--json`, and the header `Orch-Exit-Code` has its exit code. A request that is not HTTP, or whose head is larger than 32 KiB, gets 400 or 431 without a document.",
            "license": {"name": "MIT OR Apache-2.0"},
        },
        "servers": [{"url": "/"}],
        "security": [{"token": []}],
        "paths": paths,
        "components": {
            "schemas": schemas,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    })
}

/// The operation that reads a file of a task, whose id is this parameter.
fn content_of_a_file(task: Value) -> Value {
    let path = json!({
        "name": "path", "in": "query", "required": true, "schema": {"type": "string", "pattern": NO_NUL},
        "description": "The path of the file, relative to the root of the repository.",
    });
    json!({
        "operationId": "readFile",
        "summary": "The content of a file of an artifact of a task, as plain text.",
        "parameters": [task, path],
        "responses": {
            "200": {"description": "The content.", "content": {"text/plain": {"schema": {"type": "string"}}}},
            "default": failed(),
        },
    })
}

fn add(paths: &mut Map<String, Value>, path: &str, method: &str, operation: Value) {
    let item = paths.entry(path).or_insert_with(|| json!({}));
    item[method] = operation;
}

/// The answer that is not a success.
fn failed() -> Value {
    let schema = json!({"$ref": "#/components/schemas/problem"});
    json!({"description": "Why the request failed.", "content": {problem::MEDIA: {"schema": schema}}})
}

fn operation(route: &Route) -> Value {
    let in_path = route
        .in_path
        .iter()
        .map(|argument| parameter(argument, "path"));
    let query = route
        .arguments
        .iter()
        .filter(|_| !route.writes)
        .map(|argument| parameter(argument, "query"));
    let mut parameters: Vec<Value> = in_path.chain(query).collect();
    parameters.extend(route.pages.into_iter().flat_map(|_| paging::parameters()));
    let header = |name: &str, about: &str| json!({"name": name, "in": "header", "description": about, "schema": {"type": "string"}});
    if route.writes {
        let mut name = header(
            "Orch-Agent",
            "The name of the agent in records, with the token of agents.",
        );
        name["schema"]["pattern"] = "\\S".into();
        parameters.push(name);
    }
    if route.writes && route.names_task() {
        parameters.push(header(
            "If-Match",
            "Execute the order only if the task still has this `ETag`.",
        ));
    }
    let schemas: Vec<Value> = route
        .kinds
        .iter()
        .map(|kind| json!({"$ref": format!("#/components/schemas/{kind}")}))
        .collect();
    let schema = match schemas.as_slice() {
        [] => json!({}),
        [only] => only.clone(),
        _ => json!({"oneOf": schemas}),
    };
    let mut headers = json!({"Orch-Exit-Code": {
        "description": "The exit code of the command.", "schema": {"type": "integer"},
    }});
    let mut responses = Map::new();
    if route.pages.is_some() {
        headers["Total-Count"] =
            json!({"description": "The length of the whole list.", "schema": {"type": "integer"}});
        headers["Link"] = json!({
            "description": "The address of the next page, with `rel=\"next\"`, if there is one.",
            "schema": {"type": "string"},
        });
    }
    if route.is_tagged {
        headers["ETag"] = json!({"description": "Identifies the state of the task.", "schema": {"type": "string"}});
        parameters.push(header(
            "If-None-Match",
            "Answer 304 if the task still has this `ETag`.",
        ));
        responses.insert(
            "304".to_owned(),
            json!({"description": "The task has not changed."}),
        );
    }
    let content = json!({"application/json": {"schema": schema}});
    responses.insert(
        "200".to_owned(),
        json!({"description": "The document of the command.", "headers": headers, "content": content}),
    );
    if route.starts_run {
        let runs = json!({"application/json": {"schema": {"$ref": "#/components/schemas/runs"}}});
        responses.insert(
            "202".to_owned(),
            json!({"description": "The run continues.", "content": runs}),
        );
    }
    responses.insert("default".to_owned(), failed());
    let mut operation = json!({
        "operationId": route.name,
        "summary": route.about,
        "parameters": parameters,
        "responses": responses,
    });
    if route.writes {
        operation["requestBody"] = body(&route.arguments);
    }
    operation
}

fn parameter(argument: &Argument, place: &str) -> Value {
    let mut schema = schema(argument);
    let about = schema["description"].take();
    schema
        .as_object_mut()
        .map(|object| object.shift_remove("description"));
    let mut parameter = json!({
        "name": argument.name, "in": place, "required": argument.is_required, "description": about, "schema": schema,
    });
    if matches!(argument.form, ArgumentForm::Flag(_)) {
        parameter["allowEmptyValue"] = true.into();
    }
    parameter
}

fn body(arguments: &[Argument]) -> Value {
    let schema = Argument::object(arguments, schema);
    json!({"required": schema.contains_key("required"), "content": {"application/json": {"schema": schema}}})
}

/// The schema of the values of an argument. Here a text is one that a command line can have.
fn schema(argument: &Argument) -> Value {
    let mut schema = argument.schema();
    match &argument.form {
        ArgumentForm::Word => schema["pattern"] = NO_NUL.into(),
        ArgumentForm::Text(_) => schema["pattern"] = NOT_BLANK.into(),
        ArgumentForm::Texts(_) => schema["items"]["pattern"] = NOT_BLANK.into(),
        ArgumentForm::Number(_) => schema["maximum"] = u32::MAX.into(),
        ArgumentForm::Pairs => {
            schema["propertyNames"] = json!({"pattern": KEY});
            schema["additionalProperties"] = json!({"$ref": "#/components/schemas/value"});
        }
        // The only one is the wait of an order, which has a maximum.
        ArgumentForm::Duration(_) => schema["pattern"] = UP_TO_A_MINUTE.into(),
        ArgumentForm::OneOf(..) | ArgumentForm::SomeOf(..) | ArgumentForm::Flag(_) => {}
    }
    schema
}

/// The schema of a value in an answer: every reader keeps such whole numbers exactly, however they are written.
fn value_schema() -> Value {
    let value = json!({"$ref": "#/components/schemas/value"});
    json!({"anyOf": [
        {"type": ["string", "boolean", "null"]},
        {"type": "integer", "minimum": -EXACT, "maximum": EXACT},
        {"type": "number", "not": {"type": "integer"}},
        {"type": "array", "items": value},
        {"type": "object", "additionalProperties": value},
    ]})
}

/// The schema of a kind of document, as a component: its definitions are found below it.
fn schema_of(system: &System, kind: &str) -> Option<Value> {
    let mut schema: Value =
        serde_json::from_str(system.text(&format!("schemas/output/{kind}.schema.json"))?).ok()?;
    let object = schema.as_object_mut()?;
    object.shift_remove("$schema");
    object.shift_remove("$id");
    lead(&mut schema, &format!("#/components/schemas/{kind}/$defs/"));
    Some(schema)
}

/// Lets the references to definitions lead to another place.
fn lead(schema: &mut Value, to: &str) {
    match schema {
        Value::Object(object) => {
            if let Some(Value::String(reference)) = object.get_mut("$ref")
                && let Some(name) = reference.strip_prefix("#/$defs/")
            {
                *reference = format!("{to}{name}");
            }
            object.values_mut().for_each(|value| lead(value, to));
        }
        Value::Array(values) => values.iter_mut().for_each(|value| lead(value, to)),
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the schemas accept is not refused as a wrong argument, and what they refuse is.
    #[test]
    fn the_patterns_of_texts_are_those_of_the_command_line() {
        let argument = |form| Argument {
            name: "x".to_owned(),
            about: String::new(),
            form,
            is_required: false,
        };
        for (form, value, is_accepted) in [
            (ArgumentForm::Word, json!("a b"), true),
            (ArgumentForm::Word, json!(" "), true),
            (ArgumentForm::Word, json!(""), false),
            (ArgumentForm::Word, json!("a\0"), false),
            (ArgumentForm::Text("--x".to_owned()), json!("a\nb"), true),
            (
                ArgumentForm::Text("--x".to_owned()),
                json!(" \u{a0}\n"),
                false,
            ),
            (ArgumentForm::Text("--x".to_owned()), json!("\0a"), false),
            (
                ArgumentForm::Texts("--x".to_owned()),
                json!(["a", "b"]),
                true,
            ),
            (
                ArgumentForm::Texts("--x".to_owned()),
                json!(["a", " "]),
                false,
            ),
            (
                ArgumentForm::Number("--x".to_owned()),
                json!(u32::MAX),
                true,
            ),
            (
                ArgumentForm::Number("--x".to_owned()),
                json!(u64::from(u32::MAX) + 1),
                false,
            ),
            (ArgumentForm::Pairs, json!({"a": [1, {"b": null}]}), true),
            (ArgumentForm::Pairs, json!({"a=b": 1}), false),
            (ArgumentForm::Pairs, json!({}), false),
        ] {
            let argument = argument(form.clone());
            let mut schema = schema(&argument);
            schema["components"] = json!({"schemas": {"value": value_schema()}});
            let text = schema.to_string();
            let schema = orch_read::Schema::compile("x.schema.json", &text).expect("a schema");
            assert_eq!(
                schema.validate(&value).is_empty(),
                is_accepted,
                "{form:?} {value}"
            );
            let given = Map::from_iter([("x".to_owned(), value.clone())]);
            let words = crate::command_line("x", &[], std::iter::once(&argument), &given);
            assert_eq!(words.is_ok(), is_accepted, "{form:?} {value}");
        }
    }
}

//! The routes and the tools, as they are for the commands of this command line.

use crate::cli::Cli;
use crate::cli::described::described;
use clap::Parser;
use orch_core::decide::is_order;
use orch_serve::http::{self, Route};
use orch_serve::mcp::{self, AgentTool};
use orch_serve::{Argument, ArgumentForm};
use orch_view::FieldView;
use orch_view::html::{InputForm, OrderForm};
use serde_json::{Map, Value, json};
use std::collections::BTreeSet;
use std::sync::Arc;

fn routes() -> Vec<Arc<Route>> {
    http::routes(&described())
}

fn tools() -> Vec<AgentTool> {
    mcp::tools(&described())
}

fn document() -> Value {
    serde_json::from_str(&crate::cli::openapi()).expect("JSON")
}

/// A row whose command or argument is not there is left out.
#[test]
fn no_row_is_left_out() {
    assert_eq!((routes().len(), tools().len()), (44, 12));
}

/// A value of each argument.
fn example(argument: &Argument) -> (String, Value) {
    let value = match &argument.form {
        ArgumentForm::Duration(_) => json!("3s"),
        ArgumentForm::SomeOf(_, values) => json!(values),
        ArgumentForm::Word | ArgumentForm::Text(_) => json!("x"),
        ArgumentForm::Texts(_) => json!(["x", "y"]),
        ArgumentForm::Number(_) => json!(3),
        ArgumentForm::OneOf(_, values) => json!(values[0]),
        ArgumentForm::Flag(_) => json!(true),
        ArgumentForm::Pairs => json!({"key": 1}),
    };
    (argument.name.clone(), value)
}

fn assert_parses(words: Vec<String>) {
    let typed = [vec!["orch".to_owned()], words].concat();
    Cli::try_parse_from(&typed).unwrap_or_else(|error| panic!("{typed:?}: {error}"));
}

/// Every argument at once is a command line that `orch` accepts, and so is what is required alone.
#[test]
fn every_route_is_a_command_that_parses() {
    for route in routes() {
        for all in [true, false] {
            let arguments = route.in_path.iter().chain(&route.arguments);
            // These are alternatives to `--auto`, and to what sets what they take away.
            let is_alternative = |name: &str| {
                ["interactive", "noParent", "noPriority", "noAssignee"].contains(&name)
            };
            let is_given = |argument: &&Argument| {
                argument.is_required || (all && !is_alternative(&argument.name))
            };
            let given: Map<String, Value> = arguments.filter(is_given).map(example).collect();
            assert_parses(route.words(&given).expect("accepted"));
        }
    }
}

/// Every argument at once is a command line that `orch` accepts.
#[test]
fn every_tool_is_a_command_that_parses() {
    for tool in tools() {
        let given: Map<String, Value> = tool.arguments.iter().map(example).collect();
        assert_parses(tool.command(&given).expect("valid"));
    }
}
/// What a client sends is never a program to start.
#[test]
fn no_route_names_an_executor() {
    for route in routes().iter().filter(|route| route.starts_run) {
        let given = Map::from_iter([("task".to_owned(), json!("rm"))]);
        let words = route.words(&given).expect("accepted");
        assert_eq!(words[1..], ["--use=rm", "--"], "{}", route.name);
    }
}

#[test]
fn paths_name_their_arguments_and_names_are_used_once() {
    let routes = routes();
    let names: BTreeSet<&str> = routes.iter().map(|route| route.name).collect();
    let places: BTreeSet<(bool, &str)> = routes
        .iter()
        .map(|route| (route.writes, route.path))
        .collect();
    assert_eq!((names.len(), places.len()), (routes.len(), routes.len()));
    for route in routes {
        let braced: Vec<&str> = route
            .path
            .split('/')
            .filter_map(|part| part.strip_prefix('{')?.strip_suffix('}'))
            .collect();
        let arguments: Vec<&str> = route
            .in_path
            .iter()
            .map(|argument| argument.name.as_str())
            .collect();
        assert_eq!(braced, arguments, "{}", route.path);
        assert!(
            route.path.starts_with("/api/v1/") && route.about.ends_with('.'),
            "{}",
            route.path
        );
    }
}

#[test]
fn every_path_is_a_route_or_is_named_as_none() {
    let document = document();
    let routes = routes();
    let none = http::paths_without_command();
    let paths: Vec<&str> = document["paths"]
        .as_object()
        .into_iter()
        .flatten()
        .map(|(path, _)| path.as_str())
        .collect();
    for path in &paths {
        assert_ne!(
            routes.iter().any(|route| route.path == *path),
            none.contains(path),
            "{path}"
        );
    }
    assert!(none.iter().all(|path| paths.contains(path)), "{none:?}");
}

/// What a client sends and gets besides the bodies.
#[test]
fn headers_are_described() {
    let document = document();
    let listed = &document["paths"]["/api/v1/tasks"];
    for name in ["Orch-Exit-Code", "Total-Count", "Link"] {
        assert!(
            listed["get"]["responses"]["200"]["headers"][name]["schema"].is_object(),
            "{name}"
        );
    }
    let names = |path: &str| -> Vec<Value> {
        let parameters = document["paths"][path]["post"]["parameters"]
            .as_array()
            .into_iter()
            .flatten();
        parameters
            .filter(|one| one["in"] == "header")
            .map(|one| one["name"].clone())
            .collect()
    };
    assert_eq!(names("/api/v1/tasks"), ["Orch-Agent"]);
    assert_eq!(
        names("/api/v1/tasks/{task}/next"),
        ["Orch-Agent", "If-Match"]
    );
}

fn references(schema: &Value, found: &mut Vec<String>) {
    match schema {
        Value::Object(object) => {
            found.extend(
                object
                    .get("$ref")
                    .and_then(Value::as_str)
                    .map(str::to_owned),
            );
            object.values().for_each(|value| references(value, found));
        }
        Value::Array(values) => values.iter().for_each(|value| references(value, found)),
        _ => {}
    }
}

#[test]
fn every_reference_leads_somewhere() {
    let document = document();
    let mut found = Vec::new();
    references(&document, &mut found);
    assert!(found.len() > 100, "{}", found.len());
    for reference in found {
        let pointer = reference.strip_prefix('#').expect("in this document");
        assert!(document.pointer(pointer).is_some(), "{reference}");
    }
}

fn order(line: &str) -> Option<OrderForm> {
    let argv: Vec<String> = line.split(' ').map(str::to_owned).collect();
    http::order_of(&routes(), &argv, "it happens", &[])
}

/// The path, what is known, and what is asked for.
fn shown(line: &str) -> String {
    order(line).map_or("none".to_owned(), |order| {
        let asked: Vec<&str> = order
            .inputs
            .iter()
            .map(|input| input.name.as_str())
            .collect();
        format!(
            "{} {} {}",
            order.path,
            Value::Object(order.known),
            asked.join(" ")
        )
    })
}

#[test]
fn what_is_offered_is_the_request_that_does_it() {
    for (line, expected) in [
        ("orch next t-1", "/api/v1/tasks/t%2D1/next {} "),
        (
            "orch next a/b --override WHY",
            "/api/v1/tasks/a%2Fb/override {} reason",
        ),
        (
            "orch next t --to review --override WHY",
            "/api/v1/tasks/t/override {\"to\":\"review\"} reason",
        ),
        (
            "orch rollback t --to plan --reason WHY",
            "/api/v1/tasks/t/rollback {\"to\":\"plan\"} reason",
        ),
        (
            "orch confirm t plan --reason WHY",
            "/api/v1/tasks/t/confirm {\"artifact\":\"plan\"} reason",
        ),
        (
            "orch confirm t --lost a::b --reason WHY",
            "/api/v1/tasks/t/confirm {\"lost\":\"a::b\"} reason",
        ),
        ("orch approve t", "/api/v1/tasks/t/approve {} "),
        (
            "orch approve t --override WHY",
            "/api/v1/tasks/t/approve {} override",
        ),
        (
            "orch reject t --reason WHY",
            "/api/v1/tasks/t/reject {} reason",
        ),
        (
            "orch reopen t --reason WHY",
            "/api/v1/tasks/t/reopen {} reason",
        ),
        (
            "orch answer t action=lint",
            "/api/v1/tasks/t/answer {\"answers\":{\"action\":\"lint\"}} ",
        ),
        (
            "orch answer t a=VALUE b=VALUE",
            "/api/v1/tasks/t/answer {} answers/a answers/b",
        ),
        ("orch run t", "/api/v1/tasks/t/run {} "),
        ("orch recover t", "/api/v1/tasks/t/recover {} "),
        ("orch new t", "/api/v1/tasks {\"id\":\"t\"} "),
        ("orch archive t", "none"),
        ("orch prompt t", "none"),
        ("git restore -s abc -- tasks/t/plan.json", "none"),
        ("orch next t --no-such WHY", "none"),
    ] {
        assert_eq!(shown(line), expected, "{line}");
    }
}

#[test]
fn the_fields_of_a_question_say_what_may_be_filled_in() {
    let field = |list: bool, kind: &str, values: Option<Vec<Value>>| FieldView {
        key: "a".to_owned(),
        r#type: kind.to_owned(),
        list,
        values,
        default: Some(json!(3)),
    };
    let choices = vec![json!("x"), json!(1)];
    for (field, expected) in [
        (field(false, "integer", None), InputForm::Value),
        (field(false, "string", None), InputForm::Text),
        (
            field(true, "string", Some(choices.clone())),
            InputForm::List,
        ),
        (
            field(false, "string", Some(choices.clone())),
            InputForm::OneOf(choices),
        ),
    ] {
        let argv = ["orch", "answer", "t", "a=VALUE"].map(str::to_owned);
        let order = http::order_of(&routes(), &argv, "", &[field]).expect("an order");
        assert_eq!(
            (order.inputs[0].form.clone(), order.inputs[0].name.as_str()),
            (expected, "answers/a")
        );
        assert!(
            order.inputs[0].label.contains("(default: 3)"),
            "{}",
            order.inputs[0].label
        );
    }
}

fn words(tool: &str, given: Value) -> Result<String, String> {
    let given = given.as_object().expect("an object").clone();
    let tools = tools();
    let mut named = tools.iter().filter(|one| one.name == tool);
    let words = named.next().expect("a tool").command(&given)?;
    Ok(words.join(" "))
}

#[test]
fn arguments_become_those_of_the_command() {
    for (tool, given, expected) in [
        ("suggest", json!({}), "suggest --"),
        (
            "suggest",
            json!({"task": "t", "for": "agent", "brief": true}),
            "suggest --for=agent --brief -- t",
        ),
        (
            "next",
            json!({"task": "--to=done", "expect": "test", "dryRun": false}),
            "next --expect=test -- --to=done",
        ),
        ("next", json!({"task": null}), "next --"),
        (
            "answer",
            json!({"task": "t", "answers": {"a": "3", "b": 3, "c": [1]}}),
            r#"answer --use=t -- a="3" b=3 c=[1]"#,
        ),
        (
            "schema",
            json!({"name": "plan", "example": true}),
            "schema --example -- plan",
        ),
    ] {
        assert_eq!(words(tool, given).as_deref(), Ok(expected));
    }
    for (tool, given, expected) in [
        (
            "next",
            json!({"override": "x"}),
            "`next` has no argument `override`; it has task, expect, dryRun",
        ),
        (
            "next",
            json!({"task": 3}),
            "the argument `task` is not a string",
        ),
        (
            "suggest",
            json!({"for": "me"}),
            "the argument `for` is not one of agent, human",
        ),
        (
            "suggest",
            json!({"brief": "yes"}),
            "the argument `brief` is not true or false",
        ),
        (
            "answer",
            json!({"task": "t"}),
            "the argument `answers` is missing",
        ),
        (
            "answer",
            json!({"answers": {}}),
            "the argument `answers` is not an object with at least one member",
        ),
        (
            "answer",
            json!({"answers": {"a=b": 1}}),
            "`a=b` is not a key of an answer",
        ),
        (
            "schema",
            json!({"name": ""}),
            "the argument `name` is not a string",
        ),
    ] {
        assert_eq!(words(tool, given).expect_err("refused"), expected);
    }
}

#[test]
fn no_tool_is_an_order_of_a_person() {
    for tool in tools() {
        assert!(!is_order(tool.name), "{}", tool.name);
        for argument in &tool.arguments {
            let option = match &argument.form {
                ArgumentForm::Text(option)
                | ArgumentForm::Texts(option)
                | ArgumentForm::SomeOf(option, _)
                | ArgumentForm::Duration(option)
                | ArgumentForm::Number(option)
                | ArgumentForm::Flag(option)
                | ArgumentForm::OneOf(option, _) => option.as_str(),
                ArgumentForm::Word | ArgumentForm::Pairs => "",
            };
            assert!(
                !["--override", "--to", "--force"].contains(&option),
                "{} {option}",
                tool.name
            );
        }
    }
}

/// What each conversation pays for: about one token for four bytes.
#[test]
fn the_tools_are_cheap_to_describe() {
    let tools: Vec<_> = tools().iter().map(AgentTool::wire).collect();
    let size = serde_json::to_string(&tools).expect("JSON").len();
    assert!(size < 4700, "{size} bytes");
}

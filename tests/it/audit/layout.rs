//! A formatter that rewrites `state.json`: its layout is a note, its values are what they were.

use super::records::earlier;
use super::{last, last_change, standings};
use crate::harness::{World, started};
use serde_json::ser::{PrettyFormatter, Serializer};
use serde_json::{Map, Value};
use std::fmt::Write;

const STATE: &str = "tasks/t/state.json";

fn one_line(text: &str) -> String {
    serde_json::from_str::<Value>(text)
        .expect("JSON")
        .to_string()
}

fn indented(text: &str) -> String {
    let value: Value = serde_json::from_str(text).expect("JSON");
    let mut bytes = Vec::new();
    let mut out = Serializer::with_formatter(&mut bytes, PrettyFormatter::with_indent(b"\t"));
    serde::Serialize::serialize(&value, &mut out).expect("written");
    String::from_utf8(bytes).expect("text")
}

fn sorted(text: &str) -> String {
    fn sort(value: Value) -> Value {
        match value {
            Value::Object(members) => {
                let mut members: Vec<(String, Value)> = members.into_iter().collect();
                members.sort_by(|one, other| one.0.cmp(&other.0));
                Value::Object(
                    members
                        .into_iter()
                        .map(|(key, value)| (key, sort(value)))
                        .collect::<Map<_, _>>(),
                )
            }
            Value::Array(items) => items.into_iter().map(sort).collect(),
            other => other,
        }
    }
    format!("{:#}\n", sort(serde_json::from_str(text).expect("JSON")))
}

fn escaped(text: &str) -> String {
    let mut out = String::new();
    for character in text.chars() {
        if character.is_ascii() {
            out.push(character);
        } else {
            write!(out, "\\u{:04x}", u32::from(character)).expect("written");
        }
    }
    out
}

fn without_end(text: &str) -> String {
    text.trim_end().to_owned()
}

/// What a formatter makes of a text.
type Layout = fn(&str) -> String;

/// What formatters and editors make of a text.
const LAYOUTS: [(&str, Layout); 5] = [
    ("one line", one_line),
    ("tabs", indented),
    ("sorted", sorted),
    ("escaped", escaped),
    ("no newline at the end", without_end),
];

/// A task whose state has a letter that can be escaped.
fn titled() -> World {
    let world = World::ready();
    world
        .orch(&["new", "t", "--title", "Größe: \"a\""])
        .succeeds();
    world.walk_to("t", "plan_review");
    world
}

#[test]
fn another_layout_is_a_note_wherever_the_record_is_judged() {
    for (name, layout) in LAYOUTS {
        let world = titled();
        let before = world.read(STATE);
        world.write(STATE, layout(&before));
        world.orch(&["check"]).succeeds().says("note[state-layout]");
        let found = world.orch_json(&["check"])["findings"].clone();
        assert_eq!(found.as_array().map(Vec::len), Some(1), "{name}: {found:#}");
        world.git(&["add", STATE]);
        world
            .orch(&["check", "--staged"])
            .succeeds()
            .says("state-layout");
        world.commit("format");
        world
            .orch(&["check", "--range", "HEAD~1..HEAD"])
            .succeeds()
            .says("state-layout");
        let change = last(&world, "proven");
        assert!(
            change["why"]
                .as_str()
                .is_some_and(|why| why.contains("a different layout")),
            "{change:#}"
        );
        world.orch(&["audit", "--strict"]).succeeds();
        // The next step writes it as ever, and a revert of the formatter's commit changes nothing else.
        let formatted = world.git(&["rev-parse", "HEAD"]);
        world.plan_review("t", true, 1);
        world.orch(&["next", "t"]).succeeds();
        assert_eq!(
            world.read(STATE).lines().next(),
            before.lines().next(),
            "{name}"
        );
        assert!(
            world.orch_json(&["check"])["findings"]
                .as_array()
                .is_some_and(Vec::is_empty)
        );
        world.git(&["reset", "-q", "--hard", formatted.trim()]);
        world.git(&["revert", "--no-edit", "HEAD"]);
        assert_eq!(world.read(STATE), before, "{name}");
        world.orch(&["audit", "--strict"]).succeeds();
    }
}

#[test]
fn a_step_whose_state_was_formatted_before_it_was_committed_is_proven() {
    let world = titled();
    world.write(STATE, one_line(&world.read(STATE)));
    world.git(&["commit", "-q", "-a", "--amend", "--no-edit"]);
    let change = last(&world, "proven");
    assert!(
        change["why"]
            .as_str()
            .is_some_and(|why| why.contains("a different layout")),
        "{change:#}"
    );
    assert_eq!(change["steps"].as_array().map(Vec::len), Some(1));
}

#[test]
fn a_changed_value_stays_what_it_is_in_any_layout() {
    let world = started("plan_review");
    let honest = world.read(STATE);
    let members: Map<String, Value> = serde_json::from_str(&honest).expect("JSON");
    for (name, layout) in LAYOUTS {
        for key in members.keys() {
            let mut members = members.clone();
            let changed = match &members[key] {
                Value::String(text) => Value::from(format!("{}0", &text[..text.len() - 1]) + "x"),
                Value::Number(number) => Value::from(number.as_u64().expect("a count") + 1),
                _ => Value::Null,
            };
            members.insert(key.clone(), changed);
            world.write(STATE, layout(&format!("{:#}\n", Value::Object(members))));
            world.git(&["add", STATE]);
            world
                .orch(&["check", "--staged"])
                .ends(1)
                .says("error[forged]");
            world.git(&["reset", "-q", "--hard"]);
        }
        let twice = honest.replacen('{', "{\n  \"phase\": \"done\",", 1);
        world.write(STATE, layout(&twice));
        if world.read(STATE).matches("\"phase\"").count() > 1 {
            world.git(&["add", STATE]);
            world
                .orch(&["check", "--staged"])
                .ends(1)
                .says("error[forged]");
            world.git(&["reset", "-q", "--hard"]);
        }
        assert!(
            standings(&world).iter().all(|one| one == "proven"),
            "{name}"
        );
    }
}

/// How many lines of the state the last commit added and removed.
fn changed_lines(world: &World) -> [usize; 2] {
    let told = world.git(&["show", "--format=", "--numstat", "HEAD", "--", STATE]);
    let mut counts = told
        .split_whitespace()
        .map(|count| count.parse().expect("a count"));
    [
        counts.next().expect("added"),
        counts.next().expect("removed"),
    ]
}

#[test]
fn a_step_changes_few_lines_of_a_short_state() {
    type Scene = (&'static str, fn(&World), &'static [&'static str]);
    let scenes: [Scene; 14] = [
        ("plan_review", |world| world.plan("t", 1), &["next", "t"]),
        (
            "planning",
            |world| world.plan_review("t", false, 1),
            &["next", "t"],
        ),
        ("plan_review", |world| world.plan("t", 2), &["next", "t"]),
        (
            "codegen",
            |world| world.plan_review("t", true, 2),
            &["next", "t"],
        ),
        ("review", |world| world.patch("t", 1), &["next", "t"]),
        (
            "test",
            |world| world.code_review("t", true, 1),
            &["next", "t"],
        ),
        ("codegen", |world| world.tests("t", 1, 1), &["next", "t"]),
        ("review", |world| world.patch("t", 2), &["next", "t"]),
        (
            "test",
            |world| world.code_review("t", true, 2),
            &["next", "t"],
        ),
        ("accept", |world| world.tests("t", 0, 2), &["next", "t"]),
        (
            "codegen",
            |_| {},
            &["reject", "t", "--to", "codegen", "--reason", "it is slow"],
        ),
        ("review", |world| world.patch("t", 3), &["next", "t"]),
        (
            "test",
            |world| world.code_review("t", true, 3),
            &["next", "t"],
        ),
        ("accept", |world| world.tests("t", 0, 3), &["next", "t"]),
    ];
    let world = World::ready();
    world.orch(&["new", "t", "--title", "T"]).succeeds();
    for (phase, write, command) in scenes {
        write(&world);
        world.orch(command).succeeds();
        assert_eq!(world.phase("t"), phase);
        let [added, removed] = changed_lines(&world);
        assert!(
            added <= 6 && removed <= 6,
            "{phase}: +{added} -{removed}\n{}",
            world.read(STATE)
        );
        let lines = world.read(STATE).lines().count();
        assert!(lines <= 40, "{phase}: {lines}");
    }
    world.orch(&["audit", "--strict"]).succeeds();
}

#[test]
fn a_state_of_the_earlier_layout_is_no_finding_and_the_next_step_renews_it() {
    let world = titled();
    for (write, phase) in [
        (
            (|world| world.plan_review("t", true, 1)) as fn(&World),
            "codegen",
        ),
        (|world| world.patch("t", 1), "review"),
        (|world| world.code_review("t", true, 1), "test"),
    ] {
        // As if the last step had been recorded by an earlier version.
        world.write(STATE, earlier(&world.read(STATE)));
        world.git(&["add", STATE]);
        world.orch(&["check", "--staged", "--strict"]).succeeds();
        world.git(&["commit", "-q", "--amend", "--no-edit"]);
        assert!(
            world
                .read(STATE)
                .contains("\n    \"planning\": {\n      \"status\"")
        );
        let checked = world.orch_json(&["check"]);
        assert!(
            checked["findings"].as_array().is_some_and(Vec::is_empty),
            "{checked:#}"
        );
        world
            .orch(&["check", "--range", "HEAD~1..HEAD", "--strict"])
            .succeeds();
        let change = last_change(&world);
        assert_eq!(
            (&change["standing"], &change["why"]),
            (&"proven".into(), &Value::Null),
            "{change:#}"
        );
        write(&world);
        world.orch(&["next", "t"]).succeeds();
        assert_eq!(world.phase("t"), phase);
        assert!(
            world
                .read(STATE)
                .contains("\n    \"planning\": {\"status\": ")
        );
    }
    world.orch(&["audit", "--strict"]).succeeds();
    // What is no value of the state is found in this layout as well.
    let edited = earlier(&world.read(STATE)).replacen("\"attempt\": 1", "\"attempt\": 2", 1);
    world.write(STATE, edited);
    world.orch(&["check"]).says("state-edited");
}

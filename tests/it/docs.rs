//! The documents under `docs/` are true: their codes, kinds and examples are those of the program.

use crate::harness::{World, project};
use orch_base::{AgentMark, Code};
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs;

fn page(name: &str) -> String {
    fs::read_to_string(project().join("docs").join(name))
        .unwrap_or_else(|error| panic!("{name}: {error}"))
}

#[test]
fn every_code_of_a_workflow_is_explained_and_exists() {
    let families = ["workflow-", "guard-", "schema-"];
    let known: BTreeSet<String> = Code::ALL
        .iter()
        .map(ToString::to_string)
        .filter(|code| families.iter().any(|family| code.starts_with(family)))
        // What an artifact does wrong is no finding about its workflow.
        .filter(|code| code != "schema-mismatch")
        .collect();
    let text = page("workflows.md");
    let explained: BTreeSet<String> = text
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split('`').next())
        .filter(|code| families.iter().any(|family| code.starts_with(family)))
        .map(str::to_owned)
        .collect();
    assert_eq!(explained, known);
}

#[test]
fn the_table_of_marks_is_that_of_the_program() {
    let text = page("agents.md");
    let table = text
        .split("| program | variables |")
        .nth(1)
        .expect("a table");
    let table = table.split("\n\n").next().expect("an end");
    let variables = table.split('`').skip(1).step_by(2);
    let shown: BTreeSet<&str> = variables.collect();
    let known: BTreeSet<&str> = AgentMark::ALL
        .iter()
        .flat_map(|mark| mark.variables)
        .copied()
        .collect();
    assert_eq!(shown, known);
}

#[test]
fn the_example_of_a_workflow_has_no_findings_and_runs() {
    let world = World::ready();
    let text = page("workflows.md");
    let document = text
        .split("````markdown\n")
        .nth(1)
        .and_then(|rest| rest.split("````").next());
    world.write("system/workflows/release.md", document.expect("an example"));
    world.orch(&["workflow", "check", "release"]).succeeds();
    world
        .orch(&["new", "1.0", "--workflow", "release"])
        .succeeds();
    world.write("tasks/1.0/NOTES.md", "# One\n\nFirst.\n");
    world.orch(&["next", "1.0"]).succeeds();
    world.write("tasks/1.0/junit/unit.xml", "<testsuite tests=\"0\"/>");
    world.orch(&["next", "1.0"]).ends(3).says("no test ran");
    world.tests("1.0", 1, 1);
    let report = world.read("tasks/1.0/eval/junit.xml");
    world.write("tasks/1.0/junit/unit.xml", report);
    world.orch(&["next", "1.0"]).succeeds().says("tests-failed");
    world
        .orch(&["next", "1.0"])
        .ends(3)
        .says("unchanged since attempt 1 was sent back");
    world.tests("1.0", 0, 2);
    let report = world.read("tasks/1.0/eval/junit.xml");
    world.write("tasks/1.0/junit/unit.xml", report);
    world.orch(&["next", "1.0"]).succeeds();
    world.write("tasks/1.0/sign-off.json", "{\"ok\": true}\n");
    world.orch(&["next", "1.0"]).succeeds();
    assert_eq!(world.phase("1.0"), "released");
}

#[test]
fn every_kind_of_answer_and_every_key_of_a_suggestion_is_explained() {
    let text = page("json.md");
    let schemas = project().join("system/schemas/output");
    for entry in fs::read_dir(&schemas).expect("schemas").flatten() {
        let name = entry.file_name().to_string_lossy().into_owned();
        let kind = name.trim_end_matches(".schema.json");
        assert!(
            text.contains(&format!("\n| `{kind}` | ")),
            "`{kind}` is not explained"
        );
        assert!(
            text.contains(&format!("(../system/schemas/output/{name})")),
            "{name} is not linked"
        );
    }
    let schema = |kind: &str| -> Value {
        let path = schemas.join(format!("{kind}.schema.json"));
        serde_json::from_str(&fs::read_to_string(path).expect("a schema")).expect("JSON")
    };
    let (suggestions, log) = (schema("suggestions"), schema("log"));
    let section = text
        .split("\n## `suggestions`\n")
        .nth(1)
        .expect("a section");
    let rows = section
        .lines()
        .filter_map(|line| line.strip_prefix("| `")?.split("` | ").next());
    let explained: BTreeSet<&str> = rows.flat_map(|row| row.split("`, `")).collect();
    for (schema, part) in [
        (&suggestions, "Suggestion"),
        (&suggestions, "Expected"),
        (&log, "StepView"),
    ] {
        for key in schema["$defs"][part]["properties"]
            .as_object()
            .expect("keys")
            .keys()
        {
            assert!(
                explained.contains(key.as_str()),
                "{part}: `{key}` is not explained"
            );
        }
    }
    for form in schema("event")["oneOf"].as_array().expect("forms") {
        let event = form["properties"]["event"]["const"]
            .as_str()
            .expect("an event");
        assert!(
            text.contains(&format!("\n| `{event}` | ")),
            "`{event}` is not explained"
        );
    }
}

/// The names of the crates that a table of a manifest names, but for those of this workspace.
fn named(manifest: &toml::Table, names: &mut BTreeSet<String>) {
    for (key, value) in manifest {
        let Some(table) = value.as_table() else {
            continue;
        };
        if key.ends_with("dependencies") {
            let others = table.keys().filter(|name| !name.starts_with("orch-agent"));
            names.extend(others.cloned());
        } else {
            named(table, names);
        }
    }
}

#[test]
fn the_page_of_dependencies_names_each_direct_one() {
    let mut manifests = vec![project().join("Cargo.toml")];
    for entry in fs::read_dir(project().join("crates")).expect("crates") {
        manifests.push(entry.expect("a crate").path().join("Cargo.toml"));
    }
    let mut known = BTreeSet::new();
    for path in manifests {
        let text = fs::read_to_string(&path).expect("a manifest");
        named(&text.parse().expect("TOML"), &mut known);
    }
    let text = page("dependencies.md");
    let rows = text.lines().filter_map(|line| line.strip_prefix("| `"));
    let listed: BTreeSet<String> = rows
        .filter_map(|row| row.split('`').next())
        .map(str::to_owned)
        .collect();
    assert_eq!(listed, known);
}

/// Hints and manuals say where to read on.
#[test]
fn pages_that_the_program_names_exist() {
    let mut texts = vec![page("cli.md"), page("codes.md")];
    for entry in walkdir::WalkDir::new(project().join("src")) {
        let entry = entry.expect("a file");
        if entry.file_type().is_file() {
            texts.push(fs::read_to_string(entry.path()).expect("readable"));
        }
    }
    let mut seen = 0;
    for text in texts {
        for rest in text.split("docs/").skip(1) {
            let end = rest.find(|c: char| !c.is_ascii_lowercase() && !"-/.".contains(c));
            let name = rest[..end.unwrap_or(rest.len())].trim_end_matches('.');
            if name.ends_with(".md") && !name.starts_with("adr/") {
                assert!(project().join("docs").join(name).exists(), "docs/{name}");
                seen += 1;
            }
        }
    }
    assert!(seen > 2, "{seen}");
}

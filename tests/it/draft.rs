//! `orch draft`: a file to be filled in, which nobody takes for a finished one.

use crate::harness::World;
use serde_json::{Value, json};

/// The texts, numbers and verdicts that are still to be written.
fn unwritten(value: &Value) -> usize {
    match value {
        Value::String(text) => usize::from(text.starts_with("TODO")),
        Value::Array(items) => items.iter().map(unwritten).sum(),
        Value::Object(members) => members.values().map(unwritten).sum(),
        _ => 0,
    }
}

#[test]
fn a_draft_of_each_phase_moves_nothing_until_it_is_written() {
    for (phase, path) in [
        ("planning", "planning/plan.json"),
        ("plan_review", "review/plan-review.json"),
        ("review", "review/code-review.json"),
        ("test", "eval/eval-report.json"),
        ("accept", "accept/decision.json"),
    ] {
        let world = World::ready();
        world.orch(&["new", "t"]).succeeds();
        if phase != "planning" {
            world.walk_to("t", phase);
        }
        let path = format!("tasks/t/{path}");
        world.orch(&["draft", "t"]).succeeds().says(&path);
        let text = world.read(&path);
        let draft: Value = serde_json::from_str(&text).expect("JSON");
        assert!(unwritten(&draft) > 0, "{text}");
        for verdict in ["ok", "verdict", "overall_pass"] {
            let is_chosen = draft.get(verdict).is_some_and(|value| unwritten(value) == 0);
            assert!(!is_chosen, "{verdict}: {text}");
        }
        if phase != "planning" {
            assert!(draft["of"].as_object().is_some_and(|of| !of.is_empty()), "{text}");
            assert_ne!(draft["finished_at"], json!("2026-11-21T04:50:00Z"));
        }
        let told = world.orch_json(&["suggest", "t"])["suggestions"][0].clone();
        assert_eq!(told["currentPhase"], phase);
        assert_eq!(told["expects"][0]["state"], "invalid", "{told:#}");
        let problems = told["expects"][0]["problems"].as_array().cloned().unwrap_or_default();
        assert!(problems.iter().all(|problem| problem["pointer"].is_string()), "{problems:#?}");
        assert!(!problems.is_empty(), "{told:#}");
        // It is never written twice, and can be printed at any time.
        world.write(&path, "mine");
        world.orch(&["draft", "t"]).ends(5).reports("invalid");
        let name = told["expects"][0]["artifact"].as_str().expect("a name");
        world.orch(&["draft", "t", name]).ends(5).reports("is there already");
        assert_eq!(world.read(&path), "mine");
        let printed = world.orch(&["draft", "t", name, "--print"]).succeeds().stdout;
        assert!(printed.contains("TODO"), "{printed}");
        assert_eq!(world.read(&path), "mine");
    }
}

#[test]
fn a_draft_that_is_written_counts() {
    let world = World::ready();
    world.orch(&["new", "t"]).succeeds();
    world.walk_to("t", "plan_review");
    let answer = world.orch_json(&["draft", "t"]);
    assert_eq!((&answer["kind"], &answer["written"]), (&json!("draft"), &json!(true)));
    let mut review = world.json("tasks/t/review/plan-review.json");
    review["ok"] = true.into();
    review["reasons"] = json!(["The plan says how it is tested."]);
    let left = world.orch(&["next", "t"]).ends(3);
    assert!(left.stdout.contains("is invalid"), "{left:?}");
    review["issues"] = json!([]);
    world.write("tasks/t/review/plan-review.json", review.to_string());
    world.orch(&["next", "t"]).succeeds().says("plan_review -> codegen");
}

#[test]
fn a_draft_in_markdown_keeps_the_structure_and_is_not_taken_as_finished() {
    let world = World::ready();
    world.write("orch.toml", "[[root]]\npath = \"changes/*\"\nworkflow = \"openspec\"\n");
    world.write("changes/c/design.md", "# Design\n");
    world.orch(&["new", "c"]).succeeds();
    world.orch(&["draft", "c"]).succeeds().says("changes/c/proposal.md");
    assert_eq!(
        world.read("changes/c/proposal.md"),
        "# TODO\n\n## Why\n\nTODO\n\n## What Changes\n\n- TODO\n"
    );
    world.orch(&["draft", "c", "tasks"]).succeeds();
    // The capability of a delta has a name that only the writer knows.
    world.orch(&["draft", "c", "specs"]).ends(5).reports("<capability>");
    let delta = world.orch(&["draft", "c", "specs", "--stdout"]).succeeds().stdout;
    assert!(delta.contains("### Requirement: TODO\n") && delta.contains("- **WHEN** TODO\n"), "{delta}");
    world.write("changes/c/specs/cli/spec.md", delta.replace("\nTODO\n", "\nIt MUST.\n\nTODO\n"));
    let told = world.orch_json(&["suggest", "c"])["suggestions"][0].clone();
    assert_eq!((&told["currentPhase"], &told["kind"]), (&json!("drafting"), &json!("wait")), "{told:#}");
}

#[test]
fn what_there_is_no_draft_of_is_said() {
    let world = World::ready();
    world.orch(&["new", "t"]).succeeds();
    world.orch(&["draft", "t", "plam"]).ends(2).reports("did you mean `plan`?");
    world.orch(&["draft", "t", "patch"]).ends(5).reports("made by a program");
    world.orch(&["draft", "t", "brief"]).ends(5).reports("no example");
    world.plan("t", 1);
    world.orch(&["draft", "t"]).ends(5).reports("no file is missing");
}

/// A schema that accepts any text cannot tell a draft from a finished file.
#[test]
fn a_draft_that_would_move_the_task_is_not_written() {
    let world = World::ready();
    world.write(
        "system/workflows/notes.md",
        "```toml orch\n[artifact.note]\npath = \"note.json\"\nschema = \"note\"\n\n[phase.open]\nproduces = [\"note\"]\n\n\
         [phase.done]\nterminal = true\n\n[[rule]]\nid = \"go\"\nfrom = \"open\"\nwhen = \"note.ready\"\nto = \"done\"\n\
         because = \"it is there\"\n```\n",
    );
    world.write(
        "system/schemas/note.schema.json",
        r#"{"type": "object", "examples": [{"text": "An example."}]}"#,
    );
    world.write("orch.toml", "[[root]]\npath = \"notes/*\"\nworkflow = \"notes\"\n");
    world.orch(&["new", "n"]).succeeds();
    world.orch(&["draft", "n"]).ends(5).reports("as finished");
    world.orch(&["draft", "n", "--stdout"]).succeeds().says("TODO");
    assert!(!world.path("notes/n/note.json").exists());
}

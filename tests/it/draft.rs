//! `orch draft`: a file to be filled in, which nobody takes for a finished one.

use crate::harness::{World, started};
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
        ("plan_review", "review/plan/verdict.json"),
        ("review", "review/code/verdict.json"),
        ("test", "eval/eval-report.json"),
        ("accept", "accept/decision.json"),
    ] {
        let world = started(phase);
        let path = format!("tasks/t/{path}");
        world.orch(&["draft", "t"]).succeeds().says(&path);
        let text = world.read(&path);
        let draft: Value = serde_json::from_str(&text).expect("JSON");
        assert!(unwritten(&draft) > 0, "{text}");
        for verdict in ["ok", "verdict", "overall_pass"] {
            let is_chosen = draft
                .get(verdict)
                .is_some_and(|value| unwritten(value) == 0);
            assert!(!is_chosen, "{verdict}: {text}");
        }
        if phase != "planning" {
            assert!(
                draft["of"].as_object().is_some_and(|of| !of.is_empty()),
                "{text}"
            );
            assert_ne!(draft["finished_at"], json!("2026-11-21T04:50:00Z"));
        }
        let told = world.orch_json(&["suggest", "t"])["suggestions"][0].clone();
        assert_eq!(told["currentPhase"], phase);
        assert_eq!(told["expects"][0]["state"], "invalid", "{told:#}");
        let problems = told["expects"][0]["problems"]
            .as_array()
            .cloned()
            .unwrap_or_default();
        assert!(
            problems
                .iter()
                .all(|problem| problem["pointer"].is_string()),
            "{problems:#?}"
        );
        assert!(!problems.is_empty(), "{told:#}");
        is_told_as_one(&world, unwritten(&draft));
        // It is never written twice, and can be printed at any time.
        world.write(&path, "mine");
        world.orch(&["draft", "t"]).ends(5).reports("invalid");
        let name = told["expects"][0]["artifact"].as_str().expect("a name");
        world
            .orch(&["draft", "t", name])
            .ends(5)
            .reports("already exists");
        assert_eq!(world.read(&path), "mine");
        let printed = world
            .orch(&["draft", "t", name, "--print"])
            .succeeds()
            .stdout;
        assert!(printed.contains("TODO"), "{printed}");
        assert_eq!(world.read(&path), "mine");
    }
}

/// A person is told once that the file is a draft, a program of each place.
fn is_told_as_one(world: &World, count: usize) {
    let are = if count == 1 {
        "1 place is".to_owned()
    } else {
        format!("{count} places are")
    };
    let message = format!("this is a draft, and {are} still to be written: line ");
    for face in ["suggest", "prompt", "explain", "check"] {
        let shown = world.orch(&[face, "t"]).stdout;
        assert_eq!(shown.matches(&message).count(), 1, "{face}: {shown}");
        let each = shown.matches("this has not been written yet").count();
        assert_eq!(
            (each, shown.matches("schema-mismatch").count()),
            (0, 0),
            "{face}: {shown}"
        );
    }
    let found = world.orch_json(&["check", "t"]);
    assert_eq!(
        (&found["errors"], &found["notes"]),
        (&json!(1), &json!(count)),
        "{found:#}"
    );
    let places: Vec<&Value> = found["findings"]
        .as_array()
        .expect("a list")
        .iter()
        .collect();
    let notes = places.iter().filter(|found| found["severity"] == "note");
    assert!(
        notes
            .clone()
            .all(|note| note["code"] == "unwritten" && note["pointer"].is_string()),
        "{found:#}"
    );
    assert!(
        notes.clone().all(|note| note["line"].is_number()),
        "{found:#}"
    );
}

#[test]
fn a_draft_names_the_first_places_and_what_is_wrong_beside_them() {
    let world = started("planning");
    world.orch(&["draft", "t"]).succeeds();
    let mut plan = world.json("tasks/t/planning/plan.json");
    plan["file_plan"] = json!("none");
    world.write("tasks/t/planning/plan.json", format!("{plan:#}"));
    let shown = world.orch(&["suggest", "t"]).stdout;
    assert!(
        shown.contains("line 3 (`/title`), line 4 (`/why`), line 5 (`/what`), and "),
        "{shown}"
    );
    assert!(
        shown.contains("expected array, found string \"none\""),
        "{shown}"
    );
    assert_eq!(shown.matches("error[").count(), 2, "{shown}");
    plan["title"] = "Mend it".into();
    world.write("tasks/t/planning/plan.json", format!("{plan:#}"));
    world
        .orch(&["suggest", "t", "--brief"])
        .succeeds()
        .says("line 4 (`/why`)");
}

#[test]
fn a_draft_that_is_written_counts() {
    let world = started("plan_review");
    let answer = world.orch_json(&["draft", "t"]);
    assert_eq!(
        (&answer["kind"], &answer["written"]),
        (&json!("draft"), &json!(true))
    );
    let mut review = world.json("tasks/t/review/plan/verdict.json");
    review["ok"] = true.into();
    review["reasons"] = json!(["The plan says how it is tested."]);
    let left = world.orch(&["next", "t"]).ends(3);
    assert!(left.stdout.contains("is invalid"), "{left:?}");
    review["issues"] = json!([]);
    world.write("tasks/t/review/plan/verdict.json", review.to_string());
    world
        .orch(&["next", "t"])
        .succeeds()
        .says("plan_review -> codegen");
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
    world.write(
        "orch.toml",
        "[[root]]\npath = \"notes/*\"\nworkflow = \"notes\"\n",
    );
    world.orch(&["new", "n"]).succeeds();
    world.orch(&["draft", "n"]).ends(5).reports("as finished");
    world
        .orch(&["draft", "n", "--stdout"])
        .succeeds()
        .says("TODO");
    assert!(!world.path("notes/n/note.json").exists());
}

/// What a draft says that it judges is what is there, whichever phase the task is in.
#[test]
fn a_draft_names_what_is_there() {
    let world = started("accept");
    let explained = world.orch_json(&["explain", "t"])["explanations"][0].clone();
    let artifacts = explained["artifacts"].as_array().expect("artifacts");
    for (artifact, judged) in [
        ("plan_review", &["plan"][..]),
        ("codegen_blocked", &["plan", "plan_review"]),
        ("code_review", &["plan", "patch"]),
        ("eval_report", &["plan", "patch"]),
        ("decision", &["plan", "patch"]),
    ] {
        let printed = world.orch(&["draft", "t", artifact, "--print"]);
        let draft: Value = serde_json::from_str(&printed.succeeds().stdout).expect("JSON");
        for name in judged {
            let there = artifacts.iter().find(|one| one["artifact"] == **name);
            assert_eq!(
                draft["of"][name],
                there.expect("an artifact")["digest"],
                "{artifact}: {draft:#}"
            );
        }
    }
}

//! A person reviews at a terminal: what the editor is given, and what becomes of the verdict.

use crate::harness::{World, executable, started};
use crate::terminal::Terminal;

/// An editor that keeps what is judged, and writes the rest as the test has laid it ready.
const EDITOR: &str = r#"#!/bin/sh
of=$(sed -n '/"of": {/,/}/p' "$1" | sed 's/},/}/')
cp "$1" ../opened
printf '%s,\n%s\n}\n' "$(cat ../said)" "$of" > "$1"
"#;

/// `orch review t` at a terminal, with an editor that writes this.
fn review(world: &World, said: &str) -> Terminal {
    world.write("../said", said);
    world.write("../editor", EDITOR);
    executable(&world.path("../editor"));
    let mut command = world.orch_command(&["review", "t"]);
    command.env("VISUAL", world.path("../editor"));
    Terminal::start(command)
}

#[test]
fn a_person_sees_what_is_decided_and_writes_the_verdict() {
    let world = started("plan_review");
    let file = "tasks/t/review/plan/verdict.json";

    // What is broken holds nothing up.
    let plan = world.read("tasks/t/planning/plan.json");
    world.write("tasks/t/planning/plan.json", "{");
    world
        .orch(&["show", "t"])
        .succeeds()
        .says("✗ plan is invalid");
    world.write("tasks/t/planning/plan.json", plan);

    // What its schema does not accept moves nothing, and is kept.
    let mut first = review(&world, r#"{"ok": "perhaps", "summary": "Good plan.""#);
    first.shows("edit it again?");
    first.types("n\n");
    assert_eq!(first.ends(), Some(3), "{}", first.shown());
    let shown = first.shown();
    for part in [
        "[plan_review]",
        "what: Version 1.",
        "expected boolean",
        "an issue looks so: {\"id\":",
        "the verdict is kept in",
        "orch review t",
    ] {
        assert!(shown.contains(part), "{part}: {shown}");
    }
    let draft = world.read("../opened");
    assert!(draft.contains("\"ok\": true"), "{draft}");
    assert!(!world.path(file).exists());
    assert_eq!(world.git(&["status", "--short"]), "");

    // The next review continues it.
    let mut second = review(&world, r#"{"ok": true, "summary": "Good plan.""#);
    assert_eq!(second.ends(), Some(0), "{}", second.shown());
    assert!(second.shown().contains("continues "), "{}", second.shown());
    assert!(world.read("../opened").contains("perhaps"));
    assert_eq!(world.phase("t"), "codegen");
    let plan = world.git(&["hash-object", "tasks/t/planning/plan.json"]);
    assert_eq!(world.json(file)["of"]["plan"], plan.trim());
    assert_eq!(
        world.read(file),
        world.git(&["show", &format!("HEAD:{file}")])
    );
    let explained = world.orch_json(&["explain", "t"]);
    let artifacts = explained["explanations"][0]["artifacts"]
        .as_array()
        .expect("artifacts");
    let review_facts = artifacts
        .iter()
        .find(|facts| facts["artifact"] == "plan_review")
        .expect("a review");
    assert_eq!(review_facts["writers"][0], "Ann <ann@example.com>");

    // A phase without a verdict, a program and an agent.
    let mut none = review(&world, "{");
    assert_eq!(none.ends(), Some(3), "{}", none.shown());
    world
        .orch_by_program(&["review", "t"])
        .ends(2)
        .reports("orch reject t --reason WHY");
    world.patch("t", 1);
    world.orch(&["next", "t"]).succeeds();
    let mut command = world.orch_command(&["review", "t"]);
    command.env("ORCH_ACTOR", "agent:x");
    let mut agent = Terminal::start(command);
    assert_eq!(agent.ends(), Some(6), "{}", agent.shown());

    // A refusal sends it back, with its issue at the line.
    let refusal = r#"{"ok": false, "issues": [{"severity": "blocking", "file": "login.rs", "line": 1, "message": "No test."}]"#;
    let mut third = review(&world, refusal);
    assert_eq!(third.ends(), Some(0), "{}", third.shown());
    assert_eq!(world.phase("t"), "codegen");
    world
        .orch(&["show", "t"])
        .succeeds()
        .says("blocking: No test. (`login.rs:1`)");
    world.orch(&["audit", "--strict"]).succeeds();

    // A verdict that nobody has changed decides nothing unless the person says so, and is not kept.
    world.patch("t", 2);
    world.orch(&["next", "t"]).succeeds();
    let mut command = world.orch_command(&["review", "t"]);
    command.env("EDITOR", "true");
    let mut idle = Terminal::start(command);
    idle.shows("nothing was changed: give this verdict?");
    idle.types("n\n");
    assert_eq!(idle.ends(), Some(3), "{}", idle.shown());
    assert!(!world.path(".git/orch/review-t-code_review.json").exists());
    assert_eq!(world.phase("t"), "review");
    let mut command = world.orch_command(&["review", "t"]);
    command.env("EDITOR", "true");
    let mut meant = Terminal::start(command);
    meant.shows("nothing was changed: give this verdict?");
    meant.types("y\n");
    assert_eq!(meant.ends(), Some(0), "{}", meant.shown());
    assert_eq!(world.phase("t"), "test");

    // An approval in a phase of agents is taken back by going back to it, and can be given again.
    world.orch(&["undo", "t"]).succeeds();
    assert_eq!(world.phase("t"), "review");
    world.orch(&["approve", "t"]).succeeds();
    assert_eq!(world.phase("t"), "test");
    world.orch(&["audit", "--strict"]).succeeds();
}

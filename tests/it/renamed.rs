//! A workflow document that renames what records name: an artifact, or itself.

use crate::harness::World;
use serde_json::Value;

const DOCUMENT: &str = r#"# Flow

```toml orch
[workflow]
initial = "draft"
[artifact.text]
path = "text.md"
[artifact.review]
path = "review.json"
[artifact.review.facts]
ok = "has(data.ok) && data.ok"
[phase.draft]
produces = ["text"]
[phase.review]
needs = ["text"]
produces = ["review"]
[phase.published]
terminal = true
[[rule]]
id = "written"
from = "draft"
when = "text.ready"
to = "review"
because = "there is a text"
[[rule]]
id = "rewritten"
from = "review"
when = "text.changed && text.valid"
to = "draft"
because = "the text changed"
[[rule]]
id = "refused"
from = "review"
when = "review.ready && !review.ok"
to = "draft"
because = "the reader wants changes"
[[rule]]
id = "accepted"
from = "review"
when = "review.ready && review.ok"
to = "published"
because = "the reader is content"
```
"#;

/// The document after the artifact `text` was renamed, with these lines in its table and in `[workflow]`.
fn renamed(artifact: &str, workflow: &str) -> String {
    let text = DOCUMENT
        .replace("\"text\"]", "\"article\"]")
        .replace("text.ready", "article.ready");
    let text = text.replace(
        "text.changed && text.valid",
        "article.changed && article.valid",
    );
    let text = text.replace(
        "[artifact.text]",
        &format!("[artifact.article]\n{artifact}"),
    );
    text.replace("[workflow]", &format!("[workflow]\n{workflow}"))
}

fn document(world: &World, name: &str, text: &str) {
    world.write(&format!("system/workflows/{name}.md"), text);
    let root = format!("version = 1\n[[root]]\npath = \"tasks/*\"\nworkflow = \"{name}\"\n");
    world.write("orch.toml", root);
    world.commit("the workflow");
}

/// `reviewed` is in review, the text of `refused` is used up, and `ended` is done.
fn under_way() -> World {
    let world = World::ready();
    document(&world, "flow", DOCUMENT);
    for task in ["reviewed", "refused", "ended"] {
        world.orch(&["new", task]).succeeds();
        world.write(&format!("tasks/{task}/text.md"), "# A text\n");
        world.orch(&["next", task]).succeeds();
    }
    world.write("tasks/refused/review.json", r#"{"ok": false}"#);
    world.orch(&["next", "refused"]).succeeds();
    world.write("tasks/ended/review.json", r#"{"ok": true}"#);
    world.orch(&["next", "ended"]).succeeds();
    assert_eq!(world.phase("ended"), "published");
    world
}

fn log(world: &World, task: &str) -> String {
    world.read(&format!("tasks/{task}/transcript.jsonl"))
}

fn is_proven(world: &World) {
    let audit = world.orch_json(&["audit"]);
    for change in audit["changes"].as_array().expect("changes") {
        assert_eq!(change["standing"], "proven", "{change:#}");
    }
}

#[test]
fn under_an_unknown_name_nothing_moves_and_finished_tasks_are_done() {
    let world = under_way();
    let logs = ["reviewed", "refused"].map(|task| log(&world, task));
    document(&world, "flow", &renamed("", ""));
    world.write("tasks/reviewed/text.md", "# Another text\n");
    world.write("tasks/reviewed/review.json", r#"{"ok": true}"#);
    for (task, phase) in [("reviewed", "review"), ("refused", "draft")] {
        let told = world.orch_json(&["suggest", task]);
        let one = &told["suggestions"][0];
        assert_eq!(
            [&one["kind"], &one["currentPhase"]],
            ["error", phase],
            "{told:#}"
        );
        let found = one["diagnostics"].to_string();
        assert!(
            found.contains("artifact-unknown") && found.contains("[artifact.article]"),
            "{found}"
        );
        world.orch(&["next", task]).ends(2);
        world
            .orch(&["next", task, "--override", "in a hurry"])
            .reports("`text`");
    }
    world.orch(&["check"]).ends(1).says("artifact-unknown");
    assert_eq!(["reviewed", "refused"].map(|task| log(&world, task)), logs);
    assert_eq!(
        world.orch_json(&["suggest", "ended"])["suggestions"][0]["kind"],
        "done"
    );
    is_proven(&world);
    // What is gone for good is said to be.
    document(&world, "flow", &renamed("", "forgets = [\"text\"]"));
    world.orch(&["next", "refused"]).succeeds();
    assert_eq!(world.phase("refused"), "review");
}

#[test]
fn an_alias_of_an_artifact_keeps_what_is_used_up_and_what_was_judged() {
    let world = under_way();
    document(&world, "flow", &renamed("aliases = [\"text\"]", ""));
    world.orch(&["check"]).succeeds();
    // A refused text stays refused.
    world.orch(&["next", "refused"]).ends(3);
    // An edit during the review is noticed.
    world.write("tasks/reviewed/text.md", "# Another text\n");
    world.write("tasks/reviewed/review.json", r#"{"ok": true}"#);
    world.orch(&["next", "reviewed"]).succeeds();
    assert_eq!(world.phase("reviewed"), "draft");
    let state: Value = world.json("tasks/reviewed/state.json");
    let spent = &state["actors"]["draft"]["spent"];
    assert!(
        spent["article"].is_array() && spent["text"].is_null(),
        "{state:#}"
    );
    world.orch(&["next", "reviewed"]).succeeds();
    // A report may have been asked for under the old name.
    for (of, phase) in [
        ("0".repeat(40), "review"),
        (
            world.git(&["hash-object", "tasks/reviewed/text.md"]),
            "published",
        ),
    ] {
        let review = serde_json::json!({"ok": true, "of": {"text": of.trim()}, "note": of.trim()});
        world.write("tasks/reviewed/review.json", review.to_string());
        world.orch(&["next", "reviewed"]);
        assert_eq!(world.phase("reviewed"), phase);
    }
    is_proven(&world);
    world.orch(&["check"]).succeeds();
}

/// The rules with which the range begins know the new names by the aliases.
#[test]
fn a_range_that_renames_an_artifact_and_a_phase_is_proven() {
    let world = under_way();
    world.git(&["switch", "-q", "-c", "work"]);
    let text = renamed("aliases = [\"text\"]", "");
    let text = text.replace("[phase.review]", "[phase.reading]\naliases = [\"review\"]");
    let text = text
        .replace("\"review\"\nwhen", "\"reading\"\nwhen")
        .replace("to = \"review\"", "to = \"reading\"");
    document(&world, "flow", &text);
    world.write("tasks/refused/text.md", "# A better text\n");
    world
        .orch(&["next", "refused"])
        .succeeds()
        .says("draft -> reading");
    world.write(
        "tasks/refused/review.json",
        r#"{"ok": false, "note": "again"}"#,
    );
    world
        .orch(&["next", "refused"])
        .succeeds()
        .says("reading -> draft");
    world.write("tasks/refused/text.md", "# The best text\n");
    world
        .orch(&["next", "refused"])
        .succeeds()
        .says("draft -> reading");
    world.write(
        "tasks/refused/review.json",
        r#"{"ok": true, "note": "well"}"#,
    );
    world
        .orch(&["next", "refused"])
        .succeeds()
        .says("reading -> published");
    is_proven(&world);
    let ranged = world.orch_json(&["audit", "main..work"]);
    let changes = ranged["changes"].as_array().expect("changes");
    assert_eq!(changes.len(), 4, "{ranged:#}");
    for change in changes {
        assert_eq!(change["standing"], "proven", "{change:#}");
    }
    world.orch(&["check", "--range", "main..work"]).succeeds();
    // A rule that the range changes decides no step.
    world.git(&["switch", "-q", "-c", "lax"]);
    document(
        &world,
        "flow",
        &text.replace("review.ready && !review.ok", "review.ready && review.ok"),
    );
    world.write("tasks/reviewed/review.json", r#"{"ok": true}"#);
    world
        .orch(&["next", "reviewed"])
        .succeeds()
        .says("reading -> draft");
    let ranged = world.orch_json(&["audit", "work..lax"]);
    assert_eq!(
        ranged["changes"][0]["standing"], "unverifiable",
        "{ranged:#}"
    );
}

#[test]
fn an_alias_of_a_document_keeps_its_records() {
    let world = under_way();
    let begin = world.git(&["rev-parse", "HEAD"]);
    world.git(&["mv", "system/workflows/flow.md", "system/workflows/post.md"]);
    document(&world, "post", DOCUMENT);
    // Without an alias, open tasks stand still; a finished one is read by its own record.
    world
        .orch(&["next", "refused"])
        .ends(2)
        .reports("aliases = [\"flow\"]");
    let done = world.orch_json(&["suggest", "ended"]);
    let one = &done["suggestions"][0];
    assert_eq!(
        [&one["kind"], &one["currentPhase"]],
        ["done", "published"],
        "{done:#}"
    );
    assert_eq!(one["options"], serde_json::json!([]), "{done:#}");
    assert!(!world.orch(&["check"]).stdout.contains("ended"));
    assert!(
        !world
            .orch(&["status", "--all"])
            .stdout
            .contains("ended  (no phase)")
    );
    world
        .orch(&["reopen", "ended", "--reason", "it came back"])
        .ends(2)
        .reports("no longer exists");
    world.orch(&["archive", "ended"]).succeeds();
    world.orch(&["check", "--commit", "HEAD"]).succeeds();
    is_proven(&world);
    document(
        &world,
        "post",
        &DOCUMENT.replace("[workflow]", "[workflow]\naliases = [\"flow\"]"),
    );
    world.orch(&["workflow", "check"]).succeeds();
    world.orch(&["check"]).succeeds();
    world.orch(&["next", "refused"]).ends(3);
    world.write("tasks/refused/text.md", "# Another text\n");
    world.orch(&["next", "refused"]).succeeds();
    assert!(
        log(&world, "refused")
            .lines()
            .last()
            .expect("an event")
            .contains("\"workflow\":\"post@")
    );
    is_proven(&world);
    world
        .orch(&["check", "--range", &format!("{}..HEAD", begin.trim())])
        .succeeds();
}

#[test]
fn a_finished_task_is_done_although_its_document_has_errors() {
    let world = under_way();
    document(
        &world,
        "flow",
        &DOCUMENT.replace("\"text.ready\"", "\"text.raedy\""),
    );
    assert_eq!(
        world.orch_json(&["suggest", "ended"])["suggestions"][0]["kind"],
        "done"
    );
    world.orch(&["next", "reviewed"]).ends(2);
}

#[test]
fn names_that_clash_are_found() {
    let world = World::ready();
    let told = |name: &str, text: &str, what: &str| {
        document(&world, name, text);
        world.orch(&["workflow", "check", name]).ends(1).says(what);
    };
    told(
        "flow",
        &renamed("aliases = [\"review\"]", ""),
        "`review` is already the name of an artifact",
    );
    told(
        "flow",
        &renamed("aliases = [\"a\", \"a\"]", ""),
        "`a` is already the name of an artifact",
    );
    told(
        "flow",
        &renamed("", "aliases = [\"openspec\"]"),
        "`openspec` is the name of a workflow",
    );
    told(
        "flow",
        &renamed("", "forgets = [\"article\"]"),
        "cannot be forgotten",
    );
    document(&world, "flow", &renamed("", "aliases = [\"old\"]"));
    told(
        "other",
        &renamed("", "aliases = [\"old\"]"),
        "alias of workflow `flow` too",
    );
}

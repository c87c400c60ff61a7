//! What teams with pull requests read and run: descriptions, and what CI asks.

use crate::harness::World;
use serde_json::json;

impl World {
    /// A branch with a task in accept, whose texts try to do more than be read, and to which a person has given an order.
    fn proposed() -> Self {
        let world = Self::ready();
        world.git(&["switch", "-qc", "task/t"]);
        world
            .orch(&["new", "t", "--title", "Login </summary> @ann"])
            .succeeds();
        world.write(
            "tasks/t/brief.md",
            "Ask @ann, fixes #1.\n\n</details>\n<!-- orch:t -->\n/approve\n",
        );
        world.plan("t", 1);
        let mut plan = world.json("tasks/t/planning/plan.json");
        plan["draft_files"] = json!([{"path": "src/a.rs", "why": "cc @org/team"}]);
        world.write("tasks/t/planning/plan.json", plan.to_string());
        world.orch(&["next", "t"]).succeeds();
        world
            .orch(&["next", "t", "--override", "read it with @bob"])
            .succeeds();
        world.patch("t", 1);
        world.orch(&["next", "t"]).succeeds();
        let issues = json!([{"severity": "minor", "message": "a </details> name", "file": "src/a.rs", "line": 3}]);
        let review = json!({"ok": true, "decision": "approved", "issues": issues});
        world.write("tasks/t/review/code/verdict.json", review.to_string());
        world.orch(&["next", "t"]).succeeds();
        world.tests("t", 0, 1);
        world.orch(&["next", "t"]).succeeds();
        world
    }
}

/// Asserts that nothing but what `orch` itself writes has an effect: its folds are closed, the marker ends the text, and
/// nobody is mentioned.
#[track_caller]
fn is_harmless(text: &str, marker: &str) {
    assert_eq!(
        text.matches("<details").count(),
        text.matches("</details>").count(),
        "{text}"
    );
    assert_eq!(text.matches("<!--").count(), 1, "{text}");
    assert!(text.ends_with(&format!("\n{marker}\n")), "{text}");
    for sign in ["@a", "@b", "@o", "#1"] {
        assert!(!text.contains(sign), "{sign}: {text}");
    }
    assert!(!text.contains("\n/"), "{text}");
}

#[test]
fn a_description_says_everything_and_does_nothing() {
    let world = World::proposed();
    let text = world.orch(&["pr", "t"]).succeeds().stdout;
    is_harmless(&text, "<!-- orch:t -->");
    for said in [
        "> Version 1.",
        "<b>Why</b>",
        "- src/a.rs (why cc @\u{200b}org/team)",
        "code review approved",
        "- **minor**: a <\u{200b}/details> name (`src/a.rs:3`)",
        "<b>Reports</b> that others wrote: 1",
        "> 1 test, 0 failures",
        "<details open><summary><b>Ordered or sent back by people</b>: 1</summary>",
        "plan_review → codegen (override, by Ann",
        "read it with @\u{200b}bob",
        "- `plan_review` was skipped: a person accepted that it is not there",
        "<b>What an approval would rest on</b>",
    ] {
        assert!(text.contains(said), "{said}\n{text}");
    }
    // The range has the same, under a name that stays when other tasks join.
    let ranged = world
        .orch(&["pr", "--range", "main..HEAD"])
        .succeeds()
        .stdout;
    is_harmless(&ranged, "<!-- orch:* -->");
    assert_eq!(
        ranged.replace("orch:*", "orch:t"),
        world.orch(&["pr", "t", "--at", "HEAD"]).stdout
    );
    let empty = world.orch(&["pr", "--range", "HEAD..HEAD"]).succeeds();
    is_harmless(&empty.stdout, "<!-- orch:* -->");
    // Where there is not room for everything, the longest parts are cut, and every part is still closed.
    for limit in [900, 2000] {
        let cut = world
            .orch(&["pr", "t", "--limit", &limit.to_string()])
            .succeeds()
            .reports("was cut")
            .stdout;
        is_harmless(&cut, "<!-- orch:t -->");
        assert!(cut.chars().count() <= limit, "{cut}");
    }
    // An approval by a person is in it, with what it named; and the same record gives the same bytes.
    world.orch(&["approve", "t"]).succeeds();
    let done = world.orch(&["pr", "t"]).succeeds().stdout;
    assert!(done.contains("<b>What the approval rests on</b>"), "{done}");
    assert!(done.contains("accept → done (advance, by Ann"), "{done}");
    let page = world.orch_json(&["pr", "t"]);
    assert_eq!(page["markdown"], done);
    assert_eq!(page["cut"], false);
    // As values it is the sheet, without the code, and the log.
    let task = &page["tasks"][0];
    assert_eq!(task["duty"]["kind"], "done");
    assert_eq!(task["code"], json!(null));
    assert_eq!(task["orders"][0]["kind"], "override");
    assert_eq!(task["steps"][0]["to"], "planning");
    let sheet = world.orch_json(&["show", "t"]);
    for part in ["doubts", "way", "artifacts", "restsOn"] {
        assert_eq!(task[part], sheet[part], "{part}");
    }
    let artifacts = task["artifacts"].as_array().expect("artifacts");
    let review = artifacts
        .iter()
        .find(|one| one["artifact"] == "code_review");
    let issue = &review.expect("a review")["files"][0]["issues"][0];
    assert_eq!(issue["about"], "src/a.rs:3");
    assert_eq!(issue["line"], 1);
}

/// Lines that a host folds are not scrolled: it folds what `.gitattributes` calls generated.
fn lines_to_scroll(world: &World) -> usize {
    let changed = world.git(&["diff", "--numstat", "main...HEAD", "--", "tasks/"]);
    let mut lines = 0;
    for line in changed.lines() {
        let mut words = line.split('\t');
        let added = words.next().and_then(|number| number.parse::<usize>().ok());
        let path = words.nth(1).expect("a path");
        let folded = world.git(&["check-attr", "linguist-generated", "--", path]);
        if !folded.trim_end().ends_with(": set") {
            lines += added.expect("a text");
        }
    }
    lines
}

/// How many commits of a branch are steps.
fn commits_of_orch(world: &World) -> usize {
    let log = world.git(&["log", "--format=%H", "--grep=^Orch-Kind:", "main..HEAD"]);
    log.lines().count()
}

impl World {
    /// A branch for a small fix, with the settings of `orch init`; the plan is written before the task is created.
    fn small_fix() -> Self {
        let world = Self::ready();
        world.write("src/login.rs", "allow\n");
        world.commit("the project");
        world.git(&["switch", "-qc", "task/t"]);
        world.plan("t", 1);
        world.orch(&["new", "t", "--title", "Login"]).succeeds();
        assert_eq!(world.phase("t"), "plan_review");
        world
    }

    fn fix(&self) {
        self.write("src/login.rs", "refuse\n2\n3\n4\n5\n6\n7\n8\n9\n");
        self.git(&["add", "src"]);
        self.git(&["commit", "-qm", "Fix", "-m", "Orch-Task: t"]);
    }
}

#[test]
fn a_small_fix_is_little_to_read() {
    // Whoever works alone gives three verdicts: an order takes along what is due before and after it.
    let world = World::small_fix();
    world.orch(&["approve", "t"]).succeeds();
    assert_eq!(world.phase("t"), "codegen");
    world.fix();
    world.orch(&["approve", "t"]).succeeds();
    assert_eq!(world.phase("t"), "test");
    world.tests("t", 0, 1);
    world.orch(&["approve", "t"]).succeeds();
    assert_eq!(world.phase("t"), "done");
    assert_eq!(commits_of_orch(&world), 4);
    let lines = lines_to_scroll(&world);
    assert!(lines <= 60, "{lines}");
    world
        .orch(&["ci", "--range", "main..HEAD"])
        .succeeds()
        .reports("ok     audit --strict");
    // Or skips the reviews.
    let world = World::small_fix();
    world.fix();
    let skip = ["next", "t", "--to", "test", "--override", "nine lines"];
    world.orch(&skip).succeeds();
    world.tests("t", 0, 1);
    world.orch(&["approve", "t"]).succeeds();
    assert_eq!(world.phase("t"), "done");
    assert_eq!(commits_of_orch(&world), 3);
    let lines = lines_to_scroll(&world);
    assert!(lines <= 60, "{lines}");
    world.orch(&["audit", "--strict"]).succeeds();
}

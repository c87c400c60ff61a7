//! What a person sees at a terminal of 80 columns and 24 lines.

use crate::harness::{World, started};
use crate::terminal::Terminal;

/// What a command shows at a terminal, line by line.
fn at_terminal(world: &World, arguments: &[&str]) -> Vec<String> {
    let mut command = world.orch_command(arguments);
    command
        .env("TERM", "xterm")
        .env("NO_COLOR", "1")
        .env("ORCH_PAGER", "cat");
    let (code, shown) = Terminal::session(command, &[]);
    assert_eq!(code, Some(0), "{shown}");
    // On a slow machine the answer overwrites a line that says how far the work is.
    let left = |line: &str| {
        line.trim_end()
            .rsplit('\r')
            .next()
            .unwrap_or_default()
            .replace("\u{1b}[2K", "")
    };
    let lines: Vec<String> = shown.lines().map(left).collect();
    assert!(
        lines.iter().all(|line| line.chars().count() <= 80),
        "{shown}"
    );
    lines
}

fn crowded() -> World {
    let world = World::ready();
    for number in 1..=30 {
        world
            .orch(&[
                "new",
                &format!("task-{number:02}"),
                "--title",
                "A title of some length",
            ])
            .succeeds();
    }
    world.write("tasks/task-27/planning/plan.json", "{");
    world.plan("task-28", 1);
    world.orch(&["next", "task-28"]).succeeds();
    world.remove("tasks/task-28/planning/plan.json");
    world
}

#[test]
fn a_crowded_status_fits_and_begins_with_the_urgent() {
    let world = crowded();
    let shown = at_terminal(&world, &["status"]);
    assert!(shown.len() < 24, "{shown:?}");
    assert_eq!(shown[0], "30 tasks: 29 planning, 1 plan_review");
    assert_eq!(shown[2], "waiting for a person: 1");
    assert!(
        shown[3].starts_with("  task-28  plan_review") && shown[3].contains("repair"),
        "{shown:?}"
    );
    assert_eq!(shown[5], "waiting for an agent: 29");
    assert!(
        shown[6].contains("task-27") && shown[6].contains("fix planning/plan.json"),
        "{shown:?}"
    );
    assert!(
        shown[6].contains(" ago") || shown[6].contains("just now"),
        "{shown:?}"
    );
    let listed = shown
        .iter()
        .filter(|line| line.starts_with("  task-"))
        .count();
    assert_eq!(
        shown.last(),
        Some(&format!("{} more: orch status --all", 30 - listed))
    );
    assert_eq!(at_terminal(&world, &["status", "--all"]).len(), 35);
}

#[test]
fn a_status_is_filtered_and_hides_the_finished() {
    let world = crowded();
    world.walk_to("task-01", "done");
    let names = |arguments: &[&str]| -> Vec<String> {
        let shown = world
            .orch(&[&["status"], arguments].concat())
            .succeeds()
            .stdout;
        let words = shown
            .lines()
            .filter_map(|line| line.strip_prefix("  ")?.split(' ').next());
        words.map(str::to_owned).collect()
    };
    assert_eq!(names(&["--owner", "human"]), ["task-28"]);
    assert_eq!(names(&["--phase", "plan_review"]), ["task-28"]);
    assert_eq!(names(&["--phase", "done"]), ["task-01"]);
    assert_eq!(names(&["--phase", "done", "--owner", "agent"]), [""; 0]);
    assert_eq!(names(&["--workflow", "global-state-machine"]).len(), 29);
    assert_eq!(names(&["--all"]).len(), 30);
    world
        .orch(&["status"])
        .succeeds()
        .says("1 finished: orch status --all");
    assert_eq!(
        world.orch_json(&["status"])["tasks"]
            .as_array()
            .map(Vec::len),
        Some(30)
    );
    world
        .orch(&["status", "--phase", "plannin"])
        .ends(2)
        .reports("did you mean `planning`?");
    world
        .orch(&["status", "--workflow", "x"])
        .ends(2)
        .reports("no task has a workflow `x`");
    world.orch(&["status", "--owner", "nobody"]).ends(2);
}

#[test]
fn a_log_never_cuts_an_id() {
    let world = World::ready();
    let long = "a-task-whose-name-is-longer-than-most/and-has-two-parts";
    for task in [long, "b"] {
        world.orch(&["new", task]).succeeds();
        world.plan(task, 1);
        world.orch(&["next", task]).succeeds();
    }
    let shown = at_terminal(&world, &["log"]).join("\n");
    for commit in world
        .git(&["log", "--format=%h", "--abbrev=10", "-4"])
        .lines()
    {
        assert!(shown.contains(commit), "{commit}: {shown}");
    }
    assert_eq!(shown.matches(long).count(), 2, "{shown}");
    assert!(!shown.contains('…'), "{shown}");
}

#[test]
fn an_explanation_begins_with_the_nearest_rule() {
    let world = started("planning");
    world.plan("t", 1);
    world.orch(&["next", "t"]).succeeds();
    let shown = at_terminal(&world, &["explain", "t"]);
    let at = |text: &str| {
        shown
            .iter()
            .position(|line| line.contains(text))
            .expect(text)
    };
    assert!(at("nearest rule of plan_review") < at("plan-accepted: to codegen"));
    assert!(at("plan-accepted: to codegen") < at("other rules of plan_review"));
    assert!(
        !shown
            .iter()
            .any(|line| line.trim_start().starts_with("error")),
        "{shown:?}"
    );
    let explained = &world.orch_json(&["explain", "t"])["explanations"][0];
    assert_eq!(explained["nearest"], "plan-accepted");
    world.write("tasks/t/review/plan-review.json", "{");
    assert_eq!(
        world.orch_json(&["explain", "t"])["explanations"][0]["nearest"],
        "plan-accepted"
    );
    world.plan_review("t", false, 1);
    assert_eq!(
        world.orch_json(&["explain", "t"])["explanations"][0]["nearest"],
        "plan-refused"
    );
}

/// In each phase the way forward is the nearest, unless a file that may speak for the way back cannot be read.
#[test]
fn the_nearest_rule_leads_forward() {
    let world = started("planning");
    let nearest = || world.orch_json(&["explain", "t"])["explanations"][0]["nearest"].clone();
    let way = [
        ("planning", "plan-ready"),
        ("plan_review", "plan-accepted"),
        ("codegen", "code-ready"),
        ("review", "code-accepted"),
        ("test", "tests-passed"),
        ("accept", "accepted"),
    ];
    let walk = |from: &str| {
        let ways = way.iter().skip_while(|(phase, _)| *phase != from);
        for ((phase, rule), (next, _)) in ways.clone().zip(ways.skip(1).chain([&("", "")])) {
            assert_eq!(nearest(), *rule, "{phase}");
            if !next.is_empty() {
                world.walk_to_from("t", phase, next);
            }
        }
    };
    walk("planning");
    world
        .orch(&["reject", "t", "--reason", "no test for blanks"])
        .succeeds();
    let blocked = "tasks/t/code/blocked.json";
    world.write(blocked, "{");
    assert_eq!(nearest(), "scope-mismatch");
    world.remove(blocked);
    assert_eq!(nearest(), "code-ready");
    world.patch("t", 2);
    world.orch(&["next", "t"]).succeeds();
    world.code_review("t", true, 2);
    world.orch(&["next", "t"]).succeeds();
    world.tests("t", 0, 2);
    world.orch(&["next", "t"]).succeeds();
    assert_eq!(nearest(), "accepted");
    world
        .orch(&["reject", "t", "--to", "revert", "--reason", "undo it"])
        .succeeds();
    assert_eq!(nearest(), "reverted");
}

/// Two phases whose rules send a task to and fro on the same file.
const CIRCLE: &str = r#"# Circle

```toml orch
[workflow]
title = "Circle"
initial = "here"

[artifact.note]
path = "note.md"

[phase.here]
produces = ["note"]

[phase.there]
needs = ["note"]

[phase.end]
terminal = true

[[rule]]
id = "go"
from = "here"
when = "note.valid"
to = "there"
because = "there is a note"

[[rule]]
id = "return"
from = "there"
when = "note.valid && note.data.words < 3"
to = "here"
because = "the note is short"

[[rule]]
id = "finish"
from = "there"
when = "note.valid"
to = "end"
because = "the note ends"
```
"#;

#[test]
fn rules_that_go_round_are_a_livelock_on_every_face() {
    let world = World::ready();
    world.write("system/workflows/circle.md", CIRCLE);
    world.write(
        "orch.toml",
        "[[root]]\npath = \"tasks/*\"\nworkflow = \"circle\"\n",
    );
    world.commit("a circle");
    world.orch(&["new", "t"]).succeeds();
    world.write("tasks/t/note.md", "# Note\n");
    world.commit("a note");
    let before = world.git(&["rev-parse", "HEAD"]);
    let kinds = |arguments: &[&str], list: &str| world.orch_json(arguments)[list][0].clone();
    for at in [&[][..], &["--at", "HEAD"]] {
        let suggested = kinds(&[&["suggest", "t"], at].concat(), "suggestions");
        assert_eq!(
            (&suggested["kind"], &suggested["do"]),
            (&"livelock".into(), &"repair".into())
        );
        assert_eq!(suggested["owner"], "human");
        assert!(
            !suggested["options"]
                .to_string()
                .contains(r#"["orch","next","t"]"#),
            "{suggested}"
        );
        assert_eq!(
            kinds(&[&["status"], at].concat(), "tasks")["kind"],
            "livelock"
        );
        let explained = kinds(&[&["explain", "t"], at].concat(), "explanations");
        assert_eq!(explained["suggestion"]["kind"], "livelock");
    }
    world.orch(&["status"]).succeeds().says("livelock: repair");
    world.orch(&["check"]).ends(1).says("livelock");
    world.orch(&["watch", "--once"]).says("livelock");
    let refused = world.orch(&["next", "t"]);
    assert!(
        format!("{}{}", refused.stdout, refused.stderr).contains("here -> there -> here"),
        "{refused:?}"
    );
    world
        .orch(&["next", "t", "--to", "there"])
        .reports("go round in circles on the same files");
    world.orch(&["run", "t", "--", "true"]).ends(1);
    assert_eq!(world.git(&["rev-parse", "HEAD"]), before);
    // Another file ends the circle.
    world.write("tasks/t/note.md", "# Note\n\nThis is the end.\n");
    assert_eq!(
        kinds(&["suggest", "t"], "suggestions")["kind"],
        "transition"
    );
}

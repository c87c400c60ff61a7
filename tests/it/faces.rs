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
    assert_eq!(shown[5], "to be done by you: 29");
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
    world.write("tasks/t/review/plan/verdict.json", "{");
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

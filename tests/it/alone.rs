//! One person alone takes a bug from new to done: what that costs in commands and commits.

use crate::harness::World;
use serde_json::json;

/// A repository with a bug, and a command that finds it.
fn with_a_bug() -> World {
    let world = World::ready();
    let settings = world.read("orch.toml");
    let table = "[verify.tests]\ncommand = ['sh', 'test.sh']\n";
    world.write("orch.toml", format!("{settings}\n{table}"));
    world.write("test.sh", "test \"$(cat login)\" = refuse\n");
    world.write("login", "allow\n");
    world.commit("a project");
    world
}

/// The subjects of the commits that orch has made, oldest first.
fn own_commits(world: &World) -> Vec<String> {
    let log = world.git(&["log", "--reverse", "--format=%s"]);
    let own = log.lines().filter(|line| line.starts_with("orch("));
    own.map(str::to_owned).collect()
}

const PLAN: &str = r#"{"title": "Login", "what": "Refuse an empty password."}"#;

#[test]
fn one_bug_alone_costs_at_most_eight_commands_and_three_commits() {
    let world = with_a_bug();
    let mut commands = 0;
    let mut typed = |line: &str| {
        commands += 1;
        let words: Vec<&str> = line.split(' ').collect();
        match words.as_slice() {
            ["orch", arguments @ ..] => world.orch(arguments),
            ["git", arguments @ ..] => world.git_ended(arguments),
            _ => panic!("{line}"),
        }
    };
    typed("orch new fix-login --title Login").succeeds();
    world.write("tasks/fix-login/planning/plan.json", PLAN);
    typed("orch approve")
        .succeeds()
        .says("planning -> plan_review")
        .says("plan_review -> codegen");

    // Nothing is approved while the code does not pass.
    world.write("login", "refuze\n");
    typed("git commit -qam Refuse --trailer Orch-Task=fix-login").succeeds();
    typed("orch approve --to done")
        .ends(1)
        .says("tests failed")
        .reports("nothing was approved");
    assert_eq!(world.phase("fix-login"), "codegen");
    assert!(!world.lives("tasks/fix-login/review/code/verdict.json"));

    world.write("login", "refuse\n");
    typed("git commit -qam Right --trailer Orch-Task=fix-login").succeeds();
    let done = typed("orch approve --to done").succeeds();
    let done = done
        .says("codegen -> review")
        .says("test -> accept")
        .says("accept -> done");
    assert!(!done.stdout.contains("undo:"), "{}", done.stdout);
    assert!(commands <= 8, "{commands}");
    assert_eq!(
        own_commits(&world),
        [
            "orch(fix-login): new -> planning",
            "orch(fix-login): planning -> codegen",
            "orch(fix-login): codegen -> done",
        ]
    );
    world.orch(&["audit", "--strict"]).succeeds();
    let entries = world.orch_json(&["log", "fix-login"])["entries"].clone();
    let entries = entries.as_array().expect("entries");
    let ran = entries.iter().find(|entry| entry["kind"] == "verify");
    assert_eq!(ran.expect("a verification")["actor"]["kind"], "orch");
    assert_eq!(world.dirty(), "");
}

#[test]
fn the_way_to_a_phase_is_approved_as_a_whole_or_not_at_all() {
    let world = with_a_bug();
    world.orch(&["new", "t"]).succeeds();
    let refused = |arguments: &[&str], why: &str| {
        world.orch(arguments).ends(3).says(why);
        assert_eq!(own_commits(&world).len(), 1);
    };
    refused(&["approve", "t"], "planning/plan.json is missing");
    refused(&["approve", "t", "--to", "codegen"], "planning/plan.json");
    world.write("tasks/t/planning/plan.json", PLAN);
    // The verdict on the plan would be given, but no code is there.
    refused(
        &["approve", "t", "--to", "test"],
        "the way to `test` is not open: in `codegen`",
    );
    assert!(!world.lives("tasks/t/review/plan/verdict.json"));
    refused(&["approve", "t", "--to", "planning"], "not a later phase");
    world
        .orch(&["approve", "t", "--to", "nowhere"])
        .ends(2)
        .reports("has no phase `nowhere`");
    world
        .orch(&["approve", "t", "--to", "codegen", "--dry-run"])
        .succeeds()
        .says("plan_review -> codegen");
    assert_eq!(own_commits(&world).len(), 1);
    world.orch(&["approve", "t", "--to", "codegen"]).succeeds();
    assert_eq!(world.phase("t"), "codegen");
    // An agent approves nothing, however far.
    world
        .orch_by_agent(&["approve", "t", "--to", "done"])
        .ends(6);
    // Before any test runs, it is asked whether the way is open, and who asks.
    world
        .orch(&["approve", "t", "--to", "done"])
        .ends(3)
        .says("the way to `test` is not open: in `codegen`");
    world.write("login", "refuse\n");
    world.git(&["commit", "-qam", "Refuse", "--trailer", "Orch-Task=t"]);
    world.orch(&["trust"]).succeeds();
    world
        .orch_by_program(&["approve", "t", "--to", "done"])
        .ends(6);
    world
        .orch(&["approve", "t", "--to", "done", "--dry-run"])
        .succeeds()
        .says("codegen -> review")
        .reports("then it would run tests");
    // A verdict that sends the task back is not overruled on the way, and can be where it was given.
    world.orch(&["next", "t"]).succeeds();
    let code = world.orch_json(&["explain", "t"])["explanations"][0]["artifacts"]
        .as_array()
        .and_then(|all| all.iter().find(|one| one["artifact"] == "patch").cloned())
        .expect("the code")["digest"]
        .clone();
    let refusal = json!({
        "ok": false,
        "issues": [{"severity": "blocking", "message": "No test."}],
        "of": {"patch": code},
    });
    world.write("tasks/t/review/code/verdict.json", refusal.to_string());
    world
        .orch(&["approve", "t", "--to", "done"])
        .ends(3)
        .says("the rules send the task back from `review` to `codegen`");
    assert_eq!(world.phase("t"), "review");
}

//! A record that is lost or broken: named, never reset, brought back on order.

use crate::harness::{Ended, World, started};

/// How a record breaks, given the paths of the state and the log.
type Wreck = fn(&World, &str, &str);

#[test]
fn a_recovered_state_holds_its_phase_under_the_key_of_its_workflow() {
    let wrecks: [(&str, Wreck); 5] = [
        ("the state is gone", |world, state, _| world.remove(state)),
        ("the state is empty", |world, state, _| {
            world.write(state, "")
        }),
        ("the log is gone", |world, _, log| world.remove(log)),
        ("both are broken", |world, state, log| {
            world.write(state, "{");
            world.write(log, "not json\n");
        }),
        (
            "the log is gone and the state broken",
            |world, state, log| {
                world.write(state, "{");
                world.remove(log);
            },
        ),
    ];
    let world = World::ready();
    crate::workflow_new::make(&world, "made", "issue-triage", "priority").succeeds();
    world.commit("A workflow");
    for workflow in ["skill-tuning", "ccw-loop", "made"] {
        world
            .orch(&["new", workflow, "--workflow", workflow])
            .succeeds();
        let state = format!("tasks/{workflow}/state.json");
        let whole = world.read(&state);
        let before = world.phase_suggested(workflow);
        assert!(world.json(&state)["status"].is_string(), "{whole}");
        for (what, wreck) in &wrecks {
            wreck(
                &world,
                &state,
                &format!("tasks/{workflow}/transcript.jsonl"),
            );
            world.orch(&["recover", workflow]).succeeds();
            assert_eq!(world.read(&state), whole, "{workflow}: {what}");
            assert_eq!(
                world.phase_suggested(workflow),
                before,
                "{workflow}: {what}"
            );
        }
    }
    world.orch(&["audit"]).succeeds();
}

/// A hint works in the directory where the command was typed, even if the index lacks the task.
#[test]
fn a_hint_works_where_it_is_typed() {
    let world = started("plan_review");
    world.shell("mkdir attic; git mv tasks/t attic/t");
    let typed = |arguments: &[&str]| {
        let mut command = world.orch_command(arguments);
        world.end(
            command
                .current_dir(world.path("tasks"))
                .output()
                .expect("orch runs"),
        )
    };
    let lost = typed(&["suggest", "t"])
        .ends(2)
        .reports("git restore --source=HEAD -- t");
    world.shell(&format!(
        "cd tasks; {}",
        hint_of(&lost).split_once(": ").expect("a command").1
    ));
    typed(&["suggest", "t"]).succeeds();
    world.remove("tasks/t/planning/plan.json");
    typed(&["suggest", "t"])
        .succeeds()
        .says(" -- t/planning/plan.json");
    let answer = world.orch_json(&["-C", "tasks", "suggest", "t"]);
    assert!(
        answer
            .to_string()
            .contains("\"tasks/t/planning/plan.json\""),
        "{answer:#}"
    );
    world.shell("git restore --source=HEAD --staged --worktree -- tasks/t");
    world.git(&["rm", "-q", "tasks/t/state.json", "tasks/t/transcript.jsonl"]);
    world.git(&["commit", "--no-verify", "-m", "remove the record"]);
    typed(&["explain", "t"])
        .ends(1)
        .says("-- t/state.json t/transcript.jsonl && git commit");
}

#[test]
fn a_directory_in_the_place_of_a_state_makes_way() {
    let world = started("plan_review");
    world.plan("d", 1);
    for task in ["d", "t"] {
        world.write(&format!("tasks/{task}/kept"), "");
        world.shell(&format!(
            "rm -f tasks/{task}/state.json; mkdir tasks/{task}/state.json"
        ));
        world.write(&format!("tasks/{task}/state.json/mine"), "mine");
    }
    let refused = world.orch(&["new", "d"]).ends(1);
    world.shell(
        &hint_of(&refused)
            .split_once(": ")
            .expect("commands")
            .1
            .replace("; then:", ";"),
    );
    assert_eq!(world.phase("d"), "plan_review");
    world.orch(&["recover", "t"]).succeeds();
    assert_eq!(world.phase("t"), "plan_review");
    for task in ["d", "t"] {
        assert_eq!(
            world.read(&format!("tasks/{task}/state.json.broken/mine")),
            "mine"
        );
    }
}

/// The hint of an answer.
fn hint_of(ended: &Ended) -> String {
    let hint = ended
        .stderr
        .lines()
        .find_map(|line| line.strip_prefix("hint: "));
    hint.expect("a hint").to_owned()
}

#[test]
fn a_task_whose_record_was_removed_with_its_files_or_with_its_adoption_is_no_error() {
    let world = World::ready();
    world.plan("t", 1);
    world.commit("a plan");
    world.orch(&["new", "t"]).succeeds();
    world.git(&["revert", "--no-edit", "HEAD"]);
    world.orch(&["check"]).succeeds();
    world.orch(&["new", "t"]).succeeds();
    world.git(&["rm", "-rq", "tasks/t"]);
    world.git(&["commit", "-q", "-m", "removed"]);
    world.plan("t", 2);
    world.commit("another plan");
    world.orch(&["check"]).succeeds();
    world.orch(&["new", "t"]).succeeds();
    // What people acknowledged is no error either.
    world.plan_review("t", true, 1);
    world.orch(&["next", "t"]).succeeds();
    world.git(&[
        "rm",
        "-q",
        "--",
        "tasks/t/state.json",
        "tasks/t/transcript.jsonl",
    ]);
    world.git(&["commit", "-q", "-m", "by mistake"]);
    world.orch(&["check"]).ends(1);
    let commit = world.git(&["rev-parse", "HEAD"]);
    let entry = format!(
        "[[acknowledged]]\nforged = \"{}\"\ntask = \"t\"\nreason = \"I know.\"\n",
        commit.trim()
    );
    world.write("orch.toml", format!("{}\n{entry}", world.read("orch.toml")));
    world.orch(&["check"]).succeeds();
    world.orch(&["new", "t"]).succeeds();
}

/// A clone without the directories of earlier commits cannot tell whether one of them removed a record.
#[test]
fn an_untracked_task_is_judged_in_a_treeless_clone() {
    let world = World::ready();
    world.plan("t", 1);
    world.commit("a plan");
    world.write("src/a.rs", "");
    world.commit("code");
    world.git(&["config", "uploadpack.allowFilter", "true"]);
    let origin = format!("file://{}", world.root().display());
    world.git(&["clone", "-q", "--filter=tree:0", &origin, "../treeless"]);
    world.git(&["-C", "../treeless", "remote", "remove", "origin"]);
    world.orch(&["-C", "../treeless", "status"]).succeeds();
    world.orch(&["-C", "../treeless", "check"]).succeeds();
    world.orch(&["-C", "../treeless", "new", "t"]).succeeds();
}

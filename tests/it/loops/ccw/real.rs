//! The development loop with the real binary and real processes. The executor is a script that says what
//! the pure play of the same loop says, turn by turn.

use super::super::simulator::Reply;
use super::{MACHINE, honest, plain};
use crate::harness::World;
use orch_core::decide::Mode;
use serde_json::Value;
use std::fs;

/// Plays one turn after the other: writes its files, does what else it does, and prints its result.
const EXECUTOR: &str = r#"
cat > /dev/null
turn=$(($(cat turn 2> /dev/null || echo 0) + 1))
echo $turn > turn
[ "$(cat "play/$turn/action")" = "$ORCH_ACTION" ] || exit 9
mkdir -p tasks/t/progress
cp -r "play/$turn/files/." tasks/t/
[ ! -f "play/$turn/also" ] || . "play/$turn/also"
cat "play/$turn/output"
"#;

/// A task whose executor says what the pure play says; the actions of that play.
fn loop_in(world: &World) -> Vec<String> {
    let mut turns = Vec::new();
    let mut task = MACHINE.task();
    task.run(Mode::Auto, &mut |job| {
        let reply = MACHINE.reply(job, &honest(job));
        turns.push((job.action.to_string(), reply.clone()));
        reply
    });
    for (turn, (action, reply)) in turns.iter().enumerate() {
        let Reply::Printed(output, files) = reply else {
            panic!("{action} printed nothing")
        };
        let turn = turn + 1;
        world.write(&format!("play/{turn}/action"), action);
        world.write(&format!("play/{turn}/output"), output);
        fs::create_dir_all(world.path(&format!("play/{turn}/files"))).expect("a directory");
        for (path, text) in files {
            world.write(
                &format!("play/{turn}/files/{path}"),
                text.clone().unwrap_or_default(),
            );
        }
    }
    world.write(
        "orch.toml",
        "[[root]]\npath = \"tasks/*\"\nworkflow = \"ccw-loop\"\n[executor.default]\ncommand = [\"sh\", \"executor.sh\"]\n",
    );
    world.write("executor.sh", EXECUTOR);
    world.orch(&["new", "t"]).succeeds();
    turns.into_iter().map(|(action, _)| action).collect()
}

fn state(world: &World) -> Value {
    world.json("tasks/t/state.json")
}

/// The actions whose results were recorded, in their order.
fn recorded(world: &World) -> Vec<String> {
    let text = world.read("tasks/t/transcript.jsonl");
    let lines = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let runs = lines.filter(|line| line["kind"] == "run");
    runs.map(|line| line["action"].as_str().expect("an action").to_owned())
        .collect()
}

#[track_caller]
fn nothing_is_left(world: &World) {
    let left = crate::run::processes_in(&world.root());
    assert!(left.is_empty(), "left running: {left:?}");
}

#[test]
fn processes_do_what_the_pure_play_does() {
    let world = World::new();
    let played = loop_in(&world);
    let pages = "echo '# Progress' >> tasks/t/progress/develop.md\necho '{}' >> tasks/t/progress/changes.log\n";
    world.write("play/2/also", pages);
    world.orch(&["run", "t", "--auto"]).succeeds();
    assert_eq!(recorded(&world), played);
    assert_eq!(
        (
            &state(&world)["status"],
            &state(&world)["current_iteration"]
        ),
        (&"completed".into(), &7.into())
    );
    // The pages for people and the summary are committed, too.
    let committed = world.git(&["ls-files", "tasks/t"]);
    for path in [
        "summary.md",
        "progress/develop.md",
        "progress/changes.log",
        "progress/develop.json",
    ] {
        assert!(
            committed
                .lines()
                .any(|line| line == format!("tasks/t/{path}")),
            "{path}: {committed}"
        );
    }
    world
        .orch(&["status", "--all"])
        .says("3 of 3 tasks, 100 %, validated");
    world.orch(&["audit"]).succeeds();
    nothing_is_left(&world);
}

#[test]
fn l7_a_pause_while_an_action_runs_is_not_lost() {
    let world = World::new();
    let played = loop_in(&world);
    world.write(
        "play/2/also",
        format!("'{}' pause t > /dev/null\n", env!("CARGO_BIN_EXE_orch")),
    );
    world.orch(&["run", "t", "--auto"]);
    assert_eq!(
        (recorded(&world), &state(&world)["status"]),
        (played[..2].to_vec(), &"paused".into())
    );
    assert_eq!(
        state(&world)["skill_state"]["develop"]["tasks"][0]["status"],
        "completed"
    );
    nothing_is_left(&world);
    world.orch(&["resume", "t"]);
    world.orch(&["run", "t", "--auto"]).succeeds();
    assert_eq!(
        (recorded(&world), &state(&world)["status"]),
        (played, &"completed".into())
    );
}

#[test]
fn l8_a_killed_runner_is_no_running_loop() {
    let world = World::new();
    let played = loop_in(&world);
    world.write("play/3/also", "kill -9 $PPID\nsleep 1\nexit 1\n");
    let killed = world.orch(&["run", "t", "--auto"]);
    assert_ne!(killed.code, 0, "{killed:?}");
    world.orch(&["runs"]).says("interrupted");
    // What was finished is not done again.
    world.remove("play/3/also");
    world.write("turn", "2\n");
    world.orch(&["run", "t", "--auto"]).succeeds();
    assert_eq!(
        (recorded(&world), &state(&world)["status"]),
        (played, &"completed".into())
    );
    nothing_is_left(&world);
}

#[test]
fn a_lost_state_is_rebuilt_from_the_files_of_progress() {
    let world = World::without_git();
    let played = loop_in(&world);
    let paused = world
        .read("play/3/output")
        .replace("{\"stateUpdates\"", "{\"continue\":false,\"stateUpdates\"");
    world.write("play/3/output", paused);
    world.orch(&["run", "t", "--auto"]);
    let before = state(&world);
    assert_eq!(before["status"], "running");
    for lost in ["state.json", "transcript.jsonl"] {
        world.write(&format!("tasks/t/{lost}"), "{\"vers");
    }
    world
        .orch(&["run", "t", "--auto"])
        .reports("orch recover t");
    let answer = world.orch_json(&["recover", "t"]);
    crate::outputs::fits(&answer);
    assert_eq!(answer["from"], "files", "{answer:#}");
    let after = state(&world);
    assert_eq!(
        (&after["status"], &after["current_iteration"]),
        (&"created".into(), &0.into())
    );
    assert_eq!(after["skill_state"], before["skill_state"]);
    // The plan that is there is not made again.
    world.orch(&["run", "t", "--auto"]).succeeds();
    assert_eq!(
        (recorded(&world), &state(&world)["status"]),
        (played[3..].to_vec(), &"completed".into())
    );
}

#[test]
fn files_that_hold_half_of_a_state_are_not_taken_for_a_whole_one() {
    let world = World::without_git();
    loop_in(&world);
    world.orch(&["run", "t", "--auto"]).succeeds();
    world.write("tasks/t/state.json", "");
    world.write("tasks/t/transcript.jsonl", "");
    world.remove("tasks/t/progress/debug.json");
    world
        .orch(&["recover", "t"])
        .ends(5)
        .reports("cannot be rebuilt from its files");
    world.write("tasks/t/progress/debug.json", plain_debug());
    world.orch(&["recover", "t"]).succeeds();
}

fn plain_debug() -> String {
    let mut found = String::new();
    MACHINE.task().run(Mode::Auto, &mut |job| {
        let reply = MACHINE.reply(job, &plain(job));
        if let (Reply::Printed(_, files), "init") = (&reply, job.action.as_str()) {
            let file = files.iter().find(|(path, _)| path == "progress/debug.json");
            found = file.and_then(|(_, text)| text.clone()).expect("written");
        }
        reply
    });
    found
}

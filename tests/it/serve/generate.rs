//! An executor proposes tasks for a loop: on the command line, and over the API of loops.

use super::client::{Answer, Server};
use super::loops::{ask, data, message, open_socket, refused};
use crate::harness::{World, eventually};
use crate::outputs::fits;
use serde_json::{Value, json};
use std::fs;

/// An executor of a development loop: it plans one task, and proposes tasks by `propose.sh`.
pub const DEVELOPS: &str = r#"
set -e
cat > ../prompt
if [ "$ORCH_ACTION" = generate ]; then . ./propose.sh; exit; fi
mkdir -p tasks/$ORCH_TASK/progress
cd tasks/$ORCH_TASK/progress
echo '{"tasks": [{"id": "task-1", "description": "one", "status": "pending"}]}' > develop.json
echo '{"iteration": 0, "hypotheses": []}' > debug.json
echo '{"passed": false, "test_results": [], "failed_tests": []}' > validate.json
printf '{"continue": false, "stateUpdates": {"skill_state": {"develop": %s, "debug": %s, "validate": %s}}}' \
  "$(cat develop.json)" "$(cat debug.json)" "$(cat validate.json)" > "$ORCH_RESULT"
"#;

/// A repository with a paused loop `l`, whose executor plans one task, and proposes tasks by `propose.sh`.
pub fn world(propose: &str) -> World {
    let world = World::ready();
    world.write("executor.sh", DEVELOPS);
    world.write("propose.sh", propose);
    let executor = "[executor.default]\ncommand = [\"sh\", \"executor.sh\"]\ngrace = \"300ms\"\n";
    world.write(
        "orch.toml",
        format!("{}\n{executor}", world.read("orch.toml")),
    );
    world.commit("an executor");
    world
        .orch(&["new", "l", "--workflow", "ccw-loop", "--title", "Fix it"])
        .succeeds();
    world.orch(&["run", "l", "--auto"]).ends(3);
    world.orch(&["pause", "l"]).succeeds();
    assert_eq!(descriptions(&world), ["one"]);
    world
}

/// The descriptions of the tasks in the list.
pub fn descriptions(world: &World) -> Vec<String> {
    let state = world.json("tasks/l/state.json");
    let tasks = state["skill_state"]["develop"]["tasks"]
        .as_array()
        .expect("a list")
        .clone();
    tasks
        .iter()
        .map(|task| task["description"].as_str().expect("a text").to_owned())
        .collect()
}

/// A script that prints an answer.
pub fn prints(answer: &Value) -> String {
    format!("cat <<'END'\nThinking.\n{answer}\nEND\n")
}

pub fn task(description: &str) -> Value {
    json!({"description": description, "mode": "analysis", "prompt_template": "p"})
}

fn generate(server: &Server, body: &Value) -> Answer {
    ask(server, "POST", "/l/generate", body)
}

/// The outcome of the last generation, once it has ended.
fn ended(server: &Server) -> Value {
    let mut last = Value::Null;
    eventually("the generation has ended", || {
        last = data(&ask(server, "GET", "/l/generate", &Value::Null));
        last["status"] != "running"
    });
    last
}

#[test]
fn proposed_tasks_are_added_to_the_list_in_one_commit() {
    let two = json!({"tasks": [task("two"), {"description": "three", "mode": "write", "tool": "bash",
        "prompt_template": "p", "command": "make", "on_error": "pause"}]});
    let world = world(&prints(&two));
    let head = world.git(&["rev-parse", "HEAD"]);
    let document = world.orch_json(&["generate", "l", "--count", "2", "--tool", "codex"]);
    fits(&document);
    assert_eq!(
        world
            .git(&["rev-list", "--count", &format!("{}..HEAD", head.trim())])
            .trim(),
        "1"
    );
    assert_eq!(descriptions(&world), ["one", "two", "three"]);
    let state = world.json("tasks/l/state.json");
    let (second, third) = (
        &state["skill_state"]["develop"]["tasks"][1],
        &state["skill_state"]["develop"]["tasks"][2],
    );
    assert_eq!(document["added"], json!([second["id"], third["id"]]));
    assert_eq!(
        (&second["tool"], &second["status"]),
        (&json!("codex"), &json!("pending"))
    );
    assert_eq!(
        (&third["tool"], &third["command"], &third["on_error"]),
        (&json!("bash"), &json!("make"), &json!("pause"))
    );
    let prompt = fs::read_to_string(world.path("../prompt")).expect("a prompt");
    for part in [
        "# Task l: Fix it",
        "at most 2 tasks; the tool is `codex`",
        "\"one\"",
        "prompt_template",
        "data, not instructions",
    ] {
        assert!(prompt.contains(part), "{part}: {prompt}");
    }
    world.orch(&["check", "l"]).succeeds();
    world.orch(&["audit"]).succeeds();
    assert_eq!(world.dirty(), "");
}

#[test]
fn an_answer_that_does_not_fit_adds_nothing() {
    let world = world("");
    let many: Vec<Value> = (0..6).map(|_| task("x")).collect();
    let head = world.git(&["rev-parse", "HEAD"]);
    for (script, told) in [
        ("".to_owned(), "printed no JSON object"),
        (
            "echo 'I would do this and that.'\n".to_owned(),
            "printed no JSON object",
        ),
        (
            "echo '{\"tasks\": ['\n".to_owned(),
            "printed no JSON object",
        ),
        (
            "echo '{\"tasks\": [' > \"$ORCH_RESULT\"\n".to_owned(),
            "not JSON",
        ),
        (prints(&json!({"tasks": []})), "at `/tasks`"),
        (
            prints(&json!({"tasks": [{"description": "x"}]})),
            "at `/tasks/0`",
        ),
        (
            prints(&json!({"tasks": [{"description": "x", "mode": "m", "prompt_template": "p"}]})),
            "/tasks/0/mode",
        ),
        (
            prints(&json!({"tasks": [task("x")], "stateUpdates": {"phase": "completed"}})),
            "stateUpdates",
        ),
        (prints(&json!({"tasks": many})), "at most 5 were asked for"),
        (
            "echo '{\"tasks\": []}'; exit 3\n".to_owned(),
            "exited with code 3",
        ),
        ("kill -KILL $$\n".to_owned(), "signal 9"),
    ] {
        world.write("propose.sh", &script);
        world
            .orch(&["generate", "l"])
            .ends(1)
            .reports(told)
            .reports("generate.log");
        assert_eq!(world.git(&["rev-parse", "HEAD"]), head, "{script}");
    }
    // A limit ends an executor that hangs, with what it has started.
    world.write("propose.sh", "echo $$ > ../pid\nsleep 600 & wait\n");
    let limits = world.read("orch.toml").replace(
        "grace = \"300ms\"",
        "timeout = \"300ms\"\ngrace = \"300ms\"",
    );
    world.write("orch.toml", limits);
    world
        .orch(&["generate", "l"])
        .ends(1)
        .reports("took longer than 300ms");
    assert!(
        world.path("../pid").exists() && !world.lives("../pid"),
        "it has ended"
    );
    assert_eq!(descriptions(&world), ["one"]);
}

#[test]
fn what_cannot_take_tasks_starts_no_executor() {
    let world = world("touch ../started\n");
    for (arguments, code, told) in [
        (&["generate", "l", "--count", "0"][..], 2, "0"),
        (&["generate", "l", "--count", "21"], 2, "21"),
        (&["generate", "x"], 2, "there is no task"),
    ] {
        world.orch(arguments).ends(code).reports(told);
    }
    world.orch(&["new", "t"]).succeeds();
    world
        .orch(&["generate", "t"])
        .ends(1)
        .reports("is not a loop");
    world
        .orch(&["new", "m", "--workflow", "ccw-loop"])
        .succeeds();
    world
        .orch(&["generate", "m"])
        .ends(1)
        .reports("has no plan yet");
    // Nobody has trusted the executor, and an agent may not wave it through.
    let untrusted = |arguments: &[&str]| {
        let mut command = world.orch_command(arguments);
        world.end(
            command
                .env_remove("ORCH_TRUST_ONCE")
                .output()
                .expect("orch runs"),
        )
    };
    untrusted(&["generate", "l"])
        .ends(6)
        .reports("nobody has trusted");
    world
        .orch_by_agent(&["generate", "l", "--trust-once"])
        .ends(6);
    world.orch(&["resume", "l", "--", "false"]);
    world.orch(&["generate", "l"]).ends(1);
    assert!(
        !world.path("../started").exists(),
        "no executor was started"
    );
}

#[test]
fn over_http_the_answer_does_not_wait_and_events_tell_the_rest() {
    let world = world("");
    world.write(
        "propose.sh",
        format!(
            "while [ ! -e ../may-end ]; do sleep 0.02; done\n{}",
            prints(&json!({"tasks": [task("two")]}))
        ),
    );
    let server = Server::start(&world, &["--no-watch"]);
    let mut events = server.listen("events", None);
    let (mut stream, head) = open_socket(&server);
    assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
    assert_eq!(
        refused(&ask(&server, "GET", "/l/generate", &Value::Null)),
        (404, "unknown-task".to_owned())
    );
    for (body, status) in [
        (json!({"count": 0}), 400),
        (json!({"count": 21}), 400),
        (json!({"count": "3"}), 400),
        (json!({"tool": 3}), 400),
        (json!({"tools": "x"}), 400),
    ] {
        assert_eq!(refused(&generate(&server, &body)).0, status, "{body}");
    }
    let begun = generate(&server, &json!({"count": 3}));
    assert_eq!(
        (begun.status, begun.header("location")),
        (202, Some("/api/loops/v2/l/generate"))
    );
    assert_eq!(
        (&data(&begun)["status"], &data(&begun)["tasks"]),
        (&json!("running"), &json!([]))
    );
    // Meanwhile nothing else drives the loop, and other requests are answered.
    assert_eq!(refused(&generate(&server, &json!({}))).0, 503);
    assert_eq!(
        refused(&ask(&server, "POST", "/l/start", &Value::Null)).0,
        503
    );
    // A task that is added meanwhile is kept.
    let other =
        json!({"description": "other", "tool": "t", "mode": "write", "prompt_template": "p"});
    data(&ask(&server, "POST", "/l/tasks", &other));
    world.write("../may-end", "");
    let last = ended(&server);
    assert_eq!(
        (&last["status"], &last["error"]),
        (&json!("completed"), &Value::Null),
        "{last}"
    );
    assert_eq!(
        (&last["tasks"][0]["description"], &last["tasks"][0]["order"]),
        (&json!("two"), &json!(2))
    );
    assert_eq!(descriptions(&world), ["one", "other", "two"]);
    let mut told = Vec::new();
    while told.last() != Some(&json!("LOOP_TASK_GENERATION_COMPLETE")) {
        let heard = message(&mut stream);
        assert_eq!(heard["loop_id"], "l", "{heard}");
        if heard["type"] == "LOOP_TASK_GENERATION_COMPLETE" {
            assert_eq!(
                (&heard["payload"]["success"], &heard["payload"]["imported"]),
                (&json!(true), &json!(1))
            );
            assert_eq!(heard["payload"]["tasks"], last["tasks"]);
        }
        told.push(heard["type"].clone());
    }
    assert_eq!(told[0], "LOOP_TASK_GENERATION_PROGRESS");
    let reason = |event: Value| {
        event["transition"]["reason"]
            .as_str()
            .unwrap_or_default()
            .to_owned()
    };
    while !reason(events.hears("transition")).starts_with("generated 1 tasks: task-") {}
    // An answer that does not fit is told in the same ways.
    world.write("propose.sh", "echo nothing\n");
    let answer = generate(&server, &json!({}));
    if answer.status == 202 {
        assert_eq!(ended(&server)["error"]["code"], "generation-failed");
    } else {
        assert_eq!(refused(&answer), (409, "generation-failed".to_owned()));
    }
    let mut heard = message(&mut stream);
    while heard["type"] != "LOOP_TASK_GENERATION_COMPLETE" {
        heard = message(&mut stream);
    }
    assert_eq!(
        (
            &heard["payload"]["success"],
            &heard["payload"]["error"]["code"]
        ),
        (&json!(false), &json!("generation-failed"))
    );
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn a_stop_of_the_loop_ends_its_generation_and_leaves_the_loop_paused() {
    let world = world("echo $$ > ../pid\nsleep 600 & wait\n");
    let server = Server::start(&world, &["--no-watch"]);
    let (mut stream, head) = open_socket(&server);
    assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
    let before = world.git(&["rev-parse", "HEAD"]);
    assert_eq!(generate(&server, &json!({})).status, 202);
    eventually("the executor works", || world.lives("../pid"));
    let stopped = ask(&server, "POST", "/l/stop", &Value::Null);
    assert_eq!(
        (stopped.status, &stopped.json()["message"]),
        (200, &json!("Generation stopped"))
    );
    assert_eq!(data(&stopped)["status"], "paused");
    assert!(!world.lives("../pid"), "it has ended");
    let last = ended(&server);
    assert_eq!(
        (&last["status"], &last["error"]["code"]),
        (&json!("stopped"), &json!("interrupted")),
        "{last}"
    );
    let (mut stages, mut heard) = (Vec::new(), message(&mut stream));
    while heard["type"] == "LOOP_TASK_GENERATION_PROGRESS" {
        stages.push(heard["payload"]["stage"].clone());
        heard = message(&mut stream);
    }
    assert_eq!(stages.last(), Some(&json!("stopping")), "{stages:?}");
    assert_eq!(heard["type"], "LOOP_TASK_GENERATION_COMPLETE", "{heard}");
    assert_eq!(
        (&heard["payload"]["success"], &heard["payload"]["stopped"]),
        (&json!(false), &json!(true))
    );
    assert_eq!(
        world.git(&["rev-parse", "HEAD"]),
        before,
        "nothing was recorded"
    );
    // The loop is free for another generation, and a further stop is about the loop.
    world.write("propose.sh", prints(&json!({"tasks": [task("two")]})));
    assert!(generate(&server, &json!({})).status < 300);
    assert_eq!(ended(&server)["status"], "completed");
    assert_eq!(
        data(&ask(&server, "POST", "/l/stop", &Value::Null))["status"],
        "failed"
    );
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn the_end_of_the_server_ends_the_executor() {
    let world = world("echo $$ > ../pid\nsleep 600 & wait\n");
    let alive = || world.lives("../pid");
    let server = Server::start(&world, &["--no-watch"]);
    assert_eq!(generate(&server, &json!({})).status, 202);
    eventually("the executor works", alive);
    assert_eq!(server.stop(), Some(0));
    assert!(!alive(), "it has ended with the server");
    world.remove("../pid");
    // A server that is killed leaves it behind, until something else drives the loop.
    let server = Server::start(&world, &["--no-watch"]);
    assert_eq!(generate(&server, &json!({})).status, 202);
    eventually("the executor works", alive);
    drop(server);
    world.write("propose.sh", prints(&json!({"tasks": [task("two")]})));
    world.orch(&["generate", "l"]).succeeds();
    eventually("the one that was left has ended", || !alive());
    assert_eq!(descriptions(&world), ["one", "two"]);
}

#[test]
fn a_server_starts_only_what_a_person_has_trusted() {
    let world = world("touch ../started\n");
    let mut command = world.orch_command(&["serve", "--listen", "127.0.0.1:0", "--no-watch"]);
    command.env_remove("ORCH_TRUST_ONCE");
    let server = Server::begin(&world, command);
    assert_eq!(
        refused(&generate(&server, &json!({}))),
        (403, "untrusted".to_owned())
    );
    assert_eq!(
        ask(&server, "GET", "/l/generate", &Value::Null).json()["data"]["status"],
        "failed"
    );
    assert!(
        !world.path("../started").exists(),
        "no executor was started"
    );
    drop(server);
    let server = Server::start(&world, &["--read-only"]);
    assert_eq!(generate(&server, &json!({})).status, 403);
    assert!(
        !world.path("../started").exists(),
        "no executor was started"
    );
}

//! Changes of the list of tasks of a loop by several processes at once.

use super::client::Server;
use super::generate::{descriptions, prints, task, world};
use super::loops::{ask, data, refused};
use serde_json::{Value, json};
use std::thread::scope;

fn new(description: &str) -> Value {
    json!({"description": description, "tool": "t", "mode": "write", "prompt_template": "p"})
}

#[test]
fn what_two_servers_and_a_generation_add_at_once_is_kept() {
    let world = world(&prints(&json!({"tasks": [task("generated")]})));
    let servers = [
        Server::start(&world, &["--no-watch"]),
        Server::start(&world, &["--no-watch"]),
    ];
    let mut expected = vec!["one".to_owned()];
    scope(|scope| {
        for (number, server) in servers.iter().enumerate() {
            for client in 0..3 {
                let names: Vec<String> =
                    (0..4).map(|at| format!("{number}-{client}-{at}")).collect();
                expected.extend(names.clone());
                scope.spawn(move || {
                    for name in names {
                        assert_eq!(
                            ask(server, "POST", "/l/tasks", &new(&name)).status,
                            201,
                            "{name}"
                        );
                    }
                });
            }
        }
        for _ in 0..2 {
            world.orch(&["generate", "l"]).succeeds();
            expected.push("generated".to_owned());
        }
    });
    // An order names only the tasks that it knows, and loses none.
    let listed = data(&ask(&servers[0], "GET", "/l/tasks", &Value::Null));
    let ids: Vec<&str> = listed
        .as_array()
        .expect("tasks")
        .iter()
        .filter_map(|one| one["task_id"].as_str())
        .collect();
    scope(|scope| {
        for (server, name) in servers.iter().zip(["last-0", "last-1"]) {
            expected.push(name.to_owned());
            scope.spawn(move || data(&ask(server, "POST", "/l/tasks", &new(name))));
            let reversed: Vec<&str> = ids.iter().rev().copied().collect();
            scope.spawn(move || {
                data(&ask(
                    server,
                    "PUT",
                    "/l/tasks/reorder",
                    &json!({"ordered_task_ids": reversed}),
                ))
            });
        }
    });
    let mut kept = descriptions(&world);
    kept.sort();
    expected.sort();
    assert_eq!(kept, expected);
    world.orch(&["audit"]).succeeds();
    assert_eq!(world.dirty(), "");
}

#[test]
fn an_answer_rests_on_the_revision_that_it_names() {
    let world = world("");
    let rev = || {
        world.orch_json(&["suggest", "l"])["suggestions"][0]["rev"]
            .as_u64()
            .expect("a number")
    };
    let before = rev();
    let expect = format!("--expect={before}");
    world
        .orch(&["answer", "l", "notes=a", &expect, "--dry-run"])
        .succeeds();
    world.orch(&["answer", "l", "notes=a", &expect]).succeeds();
    world
        .orch(&["answer", "l", "notes=b", &expect])
        .ends(1)
        .reports("revision");
    world
        .orch(&["answer", "l", "notes=b", &expect, "--dry-run"])
        .ends(1);
    let server = Server::start(&world, &["--no-watch"]);
    let old = json!({"answers": {"notes": "c"}, "expect": before});
    let late = server.post("tasks/l/answer", &old);
    assert_eq!((late.status, late.code()), (412, "task-changed".to_owned()));
    assert_eq!(world.json("tasks/l/state.json")["notes"], "a");
    let now = json!({"answers": {"notes": "c"}, "expect": rev()});
    assert_eq!(server.post("tasks/l/answer", &now).status, 200);
    assert_eq!(world.json("tasks/l/state.json")["notes"], "c");
}

#[test]
fn an_order_of_tasks_names_each_once() {
    let world = world("");
    let server = Server::start(&world, &["--no-watch"]);
    for (ids, status, told) in [
        (json!(["task-1", "task-1"]), 400, "`task-1` twice"),
        (json!(["task-1", 3]), 400, "not a list of ids"),
        (json!(["task-1", "x"]), 404, "no task `x`"),
    ] {
        let answer = ask(
            &server,
            "PUT",
            "/l/tasks/reorder",
            &json!({"ordered_task_ids": ids}),
        );
        assert_eq!(refused(&answer).0, status, "{ids}");
        assert!(
            answer.json()["error"]
                .as_str()
                .is_some_and(|why| why.contains(told)),
            "{answer:?}"
        );
    }
}

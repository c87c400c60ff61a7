//! Orders that are refused, or that have to wait: whether they are done is never left open.

use super::client::{Answer, Server};
use crate::harness::{World, started};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::thread;
use std::time::Duration;

/// The status, the code and the place of a problem.
fn told(answer: &Answer) -> (u16, String, Value) {
    (answer.status, answer.code(), answer.json()["place"].clone())
}

#[test]
fn an_order_that_has_not_begun_may_be_sent_again_and_a_wait_has_a_maximum() {
    let world = started("planning");
    world.plan("t", 1);
    let server = Server::start(&world, &["--no-watch"]);
    let lock = File::open(world.path(".git/orch/lock")).expect("a lock file");
    lock.lock().expect("locked");
    for wait in ["0s", "20ms"] {
        let busy = server.post("tasks/t/next", &json!({"wait": wait}));
        assert_eq!(
            (busy.status, busy.code()),
            (503, "busy".to_owned()),
            "{busy:?}"
        );
        assert_eq!(busy.header("retry-after"), Some("1"));
    }
    drop(lock);
    for wait in [
        json!("61s"),
        json!("1h"),
        json!("soon"),
        json!("-1s"),
        json!(3),
    ] {
        let refused = server.post("tasks/t/next", &json!({"wait": wait}));
        assert_eq!(
            (refused.status, refused.code()),
            (400, "usage".to_owned()),
            "{wait}: {refused:?}"
        );
    }
    assert_eq!(world.phase("t"), "planning");
    assert_eq!(
        server.post("tasks/t/next", &json!({"wait": "1m"})).status,
        200
    );
}

#[test]
fn orders_at_the_same_time_are_committed_together_and_fail_alone() {
    let world = World::ready();
    let tasks = ["a", "b", "c", "d", "e"];
    for task in tasks {
        world.orch(&["new", task]).succeeds();
        world.plan(task, 1);
    }
    world.write("tasks/d/planning/plan.json", "{");
    let server = Server::start(&world, &["--no-watch"]);
    let lock = File::open(world.path(".git/orch/lock")).expect("a lock file");
    lock.lock().expect("locked");
    let begun = world.git(&["rev-list", "--count", "HEAD"]);
    let answers = thread::scope(|scope| {
        let order = |task: &'static str| {
            let body = json!({"to": "plan_review"});
            scope.spawn({
                let server = &server;
                move || server.post(&format!("tasks/{task}/next"), &body)
            })
        };
        let orders = tasks.map(order);
        // They come while the first one waits for the lock.
        thread::sleep(Duration::from_millis(300));
        drop(lock);
        orders.map(|order| order.join().expect("answered"))
    });
    for (task, answer) in tasks.iter().zip(&answers) {
        let expected = if *task == "d" {
            (409, "planning")
        } else {
            (200, "plan_review")
        };
        assert_eq!(
            (answer.status, world.phase(task).as_str()),
            expected,
            "{task}: {answer:?}"
        );
    }
    let commits: BTreeSet<String> = answers
        .iter()
        .filter_map(|answer| {
            answer.json()["transitions"][0]["commit"]
                .as_str()
                .map(str::to_owned)
        })
        .collect();
    assert_eq!(commits.len(), 4, "{answers:?}");
    let begun: usize = begun.trim().parse().expect("a number");
    assert_eq!(
        world.git(&["rev-list", "--count", "HEAD"]).trim(),
        (begun + 4).to_string()
    );
    world.remove("tasks/d/planning/plan.json");
    assert_eq!(world.dirty(), "");
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn of_several_orders_with_one_tag_one_is_done() {
    let world = started("planning");
    world.plan("t", 1);
    let server = Server::start(&world, &["--no-watch"]);
    let tag = server
        .get("tasks/t")
        .header("etag")
        .expect("a tag")
        .to_owned();
    let headers = [
        ("Content-Type", "application/json"),
        ("If-Match", tag.as_str()),
    ];
    let order = || {
        server
            .send(
                "POST",
                "/api/v1/tasks/t/next",
                &server.person,
                &headers,
                "{}",
            )
            .status
    };
    let mut statuses = thread::scope(|scope| {
        let orders: Vec<_> = (0..6).map(|_| scope.spawn(order)).collect();
        orders
            .into_iter()
            .map(|order| order.join().expect("answered"))
            .collect::<Vec<u16>>()
    });
    statuses.sort_unstable();
    assert_eq!(statuses, [200, 412, 412, 412, 412, 412]);
    assert_eq!(world.phase("t"), "plan_review");
}

#[test]
fn a_task_in_the_path_is_never_read_as_an_answer_or_as_another_task() {
    let world = World::ready();
    world
        .orch(&["new", "a", "--workflow", "ccw-loop"])
        .succeeds();
    let server = Server::start(&world, &["--no-watch"]);
    let answers = json!({"answers": {"notes": "mine"}});
    for path in [
        "notes=1",
        "tags=[]",
        "tasks%2Fa",
        "tasks%2Fa%2Fstate.json",
        "%2A",
        "a%2F",
        ".",
    ] {
        let refused = server.post(&format!("tasks/{path}/answer"), &answers);
        assert_eq!(
            (refused.status, refused.code()),
            (404, "unknown-task".to_owned()),
            "{path}: {refused:?}"
        );
    }
    assert_ne!(world.json("tasks/a/state.json")["notes"], json!("mine"));
    assert_eq!(server.post("tasks/a/answer", &answers).status, 200);
    assert_eq!(world.json("tasks/a/state.json")["notes"], json!("mine"));
}

#[test]
fn what_a_body_does_not_say_clearly_is_refused_with_a_place() {
    let world = started("planning");
    let server = Server::start(&world, &["--no-watch"]);
    for (order, body, column) in [
        ("rollback", r#"{"reason": "a", "reason": "b"}"#, Some(17)),
        ("rollback", r#"{"reason": null}"#, Some(12)),
        ("rollback", r#"{"reason": "a", "to": null}"#, Some(23)),
        ("answer", r#"{"answers": {"a": 1, "a": 2}}"#, Some(22)),
        ("rollback", r#"{"reason": "}"#, Some(14)),
        ("rollback", r#"{"reason": ""}"#, None),
        ("rollback", r#"{"reason": " "}"#, None),
    ] {
        let place = column.map_or(
            Value::Null,
            |column| json!({"path": "body", "line": 1, "column": column, "source": body}),
        );
        let json = [("Content-Type", "application/json")];
        let path = format!("/api/v1/tasks/t/{order}");
        let refused = server.send("POST", &path, &server.person, &json, body);
        assert_eq!(
            told(&refused),
            (400, "usage".to_owned(), place),
            "{body}: {refused:?}"
        );
    }
}

#[test]
fn a_faulty_file_of_the_repository_is_no_fault_of_the_request() {
    let world = started("planning");
    let server = Server::start(&world, &["--no-watch"]);
    let config = world.read("orch.toml");
    world.write("orch.toml", "[[root]\n");
    for answer in [
        server.get("tasks"),
        server.get("tasks/t"),
        server.post("tasks/t/next", &json!({})),
    ] {
        let (status, code, place) = told(&answer);
        assert_eq!(
            (status, code.as_str()),
            (422, "config-syntax"),
            "{answer:?}"
        );
        assert_eq!(
            (&place["path"], &place["line"]),
            (&json!("orch.toml"), &json!(1)),
            "{answer:?}"
        );
    }
    world.write("orch.toml", config);
    let path = "system/workflows/global-state-machine.md";
    let document = fs::read_to_string(crate::harness::project().join(path)).expect("a workflow");
    world.write(path, document.replacen("initial = ", "initiul = ", 1));
    for order in ["next", "undo"] {
        let answer = server.post(&format!("tasks/t/{order}"), &json!({}));
        let (status, code, place) = told(&answer);
        assert_eq!(
            (status, code.as_str()),
            (422, "workflow-faulty"),
            "{answer:?}"
        );
        assert_eq!(
            (&place["path"], place["line"].is_u64()),
            (&json!(path), true),
            "{answer:?}"
        );
    }
}

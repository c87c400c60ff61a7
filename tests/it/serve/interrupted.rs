//! Loops whose run was interrupted with the server: they are paused, and every order continues or ends them.

use super::client::Server;
use super::loops::{ask, data, refused, with_executor};
use crate::harness::{World, eventually};
use serde_json::{Value, json};

fn started(world: &World) -> Server {
    Server::start(world, &["--no-watch"])
}

/// The phase of the loop `l`.
fn recorded(world: &World) -> String {
    world.json("tasks/l/state.json")["status"]
        .as_str()
        .expect("a phase")
        .to_owned()
}

fn one(server: &Server, id: &str) -> Value {
    data(&ask(server, "GET", &format!("/{id}"), &Value::Null))
}

/// Gives an order, after which the loop runs.
#[track_caller]
fn runs(server: &Server, id: &str, method: &str, order: &str, body: &Value) {
    let answer = ask(server, method, &format!("/{id}/{order}"), body);
    assert_eq!(
        (answer.status, &data(&answer)["status"]),
        (200, &json!("running")),
        "{answer:?}"
    );
    let run = server.get("runs").json()["runs"][0].clone();
    assert_eq!(
        (&run["state"], &run["task"]),
        (&json!("running"), &json!(id)),
        "{run}"
    );
    eventually("there is a plan", || {
        one(server, id)["skill_state"].is_object()
    });
}

#[test]
fn a_loop_that_lost_its_server_is_paused_and_goes_on() {
    let world = with_executor();
    world
        .orch(&["new", "l", "--workflow", "ccw-loop"])
        .succeeds();
    let mut server = started(&world);
    runs(&server, "l", "POST", "start", &Value::Null);
    for (is_killed, method, order, body) in [
        (true, "POST", "start", Value::Null),
        (true, "POST", "resume", Value::Null),
        (false, "POST", "resume", Value::Null),
        (false, "POST", "start", Value::Null),
        (true, "PATCH", "status", json!({"status": "running"})),
    ] {
        if is_killed {
            drop(server);
        } else {
            assert_eq!(server.stop(), Some(0));
        }
        server = started(&world);
        assert_eq!(one(&server, "l")["status"], "paused", "{order}");
        assert_eq!(recorded(&world), "running", "{order}");
        assert_eq!(
            ask(&server, "GET", "?status=paused", &Value::Null).json()["total"],
            1,
            "{order}"
        );
        assert_eq!(
            ask(&server, "GET", "?status=running", &Value::Null).json()["total"],
            0,
            "{order}"
        );
        runs(&server, "l", method, order, &body);
        assert_eq!(
            refused(&ask(&server, "POST", "/l/start", &Value::Null)).0,
            409,
            "{order}"
        );
        assert_eq!(
            refused(&ask(&server, "DELETE", "/l", &Value::Null)).0,
            409,
            "{order}"
        );
    }
    drop(server);
    let server = started(&world);
    assert_eq!(
        data(&ask(&server, "POST", "/l/pause", &Value::Null))["status"],
        "paused"
    );
    assert_eq!(recorded(&world), "paused");
    runs(&server, "l", "POST", "resume", &Value::Null);
    drop(server);
    let server = started(&world);
    assert_eq!(
        data(&ask(&server, "POST", "/l/stop", &Value::Null))["status"],
        "failed"
    );
    assert_eq!(server.get("runs").json()["runs"][0]["state"], "stopped");
    assert_eq!(world.dirty(), "");
}

#[test]
fn a_loop_that_lost_its_server_is_changed_and_deleted() {
    let world = with_executor();
    world
        .orch(&["new", "l", "--workflow", "ccw-loop"])
        .succeeds();
    let task = json!({"description": "x", "tool": "t", "mode": "write", "prompt_template": "p"});
    for (method, path, body) in [
        ("PUT", "/l", json!({"notes": "n"})),
        ("POST", "/l/tasks", task),
        ("DELETE", "/l", Value::Null),
    ] {
        let server = started(&world);
        runs(&server, "l", "POST", "start", &Value::Null);
        drop(server);
        let server = started(&world);
        // What is refused changes nothing.
        assert_eq!(
            refused(&ask(&server, "PUT", "/l", &json!({"notes": 3}))).0,
            400
        );
        assert_eq!(
            refused(&ask(&server, "DELETE", "/tasks/x?loop_id=l", &Value::Null)).0,
            404
        );
        assert_eq!(recorded(&world), "running");
        let answer = ask(&server, method, path, &body);
        assert!(
            (200..300).contains(&answer.status),
            "{method} {path}: {answer:?}"
        );
        if method == "DELETE" {
            assert_eq!(refused(&ask(&server, "GET", "/l", &Value::Null)).0, 404);
        } else {
            assert_eq!(
                (recorded(&world).as_str(), &one(&server, "l")["status"]),
                ("paused", &json!("paused"))
            );
        }
    }
    assert_eq!(world.dirty(), "");
}

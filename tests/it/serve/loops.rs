//! `/api/loops/v2`: the table of the older tool, driven as its clients do.

use super::client::{Answer, Server};
use crate::harness::{World, eventually};
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::Duration;

/// A request to the loops, as the person.
pub fn ask(server: &Server, method: &str, path: &str, body: &Value) -> Answer {
    let text = if body.is_null() {
        String::new()
    } else {
        body.to_string()
    };
    let path = format!("/api/loops/v2{path}");
    server.send(
        method,
        &path,
        &server.person,
        &[("Content-Type", "application/json")],
        &text,
    )
}

/// The data of an answer that succeeded.
#[track_caller]
pub fn data(answer: &Answer) -> Value {
    assert!((200..300).contains(&answer.status), "{answer:?}");
    assert_eq!(answer.json()["success"], true, "{answer:?}");
    answer.json()["data"].clone()
}

/// The status and the code of an answer that failed.
#[track_caller]
pub fn refused(answer: &Answer) -> (u16, String) {
    let document = answer.json();
    assert_eq!(
        (&document["success"], document["error"].is_string()),
        (&json!(false), true),
        "{answer:?}"
    );
    (
        answer.status,
        document["code"].as_str().expect("a code").to_owned(),
    )
}

/// A repository whose executor plans two tasks, and then waits for the file `may-end`.
pub fn with_executor() -> World {
    let world = World::ready();
    let script = r#"
set -e
mkdir -p tasks/$ORCH_TASK/progress
cd tasks/$ORCH_TASK/progress
if [ ! -e develop.json ]; then
  echo '{"tasks": [{"id": "task-1", "description": "one", "status": "pending"}, {"id": "task-2", "description": "two", "status": "pending"}]}' > develop.json
  echo '{"iteration": 0, "hypotheses": []}' > debug.json
  echo '{"passed": false, "test_results": [], "failed_tests": []}' > validate.json
  printf '{"stateUpdates": {"skill_state": {"develop": %s, "debug": %s, "validate": %s}}}' \
    "$(cat develop.json)" "$(cat debug.json)" "$(cat validate.json)" > "$ORCH_RESULT"
else
  while [ ! -e ../../../may-end ]; do sleep 0.02; done
  exit 1
fi
"#;
    world.write("executor.sh", script);
    let executor = "[executor.default]\ncommand = [\"sh\", \"executor.sh\"]\ngrace = \"300ms\"\n";
    world.write(
        "orch.toml",
        format!("{}\n{executor}", world.read("orch.toml")),
    );
    world.write(".git/info/exclude", "may-end\n");
    world.commit("an executor");
    world
}

#[test]
fn a_loop_is_created_started_paused_resumed_stopped_and_deleted() {
    let world = with_executor();
    let server = Server::start(&world, &["--no-watch"]);
    let given = json!({"title": "Fix it", "description": "All of it.", "max_iterations": 7});
    let created = ask(&server, "POST", "", &given);
    let made = data(&created);
    let id = made["loop_id"].as_str().expect("an id").to_owned();
    assert_eq!(
        (created.status, created.header("location")),
        (201, Some(format!("/api/loops/v2/{id}").as_str()))
    );
    assert!(id.starts_with("loop-v2-2"), "{id}");
    for (key, value) in [
        ("title", json!("Fix it")),
        ("description", json!("All of it.")),
        ("max_iterations", json!(7)),
        ("status", json!("created")),
        ("current_iteration", json!(0)),
        ("skill_state", Value::Null),
        ("completed_at", Value::Null),
    ] {
        assert_eq!(made[key], value, "{key}: {made}");
    }
    assert!(
        made["created_at"].is_string() && made["updated_at"].is_string(),
        "{made}"
    );
    let settings = json!({"max_iterations": 9, "tags": ["api"], "priority": "high", "notes": "n"});
    let changed = data(&ask(&server, "PUT", &format!("/{id}"), &settings));
    assert_eq!(
        (&changed["tags"], &changed["priority"], &changed["notes"]),
        (&json!(["api"]), &json!("high"), &json!("n"))
    );
    let started = ask(&server, "POST", &format!("/{id}/start"), &Value::Null);
    assert_eq!(
        (&data(&started)["status"], &started.json()["message"]),
        (&json!("running"), &json!("Loop started"))
    );
    assert_eq!(
        refused(&ask(&server, "POST", &format!("/{id}/start"), &Value::Null)),
        (409, "not-enabled".to_owned())
    );
    assert_eq!(
        refused(&ask(&server, "DELETE", &format!("/{id}"), &Value::Null)).0,
        409
    );
    eventually("there is a plan", || {
        data(&ask(&server, "GET", &format!("/{id}/tasks"), &Value::Null)) != json!([])
    });
    let first = data(&ask(&server, "GET", &format!("/{id}/tasks"), &Value::Null))[0].clone();
    assert_eq!(
        (&first["task_id"], &first["order"]),
        (&json!("task-1"), &json!(0))
    );
    let unchanged =
        |method: &str, path: &str, body: &Value, (what, standing, hint): (&str, &str, &str)| {
            let answer = ask(&server, method, path, body);
            assert_eq!(refused(&answer), (409, "not-enabled".to_owned()));
            let message = format!("the {what} of `{id}` cannot be changed while it is {standing}");
            assert_eq!(
                (&answer.json()["error"], &answer.json()["hint"]),
                (&json!(message), &json!(hint))
            );
        };
    let hint = format!("pause it first: POST /api/loops/v2/{id}/pause");
    unchanged(
        "PUT",
        &format!("/{id}"),
        &json!({"notes": "x"}),
        ("settings", "running", &hint),
    );
    let order = json!({"ordered_task_ids": ["task-1"]});
    let path = format!("/{id}/tasks/reorder");
    unchanged("PUT", &path, &order, ("list of tasks", "running", &hint));
    let pausing = ask(&server, "POST", &format!("/{id}/pause"), &Value::Null);
    assert_eq!(
        (pausing.status, &data(&pausing)["status"]),
        (202, &json!("running"))
    );
    assert_eq!(
        pausing.json()["message"],
        "The loop pauses as soon as its action has ended"
    );
    world.write("may-end", "");
    eventually("the loop is paused", || {
        let run = server.get("runs").json()["runs"][0].clone();
        data(&ask(&server, "GET", &format!("/{id}"), &Value::Null))["status"] == "paused"
            && run["state"] != "running"
    });
    // The list of tasks belongs to people while the loop rests.
    let task =
        json!({"description": "three", "tool": "bash", "mode": "write", "prompt_template": "p"});
    let added = ask(&server, "POST", &format!("/{id}/tasks"), &task);
    let third = data(&added)["task_id"].as_str().expect("an id").to_owned();
    assert_eq!((added.status, &data(&added)["order"]), (201, &json!(2)));
    // Changes at once are all kept: each is made to what the one before has left.
    let path = format!("/{id}/tasks");
    std::thread::scope(|scope| {
        let orders: Vec<_> = (0..6)
            .map(|_| scope.spawn(|| ask(&server, "POST", &path, &task)))
            .collect();
        for order in orders {
            let extra = data(&order.join().expect("answered"))["task_id"]
                .as_str()
                .expect("an id")
                .to_owned();
            let place = format!("/tasks/{extra}?loop_id={id}");
            assert_eq!(
                ask(&server, "DELETE", &place, &Value::Null).status,
                200,
                "{extra}"
            );
        }
    });
    // The tasks of an issue follow those that are there.
    let imported = ask(
        &server,
        "POST",
        &format!("/{id}/import"),
        &json!({"issue_id": "I-1"}),
    );
    assert_eq!(refused(&imported), (404, "unknown-task".to_owned()));
    world.write(
        ".workflow/issues/issues.jsonl",
        "{\"id\": \"I-1\", \"bound_solution_id\": \"S\"}\n",
    );
    let solution = "{\"id\": \"S\", \"tasks\": [{\"title\": \"four\"}, {\"title\": \"five\", \"mode\": \"read\"}]}\n";
    world.write(".workflow/issues/solutions/I-1.jsonl", solution);
    let imported = ask(
        &server,
        "POST",
        &format!("/{id}/import"),
        &json!({"issue_id": "I-1"}),
    );
    let added = data(&imported);
    assert_eq!(
        (imported.status, &added[1]["mode"], &added[1]["order"]),
        (201, &json!("analysis"), &json!(4))
    );
    for task in added.as_array().expect("tasks") {
        let place = format!(
            "/tasks/{}?loop_id={id}",
            task["task_id"].as_str().expect("an id")
        );
        assert_eq!(
            ask(&server, "DELETE", &place, &Value::Null).status,
            200,
            "{task}"
        );
    }
    let order = json!({"ordered_task_ids": [third, "task-1"]});
    let ordered = data(&ask(
        &server,
        "PUT",
        &format!("/{id}/tasks/reorder"),
        &order,
    ));
    let ids: Vec<&Value> = ordered
        .as_array()
        .expect("tasks")
        .iter()
        .map(|task| &task["task_id"])
        .collect();
    assert_eq!(ids, [&json!(third), &json!("task-1"), &json!("task-2")]);
    let change = json!({"loop_id": id, "description": "other"});
    assert_eq!(
        data(&ask(&server, "PUT", "/tasks/task-1", &change))["description"],
        "other"
    );
    let one = data(&ask(&server, "GET", "/tasks/task-1", &Value::Null));
    assert_eq!(
        (&one["loop_id"], &one["description"], &one["order"]),
        (&json!(id), &json!("other"), &json!(1))
    );
    assert_eq!(
        ask(
            &server,
            "DELETE",
            &format!("/tasks/task-1?loop_id={id}"),
            &Value::Null
        )
        .status,
        200
    );
    assert_eq!(
        refused(&ask(&server, "GET", "/tasks/task-1", &Value::Null)).0,
        404
    );
    world.remove("may-end");
    let resumed = ask(&server, "POST", &format!("/{id}/resume"), &Value::Null);
    assert_eq!(
        (
            &data(&resumed)["status"],
            &server.get("runs").json()["runs"][0]["state"]
        ),
        (&json!("running"), &json!("running"))
    );
    data(&ask(
        &server,
        "PATCH",
        &format!("/{id}/status"),
        &json!({"status": "failed"}),
    ));
    eventually("the loop has ended", || {
        data(&ask(&server, "GET", &format!("/{id}"), &Value::Null))["status"] == "failed"
            && server.get("runs").json()["runs"][0]["state"] != "running"
    });
    let ended = data(&ask(&server, "GET", &format!("/{id}"), &Value::Null));
    assert!(
        ended["failure_reason"]
            .as_str()
            .is_some_and(|why| why.contains("stopped")),
        "{ended}"
    );
    assert!(ended["completed_at"].is_string(), "{ended}");
    let hint = format!("reopen it first: orch reopen {id} --reason WHY");
    unchanged(
        "PUT",
        &format!("/{id}"),
        &json!({"notes": "x"}),
        ("settings", "failed", &hint),
    );
    assert_eq!(
        refused(&ask(&server, "POST", &format!("/{id}/stop"), &Value::Null)).0,
        409
    );
    assert_eq!(
        ask(&server, "DELETE", &format!("/{id}"), &Value::Null).status,
        200
    );
    assert_eq!(
        refused(&ask(&server, "GET", &format!("/{id}"), &Value::Null)).0,
        404
    );
}

#[test]
fn of_many_that_start_a_loop_one_does() {
    let world = with_executor();
    world
        .orch(&["new", "l", "--workflow", "ccw-loop"])
        .succeeds();
    let server = Server::start(&world, &["--no-watch"]);
    let mut answers: Vec<u16> = std::thread::scope(|scope| {
        let order = || ask(&server, "POST", "/l/start", &Value::Null).status;
        let orders: Vec<_> = (0..8).map(|_| scope.spawn(order)).collect();
        orders
            .into_iter()
            .map(|order| order.join().expect("answered"))
            .collect()
    });
    answers.sort_unstable();
    assert_eq!(answers, [200, 409, 409, 409, 409, 409, 409, 409]);
}

/// Opens the WebSocket, as an agent. Returns it with the head of the answer.
pub fn open_socket(server: &Server) -> (TcpStream, String) {
    let (own, bearer) = (
        format!("127.0.0.1:{}", server.port),
        format!("Bearer {}", server.agent),
    );
    upgraded(
        server,
        &[("Host", own.as_str()), ("Authorization", bearer.as_str())],
    )
}

/// Asks for the WebSocket with these headers.
fn upgraded(server: &Server, headers: &[(&str, &str)]) -> (TcpStream, String) {
    let upgrade = [
        ("Connection", "Upgrade"),
        ("Upgrade", "websocket"),
        ("Sec-WebSocket-Version", "13"),
        ("Sec-WebSocket-Key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ];
    let mut stream = TcpStream::connect(("127.0.0.1", server.port)).expect("connected");
    stream
        .set_read_timeout(Some(Duration::from_secs(60)))
        .expect("set");
    let all = headers.iter().chain(&upgrade);
    let lines: String = all
        .map(|(name, value)| format!("{name}: {value}\r\n"))
        .collect();
    stream
        .write_all(format!("GET /ws HTTP/1.1\r\n{lines}\r\n").as_bytes())
        .expect("sent");
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).expect("a head");
        head.push(byte[0]);
    }
    (stream, String::from_utf8(head).expect("text"))
}

/// The next message of a WebSocket: a frame of a server has no mask.
pub fn message(stream: &mut TcpStream) -> Value {
    loop {
        let mut head = [0; 2];
        stream
            .read_exact(&mut head)
            .expect("a frame within a minute");
        let length = match head[1] {
            126 => {
                let mut length = [0; 2];
                stream.read_exact(&mut length).expect("a length");
                usize::from(u16::from_be_bytes(length))
            }
            length => usize::from(length),
        };
        let mut text = vec![0; length];
        stream.read_exact(&mut text).expect("a message");
        // Others are pings.
        if head[0] == 0x81 {
            return serde_json::from_slice(&text).expect("JSON");
        }
    }
}

#[test]
fn what_changes_in_loops_is_told_over_a_websocket() {
    let world = World::ready();
    let server = Server::start(&world, &["--no-watch"]);
    let (mut stream, head) = open_socket(&server);
    assert!(head.starts_with("HTTP/1.1 101 "), "{head}");
    // A page of another site, a client without a token and a request for no WebSocket are refused.
    let own = format!("127.0.0.1:{}", server.port);
    let bearer = format!("Bearer {}", server.agent);
    let known = [("Host", own.as_str()), ("Authorization", bearer.as_str())];
    let foreign = [("Origin", "http://evil.example")];
    assert!(
        upgraded(&server, &[&known[..], &foreign].concat())
            .1
            .starts_with("HTTP/1.1 403 ")
    );
    assert!(
        upgraded(&server, &known[..1])
            .1
            .starts_with("HTTP/1.1 401 ")
    );
    assert_eq!(
        server.send("GET", "/ws", &server.agent, &[], "").code(),
        "usage"
    );
    let made = data(&ask(&server, "POST", "", &json!({"title": "Fix it"})));
    let id = made["loop_id"].as_str().expect("an id").to_owned();
    let told = message(&mut stream);
    assert_eq!(
        (&told["type"], &told["loop_id"], &told["status"]),
        (&json!("LOOP_STATE_UPDATE"), &json!(id), &json!("created")),
        "{told}"
    );
    assert_eq!(
        ask(&server, "DELETE", &format!("/{id}"), &Value::Null).status,
        200
    );
    let mut gone = message(&mut stream);
    while gone["type"] == "LOOP_STATE_UPDATE" {
        gone = message(&mut stream);
    }
    assert_eq!(gone, json!({"type": "LOOP_DELETED", "loop_id": id}));
    // What a client sends means nothing, and an end of the server ends the connection.
    assert_eq!(server.stop(), Some(0));
    let mut rest = Vec::new();
    let _ = stream.read_to_end(&mut rest);
}

#[test]
fn loops_are_listed_and_every_refusal_has_the_same_form() {
    let world = World::ready();
    world.orch(&["new", "other"]).succeeds();
    for task in ["a", "b", "c"] {
        world
            .orch(&["new", task, "--workflow", "ccw-loop"])
            .succeeds();
    }
    let server = Server::start(&world, &["--no-watch"]);
    let listed = ask(&server, "GET", "?limit=2", &Value::Null).json();
    let ids: Vec<&Value> = listed["data"]
        .as_array()
        .expect("loops")
        .iter()
        .map(|one| &one["loop_id"])
        .collect();
    assert_eq!(ids, ["c", "b"], "{listed}");
    assert_eq!(
        (&listed["total"], &listed["limit"], &listed["hasMore"]),
        (&json!(3), &json!(2), &json!(true))
    );
    let rest = ask(
        &server,
        "GET",
        "?limit=2&offset=2&status=created",
        &Value::Null,
    )
    .json();
    assert_eq!(
        (&rest["data"][0]["loop_id"], &rest["hasMore"]),
        (&json!("a"), &json!(false))
    );
    for (status, total) in [
        ("running", 0),
        ("paused", 0),
        ("completed", 0),
        ("failed", 0),
        ("user_exit", 0),
        ("created", 3),
        ("all", 3),
    ] {
        let listed = ask(&server, "GET", &format!("?status={status}"), &Value::Null).json();
        assert_eq!(listed["total"], total, "{status}: {listed}");
    }
    for (method, path, body, message, hint) in [
        (
            "POST",
            "",
            json!({"title": "  "}),
            "`title` is blank",
            Value::Null,
        ),
        (
            "POST",
            "",
            json!({"title": 3}),
            "`title` is not a string",
            Value::Null,
        ),
        (
            "GET",
            "?status=bogus",
            Value::Null,
            "there is no status `bogus`",
            json!(
                "the statuses are created, running, paused, completed, failed, user_exit, and `all`"
            ),
        ),
    ] {
        let answer = ask(&server, method, path, &body).json();
        assert_eq!(
            (&answer["error"], &answer["hint"]),
            (&json!(message), &hint),
            "{method} {path} {body}"
        );
    }
    for (method, path, body, status) in [
        ("GET", "?limit=x", Value::Null, 400),
        ("GET", "?limit=0", Value::Null, 400),
        ("GET", "?offset=-1", Value::Null, 400),
        ("GET", "?status=bogus", Value::Null, 400),
        ("GET", "?status=exhausted", Value::Null, 400),
        ("GET", "?status=", Value::Null, 400),
        ("GET", "/a?x=1", Value::Null, 400),
        ("POST", "/a/start", json!({"x": 1}), 400),
        ("POST", "/a/stop", json!({"x": 1}), 400),
        ("POST", "/a/pause", json!({"x": 1}), 400),
        ("POST", "/a/resume", json!({"x": 1}), 400),
        ("POST", "/a/start?x=1", Value::Null, 400),
        ("DELETE", "/a", json!({"x": 1}), 400),
        ("PUT", "/", Value::Null, 405),
        ("TRACE", "/a/start", Value::Null, 405),
        ("UNHEARD", "/a", Value::Null, 405),
        ("GET", "/a/b/c/d", Value::Null, 404),
        ("GET", "/other", Value::Null, 404),
        ("GET", "/x", Value::Null, 404),
        ("GET", "/x/tasks", Value::Null, 404),
        ("GET", "/..%2Fa", Value::Null, 404),
        ("POST", "", json!({}), 400),
        ("POST", "", json!({"title": " "}), 400),
        ("POST", "", json!({"title": "x", "description": 3}), 400),
        ("POST", "", json!({"title": "x", "max_iterations": 0}), 400),
        ("PUT", "/a", json!({"colour": "red"}), 400),
        ("PUT", "/a", json!({"priority": "urgent"}), 400),
        ("PUT", "/a", json!({"title": "another"}), 409),
        ("PATCH", "/a/status", json!({}), 400),
        ("PATCH", "/a/status", json!({"status": "sleeping"}), 400),
        ("PATCH", "/a/status", json!({"status": "completed"}), 409),
        ("PATCH", "/a/status", json!({"status": "paused"}), 409),
        ("POST", "/a/pause", Value::Null, 409),
        ("POST", "/a/resume", Value::Null, 409),
        ("POST", "/a/tasks", json!({"description": "x"}), 400),
        (
            "POST",
            "/a/tasks",
            json!({"description": "x", "tool": "t", "mode": "m", "prompt_template": "p"}),
            400,
        ),
        (
            "POST",
            "/a/tasks",
            json!({"description": "x", "tool": "t", "mode": "write", "prompt_template": "p"}),
            409,
        ),
        (
            "PUT",
            "/a/tasks/reorder",
            json!({"ordered_task_ids": []}),
            400,
        ),
        ("PUT", "/tasks/task-1", json!({"description": "x"}), 400),
        ("DELETE", "/tasks/task-1", Value::Null, 400),
        ("DELETE", "/a/status", Value::Null, 405),
        ("POST", "/a/import", json!({}), 400),
        ("POST", "/a/import", json!({"issue_id": "i"}), 409),
        ("POST", "/x/import", json!({"issue_id": "i"}), 404),
        ("GET", "/a/import", Value::Null, 405),
        ("POST", "/a/generate", json!({}), 409),
        ("POST", "/x/generate", json!({}), 404),
        ("GET", "/a/generate", Value::Null, 404),
        ("PUT", "/a/generate", Value::Null, 405),
    ] {
        let answer = ask(&server, method, path, &body);
        assert_eq!(
            refused(&answer).0,
            status,
            "{method} {path} {body}: {answer:?}"
        );
    }
    let broken = server.send(
        "POST",
        "/api/loops/v2",
        &server.person,
        &[("Content-Type", "application/json")],
        "{",
    );
    assert_eq!(refused(&broken).0, 400);
    // The address of the list may end with a slash, and those that may not ask are told so in the same form.
    assert_eq!(ask(&server, "GET", "/", &Value::Null).json()["total"], 3);
    assert_eq!(
        ask(&server, "DELETE", "/", &Value::Null).header("allow"),
        Some("GET,HEAD,POST")
    );
    for path in ["", "/", "/a"] {
        let answer = server.send("GET", &format!("/api/loops/v2{path}"), "none", &[], "");
        assert_eq!(refused(&answer), (401, "no-token".to_owned()), "{path}");
        assert_eq!(answer.header("www-authenticate"), Some("Bearer"));
    }
    assert_eq!(world.dirty(), "");
}

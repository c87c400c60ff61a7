//! `orch serve`: requests over a socket, as programs and browsers send them.

#[cfg(feature = "mcp")]
mod agents;
pub mod client;
mod generate;
mod interrupted;
mod lists;
mod live;
mod load;
mod loops;
mod orders;
mod pages;

use crate::harness::{World, started};
use client::{Answer, Server};
pub use generate::DEVELOPS;
use serde_json::{Value, json};
use std::fs;
use std::io::{Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::process::Stdio;

#[test]
fn the_answers_are_those_of_the_command_line() {
    let world = started("codegen");
    let server = Server::start(&world, &[]);
    for (path, typed) in [
        ("tasks/t", &["suggest", "t"][..]),
        ("tasks/t/explanation", &["explain", "t"]),
        ("tasks/t/prompt", &["prompt", "t"]),
        ("tasks/t/log", &["log", "t"]),
        ("tasks/t/findings", &["check", "t"]),
        ("tasks/t/artifacts/plan/diff", &["diff", "t", "plan"]),
        ("tasks/t?at=HEAD~1", &["suggest", "t", "--at", "HEAD~1"]),
        (
            "tasks?owner=agent&phase=codegen",
            &["status", "--owner", "agent", "--phase", "codegen"],
        ),
        (
            "suggestions?for=agent&brief=true",
            &["suggest", "--all", "--for", "agent", "--brief"],
        ),
        ("findings", &["check"]),
        ("overview", &["status", "--everywhere"]),
        ("workflows", &["workflow", "list"]),
        ("workflows/ccw-loop", &["workflow", "show", "ccw-loop"]),
        (
            "workflows/ccw-loop/diagram?format=dot",
            &["workflow", "diagram", "ccw-loop", "--format", "dot"],
        ),
        (
            "workflows/ccw-loop/findings",
            &["workflow", "check", "ccw-loop"],
        ),
        ("codes/by-human", &["help", "by-human"]),
    ] {
        let answer = server.get(path);
        assert_eq!(
            (answer.status, answer.header("content-type")),
            (200, Some("application/json")),
            "{path}"
        );
        assert_eq!(answer.header("orch-exit-code"), Some("0"), "{path}");
        let mut document = answer.json();
        if document.get("repository").is_some() {
            document["repository"]["root"] = "[ROOT]".into();
        }
        assert_eq!(document, world.orch_json(typed), "{path}");
    }
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn a_task_goes_from_new_to_done_over_http() {
    let world = started("planning");
    let server = Server::start(&world, &["--no-watch"]);
    let nothing = server.post("tasks/t/next", &json!({}));
    assert_eq!(
        (nothing.status, &nothing.json()["kind"]),
        (200, &json!("nothing"))
    );
    assert_eq!(nothing.header("orch-exit-code"), Some("3"));
    world.plan("t", 1);
    let moved = server.post("tasks/t/next", &json!({"expect": "plan_review"}));
    assert_eq!(
        moved.json()["transitions"][0]["to"],
        "plan_review",
        "{moved:?}"
    );
    // The same order again moves nothing twice.
    assert_eq!(
        server
            .post("tasks/t/next", &json!({"expect": "plan_review"}))
            .json()["kind"],
        "nothing"
    );
    let elsewhere = server.post("tasks/t/next", &json!({"expect": "done"}));
    assert_eq!(
        (elsewhere.status, elsewhere.code()),
        (409, "not-enabled".to_owned())
    );
    world.walk_to_from("t", "plan_review", "accept");
    world.accept("t");
    let refused = server.by_agent("POST", "tasks/t/approve", "{}");
    assert_eq!(
        (refused.status, refused.code()),
        (403, "by-human".to_owned())
    );
    assert_eq!(
        refused.json()["hint"],
        "ask a person to type at a terminal: orch approve t"
    );
    let approved = server.post("tasks/t/approve", &json!({}));
    assert_eq!(
        (approved.status, &approved.json()["transitions"][0]["to"]),
        (200, &json!("done"))
    );
    let log = server.get("tasks/t/log").json();
    let last = log["entries"]
        .as_array()
        .and_then(|entries| entries.last())
        .expect("steps")
        .to_string();
    assert!(last.contains("\"Ann\"") && last.contains("human"), "{last}");
    // An order against the rules is a person's, too, and is taken back.
    let reopened = server.post(
        "tasks/t/reopen",
        &json!({"reason": "It fails.", "to": "codegen"}),
    );
    assert_eq!(reopened.status, 200, "{reopened:?}");
    assert_eq!(
        server.by_agent("POST", "tasks/t/undo", "{}").code(),
        "by-human"
    );
    assert_eq!(
        server
            .post("tasks/t/undo", &json!({"reason": "No."}))
            .status,
        200
    );
    assert_eq!(world.phase("t"), "done");
    assert_eq!(world.dirty(), "");
}

#[test]
fn a_task_is_created_renamed_and_archived_over_http() {
    let world = World::ready();
    let server = Server::start(&world, &["--no-watch"]);
    let created = server.post("tasks", &json!({"id": "a", "title": "A task"}));
    assert_eq!(
        (created.status, &created.json()["transitions"][0]["to"]),
        (200, &json!("planning")),
        "{created:?}"
    );
    assert_eq!(
        server.post("tasks", &json!({"id": "a"})).code(),
        "task-exists"
    );
    assert_eq!(
        server.post("tasks/a/rename", &json!({"id": "b"})).status,
        200
    );
    assert_eq!(
        (server.get("tasks/a").status, server.get("tasks/b").status),
        (404, 200)
    );
    assert_eq!(server.post("tasks/b/archive", &json!({})).status, 409);
    assert_eq!(
        server
            .post("tasks/b/archive", &json!({"force": "Not wanted."}))
            .status,
        200
    );
    assert_eq!(server.get("tasks/archive%2Fb").status, 200);
    assert_eq!(server.get("tasks").json()["tasks"], json!([]));
    assert_eq!(
        server.get("audit?strict=true").header("orch-exit-code"),
        Some("0")
    );
    assert_eq!(server.get("schemas/plan").json()["type"], "object");
    assert_eq!(world.dirty(), "");
}

#[test]
fn a_wrong_path_or_method_is_told_before_a_wrong_name_of_an_agent() {
    let world = World::ready();
    let server = Server::start(&world, &["--no-watch"]);
    let json = ("Content-Type", "application/json");
    for names in [
        &[("Orch-Agent", ""), json][..],
        &[("Orch-Agent", "a"), ("Orch-Agent", "b"), json],
    ] {
        for (method, path, status) in [
            ("TRACE", "/api/v1/tasks", 405),
            ("PUT", "/api/v1/tasks/t/next", 405),
            ("DELETE", "/api/v1/health", 405),
            ("GET", "/api/v1/none", 404),
            ("TRACE", "/api/loops/v2/a/start", 405),
            ("PUT", "/mcp", 405),
            ("POST", "/api/v1/tasks/t/next", 400),
            ("POST", "/api/loops/v2", 400),
            ("POST", "/mcp", 400),
        ] {
            let answer = server.send(method, path, &server.agent, names, "{}");
            assert_eq!(
                answer.status, status,
                "{method} {path} {names:?}: {answer:?}"
            );
        }
    }
}

#[test]
fn an_agent_gives_its_name_and_the_environment_of_the_server_wins() {
    let world = started("planning");
    world.plan("t", 1);
    let server = Server::start(&world, &["--no-watch"]);
    for name in ["", " "] {
        let headers = [("Orch-Agent", name), ("Content-Type", "application/json")];
        assert_eq!(
            server
                .send(
                    "POST",
                    "/api/v1/tasks/t/next",
                    &server.agent,
                    &headers,
                    "{}"
                )
                .status,
            400
        );
    }
    let headers = [
        ("Orch-Agent", "coder-é"),
        ("Content-Type", "application/json"),
    ];
    let moved = server.send(
        "POST",
        "/api/v1/tasks/t/next",
        &server.agent,
        &headers,
        "{}",
    );
    assert_eq!(moved.status, 200, "{moved:?}");
    assert!(
        world
            .read("tasks/t/transcript.jsonl")
            .contains("\"coder-é\"")
    );
    drop(server);
    // An agent or a program that starts the server is given no person's rights by the token of a person.
    for by_agent in [true, false] {
        let mut command = world.orch_command(&["serve", "--listen", "127.0.0.1:0"]);
        if by_agent {
            command.env("ORCH_ACTOR", "agent:starter");
        } else {
            command.stdin(Stdio::null());
        }
        let server = Server::begin(&world, command);
        let refused = server.post("tasks/t/override", &json!({"reason": "x", "to": "codegen"}));
        assert_eq!(
            (refused.status, refused.code()),
            (403, "by-human".to_owned())
        );
    }
}

#[test]
fn an_order_is_refused_if_the_task_has_changed_since_it_was_read() {
    let world = started("planning");
    let server = Server::start(&world, &["--no-watch"]);
    let tag = |answer: &Answer| answer.header("etag").expect("a tag").to_owned();
    let first = tag(&server.get("tasks/t"));
    let known = server.send(
        "GET",
        "/api/v1/tasks/t",
        &server.person,
        &[("If-None-Match", &first)],
        "",
    );
    assert_eq!(
        (known.status, known.body.as_str(), tag(&known)),
        (304, "", first.clone())
    );
    // A commit that is about something else changes nothing.
    world.write("other", "x");
    world.commit("Something else");
    assert_eq!(tag(&server.get("tasks/t")), first);
    world.plan("t", 1);
    let order = |tag: &str| {
        let headers = [("If-Match", tag), ("Content-Type", "application/json")];
        server.send(
            "POST",
            "/api/v1/tasks/t/next",
            &server.person,
            &headers,
            "{}",
        )
    };
    let refused = order(&first);
    assert_eq!(
        (refused.status, refused.code()),
        (412, "task-changed".to_owned())
    );
    assert_eq!(world.phase("t"), "planning");
    let second = tag(&server.get("tasks/t"));
    assert_eq!(order(&format!("\"x\", {second}")).status, 200);
    assert_eq!(order(&second).status, 412);
    assert_eq!(order("*").json()["kind"], "nothing");
}

#[test]
fn tasks_are_listed_in_pages_and_in_an_order() {
    let world = World::ready();
    for task in ["b", "a", "c"] {
        world.orch(&["new", task]).succeeds();
    }
    let server = Server::start(&world, &[]);
    let page = server.get("tasks?sort=-task&limit=2");
    let ids = |answer: &Answer| -> Vec<Value> {
        answer.json()["tasks"]
            .as_array()
            .expect("tasks")
            .iter()
            .map(|task| task["task"].clone())
            .collect()
    };
    assert_eq!(
        (ids(&page), page.header("total-count")),
        (vec![json!("c"), json!("b")], Some("3"))
    );
    let link = page.header("link").expect("a link").to_owned();
    assert_eq!(
        link,
        "</api/v1/tasks?sort=-task&limit=2&offset=2>; rel=\"next\""
    );
    let next = link
        .trim_start_matches("</api/v1/")
        .split('>')
        .next()
        .expect("a path");
    let last = server.get(next);
    assert_eq!((ids(&last), last.header("link")), (vec![json!("a")], None));
    assert_eq!(server.get("tasks?limit=0").status, 400);
    assert_eq!(server.get("tasks?phase=nowhere").code(), "unknown-phase");
}

#[test]
fn what_is_refused_is_a_problem_document() {
    let world = started("planning");
    world.orch(&["new", "team-a"]).succeeds();
    let server = Server::start(&world, &[]);
    let json = [("Content-Type", "application/json")];
    for (method, path, headers, body, status, code) in [
        ("GET", "/api/v1/tasks/x", &[][..], "", 404, "unknown-task"),
        ("GET", "/api/v1/tasks/team", &[], "", 404, "unknown-task"),
        ("GET", "/api/v1/tasks/%2A", &[], "", 404, "unknown-task"),
        ("GET", "/api/v1/tasks/..%2F..", &[], "", 404, "unknown-task"),
        ("GET", "/api/v1/tasks/t%00", &[], "", 400, "usage"),
        ("GET", "/api/v1/tasks/%FF", &[], "", 400, "usage"),
        (
            "GET",
            "/api/v1/tasks/team?at=HEAD",
            &[],
            "",
            404,
            "unknown-task",
        ),
        (
            "GET",
            "/api/v1/tasks/t?at=nowhere",
            &[],
            "",
            404,
            "unknown-revision",
        ),
        (
            "GET",
            "/api/v1/tasks/t?at=HEAD~1%C3%A9",
            &[],
            "",
            404,
            "unknown-revision",
        ),
        ("GET", "/api/v1/tasks?colour=red", &[], "", 400, "usage"),
        (
            "GET",
            "/api/v1/tasks?at=%3Ax",
            &[],
            "",
            404,
            "unknown-revision",
        ),
        ("GET", "/api/v1/health?x=1", &[], "", 400, "usage"),
        ("GET", "/api/v1/openapi.json?x", &[], "", 400, "usage"),
        ("GET", "/api/v1/events?since=1", &[], "", 400, "usage"),
        (
            "GET",
            "/api/v1/tasks/t/output?tail=1",
            &[],
            "",
            400,
            "usage",
        ),
        (
            "GET",
            "/api/v1/tasks?limit=1&limit=2",
            &[],
            "",
            400,
            "usage",
        ),
        (
            "GET",
            "/api/v1/tasks?offset=4294967296",
            &[],
            "",
            400,
            "usage",
        ),
        (
            "GET",
            "/api/v1/tasks?sort=task&sort=task",
            &[],
            "",
            400,
            "usage",
        ),
        (
            "GET",
            "/api/v1/tasks/t/artifacts/x/diff",
            &[],
            "",
            404,
            "unknown-artifact",
        ),
        (
            "GET",
            "/api/v1/tasks?phase=nowhere",
            &[],
            "",
            404,
            "unknown-phase",
        ),
        (
            "GET",
            "/api/v1/tasks?workflow=x",
            &[],
            "",
            404,
            "workflow-missing",
        ),
        (
            "GET",
            "/api/v1/tasks",
            &[("Orch-Agent", "")],
            "",
            400,
            "usage",
        ),
        ("GET", "/api/v1/codes/x", &[], "", 404, "unknown-route"),
        ("GET", "/api/v1/tasks?owner=nobody", &[], "", 400, "usage"),
        (
            "GET",
            "/api/v1/workflows/x",
            &[],
            "",
            404,
            "workflow-missing",
        ),
        ("GET", "/api/v1/nowhere", &[], "", 404, "unknown-route"),
        (
            "DELETE",
            "/api/v1/tasks/t",
            &[],
            "",
            405,
            "method-not-allowed",
        ),
        ("POST", "/api/v1/tasks/t/next", &json, "{", 400, "usage"),
        ("POST", "/api/v1/tasks/t/next", &json, "[]", 400, "usage"),
        (
            "POST",
            "/api/v1/tasks/t/next",
            &json,
            "{\"task\": \"other\"}",
            400,
            "usage",
        ),
        (
            "POST",
            "/api/v1/tasks/t/next",
            &json,
            "{\"expect\": 3}",
            400,
            "usage",
        ),
        (
            "POST",
            "/api/v1/tasks/t/next",
            &json,
            "{\"expect\": \"nowhere\"}",
            404,
            "unknown-phase",
        ),
        (
            "POST",
            "/api/v1/tasks",
            &json,
            "{\"id\": \"x\", \"root\": \"0\"}",
            409,
            "no-root",
        ),
        (
            "POST",
            "/api/v1/tasks/t/next",
            &[],
            "{}",
            415,
            "body-not-json",
        ),
        (
            "POST",
            "/api/v1/tasks/team/next",
            &json,
            "{}",
            404,
            "unknown-task",
        ),
        (
            "POST",
            "/api/v1/tasks/t/rollback",
            &json,
            "{}",
            400,
            "usage",
        ),
        (
            "POST",
            "/api/v1/tasks/t/next",
            &[("Content-Length", "1048577")],
            "",
            413,
            "request-too-large",
        ),
    ] {
        let answer = server.send(method, path, &server.person, headers, body);
        assert_eq!(
            (answer.status, answer.code().as_str()),
            (status, code),
            "{method} {path} {body}: {answer:?}"
        );
        assert_eq!(
            answer.header("content-type"),
            Some("application/problem+json"),
            "{path}"
        );
        assert_eq!(answer.json()["type"], format!("/api/v1/codes/{code}"));
    }
    let refused = server.send("DELETE", "/api/v1/tasks/t", &server.person, &[], "");
    assert_eq!(refused.header("allow"), Some("GET,HEAD"));
    // A file that cannot be read as what it is has a place.
    world.write("orch.toml", "[[root]]\npath = 3\n");
    let settings = server.get("tasks").json();
    assert_eq!(
        (&settings["place"]["path"], &settings["place"]["line"]),
        (&json!("orch.toml"), &json!(2)),
        "{settings}"
    );
}

#[test]
fn only_those_with_a_token_and_from_here_are_answered() {
    let world = started("planning");
    let server = Server::start(&world, &[]);
    let own = format!("127.0.0.1:{}", server.port);
    let bearer = format!("Bearer {}", server.person);
    // The URL that was printed gives a session, which is not a token, where no script reads it.
    let signed = server.raw(
        "GET",
        &format!("/?token={}", server.person),
        &[("Host", &own)],
        "",
    );
    assert_eq!((signed.status, signed.header("location")), (303, Some("/")));
    let kept = signed.header("set-cookie").expect("a cookie").to_owned();
    let cookie = kept
        .strip_suffix("; HttpOnly; SameSite=Strict; Path=/")
        .expect(&kept)
        .to_owned();
    let session = cookie
        .strip_prefix(&format!("orch-{}=", server.port))
        .expect(&kept)
        .to_owned();
    assert!(session.len() == 64 && session != server.person, "{session}");
    let (as_token, as_cookie) = (
        format!("Bearer {session}"),
        format!("orch-{}={}", server.port, server.person),
    );
    for (path, headers, status) in [
        ("/api/v1/health", &[("Host", own.as_str())][..], 200),
        ("/api/v1/health", &[("Host", "evil.example")], 403),
        ("/api/v1/tasks", &[("Host", &own)], 401),
        ("/", &[("Host", &own)], 401),
        (
            "/api/v1/tasks",
            &[("Host", &own), ("Authorization", "Bearer x")],
            401,
        ),
        (
            "/api/v1/tasks",
            &[("Host", &own), ("Authorization", &bearer)],
            200,
        ),
        ("/api/v1/tasks", &[("Host", &own), ("Cookie", &cookie)], 200),
        (
            "/api/v1/tasks",
            &[("Host", &own), ("Cookie", &as_cookie)],
            401,
        ),
        (
            "/api/v1/tasks",
            &[("Host", &own), ("Authorization", &as_token)],
            401,
        ),
        (
            "/api/v1/tasks",
            &[
                ("Host", &own),
                ("Host", "evil.example"),
                ("Authorization", &bearer),
            ],
            400,
        ),
        (
            "http://evil.example/api/v1/tasks",
            &[("Host", &own), ("Authorization", &bearer)],
            403,
        ),
        (
            "/api/v1/tasks",
            &[("Host", "evil.example"), ("Authorization", &bearer)],
            403,
        ),
        (
            "/api/v1/tasks",
            &[
                ("Host", &own),
                ("Cookie", &cookie),
                ("Origin", "http://evil.example"),
            ],
            403,
        ),
        (
            "/api/v1/tasks",
            &[
                ("Host", &own),
                ("Cookie", &cookie),
                ("Sec-Fetch-Site", "cross-site"),
            ],
            403,
        ),
    ] {
        let answer = server.raw("GET", path, headers, "");
        assert_eq!(answer.status, status, "{path} {headers:?}: {answer:?}");
        for (name, value) in [
            ("cache-control", "no-store"),
            ("x-content-type-options", "nosniff"),
            ("referrer-policy", "no-referrer"),
        ] {
            assert_eq!(answer.header(name), Some(value), "{path}");
        }
        let policy = answer.header("content-security-policy").expect("a policy");
        assert!(
            policy.starts_with("default-src 'none'; script-src 'self';")
                && !policy.contains("unsafe")
        );
        assert_eq!(answer.header("access-control-allow-origin"), None);
    }
    assert_eq!(
        server
            .raw("GET", "/", &[("Host", &own), ("Cookie", &cookie)], "")
            .status,
        200
    );
    // Only the owner of the file reads the tokens, and they stay.
    let file = world.path(".git/orch/serve.json");
    assert_eq!(
        fs::metadata(&file).expect("there").permissions().mode() & 0o777,
        0o600
    );
    let (person, agent) = (server.person.clone(), server.agent.clone());
    server.stop();
    let again = Server::start(&world, &["--read-only"]);
    assert_eq!((&again.person, &again.agent), (&person, &agent));
    assert_eq!(
        again.post("tasks/t/next", &json!({})).code(),
        "server-read-only"
    );
    assert_eq!(again.get("tasks/t").status, 200);
    let (own, cookie) = (
        format!("127.0.0.1:{}", again.port),
        format!("orch-{}={session}", again.port),
    );
    let kept = again.raw(
        "GET",
        "/api/v1/tasks",
        &[("Host", &own), ("Cookie", &cookie)],
        "",
    );
    assert_eq!(kept.status, 200, "a session outlives its server");
    let sessions = world.path(".git/orch/serve-sessions.json");
    let mode = fs::metadata(&sessions).expect("there").permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
    let text = fs::read_to_string(&sessions).expect("a file");
    assert!(!text.contains(&session), "{text}");
    again.stop();
    fs::remove_file(&file).expect("removed");
    let last = Server::start(&world, &["--read-only"]);
    let (own, cookie) = (
        format!("127.0.0.1:{}", last.port),
        format!("orch-{}={session}", last.port),
    );
    let ended = last.raw(
        "GET",
        "/api/v1/tasks",
        &[("Host", &own), ("Cookie", &cookie)],
        "",
    );
    assert_eq!(ended.status, 401, "new tokens end every session");
}

/// What follows a body whose length can be read in two ways is not taken for another request.
#[test]
fn a_connection_ends_after_a_body_that_two_readers_could_end_elsewhere() {
    let world = started("planning");
    let server = Server::start(&world, &["--no-watch"]);
    let head = format!(
        "Host: 127.0.0.1:{}\r\nAuthorization: Bearer {}\r\n",
        server.port, server.person
    );
    let health = format!("GET /api/v1/health HTTP/1.1\r\n{head}\r\n");
    let body =
        "Content-Type: application/json\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n";
    let order =
        format!("POST /api/v1/tasks/t/next HTTP/1.1\r\n{head}{body}\r\n2\r\n{{}}\r\n0\r\n\r\n");
    for (first, answers) in [(&health, 2), (&order, 1)] {
        let mut stream = TcpStream::connect(("127.0.0.1", server.port)).expect("connected");
        stream
            .write_all(format!("{first}{health}").as_bytes())
            .expect("sent");
        stream.shutdown(Shutdown::Write).expect("sent");
        let mut text = String::new();
        // What was not read makes the connection end with an error.
        let _ = stream.read_to_string(&mut text);
        assert_eq!(text.matches("HTTP/1.1 200 OK").count(), answers, "{text}");
        assert_eq!(text.contains("connection: close"), answers == 1, "{text}");
    }
}

#[test]
fn a_server_listens_on_loopback_only_unless_told_otherwise() {
    let world = World::ready();
    world
        .orch(&["serve", "--listen", "0.0.0.0:0"])
        .ends(2)
        .reports("--public");
    world
        .orch(&["serve", "--listen", "[::]:0"])
        .ends(2)
        .reports("--public");
    let server = Server::start(&world, &[]);
    let taken = format!("127.0.0.1:{}", server.port);
    world
        .orch(&["serve", "--listen", &taken])
        .ends(2)
        .reports(&format!("cannot listen on {taken}"));
    world
        .orch(&["serve", "--listen", &taken])
        .reports("--listen 127.0.0.1:0");
    for host in ["", "*", "*.example", "a:80"] {
        world
            .orch(&["serve", "--host", host])
            .ends(2)
            .reports("not the name of a host");
    }
    // The URL that is printed leads to the server.
    let everywhere = world.orch_command(&["serve", "--public", "--listen", "0.0.0.0:0"]);
    let public = Server::begin(&world, everywhere);
    assert_eq!(public.get("tasks").status, 200);
    let outside = World::without_git();
    outside.orch(&["serve"]).ends(2);
}

#[test]
fn orders_at_once_move_a_task_once() {
    let world = started("planning");
    world.plan("t", 1);
    let server = Server::start(&world, &["--no-watch"]);
    let moved: Vec<Value> = std::thread::scope(|scope| {
        let orders: Vec<_> = (0..8)
            .map(|_| {
                scope.spawn(|| {
                    server
                        .post("tasks/t/next", &json!({"expect": "plan_review"}))
                        .json()
                })
            })
            .collect();
        orders
            .into_iter()
            .map(|order| order.join().expect("answered")["kind"].clone())
            .collect()
    });
    assert_eq!(
        moved
            .iter()
            .filter(|kind| **kind == json!("transitions"))
            .count(),
        1,
        "{moved:?}"
    );
    assert_eq!(
        moved
            .iter()
            .filter(|kind| **kind == json!("nothing"))
            .count(),
        7,
        "{moved:?}"
    );
}

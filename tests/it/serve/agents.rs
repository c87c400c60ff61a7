//! The protocol for agents (MCP) over HTTP.

use super::client::{Answer, Server};
use crate::harness::{World, eventually, started};
use serde_json::{Value, json};
use std::fs::File;
use std::io::Read;

/// Sends a message of the protocol with a token.
fn send(server: &Server, token: &str, message: &Value) -> Answer {
    let headers = [
        ("Content-Type", "application/json"),
        ("Accept", "application/json, text/event-stream"),
        ("MCP-Protocol-Version", "2025-06-18"),
        ("Orch-Agent", "coder"),
    ];
    server.send("POST", "/mcp", token, &headers, &message.to_string())
}

/// The result of a call.
#[track_caller]
fn called(server: &Server, method: &str, params: &Value) -> Value {
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": method, "params": params});
    let answer = send(server, &server.agent, &call);
    assert_eq!(answer.status, 200, "{answer:?}");
    answer.json()["result"].clone()
}

fn initialize() -> Value {
    let client = json!({"name": "test", "version": "1"});
    json!({"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": client})
}

/// The document in the result of a tool.
fn document(result: &Value) -> Value {
    let text = result["content"][0]["text"].as_str().expect("a text");
    serde_json::from_str(text).expect("JSON")
}

#[test]
fn an_agent_moves_a_task_by_the_tools_of_the_server() {
    let world = started("planning");
    let server = Server::start(&world, &["--no-watch"]);
    let begun = called(&server, "initialize", &initialize());
    assert_eq!(begun["serverInfo"]["name"], "orch", "{begun}");
    let tools = called(&server, "tools/list", &json!({}));
    assert!(
        tools["tools"]
            .as_array()
            .is_some_and(|tools| tools.len() == 12),
        "{tools}"
    );
    world.plan("t", 1);
    let mut events = server.listen("events", None);
    events.hears("ready");
    let moved = called(
        &server,
        "tools/call",
        &json!({"name": "next", "arguments": {"task": "t"}}),
    );
    assert_eq!(
        document(&moved)["transitions"][0]["to"],
        "plan_review",
        "{moved}"
    );
    assert_eq!(
        events.hears("transition")["transition"]["to"],
        "plan_review"
    );
    assert!(
        world.read("tasks/t/transcript.jsonl").contains("\"coder\""),
        "the header names the agent"
    );
    let read = called(&server, "resources/list", &json!({}));
    assert!(
        read["resources"]
            .as_array()
            .is_some_and(|all| !all.is_empty()),
        "{read}"
    );
    assert_eq!(server.stop(), Some(0));
}

#[test]
fn a_person_is_an_agent_there_and_nobody_else_is_answered() {
    let world = World::ready();
    world
        .orch(&["new", "a", "--workflow", "ccw-loop"])
        .succeeds();
    let server = Server::start(&world, &["--no-watch"]);
    let call = json!({"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params":
        {"name": "answer", "arguments": {"task": "a", "answers": {"notes": "mine"}}}});
    assert_eq!(send(&server, "x", &call).status, 401);
    let answered = send(&server, &server.person, &call);
    let by_person = document(&answered.json()["result"])["transitions"][0]["actor"]["kind"].clone();
    assert_eq!(
        (answered.status, by_person),
        (200, json!("agent")),
        "{answered:?}"
    );
    let foreign = [
        ("Host", "evil.example"),
        ("Content-Type", "application/json"),
    ];
    assert_eq!(
        server
            .raw("POST", "/mcp", &foreign, &call.to_string())
            .status,
        403
    );
    let large = "x".repeat(1024 * 1024 + 1);
    let answer = send(
        &server,
        &server.agent,
        &json!({"jsonrpc": "2.0", "id": 1, "method": large}),
    );
    assert_eq!(
        (answer.status, answer.code()),
        (413, "request-too-large".to_owned())
    );
    for body in ["{", "", "[]", "3", "{\"id\": 1, \"id\": 2}"] {
        let headers = [
            ("Content-Type", "application/json"),
            ("Accept", "application/json, text/event-stream"),
        ];
        let answer = server.send("POST", "/mcp", &server.agent, &headers, body);
        assert_eq!(
            (answer.status, answer.code()),
            (400, "usage".to_owned()),
            "{body}"
        );
    }
    let reads = Server::start(&world, &["--read-only"]);
    assert_eq!(send(&reads, &reads.agent, &call).status, 403);
}

fn tool(server: &Server, name: &str) -> Value {
    called(
        server,
        "tools/call",
        &json!({"name": name, "arguments": {"task": "t"}}),
    )
}

#[test]
fn calls_wait_with_the_requests_of_others_and_a_refusal_is_a_failed_call() {
    let world = started("planning");
    world.plan("t", 1);
    let server = Server::start(&world, &["--no-watch"]);
    let lock = File::open(world.path(".git/orch/lock")).expect("a lock file");
    lock.lock().expect("locked");
    // The first order waits for the lock, and the others for the first.
    let (host, bearer) = (
        format!("127.0.0.1:{}", server.port),
        format!("Bearer {}", server.agent),
    );
    let headers = [
        ("Host", host.as_str()),
        ("Authorization", &bearer),
        ("Content-Type", "application/json"),
    ];
    let order = || {
        server.open(
            "POST",
            "/api/v1/tasks/t/next",
            &headers,
            "{\"expect\": \"plan_review\"}",
        )
    };
    let mut waiting = vec![order()];
    assert!(
        tool(&server, "suggest")["isError"] != true,
        "a question does not wait for an order"
    );
    waiting.extend((0..300).map(|_| order()));
    eventually("there is no place left", || {
        tool(&server, "suggest")["isError"] == true
    });
    let refused = tool(&server, "next");
    assert_eq!(
        (&refused["isError"], &document(&refused)["error"]["code"]),
        (&json!(true), &json!("busy"))
    );
    let read = json!({"jsonrpc": "2.0", "id": 1, "method": "resources/list", "params": {}});
    assert_eq!(
        send(&server, &server.agent, &read).json()["error"]["data"]["code"],
        "busy"
    );
    drop(lock);
    for mut stream in waiting {
        stream.read_to_end(&mut Vec::new()).expect("an answer");
    }
    // All orders were for the same step, which was taken once.
    assert_eq!(world.phase("t"), "plan_review");
    assert_eq!(
        world.orch_json(&["log", "t"])["entries"]
            .as_array()
            .map(Vec::len),
        Some(2)
    );
    assert_eq!(server.stop(), Some(0));
}

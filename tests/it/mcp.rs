//! Agents by the Model Context Protocol: a scripted client on the stdin and stdout of `orch mcp`.

use crate::harness::{World, started};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader, Write};
use std::process::{Child, ChildStdin, ChildStdout, Stdio};

/// A client of the protocol.
pub struct Client {
    child: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
    calls: u64,
    /// The notifications that came while an answer was awaited.
    told: Vec<Value>,
}

impl Client {
    /// Starts the server and shakes hands.
    pub fn begin(world: &World) -> Self {
        let mut client = Self::start(world);
        let hello = json!({
            "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "scripted", "version": "1"},
        });
        let answer = client.call("initialize", hello);
        assert_eq!(
            answer["result"]["protocolVersion"], "2025-11-25",
            "{answer}"
        );
        assert_eq!(
            answer["result"]["capabilities"]["resources"],
            json!({"subscribe": true, "listChanged": true})
        );
        client.send(&json!({"jsonrpc": "2.0", "method": "notifications/initialized"}).to_string());
        client
    }

    fn start(world: &World) -> Self {
        let mut command = world.orch_command(&["mcp"]);
        command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut child = command.spawn().expect("orch starts");
        let output = BufReader::new(child.stdout.take().expect("a pipe"));
        Self {
            input: child.stdin.take(),
            child,
            output,
            calls: 0,
            told: Vec::new(),
        }
    }

    fn send(&mut self, line: &str) {
        let input = self.input.as_mut().expect("open");
        input
            .write_all(format!("{line}\n").as_bytes())
            .expect("written");
    }

    /// The next message of the server.
    fn read(&mut self) -> Value {
        let mut line = String::new();
        self.output.read_line(&mut line).expect("read");
        serde_json::from_str(&line).unwrap_or_else(|error| panic!("{error}: {line:?}"))
    }

    /// Calls a method and returns the answer.
    fn call(&mut self, method: &str, params: Value) -> Value {
        self.calls += 1;
        let id = self.calls;
        self.send(
            &json!({"jsonrpc": "2.0", "id": id, "method": method, "params": params}).to_string(),
        );
        loop {
            let message = self.read();
            if message["id"] == json!(id) {
                return message;
            }
            assert!(message.get("id").is_none(), "{message}");
            self.told.push(message);
        }
    }

    /// Calls a tool. Returns its result.
    pub fn tool(&mut self, name: &str, arguments: Value) -> Value {
        let answer = self.call("tools/call", json!({"name": name, "arguments": arguments}));
        assert!(answer.get("error").is_none(), "{answer}");
        let mut result = answer["result"].clone();
        assert!(result.get("structuredContent").is_none(), "{result}");
        // The document that the first text is, for the tests.
        let text = result["content"][0]["text"].as_str().unwrap_or_default();
        result["document"] = serde_json::from_str(text).unwrap_or_default();
        result
    }

    /// Waits for a notification.
    fn hears(&mut self, method: &str) -> Value {
        loop {
            if let Some(at) = self.told.iter().position(|told| told["method"] == method) {
                return self.told.remove(at);
            }
            let message = self.read();
            self.told.push(message);
        }
    }

    /// Ends the input, and returns the exit code and what is left of the output.
    pub fn end(mut self) -> (Option<i32>, String) {
        drop(self.input.take());
        let mut rest = String::new();
        while self.output.read_line(&mut rest).expect("read") > 0 {}
        (self.child.wait().expect("ends").code(), rest)
    }
}

#[test]
fn an_agent_takes_a_task_from_new_to_done_except_what_a_person_decides() {
    let world = started("planning");
    let mut client = Client::begin(&world);
    let names: Vec<Value> = client.call("tools/list", json!({}))["result"]["tools"]
        .as_array()
        .expect("tools")
        .iter()
        .map(|tool| tool["name"].clone())
        .collect();
    assert_eq!(
        names,
        [
            "suggest", "take", "release", "prompt", "draft", "show", "explain", "check", "next",
            "answer", "log", "schema"
        ]
    );
    let scenes: [(&str, &dyn Fn()); 5] = [
        ("plan_review", &|| world.plan("t", 1)),
        ("codegen", &|| world.plan_review("t", true, 1)),
        ("review", &|| world.patch("t", 1)),
        ("test", &|| world.code_review("t", true, 1)),
        ("accept", &|| world.tests("t", 0, 1)),
    ];
    for (to, write) in scenes {
        let suggested = client.tool("suggest", json!({"task": "t"}));
        let expects = &suggested["document"]["suggestions"][0]["expects"][0];
        let text = client.tool("prompt", json!({}))["content"][0]["text"]
            .as_str()
            .expect("a text")
            .to_owned();
        assert!(
            text.contains(expects["path"].as_str().expect("a path")),
            "{text}"
        );
        let early = client.tool("next", json!({"task": "t"}));
        assert_eq!(
            (&early["isError"], &early["document"]["kind"]),
            (&json!(false), &json!("nothing"))
        );
        write();
        assert_eq!(
            client.tool("check", json!({"task": "t"}))["document"]["findings"],
            json!([])
        );
        let moved = client.tool("next", json!({"task": "t", "expect": to}));
        assert_eq!(moved["document"]["transitions"][0]["to"], to, "{moved}");
        let next = moved["content"][1]["text"]
            .as_str()
            .expect("what comes next");
        let owner = if to == "accept" {
            "Not for an agent: tell the person about `orch approve t`."
        } else {
            "Call `prompt` for what to write"
        };
        assert!(
            next.starts_with(&format!("\nNext for t ({to}): ")) && next.contains(owner),
            "{next}"
        );
    }
    // A person decides, and what an agent writes there counts for nothing.
    world.accept("t");
    let refused = client.tool("next", json!({"task": "t"}));
    assert_eq!(
        (&refused["isError"], &refused["document"]["error"]["code"]),
        (&json!(true), &json!("by-human"))
    );
    world.orch(&["approve", "t"]).succeeds();
    assert_eq!(world.phase("t"), "done");
    let log = client.tool("log", json!({"task": "t"}))["document"]["entries"].clone();
    let steps = log.as_array().expect("steps");
    assert_eq!(steps.len(), 7, "{log}");
    let explained = client.tool("explain", json!({"task": "t"}));
    assert_eq!(
        explained["document"]["explanations"][0]["suggestion"]["kind"],
        "done"
    );
    assert_eq!(client.end(), (Some(0), String::new()));
    assert_eq!(world.dirty(), "");
}

#[test]
fn the_answers_are_those_of_the_command_line() {
    let world = started("codegen");
    let mut client = Client::begin(&world);
    for (tool, arguments, typed) in [
        (
            "suggest",
            json!({"task": "t", "brief": true}),
            &["suggest", "t", "--brief"][..],
        ),
        ("explain", json!({}), &["explain"]),
        ("check", json!({}), &["check"]),
        ("log", json!({"task": "t"}), &["log", "t"]),
        (
            "next",
            json!({"expect": "done"}),
            &["next", "--expect", "done"],
        ),
        ("next", json!({"task": "tt"}), &["next", "tt"]),
    ] {
        let printed = world
            .orch_command(&[typed, &["--json"]].concat())
            .env("ORCH_ACTOR", "agent:x")
            .output();
        let printed = String::from_utf8(printed.expect("orch runs").stdout).expect("text");
        let result = client.tool(tool, arguments);
        assert_eq!(
            result["content"][0]["text"].as_str(),
            Some(printed.trim_end()),
            "{typed:?}"
        );
    }
    let example = client.tool("schema", json!({"name": "plan", "example": true}));
    world.write(
        "tasks/t/planning/plan.json",
        example["content"][0]["text"].as_str().expect("a text"),
    );
    world.orch(&["check", "t"]).succeeds();
    client.end();
}

#[test]
fn an_order_is_that_of_an_agent_with_the_name_of_its_client() {
    let world = World::ready();
    world
        .orch(&["new", "tune", "--workflow", "skill-tuning"])
        .succeeds();
    let mut client = Client::begin(&world);
    let question =
        client.tool("suggest", json!({"task": "tune"}))["document"]["suggestions"][0].clone();
    assert_eq!(question["do"], "answer", "{question}");
    let answers =
        json!({"target_skill.path": "skills/x", "issue_description": "3", "stop_at_gate": false});
    let refused = client.tool(
        "answer",
        json!({"task": "tune", "answers": {"nonsense": 1}}),
    );
    assert_eq!(refused["isError"], true);
    let fields = question["question"]["fields"]
        .as_array()
        .expect("fields")
        .iter();
    let keys: Vec<&str> = fields.filter_map(|field| field["key"].as_str()).collect();
    let known: serde_json::Map<String, Value> = answers
        .as_object()
        .expect("an object")
        .clone()
        .into_iter()
        .filter(|(key, _)| keys.contains(&key.as_str()))
        .collect();
    let moved = client.tool("answer", json!({"task": "tune", "answers": known}));
    assert_eq!(moved["isError"], false, "{moved}");
    let last = world
        .read("tasks/tune/transcript.jsonl")
        .lines()
        .last()
        .expect("a step")
        .to_owned();
    let last: Value = serde_json::from_str(&last).expect("JSON");
    assert_eq!(
        last["actor"],
        json!({"kind": "agent", "name": "scripted"}),
        "{last}"
    );
    client.end();
}

#[test]
fn resources_are_listed_read_and_watched() {
    let world = started("planning");
    let mut client = Client::begin(&world);
    let mut uris: Vec<String> = Vec::new();
    let mut params = json!({});
    loop {
        let page = client.call("resources/list", params)["result"].clone();
        let listed = page["resources"].as_array().expect("resources").iter();
        uris.extend(listed.map(|resource| resource["uri"].as_str().expect("a URI").to_owned()));
        let Some(cursor) = page["nextCursor"].as_str() else {
            break;
        };
        params = json!({"cursor": cursor});
    }
    for (uri, begins) in [
        (
            "orch://task/t",
            "{\"schemaVersion\":1,\"kind\":\"suggestions\"",
        ),
        ("orch://workflow/global-state-machine", "# "),
        ("orch://schema/plan", "{"),
        ("orch://instructions/planner", "# "),
    ] {
        assert!(uris.contains(&uri.to_owned()), "{uri}: {uris:?}");
        let read =
            client.call("resources/read", json!({"uri": uri}))["result"]["contents"][0].clone();
        assert_eq!(read["uri"], uri);
        assert!(
            read["text"].as_str().expect("a text").starts_with(begins),
            "{read}"
        );
    }
    let templates =
        client.call("resources/templates/list", json!({}))["result"]["resourceTemplates"].clone();
    assert_eq!(templates.as_array().map(Vec::len), Some(4), "{templates}");
    for method in ["resources/read", "resources/subscribe"] {
        let unknown = client.call(method, json!({"uri": "orch://task/x"}));
        assert_eq!(unknown["error"]["code"], -32002, "{unknown}");
    }
    assert_eq!(
        client.call("resources/list", json!({"cursor": "x"}))["error"]["code"],
        -32602
    );

    assert_eq!(
        client.call("resources/subscribe", json!({"uri": "orch://task/t"}))["result"],
        json!({})
    );
    world.write("tasks/t/planning/plan.json", "{");
    let changed = client.hears("notifications/resources/updated");
    assert_eq!(changed["params"]["uri"], "orch://task/t");
    world.orch(&["new", "another"]).succeeds();
    client.hears("notifications/resources/list_changed");
    assert_eq!(
        client.call("resources/unsubscribe", json!({"uri": "orch://task/t"}))["result"],
        json!({})
    );
    assert_eq!(client.end().0, Some(0));
}

/// The protocol since 2026-07-28 has no handshake: each request says its version.
#[test]
fn a_client_of_the_newest_protocol_needs_no_handshake() {
    let world = started("planning");
    let mut client = Client::start(&world);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "newest", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let found = client.call("server/discover", json!({"_meta": meta}));
    assert!(
        found["result"]["supportedVersions"]
            .to_string()
            .contains("2026-07-28"),
        "{found}"
    );
    let call = json!({"name": "suggest", "arguments": {"task": "t"}, "_meta": meta});
    let suggested = client.call("tools/call", call)["result"]["content"][0].clone();
    let text = suggested["text"].as_str().expect("a text");
    assert!(text.contains("\"currentPhase\":\"planning\""), "{text}");
    let filter = json!({"resourceSubscriptions": ["orch://task/t"], "resourcesListChanged": true});
    let listen = json!({"jsonrpc": "2.0", "id": "listen", "method": "subscriptions/listen", "params": {"notifications": filter, "_meta": meta}});
    client.send(&listen.to_string());
    client.hears("notifications/subscriptions/acknowledged");
    // The first look comes right after the acknowledgement.
    client.call(
        "tools/call",
        json!({"name": "suggest", "arguments": {"task": "t"}, "_meta": meta}),
    );
    std::thread::sleep(std::time::Duration::from_millis(200));
    world.plan("t", 1);
    assert_eq!(
        client.hears("notifications/resources/updated")["params"]["uri"],
        "orch://task/t"
    );
    client.end();
}

#[test]
fn malformed_messages_are_answered_or_passed_over_and_the_next_is_served() {
    let world = started("planning");
    let mut client = Client::begin(&world);
    // Unknown methods and tools, and arguments that do not fit.
    assert_eq!(client.call("no/such", json!({}))["error"]["code"], -32601);
    let unknown = client.call("tools/call", json!({"name": "override"}));
    assert_eq!(unknown["error"]["code"], -32602);
    assert!(
        unknown["error"]["message"]
            .as_str()
            .expect("a text")
            .contains("there is no tool `override`")
    );
    for (name, arguments) in [
        ("next", json!({"override": "why"})),
        ("next", json!({"task": 7})),
        ("suggest", json!({"task": "no-such"})),
        ("schema", json!({})),
        ("schema", json!({"name": "--help"})),
    ] {
        assert_eq!(
            client.tool(name, arguments.clone())["isError"],
            true,
            "{arguments}"
        );
    }
    // What is no request is passed over or refused, and the server continues.
    for line in [
        "",
        "{",
        "\u{feff}",
        "[]",
        "null",
        "{\"jsonrpc\":\"1.0\",\"id\":1,\"method\":\"ping\"}",
    ] {
        client.send(line);
    }
    client.send(&"x".repeat(5 * 1024 * 1024));
    client.send(
        &json!({"jsonrpc": "2.0", "id": "long", "method": "ping", "params": {"x": "y".repeat(5 << 20)}})
            .to_string(),
    );
    client.calls = 100;
    client.send(&json!({"jsonrpc": "2.0", "id": 101, "method": "ping"}).to_string());
    loop {
        let message = client.read();
        if message["id"] == json!(101) {
            assert_eq!(message["result"], json!({}));
            break;
        }
        // An answer to what is not a request has no id.
        assert_eq!(message["error"]["code"], -32600, "{message}");
    }
    assert_eq!(world.phase("t"), "planning");
    client.end();
}

#[test]
fn the_end_of_the_input_ends_the_server_and_no_order_is_lost() {
    let world = started("planning");
    // Before the handshake, and in the middle of a message.
    for line in ["", "{\"jsonrpc\":\"2.0\",\"id\":1,\"meth"] {
        let mut client = Client::start(&world);
        client
            .input
            .as_mut()
            .expect("open")
            .write_all(line.as_bytes())
            .expect("written");
        assert_eq!(client.end(), (Some(0), String::new()), "{line}");
    }
    // While an order is carried out.
    world.plan("t", 1);
    let mut client = Client::begin(&world);
    let call = json!({"jsonrpc": "2.0", "id": 9, "method": "tools/call", "params": {"name": "next", "arguments": {"task": "t"}}});
    client.send(&call.to_string());
    assert_eq!(client.end().0, Some(0));
    world.orch(&["check"]).succeeds();
    let (phase, dirty) = (world.phase("t"), world.dirty());
    // The order was carried out as a whole, or not at all.
    assert!(
        phase == "plan_review" && dirty.is_empty() || phase == "planning",
        "{phase} {dirty}"
    );
}

//! What an agent pays for `orch mcp`: tokens in each conversation, and time for each call.

use super::table::{Row, Table, Unit};
use super::{ORCH, World, median};
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;
use std::time::{Duration, Instant};

/// About how many bytes of English text and JSON are one token.
const TOKEN: usize = 4;
const HELLO: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
const LIST: &str = r#"{"jsonrpc":"2.0","id":0,"method":"tools/list"}"#;

pub fn mcp(table: &mut Table) {
    let world = World::new();
    world.task("t-1");
    let mut command = world.command(ORCH, &["mcp"]);
    let begun = Instant::now();
    let mut server = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("orch starts");
    let mut input = server.stdin.take().expect("a pipe");
    let mut output = BufReader::new(server.stdout.take().expect("a pipe"));
    let mut call = |line: &str| -> (String, Duration) {
        let begun = Instant::now();
        input
            .write_all(format!("{line}\n").as_bytes())
            .expect("written");
        let mut answer = String::new();
        output.read_line(&mut answer).expect("an answer");
        (answer, begun.elapsed())
    };
    call(HELLO);
    let start = begun.elapsed().as_secs_f64() * 1000.0;
    let tools = call(LIST).0.len();
    let tool = |name: &str, arguments: &str| {
        format!(
            r#"{{"jsonrpc":"2.0","id":0,"method":"tools/call","params":{{"name":"{name}","arguments":{arguments}}}}}"#
        )
    };
    let mut timed = |line: &str| {
        let answers: Vec<(String, Duration)> = (0..super::RUNS).map(|_| call(line)).collect();
        (
            answers[0].0.len(),
            median(answers.iter().map(|(_, time)| *time).collect()),
        )
    };
    let (brief, brief_time) = timed(&tool("suggest", r#"{"task":"t-1","brief":true}"#));
    let (whole, whole_time) = timed(&tool("suggest", r#"{"task":"t-1"}"#));
    let (prompt, prompt_time) = timed(&tool("prompt", r#"{"task":"t-1"}"#));
    drop(input);
    server.wait().expect("ends");
    table.add(Row::ms("mcp, start to handshake", "1 task", start));
    let tokens = |what: &str, bytes: usize| {
        Row::new(
            &format!("mcp {what}, tokens"),
            "1 task",
            Unit::Count,
            (bytes / TOKEN) as f64,
        )
    };
    table.add(tokens("tools/list", tools));
    for (what, time, bytes) in [
        ("suggest, brief", brief_time, brief),
        ("suggest", whole_time, whole),
        ("prompt", prompt_time, prompt),
    ] {
        table.add(Row::ms(&format!("mcp {what}"), "1 task", time));
        // The text and the structured content are the same document.
        table.add(tokens(what, bytes));
    }
}

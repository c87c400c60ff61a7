//! What an agent pays for `orch mcp`: tokens in each conversation, and time for each call.

use super::{ORCH, World, median};
use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;
use std::time::{Duration, Instant};

/// About how many bytes of English text and JSON are one token.
const TOKEN: usize = 4;
const HELLO: &str = r#"{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},"clientInfo":{"name":"bench","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}"#;
const LIST: &str = r#"{"jsonrpc":"2.0","id":0,"method":"tools/list"}"#;

pub fn mcp() {
    let world = World::new();
    world.task("t-1");
    let mut command = world.command(ORCH, &["mcp"]);
    let begun = Instant::now();
    let mut server = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().expect("orch starts");
    let mut input = server.stdin.take().expect("a pipe");
    let mut output = BufReader::new(server.stdout.take().expect("a pipe"));
    let mut call = |line: &str| -> (String, Duration) {
        let begun = Instant::now();
        input.write_all(format!("{line}\n").as_bytes()).expect("written");
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
        (answers[0].0.len(), median(answers.iter().map(|(_, time)| *time).collect()))
    };
    let (brief, brief_time) = timed(&tool("suggest", r#"{"task":"t-1","brief":true}"#));
    let (whole, whole_time) = timed(&tool("suggest", r#"{"task":"t-1"}"#));
    let (prompt, prompt_time) = timed(&tool("prompt", r#"{"task":"t-1"}"#));
    drop(input);
    server.wait().expect("ends");
    println!("mcp, in bytes on the wire and about as many tokens as a quarter of them");
    println!("  start to handshake         {start:8.2}");
    println!(
        "  tools/list                          {tools:8} bytes {:6} tokens, in each conversation",
        tools / TOKEN
    );
    for (name, time, size) in [
        ("suggest, brief", brief_time, brief),
        ("suggest", whole_time, whole),
        ("prompt", prompt_time, prompt),
    ] {
        // The text and the structured content are the same document.
        println!("  {name:26} {time:8.2} {size:8} bytes {:6} tokens", size / TOKEN);
    }
    println!();
}

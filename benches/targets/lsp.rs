//! What a keystroke costs in the largest document that ships, beside `orch workflow check` from cold.

use super::table::{Row, Table, Target};
use super::{ORCH, World, median};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{ChildStdout, Stdio};
use std::time::{Duration, Instant};

const NAME: &str = "global-state-machine";

/// The beginning of a guard in it.
const GUARD: &str = "plan.changed";

/// The next message of the server.
fn message(output: &mut BufReader<ChildStdout>) -> String {
    let mut length = 0;
    loop {
        let mut line = String::new();
        output.read_line(&mut line).expect("a header");
        match line.trim().strip_prefix("Content-Length: ") {
            Some(number) => length = number.parse().expect("a number"),
            None if line.trim().is_empty() => break,
            None => {}
        }
    }
    let mut body = vec![0; length];
    output.read_exact(&mut body).expect("a message");
    String::from_utf8(body).expect("JSON")
}

pub fn lsp(table: &mut Table) {
    let world = World::new();
    let shipped = Path::new(env!("CARGO_MANIFEST_DIR")).join("system/workflows");
    let text = std::fs::read_to_string(shipped.join(format!("{NAME}.md"))).expect("it ships");
    // What ships is known to be sound; what somebody edits is not.
    let text = format!("{text}\nOur own.\n");
    let path = world.root().join(format!("system/workflows/{NAME}.md"));
    std::fs::create_dir_all(path.parent().expect("a directory")).expect("made");
    std::fs::write(&path, &text).expect("written");
    let cold = || {
        let begun = Instant::now();
        world
            .command(ORCH, &["workflow", "check", NAME])
            .output()
            .expect("orch starts");
        begun.elapsed()
    };
    let cold = median((0..super::RUNS).map(|_| cold()).collect());

    let mut server = world
        .command(ORCH, &["lsp"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("orch starts");
    let mut input = server.stdin.take().expect("a pipe");
    let mut output = BufReader::new(server.stdout.take().expect("a pipe"));
    let mut send = |body: serde_json::Value| {
        let body = body.to_string();
        write!(input, "Content-Length: {}\r\n\r\n{body}", body.len()).expect("sent");
        input.flush().expect("sent");
    };
    send(
        serde_json::json!({"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {"capabilities": {}}}),
    );
    message(&mut output);
    send(serde_json::json!({"jsonrpc": "2.0", "method": "initialized", "params": {}}));
    let uri = format!("file://{}", path.display());
    send(
        serde_json::json!({"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {
        "textDocument": {"uri": uri, "languageId": "markdown", "version": 0, "text": text}}}),
    );
    message(&mut output);
    // A letter more, and one less, in a guard.
    let at = text.find(GUARD).expect("it is there") + GUARD.len();
    let line = text[..at].matches('\n').count();
    let column = at - text[..at].rfind('\n').map_or(0, |end| end + 1);
    let mut times: Vec<Duration> = Vec::new();
    for version in 1..=2 * super::RUNS {
        let (end, new) = if version % 2 == 1 {
            (column, "x")
        } else {
            (column + 1, "")
        };
        // The findings that take longer come first to rest.
        std::thread::sleep(Duration::from_millis(100));
        let change = serde_json::json!({"range": {"start": {"line": line, "character": column},
            "end": {"line": line, "character": end}}, "text": new});
        let begun = Instant::now();
        send(
            serde_json::json!({"jsonrpc": "2.0", "method": "textDocument/didChange", "params": {
            "textDocument": {"uri": uri, "version": version}, "contentChanges": [change]}}),
        );
        while !message(&mut output).contains(&format!("\"version\":{version}")) {}
        times.push(begun.elapsed());
    }
    drop(input);
    server.wait().expect("ends");
    table.add(
        Row::ms("lsp, a diagnostic after a keystroke", NAME, median(times))
            .beside("orch workflow check", cold)
            .target(Target::MostTimes(0.1)),
    );
}

//! Conversations with the server, as a client has them.

use lsp_server::{Connection, Message, Notification, Request};
use orch_git::Environment;
use serde_json::{Value, json};
use std::thread::JoinHandle;
use std::time::Duration;

const PATIENCE: Duration = Duration::from_secs(20);

const DOCUMENT: &str = r#"# Notes

```toml orch
[workflow]
initial = "write"

[artifact.note]
path = "note.json"
schema = "note"

[artifact.note.facts]
good = "data.good"

[phase.write]
produces = ["note"]

[phase.done]
terminal = true

[[rule]]
id = "finished"
from = "write"
when = "note.ready && note.good"
to = "done"
because = "the note is good"
```

<!-- orch:diagram -->

```mermaid
stateDiagram-v2
    [*] --> write
    write --> done: finished
    done --> [*]
```

<!-- /orch:diagram -->

```toml orch-test
[[test]]
name = "a good note"
phase = "write"
given.note = { good = true }
expect = { rule = "finished", phase = "done" }
```
"#;

const SCHEMA: &str = r#"{"$schema": "https://json-schema.org/draft/2020-12/schema", "type": "object",
"required": ["good"], "additionalProperties": false, "properties": {
"good": {"type": "boolean", "description": "Whether it will do."}, "kind": {"enum": ["short", "long"]}}}
"#;

const SETTINGS: &str = "version = 1\n\n[[root]]\npath = \"tasks/*\"\nworkflow = \"notes\"\n";

/// A client in a directory with one workflow and one task.
struct Client {
    directory: tempfile::TempDir,
    connection: Connection,
    server: JoinHandle<()>,
    next: i32,
}

impl Client {
    fn new(encodings: &[&str]) -> Self {
        let directory = tempfile::tempdir().expect("a directory");
        for (path, text) in [
            ("orch.toml", SETTINGS),
            ("system/workflows/notes.md", DOCUMENT),
            ("system/schemas/note.schema.json", SCHEMA),
            ("tasks/n-1/note.json", "{\"good\": true}\n"),
        ] {
            let path = directory.path().join(path);
            std::fs::create_dir_all(path.parent().expect("a directory")).expect("made");
            std::fs::write(path, text).expect("written");
        }
        let (connection, of_server) = Connection::memory();
        let server = std::thread::spawn(move || {
            orch_lsp::serve(&of_server, Environment::default(), "1").expect("served");
        });
        let mut client = Self {
            directory,
            connection,
            server,
            next: 0,
        };
        let capabilities = json!({"general": {"positionEncodings": encodings}});
        let found = client.ask("initialize", json!({"capabilities": capabilities}));
        let expected = if encodings.contains(&"utf-8") {
            "utf-8"
        } else {
            "utf-16"
        };
        assert_eq!(found["capabilities"]["positionEncoding"], expected);
        client.tell("initialized", json!({}));
        client
    }

    fn uri(&self, path: &str) -> String {
        let root = self.directory.path().canonicalize().expect("a path");
        format!("file://{}", root.join(path).display())
    }

    fn tell(&self, method: &str, params: Value) {
        let notification = Notification::new(method.to_owned(), params);
        self.connection
            .sender
            .send(notification.into())
            .expect("sent");
    }

    fn ask(&mut self, method: &str, params: Value) -> Value {
        self.next += 1;
        let request = Request::new(self.next.into(), method.to_owned(), params);
        let id = request.id.clone();
        self.connection.sender.send(request.into()).expect("sent");
        loop {
            match self
                .connection
                .receiver
                .recv_timeout(PATIENCE)
                .expect("an answer")
            {
                Message::Response(response) if response.id == id => {
                    return match response.response_result {
                        Ok(value) => value,
                        Err(error) => json!({"error": error.message, "code": error.code}),
                    };
                }
                _ => {}
            }
        }
    }

    fn open(&self, path: &str, text: &str) {
        let document =
            json!({"uri": self.uri(path), "languageId": "x", "version": 1, "text": text});
        self.tell("textDocument/didOpen", json!({"textDocument": document}));
    }

    fn change(&self, path: &str, version: i32, text: &str) {
        self.tell(
            "textDocument/didChange",
            json!({"textDocument": {"uri": self.uri(path), "version": version}, "contentChanges": [{"text": text}]}),
        );
    }

    /// The next findings about a version of a file: code, severity and line of each.
    fn findings(&self, path: &str, version: i32) -> Vec<(String, u64, u64)> {
        let found = self.diagnostics(path, version);
        let shown = found.iter().map(|one| {
            let number = |value: &Value| value.as_u64().expect("a number");
            let code = one["code"].as_str().expect("a code").to_owned();
            (
                code,
                number(&one["severity"]),
                number(&one["range"]["start"]["line"]),
            )
        });
        shown.collect()
    }

    fn diagnostics(&self, path: &str, version: i32) -> Vec<Value> {
        let uri = self.uri(path);
        loop {
            let message = self.connection.receiver.recv_timeout(PATIENCE);
            let Message::Notification(notification) = message.expect("findings") else {
                continue;
            };
            let params = notification.params;
            if params["uri"] == uri && params["version"] == version {
                return params["diagnostics"].as_array().expect("a list").clone();
            }
        }
    }

    /// Asks about the place of a marked word: `<>` stands before the character.
    fn at(&self, marked: &str) -> Value {
        let before = &marked[..marked.find("<>").expect("a mark")];
        let line = before.matches('\n').count();
        let column = before.rsplit('\n').next().unwrap_or_default();
        json!({
            "textDocument": {"uri": self.uri("system/workflows/notes.md")},
            "position": {"line": line, "character": column.encode_utf16().count()},
        })
    }

    fn end(mut self) {
        assert_eq!(self.ask("shutdown", Value::Null), Value::Null);
        self.tell("exit", Value::Null);
        self.server.join().expect("the server ends");
    }
}

const PAGE: &str = "system/workflows/notes.md";

fn applied(text: &str, edits: &Value) -> String {
    let offset = |position: &Value| {
        let line = usize::try_from(position["line"].as_u64().expect("a line")).expect("small");
        let character = position["character"].as_u64().expect("a column");
        let start: usize = text.split_inclusive('\n').take(line).map(str::len).sum();
        start + usize::try_from(character).expect("small")
    };
    let mut edits: Vec<(usize, usize, &str)> = edits
        .as_array()
        .expect("edits")
        .iter()
        .map(|edit| {
            let range = &edit["range"];
            let new = edit["newText"].as_str().expect("a text");
            (offset(&range["start"]), offset(&range["end"]), new)
        })
        .collect();
    edits.sort_unstable();
    let mut text = text.to_owned();
    for (start, end, new) in edits.into_iter().rev() {
        text.replace_range(start..end, new);
    }
    text
}

#[test]
fn findings_follow_what_is_typed_in_each_kind_of_file() {
    let client = Client::new(&["utf-16"]);
    client.open(PAGE, DOCUMENT);
    assert_eq!(client.findings(PAGE, 1), []);
    // Of what is superseded before it is checked, nothing is told.
    for (version, word) in [(2, "n"), (3, "no"), (4, "note.redy")] {
        client.change(PAGE, version, &DOCUMENT.replace("note.ready", word));
    }
    assert_eq!(
        client.findings(PAGE, 4),
        [("guard-unknown-name".to_owned(), 1, 22)]
    );
    client.change(
        PAGE,
        5,
        &DOCUMENT.replace("note.good\"", "note.data.kind == 'shrt'\""),
    );
    let found = client.findings(PAGE, 5);
    assert!(
        found.contains(&("guard-constant".to_owned(), 2, 22)),
        "{found:?}"
    );
    client.change(
        PAGE,
        6,
        &DOCUMENT.replace("write --> done: finished", "x --> y: z"),
    );
    let found = client.findings(PAGE, 6);
    assert!(
        found.iter().any(|found| found.0 == "workflow-diagram"),
        "{found:?}"
    );

    client.open("orch.toml", &SETTINGS.replace("workflow = ", "worflow = "));
    let found = client.findings("orch.toml", 1);
    assert!(
        found.contains(&("config-unknown-key".to_owned(), 1, 4)),
        "{found:?}"
    );

    let artifact = "tasks/n-1/note.json";
    client.open(artifact, "{\n  \"good\": 1\n}\n");
    assert_eq!(
        client.findings(artifact, 1),
        [("schema-mismatch".to_owned(), 1, 1)]
    );
    client.change(artifact, 2, "{\"good\": ");
    assert_eq!(client.findings(artifact, 2)[0].0, "json-syntax");
    client.open("README.md", "# nothing\n");
    assert_eq!(client.findings("README.md", 1), []);
    client.end();
}

#[test]
fn a_file_outside_every_repository_is_left_alone() {
    let client = Client::new(&[]);
    let other = tempfile::tempdir().expect("a directory");
    let uri = format!("file://{}/a.md", other.path().display());
    let document = json!({"uri": uri, "languageId": "x", "version": 1, "text": DOCUMENT});
    client.tell("textDocument/didOpen", json!({"textDocument": document}));
    client.open(PAGE, DOCUMENT);
    assert_eq!(client.findings(PAGE, 1), []);
    client.end();
}

#[test]
fn names_are_explained_completed_and_found() {
    let mut client = Client::new(&["utf-8", "utf-16"]);
    client.open("tasks/n-1/note.json", "{\"good\": true}\n");
    client.open(PAGE, DOCUMENT);
    client.findings(PAGE, 1);
    for (marked, expected) in [
        (
            DOCUMENT.replace("note.ready", "<>note.ready"),
            "artifact `note`",
        ),
        (
            DOCUMENT.replace("note.ready", "note.re<>ady"),
            "`note.ready`: true or false",
        ),
        (
            DOCUMENT.replace("note.ready", "note.re<>ady"),
            "in task `n-1`: `true`",
        ),
        (
            DOCUMENT.replace("data.good", "data.go<>od"),
            "Whether it will do.",
        ),
        (DOCUMENT.replace("to = ", "t<>o = "), "`to` of `[rule]`"),
        (
            DOCUMENT.replace("from = \"write", "from = \"wr<>ite"),
            "to `done`: the note is good",
        ),
    ] {
        let found = client.ask("textDocument/hover", client.at(&marked));
        let found = found["contents"]["value"].as_str().unwrap_or_default();
        assert!(found.contains(expected), "{expected}: {found}");
    }
    for (version, old, marked, expected) in [
        (2, "note.ready", "note.<>", "ready"),
        (3, "note.ready", "note.data.<>", "kind"),
        (4, "note.ready", "no<>", "note"),
        (5, "note.ready", "no<>", "size"),
        (6, "to = \"done\"", "to = \"<>\"", "done"),
        (7, "to = \"done\"", "t<>", "because"),
        (8, "produces = [\"note\"]", "produces = [\"<>\"]", "note"),
        (9, "schema = \"note\"", "schema = \"<>\"", "plan-review"),
        (10, "rule = \"finished\"", "rule = \"<>\"", "finished"),
        (11, "phase = \"done\" }", "phase = \"<>\" }", "write"),
        (
            12,
            "phase = \"done\" }",
            "findings = [\"<>\"] }",
            "json-syntax",
        ),
        (13, "phase = \"done\" }", "who = \"<>\" }", "human"),
        (14, "expect = {", "<>", "lapsed"),
    ] {
        let marked = DOCUMENT.replace(old, marked);
        client.change(PAGE, version, &marked.replace("<>", ""));
        let found = client.ask("textDocument/completion", client.at(&marked));
        let labels: Vec<&str> = found
            .as_array()
            .expect("offers")
            .iter()
            .filter_map(|offer| offer["label"].as_str())
            .collect();
        assert!(labels.contains(&expected), "{marked}: {labels:?}");
    }
    client.change(PAGE, 15, DOCUMENT);
    for (marked, line, file) in [
        (
            DOCUMENT
                .replace("<>", "")
                .replace("note.ready", "no<>te.ready"),
            6,
            PAGE,
        ),
        (DOCUMENT.replace("to = \"done", "to = \"do<>ne"), 16, PAGE),
        (
            DOCUMENT.replace("schema = \"note", "schema = \"no<>te"),
            0,
            "system/schemas/note.schema.json",
        ),
        (
            DOCUMENT.replace("note.ready", "note.re<>ady"),
            0,
            "system/schemas/note.schema.json",
        ),
    ] {
        let found = client.ask("textDocument/definition", client.at(&marked));
        assert_eq!(found["uri"], client.uri(file));
        assert_eq!(found["range"]["start"]["line"], line);
    }
    let at = client.at(&DOCUMENT.replace("[artifact.note]", "[artifact.no<>te]"));
    let found = client.ask("textDocument/references", at);
    assert_eq!(found.as_array().map(Vec::len), Some(6), "{found}");
    client.end();
}

#[test]
fn a_renamed_artifact_keeps_its_record_and_the_document_stays_sound() {
    let mut client = Client::new(&[]);
    client.open(PAGE, DOCUMENT);
    client.findings(PAGE, 1);
    let mut at = client.at(&DOCUMENT.replace("note.good\"", "no<>te.good\""));
    at["newName"] = json!("text");
    let found = client.ask("textDocument/rename", at.clone());
    let renamed = applied(DOCUMENT, &found["changes"][client.uri(PAGE)]);
    for line in [
        "[artifact.text]\naliases = [\"note\"]\n",
        "[artifact.text.facts]",
        "when = \"text.ready && text.good\"",
        "produces = [\"text\"]",
        "given.text = { good = true }",
        "path = \"note.json\"",
        "schema = \"note\"",
    ] {
        assert!(renamed.contains(line), "{line} in {renamed}");
    }
    client.change(PAGE, 2, &renamed);
    assert_eq!(client.findings(PAGE, 2), []);

    at["newName"] = json!("not a name");
    client.change(PAGE, 3, DOCUMENT);
    let refused = client.ask("textDocument/rename", at);
    assert!(refused["error"].is_string(), "{refused}");

    let mut at = client.at(&DOCUMENT.replace("[phase.write]", "[phase.wr<>ite]"));
    at["newName"] = json!("draft");
    let found = client.ask("textDocument/rename", at);
    let renamed = applied(DOCUMENT, &found["changes"][client.uri(PAGE)]);
    client.change(PAGE, 4, &renamed);
    // Only the diagram is behind, and formatting redraws it.
    let found = client.findings(PAGE, 4);
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].0, "workflow-diagram");
    let at = json!({"textDocument": {"uri": client.uri(PAGE)}, "options": {}});
    let edits = client.ask("textDocument/formatting", at);
    client.change(PAGE, 5, &applied(&renamed, &edits));
    assert_eq!(client.findings(PAGE, 5), []);
    client.end();
}

#[test]
fn hints_become_actions_and_what_is_cancelled_is_not_answered() {
    let mut client = Client::new(&[]);
    let text = DOCUMENT
        .replace("note.ready", "note.redy")
        .replace("to = \"done\"", "to = \"dne\"");
    client.open(PAGE, &text);
    let found = client.diagnostics(PAGE, 1);
    let asked = json!({
        "textDocument": {"uri": client.uri(PAGE)},
        "range": found[0]["range"],
        "context": {"diagnostics": found},
    });
    let actions = client.ask("textDocument/codeAction", asked);
    let mut mended = text.clone();
    let mut edits = Vec::new();
    for action in actions.as_array().expect("actions") {
        let own = action["edit"]["changes"][client.uri(PAGE)].as_array();
        edits.extend(own.expect("edits").iter().cloned());
    }
    mended = applied(&mended, &Value::from(edits));
    assert_eq!(mended, DOCUMENT);

    let request = Request::new(99.into(), "textDocument/hover".to_owned(), client.at("<>"));
    client.tell("$/cancelRequest", json!({"id": 99}));
    client.connection.sender.send(request.into()).expect("sent");
    let unknown = client.ask("textDocument/unheardOf", json!({}));
    assert_eq!(unknown["code"], -32601);
    client.end();
}

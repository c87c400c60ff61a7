//! The conversation with the client.

use crate::edits::{actions, formatted, rename, renameable};
use crate::keys::keys_by_schema;
use crate::names::{completions, hover, name_at, path_at};
use crate::project::{CheckDepth, FileKind, OpenDocument, Project, diagnostic};
use crate::text::{LinedText, PositionEncoding, path_of, uri_of};
use lsp_server::{Connection, ErrorCode, Message, Notification, Request, RequestId, Response};
use orch_base::{Code, Diagnostic, Error, RepoPath};
use orch_core::decide::value_of;
use orch_core::workflow::{Guard, SymbolKind};
use orch_git::Environment;
use serde_json::{Value, json};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// A text that is open in the editor.
struct Buffer {
    path: PathBuf,
    text: LinedText,
    version: Value,
    /// What was found wrong with it last.
    findings: Vec<Diagnostic>,
}

struct Server<'c> {
    connection: &'c Connection,
    environment: Environment,
    encoding: PositionEncoding,
    buffers: BTreeMap<String, Buffer>,
    projects: Vec<Project>,
    /// The id of the task whose values are shown, if the client chose one.
    task: Option<String>,
    /// The buffers of which the findings are out of date.
    changed: BTreeSet<String>,
    /// The addresses for which findings were published because of each buffer.
    published: BTreeMap<String, BTreeSet<String>>,
}

/// Why a request has no answer.
struct Refused(ErrorCode, String);

/// Serves a client until it says goodbye. Returns an error if the connection breaks.
pub fn serve(
    connection: &Connection,
    environment: Environment,
    version: &'static str,
) -> Result<(), Error> {
    let broken = |error: lsp_server::ProtocolError| Error::new(Code::Io, error.to_string());
    let (id, params) = match connection.initialize_start() {
        Ok(asked) => asked,
        // Nobody has begun.
        Err(error) if error.channel_is_disconnected() => return Ok(()),
        Err(error) => return Err(broken(error)),
    };
    let encoding = PositionEncoding::of(&params["capabilities"]);
    let capabilities = json!({
        "capabilities": capabilities(encoding),
        "serverInfo": {"name": "orch", "version": version},
    });
    connection
        .initialize_finish(id, capabilities)
        .map_err(broken)?;
    let mut server = Server {
        connection,
        environment,
        encoding,
        buffers: BTreeMap::new(),
        projects: Vec::new(),
        task: task_of(&params["initializationOptions"]),
        changed: BTreeSet::new(),
        published: BTreeMap::new(),
    };
    server.converse();
    Ok(())
}

/// The command that chooses the task whose values are shown.
const CHOOSE_TASK: &str = "orch.task";

fn capabilities(encoding: PositionEncoding) -> Value {
    json!({
        "positionEncoding": encoding.name(),
        "textDocumentSync": {"openClose": true, "change": 2, "save": {"includeText": false}},
        "hoverProvider": true,
        "completionProvider": {"triggerCharacters": [".", "\"", "'"]},
        "definitionProvider": true,
        "referencesProvider": true,
        "renameProvider": {"prepareProvider": true},
        "codeActionProvider": {"codeActionKinds": ["quickfix"]},
        "documentFormattingProvider": true,
        "executeCommandProvider": {"commands": [CHOOSE_TASK]},
        "workspace": {"workspaceFolders": {"supported": true}},
    })
}

fn task_of(settings: &Value) -> Option<String> {
    let own = settings.get("orch").unwrap_or(settings);
    own["task"].as_str().map(str::to_owned)
}

impl Server<'_> {
    fn converse(&mut self) {
        while let Ok(first) = self.connection.receiver.recv() {
            let more = self.connection.receiver.try_iter();
            let messages: Vec<Message> = std::iter::once(first).chain(more).collect();
            let cancelled: Vec<RequestId> = messages.iter().filter_map(cancelled).collect();
            for message in messages {
                match message {
                    Message::Request(request) if cancelled.contains(&request.id) => {
                        let refused = Refused(ErrorCode::RequestCanceled, "cancelled".to_owned());
                        self.reply(request.id, Err(refused));
                    }
                    Message::Request(request) => self.request(request),
                    Message::Notification(notification) if notification.method == "exit" => return,
                    Message::Notification(notification) => self.notification(&notification),
                    Message::Response(_) => {}
                }
            }
            self.publish();
        }
    }

    fn reply(&self, id: RequestId, answer: Result<Value, Refused>) {
        let response = match answer {
            Ok(value) => Response::new_ok(id, value),
            Err(Refused(code, message)) => Response::new_err(id, code as i32, message),
        };
        // A client that is gone needs no answer.
        let _ = self.connection.sender.send(response.into());
    }

    fn notification(&mut self, notification: &Notification) {
        let params = &notification.params;
        let document = &params["textDocument"];
        let Some(uri) = document["uri"].as_str().map(str::to_owned) else {
            match notification.method.as_str() {
                "workspace/didChangeConfiguration" => self.task = task_of(&params["settings"]),
                "workspace/didChangeWatchedFiles" => self.reload(),
                _ => {}
            }
            return;
        };
        match notification.method.as_str() {
            "textDocument/didOpen" => {
                let text = document["text"].as_str().unwrap_or_default().to_owned();
                if let Some(path) = path_of(&uri) {
                    let buffer = Buffer {
                        path,
                        text: LinedText::new(text, self.encoding),
                        version: document["version"].clone(),
                        findings: Vec::new(),
                    };
                    self.buffers.insert(uri.clone(), buffer);
                    self.changed.insert(uri);
                }
            }
            "textDocument/didChange" => {
                if let Some(buffer) = self.buffers.get_mut(&uri) {
                    let changes = params["contentChanges"].as_array();
                    for change in changes.into_iter().flatten() {
                        buffer.text.change(change);
                    }
                    buffer.version = document["version"].clone();
                    self.changed.insert(uri);
                }
            }
            "textDocument/didSave" => self.reload(),
            "textDocument/didClose" => {
                self.buffers.remove(&uri);
                self.changed.remove(&uri);
                for target in self.published.remove(&uri).unwrap_or_default() {
                    self.send_findings(&target, &Value::Null, &[]);
                }
            }
            _ => {}
        }
    }

    /// Reads all settings again, and checks all buffers: one may rest on another.
    fn reload(&mut self) {
        for project in &mut self.projects {
            // What cannot be read now stays as it was; the next save tries again.
            let _ = project.reload();
        }
        self.changed.extend(self.buffers.keys().cloned());
    }

    /// The project of a file, opened at first use; its index.
    fn project_of(&mut self, path: &std::path::Path) -> Option<usize> {
        let known = self.projects.iter().enumerate();
        let around = known.filter(|(_, project)| path.starts_with(&project.root));
        let nearest = around.max_by_key(|(_, project)| project.root.as_os_str().len());
        if let Some((at, project)) = nearest {
            let mut between = path.ancestors().skip(1);
            let is_inner = between
                .by_ref()
                .take_while(|above| *above != project.root)
                .any(|above| above.join(".git").exists());
            if !is_inner {
                return Some(at);
            }
        }
        let project = Project::around(path, &self.environment).ok()??;
        if !path.starts_with(&project.root) {
            return None;
        }
        self.projects.push(project);
        Some(self.projects.len() - 1)
    }

    /// Publishes what is wrong with the buffers that have changed, unless a message waits that may change it again.
    fn publish(&mut self) {
        for depth in [CheckDepth::Fast, CheckDepth::Whole] {
            for uri in self.changed.clone() {
                if depth == CheckDepth::Whole && !self.connection.receiver.is_empty() {
                    return;
                }
                let before = self.buffers.get(&uri).map(|buffer| buffer.findings.clone());
                self.check(&uri, depth);
                let Some(buffer) = self.buffers.get(&uri) else {
                    continue;
                };
                if depth == CheckDepth::Fast || before.as_ref() != Some(&buffer.findings) {
                    self.publish_of(&uri);
                }
                if depth == CheckDepth::Whole {
                    self.changed.remove(&uri);
                }
            }
        }
    }

    fn check(&mut self, uri: &str, depth: CheckDepth) {
        let Some(path) = self.buffers.get(uri).map(|buffer| buffer.path.clone()) else {
            return;
        };
        let mut findings = Vec::new();
        if let Some(at) = self.project_of(&path) {
            let project = &mut self.projects[at];
            let texts = inside(project, &self.buffers);
            if let (Some(path), Some(buffer)) = (project.inside(&path), self.buffers.get(uri)) {
                findings = project.findings(&path, &buffer.text.text, &texts, depth);
            }
        }
        if let Some(buffer) = self.buffers.get_mut(uri) {
            buffer.findings = Diagnostic::in_order(findings);
        }
    }

    fn publish_of(&mut self, uri: &str) {
        let Some(buffer) = self.buffers.get(uri) else {
            return;
        };
        let path = buffer.path.clone();
        let version = buffer.version.clone();
        let Some(at) = self.project_of(&path) else {
            self.send_findings(uri, &version, &[]);
            return;
        };
        let project = &self.projects[at];
        let own = project.inside(&path);
        let buffer = &self.buffers[uri];
        let mut by_target: BTreeMap<String, Vec<Value>> = BTreeMap::new();
        by_target.insert(uri.to_owned(), Vec::new());
        for finding in &buffer.findings {
            let place = finding.place.as_ref().map(|place| place.path.as_str());
            let is_own = place.is_none() || place == own.as_ref().map(RepoPath::as_str);
            if is_own {
                let shown = diagnostic(finding, &buffer.text);
                by_target.entry(uri.to_owned()).or_default().push(shown);
                continue;
            }
            let file = project.root.join(place.unwrap_or_default());
            let target = uri_of(&file);
            // An open file has findings of its own.
            if self.buffers.contains_key(&target) {
                continue;
            }
            let text = std::fs::read_to_string(&file).unwrap_or_default();
            let shown = diagnostic(finding, &LinedText::new(text, self.encoding));
            by_target.entry(target).or_default().push(shown);
        }
        let targets: BTreeSet<String> = by_target.keys().cloned().collect();
        let before = self.published.insert(uri.to_owned(), targets.clone());
        for gone in before.unwrap_or_default().difference(&targets) {
            self.send_findings(gone, &Value::Null, &[]);
        }
        for (target, findings) in by_target {
            let version = if target == uri {
                &version
            } else {
                &Value::Null
            };
            self.send_findings(&target, version, &findings);
        }
    }

    fn send_findings(&self, uri: &str, version: &Value, findings: &[Value]) {
        let mut params = json!({"uri": uri, "diagnostics": findings});
        if !version.is_null() {
            params["version"] = version.clone();
        }
        let method = "textDocument/publishDiagnostics".to_owned();
        let notification = Notification::new(method, params);
        let _ = self.connection.sender.send(notification.into());
    }

    fn request(&mut self, request: Request) {
        let answer = self.answer(&request);
        self.reply(request.id, answer);
    }

    fn answer(&mut self, request: &Request) -> Result<Value, Refused> {
        let params = &request.params;
        match request.method.as_str() {
            "shutdown" => Ok(Value::Null),
            "workspace/executeCommand" if params["command"] == CHOOSE_TASK => {
                self.task = params["arguments"][0].as_str().map(str::to_owned);
                Ok(Value::Null)
            }
            "textDocument/hover" => Ok(self.hover(params)),
            "textDocument/codeAction" => {
                let uri = params["textDocument"]["uri"].as_str().unwrap_or_default();
                let Some(buffer) = self.buffers.get(uri) else {
                    return Ok(Value::Null);
                };
                let text = buffer.text.clone();
                let named = params["context"]["diagnostics"].as_array();
                let named = named.cloned().unwrap_or_default();
                let of_document = self.in_document(params, |open, text, _| {
                    Ok(Value::from(actions(Some(open), text, uri, &named)))
                });
                of_document.unwrap_or_else(|| Ok(Value::from(actions(None, &text, uri, &named))))
            }
            "textDocument/completion" => {
                let in_document = self.in_document(params, |open, text, offset| {
                    Ok(Value::from(completions(open, text, offset)))
                });
                in_document.unwrap_or_else(|| Ok(Value::from(self.setting_keys(params))))
            }
            "textDocument/definition" => self.definition(params),
            "textDocument/references" => self.on_document(params, |open, text, offset| {
                let uri = &params["textDocument"]["uri"];
                let all = name_at(open, offset).map(|there| there.all);
                let all = all.into_iter().flatten();
                let all = all.map(|one| json!({"uri": uri, "range": text.range(&one.span)}));
                Ok(all.collect())
            }),
            "textDocument/prepareRename" => self.on_document(params, |open, text, offset| {
                let there = renameable(open, offset);
                Ok(there.map_or(
                    Value::Null,
                    |(bytes, name)| json!({"range": text.range(&bytes), "placeholder": name}),
                ))
            }),
            "textDocument/rename" => self.on_document(params, |open, text, offset| {
                let new = params["newName"].as_str().unwrap_or_default();
                let uri = params["textDocument"]["uri"].as_str().unwrap_or_default();
                let edits = rename(open, text, offset, new)
                    .map_err(|why| Refused(ErrorCode::RequestFailed, why))?;
                Ok(json!({"changes": {uri: edits}}))
            }),
            "textDocument/formatting" => self.on_document(params, |open, text, _| {
                Ok(Value::from(formatted(open, text)))
            }),
            other => Err(Refused(
                ErrorCode::MethodNotFound,
                format!("orch does not know `{other}`"),
            )),
        }
    }

    /// The keys of `orch.toml` that may be written at a place; nothing in another file.
    fn setting_keys(&mut self, params: &Value) -> Vec<Value> {
        let uri = params["textDocument"]["uri"].as_str().unwrap_or_default();
        let Some(path) = self.buffers.get(uri).map(|buffer| buffer.path.clone()) else {
            return Vec::new();
        };
        let project = self.project_of(&path).map(|at| &self.projects[at]);
        let path = project.and_then(|project| Some((project, project.inside(&path)?)));
        let is_setting =
            path.is_some_and(|(project, path)| project.kind(&path) == FileKind::Settings);
        match self.buffers.get(uri) {
            Some(buffer) if is_setting => {
                let offset = buffer.text.offset(&params["position"]);
                keys_by_schema("input/orch-toml", &buffer.text.text[..offset])
            }
            _ => Vec::new(),
        }
    }

    fn on_document(
        &mut self,
        params: &Value,
        answer: impl FnOnce(&mut OpenDocument<'_>, &LinedText, usize) -> Result<Value, Refused>,
    ) -> Result<Value, Refused> {
        self.in_document(params, answer).unwrap_or(Ok(Value::Null))
    }

    /// Answers a question about a place in a workflow document; `None` if the buffer is no such document.
    fn in_document(
        &mut self,
        params: &Value,
        answer: impl FnOnce(&mut OpenDocument<'_>, &LinedText, usize) -> Result<Value, Refused>,
    ) -> Option<Result<Value, Refused>> {
        let uri = params["textDocument"]["uri"].as_str()?;
        let path = self.buffers.get(uri)?.path.clone();
        let at = self.project_of(&path)?;
        let project = &mut self.projects[at];
        let path = project.inside(&path)?;
        let FileKind::Workflow(name) = project.kind(&path) else {
            return None;
        };
        let texts = inside(project, &self.buffers);
        let text = &self.buffers.get(uri)?.text;
        let mut open = project.document(&name, &path, &text.text, &texts);
        let offset = text.offset(&params["position"]);
        Some(answer(&mut open, text, offset))
    }

    fn hover(&mut self, params: &Value) -> Value {
        let mut parts = Vec::new();
        let mut range = Value::Null;
        let mut names = None;
        let said = self.on_document(params, |open, text, offset| {
            names = path_at(open, offset).map(|path| path.names);
            Ok(hover(open, offset).map_or(Value::Null, |(said, bytes)| {
                json!([said, text.range(&bytes)])
            }))
        });
        if let Ok(Value::Array(said)) = said {
            parts.extend(said[0].as_str().map(str::to_owned));
            range = said[1].clone();
        }
        parts.extend(names.and_then(|names| self.value(params, &names)));
        let uri = params["textDocument"]["uri"].as_str().unwrap_or_default();
        if let Some(buffer) = self.buffers.get(uri) {
            let offset = buffer.text.offset(&params["position"]);
            for finding in &buffer.findings {
                let Some(place) = &finding.place else {
                    continue;
                };
                let bytes = buffer.text.bytes_of(place);
                if bytes.start <= offset && offset <= bytes.end {
                    let entry = finding.code.entry();
                    parts.push(format!(
                        "**{}**: {} {} {}",
                        entry.text, entry.meaning, entry.cause, entry.remedy
                    ));
                }
            }
        }
        if parts.is_empty() {
            return Value::Null;
        }
        let mut answer =
            json!({"contents": {"kind": "markdown", "value": parts.join("\n\n---\n\n")}});
        if !range.is_null() {
            answer["range"] = range;
        }
        answer
    }

    /// The value of a path for the chosen task, or for the one of which an artifact was opened last.
    fn value(&mut self, params: &Value, names: &[String]) -> Option<String> {
        let uri = params["textDocument"]["uri"].as_str()?;
        let path = self.buffers.get(uri)?.path.clone();
        let at = self.project_of(&path)?;
        let project = &self.projects[at];
        let FileKind::Workflow(workflow) = project.kind(&project.inside(&path)?) else {
            return None;
        };
        let task = match &self.task {
            Some(id) => {
                let (tasks, _) = project.workspace.finder().readable_tasks().ok()?;
                tasks.into_iter().find(|task| task.id.as_str() == id)?
            }
            None => project.task.clone()?,
        };
        let sight = project.workspace.look(&task).ok()?;
        if sight.workflow().name.as_str() != workflow {
            return None;
        }
        let guard = Guard::parse(&names.join(".")).ok()?;
        let facts = &sight.observed.facts;
        let id = &sight.task.id;
        Some(
            match value_of(sight.workflow(), &sight.recorded, facts, &guard) {
                Ok(value) => format!("in task `{id}`: `{}`", shortened(&value.to_string())),
                Err(why) => format!("in task `{id}`: {why}"),
            },
        )
    }

    fn definition(&mut self, params: &Value) -> Result<Value, Refused> {
        let uri = params["textDocument"]["uri"].clone();
        let mut file = None;
        let found = self.on_document(params, |open, text, offset| {
            let Some(there) = name_at(open, offset) else {
                let names = path_at(open, offset).map(|path| path.names);
                file = names.and_then(|names| schema_of(open, &names));
                return Ok(Value::Null);
            };
            file = match there.symbol.kind {
                SymbolKind::Schema => Some(format!("schemas/{}.schema.json", there.symbol.name)),
                SymbolKind::Agent => Some(format!("agents/{}.md", there.symbol.name)),
                _ => None,
            };
            let defined = there.all.iter().find(|one| one.is_definition);
            Ok(defined.map_or(
                Value::Null,
                |one| json!({"uri": uri, "range": text.range(&one.span)}),
            ))
        })?;
        let Some(file) = file else { return Ok(found) };
        let path = params["textDocument"]["uri"].as_str().and_then(path_of);
        let at = path.and_then(|path| self.project_of(&path));
        let target = at.and_then(|at| self.projects[at].file_of(&file));
        let start = json!({"line": 0, "character": 0});
        Ok(target.map_or(
            Value::Null,
            |target| json!({"uri": target, "range": {"start": start, "end": start}}),
        ))
    }
}

/// The file of the schema that describes a path.
fn schema_of(open: &OpenDocument<'_>, names: &[String]) -> Option<String> {
    let workflow = open.workflow?;
    let schema = match names {
        [state, ..] if state == "state" => workflow.state.schema.as_ref()?,
        [artifact, ..] => {
            let mut artifacts = workflow.artifacts.iter();
            let artifact = artifacts.find(|known| known.name.as_str() == artifact)?;
            artifact.schema.as_ref()?
        }
        [] => return None,
    };
    Some(format!("schemas/{}.schema.json", schema.name))
}

/// The open texts of a project, by their paths.
fn inside<'b>(
    project: &Project,
    buffers: &'b BTreeMap<String, Buffer>,
) -> Vec<(RepoPath, &'b str)> {
    let buffers = buffers.values();
    let found = buffers.filter_map(|buffer| {
        let path = project.inside(&buffer.path)?;
        Some((path, buffer.text.text.as_str()))
    });
    found.collect()
}

/// The most of a value that is shown.
const MOST_SHOWN: usize = 200;

fn shortened(text: &str) -> String {
    match text.char_indices().nth(MOST_SHOWN) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// The request that a message cancels.
fn cancelled(message: &Message) -> Option<RequestId> {
    let Message::Notification(notification) = message else {
        return None;
    };
    if notification.method != "$/cancelRequest" {
        return None;
    }
    serde_json::from_value(notification.params["id"].clone()).ok()
}

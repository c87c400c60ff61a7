//! `/api/loops/v2`: the routes of an older tool, over the tasks of the workflow `ccw-loop`.
//!
//! Each route is written with commands of `orch`; only the form of requests and answers is the older one. What was
//! inconsistent there is settled, and `docs/serve.md` lists it.

use super::state::LoopState;
use super::tasks::WORKFLOW;
use axum::extract::{Request, State as Given};
use axum::http::header::{ALLOW, CONTENT_TYPE, LOCATION};
use axum::http::{HeaderValue, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use orch_base::{Code, Error, Hint};
use orch_core::decide::{State, WHY};
use orch_core::record::LogEvent;
use orch_engine::gather::answers_of_each;
use orch_engine::random;
use orch_engine::run::RunFiles;
use orch_engine::survey::{Caller, Reader, Sight, Workspace};
use orch_files::open_regular;
use orch_serve::http::{self, Service, named, run_files, wrong};
use orch_serve::{Excluded, WorkTerms};
use orch_view::Advice;
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value, json};
use std::io::{BufRead, BufReader, Read};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

/// Where the routes begin.
pub(super) const PATH: &str = "/api/loops/v2";
/// The settings of a loop that a request may change.
const SETTINGS: [&str; 5] = ["description", "max_iterations", "tags", "priority", "notes"];
/// The statuses of loops, as they are shown.
const STATUSES: [&str; 6] = [
    "created",
    "running",
    "paused",
    "completed",
    "failed",
    "user_exit",
];
/// How many loops are listed if the request does not say.
const LIMIT: usize = 50;
/// How often a status is looked at after a start.
const TICK: Duration = Duration::from_millis(20);
/// How many times at most.
const STATUS_TICKS: u32 = 500;
/// The longest first line of a log that is read, in bytes.
const FIRST_LINE: u64 = 64 * 1024;

/// A loop as it is now.
pub(super) struct LoopView {
    pub id: String,
    /// The phase of the task.
    pub phase: String,
    /// Whether it may continue, and no process drives it. It is shown as paused.
    pub is_interrupted: bool,
    /// The number of its last step.
    pub rev: u64,
    /// The time of its last step.
    pub updated: String,
    pub document: Value,
    /// The list of its tasks; `None` if there is no plan yet.
    pub tasks: Option<Vec<Value>>,
}

impl LoopView {
    /// The status that clients see.
    fn standing(&self) -> &str {
        self.document["status"].as_str().unwrap_or(&self.phase)
    }

    /// Returns an error that says what to do first, unless the loop has one of these statuses, in which `what` of it can be
    /// changed.
    pub(super) fn require_changeable(&self, what: &str, statuses: &[&str]) -> Result<(), Error> {
        let standing = self.standing();
        if statuses.contains(&standing) {
            return Ok(());
        }
        let id = &self.id;
        let first = match standing {
            "running" => format!("pause it first: POST {PATH}/{id}/pause").into(),
            "created" => format!("start it first: POST {PATH}/{id}/start").into(),
            _ => Hint::from("reopen it first: ").command(&["orch", "reopen", id, "--reason", WHY]),
        };
        let message = format!("the {what} of `{id}` cannot be changed while it is {standing}");
        Err(Error::new(Code::NotEnabled, message).with_hint(first))
    }
}

/// What a request asks for.
struct LoopRequest {
    method: Method,
    parts: Vec<String>,
    query: Vec<(String, String)>,
    body: Map<String, Value>,
}

/// An answer: its status, its members besides `success`, and the path of what was created.
pub(super) struct LoopAnswer(pub StatusCode, pub Value, pub Option<String>);

/// The routes, for one caller.
pub(super) struct Loops<'s> {
    pub state: &'s LoopState,
    pub caller: Caller,
    /// How long the request has waited in the queue.
    waited: Duration,
}

/// The answer to any request below [`PATH`].
pub(super) async fn loops(Given(state): Given<Arc<LoopState>>, request: Request) -> Response {
    let path = request.uri().path().to_owned();
    match respond(state, request).await {
        Ok(LoopAnswer(status, members, created)) => {
            let mut document = json!({"success": true});
            if let (Some(document), Value::Object(members)) = (document.as_object_mut(), members) {
                document.extend(members);
            }
            let created = created.and_then(|path| HeaderValue::from_str(&path).ok());
            let media = [(CONTENT_TYPE, HeaderValue::from_static("application/json"))];
            let mut response = (status, media, format!("{document}\n")).into_response();
            response
                .headers_mut()
                .extend(created.map(|path| (LOCATION, path)));
            response
        }
        Err(error) => refusal(&error, &path),
    }
}

/// The answer to a request for `path` that failed.
pub(super) fn refusal(error: &Error, path: &str) -> Response {
    let document = Advice::from(error.hint()).within(json!({
        "success": false, "error": error.to_string(), "code": error.code().as_str(),
    }));
    let mut response = http::refusal(error.code(), "application/json", format!("{document}\n"));
    if error.code() == Code::MethodNotAllowed
        && let Ok(parts) = segments(path)
        && let Ok(allowed) = HeaderValue::from_str(&methods(&parts).unwrap_or_default().join(","))
    {
        response.headers_mut().insert(ALLOW, allowed);
    }
    response
}

async fn respond(state: Arc<LoopState>, request: Request) -> Result<LoopAnswer, Error> {
    let (parts, body) = request.into_parts();
    let segments = segments(parts.uri.path())?;
    require_route(&parts.method, &segments)?;
    let asker = named(&parts)?;
    let request = LoopRequest {
        parts: segments,
        query: http::query(&parts.uri)?,
        body: http::body(&parts.headers, body).await?,
        method: parts.method,
    };
    let is_order = ![Method::GET, Method::HEAD].contains(&request.method);
    // Changes of a list follow one another, instead of being tried again. A run continues after its answer.
    let excludes = if is_order && !request.starts_run() {
        Excluded::Orders
    } else {
        Excluded::Nothing
    };
    let terms = WorkTerms {
        is_order,
        excludes,
        within: None,
    };
    let service = Arc::clone(&state.service);
    let work = move |service: &Service, waited: Duration| {
        let loops = Loops {
            state: &state,
            caller: service.caller(&asker),
            waited,
        };
        loops.answer(&request)
    };
    service.in_queue(terms, work).await
}

/// The parts of a path below [`PATH`].
fn segments(path: &str) -> Result<Vec<String>, Error> {
    let below = path.strip_prefix(PATH).unwrap_or_default();
    let decoded = |part: &str| {
        percent_decode_str(part)
            .decode_utf8()
            .map(|part| part.into_owned())
    };
    let segments: Result<_, _> = below
        .split('/')
        .filter(|part| !part.is_empty())
        .map(decoded)
        .collect();
    segments.map_err(|_| wrong("the path is not UTF-8"))
}

/// The methods of a path; `None` if there is no such path.
fn methods(parts: &[String]) -> Option<&'static [&'static str]> {
    Some(
        match parts
            .iter()
            .map(String::as_str)
            .collect::<Vec<_>>()
            .as_slice()
        {
            [] | [_, "tasks" | "generate"] => &["GET", "HEAD", "POST"],
            [_] | ["tasks", _] => &["GET", "HEAD", "PUT", "DELETE"],
            [_, "status"] => &["PATCH"],
            [_, "start" | "pause" | "resume" | "stop" | "import"] => &["POST"],
            [_, "tasks", "reorder"] => &["PUT"],
            _ => return None,
        },
    )
}

/// Returns an error if there is no such path, or it has no such method.
fn require_route(method: &Method, parts: &[String]) -> Result<(), Error> {
    let known = methods(parts).ok_or_else(|| no_route(parts))?;
    if known.contains(&method.as_str()) {
        return Ok(());
    }
    let message = format!("`{PATH}/{}` has no method {method}", parts.join("/"));
    Err(Error::new(Code::MethodNotAllowed, message))
}

fn no_route(parts: &[String]) -> Error {
    Error::new(
        Code::UnknownRoute,
        format!("there is no `{PATH}/{}` here", parts.join("/")),
    )
}

impl LoopRequest {
    /// Whether its query means something; the members of its body are looked at where they are read.
    fn takes_query(&self) -> bool {
        match self.parts.as_slice() {
            [] => self.method != Method::POST,
            [tasks, _] => tasks == "tasks" && self.method == Method::DELETE,
            _ => false,
        }
    }

    /// Whether it starts or continues a run.
    fn starts_run(&self) -> bool {
        match self
            .parts
            .iter()
            .map(String::as_str)
            .collect::<Vec<_>>()
            .as_slice()
        {
            [_, "start" | "resume" | "generate"] => true,
            [_, "status"] => self
                .body
                .get("status")
                .is_some_and(|status| status == "running"),
            _ => false,
        }
    }
}

impl Loops<'_> {
    fn answer(&self, request: &LoopRequest) -> Result<LoopAnswer, Error> {
        let parts: Vec<&str> = request.parts.iter().map(String::as_str).collect();
        let body = &request.body;
        let method = request.method.as_str();
        if !request.takes_query()
            && let Some((name, _)) = request.query.first()
        {
            return Err(wrong(&format!(
                "there is no argument `{name}` in the query"
            )));
        }
        match (
            if method == "HEAD" { "GET" } else { method },
            parts.as_slice(),
        ) {
            ("GET", []) => self.list(&request.query),
            ("POST", []) => self.create(body),
            ("GET", ["tasks", task]) => self.task(task).map(|(_, task)| found(&task)),
            ("PUT", ["tasks", task]) => self.change_task(task, body),
            ("DELETE", ["tasks", task]) => self.remove_task(task, &request.query),
            ("GET", [id]) => Ok(found(&self.one(id)?.document)),
            ("PUT", [id]) => self.change(id, body),
            ("DELETE", [id]) => only(body, &[]).and_then(|()| self.delete(id)),
            ("PATCH", [id, "status"]) => self.set_status(id, body),
            ("POST", [id, order @ ("start" | "pause" | "resume" | "stop")]) => {
                only(body, &[]).and_then(|()| self.order(id, order))
            }
            ("GET", [id, "tasks"]) => self.tasks(id),
            ("POST", [id, "tasks"]) => self.add_task(id, body),
            ("PUT", [id, "tasks", "reorder"]) => self.reorder(id, body),
            ("POST", [id, "import"]) => self.import(id, body),
            ("GET", [id, "generate"]) => self.generation(id),
            ("POST", [id, "generate"]) => self.generate(id, body),
            _ => Err(no_route(&request.parts)),
        }
    }

    /// Executes a command for the caller. Returns the document that it prints.
    fn execute(&self, words: &[&str]) -> Result<Value, Error> {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        let executed = self
            .state
            .service
            .execute(&self.caller, &words, self.waited);
        self.state.service.report(&executed.printed);
        match executed.error {
            Some(error) => Err(error),
            None => Ok(serde_json::from_str(&executed.printed).unwrap_or_default()),
        }
    }

    fn list(&self, query: &[(String, String)]) -> Result<LoopAnswer, Error> {
        let mut limit = LIMIT;
        let mut offset = 0;
        let mut status = None;
        for (name, value) in query {
            let number = |least| {
                let number = value.parse().ok().filter(|number| *number >= least);
                number.ok_or_else(|| wrong(&format!("`{name}` is not a number from {least}")))
            };
            match name.as_str() {
                "limit" => limit = number(1)?,
                "offset" => offset = number(0)?,
                "status" if value == "all" => status = None,
                "status" if STATUSES.contains(&value.as_str()) => status = Some(value.as_str()),
                "status" => {
                    let hint = format!("the statuses are {}, and `all`", STATUSES.join(", "));
                    return Err(wrong(&format!("there is no status `{value}`")).with_hint(hint));
                }
                _ => return Err(wrong(&format!("there is no argument `{name}`"))),
            }
        }
        let mut views = all_loops(&self.state.service.runner.workspace()?)?;
        views.retain(|one| status.is_none_or(|status| one.document["status"] == status));
        // Times are in whole seconds; the later id is the newer loop.
        views.sort_by(|one, other| (&other.updated, &other.id).cmp(&(&one.updated, &one.id)));
        let total = views.len();
        let data: Vec<Value> = views
            .into_iter()
            .skip(offset)
            .take(limit)
            .map(|one| one.document)
            .collect();
        let has_more = offset.saturating_add(data.len()) < total;
        let timestamp = self.caller.clock.now().to_string();
        let members = json!({
            "data": data, "total": total, "limit": limit, "offset": offset, "hasMore": has_more, "timestamp": timestamp,
        });
        Ok(LoopAnswer(StatusCode::OK, members, None))
    }

    /// The loop with exactly this id. Returns an error if there is none.
    pub(super) fn one(&self, id: &str) -> Result<LoopView, Error> {
        let unknown = || Error::new(Code::UnknownTask, format!("there is no loop `{id}`"));
        let (workspace, task) = self
            .state
            .service
            .runner
            .task(id)
            .map_err(|error| match error.code() {
                Code::UnknownTask => unknown(),
                _ => error,
            })?;
        let sight = workspace.look(&task)?;
        view(workspace.reader(), &sight).ok_or_else(unknown)
    }

    fn create(&self, body: &Map<String, Value>) -> Result<LoopAnswer, Error> {
        only(body, &["title", "description", "max_iterations"])?;
        let title = text(body, "title")?.ok_or_else(|| wrong("`title` is missing"))?;
        let settings = settings(body)?;
        let stamp: String = self
            .caller
            .clock
            .now()
            .to_string()
            .chars()
            .filter(char::is_ascii_alphanumeric)
            .collect();
        let word = random(4).map_err(|error| Error::new(Code::Io, error.to_string()))?;
        let id = format!("loop-v2-{}-{word}", stamp.trim_end_matches('Z'));
        let workflow = format!("--workflow={WORKFLOW}");
        let titled = format!("--title={title}");
        self.execute(&["new", &workflow, &titled, "--", &id])?;
        if !settings.is_empty() {
            self.give(&id, &settings, None).map_err(|error| {
                let hint = format!("the loop `{id}` was created without its settings");
                error.with_hint(hint)
            })?;
        }
        let members = json!({"data": self.one(&id)?.document});
        Ok(LoopAnswer(
            StatusCode::CREATED,
            members,
            Some(format!("{PATH}/{id}")),
        ))
    }

    fn change(&self, id: &str, body: &Map<String, Value>) -> Result<LoopAnswer, Error> {
        only(body, &[&["title"], SETTINGS.as_slice()].concat())?;
        let view = self.one(id)?;
        if let Some(title) = text(body, "title")?
            && view.document["title"] != title
        {
            let message = "the title of a loop cannot be changed";
            return Err(Error::new(Code::NotEnabled, message));
        }
        let settings = settings(body)?;
        if !settings.is_empty() {
            view.require_changeable("settings", &["created", "paused", "user_exit"])?;
            self.rest(view)?;
            self.give(id, &settings, None)?;
        }
        Ok(found(&self.one(id)?.document))
    }

    /// Gives settings, or the list of tasks, as answers, which may rest on a revision of the loop.
    pub(super) fn give(
        &self,
        id: &str,
        answers: &[(&str, &Value)],
        rev: Option<u64>,
    ) -> Result<(), Error> {
        let answers: Vec<String> = answers
            .iter()
            .map(|(key, value)| format!("{key}={value}"))
            .collect();
        // A word with `=` would be an answer.
        let task = format!("--use={id}");
        let rev = rev.map(|rev| format!("--expect={rev}"));
        let words = ["answer", &task]
            .into_iter()
            .chain(rev.as_deref())
            .chain(["--"]);
        let words = words.chain(answers.iter().map(String::as_str));
        self.execute(&words.collect::<Vec<_>>()).map(drop)
    }

    fn delete(&self, id: &str) -> Result<LoopAnswer, Error> {
        let view = self.one(id)?;
        if view.standing() == "running" {
            return Err(not_now(&view, "delete"));
        }
        let view = self.rest(view)?;
        let is_over = ["completed", "failed", "exhausted"].contains(&view.phase.as_str());
        let force = ["--force=deleted over the loop API"];
        let words = ["archive"]
            .into_iter()
            .chain(force.into_iter().filter(|_| !is_over))
            .chain(["--", id]);
        self.execute(&words.collect::<Vec<_>>())?;
        Ok(LoopAnswer(
            StatusCode::OK,
            json!({"message": format!("Loop {id} deleted")}),
            None,
        ))
    }

    /// Ends the run of a loop that was interrupted, which leaves the loop paused. Returns the loop as it is then.
    pub(super) fn rest(&self, view: LoopView) -> Result<LoopView, Error> {
        if !view.is_interrupted {
            return Ok(view);
        }
        self.execute(&["pause", "--", &view.id])?;
        self.one(&view.id)
    }

    fn set_status(&self, id: &str, body: &Map<String, Value>) -> Result<LoopAnswer, Error> {
        only(body, &["status"])?;
        let status = text(body, "status")?.ok_or_else(|| wrong("`status` is missing"))?;
        let view = self.one(id)?;
        if view.document["status"] == status {
            return Ok(found(&view.document));
        }
        match (status, view.phase.as_str()) {
            ("running", "created") => self.order(id, "start"),
            ("running", _) => self.order(id, "resume"),
            ("paused", _) => self.order(id, "pause"),
            ("failed", _) => self.order(id, "stop"),
            ("created" | "completed" | "user_exit", _) => {
                let message = format!(
                    "`{id}` is {}, and no order makes it {status}",
                    view.standing()
                );
                Err(Error::new(Code::NotEnabled, message))
            }
            _ => Err(wrong(&format!("there is no status `{status}`"))),
        }
    }

    fn order(&self, id: &str, order: &str) -> Result<LoopAnswer, Error> {
        let view = self.one(id)?;
        if order == "stop" && self.state.generations.is_running(id) {
            return self.stop_generation(&view);
        }
        let may: &[&str] = match order {
            "start" => &["created", "paused", "user_exit"],
            "resume" => &["paused", "user_exit"],
            "pause" => &["running"],
            _ => &["created", "running", "paused", "user_exit"],
        };
        if ![view.standing(), &view.phase]
            .iter()
            .any(|status| may.contains(status))
        {
            return Err(not_now(&view, order));
        }
        match order {
            "start" | "resume" => {
                let words: &[&str] = match order {
                    "start" => &["run", "--auto"],
                    // Nobody has paused it.
                    _ if view.is_interrupted => &["run"],
                    _ => &["resume"],
                };
                let mut words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
                // What follows `--` would be a program.
                words.push(format!("--use={id}"));
                let started = self.state.service.start(id, self.caller.clone(), words);
                match started.and_then(|(executed, _)| executed.error.map_or(Ok(()), Err)) {
                    Err(error) if error.code() == Code::Busy && self.is_in_a_run(id) => {
                        let message = format!("cannot {order} `{id}`: a run of it is in progress");
                        return Err(Error::new(Code::NotEnabled, message));
                    }
                    started => started?,
                }
                self.await_status(&view)?;
            }
            // A word that begins with `-` would be an option.
            _ => drop(self.execute(&[order, "--", id])?),
        }
        let now = self.one(id)?;
        let (status, message) = outcome(order, now.document["status"].as_str().unwrap_or_default());
        Ok(LoopAnswer(
            status,
            json!({"data": now.document, "message": message}),
            None,
        ))
    }

    /// Whether a run of a loop is in progress, here or elsewhere; a generation of tasks is none.
    fn is_in_a_run(&self, id: &str) -> bool {
        let LoopState {
            service,
            generations,
            ..
        } = self.state;
        let is_begun = |files: RunFiles| {
            files.is_driven()
                && files
                    .read()
                    .is_ok_and(|run| run.is_some_and(|run| run.ended().is_none()))
        };
        (service.runs.drives(id) && !generations.is_running(id))
            || run_files(&service.runner, id).is_ok_and(is_begun)
    }

    /// Waits until a run that was started has recorded another status, or has ended.
    fn await_status(&self, before: &LoopView) -> Result<(), Error> {
        for _ in 0..STATUS_TICKS {
            if self.one(&before.id)?.document["status"] != before.document["status"]
                || !self.state.service.runs.drives(&before.id)
            {
                break;
            }
            thread::sleep(TICK);
        }
        Ok(())
    }
}

/// The loops that are not archived. One that cannot be read is passed over. Returns an error if there is no list.
pub(super) fn all_loops(workspace: &Workspace) -> Result<Vec<LoopView>, Error> {
    let mut tasks = workspace.finder().tasks()?;
    tasks.retain(|task| !task.id.is_archived());
    let (views, _) = answers_of_each(workspace, &tasks, view, |_, _| None);
    Ok(views.into_iter().flatten().collect())
}

/// A task as a loop; `None` if it is none.
pub(super) fn view(reader: &Reader, sight: &Sight) -> Option<LoopView> {
    let seen = recorded(reader, sight)?;
    let is_at_rest = seen.phase != "running";
    if is_at_rest || RunFiles::of(reader.root(), sight.task.directory()).is_driven() {
        return Some(seen);
    }
    // A run that has ended since the look has recorded how.
    let again = reader
        .look(&sight.task)
        .ok()
        .and_then(|sight| recorded(reader, &sight));
    let mut view = again.unwrap_or(seen);
    if view.phase == "running" {
        view.is_interrupted = true;
        view.document["status"] = "paused".into();
    }
    Some(view)
}

/// A task as a loop, as its record says.
fn recorded(reader: &Reader, sight: &Sight) -> Option<LoopView> {
    if sight.workflow().name.as_str() != WORKFLOW {
        return None;
    }
    let untouched = State::default();
    let state = sight.state().unwrap_or(&untouched);
    let id = sight.task.id.to_string();
    let phase = sight
        .decision
        .phase
        .as_ref()
        .map(ToString::to_string)
        .unwrap_or_default();
    let updated = state
        .updated_at
        .map(|at| at.to_string())
        .unwrap_or_default();
    let data = |key: &str| state.extra.get(key).cloned().unwrap_or_default();
    let is_over = sight.decision.is_done();
    let is_exhausted = phase == "exhausted";
    let reason = match data("failure_reason") {
        _ if is_exhausted => "the iterations are used up".into(),
        Value::String(text) if text.is_empty() => Value::Null,
        other => other,
    };
    let created = created(&reader.root().join(sight.task.transcript_path().as_str()));
    let tasks = state
        .extra
        .get("skill_state")
        .and_then(|skill| skill["develop"]["tasks"].as_array())
        .cloned();
    let document = json!({
        "loop_id": id,
        "title": state.title,
        "description": data("description"),
        "max_iterations": data("max_iterations"),
        "status": if is_exhausted { "failed" } else { phase.as_str() },
        "current_iteration": data("current_iteration"),
        "created_at": created,
        "updated_at": updated,
        "completed_at": is_over.then(|| updated.clone()),
        "failure_reason": reason,
        "tags": data("tags"),
        "priority": data("priority"),
        "notes": data("notes"),
        "skill_state": data("skill_state"),
    });
    Some(LoopView {
        id,
        phase,
        is_interrupted: false,
        rev: state.rev,
        updated,
        document,
        tasks,
    })
}

/// The time of the first event in a log.
fn created(path: &std::path::Path) -> Option<String> {
    let mut line = String::new();
    BufReader::new(open_regular(path).ok()??.take(FIRST_LINE))
        .read_line(&mut line)
        .ok()?;
    Some(LogEvent::read(line.trim_end()).ok()?.entry.at.to_string())
}

pub(super) fn found(data: &Value) -> LoopAnswer {
    LoopAnswer(StatusCode::OK, json!({"data": data}), None)
}

/// What is said of a loop that has this status after an order. A pause and a stop are not waited for: an action may take
/// long.
fn outcome(order: &str, status: &str) -> (StatusCode, String) {
    let text = match (order, status) {
        ("start", _) => "Loop started",
        ("resume", _) => "Loop resumed",
        ("pause", "running") => "The loop pauses as soon as its action has ended",
        ("stop", "running") => "The loop stops as soon as its action was ended",
        ("pause", "paused") => "Loop paused",
        ("stop", "failed" | "user_exit") => "Loop stopped",
        // Its action has ended it before.
        _ => return (StatusCode::OK, format!("The loop is {status}")),
    };
    let goes_on = ["pause", "stop"].contains(&order) && status == "running";
    (
        if goes_on {
            StatusCode::ACCEPTED
        } else {
            StatusCode::OK
        },
        text.to_owned(),
    )
}

pub(super) fn not_now(view: &LoopView, order: &str) -> Error {
    Error::new(
        Code::NotEnabled,
        format!("cannot {order} `{}`: it is {}", view.id, view.standing()),
    )
}

/// The settings in a body. Returns an error if one cannot be meant.
fn settings(body: &Map<String, Value>) -> Result<Vec<(&'static str, &Value)>, Error> {
    let given = SETTINGS
        .into_iter()
        .filter_map(|key| Some((key, body.get(key)?)));
    given
        .map(|(key, value)| {
            let fits = match key {
                "max_iterations" => value.as_u64().is_some_and(|count| count >= 1),
                "tags" => value
                    .as_array()
                    .is_some_and(|tags| tags.iter().all(Value::is_string)),
                "priority" => {
                    ["low", "medium", "high"].contains(&value.as_str().unwrap_or_default())
                }
                _ => value.is_string(),
            };
            if fits {
                Ok((key, value))
            } else {
                Err(wrong(&format!("`{key}` cannot be {value}")))
            }
        })
        .collect()
}

/// A text in a body; `None` if it is not there. Returns an error if it is empty or no text.
pub(super) fn text<'b>(body: &'b Map<String, Value>, key: &str) -> Result<Option<&'b str>, Error> {
    match body.get(key) {
        None => Ok(None),
        Some(Value::String(text)) if !text.trim().is_empty() => Ok(Some(text)),
        Some(Value::String(_)) => Err(wrong(&format!("`{key}` is blank"))),
        Some(_) => Err(wrong(&format!("`{key}` is not a string"))),
    }
}

/// Returns an error if a body has members other than these.
pub(super) fn only(body: &Map<String, Value>, known: &[&str]) -> Result<(), Error> {
    match body.keys().find(|key| !known.contains(&key.as_str())) {
        None => Ok(()),
        Some(key) if known.is_empty() => {
            Err(wrong(&format!("there is no `{key}`; there are no members")))
        }
        Some(key) => Err(wrong(&format!(
            "there is no `{key}`; the members are {}",
            known.join(", ")
        ))),
    }
}

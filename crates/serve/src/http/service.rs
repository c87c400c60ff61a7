//! From a request to its answer: the arguments become words, the words are executed, and what is printed is sent.

use super::events::Events;
use super::gate::{Asker, RequestGate, named};
use super::live::RunNews;
use super::paging::Page;
use super::problem::problem;
use super::request;
use super::routes::{Route, routes};
use super::started::{DrivingCommand, StartOutcome, StartedRuns, run_files};
use super::{openapi, output};
use crate::{CallTerms, CommandRunner, Excluded, Executed, QueueLimits, WorkQueue, WorkTerms};
use axum::Router;
use axum::extract::{Request, State};
use axum::http::header::{CONTENT_TYPE, ETAG, IF_MATCH, IF_NONE_MATCH, LINK};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, Uri};
use axum::response::{IntoResponse, Response};
use orch_base::{Code, Digest, Error, Hint, Period};
use orch_engine::survey::{Caller, Workspace};
use serde_json::{Value, json};
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::watch::{Receiver, Sender};

/// The longest that an order may wait for other orders and for locks.
const MOST_WAIT: Duration = QueueLimits::SERVER.queue;

/// The server, as its handlers see it.
pub struct Service {
    /// Executes commands.
    pub runner: Arc<dyn CommandRunner>,
    pub(super) gate: RequestGate,
    /// What happens, for clients that listen.
    pub events: Events,
    /// The runs that clients started.
    pub runs: StartedRuns,
    /// Where changes of runs are told.
    pub(super) news: RunNews,
    /// The routes, each of which is a command.
    pub(super) routes: Vec<Arc<Route>>,
    /// The APIs that are served beside that of `orch`.
    pub(super) others: Vec<OtherApi>,
    /// Whether the server ends.
    pub stop: Receiver<bool>,
    /// Whether the streams of events and output end: later than the server begins to, so that they tell how its runs
    /// have ended.
    streams_end: Sender<bool>,
    /// What waits and what is executed, for all clients.
    pub(super) queue: Arc<WorkQueue>,
}

/// Another API of a server, behind the same gate.
pub struct OtherApi {
    /// Where its routes begin.
    pub path: &'static str,
    /// Makes its routes.
    pub routes: fn(&Arc<Service>) -> Router<Arc<Service>>,
    /// Its answer to a request below `path` that may not be answered; it is given the whole path of the request.
    pub refusal: fn(&Error, &str) -> Response,
}

impl OtherApi {
    /// Whether a path is one of its.
    pub(super) fn has(&self, path: &str) -> bool {
        let below = path.strip_prefix(self.path);
        below.is_some_and(|below| below.is_empty() || below.starts_with('/'))
    }
}

impl Service {
    pub(super) fn new(
        runner: Arc<dyn CommandRunner>,
        gate: RequestGate,
        events: Events,
        news: RunNews,
        others: Vec<OtherApi>,
        stop: Receiver<bool>,
    ) -> Self {
        let queue = Arc::new(WorkQueue::new(QueueLimits::SERVER));
        Self {
            routes: routes(&runner.commands()),
            runner,
            gate,
            events,
            runs: StartedRuns::default(),
            news,
            others,
            stop,
            streams_end: Sender::new(false),
            queue,
        }
    }

    /// Whether streams end.
    pub(super) fn streams_end(&self) -> Receiver<bool> {
        self.streams_end.subscribe()
    }

    /// Ends the runs that clients started, and then the streams, which tell of it first. Each may take as long as
    /// `patience`.
    pub(super) fn end(&self, patience: Duration) {
        self.runs.end(patience);
        self.news.await_news(patience);
        self.streams_end.send_replace(true);
    }

    /// The caller that a command has. The token of a person acts as whoever started the server; if that was an agent,
    /// or a program without a terminal, there is no person.
    pub fn caller(&self, asker: &Asker) -> Caller {
        match asker {
            Asker::Person => self.runner.caller().clone(),
            Asker::Agent(name) => self.runner.agent(name.as_deref()),
            Asker::Anyone => self.runner.agent(None),
        }
    }

    /// Answers a question in another thread, when there is a place for it.
    pub async fn in_background<T: Send + 'static>(
        self: &Arc<Self>,
        work: impl FnOnce(&Self) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        self.in_queue(WorkTerms::default(), |service, _| work(service))
            .await
    }

    /// Does work on these terms in another thread, after what waits before it. It is given the time that it has waited.
    pub async fn in_queue<T: Send + 'static>(
        self: &Arc<Self>,
        terms: WorkTerms,
        work: impl FnOnce(&Self, Duration) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, Error> {
        let service = Arc::clone(self);
        self.queue
            .execute(terms, self.stop.clone(), move |waited| {
                work(&service, waited)
            })
            .await
    }

    /// Executes a command. A task is named by its whole id.
    pub fn execute(&self, caller: &Caller, words: &[String], waited: Duration) -> Executed {
        let waited =
            Period::from_milliseconds(u64::try_from(waited.as_millis()).unwrap_or(u64::MAX));
        let terms = CallTerms {
            whole_ids: true,
            waited,
            ..CallTerms::default()
        };
        self.runner.execute(caller.clone(), words, terms)
    }
}

/// The answer to a request of a route.
pub(super) async fn answer(service: Arc<Service>, route: Arc<Route>, request: Request) -> Response {
    respond(service, route, request)
        .await
        .unwrap_or_else(problem)
}

async fn respond(
    service: Arc<Service>,
    route: Arc<Route>,
    request: Request,
) -> Result<Response, Error> {
    let (mut parts, body) = request.into_parts();
    let asker = named(&parts)?;
    let mut page = Page::default();
    let mut given = request::path_arguments(&mut parts, &route).await?;
    for (name, text) in request::query(&parts.uri)? {
        if route.pages.is_some() && page.take(&name, &text).map_err(bad)? {
            continue;
        }
        let Some(argument) = route.argument(&name).filter(|_| !route.writes) else {
            return Err(bad(format!(
                "`{}` has no argument `{name}` in its query",
                route.name
            )));
        };
        request::add(&mut given, argument, argument.value_of(&text)).map_err(bad)?;
    }
    if route.writes {
        for (name, value) in request::body(&parts.headers, body).await? {
            if route.argument(&name).is_none() {
                return Err(bad(format!("`{}` has no argument `{name}`", route.name)));
            }
            given.insert(name, value);
        }
    }
    if let Some(code) = given.get("code").and_then(Value::as_str)
        && Code::named(code).is_none()
    {
        return Err(Error::new(
            Code::UnknownRoute,
            format!("there is no code `{code}`"),
        ));
    }
    let words = route.words(&given).map_err(bad)?;
    let task = given
        .get("task")
        .and_then(Value::as_str)
        .filter(|_| route.names_task())
        .map(str::to_owned);
    let wanted = tags(&parts.headers, &IF_MATCH).filter(|_| route.writes);
    let within = given
        .get("wait")
        .and_then(Value::as_str)
        .map(wait)
        .transpose()?;
    let excludes = match &task {
        _ if !route.writes || route.starts_run => Excluded::Nothing,
        Some(task) => Excluded::Task(task.clone()),
        None => Excluded::Orders,
    };
    let terms = WorkTerms {
        is_order: route.writes,
        excludes,
        within,
    };
    let known = tags(&parts.headers, &IF_NONE_MATCH);
    let work = move |service: &Service, waited: Duration| {
        let caller = service.caller(&asker);
        if let (Some(task), Some(wanted)) = (&task, &wanted) {
            service.require_unchanged(task, wanted, &caller)?;
        }
        let (
            Executed {
                exit,
                printed,
                error,
            },
            status,
        ) = match task.filter(|_| route.starts_run) {
            Some(task) => service.start(&task, caller, words)?,
            None => (service.execute(&caller, &words, waited), StatusCode::OK),
        };
        if let Some(error) = error {
            return Err(error);
        }
        if route.writes {
            service.report(&printed);
        }
        let mut response = if let Some(list) = route.pages {
            paged(&printed, list, &page, &parts.uri)
        } else if route.is_tagged {
            tagged(printed, known)
        } else {
            sent(printed)
        };
        if status != StatusCode::OK {
            *response.status_mut() = status;
        }
        response
            .headers_mut()
            .insert("orch-exit-code", HeaderValue::from(u16::from(exit)));
        Ok(response)
    };
    service.in_queue(terms, work).await
}

impl Service {
    /// Tells those who listen which transitions an order has applied. The watch tells of its own.
    pub fn report(&self, printed: &str) {
        self.events
            .publish_transitions(self.runner.caller().clock.now(), printed);
    }

    /// Executes a command that drives a run. If the run continues, the answer is the run as it is now.
    pub fn start(
        &self,
        task: &str,
        caller: Caller,
        words: Vec<String>,
    ) -> Result<(Executed, StatusCode), Error> {
        let command = DrivingCommand {
            runner: &self.runner,
            caller: caller.clone(),
            task,
            words,
        };
        let outcome = self.runs.start(command, &self.news)?;
        self.news.changed();
        if let StartOutcome::Ended(executed) = outcome {
            return Ok((*executed, StatusCode::OK));
        }
        let mut listed = self.execute(&caller, &["runs".to_owned()], Duration::ZERO);
        let mut document: Value = serde_json::from_str(&listed.printed).unwrap_or_default();
        if let Some(Value::Array(runs)) = document.get_mut("runs") {
            runs.retain(|run| run["task"] == task && run["workTree"] == ".");
        }
        listed.printed = format!("{document}\n");
        Ok((listed, StatusCode::ACCEPTED))
    }

    /// What the state of a task is identified by. Returns an error if the task cannot be read.
    pub(super) fn tag_of(&self, task: &str, caller: &Caller) -> Result<String, Error> {
        let words = ["suggest", "--", task].map(str::to_owned);
        let looked = self.execute(caller, &words, Duration::ZERO);
        looked.error.map_or_else(|| Ok(tag(&looked.printed)), Err)
    }

    /// Returns an error unless the state of a task has one of these tags.
    fn require_unchanged(
        &self,
        task: &str,
        wanted: &[String],
        caller: &Caller,
    ) -> Result<(), Error> {
        let tag = self.tag_of(task, caller)?;
        if wanted.iter().any(|wanted| *wanted == tag || wanted == "*") {
            return Ok(());
        }
        Err(Error::new(
            Code::TaskChanged,
            format!("`{task}` has changed since it was read"),
        )
        .with_hint("read the task again, and decide again"))
    }
}

/// The events from now on, or after the last one that the client has.
pub(super) async fn events(
    State(service): State<Arc<Service>>,
    uri: Uri,
    headers: HeaderMap,
) -> Response {
    match request::no_query(&uri) {
        Ok(()) => service
            .events
            .stream(last_event(&headers), service.streams_end()),
        Err(error) => problem(error),
    }
}

/// Whether the server answers.
pub(super) async fn health(uri: Uri) -> Response {
    let document =
        || sent(json!({"status": "ok", "version": env!("CARGO_PKG_VERSION")}).to_string());
    request::no_query(&uri).map_or_else(problem, |()| document())
}

/// The OpenAPI document.
pub(super) async fn described(State(service): State<Arc<Service>>, uri: Uri) -> Response {
    let document = async {
        request::no_query(&uri)?;
        service
            .in_background(|service| Ok(openapi::openapi(&service.routes)))
            .await
    };
    document.await.map_or_else(problem, sent)
}

/// The output of the last run of a task.
pub(super) async fn output(State(service): State<Arc<Service>>, request: Request) -> Response {
    let (mut parts, _) = request.into_parts();
    let files = async {
        request::no_query(&parts.uri)?;
        let task = request::path_argument(&mut parts, "task").await?;
        service
            .in_background(move |service| run_files(&service.runner, &task))
            .await
    };
    let files = files.await;
    let last = last_event(&parts.headers).map(str::to_owned);
    match files {
        Ok(files) => output::stream(files, last.as_deref(), service.streams_end()),
        Err(error) => problem(error),
    }
}

/// The content of a file of a task, as plain text: never as a page or a script, whatever it is.
pub(super) async fn content(State(service): State<Arc<Service>>, request: Request) -> Response {
    let (mut parts, _) = request.into_parts();
    let bytes = async {
        let path = only_path(request::query(&parts.uri)?)?;
        let task = request::path_argument(&mut parts, "task").await?;
        service
            .in_background(move |service| content_of(&service.runner.workspace()?, &task, &path))
            .await
    };
    match bytes.await {
        Ok(bytes) => {
            let text = HeaderValue::from_static("text/plain; charset=utf-8");
            ([(CONTENT_TYPE, text)], bytes).into_response()
        }
        Err(error) => problem(error),
    }
}

/// The only argument of a query, which is a path. Returns an error for any other query.
fn only_path(query: Vec<(String, String)>) -> Result<String, Error> {
    match <[(String, String); 1]>::try_from(query) {
        Ok([(name, path)]) if name == "path" => Ok(path),
        _ => Err(request::wrong(
            "`path` names the file, once, and nothing else is taken",
        )),
    }
}

/// The bytes of a file of an artifact of a task. Returns an error if the task cannot be read, or has no such file.
fn content_of(workspace: &Workspace, task: &str, path: &str) -> Result<Vec<u8>, Error> {
    let task = workspace.finder().task(task)?;
    let sight = workspace.look(&task)?;
    let mut files = sight.observed.files.into_iter();
    let file = files.find(|file| file.path.as_str() == path);
    file.map(|file| file.bytes).ok_or_else(|| {
        let message = format!("no artifact of `{}` has the file `{path}`", task.id);
        Error::new(Code::UnknownArtifact, message).with_hint(Hint::from("its files: ").command(&[
            "orch",
            "show",
            task.id.as_str(),
        ]))
    })
}

fn last_event(headers: &HeaderMap) -> Option<&str> {
    headers.get("last-event-id")?.to_str().ok()
}

/// An answer of JSON.
pub(super) fn sent(printed: String) -> Response {
    (
        [(CONTENT_TYPE, HeaderValue::from_static("application/json"))],
        printed,
    )
        .into_response()
}

/// The tag of the suggestion for a task. HEAD does not belong to it, so a commit that is about something else changes
/// no tag.
fn tag(printed: &str) -> String {
    let document: Value = serde_json::from_str(printed).unwrap_or_default();
    let text = document
        .get("suggestions")
        .map_or_else(|| printed.to_owned(), Value::to_string);
    format!("\"{}\"", Digest::of_blob(text.as_bytes()))
}

/// The tags in a header, if it is there.
fn tags(headers: &HeaderMap, name: &HeaderName) -> Option<Vec<String>> {
    let values = headers.get_all(name).into_iter();
    let tags: Vec<String> = values
        .flat_map(|value| value.to_str().unwrap_or_default().split(','))
        .map(|tag| tag.trim().to_owned())
        .collect();
    (!tags.is_empty()).then_some(tags)
}

/// A document with its tag, or that the client has it already.
fn tagged(printed: String, known: Option<Vec<String>>) -> Response {
    let tag = tag(&printed);
    let weak = format!("W/{tag}");
    let is_known = known
        .iter()
        .flatten()
        .any(|known| [tag.as_str(), &weak, "*"].contains(&known.as_str()));
    let mut response = match is_known {
        true => StatusCode::NOT_MODIFIED.into_response(),
        false => sent(printed),
    };
    if let Ok(value) = HeaderValue::from_str(&tag) {
        response.headers_mut().insert(ETAG, value);
    }
    response
}

/// A page of the list in a document. The headers say how long the list is, and where the next page is.
fn paged(printed: &str, list: &str, page: &Page, uri: &Uri) -> Response {
    let mut document: Value = serde_json::from_str(printed).unwrap_or_default();
    let Some(Value::Array(rows)) = document.get_mut(list) else {
        return sent(printed.to_owned());
    };
    let (total, next) = page.cut(rows);
    let mut response = sent(document.to_string());
    let headers = response.headers_mut();
    headers.insert("total-count", HeaderValue::from(total));
    if let Some(next) = next {
        let kept = uri
            .query()
            .unwrap_or_default()
            .split('&')
            .filter(|pair| !pair.starts_with("offset="));
        let query: Vec<&str> = kept.filter(|pair| !pair.is_empty()).collect();
        let link = format!(
            "<{}?{}&offset={next}>; rel=\"next\"",
            uri.path(),
            query.join("&")
        );
        if let Ok(value) = HeaderValue::from_str(&link) {
            headers.insert(LINK, value);
        }
    }
    response
}

/// How long an order may wait. Returns an error if that is too long, or no duration.
fn wait(text: &str) -> Result<Duration, Error> {
    let wait = Period::parse(text).map(|wait| Duration::from_millis(wait.milliseconds()));
    let most = Period::from_seconds(MOST_WAIT.as_secs());
    let wrong = || {
        bad(format!(
            "the argument `wait` is not a duration of at most {most}, such as `30s`"
        ))
    };
    wait.filter(|wait| *wait <= MOST_WAIT).ok_or_else(wrong)
}

/// The error for arguments that are not accepted.
fn bad(why: String) -> Error {
    request::wrong(&why).with_hint(format!("see {}", openapi::PATH))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What the pattern in the OpenAPI document permits is accepted.
    #[test]
    fn an_order_waits_for_a_minute_at_most() {
        for text in [
            "0s", "9s", "59s", "60s", "0m", "1m", "0ms", "9999ms", "59999ms", "60000ms",
        ] {
            assert!(wait(text).is_ok(), "{text}");
        }
        for text in ["61s", "2m", "60001ms", "1m1s", "1h", "", "s", "-1s"] {
            assert!(wait(text).is_err(), "{text}");
        }
    }
}

//! `/{id}/generate` of the loops: an executor proposes tasks, and the answer does not wait for it.

use super::api::{LoopAnswer, LoopView, Loops, PATH, not_now, only, text, view};
use super::generations::{complete, progress};
use super::list::outward;
use super::state::LoopState;
use super::tasks::MOST_GENERATED;
use axum::http::StatusCode;
use orch_base::{Code, Error};
use orch_serve::CommandRunner;
use orch_serve::http::{DrivingCommand, StartOutcome, wrong};
use serde_json::{Map, Value, json};
use std::thread;
use std::time::{Duration, Instant};

/// How long a request to end a generation waits for its end.
const PATIENCE: Duration = Duration::from_secs(30);
/// How often it looks.
const TICK: Duration = Duration::from_millis(10);

impl Loops<'_> {
    /// Starts an executor that proposes tasks.
    pub(super) fn generate(
        &self,
        id: &str,
        body: &Map<String, Value>,
    ) -> Result<LoopAnswer, Error> {
        only(body, &["tool", "count"])?;
        let tool = text(body, "tool")?;
        let count = body.get("count").map(|count| {
            count
                .as_i64()
                .filter(|count| (1..=MOST_GENERATED).contains(count))
        });
        let count = count.map(|count| {
            count.ok_or_else(|| {
                wrong(&format!(
                    "`count` is not a number from 1 to {MOST_GENERATED}"
                ))
            })
        });
        let count = count.transpose()?;
        let (loop_view, _) = self.planned(id)?;
        let loop_view = self.rest(loop_view)?;
        if !["paused", "user_exit"].contains(&loop_view.phase.as_str()) {
            return Err(not_now(&loop_view, "generate tasks for"));
        }
        let options = [
            tool.map(|tool| format!("--tool={tool}")),
            count.map(|count| format!("--count={count}")),
        ];
        let words = ["generate".to_owned()]
            .into_iter()
            .chain(options.into_iter().flatten());
        let words = words.chain(["--".to_owned(), id.to_owned()]).collect();
        let LoopState {
            service,
            generations,
            news,
        } = self.state;
        if service.runs.drives(id) {
            return Err(Error::busy(format!("an executor works for `{id}`")));
        }
        let clock = self.caller.clock;
        generations.begin(id, clock.now(), json!({"tool": tool, "count": count}));
        news.publish(&progress(id, "analyzing", "Analyzing the loop"));
        let ended = generations.clone();
        let published = news.clone();
        let events = service.events.clone();
        let runner = service.runner.clone();
        let name = id.to_owned();
        let command = DrivingCommand {
            runner: &service.runner,
            caller: self.caller.clone(),
            task: id,
            words,
        };
        let started = service.runs.start_without_run(command, move |executed| {
            events.publish_transitions(clock.now(), &executed.printed);
            let tasks = added(&*runner, &name, &executed.printed);
            published.publish(&complete(&name, executed, &tasks));
            ended.end(&name, clock.now(), executed, tasks);
        });
        let error = match started {
            Ok(StartOutcome::Ended(executed)) => executed.error,
            Ok(StartOutcome::Begun) => None,
            Err(error) => {
                generations.forget(id);
                Some(error)
            }
        };
        if let Some(error) = error {
            return Err(error);
        }
        let members = json!({"data": generations.shown(id), "message": "Generating tasks"});
        Ok(LoopAnswer(
            StatusCode::ACCEPTED,
            members,
            Some(format!("{PATH}/{id}/generate")),
        ))
    }

    /// Ends the executor that proposes tasks. The loop stays as it is. Returns an error if the executor does not end.
    pub(super) fn stop_generation(&self, view: &LoopView) -> Result<LoopAnswer, Error> {
        let LoopState {
            service,
            generations,
            news,
        } = self.state;
        let id = view.id.as_str();
        news.publish(&progress(id, "stopping", "Stopping the generation"));
        let until = Instant::now() + PATIENCE;
        let has_ended = service.runs.end_one(id, PATIENCE);
        // What it has done is noted a moment after it has ended.
        while has_ended && generations.is_running(id) && Instant::now() < until {
            thread::sleep(TICK);
        }
        if generations.is_running(id) {
            return Err(Error::busy(format!(
                "the executor that works for `{id}` has not ended yet"
            )));
        }
        let members = json!({"data": view.document, "message": "Generation stopped"});
        Ok(LoopAnswer(StatusCode::OK, members, None))
    }

    /// The outcome of the last generation.
    pub(super) fn generation(&self, id: &str) -> Result<LoopAnswer, Error> {
        let id = self.one(id)?.id;
        let shown = self.state.generations.shown(&id);
        let none = || {
            let message =
                format!("this server has generated no tasks for `{id}` since it was started");
            Error::new(Code::UnknownTask, message)
        };
        Ok(LoopAnswer(
            StatusCode::OK,
            json!({"data": shown.ok_or_else(none)?}),
            None,
        ))
    }
}

/// The tasks that a command says it has added, as the list shows them.
fn added(runner: &dyn CommandRunner, id: &str, printed: &str) -> Vec<Value> {
    let document: Value = serde_json::from_str(printed).unwrap_or_default();
    let Some(ids) = document["added"].as_array() else {
        return Vec::new();
    };
    let read = || {
        let (workspace, task) = runner.task(id).ok()?;
        view(workspace.reader(), &workspace.look(&task).ok()?)?.tasks
    };
    let tasks = read().unwrap_or_default();
    let shown = tasks
        .iter()
        .enumerate()
        .map(|(order, task)| outward(task, order));
    shown
        .filter(|task| ids.contains(&task["task_id"]))
        .collect()
}

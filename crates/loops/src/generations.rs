//! Generations: executors of this server that propose tasks for loops, and the outcome of the last one of each loop.

use super::changes::LoopNews;
use orch_base::{Code, Error, Timestamp, locked};
use orch_serve::Executed;
use orch_serve::http::status_of;
use orch_view::Advice;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::Instant;

/// How many loops are remembered. Those whose generation is in progress always are.
const MOST: usize = 256;

/// The last generation of each loop since the server has started.
#[derive(Clone, Default)]
pub(super) struct Generations(Arc<Mutex<BTreeMap<String, Generation>>>);

/// A generation, and its outcome if it has ended.
struct Generation {
    begun: Instant,
    started_at: Timestamp,
    request: Value,
    end: Option<GenerationEnd>,
}

/// The outcome of a generation.
struct GenerationEnd {
    at: Timestamp,
    /// The added tasks.
    tasks: Vec<Value>,
    error: Option<Value>,
    was_stopped: bool,
}

impl Generations {
    /// A generation of a loop begins.
    pub(super) fn begin(&self, id: &str, at: Timestamp, request: Value) {
        let mut all = locked(&self.0);
        let has_ended = |one: &Generation| one.end.is_some();
        if all.len() >= MOST
            && let Some(old) = all
                .iter()
                .find(|(_, one)| has_ended(one))
                .map(|(id, _)| id.clone())
        {
            all.remove(&old);
        }
        all.insert(
            id.to_owned(),
            Generation {
                begun: Instant::now(),
                started_at: at,
                request,
                end: None,
            },
        );
    }

    /// It never began.
    pub(super) fn forget(&self, id: &str) {
        locked(&self.0).remove(id);
    }

    /// It has ended: its command has done this, and these tasks were added.
    pub(super) fn end(&self, id: &str, at: Timestamp, executed: &Executed, tasks: Vec<Value>) {
        if let Some(one) = locked(&self.0).get_mut(id) {
            let error = executed.error.as_ref().map(error_document);
            one.end = Some(GenerationEnd {
                at,
                tasks,
                error,
                was_stopped: was_stopped(executed),
            });
        }
    }

    /// Whether a generation of a loop is in progress.
    pub(super) fn is_running(&self, id: &str) -> bool {
        locked(&self.0).get(id).is_some_and(|one| one.end.is_none())
    }

    /// The last generation of a loop, as the API shows it; `None` if there was none.
    pub(super) fn shown(&self, id: &str) -> Option<Value> {
        let all = locked(&self.0);
        let one = all.get(id)?;
        let end = one.end.as_ref();
        let error = end.and_then(|end| end.error.clone());
        let status = match (end, &error) {
            (None, _) => "running",
            (Some(end), _) if end.was_stopped => "stopped",
            (_, Some(_)) => "failed",
            _ => "completed",
        };
        Some(json!({
            "loop_id": id,
            "status": status,
            "request": one.request,
            "started_at": one.started_at.to_string(),
            "ended_at": end.map(|end| end.at.to_string()),
            "tasks": end.map(|end| end.tasks.as_slice()).unwrap_or_default(),
            "error": error,
        }))
    }

    /// Tells who listens to `news` that executors still work.
    pub(super) fn publish_progress(&self, news: &LoopNews) {
        for (id, one) in locked(&self.0).iter().filter(|(_, one)| one.end.is_none()) {
            let message = format!("Generating tasks for {} s", one.begun.elapsed().as_secs());
            news.publish(&progress(id, "generating", &message));
        }
    }
}

/// The message about a stage of a generation.
pub(super) fn progress(id: &str, stage: &str, message: &str) -> Value {
    let payload = json!({"stage": stage, "message": message});
    json!({"type": "LOOP_TASK_GENERATION_PROGRESS", "loop_id": id, "payload": payload})
}

/// Whether somebody ended the executor.
fn was_stopped(executed: &Executed) -> bool {
    executed
        .error
        .as_ref()
        .is_some_and(|error| error.code() == Code::Interrupted)
}

/// The message about its end.
pub(super) fn complete(id: &str, executed: &Executed, tasks: &[Value]) -> Value {
    let error = executed.error.as_ref().map(error_document);
    let payload = json!({
        "success": error.is_none(), "stopped": was_stopped(executed), "total": tasks.len(), "imported": tasks.len(), "tasks": tasks, "error": error,
    });
    json!({"type": "LOOP_TASK_GENERATION_COMPLETE", "loop_id": id, "payload": payload})
}

fn error_document(error: &Error) -> Value {
    let status = status_of(error.code()).as_u16();
    Advice::from(error.hint()).within(json!({
        "message": error.to_string(), "code": error.code().as_str(), "status": status,
    }))
}

//! What changes in loops, as the older tool tells it: loops are compared with what they were.

use orch_base::locked;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard};
use tokio::sync::Semaphore;
use tokio::sync::broadcast::{Sender, channel};

/// How many clients listen at once.
const LISTENERS: usize = 64;
/// How many messages wait for a client. One that has not read them is cut off, and reads the loops again.
const WAITING: usize = 256;

/// The changes of loops, which are noticed while a client listens.
#[derive(Clone)]
pub(super) struct LoopNews {
    pub send: Sender<String>,
    /// The places of clients.
    pub places: Arc<Semaphore>,
    is_compared: Arc<Mutex<bool>>,
}

/// What is compared of a loop.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct KnownLoop {
    pub status: Value,
    /// The time of its last step.
    pub updated: String,
    /// Its tasks, as they are shown.
    pub tasks: Vec<Value>,
}

/// Loops by their ids.
pub(super) type KnownLoops = BTreeMap<String, KnownLoop>;

impl LoopNews {
    pub(super) fn new() -> Self {
        let (send, _) = channel(WAITING);
        Self {
            send,
            places: Arc::new(Semaphore::new(LISTENERS)),
            is_compared: Arc::default(),
        }
    }

    /// Tells whoever listens.
    pub(super) fn publish(&self, message: &Value) {
        // Without a client that listens there is nobody to tell.
        let _ = self.send.send(message.to_string());
    }

    /// Whether loops are compared. A client begins to listen while this is locked, so that its begin and the end of the
    /// comparison exclude each other.
    pub(super) fn is_compared(&self) -> MutexGuard<'_, bool> {
        locked(&self.is_compared)
    }
}

/// The messages about what differs.
pub(super) fn changes(before: &KnownLoops, now: &KnownLoops) -> Vec<Value> {
    let mut messages = Vec::new();
    for id in before.keys().filter(|id| !now.contains_key(*id)) {
        messages.push(json!({"type": "LOOP_DELETED", "loop_id": id}));
    }
    for (id, one) in now {
        let old = before.get(id);
        if old.is_none_or(|old| (&old.status, &old.updated) != (&one.status, &one.updated)) {
            messages.push(json!({
                "type": "LOOP_STATE_UPDATE", "loop_id": id, "status": one.status, "updated_at": one.updated,
            }));
        }
        messages.extend(task_changes(
            id,
            old.map(|old| old.tasks.as_slice()).unwrap_or_default(),
            &one.tasks,
        ));
    }
    messages
}

/// The messages about the tasks of a loop.
fn task_changes(id: &str, before: &[Value], now: &[Value]) -> Vec<Value> {
    let find = |tasks: &[Value], task: &Value| {
        tasks
            .iter()
            .find(|one| one["task_id"] == task["task_id"])
            .cloned()
    };
    let message =
        |kind: &str, task: &Value| json!({"type": kind, "loop_id": id, "task_id": task["task_id"]});
    let mut messages = Vec::new();
    for gone in before.iter().filter(|task| find(now, task).is_none()) {
        messages.push(message("TASK_DELETED", gone));
    }
    for task in now {
        // The order is told once for all tasks.
        let without_order = |task: &Value| {
            let mut task = task.clone();
            task["order"] = Value::Null;
            task
        };
        let kind = match find(before, task) {
            None => "TASK_ADDED",
            Some(old) if without_order(&old) != without_order(task) => "TASK_UPDATED",
            Some(_) => continue,
        };
        let mut message = message(kind, task);
        message["task"] = task.clone();
        messages.push(message);
    }
    let kept = |tasks: &[Value], others: &[Value]| -> Vec<Value> {
        let both = tasks.iter().filter(|task| find(others, task).is_some());
        both.map(|task| task["task_id"].clone()).collect()
    };
    if kept(before, now) != kept(now, before) {
        let order: Vec<&Value> = now.iter().map(|task| &task["task_id"]).collect();
        messages
            .push(json!({"type": "TASK_REORDERED", "loop_id": id, "ordered_task_ids": order, "tasks": now}));
    }
    messages
}

#[cfg(test)]
mod tests {
    use super::*;

    fn task(id: &str, order: usize, text: &str) -> Value {
        json!({"task_id": id, "order": order, "description": text})
    }

    fn one(status: &str, tasks: &[Value]) -> KnownLoops {
        let known = KnownLoop {
            status: status.into(),
            updated: "T".to_owned(),
            tasks: tasks.to_vec(),
        };
        BTreeMap::from([("l".to_owned(), known)])
    }

    #[test]
    fn what_differs_is_told_and_nothing_else() {
        let a = task("a", 0, "x");
        let b = task("b", 1, "y");
        let both = one("paused", &[a.clone(), b.clone()]);
        let shown = |before: &KnownLoops, now: &KnownLoops| -> Vec<String> {
            let short = |message: Value| {
                let about = if message["task_id"].is_null() {
                    &message["status"]
                } else {
                    &message["task_id"]
                };
                format!("{} {about}", message["type"].as_str().unwrap_or_default())
            };
            changes(before, now).into_iter().map(short).collect()
        };
        let none = KnownLoops::new();
        assert_eq!(shown(&both, &both), [""; 0]);
        assert_eq!(
            shown(&none, &one("created", &[])),
            ["LOOP_STATE_UPDATE \"created\""]
        );
        assert_eq!(shown(&both, &none), ["LOOP_DELETED null"]);
        assert_eq!(
            shown(&one("created", &[]), &one("running", &[])),
            ["LOOP_STATE_UPDATE \"running\""]
        );
        assert_eq!(
            shown(&one("paused", std::slice::from_ref(&a)), &both),
            ["TASK_ADDED \"b\""]
        );
        assert_eq!(
            shown(&both, &one("paused", &[task("b", 0, "y")])),
            ["TASK_DELETED \"a\""]
        );
        assert_eq!(
            shown(&both, &one("paused", &[a, task("b", 1, "z")])),
            ["TASK_UPDATED \"b\""]
        );
        assert_eq!(
            shown(
                &both,
                &one("paused", &[task("b", 0, "y"), task("a", 1, "x")])
            ),
            ["TASK_REORDERED null"]
        );
    }
}

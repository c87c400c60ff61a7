//! The list of tasks of a loop, in `/api/loops/v2`: each change is an answer that replaces the list, and that rests on
//! the revision in which the list was read. So nothing is lost that another process has recorded meanwhile.

use super::api::{LoopAnswer, LoopView, Loops, all_loops, found, only, text};
use super::issues::tasks_of_issue;
use super::tasks::{LIST, new_task};
use axum::http::StatusCode;
use orch_base::{Code, Error};
use orch_serve::http::wrong;
use serde_json::{Map, Value, json};

/// The members of a task of a loop that a request may give.
const TASK_KEYS: [&str; 6] = [
    "description",
    "tool",
    "mode",
    "prompt_template",
    "command",
    "on_error",
];
/// How often a change of the list is made again because another process was faster.
const TRIES: u32 = 50;

impl Loops<'_> {
    pub(super) fn tasks(&self, id: &str) -> Result<LoopAnswer, Error> {
        let view = self.one(id)?;
        let tasks = view.tasks.unwrap_or_default();
        let tasks: Vec<Value> = tasks
            .iter()
            .enumerate()
            .map(|(order, task)| outward(task, order))
            .collect();
        let timestamp = self.caller.clock.now().to_string();
        let members =
            json!({"total": tasks.len(), "data": tasks, "loop_id": id, "timestamp": timestamp});
        Ok(LoopAnswer(StatusCode::OK, members, None))
    }

    /// The loop that has a task with this id, and the task. Returns an error if there is none.
    pub(super) fn task(&self, id: &str) -> Result<(LoopView, Value), Error> {
        let views = all_loops(&self.state.service.runner.workspace()?)?;
        let holds = |view: LoopView| {
            let order = view
                .tasks
                .as_ref()?
                .iter()
                .position(|task| task["id"] == id)?;
            let mut task = outward(&view.tasks.as_ref()?[order], order);
            task["loop_id"] = view.id.as_str().into();
            Some((view, task))
        };
        let found = views.into_iter().find_map(holds);
        found.ok_or_else(|| Error::new(Code::UnknownTask, format!("no loop has a task `{id}`")))
    }

    /// The loop that a request names, with its list of tasks.
    pub(super) fn planned(&self, id: &str) -> Result<(LoopView, Vec<Value>), Error> {
        let mut view = self.one(id)?;
        let tasks = view.tasks.take().ok_or_else(|| {
            Error::new(Code::NotEnabled, format!("`{id}` has no plan yet"))
                .with_hint("start the loop; its first action makes the list of tasks")
        })?;
        Ok((view, tasks))
    }

    /// Changes the list of tasks of a loop, and returns what `change` returns. If the loop is at another revision when
    /// the new list is recorded, the list is read and changed again.
    fn change_list<T>(
        &self,
        id: &str,
        change: impl Fn(&mut Vec<Value>) -> Result<T, Error>,
    ) -> Result<T, Error> {
        for _ in 0..TRIES {
            let (view, mut tasks) = self.planned(id)?;
            let changed = change(&mut tasks)?;
            view.require_changeable("list of tasks", &["paused", "user_exit"])?;
            if view.is_interrupted {
                self.rest(view)?;
                continue;
            }
            match self.give(id, &[(LIST, &Value::Array(tasks))], Some(view.rev)) {
                Err(error) if error.code() == Code::TaskChanged => {}
                done => return done.map(|()| changed),
            }
        }
        Err(Error::busy(format!("other processes keep changing `{id}`")))
    }

    /// Adds tasks to the end of the list. Returns them as they are shown.
    fn append(&self, id: &str, added: &[Value]) -> Result<Vec<Value>, Error> {
        self.change_list(id, |tasks| {
            let before = tasks.len();
            tasks.extend_from_slice(added);
            Ok((before..)
                .zip(added)
                .map(|(order, task)| outward(task, order))
                .collect())
        })
    }

    pub(super) fn add_task(
        &self,
        id: &str,
        body: &Map<String, Value>,
    ) -> Result<LoopAnswer, Error> {
        only(body, &TASK_KEYS)?;
        for key in ["description", "tool", "mode", "prompt_template"] {
            text(body, key)?.ok_or_else(|| wrong(&format!("`{key}` is missing")))?;
        }
        check_task(body)?;
        let added = self.append(id, &[new_task(body, self.caller.clock.now())?])?;
        Ok(LoopAnswer(
            StatusCode::CREATED,
            json!({"data": added[0]}),
            None,
        ))
    }

    /// Adds the tasks of an issue of the older tool.
    pub(super) fn import(&self, id: &str, body: &Map<String, Value>) -> Result<LoopAnswer, Error> {
        only(body, &["issue_id"])?;
        let issue = text(body, "issue_id")?.ok_or_else(|| wrong("`issue_id` is missing"))?;
        self.planned(id)?;
        let workspace = self.state.service.runner.workspace()?;
        let new = |members: &Map<String, Value>| new_task(members, self.caller.clock.now());
        let added: Result<Vec<Value>, Error> = tasks_of_issue(workspace.reader().root(), issue)?
            .iter()
            .map(new)
            .collect();
        let added = self.append(id, &added?)?;
        let message = format!("Imported {} tasks from issue {issue}", added.len());
        Ok(LoopAnswer(
            StatusCode::CREATED,
            json!({"data": added, "message": message}),
            None,
        ))
    }

    pub(super) fn change_task(
        &self,
        task_id: &str,
        body: &Map<String, Value>,
    ) -> Result<LoopAnswer, Error> {
        only(body, &[&["loop_id"], TASK_KEYS.as_slice()].concat())?;
        let id = text(body, "loop_id")?.ok_or_else(|| wrong("`loop_id` is missing"))?;
        check_task(body)?;
        let now = self.caller.clock.now().to_string();
        let changed = self.change_list(id, |tasks| {
            let order = place(tasks, task_id)?;
            let task = &mut tasks[order];
            for (key, value) in body.iter().filter(|(key, _)| *key != "loop_id") {
                task[key.as_str()] = value.clone();
            }
            task["updated_at"] = now.as_str().into();
            Ok(outward(task, order))
        })?;
        Ok(found(&changed))
    }

    pub(super) fn remove_task(
        &self,
        task_id: &str,
        query: &[(String, String)],
    ) -> Result<LoopAnswer, Error> {
        let [(name, id)] = query else {
            return Err(wrong("`loop_id` is missing in the query"));
        };
        if name != "loop_id" {
            return Err(wrong("`loop_id` is missing in the query"));
        }
        self.change_list(id, |tasks| {
            place(tasks, task_id).map(|order| tasks.remove(order))
        })?;
        Ok(LoopAnswer(
            StatusCode::OK,
            json!({"message": format!("Task {task_id} deleted")}),
            None,
        ))
    }

    pub(super) fn reorder(&self, id: &str, body: &Map<String, Value>) -> Result<LoopAnswer, Error> {
        only(body, &["ordered_task_ids"])?;
        let ids = ordered_ids(body)?;
        self.change_list(id, |tasks| {
            let mut ordered = Vec::new();
            for id in &ids {
                ordered.push(tasks.remove(place(tasks, id)?));
            }
            // What the request does not name stays behind, in its order.
            ordered.append(tasks);
            *tasks = ordered;
            Ok(())
        })?;
        self.tasks(id)
    }
}

/// The ids in a body, in their order. Returns an error if there are none, or one appears twice.
fn ordered_ids(body: &Map<String, Value>) -> Result<Vec<&str>, Error> {
    let ids = body.get("ordered_task_ids").and_then(Value::as_array);
    let ids: Option<Vec<&str>> = ids.and_then(|ids| ids.iter().map(Value::as_str).collect());
    let ids = ids.filter(|ids| !ids.is_empty());
    let ids = ids.ok_or_else(|| wrong("`ordered_task_ids` is not a list of ids"))?;
    match ids
        .iter()
        .enumerate()
        .find(|(at, id)| ids[..*at].contains(id))
    {
        Some((_, id)) => Err(wrong(&format!("`ordered_task_ids` has `{id}` twice"))),
        None => Ok(ids),
    }
}

/// A task of a loop as the older tool shows it.
pub(super) fn outward(task: &Value, order: usize) -> Value {
    let mut shown = json!({"task_id": task["id"], "order": order});
    for (key, value) in task
        .as_object()
        .into_iter()
        .flatten()
        .filter(|(key, _)| !["id", "order"].contains(&key.as_str()))
    {
        shown[key.as_str()] = value.clone();
    }
    shown
}

/// Where a task is in the list. Returns an error if it is not there.
fn place(tasks: &[Value], id: &str) -> Result<usize, Error> {
    let order = tasks.iter().position(|task| task["id"] == id);
    order.ok_or_else(|| Error::new(Code::UnknownTask, format!("the loop has no task `{id}`")))
}

/// Returns an error if a member of a task cannot be meant.
fn check_task(body: &Map<String, Value>) -> Result<(), Error> {
    for key in TASK_KEYS {
        let Some(value) = text(body, key)? else {
            continue;
        };
        let known: &[&str] = match key {
            "mode" => &["analysis", "write", "review"],
            "on_error" => &["continue", "pause", "fail_fast"],
            _ => continue,
        };
        if !known.contains(&value) {
            return Err(wrong(&format!(
                "`{key}` is not one of {}",
                known.join(", ")
            )));
        }
    }
    Ok(())
}

//! Executors as they are: the honest one, and every way not to be.

use super::simulator::{Job, Machine, Reply};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;

/// How an executor behaves.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Behaviour {
    /// Does its work and says so.
    Succeeds,
    /// Says that it failed.
    Fails,
    /// Never ends by itself.
    Hangs,
    /// Prints something that is not a result.
    WritesGarbage,
    /// Prints nothing.
    WritesNothing,
    /// Gives its first result again and again.
    Repeats,
    /// Needs something from a person, or from elsewhere.
    AsksForClarification,
    /// Says that it is done and has done nothing.
    ClaimsDone,
    /// Changes what it may not.
    Trespasses,
    /// Empties every list of its result.
    EmptiesLists,
    /// Brings back everything that it ever reported.
    Resurrects,
    /// Ends in the middle.
    Dies,
    /// Leaves a child behind, and prints before it.
    Forks,
    /// Fails twice, then works, then fails twice again.
    Flickers,
    /// Gives more than any state can hold.
    Floods,
    /// Removes what it may write.
    Removes,
}

impl Behaviour {
    /// Every behaviour.
    pub const ALL: [Self; 16] = [
        Self::Succeeds,
        Self::Fails,
        Self::Hangs,
        Self::WritesGarbage,
        Self::WritesNothing,
        Self::Repeats,
        Self::AsksForClarification,
        Self::ClaimsDone,
        Self::Trespasses,
        Self::EmptiesLists,
        Self::Resurrects,
        Self::Dies,
        Self::Forks,
        Self::Flickers,
        Self::Floods,
        Self::Removes,
    ];
}

/// What executors remember from one start to the next.
#[derive(Debug, Default)]
pub struct Memory {
    first: BTreeMap<String, Value>,
    lists: BTreeMap<String, Vec<Value>>,
}

/// What an executor of this behaviour does.
pub fn perform(
    machine: &Machine,
    behaviour: Behaviour,
    job: &Job<'_>,
    memory: &mut Memory,
) -> Reply {
    let action = machine.workflow.action(job.action).expect("known");
    let printed = |result: Value| machine.reply(job, &result);
    let honest = || (machine.honest)(job);
    match behaviour {
        Behaviour::Succeeds => printed(honest()),
        Behaviour::Fails => printed(json!({"status": "failed", "message": "it did not work"})),
        Behaviour::Hangs => Reply::Hung,
        Behaviour::WritesGarbage => {
            Reply::Printed("I did it! {stateUpdates: yes".to_owned(), Vec::new())
        }
        Behaviour::WritesNothing => Reply::Printed(String::new(), Vec::new()),
        Behaviour::Repeats => {
            let first = memory
                .first
                .entry(job.action.to_string())
                .or_insert_with(honest);
            printed(first.clone())
        }
        Behaviour::AsksForClarification => printed((machine.asking)(job)),
        Behaviour::ClaimsDone => {
            Reply::Printed("{\"summary\": \"all done\"}\n".to_owned(), Vec::new())
        }
        Behaviour::Trespasses => {
            let mut result = honest();
            let phase_key = machine.workflow.phase_key.clone();
            result["stateUpdates"][phase_key] = json!("completed");
            result["stateUpdates"]["run.errors"] = json!(0);
            printed(result)
        }
        Behaviour::EmptiesLists => {
            let mut result = honest();
            each_list(&mut result["stateUpdates"], &mut |_, list| list.clear());
            printed(result)
        }
        Behaviour::Resurrects => {
            let mut result = honest();
            each_list(&mut result["stateUpdates"], &mut |place, list| {
                let known = memory
                    .lists
                    .entry(format!("{}{place}", job.action))
                    .or_default();
                known.extend(
                    list.iter()
                        .filter(|item| !known.contains(item))
                        .cloned()
                        .collect::<Vec<_>>(),
                );
                list.clone_from(known);
            });
            printed(result)
        }
        Behaviour::Dies => Reply::Died,
        // What becomes of the child is for tests with processes; here its parent has printed a number.
        Behaviour::Forks => match printed(honest()) {
            Reply::Printed(output, files) => Reply::Printed(format!("[1] 4711\n{output}"), files),
            other => other,
        },
        Behaviour::Flickers if job.before % 3 < 2 => Reply::Died,
        Behaviour::Flickers => printed(honest()),
        Behaviour::Floods => {
            let mut result = honest();
            each_list(&mut result["stateUpdates"], &mut |_, list| {
                if let Some(item) = list.first().cloned() {
                    list.resize(5_000, item);
                }
            });
            printed(result)
        }
        Behaviour::Removes => {
            let removed: Map<String, Value> = action
                .writes
                .iter()
                .map(|pointer| (pointer.clone(), Value::Null))
                .collect();
            printed(json!({"stateUpdates": removed}))
        }
    }
}

/// Calls `change` with every list in a value, and where it is.
fn each_list(value: &mut Value, change: &mut dyn FnMut(&str, &mut Vec<Value>)) {
    fn visit(place: &str, value: &mut Value, change: &mut dyn FnMut(&str, &mut Vec<Value>)) {
        match value {
            Value::Array(items) => change(place, items),
            Value::Object(members) => {
                for (key, inner) in members {
                    visit(&format!("{place}/{key}"), inner, change);
                }
            }
            _ => {}
        }
    }
    visit("", value, change);
}

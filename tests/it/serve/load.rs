//! Many clients at once: each hears of every step once, and an order that is sent twice is carried out once.

use super::client::Server;
use crate::harness::World;
use serde_json::json;
use std::collections::BTreeMap;
use std::thread;

/// How many clients listen.
const LISTENERS: usize = 20;
/// How many tasks are moved. Each order is sent twice.
const TASKS: usize = 20;
/// How many clients order.
const CLIENTS: usize = 5;

#[test]
fn no_event_is_lost_and_nothing_is_moved_twice() {
    let world = World::ready();
    let tasks: Vec<String> = (0..TASKS).map(|number| format!("t{number}")).collect();
    for task in tasks.iter().map(String::as_str).chain(["last"]) {
        world.orch(&["new", task]).succeeds();
        world.plan(task, 1);
    }
    let server = Server::start(&world, &["--no-watch"]);
    let mut listeners: Vec<_> = (0..LISTENERS)
        .map(|_| server.listen("events", None))
        .collect();
    listeners
        .iter_mut()
        .for_each(|listener| drop(listener.hears("ready")));
    let orders: Vec<&String> = tasks.iter().chain(&tasks).collect();
    let order = |task: &str| {
        let moved = server.post(
            &format!("tasks/{task}/next"),
            &json!({"expect": "plan_review"}),
        );
        assert_eq!(moved.status, 200, "{moved:?}");
    };
    thread::scope(|scope| {
        let parts = orders.chunks(orders.len() / CLIENTS);
        let clients: Vec<_> = parts
            .map(|part| scope.spawn(|| part.iter().for_each(|task| order(task))))
            .collect();
        for mut listener in listeners {
            scope.spawn(move || {
                let mut heard: BTreeMap<String, usize> = BTreeMap::new();
                let mut last = 0;
                while !heard.contains_key("last") {
                    let (name, event) = listener.next().expect("the stream continues");
                    assert_ne!(name, "reset", "an event is lost");
                    let (_, number) = listener.last.rsplit_once('-').expect("a number");
                    let number: u64 = number.parse().expect("a number");
                    assert!(last == 0 || number == last + 1, "{number} follows {last}");
                    last = number;
                    if name == "transition" {
                        let task = event["transition"]["task"]
                            .as_str()
                            .expect("a task")
                            .to_owned();
                        *heard.entry(task).or_default() += 1;
                    }
                }
                assert_eq!(heard.len(), TASKS + 1);
                assert!(heard.values().all(|count| *count == 1), "{heard:?}");
            });
        }
        clients
            .into_iter()
            .for_each(|client| client.join().expect("all orders are answered"));
        // Whoever hears of this has heard of everything before.
        order("last");
    });
    for task in &tasks {
        assert_eq!(
            world.orch_json(&["log", task])["entries"]
                .as_array()
                .map(Vec::len),
            Some(2),
            "{task}"
        );
    }
    assert_eq!(server.stop(), Some(0));
    world.orch(&["audit"]).succeeds();
}

//! Leases and wake-ups in real NATS servers. Without the program, these tests ask nothing.

use super::conformance::{Site, holds, lease, put, task};
use super::nats_server::{Servers, program};
use crate::document;
use crate::nats::NatsPlace;
use crate::nats::leases::NatsLeases;
use crate::nats::wake_ups::WakeUps;
use crate::open::open_queue;
use crate::queue::{QueueNews, WakeQueue};
use crate::spent::{SpentBudget, SpentStore};
use crate::store::{LeaseStore, LeaseVersion, Swapped};
use orch_base::{Code, TaskId};
use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::mpsc::{Receiver, channel};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

/// A bucket of running servers.
struct Bucket<'s> {
    servers: &'s Servers,
    name: &'static str,
}

impl Bucket<'_> {
    fn place(&self) -> NatsPlace {
        NatsPlace {
            url: self.servers.url(),
            bucket: self.name.to_owned(),
            secret: None,
        }
    }

    fn leases(&self) -> NatsLeases {
        NatsLeases::open(&self.place()).expect("usable")
    }
}

impl Site for Bucket<'_> {
    fn open(&self) -> Box<dyn LeaseStore> {
        Box::new(self.leases())
    }

    fn damage(&self, task: &TaskId) {
        self.leases()
            .write_bytes(&document::key(task), b"{\n  \"version\": }\n")
            .expect("written");
    }

    fn is_slow(&self) -> bool {
        false
    }
}

#[test]
fn a_bucket_of_one_server_keeps_what_every_store_keeps() {
    let Some(program) = program() else { return };
    let servers = Servers::start(&program, 1);
    let bucket = Bucket {
        servers: &servers,
        name: "one",
    };
    holds(&bucket);
}

#[test]
fn leases_and_wake_ups_outlive_the_server() {
    let Some(program) = program() else { return };
    let mut servers = Servers::start(&program, 1);
    let a = task("a");
    let place = NatsPlace {
        url: servers.url(),
        bucket: "kept".to_owned(),
        secret: None,
    };
    let mut leases = NatsLeases::open(&place).expect("usable");
    let queue = WakeUps::open(&place).expect("usable");
    let version = put(&mut leases, &a, None, &lease("ann", 1));
    assert_eq!(queue.publish(&a), Ok(true));
    assert_eq!(queue.publish(&a), Ok(false), "one wake-up for each task");

    servers.nodes[0].kill();
    servers.nodes[0].start(&program);
    let there = leases.read(&a).expect("connected again").expect("there");
    assert_eq!(there.version, version);
    assert_eq!(queue.publish(&a), Ok(false));
    let woken = queue
        .next(Duration::from_secs(5))
        .expect("reached")
        .expect("kept");
    assert_eq!(woken.task, a);
    queue.acknowledge(&woken).expect("acknowledged");
    assert!(
        queue
            .next(Duration::from_millis(100))
            .expect("reached")
            .is_none()
    );
    assert_eq!(queue.publish(&a), Ok(true), "it may be due again");

    let connected = leases.client();
    drop(leases);
    assert_eq!(
        NatsLeases::open(&place).expect("usable").client(),
        connected
    );
    servers.nodes[0].kill();
    servers.nodes[0].start(&program);
    let mut leases = NatsLeases::open(&place).expect("whether or not it is the same connection");
    let there = leases.read(&a).expect("connected").expect("there");
    assert_eq!(there.version, version);
    drop(leases);
    servers.nodes[0].kill();
    let error = NatsLeases::open(&place).err().expect("refused");
    assert_eq!(error.code(), Code::LeaseStore, "{error}");
    let bad = NatsPlace {
        bucket: "a.b".to_owned(),
        ..place
    };
    let error = NatsLeases::open(&bad).err().expect("refused");
    assert!(error.message().contains("no name of a bucket"), "{error}");
}

#[test]
fn a_lease_of_a_bucket_that_was_lost_is_not_renewed_in_the_next() {
    let Some(program) = program() else { return };
    let servers = Servers::start(&program, 1);
    let bucket = Bucket {
        servers: &servers,
        name: "lost",
    };
    let a = task("a");
    let mut ann = bucket.leases();
    let anns = put(&mut ann, &a, None, &lease("ann", 1));
    ann.delete_bucket();
    let mut bob = bucket.leases();
    let bobs = put(&mut bob, &a, None, &lease("bob", 2));
    let revision = |version: &LeaseVersion| version.0.split('@').next().map(str::to_owned);
    assert_eq!(revision(&anns), revision(&bobs), "revisions begin again");
    match ann.put(&a, Some(&anns), &lease("ann", 1)).expect("reached") {
        Swapped::Lost(Some(there)) => assert_eq!(there.version, bobs),
        other => panic!("{other:?}"),
    }
}

#[test]
fn each_wake_up_goes_to_one_worker_and_those_of_a_dead_one_to_others() {
    let Some(program) = program() else { return };
    let servers = Servers::start(&program, 1);
    let place = NatsPlace {
        url: servers.url(),
        bucket: "queue".to_owned(),
        secret: None,
    };
    let queue = WakeUps::open(&place).expect("usable");
    let tasks: Vec<TaskId> = (0..40).map(|number| task(&format!("t{number}"))).collect();
    for task in &tasks {
        assert_eq!(queue.publish(task), Ok(true));
    }
    let taken: Vec<TaskId> = scope(|threads| {
        let workers: Vec<_> = (0..4)
            .map(|_| {
                let place = &place;
                threads.spawn(move || {
                    let queue = WakeUps::open(place).expect("usable");
                    let mut taken = Vec::new();
                    while let Some(woken) = queue.next(Duration::from_millis(300)).expect("reached")
                    {
                        taken.push(woken.task.clone());
                        queue.acknowledge(&woken).expect("acknowledged");
                        sleep(Duration::from_millis(2));
                    }
                    assert!(taken.len() < 40, "one worker took all");
                    taken
                })
            })
            .collect();
        workers
            .into_iter()
            .flat_map(|one| one.join().expect("ended"))
            .collect()
    });
    let names: BTreeSet<&TaskId> = taken.iter().collect();
    assert_eq!((taken.len(), names.len()), (40, 40));
}

/// What a queue tells.
fn heard(news: &Receiver<QueueNews>) -> Option<QueueNews> {
    news.recv_timeout(Duration::from_secs(15)).ok()
}

fn listener(place: &NatsPlace) -> (WakeQueue, Receiver<QueueNews>) {
    let (send, news) = channel();
    let ear = Box::new(move |one| drop(send.send(one)));
    (open_queue(place.clone(), ear).expect("begun"), news)
}

#[test]
fn a_worker_is_woken_as_often_as_it_asks_and_finds_its_server_again() {
    let Some(program) = program() else { return };
    let mut servers = Servers::start(&program, 1);
    let place = NatsPlace {
        url: servers.url(),
        bucket: "woken".to_owned(),
        secret: None,
    };
    let [a, b, c] = ["a", "b", "c"].map(task);
    let (ann, anns) = listener(&place);
    let (bob, bobs) = listener(&place);
    ann.listen();
    [&a, &b].into_iter().for_each(|task| bob.publish(task));
    assert_eq!(heard(&anns), Some(QueueNews::Woken(a.clone())));
    // The next is fetched when it is asked for, by whoever asks.
    bob.listen();
    assert_eq!(heard(&bobs), Some(QueueNews::Woken(b.clone())));
    assert!(anns.try_recv().is_err());
    ann.know(&a);
    bob.give_back(&b, Duration::from_millis(50));
    ann.listen();
    assert_eq!(heard(&anns), Some(QueueNews::Woken(b.clone())));
    // One whose worker ends without a word goes to others, too.
    drop((ann, anns));
    servers.nodes[0].kill();
    bob.listen();
    let Some(QueueNews::Gone(error)) = heard(&bobs) else {
        panic!("it is told that the server is gone");
    };
    assert_eq!(error.code(), Code::LeaseStore, "{error}");
    bob.publish(&c);
    servers.nodes[0].start(&program);
    assert_eq!(heard(&bobs), Some(QueueNews::Back), "it is told once");
    let mut woken = BTreeSet::new();
    for _ in 0..2 {
        let Some(QueueNews::Woken(task)) = heard(&bobs) else {
            panic!("what waited is published: {woken:?}");
        };
        bob.know(&task);
        bob.listen();
        woken.insert(task);
    }
    assert_eq!(woken, BTreeSet::from([b, c]));
}

#[test]
fn what_runs_use_is_counted_once_whoever_counts_at_the_same_time() {
    let Some(program) = program() else { return };
    let servers = Servers::start(&program, 1);
    let bucket = Bucket {
        servers: &servers,
        name: "spent",
    };
    let a = task("a");
    let add = |store: &mut NatsLeases| {
        let added = store.change(&a, &mut |known| {
            let known = known.unwrap_or_default();
            Some(SpentBudget {
                turns: known.turns + 1,
                cost: known.cost + 0.5,
                ..known
            })
        });
        added.expect("reached").expect("kept")
    };
    scope(|threads| {
        for _ in 0..4 {
            threads.spawn(|| {
                let mut store = bucket.leases();
                for _ in 0..10 {
                    add(&mut store);
                }
            });
        }
    });
    let mut store = bucket.leases();
    let all = add(&mut store);
    assert_eq!((all.turns, all.cost), (41, 20.5));
    assert_eq!(store.list().expect("read"), Vec::new(), "it is no lease");
    assert_eq!(store.change(&a, &mut |_| None), Ok(None));
    assert_eq!(add(&mut store).turns, 1, "the next run has a new budget");
}

#[test]
fn a_bucket_of_three_servers_keeps_every_write_while_its_leader_is_killed_and_frozen() {
    let Some(program) = program() else { return };
    if std::env::var_os("ORCH_FLEET").is_none() {
        return;
    }
    let mut servers = Servers::start(&program, 3);
    holds(&Bucket {
        servers: &servers,
        name: "conform",
    });
    let place = NatsPlace {
        url: servers.url(),
        bucket: "three".to_owned(),
        secret: None,
    };
    let first = NatsLeases::open(&place).expect("usable").made().to_owned();
    let is_over = AtomicBool::new(false);
    scope(|threads| {
        let writers: Vec<_> = (0..4)
            .map(|number| {
                let place = &place;
                let is_over = &is_over;
                threads.spawn(move || keep_renewing(place, number, is_over))
            })
            .collect();
        sleep(Duration::from_secs(2));
        for _ in 0..2 {
            let leader = servers.leader("KV_three");
            servers.nodes[leader].kill();
            sleep(Duration::from_secs(5));
            servers.nodes[leader].start(&program);
            sleep(Duration::from_secs(3));
            let leader = servers.leader("KV_three");
            servers.nodes[leader].freeze(true);
            sleep(Duration::from_secs(8));
            servers.nodes[leader].freeze(false);
            sleep(Duration::from_secs(3));
        }
        is_over.store(true, Relaxed);
        for writer in writers {
            let renewed = writer.join().expect("it lost nothing");
            assert!(renewed > 20, "{renewed}");
        }
    });
    let after = NatsLeases::open(&place).expect("usable").made().to_owned();
    assert_eq!(first, after, "nobody has made the bucket anew");
}

/// Renews a lease again and again. Each write that was told to be done has to be there, unless the one after it is.
fn keep_renewing(place: &NatsPlace, number: usize, is_over: &AtomicBool) -> u64 {
    let mut leases = NatsLeases::open(place).expect("usable");
    let task = task(&format!("t{number}"));
    let mut last: Option<LeaseVersion> = None;
    let mut renewed = 0;
    while !is_over.load(Relaxed) {
        match leases.put(&task, last.as_ref(), &lease("ann", renewed)) {
            Ok(Swapped::Done(version)) => {
                last = Some(version);
                renewed += 1;
            }
            Ok(Swapped::Lost(there)) => {
                panic!("{task}: {last:?} was told to be done, and {there:?} is there")
            }
            // Nothing is known of the write.
            Err(_) => {
                let begun = Instant::now();
                let there = loop {
                    match leases.read(&task) {
                        Ok(there) => break there.expect("it was written"),
                        Err(error) => assert!(begun.elapsed() < Duration::from_secs(60), "{error}"),
                    }
                };
                let is_next = there.seen.lease.generation == renewed;
                assert!(
                    is_next || Some(&there.version) == last.as_ref(),
                    "{there:?}"
                );
                renewed = there.seen.lease.generation + 1;
                last = Some(there.version);
            }
        }
    }
    renewed
}

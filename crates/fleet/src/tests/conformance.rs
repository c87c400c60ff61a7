//! What every store of leases keeps: the same tests run over each of them.

use crate::random;
use crate::store::{LeaseStore, LeaseVersion, StoredLease, Swapped};
use orch_base::{Code, TaskId, Timestamp};
use orch_core::lease::{Lease, LeaseAge, LeaseOwner, LeaseStanding, next_generation, standing};
use std::collections::BTreeSet;
use std::thread::{scope, sleep};
use std::time::Duration;

/// A store with several clients.
pub(super) trait Site: Sync {
    /// Another client of the same store, as a process of its own would open it.
    fn open(&self) -> Box<dyn LeaseStore>;

    /// Puts bytes in the place of a lease that are none.
    fn damage(&self, task: &TaskId);

    /// Whether each question takes so long that only a few are asked, unless `ORCH_FLEET` is set.
    fn is_slow(&self) -> bool;
}

/// How much is tried.
#[derive(Clone, Copy)]
struct Scale {
    /// How many clients take the same task at once.
    takers: usize,
    /// How often each client takes the task over, while the others do so too.
    take_overs: u64,
    /// How many tasks have a lease at the same time, at most.
    tasks: usize,
}

impl Scale {
    fn of(site: &dyn Site) -> Self {
        if is_at_length() {
            Self {
                // git's own server lets only few connections wait.
                takers: if site.is_slow() { 5 } else { 20 },
                take_overs: 10,
                tasks: usize::MAX,
            }
        } else if site.is_slow() {
            Self {
                takers: 2,
                take_overs: 1,
                tasks: 2,
            }
        } else {
            Self {
                takers: 6,
                take_overs: 2,
                tasks: usize::MAX,
            }
        }
    }
}

/// All tests of a store, one after the other; those of another way to the same store are fewer.
pub(super) fn holds(site: &dyn Site) {
    one_of_many_takers_wins(site);
    lists_and_reads_agree_for_every_name(site);
    if site.is_slow() && !is_at_length() {
        return;
    }
    only_the_version_that_is_there_can_be_replaced(site);
    every_write_has_a_version_of_its_own(site);
    generations_never_go_down(site);
    ages_only_grow(site);
    what_is_damaged_is_told_with_its_place(site);
}

/// Whether a make target asks for more than what has to hold each time.
fn is_at_length() -> bool {
    std::env::var_os("ORCH_FLEET").is_some()
}

pub(super) fn task(id: &str) -> TaskId {
    TaskId::new(id).expect("an id")
}

/// A lease of somebody, for half an hour.
pub(crate) fn lease(name: &str, generation: u64) -> Lease {
    Lease {
        owner: LeaseOwner {
            name: name.to_owned(),
            token: format!("{name}-token"),
        },
        generation,
        nonce: random(16).expect("random"),
        length: 1800,
        since: Timestamp::from_seconds(0),
        until: Timestamp::from_seconds(1800),
        place: "host:/repo".to_owned(),
        branch: Some("task/a".to_owned()),
        run: None,
    }
}

/// Puts a lease, which nobody contests.
#[track_caller]
pub(super) fn put(
    store: &mut dyn LeaseStore,
    task: &TaskId,
    expected: Option<&LeaseVersion>,
    lease: &Lease,
) -> LeaseVersion {
    match store.put(task, expected, lease).expect("reached") {
        Swapped::Done(version) => version,
        Swapped::Lost(now) => panic!("lost to {now:?}"),
    }
}

/// What the store has instead of what a swap expected.
#[track_caller]
fn lost(swapped: Swapped) -> Option<StoredLease> {
    match swapped {
        Swapped::Lost(now) => now,
        Swapped::Done(version) => panic!("{version:?} was written"),
    }
}

fn one_of_many_takers_wins(site: &dyn Site) {
    let task = task("contested");
    let results: Vec<(String, Swapped)> = scope(|threads| {
        let begun: Vec<_> = (0..Scale::of(site).takers)
            .map(|taker| {
                let task = &task;
                threads.spawn(move || {
                    let mut store = site.open();
                    let name = format!("taker-{taker}");
                    let swapped = store.put(task, None, &lease(&name, 1));
                    (name, swapped.expect("reached"))
                })
            })
            .collect();
        begun
            .into_iter()
            .map(|one| one.join().expect("ended"))
            .collect()
    });
    let is_won = |swapped: &Swapped| matches!(swapped, Swapped::Done(_));
    let winners: Vec<_> = results.iter().filter(|(_, one)| is_won(one)).collect();
    assert_eq!(winners.len(), 1, "{results:?}");
    let (winner, Swapped::Done(version)) = winners[0] else {
        unreachable!("it won");
    };
    for (_, swapped) in &results {
        if let Swapped::Lost(now) = swapped {
            let now = now.as_ref().expect("told who has it");
            assert_eq!(
                (&now.seen.lease.owner.name, &now.version),
                (winner, version)
            );
        }
    }
    let mut store = site.open();
    let there = store.read(&task).expect("read").expect("there");
    assert_eq!(
        (&there.seen.lease.owner.name, &there.version),
        (winner, version)
    );
    assert_eq!(store.remove(&task, version), Ok(None));
}

fn only_the_version_that_is_there_can_be_replaced(site: &dyn Site) {
    let task = task("replaced");
    let mut ann = site.open();
    let mut bob = site.open();
    assert_eq!(bob.read(&task), Ok(None));
    let first = put(&mut *ann, &task, None, &lease("ann", 1));
    let there = lost(bob.put(&task, None, &lease("bob", 1)).expect("reached"));
    assert_eq!(there.expect("there").version, first);

    let second = put(&mut *ann, &task, Some(&first), &lease("ann", 1));
    let there = lost(
        bob.put(&task, Some(&first), &lease("bob", 2))
            .expect("reached"),
    );
    assert_eq!(there.expect("there").version, second);
    let there = bob.remove(&task, &first).expect("reached");
    assert_eq!(there.expect("still there").version, second);

    let third = put(&mut *bob, &task, Some(&second), &lease("bob", 2));
    let there = lost(
        ann.put(&task, Some(&second), &lease("ann", 1))
            .expect("reached"),
    );
    assert_eq!(there.expect("taken over").seen.lease.owner.name, "bob");

    assert_eq!(bob.remove(&task, &third), Ok(None));
    assert_eq!(ann.read(&task), Ok(None));
    assert_eq!(ann.remove(&task, &third), Ok(None), "it is gone already");
    let swapped = ann
        .put(&task, Some(&third), &lease("ann", 3))
        .expect("reached");
    assert_eq!(lost(swapped), None, "a removed lease is not renewed");
    let again = put(&mut *ann, &task, None, &lease("ann", 3));
    assert_ne!(again, third);
    assert_eq!(ann.remove(&task, &again), Ok(None));
}

fn every_write_has_a_version_of_its_own(site: &dyn Site) {
    let task = task("renewed");
    let mut store = site.open();
    let mut versions = BTreeSet::new();
    let mut last = None;
    for _ in 0..4 {
        let version = put(&mut *store, &task, last.as_ref(), &lease("ann", 1));
        assert!(versions.insert(version.0.clone()), "{version:?} twice");
        last = Some(version);
    }
    let last = last.expect("written");
    assert_eq!(store.remove(&task, &last), Ok(None));
    let anew = put(&mut *store, &task, None, &lease("ann", 1));
    assert!(versions.insert(anew.0.clone()), "{anew:?} twice");
    assert_eq!(store.remove(&task, &anew), Ok(None));
}

fn generations_never_go_down(site: &dyn Site) {
    let task = task("taken-over");
    let times = Scale::of(site).take_overs;
    let mut taken: Vec<u64> = scope(|threads| {
        let begun: Vec<_> = ["ann", "bob", "cid"]
            .into_iter()
            .map(|name| {
                let task = &task;
                threads.spawn(move || take_over(&mut *site.open(), task, name, times))
            })
            .collect();
        begun
            .into_iter()
            .flat_map(|one| one.join().expect("ended"))
            .collect()
    });
    taken.sort_unstable();
    let expected: Vec<u64> = (1..=3 * times).collect();
    assert_eq!(taken, expected, "each generation has one holder");
    let mut store = site.open();
    let there = store.read(&task).expect("read").expect("there");
    assert_eq!(there.seen.lease.generation, 3 * times);
    assert_eq!(store.remove(&task, &there.version), Ok(None));
}

/// Takes a task some times, as if each lease had ended, and returns the generations that were won.
fn take_over(store: &mut dyn LeaseStore, task: &TaskId, name: &str, times: u64) -> Vec<u64> {
    let mut won = Vec::new();
    let mut there = store.read(task).expect("read");
    while (won.len() as u64) < times {
        let ended = there.as_ref().map(|stored| &stored.seen.lease);
        let generation = next_generation(0, ended);
        let expected = there.as_ref().map(|stored| &stored.version);
        match store.put(task, expected, &lease(name, generation)) {
            Ok(Swapped::Done(_)) => {
                won.push(generation);
                there = store.read(task).expect("read");
            }
            Ok(Swapped::Lost(now)) => there = now,
            Err(error) if error.code() == Code::Busy => there = store.read(task).expect("read"),
            Err(error) => panic!("{error}"),
        }
    }
    won
}

fn lists_and_reads_agree_for_every_name(site: &dyn Site) {
    let mut store = site.open();
    assert_eq!(store.list(), Ok(Vec::new()));
    let long = "Ä".repeat(100);
    let ids = [
        "a",
        "A",
        "a/b",
        "a.lock",
        "a..b",
        "a b",
        "@{x",
        "a~1^2:3?*[",
        "日本/go",
        "=2f",
        &long,
    ];
    let mut written = Vec::new();
    for id in ids.into_iter().take(Scale::of(site).tasks) {
        let task = task(id);
        let version = put(&mut *store, &task, None, &lease(id, 7));
        written.push((task, version));
    }
    written.sort_by(|(one, _), (other, _)| one.cmp(other));
    let mut other = site.open();
    let listed = other.list().expect("listed");
    let named: Vec<_> = listed
        .iter()
        .map(|one| (one.task.clone(), one.version.clone()))
        .collect();
    assert_eq!(named, written);
    for one in &listed {
        let read = other.read(&one.task).expect("read").expect("there");
        assert_eq!(
            (&read.seen.lease, &read.version),
            (&one.seen.lease, &one.version)
        );
        assert_eq!(read.seen.lease.owner.name, one.task.as_str());
    }
    for (task, version) in &written {
        assert_eq!(other.remove(task, version), Ok(None));
    }
    assert_eq!(store.list(), Ok(Vec::new()));
}

fn ages_only_grow(site: &dyn Site) {
    let task = task("old");
    let mut store = site.open();
    let written = lease("ann", 1);
    let version = put(&mut *store, &task, None, &written);
    let mut other = site.open();
    let mut ages = Vec::new();
    for _ in 0..2 {
        let seen = other.read(&task).expect("read").expect("there").seen;
        let (LeaseAge::Known(age) | LeaseAge::Watched(age)) = seen.age else {
            panic!("{seen:?}");
        };
        assert!(age < Duration::from_secs(60), "{age:?}");
        assert!(matches!(
            standing(Some(&seen), &lease("bob", 1).owner),
            LeaseStanding::Held(_)
        ));
        assert!(matches!(
            standing(Some(&seen), &written.owner),
            LeaseStanding::Own(_)
        ));
        ages.push(age);
        sleep(Duration::from_millis(60));
    }
    assert!(ages[1] >= ages[0] + Duration::from_millis(50), "{ages:?}");
    assert_eq!(store.remove(&task, &version), Ok(None));
}

fn what_is_damaged_is_told_with_its_place(site: &dyn Site) {
    let task = task("damaged");
    site.damage(&task);
    let mut store = site.open();
    for error in [
        store.read(&task).expect_err("no lease"),
        store.list().expect_err("no lease"),
    ] {
        assert_eq!(error.code(), Code::LeaseDamaged, "{error}");
        let place = error.place().expect("a place").to_string();
        assert!(place.contains("damaged"), "{place}");
        assert!(
            error
                .hint()
                .is_some_and(|hint| hint.commands().count() == 1)
        );
    }
    store.clear(&task).expect("cleared");
    assert_eq!(store.list(), Ok(Vec::new()));
    store.clear(&task).expect("there is nothing");
}

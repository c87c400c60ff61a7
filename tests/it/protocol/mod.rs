//! The protocol of a commit, checked in every order of its steps, and compared with what the binary does.
//!
//! [`steps`] has the steps of `store::Transaction` and of the next command after a failure, [`users`] those of a `git
//! commit` beside them, [`disk`] what a kill leaves and what a power failure may take away, and [`model`] the
//! properties. An index in a format that only git writes is not modelled, nor are linked work trees.

mod binary;
mod disk;
mod leases;
mod model;
mod steps;
mod turns;
mod users;

use crate::faults::told;
use crate::setting;
use model::{DONE, HEALED, KEPT, NOT_UNDONE, PROVED, Protocol};
use stateright::{Checker, HasDiscoveries, Model};
use steps::{Mistake, Role};
use users::Kind;

/// Two movers, of which the second finds the next step due if somebody has written the next artifact.
fn movers() -> Protocol {
    Protocol {
        processes: vec![Role::Mover, Role::Mover],
        users: Vec::new(),
        has_hook: false,
        kills: 0,
        power_failures: 0,
        edits: 1,
        mistake: None,
    }
}

/// The names of the properties that do not hold.
fn violated(protocol: Protocol) -> (Vec<&'static str>, usize) {
    let found = protocol
        .checker()
        .finish_when(HasDiscoveries::AnyFailures)
        .spawn_bfs()
        .join();
    let mut names: Vec<_> = found
        .discoveries()
        .into_keys()
        .filter(|name| *name != DONE)
        .collect();
    names.sort_unstable();
    (names, found.unique_state_count())
}

/// Checks all states; prints how many there are.
fn holds(name: &str, protocol: Protocol) {
    let found = protocol.checker().spawn_bfs().join();
    told(&format!(
        "{name:<48} {:>9} states",
        found.unique_state_count()
    ));
    if let Some((property, path)) = found
        .discoveries()
        .into_iter()
        .find(|(property, _)| *property != DONE)
    {
        panic!(
            "{name}: not true that {property}: {:#?}",
            path.into_actions()
        );
    }
    assert!(
        found.discovery(DONE).is_some(),
        "{name}: no two steps were ever reported"
    );
}

/// Whether the long runs were asked for.
fn is_long() -> bool {
    setting::setting("ORCH_PROTOCOL").is_some()
}

#[test]
fn processes_that_are_killed_lose_nothing() {
    holds(
        "two movers, 2 kills",
        Protocol {
            kills: 2,
            ..movers()
        },
    );
    let processes = vec![Role::Mover, Role::Override(2)];
    holds(
        "a mover and an override, 1 kill",
        Protocol {
            processes,
            kills: 1,
            ..movers()
        },
    );
}

#[test]
fn a_power_failure_loses_nothing_that_was_reported() {
    holds(
        "two movers, 2 power failures",
        Protocol {
            power_failures: 2,
            ..movers()
        },
    );
    holds(
        "two movers, 1 kill, 1 power failure",
        Protocol {
            kills: 1,
            power_failures: 1,
            ..movers()
        },
    );
}

#[test]
fn a_commit_of_the_user_undoes_nothing() {
    for (name, kind) in [
        ("git commit", Kind::Staged),
        ("commit -a", Kind::All),
        ("reset", Kind::Reset),
        ("update-ref", Kind::Plumbing),
    ] {
        let users = vec![kind];
        holds(
            &format!("two movers, {name}, 1 kill"),
            Protocol {
                users,
                kills: 1,
                ..movers()
            },
        );
    }
    // A user who commits after a power failure, and before any other command, needs the hook.
    let (users, has_hook) = (vec![Kind::All], true);
    holds(
        "two movers, commit -a, 1 power failure",
        Protocol {
            users,
            has_hook,
            power_failures: 1,
            ..movers()
        },
    );
}

#[test]
fn the_hook_lets_no_forged_step_pass() {
    let users = vec![Kind::Forged, Kind::Staged];
    holds(
        "two movers, a forged commit, the hook",
        Protocol {
            users,
            has_hook: true,
            ..movers()
        },
    );
}

/// `make protocol`: larger bounds, for minutes.
#[test]
fn larger_bounds() {
    if !is_long() {
        return;
    }
    let both = vec![Kind::Staged, Kind::All];
    let three = vec![Role::Mover, Role::Mover, Role::Override(2)];
    holds(
        "two movers, both commits, 2 kills",
        Protocol {
            users: both.clone(),
            kills: 2,
            ..movers()
        },
    );
    let users = vec![Kind::Plumbing, Kind::Staged];
    holds(
        "two movers, update-ref, git commit, 2 kills",
        Protocol {
            users,
            kills: 2,
            ..movers()
        },
    );
    let users = vec![Kind::Plumbing, Kind::All];
    let failures = Protocol {
        kills: 1,
        power_failures: 1,
        has_hook: true,
        ..movers()
    };
    holds(
        "two movers, update-ref, commit -a, a kill, a power failure",
        Protocol {
            users,
            ..failures.clone()
        },
    );
    holds(
        "three processes, a kill, 2 power failures",
        Protocol {
            processes: three.clone(),
            users: Vec::new(),
            power_failures: 2,
            edits: 2,
            ..failures
        },
    );
    holds(
        "three processes, both commits, a kill",
        Protocol {
            processes: three,
            users: both,
            kills: 1,
            ..movers()
        },
    );
}

/// Each mistake, where it shows, and what it breaks.
#[test]
fn each_mistake_in_the_protocol_is_found() {
    let killed = Protocol {
        kills: 1,
        ..movers()
    };
    let dark = Protocol {
        power_failures: 1,
        ..movers()
    };
    let beside = |kind| Protocol {
        users: vec![kind],
        ..movers()
    };
    let all_killed = Protocol {
        users: vec![Kind::All],
        kills: 1,
        ..movers()
    };
    let forged = Protocol {
        users: vec![Kind::Forged],
        has_hook: true,
        ..movers()
    };
    let mistakes = [
        (Mistake::NoCompare, beside(Kind::Plumbing), KEPT),
        (Mistake::IndexBeforeJournal, killed.clone(), HEALED),
        (Mistake::UnlockedEarly, beside(Kind::All), NOT_UNDONE),
        (Mistake::IndexAfterUnlock, beside(Kind::Staged), NOT_UNDONE),
        (Mistake::UnlockedBeside, beside(Kind::Staged), HEALED),
        (Mistake::UnlockedBeside, beside(Kind::Reset), HEALED),
        (
            Mistake::UnlockedBeside,
            Protocol {
                users: vec![Kind::Staged; 2],
                ..movers()
            },
            NOT_UNDONE,
        ),
        (Mistake::ReportedEarly, killed.clone(), KEPT),
        (Mistake::NoJournal, killed.clone(), HEALED),
        (Mistake::NoFirstSync, dark.clone(), KEPT),
        (Mistake::NoSecondSync, dark, KEPT),
        (Mistake::JournalIgnored, killed.clone(), HEALED),
        (Mistake::LockClearedFirst, all_killed, NOT_UNDONE),
        (Mistake::ReadAgain, movers(), PROVED),
        (Mistake::NoEvidence, movers(), PROVED),
        (Mistake::HookOnWorkTree, forged, PROVED),
        (Mistake::NoLock, movers(), HEALED),
    ];
    for (mistake, protocol, broken) in mistakes {
        let (found, states) = violated(Protocol {
            mistake: Some(mistake),
            ..protocol
        });
        told(&format!(
            "{:<48} {states:>9} states: {}",
            format!("{mistake:?}"),
            found.join("; ")
        ));
        assert!(
            found.contains(&broken),
            "{mistake:?} breaks {found:?}, not {broken:?}"
        );
    }
}

//! The promises of leases, in every order of what may happen, and in what real processes did.

mod model;
mod replay;

use super::is_long;
use model::{Fleet, Mistake, NOT_STUCK, ONE_HOLDER, ONE_LINE, RISING};
use stateright::{Checker, HasDiscoveries, Model};

/// Checks all states.
fn holds(name: &str, fleet: Fleet) {
    let checked = fleet.checker().spawn_bfs().join();
    let states = checked.unique_state_count();
    crate::faults::told(&format!("{name:<48} {states:>9} states"));
    checked.assert_properties();
}

/// The first promise that a mistake breaks.
fn broken_by(mistake: Mistake, has_clock: bool) -> Vec<&'static str> {
    let fleet = Fleet {
        mistake: Some(mistake),
        ..Fleet::new(has_clock)
    };
    let found = fleet
        .checker()
        .finish_when(HasDiscoveries::AnyFailures)
        .spawn_bfs()
        .join();
    let mut names: Vec<&'static str> = found.discoveries().into_keys().collect();
    names.retain(|name| [ONE_HOLDER, ONE_LINE, RISING, NOT_STUCK].contains(name));
    names.sort_unstable();
    names
}

#[test]
fn a_store_with_a_clock_keeps_its_promises() {
    holds("leases with a clock", Fleet::new(true));
}

#[test]
fn a_store_without_a_clock_keeps_its_promises() {
    holds("leases without a clock", Fleet::new(false));
}

#[test]
fn writing_before_looking_keeps_the_promises() {
    let fleet = Fleet {
        has_copy: true,
        // A clock leaves a twentieth of the states.
        ..Fleet::new(!is_long())
    };
    holds("leases with a copy", fleet);
}

#[test]
fn what_people_break_keeps_the_promises() {
    let fleet = Fleet {
        breaks: true,
        ..Fleet::new(true)
    };
    holds("leases that are broken", fleet);
}

#[test]
fn each_mistake_breaks_a_promise() {
    for (mistake, has_clock, promise) in [
        (Mistake::Overwrites, true, ONE_HOLDER),
        (Mistake::Impatient, false, ONE_HOLDER),
        (Mistake::Believing, true, ONE_HOLDER),
        (Mistake::Unfenced, true, ONE_LINE),
    ] {
        let broken = broken_by(mistake, has_clock);
        assert!(broken.contains(&promise), "{mistake:?}: {broken:?}");
    }
}

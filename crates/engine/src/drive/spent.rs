//! What a run has used, counted over all machines, where the leases are in NATS.
//!
//! The record of a run lies in a work tree. If its machine is lost and another one takes the task over, the run goes on there with
//! what is left of its budget, because each turn is counted in one document of the bucket, by compare-and-swap. While the
//! servers cannot be reached, turns are counted here and added later; without the lease the run ends anyway.

use crate::apply::{Writer, secret_of};
use crate::survey::{Error, NetworkStore};
use orch_base::{Period, TaskId};
use orch_core::decide::{RunMachine, Usage};
use orch_fleet::open::open_spent;
use orch_fleet::spent::{SpentBudget, SpentStore};

/// The count of one run.
#[derive(Default)]
pub(super) struct SpentCount {
    /// What of the usage has been counted.
    counted: SpentBudget,
}

impl SpentCount {
    /// Adds to the usage of a run what it has used elsewhere, before it begins or goes on here.
    pub(super) fn begin(&mut self, writer: &Writer<'_>, task: &TaskId, usage: &mut Usage) {
        let own = of(usage);
        let all = with_store(writer, |store| {
            store.change(task, &mut |known| known.map(|known| most(known, own)))
        });
        let all = all.flatten().map_or(own, |all| most(all, own));
        take_in(usage, all);
        self.counted = all;
    }

    /// Counts what the run has used since. A failure is logged: it is counted the next time.
    pub(super) fn count(&mut self, writer: &Writer<'_>, task: &TaskId, usage: &mut Usage) {
        let own = of(usage);
        let counted = self.counted;
        if own.turns == 0 || own == counted {
            return;
        }
        let all = with_store(writer, |store| {
            store.change(task, &mut |known| {
                Some(sum(known.unwrap_or(counted), counted, own))
            })
        });
        if let Some(all) = all.flatten() {
            take_in(usage, all);
            self.counted = all;
        }
    }

    /// The run ends here: what it has used is counted for whatever machine continues it, or no more if none does.
    pub(super) fn settle(&mut self, writer: &Writer<'_>, task: &TaskId, machine: &mut RunMachine) {
        let over = machine.over.as_ref();
        if over.is_some_and(|(ending, _)| !ending.goes_on()) {
            self.end(writer, task);
        } else {
            self.count(writer, task, &mut machine.usage);
        }
    }

    /// The run is over: the next one has a new budget.
    fn end(&self, writer: &Writer<'_>, task: &TaskId) {
        if self.counted.turns > 0 {
            with_store(writer, |store| store.change(task, &mut |_| None));
        }
    }
}

/// Does something with the store, if there is one. What fails is logged.
fn with_store<T>(
    writer: &Writer<'_>,
    what: impl FnOnce(&mut dyn SpentStore) -> Result<T, Error>,
) -> Option<T> {
    let done = opened(writer).and_then(|store| match store {
        Some(mut store) => what(&mut *store).map(Some),
        None => Ok(None),
    });
    match done {
        Ok(done) => done,
        Err(error) => {
            tracing::warn!(
                error = error.logged(),
                "the budget is counted on this machine alone"
            );
            None
        }
    }
}

fn opened(writer: &Writer<'_>) -> Result<Option<Box<dyn SpentStore>>, Error> {
    let reader = &writer.workspace.reader;
    let settings = &reader.settings.config.leases;
    let Some(network) = NetworkStore::of(settings).filter(|_| reader.store.is_some()) else {
        return Ok(None);
    };
    network.require_trust(reader, writer.caller)?;
    open_spent(settings, secret_of(settings, writer.caller)?)
}

fn of(usage: &Usage) -> SpentBudget {
    SpentBudget {
        turns: usage.turns,
        milliseconds: usage.time.milliseconds(),
        cost: usage.cost,
    }
}

fn take_in(usage: &mut Usage, all: SpentBudget) {
    usage.turns = all.turns;
    usage.time = Period::from_milliseconds(all.milliseconds);
    usage.cost = all.cost;
}

fn most(one: SpentBudget, other: SpentBudget) -> SpentBudget {
    SpentBudget {
        turns: one.turns.max(other.turns),
        milliseconds: one.milliseconds.max(other.milliseconds),
        cost: one.cost.max(other.cost),
    }
}

/// What is known with what has been added here to what was counted. A turn whose executor could not be started is taken back.
fn sum(known: SpentBudget, counted: SpentBudget, own: SpentBudget) -> SpentBudget {
    let turns = known.turns.saturating_add(own.turns);
    let milliseconds = known.milliseconds.saturating_add(own.milliseconds);
    SpentBudget {
        turns: turns.saturating_sub(counted.turns),
        milliseconds: milliseconds.saturating_sub(counted.milliseconds),
        cost: (known.cost + own.cost - counted.cost).clamp(0.0, f64::MAX),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_added_here_is_added_to_what_others_have_counted() {
        let spent = |turns, milliseconds, cost| SpentBudget {
            turns,
            milliseconds,
            cost,
        };
        for (known, counted, own, expected) in [
            // Nobody else; the first turn; one taken back.
            (
                spent(3, 10, 1.0),
                spent(3, 10, 1.0),
                spent(4, 15, 1.5),
                spent(4, 15, 1.5),
            ),
            (
                spent(0, 0, 0.0),
                spent(0, 0, 0.0),
                spent(1, 0, 0.0),
                spent(1, 0, 0.0),
            ),
            (
                spent(4, 15, 1.5),
                spent(4, 15, 1.5),
                spent(3, 15, 1.5),
                spent(3, 15, 1.5),
            ),
            // Another has counted two turns meanwhile.
            (
                spent(5, 30, 2.0),
                spent(3, 10, 1.0),
                spent(4, 15, 1.5),
                spent(6, 35, 2.5),
            ),
        ] {
            assert_eq!(sum(known, counted, own), expected);
        }
        let mut usage = Usage::default();
        take_in(&mut usage, most(spent(5, 30, 0.5), spent(3, 40, 1.0)));
        assert_eq!(of(&usage), spent(5, 40, 1.0));
    }
}

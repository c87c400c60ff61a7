//! A checkout that this process alone uses, from before it is known what runs there.

use super::places::{CheckoutPlaces, CheckoutSlot, directory_of};
use super::{CouldNotRun, VerifyEvent, VerifyPlace, VerifyWatch};
use orch_base::{TaskId, VerificationName};
use orch_git::Store;

/// A checkout that no other process uses as long as this value lives.
pub struct ClaimedCheckout {
    pub(super) places: CheckoutPlaces,
    pub(super) slot: CheckoutSlot,
    /// Whether another process used it, so that everything may be different by now.
    pub has_waited: bool,
}

impl ClaimedCheckout {
    /// Claims the checkout of a task and a table. Waits for another process that uses it.
    pub fn of(
        store: &Store,
        place: &VerifyPlace,
        task: &TaskId,
        name: &VerificationName,
        watch: &mut VerifyWatch<'_>,
    ) -> Result<Self, CouldNotRun> {
        let places = CheckoutPlaces::of(store, &place.cache)?;
        let mut has_waited = false;
        let mut noting = VerifyWatch {
            wants_stop: watch.wants_stop,
            hear: &mut |event| {
                has_waited |= event == VerifyEvent::Waits;
                (watch.hear)(event);
            },
        };
        let slot = places.take(&directory_of(task), name, &mut noting)?;
        Ok(Self {
            places,
            slot,
            has_waited,
        })
    }
}

//! The store of leases of a repository, as the settings name it and a person has trusted it.

use super::trust::refuse_untrusted_leases;
use crate::apply::Writer;
use crate::survey::without_repository;
use orch_base::{Code, Error, Hint};
use orch_fleet::open::{StoreContext, open_store};
use orch_fleet::store::LeaseStore;

/// Opens the store of leases. Returns an error outside git, without trust in a store on the network, if it cannot be
/// reached, or if a variable is not set that it needs.
pub fn lease_store(writer: &Writer<'_>) -> Result<Box<dyn LeaseStore>, Error> {
    let reader = &writer.workspace.reader;
    let settings = &reader.settings.config.leases;
    let Some(repository) = reader.store() else {
        let message = "leases need a git repository, and there is none here";
        let hint = without_repository(reader.root());
        return Err(Error::new(Code::NoRepository, message).with_hint(hint));
    };
    refuse_untrusted_leases(writer)?;
    let secret = match &settings.secret {
        None => None,
        Some(name) => match writer.caller.variables.get(name) {
            Some(secret) => Some(secret),
            None => {
                let message = format!(
                    "the variable {name} is not set, which `secret` under [leases] in orch.toml names"
                );
                let hint = Hint::from("set it to USER:PASSWORD, or to a token");
                return Err(Error::new(Code::LeaseStore, message).with_hint(hint));
            }
        },
    };
    open_store(settings, StoreContext { repository, secret })
}

//! Leases in the git directory of one clone.

use super::conformance::{Site, holds};
use crate::local::LocalStore;
use crate::store::LeaseStore;
use orch_base::TaskId;
use std::fs;

/// A directory that the work trees of a repository share.
struct Shared(tempfile::TempDir);

impl Shared {
    fn store(&self) -> LocalStore {
        LocalStore::new(self.0.path(), &self.0.path().join("leases"))
    }
}

impl Site for Shared {
    fn open(&self) -> Box<dyn LeaseStore> {
        Box::new(self.store())
    }

    fn damage(&self, task: &TaskId) {
        fs::create_dir_all(self.0.path().join("leases")).expect("created");
        fs::write(self.store().file(task), "{\n  \"v\": }\n").expect("written");
    }

    fn is_slow(&self) -> bool {
        false
    }
}

#[test]
fn a_directory_keeps_what_every_store_keeps() {
    holds(&Shared(tempfile::tempdir().expect("a directory")));
}

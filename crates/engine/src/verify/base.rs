//! What the tests of the base gave: run once for each tree and table, and compared by name.

use super::places::CheckoutSlot;
use super::tried::TreeRun;
use orch_base::{Digest, ObjectFormat};
use orch_core::verification::{BaseTests, RULES, VerifiedBase};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;
use std::fs;

/// The names of the base's tests by what became of them.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub(super) struct KnownTests {
    /// Why there are none.
    pub not_run: Option<String>,
    pub passed: BTreeSet<String>,
    pub failed: BTreeSet<String>,
}

/// What is compared with: the names, or why there are none.
pub(super) type BaseNames = Result<KnownTests, String>;

impl KnownTests {
    pub(super) fn of(run: &TreeRun) -> Self {
        let tests = &run.tests;
        let has_report = !run.reports.is_empty();
        Self {
            not_run: if has_report {
                None
            } else {
                Some("the base wrote no report".to_owned())
            },
            passed: tests.passed.iter().chain(&tests.flaky).cloned().collect(),
            failed: tests.failed.iter().cloned().collect(),
        }
    }

    /// What a run is compared with.
    pub(super) fn names(self) -> BaseNames {
        match self.not_run {
            None => Ok(self),
            Some(why) => Err(why),
        }
    }

    /// That of a base which a limit has ended.
    pub(super) fn too_slow(message: String) -> Self {
        Self {
            not_run: Some(message),
            ..Self::default()
        }
    }

    /// What was kept of a run of this tree with this table.
    pub(super) fn kept(slot: &CheckoutSlot, tree: Digest, table: Digest) -> Option<Self> {
        let text = fs::read_to_string(slot.file(&file_name(tree, table))).ok()?;
        serde_json::from_str(&text).ok()
    }

    /// Keeps it for the next time. It is a cache: whatever keeps it from being written is no error.
    pub(super) fn keep(&self, slot: &CheckoutSlot, tree: Digest, table: Digest) {
        let path = slot.file(&file_name(tree, table));
        let text = serde_json::to_string(self).unwrap_or_default();
        let written = path.with_extension("new");
        let kept = fs::write(&written, text).and_then(|()| fs::rename(&written, &path));
        if let Err(error) = kept {
            tracing::warn!(%error, "cannot keep the tests of a base");
        }
    }
}

fn file_name(tree: Digest, table: Digest) -> String {
    let text = format!("{tree} {table} {RULES}");
    let digest = ObjectFormat::Sha256.blob(text.as_bytes()).to_string();
    format!("tests-{}.json", &digest[..32])
}

/// How a run differs from the base.
pub(super) fn compared(at: &VerifiedBase, names: &BaseNames, run: &TreeRun) -> BaseTests {
    let mut found = BaseTests {
        at: at.clone(),
        not_run: None,
        lost: Vec::new(),
        new: Vec::new(),
        known: Vec::new(),
    };
    let base = match names {
        Ok(base) => base,
        Err(why) => {
            found.not_run = Some(why.clone());
            return found;
        }
    };
    let tests = &run.tests;
    let executed: BTreeSet<&String> = tests.ran().collect();
    // Without a report nothing is known of any test: none was lost, none ran.
    if !run.reports.is_empty() {
        let lost = base.passed.iter().filter(|name| !executed.contains(name));
        found.lost = lost.cloned().collect();
    }
    for name in &tests.failed {
        if base.failed.contains(name) {
            found.known.push(name.clone());
        } else {
            found.new.push(name.clone());
        }
    }
    found
}

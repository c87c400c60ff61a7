//! The caches with which a new checkout begins: those of the base's checkout, where they can be moved.

use super::checkout::kept_places;
use super::commands::{CommandRoom, TimeLeft};
use super::places::{CheckoutSlot, make, remove_tree, system};
use super::{CouldNotRun, VerifyWatch};
use crate::run::{Ended, SessionLog};
use orch_base::Period;
use orch_core::verification::VerifyTable;
use std::path::Path;
use walkdir::WalkDir;

/// How long copying may take.
const LONGEST: Period = Period::from_seconds(10 * 60);

/// Copies the kept directories of the base's checkout into one that is not there yet, before any file is checked out: what
/// is built from files is older than they are then, so it is built again. What names the place that it was made at is left
/// behind, because it would go on to use the base's code: a virtual environment, a build directory of CMake.
pub(super) fn begin_with_caches(
    base: &CheckoutSlot,
    slot: &CheckoutSlot,
    table: &VerifyTable,
    room: &CommandRoom<'_>,
    log: &mut SessionLog,
    watch: &mut VerifyWatch<'_>,
) -> Result<(), CouldNotRun> {
    make(&slot.root).map_err(|error| system(&slot.root, &error))?;
    let words =
        |words: &[&str]| -> Vec<String> { words.iter().map(|word| (*word).to_owned()).collect() };
    for kept in &table.keep {
        let depth = kept.split('/').filter(|part| !part.is_empty()).count();
        for from in kept_places(&base.root, kept) {
            let Ok(below) = from.strip_prefix(&base.root) else {
                continue;
            };
            let is_kept = below.components().count() == depth
                && from.symlink_metadata().is_ok_and(|found| found.is_dir());
            let to = slot.root.join(below);
            if !is_kept || to.exists() {
                continue;
            }
            let above = to.parent().unwrap_or(&slot.root);
            make(above).map_err(|error| system(above, &error))?;
            let source = from.to_string_lossy();
            let copy = words(&["cp", "-a", "--", &source, &to.to_string_lossy()]);
            let copied = room.run(&copy, None, &TimeLeft::new(LONGEST), log, watch)?;
            let root = base.root.to_string_lossy();
            let is_movable = copied.ended == Ended::Well
                && !has_links_to(&to, &base.root)
                && (is_cargo_target(&to) || {
                    let find = words(&["grep", "-rqF", "-e", &root, "--", &to.to_string_lossy()]);
                    let found = room.run(&find, None, &TimeLeft::new(LONGEST), log, watch)?;
                    found.ended == Ended::Code(1)
                });
            if !is_movable {
                remove_tree(&to).map_err(|error| system(&to, &error))?;
            }
        }
    }
    Ok(())
}

/// Whether Cargo builds there: it knows by itself what it has to build again elsewhere.
fn is_cargo_target(directory: &Path) -> bool {
    directory.join(".rustc_info.json").is_file() && directory.join("CACHEDIR.TAG").is_file()
}

/// Whether a link below a directory names a place below another one.
fn has_links_to(directory: &Path, root: &Path) -> bool {
    let entries = WalkDir::new(directory).into_iter().flatten();
    entries
        .filter(|entry| entry.path_is_symlink())
        .any(|entry| std::fs::read_link(entry.path()).is_ok_and(|target| target.starts_with(root)))
}

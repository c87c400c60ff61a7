//! The owner for which all processes of a work tree act, kept in its git directory.

use crate::random::random;
use orch_base::{Code, Diagnostic, Error, Hint, Place};
use orch_core::lease::LeaseOwner;
use orch_files::{Directory, FileLock, io_error};
use orch_git::durable;
use serde::{Deserialize, Serialize};
use std::io;
use std::path::{Path, PathBuf};

/// The file with the owner, in the directory of `orch` for the work tree.
const FILE: &str = "owner.json";
/// Locked while it is written.
const LOCK: &str = "owner.lock";

/// The owner in its file.
#[derive(Debug, Serialize, Deserialize)]
struct OwnerDocument {
    v: u32,
    /// The directory it was made for: a copy of a clone is another owner.
    place: PathBuf,
    #[serde(flatten)]
    owner: LeaseOwner,
}

/// The owner of a work tree that has had one; `directory` is that of `orch` for it. Returns an error if its file cannot be
/// read or is damaged.
pub fn known_owner(directory: &Path) -> Result<Option<LeaseOwner>, Error> {
    let path = directory.join(FILE);
    let Some(bytes) = durable::read_kept(&path).map_err(|source| io_error(&path, source))? else {
        return Ok(None);
    };
    if bytes.iter().all(|byte| *byte == 0) {
        // A power cut left it so, and ended all leases.
        return Ok(None);
    }
    let document: OwnerDocument = serde_json::from_slice(&bytes).map_err(|error| {
        let place = Place {
            path: path.display().to_string(),
            ..Place::default()
        };
        let message = format!("{} names no owner: {error}", path.display());
        let hint = Hint::from("remove it; the leases of this work tree then end by themselves");
        Error::from(
            Diagnostic::error(Code::LeaseDamaged, message)
                .at(place)
                .hint(hint),
        )
    })?;
    let is_of_here = document.v == 1 && document.place == directory;
    Ok(is_of_here.then_some(document.owner))
}

/// The owner of a work tree, made if it has none. With `name` it has that name from here on; otherwise a new one is named
/// by `default`. Returns an error if its file cannot be read or written.
pub fn owner(
    directory: &Directory,
    name: Option<&str>,
    default: impl FnOnce() -> String,
) -> Result<LeaseOwner, Error> {
    let place = directory.path();
    let known = known_owner(place)?;
    let owner = match (known, name) {
        (Some(known), None) => return Ok(known),
        (Some(known), Some(name)) if known.name == name => return Ok(known),
        (Some(known), Some(name)) => LeaseOwner {
            name: name.to_owned(),
            ..known
        },
        (None, name) => LeaseOwner {
            name: name.map_or_else(default, str::to_owned),
            token: random_token()?,
        },
    };
    let refused = |source| io_error(&place.join(FILE), source);
    // Processes that begin at the same time become one owner.
    let lock = directory.edit(LOCK).and_then(FileLock::new);
    let _lock = lock.map_err(refused)?;
    match known_owner(place)? {
        Some(first) if first.token != owner.token => Ok(first),
        _ => {
            keep(directory, &owner).map_err(refused)?;
            Ok(owner)
        }
    }
}

fn keep(directory: &Directory, owner: &LeaseOwner) -> io::Result<()> {
    let document = OwnerDocument {
        v: 1,
        place: directory.path().to_owned(),
        owner: owner.clone(),
    };
    let bytes = serde_json::to_vec(&document)?;
    durable::write_private(directory, FILE, &bytes)
}

/// A word of 32 hexadecimal digits that nobody can guess. Returns an error if the machine has no random bytes.
pub(crate) fn random_token() -> Result<String, Error> {
    random(16).map_err(|error| Error::new(Code::Io, format!("no random bytes: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn named(directory: &Directory, name: Option<&str>) -> LeaseOwner {
        owner(directory, name, || "default".to_owned()).expect("an owner")
    }

    #[test]
    fn processes_of_a_work_tree_are_one_owner_and_a_copy_is_another() {
        let home = tempfile::tempdir().expect("a directory");
        let path = home.path().join("a");
        let directory = Directory::make(home.path(), &path).expect("made");
        assert_eq!(known_owner(&path).expect("read"), None);
        let made: Vec<LeaseOwner> = std::thread::scope(|scope| {
            let takers: Vec<_> = (0..8)
                .map(|_| scope.spawn(|| named(&directory, None)))
                .collect();
            takers
                .into_iter()
                .map(|taker| taker.join().expect("it ends"))
                .collect()
        });
        assert!(made.iter().all(|one| *one == made[0]), "{made:?}");
        assert_eq!(
            (made[0].name.as_str(), made[0].token.len()),
            ("default", 32)
        );
        let renamed = named(&directory, Some("ada"));
        assert_eq!(renamed.token, made[0].token);
        assert_eq!(named(&directory, None).name, "ada");

        let copy = Directory::make(home.path(), &home.path().join("b")).expect("made");
        std::fs::copy(path.join(FILE), copy.path().join(FILE)).expect("copied");
        assert_ne!(named(&copy, None).token, renamed.token);

        std::fs::write(path.join(FILE), "{").expect("written");
        let error = known_owner(&path).expect_err("it is damaged");
        assert_eq!(error.code(), Code::LeaseDamaged);
        assert!(error.place().is_some() && error.hint().is_some());
    }
}

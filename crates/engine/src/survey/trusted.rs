//! What a person has trusted of a repository, by digests that are kept outside it.

use super::{Caller, Reader};
use orch_base::{Code, Digest, Error, Hint, ObjectFormat};
use orch_core::config::LeaseSettings;
use orch_git::durable;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

/// The directory of trust files, below the directory for the state of programs.
pub(crate) const TRUST_PLACE: &str = "orch/trust";

/// A store of leases that is used over the network, in the form in which it is trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct NetworkStore {
    /// Where it is, in words.
    pub address: String,
    /// The digest of where it is, and of the variable that it is sent.
    pub digest: Digest,
}

impl NetworkStore {
    /// The store of these settings; `None` if it is on this machine.
    pub(crate) fn of(settings: &LeaseSettings) -> Option<Self> {
        let address = settings.address()?;
        let secret = settings.secret.as_deref().unwrap_or_default();
        let text = format!("leases\n{address}\n{secret}\n");
        Some(Self {
            address,
            digest: ObjectFormat::Sha256.blob(text.as_bytes()),
        })
    }

    /// Returns an error unless a person has trusted it.
    pub(crate) fn require_trust(&self, reader: &Reader, caller: &Caller) -> Result<(), Error> {
        if caller.trusts_once || trusted(reader, caller)?.contains(&self.digest) {
            return Ok(());
        }
        let what = format!("the {} of orch.toml", self.address);
        Err(untrusted(&what))
    }
}

/// The digests that are trusted in the repository. Returns an error if they cannot be read.
pub(crate) fn trusted(reader: &Reader, caller: &Caller) -> Result<BTreeSet<Digest>, Error> {
    let Some(path) = trust_file(reader, caller) else {
        return Ok(BTreeSet::new());
    };
    Ok(durable::text_of(&path)?
        .lines()
        .filter_map(Digest::parse)
        .collect())
}

/// The file with the trust in the repository; `None` without a directory for the state of programs.
pub(crate) fn trust_file(reader: &Reader, caller: &Caller) -> Option<PathBuf> {
    let home = caller.state_home.as_ref()?;
    let name = ObjectFormat::Sha256.blob(place_of(reader).as_os_str().as_encoded_bytes());
    Some(home.join(TRUST_PLACE).join(name.to_string()))
}

/// The place that stands for the repository with all its work trees; outside git, the root directory.
pub(crate) fn place_of(reader: &Reader) -> &Path {
    reader
        .store()
        .map_or(reader.root(), |store| store.layout().common_directory())
}

/// The error about something that nobody has trusted.
pub(crate) fn untrusted(what: &str) -> Error {
    let hint = Hint::from("look at what would be started: ")
        .command(&["orch", "trust", "--show"])
        .then(&["orch", "trust"])
        .text("; for once, commands that start it have --trust-once, or ORCH_TRUST_ONCE=1 in CI");
    let message = format!("nobody has trusted {what} as it is now");
    Error::new(Code::Untrusted, message).with_hint(hint)
}

//! Moves branches of a remote forward, and never otherwise.

use orch_base::{Code, Digest, Error};
use orch_git::{RefAnswer, RefChange, RemotePlace, RemoteRefs};
use std::thread::sleep;
use std::time::Duration;

/// How often something is tried again that another push has kept from being done.
pub(crate) const TRIES: u32 = 5;
/// The pause after the first try.
pub(crate) const PAUSE: Duration = Duration::from_millis(50);

/// What git says of a change that another push at the same moment has kept from being made.
const IN_THE_WAY: [&str; 5] = [
    "lock",
    "failed to update ref",
    "atomic push failed",
    "atomic transaction failed",
    "fetch first",
];

/// The branches of a remote.
#[derive(Clone, Copy)]
pub struct RemoteBranches<'r> {
    refs: RemoteRefs<'r>,
    place: &'r RemotePlace,
}

impl<'r> RemoteBranches<'r> {
    /// Those at a place.
    #[must_use]
    pub fn new(refs: RemoteRefs<'r>, place: &'r RemotePlace) -> Self {
        Self { refs, place }
    }

    /// Moves a branch, given by its full name, forward to a commit. Returns where it is if it has moved elsewhere, and an
    /// error if the remote refuses or nothing is known of whether it took place.
    pub fn push(&self, name: &str, commit: Digest) -> Result<Option<Digest>, Error> {
        let forward = RefChange::Forward {
            name: name.to_owned(),
            new: commit,
        };
        let mut pause = PAUSE;
        for _ in 0..TRIES {
            let answers = self.refs.push(self.place, std::slice::from_ref(&forward))?;
            if answers.iter().all(is_made) {
                return Ok(None);
            }
            if let Some(moved) = self.moved(&forward)? {
                return Ok(Some(moved));
            }
            self.refuse_lasting(&answers)?;
            sleep(pause);
            pause *= 2;
        }
        Err(self.busy())
    }

    /// Deletes a branch, given by its full name, that is at this commit. One that has moved stays. Returns an error if the
    /// remote cannot be reached.
    pub fn delete(&self, name: &str, tip: Digest) -> Result<(), Error> {
        let delete = RefChange::Swap {
            name: name.to_owned(),
            old: Some(tip),
            new: None,
        };
        let answers = self.refs.push(self.place, &[delete])?;
        tracing::debug!(?answers, name, "deleted a branch of a remote");
        Ok(())
    }

    /// Where a branch is, if it cannot be moved forward as it should be.
    pub(crate) fn moved(&self, forward: &RefChange) -> Result<Option<Digest>, Error> {
        let RefChange::Forward { name, new } = forward else {
            return Ok(None);
        };
        let found = self.refs.list(self.place, &[name])?;
        match found.get(name) {
            Some(tip) if !self.refs.leads_to(*tip, *new)? => Ok(Some(*tip)),
            _ => Ok(None),
        }
    }

    /// Returns an error unless another push has only been in the way of these changes.
    pub(crate) fn refuse_lasting(&self, answers: &[RefAnswer]) -> Result<(), Error> {
        let lasting = answers.iter().any(
            |answer| matches!(answer, RefAnswer::Refused(why) if !IN_THE_WAY.iter().any(|words| why.contains(words))),
        );
        if lasting {
            Err(self.refused(answers))
        } else {
            Ok(())
        }
    }

    /// The error about changes that the remote refuses.
    pub(crate) fn refused(&self, answers: &[RefAnswer]) -> Error {
        let why = answers.iter().find_map(|answer| match answer {
            RefAnswer::Refused(why) if !why.contains("atomic push failed") => Some(why.as_str()),
            _ => None,
        });
        let why = why.unwrap_or("it gives no reason");
        let message = format!("{} refuses the push: {why}", self.place.remote);
        Error::new(Code::LeaseStore, message)
    }

    /// The error about others that were faster again and again.
    pub(crate) fn busy(&self) -> Error {
        Error::busy(format!(
            "others are changing the same references at {}",
            self.place.remote
        ))
    }
}

/// Whether a change is made, by whomever.
pub(crate) fn is_made(answer: &RefAnswer) -> bool {
    matches!(answer, RefAnswer::Done | RefAnswer::Same)
}

//! What became of a task's record where it may follow several others: a merge takes one over, goes on
//! from one, or joins them. Nothing that any side recorded may get lost on the way.

use super::archive::Archive;
use super::join::Join;
use super::proof::{RecordChange, prove};
use super::records::{Records, Unread};
use crate::base::Digest;
use crate::decide::{Proof, Standing};
use crate::survey::snapshot::Snapshot;
use crate::survey::{Error, TaskRef};

/// A record, and those of all parents.
pub(super) struct Merged<'a> {
    pub task: &'a TaskRef,
    /// What the parents hold; of a commit without any, nothing at all.
    pub befores: &'a [Snapshot<'a>],
    /// The parents.
    pub parents: &'a [Digest],
    pub after: &'a Snapshot<'a>,
    pub archive: &'a Archive<'a>,
}

impl Merged<'_> {
    /// Proves the record against every parent.
    pub(super) fn prove(&self) -> Result<Option<Proof>, Error> {
        match self.befores {
            [only] => self.prove_against(only),
            several => self.prove_merge(several),
        }
    }

    fn prove_against(&self, before: &Snapshot<'_>) -> Result<Option<Proof>, Error> {
        let Self { task, parents, after, archive, .. } = *self;
        // A step is taken on the code that was committed before it.
        let after = Snapshot { code: before.code, ..*after };
        prove(&RecordChange { task, parents, before: *before, after }, archive)
    }

    fn prove_merge(&self, befores: &[Snapshot<'_>]) -> Result<Option<Proof>, Error> {
        let new = match Records::of(self.task, self.after.source) {
            Err(Unread::NoFile(why)) => return Ok(Some(Proof::forged(why))),
            new => new?,
        };
        let olds = befores.iter().map(|before| self.records(before)).collect::<Result<Vec<_>, _>>()?;
        if olds.iter().all(|old| *old == new) {
            return Ok(None);
        }
        let bases = self.archive.common(self.task, self.parents)?;
        let lines = |records: &Records| records.lines(self.after.setting, self.archive);
        let told = lines(&new);
        // A side is lost if it moved and the record does not tell what it told.
        let is_lost = |old: &Records| !bases.contains(old) && !lines(old).is_subset(&told);
        if olds.contains(&new) {
            let lost = olds.iter().zip(befores).filter(|(old, _)| **old != new && is_lost(old));
            let proofs = lost.map(|(_, before)| self.prove_against(before));
            let worst = proofs.collect::<Result<Vec<_>, _>>()?.into_iter().flatten();
            return Ok(worst.max_by_key(|proof| proof.standing).map(|proof| Proof {
                why: proof.why.map(|why| format!("{why}; what another side recorded is dropped")),
                ..proof
            }));
        }
        if olds.iter().any(is_lost) {
            return Ok(Some(Proof::forged("what one of the merged sides recorded is dropped")));
        }
        let mut best: Option<Proof> = None;
        for before in befores {
            match self.prove_against(before)? {
                None => return Ok(None),
                Some(proof) => best = better(best, proof),
            }
        }
        if best.as_ref().is_none_or(|best| best.standing > Standing::Merged)
            && let Some(joined) = self.join(befores, &new)?
        {
            best = better(best, joined);
        }
        Ok(best)
    }

    fn join(&self, befores: &[Snapshot<'_>], new: &Records) -> Result<Option<Proof>, Error> {
        let join = Join::new(self.task, befores, self.parents, self.after, self.archive)?;
        if new.is_conflicted() { join.prove_conflicted().map(Some) } else { join.prove() }
    }

    fn records(&self, snapshot: &Snapshot<'_>) -> Result<Records, Error> {
        match Records::of(self.task, snapshot.source) {
            // What was no file told nothing that could be gone on from.
            Err(Unread::NoFile(_)) => Ok(Records::default()),
            records => Ok(records?),
        }
    }
}

/// The better of two verdicts; of two that are as good, the first.
fn better(best: Option<Proof>, proof: Proof) -> Option<Proof> {
    Some(match best {
        Some(best) if best.standing <= proof.standing => best,
        _ => proof,
    })
}

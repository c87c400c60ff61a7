//! Replays a long history from both ends at once.
//!
//! A proof of a commit needs only the trees of the commit and its parents, so threads can replay later pieces
//! of history first. A few proofs need to know what all earlier commits contained. A piece with such a proof
//! is replayed again in its turn.

use super::archive::{Archive, HeldRecords, ReadOnce};
use super::replay::{Audited, replay};
use crate::scan::ValidationCache;
use crate::store::{Store, Visited};
use crate::survey::Error;
use std::collections::{BTreeMap, VecDeque};
use std::num::NonZero;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

/// The number of commits in a piece.
const PIECE: usize = 32;

/// The maximum number of helper threads. Each of them opens the repository.
const MOST_HELPERS: usize = 7;

/// The stack size of a helper thread, equal to that of the main thread: directories may be nested deeply.
const STACK: usize = 8 << 20;

/// The result of a piece that was replayed before its turn.
struct ReplayedPiece {
    changes: Vec<Audited>,
    held: HeldRecords,
}

/// The pieces that no thread has taken yet, by number.
struct Pieces<'c>(Mutex<VecDeque<(usize, &'c [Visited])>>);

impl<'c> Pieces<'c> {
    fn first(&self) -> Option<(usize, &'c [Visited])> {
        self.open().pop_front()
    }

    fn last(&self) -> Option<(usize, &'c [Visited])> {
        self.open().pop_back()
    }

    fn drop_all(&self) {
        self.open().clear();
    }

    fn open(&self) -> MutexGuard<'_, VecDeque<(usize, &'c [Visited])>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Replays commits, which list parents before their children. `is_whole` says that they are the whole
/// history.
///
/// # Errors
///
/// A commit cannot be read.
pub(super) fn replay_all(store: &Store, commits: &[Visited], is_whole: bool) -> Result<Vec<Audited>, Error> {
    // An audit trusts git alone, so it does not use the validation cache of the clone.
    let validations = ValidationCache::default();
    let read = ReadOnce::default();
    let archive = Archive::new(store, &read, is_whole);
    let all: Vec<&[Visited]> = commits.chunks(PIECE).collect();
    let pieces = Pieces(Mutex::new(all.iter().copied().enumerate().collect()));
    let cores = thread::available_parallelism().map_or(1, NonZero::get);
    let helpers = (cores - 1).min(MOST_HELPERS).min(all.len() / 2);
    let location = store.location();
    let help = || {
        let mut done = BTreeMap::new();
        let Some(store) = location.open() else { return done };
        let read = ReadOnce::default();
        while let Some((number, piece)) = pieces.last() {
            let archive = Archive::new(&store, &read, is_whole);
            let changes = replay(&store, &archive, &validations, piece);
            if let (Ok(changes), Some(held)) = (changes, archive.into_held()) {
                done.insert(number, ReplayedPiece { changes, held });
            }
        }
        done
    };
    thread::scope(|scope| {
        // If no thread can be started, this one replays everything.
        let helpers: Vec<_> = (0..helpers)
            .filter_map(|_| thread::Builder::new().stack_size(STACK).spawn_scoped(scope, help).ok())
            .collect();
        let mut changes = Vec::new();
        let mut next = 0;
        while let Some((number, piece)) = pieces.first() {
            let found = replay(store, &archive, &validations, piece);
            changes.extend(found.inspect_err(|_| pieces.drop_all())?);
            next = number + 1;
        }
        let mut ahead: BTreeMap<usize, ReplayedPiece> =
            helpers.into_iter().flat_map(|helper| helper.join().unwrap_or_default()).collect();
        for (number, piece) in all.iter().enumerate().skip(next) {
            match ahead.remove(&number) {
                Some(ReplayedPiece { changes: found, held }) => {
                    archive.note_all(held);
                    changes.extend(found);
                }
                None => changes.extend(replay(store, &archive, &validations, piece)?),
            }
        }
        Ok(changes)
    })
}

//! Replaying a long history from both ends at once.
//!
//! What a commit changes is proven from its own tree and those of its parents, so that the end of history
//! need not wait for its beginning. Only now and then does a proof ask what all commits before it held;
//! the piece of history that it lies in is then replayed again when its turn has come.

use super::archive::{Archive, HeldRecords, ReadOnce};
use super::replay::{Audited, replay};
use crate::scan::ValidationCache;
use crate::store::{Store, Visited};
use crate::survey::Error;
use std::collections::{BTreeMap, VecDeque};
use std::num::NonZero;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

/// How many commits are replayed in one piece.
const PIECE: usize = 32;

/// How many help at most: each opens the repository anew.
const MOST_HELPERS: usize = 7;

/// As much as the main thread has: how deep a directory lies is up to whoever made it.
const STACK: usize = 8 << 20;

/// A piece that was replayed before its turn.
struct ReplayedPiece {
    changes: Vec<Audited>,
    held: HeldRecords,
}

/// The pieces that nobody took yet, by number.
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

/// Replays commits, parents before their children; `is_whole` says that they are all of history.
pub(super) fn replay_all(store: &Store, commits: &[Visited], is_whole: bool) -> Result<Vec<Audited>, Error> {
    // What is known to be valid is not taken from the clone's own notes: an audit trusts git alone.
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
        // Where no thread is to be had, all is replayed here.
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

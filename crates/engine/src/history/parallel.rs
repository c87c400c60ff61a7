//! Replays a long history in several threads.
//!
//! A proof of a commit needs only the trees of the commit and its parents, so threads can replay later pieces
//! of history first. A few proofs need to know what all earlier commits contained. A piece with such a proof
//! is replayed again in its turn.

use super::archive::{Archive, HeldRecord, ReadOnce};
use super::replay::{ReplayedCommits, replay};
use crate::survey::{Error, THREAD_STACK};
use orch_base::{RepoPath, locked};
use orch_git::{Store, Visited};
use orch_read::ValidationCache;
use std::collections::{BTreeMap, HashSet};
use std::ops::Range;
use std::sync::{Arc, Mutex};
use std::thread;

/// The number of commits in a piece.
const PIECE: usize = 32;

#[derive(Clone, Copy)]
pub(super) struct ReplayWork<'a> {
    /// In how many threads.
    pub threads: usize,
    /// Called with the number of commits replayed and the total.
    pub progress: Option<&'a dyn Fn(usize, usize)>,
}

/// The result of a piece that was replayed before its turn.
struct ReplayedPiece {
    replayed: ReplayedCommits,
    held: Vec<(RepoPath, HeldRecord)>,
}

/// The numbers of the pieces that no thread has taken yet: a section for each thread.
///
/// A thread replays its section forwards. If a log continues one that the thread knows, it reads only the new lines.
struct Sections(Mutex<Vec<Range<usize>>>);

impl Sections {
    /// Splits `pieces` pieces among `threads` threads.
    fn new(pieces: usize, threads: usize) -> Self {
        let section = |thread| pieces * thread / threads..pieces * (thread + 1) / threads;
        Self(Mutex::new((0..threads).map(section).collect()))
    }

    /// The next piece for a thread. If its section is used up, it takes over the second half of the longest.
    fn next(&self, thread: usize) -> Option<usize> {
        let mut sections = locked(&self.0);
        if sections[thread].is_empty() {
            let longest = sections.iter_mut().max_by_key(|section| section.len())?;
            let middle = longest.start + longest.len() / 2;
            let taken = middle..longest.end;
            longest.end = middle;
            sections[thread] = taken;
        }
        sections[thread].next()
    }

    /// The number of pieces that no thread has taken yet.
    fn left(&self) -> usize {
        locked(&self.0).iter().map(ExactSizeIterator::len).sum()
    }

    fn drop_all(&self) {
        locked(&self.0).fill(0..0);
    }
}

/// Replays commits, which list parents before their children. `is_whole` says that they are the whole
/// history.
///
/// # Errors
///
/// A commit cannot be read.
pub(super) fn replay_all(
    store: &Store,
    commits: &[Arc<Visited>],
    is_whole: bool,
    ReplayWork { threads, progress }: ReplayWork<'_>,
) -> Result<ReplayedCommits, Error> {
    // An audit trusts git alone, so it does not use the validation cache of the clone.
    let validations = ValidationCache::default();
    let read = ReadOnce::default();
    let archive = Archive::new(store, &read, is_whole);
    let pieces: Vec<&[Arc<Visited>]> = commits.chunks(PIECE).collect();
    let helpers = (threads - 1).min(pieces.len() / 2);
    let sections = Sections::new(pieces.len(), helpers + 1);
    // A piece whose verdicts depend on all earlier commits has no result here.
    let ahead = |store: &Store, read: &ReadOnce, piece: &[Arc<Visited>]| {
        read.forget_many();
        let archive = Archive::new(store, read, is_whole);
        let replayed = replay(store, &archive, &validations, piece).ok()?;
        Some(ReplayedPiece {
            replayed,
            held: archive.into_held()?,
        })
    };
    let location = store.location();
    store.prepare_for_history();
    let help = |thread: usize| {
        let mut done = BTreeMap::new();
        let Some(store) = location.open() else {
            return done;
        };
        store.prepare_for_history();
        let read = ReadOnce::default();
        while let Some(number) = sections.next(thread) {
            done.extend(ahead(&store, &read, pieces[number]).map(|replayed| (number, replayed)));
        }
        done
    };
    thread::scope(|scope| {
        // A thread that cannot be started leaves its section to the others.
        let start = |thread| {
            let builder = thread::Builder::new().stack_size(THREAD_STACK);
            builder.spawn_scoped(scope, move || help(thread)).ok()
        };
        let helpers: Vec<_> = (1..=helpers).filter_map(start).collect();
        let changes = Vec::new();
        let removed = is_whole.then(Vec::new);
        let mut all = ReplayedCommits {
            changes,
            removed,
            ruled: HashSet::new(),
        };
        let mut next = 0;
        let mut done = BTreeMap::new();
        while let Some(number) = sections.next(0) {
            progress.inspect(|report| {
                report((pieces.len() - sections.left() - 1) * PIECE, commits.len())
            });
            if number == next {
                read.forget_many();
                let found = replay(store, &archive, &validations, pieces[number]);
                all.append(found.inspect_err(|_| sections.drop_all())?);
                next += 1;
            } else {
                done.extend(ahead(store, &read, pieces[number]).map(|replayed| (number, replayed)));
            }
        }
        done.extend(
            helpers
                .into_iter()
                .flat_map(|helper| helper.join().unwrap_or_default()),
        );
        for (number, piece) in pieces.iter().enumerate().skip(next) {
            match done.remove(&number) {
                Some(ReplayedPiece { replayed, held }) => {
                    archive.note_all(held);
                    all.append(replayed);
                }
                None => {
                    read.forget_many();
                    all.append(replay(store, &archive, &validations, piece)?);
                }
            }
        }
        Ok(all)
    })
}

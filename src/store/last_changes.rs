//! The newest commit that changed each path, cached in the git directory.
//!
//! The cache is split into small files by a byte of the digest of the path, so that asking for one path costs the same
//! however many were asked for before. Each file names the HEAD from which its commits were seen; from there, only
//! newer commits are walked. Deleting the files loses nothing.

use super::commit::PlannedCommit;
use super::history::top;
use super::{Error, Store, caches, digest, durable, path_commits};
use crate::base::{Digest, RepoPath};
use crate::scan::{Directory, FileStamp};
use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;

/// By how many commits a part in memory may be ahead of its file, before the file is written again. Another process
/// walks them.
const AHEAD: usize = 256;
/// How many commits a process walks at once without keeping what it has seen: to walk them again costs less than to
/// write the file.
const SHORT_WALK: usize = 16;

/// The part of the cache in one file.
#[derive(Default)]
struct KnownPart {
    head: Option<Digest>,
    /// The null id stands for a path that no commit has changed.
    changes: BTreeMap<RepoPath, Digest>,
    /// The file that it was read from or written to.
    stamp: Option<FileStamp>,
    /// How many commits it has taken since.
    ahead: usize,
}

/// The parts that were read so far.
#[derive(Default)]
pub(super) struct KnownChanges {
    /// By the byte.
    parts: BTreeMap<u8, KnownPart>,
    /// The top-level directories of their paths.
    tops: BTreeSet<RepoPath>,
}

impl KnownChanges {
    /// What is known of a path, if its part was seen from this HEAD.
    fn seen_from(&mut self, head: Option<Digest>, (place, path): (u8, &RepoPath)) -> Option<&mut Digest> {
        self.parts.get_mut(&place).filter(|part| part.head == head)?.changes.get_mut(path)
    }

    fn insert(&mut self, (place, path): (u8, RepoPath), commit: Digest) {
        self.tops.insert(top(&path));
        self.parts.entry(place).or_default().changes.insert(path, commit);
    }
}

impl Store {
    /// For each path, the newest commit that changed it. Returns an error if git cannot read the history.
    pub fn last_changes(&self, paths: &[RepoPath]) -> Result<Vec<Option<Digest>>, Error> {
        let Some(head) = self.head()?.commit else { return Ok(vec![None; paths.len()]) };
        if !self.boundary()?.is_empty() {
            // A deeper clone knows of other changes.
            let found = self.walk_for(paths, head, None)?;
            return Ok(paths.iter().map(|path| found.get(path).copied()).collect());
        }
        let places: Vec<u8> = paths.iter().map(|path| self.cache_part(path)).collect();
        let asked: BTreeSet<u8> = places.iter().copied().collect();
        let mut known = self.changes.take();
        asked.iter().for_each(|place| self.read_part(*place, &mut known));
        let stale: BTreeSet<Option<Digest>> = asked.iter().map(|place| known.parts[place].head).collect();
        let mut renewed = BTreeSet::new();
        for older in stale.into_iter().filter(|older| *older != Some(head)) {
            let from_there: Vec<u8> =
                asked.iter().copied().filter(|place| known.parts[place].head == older).collect();
            let walked = self.follow(older, head, (&from_there, &mut known))?;
            let due = |place: &u8| walked > SHORT_WALK || known.parts[place].ahead >= AHEAD;
            renewed.extend(from_there.into_iter().filter(due));
        }
        let is_known = |(path, place): &(&RepoPath, &u8)| known.parts[*place].changes.contains_key(*path);
        let missing: Vec<RepoPath> = paths
            .iter()
            .zip(&places)
            .filter(|asked| !is_known(asked))
            .map(|(path, _)| path.clone())
            .collect();
        let none = self.format().null();
        let mut found = self.walk_for(&missing, head, None)?;
        for path in missing {
            let commit = found.remove(&path).unwrap_or(none);
            let place = self.cache_part(&path);
            renewed.insert(place);
            known.insert((place, path), commit);
        }
        self.keep_parts(&renewed, &mut known);
        let newest = |(path, place): (&RepoPath, &u8)| known.parts[place].changes.get(path).copied();
        let found = paths.iter().zip(&places).map(|asked| newest(asked).filter(|commit| !commit.is_null()));
        let found = found.collect();
        *self.changes.borrow_mut() = known;
        Ok(found)
    }

    /// Brings every part that was seen from `older` to `head`, so that one walk serves what will be asked next. Returns
    /// how many commits it walked. If `head` does not contain `older`, forgets what is known of the parts that are
    /// `asked`, and leaves the others to be read again. Returns an error if git cannot read the history.
    fn follow(
        &self,
        older: Option<Digest>,
        head: Digest,
        (asked, known): (&[u8], &mut KnownChanges),
    ) -> Result<usize, Error> {
        let before = older.filter(|older| self.is_ancestor(*older, head).unwrap_or(false));
        let (mut walked, mut newer) = (0, BTreeMap::new());
        if before.is_some() {
            let tops: Vec<RepoPath> = known.tops.iter().cloned().collect();
            self.walk_between(head, before, |commit| {
                walked += 1;
                for path in self.changed_by(&commit, &tops)? {
                    if known.seen_from(older, (self.cache_part(&path), &path)).is_some() {
                        newer.entry(path).or_insert_with(|| digest(commit.id()));
                    }
                }
                Ok(true)
            })?;
        }
        for (path, commit) in newer {
            if let Some(newest) = known.seen_from(older, (self.cache_part(&path), &path)) {
                *newest = commit;
            }
        }
        if before.is_none() {
            known.parts.retain(|place, part| part.head != older || asked.contains(place));
        }
        for part in known.parts.values_mut().filter(|part| part.head == older) {
            if before.is_none() {
                part.changes.clear();
            }
            part.head = Some(head);
            part.ahead += walked;
        }
        Ok(walked)
    }

    /// Takes over what this store has committed on top of `from`, so that these commits need not be walked. A failure
    /// to read what was there before leaves the rest to a walk.
    pub(super) fn take_changes(&self, from: Digest, planned: &[PlannedCommit], commits: &[Digest]) {
        let Some(last) = commits.last() else { return };
        // What a directory contained has other paths after a move.
        if planned.iter().any(|one| !one.moves.is_empty()) {
            return;
        }
        let mut known = self.changes.take();
        let before = self.source_at(Some(from));
        let mut held: BTreeMap<&RepoPath, Option<(Digest, u32)>> = BTreeMap::new();
        for (one, commit) in planned.iter().zip(commits) {
            let written = one.writes.iter().map(|write| (write.path(), Some(write)));
            for (path, write) in written.chain(one.removes.iter().map(|path| (path, None))) {
                let Some(newest) = known.seen_from(Some(from), (self.cache_part(path), path)) else {
                    continue;
                };
                let Ok(present) = held.get(path).map_or_else(|| before.object(path), |held| Ok(*held)) else {
                    return;
                };
                let after = write.map(|write| (self.format().blob(write.bytes()), write.mode().into()));
                if present != after {
                    *newest = *commit;
                }
                held.insert(path, after);
            }
        }
        let mut due = BTreeSet::new();
        for (place, part) in known.parts.iter_mut().filter(|(_, part)| part.head == Some(from)) {
            part.head = Some(*last);
            part.ahead += commits.len();
            if part.ahead >= AHEAD {
                due.insert(*place);
            }
        }
        self.keep_parts(&due, &mut known);
        *self.changes.borrow_mut() = known;
    }

    /// The part that has a path.
    fn cache_part(&self, path: &RepoPath) -> u8 {
        self.format().blob(path.as_str().as_bytes()).as_bytes()[0]
    }

    fn file_of_part(&self, place: u8) -> PathBuf {
        self.own(caches::CHANGES).join(format!("{place:02x}"))
    }

    /// Reads a part, unless the one in memory is that of the file.
    fn read_part(&self, place: u8, known: &mut KnownChanges) {
        let path = self.file_of_part(place);
        let stamp = FileStamp::at(&path);
        if known.parts.get(&place).is_some_and(|part| part.stamp == stamp) {
            return;
        }
        let text = durable::text_of(&path).unwrap_or_default();
        let (first, changes) = path_commits::read(&text);
        let head = Digest::parse(first);
        let changes = if head.is_some() { changes } else { BTreeMap::new() };
        known.tops.extend(changes.keys().map(top));
        known.parts.insert(place, KnownPart { head, changes, stamp, ahead: 0 });
    }

    /// Writes these parts. A failure is ignored: the changes are found again next time.
    fn keep_parts(&self, places: &BTreeSet<u8>, known: &mut KnownChanges) {
        let git = self.repo.path();
        if places.is_empty() || Directory::make(git, &self.own(caches::CHANGES)).is_err() {
            return;
        }
        for place in places {
            let Some(part) = known.parts.get_mut(place) else { continue };
            let Some(head) = part.head else { continue };
            let path = self.file_of_part(*place);
            let text = path_commits::write(&head.to_string(), &part.changes);
            let _ = durable::write_derived(git, &path, text.as_bytes());
            (part.stamp, part.ahead) = (FileStamp::at(&path), 0);
        }
    }
}

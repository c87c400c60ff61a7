//! The newest commit that changed each path, cached in the git directory.
//!
//! Files of one name below one top-level directory, such as the logs of all tasks, are a family, and each family has a
//! directory in the cache. The trail in it ([`Trail`]) says where HEAD was and what was changed between, so that whoever
//! asks for whichever path, a commit is compared once. What was changed before is in parts, split by a byte of the digest
//! of the path, so that asking for one path costs the same however many were asked for before. Each part names the HEAD
//! from which its commits were seen; from there, the trail goes on. A trail that has become long is folded into the
//! parts. Each file is true for itself, whoever wrote it when and whatever became of the others. Deleting them loses
//! nothing.

use super::commit::PlannedCommit;
use super::history::{is_long, top};
use super::trail::Trail;
use super::{Error, Store, caches, durable, path_commits};
use crate::base::{Digest, RepoPath};
use crate::scan::{Directory, FileStamp};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// What files of a family have in common: the directory that is compared, and their name.
type FamilyKey = (RepoPath, String);

/// The name of the file with the trail.
const TRAIL: &str = "trail";
/// A trail with more bytes is folded into the parts.
const LONGEST_TRAIL: usize = 256 << 10;

/// The part of a family in one file.
#[derive(Default)]
struct KnownPart {
    head: Option<Digest>,
    /// Whether no commit up to this HEAD has changed any other path.
    is_complete: bool,
    /// The null id stands for a path that no commit has changed.
    changes: BTreeMap<RepoPath, Digest>,
    /// The file that it was read from or written to.
    stamp: Option<FileStamp>,
}

impl KnownPart {
    /// Forgets what is in it, so that it can be filled as seen from any HEAD.
    fn clear(&mut self) {
        (self.head, self.is_complete) = (None, false);
        self.changes.clear();
    }
}

/// What is known of the files of one name below one top-level directory.
struct Family {
    key: FamilyKey,
    /// Its directory.
    place: PathBuf,
    trail: Trail,
    /// The file that the trail was read from or written to.
    stamp: Option<FileStamp>,
    /// How many commits and entries of directories were compared for what the file lacks.
    walked: usize,
    entries: u64,
    /// By the byte.
    parts: BTreeMap<u8, KnownPart>,
}

/// What a walk over the history has found of a family.
struct Walked {
    /// For each file, the newest commit that changed it.
    changes: BTreeMap<RepoPath, Digest>,
    /// How many commits were visited, and how many entries of their directories were compared.
    commits: usize,
    entries: u64,
}

/// The families that were asked for so far, by directory and name.
#[derive(Default)]
pub(super) struct KnownChanges(BTreeMap<FamilyKey, Family>);

impl Family {
    fn of(key: FamilyKey, place: PathBuf) -> Self {
        let (trail, parts) = (Trail::default(), BTreeMap::new());
        Self {
            key,
            place,
            trail,
            stamp: None,
            walked: 0,
            entries: 0,
            parts,
        }
    }

    fn contains(&self, path: &RepoPath) -> bool {
        path.name() == self.key.1 && key_of(path) == self.key
    }

    /// Reads the trail, unless the one in memory is made of the file as it is.
    fn read_trail(&mut self) {
        let path = self.place.join(TRAIL);
        let stamp = FileStamp::at(&path);
        if self.trail.head().is_none() || self.stamp != stamp {
            self.trail = Trail::parse(durable::text_of(&path).unwrap_or_default());
            (self.stamp, self.walked, self.entries) = (stamp, 0, 0);
        }
    }

    /// Reads a part, unless the one in memory is that of the file.
    fn read_part(&mut self, place: u8) {
        let path = self.file_of_part(place);
        let stamp = FileStamp::at(&path);
        if self
            .parts
            .get(&place)
            .is_some_and(|part| part.stamp == stamp)
        {
            return;
        }
        let text = durable::text_of(&path).unwrap_or_default();
        let (first, changes) = path_commits::read(&text);
        let (head, count) = first.split_once(' ').unwrap_or((first, ""));
        let head = Digest::parse(head);
        let changes = if head.is_some() {
            changes
        } else {
            BTreeMap::new()
        };
        // So a file that is cut off is not taken for a complete one.
        let is_complete = head.is_some() && count.parse() == Ok(changes.len());
        self.parts.insert(
            place,
            KnownPart {
                head,
                is_complete,
                changes,
                stamp,
            },
        );
    }

    /// A part as it is known, empty unless it was seen from one of these HEADs on the trail.
    fn joined(&mut self, place: u8, heads: &BTreeSet<Digest>) -> &mut KnownPart {
        self.read_part(place);
        let part = self.parts.entry(place).or_default();
        if !part.head.is_some_and(|head| heads.contains(&head)) {
            part.clear();
        }
        part
    }

    fn file_of_part(&self, place: u8) -> PathBuf {
        self.place.join(format!("{place:02x}"))
    }

    /// Writes the trail. A failure is ignored: the commits are compared again next time.
    fn keep_trail(&mut self, git: &Path) {
        let path = self.place.join(TRAIL);
        let made = Directory::make(git, &self.place).is_ok();
        if made && durable::write_derived(git, &path, self.trail.text().as_bytes()).is_ok() {
            (self.stamp, self.walked, self.entries) = (FileStamp::at(&path), 0, 0);
        }
    }

    /// Writes these parts, likewise.
    fn keep_parts(&mut self, git: &Path, places: &BTreeSet<u8>) {
        if places.is_empty() || Directory::make(git, &self.place).is_err() {
            return;
        }
        for place in places {
            let path = self.file_of_part(*place);
            let Some(part) = self.parts.get_mut(place) else {
                continue;
            };
            let Some(head) = part.head else { continue };
            let count = if part.is_complete {
                format!(" {}", part.changes.len())
            } else {
                String::new()
            };
            let first = format!("{head}{count}");
            let text = path_commits::write(&first, &part.changes);
            let _ = durable::write_derived(git, &path, text.as_bytes());
            part.stamp = FileStamp::at(&path);
        }
    }
}

/// The family of a file. The directory that contains it has others beside it, so that files of many tasks are one family.
fn key_of(path: &RepoPath) -> FamilyKey {
    let is_deep = path.as_str().matches('/').count() > 1;
    (
        if is_deep { top(path) } else { RepoPath::root() },
        path.name().to_owned(),
    )
}

impl Store {
    /// For each path, the newest commit that changed it. Returns an error if git cannot read the history.
    pub fn last_changes(&self, paths: &[RepoPath]) -> Result<Vec<Option<Digest>>, Error> {
        let Some(head) = self.head()?.commit else {
            return Ok(vec![None; paths.len()]);
        };
        // A deeper clone knows of other changes; and a line of a cache contains no line feed.
        let is_whole = self.boundary()?.is_empty();
        let (kept, others): (Vec<&RepoPath>, Vec<&RepoPath>) = paths
            .iter()
            .partition(|path| is_whole && !path.as_str().contains('\n'));
        let others: Vec<RepoPath> = others.into_iter().cloned().collect();
        let mut found = self.walk_for(&others, head)?;
        let mut asked: BTreeMap<FamilyKey, Vec<&RepoPath>> = BTreeMap::new();
        for path in kept {
            asked.entry(key_of(path)).or_default().push(path);
        }
        let mut known = self.changes.take();
        for (key, paths) in asked {
            let place = || self.place_of(&key);
            let family = known
                .0
                .entry(key.clone())
                .or_insert_with(|| Family::of(key.clone(), place()));
            found.extend(self.newest_in(family, head, &paths)?);
        }
        *self.changes.borrow_mut() = known;
        Ok(paths.iter().map(|path| found.get(path).copied()).collect())
    }

    /// For each of these paths of a family, the newest commit that changed it.
    fn newest_in(
        &self,
        family: &mut Family,
        head: Digest,
        paths: &[&RepoPath],
    ) -> Result<BTreeMap<RepoPath, Digest>, Error> {
        self.follow(family, head)?;
        let mut found: BTreeMap<RepoPath, Digest> = family
            .trail
            .newest(paths)
            .into_iter()
            .map(|(path, commit)| (path.clone(), commit))
            .collect();
        let (mut missing, mut renewed) = (BTreeSet::new(), BTreeSet::new());
        let rest: Vec<&RepoPath> = paths
            .iter()
            .copied()
            .filter(|path| !found.contains_key(*path))
            .collect();
        let places: BTreeSet<u8> = rest.iter().map(|path| self.cache_part(path)).collect();
        for place in &places {
            if self.join_trail(family, *place, head)? {
                renewed.insert(*place);
            }
        }
        for path in rest {
            let part = &family.parts[&self.cache_part(path)];
            match part.changes.get(path) {
                Some(commit) => found.extend([(path.clone(), *commit)]),
                None if part.is_complete => {}
                None => drop(missing.insert(path)),
            }
        }
        if !missing.is_empty() {
            let begin = family.trail.heads().next_back().unwrap_or(head);
            renewed.extend(self.dig(family, begin, (&missing, &places))?);
            let newest = |path: &&RepoPath| family.parts[&self.cache_part(path)].changes[*path];
            found.extend(missing.iter().map(|path| ((*path).clone(), newest(path))));
        }
        family.keep_parts(self.repo.path(), &renewed);
        found.retain(|_, commit| !commit.is_null());
        Ok(found)
    }

    /// Looks for files in the history before the trail, and adds them to their parts, which have these `places`; after a
    /// long search also what was found of others, so that it is not repeated for each. Returns the parts with something
    /// new.
    fn dig(
        &self,
        family: &mut Family,
        begin: Digest,
        (missing, places): (&BTreeSet<&RepoPath>, &BTreeSet<u8>),
    ) -> Result<BTreeSet<u8>, Error> {
        let mut open = missing.clone();
        let walked = self.walk_family(family, (begin, None), Some(&mut open))?;
        let is_long = is_long(walked.commits, walked.entries);
        let is_complete = !open.is_empty();
        let mut dug = walked.changes;
        dug.extend(
            open.into_iter()
                .map(|path| (path.clone(), self.format().null())),
        );
        let mut dug = self.by_part(dug);
        let renewed = if is_long {
            (0..=u8::MAX).collect()
        } else {
            places.clone()
        };
        let heads = family.trail.heads().collect();
        for place in &renewed {
            let head = *family.joined(*place, &heads).head.get_or_insert(begin);
            // From where the trail begins up to this HEAD, it knows more.
            let newer = if head == begin {
                BTreeMap::new()
            } else {
                family.trail.changes_up_to(head)
            };
            let newer = self.by_part(newer).remove(place).unwrap_or_default();
            let part = family.parts.entry(*place).or_default();
            for (path, commit) in newer
                .into_iter()
                .chain(dug.remove(place).unwrap_or_default())
            {
                part.changes.entry(path).or_insert(commit);
            }
            part.is_complete |= is_complete;
        }
        Ok(renewed)
    }

    /// Brings the trail of a family to `head`, from the newest HEAD on it that `head` contains.
    fn follow(&self, family: &mut Family, head: Digest) -> Result<(), Error> {
        family.read_trail();
        if family.trail.contains(head) {
            // The file may know what HEAD is by now.
            family.trail.cut_to(Some(head));
            return Ok(());
        }
        let is_past = |past: &Digest| self.is_ancestor(*past, head).unwrap_or(false);
        let last = family.trail.head();
        let base = last.filter(is_past).or_else(|| {
            let heads: Vec<Digest> = family.trail.heads().collect();
            heads
                .get(heads.partition_point(|other| !is_past(other)))
                .copied()
        });
        family.trail.cut_to(base);
        let mut changes = BTreeMap::new();
        if base.is_some() {
            let walked = self.walk_family(family, (head, base), None)?;
            changes = walked.changes;
            family.walked += walked.commits;
            family.entries += walked.entries;
        }
        family.trail.extend(head, &changes);
        let is_due = base.is_none() || base != last || is_long(family.walked, family.entries);
        self.keep(family, head, is_due);
        Ok(())
    }

    /// Visits the commits reachable from `from` and not from `until`, newest first, as far as files are `missing` that they
    /// changed, or all of them.
    fn walk_family(
        &self,
        family: &Family,
        between: (Digest, Option<Digest>),
        mut missing: Option<&mut BTreeSet<&RepoPath>>,
    ) -> Result<Walked, Error> {
        let (mut changes, mut commits, entries) = (BTreeMap::new(), 0, self.listed.get());
        self.walk_changes(
            between,
            std::slice::from_ref(&family.key.0),
            |commit, changed| {
                commits += 1;
                for path in changed.into_iter().filter(|path| family.contains(path)) {
                    missing.as_mut().map(|missing| missing.remove(&path));
                    changes.entry(path).or_insert(commit);
                }
                missing.as_ref().is_none_or(|missing| !missing.is_empty())
            },
        )?;
        Ok(Walked {
            changes,
            commits,
            entries: self.listed.get() - entries,
        })
    }

    /// Reads a part, and brings it to `head` if it was seen from a HEAD that is not on the trail. Returns whether it was
    /// brought there. Forgets what is in it if `head` does not contain that HEAD.
    fn join_trail(&self, family: &mut Family, place: u8, head: Digest) -> Result<bool, Error> {
        family.read_part(place);
        let older = family.parts[&place]
            .head
            .filter(|older| !family.trail.contains(*older));
        let Some(older) = older else { return Ok(false) };
        let is_past = self.is_ancestor(older, head).unwrap_or(false);
        let newer = match is_past {
            true => self.walk_family(family, (head, Some(older)), None)?.changes,
            false => BTreeMap::new(),
        };
        let part = family.parts.entry(place).or_default();
        if !is_past {
            part.clear();
        }
        part.changes
            .extend(self.by_part(newer).remove(&place).unwrap_or_default());
        part.head = Some(head);
        Ok(true)
    }

    /// Writes the trail, which ends at `head`, if that is due; if it has become long, moves what is on it into the parts,
    /// all of which then are as seen from `head`.
    fn keep(&self, family: &mut Family, head: Digest, is_due: bool) {
        let git = self.repo.path();
        if family.trail.text().len() <= LONGEST_TRAIL {
            if is_due {
                family.keep_trail(git);
            }
            return;
        }
        let mut changes = self.by_part(family.trail.changes_up_to(head));
        let heads = family.trail.heads().collect();
        for place in 0..=u8::MAX {
            let part = family.joined(place, &heads);
            part.changes
                .extend(changes.remove(&place).unwrap_or_default());
            part.head = Some(head);
        }
        family.keep_parts(git, &(0..=u8::MAX).collect());
        family.trail = Trail::default();
        family.trail.extend(head, &BTreeMap::new());
        family.keep_trail(git);
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
        for family in known
            .0
            .values_mut()
            .filter(|family| family.trail.head() == Some(from))
        {
            if let Ok(changes) = self.changed_by_batch(family, from, (planned, commits)) {
                family.trail.extend(*last, &changes);
                self.keep(family, *last, true);
                let kept = changes
                    .keys()
                    .next()
                    .map_or(Ok(()), |path| self.keep_trees_to(*last, path));
                kept.unwrap_or_else(|error| tracing::debug!(%error, "cannot keep large trees"));
            }
        }
        *self.changes.borrow_mut() = known;
    }

    /// The newest commit of a batch on top of `from` that changed each file of a family.
    fn changed_by_batch(
        &self,
        family: &Family,
        from: Digest,
        (planned, commits): (&[PlannedCommit], &[Digest]),
    ) -> Result<BTreeMap<RepoPath, Digest>, Error> {
        let before = self.source_at(Some(from));
        let mut held: BTreeMap<&RepoPath, Option<(Digest, u32)>> = BTreeMap::new();
        let mut changes = BTreeMap::new();
        for (one, commit) in planned.iter().zip(commits) {
            let written = one.writes.iter().map(|write| (write.path(), Some(write)));
            let removed = one.removes.iter().map(|path| (path, None));
            for (path, write) in written
                .chain(removed)
                .filter(|(path, _)| family.contains(path))
            {
                let present = held
                    .get(path)
                    .map_or_else(|| before.object(path), |held| Ok(*held))?;
                let after =
                    write.map(|write| (self.format().blob(write.bytes()), write.mode().into()));
                if present != after {
                    changes.insert(path.clone(), *commit);
                }
                held.insert(path, after);
            }
        }
        Ok(changes)
    }

    /// The directory of a family.
    fn place_of(&self, (top, name): &FamilyKey) -> PathBuf {
        let id = self.format().blob(format!("{top}/{name}").as_bytes());
        self.own(caches::CHANGES).join(id.to_string())
    }

    /// Changes by the part that has their path.
    fn by_part(
        &self,
        changes: BTreeMap<RepoPath, Digest>,
    ) -> BTreeMap<u8, BTreeMap<RepoPath, Digest>> {
        let mut parts: BTreeMap<u8, BTreeMap<RepoPath, Digest>> = BTreeMap::new();
        for (path, commit) in changes {
            parts
                .entry(self.cache_part(&path))
                .or_default()
                .insert(path, commit);
        }
        parts
    }

    /// The part that has a path.
    fn cache_part(&self, path: &RepoPath) -> u8 {
        self.format().blob(path.as_str().as_bytes()).as_bytes()[0]
    }
}

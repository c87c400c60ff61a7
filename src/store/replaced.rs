//! What commits have replaced or removed, to name the commit from which it can be restored.
//!
//! Many tasks can lack evidence at once, as after `rm -rf` or a bad merge, and walking the history for each of them
//! would cost the tasks times the commits. So one walk notes, for every content of a file that a commit took away, the
//! newest commit that still had it. The walk ends after so many entries of directories, whoever asks and in whatever
//! order.

use super::history::MAX_WALK;
use super::{Error, Store, history};
use crate::base::{Digest, RepoPath, locked};
use git2::Sort;
use std::collections::{BTreeMap, VecDeque};
use std::sync::{Arc, Mutex};

/// How many entries of directories a walk compares: the last 200 changes of a directory with 10,000 entries.
const MAX_ENTRIES: u64 = 4_000_000;

/// A content that a commit took away.
#[derive(Debug)]
struct Taken {
    blob: Digest,
    /// The parent that still had it.
    holder: Digest,
}

/// What was taken away in the history of a commit below a directory.
#[derive(Debug, Default)]
struct Replaced {
    head: Option<Digest>,
    /// For each path what was taken away, newest first, with the number of the commit: newer ones have lower numbers.
    taken: BTreeMap<RepoPath, VecDeque<(i64, Taken)>>,
    /// The number of the newest commit, and how many entries were compared for each, newest first.
    first: i64,
    compared: VecDeque<u64>,
}

/// What stores of one repository know together, by top-level directory.
#[derive(Debug, Clone, Default)]
pub(super) struct KnownReplaced(Arc<Mutex<BTreeMap<RepoPath, Replaced>>>);

impl Replaced {
    /// The number after those of the commits that are searched.
    fn end(&self) -> i64 {
        let mut left = MAX_ENTRIES;
        let is_within = |compared: &&u64| {
            let is_within = left > 0;
            left = left.saturating_sub(**compared);
            is_within
        };
        let commits = self.compared.iter().take(MAX_WALK).take_while(is_within).count();
        self.first + i64::try_from(commits).unwrap_or(i64::MAX)
    }
}

impl Store {
    /// The newest commit in the history of HEAD that has this blob at this path, if it is among those that are
    /// searched. Returns an error if git cannot read the history.
    pub fn commit_holding(&self, path: &RepoPath, blob: Digest) -> Result<Option<Digest>, Error> {
        let Some(head) = self.head()?.commit else { return Ok(None) };
        if !self.has(blob)? {
            return Ok(None);
        }
        if self.blob_of(&self.find_commit(self.oid(head)?)?, path)? == Some(blob) {
            return Ok(Some(head));
        }
        let top = history::top(path);
        // Whoever comes second waits for the walk instead of repeating it.
        let mut known = locked(&self.replaced.0);
        let replaced = known.entry(top.clone()).or_default();
        if replaced.head != Some(head) {
            let failed = self.walk_on(replaced, head, &top).err();
            if let Some(error) = failed {
                *replaced = Replaced::default();
                return Err(error);
            }
        }
        let end = replaced.end();
        let of_path = replaced.taken.get(path).into_iter().flatten();
        let found = of_path.take_while(|(number, _)| *number < end).find(|(_, taken)| taken.blob == blob);
        Ok(found.map(|(_, taken)| taken.holder))
    }

    /// Adds what the commits up to `head` have taken away; begins anew if they do not continue those that are known.
    fn walk_on(&self, replaced: &mut Replaced, head: Digest, top: &RepoPath) -> Result<(), Error> {
        let until = replaced.head.filter(|known| self.is_ancestor(*known, head).unwrap_or(false));
        // What lies beyond the end is forgotten now and then.
        let is_long =
            replaced.compared.len() as u64 > 2 * (replaced.end() - replaced.first).unsigned_abs() + 64;
        let until = until.filter(|_| !is_long);
        if until.is_none() {
            *replaced = Replaced::default();
        }
        let mut walk = self.revwalk(&[head], until.as_slice())?;
        // Sorted by topology, the walk would read all commits before it returns the first.
        walk.set_sorting(Sort::TIME)?;
        let (mut newer, mut left) = (Vec::new(), MAX_ENTRIES);
        for id in walk.take(MAX_WALK) {
            // A shallow clone ends here.
            let Some(commit) = self.commit_if_held(id?)? else { break };
            let (losses, entries) = self.losses(&commit, top)?;
            left = left.saturating_sub(entries);
            newer.push((losses, entries));
            if left == 0 {
                break;
            }
        }
        for (losses, entries) in newer.iter().rev() {
            replaced.first -= 1;
            replaced.compared.push_front(*entries);
            for file in losses {
                if let (Some(holder), Some(blob)) = (file.parent, file.before) {
                    let taken = Taken { blob, holder };
                    let of_path = replaced.taken.entry(file.path.clone()).or_default();
                    of_path.push_front((replaced.first, taken));
                }
            }
        }
        replaced.head = Some(head);
        Ok(())
    }
}

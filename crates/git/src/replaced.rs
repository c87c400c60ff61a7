//! What commits have replaced or removed, to name the commit from which it can be restored.
//!
//! Many tasks can lack evidence at once, as after `rm -rf` or a bad merge, and walking the history for each of them
//! would cost the tasks times the commits. So one walk notes, for every content of a file that a commit took away, the
//! newest commit that still had it. The walk ends after so many entries of directories, whoever asks and in whatever
//! order. What a long walk has found is kept in the git directory, for commands about one task; deleting it loses nothing.

use super::history::MAX_WALK;
use super::{Error, Store, caches, durable, history};
use crate::base::{Digest, RepoPath, locked};
use crate::error::libgit2;
use crate::scan::Directory;
use git2::Sort;
use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;
use std::path::PathBuf;
use std::sync::{Arc, Mutex};

/// How many entries of directories a walk compares: the last 200 changes of a directory with 10,000 entries.
const MAX_ENTRIES: u64 = 4_000_000;

/// Larger texts are not kept: to read them would take as long as another walk.
const LONGEST_TEXT: usize = 4 << 20;
/// Larger texts are not written again after each commit of this process.
const SHORT_TEXT: usize = 256 << 10;

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
    /// Whether the clone was shallow, so that a deeper one knows of more.
    is_shallow: bool,
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
        let commits = self
            .compared
            .iter()
            .take(MAX_WALK)
            .take_while(is_within)
            .count();
        self.first + i64::try_from(commits).unwrap_or(i64::MAX)
    }

    /// The text to keep: HEAD, and how many lines follow; the entries that were compared for each commit, newest first;
    /// and a line `NUMBER BLOB HOLDER PATH` for each content that a commit took away. `None` if it would be too long, or
    /// a path has a line feed.
    fn text(&self, longest: usize) -> Option<String> {
        let rows: usize = self.taken.values().map(VecDeque::len).sum();
        // Each has two ids of at least 40 digits.
        if rows * 80 > longest {
            return None;
        }
        let compared: Vec<String> = self.compared.iter().map(u64::to_string).collect();
        let mut text = format!("{} {rows}\n{}\n", self.head?, compared.join(" "));
        for (path, taken) in &self.taken {
            for (number, Taken { blob, holder }) in taken {
                let _ = writeln!(text, "{} {blob} {holder} {path}", number - self.first);
            }
            if text.len() > longest || path.as_str().contains('\n') {
                return None;
            }
        }
        Some(text)
    }

    /// What such a text says; `None` if it is damaged.
    fn read(text: &str) -> Option<Self> {
        let mut lines = text.strip_suffix('\n')?.split('\n');
        let (head, rows) = lines.next()?.split_once(' ')?;
        let compared = lines
            .next()?
            .split_whitespace()
            .map(|entries| entries.parse().ok());
        let mut found = Self {
            head: Some(Digest::parse(head)?),
            compared: compared.collect::<Option<_>>()?,
            ..Self::default()
        };
        let mut left: usize = rows.parse().ok()?;
        for line in lines {
            let mut words = line.splitn(4, ' ');
            let number = words.next()?.parse().ok()?;
            let (blob, holder) = (Digest::parse(words.next()?)?, Digest::parse(words.next()?)?);
            let of_path = found
                .taken
                .entry(RepoPath::new(words.next()?).ok()?)
                .or_default();
            of_path.push_back((number, Taken { blob, holder }));
            left = left.checked_sub(1)?;
        }
        (left == 0).then_some(found)
    }
}

impl Store {
    /// The newest commit in the history of HEAD that has this blob at this path, if it is among those that are
    /// searched. Returns an error if git cannot read the history.
    pub fn commit_holding(&self, path: &RepoPath, blob: Digest) -> Result<Option<Digest>, Error> {
        let Some(head) = self.head()?.commit else {
            return Ok(None);
        };
        if !self.has(blob)? {
            return Ok(None);
        }
        if self.blob_of(&self.find_commit(self.oid(head)?)?, path)? == Some(blob) {
            return Ok(Some(head));
        }
        let top = history::top(path);
        // Whoever comes second waits for the walk instead of repeating it.
        let mut known = locked(&self.replaced.0);
        let replaced = known
            .entry(top.clone())
            .or_insert_with(|| self.kept_replaced(&top));
        if replaced.head != Some(head) {
            match self.walk_on(replaced, head, &top) {
                Ok(is_long) => {
                    if is_long && self.asks_for_few() {
                        self.keep_replaced(replaced, &top, LONGEST_TEXT);
                    }
                }
                Err(error) => {
                    *replaced = Replaced::default();
                    return Err(error);
                }
            }
        }
        let end = replaced.end();
        let of_path = replaced.taken.get(path).into_iter().flatten();
        let found = of_path
            .take_while(|(number, _)| *number < end)
            .find(|(_, taken)| taken.blob == blob);
        Ok(found.map(|(_, taken)| taken.holder))
    }

    /// Adds what commits of this store on top of `from` took away, if what was taken before is known, and keeps it for
    /// others: they would have to read the trees of all these commits.
    pub(super) fn take_replaced(&self, from: Digest, head: Digest) {
        for (top, replaced) in locked(&self.replaced.0).iter_mut() {
            if replaced.head == Some(from) {
                match self.walk_on(replaced, head, top) {
                    Ok(_) => self.keep_replaced(replaced, top, SHORT_TEXT),
                    Err(_) => *replaced = Replaced::default(),
                }
            }
        }
    }

    /// Adds what the commits up to `head` have taken away; begins anew if they do not continue those that are known.
    /// Returns whether it had to compare much.
    fn walk_on(
        &self,
        replaced: &mut Replaced,
        head: Digest,
        top: &RepoPath,
    ) -> Result<bool, Error> {
        let is_shallow = self.is_shallow()?;
        let until = replaced
            .head
            .filter(|known| self.is_ancestor(*known, head).unwrap_or(false));
        let until = until.filter(|_| replaced.is_shallow == is_shallow);
        // What lies beyond the end is forgotten now and then.
        let is_grown = replaced.compared.len() as u64
            > 2 * (replaced.end() - replaced.first).unsigned_abs() + 64;
        let until = until.filter(|_| !is_grown);
        if until.is_none() {
            *replaced = Replaced {
                is_shallow,
                ..Replaced::default()
            };
        }
        let mut walk = self.revwalk(&[head], until.as_slice())?;
        // Sorted by topology, the walk would read all commits before it returns the first.
        walk.set_sorting(Sort::TIME).map_err(libgit2)?;
        let (mut newer, mut left) = (Vec::new(), MAX_ENTRIES);
        for id in walk.take(MAX_WALK) {
            // A shallow clone ends here.
            let Some(commit) = self.commit_if_held(id.map_err(libgit2)?)? else {
                break;
            };
            let (losses, entries) = self.losses(&commit, top)?;
            left = left.saturating_sub(entries);
            newer.push((losses, entries));
            if left == 0 {
                break;
            }
        }
        let is_long = history::is_long(newer.len(), MAX_ENTRIES - left);
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
        Ok(is_long)
    }

    fn file_of_replaced(&self, top: &RepoPath) -> PathBuf {
        self.own(caches::REPLACED)
            .join(self.format().blob(top.as_str().as_bytes()).to_string())
    }

    fn kept_replaced(&self, top: &RepoPath) -> Replaced {
        let text = durable::text_of(&self.file_of_replaced(top)).unwrap_or_default();
        Replaced::read(&text).unwrap_or_default()
    }

    /// Writes what was taken away. A failure is ignored: it is found again next time.
    fn keep_replaced(&self, replaced: &Replaced, top: &RepoPath, longest: usize) {
        let git = self.repo.path();
        if !replaced.is_shallow
            && let Some(text) = replaced.text(longest)
            && Directory::make(git, &self.own(caches::REPLACED)).is_ok()
        {
            let _ = durable::write_derived(git, &self.file_of_replaced(top), text.as_bytes());
        }
    }
}

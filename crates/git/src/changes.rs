//! Differences between two trees or between a tree and the index, and the commits of a range.

use super::listing::{Listing, ListingEntry, TREE};
use super::walk::WalkOrder;
use super::{Error, History, IndexSource, Refs, StagedFile, TreeSource, digest};
use git2::{ObjectType, Oid, Tree, TreeEntry};
use orch_base::{Code, Diagnostic, Digest, RepoPath, Timestamp};
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

/// The commits of a range: those reachable from `to` and not from `from`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Range {
    /// The last commit of the range.
    pub to: Digest,
    /// The commit before the first; `None` for the whole history.
    pub from: Option<Digest>,
}

/// A commit of a walk over the history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Visited {
    /// The commit id.
    pub id: Digest,
    /// Its parents; empty for a root commit and at the end of a shallow clone.
    pub parents: Vec<Digest>,
    /// Whether its parents are missing because the clone is shallow.
    pub is_boundary: bool,
    /// The author time, in seconds since 1970.
    pub at: Timestamp,
    /// The name of the author.
    pub author: String,
}

/// The commits that the other side of a push already has.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KnownRefs<'a> {
    /// On a server: those of every local ref except the pushed one.
    AllBut(&'a str),
    /// On a client: those of the remote-tracking refs.
    Remotes,
}

impl History<'_> {
    /// Parses a range: `A..B`, or everything reachable from `REV`. As A, the null id stands for what the remote has, as in
    /// the word that hosts give of a new branch. Returns an error if a revision is unknown.
    pub fn range(&self, text: &str) -> Result<Range, Error> {
        let Some((from, to)) = text.split_once("..") else {
            return Ok(Range {
                from: None,
                to: self.refs.resolve(text)?,
            });
        };
        let end = |name: &str| {
            self.refs
                .resolve(if name.is_empty() { "HEAD" } else { name })
        };
        let to = to.trim_start_matches('.');
        if Digest::parse(to).is_some_and(|id| id.is_null()) {
            let message = format!("the range {text} ends where a branch was deleted");
            return Err(Diagnostic::error(Code::NothingToJudge, message).into());
        }
        let to = end(to)?;
        let from = match Digest::parse(from) {
            Some(id) if id.is_null() => self.remote_base(to)?,
            _ => Some(end(from)?),
        };
        Ok(Range { from, to })
    }

    /// The commit of the default branch of a remote at which a new branch begins; `None` if no remote has one, or it
    /// already contains the branch, so that everything is new.
    fn remote_base(&self, to: Digest) -> Result<Option<Digest>, Error> {
        for (name, commit) in self.refs.tips("refs/remotes/")? {
            let commit = digest(commit);
            let is_default = name.ends_with("/HEAD") && name.split('/').count() == 4;
            let holds_all = commit == to || self.is_ancestor(to, commit)?;
            if is_default && !holds_all && !self.merge_bases(commit, to)?.is_empty() {
                return Ok(Some(commit));
            }
        }
        Ok(None)
    }

    /// The commits of a range, parents before children. Returns an error if git cannot read them.
    pub fn commits(&self, range: &Range) -> Result<Vec<Arc<Visited>>, Error> {
        let walk = self.sorted_walk(&[range.to], range.from.as_slice(), WalkOrder::ByLine)?;
        let boundary = self.refs.boundary()?;
        walk.into_iter()
            .rev()
            .map(|id| Ok(Arc::new(self.visited(id, &boundary)?)))
            .collect()
    }

    /// Reads one commit. Returns an error if it does not exist.
    pub fn visit(&self, commit: Digest) -> Result<Visited, Error> {
        self.visited(self.objects.oid(commit)?, &self.refs.boundary()?)
    }

    /// The whole message of a commit. It is not part of [`Visited`]: messages are most of what a long history contains.
    /// Returns an error if the commit does not exist.
    pub fn message(&self, commit: Digest) -> Result<String, Error> {
        let commit = self.objects.find_commit(self.objects.oid(commit)?)?;
        Ok(String::from_utf8_lossy(commit.message_bytes()).into_owned())
    }

    /// The commits that a push adds: those reachable from `to` and not from `known`. Returns an error if git
    /// cannot read them.
    pub fn commits_new_to(
        &self,
        to: Digest,
        known: KnownRefs<'_>,
    ) -> Result<Vec<Arc<Visited>>, Error> {
        let (prefix, pushed) = match known {
            KnownRefs::Remotes => ("refs/remotes/", None),
            KnownRefs::AllBut(pushed) => ("refs/", Some(pushed)),
        };
        let mut hidden = Vec::new();
        for (name, commit) in self.refs.tips(prefix)? {
            // In a post-receive hook the ref has already moved and must not hide the new commits.
            let is_pushed = pushed.is_some_and(|pushed| name == pushed || digest(commit) == to);
            if !is_pushed {
                hidden.push(digest(commit));
            }
        }
        let walk = self.sorted_walk(&[to], &hidden, WalkOrder::ByLine)?;
        let boundary = self.refs.boundary()?;
        walk.into_iter()
            .rev()
            .map(|id| Ok(Arc::new(self.visited(id, &boundary)?)))
            .collect()
    }

    fn visited(&self, id: Oid, boundary: &[Digest]) -> Result<Visited, Error> {
        let commit = self.objects.held_commit(id)?;
        let is_boundary = boundary.contains(&digest(id));
        Ok(Visited {
            id: digest(id),
            parents: if is_boundary {
                Vec::new()
            } else {
                commit.parent_ids().map(digest).collect()
            },
            is_boundary,
            at: Timestamp::from_seconds(commit.author().when().seconds()),
            author: String::from_utf8_lossy(commit.author().name_bytes()).into_owned(),
        })
    }

    /// The files below a directory that differ between two commits. The cost depends on the difference only.
    /// Returns an error if git cannot read a tree.
    pub fn changed(
        &self,
        before: &TreeSource<'_>,
        after: &TreeSource<'_>,
        directory: &RepoPath,
    ) -> Result<Vec<RepoPath>, Error> {
        if let Some(known) = self.known_changes(before, after, directory) {
            return Ok(known);
        }
        let mut found = Vec::new();
        let trees = (
            before.directory_at(directory)?,
            after.directory_at(directory)?,
        );
        differ(
            (before, trees.0),
            (after, trees.1),
            directory,
            &mut |path, _| found.push(path),
        )?;
        Ok(found)
    }

    /// The files below a directory that differ between a commit and the index. Unmerged files are left out.
    /// Returns an error if git cannot read a tree.
    pub fn staged_changes(
        &self,
        head: &TreeSource<'_>,
        index: &IndexSource<'_>,
        directory: &RepoPath,
    ) -> Result<Vec<RepoPath>, Error> {
        let tree = head
            .object(directory)?
            .filter(|(_, mode)| *mode == TREE)
            .map(|(tree, _)| tree);
        let mut found = Vec::new();
        self.differ_staged(tree, index, directory, &mut found)?;
        found.retain(|path| index.unmerged().binary_search(path).is_err());
        found.sort();
        Ok(found)
    }

    fn differ_staged(
        &self,
        before: Option<Digest>,
        index: &IndexSource<'_>,
        directory: &RepoPath,
        found: &mut Vec<RepoPath>,
    ) -> Result<(), Error> {
        if before.is_some() && index.tree(directory) == before {
            return Ok(());
        }
        let tree = before
            .map(|tree| self.objects.tree_with_id(self.objects.oid(tree)?))
            .transpose()?;
        // Most directories are unchanged, which their names and tree ids show.
        let is_same = |entry: &TreeEntry<'_>| {
            let is_tree = entry.kind() == Some(ObjectType::Tree);
            let name = entry.name().ok().filter(|_| is_tree);
            name.is_some_and(|name| index.holds_tree(directory, name, digest(entry.id())))
        };
        let mut before = entries(
            tree.iter()
                .flat_map(Tree::iter)
                .filter(|entry| !is_same(entry)),
        );
        let differs = |name: &str| {
            let entry = tree.as_ref().and_then(|tree| tree.get_name(name));
            !entry.is_some_and(|entry| is_same(&entry))
        };
        let after = index.directly_in(directory).into_iter();
        let mut after: BTreeMap<String, Option<StagedFile>> = after
            .filter(|(name, file)| file.is_some() || differs(name))
            .collect();
        // A submodule is not a file, on either side.
        before.retain(|_, (_, mode, _)| *mode != SUBMODULE);
        after.retain(|_, file| {
            file.as_ref()
                .is_none_or(|file| i32::try_from(file.mode) != Ok(SUBMODULE))
        });
        let names: BTreeSet<&String> = before.keys().chain(after.keys()).collect();
        for name in names {
            let Ok(path) = directory.join(name) else {
                continue;
            };
            let old = before.get(name);
            let new = after.get(name);
            let subtree = old
                .filter(|(.., is_tree)| *is_tree)
                .map(|(id, ..)| digest(*id));
            if subtree.is_some() || new == Some(&None) {
                self.differ_staged(subtree, index, &path, found)?;
            }
            let blob = old
                .filter(|(.., is_tree)| !is_tree)
                .map(|(id, mode, _)| (digest(*id), *mode));
            let file = new.and_then(Option::as_ref);
            if blob != file.map(|file| (file.blob, i32::try_from(file.mode).unwrap_or_default())) {
                found.push(path);
            }
        }
        Ok(())
    }
}

impl Refs<'_> {
    /// The commits at which a shallow clone ends. Returns an error if the list of them cannot be read.
    pub fn boundary(&self) -> Result<Vec<Digest>, Error> {
        let listed = super::durable::text_of(&self.objects.repo.commondir().join("shallow"))?;
        Ok(listed.lines().filter_map(Digest::parse).collect())
    }

    /// Whether the clone lacks the commits before some of its history. Returns an error if the
    /// list of where it ends cannot be read.
    pub fn is_shallow(&self) -> Result<bool, Error> {
        Ok(!self.boundary()?.is_empty())
    }

    /// Whether grafts or replacements give commits other parents or contents here. Returns an error if git cannot be
    /// read.
    pub fn has_grafts(&self) -> Result<bool, Error> {
        let grafts = super::durable::text_of(&self.objects.repo.commondir().join("info/grafts"))?;
        Ok(!grafts.trim().is_empty() || !self.each_tip("refs/replace/")?.is_empty())
    }

    /// The commit that an object is or that a tag points to; `None` for other objects. Returns an error if
    /// the object does not exist.
    pub fn commit_of(&self, object: Digest) -> Result<Option<Digest>, Error> {
        let found = match self.objects.oid(object) {
            Ok(id) => self.objects.unless_missing((id, ObjectType::Any), || {
                self.objects.repo.find_object(id, None)
            })?,
            Err(_) => None,
        };
        let Some(found) = found else {
            return Err(super::error::unknown_revision(&object.to_string()));
        };
        self.objects.refuse_torn_tags(found.id())?;
        Ok(found
            .peel(ObjectType::Commit)
            .ok()
            .map(|commit| digest(commit.id())))
    }

    /// The commits that an unfinished merge brings in. Returns an error if git cannot look them up.
    pub fn merge_heads(&self) -> Result<Vec<Digest>, Error> {
        let listed = super::durable::text_of(&self.objects.repo.path().join("MERGE_HEAD"))?;
        let mut heads = Vec::new();
        for commit in listed.lines().filter_map(Digest::parse) {
            if self.objects.has(commit)? {
                heads.push(commit);
            }
        }
        Ok(heads)
    }
}

/// The file mode of a submodule.
const SUBMODULE: i32 = 0o160_000;

/// Passes to `found` each file that differs between two directories, given as tree ids in two commits, with what each
/// has at that path.
pub(super) fn differ(
    (one, before): (&TreeSource<'_>, Option<Oid>),
    (other, after): (&TreeSource<'_>, Option<Oid>),
    directory: &RepoPath,
    found: &mut dyn FnMut(RepoPath, [Option<TreeObject>; 2]),
) -> Result<(), Error> {
    if before == after {
        return Ok(());
    }
    for ((name, _), [old, new]) in unlike_names((one, before), (other, after))? {
        let Ok(path) = directory.join(&name) else {
            continue;
        };
        differ((one, subtree(old)), (other, subtree(new)), &path, found)?;
        if is_file(old) || is_file(new) {
            found(path, [old, new]);
        }
    }
    Ok(())
}

/// What each side contains under a name, by the name and whether that is a directory.
pub(super) type UnlikeNames = BTreeMap<(String, bool), [Option<TreeObject>; 2]>;

/// The entries that differ between two directories. A tree that git would not write may contain a file and a directory of
/// one name.
pub(super) fn unlike_names(
    (one, before): (&TreeSource<'_>, Option<Oid>),
    (other, after): (&TreeSource<'_>, Option<Oid>),
) -> Result<UnlikeNames, Error> {
    let before = before.map(|id| one.directory(id)).transpose()?;
    let after = after.map(|id| other.directory(id)).transpose()?;
    let mut names = UnlikeNames::new();
    for sides in unlike_entries(before.as_deref(), after.as_deref()) {
        for (side, entry) in sides.into_iter().enumerate() {
            let Some(entry) = entry else { continue };
            let mode = i32::try_from(entry.mode).unwrap_or_default();
            // A name that is not UTF-8 is told with replacement characters: a change must not be passed over.
            let key = (
                String::from_utf8_lossy(entry.name).into_owned(),
                entry.is_tree(),
            );
            names.entry(key).or_default()[side] = Some((entry.id, mode, entry.is_tree()));
        }
    }
    Ok(names)
}

/// An entry of a tree: object id, file mode, and whether it is a tree.
pub(super) type TreeObject = (Oid, i32, bool);

/// The id of the entry, if it is a tree.
pub(super) fn subtree(held: Option<TreeObject>) -> Option<Oid> {
    held.filter(|(.., is_tree)| *is_tree).map(|(id, ..)| id)
}

/// Whether there is an entry and it is not a tree.
pub(super) fn is_file(held: Option<TreeObject>) -> bool {
    held.is_some_and(|(.., is_tree)| !is_tree)
}

/// The entries of two trees that differ: what each has in a place.
fn unlike_entries<'t>(
    before: Option<&'t Listing>,
    after: Option<&'t Listing>,
) -> Vec<[Option<ListingEntry<'t>>; 2]> {
    let (Some(before), Some(after)) = (before, after) else {
        let old = before
            .into_iter()
            .flat_map(Listing::iter)
            .map(|entry| [Some(entry), None]);
        let new = after
            .into_iter()
            .flat_map(Listing::iter)
            .map(|entry| [None, Some(entry)]);
        return old.chain(new).collect();
    };
    let unlike = Listing::unlike(before, after).into_iter();
    let sides = unlike.map(|[gone, put]| [before.range(gone).next(), after.range(put).next()]);
    // git writes one mode where it once wrote several.
    let is_same = |sides: &[Option<ListingEntry<'_>>; 2]| match sides {
        [Some(one), Some(other)] => one.id == other.id && one.mode == other.mode,
        _ => false,
    };
    sides.filter(|sides| !is_same(sides)).collect()
}

/// The entries of a tree by name; see [`TreeObject`].
fn entries<'t>(entries: impl IntoIterator<Item = TreeEntry<'t>>) -> BTreeMap<String, TreeObject> {
    entries
        .into_iter()
        .filter_map(|entry| {
            let is_tree = entry.kind() == Some(ObjectType::Tree);
            Some((
                entry.name().ok()?.to_owned(),
                (entry.id(), entry.filemode(), is_tree),
            ))
        })
        .collect()
}

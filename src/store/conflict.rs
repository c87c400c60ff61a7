//! What git leaves to people: an operation that is going on, and paths that are unmerged.

use super::ls_files::{Listed, path_of};
use super::{Error, Store, digest, durable, oid};
use crate::base::{Digest, RepoPath};
use git2::RepositoryState;
use std::path::{Path, PathBuf};

/// An operation of git that waits for somebody to go on with it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Operation {
    /// What it is, with its article.
    pub what: &'static str,
    /// How it goes on.
    pub next: &'static str,
    /// What may be typed instead.
    or_else: Option<&'static str>,
}

/// A path with several versions in the index, of which none is chosen yet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unmerged {
    /// The path.
    pub path: RepoPath,
    /// The blobs of what both sides come from, of ours and of theirs, where they have one.
    pub stages: [Option<Digest>; 3],
}

impl Operation {
    fn of(state: RepositoryState) -> Option<Self> {
        let continued = |what, next| Some(Self { what, next, or_else: Some("--abort") });
        match state {
            RepositoryState::Clean => None,
            RepositoryState::Merge => continued("a merge", "git merge --continue"),
            RepositoryState::Revert | RepositoryState::RevertSequence => {
                continued("a revert", "git revert --continue")
            }
            RepositoryState::CherryPick | RepositoryState::CherryPickSequence => {
                continued("a cherry-pick", "git cherry-pick --continue")
            }
            RepositoryState::Bisect => {
                Some(Self { what: "a bisect", next: "git bisect reset", or_else: None })
            }
            RepositoryState::Rebase | RepositoryState::RebaseInteractive | RepositoryState::RebaseMerge => {
                continued("a rebase", "git rebase --continue")
            }
            RepositoryState::ApplyMailbox | RepositoryState::ApplyMailboxOrRebase => {
                continued("applying a mailbox", "git am --continue")
            }
        }
    }

    /// The ways out, in words.
    #[must_use]
    pub fn hint(&self) -> String {
        self.or_else.map_or_else(|| self.next.to_owned(), |other| format!("{}, or {other}", self.next))
    }
}

impl Store {
    /// The operation that is going on, if one is.
    #[must_use]
    pub fn operation(&self) -> Option<Operation> {
        Operation::of(self.repo.state())
    }

    /// The unmerged paths, in order.
    pub fn unmerged(&self) -> Result<Vec<Unmerged>, Error> {
        let listed = self.git(&["ls-files", "--unmerged", "--full-name", "-z"], &[])?;
        let mut found: Vec<Unmerged> = Vec::new();
        for Listed { blob, stage, path, .. } in Listed::all(&listed) {
            let Some(path) = path_of(path) else { continue };
            if found.last().is_none_or(|last| last.path != path) {
                found.push(Unmerged { path, stages: [None; 3] });
            }
            let slot = usize::from(stage).checked_sub(1);
            if let (Some(last), Some(slot)) = (found.last_mut(), slot.filter(|slot| *slot < 3)) {
                last.stages[slot] = Some(blob);
            }
        }
        Ok(found)
    }

    /// Writes these files of `orch`'s own and marks them as resolved. Nothing else is staged.
    pub fn settle(&self, files: &[(RepoPath, Vec<u8>)]) -> Result<(), Error> {
        let _lock = self.lock()?;
        self.clear_index_lock()?;
        self.wait_for_index()?;
        let placed: Vec<(PathBuf, &[u8])> =
            files.iter().map(|(path, bytes)| (path.under(&self.root), bytes.as_slice())).collect();
        durable::write_all(&placed)?;
        let names = files.iter().map(|(path, _)| path.as_str());
        let arguments: Vec<&str> = ["--literal-pathspecs", "add", "--"].into_iter().chain(names).collect();
        Ok(self.git(&arguments, &[]).map(drop)?)
    }

    /// The commits that two come from; none where they have nothing in common, or not in this clone.
    pub fn merge_bases(&self, one: Digest, another: Digest) -> Result<Vec<Digest>, Error> {
        match self.repo.merge_bases(oid(one)?, oid(another)?) {
            Ok(bases) => Ok(bases.iter().copied().map(digest).collect()),
            Err(error) if error.code() == git2::ErrorCode::NotFound => Ok(Vec::new()),
            Err(error) => Err(error.into()),
        }
    }

    /// Merges three files as git does without any merge driver; whether that went without conflict.
    pub fn merge_files(&self, base: &str, ours: &str, theirs: &str) -> bool {
        let labels = ["-L", "ours", "-L", "base", "-L", "theirs"];
        let arguments = [&["merge-file", "-q"], &labels[..], &["--", ours, base, theirs]].concat();
        self.git(&arguments, &[]).is_ok()
    }

    /// Names a command as a merge driver, for this clone.
    pub fn set_merge_driver(&self, driver: &str, command: &str) -> Result<(), Error> {
        let mut config = self.repo.config()?.open_level(git2::ConfigLevel::Local)?;
        config.set_str(&format!("merge.{driver}.name"), "orch derives the record of a task")?;
        config.set_str(&format!("merge.{driver}.driver"), command)?;
        Ok(())
    }

    /// Whether a merge driver of this name is set.
    #[must_use]
    pub fn has_merge_driver(&self, driver: &str) -> bool {
        self.repo.config().is_ok_and(|config| config.get_string(&format!("merge.{driver}.driver")).is_ok())
    }

    /// The attributes of this clone, which outrank those that are shared.
    #[must_use]
    pub fn own_attributes(&self) -> PathBuf {
        self.repo.commondir().join("info/attributes")
    }

    /// The merge driver that the attributes of a path name.
    #[must_use]
    pub fn merge_attribute(&self, path: &RepoPath) -> Option<String> {
        let flags = git2::AttrCheckFlags::default();
        let value = self.repo.get_attr(Path::new(path.as_str()), "merge", flags).ok()??;
        Some(value.to_owned())
    }
}

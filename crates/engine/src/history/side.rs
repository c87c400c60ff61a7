//! One side of a change: the files of a commit and the settings in it.

use super::archive::Archive;
use crate::survey::setting::Settings;
use crate::survey::snapshot::Snapshot;
use crate::survey::{CodeAt, Error};
use orch_base::{Digest, RepoPath};
use orch_git::{Store, TreeSource, Visited};
use orch_read::ValidationCache;
use std::collections::VecDeque;
use std::rc::Rc;

/// The number of cached sides. A parent is usually read shortly before its child.
const SIDES_KEPT: usize = 8;

/// One side of a change: the files of a commit and the settings in it.
pub(super) struct Side<'s> {
    store: &'s Store,
    pub source: TreeSource<'s>,
    pub setting: Rc<Settings>,
}

impl<'s> Side<'s> {
    pub(super) fn new(archive: &Archive<'s>, source: TreeSource<'s>) -> Result<Self, Error> {
        let setting = archive.setting(&source)?;
        Ok(Self {
            store: archive.store,
            source,
            setting,
        })
    }

    /// Whether another side has the same settings and workflows.
    pub(super) fn has_settings_of(&self, other: &Self) -> bool {
        Rc::ptr_eq(&self.setting, &other.setting)
    }

    /// A function that lists the files below a directory that differ from another side.
    pub(super) fn differing<'a>(
        &'a self,
        store: &'a Store,
    ) -> impl Fn(&Self, &RepoPath) -> Result<Vec<RepoPath>, Error> + 'a {
        |before, directory| {
            store
                .history()
                .changed(&before.source, &self.source, directory)
        }
    }

    pub(super) fn snapshot<'a>(&'a self, validations: &'a ValidationCache) -> Snapshot<'a> {
        let code = CodeAt::Commit(self.store, self.source.commit());
        Snapshot::new(&self.setting, &self.source, validations, code)
    }
}

/// A cache of the last sides: the commit of one change is a parent in the next.
pub(super) struct SideCache<'a, 's> {
    pub store: &'s Store,
    pub archive: &'a Archive<'s>,
    recent: VecDeque<Rc<Side<'s>>>,
}

impl<'a, 's> SideCache<'a, 's> {
    pub(super) fn new(store: &'s Store, archive: &'a Archive<'s>) -> Self {
        Self {
            store,
            archive,
            recent: VecDeque::new(),
        }
    }

    /// The side of a commit. Returns an error if git cannot read the commit.
    pub(super) fn of(&mut self, commit: Digest) -> Result<Rc<Side<'s>>, Error> {
        if let Some(known) = self
            .recent
            .iter()
            .find(|side| side.source.commit() == Some(commit))
        {
            return Ok(Rc::clone(known));
        }
        let side = Rc::new(Side::new(
            self.archive,
            self.store.objects().source_at(commit),
        )?);
        self.recent.push_front(Rc::clone(&side));
        self.recent.truncate(SIDES_KEPT);
        Ok(side)
    }

    /// The sides of a commit's parents; for the first commit, one empty side. Returns an error if git cannot
    /// read a parent.
    pub(super) fn before(&mut self, commit: &Visited) -> Result<Vec<Rc<Side<'s>>>, Error> {
        if commit.parents.is_empty() {
            return Ok(vec![Rc::new(Side::new(
                self.archive,
                self.store.objects().source_at(None),
            )?)]);
        }
        commit
            .parents
            .iter()
            .map(|parent| self.of(*parent))
            .collect()
    }
}

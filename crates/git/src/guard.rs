//! What an executor has no business to change in the git directory: compared before and after its turn.
//!
//! The settings and the hooks of git start programs, later and as the user, so a change is reported. The caches of
//! `orch` are believed by later looks, and an executor may have written what it likes into them; what changed there is
//! forgotten, which loses nothing.

use super::{GitSettings, caches, durable};
use orch_base::Digest;
use orch_files::FileStamp;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use walkdir::{DirEntry, WalkDir};

/// Files and directories of git, in the directory that all work trees share, that name programs or decide which files
/// git sees.
const SHARED: [&str; 5] = [
    "commondir",
    "config",
    "hooks",
    "info",
    "objects/info/alternates",
];
/// The same, of one work tree.
const OWN: [&str; 2] = ["config.worktree", "info/sparse-checkout"];
/// The same, of the repository of a submodule.
const MODULE: [&str; 2] = ["config", "hooks"];
/// The directories in a repository that hold what is committed, and when.
const OF_HISTORY: [&str; 3] = ["objects", "refs", "logs"];
/// How the names of hooks end that git does not run.
const SAMPLE: &str = "sample";

/// What the files were.
pub struct GitGuard {
    /// By the bytes: git rewrites its settings with the same ones.
    settings: BTreeMap<PathBuf, Option<Digest>>,
    caches: BTreeMap<PathBuf, Option<FileStamp>>,
}

impl GitSettings<'_> {
    /// What the settings and the hooks of git, and the caches of `orch`, are now.
    pub fn guard(&self) -> GitGuard {
        GitGuard {
            settings: self.git_settings(),
            caches: self.caches(),
        }
    }

    /// The settings and hooks of git that have changed since, sorted. Forgets what was written to a cache since.
    pub fn git_changed_since(&self, before: &GitGuard) -> Vec<PathBuf> {
        for (path, stamp) in self.caches() {
            if before.caches.get(&path) != Some(&stamp) {
                durable::remove(self.objects.repo.path(), &path);
            }
        }
        let now = self.git_settings();
        let all: BTreeSet<&PathBuf> = now.keys().chain(before.settings.keys()).collect();
        let has_changed = |path: &&&PathBuf| now.get(**path) != before.settings.get(**path);
        all.iter()
            .filter(has_changed)
            .map(|path| (*path).clone())
            .collect()
    }

    /// The settings and the directories of hooks of the submodules whose repositories lie in that of git.
    #[must_use]
    pub fn module_settings(&self) -> Vec<PathBuf> {
        let modules = self.objects.repo.commondir().join("modules");
        // Their objects are many, and none of the names lies below them.
        let is_looked_at = |entry: &DirEntry| {
            let name = entry.file_name();
            entry.file_type().is_dir() && !OF_HISTORY.iter().any(|skipped| name == *skipped)
        };
        let walk = WalkDir::new(modules).into_iter();
        let directories = walk.filter_entry(is_looked_at).flatten();
        let is_repository = |entry: &DirEntry| entry.path().join("HEAD").is_file();
        let mut found = Vec::new();
        for repository in directories.filter(is_repository) {
            found.extend(MODULE.iter().map(|name| repository.path().join(name)));
        }
        found
    }

    fn git_settings(&self) -> BTreeMap<PathBuf, Option<Digest>> {
        let shared = SHARED
            .iter()
            .map(|name| self.objects.repo.commondir().join(name));
        let own = OWN.iter().map(|name| self.objects.repo.path().join(name));
        let places = shared.chain(own).chain(self.module_settings());
        let files = places.flat_map(files_below);
        let files = files.filter(|path| path.extension().is_none_or(|end| end != SAMPLE));
        let digest = |path: &Path| {
            durable::read_if_there(path)
                .ok()
                .flatten()
                .map(|it| Digest::of_blob(&it))
        };
        files.map(|path| (path.clone(), digest(&path))).collect()
    }

    fn caches(&self) -> BTreeMap<PathBuf, Option<FileStamp>> {
        let is_cache = |path: &PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            caches::ALL.iter().any(|cache| name.starts_with(cache))
        };
        let entries = fs::read_dir(self.layout.own(""))
            .into_iter()
            .flatten()
            .flatten();
        let caches = entries.map(|entry| entry.path()).filter(is_cache);
        let files = caches.flat_map(files_below);
        files
            .map(|path| (path.clone(), FileStamp::at(&path)))
            .collect()
    }
}

/// The files at or below a path. Follows no link.
fn files_below(path: PathBuf) -> impl Iterator<Item = PathBuf> {
    let below = WalkDir::new(path)
        .follow_root_links(false)
        .into_iter()
        .flatten();
    below
        .filter(|entry| !entry.file_type().is_dir())
        .map(DirEntry::into_path)
}

//! What a process may write, path by path: the nearest path that is named decides.

use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::path::{Path, PathBuf};

/// The directory in which git keeps what it knows of linked work trees.
const WORK_TREES: &str = "worktrees";

/// What a path is inside a fence.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub enum Access {
    /// What it is outside, read-only.
    ReadOnly,
    /// What it is outside.
    Writable,
    /// Another directory in its place, which may be written.
    Own(PathBuf),
    /// Another directory in its place, read-only.
    Shown(PathBuf),
    /// An empty file system in memory.
    Memory,
}

impl Access {
    /// Whether something else is in the place.
    #[must_use]
    pub fn hides(&self) -> bool {
        matches!(self, Self::Own(_) | Self::Shown(_) | Self::Memory)
    }

    /// Whether it may be written.
    #[must_use]
    pub fn is_writable(&self) -> bool {
        matches!(self, Self::Writable | Self::Own(_) | Self::Memory)
    }
}

/// What a process does to be inside a fence. Everything that is not named is read-only.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FencePlan {
    /// The paths, absolute and without links, each before what is below it.
    pub access: BTreeMap<PathBuf, Access>,
    /// The working directory.
    pub directory: PathBuf,
}

impl FencePlan {
    /// Whether a path may be written.
    #[must_use]
    pub fn permits(&self, path: &Path) -> bool {
        nearest(&self.access, path).is_some_and(|(_, access)| access.is_writable())
    }

    /// The covers whose mounts have to stay: whoever replaces such a file from outside takes the mount away. Only those of
    /// the work tree itself: people use their programs, and other work trees of the repository, beside a run.
    pub fn watched(&self) -> impl Iterator<Item = &Path> {
        let is_of_tree = |path: &Path| path.iter().any(|part| part == WORK_TREES);
        let kept = self.access.iter().filter(move |(path, access)| {
            let is_here = path.starts_with(&self.directory) || is_of_tree(path);
            **access == Access::ReadOnly && is_here && !path.ends_with(WORK_TREES)
        });
        kept.map(|(path, _)| path.as_path())
    }
}

/// The paths that a plan is made of. All are absolute and without links.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FencePlaces {
    /// What may be written.
    pub holes: BTreeSet<PathBuf>,
    /// What may not be written, although it lies in a hole.
    pub covers: BTreeSet<PathBuf>,
    /// What must be seen, although something else may be in the place of a directory above it.
    pub needed: BTreeSet<PathBuf>,
    /// What has something else in its place.
    pub instead: BTreeMap<PathBuf, Access>,
}

impl FencePlaces {
    /// The access to each path that has to be named. Between a hole and a cover each directory is named, too: one that is
    /// no mount could be renamed, together with what it covers.
    #[must_use]
    pub fn access(&self) -> BTreeMap<PathBuf, Access> {
        let mut wanted = BTreeMap::new();
        for path in &self.needed {
            wanted.insert(path.clone(), Access::ReadOnly);
        }
        for path in &self.holes {
            wanted.insert(path.clone(), Access::Writable);
        }
        for path in &self.covers {
            wanted.insert(path.clone(), Access::ReadOnly);
        }
        wanted.extend(self.instead.clone());
        let mut named: BTreeMap<PathBuf, Access> = BTreeMap::new();
        for (path, access) in wanted {
            let above = nearest(&named, &path).map(|(_, access)| access.clone());
            let is_same = match above {
                None => access == Access::ReadOnly,
                Some(above) => !above.hides() && above == access,
            };
            if !is_same {
                named.insert(path, access);
            }
        }
        let covers: Vec<PathBuf> = named
            .iter()
            .filter(|(_, access)| !access.is_writable())
            .map(|(path, _)| path.clone())
            .collect();
        for cover in covers {
            for above in cover.ancestors().skip(1) {
                if named.contains_key(above) {
                    break;
                }
                let Some((_, Access::Writable)) = nearest(&named, above) else {
                    break;
                };
                named.insert(above.to_owned(), Access::Writable);
            }
        }
        named
    }
}

/// The nearest path that is named: the path itself, or one above it.
pub(super) fn nearest<'a>(
    access: &'a BTreeMap<PathBuf, Access>,
    path: &Path,
) -> Option<(&'a Path, &'a Access)> {
    path.ancestors()
        .find_map(|above| access.get_key_value(above))
        .map(|(path, access)| (path.as_path(), access))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn paths(texts: &[&str]) -> BTreeSet<PathBuf> {
        texts.iter().map(PathBuf::from).collect()
    }

    fn named(places: &FencePlaces) -> Vec<(String, Access)> {
        let access = places.access().into_iter();
        access
            .map(|(path, access)| (path.display().to_string(), access))
            .collect()
    }

    #[test]
    fn the_nearest_path_decides_and_what_says_nothing_new_is_left_out() {
        let places = FencePlaces {
            holes: paths(&["/r", "/r/tasks/t/code", "/h/.cache", "/r/src"]),
            covers: paths(&["/r/tasks", "/r/orch.toml", "/elsewhere", "/r/tasks/u"]),
            needed: paths(&["/r", "/usr"]),
            ..FencePlaces::default()
        };
        let expected = [
            ("/h/.cache", Access::Writable),
            ("/r", Access::Writable),
            ("/r/orch.toml", Access::ReadOnly),
            ("/r/tasks", Access::ReadOnly),
            ("/r/tasks/t/code", Access::Writable),
        ];
        let expected: Vec<(String, Access)> = expected
            .into_iter()
            .map(|(path, access)| (path.to_owned(), access))
            .collect();
        assert_eq!(named(&places), expected);
        let plan = FencePlan {
            access: places.access(),
            directory: PathBuf::from("/r"),
        };
        for (path, expected) in [
            ("/r/src/a.rs", true),
            ("/r/orch.toml", false),
            ("/r/tasks/t/state.json", false),
            ("/r/tasks/t/code/diff.patch", true),
            ("/etc/passwd", false),
            ("/r2", false),
        ] {
            assert_eq!(plan.permits(Path::new(path)), expected, "{path}");
        }
    }

    #[test]
    fn a_directory_above_a_cover_cannot_be_renamed() {
        let places = FencePlaces {
            holes: paths(&["/r"]),
            covers: paths(&["/r/.git/hooks", "/r/a/b/c"]),
            ..FencePlaces::default()
        };
        let found = named(&places);
        for pinned in ["/r/.git", "/r/a", "/r/a/b"] {
            assert!(
                found.contains(&(pinned.to_owned(), Access::Writable)),
                "{pinned}"
            );
        }
        assert_eq!(found.len(), 6, "{found:?}");
    }

    #[test]
    fn what_is_needed_is_shown_below_a_directory_that_is_another_one() {
        let own = Access::Own(PathBuf::from("/tmp/orch-1/tmp"));
        let places = FencePlaces {
            holes: paths(&["/tmp/a/r/out"]),
            needed: paths(&["/tmp/a/r"]),
            instead: [(PathBuf::from("/tmp"), own.clone())].into(),
            ..FencePlaces::default()
        };
        let expected = [
            ("/tmp".to_owned(), own),
            ("/tmp/a/r".to_owned(), Access::ReadOnly),
            ("/tmp/a/r/out".to_owned(), Access::Writable),
        ];
        assert_eq!(named(&places), expected);
    }

    #[test]
    fn covers_of_the_work_tree_are_watched_and_what_people_use_beside_it_is_not() {
        let plan = |root: &str, covers: &[&str]| {
            let places = FencePlaces {
                holes: paths(&["/r", "/h/.claude"]),
                covers: paths(covers),
                ..FencePlaces::default()
            };
            let plan = FencePlan {
                access: places.access(),
                directory: PathBuf::from(root),
            };
            let watched = plan.watched().map(|path| path.display().to_string());
            watched.collect::<Vec<String>>()
        };
        let covers = [
            "/r/orch.toml",
            "/r/.git/config",
            "/r/.git/worktrees",
            "/h/.claude/settings.json",
        ];
        assert_eq!(plan("/r", &covers), ["/r/.git/config", "/r/orch.toml"]);
        let covers = ["/r/.git/HEAD", "/r/.git/worktrees/t/HEAD", "/r/t/a"];
        let watched = ["/r/.git/worktrees/t/HEAD", "/r/t/a"];
        assert_eq!(plan("/r/t", &covers), watched);
    }

    #[test]
    fn a_plan_is_read_as_it_was_written() {
        let plan = FencePlan {
            access: [
                (PathBuf::from("/a b"), Access::Writable),
                (PathBuf::from("/tmp"), Access::Own(PathBuf::from("/x"))),
                (PathBuf::from("/dev/shm"), Access::Memory),
            ]
            .into(),
            directory: PathBuf::from("/a b"),
        };
        let text = serde_json::to_string(&plan).expect("paths are text");
        assert_eq!(serde_json::from_str::<FencePlan>(&text).ok(), Some(plan));
    }
}

//! The hooks that git runs inside a fence: those of the project, and two that keep the branch where it is.

use std::fs;
use std::io;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Where the hooks of a project are, and what they hold to.
#[derive(Debug)]
pub struct HookSource<'a> {
    /// The directory that git runs hooks from.
    pub directory: &'a Path,
    /// The branch that HEAD names, as a reference; `None` if it names a commit.
    pub branch: Option<&'a str>,
    /// The commit of HEAD; `None` if there is none.
    pub head: Option<&'a str>,
}

/// The hooks that are ours: one file with two names.
const TRANSACTION: &str = "reference-transaction";
const REBASE: &str = "pre-rebase";
/// How the name of a hook of the project ends that is started after ours.
const BEHIND: &str = ".project";
/// How many files of hooks are copied at most.
const MOST: usize = 200;
/// How deep.
const DEEPEST: usize = 4;

/// Writes the hooks into a directory: copies of those of the project, and in front of two of them hooks that refuse to switch
/// the branch, to rewrite what was there, and to take in what a remote has. Returns an error if a file cannot be read or
/// written, or if there are too many.
pub fn fenced_hooks(source: &HookSource<'_>, into: &Path) -> io::Result<()> {
    let mut left = MOST;
    if source.directory.is_dir() {
        copy(source.directory, into, DEEPEST, &mut left)?;
    }
    for name in [TRANSACTION, REBASE] {
        let path = into.join(name);
        if path.exists() {
            fs::rename(&path, into.join(format!("{name}{BEHIND}")))?;
        }
    }
    let path = into.join(TRANSACTION);
    fs::write(&path, hook(source))?;
    fs::set_permissions(&path, fs::Permissions::from_mode(0o755))?;
    fs::hard_link(&path, into.join(REBASE))
}

fn copy(from: &Path, into: &Path, deep: usize, left: &mut usize) -> io::Result<()> {
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let name = entry.file_name();
        let to: PathBuf = into.join(&name);
        // A link is followed: git would.
        let Ok(found) = fs::metadata(entry.path()) else {
            continue;
        };
        if name.as_encoded_bytes().ends_with(b".sample") {
            continue;
        }
        *left = left
            .checked_sub(1)
            .filter(|_| deep > 0)
            .ok_or_else(|| io::Error::other("the directory of the hooks is too large"))?;
        if found.is_dir() {
            fs::create_dir(&to)?;
            copy(&entry.path(), &to, deep - 1, left)?;
        } else if found.is_file() {
            fs::copy(entry.path(), &to)?;
        }
    }
    Ok(())
}

/// The hook that git asks before it moves a reference, and before it rebases; see githooks(5).
fn hook(source: &HookSource<'_>) -> String {
    let branch = source.branch.unwrap_or_default();
    let head = source.head.unwrap_or_default();
    format!(
        r#"#!/bin/sh
# Inside the fence of a run: the branch stays, and grows by what is committed here.
if [ "${{0##*/}}" = {REBASE} ]; then
  echo 'orch: inside the fence of a run nothing is rebased: the run goes on from the commits that are there' >&2
  exit 1
fi
behind="$0{BEHIND}"
text=$(cat)
if [ "$1" = prepared ]; then
  branch='{branch}' head='{head}'
  refuse() {{ echo "orch: inside the fence of a run $1" >&2; exit 1; }}
  printf '%s\n' "$text" | while read -r old new name; do
    case "$name" in HEAD|"$branch") ;; *) continue ;; esac
    case "$new" in
      ref:*) [ "$new" = "ref:$branch" ] || refuse 'the branch is not switched'; continue ;;
    esac
    [ -n "$head" ] && [ "$new" != "$head" ] || continue
    case "$new" in *[!0]*) ;; *)
      # What is packed is only taken from where it stood alone.
      grep -q " $name\$" "$(git rev-parse --git-path packed-refs)" 2>/dev/null || refuse "$name is not deleted"
      continue ;;
    esac
    git merge-base --is-ancestor "$head" "$new" 2>/dev/null \
      || refuse 'no commit is taken away that was there, and the branch is not switched'
    [ -z "$(git for-each-ref --count=1 --contains "$new" refs/remotes 2>/dev/null)" ] \
      || refuse 'nothing is pulled'
  done || exit 1
fi
[ -x "$behind" ] || exit 0
printf '%s\n' "$text" | "$behind" "$@"
"#
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hooks_of_the_project_are_kept_behind_ours() {
        let made = tempfile::tempdir().expect("a directory");
        let from = made.path().join("from");
        let into = made.path().join("into");
        fs::create_dir_all(from.join("lib")).expect("made");
        fs::create_dir(&into).expect("made");
        for name in ["pre-commit", "pre-rebase", "lib/a", "update.sample"] {
            fs::write(from.join(name), name).expect("written");
        }
        let source = HookSource {
            directory: &from,
            branch: Some("refs/heads/main"),
            head: Some("abc"),
        };
        fenced_hooks(&source, &into).expect("written");
        let read = |name: &str| fs::read_to_string(into.join(name)).unwrap_or_default();
        for (name, expected) in [
            ("pre-commit", "pre-commit"),
            ("pre-rebase.project", "pre-rebase"),
            ("lib/a", "lib/a"),
            ("update.sample", ""),
        ] {
            assert_eq!(read(name), expected);
        }
        assert!(read("pre-rebase").contains("nothing is rebased"));
        assert!(read("reference-transaction").contains("branch='refs/heads/main' head='abc'"));
    }
}

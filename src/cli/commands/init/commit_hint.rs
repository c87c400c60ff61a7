//! The command that commits what `orch init` has done.

use super::files::SetupFiles;
use crate::cli::Ui;
use orch_base::{Digest, RepoPath, argv_at, command};
use orch_git::{Store, durable};

/// How a path stands in git.
#[derive(Clone, Copy)]
struct PathStanding {
    /// Whether `git add` accepts it and changes something.
    is_to_add: bool,
    /// Whether the work tree and HEAD differ.
    is_to_commit: bool,
}

/// The command that commits the files that were written, changed and deleted, for whoever types it where this command was
/// typed; `None` if nothing is to be added, as outside a repository.
pub fn commit_command(
    store: Option<&Store>,
    files: &SetupFiles,
    message: &str,
    ui: &Ui,
) -> Option<String> {
    let store = store?;
    let standings = |path: &str| standing(store, path);
    let paths = files.to_add(|path| standings(path).is_to_add);
    if paths.is_empty() {
        return None;
    }
    let words = ["git", "add", "--"].map(str::to_owned);
    let mut add = argv_at(&ui.here(), &[&words[..], &paths].concat());
    add.retain(|word| word != "--");
    let add = command(&add);
    // What was never committed, and is gone, leaves nothing to commit.
    let is_committed = files.to_add(|path| standings(path).is_to_commit).is_empty();
    Some(if is_committed {
        add
    } else {
        format!("{add} && git commit -m '{message}'")
    })
}

fn standing(store: &Store, path: &str) -> PathStanding {
    let Ok(path) = RepoPath::new(path) else {
        return PathStanding {
            is_to_add: true,
            is_to_commit: true,
        };
    };
    let staged = store
        .index()
        .index_source()
        .ok()
        .and_then(|index| index.file(&path))
        .map(|file| file.blob);
    // Where HEAD cannot be read, something is to be committed as far as anyone knows.
    let committed = store
        .refs()
        .head_source()
        .and_then(|head| head.blob_at(&path));
    let there = there(store, &path);
    let is_accepted = staged.is_some()
        || (there.is_some() && !store.filters().is_ignored(&path).unwrap_or(false));
    let is_to_commit = !committed.is_ok_and(|committed| committed == there);
    PathStanding {
        is_to_add: is_accepted && (staged != there || is_to_commit),
        is_to_commit: is_accepted && is_to_commit,
    }
}

/// What git would store of a file; `None` if there is none.
fn there(store: &Store, path: &RepoPath) -> Option<Digest> {
    let bytes = durable::read_regular(&path.under(store.layout().root()))?;
    store.filters().digest(path, &bytes).ok()
}

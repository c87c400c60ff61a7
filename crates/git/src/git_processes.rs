//! The processes of git that work in a repository, found in `/proc`. Where the system has none, nobody is found.

use super::error::commit_open;
use super::lock::IndexLock;
use super::side_work::SideWork;
use super::{Error, Index, Transactions};
use rustix::process::{Pid, Signal, kill_process};
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Child;
use std::sync::{Arc, OnceLock};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// For how long the index stays locked until those have ended that may have read it before. They need some milliseconds,
/// unless somebody has stopped them.
pub(super) const MOST_OUTLASTED: Duration = Duration::from_secs(1);
/// For how long a commit is waited for that waits for another program itself: an editor, or a hook that ends soon.
pub(super) const A_MOMENT: Duration = Duration::from_millis(50);
/// Commands of git that make a commit of what they read before. The others do not let a step begin, because a file of
/// theirs tells of them, such as `MERGE_HEAD`.
const COMMITTERS: [&str; 3] = ["commit", "revert", "cherry-pick"];
/// Commands of git that read the index before they lock it, and then write what they read. `git add -p` does so too, when
/// it starts, but stays for as long as its user likes.
const EARLY_READERS: [&str; 9] = [
    "commit",
    "revert",
    "cherry-pick",
    "reset",
    "stash",
    "merge",
    "am",
    "sparse-checkout",
    "checkout-index",
];

/// Commands of git that lock the index.
const WRITERS: [&str; 20] = [
    "add",
    "am",
    "apply",
    "checkout",
    "cherry-pick",
    "commit",
    "merge",
    "mv",
    "pull",
    "read-tree",
    "rebase",
    "reset",
    "restore",
    "revert",
    "rm",
    "sparse-checkout",
    "stage",
    "stash",
    "switch",
    "update-index",
];
/// For how long they are waited for before the index is locked. One that works for longer has locked it.
const MOST_AWAITED: Duration = Duration::from_millis(300);
/// For how long the next command is waited for when one has ended: an agent that adds a file commits it at once.
const BETWEEN: Duration = Duration::from_millis(20);

/// Waits while commands of git are at work in this work tree that would meet the lock of the index, and fail.
pub(super) fn outlast_writers(root: &Path) {
    let begun = Instant::now();
    let mut last_seen = None;
    while begun.elapsed() < MOST_AWAITED {
        if processes().any(|process| git_command(root, &process, &WRITERS).is_some()) {
            last_seen = Some(Instant::now());
        }
        match last_seen {
            Some(seen) if seen.elapsed() < BETWEEN => sleep(Duration::from_millis(1)),
            _ => return,
        }
    }
}

/// The lock of an index that was replaced under it. Dropping this releases the lock at once.
pub(super) struct ReplacedIndex<'s> {
    lock: IndexLock<'s>,
    root: PathBuf,
    /// Those of [`EARLY_READERS`] that are at work, as soon as the search is over.
    found: Arc<OnceLock<Vec<PathBuf>>>,
    _search: SideWork,
}

impl Transactions<'_> {
    /// Returns an error if a `git commit`, or another of [`COMMITTERS`], is open in this work tree. While its editor is open
    /// it holds no lock, but fails if the branch moves. While its hooks run, a hook manager may have changed the work tree.
    /// One that ends by itself is waited for, at most for `most`; one that begins meanwhile is not looked for.
    pub(super) fn refuse_open_commit(&self, most: Duration) -> Result<(), Error> {
        let command = |process: &PathBuf| git_command(self.layout.root, process, &COMMITTERS);
        let mut open: Vec<PathBuf> = processes().filter(|one| command(one).is_some()).collect();
        let begun = Instant::now();
        while let Some(process) = open.first() {
            let most = if has_children(process) {
                most.min(A_MOMENT)
            } else {
                most
            };
            match command(process) {
                None => drop(open.remove(0)),
                Some(_) if begun.elapsed() < most => sleep(Duration::from_millis(1)),
                Some(command) => {
                    return Err(commit_open(
                        command,
                        &process.file_name().unwrap_or_default().to_string_lossy(),
                    ));
                }
            }
        }
        Ok(())
    }

    /// Whether the `git commit` in this work tree that this process was started by, for example as a hook, amends;
    /// `None` if there is none, or the system does not say.
    #[must_use]
    pub fn is_amending(&self) -> Option<bool> {
        let mut process = PathBuf::from("/proc/self");
        for _ in 0..MOST_ABOVE {
            process = parent_of(&process)?;
            if git_command(self.layout.root, &process, &["commit"]).is_some() {
                let line = fs::read(process.join("cmdline")).ok()?;
                let words = line.split(|byte| *byte == 0).skip(1);
                return amends(words.map(|word| String::from_utf8_lossy(word).into_owned()));
            }
        }
        None
    }
}

impl<'s> Index<'s> {
    /// Begins to search for those of [`EARLY_READERS`] that are at work. The index was replaced under this lock, and the
    /// branch has moved.
    pub(super) fn index_replaced(&self, lock: IndexLock<'s>) -> ReplacedIndex<'s> {
        let search = SideWork::default();
        let found = Arc::new(OnceLock::new());
        let root = self.layout.root.to_owned();
        let filled = Arc::clone(&found);
        search.begin(move || {
            filled.get_or_init(|| early_readers(&root));
            Ok(())
        });
        ReplacedIndex {
            lock,
            root: self.layout.root.to_owned(),
            found,
            _search: search,
        }
    }
}

/// In how many processes above this one a `git commit` is searched for. Hook managers start some of their own.
const MOST_ABOVE: usize = 16;

/// The process that has started a process.
fn parent_of(process: &Path) -> Option<PathBuf> {
    let status = fs::read_to_string(process.join("status")).ok()?;
    let parent = status
        .lines()
        .find_map(|line| line.strip_prefix("PPid:"))?
        .trim();
    (parent != "0").then(|| Path::new("/proc").join(parent))
}

/// Ends a process of ours at once, and those that it has started, as far as the system tells.
pub(super) fn end_with_descendants(process: &mut Child) -> io::Result<()> {
    let mut found = vec![Path::new("/proc").join(process.id().to_string())];
    let others: Vec<(PathBuf, PathBuf)> = processes()
        .filter_map(|one| Some((parent_of(&one)?, one)))
        .collect();
    let mut at = 0;
    while let Some(parent) = found.get(at).cloned() {
        let children = others.iter().filter(|(above, _)| *above == parent);
        found.extend(children.map(|(_, child)| child.clone()));
        at += 1;
    }
    process.kill()?;
    for descendant in found.iter().skip(1) {
        let id = descendant
            .file_name()
            .and_then(|name| name.to_str()?.parse().ok());
        if let Some(id) = id.and_then(Pid::from_raw) {
            // It may have ended by itself.
            let _ = kill_process(id, Signal::KILL);
        }
    }
    process.wait().map(drop)
}

/// Whether these words of a git command are those of a `git commit`, and it amends.
fn amends(words: impl Iterator<Item = String>) -> Option<bool> {
    let mut words = words.peekable();
    let (_, command) = parts(&mut words)?;
    if command != "commit" {
        return None;
    }
    let mut words = words.take_while(|word| word != "--");
    // git knows an option by the beginning of its name, if no other begins so.
    Some(words.any(|word| word.len() > "--a".len() && "--amend".starts_with(&word)))
}

impl ReplacedIndex<'_> {
    /// Releases the lock when each of [`EARLY_READERS`] that was at work has ended, or after a second. As long as the lock
    /// is held, one that read the old index fails; afterwards it would write the old index back, and the next commit of the
    /// user would take back the step.
    pub(super) fn release(self) {
        // Waits for the search, or does it here.
        let mut open = self.found.get_or_init(|| early_readers(&self.root)).clone();
        let begun = Instant::now();
        while !open.is_empty() {
            if begun.elapsed() > MOST_OUTLASTED {
                tracing::warn!(
                    ?open,
                    "a git process may write back the old index; look at `git status`"
                );
                return;
            }
            sleep(Duration::from_millis(1));
            open.retain(|process| is_early_reader(&self.root, process));
        }
    }

    /// Leaves the lock to the next command that completes a transition.
    pub(super) fn leave(self) {
        self.lock.leave();
    }
}

/// Those of [`EARLY_READERS`] that are at work in the work tree with this root.
fn early_readers(root: &Path) -> Vec<PathBuf> {
    processes()
        .filter(|process| is_early_reader(root, process))
        .collect()
}

/// Whether a process is one of [`EARLY_READERS`] in the work tree with this root, and has not locked the index: one that
/// waits for a program, such as a hook, has done so before.
fn is_early_reader(root: &Path, process: &Path) -> bool {
    git_command(root, process, &EARLY_READERS).is_some() && !has_children(process)
}

/// Which of these commands of git a process is, if it is one in the work tree with this root.
fn git_command(root: &Path, process: &Path, commands: &[&'static str]) -> Option<&'static str> {
    if !is_git(process) {
        return None;
    }
    // A process that has ended, but was not waited for, has no command line. There may be thousands of these too.
    let line = fs::read(process.join("cmdline"))
        .ok()
        .filter(|line| !line.is_empty())?;
    let words = line
        .split(|byte| *byte == 0)
        .skip(1)
        .map(|word| String::from_utf8_lossy(word).into_owned());
    let (directories, word) = parts(words)?;
    let command = *commands.iter().find(|command| **command == word)?;
    // A command concerns the nearest repository above its directory, not an outer one.
    let place = fs::read_link(process.join("cwd"))
        .ok()?
        .join(directories)
        .canonicalize()
        .ok()?;
    let is_root = |above: &&Path| *above == root || above.join(".git").exists();
    (place.ancestors().find(is_root) == Some(root)).then_some(command)
}

/// Whether a process has started another one that has not ended; false if the system does not say.
fn has_children(process: &Path) -> bool {
    let Some(pid) = process.file_name() else {
        return false;
    };
    let children = fs::read(process.join("task").join(pid).join("children"));
    children.is_ok_and(|children| !children.is_empty())
}

/// Whether a git process has one of these directories, or one below them, as its current directory, or an open
/// file there. A process that may not be inspected counts, because it may be the owner of the lock.
pub(super) fn git_works_in(places: &[&Path]) -> bool {
    if !Path::new("/proc/self").exists() {
        return true;
    }
    let places: Vec<PathBuf> = places
        .iter()
        .filter_map(|place| place.canonicalize().ok())
        .collect();
    let is_here = |link: &Path| match fs::read_link(link) {
        Ok(target) => places.iter().any(|place| target.starts_with(place)),
        Err(error) => error.kind() == io::ErrorKind::PermissionDenied,
    };
    processes().any(|process| {
        let files = || {
            fs::read_dir(process.join("fd"))
                .into_iter()
                .flatten()
                .flatten()
        };
        is_git(&process)
            && (is_here(&process.join("cwd")) || files().any(|file| is_here(&file.path())))
    })
}

/// The directory of each process.
fn processes() -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let is_number = |name: &str| name.bytes().all(|byte| byte.is_ascii_digit());
    entries
        .filter(move |entry| entry.file_name().to_str().is_some_and(is_number))
        .map(|entry| entry.path())
}

/// The processes, except this one, whose working directory is this one or below.
pub(super) fn processes_in(directory: &Path) -> Vec<u32> {
    let mut found = Vec::new();
    for process in processes() {
        let place = fs::read_link(process.join("cwd"));
        let name = process.file_name().unwrap_or_default().to_string_lossy();
        let Ok(number) = name.parse::<u32>() else {
            continue;
        };
        let is_there = place.is_ok_and(|place| place.starts_with(directory));
        if is_there && number != std::process::id() {
            found.push(number);
        }
    }
    found
}

/// Whether a process runs git. There may be thousands, so only the name of its program is asked for; of another user's, its
/// own name, which takes longer.
fn is_git(process: &Path) -> bool {
    let is_named = |program: PathBuf| {
        // So ends the name of a program that was replaced since.
        let name = program.file_name().map(OsStr::as_encoded_bytes);
        name.is_some_and(|name| name.strip_suffix(b" (deleted)").unwrap_or(name) == b"git")
    };
    let is_called = || fs::read(process.join("comm")).is_ok_and(|name| name == b"git\n");
    match fs::read_link(process.join("exe")) {
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => is_called(),
        program => program.is_ok_and(is_named),
    }
}

/// The other options of git itself whose value is a word of its own.
const OPTIONS_WITH_VALUE: [&str; 6] = [
    "-c",
    "--git-dir",
    "--namespace",
    "--config-env",
    "--attr-source",
    "--shallow-file",
];

/// Where a command of git works, from its current directory, and its name. `None` if there is no command.
fn parts(mut words: impl Iterator<Item = String>) -> Option<(PathBuf, String)> {
    let mut directories = PathBuf::new();
    while let Some(word) = words.next() {
        match word.as_str() {
            "-C" | "--work-tree" => directories.push(words.next()?),
            option if OPTIONS_WITH_VALUE.contains(&option) => drop(words.next()),
            option => match option.strip_prefix("--work-tree=") {
                Some(directory) => directories.push(directory),
                None if option.starts_with('-') => {}
                None => return Some((directories, word)),
            },
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_commit_that_amends_is_told_from_others() {
        let answer = |line: &str| amends(line.split(' ').map(str::to_owned));
        for (line, expected) in [
            ("commit -m x", Some(false)),
            ("commit --amend", Some(true)),
            ("-c user.name=X commit -a --am --no-edit", Some(true)),
            ("commit --all -m x", Some(false)),
            ("commit --author=X", Some(false)),
            ("commit -- --amend", Some(false)),
            ("rebase -i", None),
            ("", None),
        ] {
            assert_eq!(answer(line), expected, "{line}");
        }
    }

    #[test]
    fn a_command_of_git_is_told_from_its_options() {
        let answer = |line: &str| parts(line.split(' ').map(str::to_owned));
        for (line, place, command) in [
            ("commit -m log", "", "commit"),
            ("-C a -C b commit -C x", "a/b", "commit"),
            ("-C a -C /b stash", "/b", "stash"),
            (
                "-c user.name=X --no-pager --git-dir g --work-tree w commit",
                "w",
                "commit",
            ),
            ("--git-dir=g --work-tree=/w reset", "/w", "reset"),
            ("--config-env commit log", "", "log"),
            ("commit-tree", "", "commit-tree"),
        ] {
            assert_eq!(
                answer(line),
                Some((place.into(), command.to_owned())),
                "{line}"
            );
        }
        for line in ["-C commit", "--version", "-c commit"] {
            assert_eq!(answer(line), None, "{line}");
        }
    }
}

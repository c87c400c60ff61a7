//! The processes of git that work in a repository, found in `/proc`. Where the system has none, nobody is found.

use super::environment::settings;
use super::error::commit_open;
use super::lock::IndexLock;
use super::{Error, Store};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// For how long the index stays locked until those have ended that may have read it before. They need some milliseconds,
/// unless somebody has stopped them.
const MOST_OUTLASTED: Duration = Duration::from_secs(1);
/// How many aliases of git are followed, one leading to the next.
const MOST_ALIASES: usize = 8;

impl Store {
    /// Returns an error if a `git commit` is open in this work tree. While its editor is open it holds no lock, but fails
    /// if the branch moves. While its hooks run, a hook manager may have changed the work tree.
    pub(super) fn refuse_open_commit(&self) -> Result<(), Error> {
        match processes().find(|process| self.is_commit(process)) {
            Some(process) => Err(commit_open(&process.file_name().unwrap_or_default().to_string_lossy())),
            None => Ok(()),
        }
    }

    /// Releases the lock of the index, which was replaced under it, when each `git commit` that is open by then has
    /// ended: git reads the index before it locks it, and writes what it read. As long as the lock is held, a commit
    /// that read the old index fails; afterwards the old index would be there again, and the next commit of the user
    /// would take back the step.
    pub(super) fn release_index(&self, lock: Option<IndexLock<'_>>) {
        if lock.is_some() {
            self.outlast_commits();
        }
        drop(lock);
    }

    /// Waits until each `git commit` in this work tree that is open now has ended, for a second at most.
    pub(super) fn outlast_commits(&self) {
        let mut open: Vec<PathBuf> = processes().filter(|process| self.is_commit(process)).collect();
        let begun = Instant::now();
        while !open.is_empty() {
            if begun.elapsed() > MOST_OUTLASTED {
                tracing::warn!(?open, "a `git commit` that began during this step does not end");
                return;
            }
            sleep(Duration::from_millis(1));
            open.retain(|process| self.is_commit(process));
        }
    }

    /// Whether a process is a `git commit` in this work tree.
    fn is_commit(&self, process: &Path) -> bool {
        if !is_git(process) {
            return false;
        }
        // A process that has ended, but was not waited for, has no command line. There may be thousands of these too.
        let Some(line) = fs::read(process.join("cmdline")).ok().filter(|line| !line.is_empty()) else {
            return false;
        };
        let words =
            line.split(|byte| *byte == 0).skip(1).map(|word| String::from_utf8_lossy(word).into_owned());
        let Some((directories, command)) = parts(words) else { return false };
        let Ok(place) = fs::read_link(process.join("cwd")) else { return false };
        // A commit concerns the nearest repository above its directory, not an outer one.
        let Ok(place) = place.join(directories).canonicalize() else { return false };
        let is_root = |above: &&Path| *above == self.root || above.join(".git").exists();
        place.ancestors().find(is_root) == Some(&self.root) && self.means_commit(command)
    }

    /// Whether a command of git is `commit`, or an alias of it.
    fn means_commit(&self, mut command: String) -> bool {
        for _ in 0..MOST_ALIASES {
            if command == "commit" {
                return true;
            }
            let alias =
                settings(&self.repo).and_then(|settings| settings.get_string(&format!("alias.{command}")));
            let words = |alias: String| parts(alias.split_whitespace().map(str::to_owned));
            let Some((_, next)) = alias.ok().and_then(words) else { return false };
            command = next;
        }
        false
    }
}

/// Whether a git process has one of these directories, or one below them, as its current directory, or an open
/// file there. A process that may not be inspected counts, because it may be the owner of the lock.
pub(super) fn git_works_in(places: &[&Path]) -> bool {
    if !Path::new("/proc/self").exists() {
        return true;
    }
    let places: Vec<PathBuf> = places.iter().filter_map(|place| place.canonicalize().ok()).collect();
    let is_here = |link: &Path| match fs::read_link(link) {
        Ok(target) => places.iter().any(|place| target.starts_with(place)),
        Err(error) => error.kind() == io::ErrorKind::PermissionDenied,
    };
    processes().any(|process| {
        let files = || fs::read_dir(process.join("fd")).into_iter().flatten().flatten();
        is_git(&process) && (is_here(&process.join("cwd")) || files().any(|file| is_here(&file.path())))
    })
}

/// The directory of each process.
fn processes() -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let is_number = |name: &str| name.bytes().all(|byte| byte.is_ascii_digit());
    entries.filter(move |entry| entry.file_name().to_str().is_some_and(is_number)).map(|entry| entry.path())
}

/// Whether a process is named `git`. There may be thousands, so only its name is read.
fn is_git(process: &Path) -> bool {
    let mut name = [0; 4];
    let read = File::open(process.join("comm")).and_then(|mut file| file.read(&mut name));
    read.is_ok_and(|length| &name[..length] == b"git\n")
}

/// Where a command of git works, from its current directory, and its name. `None` if there is no command.
fn parts(mut words: impl Iterator<Item = String>) -> Option<(PathBuf, String)> {
    let mut directories = PathBuf::new();
    while let Some(word) = words.next() {
        match word.as_str() {
            "-C" => directories.push(words.next()?),
            "-c" | "--git-dir" | "--work-tree" | "--namespace" => drop(words.next()),
            option if option.starts_with('-') => {}
            _ => return Some((directories, word)),
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::super::Environment;
    use super::*;

    #[test]
    fn a_command_of_git_is_told_by_its_words_and_by_its_aliases() {
        let home = tempfile::tempdir().expect("a directory");
        Store::create(home.path()).expect("created");
        let aliases =
            "[alias]\n ci = commit -v\n sign = -c user.name=X ci -S\n a = b\n b = a\n up = !git commit\n";
        let config = home.path().join(".git/config");
        let text = fs::read_to_string(&config).expect("read") + aliases;
        fs::write(&config, text).expect("written");
        let store = Store::discover(home.path(), &Environment::default()).expect("opened").expect("there");
        let told = |line: &str| parts(line.split(' ').map(str::to_owned));
        let is_commit = |line: &str| told(line).is_some_and(|(_, command)| store.means_commit(command));
        for line in
            ["commit", "-C a commit -m x", "-c user.name=X --no-pager commit", "ci", "--git-dir x sign"]
        {
            assert!(is_commit(line), "{line}");
        }
        // The last starts a `git commit` of its own.
        for line in ["-C commit", "log commit", "commit-tree", "--version", "a", "commit.gpgsign", "up"] {
            assert!(!is_commit(line), "{line}");
        }
        assert_eq!(told("-C a -C b commit").map(|(place, _)| place), Some("a/b".into()));
        assert_eq!(told("-C a -C /b commit").map(|(place, _)| place), Some("/b".into()));
    }
}

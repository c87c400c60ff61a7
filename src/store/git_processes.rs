//! The processes of git that work in a repository, found in `/proc`. Where the system has none, nobody is found.

use super::error::commit_open;
use super::lock::IndexLock;
use super::{Error, ProcessEntry, Store};
use std::fs::{self, File};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// For how long the index stays locked until those have ended that may have read it before. They need some milliseconds,
/// unless somebody has stopped them.
const MOST_OUTLASTED: Duration = Duration::from_secs(1);
/// Commands of git that read the index before they lock it, and then write what they read. `git add -p` does so too, when
/// it starts, but stays for as long as its user likes.
const EARLY_READERS: [&str; 5] = ["commit", "reset", "stash", "merge", "am"];

impl Store {
    /// Returns an error if a `git commit` is open in this work tree. While its editor is open it holds no lock, but fails
    /// if the branch moves. While its hooks run, a hook manager may have changed the work tree.
    pub(super) fn refuse_open_commit(&self) -> Result<(), Error> {
        match processes().find(|process| self.runs(process, &["commit"])) {
            Some(process) => Err(commit_open(&process.file_name().unwrap_or_default().to_string_lossy())),
            None => Ok(()),
        }
    }

    /// Releases the lock of the index, which was replaced under it, when each of [`EARLY_READERS`] that is at work by then
    /// has ended, or after a second. As long as the lock is held, one that read the old index fails; afterwards it would
    /// write the old index back, and the next commit of the user would take back the step.
    pub(super) fn release_index(&self, lock: Option<IndexLock<'_>>) {
        if lock.is_none() {
            return;
        }
        let is_reader = |process: &PathBuf| self.runs(process, &EARLY_READERS);
        let mut open: Vec<PathBuf> = processes().filter(is_reader).collect();
        if !open.is_empty() {
            // Whoever runs this as a hook waits for it.
            let line = ProcessEntry::line(std::process::id());
            let above: Vec<PathBuf> = line.iter().map(|(pid, _)| format!("/proc/{pid}").into()).collect();
            open.retain(|process| !above.contains(process));
        }
        let begun = Instant::now();
        while !open.is_empty() {
            if begun.elapsed() > MOST_OUTLASTED {
                tracing::warn!(
                    ?open,
                    "a git process may write back the index from before; look at `git status`"
                );
                return;
            }
            sleep(Duration::from_millis(1));
            open.retain(is_reader);
        }
    }

    /// Whether a process is one of these commands of git in this work tree.
    fn runs(&self, process: &Path, commands: &[&str]) -> bool {
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
        // A command concerns the nearest repository above its directory, not an outer one.
        let Ok(place) = place.join(directories).canonicalize() else { return false };
        let is_root = |above: &&Path| *above == self.root || above.join(".git").exists();
        commands.contains(&command.as_str()) && place.ancestors().find(is_root) == Some(&self.root)
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

/// The other options of git itself whose value is a word of its own.
const OPTIONS_WITH_VALUE: [&str; 6] =
    ["-c", "--git-dir", "--namespace", "--config-env", "--attr-source", "--shallow-file"];

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
    fn a_command_of_git_is_told_from_its_options() {
        let told = |line: &str| parts(line.split(' ').map(str::to_owned));
        for (line, place, command) in [
            ("commit -m log", "", "commit"),
            ("-C a -C b commit -C x", "a/b", "commit"),
            ("-C a -C /b stash", "/b", "stash"),
            ("-c user.name=X --no-pager --git-dir g --work-tree w commit", "w", "commit"),
            ("--git-dir=g --work-tree=/w reset", "/w", "reset"),
            ("--config-env commit log", "", "log"),
            ("commit-tree", "", "commit-tree"),
        ] {
            assert_eq!(told(line), Some((place.into(), command.to_owned())), "{line}");
        }
        for line in ["-C commit", "--version", "-c commit"] {
            assert_eq!(told(line), None, "{line}");
        }
    }
}

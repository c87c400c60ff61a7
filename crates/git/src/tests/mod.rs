//! Tests of the store against git itself.

pub(super) mod against_git;
mod changed;
mod discovery;
mod extensions;
mod formats;
mod held_before;
mod index_update;
mod last_changes;
mod limits;
mod packed;
mod placing;
mod removals;
mod work_trees;
mod writers;

use super::read_index::IndexChange;
use super::splice::Edit;
use super::{Environment, Store};
use orch_base::{Digest, ObjectFormat, RepoPath};
use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// A temporary repository, removed when dropped.
struct Repo {
    home: tempfile::TempDir,
    format: ObjectFormat,
}

const FORMATS: [ObjectFormat; 2] = [ObjectFormat::Sha1, ObjectFormat::Sha256];

impl Repo {
    fn new() -> Self {
        Self::of(ObjectFormat::Sha1)
    }

    fn of(format: ObjectFormat) -> Self {
        let repo = Self {
            home: tempfile::tempdir().expect("a directory"),
            format,
        };
        let option = match format {
            ObjectFormat::Sha1 => "--object-format=sha1",
            ObjectFormat::Sha256 => "--object-format=sha256",
        };
        repo.git(&["init", "-q", "-b", "main", option]);
        repo
    }

    fn path(&self, path: &str) -> PathBuf {
        self.home.path().join(path)
    }

    fn write(&self, path: &str, text: &str) {
        let target = self.path(path);
        fs::create_dir_all(target.parent().expect("a parent")).expect("directories");
        fs::write(target, text).expect("written");
    }

    /// Runs git, which must succeed, and returns its stdout.
    #[track_caller]
    fn git(&self, arguments: &[&str]) -> String {
        self.git_on("index", arguments, &[])
    }

    /// Runs git with another index and an input.
    #[track_caller]
    fn git_on(&self, index: &str, arguments: &[&str], input: &[u8]) -> String {
        let output = self.output(index, arguments, input);
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "git {arguments:?}: {said}");
        String::from_utf8(output.stdout).expect("text")
    }

    #[expect(clippy::disallowed_methods, reason = "git itself is the judge")]
    fn output(&self, index: &str, arguments: &[&str], input: &[u8]) -> Output {
        let mut command = Command::new("git");
        command
            .current_dir(self.home.path())
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .args(["-c", "user.name=Ann", "-c", "user.email=ann@example.com"])
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        if index != "index" {
            command.env("GIT_INDEX_FILE", self.path(&format!(".git/{index}")));
        }
        let mut process = command.spawn().expect("git starts");
        process
            .stdin
            .take()
            .expect("piped")
            .write_all(input)
            .expect("read");
        process.wait_with_output().expect("git ends")
    }

    fn store(&self) -> Store {
        store_at(self.home.path())
    }

    /// Stores a text as a blob.
    fn blob(&self, text: &str) -> Digest {
        let id = self.git_on("index", &["hash-object", "-w", "--stdin"], text.as_bytes());
        Digest::parse(id.trim()).expect("an id")
    }

    /// Stores a tree with these entries (mode, name and id), in this order, as git would not write all of them.
    fn raw_tree(&self, entries: &[(&str, &str, Digest)]) -> Digest {
        let entry = |(mode, name, id): &(&str, &str, Digest)| {
            [format!("{mode} {name}\0").as_bytes(), id.as_bytes()].concat()
        };
        let content: Vec<u8> = entries.iter().flat_map(entry).collect();
        let id = self.git_on(
            "index",
            &["hash-object", "-w", "-t", "tree", "--literally", "--stdin"],
            &content,
        );
        Digest::parse(id.trim()).expect("an id")
    }

    /// The tree of the entries of an index, built from scratch.
    fn tree_anew(&self, index: &str) -> String {
        // An intent-to-add entry has no flag in this list and belongs to no tree.
        let entries = self.git_on(index, &["ls-files", "-s", "-z"], &[]);
        let empty = self.format.blob(b"").to_string();
        let entries: String = entries
            .split_inclusive('\0')
            .filter(|line| !line.contains(&empty))
            .collect();
        let _ = fs::remove_file(self.path(".git/again"));
        self.git_on(
            "again",
            &["update-index", "-z", "--index-info"],
            entries.as_bytes(),
        );
        self.git_on("again", &["write-tree"], &[])
    }
}

/// Opens the store of a repository, with the directory of `orch` created.
fn store_at(directory: &Path) -> Store {
    let store = Store::discover(directory, &Environment::default())
        .expect("opened")
        .expect("a repository");
    fs::create_dir_all(store.layout().own("")).expect("a directory");
    store
}

fn path(text: &str) -> RepoPath {
    RepoPath::new(text).expect("valid")
}

/// The input of `git update-index --index-info` for these edits.
fn info(repo: &Repo, edits: &[Edit<'_>]) -> Vec<u8> {
    let line = |edit: &Edit<'_>| match edit.entry {
        Some((blob, mode)) => format!("{mode:o} {blob} 0\t{}\0", edit.path),
        None => format!("0 {}\t{}\0", repo.format.null(), edit.path),
    };
    edits.iter().map(line).collect::<String>().into_bytes()
}

fn change(text: &str, before: Option<Digest>, after: Option<Digest>) -> IndexChange {
    let side = |blob: Option<Digest>| blob.map(|blob| (blob, 0o100_644));
    IndexChange {
        path: path(text),
        before: side(before),
        after: side(after),
    }
}

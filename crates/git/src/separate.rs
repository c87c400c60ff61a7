//! A clone apart from the user's repository, with its own objects, settings and indexes.
//!
//! git runs here with the environment that the caller gives, without `GIT_*`, and with settings of its own: no hook, no
//! monitor of files, no conversion that a user has set.

use super::Layout;
use super::durable;
use super::environment::settings;
use super::error::{GitFault, libgit2};
use super::git::{finish_git, program};
use orch_base::{Digest, Error, ObjectFormat, RepoPath};
use orch_files::{io_error, unnamed_file};
use std::collections::BTreeMap;
use std::ffi::{OsStr, OsString};
use std::fmt::Write as _;
use std::fs;
use std::io::{self, Read as _, Seek as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;

/// A clone in a directory of its own: bare, with checkouts elsewhere.
pub struct SeparateClone {
    directory: PathBuf,
    format: ObjectFormat,
    environment: BTreeMap<String, String>,
    large_files: Option<PathBuf>,
}

/// Where a clone gets commits from.
#[derive(Debug, Clone, Copy)]
pub enum CloneSource<'s> {
    /// The git directory of a repository on this machine.
    Directory(&'s Path),
    /// A URL, read with the settings of the user.
    Url(&'s str),
}

/// A work tree with a tree in it, and the index that says so.
#[derive(Debug, Clone)]
pub struct SeparateCheckout {
    /// The root of the work tree.
    pub root: PathBuf,
    /// The index, outside the work tree.
    pub index: PathBuf,
    /// The commit that HEAD names.
    pub head: Digest,
    /// The tree in it.
    pub tree: Digest,
}

/// An entry of an index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SeparateEntry {
    /// Its path.
    pub path: String,
    /// Whether it is a submodule.
    pub is_submodule: bool,
    /// What it names: a blob, or the commit of a submodule.
    pub id: Digest,
}

/// A submodule, as `.gitmodules` describes it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Submodule {
    /// Its name.
    pub name: String,
    /// Its path.
    pub path: String,
    /// Where it comes from.
    pub url: String,
}

/// The settings of the clone for every command, in place of those of the user.
const SETTINGS: &str = "[core]\n\thooksPath = /dev/null\n\tfsmonitor = false\n\tuntrackedCache = false\n[safe]\n\tdirectory = *\n\
    [protocol]\n\tversion = 2\n[protocol \"file\"]\n\tallow = always\n[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n\
    [fetch]\n\tunpackLimit = 1\n\tfsckObjects = false\n[transfer]\n\tunpackLimit = 1\n[advice]\n\tdetachedHead = false\n";

/// The filter of Git LFS.
const LARGE_FILES: [(&str, &str); 4] = [
    ("smudge", "git-lfs smudge -- %f"),
    ("clean", "git-lfs clean -- %f"),
    ("process", "git-lfs filter-process"),
    ("required", "true"),
];

/// With so many packs they are packed into one.
const MOST_PACKS: usize = 40;

/// Where the commits are kept that were brought.
const KEPT: &str = "refs/orch/";

impl SeparateClone {
    /// The clone in a directory, which is made if it is not there. `environment` is what git gets of the caller's.
    /// Returns an error if it cannot be made.
    pub fn at(
        directory: &Path,
        format: ObjectFormat,
        environment: &BTreeMap<String, String>,
    ) -> Result<Self, Error> {
        let environment = environment
            .iter()
            .filter(|(name, _)| !name.starts_with("GIT_"))
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect();
        let clone = Self {
            directory: directory.to_owned(),
            format,
            environment,
            large_files: None,
        };
        let is_there = directory.join("HEAD").is_file() && directory.join("objects").is_dir();
        fs::create_dir_all(directory).map_err(|source| io_error(directory, source))?;
        let file = clone.settings_file();
        if fs::read(&file).ok().as_deref() != Some(SETTINGS.as_bytes()) {
            fs::write(&file, SETTINGS).map_err(|source| io_error(&file, source))?;
        }
        if !is_there {
            let format = format!("--object-format={}", format_name(format));
            let path = directory.to_string_lossy().into_owned();
            let words = ["init", "--quiet", "--bare", "--template=", &format, &path];
            clone.run(&words, &Run::default())?;
        }
        Ok(clone)
    }

    /// Lets Git LFS have the contents that this directory of a repository on this machine has.
    pub fn use_large_files(&mut self, directory: PathBuf) {
        self.large_files = Some(directory);
    }

    fn settings_file(&self) -> PathBuf {
        self.directory.join("orch-settings")
    }

    /// Brings commits with their histories and tags, unless they are there. Of a partial clone only the commits
    /// themselves are brought. Returns an error if the source does not have them.
    pub fn bring(&self, source: CloneSource<'_>, commits: &[Digest]) -> Result<(), Error> {
        let missing: Vec<Digest> = commits
            .iter()
            .copied()
            .filter(|commit| !self.directory.join(kept(*commit)).is_file())
            .collect();
        if missing.is_empty() {
            return Ok(());
        }
        let mut run = Run::default();
        let (place, is_partial) = match source {
            CloneSource::Directory(directory) => {
                let is_partial = is_partial(directory);
                if is_partial {
                    // Its git serves what it lacks only if it may get it, as the user does.
                    run.variables.push(("GIT_NO_LAZY_FETCH", "0".into()));
                    run.with_user_settings = true;
                }
                (directory.to_string_lossy().into_owned(), is_partial)
            }
            CloneSource::Url(url) => {
                run.with_user_settings = true;
                (url.to_owned(), false)
            }
        };
        let specs: Vec<String> = missing
            .iter()
            .map(|commit| format!("+{commit}:{}", kept(*commit)))
            .collect();
        let mut words = vec![
            "-c",
            "core.hooksPath=/dev/null",
            "-c",
            "core.fsmonitor=false",
            // Nobody waits forever for a dead server.
            "-c",
            "http.lowSpeedLimit=1",
            "-c",
            "http.lowSpeedTime=60",
            "-c",
            "fetch.unpackLimit=1",
            "-c",
            "gc.auto=0",
            "-c",
            "maintenance.auto=false",
            "fetch",
            "--quiet",
            "--no-write-fetch-head",
            "--update-shallow",
            "--no-recurse-submodules",
        ];
        if is_partial {
            words.push("--depth=1");
        }
        words.push("--");
        words.push(&place);
        words.extend(specs.iter().map(String::as_str));
        self.run(&words, &run)?;
        let words = [
            "for-each-ref",
            "--format=%(objectname) %(refname)",
            "refs/tags",
        ];
        let tags = self.run(&words, &Run::default())?;
        let file = self.tags_file();
        fs::write(&file, tags).map_err(|source| io_error(&file, source))?;
        self.pack()
    }

    /// The file with its tags, as `packed-refs` has them.
    fn tags_file(&self) -> PathBuf {
        self.directory.join("orch-tags")
    }

    /// Packs what many fetches have brought.
    fn pack(&self) -> Result<(), Error> {
        let packs = fs::read_dir(self.directory.join("objects/pack"))
            .into_iter()
            .flatten()
            .flatten()
            .filter(|entry| entry.path().extension() == Some(OsStr::new("pack")));
        if packs.count() > MOST_PACKS {
            self.run(&["repack", "-a", "-d", "-q"], &Run::default())?;
        }
        Ok(())
    }

    /// Whether its history is cut.
    #[must_use]
    pub fn is_shallow(&self) -> bool {
        self.directory.join("shallow").is_file()
    }

    /// The tree of a commit. Returns an error if there is none.
    pub fn tree_of(&self, commit: Digest) -> Result<Digest, Error> {
        let name = format!("{commit}^{{tree}}");
        let said = self.run(
            &["rev-parse", "--verify", "--quiet", &name],
            &Run::default(),
        )?;
        id(&said)
    }

    /// The tree that a patch gives on a tree; in words why it cannot be applied. Returns an error if git fails.
    pub fn patched_tree(
        &self,
        tree: Digest,
        patch: &[u8],
    ) -> Result<Result<Digest, String>, Error> {
        let index = self.temporary_index()?;
        let mut run = Run::on_index(index.path());
        self.run(&["read-tree", &tree.to_string()], &run)?;
        run.input = patch;
        let mut refusal = String::new();
        for depth in ["-p1", "-p0"] {
            let words = ["apply", "--cached", "--whitespace=nowarn", depth, "-"];
            match self.try_run(&words, &run)? {
                Ok(_) => {
                    let said = self.run(&["write-tree"], &Run::on_index(index.path()))?;
                    return Ok(Ok(id(&said)?));
                }
                Err(message) if refusal.is_empty() => refusal = message,
                Err(_) => {}
            }
        }
        Ok(Err(refusal))
    }

    /// The tree with the files of a base under some paths: what was changed or removed there is put back, and what is new
    /// there is left out. Returns an error if git fails.
    pub fn tree_with(
        &self,
        tree: Digest,
        base: Digest,
        is_protected: &dyn Fn(&str) -> bool,
    ) -> Result<Digest, Error> {
        let base = base.to_string();
        let tree = tree.to_string();
        let words = [
            "diff-tree",
            "-r",
            "-z",
            "--no-renames",
            "--raw",
            &base,
            &tree,
        ];
        let changes = self.run(&words, &Run::default())?;
        let null = self.format.null();
        let mut removed = Vec::new();
        let mut restored = Vec::new();
        let mut fields = changes.split(|byte| *byte == 0);
        while let Some(change) = fields.next().filter(|change| !change.is_empty()) {
            let path = fields.next().unwrap_or_default();
            if !is_protected(&String::from_utf8_lossy(path)) {
                continue;
            }
            let change = String::from_utf8_lossy(change).into_owned();
            let mut words = change.trim_start_matches(':').split(' ');
            let mode = words.next().unwrap_or_default();
            let blob = words.nth(1).unwrap_or_default();
            let lines = if mode == "000000" {
                removed.extend(format!("0 {null}\t").bytes());
                &mut removed
            } else {
                restored.extend(format!("{mode} {blob}\t").bytes());
                &mut restored
            };
            lines.extend_from_slice(path);
            lines.push(0);
        }
        let index = self.temporary_index()?;
        let mut run = Run::on_index(index.path());
        self.run(&["read-tree", &tree], &run)?;
        removed.extend(restored);
        run.input = &removed;
        let words = ["update-index", "--replace", "-z", "--index-info"];
        self.run(&words, &run)?;
        id(&self.run(&["write-tree"], &Run::on_index(index.path()))?)
    }

    /// A new file for an index. Nothing is in it, not even a file, because git takes no empty one.
    fn temporary_index(&self) -> Result<TemporaryIndex, Error> {
        let made = tempfile::Builder::new()
            .prefix("index-")
            .tempdir_in(&self.directory);
        let directory = made.map_err(|source| io_error(&self.directory, source))?;
        Ok(TemporaryIndex {
            path: directory.path().join("index"),
            _directory: directory,
        })
    }

    /// Checks out exactly the tree: all else in the work tree goes, except the kept directories, each a pattern of
    /// `.gitignore` that begins with `/`. Files that are as they should be are not touched. Returns an error if git fails.
    pub fn place(&self, checkout: &SeparateCheckout, keep: &[String]) -> Result<(), Error> {
        let mut run = Run::on_index(&checkout.index);
        run.work_tree = Some(&checkout.root);
        // Whoever held it was killed.
        let _ = fs::remove_file(checkout.index.with_added_extension("lock"));
        let mut clean = vec!["clean", "-ffdxq"];
        for kept in keep {
            clean.extend(["-e", kept]);
        }
        let tree = checkout.tree.to_string();
        let words = ["read-tree", "--reset", "-u", &tree];
        // Pointers first: Git LFS would ask a server for what is missing.
        run.variables.push(("GIT_LFS_SKIP_SMUDGE", "1".into()));
        if self.try_run(&words, &run)?.is_err() {
            // Something may be in the way.
            self.run(&clean, &run)?;
            self.run(&words, &run)?;
        }
        self.run(&clean, &run)?;
        Ok(())
    }

    /// The entries of the index of a checkout.
    pub fn entries(&self, checkout: &SeparateCheckout) -> Result<Vec<SeparateEntry>, Error> {
        let listed = self.run(&["ls-files", "-s", "-z"], &Run::on_index(&checkout.index))?;
        let entries = listed
            .split(|byte| *byte == 0)
            .filter_map(|line| entry_of(&String::from_utf8_lossy(line)));
        Ok(entries.collect())
    }

    /// What is in a checkout beside the tree: files, and directories of which nothing is in the tree, with `/` behind.
    pub fn others(&self, checkout: &SeparateCheckout) -> Result<Vec<String>, Error> {
        let mut run = Run::on_index(&checkout.index);
        run.work_tree = Some(&checkout.root);
        let words = ["ls-files", "--others", "--directory", "-z"];
        Ok(paths(&self.run(&words, &run)?))
    }

    /// The paths of a checkout whose contents Git LFS keeps, given its entries.
    pub fn large(
        &self,
        checkout: &SeparateCheckout,
        entries: &[SeparateEntry],
    ) -> Result<Vec<String>, Error> {
        let mut attributes = entries
            .iter()
            .map(|entry| entry.path.as_str())
            .filter(|path| path.rsplit('/').next() == Some(".gitattributes"))
            .filter_map(|path| durable::read_regular(&checkout.root.join(path)));
        let names_filter = |text: Vec<u8>| String::from_utf8_lossy(&text).contains("filter=lfs");
        if !attributes.any(names_filter) {
            return Ok(Vec::new());
        }
        let mut run = Run::on_index(&checkout.index);
        run.work_tree = Some(&checkout.root);
        let listed = self.run(&["ls-files", "-z", "--", ":(attr:filter=lfs)"], &run)?;
        Ok(paths(&listed))
    }

    /// Puts the contents of large files in the place of their pointers. Returns the path of one whose contents are missing.
    pub fn fill(
        &self,
        checkout: &SeparateCheckout,
        pointers: &[String],
    ) -> Result<Option<String>, Error> {
        let Some(source) = &self.large_files else {
            return Ok(pointers.first().cloned());
        };
        let mut input = Vec::new();
        for path in pointers {
            let file = checkout.root.join(path);
            let pointer = durable::read_regular(&file).unwrap_or_default();
            let Some(place) = large_object(&String::from_utf8_lossy(&pointer)) else {
                return Ok(Some(path.clone()));
            };
            let from = source.join(&place);
            let to = self.directory.join("lfs").join(&place);
            if !to.is_file() {
                // Git LFS would look for it on a server.
                if !from.is_file() {
                    return Ok(Some(path.clone()));
                }
                let above = to.parent().unwrap_or(&to);
                let linked = fs::create_dir_all(above).and_then(|()| {
                    fs::hard_link(&from, &to).or_else(|_| fs::copy(&from, &to).map(drop))
                });
                linked.map_err(|error| io_error(&to, error))?;
            }
            // git leaves a file that is as its index says.
            fs::remove_file(&file).map_err(|error| io_error(&file, error))?;
            input.extend_from_slice(path.as_bytes());
            input.push(0);
        }
        let mut run = Run::on_index(&checkout.index);
        run.work_tree = Some(&checkout.root);
        run.input = &input;
        self.run(&["checkout-index", "-f", "-u", "-z", "--stdin"], &run)?;
        Ok(None)
    }

    /// The settings by which git starts Git LFS; none if there are no large files.
    fn large_settings(&self) -> Vec<String> {
        if self.large_files.is_none() {
            return Vec::new();
        }
        let storage = self.directory.join("lfs");
        let storage = format!("lfs.storage={}", storage.display());
        let filter = LARGE_FILES
            .iter()
            .map(|(name, value)| format!("filter.lfs.{name}={value}"));
        filter
            .chain([storage])
            .flat_map(|setting| ["-c".to_owned(), setting])
            .collect()
    }

    /// The submodules that a checkout describes.
    pub fn submodules(&self, checkout: &SeparateCheckout) -> Result<Vec<Submodule>, Error> {
        let file = checkout.root.join(".gitmodules");
        if !file.is_file() {
            return Ok(Vec::new());
        }
        let file = file.to_string_lossy().into_owned();
        let words = [
            "config",
            "-z",
            "--file",
            &file,
            "--get-regexp",
            r"^submodule\.",
        ];
        let Ok(said) = self.try_run(&words, &Run::default())? else {
            return Ok(Vec::new());
        };
        let mut found = BTreeMap::<String, Submodule>::new();
        for setting in String::from_utf8_lossy(&said).split('\0') {
            let (key, value) = setting.split_once('\n').unwrap_or((setting, ""));
            let Some((name, what)) = key
                .strip_prefix("submodule.")
                .and_then(|rest| rest.rsplit_once('.'))
            else {
                continue;
            };
            let module = found.entry(name.to_owned()).or_insert_with(|| Submodule {
                name: name.to_owned(),
                path: String::new(),
                url: String::new(),
            });
            match what {
                "path" => value.clone_into(&mut module.path),
                "url" => value.clone_into(&mut module.url),
                _ => {}
            }
        }
        Ok(found.into_values().collect())
    }

    /// Gives a checkout a git directory of its own, as a clone has it: with its own objects, HEAD, index and tags, and
    /// nothing that an earlier run has left there. Returns an error if it cannot be written.
    pub fn give_git(&self, checkout: &SeparateCheckout) -> Result<(), Error> {
        let git = checkout.root.join(".git");
        let file = self.tags_file();
        let tags = fs::read(&file).map_err(|source| io_error(&file, source))?;
        let (version, extension) = match self.format {
            ObjectFormat::Sha1 => (0, ""),
            ObjectFormat::Sha256 => (1, "[extensions]\n\tobjectFormat = sha256\n"),
        };
        let mut filter = String::new();
        if self.large_files.is_some() {
            filter.push_str("[filter \"lfs\"]\n");
            for (name, value) in LARGE_FILES {
                let _ = writeln!(filter, "\t{name} = {value}");
            }
        }
        let config = format!(
            "[core]\n\trepositoryFormatVersion = {version}\n\tfileMode = true\n\tbare = false\n\thooksPath = /dev/null\n\
             \tfsmonitor = false\n[gc]\n\tauto = 0\n[maintenance]\n\tauto = false\n{filter}{extension}"
        );
        let index =
            fs::read(&checkout.index).map_err(|source| io_error(&checkout.index, source))?;
        let mut files = vec![
            ("HEAD", format!("{}\n", checkout.head).into_bytes()),
            ("config", config.into_bytes()),
            ("packed-refs", tags),
            ("index", index),
        ];
        if let Ok(shallow) = fs::read(self.directory.join("shallow")) {
            files.push(("shallow", shallow));
        }
        let written = is_directory(&git)
            .and_then(|()| only(&git, &["objects", "refs"], &files))
            .and_then(|()| emptied(&git.join("refs")))
            .and_then(|()| mirror(&self.directory.join("objects"), &git.join("objects")));
        written.map_err(|source| io_error(&git, source))
    }

    /// What a run has changed in a checkout: the paths whose files are not those of the tree, and whether HEAD or the index
    /// of its own git directory name anything else. Returns an error if git fails.
    pub fn changes(&self, checkout: &SeparateCheckout) -> Result<CheckoutChanges, Error> {
        let mut run = Run::on_index(&checkout.index);
        run.work_tree = Some(&checkout.root);
        let words = ["diff-files", "-z", "--name-only", "--ignore-submodules=all"];
        let mut files = paths(&self.run(&words, &run)?);
        if !files.is_empty() {
            // Some may only have been touched. It ends with 1 if anything is different.
            let _ = self.try_run(&["update-index", "-q", "--really-refresh"], &run)?;
            files = paths(&self.run(&words, &run)?);
        }
        let git = checkout.root.join(".git");
        let head = durable::read_regular(&git.join("HEAD")).unwrap_or_default();
        let is_same_head = String::from_utf8_lossy(&head).trim() == checkout.head.to_string();
        let index = durable::read_regular(&git.join("index"));
        let is_same_index = match index {
            None => false,
            Some(bytes) if durable::read_regular(&checkout.index).as_ref() == Some(&bytes) => true,
            Some(bytes) => self.has_tree(&bytes, checkout.tree)?,
        };
        Ok(CheckoutChanges {
            files,
            is_same_head,
            is_same_index,
        })
    }

    /// Whether the bytes are an index with exactly this tree in it.
    fn has_tree(&self, index: &[u8], tree: Digest) -> Result<bool, Error> {
        let copy = self.temporary_index()?;
        fs::write(copy.path(), index).map_err(|source| io_error(copy.path(), source))?;
        let tree = tree.to_string();
        let words = ["diff-index", "--cached", "--quiet", &tree];
        Ok(self.try_run(&words, &Run::on_index(copy.path()))?.is_ok())
    }

    fn run(&self, words: &[&str], run: &Run<'_>) -> Result<Vec<u8>, Error> {
        let name = subcommand(words);
        self.try_run(words, run)?.map_err(|message| {
            Error::from(GitFault::Refused {
                command: name,
                message,
            })
        })
    }

    /// Runs git. Returns what it printed, or what it said when it refused, and an error if it cannot be started.
    fn try_run(&self, words: &[&str], run: &Run<'_>) -> Result<Result<Vec<u8>, String>, Error> {
        let name = subcommand(words);
        let mut command = program();
        command
            .current_dir(run.work_tree.unwrap_or(&self.directory))
            .env_clear()
            .envs(&self.environment)
            .env("GIT_DIR", &self.directory)
            .env("GIT_TERMINAL_PROMPT", "0")
            .env("GIT_DEFAULT_REF_FORMAT", "files")
            .env("LC_ALL", "C")
            .envs(run.variables.iter().map(|(name, value)| (name, value)));
        if run.work_tree.is_some() {
            command.args(self.large_settings());
        }
        command
            .args(words)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        if run.with_user_settings {
            command.env("GIT_SSH_COMMAND", "ssh -oBatchMode=yes");
        } else {
            command
                .env("GIT_CONFIG_GLOBAL", self.settings_file())
                .env("GIT_CONFIG_NOSYSTEM", "1")
                .env("GIT_ATTR_NOSYSTEM", "1");
        }
        if let Some(index) = run.index {
            command.env("GIT_INDEX_FILE", index);
        }
        if let Some(root) = run.work_tree {
            command.env("GIT_WORK_TREE", root);
        }
        let fail = |message: String| GitFault::Refused {
            command: name.clone(),
            message,
        };
        // git reports a failing write to a file, and none to a pipe.
        let output = unnamed_file();
        if let Some(file) = &output {
            let file = file.try_clone().map_err(|error| fail(error.to_string()))?;
            command.stdout(file);
        }
        let process = command.spawn().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => GitFault::NoProgram {
                command: name.clone(),
            },
            _ => fail(format!("cannot start git: {error}")),
        })?;
        let printed = match finish_git(&name, process, run.input) {
            Ok(printed) => printed,
            Err(GitFault::Refused { message, .. }) => return Ok(Err(message)),
            Err(fault) => return Err(fault.into()),
        };
        let Some(mut file) = output else {
            return Ok(Ok(printed));
        };
        let mut printed = Vec::new();
        let read = file.rewind().and_then(|()| file.read_to_end(&mut printed));
        read.map_err(|error| fail(error.to_string()))?;
        Ok(Ok(printed))
    }
}

/// What a run of commands has changed in a checkout.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckoutChanges {
    /// The paths whose files are not those of the tree.
    pub files: Vec<String>,
    /// Whether HEAD names the same commit as before.
    pub is_same_head: bool,
    /// Whether the index has the same tree as before.
    pub is_same_index: bool,
}

/// How one git command runs.
#[derive(Default)]
struct Run<'r> {
    index: Option<&'r Path>,
    work_tree: Option<&'r Path>,
    input: &'r [u8],
    variables: Vec<(&'static str, OsString)>,
    with_user_settings: bool,
}

impl<'r> Run<'r> {
    fn on_index(index: &'r Path) -> Self {
        Self {
            index: Some(index),
            ..Self::default()
        }
    }
}

/// A directory for an index, removed in the end. git makes the file itself: it takes no empty one.
struct TemporaryIndex {
    _directory: tempfile::TempDir,
    path: PathBuf,
}

impl TemporaryIndex {
    fn path(&self) -> &Path {
        &self.path
    }
}

fn format_name(format: ObjectFormat) -> &'static str {
    match format {
        ObjectFormat::Sha1 => "sha1",
        ObjectFormat::Sha256 => "sha256",
    }
}

/// The name of the reference that keeps a commit.
fn kept(commit: Digest) -> String {
    format!("{KEPT}{commit}")
}

/// The subcommand among the arguments of git.
fn subcommand(words: &[&str]) -> String {
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match *word {
            "-c" => _ = words.next(),
            word => return word.to_owned(),
        }
    }
    String::new()
}

fn id(said: &[u8]) -> Result<Digest, Error> {
    super::git::git_id(said)
}

fn paths(listed: &[u8]) -> Vec<String> {
    listed
        .split(|byte| *byte == 0)
        .filter(|path| !path.is_empty())
        .map(|path| String::from_utf8_lossy(path).into_owned())
        .collect()
}

/// An entry as `git ls-files -s` prints it.
fn entry_of(line: &str) -> Option<SeparateEntry> {
    let (said, path) = line.split_once('\t')?;
    let mut words = said.split(' ');
    let mode = words.next()?;
    Some(SeparateEntry {
        path: path.to_owned(),
        is_submodule: mode == "160000",
        id: Digest::parse(words.next()?)?,
    })
}

/// Where Git LFS keeps the contents for which a pointer stands, below its directory.
fn large_object(pointer: &str) -> Option<PathBuf> {
    let mut lines = pointer.lines();
    let id = lines.find_map(|line| line.strip_prefix("oid sha256:"))?;
    let is_id = id.len() == 64 && id.bytes().all(|byte| byte.is_ascii_hexdigit());
    let parts = [id.get(..2)?, id.get(2..4)?, id];
    is_id.then(|| Path::new("objects").join(parts.iter().collect::<PathBuf>()))
}

/// Whether a repository lacks objects that another one promises.
fn is_partial(directory: &Path) -> bool {
    let config = durable::read_regular(&directory.join("config")).unwrap_or_default();
    let config = String::from_utf8_lossy(&config).to_ascii_lowercase();
    config.contains("promisor") || config.contains("partialclone")
}

/// Makes sure that this is a directory, and no link or file in its place.
fn is_directory(path: &Path) -> io::Result<()> {
    match path.symlink_metadata() {
        Ok(found) if found.is_dir() => return Ok(()),
        Ok(_) => fs::remove_file(path)?,
        Err(_) => {}
    }
    fs::create_dir_all(path)
}

/// Removes a file, a link, or a directory with all in it.
fn remove(path: &Path) -> io::Result<()> {
    let found = path.symlink_metadata()?;
    if found.is_dir() {
        fs::remove_dir_all(path)
    } else {
        fs::remove_file(path)
    }
}

/// Leaves in a directory only these directories and these files. A file that is as it should be is not touched.
fn only(directory: &Path, directories: &[&str], files: &[(&str, Vec<u8>)]) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let entry = entry?;
        let name = entry.file_name();
        let is_file = files.iter().any(|(file, bytes)| {
            name == *file && durable::read_regular(&entry.path()).as_ref() == Some(bytes)
        });
        if !is_file && !directories.iter().any(|kept| name == *kept) {
            remove(&entry.path())?;
        }
    }
    for (name, bytes) in files {
        let path = directory.join(name);
        if path.symlink_metadata().is_err() {
            fs::write(&path, bytes)?;
        }
    }
    directories
        .iter()
        .try_for_each(|name| is_directory(&directory.join(name)))
}

/// Leaves no reference in a directory of them.
fn emptied(directory: &Path) -> io::Result<()> {
    remove(directory)?;
    fs::create_dir_all(directory.join("heads"))?;
    fs::create_dir_all(directory.join("tags"))
}

/// Gives a directory of objects exactly the objects of another one, as links to the same files.
fn mirror(from: &Path, to: &Path) -> io::Result<()> {
    let is_of_objects = |name: &OsStr| {
        name == "pack" || (name.len() == 2 && name.as_bytes().iter().all(u8::is_ascii_hexdigit))
    };
    for entry in fs::read_dir(to)? {
        let entry = entry?;
        let is_wanted = is_of_objects(&entry.file_name())
            && entry.file_type()?.is_dir()
            && from.join(entry.file_name()).is_dir();
        if !is_wanted {
            remove(&entry.path())?;
        }
    }
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        if is_of_objects(&entry.file_name()) {
            let place = to.join(entry.file_name());
            fs::create_dir_all(&place)?;
            link_all(&entry.path(), &place)?;
        }
    }
    Ok(())
}

/// Links the files of a directory into another one, and removes what else is there.
fn link_all(from: &Path, to: &Path) -> io::Result<()> {
    let inode = |path: &Path| path.symlink_metadata().map(|found| found.ino()).ok();
    for entry in fs::read_dir(to)? {
        let entry = entry?;
        if inode(&entry.path()) != inode(&from.join(entry.file_name())) {
            remove(&entry.path())?;
        }
    }
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let place = to.join(entry.file_name());
        let is_unfinished = entry.file_name().as_bytes().starts_with(b"tmp_");
        if !is_unfinished && place.symlink_metadata().is_err() {
            fs::hard_link(entry.path(), &place)?;
        }
    }
    Ok(())
}

impl Layout<'_> {
    /// Whether git ignores a path of the work tree. Returns an error if that is unknown.
    pub fn ignores(&self, path: &RepoPath) -> Result<bool, Error> {
        let ignored = self.objects.repo.is_path_ignored(path.as_str());
        ignored.map_err(libgit2)
    }

    /// The URL of the remote `origin`; `None` if there is none.
    #[must_use]
    pub fn origin(&self) -> Option<String> {
        let settings = settings(&self.objects.repo).ok()?;
        settings
            .get_str("remote.origin.url")
            .ok()
            .map(str::to_owned)
    }
}

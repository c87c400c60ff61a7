//! Where a task's bytes come from.

use super::{FileStamp, LogEnd, ObservedLog, open_regular};
use crate::base::{Code, Digest, Error, Reason, RepoPath};
use std::cell::RefCell;
use std::fs;
use std::io::{self, Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use walkdir::WalkDir;

/// A place that a task's bytes come from: the work directory, the index, or a commit's tree.
pub trait Source {
    /// Everything below a directory that is no plain directory, in path order; `.git` is never
    /// listed, nor what lies in another repository. A missing directory is an empty list.
    fn list(&self, directory: &RepoPath) -> Result<Vec<Entry>, Error>;

    /// What lies directly in a directory, in name order, `.git` apart; `None` if it cannot be
    /// listed. Of what has no name in UTF-8, only directories are listed.
    fn children(&self, directory: &RepoPath) -> Option<Vec<Child>>;

    /// Whether a symbolic link stands on the way to a directory: what lies behind it may be anywhere.
    fn is_behind_link(&self, directory: &RepoPath) -> bool;

    /// The nearest repository of its own, at this directory or above it, that it belongs to.
    fn other_repository(&self, _directory: &RepoPath) -> Option<RepoPath> {
        None
    }

    /// The bytes of one regular file; one larger than `limit` is not read.
    fn read(&self, path: &RepoPath, limit: u64) -> Result<Content, Error>;

    /// The log at a path. Of one longer than `most` bytes, no more than so many at its end may be read.
    fn read_log(&self, path: &RepoPath, _most: u64) -> Result<ObservedLog, Error> {
        // A log only grows, so the limit of artifacts is not for it.
        Ok(ObservedLog::of(self.read(path, u64::MAX - 1)?))
    }

    /// The blob id of the regular file at a path, where it is known without reading the file.
    fn blob_id(&self, _path: &RepoPath) -> Option<Digest> {
        None
    }

    /// The blob id that `git add` would store for these bytes at this path.
    fn digest(&self, path: &RepoPath, bytes: &[u8]) -> Result<Digest, Error>;
}

/// The bytes of a file, or why they are not given.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// The bytes.
    Bytes(Vec<u8>),
    /// It is larger than the limit; its size in bytes.
    TooLarge(u64),
    /// It is not there.
    Missing,
    /// It is there but is no regular file that can be read; says why.
    Unreadable(String),
    /// It is there, but its bytes are not in this clone.
    Absent,
}

impl Content {
    /// The blob that these bytes are; `None` where there are none.
    #[must_use]
    pub fn blob(&self) -> Option<Digest> {
        match self {
            Self::Bytes(bytes) => Some(Digest::of_blob(bytes)),
            _ => None,
        }
    }
}

/// A name in a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Child {
    /// The name.
    pub name: String,
    /// Whether it is a directory itself.
    pub is_directory: bool,
    /// Of a directory whose name is not UTF-8, and so stands here as far as it can be shown: what lies
    /// directly in it.
    pub unnameable: Option<Vec<String>>,
}

impl Child {
    /// What lies directly in a directory, given the paths of all files below it in order; `None` if
    /// there are none.
    #[must_use]
    pub fn of_paths<'p>(
        directory: &RepoPath,
        paths: impl Iterator<Item = &'p RepoPath>,
    ) -> Option<Vec<Self>> {
        let mut children: Vec<Self> = Vec::new();
        for below in paths.filter_map(|path| path.below(directory)) {
            let (name, is_directory) = below.split_once('/').map_or((below, false), |(name, _)| (name, true));
            if children.last().is_none_or(|last| last.name != name) {
                children.push(Self::new(name, is_directory));
            }
        }
        (!children.is_empty()).then_some(children)
    }

    /// A name that can be named.
    #[must_use]
    pub fn new(name: impl Into<String>, is_directory: bool) -> Self {
        Self { name: name.into(), is_directory, unnameable: None }
    }
}

/// Something in a task's directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// Its path; of a name that is not UTF-8, as far as it can be shown.
    pub path: String,
    /// What it is.
    pub kind: EntryKind,
    /// Whether it may be executed.
    pub executable: bool,
    /// What the file system says of it; `None` of a directory, and of what no file system holds.
    pub stamp: Option<FileStamp>,
}

/// What an entry is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A symbolic link.
    Symlink,
    /// A directory; listed only so that one in the place of a file can be told.
    Directory,
    /// A directory that is a repository of its own, and so is none of ours.
    Repository,
    /// A FIFO, a device or a socket.
    Special,
    /// A directory or file that cannot be looked at; says why.
    Unreadable(String),
    /// A name that is not UTF-8.
    NotUtf8,
}

/// Turns the bytes of a work file into the blob id that git would store.
pub trait Clean {
    /// The blob id after clean filters and line-ending conversion.
    fn digest(&self, path: &RepoPath, bytes: &[u8]) -> Result<Digest, Reason>;
}

/// Outside git: bytes are hashed as they are.
pub struct Raw;

impl Clean for Raw {
    fn digest(&self, _path: &RepoPath, bytes: &[u8]) -> Result<Digest, Reason> {
        Ok(Digest::of_blob(bytes))
    }
}

/// The work directory.
pub struct WorkDir<'c> {
    root: PathBuf,
    clean: &'c dyn Clean,
}

impl<'c> WorkDir<'c> {
    /// The files below `root`.
    #[must_use]
    pub fn new(root: &Path, clean: &'c dyn Clean) -> Self {
        Self { root: root.to_owned(), clean }
    }

    fn entry(&self, entry: &walkdir::DirEntry) -> Entry {
        let relative = entry.path().strip_prefix(&self.root).unwrap_or(entry.path());
        let path = relative.to_string_lossy().into_owned();
        let kind = match (relative.to_str(), entry.file_type()) {
            (None, _) => EntryKind::NotUtf8,
            (Some(_), kind) if kind.is_file() => EntryKind::File,
            (Some(_), kind) if kind.is_symlink() => EntryKind::Symlink,
            (Some(_), kind) if kind.is_dir() => EntryKind::Directory,
            (Some(_), _) => EntryKind::Special,
        };
        let metadata = entry.metadata().ok().filter(|metadata| !metadata.is_dir());
        let executable = kind == EntryKind::File && metadata.as_ref().is_some_and(is_executable);
        Entry { path, kind, executable, stamp: metadata.as_ref().and_then(FileStamp::of) }
    }
}

/// Whether a directory is the top of a repository: a submodule and a linked work tree have a file there.
fn is_repository(directory: &Path) -> bool {
    let mark = directory.join(".git");
    mark.symlink_metadata().is_ok_and(|metadata| !metadata.is_dir() || mark.join("HEAD").exists())
}

fn is_executable(metadata: &std::fs::Metadata) -> bool {
    std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o100 != 0
}

/// The directory below a task's where what drives it keeps its notes and logs: no part of the task.
pub const OWN_DIRECTORY: &str = ".orch";

impl Source for WorkDir<'_> {
    fn list(&self, directory: &RepoPath) -> Result<Vec<Entry>, Error> {
        let start = directory.under(&self.root);
        if !start.is_dir() {
            return Ok(Vec::new());
        }
        let walk = WalkDir::new(&start).min_depth(1).follow_links(false).sort_by_file_name();
        let mut entries = Vec::new();
        let repositories = RefCell::new(Vec::new());
        let is_ours = |entry: &walkdir::DirEntry| {
            let is_mark = entry.file_name() == ".git";
            if is_mark {
                let holder =
                    entry.path().parent().filter(|holder| *holder != self.root && is_repository(holder));
                repositories.borrow_mut().extend(holder.map(Path::to_owned));
            }
            !is_mark && entry.file_name() != OWN_DIRECTORY
        };
        for entry in walk.into_iter().filter_entry(is_ours) {
            match entry {
                Ok(entry) => entries.push(self.entry(&entry)),
                Err(error) => {
                    let path = error.path().unwrap_or(&start);
                    let path = path.strip_prefix(&self.root).unwrap_or(path).to_string_lossy().into_owned();
                    let why = error.io_error().map_or_else(|| error.to_string(), ToString::to_string);
                    entries.push(Entry {
                        path,
                        kind: EntryKind::Unreadable(why),
                        executable: false,
                        stamp: None,
                    });
                }
            }
        }
        for repository in repositories.into_inner() {
            let path = repository.strip_prefix(&self.root).unwrap_or(&repository);
            entries.retain(|entry| !Path::new(&entry.path).starts_with(path));
            let path = path.to_string_lossy().into_owned();
            entries.push(Entry { path, kind: EntryKind::Repository, executable: false, stamp: None });
        }
        Ok(entries)
    }

    fn children(&self, directory: &RepoPath) -> Option<Vec<Child>> {
        let mut children: Vec<Child> = fs::read_dir(directory.under(&self.root))
            .ok()?
            .filter_map(|entry| {
                let entry = entry.ok()?;
                let is_directory = entry.file_type().is_ok_and(|kind| kind.is_dir());
                match entry.file_name().into_string() {
                    Ok(name) => (name != ".git").then(|| Child::new(name, is_directory)),
                    Err(name) if is_directory => {
                        let inside = fs::read_dir(entry.path()).into_iter().flatten();
                        let names = inside.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
                        let unnameable = Some(names.collect());
                        Some(Child { name: name.to_string_lossy().into_owned(), is_directory, unnameable })
                    }
                    Err(_) => None,
                }
            })
            .collect();
        children.sort_by(|a, b| a.name.cmp(&b.name));
        Some(children)
    }

    fn is_behind_link(&self, directory: &RepoPath) -> bool {
        let mut on_the_way = std::iter::successors(Some(directory.clone()), RepoPath::parent);
        on_the_way.any(|step| {
            !step.as_str().is_empty()
                && step.under(&self.root).symlink_metadata().is_ok_and(|metadata| metadata.is_symlink())
        })
    }

    fn other_repository(&self, directory: &RepoPath) -> Option<RepoPath> {
        let mut on_the_way = std::iter::successors(Some(directory.clone()), RepoPath::parent);
        on_the_way.find(|step| !step.as_str().is_empty() && is_repository(&step.under(&self.root)))
    }

    fn read(&self, path: &RepoPath, limit: u64) -> Result<Content, Error> {
        let target = path.under(&self.root);
        let mut file = match open_regular(&target) {
            Ok(Some(file)) => file,
            Ok(None) => return Ok(Content::Unreadable("it is not a regular file".to_owned())),
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Content::Missing),
            Err(error) => return Ok(Content::Unreadable(error.to_string())),
        };
        let size = file.metadata().map_or(0, |metadata| metadata.len());
        if size > limit {
            return Ok(Content::TooLarge(size));
        }
        let mut bytes = Vec::with_capacity(usize::try_from(size).unwrap_or(0) + 1);
        // The file may grow while it is read, so the limit holds here too.
        match file.by_ref().take(limit + 1).read_to_end(&mut bytes) {
            Ok(read) if read as u64 > limit => Ok(Content::TooLarge(read as u64)),
            Ok(_) => Ok(Content::Bytes(bytes)),
            Err(error) => Ok(Content::Unreadable(error.to_string())),
        }
    }

    fn read_log(&self, path: &RepoPath, most: u64) -> Result<ObservedLog, Error> {
        let mut file = match open_regular(&path.under(&self.root)) {
            Ok(Some(file)) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(ObservedLog::Missing),
            Ok(None) | Err(_) => return Ok(ObservedLog::Unreadable),
        };
        let length = file.metadata().map_or(0, |metadata| metadata.len());
        let skipped = length.saturating_sub(most);
        let mut bytes = Vec::with_capacity(usize::try_from(length - skipped).unwrap_or(0) + 1);
        let read = file.seek(SeekFrom::Start(skipped)).and_then(|_| file.read_to_end(&mut bytes));
        Ok(match read {
            Err(_) => ObservedLog::Unreadable,
            Ok(_) if skipped == 0 => ObservedLog::Whole(bytes),
            // It may have grown since its length was asked for.
            Ok(read) => ObservedLog::End(LogEnd { length: skipped + read as u64, bytes, held: None }),
        })
    }

    fn digest(&self, path: &RepoPath, bytes: &[u8]) -> Result<Digest, Error> {
        self.clean.digest(path, bytes).map_err(|message| Error::new(Code::Git, format!("{path}: {message}")))
    }
}

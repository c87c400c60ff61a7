//! Sources of a task's bytes.

use super::error::io_error;
use super::{FileStamp, open_with_size, read_sized};
use orch_base::{Code, Digest, Error, ObjectFormat, Reason, RepoPath, TaskPlace};
use std::cell::RefCell;
use std::fs;
use std::io::{self, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use walkdir::WalkDir;

/// A source of a task's bytes: the work directory, the index, or the tree of a commit.
///
/// What cannot be read is an error, never a missing file: nothing may be concluded from it. Other problems with
/// single files are values.
pub trait Source {
    /// All entries below a directory except plain directories, sorted by path. `.git` and the contents of
    /// other repositories are never listed. A missing directory yields an empty list. Returns an error if the
    /// directory or one below it cannot be listed: nothing is known about it then.
    fn list(&self, directory: &RepoPath) -> Result<Vec<Entry>, Error>;

    /// The entry at exactly this path; `None` if nothing is there. Returns an error if the machine fails.
    fn entry_at(&self, path: &RepoPath) -> Result<Option<Entry>, Error>;

    /// All entries of a task: those of its directory, and the file that it is. Returns an error if the source
    /// cannot be read.
    fn list_task(&self, place: &TaskPlace) -> Result<Vec<Entry>, Error> {
        let mut entries = self.list(place.directory())?;
        let Some(file) = place.file() else {
            return Ok(entries);
        };
        // The name of the file means the one beside the directory.
        entries.retain(|entry| {
            RepoPath::new(&entry.path).is_ok_and(|path| place.name(&path).is_some())
        });
        if let Some(path) = file.path() {
            entries.extend(self.entry_at(&path)?);
            return Ok(entries);
        }
        for child in self.children(&file.directory)?.unwrap_or_default() {
            if file.has_name(&child.name)
                && let Ok(path) = file.directory.join(&child.name)
            {
                entries.extend(self.entry_at(&path)?);
            }
        }
        Ok(entries)
    }

    /// The direct children of a directory without `.git`, sorted by name; `None` if there is no such
    /// directory. Of children whose name is not UTF-8, only directories are listed. Returns an error if the
    /// directory cannot be listed: nothing is known about it then.
    fn children(&self, directory: &RepoPath) -> Result<Option<Vec<Child>>, Error>;

    /// Whether a component of the path is a symbolic link, so that the directory may be anywhere.
    fn is_behind_link(&self, directory: &RepoPath) -> Result<bool, Error>;

    /// Whether a directory is the root of another repository. Returns an error if the machine fails.
    fn is_repository(&self, _directory: &RepoPath) -> Result<bool, Error> {
        Ok(false)
    }

    /// The nearest other repository that contains this directory or is at it. Returns an error if the machine fails.
    fn other_repository(&self, directory: &RepoPath) -> Result<Option<RepoPath>, Error> {
        for step in upwards(directory) {
            if self.is_repository(&step)? {
                return Ok(Some(step));
            }
        }
        Ok(None)
    }

    /// The bytes of a regular file, unless it is larger than `limit` bytes.
    fn read(&self, path: &RepoPath, limit: u64) -> Result<Content, Error>;

    /// Reads the log at a path. If the log is longer than `most` bytes, a source may return only the last `most`
    /// bytes.
    fn read_log(&self, path: &RepoPath, _most: u64) -> Result<ObservedLog, Error> {
        // A log only grows, so the limit of artifacts is not for it.
        Ok(ObservedLog::of(self.read(path, u64::MAX - 1)?))
    }

    /// The blob id of the regular file at a path, if it is known without reading the file.
    fn blob_id(&self, _path: &RepoPath) -> Option<Digest> {
        None
    }

    /// The format of the ids of the files.
    fn format(&self) -> ObjectFormat;

    /// The blob id that `git add` would store for these bytes at this path. Returns an error if a filter fails.
    fn digest(&self, _path: &RepoPath, bytes: &[u8]) -> Result<Digest, Error> {
        Ok(self.format().blob(bytes))
    }
}

/// How many bytes of a log are read. A log of ten thousand steps has less than a tenth of it.
const MAX_LOG: u64 = 256 << 20;

/// The bytes of a file, or why there are none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Content {
    /// The whole contents of the file.
    Bytes(Vec<u8>),
    /// The file is larger than the limit; its size in bytes.
    TooLarge(u64),
    /// There is no such file.
    Missing,
    /// The path exists but is not a readable regular file; the reason.
    Unreadable(String),
    /// The file exists, but its bytes are not in this clone.
    Absent,
}

impl Content {
    /// Whether there are bytes with this blob id.
    #[must_use]
    pub fn is_blob(&self, id: Digest) -> bool {
        matches!(self, Self::Bytes(bytes) if id.format().blob(bytes) == id)
    }
}

/// A child of a directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Child {
    /// The last part of the path.
    pub name: String,
    /// Whether it is itself a directory.
    pub is_directory: bool,
    /// The names of its direct children, if this is a directory whose name is not UTF-8; `name` then shows it
    /// as far as possible.
    pub unnameable: Option<Vec<String>>,
}

impl Child {
    /// The direct children of a directory, given the sorted paths of all files below it; `None` if there are
    /// no files.
    #[must_use]
    pub fn of_paths<'p>(
        directory: &RepoPath,
        paths: impl Iterator<Item = &'p RepoPath>,
    ) -> Option<Vec<Self>> {
        let mut children: Vec<Self> = Vec::new();
        for below in paths.filter_map(|path| path.below(directory)) {
            let (name, is_directory) = below
                .split_once('/')
                .map_or((below, false), |(name, _)| (name, true));
            if children.last().is_none_or(|last| last.name != name) {
                children.push(Self::new(name, is_directory));
            }
        }
        (!children.is_empty()).then_some(children)
    }

    /// A child whose name is UTF-8.
    #[must_use]
    pub fn new(name: impl Into<String>, is_directory: bool) -> Self {
        Self {
            name: name.into(),
            is_directory,
            unnameable: None,
        }
    }
}

/// An entry of a task's directory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// The path; of a name that is not UTF-8, a lossy rendering.
    pub path: String,
    /// The kind of the entry.
    pub kind: EntryKind,
    /// Whether the file is executable.
    pub executable: bool,
    /// The file system's stamp; `None` for directories and for entries that are not in a file system.
    pub stamp: Option<FileStamp>,
}

/// What a name in a directory stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A symbolic link.
    Symlink,
    /// A directory; listed only so that a directory in place of a file can be reported.
    Directory,
    /// A directory that is a repository of its own and so does not belong to the task.
    Repository,
    /// A FIFO, a device or a socket.
    Special,
    /// A name that is not UTF-8.
    NotUtf8,
}

/// Computes the blob id that git would store for a file of the work directory.
pub trait Clean {
    /// The format of the ids.
    fn format(&self) -> ObjectFormat;

    /// The blob id after clean filters and line-ending conversion. Returns the reason if a filter fails.
    fn digest(&self, path: &RepoPath, bytes: &[u8]) -> Result<Digest, Reason>;
}

/// Outside git: hashes bytes as they are.
pub struct Raw;

impl Clean for Raw {
    fn format(&self) -> ObjectFormat {
        ObjectFormat::default()
    }

    fn digest(&self, _path: &RepoPath, bytes: &[u8]) -> Result<Digest, Reason> {
        Ok(self.format().blob(bytes))
    }
}

/// The work directory as a source.
pub struct WorkDir<'c> {
    root: PathBuf,
    clean: &'c dyn Clean,
}

impl<'c> WorkDir<'c> {
    /// The source for the files below `root`.
    #[must_use]
    pub fn new(root: &Path, clean: &'c dyn Clean) -> Self {
        Self {
            root: root.to_owned(),
            clean,
        }
    }

    /// What the walk found at a path; `None` if it was deleted meanwhile.
    fn entry(&self, entry: &walkdir::DirEntry) -> Result<Option<Entry>, Error> {
        let relative = entry
            .path()
            .strip_prefix(&self.root)
            .unwrap_or(entry.path());
        let path = relative.to_string_lossy().into_owned();
        let kind = match (relative.to_str(), entry.file_type()) {
            (None, _) => EntryKind::NotUtf8,
            (Some(_), kind) if kind.is_file() => EntryKind::File,
            (Some(_), kind) if kind.is_symlink() => EntryKind::Symlink,
            (Some(_), kind) if kind.is_dir() => EntryKind::Directory,
            (Some(_), _) => EntryKind::Special,
        };
        // The stamp of a directory says nothing about the files in it.
        let metadata = match kind {
            EntryKind::Directory => None,
            _ => match entry.path().symlink_metadata() {
                Err(error) if is_missing(&error) => return Ok(None),
                metadata => Some(metadata.map_err(|source| io_error(entry.path(), source))?),
            },
        };
        let metadata = metadata.filter(|metadata| !metadata.is_dir());
        let executable = kind == EntryKind::File && metadata.as_ref().is_some_and(is_executable);
        Ok(Some(Entry {
            path,
            kind,
            executable,
            stamp: metadata.as_ref().and_then(FileStamp::of),
        }))
    }

    /// The metadata of a path itself, not of what it links to; `None` if there is no such path.
    fn metadata(path: &Path) -> Result<Option<fs::Metadata>, Error> {
        metadata_if_there(path).map_err(|source| io_error(path, source))
    }

    /// Whether a directory is the root of a repository. In submodules and linked work trees `.git` is a file.
    fn is_repository_at(directory: &Path) -> Result<bool, Error> {
        let mark = directory.join(".git");
        // Whoever may not enter the directory is not told of a file in it that need not be there.
        match metadata_if_there(&mark).map_err(|source| io_error(directory, source))? {
            None => Ok(false),
            Some(metadata) if metadata.is_dir() => {
                Ok(Self::metadata(&mark.join("HEAD"))?.is_some())
            }
            Some(_) => Ok(true),
        }
    }
}

/// The metadata of a path itself, not of what it links to; `None` if there is no such path.
fn metadata_if_there(path: &Path) -> io::Result<Option<fs::Metadata>> {
    match path.symlink_metadata() {
        Err(error) if is_missing(&error) => Ok(None),
        metadata => metadata.map(Some),
    }
}

/// Whether an error says that there is nothing at the path. Any other error leaves that open.
fn is_missing(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

fn is_executable(metadata: &std::fs::Metadata) -> bool {
    std::os::unix::fs::PermissionsExt::mode(&metadata.permissions()) & 0o100 != 0
}

/// The directory in a task directory for notes and logs of runs; it is not part of the task.
pub const OWN_DIRECTORY: &str = ".orch";

impl Source for WorkDir<'_> {
    fn list(&self, directory: &RepoPath) -> Result<Vec<Entry>, Error> {
        let start = directory.under(&self.root);
        let walk = WalkDir::new(&start)
            .follow_links(false)
            .follow_root_links(false)
            .sort_by_file_name();
        let mut entries = Vec::new();
        let marked = RefCell::new(Vec::new());
        let walk = walk.into_iter().filter_entry(|entry| {
            let is_mark = entry.depth() > 0 && entry.file_name() == ".git";
            if is_mark {
                let holder = entry.path().parent().filter(|holder| *holder != self.root);
                marked.borrow_mut().extend(holder.map(Path::to_owned));
            }
            entry.depth() == 0 || (!is_mark && entry.file_name() != OWN_DIRECTORY)
        });
        for entry in walk {
            let error = match entry {
                Ok(entry) if entry.depth() == 0 => {
                    if !entry.file_type().is_dir() {
                        return Ok(Vec::new());
                    }
                    continue;
                }
                Ok(entry) => {
                    entries.extend(self.entry(&entry)?);
                    continue;
                }
                Err(error) => error,
            };
            let path = error.path().unwrap_or(&start).to_owned();
            let error = io::Error::from(error);
            if is_missing(&error) {
                continue;
            }
            return Err(io_error(&path, error));
        }
        for holder in marked.into_inner() {
            if !Self::is_repository_at(&holder)? {
                continue;
            }
            let path = holder.strip_prefix(&self.root).unwrap_or(&holder);
            entries.retain(|entry| !Path::new(&entry.path).starts_with(path));
            let path = path.to_string_lossy().into_owned();
            entries.push(Entry {
                path,
                kind: EntryKind::Repository,
                executable: false,
                stamp: None,
            });
        }
        Ok(entries)
    }

    fn entry_at(&self, path: &RepoPath) -> Result<Option<Entry>, Error> {
        let target = path.under(&self.root);
        match WalkDir::new(&target)
            .max_depth(0)
            .follow_links(false)
            .into_iter()
            .next()
        {
            Some(Ok(entry)) => self.entry(&entry),
            Some(Err(error)) => match io::Error::from(error) {
                error if is_missing(&error) => Ok(None),
                error => Err(io_error(&target, error)),
            },
            None => Ok(None),
        }
    }

    fn children(&self, directory: &RepoPath) -> Result<Option<Vec<Child>>, Error> {
        let start = directory.under(&self.root);
        let fail = |source| io_error(&start, source);
        let entries = match fs::read_dir(&start) {
            Err(error) if is_missing(&error) => return Ok(None),
            entries => entries.map_err(fail)?,
        };
        let mut children = Vec::new();
        for entry in entries {
            let entry = entry.map_err(fail)?;
            let is_directory = match entry.file_type() {
                Err(error) if is_missing(&error) => continue,
                kind => kind.map_err(fail)?.is_dir(),
            };
            match entry.file_name().into_string() {
                Ok(name) if name == ".git" => {}
                Ok(name) => children.push(Child::new(name, is_directory)),
                Err(name) if is_directory => {
                    let mut names = Vec::new();
                    for inside in fs::read_dir(entry.path()).map_err(fail)? {
                        names.extend(inside.map_err(fail)?.file_name().into_string());
                    }
                    let unnameable = Some(names);
                    children.push(Child {
                        name: name.to_string_lossy().into_owned(),
                        is_directory,
                        unnameable,
                    });
                }
                Err(_) => {}
            }
        }
        children.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(Some(children))
    }

    fn is_behind_link(&self, directory: &RepoPath) -> Result<bool, Error> {
        for step in upwards(directory) {
            if Self::metadata(&step.under(&self.root))?
                .is_some_and(|metadata| metadata.is_symlink())
            {
                return Ok(true);
            }
        }
        Ok(false)
    }

    fn is_repository(&self, directory: &RepoPath) -> Result<bool, Error> {
        Self::is_repository_at(&directory.under(&self.root))
    }

    fn read(&self, path: &RepoPath, limit: u64) -> Result<Content, Error> {
        let target = path.under(&self.root);
        let (file, size) = match open_with_size(&target) {
            Ok(Some(opened)) => opened,
            Ok(None) => return Ok(Content::Unreadable("it is not a regular file".to_owned())),
            Err(error) if is_missing(&error) => return Ok(Content::Missing),
            Err(error) => return Err(io_error(&target, error)),
        };
        let read = read_sized(&file, size, limit);
        Ok(match read.map_err(|error| io_error(&target, error))? {
            Some(bytes) => Content::Bytes(bytes),
            None => Content::TooLarge(size.max(limit.saturating_add(1))),
        })
    }

    fn read_log(&self, path: &RepoPath, most: u64) -> Result<ObservedLog, Error> {
        let target = path.under(&self.root);
        let fail = |source| io_error(&target, source);
        let (mut file, length) = match open_with_size(&target) {
            Ok(Some(opened)) => opened,
            Err(error) if is_missing(&error) => return Ok(ObservedLog::Missing),
            Ok(None) => return Ok(ObservedLog::Unreadable),
            Err(error) => return Err(fail(error)),
        };
        let skipped = length.saturating_sub(most);
        if skipped > 0 {
            file.seek(SeekFrom::Start(skipped)).map_err(fail)?;
        }
        Ok(
            match read_sized(&file, length - skipped, MAX_LOG).map_err(fail)? {
                None => ObservedLog::Unreadable,
                Some(bytes) if skipped == 0 => ObservedLog::Whole(bytes),
                Some(bytes) => ObservedLog::End(LogEnd {
                    length: skipped + bytes.len() as u64,
                    bytes,
                    held: None,
                }),
            },
        )
    }

    fn format(&self) -> ObjectFormat {
        self.clean.format()
    }

    fn digest(&self, path: &RepoPath, bytes: &[u8]) -> Result<Digest, Error> {
        self.clean
            .digest(path, bytes)
            .map_err(|message| Error::new(Code::Git, format!("{path}: {message}")))
    }
}

/// A directory and the directories above it, below the root of the repository.
fn upwards(directory: &RepoPath) -> impl Iterator<Item = RepoPath> {
    std::iter::successors(Some(directory.clone()), RepoPath::parent)
        .filter(|step| !step.as_str().is_empty())
}

/// The part of a task's `transcript.jsonl` that was read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ObservedLog {
    /// There is no log.
    Missing,
    /// The log exists but cannot be read.
    Unreadable,
    /// The whole log.
    Whole(Vec<u8>),
    /// The end of the log.
    End(LogEnd),
}

/// The last bytes of a log that is too long to be read whole at every look.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LogEnd {
    /// The size of the whole log, in bytes.
    pub length: u64,
    /// The last bytes of the log.
    pub bytes: Vec<u8>,
    /// The blob of the log in HEAD, if its size and the state beside it match those in the work directory.
    pub held: Option<Digest>,
}

impl ObservedLog {
    /// The log as the content of a whole file.
    pub fn of(content: Content) -> Self {
        match content {
            Content::Bytes(bytes) => Self::Whole(bytes),
            Content::Missing => Self::Missing,
            Content::TooLarge(_) | Content::Unreadable(_) | Content::Absent => Self::Unreadable,
        }
    }

    /// Whether a log exists.
    #[must_use]
    pub fn is_there(&self) -> bool {
        *self != Self::Missing
    }

    /// The bytes of the log, if the whole log was read.
    #[must_use]
    pub fn whole(&self) -> Option<&[u8]> {
        match self {
            Self::Whole(bytes) => Some(bytes),
            _ => None,
        }
    }

    /// The end of the log, if only that was read.
    #[must_use]
    pub fn end(&self) -> Option<&LogEnd> {
        match self {
            Self::End(end) => Some(end),
            _ => None,
        }
    }
}

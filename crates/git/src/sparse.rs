//! The work tree as a source of files, including those that a sparse checkout leaves out, which are read from
//! the index.

use super::ls_files::{Listed, path_of};
use super::sources::entry;
use super::staged::StagedFile;
use super::{Error, Index, Store};
use orch_base::{Digest, ObjectFormat, Place, RepoPath};
use orch_files::{Child, Content, Entry, ObservedLog, Source, WorkDir};
use std::cell::{OnceCell, RefCell};
use std::collections::BTreeMap;

/// The files left out, by the directory that was listed.
type LeftOut = BTreeMap<RepoPath, Vec<StagedFile>>;

/// The files of the work tree, and those that a sparse checkout leaves out.
pub struct WorkTree<'s> {
    files: WorkDir<'s>,
    index: Index<'s>,
    is_sparse: OnceCell<bool>,
    left_out: RefCell<LeftOut>,
}

impl Index<'_> {
    /// The files below these paths that are missing because git left them out of the work tree. Returns an
    /// error if git fails.
    pub fn left_out(&self, paths: &[RepoPath]) -> Result<Vec<StagedFile>, Error> {
        let mut arguments = vec![
            "--literal-pathspecs",
            "ls-files",
            "-t",
            "--stage",
            "-z",
            "--full-name",
            "--",
        ];
        arguments.extend(paths.iter().map(|path| {
            if path.as_str().is_empty() {
                "."
            } else {
                path.as_str()
            }
        }));
        let listed = self.git.git(&arguments, &[])?;
        let lines = listed.split(|byte| *byte == 0);
        let absent = |file: &StagedFile| {
            file.path
                .under(self.layout.root)
                .symlink_metadata()
                .is_err()
        };
        Ok(lines.filter_map(skipped).filter(absent).collect())
    }

    /// Whether sparse checkout may be in use.
    #[must_use]
    pub fn is_sparse(&self) -> bool {
        self.objects
            .repo
            .path()
            .join("info/sparse-checkout")
            .exists()
    }
}

/// Parses a line `S MODE BLOB STAGE<TAB>PATH`; the `S` marks a file with the skip-worktree bit.
fn skipped(line: &[u8]) -> Option<StagedFile> {
    let Listed {
        mode, blob, path, ..
    } = Listed::read(line.strip_prefix(b"S ")?)?;
    Some(StagedFile {
        path: path_of(path)?,
        blob,
        mode,
    })
}

impl<'s> WorkTree<'s> {
    /// The work tree of a repository as a source.
    #[must_use]
    pub fn of(store: &'s Store) -> Self {
        Self {
            files: WorkDir::new(&store.root, store),
            index: store.index(),
            is_sparse: OnceCell::new(),
            left_out: RefCell::default(),
        }
    }

    /// Like [`Index::is_sparse`], asked once.
    fn is_sparse(&self) -> bool {
        *self.is_sparse.get_or_init(|| self.index.is_sparse())
    }

    /// The files left out below a directory; git is asked once per directory.
    fn below(&self, directory: &RepoPath) -> Result<Vec<StagedFile>, Error> {
        if !self.is_sparse() {
            return Ok(Vec::new());
        }
        if let Some(known) = self.left_out.borrow().get(directory) {
            return Ok(known.clone());
        }
        let found = self.index.left_out(std::slice::from_ref(directory))?;
        self.left_out
            .borrow_mut()
            .insert(directory.clone(), found.clone());
        Ok(found)
    }

    /// The file at a path, if it is left out.
    fn at(&self, path: &RepoPath) -> Result<Option<StagedFile>, Error> {
        if !self.is_sparse() {
            return Ok(None);
        }
        let known = self
            .left_out
            .borrow()
            .keys()
            .find(|known| path.below(known).is_some())
            .cloned();
        // Lists the whole directory, because more of its files will be needed; but not the root, which would
        // list everything.
        let around = path.parent().filter(|parent| !parent.as_str().is_empty());
        let asked = known.or(around).unwrap_or_else(|| path.clone());
        Ok(self
            .below(&asked)?
            .into_iter()
            .find(|file| file.path == *path))
    }
}

impl Source for WorkTree<'_> {
    fn list(&self, directory: &RepoPath) -> Result<Vec<Entry>, Error> {
        let mut entries = self.files.list(directory)?;
        let left_out = self
            .below(directory)
            .map_err(|error| refused(directory, error))?;
        entries.extend(left_out.iter().map(|file| entry(&file.path, file.mode)));
        self.index.filters.note_attributes(directory, &entries);
        Ok(entries)
    }

    fn entry_at(&self, path: &RepoPath) -> Result<Option<Entry>, Error> {
        if let Some(present) = self.files.entry_at(path)? {
            return Ok(Some(present));
        }
        let left_out = self.at(path).map_err(|error| refused(path, error))?;
        Ok(left_out.map(|file| entry(&file.path, file.mode)))
    }

    fn children(&self, directory: &RepoPath) -> Result<Option<Vec<Child>>, Error> {
        self.files.children(directory)
    }

    fn is_behind_link(&self, directory: &RepoPath) -> Result<bool, Error> {
        self.files.is_behind_link(directory)
    }

    fn is_repository(&self, directory: &RepoPath) -> Result<bool, Error> {
        self.files.is_repository(directory)
    }

    fn read(&self, path: &RepoPath, limit: u64) -> Result<Content, Error> {
        match self.files.read(path, limit)? {
            Content::Missing => {
                let file = self.at(path).map_err(|error| refused(path, error))?;
                let blob = file.map(|file| (file.blob, file.mode));
                self.index
                    .objects
                    .content(blob, limit)
                    .map_err(|error| refused(path, error))
            }
            present => Ok(present),
        }
    }

    fn read_log(&self, path: &RepoPath, most: u64) -> Result<ObservedLog, Error> {
        match self.files.read_log(path, most)? {
            // It may be left out, and then all of it is in the index.
            ObservedLog::Missing => Ok(ObservedLog::of(self.read(path, u64::MAX - 1)?)),
            present => Ok(present),
        }
    }

    fn format(&self) -> ObjectFormat {
        self.index.objects.format()
    }

    fn digest(&self, path: &RepoPath, bytes: &[u8]) -> Result<Digest, Error> {
        match self.at(path).map_err(|error| refused(path, error))? {
            // It comes from the index, so git has already converted it.
            Some(file) => Ok(file.blob),
            None => self.files.digest(path, bytes),
        }
    }
}

fn refused(path: &RepoPath, error: Error) -> Error {
    error.or_at(Place::file(path))
}

//! The index as a source of files: what the next commit would contain.

use super::entries::IndexFile;
use super::index_entry::RawEntry;
use super::ls_files::{Listed, path_of};
use super::read_index::{ReadIndex, read_index};
use super::sources::{entry, refused, regular};
use super::{Error, Index, Objects, cache_tree, digest};
use crate::error::libgit2;
use orch_base::{Digest, ObjectFormat, RepoPath};
use orch_files::{Child, Content, Entry, Source};
use std::collections::HashMap;

/// A file in the index.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StagedFile {
    /// The path, relative to the root of the repository.
    pub path: RepoPath,
    /// The id of the blob at stage 0.
    pub blob: Digest,
    /// The file mode, such as `0o100644`.
    pub mode: u32,
}

/// The index: what the next commit would contain.
pub struct IndexSource<'s> {
    objects: &'s Objects,
    held: StagedFiles,
    unmerged: Vec<RepoPath>,
}

/// The contents of an index.
enum StagedFiles {
    /// A plain index, of which only the needed entries are decoded, and its cached trees.
    Plain {
        index: IndexFile,
        trees: HashMap<Vec<u8>, Digest>,
    },
    /// The files of any other index, in path order.
    Listed(Vec<StagedFile>),
}

impl<'s> Index<'s> {
    /// Reads the current index, or that of `GIT_INDEX_FILE`. Takes no lock and refreshes nothing. Returns an
    /// error if it cannot be read.
    pub fn index_source(&self) -> Result<IndexSource<'s>, Error> {
        let named = self
            .objects
            .environment
            .index_file
            .as_ref()
            .map(|path| self.layout.root.join(path));
        let path = named.unwrap_or_else(|| self.path());
        if let Ok(Some(ReadIndex { index, .. })) = read_index(&path, self.objects.format) {
            let (_, unmerged) = sorted(
                Vec::new(),
                index
                    .unmerged()
                    .filter_map(|entry| path_of(&entry.name))
                    .collect(),
            );
            let trees = index
                .extensions()
                .find(|(signature, _)| *signature == b"TREE");
            let trees = trees
                .and_then(|(_, extension)| cache_tree::read(extension, self.objects.format))
                .unwrap_or_default();
            return Ok(IndexSource {
                objects: self.objects,
                held: StagedFiles::Plain { index, trees },
                unmerged,
            });
        }
        let (files, unmerged) = match self.index_by_library() {
            Ok(read) => read,
            // libgit2 cannot read a split or a sparse index, but git can.
            Err(_) => self.index_by_git()?,
        };
        Ok(IndexSource {
            objects: self.objects,
            held: StagedFiles::Listed(files),
            unmerged,
        })
    }

    fn index_by_library(&self) -> Result<(Vec<StagedFile>, Vec<RepoPath>), Error> {
        let mut index = self.objects.repo.index().map_err(libgit2)?;
        index.read(false).map_err(libgit2)?;
        let mut files = Vec::new();
        let mut unmerged = Vec::new();
        for entry in index.iter() {
            let path = std::str::from_utf8(&entry.path)
                .ok()
                .and_then(|path| RepoPath::new(path).ok());
            let Some(path) = path else { continue };
            if (entry.flags >> 12) & 0x3 != 0 {
                unmerged.push(path);
            } else if entry.flags_extended & INTENT_TO_ADD == 0 {
                files.push(StagedFile {
                    path,
                    blob: digest(entry.id),
                    mode: entry.mode,
                });
            }
        }
        Ok(sorted(files, unmerged))
    }

    fn index_by_git(&self) -> Result<(Vec<StagedFile>, Vec<RepoPath>), Error> {
        let listed = self
            .git
            .git_under_its_index(&["ls-files", "--stage", "-z"])?;
        // An intent-to-add entry is listed with the empty blob.
        let intended = self.git.git_under_its_index(&[
            "diff-files",
            "--name-only",
            "--diff-filter=A",
            "-z",
        ])?;
        let intended: Vec<&[u8]> = intended.split(|byte| *byte == 0).collect();
        let mut files = Vec::new();
        let mut unmerged = Vec::new();
        for Listed {
            mode,
            blob,
            stage,
            path,
        } in Listed::all(&listed)
        {
            let Some(name) = path_of(path) else { continue };
            match stage {
                0 if blob == self.objects.format.blob(b"") && intended.contains(&path) => {}
                0 => files.push(StagedFile {
                    path: name,
                    blob,
                    mode,
                }),
                _ => unmerged.push(name),
            }
        }
        Ok(sorted(files, unmerged))
    }
}

/// The extended flag of an intent-to-add entry.
const INTENT_TO_ADD: u16 = 1 << 13;

fn sorted(
    mut files: Vec<StagedFile>,
    mut unmerged: Vec<RepoPath>,
) -> (Vec<StagedFile>, Vec<RepoPath>) {
    files.sort_by(|a, b| a.path.cmp(&b.path));
    unmerged.sort();
    unmerged.dedup();
    (files, unmerged)
}

/// The file of an entry of a plain index, unless it is unmerged or intent-to-add.
fn file_of(entry: RawEntry<'_>) -> Option<StagedFile> {
    let staged = entry
        .head
        .staged()
        .filter(|staged| entry.head.stage() == 0 && !staged.intended)?;
    let mode = u32::try_from(staged.mode).ok()?;
    Some(StagedFile {
        path: path_of(&entry.name)?,
        blob: staged.blob,
        mode,
    })
}

impl IndexSource<'_> {
    /// The unmerged paths, in order.
    #[must_use]
    pub fn unmerged(&self) -> &[RepoPath] {
        &self.unmerged
    }

    /// The files below a directory, in path order.
    #[must_use]
    pub fn below(&self, directory: &RepoPath) -> Vec<StagedFile> {
        let prefix = prefix_of(directory);
        match &self.held {
            StagedFiles::Plain { index, .. } => {
                let entries = index.entries(index.position(prefix.as_bytes()));
                let below = entries.take_while(|entry| entry.name.starts_with(prefix.as_bytes()));
                below.filter_map(file_of).collect()
            }
            StagedFiles::Listed(files) => listed_below(files, &prefix).to_vec(),
        }
    }

    /// The direct children of a directory, by name; `None` stands for a directory. The cost does not depend
    /// on what is below them.
    pub(super) fn directly_in(&self, directory: &RepoPath) -> Vec<(String, Option<StagedFile>)> {
        let prefix = prefix_of(directory);
        let mut found: Vec<(String, Option<StagedFile>)> = Vec::new();
        match &self.held {
            StagedFiles::Plain { index, .. } => {
                let mut at = index.position(prefix.as_bytes());
                while let Some(entry) = index.entry(at) {
                    let Some(below) = entry.name.strip_prefix(prefix.as_bytes()) else {
                        break;
                    };
                    at += 1;
                    let Some(slash) = below.iter().position(|byte| *byte == b'/') else {
                        let name = String::from_utf8_lossy(below).into_owned();
                        found.extend(file_of(entry).map(|file| (name, Some(file))));
                        continue;
                    };
                    if let Ok(name) = std::str::from_utf8(&below[..slash]) {
                        found.push((name.to_owned(), None));
                    }
                    // `0` follows `/` in ASCII, so this skips everything below the directory.
                    at = index.position(&[prefix.as_bytes(), &below[..slash], b"0"].concat());
                }
            }
            StagedFiles::Listed(files) => {
                for file in listed_below(files, &prefix) {
                    let below = &file.path.as_str()[prefix.len()..];
                    match below.split_once('/') {
                        Some((name, _)) if found.last().is_some_and(|(last, _)| last == name) => {}
                        Some((name, _)) => found.push((name.to_owned(), None)),
                        None => found.push((below.to_owned(), Some(file.clone()))),
                    }
                }
            }
        }
        found
    }

    /// Whether the cache tree of the index says that `name` in a directory is exactly this tree.
    pub(super) fn holds_tree(&self, directory: &RepoPath, name: &str, tree: Digest) -> bool {
        match &self.held {
            StagedFiles::Plain { trees, .. } => {
                let path = prefix_of(directory) + name;
                trees.get(path.as_bytes()) == Some(&tree)
            }
            StagedFiles::Listed(_) => false,
        }
    }

    /// The tree id of a directory, if the cache tree of the index contains it.
    pub(super) fn tree(&self, directory: &RepoPath) -> Option<Digest> {
        match &self.held {
            StagedFiles::Plain { trees, .. } => trees.get(directory.as_str().as_bytes()).copied(),
            StagedFiles::Listed(_) => None,
        }
    }

    /// The file at a path.
    #[must_use]
    pub fn file(&self, path: &RepoPath) -> Option<StagedFile> {
        match &self.held {
            StagedFiles::Plain { index, .. } => index
                .named(path.as_str().as_bytes())
                .find_map(|at| file_of(index.entry(at)?)),
            StagedFiles::Listed(files) => files
                .binary_search_by(|file| file.path.cmp(path))
                .ok()
                .map(|found| files[found].clone()),
        }
    }
}

fn prefix_of(directory: &RepoPath) -> String {
    if directory.as_str().is_empty() {
        String::new()
    } else {
        format!("{directory}/")
    }
}

fn listed_below<'f>(files: &'f [StagedFile], prefix: &str) -> &'f [StagedFile] {
    let start = files.partition_point(|file| file.path.as_str() < prefix);
    let length = files[start..].partition_point(|file| file.path.as_str().starts_with(prefix));
    &files[start..start + length]
}

impl Source for IndexSource<'_> {
    fn list(&self, directory: &RepoPath) -> Result<Vec<Entry>, Error> {
        Ok(self
            .below(directory)
            .iter()
            .map(|file| entry(&file.path, file.mode))
            .collect())
    }

    fn entry_at(&self, path: &RepoPath) -> Result<Option<Entry>, Error> {
        Ok(self.file(path).map(|file| entry(&file.path, file.mode)))
    }

    fn children(&self, directory: &RepoPath) -> Result<Option<Vec<Child>>, Error> {
        let children = self.directly_in(directory);
        let child = |(name, file): &(String, Option<StagedFile>)| Child::new(name, file.is_none());
        Ok((!children.is_empty()).then(|| children.iter().map(child).collect()))
    }

    fn is_behind_link(&self, _directory: &RepoPath) -> Result<bool, Error> {
        Ok(false)
    }

    fn read(&self, path: &RepoPath, limit: u64) -> Result<Content, Error> {
        let blob = self.file(path).map(|file| (file.blob, file.mode));
        self.objects
            .content(blob, limit)
            .map_err(|error| refused(path, error))
    }

    fn blob_id(&self, path: &RepoPath) -> Option<Digest> {
        self.file(path)
            .and_then(|file| regular((file.blob, file.mode)))
    }

    fn format(&self) -> ObjectFormat {
        self.objects.format()
    }
}

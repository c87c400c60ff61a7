//! What `git add` would store: bytes after clean filters and line-ending conversion; see gitattributes(5).

use super::environment::settings;
use super::git::git_id;
use super::{Error, GitProgram, Layout, Objects, durable};
use crate::error::libgit2;
use git2::{AttrCheckFlags, AttrValue};
use orch_base::{Digest, Hint, RepoPath};
use orch_files::{Entry, io_error, open_linked};
use std::borrow::Cow;
use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{HashMap, HashSet};
use std::fs;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;

/// Attributes that convert bytes in a way that only git itself implements; see gitattributes(5).
const CONVERTING: [&str; 3] = ["filter", "working-tree-encoding", "ident"];

/// The bytes from which on git ignores an attribute file, or a file of ignore rules.
const MOST_ATTRIBUTES: u64 = 100 << 20;

/// The name of the attribute files in the work tree.
const ATTRIBUTES: &str = ".gitattributes";

/// What was learned of attribute files since the last look or commit began.
#[derive(Default)]
pub(super) struct Conversions {
    /// Whether one that applies to the files of a directory names a converting attribute; without a directory, of those
    /// outside the work tree.
    converts: HashMap<Option<RepoPath>, bool>,
    /// Directories that were listed, and have none.
    bare: HashSet<RepoPath>,
}

/// What was learned of the filters of a repository.
#[derive(Default)]
pub(super) struct FilterState {
    shared_attributes: OnceCell<Vec<PathBuf>>,
    conversions: RefCell<Conversions>,
    /// How often it was not known without the settings of git whether it converts bytes.
    converted: Cell<u64>,
}

/// How git converts the bytes of the work tree before it stores them.
#[derive(Clone, Copy)]
pub struct Filters<'s> {
    pub(super) objects: &'s Objects,
    pub(super) git: GitProgram<'s>,
    pub(super) layout: Layout<'s>,
    pub(super) state: &'s FilterState,
}

impl Filters<'_> {
    /// Whether git ignores a path. Returns an error if the ignore rules cannot be read.
    pub fn is_ignored(&self, path: &RepoPath) -> Result<bool, Error> {
        self.refuse_special(path, ".gitignore")?;
        self.objects
            .repo
            .is_path_ignored(Path::new(path.as_str()))
            .map_err(libgit2)
    }

    /// The blob id that `git add` would store for these bytes at this path. Returns an error if a filter
    /// fails.
    pub fn digest(&self, path: &RepoPath, bytes: &[u8]) -> Result<Digest, Error> {
        if self.is_stored_as_is(path, bytes)? {
            return Ok(self.objects.format.blob(bytes));
        }
        self.hash_object(path, bytes, &[])
    }

    /// The blob id that `git add` would store of the file in the work tree; `None` if there is no regular file. Returns an
    /// error if it cannot be read or a filter fails.
    pub fn digest_on_disk(&self, path: &RepoPath) -> Result<Option<Digest>, Error> {
        let file = path.under(self.layout.root);
        let bytes = durable::read_if_there(&file).map_err(|source| io_error(&file, source))?;
        bytes.map(|bytes| self.digest(path, &bytes)).transpose()
    }

    /// Whether `git add` would store different bytes. Returns an error if a filter fails.
    pub fn alters(&self, path: &RepoPath, bytes: &[u8]) -> Result<bool, Error> {
        Ok(!self.is_stored_as_is(path, bytes)?
            && self.hash_object(path, bytes, &[])? != self.objects.format.blob(bytes))
    }

    /// The bytes that `git add` would store. Returns an error if a filter fails.
    pub fn clean<'b>(&self, path: &RepoPath, bytes: &'b [u8]) -> Result<Cow<'b, [u8]>, Error> {
        if self.is_stored_as_is(path, bytes)? {
            return Ok(Cow::Borrowed(bytes));
        }
        let id = self.hash_object(path, bytes, &["-w"])?;
        let blob = self.objects.find_blob(self.objects.oid(id)?)?;
        Ok(Cow::Owned(blob.content().to_vec()))
    }

    /// How often it was not known without the settings of git whether it converts bytes.
    pub fn converted(&self) -> u64 {
        self.state.converted.get()
    }

    fn hash_object(
        &self,
        path: &RepoPath,
        bytes: &[u8],
        options: &[&str],
    ) -> Result<Digest, Error> {
        let named = format!("--path={path}");
        let arguments = [&["hash-object", "--stdin", named.as_str()], options].concat();
        let answer = self.git.git(&arguments, bytes)?;
        git_id(&answer)
    }

    /// Whether `git add` would store the bytes unchanged. Without a carriage return, no line-ending setting
    /// has an effect.
    pub fn is_stored_as_is(&self, path: &RepoPath, bytes: &[u8]) -> Result<bool, Error> {
        if bytes.contains(&b'\r') {
            self.state.converted.set(self.state.converted.get() + 1);
            return Ok(false);
        }
        // libgit2 reads the whole index to answer, so ask it only if some attribute file mentions conversion.
        if !self.converts_somewhere(path) {
            return Ok(true);
        }
        self.state.converted.set(self.state.converted.get() + 1);
        self.refuse_special(path, ATTRIBUTES)?;
        for name in CONVERTING {
            if self.has_attribute(path, name)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    /// Whether an attribute of a path is set, or has a value.
    fn has_attribute(&self, path: &RepoPath, name: &str) -> Result<bool, Error> {
        let value = self
            .objects
            .repo
            .get_attr_bytes(Path::new(path.as_str()), name, AttrCheckFlags::default())
            .map_err(libgit2)?;
        Ok(matches!(
            AttrValue::from_bytes(value),
            AttrValue::True | AttrValue::String(_) | AttrValue::Bytes(_)
        ))
    }

    /// Whether git finds a file of the work tree as HEAD holds it, with all conversions. If git cannot tell, it is not.
    pub fn is_as_in_head(&self, path: &str) -> bool {
        self.git
            .git(
                &["diff", "--quiet", "--no-ext-diff", "HEAD", "--", path],
                &[],
            )
            .is_ok()
    }

    /// Whether an attribute makes the stored bytes of a path differ from those in the work tree.
    #[must_use]
    pub fn is_filtered(&self, path: &RepoPath) -> bool {
        self.refuse_special(path, ATTRIBUTES).is_ok()
            && CONVERTING
                .iter()
                .any(|name| self.has_attribute(path, name).is_ok_and(|has| has))
    }

    /// Whether any attribute file that applies to a path, in the directories above it, mentions a converting attribute.
    pub fn converts_somewhere(&self, path: &RepoPath) -> bool {
        self.converts_below(path.parent())
    }

    /// The same for all files of a directory; `None` is what is above the root.
    fn converts_below(&self, directory: Option<RepoPath>) -> bool {
        if let Some(known) = self.state.conversions.borrow().converts.get(&directory) {
            return *known;
        }
        let converts = match &directory {
            None => {
                let own = self.objects.repo.commondir().join("info/attributes");
                self.names_conversion(&own)
                    || self
                        .shared_attributes()
                        .iter()
                        .any(|file| self.names_conversion(file))
            }
            Some(inner) => {
                let is_bare = self.state.conversions.borrow().bare.contains(inner);
                !is_bare && self.names_conversion(&inner.under(self.layout.root).join(ATTRIBUTES))
                    || self.converts_below(inner.parent())
            }
        };
        self.state
            .conversions
            .borrow_mut()
            .converts
            .insert(directory, converts);
        converts
    }

    /// Notes which directories contain files, but no attribute file, so that none is looked for. `listed` are all files
    /// below a directory.
    pub(super) fn note_attributes(&self, directory: &RepoPath, listed: &[Entry]) {
        let mut conversions = self.state.conversions.borrow_mut();
        let mut holders: Vec<RepoPath> = Vec::new();
        for path in listed
            .iter()
            .filter_map(|entry| RepoPath::new(&entry.path).ok())
        {
            if path.name() == ATTRIBUTES {
                holders.extend(path.parent());
                continue;
            }
            let above = std::iter::successors(path.parent(), RepoPath::parent);
            let inside =
                above.take_while(|above| above == directory || above.below(directory).is_some());
            for above in inside {
                if !conversions.bare.insert(above) {
                    break;
                }
            }
        }
        for holder in holders {
            conversions.bare.remove(&holder);
        }
    }

    /// Returns an error if a file of this name above a path is a pipe or the like: libgit2 would wait for it forever.
    pub(super) fn refuse_special(&self, path: &RepoPath, name: &str) -> Result<(), Error> {
        for directory in std::iter::successors(path.parent(), RepoPath::parent) {
            let file = directory.under(self.layout.root).join(name);
            if fs::symlink_metadata(&file)
                .is_ok_and(|found| !found.is_file() && !found.is_dir() && !found.is_symlink())
            {
                let hint = Hint::run(&["rm", &file.to_string_lossy()]);
                return Err(io_error(
                    &file,
                    io::Error::other("it is a pipe, a device or a socket"),
                )
                .with_hint(hint));
            }
            if let Ok(found) = fs::metadata(&file)
                && found.is_file()
                && found.len() >= MOST_ATTRIBUTES
            {
                let why = format!(
                    "it has {} bytes, and git ignores a file so large",
                    found.len()
                );
                return Err(io_error(&file, io::Error::other(why)));
            }
        }
        Ok(())
    }

    /// Clears the cache of attribute files. A look and a commit start with this, so each reads a file once.
    pub fn forget_attributes(&self) {
        *self.state.conversions.borrow_mut() = Conversions::default();
    }

    fn names_conversion(&self, file: &Path) -> bool {
        self.objects.costs.attributes.fetch_add(1, Relaxed);
        names_conversion(file)
    }

    /// Attribute files outside the repository: the user's and the system's; see gitattributes(5).
    fn shared_attributes(&self) -> &[PathBuf] {
        self.state.shared_attributes.get_or_init(|| {
            let config = settings(&self.objects.repo);
            let configured = config
                .as_ref()
                .ok()
                .and_then(|config| config.get_path("core.attributesfile").ok());
            let home = git2::Config::find_global()
                .ok()
                .and_then(|file| Some(file.parent()?.join(".config/git/attributes")));
            let xdg = git2::Config::find_xdg()
                .ok()
                .and_then(|file| Some(file.parent()?.join("attributes")));
            configured
                .into_iter()
                .chain(home)
                .chain(xdg)
                .chain([PathBuf::from("/etc/gitattributes")])
                .collect()
        })
    }
}

fn names_conversion(file: &Path) -> bool {
    let mut text = Vec::new();
    if let Ok(Some(mut file)) = open_linked(file) {
        // git ignores a larger one.
        if file
            .metadata()
            .is_ok_and(|found| found.len() < MOST_ATTRIBUTES)
        {
            let _ = file.read_to_end(&mut text);
        }
    }
    CONVERTING.iter().any(|word| sets(&text, word))
}

/// Whether an attribute file names an attribute elsewhere than where it unsets it.
fn sets(text: &[u8], attribute: &str) -> bool {
    let mut before = None;
    for (at, window) in text.windows(attribute.len()).enumerate() {
        if window == attribute.as_bytes() && before != Some(b'-') {
            return true;
        }
        before = Some(text[at]);
    }
    false
}

#[cfg(test)]
mod tests {
    use super::sets;

    #[test]
    fn an_attribute_that_is_only_unset_is_not_set() {
        for (text, expected) in [
            ("* filter=lfs", true),
            ("filter", true),
            ("* -filter", false),
            ("* -filter\n*.bin filter=lfs", true),
            ("", false),
        ] {
            assert_eq!(sets(text.as_bytes(), "filter"), expected, "{text}");
        }
    }
}

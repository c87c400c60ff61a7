//! Files of objects that a power failure tore: they have their name, and not all of their bytes.
//!
//! git and libgit2 take an object that has a file for one that is written, so that a new commit could rest on such a
//! file; and libgit2 reads one that is cut off for ever. So what a commit is made of is looked at before it is read.
//!
//! All else is looked at once for each boot of the machine, before the first object is read ([`KnownObjects`]). Only an
//! end of the system can tear an object: git, libgit2 and this program write it under another name and rename it when it
//! has all of its bytes, so that a process that is killed, or a disk that is full, leaves at most a file that is no object,
//! and what is written and not yet synced every process sees whole, as long as the system runs. So of objects that were
//! all whole once in this boot, none is torn. What copies files into `.git/objects` by other means, or a disk that is taken
//! away from a running system, can break this; `orch doctor` looks at all objects whatever is kept.

use super::tree::named_in;
use super::{Error, Store, caches, digest, durable};
use crate::base::{Code, Digest, RepoPath};
use crate::scan::{Directory, io_error, open_regular};
use flate2::bufread::ZlibDecoder;
use git2::{Commit, ObjectType, Oid, Tree};
use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, DirEntry};
use std::io::{self, BufRead, BufReader, Read as _};
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering::Relaxed;
use std::sync::{Arc, OnceLock};

/// Where Linux names the boot of the machine: another random number each time.
const BOOT: &str = "/proc/sys/kernel/random/boot_id";
/// Objects with more bytes are not looked at, because they are not read: more than the highest limit in the settings.
const MOST_READ: u64 = 1 << 30;
/// The version of the note, and of what it means.
const VERSION: u32 = 1;

/// Which objects are torn: found once for all stores of a process.
pub(super) type KnownTorn = Arc<OnceLock<KnownObjects>>;

/// What is known of the files of all objects.
///
/// That all are whole is kept in `.git/orch`, with what it was found for: the boot, and the directories of objects, by
/// their numbers, which a copy of the repository does not have. It is not kept, so that each command looks at all files
/// again,
///
/// - if one is torn or cannot be read: then the answer may change at any time;
/// - if the system does not name its boot: nothing else that is cheap tells a boot from the one before;
/// - if nothing may be written, because of permissions or since the command only looks ([`Store::keep_whole`]). Nobody
///   looks for the torn objects of such a repository in its place. A clone that is only read has its objects in packs, and
///   where others write to it, `git gc` limits the number of files.
#[derive(Debug, Default)]
pub(super) struct KnownObjects {
    torn: BTreeMap<Oid, TornFile>,
    /// The note to keep, if all files were looked at now and are whole.
    to_keep: Option<String>,
}

/// What a torn file tells of its object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TornFile {
    /// That it is a blob, which no walk over the history reads.
    Blob,
    /// It may be anything.
    Other,
}

impl Store {
    /// Where an object is, if it has a file of its own.
    pub(super) fn loose_file(&self, id: Oid) -> PathBuf {
        let hex = id.to_string();
        self.objects().join(&hex[..2]).join(&hex[2..])
    }

    /// Removes the file of an object if it is torn. Returns whether it was, and an error if it cannot be read or removed.
    pub(super) fn remove_if_torn(&self, id: Oid) -> Result<bool, Error> {
        if !self.is_torn(id)? {
            return Ok(false);
        }
        let path = self.loose_file(id);
        tracing::warn!(object = %id, "removing an object that a power failure tore");
        let removed = Directory::open(&self.objects(), durable::parent(&path))
            .and_then(|directory| directory.remove_if_there(path.file_name().unwrap_or_default()));
        removed
            .map(|()| true)
            .map_err(|source| io_error(&path, source))
    }

    /// Whether an object has a file that is torn. Returns an error if the file cannot be read.
    fn is_torn(&self, id: Oid) -> Result<bool, Error> {
        torn_file(&self.loose_file(id)).map(|torn| torn.is_some())
    }

    /// The error for an object with a torn file.
    #[must_use]
    pub fn torn(object: Digest) -> Error {
        let what = "its file is empty or cut short, as a power failure leaves it";
        let hint = "git fsck; then remove the file, and fetch the object from another clone or stage the file again";
        Error::new(Code::Git, format!("the object {object} is torn: {what}"))
            .with_hint(hint.to_owned())
    }

    /// Keeps for this boot that no object is torn, if that was found now. A failure is ignored: the next command looks
    /// at the objects again.
    pub fn keep_whole(&self) {
        if let Some(note) = &self.known_objects().to_keep
            && self.own_directory().is_ok()
        {
            let _ =
                durable::write_derived(self.repo.path(), &self.own(caches::WHOLE), note.as_bytes());
        }
    }

    /// Returns an error if an object that libgit2 is to read has a torn file, here or in an alternate.
    pub(super) fn refuse_torn(&self, id: Oid) -> Result<(), Error> {
        if !self.known_objects().torn.contains_key(&id) {
            return Ok(());
        }
        let hex = id.to_string();
        for directory in self.object_directories()? {
            // It may have been replaced since.
            if torn_file(&directory.join(&hex[..2]).join(&hex[2..]))?.is_some() {
                return Err(Self::torn(digest(id)));
            }
        }
        Ok(())
    }

    /// The same, and for what a tag points to.
    pub(super) fn refuse_torn_tags(&self, mut id: Oid) -> Result<(), Error> {
        while self.has_torn_history() {
            self.refuse_torn(id)?;
            match self.repo.find_tag(id) {
                Ok(tag) => id = tag.target_id(),
                Err(_) => break,
            }
        }
        Ok(())
    }

    /// Returns an error if a commit among these and their ancestors has a torn file. libgit2 reads commits ahead of a
    /// walk, so that each cannot be looked at before it is read; but only a damaged repository is searched.
    pub(super) fn refuse_torn_history(&self, from: &[Digest]) -> Result<(), Error> {
        if !self.has_torn_history() {
            return Ok(());
        }
        let mut left = from
            .iter()
            .map(|commit| self.oid(*commit))
            .collect::<Result<Vec<_>, _>>()?;
        let mut seen = BTreeSet::new();
        while let Some(id) = left.pop() {
            if seen.insert(id) {
                left.extend(self.commit_if_held(id)?.iter().flat_map(Commit::parent_ids));
            }
        }
        Ok(())
    }

    /// Whether a torn object may be a commit, a tree or a tag.
    pub(super) fn has_torn_history(&self) -> bool {
        self.known_objects()
            .torn
            .values()
            .any(|file| *file == TornFile::Other)
    }

    /// The objects with torn files, in order, whatever is kept. Returns an error if a file or a directory of objects
    /// cannot be read.
    pub fn torn_objects(&self) -> Result<Vec<Digest>, Error> {
        let (torn, failure) = self.search();
        let found = torn.keys().copied().map(digest).collect();
        // What this process reads from now on.
        let _ = self.torn.set(KnownObjects {
            torn,
            to_keep: None,
        });
        failure.map_or(Ok(found), Err)
    }

    fn known_objects(&self) -> &KnownObjects {
        self.torn.get_or_init(|| {
            let note = self.whole_note();
            let kept = durable::text_of(&self.own(caches::WHOLE)).unwrap_or_default();
            if note.as_ref() == Some(&kept) {
                return KnownObjects::default();
            }
            let (torn, failure) = self.search();
            let is_whole = torn.is_empty() && failure.is_none();
            KnownObjects {
                torn,
                to_keep: note.filter(|_| is_whole),
            }
        })
    }

    /// The note that all objects are whole, as of now; `None` where the system does not name its boot.
    fn whole_note(&self) -> Option<String> {
        let boot = fs::read_to_string(BOOT)
            .ok()
            .filter(|boot| !boot.trim().is_empty())?;
        let mut note = format!("{VERSION} {}\n", boot.trim());
        for directory in self.object_directories().ok()? {
            // An alternate that is not there has no objects.
            if let Ok(metadata) = directory.metadata() {
                note += &format!("{}:{}\n", metadata.dev(), metadata.ino());
            }
        }
        Some(note)
    }

    /// Looks at the files of all objects. Returns the torn ones, and the first failure; the rest is looked at in spite
    /// of it.
    fn search(&self) -> (BTreeMap<Oid, TornFile>, Option<Error>) {
        let (mut torn, mut failure) = (BTreeMap::new(), None);
        let directories = self.object_directories().unwrap_or_else(|error| {
            failure = Some(error);
            vec![self.objects()]
        });
        for directory in directories {
            for first in names(&directory, &mut failure)
                .iter()
                .filter(|name| name.len() == 2)
            {
                let below = directory.join(first);
                for rest in names(&below, &mut failure) {
                    let named =
                        Oid::from_str_ext(&format!("{first}{rest}"), self.repo.object_format());
                    self.costs.searched.fetch_add(1, Relaxed);
                    match named.map(|id| {
                        torn_file(&below.join(rest)).map(|torn| torn.map(|torn| (id, torn)))
                    }) {
                        Ok(Ok(found)) => torn.extend(found),
                        Ok(Err(error)) => failure = failure.or(Some(error)),
                        // It is no object.
                        Err(_) => {}
                    }
                }
            }
        }
        (torn, failure)
    }

    /// Returns an error if the file of a directory of a tree above one of these paths is torn. libgit2 reads those that
    /// lead to a path.
    pub(super) fn refuse_torn_above<'p>(
        &self,
        tree: &Tree<'_>,
        paths: impl Iterator<Item = &'p RepoPath>,
    ) -> Result<(), Error> {
        if !self.has_torn_history() {
            return Ok(());
        }
        let above = paths.flat_map(|path| std::iter::successors(path.parent(), RepoPath::parent));
        // A directory comes before what is in it.
        let directories: BTreeSet<RepoPath> =
            above.filter(|path| !path.as_str().is_empty()).collect();
        for directory in &directories {
            let entry =
                named_in(tree, directory)?.filter(|entry| entry.kind() == Some(ObjectType::Tree));
            entry.map_or(Ok(()), |entry| self.refuse_torn(entry.id()))?;
        }
        Ok(())
    }
}

/// The names in a directory; none if it does not exist or cannot be read, which is the failure unless there is one.
fn names(directory: &Path, failure: &mut Option<Error>) -> Vec<String> {
    let named = |entry: io::Result<DirEntry>| Ok(entry?.file_name().into_string().ok());
    match fs::read_dir(directory)
        .and_then(|entries| entries.map(named).collect::<io::Result<Vec<_>>>())
    {
        Ok(names) => names.into_iter().flatten().collect(),
        Err(error) if is_absent(&error) => Vec::new(),
        Err(error) => {
            failure.get_or_insert_with(|| io_error(directory, error));
            Vec::new()
        }
    }
}

fn is_absent(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory
    )
}

/// What a file of an object tells if it is torn; `None` if it is whole or not there. Returns an error if it cannot be
/// read.
fn torn_file(path: &Path) -> Result<Option<TornFile>, Error> {
    match open_regular(path)
        .and_then(|file| file.map_or(Ok(None), |file| torn(BufReader::new(file))))
    {
        Err(error) if is_absent(&error) => Ok(None),
        found => found.map_err(|error| io_error(path, error)),
    }
}

/// What a file of an object tells unless it has all that its first line promises: the kind, the size, and as many bytes.
/// Returns an error if the system fails to read it.
fn torn(file: impl BufRead) -> io::Result<Option<TornFile>> {
    let mut reader = ZlibDecoder::new(file);
    let mut head = Vec::new();
    loop {
        let mut byte = [0];
        match reader.read_exact(&mut byte) {
            Ok(()) if byte == [0] => break,
            Ok(()) if head.len() < 32 => head.push(byte[0]),
            Err(error) if error.raw_os_error().is_some() => return Err(error),
            _ => return Ok(Some(TornFile::Other)),
        }
    }
    let size: Option<u64> = head
        .split(|byte| *byte == b' ')
        .nth(1)
        .and_then(|size| std::str::from_utf8(size).ok()?.parse().ok());
    let is_whole = match size {
        None => false,
        Some(size) if size > MOST_READ => true,
        Some(size) => match io::copy(&mut reader.take(size + 1), &mut io::sink()) {
            Err(error) if error.raw_os_error().is_some() => return Err(error),
            read => read.is_ok_and(|read| read == size),
        },
    };
    let kind = if head.starts_with(b"blob ") {
        TornFile::Blob
    } else {
        TornFile::Other
    };
    Ok((!is_whole).then_some(kind))
}

#[cfg(test)]
mod tests {
    use super::*;
    use flate2::Compression;
    use flate2::write::ZlibEncoder;
    use std::io::Write as _;

    #[test]
    fn a_file_is_whole_only_with_all_of_its_bytes() {
        let file = |text: &[u8]| {
            let mut encoder = ZlibEncoder::new(Vec::new(), Compression::fast());
            encoder.write_all(text).expect("in memory");
            encoder.finish().expect("in memory")
        };
        let whole = file(&[b"blob 3000\0".as_slice(), &[7; 3000]].concat());
        let torn = |bytes: &[u8]| torn(bytes).expect("in memory");
        assert_eq!(torn(&whole), None);
        assert_eq!(torn(&file(b"tree 0\0")), None);
        for length in 0..whole.len() {
            assert!(torn(&whole[..length]).is_some(), "{length} bytes");
            let mut blank = whole[..length].to_vec();
            blank.resize(whole.len(), 0);
            assert!(torn(&blank).is_some(), "blank from {length}");
        }
        assert_eq!(
            torn(&file(b"blob 1073741825\0abc")),
            None,
            "it is never read"
        );
        for text in [
            &b"blob 4\0abc"[..],
            b"blob 2\0abc",
            b"blob",
            b"blob x\0",
            b"\0",
        ] {
            assert!(torn(&file(text)).is_some(), "{text:?}");
        }
    }
}

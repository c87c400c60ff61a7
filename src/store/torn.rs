//! Files of objects that a power failure tore: they have their name, and not all of their bytes.
//!
//! git and libgit2 take an object that has a file for one that is written, so that a new commit could rest on such a
//! file; and libgit2 reads one that is cut off for ever. So what a commit is made of is looked at before it is read.

use super::tree::entry_at;
use super::{Error, Store, durable};
use crate::base::{Code, RepoPath};
use crate::scan::{Directory, io_error};
use flate2::bufread::ZlibDecoder;
use git2::{ObjectType, Oid, Tree};
use std::collections::BTreeSet;
use std::io::{self, Read as _};
use std::path::PathBuf;

impl Store {
    /// Where an object is, if it has a file of its own.
    pub(super) fn loose_file(&self, id: Oid) -> PathBuf {
        let hex = id.to_string();
        self.repo.commondir().join("objects").join(&hex[..2]).join(&hex[2..])
    }

    /// Removes the file of an object if it is torn. Returns whether it was, and an error if it cannot be read or removed.
    pub(super) fn remove_if_torn(&self, id: Oid) -> Result<bool, Error> {
        if !self.is_torn(id)? {
            return Ok(false);
        }
        let path = self.loose_file(id);
        tracing::warn!(object = %id, "removing an object that a power failure tore");
        let removed = Directory::open(self.repo.commondir(), durable::parent(&path))
            .and_then(|directory| directory.remove_if_there(path.file_name().unwrap_or_default()));
        removed.map(|()| true).map_err(|source| io_error(&path, source))
    }

    /// Whether an object has a file that is torn. Returns an error if the file cannot be read.
    fn is_torn(&self, id: Oid) -> Result<bool, Error> {
        let path = self.loose_file(id);
        let held = durable::read_if_there(&path).map_err(|source| io_error(&path, source))?;
        Ok(held.is_some_and(|bytes| !is_whole(&bytes)))
    }

    /// A tree that was written now. Returns an error if its file is torn, or that of a directory in it above one of these
    /// paths.
    pub(super) fn whole_tree<'p>(
        &self,
        id: Oid,
        paths: impl Iterator<Item = &'p RepoPath>,
    ) -> Result<Tree<'_>, Error> {
        self.require_whole(id)?;
        let tree = self.repo.find_tree(id)?;
        let above = paths.flat_map(|path| std::iter::successors(path.parent(), RepoPath::parent));
        // A directory comes before what is in it.
        let directories: BTreeSet<RepoPath> = above.filter(|path| !path.as_str().is_empty()).collect();
        for directory in &directories {
            let entry = entry_at(&tree, directory)?.filter(|entry| entry.kind() == Some(ObjectType::Tree));
            entry.map_or(Ok(()), |entry| self.require_whole(entry.id()))?;
        }
        Ok(tree)
    }

    fn require_whole(&self, id: Oid) -> Result<(), Error> {
        if !self.is_torn(id)? {
            return Ok(());
        }
        let hint = "git fsck".to_owned();
        Err(Error::new(Code::Git, format!("the file of the object {id} is torn")).with_hint(hint))
    }
}

/// Whether the file of an object has all that its first line promises: the kind, the size, and as many bytes.
fn is_whole(file: &[u8]) -> bool {
    let mut reader = ZlibDecoder::new(file);
    let mut head = Vec::new();
    loop {
        let mut byte = [0];
        match reader.read_exact(&mut byte) {
            Ok(()) if byte == [0] => break,
            Ok(()) if head.len() < 32 => head.push(byte[0]),
            _ => return false,
        }
    }
    let size =
        head.split(|byte| *byte == b' ').nth(1).and_then(|size| std::str::from_utf8(size).ok()?.parse().ok());
    size.is_some() && io::copy(&mut reader, &mut io::sink()).ok() == size
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
        assert!(is_whole(&whole));
        assert!(is_whole(&file(b"tree 0\0")));
        for length in 0..whole.len() {
            assert!(!is_whole(&whole[..length]), "{length} bytes");
            let mut blank = whole[..length].to_vec();
            blank.resize(whole.len(), 0);
            assert!(!is_whole(&blank), "blank from {length}");
        }
        for text in [&b"blob 4\0abc"[..], b"blob 2\0abc", b"blob", b"blob x\0", b"\0"] {
            assert!(!is_whole(&file(text)), "{text:?}");
        }
    }
}

//! Objects that have a file of their own, and whether a power failure tore it: it has its name, and not all of its bytes.
//!
//! git and libgit2 take an object that has a file for one that is written, so that a new commit could rest on such a
//! file; and libgit2 reads one that is cut off for ever. So such a file is read here, or looked at before libgit2 reads it.

use super::{Error, Objects, digest, durable};
use flate2::bufread::ZlibDecoder;
use git2::{ObjectType, Oid};
use orch_base::{Code, Digest, Hint};
use orch_files::{Directory, io_error, open_regular};
use std::fs::{self, DirEntry};
use std::io::{self, BufRead, BufReader, Read as _};
use std::path::{Path, PathBuf};

/// Objects with more bytes are left to libgit2: they are more than the highest limit in the settings, and are not read.
const MOST_READ: u64 = 1 << 30;
/// No kind and size of an object have more bytes.
const LONGEST_HEAD: usize = 32;

/// The file of an object.
#[derive(Debug, PartialEq, Eq)]
enum LooseFile {
    /// Its kind and its content.
    Whole(ObjectType, Vec<u8>),
    /// It is too large to be read.
    Large,
    /// It lacks bytes that its first line promises.
    Torn,
}

impl Objects {
    /// Where an object is, if it has a file of its own.
    pub(super) fn loose_file(&self, id: Oid) -> PathBuf {
        place_in(&self.directory(), id)
    }

    /// Removes the file of an object if it is torn. Returns whether it was, and an error if it cannot be read or removed.
    pub(super) fn remove_if_torn(&self, id: Oid) -> Result<bool, Error> {
        let path = self.loose_file(id);
        let found = read_file(&path).map_err(|source| io_error(&path, source))?;
        if found != Some(LooseFile::Torn) {
            return Ok(false);
        }
        tracing::warn!(object = %id, "removing an object that a power failure tore");
        let removed = Directory::open(&self.directory(), durable::parent(&path))
            .and_then(|directory| directory.remove_if_there(path.file_name().unwrap_or_default()));
        removed
            .map(|()| true)
            .map_err(|source| io_error(&path, source))
    }

    /// The error for an object with a torn file.
    #[must_use]
    pub fn torn(object: Digest) -> Error {
        let what = "its file is empty or truncated, as after a power failure";
        let hint = Hint::run(&["git", "fsck"]).text(
            "; then remove the file, and fetch the object from another clone or stage the file again",
        );
        Error::new(Code::Git, format!("the object {object} is torn: {what}")).with_hint(hint)
    }

    /// The kind and the content of an object that has a file of its own, here or in an alternate; `None` if it has none, or
    /// one that libgit2 is to read. Returns an error if it is torn.
    pub(super) fn loose(&self, id: Oid) -> Result<Option<(ObjectType, Vec<u8>)>, Error> {
        for directory in self.known_directories()? {
            // libgit2 has words for what it cannot read.
            match read_file(&place_in(directory, id)).ok().flatten() {
                Some(LooseFile::Whole(kind, content)) => return Ok(Some((kind, content))),
                Some(LooseFile::Torn) => return Err(Self::torn(digest(id))),
                Some(LooseFile::Large) | None => {}
            }
        }
        Ok(None)
    }

    /// Returns an error if an object that libgit2 is to read has a torn file.
    pub(super) fn refuse_torn(&self, id: Oid) -> Result<(), Error> {
        self.loose(id).map(drop)
    }

    /// The same, and for what a tag points to.
    pub(super) fn refuse_torn_tags(&self, mut id: Oid) -> Result<(), Error> {
        loop {
            let found = self.loose(id)?;
            if found.is_some_and(|(kind, _)| kind != ObjectType::Tag) {
                return Ok(());
            }
            match self.repo.find_tag(id) {
                Ok(tag) => id = tag.target_id(),
                Err(_) => return Ok(()),
            }
        }
    }

    /// The objects with torn files, in order. Returns an error if a file or a directory of objects cannot be read.
    pub fn torn_objects(&self) -> Result<Vec<Digest>, Error> {
        let mut torn = Vec::new();
        let mut failure = None;
        for directory in self.object_directories()? {
            for first in names(&directory, &mut failure) {
                if first.len() != 2 {
                    continue;
                }
                let below = directory.join(&first);
                for rest in names(&below, &mut failure) {
                    let Some(id) = Digest::parse(&format!("{first}{rest}")) else {
                        continue;
                    };
                    let path = below.join(rest);
                    match read_file(&path) {
                        Ok(Some(LooseFile::Torn)) => torn.push(id),
                        Ok(_) => {}
                        Err(error) => failure = failure.or(Some(io_error(&path, error))),
                    }
                }
            }
        }
        torn.sort();
        failure.map_or(Ok(torn), Err)
    }
}

fn place_in(objects: &Path, id: Oid) -> PathBuf {
    let hex = id.to_string();
    objects.join(&hex[..2]).join(&hex[2..])
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

/// The file of an object; `None` if it is not there. Returns an error if it cannot be read.
fn read_file(path: &Path) -> io::Result<Option<LooseFile>> {
    let file = match open_regular(path) {
        Err(error) if is_absent(&error) => return Ok(None),
        opened => opened?,
    };
    file.map(|file| decode(BufReader::new(file))).transpose()
}

/// Decodes the file of an object: its first line promises the kind, the size, and as many bytes. Returns an error if the
/// system fails to read it.
fn decode(file: impl BufRead) -> io::Result<LooseFile> {
    let mut reader = ZlibDecoder::new(file);
    let mut head = Vec::new();
    loop {
        let mut byte = [0];
        match reader.read_exact(&mut byte) {
            Ok(()) if byte == [0] => break,
            Ok(()) if head.len() < LONGEST_HEAD => head.push(byte[0]),
            Err(error) if error.raw_os_error().is_some() => return Err(error),
            _ => return Ok(LooseFile::Torn),
        }
    }
    let head = String::from_utf8_lossy(&head);
    let Some((kind, size)) = head.split_once(' ') else {
        return Ok(LooseFile::Torn);
    };
    let (Some(kind), Ok(size)) = (ObjectType::from_str(kind), size.parse::<u64>()) else {
        return Ok(LooseFile::Torn);
    };
    if size > MOST_READ {
        return Ok(LooseFile::Large);
    }
    let mut content = Vec::with_capacity(usize::try_from(size.min(1 << 20)).unwrap_or_default());
    match reader.take(size + 1).read_to_end(&mut content) {
        Err(error) if error.raw_os_error().is_some() => Err(error),
        Ok(read) if read as u64 == size => Ok(LooseFile::Whole(kind, content)),
        _ => Ok(LooseFile::Torn),
    }
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
        let content = vec![7; 3000];
        let whole = file(&[b"blob 3000\0".as_slice(), &content].concat());
        let read = |bytes: &[u8]| decode(bytes).expect("in memory");
        assert_eq!(read(&whole), LooseFile::Whole(ObjectType::Blob, content));
        let empty = LooseFile::Whole(ObjectType::Tree, Vec::new());
        assert_eq!(read(&file(b"tree 0\0")), empty);
        for length in 0..whole.len() {
            assert_eq!(read(&whole[..length]), LooseFile::Torn, "{length} bytes");
            let mut blank = whole[..length].to_vec();
            blank.resize(whole.len(), 0);
            assert_eq!(read(&blank), LooseFile::Torn, "blank from {length}");
        }
        assert_eq!(read(&file(b"blob 1073741825\0abc")), LooseFile::Large);
        for text in [
            &b"blob 4\0abc"[..],
            b"blob 2\0abc",
            b"blob",
            b"blob x\0",
            b"\0",
        ] {
            assert_eq!(read(&file(text)), LooseFile::Torn, "{text:?}");
        }
    }
}

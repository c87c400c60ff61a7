//! Digests of content that a schema is known to accept, so that such content needs no validation.
//!
//! Compiling the first schema of a process costs more than everything else that a query does, so known
//! results are stored next to the repository, in small files by the first byte of the content's digest.

use crate::base::Digest;
use crate::workflow::Format;
use std::collections::HashSet;
use std::fs::{self, File};
use std::io::Write;
use std::path::PathBuf;
use std::sync::{Mutex, MutexGuard, PoisonError};

/// The digest of the content, the digest of the schema that accepts it, and the format.
type ValidDigests = (Digest, Digest, Format);

/// A file that grows beyond this size is started anew.
const MAX_BYTES: u64 = 128 << 10;

/// Content that a schema is known to accept.
#[derive(Default)]
pub struct ValidationCache {
    kept_in: Option<PathBuf>,
    only_read: bool,
    inner: Mutex<CacheInner>,
}

#[derive(Default)]
struct CacheInner {
    valid: HashSet<ValidDigests>,
    loaded: HashSet<u8>,
    new: Vec<ValidDigests>,
}

impl ValidationCache {
    /// A cache stored in a directory, which is created on first use.
    #[must_use]
    pub fn kept_in(directory: PathBuf) -> Self {
        Self { kept_in: Some(directory), only_read: false, inner: Mutex::default() }
    }

    /// A cache read from a directory; new results are not stored.
    #[must_use]
    pub fn known_in(directory: PathBuf) -> Self {
        Self { kept_in: Some(directory), only_read: true, inner: Mutex::default() }
    }

    /// Whether the schema is known to accept this content.
    #[must_use]
    pub fn is_valid(&self, content: Digest, schema: Digest, format: Format) -> bool {
        let mut inner = self.inner();
        let shard = content.as_bytes()[0];
        if inner.loaded.insert(shard)
            && let Some(file) = self.file(shard)
            && let Ok(text) = fs::read_to_string(file)
        {
            inner.valid.extend(text.lines().filter_map(parse));
        }
        inner.valid.contains(&(content, schema, format))
    }

    /// Records that the schema accepts this content.
    pub fn note_valid(&self, content: Digest, schema: Digest, format: Format) {
        let mut inner = self.inner();
        if inner.valid.insert((content, schema, format)) && !self.only_read {
            inner.new.push((content, schema, format));
        }
    }

    fn inner(&self) -> MutexGuard<'_, CacheInner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn file(&self, shard: u8) -> Option<PathBuf> {
        Some(self.kept_in.as_ref()?.join(format!("{shard:02x}")))
    }

    /// Appends new results. If that fails, the content is validated again next time.
    fn keep(&self) {
        let mut new = std::mem::take(&mut self.inner().new);
        new.sort_unstable_by_key(|(content, ..)| *content);
        for lines in new.chunk_by(|(a, ..), (b, ..)| a.as_bytes()[0] == b.as_bytes()[0]) {
            let Some(file) = lines.first().and_then(|(content, ..)| self.file(content.as_bytes()[0])) else {
                return;
            };
            let begin_anew = fs::metadata(&file).is_ok_and(|known| known.len() > MAX_BYTES);
            let Some(directory) = file.parent() else { return };
            if fs::create_dir_all(directory).is_err() {
                return;
            }
            let text: String = lines
                .iter()
                .map(|(content, schema, format)| format!("{content} {schema} {}\n", format.as_str()))
                .collect();
            let opened =
                File::options().create(true).append(!begin_anew).write(true).truncate(begin_anew).open(&file);
            // One write of whole lines, so a concurrent reader sees all of them or none.
            let _ = opened.and_then(|mut file| file.write_all(text.as_bytes()));
        }
    }
}

impl Drop for ValidationCache {
    fn drop(&mut self) {
        self.keep();
    }
}

fn parse(line: &str) -> Option<ValidDigests> {
    let mut words = line.split(' ');
    let known = (Digest::parse(words.next()?)?, Digest::parse(words.next()?)?, Format::named(words.next()?)?);
    words.next().is_none().then_some(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_noted_is_known_to_the_next() {
        let home = tempfile::tempdir().expect("a directory");
        let (a, b, schema) = (Digest::of_blob(b"a"), Digest::of_blob(b"b"), Digest::of_blob(b"s"));
        {
            let validations = ValidationCache::kept_in(home.path().join("valid"));
            assert!(!validations.is_valid(a, schema, Format::Json));
            validations.note_valid(a, schema, Format::Json);
            validations.note_valid(b, schema, Format::Markdown);
        }
        let validations = ValidationCache::kept_in(home.path().join("valid"));
        assert!(validations.is_valid(a, schema, Format::Json));
        assert!(validations.is_valid(b, schema, Format::Markdown));
        assert!(!validations.is_valid(a, schema, Format::Markdown));
        assert!(!validations.is_valid(a, b, Format::Json));
    }

    #[test]
    fn a_truncated_line_is_ignored() {
        let home = tempfile::tempdir().expect("a directory");
        let (content, schema) = (Digest::of_blob(b"a"), Digest::of_blob(b"s"));
        let shard = home.path().join(format!("{:02x}", content.as_bytes()[0]));
        fs::write(shard, format!("{content} {}", &schema.to_string()[..30])).expect("written");
        assert!(!ValidationCache::kept_in(home.path().to_owned()).is_valid(content, schema, Format::Json));
    }
}

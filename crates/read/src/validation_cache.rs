//! Digests of content that a schema is known to accept, so that such content needs no validation.
//!
//! Compiling the first schema of a process costs more than everything else that a query does, so known
//! results are stored next to the repository, in small files by the first byte of the content's digest.

use orch_base::{Digest, locked};
use orch_core::workflow::Format;
use orch_files::{Directory, open_regular};
use std::collections::HashSet;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// The digest of the content, the digest of the schema that accepts it, and the format.
type ValidDigests = (Digest, Digest, Format);

/// A file that grows beyond this size is started again.
const MAX_BYTES: u64 = 128 << 10;

/// Content that a schema is known to accept.
#[derive(Default)]
pub struct ValidationCache {
    /// The git directory, and the directory below it.
    kept_in: Option<(PathBuf, PathBuf)>,
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
    /// A cache stored in a directory below `base`, which is created on first use.
    #[must_use]
    pub fn kept_in(base: &Path, directory: PathBuf) -> Self {
        Self {
            kept_in: Some((base.to_owned(), directory)),
            only_read: false,
            inner: Mutex::default(),
        }
    }

    /// The same, but new results are not stored.
    #[must_use]
    pub fn only_read(mut self) -> Self {
        self.only_read = true;
        self
    }

    /// Whether the schema is known to accept this content.
    #[must_use]
    pub fn is_valid(&self, content: Digest, schema: Digest, format: Format) -> bool {
        let mut inner = locked(&self.inner);
        let shard = content.as_bytes()[0];
        if inner.loaded.insert(shard)
            && let Some((_, directory)) = &self.kept_in
            && let Ok(Some(file)) = open_regular(&directory.join(name(shard)))
            && let Ok(text) = std::io::read_to_string(file)
        {
            inner.valid.extend(text.lines().filter_map(parse));
        }
        inner.valid.contains(&(content, schema, format))
    }

    /// Records that the schema accepts this content.
    pub fn note_valid(&self, content: Digest, schema: Digest, format: Format) {
        let mut inner = locked(&self.inner);
        if inner.valid.insert((content, schema, format)) && !self.only_read {
            inner.new.push((content, schema, format));
        }
    }

    /// Appends new results. If that fails, the content is validated again next time.
    fn keep(&self) {
        let mut new = std::mem::take(&mut locked(&self.inner).new);
        let Some((base, directory)) = self.kept_in.as_ref().filter(|_| !new.is_empty()) else {
            return;
        };
        let Ok(directory) = Directory::make(base, directory) else {
            return;
        };
        new.sort_unstable_by_key(|(content, ..)| *content);
        for lines in new.chunk_by(|(a, ..), (b, ..)| a.as_bytes()[0] == b.as_bytes()[0]) {
            let Some(name) = lines
                .first()
                .map(|(content, ..)| name(content.as_bytes()[0]))
            else {
                return;
            };
            let known = directory.path().join(&name).symlink_metadata();
            let begin_anew = known.is_ok_and(|known| known.len() > MAX_BYTES);
            let text: String = lines
                .iter()
                .map(|(content, schema, format)| {
                    format!("{content} {schema} {}\n", format.as_str())
                })
                .collect();
            let opened = if begin_anew {
                directory.create_anew(name)
            } else {
                directory.append(name)
            };
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

/// The name of the file for content whose digest begins with this byte.
fn name(shard: u8) -> String {
    format!("{shard:02x}")
}

fn parse(line: &str) -> Option<ValidDigests> {
    let mut words = line.split(' ');
    let known = (
        Digest::parse(words.next()?)?,
        Digest::parse(words.next()?)?,
        Format::named(words.next()?)?,
    );
    words.next().is_none().then_some(known)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_noted_is_known_to_the_next() {
        let home = tempfile::tempdir().expect("a directory");
        let (a, b, schema) = (
            Digest::of_blob(b"a"),
            Digest::of_blob(b"b"),
            Digest::of_blob(b"s"),
        );
        {
            let validations = ValidationCache::kept_in(home.path(), home.path().join("valid"));
            assert!(!validations.is_valid(a, schema, Format::Json));
            validations.note_valid(a, schema, Format::Json);
            validations.note_valid(b, schema, Format::Markdown);
        }
        let validations = ValidationCache::kept_in(home.path(), home.path().join("valid"));
        assert!(validations.is_valid(a, schema, Format::Json));
        assert!(validations.is_valid(b, schema, Format::Markdown));
        assert!(!validations.is_valid(a, schema, Format::Markdown));
        assert!(!validations.is_valid(a, b, Format::Json));
    }

    #[test]
    fn a_truncated_line_is_ignored() {
        let home = tempfile::tempdir().expect("a directory");
        let content = Digest::of_blob(b"a");
        let schema = Digest::of_blob(b"s");
        let shard = home.path().join(format!("{:02x}", content.as_bytes()[0]));
        std::fs::write(shard, format!("{content} {}", &schema.to_string()[..30])).expect("written");
        assert!(
            !ValidationCache::kept_in(home.path(), home.path().to_owned()).is_valid(
                content,
                schema,
                Format::Json
            )
        );
    }
}

//! What `git add` would store: bytes after clean filters and line-ending conversion.

use super::{Error, Store, digest};
use crate::base::{Digest, RepoPath};
use git2::AttrCheckFlags;
use std::borrow::Cow;
use std::path::Path;

/// Attributes that change bytes in a way only git itself knows (see gitattributes(5)).
const CONVERTING: [&str; 3] = ["filter", "working-tree-encoding", "ident"];

impl Store {
    /// The blob id that `git add` would store for these bytes at this path.
    pub fn digest(&self, path: &RepoPath, bytes: &[u8]) -> Result<Digest, Error> {
        if self.is_stored_as_is(path, bytes)? {
            return Ok(Digest::of_blob(bytes));
        }
        self.hash_object(path, bytes, &[])
    }

    /// The bytes that `git add` would store.
    pub fn clean<'b>(&self, path: &RepoPath, bytes: &'b [u8]) -> Result<Cow<'b, [u8]>, Error> {
        if self.is_stored_as_is(path, bytes)? {
            return Ok(Cow::Borrowed(bytes));
        }
        let id = self.hash_object(path, bytes, &["-w"])?;
        let blob = self.repo.find_blob(super::oid(id)?)?;
        Ok(Cow::Owned(blob.content().to_vec()))
    }

    fn hash_object(&self, path: &RepoPath, bytes: &[u8], options: &[&str]) -> Result<Digest, Error> {
        let named = format!("--path={path}");
        let arguments = [&["hash-object", "--stdin", named.as_str()], options].concat();
        let answer = self.git(&arguments, bytes)?;
        let id = git2::Oid::from_str(String::from_utf8_lossy(&answer).trim())?;
        Ok(digest(id))
    }

    /// Whether nothing would convert these bytes. Without a carriage return no line ending can be
    /// converted on the way in, whatever the settings say.
    fn is_stored_as_is(&self, path: &RepoPath, bytes: &[u8]) -> Result<bool, Error> {
        if bytes.contains(&b'\r') {
            return Ok(false);
        }
        for name in CONVERTING {
            let value = self.repo.get_attr_bytes(Path::new(path.as_str()), name, AttrCheckFlags::default())?;
            if git2::AttrValue::from_bytes(value) != git2::AttrValue::Unspecified {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

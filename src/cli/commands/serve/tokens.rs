//! The two tokens, in a file that only its owner can read.

use crate::base::{Code, Error};
use crate::scan::Directory;
use crate::store::durable;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::fs::Permissions;
use std::io::{self, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

/// The name of the file, in the directory of `orch` that all work trees of a repository share.
pub(super) const FILE: &str = "serve.json";
/// The length of a token in bytes, before it is written in hexadecimal digits.
const BYTES: usize = 32;

/// The tokens of a repository.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Tokens {
    /// Whoever has it acts as the person who started the server.
    pub person: String,
    /// Whoever has it acts as an agent.
    pub agent: String,
}

/// Whose a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum TokenHolder {
    Person,
    Agent,
}

impl Tokens {
    /// The tokens in the file, or new ones if there is none that only its owner can read. `git` is the git directory
    /// that all work trees share. Returns an error if the file cannot be read or written.
    pub(super) fn of(git: &Path) -> Result<Self, Error> {
        let path = git.join("orch").join(FILE);
        let fault = |error: io::Error| {
            let message = format!("cannot keep the tokens in {}: {error}", path.display());
            Error::new(Code::Io, message)
        };
        let directory = Directory::make(git, &git.join("orch")).map_err(fault)?;
        let is_private = |permissions: Permissions| permissions.mode() & 0o077 == 0;
        if directory.permissions(FILE).is_some_and(is_private)
            && let Some(bytes) = durable::read_if_regular(&path).map_err(fault)?
            && let Some(known) = Self::parse(&bytes)
        {
            return Ok(known);
        }
        let made = Self { person: random(BYTES).map_err(fault)?, agent: random(BYTES).map_err(fault)? };
        let written = format!("{FILE}.{}", std::process::id());
        directory.remove_if_there(&written).map_err(fault)?;
        let text = format!("{:#}\n", json!({"person": made.person, "agent": made.agent}));
        let mut file = directory.append_private(&written).map_err(fault)?;
        file.write_all(text.as_bytes()).map_err(fault)?;
        directory.rename(&written, &directory, FILE).map_err(fault)?;
        Ok(made)
    }

    /// Whose a token is; `None` if it is none of the two.
    pub(super) fn holder(&self, token: &str) -> Option<TokenHolder> {
        // What is compared are digests, so the time that it takes says nothing about a token.
        let is = |known: &str| Sha256::digest(token) == Sha256::digest(known);
        match (is(&self.person), is(&self.agent)) {
            (true, _) => Some(TokenHolder::Person),
            (_, true) => Some(TokenHolder::Agent),
            _ => None,
        }
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let document: Value = serde_json::from_slice(bytes).ok()?;
        let token = |key: &str| {
            let token = document[key].as_str().filter(|token| token.len() == 2 * BYTES)?;
            token.bytes().all(|byte| byte.is_ascii_hexdigit()).then(|| token.to_owned())
        };
        let found = Self { person: token("person")?, agent: token("agent")? };
        (found.person != found.agent).then_some(found)
    }
}

/// A word of this many random bytes.
pub(super) fn random(bytes: usize) -> io::Result<String> {
    let mut bytes = vec![0; bytes];
    getrandom::fill(&mut bytes).map_err(io::Error::other)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::os::unix::fs::symlink;

    #[test]
    fn tokens_are_kept_as_long_as_nobody_else_can_read_them() {
        let git = tempfile::tempdir().expect("a directory");
        let path = git.path().join("orch").join(FILE);
        let first = Tokens::of(git.path()).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((first.person.len(), first.agent.len()), (64, 64));
        assert_ne!(first.person, first.agent);
        assert_eq!(fs::metadata(&path).expect("there").permissions().mode() & 0o777, 0o600);
        let again = || Tokens::of(git.path()).unwrap_or_else(|error| panic!("{error}"));
        assert!(again() == first);
        fs::set_permissions(&path, Permissions::from_mode(0o640)).expect("set");
        let second = again();
        assert!(second.person != first.person && second.agent != first.agent);
        assert_eq!(fs::metadata(&path).expect("there").permissions().mode() & 0o777, 0o600);
        fs::write(&path, "{\"person\": \"\", \"agent\": \"\"}").expect("written");
        let third = again();
        assert!(third.person != second.person && third.person.len() == 64);
        // A link is replaced, and what it leads to is left alone.
        let outside = git.path().join("outside");
        fs::rename(&path, &outside).expect("moved");
        symlink(&outside, &path).expect("linked");
        assert!(again() != third);
        assert!(Tokens::parse(&fs::read(&outside).expect("there")).is_some_and(|kept| kept == third));
    }

    #[test]
    fn only_the_whole_token_counts() {
        let tokens = Tokens { person: "ab".repeat(32), agent: "cd".repeat(32) };
        assert_eq!(tokens.holder(&"ab".repeat(32)), Some(TokenHolder::Person));
        assert_eq!(tokens.holder(&"cd".repeat(32)), Some(TokenHolder::Agent));
        for other in [String::new(), "ab".repeat(31), "AB".repeat(32), format!("{} ", "ab".repeat(32))] {
            assert_eq!(tokens.holder(&other), None, "{other}");
        }
    }
}

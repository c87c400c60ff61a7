//! The two tokens, in a file that only its owner can read.

use orch_base::{Code, Error};
use orch_engine::random;
use orch_files::{Directory, FileLock};
use orch_git::durable::{PrivateFile, read_private, write_private};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::io;
use std::path::Path;

/// The name of the file, in the directory of `orch` that all work trees of a repository share.
pub(super) const FILE: &str = "serve.json";
/// The name of the file that is locked while they are made.
const LOCK: &str = "serve.lock";
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

impl TokenHolder {
    /// The holder in a file.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Person => "person",
            Self::Agent => "agent",
        }
    }

    /// The holder with this word.
    pub(super) fn of_word(word: &str) -> Option<Self> {
        [Self::Person, Self::Agent]
            .into_iter()
            .find(|holder| holder.word() == word)
    }
}

impl Tokens {
    /// Words that nobody knows.
    fn random() -> io::Result<Self> {
        Ok(Self {
            person: random(BYTES)?,
            agent: random(BYTES)?,
        })
    }

    /// The tokens in the file, or new ones if there is none that is this user's and that nobody else can read. `git` is
    /// the git directory that all work trees share. Returns an error if the file cannot be read or written.
    pub(super) fn of(git: &Path) -> Result<Self, Error> {
        let path = git.join("orch").join(FILE);
        let fault = |error: io::Error| {
            let message = format!("cannot store the tokens in {}: {error}", path.display());
            Error::new(Code::Io, message)
        };
        let directory = Directory::make(git, &git.join("orch")).map_err(fault)?;
        // If two servers start at once, one makes the tokens and the other reads them.
        let lock = directory.append_private(LOCK).and_then(FileLock::new);
        let _lock = lock.map_err(fault)?;
        if let PrivateFile::Own(bytes) = read_private(&path).map_err(fault)?
            && let Some(known) = Self::parse(&bytes)
        {
            return Ok(known);
        }
        let made = Self::random().map_err(fault)?;
        let text = format!(
            "{:#}\n",
            json!({"person": made.person, "agent": made.agent})
        );
        write_private(&directory, FILE, text.as_bytes()).map_err(fault)?;
        Ok(made)
    }

    /// Whose a token is; `None` if it is none of the two.
    pub(super) fn holder(&self, token: &str) -> Option<TokenHolder> {
        match (is_same(&self.person, token), is_same(&self.agent, token)) {
            (true, _) => Some(TokenHolder::Person),
            (_, true) => Some(TokenHolder::Agent),
            _ => None,
        }
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let document: Value = serde_json::from_slice(bytes).ok()?;
        let token = |key: &str| {
            let token = document[key]
                .as_str()
                .filter(|token| token.len() == 2 * BYTES)?;
            token
                .bytes()
                .all(|byte| byte.is_ascii_hexdigit())
                .then(|| token.to_owned())
        };
        let found = Self {
            person: token("person")?,
            agent: token("agent")?,
        };
        (found.person != found.agent).then_some(found)
    }
}

/// Whether a token is the one that is known. What is compared are digests, so the time that it takes says nothing about
/// the token.
pub(super) fn is_same(known: &str, token: &str) -> bool {
    Sha256::digest(token) == Sha256::digest(known)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::{PermissionsExt, symlink};
    use std::thread;

    #[test]
    fn tokens_are_kept_as_long_as_nobody_else_can_read_them() {
        let git = tempfile::tempdir().expect("a directory");
        let path = git.path().join("orch").join(FILE);
        let first = Tokens::of(git.path()).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!((first.person.len(), first.agent.len()), (64, 64));
        assert_ne!(first.person, first.agent);
        assert_eq!(
            fs::metadata(&path).expect("there").permissions().mode() & 0o777,
            0o600
        );
        let again = || Tokens::of(git.path()).unwrap_or_else(|error| panic!("{error}"));
        assert!(again() == first);
        fs::set_permissions(&path, Permissions::from_mode(0o640)).expect("set");
        let second = again();
        assert!(second.person != first.person && second.agent != first.agent);
        assert_eq!(
            fs::metadata(&path).expect("there").permissions().mode() & 0o777,
            0o600
        );
        fs::write(&path, "{\"person\": \"\", \"agent\": \"\"}").expect("written");
        let third = again();
        assert!(third.person != second.person && third.person.len() == 64);
        // A link is replaced, and what it leads to is left alone.
        let outside = git.path().join("outside");
        fs::rename(&path, &outside).expect("moved");
        symlink(&outside, &path).expect("linked");
        assert!(again() != third);
        assert!(
            Tokens::parse(&fs::read(&outside).expect("there")).is_some_and(|kept| kept == third)
        );
    }

    #[test]
    fn servers_that_start_at_once_have_the_same_tokens() {
        let git = tempfile::tempdir().expect("a directory");
        let tokens: Vec<String> = thread::scope(|scope| {
            let start = || {
                Tokens::of(git.path())
                    .unwrap_or_else(|error| panic!("{error}"))
                    .person
            };
            let started: Vec<_> = (0..8).map(|_| scope.spawn(start)).collect();
            started
                .into_iter()
                .map(|one| one.join().expect("started"))
                .collect()
        });
        assert!(tokens.iter().all(|token| *token == tokens[0]), "{tokens:?}");
    }

    #[test]
    fn only_the_whole_token_counts() {
        let tokens = Tokens {
            person: "ab".repeat(32),
            agent: "cd".repeat(32),
        };
        assert_eq!(tokens.holder(&"ab".repeat(32)), Some(TokenHolder::Person));
        assert_eq!(tokens.holder(&"cd".repeat(32)), Some(TokenHolder::Agent));
        for other in [
            String::new(),
            "ab".repeat(31),
            "AB".repeat(32),
            format!("{} ", "ab".repeat(32)),
        ] {
            assert_eq!(tokens.holder(&other), None, "{other}");
        }
    }
}

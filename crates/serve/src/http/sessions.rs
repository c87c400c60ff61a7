//! The browsers that are signed in: what their cookies hold in place of a token, as long as it lasts.
//!
//! They are kept beside the tokens, in a file that only its owner can read, so that a server that is started again knows
//! its browsers. The file holds no word of a session but its digest. It belongs to the tokens: whoever replaces those
//! signs everybody out.

use super::tokens::{TokenHolder, Tokens};
use orch_base::{Code, Error, Timestamp, locked};
use orch_engine::random;
use orch_files::{Directory, FileLock};
use orch_git::durable::{PrivateFile, read_private, write_private};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use std::fmt::Write as _;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

/// The name of the file, in the directory of `orch` that all work trees of a repository share.
const FILE: &str = "serve-sessions.json";
/// The name of the file that is locked while it is changed.
const LOCK: &str = "serve-sessions.lock";
/// How long a browser stays signed in, in seconds: two weeks.
const LASTS: i64 = 14 * 24 * 60 * 60;
/// How many browsers are signed in at once; the oldest sign-in ends first.
const MOST: usize = 64;
/// The length of the word of a session in bytes, before it is written in hexadecimal digits.
const BYTES: usize = 32;

/// The sessions of a repository.
pub(super) struct Sessions {
    /// The git directory that all work trees share.
    git: PathBuf,
    /// What identifies the tokens that the sessions stand for.
    tokens: String,
    known: Mutex<Vec<BrowserSession>>,
}

/// A browser that is signed in.
#[derive(Debug, Clone, PartialEq, Eq)]
struct BrowserSession {
    /// The digest of the word in its cookie.
    digest: String,
    holder: TokenHolder,
    /// When it was signed in.
    since: Timestamp,
}

impl BrowserSession {
    /// Whether it lasts at this time. One from the future does not.
    fn lasts(&self, now: Timestamp) -> bool {
        (0..LASTS).contains(&(now.seconds() - self.since.seconds()))
    }

    fn to_json(&self) -> Value {
        json!({"digest": self.digest, "holder": self.holder.word(), "since": self.since.to_string()})
    }

    fn of_json(document: &Value) -> Option<Self> {
        Some(Self {
            digest: document["digest"].as_str()?.to_owned(),
            holder: TokenHolder::of_word(document["holder"].as_str()?)?,
            since: Timestamp::parse(document["since"].as_str()?)?,
        })
    }
}

impl Sessions {
    /// The sessions that the file has for these tokens; none if there is no file that is this user's and that nobody
    /// else can read. Returns an error if the file cannot be read.
    pub(super) fn of(git: &Path, tokens: &Tokens) -> Result<Self, Error> {
        let sessions = Self {
            git: git.to_owned(),
            tokens: digest(&format!("{}{}", tokens.person, tokens.agent)),
            known: Mutex::default(),
        };
        *locked(&sessions.known) = sessions.read().map_err(|error| sessions.fault(&error))?;
        Ok(sessions)
    }

    /// Whose session a word is at this time; `None` if it is none that lasts.
    pub(super) fn holder(&self, word: &str, now: Timestamp) -> Option<TokenHolder> {
        let wanted = digest(word);
        let known = locked(&self.known);
        let session = known.iter().find(|session| session.digest == wanted)?;
        session.lasts(now).then_some(session.holder)
    }

    /// Signs a browser in, and returns the word for its cookie. Returns an error if that cannot be kept.
    pub(super) fn begin(&self, holder: TokenHolder, now: Timestamp) -> Result<String, Error> {
        self.added(holder, now).map_err(|error| self.fault(&error))
    }

    fn added(&self, holder: TokenHolder, now: Timestamp) -> io::Result<String> {
        let word = random(BYTES)?;
        let directory = Directory::make(&self.git, &self.git.join("orch"))?;
        // Another server of the repository may sign a browser in meanwhile.
        let _lock = FileLock::new(directory.append_private(LOCK)?)?;
        let mut kept = self.read()?;
        kept.retain(|session| session.lasts(now));
        kept.push(BrowserSession {
            digest: digest(&word),
            holder,
            since: now,
        });
        kept.drain(..kept.len().saturating_sub(MOST));
        let rows: Vec<Value> = kept.iter().map(BrowserSession::to_json).collect();
        let document = json!({"tokens": self.tokens, "sessions": rows});
        write_private(&directory, FILE, format!("{document:#}\n").as_bytes())?;
        *locked(&self.known) = kept;
        Ok(word)
    }

    fn path(&self) -> PathBuf {
        self.git.join("orch").join(FILE)
    }

    /// What the file has for the tokens. What is not as it was written counts for nothing.
    fn read(&self) -> io::Result<Vec<BrowserSession>> {
        let PrivateFile::Own(bytes) = read_private(&self.path())? else {
            return Ok(Vec::new());
        };
        let document: Value = serde_json::from_slice(&bytes).unwrap_or_default();
        if document["tokens"] != self.tokens.as_str() {
            return Ok(Vec::new());
        }
        let rows = document["sessions"].as_array();
        Ok(rows
            .into_iter()
            .flatten()
            .filter_map(BrowserSession::of_json)
            .collect())
    }

    fn fault(&self, error: &io::Error) -> Error {
        let message = format!(
            "cannot keep the sessions of browsers in {}: {error}",
            self.path().display()
        );
        Error::new(Code::Io, message)
    }
}

fn digest(word: &str) -> String {
    let mut text = String::new();
    for byte in Sha256::digest(word) {
        // Writing to a text does not fail.
        let _ = write!(text, "{byte:02x}");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    fn tokens(letter: &str) -> Tokens {
        Tokens {
            person: letter.repeat(64),
            agent: "f".repeat(64),
        }
    }

    fn sessions(git: &Path, letter: &str) -> Sessions {
        Sessions::of(git, &tokens(letter)).unwrap_or_else(|error| panic!("{error}"))
    }

    #[test]
    fn a_session_outlives_the_server_and_ends_with_its_time_or_the_tokens() {
        let git = tempfile::tempdir().expect("a directory");
        let now = Timestamp::from_seconds(1_000_000);
        let later = |seconds: i64| Timestamp::from_seconds(1_000_000 + seconds);
        let first = sessions(git.path(), "a");
        let begin = |of: &Sessions, holder, at| {
            of.begin(holder, at)
                .unwrap_or_else(|error| panic!("{error}"))
        };
        let person = begin(&first, TokenHolder::Person, now);
        let other = sessions(git.path(), "a");
        let agent = begin(&other, TokenHolder::Agent, later(10));
        for (word, at, expected) in [
            (&person, now, Some(TokenHolder::Person)),
            (&person, later(LASTS - 1), Some(TokenHolder::Person)),
            (&person, later(LASTS), None),
            (&person, later(-1), None),
            (&agent, later(LASTS), Some(TokenHolder::Agent)),
            (&"a".repeat(64), now, None),
            (&String::new(), now, None),
        ] {
            let again = sessions(git.path(), "a");
            assert_eq!(again.holder(word, at), expected, "{word} {at}");
        }
        let path = git.path().join("orch").join(FILE);
        let kept = fs::read_to_string(&path).expect("a file");
        assert!(!kept.contains(&person), "the word itself is kept nowhere");
        let mode = fs::metadata(&path).expect("there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        assert_eq!(sessions(git.path(), "b").holder(&person, now), None);
        // What others can read, or what is damaged, signs nobody in.
        fs::set_permissions(&path, Permissions::from_mode(0o644)).expect("set");
        assert_eq!(sessions(git.path(), "a").holder(&person, now), None);
        fs::set_permissions(&path, Permissions::from_mode(0o600)).expect("set");
        assert!(sessions(git.path(), "a").holder(&person, now).is_some());
        fs::write(&path, "{").expect("written");
        assert_eq!(sessions(git.path(), "a").holder(&person, now), None);
    }

    #[test]
    fn the_oldest_sign_in_ends_first() {
        let git = tempfile::tempdir().expect("a directory");
        let sessions = sessions(git.path(), "a");
        let now = Timestamp::from_seconds(0);
        let begun: Vec<String> = (0..=MOST)
            .map(|_| {
                let word = sessions.begin(TokenHolder::Person, now);
                word.unwrap_or_else(|error| panic!("{error}"))
            })
            .collect();
        assert_eq!(sessions.holder(&begun[0], now), None);
        assert!(sessions.holder(&begun[1], now).is_some());
    }
}

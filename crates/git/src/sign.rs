//! Identities, signed commits, and the verification of signatures, as git is configured.
//!
//! libgit2 implements most of git's configuration. If a setting beyond that is present, git is asked.

use super::environment::settings;
use super::error::{GitFault, name_yourself, no_identity, signing, unreadable_date};
use super::git::git_id;
use super::{Error, GitProgram, Objects, digest};
use crate::error::libgit2;
use git2::{ErrorCode, Oid, Time};
use orch_base::{Code, Digest, ObjectFormat};
use std::collections::HashMap;
use std::time::Duration;

/// git's verdict on the signature of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Signature {
    /// The commit is not signed.
    None,
    /// The signature is valid, and its key is trusted here.
    Good {
        /// The name of the signer, as the key states it.
        signer: String,
    },
    /// The signature does not match, or its key was revoked.
    Bad,
    /// The signature cannot be verified here: the key is unknown, not trusted or expired.
    Unknown,
}

/// The two identities in a commit.
#[derive(Debug, Clone, Copy)]
pub(super) enum Person {
    Author,
    Committer,
}

/// How long signing may take. It may ask a person for a passphrase or a touch. Where others wait meanwhile, they wait a
/// little longer than this, so one program that hangs fails alone.
const SIGNING: Duration = Duration::from_secs(25);

/// Settings that libgit2 does not implement, or not while a branch is switched.
const BEYOND_LIBRARY: &str =
    r"^((author|committer)\.(name|email)|includeif\.(hasconfig|onbranch):.*\.path)$";

/// Who commits, and the signatures of commits.
#[derive(Clone, Copy)]
pub struct Identity<'s> {
    pub(super) objects: &'s Objects,
    pub(super) git: GitProgram<'s>,
}

impl Identity<'_> {
    /// The author name that git would record in a commit now.
    #[must_use]
    pub fn name(&self) -> Option<String> {
        self.person(Person::Author)
            .ok()?
            .name()
            .ok()
            .map(str::to_owned)
    }

    /// The email address of the author of commits; `None` if git has no identity.
    #[must_use]
    pub fn address(&self) -> Option<String> {
        self.person(Person::Author)
            .ok()?
            .email()
            .ok()
            .map(str::to_owned)
    }

    /// `Name <mail>` of the committer, for a sign-off. Returns an error if git has no identity.
    pub fn line(&self) -> Result<String, Error> {
        let committer = self.person(Person::Committer)?;
        let name = committer.name().unwrap_or_default();
        let mail = committer.email().unwrap_or_default();
        Ok(format!("{name} <{mail}>"))
    }

    /// The identity that git would use. Returns an error if there is none.
    pub(super) fn person(&self, person: Person) -> Result<git2::Signature<'static>, Error> {
        if self.needs_git_for_settings()? {
            return self.person_by_git(person);
        }
        let known = match person {
            Person::Author => self.objects.repo.author_from_env(),
            Person::Committer => self.objects.repo.committer_from_env(),
        };
        let known = known.map_err(|error| match error.code() {
            ErrorCode::NotFound => no_identity(self.objects.environment.hides_settings),
            _ if error.message().contains("angle brackets") => malformed("name or email address"),
            _ if error.message().contains("empty name or email") => nothing_left(),
            _ => libgit2(error),
        });
        match known {
            // libgit2 reads fewer dates than git, and does not say that it is the date.
            Err(error) if error.code() == Code::Git => self.person_by_git(person),
            known => refuse_malformed(known?),
        }
    }

    fn person_by_git(&self, person: Person) -> Result<git2::Signature<'static>, Error> {
        let (identity, date) = match person {
            Person::Author => ("GIT_AUTHOR_IDENT", "GIT_AUTHOR_DATE"),
            Person::Committer => ("GIT_COMMITTER_IDENT", "GIT_COMMITTER_DATE"),
        };
        match self.git.git(&["var", identity], &[]) {
            Ok(line) => identity_of(&String::from_utf8_lossy(&line))
                .ok_or_else(|| no_identity(self.objects.environment.hides_settings))
                .and_then(refuse_malformed),
            Err(GitFault::Refused { message, .. }) => {
                Err(match message.split_once("invalid date format: ") {
                    Some((_, said)) => unreadable_date(date, said),
                    None => no_identity(self.objects.environment.hides_settings),
                })
            }
            Err(error) => Err(error.into()),
        }
    }

    /// Whether commits have to be signed. Returns an error if the configuration cannot be read.
    pub fn signs(&self) -> Result<bool, Error> {
        if self.needs_git_for_settings()? {
            let answer = self.git.git(
                &[
                    "config",
                    "--type=bool",
                    "--default=false",
                    "--get",
                    "commit.gpgSign",
                ],
                &[],
            )?;
            return Ok(answer.trim_ascii() == b"true");
        }
        match settings(&self.objects.repo)
            .map_err(libgit2)?
            .get_bool("commit.gpgSign")
        {
            Ok(signs) => Ok(signs),
            Err(error) if error.code() == ErrorCode::NotFound => Ok(false),
            Err(error) => Err(libgit2(error)),
        }
    }

    /// Creates a commit that git signs with the configured program and key.
    pub(super) fn signed_commit(
        &self,
        message: &str,
        tree: Digest,
        parent: Option<Digest>,
    ) -> Result<Oid, Error> {
        let tree = tree.to_string();
        let parent = parent.map(|parent| parent.to_string());
        let mut arguments = vec!["-c", "i18n.commitEncoding=UTF-8", "commit-tree", "-S"];
        arguments.extend(parent.iter().flat_map(|parent| ["-p", parent]));
        arguments.push(&tree);
        match self.git.git_within(SIGNING, &arguments, message.as_bytes()) {
            Ok(answer) => self.objects.oid(git_id(&answer)?),
            Err(GitFault::Refused { message, .. }) => Err(signing(&spoken(&message))),
            Err(error) => Err(error.into()),
        }
    }

    /// Whether git trusts the signature that it would put on a commit now. Signs an empty commit that no branch
    /// names. Returns an error if signing or git fails.
    pub fn trusts_own_signature(&self) -> Result<bool, Error> {
        let empty = digest(
            self.objects
                .repo
                .treebuilder(None)
                .map_err(libgit2)?
                .write()
                .map_err(libgit2)?,
        );
        let commit = self.signed_commit("orch: is this signature trusted?", empty, None)?;
        let verdicts = self.signatures(&[digest(commit)])?;
        Ok(matches!(verdicts.first(), Some(Signature::Good { .. })))
    }

    /// git's verdict on the signatures of these commits. Starts git at most once. Returns an error if git
    /// fails or a commit does not exist.
    pub fn signatures(&self, commits: &[Digest]) -> Result<Vec<Signature>, Error> {
        let mut signed = String::new();
        for commit in commits {
            if self.has_signature(*commit)? {
                signed.push_str(&format!("{commit}\n"));
            }
        }
        if signed.is_empty() {
            return Ok(vec![Signature::None; commits.len()]);
        }
        let format = [
            "rev-list",
            "--no-walk=unsorted",
            "--stdin",
            "--format=%H%x00%G?%x00%GS",
        ];
        let answer = self.git.git(&format, signed.as_bytes())?;
        let verdicts: HashMap<Digest, Signature> = String::from_utf8_lossy(&answer)
            .lines()
            .filter_map(verdict)
            .collect();
        Ok(commits
            .iter()
            .map(|commit| verdicts.get(commit).cloned().unwrap_or(Signature::None))
            .collect())
    }

    /// Whether a commit has a signature, of whatever worth. Returns an error if git cannot read it.
    pub fn has_signature(&self, commit: Digest) -> Result<bool, Error> {
        // See gitformat-signature(5).
        let header = match self.objects.format {
            ObjectFormat::Sha1 => "gpgsig",
            ObjectFormat::Sha256 => "gpgsig-sha256",
        };
        match self
            .objects
            .find_commit(self.objects.oid(commit)?)?
            .header_field_bytes(header)
        {
            Ok(_) => Ok(true),
            Err(error) if error.code() == ErrorCode::NotFound => Ok(false),
            Err(error) => Err(libgit2(error)),
        }
    }

    /// Whether the configuration contains settings that only git itself reads.
    fn needs_git_for_settings(&self) -> Result<bool, Error> {
        if self.objects.environment.has_settings {
            return Ok(true);
        }
        let settings = settings(&self.objects.repo).map_err(libgit2)?;
        let mut found = settings.entries(Some(BEYOND_LIBRARY)).map_err(libgit2)?;
        Ok(found.next().is_some())
    }
}

/// Returns the person, or an error if the header of a commit cannot hold the name or the email address.
fn refuse_malformed(person: git2::Signature<'static>) -> Result<git2::Signature<'static>, Error> {
    let breaks = |bytes: &[u8]| {
        bytes
            .iter()
            .any(|byte| matches!(byte, b'<' | b'>' | b'\n' | b'\0'))
    };
    let what = match (breaks(person.name_bytes()), breaks(person.email_bytes())) {
        (true, _) => "name",
        (_, true) => "email address",
        _ => return Ok(person),
    };
    Err(malformed(what))
}

fn malformed(what: &str) -> Error {
    unusable(format!(
        "your {what} contains `<`, `>` or a line break, so no commit can name you"
    ))
}

/// git drops control characters and outer punctuation from names.
fn nothing_left() -> Error {
    unusable("your name or email address has no character that a commit can contain".to_owned())
}

fn unusable(message: String) -> Error {
    Error::new(Code::NoIdentity, message).with_hint(name_yourself())
}

/// Parses `Name <mail> seconds zone`, the format of `git var`.
fn identity_of(line: &str) -> Option<git2::Signature<'static>> {
    let (name, rest) = line.trim().split_once('<')?;
    let (mail, when) = rest.split_once('>')?;
    let (seconds, zone) = when.trim().split_once(' ')?;
    let zone: i32 = zone.parse().ok()?;
    let time = Time::new(seconds.parse().ok()?, zone / 100 * 60 + zone % 100);
    git2::Signature::new(name.trim(), mail, &time).ok()
}

/// Parses one line of the output: commit, verdict and signer.
fn verdict(line: &str) -> Option<(Digest, Signature)> {
    let mut fields = line.split('\0');
    let commit = Digest::parse(fields.next()?)?;
    let signature = match fields.next()? {
        "G" => Signature::Good {
            signer: fields.next()?.to_owned(),
        },
        "B" | "R" => Signature::Bad,
        _ => Signature::Unknown,
    };
    Some((commit, signature))
}

/// The messages of a signing program to people, without its status lines for programs.
fn spoken(message: &str) -> String {
    let lines = message
        .lines()
        .map(str::trim)
        .filter(|line| !line.is_empty() && !line.starts_with("[GNUPG:]"));
    lines.collect::<Vec<_>>().join("; ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_is_read_as_git_writes_it() {
        let person = identity_of("Ann Lee <ann@example.com> 1790000000 -0330\n").expect("a person");
        assert_eq!(
            (person.name().ok(), person.email().ok()),
            (Some("Ann Lee"), Some("ann@example.com"))
        );
        assert_eq!(
            (person.when().seconds(), person.when().offset_minutes()),
            (1_790_000_000, -210)
        );
        assert!(identity_of("Ann").is_none());
    }

    #[test]
    fn a_name_that_no_commit_can_hold_is_refused() {
        for (name, mail, expected) in [
            ("Ann\ntree 0", "ann@example.com", Some("your name contains")),
            (
                "Ann",
                "ann@example.com\nx",
                Some("your email address contains"),
            ),
            ("Ann", "ann@example.com", None),
        ] {
            let person = git2::Signature::now(name, mail).expect("libgit2 accepts it");
            let refused = refuse_malformed(person)
                .err()
                .map(|error| error.to_string());
            assert_eq!(refused.is_some(), expected.is_some(), "{refused:?}");
            assert!(
                refused
                    .unwrap_or_default()
                    .starts_with(expected.unwrap_or_default())
            );
        }
    }

    #[test]
    fn only_a_good_and_trusted_signature_is_good() {
        let commit = "a735c0d73ef4c6eea9e7f178e3467bff47be0acf";
        let of = |letter: &str| {
            verdict(&format!("{commit}\0{letter}\0Ann"))
                .expect("a verdict")
                .1
        };
        assert_eq!(
            of("G"),
            Signature::Good {
                signer: "Ann".to_owned()
            }
        );
        assert_eq!((of("B"), of("R")), (Signature::Bad, Signature::Bad));
        for letter in ["U", "X", "Y", "E", "N"] {
            assert_eq!(of(letter), Signature::Unknown, "{letter}");
        }
        assert_eq!(verdict(&format!("commit {commit}")), None);
    }
}

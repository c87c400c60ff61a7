//! References on a remote, read and replaced there by the git program. A push with a lease is a compare-and-swap on the
//! server; libgit2 overwrites without comparing.

use super::error::GitFault;
use super::git::{GitEnd, GitProgram};
use super::history::History;
use super::loose::LooseObjects;
use super::{Error, Layout, Objects, digest};
use git2::ObjectType;
use orch_base::{Code, Digest, Hint};
use std::collections::BTreeMap;
use std::time::Duration;

/// For how long git may talk with a remote about a few references.
pub(super) const LIMIT: Duration = Duration::from_secs(60);
/// The file of a commit that only carries a text.
const CARRIED: &str = "text";

/// A remote whose references are read and replaced at one place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RemotePlace {
    /// What was asked for: the name of a remote, or a URL.
    pub remote: String,
    /// Where git pushes to.
    pub url: String,
    /// Where git reads from what it pushes: the remote, unless it fetches from another place.
    reads: String,
}

/// How a text becomes an object to which a reference can point.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carrier {
    /// As a blob.
    Blob,
    /// As the only file of a commit without parents, because a branch only takes commits.
    Commit,
}

/// What a reference on a remote is to become, if it still is what it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RefChange {
    /// Replaced, whatever the two have to do with each other.
    Swap {
        /// The full name.
        name: String,
        /// What it is; `None` if it must not exist.
        old: Option<Digest>,
        /// What it becomes; `None` if it is deleted.
        new: Option<Digest>,
    },
    /// A branch moved to a commit whose history contains what it was.
    Forward {
        /// The full name.
        name: String,
        /// The commit.
        new: Digest,
    },
}

/// What a remote answered to one change.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RefAnswer {
    /// It was made, by this push and no other.
    Done,
    /// The reference is what it was to become: another push has made it so.
    Same,
    /// It was something else.
    Stale,
    /// It was refused, in the words of git. What the reference is now has to be read.
    Refused(String),
}

/// Reads and replaces references of remotes.
#[derive(Clone, Copy)]
pub struct RemoteRefs<'s> {
    pub(super) git: GitProgram<'s>,
    pub(super) objects: &'s Objects,
    pub(super) layout: Layout<'s>,
    pub(super) history: History<'s>,
    pub(super) limit: Duration,
}

impl RefChange {
    /// The full name of the reference.
    #[must_use]
    pub fn name(&self) -> &str {
        match self {
            Self::Swap { name, .. } | Self::Forward { name, .. } => name,
        }
    }

    /// Its words on the command line of a push.
    fn words(&self) -> Vec<String> {
        match self {
            Self::Swap { name, old, new } => {
                let old = old.map_or_else(String::new, |old| old.to_string());
                let new = new.map_or_else(String::new, |new| new.to_string());
                vec![
                    format!("--force-with-lease={name}:{old}"),
                    format!("{new}:{name}"),
                ]
            }
            Self::Forward { name, new } => vec![format!("{new}:{name}")],
        }
    }
}

impl RemoteRefs<'_> {
    /// The same, but git may talk with a remote for so long at most.
    #[must_use]
    pub fn within(self, limit: Duration) -> Self {
        Self {
            limit: limit.min(LIMIT),
            ..self
        }
    }

    /// Where the references of a remote are, given its name or URL. Returns an error if there is no such remote, or if a
    /// push goes to several places: it could succeed at one and fail at another.
    pub fn place(&self, remote: &str) -> Result<RemotePlace, Error> {
        let said = self.git.git(&["remote", "--verbose"], &[])?;
        let said = String::from_utf8_lossy(&said);
        let urls = RemoteUrls::of(&said, remote);
        if urls.pushed.is_empty() && is_url(remote) {
            return Ok(RemotePlace {
                remote: remote.to_owned(),
                url: remote.to_owned(),
                reads: remote.to_owned(),
            });
        }
        if urls.pushed.is_empty() {
            let message = format!("there is no remote `{remote}`");
            let hint = Hint::run(&["git", "remote", "add", remote, "URL"]);
            return Err(Error::new(Code::NoRemote, message).with_hint(hint));
        }
        let [url] = urls.pushed.as_slice() else {
            let message = format!(
                "the remote `{remote}` has {} URLs for pushes, and a lease can be in one place only",
                urls.pushed.len()
            );
            let words = [
                "git", "remote", "set-url", "--push", "--delete", remote, "URL",
            ];
            return Err(Error::new(Code::NoRemote, message).with_hint(Hint::run(&words)));
        };
        let is_one = urls.fetched == Some(*url);
        let reads = if is_one { remote } else { url };
        Ok(RemotePlace {
            remote: remote.to_owned(),
            url: (*url).to_owned(),
            reads: reads.to_owned(),
        })
    }

    /// The references of a remote whose full names match one of these patterns, where `*` stands for anything. Returns
    /// an error if the remote cannot be read.
    pub fn list(
        &self,
        place: &RemotePlace,
        patterns: &[&str],
    ) -> Result<BTreeMap<String, Digest>, Error> {
        let words = [&["ls-remote", "--quiet", "--", &place.reads], patterns].concat();
        let said = self.git.git_within(self.limit, &words, &[])?;
        let said = String::from_utf8_lossy(&said);
        let mut found = BTreeMap::new();
        for line in said.lines() {
            let parts = line.split_once('\t');
            let Some((id, name)) = parts else { continue };
            let Some(id) = Digest::parse(id) else {
                return Err(unlike_git("ls-remote", line));
            };
            found.insert(name.to_owned(), id);
        }
        Ok(found)
    }

    /// Fetches what these references of a remote point to, as far as it is not here, without writing a reference. Returns
    /// an error if something cannot be fetched, for example because a reference has moved.
    pub fn fetch(
        &self,
        place: &RemotePlace,
        wanted: &BTreeMap<String, Digest>,
    ) -> Result<(), Error> {
        let mut missing = Vec::new();
        for (name, id) in wanted {
            if !self.objects.has(*id)? {
                missing.push((name, id));
            }
        }
        if missing.is_empty() {
            return Ok(());
        }
        let ids: String = missing.iter().map(|(_, id)| format!("{id}\n")).collect();
        // Only the second version of git's protocol lets everybody ask by id. A reference may have moved meanwhile.
        match self.fetch_these(place, &ids) {
            Ok(()) => return Ok(()),
            Err(fault) => tracing::debug!(?fault, "cannot fetch by id"),
        }
        let names: String = missing
            .iter()
            .map(|(name, _)| format!("{name}\n"))
            .collect();
        Ok(self.fetch_these(place, &names)?)
    }

    fn fetch_these(&self, place: &RemotePlace, sources: &str) -> Result<(), GitFault> {
        let words = [
            "fetch",
            "--quiet",
            "--no-tags",
            "--no-write-fetch-head",
            "--no-auto-maintenance",
            "--no-recurse-submodules",
            "--no-prune",
            "--refmap=",
            "--stdin",
            "--",
            &place.reads,
        ];
        self.git
            .git_within(self.limit, &words, sources.as_bytes())
            .map(drop)
    }

    /// Whether a remote makes several changes together or none, and lets this user push a new reference of this name,
    /// which is deleted again. Returns an error if the remote cannot be reached, or refuses the push: then the inner value
    /// is the reason in its words.
    pub fn probe(&self, place: &RemotePlace, name: &str, new: Digest) -> Result<Probed, Error> {
        let create = RefChange::Swap {
            name: name.to_owned(),
            old: None,
            new: Some(new),
        };
        let together = self.push_end(place, std::slice::from_ref(&create), true)?;
        let is_atomic = !together.message().contains("does not support --atomic");
        let end = if is_atomic {
            together
        } else {
            self.push_end(place, std::slice::from_ref(&create), false)?
        };
        let answer = answers(&end, std::slice::from_ref(&create))?.pop();
        match answer {
            Some(RefAnswer::Refused(why)) => Ok(Probed::Refused(why)),
            Some(RefAnswer::Done) => {
                let delete = RefChange::Swap {
                    name: name.to_owned(),
                    old: Some(new),
                    new: None,
                };
                match self.push(place, &[delete])?.pop() {
                    Some(RefAnswer::Refused(why)) => Ok(Probed::Refused(why)),
                    _ => Ok(Probed::Permitted { is_atomic }),
                }
            }
            _ => Err(unlike_git("push", name)),
        }
    }

    /// Makes changes to references of a remote. If there are several, all or none are made. Returns the answers in the
    /// order of the changes, and an error if nothing is known of them, also because the remote does not make several
    /// together.
    pub fn push(
        &self,
        place: &RemotePlace,
        changes: &[RefChange],
    ) -> Result<Vec<RefAnswer>, Error> {
        let end = self.push_end(place, changes, changes.len() > 1)?;
        answers(&end, changes)
    }

    fn push_end(
        &self,
        place: &RemotePlace,
        changes: &[RefChange],
        is_atomic: bool,
    ) -> Result<GitEnd, Error> {
        let together = if is_atomic { "--atomic" } else { "--no-atomic" };
        let mut words = vec![
            // A remote that is a mirror takes no single references.
            format!("-c"),
            format!("remote.{}.mirror=false", place.remote),
        ];
        let fixed = [
            "push",
            "--porcelain",
            "--no-verify",
            "--no-follow-tags",
            "--no-signed",
            "--recurse-submodules=no",
            together,
        ];
        words.extend(fixed.map(str::to_owned));
        let mut specs = Vec::new();
        for change in changes {
            let (options, spec): (Vec<String>, Vec<String>) = change
                .words()
                .into_iter()
                .partition(|word| word.starts_with("--"));
            words.extend(options);
            specs.extend(spec);
        }
        words.push("--".to_owned());
        words.push(place.remote.clone());
        words.extend(specs);
        let words: Vec<&str> = words.iter().map(String::as_str).collect();
        Ok(self.git.end_within(self.limit, &words, &[])?)
    }

    /// Writes a text as an object of this clone, to be pushed. Returns an error if it cannot be written.
    pub fn carry(&self, text: &[u8], carrier: Carrier) -> Result<Digest, Error> {
        let mut new = LooseObjects::new(self.layout)?;
        let format = self.objects.format();
        let blob = format.blob(text);
        new.add(ObjectType::Blob, blob, text)?;
        let carried = match carrier {
            Carrier::Blob => blob,
            Carrier::Commit => {
                let entry = [format!("100644 {CARRIED}\0").as_bytes(), blob.as_bytes()].concat();
                let tree = format.tree(&entry);
                new.add(ObjectType::Tree, tree, &entry)?;
                let commit = carrier_commit(tree);
                let id = format.commit(commit.as_bytes());
                new.add(ObjectType::Commit, id, commit.as_bytes())?;
                id
            }
        };
        new.finish().wait()?;
        Ok(carried)
    }

    /// The text that an object carries; `None` if the object is not here. Returns an error if it carries none.
    pub fn carried(&self, object: Digest) -> Result<Option<Vec<u8>>, Error> {
        if !self.objects.has(object)? {
            return Ok(None);
        }
        if let Some(text) = self.objects.blob(object)? {
            return Ok(Some(text));
        }
        let id = self.objects.oid(object)?;
        let tree = self.objects.find_commit(id)?.tree_id();
        let tree = self.objects.tree_with_id(tree)?;
        let entry = tree.get_name(CARRIED).map(|entry| digest(entry.id()));
        let text = match entry {
            Some(blob) => self.objects.blob(blob)?,
            None => None,
        };
        match text {
            Some(text) => Ok(Some(text)),
            None => Err(Error::new(
                Code::Git,
                format!("the commit {object} has no file `{CARRIED}`"),
            )),
        }
    }

    /// Whether a commit is in the history of another, or is this other.
    pub fn leads_to(&self, older: Digest, newer: Digest) -> Result<bool, Error> {
        Ok(older == newer
            || (self.objects.has(older)? && self.history.is_ancestor(older, newer)?))
    }
}

/// Where git reads a remote, and where it pushes.
#[derive(Debug, PartialEq, Eq)]
struct RemoteUrls<'t> {
    /// The first place that it reads.
    fetched: Option<&'t str>,
    /// All places to which it pushes.
    pushed: Vec<&'t str>,
}

impl<'t> RemoteUrls<'t> {
    /// Those of a remote in what `git remote --verbose` says, with lines such as `NAME\tURL (fetch)`.
    fn of(said: &'t str, remote: &str) -> Self {
        let lines = said.lines().filter_map(|line| line.split_once('\t'));
        let mut urls = Self {
            fetched: None,
            pushed: Vec::new(),
        };
        for (_, told) in lines.filter(|(name, _)| *name == remote) {
            if let Some(url) = told.strip_suffix(" (push)") {
                urls.pushed.push(url);
            } else if let Some((url, _)) = told.rsplit_once(" (fetch)") {
                // The filter of a partial clone follows.
                urls.fetched = urls.fetched.or(Some(url));
            }
        }
        urls
    }
}

/// What came of a probe.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Probed {
    /// References of this kind may be pushed; `is_atomic` says whether several are replaced together or not at all.
    Permitted {
        /// Whether the remote knows atomic pushes.
        is_atomic: bool,
    },
    /// They may not, in the words of git.
    Refused(String),
}

/// A commit of nobody with this tree, at no time.
fn carrier_commit(tree: Digest) -> String {
    let nobody = "orch <orch> 0 +0000";
    format!(
        "tree {tree}\nauthor {nobody}\ncommitter {nobody}\n\nA note of orch to its other clones\n"
    )
}

/// Whether the text is a URL or a path, and not the name of a remote.
fn is_url(text: &str) -> bool {
    text.contains([':', '/'])
}

/// The answers to changes in the output of a push. Returns an error if one is missing.
fn answers(end: &GitEnd, changes: &[RefChange]) -> Result<Vec<RefAnswer>, Error> {
    let said = String::from_utf8_lossy(&end.stdout);
    let mut found = Vec::new();
    for change in changes {
        match said.lines().find_map(|line| answer(line, change.name())) {
            Some(answer) => found.push(answer),
            None => {
                return Err(GitFault::Refused {
                    command: "push".to_owned(),
                    message: end.message(),
                }
                .into());
            }
        }
    }
    Ok(found)
}

/// The answer about a reference in a line such as `!\tFROM:TO\t[rejected] (stale info)`.
fn answer(line: &str, name: &str) -> Option<RefAnswer> {
    let mut parts = line.splitn(3, '\t');
    let flag = parts.next()?;
    let (_, to) = parts.next()?.split_once(':')?;
    let summary = parts.next().unwrap_or_default();
    if to != name {
        return None;
    }
    Some(match flag {
        "*" | "+" | "-" | " " => RefAnswer::Done,
        "=" => RefAnswer::Same,
        _ if summary.contains("(stale info)") => RefAnswer::Stale,
        _ => RefAnswer::Refused(summary.to_owned()),
    })
}

fn unlike_git(command: &str, said: &str) -> Error {
    Error::new(
        Code::Git,
        format!("git {command} answered what orch does not know: {said}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn where_a_remote_is_read_and_pushed_is_told_in_one_answer() {
        let said = "a\t/x (fetch)\na\t/x (push)\nab\thttps://h/y z (fetch) [blob:none]\nab\tssh://h/y (push)\nab\t/z (push)\n";
        for (remote, fetched, pushed) in [
            ("a", Some("/x"), vec!["/x"]),
            ("ab", Some("https://h/y z"), vec!["ssh://h/y", "/z"]),
            ("b", None, vec![]),
        ] {
            let expected = RemoteUrls { fetched, pushed };
            assert_eq!(RemoteUrls::of(said, remote), expected, "{remote}");
        }
    }

    #[test]
    fn a_push_is_won_by_its_flag_alone() {
        let name = "refs/orch/leases/a";
        for (line, expected) in [
            (
                "*\tabc:refs/orch/leases/a\t[new reference]",
                Some(RefAnswer::Done),
            ),
            (
                "+\tabc:refs/orch/leases/a\tabc...def (forced update)",
                Some(RefAnswer::Done),
            ),
            ("-\t:refs/orch/leases/a\t[deleted]", Some(RefAnswer::Done)),
            (
                "=\tabc:refs/orch/leases/a\t[up to date]",
                Some(RefAnswer::Same),
            ),
            (
                "!\tabc:refs/orch/leases/a\t[rejected] (stale info)",
                Some(RefAnswer::Stale),
            ),
            (
                "!\tabc:refs/orch/leases/a\t[remote rejected] (failed to update ref)",
                Some(RefAnswer::Refused(
                    "[remote rejected] (failed to update ref)".to_owned(),
                )),
            ),
            ("*\tabc:refs/orch/leases/ab\t[new reference]", None),
            ("To ../remote.git", None),
            ("Done", None),
        ] {
            assert_eq!(answer(line, name), expected, "{line}");
        }
    }
}

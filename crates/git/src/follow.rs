//! Brings the branch of a work tree together with what a remote has of it. Whatever that leaves behind stays in a reference.

use super::error::GitFault;
use super::git::{GitAnswer, GitProgram, git_id};
use super::history::History;
use super::references::Refs;
use super::remote_refs::LIMIT;
use super::work_trees::{Joined, joined};
use orch_base::{Digest, Error};
use std::path::Path;
use std::thread::sleep;
use std::time::Duration;

/// Where commits are kept that a branch has left behind, each below the name of its branch.
const ASIDE: &str = "refs/orch/aside";

/// How often a fetch is tried that another one has kept from writing its references.
const TRIES: u32 = 6;
/// The pause between two tries.
const PAUSE: Duration = Duration::from_millis(200);

/// Fetches branches of a remote, and moves those of work trees after them.
#[derive(Clone, Copy)]
pub struct Follow<'s> {
    pub(super) git: GitProgram<'s>,
    pub(super) refs: Refs<'s>,
    pub(super) history: History<'s>,
}

impl Follow<'_> {
    /// Fetches branches of a remote into its remote-tracking branches: those with these names, where `*` stands for any
    /// part. One that the remote has no more is forgotten. Returns an error if the remote cannot be reached.
    pub fn fetch(&self, remote: &str, branches: &[&str]) -> Result<(), Error> {
        let specs: Vec<String> = branches
            .iter()
            .map(|branch| format!("+refs/heads/{branch}:refs/remotes/{remote}/{branch}"))
            .collect();
        let mut words = vec![
            "fetch",
            "--quiet",
            "--prune",
            "--no-tags",
            "--no-write-fetch-head",
            "--no-recurse-submodules",
            "--",
            remote,
        ];
        words.extend(specs.iter().map(String::as_str));
        let mut tries = 0;
        loop {
            let end = self.git.end_within(LIMIT, &words, &[])?;
            tries += 1;
            if end.is_success {
                return Ok(());
            }
            let message = end.message();
            // Another process of this clone may be fetching.
            if tries == TRIES || !message.contains("lock") {
                let command = "fetch".to_owned();
                return Err(GitFault::Refused { command, message }.into());
            }
            sleep(PAUSE);
        }
    }

    /// Where a remote-tracking branch is; `None` if there is none. Returns an error if git cannot read it.
    pub fn tracked(&self, remote: &str, branch: &str) -> Result<Option<Digest>, Error> {
        self.refs.target(&format!("refs/remotes/{remote}/{branch}"))
    }

    /// Whether one commit is in the history of another, or is this other. Returns an error if git cannot read them.
    pub fn is_behind(&self, older: Digest, newer: Digest) -> Result<bool, Error> {
        Ok(older == newer || self.history.is_ancestor(older, newer)?)
    }

    /// Whether a commit that is in the history of `to` and not in that of `from` changes a file. Returns an error if git
    /// cannot read them.
    pub fn changes(&self, from: Digest, to: Digest, file: &str) -> Result<bool, Error> {
        let range = format!("{from}..{to}");
        let words = ["rev-list", "-1", &range, "--", file];
        let said = self.git.git(&words, &[])?;
        Ok(!said.is_empty())
    }

    /// How many commits a commit has that another one does not have. Returns an error if git cannot read them.
    pub fn ahead(&self, of: Digest, commit: Digest) -> Result<u64, Error> {
        let range = format!("{of}..{commit}");
        let said = self.git.git(&["rev-list", "--count", &range], &[])?;
        Ok(String::from_utf8_lossy(&said).trim().parse().unwrap_or(0))
    }

    /// Keeps what a work tree holds that a commit does not have, commits and uncommitted files, in a reference of its own.
    /// Returns its name; `None` if there is nothing to keep. Returns an error if git refuses.
    pub fn set_aside(
        &self,
        tree: &Path,
        branch: &str,
        from: Digest,
    ) -> Result<Option<String>, Error> {
        let head = self.answer(tree, &["rev-parse", "HEAD"])?;
        let head = git_id(head.text().as_bytes())?;
        self.answer(tree, &["add", "--all"])?;
        let files = self.answer(tree, &["write-tree"])?;
        let files = files.text().trim().to_owned();
        let same = self.answer(tree, &["rev-parse", "HEAD^{tree}"])?;
        let kept = if files == same.text().trim() {
            head
        } else {
            let parent = head.to_string();
            let message = "What was not committed when others had gone on";
            let words = ["commit-tree", "-p", &parent, "-m", message, &files];
            git_id(self.answer(tree, &words)?.text().as_bytes())?
        };
        if self.is_behind(kept, from)? {
            return Ok(None);
        }
        let kept = kept.to_string();
        let name = format!("{ASIDE}/{branch}/{kept:.9}");
        self.refs.note_move(&name);
        self.answer(tree, &["update-ref", &name, &kept])?;
        Ok(Some(name))
    }

    /// Moves the branch of a work tree to a commit, and its files with it; see [`Self::set_aside`]. Returns an error if git
    /// refuses.
    pub fn move_to(&self, tree: &Path, commit: Digest) -> Result<(), Error> {
        let commit = commit.to_string();
        self.answer(tree, &["reset", "--quiet", "--hard", &commit])
            .map(drop)
    }

    /// Merges a commit into the branch of a work tree, by a fast-forward if it can be. A conflict leaves the branch as it
    /// was. Returns an error if git cannot merge, for example because uncommitted files are in the way.
    pub fn merge_here(&self, tree: &Path, commit: Digest, message: &str) -> Result<Joined, Error> {
        let commit = commit.to_string();
        let words = ["merge", "--quiet", "--no-edit", "-m", message, &commit];
        let said = self.git.git_in(tree, &words)?;
        joined(self.git, tree, "merge", &said)
    }

    /// Deletes a local branch that is at this commit; one that is elsewhere stays. Returns an error if git cannot be
    /// started.
    pub fn drop_branch(&self, branch: &str, tip: Digest) -> Result<(), Error> {
        let name = format!("refs/heads/{branch}");
        let tip = tip.to_string();
        self.refs.note_move(&name);
        self.git.git_here(&["update-ref", "-d", &name, &tip])?;
        Ok(())
    }

    fn answer(&self, tree: &Path, words: &[&str]) -> Result<GitAnswer, Error> {
        Ok(self.git.git_in(tree, words).and_then(GitAnswer::good)?)
    }
}

//! Pushes what was committed to the upstream of the branch, and never more than a fast-forward.

use super::error::GitFault;
use super::git::GitProgram;
use super::history::History;
use orch_base::{Code, Digest, Error, Hint};
use std::thread::sleep;
use std::time::Duration;

/// The branch of a remote to which a local one is pushed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upstream {
    /// The name of the remote, or its URL.
    pub remote: String,
    /// The full name of the branch there.
    pub branch: String,
}

/// What came of a push.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PushOutcome {
    /// The remote branch is there now.
    Pushed,
    /// The remote branch has moved to this commit meanwhile, so nothing was pushed.
    Overtaken(Digest),
    /// The remote refuses, or cannot be reached; in the words of git.
    Refused(String),
}

/// Pushes commits.
#[derive(Clone, Copy)]
pub struct Pushes<'s> {
    pub(super) git: GitProgram<'s>,
    pub(super) history: History<'s>,
}

/// How often a push is tried while the remote branch stays where it was: another push may have held its lock.
const TRIES: u32 = 4;
/// The pause after the first try.
const PAUSE: Duration = Duration::from_millis(300);

impl Pushes<'_> {
    /// The upstream of the branch; `None` if HEAD is detached. Returns an error if the branch has none.
    pub fn upstream(&self) -> Result<Option<Upstream>, Error> {
        let head = self.history.refs.head()?;
        let Some(branch) = head.branch.as_deref() else {
            return Ok(None);
        };
        let format = "--format=%(upstream:remotename)%00%(upstream:remoteref)";
        let said = self.git.git(&["for-each-ref", format, branch], &[])?;
        let said = String::from_utf8_lossy(&said).trim_end().to_owned();
        match said.split_once('\0') {
            Some((remote, branch)) if !remote.is_empty() && !branch.is_empty() => {
                Ok(Some(Upstream {
                    remote: remote.to_owned(),
                    branch: branch.to_owned(),
                }))
            }
            _ => {
                let name = head.branch_name().unwrap_or(branch);
                let message = format!("the branch {name} has no upstream to push to");
                let words = ["git", "branch", "--set-upstream-to", "REMOTE/BRANCH", name];
                Err(Error::new(Code::NoUpstream, message).with_hint(Hint::run(&words)))
            }
        }
    }

    /// Pushes a commit. Tries again as long as the remote branch stays where it was. Returns an error if the history cannot
    /// be read.
    pub fn push(&self, upstream: &Upstream, commit: Digest) -> Result<PushOutcome, Error> {
        let spec = format!("{commit}:{}", upstream.branch);
        let words = ["push", "--quiet", "--", &upstream.remote, &spec];
        let mut pause = PAUSE;
        let mut refusal = String::new();
        for _ in 0..TRIES {
            match self.git.git(&words, &[]) {
                Ok(_) => return Ok(PushOutcome::Pushed),
                Err(GitFault::Refused { message, .. }) => refusal = message,
                Err(fault) => return Err(fault.into()),
            }
            // Whoever may not push may not be able to read either.
            let Ok(tip) = self.tip(upstream) else {
                break;
            };
            if let Some(tip) = tip
                && tip != commit
                && !self.is_behind(tip, commit)?
            {
                return Ok(PushOutcome::Overtaken(tip));
            }
            // Trying again helps only against another push at the same time.
            if !refusal.contains("lock") {
                break;
            }
            sleep(pause);
            pause *= 2;
        }
        Ok(PushOutcome::Refused(refusal))
    }

    /// Whether the history of a commit contains the tip of a remote branch. One that is not here is not contained.
    fn is_behind(&self, tip: Digest, commit: Digest) -> Result<bool, Error> {
        Ok(self.git.objects.has(tip)? && self.history.is_ancestor(tip, commit)?)
    }

    /// Where the remote branch is now.
    fn tip(&self, upstream: &Upstream) -> Result<Option<Digest>, GitFault> {
        let words = ["ls-remote", "--", &upstream.remote, &upstream.branch];
        let said = self.git.git(&words, &[])?;
        let said = String::from_utf8_lossy(&said);
        Ok(said.split_whitespace().next().and_then(Digest::parse))
    }
}

//! How much stands behind a piece of evidence. The audit and people are shown it; guards never see it, because it depends
//! on keys and on what happens later.

use orch_base::{Digest, VerificationName, words};

words! {
    /// What stands behind a piece of evidence. Each says more than those before it.
    pub enum Vouched {
        /// Nothing but the file that somebody wrote.
        None = "none",
        /// `orch` ran the verification.
        Run = "run",
        /// `orch` ran it, and a signer whom git trusts has signed the commit.
        Signed = "signed",
        /// It was run again, and the same tests passed and failed.
        Rerun = "rerun",
    }
}

/// A piece of evidence that a verification made, or that one could have made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VouchedEvidence {
    /// The path of the file, relative to the task directory.
    pub path: String,
    /// The digest of the file.
    pub digest: Digest,
    /// The verification.
    pub verification: VerificationName,
    /// Whether it is the result of the verification.
    pub is_result: bool,
    /// What stands behind it.
    pub by: Vouched,
}

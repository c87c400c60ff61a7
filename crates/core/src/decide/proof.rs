//! The result of replaying a change of a task's record.

use super::{HistoryEntry, WorkflowRef};
use crate::verification::VouchedEvidence;
use orch_base::{Digest, words};
use std::sync::Arc;

words! {
    /// The verdict on one change of a task's record, or on one step of it.
    pub enum Standing {
        /// The rules yield it from the evidence in its commit.
        Proven = "proven",
        /// The task's files are exactly those of an ancestor: a revert or a checkout.
        Restored = "restored",
        /// The rules of merging joined the records of two branches.
        Merged = "merged",
        /// Several steps in one commit, each replayed on its own: a batch or a squash.
        Folded = "folded",
        /// It rests on someone's word, within what the workflow allows: a confirmation, the result of an
        /// action, an answer, or an order that a rule responds to.
        Claimed = "claimed",
        /// A person ordered it against the rules, as the rules permit.
        Overridden = "overridden",
        /// It can be neither derived nor refuted, because something is missing from git.
        Unverifiable = "unverifiable",
        /// The rules do not yield what the record says.
        Forged = "forged",
    }
}

/// How certain it is that the recorded person acted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Approval {
    /// Only the record names the person.
    Claimed,
    /// A signature that is trusted here names the person.
    Verified {
        /// Who signed the commit, as git names them.
        signer: String,
    },
}

/// The result of checking one change of a task's record.
#[derive(Debug, Clone, PartialEq)]
pub struct Proof {
    /// The verdict on the change: that of its worst step.
    pub standing: Standing,
    /// The reason, unless the verdict says everything.
    pub why: Option<String>,
    /// The rule that was broken, if the change is forged.
    pub rule: Option<String>,
    /// The recorded steps of the change, oldest first; empty if it records none.
    pub steps: Vec<ProvenStep>,
    /// Whether the change dropped all events that a program of the first version of the record does not know, and no other:
    /// this is what recovering the record with such a program does.
    pub is_loss: bool,
}

/// One recorded step and its verdict.
#[derive(Debug, Clone, PartialEq)]
pub struct ProvenStep {
    /// The recorded step.
    pub entry: Arc<HistoryEntry>,
    /// The id of its event in the log.
    pub event: Option<Digest>,
    /// The workflow that decided.
    pub workflow: Option<WorkflowRef>,
    /// The verdict on this step.
    pub standing: Standing,
    /// How certain it is that the recorded person acted, if the step needs a person.
    pub approval: Option<Approval>,
    /// Whether the settings require that its commit is signed.
    pub needs_signature: bool,
    /// Whether the workflow that decided was available for the replay.
    pub is_judged: bool,
    /// The reason, unless the verdict says everything.
    pub why: Option<String>,
    /// What a verification made of its evidence, or could have made.
    pub vouched: Vec<VouchedEvidence>,
}

impl Proof {
    /// A verdict without steps.
    #[must_use]
    pub fn bare(standing: Standing, why: impl Into<String>) -> Self {
        Self {
            standing,
            why: Some(why.into()),
            rule: None,
            steps: Vec::new(),
            is_loss: false,
        }
    }

    /// The verdict for a change that the rules do not yield.
    #[must_use]
    pub fn forged(why: impl Into<String>) -> Self {
        Self::bare(Standing::Forged, why)
    }

    /// The verdict for these steps: of a single step, its own; of several, `folded`, or the worst of them if
    /// that is `unverifiable` or `forged`.
    #[must_use]
    pub fn of(steps: Vec<ProvenStep>) -> Self {
        let worst = steps.iter().max_by_key(|step| step.standing);
        let Some(worst) = worst else {
            return Self::forged("the record changed without a recorded step");
        };
        let standing = match worst.standing {
            one if steps.len() == 1 => one,
            bad @ (Standing::Unverifiable | Standing::Forged) => bad,
            _ => Standing::Folded,
        };
        let rule = worst
            .entry
            .rule
            .clone()
            .filter(|_| standing == Standing::Forged);
        let why = match (&worst.why, steps.len()) {
            (Some(why), 1) => Some(why.clone()),
            (Some(why), _) => Some(format!("step {}: {why}", worst.entry.seq)),
            (None, 1) => None,
            (None, many) => Some(format!("{many} steps in one commit")),
        };
        Self {
            standing,
            why,
            rule,
            steps,
            is_loss: false,
        }
    }

    /// Makes each step unverifiable that is neither that nor forged and for which `why` gives a reason. The verdict
    /// on the change follows. Returns whether there are such steps.
    ///
    /// # Errors
    ///
    /// `why` fails; the verdict on the change is then the old one.
    pub fn doubt<E>(
        &mut self,
        mut why: impl FnMut(&ProvenStep) -> Result<Option<String>, E>,
    ) -> Result<bool, E> {
        let mut is_doubtful = false;
        for step in self
            .steps
            .iter_mut()
            .filter(|step| step.standing < Standing::Unverifiable)
        {
            if let Some(why) = why(step)? {
                (step.standing, step.why) = (Standing::Unverifiable, Some(why));
                is_doubtful = true;
            }
        }
        if is_doubtful && self.standing < Standing::Unverifiable {
            *self = Self::of(std::mem::take(&mut self.steps));
        }
        Ok(is_doubtful)
    }
}

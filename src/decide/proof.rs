//! What replaying a change of a task's record comes to.

use super::HistoryEntry;
use crate::base::words;

words! {
    /// The verdict about one change of a task's record, or about one step of it.
    pub enum Standing {
        /// The rules yield it from the evidence beside it.
        Proven = "proven",
        /// The task's files equal exactly what an ancestor held: a revert, or a checkout.
        Restored = "restored",
        /// Two branches' records were united by their rules.
        Merged = "merged",
        /// Several steps in one commit, each replayed from its own record: a squash.
        Folded = "folded",
        /// Somebody's word, within what the workflow lets it change: that unchanged bytes are right, what an
        /// action has found, an answer, an order that a rule answers to.
        Claimed = "claimed",
        /// A person ordered it against the rules, as the rules allow.
        Overridden = "overridden",
        /// It can be neither derived nor refuted, because something is not in git.
        Unverifiable = "unverifiable",
        /// The rules do not yield what the record says.
        Forged = "forged",
    }
}

/// How sure it is that the person was there whom a record names.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Approval {
    /// The record says so.
    Claimed,
    /// A signature says so that is trusted here.
    Verified {
        /// Who signed.
        signer: String,
    },
}

/// What became of one change of a task's record.
#[derive(Debug, Clone, PartialEq)]
pub struct Proof {
    /// The verdict.
    pub standing: Standing,
    /// Why, where the verdict does not say everything.
    pub why: Option<String>,
    /// The rule that is broken, where the change is forged.
    pub rule: Option<String>,
    /// The recorded steps of the change, oldest first; none where it records none.
    pub steps: Vec<ProvenStep>,
}

/// One recorded step and its verdict.
#[derive(Debug, Clone, PartialEq)]
pub struct ProvenStep {
    /// The record.
    pub entry: HistoryEntry,
    /// The verdict.
    pub standing: Standing,
    /// Where the rule asked for a person and the record names one: how sure that is.
    pub approval: Option<Approval>,
    /// Whether the workflow that decided was there to judge it by.
    pub is_judged: bool,
    /// Why, where the verdict does not say everything.
    pub why: Option<String>,
}

impl Proof {
    /// A verdict without steps.
    #[must_use]
    pub fn bare(standing: Standing, why: impl Into<String>) -> Self {
        Self { standing, why: Some(why.into()), rule: None, steps: Vec::new() }
    }

    /// A change that the rules do not yield.
    #[must_use]
    pub fn forged(why: impl Into<String>) -> Self {
        Self::bare(Standing::Forged, why)
    }

    /// The verdict of several steps: of one, its own; of more, folded, unless one of them is worse.
    #[must_use]
    pub fn of(steps: Vec<ProvenStep>) -> Self {
        let worst = steps.iter().max_by_key(|step| step.standing);
        let Some(worst) = worst else { return Self::forged("the record changed without a recorded step") };
        let standing = match worst.standing {
            one if steps.len() == 1 => one,
            bad @ (Standing::Unverifiable | Standing::Forged) => bad,
            _ => Standing::Folded,
        };
        let rule = worst.entry.rule.clone().filter(|_| standing == Standing::Forged);
        let why = match (&worst.why, steps.len()) {
            (Some(why), 1) => Some(why.clone()),
            (Some(why), _) => Some(format!("step {}: {why}", worst.entry.seq)),
            (None, 1) => None,
            (None, many) => Some(format!("{many} steps in one commit")),
        };
        Self { standing, why, rule, steps }
    }
}

//! What is looked for, and what its rules read.

use orch_base::PhaseId;
use orch_core::Spanned;
use orch_core::workflow::{GivenContent, GivenFile, Rule, VERIFIED, Workflow};

/// What is looked for.
#[derive(Debug, Clone, Copy)]
pub enum WantedCase<'w> {
    /// The rule decides in the phase, and leads to this phase if one is named.
    Decides {
        /// The phase.
        phase: &'w PhaseId,
        /// The rule.
        rule: &'w Rule,
    },
    /// Both rules hold in the phase.
    Both {
        /// The phase.
        phase: &'w PhaseId,
        /// One rule.
        first: &'w Rule,
        /// The other one.
        second: &'w Rule,
    },
    /// The rule holds in the phase, and leads to one that needs what is not there.
    Lacks {
        /// The phase.
        phase: &'w PhaseId,
        /// The rule.
        rule: &'w Rule,
    },
    /// The work of the phase is done, and no rule says what is next.
    Nothing {
        /// The phase.
        phase: &'w PhaseId,
    },
    /// The task is in the phase.
    Stands {
        /// The phase.
        phase: &'w PhaseId,
    },
}

impl<'w> WantedCase<'w> {
    /// The phase.
    #[must_use]
    pub fn phase(self) -> &'w PhaseId {
        match self {
            Self::Decides { phase, .. }
            | Self::Both { phase, .. }
            | Self::Lacks { phase, .. }
            | Self::Nothing { phase }
            | Self::Stands { phase } => phase,
        }
    }

    /// The rules that have to hold.
    #[must_use]
    pub fn rules(self) -> Vec<&'w Rule> {
        match self {
            Self::Decides { rule, .. } | Self::Lacks { rule, .. } => vec![rule],
            Self::Both { first, second, .. } => vec![first, second],
            Self::Nothing { .. } | Self::Stands { .. } => Vec::new(),
        }
    }
}

/// The first names of what rules read, without named expressions.
pub(super) fn read_roots(workflow: &Workflow, rules: &[&Rule]) -> Vec<String> {
    let mut roots = Vec::new();
    for rule in rules {
        let actions = rule.outcome.actions().iter();
        let conditions = actions
            .filter_map(|name| workflow.action(name))
            .map(|action| &action.when);
        for guard in std::iter::once(&rule.when).chain(conditions) {
            for chain in workflow.reads(guard) {
                if !roots.contains(&chain[0]) {
                    roots.push(chain[0].clone());
                }
            }
        }
    }
    roots
}

/// The names of the verifications that rules read.
pub(super) fn read_verifications(workflow: &Workflow, rules: &[&Rule]) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    for rule in rules {
        for chain in workflow.reads(&rule.when) {
            if chain[0] == VERIFIED
                && let Some(name) = chain.get(1)
                && !names.contains(name)
            {
                names.push(name.clone());
            }
        }
    }
    names
}

/// A text that stands nowhere in a document.
pub(super) fn word(text: &str) -> Spanned<String> {
    Spanned {
        value: text.to_owned(),
        span: 0..0,
    }
}

/// A file of an artifact as its schema shows it.
pub(super) fn filled(artifact: &str) -> GivenFile {
    GivenFile {
        of: word(artifact),
        content: GivenContent::Filled,
    }
}

//! What an approval rests on, or would, as it is shown.

use super::SheetSource;
use orch_core::decide::{Support, supports};
use serde::Serialize;

/// Something that an approval rests on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
pub struct GroundView {
    /// The artifact, or the name of a verification.
    pub artifact: String,
    /// What it judged.
    pub judged: Vec<String>,
    /// Why it does not stand, as what follows its name in a sentence; null if it does.
    pub why_not: Option<String>,
    /// Who wrote it, as far as known.
    pub writers: Vec<String>,
    /// Whether `orch` made it by running something.
    pub ran: bool,
    /// Its digest; null if it is not known.
    pub digest: Option<String>,
}

/// What an approval rests on, or would.
pub(super) fn grounds(source: &SheetSource<'_>) -> Vec<GroundView> {
    let subject = source.subject;
    let found = supports(
        subject.workflow,
        source.state,
        source.facts,
        subject.decision,
    );
    found.into_iter().map(GroundView::of).collect()
}

impl GroundView {
    fn of(support: Support) -> Self {
        Self {
            artifact: support.name,
            judged: support.judged.iter().map(ToString::to_string).collect(),
            why_not: support.why_not,
            writers: support.writers.iter().map(ToString::to_string).collect(),
            ran: support.ran,
            digest: support.digest.map(|digest| digest.to_string()),
        }
    }
}

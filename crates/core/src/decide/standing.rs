//! Which files of an artifact count, and why others do not.
//!
//! A file counts unless it is used up, early, unfilled, or says that it judged something other than what is there now.
//! Each is asked by itself, by its blob id alone, so that an old file neither counts again because another one changed,
//! nor stands in the way of new ones.

use super::{FileFact, NamedVersion, State};
use crate::workflow::{Artifact, TreeScope, Workflow};
use orch_base::{ArtifactName, Digest, VerificationName};
use serde_json::Value;
use std::collections::BTreeMap;
use std::fmt;

/// The present digest of every artifact, by its name and its aliases, and its scope if it is committed code.
pub(super) type Present<'w> = BTreeMap<&'w str, (Option<Digest>, Option<&'w TreeScope>)>;

/// Why a file does not count.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum WhyNot {
    /// A send-back has used it up.
    UsedUp {
        /// When, in words.
        when: String,
        /// Whether it would count otherwise.
        is_only_reason: bool,
    },
    /// It was there before what it judges was recorded.
    Early {
        /// What it judges, in words.
        judges: String,
        /// Whether it would count otherwise.
        is_only_reason: bool,
    },
    /// It says the same as an example of its schema.
    Unfilled,
    /// It says that it judged something else; what, in words.
    Outdated(String),
    /// `orch` runs itself what it says.
    Verified(VerificationName),
}

impl WhyNot {
    /// Whether a person may confirm that the file is right as it is.
    pub(super) fn can_be_confirmed(&self) -> bool {
        match self {
            Self::UsedUp { is_only_reason, .. } | Self::Early { is_only_reason, .. } => {
                *is_only_reason
            }
            Self::Unfilled | Self::Outdated(_) | Self::Verified(_) => false,
        }
    }
}

impl fmt::Display for WhyNot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::UsedUp { when, .. } => f.write_str(when),
            Self::Early { judges, .. } => {
                write!(
                    f,
                    "it was there before {judges} was recorded, and does not say what it judged"
                )
            }
            Self::Unfilled => f.write_str("it says the same as the example of its schema"),
            Self::Outdated(what) => f.write_str(what),
            Self::Verified(name) => write!(f, "orch verifies `{name}` itself in this phase"),
        }
    }
}

/// What decides whether the files of an artifact count.
pub(super) struct Standings<'a> {
    pub workflow: &'a Workflow,
    pub state: &'a State,
    pub artifact: &'a Artifact,
    pub present: &'a Present<'a>,
    /// The verification that says the same as the files, where `orch` runs it.
    pub verified: Option<&'a VerificationName>,
}

impl Standings<'_> {
    /// Why a file does not count; `None` if it does. `is_set_spent` says whether all files that are there were used up
    /// together.
    pub(super) fn why_not(&self, file: &FileFact, is_set_spent: bool) -> Option<WhyNot> {
        if let Some(name) = self.verified {
            return Some(WhyNot::Verified(name.clone()));
        }
        let name = &self.artifact.name;
        let is_used_up = file
            .digest
            .is_some_and(|digest| is_spent(self.workflow, self.state, name, digest));
        if is_used_up || is_set_spent {
            let when = used_up(self.workflow, self.state, name);
            return Some(WhyNot::UsedUp {
                when,
                is_only_reason: self.other_reason(file).is_none(),
            });
        }
        if self.is_early(file) && !self.names_all_judged(file) {
            let judges: Vec<String> = self
                .artifact
                .judges
                .iter()
                .map(|judged| format!("`{judged}`"))
                .collect();
            let judges = judges.join(" and ");
            return Some(WhyNot::Early {
                judges,
                is_only_reason: self.other_reason(file).is_none(),
            });
        }
        self.other_reason(file)
    }

    /// Why a file does not count, apart from being used up or early.
    fn other_reason(&self, file: &FileFact) -> Option<WhyNot> {
        if self.is_unfilled(file) {
            return Some(WhyNot::Unfilled);
        }
        let mut of = judged(file)?.into_iter();
        of.find_map(|(artifact, version)| {
            let why = outdated_because(self.present, &artifact, version)?;
            Some(if self.is_of_example(&artifact, version) {
                format!(
                    "its `of` has the `{artifact}` of the example of its schema, which stands for the present one \
                     (`orch draft` writes that)"
                )
            } else {
                why
            })
        })
        .map(WhyNot::Outdated)
    }

    /// Whether this entry of `of` was copied from the example of the schema, where it names no version of anything.
    fn is_of_example(&self, name: &str, version: NamedVersion) -> bool {
        let schema = self.artifact.schema.as_ref();
        let example = schema.and_then(|schema| schema.example()?.get("of")?.get(name)?.as_str());
        match (example.and_then(Digest::parse), version) {
            (Some(example), NamedVersion::Digest(digest)) => example == digest,
            _ => false,
        }
    }

    fn is_early(&self, file: &FileFact) -> bool {
        file.digest
            .is_some_and(|digest| is_noted_early(self.workflow, self.state, self.artifact, digest))
    }

    /// Whether the file names everything that it judges as it is now.
    fn names_all_judged(&self, file: &FileFact) -> bool {
        let of = judged(file).unwrap_or_default();
        self.artifact.judges.iter().all(|judges| {
            let named = of.iter().find(|(name, _)| {
                self.workflow
                    .artifact_named(name)
                    .is_some_and(|artifact| artifact.name == *judges)
            });
            named.is_some_and(|(name, version)| {
                outdated_because(self.present, name, *version).is_none()
            })
        })
    }

    /// Whether nobody has filled in what the example of the schema leaves to the writer. What an order wrote is
    /// the word of whoever gave it, whatever it says.
    fn is_unfilled(&self, file: &FileFact) -> bool {
        let is_ordered = file.writers.iter().any(|writer| writer.ordered);
        if !self.artifact.filled || is_ordered {
            return false;
        }
        let Some(schema) = &self.artifact.schema else {
            return false;
        };
        file.data
            .as_deref()
            .is_some_and(|data| schema.is_example(data))
    }
}

/// Whether a digest of an artifact's file was there before what it judges was recorded.
pub(super) fn is_noted_early(
    workflow: &Workflow,
    state: &State,
    artifact: &Artifact,
    digest: Digest,
) -> bool {
    workflow
        .producers(&artifact.name)
        .filter_map(|phase| state.actor(&phase.id)?.early.get(&artifact.name))
        .any(|early| early.contains(&digest))
}

/// The `of` map of a report: what it says it judged. Null stands for an absent artifact; any other value that
/// is not a digest never matches.
pub(super) fn judged(file: &FileFact) -> Option<Vec<(String, NamedVersion)>> {
    let data = file.data.as_deref()?;
    let of = data
        .get("of")
        .or_else(|| data.get("front_matter")?.get("of"))?
        .as_object()?;
    let mut judged = Vec::new();
    for (name, value) in of {
        let version = match value {
            Value::Null => NamedVersion::Absent,
            Value::String(text) => {
                Digest::parse(text).map_or(NamedVersion::Unreadable, NamedVersion::Digest)
            }
            _ => NamedVersion::Unreadable,
        };
        judged.push((name.clone(), version));
    }
    Some(judged)
}

/// Why an entry of an `of` map is outdated; `None` if it matches what is present.
pub(super) fn outdated_because(
    present: &Present<'_>,
    name: &str,
    judged: NamedVersion,
) -> Option<String> {
    let Some((present, tree)) = present.get(name) else {
        return Some(format!("`of` names `{name}`, which is not in the workflow"));
    };
    match judged {
        NamedVersion::Digest(digest) if *present == Some(digest) => None,
        NamedVersion::Absent if present.is_none() => None,
        NamedVersion::Absent => Some(format!(
            "there was no `{name}` when it judged, and now there is one"
        )),
        NamedVersion::Unreadable => Some(format!("`of` does not name one version of `{name}`")),
        NamedVersion::Digest(_) => Some(match tree {
            Some(scope) => {
                format!("it judged an earlier version of `{name}`: {scope} changed since")
            }
            None => format!("it judged another version of `{name}`"),
        }),
    }
}

pub(super) fn used_up(workflow: &Workflow, state: &State, artifact: &ArtifactName) -> String {
    let attempt = workflow
        .producers(artifact)
        .map(|phase| state.attempt(&phase.id))
        .max()
        .unwrap_or(0);
    match attempt {
        0 | 1 => "unchanged since it was used up".to_owned(),
        attempt => format!("unchanged since attempt {} was sent back", attempt - 1),
    }
}

/// Whether a send-back has used up a digest of an artifact.
pub(super) fn is_spent(
    workflow: &Workflow,
    state: &State,
    artifact: &ArtifactName,
    digest: Digest,
) -> bool {
    workflow
        .producers(artifact)
        .filter_map(|phase| state.actor(&phase.id)?.spent.get(artifact))
        .any(|spent| spent.contains(&digest))
}

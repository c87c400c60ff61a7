//! What the settings of a project ask of decisions, beside the workflow.

use orch_base::{Digest, ObjectFormat, VerificationName, words};
use serde::Serialize;
use std::collections::BTreeMap;

/// What the settings of a project ask of decisions: those of the commit that a step rests on.
///
/// An event names their digest, so that a decision can be made again with the same ones.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Inputs {
    /// `[require]`: what a step needs besides its rule.
    pub require: Require,
    /// `[people.teams]`: the addresses of the members, by team.
    pub teams: BTreeMap<String, Vec<String>>,
    /// `[verify.*]`: the digest of each table.
    pub verify: BTreeMap<VerificationName, Digest>,
    /// Their digest; `None` if all are as without settings.
    pub digest: Option<Digest>,
    /// What is wrong with these settings, where nobody else tells it: then everything is required.
    pub fault: Option<String>,
}

/// `[require]`: what has to be so, and is only told otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct Require {
    /// Whether a verdict by a writer of what it judges, or by an unknown writer, keeps a task where it is.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub independent: bool,
    /// Whether only what `orch` has verified counts.
    #[serde(skip_serializing_if = "RequireVerified::is_no")]
    pub verified: RequireVerified,
    /// Whether a test that is lost keeps a task where it is.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub tests_kept: bool,
    /// Whether the settings cannot be read, so that everything is required.
    #[serde(skip)]
    pub is_unread: bool,
}

words! {
    /// Whether verifications are required.
    #[derive(Default)]
    pub enum RequireVerified {
        /// They are not.
        #[default]
        No = "no",
        /// A report that `orch` has not made counts for nothing.
        Yes = "yes",
        /// The same, and an approval needs a verification of the newest commit.
        Tip = "tip",
    }
}

impl RequireVerified {
    /// Whether nothing is required.
    #[must_use]
    pub fn is_no(&self) -> bool {
        *self == Self::No
    }
}

/// What the digest is made of; what is as without settings is left out.
#[derive(Serialize)]
struct InputMembers<'i> {
    #[serde(skip_serializing_if = "is_default")]
    require: Require,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    teams: &'i BTreeMap<String, Vec<String>>,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    verify: &'i BTreeMap<VerificationName, Digest>,
}

fn is_default(require: &Require) -> bool {
    *require == Require::default()
}

impl Require {
    /// All that can be required: what stands for settings that cannot be read, so that a fault loosens nothing.
    pub const EVERYTHING: Self = Self {
        independent: true,
        verified: RequireVerified::Tip,
        tests_kept: true,
        is_unread: true,
    };

    /// What the digest of the inputs says of it: of settings that cannot be read what it always said of those.
    fn digested(self) -> Self {
        if self.is_unread {
            Self {
                independent: true,
                ..Self::default()
            }
        } else {
            self
        }
    }
}

impl Inputs {
    /// These settings, with their digest in the format of a repository. The order of the members of a team does not
    /// matter.
    #[must_use]
    pub fn new(
        require: Require,
        teams: &BTreeMap<String, Vec<String>>,
        verify: BTreeMap<VerificationName, Digest>,
        format: ObjectFormat,
    ) -> Self {
        let mut teams = teams.clone();
        for members in teams.values_mut() {
            members.sort();
            members.dedup();
        }
        let no_table = BTreeMap::new();
        let tables = if require.is_unread {
            &no_table
        } else {
            &verify
        };
        let text = serde_json::to_string(&InputMembers {
            require: require.digested(),
            teams: &teams,
            verify: tables,
        })
        .unwrap_or_default();
        let digest = if text == "{}" {
            None
        } else {
            Some(format.blob(text.as_bytes()))
        };
        Self {
            require,
            teams,
            verify,
            digest,
            fault: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_digest_is_of_what_was_set() {
        let none = BTreeMap::new();
        let team = |members: &[&str]| {
            let members = members.iter().map(|&member| member.to_owned()).collect();
            BTreeMap::from([("security".to_owned(), members)])
        };
        let digest = |independent, teams: &BTreeMap<String, Vec<String>>| {
            let require = Require {
                independent,
                ..Require::default()
            };
            Inputs::new(require, teams, BTreeMap::new(), ObjectFormat::Sha1).digest
        };
        assert_eq!(digest(false, &none), None);
        assert_eq!(
            digest(true, &none),
            Some(Digest::of_blob(br#"{"require":{"independent":true}}"#))
        );
        assert_eq!(
            digest(false, &team(&["b", "a"])),
            Some(Digest::of_blob(br#"{"teams":{"security":["a","b"]}}"#))
        );
        let unread = Inputs::new(
            Require::EVERYTHING,
            &none,
            BTreeMap::new(),
            ObjectFormat::Sha1,
        );
        assert_eq!(unread.digest, digest(true, &none));
        let all = Require {
            is_unread: false,
            ..Require::EVERYTHING
        };
        let all = Inputs::new(all, &none, BTreeMap::new(), ObjectFormat::Sha1);
        assert_ne!(all.digest, digest(true, &none));
        assert_eq!(
            digest(true, &team(&["a", "b"])),
            digest(true, &team(&["b", "a", "b"]))
        );
    }
}

//! Serde for values that files store as text.

use super::{
    ActionName, ArtifactName, Digest, PhaseId, RepoPath, RuleId, TaskId, Timestamp,
    VerificationName, WorkflowName,
};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// Implements `Serialize` by `Display`, and `Deserialize` by the given parse function.
macro_rules! text {
    ($($name:ident: $read:expr),+ $(,)?) => {$(
        impl Serialize for $name {
            fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = String::deserialize(deserializer)?;
                let read: Result<Self, _> = $read(&text);
                read.map_err(D::Error::custom)
            }
        }
    )+};
}

text! {
    ActionName: Self::new,
    ArtifactName: Self::new,
    WorkflowName: Self::new,
    PhaseId: Self::new,
    RuleId: Self::new,
    TaskId: Self::new,
    VerificationName: Self::new,
    RepoPath: Self::new,
    Digest: |text: &str| Self::parse(text).ok_or_else(|| format!("{text:?} is not a digest")),
    Timestamp: |text: &str| Self::parse(text).ok_or_else(|| format!("{text:?} is not a point in time")),
}

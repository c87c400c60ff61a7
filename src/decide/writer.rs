//! Who wrote the files of a task, as far as that was seen.

use super::ActorKind;
use crate::base::{ArtifactName, Digest};
use serde::{Deserialize, Serialize};
use std::collections::BTreeMap;

/// Who wrote the present bytes of a file.
///
/// The record only claims it; a signature proves it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FileWriter {
    /// A person, an agent, or `orch` itself.
    pub kind: ActorKind,
    /// The name: the address of a person, or the name of an agent.
    pub name: String,
    /// Whether an order wrote it: approve or reject.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ordered: bool,
    /// The turn of a run in which it was written, for the executor of a run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub turn: Option<WriterTurn>,
}

/// A turn of a run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WriterTurn {
    /// The program of the executor, without its arguments.
    pub executor: String,
    /// The id of the run.
    pub run: String,
    /// The number of the turn in the run, from 1.
    pub number: u32,
}

/// What an event notes of one file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NotedFile {
    /// The path relative to the task directory.
    pub path: String,
    /// Its blob id.
    pub digest: Digest,
    /// Whether it was there before what it judges was recorded, and that is noted by this event.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub early: bool,
    /// Who wrote it; `None` if that was not seen.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub writer: Option<FileWriter>,
}

/// What an event notes of the files of each artifact, sorted by path.
pub type NotedFiles = BTreeMap<ArtifactName, Vec<NotedFile>>;

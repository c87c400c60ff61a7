//! A place in a file as JSON.

use orch_base::Place;
use serde::Serialize;

/// Where something is: a file, the position in it, and the line itself, as far as they are known.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct SourcePlace {
    /// Path relative to the root of the repository.
    pub path: String,
    /// Line, from 1.
    pub line: Option<u32>,
    /// Column in characters, from 1.
    pub column: Option<u32>,
    /// The line, without its end; null if it is not known or very long.
    pub source: Option<String>,
}

impl From<&Place> for SourcePlace {
    fn from(place: &Place) -> Self {
        Self {
            path: place.path.clone(),
            line: place.line,
            column: place.column,
            source: place.source().map(str::to_owned),
        }
    }
}

//! JSON as text: pretty for answers, one line for streams.

use serde::Serialize;

/// The version of every JSON output; it changes only when a consumer has to.
pub const SCHEMA_VERSION: u32 = 1;

/// The value as indented JSON with a final newline.
#[must_use]
pub fn pretty(value: &impl Serialize) -> String {
    // Our wire structs hold string keys only, for which serialisation into memory cannot fail.
    let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.push('\n');
    text
}

/// The value as one line of JSON with a final newline, for streams of newline-delimited JSON.
#[must_use]
pub fn line(value: &impl Serialize) -> String {
    let mut text = serde_json::to_string(value).unwrap_or_default();
    text.push('\n');
    text
}

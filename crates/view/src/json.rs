//! JSON as text: documents with their envelope, indented or on one line, and plain values.

use serde::Serialize;

/// The version of every JSON output. It changes only if consumers have to change.
pub const SCHEMA_VERSION: u32 = 1;

/// A document that a command prints as JSON. Its schema is `system/schemas/output/KIND.schema.json`.
pub trait JsonDocument: Serialize {
    /// The value of `kind` in the document.
    const KIND: &'static str;
}

/// A document as printed: the version of its form and its kind, then its own members.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct Envelope<'a, D> {
    schema_version: u32,
    kind: &'static str,
    #[serde(flatten)]
    document: &'a D,
}

impl<'a, D: JsonDocument> Envelope<'a, D> {
    fn of(document: &'a D) -> Self {
        Self {
            schema_version: SCHEMA_VERSION,
            kind: D::KIND,
            document,
        }
    }
}

/// Declares the kind of each document type.
macro_rules! documents {
    ($($name:ty = $kind:literal),+ $(,)?) => {
        $(impl super::JsonDocument for $name {
            const KIND: &'static str = $kind;
        })+
    };
}
pub(super) use documents;

/// The document as indented JSON with a final newline.
#[must_use]
pub fn pretty(document: &impl JsonDocument) -> String {
    indented(&Envelope::of(document))
}

/// The document as one line of JSON with a final newline, for newline-delimited JSON.
#[must_use]
pub fn line(document: &impl JsonDocument) -> String {
    let mut text = serde_json::to_string(&enveloped(document)).unwrap_or_default();
    text.push('\n');
    text
}

/// The document with its envelope, as [`line()`] writes it before the newline.
pub fn enveloped<D: JsonDocument>(document: &D) -> impl Serialize {
    Envelope::of(document)
}

/// A value as indented JSON with a final newline, without an envelope.
#[must_use]
pub fn indented(value: &impl Serialize) -> String {
    // The wire structs have only string keys, so serialization into memory cannot fail.
    let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.push('\n');
    text
}

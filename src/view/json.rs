//! JSON as text: documents with their envelope, pretty or on one line, and plain values.

use serde::Serialize;

/// The version of every JSON output; it changes only when a consumer has to.
pub const SCHEMA_VERSION: u32 = 1;

/// What a command prints as one JSON document. Its schema is `system/schemas/output/KIND.schema.json`.
pub trait JsonDocument: Serialize {
    /// What the document says it is.
    const KIND: &'static str;
}

/// A document as it is printed: the version of its shape and its kind, then its own members.
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
        Self { schema_version: SCHEMA_VERSION, kind: D::KIND, document }
    }
}

/// Says which kind of document each type is.
macro_rules! documents {
    ($($name:ty = $kind:literal),+ $(,)?) => {
        $(impl super::JsonDocument for $name {
            const KIND: &'static str = $kind;
        })+
    };
}
pub(super) use documents;

/// A document as indented JSON with a final newline.
#[must_use]
pub fn pretty(document: &impl JsonDocument) -> String {
    indented(&Envelope::of(document))
}

/// A document as one line of JSON with a final newline, for streams of newline-delimited JSON.
#[must_use]
pub fn line(document: &impl JsonDocument) -> String {
    let mut text = serde_json::to_string(&Envelope::of(document)).unwrap_or_default();
    text.push('\n');
    text
}

/// Any value as indented JSON with a final newline, without an envelope.
#[must_use]
pub fn indented(value: &impl Serialize) -> String {
    // Our wire structs hold string keys only, for which serialisation into memory cannot fail.
    let mut text = serde_json::to_string_pretty(value).unwrap_or_default();
    text.push('\n');
    text
}

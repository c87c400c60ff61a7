//! What a document says to the machine, in one form: two versions of a document are the same machine if their digests are.
//!
//! Prose, comments, blanks, the ways to write a value, the diagram, the tests and the order of keys do not show. The order of
//! phases does: it says what is later. Records hold the digest, so the form may not change.

use super::{Artifact, SchemaText, Workflow};
use orch_base::Digest;
use std::fmt::Write;
use toml::de::{DeTable, DeValue};

impl Workflow {
    /// Whether this is the digest of this version. Records from before [`Workflow::digest`] was that of the machine have
    /// the digest of the bytes.
    #[must_use]
    pub fn has_digest(&self, digest: Digest) -> bool {
        self.digest == digest || self.digest_of_bytes == digest
    }
}

/// The digests of the texts that decide: one text, and the schemas that its workflow names.
pub(super) fn digest(text: Digest, artifacts: &[Artifact], state: Option<&SchemaText>) -> Digest {
    let mut parts = vec![("", text)];
    let schemas = artifacts
        .iter()
        .filter_map(|artifact| artifact.schema.as_ref())
        .chain(state);
    parts.extend(schemas.map(|schema| (schema.name.as_str(), schema.digest)));
    parts.sort_unstable();
    parts.dedup();
    Digest::of_files(&parts)
}

/// What the blocks of a document say.
pub(super) fn said(blocks: &DeTable<'_>) -> String {
    let mut text = String::new();
    write_table(blocks, &mut text);
    let phases = blocks.iter().find(|(key, _)| key.get_ref() == "phase");
    let phases = phases.and_then(|(_, phases)| phases.get_ref().as_table());
    for (name, _) in phases.into_iter().flat_map(DeTable::iter) {
        write_text(name.get_ref(), &mut text);
    }
    text
}

fn write_table(table: &DeTable<'_>, text: &mut String) {
    let mut entries: Vec<_> = table.iter().collect();
    entries.sort_by(|one, other| one.0.get_ref().cmp(other.0.get_ref()));
    text.push('{');
    for (key, value) in entries {
        write_text(key.get_ref(), text);
        write_value(value.get_ref(), text);
    }
    text.push('}');
}

/// With its length before it, a text needs no escapes.
fn write_text(value: &str, text: &mut String) {
    let _ = write!(text, "{}:{value}", value.len());
}

fn write_value(value: &DeValue<'_>, text: &mut String) {
    match value {
        DeValue::String(value) => write_text(value, text),
        DeValue::Integer(number) => {
            let value = i64::from_str_radix(number.as_str(), number.radix()).unwrap_or_default();
            let _ = write!(text, "i{value};");
        }
        DeValue::Float(number) => {
            let value = number.as_str().parse::<f64>().unwrap_or_default();
            let _ = write!(text, "f{:x};", value.to_bits());
        }
        DeValue::Boolean(value) => text.push(if *value { 't' } else { 'n' }),
        DeValue::Datetime(moment) => {
            let _ = write!(text, "d{moment};");
        }
        DeValue::Array(items) => {
            text.push('[');
            items
                .iter()
                .for_each(|item| write_value(item.get_ref(), text));
            text.push(']');
        }
        DeValue::Table(table) => write_table(table, text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use toml::Spanned;

    fn form(blocks: &str) -> String {
        let blocks = DeTable::parse(blocks).map(Spanned::into_inner);
        said(&blocks.expect("TOML"))
    }

    #[test]
    fn what_is_said_to_the_machine_does_not_depend_on_how_it_is_written() {
        for (one, other, is_same) in [
            (
                "a = 'x' # why\n\n# more\nb = [1,0x10]\nc = 1e1",
                "c = 10.0\na = \"x\"\nb = [\n  1,\n  16,\n]",
                true,
            ),
            ("[b]\n[a]", "[a]\n[b]", true),
            ("[phase.b]\n[phase.a]", "[phase.a]\n[phase.b]", false),
            // A line of a text may begin like a comment.
            (
                "a = \"\"\"\nx\n# y\n\"\"\"",
                "a = \"\"\"\nx\n# z\n\"\"\"",
                false,
            ),
            ("a = 1", "a = 1.0", false),
            ("a = '1'", "a = 1", false),
            ("a = ['bc', 'd']", "a = ['b', 'cd']", false),
            (
                "[[r]]\na = 1\n[[r]]\na = 2",
                "[[r]]\na = 2\n[[r]]\na = 1",
                false,
            ),
        ] {
            assert_eq!(form(one) == form(other), is_same, "{one} {other}");
        }
    }

    /// Records hold it.
    #[test]
    fn the_form_stays() {
        let blocks =
            "[phase.b]\nx = ['a', 1, true, 2.5]\n[phase.a]\n[workflow]\nsince = 2024-01-02\n";
        let expected = "{5:phase{1:a{}1:b{1:x[1:ai1;tf4004000000000000;]}}8:workflow{5:sinced2024-01-02;}}1:b1:a";
        assert_eq!(form(blocks), expected);
    }
}

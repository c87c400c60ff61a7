//! The operations of a patch as text.

use super::json_patch::{JsonPatchOp, RawOp};
use serde::de::{Deserialize, DeserializeSeed, Deserializer, Error, MapAccess, SeqAccess, Visitor};
use serde::ser::Serialize;
use std::fmt;

/// The operations of a patch as compact JSON. A long history has many patches, and as values they take several times
/// as much memory.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PatchText(Box<str>);

impl PatchText {
    /// The text of these operations.
    #[must_use]
    pub fn of(ops: &[JsonPatchOp]) -> Self {
        match ops {
            [] => Self::default(),
            // Their paths are text, so writing them cannot fail.
            ops => Self(serde_json::to_string(ops).unwrap_or_default().into()),
        }
    }

    /// The operations.
    #[must_use]
    pub fn ops(&self) -> Vec<JsonPatchOp> {
        // It is the text of operations, or empty.
        serde_json::from_str(&self.0).unwrap_or_default()
    }

    /// The operations as a JSON array; empty if there are none.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// Reads operations without making a value of any of them.
impl<'de> Deserialize<'de> for PatchText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Operations;

        impl<'de> Visitor<'de> for Operations {
            type Value = PatchText;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of operations")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<PatchText, A::Error> {
                let mut text = Vec::with_capacity(256);
                while let Some(op) = items.next_element::<RawOp<'_, ValueText>>()? {
                    op.check()?;
                    text.push(if text.is_empty() { b'[' } else { b',' });
                    append(&mut text, b"{\"op\":", &op.op);
                    append(&mut text, b",\"path\":", &op.path);
                    if let Some(ValueText(value)) = &op.value {
                        text.extend_from_slice(b",\"value\":");
                        text.extend_from_slice(value);
                    }
                    text.push(b'}');
                }
                if !text.is_empty() {
                    text.push(b']');
                }
                let text = String::from_utf8(text).map_err(A::Error::custom)?;
                Ok(PatchText(text.into()))
            }
        }

        deserializer.deserialize_seq(Operations)
    }
}

/// A JSON value as compact text, its members in the order in which they were.
struct ValueText(Vec<u8>);

impl<'de> Deserialize<'de> for ValueText {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let mut text = Vec::with_capacity(128);
        AppendTo(&mut text).deserialize(deserializer)?;
        Ok(Self(text))
    }
}

/// Appends what it reads to a text.
struct AppendTo<'t>(&'t mut Vec<u8>);

impl<'de> DeserializeSeed<'de> for AppendTo<'_> {
    type Value = ();

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<(), D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for AppendTo<'_> {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<(), E> {
        append(self.0, b"", &());
        Ok(())
    }

    fn visit_bool<E>(self, value: bool) -> Result<(), E> {
        append(self.0, b"", &value);
        Ok(())
    }

    fn visit_u64<E>(self, number: u64) -> Result<(), E> {
        append(self.0, b"", &number);
        Ok(())
    }

    fn visit_i64<E>(self, number: i64) -> Result<(), E> {
        append(self.0, b"", &number);
        Ok(())
    }

    fn visit_f64<E>(self, number: f64) -> Result<(), E> {
        append(self.0, b"", &number);
        Ok(())
    }

    fn visit_str<E>(self, text: &str) -> Result<(), E> {
        append(self.0, b"", text);
        Ok(())
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<(), A::Error> {
        self.0.push(b'[');
        let first = self.0.len();
        loop {
            let before = self.0.len();
            if before > first {
                self.0.push(b',');
            }
            if items.next_element_seed(AppendTo(self.0))?.is_none() {
                self.0.truncate(before);
                self.0.push(b']');
                return Ok(());
            }
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, mut members: A) -> Result<(), A::Error> {
        self.0.push(b'{');
        let first = self.0.len();
        loop {
            let before = self.0.len();
            if before > first {
                self.0.push(b',');
            }
            if members.next_key_seed(AppendTo(self.0))?.is_none() {
                self.0.truncate(before);
                self.0.push(b'}');
                return Ok(());
            }
            self.0.push(b':');
            members.next_value_seed(AppendTo(self.0))?;
        }
    }
}

/// Appends a text, then a value as JSON.
fn append<V: Serialize + ?Sized>(text: &mut Vec<u8>, before: &[u8], value: &V) {
    text.extend_from_slice(before);
    // To write scalar values into memory cannot fail.
    let _ = serde_json::to_writer(text, value);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn read(text: &str) -> Result<PatchText, serde_json::Error> {
        serde_json::from_str(text)
    }

    #[test]
    fn a_text_that_is_read_is_that_of_its_operations() {
        for ops in [
            json!([]),
            json!([{"op": "remove", "path": "/a~1b/\u{e4}\"\\\n"}]),
            json!([{"op": "add", "path": "", "value": null}, {"op": "replace", "path": "/a", "value": {}}]),
            json!([{"op": "add", "path": "/a", "value": [
                [], [1, -2, 1e300, 0.1, -0.0, u64::MAX, i64::MIN], true, "\u{1}\u{1f600}/", {"b": {"a": [null]}, "": 1},
            ]}]),
        ] {
            let whole: Vec<JsonPatchOp> = serde_json::from_value(ops.clone()).expect("operations");
            for text in [ops.to_string(), format!("{ops:#}")] {
                assert_eq!(
                    read(&text).expect("operations"),
                    PatchText::of(&whole),
                    "{text}"
                );
                assert_eq!(read(&text).expect("operations").ops(), whole);
            }
        }
        let odd = r#"[ {"value" : {"a":1,"\u0062":2} , "more": 3, "path":"\/a" , "op":"add"} ]"#;
        assert_eq!(
            read(odd).expect("an operation").as_str(),
            r#"[{"op":"add","path":"/a","value":{"a":1,"b":2}}]"#
        );
    }

    #[test]
    fn what_cannot_be_applied_later_is_refused() {
        let deep = format!(
            r#"[{{"op":"add","path":"/a","value":{}{}}}]"#,
            "[".repeat(200),
            "]".repeat(200)
        );
        for odd in [
            r#"{}"#,
            r#"null"#,
            r#"[1]"#,
            r#"[{"op":"add","path":"/a"}]"#,
            r#"[{"op":"remove","path":"/a","value":null}]"#,
            r#"[{"op":"move","path":"/a","value":1}]"#,
            r#"[{"op":"add","path":1,"value":1}]"#,
            r#"[{"op":"add","op":"add","path":"/a","value":1}]"#,
            r#"[{"op":"add","path":"/a","value":1e999}]"#,
            r#"[{"op":"add","path":"/a","value":"\ud800"}]"#,
            r#"[{"op":"add","path":"/a","value":[1,]}]"#,
            &deep,
        ] {
            assert!(
                serde_json::from_str::<Vec<JsonPatchOp>>(odd).is_err(),
                "{odd}"
            );
            assert!(read(odd).is_err(), "{odd}");
        }
    }
}

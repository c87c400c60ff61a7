//! The state fields of a configuration: parses their types, which people write in many notations.

use serde_json::{Value, json};

/// The type of a field.
#[derive(Debug, Clone, PartialEq)]
pub(super) enum Type {
    Bool,
    Number,
    Integer,
    Text,
    /// One of these strings.
    OneOf(Vec<String>),
    /// A list of values of this type.
    List(Box<Self>),
    Map,
    /// Any value; the type is unknown.
    Any,
}

/// A field of the state.
#[derive(Debug, Clone, PartialEq)]
pub struct Field {
    /// The name, an identifier.
    pub(super) name: String,
    /// The type of its values.
    pub(super) kind: Type,
    /// Whether the field may be absent, which expressions call null.
    pub(super) optional: bool,
    /// A one-line description.
    pub(super) description: String,
    /// The value that the configuration gives a new task; `None` if it gives none.
    pub(super) initial: Option<Value>,
}

impl Field {
    /// The name of the field, an identifier.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The initial value for a new task: that of the configuration, or else an empty one. An optional field is
    /// then absent.
    pub(super) fn default(&self) -> Option<Value> {
        if self.initial.is_some() {
            return self.initial.clone();
        }
        match &self.kind {
            _ if self.optional => None,
            Type::Bool => Some(json!(false)),
            Type::Number | Type::Integer => Some(json!(0)),
            Type::Text => Some(json!("")),
            Type::OneOf(texts) => texts.first().map(|text| json!(text)),
            Type::List(_) => Some(json!([])),
            Type::Map | Type::Any => None,
        }
    }

    /// The JSON Schema of the field.
    pub(super) fn schema(&self) -> Value {
        let mut schema = self.kind.schema();
        if !self.description.is_empty() {
            schema["description"] = json!(self.description);
        }
        schema
    }
}

impl Type {
    /// The type of a list; one whose items may be null accepts any items.
    pub(super) fn list_of(item: Self, nullable: bool) -> Self {
        Self::List(Box::new(if nullable { Self::Any } else { item }))
    }

    /// Whether no value is the obvious first one, so that a new task has none.
    pub(super) fn starts_absent(&self) -> bool {
        matches!(self, Self::Map | Self::Any)
    }

    fn schema(&self) -> Value {
        match self {
            Self::Bool => json!({"type": "boolean"}),
            Self::Number => json!({"type": "number"}),
            Self::Integer => json!({"type": "integer"}),
            Self::Text => json!({"type": "string"}),
            Self::OneOf(texts) => json!({"enum": texts}),
            Self::List(item) if **item == Self::Any => json!({"type": "array"}),
            Self::List(item) => json!({"type": "array", "items": item.schema()}),
            Self::Map => json!({"type": "object"}),
            Self::Any => json!({}),
        }
    }

    /// Whether a value is of this type.
    pub(super) fn accepts(&self, value: &Value) -> bool {
        match self {
            Self::Bool => value.is_boolean(),
            Self::Number => value.is_number(),
            Self::Integer => value.is_i64() || value.is_u64(),
            Self::Text => value.is_string(),
            Self::OneOf(texts) => value
                .as_str()
                .is_some_and(|text| texts.iter().any(|known| known == text)),
            Self::List(item) => value
                .as_array()
                .is_some_and(|items| items.iter().all(|value| item.accepts(value))),
            Self::Map => value.is_object(),
            Self::Any => true,
        }
    }
}

/// Parses a type such as `string`, `number | null`, `Issue[]`, `'low' | 'high'` or `low|high`.
///
/// Returns the type, [`Type::Any`] if it is unknown, and whether the field may be null.
pub(super) fn read(text: &str) -> (Type, bool) {
    let (mut kinds, mut texts, mut is_quoted, mut optional) =
        (Vec::new(), Vec::new(), false, false);
    for part in alternatives(text) {
        let quotes: &[char] = &['\'', '"'];
        let bare = part.trim_matches(quotes);
        if bare.len() < part.len() {
            is_quoted = true;
            texts.push(bare.to_owned());
            continue;
        }
        match part.to_ascii_lowercase().as_str() {
            "null" | "undefined" => optional = true,
            "boolean" | "bool" => kinds.push(Type::Bool),
            "integer" | "int" => kinds.push(Type::Integer),
            "number" | "float" => kinds.push(Type::Number),
            "string" | "text" | "date" | "path" => kinds.push(Type::Text),
            "array" | "list" => kinds.push(Type::List(Box::new(Type::Any))),
            "object" | "map" => kinds.push(Type::Map),
            "any" | "unknown" => kinds.push(Type::Any),
            lower if lower.ends_with("[]") => {
                let item = part[..part.len() - 2].trim_end();
                let in_brackets = item
                    .strip_prefix('(')
                    .and_then(|item| item.strip_suffix(')'));
                kinds.push(list(in_brackets.unwrap_or(item)));
            }
            lower if lower.starts_with("array<") && lower.ends_with('>') => {
                kinds.push(list(&part["array<".len()..part.len() - 1]));
            }
            lower if lower.starts_with("record<") || lower.starts_with('{') => {
                kinds.push(Type::Map)
            }
            _ => texts.push(part.to_owned()),
        }
    }
    let kind = match (kinds.as_slice(), texts.as_slice()) {
        ([only], []) => only.clone(),
        // A single bare word is the name of a type; several are the values of an enumeration.
        ([], [_, ..]) if is_quoted || texts.len() > 1 => Type::OneOf(texts),
        _ => Type::Any,
    };
    (kind, optional)
}

/// How deeply the notation of a type may nest; what is nested more deeply is of any type.
const MOST_NESTED: usize = 16;

/// The type of a list of items, whose type is given as text.
fn list(item: &str) -> Type {
    if item.matches("[]").count() + item.matches('<').count() > MOST_NESTED {
        return Type::list_of(Type::Any, false);
    }
    let (kind, nullable) = read(item);
    Type::list_of(kind, nullable)
}

/// Splits at each `|` outside brackets.
fn alternatives(text: &str) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut start = 0;
    let mut depth = 0_usize;
    for (at, letter) in text.char_indices() {
        match letter {
            '<' | '{' | '(' => depth += 1,
            '>' | '}' | ')' => depth = depth.saturating_sub(1),
            '|' if depth == 0 => {
                parts.push(text[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    parts.push(text[start..].trim());
    parts.retain(|part| !part.is_empty());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_are_read_as_people_write_them() {
        let list = |item: Type| Type::List(Box::new(item));
        let one_of =
            |texts: &[&str]| Type::OneOf(texts.iter().map(|text| (*text).to_owned()).collect());
        for (text, kind, optional) in [
            ("string", Type::Text, false),
            ("String | null", Type::Text, true),
            ("boolean", Type::Bool, false),
            ("integer", Type::Integer, false),
            ("number|undefined", Type::Number, true),
            ("string[]", list(Type::Text), false),
            ("('a' | 'B')[]", list(one_of(&["a", "B"])), false),
            ("number[][] | null", list(list(Type::Number)), true),
            ("(string | null)[]", list(Type::Any), false),
            ("Issue[]", list(Type::Any), false),
            (
                &format!("string{}", "[]".repeat(20_000)),
                list(Type::Any),
                false,
            ),
            ("Array<Array<string>>", list(list(Type::Text)), false),
            ("Array<string | number>", list(Type::Any), false),
            ("Array", list(Type::Any), false),
            ("Record<string, number>", Type::Map, false),
            ("{ a: string | null }", Type::Map, false),
            ("'low' | 'high'", one_of(&["low", "high"]), false),
            ("\"one\"", one_of(&["one"]), false),
            ("low|medium|null", one_of(&["low", "medium"]), true),
            ("Widget", Type::Any, false),
            ("string | number", Type::Any, false),
            ("", Type::Any, false),
        ] {
            assert_eq!(read(text), (kind, optional), "{text}");
        }
    }

    #[test]
    fn a_default_fits_its_own_schema() {
        for text in [
            "string", "boolean", "number", "integer", "string[]", "a|b", "object", "Widget",
        ] {
            let (kind, nullable) = read(text);
            let optional = nullable || kind.starts_absent();
            let (name, description) = ("f".to_owned(), "D.".to_owned());
            let field = Field {
                name,
                kind,
                optional,
                description,
                initial: None,
            };
            assert_eq!(field.default().is_none(), optional, "{text}");
            let schema =
                orch_read::Schema::compile("f", &field.schema().to_string()).expect("a schema");
            let problems = field
                .default()
                .map(|value| schema.validate(&value))
                .unwrap_or_default();
            assert!(problems.is_empty(), "{text}: {problems:?}");
        }
    }
}

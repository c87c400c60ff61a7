//! The question that a person is asked: the fields, their types, and the values to choose from.

use super::Subject;
use super::layout::one_line;
use super::schema_outline::{allowed, kind_of};
use super::wire::{FieldView, QuestionView};
use orch_core::decide::QuestionField;
use orch_core::workflow::{SchemaText, is_list, schema_field};
use serde_json::Value;

/// The question of a decision; `None` if it asks none.
#[must_use]
pub fn question(subject: &Subject<'_>) -> Option<QuestionView> {
    let question = subject.decision.question.as_ref()?;
    let schema = subject
        .workflow
        .state
        .schema
        .as_ref()
        .and_then(SchemaText::value)
        .unwrap_or(&Value::Null);
    let fields = question
        .fields
        .iter()
        .map(|field| view(schema, field))
        .collect();
    Some(QuestionView {
        title: question.title.clone(),
        fields,
    })
}

fn view(schema: &Value, field: &QuestionField) -> FieldView {
    let part = schema_field(schema, &field.pointer);
    FieldView {
        key: field.key(),
        r#type: part.map_or_else(|| "any".to_owned(), |part| kind_of(schema, part)),
        list: part.is_some_and(is_list),
        values: field.options.clone().or_else(|| allowed(schema, part?)),
        default: field.default.clone(),
    }
}

impl FieldView {
    /// The field as one line: its key, what may be typed, and the default.
    #[must_use]
    pub fn text(&self) -> String {
        let what = match (&self.values, self.list) {
            (Some(values), is_list) => {
                let values: Vec<String> = values.iter().map(typed).collect();
                format!(
                    "{} {}",
                    if is_list { "any of" } else { "one of" },
                    values.join(", ")
                )
            }
            // The items of such a list have members, which only JSON can name.
            (None, true) if self.r#type.contains('{') => {
                format!("{}, as JSON: '[{{…}}, …]'", self.r#type)
            }
            (None, true) => format!("{}, separated by commas", self.r#type),
            (None, false) => self.r#type.clone(),
        };
        let default = self.default.as_ref().map_or(String::new(), |value| {
            format!(" (default: {})", typed(value))
        });
        one_line(&format!("{}: {what}{default}", self.key))
    }
}

/// A value as it is typed on a command line.
fn typed(value: &Value) -> String {
    match value {
        Value::String(text) if !text.is_empty() => text.clone(),
        Value::Array(items) => {
            let items = items.iter().map(|item| match item {
                Value::String(text) => text.clone(),
                other => other.to_string(),
            });
            items.collect::<Vec<_>>().join(",")
        }
        other => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_list_of_plain_values_is_separated_by_commas() {
        let text = |r#type: &str| {
            let field = FieldView {
                key: "fixes".to_owned(),
                r#type: r#type.to_owned(),
                list: true,
                values: None,
                default: None,
            };
            field.text()
        };
        assert_eq!(text("[string]"), "fixes: [string], separated by commas");
        assert_eq!(text("[{…}]"), "fixes: [{…}], as JSON: '[{…}, …]'");
    }
}

//! Writes a value in the format of an artifact, as a reader of that format would read it again.

use orch_core::workflow::Format;
use serde_json::Value;

/// The text of a file with this value; `None` if files of the format are no plain values, or the value has no such form.
#[must_use]
pub fn written(format: Format, value: &Value) -> Option<String> {
    match format {
        Format::Json | Format::Yaml | Format::Toml => format.written(value),
        Format::Jsonl => {
            let mut text = String::new();
            for item in value.as_array()? {
                text.push_str(&format!("{item}\n"));
            }
            Some(text)
        }
        Format::Csv => table(value),
        Format::Markdown
        | Format::Junit
        | Format::Cobertura
        | Format::Lcov
        | Format::Sarif
        | Format::Text
        | Format::Patch => None,
    }
}

/// A table with the keys of the first row as its header.
fn table(value: &Value) -> Option<String> {
    let rows = value.as_array()?;
    let first = rows.first()?.as_object()?;
    let header: Vec<&String> = first.keys().collect();
    let mut writer = csv::Writer::from_writer(Vec::new());
    writer.write_record(&header).ok()?;
    for row in rows {
        let mut cells = Vec::new();
        for key in &header {
            cells.push(match row.get(key.as_str())? {
                Value::String(cell) => cell.clone(),
                other => other.to_string(),
            });
        }
        writer.write_record(&cells).ok()?;
    }
    String::from_utf8(writer.into_inner().ok()?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::read;
    use orch_base::RepoPath;
    use serde_json::json;

    #[test]
    fn what_is_written_is_read_again() {
        let one = json!({"a": "x, \"y\"", "b": [1, 2], "c": {"d": true}});
        let rows = json!([{"a": "x, \"y\"", "b": "2"}]);
        for (format, value) in [
            (Format::Json, &one),
            (Format::Yaml, &one),
            (Format::Toml, &one),
            (Format::Jsonl, &rows),
            (Format::Csv, &rows),
        ] {
            let text = written(format, value).expect("it has such a form");
            let path = RepoPath::new("file").expect("a path");
            let read = read(format, &path, text.as_bytes());
            assert_eq!(
                read.data.as_ref(),
                Some(value),
                "{text} {:#?}",
                read.problems
            );
        }
        assert_eq!(written(Format::Markdown, &one), None);
        assert_eq!(written(Format::Csv, &one), None);
    }
}

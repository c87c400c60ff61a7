//! The keys of the tables of a document, each with its meaning, as the page about workflows lists them.

/// A key of a table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BlockKey {
    /// The table: `workflow`, `artifact`, `phase`, `rule`, `action`, `ask`, `deadline`, `migrate` or `limits`.
    pub table: &'static str,
    /// The key.
    pub key: &'static str,
    /// What it means, as Markdown.
    pub meaning: &'static str,
}

/// All keys, table by table.
#[must_use]
pub fn block_keys() -> Vec<BlockKey> {
    let mut keys = Vec::new();
    for line in include_str!("keys.txt").lines() {
        let mut cells = line.splitn(3, '\t');
        if let (Some(table), Some(key), Some(meaning)) = (cells.next(), cells.next(), cells.next())
        {
            keys.push(BlockKey {
                table,
                key,
                meaning,
            });
        }
    }
    keys
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workflow::{Document, raw};
    use orch_base::Code;
    use serde_json::{Value, json};
    use std::fmt::Write as _;
    use std::path::Path;

    /// The rows of the tables under "Every key" of the page.
    fn rows_of(page: &str) -> String {
        let start = page.find("\n## Every key\n").expect("a section");
        let end = start + page[start..].find("\n### The rest\n").expect("a section");
        let mut table = "";
        let mut rows = String::new();
        for line in page[start..end].lines() {
            if let Some(heading) = line.strip_prefix("### `[") {
                table = heading.trim_matches(['[', ']', '`']);
                table = table.split('.').next().unwrap_or_default();
            }
            let Some(row) = line.strip_prefix("| `") else {
                continue;
            };
            let mut cells = row.trim_end_matches(" |").splitn(3, " | ");
            let (keys, default) = (cells.next().unwrap_or_default(), cells.next());
            let meaning = cells.next().unwrap_or_default();
            for key in keys.split(", ") {
                let key = key.trim_matches('`');
                let default = default.unwrap_or_default();
                writeln!(rows, "{table}\t{key}\t{meaning} (default: {default})").expect("written");
            }
        }
        rows
    }

    #[test]
    fn the_keys_are_those_of_the_page() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let page = std::fs::read_to_string(here.join("../../docs/workflows.md")).expect("a page");
        let rows = rows_of(&page);
        let kept = here.join("src/workflow/keys.txt");
        if std::env::var_os("UPDATE").is_some() {
            std::fs::write(&kept, &rows).expect("written");
        }
        let known = std::fs::read_to_string(kept).expect("a list");
        assert_eq!(known, rows, "run `make fix`");
    }

    #[test]
    fn the_reader_knows_exactly_these_keys() {
        for table in [
            "workflow",
            "artifact.x",
            "phase.x",
            "action.x",
            "ask.x",
            "limits",
            "rule",
        ] {
            let (open, close) = if table == "rule" {
                ("[[", "]]")
            } else {
                ("[", "]")
            };
            let kind = table.split('.').next().unwrap_or_default();
            let mut text = format!("```toml orch\n{open}{table}{close}\n");
            let keys = block_keys();
            let keys: Vec<&BlockKey> = keys.iter().filter(|key| key.table == kind).collect();
            for key in &keys {
                text.push_str(&format!("{} = 1979-05-27\n", key.key));
            }
            text.push_str("no_such_key = 1\n```\n");
            let (_, findings) = raw::read(&Document::new("w", "w.md", text));
            let unknown = findings
                .iter()
                .filter(|found| found.code == Code::WorkflowUnknownKey)
                .count();
            assert!(keys.len() > 3 && unknown == 1, "{table}: {findings:?}");
        }
    }

    /// The values of a key: of one that has the same name in several tables, they are of one type.
    fn value(key: &str) -> Value {
        const TEXTS: [&str; 21] = [
            "aliases",
            "choose",
            "forgets",
            "from",
            "judges",
            "known_by",
            "may_produce",
            "needs",
            "not_by",
            "outputs",
            "path",
            "produces",
            "reads",
            "requires",
            "root_path",
            "show",
            "touches",
            "tree",
            "undoes",
            "verifies",
            "writes",
        ];
        match key {
            "attempts" | "errors" | "failures" | "retries" | "turns" => {
                json!({"type": "integer", "minimum": 0})
            }
            "cost" => json!({"type": "number"}),
            "commit" | "filled" | "success" | "terminal" => json!({"type": "boolean"}),
            "data" | "default" | "facts" | "options" | "phases" | "rebuild" | "set" => {
                texts_by_name()
            }
            "approvals" => {
                closed(json!({"count": {"type": "integer", "minimum": 1}, "teams": texts()}))
            }
            _ if TEXTS.contains(&key) => texts(),
            _ => json!({"type": "string"}),
        }
    }

    fn texts() -> Value {
        json!({"type": ["string", "array"], "items": {"type": "string"}})
    }

    fn texts_by_name() -> Value {
        json!({"type": "object", "additionalProperties": {"type": "string"}})
    }

    fn closed(properties: Value) -> Value {
        json!({"type": "object", "properties": properties, "additionalProperties": false})
    }

    /// The keys of a table, with these others.
    fn table(name: &str, others: &Value) -> Value {
        let mut properties = others.as_object().cloned().unwrap_or_default();
        for key in block_keys().iter().filter(|key| key.table == name) {
            let mut schema = value(key.key);
            schema["description"] = Value::from(key.meaning);
            properties.insert(key.key.to_owned(), schema);
        }
        closed(Value::Object(properties))
    }

    fn by_name(table: Value) -> Value {
        json!({"type": "object", "additionalProperties": table})
    }

    /// The schema of the `toml orch` blocks of a document, taken as one text.
    fn of_blocks() -> Value {
        let import = json!({"known_by": texts(), "phase": value("phase"), "define": texts_by_name(), "data": texts_by_name()});
        let state = json!({
            "schema": value("schema"),
            "defaults": {"type": "object"},
            "keep": {"type": "object", "additionalProperties": {"type": "integer", "minimum": 1}},
            "rebuild": texts_by_name(),
            "import": closed(import),
        });
        let define =
            json!({"type": ["string", "object"], "additionalProperties": {"type": "string"}});
        let none = Value::Null;
        json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$id": "workflow.schema.json",
            "title": "The toml orch blocks of a workflow document, taken as one text",
            "type": "object",
            "properties": {
                "workflow": table("workflow", &none),
                "define": {"type": "object", "additionalProperties": define},
                "state": closed(state),
                "artifact": by_name(table("artifact", &json!({"facts": texts_by_name()}))),
                "phase": by_name(table("phase", &none)),
                "rule": {"type": "array", "items": table("rule", &none)},
                "action": by_name(table("action", &none)),
                "ask": by_name(table("ask", &none)),
                "deadline": by_name(table("deadline", &none)),
                "migrate": table("migrate", &none),
                "limits": table("limits", &none),
            },
            "additionalProperties": false,
        })
    }

    /// The schema of the `toml orch-test` blocks of a document, taken as one text.
    fn of_tests() -> Value {
        let text = || json!({"type": "string"});
        let count = || json!({"type": "integer", "minimum": 0});
        let files = || {
            let content = json!({"type": ["boolean", "string", "object", "array"]});
            json!({"type": "object", "additionalProperties": content})
        };
        let tasks = || {
            let word = json!({"enum": ["open", "done", "failed"]});
            json!({"type": "object", "additionalProperties": word})
        };
        let expect = json!({
            "phase": text(), "rule": text(), "reason": text(), "who": text(), "outcome": text(), "findings": texts(),
        });
        let run = json!({
            "mode": text(), "errors": count(), "chosen": text(), "skipped": texts(),
            "done": {"type": "object", "additionalProperties": count()},
        });
        let mut test = closed(json!({
            "name": text(), "phase": text(), "attempt": count(), "given": files(), "before": files(), "used_up": texts(),
            "waived": texts(), "state": {"type": "object"}, "run": closed(run), "verified": texts_by_name(),
            "code": closed(json!({"files": texts(), "own": {"type": "boolean"}})), "children": tasks(), "after": tasks(),
            "approved": texts(), "rejected": texts(), "lapsed": texts(), "on": text(), "expect": closed(expect),
        }));
        test["required"] = json!(["name", "expect"]);
        json!({
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "$id": "workflow-tests.schema.json",
            "title": "The toml orch-test blocks of a workflow document, taken as one text",
            "type": "object",
            "properties": {"test": {"type": "array", "items": test}, "unreachable": texts_by_name()},
            "additionalProperties": false,
        })
    }

    #[test]
    fn the_schemas_are_those_of_the_keys() {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        for (name, schema) in [("workflow", of_blocks()), ("workflow-tests", of_tests())] {
            let path = here.join(format!("../../system/schemas/input/{name}.schema.json"));
            let text = format!("{schema:#}\n");
            if std::env::var_os("UPDATE").is_some() {
                std::fs::write(&path, &text).expect("written");
            }
            let known = std::fs::read_to_string(&path).expect("a schema");
            assert_eq!(known, text, "run `make fix`");
        }
    }
}

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
}

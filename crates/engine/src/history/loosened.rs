//! What a range loosens for itself, whether or not a step has used it yet: rules, schemas, `orch.toml`, and the files by
//! which agents' programs are made to run commands. People review the difference; this names what to look at.

use super::archive::Archive;
use crate::survey::Error;
use crate::survey::setting::Settings;
use orch_base::{Code, Diagnostic, Digest, Place, RepoPath};
use orch_core::config;
use orch_core::workflow::{Document, RuleChange, first_other_line, schema_loosened};
use orch_git::Store;
use std::collections::BTreeSet;

/// The files by which agents' programs are made to run commands, in any directory: a directory, and how the rest of the
/// path begins and ends.
const PROGRAM_SETTINGS: [(&str, &str); 8] = [
    (".claude/settings", ".json"),
    (".mcp.json", ""),
    (".codex/", ""),
    (".gemini/settings.json", ""),
    (".github/hooks/", ""),
    ("opencode.json", ""),
    ("opencode.jsonc", ""),
    (".vscode/mcp.json", ""),
];

/// The settings and the files at both ends of a range.
struct Ends<'a> {
    store: &'a Store,
    from: Digest,
    to: Digest,
}

/// A finding for each thing that is looser in `to` than in `from`, or that changed so that it may be. Returns an error if
/// git cannot be read.
pub(super) fn loosened(
    store: &Store,
    archive: &Archive<'_>,
    [from, to]: [Digest; 2],
) -> Result<Vec<Diagnostic>, Error> {
    let ends = Ends { store, from, to };
    let before = store.objects().source_at(from);
    let after = store.objects().source_at(to);
    let old = archive.setting(&before)?;
    let new = archive.setting(&after)?;
    let mut found = Vec::new();
    if old.text() != new.text() {
        let changes = config::loosened(old.text(), new.text());
        found.extend(
            changes
                .into_iter()
                .map(|change| finding(config::FILE, Some(new.text()), change)),
        );
    }
    found.extend(workflows(&old, &new));
    found.extend(schemas(&old, &new));
    found.extend(ends.program_settings()?);
    Ok(found)
}

/// The workflows at both ends. One that the range brings loosens nothing, and one with errors decides nothing.
fn workflows(old: &Settings, new: &Settings) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for name in old.workflow_names() {
        let path = new.path_of_workflow(&name);
        let Some(text) = old.system.workflow(&name) else {
            continue;
        };
        if new.system.workflow(&name) == Some(text) {
            continue;
        }
        let before = Document::new(&name, &path, text);
        // One that has another name says so in its aliases.
        match new.workflow(&name) {
            Ok(after) => {
                let changes = orch_core::workflow::loosened(&before, &after.document);
                found.extend(changes.into_iter().map(|change| {
                    finding(&after.document.path, Some(&after.document.text), change)
                }));
            }
            Err(_) => {
                let change = RuleChange::looser(None, format!("workflow `{name}` is removed"));
                found.push(finding(&path, None, change));
            }
        }
    }
    found
}

fn schemas(old: &Settings, new: &Settings) -> Vec<Diagnostic> {
    let mut found = Vec::new();
    for name in old.system.names("schemas", ".schema.json") {
        let (Some(before), Some(after)) = (old.system.schema(name), new.system.schema(name)) else {
            continue;
        };
        if before == after {
            continue;
        }
        let Some(is_looser) = schema_loosened(before, after) else {
            continue;
        };
        let line = first_other_line(before, after);
        let path = format!("{}/schemas/{name}.schema.json", new.config.system);
        let change = if is_looser {
            RuleChange::looser(line, format!("schema `{name}` accepts more"))
        } else {
            RuleChange::unclear(line, format!("schema `{name}` changed"))
        };
        found.push(finding(&path, Some(after), change));
    }
    found
}

impl Ends<'_> {
    /// The settings of agents' programs that changed.
    fn program_settings(&self) -> Result<Vec<Diagnostic>, Error> {
        let before = self.store.objects().source_at(self.from);
        let after = self.store.objects().source_at(self.to);
        let changed = self
            .store
            .history()
            .changed(&before, &after, &RepoPath::root())?;
        let paths: BTreeSet<RepoPath> = changed.into_iter().filter(is_program_setting).collect();
        let mut found = Vec::new();
        for path in paths {
            let text = |commit| -> Result<Option<String>, Error> {
                let bytes = self.store.objects().read_at(commit, &path)?;
                Ok(bytes.map(|bytes| String::from_utf8_lossy(&bytes).into_owned()))
            };
            let old = text(self.from)?;
            let new = text(self.to)?;
            let what = match (&old, &new) {
                (None, _) => "this file, which can make an agent program run commands, is new",
                (_, None) => "this file, which can make an agent program run commands, is removed",
                _ => "this file, which can make an agent program run commands, changed",
            };
            let new = new.as_deref();
            let line = new.and_then(|new| first_other_line(&old.unwrap_or_default(), new));
            found.push(finding(path.as_str(), new, RuleChange::unclear(line, what)));
        }
        Ok(found)
    }
}

/// Whether a program of agents reads a file for what to run.
fn is_program_setting(path: &RepoPath) -> bool {
    let whole = format!("/{path}");
    PROGRAM_SETTINGS.iter().any(|(begin, end)| {
        let begin = format!("/{begin}");
        whole.match_indices(&begin).any(|(at, _)| {
            let rest = &whole[at + begin.len()..];
            match (begin.ends_with('/'), end.is_empty()) {
                (true, _) => !rest.is_empty(),
                (false, true) => rest.is_empty(),
                (false, false) => rest.ends_with(end) && !rest.contains('/'),
            }
        })
    })
}

/// The finding about a change of a file, which has this text now, if it is still there.
fn finding(path: &str, text: Option<&str>, change: RuleChange) -> Diagnostic {
    let RuleChange {
        line,
        what,
        is_looser,
    } = change;
    let (code, message) = if is_looser {
        (Code::Loosened, format!("looser: {what}"))
    } else {
        (Code::RulesChanged, format!("changed, maybe looser: {what}"))
    };
    let place = match (text, line) {
        (Some(text), Some(line)) => Place::on_line(path, text, line, None),
        _ => Place {
            path: path.to_owned(),
            line,
            ..Place::default()
        },
    };
    Diagnostic::warning(code, message).at(place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_settings_of_agents_programs_are_known_in_any_directory() {
        for (path, expected) in [
            (".claude/settings.json", true),
            (".claude/settings.local.json", true),
            (".claude/settings/x.json", false),
            (".claude/commands/x.md", false),
            ("sub/.mcp.json", true),
            ("x.mcp.json", false),
            (".codex/config.toml", true),
            (".gemini/settings.json", true),
            (".gemini/settings.json.bak", false),
            (".github/hooks/a/b.json", true),
            (".github/workflows/ci.yml", false),
            ("opencode.json", true),
            ("my-opencode.json", false),
            (".vscode/mcp.json", true),
            (".vscode/settings.json", false),
        ] {
            assert_eq!(
                is_program_setting(&RepoPath::new(path).expect("valid")),
                expected,
                "{path}"
            );
        }
    }
}

//! What a range loosens for itself, whether or not a step has used it yet: rules, schemas, `orch.toml`, and the files by
//! which agents' programs are made to run commands. People review the difference; this names what to look at.

use super::archive::Archive;
use crate::survey::Error;
use crate::survey::setting::Settings;
use orch_base::{Code, Diagnostic, Digest, Place, RepoPath, is_program_setting};
use orch_core::config;
use orch_core::workflow::{Document, RuleChange, first_other_line, schema_loosened};
use orch_git::Store;
use std::collections::BTreeSet;

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
        let paths: BTreeSet<RepoPath> = changed
            .into_iter()
            .filter(|path| is_program_setting(path.as_str()))
            .collect();
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

//! What a change of `orch.toml` makes looser. Where that cannot be told, it is a change.

use crate::workflow::{RuleChange, first_other_line, line_of};
use std::collections::BTreeSet;
use toml::{Table, Value};

/// The tables that decide nothing about a record, and start no program.
const WORDS: [&str; 4] = ["version", "settle_ms", "limit_bytes", "watch"];

/// What the changes of `orch.toml` make looser, or may make looser. What only tightens it is left out.
#[must_use]
pub fn loosened(before: &str, after: &str) -> Vec<RuleChange> {
    let (Ok(old), Ok(new)) = (before.parse::<Table>(), after.parse::<Table>()) else {
        return match before == after {
            true => Vec::new(),
            false => vec![RuleChange::unclear(first_other_line(before, after), "the settings changed")],
        };
    };
    let keys: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let mut found = Vec::new();
    for key in keys {
        let (old, new) = (old.get(key), new.get(key));
        if old == new || WORDS.contains(&key.as_str()) {
            continue;
        }
        let tables = [old, new].map(|value| value.and_then(Value::as_table).cloned().unwrap_or_default());
        let lists = [old, new].map(|value| value.and_then(Value::as_array).cloned().unwrap_or_default());
        match key.as_str() {
            "people" => people(after, &tables, &mut found),
            "executor" => executors(after, &tables, &mut found),
            "hook" => hook(after, &tables, &mut found),
            "git" => git(after, &tables, &mut found),
            "require" => require(after, &tables, &mut found),
            "root" => roots(after, &lists, &mut found),
            "acknowledged" if lists[1].iter().any(|one| !lists[0].contains(one)) => {
                let line = line_of(after, "[[acknowledged]]", None, None);
                found.push(RuleChange::looser(
                    line,
                    "a change that is forged or unverifiable is acknowledged",
                ));
            }
            "acknowledged" => {}
            _ => {
                let line = line_of(after, &format!("[{key}"), None, None);
                let line = line.or_else(|| line_of(after, &format!("[[{key}"), None, None));
                found.push(RuleChange::unclear(line, format!("`{key}` changed")));
            }
        }
    }
    found
}

fn people(text: &str, [old, new]: &[Table; 2], found: &mut Vec<RuleChange>) {
    let line = |key: &str| line_of(text, "[people", None, Some(key));
    // How much each asks for; the default is in between.
    let rank = |table: &Table| match table.get("orders").and_then(Value::as_str) {
        Some("anyone") => 0,
        None | Some("terminal") => 1,
        Some("signed") => 2,
        Some(_) => 3,
    };
    let named = |table: &Table| table.get("orders").and_then(Value::as_str).unwrap_or("terminal").to_owned();
    if rank(new) < rank(old) {
        let what = format!("`orders` under `[people]` is `{}` and was `{}`", named(new), named(old));
        found.push(RuleChange::looser(line("orders"), what));
    }
    for order in texts(new.get("agents_may")).difference(&texts(old.get("agents_may"))) {
        let what = format!("agents may `{order}`, by `agents_may` under `[people]`");
        found.push(RuleChange::looser(line("agents_may"), what));
    }
    for key in other_keys(old, new).filter(|key| !["orders", "agents_may"].contains(&key.as_str())) {
        found.push(RuleChange::unclear(line(&key), format!("`{key}` under `[people]` changed")));
    }
}

fn executors(text: &str, [old, new]: &[Table; 2], found: &mut Vec<RuleChange>) {
    for (name, executor) in new {
        let line = |key: Option<&str>| line_of(text, &format!("[executor.{name}"), None, key);
        let (Some(before), Some(after)) = (old.get(name).and_then(Value::as_table), executor.as_table())
        else {
            if old.get(name) != Some(executor) {
                found.push(RuleChange::looser(line(None), format!("executor `{name}` is new")));
            }
            continue;
        };
        for key in other_keys(before, after) {
            let what = format!("`{key}` of executor `{name}` changed");
            let place = line(Some(&key));
            // Another program may do anything.
            found.push(match key.as_str() {
                "command" => RuleChange::looser(place, what),
                _ => RuleChange::unclear(place, what),
            });
        }
    }
}

fn hook(text: &str, [old, new]: &[Table; 2], found: &mut Vec<RuleChange>) {
    let blocks = |table: &Table| table.get("on_missing").and_then(Value::as_str) == Some("block");
    if blocks(old) && !blocks(new) {
        let line = line_of(text, "[hook", None, Some("on_missing"));
        found.push(RuleChange::looser(line, "hooks let everything pass where orch is missing"));
    }
}

fn git(text: &str, [old, new]: &[Table; 2], found: &mut Vec<RuleChange>) {
    for branch in texts(old.get("protected")).difference(&texts(new.get("protected"))) {
        let line = line_of(text, "[git", None, Some("protected"));
        found.push(RuleChange::looser(line, format!("the branch `{branch}` is no longer protected")));
    }
}

fn require(text: &str, [old, new]: &[Table; 2], found: &mut Vec<RuleChange>) {
    for key in other_keys(old, new) {
        let line = line_of(text, "[require", None, Some(&key));
        match (old.get(&key), new.get(&key)) {
            (None | Some(Value::Boolean(false)), _) => {}
            (Some(_), None | Some(Value::Boolean(false))) => {
                found.push(RuleChange::looser(line, format!("`{key}` is no longer required")));
            }
            _ => found.push(RuleChange::unclear(line, format!("`{key}` under `[require]` changed"))),
        }
    }
}

fn roots(text: &str, [old, new]: &[Vec<Value>; 2], found: &mut Vec<RuleChange>) {
    let path = |root: &Value| root.get("path").and_then(Value::as_str).unwrap_or_default().to_owned();
    for root in old.iter().filter(|root| !new.iter().any(|other| path(other) == path(root))) {
        found.push(RuleChange::looser(
            None,
            format!("root `{}` is removed, so its tasks are not checked", path(root)),
        ));
    }
    for root in new {
        let line = line_of(text, "[[root]]", None, None);
        let Some(before) = old.iter().find(|other| path(other) == path(root)) else {
            // Before, the tasks there were none.
            continue;
        };
        for hidden in texts(root.get("exclude")).difference(&texts(before.get("exclude"))) {
            let what = format!("root `{}` excludes `{hidden}`, so that is not checked", path(root));
            found.push(RuleChange::looser(line, what));
        }
        if before.get("workflow") != root.get("workflow") {
            found.push(RuleChange::unclear(line, format!("root `{}` has another workflow", path(root))));
        }
    }
}

fn other_keys<'t>(old: &'t Table, new: &'t Table) -> impl Iterator<Item = String> + 't {
    let keys: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    keys.into_iter().filter(|key| old.get(*key) != new.get(*key)).cloned()
}

/// A text, or a list of them.
fn texts(value: Option<&Value>) -> BTreeSet<String> {
    match value {
        Some(Value::String(text)) => BTreeSet::from([text.clone()]),
        Some(Value::Array(items)) => items.iter().filter_map(Value::as_str).map(str::to_owned).collect(),
        _ => BTreeSet::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_of_the_settings_is_looser_or_unclear_or_nothing() {
        type Told<'t> = (Option<u32>, &'t str, bool);
        let cases: [(&str, &str, &[Told<'_>]); 14] = [
            (
                "",
                "[people]\norders = \"anyone\"",
                &[(Some(2), "`orders` under `[people]` is `anyone` and was `terminal`", true)],
            ),
            (
                "[people]\norders = \"signed\"",
                "",
                &[(None, "`orders` under `[people]` is `terminal` and was `signed`", true)],
            ),
            ("", "[people]\norders = \"signed\"", &[]),
            (
                "",
                "[people]\nagents_may = [\"confirm\"]",
                &[(Some(2), "agents may `confirm`, by `agents_may` under `[people]`", true)],
            ),
            ("", "\n[executor.default]\ncommand = [\"x\"]", &[(Some(2), "executor `default` is new", true)]),
            (
                "[executor.a]\ncommand = [\"x\"]",
                "[executor.a]\ncommand = [\"y\"]",
                &[(Some(2), "`command` of executor `a` changed", true)],
            ),
            (
                "[executor.a]\ntimeout = \"1m\"",
                "[executor.a]\ntimeout = \"2m\"",
                &[(Some(2), "`timeout` of executor `a` changed", false)],
            ),
            (
                "[hook]\non_missing = \"block\"",
                "[hook]",
                &[(Some(1), "hooks let everything pass where orch is missing", true)],
            ),
            (
                "[git]\nprotected = [\"main\"]",
                "[git]\nprotected = []",
                &[(Some(2), "the branch `main` is no longer protected", true)],
            ),
            (
                "[[root]]\npath = \"t/*\"",
                "[[root]]\npath = \"t/*\"\nexclude = [\"t/a\"]",
                &[(Some(1), "root `t/*` excludes `t/a`, so that is not checked", true)],
            ),
            (
                "[require]\nindependent = true",
                "[require]\nindependent = false",
                &[(Some(2), "`independent` is no longer required", true)],
            ),
            ("", "[[notify]]\ncommand = [\"x\"]", &[(Some(1), "`notify` changed", false)]),
            ("[watch]\npoll = true", "[watch]\npoll = false", &[]),
            ("x = ", "y = ", &[(Some(1), "the settings changed", false)]),
        ];
        for (old, new, expected) in cases {
            let found = loosened(old, new);
            let found: Vec<_> =
                found.iter().map(|change| (change.line, change.what.as_str(), change.is_looser)).collect();
            assert_eq!(found, expected, "{old:?} -> {new:?}");
        }
    }
}

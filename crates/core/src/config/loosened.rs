//! What a change of `orch.toml` makes looser. Where that cannot be determined, it is a change.

use super::{Config, FILE, parse};
use crate::TomlStep::{Item, Key, Text};
use crate::toml_lines::texts;
use crate::workflow::{RuleChange, first_other_line};
use crate::{TomlLines, TomlStep};
use std::collections::BTreeSet;
use toml::{Table, Value};

/// The keys that decide nothing about a record, and start no program.
const WORDS: [&str; 5] = ["version", "settle_ms", "watch", "checkouts", "leases"];

/// What the changes of `orch.toml` make looser, or may make looser. What only tightens it is left out.
#[must_use]
pub fn loosened(before: &str, after: &str) -> Vec<RuleChange> {
    let (Ok(old), Ok(new)) = (before.parse::<Table>(), after.parse::<Table>()) else {
        return match before == after {
            true => Vec::new(),
            false => vec![RuleChange::unclear(
                first_other_line(before, after),
                "the settings changed",
            )],
        };
    };
    let keys: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    let mut changes = SettingChanges {
        lines: TomlLines::new(after),
        found: Vec::new(),
    };
    for key in keys {
        let old = old.get(key);
        let new = new.get(key);
        if old == new || WORDS.contains(&key.as_str()) {
            continue;
        }
        let tables =
            [old, new].map(|value| value.and_then(Value::as_table).cloned().unwrap_or_default());
        let lists =
            [old, new].map(|value| value.and_then(Value::as_array).cloned().unwrap_or_default());
        match key.as_str() {
            "people" => changes.people(&tables),
            "executor" => changes.executors(&tables),
            "hook" => changes.hook(&tables),
            "git" => changes.git(&tables),
            "require" => changes.require(&tables),
            "verify" => changes.verifications(&tables),
            "root" => changes.roots(&parse(before, FILE).0, &parse(after, FILE).0),
            "acknowledged" => changes.acknowledged(&lists),
            _ => {
                let first = lists[1]
                    .iter()
                    .zip(&lists[0])
                    .take_while(|(new, old)| new == old)
                    .count();
                changes.unclear(&[Key(key), Item(first)], format!("`{key}` changed"));
            }
        }
    }
    changes.found
}

/// The changes that were found so far.
struct SettingChanges<'a> {
    /// The lines of the new text.
    lines: TomlLines<'a>,
    found: Vec<RuleChange>,
}

/// Who may give orders.
fn orders(people: &Table) -> &str {
    let orders = people.get("orders").and_then(Value::as_str);
    orders.unwrap_or("terminal")
}

/// How much `orders` asks for; the default, which also stands for what cannot be read, is in between.
fn rank(orders: &str) -> u8 {
    match orders {
        "anyone" => 0,
        "signed" => 2,
        _ => 1,
    }
}

impl SettingChanges<'_> {
    fn looser(&mut self, steps: &[TomlStep<'_>], what: impl Into<String>) {
        self.found
            .push(RuleChange::looser(self.lines.of(steps), what));
    }

    fn unclear(&mut self, steps: &[TomlStep<'_>], what: impl Into<String>) {
        self.found
            .push(RuleChange::unclear(self.lines.of(steps), what));
    }

    fn people(&mut self, tables: &[Table; 2]) {
        let [old, new] = tables;
        let before = orders(old);
        let now = orders(new);
        if rank(now) < rank(before) {
            let what = format!("`orders` under `[people]` is `{now}` and was `{before}`");
            self.looser(&[Key("people"), Key("orders")], what);
        }
        for order in texts(new.get("agents_may")).difference(&texts(old.get("agents_may"))) {
            let what = format!("agents may `{order}`, by `agents_may` under `[people]`");
            self.looser(&[Key("people"), Key("agents_may"), Text(order)], what);
        }
        self.teams(&tables.clone().map(|table| table_at(&table, "teams")));
        let known = ["orders", "agents_may", "teams"];
        for key in other_keys(old, new).filter(|key| !known.contains(&key.as_str())) {
            self.unclear(
                &[Key("people"), Key(&key)],
                format!("`{key}` under `[people]` changed"),
            );
        }
    }

    /// Whoever belongs to a team may approve for it. With fewer members, fewer people may.
    fn teams(&mut self, [old, new]: &[Table; 2]) {
        for (team, members) in new {
            let before = texts(old.get(team));
            for person in &texts(Some(members)) {
                if before
                    .iter()
                    .any(|known| known.eq_ignore_ascii_case(person))
                {
                    continue;
                }
                let steps = [Key("people"), Key("teams"), Key(team), Text(person)];
                self.looser(&steps, format!("`{person}` may approve for team `{team}`"));
            }
        }
    }

    fn executors(&mut self, [old, new]: &[Table; 2]) {
        for (name, executor) in new {
            let (Some(before), Some(after)) =
                (old.get(name).and_then(Value::as_table), executor.as_table())
            else {
                if old.get(name) != Some(executor) {
                    self.looser(
                        &[Key("executor"), Key(name)],
                        format!("executor `{name}` is new"),
                    );
                }
                continue;
            };
            for key in other_keys(before, after) {
                let what = format!("`{key}` of executor `{name}` changed");
                let steps = [Key("executor"), Key(name), Key(&key)];
                // Another program may do anything.
                match key.as_str() {
                    "command" => self.looser(&steps, what),
                    _ => self.unclear(&steps, what),
                }
            }
        }
    }

    fn hook(&mut self, [old, new]: &[Table; 2]) {
        let [old, new] = [old, new].map(|table| table.get("on_missing").and_then(Value::as_str));
        if old == Some("block") && new != Some("block") {
            let what = "hooks let everything pass if orch is missing";
            self.looser(&[Key("hook"), Key("on_missing")], what);
        }
    }

    fn git(&mut self, [old, new]: &[Table; 2]) {
        let lost: BTreeSet<String> = &texts(old.get("protected")) - &texts(new.get("protected"));
        for branch in &lost {
            let what = format!("the branch `{branch}` is no longer protected");
            self.looser(&[Key("git"), Key("protected")], what);
        }
        // Without `base`, the first protected branch may be it.
        let may_be_base = old.get("base").is_none() || new.get("base").is_none();
        if lost.is_empty() && may_be_base && old.get("protected") != new.get("protected") {
            let added: BTreeSet<String> =
                &texts(new.get("protected")) - &texts(old.get("protected"));
            let first = added.first().map_or("", String::as_str);
            let what = "`protected` under `[git]` changed, and without `base` it says what a branch is compared with";
            self.unclear(&[Key("git"), Key("protected"), Text(first)], what);
        }
        for (key, what) in [
            (
                "base",
                "`base` under `[git]` changed, which says where the commits of a task begin",
            ),
            (
                "task_branch",
                "`task_branch` under `[git]` changed, which says how a branch names the task of its commits",
            ),
        ] {
            if old.get(key) != new.get(key) {
                self.unclear(&[Key("git"), Key(key)], what);
            }
        }
    }

    fn require(&mut self, [old, new]: &[Table; 2]) {
        for key in other_keys(old, new) {
            let steps = [Key("require"), Key(&key)];
            match (old.get(&key), new.get(&key)) {
                (None | Some(Value::Boolean(false)), _) => {}
                (Some(Value::Boolean(true)), Some(Value::String(tip))) if tip == "tip" => {}
                (Some(Value::String(_)), Some(Value::Boolean(true))) => {
                    let what = format!("`{key}` is no longer required of the newest commit");
                    self.looser(&steps, what);
                }
                (Some(_), None | Some(Value::Boolean(false))) => {
                    self.looser(&steps, format!("`{key}` is no longer required"));
                }
                _ => self.unclear(&steps, format!("`{key}` under `[require]` changed")),
            }
        }
    }

    /// A verification that is gone, or that passes more easily.
    fn verifications(&mut self, [old, new]: &[Table; 2]) {
        for (name, table) in old {
            let before = table.as_table();
            let (Some(before), Some(after)) = (before, new.get(name).and_then(Value::as_table))
            else {
                if new.get(name).is_none() {
                    self.looser(&[], format!("nothing verifies `{name}` any more"));
                }
                continue;
            };
            for key in other_keys(before, after) {
                self.verification(name, &key, [before.get(&key), after.get(&key)]);
            }
        }
    }

    fn verification(&mut self, name: &str, key: &str, [old, new]: [Option<&Value>; 2]) {
        let steps = [Key("verify"), Key(name), Key(key)];
        let before = texts(old);
        let after = texts(new);
        let lost = before.difference(&after).next();
        let more = after.difference(&before).next();
        let number = |value: Option<&Value>| value.and_then(Value::as_integer).unwrap_or_default();
        let is_looser = match key {
            "report" => lost.is_some(),
            // Without one, all code is meant.
            "paths" => lost.is_some() && !after.is_empty() || before.is_empty(),
            "protect" => lost.is_some(),
            "keep" => more.is_some(),
            "retries" => number(new) > number(old),
            "allow_empty" => new == Some(&Value::Boolean(true)),
            _ => {
                let what = format!("`{key}` of verification `{name}` changed");
                self.unclear(&steps, what);
                return;
            }
        };
        if is_looser {
            let what = format!("`{key}` of verification `{name}` asks for less");
            self.looser(&steps, what);
        }
    }

    fn acknowledged(&mut self, [old, new]: &[Vec<Value>; 2]) {
        for (place, entry) in new.iter().enumerate() {
            if !old.contains(entry) {
                let what = "a change that is forged or unverifiable is acknowledged";
                self.looser(&[Key("acknowledged"), Item(place)], what);
            }
        }
    }

    /// Where the tasks are, and which workflows they follow, with the default root.
    fn roots(&mut self, old: &Config, new: &Config) {
        let old = &old.roots;
        let new = &new.roots;
        let before: Vec<String> = old.iter().map(|root| root.path.to_string()).collect();
        let after: Vec<String> = new.iter().map(|root| root.path.to_string()).collect();
        for path in before.iter().filter(|path| !after.contains(path)) {
            let what = format!("root `{path}` was removed, so its tasks are no longer checked");
            self.looser(&[], what);
        }
        // A directory belongs to the first root that matches it.
        let kept: Vec<&String> = after.iter().filter(|path| before.contains(path)).collect();
        let is_same_order = before
            .iter()
            .filter(|path| after.contains(path))
            .eq(kept.iter().copied());
        if !is_same_order {
            self.unclear(&[Key("root"), Item(0)], "the order of the roots changed");
        }
        for (place, root) in new.iter().enumerate() {
            let path = &after[place];
            let Some(known) = old.iter().find(|other| other.path == root.path) else {
                // Behind all others, it takes no task from them.
                if after[place..].iter().any(|later| before.contains(later)) {
                    let what = format!(
                        "root `{path}` is new, and comes before roots whose tasks it may take"
                    );
                    self.unclear(&[Key("root"), Item(place)], what);
                }
                continue;
            };
            let hidden = root.exclude.texts().iter().collect::<BTreeSet<_>>();
            let before = known.exclude.texts().iter().collect();
            for more in hidden.difference(&before) {
                let what = format!("root `{path}` excludes `{more}`, so that is not checked");
                self.looser(
                    &[Key("root"), Item(place), Key("exclude"), Text(more)],
                    what,
                );
            }
            if known.workflow != root.workflow {
                let what = format!("root `{path}` has another workflow");
                self.unclear(&[Key("root"), Item(place), Key("workflow")], what);
            }
        }
    }
}

fn table_at(table: &Table, key: &str) -> Table {
    table
        .get(key)
        .and_then(Value::as_table)
        .cloned()
        .unwrap_or_default()
}

fn other_keys<'t>(old: &'t Table, new: &'t Table) -> impl Iterator<Item = String> + 't {
    let keys: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
    keys.into_iter()
        .filter(|key| old.get(*key) != new.get(*key))
        .cloned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_change_of_the_settings_is_looser_or_unclear_or_nothing() {
        type ExpectedChange<'t> = (Option<u32>, &'t str, bool);
        const BASE: &str =
            "`base` under `[git]` changed, which says where the commits of a task begin";
        const PROTECTED: &str = "`protected` under `[git]` changed, and without `base` it says what a branch is compared with";
        const BRANCH: &str = "`task_branch` under `[git]` changed, which says how a branch names the task of its commits";
        let cases: &[(&str, &str, &[ExpectedChange<'_>])] = &[
            (
                "",
                "[people]\norders = \"anyone\"",
                &[(
                    Some(2),
                    "`orders` under `[people]` is `anyone` and was `terminal`",
                    true,
                )],
            ),
            (
                "[people]\norders = \"signed\"",
                "",
                &[(
                    None,
                    "`orders` under `[people]` is `terminal` and was `signed`",
                    true,
                )],
            ),
            (
                "[people]\norders = \"signed\"",
                "[people]\n\norders = \"sined\"",
                &[(
                    Some(3),
                    "`orders` under `[people]` is `sined` and was `signed`",
                    true,
                )],
            ),
            ("", "[people]\norders = \"signed\"", &[]),
            ("", "[verify.tests]\ncommand = ['a']", &[]),
            (
                "[verify.tests]\ncommand = ['a']",
                "",
                &[(None, "nothing verifies `tests` any more", true)],
            ),
            (
                "[verify.tests]\ncommand = ['a']\nreport = ['x']\nprotect = ['t/**']",
                "[verify.tests]\ncommand = ['b']\nretries = 1\nallow_empty = true\nkeep = ['/k']\npaths = ['src/**']",
                &[
                    (
                        Some(4),
                        "`allow_empty` of verification `tests` asks for less",
                        true,
                    ),
                    (Some(2), "`command` of verification `tests` changed", false),
                    (
                        Some(5),
                        "`keep` of verification `tests` asks for less",
                        true,
                    ),
                    (
                        Some(6),
                        "`paths` of verification `tests` asks for less",
                        true,
                    ),
                    (
                        Some(1),
                        "`protect` of verification `tests` asks for less",
                        true,
                    ),
                    (
                        Some(1),
                        "`report` of verification `tests` asks for less",
                        true,
                    ),
                    (
                        Some(3),
                        "`retries` of verification `tests` asks for less",
                        true,
                    ),
                ],
            ),
            (
                "[verify.tests]\ncommand = ['a']\nretries = 1\nallow_empty = true\nkeep = ['/k']",
                "[verify.tests]\ncommand = ['a']\nreport = ['x']\nprotect = ['t']",
                &[],
            ),
            (
                "[require]\nverified = \"tip\"\ntests_kept = true",
                "[require]\nverified = true",
                &[
                    (Some(1), "`tests_kept` is no longer required", true),
                    (
                        Some(2),
                        "`verified` is no longer required of the newest commit",
                        true,
                    ),
                ],
            ),
            (
                "[require]\nverified = true",
                "[require]\nverified = \"tip\"",
                &[],
            ),
            ("[checkouts]\nmax = 2", "", &[]),
            (
                "",
                "[people]\nagents_may = [\"confirm\"]",
                &[(
                    Some(2),
                    "agents may `confirm`, by `agents_may` under `[people]`",
                    true,
                )],
            ),
            (
                "[people.teams]\nsec = [\"a@x.org\"]",
                "[people]\n\n[people.teams]\nsec = [\n  \"A@x.org\",\n  \"eve@x.org\",\n]",
                &[(Some(6), "`eve@x.org` may approve for team `sec`", true)],
            ),
            (
                "[people.teams]\nsec = [\"a@x.org\", \"b@x.org\"]\nweb = [\"b@x.org\"]",
                "people.teams.web = [\"b@x.org\"]\npeople.teams.sec = [\"c@x.org\"]\npeople.teams.new = [\"d@x.org\"]",
                &[
                    (Some(2), "`c@x.org` may approve for team `sec`", true),
                    (Some(3), "`d@x.org` may approve for team `new`", true),
                ],
            ),
            (
                "[people.teams]\nsec = [\"a@x.org\"]",
                "[people.teams]\nsec = []",
                &[],
            ),
            (
                "",
                "\n[executor.default]\ncommand = [\"x\"]",
                &[(Some(2), "executor `default` is new", true)],
            ),
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
                &[(
                    Some(1),
                    "hooks let everything pass if orch is missing",
                    true,
                )],
            ),
            (
                "[git]\nprotected = [\"main\"]",
                "[git]\nprotected = []",
                &[(Some(2), "the branch `main` is no longer protected", true)],
            ),
            (
                "[git]\nprotected = [\"main\"]",
                "[git]\nprotected = [\"own\"]",
                &[(Some(2), "the branch `main` is no longer protected", true)],
            ),
            (
                "",
                "[git]\nprotected = [\"own\"]",
                &[(Some(2), PROTECTED, false)],
            ),
            (
                "[git]\nprotected = [\"main\"]",
                "[git]\nprotected = [\n\"own\",\n\"main\"]",
                &[(Some(3), PROTECTED, false)],
            ),
            (
                "[git]\nprotected = [\"main\", \"own\"]",
                "[git]\nprotected = [\"own\", \"main\"]",
                &[(Some(2), PROTECTED, false)],
            ),
            // Where the base has a name, more protected branches only keep orch away from them.
            (
                "[git]\nbase = \"main\"\nprotected = [\"main\"]",
                "[git]\nbase = \"main\"\nprotected = [\"main\", \"own\"]",
                &[],
            ),
            ("", "git.base = \"own\"", &[(Some(1), BASE, false)]),
            (
                "[git]\nbase = \"main\"",
                "[git]\n\nbase = \"own\"",
                &[(Some(3), BASE, false)],
            ),
            (
                "[git]\nbase = \"main\"",
                "\n[git]",
                &[(Some(2), BASE, false)],
            ),
            (
                "[git]\ntask_branch = \"t/{task}\"",
                "",
                &[(None, BRANCH, false)],
            ),
            ("", "[git]\nsubject = \"{task}\"\nsign_off = true", &[]),
            (
                "[[root]]\npath = \"t/*\"",
                "[[root]]\npath = \"t/*\"\nexclude = [\"t/a\"]",
                &[(
                    Some(3),
                    "root `t/*` excludes `t/a`, so that is not checked",
                    true,
                )],
            ),
            // Without any root there is the default one.
            (
                "",
                "[[root]]\npath = \"t/*\"",
                &[(
                    None,
                    "root `tasks/**` was removed, so its tasks are no longer checked",
                    true,
                )],
            ),
            (
                "",
                "[[root]]\npath = \"tasks/**\"\nworkflow = \"global-state-machine\"",
                &[],
            ),
            (
                "",
                "[[root]]\npath = \"tasks/**\"\nworkflow = \"article\"",
                &[(Some(3), "root `tasks/**` has another workflow", false)],
            ),
            (
                "[[root]]\npath = \"t/*\"",
                "[[root]]\npath = \"t/*\"\n[[root]]\npath = \"s/*\"",
                &[],
            ),
            (
                "[[root]]\npath = \"t/*\"",
                "\n[[root]]\npath = \"t/**\"\n[[root]]\npath = \"t/*\"",
                &[(
                    Some(2),
                    "root `t/**` is new, and comes before roots whose tasks it may take",
                    false,
                )],
            ),
            (
                "[[root]]\npath = \"t/*\"\n[[root]]\npath = \"t/**\"",
                "[[root]]\npath = \"t/**\"\n[[root]]\npath = \"t/*\"",
                &[(Some(1), "the order of the roots changed", false)],
            ),
            (
                "[require]\nindependent = true",
                "[require]\nindependent = false",
                &[(Some(2), "`independent` is no longer required", true)],
            ),
            (
                "",
                "system = \"machines\"",
                &[(Some(1), "`system` changed", false)],
            ),
            (
                "",
                "\nlimit_bytes = 9",
                &[(Some(2), "`limit_bytes` changed", false)],
            ),
            (
                "[[acknowledged]]\nforged = \"a\"",
                "[[acknowledged]]\nforged = \"a\"\n[[acknowledged]]\nforged = \"b\"",
                &[(
                    Some(3),
                    "a change that is forged or unverifiable is acknowledged",
                    true,
                )],
            ),
            (
                "[[notify]]\nbell = true",
                "[[notify]]\nbell = true\n[[notify]]\ncommand = [\"x\"]",
                &[(Some(3), "`notify` changed", false)],
            ),
            ("[watch]\npoll = true", "[watch]\npoll = false", &[]),
            ("x = ", "y = ", &[(Some(1), "the settings changed", false)]),
        ];
        for (old, new, expected) in cases {
            let found = loosened(old, new);
            let found: Vec<_> = found
                .iter()
                .map(|change| (change.line, change.what.as_str(), change.is_looser))
                .collect();
            assert_eq!(found, *expected, "{old:?} -> {new:?}");
        }
    }
}

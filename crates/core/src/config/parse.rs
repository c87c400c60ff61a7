//! Parses the text of `orch.toml` into a `Config` and reports all its problems.

use super::executors::executors;
use super::fence::fence;
use super::keys::{
    ACKNOWLEDGED, CHECKOUTS, FENCE, GIT, HOOK, LEASES, PEOPLE, REQUIRE, ROOT, TOP, WATCH,
    WORKTREES, example,
};
use super::leases::leases;
use super::notices::notify;
use super::reader::{SettingsDialect, SettingsReader, choice, invalid, unknown_choice};
use super::verify::verifications;
use super::worktrees::work_trees;
use super::{
    Acknowledged, Adopt, Apply, Commit, CommitSubject, Config, Git, Hook, OnMissing, Patterns,
    Root, RootPath, Roots, TaskBranch, Watch,
};
use crate::decide::{AgentOrder, OrdersBy, People, Require, RequireVerified};
use crate::{Spanned, TomlDialect, TomlReader, TomlTable, TomlType, TomlValue};
use orch_base::{Code, Diagnostic, Digest, RepoPath, RuleId, TaskId, WorkflowName, nearest};
use std::collections::BTreeMap;
use toml::de::{DeTable, DeValue};

/// The version of the format that this program writes, and the highest that it reads.
const VERSION: u64 = 1;

/// Parses `orch.toml` and returns the settings with all findings, each with its line and column under `path`.
///
/// An invalid part yields a finding and keeps its default. An invalid root is left out, because `orch` must
/// act only on directories that the settings name. If a finding is an error, the settings are good enough for
/// reading, but nothing should be written with them, and they require everything: what the file means to require is unknown.
#[must_use]
pub fn parse(text: &str, path: &str) -> (Config, Vec<Diagnostic>) {
    let (mut config, findings) = read(text, path);
    if findings.iter().any(Diagnostic::is_error) {
        config.require = Require::EVERYTHING;
    }
    (config, findings)
}

fn read(text: &str, path: &str) -> (Config, Vec<Diagnostic>) {
    let (document, faults) = DeTable::parse_recoverable(text);
    let mut reader = TomlReader::new(SettingsDialect { text, path });
    let config = config(&mut reader, document.get_ref());
    if faults.is_empty() {
        return (config, reader.findings());
    }
    // After a syntax error, most other findings are consequences of it.
    let mut reader = TomlReader::new(SettingsDialect { text, path });
    let hint = "write TOML, for example `key = \"value\"`; see https://toml.io";
    let finding = Diagnostic::error(Code::ConfigSyntax, "").hint(hint);
    reader.report_syntax(text, faults, &finding);
    (config, reader.findings())
}

/// A workflow that `orch.toml` names but that does not exist.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownWorkflow {
    /// The name that `orch.toml` gives.
    pub name: WorkflowName,
    /// The finding, with its line and column.
    pub finding: Diagnostic,
}

/// The workflow of every root of `orch.toml` that is not in `known`, in document order.
///
/// The set of workflows depends on the settings themselves, so this check follows [`parse`].
#[must_use]
pub fn unknown_workflows(text: &str, path: &str, known: &[String]) -> Vec<UnknownWorkflow> {
    let (document, faults) = DeTable::parse_recoverable(text);
    if !faults.is_empty() {
        return Vec::new();
    }
    let mut unknown = Vec::new();
    let roots = document
        .get_ref()
        .get("root")
        .and_then(|value| value.get_ref().as_array());
    for value in roots.into_iter().flat_map(|roots| roots.iter()) {
        let Some(named) = value
            .get_ref()
            .as_table()
            .and_then(|root| root.get("workflow"))
        else {
            continue;
        };
        let Some(Ok(name)) = named.get_ref().as_str().map(WorkflowName::new) else {
            continue;
        };
        if known.iter().all(|known| known != name.as_str()) {
            let hint = match nearest(name.as_str(), known.iter().map(String::as_str)) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("the workflows are: {}", known.join(", ")),
            };
            let finding = invalid(format!("there is no workflow `{name}`"), hint);
            let finding = SettingsDialect { text, path }.place(finding, named.span());
            unknown.push(UnknownWorkflow { name, finding });
        }
    }
    unknown
}

fn config(reader: &mut SettingsReader<'_>, document: &DeTable<'_>) -> Config {
    let default = Config::default();
    let mut table = TomlTable::new(TOP.title, document);
    let top = &mut table;
    version(reader, top);
    let people = reader
        .table(top, "people", PEOPLE.title)
        .map(|table| people(reader, table));
    let (people, teams) = people.unwrap_or_default();
    let config = Config {
        system: reader
            .parsed_at(top, "system", |text| RepoPath::new(text))
            .unwrap_or(default.system),
        settle_ms: reader.integer_at(top, "settle_ms", 1..=60_000, default.settle_ms),
        limit_bytes: reader.integer_at(top, "limit_bytes", 1..=1 << 30, default.limit_bytes),
        roots: top
            .take("root")
            .map_or(default.roots, |value| roots(reader, value)),
        git: reader
            .table(top, "git", GIT.title)
            .map(|table| git(reader, table))
            .unwrap_or_default(),
        watch: reader
            .table(top, "watch", WATCH.title)
            .map(|table| watch(reader, table))
            .unwrap_or_default(),
        people,
        teams,
        require: reader
            .table(top, "require", REQUIRE.title)
            .map(|table| require(reader, table))
            .unwrap_or_default(),
        hook: reader
            .table(top, "hook", HOOK.title)
            .map(|table| hook(reader, table))
            .unwrap_or_default(),
        acknowledged: top
            .take("acknowledged")
            .map_or_else(Vec::new, |value| acknowledged(reader, value)),
        verify: top
            .take("verify")
            .map(|value| verifications(reader, value))
            .unwrap_or_default(),
        most_checkouts: reader
            .table(top, "checkouts", CHECKOUTS.title)
            .map_or(default.most_checkouts, |table| checkouts(reader, table)),
        worktrees: reader
            .table(top, "worktrees", WORKTREES.title)
            .map(|table| work_trees(reader, table))
            .unwrap_or_default(),
        leases: reader
            .table(top, "leases", LEASES.title)
            .map(|table| leases(reader, table))
            .unwrap_or_default(),
        fence: reader
            .table(top, "fence", FENCE.title)
            .map(|table| fence(reader, table))
            .unwrap_or_default(),
        executors: top
            .take("executor")
            .map(|value| executors(reader, value))
            .unwrap_or_default(),
        notify: top
            .take("notify")
            .map_or_else(Vec::new, |value| notify(reader, value)),
    };
    reader.finish(table);
    config
}

fn version(reader: &mut SettingsReader<'_>, top: &mut TomlTable<'_, '_>) {
    let Some(value) = top.take("version") else {
        return;
    };
    let Some(integer) = value.get_ref().as_integer() else {
        return reader.wrong_type("version", value, TomlType::Integer(0));
    };
    if u64::from_str_radix(integer.as_str(), integer.radix()) != Ok(VERSION) {
        let message = format!("version {integer} of orch.toml is not supported by this orch");
        let hint = format!("update orch, or write `version = {VERSION}`");
        reader.report(value.span(), invalid(message, hint));
    }
}

fn roots(reader: &mut SettingsReader<'_>, value: &TomlValue<'_>) -> Roots {
    let mut roots: Vec<Root> = Vec::new();
    for table in reader.listed_tables("root", value, ROOT.title) {
        let span = table.span.clone();
        let Some(root) = root(reader, table) else {
            continue;
        };
        if roots
            .iter()
            .any(|earlier| earlier.path == root.path && earlier.exclude.is_empty())
        {
            let message = format!(
                "no task can belong to this root: an earlier one has the path \"{}\"",
                root.path
            );
            reader.report(span, invalid(message, "remove one of the two"));
        }
        roots.push(root);
    }
    Roots::new(roots)
}

fn root(reader: &mut SettingsReader<'_>, table: Spanned<TomlTable<'_, '_>>) -> Option<Root> {
    let Spanned {
        value: mut table,
        span,
    } = table;
    if !table.has("path") {
        reader.report(
            span,
            invalid(
                "the root has no `path`",
                format!("for example `{}`", example("path")),
            ),
        );
    }
    let path = reader.parsed_at(&mut table, "path", RootPath::new);
    let is_named = table.has("workflow");
    let workflow = reader.parsed_at(&mut table, "workflow", |text| WorkflowName::new(text));
    let workflow = if is_named {
        workflow
    } else {
        super::default_workflow()
    };
    let exclude = patterns(reader, &mut table, "exclude");
    reader.finish(table);
    Some(Root {
        path: path?,
        workflow: workflow?,
        exclude,
    })
}

fn git(reader: &mut SettingsReader<'_>, mut table: TomlTable<'_, '_>) -> Git {
    let default = Git::default();
    let git = Git {
        commit: reader
            .parsed_at(&mut table, "commit", |text| {
                choice(text, Commit::named, &Commit::ALL.map(Commit::as_str))
            })
            .unwrap_or(default.commit),
        batch_seconds: reader.integer_at(
            &mut table,
            "batch_seconds",
            0..=86_400,
            default.batch_seconds,
        ),
        protected: patterns(reader, &mut table, "protected"),
        base: reader.parsed_at(&mut table, "base", branch_name),
        task_branch: reader
            .parsed_at(&mut table, "task_branch", TaskBranch::new)
            .unwrap_or(default.task_branch),
        subject: reader
            .parsed_at(&mut table, "subject", |text| CommitSubject::new(text))
            .unwrap_or(default.subject),
        sign_off: reader.boolean(&mut table, "sign_off", default.sign_off),
        detached_head: reader.boolean(&mut table, "detached_head", default.detached_head),
    };
    reader.finish(table);
    git
}

/// The name of a branch, also of one of a remote.
fn branch_name(text: &str) -> Result<String, &'static str> {
    let is_odd = text
        .chars()
        .any(|char| char.is_whitespace() || char.is_control() || "~^:?*[\\".contains(char));
    if text.is_empty() || text.starts_with('-') || is_odd {
        return Err("this is not a valid branch name");
    }
    Ok(text.to_owned())
}

fn watch(reader: &mut SettingsReader<'_>, mut table: TomlTable<'_, '_>) -> Watch {
    let default = Watch::default();
    let watch = Watch {
        apply: table
            .take("apply")
            .map_or(default.apply, |value| apply(reader, value)),
        adopt: table
            .take("adopt")
            .map_or(default.adopt, |value| adopt(reader, value)),
        poll: reader.boolean(&mut table, "poll", default.poll),
        verify: reader.boolean(&mut table, "verify", default.verify),
        reconcile_seconds: reader.integer_at(
            &mut table,
            "reconcile_seconds",
            1..=86_400,
            default.reconcile_seconds,
        ),
    };
    reader.finish(table);
    watch
}

/// A value that cannot be read allows nothing; the default of `apply` would allow too much.
fn apply(reader: &mut SettingsReader<'_>, value: &TomlValue<'_>) -> Apply {
    let DeValue::String(text) = value.get_ref() else {
        return Apply::Rules(reader.items("apply", value, |text| RuleId::new(text)));
    };
    let text = Spanned {
        value: text.to_string(),
        span: value.span(),
    };
    let apply = reader.parsed(
        text,
        |text| match text {
            "all" => Ok(Apply::All),
            "none" => Ok(Apply::None),
            other => Err(format!(
                "{}, or a list of rule ids",
                unknown_choice(other, &["all", "none"])
            )),
        },
        || "for example `apply = \"all\"`".to_owned(),
    );
    apply.unwrap_or(Apply::None)
}

fn adopt(reader: &mut SettingsReader<'_>, value: &TomlValue<'_>) -> Adopt {
    match value.get_ref().as_bool() {
        Some(true) => Adopt::All,
        Some(false) => Adopt::None,
        None => Adopt::Tasks(globs(reader, "adopt", value)),
    }
}

/// The settings about people, and the members of each team. Values that cannot be read permit nothing more than the
/// defaults.
fn people(
    reader: &mut SettingsReader<'_>,
    mut table: TomlTable<'_, '_>,
) -> (People, BTreeMap<String, Vec<String>>) {
    let orders = reader.parsed_at(&mut table, "orders", |text| {
        choice(text, OrdersBy::named, &OrdersBy::ALL.map(OrdersBy::as_str))
    });
    let agents_may = table.take("agents_may").map(|value| {
        reader.items("agents_may", value, |text| {
            choice(
                text,
                AgentOrder::named,
                &AgentOrder::ALL.map(AgentOrder::as_str),
            )
        })
    });
    let teams = table
        .take("teams")
        .map(|value| teams(reader, value))
        .unwrap_or_default();
    reader.finish(table);
    let default = People::default();
    let agents_may = agents_may.unwrap_or(default.agents_may);
    (
        People {
            orders: orders.unwrap_or(default.orders),
            agents_may,
        },
        teams,
    )
}

/// `[people.teams]`. A member that cannot be read is left out.
fn teams(reader: &mut SettingsReader<'_>, value: &TomlValue<'_>) -> BTreeMap<String, Vec<String>> {
    let mut teams = BTreeMap::new();
    for (name, value) in reader.entries("teams", value) {
        let members = reader.items("teams", value, |text| match text.trim() {
            member if member.contains('@') && !member.contains(char::is_whitespace) => {
                Ok(member.to_owned())
            }
            _ => Err("a member of a team is named by an email address"),
        });
        teams.insert(name.value, members);
    }
    teams
}

/// `[require]`. Other versions know more needs; none is passed over in silence.
fn require(reader: &mut SettingsReader<'_>, mut table: TomlTable<'_, '_>) -> Require {
    let require = Require {
        is_unread: false,
        independent: reader.boolean(&mut table, "independent", false),
        tests_kept: reader.boolean(&mut table, "tests_kept", false),
        verified: table
            .take("verified")
            .and_then(|value| required(reader, value))
            .unwrap_or_default(),
    };
    reader.finish(table);
    require
}

/// `verified`: a boolean, or `"tip"`.
fn required(reader: &mut SettingsReader<'_>, value: &TomlValue<'_>) -> Option<RequireVerified> {
    match value.get_ref() {
        DeValue::Boolean(false) => Some(RequireVerified::No),
        DeValue::Boolean(true) => Some(RequireVerified::Yes),
        DeValue::String(text) if text == "tip" => Some(RequireVerified::Tip),
        _ => {
            let message = "`verified` is true, false or \"tip\"";
            let hint = "\"tip\" asks for a verification of the newest commit at an approval";
            reader.report(value.span(), invalid(message, hint));
            None
        }
    }
}

/// `max` of `[checkouts]`.
fn checkouts(reader: &mut SettingsReader<'_>, mut table: TomlTable<'_, '_>) -> usize {
    let most = reader.integer_at(
        &mut table,
        "max",
        1..=1000,
        Config::default().most_checkouts as u64,
    );
    reader.finish(table);
    usize::try_from(most).unwrap_or(1)
}

/// An entry that cannot be read acknowledges nothing.
fn acknowledged(reader: &mut SettingsReader<'_>, value: &TomlValue<'_>) -> Vec<Acknowledged> {
    let mut entries = Vec::new();
    for table in reader.listed_tables("acknowledged", value, ACKNOWLEDGED.title) {
        let Spanned {
            value: mut table,
            span,
        } = table;
        if let Some(missing) = ["forged", "task", "reason"]
            .into_iter()
            .find(|key| !table.has(key))
        {
            let hint = format!("for example `{}`", example(missing));
            reader.report(span, invalid(format!("the entry has no `{missing}`"), hint));
        }
        let commit = reader.parsed_at(&mut table, "forged", |text| {
            Digest::parse(text)
                .ok_or("write the full id of the commit, 40 or 64 hexadecimal digits")
        });
        let task = reader.parsed_at(&mut table, "task", |text| TaskId::new(text));
        let reason = reader.parsed_at(&mut table, "reason", |text| match text.trim() {
            "" => Err("write why the change is acceptable"),
            reason => Ok(reason.to_owned()),
        });
        reader.finish(table);
        if let (Some(commit), Some(task), Some(reason)) = (commit, task, reason) {
            entries.push(Acknowledged {
                commit,
                task,
                reason,
            });
        }
    }
    entries
}

fn hook(reader: &mut SettingsReader<'_>, mut table: TomlTable<'_, '_>) -> Hook {
    let default = Hook::default();
    let hook = Hook {
        on_missing: reader
            .parsed_at(&mut table, "on_missing", |text| {
                choice(
                    text,
                    OnMissing::named,
                    &OnMissing::ALL.map(OnMissing::as_str),
                )
            })
            .unwrap_or(default.on_missing),
        timeout_seconds: reader.integer_at(
            &mut table,
            "timeout_seconds",
            1..=3_600,
            default.timeout_seconds,
        ),
    };
    reader.finish(table);
    hook
}

/// The globs at `key`; invalid ones are reported and left out.
fn patterns(
    reader: &mut SettingsReader<'_>,
    table: &mut TomlTable<'_, '_>,
    key: &'static str,
) -> Patterns {
    table
        .take(key)
        .map(|value| globs(reader, key, value))
        .unwrap_or_default()
}

fn globs(reader: &mut SettingsReader<'_>, key: &str, value: &TomlValue<'_>) -> Patterns {
    let texts = reader.items(key, value, |text: &str| {
        Patterns::new([text]).map(|_| text.to_owned())
    });
    Patterns::new(texts).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::{NotifyAction, Webhook};
    use crate::decide::NoticeKind;
    use orch_base::Code;
    use orch_base::{Hint, TaskId};

    #[test]
    fn every_setting_is_read() {
        let text = r#"
            version = 1
            system = "machines/"
            settle_ms = 200
            limit_bytes = 0x10_0000
            [[root]]
            path = "work/*"
            workflow = "loop"
            exclude = ["work/old"]
            [[root]]
            path = "tasks/**"
            [git]
            commit = "off"
            protected = ["release/*"]
            subject = "{task}: {to}"
            sign_off = true
            detached_head = true
            [watch]
            apply = "none"
            adopt = true
            poll = true
            reconcile_seconds = 30
            [hook]
            on_missing = "block"
            timeout_seconds = 3
            [executor.reviewer]
            command = ["claude", "-p"]
            timeout = "10m"
            idle_timeout = "2m"
            [executor.none]
            command = []
            [[notify]]
            on = ["human", "run-ended"]
            command = ["notify-send", "orch"]
            time_limit = "1m"
            [[notify]]
            on = ["done"]
            bell = true
            [[notify]]
            on = ["done"]
            webhook = "https://example.com/x"
            secret = "KEY"
        "#;
        let (config, findings) = parse(text, "orch.toml");
        assert_eq!(findings, []);
        assert_eq!(config.system.as_str(), "machines");
        assert_eq!((config.settle_ms, config.limit_bytes), (200, 1 << 20));
        assert_eq!(config.git.commit, Commit::Off);
        assert!(config.git.protected.matches("release/1"));
        assert_eq!(config.git.subject.to_string(), "{task}: {to}");
        assert!(config.git.sign_off && config.git.detached_head);
        assert_eq!(
            (&config.watch.apply, &config.watch.adopt),
            (&Apply::None, &Adopt::All)
        );
        assert_eq!(
            (config.watch.poll, config.watch.reconcile_seconds),
            (true, 30)
        );
        assert_eq!(
            config.hook,
            Hook {
                on_missing: OnMissing::Block,
                timeout_seconds: 3
            }
        );
        assert_eq!(config.executors.names().collect::<Vec<_>>(), ["reviewer"]);
        let reviewer = config
            .executors
            .find(["nobody", "reviewer"])
            .expect("an executor");
        assert_eq!(reviewer.command, ["claude", "-p"]);
        assert_eq!(
            reviewer.times.hard.map(|hard| hard.to_string()).as_deref(),
            Some("10m")
        );
        assert_eq!(config.executors.find(["nobody"]), None);
        let [first, second, third] = config.notify.as_slice() else {
            panic!("{:?}", config.notify)
        };
        assert_eq!(
            (first.on.as_slice(), first.bell),
            (&[NoticeKind::Human, NoticeKind::RunEnded][..], false)
        );
        assert_eq!(
            (first.actions.as_slice(), first.time_limit.to_string()),
            (
                &[NotifyAction::Command(vec![
                    "notify-send".to_owned(),
                    "orch".to_owned()
                ])][..],
                "1m".to_owned()
            )
        );
        assert!(second.bell && second.actions.is_empty());
        let url = "https://example.com/x".to_owned();
        let webhook = Webhook {
            url,
            secret: Some("KEY".to_owned()),
        };
        assert_eq!(third.actions, [NotifyAction::Webhook(webhook)]);
        let found = |path: &str| {
            config
                .roots
                .match_directory(&RepoPath::new(path).expect("valid"))
        };
        assert_eq!(found("work/a"), Some((0, TaskId::new("a").expect("valid"))));
        assert_eq!(found("work/old"), None);
        assert_eq!(
            found("tasks/a/b"),
            Some((1, TaskId::new("a/b").expect("valid")))
        );
        let workflows: Vec<&str> = config
            .roots
            .iter()
            .map(|root| root.workflow.as_str())
            .collect();
        assert_eq!(workflows, ["loop", "global-state-machine"]);
    }

    #[test]
    fn faults_are_found_where_they_are() {
        for (text, expected) in [
            (
                "settle_ms = 'x'",
                "1:13: config-value: expected an integer, found a string",
            ),
            ("settle_ms = 0", "1:13: config-value: 0 is out of range"),
            ("settle_ms = -1", "1:13: config-value: -1 is out of range"),
            (
                "version = 2",
                "1:11: config-value: version 2 of orch.toml is not supported by this orch",
            ),
            (
                "git = 1",
                "1:7: config-value: expected a table, found an integer",
            ),
            (
                "system = '/etc'",
                "1:10: config-value: \"/etc\" is not a path inside the repository: it is absolute",
            ),
            (
                "root = 'x'",
                "1:8: config-value: expected a list of tables, found a string",
            ),
            (
                "[[root]]\npth = 'x/*'",
                "1:1: config-value: the root has no `path`\n2:1: config-unknown-key: unknown key `pth`",
            ),
            (
                "[[root]]\npath = 'x'",
                "2:8: config-value: \"x\" is not a path of tasks: it has no wildcard, so no task would have an id",
            ),
            (
                "[git]\ncommit = 'on'",
                "2:10: config-value: \"on\" is unknown; the choices are \"each\", \"batch\" and \"off\"",
            ),
            (
                "[git]\nprotected = ['a', '[']",
                "2:19: config-value: error parsing glob '[': unclosed character class; missing ']'",
            ),
            (
                "[git]\nsubject = '{who}'",
                "2:11: config-value: there is no placeholder {who}",
            ),
            (
                "[git]\nsign_off = 1",
                "2:12: config-value: expected a boolean, found an integer",
            ),
            (
                "[watch]\napply = 'al'",
                "2:9: config-value: \"al\" is unknown; did you mean \"all\"? The choices are \"all\" and \"none\", or a list of rule ids",
            ),
            (
                "[watch]\napply = ['ok', 'not ok']",
                "2:16: config-value: \"not ok\" is not a valid rule id: it may contain only letters, digits, `-`, `_` and `.`",
            ),
            (
                "[watch]\nadopt = 1",
                "2:9: config-value: expected a list of strings, found an integer",
            ),
            (
                "[hook]\non_missing = 'blok'",
                "2:14: config-value: \"blok\" is unknown; did you mean \"block\"? The choices are \"pass\" and \"block\"",
            ),
            (
                "[hook]\ntimeout_seconds = 0",
                "2:19: config-value: 0 is out of range",
            ),
            (
                "executor = 1",
                "1:12: config-value: expected a table, found an integer",
            ),
            (
                "[executor]\na = 1",
                "2:5: config-value: expected a table, found an integer",
            ),
            (
                "[executor]\ncommand = 1",
                "2:11: config-value: expected a table, found an integer",
            ),
            (
                "[executor.a]\ncommand = 'claude -p'\ntimeout = '5'",
                "2:11: config-value: expected a list of strings, found a string\n3:11: config-value: the value is not a duration",
            ),
            (
                "[[notify]]\nbel = true",
                "1:1: config-value: the entry has no `on`\n1:1: config-value: the entry has none of `command`, `webhook` and `bell = true`\n2:1: config-unknown-key: unknown key `bel`",
            ),
            (
                "[[notify]]\non = ['humn']\ncommand = 'a'",
                "2:7: config-value: \"humn\" is unknown; did you mean \"human\"? The choices are \"human\", \"failed\", \"stalled\", \"done\" and \"run-ended\"\n3:11: config-value: expected a list of strings, found a string",
            ),
            (
                "[[notify]]\non = []\ncommand = []\ntime_limit = '1h'",
                "2:6: config-value: the list of events is empty\n3:11: config-value: the command is empty\n4:14: config-value: the limit must be above 0s and at most 10m",
            ),
            (
                "[[notify]]\non = ['done']\nwebhook = 'http://example.com'\nsecret = 'a b'",
                "3:11: config-value: without `https`, it must point to this machine\n4:10: config-value: not the name of an environment variable; the key itself does not belong here",
            ),
            (
                "[[notify]]\non = ['done']\nbell = true\nsecret = 'KEY'",
                "1:1: config-value: `secret` is for a `webhook`",
            ),
            (
                "notify = ['human']",
                "1:11: config-value: expected a table, found a string",
            ),
            (
                "[executor.a]\ncommand = ['']",
                "2:11: config-value: the program name is empty",
            ),
            (
                "a = 1\nb = 2\n[git]\nc = 3",
                "1:1: config-unknown-key: unknown key `a`\n2:1: config-unknown-key: unknown key `b`\n4:1: config-unknown-key: unknown key `c`",
            ),
        ] {
            let (_, findings) = parse(text, "orch.toml");
            let found: Vec<String> = findings.iter().map(shown).collect();
            assert_eq!(found.join("\n"), expected, "{text}");
            assert!(
                findings
                    .iter()
                    .all(|finding| finding.is_error() && finding.hint.is_some()),
                "{text}"
            );
        }
    }

    fn shown(finding: &Diagnostic) -> String {
        let place = finding
            .place
            .as_ref()
            .map(ToString::to_string)
            .unwrap_or_default();
        format!(
            "{}: {}: {}",
            place.trim_start_matches("orch.toml:"),
            finding.code,
            finding.message
        )
    }

    #[test]
    fn hints_say_what_to_write() {
        for (text, expected) in [
            ("setle_ms = 1", "did you mean `settle_ms`?"),
            ("[git]\napply = 'all'", "`apply` belongs to `[watch]`"),
            (
                "[watch]\nsettle_ms = 1",
                "`settle_ms` belongs to the top of the file (before the first table)",
            ),
            (
                "[watch]\nelephant = 1",
                "the keys of `[watch]` are `apply`, `adopt`, `poll`, `verify` and `reconcile_seconds`",
            ),
            (
                "[executor]\ncommand = 1",
                "write for example `[executor.default]`",
            ),
            (
                "[git]\nprotected = 'main'",
                "write for example `protected = [\"main\", \"release/*\"]`",
            ),
            (
                "[git]\nprotected = [1]",
                "write for example `protected = [\"main\", \"release/*\"]`",
            ),
            ("[git]\ncommit = 'on'", "for example `commit = \"batch\"`"),
            ("[watch]\napply = 'al'", "for example `apply = \"all\"`"),
            ("[watch]\npoll = 'yes'", "write for example `poll = false`"),
            (
                "[watch]\nreconcile_seconds = 0",
                "`reconcile_seconds` must be from 1 to 86400",
            ),
            ("[[root]]", "for example `path = \"tasks/*\"`"),
            ("version = 0x1F", "update orch, or write `version = 1`"),
        ] {
            let (_, findings) = parse(text, "orch.toml");
            let hints: Vec<_> = findings
                .iter()
                .filter_map(|finding| finding.hint.as_ref().map(Hint::to_string))
                .collect();
            assert_eq!(hints, [expected], "{text}");
        }
    }

    #[test]
    fn a_root_must_name_a_workflow_that_there_is() {
        let known = ["global-state-machine".to_owned(), "openspec".to_owned()];
        for (text, expected) in [
            ("", vec![]),
            ("[[root]]\npath = 'a/*'", vec![]),
            ("[[root]]\npath = 'a/*'\nworkflow = 'openspec'", vec![]),
            (
                "[[root]]\nworkflow = 'opensec'\n[[root]]\nworkflow = 'openspec'\n[[root]]\nworkflow = \"nope\"",
                vec![
                    "2:12: config-value: there is no workflow `opensec` (did you mean `openspec`?)",
                    "6:12: config-value: there is no workflow `nope` (the workflows are: global-state-machine, openspec)",
                ],
            ),
            // Other problems are reported when the settings are parsed.
            (
                "[[root]]\nworkflow = 'no name'\n[[root]]\nworkflow = 1",
                vec![],
            ),
            ("[[root]]\nworkflow = 'nope'\nsettle_ms =", vec![]),
            ("root = [1]", vec![]),
            ("root = 1", vec![]),
        ] {
            let unknown = unknown_workflows(text, "orch.toml", &known);
            let findings: Vec<Diagnostic> = unknown.into_iter().map(|one| one.finding).collect();
            let summary = |finding| {
                format!(
                    "{} ({})",
                    shown(finding),
                    finding.hint.clone().unwrap_or_default()
                )
            };
            assert_eq!(
                findings.iter().map(summary).collect::<Vec<_>>(),
                expected,
                "{text}"
            );
        }
    }

    #[test]
    fn every_syntax_error_is_reported_and_the_rest_is_read() {
        let (config, findings) = parse(
            "settle_ms =\nlimit_bytes = 9\nsystem = \"x\n[git]\nsign_off = true\n",
            "f",
        );
        let places: Vec<_> = findings
            .iter()
            .map(|finding| (finding.code, finding.place.clone().and_then(|p| p.line)))
            .collect();
        assert_eq!(
            places,
            [(Code::ConfigSyntax, Some(1)), (Code::ConfigSyntax, Some(3))]
        );
        assert_eq!((config.limit_bytes, config.settle_ms), (9, 50));
        assert!(config.git.sign_off);
    }

    #[test]
    fn what_is_there_twice_says_where_the_first_is() {
        for (text, message, first, second) in [
            (
                "[people]\norders = 'terminal'\n[git]\n\n[people]\norders = 'anyone'\n",
                "`[people]` is there twice",
                1,
                5,
            ),
            (
                "# settle_ms\n  settle_ms = 1\nlimit_bytes = 9\nsettle_ms=2\n",
                "`settle_ms` is there twice",
                2,
                4,
            ),
        ] {
            let (_, findings) = parse(text, "f");
            let found = &findings[0];
            let hint = format!("the first is on line {first}; keep one of the two");
            assert_eq!(
                (found.code, found.message.as_str(), found.hint.clone()),
                (Code::ConfigSyntax, message, Some(hint.into()))
            );
            let line = found.place.as_ref().and_then(|place| place.line);
            assert_eq!(line, Some(second));
        }
    }

    #[test]
    fn what_cannot_be_read_allows_nothing() {
        for text in [
            "[watch]\napply = 'nine'",
            "[watch]\napply = 9",
            "[[root]]\npath = 9\n[watch]\napply = []",
        ] {
            let (config, _) = parse(text, "orch.toml");
            let rule = RuleId::new("r").expect("valid");
            assert!(!config.watch.apply.allows(&rule), "{text}");
        }
        assert_eq!(
            parse("[[root]]\npath = 9", "orch.toml").0.roots,
            Roots::default()
        );
    }

    #[test]
    fn what_cannot_be_read_requires_everything() {
        for (text, expected) in [
            ("", false),
            ("[require]\nindependent = false", false),
            ("[require]\nindependent = true", true),
            ("[require]\nindependent = 'no'", true),
            ("[require]\nindependant = false", true),
            ("[requires]\nindependent = false", true),
            ("require = false", true),
            ("[watch]\nnext_key = 1", true),
            (
                "[require]\nindependent = false\n[people.teams]\nsec = 'a@x.org'",
                true,
            ),
            ("[require]\nindependent = ", true),
        ] {
            let require = parse(text, "orch.toml").0.require;
            let everything = if expected {
                Require::EVERYTHING
            } else {
                Require::default()
            };
            let expected = if text == "[require]\nindependent = true" {
                Require {
                    independent: true,
                    ..Require::default()
                }
            } else {
                everything
            };
            assert_eq!(require, expected, "{text}");
        }
        let (config, _) = parse(
            "[people.teams]\nsec = ['a@x.org', 1]\nweb = 'b@x.org'",
            "orch.toml",
        );
        let members: Vec<&String> = config.teams.values().flatten().collect();
        assert_eq!(members, ["a@x.org"], "nobody more");
    }
}

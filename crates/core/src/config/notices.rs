//! `[[notify]]`: which programs are started at which events.

use super::executors::command;
use super::keys::NOTIFY;
use super::reader::{SettingsReader, choice, invalid};
use super::webhook::{self, Webhook};
use crate::decide::NoticeKind;
use crate::{Spanned, TomlTable, TomlValue};
use orch_base::Period;

/// The time limit of a program that does not name one.
const DEFAULT_LIMIT: Period = Period::from_seconds(10);
/// The highest time limit. At its end `orch run` waits for such programs.
const LONGEST: Period = Period::from_seconds(600);

/// The table `[[notify]]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NotifyConfig {
    /// The events; not empty.
    pub on: Vec<NoticeKind>,
    /// What is done besides ringing the bell.
    pub actions: Vec<NotifyAction>,
    /// How long each of them may take.
    pub time_limit: Period,
    /// Whether to ring the bell of the terminal.
    pub bell: bool,
}

/// What an entry does.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotifyAction {
    /// Starts a program: its name and its arguments.
    Command(Vec<String>),
    /// Posts to an address.
    Webhook(Webhook),
}

/// An entry that cannot be read does nothing.
pub(super) fn notify(reader: &mut SettingsReader<'_>, value: &TomlValue<'_>) -> Vec<NotifyConfig> {
    let tables = reader.listed_tables("notify", value, NOTIFY.title);
    tables
        .into_iter()
        .filter_map(|table| entry(reader, table))
        .collect()
}

fn entry(
    reader: &mut SettingsReader<'_>,
    table: Spanned<TomlTable<'_, '_>>,
) -> Option<NotifyConfig> {
    let Spanned {
        value: mut table,
        span,
    } = table;
    let has_command = table.has("command");
    let has_webhook = table.has("webhook");
    let on = table.take("on").map(|value| {
        let known = NoticeKind::ALL.map(NoticeKind::as_str);
        let on = reader.items("on", value, |text| choice(text, NoticeKind::named, &known));
        if value
            .get_ref()
            .as_array()
            .is_some_and(|events| events.is_empty())
        {
            reader.report(
                value.span(),
                invalid("the list of events is empty", hint("on")),
            );
        }
        on
    });
    if on.is_none() {
        reader.report(span.clone(), invalid("the entry has no `on`", hint("on")));
    }
    let command = table.take("command").map(|value| {
        let command = command(reader, value);
        if value
            .get_ref()
            .as_array()
            .is_some_and(|words| words.is_empty())
        {
            reader.report(
                value.span(),
                invalid("the command is empty", hint("command")),
            );
        }
        command
    });
    let url = reader.parsed_at(&mut table, "webhook", webhook::url);
    let has_secret = table.has("secret");
    let secret = reader.parsed_at(&mut table, "secret", webhook::variable);
    let limit = reader.parsed_at(&mut table, "time_limit", |text| {
        let limit = Period::parse(text).ok_or_else(|| "the value is not a duration".to_owned())?;
        let is_possible = (1..=LONGEST.milliseconds()).contains(&limit.milliseconds());
        if is_possible {
            Ok(limit)
        } else {
            Err(format!("the limit must be above 0s and at most {LONGEST}"))
        }
    });
    let bell = reader.boolean(&mut table, "bell", false);
    reader.finish(table);
    if has_secret && !has_webhook {
        reader.report(
            span.clone(),
            invalid("`secret` is for a `webhook`", hint("webhook")),
        );
    }
    if !has_command && !has_webhook && !bell {
        let message = "the entry has none of `command`, `webhook` and `bell = true`";
        reader.report(span, invalid(message, hint("command")));
    }
    let command = command
        .filter(|command| !command.is_empty())
        .map(NotifyAction::Command);
    // A body that should be signed is not sent without a signature.
    let is_whole = has_secret == secret.is_some();
    let webhook = url
        .filter(|_| is_whole)
        .map(|url| NotifyAction::Webhook(Webhook { url, secret }));
    let entry = NotifyConfig {
        on: on.unwrap_or_default(),
        actions: command.into_iter().chain(webhook).collect(),
        time_limit: limit.unwrap_or(DEFAULT_LIMIT),
        bell,
    };
    if entry.on.is_empty() || (!entry.bell && entry.actions.is_empty()) {
        None
    } else {
        Some(entry)
    }
}

fn hint(key: &str) -> String {
    let example = NOTIFY
        .keys
        .iter()
        .find(|(name, _)| *name == key)
        .map_or("", |(_, example)| *example);
    format!("for example `{example}`")
}

//! The document as written: every key with its place, nothing resolved yet.
//!
//! Reading never stops at the first fault. Unknown keys, wrong types and missing values all become
//! diagnostics, and what can be understood is passed on.

use super::Document;
use super::place::advised;
use crate::base::{Diagnostic, nearest};
use serde_json::Value;
use std::ops::Range;
use toml::Spanned as TomlSpanned;
use toml::de::{DeTable, DeValue};

/// A value and the bytes it was read from.
#[derive(Debug, Clone)]
pub(super) struct Spanned<T> {
    pub value: T,
    pub span: Range<usize>,
}

pub(super) type Text = Spanned<String>;

#[derive(Debug, Default)]
pub(super) struct RawWorkflow {
    pub title: Option<Text>,
    pub initial: Option<Text>,
    pub phase_key: Option<Text>,
    pub attempts: Option<Spanned<i64>>,
    pub state_schema: Option<Text>,
    pub defaults: Vec<(Text, Value)>,
    pub defines: Vec<(Text, Text)>,
    pub artifacts: Vec<RawArtifact>,
    pub phases: Vec<RawPhase>,
    pub rules: Vec<RawRule>,
    pub actions: Vec<RawAction>,
    pub asks: Vec<RawAsk>,
    pub limits: RawLimits,
    pub show: Vec<Text>,
    pub keep: Vec<(Text, Spanned<i64>)>,
    pub rebuild: Vec<(Text, Text)>,
}

#[derive(Debug)]
pub(super) struct RawArtifact {
    pub name: Text,
    pub paths: Vec<Text>,
    pub tree: Option<Vec<Text>>,
    pub format: Option<Text>,
    pub schema: Option<Text>,
    pub title: Option<Text>,
    pub commit: bool,
    pub facts: Vec<(Text, Text)>,
}

#[derive(Debug)]
pub(super) struct RawPhase {
    pub name: Text,
    pub title: Option<Text>,
    pub agent: Option<Text>,
    pub owner: Option<Text>,
    pub substate: Option<Text>,
    pub needs: Vec<Text>,
    pub produces: Vec<Text>,
    pub may_produce: Vec<Text>,
    pub touches: Vec<Text>,
    pub aliases: Vec<Text>,
    pub terminal: bool,
    pub success: bool,
    pub attempts: Option<Spanned<i64>>,
}

#[derive(Debug)]
pub(super) struct RawRule {
    pub span: Range<usize>,
    pub id: Option<Text>,
    pub from: Vec<Text>,
    pub when: Option<Text>,
    pub to: Option<Text>,
    pub run: Option<Text>,
    pub wait: Option<Text>,
    pub choose: Option<Vec<Text>>,
    pub because: Option<Text>,
    pub by: Option<Text>,
    pub on: Option<Text>,
    pub ask: Option<Text>,
    pub set: Vec<(Text, Text)>,
}

#[derive(Debug)]
pub(super) struct RawAction {
    pub name: Text,
    pub title: Option<Text>,
    pub prompt: Option<Text>,
    pub when: Option<Text>,
    pub ensures: Option<Text>,
    pub writes: Vec<Text>,
    pub show: Vec<Text>,
    pub outputs: Vec<Text>,
    pub executor: Option<Text>,
    pub soft: Option<Text>,
    pub hard: Option<Text>,
    pub idle: Option<Text>,
    pub retries: Option<Spanned<i64>>,
}

#[derive(Debug)]
pub(super) struct RawAsk {
    pub name: Text,
    pub title: Option<Text>,
    pub writes: Vec<Text>,
    pub options: Vec<(Text, Text)>,
    pub default: Vec<(Text, Text)>,
    pub set: Vec<(Text, Text)>,
}

#[derive(Debug, Default)]
pub(super) struct RawLimits {
    pub turns: Option<Spanned<i64>>,
    pub time: Option<Text>,
    pub cost: Option<Spanned<f64>>,
    pub failures: Option<Spanned<i64>>,
    pub errors: Option<Spanned<i64>>,
    pub backoff: Option<Text>,
}

/// Reads the machine of a document.
pub(super) fn read(document: &Document) -> (RawWorkflow, Vec<Diagnostic>) {
    let mut reader = Reader { document, problems: Vec::new() };
    let (table, errors) = DeTable::parse_recoverable(&document.toml);
    for error in errors {
        let span = error.span().unwrap_or(0..0);
        reader
            .problem(&span, Diagnostic::error("workflow-syntax", error.message().trim().replace('\n', ", ")));
    }
    let raw = reader.workflow(table.get_ref());
    (raw, reader.problems)
}

struct Reader<'d> {
    document: &'d Document,
    problems: Vec<Diagnostic>,
}

/// The entries of one table, taken out one by one; what is left over is unknown.
struct Entries<'t, 'i> {
    what: &'static str,
    known: Vec<&'static str>,
    left: Vec<(&'t TomlSpanned<std::borrow::Cow<'i, str>>, &'t TomlSpanned<DeValue<'i>>)>,
}

impl<'t, 'i> Entries<'t, 'i> {
    fn new(what: &'static str, table: &'t DeTable<'i>) -> Self {
        let mut left: Vec<_> = table.iter().collect();
        left.sort_by_key(|(key, _)| key.span().start);
        Self { what, known: Vec::new(), left }
    }

    fn take(&mut self, key: &'static str) -> Option<&'t TomlSpanned<DeValue<'i>>> {
        self.known.push(key);
        let at = self.left.iter().position(|(name, _)| name.get_ref() == key)?;
        Some(self.left.remove(at).1)
    }
}

impl Reader<'_> {
    fn problem(&mut self, span: &Range<usize>, diagnostic: Diagnostic) {
        let place = self.document.place(span.start, span.len());
        self.problems.push(advised(diagnostic.at(place)));
    }

    fn finish(&mut self, entries: Entries<'_, '_>) {
        for (key, _) in entries.left {
            let name = key.get_ref();
            let mut diagnostic =
                Diagnostic::error("workflow-unknown-key", format!("{} has no key `{name}`", entries.what));
            diagnostic.hint = Some(match nearest(name, entries.known.iter().copied()) {
                Some(near) => format!("did you mean `{near}`?"),
                None => format!("the keys are: {}", entries.known.join(", ")),
            });
            self.problem(&key.span(), diagnostic);
        }
    }

    fn wrong_type(&mut self, key: &str, value: &TomlSpanned<DeValue<'_>>, expected: &str) {
        let found = value.get_ref().type_str();
        let message = format!("`{key}` should be {expected}, but is of type {found}");
        self.problem(&value.span(), Diagnostic::error("workflow-value", message));
    }

    fn text(&mut self, entries: &mut Entries<'_, '_>, key: &'static str) -> Option<Text> {
        let value = entries.take(key)?;
        self.text_of(key, value)
    }

    fn text_of(&mut self, key: &str, value: &TomlSpanned<DeValue<'_>>) -> Option<Text> {
        match value.get_ref().as_str() {
            Some(text) => Some(Spanned { value: text.to_owned(), span: value.span() }),
            None => {
                self.wrong_type(key, value, "a text");
                None
            }
        }
    }

    fn texts(&mut self, entries: &mut Entries<'_, '_>, key: &'static str) -> Vec<Text> {
        self.list(entries, key).unwrap_or_default()
    }

    fn list(&mut self, entries: &mut Entries<'_, '_>, key: &'static str) -> Option<Vec<Text>> {
        let value = entries.take(key)?;
        match value.get_ref() {
            DeValue::Array(items) => Some(items.iter().filter_map(|item| self.text_of(key, item)).collect()),
            DeValue::String(_) => Some(self.text_of(key, value).into_iter().collect()),
            _ => {
                self.wrong_type(key, value, "a text or a list of texts");
                None
            }
        }
    }

    fn boolean(&mut self, entries: &mut Entries<'_, '_>, key: &'static str, default: bool) -> bool {
        let Some(value) = entries.take(key) else { return default };
        value.get_ref().as_bool().unwrap_or_else(|| {
            self.wrong_type(key, value, "true or false");
            default
        })
    }

    fn count(&mut self, entries: &mut Entries<'_, '_>, key: &'static str) -> Option<Spanned<i64>> {
        let value = entries.take(key)?;
        self.whole(key, value, 1)
    }

    fn whole(&mut self, key: &str, value: &TomlSpanned<DeValue<'_>>, least: i64) -> Option<Spanned<i64>> {
        let expected = if least > 0 { "a whole number above zero" } else { "a whole number" };
        let number = value.get_ref().as_integer();
        match number.and_then(|number| i64::from_str_radix(number.as_str(), number.radix()).ok()) {
            Some(number) if number >= least => Some(Spanned { value: number, span: value.span() }),
            Some(number) => {
                let message = format!("`{key}` should be {expected}, not {number}");
                self.problem(&value.span(), Diagnostic::error("workflow-value", message));
                None
            }
            None => {
                self.wrong_type(key, value, expected);
                None
            }
        }
    }

    fn amount(&mut self, entries: &mut Entries<'_, '_>, key: &'static str) -> Option<Spanned<f64>> {
        let value = entries.take(key)?;
        let number = match value.get_ref() {
            DeValue::Integer(number) => number.as_str().parse::<f64>().ok(),
            DeValue::Float(number) => number.as_str().parse::<f64>().ok(),
            _ => None,
        };
        match number.filter(|number| number.is_finite() && *number > 0.0) {
            Some(number) => Some(Spanned { value: number, span: value.span() }),
            None => {
                let message = format!("`{key}` should be a number above zero");
                self.problem(&value.span(), Diagnostic::error("workflow-value", message));
                None
            }
        }
    }

    /// A table of named texts, such as `[define]`, in document order.
    fn named_texts(
        &mut self,
        key: &'static str,
        value: Option<&TomlSpanned<DeValue<'_>>>,
    ) -> Vec<(Text, Text)> {
        self.named(key, value)
            .into_iter()
            .filter_map(|(name, value)| {
                let text = self.text_of(&name.value, value)?;
                Some((name, text))
            })
            .collect()
    }

    /// `[define]`, and `[define.GROUP]` for those who want them near the prose that explains them;
    /// a group's own name means nothing.
    fn defines(&mut self, value: Option<&TomlSpanned<DeValue<'_>>>) -> Vec<(Text, Text)> {
        let mut found = Vec::new();
        for (name, value) in self.named("define", value) {
            if value.get_ref().is_table() {
                found.extend(self.named_texts("define", Some(value)));
            } else if let Some(text) = self.text_of("define", value) {
                found.push((name, text));
            }
        }
        found.sort_by_key(|(name, _)| name.span.start);
        found
    }

    /// The entries of a table, by name, in document order.
    fn named<'t, 'i>(
        &mut self,
        key: &str,
        value: Option<&'t TomlSpanned<DeValue<'i>>>,
    ) -> Vec<(Text, &'t TomlSpanned<DeValue<'i>>)> {
        let Some(value) = value else { return Vec::new() };
        let Some(table) = value.get_ref().as_table() else {
            self.wrong_type(key, value, "a table");
            return Vec::new();
        };
        let mut entries: Vec<_> = table
            .iter()
            .map(|(name, value)| (Spanned { value: name.get_ref().to_string(), span: name.span() }, value))
            .collect();
        entries.sort_by_key(|(name, _)| name.span.start);
        entries
    }

    /// The tables of a table of tables, such as `[phase.*]`, by name.
    fn named_tables<'t, 'i>(
        &mut self,
        key: &str,
        value: Option<&'t TomlSpanned<DeValue<'i>>>,
    ) -> Vec<(Text, &'t DeTable<'i>)> {
        let entries = self.named(key, value);
        entries
            .into_iter()
            .filter_map(|(name, value)| match value.get_ref().as_table() {
                Some(table) => Some((name, table)),
                None => {
                    self.wrong_type(&name.value, value, "a table");
                    None
                }
            })
            .collect()
    }

    fn workflow(&mut self, table: &DeTable<'_>) -> RawWorkflow {
        let mut raw = RawWorkflow::default();
        let mut top = Entries::new("a workflow document", table);
        if let Some(value) = top.take("workflow") {
            match value.get_ref().as_table() {
                Some(table) => self.head(table, &mut raw),
                None => self.wrong_type("workflow", value, "a table"),
            }
        }
        if let Some(value) = top.take("state") {
            match value.get_ref().as_table() {
                Some(table) => self.state(table, &mut raw),
                None => self.wrong_type("state", value, "a table"),
            }
        }
        raw.defines = self.defines(top.take("define"));
        raw.artifacts = self
            .named_tables("artifact", top.take("artifact"))
            .into_iter()
            .map(|(n, t)| self.artifact(n, t))
            .collect();
        raw.phases = self
            .named_tables("phase", top.take("phase"))
            .into_iter()
            .map(|(n, t)| self.phase(n, t))
            .collect();
        raw.actions = self
            .named_tables("action", top.take("action"))
            .into_iter()
            .map(|(n, t)| self.action(n, t))
            .collect();
        raw.asks = self
            .named_tables("ask", top.take("ask"))
            .into_iter()
            .map(|(name, table)| self.ask(name, table))
            .collect();
        if let Some(value) = top.take("limits") {
            match value.get_ref().as_table() {
                Some(table) => raw.limits = self.limits(table),
                None => self.wrong_type("limits", value, "a table"),
            }
        }
        if let Some(value) = top.take("rule") {
            match value.get_ref().as_array() {
                Some(items) => {
                    for item in items {
                        match item.get_ref().as_table() {
                            Some(table) => raw.rules.push(self.rule(item.span(), table)),
                            None => self.wrong_type("rule", item, "a table"),
                        }
                    }
                }
                None => self.wrong_type("rule", value, "a list of tables; write `[[rule]]`"),
            }
        }
        self.finish(top);
        raw
    }

    fn head(&mut self, table: &DeTable<'_>, raw: &mut RawWorkflow) {
        let mut entries = Entries::new("`[workflow]`", table);
        raw.title = self.text(&mut entries, "title");
        raw.initial = self.text(&mut entries, "initial");
        raw.phase_key = self.text(&mut entries, "phase_key");
        raw.attempts = self.count(&mut entries, "attempts");
        raw.show = self.texts(&mut entries, "show");
        self.finish(entries);
    }

    fn state(&mut self, table: &DeTable<'_>, raw: &mut RawWorkflow) {
        let mut entries = Entries::new("`[state]`", table);
        raw.state_schema = self.text(&mut entries, "schema");
        for (name, value) in self.named("defaults", entries.take("defaults")) {
            raw.defaults.push((name, to_json(value.get_ref())));
        }
        for (pointer, value) in self.named("keep", entries.take("keep")) {
            raw.keep.extend(self.whole(&pointer.value, value, 1).map(|count| (pointer, count)));
        }
        raw.rebuild = self.named_texts("rebuild", entries.take("rebuild"));
        self.finish(entries);
    }

    fn artifact(&mut self, name: Text, table: &DeTable<'_>) -> RawArtifact {
        let mut entries = Entries::new("an artifact", table);
        let artifact = RawArtifact {
            paths: self.texts(&mut entries, "path"),
            tree: self.list(&mut entries, "tree"),
            format: self.text(&mut entries, "format"),
            schema: self.text(&mut entries, "schema"),
            title: self.text(&mut entries, "title"),
            commit: self.boolean(&mut entries, "commit", true),
            facts: self.named_texts("facts", entries.take("facts")),
            name,
        };
        self.finish(entries);
        artifact
    }

    fn phase(&mut self, name: Text, table: &DeTable<'_>) -> RawPhase {
        let mut entries = Entries::new("a phase", table);
        let phase = RawPhase {
            title: self.text(&mut entries, "title"),
            agent: self.text(&mut entries, "agent"),
            owner: self.text(&mut entries, "owner"),
            substate: self.text(&mut entries, "substate"),
            needs: self.texts(&mut entries, "needs"),
            produces: self.texts(&mut entries, "produces"),
            may_produce: self.texts(&mut entries, "may_produce"),
            touches: self.texts(&mut entries, "touches"),
            aliases: self.texts(&mut entries, "aliases"),
            terminal: self.boolean(&mut entries, "terminal", false),
            success: self.boolean(&mut entries, "success", true),
            attempts: self.count(&mut entries, "attempts"),
            name,
        };
        self.finish(entries);
        phase
    }

    fn rule(&mut self, span: Range<usize>, table: &DeTable<'_>) -> RawRule {
        let mut entries = Entries::new("a rule", table);
        let rule = RawRule {
            id: self.text(&mut entries, "id"),
            from: self.texts(&mut entries, "from"),
            when: self.text(&mut entries, "when"),
            to: self.text(&mut entries, "to"),
            run: self.text(&mut entries, "run"),
            wait: self.text(&mut entries, "wait"),
            choose: self.list(&mut entries, "choose"),
            because: self.text(&mut entries, "because"),
            by: self.text(&mut entries, "by"),
            on: self.text(&mut entries, "on"),
            ask: self.text(&mut entries, "ask"),
            set: self.named_texts("set", entries.take("set")),
            span,
        };
        self.finish(entries);
        rule
    }

    fn action(&mut self, name: Text, table: &DeTable<'_>) -> RawAction {
        let mut entries = Entries::new("an action", table);
        let action = RawAction {
            title: self.text(&mut entries, "title"),
            prompt: self.text(&mut entries, "prompt"),
            when: self.text(&mut entries, "when"),
            ensures: self.text(&mut entries, "ensures"),
            writes: self.texts(&mut entries, "writes"),
            show: self.texts(&mut entries, "show"),
            outputs: self.texts(&mut entries, "outputs"),
            executor: self.text(&mut entries, "executor"),
            soft: self.text(&mut entries, "soft_timeout"),
            hard: self.text(&mut entries, "timeout"),
            idle: self.text(&mut entries, "idle_timeout"),
            retries: entries.take("retries").and_then(|value| self.whole("retries", value, 0)),
            name,
        };
        self.finish(entries);
        action
    }

    fn ask(&mut self, name: Text, table: &DeTable<'_>) -> RawAsk {
        let mut entries = Entries::new("a question", table);
        let ask = RawAsk {
            title: self.text(&mut entries, "title"),
            writes: self.texts(&mut entries, "writes"),
            options: self.named_texts("options", entries.take("options")),
            default: self.named_texts("default", entries.take("default")),
            set: self.named_texts("set", entries.take("set")),
            name,
        };
        self.finish(entries);
        ask
    }

    fn limits(&mut self, table: &DeTable<'_>) -> RawLimits {
        let mut entries = Entries::new("`[limits]`", table);
        let limits = RawLimits {
            turns: self.count(&mut entries, "turns"),
            time: self.text(&mut entries, "time"),
            cost: self.amount(&mut entries, "cost"),
            failures: self.count(&mut entries, "failures"),
            errors: self.count(&mut entries, "errors"),
            backoff: self.text(&mut entries, "backoff"),
        };
        self.finish(entries);
        limits
    }
}

/// The JSON value of a TOML value; dates become texts.
fn to_json(value: &DeValue<'_>) -> Value {
    match value {
        DeValue::String(text) => Value::String(text.to_string()),
        DeValue::Integer(number) => {
            i64::from_str_radix(number.as_str(), number.radix()).map_or(Value::Null, Value::from)
        }
        DeValue::Float(number) => number.as_str().parse::<f64>().map_or(Value::Null, Value::from),
        DeValue::Boolean(value) => Value::Bool(*value),
        DeValue::Datetime(moment) => Value::String(moment.to_string()),
        DeValue::Array(items) => items.iter().map(|item| to_json(item.get_ref())).collect(),
        DeValue::Table(table) => Value::Object(
            table.iter().map(|(key, value)| (key.get_ref().to_string(), to_json(value.get_ref()))).collect(),
        ),
    }
}

//! The document as written: every key with its place, nothing resolved yet.
//!
//! Reading never stops at the first fault. Unknown keys, wrong types and missing values all become
//! diagnostics, and what can be understood is passed on.

mod reader;

use super::Document;
use crate::base::{Code, Diagnostic};
use reader::{BlockReader, Entries, to_json};
use serde_json::Value;
use std::ops::Range;
use toml::de::DeTable;

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
    let mut reader = BlockReader::new(document);
    let (table, errors) = DeTable::parse_recoverable(&document.toml);
    for error in errors {
        let span = error.span().unwrap_or(0..0);
        reader.problem(
            &span,
            Diagnostic::error(Code::WorkflowSyntax, error.message().trim().replace('\n', ", ")),
        );
    }
    let raw = reader.workflow(table.get_ref());
    (raw, reader.problems)
}

impl BlockReader<'_> {
    fn workflow(&mut self, table: &DeTable<'_>) -> RawWorkflow {
        let mut raw = RawWorkflow::default();
        let mut top = Entries::new("a workflow document", table);
        if let Some(table) = self.table(&mut top, "workflow") {
            self.head(table, &mut raw);
        }
        if let Some(table) = self.table(&mut top, "state") {
            self.state(table, &mut raw);
        }
        raw.defines = self.defines(top.take("define"));
        raw.artifacts = self.each(top.take("artifact"), "artifact", Self::artifact);
        raw.phases = self.each(top.take("phase"), "phase", Self::phase);
        raw.actions = self.each(top.take("action"), "action", Self::action);
        raw.asks = self.each(top.take("ask"), "ask", Self::ask);
        if let Some(table) = self.table(&mut top, "limits") {
            raw.limits = self.limits(table);
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

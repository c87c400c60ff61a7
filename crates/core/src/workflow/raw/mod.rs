//! The document as written: every key with its place, nothing resolved yet.
//!
//! Reading never stops at the first problem. Unknown keys, wrong types and missing values become diagnostics,
//! and everything else is passed on.

mod reader;

use super::{Document, machine};
use crate::{Spanned, TomlReader, TomlTable};
use orch_base::{Code, Diagnostic};
pub(super) use reader::{BlockReader, DocumentDialect, to_json};
use serde_json::Value;
use std::ops::Range;
use toml::de::DeTable;

pub(super) type Text = Spanned<String>;

#[derive(Debug, Default)]
pub(super) struct RawWorkflow {
    /// All that the blocks say, in one form.
    pub said: String,
    pub title: Option<Text>,
    pub initial: Option<Text>,
    pub phase_key: Option<Text>,
    pub attempts: Option<Spanned<i64>>,
    pub aliases: Vec<Text>,
    pub forgets: Vec<Text>,
    pub names: Option<Text>,
    pub state_schema: Option<Text>,
    pub defaults: Vec<(Text, Value)>,
    pub defines: Vec<(Text, Text)>,
    pub artifacts: Vec<RawArtifact>,
    pub phases: Vec<RawPhase>,
    pub rules: Vec<RawRule>,
    pub actions: Vec<RawAction>,
    pub asks: Vec<RawAsk>,
    pub deadlines: Vec<RawDeadline>,
    pub moves: Vec<(Text, Text)>,
    pub limits: RawLimits,
    pub show: Vec<Text>,
    pub keep: Vec<(Text, Spanned<i64>)>,
    pub rebuild: Vec<(Text, Text)>,
    pub import: Option<RawImport>,
}

#[derive(Debug)]
pub(super) struct RawImport {
    pub span: Range<usize>,
    pub known_by: Vec<Text>,
    pub phase: Option<Text>,
    pub defines: Vec<(Text, Text)>,
    pub data: Vec<(Text, Text)>,
}

#[derive(Debug)]
pub(super) struct RawArtifact {
    pub name: Text,
    pub paths: Vec<Text>,
    pub tree: Option<Vec<Text>>,
    pub root_paths: Option<Vec<Text>>,
    pub named_by: Option<Text>,
    pub format: Option<Text>,
    pub schema: Option<Text>,
    pub title: Option<Text>,
    pub commit: bool,
    pub judges: Vec<Text>,
    pub same_as: Option<Text>,
    pub filled: bool,
    pub new_path: Option<Text>,
    pub example: Option<Text>,
    pub complete: Option<Text>,
    pub facts: Vec<(Text, Text)>,
    pub aliases: Vec<Text>,
}

#[derive(Debug)]
pub(super) struct RawPhase {
    pub name: Text,
    pub title: Option<Text>,
    pub agent: Option<Text>,
    pub owner: Option<Text>,
    pub substate: Option<Text>,
    pub remarks: Option<Text>,
    pub needs: Vec<Text>,
    pub reads: Vec<Text>,
    pub produces: Vec<Text>,
    pub may_produce: Vec<Text>,
    pub touches: Vec<Text>,
    pub requires: Vec<Text>,
    pub not_by: Vec<Text>,
    pub verifies: Vec<Text>,
    pub undoes: Vec<Text>,
    pub independent: Option<Text>,
    pub aliases: Vec<Text>,
    pub terminal: bool,
    pub success: bool,
    pub attempts: Option<Spanned<i64>>,
    pub approvals: Option<RawApprovals>,
}

/// How many people have to approve, and of which teams.
#[derive(Debug)]
pub(super) struct RawApprovals {
    pub count: Option<Spanned<i64>>,
    pub teams: Vec<Text>,
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
    pub group: Option<Text>,
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

#[derive(Debug)]
pub(super) struct RawDeadline {
    pub name: Text,
    pub phase: Option<Text>,
    pub after: Option<Text>,
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

/// Parses the `toml orch` blocks of a document.
pub(super) fn read(document: &Document) -> (RawWorkflow, Vec<Diagnostic>) {
    let mut reader = TomlReader::new(DocumentDialect(document));
    let (table, errors) = DeTable::parse_recoverable(&document.toml);
    let finding = Diagnostic::error(Code::WorkflowSyntax, "");
    reader.report_syntax(&document.toml, errors, &finding);
    let mut raw = reader.workflow(TomlTable::new("a workflow document", table.get_ref()));
    raw.said = machine::said(table.get_ref());
    (raw, reader.findings())
}

impl BlockReader<'_> {
    fn workflow(&mut self, mut top: TomlTable<'_, '_>) -> RawWorkflow {
        let mut raw = RawWorkflow::default();
        if let Some(table) = self.table(&mut top, "workflow", "`[workflow]`") {
            self.head(table, &mut raw);
        }
        if let Some(table) = self.table(&mut top, "state", "`[state]`") {
            self.state(table, &mut raw);
        }
        raw.defines = top
            .take("define")
            .map(|value| self.defines(value))
            .unwrap_or_default();
        raw.artifacts = self.each(&mut top, "artifact", "an artifact", Self::artifact);
        raw.phases = self.each(&mut top, "phase", "a phase", Self::phase);
        raw.actions = self.each(&mut top, "action", "an action", Self::action);
        raw.asks = self.each(&mut top, "ask", "a question", Self::ask);
        raw.deadlines = self.each(&mut top, "deadline", "a deadline", Self::deadline);
        if let Some(mut table) = self.table(&mut top, "migrate", "`[migrate]`") {
            raw.moves = self.named_texts_at(&mut table, "phases");
            self.finish(table);
        }
        if let Some(table) = self.table(&mut top, "limits", "`[limits]`") {
            raw.limits = self.limits(table);
        }
        if let Some(value) = top.take("rule") {
            let tables = self.listed_tables("rule", value, "a rule").into_iter();
            raw.rules = tables.map(|table| self.rule(table)).collect();
        }
        self.finish(top);
        raw
    }

    /// Applies `read` to each table in a table of tables, such as `[phase.*]`.
    fn each<'t, 'i, T>(
        &mut self,
        top: &mut TomlTable<'t, 'i>,
        key: &'static str,
        title: &'static str,
        read: fn(&mut Self, Text, TomlTable<'t, 'i>) -> T,
    ) -> Vec<T> {
        let Some(value) = top.take(key) else {
            return Vec::new();
        };
        let mut found = Vec::new();
        for (name, value) in self.entries(key, value) {
            if let Some(table) = self.table_of(&name.value, value, title) {
                found.push(read(self, name, table));
            }
        }
        found
    }

    fn head(&mut self, mut table: TomlTable<'_, '_>, raw: &mut RawWorkflow) {
        raw.title = self.text_at(&mut table, "title");
        raw.initial = self.text_at(&mut table, "initial");
        raw.phase_key = self.text_at(&mut table, "phase_key");
        raw.attempts = self.count_at(&mut table, "attempts", 1);
        raw.show = self.texts_at(&mut table, "show");
        raw.aliases = self.texts_at(&mut table, "aliases");
        raw.forgets = self.texts_at(&mut table, "forgets");
        raw.names = self.text_at(&mut table, "names");
        self.finish(table);
    }

    fn state(&mut self, mut table: TomlTable<'_, '_>, raw: &mut RawWorkflow) {
        raw.state_schema = self.text_at(&mut table, "schema");
        if let Some(value) = table.take("defaults") {
            let entries = self.entries("defaults", value).into_iter();
            raw.defaults = entries
                .map(|(name, value)| (name, to_json(value.get_ref())))
                .collect();
        }
        if let Some(value) = table.take("keep") {
            for (pointer, value) in self.entries("keep", value) {
                raw.keep.extend(
                    self.integer(&pointer.value, value, 1..=i64::MAX)
                        .map(|count| (pointer, count)),
                );
            }
        }
        raw.rebuild = self.named_texts_at(&mut table, "rebuild");
        if let Some(value) = table.take("import") {
            let span = value.span();
            raw.import = self
                .table_of("import", value, "`[state.import]`")
                .map(|table| self.import(span, table));
        }
        self.finish(table);
    }

    fn import(&mut self, span: Range<usize>, mut table: TomlTable<'_, '_>) -> RawImport {
        let import = RawImport {
            span,
            known_by: self.texts_at(&mut table, "known_by"),
            phase: self.text_at(&mut table, "phase"),
            defines: self.named_texts_at(&mut table, "define"),
            data: self.named_texts_at(&mut table, "data"),
        };
        self.finish(table);
        import
    }

    fn artifact(&mut self, name: Text, mut table: TomlTable<'_, '_>) -> RawArtifact {
        let artifact = RawArtifact {
            paths: self.texts_at(&mut table, "path"),
            tree: self.list_at(&mut table, "tree"),
            root_paths: self.list_at(&mut table, "root_path"),
            named_by: self.text_at(&mut table, "named_by"),
            format: self.text_at(&mut table, "format"),
            schema: self.text_at(&mut table, "schema"),
            title: self.text_at(&mut table, "title"),
            commit: self.boolean(&mut table, "commit", true),
            judges: self.texts_at(&mut table, "judges"),
            same_as: self.text_at(&mut table, "same_as"),
            filled: self.boolean(&mut table, "filled", false),
            new_path: self.text_at(&mut table, "new_path"),
            example: self.text_at(&mut table, "example"),
            complete: self.text_at(&mut table, "complete"),
            facts: self.named_texts_at(&mut table, "facts"),
            aliases: self.texts_at(&mut table, "aliases"),
            name,
        };
        self.finish(table);
        artifact
    }

    fn phase(&mut self, name: Text, mut table: TomlTable<'_, '_>) -> RawPhase {
        let phase = RawPhase {
            title: self.text_at(&mut table, "title"),
            agent: self.text_at(&mut table, "agent"),
            owner: self.text_at(&mut table, "owner"),
            substate: self.text_at(&mut table, "substate"),
            remarks: self.text_at(&mut table, "remarks"),
            needs: self.texts_at(&mut table, "needs"),
            reads: self.texts_at(&mut table, "reads"),
            produces: self.texts_at(&mut table, "produces"),
            may_produce: self.texts_at(&mut table, "may_produce"),
            touches: self.texts_at(&mut table, "touches"),
            requires: self.texts_at(&mut table, "requires"),
            not_by: self.texts_at(&mut table, "not_by"),
            verifies: self.texts_at(&mut table, "verifies"),
            undoes: self.texts_at(&mut table, "undoes"),
            independent: self.text_at(&mut table, "independent"),
            aliases: self.texts_at(&mut table, "aliases"),
            terminal: self.boolean(&mut table, "terminal", false),
            success: self.boolean(&mut table, "success", true),
            attempts: self.count_at(&mut table, "attempts", 1),
            approvals: self
                .table(&mut table, "approvals", "`approvals`")
                .map(|table| self.approvals(table)),
            name,
        };
        self.finish(table);
        phase
    }

    fn approvals(&mut self, mut table: TomlTable<'_, '_>) -> RawApprovals {
        let approvals = RawApprovals {
            count: self.count_at(&mut table, "count", 1),
            teams: self.texts_at(&mut table, "teams"),
        };
        self.finish(table);
        approvals
    }

    fn rule(&mut self, rule: Spanned<TomlTable<'_, '_>>) -> RawRule {
        let Spanned {
            value: mut table,
            span,
        } = rule;
        let rule = RawRule {
            id: self.text_at(&mut table, "id"),
            from: self.texts_at(&mut table, "from"),
            when: self.text_at(&mut table, "when"),
            to: self.text_at(&mut table, "to"),
            run: self.text_at(&mut table, "run"),
            wait: self.text_at(&mut table, "wait"),
            choose: self.list_at(&mut table, "choose"),
            because: self.text_at(&mut table, "because"),
            group: self.text_at(&mut table, "group"),
            by: self.text_at(&mut table, "by"),
            on: self.text_at(&mut table, "on"),
            ask: self.text_at(&mut table, "ask"),
            set: self.named_texts_at(&mut table, "set"),
            span,
        };
        self.finish(table);
        rule
    }

    fn action(&mut self, name: Text, mut table: TomlTable<'_, '_>) -> RawAction {
        let action = RawAction {
            title: self.text_at(&mut table, "title"),
            prompt: self.text_at(&mut table, "prompt"),
            when: self.text_at(&mut table, "when"),
            ensures: self.text_at(&mut table, "ensures"),
            writes: self.texts_at(&mut table, "writes"),
            show: self.texts_at(&mut table, "show"),
            outputs: self.texts_at(&mut table, "outputs"),
            executor: self.text_at(&mut table, "executor"),
            soft: self.text_at(&mut table, "soft_timeout"),
            hard: self.text_at(&mut table, "timeout"),
            idle: self.text_at(&mut table, "idle_timeout"),
            retries: self.count_at(&mut table, "retries", 0),
            name,
        };
        self.finish(table);
        action
    }

    fn ask(&mut self, name: Text, mut table: TomlTable<'_, '_>) -> RawAsk {
        let ask = RawAsk {
            title: self.text_at(&mut table, "title"),
            writes: self.texts_at(&mut table, "writes"),
            options: self.named_texts_at(&mut table, "options"),
            default: self.named_texts_at(&mut table, "default"),
            set: self.named_texts_at(&mut table, "set"),
            name,
        };
        self.finish(table);
        ask
    }

    fn deadline(&mut self, name: Text, mut table: TomlTable<'_, '_>) -> RawDeadline {
        let deadline = RawDeadline {
            phase: self.text_at(&mut table, "phase"),
            after: self.text_at(&mut table, "after"),
            name,
        };
        self.finish(table);
        deadline
    }

    fn limits(&mut self, mut table: TomlTable<'_, '_>) -> RawLimits {
        let limits = RawLimits {
            turns: self.count_at(&mut table, "turns", 1),
            time: self.text_at(&mut table, "time"),
            cost: self.amount_at(&mut table, "cost"),
            failures: self.count_at(&mut table, "failures", 1),
            errors: self.count_at(&mut table, "errors", 1),
            backoff: self.text_at(&mut table, "backoff"),
        };
        self.finish(table);
        limits
    }
}

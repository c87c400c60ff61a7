//! Tests in a workflow document: what is given, and what the rules have to say of it.
//!
//! Fenced blocks with the info string `toml orch-test` form one TOML text of their own, so tests stand by the rules that they
//! test and are no part of the machine. Reading never stops at the first problem, and each name keeps its place, for findings
//! and for whoever renames it.

mod names;

pub use names::check_tests;

use super::raw::{BlockReader, DocumentDialect, to_json};
use super::{Document, Signal};
use crate::{Spanned, TomlReader, TomlTable};
use orch_base::{Code, Diagnostic, Digest, Place};
use serde_json::{Map, Value};
use std::ops::Range;
use toml::de::{DeTable, DeValue};

/// A test in a workflow document.
#[derive(Debug, Clone)]
pub struct DocumentTest {
    /// Its name, unique in the document.
    pub name: Spanned<String>,
    /// The heading of its table.
    pub span: Range<usize>,
    /// The place of its heading.
    pub place: Place,
    /// What is given.
    pub given: TestSetup,
    /// What the rules have to say.
    pub expect: TestExpectation,
}

/// What is given in a test: a record, files, and what else guards see.
#[derive(Debug, Clone, Default)]
pub struct TestSetup {
    /// The phase that the record names; `None`: the initial one, and nothing is recorded.
    pub phase: Option<Spanned<String>>,
    /// The number of the attempt at that phase.
    pub attempt: Option<u32>,
    /// The files of the task.
    pub files: Vec<GivenFile>,
    /// What was there in place of them when the earlier phases were left.
    pub before: Vec<GivenFile>,
    /// Artifacts whose present content is used up.
    pub used_up: Vec<Spanned<String>>,
    /// Artifacts whose absence a person has accepted.
    pub waived: Vec<Spanned<String>>,
    /// Members of the state that the workflow owns.
    pub state: Map<String, Value>,
    /// What the run has done so far.
    pub run: GivenRun,
    /// What became of each verification.
    pub verified: Vec<(Spanned<String>, Spanned<String>)>,
    /// The committed code, if the test is about some.
    pub code: Option<GivenCode>,
    /// The tasks that are parts of this one.
    pub children: Vec<GivenTask>,
    /// The tasks that this one waits for.
    pub after: Vec<GivenTask>,
    /// The people who approved in the present phase, each with a name.
    pub approved: Vec<Spanned<String>>,
    /// The people who rejected in the present phase, each with a name.
    pub rejected: Vec<Spanned<String>>,
    /// The deadlines that have passed in the present attempt.
    pub lapsed: Vec<Spanned<String>>,
    /// What a person orders of a run, to which rules with `on` respond.
    pub on: Option<Signal>,
}

/// A file that is given.
#[derive(Debug, Clone)]
pub struct GivenFile {
    /// The name of an artifact, or a path below the directory of the task.
    pub of: Spanned<String>,
    /// What it holds.
    pub content: GivenContent,
}

/// What a given file holds.
#[derive(Debug, Clone, PartialEq)]
pub enum GivenContent {
    /// There is no such file.
    Absent,
    /// What its schema shows as an example.
    Filled,
    /// These bytes.
    Text(String),
    /// This value, written in the format of the artifact. Where an artifact is named and not a path, the members of a table
    /// take the place of those of the example.
    Data(Value),
}

/// What a run has done so far.
#[derive(Debug, Clone, Default)]
pub struct GivenRun {
    /// `interactive` or `auto`.
    pub mode: Option<Spanned<String>>,
    /// How many actions were given up.
    pub errors: u32,
    /// The action that a person has picked.
    pub chosen: Option<Spanned<String>>,
    /// How often the result of an action was accepted.
    pub done: Vec<(Spanned<String>, u32)>,
    /// Actions that are given up until the next phase.
    pub skipped: Vec<Spanned<String>>,
}

/// Committed code.
#[derive(Debug, Clone, PartialEq)]
pub struct GivenCode {
    /// The files that its commits change.
    pub files: Vec<String>,
    /// Whether a commit since the last step names the task.
    pub is_own: bool,
}

impl GivenCode {
    /// What tells one code from another one.
    #[must_use]
    pub fn digest(&self) -> Digest {
        Digest::of_blob(self.files.join("\n").as_bytes())
    }
}

/// Another task.
#[derive(Debug, Clone)]
pub struct GivenTask {
    /// Its id.
    pub id: Spanned<String>,
    /// Whether it has ended well.
    pub done: bool,
    /// Whether it has ended otherwise.
    pub failed: bool,
}

/// What the rules have to say. What is not named may be anything.
#[derive(Debug, Clone, Default)]
pub struct TestExpectation {
    /// The phase to which the rules lead, or else the one in which the task is.
    pub phase: Option<Spanned<String>>,
    /// The rule that decides.
    pub rule: Option<Spanned<String>>,
    /// A part of the reason.
    pub reason: Option<Spanned<String>>,
    /// Who has to act.
    pub who: Option<Spanned<String>>,
    /// What the decision is.
    pub outcome: Option<Spanned<String>>,
    /// Codes of findings that there are.
    pub findings: Vec<Spanned<String>>,
}

impl TestExpectation {
    /// Whether anything will do.
    fn is_nothing(&self) -> bool {
        let words = [
            &self.phase,
            &self.rule,
            &self.reason,
            &self.who,
            &self.outcome,
        ];
        words.iter().all(|word| word.is_none()) && self.findings.is_empty()
    }
}

/// The tests of a document, and what is wrong with how they are written. None of it keeps the machine from deciding, so all
/// of it is a warning.
#[must_use]
pub fn document_tests(document: &Document) -> (Vec<DocumentTest>, Vec<Diagnostic>) {
    let mut reader = TomlReader::new(DocumentDialect(document));
    let (table, errors) = DeTable::parse_recoverable(&document.tests);
    let hint = "all `toml orch-test` blocks of a document form one TOML text; each test begins with `[[test]]`";
    let finding = Diagnostic::error(Code::WorkflowSyntax, "").hint(hint);
    reader.report_syntax(&document.tests, errors, &finding);
    let mut top = TomlTable::new("a block of tests", table.get_ref());
    reader.unreachable(&mut top);
    let tables = match top.take("test") {
        Some(value) => reader.listed_tables("test", value, "a test"),
        None => Vec::new(),
    };
    reader.finish(top);
    let mut tests: Vec<DocumentTest> = Vec::new();
    for table in tables {
        let Some(test) = reader.document_test(document, table) else {
            continue;
        };
        if tests.iter().any(|one| one.name.value == test.name.value) {
            let message = format!("there is another test named `{}`", test.name.value);
            let finding = Diagnostic::error(Code::WorkflowDuplicate, message);
            reader.report(test.name.span.clone(), finding);
        }
        tests.push(test);
    }
    let findings = reader.findings().into_iter().map(as_warning).collect();
    (tests, findings)
}

/// The rules of which the document says that no case reaches them, each with the reason.
#[must_use]
pub fn unreachable_rules(document: &Document) -> Vec<(Spanned<String>, Spanned<String>)> {
    let mut reader = TomlReader::new(DocumentDialect(document));
    let (table, _) = DeTable::parse_recoverable(&document.tests);
    let mut top = TomlTable::new("a block of tests", table.get_ref());
    reader.unreachable(&mut top)
}

/// A finding about a test leaves the machine usable.
fn as_warning(finding: Diagnostic) -> Diagnostic {
    let warning = Diagnostic::warning(finding.code, finding.message.clone());
    Diagnostic {
        severity: warning.severity,
        ..finding
    }
}

impl BlockReader<'_> {
    fn unreachable(
        &mut self,
        top: &mut TomlTable<'_, '_>,
    ) -> Vec<(Spanned<String>, Spanned<String>)> {
        self.named_texts_at(top, "unreachable")
    }

    fn document_test(
        &mut self,
        document: &Document,
        table: Spanned<TomlTable<'_, '_>>,
    ) -> Option<DocumentTest> {
        let Spanned {
            value: mut table,
            span,
        } = table;
        let name = self.text_at(&mut table, "name");
        let setup = TestSetup {
            phase: self.text_at(&mut table, "phase"),
            attempt: self.number_at(&mut table, "attempt"),
            files: self.given_files(&mut table, "given"),
            before: self.given_files(&mut table, "before"),
            used_up: self.texts_at(&mut table, "used_up"),
            waived: self.texts_at(&mut table, "waived"),
            state: self.given_state(&mut table),
            run: self.given_run(&mut table),
            verified: self.named_texts_at(&mut table, "verified"),
            code: self.given_code(&mut table),
            children: self.given_tasks(&mut table, "children"),
            after: self.given_tasks(&mut table, "after"),
            approved: self.texts_at(&mut table, "approved"),
            rejected: self.texts_at(&mut table, "rejected"),
            lapsed: self.texts_at(&mut table, "lapsed"),
            on: self.given_signal(&mut table),
        };
        let expect = self
            .table(&mut table, "expect", "`expect`")
            .map(|expected| self.expectation(expected))
            .unwrap_or_default();
        if expect.is_nothing() {
            let finding = Diagnostic::error(Code::WorkflowMissingKey, "the test expects nothing");
            let hint = "for example `expect = { rule = \"ID\", phase = \"NAME\" }`";
            self.report(span.clone(), finding.hint(hint));
        }
        self.finish(table);
        let Some(name) = name else {
            let finding = Diagnostic::error(Code::WorkflowMissingKey, "a test needs a `name`");
            let hint =
                "say in a few words what the test is about: `name = \"a draft moves nothing\"`";
            self.report(span, finding.hint(hint));
            return None;
        };
        Some(DocumentTest {
            place: document.place(span.start, span.len().min("[[test]]".len())),
            name,
            span,
            given: setup,
            expect,
        })
    }

    fn number_at(&mut self, table: &mut TomlTable<'_, '_>, key: &'static str) -> Option<u32> {
        let count = self.count_at(table, key, 0)?;
        u32::try_from(count.value).ok()
    }

    fn given_files(&mut self, table: &mut TomlTable<'_, '_>, key: &'static str) -> Vec<GivenFile> {
        let Some(value) = table.take(key) else {
            return Vec::new();
        };
        let mut found = Vec::new();
        for (of, value) in self.entries(key, value) {
            let content = match value.get_ref() {
                DeValue::Boolean(true) => GivenContent::Filled,
                DeValue::Boolean(false) => GivenContent::Absent,
                DeValue::String(text) => GivenContent::Text(text.to_string()),
                data @ (DeValue::Table(_) | DeValue::Array(_)) => GivenContent::Data(to_json(data)),
                _ => {
                    let message = format!(
                        "`{}` says neither what the file holds nor that there is none",
                        of.value
                    );
                    let finding = Diagnostic::error(Code::WorkflowValue, message);
                    let hint = "write `true` for what its schema shows as an example, `false` for no file, a text, or a table";
                    self.report(value.span(), finding.hint(hint));
                    continue;
                }
            };
            found.push(GivenFile { of, content });
        }
        found
    }

    fn given_state(&mut self, table: &mut TomlTable<'_, '_>) -> Map<String, Value> {
        let Some(value) = table.take("state") else {
            return Map::new();
        };
        let mut found = Map::new();
        for (key, value) in self.entries("state", value) {
            found.insert(key.value, to_json(value.get_ref()));
        }
        found
    }

    fn given_run(&mut self, table: &mut TomlTable<'_, '_>) -> GivenRun {
        let Some(mut table) = self.table(table, "run", "`run`") else {
            return GivenRun::default();
        };
        let mut done = Vec::new();
        if let Some(value) = table.take("done") {
            for (action, value) in self.entries("done", value) {
                let count = self.integer(&action.value, value, 0..=i64::from(u32::MAX));
                let count = count.and_then(|count| u32::try_from(count.value).ok());
                done.extend(count.map(|count| (action, count)));
            }
        }
        let run = GivenRun {
            mode: self.text_at(&mut table, "mode"),
            errors: self.number_at(&mut table, "errors").unwrap_or_default(),
            chosen: self.text_at(&mut table, "chosen"),
            done,
            skipped: self.texts_at(&mut table, "skipped"),
        };
        self.finish(table);
        run
    }

    fn given_code(&mut self, table: &mut TomlTable<'_, '_>) -> Option<GivenCode> {
        let mut table = self.table(table, "code", "`code`")?;
        let files = self.texts_at(&mut table, "files");
        let code = GivenCode {
            files: files.into_iter().map(|file| file.value).collect(),
            is_own: self.boolean(&mut table, "own", true),
        };
        self.finish(table);
        Some(code)
    }

    fn given_tasks(&mut self, table: &mut TomlTable<'_, '_>, key: &'static str) -> Vec<GivenTask> {
        let Some(value) = table.take(key) else {
            return Vec::new();
        };
        let mut found = Vec::new();
        for (id, value) in self.entries(key, value) {
            let Some(word) = self.text(&id.value, value) else {
                continue;
            };
            let (done, failed) = match word.value.as_str() {
                "done" => (true, false),
                "failed" => (false, true),
                "open" => (false, false),
                _ => {
                    let message = format!("a task cannot be `{}`", word.value);
                    let finding = Diagnostic::error(Code::WorkflowValue, message);
                    self.report(word.span, finding.hint("write `open`, `done` or `failed`"));
                    continue;
                }
            };
            found.push(GivenTask { id, done, failed });
        }
        found
    }

    fn given_signal(&mut self, table: &mut TomlTable<'_, '_>) -> Option<Signal> {
        let word = self.text_at(table, "on")?;
        let signal = Signal::named(&word.value);
        if signal.is_none() {
            let message = format!("there is no control request `{}`", word.value);
            let known = Signal::ALL.map(Signal::as_str).join(", ");
            let finding = Diagnostic::error(Code::WorkflowValue, message);
            self.report(word.span, finding.hint(format!("the requests are {known}")));
        }
        signal
    }

    fn expectation(&mut self, mut table: TomlTable<'_, '_>) -> TestExpectation {
        let expected = TestExpectation {
            phase: self.text_at(&mut table, "phase"),
            rule: self.text_at(&mut table, "rule"),
            reason: self.text_at(&mut table, "reason"),
            who: self.text_at(&mut table, "who"),
            outcome: self.text_at(&mut table, "outcome"),
            findings: self.texts_at(&mut table, "findings"),
        };
        self.finish(table);
        expected
    }
}

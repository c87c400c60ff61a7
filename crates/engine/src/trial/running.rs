//! Runs the tests of a document.

use super::TrialFiles;
use orch_base::{ArtifactName, Code, Diagnostic, PhaseId, RuleId};
use orch_core::decide::Truth;
use orch_core::trial::{Edge, PlacedTask, RuleCoverage, TestMismatch, TrialVerdict, judge, place};
use orch_core::workflow::{
    Document, DocumentTest, GivenCode, GivenContent, TestSetup, Workflow, arrows, check_tests,
    document_tests, unreachable_rules,
};
use orch_read::Schemas;
use std::cell::RefCell;
use std::collections::BTreeMap;

/// A workflow with its document, to be tried.
pub struct TrialWorkflow<'a> {
    /// The document.
    pub document: &'a Document,
    /// The workflow.
    pub workflow: &'a Workflow,
    /// The files of its tasks.
    pub files: TrialFiles<'a>,
    /// What may stand in files of an artifact, by what stands there now.
    pub(super) contents: RefCell<BTreeMap<(ArtifactName, String), Vec<GivenContent>>>,
}

/// What came of the tests of a document.
#[derive(Debug, Default)]
pub struct TestRun {
    /// How many there are.
    pub count: usize,
    /// How many passed.
    pub passed: usize,
    /// What is not as they expect, and what is wrong with how they are written.
    pub findings: Vec<Diagnostic>,
    /// What those that passed have seen.
    pub coverage: RuleCoverage,
    /// The rules that no case reaches, with the reason that the document gives; those that a test has reached all the same are
    /// left out.
    pub unreachable: Vec<(String, String)>,
}

impl TestRun {
    /// The rules and the edges of a workflow that are not covered, without those that no case reaches.
    #[must_use]
    pub fn open(&self, workflow: &Workflow) -> (Vec<RuleId>, Vec<Edge>) {
        let (mut rules, mut edges) = self.coverage.missing(workflow);
        let is_unreachable = |id: &str| self.unreachable.iter().any(|(rule, _)| rule == id);
        rules.retain(|rule| !is_unreachable(rule.as_str()));
        let arrows = arrows(workflow);
        edges.retain(|edge| {
            let mut same = arrows
                .iter()
                .filter(|(from, to, _)| **from == edge.from && **to == edge.to);
            !same.all(|(_, _, rules)| rules.iter().all(|rule| is_unreachable(rule)))
        });
        (rules, edges)
    }
}

impl<'a> TrialWorkflow<'a> {
    /// A workflow to be tried.
    #[must_use]
    pub fn of(document: &'a Document, workflow: &'a Workflow, schemas: &'a Schemas) -> Self {
        Self {
            document,
            workflow,
            files: TrialFiles::of(workflow, schemas),
            contents: RefCell::default(),
        }
    }

    /// The task that a test describes.
    #[must_use]
    pub fn placed(&self, setup: &TestSetup) -> PlacedTask {
        let (now, before) = self.files.bytes(setup);
        let code = setup.code.as_ref();
        // Code that was there before is no change.
        let earlier = code.map(|_| GivenCode {
            files: Vec::new(),
            is_own: false,
        });
        let now = self.files.facts(&now, code);
        let before = self.files.facts(&before, earlier.as_ref());
        place(self.workflow, setup, &before, now)
    }

    /// What the rules say of the task that a test describes.
    #[must_use]
    pub fn verdict(&self, setup: &TestSetup) -> TrialVerdict {
        judge(self.workflow, &self.placed(setup), setup.on)
    }

    /// Runs all tests of the document.
    #[must_use]
    pub fn run(&self) -> TestRun {
        let (tests, _) = document_tests(self.document);
        let mut run = TestRun {
            count: tests.len(),
            findings: check_tests(self.document, self.workflow),
            ..TestRun::default()
        };
        for test in &tests {
            self.run_one(test, &mut run);
        }
        for (rule, why) in unreachable_rules(self.document) {
            let mut seen = run.coverage.rules.iter();
            if seen.all(|seen| seen.as_str() != rule.value) {
                run.unreachable.push((rule.value, why.value));
            }
        }
        run.findings = Diagnostic::in_order(run.findings);
        run
    }

    fn run_one(&self, test: &DocumentTest, run: &mut TestRun) {
        let refused = self.files.refused_state(&test.given);
        if let Some(first) = refused.first() {
            let message = format!(
                "test `{}`: the schema of the state refuses what is given at {first}",
                test.name.value
            );
            let finding = Diagnostic::warning(Code::WorkflowTestFailed, message);
            let hint = "give a state that a task can have";
            run.findings.push(finding.at(test.place.clone()).hint(hint));
        }
        let verdict = self.verdict(&test.given);
        let mismatches = verdict.mismatches(test);
        if mismatches.is_empty() && refused.is_empty() {
            run.passed += 1;
            note(&verdict, &mut run.coverage);
        }
        for mismatch in mismatches {
            run.findings.push(self.finding(test, &verdict, &mismatch));
        }
    }

    fn finding(
        &self,
        test: &DocumentTest,
        verdict: &TrialVerdict,
        mismatch: &TestMismatch<'_>,
    ) -> Diagnostic {
        let TestMismatch {
            expected,
            about,
            seen,
        } = mismatch;
        let message = format!(
            "test `{}`: {about} should be `{}`, and is `{seen}`: {}",
            test.name.value,
            expected.value,
            verdict.reason()
        );
        let place = self.document.place_of(&expected.span);
        let finding = Diagnostic::warning(Code::WorkflowTestFailed, message).at(place);
        match self.why(verdict, mismatch) {
            Some(why) => finding.hint(why),
            None => finding.hint("change the rule or the test"),
        }
    }

    /// Why an expected rule did not decide.
    fn why(&self, verdict: &TrialVerdict, mismatch: &TestMismatch<'_>) -> Option<String> {
        if mismatch.about != "rule" {
            return None;
        }
        let expected = &mismatch.expected.value;
        let rule = self
            .workflow
            .rules
            .iter()
            .find(|rule| rule.id.as_str() == expected)?;
        let line = rule.place.line.unwrap_or_default();
        let phase = verdict
            .decision
            .phase
            .as_ref()
            .map_or("none", PhaseId::as_str);
        let Some(tried) = verdict.tried(expected) else {
            return Some(format!(
                "rule `{expected}` on line {line} does not apply to phase `{phase}`"
            ));
        };
        if tried.result == Truth::NotTried {
            return Some(format!(
                "`{}` stands before `{expected}` on line {line}, and decides",
                mismatch.seen
            ));
        }
        let mut open = tried.parts.iter().filter(|part| part.result != Truth::True);
        // The innermost part says most.
        let part = open.next_back()?;
        let mut saw = Vec::new();
        for (name, value) in &part.saw {
            let value = value
                .as_ref()
                .map_or("missing".to_owned(), ToString::to_string);
            saw.push(format!("{name} = {value}"));
        }
        let result = match &part.result {
            Truth::Error(why) => format!("cannot be evaluated: {why}"),
            _ => "is false".to_owned(),
        };
        Some(format!(
            "in rule `{expected}` on line {line}, `{}` {result} ({})",
            part.text.replace('\n', " "),
            saw.join(", ")
        ))
    }
}

/// Notes what a verdict shows of the rules.
pub(super) fn note(verdict: &TrialVerdict, coverage: &mut RuleCoverage) {
    let is_decided = !matches!(
        verdict.decision.verdict,
        orch_core::decide::Verdict::Error { .. } | orch_core::decide::Verdict::Inconsistent { .. }
    );
    if let (Some(rule), Some(from)) = (verdict.rule(), &verdict.decision.phase)
        && (is_decided || verdict.signalled.is_some())
    {
        coverage.note(rule, from, verdict.target());
    }
}

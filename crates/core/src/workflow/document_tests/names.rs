//! The names that the tests of a document use.

use super::{DocumentTest, GivenFile, as_warning, document_tests, unreachable_rules};
use crate::Spanned;
use crate::workflow::{Document, Owner, Workflow};
use orch_base::{Code, Diagnostic, PhaseId, nearest};
use std::collections::BTreeSet;

/// What a decision can be, as `expect.outcome` names it.
const OUTCOMES: [&str; 9] = [
    "transition",
    "run",
    "wait",
    "choose",
    "done",
    "inconsistent",
    "error",
    "livelock",
    "stalled",
];
/// What can have become of a verification.
const VERIFIED_WORDS: [&str; 4] = ["passed", "failed", "known", "missing"];
/// How a run treats people.
const MODES: [&str; 2] = ["interactive", "auto"];

/// What is wrong with the tests of a document: how they are written, and the names that they use. All of it is a warning.
#[must_use]
pub fn check_tests(document: &Document, workflow: &Workflow) -> Vec<Diagnostic> {
    let (tests, mut findings) = document_tests(document);
    let mut checking = TestNameCheck {
        document,
        workflow,
        files: BTreeSet::new(),
        findings: Vec::new(),
    };
    for test in &tests {
        checking.test(test);
    }
    let rules: Vec<&str> = workflow.rules.iter().map(|one| one.id.as_str()).collect();
    for (rule, _) in unreachable_rules(document) {
        checking.known(&rule, Code::WorkflowUnknownRule, "rule", &rules);
    }
    findings.extend(checking.findings.into_iter().map(as_warning));
    Diagnostic::in_order(findings)
}

/// Looks for names that the workflow does not have.
struct TestNameCheck<'a> {
    document: &'a Document,
    workflow: &'a Workflow,
    /// The paths that are known to be those of artifacts.
    files: BTreeSet<String>,
    findings: Vec<Diagnostic>,
}

impl<'a> TestNameCheck<'a> {
    fn test(&mut self, test: &DocumentTest) {
        let workflow = self.workflow;
        let phases: Vec<&str> = workflow.phases.iter().map(|one| one.id.as_str()).collect();
        let rules: Vec<&str> = workflow.rules.iter().map(|one| one.id.as_str()).collect();
        let actions: Vec<&str> = workflow
            .actions
            .iter()
            .map(|one| one.name.as_str())
            .collect();
        let artifacts: Vec<&str> = workflow
            .artifacts
            .iter()
            .map(|one| one.name.as_str())
            .collect();
        let given = &test.given;
        let expect = &test.expect;
        for phase in given.phase.iter().chain(&expect.phase) {
            self.known(phase, Code::WorkflowUnknownPhase, "phase", &phases);
        }
        if let Some(rule) = &expect.rule {
            self.known(rule, Code::WorkflowUnknownRule, "rule", &rules);
        }
        for artifact in given.used_up.iter().chain(&given.waived) {
            self.known(
                artifact,
                Code::WorkflowUnknownArtifact,
                "artifact",
                &artifacts,
            );
        }
        for file in given.files.iter().chain(&given.before) {
            self.file(file, &artifacts);
        }
        self.people(&given.approved, &given.rejected);
        for deadline in &given.lapsed {
            self.deadline(deadline, given.phase.as_ref());
        }
        for person in given.approved.iter().chain(&given.rejected) {
            self.person(person, given.phase.as_ref());
        }
        let run = &given.run;
        let done = run.done.iter().map(|(action, _)| action);
        for action in run.chosen.iter().chain(done).chain(&run.skipped) {
            self.known(action, Code::WorkflowUnknownAction, "action", &actions);
        }
        if let Some(mode) = &run.mode {
            self.known(mode, Code::WorkflowValue, "mode of a run", &MODES);
        }
        for (_, became) in &given.verified {
            self.known(
                became,
                Code::WorkflowValue,
                "result of a verification",
                &VERIFIED_WORDS,
            );
        }
        if let Some(who) = &expect.who {
            self.known(
                who,
                Code::WorkflowValue,
                "actor",
                &Owner::ALL.map(Owner::as_str),
            );
        }
        if let Some(outcome) = &expect.outcome {
            self.known(outcome, Code::WorkflowValue, "outcome", &OUTCOMES);
        }
        for code in &expect.findings {
            let known: Vec<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
            if !known.contains(&code.value.as_str()) {
                let message = format!("there is no finding `{}`", code.value);
                let finding = Diagnostic::error(Code::WorkflowValue, message);
                let hint = match nearest(&code.value, known) {
                    Some(near) => format!("did you mean `{near}`?"),
                    None => "the codes are in docs/codes.md".to_owned(),
                };
                self.report(code, finding.hint(hint));
            }
        }
    }

    /// A file is that of an artifact, by its name or by its path.
    fn file(&mut self, file: &GivenFile, artifacts: &[&str]) {
        let name = file.of.value.as_str();
        // Most tests are about the same files.
        if artifacts.contains(&name) || self.files.contains(name) {
            return;
        }
        let mut all = self.workflow.artifacts.iter();
        if all.any(|artifact| artifact.pattern_of(name).is_some()) {
            self.files.insert(name.to_owned());
            return;
        }
        if name.contains(['/', '.']) {
            let message = format!("no artifact has a file `{name}`");
            let finding = Diagnostic::error(Code::WorkflowUnknownArtifact, message);
            let hint = "the paths of artifacts are below the directory of the task";
            self.report(&file.of, finding.hint(hint));
        } else {
            self.known(
                &file.of,
                Code::WorkflowUnknownArtifact,
                "artifact",
                artifacts,
            );
        }
    }

    /// Each person says one thing, once.
    fn people(&mut self, approved: &[Spanned<String>], rejected: &[Spanned<String>]) {
        let mut named: Vec<&str> = Vec::new();
        for person in approved.iter().chain(rejected) {
            let name = person.value.as_str();
            if named.iter().any(|known| known.eq_ignore_ascii_case(name)) {
                let message = format!("`{name}` is named twice");
                let finding = Diagnostic::error(Code::WorkflowDuplicate, message);
                let hint = "one person counts once, by what was said last";
                self.report(person, finding.hint(hint));
            }
            named.push(name);
        }
    }

    /// A deadline passes only while the task is in its phase.
    fn deadline(&mut self, name: &Spanned<String>, phase: Option<&Spanned<String>>) {
        let workflow = self.workflow;
        let Some(deadline) = workflow.deadline(&name.value) else {
            let all = workflow.deadlines.iter();
            let known: Vec<&str> = all.map(|one| one.name.as_str()).collect();
            self.known(name, Code::WorkflowValue, "deadline", &known);
            return;
        };
        let phase = self.phase(phase);
        if *phase != deadline.phase {
            let message = format!(
                "the deadline `{}` is none of the phase `{phase}`",
                name.value
            );
            let finding = Diagnostic::error(Code::WorkflowValue, message);
            let hint = format!("it passes in the phase `{}`", deadline.phase);
            self.report(name, finding.hint(hint));
        }
    }

    /// A person approves or rejects only where the phase asks for it.
    fn person(&mut self, person: &Spanned<String>, phase: Option<&Spanned<String>>) {
        let phase = self.phase(phase);
        let asks = self
            .workflow
            .phase(phase)
            .and_then(|phase| phase.approvals.as_ref());
        if asks.is_none() {
            let message = format!("phase `{phase}` asks nobody for an approval");
            let finding = Diagnostic::error(Code::WorkflowValue, message);
            let hint =
                format!("set `approvals` of `[phase.{phase}]`, or give the verdict as a file");
            self.report(person, finding.hint(hint));
        }
    }

    /// The phase in which a test begins.
    fn phase(&self, named: Option<&Spanned<String>>) -> &'a PhaseId {
        let named = named.and_then(|phase| self.workflow.phase_named(&phase.value));
        named.map_or(&self.workflow.initial, |phase| &phase.id)
    }

    fn known(&mut self, name: &Spanned<String>, code: Code, what: &str, known: &[&str]) {
        if known.contains(&name.value.as_str()) {
            return;
        }
        let finding = Diagnostic::error(code, format!("there is no {what} `{}`", name.value));
        let hint = match nearest(&name.value, known.iter().copied()) {
            Some(near) => format!("did you mean `{near}`?"),
            None if known.is_empty() => "the workflow has none".to_owned(),
            None => format!("there are: {}", known.join(", ")),
        };
        self.report(name, finding.hint(hint));
    }

    fn report(&mut self, at: &Spanned<String>, finding: Diagnostic) {
        let place = self.document.place(at.span.start, at.span.len());
        self.findings.push(finding.at(place));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workflow::document_tests::GivenContent;
    use crate::workflow::{System, compile};
    use orch_base::Severity;
    use serde_json::json;

    const MACHINE: &str = "# w\n\n```toml orch\n[artifact.note]\npath = \"notes/*.json\"\n[phase.write]\nproduces = [\"note\"]\n\
        [phase.end]\nterminal = true\n[deadline.write]\nafter = \"2h\"\n[[rule]]\nid = \"ready\"\nfrom = \"write\"\nwhen = \"note.ready\"\nto = \"end\"\n\
        because = \"it is there\"\n```\n\n";

    /// The tests of a document with this machine, and what is wrong with them: line, code, message and hint.
    fn read(tests: &str) -> (Vec<DocumentTest>, Vec<String>) {
        let text = format!("{MACHINE}```toml orch-test\n{tests}\n```\n");
        let document = Document::new("w", "w.md", text);
        let (workflow, problems) = compile(&document, &System::empty());
        let workflow = workflow.unwrap_or_else(|| panic!("{problems:#?}"));
        let findings = check_tests(&document, &workflow);
        let mut lines = Vec::new();
        for finding in &findings {
            assert_eq!(finding.severity, Severity::Warning);
            let line = finding.place.as_ref().and_then(|place| place.line);
            let hint = finding.hint.clone().unwrap_or_default();
            lines.push(format!(
                "{} {}: {} ({hint})",
                line.unwrap_or_default(),
                finding.code.as_str(),
                finding.message
            ));
        }
        (document_tests(&document).0, lines)
    }

    #[test]
    fn a_test_says_what_is_given_and_what_is_expected() {
        let (tests, findings) = read(
            "[[test]]\nname = \"a note ends it\"\nphase = \"write\"\ngiven.note = { ok = true }\n\
             given.\"notes/b.json\" = \"{}\"\nbefore.note = false\nchildren.a = \"done\"\n\
             expect = { rule = \"ready\", phase = \"end\", who = \"orch\" }",
        );
        assert_eq!(findings, Vec::<String>::new());
        let test = &tests[0];
        let contents: Vec<_> = test.given.files.iter().map(|file| &file.content).collect();
        assert_eq!(
            contents,
            [
                &GivenContent::Data(json!({"ok": true})),
                &GivenContent::Text("{}".to_owned())
            ]
        );
        assert_eq!(test.given.before[0].content, GivenContent::Absent);
        assert!(test.given.children[0].done);
        assert_eq!(
            test.expect.rule.as_ref().map(|rule| rule.value.as_str()),
            Some("ready")
        );
        let line = MACHINE.lines().count() + 2;
        assert_eq!(test.place.line, u32::try_from(line).ok());
    }

    #[test]
    fn a_person_is_named_once() {
        for (people, twice) in [
            ("approved = ['ann', 'bob']\nrejected = ['cem']", 0),
            ("approved = ['ann', 'bob']\nrejected = ['Ann']", 1),
            ("approved = ['ann', 'ann']", 1),
        ] {
            let test = format!("[[test]]\nname = \"x\"\n{people}\nexpect = {{ who = \"agent\" }}");
            let mut findings = read(&test).1;
            findings.retain(|finding| finding.contains("workflow-duplicate"));
            assert_eq!(findings.len(), twice, "{people}: {findings:?}");
        }
    }

    #[test]
    fn faults_have_a_place_and_a_hint() {
        let line = MACHINE.lines().count() + 2;
        let named = "[[test]]\nname = \"x\"\n";
        for (rest, down, expected) in [
            (
                "expct = {}\nexpect = { who = \"agent\" }",
                2,
                "workflow-unknown-key: a test has no key `expct` (did you mean `expect`?)",
            ),
            (
                "phase = \"writ\"\nexpect = { who = \"agent\" }",
                2,
                "workflow-unknown-phase: there is no phase `writ` (did you mean `write`?)",
            ),
            (
                "expect = { rule = \"redy\" }",
                2,
                "workflow-unknown-rule: there is no rule `redy` (did you mean `ready`?)",
            ),
            (
                "given.nots = true\nexpect = { who = \"agent\" }",
                2,
                "workflow-unknown-artifact: there is no artifact `nots` (did you mean `note`?)",
            ),
            (
                "given.\"a/b.json\" = true\nexpect = { who = \"agent\" }",
                2,
                "workflow-unknown-artifact: no artifact has a file `a/b.json` (the paths of artifacts are below the directory of the task)",
            ),
            (
                "given.note = 1\nexpect = { who = \"agent\" }",
                2,
                "workflow-value: `note` says neither what the file holds nor that there is none (write `true` for what its schema shows as an example, `false` for no file, a text, or a table)",
            ),
            (
                "expect = { who = \"hman\" }",
                2,
                "workflow-value: there is no actor `hman` (did you mean `human`?)",
            ),
            (
                "expect = { findings = [\"json-sintax\"] }",
                2,
                "workflow-value: there is no finding `json-sintax` (did you mean `json-syntax`?)",
            ),
            (
                "lapsed = [\"writ\"]\nexpect = { who = \"agent\" }",
                2,
                "workflow-value: there is no deadline `writ` (did you mean `write`?)",
            ),
            (
                "phase = \"end\"\nlapsed = [\"write\"]\nexpect = { who = \"agent\" }",
                3,
                "workflow-value: the deadline `write` is none of the phase `end` (it passes in the phase `write`)",
            ),
            (
                "on = \"begin\"\nexpect = { who = \"agent\" }",
                2,
                "workflow-value: there is no control request `begin` (the requests are start, pause, resume, stop)",
            ),
            (
                "phase = \"write\"",
                0,
                "workflow-missing-key: the test expects nothing (for example `expect = { rule = \"ID\", phase = \"NAME\" }`)",
            ),
        ] {
            let (_, findings) = read(&format!("{named}{rest}"));
            assert_eq!(findings, [format!("{} {expected}", line + down)], "{rest}");
        }
        let (tests, findings) = read(
            "[[test]]\nexpect = { who = \"agent\" }\n[[test]]\nname = \"x\"\nexpect = { who = \"agent\" }\n[[test]]\nname = \"x\"\nexpect = { who = \"agent\" }",
        );
        assert_eq!(tests.len(), 2);
        assert_eq!(findings.len(), 2, "{findings:#?}");
        let (_, findings) = read("[[test]\nname = 1");
        assert!(findings[0].contains("workflow-syntax"), "{findings:#?}");
    }

    #[test]
    fn a_test_is_no_part_of_the_machine() {
        let without = Document::new("w", "w.md", MACHINE);
        let tested =
            format!("{MACHINE}```toml orch-test\n[[test]]\nname = \"x\"\nexpect = {{}}\n```\n");
        let tested = Document::new("w", "w.md", tested);
        assert_eq!(tested.blocks().trim_end(), without.blocks().trim_end());
    }
}

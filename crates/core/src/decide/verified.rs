//! The results of verifications: whether they are there, about the present code, and what a task waits for.
//!
//! A phase says which verifications it wants, and the settings of the project define them. `orch` runs those, records an
//! event and a file for each, and here both are held against what is there now. A name that the settings do not define asks
//! for nothing.

use super::evaluation::Evaluation;
use super::state::Verified;
use super::{
    Decision, Evidence, HistoryEntry, RequireVerified, ResultFile, VerifiedFact, WantedCode,
};
use crate::verification::{
    FailedTest, PatchedCode, RULES, VerificationResult, VerifiedCode, VerifiedOutcome, result_path,
};
use crate::workflow::{Format, Outcome, Owner, Phase, Rule, VERIFIED};
use orch_base::{ArtifactName, Code, Diagnostic, Digest, Hint, VerificationName, command};
use serde_json::{Value, json};
use std::collections::BTreeMap;

/// A verification that has to run before a rule leads on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DueVerification {
    /// Its name.
    pub name: VerificationName,
    /// The code that it has to judge.
    pub code: VerifiedCode,
    /// The digest of its table.
    pub table: Digest,
    /// Why its last result does not suffice, as what follows its name in a sentence.
    pub because: String,
    /// Whether it has had a result.
    pub was_run: bool,
    /// What became of an attempt on this code that left no result, in this clone.
    pub attempt: Option<VerificationAttempt>,
}

impl DueVerification {
    /// The path of the file with its result, below the directory of the task.
    #[must_use]
    pub fn path(&self) -> String {
        result_path(&self.name)
    }
}

/// What became of an attempt of a verification that left no result.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum VerificationAttempt {
    /// A process runs it.
    Running,
    /// It could not run; why, in words.
    CouldNotRun(String),
}

/// What keeps a rule from leading on.
pub(super) struct VerificationHold {
    /// What the task waits for.
    what: String,
    /// Why, in words.
    why: String,
    /// Who can end that.
    owner: Owner,
}

/// The tests of a verification that passed at the base and are gone.
#[derive(Default)]
pub(super) struct GoneTests<'a> {
    /// Nothing accounts for them.
    pub lost: Vec<&'a String>,
    /// The plan names them.
    pub planned: Vec<&'a String>,
    /// A person has confirmed them.
    pub confirmed: Vec<&'a String>,
}

/// The verifications of a task.
#[derive(Clone, Copy)]
pub(super) struct TaskVerifications<'a> {
    pub(super) evaluation: Evaluation<'a>,
    /// Yields what the plan names, when it is asked for.
    named_by_plan: NamedByPlan,
}

/// What yields the texts by which the plan names paths and tests.
pub(super) type NamedByPlan = fn(&Evaluation<'_>) -> Vec<String>;

impl<'a> TaskVerifications<'a> {
    /// The verifications of the task that is evaluated.
    pub(super) fn of(evaluation: &Evaluation<'a>, named_by_plan: NamedByPlan) -> Self {
        Self {
            evaluation: *evaluation,
            named_by_plan,
        }
    }

    /// The verification that says in a phase what the files of an artifact would say, so that they do not count.
    pub(super) fn in_place_of(
        &self,
        phase: &Phase,
        artifact: &ArtifactName,
    ) -> Option<&VerificationName> {
        let artifact = self.evaluation.workflow.artifact(artifact)?;
        self.evaluation.facts.replaces(artifact, phase)
    }

    fn fact(&self, name: &VerificationName) -> Option<&'a VerifiedFact> {
        self.evaluation.facts.verified.get(name)
    }

    fn recorded(&self, name: &VerificationName) -> Option<&'a Verified> {
        self.evaluation.state.run.verified.get(name)
    }

    fn is_defined(&self, name: &VerificationName) -> bool {
        self.evaluation.facts.defines(name)
    }

    /// The digest of the table by which it runs now. A run with protected tests has that of the verification it belongs to.
    fn table(&self, name: &VerificationName) -> Option<Digest> {
        let tables = &self.evaluation.facts.inputs.verify;
        tables.get(name.table()).copied()
    }

    /// The code that it would judge now; `None` where there is none.
    fn code(&self, name: &VerificationName) -> Option<VerifiedCode> {
        let on = self.fact(name)?.code?;
        Some(match self.patch(name) {
            Some(patch) => VerifiedCode::Patch(PatchedCode { patch, on }),
            None => VerifiedCode::Commit(on),
        })
    }

    /// The patch that is judged in place of committed code: that of a phase which verifies this.
    fn patch(&self, name: &VerificationName) -> Option<Digest> {
        let own = name.table();
        let is_meant = |phase: &&Phase| phase.verifies.iter().any(|name| name.as_str() == own);
        let phases = self.evaluation.workflow.phases.iter().filter(is_meant);
        let names: Vec<_> = phases
            .flat_map(|phase| {
                phase
                    .needs
                    .iter()
                    .chain(&phase.reads)
                    .chain(&phase.produces)
            })
            .collect();
        let mut patches = self
            .evaluation
            .workflow
            .artifacts
            .iter()
            .filter(|artifact| {
                artifact.format == Format::Patch
                    && (names.is_empty() || names.contains(&&artifact.name))
            });
        patches.find_map(|artifact| {
            let derived = &self.evaluation.seen_of(&artifact.name)?.derived;
            let is_file = derived.present && derived.tree.is_none() && derived.files.len() == 1;
            derived.digest.filter(|_| is_file)
        })
    }

    /// The last result, if its file is as its event says, and says the same.
    pub(super) fn result(&self, name: &VerificationName) -> Option<&'a VerificationResult> {
        let recorded = self.recorded(name)?;
        match &self.fact(name)?.file {
            ResultFile::Result { digest, result } if *digest == recorded.result => {
                is_of(recorded, name, result).then_some(&**result)
            }
            _ => None,
        }
    }

    /// Why the last result is not about what is there now, as what follows the name in a sentence; `None` if it is.
    fn outdated(&self, name: &VerificationName) -> Option<String> {
        let Some(recorded) = self.recorded(name) else {
            return Some("has not run yet".to_owned());
        };
        if self.result(name).is_none() {
            let path = result_path(name);
            let is_missing = self
                .fact(name)
                .is_none_or(|fact| matches!(fact.file, ResultFile::Missing));
            return Some(if is_missing {
                format!("has lost its result, {path}")
            } else {
                format!("has another result in {path} than the one that was recorded")
            });
        }
        let rules = self.fact(name).map_or(RULES, |fact| fact.rules);
        if recorded.rules != rules {
            return Some("ran by older rules of orch".to_owned());
        }
        if self.table(name) != Some(recorded.table) {
            return Some(format!("ran before `[verify.{name}]` of orch.toml changed"));
        }
        match self.code(name) {
            Some(code) if code == recorded.code => None,
            _ => Some("ran on other code than the present".to_owned()),
        }
    }

    /// The verifications that the phase asks for: its own, and before a good end also those of earlier phases, if the
    /// settings require them of the present code.
    fn wanted(&self) -> Vec<&VerificationName> {
        let workflow = self.evaluation.workflow;
        let phase = self.evaluation.phase;
        let mut names: Vec<&VerificationName> = phase.verifies.iter().collect();
        if self.evaluation.facts.inputs.require.verified == RequireVerified::Tip
            && workflow.may_end_well(&phase.id)
        {
            let before = workflow.position(&phase.id).unwrap_or_default();
            for name in workflow.phases[..before]
                .iter()
                .flat_map(|phase| &phase.verifies)
            {
                if !names.contains(&name) {
                    names.push(name);
                }
            }
        }
        names
    }

    /// Those that have to run now.
    pub(super) fn due(&self) -> Vec<DueVerification> {
        let mut due = Vec::new();
        for name in self.wanted() {
            if !self.is_defined(name) {
                continue;
            }
            let found = (self.outdated(name), self.code(name), self.table(name));
            let (Some(because), Some(code), Some(table)) = found else {
                continue;
            };
            due.push(DueVerification {
                name: name.clone(),
                code,
                table,
                because,
                was_run: self.recorded(name).is_some(),
                attempt: None,
            });
        }
        due
    }

    /// What these would judge now, or those that the phase asks for if none is named.
    pub(super) fn wanted_code(&self, names: &[VerificationName]) -> Vec<WantedCode> {
        let wanted = if names.is_empty() {
            self.wanted()
        } else {
            names.iter().collect()
        };
        let mut found = Vec::new();
        for name in wanted {
            if let (Some(code), Some(table)) = (self.code(name), self.table(name)) {
                found.push(WantedCode {
                    name: name.clone(),
                    code,
                    table,
                    is_due: self.outdated(name).is_some(),
                    milliseconds: self.result(name).map(|result| result.run.milliseconds),
                });
            }
        }
        found
    }

    /// What keeps a rule from leading on; `None` if nothing does. The way back stays open to a rule that reads no result.
    pub(super) fn hold(&self, rule: &Rule) -> Option<VerificationHold> {
        let Outcome::To(to) = &rule.outcome else {
            return None;
        };
        let workflow = self.evaluation.workflow;
        let here = &self.evaluation.phase.id;
        let target = workflow.phase(to)?;
        let is_failure = target.terminal && !target.success;
        let is_forward = !is_failure && workflow.position(to) > workflow.position(here);
        if is_forward && let Some(hold) = self.required() {
            return Some(hold);
        }
        if !is_forward && !self.evaluation.rules().reads(rule, VERIFIED) {
            return None;
        }
        let due = self.due();
        if due.is_empty() {
            return None;
        }
        Some(VerificationHold {
            what: awaited(&due),
            why: due_in_words(&due),
            owner: Owner::Process,
        })
    }

    /// What the settings require of verifications beyond what the workflow asks for.
    fn required(&self) -> Option<VerificationHold> {
        let require = &self.evaluation.facts.inputs.require;
        let names = &self.evaluation.phase.verifies;
        let undefined = names.iter().find(|name| !self.is_defined(name));
        if let (Some(name), false) = (undefined, require.verified.is_no()) {
            let why = match &self.evaluation.facts.inputs.fault {
                Some(fault) => {
                    format!("{fault}, so `{name}` has to be verified, which nothing defines")
                }
                None => format!(
                    "orch.toml requires verifications, and has no `[verify.{name}]` for `{}`",
                    self.evaluation.phase.id
                ),
            };
            let what = format!("[verify.{name}] in orch.toml");
            let owner = Owner::Human;
            return Some(VerificationHold { what, why, owner });
        }
        if !require.tests_kept {
            return None;
        }
        let lost: Vec<&String> = names.iter().flat_map(|name| self.gone(name).lost).collect();
        let first = lost.first()?;
        let why = format!(
            "orch.toml requires that tests are kept, and {} that passed at the base {} gone: {first}{}",
            counted(lost.len()),
            if lost.len() == 1 { "is" } else { "are" },
            if lost.len() == 1 { "" } else { ", …" },
        );
        let what = "the tests that are gone".to_owned();
        let owner = self.evaluation.phase.owner;
        Some(VerificationHold { what, why, owner })
    }

    /// The tests of a verification that passed at the base and are gone.
    pub(super) fn gone(&self, name: &VerificationName) -> GoneTests<'a> {
        let base = self
            .result(name)
            .and_then(|result| result.run.base.as_ref());
        let gone = base.map(|base| base.lost.as_slice()).unwrap_or_default();
        let mut found = GoneTests::default();
        if gone.is_empty() {
            return found;
        }
        let confirmed = self.evaluation.state.run.confirmed_lost.get(name);
        let named = (self.named_by_plan)(&self.evaluation);
        for test in gone {
            if confirmed.is_some_and(|tests| tests.contains(test)) {
                found.confirmed.push(test);
            } else if named.contains(test) {
                found.planned.push(test);
            } else {
                found.lost.push(test);
            }
        }
        found
    }

    /// What guards see of one of them. A name of which nothing is known has not passed.
    pub(super) fn value(&self, name: &VerificationName) -> Value {
        let mut value = self.own_value(name);
        value["base"] = self.own_value(&name.protected());
        value
    }

    fn own_value(&self, name: &VerificationName) -> Value {
        let result = self.result(name);
        let run = result.map(|result| &result.run);
        let base = run.and_then(|run| run.base.as_ref());
        let is_defined = if name.is_protected() {
            self.recorded(name).is_some()
        } else {
            self.is_defined(name)
        };
        let exit = run.and_then(|run| run.commands.last()?.exit);
        let failed: Vec<Value> = result.map(failed_values).unwrap_or_default();
        json!({
            "defined": is_defined,
            "present": result.is_some(),
            "passed": run.is_some_and(|run| run.outcome == VerifiedOutcome::Passed),
            "fresh": is_defined && self.outdated(name).is_none(),
            "exit": exit,
            "tests": run.map_or(0, |run| run.counts.tests),
            "failures": run.map_or(0, |run| run.counts.failed),
            "failed": failed,
            "new": base.map(|base| base.new.as_slice()).unwrap_or_default(),
            "known": base.map(|base| base.known.as_slice()).unwrap_or_default(),
            "lost": self.gone(name).lost,
            "flaky": result.map(|result| result.tests.flaky.as_slice()).unwrap_or_default(),
        })
    }

    /// The results that are there of what the phase verifies, as evidence.
    pub(super) fn evidence(&self) -> Vec<Evidence> {
        let names = self.evaluation.phase.verifies.iter();
        names.filter_map(|name| self.evidence_of(name)).collect()
    }

    pub(super) fn evidence_of(&self, name: &VerificationName) -> Option<Evidence> {
        self.result(name)?;
        let digest = self.recorded(name)?.result;
        Some(Evidence {
            artifact: ArtifactName::new(VERIFIED).ok()?,
            files: vec![(result_path(name), digest)],
            digest,
            valid: true,
            committed: true,
        })
    }

    /// What failed in a result on which a step rests: the file, and each test that failed as an issue.
    pub(super) fn objections(&self, entry: &HistoryEntry) -> Vec<(Evidence, Vec<Value>)> {
        let mut found = Vec::new();
        for name in self.evaluation.facts.verified.keys() {
            let (Some(result), Some(evidence)) = (self.result(name), self.evidence_of(name)) else {
                continue;
            };
            let named = evidence.digest.to_string();
            let is_meant = entry
                .evidence
                .iter()
                .any(|(path, digest)| *path == result_path(name) && *digest == named);
            if !is_meant || result.run.outcome == VerifiedOutcome::Passed {
                continue;
            }
            let mut issues: Vec<Value> = failed(result).map(issue).collect();
            if issues.is_empty() {
                issues.push(Value::from(format!(
                    "`{name}` failed{}",
                    why_failed(result)
                )));
            }
            found.push((evidence, issues));
        }
        found
    }

    /// The results of earlier phases that are there, each with its digest: what a move to a good end rests on.
    pub(super) fn rested_on(&self) -> BTreeMap<VerificationName, Digest> {
        let mut found = BTreeMap::new();
        for name in self.verified_before() {
            if let (Some(_), Some(recorded)) = (self.result(name), self.recorded(name)) {
                found.insert(name.clone(), recorded.result);
            }
        }
        found
    }

    /// The verifications of the phases before this one and of this one itself.
    fn verified_before(&self) -> impl Iterator<Item = &VerificationName> {
        let workflow = self.evaluation.workflow;
        let here = workflow.position(&self.evaluation.phase.id);
        let phases = &workflow.phases[..here.map_or(0, |here| here + 1)];
        phases.iter().flat_map(|phase| &phase.verifies)
    }

    /// What whoever works in the phase is told: that nobody but its writer vouches for a report, and what the last results
    /// say that a rule need not look at.
    pub(super) fn remarks(&self) -> Vec<String> {
        let mut remarks = Vec::new();
        for name in &self.evaluation.phase.verifies {
            if !self.is_defined(name) {
                remarks.extend(self.unvouched(name));
            }
        }
        let may_end = self
            .evaluation
            .workflow
            .may_end_well(&self.evaluation.phase.id);
        for name in self.verified_before() {
            let Some(result) = self.result(name) else {
                continue;
            };
            let is_own = self.evaluation.phase.verifies.contains(name);
            if !is_own && !may_end {
                continue;
            }
            remarks.extend(told(name, result, &self.gone(name)));
            let outdated = self.outdated(name).filter(|_| may_end && !is_own);
            if let Some(outdated) = outdated {
                let run = command(&["orch", "verify", self.evaluation.facts.task.as_str()]);
                remarks.push(format!("`{name}` {outdated}: {run}"));
            }
        }
        remarks
    }

    /// The remark that nothing but a file says what a verification would say.
    fn unvouched(&self, name: &VerificationName) -> Option<String> {
        let phase = self.evaluation.phase;
        let reports = phase.produces.iter().filter_map(|artifact| {
            let declared = self.evaluation.workflow.artifact(artifact)?;
            let seen = self.evaluation.seen_of(artifact)?;
            let is_meant = declared.same_as.as_ref() == Some(name) && seen.derived.ready();
            is_meant.then(|| self.evaluation.path_of(artifact))
        });
        let reports: Vec<String> = reports.collect();
        if reports.is_empty() {
            return None;
        }
        Some(format!(
            "nobody but the writer vouches for {}: orch.toml has no `[verify.{name}]`",
            reports.join(", ")
        ))
    }

    /// The findings about result files that are not what was recorded.
    pub(super) fn findings(&self) -> Vec<Diagnostic> {
        let facts = self.evaluation.facts;
        let mut found = Vec::new();
        for (name, fact) in &facts.verified {
            let recorded = self.recorded(name);
            let path = result_path(name);
            let message = match (&fact.file, recorded) {
                (ResultFile::Missing, None) => continue,
                (ResultFile::Missing, Some(_)) => "the result of a verification is gone".to_owned(),
                (_, None) => {
                    "orch has recorded no result of this verification, so the file counts for nothing"
                        .to_owned()
                }
                (ResultFile::Unusable { why, digest }, Some(recorded))
                    if *digest == Some(recorded.result) =>
                {
                    format!("the result cannot be read: {why}")
                }
                (_, Some(_)) if self.result(name).is_some() => continue,
                (ResultFile::Result { digest, .. }, Some(recorded))
                    if *digest == recorded.result =>
                {
                    "the result contradicts its event, so it counts for nothing".to_owned()
                }
                (_, Some(_)) => {
                    "this is not the result that orch recorded, so it counts for nothing".to_owned()
                }
            };
            // Where nothing is verified any more, nothing rests on an old result.
            let finding = if recorded.is_none() || self.is_defined(name) {
                Diagnostic::warning(Code::VerificationResult, message)
            } else {
                Diagnostic::note(Code::VerificationResult, message)
            };
            let place = facts.place.place_of(&path);
            found.push(
                finding
                    .at(place)
                    .hint(Hint::run(&["orch", "verify", facts.task.as_str()])),
            );
        }
        found
    }

    /// Makes a waiting task wait for what has to run, and forbids the moves that have to wait for it.
    pub(super) fn await_due(&self, decision: &mut Decision) {
        for one in &mut decision.moves {
            let rule = self
                .evaluation
                .workflow
                .rules_from(&self.evaluation.phase.id)
                .find(|rule| rule.id == one.rule);
            if let Some(hold) = rule
                .filter(|_| one.allowed)
                .and_then(|rule| self.hold(rule))
            {
                one.allowed = false;
                one.unmet.push(hold.why);
            }
        }
        let super::Verdict::Wait { what, owner } = &mut decision.verdict else {
            return;
        };
        let due = self.due();
        if due.is_empty() {
            return;
        }
        *owner = Owner::Process;
        let words = due_in_words(&due);
        if decision.rule.is_none() {
            *what = awaited(&due);
        }
        if !decision.reason.contains(&words) {
            decision.reason = match decision.rule.is_none() && decision.expects.is_empty() {
                true => words,
                false => format!("{words}; {}", decision.reason),
            };
        }
        decision.verifications = due;
    }
}

impl VerificationHold {
    /// Makes the task wait for this in place of taking the rule.
    pub(super) fn apply(self, rule: &Rule, decision: &mut Decision) {
        decision.rule = Some(rule.id.clone());
        decision.reason = format!("{}, but {}", rule.because, self.why);
        decision.verdict = super::Verdict::Wait {
            what: self.what,
            owner: self.owner,
        };
    }
}

/// Whether a result is that of a recorded event.
fn is_of(recorded: &Verified, name: &VerificationName, result: &VerificationResult) -> bool {
    let run = &result.run;
    run.name == *name
        && run.outcome == recorded.outcome
        && run.code == recorded.code
        && run.table == recorded.table
        && run.rules == recorded.rules
}

/// The tests that failed, as guards see them.
fn failed_values(result: &VerificationResult) -> Vec<Value> {
    failed(result)
        .map(|test| {
            json!({
                "name": test.name,
                "message": test.message,
                "file": test.file,
                "line": test.line,
            })
        })
        .collect()
}

/// The tests that failed, each with what a report says of it.
pub(super) fn failed(result: &VerificationResult) -> impl Iterator<Item = FailedTest> + '_ {
    result.tests.failed.iter().map(|name| {
        let known = result.run.failures.iter().find(|test| test.name == *name);
        known.cloned().unwrap_or_else(|| FailedTest {
            name: name.clone(),
            message: None,
            file: None,
            line: None,
        })
    })
}

/// A test that failed, as an issue that is quoted.
fn issue(test: FailedTest) -> Value {
    let mut issue = json!({"name": test.name});
    if let Value::Object(members) = &mut issue {
        let message = test.message.unwrap_or_else(|| "failed".to_owned());
        members.insert("message".to_owned(), Value::from(message));
        if let Some(file) = test.file {
            members.insert("file".to_owned(), Value::from(file));
        }
        if let Some(line) = test.line {
            members.insert("line".to_owned(), Value::from(line));
        }
    }
    issue
}

/// How many names a remark lists.
const MOST_NAMED: usize = 5;

/// What a result says that a person should know whatever the rules ask.
fn told(name: &VerificationName, result: &VerificationResult, gone: &GoneTests<'_>) -> Vec<String> {
    let mut told = Vec::new();
    for (tests, why) in [
        (&gone.lost, ""),
        (&gone.planned, ", as the plan says"),
        (&gone.confirmed, ", as a person has confirmed"),
    ] {
        if tests.is_empty() {
            continue;
        }
        let verb = if tests.len() == 1 { "is" } else { "are" };
        told.push(format!(
            "`{name}`: {} that passed at the base {verb} missing or skipped{why}: {}",
            counted(tests.len()),
            listed(tests)
        ));
    }
    let flaky = &result.tests.flaky;
    if !flaky.is_empty() {
        told.push(format!(
            "`{name}`: {} passed only on another try: {}",
            counted(flaky.len()),
            listed(flaky)
        ));
    }
    if result.run.outcome == VerifiedOutcome::Failed {
        told.push(format!("`{name}` failed{}", why_failed(result)));
    }
    told
}

/// Why a run failed, as what follows "failed".
pub(super) fn why_failed(result: &VerificationResult) -> String {
    let failed = &result.tests.failed;
    if !failed.is_empty() {
        return format!(": {}: {}", counted(failed.len()), listed(failed));
    }
    let last = result.run.commands.last();
    match last.map(|end| (end.exit, end.signal)) {
        Some((Some(exit), _)) if exit != 0 => format!(": exit code {exit}"),
        Some((None, Some(signal))) => format!(": ended by signal {signal}"),
        _ => {
            let because = result.run.because.iter().map(|why| why.as_str());
            format!(": {}", because.collect::<Vec<_>>().join(", "))
        }
    }
}

/// How many tests, in words.
pub(super) fn counted(tests: usize) -> String {
    if tests == 1 {
        "1 test".to_owned()
    } else {
        format!("{tests} tests")
    }
}

/// The first of some names.
pub(super) fn listed(names: &[impl AsRef<str>]) -> String {
    let more = if names.len() > MOST_NAMED {
        ", …"
    } else {
        ""
    };
    let shown: Vec<&str> = names.iter().take(MOST_NAMED).map(AsRef::as_ref).collect();
    format!("{}{more}", shown.join(", "))
}

/// What a task waits for.
fn awaited(due: &[DueVerification]) -> String {
    let names: Vec<String> = due.iter().map(|one| format!("`{}`", one.name)).collect();
    format!("orch to verify {}", names.join(", "))
}

/// Why verifications have to run, in words.
fn due_in_words(due: &[DueVerification]) -> String {
    let words: Vec<String> = due
        .iter()
        .map(|one| format!("`{}` {}", one.name, one.because))
        .collect();
    words.join("; ")
}

//! Verifications of a task that is only tried: what the settings would define, and a result as a run would leave it.

use crate::decide::{
    Facts, FreshResult, Inputs, ResultFile, State, Verified, VerifiedFact, WantedCode, wanted_code,
};
use crate::verification::{
    BaseTests, CommandEnd, FailedTest, FoundBy, NotPassed, RULES, TestCounts, TestNames,
    TestedCode, Verification, VerificationResult, VerifiedBase, VerifiedOutcome, VerifiedResult,
    VerifiedRun,
};
use crate::workflow::{TestSetup, Workflow};
use orch_base::{Digest, VerificationName};
use std::collections::BTreeMap;
use std::sync::Arc;

/// Puts among the facts that the settings define the verifications of which a test speaks.
pub(super) fn define(workflow: &Workflow, setup: &TestSetup, facts: &mut Facts) {
    let code = match &setup.code {
        Some(code) => code.digest(),
        None => Digest::of_blob(b"code"),
    };
    let mut tables = BTreeMap::new();
    for (name, _) in &setup.verified {
        let Ok(name) = VerificationName::new(&name.value) else {
            continue;
        };
        let fact = VerifiedFact {
            code: Some(code),
            rules: RULES,
            file: ResultFile::Missing,
        };
        facts.verified.insert(name.clone(), fact);
        tables.insert(name, Digest::of_blob(b"table"));
    }
    if !tables.is_empty() {
        let format = workflow.digest.format();
        facts.inputs = Inputs::new(facts.inputs.require, &facts.inputs.teams, tables, format);
    }
}

/// Records a result of each verification that has run, about the code that it would judge now.
pub(super) fn verify(workflow: &Workflow, setup: &TestSetup, facts: &mut Facts, state: &mut State) {
    for (name, became) in &setup.verified {
        let Ok(name) = VerificationName::new(&name.value) else {
            continue;
        };
        let Some(fresh) = trial_result(workflow, state, facts, &name, &became.value) else {
            continue;
        };
        fresh.note(facts);
        let verified = Verified {
            seq: state.rev,
            code: fresh.verification.code,
            table: fresh.verification.table,
            rules: fresh.verification.rules,
            outcome: fresh.verification.result.outcome,
            result: fresh.verification.result.digest,
        };
        state.run.verified.insert(name, verified);
    }
}

/// The result of a verification about the code that it would judge now, by the word of a test: `passed`, `failed` or `known`.
/// `None` if the word says that there is none, or if the verification is not defined.
#[must_use]
pub fn trial_result(
    workflow: &Workflow,
    state: &State,
    facts: &Facts,
    name: &VerificationName,
    became: &str,
) -> Option<FreshResult> {
    let failed: &[&str] = match became {
        "failed" | "known" => &["a test"],
        "passed" => &[],
        _ => return None,
    };
    let wanted = wanted_code(workflow, state, facts, std::slice::from_ref(name));
    let wanted = wanted.into_iter().next()?;
    let result = result(facts, &wanted, failed, became == "known");
    let verification = Verification {
        name: wanted.name,
        code: wanted.code,
        table: wanted.table,
        rules: RULES,
        base: result.run.base.as_ref().map(|base| base.at.clone()),
        returned: Vec::new(),
        result: VerifiedResult {
            outcome: result.run.outcome,
            digest: Digest::of_blob(became.as_bytes()),
        },
    };
    Some(FreshResult {
        verification,
        result: Arc::new(result),
    })
}

fn result(
    facts: &Facts,
    wanted: &WantedCode,
    failed: &[&str],
    is_known: bool,
) -> VerificationResult {
    let failed: Vec<String> = failed.iter().map(|name| (*name).to_owned()).collect();
    let has_failed = !failed.is_empty();
    let digest = |text: &str| Digest::of_blob(text.as_bytes());
    let (known, new) = if is_known {
        (failed.clone(), Vec::new())
    } else {
        (Vec::new(), failed.clone())
    };
    let base = BaseTests {
        at: VerifiedBase {
            commit: digest("base"),
            code: digest("code of the base"),
            by: FoundBy::Branch,
        },
        not_run: None,
        lost: Vec::new(),
        new,
        known,
    };
    let outcome = if has_failed {
        VerifiedOutcome::Failed
    } else {
        VerifiedOutcome::Passed
    };
    let because = if has_failed {
        vec![NotPassed::Exit, NotPassed::Failures]
    } else {
        Vec::new()
    };
    let count = failed.len() as u64;
    let failures = failed.iter().map(|name| FailedTest {
        name: name.clone(),
        message: None,
        file: None,
        line: None,
    });
    VerificationResult {
        tested: TestedCode::Commit {
            commit: digest("commit"),
            tree: digest("tree"),
        },
        run: VerifiedRun {
            task: facts.task.clone(),
            name: wanted.name.clone(),
            code: wanted.code,
            table: wanted.table,
            rules: RULES,
            outcome,
            because,
            commands: vec![CommandEnd {
                command: vec!["a command".to_owned()],
                exit: Some(i32::from(has_failed)),
                signal: None,
            }],
            tries: Vec::new(),
            counts: TestCounts {
                tests: count + 1,
                passed: 1,
                failed: count,
                skipped: 0,
            },
            failures: failures.collect(),
            passed: None,
            reports: Vec::new(),
            log: digest("log"),
            uncommitted: 0,
            leftovers: Vec::new(),
            changed: Vec::new(),
            created: Vec::new(),
            created_more: 0,
            given: None,
            milliseconds: 0,
            base: Some(base),
        },
        tests: TestNames {
            passed: vec!["another test".to_owned()],
            failed,
            flaky: Vec::new(),
        },
    }
}

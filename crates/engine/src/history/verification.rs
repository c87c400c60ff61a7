//! Holds the event of a verification against its parent commit, and its result against the event.

use super::new_steps::{NewStep, NewSteps};
use crate::survey::snapshot::Snapshot;
use crate::survey::verified_code::{verified_code, verified_part};
use crate::survey::{CodeAt, Error, Settings};
use orch_core::decide::{Recorded, Standing};
use orch_core::verification::{
    TestNames, Verification, VerificationResult, VerifyTable, read_statement,
};
use orch_read::Observed;

/// What is wrong with a verification: how much it is in doubt, and why.
pub(super) type VerificationDoubt = (Standing, String);

/// Lets each verification judge the code of its last result, if no commit here has that code: a rebase or a squash has
/// put the step on other code. Returns why that is in doubt; `None` if there is no such verification.
pub(super) fn take_gone_for_present(
    setting: &Settings,
    code: CodeAt<'_>,
    before: &Recorded,
    observed: &mut Observed,
) -> Result<Option<String>, Error> {
    let (Recorded::Known(state), CodeAt::Commit(store, Some(head))) = (before, code) else {
        return Ok(None);
    };
    let mut why = None;
    for (name, fact) in &mut observed.facts.verified {
        let table = setting.config.verify.get(name.table());
        let (Some(result), Some(table)) = (state.run.verified.get(name), table) else {
            continue;
        };
        let recorded = result.code.committed();
        let part = verified_part(setting, table);
        if fact.code == Some(recorded) || store.code().had_code(head, recorded, &part)? {
            continue;
        }
        fact.code = Some(recorded);
        why = Some(format!(
            "`{name}` judged the code {}, which this history does not have",
            recorded.short()
        ));
    }
    Ok(why)
}

impl NewSteps<'_> {
    /// Why a verification cannot have been run at its parent commit: its table, code or base is another. Returns an error
    /// if git cannot be read.
    pub(super) fn doubted_verification(
        &self,
        run: &Verification,
    ) -> Result<Option<VerificationDoubt>, Error> {
        let setting = self.decisive();
        let own = run.name.table();
        let Some(table) = setting.config.verify.get(own) else {
            // What ran by settings that are gone is claimed, as it was.
            return Ok(None);
        };
        if table.digest(setting.system.format()) != run.table {
            let why = format!(
                "it ran by another table, {}, than `[verify.{own}]` of the parent commit",
                run.table.short()
            );
            return Ok(Some((Standing::Forged, why)));
        }
        if let Some(why) = self.other_base(run)? {
            return Ok(Some((Standing::Forged, why)));
        }
        let judged = run.code.committed();
        for code in [self.after.code, self.own_code] {
            if self.code_of(table, code)? == Some(judged) {
                return Ok(None);
            }
        }
        let why = format!(
            "it judged the code {}, which is not that of the parent commit",
            judged.short()
        );
        Ok(Some((Standing::Unverifiable, why)))
    }

    /// The code that a verification is about, of a commit.
    fn code_of(
        &self,
        table: &VerifyTable,
        code: CodeAt<'_>,
    ) -> Result<Option<orch_base::Digest>, Error> {
        let snapshot = Snapshot { code, ..self.after };
        verified_code(&snapshot, table)
    }

    /// Why its base cannot be that of the judged commit, if the base is here.
    fn other_base(&self, run: &Verification) -> Result<Option<String>, Error> {
        let (Some(base), CodeAt::Commit(store, Some(parent))) = (&run.base, self.after.code) else {
            return Ok(None);
        };
        let is_apart = store.objects().has(base.commit)?
            && base.commit != parent
            && !store.history().is_ancestor(base.commit, parent)?;
        Ok(is_apart.then(|| {
            format!(
                "the judged code does not contain its base, {}",
                base.commit.short()
            )
        }))
    }
}

/// A test that ran, and that the step keeps among the lost ones that people have confirmed.
fn seen_again<'t>(step: &NewStep, run: &Verification, tests: &'t TestNames) -> Option<&'t String> {
    let confirmed = step.state.run.confirmed_lost.get(&run.name)?;
    let mut ran = tests.passed.iter().chain(&tests.flaky).chain(&tests.failed);
    ran.find(|test| confirmed.contains(test))
}

/// Why a file cannot be the result that an event names; `None` if it can, or is no result that this version reads.
pub(super) fn contradiction(step: &NewStep, run: &Verification, bytes: &[u8]) -> Option<String> {
    let text = std::str::from_utf8(bytes).ok()?;
    let VerificationResult {
        run: said, tests, ..
    } = read_statement(text).ok()?;
    let path = run.path();
    let differs = |what: &str| Some(format!("{path} names another {what} than the step"));
    let task = step.state.task.as_deref();
    let former = || step.state.former_ids().any(|id| id == said.task.as_str());
    if task.is_some_and(|task| task != said.task.as_str()) && !former() {
        return differs("task");
    }
    if said.name != run.name {
        return differs("verification");
    }
    if said.code != run.code {
        return differs("code");
    }
    if said.table != run.table || said.rules != run.rules {
        return differs("table");
    }
    if said.outcome != run.result.outcome {
        return differs("outcome");
    }
    if let Some(test) = seen_again(step, run, &tests) {
        let why = format!("{path} says that `{test}` ran, and the step keeps it as lost");
        return Some(why);
    }
    let base = said.base.as_ref().map(|base| &base.at);
    if base.is_some() && run.base.is_some() && base != run.base.as_ref() {
        return differs("base");
    }
    None
}

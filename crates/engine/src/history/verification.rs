//! Holds the event of a verification against what it judged, and its result against the event.
//!
//! A verification ran on one commit, with the settings of that commit; its result names it. The step that records it has
//! that commit as its parent, until a rebase, a squash or a cherry-pick puts it elsewhere. So what contradicts the judged
//! commit is forged. What contradicts only the commits around the step is in doubt if the judged commit, or the history
//! here, explains it. Whoever rewrote a branch honestly is never accused.

use super::new_steps::{NewStep, NewSteps};
use crate::survey::verified_code::{verified_code, verified_part};
use crate::survey::{CodeAt, Error, Settings};
use orch_base::{Digest, RepoPath};
use orch_core::config;
use orch_core::decide::{Detail, Recorded, Standing};
use orch_core::verification::{
    FoundBy, InvalidStatement, TestNames, TestedCode, Verification, VerificationResult,
    VerifiedBase, VerifiedCode, VerifyTable, read_statement,
};
use orch_files::Content;
use orch_git::{CodeQuestion, Store};
use orch_read::Observed;
use serde_json::Value;
use std::rc::Rc;

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
        let part = verified_part(&setting.config, table);
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

/// The commit that a verification judged, where this clone still has it.
struct JudgedCommit {
    id: Digest,
    tree: Digest,
    setting: Rc<Settings>,
}

/// By what a verification ran.
struct RanBy<'a> {
    setting: &'a Settings,
    table: &'a VerifyTable,
    /// The commit that it judged; without it the settings are those of the parent commit, which a rebase may have changed.
    judged: Option<Digest>,
}

/// The event of a verification among the new steps of its commit.
struct VerificationStep<'a> {
    steps: &'a NewSteps<'a>,
    step: &'a NewStep,
    run: &'a Verification,
}

impl NewSteps<'_> {
    /// Why a verification cannot have been run as its event says, or is in doubt. Returns an error if git cannot be read.
    pub(super) fn doubted_verification(
        &self,
        step: &NewStep,
        run: &Verification,
    ) -> Result<Option<VerificationDoubt>, Error> {
        let steps = self;
        VerificationStep { steps, step, run }.doubt()
    }
}

impl VerificationStep<'_> {
    fn doubt(&self) -> Result<Option<VerificationDoubt>, Error> {
        let Self { steps, step, run } = *self;
        let bytes = self.result_bytes()?;
        let said = match &bytes {
            Ok(bytes) => contradiction(step, run, bytes),
            Err(why) => unverifiable(why.clone()),
        };
        let result = bytes.ok().and_then(|bytes| read(&bytes)?.ok());
        let tested = result.map(|result| result.tested);
        let judged = self.judged_commit(tested)?;
        let own = run.name.table();
        let present = steps.decisive();
        let known = judged.as_ref().map(|judged| &*judged.setting);
        let setting = known.unwrap_or(present);
        let by = table_of(run, setting).map(|table| RanBy {
            setting,
            table,
            judged: judged.as_ref().map(|judged| judged.id),
        });
        let table = match (known, present.config.verify.contains_key(own)) {
            (Some(_), _) if by.is_none() => forged(format!(
                "it ran by another table, {}, than `[verify.{own}]` of the commit that it judged",
                run.table.short()
            )),
            // What ran by settings that are gone is claimed, as it was.
            (_, false) => None,
            _ if table_of(run, present).is_some() => None,
            _ => Some(self.other_table(known.is_some())?),
        };
        let mut doubts = vec![table, said, other_tree(tested, judged.as_ref())];
        doubts.push(self.other_base(by.as_ref())?);
        if let Some(by) = &by {
            doubts.push(self.other_code(by)?);
        }
        Ok(worst(doubts))
    }

    /// The bytes of the result of a step, or why they are not here.
    fn result_bytes(&self) -> Result<Result<Vec<u8>, String>, Error> {
        let Self { steps, run, .. } = *self;
        let path = run.path();
        let Ok(file) = steps.task.file(&path) else {
            return Ok(Err(format!("{path} cannot be a file of the task")));
        };
        let content = steps.after.source.read(&file, u64::MAX - 1)?;
        let is_own = content.is_blob(run.result.digest);
        Ok(match content {
            Content::Bytes(bytes) if is_own => Ok(bytes),
            Content::Absent => Err(format!("its result, {path}, is not in this clone")),
            // A later step of the same commit has put its own result in place of this one.
            Content::Bytes(_) if self.is_verified_later(&path) => {
                let held = steps.archive.blob(run.result.digest)?;
                held.ok_or_else(|| format!("its result, which {path} was, is not in git"))
            }
            Content::Bytes(_) => Err(format!(
                "{path} is not in this commit as the step recorded it"
            )),
            _ => Err(format!("its result, {path}, is not in this commit")),
        })
    }

    /// Whether a later new step records a result at the same path.
    fn is_verified_later(&self, path: &str) -> bool {
        let Self { steps, step, .. } = *self;
        let later = steps
            .steps
            .iter()
            .filter(|later| later.entry().seq > step.entry().seq);
        let mut evidence = later.flat_map(|later| &later.entry().evidence);
        evidence.any(|(other, _)| other == path)
    }

    /// The commit that a verification judged, as its result says; of a run with protected tests, that of the run of the same
    /// table before it. `None` if there is none, or this clone does not have it.
    fn judged_commit(&self, tested: Option<TestedCode>) -> Result<Option<JudgedCommit>, Error> {
        let Self { steps, run, .. } = *self;
        let tested = if run.name.is_protected() {
            self.tested_without_protection()?
        } else {
            tested
        };
        let CodeAt::Commit(store, _) = steps.after.code else {
            return Ok(None);
        };
        let Some(TestedCode::Commit { commit, .. }) = tested else {
            return Ok(None);
        };
        let Some(tree) = store.history().tree_if_held(commit)? else {
            return Ok(None);
        };
        let setting = steps.archive.setting(&store.objects().source_at(commit))?;
        Ok(Some(JudgedCommit {
            id: commit,
            tree,
            setting,
        }))
    }

    fn tested_without_protection(&self) -> Result<Option<TestedCode>, Error> {
        let Self { steps, step, run } = *self;
        let verified = &step.state.run.verified;
        let plain = verified.iter().find(|(name, result)| {
            !name.is_protected()
                && name.table() == run.name.table()
                && result.code == run.code
                && result.table == run.table
        });
        let Some((_, plain)) = plain else {
            return Ok(None);
        };
        let bytes = steps.archive.blob(plain.result)?;
        let read = bytes.and_then(|bytes| read(&bytes)?.ok());
        Ok(read.map(|result| result.tested))
    }

    /// How much a table is in doubt that is not that of the parent commit. `is_judged` says that the judged commit has it.
    fn other_table(&self, is_judged: bool) -> Result<VerificationDoubt, Error> {
        let Self { steps, run, .. } = *self;
        let own = run.name.table();
        let other = format!(
            "it ran by another table, {}, than `[verify.{own}]` of the parent commit",
            run.table.short()
        );
        let present = steps.decisive().config.verify.get(own);
        let is_its = |one: &Detail| matches!(one, Detail::Verify(one) if one.name.table() == own);
        // The commits between that a squash dropped may have had other settings.
        let is_squashed = steps.after.setting.config.verify.get(own) != present
            || steps
                .steps
                .iter()
                .any(|step| !step.entry().detail.as_deref().is_some_and(is_its));
        Ok(if is_judged {
            let why = format!("{other}, which the commit that it judged has");
            (Standing::Unverifiable, why)
        } else if self.had_table()? {
            let why = format!("{other}, which an earlier commit has");
            (Standing::Unverifiable, why)
        } else if is_squashed {
            let why = format!("{other}, and the commit that it judged is not here");
            (Standing::Unverifiable, why)
        } else {
            (Standing::Forged, other)
        })
    }

    /// Whether a commit up to this one has the table by which a verification ran.
    fn had_table(&self) -> Result<bool, Error> {
        let Self { steps, run, .. } = *self;
        let (store, head) = match (steps.own_code, steps.after.code) {
            (CodeAt::Commit(store, Some(own)), _) => (store, own),
            (_, CodeAt::Commit(store, Some(parent))) => (store, parent),
            _ => return Ok(false),
        };
        let Ok(path) = RepoPath::new(config::FILE) else {
            return Ok(false);
        };
        for commit in store.history().changes_of(head, &path)? {
            let setting = steps.archive.setting(&store.objects().source_at(commit))?;
            if table_of(run, &setting).is_some() {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Why the code is not that of the commit that was judged, or is that of neither the parent commit nor the own one.
    fn other_code(&self, by: &RanBy<'_>) -> Result<Option<VerificationDoubt>, Error> {
        let Self { steps, run, .. } = *self;
        let recorded = run.code.committed();
        let config = &by.setting.config;
        if let (Some(judged), CodeAt::Commit(store, _)) = (by.judged, steps.after.code) {
            let there = verified_code(CodeAt::Commit(store, Some(judged)), config, by.table)?;
            if there != Some(recorded) {
                return Ok(forged(format!(
                    "it names the code {}, and the commit that it judged, {}, has other code",
                    recorded.short(),
                    judged.short()
                )));
            }
        }
        for code in [steps.after.code, steps.own_code] {
            if verified_code(code, config, by.table)? == Some(recorded) {
                return Ok(None);
            }
        }
        // A rebase has left the judged commit behind, and this clone still shows that it has the code.
        let is_left_behind = match (by.judged, steps.after.code) {
            (Some(judged), CodeAt::Commit(store, Some(parent))) => {
                !is_within(store, judged, parent)?
            }
            _ => false,
        };
        if is_left_behind {
            return Ok(None);
        }
        Ok(unverifiable(format!(
            "it judged the code {}, which is not that of the parent commit",
            recorded.short()
        )))
    }

    /// Why its base cannot be that of the judged commit, if this clone has the base.
    fn other_base(&self, by: Option<&RanBy<'_>>) -> Result<Option<VerificationDoubt>, Error> {
        let Self { steps, run, .. } = *self;
        let (Some(base), CodeAt::Commit(store, Some(parent))) = (&run.base, steps.after.code)
        else {
            return Ok(None);
        };
        if store.history().tree_if_held(base.commit)?.is_none() {
            return Ok(None);
        }
        let is_shallow = store.refs().is_shallow()?;
        let judged = by.and_then(|by| by.judged);
        let apart = format!(
            "the judged code does not contain its base, {}",
            base.commit.short()
        );
        if let Some(judged) = judged.filter(|_| !is_shallow)
            && !is_within(store, base.commit, judged)?
        {
            return Ok(forged(apart));
        }
        if let Some(why) = self.worked_on_base(base, store)? {
            return Ok(forged(why));
        }
        let other = match by {
            Some(by) => self.other_code_of_base(base, by, store)?,
            None => None,
        };
        if let Some(why) = other {
            // Without the judged commit nobody knows what its settings took for code.
            return Ok(if judged.is_some() {
                forged(why)
            } else {
                unverifiable(why)
            });
        }
        if !is_within(store, base.commit, parent)? {
            return Ok(unverifiable(apart));
        }
        Ok(None)
    }

    /// Why a commit is no base of a task that is worked on in the base branch itself: it has the task already.
    fn worked_on_base(&self, base: &VerifiedBase, store: &Store) -> Result<Option<String>, Error> {
        let Self { steps, step, .. } = *self;
        let log = steps.task_then(step).transcript_path();
        let is_late = base.by == FoundBy::Create
            && store
                .objects()
                .source_at(base.commit)
                .blob_at(&log)?
                .is_some();
        Ok(is_late.then(|| {
            format!(
                "its base, {}, is not before the commit that created the task",
                base.commit.short()
            )
        }))
    }

    /// Why the code of a base is not as the event says, or has been worked on for the task.
    fn other_code_of_base(
        &self,
        base: &VerifiedBase,
        by: &RanBy<'_>,
        store: &Store,
    ) -> Result<Option<String>, Error> {
        let Self { steps, step, .. } = *self;
        let part = verified_part(&by.setting.config, by.table);
        let there = store.code().code_digest(Some(base.commit), &part)?;
        let short = base.commit.short();
        if there != base.code {
            return Ok(Some(format!(
                "its base, {short}, has the code {}, and the step says {}",
                there.short(),
                base.code.short()
            )));
        }
        if base.by != FoundBy::Branch {
            return Ok(None);
        }
        let commits = steps.after.commits_of(&steps.task_then(step), &step.state);
        let asked = CodeQuestion {
            head: base.commit,
            entered: None,
            judged: there,
            base: None,
            task: &commits,
        };
        let is_worked_on = store.code().is_worked_on_in(base.commit, &asked, &part)?;
        Ok((is_worked_on == Some(true))
            .then(|| format!("its base, {short}, contains a commit of code that names the task")))
    }
}

/// The table by which a verification ran, if these settings have it.
fn table_of<'s>(run: &Verification, setting: &'s Settings) -> Option<&'s VerifyTable> {
    let table = setting.config.verify.get(run.name.table())?;
    Some(table).filter(|table| table.digest(setting.system.format()) == run.table)
}

/// A test that ran, and that the step keeps among the lost ones that people have confirmed.
fn seen_again<'t>(step: &NewStep, run: &Verification, tests: &'t TestNames) -> Option<&'t String> {
    let confirmed = step.state.run.confirmed_lost.get(&run.name)?;
    tests.ran().find(|test| confirmed.contains(test))
}

/// Whether a commit is another one, or an ancestor of it.
fn is_within(store: &Store, commit: Digest, other: Digest) -> Result<bool, Error> {
    Ok(commit == other || store.history().is_ancestor(commit, other)?)
}

fn forged(why: String) -> Option<VerificationDoubt> {
    Some((Standing::Forged, why))
}

fn unverifiable(why: String) -> Option<VerificationDoubt> {
    Some((Standing::Unverifiable, why))
}

/// The first of the worst doubts.
fn worst(doubts: Vec<Option<VerificationDoubt>>) -> Option<VerificationDoubt> {
    let mut worst: Option<VerificationDoubt> = None;
    for doubt in doubts.into_iter().flatten() {
        if worst.as_ref().is_none_or(|worst| worst.0 < doubt.0) {
            worst = Some(doubt);
        }
    }
    worst
}

/// What a file says as a result; `None` if it is no text.
fn read(bytes: &[u8]) -> Option<Result<VerificationResult, InvalidStatement>> {
    let text = std::str::from_utf8(bytes).ok()?;
    Some(read_statement(text))
}

/// Why a result names a tree that its commit does not have.
fn other_tree(
    tested: Option<TestedCode>,
    judged: Option<&JudgedCommit>,
) -> Option<VerificationDoubt> {
    match (tested, judged) {
        (Some(TestedCode::Commit { commit, tree }), Some(judged))
            if commit == judged.id && tree != judged.tree =>
        {
            forged(format!(
                "its result names the tree {}, which its commit, {}, does not have",
                tree.short(),
                commit.short()
            ))
        }
        _ => None,
    }
}

/// Why a file cannot be the result that an event names, or is in doubt; `None` if it can. Of one that this version does not
/// read, only the outcome counts.
fn contradiction(step: &NewStep, run: &Verification, bytes: &[u8]) -> Option<VerificationDoubt> {
    let path = run.path();
    match read(bytes) {
        Some(Ok(result)) => other_result(step, run, &result).map(|why| (Standing::Forged, why)),
        Some(Err(InvalidStatement::Contradiction(why))) => {
            forged(format!("{path} contradicts itself: {why}"))
        }
        None | Some(Err(InvalidStatement::Form(_))) => {
            let result: Value = serde_json::from_slice(bytes).unwrap_or_default();
            let said = result.pointer("/predicate/result").and_then(Value::as_str);
            let Some(said) = said else {
                return unverifiable(format!("{path} does not say how it ended"));
            };
            let outcome = run.result.outcome;
            if outcome.is_said_by(said) {
                return None;
            }
            forged(format!(
                "it says `{}`, and {path} says otherwise: {said:?}",
                outcome.as_str()
            ))
        }
    }
}

/// What a result says otherwise than its event, in words.
fn other_result(step: &NewStep, run: &Verification, result: &VerificationResult) -> Option<String> {
    let said = &result.run;
    if let Some(test) = seen_again(step, run, &result.tests) {
        return Some(format!(
            "{} says that `{test}` ran, and the step keeps it as lost",
            run.path()
        ));
    }
    let task = step.state.task.as_deref();
    let former = || step.state.former_ids().any(|id| id == said.task.as_str());
    let is_tested = match (run.code, result.tested) {
        (_, TestedCode::Tree { .. }) => run.name.is_protected(),
        (VerifiedCode::Commit(_), TestedCode::Commit { .. }) => !run.name.is_protected(),
        (VerifiedCode::Patch(patched), TestedCode::Patch { patch, .. }) => {
            patched.patch == patch && !run.name.is_protected()
        }
        _ => false,
    };
    let what = if task.is_some_and(|task| task != said.task.as_str()) && !former() {
        "task"
    } else if said.name != run.name {
        "verification"
    } else if said.code != run.code {
        "code"
    } else if said.table != run.table || said.rules != run.rules {
        "table"
    } else if said.outcome != run.result.outcome {
        "outcome"
    } else if said.base.as_ref().map(|base| &base.at) != run.base.as_ref() {
        "base"
    } else if !is_tested {
        "subject"
    } else {
        return None;
    };
    Some(format!("{} names another {what} than the step", run.path()))
}

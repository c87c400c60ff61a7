//! Runs the verifications of a task, and records what they give.
//!
//! The code and the table are those of HEAD. When the result is recorded, under the lock, both are looked at again: if the
//! branch has other code by then, nothing is recorded. One that could not run leaves no result; that it was tried is kept
//! in this clone.

use super::perform::executor_patience;
use super::trust::refuse_untrusted_verification;
use crate::apply::{Applied, NewResult, Writer};
use crate::run::{Process, start_janitor};
use crate::survey::verification_base::named_files;
use crate::survey::{Error, Sight, TaskRef};
use crate::verify::{
    AttemptStanding, CachedCheckout, ClaimedCheckout, CouldNotRun, Judged, RanVerification,
    VerifyAttempt, VerifyOutcome, VerifyPlace, VerifyRequest, VerifyWatch, cache_directory,
    cached_checkouts, checkouts_directory, remove_cached_checkouts, variables_read, verify,
};
use orch_base::{Code, Digest, Hint, Patterns, PhaseId, TaskId, VerificationName};
use orch_core::config::Config;
use orch_core::decide::{FreshResult, WantedCode, WayStage, planned_paths, wanted_code};
use orch_core::verification::{
    NotRun, Verification, VerificationResult, VerifiedCode, VerifiedResult, VerifyTable, statement,
};
use orch_core::workflow::TreePart;
use orch_files::io_error;
use orch_git::Store;
use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;

/// The name under which HEAD is verified for no task, in the place of the id of a task.
const HEAD: &str = "HEAD";

/// How verifications are run.
#[derive(Debug, Clone, Copy, Default)]
pub struct VerifyOptions {
    /// Whether no cache is used.
    pub fresh: bool,
    /// Whether one is tried again that could not run on the same code.
    pub again: bool,
    /// Whether to start what `orch.toml` names without the trust of a person.
    pub trust: bool,
    /// Whether the caller records the result, along with more.
    pub unrecorded: bool,
}

/// What to run: the verifications of a task, or those of HEAD.
pub struct VerifyPlan {
    /// The commit whose code is judged.
    pub head: Digest,
    /// How many changed files of the work tree are not judged.
    pub uncommitted: u64,
    /// The verifications to run, in their order.
    pub wanted: Vec<WantedVerification>,
    /// The names of those that were asked for and stand as they are.
    pub standing: Vec<VerificationName>,
    config: Config,
    sight: Option<Box<Sight>>,
    /// Whether those that stand are run too.
    all: bool,
}

/// A verification to run.
pub struct WantedVerification {
    /// Its name.
    pub name: VerificationName,
    /// How long it took the last time, in milliseconds.
    pub last: Option<u64>,
    table: VerifyTable,
    code: VerifiedCode,
}

/// What came of a verification.
pub enum VerifyEnd {
    /// It ran, and its results are recorded if it is that of a task.
    Ran(Box<RanVerification>, Option<Box<Applied>>),
    /// It could not run.
    CouldNotRun(CouldNotRun),
    /// Another process ran it meanwhile, and its result stands.
    Stands,
}

/// Plans the verifications of a task, or those of HEAD without one: the named ones, or those that are due, or with `all`
/// every one that its phase asks for. Returns an error if there is no commit, if a name is unknown, or if git cannot be read.
pub fn plan_verifications(
    writer: &Writer<'_>,
    task: Option<&TaskRef>,
    names: &[VerificationName],
    all: bool,
) -> Result<VerifyPlan, Error> {
    let store = store(writer)?;
    let sight = match task {
        None => None,
        Some(task) => {
            let sight = writer.workspace.look(task)?;
            sight.require_tracked()?;
            Some(Box::new(sight))
        }
    };
    let head = match &sight {
        Some(sight) => sight.head_commit(),
        None => store.refs().head()?.commit,
    };
    let Some(head) = head else {
        let message = "a verification judges committed code, and there is no commit yet";
        return Err(Error::new(Code::NothingToApply, message));
    };
    let config = writer.workspace.reader.config_in(head)?;
    let roots = &config.roots;
    let changed = store.index().uncommitted()?;
    let outside = changed
        .iter()
        .filter(|path| roots.part(path, false) == TreePart::None);
    let mut plan = VerifyPlan {
        head,
        uncommitted: outside.count() as u64,
        wanted: Vec::new(),
        standing: Vec::new(),
        config,
        sight,
        all,
    };
    if let Some(unknown) = names
        .iter()
        .find(|name| !plan.config.verify.contains_key(*name))
    {
        return Err(plan.unknown(unknown));
    }
    if plan.config.verify.is_empty() {
        let message = "orch.toml in HEAD has no [verify.NAME], so there is nothing to verify";
        let hint = Hint::from("see ").command(&["orch", "help", "verify"]);
        return Err(Error::new(Code::VerificationUnknown, message).with_hint(hint));
    }
    if plan.sight.is_some() {
        plan.choose_for_task(names);
    } else {
        plan.choose_for_head(writer, names)?;
    }
    Ok(plan)
}

impl VerifyPlan {
    /// Chooses among all that are defined.
    fn choose_for_head(
        &mut self,
        writer: &Writer<'_>,
        names: &[VerificationName],
    ) -> Result<(), Error> {
        for (name, table) in &self.config.verify {
            if !names.is_empty() && !names.contains(name) {
                continue;
            }
            let code = writer
                .workspace
                .reader
                .verified_code_in(self.head, &self.config, table)?;
            self.wanted.push(WantedVerification {
                name: name.clone(),
                last: None,
                table: table.clone(),
                code: VerifiedCode::Commit(code),
            });
        }
        Ok(())
    }

    /// Chooses what is due, or what is named; and what stands as it is only if `all` says so.
    fn choose_for_task(&mut self, names: &[VerificationName]) {
        let Some(sight) = &self.sight else {
            return;
        };
        let Some(state) = sight.state() else {
            return;
        };
        let facts = &sight.observed.facts;
        let known = wanted_code(sight.workflow(), state, facts, names);
        for WantedCode {
            name,
            code,
            is_due,
            milliseconds,
            ..
        } in known
        {
            let Some(table) = self.config.verify.get(&name).cloned() else {
                continue;
            };
            if !is_due && !self.all {
                if !names.is_empty() {
                    self.standing.push(name);
                }
                continue;
            }
            self.wanted.push(WantedVerification {
                name,
                last: milliseconds,
                table,
                code,
            });
        }
    }

    /// The finding for a name that the settings in HEAD lack.
    fn unknown(&self, name: &VerificationName) -> Error {
        let known: Vec<&str> = self
            .config
            .verify
            .keys()
            .map(|name| name.as_str())
            .collect();
        let message = format!("orch.toml in HEAD has no [verify.{name}]");
        let hint = if known.is_empty() {
            "write the table, and commit orch.toml".to_owned()
        } else {
            format!("it has {}", known.join(", "))
        };
        Error::new(Code::VerificationUnknown, message).with_hint(hint)
    }

    /// The protected paths that the plan of the task names.
    fn named_by_plan(&self) -> Patterns {
        let Some(sight) = &self.sight else {
            return Patterns::default();
        };
        let facts = &sight.observed.facts;
        named_files(&planned_paths(sight.workflow(), &sight.recorded, facts))
    }

    /// The same for one of its verifications as everything is by now.
    fn renewed(&self, writer: &Writer<'_>, name: &VerificationName) -> Result<Self, Error> {
        let task = self.sight.as_ref().map(|sight| &sight.task);
        plan_verifications(writer, task, std::slice::from_ref(name), self.all)
    }

    /// What is checked out for a verification; `None` if its patch was not read.
    fn judged(&self, wanted: &WantedVerification) -> Option<Judged<'_>> {
        let VerifiedCode::Patch(patched) = wanted.code else {
            return Some(Judged::Commit(self.head));
        };
        let mut files = self.sight.iter().flat_map(|sight| &sight.observed.files);
        let file = files.find(|file| file.digest == patched.patch)?;
        Some(Judged::Patch {
            on: self.head,
            blob: patched.patch,
            bytes: &file.bytes,
        })
    }
}

/// The verifications that phases before a later one ask for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct VerificationsAhead {
    /// Their names.
    pub names: Vec<VerificationName>,
    /// The first of these phases.
    pub first: Option<PhaseId>,
}

/// The verifications that the phases before this one ask for, from the phase of the task on. None if no such phase lies
/// ahead. Returns an error if the task cannot be read.
pub fn verifications_before(
    writer: &Writer<'_>,
    task: &TaskRef,
    to: &str,
) -> Result<VerificationsAhead, Error> {
    let sight = writer.workspace.look(task)?;
    sight.require_tracked()?;
    let workflow = sight.workflow();
    let facts = &sight.observed.facts;
    let none = VerificationsAhead::default();
    let Some(end) = workflow.phase_named(to) else {
        return Ok(none);
    };
    let mut found = VerificationsAhead::default();
    for stop in &sight.decision.way {
        if matches!(stop.stage, WayStage::Passed | WayStage::Waived) {
            continue;
        }
        if stop.phase == end.id {
            return Ok(found);
        }
        let phase = workflow.phase(&stop.phase);
        let asked = phase.into_iter().flat_map(|phase| &phase.verifies);
        let before = found.names.len();
        found
            .names
            .extend(asked.filter(|name| facts.defines(name)).cloned());
        if found.first.is_none() && found.names.len() > before {
            found.first = Some(stop.phase.clone());
        }
    }
    Ok(none)
}

/// Runs one verification of a plan, and records its result if it is that of a task and the options do not say otherwise. If
/// another process has to be waited for, what runs is planned anew afterwards. Returns an error if a person has to trust it first, if the code has changed by the
/// time it ended, or if its result cannot be recorded.
pub fn verify_wanted(
    writer: &Writer<'_>,
    plan: &VerifyPlan,
    wanted: &WantedVerification,
    options: &VerifyOptions,
    watch: &mut VerifyWatch<'_>,
) -> Result<VerifyEnd, Error> {
    let store = store(writer)?;
    refuse_untrusted_verification(writer, &wanted.name, &wanted.table, options.trust)?;
    let task = match &plan.sight {
        Some(sight) => sight.task.id.clone(),
        None => TaskId::new(HEAD).map_err(|why| Error::new(Code::Usage, why.to_string()))?,
    };
    let place = place(writer, &wanted.table, &plan.config)?;
    let claim = match ClaimedCheckout::of(store, &place, &task, &wanted.name, watch) {
        Ok(claim) => claim,
        Err(why) => return Ok(VerifyEnd::CouldNotRun(why)),
    };
    let claimed = ClaimedVerification {
        writer,
        store,
        task: &task,
        place: &place,
        options,
    };
    if !claim.has_waited {
        return claimed.run(plan, wanted, &claim, watch);
    }
    let renewed = plan.renewed(writer, &wanted.name)?;
    match renewed.wanted.first() {
        Some(wanted) => {
            refuse_untrusted_verification(writer, &wanted.name, &wanted.table, options.trust)?;
            claimed.run(&renewed, wanted, &claim, watch)
        }
        None => Ok(VerifyEnd::Stands),
    }
}

/// A verification whose checkout this process alone uses.
struct ClaimedVerification<'c> {
    writer: &'c Writer<'c>,
    store: &'c Store,
    task: &'c TaskId,
    place: &'c VerifyPlace,
    options: &'c VerifyOptions,
}

impl ClaimedVerification<'_> {
    fn run(
        &self,
        plan: &VerifyPlan,
        wanted: &WantedVerification,
        claim: &ClaimedCheckout,
        watch: &mut VerifyWatch<'_>,
    ) -> Result<VerifyEnd, Error> {
        let Self {
            writer,
            store,
            task,
            place,
            options,
        } = *self;
        let attempt = VerifyAttempt {
            task: task.clone(),
            name: wanted.name.clone(),
            code: wanted.code,
            table: wanted.table.digest(store.objects().format()),
            at: writer.now(),
            by: writer.stamp().by.name,
            standing: AttemptStanding::Running(Process::own()),
        };
        if !options.again
            && let Some(why) = failed_before(store, &attempt)
        {
            return Ok(VerifyEnd::CouldNotRun(why));
        }
        let base = match &plan.sight {
            Some(sight) => {
                writer
                    .workspace
                    .reader
                    .verification_base(sight, &plan.config, &wanted.table)?
            }
            None => None,
        };
        let Some(judged) = plan.judged(wanted) else {
            let message = format!("the patch that `{}` judges cannot be read", wanted.name);
            return Err(Error::new(Code::EvidenceUnreadable, message));
        };
        let request = VerifyRequest {
            store,
            task,
            name: &wanted.name,
            table: &wanted.table,
            judged,
            code: wanted.code,
            base,
            exempt: &plan.named_by_plan(),
            uncommitted: plan.uncommitted,
            fresh: options.fresh,
            only: None,
        };
        attempt.keep(store)?;
        let ended = verify(&request, place, claim, watch);
        VerifyAttempt::forget(store, task, &wanted.name);
        match ended {
            VerifyOutcome::CouldNotRun(why) => {
                if !matches!(why.reason, NotRun::Stopped | NotRun::Busy) {
                    let standing = AttemptStanding::CouldNotRun {
                        reason: why.reason,
                        message: why.message.clone(),
                    };
                    VerifyAttempt {
                        standing,
                        ..attempt
                    }
                    .keep(store)?;
                }
                Ok(VerifyEnd::CouldNotRun(why))
            }
            VerifyOutcome::Ran(ran) => {
                let applied = match &plan.sight {
                    Some(sight) if !options.unrecorded => {
                        Some(Box::new(record(writer, &sight.task, &ran)?))
                    }
                    _ => None,
                };
                Ok(VerifyEnd::Ran(ran, applied))
            }
        }
    }
}

/// The checkouts of the repository.
pub struct KnownCheckouts {
    /// The directory with all of them.
    pub directory: PathBuf,
    /// Each of them, the longest unused first.
    pub all: Vec<CachedCheckout>,
}

/// The checkouts of the repository. Returns an error if the environment names no place for them.
pub fn known_checkouts(writer: &Writer<'_>) -> Result<KnownCheckouts, Error> {
    let store = store(writer)?;
    let cache = cache(&variables(writer, None))?;
    Ok(KnownCheckouts {
        directory: checkouts_directory(store, &cache),
        all: cached_checkouts(store, &cache),
    })
}

/// The checkouts of the repository, cleaned up.
pub struct CleanedCheckouts {
    /// Those that are gone.
    pub removed: Vec<CachedCheckout>,
    /// Those that other processes use.
    pub left: Vec<CachedCheckout>,
}

/// Removes the checkouts of the repository that no process uses, with their caches. Returns an error if one cannot be removed.
pub fn clean_checkouts(writer: &Writer<'_>) -> Result<CleanedCheckouts, Error> {
    let store = store(writer)?;
    let cache = cache(&variables(writer, None))?;
    let mut removed = cached_checkouts(store, &cache);
    let left = remove_cached_checkouts(store, &cache);
    let left = left.map_err(|error| io_error(&cache, error))?;
    removed.retain(|one| left.iter().all(|other| other.path != one.path));
    Ok(CleanedCheckouts { removed, left })
}

pub(super) fn store<'w>(writer: &Writer<'w>) -> Result<&'w Store, Error> {
    writer.workspace.reader.store().ok_or_else(|| {
        let message = "a verification judges committed code, and this is no git repository";
        Error::new(Code::NoRepository, message)
    })
}

/// Where the runs of a table take place, by these settings. Returns an error if the environment names no place.
pub(super) fn place(
    writer: &Writer<'_>,
    table: &VerifyTable,
    config: &Config,
) -> Result<VerifyPlace, Error> {
    start_janitor(executor_patience(config));
    let environment = variables(writer, Some(table));
    Ok(VerifyPlace {
        cache: cache(&environment)?,
        most: config.most_checkouts,
        environment,
        grace: VerifyPlace::GRACE,
    })
}

/// The variables that a run may need.
pub(super) fn variables(
    writer: &Writer<'_>,
    table: Option<&VerifyTable>,
) -> BTreeMap<String, String> {
    let read = |name: String| {
        let value = writer.caller.variables.get(&name)?;
        Some((name, value))
    };
    variables_read(table).filter_map(read).collect()
}

fn cache(environment: &BTreeMap<String, String>) -> Result<PathBuf, Error> {
    cache_directory(environment).ok_or_else(|| {
        let message = "there is no place for a checkout: neither XDG_CACHE_HOME nor HOME is set";
        Error::new(Code::Io, message)
    })
}

/// Why the same verification could not run before on the same code.
fn failed_before(store: &Store, now: &VerifyAttempt) -> Option<CouldNotRun> {
    let last = VerifyAttempt::last(store, &now.task, &now.name)?;
    let is_same = last.code == now.code && last.table == now.table;
    match last.standing {
        AttemptStanding::CouldNotRun { reason, message } if is_same => {
            let hint = Hint::from("to try it again on the same code: ").command(&[
                "orch",
                "verify",
                now.task.as_str(),
                now.name.as_str(),
                "--again",
            ]);
            Some(CouldNotRun {
                reason,
                message,
                hint: Some(hint),
                log: None,
            })
        }
        _ => None,
    }
}

/// Records the results of a run. Returns an error if the branch has other code or another table by now.
fn record(writer: &Writer<'_>, task: &TaskRef, ran: &RanVerification) -> Result<Applied, Error> {
    let results = new_results(writer, ran)?;
    let run = &ran.result.run;
    writer.results().record(task, &results, &|sight| {
        let state = sight.state().ok_or_else(Error::moved)?;
        let facts = &sight.observed.facts;
        let names = std::slice::from_ref(&run.name);
        let now = wanted_code(sight.workflow(), state, facts, names);
        let stands = now
            .iter()
            .any(|now| now.code == run.code && now.table == run.table);
        if stands {
            return Ok(());
        }
        let message = format!(
            "the code or [verify.{}] has changed while it ran, so its result is not recorded",
            run.name
        );
        let hint = Hint::run(&["orch", "verify", task.id.as_str()]);
        Err(Error::new(Code::VerificationOvertaken, message).with_hint(hint))
    })
}

/// What of a run is recorded. Returns an error outside git.
pub fn new_results(writer: &Writer<'_>, ran: &RanVerification) -> Result<Vec<NewResult>, Error> {
    let store = store(writer)?;
    let protected = ran.protected.iter().flatten();
    let results = std::iter::once(&ran.result).chain(protected);
    Ok(results.map(|result| new_result(store, result)).collect())
}

fn new_result(store: &Store, result: &VerificationResult) -> NewResult {
    let text = statement(result);
    let run = &result.run;
    let verification = Verification {
        name: run.name.clone(),
        code: run.code,
        table: run.table,
        rules: run.rules,
        base: run.base.as_ref().map(|base| base.at.clone()),
        returned: Vec::new(),
        result: VerifiedResult {
            outcome: run.outcome,
            digest: store.objects().format().blob(text.as_bytes()),
        },
    };
    NewResult {
        fresh: FreshResult {
            verification,
            result: Arc::new(result.clone()),
        },
        text,
    }
}

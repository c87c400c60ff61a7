//! The circumstances of a task: the branch, the source, and its last run.
//!
//! The rules do not see them. They determine which commands are available now, and which notes to add.

use super::decision::is_order;
use super::evaluation::choice;
use super::settle::endless;
use super::{
    Choice, Decision, DueVerification, Ending, ExpectState, Facts, Kind, Recorded, Runner, Stamp,
    State, Verdict, VerificationAttempt, evaluate, fingerprint, settle,
};
use crate::workflow::{Outcome, Owner, Phase, Workflow, is_tree_name};
use orch_base::{
    Code, Diagnostic, Digest, Hint, Place, RepoPath, TaskId, Timestamp, command, trailer,
};

/// What is known about a task apart from its own files.
#[derive(Clone, Copy)]
pub struct Circumstances<'a> {
    /// Whether the branch has no record of the task: it is evaluated, but nothing is recorded.
    pub untracked: bool,
    /// Whether the files come from a commit or from the index, so that no command can act on them.
    pub past: bool,
    /// The status of the task's last run.
    pub last_run: &'a LastRun,
    /// The commit that had these bytes at a path of the repository, or where the task had this path then, if git has
    /// one.
    pub remembered: &'a dyn Fn(&RepoPath, Digest) -> Option<Remembered>,
    /// Whether there is a file at a path of the repository.
    pub is_file: &'a dyn Fn(&RepoPath) -> bool,
    /// What became of an attempt of a verification on this code that left no result.
    pub verification: &'a dyn Fn(&DueVerification) -> Option<VerificationAttempt>,
    /// The commit that is checked out.
    pub head: &'a dyn Fn() -> Option<Digest>,
    /// Those of these tasks that are done on the base branch, with the name of that branch. Asked only if the task waits for
    /// them.
    pub done_on_base: &'a dyn Fn(&[TaskId]) -> Option<DoneOnBase>,
    /// A finding for each file of the task that git ignores, so that no step can be committed. Asked only if a
    /// transition is due.
    pub ignored: &'a dyn Fn() -> Vec<Diagnostic>,
}

/// Where git has bytes that a file of a task had.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remembered {
    /// The short id of the commit.
    pub commit: String,
    /// The path there, which differs from the current one if the task had another id.
    pub at: RepoPath,
}

/// Tasks that are done on the base branch, which the present branch has not seen.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DoneOnBase {
    /// The name of the base branch, as `git merge` takes it.
    pub branch: String,
    /// The tasks.
    pub tasks: Vec<TaskId>,
}

/// The status of the last run of a task, according to its record.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum LastRun {
    /// There was no run, or its ending does not affect what comes next.
    #[default]
    Settled,
    /// A process is running the task now.
    Driven,
    /// A process is running the task, and waits until then for a limit of an executor.
    Limited {
        /// When it goes on.
        until: Timestamp,
        /// The limit, in words.
        why: String,
    },
    /// The process that ran the task exited without recording how the run ended.
    Interrupted,
    /// The run stopped because nothing changed.
    Stalled {
        /// The reason, in words.
        why: String,
        /// The fingerprints that the run had seen.
        seen: Vec<Digest>,
    },
}

/// A decision under its circumstances.
#[derive(Debug, Clone, PartialEq)]
pub struct CompleteDecision {
    /// The decision, with the commands that are available now.
    pub decision: Decision,
    /// What is known about the runner; `None` if the last run does not affect what comes next.
    pub runner: Option<Runner>,
}

/// Evaluates a task under its circumstances.
///
/// A due transition whose rules go round on the same files is no transition but a livelock, so that every
/// answer says the same as the command that would apply it.
///
/// An untracked task has no record of its own, so the rules are applied as far as its files lead.
#[must_use]
pub fn evaluate_here(
    workflow: &Workflow,
    recorded: &Recorded,
    facts: &Facts,
    circumstances: &Circumstances<'_>,
) -> CompleteDecision {
    let is_usable = !matches!(recorded, Recorded::Lost | Recorded::Broken(_));
    let decision = if circumstances.untracked && is_usable {
        let settled = settle(workflow, recorded, facts, &Stamp::of_no_record(), &|due| {
            !due.by_human
        });
        let message = format!(
            "`{}` has no state on this branch; nothing is recorded for it",
            facts.task
        );
        let mut note = Diagnostic::note(Code::Untracked, message);
        let mut decision = settled.decision;
        if may_be_adopted(&decision) {
            note = note.hint(Hint::run(&["orch", "new", facts.task.as_str()]));
        }
        decision.diagnostics.push(note);
        decision
    } else {
        let first = evaluate(workflow, recorded, facts);
        endless(&first, workflow, recorded, facts).unwrap_or(first)
    };
    complete(workflow, recorded, facts, decision, circumstances)
}

/// Whether `orch new` can record an untracked task: what there is of a record can be used, or converted.
fn may_be_adopted(decision: &Decision) -> bool {
    match decision.verdict {
        Verdict::Error { code } => code == Code::OtherObjectFormat,
        _ => true,
    }
}

/// Completes a decision of [`evaluate()`] or [`settle()`]: adds the commands that are available under these
/// circumstances, and what is known about the runner.
#[must_use]
pub fn complete(
    workflow: &Workflow,
    recorded: &Recorded,
    facts: &Facts,
    mut decision: Decision,
    circumstances: &Circumstances<'_>,
) -> CompleteDecision {
    let runner = match circumstances.past {
        true => None,
        false => runner(workflow, recorded, facts, &decision, circumstances.last_run),
    };
    let restores = if circumstances.past {
        Vec::new()
    } else {
        restores(facts, &decision, circumstances)
    };
    let task = facts.task.as_str();
    if circumstances.untracked {
        // Every other command requires a record.
        let new = choice(
            "new",
            ["orch", "new", task],
            Owner::Human,
            "record the task on this branch",
        );
        decision.options = if may_be_adopted(&decision) {
            vec![new]
        } else {
            Vec::new()
        };
    } else if circumstances.past {
        // A command would act on the present files, not on the past ones that were evaluated.
        decision.options.clear();
    }
    report_lost(workflow, facts, &mut decision, &restores);
    decision
        .options
        .splice(0..0, restores.into_iter().map(|(_, restore)| restore));
    if !circumstances.past {
        note_misplaced(facts, &mut decision, circumstances);
    }
    if !circumstances.past && !circumstances.untracked {
        offer_trailer(facts, &mut decision, circumstances);
    }
    if !circumstances.past && !circumstances.untracked {
        note_attempts(facts, &mut decision, circumstances);
        offer_merge(&mut decision, circumstances);
    }
    // Do not offer to start a run that is in progress or has stalled.
    let is_open = !circumstances.past
        && !circumstances.untracked
        && matches!(runner, None | Some(Runner::Interrupted));
    if let (Verdict::Run(action), true) = (&decision.verdict, is_open) {
        let effect = format!("run `{action}` and everything due after it");
        decision
            .options
            .insert(0, choice("run", ["orch", "run", task], Owner::Orch, effect));
    }
    decision.options.sort_by_key(|option| is_order(option.id));
    if runner == Some(Runner::Interrupted) {
        let message =
            "the process running this task exited; `orch run` resumes after the last recorded step";
        let hint = Hint::run(&["orch", "run", task]);
        decision
            .diagnostics
            .push(Diagnostic::warning(Code::RunInterrupted, message).hint(hint));
    }
    if decision.transition().is_some() && !circumstances.past && !circumstances.untracked {
        hold_ignored(&mut decision, circumstances);
    }
    if let (false, Recorded::Known(state)) = (circumstances.past, recorded) {
        note_failures(workflow, state, facts, &mut decision);
        note_question(state, facts, &mut decision);
    }
    CompleteDecision { decision, runner }
}

/// Notes of each verification that is due whether it runs, or could not run: then a person has to act.
fn note_attempts(facts: &Facts, decision: &mut Decision, circumstances: &Circumstances<'_>) {
    let task = facts.task.as_str();
    let mut failed = Vec::new();
    let mut running = Vec::new();
    for due in &mut decision.verifications {
        due.attempt = (circumstances.verification)(due);
        match &due.attempt {
            Some(VerificationAttempt::CouldNotRun(why)) => {
                failed.push(format!("`{}` could not run: {why}", due.name));
            }
            Some(VerificationAttempt::Running) => running.push(format!("`{}`", due.name)),
            None => {}
        }
    }
    if !running.is_empty() {
        decision.reason = format!("{}; orch runs {}", decision.reason, running.join(", "));
        decision.options.retain(|option| option.id != "verify");
    }
    if failed.is_empty() {
        return;
    }
    if let Verdict::Wait { owner, .. } = &mut decision.verdict {
        *owner = Owner::Human;
    }
    let again = ["orch", "verify", task, "--again"];
    decision.options.retain(|option| option.id != "verify");
    let effect = "try it again on the same code";
    decision
        .options
        .insert(0, choice("verify", again, Owner::Human, effect));
    decision.reason = format!("{}; {}", failed.join("; "), decision.reason);
    for message in failed {
        let finding = Diagnostic::warning(Code::VerificationNotRun, message);
        decision.diagnostics.push(finding.hint(Hint::run(&again)));
    }
}

/// Offers to merge the base branch, if what the task waits for is done there.
fn offer_merge(decision: &mut Decision, circumstances: &Circumstances<'_>) {
    if decision.blocked_by.is_empty() {
        return;
    }
    let Some(done) = (circumstances.done_on_base)(&decision.blocked_by) else {
        return;
    };
    let ids: Vec<String> = done.tasks.iter().map(|id| format!("`{id}`")).collect();
    let verb = if ids.len() == 1 { "is" } else { "are" };
    let argv = ["git", "merge", done.branch.as_str()];
    decision.reason = format!(
        "{}; {} {verb} done on `{}`: {}",
        decision.reason,
        ids.join(", "),
        done.branch,
        command(&argv)
    );
    let effect = format!("bring what is done on {} to this branch", done.branch);
    decision
        .options
        .insert(0, choice("merge", argv, Owner::Agent, effect));
}

/// Holds a due transition whose evidence git ignores: no command of `orch` could commit it.
fn hold_ignored(decision: &mut Decision, circumstances: &Circumstances<'_>) {
    let ignored = (circumstances.ignored)();
    let Some(first) = ignored.first().and_then(|found| found.place.as_ref()) else {
        return;
    };
    decision.reason = format!(
        "git ignores {}, so the transition cannot commit it as evidence",
        first.path
    );
    decision
        .options
        .retain(|option| option.argv.first().is_some_and(|program| program == "git"));
    decision.diagnostics.splice(0..0, ignored);
}

/// Notes what failed last on a task that has come to no good end: the agent that ended the last run, or the action
/// that was given up last.
fn note_failures(workflow: &Workflow, state: &State, facts: &Facts, decision: &mut Decision) {
    let phase = decision.phase.as_ref().and_then(|id| workflow.phase(id));
    if phase.is_some_and(Phase::is_good_end) {
        return;
    }
    // Errors from before the task was reopened are not the cause.
    let error = state.errors.last().filter(|_| state.run.errors > 0);
    if let Some(message) = error.and_then(|error| error["message"].as_str()) {
        let is_final = error.is_some_and(|error| error["recoverable"] == false);
        let message = format!(
            "{message}{}",
            if is_final {
                "; this is not recoverable"
            } else {
                ""
            }
        );
        let mut place = facts
            .place
            .path("state.json")
            .map(|path| Place::file(&path))
            .unwrap_or_default();
        place.pointer = Some(format!("/errors/{}", state.errors.len() - 1));
        decision
            .diagnostics
            .push(Diagnostic::warning(Code::ActionGivenUp, message).at(place));
    }
    let is_over = phase.is_some_and(|phase| phase.terminal);
    if let Some((Ending::Failed, why)) = last_end(state).filter(|_| !is_over) {
        let hint = Hint::run(&["orch", "run", facts.task.as_str()]);
        let message = format!("the last run failed: {why}");
        decision
            .diagnostics
            .push(Diagnostic::warning(Code::RunFailed, message).hint(hint));
    }
}

/// How and why the last run ended, if nothing was recorded since.
fn last_end(state: &State) -> Option<(Ending, &str)> {
    let last = state.history.last().filter(|last| last.kind == Kind::End)?;
    Ending::of_reason(&last.reason)
}

/// Notes what the last run waits for, if the rules would run an action: an executor asked, or gave an order that needs
/// a person.
fn note_question(state: &State, facts: &Facts, decision: &mut Decision) {
    if let (Some((Ending::Waiting, why)), Verdict::Run(_)) = (last_end(state), &decision.verdict) {
        let hint = Hint::run(&["orch", "run", facts.task.as_str()]);
        let message = format!("the last run waits for a person: {why}");
        decision
            .diagnostics
            .push(Diagnostic::warning(Code::RunWaits, message).hint(hint));
    }
}

/// What the last run implies. A stalled run implies nothing once something has changed.
fn runner(
    workflow: &Workflow,
    recorded: &Recorded,
    facts: &Facts,
    decision: &Decision,
    last_run: &LastRun,
) -> Option<Runner> {
    match (last_run, recorded) {
        (LastRun::Driven, _) => Some(Runner::Running),
        (LastRun::Limited { until, why }, _) => Some(Runner::Limited {
            until: *until,
            why: why.clone(),
        }),
        (LastRun::Interrupted, _) => Some(Runner::Interrupted),
        (LastRun::Stalled { why, seen }, Recorded::Known(state)) => {
            let now = fingerprint(workflow, state, facts, decision.rule.as_ref());
            seen.contains(&now).then(|| Runner::Stalled(why.clone()))
        }
        _ => None,
    }
}

/// Offers to name the task of the code, if commits are expected that name it and the newest change of the code names
/// no task: by amending that commit if it is checked out, otherwise in an empty commit, because what would be amended
/// is the commit of something else.
fn offer_trailer(facts: &Facts, decision: &mut Decision, circumstances: &Circumstances<'_>) {
    let is_awaited = decision
        .expects
        .iter()
        .any(|expected| expected.state == ExpectState::Unmet && is_tree_name(&expected.path));
    if !is_awaited {
        return;
    }
    let code = facts
        .artifacts
        .values()
        .flatten()
        .filter(|file| file.is_tree);
    // The newest commit is first.
    let mut newest = code.filter_map(|code| code.data.as_ref()?.pointer("/commits/0").cloned());
    let nameless = newest.find(|commit| commit["tasks"].as_array().is_some_and(Vec::is_empty));
    let Some(nameless) = nameless else {
        return;
    };
    let Some(head) = (circumstances.head)().map(|head| head.to_string()) else {
        return;
    };
    let id = nameless["id"].as_str().unwrap_or_default();
    let trailer = trailer::names_task(&facts.task);
    let offered = if id == head {
        // Without `--only`, git takes staged work along.
        let argv = [
            "git",
            "commit",
            "--amend",
            "--only",
            "--no-edit",
            "--trailer",
            &trailer,
        ];
        choice(
            "trailer",
            argv,
            Owner::Agent,
            "name the task in the last commit",
        )
    } else {
        let short = id.get(..7).unwrap_or(id);
        let subject = format!("{} is the work of {}", short, facts.task);
        let argv = [
            "git",
            "commit",
            "--allow-empty",
            "--only",
            "-m",
            &subject,
            "--trailer",
            &trailer,
        ];
        let effect = format!(
            "name the task of {short}, which is no longer the last commit, in an empty commit"
        );
        choice("trailer", argv, Owner::Agent, effect)
    };
    decision.options.push(offered);
}

/// Notes every missing file that is in a directory above the task, as if its path were relative to that.
fn note_misplaced(facts: &Facts, decision: &mut Decision, circumstances: &Circumstances<'_>) {
    let expects = decision
        .expects
        .iter_mut()
        .filter(|expected| expected.state == ExpectState::Missing);
    for expected in expects.filter(|expected| !is_tree_name(&expected.path)) {
        let Ok(wanted) = facts.place.path(&expected.path) else {
            continue;
        };
        let above = std::iter::successors(facts.place.directory().parent(), RepoPath::parent);
        let found = above
            .filter_map(|directory| directory.join(&expected.path).ok())
            .find(|path| *path != wanted && (circumstances.is_file)(path));
        if let Some(found) = found {
            let message = format!(
                "the file is not in the task; `{}` belongs at {wanted}",
                expected.artifact
            );
            let hint = Hint::run(&["mv", found.as_str(), wanted.as_str()]);
            let finding =
                Diagnostic::warning(Code::ArtifactMisplaced, message).at(Place::file(&found));
            expected.problems.push(finding.hint(hint));
        }
    }
}

/// Says how to restore the evidence of earlier phases that is gone: in the hint of each finding, and in the reason
/// where the next step can be the end of the task, which is closed without that evidence.
fn report_lost(
    workflow: &Workflow,
    facts: &Facts,
    decision: &mut Decision,
    restores: &[(RepoPath, Choice)],
) {
    let mut gone = Vec::new();
    for finding in decision
        .diagnostics
        .iter_mut()
        .filter(|finding| finding.code == Code::EvidenceGone)
    {
        gone.push(finding.message.clone());
        let Some(place) = &finding.place else {
            continue;
        };
        let restore = restores
            .iter()
            .find(|(path, _)| place.path == path.as_str());
        if let Some((_, restore)) = restore {
            let hint = Hint::run(&restore.argv).text("; the task cannot be finished without it");
            finding.hint = Some(hint);
        }
    }
    let mut rules = decision
        .phase
        .iter()
        .flat_map(|phase| workflow.rules_from(phase));
    let may_end = rules.any(|rule| {
        matches!(&rule.outcome, Outcome::To(to) if workflow.phase(to).is_some_and(Phase::is_good_end))
    });
    if gone.is_empty() || !may_end {
        return;
    }
    let mut commands = Vec::new();
    for (path, restore) in restores {
        let mut lost = decision.lost.iter();
        if lost.any(|lost| facts.place.path(&lost.path).as_ref() == Ok(path)) {
            commands.push(command(&restore.argv));
        }
    }
    let how = if commands.is_empty() {
        String::new()
    } else {
        format!(": {}", commands.join("; "))
    };
    // A task that is inconsistent says already what is gone.
    decision.reason = match &decision.verdict {
        Verdict::Inconsistent { .. } => format!("{}{how}", decision.reason),
        _ => format!(
            "{}; the task cannot be finished before it is restored{how}; then: {}",
            gone.join("; "),
            decision.reason
        ),
    };
}

/// For every missing or broken need, and for lost evidence, that git has, its path and the command that restores it.
fn restores(
    facts: &Facts,
    decision: &Decision,
    circumstances: &Circumstances<'_>,
) -> Vec<(RepoPath, Choice)> {
    let broken = match &decision.verdict {
        Verdict::Inconsistent { broken, .. } => broken.as_slice(),
        _ => &[],
    };
    let lost = decision
        .lost
        .iter()
        .filter(|lost| broken.iter().all(|one| one.artifact != lost.artifact));
    let mut restores = Vec::new();
    for need in broken.iter().chain(lost) {
        if let Some(restore) = restore(facts, need, circumstances) {
            restores.push(restore);
        }
    }
    restores
}

/// The path of a need that git has, and the command that restores it.
fn restore(
    facts: &Facts,
    need: &super::BrokenNeed,
    circumstances: &Circumstances<'_>,
) -> Option<(RepoPath, Choice)> {
    let path = facts.place.path(&need.path).ok()?;
    let argv = restoring(&path, &(circumstances.remembered)(&path, need.recorded?)?)?;
    let effect = format!("restore the previous {}", need.artifact);
    let argv = argv.iter().map(String::as_str);
    Some((path, choice("restore", argv, Owner::Human, effect)))
}

/// The command that writes to `path` what a commit has; `None` if the path there has another name, because git restores
/// a file only under its own.
fn restoring(path: &RepoPath, Remembered { commit, at }: &Remembered) -> Option<Vec<String>> {
    if at == path {
        return Some(
            ["git", "restore", "-s", commit, "--", path.as_str()]
                .map(str::to_owned)
                .to_vec(),
        );
    }
    let now: Vec<&str> = path.as_str().split('/').collect();
    let then: Vec<&str> = at.as_str().split('/').collect();
    let same = now
        .iter()
        .rev()
        .zip(then.iter().rev())
        .take_while(|(one, other)| one == other)
        .count();
    let (directory, name) = now.split_at(now.len() - same);
    let former = &then[..then.len() - same];
    if name.is_empty() || directory.is_empty() || former.is_empty() {
        return None;
    }
    // The tree of the former directory, as if the current one were the whole work tree.
    let tree = format!("{commit}:{}", former.join("/"));
    let directory = directory.join("/");
    let name = format!(":/{}", name.join("/"));
    let words = [
        "git",
        "--work-tree",
        &directory,
        "restore",
        "-s",
        &tree,
        "--",
        &name,
    ];
    Some(words.map(str::to_owned).to_vec())
}

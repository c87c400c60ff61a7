//! What lies around a task and counts in what is said of it: the branch, the source, its last run.
//!
//! The rules see none of it. It decides which commands may be typed now, and what is worth noting.

use super::judge::choice;
use super::{Choice, Decision, Facts, Recorded, Stamp, Verdict, evaluate, fingerprint, settle};
use crate::base::{Code, Diagnostic, Digest, RepoPath, command};
use crate::workflow::{Owner, Workflow};

/// What is known of a task beside its own files.
#[derive(Clone, Copy)]
pub struct Circumstances<'a> {
    /// Whether the branch holds no state of it: judged, but nothing is recorded for it.
    pub untracked: bool,
    /// Whether its files come from a commit or from the index, so that no command can act on them.
    pub past: bool,
    /// How its last run stands.
    pub last_run: &'a LastRun,
    /// The commit, in short, in which these bytes lay at a path of the repository, if git remembers one.
    pub remembered: &'a dyn Fn(&RepoPath, Digest) -> Option<String>,
}

/// How the last run of a task stands, as its record says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum LastRun {
    /// There was none, or it ended in a way that says nothing of what comes next.
    #[default]
    Settled,
    /// A process drives it now.
    Driven,
    /// The process that drove it is gone, and did not say how the run ended.
    Interrupted,
    /// It stopped because nothing changed.
    Stalled {
        /// Why, in words.
        why: String,
        /// The fingerprints that it had seen.
        seen: Vec<Digest>,
    },
}

/// What is known of whoever drives a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Runner {
    /// A process drives it now.
    Running,
    /// The last run stopped because nothing changed, and nothing has changed since; why.
    Stalled(String),
    /// The process that drove it is gone, and did not say how the run ended.
    Interrupted,
}

/// A decision under its circumstances.
#[derive(Debug, Clone, PartialEq)]
pub struct Judgement {
    /// What the rules say, and what may be typed now.
    pub decision: Decision,
    /// What is known of the task's runner; none where its last run says nothing of what comes next.
    pub runner: Option<Runner>,
}

/// Decides for a task under its circumstances.
///
/// An untracked task has no record of its own, so the rules are followed as far as its files lead.
#[must_use]
pub fn judge(
    workflow: &Workflow,
    recorded: &Recorded,
    facts: &Facts,
    circumstances: &Circumstances<'_>,
) -> Judgement {
    let is_usable = !matches!(recorded, Recorded::Lost | Recorded::Broken(_));
    let decision = if circumstances.untracked && is_usable {
        let settled = settle(workflow, recorded, facts, &Stamp::of_no_record(), &|due| !due.by_human);
        let message = format!("no state of `{}` is on this branch; nothing is recorded for it", facts.task);
        let note = Diagnostic::note(Code::Untracked, message);
        let note = note.hint(command(&["orch", "new", facts.task.as_str()]));
        let mut decision = settled.decision;
        decision.diagnostics.push(note);
        decision
    } else {
        evaluate(workflow, recorded, facts)
    };
    conclude(workflow, recorded, facts, decision, circumstances)
}

/// Finishes a decision that [`evaluate`] or [`settle`] has made: what may be typed under these
/// circumstances, and what is known of the runner.
#[must_use]
pub fn conclude(
    workflow: &Workflow,
    recorded: &Recorded,
    facts: &Facts,
    mut decision: Decision,
    circumstances: &Circumstances<'_>,
) -> Judgement {
    let runner = match circumstances.past {
        true => None,
        false => runner(workflow, recorded, facts, (&decision, circumstances.last_run)),
    };
    let restores = if circumstances.past { Vec::new() } else { restores(facts, &decision, circumstances) };
    let task = facts.task.as_str();
    if circumstances.untracked {
        // Whatever else may be typed for it begins with a record.
        let new = choice("new", ["orch", "new", task], Owner::Human, "record the task on this branch");
        decision.options = vec![new];
    } else if circumstances.past {
        // What is looked at is past: a command would act on the present.
        decision.options.clear();
    }
    decision.options.splice(0..0, restores);
    // What goes on by itself, or has come to nothing, is not begun once more.
    let is_open =
        !circumstances.past && !circumstances.untracked && matches!(runner, None | Some(Runner::Interrupted));
    if let (Verdict::Run(action), true) = (&decision.verdict, is_open) {
        let effect = format!("perform `{action}`, and what is due after it");
        decision.options.insert(0, choice("run", ["orch", "run", task], Owner::Orch, effect));
    }
    if runner == Some(Runner::Interrupted) {
        let message = "the process that ran this task is gone; the run goes on where it stood";
        let hint = command(&["orch", "run", task]);
        decision.diagnostics.push(Diagnostic::warning(Code::RunInterrupted, message).hint(hint));
    }
    Judgement { decision, runner }
}

/// What the last run says of what comes next. One that stalled says nothing once something has changed.
fn runner(
    workflow: &Workflow,
    recorded: &Recorded,
    facts: &Facts,
    (decision, last_run): (&Decision, &LastRun),
) -> Option<Runner> {
    match (last_run, recorded) {
        (LastRun::Driven, _) => Some(Runner::Running),
        (LastRun::Interrupted, _) => Some(Runner::Interrupted),
        (LastRun::Stalled { why, seen }, Recorded::Known(state)) => {
            let now = fingerprint(workflow, state, facts, decision.rule.as_ref());
            seen.contains(&now).then(|| Runner::Stalled(why.clone()))
        }
        _ => None,
    }
}

/// For every missing or broken need that git remembers, the command that brings it back.
fn restores(facts: &Facts, decision: &Decision, circumstances: &Circumstances<'_>) -> Vec<Choice> {
    let Verdict::Inconsistent { broken, .. } = &decision.verdict else { return Vec::new() };
    let restore = |need: &super::BrokenNeed| {
        let path = facts.directory.join(&need.path).ok()?;
        let commit = (circumstances.remembered)(&path, need.recorded?)?;
        let argv = ["git", "restore", "-s", &commit, "--", path.as_str()];
        let effect = format!("bring back the {} that was there", need.artifact);
        Some(choice("restore", argv, Owner::Human, effect))
    };
    broken.iter().filter_map(restore).collect()
}

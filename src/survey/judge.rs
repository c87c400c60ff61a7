//! Judging one task: read its bytes once, decide, and say where it stands.

use super::Workspace;
use super::evidence::with_own_line_endings;
use super::snapshot::Sight;
use super::{Error, Loaded, TaskRef};
use crate::base::{Code, Diagnostic, Digest, Place, RuleId, command};
use crate::decide::{
    Choice, Decision, Ending, Recorded, Stamp, State, Verdict, evaluate, fingerprint, settle,
};
use crate::record::has_lost_events;
use crate::run::RunFiles;
use crate::scan::Observed;
use crate::store::{Store, durable};
use crate::workflow::{Owner, Workflow};
use std::sync::Arc;

/// One task, judged.
pub struct Judged {
    /// The task.
    pub task: TaskRef,
    /// The workflow that judged it.
    pub loaded: Arc<Loaded>,
    /// What was recorded.
    pub recorded: Recorded,
    /// The bytes and facts that were judged.
    pub observed: Observed,
    /// What the rules say.
    pub decision: Decision,
    /// Whether the current branch holds no log of it: judged, but never written or committed.
    pub untracked: bool,
    /// Whether the current branch holds exactly this log.
    pub is_committed: bool,
    /// What is known of its runner.
    pub runner: Option<Runner>,
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

impl Judged {
    /// The recorded state, if there is a usable one.
    #[must_use]
    pub fn state(&self) -> Option<&State> {
        match &self.recorded {
            Recorded::Known(state) => Some(state),
            _ => None,
        }
    }

    /// The title for people.
    #[must_use]
    pub fn title(&self) -> Option<&str> {
        self.state()?.title.as_deref()
    }

    /// Whether `state.json` does not hold the state that the log folds to.
    #[must_use]
    pub fn is_state_stale(&self) -> bool {
        let codes = [Code::StateFolded, Code::StateEdited];
        self.decision.diagnostics.iter().any(|found| codes.contains(&found.code))
    }

    /// Whether committed code may move it.
    #[must_use]
    pub fn rests_on_code(&self) -> bool {
        let has_tree =
            |workflow: &Workflow| workflow.artifacts.iter().any(|artifact| artifact.tree.is_some());
        self.workflow().is_some_and(has_tree) && !self.decision.is_done()
    }

    /// The workflow that judged it.
    #[must_use]
    pub fn workflow(&self) -> Option<&Workflow> {
        self.loaded.workflow.as_ref()
    }
}

/// What is recorded, unless the log has lost events that HEAD holds: going on would commit the loss.
fn still_whole(
    store: &Store,
    task: &TaskRef,
    observed: &Observed,
    held: Digest,
    recorded: Recorded,
) -> Result<Recorded, Error> {
    let Some(log) = &observed.transcript else { return Ok(Recorded::Lost) };
    let path = task.transcript_path()?;
    let held = store.blob(held)?.unwrap_or_default();
    if !has_lost_events(&held, &with_own_line_endings(log.into())) {
        return Ok(recorded);
    }
    // Another process may have moved the branch since the log was read: then its journal says so, or its files
    // lie there by now. What is decided on the older log is decided again before it is committed.
    let now = durable::read_regular(&path.under(store.root())).unwrap_or_default();
    if store.has_journal() || !has_lost_events(&held, &with_own_line_endings(now.into())) {
        return Ok(recorded);
    }
    let message = "it has lost events that HEAD holds; a log only grows";
    let restore = command(&["git", "restore", "--", path.as_str()]);
    let recover = command(&["orch", "recover", task.id.as_str()]);
    let found = Diagnostic::error(Code::TranscriptCut, message).at(Place::file(&path));
    Ok(Recorded::Broken(vec![found.hint(format!("{restore}, or: {recover}"))]))
}

impl Workspace {
    /// Judges a task by its files, as the engine's source holds them.
    ///
    /// An untracked task has no record of its own, so the rules are followed as far as its files lead.
    pub fn judge(&self, task: &TaskRef) -> Result<Judged, Error> {
        let _span = tracing::debug_span!("judge", task = %task.id).entered();
        let judged =
            self.conclude(task, self.snapshot(|snapshot| snapshot.observe(task))?, self.reads_work_dir())?;
        let Decision { phase, rule, verdict, .. } = &judged.decision;
        let (phase, rule) =
            (phase.as_ref().map(|phase| phase.as_str()), rule.as_ref().map(|rule| rule.as_str()));
        tracing::debug!(phase, verdict = verdict.name(), rule, "judged");
        Ok(judged)
    }

    /// Decides on what was seen. Only in the work directory HEAD is another source that counts.
    pub(crate) fn conclude(&self, task: &TaskRef, seen: Sight, in_work_dir: bool) -> Result<Judged, Error> {
        let Sight { loaded, mut recorded, observed } = seen;
        let Some(workflow) = &loaded.workflow else { return Err(loaded.faulty()) };
        let record = task.transcript_path()?;
        let at_head = match (&self.store, in_work_dir && self.commits()) {
            (Some(store), true) => Some(store.blob_at_head(&record)?),
            _ => None,
        };
        let present = match (&self.store, &observed.transcript) {
            (Some(store), Some(log)) if at_head.flatten().is_some() => Some(store.digest(&record, log)?),
            _ => None,
        };
        if let (Some(store), Some(Some(held))) = (&self.store, at_head)
            && present != Some(held)
            && !matches!(recorded, Recorded::Broken(_) | Recorded::Lost)
        {
            recorded = still_whole(store, task, &observed, held, recorded)?;
        }
        let untracked = match &at_head {
            Some(blob) => blob.is_none(),
            None => !observed.has_transcript,
        };
        let mut decision = if untracked && !matches!(recorded, Recorded::Lost | Recorded::Broken(_)) {
            let stamp = Stamp::of_no_record();
            let mut settled =
                settle(workflow, &recorded, &observed.facts, &stamp, &|due| !due.by_human).decision;
            let message = format!("no state of `{}` is on this branch; nothing is recorded for it", task.id);
            settled.diagnostics.push(Diagnostic::note(Code::Untracked, message).hint(command(&[
                "orch",
                "new",
                task.id.as_str(),
            ])));
            settled
        } else {
            evaluate(workflow, &recorded, &observed.facts)
        };
        let is_committed = match (&at_head, &observed.transcript, &self.store) {
            (Some(Some(held)), Some(_), Some(_)) => present == Some(*held),
            // What a commit holds is committed; what is staged is not yet.
            (None, Some(_), Some(_)) => !in_work_dir,
            _ => false,
        };
        let restores = if in_work_dir { self.restores(task, &decision)? } else { Vec::new() };
        if untracked {
            // Whatever else may be typed for it begins with a record.
            decision.options.clear();
            let argv = ["orch", "new", task.id.as_str()].map(str::to_owned).to_vec();
            let effect = "record the task on this branch".to_owned();
            decision.options.push(Choice { id: "new", argv, by: Owner::Human, effect });
        } else if !in_work_dir {
            // What is looked at is past: a command would act on the present.
            decision.options.clear();
        }
        decision.options.splice(0..0, restores);
        let runner = if in_work_dir {
            self.runner(task, workflow, (&recorded, &observed), decision.rule.as_ref())
        } else {
            None
        };
        // What goes on by itself, or has come to nothing, is not begun once more.
        let is_open = in_work_dir && !untracked && matches!(runner, None | Some(Runner::Interrupted));
        if let (Verdict::Run(action), true) = (&decision.verdict, is_open) {
            let argv = ["orch", "run", task.id.as_str()].map(str::to_owned).to_vec();
            let effect = format!("perform `{action}`, and what is due after it");
            decision.options.insert(0, Choice { id: "run", argv, by: Owner::Orch, effect });
        }
        if runner == Some(Runner::Interrupted) {
            let message = "the process that ran this task is gone; the run goes on where it stood";
            let hint = command(&["orch", "run", task.id.as_str()]);
            decision.diagnostics.push(Diagnostic::warning(Code::RunInterrupted, message).hint(hint));
        }
        Ok(Judged {
            task: task.clone(),
            loaded: Arc::clone(&loaded),
            recorded,
            observed,
            decision,
            untracked,
            is_committed,
            runner,
        })
    }

    /// What is known of whoever drives a task; nothing, where that is this process.
    fn runner(
        &self,
        task: &TaskRef,
        workflow: &Workflow,
        (recorded, observed): (&Recorded, &Observed),
        rule: Option<&RuleId>,
    ) -> Option<Runner> {
        let files = RunFiles::of(&self.root, &task.directory);
        let run = files.read().ok()??;
        match (run.ended(), recorded) {
            (None, _) if files.is_driven() => Some(Runner::Running),
            (None, _) => Some(Runner::Interrupted),
            (Some((Ending::Stalled, why)), Recorded::Known(state)) => {
                let fingerprint = fingerprint(workflow, state, &observed.facts, rule);
                let stands = run.usage.seen.iter().any(|(_, seen)| *seen == fingerprint);
                stands.then(|| Runner::Stalled(why.to_owned()))
            }
            _ => None,
        }
    }

    /// For every missing or broken need that git remembers, the command that brings it back.
    fn restores(&self, task: &TaskRef, decision: &Decision) -> Result<Vec<Choice>, Error> {
        let (Some(store), Verdict::Inconsistent { broken, .. }) = (&self.store, &decision.verdict) else {
            return Ok(Vec::new());
        };
        let mut choices = Vec::new();
        for need in broken {
            let Some(digest) = need.recorded else { continue };
            let Ok(path) = task.directory.join(&need.path) else { continue };
            if let Some(commit) = store.commit_holding(&path, digest)? {
                let argv = ["git", "restore", "-s", &commit.short(), "--", path.as_str()]
                    .map(str::to_owned)
                    .to_vec();
                let effect = format!("bring back the {} that was there", need.artifact);
                choices.push(Choice { id: "restore", argv, by: Owner::Human, effect });
            }
        }
        Ok(choices)
    }
}

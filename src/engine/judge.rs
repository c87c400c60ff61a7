//! Judging one task: read its bytes once, decide, and say where it stands.

use super::{Engine, Error, Loaded, TaskRef};
use crate::base::{Diagnostic, Digest, Place, RepoPath, command, shell_word};
use crate::decide::{Choice, Decision, Recorded, State, Verdict, evaluate, settle};
use crate::record::{STATE_FILE, read_state};
use crate::scan::{Clean, Content, Observed, Source, WorkDir, observe, parse_json};
use crate::store::Store;
use crate::workflow::{Owner, Workflow};
use std::rc::Rc;

/// One task, judged.
pub struct Judged {
    /// The task.
    pub task: TaskRef,
    /// The workflow that judged it.
    pub loaded: Rc<Loaded>,
    /// What was recorded.
    pub recorded: Recorded,
    /// The bytes and facts that were judged.
    pub observed: Observed,
    /// What the rules say.
    pub decision: Decision,
    /// Whether the current branch knows no state of it: judged, but never written or committed.
    pub unborn: bool,
    /// Whether the current branch holds exactly this state.
    pub is_committed: bool,
    /// Commands that bring back what is missing, found in history.
    pub restores: Vec<Choice>,
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

    /// The workflow that judged it.
    #[must_use]
    pub fn workflow(&self) -> Option<&Workflow> {
        self.loaded.workflow.as_ref()
    }
}

/// Digests as `git add` would store them.
struct AsGit<'s>(&'s Store);

impl Clean for AsGit<'_> {
    fn digest(&self, path: &RepoPath, bytes: &[u8]) -> Result<Digest, String> {
        self.0.digest(path, bytes).map_err(|error| error.to_string())
    }
}

impl Engine {
    /// Judges a task by its files in the work directory.
    ///
    /// An unborn task has no record of its own, so the rules are followed as far as its files lead.
    pub fn judge(&self, task: &TaskRef) -> Result<Judged, Error> {
        match &self.store {
            Some(store) => self.judge_in(task, &WorkDir::new(&self.root, &AsGit(store))),
            None => self.judge_in(task, &WorkDir::new(&self.root, &crate::scan::Raw)),
        }
    }

    fn judge_in(&self, task: &TaskRef, source: &dyn Source) -> Result<Judged, Error> {
        let mut name = self.recorded_workflow(source, task)?.unwrap_or_else(|| task.workflow.to_string());
        // The state is read again with everything else; should it have changed in between, so may
        // the workflow that it names.
        for _ in 0..3 {
            let loaded = self.workflow(&name)?;
            let (Some(workflow), Some(matcher)) = (&loaded.workflow, &loaded.matcher) else {
                return Err(faulty(&loaded));
            };
            let observed = observe(
                source,
                workflow,
                matcher,
                &self.schemas,
                &self.verdicts,
                &task.id,
                &task.directory,
                &self.limits(),
            )?;
            refuse_faulty_schema(&observed, self.config.system.as_str())?;
            let recorded = self.recorded(task, workflow, &observed)?;
            if let Recorded::Known(state) = &recorded
                && let Some(named) = state.workflow.as_ref().filter(|named| named.name.as_str() != name)
            {
                name = named.name.to_string();
                continue;
            }
            return self.conclude(task, Rc::clone(&loaded), recorded, observed);
        }
        let message = format!("the state of `{}` names another workflow at every look", task.id);
        Err(Error::NotNow { code: "unstable", message, hint: None })
    }

    fn conclude(
        &self,
        task: &TaskRef,
        loaded: Rc<Loaded>,
        recorded: Recorded,
        observed: Observed,
    ) -> Result<Judged, Error> {
        let Some(workflow) = &loaded.workflow else { return Err(faulty(&loaded)) };
        let state_path = state_path(task)?;
        let at_head = match (&self.store, self.commits()) {
            (Some(store), true) => Some(store.blob_at_head(&state_path)?),
            _ => None,
        };
        let unborn = match &at_head {
            Some(blob) => blob.is_none(),
            None => observed.state.is_none(),
        };
        let mut decision = if unborn && !matches!(recorded, Recorded::Lost | Recorded::Broken(_)) {
            let stamp = self.caller.own_stamp();
            let mut settled =
                settle(workflow, &recorded, &observed.facts, &stamp, &|due| !due.by_human).decision;
            let message = format!("no state of `{}` is on this branch; nothing is recorded for it", task.id);
            settled.diagnostics.push(Diagnostic::note("unborn", message).hint(command(&[
                "orch",
                "new",
                task.id.as_str(),
            ])));
            settled
        } else {
            evaluate(workflow, &recorded, &observed.facts)
        };
        let is_committed = match (&at_head, &observed.state, &self.store) {
            (Some(Some(blob)), Some(state), Some(store)) => store.digest(&state_path, &state.bytes)? == *blob,
            _ => false,
        };
        let restores = self.restores(task, &decision)?;
        decision.options.splice(0..0, restores.iter().cloned());
        Ok(Judged {
            task: task.clone(),
            loaded,
            recorded,
            observed,
            decision,
            unborn,
            is_committed,
            restores,
        })
    }

    /// The workflow that a state names, without judging the rest of it.
    fn recorded_workflow(&self, source: &dyn Source, task: &TaskRef) -> Result<Option<String>, Error> {
        let Ok(Content::Bytes(bytes)) = source.read(&state_path(task)?, self.config.limit_bytes) else {
            return Ok(None);
        };
        let value: Option<serde_json::Value> = serde_json::from_slice(&bytes).ok();
        Ok(value.and_then(|value| Some(value.pointer("/workflow/name")?.as_str()?.to_owned())))
    }

    fn recorded(&self, task: &TaskRef, workflow: &Workflow, observed: &Observed) -> Result<Recorded, Error> {
        let Some(file) = &observed.state else {
            if observed.has_transcript {
                return Ok(Recorded::Lost);
            }
            // A state that the branch knows and the work directory lacks was lost, not never there.
            let known = match (&self.store, self.commits()) {
                (Some(store), true) => store.blob_at_head(&state_path(task)?)?.is_some(),
                _ => false,
            };
            return Ok(if known { Recorded::Lost } else { Recorded::New });
        };
        if !file.problems.is_empty() {
            return Ok(Recorded::Broken(file.problems.clone()));
        }
        let path = state_path(task)?;
        let (value, problems) = parse_json(&path, &file.bytes);
        let Some(value) = value else { return Ok(Recorded::Broken(with_ways_out(task, problems))) };
        let text = String::from_utf8_lossy(&file.bytes);
        Ok(match read_state(&value, &text, &workflow.phase_key) {
            Ok(state) => Recorded::Known(Box::new(state)),
            Err(faults) => {
                let diagnostics = faults.into_iter().map(|fault| {
                    let (offset, length) = crate::scan::span(&text, &fault.pointer).unwrap_or((0, 0));
                    let mut place = Place::at(path.as_str(), &text, offset, length);
                    place.pointer = Some(fault.pointer);
                    Diagnostic::error(fault.code, fault.message).at(place)
                });
                Recorded::Broken(with_ways_out(task, diagnostics.collect()))
            }
        })
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

/// A schema that cannot be used is a fault of the workflow, and says nothing about any artifact.
fn refuse_faulty_schema(observed: &Observed, system: &str) -> Result<(), Error> {
    let problems = observed.facts.artifacts.values().flatten().flat_map(|file| &file.problems);
    let is_fault = |problem: &&Diagnostic| {
        matches!(problem.code, "schema-invalid" | "schema-remote-ref" | "schema-cycle")
    };
    let mut faults = problems.filter(is_fault);
    let Some(fault) = faults.next() else { return Ok(()) };
    let mut fault = fault.clone();
    if let Some(place) = &mut fault.place {
        place.path = format!("{system}/{}", place.path);
        fault.message = format!("{}: {}", place.path, fault.message);
    }
    Err(fault.into())
}

/// The path of a task's state.
pub(super) fn state_path(task: &TaskRef) -> Result<RepoPath, Error> {
    task.directory.join(STATE_FILE).map_err(|error| Diagnostic::error("path", error.to_string()).into())
}

fn with_ways_out(task: &TaskRef, mut diagnostics: Vec<Diagnostic>) -> Vec<Diagnostic> {
    let state = shell_word(&format!("{}/{STATE_FILE}", task.directory));
    let way = format!("git restore {state}, or: orch recover {}", shell_word(task.id.as_str()));
    for diagnostic in diagnostics.iter_mut().filter(|diagnostic| diagnostic.hint.is_none()) {
        diagnostic.hint = Some(way.clone());
    }
    diagnostics
}

/// The error for a workflow whose document has errors.
pub(super) fn faulty(loaded: &Loaded) -> Error {
    let name = &loaded.document.name;
    let first = loaded.problems.iter().find(|problem| problem.is_error());
    let message = match first {
        Some(first) => format!("workflow `{name}` has errors: {first}"),
        None => format!("workflow `{name}` cannot be used"),
    };
    Diagnostic::error("workflow-faulty", message)
        .hint(format!("orch workflow check {}", shell_word(name)))
        .into()
}

//! The new events of a log, and the files that they recorded.

use super::archive::Archive;
use crate::survey::snapshot::Snapshot;
use crate::survey::{CodeAt, Error, Loaded, TaskRef};
use orch_base::{ArtifactName, Digest, TaskId};
use orch_core::decide::{HistoryEntry, Kind, Recorded, State};
use orch_core::record::LogEvent;
use orch_files::FileSet;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::sync::Arc;

/// An event that the log of no side contains.
pub(super) struct NewStep {
    pub event: LogEvent,
    /// The state before it; `None` for the first event of a new task. If the workflow that joins several
    /// branches is missing, the state after the first of them.
    pub before: Option<Arc<State>>,
    /// Why the branches that it follows cannot be joined.
    pub disputed: Option<String>,
    /// The state after it.
    pub state: Arc<State>,
    /// The digests that it recorded.
    pub noted: NotedDigests,
    /// Whether it comes from another branch, so it does not follow the heads of the parent commit.
    pub is_aside: bool,
}

impl NewStep {
    pub(super) fn entry(&self) -> &Arc<HistoryEntry> {
        &self.event.entry
    }

    /// Whether it uses up a digest that the state before it has in some `left_with`.
    pub(super) fn spends_what_was_left(&self, artifact: &ArtifactName, digest: Digest) -> bool {
        let actors = self.before.iter().flat_map(|before| before.actors.values());
        let mut left = actors.map(|actor| actor.left_with.get(artifact));
        self.noted.is_spent_only(artifact, digest) && left.any(|left| left == Some(&Some(digest)))
    }

    pub(super) fn recorded(&self) -> Recorded {
        let known = |state: &Arc<State>| Recorded::Known(Box::new(State::clone(state)));
        self.before.as_ref().map_or(Recorded::New, known)
    }
}

/// New events that are to be derived again.
pub(super) struct NewSteps<'a> {
    pub task: &'a TaskRef,
    /// The commits at which a search for an ancestor starts.
    pub parents: &'a [Digest],
    /// The snapshots of all parents.
    pub befores: &'a [Snapshot<'a>],
    /// The parent whose settings and code are used.
    pub before: Snapshot<'a>,
    pub after: Snapshot<'a>,
    /// The code of the commit itself.
    pub own_code: CodeAt<'a>,
    pub archive: &'a Archive<'a>,
    /// The ids under which the task was recorded before its directory was moved without `orch rename`, by
    /// commits that are not in this history.
    pub moved_from: Vec<TaskId>,
    /// Whether no side has a log of the task.
    pub is_new_task: bool,
    /// The events, each after the events that it follows.
    pub steps: Vec<NewStep>,
    /// The files of the task after each derived step; `None` for the files of the commit.
    pub held_after: RefCell<HashMap<Digest, Option<FileSet>>>,
    /// The steps that derive from the files of the commit only if these were edited after the step.
    pub edited: RefCell<HashSet<Digest>>,
}

impl NewSteps<'_> {
    /// Reads the events `added`, which a log has beside those that end at `heads`. `foreign` is the state
    /// that the first event of a task may have adopted. Returns an error if one of them cannot be a step of
    /// any workflow.
    pub(super) fn read(
        &mut self,
        added: &[Digest],
        heads: &[Digest],
        foreign: Option<&State>,
    ) -> Result<(), String> {
        let new: HashSet<&Digest> = added.iter().collect();
        let mut aside: HashSet<Digest> = HashSet::new();
        for id in added {
            let step = self.read_one(id, foreign, heads.is_empty())?;
            let (within, without): (Vec<&Digest>, Vec<&Digest>) =
                step.event.after.iter().partition(|id| new.contains(id));
            let goes_on = within.iter().all(|id| !aside.contains(*id));
            let is_aside = !goes_on
                || (within.is_empty() && step.event.after != heads)
                || without.iter().any(|id| !heads.contains(id));
            if is_aside {
                aside.insert(*id);
            }
            self.steps.push(NewStep { is_aside, ..step });
        }
        Ok(())
    }

    /// Reads one event. `is_first` says that no parent commit has a log of the task.
    fn read_one(
        &self,
        id: &Digest,
        foreign: Option<&State>,
        is_first: bool,
    ) -> Result<NewStep, String> {
        let pool = self.archive.logs();
        let event = pool
            .event(id)
            .map(|event| event.clone())
            .ok_or("an event is missing")?;
        let named = |why: String| format!("step {}: {why}", event.entry.seq);
        // The state before it is folded first, so that the state after it needs only its own changes.
        let first = event
            .after
            .first()
            .map(|first| pool.state_at(first))
            .transpose();
        let state = pool.state_at(id).map_err(|why| named(why.to_string()))?;
        let first = first.map_err(|why| named(why.to_string()))?;
        if pool.tips(&event.after) != event.after {
            return Err(named(
                "its `after` does not list exactly the heads that it follows".to_owned(),
            ));
        }
        // The two states determine its changes and its text.
        let canonical = LogEvent::new(event.after.clone(), first.as_deref(), &state);
        if canonical.is_none_or(|canonical| canonical.id != event.id) {
            return Err(named(
                "its line in transcript.jsonl contains something that no step writes".to_owned(),
            ));
        }
        let loaded = self.workflow_of(&event);
        let workflow = loaded.as_ref().and_then(|loaded| loaded.workflow());
        let (before, disputed) = match pool.fold(workflow, &event.after) {
            Ok(Some(state)) if is_first && event.entry.kind == Kind::Create => {
                // The task was recorded before the repository knew it, and is adopted as it was.
                (
                    Some(Arc::new(State {
                        foreign: true,
                        ..Arc::unwrap_or_clone(state)
                    })),
                    None,
                )
            }
            Ok(before) => (before.or_else(|| foreign.cloned().map(Arc::new)), None),
            Err(why) => (first, Some(why)),
        };
        // What a step only records under another name, it does not note.
        let own_names = before
            .as_deref()
            .zip(workflow)
            .map(|(before, workflow)| before.under_own_names(workflow));
        let noted = NotedDigests::since(own_names.as_deref().or(before.as_deref()), &state);
        Ok(NewStep {
            event,
            before,
            disputed,
            state,
            noted,
            is_aside: false,
        })
    }

    pub(super) fn workflow_of(&self, event: &LogEvent) -> Option<Arc<Loaded>> {
        let named = &event.workflow;
        // The steps of a branch may use the workflow of that branch.
        let befores = std::iter::once(&self.before).chain(self.befores);
        let mut settings = befores.map(|before| before.setting);
        let found = settings.find_map(|setting| {
            self.archive
                .workflow(setting, named.name.as_str(), named.digest)
        });
        if found.is_some() || event.entry.kind != Kind::Rename {
            return found;
        }
        // A finished task may move although its document is gone.
        self.archive
            .removed_workflow(*self.parents.first()?, self.before.setting, named)
    }

    /// The task under the id that it had at a step: a later step may have renamed it, or git moved it.
    pub(super) fn task_then(&self, step: &NewStep) -> TaskRef {
        let Some(id) = self.other_id(step) else {
            return self.task.clone();
        };
        let is_former = self.moved_from.contains(&id) || self.is_renamed_after(step);
        if is_former {
            self.task.with_id(id)
        } else {
            self.task.clone()
        }
    }

    /// The id that a step recorded, if it is not that of the task.
    fn other_id(&self, step: &NewStep) -> Option<TaskId> {
        let recorded = step
            .state
            .task
            .as_deref()
            .filter(|recorded| *recorded != self.task.id.as_str())?;
        TaskId::new(recorded).ok()
    }

    /// Whether a step after this one renamed the task.
    fn is_renamed_after(&self, step: &NewStep) -> bool {
        self.steps.iter().any(|later| {
            later.entry().kind == Kind::Rename
                && later.entry().seq > step.entry().seq
                && later.state.task.as_deref() == Some(self.task.id.as_str())
        })
    }

    /// Whether a step was recorded before git moved the directory of the task.
    pub(super) fn is_before_move(&self, step: &NewStep) -> bool {
        self.other_id(step)
            .is_some_and(|id| self.moved_from.contains(&id))
            && !self.is_renamed_after(step)
    }

    /// Finds `moved_from`: the other ids that the steps record, except those of tasks that are still here and
    /// those whose log in the history has one of these steps. The steps of such a task were copied.
    pub(super) fn find_moves(&mut self) -> Result<(), Error> {
        let mut recorded: BTreeMap<TaskId, HashSet<Digest>> = BTreeMap::new();
        for step in self
            .steps
            .iter()
            .filter(|step| !self.is_renamed_after(step))
        {
            if let Some(id) = self.other_id(step) {
                recorded.entry(id).or_default().insert(step.event.id);
            }
        }
        let pool = self.archive.logs();
        for (id, steps) in recorded {
            let Some(place) = self.after.place_of(self.task, &id) else {
                continue;
            };
            if self.after.search().task_at(place.directory())?.is_some() {
                continue;
            }
            let copied = self.archive.log_before(self.parents, &place, |_, log| {
                !pool.ids(&pool.read(log, None)).is_disjoint(&steps)
            })?;
            if copied.is_none() {
                self.moved_from.push(id);
            }
        }
        Ok(())
    }

    /// The new steps that lead to a step, and the step itself as the last.
    pub(super) fn line(&self, index: usize) -> Vec<&NewStep> {
        let own = &self.steps[index];
        let mut open: Vec<&Digest> = own.event.after.iter().collect();
        let mut line = vec![own];
        for step in self.steps[..index].iter().rev() {
            if open.contains(&&step.event.id) {
                open.extend(&step.event.after);
                line.insert(0, step);
            }
        }
        line
    }
}

/// The digests of artifacts that a step recorded, apart from its evidence.
#[derive(Default)]
pub(super) struct NotedDigests {
    /// The digests with which a phase was entered or left; `None` for an absent artifact.
    seen: BTreeMap<ArtifactName, Option<Digest>>,
    /// The digests that were used up; of an artifact with several files, one for each.
    spent: BTreeMap<ArtifactName, Vec<Digest>>,
}

impl NotedDigests {
    /// The digests that a state records and the state before it does not.
    pub(super) fn since(before: Option<&State>, after: &State) -> Self {
        let mut noted = Self::default();
        let earlier = |phase: &String| before.and_then(|before| before.actors.get(phase));
        // `left_with` overwrites `entered_with`, because it holds a file where `entered_with` may hold code.
        for (phase, actor) in &after.actors {
            for (artifact, digest) in &actor.entered_with {
                if earlier(phase).and_then(|old| old.entered_with.get(artifact)) != Some(digest) {
                    noted.seen.insert(artifact.clone(), *digest);
                }
            }
        }
        for (phase, actor) in &after.actors {
            let old = earlier(phase);
            for (artifact, digest) in &actor.left_with {
                if old.and_then(|old| old.left_with.get(artifact)) != Some(digest) {
                    noted.seen.insert(artifact.clone(), *digest);
                }
            }
            for (artifact, digests) in &actor.spent {
                let old = old
                    .and_then(|old| old.spent.get(artifact))
                    .map_or(&[][..], Vec::as_slice);
                let newly = digests
                    .iter()
                    .filter(|digest| !old.contains(digest))
                    .copied();
                noted
                    .spent
                    .entry(artifact.clone())
                    .or_default()
                    .extend(newly);
            }
        }
        noted
    }

    /// The digests with which a phase was entered or left.
    pub(super) fn seen(&self) -> impl Iterator<Item = (&ArtifactName, Option<Digest>)> {
        self.seen.iter().map(|(name, digest)| (name, *digest))
    }

    /// The digests that were used up.
    pub(super) fn spent(&self) -> impl Iterator<Item = (&ArtifactName, Option<Digest>)> {
        let all = self.spent.iter();
        all.flat_map(|(name, digests)| digests.iter().map(move |digest| (name, Some(*digest))))
    }

    /// Whether this digest was used up and not recorded as seen.
    fn is_spent_only(&self, artifact: &ArtifactName, digest: Digest) -> bool {
        let is_spent = self
            .spent
            .get(artifact)
            .is_some_and(|spent| spent.contains(&digest));
        is_spent && self.seen.get(artifact) != Some(&Some(digest))
    }

    /// All recorded digests.
    pub(super) fn digests(&self) -> impl Iterator<Item = (&ArtifactName, Digest)> {
        self.seen()
            .chain(self.spent())
            .filter_map(|(name, digest)| Some((name, digest?)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use orch_core::decide::Actor;

    #[test]
    fn each_file_that_a_step_uses_up_is_noted() {
        let name = |name: &str| ArtifactName::new(name).expect("valid");
        let [old, one, other] =
            ["old", "one", "other"].map(|text| Digest::of_blob(text.as_bytes()));
        let state = |spent: &[Digest]| {
            let spent = BTreeMap::from([(name("reports"), spent.to_vec())]);
            let actors = BTreeMap::from([(
                "check".to_owned(),
                Actor {
                    spent,
                    ..Actor::default()
                },
            )]);
            State {
                actors,
                ..State::default()
            }
        };
        let noted = NotedDigests::since(Some(&state(&[old])), &state(&[old, one, other]));
        let spent: Vec<Option<Digest>> = noted.spent().map(|(_, digest)| digest).collect();
        assert_eq!(spent, [Some(one), Some(other)]);
        assert!(
            noted.is_spent_only(&name("reports"), one)
                && !noted.is_spent_only(&name("reports"), old)
        );
    }
}

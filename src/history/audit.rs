//! Replays the whole history or a range of it.

use super::acknowledged::Acknowledgements;
use super::archive::{Archive, ReadOnce};
use super::other_rules::StepPlace;
use super::parallel::{ReplayWork, replay_all};
use super::passing_rules::PassingRules;
use super::range_rules::RangeRules;
use super::removed::RemovedRecords;
use super::replay::{Audited, ReplayedCommits};
use crate::base::{Code, Digest, RepoPath};
use crate::decide::{Approval, Proof, ProvenStep, Standing};
use crate::record::TRANSCRIPT_FILE;
use crate::store::{Range, Signature, Store, Visited};
use crate::survey::{Error, Workspace};
use std::collections::{BTreeSet, HashMap, HashSet};

/// A replayed range of history.
pub struct Audit {
    /// The number of commits in the range.
    pub commits: usize,
    /// Every change of a task's record, oldest first.
    pub changes: Vec<Audited>,
}

/// Which commits to replay.
#[derive(Clone, Copy, Default)]
pub struct AuditScope<'a> {
    /// A range `A..B`, or a revision for everything reachable from it; by default HEAD.
    pub range: Option<&'a str>,
    /// Only commits that are not reachable from this revision.
    pub since: Option<&'a str>,
    /// Revisions whose history proves steps too, for example a branch that was squashed or rebased.
    pub also: &'a [String],
    /// Receives how many commits of how many were replayed, now and then.
    pub progress: Option<&'a dyn Fn(usize, usize)>,
}

/// Replays commits.
///
/// # Errors
///
/// There is no repository, a revision is unknown, a commit cannot be read, or the clone is shallow and lacks
/// history that a record in the range continues.
pub fn audit(workspace: &Workspace, scope: AuditScope<'_>) -> Result<Audit, Error> {
    let store = workspace.repository_or_refuse()?;
    let range = match (scope.range, store.head()?.commit) {
        (Some(text), _) => store.range(text)?,
        (None, Some(to)) => Range { from: None, to },
        (None, None) => return Ok(Audit { commits: 0, changes: Vec::new() }),
    };
    let since = scope.since.map(|since| store.resolve(since)).transpose()?;
    let range = Range { from: since.or(range.from), ..range };
    let commits = store.commits(&range)?;
    let work = ReplayWork { threads: workspace.threads, progress: scope.progress };
    let ReplayedCommits { mut changes, removed } = replayed(store, &range, &commits, work)?;
    // A commit that hid a task is reported once, although several commits may show the task again.
    let mut reported = HashSet::new();
    changes.retain(|change| reported.insert((change.commit.id, change.task.directory().clone())));
    if let Some(change) = changes.iter().find(|change| change.commit.is_boundary) {
        return Err(shallow(change));
    }
    let mut elsewhere = Elsewhere::default();
    let unseen = ReplayWork { threads: workspace.threads, progress: None };
    for revision in scope.also {
        let range = Range { from: Some(range.to), to: store.resolve(revision)? };
        let mut found = replayed(store, &range, &store.commits(&range)?, unseen)?.changes;
        verify(store, &mut found)?;
        found.iter().for_each(|change| elsewhere.note(revision, change));
    }
    changes.iter_mut().for_each(|change| elsewhere.settle(&mut change.proof));
    verify(store, &mut changes)?;
    let read = ReadOnce::default();
    let archive = Archive::new(store, &read, false);
    let has_evidence =
        |change: &Audited| change.proof.steps.iter().any(|step| !step.entry.evidence.is_empty());
    if changes.iter().any(has_evidence) {
        let removals = match removed {
            Some(mut removed) => {
                store.sort_removals(range.to, &mut removed)?;
                removed
            }
            None => {
                let below = task_directories(store, &archive, &range, &commits)?;
                store.removals(range.to, &below, TRANSCRIPT_FILE)?
            }
        };
        let removed = RemovedRecords::of(store, &archive, removals)?;
        changes.iter_mut().for_each(|change| removed.doubt(change));
    }
    if range.from.is_none() {
        let rules = PassingRules::of(store, &archive, &commits)?;
        changes.iter_mut().try_for_each(|change| rules.doubt(change))?;
    }
    if let Some(from) = range.from {
        let rules = RangeRules::between(store, &archive, [from, range.to])?;
        for Audited { commit, task, proof, is_doubted, .. } in &mut changes {
            let parent = commit.parents.first().copied();
            let before = parent.map(|parent| archive.setting(&store.tree_source(parent))).transpose()?;
            *is_doubted =
                rules.doubt(StepPlace { task, commit: commit.id, parent }, before.as_deref(), proof)?;
        }
    }
    let acknowledged = Acknowledgements::of(store, &archive, range.to)?;
    for change in changes.iter_mut().filter(|change| change.is_acceptable()) {
        change.acknowledged = acknowledged.accept(change.commit.id, &change.task, &mut change.proof);
    }
    Ok(Audit { commits: commits.len(), changes })
}

/// The directories that contain the tasks of a range, by the settings in its commits and before them. In the whole
/// history they may have been anywhere.
fn task_directories(
    store: &Store,
    archive: &Archive<'_>,
    range: &Range,
    commits: &[Visited],
) -> Result<Vec<RepoPath>, Error> {
    let Some(from) = range.from else { return Ok(vec![RepoPath::root()]) };
    let mut below = BTreeSet::new();
    for commit in commits.iter().map(|commit| commit.id).chain([from, range.to]) {
        below.extend(archive.setting(&store.tree_source(commit))?.config.roots.bases().cloned());
    }
    Ok(below.into_iter().collect())
}

/// What the replay of the commits of a range finds.
fn replayed(
    store: &Store,
    range: &Range,
    commits: &[Visited],
    work: ReplayWork<'_>,
) -> Result<ReplayedCommits, Error> {
    let is_whole = range.from.is_none() && !commits.iter().any(|commit| commit.is_boundary);
    replay_all(store, commits, is_whole, work)
}

fn shallow(change: &Audited) -> Error {
    let (task, commit) = (&change.task.id, change.commit.id.short());
    let message =
        format!("this clone is shallow: the record of `{task}` begins before its first commit, {commit}");
    let hint = format!("git fetch --unshallow; to audit only what is here: orch audit --since {commit}");
    Error::new(Code::NotInClone, message).with_hint(hint)
}

/// Steps that are proven on other branches. The id of an event determines all events before it, so the proof
/// holds wherever the event is.
#[derive(Default)]
struct Elsewhere(HashMap<Digest, ProvenStep>);

impl Elsewhere {
    fn note(&mut self, revision: &str, change: &Audited) {
        for step in &change.proof.steps {
            let Some(event) = step.event.filter(|_| step.standing < Standing::Unverifiable) else { continue };
            let why = format!("{} in {}, of {revision}", step.standing.as_str(), change.commit.id.short());
            // The commit there is signed, if it must be; the one here was made by a merge.
            let known = ProvenStep { why: Some(why), needs_signature: false, ..step.clone() };
            self.0.insert(event, known);
        }
    }

    /// Replaces unverifiable steps by their proof on another branch.
    fn settle(&self, proof: &mut Proof) {
        if proof.standing != Standing::Unverifiable {
            return;
        }
        let mut is_changed = false;
        for step in proof.steps.iter_mut().filter(|step| step.standing == Standing::Unverifiable) {
            if let Some(known) = step.event.and_then(|event| self.0.get(&event)) {
                *step = known.clone();
                is_changed = true;
            }
        }
        if is_changed {
            *proof = Proof::of(std::mem::take(&mut proof.steps));
        }
    }
}

/// Verifies the signatures of the commits with steps that need a person.
fn verify(store: &Store, changes: &mut [Audited]) -> Result<(), Error> {
    let ordered = |change: &Audited| change.proof.steps.iter().any(|step| step.approval.is_some());
    let mut asked: Vec<&mut Audited> = changes.iter_mut().filter(|change| ordered(change)).collect();
    let commits: Vec<Digest> = asked.iter().map(|change| change.commit.id).collect();
    for (change, signature) in asked.iter_mut().zip(store.signatures(&commits)?) {
        for step in change.proof.steps.iter_mut().filter(|step| step.approval.is_some()) {
            signed(step, &signature);
        }
        let steps = std::mem::take(&mut change.proof.steps);
        let worst = Proof::of(steps);
        let is_worse = worst.standing > change.proof.standing;
        change.proof = if is_worse { worst } else { Proof { steps: worst.steps, ..change.proof.clone() } };
    }
    Ok(())
}

/// Completes the verdict about a step that needs a person by the signature of its commit.
fn signed(step: &mut ProvenStep, signature: &Signature) {
    let refused = match signature {
        Signature::Good { signer } => {
            step.approval = Some(Approval::Verified { signer: signer.clone() });
            None
        }
        Signature::Bad => Some((Standing::Forged, "its signature does not match its contents")),
        Signature::None if step.needs_signature => {
            Some((Standing::Forged, "the settings require that a person signs it, and it is not signed"))
        }
        Signature::Unknown if step.needs_signature => Some((
            Standing::Unverifiable,
            "the settings require that a person signs it, and git does not trust the signer here",
        )),
        Signature::None | Signature::Unknown => None,
    };
    if let Some((standing, why)) = refused.filter(|(standing, _)| *standing > step.standing) {
        (step.standing, step.why) = (standing, Some(why.to_owned()));
    }
}

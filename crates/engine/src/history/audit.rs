//! Replays the whole history or a range of it.

use super::acknowledged::Acknowledgements;
use super::archive::{Archive, ReadOnce};
use super::other_rules::StepPlace;
use super::parallel::{ReplayWork, replay_all};
use super::passing_rules::PassingRules;
use super::proven::{
    OpenCommit, ProvenHistories, ProvenHistory, open_commits, unsteady, verdicts_of,
};
use super::range_rules::RangeRules;
use super::removed::RemovedRecords;
use super::replay::{Audited, ReplayedCommits};
use super::vouched::vouch;
use crate::survey::{Error, Workspace};
use orch_base::{Code, Diagnostic, Digest, Hint, RepoPath};
use orch_core::decide::{Approval, Proof, ProvenStep, Standing};
use orch_core::record::TRANSCRIPT_FILE;
use orch_git::{Range, Removal, Signature, Store, Visited};
use std::collections::{BTreeSet, HashMap, HashSet};
use std::sync::Arc;

/// A replayed range of history.
pub struct Audit {
    /// The number of commits in the range; of an incremental audit, those that it has added.
    pub commits: usize,
    /// Every change of a task's record, oldest first. An incremental audit leaves out those that were accepted before,
    /// unless they are unverifiable or acknowledged.
    pub changes: Vec<Audited>,
    /// What a range loosens for itself, or changes so that it may be looser.
    pub loosened: Vec<Diagnostic>,
    /// What an incremental audit went on from, and what it leads to; `None` for any other.
    pub incremental: Option<Incremental>,
}

/// What an incremental audit went on from, and what it leads to.
pub struct Incremental {
    /// The history that was accepted before, or why the whole history was replayed.
    pub from: Result<ProvenHistory, String>,
    /// The history that the next audit may continue from, or why there is none.
    pub to: Result<ProvenHistory, &'static str>,
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
    /// Go on from one of these histories if the verdict on the whole is the same. Neither for a range nor with `also`.
    pub proven: Option<&'a ProvenHistories>,
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
    let store = workspace.reader.repository_or_refuse()?;
    let range = match (scope.range, store.refs().head()?.commit) {
        (Some(text), _) => store.history().range(text)?,
        (None, Some(to)) => Range { from: None, to },
        (None, None) => {
            let nothing = "nothing is committed yet";
            let incremental = Incremental {
                from: Err(nothing.to_owned()),
                to: Err(nothing),
            };
            let incremental = scope.proven.map(|_| incremental);
            return Ok(Audit {
                commits: 0,
                changes: Vec::new(),
                loosened: Vec::new(),
                incremental,
            });
        }
    };
    let since = scope
        .since
        .map(|since| store.refs().resolve(since))
        .transpose()?;
    let range = Range {
        from: since.or(range.from),
        ..range
    };
    let read = ReadOnce::default();
    let archive = Archive::new(store, &read, false);
    let work = ReplayWork {
        threads: workspace.crew().threads,
        progress: scope.progress,
    };
    let replaying = Replaying {
        store,
        archive: &archive,
        work,
        also: scope.also,
    };
    let Some(proven) = scope.proven else {
        let (audit, _) = replaying.all(&range)?;
        return Ok(audit);
    };
    if range.from.is_some() || !scope.also.is_empty() {
        return Err(Error::new(
            Code::Usage,
            "an incremental audit covers the whole history",
        ));
    }
    let unsteady = unsteady(store)?;
    let from = match unsteady {
        Some(why) => Err(why.to_owned()),
        None => proven.before(store, range.to),
    };
    let why = match from {
        Ok(from) => match replaying.newer(from, range.to)? {
            Ok(audit) => return Ok(audit),
            Err(why) => why,
        },
        Err(why) => why,
    };
    let (audit, to) = replaying.all(&range)?;
    let to = unsteady.map_or(to, Err);
    Ok(Audit {
        incremental: Some(Incremental { from: Err(why), to }),
        ..audit
    })
}

/// An audit in progress.
struct Replaying<'a> {
    store: &'a Store,
    archive: &'a Archive<'a>,
    work: ReplayWork<'a>,
    also: &'a [String],
}

impl Replaying<'_> {
    /// Replays all commits of a range. For a whole history, it also returns what the next audit may continue from, or
    /// why there is nothing.
    fn all(&self, range: &Range) -> Result<(Audit, Result<ProvenHistory, &'static str>), Error> {
        let Self { store, archive, .. } = *self;
        let commits = store.history().commits(range)?;
        let ReplayedCommits {
            mut changes,
            removed,
            ruled,
        } = replayed(store, range, &commits, self.work)?;
        once(&mut changes)?;
        let mut elsewhere = Elsewhere::default();
        let unseen = ReplayWork {
            progress: None,
            ..self.work
        };
        for revision in self.also {
            let range = Range {
                from: Some(range.to),
                to: store.refs().resolve(revision)?,
            };
            let mut found =
                replayed(store, &range, &store.history().commits(&range)?, unseen)?.changes;
            verify(store, &mut found)?;
            found
                .iter()
                .for_each(|change| elsewhere.note(revision, change));
        }
        changes
            .iter_mut()
            .for_each(|change| elsewhere.replace_unverifiable(&mut change.proof));
        verify(store, &mut changes)?;
        let has_evidence = |change: &Audited| {
            change
                .proof
                .steps
                .iter()
                .any(|step| !step.entry.evidence.is_empty())
        };
        let mut removals = Vec::new();
        if changes.iter().any(has_evidence) {
            let found = match removed {
                Some(mut removed) => {
                    store.removals().sort(range.to, &mut removed)?;
                    removed
                }
                None => {
                    let below = task_directories(store, archive, range, &commits)?;
                    store.removals().all(range.to, &below, TRANSCRIPT_FILE)?
                }
            };
            removals = self.doubt_restarts(found, &mut changes)?;
        }
        let open = open_commits(commits.iter(), &changes);
        let mut has_passed = false;
        if range.from.is_none() {
            let rules = PassingRules::of(store, archive, &commits, |commit| {
                ruled.contains(&commit.id)
            })?;
            debug_assert_eq!(
                rules.changes(),
                PassingRules::of(store, archive, &commits, |_| true)?.changes(),
                "the replay has noted every change of the settings"
            );
            for change in &mut changes {
                has_passed |= rules.doubt(change)?;
            }
        }
        let mut loosened = Vec::new();
        if let Some(from) = range.from {
            let rules = RangeRules::between(store, archive, [from, range.to])?;
            loosened = super::loosened::loosened(store, archive, [rules.parted(), range.to])?;
            for Audited {
                commit,
                task,
                proof,
                is_doubted,
                ..
            } in &mut changes
            {
                let parent = commit.parents.first().copied();
                let before = parent
                    .map(|parent| archive.setting(&store.objects().source_at(parent)))
                    .transpose()?;
                *is_doubted = rules.doubt(
                    StepPlace {
                        task,
                        commit: commit.id,
                        parent,
                    },
                    before.as_deref(),
                    proof,
                )?;
            }
        }
        self.acknowledge(range.to, &mut changes)?;
        vouch(store, archive, &mut changes)?;
        let to = match has_passed {
            true => Err("a step holds only by rules that were in force temporarily"),
            false => accepted(&changes, open).map(|open| ProvenHistory {
                commit: range.to,
                commits: commits.len(),
                changes: changes.len(),
                open,
                removals,
            }),
        };
        Ok((
            Audit {
                commits: commits.len(),
                changes,
                loosened,
                incremental: None,
            },
            to,
        ))
    }

    /// Replays the commits that `to` adds to a history that was accepted, and those of that history whose verdicts
    /// depend on more than it. Returns the reason if the result could differ from that of a
    /// full replay.
    fn newer(&self, from: &ProvenHistory, to: Digest) -> Result<Result<Audit, String>, Error> {
        let Self { store, archive, .. } = *self;
        let new = store.history().commits(&Range {
            from: Some(from.commit),
            to,
        })?;
        // An earlier step may hold only by rules that a later commit takes back.
        if PassingRules::of(store, archive, &new, |_| true)?.changes() > 0 {
            return Ok(Err(format!(
                "the settings or workflows changed after {}",
                from.commit.short()
            )));
        }
        let again: Result<Vec<_>, _> = from
            .open
            .iter()
            .map(|open| store.history().visit(open.commit).map(Arc::new))
            .collect();
        let Ok(mut commits) = again else {
            return Ok(Err(
                "a commit that was audited is no longer there".to_owned()
            ));
        };
        commits.extend(new.iter().cloned());
        let mut changes = replay_all(store, &commits, false, self.work)?.changes;
        once(&mut changes)?;
        verify(store, &mut changes)?;
        let mut removals = store.removals().since(from.commit, to, TRANSCRIPT_FILE)?;
        removals.extend(from.removals.iter().cloned());
        let removals = self.doubt_restarts(removals, &mut changes)?;
        let is_other = |open: &&OpenCommit| verdicts_of(open.commit, &changes) != open.verdicts;
        if let Some(other) = from.open.iter().find(is_other) {
            return Ok(Err(format!(
                "the verdict on {} may have changed",
                other.commit.short()
            )));
        }
        let open = open_commits(new.iter(), &changes);
        self.acknowledge(to, &mut changes)?;
        let ids: HashSet<Digest> = new.iter().map(|commit| commit.id).collect();
        let is_new = |change: &Audited| ids.contains(&change.found_in);
        let added = changes.iter().filter(|change| is_new(change)).count();
        let next = accepted(&changes, open).map(|open| ProvenHistory {
            commit: to,
            commits: from.commits + new.len(),
            changes: from.changes + added,
            open: from.open.iter().cloned().chain(open).collect(),
            removals,
        });
        changes.retain(|change| change.is_acceptable() || is_new(change));
        vouch(store, archive, &mut changes)?;
        let incremental = Some(Incremental {
            from: Ok(from.clone()),
            to: next,
        });
        Ok(Ok(Audit {
            commits: new.len(),
            changes,
            loosened: Vec::new(),
            incremental,
        }))
    }

    /// Makes steps unverifiable that restart the work of removed records. Returns the removals that can count.
    fn doubt_restarts(
        &self,
        removals: Vec<Removal>,
        changes: &mut [Audited],
    ) -> Result<Vec<Removal>, Error> {
        let removed = RemovedRecords::of(self.store, self.archive, removals)?;
        changes.iter_mut().for_each(|change| removed.doubt(change));
        Ok(removed.into_removals())
    }

    fn acknowledge(&self, tip: Digest, changes: &mut [Audited]) -> Result<(), Error> {
        let acknowledged = Acknowledgements::of(self.store, self.archive, tip)?;
        for change in changes.iter_mut().filter(|change| change.is_acceptable()) {
            change.acknowledged =
                acknowledged.accept(change.commit.id, &change.task, &mut change.proof);
        }
        Ok(())
    }
}

/// Keeps one report of a commit that hid a task, although several commits may show the task again. Returns an error if
/// the clone is too shallow for a verdict.
fn once(changes: &mut Vec<Audited>) -> Result<(), Error> {
    let mut reported = HashSet::new();
    changes.retain(|change| reported.insert((change.commit.id, change.task.directory().clone())));
    changes
        .iter()
        .find(|change| change.commit.is_boundary)
        .map_or(Ok(()), |change| Err(shallow(change)))
}

/// The commits with verdicts that depend on more than their history, or why no later audit may continue from these
/// changes: the audit fails, also if it is not strict, or `open` is `None` because there are too many.
fn accepted(
    changes: &[Audited],
    open: Option<Vec<OpenCommit>>,
) -> Result<Vec<OpenCommit>, &'static str> {
    let is_wrong = |change: &Audited| {
        change.acknowledged.is_none() && change.proof.standing == Standing::Forged
    };
    match open {
        None => Err("too many changes are unverifiable, acknowledged or signed"),
        Some(_) if changes.iter().any(is_wrong) => Err("a change is forged"),
        Some(open) => Ok(open),
    }
}

/// The directories that contain the tasks of a range, by the settings in its commits and before them. In the whole
/// history they may have been anywhere.
fn task_directories(
    store: &Store,
    archive: &Archive<'_>,
    range: &Range,
    commits: &[Arc<Visited>],
) -> Result<Vec<RepoPath>, Error> {
    let Some(from) = range.from else {
        return Ok(vec![RepoPath::root()]);
    };
    let mut below = BTreeSet::new();
    for commit in commits
        .iter()
        .map(|commit| commit.id)
        .chain([from, range.to])
    {
        below.extend(
            archive
                .setting(&store.objects().source_at(commit))?
                .config
                .roots
                .bases()
                .cloned(),
        );
    }
    Ok(below.into_iter().collect())
}

/// What the replay of the commits of a range finds.
fn replayed(
    store: &Store,
    range: &Range,
    commits: &[Arc<Visited>],
    work: ReplayWork<'_>,
) -> Result<ReplayedCommits, Error> {
    let is_whole = range.from.is_none() && !commits.iter().any(|commit| commit.is_boundary);
    replay_all(store, commits, is_whole, work)
}

fn shallow(change: &Audited) -> Error {
    let task = &change.task.id;
    let commit = change.commit.id.short();
    let message = format!(
        "this clone is shallow: the record of `{task}` begins before its first commit, {commit}"
    );
    let hint = Hint::run(&["git", "fetch", "--unshallow"])
        .text("; to audit only what is here: ")
        .command(&["orch", "audit", "--since", &commit]);
    Error::new(Code::NotInClone, message).with_hint(hint)
}

/// Steps that are proven on other branches. The id of an event determines all events before it, so the proof
/// holds wherever the event is.
#[derive(Default)]
struct Elsewhere(HashMap<Digest, ProvenStep>);

impl Elsewhere {
    fn note(&mut self, revision: &str, change: &Audited) {
        for step in &change.proof.steps {
            let Some(event) = step
                .event
                .filter(|_| step.standing < Standing::Unverifiable)
            else {
                continue;
            };
            let why = format!(
                "{} in {}, of {revision}",
                step.standing.as_str(),
                change.commit.id.short()
            );
            // The commit there is signed, if it must be; the one here was made by a merge.
            let known = ProvenStep {
                why: Some(why),
                needs_signature: false,
                ..step.clone()
            };
            self.0.insert(event, known);
        }
    }

    /// Replaces unverifiable steps by their proof on another branch.
    fn replace_unverifiable(&self, proof: &mut Proof) {
        if proof.standing != Standing::Unverifiable {
            return;
        }
        let mut is_changed = false;
        for step in proof
            .steps
            .iter_mut()
            .filter(|step| step.standing == Standing::Unverifiable)
        {
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
    let ordered = |change: &Audited| {
        change
            .proof
            .steps
            .iter()
            .any(|step| step.approval.is_some())
    };
    let mut asked: Vec<&mut Audited> = changes
        .iter_mut()
        .filter(|change| ordered(change))
        .collect();
    let commits: Vec<Digest> = asked.iter().map(|change| change.commit.id).collect();
    for (change, signature) in asked.iter_mut().zip(store.identity().signatures(&commits)?) {
        // git also says that there is none where it has nothing to check it by.
        change.is_by_signature = store.identity().has_signature(change.commit.id)?;
        for step in change
            .proof
            .steps
            .iter_mut()
            .filter(|step| step.approval.is_some())
        {
            signed(step, &signature);
        }
        let steps = std::mem::take(&mut change.proof.steps);
        let worst = Proof::of(steps);
        let is_worse = worst.standing > change.proof.standing;
        change.proof = if is_worse {
            worst
        } else {
            Proof {
                steps: worst.steps,
                ..change.proof.clone()
            }
        };
    }
    Ok(())
}

/// Completes the verdict about a step that needs a person by the signature of its commit.
fn signed(step: &mut ProvenStep, signature: &Signature) {
    let refused = match signature {
        Signature::Good { signer } => {
            step.approval = Some(Approval::Verified {
                signer: signer.clone(),
            });
            None
        }
        Signature::Bad => Some((
            Standing::Forged,
            "its signature does not match its contents",
        )),
        Signature::None if step.needs_signature => Some((
            Standing::Forged,
            "the settings require that a person signs it, and it is not signed",
        )),
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

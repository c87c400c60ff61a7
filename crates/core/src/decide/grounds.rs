//! What the way to a good end rests on, and whether it still stands.
//!
//! When a phase is left, its verdicts and reports are recorded with the versions that they judged. They stand as long as
//! that is what is there. A move to a good end is closed while one of them does not; the way back stays open.

use super::code_facts::{CodeBase, CodeHistory, UnknownCode};
use super::derive::{SeenArtifact, last_recorded};
use super::evaluation::Evaluation;
use super::planned::PlannedPaths;
use super::rules::join;
use super::state::Actor;
use super::{BrokenNeed, Decision, NamedVersion, RecordVersion, State, Verdict};
use crate::workflow::{APPROVALS, Artifact, Phase, VERIFIED, Workflow};
use orch_base::{ArtifactName, Code, Diagnostic, Digest, Hint, PhaseId, RepoPath};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};

/// A verdict or report on which an earlier phase was left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ground {
    /// The phase that was left.
    pub phase: PhaseId,
    /// The artifact that holds the verdict.
    pub artifact: ArtifactName,
    /// The digest of its present files.
    pub digest: Digest,
    /// What it judged.
    pub judged: BTreeSet<ArtifactName>,
    /// Why it does not stand, as what follows its name in a sentence; `None` if it does, or need not.
    pub why_not: Option<String>,
    /// What is neither as it was judged nor as it was before, where the work is undone, in words.
    pub left_over: Option<String>,
    /// The files of the code that others have changed since, which it need not have judged.
    pub others: BTreeSet<RepoPath>,
}

/// What an approval rests on, as its event names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RestsOn {
    /// A verdict, a report, or what they judge.
    pub artifact: ArtifactName,
    /// The digest of its files when the approval was given.
    pub digest: Digest,
    /// Whether `orch` made it by running something.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ran: bool,
}

/// Whether what was judged still stands.
#[derive(Default)]
struct JudgedStanding {
    why_not: Option<String>,
    left_over: Option<String>,
    others: BTreeSet<RepoPath>,
}

/// The versions that a verdict or report judged on which a phase was left. The first version of the record does not say
/// which: then these are the last ones that were recorded.
fn judged_versions(
    workflow: &Workflow,
    state: &State,
    current: &PhaseId,
    left: &PhaseId,
) -> Vec<(ArtifactName, BTreeMap<ArtifactName, Digest>)> {
    let Some(Actor {
        judged, left_with, ..
    }) = state.actor(left)
    else {
        return Vec::new();
    };
    let mut found: Vec<_> = judged.clone().into_iter().collect();
    let unsaid = left_with
        .iter()
        .filter(|(name, left)| left.is_some() && !judged.contains_key(*name));
    for (name, _) in unsaid {
        let judges = workflow
            .artifact(name)
            .map(|artifact| artifact.judges.as_slice())
            .unwrap_or_default();
        let recorded = judges.iter().filter_map(|judged| {
            Some((
                judged.clone(),
                last_recorded(workflow, state, current, judged)?,
            ))
        });
        let recorded: BTreeMap<ArtifactName, Digest> = recorded.collect();
        if !recorded.is_empty() {
            found.push((name.clone(), recorded));
        }
    }
    found
}

/// The code that the last step recorded of an artifact which an earlier phase made, where a good end may be next.
fn recorded_code(
    workflow: &Workflow,
    state: &State,
    current: &PhaseId,
    artifact: &Artifact,
) -> Option<Digest> {
    artifact
        .tree
        .as_ref()
        .filter(|_| workflow.may_end_well(current))?;
    let before = workflow.position(current)?;
    let is_left = workflow.producers(&artifact.name).all(|phase| {
        let left = state
            .actor(&phase.id)
            .and_then(|actor| actor.left_with.get(&artifact.name));
        workflow.position(&phase.id) < Some(before) && left.is_some_and(Option::is_some)
    });
    if !is_left {
        return None;
    }
    last_recorded(workflow, state, current, &artifact.name)
}

/// The versions of an artifact that were judged by what the phases before the current one were left with, and of code
/// also the one that was recorded last, where a good end may be next, and those that people approve.
#[must_use]
pub fn judged_before(workflow: &Workflow, state: &State, artifact: &Artifact) -> BTreeSet<Digest> {
    let mut found = BTreeSet::new();
    let current = state
        .phase
        .as_deref()
        .and_then(|name| workflow.phase_named(name));
    let Some(current) = current.filter(|current| !current.terminal) else {
        return found;
    };
    let state = state.under_own_names(workflow);
    let before = workflow.position(&current.id).unwrap_or_default();
    for phase in &workflow.phases[..before] {
        for (_, judged) in judged_versions(workflow, &state, &current.id, &phase.id) {
            found.extend(judged.get(&artifact.name));
        }
    }
    found.extend(recorded_code(workflow, &state, &current.id, artifact));
    let said = state
        .actor(&current.id)
        .map(|actor| actor.approvals.as_slice())
        .unwrap_or_default();
    found.extend(said.iter().filter_map(|said| said.on.get(&artifact.name)));
    found
}

/// What a move to a good end rests on, and whether that still stands.
#[derive(Clone, Copy)]
pub(super) struct Grounds<'a> {
    pub(super) evaluation: Evaluation<'a>,
}

impl<'a> Evaluation<'a> {
    /// What a move to a good end rests on.
    pub(super) fn grounds(&self) -> Grounds<'a> {
        Grounds { evaluation: *self }
    }
}

impl Grounds<'_> {
    /// The verdicts and reports on which earlier phases were left, apart from waived ones and those that are gone; and code
    /// that none of them judged.
    pub(super) fn all(&self) -> Vec<Ground> {
        if self.evaluation.facts.version == RecordVersion::First || self.evaluation.phase.terminal {
            return Vec::new();
        }
        let before = self
            .evaluation
            .workflow
            .position(&self.evaluation.phase.id)
            .unwrap_or_default();
        let mut grounds: Vec<Ground> = Vec::new();
        for phase in &self.evaluation.workflow.phases[..before] {
            let Some(actor) = self.evaluation.state.actor(&phase.id) else {
                continue;
            };
            for (artifact, judged) in judged_versions(
                self.evaluation.workflow,
                self.evaluation.state,
                &self.evaluation.phase.id,
                &phase.id,
            ) {
                let verifications = self.evaluation.verifications();
                if verifications.in_place_of(phase, &artifact).is_some() {
                    continue;
                }
                let seen = self.evaluation.seen_of(&artifact);
                let Some(seen) = seen.filter(|seen| seen.derived.holds()) else {
                    continue;
                };
                let Some(digest) = seen.derived.digest else {
                    continue;
                };
                if self.evaluation.state.waived.contains_key(&artifact) {
                    continue;
                }
                let is_as_left = actor.left_with.get(&artifact) == Some(&Some(digest));
                let mut ground = Ground {
                    phase: phase.id.clone(),
                    artifact,
                    digest,
                    judged: judged.keys().cloned().collect(),
                    why_not: None,
                    left_over: None,
                    others: BTreeSet::new(),
                };
                for (name, version) in &judged {
                    let standing = if is_as_left {
                        self.version_stands(name, *version)
                    } else {
                        self.replaced_stands(seen, name, *version)
                    };
                    ground.others.extend(standing.others);
                    if self.evaluation.phase.is_held_to(name) {
                        ground.why_not = ground.why_not.or(standing.why_not);
                    } else {
                        ground.left_over = ground.left_over.or(standing.left_over);
                    }
                }
                grounds.push(ground);
            }
        }
        for artifact in &self.evaluation.workflow.artifacts {
            if !grounds
                .iter()
                .any(|ground| ground.judged.contains(&artifact.name))
            {
                grounds.extend(self.code_ground(artifact));
            }
        }
        grounds
    }

    /// Code that an earlier phase made and no verdict judged, nor do people in this phase.
    fn code_ground(&self, artifact: &Artifact) -> Option<Ground> {
        let name = &artifact.name;
        let recorded = recorded_code(
            self.evaluation.workflow,
            self.evaluation.state,
            &self.evaluation.phase.id,
            artifact,
        )?;
        let seen = self.evaluation.seen_of(name)?;
        let is_exempt = self.evaluation.state.waived.contains_key(name)
            || self.evaluation.phase.approvals.is_some();
        if seen.derived.tree.is_none() || is_exempt {
            return None;
        }
        let standing = self.code_stands(name, recorded, "is not as it was recorded");
        let is_held = self.evaluation.phase.is_held_to(name);
        let made_in = self
            .evaluation
            .workflow
            .producers(name)
            .filter_map(|phase| self.evaluation.workflow.position(&phase.id));
        let next = self.evaluation.workflow.phases.get(made_in.max()? + 1)?;
        Some(Ground {
            phase: next.id.clone(),
            artifact: name.clone(),
            digest: seen.derived.digest?,
            judged: BTreeSet::new(),
            why_not: standing.why_not.filter(|_| is_held),
            left_over: standing.left_over.filter(|_| !is_held),
            others: standing.others,
        })
    }

    /// Whether a version that was judged is what is there.
    fn version_stands(&self, name: &ArtifactName, judged: Digest) -> JudgedStanding {
        let Some(seen) = self.evaluation.seen_of(name) else {
            return JudgedStanding::default();
        };
        if seen.derived.tree.is_some() {
            return self.code_stands(name, judged, &format!("judged an earlier `{name}`"));
        }
        if seen.derived.digest == Some(judged) {
            return JudgedStanding::default();
        }
        if seen.derived.present {
            return JudgedStanding::fallen(format!("judged another version of `{name}`"));
        }
        if self
            .evaluation
            .lost_evidence()
            .iter()
            .any(|(_, lost)| lost.artifact == *name)
        {
            return JudgedStanding::default();
        }
        JudgedStanding::fallen(format!("judged `{name}`, which is gone"))
    }

    /// Whether code that was recorded stands; `what` says what happened to it if not.
    fn code_stands(&self, name: &ArtifactName, recorded: Digest, what: &str) -> JudgedStanding {
        let present = self.evaluation.seen_of(name);
        let Some(since) = self.evaluation.facts.code.since(name, recorded) else {
            return match present.is_some_and(|seen| seen.derived.digest == Some(recorded)) {
                true => JudgedStanding::default(),
                false => JudgedStanding::fallen(what.to_owned()),
            };
        };
        let why = match &since.history {
            Ok(history) => return self.change_stands(history, what),
            Err(UnknownCode::NotHere) => {
                format!(
                    "no commit here has that code, {}, or makes the same change",
                    recorded.short()
                )
            }
            Err(UnknownCode::Shallow) => {
                "the history of this clone ends before the task begins (`git fetch --unshallow`)"
                    .to_owned()
            }
            Err(UnknownCode::TooFar) => {
                "too many commits came since to tell what changed".to_owned()
            }
            Err(UnknownCode::NoBase(branch)) => {
                format!("`[git] base` names `{branch}`, which is not a branch here")
            }
        };
        JudgedStanding::fallen(format!("{what}: {why}"))
    }

    /// Whether a verdict stands that was replaced after its phase was left: it counts, and says that it judged what is
    /// there, or nothing else has been there since.
    fn replaced_stands(
        &self,
        seen: &SeenArtifact<'_>,
        name: &ArtifactName,
        left: Digest,
    ) -> JudgedStanding {
        let derived = &seen.derived;
        if !derived.ready() {
            let why = derived
                .stale_because
                .clone()
                .unwrap_or_else(|| "it is not valid".to_owned());
            return JudgedStanding::fallen(format!(
                "was replaced since, and does not count: {why}"
            ));
        }
        let named = derived.of.iter().find(|(of, _)| {
            self.evaluation
                .workflow
                .artifact_named(of)
                .is_some_and(|artifact| artifact.name == *name)
        });
        match named {
            // It counts, so what its `of` names is there.
            Some((_, NamedVersion::Digest(_))) => JudgedStanding::default(),
            _ => {
                let standing = self.version_stands(name, left);
                if standing.why_not.is_none() {
                    return standing;
                }
                JudgedStanding::fallen(format!(
                    "was replaced since, and does not say which `{name}` it judged"
                ))
            }
        }
    }

    /// Whether the change of the task is the one that somebody judged in code that is not as it was.
    pub(super) fn is_same_change(&self, code: &ArtifactName, judged: Digest) -> bool {
        self.code_stands(code, judged, "").why_not.is_none()
    }

    /// Whether the change of a task still stands with what came after it.
    fn change_stands(&self, history: &CodeHistory, what: &str) -> JudgedStanding {
        let planned = self.planned_paths();

        let mut standing = JudgedStanding::default();
        let mut against: BTreeSet<&RepoPath> = BTreeSet::new();
        for moved in &history.moved {
            if !moved.is_own && !touches(history, planned.as_ref(), &moved.path) {
                standing.others.insert(moved.path.clone());
                continue;
            }
            against.insert(&moved.path);
            if !moved.is_undone && standing.left_over.is_none() {
                let path = &moved.path;
                let left_over =
                    format!("{path} is neither as it was judged nor as it was before the task");
                standing.left_over = Some(left_over);
            }
        }

        let commits = history.later.iter().filter(|commit| match commit.is_own {
            true => !commit.files.is_empty(),
            false => commit.files.iter().any(|file| against.contains(file)),
        });
        let commits: Vec<_> = commits.collect();
        let own = commits.iter().filter(|commit| commit.is_own);
        let files: BTreeSet<&RepoPath> = own
            .flat_map(|commit| &commit.files)
            .chain(against.iter().copied())
            .collect();
        let Some(first) = files
            .iter()
            .find(|file| touches(history, planned.as_ref(), file))
            .or(files.iter().next())
        else {
            return standing;
        };
        let more = match files.len() {
            1 => String::new(),
            many => format!(" and {} more", many - 1),
        };
        let by = match commits.as_slice() {
            [] => String::new(),
            [only] => format!(" in {} ({})", only.id.short(), only.subject),
            [last, ..] => {
                let many = commits.len();
                let id = last.id.short();
                format!(" in {many} commits, the last one {id} ({})", last.subject)
            }
        };
        let unknown = match planned.is_none() {
            true => "; what the plan names cannot be computed, so any file may be meant",
            false => "",
        };
        standing.why_not = Some(format!("{what}: {first}{more} changed since{by}{unknown}"));
        standing
    }

    /// The paths that the workflow says the plan names; `None` if they cannot be computed.
    fn planned_paths(&self) -> Option<PlannedPaths> {
        let Some(guard) = &self.evaluation.workflow.names else {
            return Some(PlannedPaths::default());
        };
        // Whether an approval counts depends on what the plan names.
        if self
            .evaluation
            .workflow
            .reads(guard)
            .iter()
            .any(|read| read[0] == APPROVALS)
        {
            return None;
        }
        PlannedPaths::of(&guard.value(&self.evaluation.scope()).ok()?)
    }

    /// What keeps a move to a phase from resting on evidence that stands; nothing unless that is a good end.
    pub(super) fn fallen(&self, target: &Phase) -> Vec<BrokenNeed> {
        if !target.is_good_end() {
            return Vec::new();
        }
        let grounds = self
            .all()
            .into_iter()
            .filter(|ground| ground.why_not.is_some());
        let fallen = grounds.map(|ground| BrokenNeed {
            path: self.evaluation.path_of(&ground.artifact),
            missing: false,
            recorded: Some(ground.digest),
            outdated: ground.why_not,
            artifact: ground.artifact,
        });
        fallen.collect()
    }

    /// What a move to a phase rests on, for its event; nothing unless that is a good end.
    pub(super) fn rests_on_grounds(&self, target: &Phase) -> Vec<RestsOn> {
        if !target.is_good_end() {
            return Vec::new();
        }
        let grounds = self.all();
        let standing = grounds.iter().filter(|ground| ground.why_not.is_none());
        let mut names: BTreeSet<ArtifactName> =
            standing.map(|ground| ground.artifact.clone()).collect();
        names.extend(
            grounds
                .iter()
                .flat_map(|ground| ground.judged.iter().cloned()),
        );
        let seen = self
            .evaluation
            .seen
            .iter()
            .filter(|seen| names.contains(&seen.derived.name));
        let rests_on = seen.filter_map(|seen| {
            Some(RestsOn {
                artifact: seen.derived.name.clone(),
                digest: seen.derived.digest?,
                ran: false,
            })
        });
        let mut rests_on: Vec<RestsOn> = rests_on.collect();
        for (name, digest) in self.evaluation.verifications().rested_on() {
            // Names of verifications may have other signs.
            let identifier: String = name
                .as_str()
                .chars()
                .map(|sign| {
                    if sign.is_ascii_alphanumeric() {
                        sign
                    } else {
                        '_'
                    }
                })
                .collect();
            let named = ArtifactName::new(&identifier);
            let Ok(artifact) = named.or_else(|_| ArtifactName::new(VERIFIED)) else {
                continue;
            };
            rests_on.push(RestsOn {
                artifact,
                digest,
                ran: true,
            });
        }
        rests_on
    }

    /// The base of the task's commits, if something that rests on code, or what people said, was held against it.
    pub(super) fn base_of(&self, rests_on: &[RestsOn]) -> Option<CodeBase> {
        let rests_on_code = rests_on.iter().any(|one| {
            let seen = self.evaluation.seen_of(&one.artifact);
            seen.is_some_and(|seen| seen.derived.tree.is_some())
        });
        if rests_on_code || self.evaluation.phase.approvals.is_some() {
            self.evaluation.facts.code.base.clone()
        } else {
            None
        }
    }

    /// The findings about evidence that does not stand, and about what others changed since.
    pub(super) fn ground_findings(&self, grounds: &[Ground]) -> Vec<Diagnostic> {
        let mut found = Vec::new();
        // Who goes back to the first of them judges the later ones again, too.
        let first = grounds.iter().find(|ground| ground.why_not.is_some());
        let back = first
            .map(|first| self.back_to(&first.phase))
            .unwrap_or_default();
        let mut others: BTreeSet<&RepoPath> = BTreeSet::new();
        for ground in grounds {
            others.extend(&ground.others);
            let Some(why) = &ground.why_not else { continue };
            let path = self.evaluation.path_of(&ground.artifact);
            let place = self.evaluation.facts.place.place_of(&path);
            let message = format!("`{}` {why}", ground.artifact);
            let finding = match self
                .evaluation
                .workflow
                .may_end_well(&self.evaluation.phase.id)
            {
                true => Diagnostic::warning(Code::EvidenceOutdated, message),
                false => Diagnostic::note(Code::EvidenceOutdated, message),
            };
            found.push(finding.at(place).hint(back.clone()));
        }
        if let Some(left_over) = grounds.iter().find_map(|ground| ground.left_over.as_ref()) {
            found.push(Diagnostic::warning(
                Code::EvidenceOutdated,
                left_over.clone(),
            ));
        }
        if let Some(first) = others.first() {
            let message = match others.len() {
                1 => format!("others changed since the code was judged: 1 file ({first})"),
                many => {
                    format!("others changed since the code was judged: {many} files ({first}, …)")
                }
            };
            found.push(Diagnostic::note(Code::OthersChanged, message));
        }
        found
    }

    /// The phase that has to judge again, if nothing else is broken.
    pub(super) fn first_fallen(&self, unmet: &[BrokenNeed]) -> Option<PhaseId> {
        let is_only_fallen = unmet.iter().all(|need| need.outdated.is_some());
        let grounds = self.all();
        let first = grounds
            .iter()
            .find(|ground| ground.why_not.is_some())
            .filter(|_| is_only_fallen);
        first.map(|ground| ground.phase.clone())
    }

    /// Says first what does not stand, if a good end is next.
    pub(super) fn report_fallen(&self, decision: &mut Decision) {
        if !self
            .evaluation
            .workflow
            .may_end_well(&self.evaluation.phase.id)
            || !matches!(decision.verdict, Verdict::Wait { .. })
        {
            return;
        }
        let grounds = decision.grounds.iter();
        let fallen =
            grounds.filter_map(|ground| Some((&ground.artifact, ground.why_not.as_deref()?)));
        let words = fallen_in_words(fallen);
        if !words.is_empty() {
            decision.reason = format!("{words}; {}", decision.reason);
        }
    }

    /// The command that lets a phase judge again.
    fn back_to(&self, phase: &PhaseId) -> Hint {
        let task = self.evaluation.facts.task.as_str();
        Hint::run(&[
            "orch",
            "rollback",
            task,
            "--to",
            phase.as_str(),
            "--reason",
            super::WHY,
        ])
    }
}

/// What is outdated of these needs, in words; `None` if there is none.
pub(super) fn outdated_in_words(outdated: &[&BrokenNeed]) -> Option<String> {
    let named = outdated
        .iter()
        .filter_map(|one| Some((&one.artifact, one.outdated.as_deref()?)));
    let words = fallen_in_words(named);
    if words.is_empty() { None } else { Some(words) }
}

/// What does not stand, in words: evidence with the same reason together.
fn fallen_in_words<'g>(fallen: impl IntoIterator<Item = (&'g ArtifactName, &'g str)>) -> String {
    let mut groups: Vec<(&str, Vec<String>)> = Vec::new();
    for (artifact, why) in fallen {
        let named = format!("`{artifact}`");
        match groups.iter_mut().find(|(known, _)| *known == why) {
            Some((_, names)) => names.push(named),
            None => groups.push((why, vec![named])),
        }
    }
    let words = groups
        .iter()
        .map(|(why, names)| match why.strip_prefix("was ") {
            Some(what) if names.len() > 1 => format!("{} were {what}", and_join(names)),
            _ => format!("{} {why}", and_join(names)),
        });
    words.collect::<Vec<_>>().join("; ")
}

/// Whether a later change of a file concerns the change of the task. If nobody knows what the plan names, any file may be
/// meant.
fn touches(history: &CodeHistory, planned: Option<&PlannedPaths>, file: &RepoPath) -> bool {
    history.files.contains(file) || planned.is_none_or(|planned| planned.name(file))
}

/// Names in words: `a`, `a and b`, `a, b and c`.
fn and_join(names: &[String]) -> String {
    match names {
        [others @ .., last] if !others.is_empty() => format!("{} and {last}", join(others)),
        _ => join(names),
    }
}

impl JudgedStanding {
    fn fallen(why: String) -> Self {
        Self {
            why_not: Some(why),
            ..Self::default()
        }
    }
}

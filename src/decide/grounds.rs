//! What the way to a good end rests on, and whether it still stands.
//!
//! When a phase is left, its verdicts and reports are recorded with the versions that they judged. They stand as long as
//! that is what is there. A move to a good end is closed while one of them does not; the way back stays open.

use super::code_facts::{ChangeCommit, CodeBase, CodeHistory};
use super::derive::SeenArtifact;
use super::judge::Judge;
use super::planned::PlannedPaths;
use super::rules::join;
use super::{BrokenNeed, Decision, FoundBy, NamedVersion, RecordVersion, Verdict};
use crate::base::{ArtifactName, Code, Diagnostic, Digest, PhaseId, Place, RepoPath, command};
use crate::workflow::{Outcome, Phase, tree_name};
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// A verdict or report on which an earlier phase was left.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ground {
    /// The phase that was left.
    pub phase: PhaseId,
    /// The artifact.
    pub artifact: ArtifactName,
    /// The digest of its present files.
    pub digest: Digest,
    /// Why it does not stand, as what follows its name in a sentence; `None` if it does.
    pub why_not: Option<String>,
    /// The files of the code that others have changed since, which it need not have judged.
    pub others: BTreeSet<RepoPath>,
}

/// What an approval rests on, as its event names it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RestsOn {
    /// A verdict, a report, or what they judge.
    pub artifact: ArtifactName,
    /// Its digest.
    pub digest: Digest,
    /// Whether `orch` made it by running something.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ran: bool,
}

/// Whether code that was judged still stands.
#[derive(Default)]
struct CodeStanding {
    why_not: Option<String>,
    others: BTreeSet<RepoPath>,
}

impl Judge<'_> {
    /// The verdicts and reports on which earlier phases were left, apart from waived ones and those that are gone. What
    /// they judged counts where the present phase needs it; if it needs nothing, all of it does.
    pub(super) fn grounds(&self) -> Vec<Ground> {
        if self.facts.version == RecordVersion::First || self.phase.terminal {
            return Vec::new();
        }
        let before = self.workflow.position(&self.phase.id).unwrap_or_default();
        let mut grounds: Vec<Ground> = Vec::new();
        for phase in &self.workflow.phases[..before] {
            let Some(actor) = self.state.actor(&phase.id) else { continue };
            for (artifact, judged) in &actor.judged {
                let seen = self.seen.iter().find(|seen| seen.derived.name == *artifact);
                let Some(seen) = seen.filter(|seen| seen.derived.holds()) else { continue };
                let Some(digest) = seen.derived.digest else { continue };
                if self.state.waived.contains_key(artifact) {
                    continue;
                }
                let is_as_left = actor.left_with.get(artifact) == Some(&Some(digest));
                let mut ground = Ground {
                    phase: phase.id.clone(),
                    artifact: artifact.clone(),
                    digest,
                    why_not: None,
                    others: BTreeSet::new(),
                };
                for (name, version) in judged.iter().filter(|(name, _)| self.phase.is_held_to(name)) {
                    let standing = if is_as_left {
                        self.version_stands(name, *version)
                    } else {
                        self.replaced_stands(seen, name, *version)
                    };
                    ground.why_not = ground.why_not.or(standing.why_not);
                    ground.others.extend(standing.others);
                }
                grounds.push(ground);
            }
        }
        grounds
    }

    /// Whether a version that was judged is what is there.
    fn version_stands(&self, name: &ArtifactName, judged: Digest) -> CodeStanding {
        let Some(seen) = self.seen.iter().find(|seen| seen.derived.name == *name) else {
            return CodeStanding::default();
        };
        if seen.derived.digest == Some(judged) || !seen.derived.present {
            return CodeStanding::default();
        }
        if seen.derived.tree.is_none() {
            return CodeStanding::fallen(format!("judged another version of `{name}`"));
        }
        let Some(since) = self.facts.code.since(name, judged) else {
            return CodeStanding::fallen(format!("judged another version of `{name}`"));
        };
        match &since.history {
            Some(history) => self.change_stands(name, history),
            None => {
                let code = judged.short();
                CodeStanding::fallen(format!(
                    "judged {}, {code}, which the history here does not have",
                    tree_name(name.as_str())
                ))
            }
        }
    }

    /// Whether a verdict stands that was replaced after its phase was left: it counts, and says that it judged what is
    /// there, or nothing else has been there since.
    fn replaced_stands(&self, seen: &SeenArtifact<'_>, name: &ArtifactName, left: Digest) -> CodeStanding {
        let derived = &seen.derived;
        if !derived.ready() {
            let why = derived.stale_because.clone().unwrap_or_else(|| "it is not valid".to_owned());
            return CodeStanding::fallen(format!("was replaced since, and does not count: {why}"));
        }
        let named = derived
            .of
            .iter()
            .find(|(of, _)| self.workflow.artifact_named(of).is_some_and(|artifact| artifact.name == *name));
        match named {
            // It counts, so what its `of` names is there.
            Some((_, NamedVersion::Digest(_))) => CodeStanding::default(),
            _ => {
                let standing = self.version_stands(name, left);
                if standing.why_not.is_none() {
                    return standing;
                }
                CodeStanding::fallen(format!("was replaced since, and does not say which `{name}` it judged"))
            }
        }
    }

    /// Whether the change of a task still stands with the commits that came after it.
    fn change_stands(&self, name: &ArtifactName, history: &CodeHistory) -> CodeStanding {
        let planned = self.planned_paths();
        let by_branch = self.facts.code.base.as_ref().is_some_and(|base| base.by == FoundBy::Branch);
        // If nobody knows what the plan names, any file may be meant.
        let is_planned = |file: &RepoPath| planned.as_ref().is_none_or(|planned| planned.name(file));
        let touches = |file: &RepoPath| history.files.contains(file) || is_planned(file);
        let counts = |commit: &&ChangeCommit| {
            let is_own = commit.names_task || (by_branch && !commit.is_in_base);
            !commit.files.is_empty() && (is_own || commit.files.iter().any(touches))
        };
        let (against, others): (Vec<_>, Vec<_>) = history.later.iter().partition(counts);
        let Some(last) = against.first() else {
            let files = others.iter().flat_map(|commit| commit.files.iter().cloned());
            return CodeStanding { why_not: None, others: files.collect() };
        };
        let files: BTreeSet<&RepoPath> = against.iter().flat_map(|commit| &commit.files).collect();
        let first = files.iter().find(|file| touches(file)).or(files.iter().next());
        let more = match files.len() {
            1 => String::new(),
            many => format!(" and {} more", many - 1),
        };
        let commits = match against.len() {
            1 => format!("in {} ({})", last.id.short(), last.subject),
            many => format!("in {many} commits, the last one {} ({})", last.id.short(), last.subject),
        };
        let file = first.map(|file| file.as_str()).unwrap_or_default();
        let unknown = match planned.is_none() {
            true => "; what the plan names cannot be computed, so any file may be meant",
            false => "",
        };
        CodeStanding::fallen(format!(
            "judged an earlier `{name}`: {file}{more} changed since {commits}{unknown}"
        ))
    }

    /// The paths that the workflow says the plan names; `None` if they cannot be computed.
    fn planned_paths(&self) -> Option<PlannedPaths> {
        let Some(guard) = &self.workflow.names else { return Some(PlannedPaths::default()) };
        PlannedPaths::of(&guard.value(&self.scope()).ok()?)
    }

    /// What keeps a move to a phase from resting on evidence that stands; nothing unless that is a good end.
    pub(super) fn fallen(&self, target: &Phase) -> Vec<BrokenNeed> {
        if !target.is_good_end() {
            return Vec::new();
        }
        let grounds = self.grounds().into_iter().filter(|ground| ground.why_not.is_some());
        let fallen = grounds.map(|ground| BrokenNeed {
            path: self.path_of(&ground.artifact),
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
        let grounds = self.grounds();
        let standing = grounds.iter().filter(|ground| ground.why_not.is_none());
        let mut names: BTreeSet<&ArtifactName> = standing.map(|ground| &ground.artifact).collect();
        for ground in &grounds {
            let judged = self.state.actor(&ground.phase).and_then(|actor| actor.judged.get(&ground.artifact));
            names.extend(judged.into_iter().flat_map(|judged| judged.keys()));
        }
        let seen = self.seen.iter().filter(|seen| names.contains(&seen.derived.name));
        let rests_on = seen.filter_map(|seen| {
            Some(RestsOn { artifact: seen.derived.name.clone(), digest: seen.derived.digest?, ran: false })
        });
        rests_on.collect()
    }

    /// The base of the task's commits, if something that rests on code was held against it.
    pub(super) fn base_of(&self, rests_on: &[RestsOn]) -> Option<CodeBase> {
        let is_code = |one: &RestsOn| {
            let seen = self.seen.iter().find(|seen| seen.derived.name == one.artifact);
            seen.is_some_and(|seen| seen.derived.tree.is_some())
        };
        self.facts.code.base.clone().filter(|_| rests_on.iter().any(is_code))
    }

    /// Whether a rule leads from the phase to a good end.
    pub(super) fn may_end_well(&self) -> bool {
        let mut rules = self.workflow.rules_from(&self.phase.id);
        rules.any(|rule| {
            let Outcome::To(to) = &rule.outcome else { return false };
            self.workflow.phase(to).is_some_and(Phase::is_good_end)
        })
    }

    /// The findings about evidence that does not stand, and about what others changed since.
    pub(super) fn ground_findings(&self, grounds: &[Ground]) -> Vec<Diagnostic> {
        let mut found = Vec::new();
        // Who goes back to the first of them judges the later ones anew, too.
        let first = grounds.iter().find(|ground| ground.why_not.is_some());
        let back = first.map(|first| self.back_to(&first.phase)).unwrap_or_default();
        let mut others: BTreeSet<&RepoPath> = BTreeSet::new();
        for ground in grounds {
            others.extend(&ground.others);
            let Some(why) = &ground.why_not else { continue };
            let path = self.path_of(&ground.artifact);
            let place = self.facts.place.path(&path);
            let place = place.map_or_else(|_| Place::default(), |path| Place::file(&path));
            let message = format!("`{}` {why}", ground.artifact);
            let finding = match self.may_end_well() {
                true => Diagnostic::warning(Code::EvidenceOutdated, message),
                false => Diagnostic::note(Code::EvidenceOutdated, message),
            };
            found.push(finding.at(place).hint(back.clone()));
        }
        if let Some(first) = others.first() {
            let message = match others.len() {
                1 => format!("others changed since the code was judged: 1 file ({first})"),
                many => format!("others changed since the code was judged: {many} files ({first}, …)"),
            };
            found.push(Diagnostic::note(Code::OthersChanged, message));
        }
        found
    }

    /// The phase that has to judge anew, if nothing else is broken.
    pub(super) fn first_fallen(&self, unmet: &[BrokenNeed]) -> Option<PhaseId> {
        let is_only_fallen = unmet.iter().all(|need| need.outdated.is_some());
        let grounds = self.grounds();
        let first = grounds.iter().find(|ground| ground.why_not.is_some()).filter(|_| is_only_fallen);
        first.map(|ground| ground.phase.clone())
    }

    /// Says first what does not stand, where a good end is next.
    pub(super) fn tell_fallen(&self, decision: &mut Decision) {
        if !self.may_end_well() || !matches!(decision.verdict, Verdict::Wait { .. }) {
            return;
        }
        let grounds = decision.grounds.iter();
        let fallen = grounds.filter_map(|ground| Some((&ground.artifact, ground.why_not.as_deref()?)));
        let told = fallen_in_words(fallen);
        if !told.is_empty() {
            decision.reason = format!("{told}; {}", decision.reason);
        }
    }

    /// The command that lets a phase judge anew.
    fn back_to(&self, phase: &PhaseId) -> String {
        let task = self.facts.task.as_str();
        command(&["orch", "rollback", task, "--to", phase.as_str(), "--reason", super::WHY])
    }
}

/// What is outdated of these needs, in words; `None` if there is none.
pub(super) fn outdated_in_words(outdated: &[&BrokenNeed]) -> Option<String> {
    let named = outdated.iter().filter_map(|one| Some((&one.artifact, one.outdated.as_deref()?)));
    let told = fallen_in_words(named);
    if told.is_empty() { None } else { Some(told) }
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
    let told = groups.iter().map(|(why, names)| format!("{} {why}", and_join(names)));
    told.collect::<Vec<_>>().join("; ")
}

/// Names in words: `a`, `a and b`, `a, b and c`.
fn and_join(names: &[String]) -> String {
    match names {
        [others @ .., last] if !others.is_empty() => format!("{} and {last}", join(others)),
        _ => join(names),
    }
}

impl CodeStanding {
    fn fallen(why: String) -> Self {
        Self { why_not: Some(why), others: BTreeSet::new() }
    }
}

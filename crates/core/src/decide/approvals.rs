//! Several approvals: what people said in a phase that asks for more than one, and who is still missing.
//!
//! What a person said counts while all that it names stands. For each team that the phase names, a different person
//! has to say yes: one person counts once, and for one team.

use super::derive::SeenArtifact;
use super::evaluation::SeenTask;
use super::order::{refused, why_after, with_why};
use super::ruling::Rulings;
use super::{
    ActorKind, Approving, Detail, Draft, Evidence, Facts, FileWriter, HistoryEntry, Kind,
    PersonRuling, Ruled, Ruling, RulingOrder, Stamp, State, Teams, Transition,
};
use crate::workflow::{Phase, Workflow};
use orch_base::{ArtifactName, Code, Error, Hint, Timestamp};
use serde_json::{Value, json};

/// What people said in a phase that asks for several approvals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Approvals {
    /// How many have to approve.
    pub needed: usize,
    /// Those who approve the current versions.
    pub approved: Vec<String>,
    /// The teams for which somebody approves.
    pub teams: Vec<String>,
    /// Who is missing: the teams for which nobody approves, and `anybody` for each further person.
    pub missing: Vec<String>,
    /// Those who reject the current versions.
    pub rejected: Vec<String>,
    /// Those who judged other versions than the current ones.
    pub stale: Vec<String>,
    /// Those who wrote what somebody else has to judge.
    pub writers: Vec<String>,
    /// The files of which nobody saw who wrote them, where that has to be known. Guards do not see it.
    pub unseen: Vec<String>,
}

impl Approvals {
    /// Whether they suffice: nobody is missing, and nobody rejects.
    pub(super) fn suffice(&self) -> bool {
        self.missing.is_empty() && self.rejected.is_empty()
    }

    /// What guards see.
    pub(super) fn value(&self) -> Value {
        json!({
            "count": self.approved.len(),
            "needed": self.needed,
            "approved": self.approved,
            "teams": self.teams,
            "missing": self.missing,
            "rejected": self.rejected,
            "stale": self.stale,
            "writers": self.writers,
        })
    }

    /// What they wait for, in words.
    pub(super) fn words(&self) -> String {
        let mut said = vec![format!(
            "{} of {} approvals",
            self.approved.len(),
            self.needed
        )];
        if !self.approved.is_empty() {
            said.push(format!("by {}", self.approved.join(", ")));
        }
        if !self.missing.is_empty() {
            said.push(format!("missing: {}", self.missing.join(", ")));
        }
        if !self.rejected.is_empty() {
            said.push(format!("rejected by {}", self.rejected.join(", ")));
        }
        if !self.writers.is_empty() {
            said.push(format!(
                "{} wrote what somebody else has to judge",
                self.writers.join(", ")
            ));
        }
        if !self.unseen.is_empty() {
            said.push(format!("who wrote {} is unknown", self.unseen.join(", ")));
        }
        if !self.stale.is_empty() {
            said.push(format!(
                "{} judged something other than what is there now",
                self.stale.join(", ")
            ));
        }
        said.join("; ")
    }
}

/// Whether a person wrote what the phase wants judged by somebody else.
fn has_written(phase: &Phase, seen: &[SeenArtifact<'_>], person: &str) -> bool {
    let judged = seen
        .iter()
        .filter(|seen| phase.not_by.contains(&seen.derived.name));
    let mut writers = judged.flat_map(|seen| &seen.derived.writers);
    let own = FileWriter::new(ActorKind::Human, person);
    writers.any(|writer| writer.is_same(&own))
}

/// The teams for which one of these people can stand, each person for one team, as many teams as possible; earlier ones
/// first.
fn assigned<'t>(asked: &'t [String], people: &[String], teams: &Teams) -> Vec<&'t String> {
    let mut is_in: Vec<Vec<bool>> = Vec::new();
    for team in asked {
        let members = teams.get(team).map(Vec::as_slice).unwrap_or_default();
        let of_team = people.iter().map(|person| {
            members
                .iter()
                .any(|member| member.eq_ignore_ascii_case(person))
        });
        is_in.push(of_team.collect());
    }
    let mut of_person: Vec<Option<usize>> = vec![None; people.len()];
    for team in 0..asked.len() {
        let mut tried = vec![false; people.len()];
        place(team, &is_in, &mut of_person, &mut tried);
    }
    (0..asked.len())
        .filter(|team| of_person.contains(&Some(*team)))
        .map(|team| &asked[team])
        .collect()
}

/// Finds a person for a team, moving others to other teams where that helps.
fn place(
    team: usize,
    is_in: &[Vec<bool>],
    of_person: &mut [Option<usize>],
    tried: &mut [bool],
) -> bool {
    for person in 0..of_person.len() {
        if tried[person] || !is_in[team][person] {
            continue;
        }
        tried[person] = true;
        let is_free = match of_person[person] {
            None => true,
            Some(other) => place(other, is_in, of_person, tried),
        };
        if is_free {
            of_person[person] = Some(team);
            return true;
        }
    }
    false
}

impl Rulings<'_> {
    /// What people said of the phase; `None` if it does not ask for several approvals.
    pub(super) fn approvals(&self) -> Option<Approvals> {
        let asked = self.evaluation.phase.approvals.as_ref()?;
        let said = self
            .evaluation
            .state
            .actor(&self.evaluation.phase.id)
            .map(|actor| actor.approvals.as_slice())
            .unwrap_or_default();
        let mut found = Approvals {
            needed: asked.count.max(asked.teams.len()),
            approved: Vec::new(),
            teams: Vec::new(),
            missing: Vec::new(),
            rejected: Vec::new(),
            stale: Vec::new(),
            writers: Vec::new(),
            unseen: self
                .evaluation
                .grounds()
                .unseen(&self.evaluation.phase.not_by)
                .into_iter()
                .map(str::to_owned)
                .collect(),
        };
        for one in said {
            let person = one.person.clone();
            match (self.still_stands(one), one.ruling) {
                (false, _) => found.stale.push(person),
                (true, Ruling::Approve)
                    if has_written(self.evaluation.phase, self.evaluation.seen, &person) =>
                {
                    found.writers.push(person);
                }
                (true, Ruling::Approve) => found.approved.push(person),
                (true, Ruling::Reject) => found.rejected.push(person),
            }
        }
        let taken = assigned(
            &asked.teams,
            &found.approved,
            &self.evaluation.facts.inputs.teams,
        );
        for team in &asked.teams {
            let side = if taken.contains(&team) {
                &mut found.teams
            } else {
                &mut found.missing
            };
            side.push(team.clone());
        }
        let lacking = found.needed.saturating_sub(found.approved.len());
        while found.missing.len() < lacking {
            found.missing.push("anybody".to_owned());
        }
        Some(found)
    }

    /// Whether all that a person judged is as it was; of code, the change of the task.
    fn still_stands(&self, said: &Approving) -> bool {
        said.on.iter().all(|(artifact, digest)| {
            let seen = self.evaluation.seen_of(artifact);
            let Some(derived) = seen.map(|seen| &seen.derived) else {
                return false;
            };
            match derived.tree {
                Some(_) => self.evaluation.grounds().is_same_change(artifact, *digest),
                None => derived.digest == Some(*digest),
            }
        })
    }

    /// What a person says in a phase that asks for several approvals. It moves nothing.
    pub(super) fn said_by(&self, order: RulingOrder<'_>, stamp: &Stamp) -> Result<Ruled, Error> {
        let person = stamp
            .address
            .clone()
            .unwrap_or_else(|| stamp.by.name.clone());
        let texts = order
            .reason
            .into_iter()
            .chain(order.objections.iter().map(super::Objection::text));
        let why: Vec<&str> = texts.collect();
        let why = (!why.is_empty()).then(|| why.join("; "));
        let said = PersonRuling {
            ruling: order.ruling,
            person,
        };
        let (transition, text) = self.saying(&said, why.as_deref(), stamp.at)?;
        let known = self
            .evaluation
            .state
            .actor(&self.evaluation.phase.id)
            .map(|actor| actor.approvals.as_slice())
            .unwrap_or_default();
        let is_said = known.iter().any(|known| {
            known.person == said.person && known.ruling == said.ruling && self.still_stands(known)
        });
        if is_said {
            let message = format!(
                "{} did so already, and all that it rests on is as it was",
                said.person
            );
            let argv = ["orch", "status", self.evaluation.facts.task.as_str()];
            return Err(refused(Code::NothingToApply, message, Hint::run(&argv)));
        }
        let draft = Draft {
            path: said.path(&self.evaluation.phase.id),
            text,
            facts: None,
        };
        Ok(Ruled {
            transition,
            draft: Some(draft),
            written: None,
        })
    }

    /// The step in which a person says something, and the text of its file.
    fn saying(
        &self,
        said: &PersonRuling,
        why: Option<&str>,
        at: Timestamp,
    ) -> Result<(Transition, String), Error> {
        let detail = Detail::Approve(said.clone());
        let reason = with_why(detail.words(), why)?;
        let mut evidence = self.evaluation.evidence(&self.approved_on());
        let of: serde_json::Map<String, Value> = evidence
            .iter()
            .map(|one| {
                (
                    one.artifact.to_string(),
                    Value::from(one.digest.to_string()),
                )
            })
            .collect();
        let file = json!({
            "ruling": said.ruling, "person": said.person, "reason": reason, "at": at.to_string(), "of": of,
        });
        let text = format!("{file:#}\n");
        let digest = self
            .evaluation
            .workflow
            .digest
            .format()
            .blob(text.as_bytes());
        if let Ok(artifact) = ArtifactName::new("approval") {
            let files = vec![(said.path(&self.evaluation.phase.id), digest)];
            evidence.push(Evidence {
                artifact,
                files,
                digest,
                valid: true,
                committed: true,
            });
        }
        let here = self.evaluation.phase.id.clone();
        let transition = Transition::new(Some(here.clone()), here, Kind::Approve, &reason);
        Ok((
            Transition {
                evidence,
                detail: Some(Box::new(detail)),
                by_human: true,
                ..transition
            },
            text,
        ))
    }

    /// What a person judges in the phase: what it needs and reads, and what earlier phases have made.
    fn approved_on(&self) -> Vec<ArtifactName> {
        let before = self
            .evaluation
            .workflow
            .position(&self.evaluation.phase.id)
            .unwrap_or_default();
        let made = self.evaluation.workflow.phases[..before]
            .iter()
            .flat_map(|phase| &phase.produces);
        let mut names: Vec<ArtifactName> = Vec::new();
        for name in self
            .evaluation
            .phase
            .needs
            .iter()
            .chain(&self.evaluation.phase.reads)
            .chain(made)
        {
            if !names.contains(name) {
                names.push(name.clone());
            }
        }
        names
    }
}

/// The recorded step in which a person said something, derived again.
pub(super) fn said_again(
    workflow: &Workflow,
    state: &State,
    facts: &Facts,
    entry: &HistoryEntry,
) -> Result<Transition, String> {
    let Some(Detail::Approve(said)) = entry.detail.as_deref() else {
        return Err("the record does not say what was said".to_owned());
    };
    let phase = super::order::current(workflow, state).map_err(|error| error.to_string())?;
    if phase.approvals.is_none() {
        return Err(format!("`{}` does not ask for several approvals", phase.id));
    }
    let task = SeenTask::of(workflow, state, facts, phase);
    let evaluation = task.evaluation();
    let why = why_after(&entry.reason, &Detail::Approve(said.clone()).words());
    evaluation
        .rulings()
        .saying(said, why, entry.at)
        .map(|(transition, _)| transition)
        .map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_team_has_a_person_of_its_own_if_there_is_a_way() {
        let teams: Teams = [("a", "x y"), ("b", "x"), ("c", "y z"), ("d", "")]
            .map(|(team, people)| {
                (
                    team.to_owned(),
                    people.split_whitespace().map(str::to_owned).collect(),
                )
            })
            .into();
        for (asked, people, expected) in [
            ("a b", "x y", "a b"),
            ("a b", "y x", "a b"),
            ("a b", "x", "a"),
            ("b a", "x", "b"),
            ("a b c", "x y z", "a b c"),
            ("a b c", "X Y", "a b"),
            ("a b c", "z x y", "a b c"),
            ("c d", "z", "c"),
            ("a nobody", "x y", "a"),
            ("", "x", ""),
            ("a", "", ""),
        ] {
            let words = |text: &str| {
                text.split_whitespace()
                    .map(str::to_owned)
                    .collect::<Vec<String>>()
            };
            let asked = words(asked);
            let people = words(people);
            let found = assigned(&asked, &people, &teams);
            assert_eq!(
                found.into_iter().cloned().collect::<Vec<_>>(),
                words(expected),
                "{asked:?} {people:?}"
            );
        }
    }
}

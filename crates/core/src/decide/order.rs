//! Orders of people: overrides, rollbacks, reopenings, confirmations. Each is checked and then becomes a
//! transition like any other.

use super::derive::{SeenArtifact, is_set_spent, seen_of};
use super::evaluation::{Evaluation, SeenTask};
use super::rules::join;
use super::{BrokenNeed, Facts, Kind, RecordVersion, State, Transition, WHY};
use crate::workflow::{Outcome, Phase, Workflow};
use orch_base::{ArtifactName, Code, Error, Hint, PhaseId, nearest};

pub(super) fn refused(code: Code, message: impl Into<String>, hint: impl Into<Hint>) -> Error {
    Error::new(code, message).with_hint(hint)
}

/// The error for a name that no artifact of a workflow has.
#[must_use]
pub fn unknown_artifact(workflow: &Workflow, artifact: &str) -> Error {
    let names: Vec<&str> = workflow
        .artifacts
        .iter()
        .map(|artifact| artifact.name.as_str())
        .collect();
    let hint = match nearest(artifact, names.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None => format!("its artifacts are {}", names.join(", ")),
    };
    refused(
        Code::UnknownArtifact,
        format!("there is no artifact `{artifact}`"),
        hint,
    )
}

/// The creation of a task in the initial phase of its workflow.
#[must_use]
pub fn create(workflow: &Workflow, reason: &str) -> Transition {
    Transition::new(None, workflow.initial.clone(), Kind::Create, reason)
}

/// A transition against the rules, to `to` or else to the phase to which the work would go. Returns an error
/// if the task is terminal, or `to` is unknown or unreachable.
pub fn override_to(
    workflow: &Workflow,
    state: &State,
    facts: &Facts,
    to: Option<&str>,
    reason: &str,
) -> Result<Transition, Error> {
    let reason = given(reason)?;
    let state = &*state.under_own_names(workflow);
    let from = current(workflow, state)?;
    if from.terminal {
        let hint = typed(facts, "reopen", &["--reason", WHY]);
        return Err(refused(
            Code::Terminal,
            format!("`{}` is terminal", from.id),
            hint,
        ));
    }
    let reachable = workflow.reachable(&from.id);
    let target = match to {
        Some(name) => reachable_phase(workflow, &reachable, &from.id, name)?,
        None => forward_target(workflow, &reachable, from)?,
    };
    let task = SeenTask::of(workflow, state, facts, from);
    let evaluation = task.evaluation();
    let mut waive = waived_by(workflow, facts.version, evaluation.seen, from, target);
    for lost in evaluation.hinders(target) {
        if !waive.contains(&lost.artifact) {
            waive.push(lost.artifact);
        }
    }
    let mut transition = Transition::new(
        Some(from.id.clone()),
        target.id.clone(),
        Kind::Override,
        reason,
    );
    let grounds = evaluation.grounds().rests_on_grounds(target);
    let mut names = rests_on(from, target);
    names.extend(grounds.iter().map(|ground| ground.artifact.clone()));
    transition.evidence = evaluation.evidence(&names);
    transition.base = evaluation.grounds().base_of(&grounds);
    transition.rests_on = grounds;
    transition.waive = waive;
    Ok(transition)
}

/// A transition back to an earlier phase, by default the last consistent one. Returns an error if the task is
/// terminal, or the target is not earlier or lacks its needs.
pub fn rollback(
    workflow: &Workflow,
    state: &State,
    facts: &Facts,
    to: Option<&str>,
    reason: &str,
) -> Result<Transition, Error> {
    let reason = given(reason)?;
    let state = &*state.under_own_names(workflow);
    let from = current(workflow, state)?;
    if from.terminal {
        let hint = typed(facts, "reopen", &["--reason", WHY]);
        return Err(refused(
            Code::Terminal,
            format!("`{}` is terminal", from.id),
            hint,
        ));
    }
    let task = SeenTask::of(workflow, state, facts, from);
    let evaluation = task.evaluation();
    let target = match to {
        Some(name) => named_phase(workflow, name)?,
        None => {
            let last = evaluation
                .last_consistent()
                .and_then(|id| workflow.phase(&id));
            last.ok_or_else(|| match workflow.position(&from.id) {
                Some(0) => {
                    let message = format!("`{}` is the first phase", from.id);
                    refused(
                        Code::NoEarlierPhase,
                        message,
                        against_the_rules(facts, from),
                    )
                }
                _ => {
                    let hint = typed(facts, "rollback", &["--to", "PHASE", "--reason", WHY]);
                    refused(
                        Code::NoEarlierPhase,
                        "no earlier phase has its needs met",
                        hint,
                    )
                }
            })?
        }
    };
    back(&evaluation, target, Kind::Rollback, reason)
}

/// A transition out of a terminal phase, by default to the phase that the task came from. Returns an error if
/// the task is not terminal or the target lacks its needs.
pub fn reopen(
    workflow: &Workflow,
    state: &State,
    facts: &Facts,
    to: Option<&str>,
    reason: &str,
) -> Result<Transition, Error> {
    let reason = given(reason)?;
    let state = &*state.under_own_names(workflow);
    let from = current(workflow, state)?;
    if !from.terminal {
        let hint = match workflow.position(&from.id) {
            Some(0) => against_the_rules(facts, from),
            _ => typed(facts, "rollback", &["--reason", WHY]),
        };
        return Err(refused(
            Code::NotTerminal,
            format!("the task is in `{}`, which is not terminal", from.id),
            hint,
        ));
    }
    let task = SeenTask::of(workflow, state, facts, from);
    let evaluation = task.evaluation();
    let target = match to {
        Some(name) => named_phase(workflow, name)?,
        None => left_phase(workflow, state, from)?,
    };
    back(&evaluation, target, Kind::Reopen, reason)
}

/// Confirms an unchanged artifact: its files are no longer used up or early. Returns an error if the artifact is
/// unknown, absent, or neither.
pub fn confirm(
    workflow: &Workflow,
    state: &State,
    facts: &Facts,
    artifact: &str,
    reason: &str,
) -> Result<Transition, Error> {
    let reason = given(reason)?;
    let state = &*state.under_own_names(workflow);
    let phase = current(workflow, state)?;
    let task = SeenTask::of(workflow, state, facts, phase);
    let Some(one) = task
        .seen
        .iter()
        .find(|seen| seen.derived.name.as_str() == artifact)
    else {
        return Err(unknown_artifact(workflow, artifact));
    };
    let derived = &one.derived;
    let Some(digest) = derived.digest else {
        let message = format!("`{artifact}` has no file");
        return Err(refused(
            Code::NotPresent,
            message,
            "write it first; only an existing file can be confirmed",
        ));
    };
    if !one.can_be_confirmed() {
        let message = match &derived.stale_because {
            Some(because) => format!("`{artifact}` cannot be confirmed: {because}"),
            None => format!("`{artifact}` is fresh; there is nothing to confirm"),
        };
        return Err(refused(
            Code::NotSpent,
            message,
            "if it should say something else, rewrite it",
        ));
    }
    let evaluation = task.evaluation();
    let mut transition = Transition::new(
        Some(phase.id.clone()),
        phase.id.clone(),
        Kind::Confirm,
        reason,
    );
    transition.evidence = evaluation.evidence(std::slice::from_ref(&derived.name));
    let confirmed = match facts.version {
        RecordVersion::First => vec![digest],
        RecordVersion::Second | RecordVersion::Third | RecordVersion::Fourth => {
            let files = one
                .excluded
                .iter()
                .filter(|(_, why)| why.can_be_confirmed());
            let set = is_set_spent(workflow, state, &derived.name, &one.files).then_some(digest);
            files
                .filter_map(|(file, _)| file.digest)
                .chain(set)
                .collect()
        }
    };
    transition.confirm = Some((derived.name.clone(), confirmed));
    Ok(transition)
}

/// The reason of a step that says more than what a person gave: what it `says`, and the person's own reason if
/// there is one. Returns an error if that one is empty.
pub(super) fn with_why(says: String, why: Option<&str>) -> Result<String, Error> {
    Ok(match why.map(given).transpose()? {
        Some(why) => format!("{says}{SEPARATOR}{why}"),
        None => says,
    })
}

/// The person's own part of a recorded reason, after what the step `says`.
pub(super) fn why_after<'r>(reason: &'r str, says: &str) -> Option<&'r str> {
    reason.strip_prefix(says)?.strip_prefix(SEPARATOR)
}

/// What separates the two.
pub(super) const SEPARATOR: &str = ": ";

pub(super) fn given(reason: &str) -> Result<&str, Error> {
    let reason = reason.trim();
    if !reason.chars().any(is_visible) {
        return Err(no_reason("the reason is empty"));
    }
    Ok(reason)
}

/// Returns an error if a reason is what offered commands have in place of one. The orders themselves accept it: they
/// are asked with it whether they are possible, and records contain it.
pub fn refuse_placeholder(reason: &str) -> Result<(), Error> {
    match reason.trim() {
        WHY => Err(no_reason(format!("`{WHY}` is a placeholder for a reason"))),
        _ => Ok(()),
    }
}

fn no_reason(message: impl Into<String>) -> Error {
    refused(
        Code::NoReason,
        message,
        "give a reason; it is recorded with the transition",
    )
}

/// Whether a character is visible to a reader.
fn is_visible(c: char) -> bool {
    // Letters and symbols by definition, but drawn as nothing: Korean fillers and the empty Braille cell.
    let is_blank = matches!(
        c,
        '\u{115f}' | '\u{1160}' | '\u{2800}' | '\u{3164}' | '\u{ffa0}'
    );
    // Characters that are not printed or only modify their neighbour are escaped by number.
    let is_escaped = c.escape_debug().nth(1) == Some('u');
    !c.is_whitespace() && !c.is_control() && !is_blank && !is_escaped
}

pub(super) fn current<'w>(workflow: &'w Workflow, state: &State) -> Result<&'w Phase, Error> {
    let name = state.phase.as_deref().unwrap_or(workflow.initial.as_str());
    named_phase(workflow, name)
}

pub(super) fn named_phase<'w>(workflow: &'w Workflow, name: &str) -> Result<&'w Phase, Error> {
    workflow.phase_named(name).ok_or_else(|| {
        let known: Vec<&str> = workflow
            .phases
            .iter()
            .map(|phase| phase.id.as_str())
            .collect();
        let meant =
            nearest(name, known.iter().copied()).map(|near| format!("did you mean `{near}`? "));
        let hint = format!(
            "{}the phases are {}",
            meant.unwrap_or_default(),
            known.join(", ")
        );
        refused(
            Code::UnknownPhase,
            format!("workflow `{}` has no phase `{name}`", workflow.name),
            hint,
        )
    })
}

fn reachable_phase<'w>(
    workflow: &'w Workflow,
    reachable: &[PhaseId],
    from: &PhaseId,
    name: &str,
) -> Result<&'w Phase, Error> {
    let listed = format!("the phases reachable from here are {}", join(reachable));
    let Some(phase) = workflow.phase_named(name) else {
        let meant = nearest(name, reachable.iter().map(PhaseId::as_str));
        let meant = meant
            .map(|near| format!("did you mean `{near}`? "))
            .unwrap_or_default();
        let message = format!("workflow `{}` has no phase `{name}`", workflow.name);
        return Err(refused(
            Code::UnknownPhase,
            message,
            format!("{meant}{listed}"),
        ));
    };
    if reachable.contains(&phase.id) {
        return Ok(phase);
    }
    let message = format!("no rules lead from `{from}` to `{}`", phase.id);
    Err(refused(Code::Unreachable, message, listed))
}

/// The phase to which the work of a phase would go: the target of the first rule that leads forward, answers
/// to no control request, and from which a good end can be reached by further such rules.
pub(super) fn onward<'w>(workflow: &'w Workflow, from: &Phase) -> Option<&'w Phase> {
    let mut ends_well = vec![false; workflow.phases.len()];
    // A workflow without a good end does not tell the ways apart.
    let has_good_end = workflow.phases.iter().any(Phase::is_good_end);
    // A rule leads forward only to a later phase, whose entry is known.
    for (position, phase) in workflow.phases.iter().enumerate().rev() {
        let leads_on = ahead(workflow, phase).any(|(next, _)| ends_well[next]);
        ends_well[position] = if phase.terminal {
            phase.success
        } else {
            leads_on || !has_good_end
        };
    }
    ahead(workflow, from)
        .find(|(position, _)| ends_well[*position])
        .map(|(_, target)| target)
}

/// The later phases to which rules lead by themselves, each with its position, in the order of the rules.
fn ahead<'w>(workflow: &'w Workflow, from: &Phase) -> impl Iterator<Item = (usize, &'w Phase)> {
    let id = from.id.clone();
    let start = workflow.position(&from.id);
    let rules = workflow
        .rules
        .iter()
        .filter(move |rule| rule.on.is_none() && rule.from.contains(&id));
    let targets = rules.filter_map(|rule| match &rule.outcome {
        Outcome::To(to) => Some((workflow.position(to)?, workflow.phase(to)?)),
        _ => None,
    });
    targets.filter(move |(position, _)| Some(*position) > start)
}

fn forward_target<'w>(
    workflow: &'w Workflow,
    reachable: &[PhaseId],
    from: &Phase,
) -> Result<&'w Phase, Error> {
    onward(workflow, from).ok_or_else(|| {
        let message = format!(
            "the work of `{}` leads to no later phase, so the override needs a target",
            from.id
        );
        refused(
            Code::Unreachable,
            message,
            format!("name the phase with --to: {}", join(reachable)),
        )
    })
}

fn left_phase<'w>(
    workflow: &'w Workflow,
    state: &State,
    terminal: &Phase,
) -> Result<&'w Phase, Error> {
    let end = state.newest_first().find(|entry| {
        let entered = workflow.phase_named(entry.to.as_str());
        entry.enters(&entry.to) && entered.is_some_and(|phase| phase.id == terminal.id)
    });
    let left = end.and_then(|entry| workflow.phase_named(entry.from.as_ref()?.as_str()));
    left.ok_or_else(|| {
        refused(
            Code::NoEarlierPhase,
            "the state does not record from which phase the task came",
            "name the phase with --to",
        )
    })
}

/// A command about the task, to be typed.
fn typed(facts: &Facts, name: &str, options: &[&str]) -> Hint {
    Hint::run(&[&["orch", name, facts.task.as_str()], options].concat())
}

/// The command that moves the task to a phase against the rules.
fn against_the_rules(facts: &Facts, to: &Phase) -> Hint {
    typed(facts, "next", &["--override", WHY, "--to", to.id.as_str()])
}

/// A send-back ordered by a person. Returns an error unless the target is earlier and has its needs.
fn back(
    evaluation: &Evaluation<'_>,
    target: &Phase,
    kind: Kind,
    reason: &str,
) -> Result<Transition, Error> {
    let workflow = evaluation.workflow;
    if target.terminal {
        let message = format!(
            "`{}` is terminal; a task cannot be sent back to it",
            target.id
        );
        return Err(refused(
            Code::Terminal,
            message,
            "name another phase with --to",
        ));
    }
    // A terminal phase may be left to any other phase, even to a later one in the document.
    let is_earlier = workflow.position(&target.id) < workflow.position(&evaluation.phase.id);
    if !is_earlier && kind != Kind::Reopen {
        let message = format!(
            "`{}` is not earlier than `{}`",
            target.id, evaluation.phase.id
        );
        return Err(refused(
            Code::NotEarlier,
            message,
            against_the_rules(evaluation.facts, target),
        ));
    }
    let unmet = evaluation.broken_needs(&target.needs, &[]);
    if !unmet.is_empty() {
        let named: Vec<String> = unmet.iter().map(BrokenNeed::named).collect();
        let message = format!(
            "the needs of `{}` are not met: {}",
            target.id,
            named.join(", ")
        );
        let hint = match evaluation.last_consistent() {
            Some(last) => format!("the last phase whose needs hold is `{last}`"),
            None => "write the missing artifacts first".to_owned(),
        };
        return Err(refused(Code::UnmetNeeds, message, hint));
    }
    let mut transition = Transition::new(
        Some(evaluation.phase.id.clone()),
        target.id.clone(),
        kind,
        reason,
    );
    transition.evidence = evaluation.evidence(&rests_on(evaluation.phase, target));
    Ok(transition)
}

fn rests_on(from: &Phase, target: &Phase) -> Vec<ArtifactName> {
    from.needs
        .iter()
        .chain(&from.produces)
        .chain(&target.needs)
        .cloned()
        .collect()
}

/// Whether a rule leads from one phase to another.
fn leads_directly(workflow: &Workflow, from: &Phase, target: &Phase) -> bool {
    let mut rules = workflow.rules_from(&from.id);
    rules.any(|rule| matches!(&rule.outcome, Outcome::To(to) if *to == target.id))
}

/// The artifacts whose absence an override accepts: outputs of the phases that it skips, and needs of its
/// target.
fn waived_by(
    workflow: &Workflow,
    version: RecordVersion,
    seen: &[SeenArtifact<'_>],
    from: &Phase,
    target: &Phase,
) -> Vec<ArtifactName> {
    let start = workflow.position(&from.id).unwrap_or(0);
    let end = workflow.position(&target.id).unwrap_or(0);
    // What a rule of the phase leads to directly is not jumped to.
    let is_direct = version != RecordVersion::First && leads_directly(workflow, from, target);
    let end = if is_direct { end.min(start + 1) } else { end };
    let jumped = workflow.phases.iter().take(end).skip(start);
    let outputs = jumped.flat_map(|phase| {
        phase
            .produces
            .iter()
            .filter(|name| !phase.optional.contains(name))
    });

    let mut waived: Vec<ArtifactName> = Vec::new();
    for name in outputs.chain(&target.needs) {
        let is_ready = seen_of(seen, name).is_some_and(|seen| seen.derived.ready());
        if !is_ready && !waived.contains(name) {
            waived.push(name.clone());
        }
    }
    waived
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reason_can_be_seen() {
        for reason in [
            "",
            " \t\n",
            "\u{a0}\u{3000}\u{2028}",
            "\u{200b}",
            "\u{200c}\u{200d}\u{200e}\u{200f}",
            "\u{2060}\u{feff}\u{ad}",
            "\u{180e}\u{34f}\u{61c}",
            "\u{202e}\u{2066}\u{2069}",
            "\u{fe0f}\u{e0020}\u{e0100}",
            "\u{301}",
            "\0\u{1b}\u{7f}\u{85}",
            "\u{115f}\u{1160}\u{2800}\u{3164}\u{ffa0}",
        ] {
            assert_eq!(
                given(reason).map_err(|refused| refused.code()),
                Err(Code::NoReason),
                "{reason:?}"
            );
        }
        for reason in [
            "x",
            "?",
            "'",
            "\"",
            "\\",
            "日本",
            "🙂",
            "❤\u{fe0f}",
            "e\u{301}",
            "\u{200b}.\u{200b}",
        ] {
            assert_eq!(given(reason), Ok(reason), "{reason:?}");
        }
        assert_eq!(given("  so be it\n"), Ok("so be it"));
    }
}

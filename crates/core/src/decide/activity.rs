//! Steps within a phase: results of actions, answers, orders, the start and the end of a run.
//!
//! Each is checked here and becomes a transition that stays in its phase. Replaying a step calls the same
//! functions, so no result or answer can change more than the workflow allows.

use super::data::{PatchOp, bound, merge_patch, outside};
use super::derive::{SeenArtifact, look};
use super::evaluation::SeenTask;
use super::not_enabled::not_enabled;
use super::rules::computed;
use super::scope::TaskScope;
use super::{
    Change, Ending, ExecutorTrace, Facts, Kind, Mode, Recorded, State, Transition, data, evaluate,
};
use crate::workflow::{Action, Ask, Guard, Outcome, Phase, Rule, Signal, Workflow};
use orch_base::{ActionName, PhaseId, Reason, RuleId};
use serde_json::{Map, Value};

/// The step that accepts a result. Returns the reason if the result changes something that its action may not
/// write, or claims success wrongly.
pub fn accept(
    workflow: &Workflow,
    state: &State,
    facts: &Facts,
    rule: &RuleId,
    action: &ActionName,
    patch: &[PatchOp],
    reason: &str,
) -> Result<Transition, Reason> {
    let writes = workflow
        .action(action)
        .map(|action| action.writes.as_slice())
        .unwrap_or_default();
    if let Some(pointer) = outside(patch, writes) {
        let may = if writes.is_empty() {
            "nothing".to_owned()
        } else {
            writes.join(", ")
        };
        return Err(
            format!("the result changes {pointer}; action `{action}` may write {may}").into(),
        );
    }
    let own = patched(workflow, state, patch)?;
    result(workflow, state, facts, rule, action, own, reason)
}

/// The step that accepts a result whose data is known.
pub(super) fn result(
    workflow: &Workflow,
    state: &State,
    facts: &Facts,
    rule: &RuleId,
    action: &ActionName,
    own: Map<String, Value>,
    reason: &str,
) -> Result<Transition, Reason> {
    let phase = phase_of(workflow, state)?;
    let rule = running(workflow, state, facts, phase, rule, action)?;
    if let Some(action) = workflow.action(action) {
        refuse_undone(workflow, state, facts, phase, &own, action)?;
    }
    let mut transition = here(workflow, state, facts, Kind::Run, reason)?;
    transition.set = on_data(workflow, state, facts, phase, &own, &rule.set)?;
    transition.rule = Some(rule.id.clone());
    transition.action = Some(action.clone());
    transition.change = Some(Change::Data(own));
    Ok(transition)
}

/// The step for an action that failed too often, with the trace of its last try. Returns the reason if `rule`
/// does not run the action here.
pub fn give_up(
    workflow: &Workflow,
    state: &State,
    facts: &Facts,
    rule: &RuleId,
    action: &ActionName,
    reason: &str,
    trace: ExecutorTrace,
) -> Result<Transition, Reason> {
    let phase = phase_of(workflow, state)?;
    let rule = running(workflow, state, facts, phase, rule, action)?;
    let mut transition = here(workflow, state, facts, Kind::Skip, reason)?;
    transition.change = Some(Change::Failed(trace));
    transition.rule = Some(rule.id.clone());
    transition.action = Some(action.clone());
    Ok(transition)
}

/// The step for a person's answer to the question that is asked now. Returns the reason if no question is
/// open, or it does not allow this answer.
pub fn answer(
    workflow: &Workflow,
    state: &State,
    facts: &Facts,
    patch: &[PatchOp],
    reason: &str,
) -> Result<Transition, Reason> {
    let (rule, ask) = asked(workflow, state, facts).ok_or("no question is open")?;
    if let Some(pointer) = outside(patch, &ask.writes) {
        return Err(format!(
            "the question does not ask for {pointer}, only for {}",
            ask.writes.join(", ")
        )
        .into());
    }
    let own = patched(workflow, state, patch)?;
    answered(workflow, state, facts, rule, ask, own, reason)
}

pub(super) fn answered(
    workflow: &Workflow,
    state: &State,
    facts: &Facts,
    rule: &Rule,
    ask: &Ask,
    own: Map<String, Value>,
    reason: &str,
) -> Result<Transition, Reason> {
    let phase = phase_of(workflow, state)?;
    refuse_other_options(workflow, state, facts, ask, &own)?;
    let mut transition = here(workflow, state, facts, Kind::Answer, reason)?;
    transition.set = on_data(workflow, state, facts, phase, &own, &ask.set)?;
    transition.rule = Some(rule.id.clone());
    transition.change = Some(Change::Data(own));
    Ok(transition)
}

/// The step for a person's choice among the actions that are offered now. Returns the reason if no choice is
/// open, or the action is not among the offered ones.
pub fn pick(
    workflow: &Workflow,
    state: &State,
    facts: &Facts,
    action: &ActionName,
    reason: &str,
) -> Result<Transition, Reason> {
    let decision = evaluate(workflow, &Recorded::Known(Box::new(state.clone())), facts);
    let super::Verdict::Choose(offered) = &decision.verdict else {
        return Err("no choice of actions is open".into());
    };
    if !offered.contains(action) {
        let offered = super::rules::join(offered);
        return Err(format!("`{action}` is not one of the offered actions: {offered}").into());
    }
    let mut transition = here(workflow, state, facts, Kind::Answer, reason)?;
    transition.rule.clone_from(&decision.rule);
    transition.action = Some(action.clone());
    Ok(transition)
}

/// The transition of the rule that responds to this signal in the current phase, if there is one.
#[must_use]
pub fn signalled(
    workflow: &Workflow,
    state: &State,
    facts: &Facts,
    signal: Signal,
) -> Option<Result<Transition, Reason>> {
    let state = &*state.under_own_names(workflow);
    let phase = phase_of(workflow, state).ok()?;
    let task = SeenTask::of(workflow, state, facts, phase);
    let evaluation = task.evaluation();
    let scope = TaskScope::new(
        workflow,
        &task.seen,
        state,
        &phase.id,
        state.attempt(&phase.id).max(1),
        facts,
    );
    let mut rules = workflow
        .rules_from(&phase.id)
        .filter(|rule| rule.on == Some(signal));
    let rule = rules.find(|rule| rule.when.holds(&scope).result == Ok(true))?;
    let Outcome::To(to) = &rule.outcome else {
        return None;
    };
    let fired = evaluation.rules().lead(rule, to, &scope);
    Some(match fired.verdict {
        super::Verdict::Transition(transition)
        | super::Verdict::Handover {
            held: transition, ..
        } => Ok(Transition {
            kind: Kind::Signal,
            ..*transition
        }),
        _ => Err(fired.reason.into()),
    })
}

/// The step for the start of a run; `None` if it would not change the state.
#[must_use]
pub fn start(workflow: &Workflow, state: &State, facts: &Facts, mode: Mode) -> Option<Transition> {
    if state.run.mode == Some(mode) {
        return None;
    }
    let mut transition = here(
        workflow,
        state,
        facts,
        Kind::Start,
        &format!("a run began, {}", mode.as_str()),
    )
    .ok()?;
    transition.change = Some(Change::Mode(mode));
    Some(transition)
}

/// The step for the end of a run, with the reason `the run ended as ENDING: WHY`; `None` if the state of the
/// task contradicts the ending.
#[must_use]
pub fn end(workflow: &Workflow, state: &State, facts: &Facts, reason: &str) -> Option<Transition> {
    ended(workflow, state, facts, reason).ok()
}

pub(super) fn ended(
    workflow: &Workflow,
    state: &State,
    facts: &Facts,
    reason: &str,
) -> Result<Transition, Reason> {
    let (named, _) =
        Ending::of_reason(reason).ok_or("the reason does not name the ending of the run")?;
    let phase = phase_of(workflow, state)?;
    let may = match named {
        Ending::Completed => phase.is_good_end(),
        // An agent that fails too often ends the run as well, in any phase.
        Ending::Failed => phase.terminal && !phase.success || phase.agent.is_some(),
        _ => true,
    };
    if !may {
        return Err(format!("a run cannot end as {} in `{}`", named.as_str(), phase.id).into());
    }
    here(workflow, state, facts, Kind::End, reason)
}

/// The question that is asked now, and the rule that asks it.
#[must_use]
pub fn asked<'w>(
    workflow: &'w Workflow,
    state: &State,
    facts: &Facts,
) -> Option<(&'w Rule, &'w Ask)> {
    let decision = evaluate(workflow, &Recorded::Known(Box::new(state.clone())), facts);
    let rule = workflow
        .rules
        .iter()
        .find(|rule| decision.rule.as_ref() == Some(&rule.id))?;
    Some((rule, workflow.ask(rule.ask.as_deref()?)?))
}

/// The options of a question and its default answer.
#[must_use]
pub fn offers(
    workflow: &Workflow,
    state: &State,
    facts: &Facts,
    guards: &[(String, Guard)],
) -> Vec<(String, Value)> {
    let Ok(phase) = phase_of(workflow, state) else {
        return Vec::new();
    };
    let own = data_of(workflow, state);
    on_data(workflow, state, facts, phase, &own, guards).unwrap_or_default()
}

/// The rule that runs an action, or offers it, in a phase. Returns the reason if the rule cannot have decided
/// now.
pub(super) fn running<'w>(
    workflow: &'w Workflow,
    state: &State,
    facts: &Facts,
    phase: &'w Phase,
    rule: &RuleId,
    action: &ActionName,
) -> Result<&'w Rule, Reason> {
    let found = workflow
        .rules_from(&phase.id)
        .find(|other| other.id == *rule);
    let found = found
        .filter(|rule| rule.outcome.actions().contains(action))
        .ok_or_else(|| format!("rule `{rule}` does not run `{action}` in `{}`", phase.id))?;
    match not_enabled(workflow, state, facts, phase, found, action) {
        Some(why) => Err(format!("the rules do not run `{action}` here: {why}").into()),
        None => Ok(found),
    }
}

/// A step that stays in the current phase, with the outputs of that phase as evidence.
fn here(
    workflow: &Workflow,
    state: &State,
    facts: &Facts,
    kind: Kind,
    reason: &str,
) -> Result<Transition, Reason> {
    let phase = phase_of(workflow, state)?;
    let task = SeenTask::of(workflow, state, facts, phase);
    let evaluation = task.evaluation();
    let mut transition = Transition::new(Some(phase.id.clone()), phase.id.clone(), kind, reason);
    transition.evidence = evaluation.evidence(&phase.produces);
    Ok(transition)
}

pub(super) fn phase_of<'w>(workflow: &'w Workflow, state: &State) -> Result<&'w Phase, Reason> {
    let name = state.phase.as_deref().unwrap_or(workflow.initial.as_str());
    workflow
        .phase_named(name)
        .ok_or_else(|| format!("there is no phase `{name}`").into())
}

/// The workflow's own keys of a state, with defaults filled in and lists cut to their bounds.
#[must_use]
pub fn data_of(workflow: &Workflow, state: &State) -> Map<String, Value> {
    let mut own = state.extra.clone();
    for (key, value) in &workflow.state.defaults {
        own.entry(key.clone()).or_insert_with(|| value.clone());
    }
    bound(&workflow.state, &mut own);
    own
}

/// The same with a patch applied. Lists are cut before anything is computed from them, because a replay only
/// has what is kept.
fn patched(
    workflow: &Workflow,
    state: &State,
    patch: &[PatchOp],
) -> Result<Map<String, Value>, Reason> {
    let mut own = data_of(workflow, state);
    merge_patch(&mut own, patch)?;
    bound(&workflow.state, &mut own);
    Ok(own)
}

/// Values computed on a state with these own keys.
fn on_data(
    workflow: &Workflow,
    state: &State,
    facts: &Facts,
    phase: &Phase,
    own: &Map<String, Value>,
    set: &[(String, Guard)],
) -> Result<Vec<(String, Value)>, Reason> {
    if set.is_empty() {
        return Ok(Vec::new());
    }
    let with = State {
        extra: own.clone(),
        ..state.clone()
    };
    let seen = look(workflow, &with, &phase.id, facts);
    let attempt = with.attempt(&phase.id).max(1);
    computed(
        set,
        &TaskScope::new(workflow, &seen, &with, &phase.id, attempt, facts),
    )
}

/// Rejects a successful result if the condition that the action ensures does not hold.
fn refuse_undone(
    workflow: &Workflow,
    state: &State,
    facts: &Facts,
    phase: &Phase,
    own: &Map<String, Value>,
    action: &Action,
) -> Result<(), Reason> {
    let with = State {
        extra: own.clone(),
        ..state.clone()
    };
    let seen = look(workflow, &with, &phase.id, facts);
    let attempt = with.attempt(&phase.id).max(1);
    let scope = TaskScope::new(workflow, &seen, &with, &phase.id, attempt, facts);
    match action.ensures.holds(&scope).result {
        Ok(true) => Ok(()),
        Ok(false) => {
            let text = action.ensures.text();
            let message = format!(
                "`{}` reports success, but `{text}` does not hold",
                action.name
            );
            let read = workflow.reads(&action.ensures);
            let mut faults = Vec::new();
            for seen in &seen {
                let name = seen.derived.name.as_str();
                let mut roots = read.iter().filter_map(|chain| chain.first());
                if roots.any(|root| root == name) {
                    faults.extend(fault(seen));
                }
            }
            Err(if faults.is_empty() {
                message
            } else {
                format!("{message}: {}", faults.join("; "))
            }
            .into())
        }
        Err(message) => Err(format!(
            "the condition that `{}` ensures cannot be evaluated: {message}",
            action.name
        )
        .into()),
    }
}

/// Why an artifact is not ready; `None` if it is.
fn fault(seen: &SeenArtifact<'_>) -> Option<String> {
    if seen.derived.ready() {
        None
    } else if !seen.derived.present {
        Some(format!("there is no `{}`", seen.derived.name))
    } else if !seen.derived.fresh {
        seen.derived
            .stale_because
            .as_ref()
            .map(|why| format!("`{}` is stale: {why}", seen.derived.name))
    } else {
        seen.files.iter().find_map(|file| {
            let problem = file.problems.iter().find(|problem| problem.is_error())?;
            Some(format!("{}: {}", file.path, problem.message))
        })
    }
}

/// Rejects an answer that is not one of the options.
fn refuse_other_options(
    workflow: &Workflow,
    state: &State,
    facts: &Facts,
    ask: &Ask,
    own: &Map<String, Value>,
) -> Result<(), Reason> {
    let before = data_of(workflow, state);
    for (pointer, options) in offers(workflow, state, facts, &ask.options) {
        let Some(options) = options.as_array() else {
            continue;
        };
        let Some(given) =
            data::at(own, &pointer).filter(|given| data::at(&before, &pointer) != Some(*given))
        else {
            continue;
        };
        let given = given
            .as_array()
            .map_or_else(|| std::slice::from_ref(given), Vec::as_slice);
        if let Some(other) = given.iter().find(|one| !options.contains(one)) {
            let known: Vec<String> = options.iter().map(ToString::to_string).collect();
            return Err(format!(
                "{other} is not an option for {pointer}: {}",
                known.join(", ")
            )
            .into());
        }
    }
    Ok(())
}

/// The id of the phase that a state is in, with aliases resolved.
#[must_use]
pub fn phase_id<'w>(workflow: &'w Workflow, state: &State) -> Option<&'w PhaseId> {
    phase_of(workflow, state).ok().map(|phase| &phase.id)
}

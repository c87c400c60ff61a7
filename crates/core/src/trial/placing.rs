//! How a task comes to where a test begins: by the shortest way of the rules.

use super::verified::{define, verify};
use crate::decide::{
    Actor, ActorKind, Approving, By, Facts, Kind, Lapsed, Mode, OtherTask, Recorded, Ruling, Stamp,
    State, Transition, apply, create, derive, initial_state,
};
use crate::workflow::{GivenTask, Outcome, Phase, Rule, TestSetup, Workflow};
use orch_base::{ActionName, ArtifactName, Digest, PhaseId, TaskId, Timestamp, WorkflowName};
use serde_json::Value;
use std::collections::BTreeMap;

/// When the first step of a task is that is only tried.
const BEGINNING: i64 = 1_700_000_000;
/// How many seconds lie between two steps.
const PACE: i64 = 60;

/// A task as a test begins.
#[derive(Debug, Clone)]
pub struct PlacedTask {
    /// The states after each step that led there; none if nothing is recorded.
    pub steps: Vec<State>,
    /// What is observed of it.
    pub facts: Facts,
}

impl PlacedTask {
    /// What its record says.
    #[must_use]
    pub fn recorded(&self) -> Recorded {
        match self.steps.last() {
            Some(state) => Recorded::Known(Box::new(state.clone())),
            None => Recorded::New,
        }
    }
}

/// The stamp of the nth step of a task that is only tried, by a person of this name if there is one.
#[must_use]
pub fn trial_stamp(nth: u64, person: Option<&str>) -> Stamp {
    let seconds = i64::try_from(nth).unwrap_or_default().saturating_mul(PACE);
    let at = Timestamp::from_seconds(BEGINNING.saturating_add(seconds));
    let (kind, name) = match person {
        Some(name) => (ActorKind::Human, name),
        None => (ActorKind::Orch, "orch"),
    };
    let by = By {
        kind,
        name: name.to_owned(),
    };
    Stamp {
        address: person.map(address),
        ..Stamp::new(at, by)
    }
}

/// The number of a step whose stamp is not before a time.
#[must_use]
pub fn trial_step_at(at: Timestamp) -> u64 {
    let since = at.seconds().saturating_sub(BEGINNING);
    u64::try_from(since)
        .unwrap_or_default()
        .div_ceil(PACE.unsigned_abs())
}

/// The address of a person, also of one of whom only a name is given.
fn address(name: &str) -> String {
    if name.contains('@') {
        name.to_owned()
    } else {
        format!("{name}@example.org")
    }
}

/// The task that a test describes. `before` is what was observed of it on its way, `now` what is observed at its end.
#[must_use]
pub fn place(workflow: &Workflow, setup: &TestSetup, before: &Facts, now: Facts) -> PlacedTask {
    let mut now = now;
    let mut before = before.clone();
    for facts in [&mut before, &mut now] {
        surround(workflow, setup, facts);
    }
    let mut steps = Vec::new();
    if is_recorded(setup) {
        steps = walked(workflow, setup, &before);
        if let Some(state) = steps.last_mut() {
            adjust(workflow, setup, &now, state);
            verify(workflow, setup, &mut now, state);
            approvals(workflow, setup, &mut now, state);
        }
    }
    PlacedTask { steps, facts: now }
}

/// Puts among the facts what a test says beside files: which verifications the settings define, and the other tasks.
pub fn surround(workflow: &Workflow, setup: &TestSetup, facts: &mut Facts) {
    define(workflow, setup, facts);
    facts.others.seen = others(setup);
}

/// Whether what is given needs a record.
fn is_recorded(setup: &TestSetup) -> bool {
    setup.phase.is_some()
        || setup.attempt.is_some()
        || setup.on.is_some()
        || !setup.lapsed.is_empty()
        || !setup.approved.is_empty()
        || !setup.rejected.is_empty()
        || !setup.used_up.is_empty()
        || !setup.waived.is_empty()
        || !setup.state.is_empty()
        || !setup.verified.is_empty()
        || !setup.after.is_empty()
        || setup.run.mode.is_some()
        || setup.run.errors > 0
        || setup.run.chosen.is_some()
        || !setup.run.done.is_empty()
        || !setup.run.skipped.is_empty()
}

/// The states on the way to the phase of a test.
fn walked(workflow: &Workflow, setup: &TestSetup, before: &Facts) -> Vec<State> {
    let first = create(workflow, "a trial");
    let mut state = initial_state(workflow);
    let stamp = trial_stamp(0, None);
    let facts = visible(workflow, before, None);
    state = apply(workflow, &state, &facts, &first, &stamp);
    let mut steps = vec![state.clone()];
    let phase = setup
        .phase
        .as_ref()
        .and_then(|name| workflow.phase_named(&name.value));
    let Some(phase) = phase else {
        return steps;
    };
    for transition in transitions_to(workflow, phase) {
        let nth = u64::try_from(steps.len()).unwrap_or_default();
        let facts = visible(workflow, before, transition.from.as_ref());
        state = apply(
            workflow,
            &state,
            &facts,
            &transition,
            &trial_stamp(nth, None),
        );
        steps.push(state.clone());
    }
    steps
}

/// The transitions of the shortest way to a phase; one against the rules if they do not lead there.
fn transitions_to(workflow: &Workflow, phase: &Phase) -> Vec<Transition> {
    if phase.id == workflow.initial {
        return Vec::new();
    }
    let way = shortest_way(workflow, &phase.id);
    if way.is_empty() {
        let from = Some(workflow.initial.clone());
        let to = phase.id.clone();
        return vec![Transition::new(
            from,
            to,
            Kind::Override,
            "no rule leads there",
        )];
    }
    let steps = way.into_iter().map(|(from, rule, to)| {
        let is_forward = workflow.position(to) > workflow.position(from);
        let kind = if rule.on.is_some() {
            Kind::Signal
        } else if is_forward {
            Kind::Advance
        } else {
            Kind::Regress
        };
        let because = &rule.because;
        Transition {
            rule: Some(rule.id.clone()),
            by_human: rule.by_human,
            ..Transition::new(Some(from.clone()), to.clone(), kind, because)
        }
    });
    steps.collect()
}

/// The rules by which a phase is reached in the fewest steps, preferably without going back: where each begins, the rule, and
/// where it leads. Empty if no rules lead there.
#[must_use]
pub fn shortest_way<'w>(
    workflow: &'w Workflow,
    phase: &PhaseId,
) -> Vec<(&'w PhaseId, &'w Rule, &'w PhaseId)> {
    for may_go_back in [false, true] {
        let mut ways: Vec<Vec<(&PhaseId, &Rule, &PhaseId)>> = vec![Vec::new()];
        let mut reached: Vec<&PhaseId> = vec![&workflow.initial];
        let mut at = 0;
        while at < reached.len() {
            let from = reached[at];
            for rule in workflow.rules_from(from) {
                let Outcome::To(to) = &rule.outcome else {
                    continue;
                };
                let is_forward = workflow.position(to) > workflow.position(from);
                if reached.contains(&to) || !(is_forward || may_go_back) {
                    continue;
                }
                let mut way = ways[at].clone();
                way.push((from, rule, to));
                if to == phase {
                    return way;
                }
                reached.push(to);
                ways.push(way);
            }
            at += 1;
        }
    }
    Vec::new()
}

/// Puts a value over another one: the members of objects each in their place, anything else whole.
pub fn overlay(below: &mut Value, over: &Value) {
    match (below, over) {
        (Value::Object(below), Value::Object(over)) => {
            for (key, value) in over {
                overlay(below.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (below, over) => below.clone_from(over),
    }
}

/// What was there when a phase was left: what that phase and those before it produce, and what nobody does.
fn visible(workflow: &Workflow, facts: &Facts, left: Option<&PhaseId>) -> Facts {
    let until = left.and_then(|phase| workflow.position(phase));
    let mut facts = facts.clone();
    for (name, files) in &mut facts.artifacts {
        let mut producers = workflow
            .producers(name)
            .filter_map(|phase| workflow.position(&phase.id))
            .peekable();
        let is_made = producers.peek().is_some();
        if is_made && !producers.any(|position| Some(position) <= until) {
            files.retain(|file| file.is_tree);
        }
    }
    facts
}

/// Puts into the state what a test says of it beside its phase.
fn adjust(workflow: &Workflow, setup: &TestSetup, now: &Facts, state: &mut State) {
    let phase = state.phase.clone().unwrap_or_default();
    let actor = state.actors.entry(phase).or_default();
    if let Some(attempt) = setup.attempt {
        actor.attempt = attempt;
    }
    for name in &setup.lapsed {
        let lapsed = Lapsed {
            attempt: actor.attempt.max(1),
            at: Timestamp::from_seconds(BEGINNING),
        };
        actor.lapsed.insert(name.value.clone(), lapsed);
    }
    for name in &setup.waived {
        if let Some(artifact) = workflow.artifact_named(&name.value) {
            state.waived.insert(artifact.name.clone(), state.rev);
        }
    }
    for name in &setup.used_up {
        let Some(artifact) = workflow.artifact_named(&name.value) else {
            continue;
        };
        let digests = digests_of(workflow, state, now, &artifact.name);
        for producer in workflow.producers(&artifact.name) {
            let actor: &mut Actor = state.actors.entry(producer.id.to_string()).or_default();
            let spent = actor.spent.entry(artifact.name.clone()).or_default();
            spent.extend(digests.iter().copied());
        }
    }
    for (key, value) in &setup.state {
        overlay(state.extra.entry(key.clone()).or_insert(Value::Null), value);
    }
    let run = &mut state.run;
    if let Some(mode) = &setup.run.mode {
        run.mode = Mode::named(&mode.value);
    }
    run.errors = setup.run.errors;
    let named = |name: &str| ActionName::new(name).ok();
    run.chosen = setup
        .run
        .chosen
        .as_ref()
        .and_then(|name| named(&name.value));
    for (action, count) in &setup.run.done {
        if let Some(action) = named(&action.value) {
            run.actions.entry(action).or_default().done = *count;
        }
    }
    for action in &setup.run.skipped {
        if let Some(action) = named(&action.value) {
            run.actions.entry(action).or_default().skipped = true;
        }
    }
    for task in &setup.after {
        state
            .relations
            .after
            .extend(TaskId::new(&task.id.value).ok());
    }
}

/// The digests of the files of an artifact, and that of all of them.
fn digests_of(
    workflow: &Workflow,
    state: &State,
    facts: &Facts,
    name: &ArtifactName,
) -> Vec<Digest> {
    let phase = state
        .phase
        .as_deref()
        .and_then(|phase| workflow.phase_named(phase));
    let phase = phase.map_or(&workflow.initial, |phase| &phase.id);
    let mut digests = Vec::new();
    for derived in derive(workflow, state, phase, facts) {
        if derived.name == *name {
            digests.extend(derived.files.iter().filter_map(|file| file.digest));
            digests.extend(derived.digest);
        }
    }
    digests.dedup();
    digests
}

/// The other tasks of a test.
fn others(setup: &TestSetup) -> Vec<OtherTask> {
    let mut seen = Vec::new();
    for (tasks, part) in [(&setup.after, false), (&setup.children, true)] {
        seen.extend(tasks.iter().filter_map(|task| other(task, part)));
    }
    seen
}

fn other(task: &GivenTask, part: bool) -> Option<OtherTask> {
    let phase = if task.done { "done" } else { "open" };
    Some(OtherTask {
        id: TaskId::new(&task.id.value).ok()?,
        phase: PhaseId::new(phase).ok()?,
        done: task.done,
        failed: task.failed,
        workflow: WorkflowName::new("other").ok()?,
        part,
        head: Digest::of_blob(task.id.value.as_bytes()),
    })
}

/// Lets the named people approve or reject in the present phase; one who is named twice counts by what was said last. Each team
/// that is asked for has one of them, in order.
fn approvals(workflow: &Workflow, setup: &TestSetup, now: &mut Facts, state: &mut State) {
    let phase = state.phase.clone().unwrap_or_default();
    let Some(phase) = workflow.phase_named(&phase) else {
        return;
    };
    let asked = phase.approvals.iter().flat_map(|asked| &asked.teams);
    let mut teams: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (nth, team) in asked.enumerate() {
        let name = setup.approved.get(nth).map(|person| person.value.as_str());
        let member = address(name.unwrap_or("somebody-else"));
        teams.insert(team.clone(), vec![member]);
    }
    now.inputs.teams = teams;
    let judged = derive(workflow, state, &phase.id, now);
    let mut on = BTreeMap::new();
    for derived in judged {
        let is_shown = phase.needs.contains(&derived.name) || phase.reads.contains(&derived.name);
        if let Some(digest) = derived.digest.filter(|_| is_shown) {
            on.insert(derived.name.clone(), digest);
        }
    }
    let seq = state.rev;
    let actor = state.actors.entry(phase.id.to_string()).or_default();
    for (people, ruling) in [
        (&setup.approved, Ruling::Approve),
        (&setup.rejected, Ruling::Reject),
    ] {
        for person in people {
            let person = address(&person.value);
            let approvals = &mut actor.approvals;
            approvals.retain(|known| !known.person.eq_ignore_ascii_case(&person));
            approvals.push(Approving {
                person,
                ruling,
                seq,
                on: on.clone(),
            });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::evaluate;
    use crate::workflow::{Document, System, compile, document_tests};

    const RULES: &str = "# w\n\n```toml orch\n[phase.read]\nowner = \"human\"\napprovals = { count = 2 }\n[phase.end]\n\
        terminal = true\n[[rule]]\nid = \"ready\"\nfrom = \"read\"\nwhen = \"approvals.read.count >= 2\"\nto = \"end\"\n\
        because = \"enough people agree\"\n```\n\n";

    #[test]
    fn one_person_counts_once() {
        for (said, moves) in [
            ("approved = ['ann', 'bea']", true),
            ("approved = ['ann', 'ann']", false),
            ("approved = ['ann@example.org', 'Ann']", false),
            (
                "approved = ['ann', 'bea', 'cem']\nrejected = ['cem']",
                false,
            ),
            ("approved = ['ann']", false),
        ] {
            let test = format!(
                "```toml orch-test\n[[test]]\nname = \"x\"\nphase = \"read\"\n{said}\nexpect = {{ phase = \"end\" }}\n```\n"
            );
            let document = Document::new("w", "w.md", format!("{RULES}{test}"));
            let (workflow, problems) = compile(&document, &System::empty());
            let workflow = workflow.unwrap_or_else(|| panic!("{problems:#?}"));
            let setup = &document_tests(&document).0[0].given;
            let task = TaskId::new("t").expect("an id");
            let facts = Facts::of_no_files(task);
            let placed = place(&workflow, setup, &facts, facts.clone());
            let decision = evaluate(&workflow, &placed.recorded(), &placed.facts);
            assert_eq!(
                decision.transition().is_some(),
                moves,
                "{said}: {decision:#?}"
            );
        }
    }
}

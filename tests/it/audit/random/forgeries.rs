//! Every way of forging a record that comes to mind, from the careless to the careful.

use super::past::{
    Past, TASKS, Tree, below, digest, files_of_record, has_honest_state, log, look, put, state,
    text, transplant, write,
};
use super::verifications;
use crate::audit::records::{SCHEMA, line_of, parsed, relinked, without_last};
use crate::core::world::{LIFECYCLE, passing};
use crate::model::Chance;
use orch_base::{ArtifactName, Digest, ObjectFormat};
use orch_core::decide::{
    ActorKind, ActorStatus, By, Evidence, HistoryEntry, Kind, Recorded, State, Transition, apply,
    confirm, evaluate, override_to, reopen, rollback, settle,
};
use orch_core::record::{FoldCache, LogExtent, write_state};
use serde_json::{Map, Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// What a forgery makes of the tree of HEAD; `None` where there is nothing to forge in that way.
type Forge = fn(&mut Past, &str) -> Option<Tree>;

/// Forgeries in a commit of their own.
const OWN: [(&str, Forge); 35] = [
    ("a phase edited, the seal broken", edit_phase),
    ("a phase edited and sealed", reseal_phase),
    ("a state tampered with and sealed", tamper_with_state),
    (
        "a state tampered with, and the log as well",
        tamper_with_both,
    ),
    ("a state that names no events", unname_heads),
    (
        "a state that says it folds more than it does",
        hide_behind_size,
    ),
    ("a skipped phase, with its whole record", skip),
    ("an approval by an agent", approve_as_agent),
    ("an order by an agent", order_as_agent),
    ("an order that would be refused", order_refused),
    ("several steps, one of them a skip", fold_a_skip),
    ("a line altered", alter_line),
    ("a line altered, and all ids made again", alter_and_relink),
    ("a log cut off", truncate),
    ("a line taken out", take_line_out),
    (
        "a line taken out, and the rest linked again",
        take_out_and_relink,
    ),
    ("a line that is not an event", add_junk_line),
    (
        "an event that follows nothing that is there",
        follow_nothing,
    ),
    (AS_HONEST[2], remove_log),
    ("a state without a history", replace_by_foreign),
    ("another task's record", copy_record),
    ("another branch's record", take_from_branch),
    (FINISHED, put_finished_back),
    ("a task begun a second time", begin_again),
    (AS_HONEST[3], verifications::without_event),
    (AS_HONEST[4], verifications::with_other_bytes),
    (
        "a verification by another table",
        verifications::by_other_table,
    ),
    ("a verification of other code", verifications::of_other_code),
    (
        "a verification on a base elsewhere",
        verifications::on_base_elsewhere,
    ),
    (
        "a verification on a base of other code",
        verifications::on_base_of_other_code,
    ),
    (
        "a verification on a base that has the task",
        verifications::on_base_with_task,
    ),
    (
        "a result of another subject",
        verifications::of_other_subject,
    ),
    ("a result of another task", verifications::of_other_task),
    ("a result at another event", verifications::at_other_event),
    (
        "a result that contradicts itself",
        verifications::contradicting_itself,
    ),
];

/// Forgeries of the last commit, which must be a transition by the rules.
const AMENDED: [(&str, Forge); 7] = [
    (AS_HONEST[0], swap_evidence),
    (AS_HONEST[1], remove_evidence),
    ("the entry of a transition changed", change_entry),
    (
        "the state of a transition tampered with",
        tamper_with_transition,
    ),
    (
        "what nobody reads put into the state of a transition",
        hide_junk,
    ),
    (
        "what nobody reads put into the event of a transition",
        hide_junk_in_event,
    ),
    ("changes that change nothing put into an event", pad_changes),
];

/// Every forgery by name.
pub fn names() -> impl Iterator<Item = &'static str> {
    OWN.iter()
        .chain(&AMENDED)
        .map(|(name, _)| *name)
        .chain([MERGED, JOINED])
}

/// Forgeries that may look like an honest rewrite: a step whose files were edited later, by a commit that was joined
/// with its own, the revert of the commit that brought a whole record, or a result of a verification that a tool has
/// formatted. They are unverifiable at least.
pub const AS_HONEST: [&str; 5] = [
    "evidence swapped under a transition",
    "evidence removed from a transition",
    "a log removed, the files left",
    "a result without an event",
    "a result with other bytes",
];

const FINISHED: &str = "a finished state put back, with other files";
const MERGED: &str = "a merge that tampers with a state";
const JOINED: &str = "records of two branches joined, and tampered with";

/// Forges something, in a commit of its own or in the last one.
pub fn forge(past: &mut Past) {
    past.work = past.tree().clone();
    for _ in 0..20 {
        let task = *past.chance.pick(&TASKS);
        let amends = past.chance.below(2) == 0 && is_by_rules(past, task);
        let amended = past.parent().filter(|_| amends);
        let ((name, forge), parent) = match amended {
            Some(parent) => (*past.chance.pick(&AMENDED), parent),
            None => (*past.chance.pick(&OWN), past.head),
        };
        let Some(tree) = forge(past, task).filter(|tree| tree != past.tree()) else {
            continue;
        };
        // What an ancestor held may be put back, even if it was forged there; except for a finished task.
        let stood = |one: &usize| below(&past.commits[*one].tree, task).eq(below(&tree, task));
        if past.ancestors(parent).iter().any(stood) {
            continue;
        }
        if name == FINISHED || name == AS_HONEST[3] || !was_recorded(past, parent, &tree, task) {
            past.commit(vec![parent], tree, name);
            return past.forged();
        }
    }
}

/// Whether a commit or one that it builds on has this record of a task. A state that folds its log is a copy
/// of it, whichever events it names.
fn was_recorded(past: &Past, commit: usize, tree: &Tree, task: &str) -> bool {
    let (record, is_honest) = (files_of_record(tree, task), has_honest_state(tree, task));
    past.ancestors(commit).into_iter().any(|one| {
        let held = files_of_record(&past.commits[one].tree, task);
        held == record || (is_honest && held[1] == record[1])
    })
}

/// Forges something in the merge that was just made.
pub fn forge_merge(past: &mut Past) {
    let task = *past.chance.pick(&TASKS);
    let parents = past.commits[past.head].parents.clone();
    let Some(tree) = tamper_with_state(past, task) else {
        return;
    };
    let own = text(&tree, task, "state.json");
    let is_new = |parent: &usize| {
        text(&past.commits[*parent].tree, task, "state.json") != own
            && !was_recorded(past, *parent, &tree, task)
    };
    if parents.iter().all(is_new) {
        past.commit(parents, tree, MERGED);
        past.forged();
    }
}

/// Forges something in the records of these tasks, which the commit that was just made has joined.
pub fn forge_joined(past: &mut Past, joined: &[&'static str]) {
    let task = *past.chance.pick(joined);
    let parents = past.commits[past.head].parents.clone();
    // What is new here was made on the other branch, and only a side that is there can lose anything.
    let forge = if parents.len() > 1 {
        *past.chance.pick(&[tamper_with_state, tamper_with_both])
    } else {
        tamper_with_state
    };
    let Some(tree) = forge(past, task) else {
        return;
    };
    if files_of_record(&tree, task) != files_of_record(past.tree(), task) {
        past.commit(parents, tree, JOINED);
        past.forged();
    }
}

/// Whether the last commit holds exactly one step of the task, by the rules and not forged.
fn is_by_rules(past: &Past, task: &str) -> bool {
    let (Some(parent), Some(state)) = (past.parent(), state(past.tree(), task)) else {
        return false;
    };
    let lines = |tree: &Tree| log(tree, task).len();
    let last = state.history.last().map(|entry| entry.kind);
    !past.commits[past.head].is_forged
        && lines(past.tree()) == lines(&past.commits[parent].tree) + 1
        && lines(past.tree()) as u64 == state.rev
        && matches!(last, Some(Kind::Advance | Kind::Regress))
}

/// What HEAD records of a task that is under `orch`'s care.
fn recorded(past: &Past, task: &str) -> Option<(State, String)> {
    Some((
        state(past.tree(), task)?,
        text(past.tree(), task, "transcript.jsonl")?.to_string(),
    ))
}

/// Writes a log with one more event, which leads from a state to another, and that.
pub(super) fn tell(
    tree: &mut Tree,
    task: &str,
    lines: &str,
    before: &State,
    state: &State,
) -> Option<State> {
    let lines = format!("{lines}{}", line_of(lines, before, state)?);
    let head = parsed(&lines).events().last()?.id;
    let state = State {
        heads: vec![head],
        ..state.clone()
    };
    put(tree, task, &state, &lines);
    Some(state)
}

/// Writes a log whose last event leads to another state than it did, and that.
fn retell(tree: &mut Tree, task: &str, state: &State, lines: &str) -> Option<State> {
    let kept = without_last(lines);
    let (log, mut cache) = (parsed(&kept), FoldCache::default());
    let before = log
        .fold(&LIFECYCLE, &log.heads(), &mut cache)
        .ok()?
        .unwrap_or_default();
    tell(tree, task, &kept, &before, state)
}

fn other_phase(past: &mut Past, state: &State) -> String {
    let others = LIFECYCLE.phases.iter().map(|phase| phase.id.to_string());
    let others: Vec<String> = others
        .filter(|phase| Some(phase) != state.phase.as_ref())
        .collect();
    past.chance.pick(&others).clone()
}

fn edit_phase(past: &mut Past, task: &str) -> Option<Tree> {
    let (state, _) = recorded(past, task)?;
    let other = other_phase(past, &state);
    let mut tree = past.tree().clone();
    let text = text(&tree, task, "state.json")?;
    let phase = |name: &str| format!("\"phase\": \"{name}\"");
    write(
        &mut tree,
        task,
        "state.json",
        text.replace(&phase(state.phase.as_deref()?), &phase(&other)),
    );
    Some(tree)
}

fn reseal_phase(past: &mut Past, task: &str) -> Option<Tree> {
    let (mut state, transcript) = recorded(past, task)?;
    state.phase = Some(other_phase(past, &state));
    let mut tree = past.tree().clone();
    put(&mut tree, task, &state, &transcript);
    Some(tree)
}

fn tamper_with_state(past: &mut Past, task: &str) -> Option<Tree> {
    let (mut state, transcript) = recorded(past, task)?;
    tamper(&mut state, &mut past.chance)?;
    let mut tree = past.tree().clone();
    put(&mut tree, task, &state, &transcript);
    Some(tree)
}

fn tamper_with_both(past: &mut Past, task: &str) -> Option<Tree> {
    let (mut state, transcript) = recorded(past, task)?;
    tamper(&mut state, &mut past.chance)?;
    let mut tree = past.tree().clone();
    retell(&mut tree, task, &state, &transcript)?;
    Some(tree)
}

/// Changes something in a state that no rule changed; `None` where it is not there to be changed.
fn tamper(state: &mut State, chance: &mut Chance) -> Option<()> {
    let before = state.clone();
    if state.actors.is_empty() || state.history.is_empty() {
        return None;
    }
    let name = chance
        .pick(&state.actors.keys().cloned().collect::<Vec<_>>())
        .clone();
    let actor = state.actors.get_mut(&name)?;
    let artifact = chance.pick(&LIFECYCLE.artifacts).name.clone();
    let nowhere = Digest::of_blob(b"nowhere");
    match chance.below(18) {
        0..3 => state
            .actors
            .values_mut()
            .for_each(|actor| actor.spent.clear()),
        3 => actor.spent.entry(artifact).or_default().push(nowhere),
        4 => state
            .actors
            .values_mut()
            .for_each(|actor| actor.attempt = actor.attempt.min(1)),
        5 => actor.attempt += 1,
        6 => actor.status = ActorStatus::Skipped,
        7 => actor
            .left_with
            .values_mut()
            .for_each(|digest| *digest = Some(nowhere)),
        8 => actor.entered_with.clear(),
        9 => drop(state.waived.insert(artifact, state.rev)),
        10 => state.waived.clear(),
        11 => drop(
            state
                .extra
                .insert("rounds".to_owned(), json!(chance.below(9))),
        ),
        12 => drop(state.extra.insert("approved".to_owned(), json!(true))),
        13 => state.title = Some("Another title".to_owned()),
        14 => state.rev += 1,
        15 => drop(state.history.remove(0)),
        _ => {
            let at = usize::try_from(chance.below(state.history.len() as u64)).expect("small");
            change(Arc::make_mut(&mut state.history[at]), chance);
        }
    }
    (*state != before && !state.history.is_empty()).then_some(())
}

/// Changes an entry of the history.
fn change(entry: &mut HistoryEntry, chance: &mut Chance) {
    let phase = chance.pick(&LIFECYCLE.phases).id.clone();
    match chance.below(7) {
        0 => {
            entry.actor = By {
                kind: ActorKind::Human,
                name: "Bob".to_owned(),
            }
        }
        1 => entry.rule = Some(chance.pick(&LIFECYCLE.rules).id.to_string()),
        2 => entry.reason = "everybody said so".to_owned(),
        3 => entry.to = phase,
        4 => entry.from = Some(phase),
        5 => match entry.evidence.first_mut() {
            Some((_, digest)) => *digest = super::past::digest("nowhere"),
            None => entry
                .evidence
                .push(("plan.json".to_owned(), digest("nowhere"))),
        },
        _ => entry.evidence.clear(),
    }
}

/// A transition that nobody decided.
fn made_up(past: &mut Past, state: &State, kind: Kind) -> Option<Transition> {
    let from = LIFECYCLE.phase_named(state.phase.as_deref()?)?.id.clone();
    let rule = past.chance.pick(&LIFECYCLE.rules);
    let by_rule = matches!(kind, Kind::Advance | Kind::Regress);
    let to = past.chance.pick(&LIFECYCLE.phases).id.clone();
    let reason = if by_rule { &*rule.because } else { "because" };
    Some(Transition {
        rule: by_rule.then(|| rule.id.clone()),
        ..Transition::new(Some(from), to, kind, reason)
    })
}

/// Everything that lies there as evidence.
fn all_evidence(past: &Past, task: &str) -> Vec<Evidence> {
    let seen = look(past.tree(), task);
    evaluate(&LIFECYCLE, &seen.recorded, &seen.facts).evidence
}

/// The state after a move by a rule that does not fire.
fn skipped(past: &mut Past, task: &str) -> Option<State> {
    let (state, _) = recorded(past, task)?;
    let mut transition = made_up(past, &state, Kind::Advance)?;
    if past.chance.below(2) == 0 {
        transition.evidence = all_evidence(past, task);
    }
    let seen = look(past.tree(), task);
    let decision = evaluate(&LIFECYCLE, &seen.recorded, &seen.facts);
    if decision
        .transition()
        .is_some_and(|due| due.to == transition.to && due.rule == transition.rule)
    {
        return None;
    }
    let stamp = past.stamp(ActorKind::Human);
    Some(apply(&LIFECYCLE, &state, &seen.facts, &transition, &stamp))
}

fn skip(past: &mut Past, task: &str) -> Option<Tree> {
    let (before, transcript) = recorded(past, task)?;
    let state = skipped(past, task)?;
    let mut tree = past.tree().clone();
    tell(&mut tree, task, &transcript, &before, &state)?;
    Some(tree)
}

fn approve_as_agent(past: &mut Past, task: &str) -> Option<Tree> {
    let (state, transcript) = recorded(past, task)?;
    let mut tree = past.tree().clone();
    let record = passing(
        "revert_record",
        past.chance.below(1 << 20),
        &BTreeMap::new(),
    );
    write(&mut tree, task, "revert/record.json", record);
    let facts = look(&tree, task).facts;
    let order = override_to(&LIFECYCLE, &state, &facts, Some("revert"), "away with it").ok()?;
    let stamp = past.stamp(ActorKind::Human);
    let ordered = apply(&LIFECYCLE, &state, &facts, &order, &stamp);
    let stamp = past.stamp(ActorKind::Agent);
    let ordered = tell(&mut tree, task, &transcript, &state, &ordered)?;
    let transcript = text(&tree, task, "transcript.jsonl")?;
    let decision = evaluate(
        &LIFECYCLE,
        &Recorded::Known(Box::new(ordered.clone())),
        &facts,
    );
    let transition = decision.transition().filter(|due| due.by_human)?;
    let state = apply(&LIFECYCLE, &ordered, &facts, transition, &stamp);
    tell(&mut tree, task, &transcript, &ordered, &state)?;
    Some(tree)
}

/// An order that the rules permit, in the name of somebody who may give none.
fn order_as_agent(past: &mut Past, task: &str) -> Option<Tree> {
    let (state, transcript) = recorded(past, task)?;
    let facts = look(past.tree(), task).facts;
    let ordered = match past.chance.below(2) {
        0 => override_to(&LIFECYCLE, &state, &facts, None, "no time"),
        _ => rollback(&LIFECYCLE, &state, &facts, Some("planning"), "again"),
    };
    let by = *past.chance.pick(&[ActorKind::Agent, ActorKind::Orch]);
    let after = apply(&LIFECYCLE, &state, &facts, &ordered.ok()?, &past.stamp(by));
    let mut tree = past.tree().clone();
    tell(&mut tree, task, &transcript, &state, &after)?;
    Some(tree)
}

fn fold_a_skip(past: &mut Past, task: &str) -> Option<Tree> {
    let (before, transcript) = recorded(past, task)?;
    let facts = look(past.tree(), task).facts;
    let skipped = skipped(past, task)?;
    let mut tree = past.tree().clone();
    let skipped = tell(&mut tree, task, &transcript, &before, &skipped)?;
    // What follows from it is right by itself: by the rules, or by an order.
    let stamp = past.stamp(ActorKind::Orch);
    let recorded = Recorded::Known(Box::new(skipped.clone()));
    let settled = settle(&LIFECYCLE, &recorded, &facts, &stamp, &|due| !due.by_human).steps;
    let mut states: Vec<State> = settled.into_iter().map(|step| step.state).collect();
    if states.is_empty() {
        let order = rollback(&LIFECYCLE, &skipped, &facts, Some("planning"), "again").ok()?;
        states.push(apply(&LIFECYCLE, &skipped, &facts, &order, &stamp));
    }
    let mut before = skipped;
    for state in states {
        let lines = text(&tree, task, "transcript.jsonl")?;
        before = tell(&mut tree, task, &lines, &before, &state)?;
    }
    Some(tree)
}

fn order_refused(past: &mut Past, task: &str) -> Option<Tree> {
    let (state, transcript) = recorded(past, task)?;
    let facts = look(past.tree(), task).facts;
    let kind = *past
        .chance
        .pick(&[Kind::Override, Kind::Rollback, Kind::Reopen, Kind::Confirm]);
    let mut made_up = made_up(past, &state, kind)?;
    let artifact = past.chance.pick(&LIFECYCLE.artifacts).name.clone();
    if past.chance.below(4) == 0 {
        made_up.reason = " ".to_owned();
    }
    let (to, reason) = (Some(made_up.to.as_str()), made_up.reason.as_str());
    let order = match kind {
        Kind::Override => override_to(&LIFECYCLE, &state, &facts, to, reason),
        Kind::Rollback => rollback(&LIFECYCLE, &state, &facts, to, reason),
        Kind::Reopen => reopen(&LIFECYCLE, &state, &facts, to, reason),
        _ => {
            made_up.to = made_up.from.clone()?;
            made_up.confirm = Some((artifact.clone(), vec![Digest::of_blob(b"nowhere")]));
            confirm(&LIFECYCLE, &state, &facts, artifact.as_str(), reason)
        }
    };
    let transition = match order {
        // Where the order is right, at least it accepts more than it says.
        Ok(allowed) => Transition {
            waive: unwaived(&allowed, &artifact)?,
            ..allowed
        },
        Err(_) => made_up,
    };
    let stamp = past.stamp(ActorKind::Human);
    let before = state;
    let state = apply(&LIFECYCLE, &before, &facts, &transition, &stamp);
    let mut tree = past.tree().clone();
    tell(&mut tree, task, &transcript, &before, &state)?;
    Some(tree)
}

fn unwaived(transition: &Transition, artifact: &ArtifactName) -> Option<Vec<ArtifactName>> {
    let mut waive = transition.waive.clone();
    (!waive.contains(artifact)).then(|| waive.push(artifact.clone()))?;
    Some(waive)
}

fn alter_line(past: &mut Past, task: &str) -> Option<Tree> {
    let (_, transcript) = recorded(past, task)?;
    let words = [
        ("\"Ann\"", "\"Bob\""),
        ("\"attempt\":1", "\"attempt\":0"),
        ("\"human\"", "\"agent\""),
    ];
    let (word, other) = *past.chance.pick(&words);
    let mut tree = past.tree().clone();
    write(
        &mut tree,
        task,
        "transcript.jsonl",
        transcript.replacen(word, other, 1),
    );
    Some(tree)
}

fn truncate(past: &mut Past, task: &str) -> Option<Tree> {
    let (_, mut transcript) = recorded(past, task)?;
    for _ in 0..=past.chance.below(4) {
        transcript = without_last(&transcript);
    }
    let mut tree = past.tree().clone();
    write(&mut tree, task, "transcript.jsonl", transcript);
    Some(tree)
}

fn take_line_out(past: &mut Past, task: &str) -> Option<Tree> {
    let (_, transcript) = recorded(past, task)?;
    let mut lines: Vec<&str> = transcript.split_inclusive('\n').collect();
    if lines.is_empty() {
        return None;
    }
    lines.remove(usize::try_from(past.chance.below(lines.len() as u64)).expect("small"));
    let mut tree = past.tree().clone();
    write(&mut tree, task, "transcript.jsonl", lines.concat());
    Some(tree)
}

fn take_out_and_relink(past: &mut Past, task: &str) -> Option<Tree> {
    let (_, transcript) = recorded(past, task)?;
    let mut lines: Vec<&str> = transcript.split_inclusive('\n').collect();
    if lines.len() < 3 {
        return None;
    }
    let out = 1 + usize::try_from(past.chance.below(lines.len() as u64 - 2)).expect("small");
    let gone: Value = serde_json::from_str(lines.remove(out)).ok()?;
    let relinked = relinked(&lines.concat(), |_, event| {
        if event["after"] == json!([gone["id"]]) {
            event["after"] = gone["after"].clone();
        }
        let seq = event["seq"].as_u64().unwrap_or_default();
        if seq > gone["seq"].as_u64().unwrap_or_default() {
            event["seq"] = json!(seq - 1);
        }
    });
    let mut tree = past.tree().clone();
    put_fold(&mut tree, task, &relinked);
    Some(tree)
}

fn alter_and_relink(past: &mut Past, task: &str) -> Option<Tree> {
    let (_, transcript) = recorded(past, task)?;
    let altered =
        usize::try_from(past.chance.below(transcript.lines().count() as u64)).expect("small");
    let relinked = relinked(&transcript, |number, event| {
        if number == altered {
            event["reason"] = json!("everybody said so");
        }
    });
    let mut tree = past.tree().clone();
    put_fold(&mut tree, task, &relinked);
    Some(tree)
}

/// Writes a log, and the state that it folds to, where it does.
fn put_fold(tree: &mut Tree, task: &str, lines: &str) {
    let log = parsed(lines);
    write(tree, task, "transcript.jsonl", lines);
    if let Ok(Some(state)) = log.fold(&LIFECYCLE, &log.heads(), &mut FoldCache::default()) {
        put(tree, task, &state, lines);
    }
}

fn add_junk_line(past: &mut Past, task: &str) -> Option<Tree> {
    let (_, transcript) = recorded(past, task)?;
    let junk = *past.chance.pick(&[
        "approved by everybody",
        "{}",
        "{\"approved_by\":\"everybody\"}",
        "[1]",
    ]);
    let mut tree = past.tree().clone();
    write(
        &mut tree,
        task,
        "transcript.jsonl",
        format!("{transcript}{junk}\n"),
    );
    Some(tree)
}

fn follow_nothing(past: &mut Past, task: &str) -> Option<Tree> {
    let (mut before, transcript) = recorded(past, task)?;
    let state = skipped(past, task)?;
    before.heads = vec![Digest::of_blob(b"nowhere")];
    let mut tree = past.tree().clone();
    tell(&mut tree, task, &transcript, &before, &state)?;
    Some(tree)
}

fn unname_heads(past: &mut Past, task: &str) -> Option<Tree> {
    let (state, transcript) = recorded(past, task)?;
    let mut tree = past.tree().clone();
    put(
        &mut tree,
        task,
        &State {
            heads: Vec::new(),
            ..state
        },
        &transcript,
    );
    Some(tree)
}

/// A state that is older than its log, with the size of that, so that readers do not fold.
fn hide_behind_size(past: &mut Past, task: &str) -> Option<Tree> {
    let (_, transcript) = recorded(past, task)?;
    let log = log(past.tree(), task);
    let older = log
        .events()
        .filter(|event| !log.heads().contains(&event.id))
        .last()?
        .id;
    let state = log.state_at(&older, &mut FoldCache::default()).ok()?;
    let extent = LogExtent::of(transcript.as_bytes(), ObjectFormat::Sha1);
    let mut tree = past.tree().clone();
    write(
        &mut tree,
        task,
        "state.json",
        write_state(&state, "phase", SCHEMA, extent),
    );
    Some(tree)
}

fn hide_junk_in_event(past: &mut Past, task: &str) -> Option<Tree> {
    edit_last(past, task, |event| {
        drop(event.insert("approved_by".to_owned(), json!("everybody")))
    })
}

fn pad_changes(past: &mut Past, task: &str) -> Option<Tree> {
    edit_last(past, task, |event| {
        let padding =
            json!([{"op": "add", "path": "/data", "value": {}}, {"op": "remove", "path": "/data"}]);
        let changes = event.entry("changes").or_insert_with(|| json!([]));
        if let Some((changes, padding)) = changes.as_array_mut().zip(padding.as_array()) {
            changes.splice(..0, padding.iter().cloned());
        }
    })
}

fn edit_last(past: &mut Past, task: &str, edit: fn(&mut Map<String, Value>)) -> Option<Tree> {
    let (_, transcript) = recorded(past, task)?;
    let last = transcript.lines().count().checked_sub(1)?;
    let relinked = relinked(&transcript, |number, event| {
        if let Some(event) = event.as_object_mut().filter(|_| number == last) {
            edit(event);
        }
    });
    let mut tree = past.tree().clone();
    put_fold(&mut tree, task, &relinked);
    Some(tree)
}

fn remove_log(past: &mut Past, task: &str) -> Option<Tree> {
    recorded(past, task)?;
    let mut tree = past.tree().clone();
    tree.remove(&format!("tasks/{task}/transcript.jsonl"));
    if past.chance.below(2) == 0 {
        tree.remove(&format!("tasks/{task}/state.json"));
    }
    // A task that is gone with all its files is nobody's loss.
    let is_left = below(&tree, task).next().is_some();
    is_left.then_some(tree)
}

fn replace_by_foreign(past: &mut Past, task: &str) -> Option<Tree> {
    recorded(past, task)?;
    let mut tree = past.tree().clone();
    write(
        &mut tree,
        task,
        "state.json",
        "{\"phase\": \"accept\", \"ticket\": \"B-2\"}\n",
    );
    Some(tree)
}

fn copy_record(past: &mut Past, task: &str) -> Option<Tree> {
    let other = *past.chance.pick(&TASKS);
    let (state, transcript) = recorded(past, other)?;
    if state.task.as_deref() == Some(task) {
        return None;
    }
    let mut tree = past.tree().clone();
    put(&mut tree, task, &state, &transcript);
    Some(tree)
}

fn take_from_branch(past: &mut Past, task: &str) -> Option<Tree> {
    let (own, transcript) = recorded(past, task)?;
    let other = &past.commits[past.other?].tree;
    let (state, told) = (state(other, task)?, text(other, task, "transcript.jsonl")?);
    // What continues from here is a rebase, and steps that are later than all that was done here might have
    // been taken again.
    let kept = log(past.tree(), task);
    let others = log(other, task);
    let new = others
        .events()
        .filter(|event| kept.get(&event.id).is_none())
        .map(|event| event.entry.at)
        .min()?;
    let is_longer = kept.events().all(|event| others.get(&event.id).is_some());
    if is_longer || new > own.history.last()?.at || transcript.is_empty() {
        return None;
    }
    let mut tree = past.tree().clone();
    put(&mut tree, task, &state, &told);
    Some(tree)
}

fn put_finished_back(past: &mut Past, task: &str) -> Option<Tree> {
    let ancestors = past.ancestors(past.head);
    let finished = ancestors
        .iter()
        .map(|commit| &past.commits[*commit].tree)
        .find(|tree| {
            let done =
                state(tree, task).is_some_and(|state| state.phase.as_deref() == Some("done"));
            done && files_of_record(tree, task)[1] != files_of_record(past.tree(), task)[1]
        })?;
    let mut tree = past.tree().clone();
    transplant(&mut tree, finished, task);
    write(
        &mut tree,
        task,
        "code/diff.patch",
        format!("+line {}\n", past.chance.below(1 << 40)),
    );
    Some(tree)
}

fn begin_again(past: &mut Past, task: &str) -> Option<Tree> {
    let (state, transcript) = recorded(past, task)?;
    let seen = look(past.tree(), task);
    let mut transition = made_up(past, &state, Kind::Create)?;
    transition.from = None;
    let stamp = past.stamp(ActorKind::Human);
    let before = state;
    let state = apply(&LIFECYCLE, &before, &seen.facts, &transition, &stamp);
    let mut tree = past.tree().clone();
    tell(&mut tree, task, &transcript, &before, &state)?;
    Some(tree)
}

/// The path of an artifact that the last transition of a task rests on.
fn evidence(past: &mut Past, task: &str) -> Option<String> {
    let (state, _) = recorded(past, task)?;
    let paths = state
        .history
        .last()?
        .evidence
        .iter()
        .map(|(path, _)| format!("tasks/{task}/{path}"));
    let paths: Vec<String> = paths
        .filter(|path| past.tree().contains_key(path))
        .collect();
    (!paths.is_empty()).then(|| past.chance.pick(&paths).clone())
}

fn swap_evidence(past: &mut Past, task: &str) -> Option<Tree> {
    let path = evidence(past, task)?;
    let mut tree = past.tree().clone();
    let other = format!("{}\n", tree.get(&path)?);
    tree.insert(path, other.into());
    Some(tree)
}

fn remove_evidence(past: &mut Past, task: &str) -> Option<Tree> {
    let path = evidence(past, task)?;
    let mut tree = past.tree().clone();
    tree.remove(&path);
    Some(tree)
}

fn change_entry(past: &mut Past, task: &str) -> Option<Tree> {
    let (mut state, transcript) = recorded(past, task)?;
    let entry = Arc::make_mut(state.history.last_mut()?);
    let before = entry.clone();
    change(entry, &mut past.chance);
    // Who applied what the rules decided, nobody can know; unless they ask for a person.
    if entry.actor != before.actor {
        let asks = LIFECYCLE
            .rules
            .iter()
            .any(|rule| rule.by_human && Some(rule.id.as_str()) == entry.rule.as_deref());
        entry.actor = By {
            kind: ActorKind::Agent,
            name: "coder".to_owned(),
        };
        asks.then_some(())?;
    }
    if *entry == before {
        return None;
    }
    state.phase = Some(entry.to.to_string());
    let mut tree = past.tree().clone();
    retell(&mut tree, task, &state, &transcript)?;
    Some(tree)
}

fn tamper_with_transition(past: &mut Past, task: &str) -> Option<Tree> {
    let (mut state, transcript) = recorded(past, task)?;
    let last = state.history.last().cloned();
    tamper(&mut state, &mut past.chance)?;
    if state.history.last() != last.as_ref() {
        return None;
    }
    let mut tree = past.tree().clone();
    retell(&mut tree, task, &state, &transcript)?;
    Some(tree)
}

fn hide_junk(past: &mut Past, task: &str) -> Option<Tree> {
    let (state, transcript) = recorded(past, task)?;
    let mut tree = past.tree().clone();
    put(&mut tree, task, &state, &transcript);
    let written = text(&tree, task, "state.json")?;
    let mut value: Value = serde_json::from_str(&written).ok()?;
    let place = *past
        .chance
        .pick(&["/history/0", "/history/0/actor", "/workflow"]);
    value
        .pointer_mut(place)?
        .as_object_mut()?
        .insert("approved_by".to_owned(), json!("everybody"));
    value.as_object_mut()?.shift_remove("seal");
    let unsealed = format!("{}\n", serde_json::to_string_pretty(&value).ok()?);
    let seal = digest(&unsealed);
    let at = unsealed.find("  \"rev\": ")?;
    let at = at + unsealed[at..].find('\n')? + 1;
    let sealed = format!(
        "{}  \"seal\": \"{seal}\",\n{}",
        &unsealed[..at],
        &unsealed[at..]
    );
    write(&mut tree, task, "state.json", sealed);
    Some(tree)
}

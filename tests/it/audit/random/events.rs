//! What may honestly happen in a repository: work, transitions, orders, and everything that git can do
//! to their commits.

use super::past::{
    Past, TASKS, Tree, below, files_of_record, ids, is_declared, look, put, state, text,
    transplant, whole, write,
};
use super::{forgeries, verifications};
use crate::core::world::{LIFECYCLE, passing};
use crate::model::{Chance, PATHS, refusing};
use orch_core::decide::{
    ActorKind, Recorded, Stamp, State, apply, choose, confirm, create, evaluate, initial_state,
    keep_latest, override_to, reopen, rollback, settle,
};
use orch_core::record::{EventLog, FoldCache, FoldError, LogEvent, united_lines};
use serde_json::json;
use std::collections::BTreeMap;
use std::collections::HashSet;
use std::sync::Arc;

/// What happened to a history that was imported in one commit.
pub const IMPORT: &str = "everything in one commit";

/// Lets one thing happen, if it can.
pub fn happen(past: &mut Past) {
    let task = *past.chance.pick(&TASKS[..2]);
    match past.chance.below(100) {
        0..9 => edit(past, task),
        9..12 => verifications::verify(past, task),
        12..14 => delete(past, task),
        14..17 => past.commit_work("a commit by hand"),
        17..22 => batch(past),
        22..40 => diligence(past, task),
        40..50 => advance(past, task, true),
        50..58 => order(past, task, true),
        58..64 => {
            if past.chance.below(3) > 0 {
                advance(past, task, false);
            } else {
                order(past, task, false);
            }
        }
        64..68 => begin(past, task, true),
        68..72 => revert(past),
        72..76 => switch(past),
        76..80 => merge(past),
        80..83 => squash(past),
        83..86 => cherry_pick(past),
        86..89 => go_back_to(past, task),
        89 => remove(past, task),
        90 => foreign(past, task),
        91 => begin(past, task, false),
        92 => touch(past, task),
        93 => amend(past, task),
        94 => revert_older(past),
        95 => import(past),
        _ => forgeries::forge(past),
    }
}

/// Writes an artifact into the work directory, whether it helps or not.
fn edit(past: &mut Past, task: &str) {
    let (artifact, path) = *past.chance.pick(&PATHS);
    // Few different texts, so that old bytes come back.
    let n = past.chance.below(4);
    let text = match past.chance.below(10) {
        0 => String::new(),
        1 => "{\"truncated\":".to_owned(),
        2..6 => refusing(artifact, n, &mut past.chance),
        _ => passing(artifact, n, &BTreeMap::new()),
    };
    write(&mut past.work, task, path, text);
}

fn delete(past: &mut Past, task: &str) {
    let paths: Vec<String> = past
        .work
        .keys()
        .filter(|path| is_declared(path, task))
        .cloned()
        .collect();
    if !paths.is_empty() {
        let path = past.chance.pick(&paths).clone();
        past.work.remove(&path);
    }
}

/// Whether the branch knows a record of the task; of any other nothing is written by itself.
fn is_born(past: &Past, task: &str) -> bool {
    files_of_record(past.tree(), task) != [None, None]
}

/// Writes what is expected, and lets `orch` move.
fn diligence(past: &mut Past, task: &str) {
    if whole(&past.work, task).is_none() || !is_born(past, task) {
        return begin(past, task, true);
    }
    work_on(past, task);
    if past.chance.below(3) == 0 {
        past.commit_work("work, by hand");
    }
    let commit = past.chance.below(8) > 0;
    advance(past, task, commit);
}

/// Works on several tasks, and lets `orch` commit all that is due at once.
fn batch(past: &mut Past) {
    let mut moved = Vec::new();
    for task in &TASKS[..2] {
        let [here, committed] = [&past.work, past.tree()].map(|tree| files_of_record(tree, task));
        if !is_born(past, task) || here != committed {
            continue;
        }
        for _ in 0..=past.chance.below(5) {
            work_on(past, task);
        }
        advance(past, task, false);
        if files_of_record(&past.work, task) != committed {
            moved.push(*task);
        }
    }
    if !moved.is_empty() {
        past.commit_batch(&moved);
    }
}

/// Writes what is expected.
fn work_on(past: &mut Past, task: &str) {
    if whole(&past.work, task).is_none() {
        return;
    }
    let seen = look(&past.work, task);
    for expected in evaluate(&LIFECYCLE, &seen.recorded, &seen.facts).expects {
        let n = past.chance.below(1 << 20);
        let made = match expected.artifact.as_str() {
            // Reverting is the way that a person has to approve.
            "decision" if n.is_multiple_of(3) => json!({"n": n, "verdict": "revert"}).to_string(),
            artifact => passing(artifact, n, &expected.of),
        };
        write(&mut past.work, task, &expected.path, made);
    }
}

fn advance(past: &mut Past, task: &str, commit: bool) {
    if whole(&past.work, task).is_none() || (commit && !is_born(past, task)) {
        return;
    }
    let by = *past.chance.pick(&[
        ActorKind::Orch,
        ActorKind::Orch,
        ActorKind::Human,
        ActorKind::Agent,
    ]);
    let (stamp, once) = (past.stamp(by), past.chance.below(2) == 0);
    let seen = look(&past.work, task);
    let taken = std::cell::Cell::new(false);
    let settled = settle(&LIFECYCLE, &seen.recorded, &seen.facts, &stamp, &|due| {
        (by == ActorKind::Human || !due.by_human) && !(once && taken.replace(true))
    });
    let states: Vec<State> = settled.steps.into_iter().map(|step| step.state).collect();
    past.record(task, &states, commit);
}

/// What a person or an agent orders, whether it makes sense or not.
fn order(past: &mut Past, task: &str, commit: bool) {
    let Some(before) = whole(&past.work, task).filter(|_| !commit || is_born(past, task)) else {
        return;
    };
    let facts = look(&past.work, task).facts;
    let phase = past.chance.pick(&LIFECYCLE.phases).id.to_string();
    let to = (past.chance.below(3) > 0).then_some(phase.as_str());
    let artifact = past.chance.pick(&LIFECYCLE.artifacts).name.to_string();
    let done = before.phase.as_deref() == Some("done");
    let given = match if done { 2 } else { past.chance.below(4) } {
        0 => override_to(&LIFECYCLE, &before, &facts, to, "hurry"),
        1 => rollback(&LIFECYCLE, &before, &facts, to, "again"),
        2 => reopen(&LIFECYCLE, &before, &facts, to, "a fault"),
        _ => {
            let confirmed = LIFECYCLE
                .artifacts
                .iter()
                .map(|artifact| artifact.name.as_str());
            let confirmed = std::iter::once(artifact.as_str()).chain(confirmed);
            let mut orders =
                confirmed.map(|name| confirm(&LIFECYCLE, &before, &facts, name, "it is right"));
            orders.find(Result::is_ok).unwrap_or_else(|| {
                override_to(&LIFECYCLE, &before, &facts, None, "nothing to confirm")
            })
        }
    };
    if let Ok(transition) = given {
        let stamp = past.stamp(ActorKind::Human);
        past.record(
            task,
            &[apply(&LIFECYCLE, &before, &facts, &transition, &stamp)],
            commit,
        );
    }
}

/// Creates a task, or adopts a directory as one. A state that the branch knows already is gone on from.
fn begin(past: &mut Past, task: &str, commit: bool) {
    if is_born(past, task) {
        return;
    }
    let seen = look(&past.work, task);
    let mut before = match seen.recorded {
        Recorded::Known(state) if state.foreign => *state,
        Recorded::New => initial_state(&LIFECYCLE),
        _ => return,
    };
    if past.chance.below(3) == 0 {
        before.title = Some("A title".to_owned());
    }
    let mut transition = create(&LIFECYCLE, "the task was created");
    if let Some(phase) = before
        .phase
        .as_deref()
        .and_then(|name| LIFECYCLE.phase_named(name))
    {
        transition.to = phase.id.clone();
    }
    let stamp = past.stamp(ActorKind::Human);
    past.record(
        task,
        &[apply(&LIFECYCLE, &before, &seen.facts, &transition, &stamp)],
        commit,
    );
}

/// Another tool's state, at any phase.
fn foreign(past: &mut Past, task: &str) {
    if files_of_record(&past.work, task) == [None, None] {
        let phase = *past
            .chance
            .pick(&["planning_done", "codegen", "test_run", "accept", "done"]);
        let mut state = json!({"phase": phase, "ticket": "A-1"});
        if past.chance.below(3) == 0 {
            state["history"] = json!([{
                "seq": 7, "at": "2023-01-01T00:00:00Z", "to": phase, "kind": "advance",
                "actor": {"kind": "human", "name": "Ann"},
            }]);
        }
        write(&mut past.work, task, "state.json", state.to_string());
    }
}

/// `git revert HEAD`.
fn revert(past: &mut Past) {
    if let Some(parent) = past.parent() {
        let tree = past.commits[parent].tree.clone();
        past.commit(vec![past.head], tree, "revert");
    }
}

/// Edits an artifact by hand so that it says what it said, and commits it.
fn touch(past: &mut Past, task: &str) {
    past.work = past.tree().clone();
    if touched(past, task).is_some() {
        past.commit(
            vec![past.head],
            past.work.clone(),
            format!("{task} edited by hand"),
        );
    }
}

/// `git commit -a --amend` after such an edit.
fn amend(past: &mut Past, task: &str) {
    let Some(parent) = past.parent().filter(|_| !past.commits[past.head].is_forged) else {
        return;
    };
    past.work = past.tree().clone();
    let is_batch = past.commits[past.head].is_batch;
    if !is_batch && touched(past, task).is_some() {
        past.commit(
            vec![parent],
            past.work.clone(),
            format!("amended, {task} edited by hand"),
        );
    }
}

/// Adds to an artifact in the work directory what changes its bytes and nothing else.
fn touched(past: &mut Past, task: &str) -> Option<()> {
    let declared = past
        .work
        .iter()
        .filter(|(path, text)| is_declared(path, task) && !text.trim().is_empty())
        .filter(|(path, _)| !path.ends_with(verifications::RESULT));
    let paths: Vec<String> = declared.map(|(path, _)| path.clone()).collect();
    let path = (!paths.is_empty()).then(|| past.chance.pick(&paths).clone())?;
    let text = format!("{}\n", past.work.get(&path)?);
    past.work.insert(path, text.into());
    Some(())
}

/// `git revert` of a commit before HEAD, where nothing later touched the same files.
fn revert_older(past: &mut Past) {
    let mut commit = past.head;
    for _ in 0..past.chance.below(4) {
        let [parent] = past.commits[commit].parents[..] else {
            return;
        };
        commit = parent;
    }
    let [parent] = past.commits[commit].parents[..] else {
        return;
    };
    if past
        .ancestors(past.head)
        .range(commit..)
        .any(|one| past.commits[*one].is_forged)
    {
        return;
    }
    let (before, after) = (&past.commits[parent].tree, &past.commits[commit].tree);
    let changed: Vec<&String> = before
        .keys()
        .chain(after.keys())
        .filter(|path| before.get(*path) != after.get(*path))
        .collect();
    if !changed
        .iter()
        .all(|path| past.tree().get(*path) == after.get(*path))
    {
        return;
    }
    let mut tree = past.tree().clone();
    for path in changed {
        match before.get(path) {
            Some(text) => tree.insert(path.clone(), Arc::clone(text)),
            None => tree.remove(path),
        };
    }
    past.commit(vec![past.head], tree, "revert of an older commit");
}

/// The files of HEAD, as the first commit of another history.
fn import(past: &mut Past) {
    let is_forged = |commit: usize| past.commits[commit].is_forged;
    if !past.ancestors(past.head).into_iter().any(is_forged) {
        let tree = past.tree().clone();
        past.commit(Vec::new(), tree, IMPORT);
    }
}

/// `git checkout OLD -- tasks/t`, and either a commit or the next move.
fn go_back_to(past: &mut Past, task: &str) {
    let ancestors: Vec<usize> = past.ancestors(past.head).into_iter().collect();
    let old = *past.chance.pick(&ancestors);
    if state(&past.commits[old].tree, task).is_none() {
        return;
    }
    past.work = past.tree().clone();
    transplant(&mut past.work, &past.commits[old].tree, task);
    let head = past.head;
    if past.chance.below(2) == 0 {
        order(past, task, true);
    }
    if past.head == head {
        past.commit(
            vec![head],
            past.work.clone(),
            format!("{task} as it was once"),
        );
    }
}

fn remove(past: &mut Past, task: &str) {
    past.work = past.tree().clone();
    past.work
        .retain(|path, _| !path.starts_with(&format!("tasks/{task}/")));
    past.commit_work(&format!("{task} is removed"));
}

/// Goes over to the other branch, which begins here if there is none.
fn switch(past: &mut Past) {
    let head = past.head;
    past.head = past.other.replace(head).unwrap_or(head);
    past.work = past.tree().clone();
}

/// Merges the other branch, or rebases onto it. Of a task that was moved on both sides, both are joined, or one is
/// taken that has all events of the other; without either, nothing is merged.
fn merge(past: &mut Past) {
    let Some(theirs) = past
        .other
        .filter(|other| !past.ancestors(past.head).contains(other))
    else {
        return;
    };
    let ours = past.head;
    if past.ancestors(theirs).contains(&ours) {
        past.head = theirs;
        past.work = past.tree().clone();
        return;
    }
    let common = past
        .ancestors(ours)
        .intersection(&past.ancestors(theirs))
        .copied()
        .max();
    let Some(common) = common else { return };
    let is_forged = [ours, theirs]
        .into_iter()
        .flat_map(|tip| past.ancestors(tip))
        .any(|commit| past.commits[commit].is_forged);
    let stamp = past.stamp(ActorKind::Human);
    let mut chance = Chance::new(past.chance.below(u64::MAX));
    let [base, one, two] = [common, ours, theirs].map(|commit| &past.commits[commit].tree);
    let mut tree = one.clone();
    let paths: Vec<&String> = base.keys().chain(one.keys()).chain(two.keys()).collect();
    for path in paths {
        if one.get(path) == base.get(path) {
            match two.get(path) {
                Some(text) => tree.insert(path.clone(), Arc::clone(text)),
                None => tree.remove(path),
            };
        }
    }
    let mut joined = Vec::new();
    let mut takes_a_side = is_forged;
    for task in TASKS {
        let [then, own, other] = [base, one, two].map(|tree| files_of_record(tree, task));
        if own == other || own == then || other == then {
            continue;
        }
        let way = chance.below(4);
        let by_hand = chance.below(3) == 0;
        let stamp = by_hand.then_some(&stamp);
        match join(one, two, task, stamp).filter(|_| way < 2 && !is_forged) {
            Some((state, lines)) => {
                match chance.below(6) {
                    // The state is a copy, which a merge may leave as one side has it, or lose.
                    0 => write(&mut tree, task, "transcript.jsonl", lines),
                    1 => {
                        write(&mut tree, task, "transcript.jsonl", lines);
                        tree.remove(&format!("tasks/{task}/state.json"));
                    }
                    _ => put(&mut tree, task, &state, &lines),
                }
                joined.push(task);
            }
            None => {
                let (taken, left) = if way.is_multiple_of(2) {
                    (one, two)
                } else {
                    (two, one)
                };
                let log = |tree: &Tree| text(tree, task, "transcript.jsonl").unwrap_or_default();
                let (kept, dropped) = (log(taken), log(left));
                let kept: HashSet<&str> = kept.lines().collect();
                if !dropped.lines().all(|line| kept.contains(line)) {
                    // A merge that drops events is forged, whoever makes it; nobody makes one here.
                    return;
                }
                transplant(&mut tree, taken, task);
                takes_a_side = true;
            }
        }
    }
    if !takes_a_side && past.chance.below(3) == 0 {
        past.commit(vec![theirs], tree, "rebase");
    } else {
        past.commit(vec![ours, theirs], tree, "merge");
    }
    if !joined.is_empty() && past.chance.below(3) == 0 {
        forgeries::forge_joined(past, &joined);
    } else if past.parent().is_none() && past.chance.below(6) == 0 {
        forgeries::forge_merge(past);
    }
    past.other = None;
}

/// What both sides recorded of a task, joined; where the rules cannot, or where `stamp` says who, by the
/// choice of a person.
fn join(
    ours: &Tree,
    theirs: &Tree,
    task: &str,
    stamp: Option<&Stamp>,
) -> Option<(Arc<State>, String)> {
    let (one, other) = (state(ours, task)?, state(theirs, task)?);
    let lines = |tree: &Tree| text(tree, task, "transcript.jsonl").unwrap_or_default();
    let mut united = united_lines(&lines(ours), &lines(theirs));
    let (log, mut cache) = (EventLog::parse(united.as_bytes()).0, FoldCache::default());
    let heads = log.heads();
    let folded = match log.fold(&LIFECYCLE, &heads, &mut cache) {
        Err(FoldError::Disputed { .. }) => None,
        folded => Some(folded.expect("whole logs")?),
    };
    let Some(stamp) = stamp.filter(|_| heads.len() > 1) else {
        return Some((folded?, united));
    };
    let mut chosen = choose(&LIFECYCLE, &one, &other, "it is better", stamp).ok()?;
    let mut history = log.history(&heads);
    history.extend(chosen.history.pop());
    keep_latest(&mut history);
    chosen.history = history;
    let first = log.state_at(&heads[0], &mut cache).expect("whole");
    let event = LogEvent::new(heads, Some(&first), &chosen)?;
    united += &event.line();
    let log = EventLog::parse(united.as_bytes()).0;
    Some((log.state_at(&event.id, &mut cache).expect("whole"), united))
}

/// `git merge --squash` of the last few commits, whose branch is kept or not.
fn squash(past: &mut Past) {
    let top = past.head;
    let mut base = top;
    for _ in 0..1 + past.chance.below(6) {
        let commit = &past.commits[base];
        let [parent] = commit.parents[..] else { break };
        // Where a task was removed and begun again in between, its end does not follow from its begin.
        let ends = |task: &&str| {
            let begun = text(&past.commits[parent].tree, task, "transcript.jsonl").is_some();
            begun && state(&commit.tree, task).is_none()
        };
        if commit.is_forged || TASKS.iter().any(ends) {
            break;
        }
        base = parent;
    }
    let tree = past.tree().clone();
    if !TASKS
        .iter()
        .all(|task| past.is_provable(base, &tree, task) || past.is_touched(&tree, task))
    {
        return;
    }
    let is_last = top + 1 == past.commits.len()
        && past.ancestors(top).range(base + 1..).count() == top - base;
    if is_last && past.other.is_none_or(|other| other <= base) && past.chance.below(2) == 0 {
        past.commits.truncate(base + 1);
    }
    past.commit(vec![base], tree, "squash");
}

/// Takes over a move of the other branch that fits here as it is.
fn cherry_pick(past: &mut Past) {
    let Some(other) = past.other else { return };
    let here = past.ancestors(past.head);
    let there: Vec<usize> = past.ancestors(other).difference(&here).copied().collect();
    for picked in there {
        let commit = &past.commits[picked];
        let [parent] = commit.parents[..] else {
            continue;
        };
        if commit.is_forged {
            continue;
        }
        let (before, after) = (&past.commits[parent].tree, &commit.tree);
        let changed: Vec<&String> = before
            .keys()
            .chain(after.keys())
            .filter(|path| before.get(*path) != after.get(*path))
            .collect();
        let fits = changed
            .iter()
            .all(|path| past.tree().get(*path) == before.get(*path));
        let moved: Vec<&str> = TASKS
            .into_iter()
            .filter(|task| files_of_record(before, task) != files_of_record(after, task))
            .collect();
        let grew = |task: &&str| {
            let [old, new] = [before, after].map(|tree| ids(tree, task));
            new.len() > old.len() && new.is_superset(&old)
        };
        if !fits || moved.is_empty() || !moved.iter().all(grew) {
            continue;
        }
        let mut tree = past.tree().clone();
        for path in changed {
            match after.get(path) {
                Some(text) => tree.insert(path.clone(), Arc::clone(text)),
                None => tree.remove(path),
            };
        }
        // Its evidence may have been committed before it, and not here.
        if moved
            .iter()
            .all(|task| below(&tree, task).eq(below(after, task)))
        {
            past.commit(vec![past.head], tree, "cherry-pick");
            return;
        }
    }
}

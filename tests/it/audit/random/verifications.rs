//! Verifications in a made-up repository: as `orch` records them, and every way of forging one.

use super::events::IMPORT;
use super::forgeries::tell;
use super::past::{Past, SETTINGS, TASKS, Tree, log, look, state, text, write};
use crate::core::verified::GREEN;
use crate::core::world::LIFECYCLE;
use orch_base::{Digest, ObjectFormat, TaskId, VerificationName};
use orch_core::config;
use orch_core::decide::{ActorKind, Detail, DetailStep, State, apply, detailed};
use orch_core::verification::{
    FoundBy, RULES, TestedCode, Verification, VerificationResult, VerifiedBase, VerifiedCode,
    VerifiedOutcome, VerifiedResult, statement,
};

/// Where the result of a verification is, in the directory of a task.
pub const RESULT: &str = "eval/verify/tests.json";

/// What a run gave, and what the event says of it.
struct Made {
    event: Verification,
    result: VerificationResult,
    /// What becomes of the text of the result.
    edit: fn(String) -> String,
}

/// Runs the tests of a task on HEAD, and records what they gave.
pub fn verify(past: &mut Past, task: &str) {
    past.work = past.tree().clone();
    let Some((made, text)) = honest(past, task).map(with_text) else {
        return;
    };
    if let Some((_, after)) = step(past, task, &made.event) {
        write(&mut past.work, task, RESULT, text);
        past.record(task, &[after], true);
    }
}

/// Whether a tree has a result that no event of its task recorded.
pub fn has_unknown_result(tree: &Tree, task: &str) -> bool {
    let Some(result) = text(tree, task, RESULT) else {
        return false;
    };
    let digest = Digest::of_blob(result.as_bytes());
    let is_its = |detail: Option<&Detail>| matches!(detail, Some(Detail::Verify(run)) if run.result.digest == digest);
    !log(tree, task)
        .events()
        .any(|event| is_its(event.entry.detail.as_deref()))
}

/// A run on HEAD that passed; `None` if the task has no whole record there.
fn honest(past: &Past, task: &str) -> Option<Made> {
    state(past.tree(), task)?;
    let (config, _) = config::parse(SETTINGS, config::FILE);
    let name = VerificationName::new("tests").expect("a name");
    let mut result = GREEN.result();
    let run = &mut result.run;
    run.task = TaskId::new(task).expect("an id");
    run.table = config.verify[&name].digest(ObjectFormat::Sha1);
    run.code = VerifiedCode::Commit(past.code());
    let base = VerifiedBase {
        commit: past.id(0),
        code: past.code(),
        by: FoundBy::Branch,
    };
    let is_apart =
        past.commits[past.head].what == IMPORT || !past.ancestors(past.head).contains(&0);
    match &mut run.base {
        Some(known) if !is_apart => known.at = base,
        other => *other = None,
    }
    result.tested = TestedCode::Commit {
        commit: past.id(past.head),
        tree: past.tree_id(past.head),
    };
    let event = Verification {
        returned: Default::default(),
        name,
        code: result.run.code,
        table: result.run.table,
        rules: RULES,
        base: result.run.base.as_ref().map(|base| base.at.clone()),
        result: VerifiedResult {
            outcome: result.run.outcome,
            digest: past.code(),
        },
    };
    Some(Made {
        event,
        result,
        edit: |text| text,
    })
}

/// The text of the result, whose digest the event names.
fn with_text(mut made: Made) -> (Made, String) {
    let text = (made.edit)(statement(&made.result));
    made.event.result.digest = Digest::of_blob(text.as_bytes());
    (made, text)
}

/// The state of a task in HEAD, and after a verification.
fn step(past: &mut Past, task: &str, event: &Verification) -> Option<(State, State)> {
    let before = state(past.tree(), task)?;
    let stamp = past.stamp(ActorKind::Orch);
    let facts = look(past.tree(), task).facts;
    let told = DetailStep {
        detail: Detail::Verify(event.clone()),
        at: stamp.at,
        to: None,
        former: None,
        why: None,
    };
    let id = TaskId::new(task).expect("an id");
    let transition = detailed(&LIFECYCLE, &before, &id, told).ok()?;
    let after = apply(&LIFECYCLE, &before, &facts, &transition, &stamp);
    Some((before, after))
}

/// The tree of HEAD with an event and its result.
fn recorded(past: &mut Past, task: &str, made: Made) -> Option<Tree> {
    let (made, result) = with_text(made);
    let (before, after) = step(past, task, &made.event)?;
    let lines = text(past.tree(), task, "transcript.jsonl")?;
    let mut tree = past.tree().clone();
    tell(&mut tree, task, &lines, &before, &after)?;
    write(&mut tree, task, RESULT, result);
    Some(tree)
}

fn nowhere() -> Digest {
    Digest::of_blob(b"nowhere")
}

pub fn without_event(past: &mut Past, task: &str) -> Option<Tree> {
    let mut made = honest(past, task)?;
    made.result.run.milliseconds += past.chance.below(1 << 30);
    let (_, result) = with_text(made);
    let mut tree = past.tree().clone();
    write(&mut tree, task, RESULT, result);
    Some(tree)
}

pub fn with_other_bytes(past: &mut Past, task: &str) -> Option<Tree> {
    let made = honest(past, task)?;
    let mut tree = recorded(past, task, made)?;
    let result = text(&tree, task, RESULT)?;
    write(&mut tree, task, RESULT, format!("{result}\n"));
    Some(tree)
}

pub fn by_other_table(past: &mut Past, task: &str) -> Option<Tree> {
    let mut made = honest(past, task)?;
    made.event.table = nowhere();
    made.result.run.table = nowhere();
    recorded(past, task, made)
}

pub fn of_other_code(past: &mut Past, task: &str) -> Option<Tree> {
    let mut made = honest(past, task)?;
    made.event.code = VerifiedCode::Commit(nowhere());
    made.result.run.code = made.event.code;
    recorded(past, task, made)
}

/// Names a base in the event and in the result.
fn on_base(past: &mut Past, task: &str, base: VerifiedBase) -> Option<Tree> {
    let mut made = honest(past, task)?;
    let mut known = GREEN.result().run.base?;
    known.at = base.clone();
    made.result.run.base = Some(known);
    made.event.base = Some(base);
    recorded(past, task, made)
}

pub fn on_base_elsewhere(past: &mut Past, task: &str) -> Option<Tree> {
    let here = past.ancestors(past.head);
    let mut others = (0..past.commits.len()).filter(|commit| !here.contains(commit));
    let base = VerifiedBase {
        commit: past.id(others.next()?),
        code: past.code(),
        by: FoundBy::Branch,
    };
    on_base(past, task, base)
}

pub fn on_base_of_other_code(past: &mut Past, task: &str) -> Option<Tree> {
    let first = past.ancestors(past.head).first().copied()?;
    let base = VerifiedBase {
        commit: past.id(first),
        code: nowhere(),
        by: FoundBy::Branch,
    };
    on_base(past, task, base)
}

/// The base has the task already: it is said to be what was there before it, or it brought code and task at once.
pub fn on_base_with_task(past: &mut Past, task: &str) -> Option<Tree> {
    let here = past.ancestors(past.head);
    let has_task =
        |commit: &usize| text(&past.commits[*commit].tree, task, "transcript.jsonl").is_some();
    let first = here.iter().copied().find(has_task)?;
    let is_import = past.commits[first].what == IMPORT;
    let base = VerifiedBase {
        commit: past.id(first),
        code: past.code(),
        by: if is_import {
            FoundBy::Branch
        } else {
            FoundBy::Create
        },
    };
    on_base(past, task, base)
}

pub fn of_other_subject(past: &mut Past, task: &str) -> Option<Tree> {
    let mut made = honest(past, task)?;
    made.result.tested = match made.result.tested {
        TestedCode::Commit { commit, .. } if past.chance.below(2) == 0 => TestedCode::Commit {
            commit,
            tree: nowhere(),
        },
        TestedCode::Commit { tree, .. } => TestedCode::Tree { tree },
        other => other,
    };
    recorded(past, task, made)
}

pub fn of_other_task(past: &mut Past, task: &str) -> Option<Tree> {
    let mut made = honest(past, task)?;
    let other = TASKS.into_iter().find(|other| *other != task)?;
    made.result.run.task = TaskId::new(other).expect("an id");
    recorded(past, task, made)
}

/// The result is that of another event.
pub fn at_other_event(past: &mut Past, task: &str) -> Option<Tree> {
    let mut made = honest(past, task)?;
    let run = &mut made.result.run;
    match past.chance.below(4) {
        0 => run.name = VerificationName::new("lint").expect("a name"),
        1 => run.rules += 1,
        2 => run.code = VerifiedCode::Commit(nowhere()),
        _ => made.event.result.outcome = VerifiedOutcome::Failed,
    }
    recorded(past, task, made)
}

pub fn contradicting_itself(past: &mut Past, task: &str) -> Option<Tree> {
    let mut made = honest(past, task)?;
    let run = &mut made.result.run;
    match past.chance.below(5) {
        0 => run.commands.first_mut()?.exit = Some(1),
        1 => run.counts.failed += 1,
        2 => run.counts.tests += 1,
        3 => made.result.tests.failed.push("a::made_up".to_owned()),
        _ => made.edit = |text| text.replacen("\"PASSED\"", "\"FAILED\"", 1),
    }
    recorded(past, task, made)
}

//! Replays a recorded step: from the state before it and the facts, the rules must yield the step again.
//!
//! The hook and the audit use this. Only the time, the actor and a person's reason are taken from a record on trust;
//! everything else must result from the functions that made the record.

use super::approvals::said_again;
use super::evaluate::yielded;
use super::evaluation::SeenTask;
use super::lost::confirmed_in_words;
use super::not_enabled::part_looks_at_files;
use super::order::why_after;
use super::rederive::{rederive, refuse_in_any_case};
use super::{
    Facts, HistoryEntry, Inputs, Kind, Original, RecordVersion, Recorded, Stamp, Standing, State,
    Transition, Truth, adopt, apply, confirm, confirm_lost, document, evaluate, initial_state,
    is_original, override_to, reopen, rollback,
};
use crate::workflow::{Outcome, Workflow};
use orch_base::pointer::child;
use orch_base::{Digest, Error, PhaseId};
use serde_json::Value;

/// A step that the rules yield.
#[derive(Debug, Clone, PartialEq)]
pub struct Replayed {
    /// The state that must follow.
    pub state: State,
    /// Whose word the step rests on.
    pub standing: Standing,
    /// Whether the rule requires a person.
    pub by_human: bool,
    /// The paths of evidence of earlier phases that was gone.
    pub lost: Vec<String>,
    /// Why the step is unverifiable although the rules yield it, if it is.
    pub doubt: Option<&'static str>,
}

/// Why the rules do not yield a step.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Disproof {
    /// What the record says, and what the rules say instead.
    pub message: String,
    /// The rule that the record names, or else the one that fires.
    pub rule: Option<String>,
}

/// Replays the step `entry`. If the recorded state `after` is known, it must equal the derived one. Returns a
/// [`Disproof`] if the rules do not yield the step.
///
/// ````
/// use orch_base::PhaseId;
/// use orch_core::decide::{
///     ActorKind, By, Facts, Kind, Recorded, Stamp, Transition, apply, create, initial_state, replay,
/// };
/// # use orch_base::{TaskId, Timestamp};
/// # use orch_core::workflow::{Document, System, compile};
/// # let text = "```toml orch
/// # [workflow]
/// # initial = 'write'
/// # [artifact.note]
/// # path = 'note.json'
/// # [phase.write]
/// # produces = ['note']
/// # [phase.done]
/// # terminal = true
/// # [[rule]]
/// # id = 'finished'
/// # from = 'write'
/// # when = 'note.ready'
/// # to = 'done'
/// # because = 'the note is finished'
/// # ```";
/// # let (workflow, _) = compile(&Document::new("notes", "notes.md", text), &System::empty());
/// # let workflow = workflow.ok_or("the document has errors")?;
///
/// let facts = Facts::of_no_files(TaskId::new("n-1")?);
/// let by = By { kind: ActorKind::Human, name: "Ann".to_owned() };
/// let stamp = Stamp::new(Timestamp::from_seconds(1_700_000_000), by);
/// let step = create(&workflow, "a new note");
/// let created = apply(&workflow, &initial_state(&workflow), &facts, &step, &stamp);
/// let replayed = replay(&workflow, &Recorded::New, &facts, &created.history[0], Some(&created));
/// assert!(replayed.is_ok());
///
/// // Nobody has written the note, so no rule leads on.
/// let from = Some(PhaseId::new("write")?);
/// let step = Transition::new(from, PhaseId::new("done")?, Kind::Advance, "it is finished");
/// let forged = apply(&workflow, &created, &facts, &step, &stamp);
/// let before = Recorded::Known(Box::new(created));
/// let disproof = replay(&workflow, &before, &facts, &forged.history[1], None).unwrap_err();
/// assert_eq!(
///     disproof.message,
///     "the rules do not lead from `write` to `done` here: note.json is missing"
/// );
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ````
pub fn replay(
    workflow: &Workflow,
    before: &Recorded,
    facts: &Facts,
    entry: &HistoryEntry,
    after: Option<&State>,
) -> Result<Replayed, Disproof> {
    let was_decided_otherwise = facts.inputs.digest != entry.inputs
        && entry.version > RecordVersion::First
        && entry.kind.looks_at_files()
        && entry.kind != Kind::Merge;
    let facts = noted(workflow, before, facts, entry);
    let replayed = replay_on(workflow, before, &facts, entry, after);
    if !was_decided_otherwise {
        return replayed;
    }
    // What they asked at that time is unknown, so the step may also follow where they ask nothing.
    let lax = Facts {
        inputs: Inputs {
            digest: entry.inputs,
            ..Inputs::default()
        },
        ..facts
    };
    let replayed = replayed.or_else(|_| replay_on(workflow, before, &lax, entry, after))?;
    let standing = replayed.standing.max(Standing::Unverifiable);
    Ok(Replayed {
        standing,
        doubt: replayed.doubt.or(Some(OTHER_INPUTS)),
        ..replayed
    })
}

/// Why a step is in doubt that names other settings than those of the commit that it rests on.
const OTHER_INPUTS: &str = "it was decided by other settings ([require] or [people.teams] of orch.toml) than those of \
                            the commit before it";

/// Replays a step on facts as it saw them.
fn replay_on(
    workflow: &Workflow,
    before: &Recorded,
    facts: &Facts,
    entry: &HistoryEntry,
    after: Option<&State>,
) -> Result<Replayed, Disproof> {
    let initial;
    let state = match before {
        Recorded::Known(state) => state,
        _ => {
            initial = titled(initial_state(workflow), after);
            &initial
        }
    };
    let replayed = follow(workflow, before, state, facts, entry, after);
    match (replayed, after) {
        (Err(disproof), Some(after)) if *before == Recorded::New && entry.kind == Kind::Create => {
            taken_over(workflow, facts, entry, after).ok_or(disproof)
        }
        (replayed, _) => replayed,
    }
}

/// The facts as a step saw them, with the writers that the state before it knows.
#[must_use]
pub fn noted(workflow: &Workflow, before: &Recorded, facts: &Facts, entry: &HistoryEntry) -> Facts {
    let mut facts = facts.as_noted(entry).into_owned();
    if let Recorded::Known(state) = before
        && entry.version > RecordVersion::First
    {
        facts.add_writers_of(workflow, state);
    }
    facts
}

/// Why no facts at all would make the rules yield the step `entry`; `None` if some would.
///
/// This checks a step whose facts are incomplete: the phases of its rule, and the parts of the guard that
/// read only the state, are known anyway.
#[must_use]
pub fn refute(
    workflow: &Workflow,
    before: &Recorded,
    facts: &Facts,
    entry: &HistoryEntry,
    after: &State,
) -> Option<Disproof> {
    let Recorded::Known(state) = before else {
        return None;
    };
    let facts = &noted(workflow, before, facts, entry);
    if matches!(
        entry.kind,
        Kind::Run | Kind::Skip | Kind::Answer | Kind::End
    ) {
        let refused = refuse_in_any_case(workflow, state, facts, entry, after);
        return refused.err().map(|message| disproof(entry, message.into()));
    }
    let (Kind::Advance | Kind::Regress, Some(name)) = (entry.kind, &entry.rule) else {
        return None;
    };
    let from = workflow.phase_named(state.phase.as_deref()?)?;
    let Some(rule) = workflow
        .rules_from(&from.id)
        .find(|rule| rule.id.as_str() == name)
    else {
        return Some(disproof(
            entry,
            format!("no rule `{name}` leads out of `{}`", from.id),
        ));
    };
    if !matches!(&rule.outcome, Outcome::To(to) if *to == entry.to) {
        return Some(disproof(
            entry,
            format!("rule `{name}` does not lead to `{}`", entry.to),
        ));
    }
    let is_back = workflow.position(&entry.to) <= workflow.position(&from.id);
    let kind = if is_back {
        Kind::Regress
    } else {
        Kind::Advance
    };
    if entry.kind != kind {
        let kind = kind.as_str();
        let recorded = entry.kind.as_str();
        let message =
            format!("rule `{name}` makes the step `{kind}`, but the record says `{recorded}`");
        return Some(disproof(entry, message));
    }
    let decision = evaluate(workflow, before, facts);
    let tried = decision.tried.iter().find(|tried| tried.rule == rule.id)?;
    let broken = tried.parts.iter().find(|part| {
        part.result == Truth::False
            && part.within.is_none()
            && !part_looks_at_files(workflow, &part.saw)
    })?;
    Some(disproof(
        entry,
        format!(
            "rule `{name}` cannot have held, whatever the files were: {}",
            broken.text
        ),
    ))
}

/// Why a step is in doubt that leads forward to a phase whose attempts are used up. Earlier versions limited only
/// the way back, so the step may be honest.
const BEFORE_LIMIT: &str = "the attempts of its phase are used up; it may have been recorded before `attempts` \
                            limited the way forward";

/// The state that follows from the step, if the step is the recorded one.
fn follow(
    workflow: &Workflow,
    before: &Recorded,
    state: &State,
    facts: &Facts,
    entry: &HistoryEntry,
    after: Option<&State>,
) -> Result<Replayed, Disproof> {
    let mut doubt = None;
    let (transition, standing) = match entry.kind {
        Kind::Create => (creation(workflow, state, before, entry)?, Standing::Proven),
        Kind::Advance | Kind::Regress => {
            let (transition, why) = due(workflow, before, facts, entry)?;
            doubt = why;
            (
                transition,
                if why.is_some() {
                    Standing::Unverifiable
                } else {
                    Standing::Proven
                },
            )
        }
        Kind::Override | Kind::Rollback | Kind::Reopen | Kind::Confirm | Kind::Merge => {
            ordered(workflow, state, facts, entry)?
        }
        Kind::Approve => {
            let said = said_again(workflow, state, facts, entry);
            (
                said.map_err(|message| disproof(entry, message))?,
                Standing::Claimed,
            )
        }
        Kind::Rename
        | Kind::Undo
        | Kind::Verify
        | Kind::Relate
        | Kind::Take
        | Kind::Lapse
        | Kind::Migrate => {
            return Err(disproof(
                entry,
                "this step follows from its record alone".to_owned(),
            ));
        }
        Kind::Run | Kind::Skip | Kind::Answer | Kind::Signal | Kind::Start | Kind::End => {
            let Some(after) = after else {
                return Err(disproof(
                    entry,
                    "the state after the step is missing".to_owned(),
                ));
            };
            let derived = rederive(workflow, state, facts, entry, after);
            (
                derived.map_err(|message| disproof(entry, message.into()))?,
                Standing::Claimed,
            )
        }
    };
    let is_performed = matches!(entry.kind, Kind::Run | Kind::Skip);
    let performance = entry.performance.clone().filter(|_| is_performed);
    let stamp = Stamp {
        performance,
        ..Stamp::of(entry)
    };
    let mut next = apply(workflow, state, facts, &transition, &stamp);
    if let Some(after) = after {
        next.be_recorded_as(after, workflow);
    }
    // Equal states have equal documents, which are only built to report a difference.
    if let Some(after) = after.filter(|after| next != **after) {
        let yielded = document(&next, &workflow.phase_key);
        let recorded = document(after, &workflow.phase_key);
        if let Some(difference) = difference(&yielded, &recorded, "") {
            let message =
                format!("the state differs from the result of the transition: {difference}");
            return Err(disproof(entry, message));
        }
    }
    let lost = lost_evidence(workflow, state, facts);
    Ok(Replayed {
        state: next,
        standing,
        by_human: transition.by_human,
        lost,
        doubt,
    })
}

/// The paths of evidence of earlier phases that is gone.
fn lost_evidence(workflow: &Workflow, state: &State, facts: &Facts) -> Vec<String> {
    let state = &*state.under_own_names(workflow);
    let name = state.phase.as_deref().unwrap_or(workflow.initial.as_str());
    let Some(phase) = workflow.phase_named(name).filter(|phase| !phase.terminal) else {
        return Vec::new();
    };
    let task = SeenTask::of(workflow, state, facts, phase);
    let evaluation = task.evaluation();
    evaluation
        .lost_evidence()
        .into_iter()
        .map(|(_, lost)| lost.path)
        .collect()
}

/// The title is set at creation and recorded nowhere else.
fn titled(mut state: State, after: Option<&State>) -> State {
    state.title = after.and_then(|after| after.title.clone());
    state
}

/// The adoption of a state that was never committed, so no one has it. What that state contained can be
/// neither derived nor refuted; everything else must follow.
fn taken_over(
    workflow: &Workflow,
    facts: &Facts,
    entry: &HistoryEntry,
    after: &State,
) -> Option<Replayed> {
    let mut assumed = after.clone();
    assumed.history.pop()?;
    assumed.rev = assumed.rev.checked_sub(1)?;
    assumed.foreign = true;
    assumed.original = original_of(entry);
    let before = Recorded::Known(Box::new(assumed.clone()));
    let replayed = follow(workflow, &before, &assumed, facts, entry, Some(after)).ok()?;
    let doubt = Some("the state that it took over is not in git");
    Some(Replayed {
        standing: Standing::Unverifiable,
        doubt,
        ..replayed
    })
}

/// The file that a step says it imported.
fn original_of(entry: &HistoryEntry) -> Option<Box<Original>> {
    let (_, digest) = entry.evidence.iter().find(|(path, _)| is_original(path))?;
    Some(Box::new(Original {
        digest: Digest::parse(digest)?,
        left_out: Vec::new(),
        is_mapped: true,
    }))
}

fn creation(
    workflow: &Workflow,
    state: &State,
    before: &Recorded,
    entry: &HistoryEntry,
) -> Result<Transition, Disproof> {
    if let Recorded::Known(known) = before
        && !known.foreign
    {
        return Err(disproof(
            entry,
            "the task already existed and was created again".to_owned(),
        ));
    }
    let transition = match &state.original {
        // Versions that kept only the files that a map reads did not name the others.
        Some(original) if !original.is_mapped && original_of(entry).is_none() => adopt(
            workflow,
            &State {
                original: None,
                ..state.clone()
            },
            &entry.reason,
        ),
        _ => adopt(workflow, state, &entry.reason),
    };
    if transition.to != entry.to {
        let message = format!(
            "a task starts in `{}`, not in `{}`",
            transition.to, entry.to
        );
        return Err(disproof(entry, message));
    }
    Ok(transition)
}

/// The transition that the rules yield now, if it is the recorded one, and why it is in doubt, if it is.
fn due(
    workflow: &Workflow,
    before: &Recorded,
    facts: &Facts,
    entry: &HistoryEntry,
) -> Result<(Transition, Option<&'static str>), Disproof> {
    let found = yielded(workflow, before, facts);
    let Some((mut transition, is_held)) =
        found.filter(|(one, is_held)| !is_held || one.kind == Kind::Advance)
    else {
        let decision = evaluate(workflow, before, facts);
        let phase = decision.phase.as_ref().map_or("?", PhaseId::as_str);
        let message = format!(
            "the rules do not lead from `{phase}` to `{}` here: {}",
            entry.to, decision.reason
        );
        return Err(disproof(entry, message));
    };
    let rule = transition.rule.as_ref().map(ToString::to_string);
    if transition.to != entry.to || rule != entry.rule {
        let named = rule.as_deref().unwrap_or("no rule");
        let message = format!(
            "the rules lead to `{}` by `{named}` here, not to `{}`",
            transition.to, entry.to
        );
        return Err(disproof(entry, message));
    }
    // A person may add a reason to that of the rule.
    let added = entry.reason.strip_prefix(transition.reason.as_str());
    if transition.by_human && added.is_some_and(|added| added.starts_with(": ")) {
        transition.reason.clone_from(&entry.reason);
    }
    Ok((transition, is_held.then_some(BEFORE_LIMIT)))
}

fn ordered(
    workflow: &Workflow,
    state: &State,
    facts: &Facts,
    entry: &HistoryEntry,
) -> Result<(Transition, Standing), Disproof> {
    let to = Some(entry.to.as_str());
    let reason = entry.reason.as_str();
    let order: Result<Transition, Error> = match (entry.kind, &entry.confirmed) {
        (Kind::Override, _) => override_to(workflow, state, facts, to, reason),
        (Kind::Rollback, _) => rollback(workflow, state, facts, to, reason),
        (Kind::Reopen, _) => reopen(workflow, state, facts, to, reason),
        (Kind::Confirm, Some(artifact)) => {
            confirm(workflow, state, facts, artifact.as_str(), reason)
        }
        (Kind::Confirm, None) if !entry.lost.is_empty() => {
            let reason = why_after(reason, &confirmed_in_words(&entry.lost));
            let reason = reason.unwrap_or_default();
            confirm_lost(workflow, state, facts, &entry.lost, reason)
        }
        (Kind::Merge, _) => return Err(disproof(entry, "no branches were joined here".to_owned())),
        _ => {
            return Err(disproof(
                entry,
                "the record does not say what was confirmed".to_owned(),
            ));
        }
    };
    let transition = order.map_err(|refusal| {
        disproof(
            entry,
            format!("this {} would be refused: {refusal}", entry.kind.as_str()),
        )
    })?;
    let standing = if entry.kind == Kind::Confirm {
        Standing::Claimed
    } else {
        Standing::Overridden
    };
    Ok((transition, standing))
}

fn disproof(entry: &HistoryEntry, message: String) -> Disproof {
    Disproof {
        message,
        rule: entry.rule.clone(),
    }
}

/// The first difference between two values, in words; `None` if they are equal.
#[must_use]
pub fn difference(yielded: &Value, recorded: &Value, pointer: &str) -> Option<String> {
    match (yielded, recorded) {
        (Value::Object(a), Value::Object(b)) => {
            let missing = b.keys().filter(|key| !a.contains_key(*key));
            a.keys().chain(missing).find_map(|key| {
                let pointer = child(pointer, key);
                difference(
                    a.get(key).unwrap_or(&Value::Null),
                    b.get(key).unwrap_or(&Value::Null),
                    &pointer,
                )
            })
        }
        (Value::Array(a), Value::Array(b)) if a.len() == b.len() => a
            .iter()
            .zip(b)
            .enumerate()
            .find_map(|(index, (a, b))| difference(a, b, &format!("{pointer}/{index}"))),
        _ if yielded == recorded => None,
        _ => Some(format!(
            "{pointer} should be {}, but is {}",
            short(yielded),
            short(recorded)
        )),
    }
}

fn short(value: &Value) -> String {
    const MOST: usize = 60;
    let text = value.to_string();
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text,
    }
}

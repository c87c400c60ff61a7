//! The states of two branches as one: data, counters and errors, whichever side asks.

use super::loops::LOOP;
use super::play::{facts, workflow};
use orch::base::{ActionName, ArtifactName, Code, Digest, Timestamp};
use orch::decide::{
    Actor, ActorKind, ActorStatus, By, Kind, RunRecord, Stamp, State, Tally, apply, choose, create,
    initial_state, join,
};
use orch::workflow::Workflow;
use serde_json::{Value, json};

/// The time of a step.
fn stamp(seconds: i64) -> Stamp {
    Stamp::new(Timestamp::from_seconds(seconds), By { kind: ActorKind::Human, name: "Ann".to_owned() })
}

/// A recorded state of the loop, with this data.
fn recorded(workflow: &Workflow, seconds: i64, data: &Value) -> State {
    let created = create(workflow, "begun");
    let mut state = apply(workflow, &initial_state(workflow), &facts(), &created, &stamp(seconds));
    state.extra = data.as_object().expect("an object").clone();
    state
}

#[test]
fn data_that_both_sides_changed_is_joined_member_by_member_and_counters_keep_the_larger_value() {
    let workflow = workflow(LOOP);
    // The data of the base, of the side that moved last and so leads, of the other, and of both.
    for (base, lead, other, joined) in [
        (json!({"n": 1}), json!({"n": 3}), json!({"n": 2}), json!({"n": 3})),
        (json!({"n": 1}), json!({"n": 2}), json!({"n": 3}), json!({"n": 3})),
        (json!({"n": 9}), json!({"n": 2}), json!({"n": 3}), json!({"n": 3})),
        (json!({"n": 0}), json!({"n": -2}), json!({"n": -3}), json!({"n": -2})),
        (json!({"n": 1}), json!({"n": 1.5}), json!({"n": 1.25}), json!({"n": 1.5})),
        (json!({"n": 1}), json!({"n": 1.25}), json!({"n": 1.5}), json!({"n": 1.5})),
        (json!({"n": 1}), json!({"n": 2}), json!({"n": 2.5}), json!({"n": 2.5})),
        // Equal values, written in two ways: that of the side that leads.
        (json!({"n": 1}), json!({"n": 2}), json!({"n": 2.0}), json!({"n": 2})),
        (json!({"n": 1}), json!({"n": 2.0}), json!({"n": 2}), json!({"n": 2.0})),
        // Integers that are equal as floating-point numbers.
        (
            json!({"n": 1}),
            json!({"n": 9_007_199_254_740_992_u64}),
            json!({"n": 9_007_199_254_740_993_u64}),
            json!({"n": 9_007_199_254_740_993_u64}),
        ),
        // Only one side changed it.
        (json!({"n": 5}), json!({"n": 5}), json!({"n": 2}), json!({"n": 2})),
        (json!({"n": 5}), json!({"n": 2}), json!({"n": 5}), json!({"n": 2})),
        (json!({"n": 5}), json!({}), json!({"n": 5}), json!({})),
        // One side removed what the other changed.
        (json!({"n": 5}), json!({}), json!({"n": 6}), json!({"n": 6})),
        (json!({"n": 5}), json!({"n": 6}), json!({}), json!({"n": 6})),
        (
            json!({"o": {"a": 1, "b": 1, "c": 1}}),
            json!({"o": {"a": 2, "b": 1, "c": 2}}),
            json!({"o": {"a": 1, "b": 3, "c": 4}}),
            json!({"o": {"a": 2, "b": 3, "c": 4}}),
        ),
        // Without a common object, both add to one.
        (json!({}), json!({"o": {"a": 1}}), json!({"o": {"b": 2}}), json!({"o": {"a": 1, "b": 2}})),
        (json!({"l": []}), json!({"l": [1]}), json!({"l": [2, 3]}), json!({"l": [1]})),
        (json!({"l": 1}), json!({"l": 2}), json!({"l": "x"}), json!({"l": 2})),
    ] {
        let base = recorded(&workflow, 100, &base);
        let (lead, other) = (recorded(&workflow, 300, &lead), recorded(&workflow, 200, &other));
        let told = join(&workflow, Some(&base), &lead, &other).expect("joined");
        assert_eq!(Value::Object(told.extra.clone()), joined, "{:?} {:?}", lead.extra, other.extra);
        assert_eq!(join(&workflow, Some(&base), &other, &lead), Ok(told), "whoever asks");
    }
}

#[test]
fn failures_and_results_of_both_sides_count_once_and_nothing_is_refunded() {
    let workflow = workflow(LOOP);
    let (find, mend) = (ActionName::new("find").expect("valid"), ActionName::new("mend").expect("valid"));
    let run = |errors: u32, tallies: [(u32, bool); 2]| RunRecord {
        errors,
        actions: [(&find, tallies[0]), (&mend, tallies[1])]
            .into_iter()
            .map(|(name, (done, skipped))| (name.clone(), Tally { done, skipped }))
            .collect(),
        ..RunRecord::default()
    };
    let state = |seconds: i64, run: RunRecord, errors: &[&str]| State {
        run,
        errors: errors.iter().map(|message| json!({"message": message})).collect(),
        ..recorded(&workflow, seconds, &json!({}))
    };
    let base = state(100, run(1, [(1, false), (0, false)]), &["a"]);
    let one = state(300, run(2, [(3, true), (0, false)]), &["a", "b"]);
    let other = state(200, run(3, [(2, false), (4, true)]), &["a", "c"]);
    let joined = join(&workflow, Some(&base), &one, &other).expect("joined");
    assert_eq!(joined.run, run(4, [(4, true), (4, true)]));
    let told: Vec<&str> = joined.errors.iter().filter_map(|error| error["message"].as_str()).collect();
    assert_eq!(told, ["a", "b", "c"]);
    assert_eq!(join(&workflow, Some(&base), &other, &one).expect("joined").run, joined.run);
    let many: Vec<String> = (0..9).map(|n| n.to_string()).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let joined = join(&workflow, Some(&base), &state(300, run(0, [(0, false); 2]), &many), &other);
    let told: Vec<Value> =
        joined.expect("joined").errors.iter().map(|error| error["message"].clone()).collect();
    assert_eq!(told, ["6", "7", "8", "a", "c"], "as many as a state keeps");
}

#[test]
fn whoever_chooses_a_side_takes_over_what_the_other_one_used_up() {
    let workflow = workflow(LOOP);
    let (name, used) = (ArtifactName::new("report").expect("valid"), Digest::of_blob(b"used"));
    let actor = |attempt: u32, spent: &[Digest]| Actor {
        status: ActorStatus::Done,
        attempt,
        spent: (!spent.is_empty()).then(|| (name.clone(), spent.to_vec())).into_iter().collect(),
        left_with: [(name.clone(), Some(used))].into(),
        ..Actor::default()
    };
    let chosen = recorded(&workflow, 100, &json!({}));
    let mut other = recorded(&workflow, 200, &json!({}));
    other.actors.insert("failed".to_owned(), actor(3, &[used]));
    other.actors.insert("done".to_owned(), actor(2, &[]));
    let state = choose(&workflow, &chosen, &other, "this one", &stamp(300)).expect("chosen");
    let taken = Actor { status: ActorStatus::SentBack, left_with: [].into(), ..actor(3, &[used]) };
    assert_eq!(state.actors.get("failed"), Some(&taken));
    // A phase of which nothing was used up is one that the chosen side never came to.
    assert_eq!(state.actors.get("done"), None);
    let entry = state.history.last().expect("an entry");
    assert_eq!((entry.kind, entry.reason.as_str(), entry.seq), (Kind::Merge, "this one", chosen.rev + 1));
    for (side, reason, code) in [
        (chosen.clone(), " ", Code::NoReason),
        (State { foreign: true, ..chosen.clone() }, "why", Code::ForeignState),
        (State { phase: Some("gone".to_owned()), ..chosen }, "why", Code::UnknownPhase),
    ] {
        let refused = choose(&workflow, &side, &other, reason, &stamp(300)).expect_err("refused");
        assert_eq!(refused.code(), code);
    }
}

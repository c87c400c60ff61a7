//! The states of two branches as one: data, counters and errors, whichever side asks.

use super::loops::LOOP;
use super::play::{facts, workflow};
use orch_base::{ActionName, ArtifactName, Code, Digest, Timestamp};
use orch_core::decide::{
    Actor, ActorKind, ActorStatus, Approving, By, Detail, FileWriter, Holder, Kind, Ruling,
    RunRecord, Stamp, State, Tally, Transition, WorkflowRef, Written, apply, choose, create,
    initial_state, join,
};
use orch_core::record::{EventLog, FoldCache, record_steps};
use orch_core::workflow::Workflow;
use serde_json::{Value, json};
use std::collections::BTreeMap;
use std::sync::Arc;

/// The time of a step.
fn stamp(seconds: i64) -> Stamp {
    Stamp::new(
        Timestamp::from_seconds(seconds),
        By {
            kind: ActorKind::Human,
            name: "Ann".to_owned(),
        },
    )
}

/// A recorded state of the loop, with this data.
fn recorded(workflow: &Workflow, seconds: i64, data: &Value) -> State {
    let created = create(workflow, "begun");
    let mut state = apply(
        workflow,
        &initial_state(workflow),
        &facts(),
        &created,
        &stamp(seconds),
    );
    state.extra = data.as_object().expect("an object").clone();
    state
}

#[test]
fn data_that_both_sides_changed_is_joined_member_by_member_and_counters_keep_the_larger_value() {
    let workflow = workflow(LOOP);
    // The data of the base, of the side that moved last and so leads, of the other, and of both.
    for (base, lead, other, joined) in [
        (
            json!({"n": 1}),
            json!({"n": 3}),
            json!({"n": 2}),
            json!({"n": 3}),
        ),
        (
            json!({"n": 1}),
            json!({"n": 2}),
            json!({"n": 3}),
            json!({"n": 3}),
        ),
        (
            json!({"n": 9}),
            json!({"n": 2}),
            json!({"n": 3}),
            json!({"n": 3}),
        ),
        (
            json!({"n": 0}),
            json!({"n": -2}),
            json!({"n": -3}),
            json!({"n": -2}),
        ),
        (
            json!({"n": 1}),
            json!({"n": 1.5}),
            json!({"n": 1.25}),
            json!({"n": 1.5}),
        ),
        (
            json!({"n": 1}),
            json!({"n": 1.25}),
            json!({"n": 1.5}),
            json!({"n": 1.5}),
        ),
        (
            json!({"n": 1}),
            json!({"n": 2}),
            json!({"n": 2.5}),
            json!({"n": 2.5}),
        ),
        // Equal values, written in two ways: that of the side that leads.
        (
            json!({"n": 1}),
            json!({"n": 2}),
            json!({"n": 2.0}),
            json!({"n": 2}),
        ),
        (
            json!({"n": 1}),
            json!({"n": 2.0}),
            json!({"n": 2}),
            json!({"n": 2.0}),
        ),
        // Integers that are equal as floating-point numbers.
        (
            json!({"n": 1}),
            json!({"n": 9_007_199_254_740_992_u64}),
            json!({"n": 9_007_199_254_740_993_u64}),
            json!({"n": 9_007_199_254_740_993_u64}),
        ),
        // Only one side changed it.
        (
            json!({"n": 5}),
            json!({"n": 5}),
            json!({"n": 2}),
            json!({"n": 2}),
        ),
        (
            json!({"n": 5}),
            json!({"n": 2}),
            json!({"n": 5}),
            json!({"n": 2}),
        ),
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
        (
            json!({}),
            json!({"o": {"a": 1}}),
            json!({"o": {"b": 2}}),
            json!({"o": {"a": 1, "b": 2}}),
        ),
        (
            json!({"l": []}),
            json!({"l": [1]}),
            json!({"l": [2, 3]}),
            json!({"l": [1]}),
        ),
        (
            json!({"l": 1}),
            json!({"l": 2}),
            json!({"l": "x"}),
            json!({"l": 2}),
        ),
    ] {
        let base = recorded(&workflow, 100, &base);
        let (lead, other) = (
            recorded(&workflow, 300, &lead),
            recorded(&workflow, 200, &other),
        );
        let told = join(&workflow, Some(&base), &lead, &other).expect("joined");
        assert_eq!(
            Value::Object(told.extra.clone()),
            joined,
            "{:?} {:?}",
            lead.extra,
            other.extra
        );
        assert_eq!(
            join(&workflow, Some(&base), &other, &lead),
            Ok(told),
            "whoever asks"
        );
    }
}

#[test]
fn failures_and_results_of_both_sides_count_once_and_nothing_is_refunded() {
    let workflow = workflow(LOOP);
    let (find, mend) = (
        ActionName::new("find").expect("valid"),
        ActionName::new("mend").expect("valid"),
    );
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
        errors: errors
            .iter()
            .map(|message| json!({"message": message}))
            .collect(),
        ..recorded(&workflow, seconds, &json!({}))
    };
    let base = state(100, run(1, [(1, false), (0, false)]), &["a"]);
    let one = state(300, run(2, [(3, true), (0, false)]), &["a", "b"]);
    let other = state(200, run(3, [(2, false), (4, true)]), &["a", "c"]);
    let joined = join(&workflow, Some(&base), &one, &other).expect("joined");
    assert_eq!(joined.run, run(4, [(4, true), (4, true)]));
    let told: Vec<&str> = joined
        .errors
        .iter()
        .filter_map(|error| error["message"].as_str())
        .collect();
    assert_eq!(told, ["a", "b", "c"]);
    assert_eq!(
        join(&workflow, Some(&base), &other, &one)
            .expect("joined")
            .run,
        joined.run
    );
    let many: Vec<String> = (0..9).map(|n| n.to_string()).collect();
    let many: Vec<&str> = many.iter().map(String::as_str).collect();
    let joined = join(
        &workflow,
        Some(&base),
        &state(300, run(0, [(0, false); 2]), &many),
        &other,
    );
    let told: Vec<Value> = joined
        .expect("joined")
        .errors
        .iter()
        .map(|error| error["message"].clone())
        .collect();
    assert_eq!(told, ["6", "7", "8", "a", "c"], "as many as a state keeps");
}

#[test]
fn whoever_chooses_a_side_takes_over_what_the_other_one_used_up() {
    let workflow = workflow(LOOP);
    let (name, used) = (
        ArtifactName::new("report").expect("valid"),
        Digest::of_blob(b"used"),
    );
    let actor = |attempt: u32, spent: &[Digest]| Actor {
        status: ActorStatus::Done,
        attempt,
        spent: (!spent.is_empty())
            .then(|| (name.clone(), spent.to_vec()))
            .into_iter()
            .collect(),
        left_with: [(name.clone(), Some(used))].into(),
        ..Actor::default()
    };
    let chosen = recorded(&workflow, 100, &json!({}));
    let mut other = recorded(&workflow, 200, &json!({}));
    other.actors.insert("failed".to_owned(), actor(3, &[used]));
    other.actors.insert("done".to_owned(), actor(2, &[]));
    other.rev = 7;
    let state = choose(&workflow, &chosen, &other, "this one", &stamp(300)).expect("chosen");
    assert_eq!((state.rev, state.updated_at), (8, Some(stamp(300).at)));
    let taken = Actor {
        status: ActorStatus::SentBack,
        left_with: [].into(),
        ..actor(3, &[used])
    };
    assert_eq!(state.actors.get("failed"), Some(&taken));
    // A phase of which nothing was used up, and no writer is known, is one that the chosen side never came to.
    assert_eq!(state.actors.get("done"), None);
    let entry = state.history.last().expect("an entry");
    assert_eq!(
        (entry.kind, entry.reason.as_str(), entry.seq),
        (Kind::Merge, "this one", 8)
    );
    for (side, reason, code) in [
        (chosen.clone(), " ", Code::NoReason),
        (
            State {
                foreign: true,
                ..chosen.clone()
            },
            "why",
            Code::ForeignState,
        ),
        (
            State {
                phase: Some("gone".to_owned()),
                ..chosen
            },
            "why",
            Code::UnknownPhase,
        ),
    ] {
        let refused = choose(&workflow, &side, &other, reason, &stamp(300)).expect_err("refused");
        assert_eq!(refused.code(), code);
    }
}

/// The files of both sides may be there, whichever is chosen, and whoever wrote them may not judge them.
#[test]
fn whoever_chooses_a_side_takes_over_who_wrote_the_files_of_the_other_one() {
    let workflow = workflow(LOOP);
    let name = ArtifactName::new("report").expect("valid");
    let written = |person: &str, file: &str| Written {
        by: FileWriter::new(ActorKind::Human, person),
        files: vec![Digest::of_blob(file.as_bytes())],
    };
    let side = |seconds: i64, phase: &str, attempt: u32, writers: &[Written]| {
        let mut state = recorded(&workflow, seconds, &json!({}));
        let approvals = vec![Approving {
            person: format!("{seconds}@example.org"),
            ruling: Ruling::Approve,
            seq: 1,
            on: BTreeMap::new(),
        }];
        let writers = [(name.clone(), writers.to_vec())].into();
        state.actors.insert(
            phase.to_owned(),
            Actor {
                attempt,
                writers,
                approvals,
                ..Actor::default()
            },
        );
        state
    };
    let (ann, bob) = (written("Ann", "a"), written("Bob", "b"));
    for (chosen, other, phase, writers, approvals) in [
        (
            side(100, "failed", 2, std::slice::from_ref(&ann)),
            side(200, "failed", 2, &[ann.clone(), bob.clone()]),
            "failed",
            vec![ann.clone(), bob.clone()],
            1,
        ),
        (
            side(100, "failed", 1, &[]),
            side(200, "done", 1, std::slice::from_ref(&bob)),
            "done",
            vec![bob.clone()],
            0,
        ),
        // The other side has used up what was said in the attempt before.
        (
            side(100, "failed", 1, std::slice::from_ref(&ann)),
            side(200, "failed", 2, std::slice::from_ref(&bob)),
            "failed",
            vec![ann.clone(), bob.clone()],
            0,
        ),
    ] {
        let state = choose(&workflow, &chosen, &other, "this one", &stamp(300)).expect("chosen");
        let actor = &state.actors[phase];
        assert_eq!(
            (&actor.writers[&name], actor.approvals.len()),
            (&writers, approvals),
            "{chosen:?}"
        );
    }
}

const PHASES: &str = r#"
```toml orch
[phase.one]
[phase.two]
[phase.three]
[phase.end]
terminal = true
[[rule]]
id = "on"
from = "one"
to = "two"
because = "on"
[[rule]]
id = "further"
from = "two"
to = "three"
because = "further"
[[rule]]
id = "over"
from = "three"
to = "end"
because = "over"
```
"#;

#[test]
fn the_joined_task_is_in_the_earlier_phase_and_its_records_say_so() {
    use ActorStatus::{Active, Done, SentBack, Skipped};
    let workflow = workflow(PHASES);
    // The phase of each side, the status of the phase `two` there, and that of the joined task.
    for (lead, one, other, another, joined) in [
        ("two", Active, "three", Done, Active),
        ("one", SentBack, "three", Done, SentBack),
        ("one", Done, "three", Done, Done),
        ("one", Active, "three", Done, Done),
        ("one", Skipped, "three", Skipped, Skipped),
        ("one", Done, "three", Skipped, SentBack),
        ("three", Done, "end", Skipped, Done),
        ("three", Skipped, "end", Done, Done),
        ("three", Skipped, "end", SentBack, Skipped),
        ("three", SentBack, "end", Skipped, Skipped),
        ("three", SentBack, "end", SentBack, SentBack),
        ("three", Active, "end", Active, SentBack),
    ] {
        let side = |phase: &str, status: &ActorStatus, seconds: i64| {
            let mut state = recorded(&workflow, seconds, &json!({}));
            state.phase = Some(phase.to_owned());
            state.rev = seconds.unsigned_abs();
            let actor = Actor {
                status: status.clone(),
                attempt: 1,
                ..Actor::default()
            };
            state.actors.insert("two".to_owned(), actor);
            state
        };
        let (first, second) = (side(lead, &one, 100), side(other, &another, 200));
        for (a, b) in [(&first, &second), (&second, &first)] {
            let told = join(&workflow, None, a, b).expect("joined");
            assert_eq!(told.phase.as_deref(), Some(lead));
            assert_eq!(
                told.actors["two"].status, joined,
                "{lead} {one:?} {other} {another:?}"
            );
            assert_eq!((told.rev, told.updated_at), (second.rev, second.updated_at));
            assert_eq!(told.history.len(), 2, "of both");
        }
    }
}

#[test]
fn what_either_side_used_up_or_waived_stays_so_until_one_drops_it() {
    let workflow = workflow(PHASES);
    let name = |name: &str| ArtifactName::new(name).expect("valid");
    let digest = |text: &str| Digest::of_blob(text.as_bytes());
    let side =
        |seconds: i64, waived: &[(&str, u64)], spent: &[&str], left: Option<&str>, title: &str| {
            let mut state = recorded(&workflow, seconds, &json!({}));
            state.waived = waived.iter().map(|(one, seq)| (name(one), *seq)).collect();
            let spent: Vec<Digest> = spent.iter().map(|text| digest(text)).collect();
            let actor = Actor {
                attempt: u32::try_from(spent.len()).expect("few"),
                spent: (!spent.is_empty())
                    .then(|| (name("plan"), spent))
                    .into_iter()
                    .collect(),
                left_with: left
                    .map(|left| (name("plan"), Some(digest(left))))
                    .into_iter()
                    .collect(),
                ..Actor::default()
            };
            state.actors.insert("two".to_owned(), actor);
            State {
                title: Some(title.to_owned()),
                ..state
            }
        };
    let base = side(
        100,
        &[("kept", 1), ("dropped", 1)],
        &["a"],
        Some("x"),
        "old",
    );
    let one = side(
        300,
        &[("kept", 1), ("new", 4)],
        &["a", "b", "d"],
        Some("y"),
        "old",
    );
    let other = side(
        200,
        &[("kept", 3), ("dropped", 1), ("own", 2)],
        &["a", "c"],
        Some("x"),
        "new",
    );
    for (a, b) in [(&one, &other), (&other, &one)] {
        let told = join(&workflow, Some(&base), a, b).expect("joined");
        let waived = [("kept", 3), ("new", 4), ("own", 2)].map(|(one, seq)| (name(one), seq));
        assert_eq!(told.waived, waived.into());
        let actor = &told.actors["two"];
        assert_eq!(actor.spent[&name("plan")], ["a", "b", "d", "c"].map(digest));
        assert_eq!(
            (actor.attempt, actor.left_with[&name("plan")]),
            (3, Some(digest("y")))
        );
        assert_eq!(
            told.title.as_deref(),
            Some("new"),
            "only one side changed it"
        );
    }
    // Two records that disagree are none, so that whatever is there is a change.
    let third = side(200, &[], &["a"], Some("z"), "old");
    let told = join(&workflow, Some(&base), &one, &third).expect("joined");
    assert_eq!(told.actors["two"].left_with[&name("plan")], None);
}

/// An approval is held against what the verdicts judged, so that is never lost.
#[test]
fn what_both_sides_judged_anew_is_what_the_side_that_is_less_far_says() {
    let workflow = workflow(PHASES);
    let name = |name: &str| ArtifactName::new(name).expect("valid");
    let map = |text: &str| -> BTreeMap<ArtifactName, Digest> {
        let pairs = text
            .split_whitespace()
            .filter_map(|pair| pair.split_once('='));
        pairs
            .map(|(artifact, version)| (name(artifact), Digest::of_blob(version.as_bytes())))
            .collect()
    };
    let side = |phase: &str, seconds: i64, judged: &str| {
        let mut state = State {
            phase: Some(phase.to_owned()),
            ..recorded(&workflow, seconds, &json!({}))
        };
        let judged = (!judged.is_empty()).then(|| (name("verdict"), map(judged)));
        let files = [(
            "a.json".to_owned(),
            Digest::of_blob(seconds.to_string().as_bytes()),
        )];
        let actor = Actor {
            judged: judged.into_iter().collect(),
            left_files: [(name("reports"), files.into())].into(),
            ..Actor::default()
        };
        state.actors.insert("one".to_owned(), actor);
        state
    };
    for (base, lead, other, joined) in [
        (
            "plan=1 code=1",
            "plan=1 code=2",
            "plan=1 code=3",
            "plan=1 code=2",
        ),
        (
            "plan=1 code=1",
            "plan=1 code=1",
            "plan=1 code=3",
            "plan=1 code=3",
        ),
        (
            "plan=1 code=1",
            "plan=1 code=2",
            "plan=1 code=1",
            "plan=1 code=2",
        ),
        (
            "plan=1 code=1",
            "plan=1 code=2",
            "plan=1 code=2",
            "plan=1 code=2",
        ),
        ("", "plan=1 code=2", "plan=1 code=3", "plan=1 code=2"),
        ("", "", "plan=1 code=3", "plan=1 code=3"),
        ("", "plan=1", "plan=2 code=3", "plan=1"),
        // One side was sent back, and has not passed the phase again.
        ("plan=1", "", "plan=1", ""),
        ("plan=1", "", "plan=2", "plan=2"),
    ] {
        let base = side("two", 100, base);
        let (lead, other) = (side("two", 200, lead), side("three", 300, other));
        for (a, b) in [(&lead, &other), (&other, &lead)] {
            let told = join(&workflow, Some(&base), a, b).expect("joined");
            let actor = &told.actors["one"];
            let expected = (!joined.is_empty()).then(|| map(joined));
            assert_eq!(
                actor.judged.get(&name("verdict")),
                expected.as_ref(),
                "{lead:?} {other:?}"
            );
            // All files that lie there are used up by a send-back if it is not known which of them were there.
            assert_eq!(actor.left_files, BTreeMap::new());
        }
    }
}

#[test]
fn two_finished_sides_are_one_only_on_the_same_evidence() {
    let workflow = workflow(PHASES);
    let end = |seconds: i64, left: &str, evidence: &str| {
        let mut state = recorded(&workflow, seconds, &json!({}));
        state.phase = Some("end".to_owned());
        let left = (
            ArtifactName::new("plan").expect("valid"),
            Some(Digest::of_blob(left.as_bytes())),
        );
        state.actors.insert(
            "three".to_owned(),
            Actor {
                left_with: [left].into(),
                ..Actor::default()
            },
        );
        state.actors.insert(
            "two".to_owned(),
            Actor {
                attempt: u32::try_from(seconds).expect("small"),
                ..Actor::default()
            },
        );
        let mut entry = state.history[0].as_ref().clone();
        entry.from = Some(workflow.phases[2].id.clone());
        entry.to = workflow.phases[3].id.clone();
        entry.evidence = vec![("plan.json".to_owned(), evidence.to_owned())];
        state.history.push(entry.clone().into());
        // A step that stays says nothing of what the end rests on.
        entry.from = Some(entry.to.clone());
        entry.evidence = vec![("plan.json".to_owned(), seconds.to_string())];
        state.history.push(entry.into());
        state
    };
    for (other, is_one) in [
        (end(200, "x", "1"), true),
        (end(200, "y", "1"), false),
        (end(200, "x", "2"), false),
    ] {
        let told = join(&workflow, None, &end(100, "x", "1"), &other);
        assert_eq!(told.is_ok(), is_one, "{told:?}");
        assert_eq!(
            told.err().map(|conflict| conflict.code()),
            (!is_one).then_some(Code::BothFinished)
        );
        // A side that is not finished is less far.
        let open = State {
            phase: Some("one".to_owned()),
            ..other
        };
        assert!(join(&workflow, None, &end(100, "x", "1"), &open).is_ok());
    }
    let foreign = State {
        foreign: true,
        ..end(100, "x", "1")
    };
    for (a, b) in [
        (&foreign, &end(100, "x", "1")),
        (&end(100, "x", "1"), &foreign),
    ] {
        assert_eq!(
            join(&workflow, None, a, b).map_err(|conflict| conflict.code()),
            Err(Code::ForeignState)
        );
    }
}

/// A log in the making.
struct Branches {
    workflow: Workflow,
    log: EventLog,
    cache: FoldCache,
    steps: i64,
}

impl Branches {
    fn new() -> Self {
        let (log, cache) = (EventLog::default(), FoldCache::of_at_most(2_000));
        Self {
            workflow: workflow(LOOP),
            log,
            cache,
            steps: 0,
        }
    }

    /// A step after these events, of which the first is the one that its changes are relative to.
    fn step(&mut self, after: &[Digest], data: &Value) -> Digest {
        self.steps += 1;
        let base = after
            .first()
            .map(|id| self.log.state_at(id, &mut self.cache).expect("a whole log"));
        let base = base.map(|state| State::clone(&state)).unwrap_or_default();
        let mut step = recorded(&self.workflow, self.steps, data);
        step.rev = self.steps.unsigned_abs();
        Arc::make_mut(&mut step.history[0]).seq = step.rev;
        let before = State {
            heads: after.to_vec(),
            ..base.clone()
        };
        let event = record_steps(&before, &base, [&step])
            .pop()
            .expect("a step")
            .event;
        let id = event.id;
        self.log.append(event);
        id
    }

    /// Two branches that took each other in crosswise so many times, on each of which the name has another value.
    fn crosswise(&mut self, trunk: Digest, name: &str, times: usize) -> [Digest; 2] {
        let mut heads = [trunk; 2];
        for time in 0..=times {
            let after = if time == 0 {
                vec![trunk]
            } else {
                heads.to_vec()
            };
            heads = [2, 1].map(|n| self.step(&after, &json!({name: n})));
        }
        heads
    }

    /// The data of the joined state.
    fn joined(&mut self, heads: &[Digest]) -> Value {
        let folded = self
            .log
            .fold(&self.workflow, heads, &mut self.cache)
            .expect("joined");
        Value::Object(folded.expect("a state").extra.clone())
    }
}

#[test]
fn the_base_of_branches_that_joined_crosswise_is_what_their_bases_come_to() {
    let mut branches = Branches::new();
    let trunk = branches.step(&[], &json!({"a": 1, "b": 1}));
    let one = branches.step(&[trunk], &json!({"a": 2, "b": 1}));
    let other = branches.step(&[trunk], &json!({"a": 1, "b": 2}));
    assert_eq!(branches.joined(&[one, other]), json!({"a": 2, "b": 2}));
    // The joined state follows both, and so does the one that a person chooses instead.
    let Branches {
        workflow,
        log,
        cache,
        ..
    } = &mut branches;
    let seqs = |state: &State| {
        state
            .history
            .iter()
            .map(|entry| entry.seq)
            .collect::<Vec<_>>()
    };
    for heads in [[one, other], [other, one]] {
        let joined = log
            .fold(workflow, &heads, cache)
            .expect("joined")
            .expect("a state");
        assert_eq!(
            (&joined.heads[..], seqs(&joined)),
            (&[one, other][..], vec![1, 2, 3])
        );
        let at = stamp(300);
        let chosen = log
            .choose(workflow, &heads[..1], &heads[1..], "this one", &at, cache)
            .expect("folded")
            .expect("chosen");
        assert_eq!(
            (&chosen.heads[..], seqs(&chosen)),
            (&[one, other][..], vec![2, 3, 4])
        );
        let data = if heads[0] == one {
            json!({"a": 2, "b": 1})
        } else {
            json!({"a": 1, "b": 2})
        };
        assert_eq!(Value::Object(chosen.extra), data);
    }
    // Each takes one of the changes back, so each has changed one value of the base and kept the other.
    let left = branches.step(&[one, other], &json!({"a": 1, "b": 2}));
    let right = branches.step(&[other, one], &json!({"a": 2, "b": 1}));
    for heads in [[left, right], [right, left]] {
        assert_eq!(
            branches.joined(&heads),
            json!({"a": 1, "b": 1}),
            "whoever asks"
        );
    }
}

/// A log folds to the same state in every program that reads it, so how deep joins nest and how many there may be is
/// part of what a log means: there the first base stands for all of them.
#[test]
fn joins_of_bases_are_bounded_at_the_same_place_for_everybody() {
    // If the base says 2, only the side that says 1 has changed it, and the other way round. So each join of bases
    // turns the value of the one before.
    for (times, n) in [(0, 2), (1, 1), (2, 2), (3, 1), (64, 2), (65, 1), (66, 1)] {
        let mut branches = Branches::new();
        let trunk = branches.step(&[], &json!({}));
        let heads = branches.crosswise(trunk, "n", times);
        assert_eq!(branches.joined(&heads), json!({"n": n}), "{times}");
    }
    for (last, n) in [(63, 2), (64, 1)] {
        let mut branches = Branches::new();
        let trunk = branches.step(&[], &json!({}));
        let mut heads = Vec::new();
        for times in [64, 64, 64, 64, 64, 64, 64, last] {
            heads.extend(branches.crosswise(trunk, &format!("n{}", heads.len()), times));
        }
        heads.extend(branches.crosswise(trunk, "n", 2));
        assert_eq!(
            branches.joined(&heads)["n"],
            n,
            "after {} joins",
            7 * 64 + last
        );
    }
}

/// A state that names no phase is in the first one, and one that names a phase by an alias is in that.
#[test]
fn the_joined_or_chosen_state_names_its_phase_and_its_workflow() {
    let workflow = workflow(&PHASES.replace("[phase.two]", "[phase.two]\naliases = [\"second\"]"));
    let side = |phase: Option<&str>, seconds: i64| {
        let state = recorded(&workflow, seconds, &json!({}));
        let name = state.workflow.clone().expect("a workflow").name;
        let earlier = WorkflowRef {
            name,
            digest: Digest::of_blob(b"as it was"),
        };
        State {
            phase: phase.map(str::to_owned),
            workflow: Some(earlier),
            ..state
        }
    };
    for (lead, other, phase) in [
        (None, None, "one"),
        (None, Some("three"), "one"),
        (Some("second"), Some("three"), "two"),
    ] {
        let (lead, other) = (side(lead, 100), side(other, 200));
        assert_eq!(
            join(&workflow, None, &lead, &other)
                .expect("joined")
                .phase
                .as_deref(),
            Some(phase)
        );
        let chosen = choose(&workflow, &lead, &other, "this one", &stamp(300)).expect("chosen");
        assert_eq!(chosen.phase.as_deref(), Some(phase));
        assert_eq!(
            chosen.workflow.expect("a workflow").digest,
            workflow.digest,
            "the one that decides now"
        );
    }
}

#[test]
fn a_cache_of_any_size_leads_to_the_same_state() {
    let mut branches = Branches::new();
    let trunk = branches.step(&[], &json!({}));
    let heads = branches.crosswise(trunk, "n", 3);
    for most in [0, 1, 2, 9] {
        branches.cache = FoldCache::of_at_most(most);
        for _ in 0..2 {
            assert_eq!(branches.joined(&heads), json!({"n": 1}), "{most}");
        }
    }
}

/// Commits of code name a task by the id that it had then.
#[test]
fn what_a_task_was_called_is_known_however_much_was_recorded_since() {
    let workflow = workflow(PHASES);
    let phase = || workflow.initial.clone();
    let step = |state: &State, kind: Kind, reason: &str, at: i64| {
        let detail = Detail::Take(Holder {
            generation: at.unsigned_abs(),
            owner: "Ann".to_owned(),
        });
        let detail = (kind == Kind::Take).then(|| Box::new(detail));
        let transition = Transition {
            detail,
            ..Transition::new(Some(phase()), phase(), kind, reason)
        };
        apply(&workflow, state, &facts(), &transition, &stamp(at))
    };
    let mut trunk = recorded(&workflow, 100, &json!({}));
    trunk = step(&trunk, Kind::Rename, "renamed from a", 101);
    assert_eq!(trunk.former_ids().collect::<Vec<_>>(), ["a"]);
    for at in 102..107 {
        trunk = step(&trunk, Kind::Take, "taken", at);
        assert_eq!(trunk.former_ids().collect::<Vec<_>>(), ["a"], "{at}");
    }
    // One branch renames it once more; the other continues for longer.
    let one = step(&trunk, Kind::Rename, "renamed from b", 110);
    let mut other = trunk.clone();
    for at in 111..116 {
        other = step(&other, Kind::Take, "taken", at);
    }
    for (a, b) in [(&one, &other), (&other, &one)] {
        let joined = join(&workflow, Some(&trunk), a, b).expect("joined");
        assert_eq!(joined.former_ids().collect::<Vec<_>>(), ["a", "b"]);
        let chosen = choose(&workflow, a, b, "this one", &stamp(200)).expect("chosen");
        assert_eq!(chosen.former_ids().collect::<Vec<_>>(), ["a", "b"]);
    }
}

//! Steps that are replayed: what the rules yield today, and what they yielded in earlier versions.

use super::world::{World, compiled};
use orch_base::Digest;
use orch_core::decide::{
    HistoryEntry, Kind, Original, Recorded, Standing, State, Transition, Verdict, adopt, apply,
    confirm, create, difference, initial_state, override_to, refute, reopen, replay, rollback,
};
use serde_json::json;
use std::sync::Arc;

const MACHINE: &str = r#"
```toml orch
[artifact.plan]
path = "plan.json"
[artifact.verdict]
path = "verdict.json"
[phase.planning]
produces = ["plan"]
[phase.review]
needs = ["plan"]
produces = ["verdict"]
attempts = 1
[phase.done]
terminal = true
[[rule]]
id = "planned"
from = "planning"
when = "plan.ready"
to = "review"
because = "there is a plan"
[[rule]]
id = "refused"
from = "review"
when = "verdict.ready && !verdict.data.ok"
to = "planning"
because = "the plan is refused"
[[rule]]
id = "accepted"
from = "review"
when = "verdict.ready"
to = "done"
because = "the plan is accepted"
```
"#;

/// A step forward beyond the attempts of a phase, as it was recorded before they limited the way forward.
#[test]
fn a_step_forward_that_attempts_hold_back_is_in_doubt() {
    let mut world = World::new(Arc::new(compiled("machine", MACHINE)));
    world.write("plan.json", r#"{"n": 1}"#);
    world.write("verdict.json", r#"{"ok": false}"#);
    world.settle();
    world.write("plan.json", r#"{"n": 2}"#);
    let Verdict::Handover { held, .. } = world.decide().verdict else {
        panic!("{:#?}", world.decide())
    };
    let (before, facts, stamp) = (world.known(), world.facts(), world.stamp());
    let after = apply(&world.workflow, &before, &facts, &held, &stamp);
    let entry = after.history.last().expect("an entry").clone();
    let before = Recorded::Known(Box::new(before));
    let replayed =
        replay(&world.workflow, &before, &facts, &entry, Some(&after)).expect("in doubt");
    assert_eq!(replayed.standing, Standing::Unverifiable);
    assert!(
        replayed
            .doubt
            .is_some_and(|why| why.contains("limited the way forward")),
        "{replayed:?}"
    );
    // Another rule, another phase, or another state is forged as ever.
    let told = |entry: &HistoryEntry| {
        let mut told = after.clone();
        *told.history.last_mut().expect("an entry") = entry.clone().into();
        told
    };
    let by_other = HistoryEntry {
        rule: Some("accepted".to_owned()),
        ..HistoryEntry::clone(&entry)
    };
    let elsewhere = HistoryEntry {
        to: world.workflow.phases[2].id.clone(),
        ..HistoryEntry::clone(&entry)
    };
    for (entry, after) in [
        (by_other.clone(), told(&by_other)),
        (elsewhere.clone(), told(&elsewhere)),
        (
            HistoryEntry::clone(&entry),
            State {
                title: Some("another".to_owned()),
                ..after.clone()
            },
        ),
    ] {
        assert!(
            replay(&world.workflow, &before, &facts, &entry, Some(&after)).is_err(),
            "{entry:?}"
        );
    }
    // So is a step of which the state after it is not known.
    for (entry, is_right) in [
        (HistoryEntry::clone(&entry), true),
        (by_other, false),
        (elsewhere, false),
    ] {
        assert_eq!(
            replay(&world.workflow, &before, &facts, &entry, None).is_ok(),
            is_right,
            "{entry:?}"
        );
    }
}

#[test]
fn only_a_person_adds_to_the_reason_of_a_rule_and_no_one_replaces_it() {
    let because = "the plan is accepted";
    for (by, reason, is_right) in [
        ("", because, true),
        ("", "the plan is accepted: it is fine", false),
        ("", "it is fine", false),
        ("by = \"human\"", because, true),
        ("by = \"human\"", "the plan is accepted: it is fine", true),
        ("by = \"human\"", "it is fine", false),
    ] {
        let rule = format!("to = \"done\"\n{by}");
        let mut world = World::new(Arc::new(compiled(
            "machine",
            &MACHINE.replace("to = \"done\"", &rule),
        )));
        world.write("plan.json", r#"{"n": 1}"#);
        world.settle();
        world.write("verdict.json", r#"{"ok": true}"#);
        let Verdict::Transition(due) = world.decide().verdict else {
            panic!("{:#?}", world.decide())
        };
        let told = Transition {
            reason: reason.to_owned(),
            ..*due
        };
        let (before, facts, stamp) = (world.known(), world.facts(), world.stamp());
        let after = apply(&world.workflow, &before, &facts, &told, &stamp);
        let entry = after.history.last().expect("an entry").clone();
        let before = Recorded::Known(Box::new(before));
        let replayed = replay(&world.workflow, &before, &facts, &entry, Some(&after));
        assert_eq!(replayed.is_ok(), is_right, "{by} {reason}: {replayed:?}");
    }
}

#[test]
fn a_step_back_is_proven_by_its_rule_unless_attempts_hold_it_back() {
    for (attempts, is_proven) in [(2, true), (1, false)] {
        let text = MACHINE.replace(
            "[phase.planning]",
            &format!("[phase.planning]\nattempts = {attempts}"),
        );
        let mut world = World::new(Arc::new(compiled("machine", &text)));
        world.write("plan.json", r#"{"n": 1}"#);
        world.settle();
        world.write("verdict.json", r#"{"ok": false}"#);
        let due = match world.decide().verdict {
            Verdict::Transition(due) | Verdict::Handover { held: due, .. } => due,
            other => panic!("{other:?}"),
        };
        let (before, facts, stamp) = (world.known(), world.facts(), world.stamp());
        let after = apply(&world.workflow, &before, &facts, &due, &stamp);
        let entry = after.history.last().expect("an entry").clone();
        assert_eq!(entry.kind, Kind::Regress);
        let before = Recorded::Known(Box::new(before));
        let replayed = replay(&world.workflow, &before, &facts, &entry, Some(&after));
        let standing = replayed.ok().map(|replayed| replayed.standing);
        assert_eq!(
            standing,
            is_proven.then_some(Standing::Proven),
            "{attempts}"
        );
    }
}

/// A task in the review, its plan written, and a step that a person orders there.
fn ordered(order: &str) -> (World, State, State) {
    let mut world = World::new(Arc::new(compiled("machine", MACHINE)));
    world.write("plan.json", r#"{"n": 1}"#);
    world.settle();
    world.write("verdict.json", r#"{"ok": true}"#);
    if order == "reopen" || order == "confirm" {
        world.settle();
    }
    if order == "confirm" {
        let back = reopen(
            &world.workflow,
            &world.known(),
            &world.facts(),
            Some("planning"),
            "again",
        );
        world.apply(&back.expect("an order"));
    }
    let (workflow, before, facts) = (world.workflow.clone(), world.known(), world.facts());
    let transition = match order {
        "override" => override_to(&workflow, &before, &facts, Some("done"), "it is late"),
        "rollback" => rollback(&workflow, &before, &facts, Some("planning"), "it is late"),
        "reopen" => reopen(&workflow, &before, &facts, Some("review"), "it is late"),
        "confirm" => confirm(&workflow, &before, &facts, "plan", "it is late"),
        other => panic!("{other}"),
    };
    world.apply(&transition.expect("an order"));
    let after = world.known();
    (world, before, after)
}

#[test]
fn an_order_is_replayed_as_what_it_was_and_not_as_another() {
    for (order, kind, standing) in [
        ("override", Kind::Override, Standing::Overridden),
        ("rollback", Kind::Rollback, Standing::Overridden),
        ("reopen", Kind::Reopen, Standing::Overridden),
        ("confirm", Kind::Confirm, Standing::Claimed),
    ] {
        let (world, before, after) = ordered(order);
        let (before, facts) = (Recorded::Known(Box::new(before)), world.facts());
        let entry = HistoryEntry::clone(after.history.last().expect("an entry"));
        assert_eq!(entry.kind, kind);
        let replayed =
            replay(&world.workflow, &before, &facts, &entry, Some(&after)).expect("it follows");
        assert_eq!(
            (replayed.standing, replayed.state, replayed.doubt),
            (standing, after.clone(), None)
        );
        assert_eq!(replayed.lost, Vec::<String>::new(), "{order}");
        assert_eq!(
            refute(&world.workflow, &before, &facts, &entry, &after),
            None
        );
        for other in Kind::ALL {
            let told = HistoryEntry {
                kind: other,
                ..entry.clone()
            };
            let mut state = after.clone();
            *state.history.last_mut().expect("an entry") = told.clone().into();
            let replayed = replay(&world.workflow, &before, &facts, &told, Some(&state));
            // An override may lead back, too.
            let is_same = other == kind || (kind, other) == (Kind::Rollback, Kind::Override);
            assert_eq!(
                replayed.is_ok(),
                is_same,
                "{order} as {other:?}: {replayed:?}"
            );
            let says = match other {
                Kind::Merge => "no branches were joined here",
                Kind::Confirm if !is_same => "the record does not say what was confirmed",
                _ => continue,
            };
            assert_eq!(
                replayed.err().map(|why| why.message).as_deref(),
                Some(says),
                "{order}"
            );
        }
        let silent = HistoryEntry {
            reason: " ".to_owned(),
            ..entry.clone()
        };
        assert!(
            replay(&world.workflow, &before, &facts, &silent, None).is_err(),
            "{order} without a reason"
        );
        let unnamed = HistoryEntry {
            confirmed: None,
            ..entry.clone()
        };
        let told = replay(&world.workflow, &before, &facts, &unnamed, None);
        assert_eq!(told.is_err(), order == "confirm", "{told:?}");
        // Whoever lost evidence of an earlier phase is told so.
        let mut gone = world.clone();
        gone.files.remove("plan.json");
        let told = replay(&gone.workflow, &before, &gone.facts(), &entry, None);
        let lost = told.map(|replayed| replayed.lost).unwrap_or_default();
        let is_in_review = matches!(order, "override" | "rollback");
        assert_eq!(lost == ["plan.json"], is_in_review, "{order}: {lost:?}");
    }
}

#[test]
fn the_first_difference_is_named_with_what_should_be_there() {
    let long = "x".repeat(70);
    for (yielded, recorded, told) in [
        (json!({"a": 1}), json!({"a": 1}), None),
        (
            json!({"a": 1}),
            json!({"a": 2}),
            Some("/a should be 1, but is 2".to_owned()),
        ),
        (
            json!({"a": 1}),
            json!({"a": 1, "b": 2}),
            Some("/b should be null, but is 2".to_owned()),
        ),
        (
            json!({"a": 1}),
            json!({}),
            Some("/a should be 1, but is null".to_owned()),
        ),
        (
            json!([1, 2]),
            json!([1, 3]),
            Some("/1 should be 2, but is 3".to_owned()),
        ),
        (
            json!([1]),
            json!([1, 3]),
            Some(" should be [1], but is [1,3]".to_owned()),
        ),
        (
            json!([1, 3]),
            json!([1]),
            Some(" should be [1,3], but is [1]".to_owned()),
        ),
        (json!([1, 3]), json!([1, 3]), None),
        (
            json!({"a/b": [{"c": 1}]}),
            json!({"a/b": [{"c": "1"}]}),
            Some("/a~1b/0/c should be 1, but is \"1\"".to_owned()),
        ),
        (
            json!(long),
            json!(1),
            Some(format!(" should be \"{}…, but is 1", "x".repeat(59))),
        ),
    ] {
        assert_eq!(difference(&yielded, &recorded, ""), told);
    }
}

/// What the files were is not known, but the phases of a rule, its outcome, and what it reads of the state are.
#[test]
fn a_step_is_refuted_by_what_no_file_could_change() {
    let text = MACHINE
        .replace(
            "[phase.planning]",
            "[state.defaults]\nn = 0\n[phase.planning]",
        )
        .replace(
            "when = \"plan.ready\"",
            "when = \"state.n < 5 && plan.ready\"",
        );
    let world = World::new(Arc::new(compiled("machine", &text)));
    let mut planned = world.clone();
    planned.write("plan.json", "{}");
    planned.settle();
    let after = planned.known();
    let entry = HistoryEntry::clone(after.history.last().expect("a step"));
    let phase = |at: usize| world.workflow.phases[at].id.clone();
    let rule = |name: &str| Some(name.to_owned());
    let many = {
        let mut state = world.known();
        state.extra.insert("n".to_owned(), json!(7));
        Recorded::Known(Box::new(state))
    };
    let known = || Recorded::Known(Box::new(world.known()));
    for (before, entry, says) in [
        (known(), entry.clone(), None),
        (
            known(),
            HistoryEntry {
                rule: rule("nobody"),
                ..entry.clone()
            },
            Some("no rule `nobody` leads out of `planning`"),
        ),
        (
            known(),
            HistoryEntry {
                rule: rule("accepted"),
                ..entry.clone()
            },
            Some("no rule `accepted` leads out of `planning`"),
        ),
        (
            known(),
            HistoryEntry {
                to: phase(2),
                ..entry.clone()
            },
            Some("rule `planned` does not lead to `done`"),
        ),
        (
            known(),
            HistoryEntry {
                kind: Kind::Regress,
                ..entry.clone()
            },
            Some("rule `planned` makes the step `advance`, but the record says `regress`"),
        ),
        (
            many,
            entry.clone(),
            Some("rule `planned` cannot have held, whatever the files were: state.n < 5"),
        ),
        // Nothing is known of a step without a rule, or of a task without a state.
        (
            known(),
            HistoryEntry {
                rule: None,
                ..entry.clone()
            },
            None,
        ),
        (
            Recorded::New,
            HistoryEntry {
                rule: rule("nobody"),
                ..entry.clone()
            },
            None,
        ),
        (
            known(),
            HistoryEntry {
                kind: Kind::Override,
                rule: rule("nobody"),
                ..entry.clone()
            },
            None,
        ),
    ] {
        // Without the files, and with them.
        for facts in [world.facts(), planned.facts()] {
            let told = refute(&world.workflow, &before, &facts, &entry, &after);
            assert_eq!(
                told.map(|disproof| disproof.message).as_deref(),
                says,
                "{entry:?}"
            );
        }
    }
    // A rule that leads back makes a regress, also to the phase itself.
    let reviewed = Recorded::Known(Box::new(after.clone()));
    let back = HistoryEntry {
        rule: rule("refused"),
        to: phase(0),
        kind: Kind::Regress,
        ..entry
    };
    assert_eq!(
        refute(&world.workflow, &reviewed, &world.facts(), &back, &after),
        None
    );
    let forth = HistoryEntry {
        kind: Kind::Advance,
        ..back
    };
    assert!(refute(&world.workflow, &reviewed, &world.facts(), &forth, &after).is_some());
}

#[test]
fn a_task_is_created_once_and_what_it_took_over_is_in_doubt() {
    let mut world = World::new(Arc::new(compiled("machine", MACHINE)));
    let titled = State {
        title: Some("A title".to_owned()),
        ..initial_state(&world.workflow)
    };
    let (facts, stamp) = (world.facts(), world.stamp());
    let made = apply(
        &world.workflow,
        &titled,
        &facts,
        &create(&world.workflow, "new"),
        &stamp,
    );
    let entry = HistoryEntry::clone(made.history.last().expect("an entry"));
    let replayed = |before: &Recorded, entry: &HistoryEntry, after: &State| {
        replay(&world.workflow, before, &facts, entry, Some(after))
    };
    let told = replayed(&Recorded::New, &entry, &made).expect("created, with a title");
    assert_eq!((told.standing, told.doubt), (Standing::Proven, None));
    assert!(
        replayed(&Recorded::Known(Box::new(made.clone())), &entry, &made).is_err(),
        "it was there"
    );
    // A state of another tool that nobody committed: it may have said so.
    let foreign = State {
        phase: Some("review".to_owned()),
        foreign: true,
        ..titled
    };
    let adopted = adopt(&world.workflow, &foreign, "adopted");
    let taken = apply(&world.workflow, &foreign, &facts, &adopted, &stamp);
    let entry = HistoryEntry::clone(taken.history.last().expect("an entry"));
    let told = replayed(&Recorded::New, &entry, &taken).expect("in doubt");
    assert_eq!(told.standing, Standing::Unverifiable);
    assert!(told.doubt.is_some_and(|why| why.contains("took over")));
    let known = Recorded::Known(Box::new(foreign.clone()));
    assert_eq!(
        replayed(&known, &entry, &taken).expect("adopted").standing,
        Standing::Proven
    );
    let elsewhere = HistoryEntry {
        to: world.workflow.phases[2].id.clone(),
        ..entry.clone()
    };
    assert!(
        replayed(&known, &elsewhere, &taken).is_err(),
        "adopting never moves a task"
    );
    // Whoever was there before is not taken over.
    assert!(replayed(&Recorded::Lost, &entry, &taken).is_err());
    // A file that was kept is evidence of the step; earlier versions named only one that a map reads.
    let digest = Digest::of_blob(b"state");
    for (is_mapped, named, is_right) in [
        (true, true, true),
        (true, false, false),
        (false, true, true),
        (false, false, true),
    ] {
        let kept = Original {
            digest,
            left_out: vec!["/x".to_owned()],
            is_mapped,
        };
        let foreign = State {
            original: Some(Box::new(kept)),
            ..foreign.clone()
        };
        let without = State {
            original: None,
            ..foreign.clone()
        };
        let adopted = adopt(
            &world.workflow,
            if named { &foreign } else { &without },
            "adopted",
        );
        let taken = apply(&world.workflow, &foreign, &facts, &adopted, &stamp);
        let entry = HistoryEntry::clone(taken.history.last().expect("an entry"));
        assert_eq!(entry.evidence.len(), usize::from(named));
        let told = replayed(&Recorded::Known(Box::new(foreign)), &entry, &taken);
        assert_eq!(told.is_ok(), is_right, "{is_mapped} {named}: {told:?}");
    }
}

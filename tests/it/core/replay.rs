//! Steps that are replayed: what the rules yield today, and what they yielded in earlier versions.

use super::world::{World, compiled};
use orch::decide::{HistoryEntry, Recorded, Standing, State, Transition, Verdict, apply, replay};
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
    let Verdict::Handover { held, .. } = world.decide().verdict else { panic!("{:#?}", world.decide()) };
    let (before, facts, stamp) = (world.known(), world.facts(), world.stamp());
    let after = apply(&world.workflow, &before, &facts, &held, &stamp);
    let entry = after.history.last().expect("an entry").clone();
    let before = Recorded::Known(Box::new(before));
    let replayed = replay(&world.workflow, &before, &facts, &entry, Some(&after)).expect("in doubt");
    assert_eq!(replayed.standing, Standing::Unverifiable);
    assert!(replayed.doubt.is_some_and(|why| why.contains("limited the way forward")), "{replayed:?}");
    // Another rule, another phase, or another state is forged as ever.
    let told = |entry: &HistoryEntry| {
        let mut told = after.clone();
        *told.history.last_mut().expect("an entry") = entry.clone().into();
        told
    };
    let by_other = HistoryEntry { rule: Some("accepted".to_owned()), ..HistoryEntry::clone(&entry) };
    let elsewhere = HistoryEntry { to: world.workflow.phases[2].id.clone(), ..HistoryEntry::clone(&entry) };
    for (entry, after) in [
        (by_other.clone(), told(&by_other)),
        (elsewhere.clone(), told(&elsewhere)),
        (HistoryEntry::clone(&entry), State { title: Some("another".to_owned()), ..after.clone() }),
    ] {
        assert!(replay(&world.workflow, &before, &facts, &entry, Some(&after)).is_err(), "{entry:?}");
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
        let mut world = World::new(Arc::new(compiled("machine", &MACHINE.replace("to = \"done\"", &rule))));
        world.write("plan.json", r#"{"n": 1}"#);
        world.settle();
        world.write("verdict.json", r#"{"ok": true}"#);
        let Verdict::Transition(due) = world.decide().verdict else { panic!("{:#?}", world.decide()) };
        let told = Transition { reason: reason.to_owned(), ..*due };
        let (before, facts, stamp) = (world.known(), world.facts(), world.stamp());
        let after = apply(&world.workflow, &before, &facts, &told, &stamp);
        let entry = after.history.last().expect("an entry").clone();
        let before = Recorded::Known(Box::new(before));
        let replayed = replay(&world.workflow, &before, &facts, &entry, Some(&after));
        assert_eq!(replayed.is_ok(), is_right, "{by} {reason}: {replayed:?}");
    }
}

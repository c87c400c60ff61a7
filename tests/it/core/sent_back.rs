//! What a task that was sent back is told: by whom, and which objections still stand.

use super::world::{World, compiled};
use orch_base::PhaseId;
use orch_core::decide::{Detail, Holder, Kind, SendBack, Transition, override_to, rollback};
use serde_json::{Value, json};
use std::sync::Arc;

const REVIEWED: &str = r#"
```toml orch
[artifact.plan]
path = "plan.json"
[artifact.plan.facts]
issues = "data.issues"
[artifact.review]
path = "review/*.json"
[artifact.review.facts]
issues = "all.map(one, one.data.issues)"
[artifact.measures]
path = "measures.json"
[artifact.measures.facts]
issues = "data.issues"
[artifact.style]
path = "style.json"
[phase.write]
reads = ["style", "measures"]
produces = ["plan"]
[phase.check]
needs = ["plan"]
produces = ["review", "measures"]
[phase.ship]
[phase.end]
terminal = true
[[rule]]
id = "written"
from = "write"
when = "plan.ready"
to = "check"
because = "it is written"
[[rule]]
id = "refused"
from = "check"
when = "review.ready && measures.ready && review.count > 0"
to = "write"
because = "it is refused"
[[rule]]
id = "passed"
from = "check"
when = "attempt > 1000"
to = "ship"
because = "it is good"
[[rule]]
id = "shipped"
from = "ship"
when = "attempt > 1000"
to = "end"
because = "it is out"
```
"#;

/// A task whose plan two reviews and the measures refused with these issues.
fn refused(one: &Value, another: &Value, measures: &Value) -> World {
    let mut world = World::new(Arc::new(compiled("reviewed", REVIEWED)));
    for (path, issues) in [
        ("plan.json", &json!(["a doubt of the plan"])),
        ("review/a.json", one),
        ("review/b.json", another),
        ("measures.json", measures),
    ] {
        world.write(path, json!({"issues": issues, "n": path}).to_string());
        world.settle();
    }
    world.settle();
    world
}

fn told(world: &World) -> Option<SendBack> {
    world.decide().sent_back
}

/// The artifact, the file and the place of each issue that is quoted.
fn quoted(back: &SendBack) -> Vec<(&str, &str, Option<&str>)> {
    let places = back.issues.iter();
    places
        .map(|one| {
            (
                one.artifact.as_str(),
                one.path.as_str(),
                one.pointer.as_deref(),
            )
        })
        .collect()
}

#[test]
fn each_objection_of_a_verdict_is_quoted_with_its_place_until_the_file_is_another() {
    let mut world = World::new(Arc::new(compiled("reviewed", REVIEWED)));
    assert_eq!(told(&world), None);
    world.write("plan.json", r#"{"issues": ["a doubt of the plan"]}"#);
    world.settle();
    assert_eq!(told(&world), None, "it came forward");
    world.write("review/a.json", r#"{"issues": ["x", "y", "x"]}"#);
    world.write("review/b.json", r#"{"issues": ["y", {"of": "b"}]}"#);
    world.write("measures.json", r#"{"issues": ["slow"]}"#);
    world.settle();
    let back = told(&world).expect("it was sent back");
    assert_eq!(
        (back.from.as_str(), back.rule.as_deref()),
        ("check", Some("refused"))
    );
    assert_eq!(back.reason, "it is refused");
    // What the plan says of itself is no objection to it: the rule did not read the plan.
    let names: Vec<&str> = back.verdicts.iter().map(|name| name.as_str()).collect();
    assert_eq!(names, ["review", "measures"]);
    let places = [
        ("review", "review/a.json", Some("/issues/0")),
        ("review", "review/a.json", Some("/issues/1")),
        ("review", "review/a.json", Some("/issues/2")),
        ("review", "review/b.json", Some("/issues/0")),
        ("review", "review/b.json", Some("/issues/1")),
        ("measures", "measures.json", Some("/issues/0")),
    ];
    assert_eq!((quoted(&back), back.omitted), (places.to_vec(), 0));
    // A verdict that was written again is not the one that sent it back.
    world.write("measures.json", r#"{"issues": ["slow", "large"]}"#);
    let back = told(&world).expect("it was sent back");
    assert_eq!((quoted(&back), back.omitted), (places[..5].to_vec(), 0));
    assert_eq!(back.verdicts.len(), 1);
    // Nor is a file with another verdict's bytes.
    let bytes = world.files["review/b.json"].text.clone();
    world.write("measures.json", bytes);
    assert_eq!(told(&world).expect("it was sent back").verdicts.len(), 1);
}

/// A run may take many turns until something is better.
#[test]
fn what_sent_a_task_back_is_told_however_much_was_recorded_since() {
    let mut world = World::new(Arc::new(compiled("reviewed", REVIEWED)));
    world.write("plan.json", r#"{"issues": []}"#);
    world.settle();
    world.write("review/a.json", r#"{"issues": ["x"]}"#);
    world.write("measures.json", r#"{"issues": ["slow"]}"#);
    world.settle();
    let back = told(&world).expect("it was sent back");
    assert_eq!(quoted(&back).len(), 2);
    let phase = PhaseId::new(world.known().phase.expect("a phase")).expect("valid");
    for generation in 1..6 {
        let detail = Detail::Take(Holder {
            generation,
            owner: "Ann".to_owned(),
        });
        let step = Transition::new(Some(phase.clone()), phase.clone(), Kind::Take, "taken");
        world.apply(&Transition {
            detail: Some(Box::new(detail)),
            ..step
        });
        assert_eq!(told(&world).as_ref(), Some(&back), "after {generation}");
    }
}

#[test]
fn ten_objections_are_quoted_and_the_others_counted() {
    for (many, omitted) in [(0, 0), (8, 0), (9, 1), (12, 4)] {
        let issues: Vec<String> = (0..many).map(|n| format!("issue {n}")).collect();
        let world = refused(&json!(issues), &json!(["one"]), &json!(["slow"]));
        let back = told(&world).expect("it was sent back");
        assert_eq!(
            (back.issues.len(), back.omitted),
            ((many + 2).min(10), omitted),
            "{many}"
        );
    }
}

#[test]
fn whoever_works_is_given_what_the_phase_needs_and_reads_and_what_sent_it_back() {
    let inputs = |world: &World| -> Vec<String> {
        let inputs = world.decide().inputs;
        inputs
            .into_iter()
            .flat_map(|input| input.files)
            .map(|(path, _)| path)
            .collect()
    };
    let mut world = refused(&json!(["x"]), &json!(["y"]), &json!(["slow"]));
    world.write("style.json", "{}");
    assert_eq!(
        inputs(&world),
        [
            "style.json",
            "measures.json",
            "review/a.json",
            "review/b.json"
        ]
    );
    world.write("plan.json", r#"{"n": 2}"#);
    world.settle();
    assert_eq!(inputs(&world), ["plan.json"]);
}

#[test]
fn only_a_step_back_is_a_send_back() {
    let mut world = World::new(Arc::new(compiled("reviewed", REVIEWED)));
    world.write("plan.json", "{}");
    world.settle();
    // Where a person moves the task from `check`, and whether that sends it back.
    for (to, is_back) in [("ship", false), ("check", true), ("write", true)] {
        let mut world = world.clone();
        let order = override_to(
            &world.workflow,
            &world.known(),
            &world.facts(),
            Some(to),
            "so it is",
        )
        .expect("an order");
        world.apply(&order);
        let back = told(&world).map(|back| (back.from.to_string(), back.rule, back.reason));
        assert_eq!(
            back,
            is_back.then(|| ("check".to_owned(), None, "so it is".to_owned())),
            "{to}"
        );
    }
    let order = rollback(
        &world.workflow,
        &world.known(),
        &world.facts(),
        Some("write"),
        "again",
    );
    world.apply(&order.expect("an order"));
    assert_eq!(
        told(&world).map(|back| back.reason).as_deref(),
        Some("again")
    );
    // On its way on it is sent back no more.
    world.write("plan.json", r#"{"n": 2}"#);
    world.settle();
    assert_eq!(
        (world.known().phase.as_deref(), told(&world)),
        (Some("check"), None)
    );
}

#[test]
fn what_a_phase_was_left_with_is_used_up_and_what_was_written_since_counts() {
    let mut world = World::new(Arc::new(compiled("reviewed", REVIEWED)));
    world.write("plan.json", json!({"n": 1}).to_string());
    world.settle();
    let left_with = world.digest("plan").expect("a plan");
    world.write("plan.json", json!({"n": 2}).to_string());
    let newer = world.digest("plan").expect("a plan");
    // The review is of the newer one. What the phase was left with is used up all the same.
    let of = json!({"plan": newer.to_string()});
    let refused = json!({"issues": ["no"], "of": of}).to_string();
    world.write("review/a.json", refused);
    world.write("measures.json", json!({"issues": []}).to_string());
    world.settle();
    let state = world.known();
    let used_up: Vec<_> = state.actors["write"].spent.values().flatten().collect();
    assert_eq!(used_up, [&left_with]);
    // The newer one counts, as a fix that is already written does, and waits for another review.
    assert_eq!(state.phase.as_deref(), Some("check"));
    let check = PhaseId::new("check").expect("a phase");
    assert_eq!(state.attempt(&check), 2);
    assert_eq!(world.decide().transition(), None);
}

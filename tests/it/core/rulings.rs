//! What a person decides where a person decides: the file that is written, and where that leads.

use super::world::{World, shipped};
use orch::base::{Code, Timestamp};
use orch::decide::{ActorKind, By, Ruled, Ruling, RulingOrder, Stamp, rule_on};
use serde_json::{Value, json};
use std::sync::Arc;

/// A task of the lifecycle that ships, with its tests passed, before a person accepts it.
fn tested() -> World {
    let mut world = World::new(Arc::new(shipped("global-state-machine")));
    world.reach("accept");
    world
}

fn stamp() -> Stamp {
    let by = By { kind: ActorKind::Human, name: "Bea".to_owned() };
    Stamp::new(Timestamp::parse("2026-11-21T04:50:00Z").expect("a time"), by)
}

fn ruled(
    world: &World,
    ruling: Ruling,
    to: Option<&str>,
    reason: Option<&str>,
) -> Result<Ruled, orch::base::Error> {
    let order = RulingOrder { ruling, to, reason };
    rule_on(&world.workflow, &world.known(), &world.facts(), order, &stamp())
}

/// The members of a drafted decision without what it was made on.
fn drafted(ruled: &Ruled) -> Option<Value> {
    let draft = ruled.draft.as_ref()?;
    let mut value: Value = serde_json::from_str(&draft.text).expect("JSON");
    let members = value.as_object_mut().expect("an object");
    let of = members.remove("of").expect("what was judged");
    assert!(of.as_object().is_some_and(|of| !of.is_empty() && of.values().all(Value::is_string)), "{of}");
    assert_eq!(members.remove("finished_at"), Some(json!("2026-11-21T04:50:00Z")));
    assert_eq!(members.remove("decider"), Some(json!("Bea")));
    Some(value)
}

#[test]
fn a_person_decides_by_a_file_that_is_drafted_where_none_decides() {
    let world = tested();
    // What is ordered, where it leads, and what the drafted file says.
    for (ruling, to, reason, expected) in [
        (Ruling::Approve, None, None, ("done", json!({"verdict": "accepted"}))),
        (Ruling::Approve, None, Some("fine"), ("done", json!({"verdict": "accepted", "reasons": ["fine"]}))),
        // An approval leads on, whatever else is named.
        (Ruling::Approve, Some("codegen"), None, ("done", json!({"verdict": "accepted"}))),
        (
            Ruling::Reject,
            None,
            Some("slow"),
            ("codegen", json!({"verdict": "needs_changes", "target": "codegen", "reasons": ["slow"]})),
        ),
        (
            Ruling::Reject,
            Some("planning"),
            Some("slow"),
            ("planning", json!({"verdict": "needs_changes", "target": "planning", "reasons": ["slow"]})),
        ),
        (
            Ruling::Reject,
            Some("revert"),
            Some("slow"),
            ("revert", json!({"verdict": "needs_changes", "target": "revert", "reasons": ["slow"]})),
        ),
    ] {
        let told = ruled(&world, ruling, to, reason).expect("decided");
        assert_eq!((told.transition.to.as_str(), drafted(&told)), (expected.0, Some(expected.1)), "{to:?}");
        assert!(told.transition.by_human);
        let draft = told.draft.expect("a draft");
        let files = draft.facts.artifacts.values().flatten().filter(|file| file.path == draft.path);
        assert_eq!(files.count(), 1, "the facts are those with the file");
        assert_eq!(
            world.facts().artifacts.values().flatten().filter(|file| file.path == draft.path).count(),
            0
        );
    }
    for (ruling, to, reason, code, says) in [
        (Ruling::Reject, Some("done"), Some("no"), Code::NothingToApply, "nothing to reject to `done`: "),
        (
            Ruling::Reject,
            Some("nowhere"),
            Some("no"),
            Code::NothingToApply,
            "nothing to reject to `nowhere`: ",
        ),
        (Ruling::Approve, None, Some(" "), Code::NoReason, "the reason is empty"),
    ] {
        let refused = ruled(&world, ruling, to, reason).expect_err("refused");
        assert_eq!(refused.code(), code);
        assert!(refused.message().starts_with(says), "{}", refused.message());
    }
}

#[test]
fn a_file_that_decides_already_is_taken_as_it_is() {
    for (file, ruling, to, expected) in [
        (r#"{"verdict": "accepted"}"#, Ruling::Approve, None, Some(("done", true))),
        (r#"{"verdict": "rejected", "target": "test"}"#, Ruling::Reject, None, Some(("test", true))),
        (r#"{"verdict": "rejected", "target": "test"}"#, Ruling::Reject, Some("test"), Some(("test", true))),
        // It decides otherwise, so another one is drafted in its place.
        (r#"{"verdict": "rejected", "target": "test"}"#, Ruling::Approve, None, Some(("done", false))),
        (
            r#"{"verdict": "rejected", "target": "test"}"#,
            Ruling::Reject,
            Some("planning"),
            Some(("planning", false)),
        ),
        (r#"{"verdict": "accepted"}"#, Ruling::Reject, None, Some(("codegen", false))),
        (r#"{"verdict": "accepted"}"#, Ruling::Reject, Some("done"), None),
        (r#"{"verdict": "deferred"}"#, Ruling::Approve, None, Some(("done", false))),
    ] {
        let mut world = tested();
        world.write("accept/decision.json", file);
        assert!(world.facts().artifacts.values().flatten().any(|fact| fact.path == "accept/decision.json"));
        let told = ruled(&world, ruling, to, Some("so it is")).ok();
        let found = told.as_ref().map(|told| (told.transition.to.as_str(), told.draft.is_none()));
        assert_eq!(found, expected, "{file} {ruling:?} {to:?}");
        let Some(told) = told else { continue };
        assert_eq!(told.transition.reason.ends_with(": so it is"), told.draft.is_none(), "{file}");
        if let Some(draft) = told.draft {
            assert_eq!(draft.path, "accept/decision.json");
            let there: Vec<_> =
                draft.facts.artifacts.values().flatten().filter(|fact| fact.path == draft.path).collect();
            assert_eq!(there.len(), 1, "it takes the place of the other");
        }
    }
}

#[test]
fn where_no_person_decides_there_is_nothing_to_approve() {
    let mut world = World::new(Arc::new(shipped("global-state-machine")));
    for (phase, is_due, says, hint) in [
        ("planning", false, "nothing to approve: ", "orch explain t-1"),
        ("planning", true, "nothing to approve: the due transition requires no person", "orch next t-1"),
    ] {
        world.reach(phase);
        if is_due {
            for expected in world.decide().expects {
                let text = super::world::passing(expected.artifact.as_str(), 0, &expected.of);
                world.write(&expected.path, text);
            }
            assert!(world.decide().transition().is_some());
        }
        let refused = ruled(&world, Ruling::Approve, None, None).expect_err("nothing waits for a person");
        assert_eq!(
            (refused.code(), refused.hint().as_deref()),
            (Code::NothingToApply, Some(hint)),
            "{}",
            refused.message()
        );
        assert!(refused.message().starts_with(says), "{}", refused.message());
    }
    let mut world = tested();
    world.write("accept/decision.json", r#"{"verdict": "accepted"}"#);
    world.approve();
    for ruling in [Ruling::Approve, Ruling::Reject] {
        assert!(ruled(&world, ruling, None, Some("why")).is_err(), "it is finished");
    }
    // A decision that would be in vain says why.
    let mut world = tested();
    let plan = world.files.keys().find(|path| path.contains("plan.")).expect("a plan").clone();
    world.files.remove(&plan);
    let refused = ruled(&world, Ruling::Approve, None, None).expect_err("the end lacks its evidence");
    assert!(refused.message().contains("plan"), "{}", refused.message());
}

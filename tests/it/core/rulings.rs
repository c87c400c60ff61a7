//! What a person decides where a person decides: the file that is written, and where that leads.

use super::world::{World, compiled, shipped};
use orch::base::{ArtifactName, Code, Digest, Timestamp};
use orch::decide::{ActorKind, By, Do, DutyKind, Ruled, Ruling, RulingOrder, Stamp, duty, rule_on};
use orch::workflow::{Owner, SchemaText};
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

const OWN: &str = r#"
```toml orch
[artifact.work]
path = "work.json"
[artifact.verdict]
path = ["verdict.json", "judging/verdict.json"]
[artifact.note]
path = "note.json"
[phase.working]
produces = ["work"]
[phase.judging]
OWNER
produces = ["verdict"]
may_produce = ["note"]
[phase.done]
terminal = true
[[rule]]
id = "worked"
from = "working"
when = "work.ready"
to = "judging"
because = "there is work"
[[rule]]
id = "noted"
from = "judging"
when = "note.ready"
BY
to = "done"
because = "a note says so"
[[rule]]
id = "again"
from = "judging"
when = "verdict.ready && verdict.data.word == 'again'"
BY
to = "judging"
because = "it is to be judged again"
[[rule]]
id = "back"
from = "judging"
when = "verdict.ready && verdict.data.word == 'back'"
BY
to = "working"
because = "it is not good"
[[rule]]
id = "good"
from = "judging"
when = "verdict.ready && verdict.data.word == 'good'"
BY
to = "done"
because = "it is good"
```
"#;

/// A task that is judged, where the schema of the verdict has examples with these words.
fn judging(owner: &str, by: &str, words: &[&str]) -> World {
    let mut workflow = compiled("own", &OWN.replace("OWNER", owner).replace("BY", by));
    for artifact in &mut workflow.artifacts {
        let schema = json!({
            "properties": {
                "word": {"enum": ["again", "back", "good"]},
                "why": {"type": "string", "x-orch-fill": "reason"},
                "all": {"type": "array", "x-orch-fill": "reason"},
                "other": {"type": "string", "x-orch-fill": "something"},
            },
            "examples": words.iter().map(|word| json!({"word": word})).collect::<Vec<_>>(),
        });
        let text = schema.to_string();
        let digest = Digest::of_blob(text.as_bytes());
        artifact.schema = Some(SchemaText::new("verdict".to_owned(), &text, digest));
    }
    let mut world = World::new(Arc::new(workflow));
    world.write("work.json", "{}");
    world.settle();
    assert_eq!(world.known().phase.as_deref(), Some("judging"));
    world
}

const OWNER: &str = "owner = \"human\"";
const BY: &str = "by = \"human\"";

#[test]
fn an_approval_leads_on_and_a_rejection_does_not_by_the_examples_of_the_schema() {
    for (words, ruling, to, expected) in [
        (&["again", "good"][..], Ruling::Approve, None, Some(("done", "good"))),
        (&["again", "good"], Ruling::Reject, None, Some(("judging", "again"))),
        (&["good", "back"], Ruling::Reject, None, Some(("working", "back"))),
        (&["good", "back"], Ruling::Reject, Some("judging"), Some(("judging", "again"))),
        (&["good", "back"], Ruling::Reject, Some("done"), None),
        // An approval is among the examples, whatever else is named.
        (&["back"], Ruling::Approve, None, None),
        (&["back"], Ruling::Approve, Some("done"), None),
        (&["back"], Ruling::Reject, Some("working"), Some(("working", "back"))),
    ] {
        let told = ruled(&judging(OWNER, BY, words), ruling, to, Some("so it is")).ok();
        let told = told.map(|told| {
            let draft = told.draft.expect("a draft");
            let value: Value = serde_json::from_str(&draft.text).expect("JSON");
            assert_eq!(draft.path, "verdict.json");
            (told.transition.to.to_string(), value)
        });
        let expected = expected
            .map(|(to, word)| (to.to_owned(), json!({"word": word, "why": "so it is", "all": ["so it is"]})));
        assert_eq!(told, expected, "{words:?} {ruling:?} {to:?}");
    }
}

#[test]
fn only_what_a_phase_of_a_person_must_produce_is_drafted() {
    let note = judging(OWNER, BY, &[]);
    assert!(
        ruled(&note, Ruling::Approve, None, None).is_err(),
        "a verdict has no example, a note is optional"
    );
    let agents = judging("", BY, &["good"]);
    assert!(ruled(&agents, Ruling::Approve, None, None).is_err(), "an agent writes the verdict");
    // What a person decides or owns, a person takes by the order; what is neither, nobody does.
    for (owner, by, is_taken) in [(OWNER, BY, true), (OWNER, "", true), ("", BY, true), ("", "", false)] {
        let mut world = judging(owner, by, &["good"]);
        world.write("verdict.json", r#"{"word": "good"}"#);
        let told = ruled(&world, Ruling::Approve, None, None).ok();
        let told = told.map(|told| (told.transition.to.to_string(), told.draft.is_some()));
        assert_eq!(told, is_taken.then(|| ("done".to_owned(), false)), "{owner} {by}");
    }
}

#[test]
fn a_draft_takes_the_place_of_the_file_that_is_there() {
    let mut world = judging(OWNER, BY, &["good"]);
    for (path, pattern) in [("verdict.json", 0), ("judging/verdict.json", 1)] {
        world.files.retain(|path, _| path == "work.json");
        world.write(path, r#"{"word": "back"}"#);
        let draft = ruled(&world, Ruling::Approve, None, None).expect("decided").draft.expect("a draft");
        let name = ArtifactName::new("verdict").expect("valid");
        let files: Vec<(&str, usize)> =
            draft.facts.artifacts[&name].iter().map(|file| (file.path.as_str(), file.pattern)).collect();
        assert_eq!((draft.path.as_str(), files), (path, vec![(path, pattern)]));
    }
}

#[test]
fn where_a_person_decides_by_a_command_the_person_decides_and_writes_nothing() {
    let wait = |world: &World| {
        let duty = duty(&world.workflow, &world.decide(), None);
        assert_eq!((duty.kind, duty.owner), (DutyKind::Wait, Owner::Human));
        duty.task
    };
    assert_eq!(wait(&tested()), Do::Decide);
    assert_eq!(wait(&judging(OWNER, BY, &["good"])), Do::Decide);
    // Without an example there is no draft, so the person writes the file.
    assert_eq!(wait(&judging(OWNER, BY, &[])), Do::Write);
}

//! What a person decides where a person decides: the file that is written, and where that leads.

use super::world::{World, compiled, shipped};
use orch_base::{ArtifactName, Code, Digest, Timestamp};
use orch_core::decide::{
    ActorKind, ApprovalPlan, By, Do, DutyKind, Kind, Objection, Ruled, Ruling, RulingOrder, Stamp,
    approve, duty, reopen, rule_on,
};
use orch_core::workflow::{Owner, SchemaText};
use serde_json::{Value, json};
use std::sync::Arc;

/// A task of the lifecycle that ships, with its tests passed, before a person accepts it.
fn tested() -> World {
    let mut world = World::new(Arc::new(shipped("global-state-machine")));
    world.reach("accept");
    world
}

fn stamp() -> Stamp {
    let by = By {
        kind: ActorKind::Human,
        name: "Bea".to_owned(),
    };
    Stamp::new(
        Timestamp::parse("2026-11-21T04:50:00Z").expect("a time"),
        by,
    )
}

fn ruled(
    world: &World,
    ruling: Ruling,
    to: Option<&str>,
    reason: Option<&str>,
) -> Result<Ruled, orch_base::Error> {
    let order = RulingOrder {
        ruling,
        to,
        reason,
        overrides: false,
        objections: &[],
    };
    rule_on(
        &world.workflow,
        &world.known(),
        &world.facts(),
        order,
        &stamp(),
    )
}

/// The members of a drafted decision without what it was made on.
fn drafted(ruled: &Ruled) -> Option<Value> {
    let draft = ruled.draft.as_ref()?;
    let mut value: Value = serde_json::from_str(&draft.text).expect("JSON");
    let members = value.as_object_mut().expect("an object");
    let of = members.remove("of").expect("what was judged");
    assert!(
        of.as_object()
            .is_some_and(|of| !of.is_empty() && of.values().all(Value::is_string)),
        "{of}"
    );
    assert_eq!(
        members.remove("finished_at"),
        Some(json!("2026-11-21T04:50:00Z"))
    );
    assert_eq!(members.remove("decider"), Some(json!("Bea")));
    Some(value)
}

#[test]
fn a_person_decides_by_a_file_that_is_drafted_where_none_decides() {
    let world = tested();
    // What is ordered, where it leads, and what the drafted file says.
    for (ruling, to, reason, expected) in [
        (
            Ruling::Approve,
            None,
            None,
            ("done", json!({"verdict": "accepted"})),
        ),
        (
            Ruling::Approve,
            None,
            Some("fine"),
            ("done", json!({"verdict": "accepted", "reasons": ["fine"]})),
        ),
        // An approval leads on, whatever else is named.
        (
            Ruling::Approve,
            Some("codegen"),
            None,
            ("done", json!({"verdict": "accepted"})),
        ),
        (
            Ruling::Reject,
            None,
            Some("slow"),
            (
                "codegen",
                json!({"verdict": "needs_changes", "target": "codegen", "reasons": ["slow"]}),
            ),
        ),
        (
            Ruling::Reject,
            Some("planning"),
            Some("slow"),
            (
                "planning",
                json!({"verdict": "needs_changes", "target": "planning", "reasons": ["slow"]}),
            ),
        ),
        (
            Ruling::Reject,
            Some("revert"),
            Some("slow"),
            (
                "revert",
                json!({"verdict": "needs_changes", "target": "revert", "reasons": ["slow"]}),
            ),
        ),
    ] {
        let told = ruled(&world, ruling, to, reason).expect("decided");
        assert_eq!(
            (told.transition.to.as_str(), drafted(&told)),
            (expected.0, Some(expected.1)),
            "{to:?}"
        );
        assert!(told.transition.by_human);
        let draft = told.draft.expect("a draft");
        let files = draft
            .facts
            .as_ref()
            .expect("facts")
            .artifacts
            .values()
            .flatten()
            .filter(|file| file.path == draft.path);
        assert_eq!(files.count(), 1, "the facts are those with the file");
        assert_eq!(
            world
                .facts()
                .artifacts
                .values()
                .flatten()
                .filter(|file| file.path == draft.path)
                .count(),
            0
        );
    }
    for (ruling, to, reason, code, says) in [
        (
            Ruling::Reject,
            Some("done"),
            Some("no"),
            Code::NothingToApply,
            "nothing to reject to `done`: ",
        ),
        (
            Ruling::Reject,
            Some("nowhere"),
            Some("no"),
            Code::NothingToApply,
            "nothing to reject to `nowhere`: ",
        ),
        (
            Ruling::Approve,
            None,
            Some(" "),
            Code::NoReason,
            "the reason is empty",
        ),
    ] {
        let refused = ruled(&world, ruling, to, reason).expect_err("refused");
        assert_eq!(refused.code(), code);
        assert!(refused.message().starts_with(says), "{}", refused.message());
    }
}

#[test]
fn an_approval_given_again_within_the_same_second_counts() {
    let mut world = tested();
    // Each of them was used up before the next was given, and all at one time.
    for second in 0..3 {
        let given = ruled(&world, Ruling::Approve, None, None).expect("approved");
        let draft = given.draft.expect("a draft");
        let value: Value = serde_json::from_str(&draft.text).expect("JSON");
        let expected = format!("2026-11-21T04:50:0{second}Z");
        assert_eq!(value["finished_at"], json!(expected));
        world.write(&draft.path, draft.text);
        let again = ruled(&world, Ruling::Approve, None, None).expect("approved");
        assert_eq!(again.draft, None, "it is taken as it lies there");
        assert_eq!(again.transition.to.as_str(), "done");
        world.apply(&again.transition);
        let order = reopen(
            &world.workflow,
            &world.known(),
            &world.facts(),
            Some("accept"),
            "look again",
        );
        world.apply(&order.expect("reopened"));
    }
}

/// Where an agent owns the phase, a person may give the verdict that it asks for, and the objections with it.
#[test]
fn a_person_may_give_the_verdict_of_any_phase_that_asks_for_one() {
    let objections = ["blocking: src/a.rs:12: It retries.", "note: Too long."]
        .map(|text| Objection::parse(text).expect("read"));
    let listed = json!([
        {"id": "I1", "severity": "blocking", "file": "src/a.rs", "line": 12, "message": "It retries."},
        {"id": "I2", "severity": "note", "message": "Too long."},
    ]);
    let why = json!(["no"]);
    let mut world = World::new(Arc::new(shipped("global-state-machine")));
    for (phase, ruling, to, objections, expected) in [
        (
            "plan_review",
            Ruling::Approve,
            None,
            &objections[1..],
            (
                "codegen",
                json!({"ok": true, "reasons": why, "issues": [
            {"id": "I1", "severity": "note", "message": "Too long."}]}),
            ),
        ),
        (
            "plan_review",
            Ruling::Approve,
            None,
            &[],
            ("codegen", json!({"ok": true, "reasons": why})),
        ),
        (
            "plan_review",
            Ruling::Reject,
            None,
            &objections,
            (
                "planning",
                json!({"ok": false, "reasons": why, "issues": listed}),
            ),
        ),
        (
            "review",
            Ruling::Reject,
            None,
            &[],
            (
                "codegen",
                json!({"ok": false, "target": "codegen", "reasons": why}),
            ),
        ),
        (
            "review",
            Ruling::Reject,
            Some("planning"),
            &[],
            (
                "planning",
                json!({"ok": false, "target": "planning", "reasons": why}),
            ),
        ),
        (
            "review",
            Ruling::Approve,
            None,
            &[],
            ("test", json!({"ok": true, "reasons": why})),
        ),
        // A decision has no list of objections, so they stand with the reasons.
        (
            "accept",
            Ruling::Reject,
            None,
            &objections[..1],
            (
                "codegen",
                json!({"verdict": "needs_changes", "target": "codegen",
            "reasons": ["no", "blocking: src/a.rs:12: It retries."]}),
            ),
        ),
    ] {
        if world.known().phase.as_deref() != Some(phase) {
            world.reach(phase);
        }
        let order = RulingOrder {
            ruling,
            to,
            reason: Some("no"),
            overrides: false,
            objections,
        };
        let told = rule_on(
            &world.workflow,
            &world.known(),
            &world.facts(),
            order,
            &stamp(),
        )
        .expect("decided");
        let draft: Value = serde_json::from_str(&told.draft.expect("a draft").text).expect("JSON");
        let name = draft.get("reviewer").or(draft.get("decider"));
        assert_eq!(name, Some(&json!("Bea")));
        let members = draft.as_object().expect("an object").iter();
        let members = members.filter(|(key, _)| {
            !["of", "finished_at", "reviewer", "decider"].contains(&key.as_str())
        });
        let value = Value::Object(
            members
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect(),
        );
        assert_eq!(
            (told.transition.to.as_str(), value),
            expected,
            "{phase} {ruling:?}"
        );
        assert!(draft["of"]["plan"].is_string(), "{draft}");
        let ids: Vec<&str> = world
            .decide()
            .options
            .iter()
            .map(|option| option.id)
            .collect();
        if phase != "accept" {
            assert_eq!(ids[..3], ["prompt", "approve", "reject"], "{phase}");
            assert_eq!(
                duty(&world.workflow, &world.decide(), None).owner,
                Owner::Agent,
                "{phase}"
            );
        }
    }
    // An approval that names what blocks would be none.
    let order = RulingOrder {
        ruling: Ruling::Approve,
        to: None,
        reason: None,
        overrides: false,
        objections: &objections,
    };
    let mut world = World::new(Arc::new(shipped("global-state-machine")));
    world.reach("review");
    let refused = rule_on(
        &world.workflow,
        &world.known(),
        &world.facts(),
        order,
        &stamp(),
    )
    .expect_err("refused");
    assert_eq!(
        refused.message(),
        "nothing to approve: a verdict with these objections does not move the task on"
    );
    // A plan, code or a report is nobody's verdict.
    for phase in ["planning", "codegen", "test"] {
        let mut world = World::new(Arc::new(shipped("global-state-machine")));
        if phase != "planning" {
            world.reach(phase);
        }
        for ruling in [Ruling::Approve, Ruling::Reject] {
            let refused =
                ruled(&world, ruling, None, Some("no")).expect_err("no verdict is asked for");
            assert_eq!(refused.code(), Code::NothingToApply, "{phase}");
        }
    }
}

/// What lies there is taken if it says so, and replaced if it says otherwise or nothing about the objections.
#[test]
fn the_verdict_of_an_agent_is_a_proposal_to_a_person() {
    for (file, ruling, to, is_taken) in [
        (r#"{"ok": true}"#, Ruling::Approve, "codegen", true),
        (r#"{"ok": true}"#, Ruling::Reject, "planning", false),
        (r#"{"ok": false}"#, Ruling::Approve, "codegen", false),
        (r#"{"ok": false}"#, Ruling::Reject, "planning", true),
        (r#"{"no": 1"#, Ruling::Approve, "codegen", false),
    ] {
        let mut world = World::new(Arc::new(shipped("global-state-machine")));
        world.reach("plan_review");
        world.write("review/plan/verdict.json", file);
        let told = ruled(&world, ruling, None, Some("so it is")).expect("decided");
        assert_eq!(
            (told.transition.to.as_str(), told.draft.is_none()),
            (to, is_taken),
            "{file} {ruling:?}"
        );
    }
    // A move that rests on something else is not the verdict's.
    let mut world = World::new(Arc::new(shipped("global-state-machine")));
    world.reach("review");
    let plan = world
        .files
        .keys()
        .find(|path| path.contains("plan."))
        .expect("a plan")
        .clone();
    world.write(
        &plan,
        r#"{"title": "Other", "what": "More.", "why": "So."}"#,
    );
    assert_eq!(
        world.decide().transition().map(|due| due.to.as_str()),
        Some("plan_review")
    );
    for ruling in [Ruling::Approve, Ruling::Reject] {
        let refused = ruled(&world, ruling, None, Some("no")).expect_err("the plan has changed");
        assert!(
            refused
                .message()
                .ends_with("the due transition requires no person"),
            "{}",
            refused.message()
        );
    }
}

/// Where the phase itself lacks what it needs, no decision leads anywhere, and a person goes back without one.
#[test]
fn a_rejection_without_the_needs_of_its_phase_is_the_order_back() {
    for (gone, back) in [("code/diff", "codegen"), ("planning/", "planning")] {
        let mut world = tested();
        let paths: Vec<String> = world
            .files
            .keys()
            .filter(|path| path.contains(gone))
            .cloned()
            .collect();
        assert!(!paths.is_empty(), "{gone}");
        paths.iter().for_each(|path| drop(world.files.remove(path)));
        let told = ruled(&world, Ruling::Reject, None, Some("no")).expect("the way back is open");
        let Ruled {
            transition, draft, ..
        } = told;
        assert_eq!(
            (transition.to.as_str(), transition.kind),
            (back, Kind::Rollback),
            "{gone}"
        );
        assert_eq!((transition.reason.as_str(), draft), ("no", None), "{gone}");
    }
}

/// Evidence that is gone closes the good end, and never the way back.
#[test]
fn a_rejection_finds_its_way_where_evidence_is_gone() {
    for (gone, to) in [
        ("review/plan/", "planning"),
        ("review/code/", "codegen"),
        ("eval/", "codegen"),
    ] {
        let mut world = tested();
        let paths: Vec<String> = world
            .files
            .keys()
            .filter(|path| path.contains(gone))
            .cloned()
            .collect();
        assert!(!paths.is_empty(), "{gone}");
        paths.iter().for_each(|path| drop(world.files.remove(path)));
        let told = ruled(&world, Ruling::Reject, None, Some("no")).expect("the way back is open");
        assert_eq!(told.transition.to.as_str(), to, "{gone}");
        let ids: Vec<&str> = world
            .decide()
            .options
            .iter()
            .map(|option| option.id)
            .collect();
        assert!(
            ids.contains(&"reject") && !ids.contains(&"approve"),
            "{gone} {ids:?}"
        );
        let refused =
            ruled(&world, Ruling::Approve, None, None).expect_err("the end lacks its evidence");
        assert!(
            refused.message().starts_with("nothing to approve: "),
            "{}",
            refused.message()
        );
        // A way that is named and closed says what closes it.
        if to == "planning" {
            let refused = ruled(&world, Ruling::Reject, Some("codegen"), Some("no"))
                .expect_err("it lacks a need");
            let says = "nothing to reject to `codegen`: the decision sends the task back to codegen, but the needs of \
                        `codegen` are not met: plan_review";
            assert!(refused.message().starts_with(says), "{}", refused.message());
            assert!(
                refused
                    .hint()
                    .is_some_and(|hint| hint.to_string().starts_with("orch rollback t-1 --to "))
            );
        }
    }
}

#[test]
fn a_file_that_decides_already_is_taken_as_it_is() {
    for (file, ruling, to, expected) in [
        (
            r#"{"verdict": "accepted"}"#,
            Ruling::Approve,
            None,
            Some(("done", true)),
        ),
        (
            r#"{"verdict": "rejected", "target": "test"}"#,
            Ruling::Reject,
            None,
            Some(("test", true)),
        ),
        (
            r#"{"verdict": "rejected", "target": "test"}"#,
            Ruling::Reject,
            Some("test"),
            Some(("test", true)),
        ),
        // It decides otherwise, so another one is drafted in its place.
        (
            r#"{"verdict": "rejected", "target": "test"}"#,
            Ruling::Approve,
            None,
            Some(("done", false)),
        ),
        (
            r#"{"verdict": "rejected", "target": "test"}"#,
            Ruling::Reject,
            Some("planning"),
            Some(("planning", false)),
        ),
        (
            r#"{"verdict": "accepted"}"#,
            Ruling::Reject,
            None,
            Some(("codegen", false)),
        ),
        (
            r#"{"verdict": "accepted"}"#,
            Ruling::Reject,
            Some("done"),
            None,
        ),
        (
            r#"{"verdict": "deferred"}"#,
            Ruling::Approve,
            None,
            Some(("done", false)),
        ),
    ] {
        let mut world = tested();
        world.write("accept/decision.json", file);
        assert!(
            world
                .facts()
                .artifacts
                .values()
                .flatten()
                .any(|fact| fact.path == "accept/decision.json")
        );
        let told = ruled(&world, ruling, to, Some("so it is")).ok();
        let found = told
            .as_ref()
            .map(|told| (told.transition.to.as_str(), told.draft.is_none()));
        assert_eq!(found, expected, "{file} {ruling:?} {to:?}");
        let Some(told) = told else { continue };
        assert_eq!(
            told.transition.reason.ends_with(": so it is"),
            told.draft.is_none(),
            "{file}"
        );
        if let Some(draft) = told.draft {
            assert_eq!(draft.path, "accept/decision.json");
            let there: Vec<_> = draft
                .facts
                .as_ref()
                .expect("facts")
                .artifacts
                .values()
                .flatten()
                .filter(|fact| fact.path == draft.path)
                .collect();
            assert_eq!(there.len(), 1, "it takes the place of the other");
        }
    }
}

#[test]
fn where_no_person_decides_there_is_nothing_to_approve() {
    let mut world = World::new(Arc::new(shipped("global-state-machine")));
    for (phase, is_due, says, hint) in [
        (
            "planning",
            false,
            "nothing to approve: ",
            "orch explain t-1",
        ),
        (
            "planning",
            true,
            "nothing to approve: the due transition requires no person",
            "orch next t-1",
        ),
    ] {
        world.reach(phase);
        if is_due {
            for expected in world.decide().expects {
                let text = super::world::passing(expected.artifact.as_str(), 0, &expected.of);
                world.write(&expected.path, text);
            }
            assert!(world.decide().transition().is_some());
        }
        let refused =
            ruled(&world, Ruling::Approve, None, None).expect_err("nothing waits for a person");
        assert_eq!(
            (
                refused.code(),
                refused.hint().map(ToString::to_string).as_deref()
            ),
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
        assert!(
            ruled(&world, ruling, None, Some("why")).is_err(),
            "it is finished"
        );
    }
    // A decision that would be in vain says why.
    let mut world = tested();
    let plan = world
        .files
        .keys()
        .find(|path| path.contains("plan."))
        .expect("a plan")
        .clone();
    world.files.remove(&plan);
    let refused =
        ruled(&world, Ruling::Approve, None, None).expect_err("the end lacks its evidence");
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
    judging_in("verdict.json", owner, by, words)
}

/// The same, where the verdict lies at this path.
fn judging_in(path: &str, owner: &str, by: &str, words: &[&str]) -> World {
    let text = OWN.replace("OWNER", owner).replace("BY", by);
    let mut workflow = compiled("own", &text.replace("verdict.json", path));
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
        (
            &["again", "good"][..],
            Ruling::Approve,
            None,
            Some(("done", "good")),
        ),
        (
            &["again", "good"],
            Ruling::Reject,
            None,
            Some(("judging", "again")),
        ),
        (
            &["good", "back"],
            Ruling::Reject,
            None,
            Some(("working", "back")),
        ),
        (
            &["good", "back"],
            Ruling::Reject,
            Some("judging"),
            Some(("judging", "again")),
        ),
        (&["good", "back"], Ruling::Reject, Some("done"), None),
        // An approval is among the examples, whatever else is named.
        (&["back"], Ruling::Approve, None, None),
        (&["back"], Ruling::Approve, Some("done"), None),
        (
            &["back"],
            Ruling::Reject,
            Some("working"),
            Some(("working", "back")),
        ),
    ] {
        let told = ruled(&judging(OWNER, BY, words), ruling, to, Some("so it is")).ok();
        let told = told.map(|told| {
            let draft = told.draft.expect("a draft");
            let value: Value = serde_json::from_str(&draft.text).expect("JSON");
            assert_eq!(draft.path, "verdict.json");
            (told.transition.to.to_string(), value)
        });
        let expected = expected.map(|(to, word)| {
            (
                to.to_owned(),
                json!({"word": word, "why": "so it is", "all": ["so it is"]}),
            )
        });
        assert_eq!(told, expected, "{words:?} {ruling:?} {to:?}");
    }
}

#[test]
fn a_rejection_that_no_example_shows_names_its_phase() {
    let world = judging(OWNER, BY, &["good"]);
    let refused = ruled(&world, Ruling::Reject, None, Some("no")).expect_err("which way?");
    assert!(
        refused
            .message()
            .contains("say to which phase: `judging` or `working`"),
        "{}",
        refused.message()
    );
    let hint = refused.hint().map(ToString::to_string);
    let command = "orch reject t-1 --to judging --reason WHY";
    assert_eq!(hint.as_deref(), Some(command));
    let options = world.decide().options;
    for to in ["judging", "working"] {
        let mut argvs = options.iter().map(|option| option.argv.join(" "));
        let offered = format!("orch reject t-1 --to {to} --reason WHY");
        assert!(argvs.any(|argv| argv == offered), "{options:?}");
        let told = ruled(&world, Ruling::Reject, Some(to), Some("no")).expect("decided");
        assert_eq!(told.transition.to.as_str(), to);
    }
}

#[test]
fn a_verdict_is_written_in_the_format_of_its_file_or_it_is_said_why_not() {
    for (path, begins) in [("verdict.yaml", "{"), ("verdict.toml", "word = \"good\"\n")] {
        let mut world = judging_in(path, OWNER, BY, &["good"]);
        let told = ruled(&world, Ruling::Approve, None, Some("fine")).expect("decided");
        let draft = told.draft.expect("a draft");
        assert!(draft.text.starts_with(begins), "{}", draft.text);
        world.write(&draft.path, draft.text);
        let decision = world.decide();
        let to = decision.transition().map(|due| due.to.to_string());
        assert_eq!(to.as_deref(), Some("done"), "{decision:#?}");
    }
    for (path, why) in [
        ("verdict.md", "it is a file of the format markdown"),
        ("verdict.txt", "it is a file of the format text"),
    ] {
        let world = judging_in(path, OWNER, BY, &["good"]);
        let refused = ruled(&world, Ruling::Approve, None, None).expect_err("no draft");
        assert!(refused.message().contains(why), "{}", refused.message());
        let hint = refused.hint().map(ToString::to_string).unwrap_or_default();
        assert!(hint.starts_with("write the file yourself: "), "{hint}");
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
    assert!(
        ruled(&agents, Ruling::Approve, None, None).is_err(),
        "an agent writes the verdict"
    );
    // What a person decides or owns, a person takes by the order; what is neither, nobody does.
    for (owner, by, is_taken) in [
        (OWNER, BY, true),
        (OWNER, "", true),
        ("", BY, true),
        ("", "", false),
    ] {
        let mut world = judging(owner, by, &["good"]);
        world.write("verdict.json", r#"{"word": "good"}"#);
        let told = ruled(&world, Ruling::Approve, None, None).ok();
        let told = told.map(|told| (told.transition.to.to_string(), told.draft.is_some()));
        assert_eq!(
            told,
            is_taken.then(|| ("done".to_owned(), false)),
            "{owner} {by}"
        );
    }
}

#[test]
fn a_draft_takes_the_place_of_the_file_that_is_there() {
    let mut world = judging(OWNER, BY, &["good"]);
    for (path, pattern) in [("verdict.json", 0), ("judging/verdict.json", 1)] {
        world.files.retain(|path, _| path == "work.json");
        world.write(path, r#"{"word": "back"}"#);
        let draft = ruled(&world, Ruling::Approve, None, None)
            .expect("decided")
            .draft
            .expect("a draft");
        let name = ArtifactName::new("verdict").expect("valid");
        let files: Vec<(&str, usize)> = draft.facts.as_ref().expect("facts").artifacts[&name]
            .iter()
            .map(|file| (file.path.as_str(), file.pattern))
            .collect();
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

/// A rule that enters its phase again and uses nothing up is held back by the limit of attempts, also on the way of an approval.
#[test]
fn rules_that_go_round_do_not_hold_an_approval() {
    const ROUND: &str = r#"
```toml orch
[phase.a]
[phase.b]
terminal = true
[[rule]]
id = "again"
from = "a"
to = "a"
because = "always"
[[rule]]
id = "never"
from = "a"
when = "attempt > 1000"
to = "b"
because = "never"
```
"#;
    let mut world = World::new(Arc::new(compiled("round", ROUND)));
    world.apply(&orch_core::decide::create(&world.workflow.clone(), "new"));
    let stamp = stamp();
    for until in [None, Some("b")] {
        let plan = ApprovalPlan {
            order: RulingOrder {
                ruling: Ruling::Approve,
                to: None,
                reason: None,
                overrides: false,
                objections: &[],
            },
            until,
            results: &[],
            ran_by: &stamp,
        };
        let refused = approve(
            &world.workflow,
            &world.known(),
            &world.facts(),
            &plan,
            &stamp,
        );
        let refused = refused.expect_err("nothing to approve");
        assert_eq!(refused.code(), Code::NothingToApply);
    }
}

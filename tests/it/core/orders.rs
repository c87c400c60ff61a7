//! Orders of people: what may be ordered, and what a recorded step was.

use super::loops::LOOP;
use super::world::{LIFECYCLE, World, compiled, passing};
use orch_base::{ArtifactName, Code, ObjectFormat, PhaseId, TaskId};
use orch_core::decide::{
    ActorStatus, Decision, Detail, HistoryEntry, Holder, Kind, Recorded, Recorder, RunCommand,
    Runner, State, Transition, Verdict, evaluate, is_order, is_person_order, override_to,
    person_orders, rename, reopen,
};
use orch_core::record::{EventLog, FoldCache, RecordReading, StateDefect};
use serde_json::Value;
use std::sync::Arc;

#[test]
fn a_task_that_is_not_finished_is_archived_by_a_person_with_a_reason() {
    for (phase, to, why, expected) in [
        ("codegen", "other", None, Ok(false)),
        ("codegen", "other", Some("a better name"), Ok(false)),
        ("codegen", "archive/t-1", None, Err(Code::NotTerminal)),
        ("codegen", "archive/t-1", Some("given up"), Ok(true)),
        ("codegen", "t-1", None, Err(Code::TaskExists)),
        ("done", "archive/t-1", None, Ok(false)),
        ("done", "archive/t-1", Some("tidy"), Ok(false)),
    ] {
        let mut world = World::new(LIFECYCLE.clone());
        world.reach(phase);
        let state = State {
            task: Some("t-1".to_owned()),
            ..world.known()
        };
        let to = TaskId::new(to).expect("valid");
        let renamed = rename(&world.workflow, &state, &to, why);
        let told = renamed
            .as_ref()
            .map(|renamed| renamed.by_human)
            .map_err(|error| error.code());
        assert_eq!(told, expected, "{phase} {to} {why:?}");
        let named = renamed.map(|renamed| why.is_none_or(|why| renamed.reason.ends_with(why)));
        assert!(named.unwrap_or(true), "{phase} {to} {why:?}");
    }
}

/// A step that says who holds the task, and moves nothing.
fn taken(world: &World, generation: u64) -> Transition {
    let phase = PhaseId::new(world.known().phase.expect("a phase")).expect("valid");
    let holder = Holder {
        generation,
        owner: "Ann".to_owned(),
    };
    let detail = Some(Box::new(Detail::Take(holder)));
    Transition {
        detail,
        ..Transition::new(Some(phase.clone()), phase, Kind::Take, "taken")
    }
}

#[test]
fn a_task_goes_back_to_where_it_ended_however_much_was_recorded_since() {
    let mut world = World::new(LIFECYCLE.clone());
    world.reach("accept");
    world.write(
        "accept/decision.json",
        passing("decision", 0, &world.decide().expects[0].of),
    );
    world.approve();
    let end = world.decide();
    assert_eq!(world.known().phase.as_deref(), Some("done"));
    for generation in 1..6 {
        let reopened = reopen(
            &world.workflow,
            &world.known(),
            &world.facts(),
            None,
            "again",
        )
        .expect("back");
        assert_eq!(
            reopened.to.as_str(),
            "accept",
            "after {} more",
            generation - 1
        );
        assert_eq!(world.decide().reason, end.reason);
        world.apply(&taken(&world, generation));
    }
    let state = world.known();
    let text: Value = serde_json::from_str(world.state.as_deref().expect("a state")).expect("JSON");
    let kinds: Vec<&str> = text["history"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|one| one["kind"].as_str())
        .collect();
    assert_eq!(
        kinds,
        ["advance", "take", "take", "take"],
        "the last three, and before them the end"
    );
    // Two branches of it, joined: neither has the end among its latest steps.
    let (mut lines, mut heads) = (String::new(), Vec::new());
    for owner in [6, 16] {
        let mut branch = world.clone();
        for generation in owner..owner + 4 {
            branch.apply(&taken(&branch, generation));
        }
        heads.extend(branch.known().heads);
        lines += &branch.transcript;
    }
    let (log, mut cache) = (EventLog::parse(lines.as_bytes()).0, FoldCache::default());
    let joined = log
        .fold(&world.workflow, &heads, &mut cache)
        .expect("joined")
        .expect("a state");
    let order = reopen(&world.workflow, &joined, &world.facts(), None, "again").expect("back");
    assert_eq!(
        (order.to.as_str(), &joined.entered),
        ("accept", &state.entered)
    );
    let stamp = world.stamp();
    let chosen = log.choose(
        &world.workflow,
        &heads[..1],
        &heads[1..],
        "this one",
        &stamp,
        &mut cache,
    );
    assert_eq!(
        chosen.expect("folded").expect("chosen").entered,
        state.entered
    );
    // The next step that moves the task needs it no longer.
    world.apply(&order);
    assert_eq!(
        (world.known().phase.as_deref(), world.known().entered),
        (Some("accept"), None)
    );
}

#[test]
fn a_task_goes_back_to_where_it_ended_also_by_the_new_names_of_its_phases() {
    let text = r#"
```toml orch
[artifact.plan]
path = "plan.json"
[phase.work]
produces = ["plan"]
[phase.end]
terminal = true
[[rule]]
id = "on"
from = "work"
when = "plan.ready"
to = "end"
because = "there is a plan"
```
"#;
    let mut world = World::new(Arc::new(compiled("machine", text)));
    world.write("plan.json", "{}");
    world.settle();
    let renamed = text
        .replace("[phase.work]", "[phase.write]\naliases = [\"work\"]")
        .replace("[phase.end]", "[phase.ended]\naliases = [\"end\"]")
        .replace("\"work\"\nwhen", "\"write\"\nwhen")
        .replace("to = \"end\"", "to = \"ended\"");
    world.workflow = Arc::new(compiled("machine", &renamed));
    assert_eq!(world.known().phase.as_deref(), Some("end"));
    let back = reopen(
        &world.workflow,
        &world.known(),
        &world.facts(),
        None,
        "again",
    )
    .expect("back");
    assert_eq!(back.to.as_str(), "write");
}

#[test]
fn a_recorded_step_is_a_persons_order_by_its_kind_or_its_rule() {
    let text = r#"
```toml orch
[artifact.plan]
path = "plan.json"
[phase.a]
produces = ["plan"]
[phase.b]
terminal = true
[[rule]]
id = "free"
from = "a"
when = "plan.ready && plan.data.ok"
to = "b"
because = "it is ok"
[[rule]]
id = "agreed"
from = "a"
when = "plan.ready"
by = "human"
to = "b"
because = "a person agrees"
```
"#;
    let workflow = Arc::new(compiled("orders", text));
    let mut world = World::new(workflow);
    world.write("plan.json", r#"{"ok": true}"#);
    world.settle();
    let entry = world.known().history.last().expect("a step").clone();
    for kind in Kind::ALL {
        for (rule, is_of_a_person) in [(Some("free"), false), (Some("agreed"), true), (None, false)]
        {
            let expected = match kind {
                Kind::Override | Kind::Rollback | Kind::Reopen | Kind::Confirm | Kind::Merge => {
                    true
                }
                Kind::Approve => true,
                Kind::Advance | Kind::Regress => is_of_a_person,
                _ => false,
            };
            let entry = HistoryEntry {
                kind,
                rule: rule.map(str::to_owned),
                ..HistoryEntry::clone(&entry)
            };
            assert_eq!(
                is_person_order(&world.workflow, &entry),
                expected,
                "{kind:?} {rule:?}"
            );
        }
    }
}

#[test]
fn a_run_takes_no_move_that_needs_a_person() {
    let text = r#"
```toml orch
[artifact.verdict]
path = "verdict.json"
[phase.a]
owner = "human"
produces = ["verdict"]
[phase.b]
terminal = true
[[rule]]
id = "decided"
from = "a"
when = "verdict.ready"
BY
to = "b"
because = "it is decided"
```
"#;
    let verdict = || ArtifactName::new("verdict").expect("valid");
    for (by, proposed, moves) in [
        ("", vec![], 1),
        ("", vec![verdict()], 0),
        ("by = \"human\"", vec![], 0),
        ("by = \"human\"", vec![verdict()], 0),
    ] {
        let mut world = World::new(Arc::new(compiled("moves", &text.replace("BY", by))));
        world.settle();
        world.write("verdict.json", "{}");
        let recorder = Recorder {
            own: world.stamp(),
            caller: world.stamp(),
            earlier: &|_| None,
            refuses: &|_| None,
            is_there: &|_| true,
            started: None,
            digest: &|_| None,
        };
        let command = RunCommand::Moves {
            proposed: proposed.clone(),
        };
        let steps = command.steps(&world.workflow, &world.known(), &world.facts(), &recorder);
        assert_eq!(
            steps.map(|steps| steps.len()),
            Ok(moves),
            "{by} {proposed:?}"
        );
    }
}

#[test]
fn why_a_state_is_not_believed_is_named() {
    let mut world = World::new(LIFECYCLE.clone());
    world.reach("plan_review");
    let older = world.state.clone().expect("a state");
    world.reach("codegen");
    let newer = world.state.clone().expect("a state");
    let edited = |text: &str| text.replacen("\"attempt\": 1", "\"attempt\": 7", 1);
    assert!(edited(&older) != older && edited(&newer) != newer);
    for (state, expected) in [
        (None, "missing"),
        (Some("{".to_owned()), "unreadable"),
        (Some("[]".to_owned()), "unreadable"),
        (Some(older.clone()), "other heads"),
        // An edited fold of other heads is none of this log, whatever was edited.
        (Some(edited(&older)), "other heads"),
        (Some(edited(&newer)), "edited"),
        (Some(newer.replace("  ", "\t")), "layout"),
        (Some(newer.trim_end().to_owned()), "layout"),
        (Some(newer), "current"),
    ] {
        world.state.clone_from(&state);
        let told = match world.reading() {
            RecordReading::Current(_) => "current",
            RecordReading::Folded { because, state } => {
                assert_eq!(
                    state.phase,
                    Some(PhaseId::new("codegen").expect("valid").to_string())
                );
                match because {
                    StateDefect::Missing => "missing",
                    StateDefect::Unreadable => "unreadable",
                    StateDefect::OtherHeads => "other heads",
                    StateDefect::Layout => "layout",
                    StateDefect::Edited { difference } => {
                        assert!(difference.contains("attempt"));
                        "edited"
                    }
                }
            }
            other => panic!("{other:?}"),
        };
        assert_eq!(told, expected, "{state:?}");
    }
}

/// The orders that are open: each by its id, with the phases that it may lead to.
fn open(
    world: &World,
    decision: &Decision,
    runner: Option<&Runner>,
) -> Vec<(&'static str, String)> {
    let orders = person_orders(
        &world.workflow,
        &world.known(),
        &world.facts(),
        decision,
        runner,
    );
    let told = orders.into_iter().map(|order| {
        let targets: Vec<&str> = order.targets.iter().map(PhaseId::as_str).collect();
        let words = order.choice.argv.join(" ");
        assert!(
            words.starts_with("orch ") && words.contains("t-1"),
            "{words}"
        );
        assert_eq!(words.contains("PHASE"), !targets.is_empty(), "{words}");
        (order.choice.id, targets.join(" "))
    });
    told.collect()
}

#[test]
fn a_person_may_give_the_orders_that_would_be_accepted() {
    let none = String::new;
    let mut world = World::new(LIFECYCLE.clone());
    world.reach("plan_review");
    let on = "planning plan_review codegen review test accept revert done".to_owned();
    assert_eq!(
        open(&world, &world.decide(), None),
        [
            ("run", none()),
            ("rollback", "planning".to_owned()),
            ("override", on.clone())
        ]
    );
    // A run that is in progress is not started again.
    let told = open(&world, &world.decide(), Some(&Runner::Running));
    assert_eq!(
        told.iter().map(|(id, _)| *id).collect::<Vec<_>>(),
        ["rollback", "override"]
    );
    let told = open(&world, &world.decide(), Some(&Runner::Interrupted));
    assert_eq!(told.len(), 3, "{told:?}");
    // What is used up can be confirmed.
    let review = world.decide().expects.remove(0);
    world.write(&review.path, r#"{"ok": false}"#);
    world.settle();
    let told = open(&world, &world.decide(), None);
    assert!(told.contains(&("confirm", none())), "{told:?}");
    // Nothing is open where nothing can be evaluated, and only a way back where all is over.
    let lost = evaluate(&world.workflow, &Recorded::Lost, &world.facts());
    assert_eq!(open(&world, &lost, None), []);
    world.write("planning/plan.json", r#"{"n": 2}"#);
    world.reach("done");
    let told = open(&world, &world.decide(), None);
    assert_eq!(
        told,
        [(
            "reopen",
            "planning plan_review codegen review test accept revert".to_owned()
        )]
    );
    // A run of actions ends with its task, too.
    let mut over = World::new(Arc::new(compiled("loop", LOOP)));
    over.settle();
    assert_eq!(open(&over, &over.decide(), None)[0].0, "run");
}

#[test]
fn only_what_goes_against_the_rules_is_an_order() {
    for (id, is_against) in [
        ("override", true),
        ("again", true),
        ("rollback", true),
        ("reopen", true),
        ("confirm", true),
        ("next", false),
        ("approve", false),
        ("run", false),
        ("answer", false),
        ("restore", false),
    ] {
        assert_eq!(is_order(id), is_against, "{id}");
    }
}

#[test]
fn a_phase_that_was_jumped_over_is_no_consistent_one() {
    let mut world = World::new(LIFECYCLE.clone());
    world.reach("plan_review");
    world.write("code/diff.patch", "+++ b/src/lib.rs\n");
    let order = override_to(
        &world.workflow,
        &world.known(),
        &world.facts(),
        Some("review"),
        "it is urgent",
    );
    world.apply(&order.expect("an order"));
    assert_eq!(world.known().actors["codegen"].status, ActorStatus::Skipped);
    world.files.remove("code/diff.patch");
    let Verdict::Inconsistent {
        last_consistent, ..
    } = world.decide().verdict
    else {
        panic!("{:?}", world.decide())
    };
    assert_eq!(
        last_consistent.map(|phase| phase.to_string()).as_deref(),
        Some("plan_review")
    );
}

#[test]
fn evidence_that_is_gone_is_told_unless_a_phase_could_do_without_it_when_it_was_used_up() {
    for (artifact, path, is_used_up, is_told) in [
        ("plan", "planning/plan.json", false, true),
        ("plan", "planning/plan.json", true, true),
        ("notes", "planning/notes.md", false, true),
        ("notes", "planning/notes.md", true, false),
    ] {
        let mut world = World::new(LIFECYCLE.clone());
        world.write("planning/notes.md", "# Notes\n");
        world.reach("test");
        world.files.remove(path);
        let mut state = world.known();
        let name = ArtifactName::new(artifact).expect("valid");
        let actor = state.actors.get_mut("planning").expect("it was there");
        if is_used_up {
            let left = actor.left_with[&name].expect("it was there");
            actor.spent.entry(name.clone()).or_default().push(left);
        }
        let decision = evaluate(
            &world.workflow,
            &Recorded::Known(Box::new(state)),
            &world.facts(),
        );
        let told = decision.lost.iter().any(|lost| lost.artifact == name);
        assert_eq!(told, is_told, "{artifact} {is_used_up}");
    }
}

#[test]
fn digests_of_another_format_say_nothing_of_a_task_that_goes_on_and_do_not_matter_to_one_that_is_over()
 {
    for (phase, name) in [("codegen", "other-object-format"), ("done", "done")] {
        let mut world = World::new(LIFECYCLE.clone());
        world.reach("codegen");
        if phase == "done" {
            world.reach("accept");
            let expected = world.decide().expects.remove(0);
            world.write(&expected.path, passing("decision", 0, &expected.of));
            world.settle();
        }
        let mut state = world.known();
        for actor in state.actors.values_mut() {
            actor
                .left_with
                .values_mut()
                .for_each(|left| *left = Some(ObjectFormat::Sha256.blob(b"x")));
        }
        let decision = evaluate(
            &world.workflow,
            &Recorded::Known(Box::new(state)),
            &world.facts(),
        );
        assert_eq!(decision.verdict.name(), name, "{decision:?}");
    }
}

#[test]
fn only_a_good_end_waits_for_evidence_that_is_gone() {
    let mut world = World::new(LIFECYCLE.clone());
    world.reach("codegen");
    world.files.remove("review/plan/verdict.json");
    for (phase, name) in [
        ("codegen", "transition"),
        ("review", "transition"),
        ("accept", "inconsistent"),
    ] {
        world.reach(phase);
        for expected in world.decide().expects {
            world.write(
                &expected.path,
                passing(expected.artifact.as_str(), 0, &expected.of),
            );
        }
        let decision = world.decide();
        assert_eq!(decision.verdict.name(), name, "{phase}: {decision:?}");
        assert!(
            decision
                .lost
                .iter()
                .any(|lost| lost.artifact.as_str() == "plan_review"),
            "{phase}"
        );
    }
    // A task that has failed is over, whatever it lacks.
    let text = r#"
```toml orch
[artifact.plan]
path = "plan.json"
[artifact.verdict]
path = "verdict.json"
[phase.a]
produces = ["plan"]
[phase.b]
produces = ["verdict"]
[phase.good]
terminal = true
[phase.bad]
terminal = true
success = false
[[rule]]
id = "planned"
from = "a"
when = "plan.ready"
to = "b"
because = "there is a plan"
[[rule]]
id = "good"
from = "b"
when = "verdict.ready && verdict.data.ok"
to = "good"
because = "it is good"
[[rule]]
id = "bad"
from = "b"
when = "verdict.ready"
to = "bad"
because = "it is bad"
```
"#;
    for (ok, name) in [(true, "inconsistent"), (false, "transition")] {
        let mut world = World::new(Arc::new(compiled("ends", text)));
        world.write("plan.json", "{}");
        world.settle();
        world.files.remove("plan.json");
        world.write("verdict.json", format!("{{\"ok\": {ok}}}"));
        assert_eq!(world.decide().verdict.name(), name);
    }
}

//! Verdicts by those who wrote what they judge: what is told, what is held, and what an audit makes of it.

use super::world::{World, compiled};
use orch_base::{Code, ObjectFormat};
use orch_core::decide::{
    ActorKind, Approving, Decision, Facts, FileWriter, HistoryEntry, Inputs, Recorded, Require,
    Ruling, Standing, State, Verdict, WriterTurn, apply, evaluate, noted, replay, settle,
};
use orch_core::workflow::Owner;
use std::collections::BTreeMap;
use std::sync::Arc;

const MACHINE: &str = r#"# Machine

```toml orch
[workflow]
title = "Machine"
initial = "planning"

[artifact.plan]
path = "plan.json"

[artifact.verdict]
path = "verdict.json"

[phase.planning]
produces = ["plan"]

[phase.review]
needs = ["plan"]
produces = ["verdict"]
not_by = ["plan"]

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
when = "verdict.ready && verdict.data.ok"
to = "done"
because = "the plan is accepted"
```
"#;

fn person(name: &str) -> Option<FileWriter> {
    Some(FileWriter::new(ActorKind::Human, name))
}

fn turn(name: &str, number: u32) -> Option<FileWriter> {
    let turn = WriterTurn {
        executor: "agent".to_owned(),
        run: "1".to_owned(),
        number,
    };
    Some(FileWriter {
        turn: Some(turn),
        ..FileWriter::new(ActorKind::Agent, name)
    })
}

fn inputs(independent: bool) -> Inputs {
    Inputs::new(
        Require {
            independent,
            ..Require::default()
        },
        &BTreeMap::new(),
        BTreeMap::new(),
        ObjectFormat::Sha1,
    )
}

/// What a look would say, with these writers of the files that the state does not know.
fn facts(world: &World, writers: &[(&str, Option<FileWriter>)], inputs: &Inputs) -> Facts {
    let mut facts = Facts {
        inputs: inputs.clone(),
        ..world.facts()
    };
    for (artifact, files) in &mut facts.artifacts {
        let writer = writers.iter().find(|(name, _)| *name == artifact.as_str());
        for file in files {
            file.writers = writer
                .and_then(|(_, writer)| writer.clone())
                .into_iter()
                .collect();
        }
    }
    facts.add_writers_of(&world.workflow, &world.known());
    facts
}

/// Takes the due step on these facts, and records it.
fn step(world: &mut World, facts: &Facts) -> (Recorded, State) {
    let before = world.recorded();
    let Verdict::Transition(due) = evaluate(&world.workflow, &before, facts).verdict else {
        panic!("nothing is due");
    };
    let stamp = world.stamp();
    let after = apply(&world.workflow, &world.known(), facts, &due, &stamp);
    world.record(std::slice::from_ref(&after));
    (before, after)
}

/// A task in review, of which this is the writer of the plan, with a verdict.
fn in_review(machine: &str, plan: Option<FileWriter>, ok: bool, inputs: &Inputs) -> World {
    let mut world = World::new(Arc::new(compiled("machine", machine)));
    world.write("plan.json", r#"{"n": 1}"#);
    let planned = facts(&world, &[("plan", plan)], inputs);
    step(&mut world, &planned);
    world.write("verdict.json", format!(r#"{{"ok": {ok}}}"#));
    world
}

fn decided(world: &World, verdict: Option<FileWriter>, inputs: &Inputs) -> Decision {
    evaluate(
        &world.workflow,
        &world.recorded(),
        &facts(world, &[("verdict", verdict)], inputs),
    )
}

/// Two agents' marks of one commit: each of them is a writer.
#[test]
fn each_of_several_writers_of_a_file_is_seen() {
    let agent = |name: &str| FileWriter::new(ActorKind::Agent, name);
    let both = |one: &str, other: &str| vec![agent(one), agent(other)];
    let people = MACHINE.replace(
        "not_by = [\"plan\"]",
        "not_by = [\"plan\"]\nindependent = \"people\"",
    );
    let ann = || FileWriter::new(ActorKind::Human, "Ann <ann@x.org>");
    for (machine, plan, verdict, remark) in [
        (MACHINE, both("a", "b"), vec![agent("c")], ""),
        (
            MACHINE,
            both("a", "b"),
            vec![agent("b")],
            "by the agent b, who also wrote `plan`",
        ),
        (
            MACHINE,
            vec![agent("a")],
            both("c", "a"),
            "by the agent a, who also wrote `plan`",
        ),
        (
            MACHINE,
            both("b", "a"),
            both("c", "a"),
            "by the agent a, who also wrote `plan`",
        ),
        (MACHINE, both("a", "b"), both("c", "d"), ""),
        (
            &people,
            vec![agent("a")],
            vec![ann(), agent("c")],
            "by the agent c, and `review` asks for a person",
        ),
        (&people, vec![agent("a")], vec![ann()], ""),
    ] {
        let inputs = inputs(true);
        let set = |facts: &mut Facts, artifact: &str, writers: &[FileWriter]| {
            let files = facts
                .artifacts
                .iter_mut()
                .filter(|(name, _)| name.as_str() == artifact);
            files
                .flat_map(|(_, files)| files)
                .for_each(|file| file.writers = writers.to_vec());
        };
        let mut world = World::new(Arc::new(compiled("machine", machine)));
        world.write("plan.json", r#"{"n": 1}"#);
        let mut planned = facts(&world, &[], &inputs);
        set(&mut planned, "plan", &plan);
        let (_, state) = step(&mut world, &planned);
        let noted = &state.history.last().expect("a step").files;
        let noted: Vec<&FileWriter> = noted
            .values()
            .flatten()
            .flat_map(|one| one.writer.iter().chain(&one.writers))
            .collect();
        assert_eq!(
            noted,
            plan.iter().collect::<Vec<_>>(),
            "the event names all"
        );
        world.write("verdict.json", r#"{"ok": true}"#);
        // The plan's writers are those that the state knows now.
        let mut judged = facts(&world, &[], &inputs);
        set(&mut judged, "verdict", &verdict);
        let decision = evaluate(&world.workflow, &world.recorded(), &judged);
        let shown = format!("{plan:?} {verdict:?}: {decision:#?}");
        assert_eq!(
            decision.transition().is_some(),
            remark.is_empty(),
            "{shown}"
        );
        assert!(
            decision.remarks.iter().all(|one| one.contains(remark)),
            "{shown}"
        );
        assert_eq!(
            decision.remarks.len(),
            usize::from(!remark.is_empty()),
            "{shown}"
        );
    }
}

#[test]
fn who_judges_what_he_wrote_is_told_and_held_where_that_is_required() {
    let people = MACHINE.replace(
        "not_by = [\"plan\"]",
        "not_by = [\"plan\"]\nindependent = \"people\"",
    );
    let (ann, bob) = (|| person("Ann <ann@x.org>"), || person("Bob <bob@x.org>"));
    for (machine, plan, verdict, remark, held) in [
        (MACHINE, ann(), bob(), "", None),
        (
            MACHINE,
            ann(),
            person("A. <ANN@x.org>"),
            "who also wrote `plan`",
            Some(Owner::Human),
        ),
        (MACHINE, turn("planner", 1), turn("reviewer", 2), "", None),
        (
            MACHINE,
            turn("planner", 1),
            turn("reviewer", 1),
            "in the same turn",
            Some(Owner::Agent),
        ),
        (MACHINE, turn("planner", 1), ann(), "", None),
        (MACHINE, ann(), turn("reviewer", 1), "", None),
        // Nobody can tell that it is another one.
        (MACHINE, None, ann(), "", Some(Owner::Human)),
        (MACHINE, None, turn("reviewer", 1), "", Some(Owner::Human)),
        (MACHINE, ann(), None, "", Some(Owner::Agent)),
        (MACHINE, None, None, "", Some(Owner::Agent)),
        (
            &people,
            ann(),
            turn("reviewer", 1),
            "asks for a person",
            Some(Owner::Human),
        ),
        (&people, turn("planner", 1), ann(), "", None),
        (&people, ann(), bob(), "", None),
    ] {
        for required in [false, true] {
            let inputs = inputs(required);
            let world = in_review(machine, plan.clone(), true, &inputs);
            let decision = decided(&world, verdict.clone(), &inputs);
            let shown = format!("{plan:?} {verdict:?} {required}: {decision:#?}");
            let is_told = decision.remarks.iter().any(|one| one.contains(remark));
            // That a writer is unknown is told only where it matters.
            let is_unknown = remark.is_empty() && held.is_some();
            assert_eq!(
                decision.remarks.len(),
                usize::from(!remark.is_empty() || (is_unknown && required)),
                "{shown}"
            );
            assert!(is_told || decision.remarks.is_empty(), "{shown}");
            match held.filter(|_| required) {
                None => assert!(decision.transition().is_some(), "{shown}"),
                Some(owner) => {
                    assert!(
                        matches!(&decision.verdict, Verdict::Wait { owner: who, .. } if *who == owner),
                        "{shown}"
                    );
                    let found = decision
                        .diagnostics
                        .iter()
                        .find(|one| one.code == Code::NotIndependent);
                    let found = found.unwrap_or_else(|| panic!("{shown}"));
                    let way_out = if plan.is_none() && verdict.is_some() {
                        "change plan.json and commit it yourself"
                    } else {
                        "orch approve t-1"
                    };
                    assert!(
                        found
                            .hint
                            .as_ref()
                            .is_some_and(|hint| hint.to_string().contains(way_out)),
                        "{shown}"
                    );
                    assert_eq!(decision.expects.len(), 1, "{shown}");
                }
            }
        }
    }
}

/// Two people approve; one of them may have written what they approve.
#[test]
fn approvals_of_what_nobody_is_seen_to_have_written_are_told_and_held_where_that_is_required() {
    let machine = MACHINE
        .replace(
            "produces = [\"verdict\"]\nnot_by",
            "approvals = { count = 2 }\nnot_by",
        )
        .replace(
            "verdict.ready && verdict.data.ok",
            "approvals.review.count >= 2",
        )
        .replace("verdict.ready && !verdict.data.ok", "plan.changed");
    for (plan, required, told, moves) in [
        (person("Bob <bob@x.org>"), true, "", true),
        (person("Ann <ann@x.org>"), true, "ann@x.org wrote", false),
        (person("Ann <ann@x.org>"), false, "ann@x.org wrote", false),
        (None, false, "", true),
        (None, true, "who wrote plan.json is unknown", false),
    ] {
        let inputs = inputs(required);
        let world = in_review(&machine, plan.clone(), true, &inputs);
        let facts = facts(&world, &[], &inputs);
        let mut state = world.known();
        for person in ["ann@x.org", "cem@x.org"] {
            let actor = state.actors.get_mut("review").expect("an actor");
            actor.approvals.push(Approving {
                person: person.to_owned(),
                ruling: Ruling::Approve,
                seq: 0,
                on: BTreeMap::new(),
            });
            let recorded = Recorded::Known(Box::new(state.clone()));
            let decision = evaluate(&world.workflow, &recorded, &facts);
            let shown = format!("{plan:?} {required}: {decision:#?}");
            assert!(decision.reason.contains(told), "{shown}");
            let is_unseen = plan.is_none() && required;
            assert_eq!(decision.remarks.len(), usize::from(is_unseen), "{shown}");
            let is_enough = person == "cem@x.org";
            assert_eq!(
                decision.transition().is_some(),
                moves && is_enough,
                "{shown}"
            );
            let mut findings = decision.diagnostics.iter();
            let is_held = findings.any(|one| one.code == Code::NotIndependent);
            assert_eq!(is_held, is_unseen && is_enough, "{shown}");
        }
    }
}

#[test]
fn the_way_back_is_open_to_everybody() {
    let inputs = inputs(true);
    let world = in_review(MACHINE, person("Ann"), false, &inputs);
    for verdict in [None, person("Ann"), person("Bob")] {
        let decision = decided(&world, verdict, &inputs);
        assert!(
            decision
                .transition()
                .is_some_and(|due| due.to.as_str() == "planning"),
            "{decision:#?}"
        );
    }
}

#[test]
fn the_state_remembers_writers_as_long_as_the_bytes_stay() {
    let inputs = inputs(false);
    let mut world = in_review(MACHINE, person("Ann"), false, &inputs);
    let plan = |world: &World| {
        let facts = facts(world, &[("plan", person("Eve"))], &inputs);
        let files = facts
            .artifacts
            .iter()
            .find(|(name, _)| name.as_str() == "plan")
            .expect("a plan")
            .1;
        files[0].writers.clone()
    };
    assert_eq!(
        plan(&world),
        [person("Ann").expect("one")],
        "who wrote it first"
    );
    let refused = facts(&world, &[("verdict", person("Bob"))], &inputs);
    step(&mut world, &refused);
    assert_eq!(
        plan(&world),
        [person("Ann").expect("one")],
        "a send-back forgets nothing"
    );
    world.write("plan.json", r#"{"n": 2}"#);
    assert_eq!(plan(&world), [person("Eve").expect("one")]);
    let planned = facts(&world, &[("plan", person("Eve"))], &inputs);
    let (_, after) = step(&mut world, &planned);
    let noted: Vec<usize> = after
        .history
        .iter()
        .map(|entry| entry.files.len())
        .collect();
    assert_eq!(noted, [1, 1, 1], "each event notes what is new");
}

#[test]
fn an_audit_decides_with_the_writers_that_the_event_names() {
    let required = inputs(true);
    let mut world = in_review(MACHINE, person("Ann"), true, &required);
    let accepted = facts(&world, &[("verdict", person("Bob"))], &required);
    let (before, after) = step(&mut world, &accepted);
    let entry = HistoryEntry::clone(after.history.last().expect("an entry"));
    // In another clone nobody has seen anything.
    let here = Facts {
        inputs: required.clone(),
        ..world.facts()
    };
    let judged = |entry: &HistoryEntry, here: &Facts| {
        let mut told = after.clone();
        // The state keeps what the event notes.
        let writer = entry
            .files
            .values()
            .flatten()
            .find_map(|noted| noted.writer.clone());
        for written in told
            .actors
            .values_mut()
            .filter_map(|actor| actor.writers.values_mut().next())
        {
            if written[0].by == person("Bob").expect("one") {
                written[0].by = writer.clone().expect("a writer");
            }
        }
        *told.history.last_mut().expect("an entry") = entry.clone().into();
        replay(&world.workflow, &before, here, entry, Some(&told)).map(|replayed| replayed.standing)
    };
    assert_eq!(judged(&entry, &here), Ok(Standing::Proven));
    let by = |writer: Option<FileWriter>| {
        let mut told = entry.clone();
        told.files
            .values_mut()
            .flatten()
            .for_each(|noted| noted.writer.clone_from(&writer));
        told
    };
    // Another name is only claimed, but no name may contradict the decision.
    assert_eq!(judged(&by(person("Carl")), &here), Ok(Standing::Proven));
    assert!(judged(&by(person("Ann")), &here).is_err());
    assert!(
        replay(&world.workflow, &before, &here, &by(None), None).is_err(),
        "nobody knows who"
    );
    // Other settings than those before the commit are not proven, whatever they asked.
    let lax = Facts {
        inputs: inputs(false),
        ..world.facts()
    };
    assert_eq!(judged(&entry, &lax), Ok(Standing::Unverifiable));
    let unnamed = HistoryEntry {
        inputs: None,
        ..by(person("Ann"))
    };
    assert_eq!(judged(&unnamed, &here), Ok(Standing::Unverifiable));
    assert_eq!(
        judged(
            &HistoryEntry {
                inputs: None,
                ..entry.clone()
            },
            &lax
        ),
        Ok(Standing::Proven)
    );
    let known = noted(&world.workflow, &before, &here, &entry);
    assert_eq!(
        known
            .artifacts
            .values()
            .flatten()
            .filter(|file| file.writers.len() == 1)
            .count(),
        2
    );
}

/// Code as commits, with a verdict that lies there when the code is handed over: both steps are due at once.
#[test]
fn who_made_the_commits_is_known_to_the_steps_that_follow_at_once() {
    let machine = MACHINE
        .replace("path = \"plan.json\"", "tree = [\"src/**\"]")
        .replace(
            "plan.ready",
            "plan.ready && plan.data.commits.exists(c, task in c.tasks)",
        )
        .replace("needs = [\"plan\"]\n", "");
    let required = inputs(true);
    for (verdict, steps) in [(person("Ann"), 1), (person("Bob"), 2)] {
        let mut world = World::new(Arc::new(compiled("machine", &machine)));
        world.apply(&orch_core::decide::create(&world.workflow.clone(), "new"));
        world.commit("code", &["t-1"]);
        world.write("verdict.json", r#"{"ok": true}"#);
        let seen = facts(
            &world,
            &[("plan", person("Ann")), ("verdict", verdict)],
            &required,
        );
        let (before, stamp) = (world.recorded(), world.stamp());
        let settled = settle(&world.workflow, &before, &seen, &stamp, &|due| {
            !due.by_human
        });
        assert_eq!(settled.steps.len(), steps, "{settled:#?}");
        let states: Vec<State> = settled
            .steps
            .iter()
            .map(|step| step.state.clone())
            .collect();
        let here = Facts {
            inputs: required.clone(),
            ..world.facts()
        };
        world.record(&states);
        // An audit sees the commits only at the first step.
        let mut before = before;
        let moved = here.after_a_step().into_owned();
        for (number, after) in states.into_iter().enumerate() {
            let (facts, entry) = (
                if number == 0 { &here } else { &moved },
                after.history.last().expect("one").clone(),
            );
            let replayed =
                replay(&world.workflow, &before, facts, &entry, Some(&after)).expect("it follows");
            assert_eq!(replayed.standing, Standing::Proven);
            before = Recorded::Known(Box::new(after));
        }
    }
}

//! What is expected of whoever works on a task, what they are given to read, and what is said of the evidence.

use super::world::{LIFECYCLE, World, compiled, passing};
use orch_base::{ArtifactName, Code, Diagnostic, PhaseId};
use orch_core::decide::{
    Decision, Facts, FileFact, HistoryEntry, Kind, Recorded, State, Verdict, evaluate,
    nearest_rule, override_to, phase_id, rollback,
};
use serde_json::{Value, json};
use std::sync::Arc;

const CODED: &str = r#"
```toml orch
[artifact.plan]
path = "plan.json"
[artifact.list]
path = "list.json"
[artifact.change]
path = PATHS
tree = ["src/**"]
[artifact.report]
path = "report.json"
[artifact.log]
path = "log.json"
commit = false
[phase.planning]
produces = ["plan", "list"]
substate = "plan.ready ? 'planned' : 'empty'"
[phase.code]
needs = ["plan", "list"]
produces = ["change", "list"]
may_produce = ["log"]
substate = "change.ready ? 'changed' : 'as it was'"
[phase.check]
needs = ["change"]
produces = ["report"]
[phase.done]
terminal = true
[[rule]]
id = "planned"
from = "planning"
when = "plan.ready && list.ready"
to = "code"
because = "there is a plan"
[[rule]]
id = "coded"
from = "code"
when = "change.ready && list.data.ticked && (!log.present || log.valid)"
to = "check"
because = "there is code"
[[rule]]
id = "failed"
from = "check"
when = "report.ready && !report.data.ok"
to = "code"
because = "it does not work"
[[rule]]
id = "passed"
from = "check"
when = "report.ready"
to = "done"
because = "it works"
```
"#;

/// A task in the phase of its code, which may be a change below `src` or a file at one of these paths.
fn coding(paths: &str) -> World {
    let mut world = World::new(Arc::new(compiled("coded", &CODED.replace("PATHS", paths))));
    world.commit("as it was", &[]);
    world.write("plan.json", "{}");
    world.write("list.json", r#"{"ticked": false}"#);
    world.settle();
    assert_eq!(world.known().phase.as_deref(), Some("code"));
    world
}

fn name(text: &str) -> ArtifactName {
    ArtifactName::new(text).expect("valid")
}

/// The artifacts that are expected, each with its state and why.
fn expected(decision: &Decision) -> Vec<(&str, &str, &str)> {
    let all = decision.expects.iter();
    all.map(|one| {
        (
            one.artifact.as_str(),
            one.state.as_str(),
            one.because.as_str(),
        )
    })
    .collect()
}

#[test]
fn what_is_absent_is_told_as_a_file_or_as_a_commit() {
    let no_commit = "no commit has changed src/** since `code` was entered";
    for (paths, because) in [
        ("[]", no_commit.to_owned()),
        (
            "\"code/diff.patch\"",
            format!("there is no such file, and {no_commit}"),
        ),
    ] {
        assert_eq!(
            expected(&coding(paths).decide()),
            [("change", "missing", because.as_str())]
        );
    }
    let world = World::new(LIFECYCLE.clone());
    assert_eq!(
        expected(&world.decide()),
        [("plan", "missing", "there is no such file")]
    );
}

#[test]
fn where_all_is_ready_the_outputs_are_expected_to_say_what_a_rule_that_leads_on_asks_for() {
    let text = r#"
```toml orch
[artifact.report]
path = "report.json"
[artifact.note]
path = "note.json"
[artifact.extra]
path = "extra.json"
[phase.open]
[phase.check]
produces = ["report", "note"]
may_produce = ["extra"]
[phase.done]
terminal = true
[[rule]]
id = "begun"
from = "open"
to = "check"
because = "it begins"
[[rule]]
id = "on"
from = "check"
when = "report.data.ok && report.data.whole && (!extra.present || extra.valid) && (phase != 'check' || extra.present || report.data.ok)"
to = "done"
because = "it is right"
[[rule]]
id = "back"
from = "check"
when = "note.data.again"
to = "open"
because = "it begins anew"
```
"#;
    let mut world = World::new(Arc::new(compiled("unmet", text)));
    world.settle();
    world.write("note.json", r#"{"again": false}"#);
    for (ok, whole, because) in [
        (
            false,
            false,
            "`report.data.ok` does not hold (report.data.ok is false)",
        ),
        (
            true,
            false,
            "`report.data.whole` does not hold (report.data.whole is false)",
        ),
    ] {
        world.write("report.json", json!({"ok": ok, "whole": whole}).to_string());
        assert_eq!(expected(&world.decide()), [("report", "unmet", because)]);
    }
}

#[test]
fn a_question_asks_for_each_field_with_its_own_options_and_default() {
    let text = r#"
```toml orch
[state.defaults]
colour = ""
size = 0
[ask.other]
title = "Another?"
writes = ["/colour"]
[ask.which]
title = "Which?"
writes = ["/colour", "/size"]
options = { "/size" = "[1, 2]", "/colour" = "['red', 'blue']" }
default = { "/size" = "2" }
[phase.open]
[phase.done]
terminal = true
[[rule]]
id = "on"
from = "open"
when = "state.size > 5"
to = "done"
because = "it is large"
[[rule]]
id = "other"
from = "open"
when = "state.size > 4"
wait = "another"
ask = "other"
because = "nobody said what else"
[[rule]]
id = "which"
from = "open"
wait = "an answer"
ask = "which"
because = "nobody said which"
```
"#;
    let mut world = World::new(Arc::new(compiled("asking", text)));
    world.settle();
    let decision = world.decide();
    let question = decision.question.expect("a question");
    let fields: Vec<Value> = question
        .fields
        .iter()
        .map(|field| json!([field.pointer, field.options, field.default]))
        .collect();
    assert_eq!(question.title, "Which?");
    assert_eq!(
        fields,
        [
            json!(["/colour", ["red", "blue"], null]),
            json!(["/size", [1, 2], 2])
        ]
    );
    let answer = decision
        .options
        .iter()
        .find(|option| option.id == "answer")
        .expect("a command");
    assert_eq!(
        answer.argv.join(" "),
        "orch answer t-1 colour=VALUE size=VALUE"
    );
}

#[test]
fn a_report_on_code_says_what_changed_since_and_one_on_a_file_that_the_file_did() {
    let earlier = "it judged an earlier version of `change`: src/** changed since";
    let another = "it judged another version of `change`";
    let digest = orch_base::Digest::of_blob(b"judged");
    // Whether the code was changed, whether the file is there, and why the report is stale.
    for (is_changed, has_file, because) in [
        (true, false, earlier),
        (false, false, earlier),
        (true, true, another),
        (false, true, another),
    ] {
        let mut world = coding("\"code/diff.patch\"");
        if is_changed {
            world.commit("changed", &["t-1"]);
        }
        if has_file {
            world.write("code/diff.patch", "+++ b/src/lib.rs\n");
        }
        world.write(
            "report.json",
            json!({"ok": true, "of": {"change": digest.to_string()}}).to_string(),
        );
        let decision = world.decide();
        let report = decision.artifact(&name("report")).expect("the report");
        assert_eq!(
            report.stale_because.as_deref(),
            Some(because),
            "{is_changed} {has_file}"
        );
        assert_eq!(report.of["change"].digest(), Some(digest));
    }
}

#[test]
fn a_record_of_code_says_nothing_of_a_file_and_one_of_a_list_does() {
    let is_changed = |world: &World, artifact: &str| {
        world
            .decide()
            .artifact(&name(artifact))
            .expect("an artifact")
            .changed
    };
    let mut world = coding("\"code/diff.patch\"");
    world.write("code/diff.patch", "+++ b/src/lib.rs\n");
    assert!(
        !is_changed(&world, "change"),
        "the code was recorded, not this file"
    );
    // The list was ticked when the report sent the task back, and has stayed so.
    world.write("list.json", r#"{"ticked": true}"#);
    assert!(is_changed(&world, "list"));
    world.settle();
    world.write("report.json", r#"{"ok": false}"#);
    world.settle();
    assert_eq!(world.known().phase.as_deref(), Some("code"));
    assert!(!is_changed(&world, "list"));
    world.write("list.json", r#"{"ticked": true, "more": 1}"#);
    assert!(is_changed(&world, "list"));
}

#[test]
fn evidence_is_committed_unless_the_artifact_says_otherwise() {
    let mut world = coding("[]");
    world.commit("changed", &["t-1"]);
    world.write("list.json", r#"{"ticked": true}"#);
    world.write("log.json", "{}");
    let transition = world.decide().transition().cloned().expect("a transition");
    let told: Vec<(&str, bool)> = transition
        .evidence
        .iter()
        .map(|one| (one.artifact.as_str(), one.committed))
        .collect();
    assert_eq!(told, [("list", true), ("change", true), ("log", false)]);
}

#[test]
fn a_substate_is_dropped_with_the_phase_that_is_not_reached_any_more() {
    let mut world = coding("[]");
    world.commit("changed", &["t-1"]);
    world.write("list.json", r#"{"ticked": true}"#);
    world.settle();
    let substates = |world: &World| {
        let state = world.known();
        ["planning", "code"].map(|phase| state.actors[phase].substate.clone())
    };
    assert_eq!(
        substates(&world),
        [Some(json!("planned")), Some(json!("changed"))]
    );
    let back = rollback(
        &world.workflow,
        &world.known(),
        &world.facts(),
        Some("planning"),
        "again",
    );
    world.apply(&back.expect("an order"));
    assert_eq!(substates(&world)[1], None, "nobody codes");
}

#[test]
fn a_finished_task_tells_what_was_changed_since() {
    for (path, text, changed) in [
        (None, "", &[][..]),
        (
            Some("accept/decision.json"),
            r#"{"verdict": "accepted", "n": 9}"#,
            &["decision"],
        ),
        (
            Some("eval/report.json"),
            r#"{"passed": true, "n": 9}"#,
            &["test_report"],
        ),
        (Some("planning/plan.json"), r#"{"n": 9}"#, &["plan"]),
    ] {
        let mut world = World::new(LIFECYCLE.clone());
        world.reach("accept");
        world.write("accept/decision.json", r#"{"verdict": "accepted"}"#);
        world.settle();
        path.into_iter().for_each(|path| world.write(path, text));
        let decision = world.decide();
        assert!(decision.is_done());
        let Verdict::Done { changed: told } = &decision.verdict else {
            panic!("{decision:?}")
        };
        assert_eq!(
            told.iter().map(ArtifactName::as_str).collect::<Vec<_>>(),
            changed
        );
    }
    let mut open = World::new(LIFECYCLE.clone());
    assert!(!open.decide().is_done());
    open.reach("codegen");
    assert!(!open.decide().is_done());
}

#[test]
fn each_piece_of_lost_evidence_is_told_with_the_phase_that_had_it() {
    let mut world = World::new(LIFECYCLE.clone());
    world.reach("accept");
    world.write("accept/decision.json", r#"{"verdict": "accepted"}"#);
    for path in ["review/plan/verdict.json", "code/tasks.md"] {
        assert!(world.files.remove(path).is_some(), "{path}");
    }
    let decision = world.decide();
    assert!(
        matches!(decision.verdict, Verdict::Inconsistent { .. }),
        "{decision:?}"
    );
    assert_eq!(
        decision.reason,
        "the work is accepted, but the evidence of earlier phases is gone: plan_review (review/plan/verdict.json) is missing (the task left \
         `plan_review` with it); tasks (code/tasks.md) is missing (the task left `codegen` with it)"
    );
}

#[test]
fn the_rule_that_decided_is_the_nearest_one() {
    let mut world = World::new(LIFECYCLE.clone());
    world.reach("test");
    let expects = world.decide().expects;
    world.write(
        &expects[0].path,
        passing("test_report", 0, &expects[0].of).replace("true", "false"),
    );
    let decision = world.decide();
    assert!(decision.tried.len() > 3, "{:?}", decision.tried);
    let nearest = nearest_rule(&world.workflow, &decision).expect("a rule");
    assert_eq!(
        (nearest.rule.as_str(), Some(&nearest.rule)),
        ("failed", decision.rule.as_ref())
    );
}

#[test]
fn the_way_on_leads_out_of_the_phase() {
    for (phase, to) in [
        ("plan_review", "codegen"),
        ("review", "test"),
        ("test", "accept"),
    ] {
        let mut world = World::new(LIFECYCLE.clone());
        world.reach(phase);
        let order = override_to(
            &world.workflow,
            &world.known(),
            &world.facts(),
            None,
            "it is late",
        );
        assert_eq!(order.expect("an order").to.as_str(), to);
    }
}

/// A person who allows one more attempt allows it for the phases after it, and not one without end.
#[test]
fn a_rule_that_leads_to_its_own_phase_is_held_back_after_each_attempt_too_many() {
    let mut world = World::new(LIFECYCLE.clone());
    world.reach("test");
    for attempt in 1..=5 {
        world.write(
            "eval/report.json",
            json!({"flaky": true, "n": attempt}).to_string(),
        );
        let decision = world.decide();
        let Verdict::Transition(due) = &decision.verdict else {
            assert!(attempt > 2, "{attempt}: {decision:?}");
            let Verdict::Handover { held, attempts } = &decision.verdict else {
                panic!("{decision:?}")
            };
            assert_eq!((held.to.as_str(), *attempts), ("test", attempt));
            let again = override_to(
                &world.workflow,
                &world.known(),
                &world.facts(),
                Some("test"),
                "again",
            );
            world.apply(&again.expect("an order"));
            continue;
        };
        assert!(attempt <= 2, "{attempt}: {due:?}");
        world.settle();
    }
}

#[test]
fn a_move_that_waits_for_a_command_names_it() {
    let rule = |id: &str, to: &str| {
        format!(
            "[[rule]]\nid = \"{id}\"\non = \"{id}\"\nfrom = \"open\"\nto = \"{to}\"\nbecause = \"so\"\n"
        )
    };
    let text = format!(
        "```toml orch\n[phase.open]\n[phase.paused]\n[phase.done]\nterminal = true\n{}{}{}[[rule]]\nid = \"rest\"\n\
         from = [\"open\", \"paused\"]\nwait = \"a command\"\nbecause = \"it rests\"\n[[rule]]\nid = \"end\"\n\
         from = \"paused\"\nwhen = \"attempt > 9\"\nto = \"done\"\nbecause = \"so\"\n```\n",
        rule("start", "paused"),
        rule("pause", "paused"),
        rule("stop", "done"),
    );
    let world = World::new(Arc::new(compiled("signals", &text)));
    let told: Vec<String> = world
        .decide()
        .moves
        .into_iter()
        .flat_map(|one| one.unmet)
        .collect();
    assert_eq!(
        told,
        ["run", "pause", "stop"].map(|verb| format!("the rule waits for `orch {verb}`"))
    );
}

#[test]
fn a_file_is_valid_if_it_was_read_and_nothing_is_wrong_with_it() {
    let error = || Diagnostic::error(Code::Unreadable, "it is wrong");
    let warning = || Diagnostic::warning(Code::Unreadable, "it is odd");
    for (data, problems, is_valid) in [
        (Some(json!({})), vec![], true),
        (Some(json!({})), vec![warning()], true),
        (Some(json!({})), vec![warning(), error()], false),
        (None, vec![], false),
        (None, vec![warning()], false),
        (None, vec![error()], false),
    ] {
        let (data, path) = (data.map(Arc::new), "plan.json".to_owned());
        let file = FileFact {
            pattern: 0,
            is_tree: false,
            path,
            digest: None,
            data,
            problems,
            writers: Vec::new(),
        };
        assert_eq!(file.is_valid(), is_valid, "{file:?}");
    }
}

/// A file of which something can be read although its schema refuses it.
#[test]
fn of_a_refused_file_no_guard_sees_the_data() {
    let text = r#"
```toml orch
[artifact.note]
path = "note.json"
[artifact.note.facts]
word = "data.word"
[phase.open]
[phase.done]
terminal = true
[[rule]]
id = "on"
from = "open"
when = "GUARD"
to = "done"
because = "it is so"
```
"#;
    for (guard, is_refused, name) in [
        ("note.data == null", true, "transition"),
        ("note.data == null", false, "wait"),
        ("note.word == 'hello'", true, "guard-error"),
        ("note.word == 'hello'", false, "transition"),
    ] {
        let mut world = World::new(Arc::new(compiled("refused", &text.replace("GUARD", guard))));
        world.write("note.json", r#"{"word": "hello"}"#);
        let mut facts = world.facts();
        if is_refused {
            for file in facts.artifacts.values_mut().flatten() {
                file.problems
                    .push(Diagnostic::error(Code::SchemaMismatch, "it is refused"));
            }
        }
        let decision = evaluate(&world.workflow, &Recorded::New, &facts);
        assert_eq!(
            decision.verdict.name(),
            name,
            "{guard} {is_refused}: {}",
            decision.reason
        );
    }
}

#[test]
fn a_phase_is_entered_by_the_last_step_into_it_from_another() {
    let phase = |text: &str| PhaseId::new(text).expect("valid");
    let mut world = World::new(LIFECYCLE.clone());
    world.reach("plan_review");
    let mut state = world.known();
    let step = HistoryEntry::clone(state.history.last().expect("a step"));
    for (seq, from, to, kind) in [
        (11, "planning", "plan_review", Kind::Advance),
        (12, "plan_review", "plan_review", Kind::Confirm),
        (13, "plan_review", "codegen", Kind::Advance),
    ] {
        let entry = HistoryEntry {
            seq,
            from: Some(phase(from)),
            to: phase(to),
            kind,
            ..step.clone()
        };
        state.history.push(entry.into());
    }
    for (name, seq) in [
        ("plan_review", Some(11)),
        ("codegen", Some(13)),
        ("accept", None),
    ] {
        assert_eq!(
            state.last_entry_into(&phase(name)).map(|entry| entry.seq),
            seq,
            "{name}"
        );
    }
}

#[test]
fn the_phase_of_a_state_is_known_by_its_name_and_by_its_aliases() {
    for (named, id) in [
        (Some("codegen"), Some("codegen")),
        (Some("test_run"), Some("test")),
        (Some("gone"), None),
    ] {
        let state = State {
            phase: named.map(str::to_owned),
            ..State::default()
        };
        assert_eq!(
            phase_id(&LIFECYCLE, &state).map(PhaseId::as_str),
            id,
            "{named:?}"
        );
    }
    let state = orch_core::decide::initial_state(&LIFECYCLE);
    assert_eq!(
        (state.phase.as_deref(), &state.extra["rounds"]),
        (Some("planning"), &json!(0))
    );
}

#[test]
fn a_task_of_plain_files_is_after_a_step_as_it_was() {
    let mut world = World::new(LIFECYCLE.clone());
    world.write("planning/plan.json", "{}");
    let facts: Facts = world.facts();
    assert!(matches!(
        facts.after_a_step(),
        std::borrow::Cow::Borrowed(_)
    ));
}

#[test]
fn the_way_names_what_is_passed_and_what_is_ahead() {
    let way = |world: &World| {
        let stops = world.decide().way.into_iter();
        let stops = stops.map(|stop| format!("{} {}", stop.phase, stop.stage.as_str()));
        stops.collect::<Vec<_>>().join(", ")
    };
    let mut world = World::new(LIFECYCLE.clone());
    assert_eq!(
        way(&world),
        "planning current, plan_review ahead, codegen ahead, review ahead, test ahead, accept ahead, done ahead"
    );
    world.reach("review");
    assert_eq!(
        way(&world),
        "planning passed, plan_review passed, codegen passed, review current, test ahead, accept ahead, done ahead"
    );
}

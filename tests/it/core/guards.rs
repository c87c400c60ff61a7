//! What guards see of a task, and which parts of a guard rest on its files.

use super::world::{World, compiled};
use orch_base::{ActionName, Code, Diagnostic, RepoPath, RuleId};
use orch_core::decide::{
    Do, DutyKind, Facts, FileFact, Recorded, RunRecord, State, Tally, Verdict, accept, duty,
    evaluate, rebuild_from_files,
};
use serde_json::{Value, json};
use std::sync::Arc;

const SEEN: &str = r#"
```toml orch
[state.defaults]
n = 0
[artifact.note]
path = ["note.json", "notes/*.json"]
[artifact.note.facts]
many = "count > 1"
first = "path"
word = "data.word"
[artifact.gone]
path = "gone.json"
[action.find]
writes = ["/n"]
[define]
few = "note.count < 3"
[phase.open]
[phase.done]
terminal = true
[[rule]]
id = "rule"
from = "open"
when = """GUARD"""
to = "done"
because = "it holds"
[[rule]]
id = "find"
from = "open"
when = "state.n > 99"
run = "find"
because = "much"
```
"#;

#[test]
fn a_guard_sees_the_task_its_files_its_phase_and_what_actions_came_to() {
    let one = &[("note.json", r#"{"word": "hello"}"#)][..];
    let two = &[
        ("notes/b.json", r#"{"word": "b"}"#),
        ("notes/a.json", r#"{"word": "a"}"#),
    ][..];
    let bad = &[("note.json", "{")][..];
    for (files, guard, expected) in [
        (one, "phase == 'open'", Ok(true)),
        (one, "phase == 'done'", Ok(false)),
        (one, "attempt == 1 && task == 't-1'", Ok(true)),
        (one, "state.n == 7", Ok(true)),
        (
            one,
            "action.find.done == 2 && !action.find.skipped",
            Ok(true),
        ),
        (
            one,
            "run.errors == 1 && run.max_errors == 3 && run.mode == '' && run.chosen == ''",
            Ok(true),
        ),
        (
            one,
            "note.present && note.valid && note.fresh && note.ready && !note.changed",
            Ok(true),
        ),
        (one, "note.count == 1 && note.path == 'note.json'", Ok(true)),
        (
            two,
            "note.count == 2 && note.path == 'notes/a.json'",
            Ok(true),
        ),
        (two, "note.many && note.first == 'notes/a.json'", Ok(true)),
        (
            one,
            "!note.many && note.first == 'note.json' && note.word == 'hello'",
            Ok(true),
        ),
        (one, "note.data.word == 'hello'", Ok(true)),
        (
            two,
            "note.all.map(one, one.data.word) == ['a', 'b']",
            Ok(true),
        ),
        (two, "note.data == null", Ok(true)),
        (
            one,
            "note.digest == '74d6bac23ebfb46cd90ddd8e63a06f3b1e3f2d93'",
            Ok(false),
        ),
        (one, "note.digest.size() == 40", Ok(true)),
        (
            &[],
            "gone.digest == null && gone.path == null && gone.count == 0",
            Ok(true),
        ),
        (
            &[],
            "!gone.present && !gone.valid && !gone.ready && size(gone.all) == 0",
            Ok(true),
        ),
        (one, "few", Ok(true)),
        // Of a file that is not valid, its data is null, and named facts are missing.
        (
            bad,
            "note.present && !note.valid && note.data == null && size(note.problems) == 1",
            Ok(true),
        ),
        (bad, "note.problems[0].severity == 'error'", Ok(true)),
        (bad, "note.word == 'hello'", Err(())),
        (two, "note.word == 'a'", Err(())),
        (one, "note.nothing", Err(())),
    ] {
        let text = SEEN.replace("GUARD", guard);
        let text = if guard.contains("note.nothing") {
            SEEN.replace("GUARD", "note.data.nothing")
        } else {
            text
        };
        let mut world = World::new(Arc::new(compiled("seen", &text)));
        for (path, text) in files {
            world.write(path, *text);
        }
        world.settle();
        let find = ActionName::new("find").expect("valid");
        let run = RunRecord {
            errors: 1,
            actions: [(
                find,
                Tally {
                    done: 2,
                    skipped: false,
                },
            )]
            .into(),
            ..RunRecord::default()
        };
        let mut state = State {
            run,
            phase: Some("open".to_owned()),
            ..world.known()
        };
        state.extra.insert("n".to_owned(), json!(7));
        let decision = evaluate(
            &world.workflow,
            &Recorded::Known(Box::new(state)),
            &world.facts(),
        );
        let told = match &decision.verdict {
            Verdict::Transition(_) => Ok(true),
            Verdict::Error { .. } => Err(()),
            _ => Ok(false),
        };
        assert_eq!(told, expected, "{guard} on {files:?}: {}", decision.reason);
    }
}

const WORKING: &str = r#"
```toml orch
[state.defaults]
n = 0
[state.rebuild]
"/n" = "report.data.n"
"/words" = "report.data.words"
[artifact.report]
path = "report.json"
[define]
reported = "report.ready && report.data.ok"
high = "state.n > 90"
[action.work]
when = "state.n < 80"
writes = ["/n"]
[action.tidy]
when = "report.ready"
[action.tell]
when = "state.n > 70"
[phase.open]
[phase.done]
terminal = true
[[rule]]
id = "asked"
on = "stop"
from = "open"
to = "done"
because = "a person stopped it"
[[rule]]
id = "file"
from = "open"
when = "report.ready"
to = "done"
because = "there is a report"
[[rule]]
id = "named"
from = "open"
when = "reported"
to = "done"
because = "it is reported"
[[rule]]
id = "tidy"
from = "open"
run = "tidy"
because = "a report is to be tidied"
[[rule]]
id = "menu"
from = "open"
when = "state.n > 40"
choose = ["tidy"]
because = "a person picks"
[[rule]]
id = "high"
from = "open"
when = "high"
wait = "less"
because = "it is too high"
[[rule]]
id = "tell"
from = "open"
when = "state.n > 60"
run = "tell"
because = "it is to be told"
[[rule]]
id = "work"
from = "open"
when = "state.n != 50 && !report.present && !reported"
run = "work"
because = "there is work"
```
"#;

/// The files at the start of an action are not kept, so only what rests on the state alone can show that it was not
/// due.
#[test]
fn an_action_is_refused_only_for_what_no_file_could_have_changed() {
    let world = World::new(Arc::new(compiled("working", WORKING)));
    let mut reported = world.clone();
    reported.write("report.json", r#"{"ok": true}"#);
    for (n, refused) in [
        (0, None),
        (41, None),
        (95, Some("it is too high")),
        (75, Some("it is to be told")),
        // Its own guard, and the condition of the action.
        (50, Some("`state.n != 50` does not hold")),
        (65, None),
        (85, Some("it is to be told")),
    ] {
        for world in [&world, &reported] {
            let mut state = world.known();
            state.extra.insert("n".to_owned(), json!(n));
            let rule = RuleId::new("work").expect("valid");
            let action = ActionName::new("work").expect("valid");
            let facts = world.facts();
            let told = accept(&world.workflow, &state, &facts, &rule, &action, &[], "done");
            let told = told.map(drop);
            let expected = refused.map(|why| format!("the rules do not run `work` here: {why}"));
            assert_eq!(
                told.err().map(|why| why.as_str().to_owned()),
                expected,
                "{n}"
            );
            let skipped = ActionName::new("work").expect("valid");
            state.run.actions.insert(
                skipped,
                Tally {
                    done: 0,
                    skipped: true,
                },
            );
            let told = accept(&world.workflow, &state, &facts, &rule, &action, &[], "done");
            assert!(told.is_err(), "it was given up");
        }
    }
}

#[test]
fn a_lost_state_is_rebuilt_from_what_files_say() {
    let world = World::new(Arc::new(compiled("working", WORKING)));
    for (report, data) in [
        (None, None),
        (Some("{"), None),
        (Some(r#"{"words": null}"#), None),
        (Some(r#"{"n": 3}"#), Some(json!({"n": 3}))),
        (
            Some(r#"{"words": ["a"], "n": null}"#),
            Some(json!({"n": 0, "words": ["a"]})),
        ),
    ] {
        let mut world = world.clone();
        report
            .into_iter()
            .for_each(|text| world.write("report.json", text));
        let stamp = world.stamp();
        let state = rebuild_from_files(&world.workflow, &world.facts(), &stamp);
        assert_eq!(
            state
                .as_ref()
                .map(|state| Value::Object(state.extra.clone())),
            data,
            "{report:?}"
        );
        let Some(state) = state else { continue };
        assert_eq!(
            (state.phase.as_deref(), state.rev, state.history.len()),
            (Some("open"), 1, 1)
        );
    }
}

#[test]
fn a_transition_waits_for_what_its_phase_requires() {
    let text = r#"
```toml orch
[phase.open]
requires = ["src/lib.rs", "README.md"]
[phase.done]
terminal = true
[[rule]]
id = "on"
from = "open"
to = "done"
because = "it goes on"
```
"#;
    let world = World::new(Arc::new(compiled("requires", text)));
    for (missing, expected) in [
        (&[][..], None),
        (&["other.md"], None),
        (&["README.md"], Some("README.md")),
        (&["README.md", "src/lib.rs"], Some("src/lib.rs")),
    ] {
        let missing = missing
            .iter()
            .map(|path| RepoPath::new(*path).expect("valid"))
            .collect();
        let facts = Facts {
            missing,
            ..world.facts()
        };
        let decision = evaluate(&world.workflow, &Recorded::New, &facts);
        let awaited = match &decision.verdict {
            Verdict::Wait { what, .. } => Some(what.as_str()),
            Verdict::Transition(_) => None,
            other => panic!("{other:?}"),
        };
        assert_eq!(awaited, expected);
        let finding = decision
            .diagnostics
            .iter()
            .find(|found| found.code == Code::RequiredMissing);
        assert_eq!(
            finding
                .and_then(|found| found.place.as_ref())
                .map(|at| at.path.as_str()),
            expected
        );
    }
}

const CODED: &str = r#"
```toml orch
[artifact.code]
tree = ["src/**"]
[artifact.note]
path = "note.json"
[phase.open]
produces = ["code"]
[phase.check]
needs = ["code"]
[phase.done]
terminal = true
[[rule]]
id = "on"
from = "open"
when = "code.ready"
to = "check"
because = "there is code"
[[rule]]
id = "checked"
from = "check"
when = "note.ready"
to = "done"
because = "it is checked"
```
"#;

#[test]
fn after_a_step_nothing_is_committed_and_the_state_is_the_fold() {
    let mut world = World::new(Arc::new(compiled("coded", CODED)));
    world.write("note.json", "{}");
    world.commit("code", &["t-1"]);
    let note = |code: Code| Diagnostic::note(code, "it is so");
    let commits = |facts: &Facts| {
        facts
            .artifacts
            .values()
            .flatten()
            .filter(|file| file.is_tree)
            .map(|file| file.data.clone())
            .collect::<Vec<_>>()
    };
    let none = Some(Arc::new(
        json!({"commits": [], "files": [], "confirmed": false}),
    ));
    for (codes, kept) in [
        (&[][..], &[][..]),
        (&[Code::StateFolded], &[]),
        (&[Code::StateLayout], &[]),
        (&[Code::StateEdited, Code::Untracked], &[Code::Untracked]),
        (&[Code::Untracked], &[Code::Untracked]),
    ] {
        let diagnostics: Vec<Diagnostic> = codes.iter().map(|code| note(*code)).collect();
        let before = Facts {
            diagnostics,
            ..world.facts()
        };
        let after = before.after_a_step().into_owned();
        assert_eq!(
            after
                .diagnostics
                .iter()
                .map(|found| found.code)
                .collect::<Vec<_>>(),
            kept
        );
        assert_eq!(commits(&after), std::slice::from_ref(&none));
        let [files, same] = [&before, &after].map(|facts| {
            facts
                .artifacts
                .values()
                .flatten()
                .filter(|file| !file.is_tree)
                .cloned()
                .collect::<Vec<_>>()
        });
        assert_eq!(files, same, "files stay as they are");
        // Without commits, only the findings about the state are dropped.
        let mut fileless = before.clone();
        fileless.artifacts.clear();
        let after = fileless.after_a_step();
        assert_eq!(
            after
                .diagnostics
                .iter()
                .map(|found| found.code)
                .collect::<Vec<_>>(),
            kept
        );
        assert_eq!(
            matches!(after, std::borrow::Cow::Borrowed(_)),
            codes == kept
        );
    }
}

#[test]
fn code_whose_history_a_shallow_clone_lacks_is_waited_for() {
    let mut world = World::new(Arc::new(compiled("coded", CODED)));
    world.write("note.json", "{}");
    let checking = State {
        phase: Some("check".to_owned()),
        ..world.known()
    };
    // What is wrong with the code, and whether a file of the task stands beside it.
    for (code, has_file, is_shallow) in [
        (Code::NotInClone, false, true),
        (Code::Unreadable, false, false),
        (Code::NotInClone, true, false),
    ] {
        let mut facts = world.facts();
        let name = facts
            .artifacts
            .keys()
            .find(|name| name.as_str() == "code")
            .expect("code")
            .clone();
        let files = facts.artifacts.get_mut(&name).expect("its files");
        for tree in files.iter_mut() {
            (tree.digest, tree.data) = (None, None);
            tree.problems = vec![Diagnostic::error(code, "it is cut off")];
        }
        if has_file {
            let file = files[0].clone();
            files.push(FileFact {
                is_tree: false,
                path: "code.patch".to_owned(),
                ..file
            });
        }
        let decision = evaluate(
            &world.workflow,
            &Recorded::Known(Box::new(checking.clone())),
            &facts,
        );
        assert_eq!(
            decision.lacks_history(),
            is_shallow,
            "{code} {has_file}: {decision:#?}"
        );
        let duty = duty(&world.workflow, &decision, None);
        assert_eq!(
            duty.task == Do::Repair && duty.kind == DutyKind::Wait,
            is_shallow,
            "{duty:?}"
        );
        assert_eq!(
            decision.options[0].argv == ["git", "fetch", "--unshallow"],
            is_shallow
        );
    }
}

#[test]
fn a_file_is_expected_at_one_path_that_its_pattern_matches() {
    for (pattern, path) in [
        ("note.json", "note.json"),
        ("notes/*.json", "notes/note.json"),
        ("notes/n?.json", "notes/n1.json"),
        ("notes/[ab]-[c].json", "notes/a-c.json"),
        ("notes/{x,y}{z}.json", "notes/xz.json"),
    ] {
        let text = format!(
            "```toml orch\n[artifact.note]\npath = {pattern:?}\n[phase.open]\nproduces = [\"note\"]\n[phase.done]\n\
             terminal = true\n[[rule]]\nid = \"on\"\nfrom = \"open\"\nwhen = \"note.ready\"\nto = \"done\"\n\
             because = \"it is there\"\n```\n"
        );
        let mut world = World::new(Arc::new(compiled("paths", &text)));
        assert_eq!(world.decide().expects[0].path, path, "{pattern}");
        world.write(path, "{}");
        assert!(world.decide().transition().is_some(), "{pattern}");
    }
}

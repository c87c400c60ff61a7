//! What lies around a task: what is offered and noted because of it.

use super::loops::LOOP;
use super::world::{LIFECYCLE, World, compiled, passing};
use orch_base::{Code, Diagnostic, Digest, Place, RepoPath, TaskPlace};
use orch_core::decide::{
    Circumstances, Decision, DutyKind, Ending, Facts, HistoryEntry, Kind, LastRun, Recorded,
    Remembered, RunRecord, Runner, State, Verdict, complete, duty, evaluate_here, fingerprint,
};
use serde_json::json;
use std::sync::Arc;

/// The circumstances of a task of this branch that no run drives, of which git remembers and ignores nothing.
fn plain() -> Circumstances<'static> {
    Circumstances {
        untracked: false,
        past: false,
        last_run: &LastRun::Settled,
        remembered: &|_, _| None,
        is_file: &|_| false,
        verification: &|_| None,
        done_on_base: &|_| None,
        head: &|| None,
        ignored: &Vec::new,
    }
}

fn judged(world: &World, recorded: &Recorded, circumstances: &Circumstances<'_>) -> Decision {
    evaluate_here(&world.workflow, recorded, &world.facts(), circumstances).decision
}

/// The commands that are offered.
fn offered(decision: &Decision) -> Vec<String> {
    decision
        .options
        .iter()
        .map(|option| option.argv.join(" "))
        .collect()
}

#[test]
fn what_git_remembers_of_a_missing_need_is_offered() {
    let mut world = World::new(LIFECYCLE.clone());
    world.reach("codegen");
    let (path, plan) = world
        .files
        .iter()
        .find(|(path, _)| path.contains("plan."))
        .expect("a plan");
    let (path, digest) = (path.clone(), Digest::of_blob(plan.text.as_bytes()));
    world.files.remove(&path);
    let place = format!("tasks/t-1/{path}");
    let at = RepoPath::new(&place).expect("a path");
    let knows = |asked: &RepoPath, blob: Digest| {
        (asked.as_str() == place && blob == digest).then(|| Remembered {
            commit: "abc1234".to_owned(),
            at: at.clone(),
        })
    };
    let restore = format!("git restore -s abc1234 -- {place}");
    let known = Circumstances {
        remembered: &knows,
        ..plain()
    };
    assert_eq!(
        offered(&judged(&world, &world.recorded(), &known))[0],
        restore
    );
    for circumstances in [
        plain(),
        Circumstances {
            past: true,
            ..known
        },
    ] {
        let told = offered(&judged(&world, &world.recorded(), &circumstances));
        assert!(!told.contains(&restore), "{told:?}");
    }
    // A task that was renamed had it at another path, and git restores a file only to its own.
    let commit = "abc1234".to_owned();
    for (at, expected) in [
        (
            format!("old/t-0/{path}"),
            Some(format!(
                "git --work-tree tasks/t-1 restore -s abc1234:old/t-0 -- :/{path}"
            )),
        ),
        ("tasks/t-1/planning/other.json".to_owned(), None),
    ] {
        let at = RepoPath::new(&at).expect("a path");
        let knows = |_: &RepoPath, _: Digest| {
            Some(Remembered {
                commit: commit.clone(),
                at: at.clone(),
            })
        };
        let told = offered(&judged(
            &world,
            &world.recorded(),
            &Circumstances {
                remembered: &knows,
                ..plain()
            },
        ));
        let restore = told
            .iter()
            .find(|command| command.starts_with("git"))
            .cloned();
        assert_eq!(restore, expected, "{told:?}");
    }
}

#[test]
fn what_failed_last_is_noted_with_whether_it_is_final() {
    let mut world = World::new(LIFECYCLE.clone());
    world.reach("codegen");
    for (recoverable, errors, expected) in [
        (json!(false), 1, Some("no network; this is not recoverable")),
        (json!(true), 1, Some("no network")),
        (json!(null), 1, Some("no network")),
        (json!(false), 0, None),
    ] {
        let error = json!({"message": "no network", "recoverable": recoverable});
        let run = RunRecord {
            errors,
            ..RunRecord::default()
        };
        let state = State {
            errors: vec![json!({"message": "older"}), error],
            run,
            ..world.known()
        };
        let decision = judged(&world, &Recorded::Known(Box::new(state)), &plain());
        let told = decision
            .diagnostics
            .iter()
            .find(|found| found.code == Code::ActionGivenUp);
        assert_eq!(
            told.map(|found| found.message.as_str()),
            expected,
            "{recoverable}"
        );
        let pointer = told.and_then(|found| found.place.as_ref()?.pointer.as_deref());
        assert_eq!(pointer, expected.map(|_| "/errors/1"));
    }
}

#[test]
fn a_due_transition_is_held_where_git_ignores_its_evidence_and_only_then_git_is_asked() {
    let mut world = World::new(LIFECYCLE.clone());
    world.reach("codegen");
    let ignored = || {
        let path = RepoPath::new("tasks/t-1/x").expect("valid");
        vec![Diagnostic::error(Code::EvidenceIgnored, "ignored").at(Place::file(&path))]
    };
    let unasked: &dyn Fn() -> Vec<Diagnostic> = &|| panic!("git is asked");
    // Nothing is due yet.
    judged(
        &world,
        &world.recorded(),
        &Circumstances {
            ignored: unasked,
            ..plain()
        },
    );
    for expected in world.decide().expects {
        world.write(
            &expected.path,
            passing(expected.artifact.as_str(), 0, &expected.of),
        );
    }
    let free = judged(&world, &world.recorded(), &plain());
    assert!(free.transition().is_some() && !free.is_held_by_ignored());
    assert!(
        offered(&free)
            .iter()
            .any(|command| command.starts_with("orch next t-1")),
        "{free:?}"
    );
    let held = judged(
        &world,
        &world.recorded(),
        &Circumstances {
            ignored: &ignored,
            ..plain()
        },
    );
    assert_eq!(held.verdict, free.verdict, "the rules say the same");
    assert!(
        held.is_held_by_ignored() && held.reason.starts_with("git ignores tasks/t-1/x"),
        "{held:?}"
    );
    assert_eq!(offered(&held), Vec::<String>::new());
    for circumstances in [
        Circumstances {
            past: true,
            ignored: unasked,
            ..plain()
        },
        Circumstances {
            untracked: true,
            ignored: unasked,
            ..plain()
        },
    ] {
        judged(&world, &world.recorded(), &circumstances);
    }
}

/// An untracked task is judged by its files, unless it had a record that cannot be used.
#[test]
fn an_untracked_task_whose_record_is_lost_is_an_error_and_no_new_task() {
    let mut world = World::new(LIFECYCLE.clone());
    world.reach("codegen");
    let untracked = Circumstances {
        untracked: true,
        ..plain()
    };
    for (recorded, name) in [(world.recorded(), "wait"), (Recorded::Lost, "record-lost")] {
        let decision = judged(&world, &recorded, &untracked);
        let is_noted = decision
            .diagnostics
            .iter()
            .any(|found| found.code == Code::Untracked);
        assert_eq!(
            (decision.verdict.name(), is_noted),
            (name, name == "wait"),
            "{decision:#?}"
        );
    }
}

/// The reason names what was lost of earlier phases; what the current phase needs is missing, too, and named elsewhere.
#[test]
fn each_lost_file_is_named_with_the_command_that_restores_it() {
    let mut world = World::new(LIFECYCLE.clone());
    world.reach("accept");
    world.files.clear();
    let knows = |asked: &RepoPath, _: Digest| {
        Some(Remembered {
            commit: "abc1234".to_owned(),
            at: asked.clone(),
        })
    };
    let decision = judged(
        &world,
        &world.recorded(),
        &Circumstances {
            remembered: &knows,
            ..plain()
        },
    );
    let command = |path: &RepoPath| format!("git restore -s abc1234 -- {path}");
    let lost: Vec<RepoPath> = decision
        .lost
        .iter()
        .map(|lost| world.facts().place.path(&lost.path).expect("a path"))
        .collect();
    assert!(lost.len() > 1, "{lost:?}");
    let restores: Vec<String> = offered(&decision)
        .into_iter()
        .filter(|command| command.starts_with("git restore"))
        .collect();
    assert!(
        restores.len() > lost.len(),
        "a need is missing, too: {restores:?}"
    );
    for restore in &restores {
        let is_lost = lost.iter().any(|path| command(path) == *restore);
        assert_eq!(
            decision.reason.contains(restore),
            is_lost,
            "{restore} in {}",
            decision.reason
        );
    }
    for path in &lost {
        let is_of = |finding: &&Diagnostic| {
            finding
                .place
                .as_ref()
                .is_some_and(|at| at.path == path.as_str())
        };
        let gone = decision
            .diagnostics
            .iter()
            .filter(|finding| finding.code == Code::EvidenceGone);
        let hint = gone.filter(is_of).find_map(|finding| finding.hint.clone());
        let told = hint.unwrap_or_else(|| panic!("{path} in {:?}", decision.diagnostics));
        let told = told.to_string();
        assert!(told.starts_with(&format!("{};", command(path))), "{told}");
    }
}

#[test]
fn what_the_last_run_came_to_says_who_must_act() {
    let mut world = World::new(LIFECYCLE.clone());
    world.reach("codegen");
    let (known, recorded, facts) = (world.known(), world.recorded(), world.facts());
    let now = fingerprint(&world.workflow, &known, &facts, None);
    let stalled = |seen: &[Digest]| LastRun::Stalled {
        why: "nothing changed".to_owned(),
        seen: seen.to_vec(),
    };
    let other = Digest::of_blob(b"other");
    for (last_run, runner, kind) in [
        (LastRun::Settled, None, DutyKind::Wait),
        (LastRun::Driven, Some(Runner::Running), DutyKind::Wait),
        (
            LastRun::Interrupted,
            Some(Runner::Interrupted),
            DutyKind::Wait,
        ),
        (
            stalled(&[other, now]),
            Some(Runner::Stalled("nothing changed".to_owned())),
            DutyKind::Stalled,
        ),
        // Something has changed since.
        (stalled(&[other]), None, DutyKind::Wait),
        (stalled(&[]), None, DutyKind::Wait),
    ] {
        let told = evaluate_here(
            &world.workflow,
            &recorded,
            &facts,
            &Circumstances {
                last_run: &last_run,
                ..plain()
            },
        );
        assert_eq!(told.runner, runner, "{last_run:?}");
        assert_eq!(
            duty(&world.workflow, &told.decision, runner.as_ref()).kind,
            kind,
            "{last_run:?}"
        );
    }
    let lost = evaluate_here(
        &world.workflow,
        &Recorded::Lost,
        &facts,
        &Circumstances {
            last_run: &stalled(&[now]),
            ..plain()
        },
    );
    assert_eq!(lost.runner, None, "what cannot be read is not stalled");
}

/// A task of the loop whose action `find` is due, and its state.
fn due_run() -> (World, State) {
    let mut world = World::new(Arc::new(compiled("loop", LOOP)));
    world.settle();
    let mut state = world.known();
    state.extra.insert("asked".to_owned(), json!(true));
    (world, state)
}

#[test]
fn a_due_action_is_offered_where_a_run_can_be_started() {
    let (world, state) = due_run();
    let known = Recorded::Known(Box::new(state));
    let run = "orch run t-1".to_owned();
    for (untracked, past, last_run, first, is_interrupted) in [
        (false, false, LastRun::Settled, Some(&run), false),
        (false, false, LastRun::Interrupted, Some(&run), true),
        (
            false,
            false,
            LastRun::Driven,
            Some(&"orch prompt t-1".to_owned()),
            false,
        ),
        (false, true, LastRun::Settled, None, false),
        (false, true, LastRun::Interrupted, None, false),
        (
            true,
            false,
            LastRun::Settled,
            Some(&"orch new t-1".to_owned()),
            false,
        ),
        (
            true,
            true,
            LastRun::Settled,
            Some(&"orch new t-1".to_owned()),
            false,
        ),
    ] {
        let decision = judged(
            &world,
            &known,
            &Circumstances {
                untracked,
                past,
                last_run: &last_run,
                ..plain()
            },
        );
        assert!(matches!(decision.verdict, Verdict::Run(_)), "{decision:?}");
        let options = offered(&decision);
        let told = format!("{untracked} {past} {last_run:?}");
        assert_eq!(options.first(), first, "{told}");
        assert_eq!(options.contains(&run), first == Some(&run), "{told}");
        // Nothing but its adoption is open to an untracked task.
        assert!(!untracked || options.len() == 1, "{options:?}");
        let noted = decision
            .diagnostics
            .iter()
            .any(|found| found.code == Code::RunInterrupted);
        assert_eq!(noted, is_interrupted, "{told}");
    }
}

#[test]
fn how_the_last_run_ended_is_noted_until_something_is_recorded() {
    let (world, state) = due_run();
    let reason = |ending: Ending| ending.reason("`find` asks: which?");
    for (kind, ending, past, noted) in [
        (Kind::End, Ending::Waiting, false, Some(Code::RunWaits)),
        (Kind::End, Ending::Failed, false, Some(Code::RunFailed)),
        (Kind::End, Ending::Paused, false, None),
        (Kind::Start, Ending::Waiting, false, None),
        (Kind::Start, Ending::Failed, false, None),
        (Kind::End, Ending::Waiting, true, None),
        (Kind::End, Ending::Failed, true, None),
    ] {
        let mut state = state.clone();
        let last = HistoryEntry::clone(state.history.last().unwrap_or(&Arc::new(entry(&world))));
        state.history.push(
            HistoryEntry {
                kind,
                reason: reason(ending),
                ..last
            }
            .into(),
        );
        let decision = judged(
            &world,
            &Recorded::Known(Box::new(state)),
            &Circumstances { past, ..plain() },
        );
        let told = decision
            .diagnostics
            .iter()
            .find(|found| [Code::RunWaits, Code::RunFailed].contains(&found.code));
        assert_eq!(
            told.map(|found| found.code),
            noted,
            "{kind:?} {ending:?} {past}"
        );
        assert!(
            told.is_none_or(|found| found.message.ends_with(": `find` asks: which?")),
            "{told:?}"
        );
    }
    // Where the rules do not run an action, nobody waits for a run.
    let (world, mut state) = due_run();
    state.extra.insert("asked".to_owned(), json!(false));
    state.history.push(
        HistoryEntry {
            kind: Kind::End,
            reason: reason(Ending::Waiting),
            ..entry(&world)
        }
        .into(),
    );
    let decision = judged(&world, &Recorded::Known(Box::new(state)), &plain());
    assert!(
        decision
            .diagnostics
            .iter()
            .all(|found| found.code != Code::RunWaits),
        "{decision:?}"
    );
}

/// Any recorded step.
fn entry(world: &World) -> HistoryEntry {
    let mut world = world.clone();
    world.apply(&orch_core::decide::create(&world.workflow.clone(), "new"));
    HistoryEntry::clone(world.known().history.last().expect("a step"))
}

#[test]
fn rules_that_go_round_are_a_livelock_before_anybody_follows_them() {
    const ROUND: &str = r#"
```toml orch
[phase.a]
[phase.b]
[phase.c]
terminal = true
[[rule]]
id = "on"
from = "a"
BY
to = "b"
because = "always"
[[rule]]
id = "back"
from = "b"
to = "a"
because = "always"
[[rule]]
id = "never"
from = "b"
when = "attempt > 1000"
to = "c"
because = "never"
```
"#;
    for (by, name) in [("", "livelock"), ("by = \"human\"", "transition")] {
        let world = World::new(Arc::new(compiled("round", &ROUND.replace("BY", by))));
        let decision = judged(&world, &Recorded::New, &plain());
        assert_eq!(decision.verdict.name(), name, "{decision:?}");
        assert_eq!(
            world.decide().verdict.name(),
            "transition",
            "each step alone is due"
        );
    }
    let mut world = World::new(LIFECYCLE.clone());
    for expected in world.decide().expects {
        world.write(
            &expected.path,
            passing(expected.artifact.as_str(), 0, &expected.of),
        );
    }
    let decision = judged(&world, &Recorded::New, &plain());
    assert_eq!(decision, world.decide(), "a step that leads on is due");
}

#[test]
fn an_untracked_task_is_judged_as_far_as_its_files_lead() {
    let mut world = World::new(LIFECYCLE.clone());
    let untracked = Circumstances {
        untracked: true,
        ..plain()
    };
    let phase = |decision: &Decision| decision.phase.as_ref().map(ToString::to_string);
    assert_eq!(
        phase(&judged(&world, &Recorded::New, &untracked)).as_deref(),
        Some("planning")
    );
    for expected in world.decide().expects {
        world.write(
            &expected.path,
            passing(expected.artifact.as_str(), 0, &expected.of),
        );
    }
    let decision = judged(&world, &Recorded::New, &untracked);
    assert_eq!(phase(&decision).as_deref(), Some("plan_review"));
    assert_eq!(offered(&decision), ["orch new t-1"]);
    let hint = |decision: &Decision| {
        let note = decision
            .diagnostics
            .iter()
            .find(|found| found.code == Code::Untracked);
        note.expect("a note").hint.as_ref().map(ToString::to_string)
    };
    assert_eq!(hint(&decision).as_deref(), Some("orch new t-1"));
    // What cannot be evaluated cannot be adopted, unless only the ids have another format.
    let unknown = State {
        phase: Some("nowhere".to_owned()),
        ..world.known()
    };
    let recorded = Recorded::Known(Box::new(unknown));
    let decision = judged(&world, &recorded, &untracked);
    assert!(
        matches!(
            decision.verdict,
            Verdict::Error {
                code: Code::UnknownPhase
            }
        ),
        "{decision:?}"
    );
    assert_eq!((offered(&decision), hint(&decision)), (vec![], None));
    let other = Decision {
        verdict: Verdict::Error {
            code: Code::OtherObjectFormat,
        },
        ..decision
    };
    let concluded = complete(
        &world.workflow,
        &recorded,
        &world.facts(),
        other,
        &untracked,
    );
    assert_eq!(offered(&concluded.decision), ["orch new t-1"]);
}

#[test]
fn a_missing_file_that_lies_above_the_task_is_named_with_the_way_to_move_it() {
    let mut world = World::new(LIFECYCLE.clone());
    let wanted = world.decide().expects[0].path.clone();
    let noted = |world: &World, found: &str, past: bool| {
        let there = |path: &RepoPath| path.as_str() == found;
        let decision = judged(
            world,
            &world.recorded(),
            &Circumstances {
                is_file: &there,
                past,
                ..plain()
            },
        );
        let problems = decision
            .expects
            .into_iter()
            .flat_map(|expected| expected.problems);
        problems
            .into_iter()
            .find(|one| one.code == Code::ArtifactMisplaced)
            .map(|one| one.hint.unwrap_or_default().to_string())
    };
    for (found, past, is_noted) in [
        (format!("tasks/{wanted}"), false, true),
        (wanted.clone(), false, true),
        (wanted.clone(), true, false),
        (format!("other/{wanted}"), false, false),
        (format!("tasks/t-1/{wanted}"), false, false),
    ] {
        let hint = is_noted.then(|| format!("mv {found} tasks/t-1/{wanted}"));
        assert_eq!(noted(&world, &found, past), hint, "{found} {past}");
    }
    // A file that is only invalid is there.
    world.write(&wanted, "");
    assert_eq!(noted(&world, &wanted, false), None);
}

#[test]
fn git_restores_a_file_only_from_a_directory_into_a_directory() {
    let mut world = World::new(LIFECYCLE.clone());
    world.reach("codegen");
    let path = world
        .files
        .keys()
        .find(|path| path.contains("plan."))
        .expect("a plan")
        .clone();
    world.files.remove(&path);
    let place = |directory: &str| match directory {
        "" => TaskPlace::of_directory(RepoPath::root()),
        other => TaskPlace::of_directory(RepoPath::new(other).expect("a path")),
    };
    for (directory, at, is_offered) in [
        ("tasks/t-1", format!("tasks/t-1/{path}"), true),
        ("tasks/t-1", format!("old/{path}"), true),
        ("tasks/t-1", path.clone(), false),
        ("", path.clone(), true),
        ("", format!("old/{path}"), false),
    ] {
        let facts = Facts {
            place: place(directory),
            ..world.facts()
        };
        let at = RepoPath::new(&at).expect("a path");
        let knows = |_: &RepoPath, _: Digest| {
            Some(Remembered {
                commit: "abc1234".to_owned(),
                at: at.clone(),
            })
        };
        let told = evaluate_here(
            &world.workflow,
            &world.recorded(),
            &facts,
            &Circumstances {
                remembered: &knows,
                ..plain()
            },
        );
        let restores = offered(&told.decision)
            .iter()
            .any(|command| command.starts_with("git"));
        assert_eq!(restores, is_offered, "{at} to `{directory}`");
    }
}

/// A task whose code is expected in a commit that names it, beside a note.
fn to_be_named() -> World {
    let text = r#"
```toml orch
[artifact.plan]
path = "plan.json"
[artifact.change]
tree = ["src/**"]
[artifact.note]
path = "note.json"
[phase.planning]
produces = ["plan"]
[phase.code]
produces = ["change", "note"]
[phase.done]
terminal = true
[[rule]]
id = "planned"
from = "planning"
when = "plan.ready"
to = "code"
because = "there is a plan"
[[rule]]
id = "coded"
from = "code"
when = "change.data.commits.exists(commit, task in commit.tasks) && note.data.ok"
to = "done"
because = "there is code"
```
"#;
    let mut world = World::new(Arc::new(compiled("named", text)));
    world.commit("as it was", &[]);
    world.write("plan.json", "{}");
    world.settle();
    world.write("note.json", r#"{"ok": true}"#);
    world
}

#[test]
fn a_commit_that_names_no_task_can_be_given_the_name_while_the_name_is_what_is_missing() {
    let (newest, other) = (Digest::of_blob(b"newest"), Digest::of_blob(b"other"));
    let amend = "git commit --amend --only --no-edit --trailer Orch-Task: t-1".to_owned();
    let short = &newest.to_string()[..7];
    let empty = format!(
        "git commit --allow-empty --only -m {short} is the work of t-1 --trailer Orch-Task: t-1"
    );
    let none: &[&str] = &[];
    // The tasks that the commits name, newest first, what the note says, what is checked out, and the command.
    for (tasks, ok, head, expected) in [
        (&[none][..], true, Some(newest), Some(&amend)),
        (&[none, &["t-9"]], true, Some(newest), Some(&amend)),
        (&[none], true, Some(other), Some(&empty)),
        (&[none], true, None, None),
        (&[&["t-9"]], true, Some(newest), None),
        (&[&["t-9"], none], true, Some(newest), None),
        // Only the note is not as it should be.
        (&[none, &["t-1"]], false, Some(newest), None),
        (&[&["t-1"]], false, Some(newest), None),
        (&[none], false, Some(newest), Some(&amend)),
        // There is no change yet, whatever was committed.
        (&[], true, Some(newest), None),
    ] {
        let mut world = to_be_named();
        if !tasks.is_empty() {
            world.commit("changed", &[]);
        }
        world.write("note.json", json!({"ok": ok}).to_string());
        let mut facts = world.facts();
        let ids = [newest, other];
        let commits: Vec<serde_json::Value> = tasks
            .iter()
            .zip(ids)
            .map(|(tasks, id)| json!({"id": id.to_string(), "tasks": tasks}))
            .collect();
        // A change that was taken back leaves its commits, and no change.
        let commits = if tasks.is_empty() {
            vec![json!({"id": newest.to_string(), "tasks": []})]
        } else {
            commits
        };
        for tree in facts
            .artifacts
            .values_mut()
            .flatten()
            .filter(|file| file.is_tree)
        {
            tree.data = Some(Arc::new(
                json!({"commits": commits, "files": [], "confirmed": false}),
            ));
        }
        let head = || head;
        for (untracked, past) in [(false, false), (true, false), (false, true)] {
            let circumstances = Circumstances {
                untracked,
                past,
                head: &head,
                ..plain()
            };
            let told =
                evaluate_here(&world.workflow, &world.recorded(), &facts, &circumstances).decision;
            let trailer = told
                .options
                .iter()
                .position(|option| option.id == "trailer");
            let command = trailer.map(|at| offered(&told)[at].clone());
            let expected = expected.filter(|_| !untracked && !past);
            assert_eq!(
                command.as_ref(),
                expected,
                "{tasks:?} {ok} {untracked} {past}"
            );
            // Orders against the rules come last.
            let order = told
                .options
                .iter()
                .position(|option| option.id == "override");
            assert!(
                trailer.is_none_or(|at| order.is_some_and(|order| at < order)),
                "{:?}",
                offered(&told)
            );
        }
    }
}

#[test]
fn that_a_task_cannot_be_finished_is_told_where_it_could_be() {
    let knows = |asked: &RepoPath, _: Digest| {
        Some(Remembered {
            commit: "abc1234".to_owned(),
            at: asked.clone(),
        })
    };
    let known = Circumstances {
        remembered: &knows,
        ..plain()
    };
    let restore = "git restore -s abc1234 -- tasks/t-1/review/plan/verdict.json";
    for (phase, gone, starts, ends) in [
        (
            "codegen",
            "review/plan/verdict.json",
            "code/diff.patch, code/tasks.md are missing",
            "",
        ),
        (
            "codegen",
            "",
            "code/diff.patch, code/tasks.md are missing",
            "",
        ),
        ("accept", "", "accept/decision.json is missing", ""),
        (
            "accept",
            "review/plan/verdict.json",
            "review/plan/verdict.json is missing, although the task left `plan_review` with it; the task cannot be \
             finished before it is restored: ",
            "; then: accept/decision.json is missing",
        ),
    ] {
        let mut world = World::new(LIFECYCLE.clone());
        world.reach(phase);
        world.files.remove(gone);
        let reason = judged(&world, &world.recorded(), &known).reason;
        let expected = if ends.is_empty() {
            starts.to_owned()
        } else {
            format!("{starts}{restore}{ends}")
        };
        assert!(reason.starts_with(&expected), "{phase} {gone}: {reason}");
        assert_eq!(
            reason.contains("cannot be finished"),
            !ends.is_empty(),
            "{phase} {gone}: {reason}"
        );
    }
    // An inconsistent task says already what is gone.
    let mut world = World::new(LIFECYCLE.clone());
    world.reach("accept");
    let says = world.decide();
    assert!(
        says.reason.starts_with("accept/decision.json"),
        "{}",
        says.reason
    );
    for path in ["review/plan/verdict.json", "code/diff.patch"] {
        world.files.remove(path);
    }
    let (plain, told) = (world.decide(), judged(&world, &world.recorded(), &known));
    assert_eq!(told.reason, format!("{}: {restore}", plain.reason));
}

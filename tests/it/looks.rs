//! What looking costs: how often files are read, HEAD is opened and the rules are asked.

#[path = "../../benches/targets/longer.rs"]
mod longer;

use crate::harness::{World, taken};
use longer::longer;
use orch_base::{Code, RepoPath};
use orch_core::decide::Ending;
use orch_core::decide::Recorded;
use orch_engine::apply::Writer;
use orch_engine::drive;
use orch_engine::drive::{
    Happened, RunOptions, StopFlag, WatchEffect, WatchEvent, WatchMode, Watching,
};
use orch_engine::survey::{Caller, Counted, Sight, Workspace};
use std::time::Duration;

/// Whoever calls in this process: nothing is set but where programs are.
pub fn caller() -> Caller {
    let unset = Caller::from_environment(|name| {
        (name == "PATH").then(|| "/usr/local/bin:/usr/bin:/bin".to_owned())
    });
    Caller {
        at_terminal: true,
        ..unset
    }
}

/// A repository with one task, `t1`, in which this process may commit.
pub fn world() -> World {
    let world = World::ready();
    world.git(&["config", "user.name", "Ann"]);
    world.git(&["config", "user.email", "ann@example.com"]);
    world.git(&["config", "commit.gpgSign", "false"]);
    world.orch(&["new", "t1"]).succeeds();
    world
}

pub fn open(world: &World) -> Workspace {
    Workspace::open(&world.root(), caller().environment).expect("a repository")
}

/// Until a file is old enough to be told from itself at another time.
pub fn settle() {
    std::thread::sleep(Duration::from_millis(60));
}

fn changed(paths: &[&str]) -> WatchEvent {
    WatchEvent::Changed(
        paths
            .iter()
            .map(|path| RepoPath::new(path).expect("a path"))
            .collect(),
    )
}

const RECORD: [&str; 2] = ["tasks/t1/state.json", "tasks/t1/transcript.jsonl"];

/// A watch over a world that has looked at everything, and what that has cost.
fn watching(world: &World) -> (Watching, Counted) {
    let mut watching = Watching::new(open(world), caller(), WatchMode::Apply);
    taken(&mut watching, vec![WatchEvent::Start]);
    let counted = watching.workspace().reader().counted();
    (watching, counted)
}

/// The same after a plan was written and its task has moved.
fn watching_a_move(world: &World) -> (Watching, Counted) {
    let (mut watching, before) = watching(world);
    world.plan("t1", 1);
    settle();
    let effects = taken(
        &mut watching,
        vec![changed(&["tasks/t1/planning/plan.json"])],
    );
    assert!(
        matches!(effects.as_slice(), [WatchEffect::Moved(_)]),
        "one task has moved"
    );
    (watching, before)
}

#[test]
fn one_artifact_and_one_commit_are_one_look() {
    let world = world();
    let (mut watching, before) = watching_a_move(&world);
    settle();
    // What git and the watch itself have written comes back as events.
    let effects = taken(&mut watching, vec![WatchEvent::Head, changed(&RECORD)]);
    assert!(effects.is_empty(), "nothing new is seen");
    let cost = watching.workspace().reader().counted().since(&before);
    assert_eq!(
        (cost.looks, cost.reads),
        (1, 3),
        "plan, state and transcript, once each: {cost:?}"
    );
    assert_eq!(
        (cost.evaluations, cost.locks),
        (2, 1),
        "before and after: {cost:?}"
    );
    assert!(cost.heads <= 5, "{cost:?}");
    // In four directories, in the repository, and up to four of the user's and the system's.
    assert!(
        cost.attributes <= 2 * 9,
        "once in the look and once for the commit: {cost:?}"
    );
    assert_eq!(world.phase("t1"), "plan_review");
    assert_eq!(world.dirty(), "");
}

#[test]
fn a_commit_of_the_watch_hides_none_of_others() {
    let world = world();
    world.orch(&["new", "t2"]).succeeds();
    settle();
    let (mut watching, _) = watching(&world);
    world.plan("t1", 1);
    world.commit_code("1", None);
    settle();
    // The files are noticed before HEAD is, so the watch commits on top of the code.
    let effects = taken(
        &mut watching,
        vec![changed(&["tasks/t1/planning/plan.json"])],
    );
    assert!(
        matches!(effects.as_slice(), [WatchEffect::Moved(_)]),
        "one task has moved"
    );
    let before = watching.workspace().reader().counted();
    taken(&mut watching, vec![WatchEvent::Head]);
    assert_eq!(
        watching.workspace().reader().counted().since(&before).looks,
        2,
        "the code may concern each task"
    );
    let before = watching.workspace().reader().counted();
    taken(&mut watching, vec![WatchEvent::Head]);
    assert_eq!(
        watching.workspace().reader().counted().since(&before).looks,
        0,
        "once"
    );
}

#[test]
fn a_commit_is_looked_at_for_the_tasks_whose_files_or_code_it_changes() {
    let world = world();
    for id in ["t2", "t3"] {
        world.orch(&["new", id]).succeeds();
    }
    world.write("tasks/t3/notes.md", "1\n");
    settle();
    let all = 3;
    let (mut watching, _) = watching(&world);
    type Change = (&'static str, fn(&World), u64);
    let changes: [Change; 8] = [
        (
            "another process moves a task",
            |world| {
                world.plan("t2", 1);
                world.orch(&["next", "t2"]).succeeds();
            },
            1,
        ),
        (
            "nothing is committed",
            |world| _ = world.git(&["commit", "-q", "--allow-empty", "-m", "none"]),
            0,
        ),
        (
            "an empty commit names a task",
            |world| {
                let named = [
                    "commit",
                    "-q",
                    "--allow-empty",
                    "-m",
                    "none",
                    "--trailer",
                    "Orch-Task: t2",
                ];
                world.git(&named);
            },
            all,
        ),
        (
            "files of a task are committed",
            |world| world.commit("notes"),
            1,
        ),
        (
            "code is committed",
            |world| world.commit_code("1", None),
            all,
        ),
        (
            "a commit is taken back",
            |world| _ = world.git(&["reset", "-q", "--soft", "HEAD~1"]),
            all,
        ),
        (
            "it is made again, before another",
            |world| {
                world.commit("again");
                world.git(&["commit", "-q", "--allow-empty", "-m", "none"]);
            },
            all,
        ),
        (
            "a merge brings code",
            |world| {
                world.git(&["switch", "-q", "-c", "side"]);
                world.commit_code("2", None);
                world.git(&["switch", "-q", "main"]);
                world.git(&["merge", "-q", "--no-ff", "--no-edit", "side"]);
            },
            all,
        ),
    ];
    for (what, change, looks) in changes {
        let before = watching.workspace().reader().counted();
        change(&world);
        settle();
        taken(&mut watching, vec![WatchEvent::Head]);
        assert_eq!(
            watching.workspace().reader().counted().since(&before).looks,
            looks,
            "{what}"
        );
    }
}

#[test]
fn an_attribute_that_appears_between_two_looks_counts() {
    let world = world();
    world.plan("t1", 1);
    let workspace = open(&world);
    let task = workspace.finder().task("t1").expect("a task");
    let digest = |sight: &Sight| sight.observed.files[0].digest;
    let before = digest(&workspace.look(&task).expect("a look"));
    world.write(".git/info/attributes", "*.json filter=upper\n");
    world.git(&["config", "filter.upper.clean", "tr a-z A-Z"]);
    assert_ne!(digest(&workspace.look(&task).expect("a look")), before);
}

#[test]
fn what_somebody_writes_beside_our_own_is_seen() {
    let world = world();
    let (mut watching, _) = watching_a_move(&world);
    // One event for both: our state, and a review of somebody else's.
    world.plan_review("t1", true, 1);
    settle();
    let effects = taken(&mut watching, vec![WatchEvent::Head, changed(&RECORD)]);
    assert!(
        matches!(effects.as_slice(), [WatchEffect::Moved(_)]),
        "the review counts"
    );
    assert_eq!(world.phase("t1"), "codegen");
    // And one who edits the state itself is told so, though it is a file of our own.
    world.write("tasks/t1/state.json", "{");
    let effects = taken(&mut watching, vec![changed(&RECORD)]);
    assert!(
        matches!(effects.as_slice(), [WatchEffect::Stands(_)]),
        "the state is broken"
    );
}

#[test]
fn what_changes_between_the_look_and_the_lock_is_looked_at_again() {
    let world = world();
    let workspace = open(&world);
    let (caller, task) = (caller(), workspace.finder().task("t1").expect("a task"));
    world.plan("t1", 1);
    settle();
    let before = workspace.reader().counted();
    let plan = orch_engine::apply::AdvancePlan {
        may: &|_| true,
        lapses: true,
        once: false,
        own: false,
        dry_run: false,
        adopt: &|_| false,
    };
    Writer::new(&workspace, &caller)
        .advance()
        .tasks(std::slice::from_ref(&task), &plan)
        .expect("applied");
    let cost = workspace.reader().counted().since(&before);
    assert_eq!((cost.looks, cost.locks), (1, 1), "{cost:?}");
    // A file so young that a second change could not be told is looked at once more under the lock.
    let before = workspace.reader().counted();
    world.plan_review("t1", true, 1);
    Writer::new(&workspace, &caller)
        .advance()
        .tasks(std::slice::from_ref(&task), &plan)
        .expect("applied");
    let cost = workspace.reader().counted().since(&before);
    assert_eq!((cost.looks, cost.locks), (2, 1), "{cost:?}");
    assert_eq!(world.phase("t1"), "codegen");
}

const AGENT: &str = r#"
cat > /dev/null
task=tasks/$ORCH_TASK
mkdir -p $task/planning $task/review/plan $task/review/code $task/code $task/eval
review() { echo "{\"ok\": true, \"issues\": [], \"finished_at\": \"2026-11-21T04:1$1:00Z\"}"; }
case $ORCH_ACTION in
  planner) echo '{"title": "Login", "status": "final", "why": "It fails.", "what": "Mend it."}' > $task/planning/plan.json ;;
  plan-reviewer) review 1 > $task/review/plan/verdict.json ;;
  coder) printf -- '--- a/login.rs\n+++ b/login.rs\n@@ -1 +1 @@\n-old\n+new\n' > $task/code/diff.patch ;;
  code-reviewer) review 2 > $task/review/code/verdict.json ;;
  tester) echo '<testsuite name="run" tests="1" failures="0"><testcase name="a"></testcase></testsuite>' > $task/eval/junit.xml ;;
esac
"#;

/// What the workspace has counted at each turn of a run that ends when a person is to accept.
fn turns(world: &World) -> Vec<Counted> {
    world.write("agent.sh", AGENT);
    world.write(".git/info/exclude", "agent.sh\n");
    let workspace = open(world);
    let (caller, task) = (caller(), workspace.finder().task("t1").expect("a task"));
    let command = ["sh", "agent.sh"].map(str::to_owned).to_vec();
    let options = RunOptions {
        command,
        ..RunOptions::default()
    };
    let mut turns = Vec::new();
    let end = drive::run(
        &Writer::new(&workspace, &caller),
        &task,
        &options,
        &StopFlag::default(),
        &mut |happened| {
            if let Happened::Turn { .. } = happened {
                turns.push(workspace.reader().counted());
            }
        },
    )
    .expect("it runs");
    assert_eq!(
        (end.ending, end.turns.0),
        (Ending::Waiting, 5),
        "to accept is for a person"
    );
    turns
}

#[test]
fn a_turn_of_a_run_is_three_looks_at_most() {
    let turns = turns(&world());
    for turn in turns.windows(2) {
        let cost = turn[1].since(&turn[0]);
        assert!(cost.looks <= 3 && cost.locks == 1, "{cost:?}");
        assert!(cost.reads <= 24, "{cost:?}");
    }
    let begun = turns[0];
    assert_eq!(
        begun.locks, 1,
        "only to see whether anything can be committed: {begun:?}"
    );
}

/// A state vouches for the lines of a short log, and a long one is read whole.
#[test]
fn a_turn_of_a_run_reads_only_the_new_lines_of_a_long_log() {
    let world = world();
    lengthen(&world, "t1", 300);
    let turns = turns(&world);
    let lines: Vec<u64> = turns
        .windows(2)
        .map(|turn| turn[1].since(&turn[0]).log_lines)
        .collect();
    assert!(
        lines[0] > 300,
        "the first step follows from all of it: {lines:?}"
    );
    assert!(
        lines[1..].iter().all(|lines| (1..=4).contains(lines)),
        "{lines:?}"
    );
}

/// What of a sight follows from the files and the repository alone.
fn told(sight: &Sight) -> String {
    format!(
        "{:?} {:?} {} {}",
        sight.decision, sight.observed.facts, sight.untracked, sight.is_committed
    )
}

#[test]
fn what_stands_after_a_step_is_what_another_look_sees() {
    let world = world();
    let workspace = open(&world);
    let (caller, task) = (caller(), workspace.finder().task("t1").expect("a task"));
    let writer = Writer::new(&workspace, &caller);
    let plan = orch_engine::apply::AdvancePlan {
        may: &|_| true,
        lapses: true,
        once: false,
        own: false,
        dry_run: false,
        adopt: &|_| false,
    };
    type Scene = fn(&World);
    let scenes: [Scene; 8] = [
        |world| world.plan("t1", 1),
        |world| world.plan_review("t1", false, 1),
        |world| world.plan("t1", 2),
        |world| world.plan_review("t1", true, 2),
        |world| world.patch("t1", 1),
        |world| world.code_review("t1", true, 3),
        |world| world.tests("t1", 1, 1),
        |world| world.patch("t1", 2),
    ];
    for (number, scene) in scenes.into_iter().enumerate() {
        scene(&world);
        let outcomes = writer
            .advance()
            .tasks(std::slice::from_ref(&task), &plan)
            .expect("applied");
        let [orch_engine::apply::TaskOutcome::Applied(applied)] = outcomes.as_slice() else {
            panic!("nothing moved in scene {number}")
        };
        let again = workspace.look(&task).expect("a look");
        assert_eq!(told(&applied.sight), told(&again), "scene {number}");
        assert_eq!(applied.sight.recorded, again.recorded, "scene {number}");
    }
    let order = orch_engine::apply::Order::Rollback {
        to: Some("planning".to_owned()),
        reason: "again".to_owned(),
    };
    let applied = writer
        .orders()
        .give(&task, &order, false)
        .expect("rolled back");
    assert_eq!(
        told(&applied.sight),
        told(&workspace.look(&task).expect("a look"))
    );
}

/// Makes so many steps more of a task's record, as if each had been recorded, and commits it.
fn lengthen(world: &World, task: &str, many: usize) {
    let [state_path, log_path] =
        ["state.json", "transcript.jsonl"].map(|name| format!("tasks/{task}/{name}"));
    let (log, state) = longer(&world.read(&log_path), many);
    world.write(&state_path, &state);
    world.write(&log_path, &log);
    world.git(&["add", "-A"]);
    world.git(&["commit", "-qm", "longer"]);
}

/// What a look at a task in a process of its own costs.
fn cost_of_a_look(world: &World) -> (Sight, Counted) {
    let workspace = open(world);
    let task = workspace.finder().task("t1").expect("a task");
    let before = workspace.reader().counted();
    let sight = workspace.look(&task).expect("a look");
    (sight, workspace.reader().counted().since(&before))
}

#[test]
fn a_task_with_ten_thousand_events_is_looked_at_as_one_with_ten() {
    let world = world();
    lengthen(&world, "t1", 10);
    let (_, short) = cost_of_a_look(&world);
    assert!(short.bytes < 16 << 10, "{short:?}");
    lengthen(&world, "t1", 9_990);
    let size = world.read(RECORD[1]).len();
    assert!(size > 2 << 20, "{size}");
    let (sight, long) = cost_of_a_look(&world);
    assert_eq!((long.reads, long.looks), (short.reads, short.looks));
    assert!(
        long.bytes < short.bytes + (65 << 10),
        "{long:?} instead of {short:?}"
    );
    assert!(sight.is_committed && !sight.untracked && sight.decision.diagnostics.is_empty());
    let (Recorded::Known(state), true) = (&sight.recorded, sight.observed.log.end().is_some())
    else {
        panic!("only the end is read")
    };
    assert_eq!(state.rev, 10_001);
}

/// What is found by a look at the long log of a committed task after its record was changed.
fn found(change: impl FnOnce(&World, &str, &str)) -> (Vec<Code>, Sight, World) {
    let world = world();
    lengthen(&world, "t1", 400);
    let [state, log] = RECORD.map(|path| world.read(path));
    assert!(log.len() > 80 << 10, "longer than what is read of its end");
    change(&world, &state, &log);
    let (sight, _) = cost_of_a_look(&world);
    let codes = sight.decision.diagnostics.iter().map(|found| found.code);
    let broken = if let Recorded::Broken(found) = &sight.recorded {
        found.as_slice()
    } else {
        &[]
    };
    (
        codes.chain(broken.iter().map(|found| found.code)).collect(),
        sight,
        world,
    )
}

#[test]
fn a_look_at_the_end_of_a_long_log_sees_what_a_look_at_all_of_it_does() {
    let [state_path, log_path] = RECORD;
    let of_line = |log: &str, number: usize, change: &dyn Fn(&str) -> String| -> String {
        let lines = log.split_inclusive('\n').enumerate();
        lines
            .map(|(at, line)| {
                if at == number {
                    change(line)
                } else {
                    line.to_owned()
                }
            })
            .collect()
    };
    let cut = found(|world, _, log| world.write(log_path, of_line(log, 400, &|_| String::new())));
    assert!(
        cut.0.contains(&Code::TranscriptCut),
        "the last line is gone: {:?}",
        cut.0
    );
    let cut = found(|world, _, log| world.write(log_path, of_line(log, 3, &|_| String::new())));
    assert!(
        cut.0.contains(&Code::LogIncomplete),
        "a line in the middle is gone: {:?}",
        cut.0
    );
    let longer = found(|world, _, log| world.write(log_path, format!("{log}<<<<<<< HEAD\n")));
    assert!(longer.0.contains(&Code::ConflictMarkers), "{:?}", longer.0);
    let longer = found(|world, _, log| world.write(log_path, format!("{log}{{}}\n")));
    assert!(longer.0.contains(&Code::LogInvalid), "{:?}", longer.0);
    let edit = |state: &str| state.replace("\"planning\"", "\"codegen\"");
    let edited = found(|world, state, _| world.write(state_path, edit(state)));
    assert!(
        edited.0.contains(&Code::StateEdited),
        "the seal is broken: {:?}",
        edited.0
    );
    let other = found(|world, _, _| {
        world.git(&["rm", "-q", "--cached", state_path]);
        world.git(&["commit", "-qm", "gone"]);
    });
    assert!(other.0.is_empty() && other.1.is_committed && other.1.observed.log.end().is_none());
    // A log that HEAD holds longer than it lies there, beside the state that belongs to it.
    let back = found(|world, state, log| {
        lengthen(world, "t1", 5);
        world.write(state_path, state);
        world.write(log_path, log);
    });
    assert!(back.0.contains(&Code::TranscriptCut), "{:?}", back.0);
    let crlf = found(|world, _, log| world.write(log_path, log.replace('\n', "\r\n")));
    assert!(crlf.0.is_empty() && crlf.1.observed.log.end().is_none());
}

#[test]
fn what_a_look_at_the_end_cannot_see_is_refused_before_a_step_is_recorded() {
    let (codes, sight, world) = found(|world, _, log| {
        world.write(RECORD[1], log.replacen("step 7", "step 8", 1));
        world.plan("t1", 1);
    });
    assert!(
        codes.is_empty() && sight.observed.log.end().is_some(),
        "{codes:?}"
    );
    let head = world.git(&["rev-parse", "HEAD"]);
    world.orch(&["next", "t1"]).reports("the line was changed");
    world.orch(&["check", "t1"]).says("the line was changed");
    assert_eq!(world.git(&["rev-parse", "HEAD"]), head);
    world.git(&["restore", "--", RECORD[1]]);
    world.orch(&["next", "t1"]).succeeds();
    assert_eq!(world.phase("t1"), "plan_review");
}

#[test]
fn branches_that_share_trees_cost_no_more_looks() {
    let world = world();
    for id in ["t2", "t3"] {
        world.orch(&["new", id]).succeeds();
    }
    let cost = || {
        let workspace = open(&world);
        assert_eq!(workspace.overview().expect("an overview").tasks.len(), 3);
        workspace.reader().counted()
    };
    world.git(&["switch", "-q", "-c", "moved"]);
    world.plan("t1", 1);
    world.orch(&["next", "t1"]).succeeds();
    world.git(&["switch", "-q", "main"]);
    let few = cost();
    assert_eq!(
        few.looks, 3,
        "each task once: t1 on its branch, the others here"
    );
    for number in 0..12 {
        world.git(&[
            "branch",
            &format!("b{number}"),
            if number % 2 == 0 { "main" } else { "moved" },
        ]);
    }
    let many = cost();
    assert_eq!(
        (many.looks, many.reads, many.bytes),
        (few.looks, few.reads, few.bytes),
        "{few:?} {many:?}"
    );
}

#[test]
fn a_watch_that_begins_again_looks_at_what_has_changed() {
    let world = world();
    world.write("orch.toml", "[watch]\nadopt = true\n");
    world.commit("adopt");
    // Of fewer, each is looked at.
    let ids: Vec<String> = (0..110).map(|number| format!("m-{number:03}")).collect();
    ids.iter().for_each(|id| world.plan(id, 1));
    let all = ids.len() as u64 + 1;
    watching(&world);
    assert_eq!(world.phase("m-000"), "plan_review");
    settle();
    let (_, first) = watching(&world);
    assert_eq!(
        first.looks, all,
        "all had moved, or got a suggestion, after the looks of the first watch"
    );
    let (mut again, second) = watching(&world);
    assert_eq!(
        (second.looks, second.known, second.evaluations),
        (0, all, 0),
        "all are at rest"
    );
    // What it knows is what a look would have told it.
    let path = "tasks/m-001/planning/plan.json";
    assert!(taken(&mut again, vec![changed(&[path])]).is_empty());
    assert_eq!(again.workspace().reader().counted().looks, 0);
    world.plan_review("m-001", true, 1);
    taken(
        &mut again,
        vec![changed(&["tasks/m-001/review/plan/verdict.json"])],
    );
    assert_eq!(world.phase("m-001"), "codegen");

    // What changes while no watch runs is seen by the next one.
    world.plan_review("m-002", true, 1);
    world.remove("tasks/m-003/suggestion.json");
    world.plan("m-new", 1);
    world.write("tasks/m-004/transcript.jsonl", "{\n");
    settle();
    let (_, third) = watching(&world);
    assert_eq!(world.phase("m-002"), "codegen");
    assert_eq!(world.phase("m-new"), "plan_review");
    assert!(world.path("tasks/m-003/suggestion.json").is_file());
    assert!(
        (5..12).contains(&third.looks),
        "five tasks, and two of them as they move: {third:?}"
    );
    settle();
    let (_, fourth) = watching(&world);
    assert_eq!(
        fourth.looks, 4,
        "m-002, m-003 and m-new were written to, and m-004 is in error: {fourth:?}"
    );
    assert_eq!(
        watching(&world).1.looks,
        1,
        "a task in error is never at rest"
    );

    // Its suggestion is what a watch has written, for this branch.
    let suggestion = world.read("tasks/m-005/suggestion.json");
    world.write("tasks/m-005/suggestion.json", "{}");
    assert_eq!(watching(&world).1.looks, 2);
    assert_eq!(world.read("tasks/m-005/suggestion.json"), suggestion);
    let mut read_only = Watching::new(open(&world), caller(), WatchMode::Look);
    taken(&mut read_only, vec![WatchEvent::Start]);
    assert_eq!(
        read_only.workspace().reader().counted().looks,
        all + 1,
        "it writes no suggestion"
    );
    let mut only = Watching::new(open(&world), caller(), WatchMode::DryRun);
    taken(&mut only, vec![WatchEvent::Start]);
    assert_eq!(
        only.workspace().reader().counted().looks,
        all + 1,
        "a dry run writes nothing"
    );
    // It names commits of this history.
    world.git(&["commit", "-q", "--amend", "-m", "another message"]);
    assert_eq!(watching(&world).1.looks, all + 1);
    world.git(&["switch", "-q", "-c", "other"]);
    assert_eq!(watching(&world).1.looks, all + 1);
    assert!(
        world
            .read("tasks/m-005/suggestion.json")
            .contains("\"branch\": \"other\"")
    );

    // Other settings may decide otherwise, and whoever wants word of events gets it of each look.
    world.write("orch.toml", "[watch]\nadopt = false\n");
    assert_eq!(watching(&world).1.looks, all + 1);
    world.write(
        "orch.toml",
        "[[notify]]\non = [\"human\"]\ncommand = [\"true\"]\n",
    );
    assert_eq!(
        [watching(&world).1.looks, watching(&world).1.looks],
        [all + 1; 2]
    );
}

/// As in a watch, between its look at a task and what it writes of it.
#[test]
fn a_task_that_is_removed_before_its_suggestion_is_written_is_no_error() {
    let world = world();
    let (workspace, caller) = (open(&world), caller());
    let sight = workspace
        .look(&workspace.finder().task("t1").expect("a task"))
        .expect("looked at");
    let writer = Writer::new(&workspace, &caller);
    let directory = world.path("tasks/t1");
    writer.write_suggestion(&sight).expect("written");
    assert!(directory.join("suggestion.json").is_file());
    std::fs::remove_dir_all(&directory).expect("removed");
    writer.write_suggestion(&sight).expect("nothing to write");
    assert!(!directory.exists());
}

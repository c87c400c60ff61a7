//! While a watch commits the steps of a part of the tasks, it looks at the next part.

use crate::harness::{World, copy, taken};
use crate::looks::{caller, open, settle};
use crate::watch::many;
use orch_base::TaskId;
use orch_engine::drive::{WatchEffect, WatchEvent, WatchMode, Watching};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// How many tasks have a step due: a part of a hundred, and a rest. The task `t1` comes after them.
const TASKS: usize = 155;

fn name(number: usize) -> String {
    format!("n{number:03}")
}

/// A repository in which each of many tasks has a plan, and its step is due.
fn planned() -> World {
    let world = many(TASKS);
    taken(
        &mut Watching::new(open(&world), caller(), WatchMode::Apply),
        vec![WatchEvent::Start],
    );
    (0..TASKS).for_each(|number| world.plan(&name(number), 1));
    settle();
    world
}

/// A watch that has committed the steps of the first part.
fn begun(world: &World) -> Watching {
    let mut watching = Watching::new(open(world), caller(), WatchMode::Apply);
    watching.begin(vec![WatchEvent::Start]);
    assert_eq!(moved(&mut watching).len(), 100);
    watching
}

/// The tasks that the next part moves.
fn moved(watching: &mut Watching) -> Vec<TaskId> {
    let effects = watching.go_on().expect("a part");
    let moved = effects.into_iter().filter_map(|effect| match effect {
        WatchEffect::Moved(applied) => Some(applied.sight.task.id),
        _ => None,
    });
    moved.collect()
}

/// Each in a copy of one repository, because making it takes longer than they do.
#[test]
fn the_next_part_is_looked_at_while_steps_are_committed() {
    let template = planned();
    for case in [
        each_task_is_looked_at_once,
        what_changes_meanwhile_is_looked_at_again,
        looks_from_before_a_commit_of_others_do_not_count,
        looks_from_before_a_step_of_others_do_not_count,
        a_watch_that_is_stopped_keeps_no_look_that_it_has_not_told,
        an_event_between_two_parts_drops_what_was_looked_at,
    ] {
        let world = copy(&template);
        settle();
        case(&world);
    }
}

fn each_task_is_looked_at_once(world: &World) {
    let mut watching = begun(world);
    let looks = |watching: &Watching| {
        usize::try_from(watching.workspace().reader().counted().looks).expect("few")
    };
    assert_eq!(looks(&watching), TASKS + 1, "the next part, too");
    assert_eq!(moved(&mut watching).len(), 55);
    assert_eq!(
        looks(&watching),
        TASKS + 1,
        "what was looked at stands after the commits"
    );
    assert!((0..TASKS).all(|number| world.phase(&name(number)) == "plan_review"));
    assert_eq!(world.git(&["status", "--porcelain", "tasks"]), "");
    world.orch(&["audit", "--strict"]).succeeds();
}

fn what_changes_meanwhile_is_looked_at_again(world: &World) {
    let mut watching = begun(world);
    // Nobody has told the watch so.
    world.write("tasks/n150/planning/plan.json", "{}\n");
    world.write("tasks/n151/transcript.jsonl", "no event\n");
    std::fs::remove_dir_all(world.path("tasks/n152")).expect("removed");
    let also: Vec<String> = moved(&mut watching)
        .iter()
        .map(ToString::to_string)
        .collect();
    for number in 100..TASKS {
        let is_as_it_was = !(150..=152).contains(&number);
        assert_eq!(also.contains(&name(number)), is_as_it_was, "{number}");
    }
    world.git(&["checkout", "--", "tasks/n151", "tasks/n152"]);
    world.orch(&["audit", "--strict"]).succeeds();
}

fn looks_from_before_a_commit_of_others_do_not_count(world: &World) {
    let mut watching = begun(world);
    world.write("README.md", "changed\n");
    world.commit("by hand");
    looks_again(world, &mut watching, true);
}

fn looks_from_before_a_step_of_others_do_not_count(world: &World) {
    let mut watching = begun(world);
    world.orch(&["next", "n150"]).succeeds();
    looks_again(world, &mut watching, false);
}

/// The second part is looked at again, and moves, `n150` perhaps.
fn looks_again(world: &World, watching: &mut Watching, moves_it: bool) {
    let before = watching.workspace().reader().counted().looks;
    let also = moved(watching);
    assert_eq!(also.iter().any(|task| task.as_str() == "n150"), moves_it);
    assert_eq!(
        watching.workspace().reader().counted().looks - before,
        56,
        "each once"
    );
    assert!((100..TASKS).all(|number| world.phase(&name(number)) == "plan_review"));
    world.orch(&["audit", "--strict"]).succeeds();
}

/// Nobody may rely on a look whose suggestion was never written.
fn a_watch_that_is_stopped_keeps_no_look_that_it_has_not_told(world: &World) {
    let suggestion = "tasks/n150/suggestion.json";
    world.remove("tasks/n150/planning/plan.json");
    world.write(suggestion, "{}\n");
    settle();
    let stopped = Arc::new(AtomicBool::new(false));
    let asked = Arc::clone(&stopped);
    let mut watching = Watching::new(open(world), caller(), WatchMode::Apply)
        .until(move || asked.load(Ordering::SeqCst));
    watching.begin(vec![WatchEvent::Start]);
    assert_eq!(moved(&mut watching).len(), 100);
    stopped.store(true, Ordering::SeqCst);
    assert!(watching.go_on().is_none(), "it has ended");
    drop(watching);
    taken(
        &mut Watching::new(open(world), caller(), WatchMode::Apply),
        vec![WatchEvent::Start],
    );
    assert!(
        world.read(suggestion).contains("n150"),
        "{}",
        world.read(suggestion)
    );
}

fn an_event_between_two_parts_drops_what_was_looked_at(world: &World) {
    let mut watching = begun(world);
    world.write(
        "orch.toml",
        world
            .read("orch.toml")
            .replace("adopt = true", "apply = []"),
    );
    let settings = orch_base::RepoPath::new("orch.toml").expect("a path");
    watching.begin(vec![WatchEvent::Changed(vec![settings])]);
    while let Some(effects) = watching.go_on() {
        assert!(
            !effects
                .iter()
                .any(|effect| matches!(effect, WatchEffect::Moved(_))),
            "nothing may be applied"
        );
    }
    assert_eq!(world.phase("n150"), "planning");
}

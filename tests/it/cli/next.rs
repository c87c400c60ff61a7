//! `orch next` for many tasks at once.

use crate::harness::World;

#[test]
fn two_dozen_moves_at_once_all_succeed() {
    let world = World::ready();
    let tasks: Vec<String> = (0..24).map(|number| format!("t{number}")).collect();
    for task in &tasks {
        world.orch(&["new", task]).succeeds();
        world.plan(task, 1);
    }
    let moves: Vec<_> = tasks
        .iter()
        .map(|task| world.orch_spawn(&["next", task]))
        .collect();
    for started in moves {
        world
            .end(started.wait_with_output().expect("ended"))
            .succeeds();
    }
    for task in &tasks {
        assert_eq!(world.phase(task), "plan_review", "{task}");
    }
    assert_eq!(world.dirty(), "");
}

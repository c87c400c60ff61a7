//! Hooks beside the commits of `orch` itself.

use super::{Scene, program};
use serde_json::json;

#[test]
fn the_commits_of_orch_run_no_hooks() {
    let scene = Scene::new();
    scene.orch_answers("exit 1");
    for name in ["pre-commit", "commit-msg"] {
        scene.hook(name, "exit 1");
    }
    scene
        .world
        .orch(&["hook", "install", "--pre-commit", "--commit-msg"])
        .succeeds();
    scene.world.orch(&["new", "t"]).succeeds();
    scene.world.plan("t", 1);
    scene.world.orch(&["next", "t"]).succeeds();
    assert_eq!(scene.world.phase("t"), "plan_review");
    assert_eq!(scene.seen(), "");
}

#[cfg(target_os = "linux")]
#[test]
fn while_hooks_run_the_watch_holds_back() {
    let scene = Scene::new();
    scene.world.orch(&["new", "t"]).succeeds();
    scene.world.plan("t", 1);
    let watch = format!(
        "'{}' watch --once >>'{}' 2>&1; exit 0",
        env!("CARGO_BIN_EXE_orch"),
        scene.beside("seen").display()
    );
    program(&scene.world.path(".git/hooks/pre-commit"), &watch);
    scene.world.orch(&["hook", "install"]).succeeds();
    let commits = scene.commits();
    scene.commit().succeeds();
    let seen = scene.seen();
    assert!(seen.contains("a `git commit` is open"), "{seen}");
    assert_eq!(scene.commits(), commits + 1, "only the user's commit");
    assert_eq!(scene.world.phase("t"), "planning");
    scene.world.orch(&["watch", "--once"]).succeeds();
    assert_eq!(scene.world.phase("t"), "plan_review");
}

#[cfg(target_os = "linux")]
#[test]
fn a_step_in_a_hook_does_not_wait_for_the_git_that_runs_the_hook() {
    let scene = Scene::new();
    let world = &scene.world;
    world.orch(&["new", "t"]).succeeds();
    world.git(&["switch", "-q", "-c", "side"]);
    world.git(&["commit", "-q", "--allow-empty", "-m", "side"]);
    world.git(&["switch", "-q", "main"]);
    world.plan("t", 1);
    let orch = env!("CARGO_BIN_EXE_orch");
    let next = format!(
        "'{orch}' -v next t >>'{}' 2>&1",
        scene.beside("seen").display()
    );
    program(&world.path(".git/hooks/post-merge"), &next);
    world.git(&["merge", "-q", "side"]);
    assert_eq!(world.phase("t"), "plan_review");
    let seen = scene.seen();
    assert!(
        seen.contains("plan_review") && !seen.contains("old index"),
        "{seen}"
    );
}

#[test]
fn every_answer_is_one_document() {
    let scene = Scene::new();
    let hooks = |arguments: &[&str]| {
        let answer = scene.world.orch_json(arguments);
        assert_eq!(answer["kind"], "hooks", "{answer:#}");
        answer["hooks"].clone()
    };
    let row =
        |hook, state, did| json!({"hook": hook, "state": state, "chained": false, "did": did});
    let installed = hooks(&["hook", "install", "--pre-push"]);
    assert_eq!(
        installed,
        json!([row("pre-push", "installed", Some("installed"))])
    );
    let status = hooks(&["hook", "status"]);
    assert_eq!(status[2], row("pre-push", "installed", None::<&str>));
    let removed = hooks(&["hook", "uninstall"]);
    assert_eq!(removed[0], row("pre-commit", "absent", None::<&str>));
    assert_eq!(removed[2], row("pre-push", "absent", Some("removed")));
}

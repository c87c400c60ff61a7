//! The hook that was there before runs first, sees the same, and has its say.

use super::{Scene, program};

/// A scene with a bare repository to push to.
fn with_remote() -> Scene {
    let scene = Scene::new();
    scene.world.git(&["init", "-q", "--bare", "../remote.git"]);
    scene
        .world
        .git(&["remote", "add", "origin", "../remote.git"]);
    scene
}

/// The line that git says to a pre-push hook about the branch, of which the remote has nothing yet.
fn pushed(scene: &Scene) -> String {
    let head = scene.world.git(&["rev-parse", "HEAD"]);
    format!(
        "refs/heads/main {} refs/heads/main {}\n",
        head.trim(),
        "0".repeat(40)
    )
}

#[test]
fn a_push_shows_all_its_lines_to_both() {
    let scene = with_remote();
    scene.hook("pre-push", "exit 0");
    scene
        .world
        .orch(&["hook", "install", "--pre-push"])
        .succeeds();
    scene.world.git(&["branch", "side"]);
    let main = pushed(&scene);
    let side = main.replace("main", "side");
    scene
        .git(&["push", "-q", "origin", "main", "side"])
        .succeeds();
    let expected =
        format!("pre-push origin ../remote.git\n{main}{side}orch check --stdin-refs\n{main}{side}");
    assert_eq!(scene.seen(), expected);
    // Nothing to push is nothing to say.
    scene.git(&["push", "-q", "origin", "main"]).succeeds();
    assert_eq!(
        scene.seen(),
        "pre-push origin ../remote.git\norch check --stdin-refs\n"
    );
}

#[test]
fn a_push_that_either_refuses_is_refused() {
    let scene = with_remote();
    scene.hook("pre-push", "exit 7");
    scene
        .world
        .orch(&["hook", "install", "--pre-push"])
        .succeeds();
    let push = || scene.git(&["push", "-q", "origin", "main"]);
    assert_ne!(push().code, 0);
    let expected = format!("pre-push origin ../remote.git\n{}", pushed(&scene));
    assert_eq!(scene.seen(), expected, "orch is not asked any more");
    program(
        &scene.world.path(".git/hooks/pre-push.before-orch"),
        "exit 0",
    );
    scene.orch_answers("exit 1");
    assert_ne!(push().code, 0);
    assert_eq!(
        scene.seen(),
        format!("orch check --stdin-refs\n{}", pushed(&scene))
    );
    assert_eq!(
        scene.world.git(&["-C", "../remote.git", "for-each-ref"]),
        ""
    );
    scene.orch_answers("exit 0");
    push().succeeds();
}

#[test]
fn a_hook_that_does_not_read_many_lines_hinders_nobody() {
    let scene = with_remote();
    program(&scene.world.path(".git/hooks/pre-push"), "exec <&-; exit 0");
    scene
        .world
        .orch(&["hook", "install", "--pre-push"])
        .succeeds();
    let mut refs = String::new();
    for number in 0..1_000 {
        refs.push_str(&format!(
            "create refs/heads/a-branch-with-a-long-name-{number:04} HEAD\n"
        ));
    }
    scene.world.write("../refs", refs);
    let update = "git update-ref --stdin <../refs";
    assert!(
        scene
            .world
            .command("sh")
            .args(["-c", update])
            .status()
            .expect("sh runs")
            .success()
    );
    let pushed = scene.git(&["push", "-q", "--all", "origin"]).succeeds();
    assert_eq!(pushed.stderr, "");
    assert_eq!(
        scene.seen().lines().count(),
        1_002,
        "what orch was asked, and a line for each branch"
    );
}

#[test]
fn a_commit_runs_each_hook_with_its_arguments() {
    let scene = Scene::new();
    scene.hook("pre-commit", "exit 0");
    scene.hook("commit-msg", "echo 'From-Hook: yes' >>\"$1\"");
    scene
        .world
        .orch(&["hook", "install", "--pre-commit", "--commit-msg"])
        .succeeds();
    scene.commit().succeeds();
    let expected = "pre-commit \norch check --staged\ncommit-msg .git/COMMIT_EDITMSG\n\
                    orch check --staged --message .git/COMMIT_EDITMSG\n";
    assert_eq!(scene.seen(), expected);
    assert_eq!(
        scene.world.git(&["log", "-1", "--format=%B"]),
        "Something\nFrom-Hook: yes\n\n"
    );
}

#[test]
fn a_commit_that_either_refuses_is_refused() {
    let scene = Scene::new();
    scene.hook("pre-commit", "test ! -e refuse");
    scene.world.orch(&["hook", "install"]).succeeds();
    let commits = scene.commits();
    scene.world.write("refuse", "");
    scene.commit().ends(1);
    assert_eq!(scene.seen(), "pre-commit \n");
    scene.world.remove("refuse");
    scene.orch_answers("echo 'tasks/t: not so' >&2; exit 1");
    scene.commit().ends(1).reports("tasks/t: not so");
    assert_eq!(scene.commits(), commits);
    scene.orch_answers("exit 0");
    scene.commit().succeeds();
    assert_eq!(scene.commits(), commits + 1);
}

#[test]
fn a_linked_hook_runs_and_one_that_git_would_not_run_does_not() {
    let scene = Scene::new();
    let note = format!("echo linked >>'{}'", scene.beside("seen").display());
    program(&scene.world.path("script.sh"), &note);
    std::os::unix::fs::symlink("../../script.sh", scene.world.path(".git/hooks/pre-commit"))
        .expect("linked");
    scene
        .world
        .write(".git/hooks/commit-msg", "#!/bin/sh\nexit 1\n");
    scene
        .world
        .orch(&["hook", "install", "--pre-commit", "--commit-msg"])
        .succeeds();
    scene.commit().succeeds();
    let expected =
        "linked\norch check --staged\norch check --staged --message .git/COMMIT_EDITMSG\n";
    assert_eq!(scene.seen(), expected);
}

#[test]
fn the_environment_of_a_hook_reaches_orch() {
    let scene = Scene::new();
    scene.world.orch(&["hook", "install"]).succeeds();
    scene.orch_answers(&format!(
        "echo \"index $GIT_INDEX_FILE\" >>'{}'",
        scene.beside("seen").display()
    ));
    scene.world.write("orch.toml", "version = 1\n");
    scene
        .git(&["commit", "-q", "-m", "One path", "orch.toml"])
        .succeeds();
    let seen = scene.seen();
    assert!(
        seen.contains("/.git/next-index-"),
        "a commit of one path has an index of its own: {seen}"
    );
}

#[test]
fn a_manager_that_runs_ours_and_is_run_by_ours_ends() {
    for (version, times) in [("1", 1), ("2", 2)] {
        let scene = Scene::new();
        // A manager keeps the hook that it finds as `.legacy` and runs it first.
        let manager =
            "[ ! -x .git/hooks/pre-commit.legacy ] || .git/hooks/pre-commit.legacy || exit";
        scene.hook("pre-commit", &format!("{manager} # 1"));
        scene.world.orch(&["hook", "install"]).succeeds();
        let place = |name: &str| scene.world.path(&format!(".git/hooks/{name}"));
        std::fs::rename(place("pre-commit"), place("pre-commit.legacy")).expect("renamed");
        scene.hook("pre-commit", &format!("{manager} # {version}"));
        scene.commit().succeeds();
        let seen = scene.seen();
        assert_eq!(seen.matches("pre-commit \n").count(), times, "{seen}");
        assert_eq!(
            seen.matches("orch check --staged\n").count(),
            times,
            "{seen}"
        );
    }
}

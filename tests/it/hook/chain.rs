//! The hook that was there before runs first, sees the same, and has its say.

use super::{Scene, program};
use std::os::unix::fs::symlink;

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
        &scene.world.path(".git/hooks.before-orch/pre-push"),
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
    symlink("../../script.sh", scene.world.path(".git/hooks/pre-commit")).expect("linked");
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

/// A hook that finds out by its own path which hook it is, and what it reads beside itself.
const ASKS: &str = r#"here=$(dirname "$0")
. "$here/lib.sh"
note "$(basename "$0")"
for part in "$0.d"/*; do note "$(cat "$part")"; done
note "$(cat "$here/../../rules")"
cd "$(cd "$here" && pwd -P)/../.." && note "$(cat rules)"
test ! -e "$here/commit-msg" || note "a hook that nobody wrote"
exit 3"#;

#[test]
fn a_hook_that_asks_for_its_own_name_finds_what_it_found_before() {
    let place = |scene: &Scene, hooks: &str| {
        let world = &scene.world;
        let seen = scene.beside("seen");
        world.write(
            &format!("{hooks}/lib.sh"),
            format!("note() {{ echo \"$1\" >>'{}'; }}\n", seen.display()),
        );
        world.write(&format!("{hooks}/pre-commit.d/one"), "one\n");
        program(&world.path(&format!("{hooks}/pre-commit")), ASKS);
        world.write("rules", "rules\n");
    };
    for hooks in [".git/hooks", "build/hooks"] {
        let scene = Scene::new();
        let world = &scene.world;
        place(&scene, hooks);
        world.git(&["config", "core.hooksPath", hooks]);
        scene.commit().ends(1);
        let before = scene.seen();
        assert_eq!(before, "pre-commit\none\nrules\nrules\n", "{hooks}");
        world
            .orch(&["hook", "install", "--pre-commit", "--commit-msg"])
            .succeeds();
        scene.commit().ends(1);
        assert_eq!(scene.seen(), before, "{hooks}");
        // What comes later is found, too.
        world.write(&format!("{hooks}/.later"), "later\n");
        let late = r#"cat "$(dirname "$0")/.later" >&2"#;
        program(
            &world.path(&format!("{hooks}.before-orch/pre-commit")),
            late,
        );
        scene.commit().succeeds().reports("later");
        world.orch(&["hook", "uninstall"]).succeeds();
        assert!(!world.path(&format!("{hooks}.before-orch")).exists());
        scene.commit().succeeds().reports("later");
    }
}

#[test]
fn one_program_behind_several_links_knows_which_hook_it_is() {
    let scene = Scene::new();
    let world = &scene.world;
    let note = format!(
        "echo \"$(basename \"$0\") runs\" >>'{}'",
        scene.beside("seen").display()
    );
    std::fs::create_dir(world.path("scripts")).expect("a directory");
    program(&world.path("scripts/dispatch"), &note);
    // The hooks directory is a link itself.
    std::fs::create_dir_all(world.path("tools/hooks")).expect("a directory");
    std::fs::remove_dir_all(world.path(".git/hooks")).expect("removed");
    symlink("../tools/hooks", world.path(".git/hooks")).expect("linked");
    for name in ["pre-commit", "commit-msg"] {
        symlink(
            "../../scripts/dispatch",
            world.path(&format!("tools/hooks/{name}")),
        )
        .expect("linked");
    }
    world
        .orch(&["hook", "install", "--pre-commit", "--commit-msg"])
        .succeeds();
    scene.commit().succeeds();
    assert_eq!(
        scene.seen(),
        "pre-commit runs\norch check --staged\ncommit-msg runs\n\
         orch check --staged --message .git/COMMIT_EDITMSG\n"
    );
    world.orch(&["hook", "uninstall"]).succeeds();
    scene.commit().succeeds();
    assert_eq!(scene.seen(), "pre-commit runs\ncommit-msg runs\n");
    assert!(!world.path("tools/hooks.before-orch").exists());
}

#[test]
fn a_hook_runs_another_hook_of_the_user_and_not_that_of_orch() {
    let scene = Scene::new();
    scene.hook("pre-commit", "exit 0");
    program(
        &scene.world.path(".git/hooks/pre-merge-commit"),
        r#"exec "$(dirname "$0")/pre-commit""#,
    );
    program(
        &scene.world.path(".git/hooks/commit-msg"),
        r#""$(dirname "$0")/pre-merge-commit" && "$(dirname "$0")/pre-commit""#,
    );
    scene
        .world
        .orch(&["hook", "install", "--commit-msg"])
        .succeeds();
    scene.commit().succeeds();
    let expected =
        "pre-commit \n".repeat(3) + "orch check --staged --message .git/COMMIT_EDITMSG\n";
    assert_eq!(scene.seen(), expected);
    // The other one is kept later, in the place of the link to it.
    scene.world.orch(&["hook", "install"]).succeeds();
    scene.commit().succeeds();
    let expected = "pre-commit \norch check --staged\n".to_owned()
        + &"pre-commit \n".repeat(2)
        + "orch check --staged --message .git/COMMIT_EDITMSG\n";
    assert_eq!(scene.seen(), expected);
    scene.world.orch(&["hook", "uninstall"]).succeeds();
    assert!(!scene.world.path(".git/hooks.before-orch").exists());
    scene.commit().succeeds();
    assert_eq!(scene.seen(), "pre-commit \n".repeat(3));
}

/// The real program, which finds nothing wrong.
#[test]
fn hooks_say_nothing_if_nothing_is_wrong() {
    let scene = Scene::new();
    let world = &scene.world;
    std::fs::remove_file(scene.beside("bin/orch")).expect("removed");
    world.git(&["init", "-q", "--bare", "../remote.git"]);
    let all = [
        "--pre-commit",
        "--commit-msg",
        "--pre-push",
        "--prepare-commit-msg",
    ];
    world
        .orch(&[&["hook", "install"][..], &all].concat())
        .succeeds();
    world.orch(&["new", "t"]).succeeds();
    world.git(&["switch", "-q", "-c", "task/t"]);
    world.plan("t", 1);
    world.git(&["add", "-A"]);
    for arguments in [
        &["commit", "-q", "-m", "A plan"][..],
        &["commit", "-q", "--amend", "-m", "The plan"],
        &["push", "-q", "../remote.git", "task/t"],
    ] {
        let done = scene.git(arguments).succeeds();
        assert_eq!((&*done.stdout, &*done.stderr), ("", ""), "{arguments:?}");
    }
}

//! Where hooks go: where git looks for them, in every kind of repository.

use super::Scene;
use crate::harness::{World, executable};
use std::fs;

#[test]
fn without_a_choice_it_is_the_pre_commit_hook() {
    let scene = Scene::new();
    scene
        .world
        .orch(&["hook", "install"])
        .succeeds()
        .says("pre-commit  installed\n")
        .reports("in .git/hooks");
    scene.commit().succeeds();
    assert_eq!(scene.seen(), "orch check --staged\n");
    assert_eq!(scene.world.dirty(), "");
    assert!(!scene.world.path(".git/hooks/commit-msg").exists());
}

#[test]
fn a_directory_of_hooks_in_the_work_tree_is_used_and_noted() {
    for hooks_path in [".githooks", "~/../repo/.githooks", "[ROOT]/.githooks"] {
        let scene = Scene::new();
        let root = scene.world.root();
        let configured = hooks_path.replace("[ROOT]", root.to_str().expect("UTF-8"));
        scene.world.git(&["config", "core.hooksPath", &configured]);
        scene
            .world
            .orch(&["hook", "install"])
            .succeeds()
            .reports("is in the work tree");
        assert!(
            scene.world.path(".githooks/pre-commit").is_file(),
            "{hooks_path}"
        );
        // Git itself agrees, from wherever it is started.
        scene
            .git(&["-C", "tasks", "commit", "-q", "--allow-empty", "-m", "x"])
            .succeeds();
        assert_eq!(scene.seen(), "orch check --staged\n", "{hooks_path}");
        scene.world.orch(&["hook", "uninstall"]).succeeds();
        assert_eq!(scene.world.dirty(), "", "{hooks_path}");
    }
}

#[test]
fn a_directory_that_others_may_share_is_refused() {
    let scene = Scene::new();
    let shared = scene.beside("shared-hooks");
    fs::create_dir(&shared).expect("a directory");
    let refused = || {
        scene
            .world
            .orch(&["hook", "install"])
            .ends(5)
            .reports("shared-hooks")
            .reports("core.hooksPath .githooks");
        assert_eq!(
            scene.world.orch_json(&["hook", "install"])["error"]["code"],
            "hooks-shared"
        );
        assert_eq!(fs::read_dir(&shared).expect("listed").count(), 0);
        scene.world.orch(&["hook", "status"]).ends(1);
        scene.world.orch(&["hook", "uninstall"]).ends(3);
    };
    for hooks_path in [
        "../shared-hooks",
        "~/../shared-hooks",
        shared.to_str().expect("UTF-8"),
    ] {
        scene.world.git(&["config", "core.hooksPath", hooks_path]);
        refused();
    }
    scene.world.git(&["config", "--unset", "core.hooksPath"]);
    fs::remove_dir_all(scene.world.path(".git/hooks")).expect("removed");
    std::os::unix::fs::symlink(&shared, scene.world.path(".git/hooks")).expect("linked");
    refused();
}

#[test]
fn linked_work_trees_share_their_hooks() {
    let scene = Scene::new();
    scene
        .world
        .git(&["worktree", "add", "-q", "-b", "side", "../side"]);
    scene
        .world
        .orch(&["-C", "../side", "hook", "install"])
        .succeeds();
    assert!(scene.world.path(".git/hooks/pre-commit").is_file());
    scene
        .world
        .orch(&["hook", "install"])
        .succeeds()
        .says("unchanged");
    for place in [".", "../side"] {
        scene
            .git(&["-C", place, "commit", "-q", "--allow-empty", "-m", "x"])
            .succeeds();
        assert_eq!(scene.seen(), "orch check --staged\n", "{place}");
    }
    scene
        .world
        .orch(&["-C", "../side", "hook", "uninstall"])
        .succeeds();
    assert!(!scene.world.path(".git/hooks/pre-commit").exists());
}

#[test]
fn a_submodule_has_hooks_of_its_own() {
    let scene = Scene::new();
    scene
        .world
        .git(&["clone", "-q", "--bare", ".", "../other.git"]);
    let add = [
        "-c",
        "protocol.file.allow=always",
        "submodule",
        "add",
        "-q",
        "../other.git",
        "sub",
    ];
    scene.world.git(&[
        "remote",
        "add",
        "origin",
        scene.world.root().to_str().expect("UTF-8"),
    ]);
    scene.world.git(&add);
    scene
        .world
        .orch(&["-C", "sub", "hook", "install"])
        .succeeds();
    assert!(
        scene
            .world
            .path(".git/modules/sub/hooks/pre-commit")
            .is_file()
    );
    scene
        .git(&["-C", "sub", "commit", "-q", "--allow-empty", "-m", "x"])
        .succeeds();
    assert_eq!(scene.seen(), "orch check --staged\n");
    scene.commit().succeeds();
    assert_eq!(scene.seen(), "", "the repository around it has no hook");
}

#[test]
fn a_git_directory_named_by_the_environment_is_found() {
    let scene = Scene::new();
    fs::rename(scene.world.path(".git"), scene.beside("elsewhere.git")).expect("renamed");
    let mut command = scene.world.orch_command(&["hook", "install"]);
    let tasks = scene.world.path("tasks");
    command
        .current_dir(tasks)
        .env("GIT_DIR", "../../elsewhere.git")
        .env("GIT_WORK_TREE", "..");
    scene
        .world
        .end(command.output().expect("orch runs"))
        .succeeds();
    let git = [
        "--git-dir=../elsewhere.git",
        "--work-tree=.",
        "commit",
        "-q",
        "--allow-empty",
        "-m",
        "x",
    ];
    scene.git(&git).succeeds();
    assert_eq!(scene.seen(), "orch check --staged\n");
}

#[test]
fn outside_git_there_are_no_hooks() {
    let world = World::without_git();
    for command in ["install", "uninstall", "status"] {
        world
            .orch(&["hook", command])
            .ends(2)
            .reports("not a git repository");
    }
}

/// A hook of husky runs nothing under another name.
#[test]
fn in_the_directory_of_husky_nothing_is_installed_and_the_line_is_named() {
    let scene = Scene::new();
    let world = &scene.world;
    world.write(
        ".husky/_/h",
        "#!/bin/sh\nsh -e \"$(dirname \"$(dirname \"$0\")\")/$(basename \"$0\")\" \"$@\"\n",
    );
    world.write(
        ".husky/_/pre-commit",
        "#!/bin/sh\n. \"$(dirname \"$0\")/h\"\n",
    );
    executable(&world.path(".husky/_/pre-commit"));
    world.write(".husky/pre-commit", "echo checks >&2\nexit 1\n");
    world.git(&["config", "core.hooksPath", ".husky/_"]);
    for (arguments, line) in [
        (
            &["hook", "install"][..],
            "put `orch check --staged` into .husky/pre-commit",
        ),
        (
            &["hook", "install", "--pre-push"],
            "put `orch check --stdin-refs` into .husky/pre-push",
        ),
        (
            &["hook", "install", "--prepare-commit-msg"],
            "`orch hook commit-msg \"$1\"` into .husky/commit-msg",
        ),
    ] {
        let told = world.orch(arguments).ends(5);
        assert!(
            told.stderr.replace("[ROOT]/", "").contains(line),
            "{told:?}"
        );
    }
    assert!(!std::path::Path::new(&world.path(".husky/_/pre-commit.before-orch")).exists());
    world.write("src/a.rs", "1\n");
    world.git(&["add", "src"]);
    scene
        .git(&["commit", "-q", "-m", "code"])
        .ends(1)
        .reports("checks");
}

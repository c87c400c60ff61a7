//! Where hooks go: where git looks for them, in every kind of repository.

use super::{Scene, program};
use crate::harness::{World, executable};
use serde_json::json;
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
fn a_work_tree_may_have_hooks_of_its_own() {
    let scene = Scene::new();
    let world = &scene.world;
    world.git(&["config", "extensions.worktreeConfig", "true"]);
    world.git(&["worktree", "add", "-q", "-b", "side", "../side"]);
    world.git(&[
        "-C",
        "../side",
        "config",
        "--worktree",
        "core.hooksPath",
        ".hooks",
    ]);
    world
        .orch(&["-C", "../side", "hook", "install"])
        .succeeds()
        .reports("in .hooks");
    assert!(world.path("../side/.hooks/pre-commit").is_file());
    assert!(!world.path(".git/hooks/pre-commit").exists());
    world.orch(&["hook", "status"]).ends(1);
    let commit = |place: &str| {
        scene
            .git(&["-C", place, "commit", "-q", "--allow-empty", "-m", "x"])
            .succeeds();
        scene.seen()
    };
    assert_eq!(commit("."), "");
    assert_eq!(commit("../side"), "orch check --staged\n");
    world
        .orch(&["-C", "../side", "hook", "uninstall"])
        .succeeds();
    assert!(!world.path("../side/.hooks/pre-commit").exists());

    // What the work tree says counts more than what the repository says.
    world.git(&[
        "-C",
        "../side",
        "config",
        "--worktree",
        "core.hooksPath",
        "/elsewhere",
    ]);
    let hint = "git config --worktree core.hooksPath .githooks";
    world
        .orch(&["-C", "../side", "hook", "install"])
        .ends(5)
        .reports(hint);
    world.orch(&["-C", "../side", "doctor"]).ends(1).says(hint);
    world.orch(&["doctor"]).says("none of orch");
}

#[test]
fn hooks_in_another_work_tree_of_the_repository_are_its_own() {
    let scene = Scene::new();
    let world = &scene.world;
    world.git(&["worktree", "add", "-q", "-b", "side", "../side"]);
    let hooks = world.root().join(".githooks");
    world.git(&["config", "core.hooksPath", hooks.to_str().expect("UTF-8")]);
    program(&world.path("hook"), "echo mine >&2");
    fs::create_dir(&hooks).expect("a directory");
    fs::rename(world.path("hook"), hooks.join("pre-commit")).expect("renamed");
    world
        .orch(&["-C", "../side", "hook", "install"])
        .succeeds()
        .reports("is in the work tree");
    for place in [".", "../side"] {
        scene
            .git(&["-C", place, "commit", "-q", "--allow-empty", "-m", "x"])
            .succeeds()
            .reports("mine");
        assert_eq!(scene.seen(), "orch check --staged\n", "{place}");
    }
    world.orch(&["hook", "uninstall"]).succeeds();
    assert!(!world.path(".githooks.before-orch").exists());
}

#[test]
fn no_hook_is_kept_beside_the_root_of_the_work_tree() {
    let scene = Scene::new();
    let world = &scene.world;
    // git does not find hooks in `.`.
    world.git(&[
        "config",
        "core.hooksPath",
        world.root().to_str().expect("UTF-8"),
    ]);
    program(&world.path("pre-commit"), "exit 0");
    let before = world.read("pre-commit");
    world
        .orch(&["hook", "install"])
        .ends(5)
        .reports("the root of the work tree");
    assert_eq!(world.read("pre-commit"), before);
    fs::remove_file(world.path("pre-commit")).expect("removed");
    world.orch(&["hook", "install"]).succeeds();
    scene.commit().succeeds();
    assert_eq!(scene.seen(), "orch check --staged\n");
}

/// A git that says it has this version.
fn git_of_version(scene: &Scene, version: &str) {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let real = std::env::split_paths(&path)
        .map(|directory| directory.join("git"))
        .find(|git| git.is_file())
        .expect("git is installed");
    let lines = format!(
        "[ \"$*\" != version ] || {{ echo 'git version {version}'; exit; }}\nexec '{}' \"$@\"",
        real.display()
    );
    program(&scene.beside("bin/git"), &lines);
}

#[test]
fn the_hooks_of_the_configuration_are_shown() {
    let scene = Scene::new();
    let world = &scene.world;
    let orch = |arguments: &[&str]| {
        let path = std::env::var_os("PATH").unwrap_or_default();
        let path = format!("{}:{}", scene.beside("bin").display(), path.display());
        let mut command = world.orch_command(arguments);
        command.env("PATH", path);
        world.end(command.output().expect("orch runs"))
    };
    for (key, value) in [
        ("hook.lint.event", "pre-commit"),
        ("hook.lint.command", "lint\u{1b}[2J --all"),
        ("hook.ours.event", "pre-push"),
        ("hook.ours.command", "/opt/orch check --stdin-refs"),
        ("hook.off.event", "pre-commit"),
        ("hook.off.command", "orch check --staged"),
        ("hook.off.enabled", "false"),
    ] {
        world.git(&["config", "--add", key, value]);
    }
    git_of_version(&scene, "2.53.0");
    orch(&["hook", "status"])
        .ends(1)
        .says("pre-push            hook.ours.command = /opt/orch check --stdin-refs; only git 2.54 and newer runs it\n")
        .says("pre-commit          hook.off.command = orch check --staged; switched off\n");
    orch(&["doctor"]).says("only git 2.54 and newer runs it");
    git_of_version(&scene, "2.54.0");
    let shown = orch(&["hook", "status"]).succeeds();
    assert!(
        shown.stdout.ends_with(
            "pre-commit          hook.lint.command = lint\u{fffd}[2J --all\n\
             pre-push            hook.ours.command = /opt/orch check --stdin-refs\n\
             pre-commit          hook.off.command = orch check --staged; switched off\n"
        ),
        "{shown:?}"
    );
    orch(&["doctor"]).says("pre-push (hook.ours)");
    let answer = orch(&["hook", "status", "--json"]).succeeds();
    let answer: serde_json::Value = serde_json::from_str(&answer.stdout).expect("JSON");
    assert_eq!(
        answer["configured"][1],
        json!({"name": "ours", "hook": "pre-push", "command": "/opt/orch check --stdin-refs", "runs": true})
    );
    assert_eq!(answer["configured"][2]["runs"], false);
    orch(&["hook", "install"]).succeeds();
    orch(&["doctor"]).says("pre-commit, pre-push (hook.ours)");
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

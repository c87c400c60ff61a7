//! What is in place of a hook, and what installing and uninstalling make of it.

use super::{Scene, program};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

const FILE: &str = ".git/hooks/pre-commit";
const BEFORE: &str = ".git/hooks/pre-commit.before-orch";

/// Everything about a file that a user could tell: where a link leads, or mode and bytes.
fn looks(path: &Path) -> String {
    if let Ok(target) = fs::read_link(path) {
        return format!("-> {}", target.display());
    }
    match fs::read(path) {
        Ok(bytes) => {
            let mode = fs::metadata(path).expect("there").permissions().mode();
            format!("{mode:o} {}", String::from_utf8_lossy(&bytes))
        }
        Err(_) => "nothing".to_owned(),
    }
}

#[test]
fn installing_twice_changes_nothing() {
    let scene = Scene::new();
    let all = [
        "hook",
        "install",
        "--pre-commit",
        "--commit-msg",
        "--pre-push",
    ];
    scene.hook("pre-push", "exit 0");
    scene.world.orch(&all).succeeds();
    let looks_of_all = || {
        let mut paths: Vec<_> = fs::read_dir(scene.world.path(".git/hooks"))
            .expect("listed")
            .flatten()
            .map(|e| e.path())
            .collect();
        paths.sort();
        paths
            .iter()
            .map(|path| format!("{} {}", path.display(), looks(path)))
            .collect::<Vec<_>>()
    };
    let first = looks_of_all();
    assert_eq!(
        scene
            .world
            .orch(&all)
            .succeeds()
            .stdout
            .matches("unchanged")
            .count(),
        3
    );
    assert_eq!(looks_of_all(), first);
    scene
        .world
        .orch(&["hook", "status"])
        .succeeds()
        .says("pre-push.before-orch runs first");
}

#[test]
fn new_settings_are_installed_over_the_old_ones() {
    let scene = Scene::new();
    scene.world.orch(&["hook", "install"]).succeeds();
    scene.world.write(
        "orch.toml",
        "[hook]\non_missing = \"block\"\ntimeout_seconds = 3\n",
    );
    scene
        .world
        .orch(&["hook", "status"])
        .ends(1)
        .says("out of date");
    scene
        .world
        .orch(&["hook", "install"])
        .succeeds()
        .says("updated");
    let text = scene.world.read(FILE);
    assert!(
        text.contains("\non_missing=block\n") && text.contains("\nlimit=3\n"),
        "{text}"
    );
    scene.world.orch(&["hook", "status"]).succeeds();
    // Faulty settings are not installed, but never keep anybody from getting rid of the hook.
    scene.world.write("orch.toml", "[hook]\non_missing = 3\n");
    scene
        .world
        .orch(&["hook", "install"])
        .ends(2)
        .reports("orch.toml:2");
    assert_eq!(scene.world.read(FILE), text);
    scene
        .world
        .orch(&["hook", "uninstall"])
        .succeeds()
        .says("removed");
}

#[test]
fn a_hook_of_another_version_is_brought_up_to_date_with_what_it_chains() {
    let scene = Scene::new();
    let old = "#!/bin/sh\n# orch-hook: @SEAL@\nname=pre-commit\norch check --staged\n";
    scene.world.write("../old", old);
    let seal = scene.world.git(&["hash-object", "--no-filters", "../old"]);
    program(&scene.world.path(FILE), "");
    scene.world.write(FILE, old.replace("@SEAL@", seal.trim()));
    program(&scene.world.path(BEFORE), "echo mine");
    let before = looks(&scene.world.path(BEFORE));
    scene
        .world
        .orch(&["hook", "status"])
        .ends(1)
        .says("out of date");
    scene
        .world
        .orch(&["hook", "install"])
        .succeeds()
        .says("updated; pre-commit.before-orch runs first");
    assert_eq!(looks(&scene.world.path(BEFORE)), before);
    scene.world.orch(&["hook", "uninstall"]).succeeds();
    assert_eq!(looks(&scene.world.path(FILE)), before);
}

#[test]
fn a_hook_that_git_would_not_run_is_mended() {
    let scene = Scene::new();
    scene.world.orch(&["hook", "install"]).succeeds();
    fs::set_permissions(scene.world.path(FILE), PermissionsExt::from_mode(0o644)).expect("changed");
    scene
        .world
        .orch(&["hook", "status"])
        .ends(1)
        .says("out of date");
    scene
        .world
        .orch(&["hook", "install"])
        .succeeds()
        .says("updated");
    scene.world.orch(&["hook", "status"]).succeeds();
}

#[test]
fn uninstalling_restores_exactly_what_was_there() {
    type Setting = fn(&Scene, &Path);
    let settings: [(&str, Setting); 5] = [
        ("nothing", |_, _| {}),
        ("a program with a mode of its own", |_, file| {
            program(file, "echo mine");
            fs::set_permissions(file, PermissionsExt::from_mode(0o750)).expect("changed");
        }),
        ("what git would not run", |_, file| {
            fs::write(file, b"\xff\x00 no text\r\n").expect("written")
        }),
        ("a relative link", |scene, file| {
            program(&scene.world.path("script.sh"), "echo mine");
            symlink("../../script.sh", file).expect("linked");
        }),
        ("a link that leads nowhere", |_, file| {
            symlink("/nowhere/at/all", file).expect("linked")
        }),
    ];
    for (what, set) in settings {
        let scene = Scene::new();
        let file = scene.world.path(FILE);
        set(&scene, &file);
        let before = looks(&file);
        scene.world.orch(&["hook", "install"]).succeeds();
        assert_ne!(looks(&file), before, "{what}");
        assert_eq!(looks(&scene.world.path(BEFORE)), before, "{what}");
        scene.commit().succeeds();
        scene.world.orch(&["hook", "uninstall"]).succeeds();
        assert_eq!(looks(&file), before, "{what}");
        assert_eq!(looks(&scene.world.path(BEFORE)), "nothing", "{what}");
        scene.world.orch(&["hook", "uninstall"]).ends(3);
        assert_eq!(looks(&file), before, "{what}");
    }
}

#[test]
fn an_edited_hook_is_left_alone() {
    let scene = Scene::new();
    scene
        .world
        .orch(&["hook", "install", "--pre-commit", "--pre-push"])
        .succeeds();
    let edited = format!("{}echo mine\n", scene.world.read(FILE));
    scene.world.write(FILE, &edited);
    scene.world.orch(&["hook", "status"]).ends(1).says("edited");
    scene
        .world
        .orch(&["hook", "install"])
        .ends(1)
        .reports("edited")
        .reports("before-orch");
    scene
        .world
        .orch(&["hook", "install", "--commit-msg", "--pre-commit"])
        .ends(1);
    assert!(
        !scene.world.path(".git/hooks/commit-msg").exists(),
        "all or nothing"
    );
    let uninstalled = scene.world.orch(&["hook", "uninstall"]).ends(1);
    assert!(
        uninstalled
            .stdout
            .contains("pre-commit          edited since orch installed it; left"),
        "{uninstalled:?}"
    );
    assert!(
        uninstalled.stdout.contains("pre-push            removed"),
        "{uninstalled:?}"
    );
    assert_eq!(scene.world.read(FILE), edited);
}

#[test]
fn a_hook_put_in_the_place_of_ours_is_left_alone() {
    let scene = Scene::new();
    scene.hook("pre-commit", "exit 0");
    scene.world.orch(&["hook", "install"]).succeeds();
    program(&scene.world.path(FILE), "echo theirs");
    let both = || [FILE, BEFORE].map(|path| looks(&scene.world.path(path)));
    let there = both();
    scene
        .world
        .orch(&["hook", "status"])
        .ends(1)
        .says("replaced by another hook since orch installed it");
    scene
        .world
        .orch(&["hook", "install"])
        .ends(1)
        .reports("pre-commit.before-orch");
    scene
        .world
        .orch(&["hook", "uninstall"])
        .ends(1)
        .says("left alone");
    assert_eq!(both(), there);
}

#[test]
fn a_hook_that_never_was_ours_is_none_of_our_business() {
    let scene = Scene::new();
    scene.hook("pre-commit", "exit 0");
    let before = looks(&scene.world.path(FILE));
    scene
        .world
        .orch(&["hook", "status"])
        .ends(1)
        .says("another hook, not installed by orch");
    scene
        .world
        .orch(&["hook", "uninstall"])
        .ends(3)
        .says("another hook, not installed by orch");
    assert_eq!(looks(&scene.world.path(FILE)), before);
}

#[test]
fn what_ours_made_room_for_comes_back_even_if_ours_is_gone() {
    let scene = Scene::new();
    scene.hook("pre-commit", "exit 0");
    let before = looks(&scene.world.path(FILE));
    scene.world.orch(&["hook", "install"]).succeeds();
    scene.world.remove(FILE);
    scene
        .world
        .orch(&["hook", "install"])
        .succeeds()
        .says("pre-commit.before-orch runs first");
    scene.world.remove(FILE);
    scene
        .world
        .orch(&["hook", "uninstall"])
        .succeeds()
        .says("the previous hook is restored");
    assert_eq!(looks(&scene.world.path(FILE)), before);
}

//! What is in place of a hook, and what installing and uninstalling make of it.

use super::{Scene, program};
use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::Path;

const FILE: &str = ".git/hooks/pre-commit";
const BEFORE: &str = ".git/hooks.before-orch/pre-commit";
/// Where former versions of `orch` kept the previous hook.
const FORMERLY: &str = ".git/hooks/pre-commit.before-orch";

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

/// A hook as a former version of `orch` has installed it, and what it chains.
fn formerly_installed(scene: &Scene) -> String {
    let old = "#!/bin/sh\n# orch-hook: @SEAL@\nname=pre-commit\norch check --staged\n";
    scene.world.write("../old", old);
    let seal = scene.world.git(&["hash-object", "--no-filters", "../old"]);
    program(&scene.world.path(FILE), "");
    scene.world.write(FILE, old.replace("@SEAL@", seal.trim()));
    program(&scene.world.path(FORMERLY), "basename \"$0\" >&2");
    looks(&scene.world.path(FORMERLY))
}

#[test]
fn a_hook_of_another_version_is_brought_up_to_date_with_what_it_chains() {
    for command in [&["hook", "install"][..], &["doctor", "--fix"]] {
        let scene = Scene::new();
        let before = formerly_installed(&scene);
        scene
            .world
            .orch(&["hook", "status"])
            .ends(1)
            .says("out of date: orch hook install; .git/hooks/pre-commit.before-orch runs first");
        scene.world.orch(command).succeeds().says("updated");
        scene
            .world
            .orch(&["hook", "status"])
            .succeeds()
            .says("installed; .git/hooks.before-orch/pre-commit runs first");
        assert_eq!(looks(&scene.world.path(BEFORE)), before);
        assert_eq!(looks(&scene.world.path(FORMERLY)), "nothing");
        scene.commit().succeeds().reports("pre-commit\n");
        scene.world.orch(&["hook", "uninstall"]).succeeds();
        assert_eq!(looks(&scene.world.path(FILE)), before);
        assert!(!scene.world.path(".git/hooks.before-orch").exists());
    }
}

#[test]
fn what_another_version_has_installed_is_removed_as_it_is() {
    let scene = Scene::new();
    let before = formerly_installed(&scene);
    scene
        .world
        .orch(&["hook", "uninstall"])
        .succeeds()
        .says("the previous hook is restored");
    assert_eq!(looks(&scene.world.path(FILE)), before);
    assert_eq!(looks(&scene.world.path(FORMERLY)), "nothing");
}

#[test]
fn what_somebody_puts_beside_the_kept_hook_stays() {
    let scene = Scene::new();
    program(&scene.world.path(FILE), "exit 0");
    scene.world.orch(&["hook", "install"]).succeeds();
    scene.commit().succeeds();
    scene.world.write(".git/hooks.before-orch/mine", "mine\n");
    scene.world.orch(&["hook", "uninstall"]).succeeds();
    let left = fs::read_dir(scene.world.path(".git/hooks.before-orch")).expect("listed");
    let left: Vec<_> = left
        .map(|entry| entry.expect("an entry").file_name())
        .collect();
    assert_eq!(left, ["mine"]);
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

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

//! Which repository is meant: named by the environment, around a directory, or both.

use super::{Row, sound, works, works_by};
use crate::harness::{Ended, World, started};
use std::fs;

pub const ROWS: [Row; 5] = [
    ("`GIT_DIR` alone names the repository", git_dir_alone),
    (
        "`GIT_DIR` names a repository other than the surrounding one",
        git_dir_elsewhere,
    ),
    ("`GIT_WORK_TREE`", git_work_tree),
    ("`GIT_INDEX_FILE`", git_index_file),
    ("`GIT_OBJECT_DIRECTORY`", git_object_directory),
];

fn orch(world: &World, variables: &[(&str, &str)], arguments: &[&str]) -> Ended {
    let mut command = world.orch_command(arguments);
    command.envs(variables.iter().copied());
    world.end(command.output().expect("orch runs"))
}

/// What git says under these variables, in a directory.
fn git(world: &World, variables: &[(&str, &str)], arguments: &[&str]) -> String {
    let mut command = world.command("git");
    command.envs(variables.iter().copied()).args(arguments);
    let ended = world.end(command.output().expect("git runs"));
    assert_eq!(ended.code, 0, "{ended:?}");
    ended.stdout
}

/// A plain directory `plain` beside the repository directory, and a git directory `apart.git` for it.
fn apart() -> World {
    let world = World::without_git();
    fs::create_dir(world.path("../plain")).expect("made");
    world.git(&["init", "-q", "-b", "main", "--bare", "../apart.git"]);
    world.git(&["-C", "../apart.git", "config", "core.bare", "false"]);
    world
}

#[test]
fn git_dir_alone() {
    let world = apart();
    let absolute = world.path("../apart.git");
    // As git reads it after `-C`: from there.
    for (nth, git_dir) in [absolute.to_str().expect("text"), "../apart.git"]
        .into_iter()
        .enumerate()
    {
        let variables = [("GIT_DIR", git_dir)];
        let task = format!("t{nth}");
        orch(&world, &variables, &["-C", "../plain", "new", &task]).succeeds();
        world.plan(&format!("../../plain/tasks/{task}"), 1);
        orch(&world, &variables, &["-C", "../plain", "next", &task]).succeeds();
        let told = |arguments: &[&str]| {
            git(
                &world,
                &variables,
                &[&["-C", "../plain"], arguments].concat(),
            )
        };
        assert_eq!(told(&["status", "--porcelain"]), "");
        assert_eq!(told(&["fsck", "--strict"]), "");
        assert_eq!(
            told(&["log", "-1", "--format=%s"]),
            format!("orch({task}): planning -> plan_review\n")
        );
        assert_eq!(
            told(&["rev-list", "--count", "HEAD"]),
            format!("{}\n", 2 * nth + 2)
        );
    }
    // Without it, this is not a repository; and one that does not exist is told.
    let outside = orch(&world, &[], &["-C", "../plain", "status", "--json"]).succeeds();
    assert!(outside.stdout.contains("\"head\":null"), "{outside:?}");
    orch(
        &world,
        &[("GIT_DIR", "/no/such")],
        &["-C", "../plain", "status"],
    )
    .ends(2)
    .reports("not a git repository");
}

#[test]
fn git_dir_elsewhere() {
    let world = World::ready();
    world.git(&["init", "-q", "-b", "main", "../other"]);
    let other = world.path("../other/.git");
    let variables = [("GIT_DIR", other.to_str().expect("text"))];
    for arguments in [&["new", "t"][..], &["status"], &["-C", "system", "suggest"]] {
        orch(&world, &variables, arguments)
            .ends(2)
            .reports("GIT_DIR names ")
            .reports("hint: unset GIT_DIR");
    }
    assert_eq!(world.dirty(), "");
    assert!(
        !world.path("tasks/t").exists()
            && !other.join("index").exists()
            && !other.join("orch").exists()
    );
    // A hook's GIT_DIR names the same repository, seen from the top; further down it names nothing.
    let hook = [("GIT_DIR", ".git")];
    works_by(&world, ".", |arguments| orch(&world, &hook, arguments));
    orch(&world, &hook, &["-C", "tasks/t", "suggest"]).succeeds();
    sound(&world, ".");
    // In a linked work tree it is an absolute path, and the same repository too.
    world.git(&["worktree", "add", "-q", "-b", "side", "../side", "HEAD~2"]);
    let own = world.git(&["-C", "../side", "rev-parse", "--absolute-git-dir"]);
    works_by(&world, "../side", |arguments| {
        orch(
            &world,
            &[("GIT_DIR", own.trim())],
            &[&["-C", "../side"], arguments].concat(),
        )
    });
    sound(&world, "../side");
    let main = world.path(".git");
    let variables = [("GIT_DIR", main.to_str().expect("text"))];
    orch(&world, &variables, &["-C", "../side", "status"]).ends(2);
}

#[test]
fn git_work_tree() {
    let world = apart();
    fs::create_dir(world.path("../plain/deeper")).expect("made");
    let plain = world.path("../plain");
    let git_dir = world.path("../apart.git");
    let absolute = [
        ("GIT_DIR", git_dir.to_str().expect("text")),
        ("GIT_WORK_TREE", plain.to_str().expect("text")),
    ];
    works_by(&world, "../plain", |arguments| {
        orch(
            &world,
            &absolute,
            &[&["-C", "../plain/deeper"], arguments].concat(),
        )
    });
    assert_eq!(
        git(
            &world,
            &absolute,
            &["-C", "../plain", "status", "--porcelain"]
        ),
        ""
    );
    let relative = [("GIT_DIR", "../../apart.git"), ("GIT_WORK_TREE", "..")];
    world.plan_review("../../plain/tasks/t", true, 1);
    orch(&world, &relative, &["-C", "../plain/deeper", "next", "t"])
        .succeeds()
        .says("plan_review -> codegen");
    assert_eq!(
        git(
            &world,
            &relative,
            &["-C", "../plain/deeper", "status", "--porcelain"]
        ),
        ""
    );
    assert_eq!(
        git(&world, &absolute, &["-C", "../plain", "fsck", "--strict"]),
        ""
    );
    // Named together they are meant, also inside another repository; but only inside the work tree.
    world.git(&["init", "-q", "-b", "main", ".."]);
    orch(&world, &absolute, &["-C", "../plain", "status"])
        .succeeds()
        .says("codegen");
    orch(&world, &absolute, &["status"])
        .ends(2)
        .reports("is outside it");
    // Without GIT_DIR it is a place for the files of the repository around.
    let world = started("planning");
    let told = orch(&world, &[("GIT_WORK_TREE", ".")], &["status"])
        .succeeds()
        .says("planning");
    assert!(!told.stderr.contains("no-repository"), "{told:?}");
}

#[test]
fn git_index_file() {
    let world = World::ready();
    let other = world.path("../index");
    fs::copy(world.path(".git/index"), &other).expect("copied");
    let before = fs::read(&other).expect("an index");
    let variables = [("GIT_INDEX_FILE", other.to_str().expect("text"))];
    works_by(&world, ".", |arguments| orch(&world, &variables, arguments));
    sound(&world, ".");
    assert_eq!(
        fs::read(&other).expect("an index"),
        before,
        "another index is left alone"
    );
    works(&World::ready(), ".");
}

#[test]
fn git_object_directory() {
    let world = World::ready();
    let objects = world.path("../objects");
    fs::rename(world.path(".git/objects"), &objects).expect("moved");
    fs::create_dir(world.path(".git/objects")).expect("made");
    let variables = [("GIT_OBJECT_DIRECTORY", objects.to_str().expect("text"))];
    orch(&world, &variables, &["new", "t"]).succeeds();
    world.plan("t", 1);
    orch(&world, &variables, &["next", "t"])
        .succeeds()
        .says("planning -> plan_review");
    // Also as many together as are written as a pack elsewhere.
    let ids: Vec<String> = (0..12).map(|number| format!("m{number}")).collect();
    for id in &ids {
        orch(&world, &variables, &["new", id]).succeeds();
        world.plan(id, 1);
    }
    orch(&world, &variables, &["watch", "--once"]).succeeds();
    assert_eq!(git(&world, &variables, &["status", "--porcelain"]), "");
    assert_eq!(git(&world, &variables, &["fsck", "--strict"]), "");
    orch(&world, &variables, &["audit"]).succeeds();
    let there = fs::read_dir(world.path(".git/objects")).expect("listed");
    let names: Vec<_> = there
        .flatten()
        .map(|entry| entry.file_name())
        .filter(|name| name.len() == 2)
        .collect();
    assert!(names.is_empty(), "{names:?}");
}

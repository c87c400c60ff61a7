//! Branches without a commit, linked work trees, branch switches, and branches that moved.

use crate::harness::{World, started};
use std::fs;
use std::os::unix::fs::symlink;

#[test]
fn a_branch_without_a_commit_gets_its_first_one() {
    let world = World::new();
    world.orch(&["init"]).succeeds();
    world.git(&["add", "orch.toml"]);
    world.orch(&["new", "t"]).succeeds();
    let files = world.git(&["ls-tree", "-r", "--name-only", "HEAD"]);
    assert_eq!(files, "tasks/t/state.json\ntasks/t/transcript.jsonl\n");
    assert!(
        world.dirty().contains("A  orch.toml\n"),
        "{}",
        world.dirty()
    );
    world.plan("t", 1);
    world.orch(&["next", "t"]).succeeds();
    assert_eq!(world.git(&["rev-list", "--count", "HEAD"]), "2\n");
    assert_eq!(world.git(&["fsck", "--strict"]), "");
}

#[test]
fn a_linked_work_tree_has_its_own_branch_index_and_tasks() {
    let world = World::ready();
    world.git(&["worktree", "add", "-q", "-b", "side", "../side"]);
    let main = world.git(&["rev-parse", "main"]);
    world.write("mine.txt", "mine\n");
    world.git(&["add", "mine.txt"]);
    world.orch(&["-C", "../side", "new", "t"]).succeeds();
    world.write(
        "../side/tasks/t/planning/plan.json",
        "{\"title\": \"a\", \"what\": \"b\"}\n",
    );
    world.orch(&["-C", "../side", "next", "t"]).succeeds();
    assert_eq!(world.git(&["rev-parse", "main"]), main);
    assert_eq!(world.dirty(), "A  mine.txt\n");
    assert_eq!(world.git(&["-C", "../side", "status", "--porcelain"]), "");
    assert_eq!(world.git(&["rev-list", "--count", "main..side"]), "2\n");
    world
        .orch(&["next", "t"])
        .ends(2)
        .reports("there is no task `t`");
}

#[test]
fn artifacts_left_behind_by_a_branch_switch_are_not_new_work() {
    let world = World::ready();
    world.git(&["switch", "-q", "-c", "feature"]);
    world.orch(&["new", "t"]).succeeds();
    world.plan("t", 1);
    world.git(&["switch", "-q", "main"]);
    assert_eq!(world.dirty(), "?? tasks/t/\n");
    let before = world.git(&["status", "--porcelain", "-uall", "--ignored"]);
    let head = world.git(&["rev-parse", "HEAD"]);
    world.orch(&["suggest", "t"]).succeeds().says("orch new t");
    world.orch(&["next", "t"]).ends(1).reports("orch new t");
    world
        .orch(&["next", "t", "--override", "why"])
        .ends(1)
        .reports("orch new t");
    world.orch(&["watch", "--once"]).succeeds();
    assert_eq!(world.git(&["rev-parse", "HEAD"]), head);
    assert_eq!(
        world.git(&["status", "--porcelain", "-uall", "--ignored"]),
        before,
        "nothing is written for it"
    );
    world.git(&["switch", "-q", "feature"]);
    world
        .orch(&["next", "t"])
        .succeeds()
        .says("planning -> plan_review");
}

#[test]
fn a_state_that_is_only_in_the_work_tree_is_untracked() {
    let world = started("planning");
    world.git(&["reset", "-q", "--soft", "HEAD~1"]);
    world.git(&["restore", "-q", "--staged", "tasks"]);
    world.plan("t", 1);
    world.orch(&["next", "t"]).ends(1).reports("orch new t");
    assert_eq!(world.phase("t"), "planning");
}

#[test]
fn a_commit_of_the_user_between_two_transitions_is_kept() {
    let world = started("codegen");
    world.write("src/login.rs", "fn login() {}\n");
    world.commit("Mine");
    world.walk_to_from("t", "codegen", "test");
    let subjects = world.git(&["log", "-3", "--format=%s"]);
    assert_eq!(
        subjects,
        "orch(t): review -> test\norch(t): codegen -> review\nMine\n"
    );
    assert_eq!(world.dirty(), "");
}

#[test]
fn a_sub_directory_and_an_odd_name_are_fine() {
    let world = World::ready();
    let id = "über uns/it's \"42\" 🦀";
    world.plan(id, 1);
    world.orch(&["new", id]).succeeds();
    world.walk_to_from(id, "plan_review", "done");
    assert_eq!(world.dirty(), "");
}

#[test]
fn links_in_the_directory_of_orch_are_not_followed() {
    let world = crate::harness::started("planning");
    let (own, outside) = (world.path(".git/orch"), world.path("../outside"));
    fs::create_dir(&outside).expect("a directory");
    fs::write(outside.join("file"), "keep me\n").expect("written");
    let is_untouched = |what: &str| {
        let names = fs::read_dir(&outside)
            .expect("listed")
            .map(|entry| entry.expect("read").file_name());
        assert_eq!(names.collect::<Vec<_>>(), ["file"], "{what}");
        assert_eq!(
            fs::read_to_string(outside.join("file")).expect("read"),
            "keep me\n",
            "{what}"
        );
    };
    world.plan("t", 1);
    // The directory itself: reading works, committing does not.
    fs::rename(&own, world.path("../kept")).expect("moved");
    symlink(&outside, &own).expect("linked");
    // Who holds the task is not known then, and status says so.
    world.orch(&["status"]).ends(70).says("move to plan_review");
    world
        .orch(&["next", "t"])
        .ends(70)
        .reports("a link or a file instead of a directory");
    world.orch(&["watch", "--once"]);
    is_untouched("the directory");
    fs::remove_file(&own).expect("removed");
    fs::rename(world.path("../kept"), &own).expect("moved back");
    // Each file in it.
    for (name, ends) in [
        ("journal.json", 0),
        ("index.lock", 0),
        ("index.next", 0),
        ("orch.log", 0),
        ("lock", 70),
    ] {
        let _ = fs::remove_file(own.join(name));
        let _ = fs::remove_dir_all(own.join(name));
        symlink(outside.join("file"), own.join(name)).expect("linked");
        world.orch(&["watch", "--once"]).ends(ends);
        is_untouched(name);
        let _ = fs::remove_file(own.join(name));
        world.orch(&["rollback", "t", "--to", "planning", "--reason", "again"]);
        world.plan("t", u32::try_from(name.len()).expect("short"));
    }
    assert_eq!(world.git(&["fsck", "--strict"]), "");
}

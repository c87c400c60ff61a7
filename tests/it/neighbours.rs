//! What programs beside `orch` make of a repository: jj, Git LFS, `git refs migrate`, symbolic branches, and dates.

use crate::harness::{Ended, World, eventually, skipped, started};
use crate::watch::Running;
use std::fs;

/// Adds a line to the settings about git.
fn set(world: &World, line: &str) {
    let settings = world.read("orch.toml");
    assert!(settings.contains("[git]\n"), "{settings}");
    world.write(
        "orch.toml",
        settings.replace("[git]\n", &format!("[git]\n{line}\n")),
    );
}

fn orch_with(world: &World, variables: &[(&str, &str)], arguments: &[&str]) -> Ended {
    let mut command = world.orch_command(arguments);
    command.envs(variables.iter().copied());
    world.end(command.output().expect("orch runs"))
}

#[test]
fn a_branch_that_stands_for_another_is_committed_through() {
    let world = started("planning");
    world.git(&["branch", "-m", "main", "trunk"]);
    world.git(&["symbolic-ref", "refs/heads/master", "refs/heads/trunk"]);
    world.git(&["symbolic-ref", "HEAD", "refs/heads/master"]);
    world.plan("t", 1);
    let running = Running::start(&world);
    eventually("the task moves", || world.phase("t") == "plan_review");
    eventually("nothing is left", || world.dirty().is_empty());
    let (code, lines) = running.stop();
    assert_eq!(code, Some(0), "{lines:#?}");
    assert_eq!(
        world.git(&["log", "-1", "--format=%s", "trunk"]),
        "orch(t): planning -> plan_review\n"
    );
    assert_eq!(
        world.git(&["symbolic-ref", "refs/heads/master"]),
        "refs/heads/trunk\n"
    );
    assert_eq!(
        world.git(&["reflog", "-1", "--format=%gs"]),
        world.git(&["reflog", "-1", "--format=%gs", "trunk"])
    );
    // The branch that is committed on is the one that may be protected.
    set(&world, "protected = [\"trunk\"]");
    world.orch(&["doctor"]).says("branch `trunk` is protected");
    world.git(&["symbolic-ref", "refs/heads/trunk", "refs/heads/master"]);
    assert_ne!(world.orch(&["next", "t"]).code, 0);
}

#[test]
fn a_branch_without_a_commit_may_be_named_by_another() {
    let world = World::without_git();
    world.git(&["init", "-q", "-b", "trunk"]);
    world.git(&["symbolic-ref", "refs/heads/master", "refs/heads/trunk"]);
    world.git(&["symbolic-ref", "HEAD", "refs/heads/master"]);
    world.orch(&["init"]).succeeds();
    world.orch(&["new", "t"]).succeeds();
    assert_eq!(
        world.git(&["for-each-ref", "--format=%(refname) %(symref)"]),
        "refs/heads/master refs/heads/trunk\nrefs/heads/trunk \n"
    );
}

#[test]
fn a_date_that_git_cannot_read_is_named() {
    let world = started("planning");
    world.plan("t", 1);
    for (variable, settings) in [
        ("GIT_COMMITTER_DATE", false),
        ("GIT_AUTHOR_DATE", false),
        ("GIT_COMMITTER_DATE", true),
    ] {
        if settings {
            world.git(&["config", "committer.name", "Somebody"]);
        }
        let wrong = [(variable, "the day before")];
        orch_with(&world, &wrong, &["next", "t"])
            .ends(2)
            .reports(&format!(
                "{variable}: git cannot read the date `the day before`"
            ))
            .reports(&format!("hint: unset {variable}, or write it as"));
        let mut command = world.orch_command(&["next", "t", "--json"]);
        command.envs(wrong);
        let answer = world.end(command.output().expect("orch runs"));
        assert!(answer.stdout.contains("\"git-environment\""), "{answer:?}");
    }
    assert_eq!(world.phase("t"), "planning");
    world.git(&["config", "--unset", "committer.name"]);
    let dates = [
        ("GIT_COMMITTER_DATE", "Fri, 30 Jan 2026 12:00:00 +0200"),
        ("GIT_AUTHOR_DATE", "@1769767200 +0100"),
    ];
    orch_with(&world, &dates, &["next", "t"]).succeeds();
    assert_eq!(
        world.git(&["log", "-1", "--format=%cI %aI"]),
        "2026-01-30T12:00:00+02:00 2026-01-30T11:00:00+01:00\n"
    );
}

/// A jj repository beside that of git, as far as `orch` sees it.
fn colocated() -> World {
    let world = started("planning");
    fs::create_dir_all(world.path(".jj/repo")).expect("made");
    world.write(".git/info/exclude", ".jj\n");
    world.git(&["checkout", "-q", "--detach"]);
    world.plan("t", 1);
    world
}

#[test]
fn a_head_that_jj_has_detached_is_named_so() {
    let world = colocated();
    world
        .orch(&["next", "t"])
        .ends(5)
        .reports("HEAD is detached, as jj leaves it")
        .reports("set `[git] detached_head = true` in orch.toml; jj takes up");
    set(&world, "detached_head = true");
    world.orch(&["next", "t"]).succeeds();
}

#[test]
fn nothing_is_committed_on_top_of_a_conflict_of_jj() {
    let world = colocated();
    set(&world, "detached_head = true");
    // As jj writes a commit with a conflict.
    for file in [
        ".jjconflict-base-0/a.txt",
        ".jjconflict-side-0/a.txt",
        ".jjconflict-side-1/a.txt",
        "JJ-CONFLICT-README",
    ] {
        world.write(file, file);
    }
    world.commit("A conflict");
    let head = world.git(&["rev-parse", "HEAD"]);
    let why = "the commit of HEAD has conflicts of jj, which a commit of git would lose";
    world
        .orch(&["next", "t"])
        .ends(5)
        .reports(why)
        .reports("hint: jj resolve; then: jj new");
    world.orch(&["watch", "--once"]).ends(5).says(why);
    world.orch(&["doctor"]).says(why);
    assert_eq!(world.git(&["rev-parse", "HEAD"]), head);
    // A file with such a name is no conflict.
    world.git(&[
        "rm",
        "-rq",
        ".jjconflict-base-0",
        ".jjconflict-side-0",
        ".jjconflict-side-1",
    ]);
    world.write(".jjconflict-notes", "mine\n");
    world.commit("Resolved");
    world.orch(&["next", "t"]).succeeds();
}

#[test]
fn a_workspace_of_jj_without_git_names_the_one_with_it() {
    let world = colocated();
    let second = world.path("../second");
    fs::create_dir_all(second.join(".jj")).expect("made");
    let main = world.root();
    let absolute = main.join(".jj/repo");
    for place in ["../../repo/.jj/repo", absolute.to_str().expect("UTF-8")] {
        fs::write(second.join(".jj/repo"), place).expect("written");
        world
            .orch(&["-C", "../second", "hook", "status"])
            .ends(2)
            .reports("this workspace of jj has no repository of git; run orch in [ROOT]\n");
        world
            .orch(&["-C", "../second", "doctor"])
            .says("run orch in [ROOT]\n");
    }
    fs::remove_file(second.join(".jj/repo")).expect("removed");
    world
        .orch(&["-C", "../second", "doctor"])
        .says("hint: jj git colocation enable");
}

const POINTER: &str = "version https://git-lfs.github.com/spec/v1\n\
    oid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32b1258daaa5e2ca24d17e2393\nsize 12345\n";

#[test]
fn a_pointer_of_git_lfs_is_named() {
    let world = started("planning");
    world.write("tasks/t/planning/plan.json", POINTER);
    let told = "the file is a pointer of Git LFS, and its content is not here";
    world
        .orch(&["check", "t"])
        .ends(1)
        .says(told)
        .says("git lfs pull");
    world.orch(&["suggest", "t"]).says(told);
    world.git(&["add", "-A"]);
    world.orch(&["check", "--staged"]).ends(1).says(told);
    world.orch(&["watch", "--once"]);
    assert_eq!(world.phase("t"), "planning");
}

#[test]
fn a_partial_clone_is_told_what_fetches_the_rest() {
    let world = started("plan_review");
    world.git(&["config", "uploadpack.allowFilter", "true"]);
    let from = format!("file://{}", world.root().display());
    world.git(&["clone", "-q", "--filter=tree:0", &from, "../partial"]);
    let hint = "git fetch --refetch --no-filter";
    world
        .orch(&["-C", "../partial", "check", "--at", "HEAD~1"])
        .ends(2)
        .reports("is not in this clone")
        .reports(hint);
    world.git(&[
        "-C",
        "../partial",
        "fetch",
        "-q",
        "--refetch",
        "--no-filter",
    ]);
    assert_eq!(
        world
            .git(&[
                "-C",
                "../partial",
                "rev-list",
                "--objects",
                "--missing=print",
                "HEAD"
            ])
            .lines()
            .filter(|line| line.starts_with('?'))
            .count(),
        0
    );
}

#[test]
fn a_watch_outlives_a_new_store_of_references() {
    let world = started("planning");
    world.git(&["config", "core.logAllRefUpdates", "false"]);
    let migrated = |format: &str| {
        let _ = fs::remove_dir_all(world.path(".git/logs"));
        let done = world.git_ended(&["refs", "migrate", &format!("--ref-format={format}")]);
        if done.code != 0 {
            skipped("this git does not move references to another store");
        }
        done.code == 0
    };
    let running = Running::start(&world);
    if !migrated("reftable") {
        return;
    }
    world.plan("t", 1);
    eventually("the task moves", || world.phase("t") == "plan_review");
    eventually("nothing is left", || world.dirty().is_empty());
    assert!(migrated("files"));
    world.plan_review("t", true, 1);
    eventually("the task moves", || world.phase("t") == "codegen");
    eventually("nothing is left", || world.dirty().is_empty());
    let (code, lines) = running.stop();
    assert_eq!(code, Some(0), "{lines:#?}");
    assert_eq!(
        world.git(&["rev-list", "--count", "--all"]),
        world.git(&["rev-list", "--count", "main"])
    );
    assert_eq!(world.git(&["fsck", "--strict", "--no-dangling"]), "");
}

#[test]
fn a_watch_ends_with_its_work_tree() {
    for command in [
        &["worktree", "remove", "--force", "../side"][..],
        &["worktree", "move", "../side", "../moved"],
    ] {
        let world = started("planning");
        world.git(&["worktree", "add", "-q", "-b", "side", "../side"]);
        let running = Running::start_at(&world, "../side");
        world.git(command);
        let (code, lines) = running.ended();
        assert_eq!(code, Some(2), "{lines:#?}");
        let told = lines.last().expect("a line");
        assert!(told.contains("was removed or moved"), "{lines:#?}");
    }
}

/// husky 9 names `.husky/_`, and git ignores that directory: a new linked work tree lacks it.
#[test]
fn hooks_that_a_linked_work_tree_lacks_are_told() {
    let world = started("planning");
    world.git(&["config", "core.hooksPath", ".husky/_"]);
    let lacks = "which is not there: no hook runs in this work tree";
    fs::create_dir_all(world.path(".husky/_")).expect("made");
    assert!(!world.orch(&["doctor"]).stdout.contains(lacks));
    world.git(&["worktree", "add", "-q", "../linked"]);
    world
        .orch(&["-C", "../linked", "doctor"])
        .ends(1)
        .says(lacks)
        .says("[hooks-missing]");
}

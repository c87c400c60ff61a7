//! `orch check --staged` and its kin: exactly the bytes that are about to become history.

use crate::harness::{Ended, World, started};
use std::fs;
use std::io::Write;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::process::Stdio;

const PLAN: &str = "tasks/t/planning/plan.json";
const BROKEN: &str = "{\"title\": ";

fn staged(world: &World) -> Ended {
    world.orch(&["check", "--staged"])
}

/// Everything in a directory: path, size, time, inode and bytes.
fn picture(directory: &Path, found: &mut Vec<(PathBuf, u64, i64, u64, Vec<u8>)>) {
    let mut entries: Vec<_> = fs::read_dir(directory)
        .expect("listed")
        .map(|entry| entry.expect("an entry"))
        .collect();
    entries.sort_by_key(fs::DirEntry::file_name);
    for entry in entries {
        let (path, metadata) = (entry.path(), entry.metadata().expect("metadata"));
        if metadata.is_dir() {
            found.push((
                path.clone(),
                0,
                metadata.mtime_nsec(),
                metadata.ino(),
                Vec::new(),
            ));
            picture(&path, found);
        } else {
            let bytes = fs::read(&path).expect("read");
            found.push((
                path,
                metadata.len(),
                metadata.mtime_nsec(),
                metadata.ino(),
                bytes,
            ));
        }
    }
}

#[test]
fn it_writes_nothing_whatever_it_finds() {
    let world = started("plan_review");
    world.plan_review("t", true, 1);
    world.git(&["add", "-A"]);
    fs::remove_dir_all(world.path(".git/orch")).expect("removed");
    // As if the index had not been refreshed for long.
    world.git(&["update-index", "--chmod=+x", PLAN]);
    let mut before = Vec::new();
    picture(&world.root(), &mut before);
    staged(&world).succeeds();
    world.orch(&["check", "--commit", "HEAD"]).succeeds();
    world.orch(&["audit"]).succeeds();
    let mut after = Vec::new();
    picture(&world.root(), &mut after);
    assert!(before == after, "something was written");
}

#[test]
fn only_staged_bytes_count() {
    let world = started("planning");
    staged(&world).succeeds();
    world.write(PLAN, BROKEN);
    staged(&world).succeeds();
    world.git(&["add", "-N", PLAN]);
    staged(&world).succeeds();
    world.git(&["add", PLAN]);
    let found = staged(&world).ends(1);
    assert!(
        found.stdout.contains(&format!("--> {PLAN}:1:")),
        "{found:?}"
    );
    assert!(
        found.stdout.contains(BROKEN),
        "the staged text is shown: {found:?}"
    );
    world.plan("t", 1);
    staged(&world).ends(1);
    world.git(&["add", PLAN]);
    world.write(PLAN, BROKEN);
    staged(&world).succeeds();
    world.git(&["reset", "-q"]);
    staged(&world).succeeds();
}

#[test]
fn part_of_a_file_is_judged_as_it_is_staged() {
    let world = started("planning");
    world.plan("t", 1);
    world.git(&["add", PLAN]);
    world.git(&["commit", "-q", "-m", "a plan"]);
    let text = world.read(PLAN);
    world.write(
        PLAN,
        text.replace("\"title\"", "\"unknown_first\"")
            .replace("\"what\"", "\"unknown_last\""),
    );
    let mut process = world
        .command("git")
        .args(["add", "-p", PLAN])
        .stdin(Stdio::piped())
        .stdout(Stdio::null())
        .spawn()
        .expect("git runs");
    process
        .stdin
        .take()
        .expect("a pipe")
        .write_all(b"s\ny\nn\n")
        .expect("told");
    assert!(process.wait().expect("ended").success());
    let half = world.git(&["show", &format!(":{PLAN}")]);
    assert!(
        half.contains("unknown_first") && !half.contains("unknown_last"),
        "the first of two: {half}"
    );
    let found = staged(&world).ends(1).says("unknown_first");
    assert!(!found.stdout.contains("unknown_last"), "{found:?}");
}

#[test]
fn renames_deletions_modes_and_submodules_are_what_they_are() {
    let world = started("codegen");
    fs::set_permissions(world.path(PLAN), fs::Permissions::from_mode(0o755)).expect("executable");
    world.git(&["add", "-A"]);
    staged(&world).succeeds();
    world.git(&["commit", "-q", "-m", "executable"]);
    // While the record stands, what the phase needs may come and go: that is work, and no step.
    world.git(&["mv", PLAN, "tasks/t/planning/other.json"]);
    staged(&world).succeeds();
    world.git(&["reset", "-q", "--hard"]);
    world.git(&["rm", "-q", "--cached", PLAN]);
    staged(&world).succeeds();
    world.git(&["reset", "-q", "--hard"]);
    world.git(&["rm", "-q", "-r", "tasks/t"]);
    staged(&world).succeeds();
    world.git(&["reset", "-q", "--hard"]);
    let head = world.git(&["rev-parse", "HEAD"]);
    let link = format!("160000,{},tasks/t/code/vendored", head.trim());
    world.git(&["update-index", "--add", "--cacheinfo", &link]);
    staged(&world).succeeds();
    fs::create_dir_all(world.path("tasks/t/code")).expect("a directory");
    std::os::unix::fs::symlink("/etc/passwd", world.path("tasks/t/code/diff.patch"))
        .expect("linked");
    world.git(&["add", "tasks/t/code/diff.patch"]);
    staged(&world).ends(1).says("symbolic link");
}

#[test]
fn the_middle_of_a_merge_is_told_and_its_end_is_judged() {
    let world = started("planning");
    world.plan("t", 1);
    world.commit("base");
    world.git(&["switch", "-q", "-c", "other"]);
    world.plan("t", 2);
    world.commit("other");
    world.git(&["switch", "-q", "main"]);
    world.plan("t", 3);
    world.commit("ours");
    assert_ne!(
        world.git_ended(&["merge", "other"]).code,
        0,
        "the test needs a conflict"
    );
    staged(&world).ends(1).says("unmerged");
    world.plan("t", 4);
    world.git(&["add", PLAN]);
    staged(&world).succeeds();
    world.git(&["commit", "-q", "--no-edit"]);
    world.orch(&["check", "--commit", "HEAD"]).succeeds();
}

#[test]
fn the_settings_are_the_staged_ones() {
    let world = started("planning");
    world.write("work/x/planning/plan.json", BROKEN);
    world.git(&["add", "work"]);
    staged(&world).succeeds();
    let settings = world.read("orch.toml")
        + "\n[[root]]\npath = \"work/*\"\nworkflow = \"global-state-machine\"\n";
    world.write("orch.toml", settings);
    staged(&world).succeeds();
    world.git(&["add", "orch.toml"]);
    staged(&world).ends(1).says("work/x/planning/plan.json");
    world.write("orch.toml", "[[root]\n");
    staged(&world).ends(1);
    world.git(&["add", "orch.toml"]);
    staged(&world).ends(1).says("orch.toml:1");
}

#[test]
fn a_step_by_orch_may_be_staged_and_committed_by_hand() {
    let world = World::ready();
    let settings = world.read("orch.toml");
    world.write(
        "orch.toml",
        format!("{settings}\n[git]\ncommit = \"off\"\n").replace("[git]\n# ", "# "),
    );
    let settings = world.read("orch.toml");
    if world.orch(&["status"]).code != 0 {
        world.write(
            "orch.toml",
            settings
                .replace("\n[git]\ncommit = \"off\"\n", "")
                .replace("[git]", "[git]\ncommit = \"off\""),
        );
    }
    world.commit("settings");
    world.orch(&["new", "t"]).succeeds();
    world.walk_to("t", "review");
    world.git(&["add", "-A"]);
    staged(&world).succeeds();
    world.git(&["commit", "-q", "-m", "by hand"]);
    let audit = world.orch_json(&["audit"]);
    assert_eq!(audit["changes"][0]["standing"], "folded", "{audit:#}");
    world.code_review("t", true, 1);
    world.orch(&["next", "t"]).succeeds();
    world.git(&["add", "tasks/t/state.json", "tasks/t/transcript.jsonl"]);
    // The step without its evidence is no step.
    staged(&world).ends(1).says("error[forged]");
    world.git(&["add", "-A"]);
    staged(&world).succeeds();
}

#[test]
fn every_form_of_the_index_is_read() {
    let forms: [(&str, &[&[&str]]); 4] = [
        ("version 4", &[&["update-index", "--index-version", "4"]]),
        ("split", &[&["update-index", "--split-index"]]),
        ("untracked cache", &[&["update-index", "--untracked-cache"]]),
        (
            "sparse",
            &[
                &["sparse-checkout", "init", "--cone", "--sparse-index"],
                &["sparse-checkout", "add", "tasks"],
            ],
        ),
    ];
    for (form, commands) in forms {
        let world = started("planning");
        world.write("elsewhere/a/b.txt", "x\n");
        world.commit("elsewhere");
        for command in commands {
            world.git(command);
        }
        world.write(PLAN, BROKEN);
        world.git(&["add", "--sparse", PLAN]);
        let found = staged(&world);
        assert_eq!(found.code, 1, "{form}: {found:?}");
        world.plan("t", 1);
        world.git(&["add", "--sparse", PLAN]);
        let found = staged(&world);
        assert_eq!(found.code, 0, "{form}: {found:?}");
    }
}

#[test]
fn the_hook_judges_what_git_is_about_to_commit() {
    let world = started("planning");
    let bin = Path::new(env!("CARGO_BIN_EXE_orch"))
        .parent()
        .expect("a directory");
    let path = format!(
        "{}:{}",
        bin.display(),
        crate::setting::setting("PATH").expect("a path")
    );
    let commit = |arguments: &[&str]| {
        let mut command = world.command("git");
        command
            .env("PATH", &path)
            .args(["commit", "-q", "-m", "x"])
            .args(arguments);
        world.end(command.output().expect("git runs"))
    };
    world
        .orch(&["hook", "install", "--pre-commit", "--pre-push"])
        .succeeds();
    world.plan("t", 1);
    world.git(&["add", "-A"]);
    commit(&[]).succeeds();
    // `git commit PATH` and `-a` commit another index than the one that lies there.
    world.write(PLAN, BROKEN);
    commit(&["--", PLAN]).ends(1).reports("error[");
    commit(&["-a"]).ends(1);
    world.write("note.txt", "x");
    world.git(&["add", "note.txt"]);
    commit(&[]).succeeds();
    world.git(&["checkout", "-q", "--", PLAN]);
    world.orch(&["next", "t"]).succeeds();
    let text = world
        .read("tasks/t/state.json")
        .replace("\"phase\": \"plan_review\"", "\"phase\": \"done\"");
    world.write("tasks/t/state.json", text);
    commit(&["-a"]).ends(1).reports("edited by hand");
    commit(&["-a", "--no-verify"]).succeeds();

    let server = world.path("../server.git");
    let server = server.to_str().expect("UTF-8");
    world.git(&["init", "-q", "--bare", "-b", "main", server]);
    let push = |revision: &str| {
        let mut command = world.command("git");
        command.env("PATH", &path).args([
            "push",
            "-q",
            server,
            &format!("{revision}:refs/heads/main"),
        ]);
        world.end(command.output().expect("git runs"))
    };
    push("HEAD~1").succeeds();
    let refused = push("HEAD");
    assert_ne!(refused.code, 0, "{refused:?}");
    assert!(
        refused.stdout.contains("edited by hand") || refused.stderr.contains("edited by hand"),
        "{refused:?}"
    );
}

#[test]
fn a_server_refuses_what_a_push_forges() {
    let world = started("plan_review");
    let server = world.path("../server.git");
    let at = server.to_str().expect("UTF-8");
    world.git(&["clone", "-q", "--bare", ".", at]);
    let hook = format!(
        "#!/bin/sh\nexec '{}' check --stdin-refs\n",
        env!("CARGO_BIN_EXE_orch")
    );
    let file = server.join("hooks/pre-receive");
    fs::write(&file, hook).expect("written");
    fs::set_permissions(&file, fs::Permissions::from_mode(0o755)).expect("executable");
    world.git(&["remote", "add", "origin", at]);
    world.plan_review("t", true, 1);
    world.orch(&["next", "t"]).succeeds();
    world.git(&["push", "-q", "origin", "main", "main:refs/heads/fresh"]);
    world.git(&["switch", "-q", "-c", "forged"]);
    let text = world
        .read("tasks/t/state.json")
        .replace("\"phase\": \"codegen\"", "\"phase\": \"done\"");
    world.write("tasks/t/state.json", text);
    world.commit("forged");
    for target in ["main", "elsewhere"] {
        let refused = world.git_ended(&[
            "push",
            "-q",
            "origin",
            &format!("forged:refs/heads/{target}"),
        ]);
        assert_ne!(refused.code, 0, "{target}: {refused:?}");
        assert!(
            refused.stderr.contains("edited by hand"),
            "{target}: {refused:?}"
        );
    }
    world.git(&["push", "-q", "origin", ":fresh"]);
    world.git(&["reset", "-q", "--hard", "main"]);
    world.git(&["push", "-q", "origin", "forged:refs/heads/elsewhere"]);
    world.orch(&["-C", at, "audit", "main"]).succeeds();
    world
        .orch(&["-C", at, "status"])
        .ends(2)
        .reports("no work tree");
}

#[test]
fn a_revision_is_judged_as_it_stood() {
    let world = started("review");
    let status = world.orch_json(&["status", "--at", "HEAD~2"]);
    assert_eq!(
        status["tasks"][0]["currentPhase"], "plan_review",
        "{status:#}"
    );
    assert_eq!(
        status["repository"]["source"],
        format!("commit:{}", world.git(&["rev-parse", "HEAD~2"]).trim())
    );
    let suggested = world.orch_json(&["suggest", "t", "--at", "HEAD~1"]);
    assert_eq!(
        suggested["suggestions"][0]["currentPhase"], "codegen",
        "{suggested:#}"
    );
    let explained = world.orch_json(&["explain", "t", "--at", "HEAD~1"]);
    assert_eq!(
        explained["explanations"][0]["committed"],
        world.git(&["rev-parse", "HEAD~1"]).trim()
    );
    world.orch(&["check", "--at", "HEAD~1"]).succeeds();
    world
        .orch(&["status", "--at", "nowhere"])
        .ends(2)
        .reports("no commit `nowhere`");
    world.orch(&["suggest", "t", "--at", "HEAD~9"]).ends(2);
}

#[test]
fn a_phase_says_which_code_may_change() {
    let world = World::ready();
    let path = "system/workflows/global-state-machine.md";
    let document = world.read(path).replace(
        "[phase.codegen]\n",
        "[phase.codegen]\ntouches = [\"src/**\"]\n",
    );
    assert!(document.contains("touches"), "the test needs the phase");
    world.write(path, document);
    world.commit("gates");
    world.orch(&["new", "t"]).succeeds();
    world.write("src/lib.rs", "pub fn a() {}\n");
    world.write("docs/notes.md", "free\n");
    world.git(&["add", "src", "docs"]);
    // Nobody knows whose commit this is.
    staged(&world).succeeds();
    let told = "src/lib.rs may change in codegen; task t is in planning";
    world.write(
        "message",
        "Code\n\nOrch-Task: t\n# a comment\n# ------------------------ >8 ------------------------\nx\n",
    );
    world
        .orch(&["check", "--staged", "--message", "message"])
        .ends(1)
        .says(told);
    world.write("message", "Code\n\nOrch-Task: tt\n");
    world
        .orch(&["check", "--staged", "--message", "message"])
        .ends(1)
        .says("did you mean `t`?");
    let mut command = world.orch_command(&["check", "--staged"]);
    world
        .end(command.env("ORCH_TASK", "t").output().expect("orch runs"))
        .ends(1)
        .says(told);
    world.git(&["switch", "-q", "-c", "task/t"]);
    staged(&world).ends(1).says(told);
    world.git(&["commit", "-q", "-m", "too early\n\nOrch-Task: t"]);
    world
        .orch(&["check", "--commit", "HEAD"])
        .ends(1)
        .says(told);
    world
        .orch(&["check", "--range", "HEAD~1..HEAD"])
        .ends(1)
        .says(told);
    world.git(&["reset", "-q", "--soft", "HEAD~1"]);
    world.git(&["stash", "-q"]);
    world.walk_to("t", "codegen");
    world.git(&["stash", "pop", "-q"]);
    world.git(&["add", "src", "docs"]);
    staged(&world).succeeds();
}

/// Runs the command of the hint.
fn restored(world: &World, found: &Ended) {
    let at = found
        .stdout
        .find("git --literal-pathspecs")
        .expect("a hint");
    let hint = found.stdout[at..].lines().next().expect("a line");
    let mut shell = world.command("sh");
    assert!(
        shell
            .args(["-c", hint])
            .status()
            .expect("sh runs")
            .success(),
        "{hint}"
    );
}

#[test]
fn an_index_from_before_a_step_does_not_take_it_back() {
    let world = started("planning");
    world.plan("t", 1);
    world.write("mine.txt", "mine\n");
    world.git(&["add", "mine.txt"]);
    let index = world.path(".git/index");
    let old = fs::read(&index).expect("read");
    world.orch(&["next", "t"]).succeeds();
    staged(&world).succeeds();
    fs::write(&index, old).expect("written");
    let found = staged(&world)
        .ends(1)
        .says("[index-behind]")
        .says("would take back the last step");
    restored(&world, &found);
    assert_eq!(world.dirty(), "A  mine.txt\n");
    staged(&world).succeeds();
    // The step may have removed a file, too.
    world.plan_review("t", true, 1);
    world.orch(&["next", "t"]).succeeds();
    world.remove("tasks/t/review/plan/verdict.json");
    let old = fs::read(&index).expect("read");
    world
        .orch(&["next", "t", "--override", "It is urgent."])
        .succeeds();
    assert_eq!(world.dirty(), "A  mine.txt\n");
    fs::write(&index, old).expect("written");
    let found = staged(&world).ends(1).says("[index-behind]");
    restored(&world, &found);
    assert_eq!(world.dirty(), "A  mine.txt\n");
    // What the user has staged beside the step stays, whatever it is named.
    world.write("tasks/t/*.md", "n\n");
    world.write("tasks/t/a.md", "n\n");
    world.git(&["add", "tasks/t"]);
    world.git(&["commit", "-q", "-m", "notes"]);
    world.write("tasks/t/a.md", "staged\n");
    world.git(&["add", "tasks/t/a.md"]);
    world.write("tasks/t/a.md", "n\n");
    world.git(&["rm", "-q", "--cached", "--", ":(literal)tasks/t/*.md"]);
    let (mine, old) = (world.dirty(), fs::read(&index).expect("read"));
    world
        .orch(&["next", "t", "--override", "It is urgent."])
        .succeeds();
    fs::write(&index, old).expect("written");
    let found = staged(&world).ends(1).says("[index-behind]");
    restored(&world, &found);
    assert_eq!(world.dirty(), mine);
    world.git(&["reset", "-q"]);
    // A task that the index does not have yet.
    let old = fs::read(&index).expect("read");
    world.orch(&["new", "u"]).succeeds();
    fs::write(&index, old).expect("written");
    let found = staged(&world).ends(1).says("this commit would remove it");
    restored(&world, &found);
    assert_eq!(world.dirty(), "");
    // git may store something other than what is in the work tree.
    world.git(&["config", "core.autocrlf", "true"]);
    for name in ["state.json", "transcript.jsonl"] {
        world.remove(&format!("tasks/u/{name}"));
    }
    world.git(&["checkout", "-q", "--", "tasks/u"]);
    assert!(world.read("tasks/u/transcript.jsonl").contains("\r\n"));
    let old = fs::read(&index).expect("read");
    world.git(&["rm", "-q", "-r", "--cached", "tasks/u"]);
    staged(&world).ends(1).says("[index-behind]");
    fs::write(&index, old).expect("written");
    world.git(&["config", "core.autocrlf", "false"]);
    world.git(&["checkout", "-q", "--", "."]);
    world.git(&["reset", "-q", "--hard"]);
    // Whoever goes back has the old files in the work tree, too.
    world.git(&["checkout", "-q", "HEAD~1", "--", "tasks/t"]);
    staged(&world).succeeds();
    world.git(&["reset", "-q", "--hard"]);
    world.git(&["revert", "--no-commit", "HEAD"]);
    staged(&world).succeeds();
    // The commit of the step itself is judged by its record alone.
    world.git(&["commit", "-q", "-m", "back"]);
    world.orch(&["check", "--commit", "HEAD"]).succeeds();
}

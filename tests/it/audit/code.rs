//! Code as evidence in history: what proves it, what moves it honestly, and how it is forged.

use super::records::{retell, state};
use super::{last, standings};
use crate::harness::World;
use orch::base::{ArtifactName, Digest};
use serde_json::Value;

fn coding() -> World {
    let world = World::ready();
    world.write("src/a.rs", "0\n");
    world.commit("some code");
    world.orch(&["new", "t"]).succeeds();
    world.walk_to("t", "codegen");
    world
}

#[test]
fn a_step_is_judged_by_the_code_before_it() {
    let world = coding();
    world.commit_code("1", Some("t"));
    world.orch(&["next", "t"]).succeeds();
    // Its own commit may hold more, which proves nothing and disproves nothing.
    world.write("src/b.rs", "more\n");
    world.git(&["add", "src"]);
    world.git(&["commit", "-q", "--amend", "--no-edit"]);
    last(&world, "proven");
    // The same record, and a commit before it that does not name the task.
    let record = world.git(&["rev-parse", "HEAD"]);
    world.git(&["reset", "-q", "--hard", "HEAD~2"]);
    world.commit_code("1", None);
    world.git(&["checkout", "-q", record.trim(), "--", "tasks"]);
    world.orch(&["check", "--staged"]).ends(1).says("is not what the rules yield");
    world.git(&["commit", "-q", "-m", "as if"]);
    last(&world, "forged");
    world.orch(&["check", "--commit", "HEAD"]).ends(1).says("forged");
}

#[test]
fn a_step_without_any_code_is_forged() {
    let world = coding();
    world.commit_code("1", Some("t"));
    world.orch(&["next", "t"]).succeeds();
    let record = world.git(&["rev-parse", "HEAD"]);
    world.git(&["reset", "-q", "--hard", "HEAD~2"]);
    world.git(&["checkout", "-q", record.trim(), "--", "tasks"]);
    world.git(&["commit", "-q", "-m", "no code at all"]);
    last(&world, "forged");
}

#[test]
fn code_counted_from_where_it_never_was_is_not_proven() {
    let world = World::ready();
    world.write("system/workflows/small.md", include_str!("small.md"));
    world.write("orch.toml", "[[root]]\npath = \"tasks/*\"\nworkflow = \"small\"\n");
    world.write("src/a.rs", "0\n");
    world.commit("a small machine");
    let mut shell = world.command("sh");
    shell.args(["-c", "git ls-tree HEAD src | git mktree"]);
    let older = world.end(shell.output().expect("git runs")).succeeds().stdout;
    world.write("src/a.rs", "1\n");
    world.commit("other code");
    world.orch(&["new", "t"]).succeeds();
    world.write("tasks/t/plan.json", "{}\n");
    world.orch(&["next", "t"]).succeeds();
    last(&world, "proven");
    for (forged, standing) in [("no code of any commit", "unverifiable"), (older.trim(), "proven")] {
        let mut forged_state = state(&world);
        let digest = Digest::parse(forged).unwrap_or_else(|| Digest::of_blob(forged.as_bytes()));
        let change = ArtifactName::new("change").expect("a name");
        let code = forged_state.actors.get_mut("code").expect("the phase");
        code.entered_with.insert(change, Some(digest));
        world.git(&["reset", "-q", "--soft", "HEAD~1"]);
        retell(&world, &forged_state);
        world.commit("entered with other code");
        // A rebase may have brought the step here, so that code from before is believed where nothing
        // rests on it; a step that does is not proven.
        last(&world, standing);
        world.orch(&["next", "t"]).succeeds();
        let change = last(&world, "unverifiable");
        let why = change["why"].as_str().expect("a reason");
        assert!(why.contains("when `code` was entered"), "{why}");
        world.git(&["reset", "-q", "--hard", "HEAD~1"]);
    }
}

#[test]
fn what_is_moved_honestly_is_never_forged() {
    let world = coding();
    world.git(&["switch", "-q", "-c", "work"]);
    world.commit_code("1", Some("t"));
    world.orch(&["next", "t"]).succeeds();
    world.code_review("t", true, 1);
    world.orch(&["next", "t"]).succeeds();
    world.git(&["switch", "-q", "main"]);
    world.write("src/b.rs", "elsewhere\n");
    world.commit("elsewhere");
    // Merged, both steps stand in the history that they were made in.
    world.git(&["switch", "-q", "-c", "merged"]);
    world.git(&["merge", "-q", "-m", "united", "work"]);
    assert_eq!(standings(&world), ["proven"; 5]);
    // Rebased, the code before each step is other code.
    world.git(&["switch", "-q", "work"]);
    world.git(&["rebase", "-q", "main"]);
    let after = standings(&world);
    assert_eq!(after, ["proven", "proven", "proven", "unverifiable", "unverifiable"]);
    world.orch(&["audit"]).succeeds().says("is not the code of the parent commit");
    // Squashed, the code of a step in the middle is in no commit.
    world.git(&["switch", "-q", "-c", "squashed", "main"]);
    world.git(&["merge", "-q", "--squash", "work"]);
    world.git(&["commit", "-q", "-m", "all of it"]);
    let change: Value = last(&world, "unverifiable");
    assert_eq!(change["steps"].as_array().map(Vec::len), Some(2), "{change:#}");
}

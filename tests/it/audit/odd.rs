//! Honest pasts that look odd, and forgeries that look honest: what random histories have found.

use super::records::{LOG, relinked, resealed, retell, state, tell_lines};
use super::{edit_last_entry, last, skip, standings, started};
use crate::harness::World;
use orch_base::{ArtifactName, Digest};
use serde_json::json;

#[test]
fn whoever_goes_back_may_move_on_from_there() {
    let world = started("codegen");
    world.git(&[
        "restore",
        "-s",
        "HEAD~1",
        "--staged",
        "--worktree",
        "--",
        "tasks/t",
    ]);
    world.commit("back to the review of the plan");
    last(&world, "restored");
    assert_eq!(world.phase("t"), "plan_review");
    world.plan_review("t", false, 2);
    world.orch(&["next", "t"]).succeeds();
    assert_eq!(world.phase("t"), "planning");
    last(&world, "proven");
    // The same in one commit: a branch that went back and moved on, squashed.
    world.git(&["switch", "-q", "-c", "main-again", "HEAD~2"]);
    world.git(&["merge", "-q", "--squash", "main"]);
    world.git(&["commit", "-q", "-m", "squashed"]);
    let change = last(&world, "proven");
    assert!(
        change["why"]
            .as_str()
            .expect("why")
            .starts_with("after going back to"),
        "{change:#}"
    );
}

#[test]
fn a_record_that_was_taken_back_may_be_continued() {
    let world = started("plan_review");
    skip(&world, "codegen", "plan-accepted");
    world.commit("skipped");
    last(&world, "forged");
    world.git(&["revert", "--no-edit", "HEAD"]);
    last(&world, "restored");
    // The audit reports the skip once, in its own commit.
    world.git(&["checkout", "-q", "HEAD~1", "--", "tasks/t"]);
    world
        .orch(&["rollback", "t", "--to", "planning", "--reason", "again"])
        .succeeds();
    let change = last(&world, "overridden");
    assert!(
        change["why"]
            .as_str()
            .expect("why")
            .starts_with("after going back to"),
        "{change:#}"
    );
}

#[test]
fn a_digest_that_the_state_names_excuses_no_step_that_uses_it_up() {
    let (plan, nowhere) = (
        ArtifactName::new("plan").expect("valid"),
        Digest::of_blob(b"nowhere"),
    );
    let world = started("codegen");
    let mut tampered = state(&world);
    let planning = tampered.actors.get_mut("planning").expect("there");
    planning.left_with.insert(plan.clone(), Some(nowhere));
    retell(&world, &tampered);
    world.commit("planning was left with something that is nowhere");
    last(&world, "forged");
    skip(&world, "review", "code-ready");
    let mut skipped = state(&world);
    skipped
        .actors
        .get_mut("planning")
        .expect("there")
        .spent
        .insert(plan, vec![nowhere]);
    retell(&world, &skipped);
    world
        .orch(&["rollback", "t", "--to", "planning", "--reason", "again"])
        .succeeds();
    let change = last(&world, "forged");
    assert_eq!(
        change["steps"].as_array().map(Vec::len),
        Some(2),
        "{change:#}"
    );
}

#[test]
fn the_old_steps_told_otherwise_are_no_going_back() {
    let world = started("codegen");
    edit_last_entry(&world, |entry| entry.actor.name = "Bob".to_owned());
    world.commit("it was Bob");
    let change = last(&world, "forged");
    assert!(
        change["why"]
            .as_str()
            .expect("why")
            .contains("only grows, lost an event"),
        "{change:#}"
    );
}

#[test]
fn only_an_ancestors_record_may_be_put_back() {
    let world = started("plan_review");
    world.git(&["switch", "-q", "-c", "other"]);
    world.plan_review("t", true, 1);
    world.orch(&["next", "t"]).succeeds();
    world.git(&["switch", "-q", "main"]);
    world.plan_review("t", false, 2);
    world.orch(&["next", "t"]).succeeds();
    world.git(&[
        "checkout",
        "-q",
        "other",
        "--",
        "tasks/t/state.json",
        "tasks/t/transcript.jsonl",
    ]);
    world.commit("the other branch's record, and this one's files");
    world.git(&["merge", "-q", "-s", "ours", "-m", "both", "other"]);
    let standings = standings(&world);
    assert_eq!(
        standings.iter().filter(|one| *one == "forged").count(),
        1,
        "{standings:?}"
    );
    world.orch(&["check", "--commit", "HEAD~1"]).ends(1);
}

#[test]
fn a_revert_finds_a_finished_task_as_it_was_left() {
    let world = started("done");
    world.patch("t", 5);
    world.commit("a late fix, by hand");
    world
        .orch(&["reopen", "t", "--to", "accept", "--reason", "look again"])
        .succeeds();
    world.git(&["revert", "--no-edit", "HEAD"]);
    last(&world, "restored");
}

#[test]
fn a_damaged_record_returns_only_with_its_files() {
    for (phase, standing) in [("done", "forged"), ("review", "unverifiable")] {
        let world = started(phase);
        let whole = world.read(LOG);
        world.write(LOG, whole.replacen("\"Ann\"", "\"Bob\"", 1));
        world.commit("the first line was changed");
        last(&world, "forged");
        world.write(LOG, &whole);
        world.commit("the log as it was, and the files as they were");
        last(&world, "restored");
        world.git(&["reset", "-q", "--hard", "HEAD~1"]);
        world.write(LOG, &whole);
        world.patch("t", 9);
        world.commit("the log as it was, with another patch");
        let change = last(&world, standing);
        assert!(
            change["why"]
                .as_str()
                .expect("why")
                .contains("the files are not"),
            "{change:#}"
        );
        // Lines in another order are the same record.
        world.git(&["reset", "-q", "--hard", "HEAD~1"]);
        let turned: Vec<&str> = whole.split_inclusive('\n').rev().collect();
        world.write(LOG, turned.concat());
        world.patch("t", 9);
        world.commit("the lines turned round, with another patch");
        assert_ne!(super::last_change(&world)["standing"], "proven");
    }
}

#[test]
fn a_creation_can_be_reverted_and_a_longer_record_cannot_vanish() {
    let world = World::ready();
    world.plan("t", 1);
    world.commit("a plan, before there is a task");
    world.orch(&["new", "t"]).succeeds();
    world.git(&["revert", "--no-edit", "HEAD"]);
    last(&world, "restored");
    world.git(&["revert", "--no-edit", "HEAD"]);
    last(&world, "folded");
    world.plan_review("t", true, 1);
    world.orch(&["next", "t"]).succeeds();
    world.plan("t", 2);
    world.git(&["rm", "-q", "tasks/t/state.json", "tasks/t/transcript.jsonl"]);
    world.commit("there never was a record");
    last(&world, "forged");
}

#[test]
fn a_state_taken_over_is_proven_where_git_has_it() {
    let foreign = "{\"phase\": \"codegen\", \"ticket\": \"A-1\", \"history\": [{\"seq\": 7, \"to\": \"codegen\",
        \"at\": \"2026-01-01T00:00:00Z\", \"kind\": \"advance\", \"actor\": {\"kind\": \"human\", \"name\": \"Ann\"}}]}\n";
    let world = World::ready();
    world.plan("t", 1);
    world.write("tasks/t/state.json", foreign);
    world.commit("another tool's state");
    world.orch(&["new", "t"]).succeeds();
    last(&world, "proven");
    world
        .orch(&[
            "rollback",
            "t",
            "--to",
            "planning",
            "--reason",
            "begin again",
        ])
        .succeeds();
    last(&world, "overridden");

    // Of a file that was not committed, git keeps what the record has no place for.
    for (state, standing) in [
        (foreign, "proven"),
        (
            "{\"phase\": \"codegen\", \"ticket\": \"A-1\"}\n",
            "unverifiable",
        ),
    ] {
        let world = World::ready();
        world.plan("t", 1);
        world.write("tasks/t/state.json", state);
        world.orch(&["new", "t"]).succeeds();
        let change = last(&world, standing);
        let why = change["why"].as_str().unwrap_or_default();
        assert_eq!(
            why.contains("took over is not in git"),
            standing == "unverifiable",
            "{change:#}"
        );
    }
}

#[test]
fn what_an_override_waived_survives_a_squash() {
    let world = started("planning");
    world.git(&["switch", "-q", "-c", "work"]);
    world.plan("t", 1);
    world.orch(&["next", "t"]).succeeds();
    world
        .orch(&["next", "t", "--override", "no reviewer", "--to", "codegen"])
        .succeeds();
    world.patch("t", 1);
    world.orch(&["next", "t"]).succeeds();
    world.git(&["switch", "-q", "main"]);
    world.git(&["merge", "-q", "--squash", "work"]);
    world.git(&["commit", "-q", "-m", "Everything at once"]);
    last(&world, "folded");
}

#[test]
fn a_squash_after_a_rewritten_transcript_is_judged_by_itself() {
    let world = started("plan_review");
    tell_lines(
        &world,
        &relinked(&world.read(LOG), |_, event| {
            event["actor"]["name"] = json!("Bob")
        }),
    );
    world.commit("it was Bob");
    last(&world, "forged");
    world.git(&["switch", "-q", "-c", "work"]);
    world.walk_to_from("t", "plan_review", "review");
    world.git(&["switch", "-q", "main"]);
    world.git(&["merge", "-q", "--squash", "work"]);
    world.git(&["commit", "-q", "-m", "squashed"]);
    last(&world, "folded");
}

#[test]
fn a_state_holds_nothing_that_no_transition_puts_there() {
    let world = started("plan_review");
    world.plan_review("t", true, 1);
    world.orch(&["next", "t"]).succeeds();
    let text = world.read("tasks/t/state.json");
    let edited = text.replacen(
        "\"kind\": \"create\"",
        "\"approved_by\": \"everybody\", \"kind\": \"create\"",
        1,
    );
    assert_ne!(edited, text);
    let sealed = resealed(&edited);
    world.write("tasks/t/state.json", sealed);
    world.git(&["commit", "-q", "-a", "--amend", "--no-edit"]);
    let change = last(&world, "forged");
    assert!(
        change["why"].as_str().expect("why").contains("/history/0"),
        "{change:#}"
    );
}

#[test]
fn a_task_that_is_older_than_its_repository_is_adopted_and_never_forged() {
    for moves in [false, true] {
        let world = World::without_git();
        world.orch(&["init"]).succeeds();
        world.orch(&["new", "t"]).succeeds();
        if moves {
            world.plan("t", 1);
            world.orch(&["next", "t"]).succeeds();
        }
        world.git(&["init", "-q", "-b", "main"]);
        world.orch(&["new", "t"]).succeeds();
        world.commit("all");
        last(&world, "folded");
        world.walk_to_from("t", if moves { "plan_review" } else { "planning" }, "done");
        let found = standings(&world);
        assert!(
            found.iter().skip(1).all(|standing| standing == "proven"),
            "{found:?}"
        );
    }
}

#[test]
fn a_task_that_came_to_its_code_before_its_repository_is_unverifiable_and_never_forged() {
    for by_hand in [false, true] {
        let world = World::without_git();
        world.orch(&["init"]).succeeds();
        world.write("src/lib.rs", "pub fn a() {}\n");
        world.orch(&["new", "t"]).succeeds();
        world.walk_to("t", "codegen");
        world.git(&["init", "-q", "-b", "main"]);
        if by_hand {
            world.commit("all");
        } else {
            world.git(&[
                "add",
                "orch.toml",
                "system",
                "AGENTS.md",
                "src",
                "tasks/.gitignore",
            ]);
            world.git(&["commit", "-q", "-m", "Set up orch"]);
            world.orch(&["new", "t"]).succeeds();
        }
        let change = last(&world, "unverifiable");
        assert!(
            change["why"]
                .as_str()
                .expect("why")
                .contains("before `git init`"),
            "{change:#}"
        );
        world.walk_to_from("t", "codegen", "done");
        let found = standings(&world);
        assert!(
            found.iter().skip(1).all(|standing| standing == "proven"),
            "{found:?}"
        );
    }
    // A record in git says which code there was.
    let world = started("plan_review");
    skip(&world, "codegen", "plan-accepted");
    world.plan_review("t", true, 1);
    world.commit("without code");
    last(&world, "forged");
}

#[test]
fn a_directory_that_git_moved_is_not_forged_after_a_squash() {
    let world = World::ready();
    world.git(&["switch", "-q", "-c", "work"]);
    world.orch(&["new", "k"]).succeeds();
    world.walk_to("k", "plan_review");
    world.git(&["mv", "tasks/k", "tasks/m"]);
    world.commit("move");
    world.plan_review("m", true, 1);
    world.orch(&["next", "m"]).succeeds();
    last(&world, "proven");
    world.git(&["switch", "-q", "main"]);
    world.git(&["merge", "-q", "--squash", "work"]);
    world.git(&["commit", "-q", "-m", "squashed"]);
    let change = last(&world, "unverifiable");
    assert!(
        change["why"]
            .as_str()
            .expect("why")
            .contains("it was recorded as `k`"),
        "{change:#}"
    );
    world.orch(&["check", "--range", "HEAD~1..HEAD"]).succeeds();
    // A copy of a task that is here is forged.
    world.git(&["switch", "-q", "work"]);
    world.git(&["reset", "-q", "--hard", "HEAD~2"]);
    let copy = |from: &str, to: &str| {
        for file in ["transcript.jsonl", "planning/plan.json"] {
            world.write(
                &format!("tasks/{to}/{file}"),
                world.read(&format!("tasks/{from}/{file}")),
            );
        }
        world.commit("copy");
    };
    copy("k", "c");
    assert_eq!(last(&world, "forged")["task"], "c");
    world.git(&["reset", "-q", "--hard", "HEAD~1"]);
    // Also where the task is under an id that no step gave it.
    world.git(&["mv", "tasks/k", "tasks/m"]);
    world.commit("move");
    copy("m", "c");
    assert_eq!(last(&world, "forged")["task"], "c");
}

#[test]
fn directories_that_people_moved_by_hand_are_never_forged() {
    let world = World::ready();
    for task in ["a", "b"] {
        world.orch(&["new", task]).succeeds();
        world.walk_to(task, "plan_review");
    }
    let moved = |from: &str, to: &str| {
        std::fs::create_dir_all(world.path(to).parent().expect("a directory")).expect("made");
        world.git(&["mv", from, to]);
    };
    // Out of the root and back, under another id, and on from there.
    moved("tasks/a", "attic/a");
    world.commit("out");
    moved("attic/a", "tasks/c");
    world.commit("back");
    assert_eq!(last(&world, "restored")["why"], "renamed from a");
    world.plan_review("c", true, 1);
    world.orch(&["next", "c"]).succeeds();
    last(&world, "proven");
    // Exchanged in one commit, with a step between, and back.
    let exchange = || {
        moved("tasks/b", "tasks/x");
        moved("tasks/c", "tasks/b");
        moved("tasks/x", "tasks/c");
        world.commit("exchanged");
    };
    exchange();
    world.plan_review("c", true, 1);
    world.orch(&["next", "c"]).succeeds();
    last(&world, "proven");
    exchange();
    // In the place of a task that was removed.
    world.git(&["rm", "-qr", "tasks/b"]);
    moved("tasks/c", "tasks/b");
    world.commit("replaced");
    let found = standings(&world);
    assert!(
        !found
            .iter()
            .any(|standing| ["forged", "unverifiable"].contains(&&**standing)),
        "{found:?}"
    );
    world.orch(&["check", "--range", "HEAD~6..HEAD"]).succeeds();
    // A step that no rule yields is still forged, whatever moved.
    world.git(&["reset", "-q", "--hard", "HEAD~1"]);
    moved("tasks/b", "tasks/x");
    moved("tasks/c", "tasks/b");
    moved("tasks/x", "tasks/c");
    for task in ["b", "c"] {
        let text = world.read(&format!("tasks/{task}/state.json"));
        world.write(
            &format!("tasks/{task}/state.json"),
            text.replace("\"codegen\"", "\"done\""),
        );
    }
    world.commit("exchanged and finished");
    world.orch(&["audit"]).ends(1);
    assert_eq!(
        standings(&world)
            .iter()
            .filter(|standing| *standing == "forged")
            .count(),
        2
    );
}

#[test]
fn a_state_of_another_tool_may_stay_behind_its_adoption() {
    let world = World::ready();
    let foreign = r#"{"phase": "codegen", "ticket": "A-1"}"#;
    world.write("tasks/t/state.json", foreign);
    world.commit("another tool");
    world.orch(&["new", "t"]).succeeds();
    last(&world, "proven");
    // The log tells more than the copy, which is as it was adopted.
    world.write("tasks/t/state.json", foreign);
    world.git(&["commit", "-q", "-a", "--amend", "--no-edit"]);
    last(&world, "proven");
    for other in [
        r#"{"phase": "done", "ticket": "A-1"}"#,
        r#"{"phase": "codegen", "ticket": "A-2"}"#,
    ] {
        world.write("tasks/t/state.json", other);
        world.git(&["commit", "-q", "-a", "--amend", "--no-edit"]);
        last(&world, "forged");
    }
}

#[test]
fn what_is_stored_under_the_id_of_another_object_is_not_audited() {
    for (damaged, held) in [
        ("HEAD:tasks/t/transcript.jsonl", "HEAD:tasks/t/state.json"),
        ("HEAD:tasks/t", "HEAD:tasks"),
        ("HEAD~1", "HEAD~2"),
    ] {
        let world = started("codegen");
        world.orch(&["audit"]).succeeds();
        let [damaged, held] =
            [damaged, held].map(|object| world.git(&["rev-parse", object]).trim().to_owned());
        let file = |id: &str| world.path(&format!(".git/objects/{}/{}", &id[..2], &id[2..]));
        std::fs::remove_file(file(&damaged)).expect("a loose object");
        std::fs::copy(file(&held), file(&damaged)).expect("another loose object");
        world.orch(&["audit"]).ends(70).reports(&damaged);
    }
}

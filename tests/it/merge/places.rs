//! Where a conflict may stand: in the index, in a commit, in an artifact; and what is said of it.

use super::{WAYS, Way, coded, finish, forked, reviewed, rolled_back, standings};
use crate::harness::{World, started};
use crate::outputs::fits;

const STATE: &str = "tasks/t/state.json";
const TRANSCRIPT: &str = "tasks/t/transcript.jsonl";

/// Both sides advanced, and `git merge` has stopped at the conflict.
fn stopped() -> World {
    let world = forked("plan_review", reviewed, coded);
    assert_ne!(Way::Merge.begin(&world).code, 0);
    world
}

#[test]
fn a_state_in_conflict_is_folded_and_the_answer_says_how_it_is_settled() {
    let world = stopped();
    let task = &world.orch_json(&["suggest", "t"])["suggestions"][0];
    assert_eq!(task["currentPhase"], "codegen", "{task:#}");
    let finding = &task["diagnostics"][0];
    assert_eq!(
        (&finding["code"], &finding["path"]),
        (&"state-folded".into(), &STATE.into()),
        "{task:#}"
    );
    assert_eq!(finding["hint"], "orch resolve t");
    // Nothing moves in the middle of a merge.
    world
        .orch(&["rollback", "t", "--reason", "r"])
        .ends(5)
        .reports("merge");
    world
        .orch(&["recover", "t"])
        .ends(5)
        .reports("hint: orch resolve t");
    world
        .orch(&["check", "--staged"])
        .ends(1)
        .says("orch resolve tasks/t");
    // Named by what the hint says, or by id.
    world.orch(&["resolve", "tasks/t"]).succeeds();
    world.orch(&["check", "--staged"]).succeeds();
    Way::Merge.go_on(&world).succeeds();
}

#[test]
fn exactly_the_two_files_are_staged() {
    let world = stopped();
    world.write("mine.txt", "not staged");
    world.write("tasks/t/planning/notes.md", "not staged either\n");
    let ended = world.orch(&["resolve"]).succeeds();
    assert!(
        ended
            .stdout
            .starts_with("t: codegen + review -> codegen  (merged)\n"),
        "{ended:?}"
    );
    assert!(
        ended.stderr.contains("next: git merge --continue"),
        "{ended:?}"
    );
    let dirty = world.dirty();
    assert!(
        dirty.contains("?? mine.txt\n") && dirty.contains("?? tasks/t/planning/notes.md\n"),
        "{dirty}"
    );
    assert_eq!(world.git(&["diff", "--name-only", "--diff-filter=U"]), "");
    world.orch(&["resolve"]).ends(3);
    Way::Merge.go_on(&world).succeeds();
    world.orch(&["resolve"]).ends(3);
    standings(&world);
}

#[test]
fn a_transcript_united_by_git_is_left_as_it_is() {
    let world = stopped();
    let united = world.read(TRANSCRIPT);
    assert!(!united.contains("<<<<<<<"), "{united}");
    world.orch(&["resolve"]).succeeds();
    assert_eq!(world.read(TRANSCRIPT), united);
    let log = world.orch_json(&["log", "t"]);
    let told: Vec<(u64, &str)> = log["entries"]
        .as_array()
        .expect("entries")
        .iter()
        .map(|entry| {
            (
                entry["seq"].as_u64().expect("a number"),
                entry["kind"].as_str().expect("a kind"),
            )
        })
        .collect();
    let advance = |seq| (seq, "advance");
    // Both branches took a third step.
    assert_eq!(
        told,
        [
            (1, "create"),
            advance(2),
            advance(3),
            advance(3),
            advance(4)
        ]
    );
}

#[test]
fn without_any_attributes_both_files_are_settled() {
    let world = World::ready();
    world.git(&["rm", "-q", "tasks/.gitattributes"]);
    world.git(&["commit", "-q", "-m", "no attributes"]);
    world.orch(&["new", "t"]).succeeds();
    world.walk_to("t", "plan_review");
    world.git(&["switch", "-q", "-c", "work"]);
    coded(&world);
    world.git(&["switch", "-q", "main"]);
    reviewed(&world);
    assert_ne!(Way::Merge.begin(&world).code, 0);
    assert!(world.read(TRANSCRIPT).contains("<<<<<<<"));
    // The markers of the transcript alone are told, too.
    world.git(&["checkout", "-q", "--ours", "--", STATE]);
    world.orch(&["suggest", "t"]).says("transcript.jsonl");
    world.orch(&["next", "t"]).ends(5).reports("orch resolve t");
    world.orch(&["resolve"]).succeeds();
    Way::Merge.go_on(&world).succeeds();
    assert_eq!(world.phase("t"), "codegen");
    finish(&world);
    standings(&world);
}

#[test]
fn a_conflict_that_was_committed_is_settled_in_the_work_directory() {
    for style in ["merge", "diff3", "zdiff3"] {
        let world = forked("plan_review", reviewed, coded);
        world.git(&["config", "merge.conflictStyle", style]);
        assert_ne!(Way::Merge.begin(&world).code, 0);
        world.git(&["add", "-A"]);
        world.git(&["commit", "-q", "--no-edit"]);
        world.orch(&["suggest", "t"]).says("orch resolve t");
        let answer = world.orch_json(&["resolve", "t"]);
        fits(&answer);
        fits(&world.orch_json(&["resolve"]));
        assert_eq!(answer["tasks"][0]["how"], "merged");
        assert!(answer["tasks"][0]["commit"].is_null(), "{answer:#}");
        assert_eq!(
            (world.phase("t").as_str(), world.dirty()),
            ("codegen", format!(" M {STATE}\n")),
            "{style}"
        );
        world.orch(&["resolve"]).ends(3);
        // The next move commits it.
        world.orch(&["next", "t"]).succeeds();
        assert_eq!(world.dirty(), "", "{style}");
        finish(&world);
        standings(&world);
    }
}

#[test]
fn a_state_destroyed_in_a_merge_is_folded_from_the_log() {
    let world = stopped();
    world.write(STATE, "{\n");
    world.git(&["add", "-A"]);
    world.git(&["commit", "-q", "--no-edit"]);
    assert_eq!(world.phase_suggested("t"), "codegen");
    world.orch(&["resolve", "t"]).succeeds().says("(merged)");
    assert_eq!(world.phase("t"), "codegen");
    world.orch(&["next", "t"]).succeeds();
    assert_eq!(world.dirty(), "");
}

#[test]
fn a_conflict_in_an_artifact_is_left_to_people() {
    fn other_plan(world: &World) {
        rolled_back(world);
        world.plan("t", 2);
        world.orch(&["next", "t"]).succeeds();
    }
    fn third_plan(world: &World) {
        rolled_back(world);
        world.plan("t", 3);
        world.orch(&["next", "t"]).succeeds();
    }
    let world = forked("plan_review", other_plan, third_plan);
    assert_ne!(Way::Merge.begin(&world).code, 0);
    let answer = world.orch_json(&["resolve"]);
    fits(&answer);
    let left = &answer["tasks"][0]["left"];
    assert_eq!(left.as_array().map(Vec::len), Some(1), "{answer:#}");
    assert_eq!(left[0]["path"], "tasks/t/planning/plan.json");
    assert_eq!(
        (&left[0]["code"], &left[0]["line"]),
        (&"conflict-markers".into(), &5.into()),
        "{answer:#}"
    );
    assert_eq!(
        (&answer["blocked"], &answer["tasks"][0]["settled"]),
        (&true.into(), &true.into())
    );
    assert_eq!(
        answer["next"],
        serde_json::json!(["git", "merge", "--continue"])
    );
    // The record is whole, and the suggestion says what is wrong with the plan.
    world.orch(&["suggest", "t"]).says("conflict markers");
    world.plan("t", 4);
    world.git(&["add", "-A"]);
    Way::Merge.go_on(&world).succeeds();
    // Both plans were judged by nobody, so the task continues where it stood.
    finish(&world);
    standings(&world);
}

#[test]
fn two_ends_on_different_evidence_are_told_and_one_is_chosen() {
    fn ended(world: &World) {
        world.accept("t");
        world.orch(&["approve", "t"]).succeeds();
    }
    fn ended_otherwise(world: &World) {
        world
            .orch(&["rollback", "t", "--to", "codegen", "--reason", "slow"])
            .succeeds();
        world.patch("t", 9);
        world.orch(&["next", "t"]).succeeds();
        world.code_review("t", true, 9);
        world.orch(&["next", "t"]).succeeds();
        world.tests("t", 0, 9);
        world.orch(&["next", "t"]).succeeds();
        ended(world);
    }
    for (side, phase_of) in [("ours", "HEAD"), ("theirs", "work")] {
        let world = forked("accept", ended, ended_otherwise);
        assert_ne!(Way::Merge.begin(&world).code, 0);
        let before = (world.read(STATE), world.git(&["ls-files", "-s"]));
        let ended = world.orch(&["resolve"]).ends(1);
        for told in [
            "both sides are finished",
            "ours:",
            "theirs:",
            "slow",
            "accept -> done",
            "--ours --reason WHY",
        ] {
            assert!(
                ended.stdout.contains(told) || ended.stderr.contains(told),
                "{told}: {ended:?}"
            );
        }
        assert_eq!(
            (world.read(STATE), world.git(&["ls-files", "-s"])),
            before,
            "nothing was touched"
        );
        let answer = world.orch_json(&["resolve"]);
        fits(&answer);
        assert_eq!(
            (&answer["tasks"][0]["how"], &answer["blocked"]),
            (&"disputed".into(), &true.into())
        );
        assert_eq!(
            answer["tasks"][0]["ours"].as_array().map(Vec::len),
            Some(1),
            "{answer:#}"
        );
        let flag = format!("--{side}");
        world
            .orch(&["resolve", &flag, "--reason", "faster"])
            .ends(2);
        world.orch(&["resolve", "t", &flag]).ends(2);
        world
            .orch(&["resolve", "t", &flag, "--reason", " "])
            .ends(1)
            .reports("reason");
        world
            .orch(&["resolve", "t", &flag, "--reason", "faster"])
            .succeeds()
            .says(&format!("chosen-{side}"));
        for path in world
            .git(&["diff", "--name-only", "--diff-filter=U"])
            .lines()
        {
            world.git(&["checkout", "-q", &flag, "--", path]);
            world.git(&["add", "--", path]);
        }
        Way::Merge.go_on(&world).succeeds();
        assert_eq!(world.phase("t"), "done", "{phase_of}");
        let audit = world.orch(&["audit"]).succeeds().stdout;
        assert!(
            audit.contains("faster") && audit.contains("overridden"),
            "{audit}"
        );
        assert_eq!(
            standings(&world).last().map(String::as_str),
            Some("overridden")
        );
        world.orch(&["log", "t"]).says("slow").says("faster");
    }
}

#[test]
fn the_same_end_twice_is_no_conflict() {
    fn ended(world: &World) {
        world.accept("t");
        world.orch(&["approve", "t"]).succeeds();
    }
    let world = forked("accept", ended, ended);
    assert_ne!(Way::Merge.begin(&world).code, 0);
    world
        .orch(&["resolve"])
        .succeeds()
        .says("done + done -> done");
    Way::Merge.go_on(&world).succeeds();
    standings(&world);
}

#[test]
fn a_task_that_one_side_removed_is_not_guessed() {
    fn removed(world: &World) {
        world.git(&["rm", "-q", "-r", "tasks/t"]);
        world.git(&["commit", "-q", "-m", "no more of this"]);
    }
    let world = forked("plan_review", removed, reviewed);
    assert_ne!(Way::Merge.begin(&world).code, 0);
    world
        .orch(&["resolve"])
        .ends(5)
        .reports("one side deleted tasks/t/transcript.jsonl")
        .reports("git rm tasks/t/transcript.jsonl");
}

#[test]
fn one_task_does_not_keep_the_others_from_being_settled() {
    let world = World::ready();
    for task in ["a", "t"] {
        world.orch(&["new", task]).succeeds();
        world.walk_to(task, "plan_review");
    }
    world.git(&["switch", "-q", "-c", "work"]);
    world.git(&["rm", "-q", "-r", "tasks/a"]);
    world.git(&["commit", "-q", "-m", "no more of this"]);
    coded(&world);
    world.git(&["switch", "-q", "main"]);
    reviewed(&world);
    world.plan_review("a", true, 1);
    world.orch(&["next", "a"]).succeeds();
    assert_ne!(Way::Merge.begin(&world).code, 0);
    let ended = world.orch(&["resolve", "--json"]).ends(1);
    let answer: serde_json::Value = serde_json::from_str(&ended.stdout).expect("JSON");
    fits(&answer);
    let hows: Vec<&serde_json::Value> = answer["tasks"]
        .as_array()
        .expect("tasks")
        .iter()
        .map(|one| &one["how"])
        .collect();
    assert_eq!(hows, ["failed", "merged"], "{answer:#}");
    assert_eq!(world.phase("t"), "codegen");
}

#[test]
fn a_stash_that_does_not_fit_is_settled() {
    let world = started("planning");
    world.write("orch.toml", "version = 1\n[git]\ncommit = \"off\"\n");
    world.walk_to("t", "plan_review");
    world.commit("by hand");
    world.plan_review("t", true, 1);
    world.commit("a review");
    world.orch(&["next", "t"]).succeeds();
    world.git(&["stash", "-q"]);
    rolled_back(&world);
    world.commit("by hand again");
    assert_ne!(world.git_ended(&["stash", "pop", "-q"]).code, 0);
    let answer = world.orch_json(&["resolve"]);
    assert_eq!(
        (&answer["tasks"][0]["how"], &answer["next"]),
        (&"merged".into(), &serde_json::Value::Null)
    );
    assert_eq!(
        (world.phase("t").as_str(), world.dirty().as_str()),
        (
            "planning",
            "M  tasks/t/state.json\nM  tasks/t/transcript.jsonl\n"
        )
    );
    world.commit("joined by hand");
    standings(&world);
}

#[test]
fn a_conflict_that_was_added_as_it_is_is_settled_from_the_log() {
    let state = |way: Way, commit: bool| {
        let world = forked("plan_review", reviewed, rolled_back);
        assert_ne!(way.begin(&world).code, 0);
        world.git(&["add", "-A"]);
        // The index knows no conflict any more, and the file has no whole side.
        if commit {
            way.go_on(&world).succeeds();
        }
        let ended = world.orch(&["resolve", "t"]).succeeds().says("(merged)");
        if !commit {
            assert!(ended.stderr.contains("--continue"), "{ended:?}");
            way.go_on(&world).succeeds();
        }
        assert_eq!(world.phase("t"), "planning", "{way:?}");
        let state = world.read("tasks/t/state.json");
        finish(&world);
        standings(&world);
        state
    };
    for way in WAYS {
        assert_eq!(state(way, true), state(way, false), "{way:?}");
    }
}

#[test]
fn a_revert_of_an_older_move_takes_its_files_back_and_no_event() {
    let world = started("review");
    let log = world.read(TRANSCRIPT);
    let ended = world.git_ended(&["revert", "--no-edit", "HEAD~1"]);
    assert_ne!(ended.code, 0, "{ended:?}");
    world
        .orch(&["resolve"])
        .succeeds()
        .reports("git revert --continue");
    for path in world
        .git(&["diff", "--name-only", "--diff-filter=U"])
        .lines()
    {
        world.git(&["rm", "-q", "--", path]);
    }
    world.git(&["-c", "core.editor=true", "revert", "--continue"]);
    assert_eq!(
        (world.phase("t").as_str(), world.read(TRANSCRIPT)),
        ("review", log)
    );
    standings(&world);
}

#[test]
fn a_task_made_on_both_branches_is_one_task() {
    let world = World::ready();
    world.git(&["switch", "-q", "-c", "work"]);
    world.orch(&["new", "t", "--title", "Login"]).succeeds();
    world.walk_to("t", "plan_review");
    world.git(&["switch", "-q", "main"]);
    world.orch(&["new", "t", "--title", "Login"]).succeeds();
    assert_ne!(Way::Merge.begin(&world).code, 0);
    world.orch(&["resolve"]).succeeds();
    Way::Merge.go_on(&world).succeeds();
    assert_eq!(world.phase("t"), "planning");
    standings(&world);
    finish(&world);
}

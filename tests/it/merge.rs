//! Two branches that moved one task, joined by git's own merge, rebase and cherry-pick.

mod audited;
mod driver;
mod evasions;
mod folded;
mod places;
mod two_tasks;

use crate::harness::{Ended, World, started};
use serde_json::{Value, json};

/// What a branch does with the task.
type Deed = fn(&World);

/// A task in `phase`, and two branches that each went on with it; `main` is checked out.
pub fn forked(phase: &str, ours: Deed, theirs: Deed) -> World {
    let world = started(phase);
    world.git(&["switch", "-q", "-c", "work"]);
    theirs(&world);
    world.git(&["switch", "-q", "main"]);
    ours(&world);
    world
}

/// Somebody's plan is reviewed, and the review accepted.
pub fn reviewed(world: &World) {
    world.plan_review("t", true, 1);
    world.orch(&["next", "t"]).succeeds();
}

/// The same, and the code written.
pub fn coded(world: &World) {
    reviewed(world);
    world.patch("t", 1);
    world.orch(&["next", "t"]).succeeds();
}

pub fn rolled_back(world: &World) {
    world
        .orch(&[
            "rollback",
            "t",
            "--to",
            "planning",
            "--reason",
            "another plan",
        ])
        .succeeds();
}

fn advanced(world: &World) {
    world.code_review("t", true, 1);
    world.orch(&["next", "t"]).succeeds();
}

fn overrode(world: &World) {
    world
        .orch(&["next", "t", "--override", "in a hurry", "--to", "accept"])
        .succeeds();
}

fn overrode_less(world: &World) {
    world
        .orch(&["next", "t", "--override", "no review", "--to", "test"])
        .succeeds();
}

pub fn reopened(world: &World) {
    world
        .orch(&["reopen", "t", "--to", "review", "--reason", "it came back"])
        .succeeds();
}

fn reopened_and_coded(world: &World) {
    world
        .orch(&["reopen", "t", "--to", "codegen", "--reason", "it failed"])
        .succeeds();
    world.patch("t", 7);
    world.orch(&["next", "t"]).succeeds();
}

/// Ways to bring `work` and `main` together; each stops at the first conflict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    Merge,
    MergeBack,
    Rebase,
    CherryPick,
}

pub const WAYS: [Way; 4] = [Way::Merge, Way::MergeBack, Way::Rebase, Way::CherryPick];

impl Way {
    pub fn begin(self, world: &World) -> Ended {
        let git = |arguments: &[&str]| world.git_ended(arguments);
        match self {
            Self::Merge => git(&["merge", "-q", "--no-edit", "work"]),
            Self::MergeBack => {
                world.git(&["switch", "-q", "work"]);
                git(&["merge", "-q", "--no-edit", "main"])
            }
            Self::Rebase => {
                world.git(&["switch", "-q", "work"]);
                git(&["rebase", "-q", "main"])
            }
            Self::CherryPick => git(&["cherry-pick", "main..work"]),
        }
    }

    pub fn go_on(self, world: &World) -> Ended {
        let command = match self {
            Self::Merge | Self::MergeBack => "merge",
            Self::Rebase => "rebase",
            Self::CherryPick => "cherry-pick",
        };
        world.git_ended(&["-c", "core.editor=true", command, "--continue"])
    }
}

/// Brings both together, settling every conflict of a record with `orch resolve` and any other one by
/// taking theirs; how many there were.
#[track_caller]
pub fn bring_together(world: &World, way: Way) -> u32 {
    let mut ended = way.begin(world);
    let mut conflicts = 0;
    while ended.code != 0 {
        conflicts += 1;
        assert!(conflicts < 20, "{way:?}: {ended:?}");
        let resolved = world.orch(&["resolve"]);
        assert!(
            [0, 3].contains(&resolved.code),
            "{way:?}: {ended:?}\n{resolved:?}"
        );
        for path in world
            .git(&["diff", "--name-only", "--diff-filter=U"])
            .lines()
        {
            assert!(
                !path.ends_with("state.json") && !path.ends_with("transcript.jsonl"),
                "{path}: {resolved:?}"
            );
            world.git(&["checkout", "-q", "--theirs", "--", path]);
            world.git(&["add", "--", path]);
        }
        ended = way.go_on(world);
    }
    assert_eq!(world.dirty(), "", "{way:?}");
    conflicts
}

/// Does what each phase asks, until the task is done.
#[track_caller]
pub fn finish(world: &World) {
    for nth in 20..50 {
        while world.orch(&["next", "t"]).code == 0 {}
        match world.phase("t").as_str() {
            "planning" => world.plan("t", nth),
            "plan_review" => world.plan_review("t", true, nth),
            "codegen" => world.patch("t", nth),
            "review" => world.code_review("t", true, nth),
            "test" => world.tests("t", 0, nth),
            "accept" => {
                let reason = format!("It works, run {nth}.");
                let text = json!({"verdict": "accepted", "reasons": [reason], "decider": "Ann"});
                world.write("tasks/t/accept/decision.json", text.to_string());
                world.orch(&["approve", "t"]).succeeds();
            }
            "done" => return,
            other => panic!("nobody knows what to do in {other}"),
        }
    }
    panic!("{:?}", world.orch(&["explain", "t"]));
}

/// The standings of all changes, oldest first, none of them forged.
#[track_caller]
pub fn standings(world: &World) -> Vec<String> {
    let audit = world.orch_json(&["audit"]);
    let changes = audit["changes"]
        .as_array()
        .unwrap_or_else(|| panic!("{audit:#}"));
    assert!(
        changes.iter().all(|change| change["standing"] != "forged"),
        "{audit:#}"
    );
    changes
        .iter()
        .map(|change| change["standing"].as_str().expect("a text").to_owned())
        .collect()
}

fn kinds(world: &World) -> Vec<String> {
    let log = world.orch_json(&["log", "t"]);
    let entries = log["entries"].as_array().expect("entries").iter();
    entries
        .map(|entry| entry["kind"].as_str().expect("a kind").to_owned())
        .collect()
}

/// Every pair of deeds, brought together in every way, continues to its end and is audited.
#[track_caller]
fn joins(phase: &str, deeds: [Deed; 2], stands_in: &str) {
    for deeds in [deeds, [deeds[1], deeds[0]]] {
        let mut states: Vec<Value> = Vec::new();
        for way in WAYS {
            let world = forked(phase, deeds[0], deeds[1]);
            assert!(
                bring_together(&world, way) > 0,
                "{way:?}: there was no conflict"
            );
            assert_eq!(world.phase("t"), stands_in, "{way:?}");
            states.push(world.json("tasks/t/state.json"));
            world.orch(&["check"]).succeeds();
            let kinds = kinds(&world);
            assert!(
                kinds.iter().all(|kind| kind != "merge"),
                "{way:?}: {kinds:?}"
            );
            standings(&world);
            finish(&world);
            standings(&world);
        }
        // Whatever brought the branches together: the log is the same, and so is what it folds to.
        assert!(
            states.iter().all(|state| *state == states[0]),
            "{states:#?}"
        );
    }
}

#[test]
fn two_branches_that_advanced_meet_in_the_earlier_phase() {
    joins("plan_review", [reviewed, coded], "codegen");
}

#[test]
fn who_rolled_back_is_heard_by_who_advanced() {
    joins("review", [rolled_back, advanced], "planning");
}

#[test]
fn two_overrides_are_both_told() {
    joins("review", [overrode, overrode_less], "test");
}

#[test]
fn a_reopened_task_stays_open() {
    joins("done", [reopened, reopened_and_coded], "review");
}

#[test]
fn one_side_that_moved_is_the_state() {
    let world = forked(
        "plan_review",
        |world| world.write("other.txt", "x\n"),
        coded,
    );
    world.commit("elsewhere");
    assert_eq!(bring_together(&world, Way::Merge), 0);
    assert_eq!(world.phase("t"), "review");
    world.orch(&["resolve"]).ends(3).says("nothing to resolve");
    world.orch(&["resolve", "t"]).ends(3);
    assert_eq!(world.orch_json(&["resolve"])["tasks"], json!([]));
}

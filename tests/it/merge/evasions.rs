//! Forgeries that hide in or behind a merge, and honest histories that look like one.

use super::{Way, bring_together, finish, forked, reviewed, standings};
use crate::audit::records::{LOG as TRANSCRIPT, STATE, parsed, state, tell};
use crate::harness::{World, started};
use orch_core::decide::{Actor, ActorStatus, HistoryEntry, Kind, State};

/// Failing tests send the task back.
fn failed(world: &World) {
    world.tests("t", 1, 3);
    world.orch(&["next", "t"]).succeeds();
}

fn elsewhere(world: &World) {
    world.write("other.txt", "x\n");
    world.commit("elsewhere");
}

/// A state of the task as somebody makes it up, from the one that lies there.
fn made_up(world: &World, kind: Kind, rule: Option<&str>, to: &str) -> State {
    let mut state = state(world);
    let mut entry = HistoryEntry::clone(state.history.last().expect("an entry"));
    entry.seq = state.rev + 1;
    entry.from = Some(entry.to);
    entry.to = orch_base::PhaseId::new(to).expect("valid");
    (entry.kind, entry.rule) = (kind, rule.map(str::to_owned));
    entry.evidence.clear();
    if kind == Kind::Merge {
        entry.reason = "two branches moved this task".to_owned();
        entry.actor = orch_core::decide::By {
            kind: orch_core::decide::ActorKind::Orch,
            name: "orch".to_owned(),
        };
    }
    state.actors.insert(
        to.to_owned(),
        Actor {
            attempt: 1,
            ..Actor::default()
        },
    );
    state.actors.get_mut("planning").expect("there").status = ActorStatus::Done;
    state.history.push(entry.into());
    (state.rev, state.phase) = (state.rev + 1, Some(to.to_owned()));
    state
}

#[track_caller]
fn is_forged(world: &World) {
    let audit = world.orch_json(&["audit"]);
    assert!(audit["counts"]["forged"].as_u64() > Some(0), "{audit:#}");
    world.orch(&["audit"]).ends(1);
    world.orch(&["check", "--range", "HEAD"]).ends(1);
}

#[test]
fn a_merge_line_excuses_no_step() {
    // Two steps that nobody made, joined.
    let world = started("test");
    world.tests("t", 1, 3);
    world.commit("they fail");
    tell(
        &world,
        &made_up(&world, Kind::Advance, Some("tests-passed"), "accept"),
    );
    tell(&world, &made_up(&world, Kind::Merge, None, "accept"));
    world.commit("joined");
    is_forged(&world);

    // A step after the line that joins.
    let world = started("test");
    tell(&world, &made_up(&world, Kind::Merge, None, "test"));
    tell(
        &world,
        &made_up(&world, Kind::Advance, Some("accepted"), "done"),
    );
    world.commit("joined, and done");
    is_forged(&world);
}

#[test]
fn the_end_of_another_clone_is_not_ours() {
    let world = forked("plan_review", finish, finish);
    bring_together_choosing(&world);
    let (state, transcript) = (world.read(STATE), world.read(TRANSCRIPT));
    let other = started("planning");
    other.write(STATE, state);
    other.write(TRANSCRIPT, transcript);
    other.commit("done elsewhere");
    is_forged(&other);
}

/// Merges `work`; of two ends, ours is chosen.
fn bring_together_choosing(world: &World) {
    assert_ne!(Way::Merge.begin(world).code, 0);
    world.orch(&["resolve", "t", "--ours", "--reason", "it is the better one"]);
    for path in world
        .git(&["diff", "--name-only", "--diff-filter=U"])
        .lines()
    {
        world.git(&["checkout", "-q", "--ours", "--", path]);
    }
    world.git(&["add", "-A"]);
    Way::Merge.go_on(world).succeeds();
}

#[test]
fn no_merge_drops_what_a_side_recorded() {
    // The record of a stale branch, and new evidence.
    let world = forked("test", failed, elsewhere);
    world.git(&["merge", "-q", "--no-commit", "--no-ff", "work"]);
    world.git(&["checkout", "-q", "work", "--", STATE, TRANSCRIPT]);
    world.tests("t", 0, 4);
    world.git(&["add", "-A"]);
    world.orch(&["check", "--staged"]).ends(1);
    world.git(&["commit", "-q", "-m", "Merge work"]);
    let audit = world.orch_json(&["audit"]);
    let last = audit["changes"]
        .as_array()
        .and_then(|changes| changes.last())
        .expect("a change");
    assert_eq!(last["standing"], "forged", "{audit:#}");
    assert!(
        last["why"].as_str().expect("a text").contains("drops"),
        "{audit:#}"
    );

    // The record of a side that went on, and a step on top of it.
    let world = forked("test", failed, |world| {
        world.tests("t", 0, 4);
        world.orch(&["next", "t"]).succeeds();
    });
    world.git_ended(&["merge", "-q", "--no-commit", "work"]);
    world.git(&["checkout", "-q", "work", "--", "tasks/t"]);
    tell(
        &world,
        &made_up(&world, Kind::Advance, Some("accepted"), "done"),
    );
    world.git(&["add", "-A"]);
    world.git(&["commit", "-q", "-m", "Merge work"]);
    is_forged(&world);

    // Everything that was recorded, and the task is begun again.
    let world = forked("test", failed, elsewhere);
    world.git(&["merge", "-q", "--no-commit", "--no-ff", "work"]);
    world.git(&["rm", "-q", "--cached", "--", STATE, TRANSCRIPT]);
    world.git(&["commit", "-q", "-m", "Merge work"]);
    is_forged(&world);
}

#[test]
fn a_merge_that_drops_the_send_back_of_a_branch_is_forged_until_it_is_acknowledged() {
    let world = forked("plan_review", elsewhere, |world| {
        world.plan_review("t", false, 1);
        world.orch(&["next", "t"]).succeeds();
    });
    world.git(&["merge", "-q", "-s", "ours", "-m", "Merge work", "work"]);
    let dropped = "the merge drops events of a merged side: regress to planning";
    world.orch(&["audit"]).ends(1).says(dropped);
    world
        .orch(&["check", "--range", "HEAD~1..HEAD"])
        .ends(1)
        .says(dropped)
        .says("orch resolve t");
    world
        .orch(&["check", "--commit", "HEAD"])
        .ends(1)
        .says(dropped);
    let merge = world.git(&["rev-parse", "HEAD"]);
    let merge = merge.trim();
    let entry = format!(
        "[[acknowledged]]\nforged = \"{merge}\"\ntask = \"t\"\nreason = \"The refusal was a mistake.\"\n"
    );
    world.write("orch.toml", format!("{}\n{entry}", world.read("orch.toml")));
    world.commit("acknowledge the merge");
    world
        .orch(&["audit"])
        .succeeds()
        .says("The refusal was a mistake.");
    world.orch(&["check", "--range", "HEAD~3..HEAD"]).succeeds();
}

#[test]
fn a_merge_rewrites_no_transcript() {
    let edits: [fn(String) -> String; 2] = [
        |text| text.replacen("\"Ann\"", "\"Bob\"", 1),
        |text| text.split_inclusive('\n').skip(1).collect(),
    ];
    for edit in edits {
        let world = forked("test", failed, elsewhere);
        world.git(&["merge", "-q", "--no-commit", "--no-ff", "work"]);
        world.write(TRANSCRIPT, edit(world.read(TRANSCRIPT)));
        world.git(&["add", "-A"]);
        world
            .orch(&["check", "--staged"])
            .ends(1)
            .says("is not what the rules yield");
        world.git(&["commit", "-q", "-m", "Merge work"]);
        is_forged(&world);
    }
}

#[test]
fn conflict_markers_hide_no_step() {
    let world = started("test");
    let (before, state) = (
        world.read(STATE),
        made_up(&world, Kind::Advance, Some("accepted"), "done"),
    );
    tell(&world, &state);
    let torn = format!(
        "<<<<<<< HEAD\n{before}=======\n{}>>>>>>> work\n",
        world.read(STATE)
    );
    let whole = world.read(STATE);
    world.write(STATE, torn);
    world.commit("a conflict");
    is_forged(&world);
    world.write(STATE, whole);
    world.commit("mended");
    is_forged(&world);
}

#[test]
fn two_endings_on_the_same_evidence_need_that_evidence() {
    let same = |world: &World| {
        elsewhere(world);
    };
    let world = forked("done", same, |world| {
        world.orch(&["confirm", "t", "patch", "--reason", "same"]);
        world.write("another.txt", "y\n");
        world.commit("more");
    });
    world.git(&["merge", "-q", "--no-commit", "--no-ff", "work"]);
    world.git(&["add", "-A"]);
    world.git(&["commit", "-q", "-m", "Merge work"]);
    let standings = standings(&world);
    assert!(
        standings
            .iter()
            .all(|one| one == "proven" || one == "claimed"),
        "{standings:?}"
    );
}

#[test]
fn a_branch_that_took_in_the_other_may_be_rebased_upon_it() {
    let world = forked("plan_review", reviewed, |world| {
        world.plan_review("t", true, 2);
        world.orch(&["next", "t"]).succeeds();
    });
    bring_together(&world, Way::MergeBack);
    world.patch("t", 3);
    world.orch(&["next", "t"]).succeeds();
    world.git(&["switch", "-q", "main"]);
    world.patch("t", 9);
    world.orch(&["next", "t"]).succeeds();
    bring_together(&world, Way::Rebase);
    standings(&world);
    finish(&world);
    standings(&world);
}

#[test]
fn what_others_edited_meanwhile_makes_a_rebased_step_doubtful_and_not_forged() {
    let world = forked("plan_review", reviewed, |world| {
        let plan = world.read("tasks/t/planning/plan.json");
        world.write(
            "tasks/t/planning/plan.json",
            plan.replacen("\"title\": \"", "\"title\": \"A ", 1) + "\n",
        );
        world.commit("a word in the plan");
    });
    world.git(&["rebase", "-q", "work"]);
    let told = standings(&world);
    assert_eq!(
        told.last().map(String::as_str),
        Some("unverifiable"),
        "{told:?}"
    );
    world.orch(&["next", "t"]).succeeds();
    assert_ne!(world.phase("t"), "codegen", "the plan is reviewed again");
    finish(&world);
}

#[test]
fn picked_steps_are_replayed_on_what_they_recorded() {
    let world = forked(
        "test",
        |world| {
            failed(world);
            world.patch("t", 6);
            world.orch(&["next", "t"]).succeeds();
        },
        |world| {
            world.tests("t", 0, 1);
            world.orch(&["next", "t"]).succeeds();
            world.accept("t");
            world.orch(&["approve", "t"]).succeeds();
        },
    );
    bring_together(&world, Way::CherryPick);
    let told = standings(&world);
    assert!(!told.iter().any(|one| one == "unverifiable"), "{told:?}");
}

#[test]
fn two_who_resolve_at_once_record_it_once() {
    let world = forked("plan_review", reviewed, |world| {
        world.plan_review("t", true, 2);
        world.orch(&["next", "t"]).succeeds();
    });
    assert_ne!(Way::Merge.begin(&world).code, 0);
    world.git(&["commit", "-q", "-a", "-m", "a conflict, committed"]);
    let both = [
        world.orch_spawn(&["resolve", "t"]),
        world.orch_spawn(&["resolve", "t"]),
    ];
    let codes: Vec<i32> = both
        .into_iter()
        .map(|child| {
            child
                .wait_with_output()
                .expect("ends")
                .status
                .code()
                .expect("a code")
        })
        .collect();
    assert!(
        codes.contains(&0) && codes.iter().all(|code| [0, 3, 4].contains(code)),
        "{codes:?}"
    );
    let lines = world.read(TRANSCRIPT);
    assert_eq!(lines.lines().count(), parsed(&lines).len(), "{lines}");
    standings(&world);
}

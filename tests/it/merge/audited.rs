//! Merges under audit: honest ones of every kind, and every way of forging one.

use super::{Way, bring_together, coded, finish, forked, reviewed, rolled_back, standings};
use crate::audit::records::{STATE, put, state, tell};
use crate::harness::{World, started};
use orch_base::PhaseId;
use orch_core::decide::{ActorStatus, HistoryEntry, State};
use std::sync::Arc;

#[test]
fn branches_that_meet_again_and_again_stay_proven() {
    let world = forked("plan_review", reviewed, coded);
    bring_together(&world, Way::Merge);
    world.git(&["switch", "-q", "work"]);
    world.code_review("t", false, 3);
    world.orch(&["next", "t"]).succeeds();
    world.git(&["switch", "-q", "main"]);
    world.orch(&["next", "t"]).succeeds();
    assert!(bring_together(&world, Way::MergeBack) > 0);
    world.git(&["switch", "-q", "main"]);
    assert_eq!(bring_together(&world, Way::Merge), 0);
    finish(&world);
    let standings = standings(&world);
    assert!(
        standings
            .iter()
            .all(|one| one == "proven" || one == "merged"),
        "{standings:?}"
    );
    assert_eq!(
        standings.iter().filter(|one| *one == "merged").count(),
        2,
        "{standings:?}"
    );
}

#[test]
fn criss_cross_merges_agree() {
    let world = forked("plan_review", rolled_back, coded);
    let clone = forked("plan_review", rolled_back, coded);
    bring_together(&world, Way::Merge);
    bring_together(&clone, Way::MergeBack);
    assert_eq!(world.read(STATE), clone.read(STATE));
    let path = clone.root();
    world.git(&["fetch", "-q", path.to_str().expect("UTF-8"), "work:theirs"]);
    let ended = world.git_ended(&["merge", "-q", "--no-edit", "theirs"]);
    if ended.code != 0 {
        world.orch(&["resolve"]).succeeds();
        Way::Merge.go_on(&world).succeeds();
    }
    assert_eq!(world.read(STATE), clone.read(STATE));
    finish(&world);
    standings(&world);
}

#[test]
fn a_squash_of_a_branch_that_took_in_the_other_is_replayed() {
    let world = forked("plan_review", reviewed, coded);
    bring_together(&world, Way::MergeBack);
    world.orch(&["next", "t"]).succeeds();
    world.git(&["switch", "-q", "main"]);
    world.git(&["merge", "-q", "--squash", "work"]);
    world.git(&["commit", "-q", "-m", "All of it"]);
    assert_eq!(standings(&world).last().map(String::as_str), Some("folded"));
    finish(&world);
}

#[test]
fn without_the_other_branch_a_rebase_is_verified_by_its_evidence() {
    let world = forked("plan_review", rolled_back, coded);
    bring_together(&world, Way::Rebase);
    world.git(&["branch", "-q", "-D", "main"]);
    assert_eq!(standings(&world).last().map(String::as_str), Some("proven"));
    let clone = world.path("../clone");
    let clone = clone.to_str().expect("UTF-8");
    let source = format!("file://{}", world.root().display());
    world.git(&[
        "clone",
        "-q",
        "--single-branch",
        "-b",
        "work",
        &source,
        clone,
    ]);
    let audit = world.orch_json(&["-C", clone, "audit"]);
    let counts = &audit["counts"];
    assert!(
        counts["forged"].is_null() && counts["unverifiable"].is_null(),
        "{audit:#}"
    );
}

#[test]
fn a_step_of_another_branch_is_not_believed_on_its_word() {
    fn skipped(world: &World) {
        let mut state = state(world);
        let mut entry = HistoryEntry::clone(state.history.last().expect("an entry"));
        entry.seq = state.rev + 1;
        (entry.from, entry.to) = (Some(entry.to), PhaseId::new("codegen").expect("valid"));
        entry.rule = Some("plan-accepted".to_owned());
        state.actors.get_mut("plan_review").expect("there").status = ActorStatus::Done;
        state.actors.insert(
            "codegen".to_owned(),
            orch_core::decide::Actor {
                attempt: 1,
                ..Default::default()
            },
        );
        state.history.push(entry.into());
        state.phase = Some("codegen".to_owned());
        tell(world, &state);
        world.commit("who needs a review");
    }
    let world = forked("plan_review", rolled_back, skipped);
    bring_together(&world, Way::Rebase);
    assert_eq!(
        world.phase("t"),
        "planning",
        "a merge leads nobody further than both sides are"
    );
    world.orch(&["audit"]).ends(1).says("forged");
}

/// An edit of the merged state, before the merge is concluded.
type Edit = fn(&mut State);

fn last_entry(state: &mut State) -> &mut HistoryEntry {
    Arc::make_mut(state.history.last_mut().expect("an entry"))
}

#[test]
fn whoever_edits_a_merged_state_is_found() {
    let edits: [(&str, Edit); 5] = [
        ("a phase further on", |state| {
            state.phase = Some("review".to_owned());
            last_entry(state).to = PhaseId::new("review").expect("valid");
        }),
        ("the end", |state| {
            state.phase = Some("done".to_owned());
            last_entry(state).to = PhaseId::new("done").expect("valid");
        }),
        ("used up no more", |state| {
            state
                .actors
                .values_mut()
                .for_each(|actor| actor.spent.clear())
        }),
        ("another status", |state| {
            state.actors.get_mut("plan_review").expect("there").status = ActorStatus::Skipped;
        }),
        ("on the word of another", |state| {
            last_entry(state).actor.name = "Bob".to_owned();
        }),
    ];
    for way in [Way::Merge, Way::Rebase] {
        for (what, edit) in edits {
            let world = forked("plan_review", rolled_back, reviewed);
            assert_ne!(way.begin(&world).code, 0);
            world.orch(&["resolve"]).succeeds();
            let mut state = state(&world);
            edit(&mut state);
            put(&world, &state);
            world.git(&["add", "-A"]);
            assert_eq!(
                world.orch(&["check", "--staged"]).code,
                1,
                "{way:?}: {what}"
            );
            way.go_on(&world);
            let audit = world.orch_json(&["audit"]);
            let last = audit["changes"]
                .as_array()
                .and_then(|changes| changes.last())
                .cloned();
            assert_eq!(
                last.expect("a change")["standing"],
                "forged",
                "{way:?}: {what}: {audit:#}"
            );
        }
    }
}

#[test]
fn a_hand_edit_of_a_conflict_is_found() {
    let world = forked("plan_review", rolled_back, coded);
    assert_ne!(Way::Merge.begin(&world).code, 0);
    world.git(&["checkout", "-q", "--theirs", "--", STATE]);
    let text = world
        .read(STATE)
        .replace("\"phase\": \"review\"", "\"phase\": \"test\"");
    world.write(STATE, text);
    world.git(&["add", "-A"]);
    world.git(&["commit", "-q", "--no-edit"]);
    world.orch(&["audit"]).ends(1).says("edited by hand");
}

#[test]
fn a_merge_that_never_was_is_forged() {
    let world = started("codegen");
    let mut state = state(&world);
    let mut entry = HistoryEntry::clone(state.history.last().expect("an entry"));
    entry.seq = state.rev + 1;
    entry.kind = orch_core::decide::Kind::Merge;
    entry.rule = None;
    entry.reason = "two branches moved this task".to_owned();
    (entry.from, entry.to) = (
        Some(entry.to.clone()),
        PhaseId::new("accept").expect("valid"),
    );
    state.history.push(entry.into());
    state.phase = Some("accept".to_owned());
    tell(&world, &state);
    world.commit("joined");
    world
        .orch(&["audit"])
        .ends(1)
        .says("no two branches that it follows make this state");
}

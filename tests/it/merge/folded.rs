//! The state folds the log: whatever git does with the two files, the log decides.

use super::{WAYS, Way, bring_together, coded, finish, forked, reviewed, rolled_back, standings};
use crate::harness::{World, started};
use serde_json::Value;

const STATE: &str = "tasks/t/state.json";
const LOG: &str = "tasks/t/transcript.jsonl";

/// The codes of what is said of the task.
fn codes(world: &World) -> Vec<String> {
    let suggestion = world.orch_json(&["suggest", "t"])["suggestions"][0].clone();
    let found = suggestion["diagnostics"]
        .as_array()
        .cloned()
        .unwrap_or_default();
    found
        .iter()
        .map(|one| one["code"].as_str().unwrap_or_default().to_owned())
        .collect()
}

fn heads(world: &World) -> usize {
    world.json(STATE)["heads"].as_array().map_or(0, Vec::len)
}

/// Everything of a state but the size of the log, which depends on nothing but the log.
fn said(world: &World) -> Value {
    world.json(STATE)
}

#[test]
fn losing_state_json_loses_nothing() {
    let world = started("review");
    let before = said(&world);
    world.remove(STATE);
    assert_eq!(codes(&world), ["state-folded"]);
    assert_eq!(world.phase_suggested("t"), "review");
    world.code_review("t", true, 1);
    world.orch(&["next", "t"]).succeeds().says("review -> test");
    assert_eq!(
        (codes(&world).as_slice(), world.dirty().as_str()),
        (&[][..], "")
    );
    assert_eq!(
        said(&world)["actors"]["planning"],
        before["actors"]["planning"]
    );
    standings(&world);
}

#[test]
fn an_edit_of_state_json_is_told_and_the_log_decides() {
    let world = started("review");
    world.write(
        STATE,
        world
            .read(STATE)
            .replace("\"phase\": \"review\"", "\"phase\": \"accept\""),
    );
    let suggestion = world.orch_json(&["suggest", "t"])["suggestions"][0].clone();
    let found = &suggestion["diagnostics"][0];
    assert_eq!(
        (&found["code"], &suggestion["currentPhase"]),
        (&"state-edited".into(), &"review".into())
    );
    let message = found["message"].as_str().expect("a text");
    assert!(
        message.contains("/phase should be \"review\", but is \"accept\""),
        "{message}"
    );
    world.code_review("t", true, 1);
    world.orch(&["next", "t"]).succeeds().says("review -> test");
    assert_eq!(codes(&world), Vec::<String>::new());
}

#[test]
fn a_union_merge_needs_no_command() {
    let world = forked("plan_review", reviewed, coded);
    world.orch(&["init", "--merge-driver"]).succeeds();
    Way::Merge.begin(&world).succeeds();
    assert_eq!(codes(&world)[0], "state-folded");
    assert_eq!(world.phase_suggested("t"), "codegen");
    world.orch(&["next", "t"]).succeeds();
    assert_eq!(heads(&world), 1, "the next event names both");
    finish(&world);
    standings(&world);
}

#[test]
fn a_hosts_merge_without_any_driver_leaves_a_stale_state_and_nothing_else() {
    let world = forked("plan_review", reviewed, coded);
    assert_ne!(Way::Merge.begin(&world).code, 0);
    world.git(&["checkout", "-q", "--ours", "--", STATE]);
    world.git(&["add", "-A"]);
    world.git(&["commit", "-q", "--no-edit"]);
    assert_eq!(codes(&world)[0], "state-folded");
    world.orch(&["resolve", "t"]).succeeds().says("(merged)");
    assert_eq!((codes(&world).as_slice(), heads(&world)), (&[][..], 2));
    world.orch(&["next", "t"]).succeeds();
    assert_eq!(world.dirty(), "");
    standings(&world);
}

#[test]
fn a_squash_holds_the_events_of_both_branches() {
    let world = forked("plan_review", reviewed, coded);
    assert_ne!(
        world.git_ended(&["merge", "-q", "--squash", "work"]).code,
        0
    );
    world.orch(&["resolve"]).succeeds();
    world.git(&["commit", "-q", "-m", "squashed"]);
    assert_eq!((world.phase("t").as_str(), heads(&world)), ("codegen", 2));
    finish(&world);
    standings(&world);
}

#[test]
fn a_rebase_gives_the_log_of_a_merge() {
    same_as_merged(Way::Rebase);
}

#[test]
fn a_cherry_pick_gives_the_log_of_a_merge() {
    same_as_merged(Way::CherryPick);
}

fn same_as_merged(way: Way) {
    let of = |way: Way| {
        let world = forked("review", rolled_back, super::advanced);
        bring_together(&world, way);
        let mut lines: Vec<String> = world.read(LOG).lines().map(str::to_owned).collect();
        lines.sort();
        (lines, said(&world))
    };
    assert_eq!(of(way), of(Way::Merge));
}

#[test]
fn a_revert_takes_the_last_event_back() {
    let world = started("plan_review");
    let before = (world.read(STATE), world.read(LOG));
    reviewed(&world);
    world.git(&["revert", "--no-edit", "HEAD"]);
    assert_eq!((world.read(STATE), world.read(LOG)), before);
    assert_eq!(codes(&world), Vec::<String>::new());
    reviewed(&world);
    standings(&world);
}

#[test]
fn lines_that_head_holds_must_not_get_lost() {
    let world = started("review");
    let log = world.read(LOG);
    let lines: Vec<&str> = log.lines().collect();
    for lost in [
        format!("{}\n", lines[..lines.len() - 1].join("\n")),
        String::new(),
    ] {
        world.write(LOG, &lost);
        world.orch(&["next", "t"]).ends(5);
        world.orch(&["recover", "t"]).succeeds().says("commit");
        assert_eq!(world.read(LOG), log);
    }
    world.write(LOG, log.replacen("\"seq\":2", "\"seq\":3", 1));
    world.orch(&["suggest", "t"]).says("log-changed");
    world.orch(&["recover", "t"]).succeeds();
    assert_eq!((world.read(LOG), world.dirty().as_str()), (log, ""));
}

#[test]
fn lines_that_head_holds_must_not_get_lost_where_nothing_is_committed() {
    let world = started("review");
    let log = world.read(LOG);
    world.write("orch.toml", "version = 1\n[git]\ncommit = \"off\"\n");
    world.orch(&["status"]).succeeds();
    let lines: Vec<&str> = log.lines().collect();
    world.write(LOG, format!("{}\n", lines[..lines.len() - 1].join("\n")));
    world
        .orch(&["next", "t"])
        .ends(5)
        .reports("lost events that are in HEAD");
    world
        .orch(&["rollback", "t", "--reason", "x"])
        .ends(1)
        .reports("lost events that are in HEAD");
    world.git(&["restore", "--", LOG]);
    world.orch(&["rollback", "t", "--reason", "x"]).succeeds();
    world.orch(&["suggest", "t"]).succeeds();
}

#[test]
fn the_order_in_which_branches_are_merged_makes_no_difference() {
    let mut states = Vec::new();
    for way in WAYS {
        let world = forked("review", rolled_back, super::advanced);
        bring_together(&world, way);
        states.push(said(&world));
    }
    states.dedup();
    assert_eq!(states.len(), 1, "{states:#?}");
}

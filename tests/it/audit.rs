//! History replayed: what is proven, what people ordered, and every way of forging it.

mod code;
mod cut;
mod edited;
mod evasions;
mod hidden;
mod incremental;
mod kinds;
mod layout;
pub mod loops;
mod loosened;
mod migrations;
mod odd;
mod random;
mod readers;
pub mod records;
mod removed;
mod rewritten;
mod vouched;

use crate::harness::{World, missing, started};
use crate::setting::slice;
use orch_core::decide::HistoryEntry;
use records::{LOG, put, relinked, retell, state, tell, tell_lines, without_last};
use serde_json::{Value, json};
use std::path::Path;
use std::sync::Arc;

/// The standings of all changes, oldest first.
fn standings(world: &World) -> Vec<String> {
    let audit = world.orch_json(&["audit"]);
    let changes = audit["changes"]
        .as_array()
        .unwrap_or_else(|| panic!("{audit:#}"));
    changes
        .iter()
        .map(|change| change["standing"].as_str().expect("a text").to_owned())
        .collect()
}

/// The last change of the audit, whatever it is.
fn last_change(world: &World) -> Value {
    let audit = world.orch_json(&["audit"]);
    audit["changes"]
        .as_array()
        .and_then(|changes| changes.last())
        .cloned()
        .expect("a change")
}

/// The last change of the audit.
#[track_caller]
fn last(world: &World, standing: &str) -> Value {
    let audit = world.orch_json(&["audit"]);
    let change = audit["changes"]
        .as_array()
        .and_then(|changes| changes.last())
        .cloned();
    let change = change.unwrap_or_else(|| panic!("{audit:#}"));
    assert_eq!(change["standing"], standing, "{change:#}");
    change
}

#[test]
fn a_whole_life_is_proven() {
    let world = started("test");
    world.tests("t", 1, 1);
    world.orch(&["next", "t"]).succeeds();
    world.patch("t", 2);
    world.orch(&["next", "t"]).succeeds();
    world.code_review("t", true, 2);
    world.orch(&["next", "t"]).succeeds();
    world.tests("t", 0, 2);
    world.orch(&["next", "t"]).succeeds();
    world.walk_to_from("t", "accept", "done");
    let ended = world.orch(&["audit"]).succeeds();
    assert!(ended.stderr.contains("proven"), "{ended:?}");
    let standings = standings(&world);
    assert!(
        standings.len() > 8 && standings.iter().all(|one| one == "proven"),
        "{standings:?}"
    );
    assert_eq!(
        world.orch_json(&["audit", "HEAD~2..HEAD"])["changes"]
            .as_array()
            .map(Vec::len),
        Some(2)
    );
    world
        .orch(&["audit", "HEAD~2..nowhere"])
        .ends(2)
        .reports("no commit `nowhere`");
}

#[test]
fn what_people_order_is_told_with_who_and_why() {
    let world = started("review");
    world
        .orch(&[
            "next",
            "t",
            "--override",
            "reviewed in pairing",
            "--to",
            "test",
        ])
        .succeeds();
    let change = last(&world, "overridden");
    assert_eq!(change["steps"][0]["reason"], "reviewed in pairing");
    world
        .orch(&[
            "rollback",
            "t",
            "--to",
            "codegen",
            "--reason",
            "wrong scope",
        ])
        .succeeds();
    last(&world, "overridden");
    world
        .orch(&["confirm", "t", "patch", "--reason", "the same is right"])
        .succeeds();
    last(&world, "claimed");
    world.orch(&["next", "t"]).succeeds();
    last(&world, "proven");
    world.walk_to_from("t", "review", "done");
    world
        .orch(&["reopen", "t", "--reason", "it came back"])
        .succeeds();
    last(&world, "overridden");
    let text = world.orch(&["audit"]).succeeds().stdout;
    assert!(
        text.contains("override by Ann (human): reviewed in pairing"),
        "{text}"
    );
}

#[test]
fn honest_work_around_it_is_no_change_of_a_record() {
    let world = started("planning");
    world.write("tasks/t/planning/plan.json", "{\"title\": \"T\"");
    world.commit("half a plan, by hand");
    world.plan("t", 1);
    world.commit("a plan, by hand");
    world.orch(&["next", "t"]).succeeds();
    world.write("src/lib.rs", "pub fn a() {}\n");
    world.commit("code");
    assert_eq!(standings(&world), ["proven", "proven"]);
}

#[test]
fn a_revert_restores_and_a_finished_task_only_with_its_files() {
    let world = started("plan_review");
    world.plan_review("t", false, 1);
    world.orch(&["next", "t"]).succeeds();
    assert_eq!(world.phase("t"), "planning");
    world.git(&["revert", "--no-edit", "HEAD"]);
    assert_eq!(world.phase("t"), "plan_review");
    last(&world, "restored");
    world.plan_review("t", true, 2);
    world.orch(&["next", "t"]).succeeds();
    last(&world, "proven");

    let world = started("done");
    world
        .orch(&["reopen", "t", "--to", "accept", "--reason", "look again"])
        .succeeds();
    world.git(&["revert", "--no-edit", "HEAD"]);
    last(&world, "restored");
    world
        .orch(&["reopen", "t", "--to", "accept", "--reason", "look again"])
        .succeeds();
    world.git(&[
        "checkout",
        "-q",
        "HEAD~1",
        "--",
        "tasks/t/state.json",
        "tasks/t/transcript.jsonl",
    ]);
    world.patch("t", 9);
    world.commit("done after all");
    let change = last(&world, "forged");
    assert!(
        change["why"]
            .as_str()
            .expect("why")
            .contains("the files are not"),
        "{change:#}"
    );
}

/// A repository with a task whose five steps on the branch `work` became one commit on `main`.
fn squashed() -> World {
    let world = started("planning");
    world.git(&["switch", "-q", "-c", "work"]);
    world.walk_to("t", "codegen");
    world.patch("t", 1);
    world.orch(&["next", "t"]).succeeds();
    world.code_review("t", false, 1);
    world.orch(&["next", "t"]).succeeds();
    world.patch("t", 2);
    world.orch(&["next", "t"]).succeeds();
    world.git(&["switch", "-q", "main"]);
    world.git(&["merge", "-q", "--squash", "work"]);
    world.git(&["commit", "-q", "-m", "Everything at once"]);
    world
}

/// Clones one branch, without the objects that only others need.
fn clone_alone(world: &World, branch: &str, to: &Path) {
    let source = format!("file://{}", world.root().display());
    world.git(&[
        "clone",
        "-q",
        "--single-branch",
        "-b",
        branch,
        &source,
        to.to_str().expect("UTF-8"),
    ]);
}

#[test]
fn a_squash_is_replayed_step_by_step() {
    let world = squashed();
    let change = last(&world, "folded");
    assert_eq!(
        change["steps"].as_array().map(Vec::len),
        Some(5),
        "{change:#}"
    );
    // Without the branch its blobs are gone from a clone, and so is the proof of the steps in between.
    let clone = world.path("../clone");
    clone_alone(&world, "main", &clone);
    let ended = world
        .orch(&["-C", clone.to_str().expect("UTF-8"), "audit"])
        .succeeds();
    assert!(ended.stdout.contains("unverifiable"), "{ended:?}");
    assert!(ended.stdout.contains("is not in git"), "{ended:?}");
    world.code_review("t", true, 3);
    world.orch(&["next", "t"]).succeeds();
    last(&world, "proven");
}

#[test]
fn a_rebase_and_a_cherry_pick_stay_proven() {
    let world = started("planning");
    world.git(&["switch", "-q", "-c", "work"]);
    world.walk_to("t", "review");
    world.git(&["switch", "-q", "main"]);
    world.write("other.txt", "x\n");
    world.commit("elsewhere");
    world.git(&["switch", "-q", "work"]);
    world.git(&["rebase", "-q", "main"]);
    assert_eq!(standings(&world), ["proven"; 4]);
    world.git(&["switch", "-q", "main"]);
    world.git(&["cherry-pick", "main..work"]);
    assert_eq!(standings(&world), ["proven"; 4]);
    world.git(&["switch", "-q", "-c", "third", "main~3"]);
    world.write("third.txt", "x\n");
    world.commit("a third");
    world.git(&["merge", "-q", "-m", "united", "work"]);
    assert_eq!(standings(&world), ["proven"; 4]);
}

#[test]
fn a_shallow_clone_is_refused_with_the_command_that_deepens_it() {
    let world = started("codegen");
    let clone = world.path("../clone");
    let source = format!("file://{}", world.root().display());
    let clone = clone.to_str().expect("UTF-8");
    world.git(&["clone", "-q", "--depth", "2", &source, clone]);
    let refused = world
        .orch(&["-C", clone, "audit"])
        .reports("this clone is shallow");
    assert_ne!(refused.code, 0);
    let hint = refused
        .stderr
        .lines()
        .find(|line| line.starts_with("hint:"))
        .expect("a hint")
        .to_owned();
    assert!(hint.starts_with("hint: git fetch --unshallow; "), "{hint}");
    let here = hint.rsplit(' ').next().expect("a commit");
    let audit = world.orch_json(&["-C", clone, "audit", "--since", here]);
    assert_eq!(audit["counts"], json!({"proven": 1}), "{audit:#}");
    world.git(&["-C", clone, "fetch", "-q", "--unshallow"]);
    world.orch(&["-C", clone, "audit"]).succeeds();
}

#[test]
fn a_workflow_that_nobody_has_is_unverifiable() {
    let world = started("planning");
    let document = world.read("system/workflows/global-state-machine.md");
    let other = document.replace(
        "because = \"the plan is final and",
        "because = \"the plan is ready and",
    );
    assert_ne!(other, document);
    world.write("system/workflows/global-state-machine.md", other.as_str());
    world.plan("t", 1);
    world.orch(&["next", "t"]).succeeds();
    world.git(&["checkout", "-q", "--", "system"]);
    let change = last(&world, "unverifiable");
    assert!(
        change["why"]
            .as_str()
            .expect("why")
            .contains("workflow global-state-machine@"),
        "{change:#}"
    );
    // Committed with it, the transition is proven by the workflow as it stood then.
    world.write("system/workflows/global-state-machine.md", other.as_str());
    world.commit("another workflow");
    world.plan_review("t", true, 1);
    world.orch(&["next", "t"]).succeeds();
    world.write(
        "system/workflows/global-state-machine.md",
        document.as_str(),
    );
    world.commit("the old workflow again");
    let standings = standings(&world);
    assert_eq!(
        standings.last().map(String::as_str),
        Some("proven"),
        "{standings:?}"
    );
}

#[test]
fn what_a_rule_leaves_to_people_only_a_person_moves() {
    let world = World::ready();
    let path = "system/workflows/global-state-machine.md";
    let rule = "id = \"plan-ready\"\n";
    world.write(
        path,
        world
            .read(path)
            .replace(rule, &format!("{rule}by = \"human\"\n")),
    );
    world.commit("people agree to plans");
    world.orch(&["new", "t"]).succeeds();
    world
        .orch(&["approve", "t"])
        .ends(3)
        .says("nothing to approve");
    world.plan("t", 1);
    let suggested = world.orch_json(&["suggest", "t"]);
    let suggestion = &suggested["suggestions"][0];
    assert_eq!(
        (&suggestion["owner"], &suggestion["do"]),
        (&"human".into(), &"decide".into()),
        "{suggestion:#}"
    );
    assert_eq!(
        suggestion["options"][0]["argv"],
        serde_json::json!(["orch", "approve", "t"])
    );
    world.orch(&["watch", "--once"]).succeeds();
    world.orch(&["next", "t"]).ends(6).reports("orch approve t");
    world
        .orch(&["next", "t", "--to", "plan_review"])
        .ends(6)
        .reports("orch approve t");
    world
        .orch_by_program(&["approve", "t"])
        .ends(6)
        .reports("ask a person to type at a terminal: orch approve t");
    assert_eq!(world.phase("t"), "planning");
    world.orch(&["approve", "t"]).succeeds();
    assert_eq!(world.phase("t"), "plan_review");
    assert_eq!(last(&world, "proven")["steps"][0]["approval"], "claimed");
    // Signed by a key that is trusted here it is more than a claim.
    let key = world.path("../key");
    let mut keygen = world.command("ssh-keygen");
    keygen
        .args(["-q", "-t", "ed25519", "-N", "", "-f"])
        .arg(&key);
    if keygen.status().is_ok_and(|status| status.success()) {
        world.git(&["reset", "-q", "--hard", "HEAD~1"]);
        let public = std::fs::read_to_string(key.with_extension("pub")).expect("a key");
        std::fs::write(
            world.path("../signers"),
            format!("ann@example.com {public}"),
        )
        .expect("written");
        world.git(&["config", "gpg.format", "ssh"]);
        world.git(&["config", "user.signingKey", key.to_str().expect("UTF-8")]);
        world.git(&["config", "commit.gpgSign", "true"]);
        world.plan("t", 1);
        world.orch(&["approve", "t"]).succeeds();
        assert_eq!(last(&world, "proven")["steps"][0]["approval"], "claimed");
        let signers = world.path("../signers");
        world.git(&[
            "config",
            "gpg.ssh.allowedSignersFile",
            signers.to_str().expect("UTF-8"),
        ]);
        let change = last(&world, "proven");
        assert_eq!(change["steps"][0]["approval"], "verified", "{change:#}");
        assert_eq!(change["steps"][0]["signer"], "ann@example.com");
        world
            .orch(&["audit"])
            .succeeds()
            .says("approved by Ann (verified, signed by ann@example.com)");
        world.git(&["config", "commit.gpgSign", "false"]);
    } else {
        missing("ssh-keygen");
    }
    // The same record in the name of a program is none.
    uncommit(&world);
    edit_last_entry(&world, |entry| {
        entry.actor.kind = orch_core::decide::ActorKind::Orch
    });
    world.commit("nobody was asked");
    let change = last(&world, "forged");
    assert!(
        change["why"]
            .as_str()
            .expect("why")
            .contains("needs a person"),
        "{change:#}"
    );
}

/// A whole forged step: everything that `orch` writes, and no evidence that it was due.
fn skip(world: &World, to: &str, rule: &str) {
    let mut state = state(world);
    let mut entry = HistoryEntry::clone(state.history.last().expect("an entry"));
    entry.seq = state.rev + 1;
    entry.from = Some(entry.to.clone());
    entry.to = orch_base::PhaseId::new(to).expect("valid");
    entry.kind = orch_core::decide::Kind::Advance;
    entry.rule = Some(rule.to_owned());
    state.actors.get_mut("planning").expect("there").status = orch_core::decide::ActorStatus::Done;
    state.actors.insert(
        to.to_owned(),
        orch_core::decide::Actor {
            attempt: 1,
            ..Default::default()
        },
    );
    state.history.push(entry.into());
    state.phase = Some(to.to_owned());
    tell(world, &state);
}

/// Undoes the last commit, and keeps its files.
fn uncommit(world: &World) {
    world.git(&["reset", "-q", "--soft", "HEAD~1"]);
}

/// Lets `orch` accept the plan, and undoes the commit.
fn accept_plan(world: &World) {
    world.plan_review("t", true, 1);
    world.orch(&["next", "t"]).succeeds();
    uncommit(world);
}

/// Changes the last event, with a new id, and the state to its fold.
fn edit_last_event(world: &World, edit: impl Fn(&mut Value)) {
    let lines = world.read(LOG);
    let last = lines.lines().count() - 1;
    let edited = relinked(&lines, |number, event| {
        if number == last {
            edit(event);
        }
    });
    tell_lines(world, &edited);
}

/// Changes the last entry of the history, in the log and in the state.
fn edit_last_entry(world: &World, edit: impl Fn(&mut HistoryEntry)) {
    let mut state = state(world);
    edit(Arc::make_mut(state.history.last_mut().expect("an entry")));
    retell(world, &state);
}

#[test]
fn every_forgery_is_named() {
    type Forge = fn(&World);
    let forgeries: [(&str, Forge, &str); 23] = [
        (
            "a hand edit",
            |world| {
                let text = world
                    .read("tasks/t/state.json")
                    .replace("\"phase\": \"plan_review\"", "\"phase\": \"test\"");
                world.write("tasks/t/state.json", text);
            },
            "edited by hand",
        ),
        (
            "a hand edit with a seal of its own",
            |world| {
                let mut state = state(world);
                state.phase = Some("test".to_owned());
                put(world, &state);
            },
            "state.json is not the fold of its log: /phase should be",
        ),
        (
            "a hand edit that names no events",
            |world| {
                let mut state = state(world);
                state.phase = Some("test".to_owned());
                state.heads.clear();
                put(world, &state);
            },
            "does not name the events",
        ),
        (
            "a state of events that do not exist",
            |world| {
                let mut state = state(world);
                state.heads = vec![orch_base::Digest::of_blob(b"nowhere")];
                put(world, &state);
            },
            "which transcript.jsonl does not hold",
        ),
        (
            "a skipped review",
            |world| skip(world, "codegen", "plan-accepted"),
            "review/plan/verdict.json",
        ),
        (
            "a skip to the end",
            |world| skip(world, "done", "accepted"),
            "do not lead",
        ),
        (
            "an override that says it was none",
            |world| {
                world
                    .orch(&["next", "t", "--override", "because", "--to", "codegen"])
                    .succeeds();
                uncommit(world);
                edit_last_entry(world, |entry| {
                    entry.kind = orch_core::decide::Kind::Advance;
                    entry.rule = Some("plan-accepted".to_owned());
                });
            },
            "do not lead",
        ),
        (
            "other evidence",
            |world| {
                accept_plan(world);
                world.plan_review("t", false, 2);
            },
            "the record rests on review/plan/verdict.json@",
        ),
        (
            "evidence that is nowhere",
            |world| {
                skip(world, "codegen", "plan-accepted");
                let nowhere = "0123456789012345678901234567890123456789";
                edit_last_entry(world, |entry| {
                    entry.evidence =
                        vec![("review/plan/verdict.json".to_owned(), nowhere.to_owned())];
                });
            },
            "which is not here",
        ),
        (
            "evidence taken away",
            |world| {
                accept_plan(world);
                world.remove("tasks/t/review/plan/verdict.json");
            },
            "which is not here",
        ),
        (
            "a rewritten line",
            |world| world.write(LOG, world.read(LOG).replace("\"human\"", "\"agent\"")),
            "the line was changed",
        ),
        (
            "a rewritten line, and all ids made again",
            |world| {
                tell_lines(
                    world,
                    &relinked(&world.read(LOG), |_, event| {
                        event["actor"]["name"] = json!("Bob")
                    }),
                )
            },
            "which only grows, lost an event: create to planning",
        ),
        (
            "a line taken out",
            |world| {
                world.write(
                    LOG,
                    world
                        .read(LOG)
                        .split_inclusive('\n')
                        .skip(1)
                        .collect::<String>(),
                )
            },
            "which only grows, lost an event: create to planning",
        ),
        (
            "a line taken out, and the rest linked again",
            |world| {
                let rest: String = world.read(LOG).split_inclusive('\n').skip(1).collect();
                let first = |number: usize, event: &mut Value| {
                    event["seq"] = json!(number + 1);
                    if number == 0 {
                        event["after"] = json!([]);
                    }
                };
                world.write(LOG, relinked(&rest, first));
            },
            "which only grows, lost an event: create to planning",
        ),
        (
            "a line cut off",
            |world| world.write(LOG, without_last(&world.read(LOG))),
            "does not hold",
        ),
        (
            "a line that is not an event",
            |world| world.write(LOG, world.read(LOG) + "{\"approved_by\":\"everybody\"}\n"),
            "does not begin with `id` and `after`",
        ),
        (
            "junk in an event",
            |world| {
                accept_plan(world);
                edit_last_event(world, |event| event["approved_by"] = json!("everybody"));
            },
            "this one does not know the member `approved_by`",
        ),
        (
            "changes that are not those of the step",
            |world| {
                accept_plan(world);
                edit_last_event(world, |event| {
                    let changes = event["changes"].as_array_mut().expect("changes");
                    changes.insert(0, json!({"op": "remove", "path": "/data"}));
                    changes.insert(0, json!({"op": "add", "path": "/data", "value": {}}));
                });
            },
            "contains something that no step writes",
        ),
        (
            "a lost record",
            |world| world.remove(LOG),
            "without the log that it folds",
        ),
        (
            "a lost log and a lost state",
            |world| {
                world.remove(LOG);
                world.remove("tasks/t/state.json");
            },
            "removes transcript.jsonl",
        ),
        (
            "a state without a history",
            |world| world.write("tasks/t/state.json", "{\"phase\": \"done\"}\n"),
            "does not name the events",
        ),
        (
            "a record without a history",
            |world| {
                world.remove(LOG);
                world.write("tasks/t/state.json", "{\"phase\": \"done\"}\n");
            },
            "without a history",
        ),
        (
            "another task's record",
            |world| {
                world.orch(&["new", "u"]).succeeds();
                world.walk_to("u", "done");
                world.git(&["rm", "-q", "-r", "--cached", "tasks/t"]);
                std::fs::remove_dir_all(world.path("tasks/t")).expect("removed");
                world.commit("clear");
                let copy = |name: &str| {
                    world.write(
                        &format!("tasks/t/{name}"),
                        world.read(&format!("tasks/u/{name}")),
                    )
                };
                copy("state.json");
                copy("transcript.jsonl");
            },
            "is not here",
        ),
    ];
    for (what, forge, why) in slice(forgeries, 3) {
        let world = started("plan_review");
        forge(&world);
        world.git(&["add", "-A"]);
        let staged = world.orch(&["check", "--staged"]).ends(1);
        assert!(staged.stdout.contains("error["), "{what}: {staged:?}");
        world.git(&["commit", "-q", "--no-verify", "-m", what]);
        let audit = world.orch(&["audit"]).ends(1);
        assert!(audit.stdout.contains(why), "{what}: {audit:?}");
        let change = last(&world, "forged");
        assert!(
            change["why"].as_str().expect("why").contains(why),
            "{what}: {change:#}"
        );
        world.orch(&["check", "--commit", "HEAD"]).ends(1);
        world.orch(&["check", "--range", "HEAD~1..HEAD"]).ends(1);
    }
}

#[test]
fn the_order_of_lines_and_a_lost_or_older_copy_say_nothing() {
    type Change = fn(&World);
    let changes: [(&str, Change); 4] = [
        ("lines the other way round", |world| {
            let lines = world.read(LOG);
            let turned: Vec<&str> = lines.split_inclusive('\n').rev().collect();
            world.write(LOG, turned.concat());
        }),
        ("lines twice", |world| {
            world.write(LOG, world.read(LOG).repeat(2))
        }),
        ("no copy", |world| world.remove("tasks/t/state.json")),
        ("an older copy", |world| {
            world.git(&["checkout", "-q", "HEAD~1", "--", "tasks/t/state.json"]);
        }),
    ];
    for (what, change) in slice(changes, 2) {
        let world = started("plan_review");
        change(&world);
        world.git(&["add", "-A"]);
        world.orch(&["check", "--staged"]).succeeds();
        world.git(&["commit", "-q", "-m", what]);
        assert_eq!(standings(&world), ["proven", "proven"], "{what}");
        world.plan_review("t", true, 1);
        world.orch(&["next", "t"]).succeeds();
        last(&world, "proven");
    }
}

//! Honest histories that were rewritten, and the trailers that people read in them.

use super::records::{LOG, relinked, state, tell};
use super::{last, last_change, skip, standings};
use crate::harness::{World, started};
use orch_core::decide::{HistoryEntry, Kind};
use serde_json::Value;

/// A task that went through `codegen` without code and was sent back from `review`, while others committed
/// code, on the branch `work`.
fn beside_others() -> World {
    let world = World::ready();
    world.write("src/a.rs", "0\n");
    world.commit("some code");
    world.git(&["switch", "-q", "-c", "work"]);
    world.orch(&["new", "t"]).succeeds();
    world.walk_to("t", "codegen");
    world
        .orch(&["next", "t", "--override", "It needs no code."])
        .succeeds();
    world
        .orch(&[
            "rollback",
            "t",
            "--to",
            "planning",
            "--reason",
            "The plan is wrong.",
        ])
        .succeeds();
    world.commit_code("1", None);
    world.plan("t", 2);
    world.orch(&["next", "t"]).succeeds();
    world.plan_review("t", true, 2);
    world.orch(&["next", "t"]).succeeds();
    world.git(&["switch", "-q", "main"]);
    world.write("src/other.rs", "elsewhere\n");
    world.commit("elsewhere");
    world
}

/// Of a newer version this one cannot tell what follows from the event, so it says neither that it is right nor that it is
/// wrong. A known version has no other kinds and members.
#[test]
fn what_a_newer_orch_wrote_is_unverifiable_and_named() {
    for (what, value, standing) in [
        ("v", Value::from(99), "unverifiable"),
        ("kind", Value::from("ponder"), "forged"),
        ("mood", Value::from("fine"), "forged"),
    ] {
        let world = started("plan_review");
        let lines = world.read(LOG);
        let last_line = lines.lines().last().expect("an event");
        let id = serde_json::from_str::<Value>(last_line).expect("JSON")["id"].clone();
        let number = lines.lines().count();
        let newer = relinked(&format!("{lines}{last_line}\n"), |at, event| {
            if at == number {
                event["after"] = Value::from(vec![id.clone()]);
                event["seq"] = Value::from(number + 1);
                event[what] = value.clone();
            }
        });
        world.write(LOG, &newer);
        world.commit("A step of a newer orch");
        let change = last_change(&world);
        assert_eq!(change["standing"], standing, "{what}: {change:#}");
        let why = change["reason"].as_str().unwrap_or_default().to_owned() + &change.to_string();
        assert!(
            why.contains("written by a newer orch"),
            "{what}: {change:#}"
        );
        world.orch(&["audit"]).ends(i32::from(standing == "forged"));
        world.orch(&["audit", "--strict"]).ends(1);
        // Nothing else hides behind it.
        world.write(LOG, newer.replacen("\"reason\":\"", "\"reason\":\"not ", 1));
        world.commit("An edit");
        assert_eq!(last_change(&world)["standing"], "forged", "{what}");
    }
}

#[test]
fn a_rebase_onto_the_code_of_others_is_not_forged() {
    let world = beside_others();
    world.git(&["switch", "-q", "work"]);
    assert!(!standings(&world).contains(&"unverifiable".to_owned()));
    world.git(&["rebase", "-q", "main"]);
    let after = standings(&world);
    assert!(!after.contains(&"forged".to_owned()), "{after:?}");
    // The steps that did not rest on code are as certain as before.
    assert_eq!(after[..3], ["proven", "proven", "proven"]);
}

#[test]
fn a_squash_beside_the_code_of_others_is_not_forged() {
    let world = beside_others();
    world.git(&["merge", "-q", "--squash", "work"]);
    world.git(&["commit", "-q", "-m", "squashed"]);
    last(&world, "unverifiable");
    world.orch(&["audit"]).succeeds();
}

#[test]
fn an_import_in_one_commit_is_not_forged() {
    let world = beside_others();
    world.git(&["switch", "-q", "work"]);
    world.git(&["switch", "-q", "--orphan", "imported"]);
    world.git(&["checkout", "work", "--", "."]);
    world.git(&["commit", "-q", "-m", "import"]);
    last(&world, "unverifiable");
}

#[test]
fn a_side_that_a_person_chose_in_a_rebase_of_several_steps_is_not_forged() {
    let world = started("done");
    let reopen = |nth: &str| {
        world.orch(&["reopen", "t", "--reason", nth]).succeeds();
        let decision = format!(
            "{{\"verdict\": \"accepted\", \"reasons\": [\"{nth}\"], \"decider\": \"Ann\"}}\n"
        );
        world.write("tasks/t/accept/decision.json", decision);
        world.orch(&["approve", "t"]).succeeds();
    };
    world.git(&["switch", "-q", "-c", "work"]);
    reopen("on the branch");
    world.git(&["switch", "-q", "main"]);
    reopen("on main");
    world.git(&["switch", "-q", "work"]);
    world.git_ended(&["rebase", "-q", "main"]);
    // The reopened task joins what main has; then both ends are disputed.
    world.orch(&["resolve"]).succeeds();
    world.git(&["add", "-A"]);
    world.git_ended(&["-c", "core.editor=true", "rebase", "--continue"]);
    world.git(&["checkout", "--theirs", "--", "tasks/t/accept/decision.json"]);
    world
        .orch(&[
            "resolve",
            "t",
            "--theirs",
            "--reason",
            "the branch is right",
        ])
        .succeeds();
    world.git(&["add", "-A"]);
    world.git(&["-c", "core.editor=true", "rebase", "--continue"]);
    let found = standings(&world);
    assert!(!found.contains(&"forged".to_owned()), "{found:?}");
}

#[test]
fn the_branch_of_a_squash_proves_its_steps() {
    let world = beside_others();
    world.git(&["merge", "-q", "--squash", "work"]);
    world.git(&["commit", "-q", "-m", "squashed"]);
    world
        .orch(&["audit", "--strict"])
        .ends(1)
        .says("unverifiable");
    let audit = world.orch_json(&["audit", "--strict", "--also", "work"]);
    let change = &audit["changes"][0];
    assert_eq!(change["standing"], "folded", "{change:#}");
    let whys = change["steps"]
        .as_array()
        .expect("steps")
        .iter()
        .filter_map(|step| step["why"].as_str());
    assert!(
        whys.clone().any(|why| why.contains("of work")),
        "{change:#}"
    );
    world
        .orch(&["audit", "--also", "nowhere"])
        .ends(2)
        .reports("no commit `nowhere`");
}

#[test]
fn a_branch_proves_no_step_that_is_forged_here() {
    let world = started("plan_review");
    world.git(&["switch", "-q", "-c", "work"]);
    world.plan_review("t", true, 1);
    world.orch(&["next", "t"]).succeeds();
    world.git(&["switch", "-q", "main"]);
    // The record of the step without the review that it rests on.
    world.git(&[
        "checkout",
        "-q",
        "work",
        "--",
        "tasks/t/state.json",
        "tasks/t/transcript.jsonl",
    ]);
    world.git(&["commit", "-q", "-m", "as if it had been reviewed"]);
    world
        .orch(&["audit", "--also", "work"])
        .ends(1)
        .says("forged");
}

#[test]
fn only_what_is_newer_is_audited() {
    let world = started("codegen");
    let audit = world.orch_json(&["audit", "--since", "HEAD~1"]);
    assert_eq!(
        (&audit["commits"], audit["changes"].as_array().map(Vec::len)),
        (&1.into(), Some(1))
    );
    world
        .orch(&["audit", "--since", "nowhere"])
        .ends(2)
        .reports("no commit `nowhere`");
}

#[test]
fn trailers_say_what_the_record_says() {
    let world = started("plan_review");
    world.plan_review("t", true, 1);
    world.orch(&["next", "t"]).succeeds();
    let honest = world.git(&["log", "-1", "--format=%B"]);
    last(&world, "proven");
    let changed = [
        ("Orch-To: codegen", "Orch-To: done", "Orch-To says \"done\""),
        (
            "Orch-From: plan_review",
            "Orch-From: planning",
            "Orch-From says \"planning\"",
        ),
        (
            "Orch-Rule: plan-accepted",
            "Orch-Rule: plan-final",
            "Orch-Rule says",
        ),
        (
            "Orch-Kind: advance",
            "Orch-Kind: override",
            "Orch-Kind says \"override\"",
        ),
        ("Orch-Kind: advance\n", "", "Orch-Kind is missing"),
        (
            "Orch-Kind: advance",
            "Orch-Kind: advance\nOrch-Override: I may.",
            "Orch-Override says \"I may.\"",
        ),
        (
            "Orch-Evidence: review/",
            "Orch-Evidence: eval/",
            "Orch-Evidence says",
        ),
        (
            "Orch-Kind: advance",
            "Orch-Kind: advance\nOrch-Evidence: lies (3 files)@HASH",
            "Orch-Evidence says",
        ),
        (
            "Orch-Kind: advance",
            "Orch-Kind: advance\nOrch-Unproven: secret",
            "Orch-Unproven says",
        ),
        (
            "Orch-Task: t\nOrch-From: plan_review",
            "orch-task: t\norch-from: done",
            "Orch-From says \"done\"",
        ),
        (
            "Orch-Workflow: global",
            "Orch-Workflow: local",
            "Orch-Workflow says",
        ),
        ("Orch-Task: t\n", "Orch-Task: u\n", "a step of `u`"),
        ("Orch-Task: t\n", "", "Orch-Task is missing"),
    ];
    for (from, to, why) in changed {
        assert!(honest.contains(from), "{from} in {honest}");
        let to = to.replace("HASH", "e69de29bb2d1d6434b8b29ae775ad8c2e48c5391");
        world.git(&[
            "commit",
            "-q",
            "--amend",
            "-m",
            &honest.replacen(from, &to, 1),
        ]);
        world.orch(&["check", "--commit", "HEAD"]).ends(1).says(why);
        world.orch(&["audit"]).ends(1).says(why);
    }
    // The order of the trailers does not matter. git takes lines at the end of a paragraph for text, people do not.
    let (text, trailers) = honest.trim_end().rsplit_once("\n\n").expect("trailers");
    let mut sorted: Vec<&str> = trailers.lines().collect();
    sorted.sort_unstable();
    let reversed: Vec<&str> = trailers.lines().rev().collect();
    for block in [sorted, reversed] {
        for apart in ["\n\n", "\n"] {
            let message = format!("{text}{apart}{}", block.join("\n"));
            world.git(&["commit", "-q", "--amend", "-m", &message]);
            last(&world, "proven");
            world.git(&[
                "commit",
                "-q",
                "--amend",
                "-m",
                &message.replace("Orch-To: codegen", "Orch-To: done"),
            ]);
            world
                .orch(&["check", "--commit", "HEAD"])
                .ends(1)
                .says("Orch-To says \"done\"");
        }
    }
    // Evidence that the message leaves out.
    let without: Vec<&str> = honest
        .lines()
        .filter(|line| !line.starts_with("Orch-Evidence: review"))
        .collect();
    world.git(&["commit", "-q", "--amend", "-m", &without.join("\n")]);
    world
        .orch(&["audit"])
        .ends(1)
        .says("do not list the evidence review/plan/verdict.json");
    // A message without any trailers tells nothing, as after a squash.
    world.git(&["commit", "-q", "--amend", "-m", "reviewed"]);
    last(&world, "proven");
}

#[test]
fn a_message_states_only_moves_that_the_record_holds() {
    let world = started("planning");
    world.orch(&["new", "u"]).succeeds();
    world.walk_to("t", "plan_review");
    world.plan_review("t", true, 1);
    world.orch(&["next", "t"]).succeeds();
    let honest = world.git(&["log", "-1", "--format=%B"]);
    let subject = "orch(t): plan_review -> codegen";
    assert!(honest.starts_with(subject), "{honest}");
    let amend = |message: &str| world.git(&["commit", "-q", "--amend", "-m", message]);
    for (message, why) in [
        (
            honest.replacen(subject, "orch(t): plan_review -> done", 1),
            "\"plan_review -> done\", but",
        ),
        (
            honest.replacen(subject, "chore: t went review -> test", 1),
            "\"review -> test\", but",
        ),
        (
            honest.replacen(subject, "orch(u): plan_review -> codegen", 1),
            "plan_review -> codegen that this",
        ),
        (
            honest.replacen("\n\n", "\n\n- t: codegen -> done: accepted\n\n", 1),
            "\"codegen -> done\", but",
        ),
        (
            "orch(t): codegen -> review".to_owned(),
            "\"codegen -> review\", but",
        ),
    ] {
        amend(&message);
        world.orch(&["check", "--commit", "HEAD"]).ends(1).says(why);
        world.orch(&["audit"]).ends(1).says(why);
    }
    // Whoever writes another subject, as hosts do, states no move, and neither does one about anything but tasks.
    let squashed =
        "Login (#12)\n\n* orch(t): planning -> done\n\n* orch(t): accept -> done".to_owned();
    for message in [
        honest.replacen(subject, "The plan is good", 1),
        honest.replacen(subject, "Rename config -> settings", 1),
        honest.replacen(subject, "orch(cli): words -> glossary", 1),
        honest.replacen("\n\n", "\n\n- config: yaml -> toml\n\n", 1),
        "orch(cli): words -> glossary".to_owned(),
        squashed,
        honest,
    ] {
        amend(&message);
        last(&world, "proven");
    }
    // A squash holds the moves that it states, and a merge brings those of a branch.
    world.git(&["branch", "work"]);
    world.git(&["reset", "-q", "--soft", "HEAD~2"]);
    world.git(&["commit", "-q", "-m", "orch(t): planning -> codegen"]);
    last(&world, "folded");
    world.git(&["reset", "-q", "--hard", "work~1"]);
    world.git(&["merge", "-q", "--no-ff", "-m", subject, "work"]);
    world.orch(&["audit"]).succeeds();
    world.write("src/a.rs", "1\n");
    world.git(&["add", "src"]);
    world.git(&["commit", "-q", "-m", "orch(t): codegen -> done"]);
    world
        .orch(&["audit"])
        .ends(1)
        .says("codegen -> done that this commit does not record");
    world
        .orch(&["check", "--range", "HEAD~1..HEAD"])
        .ends(1)
        .says("that this commit does not record");
}

#[test]
fn trailers_of_a_commit_without_a_step_are_forged() {
    let world = started("plan_review");
    world.write("src/a.rs", "1\n");
    world.git(&["add", "src"]);
    // A commit of code names its task, and that alone states no step.
    world.git(&["commit", "-q", "-m", "code\n\nOrch-Task: t"]);
    world.orch(&["audit"]).succeeds();
    let message = "code\n\nOrch-Task: t\nOrch-From: accept\nOrch-To: done\nOrch-Kind: advance";
    world.git(&["commit", "-q", "--amend", "-m", message]);
    world
        .orch(&["audit"])
        .ends(1)
        .says("a step of `t` that this commit does not record");
    world
        .orch(&["check", "--range", "HEAD~1..HEAD"])
        .ends(1)
        .says("a step of `t`");
    // Trailers of a step that name no task.
    for message in [
        "code\n\nOrch-To: done",
        "code\n\nIt is done.\nOrch-Kind: advance\nOrch-To: done",
    ] {
        world.git(&["commit", "-q", "--amend", "-m", message]);
        world
            .orch(&["audit"])
            .ends(1)
            .says("without Orch-Task, and this commit records none");
        world
            .orch(&["check", "--range", "HEAD~1..HEAD"])
            .ends(1)
            .says("without Orch-Task");
    }
    for message in [
        "code\n\nOrch-To: done\nOrch-Task: t",
        "code\n\nIt is done.\nOrch-To: done\nOrch-Task: t",
    ] {
        world.git(&["commit", "-q", "--amend", "-m", message]);
        world
            .orch(&["audit"])
            .ends(1)
            .says("a step of `t` that this commit does not record");
    }
    // Also where no name alone is that of a task.
    world.write(
        "orch.toml",
        "[[root]]\npath = \"teams/*/task-*\"\nworkflow = \"global-state-machine\"\n",
    );
    world.git(&[
        "commit",
        "-q",
        "-m",
        "settings\n\nOrch-To: done",
        "orch.toml",
    ]);
    world
        .orch(&["check", "--commit", "HEAD"])
        .ends(1)
        .says("without Orch-Task");
    world.git(&["reset", "-q", "--hard", "HEAD~1"]);
    // git counts only the last block, and people read both.
    let signed = "code\n\nOrch-Task: t\nOrch-To: done\n\nSigned-off-by: Ann <ann@example.com>";
    world.git(&["commit", "-q", "--amend", "-m", signed]);
    world
        .orch(&["audit"])
        .ends(1)
        .says("a step of `t` that this commit does not record");
    world.git(&[
        "commit",
        "-q",
        "--amend",
        "-m",
        "code\n\nReviewed-by: Ann <ann@example.com>",
    ]);
    world.orch(&["audit"]).succeeds();
}

#[test]
fn a_forgery_that_people_acknowledge_no_longer_blocks_a_push() {
    let world = started("plan_review");
    let base = world.git(&["rev-parse", "HEAD"]);
    let before = world.read("tasks/t/state.json");
    world.write("tasks/t/state.json", before.replace("plan_review", "done"));
    world.commit("forged");
    let forged = world.git(&["rev-parse", "HEAD"]);
    world.git(&["revert", "--no-edit", "HEAD"]);
    let range = format!("{}..HEAD", base.trim());
    world
        .orch(&["check", "--range", &range])
        .ends(1)
        .says("forged");
    world.orch(&["audit"]).ends(1);
    let settings = world.read("orch.toml");
    let entry = |commit: &str, reason: &str| {
        let commit = commit.trim();
        format!(
            "{settings}\n[[acknowledged]]\nforged = \"{commit}\"\ntask = \"t\"\nreason = \"{reason}\"\n"
        )
    };
    // Only what is committed counts, and only for the commit and the task that it names.
    world.write("orch.toml", entry(&forged, "by mistake, and reverted"));
    world.orch(&["audit"]).ends(1);
    world.commit("acknowledged");
    world.orch(&["check", "--range", &range]).succeeds();
    let audit = world.orch(&["audit"]).succeeds();
    assert!(
        audit.stdout.contains("forged") && audit.stdout.contains("by mistake, and reverted"),
        "{audit:?}"
    );
    world.write("orch.toml", entry(&base, "another commit"));
    world.commit("another");
    world.orch(&["audit"]).ends(1);
    world.write("orch.toml", entry("1f2e", "too short"));
    world
        .orch(&["status"])
        .reports("40 or 64 hexadecimal digits");
    world.write("orch.toml", entry(&forged, " "));
    world
        .orch(&["status"])
        .reports("why the change is acceptable");
}

/// Acknowledges the change of `t` in HEAD, and commits that.
fn acknowledge(world: &World) {
    acknowledge_commit(world, &world.git(&["rev-parse", "HEAD"]));
}

pub fn acknowledge_commit(world: &World, forged: &str) {
    let entry = format!(
        "\n[[acknowledged]]\nforged = \"{}\"\ntask = \"t\"\nreason = \"I know.\"\n",
        forged.trim()
    );
    world.write("orch.toml", world.read("orch.toml") + &entry);
    world.git(&["commit", "-q", "-m", "acknowledged", "orch.toml"]);
}

#[test]
fn an_acknowledged_forgery_that_still_stands_stays_one() {
    // A step that nobody could take.
    let world = started("plan_review");
    skip(&world, "codegen", "plan-accepted");
    world.commit("forged");
    acknowledge(&world);
    let stands = "it is acknowledged, but it still stands: its step to codegen is in the record";
    world.orch(&["audit"]).ends(1).says(stands);
    world
        .orch(&["check", "--range", "HEAD~2..HEAD"])
        .ends(1)
        .says(stands);
    // Whoever goes back to before it lets the rules decide again.
    world
        .orch(&[
            "rollback",
            "t",
            "--to",
            "planning",
            "--reason",
            "It was never reviewed.",
        ])
        .succeeds();
    world.orch(&["check", "--range", "HEAD~3..HEAD"]).succeeds();
    world
        .orch(&["audit"])
        .succeeds()
        .says("acknowledged in orch.toml: I know.");

    // What a step within a phase records stays, whatever happens in the phase, until the task goes back further.
    let world = started("plan_review");
    let mut told = state(&world);
    let entry = HistoryEntry::clone(told.history.last().expect("an entry"));
    let here = entry.to.clone();
    told.rev += 1;
    let entry = HistoryEntry {
        seq: told.rev,
        from: Some(here),
        kind: Kind::Confirm,
        ..entry
    };
    told.history.push(entry.into());
    tell(&world, &told);
    world.commit("forged");
    assert_eq!(last_change(&world)["standing"], "forged");
    acknowledge(&world);
    world
        .orch(&["audit"])
        .ends(1)
        .says("but it still stands: its step to plan_review is in the record");
    world.plan_review("t", true, 1);
    world.orch(&["next", "t"]).succeeds();
    world
        .orch(&[
            "rollback",
            "t",
            "--to",
            "plan_review",
            "--reason",
            "Once more.",
        ])
        .succeeds();
    world
        .orch(&["audit"])
        .ends(1)
        .says("but it still stands: its step to plan_review is in the record");
    world
        .orch(&[
            "rollback",
            "t",
            "--to",
            "planning",
            "--reason",
            "From the start.",
        ])
        .succeeds();
    world.orch(&["audit"]).succeeds().says("I know.");

    // A record that is not in this clone may hold anything.
    let world = started("plan_review");
    skip(&world, "codegen", "plan-accepted");
    world.commit("forged");
    let forged = world.git(&["rev-parse", "HEAD"]);
    world
        .orch(&["next", "t", "--override", "Go on."])
        .succeeds();
    acknowledge_commit(&world, &forged);
    let log = world.git(&["rev-parse", "HEAD:tasks/t/transcript.jsonl"]);
    let (folder, name) = log.trim().split_at(2);
    std::fs::remove_file(world.path(&format!(".git/objects/{folder}/{name}")))
        .expect("a loose object");
    world
        .orch(&["audit"])
        .ends(1)
        .says("whether it still stands is unknown: tasks/t/transcript.jsonl is not");

    // A state that somebody edited, until it is the fold of its log again.
    let world = started("plan_review");
    let honest = world.read("tasks/t/state.json");
    world.write("tasks/t/state.json", honest.replace("plan_review", "done"));
    world.commit("forged");
    acknowledge(&world);
    world
        .orch(&["audit"])
        .ends(1)
        .says("but it still stands: state.json is not the fold of its log");
    world.write("tasks/t/state.json", honest);
    world.commit("as before");
    world.orch(&["audit"]).succeeds().says("I know.");

    // A message cannot be undone, and nothing false stands but the message.
    let world = started("plan_review");
    world.git(&["commit", "-q", "--amend", "-m", "orch(t): accept -> done"]);
    acknowledge(&world);
    world.orch(&["audit"]).succeeds().says("I know.");
}

#[test]
fn rules_that_stand_only_within_a_range_prove_nothing_in_it() {
    let world = started("plan_review");
    let base = world.git(&["rev-parse", "HEAD"]);
    let path = "system/workflows/global-state-machine.md";
    let honest = world.read(path);
    let relaxed = honest.replace(
        "plan_review.ready && plan_review.ok",
        "plan_review.ready || plan_review.ok",
    );
    assert_ne!(relaxed, honest);
    world.write(path, relaxed);
    world.commit("relaxed");
    world.plan_review("t", false, 1);
    world
        .orch_by_program(&["next", "t"])
        .succeeds()
        .says("-> codegen");
    let range = format!("{}..HEAD", base.trim());
    world.write(path, honest);
    world.commit("as before");
    assert_eq!(
        world.git(&["diff", "--stat", base.trim(), "HEAD", "--", "system"]),
        ""
    );
    world
        .orch(&["audit", &range])
        .ends(1)
        .says("stands at neither end of the range");
    world
        .orch(&["check", "--range", &range])
        .ends(1)
        .says("stands at neither end of the range");
    world
        .orch(&["audit", "--strict"])
        .ends(1)
        .says("in force only temporarily");
    // A range that begins with them is judged by them.
    world
        .orch(&["check", "--range", "HEAD~2..HEAD~1"])
        .succeeds();
    let step = world.git(&["rev-parse", "HEAD~1"]);
    let entry = format!(
        "[[acknowledged]]\nforged = \"{}\"\ntask = \"t\"\nreason = \"An experiment.\"\n",
        step.trim()
    );
    world.write("orch.toml", format!("{}\n{entry}", world.read("orch.toml")));
    world.commit("acknowledge the step");
    world
        .orch(&["audit", &range])
        .succeeds()
        .says("An experiment.");
    world.orch(&["check", "--range", &range]).succeeds();
}

#[test]
fn rules_that_stood_only_for_a_step_prove_nothing_in_the_whole_history() {
    let path = "system/workflows/global-state-machine.md";
    let relaxed = |strict: &str, accepted: &str| {
        let line = |name: &str| {
            let mut lines = strict
                .lines()
                .filter(|line| line.starts_with(&format!("{name} = ")));
            lines.next().expect("a definition").to_owned()
        };
        let accepts = format!("plan_accepted = \"{accepted}\"");
        strict.replace(&line("plan_accepted"), &accepts).replace(
            &line("plan_refused"),
            "plan_refused = \"!plan_review.ready\"",
        )
    };
    let relax = |world: &World| {
        let strict = world.read(path);
        world.write(path, relaxed(&strict, "plan_review.ready"));
        world.commit("relaxed");
        strict
    };
    let why = "were in force only temporarily";
    // Put back in the commit of the move, or after it, also with another text around the rules.
    for (is_same_commit, prose) in [(true, ""), (false, ""), (false, "\nMore prose.\n")] {
        let world = started("plan_review");
        let strict = relax(&world);
        world.plan_review("t", false, 1);
        world.orch(&["next", "t"]).succeeds().says("-> codegen");
        world.write(path, strict + prose);
        world.git(&["add", "-A"]);
        if is_same_commit {
            world.git(&["commit", "-q", "--amend", "--no-edit"]);
        } else {
            world.commit("as before");
        }
        let change = last(&world, "unverifiable");
        assert!(
            change["why"].as_str().expect("why").contains(why),
            "{change:#}"
        );
        world.orch(&["audit", "--strict"]).ends(1);
        // An honest experiment is acknowledged.
        let step = world.git(&["log", "-1", "--format=%H", "--grep", "Orch-To: codegen"]);
        acknowledge_commit(&world, &step);
        world
            .orch(&["audit", "--strict"])
            .succeeds()
            .says("I know.");
    }
    // A change of the rules that stays, or that another follows, and one that the step does not need.
    for (ok, then) in [
        (false, None),
        (false, Some("plan_review.ready && plan_review.present")),
        (true, Some("strict")),
    ] {
        let world = started("plan_review");
        let strict = relax(&world);
        world.plan_review("t", ok, 1);
        world.orch(&["next", "t"]).succeeds().says("-> codegen");
        if let Some(then) = then {
            let next = match then {
                "strict" => strict,
                other => relaxed(&strict, other),
            };
            world.write(path, next);
            world.commit("other rules");
        }
        assert_eq!(standings(&world), ["proven"; 3]);
    }
    // A move that only a person could make, made by a program.
    let world = started("accept");
    let strict = world.read(path);
    let accepted = "to = \"done\"\nby = \"human\"\n";
    assert!(strict.contains(accepted));
    world.write(path, strict.replace(accepted, "to = \"done\"\n"));
    world.commit("relaxed");
    world.accept("t");
    world
        .orch_by_program(&["next", "t"])
        .succeeds()
        .says("-> done");
    world.write(path, strict);
    world.commit("as before");
    let change = last(&world, "unverifiable");
    assert!(
        change["why"].as_str().expect("why").contains(why),
        "{change:#}"
    );
}

#[test]
fn settings_about_people_that_stand_only_within_a_range_permit_nothing_in_it() {
    let world = started("plan_review");
    let base = world.git(&["rev-parse", "HEAD"]);
    let honest = world.read("orch.toml");
    world.write(
        "orch.toml",
        honest.replace("[people]\n", "[people]\norders = \"anyone\"\n"),
    );
    world.commit("anyone");
    world
        .orch_by_agent(&["next", "t", "--override", "I may."])
        .succeeds();
    let range = format!("{}..HEAD", base.trim());
    world
        .orch(&["audit", &range])
        .ends(1)
        .says("the settings that it begins with do not permit it");
    world.write("orch.toml", honest);
    world.commit("as before");
    world
        .orch(&["audit", &range])
        .ends(1)
        .says("[people] settings that permitted it");
    world
        .orch(&["check", "--range", &range])
        .ends(1)
        .says("[people] settings that permitted it");
}

#[test]
fn settings_about_people_that_stood_only_for_a_step_permit_nothing_in_the_whole_history() {
    let why = "[people] settings that permitted it were in force only temporarily";
    // Who orders, what is relaxed, and whether the settings before would have permitted it.
    for (is_agent, relaxed, is_permitted) in [
        (true, "orders = \"anyone\"", false),
        (false, "orders = \"anyone\"", true),
        (
            true,
            "agents_may = [\"confirm\"]\norders = \"anyone\"",
            false,
        ),
    ] {
        let world = started("plan_review");
        let honest = world.read("orch.toml");
        world.write(
            "orch.toml",
            honest.replace("[people]\n", &format!("[people]\n{relaxed}\n")),
        );
        world.commit("relaxed");
        let order = ["next", "t", "--override", "I may."];
        if is_agent {
            world.orch_by_agent(&order)
        } else {
            world.orch(&order)
        }
        .succeeds();
        last(&world, "overridden");
        world.write("orch.toml", honest);
        world.commit("as before");
        if is_permitted {
            last(&world, "overridden");
        } else {
            let change = last(&world, "unverifiable");
            assert!(
                change["why"].as_str().expect("why").contains(why),
                "{change:#}"
            );
        }
    }
}

/// What people acknowledge may rest on a workflow that no commit has.
#[test]
fn an_acknowledged_step_by_a_workflow_that_was_not_committed_no_longer_blocks_a_push() {
    let world = World::ready();
    world.write("system/workflows/small.md", include_str!("small.md"));
    world.orch(&["new", "t", "--workflow", "small"]).succeeds();
    world.git(&["add", "system/workflows/small.md"]);
    world.git(&["commit", "-q", "-m", "the workflow"]);
    world.orch(&["check", "--range", "HEAD~2..HEAD"]).ends(1);
    acknowledge_commit(&world, &world.git(&["rev-parse", "HEAD~1"]));
    world.orch(&["audit", "--strict"]).succeeds();
    world.orch(&["check", "--range", "HEAD~3..HEAD"]).succeeds();
}

/// What is acknowledged is the change of the record, and not what else the commit does.
#[test]
fn an_acknowledged_forgery_does_not_cover_a_workflow_that_it_breaks() {
    let world = started("plan_review");
    let base = world.git(&["rev-parse", "HEAD"]);
    let workflow = "system/workflows/global-state-machine.md";
    let (before, whole) = (world.read("tasks/t/state.json"), world.read(workflow));
    world.write("tasks/t/state.json", before.replace("plan_review", "done"));
    world.write(
        workflow,
        whole.replace("[artifact.brief]\n", "[artifact.brief]\nnonsense = 1\n"),
    );
    world.commit("forged");
    let forged = world.git(&["rev-parse", "HEAD"]);
    world.git(&["revert", "--no-edit", "HEAD"]);
    acknowledge_commit(&world, &forged);
    let range = format!("{}..HEAD", base.trim());
    world
        .orch(&["check", "--range", &range])
        .ends(1)
        .says("workflow `global-state-machine` has errors");
}

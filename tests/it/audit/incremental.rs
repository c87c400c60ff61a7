//! An audit that continues from an earlier one says of the whole history what an audit of all of it says.

use super::evasions::laxer;
use super::records::put;
use super::removed::{begin, refused, remove};
use super::rewritten::acknowledge_commit;
use super::{clone_alone, skip, squashed, state};
use crate::harness::{World, copy, started};
use crate::setting::slice;
use crate::signing::ssh;
use orch_base::Digest;
use serde_json::Value;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;

const KEPT: &str = ".git/orch/proven";

fn head(world: &World) -> String {
    world.git(&["rev-parse", "HEAD"]).trim().to_owned()
}

/// Audits incrementally, after an audit of everything has come to the same. Returns what it went on from.
#[track_caller]
fn audited(world: &World) -> Value {
    let kept = fs::read(world.path(KEPT)).ok();
    for options in [&[][..], &["--strict"]] {
        let whole = world.orch(&[&["audit"], options].concat()).code;
        assert_eq!(
            world
                .orch(&[&["audit", "--incremental"], options].concat())
                .code,
            whole,
            "{options:?}"
        );
        match &kept {
            Some(kept) => fs::write(world.path(KEPT), kept).expect("written"),
            None => fs::remove_file(world.path(KEPT)).unwrap_or_default(),
        }
    }
    let changes = |audit: &Value| audit["changes"].as_array().expect("a list").clone();
    let whole = world.orch_json(&["audit"]);
    assert_eq!(whole["incremental"], Value::Null);
    let found = world.orch_json(&["audit", "--incremental"]);
    let listed = changes(&found);
    let range = found["incremental"]["from"]
        .as_str()
        .map(|from| format!("{from}..HEAD"));
    let new = world.git(&["rev-list", range.as_deref().unwrap_or("HEAD")]);
    for change in changes(&whole) {
        let is_new = new.lines().any(|commit| change["commit"] == commit);
        let is_bad = change["standing"] == "forged" || change["standing"] == "unverifiable";
        assert_eq!(
            listed.contains(&change),
            is_new || is_bad,
            "{change:#}\n{found:#}"
        );
    }
    assert!(
        listed.iter().all(|change| changes(&whole).contains(change)),
        "{found:#}"
    );
    found["incremental"].clone()
}

/// A task in `codegen` with a history that an audit has accepted.
fn accepted() -> World {
    let world = started("plan_review");
    world.plan_review("t", true, 1);
    world.orch(&["next", "t"]).succeeds();
    assert_eq!(
        audited(&world)["why"],
        "no earlier audit was kept in this clone"
    );
    world
}

#[test]
fn only_newer_commits_are_replayed() {
    let world = accepted();
    let first = head(&world);
    let before = world.orch_json(&["audit"]);
    assert_eq!(audited(&world)["from"], *first);
    world.patch("t", 1);
    world.orch(&["next", "t"]).succeeds();
    let ended = world.orch(&["audit", "--incremental"]).succeeds();
    assert!(
        ended
            .stderr
            .contains("1 commit, 1 change of records: 1 proven"),
        "{ended:?}"
    );
    assert!(
        ended
            .stderr
            .contains(&format!("continued after {}: ", &first[..10])),
        "{ended:?}"
    );
    world.git(&["reset", "-q", "--hard", "HEAD"]);
    let again = audited(&world);
    assert_eq!(again["from"], *head(&world));
    assert_eq!(
        again["commits"],
        before["commits"].as_u64().expect("a number") + 1
    );
    assert_eq!(
        again["changes"],
        before["changes"].as_array().expect("a list").len() + 1
    );
    assert_eq!(again["why"], Value::Null);
    assert_eq!(again["notKept"], Value::Null);
    // A revision is audited by what its own history contains.
    assert_eq!(
        world.orch_json(&["audit", "--incremental", "HEAD~1"])["incremental"]["from"],
        Value::Null
    );
    world
        .orch(&["audit", "--incremental", "HEAD~1..HEAD"])
        .ends(2)
        .reports("takes no range");
    world
        .orch(&["audit", "--incremental", "--since", "HEAD~1"])
        .ends(2);
    world
        .orch(&["audit", "--incremental", "--also", "HEAD~1"])
        .ends(2);
}

/// Writes what an audit keeps again, with the digest that belongs to it.
fn forge(world: &World, edit: impl Fn(&mut Value)) {
    let text = world.read(KEPT);
    let mut kept: Value =
        serde_json::from_str(text.split_once('\n').expect("two lines").1).expect("JSON");
    edit(&mut kept);
    let text = kept.to_string();
    world.write(
        KEPT,
        format!("{}\n{text}", Digest::of_blob(text.as_bytes())),
    );
}

#[test]
fn whatever_could_change_a_verdict_lets_everything_be_replayed() {
    type Change = fn(&World);
    let changes: [(&str, Change, &str); 13] = [
        (
            "the last commit was amended",
            |world| drop(world.git(&["commit", "-q", "--amend", "-m", "another message"])),
            "is not in the history of",
        ),
        (
            "the history was rewritten",
            |world| {
                world.git(&["reset", "-q", "--hard", "HEAD~1"]);
                world
                    .orch(&["next", "t", "--override", "no review", "--to", "codegen"])
                    .succeeds();
            },
            "is not in the history of",
        ),
        (
            "the audit was one of another branch",
            |world| drop(world.git(&["switch", "-q", "-c", "other", "HEAD~1"])),
            "is not in the history of",
        ),
        (
            "the rules were loosened",
            |world| {
                laxer(world);
                world.commit("laxer");
            },
            "the settings or workflows changed after",
        ),
        (
            "the rules were loosened and put back",
            |world| {
                laxer(world);
                world.commit("laxer");
                world.git(&["revert", "--no-edit", "HEAD"]);
            },
            "the settings or workflows changed after",
        ),
        (
            "a merged branch began with other rules",
            |world| {
                world.git(&["switch", "-q", "-c", "side", "HEAD~2"]);
                laxer(world);
                world.commit("laxer");
                world.git(&["switch", "-q", "main"]);
                world.git(&["merge", "-q", "-s", "ours", "--no-edit", "side"]);
            },
            "the settings or workflows changed after",
        ),
        (
            "a byte is another one",
            |world| {
                world.write(
                    KEPT,
                    world
                        .read(KEPT)
                        .replacen("\"commits\":", "\"commits\":1", 1),
                )
            },
            "is damaged",
        ),
        (
            "the end is missing",
            |world| {
                let text = world.read(KEPT);
                world.write(KEPT, &text[..text.len() / 2]);
            },
            "is damaged",
        ),
        (
            "nothing is left",
            |world| world.write(KEPT, ""),
            "is damaged",
        ),
        (
            "another version wrote it",
            |world| forge(world, |kept| kept["version"] = 2.into()),
            "another build of orch",
        ),
        (
            "another build wrote it",
            |world| {
                forge(world, |kept| {
                    kept["program"] = Digest::of_blob(b"").to_string().into()
                })
            },
            "another build of orch",
        ),
        (
            "others may write it",
            |world| {
                fs::set_permissions(world.path(KEPT), Permissions::from_mode(0o666)).expect("set");
            },
            "others may change it",
        ),
        (
            "commits have grafts",
            |world| world.write(".git/info/grafts", format!("{}\n", head(world))),
            "git has grafts",
        ),
    ];
    let world = accepted();
    for (what, change, why) in slice(changes, 3) {
        let world = copy(&world);
        change(&world);
        let found = world.orch_json(&["audit", "--incremental"]);
        assert_eq!(
            found["incremental"]["from"],
            Value::Null,
            "{what}: {found:#}"
        );
        let told = found["incremental"]["why"].as_str().expect("a reason");
        assert!(told.contains(why), "{what}: {told}");
        assert_eq!(
            found["changes"],
            world.orch_json(&["audit"])["changes"],
            "{what}"
        );
    }
}

#[test]
fn a_clone_does_not_bring_what_was_accepted() {
    let world = accepted();
    put(
        &world,
        &orch_core::decide::State {
            phase: Some("done".to_owned()),
            ..state(&world)
        },
    );
    world.commit("forged");
    // Somebody says that all of it was accepted, in every place that a clone could bring.
    forge(&world, |kept| {
        kept["histories"][0]["commit"] = head(&world).into()
    });
    world.orch(&["audit", "--incremental"]).succeeds();
    let forged = world.read(KEPT);
    for path in ["orch/proven", ".orch/proven", "tasks/t/proven"] {
        world.write(path, &forged);
    }
    world.git(&["add", "-A", "-f"]);
    world.git(&["commit", "-q", "-m", "forged"]);
    let blob = world.git(&["hash-object", "-w", KEPT]);
    world.git(&["update-ref", "refs/tags/orch/proven", blob.trim()]);
    let clone = world.path("../clone");
    let (from, to) = (
        world.root().display().to_string(),
        clone.display().to_string(),
    );
    world.git(&["clone", "-q", &from, &to]);
    let ended = world.orch(&["-C", &to, "audit", "--incremental"]).ends(1);
    assert!(
        ended
            .stderr
            .contains("no earlier audit was kept in this clone"),
        "{ended:?}"
    );
}

#[test]
fn what_is_faulty_is_never_kept() {
    let world = started("plan_review");
    skip(&world, "codegen", "plan-accepted");
    world.commit("forged");
    for _ in 0..2 {
        let found = audited(&world);
        assert_eq!(found["why"], "no earlier audit was kept in this clone");
        assert_eq!(found["notKept"], "a change is forged");
    }
    let world = accepted();
    let clean = head(&world);
    skip(&world, "done", "accepted");
    world.commit("forged");
    for _ in 0..2 {
        let found = audited(&world);
        assert_eq!(found["from"], *clean);
        assert_eq!(found["notKept"], "a change is forged");
    }
    // Reverted, it is still in the history; acknowledged, it is accepted as long as it stays reverted.
    let forged = head(&world);
    world.git(&["revert", "--no-edit", "HEAD"]);
    assert_eq!(audited(&world)["from"], *clean);
    acknowledge_commit(&world, &forged);
    assert_eq!(audited(&world)["notKept"], Value::Null);
    let acknowledged = head(&world);
    world.patch("t", 1);
    world.orch(&["next", "t"]).succeeds();
    assert_eq!(audited(&world)["from"], *acknowledged);
    world.git(&[
        "checkout",
        "-q",
        &forged,
        "--",
        "tasks/t/state.json",
        "tasks/t/transcript.jsonl",
    ]);
    world.commit("the forged record again");
    world.orch(&["audit", "--incremental"]).ends(1);
    audited(&world);
}

#[test]
fn what_a_removed_record_had_used_up_still_counts() {
    let world = refused();
    let plan = world.read("tasks/t/planning/plan.json");
    remove(&world, "t");
    world.commit("removed");
    audited(&world);
    let removed = head(&world);
    world.write("tasks/u/planning/plan.json", plan);
    begin(&world, "u");
    assert_eq!(audited(&world)["from"], *removed);
    let found = world.orch_json(&["audit", "--incremental"]);
    let change = found["changes"]
        .as_array()
        .expect("a list")
        .last()
        .cloned()
        .expect("a change");
    assert!(
        change["why"]
            .as_str()
            .expect("a text")
            .contains("was used up by the task in tasks/t"),
        "{change:#}"
    );
    // It is listed again by the next one, which does not replay the others.
    assert_eq!(found["incremental"]["from"], *head(&world));
    assert_eq!(found["changes"].as_array().expect("a list").len(), 1);
}

#[test]
fn evidence_that_arrives_later_counts() {
    let world = squashed();
    let clone = World::without_git();
    clone_alone(&world, "main", &clone.root());
    assert_eq!(audited(&clone)["notKept"], Value::Null);
    assert_eq!(audited(&clone)["from"], *head(&clone));
    clone.orch(&["audit", "--incremental", "--strict"]).ends(1);
    clone.git(&["fetch", "-q", "origin", "work"]);
    let why = audited(&clone)["why"].clone();
    assert!(
        why.as_str().expect("a reason").contains("may have changed"),
        "{why}"
    );
    clone
        .orch(&["audit", "--incremental", "--strict"])
        .succeeds();
}

#[test]
fn a_signature_that_is_trusted_no_longer_is_noticed() {
    let Some(world) = ssh() else { return };
    world.write("orch.toml", "[people]\norders = \"signed\"\n");
    world.commit("signed orders");
    world.orch(&["new", "t"]).succeeds();
    world.plan("t", 1);
    world.orch(&["next", "t"]).succeeds();
    world
        .orch(&[
            "next",
            "t",
            "--override",
            "reviewed in pairing",
            "--to",
            "codegen",
        ])
        .succeeds();
    audited(&world);
    let accepted = head(&world);
    world.write("notes", "more\n");
    world.commit("more");
    assert_eq!(audited(&world)["from"], *accepted);
    world
        .orch(&["audit", "--incremental", "--strict"])
        .succeeds();
    fs::write(world.path("../allowed"), "").expect("written");
    world.orch(&["audit", "--incremental", "--strict"]).ends(1);
    audited(&world);
}

//! `orch diff`: what has changed in an artifact since it was judged.

use crate::harness::started;
use serde_json::{Value, json};

#[test]
fn a_diff_is_that_to_what_the_last_step_rests_on() {
    let world = started("planning");
    let diff = || world.orch_json(&["diff", "t", "plan"]);
    let empty = diff();
    assert_eq!(
        (&empty["kind"], &empty["judged"], &empty["files"]),
        (&json!("diff"), &Value::Null, &json!([]))
    );
    world.plan("t", 1);
    let new = diff();
    assert_eq!(
        (&new["judged"], &new["files"][0]["before"]),
        (&Value::Null, &Value::Null)
    );
    let path = "tasks/t/planning/plan.json";
    assert_eq!(new["files"][0]["path"], path);
    let patch = |document: &Value| {
        document["files"][0]["patch"]
            .as_str()
            .expect("a patch")
            .to_owned()
    };
    assert!(
        patch(&new).contains("--- /dev/null\n+++ b/tasks/t/planning/plan.json\n@@ "),
        "{}",
        patch(&new)
    );
    world.orch(&["next", "t"]).succeeds();
    let same = diff();
    assert_eq!(
        (&same["judged"]["to"], patch(&same).as_str()),
        (&json!("plan_review"), "")
    );
    world
        .orch(&["diff", "t", "plan"])
        .succeeds()
        .says("no difference");
    let before = world.read(path);
    world.write(
        path,
        before.replacen('{', "{ \"note\": \"\u{202e}new\",", 1),
    );
    let changed = diff();
    assert_eq!(
        changed["files"][0]["before"],
        world.git(&["rev-parse", &format!("HEAD:{path}")]).trim()
    );
    assert_eq!(
        changed["files"][0]["after"],
        world.git(&["hash-object", path]).trim()
    );
    assert!(
        patch(&changed).contains("\n+{ \"note\": "),
        "{}",
        patch(&changed)
    );
    let shown = world.orch(&["diff", "t", "plan"]).succeeds().stdout;
    assert!(
        shown.contains("plan since planning -> plan_review, "),
        "{shown}"
    );
    assert!(
        !shown.contains('\u{202e}') && shown.contains("\u{fffd}new"),
        "{shown}"
    );
    world.remove(path);
    assert!(
        patch(&diff()).contains("+++ /dev/null"),
        "{}",
        patch(&diff())
    );
    world.write(path, [0_u8, 1, 2]);
    assert_eq!(diff()["files"][0]["patch"], Value::Null, "it is binary");
    world
        .orch(&["diff", "t", "plan"])
        .succeeds()
        .says("differs, but cannot be shown");
    world
        .orch(&["diff", "t", "plam"])
        .ends(2)
        .reports("did you mean `plan`?");
    world
        .orch(&["diff", "t", "a b"])
        .ends(2)
        .reports("there is no artifact `a b`");
    world.orch(&["diff", "nobody", "plan"]).ends(2);
}

#[test]
fn what_cannot_be_read_is_not_shown_as_deleted() {
    for (line, code) in [
        ("ln -sf /etc/hostname tasks/t/planning/plan.json", "symlink"),
        (
            "rm tasks/t/planning/plan.json; mkfifo tasks/t/planning/plan.json",
            "not-a-file",
        ),
        ("rm tasks/t/transcript.jsonl", "record-lost"),
        ("sed -i '$d' tasks/t/transcript.jsonl", "transcript-cut"),
    ] {
        let world = started("plan_review");
        world.shell(line);
        let ended = world.orch(&["diff", "t", "plan"]);
        assert!(
            ended.code != 0 && ended.stdout.is_empty(),
            "{line}: {ended:?}"
        );
        let told = world.orch(&["diff", "t", "plan", "--json"]).stdout;
        assert!(told.contains(&format!("\"{code}")), "{line}: {told}");
    }
}

//! Tasks that wait for others and are parts of others: what is refused, what waits, what is recorded of others, and what a
//! merge, a rename, an archive and a removal make of it.

use crate::harness::World;
use crate::looks::{caller, open};
use orch_engine::apply::{NewTask, RelationWish, Writer};
use serde_json::Value;

const NOTE: &str = "# Note\n\n```toml orch\n[workflow]\ninitial = \"write\"\n[artifact.note]\npath = \"note.json\"\n\
                    [phase.write]\nproduces = [\"note\"]\n[phase.done]\nterminal = true\n[[rule]]\nid = \"finished\"\n\
                    from = \"write\"\nwhen = \"note.ready\"\nto = \"done\"\nbecause = \"the note is finished\"\n```\n";

/// A repository whose tasks are done as soon as a file is there.
fn notes() -> World {
    let world = World::ready();
    world.write("system/workflows/note.md", NOTE);
    world.write(
        "orch.toml",
        "[[root]]\npath = \"tasks/*\"\nworkflow = \"note\"\n",
    );
    world.commit("Notes");
    world
}

fn suggestion(world: &World, task: &str) -> Value {
    world.orch_json(&["suggest", task])["suggestions"][0].clone()
}

/// The events of a task that say what they saw of others, each with the ids of these.
fn seen(world: &World, task: &str) -> Vec<(String, Vec<String>)> {
    let log = world.read(&format!("tasks/{task}/transcript.jsonl"));
    let events = log
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("an event"));
    let mut found = Vec::new();
    for event in events {
        if let Some(others) = event["others"].as_array() {
            let ids = others
                .iter()
                .map(|other| other["id"].as_str().expect("an id").to_owned());
            let kind = event["kind"].as_str().expect("a kind").to_owned();
            found.push((kind, ids.collect()));
        }
    }
    found
}

fn nothing_is_forged(world: &World) {
    let report = world.orch_json(&["audit"]);
    for change in report["changes"].as_array().expect("changes") {
        let standing = change["standing"].as_str().expect("a word");
        assert!(["proven", "folded"].contains(&standing), "{change:#}");
    }
}

#[test]
fn a_task_waits_for_others_and_an_epic_for_its_parts() {
    let world = notes();
    let commits = || world.git(&["rev-list", "--count", "HEAD"]);
    world.orch(&["new", "a"]).succeeds();
    let before: u32 = commits().trim().parse().expect("a number");
    world
        .orch(&[
            "new",
            "b",
            "--after",
            "a",
            "--priority",
            "high",
            "--assignee",
            "eva",
        ])
        .succeeds();
    let after: u32 = commits().trim().parse().expect("a number");
    assert_eq!(
        after,
        before + 1,
        "the relations are in the commit of the creation"
    );
    world
        .orch(&["new", "epic", "--workflow", "epic"])
        .succeeds();
    for part in ["a", "b"] {
        world.orch(&["relate", part, "--parent", "epic"]).succeeds();
    }
    // What it waits for, everywhere.
    let waiting = suggestion(&world, "b");
    assert_eq!(waiting["kind"], "wait");
    assert_eq!(waiting["owner"], "none");
    assert_eq!(waiting["blockedBy"], serde_json::json!(["a"]));
    assert_eq!(
        waiting["relations"],
        serde_json::json!({"after": ["a"], "parent": "epic", "priority": "high", "assignee": "eva"})
    );
    let free = world.orch_json(&["free"]);
    let first = &free["tasks"][0];
    assert_eq!(
        (first["task"].as_str(), first["behind"].as_u64()),
        (Some("a"), Some(2)),
        "`b` waits for it, and the epic for `b`"
    );
    world.orch(&["next", "b"]).ends(3);
    world
        .orch(&["status"])
        .succeeds()
        .says("waiting for other tasks: 1");
    world
        .orch(&["explain", "b"])
        .says("waits for `a`, which is in `write`");
    world
        .orch(&["show", "b"])
        .says("after a · part of epic · priority high");
    // What is refused.
    for (arguments, code, why) in [
        (
            &["a", "--after", "b"][..],
            2,
            "`a` waits for `b` waits for `a`",
        ),
        (
            &["a", "--after", "epic"],
            2,
            "`a` waits for `epic` waits for `a`",
        ),
        (
            &["epic", "--parent", "a"],
            2,
            "`epic` is part of `a` is part of `epic`",
        ),
        (&["a", "--parent", "a"], 2, "`a` is part of `a`"),
        (&["a", "--after", "nobody"], 2, "there is no task `nobody`"),
        (&["a", "--not-after", "b"], 2, "`a` does not wait for `b`"),
        (&["b", "--after", "a"], 5, "already related so"),
    ] {
        let head = world.git(&["rev-parse", "HEAD"]);
        let arguments: Vec<&str> = ["relate"].iter().chain(arguments).copied().collect();
        world.orch(&arguments).ends(code).reports(why);
        assert_eq!(world.git(&["rev-parse", "HEAD"]), head);
    }
    world
        .orch(&["graph"])
        .succeeds()
        .says("├─ a  write")
        .says("waits for a · high · eva · critical")
        .says("critical path (3 tasks): a → b → epic");
    world
        .orch(&["graph", "--format", "mermaid"])
        .succeeds()
        .says("t0 --> t1");
    // A branch that has not seen what is done on the base branch.
    world.git(&["branch", "work"]);
    world.write("tasks/a/note.json", "{}");
    world.orch(&["next", "a"]).succeeds();
    assert_eq!(suggestion(&world, "b")["owner"], "agent");
    world.git(&["switch", "-q", "work"]);
    world.orch(&["suggest", "b"]).says("git merge main");
    world.git(&["switch", "-q", "main"]);
    world.orch(&["next", "epic"]).succeeds();
    assert_eq!(suggestion(&world, "epic")["owner"], "none");
    world.write("tasks/b/note.json", "{}");
    world.orch(&["next", "b"]).succeeds();
    world.orch(&["next", "epic"]).succeeds();
    assert_eq!(world.phase("epic"), "done");
    let parts = || vec!["a".to_owned(), "b".to_owned()];
    assert_eq!(
        seen(&world, "b"),
        [("advance".to_owned(), vec!["a".to_owned()])]
    );
    assert_eq!(
        seen(&world, "epic"),
        [
            ("advance".to_owned(), parts()),
            ("advance".to_owned(), parts())
        ]
    );
    nothing_is_forged(&world);
    world.orch(&["check", "--strict"]).succeeds();
    // What is in the archive is known by its id.
    world.orch(&["archive", "a"]).succeeds();
    world.orch(&["check", "--strict"]).succeeds();
    nothing_is_forged(&world);
}

#[test]
fn a_circle_that_a_merge_brings_blocks_until_it_is_taken_apart() {
    let world = notes();
    for task in ["a", "b", "c"] {
        world.orch(&["new", task]).succeeds();
    }
    world.git(&["switch", "-q", "-c", "work"]);
    world.orch(&["relate", "a", "--after", "b"]).succeeds();
    world.git(&["switch", "-q", "main"]);
    world.orch(&["relate", "b", "--after", "a"]).succeeds();
    world.git(&["merge", "-q", "-m", "merged", "work"]);
    world
        .orch(&["check"])
        .ends(1)
        .says("`a` waits for `b` waits for `a`")
        .says("`b` waits for `a` waits for `b`");
    world.orch(&["graph"]).ends(1);
    let held = suggestion(&world, "a");
    assert_eq!(held["owner"], "human");
    let argv = ["orch", "relate", "a", "--not-after", "b"];
    assert_eq!(held["options"][0]["argv"], serde_json::json!(argv));
    // Work does not end it.
    world.write("tasks/a/note.json", "{}");
    world.orch(&["next", "a"]).ends(3);
    world.orch(&argv[1..]).succeeds();
    world.orch(&["next", "a"]).succeeds();
    world.orch(&["check", "--strict"]).succeeds();
    // A rename carries the relation along, and a removal is told.
    world
        .orch(&["relate", "c", "--after", "b", "--parent", "b"])
        .succeeds();
    world
        .orch(&["rename", "b", "d"])
        .succeeds()
        .reports("`c` name `d` now");
    assert_eq!(
        suggestion(&world, "c")["relations"]["parent"],
        serde_json::json!("d")
    );
    nothing_is_forged(&world);
    world.git(&["rm", "-q", "-r", "tasks/d"]);
    world.commit("d is gone");
    world.orch(&["check"]).ends(1).says("there is no task `d`");
    world
        .orch(&["relate", "c", "--not-after", "d", "--no-parent"])
        .succeeds();
    assert_eq!(suggestion(&world, "c")["owner"], "agent");
}

/// Of each list, the last task closes a circle through tasks that led to none before.
#[test]
fn a_list_that_closes_a_circle_is_refused_with_its_path() {
    let world = notes();
    world.orch(&["new", "gone"]).succeeds();
    for (task, after) in [("f", "gone"), ("d", "f")] {
        world.orch(&["new", task, "--after", after]).succeeds();
    }
    world.git(&["rm", "-q", "-r", "tasks/gone"]);
    world.commit("Gone");
    world.orch(&["new", "e", "--workflow", "epic"]).succeeds();
    world.orch(&["new", "y", "--after", "e"]).succeeds();
    world.orch(&["new", "x", "--after", "y"]).succeeds();
    let part = |parent: Option<&str>, after: &str| RelationWish {
        after: vec![after.to_owned()],
        parent: parent.map(|parent| Some(parent.to_owned())),
        ..RelationWish::default()
    };
    let lists = [
        (
            [("a", part(None, "d")), ("gone", part(None, "a"))],
            "`gone` waits for `a` waits for `d` waits for `f` waits for `gone`",
        ),
        (
            [("b", part(None, "x")), ("c", part(Some("e"), "b"))],
            "`c` waits for `b` waits for `x` waits for `y` waits for `e` waits for `c`",
        ),
    ];
    for (list, path) in lists {
        let workspace = open(&world);
        let caller = caller();
        let create = Writer::new(&workspace, &caller).create();
        let mut created = 0;
        let new = list.iter().map(|(id, wish)| {
            let new = NewTask {
                relations: Some(wish),
                ..NewTask::default()
            };
            (*id, new)
        });
        let refused = create.tasks(new, |_| created += 1).expect_err("a circle");
        assert_eq!(
            refused.message(),
            format!("this would close a circle: {path}")
        );
        assert_eq!(created, 1);
        let last = world.root().join("tasks").join(list[1].0);
        assert!(!last.exists(), "nothing of it is left behind");
    }
}

//! The merge driver, in clones that have it and in clones that have not.

use super::{WAYS, Way, coded, finish, forked, reviewed, rolled_back, standings};
use crate::harness::World;

fn with_driver(world: &World) {
    world.orch(&["init", "--merge-driver"]).succeeds();
    let driver = world.git(&["config", "merge.orch.driver"]);
    assert!(driver.ends_with("merge-driver %O %A %B %P\n"), "{driver}");
    assert_eq!(world.dirty(), "");
}

#[test]
fn with_the_driver_nobody_sees_a_conflict() {
    for way in WAYS {
        let world = forked("plan_review", reviewed, coded);
        with_driver(&world);
        let ended = way.begin(&world);
        assert_eq!(ended.code, 0, "{way:?}: {ended:?}");
        assert_eq!(
            (world.phase_suggested("t").as_str(), world.dirty().as_str()),
            ("codegen", ""),
            "{way:?}"
        );
        world.orch(&["check"]).succeeds();
        standings(&world);
        world.orch(&["next", "t"]).succeeds();
        finish(&world);
        standings(&world);
    }
}

#[test]
fn the_driver_makes_what_resolve_makes() {
    let state = |prepare: fn(&World), conflict: bool| {
        let world = forked("plan_review", rolled_back, coded);
        prepare(&world);
        assert_eq!(Way::Merge.begin(&world).code != 0, conflict);
        world.orch(&["resolve"]).succeeds();
        world.read("tasks/t/state.json")
    };
    assert_eq!(state(with_driver, false), state(|_| {}, true));
}

#[test]
fn what_the_driver_cannot_join_is_left_to_people() {
    fn ended(world: &World) {
        world.accept("t");
        world.orch(&["approve", "t"]).succeeds();
    }
    fn ended_otherwise(world: &World) {
        world.write(
            "tasks/t/accept/decision.json",
            r#"{"verdict": "accepted", "reasons": ["Why not."], "decider": "Bob"}"#,
        );
        world.orch(&["approve", "t"]).succeeds();
    }
    let world = forked("accept", ended, ended_otherwise);
    with_driver(&world);
    // The decision itself is in conflict, and nothing else.
    assert_ne!(Way::Merge.begin(&world).code, 0);
    assert_eq!(
        world.git(&["diff", "--name-only", "--diff-filter=U"]),
        "tasks/t/accept/decision.json\n"
    );
    world
        .orch(&["resolve"])
        .ends(1)
        .says("both sides are finished");
    world.orch(&["suggest", "t"]).says("orch resolve t --ours");
    // Another file of that name is merged as text.
    let world = forked("plan_review", |_| {}, |_| {});
    with_driver(&world);
    let text = |first: &str, last: &str| format!("{first}\n2\n3\n4\n5\n{last}\n");
    world.write("tasks/t/code/state.json", text("1", "6"));
    world.commit("a state of something else");
    world.git(&["branch", "-f", "work"]);
    world.write("tasks/t/code/state.json", text("one", "6"));
    world.commit("the first line");
    world.git(&["switch", "-q", "work"]);
    world.write("tasks/t/code/state.json", text("1", "six"));
    world.commit("the last line");
    world.git(&["merge", "-q", "--no-edit", "main"]);
    assert_eq!(world.read("tasks/t/code/state.json"), text("one", "six"));
}

#[test]
fn a_driver_that_is_gone_leaves_a_conflict_that_resolve_settles() {
    let world = forked("plan_review", reviewed, coded);
    world.git(&[
        "config",
        "merge.orch.driver",
        "/nowhere/orch merge-driver %O %A %B %P",
    ]);
    assert_ne!(Way::Merge.begin(&world).code, 0);
    world.orch(&["resolve"]).succeeds();
    Way::Merge.go_on(&world).succeeds();
    assert_eq!(world.phase("t"), "codegen");
    standings(&world);
}

#[test]
fn init_adds_to_attributes_that_are_there() {
    let world = World::new();
    world.write("tasks/.gitattributes", "*.patch -text");
    world
        .orch(&["init"])
        .succeeds()
        .reports("orch init --merge-driver");
    let text = world.read("tasks/.gitattributes");
    assert!(
        text.starts_with(
            "*.patch -text\n\n# orch:begin\n* -working-tree-encoding\nstate.json merge=orch linguist-generated\n"
        ),
        "{text}"
    );
    assert_eq!(
        world.git_ended(&["config", "merge.orch.driver"]).code,
        1,
        "settings are not touched unasked"
    );
    world.write(
        "tasks/.gitattributes",
        text.replace("merge=orch", "merge=text"),
    );
    world
        .orch(&["init"])
        .succeeds()
        .says("changed tasks/.gitattributes");
    assert_eq!(world.read("tasks/.gitattributes"), text);
    world
        .orch(&["init"])
        .succeeds()
        .says("Everything is already set up.");
}

#[test]
fn init_keeps_prettier_away_from_records_where_it_is_used() {
    let uses: [(&str, &str); 5] = [
        (".prettierignore", "dist"),
        (".prettierrc.json", "{}"),
        ("prettier.config.mjs", ""),
        (
            "package.json",
            "{\"devDependencies\": {\"prettier\": \"3\"}}",
        ),
        (
            ".pre-commit-config.yaml",
            "repos:\n- hooks: [{id: prettier}]\n",
        ),
    ];
    for (file, text) in uses {
        let world = World::new();
        world.write(file, text);
        world.orch(&["init"]).succeeds().says(".prettierignore");
        let ignored = world.read(".prettierignore");
        for line in ["/tasks/**/state.json", "/tasks/**/transcript.jsonl"] {
            assert!(ignored.lines().any(|one| one == line), "{ignored}");
        }
        assert!(
            file != ".prettierignore" || ignored.starts_with("dist\n"),
            "{ignored}"
        );
        world
            .orch(&["init"])
            .succeeds()
            .says("Everything is already set up.");
    }
    for (file, text) in [
        ("package.json", "{\"devDependencies\": {\"eslint\": \"9\"}}"),
        ("src/.prettierrc", ""),
    ] {
        let world = World::new();
        world.write(file, text);
        world.orch(&["init"]).succeeds();
        assert!(!world.path(".prettierignore").exists(), "{file}");
    }
    let attributes = |world: &World, file: &str| {
        let path = format!("tasks/t/{file}");
        world.git(&[
            "check-attr",
            "merge",
            "linguist-generated",
            "diff",
            "--",
            &path,
        ])
    };
    let world = World::ready();
    let said = attributes(&world, "transcript.jsonl");
    for part in ["merge: union", "linguist-generated: set", "diff: unset"] {
        assert!(said.contains(part), "{said}");
    }
    let said = attributes(&world, "state.json");
    for part in [
        "merge: orch",
        "linguist-generated: set",
        "diff: unspecified",
    ] {
        assert!(said.contains(part), "{said}");
    }
}

//! Two branches that each created a task under one id: they are told apart by their `create` events.

use super::{Way, standings};
use crate::harness::World;
use serde_json::Value;
use std::collections::BTreeSet;

const LOG: &str = "tasks/login/transcript.jsonl";

/// The branch `work` has one task `login`, which is further, and `main`, which is checked out, another one.
fn made_twice(titles: [Option<&str>; 2]) -> World {
    let world = World::ready();
    let created = |title: Option<&str>| {
        let mut arguments = vec!["new", "login"];
        arguments.extend(title.iter().flat_map(|title| ["--title", title]));
        world.orch(&arguments).succeeds();
    };
    world.git(&["switch", "-q", "-c", "work"]);
    created(titles[1]);
    world.plan("login", 1);
    world.write("tasks/login/notes.md", "by mail\n");
    world.commit("notes");
    world.orch(&["next", "login"]).succeeds();
    world.git(&["switch", "-q", "main"]);
    created(titles[0]);
    world
}

fn phones_and_mails() -> World {
    made_twice([Some("Login by phone"), Some("Login by mail")])
}

fn title(world: &World, task: &str) -> String {
    let state = world.json(&format!("tasks/{task}/state.json"));
    state["title"].as_str().unwrap_or_default().to_owned()
}

fn events(world: &World, task: &str) -> BTreeSet<String> {
    let log = world.read(&format!("tasks/{task}/transcript.jsonl"));
    let id = |line: &str| line.split('"').nth(3).expect("an id").to_owned();
    log.lines().map(id).collect()
}

/// What brings both branches together, as far as git lets it. Conflicts in records are left to orch, others are ours.
fn brought_together(world: &World, way: Way) {
    let mut ended = way.begin(world);
    let mut stops = 0;
    while ended.code != 0 && way != Way::Merge && way != Way::MergeBack {
        world.orch(&["resolve"]).ends(1).reports("--continue");
        stops += 1;
        assert!(stops < 9, "{way:?}: {ended:?}");
        ended = way.go_on(world);
    }
}

#[test]
fn two_tasks_under_one_id_are_told_by_every_face_and_nothing_moves() {
    for titles in [
        [Some("Login by phone"), Some("Login by mail")],
        [Some("Login by phone"), None],
        [None, None],
    ] {
        let world = made_twice(titles);
        let log = world.read(LOG);
        assert_ne!(Way::Merge.begin(&world).code, 0);
        let united = world.read(LOG);
        assert!(united.len() > log.len());
        for arguments in [
            &["status", "--json"][..],
            &["suggest", "login", "--json"],
            &["check", "--json"],
            &["check", "--staged", "--json"],
            &["resolve", "--json"],
        ] {
            let ended = world.orch(arguments);
            for title in titles {
                let words = title.unwrap_or("without a title");
                assert!(
                    ended.stdout.contains(words),
                    "{arguments:?}: {words}: {ended:?}"
                );
            }
            if arguments[0] != "status" {
                assert!(
                    ended.stdout.contains("--rename-theirs"),
                    "{arguments:?}: {ended:?}"
                );
            }
        }
        world.orch(&["resolve"]).ends(1);
        for arguments in [
            &["next", "login"][..],
            &["rollback", "login", "--reason", "again"],
            &["new", "login"],
        ] {
            assert_ne!(world.orch(arguments).code, 0, "{arguments:?}");
        }
        assert_eq!(world.read(LOG), united);
        // Whoever commits it as it is is told again.
        world.git(&["add", "-A"]);
        world.git(&["commit", "-q", "-m", "merged"]);
        world.orch(&["check"]).ends(1).says("created-twice");
        world
            .orch(&["check", "--commit", "HEAD"])
            .ends(1)
            .says("created-twice");
    }
}

#[test]
fn each_of_two_tasks_gets_its_events_and_files_back_whatever_brought_them_together() {
    for way in [Way::Merge, Way::MergeBack, Way::Rebase, Way::CherryPick] {
        let ways_to_go_on: &[bool] = match way {
            Way::Merge | Way::MergeBack => &[false, true],
            Way::Rebase | Way::CherryPick => &[false],
        };
        for &is_committed in ways_to_go_on {
            for flag in ["--rename-theirs", "--rename-ours"] {
                let world = phones_and_mails();
                let phone = events(&world, "login");
                world.git(&["switch", "-q", "work"]);
                let mail = events(&world, "login");
                world.git(&["switch", "-q", "main"]);
                let what = format!("{way:?} {is_committed} {flag}");
                brought_together(&world, way);
                let is_merge = matches!(way, Way::Merge | Way::MergeBack);
                if is_merge && is_committed {
                    world.git(&["add", "-A"]);
                    world.git(&["commit", "-q", "-m", "merged"]);
                }
                let ended = world.orch(&["resolve", "login", flag, "other"]);
                assert_eq!(ended.code, 0, "{what}: {ended:?}");
                if is_merge && !is_committed {
                    way.go_on(&world).succeeds();
                }
                assert_eq!(world.dirty(), "", "{what}");
                // What was checked out before is ours.
                let is_phone_ours = way != Way::MergeBack;
                let is_phone_kept = is_phone_ours == (flag == "--rename-theirs");
                let [phones, mails] = if is_phone_kept {
                    ["login", "other"]
                } else {
                    ["other", "login"]
                };
                assert_eq!(title(&world, phones), "Login by phone", "{what}");
                assert_eq!(title(&world, mails), "Login by mail", "{what}");
                assert_eq!(
                    [world.phase(phones), world.phase(mails)],
                    ["planning", "plan_review"],
                    "{what}"
                );
                for (task, own) in [(phones, &phone), (mails, &mail)] {
                    let now = events(&world, task);
                    assert!(own.is_subset(&now), "{what}: {task}");
                    assert_eq!(
                        now.len(),
                        own.len() + usize::from(task == "other"),
                        "{what}: {task}"
                    );
                }
                assert!(
                    world
                        .path(&format!("tasks/{mails}/planning/plan.json"))
                        .exists(),
                    "{what}"
                );
                assert_eq!(
                    world.read(&format!("tasks/{mails}/notes.md")),
                    "by mail\n",
                    "{what}"
                );
                assert!(
                    !world.path(&format!("tasks/{phones}/notes.md")).exists(),
                    "{what}"
                );
                assert!(
                    !world.path(&format!("tasks/{phones}/planning")).exists(),
                    "{what}"
                );
                world.orch(&["check"]).succeeds();
                world.orch(&["check", "--commit", "HEAD"]).succeeds();
                standings(&world);
                // Both continue.
                world.plan(phones, 7);
                world.plan_review(mails, true, 7);
                world.orch(&["next", phones]).succeeds();
                world.orch(&["next", mails]).succeeds();
                standings(&world);
                world.orch(&["resolve", "login", flag, "third"]).ends(3);
            }
        }
    }
}

#[test]
fn a_file_of_both_tasks_is_as_each_side_has_it_and_an_edited_one_stays() {
    for is_committed in [false, true] {
        let world = phones_and_mails();
        world.plan("login", 2);
        world.write("tasks/login/notes.md", "by phone\n");
        world.commit("notes");
        world.orch(&["next", "login"]).succeeds();
        let ours = world.read("tasks/login/planning/plan.json");
        world.git(&["switch", "-q", "work"]);
        let theirs = world.read("tasks/login/planning/plan.json");
        world.git(&["switch", "-q", "main"]);
        assert_ne!(Way::Merge.begin(&world).code, 0);
        let edited = "by phone or by mail\n";
        world.write("tasks/login/notes.md", edited);
        world.git(&["add", "tasks/login/notes.md"]);
        if is_committed {
            world.git(&["add", "-A"]);
            world.git(&["commit", "-q", "-m", "merged"]);
        }
        world
            .orch(&["resolve", "login", "--rename-theirs", "mail"])
            .succeeds()
            .says("tasks/login/notes.md");
        assert_eq!(world.read("tasks/login/planning/plan.json"), ours);
        assert_eq!(world.read("tasks/mail/planning/plan.json"), theirs);
        assert_eq!(world.read("tasks/login/notes.md"), edited);
        assert_eq!(world.read("tasks/mail/notes.md"), "by mail\n");
        if !is_committed {
            Way::Merge.go_on(&world).succeeds();
        }
        assert_eq!(world.dirty(), "");
        standings(&world);
    }
}

#[test]
fn a_person_may_say_that_two_tasks_are_one() {
    let world = phones_and_mails();
    assert_ne!(Way::Merge.begin(&world).code, 0);
    world
        .orch(&[
            "resolve",
            "login",
            "--theirs",
            "--reason",
            "it is one login",
        ])
        .succeeds();
    Way::Merge.go_on(&world).succeeds();
    assert_eq!(
        (world.phase("login"), title(&world, "login")),
        ("plan_review".to_owned(), "Login by mail".to_owned())
    );
    world.orch(&["check"]).succeeds();
    standings(&world);
}

#[test]
fn tasks_that_say_the_same_of_themselves_are_one_and_that_is_told() {
    let world = made_twice([Some("Login"); 2]);
    assert_ne!(Way::Merge.begin(&world).code, 0);
    let told: Value = world.orch_json(&["suggest", "login"]);
    assert!(told.to_string().contains("--rename-theirs"), "{told:#}");
    world
        .orch(&["resolve", "login", "--rename-theirs", "other"])
        .succeeds();
    Way::Merge.go_on(&world).succeeds();
    assert_eq!(
        [world.phase("login"), world.phase("other")],
        ["planning", "plan_review"]
    );
    standings(&world);
}

#[test]
fn a_new_id_is_refused_where_something_is_and_while_git_brings_more_commits() {
    let world = phones_and_mails();
    world.orch(&["new", "taken"]).succeeds();
    world
        .orch(&["resolve", "login", "--rename-theirs", "other"])
        .ends(3);
    assert_ne!(Way::Merge.begin(&world).code, 0);
    world
        .orch(&["resolve", "login", "--rename-theirs", "taken"])
        .reports("already exists");
    world
        .orch(&["resolve", "login", "--rename-theirs", "no such id"])
        .ends(2);
    world
        .orch(&["resolve", "login", "taken", "--rename-theirs", "other"])
        .ends(2);
    world.git(&["merge", "--abort"]);
    assert_ne!(Way::CherryPick.begin(&world).code, 0);
    world
        .orch(&["resolve", "login", "--rename-theirs", "other"])
        .reports("cherry-pick --continue");
    assert!(!world.path("tasks/other").exists());
}

//! Which tasks a command means: by a beginning, a pattern, the current directory or the branch.

use crate::harness::World;

fn world() -> World {
    let world = World::ready();
    for id in ["fix-login", "fix-logout", "news"] {
        world.orch(&["new", id]).succeeds();
    }
    world
}

#[test]
fn suggest_and_log_are_about_the_task_of_the_directory_or_of_the_branch() {
    let world = world();
    let tasks = |answer: serde_json::Value, list: &str| -> Vec<String> {
        let named = answer[list].as_array().expect("a list").iter();
        named
            .map(|one| one["task"].as_str().expect("a task").to_owned())
            .collect()
    };
    let all = ["fix-login", "fix-logout", "news"];
    let here = world.path("tasks/news/planning");
    std::fs::create_dir_all(&here).expect("a directory");
    let here = here.to_str().expect("text");
    for (command, list) in [("suggest", "suggestions"), ("log", "entries")] {
        let note = |what: &str| {
            format!("only `news`, the task of this {what}; for all tasks: orch {command} --all\n")
        };
        assert_eq!(
            tasks(world.orch_json(&["-C", here, command]), list),
            ["news"]
        );
        assert_eq!(
            tasks(world.orch_json(&["-C", here, command, "--all"]), list),
            all
        );
        let told = world.orch(&["-C", here, command]).succeeds();
        assert_eq!(told.stderr, note("directory"));
        assert!(!told.stdout.contains("fix-login"), "{told:?}");
        let told = world.orch(&[command]).succeeds();
        assert_eq!(
            (told.stderr.as_str(), told.stdout.contains("fix-login")),
            ("", true),
            "{told:?}"
        );
        world.orch(&[command, "--all", "news"]).ends(2);
        world.git(&["switch", "-q", "-c", "task/news"]);
        let told = world.orch(&[command]).succeeds();
        assert_eq!(told.stderr, note("branch"));
        assert!(!told.stdout.contains("fix-login"), "{told:?}");
        // A script at the root gets the same answer on every branch.
        assert_eq!(tasks(world.orch_json(&[command]), list), all);
        world.git(&["switch", "-q", "main"]);
        world.git(&["branch", "-q", "-D", "task/news"]);
    }
}

#[test]
fn suggest_all_has_no_limit() {
    let world = World::ready();
    for number in 10..22 {
        world.write(&format!("tasks/t{number}/planning/plan.json"), "{}");
    }
    let count = |arguments: &[&str]| {
        world.orch_json(arguments)["suggestions"]
            .as_array()
            .map(Vec::len)
    };
    assert_eq!(count(&["suggest"]), Some(10));
    assert_eq!(count(&["suggest", "--all"]), Some(12));
    assert_eq!(count(&["suggest", "--all", "--limit", "3"]), Some(3));
}

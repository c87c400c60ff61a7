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
fn beginnings_and_patterns_name_tasks_in_every_command() {
    let world = world();
    world.orch(&["explain", "ne"]).succeeds().says("news");
    world
        .orch(&["prompt", "fix"])
        .ends(2)
        .reports("name one of them: fix-login, fix-logout");
    world
        .orch(&["rollback", "fix-*", "--reason", "x"])
        .ends(2)
        .reports("is a pattern");
    world
        .orch(&["suggest", "x*"])
        .ends(2)
        .reports("no task matches `x*`");
    let status = world.orch_json(&["status", "fix-*"]);
    assert_eq!(status["tasks"].as_array().map(Vec::len), Some(2));
    for id in ["fix-login", "fix-logout"] {
        world.plan(id, 1);
    }
    world.orch(&["next", "fix-*", "--to", "codegen"]).ends(2);
    let done = world.orch_json(&["next", "fix-*"]);
    assert_eq!(
        done["transitions"].as_array().map(Vec::len),
        Some(2),
        "{done:#}"
    );
    world.orch(&["next", "*"]).ends(3);
    let audit = world.orch_json(&["audit", "--task", "fix-logi*"]);
    assert_eq!(
        audit["changes"].as_array().map(Vec::len),
        Some(2),
        "{audit:#}"
    );
}

#[test]
fn the_directory_and_the_branch_name_the_task_of_every_command() {
    let world = world();
    world.walk_to("news", "codegen");
    let here = world.path("tasks/news/planning");
    let here = here.to_str().expect("text");
    world
        .orch(&[
            "-C", here, "rollback", "--to", "planning", "--reason", "here",
        ])
        .succeeds()
        .says("news");
    world
        .orch(&["-C", here, "confirm", "plan", "--reason", "still right"])
        .succeeds()
        .says("news");
    for command in ["pause", "stop", "resume", "recover"] {
        world.orch(&["-C", here, command]).ends(3);
    }
    world.orch(&["-C", here, "answer", "a=1"]).reports("news");
    world.orch(&["-C", here, "answer"]).ends(2);
    world
        .orch(&["rollback", "--reason", "which"])
        .ends(2)
        .reports("several tasks are open");
    world.git(&["switch", "-q", "-c", "task/news"]);
    world
        .orch(&["next"])
        .succeeds()
        .says("news: planning -> plan_review");
    world.write(
        "orch.toml",
        world.read("orch.toml").replace(
            "#task_branch = \"task/{task}\"",
            "task_branch = \"wip-{task}\"",
        ),
    );
    world.git(&["switch", "-q", "-c", "wip-fix-login"]);
    world
        .orch(&["prompt"])
        .succeeds()
        .says("tasks/fix-login/planning/plan.json");
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

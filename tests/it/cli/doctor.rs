//! `orch doctor`: each thing that may be wrong is found, nothing is written without `--fix`, and `--fix` repairs only
//! what is safe.

use crate::harness::{World, executable, started};
use serde_json::Value;
use std::fs::{self, File};

/// The codes of what a check found, and its result.
fn found(report: &Value, check: &str) -> (String, Vec<String>) {
    let checks = report["checks"].as_array().expect("checks");
    let check = checks
        .iter()
        .find(|one| one["check"] == check)
        .unwrap_or_else(|| panic!("{check}: {report:#}"));
    let codes = check["findings"].as_array().expect("findings").iter();
    let codes = codes.map(|finding| finding["code"].as_str().expect("a code").to_owned());
    (
        check["result"].as_str().expect("a result").to_owned(),
        codes.collect(),
    )
}

#[test]
fn what_is_wrong_is_found_and_what_is_safe_is_repaired() {
    type Wreck = fn(&World);
    let wrecks: [(&str, &str, &str, Wreck, bool); 14] = [
        (
            "tasks",
            "warning",
            "no-root",
            |world| world.shell("sed -i 's|^path = .*|path = \"task/**\"|' orch.toml"),
            false,
        ),
        (
            "hooks",
            "warning",
            "hook-outdated",
            |world| world.shell("chmod -x .git/hooks/pre-commit"),
            true,
        ),
        (
            "hooks",
            "warning",
            "hook-edited",
            |world| world.shell("echo : >> .git/hooks/pre-commit"),
            false,
        ),
        (
            "hooks",
            "warning",
            "hooks-shared",
            |world| world.shell("git config core.hooksPath ../hooks"),
            false,
        ),
        (
            "merges",
            "note",
            "merge-driver",
            |world| world.shell("git config --unset merge.orch.driver"),
            true,
        ),
        (
            "merges",
            "warning",
            "merge-driver",
            |world| {
                world
                    .shell("git config merge.orch.driver \"'/gone/orch' merge-driver %O %A %B %P\"")
            },
            true,
        ),
        // The content says whose lock it is, and its process is gone.
        (
            "locks",
            "warning",
            "unfinished",
            |world| world.shell("cp .git/orch/index.lock .git/index.lock"),
            true,
        ),
        (
            "locks",
            "warning",
            "busy",
            |world| world.shell("touch .git/HEAD.lock"),
            false,
        ),
        (
            "locks",
            "warning",
            "unfinished",
            |world| world.shell("echo { > .git/orch/journal.json.broken"),
            false,
        ),
        (
            "locks",
            "warning",
            "not-a-file",
            |world| world.shell("mkdir .git/gc.pid"),
            false,
        ),
        (
            "locks",
            "warning",
            "not-a-file",
            |world| world.shell("mkdir -p .git/orch/index.next/x"),
            false,
        ),
        (
            "locks",
            "error",
            "io",
            |world| world.shell("rm .git/orch/lock; mkfifo .git/orch/lock"),
            false,
        ),
        (
            "settings",
            "error",
            "config-syntax",
            |world| world.write("orch.toml", "[[root"),
            false,
        ),
        (
            "tasks",
            "error",
            "json-syntax",
            |world| world.write("tasks/t/review/plan-review.json", "{"),
            false,
        ),
    ];
    for (check, result, code, wreck, is_repaired) in wrecks {
        let world = started("plan_review");
        world.orch(&["init", "--merge-driver"]).succeeds();
        world.orch(&["hook", "install"]).succeeds();
        assert_eq!(
            world.orch_json(&["doctor"])["fixed"],
            Value::Array(Vec::new())
        );
        world
            .orch(&["doctor"])
            .succeeds()
            .reports("nothing needs attention");
        wreck(&world);
        let before = listing(&world);
        let report = world.orch_json(&["doctor"]);
        assert_eq!(
            found(&report, check),
            (result.to_owned(), vec![code.to_owned()]),
            "{report:#}"
        );
        let ended = world.orch(&["doctor"]).says(code);
        // What is only noted needs no attention.
        let exit = if code == "io" {
            70
        } else {
            i32::from(result != "note")
        };
        assert_eq!(ended.code, exit, "{ended:?}");
        assert!(code == "io" || ended.stdout.contains("hint: "), "{ended:?}");
        assert_eq!(listing(&world), before, "{code}: it wrote something");
        let report = world.orch_json(&["doctor", "--fix"]);
        let fixed = report["fixed"].as_array().expect("what was done");
        assert_eq!(fixed.len(), usize::from(is_repaired), "{code}: {report:#}");
        assert_eq!(
            found(&report, check).0 == "good",
            is_repaired,
            "{code}: {report:#}"
        );
    }
}

/// The files of the git directory and of the work tree, with their sizes and times of change.
fn listing(world: &World) -> String {
    // Looking creates nothing; caches of orch may be renewed.
    let mut command = world.command("find");
    command.args([
        ".",
        "-path",
        "./.git/orch",
        "-prune",
        "-o",
        "-type",
        "f",
        "-printf",
        "%p %s %C@\n",
    ]);
    let mut lines: Vec<String> = world
        .end(command.output().expect("find runs"))
        .stdout
        .lines()
        .map(str::to_owned)
        .collect();
    lines.sort();
    lines.join("\n")
}

#[test]
fn git_says_whether_states_are_merged_by_the_driver() {
    let world = started("plan_review");
    for (attributes, codes) in [
        ("# merge=orch\n", &["merge-driver"][..]),
        ("tasks/**/state.json merge=orch\n", &["merge-driver"]),
        ("*.json merge=other\n", &["merge-driver"]),
    ] {
        world.write("tasks/.gitattributes", "");
        world.write(".gitattributes", attributes);
        let report = world.orch_json(&["doctor"]);
        let is_asked_for = attributes.contains("state.json");
        let codes = codes.iter().map(ToString::to_string).collect();
        assert_eq!(found(&report, "merges"), ("note".to_owned(), codes));
        let fixed = world.orch_json(&["doctor", "--fix"])["fixed"]
            .as_array()
            .map(Vec::len);
        assert_eq!(fixed, Some(usize::from(is_asked_for)), "{attributes}");
        world.git_ended(&["config", "--unset", "merge.orch.driver"]);
    }
}

#[test]
fn the_process_that_holds_the_lock_is_named() {
    let world = started("plan_review");
    let lock = File::open(world.path(".git/orch/lock")).expect("a lock");
    lock.lock().expect("locked");
    let report = world.orch_json(&["doctor"]);
    assert_eq!(
        found(&report, "locks"),
        ("note".to_owned(), vec!["busy".to_owned()])
    );
    let named = format!("the orch process {} is committing", std::process::id());
    assert!(report.to_string().contains(&named), "{report:#}");
}

#[test]
fn a_doctor_works_where_there_is_little_to_examine() {
    let world = World::without_git();
    world.write(
        "orch.toml",
        "[[root]]\npath = \"tasks/*\"\nworkflow = \"global-state-machine\"\n",
    );
    let report = world.orch_json(&["doctor"]);
    assert_eq!(
        found(&report, "repository"),
        ("warning".to_owned(), vec!["no-repository".to_owned()])
    );
    assert_eq!(found(&report, "hooks"), ("good".to_owned(), Vec::new()));
    let git = report["versions"]["git"].as_str().expect("git is here");
    assert!(
        git.starts_with(|first: char| first.is_ascii_digit()),
        "{git}"
    );
    let world = World::new();
    world.orch(&["doctor"]).says("repository  branch main");
}

#[test]
fn a_head_that_cannot_be_read_is_a_finding() {
    let world = World::ready();
    world.write(".git/HEAD", "garbage\n");
    let report = world.orch_json(&["doctor"]);
    let (result, codes) = found(&report, "repository");
    assert_eq!((result.as_str(), codes.len()), ("error", 1), "{report:#}");
    assert_eq!(found(&report, "settings").0, "good", "{report:#}");
}

#[test]
fn what_stops_every_step_is_found() {
    type Wreck = fn(&World);
    let wrecks: [(&str, Wreck); 4] = [
        ("no-identity", |world| {
            world.shell("git config user.useConfigOnly true")
        }),
        ("branch-protected", |world| {
            let settings = world.read("orch.toml");
            world.write(
                "orch.toml",
                settings.replace("[git]\n", "[git]\nprotected = [\"main\"]\n"),
            );
        }),
        ("detached-head", |world| {
            world.shell("git checkout -q --detach")
        }),
        ("operation-open", |world| world.shell("git bisect start")),
    ];
    for (code, wreck) in wrecks {
        let world = started("plan_review");
        wreck(&world);
        let mut command = world.orch_command(&["doctor", "--json"]);
        for name in [
            "GIT_AUTHOR_NAME",
            "GIT_AUTHOR_EMAIL",
            "GIT_COMMITTER_NAME",
            "GIT_COMMITTER_EMAIL",
        ] {
            command.env_remove(name);
        }
        let told = if code == "no-identity" {
            let told = command.output().expect("orch runs").stdout;
            serde_json::from_slice(&told).expect("JSON")
        } else {
            world.orch_json(&["doctor"])
        };
        assert_eq!(
            found(&told, "repository"),
            ("warning".to_owned(), vec![code.to_owned()]),
            "{told:#}"
        );
    }
    let world = started("plan_review");
    world.git(&["clone", "-q", "--bare", ".", "../bare"]);
    let told = world.orch_json(&["-C", "../bare", "doctor"]);
    assert_eq!(found(&told, "repository").1, ["bare-repository"]);
    assert_eq!(
        (
            found(&told, "hooks").1.len(),
            found(&told, "merges").1.len()
        ),
        (0, 0),
        "{told:#}"
    );
}

#[test]
fn an_interrupted_run_and_missing_signatures_are_found() {
    let world = World::ready();
    world.write("agent", "#!/bin/sh\nkill -9 $PPID\n");
    executable(&world.path("agent"));
    world.orch(&["new", "t"]).succeeds();
    world.orch(&["run", "t", "--", "./agent"]);
    let report = world.orch_json(&["doctor"]);
    assert_eq!(
        found(&report, "runs"),
        ("warning".to_owned(), vec!["run-interrupted".to_owned()]),
        "{report:#}"
    );
    let settings = fs::read_to_string(world.path("orch.toml")).expect("settings");
    world.write(
        "orch.toml",
        format!("{settings}\n[people]\norders = \"signed\"\n"),
    );
    let report = world.orch_json(&["doctor"]);
    assert_eq!(
        found(&report, "signatures"),
        ("warning".to_owned(), vec!["unsigned".to_owned()]),
        "{report:#}"
    );
}

#[test]
fn the_versions_of_the_logs_are_told() {
    let world = World::ready();
    world.orch(&["doctor"]).succeeds();
    world.orch(&["new", "t"]).succeeds();
    world
        .orch(&["doctor"])
        .succeeds()
        .says("1 task; 1 log of version 2");
}

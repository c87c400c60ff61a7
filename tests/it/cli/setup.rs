//! `orch init` and `orch new`.

use crate::harness::{World, started};

#[test]
fn init_makes_what_it_names_and_a_second_one_changes_nothing() {
    let world = World::new();
    let made = world.orch(&["init"]).succeeds();
    for path in [
        "orch.toml",
        "tasks/.gitignore",
        "AGENTS.md",
        "system/workflows/global-state-machine.md",
    ] {
        assert!(
            made.stdout.contains(&format!("created {path}\n")),
            "{path}: {}",
            made.stdout
        );
        assert!(world.path(path).is_file(), "{path}");
    }
    world.commit("Set up orch");
    let again = world.orch(&["init"]).succeeds();
    assert_eq!(again.stdout, "Everything is already set up.\n");
    assert_eq!(world.dirty(), "");
}

#[test]
fn init_writes_every_schema_and_agent_text_that_the_workflow_names() {
    let world = World::ready();
    world.orch(&["workflow", "check"]).succeeds();
    let text = world.read("system/workflows/global-state-machine.md");
    let named = |key: &str| -> Vec<String> {
        let lines = text.lines().filter_map(|line| {
            line.strip_prefix(key)?
                .strip_prefix(" = \"")?
                .strip_suffix('"')
        });
        lines.map(str::to_owned).collect()
    };
    assert!(!named("schema").is_empty() && !named("agent").is_empty());
    for schema in named("schema") {
        assert!(
            world
                .path(&format!("system/schemas/{schema}.schema.json"))
                .is_file(),
            "{schema}"
        );
    }
    for agent in named("agent") {
        assert!(
            world.path(&format!("system/agents/{agent}.md")).is_file(),
            "{agent}"
        );
    }
}

#[test]
fn init_leaves_out_what_it_is_told_to() {
    let world = World::new();
    world
        .orch(&["init", "--no-system", "--no-agents-md"])
        .succeeds();
    assert!(!world.path("system").exists());
    assert!(!world.path("AGENTS.md").exists());
    world.commit("Set up orch");
    // The shipped workflow does as well.
    world.orch(&["new", "t"]).succeeds();
    world.walk_to("t", "done");
}

#[test]
fn init_keeps_what_is_there_and_only_renews_its_own_block() {
    let world = World::new();
    world.write("AGENTS.md", "# Ours\n\nBe kind.\n");
    world.write(
        "orch.toml",
        "version = 1\n[[root]]\npath = \"work/*\"\nworkflow = \"global-state-machine\"\n",
    );
    world.orch(&["init"]).succeeds();
    assert!(world.read("orch.toml").contains("work/*"));
    assert!(world.path("work/.gitignore").is_file());
    assert!(!world.path("tasks").exists());
    let first = world.read("AGENTS.md");
    assert!(
        first.starts_with("# Ours\n\nBe kind.\n\n<!-- orch:begin -->\n"),
        "{first}"
    );
    // A block from before it had a digest.
    let end = first.lines().last().expect("a marker");
    world.write(
        "AGENTS.md",
        format!("{}\n## After\n", first.replace(end, "<!-- orch:end -->")),
    );
    world.orch(&["init"]).succeeds();
    assert_eq!(world.read("AGENTS.md"), format!("{first}\n## After\n"));
    let edited = first.replace("orch suggest", "orch guess");
    world.write("AGENTS.md", &edited);
    world
        .orch(&["init"])
        .ends(1)
        .reports("AGENTS.md: error[agent-file]: left alone");
    assert_eq!(world.read("AGENTS.md"), edited);
}

#[test]
fn new_commits_the_task_and_nothing_else() {
    let world = World::ready();
    world.write("mine.txt", "not yours");
    let made = world
        .orch(&["new", "fix-login", "--title", "Login fails"])
        .succeeds();
    assert!(
        made.stdout.contains("fix-login: new -> planning"),
        "{}",
        made.stdout
    );
    assert_eq!(world.dirty(), "?? mine.txt\n");
    let files = world.git(&["show", "--name-only", "--format=", "HEAD"]);
    assert_eq!(
        files,
        "tasks/fix-login/state.json\ntasks/fix-login/transcript.jsonl\n"
    );
    assert_eq!(
        world.json("tasks/fix-login/state.json")["title"],
        "Login fails"
    );
    let subject = world.git(&["log", "-1", "--format=%s"]);
    assert_eq!(subject, "orch(fix-login): new -> planning\n");
}

#[test]
fn an_id_may_contain_slashes() {
    let world = World::ready();
    world.orch(&["new", "auth/login/empty-password"]).succeeds();
    assert_eq!(world.phase("auth/login/empty-password"), "planning");
    world.walk_to("auth/login/empty-password", "codegen");
    world
        .orch(&["status"])
        .succeeds()
        .says("auth/login/empty-password");
}

/// A task never contains a task, so the tasks below would be gone.
#[test]
fn new_refuses_a_directory_that_contains_recorded_tasks() {
    let world = World::ready();
    for task in ["team/a", "team/b"] {
        world.orch(&["new", task]).succeeds();
    }
    for name in ["team", "tasks/team", "tasks/team/"] {
        world
            .orch(&["new", name])
            .ends(2)
            .reports("`team` would contain task `team/a`");
    }
    let status = world.orch(&["status"]).succeeds();
    assert!(
        status.stdout.contains("team/a") && status.stdout.contains("team/b"),
        "{}",
        status.stdout
    );
    world.plan("team/sub", 1);
    world.orch(&["new", "team/sub"]).succeeds();
    assert_eq!(world.dirty(), "");
}

#[test]
fn a_path_below_a_root_names_the_task_there_and_not_one_below_another_root() {
    let world = World::ready();
    world.write(
        "orch.toml",
        "[[root]]\npath = \"tasks/**\"\n[[root]]\npath = \"changes/*\"\nexclude = [\"changes/old\"]\n",
    );
    world.write("changes/old/notes.txt", "excluded");
    world.commit("Roots");
    world.orch(&["new", "tasks/one"]).succeeds();
    assert_eq!(world.phase("one"), "planning");
    world.orch(&["new", "changes/two"]).succeeds();
    assert!(world.path("changes/two/state.json").is_file());
    world
        .orch(&["new", "changes/old"])
        .ends(2)
        .reports("changes/old is below the root changes");
    assert!(!world.path("tasks/changes").exists());
}

#[test]
fn new_refuses_what_is_there_what_lies_in_a_task_and_what_is_no_id() {
    let world = started("planning");
    let head = world.git(&["rev-parse", "HEAD"]);
    world.orch(&["new", "t"]).ends(2).reports("already exists");
    world
        .orch(&["new", "t/sub"])
        .ends(2)
        .reports("a task cannot contain a task");
    world
        .orch(&["new", "t/planning/deep"])
        .ends(2)
        .reports("a task cannot contain a task");
    for id in ["", "../out", "/abs", "a//b", "a/./b", "-x/..", "a\nb"] {
        let ended = world.orch(&["new", "--", id]);
        assert_eq!(ended.code, 2, "{id:?}: {ended:?}");
    }
    assert_eq!(world.git(&["rev-parse", "HEAD"]), head);
    assert_eq!(world.dirty(), "");
    assert!(!world.path("tasks/t/sub").exists());
}

#[test]
fn new_refuses_an_id_that_is_hard_to_type_and_suggests_one() {
    let world = World::ready();
    for (id, hint) in [
        ("Fix login", "orch new fix-login --title 'Fix login'"),
        ("state.json", "orch new state-json"),
        ("team/suggestion.json", "orch new team/suggestion-json"),
    ] {
        let refused = world.orch(&["new", id]).ends(2);
        assert!(
            refused.stderr.contains(&format!("hint: {hint}\n")),
            "{refused:?}"
        );
        assert!(!world.path(&format!("tasks/{id}")).exists(), "{id}");
    }
    // The directory of an existing task keeps its name.
    world.plan("Fix logout", 1);
    world
        .orch(&["new", "Fix logout"])
        .succeeds()
        .says("adopted");
}

#[test]
fn new_refuses_an_unknown_workflow_and_leaves_no_directory() {
    let world = World::ready();
    world
        .orch(&["new", "t", "--workflow", "opensec"])
        .ends(2)
        .reports("did you mean `openspec`?");
    assert!(!world.path("tasks/t").exists());
}

#[test]
fn a_directory_with_artifacts_is_adopted_as_it_is() {
    let world = World::ready();
    world.plan("old", 1);
    world.plan_review("old", true, 1);
    let untracked = world.orch_json(&["suggest", "old"]);
    assert_eq!(
        untracked["suggestions"][0]["diagnostics"][0]["code"],
        "untracked"
    );
    world.orch(&["next", "old"]).ends(1).reports("orch new old");
    let before = world.read("tasks/old/planning/plan.json");
    world.orch(&["new", "old"]).succeeds().says("adopted");
    assert_eq!(world.phase("old"), "planning");
    assert_eq!(world.read("tasks/old/planning/plan.json"), before);
    assert_eq!(
        world.dirty(),
        "",
        "the artifacts are part of the first commit"
    );
    world.orch(&["next", "old"]).succeeds();
    // The review was there before the plan was recorded, and does not say which plan it judged. A person may say so.
    world
        .orch(&["next", "old"])
        .ends(3)
        .says("it was there before `plan` was recorded");
    world
        .orch(&[
            "confirm",
            "old",
            "plan_review",
            "--reason",
            "it is of this plan",
        ])
        .succeeds();
    world.orch(&["next", "old"]).succeeds();
    assert_eq!(world.phase("old"), "codegen");
    world.orch(&["audit", "--strict"]).succeeds();
}

#[test]
fn outside_git_everything_but_committing_works() {
    let world = World::without_git();
    world.orch(&["init"]).succeeds();
    world.orch(&["new", "t"]).succeeds();
    world.walk_to("t", "done");
    assert!(world.read("tasks/t/transcript.jsonl").lines().count() >= 7);
    let log = world.orch_json(&["log", "t"]);
    assert_eq!(log["kind"], "log");
}

#[test]
fn the_history_can_be_read_without_transitions() {
    let world = World::ready();
    world.orch(&["init", "--log-alias"]).succeeds();
    world.orch(&["new", "t"]).succeeds();
    world.write("src/a.rs", "1\n");
    world.git(&["add", "src"]);
    world.git(&["commit", "-q", "-m", "code", "--trailer", "Orch-Task: t"]);
    let told = world.git(&["log-code", "--format=%s"]);
    assert!(told.contains("code") && !told.contains("orch(t)"), "{told}");
    // Twice is once, and an alias of the user stays.
    world.orch(&["init", "--log-alias"]).succeeds();
    world.git(&["config", "alias.log-code", "log --stat"]);
    world
        .orch(&["init", "--log-alias"])
        .ends(1)
        .reports("the git alias `log-code` has another meaning");
    assert_eq!(
        world.git(&["config", "alias.log-code"]).trim(),
        "log --stat"
    );
}

#[test]
fn init_sets_up_the_workflow_that_is_named() {
    for (workflow, base, file) in [
        (
            "skill-tuning",
            "tasks",
            "system/agents/skill-tuning-diagnose-context.md",
        ),
        (
            "openspec",
            "openspec/changes",
            "system/workflows/openspec.md",
        ),
        ("spec-kit", "specs", "system/workflows/spec-kit.md"),
        ("backlog", "backlog/tasks", "system/workflows/backlog.md"),
    ] {
        let world = World::new();
        world
            .orch(&["init", "--workflow", workflow])
            .succeeds()
            .says(&format!("{base}/.gitignore"));
        assert!(
            world
                .path("system/workflows")
                .join(format!("{workflow}.md"))
                .is_file()
        );
        assert!(
            !world
                .path("system/workflows/global-state-machine.md")
                .exists()
        );
        assert!(world.path(file).is_file(), "{file}");
        world.orch(&["check"]).succeeds();
        world
            .orch(&["init", "--workflow", workflow])
            .succeeds()
            .says("Everything is already set up.");
    }
    let world = World::new();
    world
        .orch(&["init", "--workflow", "openspecs"])
        .ends(2)
        .reports("did you mean `openspec`?");
    assert!(!world.path("orch.toml").exists(), "nothing is written");
    world.orch(&["init"]).succeeds();
    world
        .orch(&["init", "--workflow", "openspec"])
        .ends(2)
        .reports("has no root for the workflow `openspec`");
    world.write(
        "orch.toml",
        format!(
            "{}\n[[root]]\npath = \"a/*\"\nworkflow = \"openspec\"\n",
            world.read("orch.toml")
        ),
    );
    world
        .orch(&["init", "--workflow", "openspec"])
        .succeeds()
        .says("created system/workflows/openspec.md");
}

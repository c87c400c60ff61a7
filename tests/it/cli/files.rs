//! Roots of single files: each file that the path of a root matches is a task.

use crate::harness::World;

const ADR: &str = r#"# Decision record

```toml orch
[workflow]
title = "Decision record"
initial = "proposed"

[artifact.record]
path = "*.md"
example = """
---
id: <task>
status: proposed
---

# <title>
"""

[artifact.record.facts]
status = "has(data.front_matter.status) ? string(data.front_matter.status) : ''"

[phase.proposed]
owner = "human"
produces = ["record"]

[phase.accepted]
needs = ["record"]
produces = ["record"]

[phase.superseded]
terminal = true
needs = ["record"]

[[rule]]
id = "accept"
from = "proposed"
when = "record.valid && record.status == 'accepted'"
to = "accepted"
because = "its status says so"

[[rule]]
id = "supersede"
from = "accepted"
when = "record.valid && record.status == 'superseded'"
to = "superseded"
because = "its status says so"
```
"#;

/// A repository with a root of directories and this root of files.
fn world(path: &str) -> World {
    let world = World::new();
    world.write("system/workflows/adr.md", ADR);
    world.write(
        "orch.toml",
        format!(
            "[[root]]\npath = \"tasks/**\"\nworkflow = \"global-state-machine\"\n\n\
             [[root]]\npath = \"{path}\"\nworkflow = \"adr\"\nexclude = [\"docs/adr/README.md\"]\n"
        ),
    );
    world.orch(&["init", "--no-agents-md"]).succeeds();
    world.commit("Set up orch");
    world
}

fn adr() -> World {
    world("docs/adr/*.md")
}

fn record(world: &World, path: &str, status: &str) {
    world.write(path, format!("---\nstatus: {status}\n---\n\n# Decision\n"));
}

/// The ids of all tasks, each with its path.
fn tasks(world: &World) -> Vec<(String, String)> {
    let status = world.orch_json(&["status", "--all"]);
    let tasks = status["tasks"].as_array().expect("tasks").iter();
    let text = |value: &serde_json::Value| value.as_str().expect("a text").to_owned();
    let mut tasks: Vec<_> = tasks
        .map(|task| (text(&task["task"]), text(&task["path"])))
        .collect();
    tasks.sort();
    tasks
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected
        .iter()
        .map(|(id, path)| ((*id).to_owned(), (*path).to_owned()))
        .collect()
}

/// The standings of all changes that an audit finds.
fn standings(world: &World) -> Vec<String> {
    let report = world.orch_json(&["audit"]);
    let changes = report["changes"].as_array().expect("changes").iter();
    changes
        .map(|change| change["standing"].as_str().expect("a word").to_owned())
        .collect()
}

#[test]
fn each_file_of_a_root_of_files_is_a_task_and_its_record_is_beside_it() {
    let world = adr();
    record(&world, "docs/adr/0001.md", "accepted");
    record(&world, "docs/adr/README.md", "accepted");
    record(&world, "docs/adr/-bad.md", "accepted");
    world.write("docs/adr/notes.txt", "no record");
    let bad = "docs/adr/-bad.md: error[bad-task-id]: this file is where a task would be";
    world.orch(&["status"]).says(bad);
    world.remove("docs/adr/-bad.md");
    assert_eq!(tasks(&world), pairs(&[("0001", "docs/adr/0001.md")]));
    // By its id, by its path from the root, and by its name from its directory.
    world
        .orch(&["new", "0001"])
        .succeeds()
        .says("adopted")
        .says("0001: proposed -> accepted");
    record(&world, "docs/adr/0002.md", "accepted");
    world
        .orch(&["new", "docs/adr/0002.md"])
        .succeeds()
        .says("adopted");
    record(&world, "docs/adr/0003.md", "proposed");
    world
        .orch(&["-C", "docs/adr", "new", "0003.md"])
        .succeeds()
        .says("adopted");
    let committed = world.git(&["ls-files", "docs/adr"]);
    for file in [
        "0001.md",
        ".tasks/0001/state.json",
        ".tasks/0001/transcript.jsonl",
    ] {
        assert!(
            committed.contains(&format!("docs/adr/{file}\n")),
            "{committed}"
        );
    }
    assert_eq!(
        world.dirty(),
        "?? docs/adr/README.md\n?? docs/adr/notes.txt\n"
    );
    let of = world.git(&["show", "--format=", "--name-only", "HEAD"]);
    assert!(
        !of.contains("docs/adr/0001.md"),
        "each task commits its own file: {of}"
    );
    assert_eq!(tasks(&world).len(), 3);
    world
        .orch(&["suggest", "docs/adr/0003.md"])
        .succeeds()
        .says("0003");
    world
        .orch(&["prompt", "0003"])
        .succeeds()
        .says("- file `docs/adr/0003.md`");
    assert!(
        standings(&world)
            .iter()
            .all(|standing| ["proven", "folded"].contains(&standing.as_str()))
    );
}

#[test]
fn new_writes_the_file_from_the_example_of_its_artifact() {
    let world = adr();
    world
        .orch(&["new", "0007", "--title", "Use CEL"])
        .succeeds();
    assert!(
        world.path("tasks/0007/state.json").exists(),
        "the first root has precedence"
    );
    world
        .orch(&["new", "0008", "--root", "docs/adr", "--title", "Use CEL"])
        .succeeds();
    assert_eq!(
        world.read("docs/adr/0008.md"),
        "---\nid: 0008\nstatus: proposed\n---\n\n# Use CEL\n"
    );
    assert_eq!(world.dirty(), "");
    // What cannot be created leaves nothing behind.
    world.write(
        "system/workflows/adr.md",
        ADR.replace("example = \"\"\"", "title = \"\"\""),
    );
    world
        .orch(&["new", "0009", "--root", "docs/adr"])
        .ends(1)
        .reports("has no `example`");
    assert!(
        !world.path("docs/adr/0009.md").exists() && !world.path("docs/adr/.tasks/0009").exists()
    );
}

#[test]
fn checks_see_a_forged_or_misused_file_task() {
    let world = adr();
    record(&world, "docs/adr/0001.md", "proposed");
    world.orch(&["new", "0001"]).succeeds();
    let base = world.git(&["rev-parse", "HEAD"]);
    // An honest edit is checked where it is staged, and is judged.
    record(&world, "docs/adr/0001.md", "accepted");
    world.git(&["add", "-A"]);
    world.orch(&["check", "--staged"]).succeeds();
    world.git(&["commit", "-q", "-m", "Accept"]);
    // A state by hand is not.
    let state = world
        .read("docs/adr/.tasks/0001/state.json")
        .replace("\"proposed\"", "\"accepted\"");
    world.write("docs/adr/.tasks/0001/state.json", state);
    world.git(&["add", "-A"]);
    world
        .orch(&["check", "--staged"])
        .ends(1)
        .says("docs/adr/.tasks/0001/state.json");
    world.git(&["commit", "-q", "-m", "Forge"]);
    world
        .orch(&["check", "--range", &format!("{}..HEAD", base.trim())])
        .ends(1);
    assert!(standings(&world).contains(&"forged".to_owned()));
    world.git(&["reset", "-q", "--hard", "HEAD~1"]);
    // To exclude the file hides nothing: the forgery is found when the task is visible again.
    let settings = world.read("orch.toml");
    world.write("orch.toml", settings.replace("README.md", "*.md"));
    world.commit("Exclude");
    let state = world
        .read("docs/adr/.tasks/0001/state.json")
        .replace("\"proposed\"", "\"accepted\"");
    world.write("docs/adr/.tasks/0001/state.json", state);
    world.commit("Forge");
    world.write("orch.toml", settings);
    world.commit("Include");
    assert!(standings(&world).contains(&"forged".to_owned()));
}

#[test]
fn a_file_that_is_gone_makes_its_task_inconsistent_and_restoring_it_mends_that() {
    let world = adr();
    record(&world, "docs/adr/0001.md", "accepted");
    world.orch(&["new", "0001"]).succeeds();
    world.remove("docs/adr/0001.md");
    let suggestion = world.orch_json(&["suggest", "0001"])["suggestions"][0].clone();
    assert_eq!(
        (&suggestion["kind"], &suggestion["path"]),
        (&"inconsistent".into(), &"docs/adr/0001.md".into())
    );
    assert_eq!(suggestion["expects"][0]["path"], "docs/adr/0001.md");
    let restore = &suggestion["options"][0]["argv"];
    assert_eq!(
        (&restore[0], &restore[5]),
        (&"git".into(), &"docs/adr/0001.md".into()),
        "{restore}"
    );
    world.git(&["restore", "docs/adr/0001.md"]);
    world.orch(&["check", "0001"]).succeeds();
    // A lost record is rebuilt beside the file.
    std::fs::remove_dir_all(world.path("docs/adr/.tasks/0001")).expect("removed");
    world.orch(&["recover", "0001"]).succeeds();
    assert_eq!(
        world.json("docs/adr/.tasks/0001/state.json")["phase"],
        "accepted"
    );
    assert_eq!(world.dirty(), "");
}

#[test]
fn a_file_task_is_renamed_archived_and_taken_back_with_its_file() {
    let world = adr();
    record(&world, "docs/adr/0001.md", "accepted");
    world.orch(&["new", "0001"]).succeeds();
    world.write("docs/adr/0003.md", "taken");
    world
        .orch(&["rename", "0001", "0003"])
        .ends(2)
        .reports("docs/adr/0003.md already exists");
    world.remove("docs/adr/0003.md");
    world.orch(&["rename", "0001", "0002"]).succeeds();
    assert_eq!(tasks(&world), pairs(&[("0002", "docs/adr/0002.md")]));
    let changed = world.git(&["show", "-M", "--name-status", "--format=", "HEAD"]);
    assert!(
        changed.contains("R100\tdocs/adr/0001.md\tdocs/adr/0002.md"),
        "{changed}"
    );
    world
        .orch(&["rollback", "0002", "--reason", "too early"])
        .succeeds();
    world
        .orch(&["undo", "0002", "--reason", "it was right"])
        .succeeds();
    record(&world, "docs/adr/0002.md", "superseded");
    world.orch(&["next", "0002"]).succeeds();
    world.orch(&["archive", "0002"]).succeeds();
    assert_eq!(
        tasks(&world),
        pairs(&[("archive/0002", "docs/adr/archive/0002.md")])
    );
    assert_eq!(world.dirty(), "");
    assert!(
        !world.path("docs/adr/0002.md").exists() && !world.path("docs/adr/.tasks/0002").exists()
    );
    assert!(!standings(&world).contains(&"forged".to_owned()));
    world.git(&["fsck", "--strict"]);
}

#[test]
fn branches_that_move_one_file_task_merge() {
    let world = adr();
    let set = world
        .orch(&["init", "--merge-driver", "--no-agents-md"])
        .succeeds();
    set.says("set the merge driver in the git configuration of this clone");
    for id in ["0001", "0002"] {
        record(&world, &format!("docs/adr/{id}.md"), "proposed");
        world.orch(&["new", id]).succeeds();
    }
    world.git(&["switch", "-q", "-c", "side"]);
    record(&world, "docs/adr/0001.md", "accepted");
    world.orch(&["next", "0001"]).succeeds();
    world.git(&["switch", "-q", "main"]);
    record(&world, "docs/adr/0001.md", "accepted");
    world.orch(&["next", "0001"]).succeeds();
    world.git(&["merge", "-q", "--no-edit", "side"]);
    assert_eq!(
        world.orch_json(&["suggest", "0001"])["suggestions"][0]["currentPhase"],
        "accepted"
    );
    assert!(!standings(&world).contains(&"forged".to_owned()));
}

#[test]
fn a_title_in_the_name_of_a_file_may_change() {
    let world = world("docs/adr/* - {title}.md");
    record(&world, "docs/adr/adr-1.2 - Use a database.md", "proposed");
    record(&world, "docs/adr/without title.md", "accepted");
    assert_eq!(
        tasks(&world),
        pairs(&[("adr-1.2", "docs/adr/adr-1.2 - Use a database.md")])
    );
    world.orch(&["new", "adr-1.2"]).succeeds().says("adopted");
    world.git(&[
        "mv",
        "docs/adr/adr-1.2 - Use a database.md",
        "docs/adr/adr-1.2 - Use SQLite - only.md",
    ]);
    let moved = "docs/adr/adr-1.2 - Use SQLite - only.md";
    record(&world, moved, "accepted");
    world.git(&["add", moved]);
    world
        .orch(&["next", "adr-1.2"])
        .succeeds()
        .says("proposed -> accepted");
    assert_eq!(
        tasks(&world),
        pairs(&[("adr-1.2", "docs/adr/adr-1.2 - Use SQLite - only.md")])
    );
    assert_eq!(world.dirty(), "?? \"docs/adr/without title.md\"\n");
    world.orch(&["rename", "adr-1.2", "adr-2"]).succeeds();
    assert_eq!(
        tasks(&world),
        pairs(&[("adr-2", "docs/adr/adr-2 - Use SQLite - only.md")])
    );
    world
        .orch(&["new", "adr-3", "--root", "docs/adr"])
        .ends(2)
        .reports("has its title in its name");
    world
        .orch(&[
            "new",
            "adr-3",
            "--root",
            "docs/adr",
            "--title",
            "Cache/no cache",
        ])
        .succeeds();
    assert!(
        world
            .read("docs/adr/adr-3 - Cache-no cache.md")
            .contains("# Cache/no cache\n")
    );
    assert!(
        standings(&world)
            .iter()
            .all(|standing| standing == "proven")
    );
}

/// Writes a task as Backlog.md does.
fn backlog_task(world: &World, file: &str, status: &str, [description, criterion]: [&str; 2]) {
    let (id, title) = file.split_once(" - ").expect("an id and a title");
    let text = format!(
        "---\nid: {}\ntitle: {title}\nstatus: {status}\nassignee:\n  - '@ann'\ncreated_date: '2026-01-02 10:11'\n\
         labels: []\ndependencies: []\npriority: medium\n---\n\n## Description\n\n\
         <!-- SECTION:DESCRIPTION:BEGIN -->\n{description}\n<!-- SECTION:DESCRIPTION:END -->\n\n\
         ## Acceptance Criteria\n<!-- AC:BEGIN -->\n- [x] #1 The form is sent once\n\
         - [{criterion}] #2 A test covers it\n<!-- AC:END -->\n\n## Definition of Done\n<!-- DOD:BEGIN -->\n\
         - [x] #1 The tests pass\n<!-- DOD:END -->\n\n## Implementation Plan\n\n- [ ] look at the form\n",
        id.to_uppercase()
    );
    world.write(&format!("backlog/tasks/{file}.md"), text);
}

/// A repository with a task `back-1 - Fix-login` of Backlog.md in work, and one that nobody has begun.
fn backlog() -> World {
    let world = World::new();
    let root = "[[root]]\npath = \"backlog/tasks/* - {title}.md\"\nworkflow = \"backlog\"\n";
    world.write("orch.toml", root);
    world
        .orch(&["init", "--no-agents-md", "--no-system"])
        .succeeds();
    backlog_task(
        &world,
        "back-1 - Fix-login",
        "In Progress",
        ["It fails twice.", " "],
    );
    backlog_task(&world, "back-2 - Second", "To Do", ["It fails.", " "]);
    world.commit("The backlog");
    for id in ["back-1", "back-2"] {
        world.orch(&["new", id]).succeeds();
    }
    world
}

fn move_file(world: &World, from: &str, to: &str) {
    let text = world.read(from);
    world.remove(from);
    world.write(to, text);
}

/// As `backlog task archive`, `demote` and `complete` do.
#[test]
fn a_task_whose_file_was_moved_away_is_gone() {
    for (id, name, moved) in [
        (
            "back-1",
            "back-1 - Fix-login.md",
            "backlog/archive/tasks/back-1 - Fix-login.md",
        ),
        (
            "back-1",
            "back-1 - Fix-login.md",
            "backlog/drafts/draft-1 - Fix-login.md",
        ),
        (
            "back-1",
            "back-1 - Fix-login.md",
            "backlog/completed/back-1 - Fix-login.md",
        ),
        (
            "back-1",
            "back-1 - Fix-login.md",
            "backlog/tasks/completed/back-1 - Fix-login.md",
        ),
        (
            "back-2",
            "back-2 - Second.md",
            "backlog/drafts/draft-7 - Second.md",
        ),
    ] {
        let world = backlog();
        move_file(&world, &format!("backlog/tasks/{name}"), moved);
        for is_committed in [false, true] {
            if is_committed {
                world.commit("Put it away");
                world
                    .orch(&["check", "--strict", "--commit", "HEAD"])
                    .succeeds();
            }
            let suggestion = world.orch_json(&["suggest", id])["suggestions"][0].clone();
            assert!(
                suggestion["reason"]
                    .as_str()
                    .is_some_and(|text| text.contains(moved)),
                "{suggestion:#}"
            );
            assert_eq!(suggestion["owner"], "human", "{moved}");
            let option = &suggestion["options"][0]["argv"];
            assert_eq!(
                *option,
                serde_json::json!(["orch", "archive", id, "--force", "WHY"]),
                "{moved}"
            );
            world.orch(&["check"]).succeeds();
            world.orch(&["check", "--strict"]).succeeds();
        }
        world
            .orch(&["archive", id, "--force", "it was put away"])
            .succeeds();
        let ids = tasks(&world)
            .into_iter()
            .map(|(id, _)| id)
            .collect::<Vec<_>>();
        assert!(
            ids.contains(&format!("archive/{id}")) && !ids.contains(&id.to_owned()),
            "{ids:?}"
        );
        world.orch(&["check", "--strict"]).succeeds();
        assert!(
            standings(&world)
                .iter()
                .all(|one| ["proven", "folded", "overridden"].contains(&one.as_str())),
            "{moved}"
        );
        assert_eq!(world.dirty(), "");
    }
}

#[test]
fn a_file_that_is_nowhere_is_missing_and_one_that_came_back_is_there() {
    let world = backlog();
    let (place, drafts) = (
        "backlog/tasks/back-1 - Fix-login.md",
        "backlog/drafts/draft-9 - Other-login.md",
    );
    move_file(&world, place, drafts);
    world.orch(&["check"]).ends(1).says("inconsistent");
    move_file(
        &world,
        drafts,
        "backlog/archive/tasks/back-1 - Fix-login.md",
    );
    world.orch(&["check"]).succeeds();
    world.orch(&["status"]).succeeds();
    move_file(&world, "backlog/archive/tasks/back-1 - Fix-login.md", place);
    let suggestion = world.orch_json(&["suggest", "back-1"])["suggestions"][0].clone();
    assert_eq!(suggestion["reason"], "the work is not finished");
}

#[test]
fn a_new_task_under_the_id_of_an_archived_one_does_not_inherit_its_record() {
    for (id, old, new) in [
        ("back-1", "back-1 - Fix-login", "back-1 - New-one"),
        // Nothing but its creation is recorded.
        ("back-2", "back-2 - Second", "back-2 - New-one"),
        // Under the same title.
        ("back-1", "back-1 - Fix-login", "back-1 - Fix-login"),
    ] {
        let world = backlog();
        let archived = format!("backlog/archive/tasks/{old}.md");
        move_file(&world, &format!("backlog/tasks/{old}.md"), &archived);
        backlog_task(&world, new, "In Progress", ["Something else.", "x"]);
        let log = world.read(&format!("backlog/tasks/.tasks/{id}/transcript.jsonl"));
        for command in [
            &["next", id][..],
            &["rollback", id, "--reason", "no"],
            &["rename", id, "back-9"],
        ] {
            let refused = world.orch(command).ends(5);
            for told in ["id-reused", &old[9..], &new[9..], &archived] {
                assert!(
                    refused.stderr.contains(told),
                    "{command:?} {told}: {refused:?}"
                );
            }
        }
        assert_eq!(
            world.read(&format!("backlog/tasks/.tasks/{id}/transcript.jsonl")),
            log
        );
        world.orch(&["check"]).ends(1).says("id-reused");
        world.commit("Another one");
        world
            .orch(&["archive", id, "--force", "the id is used again"])
            .succeeds();
        assert!(world.path(&format!("backlog/tasks/{new}.md")).exists());
        world
            .orch(&["new", id])
            .succeeds()
            .says("to_do -> in_progress");
        world.orch(&["check", "--strict"]).succeeds();
        assert!(
            standings(&world)
                .iter()
                .all(|one| ["proven", "folded", "overridden"].contains(&one.as_str())),
            "{new}"
        );
        assert_eq!(world.dirty(), "");
    }
}

#[test]
fn the_shipped_backlog_workflow_understands_an_existing_tree_of_task_files() {
    let world = World::new();
    let root = "[[root]]\npath = \"backlog/tasks/* - {title}.md\"\nworkflow = \"backlog\"\n";
    world.write("orch.toml", root);
    world
        .orch(&["init", "--no-agents-md", "--no-system"])
        .succeeds();
    backlog_task(
        &world,
        "back-1 - Fix-login",
        "To Do",
        ["It fails twice.", " "],
    );
    backlog_task(
        &world,
        "back-1.01 - Fix-the-form",
        "In Progress",
        ["A part.", " "],
    );
    backlog_task(
        &world,
        "back-2 - Done-too-early",
        "Done",
        ["It fails.", " "],
    );
    backlog_task(&world, "back-3 - Done-(really)", "Done", ["It fails.", "x"]);
    backlog_task(&world, "back-4 - Says-nothing", "To Do", ["", " "]);
    world.write("backlog/tasks/back-5 - No-status.md", "# Only a title\n");
    world.write("backlog/tasks/readme.md", "# Tasks\n");
    world.commit("The backlog");
    let status = world.orch_json(&["status", "--all"]);
    let told: Vec<(&str, &str)> = (status["tasks"].as_array().expect("tasks").iter())
        .map(|task| {
            (
                task["task"].as_str().expect("an id"),
                task["reason"].as_str().expect("a reason"),
            )
        })
        .collect();
    for expected in [
        ("back-1", "nobody has begun the work"),
        ("back-1.01", "the work is not finished"),
        ("back-4", "the task does not say what is wanted"),
        ("back-5", "the file does not say where the work stands"),
    ] {
        assert!(told.contains(&expected), "{expected:?} in {told:#?}");
    }
    assert_eq!(told.len(), 6);
    let phase =
        |id: &str| world.json(&format!("backlog/tasks/.tasks/{id}/state.json"))["phase"].clone();
    for id in ["back-2", "back-3"] {
        world.orch(&["new", id]).succeeds();
    }
    world.orch(&["watch", "--once"]).succeeds();
    assert_eq!([phase("back-2"), phase("back-3")], ["in_progress", "done"]);
    world
        .orch(&["explain", "back-2"])
        .succeeds()
        .says("the status is the final one, and boxes are open");
    // Boxes outside the criteria do not count, and a task may be put back.
    backlog_task(
        &world,
        "back-2 - Done-too-early",
        "To Do",
        ["It fails.", "x"],
    );
    world
        .orch(&["next", "back-2"])
        .succeeds()
        .says("in_progress -> to_do");
    backlog_task(
        &world,
        "back-2 - Done-too-early",
        "done",
        ["It fails.", "x"],
    );
    world
        .orch(&["watch", "--once"])
        .succeeds()
        .says("back-2: in_progress -> done");
    // A new task is a file that the workflow accepts, whatever its title.
    let new = [
        "new",
        "back-6",
        "--root",
        "backlog/tasks",
        "--title",
        "Say \"no\": at once",
    ];
    world
        .orch(&new)
        .succeeds()
        .reports("nobody has begun the work");
    assert_eq!(world.dirty(), "");
    assert!(
        standings(&world)
            .iter()
            .all(|standing| ["proven", "folded"].contains(&standing.as_str()))
    );
}

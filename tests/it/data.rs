//! Real task folders that nobody here wrote: each gets a decision, none a crash or a silent guess.

use crate::harness::{World, project, skipped};
use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// A folder of the data beside the project, if it is there.
fn data(name: &str) -> Option<PathBuf> {
    let folder = project().parent()?.join("shared/data").join(name);
    if folder.is_dir() {
        return Some(folder);
    }
    skipped(&format!("{} is not there", folder.display()));
    None
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("a directory");
    for entry in fs::read_dir(from).expect("listed").flatten() {
        let target = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &target);
        } else {
            fs::write(target, fs::read(entry.path()).expect("read")).expect("written");
        }
    }
}

/// Each task's phase and kind of decision.
fn verdicts(world: &World) -> BTreeMap<String, (String, String)> {
    let status = world.orch_json(&["status"]);
    let tasks = status["tasks"].as_array().expect("tasks");
    let text = |value: &serde_json::Value| value.as_str().unwrap_or("none").to_owned();
    tasks
        .iter()
        .map(|task| {
            (
                text(&task["task"]),
                (text(&task["currentPhase"]), text(&task["kind"])),
            )
        })
        .collect()
}

#[test]
fn every_openspec_change_is_judged_by_its_content() {
    let Some(folder) = data("openspec") else {
        return;
    };
    let world = World::new();
    copy(&folder, &world.path("openspec"));
    world.write(
        "orch.toml",
        "[[root]]\npath = \"openspec/changes/*\"\nworkflow = \"openspec\"\n",
    );
    let verdicts = verdicts(&world);
    assert_eq!(verdicts.len(), 22);
    assert!(
        verdicts
            .values()
            .all(|(_, kind)| ["wait", "done"].contains(&kind.as_str())),
        "{verdicts:#?}"
    );
    for (change, phase) in [
        ("add-devin-desktop-support", "done"),
        ("fix-schemas-root-selection", "implementing"),
        ("add-change-stacking-awareness", "ready"),
        ("add-qa-smoke-harness", "drafting"),
    ] {
        assert_eq!(verdicts[change].0, phase, "{change}");
    }
    world.orch(&["check"]).succeeds();
    // An empty list of work is not done work.
    world.write("openspec/changes/add-devin-desktop-support/tasks.md", "");
    assert_ne!(
        self::verdicts(&world)["add-devin-desktop-support"].0,
        "done"
    );
}

/// As `openspec validate` judges: the headings of the proposal are free, a delta names what it changes and
/// belongs to a capability.
#[test]
fn an_openspec_change_is_complete_by_the_rules_of_openspec() {
    let delta = "## ADDED Requirements\n\n### Requirement: R\nIt SHALL.\n\n#### Scenario: S\n- **THEN** it does\n";
    let cases = [
        (
            "# Change: X\n\n## Summary\n\nAs it is.\n",
            "specs/cli/spec.md",
            delta,
            "ready",
        ),
        (
            "A proposal without headings.\n",
            "specs/area/cli/spec.md",
            delta,
            "ready",
        ),
        (
            "\u{feff}## Why\n\nSo.\n\n## What Changes\n\n- x\n",
            "specs/cli/spec.md",
            delta,
            "ready",
        ),
        (
            "## Why\n\nSo.\n",
            "specs/cli/spec.md",
            "## Requirements\n\n### Requirement: R\n",
            "drafting",
        ),
        (
            "## Why\n\nSo.\n",
            "specs/cli/spec.md",
            "## ADDED Requirements\n",
            "drafting",
        ),
        (
            "## Why\n\nSo.\n",
            "specs/cli/spec.md",
            "## RENAMED Requirements\n- FROM: `### Requirement: A`\n- TO: `### Requirement: B`\n",
            "ready",
        ),
        ("## Why\n\nSo.\n", "specs/spec.md", delta, "drafting"),
        ("", "specs/cli/spec.md", delta, "drafting"),
    ];
    for (proposal, path, spec, phase) in cases {
        let world = World::new();
        world.write(
            "orch.toml",
            "[[root]]\npath = \"changes/*\"\nworkflow = \"openspec\"\n",
        );
        world.write("changes/x/proposal.md", proposal);
        world.write(&format!("changes/x/{path}"), spec);
        world.write("changes/x/tasks.md", "- [ ] 1.1 Do it\n");
        assert_eq!(verdicts(&world)["x"].0, phase, "{proposal:?} {path}");
    }
}

/// A list without boxes is neither open nor done, and the wait says what it lacks.
#[test]
fn a_list_of_work_that_lost_its_boxes_waits_for_them() {
    let delta =
        "## ADDED Requirements\n\n### Requirement: R\nIt SHALL.\n\n#### Scenario: S\n- it does\n";
    for begun in ["- [ ] 1.1 Do it\n", "- [x] 1.1 Do it\n- [ ] 1.2 Test it\n"] {
        let world = World::ready();
        world.write(
            "orch.toml",
            "[[root]]\npath = \"changes/*\"\nworkflow = \"openspec\"\n",
        );
        world.write("changes/x/proposal.md", "## Why\n\nSo.\n");
        world.write("changes/x/specs/cli/spec.md", delta);
        world.write("changes/x/tasks.md", begun);
        world.orch(&["new", "x"]).succeeds();
        world.write("changes/x/tasks.md", "# Work\n\nNone.\n");
        world
            .orch(&["suggest", "x"])
            .succeeds()
            .says("wait for check boxes in tasks.md");
    }
}

/// What `openspec validate` refuses is a finding at the requirement, and a new delta is asked for by a path that the
/// writer can fill in.
#[test]
fn an_incomplete_requirement_is_found_where_it_stands() {
    let world = World::new();
    world.write(
        "orch.toml",
        "[[root]]\npath = \"changes/*\"\nworkflow = \"openspec\"\n",
    );
    world.write("changes/x/proposal.md", "## Why\n\nSo.\n");
    world.write("changes/x/tasks.md", "- [ ] 1.1 Do it\n");
    let suggestion = || world.orch_json(&["suggest", "x"])["suggestions"][0].clone();
    assert_eq!(
        suggestion()["expects"][0]["path"],
        "changes/x/specs/<capability>/spec.md"
    );
    world
        .orch(&["prompt", "x"])
        .succeeds()
        .says("`<capability>` stands for a name that you choose");
    let delta = "## ADDED Requirements\n\n### Requirement: A\n\n#### Scenario: S\n- It SHALL.\n\n\
                 ### Requirement: B\nIt MUST.\n\n## REMOVED Requirements\n\n### Requirement: C\n";
    world.write("changes/x/specs/cli/spec.md", delta);
    let suggestion = suggestion();
    assert_eq!(suggestion["currentPhase"], "drafting");
    let problems = suggestion["expects"][0]["problems"]
        .as_array()
        .cloned()
        .expect("a list");
    let told: Vec<_> = problems
        .iter()
        .map(|problem| {
            (
                problem["line"].as_u64().expect("a line"),
                problem["message"].as_str().expect("a text"),
            )
        })
        .collect();
    assert_eq!(
        told,
        [
            (3, "the requirement has no text before its first scenario"),
            (
                8,
                "the requirement has no scenario: write `#### Scenario: NAME` below it"
            ),
        ]
    );
    let mended = delta
        .replace("Requirement: A\n", "Requirement: A\nIt retries.\n")
        .replace("It MUST.\n", "It MUST.\n\n#### Scenario: T\n");
    world.write("changes/x/specs/cli/spec.md", mended);
    assert_eq!(verdicts(&world)["x"].0, "ready");
    world.write("changes/x/tasks.md", "No box yet.\n");
    world
        .orch(&["suggest", "x"])
        .succeeds()
        .says("a requirement says neither SHALL nor MUST before its first scenario");
    let told = world.read("changes/x/specs/cli/spec.md");
    world.write(
        "changes/x/specs/cli/spec.md",
        told.replace("It retries.", "It SHALL retry."),
    );
    let suggested = world.orch(&["suggest", "x"]).succeeds();
    assert!(!suggested.stdout.contains("SHALL"), "{}", suggested.stdout);
}

/// The files of a change, with its name and its phase.
type ChangeCase = (
    &'static str,
    &'static [(&'static str, &'static str)],
    &'static str,
);

const SKIPS: &str = "schema: spec-driven\nskip_specs: true\n";
const PROPOSAL: &str = "## Why\n\nSo.\n";
const DELTA: &str = "## ADDED Requirements\n\n### Requirement: R\nIt SHALL.\n\n#### Scenario: S\n- **THEN** it does\n";

/// What `openspec validate`, `list` and `status` of version 1.13 say of the same changes, seen by running them.
#[test]
fn changes_are_judged_as_openspec_judges_them() {
    let world = World::new();
    world.write(
        "orch.toml",
        "[[root]]\npath = \"openspec/changes/*\"\nworkflow = \"openspec\"\n",
    );
    let deltas = [
        ("plain", DELTA.to_owned(), "ready"),
        ("lower", DELTA.replace("ADDED R", "added r"), "ready"),
        (
            "mixed",
            DELTA
                .replace("ADDED", "aDDed")
                .replace("### Req", "### req"),
            "ready",
        ),
        (
            "closed",
            DELTA.replace("ADDED Requirements", "ADDED Requirements ##"),
            "drafting",
        ),
        (
            "underlined",
            DELTA.replace("## ADDED Requirements", "ADDED Requirements\n---"),
            "drafting",
        ),
        (
            "indented",
            DELTA.replace("## ADDED", "  ## ADDED"),
            "drafting",
        ),
        (
            "closed-name",
            DELTA.replace("Requirement: R", "Requirement: R ###"),
            "ready",
        ),
        ("no-shall", DELTA.replace("SHALL", "does"), "ready"),
        ("no-text", DELTA.replace("It SHALL.\n", ""), "drafting"),
        (
            "no-scenario",
            DELTA.replace("#### Scenario: S\n", ""),
            "drafting",
        ),
        (
            "removed",
            "## removed requirements\n\n- `### Requirement: A`\n".to_owned(),
            "ready",
        ),
        ("empty", "## ADDED Requirements\n".to_owned(), "drafting"),
    ];
    let mut expected = BTreeMap::new();
    for (change, delta, phase) in deltas {
        let change = change.to_owned();
        let at = |file: &str| format!("openspec/changes/{change}/{file}");
        world.write(&at("proposal.md"), PROPOSAL);
        world.write(&at("specs/cli/spec.md"), delta);
        world.write(&at("tasks.md"), "- [ ] 1.1 Do it\n");
        expected.insert(change, phase);
    }
    let of_files: [ChangeCase; 10] = [
        (
            "skips",
            &[
                ("proposal.md", PROPOSAL),
                ("tasks.md", "- [ ] a\n"),
                (".openspec.yaml", SKIPS),
            ],
            "ready",
        ),
        (
            "skips-not",
            &[
                ("proposal.md", PROPOSAL),
                ("tasks.md", "- [ ] a\n"),
                (".openspec.yaml", "schema: spec-driven\nskip_specs: false\n"),
            ],
            "drafting",
        ),
        (
            "skips-word",
            &[
                ("proposal.md", PROPOSAL),
                ("tasks.md", "- [ ] a\n"),
                (
                    ".openspec.yaml",
                    "schema: spec-driven\nskip_specs: \"true\"\n",
                ),
            ],
            "drafting",
        ),
        (
            "skips-alone",
            &[
                ("proposal.md", PROPOSAL),
                ("tasks.md", "- [ ] a\n"),
                (".openspec.yaml", "skip_specs: true\n"),
            ],
            "drafting",
        ),
        (
            "skips-and-has",
            &[
                ("proposal.md", PROPOSAL),
                ("specs/cli/spec.md", DELTA),
                ("tasks.md", "- [ ] a\n"),
                (".openspec.yaml", SKIPS),
            ],
            "drafting",
        ),
        (
            "own-done",
            &[
                ("todo.md", "- [x] a\n"),
                ("tasks.md", "- [ ] a\n"),
                (".openspec.yaml", "schema: quick\n"),
            ],
            "done",
        ),
        (
            "own-open",
            &[
                ("todo.md", "- [ ] a\n"),
                ("tasks.md", "- [x] a\n"),
                (".openspec.yaml", "schema: quick\n"),
            ],
            "ready",
        ),
        (
            "own-none",
            &[
                ("tasks.md", "- [x] a\n"),
                (".openspec.yaml", "schema: quick\n"),
            ],
            "drafting",
        ),
        (
            "own-untracked",
            &[
                ("work/list.md", "- [x] a\n- [ ] b\n"),
                (".openspec.yaml", "schema: slow\n"),
            ],
            "implementing",
        ),
        (
            "own-glob",
            &[
                ("parts/a.md", "- [x] a\n"),
                ("parts/b.md", "- [x] b\n"),
                (".openspec.yaml", "schema: parts\n"),
            ],
            "done",
        ),
    ];
    for (change, files, phase) in of_files {
        for (file, text) in files {
            world.write(&format!("openspec/changes/{change}/{file}"), text);
        }
        expected.insert(change.to_owned(), phase);
    }
    for (name, graph) in [
        (
            "quick",
            "artifacts:\n  - {id: todo, generates: todo.md}\napply: {requires: [todo], tracks: todo.md}\n",
        ),
        (
            "slow",
            "artifacts:\n  - {id: tasks, generates: work/list.md}\n",
        ),
        (
            "parts",
            "artifacts:\n  - {id: todo, generates: \"parts/*.md\"}\napply: {requires: [todo], tracks: \"parts/*.md\"}\n",
        ),
    ] {
        world.write(
            &format!("openspec/schemas/{name}/schema.yaml"),
            format!("name: {name}\n{graph}"),
        );
    }
    world.commit("Changes of OpenSpec");
    let verdicts = verdicts(&world);
    let found: BTreeMap<String, &str> = verdicts
        .iter()
        .map(|(change, verdict)| (change.clone(), verdict.0.as_str()))
        .collect();
    assert_eq!(found, expected);
}

/// The settings of the project count as HEAD has them, in replays as the step saw them.
#[test]
fn a_change_follows_the_graph_that_the_project_names() {
    let world = World::new();
    world.orch(&["init", "--workflow", "openspec"]).succeeds();
    let graph = |list: &str| format!("artifacts: [{{id: tasks, generates: {list}}}]\n");
    world.write("openspec/config.yaml", "schema: quick\n");
    world.write("openspec/schemas/quick/schema.yaml", graph("todo.md"));
    world.write("openspec/changes/x/todo.md", "- [ ] a\n");
    let phase = || verdicts(&world)["x"].0.clone();
    assert_eq!(phase(), "drafting", "what is not committed does not count");
    world.commit("Set up");
    assert_eq!(phase(), "ready");
    world.orch(&["new", "x"]).succeeds();
    assert_eq!(
        world.json("openspec/changes/x/state.json")["phase"],
        "ready"
    );
    world.write("openspec/schemas/quick/schema.yaml", graph("other.md"));
    world.write("openspec/changes/x/other.md", "- [x] a\n");
    assert_eq!(phase(), "ready");
    world.commit("Track another file");
    for _ in 0..2 {
        world.orch(&["next", "x"]).succeeds();
    }
    assert_eq!(world.json("openspec/changes/x/state.json")["phase"], "done");
    let log = world.read("openspec/changes/x/transcript.jsonl");
    assert!(
        log.contains("\"/openspec/schemas/quick/schema.yaml\""),
        "{log}"
    );
    let audit = world.orch_json(&["audit"]);
    assert_eq!(
        audit["counts"],
        serde_json::json!({"proven": 2, "folded": 1}),
        "{audit:#}"
    );
    // A squash brings the steps onto the later settings.
    world.git(&["checkout", "-q", "--orphan", "squashed"]);
    world.commit("All at once");
    let audit = world.orch_json(&["audit"]);
    assert_eq!(
        audit["counts"]["forged"],
        serde_json::Value::Null,
        "{audit:#}"
    );
    assert!(audit["counts"]["unverifiable"].is_number(), "{audit:#}");
}

/// Backlog.md's own list of statuses says which is the final one, wherever its folder is.
#[test]
fn a_task_of_backlog_is_done_with_the_last_status_of_the_project() {
    let states = |world: &World| {
        let found = verdicts(world);
        let phase = |(id, verdict): (&String, &(String, String))| format!("{id}:{}", verdict.0);
        found.iter().map(phase).collect::<Vec<_>>().join(" ")
    };
    for (folder, settings, expected) in [
        (
            "backlog",
            "statuses: [Idea, \"In Progress\", Review, Shipped]\ndefault_status: Idea\n",
            "task-1:to_do task-2:in_progress task-3:in_progress task-4:done task-5:in_progress",
        ),
        (
            ".backlog",
            "statuses: [\"To Do\", Doing, shipped]\n",
            "task-1:in_progress task-2:to_do task-3:in_progress task-4:done task-5:in_progress",
        ),
        (
            "backlog",
            "default_status: Doing\n",
            "task-1:in_progress task-2:to_do task-3:done task-4:in_progress task-5:to_do",
        ),
    ] {
        let world = World::new();
        world.write(
            "orch.toml",
            format!(
                "[[root]]\npath = \"{folder}/tasks/* - {{title}}.md\"\nworkflow = \"backlog\"\n"
            ),
        );
        world.write(&format!("{folder}/config.yml"), settings);
        for (number, status) in ["idea", "To Do", "Done", "Shipped", "Doing"]
            .iter()
            .enumerate()
        {
            let id = number + 1;
            world.write(
                &format!("{folder}/tasks/task-{id} - Fix.md"),
                format!(
                    "---\nid: TASK-{id}\nstatus: {status}\n--- \n\n## description\n\nWanted.\n"
                ),
            );
        }
        world.commit("Tasks of Backlog.md");
        assert_eq!(states(&world), expected, "{settings}");
        let shown = world.orch_json(&["suggest", "TASK-4"]);
        assert_eq!(shown["suggestions"][0]["task"], "task-4");
    }
}

#[test]
fn the_ancestors_of_our_layout_are_read_with_their_drift() {
    let Some(folder) = data("ai-tools-chain") else {
        return;
    };
    let world = World::new();
    copy(&folder, &world.root());
    world.write(
        "orch.toml",
        "[[root]]\npath = \"runs/*/.ai-tools-chain/tasks/*\"\n",
    );
    let verdicts = verdicts(&world);
    assert_eq!(verdicts.len(), 6, "{verdicts:#?}");
    assert_eq!(
        verdicts["orchestrator/test-orch"],
        ("test".to_owned(), "inconsistent".to_owned())
    );
    // Its review was there before its plan is recorded, and does not say which plan it judged.
    assert_eq!(
        verdicts["planning-meeting-go/test-task-go"].0,
        "plan_review"
    );
    assert_eq!(
        verdicts["planning-meeting-redo/test-task-redo"].0,
        "plan_review"
    );
    // Foreign files are left as they are until somebody adopts them.
    let task = "runs/planning-meeting-go/.ai-tools-chain/tasks/test-task-go";
    let before = world.read(&format!("{task}/state.json"));
    world.orch(&["watch", "--once"]).succeeds();
    assert_eq!(world.read(&format!("{task}/state.json")), before);
    world
        .orch(&["new", "planning-meeting-go/test-task-go"])
        .succeeds();
    let state = world.json(&format!("{task}/state.json"));
    assert_eq!(
        (&state["phase"], &state["artifacts"]),
        (&"plan_review".into(), &serde_json::json!({}))
    );
}

//! `orch workflow new`: what it makes passes every check, what it refuses has a place, and nothing that
//! lies there already is lost.

use crate::harness::{Ended, World, project};
use crate::outputs::fits;
use crate::setting::is_update;
use crate::terminal::Terminal;
use serde_json::Value;
use std::fs;
use std::path::PathBuf;

fn skills(folder: &str) -> Vec<PathBuf> {
    let directory = project().join("fixtures/skills").join(folder);
    let mut paths: Vec<PathBuf> = fs::read_dir(directory)
        .expect("a folder")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    paths.retain(|path| {
        path.extension()
            .is_some_and(|extension| extension == "json")
    });
    paths.sort();
    assert!(!paths.is_empty(), "no {folder} configuration");
    paths
}

/// Makes a workflow of a fixture.
pub fn make(world: &World, name: &str, fixture: &str, strategy: &str) -> Ended {
    let path = project().join(format!("fixtures/skills/valid/{fixture}.json"));
    let path = path.to_str().expect("UTF-8");
    world.orch(&[
        "workflow",
        "new",
        name,
        "--from",
        path,
        "--strategy",
        strategy,
    ])
}

/// A pattern is whole as it is: nothing is found in it, its own tests cover it, and its diagram is up to date.
#[test]
fn every_pattern_is_whole() {
    let world = World::ready();
    let patterns = ["article", "rfc", "release", "triage", "epic"];
    for pattern in patterns {
        let name = format!("my-{pattern}");
        let new = ["workflow", "new", &name, "--pattern", pattern];
        world.orch(&new).succeeds();
        let again = world.orch(&new).succeeds();
        assert!(again.stdout.contains("up to date"), "{again:?}");
        world
            .orch(&["new", pattern, "--workflow", &name])
            .succeeds();
    }
    let checked = world.orch(&["workflow", "check"]).succeeds();
    assert!(checked.stderr.contains("no problem"), "{checked:?}");
    world.orch(&["workflow", "fmt", "--check"]).succeeds();
    let tested = world
        .orch(&["workflow", "test", "--coverage", "--json"])
        .succeeds();
    let tested: Value = serde_json::from_str(&tested.stdout).expect("JSON");
    let all = tested["workflows"].as_array().expect("workflows");
    for pattern in patterns {
        let name = format!("my-{pattern}");
        let one = all.iter().find(|one| one["workflow"] == *name);
        let one = one.expect("it is tested");
        assert_eq!(one["tests"], one["passed"], "{one}");
        assert_eq!(one["openRules"], serde_json::json!([]), "{one}");
        assert_eq!(one["openEdges"], serde_json::json!([]), "{one}");
    }
    world.write("system/workflows/my-rfc.md", "# Mine\n");
    world
        .orch(&["workflow", "new", "my-rfc", "--pattern", "rfc"])
        .ends(1)
        .reports("already exist");
    assert_eq!(world.read("system/workflows/my-rfc.md"), "# Mine\n");
}

#[test]
fn what_is_made_passes_every_check_and_can_be_begun() {
    for path in skills("valid") {
        for strategy in ["priority", "user", "state"] {
            let world = World::ready();
            let fixture = path.file_stem().expect("a name").to_str().expect("UTF-8");
            make(&world, "made", fixture, strategy).succeeds();
            world.orch(&["workflow", "check"]).succeeds();
            world.orch(&["workflow", "fmt", "--check"]).succeeds();
            world.orch(&["new", "t", "--workflow", "made"]).succeeds();
            assert_eq!(
                world.json("tasks/t/state.json")["status"],
                "spec_review",
                "{fixture} {strategy}"
            );
            world.orch(&["check"]).succeeds();
            every_link_leads_somewhere(&world, "system/workflows/made/README.md");
            every_link_leads_somewhere(&world, "system/workflows/made.md");
        }
    }
}

/// An executor for `issue-triage`: one issue comes in, is processed and reviewed.
const EXECUTOR: &str = r#"
grep -q "Before you begin\|First read the documents" || exit 9
case $ORCH_ACTION in
  spec_review)
    echo '{"status": "complete", "specs_loaded": ["system/workflows/made/README.md"]}' > tasks/t/spec-review.json
    echo '{"summary": "read"}' ;;
  init) echo '{"stateUpdates": {"pending_items": ["a"]}}' ;;
  process) echo '{"stateUpdates": {"pending_items": [], "needs_review": true, "results.a": "close it"}}' ;;
  review) echo '{"stateUpdates": {"needs_review": false, "quality_score": 80}}' ;;
  complete) echo '{"summary": "done"}' ;;
esac
"#;

#[test]
fn what_is_made_runs_to_its_end() {
    for (strategy, picks) in [
        ("priority", &[][..]),
        ("state", &[]),
        ("user", &["process", "review", "complete"]),
    ] {
        let world = World::ready();
        make(&world, "made", "issue-triage", strategy).succeeds();
        world.write("executor.sh", EXECUTOR);
        world.commit("Workflow made");
        world.orch(&["new", "t", "--workflow", "made"]).succeeds();
        let run = || world.orch(&["run", "t", "--", "sh", "executor.sh"]);
        for pick in picks {
            run()
                .ends(3)
                .reports(&format!("orch answer t action={pick}"));
            world
                .orch(&["answer", "t", &format!("action={pick}")])
                .succeeds();
        }
        run().succeeds();
        let state = world.json("tasks/t/state.json");
        assert_eq!(
            (&state["status"], &state["results"]["a"]),
            (&"completed".into(), &"close it".into())
        );
        world.orch(&["audit"]).succeeds();
    }
}

fn every_link_leads_somewhere(world: &World, page: &str) {
    let text = world.read(page);
    let directory = PathBuf::from(page)
        .parent()
        .expect("a directory")
        .to_owned();
    let links: Vec<&str> = text
        .split("](")
        .skip(1)
        .filter_map(|rest| rest.split(')').next())
        .collect();
    assert!(!links.is_empty(), "{text}");
    for link in links {
        assert!(
            world.root().join(&directory).join(link).is_file(),
            "{page}: {link} leads nowhere"
        );
    }
}

#[test]
fn every_fault_of_a_configuration_is_found_where_it_stands() {
    let mut wrong = Vec::new();
    for path in skills("invalid") {
        let world = World::ready();
        let answer = world.orch_json(&[
            "workflow",
            "new",
            "w",
            "--from",
            path.to_str().expect("UTF-8"),
        ]);
        fits(&answer);
        let lines: String = answer["findings"]
            .as_array()
            .expect("findings")
            .iter()
            .map(|finding| {
                let text = |key: &str| finding[key].as_str().unwrap_or_default().to_owned();
                format!(
                    "{} {}:{} {}\n",
                    text("code"),
                    finding["line"],
                    finding["column"],
                    text("message")
                )
            })
            .collect();
        assert!(
            !world.path("system/workflows/w.md").exists(),
            "{path:?} was made"
        );
        let beside = path.with_extension("expected");
        if is_update() {
            fs::write(&beside, &lines).expect("writable");
        }
        let expected = fs::read_to_string(&beside).unwrap_or_default();
        if lines != expected {
            wrong.push(format!(
                "{}:\nexpected:\n{expected}found:\n{lines}",
                path.display()
            ));
        }
        let refused = world.orch(&[
            "workflow",
            "new",
            "w",
            "--from",
            path.to_str().expect("UTF-8"),
        ]);
        refused.ends(2).says("error[skill-");
        assert_eq!(world.dirty(), "", "{path:?}");
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn nothing_that_lies_there_is_lost() {
    let world = World::ready();
    make(&world, "mine", "issue-triage", "state")
        .succeeds()
        .says("made system/workflows/mine.md");
    make(&world, "mine", "issue-triage", "state")
        .succeeds()
        .says("Everything is up to date.");
    let own = world.read("system/agents/mine-review.md") + "\nMind the tone.\n";
    world.write("system/agents/mine-review.md", &own);
    world.remove("system/agents/mine-init.md");
    make(&world, "mine", "issue-triage", "state")
        .ends(1)
        .reports("these files already exist, so nothing was written: system/agents/mine-review.md")
        .reports("--force");
    assert_eq!(world.read("system/agents/mine-review.md"), own);
    assert!(
        !world.path("system/agents/mine-init.md").exists(),
        "half of it is written"
    );
    let path = project().join("fixtures/skills/valid/issue-triage.json");
    let path = path.to_str().expect("UTF-8");
    let order = [
        "workflow",
        "new",
        "mine",
        "--from",
        path,
        "--strategy",
        "state",
        "--force",
    ];
    let answer = world.orch_json(&order);
    fits(&answer);
    assert_eq!(
        answer["made"],
        serde_json::json!(["system/agents/mine-init.md"])
    );
    assert_eq!(
        answer["replaced"],
        serde_json::json!(["system/agents/mine-review.md"])
    );
    assert_ne!(world.read("system/agents/mine-review.md"), own);
}

#[test]
fn a_text_that_ships_is_not_put_aside() {
    let world = World::new();
    make(&world, "openspec", "bare", "priority")
        .ends(1)
        .reports("system/workflows/openspec.md");
    assert_eq!(world.dirty(), "");
    make(&world, "no/name", "bare", "priority")
        .ends(2)
        .reports("workflow name");
}

/// The answers of a person who makes a mistake now and then.
const ANSWERS: [&str; 18] = [
    "",
    "Sorts what comes in.",
    "Sorting",
    "items: string[]",
    "title: string",
    "",
    "größe",
    "",
    "collect: find what came in",
    "sort: put the next one in its place",
    "",
    "state",
    "status === 'pending'",
    "",
    "items",
    "items.length > 0",
    "",
    "",
];

#[test]
fn a_person_at_a_terminal_is_asked() {
    let world = World::ready();
    world
        .orch(&["workflow", "new", "sorting"])
        .ends(2)
        .reports("stdin or stderr is not a terminal")
        .reports("orch workflow new sorting --from skill-config.json");
    at_terminal(&world, &ANSWERS)
        .succeeds()
        .says("An answer is required.")
        .says("`größe` cannot be the id of an action; left out")
        .says("At least one is required.")
        .says("  items\r\n  ^^^^^\r\na list is always true");
    world.orch(&["workflow", "check", "sorting"]).succeeds();
    let text = world.read("system/workflows/sorting.md");
    assert!(text.contains("when = \"size(state.items) > 0\""), "{text}");
    assert!(!text.contains("/title"), "{text}");
    let schema: Value = world.json("system/schemas/sorting-state.schema.json");
    assert_eq!(schema["properties"]["items"]["type"], "array");
    // Nobody is asked for what would not be written.
    at_terminal(&world, &[])
        .ends(1)
        .says("these files already exist, so nothing was written: system/workflows/sorting.md");
}

#[test]
fn settings_may_name_a_workflow_before_it_is_made() {
    let world = World::ready();
    world.write(
        "orch.toml",
        "[[root]]\npath = \"tasks/*\"\nworkflow = \"made\"\n",
    );
    make(&world, "other", "bare", "priority")
        .ends(2)
        .reports("there is no workflow `made`");
    make(&world, "made", "bare", "priority").succeeds();
    world.orch(&["new", "t"]).succeeds();
    assert_eq!(world.json("tasks/t/state.json")["status"], "spec_review");
}

/// What the configuration names as a specification has to exist, and a review opens the loop only if it names
/// these documents and no others.
#[test]
fn phase_0_opens_only_for_specifications_that_exist() {
    let world = World::ready();
    world.write(
        "skill-config.json",
        r#"{"skill_name": "made", "description": "Sorts.", "execution_mode": "autonomous",
  "specs": ["docs/rules.md"],
  "autonomous_config": {"actions": [{"id": "action-sort"}], "termination_conditions": []}}
"#,
    );
    let made = || world.orch(&["workflow", "new", "made", "--from", "skill-config.json"]);
    made()
        .ends(2)
        .says("skill-config.json:2:13")
        .says("the specification `docs/rules.md` does not exist");
    assert!(!world.path("system/workflows/made.md").exists());
    world.write("docs/rules.md", "# Rules\n");
    made().succeeds();
    world.commit("a workflow");
    world.orch(&["new", "t", "--workflow", "made"]).succeeds();
    let readme = "system/workflows/made/README.md";
    let review = |specs: &[&str], opens: bool| {
        let text = serde_json::json!({"status": "complete", "specs_loaded": specs, "also_read": ["brief.md"]});
        world.write("tasks/t/spec-review.json", format!("{text:#}\n"));
        let told = world.orch_json(&["suggest", "t"])["suggestions"][0].clone();
        assert_eq!(told["kind"] == "transition", opens, "{specs:?}: {told:#}");
    };
    review(&["docs/nope.md"], false);
    world
        .orch(&["check", "t"])
        .ends(1)
        .says("tasks/t/spec-review.json:4:5")
        .says("docs/nope.md");
    review(&[readme, "docs/nope.md"], false);
    review(&[readme], false);
    review(&[readme, readme], false);
    review(&[readme, "docs/rules.md"], true);
    // One that was removed since holds every way on.
    world.git(&["rm", "-q", "docs/rules.md"]);
    review(&[readme, "docs/rules.md"], false);
    let told = world
        .orch(&["suggest", "t"])
        .succeeds()
        .says("docs/rules.md, which the phase requires");
    assert!(!told.stdout.contains("$ orch next t  "), "{told:?}");
    world.orch(&["check", "t"]).ends(1).says("required-missing");
    assert_ne!(world.orch_by_program(&["next", "t"]).code, 0);
    for arguments in [&["watch", "--once"][..], &["run", "t", "--", "true"]] {
        let ended = world.orch_by_program(arguments);
        assert_eq!(
            world.json("tasks/t/state.json")["status"],
            "spec_review",
            "{ended:?}"
        );
    }
    world.git(&[
        "restore",
        "--source=HEAD",
        "--staged",
        "--worktree",
        "docs/rules.md",
    ]);
    review(&[readme, "docs/rules.md"], true);
    world.orch(&["next", "t"]).succeeds();
    // A step that was taken stays proven.
    world.git(&["rm", "-q", "docs/rules.md"]);
    world.commit("Other rules");
    world.orch(&["audit", "--strict"]).succeeds();
}

#[test]
fn answers_that_break_off_leave_nothing_behind() {
    let world = World::ready();
    at_terminal(&world, &ANSWERS[..8])
        .ends(130)
        .says("nothing was written");
    assert_eq!(world.dirty(), "");
}

/// Runs `orch workflow new sorting` at a terminal, where these lines are typed and then the end.
fn at_terminal(world: &World, lines: &[&str]) -> Ended {
    let (code, stdout) =
        Terminal::session(world.orch_command(&["workflow", "new", "sorting"]), lines);
    Ended {
        code: code.expect("a code"),
        stdout,
        stderr: String::new(),
    }
}

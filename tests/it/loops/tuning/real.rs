//! The skill tuning with the real binary and real processes, its executors a script.

use super::prompts::example;
use crate::harness::World;
use orch_core::workflow::System;
use serde_json::{Value, json};

/// An executor that does what a file says of its action: report the example of its prompt, or not.
const EXECUTOR: &str = r#"
prompt=$(cat)
case $prompt in *"$ORCH_ACTION"*) ;; *) exit 9 ;; esac
if read -r behaviour < "script/$ORCH_ACTION.how"; then :; else behaviour=succeeds; fi
while read -r path; do
  mkdir -p "$(dirname "tasks/t/$path")"
  echo "{\"action\": \"$ORCH_ACTION\", \"try\": \"$ORCH_ATTEMPT\"}" > "tasks/t/$path"
done < "script/$ORCH_ACTION.files"
case $behaviour in
  succeeds) cat "script/$ORCH_ACTION.json" ;;
  fails) echo '{"status": "failed", "message": "it did not work"}' ;;
  hangs) trap '' TERM; sleep 60 & sleep 60; sleep 60 ;;
  garbage) echo 'I did it! {stateUpdates: yes' ;;
  nothing) ;;
  claims) echo '{"summary": "all done"}' ;;
  trespasses) echo '{"stateUpdates": {"quality_gate": "pass", "status": "completed"}}' ;;
  dies) kill -9 $$ ;;
  forks) setsid sleep 60 & cat "script/$ORCH_ACTION.json" ;;
esac
"#;

const SETTINGS: &str = r#"
[[root]]
path = "tasks/*"
workflow = "skill-tuning"

[executor.default]
command = ["sh", "executor.sh"]
grace = "100ms"
"#;

/// A task whose executors succeed, apart from those that are named with another behaviour.
fn tuning(behaviours: &[(&str, &str)]) -> World {
    let world = World::new();
    let system = System::shipped();
    let text = system.workflow("skill-tuning").expect("shipped");
    // Nothing is changed but how long one waits: between two tries, and for those that hang.
    let mut quick = text.replacen("failures = 3\n", "failures = 3\nbackoff = \"1ms\"\n", 1);
    for (action, _) in behaviours.iter().filter(|(_, how)| *how == "hangs") {
        let at = quick
            .find(&format!("[action.{action}]\n"))
            .expect("an action");
        let (before, rest) = quick.split_at(at);
        quick = format!(
            "{before}{}",
            rest.replacen("timeout = \"20m\"", "timeout = \"300ms\"", 1)
        );
    }
    world.write("system/workflows/skill-tuning.md", &quick);
    world.write("orch.toml", SETTINGS);
    world.write("executor.sh", EXECUTOR);
    world.write(".gitignore", "backups/\n");
    world.write("skills/demo/SKILL.md", "---\nname: demo\n---\n");
    for action in &super::MACHINE.workflow.actions {
        let name = action.name.as_str();
        let how = behaviours
            .iter()
            .find(|(action, _)| *action == name)
            .map_or("succeeds", |(_, how)| how);
        world.write(&format!("script/{name}.how"), format!("{how}\n"));
        world.write(
            &format!("script/{name}.json"),
            format!("{:#}\n", result(name)),
        );
        let files = result(name)["outputFiles"]
            .as_array()
            .expect("a list")
            .clone();
        let files: String = files
            .iter()
            .map(|path| format!("{}\n", path.as_str().expect("a path")))
            .collect();
        world.write(&format!("script/{name}.files"), files);
    }
    world.commit("Set up");
    world
        .orch(&["workflow", "check", "skill-tuning"])
        .succeeds();
    world.orch(&["new", "t"]).succeeds();
    world
}

/// The example of a prompt; of the analysis one that leaves the focus open.
fn result(action: &str) -> Value {
    match action {
        "analyze_requirements" => {
            let mut result = example(action);
            result["stateUpdates"]["requirement_analysis"]["focus_areas"] = json!([]);
            result
        }
        _ => example(action),
    }
}

/// What was recorded: the actions performed and given up, the answers, and the phases entered.
fn story(world: &World) -> Vec<String> {
    let text = world.read("tasks/t/transcript.jsonl");
    let lines = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    lines
        .filter_map(|line| {
            let kind = line["kind"].as_str().expect("a kind");
            match line["action"].as_str() {
                Some(action) if kind == "skip" => Some(format!("skip {action}")),
                Some(action) => Some(action.to_owned()),
                None if kind == "answer" => Some("answer".to_owned()),
                None if ["advance", "regress", "signal"].contains(&kind) => {
                    Some(format!("to {}", line["to"].as_str().expect("a phase")))
                }
                None => None,
            }
        })
        .collect()
}

fn phase_of(world: &World) -> String {
    world.json("tasks/t/state.json")["status"]
        .as_str()
        .expect("a phase")
        .to_owned()
}

#[track_caller]
fn is_clean(world: &World) {
    assert_eq!(world.dirty(), "");
    world.orch(&["audit"]).succeeds();
    let left = crate::run::processes_in(&world.root());
    assert!(left.is_empty(), "left running: {left:?}");
}

#[test]
fn a_tuning_runs_from_its_target_to_its_end() {
    let world = tuning(&[]);
    let report = world.orch_json(&["run", "t", "--auto"]);
    assert_eq!(
        (&report["ending"], &report["turns"]),
        (&"waiting".into(), &0.into()),
        "{report:#}"
    );
    let told = world.orch(&["suggest", "t"]).succeeds().stdout;
    assert!(told.contains("orch answer t"), "{told}");
    let answers = [
        "answer",
        "t",
        "target_skill.path=skills/demo",
        "user_issue_description=It forgets.",
        "max_iterations=1",
    ];
    world.orch(&answers).succeeds();
    let report = world.orch_json(&["run", "t", "--auto"]);
    let told = story(&world);
    assert_eq!(report["ending"], "failed", "{told:#?}");
    assert_eq!(
        told,
        [
            "answer",
            "init",
            "to running",
            "analyze_requirements",
            "diagnose_context",
            "diagnose_memory",
            "diagnose_dataflow",
            "diagnose_agent",
            "diagnose_docs",
            "diagnose_token_consumption",
            "generate_report",
            "propose_fixes",
            "answer",
            "apply_fix",
            "verify",
            "to finishing",
            "complete",
            "answer",
            "to exhausted",
        ]
    );
    let state = world.json("tasks/t/state.json");
    // Three high issues and two medium ones are left, which the one fix was not for.
    assert_eq!(
        (&state["quality_score"], &state["quality_gate"]),
        (&45.into(), &"review".into())
    );
    assert_eq!(state["applied_fixes"][0]["verification_result"], "pass");
    world.git(&["cat-file", "-e", "HEAD:tasks/t/tuning-summary.md"]);
    is_clean(&world);
}

#[test]
fn executors_that_fail_in_every_way_end_in_a_named_way() {
    for (behaviours, ending, phase, told) in [
        (
            &[("init", "fails")][..],
            "failed",
            "failed",
            &["skip init", "to aborting", "abort", "to failed"][..],
        ),
        (
            &[("init", "dies"), ("abort", "garbage")],
            "failed",
            "failed",
            &["skip init", "to aborting", "skip abort", "to failed"],
        ),
        (
            &[
                ("diagnose_memory", "hangs"),
                ("diagnose_agent", "claims"),
                ("diagnose_docs", "trespasses"),
            ],
            "failed",
            "failed",
            &[
                "skip diagnose_memory",
                "diagnose_dataflow",
                "skip diagnose_agent",
                "skip diagnose_docs",
                "to aborting",
                "abort",
            ],
        ),
        (
            &[
                ("diagnose_context", "nothing"),
                ("verify", "garbage"),
                ("apply_fix", "forks"),
                ("complete", "forks"),
            ],
            "failed",
            "failed",
            &[
                "skip diagnose_context",
                "apply_fix",
                "skip verify",
                "to finishing",
                "complete",
                "to failed",
            ],
        ),
    ] {
        let world = tuning(behaviours);
        world
            .orch(&["answer", "t", "target_skill.path=skills/demo"])
            .succeeds();
        let report = world.orch_json(&["run", "t", "--auto"]);
        assert_eq!(
            (&report["ending"], phase_of(&world).as_str()),
            (&ending.into(), phase),
            "{behaviours:?}: {report:#}"
        );
        let story = story(&world);
        let mut rest = story.iter();
        for step in told {
            assert!(
                rest.any(|other| other == step),
                "{behaviours:?}: no {step} in {story:#?}"
            );
        }
        is_clean(&world);
    }
}

#[test]
fn a_person_is_asked_at_four_points_and_may_stop_at_any() {
    let world = tuning(&[]);
    let mut asked = Vec::new();
    let answers: [&[&str]; 4] = [
        &[
            "target_skill.path=skills/demo",
            "focus_areas=[\"context\", \"dataflow\", \"docs\", \"memory\"]",
        ],
        &["pending_fixes=[\"FIX-1\"]"],
        &["decision=stop"],
        &["summary_review=seen"],
    ];
    for answer in answers {
        world.orch(&["run", "t", "--interactive"]);
        asked.push(
            world.orch_json(&["suggest", "t"])["suggestions"][0]["rule"]
                .as_str()
                .expect("a rule")
                .to_owned(),
        );
        world.orch(&[&["answer", "t"], answer].concat()).succeeds();
    }
    assert_eq!(
        asked,
        [
            "target-unknown",
            "select-fixes",
            "continue-or-stop",
            "review-summary"
        ]
    );
    world.orch(&["run", "t", "--interactive"]).succeeds();
    assert_eq!(phase_of(&world), "completed");
    is_clean(&world);
    let world = tuning(&[]);
    world
        .orch(&["answer", "t", "target_skill.path=skills/demo"])
        .succeeds();
    world.orch(&["run", "t", "--interactive"]);
    world.orch(&["stop", "t"]).succeeds();
    assert_eq!(phase_of(&world), "user_exit");
    is_clean(&world);
}

//! Who may order what, what a person decides by a command, and what an executor cannot decide.

use crate::harness::{World, started};
use crate::signing::ssh;
use serde_json::{Value, json};

fn settings(world: &World, people: &str) {
    let text = world.read("orch.toml");
    world.write(
        "orch.toml",
        text.replace("[people]\n", &format!("[people]\n{people}\n")),
    );
}

fn people(phase: &str, settled: &str) -> World {
    let world = started(phase);
    settings(&world, settled);
    world.commit("say who may order");
    world
}

fn head(world: &World) -> String {
    world.git(&["rev-parse", "HEAD"])
}

/// The verdict of the audit about the last change.
fn last(world: &World) -> Value {
    let audit = world.orch_json(&["audit"]);
    audit["changes"]
        .as_array()
        .and_then(|changes| changes.last())
        .cloned()
        .unwrap_or_else(|| panic!("{audit:#}"))
}

/// Qwen Code gives each command a terminal of its own, so a terminal alone shows no person.
#[test]
fn a_program_with_the_mark_of_an_agent_is_an_agent_also_at_a_terminal() {
    let world = started("accept");
    world.accept("t");
    let before = (head(&world), world.dirty());
    let orders: [&[&str]; 3] = [
        &["approve", "t"],
        &["next", "t", "--override", "in a hurry"],
        &["trust"],
    ];
    for mark in [
        "QWEN_CODE",
        "COPILOT_CLI",
        "AI_AGENT",
        "CODEX_CI",
        "AGENT",
        "CURSOR_AGENT",
    ] {
        for order in orders {
            let mut marked = world.orch_command(order);
            marked.env(mark, "1").env("ORCH_ACTOR", "human:Ann");
            let because = format!("an agent ordered it ({mark} is set)");
            world
                .end(marked.output().expect("orch runs"))
                .ends(6)
                .reports(&because);
        }
    }
    assert_eq!((head(&world), world.dirty()), before);
    // What is set and empty marks nothing.
    let mut person = world.orch_command(&["approve", "t"]);
    world
        .end(person.env("QWEN_CODE", "").output().expect("orch runs"))
        .succeeds();
}

/// A program whose hook has called orch, at a terminal and without any mark: first as the shell that runs the hook,
/// then as what has started that shell.
#[test]
fn what_a_hook_has_announced_is_an_agent_and_so_is_what_it_starts() {
    let world = started("accept");
    world.accept("t");
    world.git(&["worktree", "add", "-q", "../other"]);
    let orch = env!("CARGO_BIN_EXE_orch");
    let before = (head(&world), world.dirty());
    for hook in [
        format!("echo '{{}}' | {orch} hook agent session-start > /dev/null"),
        format!("echo '{{}}' > ../event; sh -c '{orch} hook agent stop < ../event' > /dev/null"),
        format!(
            "cd ../other; echo '{{}}' | {orch} hook agent user-prompt-submit > /dev/null; cd ../repo"
        ),
    ] {
        for order in ["approve t", "next t --override hurry", "trust"] {
            let script = format!("{hook}; sh -c '{orch} {order}; exit $?'");
            world.write("../agent.sh", script);
            let mut agent = world.command("sh");
            let agent = agent
                .arg("../agent.sh")
                .stdin(world.keyboard())
                .output()
                .expect("sh runs");
            let ended = world.end(agent).ends(6).reports("an agent ordered it");
            ended.reports("which has called `orch hook agent`");
        }
    }
    assert_eq!((head(&world), world.dirty()), before);
    // What has ended is forgotten, and others are not meant.
    let kept = || {
        std::fs::read_dir(world.path(".git/orch/agents"))
            .expect("a directory")
            .count()
    };
    assert_eq!(kept(), 1);
    world.orch(&["approve", "t"]).succeeds();
}

#[test]
fn the_settings_in_head_count_and_the_audit_reads_those_before_the_order() {
    let world = started("planning");
    settings(&world, "orders = \"anyone\"");
    let order = ["next", "t", "--override", "why"];
    world
        .orch_by_agent(&order)
        .ends(6)
        .reports("commit orch.toml");
    world.commit("anyone may order");
    world.orch_by_agent(&order).succeeds();
    assert_eq!(
        world.json("tasks/t/state.json")["history"][1]["actor"],
        json!({"kind": "agent", "name": "x"})
    );
    world.orch(&["audit"]).succeeds();
    assert_eq!(last(&world)["standing"], "overridden");
    world.write(
        "orch.toml",
        world.read("orch.toml").replace("orders = \"anyone\"\n", ""),
    );
    world.commit("a person again");
    // Settings that stood only for a while prove nothing.
    world.orch(&["audit"]).succeeds();
    assert_eq!(last(&world)["standing"], "unverifiable");
    // Under these settings the same order is a finding.
    world.git(&["rebase", "-q", "--onto", "HEAD~3", "HEAD~2", "HEAD~1"]);
    let forged = last(&world);
    assert_eq!(forged["standing"], "forged", "{forged:#}");
    assert_eq!(
        forged["why"],
        "`override` needs a person, and the record names an agent: x"
    );
}

#[test]
fn confirming_may_be_left_to_agents() {
    let world = people("plan_review", "agents_may = [\"confirm\"]");
    world.plan_review("t", false, 1);
    world.orch(&["next", "t"]).succeeds();
    world
        .orch_by_agent(&["confirm", "t", "plan", "--reason", "it is right"])
        .succeeds();
    world
        .orch_by_agent(&["rollback", "t", "--reason", "again"])
        .ends(6);
    assert_eq!(last(&world)["standing"], "claimed");
}

#[test]
fn a_trusted_signature_stands_for_a_person() {
    let Some(world) = ssh() else { return };
    world.orch(&["new", "t"]).succeeds();
    settings(&world, "orders = \"signed\"");
    world.commit("orders are signed");
    let order = ["next", "t", "--override", "in a hurry"];
    // A marked agent is none, whatever key it has.
    world
        .orch_by_agent(&order)
        .ends(6)
        .reports("an agent ordered it");
    world.git(&["config", "commit.gpgSign", "false"]);
    world
        .orch(&order)
        .ends(6)
        .reports("someone whose commits git does not verify ordered it");
    world.git(&["config", "commit.gpgSign", "true"]);
    let signers = world.path("../allowed");
    world.git(&["config", "gpg.ssh.allowedSignersFile", "/dev/null"]);
    world.orch(&order).ends(6).reports("allowed signer");
    world.git(&[
        "config",
        "gpg.ssh.allowedSignersFile",
        &signers.to_string_lossy(),
    ]);
    world.orch_by_program(&order).succeeds();
    let change = last(&world);
    assert_eq!(
        (&change["standing"], &change["steps"][0]["signer"]),
        (&json!("overridden"), &json!("ann@example.com"))
    );
    world.git(&["commit", "-q", "--amend", "--no-edit", "--no-gpg-sign"]);
    let change = last(&world);
    assert_eq!(change["standing"], "forged", "{change:#}");
    assert!(
        change["why"]
            .as_str()
            .is_some_and(|why| why.contains("is not signed")),
        "{change:#}"
    );
}

/// An executor that gives an order, and takes no variable along.
fn ordering(way: &str, order: &str) -> String {
    let orch = env!("CARGO_BIN_EXE_orch");
    format!(
        "cat > /dev/null; {way} env -u ORCH_ACTOR -u ORCH_TASK -u ORCH_RESULT -u ORCH_ACTION {orch} {order} > said 2>&1\n\
         until [ -s said ]; do sleep 0.05; done"
    )
}

#[test]
fn a_run_whose_executor_gives_an_order_waits_and_names_it() {
    let order = "next t --override ok --to done";
    for (settled, way, phase) in [
        ("", "", "planning"),
        // Out of its process group, and without its parent.
        ("", "setsid --fork", "planning"),
        ("orders = \"anyone\"", "", "done"),
    ] {
        let world = people("planning", settled);
        world.write(".git/info/exclude", "agent.sh\nsaid\n");
        world.write("agent.sh", ordering(way, order));
        let run = world.orch(&["run", "t", "--", "sh", "agent.sh"]).ends(3);
        let named = "the executor of `planner` ordered `orch next t --override ok --to done`, which needs a person";
        run.says("waiting after 1 turn").says(named);
        assert_eq!(world.phase("t"), phase, "{way} {}", world.read("said"));
        if phase == "planning" {
            assert!(
                world.read("said").contains("an agent ordered it"),
                "{way}: {}",
                world.read("said")
            );
        } else {
            assert_eq!(last(&world)["steps"][0]["actor"]["kind"], "agent");
        }
    }
}

#[test]
fn a_decision_that_an_executor_wrote_is_a_proposal() {
    let world = started("test");
    world.write(".git/info/exclude", "agent.sh\n");
    world.write(
        "agent.sh",
        r#"cat > /dev/null; cd tasks/t; mkdir -p eval accept
        echo '{"verdict": "accepted"}' > accept/decision.json
        echo '<testsuite tests="1"><testcase name="a"/></testsuite>' > eval/junit.xml"#,
    );
    let run = world.orch(&["run", "t", "--", "sh", "agent.sh"]).ends(3);
    run.says("waiting after 1 turn: a person decides: the result was accepted")
        .reports("orch approve t");
    assert_eq!(world.phase("t"), "accept");
    world.orch(&["watch", "--once"]).succeeds();
    world.orch(&["next", "t"]).ends(6);
    assert_eq!(world.phase("t"), "accept");
    let at_accept = head(&world);
    world
        .orch(&["approve", "t"])
        .succeeds()
        .says("accept -> done");
    assert_eq!(
        world.read("tasks/t/accept/decision.json"),
        "{\"verdict\": \"accepted\"}\n",
        "it was taken as it is"
    );
    assert_eq!(last(&world)["steps"][0]["approval"], "claimed");
    // Or it is refused, and kept for whoever wants to see it.
    world.git(&["reset", "-q", "--hard", at_accept.trim()]);
    world.write(
        "tasks/t/accept/decision.json",
        "{\"verdict\": \"accepted\", \"target\": \"test\"}\n",
    );
    world
        .orch(&["reject", "t", "--reason", "No test of blanks."])
        .succeeds()
        .says("accept -> codegen")
        .reports("kept in");
    assert_eq!(
        world.read("tasks/t/accept/decision.json.replaced"),
        "{\"verdict\": \"accepted\", \"target\": \"test\"}\n"
    );
    assert_eq!(
        world.json("tasks/t/accept/decision.json")["reasons"],
        json!(["No test of blanks."])
    );
    assert_eq!(last(&world)["standing"], "proven");
}

const ARTICLE: &str = r#"# Article

```toml orch
[workflow]
title = "Article"
initial = "drafting"

[artifact.text]
path = "text.md"

[artifact.review]
path = "review.json"

[phase.drafting]
agent = "writer"
produces = ["text"]

[phase.review]
owner = "human"
needs = ["text"]
produces = ["review"]

[phase.published]
terminal = true

[[rule]]
id = "written"
from = "drafting"
when = "text.ready"
to = "review"
because = "there is a text"

[[rule]]
id = "accepted"
from = "review"
when = "review.ready"
to = "published"
because = "the reader is content"
```
"#;

#[test]
fn an_executor_does_not_act_in_a_phase_that_a_person_owns() {
    let world = World::ready();
    world.write("system/workflows/article.md", ARTICLE);
    world.write("system/agents/writer.md", "Write.\n");
    world.commit("a workflow");
    world
        .orch(&["new", "t", "--workflow", "article"])
        .succeeds();
    world.write(".git/info/exclude", "agent.sh\n");
    world.write(
        "agent.sh",
        "cat > /dev/null; echo '# T' > tasks/t/text.md; echo '{}' > tasks/t/review.json",
    );
    let run = world.orch(&["run", "t", "--", "sh", "agent.sh"]).ends(3);
    run.says("an executor wrote the decision of `review`, which a person owns");
    assert_eq!(world.phase("t"), "review");
    world.orch_by_agent(&["approve", "t"]).ends(6);
    world
        .orch(&["approve", "t"])
        .succeeds()
        .says("review -> published");
    world.orch(&["audit"]).succeeds();
}

#[test]
fn a_run_says_who_decided_while_its_executor_worked() {
    let world = started("plan_review");
    world.write(".git/info/exclude", "agent.sh\nbegun\n");
    world.write(
        "agent.sh",
        "cat > /dev/null; touch begun; until grep -q '\"phase\": \"codegen\"' tasks/t/state.json; do sleep 0.05; done",
    );
    let run = world.orch_spawn(&["run", "t", "--max-turns", "1", "--", "sh", "agent.sh"]);
    while !world.path("begun").exists() {
        std::thread::yield_now();
    }
    world
        .orch(&["relate", "t", "--priority", "high"])
        .succeeds();
    world
        .orch(&["approve", "t"])
        .succeeds()
        .says("plan_review -> codegen");
    let ended = world.end(run.wait_with_output().expect("ended"));
    let told = format!("{}{}", ended.stdout, ended.stderr);
    assert!(
        told.contains(
            "Ann moved the task while the executor worked: plan_review -> codegen (plan-accepted)"
        ),
        "{told}"
    );
    assert!(
        told.contains("Ann recorded a step while the executor worked: relate, in plan_review"),
        "{told}"
    );
}

/// The record names the files of a set, and git has them.
#[test]
fn the_files_of_a_set_that_is_gone_are_named_as_they_were() {
    let world = started("test");
    for name in ["a", "b"] {
        let report = format!("<testsuite tests=\"1\"><testcase name=\"{name}\"/></testsuite>");
        world.write(&format!("tasks/t/eval/{name}-report.xml"), report);
    }
    world.orch(&["next", "t"]).succeeds().says("test -> accept");
    std::fs::remove_dir_all(world.path("tasks/t/eval")).expect("removed");
    let suggested = world.orch_json(&["suggest", "t"]);
    let suggestion = &suggested["suggestions"][0];
    let options = suggestion["options"].as_array().expect("a list");
    let restores: Vec<&Value> = options
        .iter()
        .filter(|option| option["id"] == "restore")
        .collect();
    assert_eq!(restores.len(), 2, "{suggestion:#}");
    assert!(
        options.iter().any(|option| option["id"] == "reject"),
        "{suggestion:#}"
    );
    let shown = suggestion.to_string();
    assert!(
        shown.contains("eval/a-report.xml is missing") && !shown.contains("eval/junit.xml"),
        "{shown}"
    );
    world.orch(&["approve", "t"]).ends(3);
    for option in restores {
        let argv: Vec<&str> = option["argv"]
            .as_array()
            .expect("argv")
            .iter()
            .filter_map(Value::as_str)
            .collect();
        world.git(&argv[1..]);
    }
    world
        .orch(&["approve", "t"])
        .succeeds()
        .says("accept -> done");
    world.orch(&["audit"]).succeeds();
}

#[test]
fn evidence_that_is_gone_is_told_at_every_look_and_nothing_ends_well_without_it() {
    let world = started("test");
    std::fs::remove_dir_all(world.path("tasks/t/review")).expect("removed");
    world.tests("t", 0, 1);
    world.orch(&["next", "t"]).succeeds().says("test -> accept");
    let change = last(&world);
    let why =
        "evidence of earlier phases is gone: review/plan/verdict.json, review/code/verdict.json";
    assert_eq!(
        (&change["standing"], &change["why"]),
        (&json!("proven"), &json!(why)),
        "{change:#}"
    );
    let suggested = world.orch_json(&["suggest", "t"]);
    let suggestion = &suggested["suggestions"][0];
    let gone = suggestion["diagnostics"].as_array().expect("a list");
    assert_eq!(
        gone.iter()
            .filter(|found| found["code"] == "evidence-gone")
            .count(),
        2,
        "{suggestion:#}"
    );
    let options = suggestion["options"].as_array().expect("a list");
    assert!(
        options[..2].iter().all(|option| option["id"] == "restore"),
        "{suggestion:#}"
    );
    // What is gone, since when and how it comes back stands before what is asked for.
    let reason = suggestion["reason"].as_str().expect("a text");
    let restore = options[0]["argv"]
        .as_array()
        .expect("a list")
        .iter()
        .filter_map(|word| word.as_str());
    let restore = restore.collect::<Vec<_>>().join(" ");
    let (first, then) = reason.split_once("; then: ").expect("both");
    assert!(
        first.starts_with(
            "review/plan/verdict.json is missing, although the task left `plan_review` with it"
        ),
        "{reason}"
    );
    assert!(
        restore.starts_with("git restore -s ") && first.contains(&restore),
        "{reason}"
    );
    assert_eq!(then, "accept/decision.json is missing");
    let hint = gone.iter().find_map(|found| {
        found["hint"]
            .as_str()
            .filter(|hint| hint.contains(&restore))
    });
    assert!(hint.is_some(), "{gone:#?}");
    world.orch(&["check", "t"]).says("evidence-gone");
    world.orch(&["approve", "t"]).ends(3).says("the evidence of earlier phases is gone: plan_review (review/plan/verdict.json) is missing (the task left `plan_review` with it)");
    world.accept("t");
    world
        .orch(&["approve", "t"])
        .ends(3)
        .says("review/plan/verdict.json");
    world
        .orch(&["explain", "t"])
        .succeeds()
        .says("evidence-gone");
    assert_eq!(world.phase("t"), "accept");
    let accept = head(&world);
    // A person may do without it, and the record says so.
    world
        .orch(&[
            "next",
            "t",
            "--override",
            "read in the mail",
            "--to",
            "done",
        ])
        .succeeds();
    let waived = &world.json("tasks/t/state.json")["waived"];
    assert!(
        waived["plan_review"].is_number() && waived["code_review"].is_number(),
        "{waived}"
    );
    // Or it comes back.
    world.git(&["reset", "-q", "--hard", accept.trim()]);
    for option in options.iter().filter(|option| option["id"] == "restore") {
        let argv: Vec<&str> = option["argv"]
            .as_array()
            .expect("argv")
            .iter()
            .filter_map(Value::as_str)
            .collect();
        world.git(&argv[1..]);
    }
    world
        .orch(&["approve", "t"])
        .succeeds()
        .says("accept -> done");
}

#[test]
fn what_advances_the_work_comes_first_and_an_agent_is_offered_no_order() {
    let world = started("plan_review");
    world.plan_review("t", false, 1);
    world.orch(&["next", "t"]).succeeds();
    let ids = |world: &World| -> Vec<String> {
        let suggested = world.orch_json(&["suggest", "t"]);
        let options = suggested["suggestions"][0]["options"]
            .as_array()
            .cloned()
            .expect("a list");
        options
            .iter()
            .map(|option| option["id"].as_str().expect("an id").to_owned())
            .collect()
    };
    assert_eq!(ids(&world), ["prompt", "confirm", "override"]);
    let told = world.orch(&["suggest", "t"]).succeeds().stdout;
    let (prompt, order) = (told.find("orch prompt t"), told.find("--override"));
    assert!(prompt.is_some() && prompt < order, "{told}");
    for agent in [
        world.orch_by_agent(&["suggest", "t"]),
        world.orch(&["prompt", "t"]),
    ] {
        assert!(
            !agent.stdout.contains("override") && !agent.stdout.contains("confirm t"),
            "{}",
            agent.stdout
        );
    }
    let refused = world
        .orch_by_agent(&["next", "t", "--to", "codegen"])
        .ends(1);
    assert!(!refused.stderr.contains("override"), "{}", refused.stderr);
}

#[test]
fn an_executor_that_hides_its_run_is_still_no_person() {
    let world = started("accept");
    let script =
        "rm -rf tasks/t/.orch; env -u ORCH_ACTOR -u ORCH_TASK ORCH approve t > said 2>&1; exit 0";
    let orch = env!("CARGO_BIN_EXE_orch");
    world.write(
        "executor.sh",
        script.replace("ORCH approve", &format!("'{orch}' approve")),
    );
    world.write(".gitignore", "said\n");
    world.commit("an executor");
    let shell = "script -qec 'sh executor.sh' /dev/null < /dev/null";
    world.orch(&["run", "t", "--max-turns", "1", "--", "sh", "-c", shell]);
    assert_ne!(world.phase("t"), "done", "{}", world.read("said"));
}

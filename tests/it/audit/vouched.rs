//! How much stands behind the evidence, and what `--require` asks of it.

use crate::harness::{Ended, World};
use crate::signing::signs_by_ssh;
use crate::verify::{CHECK, WITH_REPORT};
use serde_json::{Value, json};

fn require(world: &World, level: &str) -> Ended {
    world.orch(&["audit", "--require", level])
}

#[test]
fn what_orch_ran_is_vouched_for_by_the_run_by_a_rerun_and_by_a_signature() {
    let world = World::verified(CHECK, WITH_REPORT);
    let plain = world.orch(&["audit"]).succeeds();
    assert!(!plain.stderr.contains("evidence:"), "{}", plain.stderr);
    world.verify(&["t"]).succeeds();
    require(&world, "run").succeeds().reports("evidence: 1 run");
    require(&world, "signed")
        .ends(1)
        .reports("tasks/t/eval/verify/tests.json")
        .reports("orch ran `tests`, and nobody whom git trusts here has signed the commit")
        .reports("evidence: 1 run");
    let found = world
        .orch(&["audit", "--require", "signed", "--format", "sarif"])
        .ends(1);
    assert!(found.stdout.contains("\"unvouched\""), "{}", found.stdout);
    world
        .orch(&["audit", "--rerun", "--require", "signed"])
        .succeeds()
        .reports("evidence: 1 rerun");

    if !signs_by_ssh(&world) {
        return;
    }
    world.git(&["commit", "-q", "--amend", "--no-edit"]);
    require(&world, "signed")
        .succeeds()
        .reports("evidence: 1 signed");
    // A signature vouches for nothing that is in doubt.
    world.git(&["rm", "-q", "tasks/t/eval/verify/tests.json"]);
    world.git(&["commit", "-q", "--amend", "--no-edit"]);
    require(&world, "run")
        .ends(1)
        .reports("the result of `tests` is unverifiable")
        .reports("evidence: 1 none");
}

/// A workflow that believes a report, though a verification could have made it.
const BELIEVES: &str = r#"# Believes

```toml orch
[workflow]
initial = "test"

[artifact.report]
path = ["eval/report.json"]
format = "json"
same_as = "tests"

[artifact.note]
path = ["note.json"]
format = "json"

[phase.test]
owner = "agent"
agent = "tester"
produces = ["report", "note"]

[phase.done]
terminal = true
success = true

[[rule]]
id = "passed"
from = "test"
when = "report.ready && note.ready"
to = "done"
because = "the report says so"
```
"#;

#[test]
fn a_file_that_a_verification_could_have_made_is_asked_only_where_there_is_one() {
    let world = World::ready();
    world.write("system/workflows/b.md", BELIEVES);
    let settings = world.read("orch.toml");
    let settings = settings.replace("\"global-state-machine\"", "\"b\"");
    world.write("orch.toml", &settings);
    world.commit("a project");
    for task in ["early", "late"] {
        if task == "late" {
            let table = "[verify.tests]\ncommand = ['true']\n";
            world.write("orch.toml", format!("{settings}\n{table}"));
            world.commit("the tests");
        }
        world.orch(&["new", task]).succeeds();
        world.write(&format!("tasks/{task}/eval/report.json"), "{}\n");
        world.write(&format!("tasks/{task}/note.json"), "{}\n");
        world.orch(&["next", task]).succeeds();
    }
    let refused = require(&world, "run")
        .ends(1)
        .reports("tasks/late/eval/report.json")
        .reports("somebody wrote it, and `[verify.tests]` could have made it")
        .reports("evidence: 4 none");
    assert!(!refused.stderr.contains("early/eval"), "{}", refused.stderr);
    let run = world.orch(&["audit", "--require", "run", "--json"]).ends(1);
    let audit: Value = serde_json::from_str(&run.stdout).expect("JSON");
    assert_eq!(audit["vouched"], json!({"none": 4}));
    assert_eq!(audit["unvouched"].as_array().map(Vec::len), Some(1));
    let step = &audit["changes"][3]["steps"][0]["vouched"];
    let verifications: Vec<&Value> = step
        .as_array()
        .into_iter()
        .flatten()
        .map(|one| &one["verification"])
        .collect();
    assert_eq!(verifications, [&json!("tests"), &Value::Null], "{step:#}");
}

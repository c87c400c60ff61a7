//! Three changes of a document over tasks that run: each task goes on where the map says, and every step is proven.

use super::records::{LOG, parsed};
use super::{last, standings};
use crate::harness::World;
use crate::setting::number;

const FIRST: &str = r#"# Article
```toml orch
[artifact.text]
path = "text.md"
[artifact.verdict]
path = "verdict.json"
[artifact.proof]
path = "proof.json"
[phase.write]
produces = ["text"]
[phase.review]
needs = ["text"]
produces = ["verdict"]
[phase.proofread]
needs = ["text"]
produces = ["proof"]
[phase.done]
terminal = true
[[rule]]
id = "written"
from = "write"
when = "text.ready"
to = "review"
because = "there is a text"
[[rule]]
id = "refused"
from = "review"
when = "verdict.ready && !verdict.data.ok"
to = "write"
because = "the reviewer refuses it"
[[rule]]
id = "accepted"
from = "review"
when = "verdict.ready && verdict.data.ok"
to = "proofread"
because = "the reviewer accepts it"
[[rule]]
id = "read"
from = "proofread"
when = "proof.ready"
to = "done"
because = "it is proofread"
```
"#;

/// How many tasks run: a few, unless the variable says otherwise.
fn count() -> usize {
    let asked = number("ORCH_MIGRATED_TASKS").and_then(|asked| usize::try_from(asked).ok());
    asked.unwrap_or(4)
}

/// Writes the next version of the document, in which each text is replaced by another one.
fn change(world: &World, text: &mut String, replaced: &[(&str, &str)]) {
    for (old, new) in replaced {
        assert!(text.contains(old), "{old}");
        *text = text.replace(old, new);
    }
    world.write("system/workflows/article.md", text.as_str());
    world.commit("another version");
}

#[test]
fn tasks_move_over_three_changes_of_their_document_and_every_step_is_proven() {
    let world = World::ready();
    let mut text = FIRST.to_owned();
    change(&world, &mut text, &[]);
    let tasks: Vec<String> = (0..count()).map(|nth| format!("t{nth}")).collect();
    for (nth, task) in tasks.iter().enumerate() {
        let new = world.orch(&["new", task, "--workflow", "article"]);
        new.succeeds();
        if nth % 4 > 0 {
            world.write(&format!("tasks/{task}/text.md"), "# A text\n");
            world.orch(&["next", task]).succeeds();
        }
        if nth % 4 > 1 {
            let ok = nth % 4 == 2;
            let verdict = format!("{{\"ok\": {ok}}}");
            world.write(&format!("tasks/{task}/verdict.json"), verdict);
            world.orch(&["next", task]).succeeds();
        }
    }
    // Renamed, and a rule changed: the tasks stay where they are.
    let renamed = [
        (
            "[phase.review]\n",
            "[phase.check]\naliases = [\"review\"]\n",
        ),
        ("from = \"review\"", "from = \"check\""),
        ("to = \"review\"", "to = \"check\""),
    ];
    change(&world, &mut text, &renamed);
    world
        .orch(&["workflow", "diff", "HEAD~1", "article"])
        .ends(1)
        .says("phase check renamed, was review");
    world.orch(&["migrate", "--plan"]).says("review -> check");
    world.orch(&["migrate"]).succeeds();
    world.orch(&["migrate"]).ends(3);
    // Other prose is the same machine, also before it is committed.
    world.write(
        "system/workflows/article.md",
        format!("{text}More prose.\n"),
    );
    world
        .orch(&["workflow", "diff", "article"])
        .succeeds()
        .says("the same machine");
    let explained = world.orch(&["explain", "t1"]).succeeds();
    assert!(
        !explained.stdout.contains("workflow-changed"),
        "{}",
        explained.stdout
    );
    world.write("tasks/t0/text.md", "# A text\n");
    let next = world.orch(&["next", "t0"]).succeeds();
    assert!(!next.stderr.contains("not committed"), "{}", next.stderr);
    // Split: a phase that is no more needs a map, and the map leads nobody forward.
    let split = [
        (
            "[phase.check]\naliases = [\"review\"]\nneeds = [\"text\"]\nproduces = [\"verdict\"]\n",
            "[phase.facts]\nneeds = [\"text\"]\n[phase.style]\nneeds = [\"text\"]\nproduces = [\"verdict\"]\n",
        ),
        ("from = \"check\"", "from = \"style\""),
        ("to = \"check\"", "to = \"facts\""),
        (
            "[[rule]]\nid = \"refused\"",
            "[[rule]]\nid = \"true\"\nfrom = \"facts\"\nwhen = \"text.ready\"\nto = \"style\"\nbecause = \"it is\"\n[[rule]]\nid = \"refused\"",
        ),
    ];
    change(&world, &mut text, &split);
    let plan = world.orch(&["migrate", "--plan"]);
    plan.ends(1).reports("nothing says where it goes on");
    world.orch(&["suggest", "t1"]).says("orch migrate --plan");
    let map = "[phase.done]\n";
    let forward = "[migrate.phases]\ncheck = \"style\"\n[phase.done]\n";
    change(&world, &mut text, &[(map, forward)]);
    world.orch(&["migrate"]).ends(1).reports("leads forward");
    change(
        &world,
        &mut text,
        &[("check = \"style\"", "check = \"facts\"")],
    );
    world.orch(&["migrate"]).succeeds();
    assert_eq!(world.phase("t1"), "facts");
    let edited = text.replace("because = \"it is\"", "because = \"so it is\"");
    world.write(
        "system/workflows/article.md",
        edited.replace("to = \"style\"", "to = \"write\""),
    );
    let diff = world.orch(&["workflow", "diff"]);
    diff.ends(1)
        .says("in facts, if text.ready")
        .says("was true: to style")
        .says("task t1 in facts");
    world.write("system/workflows/article.md", &text);
    last(&world, "proven");
    // Removed, and what it made is forgotten.
    let removed = [
        (
            "[artifact.proof]\npath = \"proof.json\"\n",
            "[workflow]\nforgets = [\"proof\"]\n",
        ),
        (
            "[phase.proofread]\nneeds = [\"text\"]\nproduces = [\"proof\"]\n",
            "",
        ),
        ("to = \"proofread\"", "to = \"done\""),
        (
            "[[rule]]\nid = \"read\"\nfrom = \"proofread\"\nwhen = \"proof.ready\"\nto = \"done\"\nbecause = \"it is proofread\"\n",
            "",
        ),
        ("check = \"facts\"\n", "proofread = \"style\"\n"),
    ];
    change(&world, &mut text, &removed);
    world
        .orch(&["migrate", "t*", "--plan", "--json"])
        .succeeds();
    world.orch(&["migrate"]).succeeds();
    assert_eq!(
        (world.phase("t2").as_str(), world.phase("t3").as_str()),
        ("style", "write")
    );
    let standings = standings(&world);
    assert!(standings.iter().all(|one| one == "proven"), "{standings:?}");
    world.orch(&["audit", "--strict"]).succeeds();
    world.orch(&["check", "--strict"]).succeeds();
    world.orch(&["explain", "t2"]).succeeds();
    // The task goes on: what it was reviewed by lies there still.
    world.orch(&["next", "t2"]).succeeds();
    assert_eq!(world.phase("t2"), "done");
    let log = parsed(&world.read(&LOG.replace("/t/", "/t2/")));
    assert!(log.events().count() > 5);
}

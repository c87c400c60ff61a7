//! Several approvals of one phase: who said what, who is missing, and that nothing but what they said moves the task.

use crate::harness::{Ended, World, copy};
use serde_json::Value;

const RULES: &str = r#"# Text

```toml orch
[workflow]
initial = "write"

[artifact.text]
path = "text.md"

[phase.write]
produces = ["text"]

[phase.accept]
owner = "human"
needs = ["text"]
approvals = { count = 2, teams = ["security", "platform"] }

[phase.done]
terminal = true

[[rule]]
id = "written"
from = "write"
when = "text.ready"
to = "accept"
because = "the text is there"

[[rule]]
id = "agreed"
from = "accept"
when = "approvals.accept.count >= 2"
to = "done"
because = "enough people agree"

[[rule]]
id = "refused"
from = "accept"
when = "approvals.accept.rejected.size() > 0"
to = "write"
because = "somebody refuses"
```
"#;

const TEAMS: &str = "[people.teams]\nsecurity = [\"ann@example.com\", \"bea@example.com\"]\nplatform = [\"Bea@example.com\", \"cem@example.com\"]\n";

fn at_accept() -> World {
    let world = World::new();
    let settings = format!("[[root]]\npath = \"tasks/*\"\nworkflow = \"text\"\n\n{TEAMS}");
    world.write("orch.toml", settings);
    world.write("system/workflows/text.md", RULES);
    world.commit("setup");
    world.orch(&["new", "t"]).succeeds();
    world.write("tasks/t/text.md", "One.\n");
    world.orch(&["next", "t"]).succeeds();
    assert_eq!(world.phase("t"), "accept");
    world
}

/// A command of a person with this address.
fn by(world: &World, person: &str, arguments: &[&str]) -> Ended {
    let mut command = world.orch_command(arguments);
    command
        .env("GIT_AUTHOR_NAME", person)
        .env("GIT_AUTHOR_EMAIL", format!("{person}@example.com"));
    world.end(command.output().expect("orch runs"))
}

fn reason(world: &World) -> String {
    world.orch_json(&["suggest", "t"])["suggestions"][0]["reason"]
        .as_str()
        .expect("a reason")
        .to_owned()
}

fn standings(world: &World) -> Vec<String> {
    let audit = world.orch_json(&["audit"]);
    let changes = audit["changes"].as_array().expect("changes");
    changes
        .iter()
        .map(|change| change["standing"].as_str().expect("a text").to_owned())
        .collect()
}

#[test]
fn approvals_of_two_branches_suffice_together() {
    let world = at_accept();
    world.git(&["switch", "-q", "-c", "other"]);
    by(&world, "ann", &["approve", "t"]).succeeds();
    world.git(&["switch", "-q", "main"]);
    by(&world, "cem", &["approve", "t"]).succeeds();
    world.git_ended(&["merge", "-q", "other"]);
    world.orch(&["resolve", "t"]);
    world.git(&["add", "-A"]);
    world.git_ended(&["commit", "-q", "-m", "merged"]);
    let state = world.json("tasks/t/state.json");
    let people: Vec<&str> = state["actors"]["accept"]["approvals"]
        .as_array()
        .expect("approvals")
        .iter()
        .map(|one| one["person"].as_str().expect("a person"))
        .collect();
    assert_eq!(people, ["ann@example.com", "cem@example.com"]);
    world.orch(&["next", "t"]);
    assert_eq!(world.phase("t"), "done");
    assert!(
        !standings(&world).contains(&"forged".to_owned()),
        "{:?}",
        standings(&world)
    );
}

#[test]
fn who_is_no_person_or_in_no_team_does_not_count() {
    let world = at_accept();
    world
        .orch_by_agent(&["approve", "t"])
        .ends(6)
        .reports("needs a person");
    by(&world, "dan", &["approve", "t"]).succeeds();
    by(&world, "eva", &["approve", "t"]).succeeds();
    world.orch(&["next", "t"]).ends(3);
    assert!(
        reason(&world).contains("missing: security, platform"),
        "{}",
        reason(&world)
    );
    // Whoever puts himself into a team has to commit that.
    let settings = world.read("orch.toml");
    world.write("orch.toml", settings.replace("cem@", "dan@"));
    assert!(
        reason(&world).contains("missing: security, platform"),
        "{}",
        reason(&world)
    );
}

#[test]
fn whoever_wrote_what_others_judge_does_not_count() {
    let world = World::new();
    world.write(
        "orch.toml",
        format!("[[root]]\npath = \"tasks/*\"\nworkflow = \"text\"\n\n{TEAMS}"),
    );
    let rules = RULES.replace(
        "needs = [\"text\"]",
        "needs = [\"text\"]\nnot_by = [\"text\"]",
    );
    world.write("system/workflows/text.md", rules);
    world.commit("setup");
    world.orch(&["new", "t"]).succeeds();
    world.write("tasks/t/text.md", "One.\n");
    // Ann commits what she wrote.
    world.commit("text");
    world.orch(&["next", "t"]).succeeds();
    by(&world, "ann", &["approve", "t"]).succeeds();
    by(&world, "cem", &["approve", "t"]).succeeds();
    assert!(
        reason(&world).contains("ann@example.com wrote what somebody else has to judge"),
        "{}",
        reason(&world)
    );
    by(&world, "bea", &["approve", "t"]).succeeds();
    world.orch(&["next", "t"]);
    assert_eq!(world.phase("t"), "done");
    world.orch(&["audit", "--strict"]).succeeds();
}

#[test]
fn an_approval_that_nobody_gave_is_forged() {
    use crate::audit::records::{LOG, relinked, tell_lines};
    let honest = at_accept();
    by(&honest, "ann", &["approve", "t"]).succeeds();
    type Edit = fn(&mut Value);
    let edits: [(&str, Edit); 5] = [
        ("an agent", |event| event["actor"]["kind"] = "agent".into()),
        ("another person", |event| {
            event["approve"]["person"] = "bea@example.com".into()
        }),
        ("another ruling", |event| {
            event["approve"]["ruling"] = "reject".into()
        }),
        ("another text", |event| {
            event["evidence"]["text.md"] = "0000000000000000000000000000000000000001".into()
        }),
        ("another phase", |event| event["to"] = "done".into()),
    ];
    for (what, edit) in edits {
        let world = copy(&honest);
        let lines = relinked(&world.read(LOG), |number, event| {
            if number == 2 {
                edit(event);
            }
        });
        tell_lines(&world, &lines);
        world.git(&["commit", "-q", "-a", "--amend", "--no-edit"]);
        assert_eq!(
            standings(&world).last().map(String::as_str),
            Some("forged"),
            "{what}"
        );
    }
}

/// Of code it is the change of the task that people approve, not what others commit beside it.
#[test]
fn an_approval_of_code_counts_while_the_change_stands() {
    let world = World::new();
    let settings = format!("[[root]]\npath = \"tasks/*\"\nworkflow = \"text\"\n\n{TEAMS}");
    world.write("orch.toml", settings);
    world.write(
        "system/workflows/text.md",
        RULES.replace("path = \"text.md\"", "tree = [\"src/**\"]"),
    );
    world.write("src/a.rs", "0\n");
    world.commit("setup");
    world.orch(&["new", "t"]).succeeds();
    world.commit_code("1", Some("t"));
    world.orch(&["next", "t"]).succeeds();
    assert_eq!(world.phase("t"), "accept");
    by(&world, "bea", &["approve", "t"]).succeeds();
    world.commit_code("2", None);
    world
        .orch(&["suggest", "t"])
        .says("bea@example.com judged something other than what is there now");
    by(&world, "bea", &["approve", "t"]).succeeds();
    world.write("src/b.rs", "of others\n");
    world.commit("code of others");
    assert!(
        reason(&world).contains("1 of 2 approvals; by bea@example.com"),
        "{}",
        reason(&world)
    );
    world.write("src/c.rs", "of others\n");
    world.commit("more code of others");
    // The last approval takes the move along.
    by(&world, "ann", &["approve", "t"])
        .succeeds()
        .says("accept -> done");
    assert_eq!(world.phase("t"), "done");
    world.orch(&["audit", "--strict"]).succeeds();
}

/// Enough people agree, and the verdict before them is about something else.
#[test]
fn a_person_may_override_what_keeps_enough_approvals_from_counting() {
    let world = World::new();
    let settings = format!("[[root]]\npath = \"tasks/*\"\nworkflow = \"text\"\n\n{TEAMS}");
    world.write("orch.toml", settings);
    let review = "[artifact.verdict]\npath = \"verdict.json\"\njudges = [\"text\"]\n\n[phase.review]\nneeds = [\"text\"]\n\
                  produces = [\"verdict\"]\n\n[[rule]]\nid = \"reviewed\"\nfrom = \"review\"\nwhen = \"verdict.ready\"\n\
                  to = \"accept\"\nbecause = \"it is reviewed\"\n\n[phase.accept]";
    let rules = RULES
        .replace("to = \"accept\"", "to = \"review\"")
        .replace("[phase.accept]", review);
    world.write("system/workflows/text.md", rules);
    world.commit("setup");
    world.orch(&["new", "t"]).succeeds();
    world.write("tasks/t/text.md", "One.\n");
    world.orch(&["next", "t"]).succeeds();
    world.write("tasks/t/verdict.json", "{\"ok\": true}");
    world.orch(&["next", "t"]).succeeds();
    assert_eq!(world.phase("t"), "accept");
    world.write("tasks/t/text.md", "Two.\n");
    world.commit("another text");
    let approve = ["approve", "t", "--override", "only a comma"];
    by(&world, "ann", &approve).succeeds();
    assert_eq!(world.phase("t"), "accept", "one person is not enough");
    by(&world, "bea", &["approve", "t"]).succeeds();
    world
        .orch(&["next", "t"])
        .ends(3)
        .says("`verdict` judged another version of `text`");
    by(&world, "bea", &approve).succeeds().says("only a comma");
    assert_eq!(world.phase("t"), "done");
    assert!(
        standings(&world).contains(&"overridden".to_owned()),
        "{:?}",
        standings(&world)
    );
    assert!(
        !standings(&world).contains(&"forged".to_owned()),
        "{:?}",
        standings(&world)
    );
}

//! Histories whose files were read by other rules than now.

use crate::harness::World;

const RULES: &str = r#"# List

```toml orch
[workflow]
initial = "open"
[artifact.list]
path = "list.md"
[phase.open]
produces = ["list"]
[phase.done]
terminal = true
[[rule]]
id = "ticked"
from = "open"
when = "list.ready && list.data.boxes.open == 0"
to = "done"
because = "every box is ticked"
```
"#;

/// What was recorded in the first version, in which a box was empty or done, and any other sign made none.
const LOG: &str = r#"{"id":"358f8cfc4fff24f013248bdb4dd52ae849e69a22","after":[],"seq":1,"at":"2026-11-28T02:58:03Z","kind":"create","to":"open","reason":"the task was adopted","actor":{"kind":"human","name":"Tess"},"workflow":"list@3b023dc675ad2afd55e12c82de310f6e4273c029","changes":[{"op":"add","path":"/actors","value":{"open":{"status":"active","attempt":1}}},{"op":"add","path":"/task","value":"t"}]}
{"id":"b1aa3d46b4c7a5d5ca206b5442b0b05be39110c9","after":["358f8cfc4fff24f013248bdb4dd52ae849e69a22"],"seq":2,"at":"2026-11-28T02:58:03Z","kind":"advance","from":"open","to":"done","rule":"ticked","reason":"every box is ticked","actor":{"kind":"human","name":"Tess"},"evidence":{"list.md":"c4067577ad5304dfcff06ed911e67f093ea6f928"},"workflow":"list@3b023dc675ad2afd55e12c82de310f6e4273c029","changes":[{"op":"add","path":"/actors/done","value":{"status":"active","attempt":1}},{"op":"add","path":"/actors/open/left_with","value":{"list":"c4067577ad5304dfcff06ed911e67f093ea6f928"}},{"op":"replace","path":"/actors/open/status","value":"done"}]}
"#;

const STATE: &str = r#"{
  "$schema": "system/schemas/state.schema.json",
  "version": 1,
  "task": "t",
  "heads": [
    "b1aa3d46b4c7a5d5ca206b5442b0b05be39110c9"
  ],
  "transcript": {
    "lines": 2,
    "bytes": 1032,
    "digest": "2ea44acf7478f690f8027b0118e99826cbaf699b"
  },
  "rev": 2,
  "seal": "f0be94382a690e88e93b84cdf051db90886b6268",
  "workflow": {
    "name": "list",
    "digest": "3b023dc675ad2afd55e12c82de310f6e4273c029"
  },
  "phase": "done",
  "actors": {
    "done": {
      "status": "active",
      "attempt": 1
    },
    "open": {
      "status": "done",
      "attempt": 1,
      "left_with": {
        "list": "c4067577ad5304dfcff06ed911e67f093ea6f928"
      }
    }
  },
  "waived": {},
  "history": [
    {
      "seq": 1,
      "at": "2026-11-28T02:58:03Z",
      "from": null,
      "to": "open",
      "kind": "create",
      "rule": null,
      "reason": "the task was adopted",
      "actor": {
        "kind": "human",
        "name": "Tess"
      },
      "evidence": {}
    },
    {
      "seq": 2,
      "at": "2026-11-28T02:58:03Z",
      "from": "open",
      "to": "done",
      "kind": "advance",
      "rule": "ticked",
      "reason": "every box is ticked",
      "actor": {
        "kind": "human",
        "name": "Tess"
      },
      "evidence": {
        "list.md": "c4067577ad5304dfcff06ed911e67f093ea6f928"
      }
    }
  ],
  "errors": [],
  "updated_at": "2026-11-28T02:58:03Z"
}
"#;

const LIST: &str = "- [x] a\n- [~] b\n";

#[test]
fn a_history_is_judged_by_the_reader_that_it_was_recorded_by() {
    let world = World::new();
    world.write(
        "orch.toml",
        "[[root]]\npath = \"tasks/*\"\nworkflow = \"list\"\n",
    );
    world.write("system/workflows/list.md", RULES);
    world.commit("setup");
    world.write("tasks/t/list.md", LIST);
    world.write("tasks/t/transcript.jsonl", LOG);
    world.write("tasks/t/state.json", STATE);
    world.commit("orch(t): new -> done");
    world
        .orch(&["audit"])
        .succeeds()
        .says("2 steps in one commit");
    world.orch(&["check", "--strict"]).succeeds();

    world.orch(&["new", "u"]).succeeds();
    world.write("tasks/u/list.md", LIST);
    world
        .orch(&["next", "u"])
        .ends(3)
        .says("list.data.boxes.open is 1");
}

//! Runs with real processes as executors: what they may do, how they end, and what is left of them.

pub mod control;
mod endings;
mod executors;
mod hostile;
mod kept;
mod leftovers;
mod lifecycle;
mod limits;
mod output;
mod overreach;
mod passing;
mod questions;
mod terminal;
mod trust;

use crate::harness::{Ended, World};
use orch_read::Schema;
use serde_json::{Value, json};
use std::fs;

/// A small loop: `improve` until the score is 80, then `polish`, then done.
pub const LOOP: &str = r#"# Loop

```toml orch
[workflow]
title = "Loop"
initial = "running"
phase_key = "status"
attempts = 100
show = ["/score"]

[state]
schema = "loop-state"
[state.defaults]
score = 0
rounds = 0
notes = []
polished = false
[state.keep]
"/notes" = 3

[limits]
turns = 20
failures = 2
errors = 2
backoff = "1ms"

[action.improve]
title = "make it better"
prompt = "improver"
when = "state.score < 80"
writes = ["/score", "/notes"]
outputs = ["report.md"]

[action.polish]
writes = ["/polished"]
ensures = "state.polished"
timeout = "10s"

[ask.go_on]
title = "Go on?"
writes = ["/rounds"]
options = { "/rounds" = "[1, 2, 3]" }
default = { "/rounds" = "1" }

[artifact.report]
path = "report.md"

[phase.running]
may_produce = ["report"]
[phase.paused]
[phase.done]
terminal = true
[phase.failed]
terminal = true
success = false

[[rule]]
id = "given-up"
from = "running"
when = "run.errors >= run.max_errors"
to = "failed"
because = "too many actions failed"

[[rule]]
id = "paused"
on = "pause"
from = "running"
to = "paused"
because = "a person paused it"

[[rule]]
id = "resumed"
on = "resume"
from = "paused"
to = "running"
because = "a person resumed it"

[[rule]]
id = "started"
on = "start"
from = "paused"
to = "running"
because = "a run began"

[[rule]]
id = "stopped"
on = "stop"
from = ["running", "paused"]
to = "failed"
because = "a person stopped it"

[[rule]]
id = "resumed-or-not"
from = "paused"
wait = "a person to resume it"
because = "it is paused"

[[rule]]
id = "ask"
from = "running"
when = "state.rounds == 0"
wait = "an answer"
ask = "go_on"
because = "nobody said how many rounds"

[[rule]]
id = "improve"
from = "running"
when = "state.score < 80"
run = "improve"
set = { "/rounds" = "state.rounds + 1" }
because = "the score is below 80"

[[rule]]
id = "polish"
from = "running"
when = "!state.polished"
run = "polish"
because = "it shines not yet"

[[rule]]
id = "done"
from = "running"
when = "state.polished"
to = "done"
because = "it shines"

[[rule]]
id = "nothing-left"
from = "running"
to = "failed"
because = "what is left to do was given up"
```
"#;

/// The loop under further limits.
pub fn limited(limits: &str) -> String {
    LOOP.replace("[limits]\n", &format!("[limits]\n{limits}\n"))
}

/// A world with one task of the loop, whose executor is a script of the test.
pub struct Loop {
    pub world: World,
}

impl Loop {
    /// The loop, with a script for `sh`.
    pub fn new(script: &str) -> Self {
        Self::with(LOOP, script)
    }

    /// Another workflow, with a script for `sh`.
    pub fn with(workflow: &str, script: &str) -> Self {
        let world = World::new();
        world.write("system/workflows/loop.md", workflow);
        world.write("system/agents/improver.md", "Improve it.\n");
        let schema = json!({
            "type": "object",
            "required": ["score", "rounds", "notes", "polished"],
            "additionalProperties": false,
            "properties": {
                "score": {"type": "integer", "maximum": 100},
                "rounds": {"type": "integer"},
                "notes": {"type": "array"},
                "polished": {"type": "boolean"},
            },
        });
        world.write("system/schemas/loop-state.schema.json", schema.to_string());
        let toml = "[[root]]\npath = \"tasks/*\"\nworkflow = \"loop\"\n[executor.default]\ncommand = [\"sh\", \"executor.sh\"]\ngrace = \"300ms\"\n";
        world.write("orch.toml", toml);
        world.write("executor.sh", script);
        world.commit("Set up");
        world.orch(&["workflow", "check", "loop"]).succeeds();
        world.orch(&["new", "t"]).succeeds();
        Self { world }
    }

    /// Runs the task with questions answered by their defaults.
    pub fn run(&self) -> Ended {
        self.world.orch(&["run", "t", "--auto"])
    }

    /// The same, as one JSON document.
    pub fn run_json(&self) -> Value {
        self.world.orch_json(&["run", "t", "--auto"])
    }

    pub fn state(&self) -> Value {
        self.world.json("tasks/t/state.json")
    }

    /// Every kind of step that is recorded, with its action.
    pub fn story(&self) -> Vec<String> {
        let text = self.world.read("tasks/t/transcript.jsonl");
        let lines = text
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
        lines
            .map(|line| {
                let kind = line["kind"].as_str().expect("a kind");
                match (line["action"].as_str(), kind) {
                    (Some(action), _) => format!("{kind} {action}"),
                    (None, "advance" | "regress" | "signal") => {
                        format!("to {}", line["to"].as_str().expect("a phase"))
                    }
                    _ => kind.to_owned(),
                }
            })
            .collect()
    }

    /// What must hold after everything: no process, no lock, a valid state, nothing that git would show,
    /// and an audit that finds no forgery.
    #[track_caller]
    pub fn is_clean(&self) {
        let world = &self.world;
        assert_eq!(world.dirty(), "");
        let left = processes_in(&world.root());
        assert!(left.is_empty(), "left running: {left:?}");
        assert!(
            !world.path(".git/index.lock").exists(),
            "the index is still locked"
        );
        let own = fs::read_dir(world.path("tasks/t/.orch"))
            .into_iter()
            .flatten()
            .flatten();
        let own: Vec<_> = own
            .map(|entry| entry.file_name().to_string_lossy().into_owned())
            .collect();
        assert!(
            !own.iter().any(|name| name.contains("tmp")),
            "left behind: {own:?}"
        );
        let task = fs::File::open(world.path("tasks/t")).expect("the task");
        assert!(task.try_lock().is_ok(), "somebody still holds the task");
        let schema = crate::harness::project().join("system/schemas/state.schema.json");
        let schema = Schema::compile("state", &fs::read_to_string(schema).expect("readable"))
            .expect("a schema");
        assert_eq!(schema.validate(&self.state()), []);
        let own = self.state();
        let keys = ["score", "rounds", "notes", "polished"];
        let own: serde_json::Map<String, Value> = keys
            .iter()
            .filter_map(|key| Some(((*key).to_owned(), own.get(*key)?.clone())))
            .collect();
        let schema = world.read("system/schemas/loop-state.schema.json");
        assert_eq!(
            Schema::compile("loop", &schema)
                .expect("a schema")
                .validate(&Value::Object(own)),
            []
        );
        world.orch(&["audit"]).succeeds();
    }
}

/// The living processes that work in a directory or were started for a task in it, by what they were started
/// with.
pub fn processes_in(directory: &std::path::Path) -> Vec<String> {
    let directory = fs::canonicalize(directory).expect("there");
    let mark = format!("ORCH_STATE={}/", directory.display());
    let is_ours = |process: &std::path::Path| {
        let environment = fs::read(process.join("environ")).unwrap_or_default();
        let is_marked = environment
            .split(|byte| *byte == 0)
            .any(|entry| entry.starts_with(mark.as_bytes()));
        is_marked || fs::read_link(process.join("cwd")).is_ok_and(|cwd| cwd.starts_with(&directory))
    };
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    entries
        .filter(|entry| {
            entry
                .file_name()
                .to_string_lossy()
                .bytes()
                .all(|byte| byte.is_ascii_digit())
        })
        .filter(|entry| is_ours(&entry.path()))
        .filter_map(|entry| fs::read_to_string(entry.path().join("cmdline")).ok())
        .map(|line| line.replace('\0', " "))
        .filter(|line| !line.is_empty())
        .collect()
}

/// A script that does the work of the loop well.
pub const GOOD: &str = r#"
cat > /dev/null
case $ORCH_ACTION in
  improve)
    echo report > tasks/t/report.md
    score=$(sed -n 's/^  "score": \([0-9]*\),*$/\1/p' "$ORCH_STATE")
    echo "{\"stateUpdates\": {\"score\": $((score + 50)), \"notes\": [1, 2, 3, 4]}, \"summary\": \"better\"}" ;;
  polish)
    echo '{"stateUpdates": {"polished": true}, "cost": 0.25}' > "$ORCH_RESULT" ;;
esac
"#;

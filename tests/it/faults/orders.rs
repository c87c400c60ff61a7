//! The orders whose faults are tried: each command that writes, and what leads up to it.
//!
//! Not here: `run --interactive`, `repl`, `serve` and `mcp`, which execute these, and `demo`, which plays in a
//! repository of its own.

use crate::harness::World;
use crate::merge::{reviewed, rolled_back};
use crate::run::LOOP;
use crate::serve::DEVELOPS;

/// An order, and what leads up to it.
pub struct Order {
    pub name: &'static str,
    pub arguments: &'static [&'static str],
    pub prepare: fn(&World),
}

impl Order {
    /// What leads to the same end after a fault: the order again, and what is left to do if a part of it is done.
    pub fn again(&self) -> Vec<&'static [&'static str]> {
        match self.name {
            // What was paused may run again already.
            "resume" => vec![self.arguments, &["run", "l"]],
            _ => vec![self.arguments],
        }
    }
}

/// The executor of `run`.
pub const EXECUTOR: &str = "cp";

pub const ORDERS: [Order; 38] = [
    Order {
        name: "new",
        arguments: &["new", "n", "--title", "New"],
        prepare: |_| {},
    },
    Order {
        name: "next",
        arguments: &["next", "t"],
        prepare: |world| world.plan("t", 1),
    },
    Order {
        name: "split index",
        arguments: &["next", "t"],
        prepare: |world| {
            world.plan("t", 1);
            // Only git can write it.
            world.git(&["config", "core.splitIndex", "true"]);
            world.git(&["update-index", "--split-index"]);
        },
    },
    Order {
        name: "large index",
        arguments: &["next", "t"],
        prepare: |world| {
            world.plan("t", 1);
            // Few files with long names: other threads read and write an index from 1 MiB on.
            let deep = vec!["n".repeat(200); 18].join("/");
            (0..300).for_each(|number| world.write(&format!("{deep}/{number:03}"), "x\n"));
            world.git(&["add", &"n".repeat(200)]);
            world.git(&["commit", "-qm", "Long names"]);
        },
    },
    Order {
        name: "override",
        arguments: &["next", "t", "--override", "It is urgent.", "--to", "test"],
        prepare: |world| world.plan("t", 1),
    },
    Order {
        name: "confirm",
        arguments: &["confirm", "t", "plan", "--reason", "It stands."],
        prepare: |world| {
            world.plan("t", 1);
            world.orch(&["next", "t"]).succeeds();
            world.plan_review("t", false, 1);
            world.orch(&["next", "t"]).succeeds();
        },
    },
    Order {
        name: "rollback",
        arguments: &["rollback", "t", "--to", "planning", "--reason", "Again."],
        prepare: |world| world.walk_to("t", "codegen"),
    },
    Order {
        name: "approve",
        arguments: &["approve", "t"],
        prepare: |world| world.walk_to("t", "accept"),
    },
    Order {
        name: "reopen",
        arguments: &["reopen", "t", "--reason", "It came back."],
        prepare: |world| world.walk_to("t", "done"),
    },
    Order {
        name: "rename",
        arguments: &["rename", "t", "u"],
        prepare: |_| {},
    },
    Order {
        name: "archive",
        arguments: &["archive", "t"],
        prepare: |world| world.walk_to("t", "done"),
    },
    Order {
        name: "recover",
        arguments: &["recover", "t"],
        prepare: |world| {
            world.walk_to("t", "codegen");
            world.remove("tasks/t/state.json");
        },
    },
    Order {
        name: "watch",
        arguments: &["watch", "--once"],
        prepare: |world| {
            world.plan("t", 1);
            // Nothing is due for it. If something were, one task could rightly move without the other.
            world.orch(&["new", "s"]).succeeds();
        },
    },
    Order {
        name: "reject",
        arguments: &["reject", "t", "--reason", "No."],
        prepare: |world| world.walk_to("t", "accept"),
    },
    Order {
        name: "undo",
        arguments: &["undo", "t", "--reason", "It was right."],
        prepare: |world| {
            world.walk_to("t", "review");
            rolled_back(world);
        },
    },
    Order {
        name: "adopt",
        arguments: &["new", "a"],
        prepare: |world| {
            world.write(
                "tasks/a/state.json",
                "{\"phase\": \"planning\", \"owner\": \"Ann\"}\n",
            )
        },
    },
    Order {
        name: "import",
        arguments: &["new", "l", "--workflow", "ccw-loop"],
        prepare: |world| {
            world.write(
                "tasks/l/state.json",
                include_str!("../../../fixtures/imports/loop-pending.json"),
            );
        },
    },
    Order {
        name: "resolve",
        arguments: &["resolve"],
        prepare: |world| {
            world.walk_to("t", "plan_review");
            world.git(&["switch", "-q", "-c", "work"]);
            rolled_back(world);
            world.git(&["switch", "-q", "main"]);
            reviewed(world);
            assert_ne!(
                world.git_ended(&["merge", "-q", "--no-edit", "work"]).code,
                0
            );
        },
    },
    Order {
        name: "batch",
        arguments: &["watch", "--once"],
        prepare: |world| {
            let config = world
                .read("orch.toml")
                .replace("#batch_seconds = 0", "batch_seconds = 1");
            world.write("orch.toml", config);
            world.commit("Batch");
            // Of several tasks, each may move alone if they cannot move together.
            world.plan("t", 1);
            world.plan_review("t", true, 1);
        },
    },
    Order {
        name: "run",
        arguments: &["run", "t", "--auto"],
        prepare: |world| {
            world.walk_to("t", "test");
            world.tests("t", 0, 1);
            let report = world.read("tasks/t/eval/junit.xml");
            world.remove("tasks/t/eval/junit.xml");
            world.write("report.xml", report);
            executed_by(
                world,
                &format!("[\"{EXECUTOR}\", \"report.xml\", \"tasks/t/eval/junit.xml\"]"),
            );
        },
    },
    Order {
        name: "answer",
        arguments: &["answer", "l", "target_skill.path=skills/x"],
        prepare: |world| {
            drop(
                world
                    .orch(&["new", "l", "--workflow", "skill-tuning"])
                    .succeeds(),
            )
        },
    },
    Order {
        name: "pause",
        arguments: &["pause", "l"],
        prepare: looping,
    },
    Order {
        name: "resume",
        arguments: &["resume", "l"],
        prepare: |world| {
            executed_by(world, "[\"true\"]");
            looping(world);
            world.orch(&["pause", "l"]).succeeds();
        },
    },
    Order {
        name: "stop",
        arguments: &["stop", "l"],
        prepare: |world| {
            drop(
                world
                    .orch(&["new", "l", "--workflow", "skill-tuning"])
                    .succeeds(),
            )
        },
    },
    Order {
        name: "trust",
        arguments: &["trust"],
        prepare: |world| executed_by(world, "[\"true\"]"),
    },
    Order {
        name: "install",
        arguments: &["hook", "install"],
        prepare: |_| {},
    },
    Order {
        name: "uninstall",
        arguments: &["hook", "uninstall"],
        prepare: |world| {
            world.write(".git/hooks/pre-commit", "#!/bin/sh\n");
            crate::harness::executable(&world.path(".git/hooks/pre-commit"));
            world.orch(&["hook", "install"]).succeeds();
        },
    },
    Order {
        name: "doctor",
        arguments: &["doctor", "--fix"],
        prepare: |world| {
            world.orch(&["hook", "install"]).succeeds();
            world.shell("chmod -x .git/hooks/pre-commit");
        },
    },
    Order {
        name: "init",
        arguments: &["init"],
        prepare: |world| {
            world.git(&["rm", "-q", "-r", "orch.toml", "system", "AGENTS.md"]);
            world.git(&["commit", "-q", "-m", "Without orch"]);
        },
    },
    Order {
        name: "init claude",
        arguments: &["init", "--agent", "claude"],
        prepare: |_| {},
    },
    Order {
        name: "init remove",
        arguments: &["init", "--agent", "claude", "--remove"],
        prepare: |world| {
            world.orch(&["init", "--agent", "claude"]).succeeds();
            world.commit("An agent");
        },
    },
    Order {
        name: "fmt",
        arguments: &["workflow", "fmt"],
        prepare: |world| {
            let path = "system/workflows/global-state-machine.md";
            let text = world
                .read(path)
                .replace("stateDiagram-v2", "stateDiagram-v2\n    outdated");
            world.write(path, text);
            world.commit("An outdated diagram");
        },
    },
    Order {
        name: "generate",
        arguments: &["generate", "l", "--count", "1"],
        prepare: |world| {
            let proposes = r#"echo '{"tasks": [{"description": "two", "mode": "analysis", "prompt_template": "p"}]}'"#;
            world.write("propose.sh", proposes);
            world.write("executor.sh", DEVELOPS);
            executed_by(world, "[\"sh\", \"executor.sh\"]");
            world
                .orch(&["new", "l", "--workflow", "ccw-loop"])
                .succeeds();
            world.orch(&["run", "l", "--auto"]).ends(3);
            world.orch(&["pause", "l"]).succeeds();
        },
    },
    Order {
        name: "merge-driver",
        arguments: &[
            "merge-driver",
            ".git/made/base",
            ".git/made/ours",
            ".git/made/theirs",
            "tasks/t/transcript.jsonl",
        ],
        prepare: |world| {
            world.walk_to("t", "plan_review");
            world.write(".git/made/base", world.read("tasks/t/transcript.jsonl"));
            world.git(&["switch", "-q", "-c", "work"]);
            rolled_back(world);
            world.write(".git/made/theirs", world.read("tasks/t/transcript.jsonl"));
            world.git(&["switch", "-q", "main"]);
            reviewed(world);
            world.write(".git/made/ours", world.read("tasks/t/transcript.jsonl"));
        },
    },
    Order {
        name: "workflow new",
        arguments: &["workflow", "new", "made", "--from", "skill.json"],
        prepare: |world| {
            world.write(
                "skill.json",
                include_str!("../../../fixtures/skills/valid/issue-triage.json"),
            );
            world.commit("A skill");
        },
    },
    Order {
        name: "rename a file",
        arguments: &["rename", "a", "b"],
        prepare: |world| {
            let config = world.read("orch.toml");
            let root = "[[root]]\npath = \"docs/adr/*.md\"\nworkflow = \"backlog\"\n";
            world.write("orch.toml", format!("{config}\n{root}"));
            world.write(
                "docs/adr/a.md",
                "---\nid: a\ntitle: A\nstatus: To Do\n---\n",
            );
            world.commit("A task that is a file");
            world.orch(&["new", "a"]).succeeds();
        },
    },
    Order {
        name: "board",
        arguments: &["board", "--html", "made/board.html"],
        prepare: |world| {
            world.walk_to("t", "codegen");
            world.write("made/board.html", "<!DOCTYPE html> an old board");
        },
    },
    Order {
        name: "man",
        arguments: &["man", "--dir", ".git/made"],
        prepare: |_| {},
    },
];

/// A task `l` of a loop that can be paused and that asks first.
fn looping(world: &World) {
    world.write("system/workflows/loop.md", LOOP);
    world.write("system/agents/improver.md", "Improve it.\n");
    world.write(
        "system/schemas/loop-state.schema.json",
        "{\"type\": \"object\"}\n",
    );
    world.commit("A loop");
    world.orch(&["new", "l", "--workflow", "loop"]).succeeds();
}

/// Names the program that executors start.
fn executed_by(world: &World, command: &str) {
    let config = format!(
        "{}\n[executor.default]\ncommand = {command}\n",
        world.read("orch.toml")
    );
    world.write("orch.toml", config);
    world.commit("An executor");
}

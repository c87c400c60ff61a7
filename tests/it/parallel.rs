//! Many tasks side by side, each in a work tree of its own.

use crate::harness::{World, eventually};
use rustix::process::{Pid, Signal, kill_process};
use std::fs;

/// A note, and a check of it.
const WORKFLOW: &str = r#"# Pair

```toml orch
[workflow]
title = "Pair"
initial = "write"
[artifact.note]
path = "note.md"
[artifact.check]
path = "check.md"
[phase.write]
agent = "writer"
produces = ["note"]
[phase.check]
agent = "checker"
produces = ["check"]
needs = ["note"]
[phase.done]
terminal = true
[[rule]]
id = "written"
from = "write"
when = "note.ready"
to = "check"
because = "the note is there"
[[rule]]
id = "checked"
from = "check"
when = "check.ready"
to = "done"
because = "it is checked"
```
"#;

/// Writes the note and some code, then the check. `c` and `d` write the same file. Who was sent back merges the base branch.
const EXECUTOR: &str = r#"
cat > /dev/null
test -e prepared || exit 9
name=$ORCH_TASK
if [ -e "$SLOW" ]; then
    echo $$ > "$SLOW.$name"
    sleep 60
fi
if [ ! -e tasks/$name/note.md ]; then
    echo "$name" > tasks/$name/note.md
    case $name in c|d) file=shared.txt;; *) file=$name.txt;; esac
    echo "$name" > $file
    git add $file
    git commit -q -m "Code of $name"
else
    if [ -e tasks/$name/check.md ]; then
        git merge -q main 2>/dev/null || echo both > shared.txt
        echo "$name" > mended-$name.txt
        git add '*.txt'
        git commit -q -m "Merge main into $name"
    fi
    echo "$name $(git rev-parse HEAD)" > tasks/$name/check.md
fi
"#;

/// A repository with these tasks, whose executor is the script.
fn world(tasks: &[&str], more: &str) -> World {
    let world = World::new();
    world.write("system/workflows/pair.md", WORKFLOW);
    world.write("system/agents/writer.md", "Write.\n");
    world.write("system/agents/checker.md", "Check.\n");
    world.write("executor.sh", EXECUTOR);
    world.write(".gitignore", "prepared\n");
    let toml = "[[root]]\npath = \"tasks/*\"\nworkflow = \"pair\"\n[executor.default]\ncommand = [\"sh\", \"executor.sh\"]\n[worktrees]\nmerge = \"merge\"\nsetup = [[\"sh\", \"-c\", \"echo > prepared\"]]\n";
    world.write("orch.toml", format!("{toml}{more}"));
    world.commit("Set up");
    for task in tasks {
        world.orch(&["new", task]).succeeds();
    }
    world
}

/// The names in the directory of the work trees.
fn trees(world: &World) -> Vec<String> {
    let entries = fs::read_dir(world.base().join("repo.orch"));
    let names = entries.into_iter().flatten().flatten();
    let mut names: Vec<String> = names
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    names
}

/// The work of `a` and `b` fits each of their branches and fails together; `c` and `d` change the same file.
#[test]
fn tasks_are_worked_on_side_by_side_and_merged_one_at_a_time() {
    let verify = "[verify.tests]\ncommand = [\"sh\", \"test.sh\"]\n";
    let world = world(&["a", "b", "c", "d"], verify);
    world.write(
        "test.sh",
        "test ! -e a.txt || test ! -e b.txt || ls mended-*\n",
    );
    world.commit("Tests");
    for task in ["a", "b", "c", "d"] {
        world.git(&["branch", &format!("task/{task}")]);
    }
    world.write("mine.txt", "mine\n");
    let answer = world.orch_json(&["run", "--parallel", "2"]);
    let states: Vec<(&str, &str)> = answer["tasks"]
        .as_array()
        .expect("tasks")
        .iter()
        .map(|task| {
            let text = |key: &str| task[key].as_str().expect("a text");
            (text("task"), text("state"))
        })
        .collect();
    assert_eq!(
        states,
        [
            ("a", "merged"),
            ("b", "merged"),
            ("c", "merged"),
            ("d", "merged")
        ],
        "{answer:#}"
    );
    for task in ["a", "b", "c", "d"] {
        assert_eq!(world.phase(task), "done");
    }
    assert_eq!(world.read("shared.txt"), "both\n");
    let mut sent_back = String::new();
    for task in ["a", "b", "c", "d"] {
        sent_back += &world.orch(&["log", task]).succeeds().stdout;
    }
    assert!(
        sent_back.contains("it conflicts with main in shared.txt"),
        "{sent_back}"
    );
    assert!(
        sent_back.contains("merged with main, a verification fails"),
        "{sent_back}"
    );
    // Nothing of the person's was touched, and nothing is left.
    assert_eq!(world.dirty(), "?? mine.txt\n");
    assert_eq!(trees(&world), [""; 0]);
    world
        .orch(&["worktrees"])
        .succeeds()
        .says("no task has a work tree");
    world.orch(&["audit"]).succeeds();
    world
        .orch(&["run", "--parallel", "2"])
        .ends(3)
        .says("no task is free");
    // A branch that is checked out by a person fails alone.
    world.orch(&["new", "e"]).succeeds();
    world.orch(&["new", "f"]).succeeds();
    world.git(&["worktree", "add", "-q", "-b", "task/e", "../mine"]);
    world
        .orch(&["run", "--parallel", "2"])
        .ends(1)
        .says("the branch task/e is checked out in")
        .says("f  merged");
}

/// The merge of `a` takes until `b` is done, and fails if `c` begins meanwhile.
#[test]
fn while_a_task_waits_to_be_merged_no_other_is_begun() {
    let verify = "[verify.tests]\ncommand = [\"sh\", \"test.sh\"]\n";
    let world = world(&["a", "b", "c"], verify);
    let trees = world.base().join("repo.orch").display().to_string();
    world.write(
        "test.sh",
        format!(
            "test ! -e b.txt || exit 0
until [ -e {trees}/b/tasks/b/check.md ]; do sleep 0.1; done
sleep 2
test ! -e {trees}/c
"
        ),
    );
    for task in ["a", "b", "c"] {
        world.git(&["branch", &format!("task/{task}")]);
    }
    // So the merge gives other code than the branch has.
    world.commit("Tests");
    let answer = world.orch_json(&["run", "--parallel", "1"]);
    for task in answer["tasks"].as_array().expect("tasks") {
        assert_eq!(task["state"], "merged", "{answer:#}");
    }
    for task in ["a", "b", "c"] {
        assert_eq!(world.phase(task), "done");
    }
    let log = world.orch(&["log", "a"]).succeeds().stdout;
    assert!(!log.contains("a verification fails"), "{log}");
}

#[test]
fn an_interrupt_ends_all_and_the_next_goes_on_and_nothing_is_lost() {
    let world = world(&["a", "b"], "");
    let slow = world.base().join("slow");
    fs::write(&slow, "").expect("written");
    let start = |arguments: &[&str]| {
        let mut command = world.orch_command(arguments);
        command.env("SLOW", &slow).env_remove("ORCH_NOW");
        command.stdin(std::process::Stdio::null());
        command.stdout(std::process::Stdio::null());
        command.stderr(std::process::Stdio::null());
        command.spawn().expect("orch starts")
    };
    let working = ["../slow.a", "../slow.b"];
    for (signal, code) in [(Signal::INT, Some(130)), (Signal::KILL, None)] {
        let mut child = start(&["run", "--parallel", "2"]);
        eventually("both work", || working.iter().all(|file| world.lives(file)));
        kill_process(Pid::from_child(&child), signal).expect("it lives");
        assert_eq!(child.wait().expect("it ends").code(), code);
        eventually("nothing is left", || {
            !working.iter().any(|file| world.lives(file))
        });
    }
    fs::remove_file(&slow).expect("removed");
    world
        .orch(&["worktrees", "--clean"])
        .succeeds()
        .says("stays: the task is not done");
    // Uncommitted work of a person keeps the base branch where it is.
    world.write("executor.sh", format!("{EXECUTOR}# mine\n"));
    world
        .orch(&["run", "--parallel", "2"])
        .ends(3)
        .says("uncommitted changes (executor.sh)");
    assert_eq!(world.dirty(), " M executor.sh\n");
    world.git(&["checkout", "-q", "executor.sh"]);
    fs::write(world.base().join("repo.orch/a/mine.txt"), "mine\n").expect("written");
    world
        .orch(&["run", "--parallel", "2"])
        .succeeds()
        .says("its work tree stays: mine.txt is not committed");
    assert_eq!(trees(&world), ["a"]);
    world
        .orch(&["worktrees", "--clean"])
        .succeeds()
        .says("stays: mine.txt is not committed");
    fs::remove_file(world.base().join("repo.orch/a/mine.txt")).expect("removed");
    world
        .orch(&["worktrees", "--clean"])
        .succeeds()
        .says("removed");
    assert_eq!(trees(&world), [""; 0]);
    // A work tree that was not prepared is made anew, and `orch work` waits for tasks.
    let mut child = start(&["work"]);
    world.write("../repo.orch/team+x/half", "made\n");
    world.write(".git/orch/worktrees/team+x.unprepared", "");
    let toml = world.read("orch.toml").replace("tasks/*", "tasks/**");
    world.write("orch.toml", toml);
    world.commit("Teams");
    world.orch(&["new", "x"]).succeeds();
    eventually("it is merged", || world.path("x.txt").exists());
    kill_process(Pid::from_child(&child), Signal::TERM).expect("it lives");
    assert_eq!(child.wait().expect("it ends").code(), Some(0));
    world.orch(&["new", "team/x"]).succeeds();
    world.write(
        "executor.sh",
        EXECUTOR.replace("$name.txt", "$(basename $name).txt"),
    );
    world.commit("Names");
    world
        .orch(&["run", "--parallel", "1", "team/x"])
        .succeeds()
        .says("team/x  merged");
}

/// Clones have their own git directory, so what is trusted in the repository has to count there. The commits of the tasks end in
/// one line, or on a remote if the base branch is protected.
#[test]
fn tasks_are_worked_on_in_clones_and_put_on_top_of_each_other() {
    let world = world(&["a", "b"], "kind = \"clone\"\n");
    let toml = world.read("orch.toml").replace("\"merge\"", "\"rebase\"");
    world.write("orch.toml", &toml);
    world.commit("Rebase");
    let untrusting = |arguments: &[&str]| {
        let mut command = world.orch_command(arguments);
        command.env_remove("ORCH_TRUST_ONCE");
        world.end(command.output().expect("orch runs"))
    };
    untrusting(&["run", "--parallel", "2"])
        .ends(6)
        .reports("nobody has trusted `sh -c 'echo > prepared'` of [worktrees] in orch.toml");
    untrusting(&["trust"]).succeeds();
    untrusting(&["run", "--parallel", "2"])
        .succeeds()
        .says("a  merged")
        .says("b  merged");
    assert_eq!(world.git(&["log", "--merges", "--format=%s"]), "");
    assert_eq!(trees(&world), [""; 0]);
    assert_eq!(world.dirty(), "");
    world.git(&["init", "-q", "--bare", "../remote.git"]);
    world.git(&["remote", "add", "origin", "../remote.git"]);
    world.write(
        "orch.toml",
        format!("{toml}[git]\nprotected = [\"main\"]\n"),
    );
    world.write("tasks/c/brief.md", "c\n");
    world.git(&["switch", "-q", "-c", "new"]);
    world.orch(&["new", "c"]).succeeds();
    world.commit("Protect");
    world.git(&["branch", "-f", "main", "new"]);
    world
        .orch(&["run", "--parallel", "2"])
        .succeeds()
        .says("c  pushed")
        .says("orch pr c --at task/c describes it");
    let there = world.git(&["ls-remote", "origin"]);
    assert!(there.contains("refs/heads/task/c"), "{there}");
    assert_eq!(trees(&world), [""; 0]);
}

#[test]
fn a_worker_says_where_a_queue_has_to_be_named() {
    let world = world(&["a"], "");
    for (queue, code, said) in [
        ("", 2, "nothing says where the queue is"),
        ("nats://127.0.0.1:1", 2, "nothing says which bucket"),
        (
            "nats://127.0.0.1:1/a.b",
            2,
            "the name of a bucket has letters",
        ),
        (
            "nats://ann:secret@host/shop",
            2,
            "it must not contain a name or a password",
        ),
    ] {
        let words: Vec<&str> = ["work", "--queue", queue]
            .into_iter()
            .filter(|word| !word.is_empty())
            .collect();
        world.orch(&words).ends(code).reports(said);
    }
    if !cfg!(feature = "nats") {
        let words = ["work", "--queue", "nats://127.0.0.1:1/shop"];
        world
            .orch(&words)
            .ends(70)
            .reports("without the feature `nats`");
    }
}

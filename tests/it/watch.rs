//! `orch watch` in the background, while files come and go.

use crate::harness::{World, eventually};
use crate::looks::{caller, open, world};
use orch_engine::apply::Order;
use orch_engine::drive::{WatchEffect, WatchEvent, WatchHandle, WatchLoop, WatchMode, Watching};
use orch_engine::survey::Error;
use std::io::{BufRead, BufReader};
use std::process::Child;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

const PLAN: &str =
    r#"{"id": "p", "title": "T", "brief": "B", "status": "final", "scope": {"in_scope": ["a"]}}"#;

/// A running watch and the lines it prints.
pub struct Running {
    child: Child,
    lines: Receiver<String>,
}

impl Running {
    /// Starts a watch and waits until it watches.
    pub fn start(world: &World) -> Self {
        Self::start_at(world, ".")
    }

    /// The same in another directory.
    pub fn start_at(world: &World, directory: &str) -> Self {
        let mut child = world.orch_spawn(&["-C", directory, "watch", "--json"]);
        let stdout = child.stdout.take().expect("piped");
        let (sender, lines) = channel();
        std::thread::spawn(move || {
            for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                if sender.send(line).is_err() {
                    break;
                }
            }
        });
        let running = Self { child, lines };
        let first = running.lines.recv().expect("it says that it watches");
        assert!(first.contains("\"started\""), "{first}");
        running
    }

    /// Waits until it ends by itself; returns the exit code and what it printed since.
    pub fn ended(mut self) -> (Option<i32>, Vec<String>) {
        let mut status = None;
        eventually("it ends", || {
            status = self.child.try_wait().expect("waited for");
            status.is_some()
        });
        (
            status.and_then(|status| status.code()),
            self.lines.iter().collect(),
        )
    }

    /// Interrupts it as Ctrl-C does; returns the exit code and what it printed since.
    pub fn stop(mut self) -> (Option<i32>, Vec<String>) {
        assert!(
            interrupt(&self.child.id().to_string()),
            "it can be interrupted"
        );
        let status = self.child.wait().expect("it ends");
        (status.code(), self.lines.iter().collect())
    }
}

#[expect(
    clippy::disallowed_methods,
    reason = "a test sends a signal as a person would"
)]
fn interrupt(process: &str) -> bool {
    std::process::Command::new("kill")
        .args(["-INT", process])
        .status()
        .is_ok_and(|status| status.success())
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

const DESK: &str = r#"# Desk
```toml orch
[artifact.verdict]
path = "verdict.json"

[phase.review]
owner = "human"
produces = ["verdict"]

[phase.late]
owner = "human"
produces = ["verdict"]

[phase.done]
terminal = true

[deadline.review]
after = "2s"

[[rule]]
id = "accepted"
from = ["review", "late"]
when = "verdict.ready"
to = "done"
because = "there is a verdict"

[[rule]]
id = "escalate"
from = "review"
when = "lapsed.review"
to = "late"
because = "nobody reviewed in time"
```
"#;

#[test]
fn a_watch_wakes_when_a_deadline_has_passed_and_others_record_it_when_they_come() {
    let world = World::ready();
    world.write("system/workflows/desk.md", DESK);
    world.commit("a desk");
    world.orch(&["new", "u", "--workflow", "desk"]).succeeds();
    // The clock of the world has gone on by more than two seconds.
    let told = world.orch(&["suggest", "u"]);
    told.says("which no step has recorded: orch next u");
    world.orch(&["next", "u", "--to", "done"]).ends(1);
    world
        .orch(&["log", "u"])
        .says("the deadline `review` passed in attempt 1");
    world.orch(&["next", "u"]).succeeds();
    assert_eq!(world.phase("u"), "late");
    world.orch(&["status"]).succeeds();
    let running = Running::start(&world);
    let mut child = world.orch_spawn(&["new", "t", "--workflow", "desk"]);
    assert!(child.wait().expect("it ends").success());
    eventually("the watch records it", || world.phase("t") == "late");
    let (code, lines) = running.stop();
    assert_eq!(code, Some(0), "{lines:?}");
    world.orch(&["audit"]).succeeds();
    world.orch(&["check"]).succeeds();
}

#[test]
fn a_written_artifact_leads_to_a_commit_and_ctrl_c_ends_it() {
    let world = World::ready();
    world.orch(&["new", "t1"]).succeeds();
    let running = Running::start(&world);
    world.write("tasks/t1/planning/plan.json", PLAN);
    eventually("the task moves", || world.phase("t1") == "plan_review");
    eventually("the suggestion is written", || {
        world.path("tasks/t1/suggestion.json").exists()
    });
    eventually("nothing is left", || world.dirty().is_empty());
    let (code, lines) = running.stop();
    assert_eq!(code, Some(0));
    assert!(
        lines
            .iter()
            .any(|line| line.contains("\"event\":\"transition\"")),
        "{lines:#?}"
    );
    assert!(
        lines
            .last()
            .is_some_and(|line| line.contains("\"stopped\"")),
        "{lines:#?}"
    );
    for line in &lines {
        serde_json::from_str::<serde_json::Value>(line).expect("one JSON document a line");
    }
}

#[test]
fn a_file_that_a_phase_requires_wakes_the_watch_when_it_appears_and_when_it_is_removed() {
    let world = World::ready();
    let workflow = world
        .orch(&["workflow", "show", "global-state-machine"])
        .succeeds()
        .stdout;
    let requiring = "[phase.planning]\nrequires = [\"docs/specs/rules.md\"]";
    world.write(
        "system/workflows/global-state-machine.md",
        workflow.replacen("[phase.planning]", requiring, 1),
    );
    // So that the decision stays the same except for the file.
    world.write("orch.toml", "[watch]\napply = \"none\"\n");
    world.commit("require the rules");
    world.orch(&["new", "t1"]).succeeds();
    let _running = Running::start(&world);
    let is_told = |key: &str, value: &str| {
        let told =
            std::fs::read_to_string(world.path("tasks/t1/suggestion.json")).unwrap_or_default();
        let told: serde_json::Value = serde_json::from_str(&told).unwrap_or_default();
        told["suggestions"][0][key]
            .as_str()
            .is_some_and(|text| text.contains(value))
    };
    world.write("tasks/t1/planning/plan.json", PLAN);
    eventually("the rules are missed", || {
        is_told("reason", "docs/specs/rules.md")
    });
    // Neither the file nor its directories were there when the watch began.
    world.write("docs/specs/rules.md", "Rules.\n");
    eventually("the task may move", || is_told("kind", "transition"));
    world.remove("docs/specs/rules.md");
    eventually("the rules are missed again", || {
        is_told("reason", "docs/specs/rules.md")
    });
    world.write("docs/specs/rules.md", "Rules again.\n");
    eventually("the task may move again", || is_told("kind", "transition"));
}

#[test]
fn three_hundred_tasks_at_once_all_end_where_they_belong() {
    let world = World::ready();
    world.write("orch.toml", "[watch]\nadopt = true\n");
    world.git(&["commit", "-qam", "adopt"]);
    let _running = Running::start(&world);
    for number in 0..300 {
        world.write(&format!("tasks/t{number}/planning/plan.json"), PLAN);
    }
    eventually("all are in plan_review", || {
        (0..300).all(|number| {
            std::fs::read_to_string(world.path(&format!("tasks/t{number}/state.json")))
                .is_ok_and(|text| text.contains("\"phase\": \"plan_review\""))
        })
    });
    eventually("nothing is left", || world.dirty().is_empty());
    let subjects = world.git(&["log", "--format=%s"]);
    assert_eq!(
        subjects
            .lines()
            .filter(|line| line.ends_with("-> plan_review"))
            .count(),
        300
    );
    assert_eq!(
        subjects
            .lines()
            .filter(|line| line.contains(": new -> "))
            .count(),
        300
    );
}

#[test]
fn an_open_commit_holds_transitions_back() {
    let world = World::ready();
    world.orch(&["new", "t1"]).succeeds();
    let mut commit = world.command("git");
    let gate = world.path("../gate");
    let editor = format!(
        "sh -c 'while [ ! -e \"{}\" ]; do sleep 0.05; done; echo by hand > \"$0\"'",
        gate.display()
    );
    let mut editing = commit
        .args(["commit", "--allow-empty"])
        .env("GIT_EDITOR", editor)
        .spawn()
        .expect("git starts");
    eventually("the editor is open", || {
        world.path(".git/COMMIT_EDITMSG").exists()
    });
    world.write("tasks/t1/planning/plan.json", PLAN);
    world.orch(&["next", "t1"]).ends(4).reports("git commit");
    let running = Running::start(&world);
    let held = running
        .lines
        .recv_timeout(std::time::Duration::from_secs(30))
        .expect("it says something");
    assert!(held.contains("\"held\""), "{held}");
    std::fs::write(&gate, "").expect("the gate opens");
    assert!(
        editing.wait().expect("git ends").success(),
        "the user's commit went through"
    );
    eventually("then the task moves", || world.phase("t1") == "plan_review");
    let subjects = world.git(&["log", "--format=%s", "-2"]);
    assert_eq!(subjects, "orch(t1): planning -> plan_review\nby hand\n");
}

#[test]
fn a_quiet_repository_stays_quiet() {
    let world = World::ready();
    world.orch(&["new", "t1"]).succeeds();
    let running = Running::start(&world);
    world.write("tasks/t1/planning/plan.json", &PLAN[..40]);
    world.write("tasks/t1/planning/plan.json", PLAN);
    eventually("the task moves", || world.phase("t1") == "plan_review");
    let commits = world.git(&["rev-list", "--count", "HEAD"]);
    std::thread::sleep(Duration::from_millis(700));
    assert_eq!(world.git(&["rev-list", "--count", "HEAD"]), commits);
    let (_, lines) = running.stop();
    assert!(
        !lines.iter().any(|line| line.contains("json-syntax")),
        "a half-written file is not a finding: {lines:#?}"
    );
}

#[test]
fn a_root_added_while_watching_is_watched() {
    let world = World::ready();
    let _running = Running::start(&world);
    world.write(
        "orch.toml",
        "[[root]]\npath = \"work/*\"\n\n[watch]\nadopt = true\n",
    );
    // The settings are read again at some moment; a task that comes then is seen.
    let mut number = 0;
    eventually("a task of the new root moves", || {
        number += 1;
        world.write(&format!("work/n{number}/planning/plan.json"), PLAN);
        std::thread::sleep(Duration::from_millis(300));
        (1..=number).any(|number| world.path(&format!("work/n{number}/state.json")).exists())
    });
}

/// A deadline that only turns a hang into a failure. Shorter than the interval of the rescans, each of which
/// would also end the wait.
const HANG: Duration = Duration::from_secs(30);

/// Runs a watch in another thread and changes the settings once it watches. `reloaded` is called within the
/// effect that the settings were read again. The channel is closed when the watch has ended.
fn reloading(
    world: &World,
    reloaded: impl Fn(&WatchHandle) + Send + 'static,
) -> (WatchHandle, Receiver<()>) {
    let watch = WatchLoop::new(open(world), caller(), WatchMode::Apply, false).expect("it listens");
    let (handle, settings) = (watch.handle(), world.path("orch.toml"));
    let (ends, ended) = channel();
    let own = handle.clone();
    std::thread::spawn(move || {
        let done = watch.run::<Error>(&mut |_, effect| {
            match effect {
                WatchEffect::Watching { .. } => {
                    std::fs::write(&settings, "[watch]\nreconcile_seconds = 600\n")
                        .expect("written");
                }
                WatchEffect::Reloaded => reloaded(&own),
                _ => {}
            }
            Ok(())
        });
        done.expect("no error");
        drop(ends);
    });
    (handle, ended)
}

#[test]
fn a_stop_while_the_settings_are_read_again_ends_the_watch() {
    let world = world();
    let (_handle, ended) = reloading(&world, |handle| handle.stop());
    assert_eq!(
        ended.recv_timeout(HANG),
        Err(RecvTimeoutError::Disconnected)
    );
}

#[test]
fn an_order_while_the_settings_are_read_again_is_answered() {
    let world = world();
    let task = open(&world).finder().task("t1").expect("a task");
    let (tell, answers) = channel();
    let (handle, ended) = reloading(&world, move |handle| {
        let order = Order::Override {
            to: Some("plan_review".to_owned()),
            reason: "now".to_owned(),
        };
        tell.send(handle.order(caller(), task.clone(), order))
            .expect("someone waits");
    });
    let answer = answers
        .recv_timeout(HANG)
        .expect("the settings are read again");
    let applied = answer
        .recv_timeout(HANG)
        .expect("an answer")
        .expect("it is executed");
    assert_eq!(applied.steps.len(), 1);
    handle.stop();
    assert_eq!(
        ended.recv_timeout(HANG),
        Err(RecvTimeoutError::Disconnected)
    );
}

#[test]
fn every_step_of_a_long_batch_is_printed_with_its_number_its_time_and_its_actor() {
    const STEPS: usize = 13;
    let phases: String = (0..STEPS)
        .map(|nth| format!("[phase.p{nth}]\nproduces = [\"go\"]\n\n"))
        .collect();
    let rules: String = (0..STEPS)
        .map(|nth| {
            let to = if nth + 1 == STEPS {
                "done".to_owned()
            } else {
                format!("p{}", nth + 1)
            };
            format!(
                "[[rule]]\nid = \"r{nth}\"\nfrom = \"p{nth}\"\nwhen = \"go.ready\"\nto = \"{to}\"\n\
                 because = \"it continues\"\n\n"
            )
        })
        .collect();
    let world = World::ready();
    world.write(
        "system/workflows/long.md",
        format!(
            "# Long\n\n```toml orch\n[workflow]\ntitle = \"Long\"\ninitial = \"p0\"\n\n[artifact.go]\n\
             path = \"go.md\"\n\n{phases}[phase.done]\nterminal = true\n\n{rules}```\n"
        ),
    );
    world.write(
        "orch.toml",
        "[[root]]\npath = \"long/*\"\nworkflow = \"long\"\n",
    );
    world.orch(&["new", "t"]).succeeds();
    world.write("long/t/go.md", "Go.\n");
    let ended = world.orch(&["watch", "--once", "--json"]).succeeds();
    let events = ended
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).expect("JSON"));
    let steps: Vec<serde_json::Value> = events
        .map(|event: serde_json::Value| event["transition"].clone())
        .filter(|step| step.is_object())
        .collect();
    assert_eq!(steps.len(), STEPS, "{steps:#?}");
    for (step, seq) in steps.iter().zip(2..) {
        assert_eq!(step["seq"], seq, "{step:#}");
        assert!(
            step["at"].is_string() && step["actor"]["kind"].is_string(),
            "{step:#}"
        );
    }
}

/// A watch over the task `t1` and so many others, each of which the first batch adopts.
pub fn many(tasks: usize) -> World {
    let world = world();
    world.write(
        "orch.toml",
        world
            .read("orch.toml")
            .replace("#adopt = false", "adopt = true"),
    );
    for number in 0..tasks {
        world.write(&format!("tasks/n{number:03}/planning/plan.md"), "later\n");
    }
    world
}

#[test]
fn a_stop_ends_a_batch_between_two_tasks() {
    // Few commits are made one by one, and many as one pack.
    for tasks in [8, 40] {
        let world = many(tasks);
        let commits = || {
            world
                .git(&["rev-list", "--count", "HEAD"])
                .trim()
                .parse::<usize>()
                .expect("a number")
        };
        let before = commits();
        let begun = Arc::new(AtomicBool::new(false));
        let (own, asked) = (Arc::clone(&begun), Arc::new(AtomicUsize::new(0)));
        // It is asked before each task is looked at, looked at again, and after each commit of it; here it stops
        // between two commits of the batch.
        let last = 1 + (tasks + 1) + 1 + tasks + 4;
        let counted = Arc::clone(&asked);
        let mut watching =
            Watching::new(open(&world), caller(), WatchMode::Apply).until(move || {
                own.load(Ordering::SeqCst) && counted.fetch_add(1, Ordering::SeqCst) >= last
            });
        watching.begin(vec![WatchEvent::Start]);
        begun.store(true, Ordering::SeqCst);
        let effects = watching.go_on().expect("a part");
        let moved = effects
            .iter()
            .filter(|effect| matches!(effect, WatchEffect::Moved(_)))
            .count();
        assert!((1..tasks).contains(&moved), "{moved} of {tasks}");
        assert_eq!(
            commits() - before,
            moved,
            "each that is told is committed, and no other"
        );
        assert!(watching.go_on().is_none(), "it has ended");
        assert_eq!(
            world.git(&["status", "--porcelain", "--untracked-files=no", "tasks"]),
            ""
        );
        drop(watching);
        // The next watch does the rest.
        world.orch(&["watch", "--once"]).succeeds();
        assert_eq!(commits() - before, tasks);
        world.orch(&["audit", "--strict"]).succeeds();
    }
}

#[test]
fn a_stopped_watch_begins_no_further_part() {
    let world = many(250);
    let watch =
        WatchLoop::new(open(&world), caller(), WatchMode::Apply, false).expect("it listens");
    let (handle, mut moved) = (watch.handle(), 0);
    let done = watch.run::<Error>(&mut |_, effect| {
        if matches!(effect, WatchEffect::Moved(_)) {
            moved += 1;
            handle.stop();
        }
        Ok(())
    });
    done.expect("no error");
    assert_eq!(moved, 100, "the part in progress is told");
}

#[test]
fn a_watch_reports_what_is_settled_before_all_is() {
    let world = world();
    world.write(
        "orch.toml",
        world
            .read("orch.toml")
            .replace("#adopt = false", "adopt = true"),
    );
    for number in 0..100 {
        world.write(&format!("tasks/n{number:03}/planning/plan.md"), "later\n");
    }
    let mut watching = Watching::new(open(&world), caller(), WatchMode::Apply);
    let moved = |effects: Option<Vec<WatchEffect>>| {
        effects.map(|effects| {
            effects
                .iter()
                .filter(|effect| matches!(effect, WatchEffect::Moved(_)))
                .count()
        })
    };
    let begun = watching.begin(vec![WatchEvent::Start]);
    assert!(
        matches!(begun.as_slice(), [WatchEffect::Watching { tasks: 101 }]),
        "it says so at once"
    );
    // The hundred before the last one, `t1`, are committed and reported first.
    assert_eq!(moved(watching.go_on()), Some(100));
    assert_eq!(world.git(&["status", "--porcelain", "tasks/n099"]), "");
    assert_eq!(moved(watching.go_on()), Some(0));
    // Once, and when nothing is left.
    assert!(
        matches!(watching.go_on().as_deref(), Some([WatchEffect::Ready])),
        "it is ready"
    );
    assert!(watching.go_on().is_none());
}

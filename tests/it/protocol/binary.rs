//! The model and the code are one: the binary takes the steps of the model in its order, and where it is killed, and
//! after the next command, the repository is what the model says.

use super::disk::{Disk, Tree, tree_of};
use super::model::{Action, Everything, Protocol};
use super::movers;
use super::steps::{COMMIT, Role, Step};
use crate::faults::inject::{Effect, Fault, can_inject, choices, count, hit, is_whole, traced};
use crate::harness::{World, copy, eventually, program, started};
use stateright::Model;
use std::process::Stdio;
use std::thread::sleep;
use std::time::Duration;

/// The calls by which the steps show.
const CALLS: [&str; 9] = [
    "openat", "write", "fsync", "rename", "renameat", "link", "linkat", "unlink", "unlinkat",
];

/// A step that a trace shows, with the call at which it begins: the name, and how many of this name its thread made
/// until then.
#[derive(Debug, Clone, PartialEq)]
struct Seen {
    step: Step,
    call: &'static str,
    nth: usize,
}

/// The step that a call belongs to, when a commit takes it.
fn step_of(call: &str, line: &str) -> Option<Step> {
    let has = |part: &str| line.contains(part);
    Some(match call {
        "flock" if has("/.git/orch/lock>") => Step::Lock,
        "renameat" if has("\"tmp_obj_orch") => Step::WriteObjects,
        "linkat" if has("\"index.lock\"") => Step::LockIndex,
        "openat" if has("\"journal.json\"") && has("O_CREAT") => Step::WriteJournal,
        // Threads sync the other files, and the next index even before there is a journal.
        "fsync" if has("/journal.json>") => Step::SyncFirst,
        "openat" if has("/refs/heads/main.lock") => Step::LockBranch,
        "renameat" if has("\"index.next\"") => Step::WriteIndex,
        "rename" if has("main.lock") => Step::MoveBranch,
        "renameat" if has("\"state.json\"") => Step::PlaceState,
        "renameat" if has("\"transcript.jsonl\"") => Step::PlaceLog,
        "unlink" if has("/index.lock") => Step::UnlockIndex,
        // A journal is made again, so one that does not exist is removed before.
        "unlinkat" if has("\"journal.json\"") && has("= 0") => Step::RemoveJournal,
        "write" if has("write(1<") => Step::Report,
        _ => return None,
    })
}

/// The step that a call belongs to, when the next command takes it. What fails changes nothing.
fn healing_step_of(call: &str, line: &str) -> Option<Step> {
    let has = |part: &str| line.contains(part);
    Some(match call {
        "unlink" if has("/refs/heads/main.lock") => Step::MendBranch,
        "linkat" if has("\"index.lock\"") && has("= 0") => Step::AdoptIndex,
        "renameat" if has("\"state.json\"") => Step::FinishState,
        "renameat" if has("\"transcript.jsonl\"") => Step::FinishLog,
        "fsync" if has("/.git/refs/heads/main>") => Step::FinishSync,
        "renameat" if has("\"index.next\"") => Step::MendIndex,
        "unlink" if has("/index.lock") => Step::ReleaseIndex,
        "unlinkat" if has("\"journal.json\"") && has("= 0") => Step::RemoveLeftJournal,
        _ => return None,
    })
}

/// How a call names the directory of the journal, whose files are counted apart: how many others a thread opens before
/// depends on what other threads have read.
const BESIDE_JOURNAL: &str = "/.git/orch>, ";

/// The steps in a trace, each once, where it begins.
fn steps_in(trace: &str, step_of: fn(&str, &str) -> Option<Step>) -> Vec<Seen> {
    let calls = CALLS.into_iter().chain(["flock"]);
    let mut found: Vec<Seen> = Vec::new();
    let mut made = std::collections::HashMap::new();
    for line in trace.lines().filter(|line| !line.contains("resumed>")) {
        let Some((thread, rest)) = line.split_once(' ') else {
            continue;
        };
        let called = |call: &&str| {
            rest.trim_start()
                .strip_prefix(call)
                .is_some_and(|rest| rest.starts_with('('))
        };
        let Some(call) = calls.clone().find(called) else {
            continue;
        };
        let is_beside = call == "openat" && line.contains(BESIDE_JOURNAL);
        let so_far = made
            .entry((thread.to_owned(), call, is_beside))
            .or_insert(0);
        *so_far += 1;
        let Some(step) = step_of(call, line) else {
            continue;
        };
        // A reference that a process gave up, or a second answer, is no further step.
        if found.iter().all(|seen| seen.step != step) {
            found.push(Seen {
                step,
                call,
                nth: *so_far,
            });
        }
    }
    found
}

/// How far the places of a task are: the events of the log and of the state since the task was created.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Left {
    head: (usize, usize),
    index: (usize, usize),
    work: (usize, usize),
    has_journal: bool,
    has_index_lock: bool,
    has_branch_lock: bool,
}

impl Left {
    fn by(disk: &Disk) -> Self {
        let events = |tree: &Tree| (tree.state.len(), tree.log.len());
        Self {
            head: events(&tree_of(&disk.branch)),
            index: events(&disk.index),
            work: events(&disk.work),
            has_journal: disk.journal.is_some(),
            has_index_lock: disk.index_lock.is_some(),
            has_branch_lock: disk.branch_lock.is_some(),
        }
    }

    fn of(world: &World) -> Self {
        let events = |state: &str, log: &str| {
            let state: serde_json::Value = serde_json::from_str(state).expect("a state");
            let rev = state["rev"].as_u64().expect("a number of events");
            (
                usize::try_from(rev).expect("few") - 1,
                log.lines().count() - 1,
            )
        };
        let held = |at: &str| {
            let [state, log] = ["state.json", "transcript.jsonl"]
                .map(|name| world.git(&["cat-file", "blob", &format!("{at}:tasks/t/{name}")]));
            events(&state, &log)
        };
        Self {
            head: held("HEAD"),
            index: held(""),
            work: events(
                &world.read("tasks/t/state.json"),
                &world.read("tasks/t/transcript.jsonl"),
            ),
            has_journal: world.path(".git/orch/journal.json").exists(),
            has_index_lock: world.path(".git/index.lock").exists(),
            has_branch_lock: world.path(".git/refs/heads/main.lock").exists(),
        }
    }
}

/// The model with one mover, which is killed.
struct Alone {
    model: Protocol,
    now: Everything,
}

impl Alone {
    fn new() -> Self {
        let model = Protocol {
            processes: vec![Role::Mover],
            edits: 0,
            kills: 2,
            ..movers()
        };
        let now = model.init_states().remove(0);
        Self { model, now }
    }

    fn act(&mut self, action: Action) {
        self.now = self.model.next_state(&self.now, action).expect("possible");
    }

    /// Lets the last process take its steps until this one is to come; to the end without one. Returns the steps.
    fn run_to(&mut self, last: Option<Step>) -> Vec<Step> {
        let id = self.now.processes.len() - 1;
        let mut taken = Vec::new();
        while let Some(step) = self.now.processes[id]
            .step
            .filter(|step| Some(*step) != last)
        {
            self.act(Action::Orch(id, step));
            taken.push(step);
        }
        taken
    }

    fn kill(&mut self) {
        self.act(Action::Kill(self.now.processes.len() - 1));
    }
}

/// So long after files were made, a look at them counts; before, it is made again, with more calls.
const SETTLED: Duration = Duration::from_millis(100);

/// A task with its plan, the order that takes its step, and the steps that a trace of it shows.
fn traced_order() -> (World, Vec<Seen>) {
    let template = started("planning");
    template.plan("t", 1);
    let world = copy(&template);
    sleep(SETTLED);
    let (run, trace) = traced(
        &world,
        &["next", "t"],
        (&[&CALLS[..], &["flock"]].concat(), None),
        |_| {},
    );
    assert_eq!(run.code, Some(0), "{run:?}");
    (template, steps_in(&trace, step_of))
}

/// Kills a command at the call where a step begins.
fn killed_at(world: &World, arguments: &[&str], seen: &Seen) {
    // How many processes it looks at before, and which thread reads or syncs what, differs.
    let (only, nth) = match seen.step {
        Step::LockBranch => (Some(".git/refs/heads/main.lock"), 1),
        Step::WriteJournal => (Some(".git/orch"), seen.nth),
        Step::SyncFirst => (Some(".git/orch/journal.json"), 1),
        _ => (None, seen.nth),
    };
    sleep(SETTLED);
    let fault = Fault {
        call: seen.call,
        effect: Effect::Kill,
        nth,
        only,
    };
    let (_, trace) = traced(world, arguments, (&[], Some(fault)), |_| {});
    assert!(hit(&trace, fault).is_some(), "no kill at {seen:?}\n{trace}");
}

#[test]
fn the_binary_takes_the_steps_of_the_model_in_its_order() {
    if !can_inject() {
        return;
    }
    let (_, seen) = traced_order();
    let taken: Vec<Step> = seen.iter().map(|seen| seen.step).collect();
    // What a process only reads or waits for does not show, and other threads begin the second round sooner or later.
    let hidden = [Step::Look, Step::Check, Step::BeginSync, Step::SyncSecond];
    let shows = |step: &&Step| !hidden.contains(*step);
    let expected: Vec<Step> = [Step::Lock]
        .iter()
        .chain(COMMIT.iter().filter(shows))
        .copied()
        .collect();
    assert_eq!(taken, expected);
    let modelled = Alone::new().run_to(None);
    let shows = |step: &&Step| shows(step) && **step != Step::ClearIndex;
    assert_eq!(
        modelled.iter().filter(shows).copied().collect::<Vec<_>>(),
        expected
    );
}

#[test]
fn where_the_binary_is_killed_the_repository_is_that_of_the_model() {
    if !can_inject() {
        return;
    }
    let (template, seen) = traced_order();
    // Before the lock, nothing is done at all.
    for seen in seen.iter().filter(|seen| seen.step != Step::Lock) {
        let mut model = Alone::new();
        model.run_to(Some(seen.step));
        let world = copy(&template);
        killed_at(&world, &["next", "t"], seen);
        model.kill();
        assert_eq!(
            Left::of(&world),
            Left::by(&model.now.disk),
            "killed at {:?}",
            seen.step
        );
        model.act(Action::NextCommand);
        model.run_to(None);
        world.orch(&["status"]).succeeds();
        assert_eq!(
            Left::of(&world),
            Left::by(&model.now.disk),
            "healed, killed at {:?}",
            seen.step
        );
        world
            .orch(&["next", "t", "--expect", "plan_review"])
            .succeeds();
        world.orch(&["audit"]).succeeds();
        assert_eq!(
            (world.phase("t"), world.dirty()),
            ("plan_review".to_owned(), String::new())
        );
    }
}

#[test]
fn the_binary_heals_in_the_order_of_the_model() {
    if !can_inject() {
        return;
    }
    let (template, seen) = traced_order();
    for seen in seen
        .iter()
        .filter(|seen| seen.step > Step::WriteJournal && seen.step != Step::Report)
    {
        let mut model = Alone::new();
        model.run_to(Some(seen.step));
        let world = copy(&template);
        killed_at(&world, &["next", "t"], seen);
        model.kill();
        model.act(Action::NextCommand);
        let mut expected = Vec::new();
        model.run_to(Some(Step::MendBranch));
        while let Some(step) = model.now.processes.last().and_then(|process| process.step) {
            let before = Left::by(&model.now.disk);
            model.act(Action::Orch(model.now.processes.len() - 1, step));
            // A sync shows although nothing changes.
            if step == Step::FinishSync || before != Left::by(&model.now.disk) {
                expected.push(step);
            }
        }
        let (_, trace) = traced(&world, &["status"], (&CALLS, None), |_| {});
        let taken: Vec<Step> = steps_in(&trace, healing_step_of)
            .iter()
            .map(|seen| seen.step)
            .collect();
        assert_eq!(taken, expected, "killed at {:?}\n{trace}", seen.step);
    }
}

/// A user's command of git reads the index before a step replaces it, and locks it afterwards.
#[test]
fn a_git_command_does_not_write_back_the_index_from_before_a_step() {
    if !can_inject() {
        return;
    }
    let (template, seen) = traced_order();
    let at = seen
        .iter()
        .find(|seen| seen.step == Step::WriteIndex)
        .expect("the index is written");
    let commands = [
        &["git", "commit", "-m", "mine"][..],
        &["git", "reset", "-q", "--", "mine.txt"],
    ];
    for command in commands {
        let world = copy(&template);
        world.write("mine.txt", "mine");
        world.git(&["add", "mine.txt"]);
        sleep(SETTLED);
        let delayed = |inject: &str, path: &[&str], command: &[&str]| {
            let mut strace = world.command("strace");
            strace
                .args(["-f", "-qq", "-o", "/dev/null", "-e", inject])
                .args(path)
                .args(command);
            strace
                .stdout(Stdio::null())
                .stderr(Stdio::piped())
                .spawn()
                .expect("strace runs")
        };
        let inject = format!("inject={}:delay_enter=2000000:when={}", at.call, at.nth);
        let mut step = delayed(&inject, &[], &[&program(), "next", "t"]);
        eventually("the index is about to be written", || {
            world.path(".git/refs/heads/main.lock").exists()
        });
        let lock = world
            .root()
            .canonicalize()
            .expect("a root")
            .join(".git/index.lock");
        let lock = lock.to_string_lossy();
        let late = delayed(
            "inject=openat:delay_enter=2300000:when=1",
            &["-P", &lock],
            command,
        );
        let late = late.wait_with_output().expect("git ends");
        assert!(step.wait().expect("orch ends").success());
        let told = String::from_utf8_lossy(&late.stderr).into_owned();
        assert!(
            !late.status.success() && told.contains("index.lock"),
            "{command:?}: {told}"
        );
        assert_eq!(
            (world.phase("t"), world.dirty()),
            ("plan_review".to_owned(), "A  mine.txt\n".to_owned())
        );
        world.git(&["commit", "-m", "mine"]);
        assert_eq!(
            world.git(&["show", "--format=", "--name-only"]),
            "mine.txt\n"
        );
        world.orch(&["audit"]).succeeds();
    }
}

/// The branch is lost, and what was renamed after it is not.
#[test]
fn a_power_failure_that_takes_back_the_branch_takes_back_the_files() {
    if !can_inject() {
        return;
    }
    let (template, seen) = traced_order();
    let before = (
        template.git(&["rev-parse", "HEAD"]),
        Left::of(&template),
        template.dirty(),
    );
    let last = seen
        .iter()
        .find(|seen| seen.step == Step::RemoveJournal)
        .expect("a journal");
    for lost in ["none", "state.json", "transcript.jsonl"] {
        let world = copy(&template);
        killed_at(&world, &["next", "t"], last);
        world.git(&["update-ref", "refs/heads/main", before.0.trim()]);
        if lost != "none" {
            let old = world.git(&["cat-file", "blob", &format!("HEAD:tasks/t/{lost}")]);
            world.write(&format!("tasks/t/{lost}"), old);
        }
        world.orch(&["status"]).succeeds();
        let after = (
            world.git(&["rev-parse", "HEAD"]),
            Left::of(&world),
            world.dirty(),
        );
        assert_eq!(after, before, "{lost} is old");
        world
            .orch(&["next", "t", "--expect", "plan_review"])
            .succeeds();
        world.orch(&["audit"]).succeeds();
    }
}

/// The command that heals is killed, too, at each call that changes something; some of them, or all with `make faults`.
#[test]
fn where_the_next_command_is_killed_too_the_one_after_it_heals() {
    if !can_inject() {
        return;
    }
    let (template, seen) = traced_order();
    let mut below = choices();
    // Where the journal is not there yet, there is nothing to heal.
    for seen in seen
        .iter()
        .filter(|seen| seen.step > Step::WriteJournal && seen.step != Step::Report)
    {
        let broken = copy(&template);
        killed_at(&broken, &["next", "t"], seen);
        let mut model = Alone::new();
        model.run_to(Some(seen.step));
        model.kill();
        model.act(Action::NextCommand);
        model.run_to(None);
        let healed = Left::by(&model.now.disk);
        let (_, trace) = traced(&copy(&broken), &["status"], (&CALLS, None), |_| {});
        let changes = |call: &&str| {
            ["rename", "renameat", "link", "linkat", "unlink", "unlinkat"].contains(call)
        };
        let points: Vec<(&'static str, usize)> = CALLS
            .into_iter()
            .filter(changes)
            .flat_map(|call| (1..=count(&trace, call)).map(move |nth| (call, nth)))
            .collect();
        assert!(!points.is_empty(), "nothing to heal after {:?}", seen.step);
        let chosen = if is_whole() {
            points
        } else {
            vec![points[below(points.len())]]
        };
        for (call, nth) in chosen {
            let world = copy(&broken);
            let fault = Fault {
                call,
                effect: Effect::Kill,
                nth,
                only: None,
            };
            traced(&world, &["status"], (&[], Some(fault)), |_| {});
            world.orch(&["status"]).succeeds();
            assert_eq!(
                Left::of(&world),
                healed,
                "killed at {:?}, then at {fault:?}",
                seen.step
            );
            world
                .orch(&["next", "t", "--expect", "plan_review"])
                .succeeds();
            world.orch(&["audit"]).succeeds();
        }
    }
}

//! Each system call that reads fails once, in each command that only looks. The answer is that of an undisturbed
//! run, or none: what could not be read is never taken for absent.

use super::inject::{
    Effect, Fault, Run, can_inject, choices, count, hit, is_whole, sum_up, told, traced,
};
use crate::harness::{World, copy, started};
use std::collections::BTreeMap;
use std::fs;

const COMMANDS: [&[&str]; 8] = [
    &["suggest"],
    &["status"],
    &["explain", "t1"],
    &["log", "t1"],
    &["check"],
    &["check", "--staged"],
    &["check", "--range", "HEAD~2..HEAD"],
    &["audit"],
];

const CALLS: [&str; 9] = [
    "openat",
    "newfstatat",
    "statx",
    "getdents64",
    "read",
    "pread64",
    "access",
    "faccessat2",
    "readlink",
];

const ERRORS: [&str; 3] = ["EIO", "EACCES", "EMFILE"];

/// A repository whose history, index and work tree have something to read, and a trace of the last run.
struct Scene {
    world: World,
    /// Whether each run begins without the caches of `orch`.
    is_cold: bool,
}

impl Scene {
    /// The scene as orders left it, with caches.
    fn warm() -> Self {
        let world = World::ready();
        world.write(
            "../home/.gitconfig",
            "[user]\n\tname = Ann\n\temail = ann@example.com\n",
        );
        for task in ["t1", "t2"] {
            world.orch(&["new", task]).succeeds();
            world.plan(task, 1);
        }
        world.orch(&["next", "t1"]).succeeds();
        world.plan_review("t1", true, 1);
        world.git(&["add", "tasks/t2"]);
        Self {
            world,
            is_cold: false,
        }
    }

    /// The scene after `git gc`, without caches.
    fn packed() -> Self {
        let scene = Self::warm();
        scene.world.git(&["gc", "-q"]);
        Self {
            is_cold: true,
            ..scene
        }
    }

    /// Runs a command while strace injects a fault; also returns the system calls that it made.
    fn run(&self, arguments: &[&str], fault: Option<Fault>) -> (Run, String) {
        if self.is_cold {
            let _ = fs::remove_dir_all(self.world.path(".git/orch"));
        }
        traced(&self.world, arguments, (&CALLS, fault), |command| {
            // Answers name times, and the user's settings are read, too.
            command
                .env("ORCH_NOW", "1790009000")
                .env_remove("GIT_CONFIG_GLOBAL");
        })
    }

    /// What an undisturbed run answers, and how many calls of each kind it makes.
    fn undisturbed(&self, arguments: &[&str]) -> (Run, BTreeMap<&'static str, usize>) {
        self.run(arguments, None);
        let (run, trace) = self.run(arguments, None);
        (
            run,
            CALLS
                .into_iter()
                .map(|call| (call, count(&trace, call)))
                .collect(),
        )
    }

    /// Injects a fault; `None` if no call was left to fail. Returns an error for an answer that the fault changed.
    fn try_fault(
        &self,
        arguments: &[&str],
        fault: Fault,
        untouched: &Run,
    ) -> Option<Result<(), String>> {
        let (run, trace) = self.run(arguments, Some(fault));
        let hit = hit(&trace, fault)?;
        let is_same = (run.code, run.signal, &run.stdout)
            == (untouched.code, untouched.signal, &untouched.stdout);
        let is_right = is_same || is_failure(&run, fault);
        Some(if is_right {
            Ok(())
        } else {
            Err(format!("{arguments:?} {fault:?}\n{hit}\n{run:?}"))
        })
    }
}

/// Whether a run gave no answer, with the exit code for that.
fn is_failure(run: &Run, fault: Fault) -> bool {
    match run.code {
        // The second: the program could not be loaded.
        Some(70 | 127) => true,
        // Settings that permissions forbid to read are a mistake in the settings.
        Some(2) => fault.effect == Effect::Error("EACCES"),
        _ => false,
    }
}

#[test]
fn a_call_that_fails_changes_no_answer() {
    if !can_inject() {
        return;
    }
    if is_whole() {
        return every_fault();
    }
    let scene = Scene::warm();
    let mut below = choices();
    for arguments in COMMANDS {
        let (untouched, counts) = scene.undisturbed(arguments);
        for _ in 0..2 {
            let (call, error) = (CALLS[below(CALLS.len())], ERRORS[below(ERRORS.len())]);
            let nth = 1 + below(counts[call].max(1));
            let fault = Fault {
                call,
                effect: Effect::Error(error),
                nth,
                only: None,
            };
            let found = scene.try_fault(arguments, fault, &untouched);
            found
                .unwrap_or(Ok(()))
                .unwrap_or_else(|wrong| panic!("{wrong}"));
        }
    }
}

#[test]
fn a_directory_that_cannot_be_read_is_not_an_empty_one() {
    if !can_inject() {
        return;
    }
    let scene = Scene::warm();
    for (arguments, only) in [
        (["status"], "tasks"),
        (["suggest"], "tasks/t1"),
        (["check"], "tasks"),
    ] {
        for call in ["openat", "getdents64"] {
            try_each(&scene, &arguments, (call, "EIO"), only);
        }
    }
}

/// Found by the whole matrix of orders.
#[test]
fn a_watch_that_cannot_list_the_tasks_does_not_report_that_nothing_is_due() {
    if !can_inject() {
        return;
    }
    let template = started("planning");
    template.plan("t", 1);
    let mut hits = 0;
    for only in ["tasks", "tasks/t"] {
        for nth in 1.. {
            let world = copy(&template);
            let fault = Fault {
                call: "getdents64",
                effect: Effect::Error("EIO"),
                nth,
                only: Some(only),
            };
            let (run, trace) = traced(&world, &["watch", "--once"], (&[], Some(fault)), |_| {});
            if hit(&trace, fault).is_none() {
                break;
            }
            hits += 1;
            let is_done = world.phase("t") == "plan_review" && run.code == Some(0);
            assert!(is_done || run.code == Some(70), "{fault:?}: {run:?}");
        }
    }
    assert!(hits > 1, "{hits}");
}

#[test]
fn instructions_that_cannot_be_looked_at_are_no_link_out_of_the_repository() {
    if !can_inject() {
        return;
    }
    try_each(
        &Scene::warm(),
        &["explain", "t1"],
        ("statx", "EIO"),
        "system/agents/planner.md",
    );
}

/// A fault at each call of a kind for a path. Asserts that there is one.
fn try_each(
    scene: &Scene,
    arguments: &[&str],
    (call, error): (&'static str, &'static str),
    only: &'static str,
) {
    let (untouched, _) = scene.undisturbed(arguments);
    let hits = (1..).map_while(|nth| {
        let fault = Fault {
            call,
            effect: Effect::Error(error),
            nth,
            only: Some(only),
        };
        scene.try_fault(arguments, fault, &untouched)
    });
    let found: Result<Vec<()>, String> = hits.collect();
    let count = found.unwrap_or_else(|wrong| panic!("{wrong}")).len();
    assert!(count > 0, "{arguments:?} has no {call} of {only}");
}

#[test]
fn a_log_that_may_not_be_read_is_not_an_empty_one() {
    if can_inject() {
        for error in ERRORS {
            try_each(
                &Scene::warm(),
                &["log", "t1"],
                ("openat", error),
                "tasks/t1/transcript.jsonl",
            );
        }
    }
}

#[test]
fn a_commit_in_a_pack_that_cannot_be_looked_up_is_not_a_missing_one() {
    if can_inject() {
        let range = ["check", "--range", "HEAD~2..HEAD"];
        try_each(
            &Scene::packed(),
            &range,
            ("newfstatat", "EIO"),
            ".git/objects/pack",
        );
    }
}

/// The path of an object that is not in a pack, in the git directory.
fn place_of(world: &World, revision: &str) -> String {
    let id = world.git(&["rev-parse", revision]);
    format!(".git/objects/{}/{}", &id[..2], id[2..].trim())
}

/// Replaces a file by a link to itself, which nobody can look up or open, not even root.
fn make_unreadable(world: &World, path: &str) -> Vec<u8> {
    let bytes = fs::read(world.path(path)).expect("readable");
    world.remove(path);
    std::os::unix::fs::symlink(world.path(path), world.path(path)).expect("a link");
    bytes
}

#[test]
fn an_object_that_cannot_be_read_hides_no_forgery() {
    let world = started("planning");
    world.plan("t", 1);
    world.orch(&["next", "t"]).succeeds();
    let log = world
        .read("tasks/t/transcript.jsonl")
        .replace("\"to\":\"plan_review\"", "\"to\":\"test\"");
    world.write("tasks/t/transcript.jsonl", &log);
    world.commit("Forge");
    world.orch(&["audit"]).ends(1).says("forged");
    for held in [
        "HEAD:tasks/t/transcript.jsonl",
        "HEAD:tasks/t",
        "HEAD~1:tasks/t/state.json",
    ] {
        let place = place_of(&world, held);
        let bytes = make_unreadable(&world, &place);
        world
            .orch(&["audit"])
            .ends(70)
            .reports("although it is in this repository");
        world.orch(&["check", "--range", "HEAD~1..HEAD"]).ends(70);
        world.remove(&place);
        // A clone that does not have the object is another matter.
        assert_ne!(world.orch(&["audit"]).code, 70, "{held}");
        world.write(&place, bytes);
    }
    world.orch(&["audit"]).ends(1).says("forged");
    // Even if the object is the commit that a revision leads to, or past.
    let place = place_of(&world, "HEAD~1");
    make_unreadable(&world, &place);
    for revision in [
        "HEAD~1",
        "HEAD^",
        "main~1^",
        "HEAD~1^{commit}",
        "HEAD~1^{}",
        "HEAD^{/a word that stands nowhere}",
        "HEAD~1..HEAD",
    ] {
        world
            .orch(&["audit", revision])
            .ends(70)
            .reports("although it is in this repository");
    }
    world.remove(&place);
    world
        .orch(&["audit", "HEAD~1"])
        .ends(2)
        .reports("there is no commit");
}

#[test]
fn a_task_that_cannot_be_read_is_a_failure_of_the_machine() {
    let world = started("plan_review");
    world.orch(&["new", "other"]).succeeds();
    let place = place_of(&world, "HEAD:tasks/t");
    let bytes = make_unreadable(&world, &place);
    for command in [
        &["check"][..],
        &["status"],
        &["suggest"],
        &["explain", "t"],
        &["log", "t"],
    ] {
        world.orch(command).ends(70);
    }
    // The other tasks are checked all the same.
    let found = world
        .orch(&["check"])
        .says("although it is in this repository");
    assert!(found.stderr.contains("2 tasks"), "{found:?}");
    world.remove(&place);
    world.write(&place, bytes);
    world.orch(&["check"]).succeeds();
}

/// The system refuses the first of these calls about this path.
fn refused(call: &'static str, only: &'static str) -> Fault {
    Fault {
        call,
        effect: Effect::Error("EACCES"),
        nth: 1,
        only: Some(only),
    }
}

#[test]
fn a_directory_that_may_not_be_entered_hides_no_other_task() {
    if !can_inject() {
        return;
    }
    let world = started("plan_review");
    world.orch(&["new", "other"]).succeeds();
    // A directory that only its name keeps from being a task, if it is found to hold an artifact.
    world.write("tasks/-name/planning/plan.json", "{}");
    for (call, only) in [
        ("statx", "tasks/other/.git"),
        ("openat", "tasks/-name/planning"),
    ] {
        let fault = refused(call, only);
        for command in [
            "status",
            "suggest",
            "check",
            "log",
            "runs",
            "doctor",
            "watch --once",
        ] {
            let arguments: Vec<&str> = command.split(' ').chain(["--json"]).collect();
            let (run, _) = traced(&world, &arguments, (&[call], Some(fault)), |_| {});
            assert_eq!(run.code, Some(70), "{only}: {command}: {run:?}");
            let found = [&*run.stdout, &*run.stderr].concat();
            let is_told = found.contains("Permission denied");
            assert!(
                is_told && !run.stdout.contains("\"kind\":\"error\""),
                "{only}: {command}: {run:?}"
            );
        }
    }
}

#[test]
fn a_root_that_cannot_be_listed_is_not_taken_for_empty() {
    if !can_inject() {
        return;
    }
    let world = started("plan_review");
    let fault = refused("openat", "tasks");
    for (arguments, told) in [
        (&["suggest"][..], "No task could be read."),
        (&["watch", "--once"], "tasks: error[io]: "),
    ] {
        let (run, _) = traced(&world, arguments, (&["openat"], Some(fault)), |_| {});
        assert!(run.code == Some(70) && run.stdout.contains(told), "{run:?}");
    }
}

#[test]
fn a_state_that_cannot_be_read_is_no_other_state() {
    if !can_inject() {
        return;
    }
    let world = started("plan_review");
    world.write("tasks/f/state.json", "{\"phase\": \"planning\"}\n");
    for (task, only) in [("t", "tasks/t/state.json"), ("f", "tasks/f/state.json")] {
        world.orch(&["explain", task]).succeeds();
        let fault = Some(refused("openat", only));
        let (run, _) = traced(&world, &["explain", task], (&["openat"], fault), |_| {});
        assert!(
            run.code == Some(70) && run.stderr.contains("Permission denied"),
            "{run:?}"
        );
    }
}

#[test]
fn a_log_that_cannot_be_read_hides_no_other_timeline() {
    if !can_inject() {
        return;
    }
    let world = started("plan_review");
    world.orch(&["new", "other"]).succeeds();
    let fault = Some(refused("openat", "tasks/other/transcript.jsonl"));
    let (run, _) = traced(
        &world,
        &["log", "--all", "--json"],
        (&["openat"], fault),
        |_| {},
    );
    assert_eq!(run.code, Some(70), "{run:?}");
    assert!(
        run.stdout.contains("\"task\":\"t\"") && !run.stdout.contains("\"task\":\"other\""),
        "{run:?}"
    );
    assert!(
        run.stderr.contains("Permission denied") && run.stdout.contains("\"code\":\"io\""),
        "{run:?}"
    );
    // If there is no other, that is the answer.
    let (run, _) = traced(
        &world,
        &["log", "other", "--json"],
        (&["openat"], fault),
        |_| {},
    );
    assert!(
        run.code == Some(70) && run.stdout.contains("\"kind\":\"error\""),
        "{run:?}"
    );
}

/// The n-th call of each kind fails, for each n, until a run is left undisturbed; prints a table.
fn every_fault() {
    let (mut wrong, mut all) = (Vec::new(), [0; 2]);
    told(&format!(
        "{:<32} {:<8} {:<11} {:>6} {:>6} {:>10}",
        "command", "scene", "call", "points", "runs", "violations"
    ));
    for (name, scene, errors) in [
        ("warm", Scene::warm(), &ERRORS[..]),
        ("packed", Scene::packed(), &ERRORS[..1]),
    ] {
        for arguments in COMMANDS {
            let (untouched, _) = scene.undisturbed(arguments);
            for call in CALLS {
                let (mut points, mut runs, before) = (0, 0, wrong.len());
                for error in errors {
                    for nth in 1.. {
                        let fault = Fault {
                            call,
                            effect: Effect::Error(error),
                            nth,
                            only: None,
                        };
                        let Some(found) = scene.try_fault(arguments, fault, &untouched) else {
                            break;
                        };
                        runs += 1;
                        points = points.max(nth);
                        wrong.extend(found.err());
                    }
                }
                let (command, found) = (arguments.join(" "), wrong.len() - before);
                all = [all[0] + points, all[1] + runs];
                told(&format!(
                    "{command:<32} {name:<8} {call:<11} {points:>6} {runs:>6} {found:>10}"
                ));
            }
        }
    }
    sum_up("a call that reads fails", [all[0], all[1], wrong.len()]);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

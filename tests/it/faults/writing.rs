//! Each system call fails once, or the process is killed at it, in each command that writes. The old state is left or
//! the new one, never a third; the next command heals what is left; nothing is done twice; and the work of the user
//! in the index and in the work tree stays as it is.

use super::inject::{Effect, Fault, Run, can_inject, choices, count, hit, is_whole, told, traced};
use super::orders::{ORDERS, Order};
use crate::harness::{Ended, World, copy};
use crate::setting;
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;

/// The system calls, and what may happen at each. A kill at a call that changes nothing is the same as one at the next
/// call that does.
const CALLS: [(&str, &[Effect]); 21] = [
    ("openat", &[Effect::Error("EACCES"), Effect::Error("EMFILE"), Effect::Error("ENOSPC")]),
    ("write", &[KILL, Effect::Error("ENOSPC"), Effect::Error("EIO"), Effect::Error("EINTR")]),
    ("pwrite64", &[KILL, Effect::Error("ENOSPC"), Effect::Error("EIO"), Effect::Error("EINTR")]),
    ("fsync", &[KILL, Effect::Error("EIO"), Effect::Error("ENOSPC")]),
    ("fdatasync", &[KILL, Effect::Error("EIO"), Effect::Error("ENOSPC")]),
    ("ftruncate", &[KILL, Effect::Error("EIO")]),
    ("rename", CHANGES),
    ("renameat", CHANGES),
    ("renameat2", CHANGES),
    ("link", CHANGES),
    ("linkat", CHANGES),
    ("unlink", CHANGES),
    ("unlinkat", CHANGES),
    ("mkdir", CHANGES),
    ("mkdirat", CHANGES),
    ("rmdir", CHANGES),
    ("chmod", CHANGES),
    ("fchmod", CHANGES),
    ("flock", &[Effect::Error("EINTR"), Effect::Error("ENOLCK")]),
    ("getdents64", &[Effect::Error("EIO")]),
    ("read", &[Effect::Error("EIO"), Effect::Error("EINTR")]),
];

const KILL: Effect = Effect::Kill;
/// What may happen to a change of a directory.
const CHANGES: &[Effect] = &[KILL, Effect::Error("EACCES"), Effect::Error("EDQUOT"), Effect::Error("EIO")];

/// The time of all runs, so that equal steps have equal records.
const NOW: &str = "1790100000";

/// The paths that hold work of the user.
const MINE: [&str; 3] = ["staged.txt", "edited.txt", "untracked.txt"];

/// What the branch, the record and the work of the user are.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Situation {
    /// The trees of the commits since the first one, the newest first.
    trees: Vec<String>,
    /// What git says of everything.
    status: String,
    /// The work of the user: the differences in the index and in the work tree, and a file that git does not know.
    mine: String,
    /// What git does not show: hooks, its settings, and trust.
    beside: BTreeMap<String, String>,
}

/// The contents of the files in these directories. What a killed process left under a temporary name is passed over.
fn beside(world: &World) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let root = world.root().canonicalize().expect("a root").to_string_lossy().into_owned();
    for directory in [".git/hooks", "../home/.local/state/orch/trust"] {
        for entry in fs::read_dir(world.path(directory)).into_iter().flatten().flatten() {
            let name = entry.file_name().to_string_lossy().into_owned();
            // The file of trust is named by the path of the repository.
            let name = if directory.contains("trust") { directory.to_owned() } else { name };
            if !name.starts_with(".orch-tmp") && !name.ends_with(".sample") {
                let mode = entry.metadata().expect("there").permissions().mode();
                let text = fs::read_to_string(entry.path()).expect("text").replace(&root, "[ROOT]");
                found.insert(name, format!("{mode:o}\n{text}"));
            }
        }
    }
    found.insert("config".to_owned(), world.read(".git/config"));
    found
}

impl Situation {
    fn of(world: &World) -> Self {
        let differences = |cached: &[&str]| world.git(&[&["diff"][..], cached, &["--"], &MINE].concat());
        let mine = differences(&["--cached"]) + &differences(&[]) + &world.read(MINE[2]);
        let trees = world.git(&["log", "--first-parent", "--format=%T"]);
        let trees = trees.lines().map(str::to_owned).collect();
        Self { trees, status: world.dirty(), mine, beside: beside(world) }
    }
}

/// An order in a repository, with what it does if nothing disturbs it.
struct Trial {
    order: &'static Order,
    template: World,
    before: Situation,
    after: Situation,
    /// How it ends: 0, or the code for what only a person can do next.
    code: i32,
    /// The calls that it makes: what may happen at each, and how many there are.
    calls: Vec<(&'static str, &'static [Effect], usize)>,
}

impl Trial {
    fn of(order: &'static Order) -> Self {
        let template = World::ready();
        template.write("staged.txt", "one\n");
        template.write("edited.txt", "one\n");
        template.commit("Files of the user");
        template.orch(&["new", "t"]).succeeds();
        (order.prepare)(&template);
        template.write("staged.txt", "two\n");
        template.git(&["add", "staged.txt"]);
        template.write("staged.txt", "three\n");
        template.write("edited.txt", "two\n");
        template.write("untracked.txt", "mine\n");
        let before = Situation::of(&template);
        let world = copy(&template);
        let (run, trace) = Self::run(&world, order, None);
        let code = run.code.filter(|code| [0, 3, 6].contains(code));
        let code = code.unwrap_or_else(|| panic!("{}: {run:?}", order.name));
        let after = Situation::of(&world);
        assert_ne!(before, after, "{} changes nothing", order.name);
        assert_eq!(before.mine, after.mine, "{}", order.name);
        let calls = CALLS.into_iter().map(|(call, effects)| (call, effects, count(&trace, call)));
        let calls = calls.filter(|(_, _, count)| *count > 0).collect();
        Self { order, template, before, after, code, calls }
    }

    fn run(world: &World, order: &Order, fault: Option<Fault>) -> (Run, String) {
        traced(world, order.arguments, (&CALLS.map(|(call, _)| call), fault), |command| {
            command.env("ORCH_NOW", NOW).env("GIT_AUTHOR_DATE", format!("@{NOW} +0000"));
            command.env("GIT_COMMITTER_DATE", format!("@{NOW} +0000"));
            command.stdin(world.keyboard());
        })
    }

    /// Injects a fault; `None` if no call was left for it. Returns an error for what may not be.
    fn try_fault(&self, fault: Fault) -> Option<Result<(), String>> {
        let world = copy(&self.template);
        let (run, trace) = Self::run(&world, self.order, Some(fault));
        let hit = hit(&trace, fault)?;
        let found = self.judge(&world, &run, &trace, fault);
        Some(found.map_err(|wrong| format!("{} {fault:?}: {wrong}\n{hit}\n{run:?}", self.order.name)))
    }

    fn judge(&self, world: &World, run: &Run, trace: &str, fault: Fault) -> Result<(), String> {
        // Each process that takes part is hit, at the same call of its own.
        let is_speechless =
            trace.lines().any(|line| line.contains(" write(2<") && line.contains("(INJECTED)"));
        match (run.code, run.signal) {
            (Some(code), _) if code == self.code => {}
            (None, Some(9)) if fault.effect == Effect::Kill => {}
            (Some(101), _) | (None, _) => return Err("it crashed".to_owned()),
            // The program could not be loaded, or there was no place for words.
            (Some(127), _) => {}
            _ if is_speechless => {}
            // A watch reports on stdout, and goes on; so does what examines several things.
            _ if run.stderr.contains("error") => {}
            _ if ["[watch-failed]", "\nerror "].iter().any(|word| run.stdout.contains(word)) => {}
            _ => return Err("it failed without a word".to_owned()),
        }
        let left = Situation::of(world);
        if left.mine != self.before.mine {
            return Err(format!("the work of the user changed:\n{}", left.mine));
        }
        let since = self.after.trees.len() - self.before.trees.len();
        let is_known = (0..=since).any(|steps| left.trees == self.after.trees[steps..]);
        if !is_known {
            return Err(format!("a third state: {left:?}"));
        }
        let third = left.beside.iter().find(|(name, text)| {
            ![&self.before, &self.after].iter().any(|known| known.beside.get(*name) == Some(*text))
        });
        if let Some((name, text)) = third {
            return Err(format!("a third content of {name}: {text}"));
        }
        if run.code == Some(self.code) && left != self.after {
            return Err(format!("it reported success, and left {left:?}, not {:?}", self.after));
        }
        let fsck = world.git_ended(&["fsck", "--strict", "--no-dangling"]);
        if fsck.code != 0 {
            return Err(format!("{fsck:?}"));
        }
        self.heals(world)
    }

    /// Whether the next commands lead to where the undisturbed order did.
    fn heals(&self, world: &World) -> Result<(), String> {
        let looked = world.orch(&["status"]);
        if looked.code != 0 {
            return Err(format!("the next command: {looked:?}"));
        }
        let healed = Situation::of(world);
        for arguments in self.order.again() {
            if Situation::of(world) == self.after {
                break;
            }
            let mut command = world.orch_command(arguments);
            command.env("ORCH_NOW", NOW);
            let again: Ended = world.end(command.output().expect("orch runs"));
            if again.code != self.code {
                return Err(format!("from {healed:?}, the same order again: {again:?}"));
            }
        }
        let last = Situation::of(world);
        if last != self.after {
            return Err(format!("the same order again led to {last:?}, not {:?}", self.after));
        }
        let audit = world.orch(&["audit"]);
        if audit.code != 0 {
            return Err(format!("{audit:?}"));
        }
        Ok(())
    }
}

/// git ignores a failing write to a pipe, and ends as if it had nothing to say.
#[test]
fn an_answer_of_git_that_is_lost_is_not_taken_for_an_empty_one() {
    if !can_inject() {
        return;
    }
    let order = ORDERS.iter().find(|order| order.name == "split index").expect("in the table");
    let trial = Trial::of(order);
    let mut is_lost = false;
    for nth in 1..=4 {
        let fault = Fault { call: "write", effect: Effect::Error("EINTR"), nth, only: None };
        let (_, trace) = Trial::run(&copy(&trial.template), order, Some(fault));
        is_lost |= trace.lines().any(|line| line.contains(" write(1<") && line.contains("(INJECTED)"));
        trial.try_fault(fault).unwrap_or(Ok(())).unwrap_or_else(|wrong| panic!("{wrong}"));
    }
    assert!(is_lost, "no answer of git was hit");
}

#[test]
fn a_fault_of_an_order_leaves_the_old_state_or_the_new_one() {
    if !can_inject() {
        return;
    }
    if is_whole() {
        return every_fault();
    }
    let mut below = choices();
    let mut wrong = Vec::new();
    for order in &ORDERS {
        let trial = Trial::of(order);
        for _ in 0..setting::number("ORCH_FAULT_COUNT").unwrap_or(1) {
            let (call, effects, count) = trial.calls[below(trial.calls.len())];
            let fault =
                Fault { call, effect: effects[below(effects.len())], nth: 1 + below(count), only: None };
            wrong.extend(trial.try_fault(fault).and_then(Result::err));
        }
    }
    assert!(wrong.is_empty(), "{} violations\n{}", wrong.len(), wrong.join("\n"));
}

/// The n-th call of each kind has each effect, for each n, until an order is left undisturbed; prints a table.
fn every_fault() {
    let mut wrong = Vec::new();
    told(&format!("{:<10} {:<11} {:>6} {:>6} {:>10}", "order", "call", "points", "runs", "violations"));
    for order in &ORDERS {
        let trial = Trial::of(order);
        for (call, effects, _) in &trial.calls {
            let (mut points, mut runs, before) = (0, 0, wrong.len());
            for effect in *effects {
                for nth in 1.. {
                    let fault = Fault { call, effect: *effect, nth, only: None };
                    let Some(found) = trial.try_fault(fault) else { break };
                    runs += 1;
                    points = points.max(nth);
                    wrong.extend(found.err());
                }
            }
            let found = wrong.len() - before;
            told(&format!("{:<10} {call:<11} {points:>6} {runs:>6} {found:>10}", order.name));
        }
    }
    assert!(wrong.is_empty(), "{} violations\n{}", wrong.len(), wrong.join("\n"));
}

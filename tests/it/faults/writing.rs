//! Each system call fails once, or the process is killed at it, in each command that writes. The old state is left or
//! the new one, never a third; the next command heals what is left; nothing is done twice; and the work of the user
//! in the index and in the work tree stays as it is.

use super::inject::{
    Effect, Fault, Run, can_inject, choices, count, has_hit, has_hit_file, hit, is_whole, sum_up,
    told, traced,
};
use super::orders::{EXECUTOR, ORDERS, Order};
use crate::harness::{Ended, World, copy};
use crate::setting;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::hash::{DefaultHasher, Hasher as _};
use std::os::unix::fs::{MetadataExt as _, PermissionsExt as _};
use std::path::PathBuf;
use std::process::Command;
use std::sync::Mutex;
use std::thread;

/// The system calls, and what may happen at each. A kill at a call that changes nothing is the same as one at the next
/// call that does.
const CALLS: [(&str, &[Effect]); 21] = [
    (
        "openat",
        &[
            Effect::Error("EACCES"),
            Effect::Error("EMFILE"),
            Effect::Error("ENOSPC"),
        ],
    ),
    (
        "write",
        &[
            KILL,
            Effect::Error("ENOSPC"),
            Effect::Error("EIO"),
            Effect::Error("EINTR"),
        ],
    ),
    (
        "pwrite64",
        &[
            KILL,
            Effect::Error("ENOSPC"),
            Effect::Error("EIO"),
            Effect::Error("EINTR"),
        ],
    ),
    (
        "fsync",
        &[KILL, Effect::Error("EIO"), Effect::Error("ENOSPC")],
    ),
    (
        "fdatasync",
        &[KILL, Effect::Error("EIO"), Effect::Error("ENOSPC")],
    ),
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
const CHANGES: &[Effect] = &[
    KILL,
    Effect::Error("EACCES"),
    Effect::Error("EDQUOT"),
    Effect::Error("EIO"),
];

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
    /// The work of the user: what the index holds of it, and the files of the work tree.
    mine: String,
    /// What git does not show: hooks, its settings, and trust.
    beside: BTreeMap<String, String>,
}

/// The contents of the files in these directories, and of what is made of the tasks. What a killed process left under a
/// temporary name is passed over.
fn beside(world: &World) -> BTreeMap<String, String> {
    let mut found = BTreeMap::new();
    let root = world
        .root()
        .canonicalize()
        .expect("a root")
        .to_string_lossy()
        .into_owned();
    for directory in [
        ".git/hooks",
        "../home/.local/state/orch/trust",
        "made",
        ".git/made",
    ] {
        for entry in fs::read_dir(world.path(directory))
            .into_iter()
            .flatten()
            .flatten()
        {
            let name = entry.file_name().to_string_lossy().into_owned();
            // The file of trust is named by the path of the repository.
            let is_kept = !name.starts_with(".orch-tmp") && !name.ends_with(".sample");
            let name = if directory.contains("trust") {
                directory.to_owned()
            } else {
                name
            };
            if is_kept {
                let mode = entry.metadata().expect("there").permissions().mode();
                let text = fs::read_to_string(entry.path())
                    .expect("text")
                    .replace(&root, "[ROOT]");
                found.insert(name, format!("{mode:o}\n{text}"));
            }
        }
    }
    found.insert("config".to_owned(), world.read(".git/config"));
    found
}

/// Whether a record in this tree names a turn of a run, whose id is another one each time.
pub fn names_a_turn(world: &World, tree: &str) -> bool {
    world
        .git_ended(&["grep", "-q", "\"turn\":", tree, "--", "*.jsonl"])
        .code
        == 0
}

impl Situation {
    fn of(world: &World) -> Self {
        // With the modes and the blobs of HEAD and of the index.
        let status = world.git(&["status", "--porcelain=v2"]);
        let is_mine = |line: &&str| MINE.iter().any(|path| line.ends_with(path));
        let held: Vec<&str> = status.lines().filter(is_mine).collect();
        let mine = held.join("\n") + &MINE.map(|path| world.read(path)).concat();
        let commits = world.git(&["log", "--first-parent", "-z", "--format=%T %B"]);
        // The ids of generated tasks are random, so a tree with them is another one each time.
        let tree = |commit: &str| match commit.split_once(' ') {
            Some((_, message)) if message.contains("generated 1 tasks: task-") => {
                "generated".to_owned()
            }
            Some((tree, message)) if names_a_turn(world, tree) => {
                message.lines().next().unwrap_or_default().to_owned()
            }
            tree => tree.map_or("", |(tree, _)| tree).to_owned(),
        };
        let trees = commits.split('\0').map(tree).collect();
        Self {
            trees,
            status,
            mine,
            beside: beside(world),
        }
    }
}

/// An order in a repository, with what it does if nothing disturbs it.
pub struct Trial {
    pub order: &'static Order,
    pub template: World,
    before: Situation,
    after: Situation,
    /// How it ends: 0, or the code for what only a person can do next.
    pub code: i32,
    /// How `orch status` ends before it: 1 if a task is in error.
    looked: i32,
    /// The calls that it makes: what may happen at each, and how many there are.
    calls: Vec<(&'static str, &'static [Effect], usize)>,
    /// What runs left that the next commands completed, and whether these reported success.
    fine: Mutex<BTreeSet<(bool, Left)>>,
}

impl Trial {
    pub fn of(order: &'static Order) -> Self {
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
        let looked = copy(&template).orch(&["status"]).code;
        let (run, trace) = Self::run(&world, order, None);
        let code = run.code.filter(|code| [0, 3, 6].contains(code));
        let code = code.unwrap_or_else(|| panic!("{}: {run:?}", order.name));
        let after = Situation::of(&world);
        assert_ne!(before, after, "{} changes nothing", order.name);
        assert_eq!(before.mine, after.mine, "{}", order.name);
        let calls = CALLS
            .into_iter()
            .map(|(call, effects)| (call, effects, count(&trace, call)));
        let calls = calls.filter(|(_, _, count)| *count > 0).collect();
        Self {
            order,
            template,
            before,
            after,
            code,
            looked,
            calls,
            fine: Mutex::default(),
        }
    }

    fn run(world: &World, order: &Order, fault: Option<Fault>) -> (Run, String) {
        traced(
            world,
            order.arguments,
            (&CALLS.map(|(call, _)| call), fault),
            |command| {
                Self::at_its_time(world, command);
            },
        )
    }

    /// The surroundings of each run.
    pub fn at_its_time(world: &World, command: &mut Command) {
        command
            .env("ORCH_NOW", NOW)
            .env("GIT_AUTHOR_DATE", format!("@{NOW} +0000"));
        command.env("GIT_COMMITTER_DATE", format!("@{NOW} +0000"));
        command.stdin(world.keyboard());
    }

    /// Injects a fault; `None` if no call was left for it. Returns an error for what may not be.
    fn try_fault(&self, fault: Fault) -> Option<Result<(), String>> {
        let mut scene = Scene::of(self);
        scene.try_fault(fault)
    }

    /// Whether an order that a fault met ended as it may.
    fn judge_end(&self, run: &Run, trace: &str, fault: Fault) -> Result<(), String> {
        // Each process that takes part is hit, at the same call of its own.
        let is_speechless = trace
            .lines()
            .any(|line| line.contains(" write(2<") && line.contains("(INJECTED)"));
        match (run.code, run.signal) {
            (Some(code), _) if code == self.code => {}
            (None, Some(9)) if fault.effect == Effect::Kill => {}
            (Some(101), _) | (None, _) => return Err("it crashed".to_owned()),
            // The program could not be loaded, or there was no place for words.
            (Some(127), _) => {}
            _ if is_speechless => {}
            // A watch reports on stdout, and continues; so does what examines several things.
            _ if run.stderr.contains("error") => {}
            _ if ["error[", "\nerror "]
                .iter()
                .any(|word| run.stdout.contains(word)) => {}
            _ => return Err("it failed without a word".to_owned()),
        }
        Ok(())
    }

    /// Whether what an order left may be, and the next commands complete it.
    pub fn judge_left(&self, world: &World, run: &Run) -> Result<(), String> {
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
            ![&self.before, &self.after]
                .iter()
                .any(|known| known.beside.get(*name) == Some(*text))
        });
        // A board also shows what could not be read.
        let is_told = self.order.name == "board" && run.code == Some(70);
        if let Some((name, text)) = third.filter(|_| !is_told) {
            return Err(format!("a third content of {name}: {text}"));
        }
        if run.code == Some(self.code) && left != self.after {
            return Err(format!(
                "it reported success, and left {left:?}, not {:?}",
                self.after
            ));
        }
        let fsck = world.git_ended(&["fsck", "--strict", "--no-dangling"]);
        if fsck.code != 0 {
            return Err(format!("{fsck:?}"));
        }
        self.heals(world)
    }

    /// Whether the next commands lead to where the undisturbed order did.
    fn heals(&self, world: &World) -> Result<(), String> {
        // A killed process leaves git's lock of the settings, as `git config` does; the user has to remove it.
        let lock = world.path(".git/config.lock");
        if lock.exists() {
            let told = world.orch(&["doctor"]);
            if !told.stdout.contains("/config.lock") {
                return Err(format!("{told:?}"));
            }
            fs::remove_file(lock).expect("removed");
        }
        let looked = world.orch(&["status"]);
        if ![0, self.looked].contains(&looked.code) {
            return Err(format!("the next command: {looked:?}"));
        }
        let healed = Situation::of(world);
        let mut last = healed.clone();
        for arguments in self.order.again() {
            if last == self.after {
                break;
            }
            let mut command = world.orch_command(arguments);
            command.env("ORCH_NOW", NOW);
            let again: Ended = world.end(command.output().expect("orch runs"));
            if again.code != self.code {
                return Err(format!("from {healed:?}, the same order again: {again:?}"));
            }
            last = Situation::of(world);
        }
        if last != self.after {
            return Err(format!(
                "the same order again led to {last:?}, not {:?}",
                self.after
            ));
        }
        let audit = world.orch(&["audit"]);
        if audit.code != 0 {
            return Err(format!("{audit:?}"));
        }
        Ok(())
    }
}

/// Places for the runs of a trial, one after the other.
struct Scene<'t> {
    trial: &'t Trial,
    /// A copy of the template in which nothing has been written, if there is one, with the stamps that tell.
    fresh: Option<(World, Stamps)>,
    /// The number of runs that wrote nothing.
    untouched: usize,
    /// The number of other runs that left what an earlier one had left.
    alike: usize,
}

type Stamps = BTreeSet<(PathBuf, [i64; 7])>;

impl<'t> Scene<'t> {
    fn of(trial: &'t Trial) -> Self {
        Self {
            trial,
            fresh: None,
            untouched: 0,
            alike: 0,
        }
    }

    /// See [`Trial::try_fault`]. Where a run that failed has written nothing, as the stamps tell, the next commands
    /// find what they find in the template. They need not be tried again, and the next run can be in the same place.
    /// Nor need they be tried where a run has left what an earlier one left.
    fn try_fault(&mut self, fault: Fault) -> Option<Result<(), String>> {
        let trial = self.trial;
        let (world, before) = self.fresh.take().unwrap_or_else(|| {
            let world = copy(&trial.template);
            let stamps = world.stamps();
            (world, stamps)
        });
        let (run, trace) = Trial::run(&world, trial.order, Some(fault));
        let hit = hit(&trace, fault)?;
        let wrote = run.code == Some(trial.code) || world.stamps() != before;
        let found = trial
            .judge_end(&run, &trace, fault)
            .and_then(|()| match wrote {
                true => self.judge_left(&world, &run),
                false => Ok(()),
            });
        if !wrote {
            self.untouched += 1;
            self.fresh = Some((world, before));
        }
        // The executor is a program of the user: what it does after a failure is not up to the order. git takes attributes
        // whose reading a signal interrupts for those that end there, which no file on a disk lets happen.
        let is_of_git =
            fault.effect == Effect::Error("EINTR") && has_hit_file(&trace, fault, ".gitattributes");
        let is_of_others = is_of_git || has_hit(&trace, fault, EXECUTOR);
        let found = found.or_else(|wrong| if is_of_others { Ok(()) } else { Err(wrong) });
        Some(
            found.map_err(|wrong| {
                format!("{} {fault:?}: {wrong}\n{hit}\n{run:?}", trial.order.name)
            }),
        )
    }
}

impl Scene<'_> {
    fn judge_left(&mut self, world: &World, run: &Run) -> Result<(), String> {
        let left = (run.code == Some(self.trial.code), Left::of(world));
        if self.trial.fine.lock().expect("no panic").contains(&left) {
            self.alike += 1;
            return Ok(());
        }
        self.trial.judge_left(world, run)?;
        self.trial.fine.lock().expect("no panic").insert(left);
        Ok(())
    }
}

/// Everything that a run has left, but for times and numbers of files: the bytes and the mode of each file, and what
/// the index says of each path and of whether it is as the index has it. The index holds such numbers.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Left {
    files: BTreeMap<PathBuf, (u32, usize, u64)>,
    index: [Ended; 2],
}

fn hash(bytes: &[u8]) -> u64 {
    let mut hasher = DefaultHasher::new();
    hasher.write(bytes);
    hasher.finish()
}

impl Left {
    fn of(world: &World) -> Self {
        let root = world.root();
        let mut files = BTreeMap::new();
        let index = root.join(".git/index");
        for entry in world.everything().filter(|entry| entry.path() != index) {
            let path = entry.path();
            let mode = entry.metadata().expect("nobody else is at work").mode();
            let bytes = if path.is_dir() {
                Vec::new()
            } else {
                fs::read(path).unwrap_or_default()
            };
            let name = path.strip_prefix(&root).unwrap_or(path).to_owned();
            files.insert(name, (mode, bytes.len(), hash(&bytes)));
        }
        let asked = [
            &["ls-files", "--stage", "-v", "-t"][..],
            &["diff-files", "--raw"],
        ];
        Self {
            files,
            index: asked.map(|arguments| world.git_ended(arguments)),
        }
    }
}

/// git ignores a failing write to a pipe, and ends as if it had nothing to say.
#[test]
fn an_answer_of_git_that_is_lost_is_not_taken_for_an_empty_one() {
    if !can_inject() {
        return;
    }
    let order = ORDERS
        .iter()
        .find(|order| order.name == "split index")
        .expect("in the table");
    let trial = Trial::of(order);
    let mut is_lost = false;
    for nth in 1..=4 {
        let fault = Fault {
            call: "write",
            effect: Effect::Error("EINTR"),
            nth,
            only: None,
        };
        let (_, trace) = Trial::run(&copy(&trial.template), order, Some(fault));
        is_lost |= trace
            .lines()
            .any(|line| line.contains(" write(1<") && line.contains("(INJECTED)"));
        trial
            .try_fault(fault)
            .unwrap_or(Ok(()))
            .unwrap_or_else(|wrong| panic!("{wrong}"));
    }
    assert!(is_lost, "no answer of git was hit");
}

/// Found by the whole matrix: git takes an input that it cannot read for an empty one; the standard library panics if
/// it cannot read an answer; a killed git leaves its lock.
#[test]
fn a_git_that_writes_the_index_may_fail_in_each_way() {
    if !can_inject() {
        return;
    }
    let trial = Trial::of(
        ORDERS
            .iter()
            .find(|order| order.name == "split index")
            .expect("in the table"),
    );
    let (_, trace) = Trial::run(&copy(&trial.template), trial.order, None);
    // Each process is hit at its own n-th call.
    let mut at: BTreeMap<&str, usize> = BTreeMap::new();
    let mut points = BTreeSet::new();
    for line in trace.lines().filter(|line| line.contains(" read(")) {
        let process = line.split(' ').next().expect("a number");
        let nth = at.entry(process).or_default();
        *nth += 1;
        if line.contains("<pipe:") {
            points.insert(*nth);
        }
    }
    assert!(points.len() > 3, "{points:?}");
    let kill = Fault {
        call: "rename",
        effect: Effect::Kill,
        nth: 1,
        only: None,
    };
    let read = |nth: &usize| Fault {
        call: "read",
        effect: Effect::Error("EIO"),
        nth: *nth,
        only: None,
    };
    for fault in points.iter().map(read).chain([kill]) {
        trial
            .try_fault(fault)
            .unwrap_or(Ok(()))
            .unwrap_or_else(|wrong| panic!("{wrong}"));
    }
}

/// Found by the whole matrix: a killed `git add` left git's lock of the index, which stopped the next command.
#[test]
fn a_git_that_stages_may_be_killed_at_each_change() {
    if !can_inject() {
        return;
    }
    let trial = Trial::of(
        ORDERS
            .iter()
            .find(|order| order.name == "resolve")
            .expect("in the table"),
    );
    for call in ["rename", "unlink", "link", "write"] {
        let mut scene = Scene::of(&trial);
        let kill = |nth| Fault {
            call,
            effect: Effect::Kill,
            nth,
            only: None,
        };
        let found: Vec<_> = (1..).map_while(|nth| scene.try_fault(kill(nth))).collect();
        assert!(!found.is_empty(), "{call}");
        found
            .into_iter()
            .for_each(|found| found.unwrap_or_else(|wrong| panic!("{wrong}")));
    }
}

/// Files of orders that nobody can tell anything of if they cannot be read: whether a record has changed since it was
/// evaluated, whose a hook is, what one side of a merge has. Most were found by the whole matrix.
const READ: [(&str, &[&str]); 7] = [
    ("next", &["tasks/t/transcript.jsonl", "tasks/t/state.json"]),
    ("recover", &["tasks/t/transcript.jsonl"]),
    ("resolve", &["tasks/t/transcript.jsonl"]),
    ("uninstall", &[".git/hooks/pre-commit"]),
    ("doctor", &[".git/hooks/pre-commit", ".git/config"]),
    ("merge-driver", &[".git/made/ours", ".git/made/theirs"]),
    ("board", &["tasks/t/planning/plan.json"]),
];

#[test]
fn what_cannot_be_read_for_a_moment_is_not_another_content() {
    if !can_inject() {
        return;
    }
    for (name, files) in READ {
        let trial = Trial::of(
            ORDERS
                .iter()
                .find(|order| order.name == name)
                .expect("in the table"),
        );
        for (only, (call, error)) in files
            .iter()
            .flat_map(|only| [("openat", "EACCES"), ("read", "EIO")].map(|fault| (only, fault)))
        {
            let mut scene = Scene::of(&trial);
            let fault = |nth| Fault {
                call,
                effect: Effect::Error(error),
                nth,
                only: Some(only),
            };
            let found: Vec<_> = (1..).map_while(|nth| scene.try_fault(fault(nth))).collect();
            // git hands its driver relative paths, which strace does not find.
            assert!(
                !found.is_empty() || (name == "merge-driver" && call == "openat"),
                "{name}: {call} {only}"
            );
            found
                .into_iter()
                .for_each(|found| found.unwrap_or_else(|wrong| panic!("{wrong}")));
        }
    }
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
    // Half of the orders: each takes a second.
    for order in ORDERS.iter().skip(below(2)).step_by(2) {
        let trial = Trial::of(order);
        for _ in 0..setting::number("ORCH_FAULT_COUNT").unwrap_or(1) {
            let (call, effects, count) = trial.calls[below(trial.calls.len())];
            let fault = Fault {
                call,
                effect: effects[below(effects.len())],
                nth: 1 + below(count),
                only: None,
            };
            wrong.extend(trial.try_fault(fault).and_then(Result::err));
        }
    }
    assert!(
        wrong.is_empty(),
        "{} violations\n{}",
        wrong.len(),
        wrong.join("\n")
    );
}

/// What the faults at one kind of call of one order came to.
struct Row {
    order: &'static str,
    call: &'static str,
    points: usize,
    runs: usize,
    untouched: usize,
    alike: usize,
    wrong: Vec<String>,
}

impl Row {
    fn tell(&self) {
        let Self {
            order,
            call,
            points,
            runs,
            untouched,
            alike,
            wrong,
        } = self;
        let found = wrong.len();
        told(&format!(
            "{order:<12} {call:<11} {points:>6} {runs:>6} {untouched:>9} {alike:>6} {found:>10}"
        ));
        wrong.iter().for_each(|wrong| told(wrong));
    }
}

/// The n-th call of a kind has each effect, for each n, until the order is left undisturbed.
fn every_fault_at(trial: &Trial, (call, effects): (&'static str, &[Effect])) -> Row {
    let mut scene = Scene::of(trial);
    let mut row = Row {
        order: trial.order.name,
        call,
        points: 0,
        runs: 0,
        untouched: 0,
        alike: 0,
        wrong: Vec::new(),
    };
    for effect in effects {
        for nth in 1.. {
            let Some(found) = scene.try_fault(Fault {
                call,
                effect: *effect,
                nth,
                only: None,
            }) else {
                break;
            };
            row.runs += 1;
            row.points = row.points.max(nth);
            row.wrong.extend(found.err());
        }
    }
    (row.untouched, row.alike) = (scene.untouched, scene.alike);
    row
}

/// Each fault of each order, or of those that `ORCH_FAULT_ORDERS` names; two at a time, or `ORCH_FAULT_JOBS`. Prints a
/// table.
fn every_fault() {
    let chosen = setting::setting("ORCH_FAULT_ORDERS");
    let is_chosen = |order: &&Order| {
        chosen
            .as_ref()
            .is_none_or(|names| names.split(',').any(|name| name == order.name))
    };
    let jobs = setting::number("ORCH_FAULT_JOBS").unwrap_or(2);
    told(&format!(
        "{:<12} {:<11} {:>6} {:>6} {:>9} {:>6} {:>10}",
        "order", "call", "points", "runs", "untouched", "alike", "violations"
    ));
    let all = Mutex::new([0; 3]);
    for order in ORDERS.iter().filter(is_chosen) {
        let trial = Trial::of(order);
        // The last ones are the longest.
        let left = Mutex::new(
            trial
                .calls
                .iter()
                .map(|(call, effects, _)| (*call, *effects))
                .collect::<Vec<_>>(),
        );
        let next = || left.lock().expect("no panic").pop();
        thread::scope(|scope| {
            for _ in 0..jobs {
                scope.spawn(|| {
                    while let Some(call) = next() {
                        let row = every_fault_at(&trial, call);
                        row.tell();
                        let more = [row.points, row.runs, row.wrong.len()];
                        all.lock()
                            .expect("no panic")
                            .iter_mut()
                            .zip(more)
                            .for_each(|(all, more)| *all += more);
                    }
                });
            }
        });
    }
    let all = all.into_inner().expect("no panic");
    sum_up("a call that writes fails, or is the last", all);
    assert_eq!(all[2], 0, "violations");
}

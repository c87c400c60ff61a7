//! Crash images: what a power failure may leave, from a trace of what a command wrote, synced and renamed.
//!
//! The calls of a command are recorded, and carried out on a [`Disk`]. At the moments before a sync ends and before
//! something is said, which are those at which most is open, each combination of what may be lost is an image of the
//! repository, or a sample where there are too many. In each image, the next command makes everything the old state or the
//! new one, git can read all that is reachable, what was reported is there, and the same order again leads to the end that
//! it has without a failure.

use super::disk::{Change, Disk, Image, Left, materialise};
use super::inject::{can_inject, choices, is_whole, recorded, sum_up, told};
use super::power::{MANY, WATCH, many_due};
use super::recorded::{CALLS, Recorder};
use super::writing::{Trial, names_a_turn};
use crate::harness::{Ended, World, copy, program, started};
use crate::run::{LOOP, Loop};
use crate::setting;
use serde_json::Value;
use std::collections::BTreeSet;
use std::fs::{self, File};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

/// An order that is recorded.
struct Scene {
    name: &'static str,
    arguments: &'static [&'static str],
    prepare: fn() -> World,
    /// What it says of each step that is recorded, and how often.
    reports: (&'static str, usize),
    /// What must come of an image of it.
    judge: fn(&Recording, &Case, &World) -> Result<(), String>,
}

const SCENES: [Scene; 5] = [
    Scene {
        name: "a step",
        arguments: &["next", "t"],
        prepare: || {
            let world = started("planning");
            world.plan("t", 1);
            world
        },
        reports: ("planning -> plan_review", 1),
        judge: old_or_new,
    },
    Scene {
        name: "the first step",
        arguments: &["new", "t"],
        prepare: World::ready,
        reports: ("new -> planning", 1),
        judge: old_or_new,
    },
    Scene {
        name: "a step that moves",
        arguments: &["rename", "t", "u"],
        prepare: || started("planning"),
        reports: ("planning -> planning", 1),
        judge: old_or_new,
    },
    Scene {
        name: "a batch",
        arguments: WATCH,
        prepare: many_due,
        reports: ("planning -> plan_review", MANY),
        judge: old_or_new,
    },
    Scene {
        name: "a turn",
        arguments: &["run", "t", "--auto", "--json"],
        prepare: polished,
        reports: ("\"completed\"", 1),
        judge: one_turn,
    },
];

/// A loop in which one action is left, whose executor tells of its start outside the repository.
fn polished() -> World {
    let workflow = LOOP
        .replace("score = 0", "score = 80")
        .replace("rounds = 0", "rounds = 1");
    let script = "cat > /dev/null\necho begun >> ../begun\necho '{\"stateUpdates\": {\"polished\": true}}' > \"$ORCH_RESULT\"\n";
    let world = Loop::with(&workflow, script).world;
    // As `orch init` does.
    world.write("tasks/.gitignore", ".orch-tmp*\nsuggestion.json\n");
    world.commit("Ignore");
    world
}

/// How many combinations of one moment are tried one by one, and how many of more are chosen.
const EACH: usize = 512;
const CHOSEN: usize = 96;

/// What git says of the branch, the index and the work tree.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Situation {
    trees: Vec<String>,
    status: String,
}

impl Situation {
    fn of(world: &World) -> Result<Self, String> {
        let asked = [
            &["log", "--first-parent", "--format=%T"][..],
            &["status", "--porcelain=v2"],
        ];
        let [trees, status] = asked.map(|arguments| world.git_ended(arguments));
        if (trees.code, status.code) != (0, 0) {
            return Err(format!("{trees:?} {status:?}"));
        }
        let known = |tree: &str| {
            if names_a_turn(world, tree) {
                "of a turn".to_owned()
            } else {
                tree.to_owned()
            }
        };
        Ok(Self {
            trees: trees.stdout.lines().map(known).collect(),
            status: status.stdout,
        })
    }
}

/// What an order did, and what may be left of it.
struct Recording {
    scene: &'static Scene,
    template: World,
    disk: Disk,
    start: Image,
    before: Situation,
    after: Situation,
}

/// The files that an order writes outside the repository: what it reports, and that an executor begins.
const SAID: usize = 0;
const BEGUN: usize = 1;

/// One image, when it may be, whether the order had reported that it was done, and how many executors had begun.
struct Case {
    until: usize,
    left: Left,
    is_reported: bool,
    begun: usize,
}

impl Recording {
    fn of(scene: &'static Scene) -> Self {
        let template = (scene.prepare)();
        let world = copy(&template);
        let root = world.root().canonicalize().expect("a root");
        let marks = ["said", "begun"].map(|name| root.with_file_name(name));
        let mut disk = Disk::of(&root);
        let (run, trace) = recorded(&world, scene.arguments, &CALLS, |command| {
            Trial::at_its_time(&world, command);
            command
                .current_dir(&root)
                .stdout(File::create(&marks[SAID]).expect("created"));
        });
        assert_eq!(run.code, Some(0), "{}: {run:?}", scene.name);
        let nothing = disk.open(0);
        let start = disk.image(0, &nothing, &nothing.all());
        Recorder::record(&mut disk, &root, &marks, &trace);
        let open = disk.open(disk.changes.len());
        let contents = |image: &Image| {
            image
                .iter()
                .map(|(path, (_, bytes))| (path.clone(), bytes.clone()))
                .collect::<Vec<_>>()
        };
        let written = Disk::of(&root);
        let end = written.image(0, &written.open(0), &written.open(0).all());
        let (known, end) = (
            contents(&disk.image(disk.changes.len(), &open, &open.all())),
            contents(&end),
        );
        let paths = |of: &[(std::path::PathBuf, Option<Vec<u8>>)],
                     and: &[(std::path::PathBuf, Option<Vec<u8>>)]| {
            of.iter()
                .filter(|held| !and.contains(held))
                .map(|(path, _)| path.clone())
                .collect::<Vec<_>>()
        };
        assert!(
            known == end,
            "{}: the recording is not what was done: {:?} {:?}",
            scene.name,
            paths(&known, &end),
            paths(&end, &known)
        );
        let (before, after) = (Situation::of(&template), Situation::of(&world));
        let (before, after) = (before.expect("a situation"), after.expect("a situation"));
        assert_ne!(before, after, "{} changes nothing", scene.name);
        let said = fs::read_to_string(&marks[SAID]).expect("said");
        assert_eq!(
            said.matches(scene.reports.0).count(),
            scene.reports.1,
            "{}: {said}",
            scene.name
        );
        Self {
            scene,
            template,
            disk,
            start,
            before,
            after,
        }
    }

    /// What may be left at all moments.
    fn cases(&self) -> Vec<Case> {
        let (mut below, mut cases) = (choices(), Vec::new());
        let changes = &self.disk.changes;
        let is_moment = |at: &usize| {
            changes
                .get(*at)
                .is_none_or(|change| matches!(change, Change::Synced { .. } | Change::Mark(..)))
        };
        for until in (0..=changes.len()).filter(is_moment) {
            let open = self.disk.open(until);
            let lefts: Vec<Left> = if open.combinations() <= EACH {
                open.each().collect()
            } else {
                let chosen = (0..CHOSEN)
                    .map(|_| open.some(&mut below))
                    .collect::<Vec<_>>();
                open.extremes().into_iter().chain(chosen).collect()
            };
            let marked = |of: usize, text: &str| -> usize {
                let held = changes[..until].iter().map(|change| match change {
                    Change::Mark(mark, said) if *mark == of => said.matches(text).count(),
                    _ => 0,
                });
                held.sum()
            };
            let (text, count) = self.scene.reports;
            let (is_reported, begun) = (marked(SAID, text) == count, marked(BEGUN, "begun"));
            cases.extend(lefts.into_iter().map(|left| Case {
                until,
                left,
                is_reported,
                begun,
            }));
        }
        cases
    }

    fn image(&self, case: &Case) -> Image {
        self.disk
            .image(case.until, &self.disk.open(case.until), &case.left)
    }

    /// Whether the next commands make of an image what they must.
    fn judge(&self, case: &Case) -> Result<(), String> {
        let world = copy(&self.template);
        materialise(&world.root(), &self.start, &self.image(case));
        end_boot(&world);
        (self.scene.judge)(self, case, &world)?;
        let audit = ended_in_time(&world, &["audit"])?;
        // A clone takes what is reachable, and nothing else.
        let clone = world.git_ended(&["clone", "-q", "--no-local", ".", "../clone"]);
        let fsck = world.git_ended(&["-C", "../clone", "fsck", "--strict"]);
        if [audit.code, clone.code, fsck.code] != [0; 3] {
            return Err(format!("{audit:?} {clone:?} {fsck:?}"));
        }
        Ok(())
    }

    /// What a case has lost, in words.
    fn lost(&self, case: &Case) -> String {
        let open = self.disk.open(case.until);
        let names = open.names.iter().filter(|at| !case.left.names.contains(at));
        let names = names.filter_map(|at| match &self.disk.changes[*at] {
            Change::Names(names) => Some(format!("{names:?}")),
            _ => None,
        });
        let bytes = open.bytes.iter().map(|(node, contents)| {
            format!(
                "file {node}: content {} of {}",
                case.left.bytes[node] + 1,
                contents.len()
            )
        });
        format!(
            "{}\n{}",
            names.collect::<Vec<_>>().join(" "),
            bytes.collect::<Vec<_>>().join(", ")
        )
    }
}

/// Makes the leases of a copy those of an earlier boot, as a power failure does. What it left damaged is as it is.
fn end_boot(world: &World) {
    let Ok(leases) = fs::read_dir(world.path(".git/orch/leases")) else {
        return;
    };
    for lease in leases {
        let path = lease.expect("an entry").path();
        let text = fs::read(&path).expect("read");
        if let Ok(mut lease) = serde_json::from_slice::<Value>(&text) {
            lease["boot"] = "earlier".into();
            fs::write(&path, lease.to_string()).expect("written");
        }
    }
}

/// The next command makes everything what it was before the order or after it, and the same order again leads to its end.
fn old_or_new(of: &Recording, case: &Case, world: &World) -> Result<(), String> {
    let looked = ended_in_time(world, &["status"])?;
    if looked.code != 0 {
        return Err(format!("the next command: {looked:?}"));
    }
    let healed = Situation::of(world)?;
    if healed == of.after {
        return Ok(());
    }
    if case.is_reported || healed != of.before {
        return Err(format!("it became {healed:?}, not {:?}", of.after));
    }
    let again = ended_in_time(world, of.scene.arguments)?;
    match Situation::of(world)? {
        end if again.code == 0 && end == of.after => Ok(()),
        end => Err(format!("the same order again: {again:?} {end:?}")),
    }
}

/// The run continues to its end: its action is recorded once, and each start of an executor was counted as a turn.
fn one_turn(_: &Recording, case: &Case, world: &World) -> Result<(), String> {
    let looked = ended_in_time(world, &["status"])?;
    let again = ended_in_time(world, &["run", "t", "--auto", "--json"])?;
    let report: Value =
        serde_json::from_str(&again.stdout).map_err(|error| format!("{error}: {again:?}"))?;
    let records = world.read("tasks/t/transcript.jsonl");
    let recorded = records
        .lines()
        .filter(|line| line.contains(r#""action":"polish""#))
        .count();
    let begun = fs::read_to_string(world.path("../begun"))
        .unwrap_or_default()
        .lines()
        .count();
    let is_counted =
        begun == 0 || report["turns"].as_u64() >= u64::try_from(case.begun + begun).ok();
    let is_done = world.json("tasks/t/state.json")["status"] == "done" && recorded == 1;
    let is_once = !case.is_reported || begun == 0;
    if looked.code != 0
        || again.code != 0
        || !is_counted
        || !is_done
        || !is_once
        || !world.dirty().is_empty()
    {
        let (before, dirty) = (case.begun, world.dirty());
        return Err(format!(
            "{before} begun, then {begun}; {recorded} recorded; {dirty}: {looked:?} {again:?}"
        ));
    }
    Ok(())
}

/// Runs `orch` at the time of all runs. Returns an error if it does not end.
fn ended_in_time(world: &World, arguments: &[&str]) -> Result<Ended, String> {
    let mut command = world.command("timeout");
    command
        .args(["-s", "KILL", "10", &program()])
        .args(arguments);
    Trial::at_its_time(world, &mut command);
    let ended = world.end(command.output().expect("timeout runs"));
    if ended.code == 137 {
        Err(format!("{arguments:?} does not end"))
    } else {
        Ok(ended)
    }
}

/// Those in which the least and the most is lost at the end, and one other of each order; many with `make faults`.
#[test]
fn a_power_failure_leaves_the_old_state_or_the_new_one_and_what_was_reported() {
    if !can_inject() {
        return;
    }
    let mut below = choices();
    let mut wrong = Vec::new();
    let usual = if is_whole() { 400 } else { 1 };
    let count =
        usize::try_from(setting::number("ORCH_FAULT_COUNT").unwrap_or(usual)).expect("small");
    let names = setting::setting("ORCH_FAULT_ORDERS");
    let is_chosen = |scene: &&Scene| {
        names
            .as_ref()
            .is_none_or(|names| names.split(',').any(|name| name == scene.name))
    };
    for scene in SCENES.iter().filter(is_chosen) {
        let recording = Recording::of(scene);
        let mut cases = recording.cases();
        let combinations = cases.len();
        let last = cases
            .iter()
            .position(|case| case.until == recording.disk.changes.len());
        let mut chosen: Vec<Case> = cases.drain(last.expect("an end")..).take(2).collect();
        chosen.extend((0..count.min(cases.len())).map(|_| cases.swap_remove(below(cases.len()))));
        let mut seen = BTreeSet::new();
        chosen.retain(|case| {
            let mut hasher = DefaultHasher::new();
            (case.is_reported, case.begun, recording.image(case)).hash(&mut hasher);
            seen.insert(hasher.finish())
        });
        let cases = chosen;
        let mut violations = 0;
        for case in &cases {
            if let Err(why) = recording.judge(case) {
                violations += 1;
                wrong.push(format!(
                    "{}, {}: {}\n{why}",
                    scene.name,
                    case.until,
                    recording.lost(case)
                ));
            }
        }
        sum_up(
            &format!("the power fails: {}", scene.name),
            [combinations, cases.len(), violations],
        );
        told(&format!(
            "{}: {} changes, {combinations} combinations, {} images tried, {violations} violations",
            scene.name,
            recording.disk.changes.len(),
            cases.len()
        ));
    }
    wrong.truncate(20);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

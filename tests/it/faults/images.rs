//! Crash images: what a power failure may leave, from a trace of what a command wrote, synced and renamed.
//!
//! The calls of a command are recorded, and carried out on a [`Disk`]. At the moments before a sync ends and before
//! something is said, which are those at which most is open, each combination of what may be lost is an image of the
//! repository, or a sample where there are too many. In each image, the next command makes everything the old state or the
//! new one, git can read all that is reachable, what was reported is there, and the same order again leads to the end that
//! it has without a failure.

use super::disk::{Change, Disk, Image, Left, materialise};
use super::inject::{can_inject, choices, is_whole, recorded, told};
use super::recorded::{CALLS, Recorder};
use super::writing::Trial;
use crate::harness::{Ended, World, copy, program};
use crate::setting;
use std::collections::BTreeSet;
use std::fs::File;
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

/// An order that is recorded.
struct Scene {
    name: &'static str,
    arguments: &'static [&'static str],
    prepare: fn(&World),
}

const SCENES: [Scene; 3] = [
    Scene {
        name: "a step",
        arguments: &["next", "t"],
        prepare: |world| {
            world.orch(&["new", "t"]).succeeds();
            world.plan("t", 1);
        },
    },
    Scene { name: "the first step", arguments: &["new", "t"], prepare: |_| {} },
    Scene {
        name: "a step that moves",
        arguments: &["rename", "t", "u"],
        prepare: |world| drop(world.orch(&["new", "t"]).succeeds()),
    },
];

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
        let asked = [&["log", "--first-parent", "--format=%T"][..], &["status", "--porcelain=v2"]];
        let [trees, status] = asked.map(|arguments| world.git_ended(arguments));
        if (trees.code, status.code) != (0, 0) {
            return Err(format!("{trees:?} {status:?}"));
        }
        Ok(Self { trees: trees.stdout.lines().map(str::to_owned).collect(), status: status.stdout })
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

/// One image, when it may be, and whether the step had been reported.
struct Case {
    until: usize,
    left: Left,
    image: Image,
    is_reported: bool,
}

impl Recording {
    fn of(scene: &'static Scene) -> Self {
        let template = World::ready();
        (scene.prepare)(&template);
        let world = copy(&template);
        let root = world.root().canonicalize().expect("a root");
        let said = root.with_file_name("said");
        let mut disk = Disk::of(&root);
        let (run, trace) = recorded(&world, scene.arguments, &CALLS, |command| {
            Trial::at_its_time(&world, command);
            command.current_dir(&root).stdout(File::create(&said).expect("created"));
        });
        assert_eq!(run.code, Some(0), "{}: {run:?}", scene.name);
        let nothing = disk.open(0);
        let start = disk.image(0, &nothing, &nothing.all());
        Recorder::record(&mut disk, &root, &[said], &trace);
        let open = disk.open(disk.changes.len());
        let contents = |image: &Image| {
            image.iter().map(|(path, (_, bytes))| (path.clone(), bytes.clone())).collect::<Vec<_>>()
        };
        let written = Disk::of(&root);
        let end = written.image(0, &written.open(0), &written.open(0).all());
        let (known, end) = (contents(&disk.image(disk.changes.len(), &open, &open.all())), contents(&end));
        let paths = |of: &[(std::path::PathBuf, Option<Vec<u8>>)],
                     and: &[(std::path::PathBuf, Option<Vec<u8>>)]| {
            of.iter().filter(|held| !and.contains(held)).map(|(path, _)| path.clone()).collect::<Vec<_>>()
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
        Self { scene, template, disk, start, before, after }
    }

    /// The images of all moments, each once, and how many combinations led to them.
    fn cases(&self) -> (Vec<Case>, usize) {
        let mut below = choices();
        let (mut seen, mut cases, mut combinations) = (BTreeSet::new(), Vec::new(), 0);
        let changes = &self.disk.changes;
        let is_moment = |at: &usize| {
            changes.get(*at).is_none_or(|change| matches!(change, Change::Synced { .. } | Change::Mark(_)))
        };
        for until in (0..=changes.len()).filter(is_moment) {
            let open = self.disk.open(until);
            let lefts: Vec<Left> = if open.combinations() <= EACH {
                open.each().collect()
            } else {
                let chosen = (0..CHOSEN).map(|_| open.some(&mut below)).collect::<Vec<_>>();
                open.extremes().into_iter().chain(chosen).collect()
            };
            let is_reported = changes[..until].iter().any(|change| matches!(change, Change::Mark(_)));
            for left in lefts {
                combinations += 1;
                let image = self.disk.image(until, &open, &left);
                let mut hasher = DefaultHasher::new();
                (is_reported, &image).hash(&mut hasher);
                if seen.insert(hasher.finish()) {
                    cases.push(Case { until, left, image, is_reported });
                }
            }
        }
        (cases, combinations)
    }

    /// Whether the next commands make of an image what they must.
    fn judge(&self, case: &Case) -> Result<(), String> {
        let world = copy(&self.template);
        materialise(&world.root(), &self.start, &case.image);
        let looked = ended_in_time(&world, &["status"])?;
        if looked.code != 0 {
            return Err(format!("the next command: {looked:?}"));
        }
        let healed = Situation::of(&world)?;
        if healed != self.after && (case.is_reported || healed != self.before) {
            return Err(format!("it became {healed:?}, not {:?}", self.after));
        }
        if healed != self.after {
            let again = ended_in_time(&world, self.scene.arguments)?;
            let end = Situation::of(&world)?;
            if again.code != 0 || end != self.after {
                return Err(format!("the same order again: {again:?} {end:?}"));
            }
        }
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
            format!("file {node}: content {} of {}", case.left.bytes[node] + 1, contents.len())
        });
        format!("{}\n{}", names.collect::<Vec<_>>().join(" "), bytes.collect::<Vec<_>>().join(", "))
    }
}

/// Runs `orch` at the time of all runs. Returns an error if it does not end.
fn ended_in_time(world: &World, arguments: &[&str]) -> Result<Ended, String> {
    let mut command = world.command("timeout");
    command.args(["-s", "KILL", "10", &program()]).args(arguments);
    Trial::at_its_time(world, &mut command);
    let ended = world.end(command.output().expect("timeout runs"));
    if ended.code == 137 { Err(format!("{arguments:?} does not end")) } else { Ok(ended) }
}

/// Those in which the least and the most is lost at the end, and some others; or each with `make faults`.
#[test]
fn a_power_failure_leaves_the_old_state_or_the_new_one_and_what_was_reported() {
    if !can_inject() {
        return;
    }
    let mut below = choices();
    let mut wrong = Vec::new();
    let count = usize::try_from(setting::number("ORCH_FAULT_COUNT").unwrap_or(2)).expect("small");
    for scene in &SCENES {
        let recording = Recording::of(scene);
        let (mut cases, combinations) = recording.cases();
        let images = cases.len();
        if !is_whole() {
            let last = cases.iter().position(|case| case.until == recording.disk.changes.len());
            let mut chosen: Vec<Case> = cases.drain(last.expect("an end")..).take(2).collect();
            chosen.extend((0..count).map(|_| cases.swap_remove(below(cases.len()))));
            cases = chosen;
        }
        let mut violations = 0;
        for case in &cases {
            if let Err(why) = recording.judge(case) {
                violations += 1;
                wrong.push(format!("{}, {}: {}\n{why}", scene.name, case.until, recording.lost(case)));
            }
        }
        told(&format!(
            "{}: {} changes, {combinations} combinations, {images} images, {} tried, {violations} violations",
            scene.name,
            recording.disk.changes.len(),
            cases.len()
        ));
    }
    wrong.truncate(20);
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

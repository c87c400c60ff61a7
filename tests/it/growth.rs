//! How the cost of each command grows with the number of tasks, in counted operations: no test asserts a time.

#[path = "../../benches/targets/grown.rs"]
mod grown;
#[path = "../../benches/targets/lives.rs"]
mod lives;

use crate::harness::{World, taken};
use crate::looks::{caller, open};
use grown::{Lives, PERIOD, id};
use orch::apply::{AdvancePlan, Writer};
use orch::decide::Transition;
use orch::drive::{self, WatchEvent, WatchMode, Watching};
use orch::history::{self, AuditScope, Checker};
use orch::survey::{Counted, LookDepth, Reader, Workspace};
use orch::view::{Suggestion, TaskStatus};

/// The numbers of tasks that are compared. Counts are exact, so few tasks show as much as many.
const SIZES: [usize; 2] = [PERIOD, 2 * PERIOD];
/// How much more twice as many tasks may cost: twice as much, and a little.
const LINEAR: f64 = 2.06;
/// How much more one task may cost among twice as many.
const CONSTANT: f64 = 1.02;

/// Repositories with so many tasks, each committed in a few parts.
fn worlds() -> [World; 2] {
    let world = World::ready();
    let lives = Lives::played(&world.root(), &|arguments| drop(world.orch(arguments)));
    SIZES.map(|tasks| {
        let world = World::ready();
        world.git(&["config", "user.name", "Ann"]);
        world.git(&["config", "user.email", "ann@example.com"]);
        for part in 0..4 {
            lives.grow(&world.root(), part * tasks / 4, tasks / 4);
            world.git(&["add", "-A"]);
            world.git(&["commit", "-q", "-m", "more tasks"]);
        }
        world
    })
}

/// What is done in a workspace, in one thread: helpers would read again what others know.
fn cost(world: &World, act: &dyn Fn(Workspace) -> Workspace) -> Counted {
    let mut workspace = open(world);
    workspace.limit_threads(1);
    act(workspace).reader().counted()
}

/// Each counter with its name.
fn counters(cost: &Counted) -> [(&'static str, u64); 9] {
    let Counted {
        looks,
        reads,
        bytes,
        evaluations,
        listed,
        heads,
        attributes,
        trees,
        tree_entries,
        ..
    } = *cost;
    [
        ("looks", looks),
        ("reads", reads),
        ("bytes", bytes),
        ("evaluations", evaluations),
        ("listed", listed),
        ("heads", heads),
        ("attributes", attributes),
        ("trees", trees),
        ("tree entries", tree_entries),
    ]
}

/// Asserts for each counter that the larger repository costs at most `factor` times as much.
fn grows(
    what: &str,
    worlds: &[World; 2],
    factor: impl Fn(&str) -> f64,
    act: &dyn Fn(Workspace) -> Workspace,
) {
    let [few, many] = worlds.each_ref().map(|world| cost(world, act));
    for ((name, few), (_, many)) in counters(&few).into_iter().zip(counters(&many)) {
        // What is done once for all tasks may be done once more.
        let most = (few as f64 * factor(name)).max(few as f64 + 8.0);
        assert!(
            many as f64 <= most,
            "{what}: {name} grow from {few} to {many}"
        );
    }
}

#[test]
fn answers_about_all_tasks_are_linear_and_about_one_are_constant() {
    let worlds = worlds();
    let told =
        |workspace: Workspace, depth, told: &(dyn Fn(&Reader, &orch::survey::Sight) + Sync)| {
            let tasks = workspace.finder().survey().expect("tasks").0;
            workspace
                .crew()
                .look_at_each(&tasks, depth, |reader, _, sight| {
                    told(reader, &sight.expect("a look"));
                });
            workspace
        };
    type Act<'a> = (&'a str, &'a dyn Fn(Workspace) -> Workspace);
    let whole: [Act<'_>; 6] = [
        ("status and suggest", &|workspace| {
            told(workspace, LookDepth::End, &|reader, sight| {
                let subject = reader.subject(sight);
                let _ = (TaskStatus::of(&subject), Suggestion::of(&subject));
            })
        }),
        ("check", &|workspace| {
            let (tasks, _) = workspace.finder().survey().expect("tasks");
            Checker::new(&workspace, &caller())
                .tasks(&tasks)
                .expect("checked");
            workspace
        }),
        ("log --all", &|workspace| {
            let tasks = workspace.finder().tasks().expect("tasks");
            history::stories(&workspace, &tasks).expect("read");
            workspace
        }),
        ("audit", &|workspace| {
            history::audit(&workspace, AuditScope::default()).expect("audited");
            workspace
        }),
        ("runs", &|workspace| {
            drive::runs(&workspace).expect("listed");
            workspace
        }),
        ("a survey", &|workspace| {
            workspace.finder().survey().expect("tasks");
            workspace
        }),
    ];
    for (what, act) in whole {
        grows(what, &worlds, |_| LINEAR, act);
    }
    let [few, many] = worlds.each_ref().map(|world| {
        let mut workspace = open(world);
        workspace.limit_threads(1);
        let mut watching = Watching::new(workspace, caller(), WatchMode::DryRun);
        taken(&mut watching, vec![WatchEvent::Start]);
        watching.workspace().reader().counted()
    });
    for ((name, few), (_, many)) in counters(&few).into_iter().zip(counters(&many)) {
        assert!(
            many as f64 <= few as f64 * LINEAR,
            "watch --once: {name} grow from {few} to {many}"
        );
    }
    // The directory of all tasks in HEAD is one object, which git cannot read in part.
    let one = |name: &str| {
        if name == "tree entries" {
            LINEAR
        } else {
            CONSTANT
        }
    };
    for number in [0, 2, 4] {
        let task = id(number);
        grows("suggest TASK", &worlds, one, &|workspace| {
            let sight = workspace
                .look(&workspace.finder().task(&task).expect("a task"))
                .expect("a look");
            let _ = Suggestion::of(&workspace.reader().subject(&sight));
            workspace
        });
        grows("check TASK", &worlds, one, &|workspace| {
            let task = workspace.finder().task(&task).expect("a task");
            Checker::new(&workspace, &caller())
                .tasks(&[task])
                .expect("checked");
            workspace
        });
        grows("next TASK", &worlds, one, &|workspace| {
            let (caller, task) = (caller(), workspace.finder().task(&task).expect("a task"));
            let may = |_: &Transition| true;
            let plan = AdvancePlan {
                may: &may,
                once: true,
                own: false,
                dry_run: false,
                adopt: &|_| false,
            };
            // What cannot be moved is refused at the same cost.
            let _ = Writer::new(&workspace, &caller)
                .advance()
                .tasks(&[task], &plan);
            workspace
        });
    }
}

/// Twice as many tasks, of which each step is a commit.
#[test]
fn an_audit_is_linear_in_the_steps() {
    let worlds = [6, 12].map(|tasks| {
        let world = World::ready();
        for number in 0..tasks {
            let id = format!("t-{number}");
            world.orch(&["new", &id]).succeeds();
            world.plan(&id, number);
            world.orch(&["next", &id]).succeeds();
            world.plan_review(&id, false, number);
            world.orch(&["next", &id]).succeeds();
        }
        world
    });
    // Each commit has a directory with an entry for each task, which git cannot read in part.
    let most = |name: &str| {
        if name == "tree entries" {
            LINEAR * LINEAR
        } else {
            LINEAR
        }
    };
    grows("audit", &worlds, most, &|workspace| {
        let audit = history::audit(&workspace, AuditScope::default()).expect("audited");
        assert_eq!(audit.changes.len() % 18, 0);
        workspace
    });
}

/// Where it is kept that no object is torn.
const WHOLE: &str = ".git/orch/whole-objects";

/// The files of objects are looked at once for each boot of the machine, however many there are.
#[test]
fn objects_are_searched_once_for_each_boot() {
    let world = crate::looks::world();
    let searched = || open(&world).reader().counted().searched;
    let of_copy = || crate::harness::copy(&world);
    assert_eq!(searched(), 0, "the commands before have looked");
    for number in 0..300 {
        world.write("more.txt", format!("{number}"));
        world.git(&["hash-object", "-w", "more.txt"]);
    }
    assert_eq!(searched(), 0, "there are more objects");
    let other = of_copy();
    let another_boot = |text: String| text.replacen('-', "0", 1);
    type Change<'a> = (&'a str, &'a dyn Fn());
    let changes: [Change<'_>; 4] = [
        ("another boot", &|| {
            world.write(WHOLE, another_boot(world.read(WHOLE)))
        }),
        ("a note that is cut short", &|| {
            world.write(WHOLE, &world.read(WHOLE)[..20])
        }),
        ("no note", &|| world.remove(WHOLE)),
        ("an alternate", &|| {
            let objects = other.path(".git/objects").display().to_string();
            world.write(".git/objects/info/alternates", objects);
        }),
    ];
    for (what, change) in changes {
        change();
        assert!(searched() >= 300, "{what}");
        assert_eq!(searched(), 0, "{what}: it is kept");
    }
    let copy = of_copy();
    let searched_there = || open(&copy).reader().counted().searched;
    assert!(searched_there() >= 300, "a copy has files of its own");
    assert_eq!(searched_there(), 0, "a copy keeps it");
    // Where nothing can be kept, each command looks.
    world.remove(WHOLE);
    std::fs::create_dir(world.path(WHOLE)).expect("made");
    assert!(searched() >= 300 && searched() >= 300);
}

/// A command that only looks writes nothing; what it looks at, it looks at each time.
#[test]
fn a_check_keeps_nothing_of_its_search() {
    let world = crate::looks::world();
    world.remove(WHOLE);
    world.orch(&["check", "--staged"]).succeeds();
    assert!(!world.path(WHOLE).exists());
    world.orch(&["status"]).succeeds();
    let kept = world.read(WHOLE);
    let boot = std::fs::read_to_string("/proc/sys/kernel/random/boot_id").expect("Linux");
    assert!(kept.contains(boot.trim()), "{kept}");
}

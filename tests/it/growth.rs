//! How the cost of each command grows with the number of tasks, in counted operations: no test asserts a time.

#[path = "../../benches/targets/grown.rs"]
mod grown;
#[path = "../../benches/targets/lives.rs"]
mod lives;

use crate::harness::{World, taken};
use crate::looks::{caller, open};
use grown::{Lives, PERIOD, id};
use orch_base::TaskId;
use orch_core::decide::Transition;
use orch_engine::apply::{AdvancePlan, NewTask, RelationWish, Writer};
use orch_engine::drive::{self, WatchEvent, WatchMode, Watching};
use orch_engine::history::{self, AuditScope, Checker};
use orch_engine::survey::{BranchRelations, Counted, LookDepth, Reader, Workspace};
use orch_view::{Suggestion, TaskStatus};

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
fn counters(cost: &Counted) -> [(&'static str, u64); 11] {
    let Counted {
        looks,
        glimpses,
        reads,
        bytes,
        evaluations,
        listed,
        heads,
        attributes,
        commits,
        trees,
        tree_entries,
        ..
    } = *cost;
    [
        ("looks", looks),
        ("glimpses", glimpses),
        ("reads", reads),
        ("bytes", bytes),
        ("evaluations", evaluations),
        ("listed", listed),
        ("heads", heads),
        ("attributes", attributes),
        ("commits", commits),
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
    let told = |workspace: Workspace,
                depth,
                told: &(dyn Fn(&Reader, &orch_engine::survey::Sight) + Sync)| {
        let tasks = workspace.finder().survey().expect("tasks").0;
        workspace
            .crew()
            .look_at_each(&tasks, depth, |reader, _, sight| {
                told(reader, &sight.expect("a look"));
            });
        workspace
    };
    type Act<'a> = (&'a str, &'a dyn Fn(Workspace) -> Workspace);
    let whole: [Act<'_>; 5] = [
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
        grows("relate TASK", &worlds, one, &|workspace| {
            let (caller, task) = (caller(), workspace.finder().task(&task).expect("a task"));
            let wish = RelationWish {
                after: vec![id(6)],
                ..RelationWish::default()
            };
            let relate = Writer::new(&workspace, &caller).relate();
            relate
                .task(&task, &wish, true)
                .expect("it could be related");
            workspace
        });
        grows("next TASK", &worlds, one, &|workspace| {
            let (caller, task) = (caller(), workspace.finder().task(&task).expect("a task"));
            let may = |_: &Transition| true;
            let plan = AdvancePlan {
                may: &may,
                lapses: true,
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

/// Imports tasks of which each waits for the two before it, and is part of the first one.
fn import_chain(workspace: &Workspace, tasks: usize) {
    let name = |number: usize| format!("t-{number}");
    let wishes: Vec<(String, RelationWish)> = (0..tasks)
        .map(|number| {
            let after = number.saturating_sub(2)..number;
            let wish = RelationWish {
                after: after.map(name).collect(),
                parent: (number > 0).then(|| Some(name(0))),
                ..RelationWish::default()
            };
            (name(number), wish)
        })
        .collect();
    let new = wishes.iter().map(|(id, wish)| {
        let new = NewTask {
            relations: Some(wish),
            ..NewTask::default()
        };
        (id.as_str(), new)
    });
    let mut created = 0;
    let caller = caller();
    let create = Writer::new(workspace, &caller).create();
    create.tasks(new, |_| created += 1).expect("created");
    assert_eq!(created, tasks);
}

#[test]
fn an_import_and_what_follows_it_are_linear_in_the_relations() {
    let worlds = [12, 24].map(|tasks| (World::ready(), tasks));
    let compare = |what: &str, act: &dyn Fn(Workspace, usize) -> Counted| {
        let [few, many] = worlds
            .each_ref()
            .map(|(world, tasks)| act(open(world), *tasks));
        for ((name, few), (_, many)) in counters(&few).into_iter().zip(counters(&many)) {
            // Each commit has a directory with an entry for each task, which git cannot read in part.
            let factor = if name == "tree entries" {
                LINEAR * LINEAR
            } else {
                LINEAR
            };
            // The first ones have fewer relations.
            let most = few as f64 * factor + 8.0;
            assert!(
                many as f64 <= most,
                "{what}: {name} grow from {few} to {many}"
            );
        }
    };
    compare("an import", &|workspace, tasks| {
        import_chain(&workspace, tasks);
        workspace.reader().counted()
    });
    compare("looks at all tasks of a branch", &|workspace, tasks| {
        let tip = workspace.at("HEAD").expect("HEAD");
        let all = tip.finder().tasks().expect("tasks");
        assert_eq!(all.len(), tasks);
        for task in &all {
            tip.look(task).expect("a look");
        }
        tip.reader().counted()
    });
    // Each commit has brought one task.
    for (world, tasks) in &worlds {
        let mut relations = BranchRelations::default();
        let mut read = 0;
        let mut concerned_at = |back: usize, task: &str| {
            let tip = open(world).at(&format!("HEAD~{back}")).expect("a commit");
            let task = TaskId::new(task).expect("an id");
            let concerned = relations.concerned_by(&tip, &task).expect("read");
            read += tip.reader().counted().glimpses;
            concerned.iter().map(TaskId::to_string).collect::<Vec<_>>()
        };
        for back in (0..*tasks).rev() {
            concerned_at(back, "t-3");
        }
        assert_eq!(concerned_at(0, "t-3"), ["t-0", "t-4", "t-5"]);
        assert_eq!(read, *tasks as u64);
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

/// Twice as many branches from one commit, each with a task of its own, merged one after the other.
#[test]
fn an_audit_of_branches_is_linear_in_the_merges() {
    let worlds = [6, 12].map(|branches| {
        let world = World::ready();
        world.git(&["config", "user.name", "Ann"]);
        world.git(&["config", "user.email", "ann@example.com"]);
        let caller = caller();
        for number in 0..branches {
            let name = format!("t-{number}");
            world.git(&["checkout", "-q", "-b", &name, "main"]);
            let workspace = open(&world);
            let create = Writer::new(&workspace, &caller).create();
            create.task(&name, &NewTask::default()).expect("created");
        }
        world.git(&["checkout", "-q", "main"]);
        for number in 0..branches {
            let name = format!("t-{number}");
            world.git(&["merge", "-q", "--no-ff", "-m", "a task", &name]);
        }
        world
    });
    // A merge has each task that came to the other side, in its own directory.
    let most = |name: &str| match name {
        "commits" => LINEAR,
        _ => LINEAR * LINEAR,
    };
    grows("audit of branches", &worlds, most, &|workspace| {
        history::audit(&workspace, AuditScope::default()).expect("audited");
        workspace
    });
}

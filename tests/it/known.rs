//! What is known of earlier looks never differs from what a look would find, whatever has changed in between.

use crate::harness::World;
use crate::looks::open;
use crate::walk::PLAN;
use orch_engine::survey::{Counted, Keeper, Workspace};
use orch_view::TaskStatus;
use std::fs;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::PathBuf;
use std::thread::sleep;
use std::time::Duration;

/// Until files are old enough to be known again.
fn settle() {
    sleep(Duration::from_millis(60));
}

const CACHE: &str = ".git/orch/looks";

/// The status, which uses what is known, and which may not differ from one that knows nothing.
fn status(world: &World, what: &str) -> String {
    let known = world.orch(&["status", "--json", "--all"]).stdout;
    let (cache, aside) = (world.path(CACHE), world.path(".git/orch/aside"));
    let is_kept = fs::rename(&cache, &aside).is_ok();
    let looked = world.orch(&["status", "--json", "--all"]).stdout;
    assert_eq!(known, looked, "{what}");
    if is_kept {
        fs::remove_dir_all(&cache).ok();
        fs::rename(aside, cache).expect("back");
    }
    known
}

/// A repository with tasks in several phases: some moved, one finished, one that nobody adopted, one with a flaw.
fn world() -> World {
    let world = World::ready();
    for id in ["a", "b", "c"] {
        world.orch(&["new", id]).succeeds();
        world.write(&format!("tasks/{id}/planning/planning.ai.json"), PLAN);
    }
    world.orch(&["next", "a"]).succeeds();
    world.orch(&["next", "b"]).succeeds();
    world.write("tasks/b/review/plan/verdict.json", "{\"verdict\": ");
    world.write("tasks/d/planning/planning.ai.json", PLAN);
    world.write("tasks/e/planning/planning.ai.json", PLAN);
    world.git(&["add", "tasks/e"]);
    world.git(&["commit", "-q", "-m", "A plan"]);
    settle();
    world
}

/// Gives a file other bytes of the same length and its former times.
fn in_place(path: PathBuf) {
    let metadata = fs::metadata(&path).expect("a file");
    let (text, times) = (
        fs::read_to_string(&path).expect("text"),
        metadata.modified().expect("a time"),
    );
    fs::write(&path, text.replacen("final", "draft", 1)).expect("written");
    let file = fs::File::options().write(true).open(&path).expect("opened");
    file.set_modified(times).expect("set back");
}

#[test]
fn whatever_changes_is_seen() {
    type Change = (&'static str, fn(&World));
    let changes: [Change; 24] = [
        ("nothing", |_| ()),
        ("bytes of the same length, with the former time", |world| {
            in_place(world.path("tasks/c/planning/planning.ai.json"));
        }),
        ("a file in a new directory", |world| {
            world.write("tasks/a/review/plan/verdict.json", "{}")
        }),
        ("a file in a known directory", |world| {
            world.write("tasks/a/planning/more.json", "{}")
        }),
        ("a removed file", |world| {
            world.remove("tasks/c/planning/planning.ai.json")
        }),
        ("a renamed file", |world| {
            fs::rename(
                world.path("tasks/b/planning/planning.ai.json"),
                world.path("tasks/b/planning/other.json"),
            )
            .expect("renamed");
        }),
        ("a file replaced by a link to itself", |world| {
            let (path, aside) = (
                world.path("tasks/c/planning/planning.ai.json"),
                world.path("plan.json"),
            );
            fs::rename(&path, &aside).expect("renamed");
            symlink(aside, path).expect("linked");
        }),
        ("a file replaced by a directory", |world| {
            world.remove("tasks/c/planning/planning.ai.json");
            fs::create_dir(world.path("tasks/c/planning/planning.ai.json")).expect("made");
        }),
        ("a file that nobody may read", |world| {
            let path = world.path("tasks/c/planning/planning.ai.json");
            fs::set_permissions(path, fs::Permissions::from_mode(0o000)).expect("set");
        }),
        ("a step", |world| drop(world.orch(&["next", "c"]))),
        (
            "a step, and the record of before it in the work tree",
            |world| {
                let files = ["tasks/c/state.json", "tasks/c/transcript.jsonl"];
                let before = files.map(|file| world.read(file));
                world.orch(&["next", "c"]).succeeds();
                for (file, text) in files.into_iter().zip(before) {
                    world.write(file, text);
                }
            },
        ),
        ("the record removed", |world| {
            world.remove("tasks/a/transcript.jsonl")
        }),
        ("another branch", |world| {
            drop(world.git(&["switch", "-q", "-c", "other"]))
        }),
        ("a commit that takes the record away", |world| {
            world.git(&[
                "rm",
                "-q",
                "--cached",
                "tasks/a/state.json",
                "tasks/a/transcript.jsonl",
            ]);
            world.git(&["commit", "-q", "-m", "Untrack it"]);
        }),
        ("an earlier commit", |world| {
            drop(world.git(&["reset", "-q", "--soft", "HEAD~1"]))
        }),
        ("a commit of code", |world| {
            world.write("src/lib.rs", "fn main() {}\n");
            world.git(&["add", "src"]);
            world.git(&["commit", "-q", "-m", "Code"]);
        }),
        ("settings", |world| {
            let settings = world.read("orch.toml");
            world.write(
                "orch.toml",
                format!("{settings}\n[git]\ncommit = \"off\"\n"),
            );
        }),
        ("another rule", |world| {
            let path = "system/workflows/global-state-machine.md";
            world.write(
                path,
                world
                    .read(path)
                    .replace("review/plan/verdict.json", "review/plan/other.json"),
            );
        }),
        ("a repository in a task", |world| {
            fs::create_dir_all(world.path("tasks/a/.git")).expect("made");
            world.write("tasks/a/.git/HEAD", "ref: refs/heads/main\n");
        }),
        ("a task that moved away", |world| {
            fs::rename(world.path("tasks/a"), world.path("tasks/z")).expect("renamed");
        }),
        ("a copied task", |world| {
            fs::create_dir_all(world.path("tasks/y")).expect("made");
            for file in ["state.json", "transcript.jsonl"] {
                world.write(
                    &format!("tasks/y/{file}"),
                    world.read(&format!("tasks/a/{file}")),
                );
            }
        }),
        ("attributes of git", |world| {
            world.write(".gitattributes", "*.json filter=none ident\n")
        }),
        ("the record of a run", |world| {
            world.write("tasks/a/.orch/run.json", "{\"broken\": ");
        }),
        ("a suggestion", |world| {
            drop(world.orch(&["watch", "--once"]))
        }),
    ];
    let mut unseen = Vec::new();
    let model = world();
    for (what, change) in changes {
        let world = World::without_git();
        fs::remove_dir(world.root()).expect("an empty directory");
        let copied = model
            .command("cp")
            .arg("-a")
            .args([model.root(), world.root()])
            .status();
        assert!(copied.expect("cp runs").success());
        let before = status(&world, what);
        change(&world);
        // At once, when the files are young, and later, when they are kept.
        let after = status(&world, what);
        settle();
        assert_eq!(status(&world, what), after, "{what}");
        assert_eq!(status(&world, what), after, "{what}");
        if after == before {
            unseen.push(what);
        }
    }
    // The user of a test may read everything.
    unseen.retain(|what| *what != "a file that nobody may read");
    let others = [
        "nothing",
        "a file in a known directory",
        "attributes of git",
        "the record of a run",
    ];
    assert_eq!(unseen, others);
}

#[test]
fn a_task_that_is_a_file_is_seen_to_return() {
    let world = World::ready();
    let settings = world.read("orch.toml");
    world.write(
        "orch.toml",
        format!("{settings}\n[[root]]\npath = \"adr/*.md\"\nworkflow = \"backlog\"\n"),
    );
    let note = "---\nstatus: To Do\n---\n# Seven\n";
    world.write("adr/seven.md", note);
    let begun = world.orch(&["new", "seven"]);
    settle();
    let before = status(&world, "there");
    assert!(before.contains("adr/seven"), "{begun:?} {before}");
    world.remove("adr/seven.md");
    settle();
    let gone = status(&world, "gone");
    assert_ne!(gone, before);
    assert_eq!(status(&world, "gone, and known"), gone);
    world.write("adr/seven.md", note);
    assert_eq!(status(&world, "there again"), before);
}

#[test]
fn a_directory_that_becomes_a_repository_is_seen() {
    for place in ["tasks/a/.git", "tasks/a/planning/.git"] {
        let world = world();
        fs::create_dir(world.path(place)).expect("made");
        settle();
        let before = status(&world, place);
        assert_eq!(status(&world, place), before);
        // The stamp of the directory around it does not change.
        world.write(&format!("{place}/HEAD"), "ref: refs/heads/main\n");
        assert_ne!(status(&world, place), before, "{place}");
    }
}

#[test]
fn what_was_looked_at_before_the_first_commit_is_looked_at_after_it() {
    let world = World::new();
    world.orch(&["init"]).succeeds();
    world.write("tasks/a/planning/planning.ai.json", PLAN);
    settle();
    let before = status(&world, "no commit");
    assert_eq!(status(&world, "no commit, and known"), before);
    world.write("src/lib.rs", "fn main() {}\n");
    world.git(&["add", "src"]);
    world.git(&["commit", "-q", "-m", "Code"]);
    status(&world, "the first commit");
}

#[test]
fn a_change_right_after_a_look_is_seen() {
    let world = world();
    for number in 0..40 {
        let plan = PLAN.replacen("final", if number % 2 == 0 { "draft" } else { "final" }, 1);
        world.write("tasks/c/planning/planning.ai.json", plan);
        let status = status(&world, "in turn");
        let phase = |word: &str| status.contains(word);
        assert_eq!(
            phase("\"direction\":\"advance\""),
            number % 2 == 1,
            "{number}"
        );
    }
}

#[test]
fn damaged_and_foreign_caches_are_not_read() {
    let world = world();
    let right = status(&world, "first");
    settle();
    assert_eq!(status(&world, "kept"), right);
    let files: Vec<PathBuf> = fs::read_dir(world.path(CACHE).join("status"))
        .expect("a cache")
        .map(|entry| entry.expect("an entry").path())
        .collect();
    assert!(files.len() >= 4, "{files:?}");
    type Damage = fn(String) -> String;
    let damages: [Damage; 6] = [
        |text| text[..text.len() / 2].to_owned(),
        |text| text.replace("planning", "planninh"),
        |text| text.replacen("status ", "other ", 1),
        |text| format!("{text}{{}}\n"),
        |_| String::new(),
        |text| text.replace('"', "'"),
    ];
    for damage in damages {
        for file in &files {
            let text = fs::read_to_string(file).expect("text");
            fs::write(file, damage(text)).expect("written");
        }
        assert_eq!(world.orch(&["status", "--json", "--all"]).stdout, right);
    }
    fs::remove_dir_all(world.path(CACHE)).expect("removed");
    fs::write(world.path(CACHE), "no directory").expect("written");
    assert_eq!(world.orch(&["status", "--json", "--all"]).stdout, right);
}

/// The costs of the status of all tasks in a fresh process.
fn costs(world: &World) -> (usize, Counted) {
    let mut workspace: Workspace = open(world);
    workspace.limit_threads(1);
    workspace.know_looks("test");
    let (tasks, _) = workspace.finder().survey().expect("tasks");
    let keeper = Keeper {
        to_text: TaskStatus::to_text,
        of_text: TaskStatus::of_text,
    };
    let told = workspace
        .crew()
        .answer_each(&tasks, &keeper, |workspace, sight| {
            TaskStatus::of(&workspace.subject(sight))
        });
    assert!(told.iter().all(Result::is_ok));
    (tasks.len(), workspace.reader().counted())
}

#[test]
fn what_has_not_changed_is_neither_listed_nor_read() {
    let world = world();
    // Finished tasks and open ones alike; but code may change what is said of an open one.
    let (tasks, first) = costs(&world);
    assert_eq!((first.looks, first.known), (tasks as u64, 0));
    let (_, second) = costs(&world);
    assert_eq!(
        (second.looks, second.known, second.reads),
        (0, tasks as u64, 0)
    );
    assert!(second.listed <= tasks as u64 + 4, "{second:?}");
    // Only what changed is looked at again.
    world.write("tasks/c/planning/more.json", "{}");
    settle();
    let (_, third) = costs(&world);
    assert_eq!((third.looks, third.known), (1, tasks as u64 - 1));
    let (_, fourth) = costs(&world);
    assert_eq!(fourth.looks, 0);
}

/// Commits what is staged, or nothing.
fn commit(world: &World, more: &[&str]) {
    world.git(&[&["commit", "-q", "--allow-empty", "-m", "by hand"], more].concat());
}

fn send_back(world: &World) {
    world
        .orch(&["rollback", "c", "--to", "planning", "--reason", "again"])
        .succeeds();
}

#[test]
fn what_no_commit_makes_a_difference_to_stays_known() {
    let world = world();
    assert_eq!(costs(&world).0, 5);
    // Of the two tasks without a record, any commit may have removed it.
    type Change = (&'static str, fn(&World), u64);
    let changes: [Change; 9] = [
        (
            "a step of one task",
            |world| drop(world.orch(&["next", "c"]).succeeds()),
            1 + 2,
        ),
        ("nothing", |world| commit(world, &[]), 2),
        (
            "nothing, for a task",
            |world| commit(world, &["--trailer", "Orch-Task: a"]),
            5,
        ),
        ("code", |world| world.commit_code("1", None), 5),
        (
            "code below a step",
            |world| {
                world.commit_code("2", None);
                send_back(world);
            },
            5,
        ),
        (
            "files of a task, by hand",
            |world| {
                world.git(&["add", "tasks/d"]);
                commit(world, &["--trailer", "Orch-Task: d"]);
            },
            5,
        ),
        (
            "a merge",
            |world| {
                world.git(&["switch", "-q", "-c", "side", "HEAD~1"]);
                commit(world, &[]);
                world.git(&["switch", "-q", "main"]);
                world.git(&["merge", "-q", "--no-ff", "--no-edit", "side"]);
            },
            5,
        ),
        (
            "an older commit",
            |world| {
                world.commit_code("3", None);
                costs(world);
                world.git(&["reset", "-q", "--keep", "HEAD~1"]);
            },
            5,
        ),
        (
            "many steps, and a file",
            |world| {
                world.write("tasks/a/review/plan/verdict.json", "{\"verdict\": ");
                for step in ["1", "2", "3"] {
                    let plan = PLAN.replace("the login", step);
                    world.write("tasks/c/planning/planning.ai.json", plan);
                    world.orch(&["next", "c"]).succeeds();
                    send_back(world);
                }
            },
            2 + 2,
        ),
    ];
    for (what, change, looks) in changes {
        change(&world);
        settle();
        status(&world, what);
        assert_eq!(costs(&world).1.looks, looks, "{what}");
        assert_eq!(costs(&world).1.looks, 0, "{what}");
    }
}

#[test]
fn what_no_commit_makes_a_difference_to_stays_known_after_many_commits() {
    let world = world();
    assert_eq!(costs(&world).0, 5);
    // More than are asked at once, but a status in between has asked the first of them.
    let many =
        "alias.many=!for n in $(seq 150); do git commit -q --allow-empty -m none || exit 1; done";
    for round in 1..=3 {
        world.git(&["-c", many, "many"]);
        assert_eq!(
            costs(&world).1.looks,
            2,
            "round {round}: only the tasks without a record"
        );
    }
    // Code counts as ever.
    world.commit_code("1", None);
    assert_eq!(costs(&world).1.looks, 5);
}

#[test]
fn what_changes_in_related_tasks_is_seen() {
    let world = world();
    world.orch(&["new", "f", "--workflow", "epic"]).succeeds();
    world.orch(&["relate", "b", "--parent", "f"]).succeeds();
    world
        .orch(&["relate", "c", "--after", "a,b", "--parent", "f"])
        .succeeds();
    settle();
    status(&world, "related");
    let done = |task: &str| {
        let words = ["next", task, "--override", "it is done", "--to", "done"];
        world.orch(&words).succeeds();
    };
    type Change<'c> = (&'c str, &'c dyn Fn());
    let changes: [Change<'_>; 6] = [
        ("one is done", &|| done("a")),
        ("all are done", &|| done("b")),
        ("one is not done any more", &|| {
            world.git(&["checkout", "-q", "HEAD~1", "--", "tasks/b"]);
        }),
        ("one is gone", &|| {
            fs::rename(world.path("tasks/a"), world.path("../a")).expect("moved");
        }),
        ("it is back", &|| {
            fs::rename(world.path("../a"), world.path("tasks/a")).expect("moved");
        }),
        ("a branch on which none is done", &|| {
            world.git(&["stash", "-q"]);
            world.git(&["switch", "-q", "-c", "side", "HEAD~2"]);
        }),
    ];
    let mut said = vec![status(&world, "nothing")];
    for (what, change) in changes {
        change();
        settle();
        let now = status(&world, what);
        assert_ne!(said.last(), Some(&now), "{what}");
        said.push(now);
    }
    costs(&world);
    let (tasks, second) = costs(&world);
    assert_eq!((second.looks, second.known), (0, tasks as u64));
}

//! The watch against a real file system.
//!
//! No test asserts how long anything takes: each waits for what must happen, and a distant deadline only
//! turns a hang into a failure.

use super::watcher::Watcher;
use super::{WatchOptions, WatchSignal};
use orch_base::RepoPath;
use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};
use tempfile::TempDir;

const HANG: Duration = Duration::from_secs(60);

/// A repository in a temporary directory whose name is not noise, and a watch on it.
struct World {
    directory: TempDir,
    watcher: Watcher,
}

impl World {
    fn new(existing: &[&str], targets: &[&str]) -> Self {
        Self::with(
            existing,
            targets,
            WatchOptions {
                reconcile: HANG * 2,
                ..WatchOptions::default()
            },
        )
    }

    fn with(existing: &[&str], targets: &[&str], options: WatchOptions) -> Self {
        let directory = tempfile::Builder::new()
            .prefix("orch-watch-")
            .tempdir()
            .expect("temporary directory");
        for path in existing {
            fs::create_dir_all(directory.path().join(path)).expect("create");
        }
        let targets: Vec<RepoPath> = targets.iter().map(|path| repo_path(path)).collect();
        let watcher = Watcher::new(directory.path(), &targets, options).expect("the root is there");
        Self { directory, watcher }
    }

    fn root(&self) -> &Path {
        self.directory.path()
    }

    /// Writes a file, creating its directories.
    fn write(&self, path: &str, text: &str) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().expect("a file has a parent")).expect("create");
        fs::write(path, text).expect("write");
    }

    /// Collects signals until `done` accepts them, and returns all of them.
    fn until(&mut self, mut done: impl FnMut(&[WatchSignal]) -> bool) -> Vec<WatchSignal> {
        let deadline = Instant::now() + HANG;
        let mut all = Vec::new();
        while !done(&all) {
            assert!(Instant::now() < deadline, "still waiting after {all:?}");
            let wait = deadline.saturating_duration_since(Instant::now());
            all.extend(self.watcher.next(wait).expect("not stopped"));
        }
        all
    }

    /// Waits for a path to be reported dirty; returns every path reported until then.
    fn until_dirty(&mut self, path: &str) -> BTreeSet<String> {
        let expected = dirty(path);
        dirty_paths(&self.until(|signals| signals.contains(&expected)))
    }

    /// Writes a file repeatedly until a single write is reported, which proves that its directory is watched.
    fn until_heard(&mut self, path: &str) {
        let deadline = Instant::now() + HANG;
        let mut signals = Vec::new();
        while !signals.contains(&dirty(path)) {
            assert!(Instant::now() < deadline, "{path} is not watched");
            self.write(path, "again");
            signals = self
                .watcher
                .next(Duration::from_millis(200))
                .expect("not stopped");
        }
    }
}

fn repo_path(path: &str) -> RepoPath {
    RepoPath::new(path).expect("valid")
}

fn dirty(path: &str) -> WatchSignal {
    WatchSignal::Dirty(repo_path(path))
}

fn dirty_paths(signals: &[WatchSignal]) -> BTreeSet<String> {
    let path = |signal: &WatchSignal| match signal {
        WatchSignal::Dirty(path) => Some(path.to_string()),
        _ => None,
    };
    signals.iter().filter_map(path).collect()
}

fn paths(paths: &[&str]) -> BTreeSet<String> {
    paths.iter().map(|path| (*path).to_owned()).collect()
}

#[test]
fn a_written_file_is_reported_once() {
    let mut world = World::new(&["tasks/t"], &["tasks"]);
    world.write("tasks/t/plan.json", "{}");
    let signals = world.until(|signals| !signals.is_empty());
    assert_eq!(signals, [dirty("tasks/t/plan.json")]);
}

#[test]
fn a_rename_into_place_is_reported() {
    let mut world = World::new(&["tasks/t"], &["tasks"]);
    world.write("tasks/t/.tmpX", "{}");
    fs::rename(
        world.root().join("tasks/t/.tmpX"),
        world.root().join("tasks/t/plan.json"),
    )
    .expect("rename");
    assert_eq!(
        world.until_dirty("tasks/t/plan.json"),
        paths(&["tasks/t/plan.json"])
    );
}

#[test]
fn a_removed_file_is_reported() {
    let mut world = World::new(&["tasks/t"], &["tasks"]);
    world.write("tasks/t/plan.json", "{}");
    world.until_dirty("tasks/t/plan.json");
    fs::remove_file(world.root().join("tasks/t/plan.json")).expect("remove");
    world.until_dirty("tasks/t/plan.json");
}

#[test]
fn reading_is_not_reported() {
    let mut world = World::new(&["tasks/t"], &["tasks"]);
    world.write("tasks/t/a", "");
    world.until_dirty("tasks/t/a");
    fs::read(world.root().join("tasks/t/a")).expect("read");
    fs::read_dir(world.root().join("tasks/t"))
        .expect("list")
        .for_each(drop);
    world.write("tasks/t/b", "");
    assert_eq!(world.until_dirty("tasks/t/b"), paths(&["tasks/t/b"]));
}

#[test]
fn noise_is_not_reported() {
    let mut world = World::new(&[".git", "tasks/t"], &[""]);
    for path in [
        ".git/index",
        "tasks/t/suggestion.json",
        "tasks/t/plan.json~",
        "tasks/t/.plan.json.swp",
    ] {
        world.write(path, "x");
    }
    // All of these events precede the following ones in the queue.
    world.write("tasks/t/plan.json", "{}");
    world.write("zebra", "x");
    let mut seen = world.until_dirty("tasks/t/plan.json");
    if !seen.contains("zebra") {
        seen.extend(world.until_dirty("zebra"));
    }
    assert_eq!(seen, paths(&["tasks/t/plan.json", "zebra"]));
}

#[test]
fn only_targets_are_reported() {
    let mut world = World::new(&["tasks"], &["tasks", "orch.toml", "system"]);
    world.write("README.md", "x");
    world.write("src/lib.rs", "x");
    world.write("orch.toml", "version = 1");
    assert_eq!(world.until_dirty("orch.toml"), paths(&["orch.toml"]));
    world.write("system/workflows/own.md", "x");
    world.until_dirty("system");
    world.until_heard("system/workflows/own.md");
}

#[test]
fn what_is_written_into_a_new_directory_at_once_is_there_at_the_report() {
    let mut world = World::new(&["tasks"], &["tasks"]);
    world.write("tasks/t/planning/deep/plan.json", "{}");
    let file = world.root().join("tasks/t/planning/deep/plan.json");
    world.until_dirty("tasks/t");
    assert!(file.exists());
    // From now on every single write is reported.
    world.write("tasks/t/planning/deep/plan.json", "[]");
    world.until_dirty("tasks/t/planning/deep/plan.json");
}

#[test]
fn a_new_directory_is_reported_twice() {
    let mut world = World::new(&["tasks"], &["tasks"]);
    fs::create_dir(world.root().join("tasks/t")).expect("create");
    let twice = |signals: &[WatchSignal]| {
        signals
            .iter()
            .filter(|signal| **signal == dirty("tasks/t"))
            .count()
            == 2
    };
    world.until(twice);
}

#[test]
fn of_many_directories_created_at_once_none_is_missed() {
    const TASKS: usize = 300;
    let mut world = World::new(&["tasks"], &["tasks"]);
    let files = [
        "state.json",
        "planning/plan.json",
        "review/plan/verdict.json",
    ];
    for task in 0..TASKS {
        files
            .iter()
            .for_each(|file| world.write(&format!("tasks/t{task}/{file}"), "{}"));
    }
    let root = world.root().to_owned();
    let mut read = 0;
    let mut seen = BTreeSet::new();
    world.until(|signals| {
        for path in dirty_paths(&signals[read..]) {
            let task = path.split('/').nth(1).expect("below tasks").to_owned();
            seen.extend(
                files
                    .iter()
                    .map(|file| format!("{task}/{file}"))
                    .filter(|file| root.join("tasks").join(file).exists()),
            );
        }
        read = signals.len();
        seen.len() == TASKS * files.len()
    });
}

#[test]
fn a_directory_that_is_missing_is_picked_up_when_it_appears() {
    let mut world = World::new(&[], &["work/of/tasks"]);
    world.write("work/of/tasks/t/plan.json", "{}");
    world.until_dirty("work/of/tasks");
    world.write("work/of/tasks/t/plan.json", "[]");
    world.until_dirty("work/of/tasks/t/plan.json");
}

#[test]
fn a_directory_that_is_removed_and_created_again_is_picked_up() {
    let mut world = World::new(&["work/tasks/t"], &["work/tasks"]);
    for removed in ["work/tasks", "work", "work/tasks"] {
        fs::remove_dir_all(world.root().join(removed)).expect("remove");
        world.until_dirty("work/tasks");
        world.until_heard("work/tasks/t/plan.json");
    }
}

#[test]
fn a_directory_that_is_replaced_at_once_is_watched_on() {
    let mut world = World::new(&["work/tasks/t"], &["work/tasks"]);
    for _ in 0..5 {
        fs::rename(world.root().join("work"), world.root().join("away")).expect("rename");
        world.write("work/tasks/t/plan.json", "new");
        fs::remove_dir_all(world.root().join("away")).expect("remove");
        world.until_dirty("work/tasks");
        world.until_heard("work/tasks/t/plan.json");
    }
}

#[test]
fn a_task_that_is_replaced_at_once_is_watched_on() {
    let mut world = World::new(&["tasks/t/planning"], &["tasks"]);
    for _ in 0..5 {
        fs::remove_dir_all(world.root().join("tasks/t")).expect("remove");
        world.write("tasks/t/planning/plan.json", "new");
        world.until_dirty("tasks/t");
        world.until_heard("tasks/t/planning/plan.json");
    }
}

#[test]
fn a_name_that_is_not_utf_8_is_reported_as_its_directory() {
    use std::os::unix::ffi::OsStrExt as _;
    let mut world = World::new(&["tasks/t"], &["tasks"]);
    let name = std::ffi::OsStr::from_bytes(b"plan-\xff.json");
    fs::write(world.root().join("tasks/t").join(name), "{}").expect("write");
    assert_eq!(world.until_dirty("tasks/t"), paths(&["tasks/t"]));
}

#[test]
fn while_listening_a_rescan_comes_from_time_to_time() {
    let options = WatchOptions {
        reconcile: Duration::from_millis(1),
        ..WatchOptions::default()
    };
    let mut world = World::with(&["tasks"], &["tasks"], options);
    assert!(world.watcher.is_listening());
    let signals = world.until(|signals| signals.len() >= 2);
    assert!(
        signals
            .iter()
            .all(|signal| *signal == WatchSignal::Rescan("time to reconcile")),
        "{signals:?}"
    );
}

#[test]
fn a_poll_never_listens() {
    let options = WatchOptions {
        poll: true,
        poll_interval: Duration::from_millis(1),
        ..WatchOptions::default()
    };
    let mut world = World::with(&["tasks"], &["tasks"], options);
    assert!(!world.watcher.is_listening());
    world.write("tasks/t/plan.json", "{}");
    let signals = world.until(|signals| signals.len() >= 2);
    assert!(
        signals
            .iter()
            .all(|signal| *signal == WatchSignal::Rescan("polling")),
        "{signals:?}"
    );
}

#[test]
fn a_timeout_gives_nothing_and_a_stop_ends() {
    let mut world = World::new(&["tasks"], &["tasks"]);
    assert_eq!(world.watcher.next(Duration::ZERO), Some(Vec::new()));
    let stop = world.watcher.stop_handle();
    let stopper = std::thread::spawn(move || stop.stop());
    assert_eq!(world.watcher.next(Duration::MAX), None);
    assert_eq!(world.watcher.next(Duration::MAX), None);
    stopper.join().expect("stopped");
}

#[test]
fn a_root_that_is_missing_is_an_error() {
    let error = Watcher::new(Path::new("/nowhere/at/all"), &[], WatchOptions::default())
        .expect_err("no such root");
    assert_eq!(error.code(), orch_base::Code::WatchFailed);
    assert!(
        error
            .message()
            .starts_with("cannot watch /nowhere/at/all: "),
        "{error}"
    );
}

#[test]
fn new_targets_keep_the_handles_and_what_they_sent() {
    let mut world = World::new(&["tasks", "work"], &["tasks"]);
    let stop = world.watcher.stop_handle();
    world.write("tasks/t/plan.json", "{}");
    stop.wake();
    let options = WatchOptions {
        reconcile: HANG * 2,
        ..WatchOptions::default()
    };
    let root = world.root().to_owned();
    world
        .watcher
        .retarget(&root, &[repo_path("work")], options.clone())
        .expect("the root is there");
    assert_eq!(
        world.watcher.next(HANG),
        Some(Vec::new()),
        "the wake still counts"
    );
    world.write("work/t/plan.json", "{}");
    let work = repo_path("work");
    let signals = world.until(|signals| !signals.is_empty());
    let is_below = |path: &RepoPath| path.below(&work).is_some();
    assert!(
        matches!(&signals[..], [WatchSignal::Dirty(path), ..] if is_below(path)),
        "{signals:?}"
    );
    stop.stop();
    world
        .watcher
        .retarget(&root, &[work], options)
        .expect("the root is there");
    assert_eq!(world.watcher.next(HANG), None, "the stop still counts");
}

/// Events that reading causes: `IN_ACCESS`, `IN_CLOSE_NOWRITE` and `IN_OPEN`.
const READING: u32 = 0x1 | 0x10 | 0x20;
/// Events that mean a change: `IN_MODIFY`, `IN_CLOSE_WRITE`, `IN_MOVED_FROM`, `IN_MOVED_TO`, `IN_CREATE` and
/// `IN_DELETE`.
const CHANGING: u32 = 0x2 | 0x8 | 0x40 | 0x80 | 0x100 | 0x200;

/// The events that the kernel was asked for, of every directory that this process watches.
#[cfg(target_os = "linux")]
fn masks() -> Vec<u32> {
    let infos = fs::read_dir("/proc/self/fdinfo").expect("a list").flatten();
    let texts = infos
        .filter_map(|info| fs::read_to_string(info.path()).ok())
        .collect::<String>();
    let lines = texts.lines().filter(|line| line.starts_with("inotify "));
    let mask =
        |line: &str| u32::from_str_radix(line.split("mask:").nth(1)?.split(' ').next()?, 16).ok();
    lines.map(|line| mask(line).expect("a mask")).collect()
}

/// A look at ten thousand tasks opens each of their files. Were it reported, the look would overflow the queue,
/// and the lost events would ask for the next look.
#[cfg(target_os = "linux")]
#[test]
fn only_changes_are_listened_to() {
    let world = World::new(&["tasks/t/planning"], &["tasks"]);
    let masks = masks();
    assert!(
        masks.len() >= 3,
        "the root, tasks, the task and its directory: {masks:x?}"
    );
    for mask in masks {
        assert_eq!((mask & READING, mask & CHANGING), (0, CHANGING), "{mask:x}");
    }
    drop(world);
}

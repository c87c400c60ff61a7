//! `make bench`: every speed target, each beside its yardstick in the same run.
//!
//! Whole processes are timed, medians are printed, and ratios are what counts: absolute times move
//! with the machine, ratios within one run do not. Each measure is printed as soon as it is known, and all of them as
//! one table at the end. Parts can be asked for by name: `cargo bench --bench targets -- transitions latency`. The part
//! `against` compares with another build of `orch`, whose path is in `ORCH_BENCH_OLD`; `ORCH_BENCH_NEW` names another
//! one in place of this build.

#![expect(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::disallowed_methods,
    reason = "a bench is its own program: it prints, and starts what it times"
)]

mod against;
mod audit;
mod costs;
mod fence;
mod grown;
mod instructions;
mod leases;
mod lives;
mod lock;
mod longer;
mod lsp;
mod many;
mod mcp;
mod overview;
mod queue;
mod run;
mod scale;
mod serve;
mod start;
mod storm;
mod table;

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};
use table::{Row, Table, Target, Unit};

const RUNS: usize = 21;

/// Measures something, and adds rows about it.
type Part = fn(&mut Table);

fn main() -> ExitCode {
    // `cargo test --all-targets` runs benches too; there they only have to build and start.
    let (options, names): (Vec<_>, Vec<_>) = std::env::args()
        .skip(1)
        .partition(|argument| argument.starts_with('-'));
    if !options.iter().any(|option| option == "--bench")
        || options.iter().any(|option| option == "--test")
    {
        return ExitCode::SUCCESS;
    }
    let parts: [(&str, Part); 22] = [
        ("start", start::start),
        ("instructions", instructions::instructions),
        ("suggest", suggest),
        ("events", events),
        ("transitions", transitions),
        ("many", many::many),
        ("latency", latency),
        ("idle", idle),
        ("check", check),
        ("leases", leases::leases),
        ("queue", queue::queue),
        ("lock", lock::lock),
        ("audit", audit::audit),
        ("overview", overview::overview),
        ("run", run::run),
        ("fence", fence::fence),
        ("mcp", mcp::mcp),
        ("lsp", lsp::lsp),
        ("serve", serve::serve),
        ("scale", scale::scale),
        ("costs", costs::costs),
        ("against", against::against),
    ];
    let place = tempfile::tempdir().expect("a directory");
    INSTALLED
        .set(copied(ORCH, &place.path().join("orch")))
        .expect("the only one");
    eprintln!("medians of {RUNS} runs each, of fewer where one takes long");
    let mut table = Table::new(|line| eprintln!("{line}"));
    for (name, part) in parts {
        if names.is_empty() || names.iter().any(|asked| asked == name) {
            part(&mut table);
        }
    }
    println!("\n{}", table.text());
    KEPT.lock().expect("no panic").clear();
    if table.has_regression() {
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

/// The repositories on the disk, which are removed at the end: for some minutes after many files were removed, a file system
/// without a journal takes long to create one.
static KEPT: Mutex<Vec<Arc<tempfile::TempDir>>> = Mutex::new(Vec::new());

struct World {
    directory: Arc<tempfile::TempDir>,
    /// The program that everything in it is made with.
    orch: String,
}

impl World {
    fn new() -> Self {
        Self::of(ORCH)
    }

    fn of(orch: &str) -> Self {
        Self::within(&std::env::temp_dir(), orch)
    }

    /// A repository in a new directory below another one.
    fn within(place: &Path, orch: &str) -> Self {
        let directory = tempfile::Builder::new()
            .prefix("orch-bench-")
            .tempdir_in(place)
            .expect("a directory");
        let directory = Arc::new(directory);
        if place == std::env::temp_dir() {
            KEPT.lock().expect("no panic").push(Arc::clone(&directory));
        }
        let world = Self {
            directory,
            orch: orch.to_owned(),
        };
        world.run("git", &["init", "-q", "-b", "main"]);
        world.orch(&["init"]);
        // Nobody sits at a terminal.
        let settings = fs::read_to_string(world.root().join("orch.toml")).expect("settings");
        let settings = settings.replace("[people]\n", "[people]\norders = \"anyone\"\n");
        world.write("orch.toml", &settings);
        world.run("git", &["add", "-A"]);
        world.run("git", &["commit", "-qm", "Set up orch"]);
        world
    }

    fn root(&self) -> &Path {
        self.directory.path()
    }

    fn write(&self, path: &str, text: &str) {
        let target = self.root().join(path);
        fs::create_dir_all(target.parent().expect("a parent")).expect("directories");
        fs::write(target, text).expect("written");
    }

    fn command(&self, program: &str, arguments: &[&str]) -> Command {
        let mut command = Command::new(installed(program));
        command
            .current_dir(self.root())
            .args(arguments)
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_AUTHOR_NAME", "Bench")
            .env("GIT_AUTHOR_EMAIL", "bench@example.com")
            .env("GIT_COMMITTER_NAME", "Bench")
            .env("GIT_COMMITTER_EMAIL", "bench@example.com")
            .env_remove("ORCH_NOW")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null());
        command
    }

    fn run(&self, program: &str, arguments: &[&str]) {
        let status = self.command(program, arguments).status().expect("starts");
        assert!(status.success(), "{program} {arguments:?}");
    }

    /// What a program prints.
    fn said(&self, program: &str, arguments: &[&str]) -> String {
        let said = self
            .command(program, arguments)
            .stdout(Stdio::piped())
            .output()
            .expect("starts");
        assert!(said.status.success(), "{program} {arguments:?}");
        String::from_utf8(said.stdout).expect("text")
    }

    /// The number of commits in a range.
    fn commits(&self, range: &str) -> usize {
        self.said("git", &["rev-list", "--count", range])
            .trim()
            .parse()
            .expect("a number")
    }

    fn orch(&self, arguments: &[&str]) {
        self.run(&self.orch, arguments);
    }

    fn time(&self, program: &str, arguments: &[&str]) -> Duration {
        let begun = Instant::now();
        let _ = self.command(program, arguments).status().expect("starts");
        begun.elapsed()
    }

    /// The peak of the resident memory of a command in megabytes, as its last millisecond shows it.
    fn memory(&self, arguments: &[&str]) -> f64 {
        let mut child = self.command(&self.orch, arguments).spawn().expect("starts");
        let mut peak = 0;
        while child.try_wait().expect("a child").is_none() {
            peak = status(child.id(), "VmHWM:").unwrap_or(peak);
            std::thread::sleep(Duration::from_millis(1));
        }
        peak as f64 / 1024.0
    }

    /// A task whose plan is final, so that one transition is due.
    fn task(&self, id: &str) {
        self.orch(&["new", id]);
        self.write(&format!("tasks/{id}/planning/planning.ai.json"), PLAN);
    }
}

/// A plan that is final.
const PLAN: &str = r#"{
  "id": "bench", "title": "Bench", "brief": "Measure one transition", "status": "final",
  "scope": { "in_scope": ["src"] },
  "file_plan": [{ "path": "src/lib.rs", "intent": "update" }],
  "acceptance_criteria": [{ "id": "A1", "description": "it is quick" }]
}
"#;

const ORCH: &str = env!("CARGO_BIN_EXE_orch");

/// A copy of `orch`.
static INSTALLED: OnceLock<String> = OnceLock::new();

/// The program to start: the copy of `orch`, or any other.
fn installed(program: &str) -> &str {
    INSTALLED
        .get()
        .filter(|_| program == ORCH)
        .map_or(program, String::as_str)
}

/// Copies a program, as `make install` does, and returns the path of the copy. The file that the linker has written lies
/// in the page cache in single pages, which take longer to map at each start.
fn copied(program: &str, to: &Path) -> String {
    fs::copy(program, to).expect("a copy of the program");
    to.to_str().expect("a path in UTF-8").to_owned()
}

/// Where a repository may be: on the disk, and, if there is such a place, where nothing is synced to one.
fn places() -> Vec<(&'static str, PathBuf)> {
    let memory = PathBuf::from("/dev/shm");
    let memory = memory.is_dir().then_some(("in memory", memory));
    std::iter::once(("on a disk", std::env::temp_dir()))
        .chain(memory)
        .collect()
}

fn median(mut times: Vec<Duration>) -> f64 {
    times.sort();
    times[times.len() / 2].as_secs_f64() * 1000.0
}

/// Milliseconds at the median and at the 99th percentile.
fn percentiles(mut times: Vec<Duration>) -> (f64, f64) {
    times.sort();
    let at = |share: usize| times.get(times.len() * share / 100).or(times.last());
    let shown = |time: Option<&Duration>| time.map_or(0.0, |time| time.as_secs_f64() * 1000.0);
    (shown(at(50)), shown(at(99)))
}

/// Runs measures in turn, so that drift of the machine hits all alike.
fn paired<const N: usize>(mut measures: [Box<dyn FnMut() -> Duration + '_>; N]) -> [f64; N] {
    let mut times: [Vec<Duration>; N] = std::array::from_fn(|_| Vec::new());
    for run in 0..=RUNS {
        for (measure, times) in measures.iter_mut().zip(&mut times) {
            let time = measure();
            if run > 0 {
                times.push(time);
            }
        }
    }
    times.map(median)
}

fn suggest(table: &mut Table) {
    let world = World::new();
    for number in 0..100 {
        world.task(&format!("t-{number:03}"));
    }
    world.orch(&["watch", "--once"]);
    let [one, all, status, log] = paired([
        Box::new(|| world.time(ORCH, &["suggest", "t-042", "--json"])),
        Box::new(|| world.time(ORCH, &["suggest", "--json"])),
        Box::new(|| world.time("git", &["status"])),
        Box::new(|| world.time("git", &["log", "-1"])),
    ]);
    let size = "100 tasks";
    // Both have to hold: a time, and a time beside git.
    let most = f64::min(8.0, 1.3 * log + 3.0);
    table.add(
        Row::ms("suggest TASK", size, one)
            .beside("git log -1", log)
            .target(Target::Most(most)),
    );
    table.add(Row::ms("suggest", size, all).beside("git status", status));
}

fn events(table: &mut Table) {
    let [short, long] = [10, 10_000].map(|many| {
        let world = World::new();
        world.task("t");
        let path = world.root().join("tasks/t/transcript.jsonl");
        let (log, state) = longer::longer(&fs::read_to_string(path).expect("a log"), many - 1);
        world.write("tasks/t/transcript.jsonl", &log);
        world.write("tasks/t/state.json", &state);
        world.run("git", &["add", "-A"]);
        world.run("git", &["commit", "-qm", "longer"]);
        world
    });
    let [few, many] = paired([
        Box::new(|| short.time(ORCH, &["suggest", "t", "--json"])),
        Box::new(|| long.time(ORCH, &["suggest", "t", "--json"])),
    ]);
    let row = Row::ms("suggest TASK", "10,000 events", many);
    table.add(
        row.beside("of 10 events", few)
            .target(Target::MostTimes(1.1)),
    );
}

fn transitions(table: &mut Table) {
    let mut to_ref = Vec::new();
    for (files, size, most) in [(1_000, "1,000 files", 1.0), (100_000, "100,000 files", 0.1)] {
        let world = World::new();
        for number in 0..files {
            let path = format!("src/{:03}/{number}.txt", number / 250);
            world.write(&path, "x\n");
        }
        world.run("git", &["add", "-A"]);
        world.run("git", &["commit", "-qm", "files"]);
        let [orch, by_git, moved] = steps(&world, "plain");
        to_ref.push(moved);
        let row = Row::ms("next TASK", size, orch).beside("git add + git commit", by_git);
        table.add(row.target(Target::MostTimes(most)));
        // The start of the process is included.
        let row = Row::ms("  up to the moved branch", size, moved);
        table.add(match to_ref[..] {
            [small, _] => row
                .beside("at 1,000 files", small)
                .target(Target::MostTimes(1.3)),
            _ => row,
        });
        if files == 100_000 {
            // As git recommends for so many files: an index of version 4, without a checksum, with an untracked cache.
            world.run("git", &["config", "feature.manyFiles", "true"]);
            world.run("git", &["update-index", "--index-version", "4"]);
            world.run("git", &["status"]);
            let [orch, by_git, _] = steps(&world, "many");
            let row =
                Row::ms("  feature.manyFiles", size, orch).beside("git add + git commit", by_git);
            table.add(row.target(Target::MostTimes(most)));
        }
    }
}

/// The medians of some transitions: by `orch`, of a file by git, and by `orch` until the branch has moved.
fn steps(world: &World, name: &str) -> [f64; 3] {
    let mut times: [Vec<Duration>; 3] = Default::default();
    for run in 0..=7 {
        let (timed, watched) = (format!("{name}-r-{run}"), format!("{name}-w-{run}"));
        [&timed, &watched].into_iter().for_each(|id| world.task(id));
        let orch = world.time(ORCH, &["next", &timed]);
        let moved = until_moved(world, &watched);
        world.write("by-hand.txt", &format!("{name} {run}\n"));
        let by_git = world.time("git", &["add", "by-hand.txt"])
            + world.time("git", &["commit", "-qm", "by hand"]);
        if run > 0 {
            times
                .iter_mut()
                .zip([orch, by_git, moved])
                .for_each(|(all, time)| all.push(time));
        }
    }
    times.map(median)
}

/// The time from the start of a transition until the branch has moved. The branch is looked at now and then: a loop that
/// does nothing else would take one of the processor's cores from what is measured.
fn until_moved(world: &World, task: &str) -> Duration {
    let before = fs::read(head(world)).expect("a branch");
    let begun = Instant::now();
    let mut child = world
        .command(ORCH, &["next", task])
        .spawn()
        .expect("starts");
    while fs::read(head(world)).unwrap_or_default() == before
        && begun.elapsed() < Duration::from_secs(5)
    {
        std::thread::sleep(Duration::from_micros(20));
    }
    let moved = begun.elapsed();
    let _ = child.wait();
    moved
}

/// Starts `orch watch` and waits until it watches.
fn watch(world: &World) -> Child {
    let mut child = world
        .command(ORCH, &["watch", "--json"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("orch watch starts");
    let stdout = child.stdout.take().expect("piped");
    let mut lines = BufReader::new(stdout).lines();
    lines.next();
    // Nobody reads on, but the pipe must not fill.
    std::thread::spawn(move || lines.for_each(drop));
    child
}

fn head(world: &World) -> PathBuf {
    world.root().join(".git/refs/heads/main")
}

fn latency(table: &mut Table) {
    let world = World::new();
    let ids: Vec<String> = (0..RUNS).map(|number| format!("l-{number}")).collect();
    ids.iter().for_each(|id| world.orch(&["new", id]));
    let mut child = watch(&world);
    std::thread::sleep(Duration::from_millis(300));
    let mut times = Vec::new();
    for id in &ids {
        let path = world
            .root()
            .join(format!("tasks/{id}/planning/planning.ai.json"));
        fs::create_dir_all(path.parent().expect("a parent")).expect("directories");
        std::thread::sleep(Duration::from_millis(250));
        let before = fs::read(head(&world)).expect("a branch");
        fs::write(&path, PLAN).expect("written");
        let begun = Instant::now();
        while fs::read(head(&world)).unwrap_or_default() == before
            && begun.elapsed() < Duration::from_secs(5)
        {
            std::thread::sleep(Duration::from_micros(200));
        }
        times.push(begun.elapsed());
    }
    let _ = child.kill();
    let _ = child.wait();
    // From the close of an artifact to the moved branch. The settle time is 50 ms.
    table.add(
        Row::ms("watch, one transition", "21 tasks", median(times)).target(Target::Most(65.0)),
    );
}

fn idle(table: &mut Table) {
    let world = World::new();
    for number in 0..1000 {
        world.write(&format!("tasks/i-{number}/planning/planning.ai.json"), PLAN);
    }
    let mut child = watch(&world);
    std::thread::sleep(Duration::from_secs(2));
    let before = usage(child.id());
    std::thread::sleep(Duration::from_secs(30));
    let after = usage(child.id());
    let _ = child.kill();
    let _ = child.wait();
    let size = "1,000 tasks";
    // A tick has 10 ms.
    let used = (after.0 - before.0) as f64 * 10.0;
    table.add(Row::ms("watch, idle for 30 s, CPU", size, used).target(Target::Most(10.0)));
    let resident = Row::new(
        "watch, idle, memory",
        size,
        Unit::Megabytes,
        after.1 as f64 / 1024.0,
    );
    table.add(resident.target(Target::Most(30.0)));
}

fn check(table: &mut Table) {
    let world = World::new();
    for number in 0..15_000 {
        world.write(&format!("src/{:03}/{number}.txt", number / 250), "x\n");
    }
    for number in 0..1_000 {
        for name in ["plan.json", "notes.md", "brief.md", "a.txt", "b.txt"] {
            world.write(&format!("tasks/c-{number}/planning/{name}"), PLAN);
        }
    }
    world.orch(&["new", "checked"]);
    world.run("git", &["add", "-A"]);
    world.run("git", &["commit", "-qm", "files"]);
    world.write("tasks/checked/planning/planning.ai.json", PLAN);
    world.run("git", &["add", "-A"]);
    let [check, diff] = paired([
        Box::new(|| world.time(ORCH, &["check", "--staged"])),
        Box::new(|| world.time("git", &["diff", "--cached", "--quiet"])),
    ]);
    let row = Row::ms("check --staged", "20,000 files", check);
    let most = f64::min(15.0, diff + 10.0);
    table.add(
        row.beside("git diff --cached", diff)
            .target(Target::Most(most)),
    );
}

/// CPU ticks used so far, and resident kilobytes.
fn usage(process: u32) -> (u64, u64) {
    let stat = fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let fields: Vec<&str> = stat
        .rsplit(')')
        .next()
        .unwrap_or_default()
        .split_whitespace()
        .collect();
    let ticks = |index: usize| {
        fields
            .get(index)
            .and_then(|field| field.parse::<u64>().ok())
            .unwrap_or(0)
    };
    (
        ticks(11) + ticks(12),
        status(process, "VmRSS:").unwrap_or(0),
    )
}

/// A number in what the system says about a process; `None` once it has ended.
fn status(process: u32, name: &str) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    status.lines().find_map(|line| {
        line.strip_prefix(name)?
            .split_whitespace()
            .next()?
            .parse()
            .ok()
    })
}

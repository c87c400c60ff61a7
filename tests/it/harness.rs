//! An isolated environment for one test, with its own home directory, repository and clock.

use crate::prepared::prepared;
use crate::{setting, terminal};
use orch_engine::drive::{WatchEffect, WatchEvent, Watching};
use serde_json::json;
use signal_hook::consts::SIGHUP;
use signal_hook::flag;
use std::collections::{BTreeMap, BTreeSet};
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::MetadataExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, Once, PoisonError};
use walkdir::{DirEntry, WalkDir};

static HEEDS_HANGUP: Once = Once::new();

/// Where a program lies that is named without a directory; its name if it is nowhere. A program whose path is known is
/// started without a copy of the memory of this process, which has a thread for each of several tests.
fn located(program: &OsStr) -> PathBuf {
    static LOCATED: Mutex<BTreeMap<OsString, PathBuf>> = Mutex::new(BTreeMap::new());
    let path = PathBuf::from(program);
    if path.components().count() > 1 {
        return path;
    }
    let mut located = LOCATED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = located.get(program) {
        return known.clone();
    }
    let places = std::env::var_os("PATH").unwrap_or_default();
    let mut places = std::env::split_paths(&places).map(|place| place.join(&path));
    let found = places.find(|place| place.is_file()).unwrap_or(path);
    located.insert(program.to_owned(), found.clone());
    found
}

/// Lets programs that tests start hear SIGHUP under `nohup`, too. They inherit that a signal is ignored, but not that it
/// is caught.
fn heed_hangup() {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    if ignored.unwrap_or_default() >> (SIGHUP - 1) & 1 == 1 {
        flag::register(SIGHUP, Arc::default()).expect("SIGHUP can be caught");
    }
}

/// What a watch does about a batch of events.
pub fn taken(watching: &mut Watching, events: Vec<WatchEvent>) -> Vec<WatchEffect> {
    let mut effects = watching.begin(events);
    while let Some(more) = watching.go_on() {
        effects.extend(more);
    }
    effects
}

/// A temporary directory with a repository, removed when dropped.
pub struct World {
    directory: tempfile::TempDir,
    seconds: AtomicU64,
    /// The terminal at which `orch` is typed: what the user holds, and what `orch` reads.
    terminal: (fs::File, fs::File),
}

/// The result of a command, with the repository's path replaced by `[ROOT]`.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Ended {
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl World {
    /// A world with an empty git repository on branch `main`.
    pub fn new() -> Self {
        let world = Self::without_git();
        world.git(&["init", "-q", "-b", "main"]);
        world
    }

    /// A world with a plain directory instead of a repository.
    pub fn without_git() -> Self {
        HEEDS_HANGUP.call_once(heed_hangup);
        let directory = tempfile::Builder::new()
            .prefix("orch-it-")
            .tempdir()
            .expect("a directory of our own");
        fs::create_dir(directory.path().join("home")).expect("a home");
        fs::create_dir(directory.path().join("repo")).expect("a place for the repository");
        Self {
            directory,
            seconds: AtomicU64::new(1_790_000_000),
            terminal: terminal::sides(),
        }
    }

    /// A world after `orch init`, committed.
    pub fn ready() -> Self {
        prepared("ready", &|| {
            let world = Self::new();
            world.orch(&["init"]).succeeds();
            world.git(&["add", "-A"]);
            world.git(&["commit", "-q", "-m", "Set up orch"]);
            world
        })
    }

    /// The directory with the repository and the home of the user.
    pub fn base(&self) -> &Path {
        self.directory.path()
    }

    /// The time that the next command sees.
    pub fn seconds(&self) -> u64 {
        self.seconds.load(Ordering::SeqCst)
    }

    pub fn set_seconds(&self, seconds: u64) {
        self.seconds.store(seconds, Ordering::SeqCst);
    }

    pub fn root(&self) -> PathBuf {
        self.directory.path().join("repo")
    }

    pub fn path(&self, path: &str) -> PathBuf {
        self.root().join(path)
    }

    pub fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let target = self.path(path);
        fs::create_dir_all(target.parent().expect("a parent")).expect("directories");
        fs::write(target, text).expect("written");
    }

    pub fn read(&self, path: &str) -> String {
        fs::read_to_string(self.path(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// Whether the process lives whose number a file holds. What has ended may wait for its parent as a zombie.
    pub fn lives(&self, file: &str) -> bool {
        let pid = fs::read_to_string(self.path(file)).unwrap_or_default();
        // Without a number it would be the file about all processes.
        let shown = pid
            .trim()
            .parse::<u32>()
            .map(|pid| format!("/proc/{pid}/stat"));
        let shown = shown
            .ok()
            .and_then(|file| fs::read_to_string(file).ok())
            .unwrap_or_default();
        shown
            .split_whitespace()
            .nth(2)
            .is_some_and(|state| state != "Z")
    }

    pub fn remove(&self, path: &str) {
        fs::remove_file(self.path(path)).expect("removed");
    }

    pub fn json(&self, path: &str) -> serde_json::Value {
        serde_json::from_str(&self.read(path)).expect("JSON")
    }

    /// Runs `orch` in the repository as a person types it: stdin is a terminal. Each command runs one minute
    /// later than the previous one.
    pub fn orch(&self, arguments: &[&str]) -> Ended {
        self.end(self.orch_command(arguments).output().expect("orch runs"))
    }

    /// Runs `orch --json` and parses the document it prints.
    pub fn orch_json(&self, arguments: &[&str]) -> serde_json::Value {
        let ended = self.orch(&[arguments, &["--json"]].concat());
        serde_json::from_str(&ended.stdout).unwrap_or_else(|error| panic!("{error}: {ended:?}"))
    }

    /// Starts `orch` in the background.
    pub fn orch_spawn(&self, arguments: &[&str]) -> Child {
        let mut command = self.orch_command(arguments);
        // A background process uses the clock of the machine.
        command.env_remove("ORCH_NOW");
        command
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("orch starts")
    }

    /// The terminal of the user, as the standard input of a program.
    pub fn keyboard(&self) -> Stdio {
        Stdio::from(self.terminal.1.try_clone().expect("cloned"))
    }

    /// Runs `orch` as a program does, without a terminal.
    pub fn orch_by_program(&self, arguments: &[&str]) -> Ended {
        let mut command = self.orch_command(arguments);
        self.end(command.stdin(Stdio::null()).output().expect("orch runs"))
    }

    /// Runs `orch` as an agent does: it says so, even at a terminal.
    pub fn orch_by_agent(&self, arguments: &[&str]) -> Ended {
        let mut command = self.orch_command(arguments);
        self.end(
            command
                .env("ORCH_ACTOR", "agent:x")
                .output()
                .expect("orch runs"),
        )
    }

    pub fn orch_command(&self, arguments: &[&str]) -> Command {
        let mut command = self.command(program());
        command.args(arguments).stdin(self.keyboard());
        command
    }

    /// Runs `git`, which must succeed, and returns its stdout.
    pub fn git(&self, arguments: &[&str]) -> String {
        let ended = self.git_ended(arguments);
        assert_eq!(ended.code, 0, "git {arguments:?}: {ended:?}");
        ended.stdout
    }

    pub fn git_ended(&self, arguments: &[&str]) -> Ended {
        let mut command = self.command("git");
        command.args(arguments);
        self.end(command.output().expect("git runs"))
    }

    #[expect(
        clippy::disallowed_methods,
        reason = "tests start the programs that users start"
    )]
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let seconds = self.seconds.fetch_add(60, Ordering::SeqCst);
        let date = format!("@{seconds} +0000");
        let program = program.as_ref();
        let mut command = Command::new(located(program));
        command
            .arg0(program)
            .current_dir(self.root())
            .env_clear()
            .env("PATH", std::env::var_os("PATH").unwrap_or_default())
            .env("HOME", self.directory.path().join("home"))
            .env("LC_ALL", "C")
            .env("TZ", "UTC")
            .env("GIT_CONFIG_GLOBAL", "/dev/null")
            .env("GIT_CONFIG_SYSTEM", "/dev/null")
            .env("GIT_CONFIG_NOSYSTEM", "1")
            .env("GIT_AUTHOR_NAME", "Ann")
            .env("GIT_AUTHOR_EMAIL", "ann@example.com")
            .env("GIT_COMMITTER_NAME", "Ann")
            .env("GIT_COMMITTER_EMAIL", "ann@example.com")
            .env("GIT_AUTHOR_DATE", &date)
            .env("GIT_COMMITTER_DATE", &date)
            .env("ORCH_NOW", seconds.to_string())
            // Tests write their own orch.toml.
            .env("ORCH_TRUST_ONCE", "1")
            // The executors of tests write beside the repository what they have seen.
            .env("ORCH_FENCE", "off")
            .stdin(Stdio::null());
        // All tests can run in repositories of another format: `make formats`.
        for name in ["GIT_DEFAULT_HASH", "GIT_DEFAULT_REF_FORMAT"] {
            command.envs(setting::setting(name).map(|format| (name, format)));
        }
        command
    }

    /// Converts the output of a command.
    pub fn end(&self, output: Output) -> Ended {
        let root = fs::canonicalize(self.root()).unwrap_or_else(|_| self.root());
        let text = |bytes: Vec<u8>| {
            String::from_utf8_lossy(&bytes)
                .replace(&*root.to_string_lossy(), "[ROOT]")
                .replace(&*self.root().to_string_lossy(), "[ROOT]")
        };
        Ended {
            code: output.status.code().unwrap_or(-1),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }

    /// Runs a line of commands in a shell, with `orch` as the tested program.
    #[track_caller]
    pub fn shell(&self, line: &str) {
        let line = line.replace("orch ", &format!("'{}' ", env!("CARGO_BIN_EXE_orch")));
        let ended = self
            .command("sh")
            .args(["-ec", &line])
            .output()
            .expect("sh runs");
        self.end(ended).succeeds();
    }

    /// Commits everything in the work tree, as a user would.
    pub fn commit(&self, message: &str) {
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "-m", message]);
    }

    /// The phase in a task's `state.json`.
    pub fn phase(&self, task: &str) -> String {
        self.json(&format!("tasks/{task}/state.json"))["phase"]
            .as_str()
            .expect("a phase")
            .to_owned()
    }

    /// The phase of a task according to `orch suggest`.
    pub fn phase_suggested(&self, task: &str) -> String {
        let phase = self.orch_json(&["suggest", task])["suggestions"][0]["currentPhase"].clone();
        phase.as_str().unwrap_or_default().to_owned()
    }

    /// Everything in the repository and in the home directory: links are not followed.
    pub fn everything(&self) -> impl Iterator<Item = DirEntry> {
        let below = [self.root(), self.path("../home")]
            .map(|top| WalkDir::new(top).follow_root_links(false));
        below
            .into_iter()
            .flatten()
            .map(|entry| entry.expect("nobody else is at work"))
    }

    /// The stamp of everything in the repository and in the home directory: equal ones mean that nothing was written,
    /// created, removed or renamed in between.
    pub fn stamps(&self) -> BTreeSet<(PathBuf, [i64; 7])> {
        let stamp = |entry: DirEntry| {
            let at = entry.metadata().expect("nobody else is at work");
            let signed = |number: u64| i64::try_from(number).expect("small");
            let [one, two, three, four] =
                [at.mtime(), at.mtime_nsec(), at.ctime(), at.ctime_nsec()];
            let stamp = [
                signed(at.ino()),
                signed(at.size()),
                at.mode().into(),
                one,
                two,
                three,
                four,
            ];
            (entry.into_path(), stamp)
        };
        self.everything().map(stamp).collect()
    }

    /// The output of `git status --porcelain`; empty if the work tree is clean.
    pub fn dirty(&self) -> String {
        self.git(&["status", "--porcelain"])
    }
}

/// Writes artifacts of the shipped lifecycle. Another `nth` yields other bytes.
impl World {
    pub fn plan(&self, task: &str, nth: u32) {
        let text = json!({"title": "Login", "status": "final", "why": "It fails.", "what": format!("Version {nth}.")});
        self.write(
            &format!("tasks/{task}/planning/plan.json"),
            format!("{text:#}\n"),
        );
    }

    pub fn plan_review(&self, task: &str, ok: bool, nth: u32) {
        self.write(
            &format!("tasks/{task}/review/plan/verdict.json"),
            verdict(ok, nth),
        );
    }

    /// A plan review that says which plan it judged, so that it counts although the plan is recorded after it.
    pub fn plan_review_of(&self, task: &str, ok: bool, nth: u32) {
        self.plan_review(task, ok, nth);
        let path = format!("tasks/{task}/review/plan/verdict.json");
        let digest = self.git(&["hash-object", &format!("tasks/{task}/planning/plan.json")]);
        let mut review = self.json(&path);
        review["of"] = json!({"plan": digest.trim()});
        self.write(&path, format!("{review:#}\n"));
    }

    pub fn patch(&self, task: &str, nth: u32) {
        let text = format!("--- a/login.rs\n+++ b/login.rs\n@@ -1 +1 @@\n-old\n+new {nth}\n");
        self.write(&format!("tasks/{task}/code/diff.patch"), text);
    }

    pub fn code_review(&self, task: &str, ok: bool, nth: u32) {
        self.write(
            &format!("tasks/{task}/review/code/verdict.json"),
            verdict(ok, nth),
        );
    }

    pub fn tests(&self, task: &str, failures: u32, nth: u32) {
        let case = if failures > 0 {
            "<failure message=\"no\"/>"
        } else {
            ""
        };
        let text = format!(
            "<testsuite name=\"run {nth}\" tests=\"1\" failures=\"{failures}\"><testcase name=\"a\">{case}</testcase></testsuite>\n"
        );
        self.write(&format!("tasks/{task}/eval/junit.xml"), text);
    }

    pub fn accept(&self, task: &str) {
        let text = json!({"verdict": "accepted", "reasons": ["It works."], "decider": "Ann"});
        self.write(
            &format!("tasks/{task}/accept/decision.json"),
            format!("{text:#}\n"),
        );
    }

    /// Moves a task from its first phase to `phase` by writing artifacts and applying the rules.
    pub fn walk_to(&self, task: &str, phase: &str) {
        self.walk_to_from(task, "planning", phase);
    }

    /// Like [`Self::walk_to`], starting in another phase.
    pub fn walk_to_from(&self, task: &str, from: &str, phase: &str) {
        type Scene = fn(&World, &str);
        let scenes: [(&str, Scene); 6] = [
            ("planning", |world, task| world.plan(task, 1)),
            ("plan_review", |world, task| {
                world.plan_review(task, true, 1)
            }),
            ("codegen", |world, task| world.patch(task, 1)),
            ("review", |world, task| world.code_review(task, true, 1)),
            ("test", |world, task| world.tests(task, 0, 1)),
            ("accept", Self::accept),
        ];
        for (at, write) in scenes.into_iter().skip_while(|(at, _)| *at != from) {
            if at == phase {
                break;
            }
            assert_eq!(self.phase(task), at);
            write(self, task);
            let apply = if at == "accept" { "approve" } else { "next" };
            self.orch(&[apply, task]).succeeds();
        }
        assert_eq!(self.phase(task), phase);
    }
}

fn verdict(ok: bool, nth: u32) -> String {
    let issues = if ok {
        json!([])
    } else {
        json!([{"id": "I1", "severity": "blocking", "message": "No."}])
    };
    let text = json!({"ok": ok, "issues": issues, "finished_at": format!("2026-11-21T04:{:02}:00Z", nth % 60)});
    format!("{text:#}\n")
}

impl Ended {
    /// Asserts that the command succeeded.
    #[track_caller]
    pub fn succeeds(self) -> Self {
        self.ends(0)
    }

    /// Asserts the exit code.
    #[track_caller]
    pub fn ends(self, code: i32) -> Self {
        assert_eq!(
            self.code, code,
            "stdout:\n{}\nstderr:\n{}",
            self.stdout, self.stderr
        );
        self
    }

    /// Asserts that stdout contains a text: the answer.
    #[track_caller]
    pub fn says(self, text: &str) -> Self {
        self.holds("stdout", text)
    }

    /// Asserts that stderr contains a text.
    #[track_caller]
    pub fn reports(self, text: &str) -> Self {
        self.holds("stderr", text)
    }

    #[track_caller]
    fn holds(self, stream: &str, text: &str) -> Self {
        let held = if stream == "stdout" {
            &self.stdout
        } else {
            &self.stderr
        };
        assert!(
            held.contains(text),
            "no {text:?} on {stream} in\nstdout:\n{}\nstderr:\n{}",
            self.stdout,
            self.stderr
        );
        self
    }
}

/// The program under test: that of this build, or another one, such as an optimized one, that `ORCH_TEST_PROGRAM`
/// names.
pub fn program() -> String {
    setting::setting("ORCH_TEST_PROGRAM").unwrap_or_else(|| env!("CARGO_BIN_EXE_orch").to_owned())
}

/// The same repository at another place.
pub fn copy(world: &World) -> World {
    let other = World::without_git();
    fs::remove_dir(other.root()).expect("removed");
    let ended = other
        .command("cp")
        .current_dir("/")
        .arg("-a")
        .args([world.root(), other.root()])
        .output();
    assert!(ended.expect("cp runs").status.success());
    other
}

/// The phases of the shipped lifecycle, on the way to its end.
const PHASES: [&str; 7] = [
    "planning",
    "plan_review",
    "codegen",
    "review",
    "test",
    "accept",
    "done",
];

/// A world with a task `t` in the given phase.
pub fn started(phase: &str) -> World {
    prepared(&format!("started {phase}"), &|| {
        let at = PHASES
            .iter()
            .position(|known| *known == phase)
            .expect(phase);
        match at.checked_sub(1).map(|before| PHASES[before]) {
            None => {
                let world = World::ready();
                world.orch(&["new", "t"]).succeeds();
                world
            }
            Some(before) => {
                let world = started(before);
                world.walk_to_from("t", before, phase);
                world
            }
        }
    })
}

/// Waits until a condition is true, at most a minute, so that a failure does not hang.
#[track_caller]
pub fn eventually(what: &str, mut condition: impl FnMut() -> bool) {
    let begun = std::time::Instant::now();
    while !condition() {
        assert!(
            begun.elapsed().as_secs() < 60,
            "still not true after a minute: {what}"
        );
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

/// Makes a file executable for everyone.
pub fn executable(path: &std::path::Path) {
    use std::os::unix::fs::PermissionsExt;
    fs::set_permissions(path, fs::Permissions::from_mode(0o755)).expect("executable");
}

/// Prints why a test does nothing on this machine. Writes to stderr directly, because the test runner hides
/// what a passing test prints.
pub fn skipped(why: &str) {
    let _ = std::io::stderr().write_all(format!("skipped: {why}\n").as_bytes());
}

/// Skips a test because a tool that it needs is missing, and says so. With `ORCH_TESTS_NEED_ALL`, as in CI, the test fails.
#[track_caller]
pub fn missing(tool: &str) {
    let why = format!("`{tool}` is missing or does not work here");
    assert!(
        crate::setting::setting("ORCH_TESTS_NEED_ALL").is_none(),
        "{why}; install it"
    );
    skipped(&why);
}

/// The root directory of the project.
pub fn project() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

//! Faults of system calls, injected by strace.

use crate::harness::{World, program, skipped};
use crate::setting;
use std::collections::BTreeSet;
use std::fs;
use std::io::Write as _;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Output, Stdio};

/// A fault to inject: what happens at which call, and at the how-manieth of its kind.
#[derive(Debug, Clone, Copy)]
pub struct Fault {
    pub call: &'static str,
    pub effect: Effect,
    pub nth: usize,
    /// Only calls with this path, below the root, count.
    pub only: Option<&'static str>,
}

/// What happens at a system call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Effect {
    /// It fails with this error, and does nothing.
    Error(&'static str),
    /// The process is killed.
    Kill,
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    pub code: Option<i32>,
    pub signal: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Run {
    pub fn of(output: Output) -> Self {
        Self {
            code: output.status.code(),
            signal: output.status.signal(),
            stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
            stderr: String::from_utf8_lossy(&output.stderr).into_owned(),
        }
    }
}

/// Runs `orch` while strace injects a fault, or else traces these calls. `prepare` adds to the command. Also returns
/// the trace.
pub fn traced(
    world: &World,
    arguments: &[&str],
    (calls, fault): (&[&str], Option<Fault>),
    prepare: impl FnOnce(&mut Command),
) -> (Run, String) {
    // The second tells which program a process is.
    let calls = fault.map_or_else(|| calls.join(","), |fault| format!("{},execve", fault.call));
    let mut options = match fault.map(|fault| fault.effect) {
        // With the filter in the kernel, strace injects no signal; without `-q`, it tells how processes end.
        Some(Effect::Kill) => vec!["-q".to_owned()],
        _ => QUIET.map(str::to_owned).to_vec(),
    };
    options.extend(["-e".to_owned(), format!("trace={calls}")]);
    if let Some(Fault {
        call,
        effect,
        nth,
        only,
    }) = fault
    {
        if let Some(path) = only {
            let path = world.root().canonicalize().expect("a root").join(path);
            options.extend(["-P".to_owned(), path.to_string_lossy().into_owned()]);
        }
        let effect = match effect {
            Effect::Error(error) => format!("error={error}"),
            Effect::Kill => "signal=KILL".to_owned(),
        };
        options.extend([
            "-e".to_owned(),
            format!("inject={call}:{effect}:when={nth}"),
        ]);
    }
    under_strace(world, &options, arguments, prepare)
}

/// Runs `orch` and records these calls with all of their bytes, each as `\x..`. Also returns the trace.
pub fn recorded(
    world: &World,
    arguments: &[&str],
    calls: &[&str],
    prepare: impl FnOnce(&mut Command),
) -> (Run, String) {
    let mut options = QUIET.map(str::to_owned).to_vec();
    options.extend(["-xx", "-s", "100000000", "-e"].map(str::to_owned));
    options.push(format!("trace={}", calls.join(",")));
    under_strace(world, &options, arguments, prepare)
}

/// No signals and no ends of processes.
const QUIET: [&str; 4] = ["-qq", "--seccomp-bpf", "-e", "signal=none"];

fn under_strace(
    world: &World,
    options: &[String],
    arguments: &[&str],
    prepare: impl FnOnce(&mut Command),
) -> (Run, String) {
    let trace = world.path("../trace");
    let mut command = world.command("strace");
    command.args(["-f", "-y", "-o"]).arg(&trace).args(options);
    command.arg(program()).args(arguments).stdin(Stdio::null());
    prepare(&mut command);
    let run = Run::of(command.output().expect("strace runs"));
    (run, fs::read_to_string(&trace).unwrap_or_default())
}

/// The line of a trace where the fault was injected; `None` if no call was left for it.
pub fn hit(trace: &str, fault: Fault) -> Option<&str> {
    hits(trace, fault).next()
}

/// All lines of a trace where the fault was injected: each process is hit at its own n-th call.
fn hits(trace: &str, fault: Fault) -> impl Iterator<Item = &str> {
    trace.lines().filter(move |line| match fault.effect {
        Effect::Error(_) => line.contains("(INJECTED)"),
        Effect::Kill => line.contains("killed by SIGKILL"),
    })
}

/// Whether the fault was injected into a process of this program.
pub fn has_hit(trace: &str, fault: Fault, program: &str) -> bool {
    let process = |line: &str| line.split(' ').next().map(str::to_owned);
    let started: BTreeSet<_> = trace
        .lines()
        .filter(|line| line.contains(" execve(") && line.contains(&format!("/{program}\"")))
        .map(process)
        .collect();
    hits(trace, fault).any(|line| started.contains(&process(line)))
}

/// Whether the fault was injected into a call about a file of this name.
pub fn has_hit_file(trace: &str, fault: Fault, name: &str) -> bool {
    hits(trace, fault).any(|line| line.contains(&format!("/{name}>")))
}

/// How many calls of a kind a trace contains.
pub fn count(trace: &str, call: &str) -> usize {
    trace
        .lines()
        .filter(|line| line.contains(&format!(" {call}(")))
        .count()
}

/// Whether strace can inject faults on this machine. If not, says so.
pub fn can_inject() -> bool {
    let world = World::without_git();
    let mut command = world.command("strace");
    command.args([
        "-f",
        "-qq",
        "--seccomp-bpf",
        "-o",
        "../trace",
        "-e",
        "inject=getcwd:error=EIO",
        "true",
    ]);
    let can = command.output().is_ok_and(|output| output.status.success());
    if !can {
        skipped("strace is missing or may not trace here, so no fault is injected");
    }
    can
}

/// Whether every fault is to be injected, and not a slice of them.
pub fn is_whole() -> bool {
    setting::setting("ORCH_FAULTS").is_some()
}

/// Numbers below a limit, one after the other: a linear congruential generator is random enough to choose from a few
/// thousand faults.
pub fn choices() -> impl FnMut(usize) -> usize {
    let mut chance = setting::number("ORCH_FAULT_SEED").unwrap_or(1);
    move |limit| {
        chance = chance
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(chance >> 33).expect("small") % limit
    }
}

/// Prints a line of the table.
pub fn told(line: &str) {
    let _ = std::io::stdout().write_all(format!("{line}\n").as_bytes());
}

/// Adds a line to the table of all kinds of faults, which `make faults` prints at its end: the points where something
/// may fail, the runs in which it did, and what was wrong.
pub fn sum_up(kind: &str, [points, runs, violations]: [usize; 3]) {
    let Some(table) = setting::setting("ORCH_FAULT_TABLE") else {
        return;
    };
    let mut file = fs::OpenOptions::new()
        .create(true)
        .append(true)
        .open(table)
        .expect("the table");
    file.write_all(format!("{kind:<52} {points:>7} {runs:>7} {violations:>10}\n").as_bytes())
        .expect("written");
}

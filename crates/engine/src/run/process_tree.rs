//! Processes as `/proc` shows them: parents, groups, start times and environments.

use rustix::process::{Pid, WaitOptions, waitpid};
use std::fs::{self, File};
use std::io::Read as _;

/// An entry of the process table.
pub(super) struct ProcessEntry {
    /// Whether the process has ended and only waits to be reaped by its parent.
    pub is_dead: bool,
    /// The id of its parent; 0 if it has none.
    pub parent: i32,
    /// The id of the process group.
    pub group: i32,
    /// The start time, in clock ticks after boot.
    pub started: u64,
}

/// Reads `/proc/PID/stat`, see proc(5); `None` if the process is gone or the system has no `/proc`.
pub(super) fn look(pid: i32) -> Option<ProcessEntry> {
    let bytes = read(pid, "stat")?;
    let text = String::from_utf8_lossy(&bytes);
    // The name may contain anything, blanks and parentheses included; the fields follow the last parenthesis.
    let mut fields = text.get(text.rfind(')')? + 1..)?.split_whitespace();
    Some(ProcessEntry {
        is_dead: matches!(fields.next()?, "Z" | "X"),
        parent: fields.next()?.parse().ok()?,
        group: fields.next()?.parse().ok()?,
        started: fields.nth(16)?.parse().ok()?,
    })
}

/// The start time of a process, in clock ticks after boot; `None` if it is gone.
pub(super) fn started(pid: i32) -> Option<u64> {
    Some(look(pid)?.started)
}

/// Whether a process runs this program, by file or by name, with the command `run`.
pub(super) fn is_orch_run(pid: i32) -> bool {
    let program = |of: &str| fs::read_link(format!("/proc/{of}/exe")).ok();
    let theirs = program(&pid.to_string());
    let is_orch = theirs.is_some_and(|theirs| {
        Some(&theirs) == program("self").as_ref()
            || theirs.file_name().is_some_and(|name| name == "orch")
    });
    is_orch && {
        let arguments = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        arguments
            .split(|byte| *byte == 0)
            .skip(1)
            .any(|argument| argument == b"run")
    }
}

/// The name of a process; `?` if it is gone.
pub(super) fn name(pid: i32) -> String {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    if name.trim().is_empty() {
        "?".to_owned()
    } else {
        name.trim().to_owned()
    }
}

/// The names of the living processes of a group, of these others, and of all that descend from them, each once and in order.
pub(super) fn names_below(group: i32, others: &[i32]) -> Vec<String> {
    let all: Vec<(i32, ProcessEntry)> = all()
        .into_iter()
        .filter_map(|pid| Some((pid, look(pid)?)))
        .collect();
    let mut found: Vec<i32> = Vec::new();
    // Each round finds the children of what the round before has found.
    loop {
        let known = found.len();
        for (pid, seen) in &all {
            let is_below =
                seen.group == group || others.contains(pid) || found.contains(&seen.parent);
            if is_below && !seen.is_dead && !found.contains(pid) {
                found.push(*pid);
            }
        }
        if found.len() == known {
            break;
        }
    }
    let mut names: Vec<String> = found.into_iter().map(name).collect();
    names.sort();
    names.dedup();
    names
}

/// The program of a process and its arguments, as it was started; empty if it is gone.
pub(super) fn arguments(pid: i32) -> Vec<String> {
    let text = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
    let words = text
        .split(|byte| *byte == 0)
        .map(|word| String::from_utf8_lossy(word).into_owned());
    words.filter(|word| !word.is_empty()).collect()
}

/// The children of this process, dead ones included.
pub(super) fn children() -> Vec<i32> {
    let own = rustix::process::getpid().as_raw_nonzero().get();
    // Adopted children are listed under the first thread. If the kernel keeps no such list, look at every
    // process.
    let listed = fs::read_to_string(format!("/proc/{own}/task/{own}/children"));
    let pids = listed.map_or_else(|_| all(), |text| numbers(text.split_whitespace()));
    pids.into_iter()
        .filter(|pid| look(*pid).is_some_and(|seen| seen.parent == own))
        .collect()
}

/// The living children that this process has adopted, except those that `is_other` knows. Reaps dead ones. What this
/// process starts without a group of its own, such as git, is in the group of this process.
pub(super) fn adopted(is_other: &dyn Fn(i32) -> bool) -> Vec<Pid> {
    // In a namespace of processes that the leader of the group is outside of, the number of the group is 0.
    let own = look(rustix::process::getpid().as_raw_nonzero().get()).map(|seen| seen.group);
    let is_started = |pid: &i32| look(*pid).is_none_or(|seen| Some(seen.group) == own);
    let fresh = children()
        .into_iter()
        .filter(|pid| !is_started(pid) && !is_other(*pid));
    let lives = |pid: &Pid| !matches!(waitpid(Some(*pid), WaitOptions::NOHANG), Ok(Some(_)));
    fresh.filter_map(Pid::from_raw).filter(lives).collect()
}

/// Whether a process of this existing group is alive. `true` if the system shows no processes.
pub(super) fn lives_in(group: i32) -> bool {
    let mut shown = all().into_iter().filter_map(look).peekable();
    shown.peek().is_none() || shown.any(|seen| seen.group == group && !seen.is_dead)
}

/// The living processes, except this one, with this entry in their environment, and their groups.
pub(super) fn marked(variable: &str) -> Vec<(Pid, i32)> {
    let own = rustix::process::getpid().as_raw_nonzero().get();
    let found = all()
        .into_iter()
        .filter(|pid| *pid != own && has_entry(*pid, variable));
    found
        .filter_map(|pid| {
            Some((
                Pid::from_raw(pid)?,
                look(pid).filter(|seen| !seen.is_dead)?.group,
            ))
        })
        .collect()
}

/// Whether a process has this entry in its environment.
pub(super) fn has_entry(pid: i32, variable: &str) -> bool {
    let environment = read(pid, "environ").unwrap_or_default();
    environment
        .split(|byte| *byte == 0)
        .any(|entry| entry == variable.as_bytes())
}

/// Reads a file of a process; `None` if it is gone or closed to this user. It says that it is empty, so that a plain read
/// would begin with a few bytes, and take eight calls for an environment.
fn read(pid: i32, name: &str) -> Option<Vec<u8>> {
    let mut bytes = Vec::with_capacity(8 << 10);
    let mut file = File::open(format!("/proc/{pid}/{name}")).ok()?;
    file.read_to_end(&mut bytes).ok()?;
    Some(bytes)
}

/// The ids of all processes.
fn all() -> Vec<i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let names: Vec<String> = entries
        .filter_map(|entry| entry.file_name().into_string().ok())
        .collect();
    numbers(names.iter().map(String::as_str))
}

fn numbers<'t>(texts: impl Iterator<Item = &'t str>) -> Vec<i32> {
    texts.filter_map(|text| text.parse().ok()).collect()
}

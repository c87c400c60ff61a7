//! Processes as the system shows them: who is whose child, who is in which group, who carries which mark.

use rustix::process::{Pid, WaitOptions, waitpid};
use std::fs;

/// What we look at of a process.
pub(super) struct ProcessEntry {
    /// Whether it has ended and only waits to be laid to rest by its parent.
    pub is_dead: bool,
    parent: i32,
    /// Its group.
    pub group: i32,
    /// When it was started, in the system's own count.
    pub started: u64,
}

/// Reads what the system shows of a process; `None` where it is gone, or nothing is shown.
pub(super) fn look(pid: i32) -> Option<ProcessEntry> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name may hold anything, blanks and brackets included; the fields follow its last bracket.
    let mut fields = text.get(text.rfind(')')? + 1..)?.split_whitespace();
    Some(ProcessEntry {
        is_dead: matches!(fields.next()?, "Z" | "X"),
        parent: fields.next()?.parse().ok()?,
        group: fields.next()?.parse().ok()?,
        started: fields.nth(16)?.parse().ok()?,
    })
}

/// When a process was started, in the system's own count; `None` where it is gone.
pub(super) fn started(pid: i32) -> Option<u64> {
    Some(look(pid)?.started)
}

/// The processes that are our children, dead ones included.
pub(super) fn children() -> Vec<i32> {
    let own = rustix::process::getpid().as_raw_nonzero().get();
    // Adopted children are listed under the first thread; where the list is not kept, all are asked.
    let listed = fs::read_to_string(format!("/proc/{own}/task/{own}/children"));
    let pids = listed.map_or_else(|_| all(), |text| numbers(text.split_whitespace()));
    pids.into_iter().filter(|pid| look(*pid).is_some_and(|seen| seen.parent == own)).collect()
}

/// The children that have come to us beside those `before`, and that live; a dead one is laid to rest.
pub(super) fn adopted(before: &[i32]) -> Vec<Pid> {
    let fresh = children().into_iter().filter(|pid| !before.contains(pid));
    let lives = |pid: &Pid| !matches!(waitpid(Some(*pid), WaitOptions::NOHANG), Ok(Some(_)));
    fresh.filter_map(Pid::from_raw).filter(lives).collect()
}

/// Whether somebody lives in a group that is known to be there. Where nothing is shown, somebody does.
pub(super) fn lives_in(group: i32) -> bool {
    let mut shown = all().into_iter().filter_map(look).peekable();
    shown.peek().is_none() || shown.any(|seen| seen.group == group && !seen.is_dead)
}

/// The living processes beside us that have this in their environment, and their groups.
pub(super) fn marked(variable: &str) -> Vec<(Pid, i32)> {
    let has = |pid: &i32| {
        let environment = fs::read(format!("/proc/{pid}/environ")).unwrap_or_default();
        environment.split(|byte| *byte == 0).any(|entry| entry == variable.as_bytes())
    };
    let own = rustix::process::getpid().as_raw_nonzero().get();
    let found = all().into_iter().filter(|pid| *pid != own).filter(has);
    found
        .filter_map(|pid| Some((Pid::from_raw(pid)?, look(pid).filter(|seen| !seen.is_dead)?.group)))
        .collect()
}

/// Every process that the system shows.
fn all() -> Vec<i32> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let names: Vec<String> = entries.filter_map(|entry| entry.file_name().into_string().ok()).collect();
    numbers(names.iter().map(String::as_str))
}

fn numbers<'t>(texts: impl Iterator<Item = &'t str>) -> Vec<i32> {
    texts.filter_map(|text| text.parse().ok()).collect()
}

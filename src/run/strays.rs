//! Processes that left their group and lost their parent: found where the system shows them.

use rustix::process::{Pid, Signal, WaitOptions, kill_process, waitpid};
use std::fs;

/// The fields of a process that we look at: its parent, and when it was started.
struct Seen {
    parent: i32,
    started: u64,
}

/// Reads what the system shows of a process; `None` where it is gone, or nothing is shown.
fn look(pid: i32) -> Option<Seen> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name may hold anything, blanks and brackets included; the fields follow its last bracket.
    let mut fields = text.get(text.rfind(')')? + 1..)?.split_whitespace();
    let parent = fields.nth(1)?.parse().ok()?;
    Some(Seen { parent, started: fields.nth(17)?.parse().ok()? })
}

/// When a process was started, in the system's own count; `None` where it is gone.
pub(super) fn started(pid: i32) -> Option<u64> {
    Some(look(pid)?.started)
}

/// Ends every process that has become our child and that nobody waits for. The executor itself has
/// ended before. Says whether there was any.
pub(super) fn end() -> bool {
    let own = rustix::process::getpid().as_raw_nonzero().get();
    let mut any = false;
    // One that is ended may leave children of its own behind, which come to us too.
    for _ in 0..50 {
        let found = children_of(own);
        if found.is_empty() {
            break;
        }
        for pid in found {
            any = true;
            let _ = kill_process(pid, Signal::KILL);
            let _ = waitpid(Some(pid), WaitOptions::empty());
        }
    }
    any
}

fn children_of(parent: i32) -> Vec<Pid> {
    let listed = fs::read_to_string(format!("/proc/{parent}/task/{parent}/children"));
    let listed: Option<Vec<i32>> = listed.ok().map(|text| numbers(text.split_whitespace()));
    // Adopted children are listed under the first thread; where the list is not kept, all are asked.
    let pids = listed.unwrap_or_else(|| {
        let names: Vec<String> = fs::read_dir("/proc")
            .into_iter()
            .flatten()
            .filter_map(|entry| entry.ok()?.file_name().into_string().ok())
            .collect();
        numbers(names.iter().map(String::as_str))
    });
    let ours = pids.into_iter().filter(|pid| look(*pid).is_some_and(|seen| seen.parent == parent));
    ours.filter_map(Pid::from_raw).collect()
}

fn numbers<'t>(texts: impl Iterator<Item = &'t str>) -> Vec<i32> {
    texts.filter_map(|text| text.parse().ok()).collect()
}

//! Process groups: asked to end, then ended, with all that is in them.

use super::strays;
use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitOptions, kill_process_group, set_child_subreaper, test_kill_process_group, waitpgid,
};
use std::sync::atomic::{AtomicBool, AtomicI32, Ordering};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The group that runs now, for whoever has to end it at once; 0 where there is none.
static RUNNING: AtomicI32 = AtomicI32::new(0);

/// Whether every child of ours is an executor's, so that what is left of one may be ended.
static ADOPTS: AtomicBool = AtomicBool::new(false);

/// The process group of an executor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Group(Pid);

impl Group {
    /// The group that a process leads.
    pub(super) fn of(child: &std::process::Child) -> Self {
        let pid = Pid::from_child(child);
        RUNNING.store(pid.as_raw_nonzero().get(), Ordering::SeqCst);
        Self(pid)
    }

    /// The number of the group.
    pub(super) fn number(self) -> i32 {
        self.0.as_raw_nonzero().get()
    }

    /// Asks every process of it to end. One that is gone needs no asking.
    pub(super) fn ask(self) {
        let _ = kill_process_group(self.0, Signal::TERM);
    }

    /// Ends every process of it.
    pub(super) fn kill(self) {
        let _ = kill_process_group(self.0, Signal::KILL);
    }

    /// Whether no process of it is left. Those that ended and belong to us are laid to rest first.
    fn is_empty(self) -> bool {
        while let Ok(Some(_)) = waitpgid(self.0, WaitOptions::NOHANG) {}
        test_kill_process_group(self.0) == Err(Errno::SRCH)
    }

    /// Ends what is left of it after its leader: asked first, then not asked any more. Says whether
    /// anything was left.
    pub(super) fn clear(self, grace: Duration) -> bool {
        let was_empty = self.is_empty();
        if !was_empty {
            self.ask();
            let until = Instant::now() + grace;
            while !self.is_empty() && Instant::now() < until {
                sleep(Duration::from_millis(5));
            }
            self.kill();
            let until = Instant::now() + Duration::from_secs(2);
            while !self.is_empty() && Instant::now() < until {
                sleep(Duration::from_millis(2));
            }
        }
        RUNNING.store(0, Ordering::SeqCst);
        let had_strays = ADOPTS.load(Ordering::SeqCst) && strays::end();
        !was_empty || had_strays
    }
}

/// Ends the executor that runs now, without asking; for a process that is about to end itself.
pub fn kill_now() {
    if let Some(pid) = Pid::from_raw(RUNNING.load(Ordering::SeqCst)) {
        Group(pid).kill();
    }
}

/// From here on, processes that lose their parent below us become ours, so that none can slip away by
/// leaving its group. Where the system has no such thing, groups have to do.
pub fn adopt_strays() {
    let _ = set_child_subreaper(Some(rustix::process::getpid()));
    ADOPTS.store(true, Ordering::SeqCst);
}

/// Ends a group that a killed run has left behind, unless its number means somebody else by now.
/// `started` is when its leader was started, as the system counts.
pub fn end_leftovers(number: i32, started: Option<u64>, grace: Duration) -> bool {
    let Some(pid) = Pid::from_raw(number).filter(|pid| !pid.is_init()) else { return false };
    let group = Group(pid);
    if group.is_empty() {
        return false;
    }
    // While the group is there its number is given to nobody else; only a new leader could have it.
    match strays::started(number) {
        Some(now) if started != Some(now) => false,
        _ => {
            group.clear(grace);
            true
        }
    }
}

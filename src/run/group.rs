//! Process groups: asked to end, then ended, with all that is in them and all that came out of them.

use super::process_tree;
use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitOptions, child_subreaper, kill_process, kill_process_group, set_child_subreaper,
    test_kill_process_group, waitpgid,
};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The executor that runs now, for whoever has to end it at once from another thread.
#[derive(Debug, Clone, Default)]
pub struct RunningExecutor(Arc<Mutex<Option<Group>>>);

impl RunningExecutor {
    /// Ends it without asking; for a process that is about to end itself.
    pub fn kill(&self) {
        if let Some(group) = self.put(None) {
            Remaining { group: Some(group.leader), others: &|| group.strays() }.kill();
        }
    }

    /// Notes which runs now, if any; returns the one before.
    pub(super) fn put(&self, group: Option<Group>) -> Option<Group> {
        std::mem::replace(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner), group)
    }
}

/// How long is waited for the end of what was killed.
const DEATH: Duration = Duration::from_secs(2);

/// The process group of an executor.
#[derive(Debug, Clone)]
pub(super) struct Group {
    leader: Pid,
    /// The children that we had before it: what the recording of a step has started, such as an agent
    /// that keeps keys for signatures, is none of its business.
    before: Vec<i32>,
}

impl Group {
    /// The group that a process leads, where we had these children before.
    pub(super) fn of(child: &std::process::Child, before: Vec<i32>) -> Self {
        Self { leader: Pid::from_child(child), before }
    }

    /// The number of the group.
    pub(super) fn number(&self) -> i32 {
        self.leader.as_raw_nonzero().get()
    }

    /// Asks every process of it to end. One that is gone needs no asking.
    pub(super) fn ask(&self) {
        let _ = kill_process_group(self.leader, Signal::TERM);
    }

    /// Ends every process of it.
    pub(super) fn kill(&self) {
        let _ = kill_process_group(self.leader, Signal::KILL);
    }

    /// Ends what is left after its leader: asked first, then not asked any more. Says whether anything
    /// was left.
    pub(super) fn clear(&self, grace: Duration) -> bool {
        let left = Remaining { group: Some(self.leader), others: &|| self.strays() };
        left.end(grace)
    }

    /// What has left the group and lost its parent, which makes it our child.
    fn strays(&self) -> Vec<Pid> {
        let adopts = child_subreaper().is_ok_and(|adopts| adopts.is_some());
        if adopts { process_tree::adopted(&self.before) } else { Vec::new() }
    }
}

/// What is to be ended: a group, and others.
struct Remaining<'a> {
    group: Option<Pid>,
    others: &'a dyn Fn() -> Vec<Pid>,
}

impl Remaining<'_> {
    /// Whether nobody lives in the group. Those that ended and belong to us are laid to rest first.
    fn is_gone(&self) -> bool {
        let Some(group) = self.group else { return true };
        while let Ok(Some(_)) = waitpgid(group, WaitOptions::NOHANG) {}
        test_kill_process_group(group) == Err(Errno::SRCH)
            || !process_tree::lives_in(group.as_raw_nonzero().get())
    }

    /// Asks them to end, then ends them, as one may be born while another dies. Says whether there was
    /// anybody.
    fn end(&self, grace: Duration) -> bool {
        if self.is_gone() && (self.others)().is_empty() {
            return false;
        }
        if let Some(group) = self.group {
            let _ = kill_process_group(group, Signal::TERM);
        }
        let mut asked = Vec::new();
        let is_over = self.until(grace, &mut |others| {
            for other in others.iter().filter(|other| !asked.contains(*other)) {
                let _ = kill_process(*other, Signal::TERM);
            }
            asked = others.to_vec();
        });
        if !is_over {
            self.kill();
        }
        true
    }

    /// Ends them without asking. What cannot be killed is not waited for without an end.
    fn kill(&self) {
        if let Some(group) = self.group {
            let _ = kill_process_group(group, Signal::KILL);
        }
        self.until(DEATH, &mut |others| {
            for other in others {
                let _ = kill_process(*other, Signal::KILL);
            }
        });
    }

    /// Waits until all are gone, doing something to those who are not in the group meanwhile; says
    /// whether they are.
    fn until(&self, longest: Duration, to: &mut dyn FnMut(&[Pid])) -> bool {
        let until = Instant::now() + longest;
        loop {
            let others = (self.others)();
            if others.is_empty() && self.is_gone() {
                return true;
            }
            if Instant::now() >= until {
                return false;
            }
            to(&others);
            sleep(Duration::from_millis(5));
        }
    }
}

/// From here on, processes that lose their parent below us become ours, so that none can slip away by
/// leaving its group. Where the system has no such thing, groups have to do.
pub fn adopt_orphans() {
    let _ = set_child_subreaper(Some(rustix::process::getpid()));
}

/// Ends what a killed run has left behind, and says whether there was anything. `number` is the group of
/// its executor and `started` when the leader was started, as the system counts; whoever got away from
/// there is known by the place for the result, which stands in its environment.
pub fn end_leftovers(number: Option<i32>, started: Option<u64>, result: &Path, grace: Duration) -> bool {
    let mark = format!("{RESULT}={}", result.display());
    let marked = || process_tree::marked(&mark);
    let ours = |number: &i32| match process_tree::started(*number) {
        Some(now) => started == Some(now),
        // Its number may mean somebody else by now, unless one who carries the mark is in it; where the
        // system shows nothing, it has to do.
        None => started.is_none() || marked().iter().any(|(_, group)| group == number),
    };
    let group = number.filter(ours).and_then(Pid::from_raw).filter(|pid| !pid.is_init());
    Remaining { group, others: &|| marked().into_iter().map(|(pid, _)| pid).collect() }.end(grace)
}

/// The variable that names the place for the result of a try.
pub const RESULT: &str = "ORCH_RESULT";

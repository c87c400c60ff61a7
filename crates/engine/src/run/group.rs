//! Process groups: ends the group of a program, and processes that have left it.

use super::child_process::ChildProcess;
use super::control_group::ControlGroup;
use super::janitor::is_janitor;
use super::process_tree;
use orch_base::locked;
use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitOptions, child_subreaper, kill_process, kill_process_group,
    set_child_subreaper, test_kill_process_group, waitpgid,
};
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The groups of all programs that this process has started and waits for, in whatever thread.
static LIVE: Mutex<Vec<Group>> = Mutex::new(Vec::new());

/// Kills all programs that this process waits for; for a process that is about to exit. While the result lives, none
/// starts.
pub fn kill_all() -> impl Drop {
    super::side_process::end_all();
    let mut live = locked(&LIVE);
    let groups = std::mem::take(&mut *live);
    groups
        .iter()
        .for_each(|group| group.end_now(&|| group.escaped(&groups)));
    live
}

/// The group of the running executor, so that another thread can kill it.
#[derive(Debug, Clone, Default)]
pub struct RunningExecutor(Arc<Mutex<Option<Group>>>);

impl RunningExecutor {
    /// Kills the running executor; for a process that is about to exit. While the result lives, no executor
    /// starts, and a thread that waits for the killed one learns nothing: its run must not continue as if the
    /// executor had failed.
    pub fn kill(&self) -> impl Drop {
        let mut running = locked(&self.0);
        if let Some(group) = running.take() {
            group.end_now(&|| group.escaped(&locked(&LIVE)));
            group.forget();
        }
        running
    }

    /// Starts an executor. No other thread can miss it: it either prevents the start or finds the group.
    pub(super) fn start(
        &self,
        spawn: impl FnOnce() -> io::Result<(ChildProcess, Group)>,
    ) -> io::Result<(ChildProcess, Group)> {
        let mut running = locked(&self.0);
        // Another thread that looks for escaped processes finds a child only once its group is known.
        let mut live = locked(&LIVE);
        let (child, group) = spawn()?;
        live.push(group.clone());
        *running = Some(group.clone());
        Ok((child, group))
    }

    /// The executor has ended.
    pub(super) fn clear(&self) {
        if let Some(group) = locked(&self.0).take() {
            group.forget();
        }
    }
}

/// How long to wait after SIGKILL.
const DEATH: Duration = Duration::from_secs(2);

/// The process group of a program.
#[derive(Debug, Clone)]
pub(super) struct Group {
    leader: Pid,
    /// An entry of the environment that the program passes on, and no other program has.
    mark: String,
    escapes: Escapes,
    /// What the processes of the program cannot leave, where the system has it.
    control: Option<Arc<ControlGroup>>,
}

/// How processes are found that have left the group.
#[derive(Debug, Clone)]
pub(super) enum Escapes {
    /// Orphans that this process adopts. Those children that existed earlier are left alone, such as a signing agent
    /// started while a step was recorded.
    Adopted {
        /// The earlier children.
        before: Vec<i32>,
    },
    /// Those with the mark in their environment: other threads may start children that this process adopts.
    Marked,
}

impl Group {
    /// The group led by a process, and its control group.
    pub(super) fn of(
        leader: Pid,
        control: Option<ControlGroup>,
        mark: String,
        escapes: Escapes,
    ) -> Self {
        Self {
            leader,
            mark,
            escapes,
            control: control.map(Arc::new),
        }
    }

    /// The id of the group.
    pub(super) fn number(&self) -> i32 {
        self.leader.as_raw_nonzero().get()
    }

    /// Sends SIGTERM to the group. Does nothing if the group is gone.
    pub(super) fn ask(&self) {
        let _ = kill_process_group(self.leader, Signal::TERM);
    }

    /// Sends SIGKILL to the group.
    pub(super) fn kill(&self) {
        let _ = kill_process_group(self.leader, Signal::KILL);
    }

    /// Ends what remains after the leader has exited: SIGTERM, then SIGKILL after `grace`. Returns whether
    /// anything remained.
    pub(super) fn clear(&self, grace: Duration) -> bool {
        self.remaining(&|| self.escaped(&locked(&LIVE))).end(grace)
    }

    /// The names of the living processes that remain: in the group, outside it, and below those.
    pub(super) fn remaining_names(&self) -> Vec<String> {
        let outside = self.escaped(&locked(&LIVE));
        let outside: Vec<i32> = outside
            .iter()
            .map(|pid| pid.as_raw_nonzero().get())
            .collect();
        process_tree::names_below(self.number(), &outside)
    }

    /// Kills it and these, for a process that is about to exit: nobody removes its control group later.
    fn end_now(&self, others: &dyn Fn() -> Vec<Pid>) {
        self.remaining(others).kill();
        self.control.iter().for_each(|control| control.remove());
    }

    fn remaining<'a>(&'a self, others: &'a dyn Fn() -> Vec<Pid>) -> Remaining<'a> {
        Remaining {
            group: Some(self.leader),
            control: self.control.as_deref(),
            others,
        }
    }

    /// Nothing of it is waited for any more.
    fn forget(&self) {
        locked(&LIVE).retain(|group| group.leader != self.leader);
    }

    /// Descendants that have left the group. Each one that this process has adopted belongs to this group unless it
    /// belongs to another one.
    fn escaped(&self, live: &[Self]) -> Vec<Pid> {
        let mut escaped = self.recognised(live);
        let members = self.control.iter().flat_map(|control| control.members());
        let is_outside = |pid: &Pid| {
            process_tree::look(pid.as_raw_nonzero().get())
                .is_some_and(|it| it.group != self.number())
        };
        escaped.extend(members.filter(is_outside));
        escaped.sort_unstable_by_key(|pid| pid.as_raw_nonzero());
        escaped.dedup();
        escaped
    }

    /// Those that are recognised by their parent or their environment.
    fn recognised(&self, live: &[Self]) -> Vec<Pid> {
        match &self.escapes {
            Escapes::Marked => process_tree::marked(&self.mark)
                .into_iter()
                .map(|(pid, _)| pid)
                .collect(),
            Escapes::Adopted { before }
                if child_subreaper().is_ok_and(|adopts| adopts.is_some()) =>
            {
                let others: Vec<&Self> = live
                    .iter()
                    .filter(|other| other.leader != self.leader)
                    .collect();
                process_tree::adopted(&|pid| {
                    before.contains(&pid)
                        || is_janitor(pid)
                        || others.iter().any(|other| other.owns(pid))
                })
            }
            Escapes::Adopted { .. } => Vec::new(),
        }
    }

    /// Whether a process is in the group, or was started by one that is.
    fn owns(&self, pid: i32) -> bool {
        process_tree::look(pid).is_some_and(|seen| seen.group == self.number())
            || process_tree::has_entry(pid, &self.mark)
    }
}

/// Processes to end: a group, and others.
struct Remaining<'a> {
    group: Option<Pid>,
    control: Option<&'a ControlGroup>,
    others: &'a dyn Fn() -> Vec<Pid>,
}

impl Remaining<'_> {
    /// Whether no process of the group is alive. Reaps those that are our children first.
    fn is_gone(&self) -> bool {
        if self.control.is_some_and(ControlGroup::is_populated) {
            return false;
        }
        let Some(group) = self.group else { return true };
        while let Ok(Some(_)) = waitpgid(group, WaitOptions::NOHANG) {}
        test_kill_process_group(group) == Err(Errno::SRCH)
            || !process_tree::lives_in(group.as_raw_nonzero().get())
    }

    /// Sends SIGTERM, then SIGKILL after `grace`, also to processes that start meanwhile. Returns whether
    /// there were any processes.
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

    /// Sends SIGKILL. Stops waiting after [`DEATH`] for processes that cannot be killed.
    fn kill(&self) {
        if let Some(control) = self.control {
            control.kill();
        }
        if let Some(group) = self.group {
            let _ = kill_process_group(group, Signal::KILL);
        }
        self.until(DEATH, &mut |others| {
            for other in others {
                let _ = kill_process(*other, Signal::KILL);
            }
        });
    }

    /// Waits until all processes are gone, calling `to` on those outside the group meanwhile. Returns whether
    /// all are gone.
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

/// From now on, orphaned descendants become children of this process, so that none escapes by leaving its
/// group. On systems without subreapers only groups are ended.
pub fn adopt_orphans() {
    let _ = set_child_subreaper(Some(rustix::process::getpid()));
}

/// Ends the processes that a killed run left behind, and returns whether there were any. `number` is the
/// group of its executor, and `started` the start time of the group's leader in clock ticks after boot.
/// Processes outside the group are recognised by the result path in their environment.
pub fn end_leftovers(
    number: Option<i32>,
    started: Option<u64>,
    result: &Path,
    grace: Duration,
) -> bool {
    let mark = format!("{RESULT}={}", result.display());
    let marked = || process_tree::marked(&mark);
    let ours = |number: &i32| match process_tree::started(*number) {
        Some(now) => started == Some(now),
        // The number may belong to another process by now, unless a process that carries the mark is in the
        // group. If the system reports no start times, the number alone has to do.
        None => started.is_none() || marked().iter().any(|(_, group)| group == number),
    };
    let group = number
        .filter(ours)
        .and_then(Pid::from_raw)
        .filter(|pid| !pid.is_init());
    Remaining {
        group,
        control: None,
        others: &|| marked().into_iter().map(|(pid, _)| pid).collect(),
    }
    .end(grace)
}

/// Ends all processes with this entry in their environment, and returns whether there were any.
pub(super) fn end_all_marked(mark: &str, grace: Duration) -> bool {
    Remaining {
        group: None,
        control: None,
        others: &|| {
            let marked = process_tree::marked(mark);
            marked.into_iter().map(|(pid, _)| pid).collect()
        },
    }
    .end(grace)
}

/// The environment variable with the path of the result file.
pub const RESULT: &str = "ORCH_RESULT";

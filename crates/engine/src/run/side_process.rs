//! Processes that work beside this one, each in a group of its own and with its output in a file: `orch` once more, or a
//! program. They end by their own orderly stop; whatever is left of them when this process ends is killed.

use orch_base::locked;
use rustix::io::retry_on_intr;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, getppid, kill_process, kill_process_group,
    set_parent_process_death_signal, test_kill_process_group, waitid,
};
use std::ffi::OsString;
use std::fs::File;
use std::io;
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Mutex;
use std::thread::{self, sleep};
use std::time::{Duration, Instant};

/// Those that run.
static RUNNING: Mutex<Vec<Pid>> = Mutex::new(Vec::new());

/// The bytes of the stack of a thread that waits for one.
const STACK: usize = 64 << 10;

/// How long they have to end what they started, if this process has to end at once.
const GRACE: Duration = Duration::from_secs(3);

/// A process that works beside this one. Dropping this kills it.
#[derive(Debug)]
pub struct SideProcess {
    child: Child,
    group: Pid,
    code: Option<i32>,
}

impl SideProcess {
    /// Starts `orch` with these arguments in a directory. It reads nothing, and writes to the log. Returns an error if it
    /// cannot be started.
    pub fn orch(arguments: &[OsString], directory: &Path, log: &File) -> io::Result<Self> {
        let program = std::env::current_exe()?;
        Self::start(program.into(), arguments, directory, log)
    }

    /// Starts a program with its arguments in the same way.
    pub fn program(argv: &[String], directory: &Path, log: &File) -> io::Result<Self> {
        let mut words = argv.iter().map(OsString::from);
        let program = words.next().unwrap_or_default();
        Self::start(program, &words.collect::<Vec<_>>(), directory, log)
    }

    fn start(
        program: OsString,
        arguments: &[OsString],
        directory: &Path,
        log: &File,
    ) -> io::Result<Self> {
        #[expect(clippy::disallowed_methods, reason = "this room starts processes")]
        let mut command = Command::new(program);
        command
            .args(arguments)
            .current_dir(directory)
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log.try_clone()?)
            .process_group(0);
        // They would name the repository of this process.
        for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX"] {
            command.env_remove(name);
        }
        // Whoever ends this process finds the child only if it is known.
        let mut running = locked(&RUNNING);
        let child = command.spawn()?;
        let group = Pid::from_child(&child);
        running.push(group);
        Ok(Self {
            child,
            group,
            code: None,
        })
    }

    /// The exit code, or 128 and the signal, of a process that has ended; `None` as long as it runs. Returns an error if it
    /// cannot be waited for.
    pub fn ended(&mut self) -> io::Result<Option<i32>> {
        if self.code.is_none()
            && let Some(status) = self.child.try_wait()?
        {
            let signal = status.signal().unwrap_or_default();
            self.code = Some(status.code().unwrap_or(128 + signal));
            self.forget();
        }
        Ok(self.code)
    }

    /// Has something done, in another thread, when the process has ended. Nothing is done if the system grants no thread.
    pub fn at_end(&self, what: impl FnOnce() + Send + 'static) {
        let group = self.group;
        let wait = move || {
            // It stays to be waited for. One for which that was done has ended, too.
            let how = WaitIdOptions::EXITED | WaitIdOptions::NOWAIT;
            let _ = retry_on_intr(|| waitid(WaitId::Pid(group), how));
            what();
        };
        let builder = thread::Builder::new().name("end of a process".to_owned());
        if let Err(error) = builder.stack_size(STACK).spawn(wait) {
            tracing::debug!(%error, "the end of a process is only seen later");
        }
    }

    /// Asks the process to end, as Ctrl-C does.
    pub fn interrupt(&self) {
        if self.code.is_none() {
            let _ = kill_process(self.group, Signal::INT);
        }
    }

    fn forget(&self) {
        locked(&RUNNING).retain(|group| *group != self.group);
    }
}

impl Drop for SideProcess {
    fn drop(&mut self) {
        if self.code.is_none() {
            let _ = kill_process_group(self.group, Signal::KILL);
            let _ = self.child.wait();
            self.forget();
        }
    }
}

/// Ends all processes that work beside this one, for a process that is about to exit: they are interrupted once more, and
/// killed if they do not end.
pub(super) fn end_all() {
    let running = locked(&RUNNING);
    for group in running.iter() {
        let _ = kill_process(*group, Signal::INT);
    }
    let begun = Instant::now();
    let lives = |group: &Pid| {
        // It is a zombie when it has ended, because the thread that waits for it may be this one.
        super::process_tree::lives_in(group.as_raw_nonzero().get())
            && test_kill_process_group(*group).is_ok()
    };
    while running.iter().any(lives) && begun.elapsed() < GRACE {
        sleep(Duration::from_millis(10));
    }
    for group in running.iter() {
        let _ = kill_process_group(*group, Signal::KILL);
    }
}

/// Makes this process end, as by SIGTERM, when the one that started it is gone. Returns whether that one is there.
pub fn end_with_parent(parent: u32) -> bool {
    // The system sends the signal when the thread ends that started this process, which is the main one.
    let _ = set_parent_process_death_signal(Some(Signal::TERM));
    getppid().is_some_and(|above| above.as_raw_nonzero().get().unsigned_abs() == parent)
}

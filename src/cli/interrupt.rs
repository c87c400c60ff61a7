//! Ctrl-C, termination and a terminal that goes away: an end at once, but for the moment in which we hold a
//! lock of git's.

use crate::drive::StopFlag;
use crate::store::IndexGate;
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
use signal_hook::iterator::Signals;
use std::fs;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::thread;

type OnInterrupt = Box<dyn FnOnce() + Send>;

/// What an interrupt does in this process.
#[derive(Clone, Default)]
pub struct Interrupts {
    /// What to do at the next one instead of ending the process.
    instead: Arc<Mutex<Option<OnInterrupt>>>,
    heard: Arc<OnceLock<()>>,
    /// The run whose executor ends before the process does.
    run: Arc<Mutex<StopFlag>>,
    /// What is closed before the process ends, so that no lock of git's stays behind.
    gate: IndexGate,
}

impl Interrupts {
    /// Interrupts of a process whose stores lock an index through this gate.
    pub(super) fn new(gate: IndexGate) -> Self {
        Self { gate, ..Self::default() }
    }

    /// From here on an interrupt that ends the process ends this run's executor first.
    pub(super) fn drives(&self, run: StopFlag) {
        *self.run.lock().unwrap_or_else(PoisonError::into_inner) = run;
    }

    /// From here on an interrupt ends the process with a documented code and never leaves a lock behind.
    /// Where we were started to ignore that the terminal goes away, as below `nohup`, that stays ignored.
    pub(super) fn listen(&self) {
        self.heard.get_or_init(|| {
            let mut heard = vec![SIGINT, SIGTERM];
            heard.extend((!ignores_hangup()).then_some(SIGHUP));
            // Without a handler Ctrl-C still ends the process, only less politely.
            let Ok(mut signals) = Signals::new(heard) else { return };
            let (instead, run) = (Arc::clone(&self.instead), Arc::clone(&self.run));
            let gate = self.gate.clone();
            thread::spawn(move || {
                for _ in signals.forever() {
                    let then = instead.lock().unwrap_or_else(PoisonError::into_inner).take();
                    match then {
                        Some(then) => then(),
                        None => end(&run.lock().unwrap_or_else(PoisonError::into_inner), &gate),
                    }
                }
            });
        });
    }

    /// Calls `then` at the next interrupt, from another thread; one after that ends the process at once.
    pub(super) fn instead(&self, then: impl FnOnce() + Send + 'static) {
        *self.instead.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(then));
        self.listen();
    }

    /// From here on the next interrupt ends the process at once, as at first.
    pub(super) fn at_once(&self) {
        *self.instead.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }
}

/// Whether we were started to ignore that the terminal goes away, as far as the system shows it.
fn ignores_hangup() -> bool {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or_default();
    ignored >> (SIGHUP - 1) & 1 == 1
}

fn end(run: &StopFlag, gate: &IndexGate) {
    run.kill();
    let _quiet = gate.close();
    #[expect(clippy::exit, reason = "the user asked for it; nothing here holds what a kill could lose")]
    std::process::exit(super::ExitCode::Interrupted as i32);
}

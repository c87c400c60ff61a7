//! The clock of this boot of the machine: it only goes forward, also while the machine sleeps, and nobody sets it.

use rustix::time::{ClockId, clock_gettime};
use std::fs;
use std::time::Duration;

/// A time since a boot.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BootTime {
    /// The id of the boot; `None` if the system has none.
    pub boot: Option<String>,
    /// The time since then.
    pub at: Duration,
}

/// Tells the time.
pub type BootClock = fn() -> BootTime;

/// The time now.
pub fn now() -> BootTime {
    #[cfg(target_os = "linux")]
    const CLOCK: ClockId = ClockId::Boottime;
    #[cfg(not(target_os = "linux"))]
    const CLOCK: ClockId = ClockId::Monotonic;
    let read = clock_gettime(CLOCK);
    let seconds = u64::try_from(read.tv_sec).unwrap_or_default();
    let nanoseconds = u32::try_from(read.tv_nsec).unwrap_or_default();
    let boot = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok();
    BootTime {
        boot: boot.map(|id| id.trim().to_owned()),
        at: Duration::new(seconds, nanoseconds),
    }
}

//! The entry of a process in the process table, as `/proc` shows it.

use std::fs;

/// An entry of the process table.
pub struct ProcessEntry {
    /// Whether the process has ended and only waits to be reaped by its parent.
    pub is_dead: bool,
    /// The id of its parent; 0 if it has none.
    pub parent: i32,
    /// The id of the process group.
    pub group: i32,
    /// The start time, in clock ticks after boot.
    pub started: u64,
}

/// The longest chain that is followed. A real one has a dozen members.
const LONGEST: usize = 1000;

impl ProcessEntry {
    /// Reads `/proc/PID/stat`, see proc(5); `None` if the process is gone or the system has no `/proc`.
    #[must_use]
    pub fn of(pid: i32) -> Option<Self> {
        let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        // The name may contain anything, blanks and parentheses included; the fields follow the last parenthesis.
        let mut fields = text.get(text.rfind(')')? + 1..)?.split_whitespace();
        Some(Self {
            is_dead: matches!(fields.next()?, "Z" | "X"),
            parent: fields.next()?.parse().ok()?,
            group: fields.next()?.parse().ok()?,
            started: fields.nth(16)?.parse().ok()?,
        })
    }

    /// A process and its ancestors, the process first, as far as the system shows them.
    #[must_use]
    pub fn line(process: u32) -> Vec<(i32, Self)> {
        let mut line = Vec::new();
        let mut next = i32::try_from(process).ok();
        while let Some(entry) = next.and_then(Self::of).filter(|_| line.len() < LONGEST) {
            let pid = next.unwrap_or_default();
            next = Some(entry.parent).filter(|parent| *parent > 0);
            line.push((pid, entry));
        }
        line
    }
}

//! A terminal for a test: what a program shows there, and what is typed.

use crate::harness::eventually;
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::fs::File;
use std::io::{Read, Write};
use std::process::{Child, Command};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;

/// The question where the cursor is.
const CURSOR: &[u8] = b"\x1b[6n";

/// A program on a terminal of its own.
pub struct Terminal {
    pub child: Child,
    keyboard: File,
    screen: Arc<Mutex<Vec<u8>>>,
    reader: JoinHandle<()>,
}

/// Both sides of a new terminal: what the user holds, and what programs read and write.
pub fn sides() -> (File, File) {
    let master =
        openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY | OpenptFlags::CLOEXEC).expect("a terminal");
    grantpt(&master).expect("granted");
    unlockpt(&master).expect("unlocked");
    let name = ptsname(&master, Vec::new())
        .expect("a name")
        .into_string()
        .expect("plain");
    let slave = File::options()
        .read(true)
        .write(true)
        .open(name)
        .expect("the other side");
    (File::from(master), slave)
}

impl Terminal {
    /// Starts a program with all three streams on a terminal of 80 columns and 24 rows.
    pub fn start(command: Command) -> Self {
        Self::start_on(command, (80, 24))
    }

    /// Starts a program with all three streams on a terminal of this many columns and rows.
    pub fn start_on(mut command: Command, (columns, rows): (u16, u16)) -> Self {
        let (keyboard, slave) = sides();
        let size = Winsize {
            ws_row: rows,
            ws_col: columns,
            ws_xpixel: 0,
            ws_ypixel: 0,
        };
        tcsetwinsize(&slave, size).expect("sized");
        command
            .stdin(slave.try_clone().expect("cloned"))
            .stdout(slave.try_clone().expect("cloned"));
        let child = command.stderr(slave).spawn().expect("it starts");
        // The command holds the other side open as long as it is there.
        drop(command);
        let screen = Arc::new(Mutex::new(Vec::new()));
        let (mut shown, kept) = (keyboard.try_clone().expect("cloned"), Arc::clone(&screen));
        let reader = std::thread::spawn(move || {
            let mut buffer = [0; 4096];
            while let Ok(count @ 1..) = shown.read(&mut buffer) {
                // A terminal says where the cursor is.
                if buffer[..count]
                    .windows(CURSOR.len())
                    .any(|part| part == CURSOR)
                {
                    shown.write_all(b"\x1b[1;1R").expect("answered");
                }
                kept.lock()
                    .expect("no panic")
                    .extend_from_slice(&buffer[..count]);
            }
        });
        Self {
            child,
            keyboard,
            screen,
            reader,
        }
    }

    /// Everything that was shown so far.
    pub fn shown(&self) -> String {
        String::from_utf8_lossy(&self.screen.lock().expect("no panic")).into_owned()
    }

    /// Waits until something is shown.
    #[track_caller]
    pub fn shows(&self, text: &str) {
        eventually(&format!("{text:?} is shown"), || {
            self.shown().contains(text)
        });
    }

    /// Types something.
    pub fn types(&mut self, text: &str) {
        self.keyboard.write_all(text.as_bytes()).expect("typed");
    }

    /// Runs a program at which these lines are typed and then the end; its exit code, and all it shows.
    #[track_caller]
    pub fn session(command: Command, lines: &[&str]) -> (Option<i32>, String) {
        let mut terminal = Self::start(command);
        for line in lines {
            terminal.types(&format!("{line}\n"));
        }
        terminal.types("\u{4}");
        let code = terminal.ends();
        // Nobody holds the other side open any more, so the reader comes to an end too.
        let Self { reader, screen, .. } = terminal;
        reader.join().expect("no panic");
        let shown = String::from_utf8_lossy(&screen.lock().expect("no panic")).into_owned();
        (code, shown)
    }

    /// Waits for the end, and returns the exit code.
    #[track_caller]
    pub fn ends(&mut self) -> Option<i32> {
        eventually("it ends", || {
            self.child.try_wait().expect("asked").is_some()
        });
        self.child.wait().expect("ends").code()
    }
}

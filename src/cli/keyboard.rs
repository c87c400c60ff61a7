//! Single keys of the terminal on stdin.
//!
//! While they are read, the terminal sends each key at once and shows none. That is taken back when the keyboard is
//! dropped, and by a panic, which ends the process without dropping anything.

use super::ui::give_back_screen;
use orch_base::locked;
use orch_view::BoardKey;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::{Errno, read};
use rustix::termios::{OptionalActions, Termios, tcgetattr, tcsetattr};
use std::collections::VecDeque;
use std::io;
use std::panic;
use std::sync::{Mutex, Once};
use std::time::Duration;

/// The settings of the terminal before they were changed.
static BEFORE: Mutex<Option<Termios>> = Mutex::new(None);
static HOOK: Once = Once::new();

/// How long the rest of an escape sequence may take to come.
const REST: Duration = Duration::from_millis(30);

/// The terminal on stdin, read key by key.
pub struct Keyboard {
    bytes: VecDeque<u8>,
}

impl Keyboard {
    /// Takes the keyboard. Returns an error if stdin is not a terminal.
    pub fn take() -> io::Result<Self> {
        let stdin = io::stdin();
        let before = tcgetattr(&stdin)?;
        let mut raw = before.clone();
        raw.make_raw();
        *locked(&BEFORE) = Some(before);
        HOOK.call_once(|| {
            let tell = panic::take_hook();
            panic::set_hook(Box::new(move |panicked| {
                if give_back() {
                    give_back_screen();
                }
                tell(panicked);
            }));
        });
        tcsetattr(&stdin, OptionalActions::Flush, &raw)?;
        Ok(Self {
            bytes: VecDeque::new(),
        })
    }

    /// The next key; `None` if none comes in time. The end of the terminal is Ctrl-C. Returns an error if the terminal
    /// cannot be read.
    pub fn next(&mut self, patience: Duration) -> io::Result<Option<BoardKey>> {
        if self.bytes.is_empty() && !self.wait(patience)? {
            return Ok(None);
        }
        let Some(first) = self.bytes.pop_front() else {
            return Ok(Some(BoardKey::Interrupt));
        };
        Ok(match first {
            0x03 | 0x04 => Some(BoardKey::Interrupt),
            b'\r' | b'\n' => Some(BoardKey::Enter),
            0x08 | 0x7f => Some(BoardKey::Backspace),
            0x1b => Some(self.escaped()?),
            0x00..0x20 => None,
            _ => self.letter(first)?.map(BoardKey::Letter),
        })
    }

    /// Waits for bytes and reads what is there. Returns whether there is something, or the end.
    fn wait(&mut self, patience: Duration) -> io::Result<bool> {
        let stdin = io::stdin();
        let mut polled = [PollFd::new(&stdin, PollFlags::IN)];
        let patience = Timespec::try_from(patience).ok();
        match poll(&mut polled, patience.as_ref()) {
            Ok(0) | Err(Errno::INTR) => return Ok(false),
            Ok(_) => {}
            Err(error) => return Err(error.into()),
        }
        let mut buffer = [0; 64];
        match read(&stdin, &mut buffer) {
            Ok(count) => self.bytes.extend(&buffer[..count]),
            Err(Errno::INTR) => return Ok(false),
            // The terminal is gone.
            Err(Errno::IO) => {}
            Err(error) => return Err(error.into()),
        }
        Ok(true)
    }

    /// The next byte of a sequence; `None` if there is none.
    fn more(&mut self) -> io::Result<Option<u8>> {
        if self.bytes.is_empty() {
            self.wait(REST)?;
        }
        Ok(self.bytes.pop_front())
    }

    /// The key whose sequence begins with an escape.
    fn escaped(&mut self) -> io::Result<BoardKey> {
        let kind = match self.more()? {
            Some(kind @ (b'[' | b'O')) => kind,
            other => {
                // It was typed after the escape.
                other
                    .into_iter()
                    .for_each(|byte| self.bytes.push_front(byte));
                return Ok(BoardKey::Escape);
            }
        };
        let mut number = 0_u32;
        while let Some(byte) = self.more()? {
            match byte {
                b'0'..=b'9' if kind == b'[' => {
                    number = number.saturating_mul(10) + u32::from(byte - b'0');
                }
                b';' => number = 0,
                b'~' => return Ok(of_number(number)),
                _ => return Ok(of_final(byte)),
            }
        }
        Ok(BoardKey::Escape)
    }

    /// The letter whose UTF-8 begins with this byte; `None` if it is no letter.
    fn letter(&mut self, first: u8) -> io::Result<Option<char>> {
        let length = match first {
            0x00..0x80 => 1,
            0xc0..0xe0 => 2,
            0xe0..0xf0 => 3,
            _ => 4,
        };
        let mut bytes = vec![first];
        while bytes.len() < length {
            match self.more()? {
                Some(byte) => bytes.push(byte),
                None => return Ok(None),
            }
        }
        let letter = String::from_utf8(bytes).ok();
        Ok(letter.and_then(|text| text.chars().next()))
    }
}

fn of_number(number: u32) -> BoardKey {
    match number {
        1 | 7 => BoardKey::Home,
        4 | 8 => BoardKey::End,
        5 => BoardKey::PageUp,
        6 => BoardKey::PageDown,
        _ => BoardKey::Escape,
    }
}

fn of_final(byte: u8) -> BoardKey {
    match byte {
        b'A' => BoardKey::Up,
        b'B' => BoardKey::Down,
        b'C' => BoardKey::Right,
        b'D' => BoardKey::Left,
        b'H' => BoardKey::Home,
        b'F' => BoardKey::End,
        _ => BoardKey::Escape,
    }
}

/// Takes back what was changed of the terminal. Returns whether anything was.
fn give_back() -> bool {
    let Some(before) = locked(&BEFORE).take() else {
        return false;
    };
    // If the terminal is gone, there is nothing to take back.
    let _ = tcsetattr(io::stdin(), OptionalActions::Flush, &before);
    true
}

impl Drop for Keyboard {
    fn drop(&mut self) {
        give_back();
    }
}

//! The programs of a person in the terminal of this process: the editor and the pager.

use std::io::{self, Write};
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};

/// What makes a command line one for the shell, as git sees it (`run-command.c`).
const SHELL: &str = "|&;<>()$`\\\"' \t\n*?[#~=%";

/// Opens a file in an editor, and waits for its end. The editor is a shell command line, as git reads it. Returns an
/// error if the shell cannot be started.
pub fn edit(editor: &str, file: &Path) -> io::Result<ExitStatus> {
    let mut shell = program("sh");
    shell.arg("-c").arg(format!("{editor} \"$@\"")).arg(editor).arg(file).status()
}

/// A pager that waits for a text.
pub struct RunningPager(Child);

impl RunningPager {
    /// Starts a pager: a program, or a shell command line. Returns an error if it cannot be started; a shell that
    /// cannot start it exits with 126 or 127.
    pub fn start(pager: &str, options: &[(&str, &str)]) -> io::Result<Self> {
        let mut command = program(if pager.contains(|sign| SHELL.contains(sign)) { "sh" } else { pager });
        if command.get_program() != pager {
            command.args(["-c", pager]);
        }
        command.envs(options.iter().copied()).stdin(Stdio::piped()).spawn().map(Self)
    }

    /// Shows a text and waits until the person quits the pager. Returns an error if that cannot be awaited.
    pub fn show(mut self, text: &str) -> io::Result<ExitStatus> {
        // A pager that is quit early reads no more, which is no error.
        let _ = self.0.stdin.take().map(|mut stdin| stdin.write_all(text.as_bytes()));
        self.0.wait()
    }
}

fn program(name: &str) -> Command {
    #[expect(clippy::disallowed_methods, reason = "this room starts processes")]
    Command::new(name)
}

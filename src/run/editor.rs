//! The editor of a person.

use std::io;
use std::path::Path;
use std::process::{Command, ExitStatus};

/// Opens a file in an editor, in the terminal of this process, and waits for its end. The editor is a shell
/// command line, as git reads it. Returns an error if the shell cannot be started.
pub fn edit(editor: &str, file: &Path) -> io::Result<ExitStatus> {
    #[expect(clippy::disallowed_methods, reason = "this room starts processes")]
    let mut shell = Command::new("sh");
    shell.arg("-c").arg(format!("{editor} \"$@\"")).arg(editor).arg(file).status()
}

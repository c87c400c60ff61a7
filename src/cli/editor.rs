//! Opens a file in the editor of the person: that of `VISUAL` or `EDITOR`, otherwise the one that git would use.

use super::{Context, Failure};
use orch_base::Code;
use orch_engine::run::edit;
use orch_git::git_editor;
use std::path::Path;

/// The editor if nothing names another.
const DEFAULT: &str = "vi";

impl Context {
    /// Opens a file in the editor, and waits for its end. Returns an error if it cannot be started or fails, or if the
    /// file can then not be read; otherwise its text.
    pub(super) fn edited(&self, file: &Path) -> Result<String, Failure> {
        let editor = self
            .caller
            .editor
            .clone()
            .or_else(|| git_editor(&self.start));
        let editor = editor.unwrap_or_else(|| DEFAULT.to_owned());
        let failed = |what: String| Failure::new(Code::EditorFailed, what);
        let ended = self.interrupts.left_to_child(|| edit(&editor, file));
        match ended {
            Ok(status) if status.success() => {}
            Ok(status) => return Err(failed(format!("the editor `{editor}` failed: {status}"))),
            Err(error) => {
                let message = format!("cannot start the editor `{editor}`: {error}");
                return Err(failed(message));
            }
        }
        std::fs::read_to_string(file)
            .map_err(|error| failed(format!("{}: {error}", file.display())))
    }
}

//! Errors of the file system: their messages and hints.

use orch_base::{Code, Error, Hint};
use std::io;
use std::path::Path;

/// An input or output error with the path of the file.
pub fn io_error(path: &Path, source: io::Error) -> Error {
    let message = format!("{}: {source}", path.display());
    Error::new(Code::Io, message).with_hint_of(refusal(source.kind()))
}

/// Whether an error says that the file system is read-only.
#[must_use]
pub fn is_read_only(error: &Error) -> bool {
    let said = io::Error::from(rustix::io::Errno::ROFS).to_string();
    error.code() == Code::Io && error.message().ends_with(&said)
}

/// The hint for an error of the file system.
pub fn refusal(kind: io::ErrorKind) -> Option<Hint> {
    let advice = match kind {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "the disk is full, but nothing was lost; free some space, then try again"
        }
        io::ErrorKind::ReadOnlyFilesystem => {
            "the file system is read-only; so is `.git` in the sandbox of an agent program, such as that of Codex: write \
             the files there, and let `orch watch`, `orch mcp` or a person move the task outside of it"
        }
        io::ErrorKind::PermissionDenied => "check its owner and permissions",
        _ => return None,
    };
    Some(Hint::from(advice))
}

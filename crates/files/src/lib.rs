//! Files as orch reads them: directories by handle, regular files only, stamps, and sources of the files of a task.
//!
//! Code above [`Source`] does not know whether it reads the work directory, the index or a commit.

mod directory;
mod error;
mod files;
mod lock;
mod regular;
mod source;
mod stamp;

pub use directory::{Directory, forget_range, permitted, unnamed_file, writable};
pub use error::{io_error, is_read_only, refusal};
pub use files::FileSet;
pub use lock::FileLock;
pub use regular::{open_linked, open_regular, open_with_size, read_sized, read_up_to};
pub use source::{
    Child, Clean, Content, Entry, EntryKind, LogEnd, OWN_DIRECTORY, ObservedLog, Raw, Source,
    WorkDir,
};
pub use stamp::FileStamp;

//! From bytes to facts: lists the files of a task in a source, and reads and validates its artifacts.
//!
//! Code above [`Source`] does not know whether it reads the work directory, the index or a commit.

mod directory;
mod error;
mod files;
mod matcher;
mod observe;
mod read;
mod regular;
mod schema;
mod source;
mod span;
mod stamp;
mod validation_cache;

pub use directory::{Directory, permitted, reserve, unnamed_file, writable, write_out};
pub(crate) use error::{io_error, refusal};
pub use files::FileSet;
pub use matcher::Matcher;
pub use observe::{LogEnd, Observed, ObservedFile, ObservedLog, ReadLimits, StateFile, observe};
pub use read::{JsonText, ReadResult, conflict, locate, parse_json, parse_text, read, read_by};
pub use regular::{open_linked, open_regular, read_up_to};
use regular::{open_with_size, read_sized};
pub use schema::{Problem, Schema, Schemas, example, lint};
pub use source::{Child, Clean, Content, Entry, EntryKind, OWN_DIRECTORY, Raw, Source, WorkDir};
pub use span::{inside, span};
pub use stamp::FileStamp;
pub use validation_cache::ValidationCache;

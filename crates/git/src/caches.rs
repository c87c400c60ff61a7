//! The names of the caches in `.git/orch`, each a file or a directory. Deleting one loses nothing.

/// What was made of earlier looks, by command.
pub const LOOKS: &str = "looks";
/// How the name begins of the list of contents that are known to be valid; the version of `orch` follows.
pub const VALID: &str = "valid-";
/// The histories that an audit has accepted.
pub const PROVEN: &str = "proven";

/// How the names of all of them begin.
pub(super) const ALL: [&str; 3] = [LOOKS, VALID, PROVEN];

//! Why a part cannot be put into a file, or taken out of it.

/// What keeps orch from changing its part of a file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Clash {
    /// The file cannot be parsed, so nothing can be added safely.
    #[error("it is not valid {format}: {message}")]
    Syntax {
        /// The format of the file.
        format: &'static str,
        /// What the parser says.
        message: String,
    },
    /// Something on the way to the part has another shape, or occurs twice.
    #[error("`{0}` is there, but not as a single table of settings")]
    Shape(String),
    /// The place of the list that the part belongs to has another shape.
    #[error("`{0}` is there, but not as a list")]
    NoList(String),
    /// The file holds something other than an object.
    #[error("it is not an object of settings")]
    Root,
    /// The place of the part is taken by another value.
    #[error("`{0}` has another value")]
    Taken(String),
    /// The part was changed since orch wrote it.
    #[error("the part that orch wrote was changed since")]
    Edited,
    /// The markers of the part do not come in pairs.
    #[error("the markers `orch:begin` and `orch:end` are not there once each, in this order")]
    Markers,
    /// A file of this name is there that orch did not write.
    #[error("it was not written by orch")]
    Foreign,
}

//! JSON pointers (RFC 6901): names of members as segments, and back.

/// A name as a segment of a pointer.
#[must_use]
pub fn escape(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// The name that a segment of a pointer stands for.
#[must_use]
pub fn unescape(segment: &str) -> String {
    segment.replace("~1", "/").replace("~0", "~")
}

/// The pointer to the member `name` of the value at `pointer`.
#[must_use]
pub fn child(pointer: &str, name: &str) -> String {
    format!("{pointer}/{}", escape(name))
}

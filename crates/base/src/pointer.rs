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

/// Whether a pointer is `outer`, or below it.
#[must_use]
pub fn is_at_or_below(pointer: &str, outer: &str) -> bool {
    pointer
        .strip_prefix(outer)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

/// The pointer to the member `name` of the value at `pointer`.
#[must_use]
pub fn child(pointer: &str, name: &str) -> String {
    format!("{pointer}/{}", escape(name))
}

//! Which characters are not written as they are in a URI; see RFC 3986, section 2.3.

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC};

/// Those of a part of a path: all but the unreserved ones.
pub const SEGMENT: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'-')
    .remove(b'.')
    .remove(b'_')
    .remove(b'~');
/// Those of a path: the slash is written as it is.
pub const PATH: &AsciiSet = &SEGMENT.remove(b'/');

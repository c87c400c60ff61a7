//! What the extensions of an index have in common: a signature and a length before the content.

/// The content of an extension with its header; `None` if it is cut off.
pub(super) fn content(extension: &[u8]) -> Option<&[u8]> {
    extension.get(8..)
}

/// An extension with its header. `None` if it is too long for one.
pub(super) fn with_header(signature: &[u8; 4], content: &[u8]) -> Option<Vec<u8>> {
    let length = u32::try_from(content.len()).ok()?.to_be_bytes();
    Some([signature, &length, content].concat())
}

/// Splits at the first `at`, which is dropped.
pub(super) fn cut(bytes: &[u8], at: u8) -> Option<(&[u8], &[u8])> {
    let end = bytes.iter().position(|byte| *byte == at)?;
    Some((&bytes[..end], &bytes[end + 1..]))
}

//! Guards: expressions of the Common Expression Language over the facts of one task.
//!
//! This is the only room that names the CEL crate.

/// A parsed guard.
#[derive(Debug, Clone)]
pub struct Guard {
    text: std::sync::Arc<str>,
}

impl Guard {
    /// Its source text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }
}

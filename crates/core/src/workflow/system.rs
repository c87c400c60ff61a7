//! The texts that a workflow refers to: documents, schemas and agent instructions, by name.
//!
//! The texts that ship inside the binary are the base. The `system/` directory of a repository overrides them
//! file by file, so an edited workflow decides and everything it does not mention still works.

use super::Document;
use orch_base::ObjectFormat;
use std::borrow::Cow;
use std::collections::BTreeMap;

/// Texts by their path relative to `system/`, for example `schemas/plan.schema.json`.
#[derive(Debug, Clone, Default)]
pub struct System {
    files: BTreeMap<Cow<'static, str>, Cow<'static, str>>,
    format: ObjectFormat,
}

include!("shipped.rs");

impl System {
    /// The texts that ship inside the binary.
    #[must_use]
    pub fn shipped() -> Self {
        let files = SHIPPED
            .iter()
            .map(|(path, text)| (Cow::Borrowed(*path), Cow::Borrowed(*text)))
            .collect();
        Self {
            files,
            format: ObjectFormat::default(),
        }
    }

    /// The text that ships at a path, whatever the repository has there. Empty if there is none.
    #[must_use]
    pub fn built_in(path: &str) -> &'static str {
        let found = SHIPPED.binary_search_by(|(known, _)| (*known).cmp(path));
        found.map_or("", |at| SHIPPED[at].1)
    }

    /// Whether a document is exactly one that ships inside the binary.
    #[must_use]
    pub(super) fn ships(document: &Document) -> bool {
        !document.text.is_empty()
            && Self::built_in(&format!("workflows/{}.md", document.name)) == document.text
    }

    /// No texts; for tests, and for replaying a commit that contains its own texts.
    #[must_use]
    pub fn empty() -> Self {
        Self::default()
    }

    /// The same texts, for a repository whose ids have this format.
    #[must_use]
    pub fn in_format(self, format: ObjectFormat) -> Self {
        Self { format, ..self }
    }

    /// The format of the digests of these texts and of the workflows that refer to them.
    #[must_use]
    pub fn format(&self) -> ObjectFormat {
        self.format
    }

    /// This system with one text added or replaced.
    #[must_use]
    pub fn with(mut self, path: impl Into<String>, text: impl Into<String>) -> Self {
        self.insert(path, text);
        self
    }

    /// Adds one text, or replaces the text at its path.
    pub fn insert(&mut self, path: impl Into<String>, text: impl Into<String>) {
        self.files
            .insert(Cow::Owned(path.into()), Cow::Owned(text.into()));
    }

    /// The text at a path relative to `system/`.
    #[must_use]
    pub fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path).map(AsRef::as_ref)
    }

    /// The document of a workflow.
    #[must_use]
    pub fn workflow(&self, name: &str) -> Option<&str> {
        self.text(&format!("workflows/{name}.md"))
    }

    /// The text of a schema.
    #[must_use]
    pub fn schema(&self, name: &str) -> Option<&str> {
        self.text(&format!("schemas/{name}.schema.json"))
    }

    /// The instructions of an agent.
    #[must_use]
    pub fn agent(&self, name: &str) -> Option<&str> {
        self.text(&format!("agents/{name}.md"))
    }

    /// Every path and text, sorted by path.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files
            .iter()
            .map(|(path, text)| (path.as_ref(), text.as_ref()))
    }

    /// The names in one folder: `names("workflows", ".md")`.
    pub fn names<'a>(&'a self, folder: &'a str, suffix: &'a str) -> impl Iterator<Item = &'a str> {
        self.files.keys().filter_map(move |path| {
            path.strip_prefix(folder)?
                .strip_prefix('/')?
                .strip_suffix(suffix)
        })
    }
}

//! The texts a workflow refers to: documents, schemas and agent instructions, by name.
//!
//! What ships inside the binary is the ground; a repository's own `system/` lies over it, file by
//! file, so that an edited workflow decides and everything it does not mention still works.

use std::borrow::Cow;
use std::collections::BTreeMap;

/// Texts by their path below `system/`, for example `schemas/plan.schema.json`.
#[derive(Debug, Clone, Default)]
pub struct System {
    files: BTreeMap<Cow<'static, str>, Cow<'static, str>>,
}

include!("shipped.rs");

impl System {
    /// What ships inside the binary.
    #[must_use]
    pub fn shipped() -> Self {
        let files = SHIPPED.iter().map(|(path, text)| (Cow::Borrowed(*path), Cow::Borrowed(*text))).collect();
        Self { files }
    }

    /// Nothing at all; a ground for tests and for replaying a commit that carries its own texts.
    #[must_use]
    pub fn empty() -> Self {
        Self::default()
    }

    /// This system with one text put over whatever was at its path.
    #[must_use]
    pub fn with(mut self, path: impl Into<String>, text: impl Into<String>) -> Self {
        self.insert(path, text);
        self
    }

    /// Puts one text over whatever was at its path.
    pub fn insert(&mut self, path: impl Into<String>, text: impl Into<String>) {
        self.files.insert(Cow::Owned(path.into()), Cow::Owned(text.into()));
    }

    /// The text at a path below `system/`.
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

    /// Every path and text, in path order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().map(|(path, text)| (path.as_ref(), text.as_ref()))
    }

    /// The names in one folder: `names("workflows", ".md")`.
    pub fn names<'a>(&'a self, folder: &'a str, suffix: &'a str) -> impl Iterator<Item = &'a str> {
        self.files
            .keys()
            .filter_map(move |path| path.strip_prefix(folder)?.strip_prefix('/')?.strip_suffix(suffix))
    }
}

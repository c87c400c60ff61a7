//! Plain workflows to begin with: documents with their schemas, which a person copies and changes.
//!
//! Each is whole: it passes the check without a finding, and its own tests cover every rule and every edge.

use super::GeneratedFiles;
use orch_base::words;
use orch_core::workflow::System;

words! {
    /// A workflow to begin with.
    pub enum WorkflowPattern {
        /// A text that three readers review.
        Article = "article",
        /// A proposal that two people approve.
        Rfc = "rfc",
        /// A release that is measured, and that a person signs off.
        Release = "release",
        /// Reports that are sorted and answered in time.
        Triage = "triage",
        /// A task that is done when its parts are.
        Epic = "epic",
    }
}

impl WorkflowPattern {
    /// The files of a workflow of this name: paths relative to `system/`, and texts. Schemas and instructions keep the
    /// names that the document says.
    #[must_use]
    pub fn files(self, name: &str) -> GeneratedFiles {
        let (text, further): (&str, &[(&str, &str)]) = match self {
            Self::Article => (
                include_str!("../patterns/article.md"),
                &[
                    (
                        "schemas/article-review.schema.json",
                        include_str!("../patterns/article-review.schema.json"),
                    ),
                    (
                        "agents/article-author.md",
                        include_str!("../patterns/article-author.md"),
                    ),
                    (
                        "agents/article-reader.md",
                        include_str!("../patterns/article-reader.md"),
                    ),
                ],
            ),
            Self::Rfc => (
                include_str!("../patterns/rfc.md"),
                &[(
                    "agents/rfc-author.md",
                    include_str!("../patterns/rfc-author.md"),
                )],
            ),
            Self::Release => (
                include_str!("../patterns/release.md"),
                &[
                    (
                        "schemas/release-decision.schema.json",
                        include_str!("../patterns/release-decision.schema.json"),
                    ),
                    (
                        "agents/release-editor.md",
                        include_str!("../patterns/release-editor.md"),
                    ),
                ],
            ),
            Self::Triage => (
                include_str!("../patterns/triage.md"),
                &[
                    (
                        "schemas/triage-sorting.schema.json",
                        include_str!("../patterns/triage-sorting.schema.json"),
                    ),
                    (
                        "agents/triage-sorter.md",
                        include_str!("../patterns/triage-sorter.md"),
                    ),
                    (
                        "agents/triage-answerer.md",
                        include_str!("../patterns/triage-answerer.md"),
                    ),
                ],
            ),
            Self::Epic => (System::built_in("workflows/epic.md"), &[]),
        };
        // Commands in the text name the workflow.
        let text = text.replace(
            &format!("--workflow {}", self.as_str()),
            &format!("--workflow {name}"),
        );
        let mut files = vec![(format!("workflows/{name}.md"), text)];
        for (path, text) in further {
            files.push(((*path).to_owned(), (*text).to_owned()));
        }
        files
    }
}

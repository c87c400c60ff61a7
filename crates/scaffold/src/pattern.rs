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
    /// The files of a workflow of this name: paths relative to `system/`, and texts. Schemas keep the names that the document
    /// says.
    #[must_use]
    pub fn files(self, name: &str) -> GeneratedFiles {
        let (text, schemas): (&str, &[(&str, &str)]) = match self {
            Self::Article => (
                include_str!("../patterns/article.md"),
                &[(
                    "article-review",
                    include_str!("../patterns/article-review.schema.json"),
                )],
            ),
            Self::Rfc => (include_str!("../patterns/rfc.md"), &[]),
            Self::Release => (
                include_str!("../patterns/release.md"),
                &[(
                    "release-decision",
                    include_str!("../patterns/release-decision.schema.json"),
                )],
            ),
            Self::Triage => (
                include_str!("../patterns/triage.md"),
                &[(
                    "triage-sorting",
                    include_str!("../patterns/triage-sorting.schema.json"),
                )],
            ),
            Self::Epic => (System::built_in("workflows/epic.md"), &[]),
        };
        // Commands in the text name the workflow.
        let text = text.replace(
            &format!("--workflow {}", self.as_str()),
            &format!("--workflow {name}"),
        );
        let mut files = vec![(format!("workflows/{name}.md"), text)];
        for (schema, text) in schemas {
            files.push((format!("schemas/{schema}.schema.json"), (*text).to_owned()));
        }
        files
    }
}

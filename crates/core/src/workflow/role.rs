//! What an artifact is for whoever decides about a task: the one table that every sheet and description goes by.

use super::{Artifact, Format, SchemaText};
use orch_base::words;
use serde_json::Value;

/// The name of the artifact that says what is wanted.
pub const BRIEF: &str = "brief";

words! {
    /// What an artifact is for whoever decides, in the order in which it is read.
    pub enum Role {
        /// It says what is wanted.
        Brief = "brief",
        /// It is made in the course of the work, such as a plan.
        Document = "document",
        /// It says whether something is good enough.
        Verdict = "verdict",
        /// It reports what was measured or judged by others.
        Report = "report",
        /// It is the code, or a patch of it.
        Code = "code",
    }
}

impl Artifact {
    /// What it is for whoever decides.
    #[must_use]
    pub fn role(&self) -> Role {
        if self.name.as_str() == BRIEF {
            Role::Brief
        } else if self.is_verdict() {
            Role::Verdict
        } else if self.tree.is_some() || self.repository.is_some() || self.format == Format::Patch {
            Role::Code
        } else if self.same_as.is_some() || self.format == Format::Junit || !self.judges.is_empty()
        {
            Role::Report
        } else {
            Role::Document
        }
    }

    /// Whether its files are verdicts, as its schema says.
    #[must_use]
    pub fn is_verdict(&self) -> bool {
        let schema = self.schema.as_ref().and_then(SchemaText::value);
        schema.is_some_and(|schema| schema.get("x-orch-verdict") == Some(&Value::Bool(true)))
    }
}

//! What an artifact is for whoever decides about a task: the one table that every sheet and description goes by.

use super::{Artifact, Format, SchemaText};
use orch_base::words;
use serde_json::Value;

/// The name of the artifact that says what is wanted.
pub const BRIEF: &str = "brief";

words! {
    /// What an artifact is for whoever decides, in the order in which it is read.
    pub enum ArtifactRole {
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
    pub fn role(&self) -> ArtifactRole {
        if self.name.as_str() == BRIEF {
            ArtifactRole::Brief
        } else if self.is_verdict() {
            ArtifactRole::Verdict
        } else if self.tree.is_some() || self.repository.is_some() || self.format == Format::Patch {
            ArtifactRole::Code
        } else if self.same_as.is_some() || self.format.is_report() || !self.judges.is_empty() {
            ArtifactRole::Report
        } else {
            ArtifactRole::Document
        }
    }

    /// Whether its files are verdicts, as its schema says.
    #[must_use]
    pub fn is_verdict(&self) -> bool {
        let schema = self.schema.as_ref().and_then(SchemaText::value);
        schema.is_some_and(|schema| schema.get("x-orch-verdict") == Some(&Value::Bool(true)))
    }
}

#[cfg(test)]
mod tests {
    use crate::workflow::{Document, System, compile};

    #[test]
    fn every_artifact_of_a_shipped_workflow_has_the_role_that_a_reader_expects() {
        let system = System::shipped();
        let name = "global-state-machine";
        let document = Document::new(name, name, system.workflow(name).expect("a text"));
        let (workflow, _) = compile(&document, &system);
        let artifacts = workflow.expect("a workflow").artifacts;
        let roles = artifacts.iter().map(|artifact| {
            let role = artifact.role().as_str();
            format!("{} {role}", artifact.name)
        });
        assert_eq!(
            roles.collect::<Vec<_>>(),
            [
                "brief brief",
                "meta document",
                "notes document",
                "plan document",
                "plan_text document",
                "plan_files document",
                "plan_review verdict",
                "patch code",
                "codegen_blocked document",
                "code_review verdict",
                "eval_report report",
                "junit report",
                "decision verdict",
                "revert_record document",
            ]
        );
    }
}

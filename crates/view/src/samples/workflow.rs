//! A small workflow for the tests of this room.

use super::{artifact, phase};
use orch_base::{Digest, WorkflowName};
use orch_core::workflow::{Artifact, Format, Owner, Phase, SchemaText, StateShape, Workflow};

const REVIEW_SCHEMA: &str = r#"{
  "type": "object",
  "required": ["ok"],
  "examples": [{ "of": { "plan": "0000" }, "ok": true, "blocking": [] }]
}
"#;

pub fn workflow() -> Workflow {
    let phases = [
        ("planning", Some("planner"), vec![], vec!["plan"]),
        (
            "plan_review",
            Some("plan-reviewer"),
            vec!["plan"],
            vec!["plan_review"],
        ),
        ("codegen", Some("coder"), vec!["plan"], vec!["patch"]),
        ("done", None, vec![], vec![]),
    ];
    let digest = Digest::of_blob(REVIEW_SCHEMA.as_bytes());
    let review = SchemaText::new("plan-review".to_owned(), REVIEW_SCHEMA, digest);
    let artifacts = [
        ("plan", "planning/plan.json", Format::Json, None),
        (
            "plan_review",
            "review/plan/verdict.json",
            Format::Json,
            Some(review),
        ),
        ("patch", "code/diff.patch", Format::Patch, None),
    ];
    Workflow {
        aliases: Vec::new(),
        forgets: Vec::new(),
        names: None,
        name: WorkflowName::new("global-state-machine").expect("valid"),
        title: "Global state machine".to_owned(),
        digest: Digest::of_blob(b"workflow"),
        digest_of_bytes: Digest::of_blob(b"workflow"),
        document_digest: Digest::of_blob(b"workflow"),
        path: "system/workflows/global-state-machine.md".to_owned(),
        initial: phase("planning"),
        phase_key: "phase".to_owned(),
        attempts: 3,
        artifacts: artifacts
            .into_iter()
            .map(|(name, path, format, schema)| Artifact {
                aliases: Vec::new(),
                name: artifact(name),
                paths: vec![path.to_owned()],
                new_path: None,
                tree: None,
                repository: None,
                named_by: None,
                format,
                schema,
                facts: Vec::new(),
                commit: true,
                judges: Vec::new(),
                same_as: None,
                filled: false,
                title: None,
                example: None,
                complete: None,
            })
            .collect(),
        phases: phases
            .into_iter()
            .map(|(id, agent, needs, produces)| Phase {
                touches: orch_base::Patterns::default(),
                requires: Vec::new(),
                not_by: Vec::new(),
                verifies: Vec::new(),
                undoes: Vec::new(),
                independent: orch_core::workflow::Independence::Turns,
                id: phase(id),
                title: None,
                agent: agent.map(str::to_owned),
                needs: needs.into_iter().map(artifact).collect(),
                reads: Vec::new(),
                produces: produces.into_iter().map(artifact).collect(),
                optional: Vec::new(),
                aliases: Vec::new(),
                terminal: id == "done",
                success: true,
                substate: None,
                remarks: None,
                owner: Owner::Agent,
                attempts: None,
                approvals: None,
            })
            .collect(),
        rules: Vec::new(),
        defines: Vec::new(),
        actions: Vec::new(),
        asks: Vec::new(),
        deadlines: Vec::new(),
        moves: Vec::new(),
        limits: orch_core::workflow::Limits::default(),
        show: Vec::new(),
        state: StateShape::default(),
    }
}

//! The pure heart of orch: workflow documents, decisions, the record and settings.
//!
//! Nothing here touches files, git, processes, the clock or the environment: values go in, values come out.
//!
//! A workflow is compiled from a Markdown document. With it, and with what is recorded and observed of a task, the rules
//! decide what comes next, and say why:
//!
//! ````
//! use orch_base::{ArtifactName, Digest, TaskId};
//! use orch_core::decide::{Facts, FileFact, Recorded, Verdict, evaluate};
//! use orch_core::workflow::{Document, System, compile};
//! use serde_json::json;
//! use std::sync::Arc;
//!
//! let text = r#"
//! # Notes
//!
//! ```toml orch
//! [workflow]
//! initial = "write"
//!
//! [artifact.note]
//! path = "note.json"
//!
//! [phase.write]
//! produces = ["note"]
//!
//! [phase.done]
//! terminal = true
//!
//! [[rule]]
//! id = "finished"
//! from = "write"
//! when = "note.ready && note.data.finished"
//! to = "done"
//! because = "the note is finished"
//! ```
//! "#;
//! let document = Document::new("notes", "notes.md", text);
//! let (workflow, _) = compile(&document, &System::empty());
//! let workflow = workflow.ok_or("the document has errors")?;
//!
//! // There is no file yet.
//! let mut facts = Facts::of_no_files(TaskId::new("n-1")?);
//! let decision = evaluate(&workflow, &Recorded::New, &facts);
//! assert!(matches!(decision.verdict, Verdict::Wait { .. }));
//! assert_eq!(decision.reason, "note.json is missing");
//!
//! // Now there is one.
//! let note = FileFact {
//!     pattern: 0,
//!     is_tree: false,
//!     path: "note.json".to_owned(),
//!     digest: Some(Digest::of_blob(br#"{"finished": true}"#)),
//!     data: Some(Arc::new(json!({"finished": true}))),
//!     problems: Vec::new(),
//!     writers: Vec::new(),
//! };
//! facts.artifacts.insert(ArtifactName::new("note")?, vec![note]);
//! let decision = evaluate(&workflow, &Recorded::New, &facts);
//! let due = decision.transition().ok_or("no transition is due")?;
//! assert_eq!(due.to.as_str(), "done");
//! assert_eq!(decision.reason, "the note is finished");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ````

pub mod config;
pub mod decide;
pub mod lease;
pub mod record;
mod toml_lines;
mod toml_reader;
pub mod trial;
pub mod verification;
pub mod workflow;

pub use toml_lines::{TomlLines, TomlStep};
pub use toml_reader::{Spanned, TomlDialect, TomlReader, TomlTable, TomlType, TomlValue};

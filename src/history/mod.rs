//! Replays the history of tasks in git: proves every recorded step and checks commits. Writes nothing.

mod acknowledged;
mod amended;
mod archive;
mod audit;
mod behind;
mod check;
mod compared;
mod edited;
mod gates;
mod hidden;
mod judged;
mod logs;
mod loosened;
mod moved_code;
mod new_steps;
mod other_rules;
mod parallel;
mod passing_rules;
mod proof;
mod proven;
mod range_rules;
mod reconstruction;
mod record;
mod removed;
mod replay;
mod side;
mod steps;
mod subject;
mod timeline;
mod trailers;

pub use audit::{Audit, AuditScope, Incremental, audit};
pub use check::{Checked, Checker};
pub use judged::{JudgedArtifact, JudgedFile, judged};
pub use proven::{ProvenHistories, ProvenHistory};
pub use replay::Audited;
pub use timeline::{Story, TimedStep, stories};

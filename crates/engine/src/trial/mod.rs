//! Workflows that are tried without a task: tests in documents, plays, and examples of single cases.
//!
//! Everything is in memory. Files are generated from examples and schemas, read and validated as those of a real task, and
//! judged by the same function. No repository is needed.

mod around;
mod emit;
mod files;
mod missing;
mod moves;
mod offers;
mod playing;
mod running;
mod search;
mod wanted;

pub use emit::{Example, examples};
pub use files::TrialFiles;
pub use missing::MissingCase;
pub use offers::PlayChoice;
pub use playing::Play;
pub use running::{TestRun, TrialWorkflow};
pub use search::CaseFound;
pub use wanted::WantedCase;

#[cfg(test)]
mod tests;

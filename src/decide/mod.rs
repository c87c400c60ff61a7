//! The pure heart: `decide(workflow, state, facts) -> decision`.
//!
//! Nothing here reads a file, a clock, an environment or a repository; nothing here fails or
//! panics. A malformed artifact is a value with problems, and a guard that cannot be evaluated is a
//! decision that says so. Watch, hook, command line and audit all call these functions, so on the
//! same bytes they all give the same verdict.

mod decision;
mod facts;
mod state;

pub use decision::{
    BrokenNeed, Choice, Decision, Derived, DerivedFile, Evidence, ExpectState, Expectation, Kind, Move, Part,
    Transition, Tried, Truth, Verdict,
};
pub use facts::{Facts, FileFact};
pub use state::{
    Actor, ActorKind, ActorStatus, By, ERRORS_WINDOW, HISTORY_WINDOW, HistoryEntry, Recorded, State,
    WorkflowRef,
};

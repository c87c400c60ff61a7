//! The pure heart: `decide(workflow, state, facts) -> decision`.
//!
//! Nothing here reads a file, a clock, an environment or a repository; nothing here fails or
//! panics. A malformed artifact is a value with problems, and a guard that cannot be evaluated is a
//! decision that says so. Watch, hook, command line and audit all call these functions, so on the
//! same bytes they all give the same verdict.

mod apply;
mod decision;
mod derive;
mod evaluate;
mod expect;
mod facts;
mod merge;
mod order;
mod proof;
mod replay;
mod rules;
mod scope;
mod settle;
mod state;
mod state_document;

pub use apply::{Stamp, apply, initial_state};
pub use decision::{
    BrokenNeed, Choice, Decision, Derived, DerivedFile, Evidence, ExpectState, Expectation, Kind, Move, Part,
    Transition, Tried, Truth, Verdict,
};
pub use derive::derive;
pub use evaluate::evaluate;
pub use facts::{Facts, FileFact};
pub use merge::{Conflict, choose, join_histories, merge, merging};
pub use order::{Refusal, confirm, create, override_to, reopen, rollback};
pub use proof::{Approval, Proof, ProvenStep, Standing};
pub use replay::{Disproof, Replayed, difference, refute, replay};
pub use settle::{Settled, Step, settle};
pub use state::{
    Actor, ActorKind, ActorStatus, By, ERRORS_WINDOW, HISTORY_WINDOW, HistoryEntry, Recorded, State,
    WorkflowRef,
};
pub use state_document::{STATE_VERSION, document, history_value, standing};

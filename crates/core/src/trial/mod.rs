//! A task that is only tried: how it comes to where a test or a play begins, what the rules say of it, and which rules and
//! edges were seen.
//!
//! Nothing here decides by itself: each step is applied by [`crate::decide`], as that of a real task is.

mod coverage;
mod judged;
mod placing;
mod variants;
mod verified;
mod writing;

pub use coverage::{Edge, RuleCoverage};
pub use judged::{TestMismatch, TrialVerdict, judge};
pub use placing::{PlacedTask, overlay, place, shortest_way, surround, trial_stamp, trial_step_at};
pub use variants::{
    Variant, data_variants, least_value, markdown_variants, state_variants, text_variants,
};
pub use verified::trial_result;
pub use writing::{ExpectedWords, test_text};

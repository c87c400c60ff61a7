//! The course of a run: what is done next, what has been used, and that it always ends. Pure, so that
//! every way to the end can be gone without a process.
//!
//! [`Course`] is the loop, as a machine that is told what happened and says what is to be done.
//! `orch run` carries that out with processes and commits, the tests with scripts.

mod deed;
mod ending;
mod event;
mod footing;
mod machine;
mod measure;
mod next;
mod spent;

pub use deed::{Deed, Recorder};
pub use ending::{Ending, Wish};
pub use event::{Effect, Event, Hindrance, How, Left, Moment, News, Noted, Patience, Returned};
pub use footing::{Footing, ground};
pub use machine::Course;
pub use next::{Case, Job, Next, Work, next};
pub use spent::{Budget, Doer, Spent};

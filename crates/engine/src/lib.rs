//! What moves bytes for orch: runs of programs, the watch, looks at tasks, their history, writes and notices.

pub mod apply;
pub mod drive;
pub mod gather;
pub mod history;
pub mod notices;
pub mod run;
pub mod survey;
pub mod trial;
pub mod verify;
pub mod watch;

pub use orch_fleet::random;

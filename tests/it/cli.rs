//! Every command as a user meets it: what it prints, what it writes, how it ends.

mod adopt;
mod agents;
pub mod complete;
mod diff;
mod everywhere;
mod files;
mod globals;
mod import;
mod json;
mod names;
mod next;
mod pager;
mod recover;
mod relocate;
mod setup;
mod suggest;
mod unread;
mod waiting;
mod walk;

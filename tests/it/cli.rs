//! Every command as a user meets it: what it prints, what it writes, how it ends.

mod adopt;
mod agents;
mod complete;
mod diff;
mod doctor;
mod everywhere;
mod files;
mod import;
mod json;
mod names;
mod next;
mod orders;
mod pager;
mod places;
mod recover;
mod relocate;
mod setup;
mod suggest;
mod undo;
mod unread;
mod waiting;
mod walk;

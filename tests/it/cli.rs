//! Every command as a user meets it: what it prints, what it writes, how it ends.

mod adopt;
mod json;
mod next;
mod orders;
mod places;
mod recover;
mod setup;
mod suggest;
mod walk;

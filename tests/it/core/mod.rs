//! The pure core from outside: stories as data, documents with faults, properties.

mod activity;
mod agents;
mod circumstances;
mod commands;
mod documents;
mod expected;
mod guards;
mod imports;
mod independence;
mod joins;
mod loops;
mod machine;
mod orders;
mod passing;
mod play;
mod proofs;
mod properties;
mod records;
mod replay;
mod rulings;
mod sent_back;
mod shipped;
mod stories;
mod undo;
pub mod verified;
pub mod world;

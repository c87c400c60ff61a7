//! The pure core from outside: stories as data, documents with faults, properties.

mod activity;
mod circumstances;
mod documents;
mod imports;
mod joins;
mod loops;
mod machine;
mod orders;
mod play;
mod proofs;
mod properties;
mod replay;
mod rulings;
mod stories;
mod undo;
pub mod world;

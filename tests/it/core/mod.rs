//! The pure core from outside: stories as data, documents with faults, properties.

mod circumstances;
mod documents;
mod loops;
mod machine;
mod orders;
mod play;
mod properties;
mod replay;
mod stories;
pub mod world;

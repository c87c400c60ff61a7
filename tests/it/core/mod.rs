//! The pure core from outside: stories as data, documents with faults, properties.

mod course;
mod documents;
mod loops;
mod play;
mod properties;
mod stories;
pub mod world;

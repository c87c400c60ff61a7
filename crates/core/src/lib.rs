//! The pure heart of orch: workflow documents, decisions, the record and settings.
//!
//! Nothing here touches files, git, processes, the clock or the environment: values go in, values come out.

pub mod config;
pub mod decide;
pub mod record;
mod toml_lines;
mod toml_reader;
pub mod workflow;

use orch_base as base;

pub use toml_lines::{TomlLines, TomlStep};
pub use toml_reader::{Spanned, TomlDialect, TomlReader, TomlTable, TomlType, TomlValue};

//! Guards: expressions of the Common Expression Language (CEL) over the facts of one task.
//!
//! This is the only room that names the CEL crate. A guard is parsed once, when its workflow is
//! compiled, and split at its outermost `&&` so that an explanation can say which part was false.
//! CEL itself has no budget, so everything that could run away is refused before it is parsed:
//! length, nesting, operators, and macros within macros.

mod evaluate;
mod parse;
mod value;
mod walk;

pub use evaluate::{GuardOutcome, HeldPart, Lookup, Scope, follow};
pub use parse::{GuardError, MAX_LENGTH};
pub use walk::ValueKind;

use cel::IdedExpr;
use std::fmt;
use std::sync::Arc;

/// A parsed guard or named value.
#[derive(Clone)]
pub struct Guard(Arc<GuardInner>);

struct GuardInner {
    text: String,
    parts: Vec<ParsedPart>,
    kind: ValueKind,
    nested_macros: bool,
}

struct ParsedPart {
    text: String,
    expression: IdedExpr,
    chains: Vec<Vec<String>>,
    has_macros: bool,
    /// Whether it is a single path, and then whether that is denied: `plan.ready`, `!plan.ready`.
    denies: Option<bool>,
}

impl Guard {
    /// Parses an expression; the error carries the byte offset of the fault within `text`.
    pub fn parse(text: &str) -> Result<Self, GuardError> {
        parse::parse(text)
    }

    /// The guard that always holds.
    #[must_use]
    pub fn always() -> Self {
        Self(Arc::new(GuardInner {
            text: "true".to_owned(),
            parts: Vec::new(),
            kind: ValueKind::Bool,
            nested_macros: false,
        }))
    }

    /// Its source text.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// What kind of value it yields, as far as its form tells.
    #[must_use]
    pub fn kind(&self) -> ValueKind {
        self.0.kind
    }

    /// Whether it holds in every situation.
    #[must_use]
    pub fn is_always(&self) -> bool {
        self.0.parts.iter().all(|part| part.text == "true")
    }

    /// The names and member paths it reads, in source order: `["plan", "data", "status"]`.
    pub fn chains(&self) -> impl Iterator<Item = &[String]> {
        self.0.parts.iter().flat_map(|part| part.chains.iter().map(Vec::as_slice))
    }

    /// The source texts of its parts, the operands of its outermost `&&`.
    pub fn parts(&self) -> impl Iterator<Item = &str> {
        self.0.parts.iter().map(|part| part.text.as_str())
    }
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Guard({:?})", self.0.text)
    }
}

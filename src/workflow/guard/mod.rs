//! Guards: expressions in the Common Expression Language (CEL) over the facts of one task.
//!
//! This is the only room that uses the CEL crate. A guard is parsed once, when its workflow is compiled, and
//! split at its outermost `&&`, so that an explanation can show which part is false. CEL itself has no
//! budget, so everything that could run away is rejected before parsing: length, nesting, operators, and
//! nested macros.

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

/// A parsed guard or named expression.
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
    /// For a part that is a single path, whether it is negated: `plan.ready`, `!plan.ready`.
    denies: Option<bool>,
}

impl Guard {
    /// Parses an expression. Returns a [`GuardError`] with a byte offset if it is not CEL or exceeds a limit.
    pub fn parse(text: &str) -> Result<Self, GuardError> {
        parse::parse(text)
    }

    /// The guard that is always true.
    #[must_use]
    pub fn always() -> Self {
        Self(Arc::new(GuardInner {
            text: "true".to_owned(),
            parts: Vec::new(),
            kind: ValueKind::Bool,
            nested_macros: false,
        }))
    }

    /// The source text of the whole guard, in CEL.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.0.text
    }

    /// The type of the value, as far as the form of the expression shows it.
    #[must_use]
    pub fn kind(&self) -> ValueKind {
        self.0.kind
    }

    /// Whether the guard is the literal `true`.
    #[must_use]
    pub fn is_always(&self) -> bool {
        self.0.parts.iter().all(|part| part.text == "true")
    }

    /// The names and member paths that it reads, in source order: `["plan", "data", "status"]`.
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

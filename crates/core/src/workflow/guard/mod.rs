//! Guards: expressions in the Common Expression Language (CEL) over the facts of one task.
//!
//! This is the only room that uses the CEL crate. A guard is parsed once: when its workflow is compiled, or, in a
//! document that ships with the program, when the guard is first used. It is split at its outermost `&&`, so that
//! an explanation can show which part is false. CEL itself has no meter: what is too long or nests too deeply is
//! rejected before parsing, and macros are charged for the steps that they take.

mod checker;
mod evaluate;
mod fault;
mod functions;
mod given;
mod logic;
mod meter;
mod parse;
mod re2;
mod share;
mod strings;
mod types;
pub(in crate::workflow) mod typing;
mod value;
mod walk;

pub use evaluate::{GuardOutcome, HeldPart, Lookup, Scope, follow};
pub use functions::function_names;
pub use logic::{COMPARED, Logic, SameValues, Test, ValueQuestion};
pub use parse::{GuardError, MAX_LENGTH};
pub use types::{ITEM, Types};
pub use walk::spelled;

use cel::IdedExpr;
use functions::Regexes;
use std::fmt;
use std::ops::Range;
use std::sync::{Arc, OnceLock};

/// A valid guard or named expression.
#[derive(Clone)]
pub struct Guard(Arc<GuardInner>);

struct GuardInner {
    text: String,
    parsed: OnceLock<Arc<Parsed>>,
    span: Range<usize>,
}

/// What parsing a text yields; it is the same wherever the text stands.
#[derive(Clone)]
pub(super) struct ParsedText(Arc<Parsed>);

impl fmt::Debug for ParsedText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("ParsedText")
    }
}

struct Parsed {
    parts: Vec<ParsedPart>,
    types: Types,
}

struct ParsedPart {
    text: String,
    /// Byte offset of the part in the text of the guard.
    start: usize,
    expression: IdedExpr,
    chains: Vec<Vec<String>>,
    /// Whether something in it is charged for: a macro, or a copy.
    is_metered: bool,
    /// For a part that is a single path, whether it is negated: `plan.ready`, `!plan.ready`.
    denies: Option<bool>,
    /// The patterns of its calls of `matches`.
    patterns: Arc<Regexes>,
}

impl Guard {
    /// Parses an expression. Returns a [`GuardError`] with a byte offset if it is not CEL or exceeds a limit.
    pub fn parse(text: &str) -> Result<Self, GuardError> {
        parse::parse(text, false).map(|parsed| Self::new(text, OnceLock::from(Arc::new(parsed))))
    }

    /// An expression that is known to be valid. It is parsed when it is first used.
    #[must_use]
    pub(super) fn known(text: &str) -> Self {
        Self::new(text, OnceLock::new())
    }

    /// The guard that is always true.
    #[must_use]
    pub fn always() -> Self {
        Self::new(
            "true",
            OnceLock::from(Arc::new(Parsed {
                parts: Vec::new(),
                types: Types::BOOL,
            })),
        )
    }

    /// The guard of a text that was parsed before.
    pub(super) fn of_parsed(text: &str, parsed: &ParsedText) -> Self {
        Self::new(text, OnceLock::from(Arc::clone(&parsed.0)))
    }

    /// What parsing its text has yielded.
    pub(super) fn parsed_text(&self) -> ParsedText {
        ParsedText(Arc::clone(self.shared()))
    }

    fn new(text: &str, parsed: OnceLock<Arc<Parsed>>) -> Self {
        Self(Arc::new(GuardInner {
            text: text.to_owned(),
            parsed,
            span: 0..0,
        }))
    }

    fn parsed(&self) -> &Parsed {
        self.shared()
    }

    fn shared(&self) -> &Arc<Parsed> {
        self.0.parsed.get_or_init(|| {
            // Nothing may move by a text that was wrongly taken for valid.
            let parsed = parse::parse(&self.0.text, true).or_else(|_| parse::parse("false", true));
            Arc::new(parsed.unwrap_or_else(|_| unreachable!("`false` is a valid guard")))
        })
    }

    /// The guard with the place of its source in its document: a byte range of the TOML string, with its quotes.
    #[must_use]
    pub(super) fn at(mut self, span: Range<usize>) -> Self {
        if let Some(inner) = Arc::get_mut(&mut self.0) {
            inner.span = span;
        }
        self
    }

    /// The place of its source in its document; empty if it has none.
    #[must_use]
    pub(super) fn span(&self) -> Range<usize> {
        self.0.span.clone()
    }

    /// The source text of the whole guard, in CEL.
    #[must_use]
    pub fn text(&self) -> &str {
        self.0.text.trim()
    }

    /// The source text as it was parsed, with the white space around it; offsets refer to this text.
    #[must_use]
    pub(super) fn source(&self) -> &str {
        &self.0.text
    }

    /// The types of the value, as far as the form of the expression shows them.
    #[must_use]
    pub fn types(&self) -> Types {
        self.parsed().types
    }

    /// Whether the guard is the literal `true`.
    #[must_use]
    pub fn is_always(&self) -> bool {
        self.parsed().parts.iter().all(|part| part.text == "true")
    }

    /// The names and member paths that it reads, in source order: `["plan", "data", "status"]`.
    pub fn chains(&self) -> impl Iterator<Item = &[String]> {
        self.parsed()
            .parts
            .iter()
            .flat_map(|part| part.chains.iter().map(Vec::as_slice))
    }

    /// How often a name occurs in it.
    pub(super) fn mentions(&self, name: &str) -> u64 {
        let parts = self.parsed().parts.iter();
        parts
            .map(|part| walk::mentions(&part.expression, name))
            .fold(0, u64::saturating_add)
    }

    /// The source texts of its parts, the operands of its outermost `&&`.
    pub fn parts(&self) -> impl Iterator<Item = &str> {
        self.parsed().parts.iter().map(|part| part.text.as_str())
    }
}

impl fmt::Debug for Guard {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Guard({:?})", self.0.text)
    }
}

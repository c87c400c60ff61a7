//! Faults of a configuration and their positions.

use orch_base::{Code, Diagnostic, Hint};
use std::ops::Range;

/// A part of an expression that cannot be translated.
#[derive(Debug, Clone, PartialEq)]
pub struct SkillRefused {
    /// The byte range in the expression.
    pub span: Range<usize>,
    /// What is wrong: one sentence without a final full stop.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl SkillRefused {
    pub(super) fn new(span: Range<usize>, message: impl Into<String>) -> Self {
        Self {
            span,
            message: message.into(),
            hint: None,
        }
    }

    pub(super) fn hint(self, hint: impl Into<String>) -> Self {
        Self {
            hint: Some(hint.into()),
            ..self
        }
    }
}

/// A finding about a configuration: the value, and the part of its text if the value is an expression.
#[derive(Debug, Clone, PartialEq)]
pub struct SkillFault {
    /// JSON pointer (RFC 6901) of the value.
    pub pointer: String,
    /// The byte range in the text, if only part of it is wrong.
    pub span: Option<Range<usize>>,
    /// The finding, without a place, because a value does not record where it was read from.
    pub diagnostic: Diagnostic,
}

impl SkillFault {
    pub(super) fn error(
        pointer: impl Into<String>,
        code: Code,
        message: impl Into<String>,
    ) -> Self {
        Self {
            pointer: pointer.into(),
            span: None,
            diagnostic: Diagnostic::error(code, message),
        }
    }

    pub(super) fn warning(
        pointer: impl Into<String>,
        code: Code,
        message: impl Into<String>,
    ) -> Self {
        Self {
            pointer: pointer.into(),
            span: None,
            diagnostic: Diagnostic::warning(code, message),
        }
    }

    pub(super) fn hint(self, hint: impl Into<Hint>) -> Self {
        Self {
            diagnostic: self.diagnostic.hint(hint),
            ..self
        }
    }

    /// The fault for a rejected part of the expression at `pointer`.
    pub(super) fn refused(pointer: impl Into<String>, refused: SkillRefused) -> Self {
        let diagnostic = Diagnostic::error(Code::SkillExpression, refused.message);
        let diagnostic = match refused.hint {
            Some(hint) => diagnostic.hint(hint),
            None => diagnostic,
        };
        Self {
            pointer: pointer.into(),
            span: Some(refused.span),
            diagnostic,
        }
    }
}

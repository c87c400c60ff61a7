//! What is wrong with a configuration, and where in it.

use crate::base::{Code, Diagnostic};
use std::ops::Range;

/// A part of an expression that is refused.
#[derive(Debug, Clone, PartialEq)]
pub struct SkillRefused {
    /// The bytes of the expression that are meant.
    pub span: Range<usize>,
    /// What is wrong, a sentence without a final full stop.
    pub message: String,
    /// What to do about it.
    pub hint: Option<String>,
}

impl SkillRefused {
    pub(super) fn new(span: Range<usize>, message: impl Into<String>) -> Self {
        Self { span, message: message.into(), hint: None }
    }

    pub(super) fn hint(self, hint: impl Into<String>) -> Self {
        Self { hint: Some(hint.into()), ..self }
    }
}

/// A finding about a configuration: a value in it and, of a text, the part that is meant.
#[derive(Debug, Clone, PartialEq)]
pub struct SkillFault {
    /// JSON pointer (RFC 6901) of the value.
    pub pointer: String,
    /// The bytes of that text, if only a part of it is meant.
    pub span: Option<Range<usize>>,
    /// The finding; it has no place yet, because a value does not know where it was read from.
    pub diagnostic: Diagnostic,
}

impl SkillFault {
    pub(super) fn error(pointer: impl Into<String>, code: Code, message: impl Into<String>) -> Self {
        Self { pointer: pointer.into(), span: None, diagnostic: Diagnostic::error(code, message) }
    }

    pub(super) fn warning(pointer: impl Into<String>, code: Code, message: impl Into<String>) -> Self {
        Self { pointer: pointer.into(), span: None, diagnostic: Diagnostic::warning(code, message) }
    }

    pub(super) fn hint(self, hint: impl Into<String>) -> Self {
        Self { diagnostic: self.diagnostic.hint(hint), ..self }
    }

    /// The refusal of a part of the expression at `pointer`.
    pub(super) fn refused(pointer: impl Into<String>, refused: SkillRefused) -> Self {
        let diagnostic = Diagnostic::error(Code::SkillExpression, refused.message);
        let diagnostic = match refused.hint {
            Some(hint) => diagnostic.hint(hint),
            None => diagnostic,
        };
        Self { pointer: pointer.into(), span: Some(refused.span), diagnostic }
    }
}

//! Pieces of CEL, with brackets only where necessary.

use super::field::Type;
use std::ops::Range;

/// A piece of CEL and its precedence.
#[derive(Debug, Clone)]
pub(super) struct Cel {
    pub text: String,
    binds: Binds,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Binds {
    Or,
    And,
    Compare,
    Close,
}

impl Cel {
    pub(super) fn new(text: impl Into<String>, binds: Binds) -> Self {
        Self {
            text: text.into(),
            binds,
        }
    }

    pub(super) fn within(&self, least: Binds) -> String {
        if self.binds < least {
            format!("({})", self.text)
        } else {
            self.text.clone()
        }
    }

    pub(super) fn all(parts: Vec<Self>) -> Option<Self> {
        match parts.as_slice() {
            [] => None,
            [only] => Some(only.clone()),
            _ => {
                let texts: Vec<String> = parts.iter().map(|part| part.within(Binds::And)).collect();
                Some(Self::new(texts.join(" && "), Binds::And))
            }
        }
    }

    pub(super) fn not(self) -> Self {
        Self::new(format!("!{}", self.within(Binds::Close)), Binds::Close)
    }
}

/// A value: its CEL, the checks that must precede reading it, and its type.
pub(super) struct Operand {
    pub text: String,
    pub needs: Vec<String>,
    pub kind: Type,
    pub is_null: bool,
    pub span: Range<usize>,
}

impl Operand {
    /// The condition that the value is present; `None` if it always is.
    pub(super) fn present(&self) -> Option<Cel> {
        Cel::all(
            self.needs
                .iter()
                .map(|need| Cel::new(need.clone(), Binds::Close))
                .collect(),
        )
    }

    /// The condition, preceded by the checks that its values are present.
    pub(super) fn guarded(&self, condition: Cel) -> Cel {
        Cel::all(
            self.present()
                .into_iter()
                .chain([condition.clone()])
                .collect(),
        )
        .unwrap_or(condition)
    }

    /// The condition that two values are equal or both absent.
    pub(super) fn same_as(&self, other: &Self) -> Cel {
        let alike = Cel::new(format!("{} == {}", self.text, other.text), Binds::Compare);
        let absent = [self, other]
            .into_iter()
            .filter_map(|one| Some(one.present()?.not()))
            .collect();
        let both = self.guarded(other.guarded(alike)).within(Binds::Compare);
        let text =
            Cel::all(absent).map(|neither| format!("{both} || {}", neither.within(Binds::Compare)));
        Cel::new(text.unwrap_or(both), Binds::Or)
    }
}

/// A string as a CEL literal.
pub(super) fn quoted(text: &str) -> String {
    let mut quoted = String::from("'");
    for letter in text.chars() {
        match letter {
            '\\' => quoted.push_str("\\\\"),
            '\'' => quoted.push_str("\\'"),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            control if control.is_control() => {
                quoted.push_str(&format!("\\u{:04x}", u32::from(control)))
            }
            plain => quoted.push(plain),
        }
    }
    quoted.push('\'');
    quoted
}

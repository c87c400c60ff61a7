//! What whoever looks at a page of a server may order, which the page says before anything is typed.

use super::{hinted, marked};
use maud::{Markup, html};
use orch_base::Hint;

/// What whoever asks a server may do.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Rights {
    /// Whether tasks are created, and steps that the rules yield are taken.
    pub may_write: bool,
    /// Why orders that need a person are refused, and what helps; `None` if they are accepted.
    pub refusal: Option<(String, Hint)>,
}

impl Rights {
    /// Whether orders that need a person are accepted.
    #[must_use]
    pub fn may_order(&self) -> bool {
        self.may_write && self.refusal.is_none()
    }

    /// The note on a page that takes no orders.
    pub(super) fn note(&self) -> Markup {
        html! {
            @if let Some((why, hint)) = &self.refusal {
                p.notice role="note" { strong { (marked(why)) } " " (hinted(hint)) }
            }
        }
    }
}

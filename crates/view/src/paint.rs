//! Colour as a value; whether to use it is decided elsewhere.

use serde::{Deserialize, Serialize};

/// Whether text is coloured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Paint {
    /// Whether to write ANSI codes.
    pub colour: bool,
}

/// The role of a piece of text, which determines its look.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Style {
    /// The name of something.
    Strong,
    /// Secondary information.
    Dim,
    /// A problem.
    Bad,
    /// A success.
    Good,
    /// Something that needs a person.
    Warn,
    /// A command to type.
    Command,
}

impl Paint {
    /// No colour.
    pub const PLAIN: Self = Self { colour: false };

    /// The text in a style; unchanged if colour is off or the text is empty.
    #[must_use]
    pub fn paint(self, style: Style, text: &str) -> String {
        if self.colour && !text.is_empty() {
            format!("\u{1b}[{}m{text}\u{1b}[0m", style.code())
        } else {
            text.to_owned()
        }
    }
}

impl Style {
    fn code(self) -> &'static str {
        match self {
            Self::Strong => "1",
            Self::Dim => "2",
            Self::Bad => "1;31",
            Self::Good => "32",
            Self::Warn => "33",
            Self::Command => "36",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paints_only_when_asked() {
        assert_eq!(Paint::PLAIN.paint(Style::Bad, "x"), "x");
        assert_eq!(
            Paint { colour: true }.paint(Style::Bad, "x"),
            "\u{1b}[1;31mx\u{1b}[0m"
        );
        assert_eq!(Paint { colour: true }.paint(Style::Bad, ""), "");
    }
}

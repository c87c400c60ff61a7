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
    /// The parameters of the ANSI code. Where the palette of a terminal often has a colour that cannot be read on a light
    /// background, it is one of the 256 that are everywhere the same, and can be read on white and on black.
    fn code(self) -> &'static str {
        match self {
            Self::Strong => "1",
            Self::Dim => "2",
            Self::Bad => "1;31",
            Self::Good => "38;5;28",
            Self::Warn => "38;5;130",
            Self::Command => "38;5;30",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The relative luminance of one of the 256 colours, as WCAG defines it.
    fn luminance(colour: u32) -> f64 {
        let levels = [0.0, 95.0, 135.0, 175.0, 215.0, 255.0].map(|level: f64| {
            let part = level / 255.0;
            if part <= 0.040_45 {
                part / 12.92
            } else {
                ((part + 0.055) / 1.055).powf(2.4)
            }
        });
        let place = colour - 16;
        let [red, green, blue] =
            [place / 36, place / 6 % 6, place % 6].map(|level| levels[level as usize]);
        0.2126 * red + 0.7152 * green + 0.0722 * blue
    }

    #[test]
    fn colours_can_be_read_on_white_and_on_black() {
        for style in [Style::Good, Style::Warn, Style::Command] {
            let colour = style.code().strip_prefix("38;5;").expect("one of the 256");
            let luminance = luminance(colour.parse().expect("a number"));
            let contrasts = [1.05 / (luminance + 0.05), (luminance + 0.05) / 0.05];
            assert!(
                contrasts.iter().all(|contrast| *contrast > 4.3),
                "{style:?}: {contrasts:?}"
            );
        }
    }

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

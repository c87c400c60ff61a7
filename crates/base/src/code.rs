//! All codes that `orch` reports, in one enumeration, with the explanation of each.

use super::nearest;
use std::fmt;

/// Builds the enumeration and its table from one list, so that neither can miss an entry of the other.
macro_rules! codes {
    ($($name:ident = $text:literal, $class:ident, $meaning:literal, $cause:literal, $remedy:literal;)+) => {
        /// The code of an error or a finding, a word that scripts may compare.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code {
            $(#[doc = $meaning] $name,)+
        }

        impl Code {
            /// All codes, sorted by their text.
            pub const ALL: &[Self] = &[$(Self::$name),+];

            /// The explanation of the code.
            #[must_use]
            pub fn entry(self) -> &'static CodeEntry {
                match self {
                    $(Self::$name => &CodeEntry {
                        text: $text,
                        class: Class::$class,
                        meaning: $meaning,
                        cause: $cause,
                        remedy: $remedy,
                    },)+
                }
            }
        }
    };
}

mod table;

pub use table::Code;

/// The explanation of a code, as `orch help CODE` and `docs/codes.md` print it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodeEntry {
    /// The code as it is printed, in kebab-case.
    pub text: &'static str,
    /// What an error with this code means for the caller.
    pub class: Class,
    /// What the code means, one sentence.
    pub meaning: &'static str,
    /// How the situation arises, one sentence or two.
    pub cause: &'static str,
    /// What to do about it; ends with a full stop or a command in backticks.
    pub remedy: &'static str,
}

/// What an error means for the caller. It decides the exit code of a command that ends with the error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// A finding about a file. A command that cannot continue because of it ends as with `Usage`.
    Finding,
    /// The answer to the question that was asked is no.
    No,
    /// The command line, the configuration or a document is wrong.
    Usage,
    /// Another process holds a lock and will release it.
    Busy,
    /// Another process was faster; read and decide again.
    Moved,
    /// Only a person may order it.
    Person,
    /// The state of one task forbids it now.
    NotNow,
    /// The state of the whole repository forbids it now.
    Held,
    /// The user interrupted it.
    Interrupted,
    /// The machine failed, or `orch` has a bug.
    Fault,
}

impl Code {
    /// The printed text of the code, for example `json-syntax`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.entry().text
    }

    /// What an error with this code means for the caller.
    #[must_use]
    pub fn class(self) -> Class {
        self.entry().class
    }

    /// The code with exactly this text, or `None`.
    #[must_use]
    pub fn named(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|code| code.as_str() == text)
    }

    /// The code whose text is closest to `text`, or `None` if none is similar.
    #[must_use]
    pub fn near(text: &str) -> Option<Self> {
        nearest(text, Self::ALL.iter().map(|code| code.as_str())).and_then(Self::named)
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_in_order_and_each_text_stands_once() {
        let texts: Vec<&str> = Code::ALL.iter().map(|code| code.as_str()).collect();
        assert!(texts.windows(2).all(|pair| pair[0] < pair[1]), "{texts:#?}");
        assert!(Code::ALL.windows(2).all(|pair| pair[0] < pair[1]));
    }

    #[test]
    fn every_explanation_is_made_of_sentences() {
        for code in Code::ALL {
            let CodeEntry {
                meaning,
                cause,
                remedy,
                text,
                ..
            } = code.entry();
            assert!(
                text.bytes()
                    .all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
            );
            assert!(meaning.ends_with('.') && cause.ends_with('.'), "{text}");
            assert!(remedy.ends_with(['.', '`']), "{text}");
        }
    }

    #[test]
    fn a_code_is_found_by_its_text_and_by_a_slip_of_it() {
        assert_eq!(Code::named("json-syntax"), Some(Code::JsonSyntax));
        assert_eq!(Code::named("json"), None);
        assert_eq!(Code::near("jsno-syntax"), Some(Code::JsonSyntax));
        assert_eq!(Code::near("zzzzzzzzzzzz"), None);
    }
}

//! The codes: the one enumeration of everything that orch reports, and what each means.

use super::nearest;
use std::fmt;

/// Makes the enumeration and its table of one list, so that neither can lack what the other has.
macro_rules! codes {
    ($($name:ident = $text:literal, $class:ident, $meaning:literal, $cause:literal, $remedy:literal;)+) => {
        /// What is reported, as a word that scripts may compare.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum Code {
            $(#[doc = $meaning] $name,)+
        }

        impl Code {
            /// Every code, in the order of their texts.
            pub const ALL: &[Self] = &[$(Self::$name),+];

            /// The row of a code.
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

/// What is known of a code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodeEntry {
    /// The code as it is printed, in kebab-case.
    pub text: &'static str,
    /// What an error with this code means for the caller.
    pub class: Class,
    /// What it means.
    pub meaning: &'static str,
    /// How it comes about.
    pub cause: &'static str,
    /// What to do.
    pub remedy: &'static str,
}

/// What an error means for the caller. It decides the exit code of a command that ends with the error.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Class {
    /// A finding about a file. A command that cannot go on because of it ends as with `Usage`.
    Finding,
    /// The answer is no.
    No,
    /// The command line, the configuration or a document is wrong.
    Usage,
    /// Another process holds a lock, and will let go of it by itself.
    Busy,
    /// Another process was quicker: read and decide again.
    Moved,
    /// One task does not allow it now.
    NotNow,
    /// The whole repository does not allow it now.
    Held,
    /// The user interrupted it.
    Interrupted,
    /// A fault of the machine or of `orch`.
    Fault,
}

impl Code {
    /// The code as it is printed, for example `json-syntax`.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        self.entry().text
    }

    /// What an error with this code means for the caller.
    #[must_use]
    pub fn class(self) -> Class {
        self.entry().class
    }

    /// The code that is printed like this.
    #[must_use]
    pub fn named(text: &str) -> Option<Self> {
        Self::ALL.iter().copied().find(|code| code.as_str() == text)
    }

    /// The code whose text is nearest to this one, if one is near.
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
            let CodeEntry { meaning, cause, remedy, text, .. } = code.entry();
            assert!(
                text.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-')
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

//! Closed lists of words: enums that declare their texts next to their values.

/// Declares an enum whose values files, documents and answers spell as the given texts.
///
/// It has `ALL` (the list), `as_str` (value to text) and `named` (text to value).
macro_rules! words {
    (
        $(#[$meta:meta])*
        pub enum $name:ident { $($(#[$word_meta:meta])* $word:ident = $text:literal),+ $(,)? }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$word_meta])* $word),+ }

        impl $name {
            /// All words, in order of declaration.
            pub const ALL: [Self; [$($text),+].len()] = [$(Self::$word),+];

            /// The word as text.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$word => $text),+ }
            }

            /// The word with exactly this text, or `None`.
            #[must_use]
            pub fn named(text: &str) -> Option<Self> {
                match text { $($text => Some(Self::$word),)+ _ => None }
            }
        }
    };
}

pub(crate) use words;

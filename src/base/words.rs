//! Closed lists of words: each an enum whose texts stand beside its values, once.

/// Declares an enum of words that files, documents and answers spell as the given texts.
///
/// It can be listed (`ALL`), spelt (`as_str`) and read (`named`).
macro_rules! words {
    (
        $(#[$meta:meta])*
        pub enum $name:ident { $($(#[$word_meta:meta])* $word:ident = $text:literal),+ $(,)? }
    ) => {
        $(#[$meta])*
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub enum $name { $($(#[$word_meta])* $word),+ }

        impl $name {
            /// Every word, in the order of the declaration.
            pub const ALL: [Self; [$($text),+].len()] = [$(Self::$word),+];

            /// The word as text.
            #[must_use]
            pub const fn as_str(self) -> &'static str {
                match self { $(Self::$word => $text),+ }
            }

            /// The word with this text.
            #[must_use]
            pub fn named(text: &str) -> Option<Self> {
                match text { $($text => Some(Self::$word),)+ _ => None }
            }
        }
    };
}

pub(crate) use words;

//! Closed lists of words: enums that declare their texts next to their values.

/// Declares an enum whose values files, documents and answers spell as the given texts.
///
/// It has `ALL` (the list), `as_str` (value to text) and `named` (text to value). It serializes as its text and is
/// read from it, and tests describe it as an `enum` of a schema.
#[macro_export]
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

        impl $crate::serde::Serialize for $name {
            fn serialize<S: $crate::serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.serialize_str(self.as_str())
            }
        }

        impl<'de> $crate::serde::Deserialize<'de> for $name {
            fn deserialize<D: $crate::serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
                let unknown = || $crate::serde::de::Error::unknown_variant(&text, &[$($text),+]);
                Self::named(&text).ok_or_else(unknown)
            }
        }

        $crate::described_words!($name, $($text),+);
    };
}

/// Describes the words as an `enum` of a schema.
#[cfg(feature = "schemars")]
#[doc(hidden)]
#[macro_export]
macro_rules! described_words {
    ($name:ident, $($text:literal),+) => {
        impl $crate::schemars::JsonSchema for $name {
            fn inline_schema() -> bool {
                true
            }

            fn schema_name() -> std::borrow::Cow<'static, str> {
                stringify!($name).into()
            }

            fn json_schema(_: &mut $crate::schemars::SchemaGenerator) -> $crate::schemars::Schema {
                $crate::schemars::json_schema!({ "type": "string", "enum": [$($text),+] })
            }
        }
    };
}

#[cfg(not(feature = "schemars"))]
#[doc(hidden)]
#[macro_export]
macro_rules! described_words {
    ($name:ident, $($text:literal),+) => {};
}

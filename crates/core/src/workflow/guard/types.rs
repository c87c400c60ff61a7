//! The types of values, and what an expression is told of the types of its names.

use std::fmt;

/// The set of types that a value may have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Types(u16);

impl Types {
    /// True or false.
    pub const BOOL: Self = Self(1);
    /// A whole number with a sign.
    pub const INT: Self = Self(1 << 1);
    /// A whole number without a sign.
    pub const UINT: Self = Self(1 << 2);
    /// A number with a fraction.
    pub const DOUBLE: Self = Self(1 << 3);
    /// Any number. The text of a JSON number does not tell its type in advance.
    pub const NUMBER: Self = Self::INT.or(Self::UINT).or(Self::DOUBLE);
    /// A whole number of any type.
    pub const WHOLE: Self = Self::INT.or(Self::UINT);
    /// Text.
    pub const TEXT: Self = Self(1 << 4);
    /// Bytes, which JSON does not have.
    pub const BYTES: Self = Self(1 << 5);
    /// A list.
    pub const LIST: Self = Self(1 << 6);
    /// A map.
    pub const MAP: Self = Self(1 << 7);
    /// Null.
    pub const NULL: Self = Self(1 << 8);
    /// A type, as `type(value)` yields it.
    pub const TYPE: Self = Self(1 << 9);
    /// Nothing is known.
    pub const ANY: Self = Self((1 << 10) - 1);

    /// No value at all.
    pub(super) const NONE: Self = Self(0);

    /// Not a type: the number comes of a division of what may be whole numbers, which leaves no fraction.
    pub(super) const QUOTIENT: Self = Self(1 << 10);

    /// Each type that has a name of its own, with this name.
    const NAMED: [(Self, &str); 8] = [
        (Self::BOOL, "true or false"),
        (Self::NUMBER, "a number"),
        (Self::TEXT, "text"),
        (Self::BYTES, "bytes"),
        (Self::LIST, "a list"),
        (Self::MAP, "a map"),
        (Self::NULL, "null"),
        (Self::TYPE, "a type"),
    ];

    /// The types of both sets.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Whether a value can be of both sets.
    #[must_use]
    pub const fn meets(self, other: Self) -> bool {
        self.0 & other.0 & Self::ANY.0 != 0
    }

    /// Whether all values of this set are of the other one.
    pub(in crate::workflow) const fn is_within(self, other: Self) -> bool {
        self.0 & Self::ANY.0 & !other.0 == 0
    }

    /// What is in both sets.
    pub(super) const fn both(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    /// What is in this set and not in the other one.
    pub(super) const fn without(self, other: Self) -> Self {
        Self(self.0 & !other.0)
    }

    /// Whether all of the other set is in this one.
    pub(super) const fn contains(self, other: Self) -> bool {
        self.0 & other.0 == other.0
    }

    /// Each type of the set by itself.
    pub(super) fn each(self) -> impl Iterator<Item = Self> {
        let bits = (0..10).map(|bit| Self(1 << bit));
        bits.filter(move |kind| kind.meets(self))
    }

    /// Whether it comes of a division of what may be whole numbers.
    pub(super) const fn is_quotient(self) -> bool {
        self.0 & Self::QUOTIENT.0 != 0
    }

    /// The set with all numbers, if it contains one: numbers of any type are comparable.
    pub(super) fn with_numbers(self) -> Self {
        if self.meets(Self::NUMBER) {
            self.or(Self::NUMBER)
        } else {
            self
        }
    }
}

impl fmt::Display for Types {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if *self == Self::ANY {
            return f.write_str("anything");
        }
        let names = Self::NAMED
            .iter()
            .filter(|(types, _)| types.meets(*self))
            .map(|(_, name)| *name);
        f.write_str(&names.collect::<Vec<_>>().join(" or "))
    }
}

/// The segment of a path that stands for each item of a list.
pub const ITEM: &str = "[]";

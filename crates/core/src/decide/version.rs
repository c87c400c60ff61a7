//! The versions of the rules of recording: how an event is written, and which of its files count.
//!
//! Every event carries its version. It is replayed and audited by exactly that one, whatever program does so, and one
//! log may contain several versions.

use serde::{Serialize, Serializer};

/// A version of the rules of recording. Later versions are greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
pub enum RecordVersion {
    /// The files of an artifact are used up together, and a report counts whenever it was written. Events of this version
    /// do not say so.
    First,
    /// Files are judged one by one, and a report that was there before what it judges does not count.
    Second,
    /// A patch is read as `git apply` reads it, whatever options it was written with.
    Third,
    /// Markdown is read as its neighbours read it: front matter, plain fields, the form of headings. Files of the
    /// repository and files that another file names are read.
    #[default]
    Fourth,
}

impl RecordVersion {
    /// The version of the events that this program records.
    pub const CURRENT: Self = Self::Fourth;

    /// The number that an event carries.
    #[must_use]
    pub fn number(self) -> u64 {
        match self {
            Self::First => 1,
            Self::Second => 2,
            Self::Third => 3,
            Self::Fourth => 4,
        }
    }

    /// The version with this number; `None` if this program does not know it.
    #[must_use]
    pub fn numbered(number: u64) -> Option<Self> {
        [Self::First, Self::Second, Self::Third, Self::Fourth]
            .into_iter()
            .find(|version| version.number() == number)
    }

    /// How many history entries a state keeps whose last one is of this version.
    #[must_use]
    pub fn history_window(self) -> usize {
        match self {
            Self::First => 10,
            Self::Second | Self::Third | Self::Fourth => 3,
        }
    }

    /// Whether events leave the version out.
    pub(super) fn is_unstated(&self) -> bool {
        *self == Self::First
    }
}

impl Serialize for RecordVersion {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u64(self.number())
    }
}

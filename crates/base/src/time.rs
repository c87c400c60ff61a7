//! Points in time as values. Nothing here reads a clock.

use std::fmt;

/// An instant, in whole seconds, written as RFC 3339 in UTC (`2026-11-21T04:50:00Z`).
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Timestamp(jiff::Timestamp);

impl Timestamp {
    /// The instant `seconds` after the Unix epoch, clamped to the supported range.
    #[must_use]
    pub fn from_seconds(seconds: i64) -> Self {
        let clamped = seconds.clamp(
            jiff::Timestamp::MIN.as_second(),
            jiff::Timestamp::MAX.as_second(),
        );
        Self(jiff::Timestamp::from_second(clamped).unwrap_or_default())
    }

    /// Parses RFC 3339 and drops fractions of a second; `None` for any other text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let instant: jiff::Timestamp = text.parse().ok()?;
        Some(Self::from_seconds(instant.as_second()))
    }

    /// Seconds since the Unix epoch.
    #[must_use]
    pub fn seconds(self) -> i64 {
        self.0.as_second()
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

impl fmt::Debug for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn writes_and_reads_rfc_3339() {
        let at = Timestamp::parse("2026-11-21T04:50:00Z").expect("valid");
        assert_eq!(at.to_string(), "2026-11-21T04:50:00Z");
        assert_eq!(Timestamp::parse("2026-11-21T05:50:00.5+01:00"), Some(at));
        assert_eq!(Timestamp::parse("yesterday"), None);
    }
}

//! Durations as values: `90s`, `30m`, `1h30m`. Nothing here waits.
//!
//! They are parsed here and not by a date library, because such libraries accept far more (`1.5h`, `5
//! minutes`, `01:30:00`, `P1D`, negative durations), and everything that is accepted becomes part of the file
//! formats.

use std::fmt;

/// A duration in whole milliseconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Period(u64);

/// The units with their milliseconds, longest first.
const UNITS: [(&str, u64); 4] = [("h", 3_600_000), ("m", 60_000), ("s", 1_000), ("ms", 1)];

impl Period {
    /// A duration of this many milliseconds.
    #[must_use]
    pub const fn from_milliseconds(milliseconds: u64) -> Self {
        Self(milliseconds)
    }

    /// A duration of this many seconds.
    #[must_use]
    pub const fn from_seconds(seconds: u64) -> Self {
        Self(seconds.saturating_mul(1_000))
    }

    /// Parses whole numbers with the units `h`, `m`, `s` and `ms`, each at most once and longest first;
    /// `None` for any other text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let mut rest = text;
        let mut sum = 0_u64;
        let mut from = 0;
        if rest.is_empty() {
            return None;
        }
        while !rest.is_empty() {
            let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
            let number: u64 = rest[..digits].parse().ok()?;
            rest = &rest[digits..];
            let letters = rest.bytes().take_while(u8::is_ascii_alphabetic).count();
            let at = UNITS[from..]
                .iter()
                .position(|(unit, _)| *unit == &rest[..letters])?
                + from;
            sum = sum.checked_add(number.checked_mul(UNITS[at].1)?)?;
            rest = &rest[letters..];
            from = at + 1;
        }
        Some(Self(sum))
    }

    /// The duration in milliseconds.
    #[must_use]
    pub const fn milliseconds(self) -> u64 {
        self.0
    }

    /// What is left of the duration after `passed`.
    #[must_use]
    pub const fn without(self, passed: Self) -> Self {
        Self(self.0.saturating_sub(passed.0))
    }

    /// The duration multiplied by `times`, saturating.
    #[must_use]
    pub const fn times(self, times: u64) -> Self {
        Self(self.0.saturating_mul(times))
    }
}

impl fmt::Display for Period {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut left = self.0;
        if left == 0 {
            return f.write_str("0s");
        }
        for (unit, length) in UNITS {
            if left >= length {
                write!(f, "{}{unit}", left / length)?;
                left %= length;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_are_read_and_shown_alike() {
        for (text, milliseconds) in [
            ("90s", 90_000),
            ("30m", 1_800_000),
            ("1h30m", 5_400_000),
            ("250ms", 250),
            ("0s", 0),
        ] {
            assert_eq!(
                Period::parse(text).map(Period::milliseconds),
                Some(milliseconds),
                "{text}"
            );
        }
        assert_eq!(Period::from_seconds(90).to_string(), "1m30s");
        assert_eq!(
            Period::from_seconds(90).without(Period::from_seconds(30)),
            Period::from_seconds(60)
        );
        assert_eq!(
            Period::from_seconds(90).without(Period::from_seconds(91)),
            Period::default()
        );
        assert_eq!(Period::from_milliseconds(1_250).to_string(), "1s250ms");
        for bad in [
            "",
            "5",
            "m",
            "5 m",
            "-1s",
            "1.5h",
            "1s1h",
            "1s1s",
            "5d",
            "99999999999999999999h",
        ] {
            assert_eq!(Period::parse(bad), None, "{bad}");
        }
    }
}

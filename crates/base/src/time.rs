//! Points in time as values. Nothing here reads a clock.

use std::fmt;

/// An instant, in whole seconds, written as RFC 3339 in UTC (`2026-11-21T04:50:00Z`).
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
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

/// A time zone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimeZone(jiff::tz::TimeZone);

impl From<jiff::tz::TimeZone> for TimeZone {
    fn from(zone: jiff::tz::TimeZone) -> Self {
        Self(zone)
    }
}

/// A time of day by a clock on the wall, with its date as far as it is given.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct CivilTime {
    /// The year; `None` if none is given.
    pub year: Option<i16>,
    /// The month and the day, both from 1; `None` if none is given.
    pub date: Option<(i8, i8)>,
    /// The hour, from 0 to 23.
    pub hour: i8,
    /// The minute, from 0 to 59.
    pub minute: i8,
}

/// How long ago a time may be to count as that of today, in seconds: clocks differ.
const JUST_NOW: i64 = 600;
/// How long ago a day may be to count as that of this year, in seconds.
const RECENT: i64 = 30 * 24 * 3600;

impl CivilTime {
    /// The next instant at which the clock shows this time; one that has just passed counts, too. `None` if no clock ever
    /// shows it.
    #[must_use]
    pub fn next(&self, now: Timestamp, zone: &TimeZone) -> Option<Timestamp> {
        let today = now.0.to_zoned(zone.0.clone()).date();
        let instant = |date: jiff::civil::Date| {
            let time = jiff::civil::Time::new(self.hour, self.minute, 0, 0).ok()?;
            let zoned = date.to_datetime(time).to_zoned(zone.0.clone()).ok()?;
            Some(Timestamp(zoned.timestamp()))
        };
        let Some((month, day)) = self.date else {
            let at = instant(today)?;
            return if at.seconds() < now.seconds() - JUST_NOW {
                instant(today.tomorrow().ok()?)
            } else {
                Some(at)
            };
        };
        let of_year = |year| instant(jiff::civil::Date::new(year, month, day).ok()?);
        let at = of_year(self.year.unwrap_or(today.year()))?;
        if self.year.is_none() && at.seconds() < now.seconds() - RECENT {
            return of_year(today.year() + 1);
        }
        Some(at)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_time_of_a_clock_is_found() {
        let zone = TimeZone::from(jiff::tz::TimeZone::fixed(jiff::tz::offset(2)));
        let at = |text: &str| Timestamp::parse(text).expect("valid");
        // 14:00 on the clock of this zone.
        let now = at("2026-11-28T12:00:00Z");
        for (year, date, hour, minute, expected) in [
            (None, None, 17, 30, Some("2026-11-28T15:30:00Z")),
            (None, None, 13, 55, Some("2026-11-28T11:55:00Z")),
            (None, None, 13, 0, Some("2026-11-29T11:00:00Z")),
            (None, None, 24, 0, None),
            (None, Some((11, 30)), 0, 0, Some("2026-11-29T22:00:00Z")),
            (None, Some((11, 27)), 0, 0, Some("2026-11-26T22:00:00Z")),
            (None, Some((1, 2)), 3, 0, Some("2027-01-02T01:00:00Z")),
            (None, Some((2, 30)), 3, 0, None),
            (
                Some(2028),
                Some((2, 29)),
                3,
                0,
                Some("2028-02-29T01:00:00Z"),
            ),
        ] {
            let time = CivilTime {
                year,
                date,
                hour,
                minute,
            };
            assert_eq!(time.next(now, &zone), expected.map(at), "{time:?}");
        }
    }

    #[test]
    fn writes_and_reads_rfc_3339() {
        let at = Timestamp::parse("2026-11-21T04:50:00Z").expect("valid");
        assert_eq!(at.to_string(), "2026-11-21T04:50:00Z");
        assert_eq!(Timestamp::parse("2026-11-21T05:50:00.5+01:00"), Some(at));
        assert_eq!(Timestamp::parse("yesterday"), None);
    }
}

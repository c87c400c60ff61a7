//! When a limit passes, as the message of an agent program says it.

use orch_base::{CivilTime, Period, TimeZone, Timestamp};

/// When a limit passes, as far as a message says it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reset {
    /// At this instant.
    At(Timestamp),
    /// After this time.
    In(Period),
    /// At this time of a clock.
    Clock {
        /// The time, and the day if one is given.
        time: CivilTime,
        /// The name of the time zone; `None`: that of the machine.
        zone: Option<String>,
    },
}

/// What stands before a number of seconds.
const SECONDS: [&str; 3] = ["resets_in_seconds", "retry-after", "retry_after"];
/// What stands before a number of seconds, or of milliseconds, since 1970.
const INSTANTS: [&str; 3] = ["resets_at", "resetsat", "limit reached|"];
/// What stands before a time in words.
const WORDS: [&str; 8] = [
    "resets",
    "will reset",
    "reset after",
    "reset at",
    "try again",
    "retry in",
    "retry after",
    "available again",
];
/// What may stand between these words and the time.
const FILLERS: [&str; 5] = ["at", "in", "on", "after", "about"];
const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];
/// The units by their beginnings, the longest first, in milliseconds.
const UNITS: [(&str, u64); 9] = [
    ("ms", 1),
    ("mil", 1),
    ("min", 60_000),
    ("mon", 2_592_000_000),
    ("w", 604_800_000),
    ("d", 86_400_000),
    ("h", 3_600_000),
    ("m", 60_000),
    ("s", 1_000),
];

impl Reset {
    /// The time that a text names; `None` if it names none.
    #[must_use]
    pub fn find(text: &str) -> Option<Self> {
        let small = text.to_ascii_lowercase();
        let after = |marks: &'static [&'static str]| {
            let found = marks.iter().flat_map(|mark| small.match_indices(mark));
            found.map(|(at, mark)| at + mark.len())
        };
        let number = |at: usize| {
            let digits = small[at..].trim_start_matches(['"', ':', '=', ' ']);
            let end = digits.find(|letter: char| !letter.is_ascii_digit());
            digits[..end.unwrap_or(digits.len())].parse::<i64>().ok()
        };
        let mut seconds = after(&SECONDS).filter_map(number);
        if let Some(seconds) = seconds.next() {
            let seconds = seconds.try_into().unwrap_or_default();
            return Some(Self::In(Period::from_seconds(seconds)));
        }
        let mut instants = after(&INSTANTS).filter_map(number);
        if let Some(instant) = instants.find(|instant| *instant > 1_000_000_000) {
            let is_fine = instant > 100_000_000_000;
            let seconds = if is_fine { instant / 1000 } else { instant };
            return Some(Self::At(Timestamp::from_seconds(seconds)));
        }
        let mut words = after(&WORDS).filter_map(|at| Self::begin(&text[at..], &small[at..]));
        words.next()
    }

    /// The time with which a text begins; the second is the same in small letters.
    fn begin(text: &str, small: &str) -> Option<Self> {
        let mut at = 0;
        loop {
            let letters = small[at..].trim_start_matches([' ', ':', '·', '"', '\u{a0}']);
            at = small.len() - letters.len();
            let word = letters
                .split(|letter: char| !letter.is_ascii_alphabetic())
                .next()?;
            if !FILLERS.contains(&word) {
                break;
            }
            at += word.len();
        }
        let word = text[at..].split_whitespace().next()?;
        if let Some(instant) = Timestamp::parse(word.trim_end_matches(['.', ',', ')', '"'])) {
            return Some(Self::At(instant));
        }
        let rest = Scan(&small[at..]);
        rest.duration().map(Self::In).or_else(|| rest.clock())
    }

    /// When the limit passes. `zone` looks up a time zone by its name, and that of the machine. `None` if there is no such
    /// time or zone.
    #[must_use]
    pub fn instant(
        &self,
        now: Timestamp,
        zone: impl FnOnce(Option<&str>) -> Option<TimeZone>,
    ) -> Option<Timestamp> {
        match self {
            Self::At(instant) => Some(*instant),
            Self::In(period) => {
                // What is rounded down would be too early.
                let seconds = i64::try_from(period.milliseconds().div_ceil(1000)).ok()?;
                Some(Timestamp::from_seconds(
                    now.seconds().saturating_add(seconds),
                ))
            }
            Self::Clock { time, zone: name } => time.next(now, &zone(name.as_deref())?),
        }
    }
}

/// A text in small letters that is read from its beginning.
#[derive(Clone, Copy)]
struct Scan<'t>(&'t str);

impl<'t> Scan<'t> {
    /// Without blanks and commas at the beginning.
    fn bare(self) -> Self {
        Self(self.0.trim_start_matches([' ', ',', '\u{a0}', '\u{202f}']))
    }

    /// The number at the beginning, and the rest.
    fn number(self) -> Option<(i16, Self)> {
        let bare = self.bare().0;
        let end = bare
            .find(|letter: char| !letter.is_ascii_digit())
            .unwrap_or(bare.len());
        Some((bare[..end].parse().ok()?, Self(&bare[end..])))
    }

    /// The word at the beginning, and the rest.
    fn word(self) -> (&'t str, Self) {
        let bare = self.bare().0;
        let end = bare
            .find(|letter: char| !letter.is_ascii_alphabetic())
            .unwrap_or(bare.len());
        (&bare[..end], Self(&bare[end..]))
    }

    /// `2 days 17 hours 14 minutes`, `11h30m15s`, `36.5s`.
    fn duration(self) -> Option<Period> {
        let mut sum = 0_u64;
        let mut rest = self;
        let mut has_unit = false;
        loop {
            let bare = rest.bare().0;
            let bare = bare.strip_prefix("and ").unwrap_or(bare);
            let end = bare.find(|letter: char| !letter.is_ascii_digit() && letter != '.');
            let digits = &bare[..end.unwrap_or(bare.len())];
            let Ok(number) = digits.parse::<f64>() else {
                break;
            };
            let (unit, after) = Self(&bare[digits.len()..]).word();
            let Some((_, length)) = UNITS.iter().find(|(begin, _)| unit.starts_with(begin)) else {
                break;
            };
            // The numbers of messages are small, and a cast saturates.
            sum = sum.saturating_add((number * *length as f64) as u64);
            has_unit = true;
            rest = after;
        }
        has_unit.then(|| Period::from_milliseconds(sum))
    }

    /// `5pm (europe/vilnius)`, `apr 23 at 4pm`, `nov 28th, 2026 3:05 pm`, `17:30`.
    fn clock(self) -> Option<Reset> {
        let mut time = CivilTime::default();
        let (word, after) = self.word();
        let month = MONTHS.iter().position(|month| word.starts_with(month));
        let mut rest = self;
        if let Some(month) = month {
            let (day, after) = after.number()?;
            let (suffix, after_suffix) = after.word();
            rest = if ["st", "nd", "rd", "th"].contains(&suffix) {
                after_suffix
            } else {
                after
            };
            if let Some((year, after)) = rest.number()
                && year >= 1970
            {
                time.year = Some(year);
                rest = after;
            }
            let (filler, after) = rest.word();
            rest = if filler == "at" { after } else { rest };
            time.date = Some((i8::try_from(month + 1).ok()?, i8::try_from(day).ok()?));
        }
        let (hour, after) = rest.number()?;
        let minutes = after
            .0
            .strip_prefix(':')
            .and_then(|rest| Scan(rest).number());
        let (minute, after) = minutes.unwrap_or((0, after));
        // Seconds do not matter.
        let seconds = after
            .0
            .strip_prefix(':')
            .and_then(|rest| Scan(rest).number());
        let after = seconds.map_or(after, |(_, after)| after);
        let (half, after_half) = after.word();
        let (hour, rest) = match (half, hour) {
            ("am", 12) => (0, after_half),
            ("pm", 1..=11) => (hour + 12, after_half),
            ("am" | "pm", 1..=12) => (hour, after_half),
            // A number alone is no time.
            _ if minutes.is_none() => return None,
            _ => (hour, after),
        };
        time.hour = i8::try_from(hour).ok()?;
        time.minute = i8::try_from(minute).ok()?;
        let named = rest.bare().0.strip_prefix('(');
        let zone = named.and_then(|rest| rest.split_once(')'));
        let zone = zone.map(|(name, _)| name.trim().to_owned());
        let (bare_zone, _) = rest.word();
        let zone = zone.or_else(|| (bare_zone == "utc").then(|| bare_zone.to_owned()));
        Some(Reset::Clock { time, zone })
    }
}

//! A deadline of the phase in which a task is.

use orch_base::{Timestamp, command};
use orch_core::decide::RunningDeadline;
use serde::{Deserialize, Serialize};

/// A deadline of the present attempt.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct DeadlineView {
    /// Its name in the workflow.
    pub name: String,
    /// When it passes, or has passed, in UTC.
    pub ends: String,
    /// Whether the record says that it has passed, so that rules see it.
    pub lapsed: bool,
    /// The present time, for people: it is not part of the answer, which holds no times but recorded ones.
    #[serde(skip)]
    pub(super) now: Option<Timestamp>,
}

impl DeadlineView {
    /// The deadlines of a decision.
    #[must_use]
    pub fn rows(running: &[RunningDeadline]) -> Vec<Self> {
        let rows = running.iter().map(|deadline| Self {
            name: deadline.name.clone(),
            ends: deadline.ends.to_string(),
            lapsed: deadline.has_lapsed,
            now: None,
        });
        rows.collect()
    }

    /// The deadline of a task in words.
    #[must_use]
    pub fn words(&self, task: &str) -> String {
        let Self { name, ends, .. } = self;
        if self.lapsed {
            return format!("deadline `{name}` has passed, at {ends}");
        }
        let left = self.now.zip(Timestamp::parse(ends)).map(|(now, end)| {
            let left = end.seconds().saturating_sub(now.seconds());
            (left, span(left.unsigned_abs()))
        });
        match left {
            None => format!("deadline `{name}` ends at {ends}"),
            Some((left, span)) if left > 0 => {
                format!("deadline `{name}` ends in {span}, at {ends}")
            }
            Some(_) => {
                let record = command(&["orch", "next", task]);
                format!("deadline `{name}` passed at {ends}, which no step has recorded: {record}")
            }
        }
    }

    /// The same in a few words.
    pub(super) fn short(&self, now: Timestamp) -> Option<String> {
        let name = &self.name;
        let end = Timestamp::parse(&self.ends)?;
        let left = end.seconds().saturating_sub(now.seconds());
        Some(if self.lapsed || left <= 0 {
            format!("`{name}` has passed")
        } else {
            format!("`{name}` ends in {}", span(left.unsigned_abs()))
        })
    }
}

/// A number of seconds in the largest unit that fits.
fn span(seconds: u64) -> String {
    const UNITS: [(&str, u64); 3] = [("d", 2 * 86_400), ("h", 2 * 3_600), ("min", 120)];
    let unit = UNITS.iter().find(|(_, least)| seconds >= *least);
    match unit {
        Some((unit, least)) => format!("{} {unit}", seconds / (least / 2)),
        None => format!("{seconds} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_deadline_is_told_with_what_is_left() {
        let running = |has_lapsed| RunningDeadline {
            name: "review".to_owned(),
            attempt: 1,
            entered: Timestamp::from_seconds(0),
            ends: Timestamp::from_seconds(172_800),
            has_lapsed,
        };
        let told = |has_lapsed, now: Option<i64>| {
            let mut view = DeadlineView::rows(&[running(has_lapsed)]).remove(0);
            view.now = now.map(Timestamp::from_seconds);
            view.words("t")
        };
        let at = "at 1970-01-03T00:00:00Z";
        for (has_lapsed, now, words) in [
            (false, None, format!("ends {at}")),
            (false, Some(0), format!("ends in 2 d, {at}")),
            (false, Some(172_800 - 7_200), format!("ends in 2 h, {at}")),
            (
                false,
                Some(172_800 - 7_199),
                format!("ends in 119 min, {at}"),
            ),
            (false, Some(172_799), format!("ends in 1 s, {at}")),
            (
                false,
                Some(172_800),
                format!("passed {at}, which no step has recorded: orch next t"),
            ),
            (true, Some(0), format!("has passed, {at}")),
        ] {
            let words = format!("deadline `review` {words}");
            assert_eq!(told(has_lapsed, now), words);
        }
    }
}

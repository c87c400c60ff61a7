//! Decides when a change has settled, without a clock of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

/// A group that never becomes quiet is due after this many settle times.
const PATIENCE: u32 = 20;

/// What an event says about a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum FileHint {
    /// The file is being written and is not yet closed.
    Writing,
    /// The key changed, and the change is complete.
    Changed,
    /// A directory appeared. Its first contents may have gone unreported, so the key is due a second time,
    /// one settle time after the first.
    Appeared,
}

/// Collects changed keys by group until a group is quiet.
///
/// The keys of a group become due together: as soon as nothing has been noted for `settle` and no file is
/// being written, but at the latest 20 settle times after the first note.
#[derive(Debug)]
pub(super) struct Debounce<K> {
    settle: Duration,
    groups: BTreeMap<K, Pending<K>>,
}

#[derive(Debug)]
struct Pending<K> {
    first: Instant,
    last: Instant,
    writing: BTreeSet<K>,
    /// The keys, and whether each is due a second time.
    keys: BTreeMap<K, bool>,
}

impl<K> Pending<K> {
    fn new(now: Instant) -> Self {
        Self {
            first: now,
            last: now,
            writing: BTreeSet::new(),
            keys: BTreeMap::new(),
        }
    }

    fn deadline(&self, settle: Duration) -> Instant {
        let latest = self.first + settle * PATIENCE;
        if self.writing.is_empty() {
            latest.min(self.last + settle)
        } else {
            latest
        }
    }
}

impl<K: Ord + Clone> Debounce<K> {
    /// A debounce without keys.
    pub(super) fn new(settle: Duration) -> Self {
        Self {
            settle,
            groups: BTreeMap::new(),
        }
    }

    /// Notes that `hint` happened to `key` of `group` at `now`.
    pub(super) fn note(&mut self, now: Instant, group: K, key: K, hint: FileHint) {
        let pending = self
            .groups
            .entry(group)
            .or_insert_with(|| Pending::new(now));
        pending.last = now;
        if hint == FileHint::Writing {
            pending.writing.insert(key.clone());
        } else {
            pending.writing.remove(&key);
        }
        *pending.keys.entry(key).or_default() |= hint == FileHint::Appeared;
    }

    /// Removes and returns the keys that are due at `now`, sorted, each with whether it is a directory that
    /// appeared and will be due a second time.
    pub(super) fn due(&mut self, now: Instant) -> BTreeMap<K, bool> {
        let settle = self.settle;
        let due: Vec<_> = self
            .groups
            .extract_if(.., |_, pending| pending.deadline(settle) <= now)
            .collect();
        let mut keys = BTreeMap::new();
        for (group, pending) in due {
            let mut again = Pending::new(now);
            again.keys = pending
                .keys
                .iter()
                .filter(|(_, twice)| **twice)
                .map(|(key, _)| (key.clone(), false))
                .collect();
            if !again.keys.is_empty() {
                self.groups.insert(group, again);
            }
            keys.extend(pending.keys);
        }
        keys
    }

    /// When the next key may become due, if any is pending.
    pub(super) fn next_deadline(&self) -> Option<Instant> {
        self.groups
            .values()
            .map(|pending| pending.deadline(self.settle))
            .min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    enum DebounceStep {
        /// At this millisecond, note this hint for this group and key.
        Note(u64, &'static str, &'static str, FileHint),
        /// At this millisecond, expect these keys to be due, and then this next deadline.
        Due(u64, &'static [&'static str], Option<u64>),
    }
    use DebounceStep::{Due, Note};
    use FileHint::{Appeared, Changed, Writing};

    #[test]
    fn keys_are_due_when_their_group_is_quiet() {
        let stories: &[(&str, &[DebounceStep])] = &[
            ("nothing is pending", &[Due(0, &[], None)]),
            (
                "a change is due after the settle time",
                &[
                    Note(0, "t", "a", Changed),
                    Due(49, &[], Some(50)),
                    Due(50, &["a"], None),
                ],
            ),
            (
                "each change restarts the quiet period of the whole group",
                &[
                    Note(0, "t", "a", Changed),
                    Note(40, "t", "b", Changed),
                    Note(60, "t", "a", Changed),
                    Due(100, &[], Some(110)),
                    Due(110, &["a", "b"], None),
                ],
            ),
            (
                "one group does not hold back another",
                &[
                    Note(0, "t", "a", Changed),
                    Note(40, "u", "b", Changed),
                    Due(50, &["a"], Some(90)),
                    Due(90, &["b"], None),
                ],
            ),
            (
                "an open file is waited for",
                &[
                    Note(0, "t", "a", Writing),
                    Due(500, &[], Some(1000)),
                    Note(500, "t", "a", Writing),
                    Note(600, "t", "b", Changed),
                    Note(700, "t", "a", Changed),
                    Due(749, &[], Some(750)),
                    Due(750, &["a", "b"], None),
                ],
            ),
            (
                "but not forever",
                &[
                    Note(0, "t", "a", Writing),
                    Note(999, "t", "a", Writing),
                    Due(999, &[], Some(1000)),
                    Due(1000, &["a"], None),
                ],
            ),
            (
                "and noise does not delay it forever",
                &[
                    Note(0, "t", "a", Changed),
                    Note(960, "t", "a", Changed),
                    Due(999, &[], Some(1000)),
                    Due(1000, &["a"], None),
                    Note(1001, "t", "a", Changed),
                    Due(1050, &[], Some(1051)),
                ],
            ),
            (
                "a directory that appeared is due twice",
                &[
                    Note(0, "t", "t", Appeared),
                    Note(0, "t", "a", Changed),
                    Due(50, &["a", "t"], Some(100)),
                    Due(99, &[], Some(100)),
                    Due(100, &["t"], None),
                ],
            ),
            (
                "what comes between the two looks joins the second",
                &[
                    Note(0, "t", "t", Appeared),
                    Due(50, &["t"], Some(100)),
                    Note(80, "t", "a", Changed),
                    Due(100, &[], Some(130)),
                    Due(130, &["a", "t"], None),
                ],
            ),
            (
                "a later change does not take back the second look",
                &[
                    Note(0, "t", "t", Appeared),
                    Note(10, "t", "t", Changed),
                    Due(60, &["t"], Some(110)),
                ],
            ),
        ];
        for (story, steps) in stories {
            let start = Instant::now();
            let at = |millis: u64| start + Duration::from_millis(millis);
            let mut debounce = Debounce::new(Duration::from_millis(50));
            for step in *steps {
                match *step {
                    Note(now, group, key, hint) => debounce.note(at(now), group, key, hint),
                    Due(now, keys, next) => {
                        assert_eq!(
                            debounce.due(at(now)).into_keys().collect::<Vec<_>>(),
                            keys,
                            "{story} at {now}"
                        );
                        assert_eq!(debounce.next_deadline(), next.map(at), "{story} at {now}");
                    }
                }
            }
        }
    }
}

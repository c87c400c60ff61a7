//! The log that was read last. If it has only grown since, only the new lines are read: a run records a step at each
//! turn, and would otherwise read as much of its log as it has turns, each time.

use super::fold::FoldCache;
use super::log::{EventLog, LogFault};

/// The text of a log without faults, its events, and the states that were folded from them.
#[derive(Debug, Default)]
pub struct KnownLog {
    text: Vec<u8>,
    log: EventLog,
    folds: FoldCache,
    /// How many lines were read, of this log and of others before it.
    lines: u64,
}

impl KnownLog {
    /// How many lines were read so far.
    #[must_use]
    pub fn lines_read(&self) -> u64 {
        self.lines
    }

    /// The events of a log, and the states that were folded from them before.
    ///
    /// # Errors
    ///
    /// The faults of its lines, as [`EventLog::parse`] returns them.
    pub fn read(&mut self, text: &[u8]) -> Result<(&EventLog, &mut FoldCache), Vec<LogFault>> {
        if !self.extend(text) {
            let (log, faults) = EventLog::parse(text);
            self.lines += log.ended_lines();
            if !faults.is_empty() {
                return Err(faults);
            }
            *self = Self {
                text: text.to_vec(),
                log,
                folds: FoldCache::default(),
                lines: self.lines,
            };
        }
        Ok((&self.log, &mut self.folds))
    }

    /// Reads what a log adds to the known one. Returns false if it does not begin with that, or if a new line is at fault.
    fn extend(&mut self, text: &[u8]) -> bool {
        // The last line must have ended, or more of it may have come.
        let new = text
            .strip_prefix(self.text.as_slice())
            .filter(|_| self.text.ends_with(b"\n"));
        let Some(new) = new else { return false };
        let before = self.log.ended_lines();
        let is_whole = self.log.parse_on(new).is_empty();
        self.lines += self.log.ended_lines() - before;
        if is_whole {
            self.text.extend_from_slice(new);
        } else {
            // The log contains events of a faulty text now.
            *self = Self {
                lines: self.lines,
                ..Self::default()
            };
        }
        is_whole
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::decide::State;
    use crate::record::log::LogFaultKind;
    use crate::record::tests::steps;

    /// The lines of a log with so many events.
    fn lines(many: i64) -> Vec<String> {
        let (log, _) = steps(&State::default(), many, 1);
        log.split_inclusive('\n').map(str::to_owned).collect()
    }

    fn assert_same(known: &mut KnownLog, text: &str) {
        let (log, faults) = EventLog::parse(text.as_bytes());
        match known.read(text.as_bytes()) {
            Ok((read, folds)) => {
                assert_eq!(faults, [], "{text}");
                assert!(read.events().eq(log.events()), "{text}");
                assert_eq!(read.heads(), log.heads());
                for head in log.heads() {
                    assert_eq!(
                        read.state_at(&head, folds),
                        log.state_at(&head, &mut FoldCache::default())
                    );
                }
            }
            Err(found) => assert_eq!(found, faults, "{text}"),
        }
    }

    #[test]
    fn every_pair_of_texts_is_read_as_if_it_were_alone() {
        let lines = lines(4);
        assert_eq!(lines.len(), 4);
        let join = |of: &[usize]| of.iter().map(|at| lines[*at].as_str()).collect::<String>();
        let whole = join(&[0, 1, 2, 3]);
        let texts = [
            String::new(),
            join(&[0]),
            join(&[0, 1]),
            whole.clone(),
            whole.trim_end().to_owned(),
            format!("{}\n", join(&[0, 1])),
            whole.replace('\n', "\r\n"),
            join(&[1, 0]),
            join(&[0, 0, 1]),
            join(&[0, 2]),
            join(&[0, 1, 3]),
            format!("{}no event\n", join(&[0])),
            format!("{}<<<<<<< ours\n", join(&[0, 1])),
            format!("\u{feff}{}", join(&[0])),
            format!("{}{}", join(&[0]), &lines[1][..40]),
            format!("{}\u{feff}", join(&[0])),
        ];
        for one in &texts {
            for other in &texts {
                let mut known = KnownLog::default();
                for text in [one, other, &whole, one] {
                    assert_same(&mut known, text);
                }
            }
        }
    }

    #[test]
    fn lines_that_are_known_are_not_read_again() {
        let lines = lines(2);
        let (log, _) = EventLog::parse(lines[0].as_bytes());
        // Nobody would take this text for that log.
        let mut known = KnownLog {
            text: b"no event\n".to_vec(),
            log,
            ..KnownLog::default()
        };
        let (read, _) = known
            .read(format!("no event\n{}", lines[1]).as_bytes())
            .expect("no faults");
        assert_eq!(read.len(), 2);
        assert_eq!(known.lines_read(), 1);
    }

    #[test]
    fn the_number_of_a_line_counts_all_lines_before_it() {
        let lines = lines(2);
        let mut known = KnownLog::default();
        known.read(lines[0].as_bytes()).unwrap();
        let faults = known
            .read(format!("{}\nno event\n", lines[0]).as_bytes())
            .unwrap_err();
        assert_eq!(faults[0].line, 3);
        known.read(lines[0].as_bytes()).unwrap();
        known
            .read(format!("{}\n{}", lines[0], lines[1]).as_bytes())
            .unwrap();
        let id = known.log.heads()[0];
        let fault = known.log.fault_of(&id, LogFaultKind::NotUtf8);
        assert_eq!(fault.line, 3, "also of a line that was read later");
    }
}

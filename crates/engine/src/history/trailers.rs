//! What a commit message states about steps, compared with the events that the commit adds. People read the
//! message, so it must say what the record says.

use super::subject::SubjectMove;
use orch_base::trailer::{EVIDENCE, TASK, TO, UNPROVEN, WRITER};
use orch_base::{Digest, TaskId};
use orch_core::decide::{HistoryEntry, Proof, Standing};
use orch_core::record::LogEvent;
use orch_git::trailers;
use orch_view::{StepTrailers, quoted};
use std::collections::BTreeSet;

/// The common beginning of the trailers that `orch` writes.
const OURS: &str = "Orch-";

/// What a commit message states about the records that the commit changes.
#[derive(Default)]
pub(super) struct MessageSteps {
    /// The steps that its trailers describe.
    steps: Vec<MessageStep>,
    /// The moves that its text states.
    moves: Vec<SubjectMove>,
    /// Whether the commit is a merge. A host may give a merge, which brings the steps of a branch, the subject of
    /// one of them.
    is_merge: bool,
}

impl MessageSteps {
    /// What the message of a commit states. `is_merge` says that the commit has several parents.
    pub(super) fn of(message: &str, is_merge: bool) -> Self {
        let steps = MessageStep::all(message);
        let moves = SubjectMove::all(message, !steps.is_empty());
        Self {
            steps,
            moves,
            is_merge,
        }
    }

    /// Whether it states nothing.
    pub(super) fn is_empty(&self) -> bool {
        self.steps.is_empty() && self.moves.is_empty()
    }

    /// Whether it describes steps, and these are those of another message.
    pub(super) fn has_steps_of(&self, other: &Self) -> bool {
        !self.steps.is_empty() && self.steps == other.steps
    }

    /// Whether its subject states a move without naming a task.
    pub(super) fn has_unnamed_move(&self) -> bool {
        self.moves.iter().any(|one| one.task.is_none())
    }

    /// Why trailers that describe a step without naming a task are wrong; `None` if there are none.
    pub(super) fn unnamed_step(&self) -> Option<String> {
        self.steps
            .iter()
            .find(|one| one.task.is_empty())
            .map(MessageStep::not_recorded)
    }

    /// Each task that the message names for a step or a move.
    pub(super) fn tasks(&self) -> impl Iterator<Item = NamedTask<'_>> {
        let steps = self
            .steps
            .iter()
            .filter(|one| !one.task.is_empty())
            .map(|one| NamedTask {
                name: &one.task,
                is_by_trailers: true,
                why: one.not_recorded(),
            });
        let moves = self
            .moves
            .iter()
            .filter(|_| !self.is_merge)
            .filter_map(|one| {
                Some(NamedTask {
                    name: one.task.as_deref()?,
                    is_by_trailers: false,
                    why: one.contradicts(&[])?,
                })
            });
        steps.chain(moves)
    }

    /// The verdict if the message does not describe these new events of a task, or if that cannot be determined; `None` if
    /// it does, or states none. `is_only` says that the commit adds events of no other task, and `is_phase` which
    /// names are phases of the task.
    pub(super) fn contradicts(
        &self,
        task: &TaskId,
        events: &[LogEvent],
        is_only: bool,
        is_phase: impl Fn(&str) -> bool,
    ) -> Option<Proof> {
        let is_only = is_only && !events.is_empty();
        let mut steps = self
            .steps
            .iter()
            .filter(|one| one.task.is_empty() || one.task == task.as_str());
        let entries: Vec<&HistoryEntry> = events.iter().map(|event| event.entry.as_ref()).collect();
        let has_moves = !(self.is_merge && entries.is_empty());
        let mut moves = self
            .moves
            .iter()
            .filter(|one| has_moves && one.is_about(task, is_only, &is_phase));
        let forged = steps.clone().find_map(|one| one.contradicts(task, events));
        let forged = forged.or_else(|| moves.find_map(|one| one.contradicts(&entries)));
        let unclear = |why| Proof::bare(Standing::Unverifiable, why);
        forged
            .map(Proof::forged)
            .or_else(|| steps.find_map(|one| one.unclear(events)).map(unclear))
    }
}

/// A task that a commit message names for a step or a move.
pub(super) struct NamedTask<'t> {
    /// The id of the task, as told.
    pub name: &'t str,
    /// Whether trailers name it. They have a form of their own; a subject may mean something else.
    pub is_by_trailers: bool,
    /// The reason if the commit does not record the step or the move.
    pub why: String,
}

/// A step that the trailers of a commit describe, or several of one task that share their trailers.
#[derive(Debug, PartialEq)]
pub(super) struct MessageStep {
    /// The id of the task, as told; empty without `Orch-Task`.
    task: String,
    /// The other trailers of `orch`: token and value.
    rest: Vec<(String, String)>,
    /// How many steps of the task the trailers describe.
    steps: usize,
    /// Whether some of the trailers may describe steps of other tasks.
    is_shared: bool,
    /// Whether git takes them for trailers.
    is_git: bool,
}

impl MessageStep {
    /// The steps that a commit message states. Trailers without any but `Orch-Task` only name the task that a commit
    /// of code belongs to, and state no step.
    fn all(message: &str) -> Vec<Self> {
        if !message
            .to_ascii_lowercase()
            .contains(&OURS.to_ascii_lowercase())
        {
            return Vec::new();
        }
        let (found, is_git) = message_trailers(message);
        Self::grouped(
            found
                .into_iter()
                .filter(|(token, _)| is_ours(token))
                .collect(),
            is_git,
        )
    }

    /// Divides trailers of `orch` into steps. `orch` begins each step with `Orch-Task`; a tool that rewrites history
    /// may reverse or sort them.
    fn grouped(trailers: Vec<(String, String)>, is_git: bool) -> Vec<Self> {
        let is_task = |(token, _): &(String, String)| token.eq_ignore_ascii_case(TASK);
        let of = |group: &[(String, String)]| {
            let task = group
                .iter()
                .find(|one| is_task(one))
                .map(|(_, value)| value.clone());
            let rest = group.iter().filter(|one| !is_task(one)).cloned().collect();
            Self {
                task: task.unwrap_or_default(),
                rest,
                steps: 1,
                is_shared: false,
                is_git,
            }
        };
        let tasks: Vec<&String> = trailers
            .iter()
            .filter(|one| is_task(one))
            .map(|(_, value)| value)
            .collect();
        if tasks.len() < 2 {
            return Some(of(&trailers))
                .filter(|step| !step.rest.is_empty())
                .into_iter()
                .collect();
        }
        let forwards: Vec<Self> = trailers
            .chunk_by(|_, next| !is_task(next))
            .map(of)
            .collect();
        let backwards: Vec<Self> = trailers.chunk_by(|one, _| !is_task(one)).map(of).collect();
        for mut steps in [forwards, backwards] {
            steps.retain(|step| !step.rest.is_empty());
            if steps.iter().all(Self::is_whole) {
                return steps;
            }
        }
        let names: BTreeSet<&String> = tasks.iter().copied().collect();
        let is_shared = names.len() > 1;
        let steps = |name: &&String| tasks.iter().filter(|task| task == &name).count();
        let shared = |name| Self {
            task: String::clone(name),
            steps: steps(&name),
            is_shared,
            ..of(&trailers)
        };
        names.into_iter().map(shared).collect()
    }

    /// Whether this has the one trailer that each step has.
    fn is_whole(&self) -> bool {
        !self.task.is_empty() && self.values(TO).count() == 1
    }

    /// Why it is unclear whether the trailers are those of the events of their task, if they may be.
    fn unclear(&self, events: &[LogEvent]) -> Option<String> {
        let is_unclear = self.is_shared || (self.steps > 1 && self.steps != events.len());
        is_unclear.then(|| {
            "the trailers of several steps are mixed, so each line may describe any of them"
                .to_owned()
        })
    }

    /// Why the trailers are not those of any of these events of a task, compared with the event that they fit
    /// best; `None` if they are those of one.
    fn contradicts(&self, task: &TaskId, events: &[LogEvent]) -> Option<String> {
        if events.len() < self.steps {
            return Some(self.not_recorded());
        }
        if self.unclear(events).is_some() {
            return None;
        }
        let mut whys = Vec::new();
        for events in events.chunks(self.steps) {
            let recorded: Vec<_> = events
                .iter()
                .flat_map(|event| {
                    StepTrailers::recorded(task, &event.entry, &event.workflow).list()
                })
                .collect();
            let agreed = recorded
                .iter()
                .filter(|(token, value)| self.says(token, value))
                .count();
            whys.push((agreed, self.differs(task, events, &recorded)?));
        }
        let nearest = whys.into_iter().max_by_key(|(agreed, _)| *agreed);
        nearest.map(|(_, why)| self.as_seen(why))
    }

    /// A reason, with a note if git does not take the lines for trailers.
    fn as_seen(&self, why: String) -> String {
        if self.is_git {
            return why;
        }
        format!("{why}; git takes these lines for text, but people read them as trailers")
    }

    /// The reason if the commit adds no event of the task.
    fn not_recorded(&self) -> String {
        if self.task.is_empty() {
            let text = self
                .rest
                .iter()
                .map(|(token, value)| format!("{token}: {value}"))
                .next();
            let text = text.unwrap_or_default();
            return self.as_seen(format!(
                "the trailers describe a step ({text}) without {TASK}, and this commit records none"
            ));
        }
        self.as_seen(format!(
            "the trailers describe a step of `{}` that this commit does not record",
            self.task
        ))
    }

    /// The values of the trailers with this token.
    fn values<'t>(&'t self, token: &'static str) -> impl Iterator<Item = &'t str> {
        let own = self
            .rest
            .iter()
            .filter(move |(name, _)| name.eq_ignore_ascii_case(token));
        own.map(|(_, value)| value.as_str())
    }

    /// Whether a trailer has this token and value.
    fn says(&self, token: &str, value: &str) -> bool {
        self.rest
            .iter()
            .any(|(name, text)| name.eq_ignore_ascii_case(token) && text == value)
    }

    /// The files that steps rest on and that no trailer names one by one.
    fn unlisted<'e>(&self, events: &'e [LogEvent]) -> Vec<(&'e str, Digest)> {
        let is_listed = |path: &str, digest: &str| {
            self.values(EVIDENCE)
                .any(|value| is_evidence(value, path, digest))
        };
        let evidence = evidence_of(events).filter(|(path, digest)| !is_listed(path, digest));
        evidence
            .filter_map(|(path, digest)| Some((path.as_str(), Digest::parse(digest)?)))
            .collect()
    }

    /// Whether the values that stand for several files account for the files that are not listed one by one.
    fn accounts_for(&self, unlisted: &[(&str, Digest)]) -> bool {
        let several: Vec<(usize, Digest)> = self.values(EVIDENCE).filter_map(several).collect();
        match several.as_slice() {
            [] => true,
            [(count, digest)] => *count == unlisted.len() && Digest::of_files(unlisted) == *digest,
            // Which artifact a file belongs to is not in the record.
            many => many.iter().map(|(count, _)| count).sum::<usize>() == unlisted.len(),
        }
    }

    /// Why the trailers are not those of these events, whose own trailers are `recorded`; `None` if they are.
    fn differs(
        &self,
        task: &TaskId,
        events: &[LogEvent],
        recorded: &[(&'static str, String)],
    ) -> Option<String> {
        if self.task.is_empty() {
            return Some(format!(
                "the trailer {TASK} is missing; the record says {:?}",
                task.as_str()
            ));
        }
        let mut wanted = recorded.iter().filter(|(token, _)| *token != TASK);
        if let Some((token, value)) = wanted.find(|(token, value)| !self.says(token, value)) {
            return Some(match self.values(token).next() {
                Some(said) => {
                    format!("the trailer {token} says {said:?}, but the record says {value:?}")
                }
                None => format!("the trailer {token} is missing; the record says {value:?}"),
            });
        }
        let unlisted = self.unlisted(events);
        let is_several = self.accounts_for(&unlisted);
        for (token, value) in &self.rest {
            let is_known = if token.eq_ignore_ascii_case(EVIDENCE) {
                evidence_of(events).any(|(path, digest)| is_evidence(value, path, digest))
                    || (several(value).is_some() && is_several)
            } else if token.eq_ignore_ascii_case(UNPROVEN) {
                evidence_of(events).any(|(path, _)| *value == quoted(path))
            } else {
                let has = |(known, text): &(&str, String)| {
                    token.eq_ignore_ascii_case(known) && text == value
                };
                recorded.iter().any(has)
            };
            if !is_known {
                return Some(format!(
                    "the trailer {token} says {value:?}, which the record does not say"
                ));
            }
        }
        let has_several = self.rest.iter().any(|(_, value)| several(value).is_some());
        let is_unproven = |path: &str| self.values(UNPROVEN).any(|value| value == quoted(path));
        let missing = unlisted
            .iter()
            .find(|(path, _)| !has_several && !is_unproven(path));
        missing.map(|(path, digest)| {
            format!(
                "the trailers do not list the evidence {path}@{}",
                digest.short()
            )
        })
    }
}

/// The evidence of some events: path and digest.
fn evidence_of(events: &[LogEvent]) -> impl Iterator<Item = &(String, String)> {
    events.iter().flat_map(|event| &event.entry.evidence)
}

/// Whether this is the token of a trailer by which `orch` tells of a step. Who has made a commit is not part of one.
fn is_ours(token: &str) -> bool {
    if token.eq_ignore_ascii_case(WRITER) {
        return false;
    }
    token
        .get(..OURS.len())
        .is_some_and(|start| start.eq_ignore_ascii_case(OURS))
}

/// The trailers of a message that people read as such, and whether git takes them for trailers. Blocks of other
/// trailers may follow those of `orch`, such as a sign-off in a paragraph of its own: git does not count what is
/// above the last block. Nor does it count lines at the end of a paragraph of text.
fn message_trailers(message: &str) -> (Vec<(String, String)>, bool) {
    let lines: Vec<&str> = message.lines().map(str::trim_end).collect();
    let is_blank = |line: &&str| line.is_empty();
    let mut rest = lines.as_slice();
    let mut is_last = true;
    while let Some(last) = rest.iter().rposition(|line| !line.is_empty()) {
        rest = &rest[..=last];
        let found = trailers(&rest.join("\n"));
        if found.iter().any(|(token, _)| is_ours(token)) {
            return (found, is_last);
        }
        let paragraph = &rest[rest.iter().rposition(is_blank).map_or(0, |blank| blank + 1)..];
        let read = trailers_at_end(paragraph);
        if found.is_empty() || !read.is_empty() {
            return (read, false);
        }
        rest = &rest[..rest.len() - paragraph.len()];
        is_last = false;
    }
    (Vec::new(), false)
}

/// The lines at the end of a paragraph that have the form of trailers, if one of them is a trailer of `orch`. The
/// first line of the paragraph is none.
fn trailers_at_end(paragraph: &[&str]) -> Vec<(String, String)> {
    let read = |line: &&str| -> Option<(String, String)> {
        let (token, value) = line.split_once(':')?;
        let is_token = |token: &str| {
            !token.is_empty()
                && token
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || byte == b'-')
        };
        is_token(token.trim_end()).then(|| (token.trim_end().to_owned(), value.trim().to_owned()))
    };
    let below = paragraph.get(1..).unwrap_or_default();
    let mut found: Vec<_> = below.iter().rev().map_while(read).collect();
    found.reverse();
    if found.iter().any(|(token, _)| is_ours(token)) {
        found
    } else {
        Vec::new()
    }
}

/// Whether the value of a trailer names this file.
fn is_evidence(value: &str, path: &str, digest: &str) -> bool {
    value
        .rsplit_once('@')
        .is_some_and(|(name, said)| said == digest && name == quoted(path))
}

/// The number of files and the digest in `ARTIFACT (N files)@DIGEST`, which stands for several files.
fn several(value: &str) -> Option<(usize, Digest)> {
    let (name, digest) = value.rsplit_once('@')?;
    let count = name.strip_suffix(" files)")?.rsplit_once('(')?.1;
    Some((count.parse().ok()?, Digest::parse(digest)?))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The steps that a message states: task, values, and how many steps share them.
    fn shown_steps(message: &str) -> Vec<String> {
        let shown = |step: &MessageStep| {
            let rest: Vec<&str> = step.rest.iter().map(|(_, value)| value.as_str()).collect();
            let mixed = if step.is_shared { " shared" } else { "" };
            let git = if step.is_git { "" } else { " text" };
            format!(
                "{} {} {}{mixed}{git}",
                step.steps,
                step.task,
                rest.join(",")
            )
        };
        MessageStep::all(message).iter().map(shown).collect()
    }

    #[test]
    fn steps_are_read_from_trailers_in_any_order() {
        let cases: [(&[&str], &[&str]); 8] = [
            (&["Task: t"], &[]),
            (&["Task: t", "From: a", "To: b"], &["1 t a,b"]),
            (&["From: a", "To: b", "Task: t"], &["1 t a,b"]),
            (&["To: b"], &["1  b"]),
            (
                &["Task: t", "To: a", "Task: u", "To: b", "Task: v"],
                &["1 t a", "1 u b"],
            ),
            (
                &["To: a", "Task: t", "From: c", "To: b", "Task: u"],
                &["1 t a", "1 u c,b"],
            ),
            (&["Task: t", "Task: t", "To: a", "To: b"], &["2 t a,b"]),
            (
                &["From: c", "Task: t", "Task: u", "To: a", "To: b"],
                &["1 t c,a,b shared", "1 u c,a,b shared"],
            ),
        ];
        for (lines, expected) in cases {
            let lines: Vec<String> = lines.iter().map(|line| format!("Orch-{line}")).collect();
            assert_eq!(
                shown_steps(&format!("Subject\n\n{}\n", lines.join("\n"))),
                expected,
                "{lines:?}"
            );
        }
    }

    #[test]
    fn lines_that_people_read_as_trailers_count() {
        for (message, expected) in [
            ("Subject\n\nOrch-To: b\n", &["1  b"][..]),
            (
                "Subject\n\nText.\nOrch-Task: t\nOrch-To: b\n",
                &["1 t b text"],
            ),
            (
                "Subject\r\n\r\nText.\r\nOrch-Task: t\r\nOrch-To: b\r\n",
                &["1 t b text"],
            ),
            ("Subject\nOrch-Task: t\nOrch-To: b", &["1 t b text"]),
            (
                "Subject\n\nText.\norch-task : t\nFixes: 1\nOrch-To: b\n \n",
                &["1 t b text"],
            ),
            (
                "Subject\n\nText.\nOrch-Task: t\nOrch-To: b\n\nSigned-off-by: A <a@b>",
                &["1 t b text"],
            ),
            (
                "Subject\n\nText.\nOrch-Task: t\nOrch-To: b\nSigned-off-by: A <a@b>",
                &["1 t b"],
            ),
            (
                "Subject\n\nOrch-Task: t\nOrch-To: b\n\nSigned-off-by: A <a@b>",
                &["1 t b text"],
            ),
            ("Subject\n\nOrch-To: b\nText.", &[]),
            ("Subject\n\nOrch-To: b\n\nText.", &[]),
            ("Subject\n\nIt sets\nOrch-To: as before.\nSo", &[]),
            (
                "Squash\n\n    orch(t): a -> b\n\n    Orch-Task: t\n    Orch-To: b\n",
                &[],
            ),
            (
                "Subject\n\n---\nText.\n\nOrch-Task: t\nOrch-To: b\n",
                &["1 t b"],
            ),
            ("Orch-To: b", &[]),
        ] {
            assert_eq!(shown_steps(message), expected, "{message:?}");
        }
    }
}

//! Whether the files of one run are complete: a test runner writes one report for each class, seconds apart.
//!
//! What is incomplete holds back the watch and runs only. A decision is the same for whoever asks.

use crate::survey::{Sight, Workspace};
use orch_base::{ArtifactName, Digest, Period, RepoPath};
use orch_core::decide::{Transition, Verdict};
use orch_core::workflow::Completion;
use orch_files::FileStamp;
use std::collections::BTreeMap;
use std::time::{Duration, Instant};

pub(super) type FileSets = Vec<(ArtifactName, Digest)>;

/// Files that a due transition rests on, of which more may come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Incomplete {
    /// The sets that are complete if nothing has changed for the quiet time.
    pub sets: FileSets,
    /// How long nothing must change; `None` if a file has to come that marks the end.
    pub quiet: Option<Period>,
    /// What is waited for.
    pub why: String,
}

/// What keeps a transition waiting for files of the same run. `known` are the sets that have been quiet long enough.
pub(super) fn incomplete(
    workspace: &Workspace,
    sight: &Sight,
    transition: &Transition,
    known: &FileSets,
) -> Option<Incomplete> {
    let mut found: Option<Incomplete> = None;
    for evidence in &transition.evidence {
        let artifact = sight.workflow().artifact(&evidence.artifact);
        let Some((artifact, completion)) =
            artifact.and_then(|artifact| Some((artifact, artifact.complete.as_ref()?)))
        else {
            continue;
        };
        let shown = artifact
            .paths
            .first()
            .map_or(artifact.name.as_str(), String::as_str);
        match completion {
            Completion::Marker(marker) => {
                let path = sight.task.file(marker).ok();
                let is_there = path.is_some_and(|path| {
                    FileStamp::at(&path.under(workspace.reader.root())).is_some()
                });
                if !is_there {
                    let why = format!("{shown}: waiting for {marker}");
                    return Some(Incomplete {
                        sets: Vec::new(),
                        quiet: None,
                        why,
                    });
                }
            }
            Completion::Quiet(quiet) => {
                let set = (artifact.name.clone(), evidence.digest);
                if *quiet == Period::default() || known.contains(&set) {
                    continue;
                }
                let why = format!("{shown}: waiting until no report has changed for {quiet}");
                let known = found.get_or_insert_with(|| Incomplete {
                    sets: Vec::new(),
                    quiet: Some(*quiet),
                    why,
                });
                known.sets.push(set);
                known.quiet = known.quiet.max(Some(*quiet));
            }
        }
    }
    found
}

/// What keeps the transition waiting that is due for a task.
pub(super) fn incomplete_now(
    workspace: &Workspace,
    sight: &Sight,
    known: &FileSets,
) -> Option<Incomplete> {
    match &sight.decision.verdict {
        Verdict::Transition(due) => incomplete(workspace, sight, due, known),
        _ => None,
    }
}

/// Measures for each task how long its files have not changed.
#[derive(Debug, Default)]
pub(super) struct QuietTimer {
    since: BTreeMap<RepoPath, (FileSets, Instant)>,
}

impl QuietTimer {
    /// The tasks whose files have been quiet long enough, and how long it takes until the next one has.
    pub(super) fn left<'i>(
        &mut self,
        waiting: impl Iterator<Item = (&'i RepoPath, &'i Incomplete)>,
        now: Instant,
    ) -> (Vec<RepoPath>, Option<Duration>) {
        let mut since = BTreeMap::new();
        let mut quiet = Vec::new();
        let mut next = None;
        for (task, incomplete) in waiting {
            let Some(period) = incomplete.quiet else {
                continue;
            };
            let began = match self.since.remove(task) {
                Some((sets, began)) if sets == incomplete.sets => began,
                _ => now,
            };
            let end = began + Duration::from_millis(period.milliseconds());
            let left = end.saturating_duration_since(now);
            if left.is_zero() {
                quiet.push(task.clone());
            }
            next = Some(next.map_or(left, |next: Duration| next.min(left)));
            since.insert(task.clone(), (incomplete.sets.clone(), began));
        }
        self.since = since;
        (quiet, next)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_task_is_quiet_once_its_own_files_have_not_changed() {
        let mut timer = QuietTimer::default();
        let start = Instant::now();
        let seconds = Duration::from_secs;
        let of = |digit: &str| Incomplete {
            sets: vec![(
                ArtifactName::new("junit").expect("a name"),
                Digest::parse(&digit.repeat(40)).expect("a digest"),
            )],
            quiet: Some(Period::from_seconds(3)),
            why: String::new(),
        };
        let marked = Incomplete {
            sets: Vec::new(),
            quiet: None,
            why: String::new(),
        };
        let [a, b, c] = ["a", "b", "c"].map(|path| RepoPath::new(path).expect("a path"));
        let mut left = |waiting: &[(&RepoPath, &Incomplete)], after| {
            timer.left(waiting.iter().copied(), start + seconds(after))
        };
        assert_eq!(left(&[], 0), (vec![], None));
        assert_eq!(
            left(&[(&c, &marked)], 0),
            (vec![], None),
            "no time brings the file"
        );
        assert_eq!(left(&[(&a, &of("1"))], 0), (vec![], Some(seconds(3))));
        assert_eq!(
            left(&[(&a, &of("1")), (&b, &of("1"))], 2),
            (vec![], Some(seconds(1)))
        );
        assert_eq!(
            left(&[(&a, &of("2")), (&b, &of("1"))], 4),
            (vec![], Some(seconds(1))),
            "another file"
        );
        assert_eq!(
            left(&[(&a, &of("2")), (&b, &of("1"))], 5),
            (vec![b.clone()], Some(seconds(0)))
        );
        assert_eq!(left(&[(&a, &of("2"))], 7), (vec![a], Some(seconds(0))));
    }
}

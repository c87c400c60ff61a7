//! What a turn inside a fence has committed that it could not have written, and which other references have moved.
//!
//! A commit can be made of objects alone, without the files: `git update-index --cacheinfo` and `git commit-tree` ask no
//! cover. So the trees of HEAD before and after the turn are compared. But people, other runs and the watch may commit on the
//! same branch meanwhile, and `git add -A` takes along what somebody else has left. So a change of a path that was closed
//! counts only if the file in the work tree is another one, which the turn could not write either, and if it was not staged
//! before. Even then it ends the run only for the files of the task, the rules and the settings, which nobody else moves on
//! while the task is worked on; the files of other tasks, and code outside `touches`, are told.

use super::turn_fence::TurnFence;
use super::{Happened, Reporter};
use crate::apply::Writer;
use crate::run::foreign_places;
use crate::survey::{Error, Sight};
use orch_base::{Code, Diagnostic, Digest, Hint, RepoPath, enumeration};
use orch_core::decide::Work;
use orch_git::{IndexSource, RefGuard, Store};
use std::os::unix::ffi::OsStrExt;

/// How many paths are named.
const MOST_NAMED: usize = 10;

/// What git had before a turn.
pub(super) struct GitBefore<'a> {
    writer: &'a Writer<'a>,
    branch: Option<String>,
    head: Option<Digest>,
    /// What was staged; `None` if the turn cannot commit.
    index: Option<IndexSource<'a>>,
    /// Where the other references were, likewise.
    references: Option<RefGuard>,
}

/// Paths that a turn has committed and could not have written.
#[derive(Debug, Default, PartialEq, Eq)]
struct ClosedPaths {
    /// Files of the task, rules and settings.
    own: Vec<RepoPath>,
    /// All others.
    others: Vec<RepoPath>,
}

impl<'a> GitBefore<'a> {
    /// What it has now; `None` if that cannot be read. `commits` says whether the turn may commit.
    pub(super) fn of(writer: &'a Writer<'a>, commits: bool) -> Option<Self> {
        let reader = &writer.workspace.reader;
        let store = reader.store().filter(|_| commits);
        Some(Self {
            writer,
            branch: reader.branch().ok()?,
            head: reader.head().ok()?,
            index: store.and_then(|store| store.index().index_source().ok()),
            references: store.and_then(|store| store.refs().guard().ok()),
        })
    }

    /// Warns of what has moved, and may be somebody else's. Returns the error that ends the run if the branch was switched, or
    /// commits were taken away or hold what the turn could not write.
    pub(super) fn look_after(
        &self,
        (sight, fence): (&Sight, &TurnFence),
        work: &Work,
        report: &mut Reporter<'_>,
    ) -> Option<Error> {
        if let Some(error) = self.moved() {
            return Some(error);
        }
        let closed = match self.closed_paths(sight, fence) {
            Ok(closed) => closed,
            Err(error) => return Some(error),
        };
        self.say_moved(work, report);
        let before = self
            .head
            .map(|head| format!("{}..HEAD", &head.to_string()[..9]));
        let look = |paths: &[RepoPath], hint: &str| {
            let range = before.as_deref().unwrap_or("HEAD");
            let named: Vec<&str> = paths.iter().map(RepoPath::as_str).collect();
            let named = &named[..named.len().min(MOST_NAMED)];
            Hint::from(hint).command(&[&["git", "log", "--stat", range, "--"], named].concat())
        };
        let work = work.name();
        if !closed.others.is_empty() {
            let paths = enumeration(&closed.others, MOST_NAMED);
            let message = format!(
                "commits that came while `{work}` worked hold what it may not write, and the files are different: {paths}"
            );
            let hint = look(&closed.others, "see whether somebody else has made them: ");
            report(&Happened::Note(
                &Diagnostic::warning(Code::FenceLeft, message).hint(hint),
            ));
        }
        if closed.own.is_empty() {
            return None;
        }
        let paths = enumeration(&closed.own, MOST_NAMED);
        let message = format!(
            "commits that came while `{work}` worked hold what is not its to make, and the files are different: {paths}"
        );
        let hint = look(
            &closed.own,
            "unless you have made them, take the commits back before the task goes on: ",
        );
        Some(Error::new(Code::FenceLeft, message).with_hint(hint))
    }

    /// The error if the branch was switched since, or commits were taken away.
    fn moved(&self) -> Option<Error> {
        let now = Self::of(self.writer, false)?;
        let name =
            |branch: &Option<String>| branch.clone().unwrap_or_else(|| "no branch".to_owned());
        let message = if now.branch != self.branch {
            let before = name(&self.branch);
            let after = name(&now.branch);
            format!("the branch was switched while the executor worked: from {before} to {after}")
        } else {
            let before = self.head?;
            let store = self.writer.workspace.reader.store()?;
            let is_kept = now.head.is_some_and(|head| {
                head == before || store.history().is_ancestor(before, head).unwrap_or(true)
            });
            if is_kept {
                return None;
            }
            format!("commits were taken away while the executor worked: HEAD was {before}")
        };
        let hint = Hint::from("look at what the turn left: ").command(&["git", "reflog"]);
        Some(Error::new(Code::FenceBroken, message).with_hint(hint))
    }

    /// The paths that HEAD has otherwise than before, that the turn could not write, and that nothing explains. Returns an error
    /// if git or a file cannot be read.
    fn closed_paths(&self, sight: &Sight, fence: &TurnFence) -> Result<ClosedPaths, Error> {
        let mut closed = ClosedPaths::default();
        let reader = &self.writer.workspace.reader;
        let (Some(store), Some(index)) = (reader.store(), &self.index) else {
            return Ok(closed);
        };
        let now = reader.head()?;
        if now == self.head {
            return Ok(closed);
        }
        let before = store.objects().source_at(self.head);
        let after = store.objects().source_at(now);
        let changed = store
            .history()
            .changed(&before, &after, &RepoPath::root())?;
        let phase = sight.decision.phase.as_ref();
        let phase = phase.and_then(|phase| sight.workflow().phase(phase));
        let place = &sight.task.place;
        let foreign = phase.map(|phase| foreign_places(sight.workflow(), phase, place, &changed));
        let foreign = foreign.unwrap_or_default();
        for path in changed {
            let is_permitted = fence.permits(&path) && !foreign.contains(&path);
            let committed = after.blob_at(&path)?;
            let is_staged = || index.file(&path).map(|file| file.blob) == committed;
            if is_permitted || on_disk(store, &path)? == committed || is_staged() {
                continue;
            }
            if place.owns(&path) || fence.is_rule(&path) {
                closed.own.push(path);
            } else {
                closed.others.push(path);
            }
        }
        Ok(closed)
    }

    /// Tells which other references have moved.
    fn say_moved(&self, work: &Work, report: &mut Reporter<'_>) {
        let store = self.writer.workspace.reader.store();
        let Some((store, before)) = store.zip(self.references.as_ref()) else {
            return;
        };
        let moved = match store.refs().moved_since(before) {
            Ok(moved) => moved,
            Err(error) => return report(&Happened::Note(&error.into_warning())),
        };
        if moved.is_empty() {
            return;
        }
        let message = format!(
            "these references moved while `{}` worked, by it or by somebody else: {}",
            work.name(),
            enumeration(&moved, MOST_NAMED)
        );
        let hint = Hint::from("look at where they were: ").command(&["git", "reflog", &moved[0]]);
        report(&Happened::Note(
            &Diagnostic::warning(Code::RefsMoved, message).hint(hint),
        ));
    }
}

/// What `git add` would store of what the work tree has at a path, also of a link; `None` if there is no file. Returns an error
/// if it cannot be read.
fn on_disk(store: &Store, path: &RepoPath) -> Result<Option<Digest>, Error> {
    let place = path.under(store.layout().root());
    match place.symlink_metadata() {
        Ok(found) if found.is_symlink() => {
            let target = place.read_link().unwrap_or_default();
            let format = store.objects().format();
            Ok(Some(format.blob(target.as_os_str().as_bytes())))
        }
        Ok(found) if found.is_file() => store.filters().digest_on_disk(path),
        _ => Ok(None),
    }
}
